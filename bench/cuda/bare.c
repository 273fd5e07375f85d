/* bare.c - the module's table: opening a card, compiling kernels.cu for it; see bare.h. */
#include "bench/cuda/bare.h"

#include "embed/bench_bare_kernels.h"
#include "plugins/cuda/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char failure[512] = "nothing has failed";

int bare_fail(const char *what, int code)
{
  const char *name = NULL;
  if (!vyre__cuda.cuGetErrorName || vyre__cuda.cuGetErrorName(code, &name) || !name)
    name = "code";
  snprintf(failure, sizeof failure, "%.300s: %.100s (%d)", what, name, code);
  return code ? code : -1;
}

double bare_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void bare_free(CUdeviceptr *memory)
{
  if (*memory)
    vyre__cuda.cuMemFree(*memory);
  *memory = 0;
}

void bare_free_host(void **memory)
{
  if (*memory)
    vyre__cuda.cuMemFreeHost(*memory);
  *memory = NULL;
}

int bare_launch(bare *self, bare_kernel kernel, uint32_t groups, uint32_t threads, void **arguments)
{
  BARE_TRY(vyre__cuda.cuLaunchKernel(self->kernels[kernel], groups, 1, 1, threads, 1, 1, 0,
                                     self->stream, arguments, NULL));
  return 0;
}

/* ---- kernels ---- */

static int load_cubin(bare *self, const vyre__nvrtc *nvrtc, nvrtcProgram program)
{
  static const char *const names[BARE_KERNELS] = {"jobs",    "job",      "ping", "nothing",
                                                  "forward", "backward", "loop"};
  size_t size = 0;
  char *cubin;
  int code;
  BARE_TRY(nvrtc->call.nvrtcGetCUBINSize(program, &size));
  cubin = malloc(size);
  if (!cubin)
    return bare_fail("memory for the kernels", -1);
  code = (int)nvrtc->call.nvrtcGetCUBIN(program, cubin);
  if (!code)
    code = vyre__cuda.cuModuleLoadDataEx(&self->module, cubin, 0, NULL, NULL);
  free(cubin);
  if (code)
    return bare_fail("loading the kernels", code);
  for (uint32_t k = 0; k < BARE_KERNELS; ++k)
    BARE_TRY(vyre__cuda.cuModuleGetFunction(&self->kernels[k], self->module, names[k]));
  return 0;
}

static int compile(bare *self, const vyre__nvrtc *nvrtc, int capability)
{
  char arch[48], log[256] = "", *text = malloc(bench_bare_kernels_size + 1);
  const char *const options[] = {arch};
  nvrtcProgram program = NULL;
  int code;
  if (!text)
    return bare_fail("memory for the kernels", -1);
  memcpy(text, bench_bare_kernels, bench_bare_kernels_size);
  text[bench_bare_kernels_size] = 0;
  snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", capability);
  code = nvrtc->call.nvrtcCreateProgram(&program, text, "kernels.cu", 0, NULL, NULL);
  free(text);
  if (code)
    return bare_fail("nvrtcCreateProgram", code);
  code = nvrtc->call.nvrtcCompileProgram(program, 1, options);
  if (code) {
    size_t size = 0;
    if (!nvrtc->call.nvrtcGetProgramLogSize(program, &size) && size && size <= sizeof log)
      nvrtc->call.nvrtcGetProgramLog(program, log);
    bare_fail(log[0] ? log : "nvrtcCompileProgram", code);
  } else {
    code = load_cubin(self, nvrtc, program);
  }
  nvrtc->call.nvrtcDestroyProgram(&program);
  return code;
}

static int prepare(bare *self)
{
  char why[256] = "";
  const vyre__nvrtc *nvrtc = vyre__nvrtc_find(why, sizeof why);
  int major = 0, minor = 0;
  if (!nvrtc)
    return bare_fail(why, -1);
  BARE_TRY(vyre__cuda.cuDeviceGetAttribute(&major, VYRE__CU_DEVICE_MAJOR, self->device));
  BARE_TRY(vyre__cuda.cuDeviceGetAttribute(&minor, VYRE__CU_DEVICE_MINOR, self->device));
  BARE_TRY(
      vyre__cuda.cuDeviceGetAttribute(&self->units, VYRE__CU_DEVICE_MULTIPROCESSORS, self->device));
  BARE_TRY(vyre__cuda.cuStreamCreateWithPriority(&self->stream, VYRE__CU_STREAM_NON_BLOCKING, 0));
  BARE_TRY(vyre__cuda.cuEventCreate(&self->event, VYRE__CU_EVENT_NO_TIMING));
  snprintf(self->about, sizeof self->about, "CUDA driver %.40s, NVRTC %d.%d",
           vyre__cuda_driver_release(), nvrtc->major, nvrtc->minor);
  return compile(self, nvrtc, major * 10 + minor);
}

