/*
 * compiler.c - from `vyre-c` text to PTX or machine code, by NVRTC.
 *
 * Results must be those of every other device, bit by bit: no contraction to fused multiply-adds,
 * divisions and roots that round correctly, denormal numbers kept.
 */
#include "plugins/cuda/calls.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"
#include "plugins/cuda/library.h"
#include "plugins/cuda/nvrtc.h"
#include "plugins/gpu/launch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_CUT (VYRE_ERROR_MESSAGE_SIZE - 200u) /* of a log in a message: its beginning */

static const char *const fixed_options[] = {
    "--std=c++17",         "--fmad=false", "--prec-div=true",
    "--prec-sqrt=true",    "--ftz=false",  "--device-as-default-execution-space",
    "--generate-line-info"};
#define FIXED (sizeof fixed_options / sizeof fixed_options[0])

/* -------- architectures -------- */

/* "sm_90", "compute_90", "sm_90a": a target of NVRTC. */
typedef struct target {
  uint32_t capability; /* times ten */
  bool is_virtual;     /* PTX */
  char suffix[2];      /* "a" or "f": code that uses what only this family has */
} target;

static bool read_arch(const char *arch, target *out)
{
  char *end = NULL;
  const bool is_virtual = strncmp(arch, "compute_", 8) == 0;
  if (!is_virtual && strncmp(arch, "sm_", 3) != 0)
    return false;
  const char *number = arch + (is_virtual ? 8 : 3);
  if (*number < '1' || *number > '9')
    return false;
  const unsigned long capability = strtoul(number, &end, 10);
  const bool has_suffix = *end == 'a' || *end == 'f';
  if (capability > 999 || end[has_suffix])
    return false;
  out->capability = (uint32_t)capability;
  out->is_virtual = is_virtual;
  out->suffix[0] = has_suffix ? *end : '\0';
  out->suffix[1] = '\0';
  return true;
}

/* The device that "" means for machine code: the first one; 0 without any. */
static uint32_t first_capability(void)
{
  vyre__gpu_facts facts;
  uint32_t count = 0;
  target read;
  if (vyre__cuda_load(NULL) != VYRE_OK || vyre__cuda_device_count(&count) || !count ||
      vyre__cuda_device_facts(0, &facts) || !read_arch(facts.arch, &read))
    return 0;
  return read.capability;
}

/* PTX runs on everything newer: the oldest that both the plugin and this NVRTC know. */
static uint32_t oldest_capability(const vyre__nvrtc *nvrtc)
{
  for (uint32_t i = 0; i < nvrtc->arch_count; ++i)
    if ((uint32_t)nvrtc->archs[i] >= VYRE__CUDA_OLDEST_ARCH)
      return (uint32_t)nvrtc->archs[i];
  return 0;
}

static vyre_status refuse_arch(const vyre__nvrtc *nvrtc, const char *name, const char *format,
                               const char *arch, vyre_error *err)
{
  char list[512] = "";
  for (uint32_t i = 0; i < nvrtc->arch_count; ++i) {
    const size_t used = strlen(list);
    if ((uint32_t)nvrtc->archs[i] >= VYRE__CUDA_OLDEST_ARCH && used + 12 < sizeof list)
      snprintf(list + used, sizeof list - used, "%ssm_%d", used ? ", " : "", nvrtc->archs[i]);
  }
  return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT,
                     "take one of these, or install an NVRTC that knows it",
                     "%s: no %s for \"%.64s\": NVRTC %d.%d has %s", name, format, arch,
                     nvrtc->major, nvrtc->minor, list);
}

