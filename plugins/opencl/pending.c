/*
 * pending.c - the end of a launch: waiting for it, its error, its outputs, its times.
 */
#include "code.h"
#include "launch.h"
#include "module.h"
#include "plugins/common/host.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* Looks that only give the processor away, before a wait with a limit sleeps between two. */
#define YIELDS 64u
#define SLEEP_NS_LEAST 10000u
#define SLEEP_NS_MOST 500000u

/* CL_COMPLETE, a positive number while it goes on, or the code that it ended with. */
static cl_int state_of(const vyre_backend_pending *launch, cl_event event)
{
  cl_int state = CL_COMPLETE;
  const cl_int code = launch->device->cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                         sizeof(state), &state, NULL);
  return code == CL_SUCCESS ? state : code;
}

/* OpenCL has no wait with a limit: looks again and again, ever more seldom. */
static bool wait_until(const vyre_backend_pending *launch, uint64_t timeout_ns)
{
  const uint64_t begin = vyre__plugin_clock_ns();
  struct timespec rest = {0, SLEEP_NS_LEAST};
  for (uint64_t looks = 0; state_of(launch, launch->last) > CL_COMPLETE; ++looks) {
    const uint64_t gone = vyre__plugin_clock_ns() - begin;
    if (gone >= timeout_ns)
      return false;
    if (looks < YIELDS) {
      sched_yield();
      continue;
    }
    rest.tv_nsec = rest.tv_nsec * 2 < SLEEP_NS_MOST ? rest.tv_nsec * 2 : SLEEP_NS_MOST;
    if ((uint64_t)rest.tv_nsec > timeout_ns - gone)
      rest.tv_nsec = (long)(timeout_ns - gone);
    nanosleep(&rest, NULL);
  }
  return true;
}

static bool wait_for(const vyre_backend_pending *launch, uint64_t timeout_ns)
{
  /* What is not flushed may never begin. */
  if (launch->trouble != CL_SUCCESS)
    (void)launch->device->cl->clFinish(launch->device->queue);
  if (!timeout_ns)
    return state_of(launch, launch->last) <= CL_COMPLETE;
  if (timeout_ns != VYRE_NO_TIMEOUT)
    return wait_until(launch, timeout_ns);
  /* An error is told by the event's own state. */
  (void)launch->device->cl->clWaitForEvents(1, &launch->last);
  return state_of(launch, launch->last) <= CL_COMPLETE || wait_until(launch, VYRE_NO_TIMEOUT);
}

static uint64_t whole(const uint32_t half[2])
{
  return (uint64_t)half[1] << 32 | half[0];
}

/* How it ended; the same every time (DISP-032). */
static vyre_status judge(const vyre_backend_pending *launch, vyre_error *err)
{
  const char *kernel = launch->kernel->name;
  const vyre__opencl_fault *fault = &launch->fault;
  cl_int state = state_of(launch, launch->launch);
  if (state == CL_COMPLETE)
    state = state_of(launch, launch->last);
  if (state == CL_COMPLETE && launch->trouble != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_DISPATCH_FAILED, launch->trouble, "the queue",
                          "behind the launch of kernel %s", kernel);
  if (state != CL_COMPLETE)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_DISPATCH_FAILED, state, "the device",
                          "the launch of kernel %s", kernel);
  if (fault->taken)
    return PLUGIN_FAIL(
        err, VYRE_ERROR_DISPATCH_FAILED, "check the index in the kernel, or the size of the buffer",
        "kernel %s: line %u: index %llu of buffer %.63s is outside its %llu elements", kernel,
        fault->line, (unsigned long long)whole(fault->index), fault->name,
        (unsigned long long)whole(fault->count));
  return VYRE_OK;
}

vyre_status vyre__opencl_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                      vyre_error *err)
{
  if (!pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a handle from dispatch()",
                       "the pending handle is NULL");
  if (!wait_for(pending, timeout_ns))
    return PLUGIN_FAIL(err, VYRE_ERROR_TIMEOUT, NULL, "kernel %s has not ended after %llu ns",
                       pending->kernel->name, (unsigned long long)timeout_ns);
  return judge(pending, err);
}

/* -------- outputs -------- */

static vyre_slot *slot_at(vyre_slot *slots, uint64_t stride, uint32_t index)
{
  return (vyre_slot *)(void *)((char *)slots + stride * index);
}

/* READ-001 and READ-002, before anything is written. */
static vyre_status check_slots(const vyre_backend_pending *pending, vyre_slot *slots,
                               uint32_t slot_count, uint64_t stride, vyre_error *err)
{
  const char *kernel = pending->kernel->name;
  if (slot_count != pending->output_count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give one slot for each HOST binding that is not READ_ONLY",
                       "kernel %s has %u outputs, %u slots were given", kernel,
                       pending->output_count, slot_count);
  if (slot_count && (!slots || stride < VYRE_SLOT_SIZE_0_1))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give an array of vyre_slot and its stride in bytes",
                       "slots is %s, their stride is %llu bytes", slots ? "given" : "NULL",
                       (unsigned long long)stride);
  for (uint32_t i = 0; i < slot_count; ++i) {
    const vyre_slot *slot = slot_at(slots, stride, i);
    vyre_status status = PLUGIN_CHECK_SIZE(err, slot, vyre_slot, VYRE_SLOT_SIZE_0_1);
    if (status != VYRE_OK)
      return status;
    if (slot->capacity != pending->outputs[i].size || (slot->capacity && !slot->data))
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "give room for exactly the binding's size",
                         "slot %u has %llu bytes at %s, binding %u has %llu", i,
                         (unsigned long long)slot->capacity, slot->data ? "an address" : "NULL",
                         pending->outputs[i].id, (unsigned long long)pending->outputs[i].size);
  }
  return VYRE_OK;
}

