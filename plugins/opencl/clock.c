/*
 * clock.c - the device's clock, and the pace of the counter that kernels read.
 *
 * The device's clock is that of CL_PROFILING_COMMAND_START and _END: launches' times and
 * device_clock() are on one clock.
 */
#include "code.h"
#include "device.h"
#include "plugins/common/host.h"

#include "embed/vyre__opencl_prelude.h"

#include <string.h>

/* The counter is looked at twice, so many nanoseconds apart. */
#define APART_NS 20000000u
/* Of so many looks the one that took the shortest counts. */
#define LOOKS 8

/* Nanoseconds of the device when a marker that it runs has ended. */
static cl_int read_marker(const vyre_backend_device *device, cl_ulong *out_ns)
{
  const vyre__cl_calls *cl = device->cl;
  cl_event event = NULL;
  cl_int code = cl->clEnqueueMarkerWithWaitList(device->transfer, 0, NULL, &event);
  if (code != CL_SUCCESS)
    return code;
  code = cl->clWaitForEvents(1, &event);
  if (code == CL_SUCCESS)
    code =
        cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(*out_ns), out_ns, NULL);
  cl->clReleaseEvent(event);
  return code;
}

vyre_status vyre__opencl_device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                      uint64_t *out_host_ns, vyre_error *err)
{
  cl_ulong device_ns = 0, host_ns = 0;
  if (!device || !out_device_ns || !out_host_ns)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and places for both times",
                       "device, out_device_ns or out_host_ns is NULL");
  const uint64_t before = vyre__plugin_clock_ns();
  if (device->facts->has_timer) {
    const cl_int code =
        device->cl->clGetDeviceAndHostTimer(device->facts->device, &device_ns, &host_ns);
    if (code != CL_SUCCESS)
      return OPENCL_FAIL(err, code, "clGetDeviceAndHostTimer", "the device's clock");
  } else {
    const cl_int code = read_marker(device, &device_ns);
    if (code != CL_SUCCESS)
      return OPENCL_FAIL(err, code, "a marker", "the device's clock");
  }
  *out_device_ns = device_ns;
  *out_host_ns = before + (vyre__plugin_clock_ns() - before) / 2;
  return VYRE_OK;
}

/* -------- the pace of the kernels' counter -------- */

/* Measured once a process: a device may be opened often. */
static struct {
  cl_device_id device;
  uint64_t tick;
} measured[VYRE__OPENCL_MAX_DEVICES];
static pthread_mutex_t measured_lock = PTHREAD_MUTEX_INITIALIZER;

static const char look_text[] = "\n#line 1 \"vyre clock\"\n"
                                "__kernel void vyre_look(__global vyre_u64 *out)\n"
                                "{\n"
                                "#ifdef VYRE__TICKS\n"
                                "  out[0] = VYRE__TICKS();\n"
                                "#else\n"
                                "  out[0] = 0u;\n"
                                "#endif\n"
                                "}\n";

typedef struct look {
  uint64_t host_ns, ticks;
} look;

/* One look: the counter, and the host's time in the middle of the call. */
static cl_int look_once(const vyre_backend_device *device, cl_kernel kernel, cl_mem memory,
                        look *out_look, uint64_t *out_took)
{
  const vyre__cl_calls *cl = device->cl;
  const size_t one = 1;
  const uint64_t before = vyre__plugin_clock_ns();
  cl_int code =
      cl->clEnqueueNDRangeKernel(device->transfer, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
  if (code == CL_SUCCESS)
    code = cl->clFinish(device->transfer);
  *out_took = vyre__plugin_clock_ns() - before;
  out_look->host_ns = before + *out_took / 2;
  if (code == CL_SUCCESS)
    code = cl->clEnqueueReadBuffer(device->transfer, memory, CL_TRUE, 0, sizeof(out_look->ticks),
                                   &out_look->ticks, 0, NULL, NULL);
  return code;
}

static cl_int look_well(const vyre_backend_device *device, cl_kernel kernel, cl_mem memory,
                        look *out_best)
{
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < LOOKS; ++i) {
    look one;
    uint64_t took = 0;
    const cl_int code = look_once(device, kernel, memory, &one, &took);
    if (code != CL_SUCCESS)
      return code;
    if (took < shortest) {
      shortest = took;
      *out_best = one;
    }
  }
  return CL_SUCCESS;
}

