/*
 * compiler.c - from `vyre-c` text to a code object: by hipRTC, or by clang (offline.c) where there
 * is no hipRTC or it does not know the architecture.
 *
 * Results must be those of every other device, bit by bit: no contraction to fused multiply-adds,
 * divisions and roots that round correctly, denormal numbers kept (both of which are AMD's
 * default).
 */
#include "plugins/hip/calls.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"
#include "plugins/gpu/launch.h"
#include "plugins/hip/hiprtc.h"
#include "plugins/hip/library.h"
#include "plugins/hip/offline.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LOG_CUT (VYRE_ERROR_MESSAGE_SIZE - 200u) /* of a log in a message: its beginning */

static const char *const fixed_options[] = {"-std=c++17", "-O3", "-ffp-contract=off",
                                            "-fno-strict-aliasing"};
#define FIXED (sizeof fixed_options / sizeof fixed_options[0])

/* -------- architectures -------- */

/* The rate of the steady clock in kHz, by the reference clock of each family as it is published;
   not measured. */
static uint32_t clock_khz(const char *arch)
{
  static const struct {
    const char *arch;
    uint32_t khz;
  } slow[] = {{"gfx900", 27000}, {"gfx906", 25000}, {"gfx908", 25000}, {"gfx90a", 25000}};
  for (size_t i = 0; i < sizeof slow / sizeof slow[0]; ++i)
    if (strcmp(arch, slow[i].arch) == 0)
      return slow[i].khz;
  return 100000;
}

/* The device that "" means: the first one; "" without any. */
static void first_arch(char out[VYRE_DEVICE_ID_SIZE])
{
  vyre__gpu_facts facts;
  uint32_t count = 0;
  out[0] = '\0';
  if (vyre__hip_load(NULL) == VYRE_OK && !vyre__hip_device_count(&count) && count &&
      !vyre__hip_device_facts(0, &facts))
    snprintf(out, VYRE_DEVICE_ID_SIZE, "%s", facts.arch);
}

static vyre_status choose_arch(const char *name, const char *arch, char out[VYRE_DEVICE_ID_SIZE],
                               vyre_error *err)
{
  snprintf(out, VYRE_DEVICE_ID_SIZE, "%s", arch);
  if (!arch[0])
    first_arch(out);
  if (!out[0])
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "give one, such as \"gfx90a\"",
                       "%s: hsaco needs an architecture, and there is no device here to take it of",
                       name);
  return VYRE_OK;
}

/* Nobody here makes code for it. */
static vyre_status refuse_arch(const vyre__hiprtc *hiprtc, const vyre__plugin_program *offline,
                               const char *name, const char *arch, vyre_error *err)
{
  char list[1024] = "";
  for (uint32_t i = 0; hiprtc && i < hiprtc->arch_count; ++i) {
    const size_t used = strlen(list);
    if (used + sizeof hiprtc->archs[i] + 2 < sizeof list)
      snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", hiprtc->archs[i]);
  }
  return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT,
                     "take one that is known, install a ROCm that knows it, or name a newer clang "
                     "in VYRE_HIP_CC",
                     "%s: no hsaco for \"%.32s\": %.64s%s%s%s%.200s%s", name, arch,
                     hiprtc ? hiprtc->comgr_path : "", hiprtc ? " has " : "", list,
                     hiprtc ? "; " : "", offline->found ? offline->path : offline->reason,
                     offline->found ? " does not know it" : "");
}

/* "gfx90a:xnack-": the features are the compiler's business, the processor is comgr's. */
static void plain_arch(const char *arch, char out[VYRE_DEVICE_ID_SIZE])
{
  snprintf(out, VYRE_DEVICE_ID_SIZE, "%.*s", (int)strcspn(arch, ":"), arch);
}

/* -------- options -------- */

typedef struct options {
  const char *list[FIXED + 3];
  uint32_t count;
  char arch[16 + VYRE_DEVICE_ID_SIZE], rate[40];
} options;

static void choose_options(const char *arch, bool debug, options *out)
{
  char plain[VYRE_DEVICE_ID_SIZE];
  plain_arch(arch, plain);
  snprintf(out->arch, sizeof out->arch, "--offload-arch=%s", arch);
  snprintf(out->rate, sizeof out->rate, "-DVYRE_CLOCK_KHZ=%uu", clock_khz(plain));
  out->count = 0;
  out->list[out->count++] = out->arch;
  out->list[out->count++] = out->rate;
  for (size_t i = 0; i < FIXED; ++i)
    out->list[out->count++] = fixed_options[i];
  if (debug)
    out->list[out->count++] = "-DVYRE_DEBUG=1";
}