/* All copies are queued, and waited for once.  The launch has ended: its queue is not asked. */
static vyre_status copy_out(const vyre_backend_pending *pending, vyre_slot *slots, uint64_t stride,
                            vyre_error *err)
{
  const vyre_backend_device *device = pending->device;
  const vyre__cl_calls *cl = device->cl;
  cl_event last = NULL;
  cl_int code = CL_SUCCESS;
  for (uint32_t i = 0; code == CL_SUCCESS && i < pending->output_count; ++i) {
    const vyre__opencl_output *output = &pending->outputs[i];
    cl_event copied = NULL;
    if (!output->size)
      continue;
    code = cl->clEnqueueReadBuffer(device->transfer, output->memory, CL_FALSE, 0, output->size,
                                   slot_at(slots, stride, i)->data, 0, NULL, &copied);
    if (code != CL_SUCCESS)
      break;
    if (last)
      cl->clReleaseEvent(last);
    last = copied;
  }
  /* In order: whoever is last ends last.  Also after an error: nothing writes there any more. */
  if (last) {
    const cl_int waited = cl->clWaitForEvents(1, &last);
    if (waited != CL_SUCCESS)
      cl->clFinish(device->transfer);
    if (code == CL_SUCCESS)
      code = waited;
    cl->clReleaseEvent(last);
  }
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_DISPATCH_FAILED, code, "clEnqueueReadBuffer",
                          "the outputs of kernel %s", pending->kernel->name);
  return VYRE_OK;
}

/* As far as the caller's structure reaches (ABI-002). */
static void fill_times(const vyre_backend_pending *pending, uint64_t wait_ns,
                       vyre_backend_times *out_times)
{
  const vyre__cl_calls *cl = pending->device->cl;
  cl_ulong started = 0, ended = 0;
  const bool measured =
      cl->clGetEventProfilingInfo(pending->launch, CL_PROFILING_COMMAND_START, sizeof(started),
                                  &started, NULL) == CL_SUCCESS &&
      cl->clGetEventProfilingInfo(pending->launch, CL_PROFILING_COMMAND_END, sizeof(ended), &ended,
                                  NULL) == CL_SUCCESS &&
      started <= ended;
  const uint32_t size = out_times->struct_size;
  const vyre_backend_times times = {
      .struct_size = size < sizeof(times) ? size : (uint32_t)sizeof(times),
      .device_ns = measured ? ended - started : VYRE_TIME_ABSENT,
      .enqueue_ns = pending->enqueue_ns,
      .wait_ns = wait_ns,
      .started_ns = measured ? started : VYRE_TIME_ABSENT,
      .ended_ns = measured ? ended : VYRE_TIME_ABSENT,
  };
  memcpy(out_times, &times, times.struct_size);
}

vyre_status vyre__opencl_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                      uint32_t slot_count, uint64_t slot_stride,
                                      vyre_backend_times *out_times, vyre_error *err)
{
  if (!pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a handle from dispatch()",
                       "the pending handle is NULL");
  vyre_status status = check_slots(pending, slots, slot_count, slot_stride, err);
  if (status == VYRE_OK && out_times)
    status = PLUGIN_CHECK_SIZE(err, out_times, vyre_backend_times, VYRE_BACKEND_TIMES_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  const bool ended = wait_for(pending, 0);
  const uint64_t before = vyre__plugin_clock_ns();
  status = vyre__opencl_pending_wait(pending, VYRE_NO_TIMEOUT, err);
  const uint64_t wait_ns = ended ? 0 : vyre__plugin_clock_ns() - before;
  if (status == VYRE_OK)
    status = copy_out(pending, slots, slot_stride, err);
  if (status != VYRE_OK)
    return status;
  for (uint32_t i = 0; i < slot_count; ++i) {
    vyre_slot *slot = slot_at(slots, slot_stride, i);
    slot->binding_id = pending->outputs[i].id;
    slot->size = pending->outputs[i].size;
    if (slot->struct_size > sizeof(*slot))
      slot->struct_size = sizeof(*slot);
  }
  if (out_times)
    fill_times(pending, wait_ns, out_times);
  return VYRE_OK;
}

void vyre__opencl_pending_release(vyre_backend_pending *pending)
{
  if (!pending)
    return;
  wait_for(pending, VYRE_NO_TIMEOUT);
  vyre__opencl_launch_drop(pending);
}