/* Nanoseconds of a tick, times 2^32; a device without a counter begins anywhere. */
static cl_int measure(const vyre_backend_device *device, cl_kernel kernel, cl_mem memory,
                      uint64_t *out_tick)
{
  look first = {0, 0}, last = {0, 0};
  cl_int code = look_well(device, kernel, memory, &first);
  while (code == CL_SUCCESS && vyre__plugin_clock_ns() - first.host_ns < APART_NS) {
  }
  if (code == CL_SUCCESS)
    code = look_well(device, kernel, memory, &last);
  if (code == CL_SUCCESS && last.ticks > first.ticks)
    *out_tick = (uint64_t)((double)(last.host_ns - first.host_ns) /
                           (double)(last.ticks - first.ticks) * 4294967296.0);
  if (!*out_tick)
    *out_tick = 1;
  return code;
}

static vyre_status build_and_measure(vyre_backend_device *device, char *text, uint64_t size,
                                     uint64_t *out_tick, vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  const vyre__opencl_source source = {.text = text, .size = size, .name = "vyre clock"};
  cl_program program = NULL;
  cl_kernel kernel = NULL;
  cl_mem memory = NULL;
  cl_int code = CL_SUCCESS;
  vyre_status status = vyre__opencl_build(device, &source, &program, err);
  if (status != VYRE_OK)
    return status;
  kernel = cl->clCreateKernel(program, "vyre_look", &code);
  if (kernel)
    memory = cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, sizeof(uint64_t), NULL, &code);
  if (memory)
    code = cl->clSetKernelArg(kernel, 0, sizeof(memory), &memory);
  if (memory && code == CL_SUCCESS)
    code = measure(device, kernel, memory, out_tick);
  if (code != CL_SUCCESS)
    status = OPENCL_FAIL(err, code, "a kernel", "the pace of the device's counter");
  if (memory)
    cl->clReleaseMemObject(memory);
  if (kernel)
    cl->clReleaseKernel(kernel);
  cl->clReleaseProgram(program);
  return status;
}

/* The place for a device's measure, or a free one; the lock is held. */
static uint64_t *measure_of(cl_device_id device)
{
  for (uint32_t i = 0; i < VYRE__OPENCL_MAX_DEVICES; ++i) {
    if (!measured[i].device)
      measured[i].device = device;
    if (measured[i].device == device)
      return &measured[i].tick;
  }
  return NULL;
}

vyre_status vyre__opencl_measure_tick(vyre_backend_device *device, vyre_error *err)
{
  const uint64_t size = vyre__opencl_prelude_size + sizeof(look_text) - 1;
  vyre_status status = VYRE_OK;
  /* Relaxed: a number that stands by itself. */
  if (__atomic_load_n(&device->tick, __ATOMIC_RELAXED))
    return VYRE_OK;
  pthread_mutex_lock(&measured_lock);
  uint64_t *tick = measure_of(device->facts->device);
  if (!*tick) {
    char *text = vyre__plugin_allocate(device->host, size, 1);
    if (text) {
      memcpy(text, vyre__opencl_prelude, vyre__opencl_prelude_size);
      memcpy(text + vyre__opencl_prelude_size, look_text, sizeof(look_text) - 1);
      status = build_and_measure(device, text, size, tick, err);
      vyre__plugin_deallocate(device->host, text);
    } else {
      status = PLUGIN_FAIL_MEMORY(err, "the text of the clock's kernel");
    }
    if (status != VYRE_OK)
      *tick = 0;
  }
  __atomic_store_n(&device->tick, *tick, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&measured_lock);
  return status;
}