static vyre_status choose_target(const vyre__nvrtc *nvrtc, const char *name, const char *format,
                                 const char *arch, target *out, vyre_error *err)
{
  const bool is_ptx = strcmp(format, "ptx") == 0;
  memset(out, 0, sizeof *out);
  if (!arch[0]) {
    out->capability = is_ptx ? oldest_capability(nvrtc) : first_capability();
    if (!out->capability)
      return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "give one, such as \"sm_90\"",
                         "%s: %s needs an architecture, and there is no device here to take it of",
                         name, format);
  } else if (!read_arch(arch, out) || (out->is_virtual && !is_ptx)) {
    return refuse_arch(nvrtc, name, format, arch, err);
  }
  out->is_virtual = is_ptx;
  if (out->capability < VYRE__CUDA_OLDEST_ARCH || !vyre__nvrtc_knows(nvrtc, out->capability))
    return refuse_arch(nvrtc, name, format, arch[0] ? arch : "this device", err);
  return VYRE_OK;
}

/* -------- one compile -------- */

typedef struct job {
  const vyre__nvrtc *nvrtc;
  const vyre_host *host;
  const char *name;
  bool debug;
  target target;
  char *source; /* ends in NUL */
  nvrtcProgram program;
} job;

/* COMPILE_FAILED with the compiler's log, whose line numbers are the author's. */
static vyre_status fail_with_log(const job *one, nvrtcResult code, vyre_error *err)
{
  char name[64];
  size_t size = 0;
  char *log = NULL;
  if (one->nvrtc->call.nvrtcGetProgramLogSize(one->program, &size) || !size)
    size = 0;
  if (size)
    log = vyre__plugin_allocate_zeroed(one->host, size + 1, 1);
  if (log && one->nvrtc->call.nvrtcGetProgramLog(one->program, log))
    log[0] = '\0';
  const vyre_status status =
      PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_COMPILE_FAILED, code, NULL, "%s: %s by NVRTC %d.%d:\n%.*s",
                         one->name, vyre__nvrtc_code_name(code, name, sizeof name),
                         one->nvrtc->major, one->nvrtc->minor, (int)LOG_CUT, log ? log : "");
  vyre__plugin_deallocate(one->host, log);
  return status;
}

static vyre_status fail_call(const job *one, nvrtcResult code, const char *what, vyre_error *err)
{
  char name[64];
  if (code == VYRE__NVRTC_OUT_OF_MEMORY)
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, code, NULL, "%s: %s: %s",
                              one->name, what, vyre__nvrtc_code_name(code, name, sizeof name));
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_VENDOR_LIBRARY, code,
                            "install the whole of NVRTC, its built-ins library beside it",
                            "%s: %s: %s of %s", one->name, what,
                            vyre__nvrtc_code_name(code, name, sizeof name), one->nvrtc->path);
}

static vyre_status run_compiler(const job *one, vyre_error *err)
{
  const char *options[FIXED + 2];
  char arch[64];
  int count = 0;
  snprintf(arch, sizeof arch, "--gpu-architecture=%s%u%s",
           one->target.is_virtual ? "compute_" : "sm_", one->target.capability, one->target.suffix);
  options[count++] = arch;
  for (size_t i = 0; i < FIXED; ++i)
    options[count++] = fixed_options[i];
  if (one->debug)
    options[count++] = "-DVYRE_DEBUG=1";
  const nvrtcResult code = one->nvrtc->call.nvrtcCompileProgram(one->program, count, options);
  if (code == VYRE__NVRTC_COMPILATION || code == VYRE__NVRTC_INVALID_OPTION)
    return fail_with_log(one, code, err);
  return code ? fail_call(one, code, "compiling", err) : VYRE_OK;
}

/* The result, in memory from the host.  Behind PTX there is a NUL that is not counted. */
static vyre_status fetch(const job *one, vyre_blob *out_blob, vyre_error *err)
{
  const vyre__nvrtc_entry_points *call = &one->nvrtc->call;
  const bool is_ptx = one->target.is_virtual;
  size_t size = 0;
  nvrtcResult code = is_ptx ? call->nvrtcGetPTXSize(one->program, &size)
                            : call->nvrtcGetCUBINSize(one->program, &size);
  if (code || !size)
    return fail_call(one, code, "the size of the result", err);
  char *data = vyre__plugin_allocate(one->host, size, 64);
  if (!data)
    return PLUGIN_FAIL_MEMORY(err, "compiled code");
  code = is_ptx ? call->nvrtcGetPTX(one->program, data) : call->nvrtcGetCUBIN(one->program, data);
  if (code) {
    vyre__plugin_deallocate(one->host, data);
    return fail_call(one, code, "the result", err);
  }
  out_blob->data = data;
  out_blob->size = is_ptx && !data[size - 1] ? size - 1 : size;
  return VYRE_OK;
}

