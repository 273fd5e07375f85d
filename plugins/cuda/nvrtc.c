/*
 * nvrtc.c - NVIDIA's run-time compiler: its library, found when first needed; see nvrtc.h.
 */
#include "plugins/cuda/nvrtc.h"

#include "plugins/cuda/library.h"
#include "plugins/gpu/open.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE "VYRE_NVRTC_LIBRARY"
#define OLDEST_MAJOR 12

static struct {
  pthread_mutex_t lock;
  bool done, found;
  char reason[256];
  vyre__nvrtc nvrtc;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
  const char *name;
  size_t offset;
} entries[] = {
#define VYRE_NVRTC_ENTRY(name, parameters) {#name, offsetof(vyre__nvrtc_entry_points, name)},
#include "plugins/cuda/nvrtc_entry_points.def"
#undef VYRE_NVRTC_ENTRY
};

/*
 * Newest first, but none newer than the driver where an older one is there as well: the driver
 * takes no code of a compiler of the next major version.
 */
static const char *const *choose_names(void)
{
  static const char *const newest[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
  static const char *const for_12[] = {"libnvrtc.so.12", "libnvrtc.so.13", NULL};
  const bool is_12 = vyre__cuda_load(NULL) == VYRE_OK && vyre__cuda_driver_version() < 13000;
  return is_12 ? for_12 : newest;
}

static bool resolve(void *library)
{
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; ++i) {
    void *symbol = dlsym(library, entries[i].name);
    if (!symbol) {
      snprintf(state.reason, sizeof state.reason, "%.150s has no %s", state.nvrtc.path,
               entries[i].name);
      return false;
    }
    /* Stored through its bytes: ISO C has no other way to a function pointer. */
    memcpy((char *)&state.nvrtc.call + entries[i].offset, &symbol, sizeof symbol);
  }
  return true;
}

static bool ask(void)
{
  vyre__nvrtc *nvrtc = &state.nvrtc;
  int archs[4 * VYRE__NVRTC_ARCHS];
  int count = 0;
  nvrtcResult code = nvrtc->call.nvrtcVersion(&nvrtc->major, &nvrtc->minor);
  if (!code && nvrtc->major < OLDEST_MAJOR) {
    snprintf(state.reason, sizeof state.reason, "%.120s is NVRTC %d.%d, and %d.0 is needed",
             nvrtc->path, nvrtc->major, nvrtc->minor, OLDEST_MAJOR);
    return false;
  }
  if (!code)
    code = nvrtc->call.nvrtcGetNumSupportedArchs(&count);
  if (!code && count > 0 && (size_t)count <= sizeof archs / sizeof archs[0])
    code = nvrtc->call.nvrtcGetSupportedArchs(archs);
  else
    count = 0;
  if (code) {
    char name[64];
    snprintf(state.reason, sizeof state.reason, "%.120s does not answer: %s", nvrtc->path,
             vyre__nvrtc_code_name(code, name, sizeof name));
    return false;
  }
  for (int i = 0; i < count && nvrtc->arch_count < VYRE__NVRTC_ARCHS; ++i) {
    const uint32_t at = nvrtc->arch_count++;
    nvrtc->archs[at] = archs[i];
    snprintf(nvrtc->names[at], sizeof nvrtc->names[at], "sm_%d", archs[i]);
  }
  return true;
}

static bool find(void)
{
  char tried[512];
  void *library = vyre__gpu_open(VARIABLE, choose_names(), tried, sizeof tried);
  if (!library) {
    snprintf(state.reason, sizeof state.reason,
             "no NVRTC (install it, or name it in " VARIABLE "): %.180s", tried);
    return false;
  }
  vyre__gpu_path_of(library, state.nvrtc.path, sizeof state.nvrtc.path);
  return resolve(library) && ask();
}

const vyre__nvrtc *vyre__nvrtc_find(char *out_reason, uint64_t size)
{
  pthread_mutex_lock(&state.lock);
  if (!state.done)
    state.found = find();
  state.done = true;
  pthread_mutex_unlock(&state.lock);
  if (!state.found && size)
    snprintf(out_reason, size, "%s", state.reason);
  return state.found ? &state.nvrtc : NULL;
}

bool vyre__nvrtc_knows(const vyre__nvrtc *nvrtc, uint32_t capability)
{
  for (uint32_t i = 0; i < nvrtc->arch_count; ++i)
    if ((uint32_t)nvrtc->archs[i] == capability)
      return true;
  return false;
}

const char *vyre__nvrtc_code_name(nvrtcResult code, char *out, uint64_t size)
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
  snprintf(out, size, known ? "NVRTC_ERROR_%s (%d)" : "%s (%d)",
           known ? names[code] : "an NVRTC error", (int)code);
  return out;
}
