/*
 * library.c - the CUDA driver's library: found, checked and resolved once a process; see library.h.
 *
 * It is never closed: the driver has threads and exit handlers of its own.
 */
#include "plugins/cuda/library.h"

#include "plugins/common/error.h"
#include "plugins/cuda/codes.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "VYRE_CUDA_LIBRARY"

vyre__cuda_entry_points vyre__cuda;

static struct {
  pthread_mutex_t lock;
  bool done;
  vyre_error failure; /* code is VYRE_OK if there was none */
  CUresult init;
  int version;
  char path[PATH_MAX], release[64];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .failure = VYRE_ERROR_INIT};

typedef struct entry {
  const char *field, *symbol, *other;
  bool required;
  int since;
  size_t offset; /* in vyre__cuda_entry_points */
} entry;

#define REQUIRED true
#define OPTIONAL false
static const entry entries[] = {
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters)                             \
  {#field, #symbol, other, need, since, offsetof(vyre__cuda_entry_points, field)},
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY
};
#define ENTRIES (sizeof entries / sizeof entries[0])

/* -------- resolving -------- */

static void resolve(void *library, const entry *one)
{
  void *symbol = dlsym(library, one->symbol);
  if (!symbol && one->other)
    symbol = dlsym(library, one->other);
  /* Function pointers of the table are stored through their bytes: ISO C has no other way. */
  memcpy((char *)&vyre__cuda + one->offset, &symbol, sizeof symbol);
}

static bool is_missing(const entry *one)
{
  void *symbol = NULL;
  memcpy(&symbol, (const char *)&vyre__cuda + one->offset, sizeof symbol);
  return !symbol;
}

static vyre_status find_missing(vyre_error *err)
{
  char list[512] = "";
  uint32_t missing = 0;
  int newest = VYRE__CUDA_OLDEST_DRIVER;
  for (size_t i = 0; i < ENTRIES; ++i) {
    const size_t used = strlen(list);
    if (!entries[i].required || !is_missing(&entries[i]))
      continue;
    snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", entries[i].symbol);
    newest = entries[i].since > newest ? entries[i].since : newest;
    missing++;
  }
  if (!missing)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY,
                     "install NVIDIA's driver for CUDA 12.0 or later, or name its libcuda.so.1 "
                     "in " VARIABLE,
                     "%s has not all entry points of the CUDA driver that are needed (CUDA %d.%d): "
                     "%u missing: %s",
                     state.path, newest / 1000, newest % 1000 / 10, missing, list);
}

/* -------- checking -------- */

static vyre_status refuse_stub(vyre_error *err)
{
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_VENDOR_LIBRARY, VYRE__CU_STUB_LIBRARY,
                            "install NVIDIA's driver, or take the folder of stubs out of the "
                            "library path; " VARIABLE " names another file",
                            "%s is the toolkit's stub of the CUDA driver: it is for linking and "
                            "runs nothing",
                            state.path);
}

static vyre_status check_version(vyre_error *err)
{
  char name[64];
  const CUresult code = vyre__cuda.cuDriverGetVersion(&state.version);
  if (code == VYRE__CU_STUB_LIBRARY)
    return refuse_stub(err);
  if (code)
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_VENDOR_LIBRARY, code, NULL,
                              "the CUDA driver %s does not say its version: %s", state.path,
                              vyre__cuda_code_name(code, name, sizeof name));
  if (state.version < VYRE__CUDA_OLDEST_DRIVER)
    return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY,
                       "install a newer NVIDIA driver (525 or later)",
                       "the driver %s is too old: it has CUDA %d.%d, and %d.%d is needed",
                       state.path, state.version / 1000, state.version % 1000 / 10,
                       VYRE__CUDA_OLDEST_DRIVER / 1000, VYRE__CUDA_OLDEST_DRIVER % 1000 / 10);
  return VYRE_OK;
}

static vyre_status start_driver(vyre_error *err)
{
  char name[64];
  state.init = vyre__cuda.cuInit(0);
  if (!state.init || state.init == VYRE__CU_NO_DEVICE)
    return VYRE_OK;
  if (state.init == VYRE__CU_STUB_LIBRARY)
    return refuse_stub(err);
  return PLUGIN_FAIL_VENDOR(
      err, VYRE_ERROR_VENDOR_LIBRARY, state.init,
      "run `nvidia-smi`: it must list the GPU; in a container, give it the GPU's device files and "
      "the libraries of the driver that the kernel runs",
      "the CUDA driver %s does not start: cuInit says %s", state.path,
      vyre__cuda_code_name(state.init, name, sizeof name));
}

/* libcuda.so.1 is a link to libcuda.so.580.95.05. */
static void find_release(void)
{
  char real[PATH_MAX];
  const char *at = realpath(state.path, real) ? strstr(real, ".so.") : NULL;
  if (at && strchr(at + 4, '.'))
    snprintf(state.release, sizeof state.release, "%s", at + 4);
}

static vyre_status load(vyre_error *err)
{
  static const char *const names[] = {"libcuda.so.1", NULL};
  char tried[1024];
  void *library = vyre__cuda_open(VARIABLE, names, tried, sizeof tried);
  vyre_status status = VYRE_OK;
  if (!library)
    return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY,
                       "install NVIDIA's driver, or name its libcuda.so.1 in " VARIABLE,
                       "the CUDA driver's library does not open: %s", tried);
  vyre__cuda_path_of(library, state.path, sizeof state.path);
  for (size_t i = 0; i < ENTRIES; ++i)
    resolve(library, &entries[i]);
  if (strstr(state.path, "/stubs/"))
    return refuse_stub(err);
  /* Age comes before gaps: it is the better reason. */
  if (vyre__cuda.cuDriverGetVersion)
    status = check_version(err);
  if (status == VYRE_OK)
    status = find_missing(err);
  if (status == VYRE_OK)
    status = start_driver(err);
  if (status == VYRE_OK)
    find_release();
  return status;
}

vyre_status vyre__cuda_load(vyre_error *err)
{
  vyre_status status = VYRE_OK;
  pthread_mutex_lock(&state.lock);
  if (!state.done) {
    load(&state.failure);
    state.done = true;
  }
  if (state.failure.code != VYRE_OK)
    status = vyre__plugin_error_copy(err, &state.failure);
  pthread_mutex_unlock(&state.lock);
  return status;
}

/* What load() has written does not change any more: no lock. */

CUresult vyre__cuda_init_code(void)
{
  return state.init;
}

int vyre__cuda_driver_version(void)
{
  return state.version;
}

const char *vyre__cuda_library_path(void)
{
  return state.path;
}

const char *vyre__cuda_driver_release(void)
{
  return state.release;
}
