/*
 * library.c - HIP's runtime: found, checked and resolved once a process; see library.h.
 */
#include "plugins/hip/library.h"

#include "plugins/common/error.h"
#include "plugins/gpu/open.h"
#include "plugins/hip/codes.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE "VYRE_HIP_LIBRARY"

vyre__hip_entry_points vyre__hip;

static vyre__gpu_once once = VYRE__GPU_ONCE_INIT;
static struct {
  void *library;
  hipError_t init;
  int version;
  char path[PATH_MAX], mix[64];
} state;

#define REQUIRED true
#define OPTIONAL false
static const vyre__gpu_entry entries[] = {
#define VYRE_HIP_ENTRY(field, symbol, other, need, since, parameters)                              \
  {#symbol, other, need, since, offsetof(vyre__hip_entry_points, field)},
#include "plugins/hip/entry_points.def"
#undef VYRE_HIP_ENTRY
};
#define ENTRIES (sizeof entries / sizeof entries[0])

static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                    "libamdhip64.so", NULL};

/* 50221153 is 5.2, patch 21153. */

int vyre__hip_rocm(void)
{
  return state.version / 10000000 * 100 + state.version / 100000 % 100;
}

int vyre__hip_patch(void)
{
  return state.version % 100000;
}

/* -------- checking -------- */

static vyre_status find_missing(vyre_error *err)
{
  char list[512];
  int newest = VYRE__HIP_OLDEST_ROCM;
  const uint32_t missing =
      vyre__gpu_missing(&vyre__hip, entries, ENTRIES, list, sizeof list, &newest);
  if (!missing)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY,
                     "install ROCm 5.2 or later, or name its libamdhip64.so in " VARIABLE,
                     "%s has not all entry points of HIP that are needed (ROCm %d.%d): %u missing: "
                     "%s",
                     state.path, newest / 100, newest % 100, missing, list);
}

static vyre_status check_version(vyre_error *err)
{
  char name[64];
  const hipError_t code = vyre__hip.hipRuntimeGetVersion(&state.version);
  if (code)
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_VENDOR_LIBRARY, code, NULL,
                              "the HIP runtime %s does not say its version: %s", state.path,
                              vyre__hip_code_name(code, name, sizeof name));
  if (vyre__hip_rocm() < VYRE__HIP_OLDEST_ROCM)
    return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY, "install ROCm 5.2 or later",
                       "the HIP runtime %s is too old: it is of ROCm %d.%d, and %d.%d is needed",
                       state.path, vyre__hip_rocm() / 100, vyre__hip_rocm() % 100,
                       VYRE__HIP_OLDEST_ROCM / 100, VYRE__HIP_OLDEST_ROCM % 100);
  return VYRE_OK;
}

static vyre_status start_runtime(vyre_error *err)
{
  char name[64];
  state.init = vyre__hip.hipInit(0);
  if (!state.init || vyre__hip_code_is_no_device(state.init))
    return VYRE_OK;
  return PLUGIN_FAIL_VENDOR(
      err, VYRE_ERROR_VENDOR_LIBRARY, state.init,
      "run `rocminfo`: it must list the GPU; the user needs access to /dev/kfd and /dev/dri "
      "(groups `render` and `video`), and a container needs both",
      "the HIP runtime %s does not start: hipInit says %s", state.path,
      vyre__hip_code_name(state.init, name, sizeof name));
}

/* Wheels bring runtimes of their own, and two of them share one device badly: said where devices
   are listed.  A second name of the same library is no second runtime. */
static void find_mix(void)
{
  for (uint32_t i = 0; names[i]; ++i) {
    const void *other = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (other && other != state.library)
      snprintf(state.mix, sizeof state.mix, ", mixed with %.17s", names[i]);
  }
}

static vyre_status load(vyre_error *err)
{
  char tried[1024];
  vyre_status status = VYRE_OK;
  state.library = vyre__gpu_open(VARIABLE, names, tried, sizeof tried);
  if (!state.library)
    return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY,
                       "install ROCm 5.2 or later (Debian: libamdhip64-5), or name its "
                       "libamdhip64.so in " VARIABLE,
                       "the HIP runtime's library does not open: %s", tried);
  vyre__gpu_path_of(state.library, state.path, sizeof state.path);
  vyre__gpu_resolve(state.library, &vyre__hip, entries, ENTRIES);
  /* Age comes before gaps: it is the better reason. */
  if (vyre__hip.hipRuntimeGetVersion)
    status = check_version(err);
  if (status == VYRE_OK)
    status = find_missing(err);
  if (status == VYRE_OK)
    status = start_runtime(err);
  if (status == VYRE_OK)
    find_mix();
  return status;
}

vyre_status vyre__hip_load(vyre_error *err)
{
  return vyre__gpu_load_once(&once, load, err);
}

/* What load() has written does not change any more: no lock. */

hipError_t vyre__hip_init_code(void)
{
  return state.init;
}

void *vyre__hip_library(void)
{
  return state.library;
}

const char *vyre__hip_library_path(void)
{
  return state.path;
}

const char *vyre__hip_mix(void)
{
  return state.mix;
}