/* -------- one compile by hipRTC -------- */

typedef struct job {
  const vyre__hiprtc *hiprtc;
  const vyre_host *host;
  const char *name;
  hiprtcProgram program;
} job;

/* COMPILE_FAILED with the compiler's log, whose line numbers are the author's.  hipRTC does not end
   the log: the buffer is zeroed and has room for one NUL more. */
static vyre_status fail_with_log(const job *one, hiprtcResult code, vyre_error *err)
{
  char name[64];
  size_t size = 0;
  char *log = NULL;
  if (one->hiprtc->call.hiprtcGetProgramLogSize(one->program, &size))
    size = 0;
  if (size && size < SIZE_MAX)
    log = vyre__plugin_allocate_zeroed(one->host, size + 1, 1);
  if (log && one->hiprtc->call.hiprtcGetProgramLog(one->program, log))
    log[0] = '\0';
  const vyre_status status = PLUGIN_FAIL_VENDOR(
      err, VYRE_ERROR_COMPILE_FAILED, code, NULL, "%s: %s by hipRTC %d.%d:\n%.*s", one->name,
      vyre__hiprtc_code_name(code, name, sizeof name), one->hiprtc->major, one->hiprtc->minor,
      (int)LOG_CUT, log ? log : "");
  vyre__plugin_deallocate(one->host, log);
  return status;
}

static vyre_status fail_call(const job *one, hiprtcResult code, const char *what, vyre_error *err)
{
  char name[64];
  const char *text = vyre__hiprtc_code_name(code, name, sizeof name);
  if (code == VYRE__HIPRTC_OUT_OF_MEMORY)
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, code, NULL, "%s: %s: %s",
                              one->name, what, text);
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_VENDOR_LIBRARY, code,
                            "install the whole of hipRTC, its built-ins library beside it, and let "
                            "TMPDIR be a folder that can be written to",
                            "%s: %s: %s of %s", one->name, what, text, one->hiprtc->path);
}

static vyre_status run_compiler(const job *one, const options *with, vyre_error *err)
{
  const hiprtcResult code = one->hiprtc->call.hiprtcCompileProgram(
      one->program, (int)with->count, (const char **)(uintptr_t)with->list);
  if (code == VYRE__HIPRTC_COMPILATION || code == VYRE__HIPRTC_INVALID_OPTION)
    return fail_with_log(one, code, err);
  return code ? fail_call(one, code, "compiling", err) : VYRE_OK;
}

/* The result, in memory from the host. */
static vyre_status fetch(const job *one, vyre_blob *out_blob, vyre_error *err)
{
  size_t size = 0;
  hiprtcResult code = one->hiprtc->call.hiprtcGetCodeSize(one->program, &size);
  if (code || !size)
    return fail_call(one, code, "the size of the result", err);
  char *data = vyre__plugin_allocate(one->host, size, 64);
  if (!data)
    return PLUGIN_FAIL_MEMORY(err, "compiled code");
  code = one->hiprtc->call.hiprtcGetCode(one->program, data);
  if (code) {
    vyre__plugin_deallocate(one->host, data);
    return fail_call(one, code, "the result", err);
  }
  out_blob->data = data;
  out_blob->size = size;
  return VYRE_OK;
}

static vyre_status compile_by_hiprtc(const vyre__hiprtc *hiprtc, const vyre_host *host,
                                     const char *source, const char *name, const options *with,
                                     vyre_blob *out_blob, vyre_error *err)
{
  job one = {.hiprtc = hiprtc, .host = host, .name = name};
  const hiprtcResult code =
      hiprtc->call.hiprtcCreateProgram(&one.program, source, name, 0, NULL, NULL);
  if (code)
    return fail_call(&one, code, "making the program", err);
  vyre_status status = run_compiler(&one, with, err);
  if (status == VYRE_OK)
    status = fetch(&one, out_blob, err);
  hiprtc->call.hiprtcDestroyProgram(&one.program);
  return status;
}

/* -------- one compile -------- */