/* ---- the table ---- */

static int enter(const bare *self)
{
  BARE_TRY(vyre__cuda.cuCtxPushCurrent(self->context));
  return 0;
}

static int leave(int code)
{
  CUcontext popped;
  vyre__cuda.cuCtxPopCurrent(&popped);
  return code;
}

static void close_card(void *pointer)
{
  bare *self = pointer;
  if (!self)
    return;
  if (self->context && !enter(self)) {
    bare_jobs_close(self);
    bare_ping_close(self);
    bare_steps_close(self);
    if (self->event)
      vyre__cuda.cuEventDestroy(self->event);
    if (self->stream)
      vyre__cuda.cuStreamDestroy(self->stream);
    if (self->module)
      vyre__cuda.cuModuleUnload(self->module);
    leave(0);
  }
  if (self->context)
    vyre__cuda.cuDevicePrimaryCtxRelease(self->device);
  free(self);
}

static int open_card(uint32_t index, void **out_self)
{
  vyre_error err = VYRE_ERROR_INIT;
  bare *self = calloc(1, sizeof *self);
  *out_self = self;
  if (!self)
    return bare_fail("memory", -1);
  if (vyre__cuda_load(&err) != VYRE_OK)
    return bare_fail(err.message, -1);
  BARE_TRY(vyre__cuda.cuDeviceGet(&self->device, (int)index));
  BARE_TRY(vyre__cuda.cuDevicePrimaryCtxRetain(&self->context, self->device));
  BARE_TRY(enter(self));
  return leave(prepare(self));
}

static const char *about(void *self)
{
  return ((const bare *)self)->about;
}

static const char *reason(void *self)
{
  (void)self;
  return failure;
}

/* The functions of the other files with the context current. */
#define IN_CONTEXT(call)                                                                           \
  do {                                                                                             \
    const int code_ = enter(self);                                                                 \
    return code_ ? code_ : leave(call);                                                            \
  } while (0)

static int jobs_open(void *self, const void *bytes, uint32_t jobs, uint32_t job_bytes)
{
  IN_CONTEXT(bare_jobs_open(self, bytes, jobs, job_bytes));
}

static int jobs_run(void *self, uint32_t form, uint32_t *out_sums)
{
  IN_CONTEXT(bare_jobs_run(self, form, out_sums));
}

static int ping(void *self, uint32_t count, int work, double *out_ns)
{
  IN_CONTEXT(bare_ping(self, count, work, out_ns));
}

static int launch_and_wait(void *self, uint32_t count, double *out_ns)
{
  IN_CONTEXT(bare_launch_and_wait(self, count, out_ns));
}

static int launch_cost(void *self, uint32_t count, double *out_ns)
{
  IN_CONTEXT(bare_launch_cost(self, count, out_ns));
}

static int steps_open(void *self, const uint32_t *first, uint32_t words)
{
  IN_CONTEXT(bare_steps_open(self, first, words));
}

static int steps_renew(void *self)
{
  IN_CONTEXT(bare_steps_renew(self));
}

static int steps_run(void *self, uint32_t form, uint32_t segments, uint32_t passes)
{
  IN_CONTEXT(bare_steps_run(self, form, segments, passes));
}

static int steps_read(void *self, uint32_t which, uint32_t *out_words)
{
  IN_CONTEXT(bare_steps_read(self, which, out_words));
}

static int copy(void *self, uint32_t kind, uint64_t bytes, uint32_t times, double *out_seconds)
{
  IN_CONTEXT(bare_copy(self, kind, bytes, times, out_seconds));
}

static const bench_bare table = {.version = BENCH_BARE_VERSION,
                                 .name = "cuda",
                                 .open = open_card,
                                 .close = close_card,
                                 .about = about,
                                 .reason = reason,
                                 .jobs_open = jobs_open,
                                 .jobs_run = jobs_run,
                                 .ping = ping,
                                 .launch_and_wait = launch_and_wait,
                                 .launch_cost = launch_cost,
                                 .steps_open = steps_open,
                                 .steps_renew = steps_renew,
                                 .steps_run = steps_run,
                                 .steps_read = steps_read,
                                 .copy = copy};

const bench_bare *vyre_bench_bare(void)
{
  return &table;
}
