/*
 * hiprtc.c - hipRTC and comgr: their libraries, found when first needed; see hiprtc.h.
 *
 * ROCm 5.2 has hipRTC in the runtime's own library, later ones have it in one of its own with the
 * same major number.  A hipRTC of another major is not mixed with a runtime that is there.
 */
#include "plugins/hip/hiprtc.h"

#include "plugins/gpu/open.h"
#include "plugins/hip/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE "VYRE_HIPRTC_LIBRARY"
#define COMGR_VARIABLE "VYRE_COMGR_LIBRARY"

static struct {
  pthread_mutex_t lock;
  bool done, found;
  char reason[256];
  vyre__hiprtc hiprtc;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define REQUIRED true
static const vyre__gpu_entry entries[] = {
#define VYRE_HIPRTC_ENTRY(name, parameters)                                                        \
  {#name, NULL, REQUIRED, 0, offsetof(vyre__hiprtc_entry_points, name)},
#include "plugins/hip/hiprtc_entry_points.def"
#undef VYRE_HIPRTC_ENTRY
};
#define ENTRIES (sizeof entries / sizeof entries[0])

typedef struct comgr_entry_points {
  vyre__comgr_status (*get_isa_count)(size_t *out_count);
  vyre__comgr_status (*get_isa_name)(size_t index, const char **out_name);
} comgr_entry_points;
static const vyre__gpu_entry comgr_entries[] = {
    {"amd_comgr_get_isa_count", NULL, REQUIRED, 0, offsetof(comgr_entry_points, get_isa_count)},
    {"amd_comgr_get_isa_name", NULL, REQUIRED, 0, offsetof(comgr_entry_points, get_isa_name)}};

/* -------- comgr -------- */

/* "gfx90a" of "amdgcn-amd-amdhsa--gfx90a". */
static void add_arch(vyre__hiprtc *hiprtc, const char *isa)
{
  const char *arch = strstr(isa, "--");
  if (!arch || hiprtc->arch_count == VYRE__HIPRTC_ARCHS)
    return;
  snprintf(hiprtc->archs[hiprtc->arch_count++], sizeof hiprtc->archs[0], "%s", arch + 2);
}

static bool ask_comgr(vyre__hiprtc *hiprtc)
{
  static const char *const names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so",
                                      NULL};
  comgr_entry_points call;
  char tried[512], list[128];
  size_t count = 0;
  int newest = 0;
  void *library = vyre__gpu_open(COMGR_VARIABLE, names, tried, sizeof tried);
  if (!library) {
    snprintf(state.reason, sizeof state.reason, "no comgr, which hipRTC works with: %.180s", tried);
    return false;
  }
  vyre__gpu_path_of(library, hiprtc->comgr_path, sizeof hiprtc->comgr_path);
  vyre__gpu_resolve(library, &call, comgr_entries, 2);
  if (vyre__gpu_missing(&call, comgr_entries, 2, list, sizeof list, &newest)) {
    snprintf(state.reason, sizeof state.reason, "%.120s has no %s", hiprtc->comgr_path, list);
    return false;
  }
  if (call.get_isa_count(&count))
    count = 0;
  for (size_t i = 0; i < count; ++i) {
    const char *name = NULL;
    if (!call.get_isa_name(i, &name) && name)
      add_arch(hiprtc, name);
  }
  if (!hiprtc->arch_count)
    snprintf(state.reason, sizeof state.reason, "%.150s knows no architecture", hiprtc->comgr_path);
  return hiprtc->arch_count != 0;
}

/* -------- hipRTC -------- */

static const char *const *choose_names(void)
{
  static const char *const newest[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", NULL};
  static const char *const for_one[][2] = {
      {"libhiprtc.so.5", NULL}, {"libhiprtc.so.6", NULL}, {"libhiprtc.so.7", NULL}};
  const int major = vyre__hip_load(NULL) == VYRE_OK ? vyre__hip_rocm() / 100 : 0;
  return major >= 5 && major <= 7 ? for_one[major - 5] : newest;
}

static bool resolve(void *library)
{
  char list[160];
  int newest = 0;
  vyre__gpu_path_of(library, state.hiprtc.path, sizeof state.hiprtc.path);
  vyre__gpu_resolve(library, &state.hiprtc.call, entries, ENTRIES);
  if (!vyre__gpu_missing(&state.hiprtc.call, entries, ENTRIES, list, sizeof list, &newest))
    return true;
  snprintf(state.reason, sizeof state.reason, "%.90s has no %.140s", state.hiprtc.path, list);
  return false;
}

static bool find(void)
{
  char tried[512], name[64];
  vyre__hiprtc *hiprtc = &state.hiprtc;
  void *library = vyre__gpu_open(VARIABLE, choose_names(), tried, sizeof tried);
  /* Also where the runtime could not be used: a compiler needs no device and no driver. */
  if (!library && vyre__hip_library() && dlsym(vyre__hip_library(), "hiprtcCompileProgram"))
    library = vyre__hip_library();
  if (!library) {
    snprintf(state.reason, sizeof state.reason,
             "no hipRTC (install it, or name it in " VARIABLE "): %.180s", tried);
    return false;
  }
  if (!resolve(library))
    return false;
  const hiprtcResult code = hiprtc->call.hiprtcVersion(&hiprtc->major, &hiprtc->minor);
  if (code) {
    snprintf(state.reason, sizeof state.reason, "%.120s does not answer: %s", hiprtc->path,
             vyre__hiprtc_code_name(code, name, sizeof name));
    return false;
  }
  return ask_comgr(hiprtc);
}

const vyre__hiprtc *vyre__hiprtc_find(char *out_reason, uint64_t size)
{
  pthread_mutex_lock(&state.lock);
  if (!state.done)
    state.found = find();
  state.done = true;
  pthread_mutex_unlock(&state.lock);
  if (!state.found && size)
    snprintf(out_reason, size, "%s", state.reason);
  return state.found ? &state.hiprtc : NULL;
}

bool vyre__hiprtc_knows(const vyre__hiprtc *hiprtc, const char *arch)
{
  for (uint32_t i = 0; i < hiprtc->arch_count; ++i)
    if (strcmp(hiprtc->archs[i], arch) == 0)
      return true;
  return false;
}

const char *vyre__hiprtc_code_name(hiprtcResult code, char *out, uint64_t size)
{
  static const char *const names[] = {"SUCCESS",
                                      "OUT_OF_MEMORY",
                                      "PROGRAM_CREATION_FAILURE",
                                      "INVALID_INPUT",
                                      "INVALID_PROGRAM",
                                      "INVALID_OPTION",
                                      "COMPILATION",
                                      "BUILTIN_OPERATION_FAILURE",
                                      "NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                      "NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                      "NAME_EXPRESSION_NOT_VALID",
                                      "INTERNAL_ERROR"};
  const bool known = code > 0 && (size_t)code < sizeof names / sizeof names[0];
  snprintf(out, size, known ? "HIPRTC_ERROR_%s (%d)" : "%s (%d)",
           known ? names[code] : "a hipRTC error", (int)code);
  return out;
}
