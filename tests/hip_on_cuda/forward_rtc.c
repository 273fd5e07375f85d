/*
 * forward_rtc.c - a `libhiprtc.so` for tests that has NVRTC compile, and the two calls of comgr
 * that the plugin makes; see forward.c.
 *
 * The HIP prelude in front of a text, which NVRTC cannot read, is exchanged for CUDA's; for an
 * architecture with wavefronts of 64 wave64.h follows.  As the real one it does not end its log,
 * and as the real one it ends the process when it is asked for an architecture that comgr does not
 * list.
 */
#include "plugins/cuda/library.h"
#include "plugins/cuda/nvrtc.h"
#include "plugins/hip/hip_api.h"

#include "embed/vyre__cuda_prelude.h"
#include "embed/vyre__forward_wave64.h"
#include "embed/vyre__hip_prelude.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define VYRE_HIPRTC_ENTRY(name, parameters) EXPORT hiprtcResult name parameters;
#include "plugins/hip/hiprtc_entry_points.def"
#undef VYRE_HIPRTC_ENTRY
EXPORT vyre__comgr_status amd_comgr_get_isa_count(size_t *out_count);
EXPORT vyre__comgr_status amd_comgr_get_isa_name(size_t index, const char **out_name);

#define ISA "amdgcn-amd-amdhsa--"
static const char *const isas[] = {ISA "gfx900", ISA "gfx90a", ISA "gfx1100"};
#define ISAS (sizeof isas / sizeof isas[0])

vyre__comgr_status amd_comgr_get_isa_count(size_t *out_count)
{
  *out_count = ISAS;
  return 0;
}

vyre__comgr_status amd_comgr_get_isa_name(size_t index, const char **out_name)
{
  if (index >= ISAS)
    return 1;
  *out_name = isas[index];
  return 0;
}

/* -------- passing on -------- */

static nvrtcProgram theirs(hiprtcProgram program)
{
  return (nvrtcProgram)(void *)program;
}

#define NVRTC(call_)                                                                               \
  const vyre__nvrtc *nvrtc = vyre__nvrtc_find(NULL, 0);                                            \
  return nvrtc ? nvrtc->call.call_ : 11

hiprtcResult hiprtcVersion(int *major, int *minor)
{
  *major = 9;
  *minor = 0;
  return 0;
}

/* The text with the prelude exchanged, to be freed; NULL without memory. */
static char *exchange(const char *rest)
{
  const size_t size = strlen(rest) + 1;
  char *text = malloc(vyre__cuda_prelude_size + vyre__forward_wave64_size + size);
  if (!text)
    return NULL;
  memcpy(text, vyre__cuda_prelude, vyre__cuda_prelude_size);
  memcpy(text + vyre__cuda_prelude_size, vyre__forward_wave64, vyre__forward_wave64_size);
  memcpy(text + vyre__cuda_prelude_size + vyre__forward_wave64_size, rest, size);
  return text;
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram *out, const char *source, const char *name,
                                 int headers, const char **texts, const char **includes)
{
  const vyre__nvrtc *nvrtc = vyre__nvrtc_find(NULL, 0);
  const bool is_ours = strncmp(source, vyre__hip_prelude, vyre__hip_prelude_size) == 0;
  nvrtcProgram program = NULL;
  if (!nvrtc)
    return 11;
  char *text = is_ours ? exchange(source + vyre__hip_prelude_size) : NULL;
  if (is_ours && !text)
    return 1;
  const hiprtcResult code =
      nvrtc->call.nvrtcCreateProgram(&program, text ? text : source, name, headers,
                                     (const char *const *)texts, (const char *const *)includes);
  if (!code)
    *out = (hiprtcProgram)(void *)program;
  free(text);
  return code;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program)
{
  const vyre__nvrtc *nvrtc = vyre__nvrtc_find(NULL, 0);
  nvrtcProgram their = theirs(*program);
  *program = NULL;
  return nvrtc ? nvrtc->call.nvrtcDestroyProgram(&their) : 11;
}

/* "sm_90" of the first device. */
static uint32_t capability(void)
{
  CUdevice device = 0;
  int major = 9, minor = 0;
  if (vyre__cuda_load(NULL) == VYRE_OK && !vyre__cuda.cuDeviceGet(&device, 0)) {
    vyre__cuda.cuDeviceGetAttribute(&major, (CUdevice_attribute)VYRE__CU_DEVICE_MAJOR, device);
    vyre__cuda.cuDeviceGetAttribute(&minor, (CUdevice_attribute)VYRE__CU_DEVICE_MINOR, device);
  }
  return (uint32_t)(major * 10 + minor);
}

/* Whether comgr lists it; its features do not matter. */
static bool is_listed(const char *arch)
{
  const size_t length = strcspn(arch, ":");
  for (size_t i = 0; i < ISAS; ++i) {
    const char *listed = isas[i] + sizeof ISA - 1;
    if (strlen(listed) == length && !strncmp(listed, arch, length))
      return true;
  }
  return false;
}

/* Those of plugins/cuda/compiler.c in the place of clang's. */
hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char **options)
{
  static const char option[] = "--offload-arch=";
  const char *passed[32] = {"--std=c++17",     "--fmad=false",
                            "--prec-div=true", "--prec-sqrt=true",
                            "--ftz=false",     "--device-as-default-execution-space"};
  char arch[40];
  int used = 6;
  snprintf(arch, sizeof arch, "--gpu-architecture=sm_%u", capability());
  passed[used++] = arch;
  for (int i = 0; i < count && used < 30; ++i) {
    const char *asked = options[i] + sizeof option - 1;
    if (!strncmp(options[i], "-D", 2))
      passed[used++] = options[i];
    if (strncmp(options[i], option, sizeof option - 1) != 0)
      continue;
    if (!is_listed(asked))
      abort();
    if (!strncmp(asked, "gfx9", 4))
      passed[used++] = "-DVYRE_FORWARD_WAVE=64";
  }
  NVRTC(nvrtcCompileProgram(theirs(program), used, passed));
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *size)
{
  NVRTC(nvrtcGetCUBINSize(theirs(program), size));
}

hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code)
{
  NVRTC(nvrtcGetCUBIN(theirs(program), code));
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *size)
{
  NVRTC(nvrtcGetProgramLogSize(theirs(program), size));
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log)
{
  const vyre__nvrtc *nvrtc = vyre__nvrtc_find(NULL, 0);
  size_t size = 0;
  if (!nvrtc)
    return 11;
  hiprtcResult code = nvrtc->call.nvrtcGetProgramLogSize(theirs(program), &size);
  if (!code)
    code = nvrtc->call.nvrtcGetProgramLog(theirs(program), log);
  if (!code && size)
    log[size - 1] = '.';
  return code;
}