vyre_status vyre__cuda_compile(const vyre_host *host, const char *source, uint64_t size,
                               const char *name, const char *format, const char *arch, bool debug,
                               vyre_blob *out_blob, vyre_error *err)
{
  static const char end[] = VYRE__GPU_TEXT_END;
  char reason[VYRE_DEVICE_REASON_SIZE] = "";
  job one = {.nvrtc = vyre__nvrtc_find(reason, sizeof reason),
             .host = host,
             .name = name ? name : "kernel",
             .debug = debug};
  vyre_status status = VYRE_OK;
  if (!one.nvrtc)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                       "install NVRTC, or use kernels built ahead of time (`vyre compile`)",
                       "%s: %s", one.name, reason);
  if (strcmp(format, "ptx") != 0 && strcmp(format, "cubin") != 0)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "use one of these formats",
                       "%s: NVRTC makes \"cubin\" and \"ptx\", not \"%.64s\"", one.name, format);
  status = choose_target(one.nvrtc, one.name, format, arch ? arch : "", &one.target, err);
  if (status != VYRE_OK)
    return status;
  one.source = vyre__plugin_allocate(host, size + sizeof end, 1);
  if (!one.source)
    return PLUGIN_FAIL_MEMORY(err, "the kernel's text");
  memcpy(one.source, source, size);
  memcpy(one.source + size, end, sizeof end);
  const nvrtcResult code =
      one.nvrtc->call.nvrtcCreateProgram(&one.program, one.source, one.name, 0, NULL, NULL);
  if (code) {
    status = fail_call(&one, code, "making the program", err);
    goto done;
  }
  status = run_compiler(&one, err);
  if (status == VYRE_OK)
    status = fetch(&one, out_blob, err);
  one.nvrtc->call.nvrtcDestroyProgram(&one.program);
done:
  vyre__plugin_deallocate(host, one.source);
  return status;
}

/* -------- what there is -------- */

bool vyre__cuda_compiler_find(char *out_reason, uint64_t size)
{
  return vyre__nvrtc_find(out_reason, size) != NULL;
}

static pthread_once_t version_once = PTHREAD_ONCE_INIT;
static char version_text[256];

/* With the options, which are constant, and with what "" stands for. */
static void write_version(void)
{
  const vyre__nvrtc *nvrtc = vyre__nvrtc_find(NULL, 0);
  size_t used =
      (size_t)snprintf(version_text, sizeof version_text, "NVRTC %d.%d, sm_%u",
                       nvrtc ? nvrtc->major : 0, nvrtc ? nvrtc->minor : 0, first_capability());
  for (size_t i = 0; i < FIXED && used < sizeof version_text; ++i)
    used +=
        (size_t)snprintf(version_text + used, sizeof version_text - used, " %s", fixed_options[i]);
}

const char *vyre__cuda_compiler_version(void)
{
  pthread_once(&version_once, write_version);
  return version_text;
}

void vyre__cuda_native_target(const char *device_arch, const char **out_format,
                              const char **out_arch)
{
  const vyre__nvrtc *nvrtc = vyre__nvrtc_find(NULL, 0);
  target device;
  uint32_t best = UINT32_MAX;
  *out_format = "cubin";
  *out_arch = device_arch;
  if (!nvrtc || !read_arch(device_arch, &device) || vyre__nvrtc_knows(nvrtc, device.capability))
    return;
  /* A device that is newer than the compiler: its driver takes PTX of an older one. */
  for (uint32_t i = 0; i < nvrtc->arch_count; ++i)
    if ((uint32_t)nvrtc->archs[i] < device.capability)
      best = i;
  if (best == UINT32_MAX)
    return;
  *out_format = "ptx";
  *out_arch = nvrtc->names[best];
}
