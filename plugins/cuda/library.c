/*
 * library.c - the CUDA driver's library: found, checked and resolved once a process; see library.h.
 *
 * It is never closed: the driver has threads and exit handlers of its own.
 */
#include "plugins/cuda/library.h"

#include "plugins/common/error.h"
#include "plugins/cuda/codes.h"
#include "plugins/gpu/open.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "VYRE_CUDA_LIBRARY"

vyre__cuda_entry_points vyre__cuda;

static vyre__gpu_once once = VYRE__GPU_ONCE_INIT;
static struct {
  CUresult init;
  int version;
  char path[PATH_MAX], release[64];
} state;

#define REQUIRED true
#define OPTIONAL false
static const vyre__gpu_entry entries[] = {
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters)                             \
  {#symbol, other, need, since, offsetof(vyre__cuda_entry_points, field)},
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY
};
#define ENTRIES (sizeof entries / sizeof entries[0])

static vyre_status find_missing(vyre_error *err)
{
  char list[512];
  int newest = VYRE__CUDA_OLDEST_DRIVER;
  const uint32_t missing =
      vyre__gpu_missing(&vyre__cuda, entries, ENTRIES, list, sizeof list, &newest);
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
  void *library = vyre__gpu_open(VARIABLE, names, tried, sizeof tried);
  vyre_status status = VYRE_OK;
  if (!library)
    return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY,
                       "install NVIDIA's driver, or name its libcuda.so.1 in " VARIABLE,
                       "the CUDA driver's library does not open: %s", tried);
  vyre__gpu_path_of(library, state.path, sizeof state.path);
  vyre__gpu_resolve(library, &vyre__cuda, entries, ENTRIES);
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
  return vyre__gpu_load_once(&once, load, err);
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