vyre_status vyre__hip_compile(const vyre_host *host, const char *source, uint64_t size,
                              const char *name, const char *format, const char *arch, bool debug,
                              vyre_blob *out_blob, vyre_error *err)
{
  static const char end[] = VYRE__GPU_TEXT_END;
  char reason[VYRE_DEVICE_REASON_SIZE] = "", chosen[VYRE_DEVICE_ID_SIZE],
       plain[VYRE_DEVICE_ID_SIZE];
  const vyre__hiprtc *hiprtc = vyre__hiprtc_find(reason, sizeof reason);
  const vyre__plugin_program *offline = vyre__hip_offline_find();
  options with;
  name = name ? name : "kernel";
  arch = arch ? arch : "";
  if (!hiprtc && !offline->found)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                       "install hipRTC or clang-22, or use kernels built ahead of time "
                       "(`vyre compile`)",
                       "%s: %s; %s", name, reason, offline->reason);
  if (strcmp(format, "hsaco") != 0)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "use this format",
                       "%s: hipRTC makes \"hsaco\", not \"%.64s\"", name, format);
  vyre_status status = choose_arch(name, arch, chosen, err);
  if (status != VYRE_OK)
    return status;
  plain_arch(chosen, plain);
  const bool by_hiprtc = hiprtc && vyre__hiprtc_knows(hiprtc, plain);
  if (strlen(arch) >= VYRE_DEVICE_ID_SIZE || (!by_hiprtc && !offline->found))
    return refuse_arch(hiprtc, offline, name, chosen, err);
  choose_options(chosen, debug, &with);
  char *whole = vyre__plugin_allocate(host, size + sizeof end, 1);
  if (!whole)
    return PLUGIN_FAIL_MEMORY(err, "the kernel's text");
  memcpy(whole, source, size);
  memcpy(whole + size, end, sizeof end);
  if (by_hiprtc)
    status = compile_by_hiprtc(hiprtc, host, whole, name, &with, out_blob, err);
  else
    status =
        vyre__hip_offline_compile(offline, host, whole, name, with.list, with.count, out_blob, err);
  if (status == VYRE_ERROR_MODULE_FORMAT)
    status = refuse_arch(hiprtc, offline, name, chosen, err);
  vyre__plugin_deallocate(host, whole);
  return status;
}

/* -------- what there is -------- */

bool vyre__hip_compiler_find(char *out_reason, uint64_t size)
{
  if (vyre__hiprtc_find(out_reason, size))
    return true;
  const vyre__plugin_program *offline = vyre__hip_offline_find();
  const size_t used = size ? strlen(out_reason) : 0;
  if (!offline->found && used < size)
    snprintf(out_reason + used, size - used, "; %s", offline->reason);
  return offline->found;
}

static pthread_once_t version_once = PTHREAD_ONCE_INIT;
static char version_text[1024 + PATH_MAX];

static void add_options(const char *const *list, size_t count)
{
  for (size_t i = 0; i < count && list[i]; ++i) {
    const size_t used = strlen(version_text);
    snprintf(version_text + used, sizeof version_text - used, " %s", list[i]);
  }
}

/* Both compilers, for the architecture alone decides which of them it is; with the options, which
   are constant, and with what "" stands for.  hipRTC's own version has not moved for years: the
   runtime's goes with it, and the path of comgr, which is the compiler. */
static void write_version(void)
{
  const vyre__hiprtc *hiprtc = vyre__hiprtc_find(NULL, 0);
  const vyre__plugin_program *offline = vyre__hip_offline_find();
  char arch[VYRE_DEVICE_ID_SIZE];
  first_arch(arch);
  snprintf(version_text, sizeof version_text,
           "hipRTC %d.%d, HIP %d.%d, %.120s, %s; %s %llu %llu %llu, %s;",
           hiprtc ? hiprtc->major : 0, hiprtc ? hiprtc->minor : 0, vyre__hip_rocm(),
           vyre__hip_patch(), hiprtc ? hiprtc->comgr_path : "", arch,
           offline->found ? offline->path : "", (unsigned long long)offline->file_size,
           (unsigned long long)offline->file_time_ns, (unsigned long long)offline->file_inode,
           offline->version);
  add_options(fixed_options, FIXED);
  add_options(vyre__hip_offline_options, SIZE_MAX);
}

const char *vyre__hip_compiler_version(void)
{
  pthread_once(&version_once, write_version);
  return version_text;
}

void vyre__hip_native_target(const char *device_arch, const char **out_format,
                             const char **out_arch)
{
  *out_format = "hsaco";
  *out_arch = device_arch;
}
