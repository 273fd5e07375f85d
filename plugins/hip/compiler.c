/*
 * compiler.c - from `vyre-c` text to a code object, by hipRTC.
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

static vyre_status choose_arch(const vyre__hiprtc *hiprtc, const char *name, const char *arch,
                               char out[VYRE_DEVICE_ID_SIZE], vyre_error *err)
{
  char list[1024] = "";
  char plain[VYRE_DEVICE_ID_SIZE];
  snprintf(out, VYRE_DEVICE_ID_SIZE, "%s", arch);
  if (!arch[0])
    first_arch(out);
  if (!out[0])
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "give one, such as \"gfx90a\"",
                       "%s: hsaco needs an architecture, and there is no device here to take it of",
                       name);
  /* "gfx90a:xnack-": the features are the compiler's business, the processor is comgr's. */
  snprintf(plain, sizeof plain, "%.*s", (int)strcspn(out, ":"), out);
  if (strlen(arch) < VYRE_DEVICE_ID_SIZE && vyre__hiprtc_knows(hiprtc, plain))
    return VYRE_OK;
  for (uint32_t i = 0; i < hiprtc->arch_count; ++i) {
    const size_t used = strlen(list);
    if (used + sizeof hiprtc->archs[i] + 2 < sizeof list)
      snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", hiprtc->archs[i]);
  }
  return PLUGIN_FAIL(
      err, VYRE_ERROR_MODULE_FORMAT, "take one of these, or install a ROCm that knows it",
      "%s: no hsaco for \"%.32s\": %.64s has %s", name, out, hiprtc->comgr_path, list);
}

/* -------- one compile -------- */

typedef struct job {
  const vyre__hiprtc *hiprtc;
  const vyre_host *host;
  const char *name;
  bool debug;
  char arch[VYRE_DEVICE_ID_SIZE];
  char *source; /* ends in NUL */
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

static vyre_status run_compiler(const job *one, vyre_error *err)
{
  const char *options[FIXED + 3];
  char arch[16 + VYRE_DEVICE_ID_SIZE], rate[40], plain[VYRE_DEVICE_ID_SIZE];
  int count = 0;
  snprintf(plain, sizeof plain, "%.*s", (int)strcspn(one->arch, ":"), one->arch);
  snprintf(arch, sizeof arch, "--offload-arch=%s", one->arch);
  snprintf(rate, sizeof rate, "-DVYRE_CLOCK_KHZ=%uu", clock_khz(plain));
  options[count++] = arch;
  options[count++] = rate;
  for (size_t i = 0; i < FIXED; ++i)
    options[count++] = fixed_options[i];
  if (one->debug)
    options[count++] = "-DVYRE_DEBUG=1";
  const hiprtcResult code = one->hiprtc->call.hiprtcCompileProgram(one->program, count, options);
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

vyre_status vyre__hip_compile(const vyre_host *host, const char *source, uint64_t size,
                              const char *name, const char *format, const char *arch, bool debug,
                              vyre_blob *out_blob, vyre_error *err)
{
  static const char end[] = VYRE__GPU_TEXT_END;
  char reason[VYRE_DEVICE_REASON_SIZE] = "";
  job one = {.hiprtc = vyre__hiprtc_find(reason, sizeof reason),
             .host = host,
             .name = name ? name : "kernel",
             .debug = debug};
  vyre_status status = VYRE_OK;
  if (!one.hiprtc)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                       "install hipRTC, or use kernels built ahead of time (`vyre compile`)",
                       "%s: %s", one.name, reason);
  if (strcmp(format, "hsaco") != 0)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "use this format",
                       "%s: hipRTC makes \"hsaco\", not \"%.64s\"", one.name, format);
  status = choose_arch(one.hiprtc, one.name, arch ? arch : "", one.arch, err);
  if (status != VYRE_OK)
    return status;
  one.source = vyre__plugin_allocate(host, size + sizeof end, 1);
  if (!one.source)
    return PLUGIN_FAIL_MEMORY(err, "the kernel's text");
  memcpy(one.source, source, size);
  memcpy(one.source + size, end, sizeof end);
  const hiprtcResult code =
      one.hiprtc->call.hiprtcCreateProgram(&one.program, one.source, one.name, 0, NULL, NULL);
  if (code) {
    status = fail_call(&one, code, "making the program", err);
    goto done;
  }
  status = run_compiler(&one, err);
  if (status == VYRE_OK)
    status = fetch(&one, out_blob, err);
  one.hiprtc->call.hiprtcDestroyProgram(&one.program);
done:
  vyre__plugin_deallocate(host, one.source);
  return status;
}

/* -------- what there is -------- */

bool vyre__hip_compiler_find(char *out_reason, uint64_t size)
{
  return vyre__hiprtc_find(out_reason, size) != NULL;
}

static pthread_once_t version_once = PTHREAD_ONCE_INIT;
static char version_text[384];

/* With the options, which are constant, and with what "" stands for.  hipRTC's own version has not
   moved for years: the runtime's goes with it, and the path of comgr, which is the compiler. */
static void write_version(void)
{
  const vyre__hiprtc *hiprtc = vyre__hiprtc_find(NULL, 0);
  char arch[VYRE_DEVICE_ID_SIZE];
  first_arch(arch);
  size_t used =
      (size_t)snprintf(version_text, sizeof version_text, "hipRTC %d.%d, HIP %d.%d, %.120s, %s",
                       hiprtc ? hiprtc->major : 0, hiprtc ? hiprtc->minor : 0, vyre__hip_rocm(),
                       vyre__hip_patch(), hiprtc ? hiprtc->comgr_path : "", arch);
  for (size_t i = 0; i < FIXED && used < sizeof version_text; ++i)
    used +=
        (size_t)snprintf(version_text + used, sizeof version_text - used, " %s", fixed_options[i]);
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
