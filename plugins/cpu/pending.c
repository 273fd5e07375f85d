/*
 * pending.c - the end of a launch: waiting for it, its error, its outputs.
 */
#include "device.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vyre__cpu_launch_init(vyre_backend_pending *launch, vyre_backend_device *device)
{
  memset(launch, 0, sizeof(*launch));
  launch->error.code = VYRE_OK;
  launch->device = device;
}

void vyre__cpu_launch_fail(vyre_backend_pending *launch, vyre_status code, int line,
                           const char *fix, const char *format, ...)
{
  char message[VYRE_ERROR_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&launch->device->lock);
  if (launch->error.code == VYRE_OK) {
    launch->error.struct_size = sizeof(launch->error);
    vyre__plugin_error_set(&launch->error, code, 0, "run.c", line, fix, "%s", message);
  }
  pthread_mutex_unlock(&launch->device->lock);
  /* Relaxed: only saves work.  The error itself is read after `done`. */
  __atomic_store_n(&launch->failed, 1, __ATOMIC_RELAXED);
}

void vyre__cpu_launch_end(vyre_backend_pending *launch)
{
  vyre_backend_device *device = launch->device;
  launch->ended_ns = vyre__plugin_clock_ns();
  /* Release: pairs with the acquire in launch_wait(), which may look without the lock; whoever
     sees it may free the launch, so it is the last touch. */
  __atomic_store_n(&launch->done, 1, __ATOMIC_RELEASE);
  pthread_cond_broadcast(&device->done);
}

bool vyre__cpu_launch_wait(vyre_backend_pending *launch, uint64_t timeout_ns)
{
  vyre_backend_device *device = launch->device;
  struct timespec until;
  int failure = 0;
  /* Acquire: pairs with the release in launch_end(); the results are visible after it. */
  if (__atomic_load_n(&launch->done, __ATOMIC_ACQUIRE))
    return true;
  if (!timeout_ns)
    return false;
  uint64_t now = vyre__plugin_clock_ns();
  uint64_t deadline = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
  until.tv_sec = (time_t)(deadline / 1000000000u);
  until.tv_nsec = (long)(deadline % 1000000000u);
  pthread_mutex_lock(&device->lock);
  while (!__atomic_load_n(&launch->done, __ATOMIC_ACQUIRE) && failure != ETIMEDOUT) {
    /* Rather than sleep until a thread of the pool has woken up, run groups here. */
    if (timeout_ns == VYRE_NO_TIMEOUT && vyre__cpu_pool_help(launch))
      continue;
    if (deadline == UINT64_MAX)
      pthread_cond_wait(&device->done, &device->lock);
    else
      failure = pthread_cond_timedwait(&device->done, &device->lock, &until);
  }
  bool done = __atomic_load_n(&launch->done, __ATOMIC_ACQUIRE) != 0;
  pthread_mutex_unlock(&device->lock);
  return done;
}

static const char *what(const vyre_backend_pending *pending)
{
  return pending->replay ? "a sequence that begins with kernel" : "kernel";
}

vyre_status vyre__cpu_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                   vyre_error *err)
{
  if (!pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a handle from dispatch()",
                       "the pending handle is NULL");
  if (!vyre__cpu_launch_wait(pending, timeout_ns))
    return PLUGIN_FAIL(err, VYRE_ERROR_TIMEOUT, NULL, "%s %s has not ended after %llu ns",
                       what(pending), pending->kernel_name, (unsigned long long)timeout_ns);
  if (pending->error.code != VYRE_OK)
    return vyre__plugin_error_copy(err, &pending->error);
  return VYRE_OK;
}

static vyre_slot *slot_at(vyre_slot *slots, uint64_t stride, uint32_t index)
{
  return (vyre_slot *)(void *)((char *)slots + stride * index);
}

/* READ-001 and READ-002, before anything is written. */
static vyre_status check_slots(const vyre_backend_pending *pending, vyre_slot *slots,
                               uint32_t slot_count, uint64_t stride, vyre_error *err)
{
  if (slot_count != pending->output_count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give one slot for each HOST binding that is not READ_ONLY",
                       "%s %s has %u outputs, %u slots were given", what(pending),
                       pending->kernel_name, pending->output_count, slot_count);
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

/* As far as the caller's structure reaches (ABI-002). */
static void fill_times(const vyre_backend_pending *pending, uint64_t read_ns,
                       vyre_backend_times *out_times)
{
  uint32_t size = out_times->struct_size;
  const vyre_backend_times times = {
      .struct_size = size < sizeof(times) ? size : (uint32_t)sizeof(times),
      .device_ns = pending->ended_ns - pending->started_ns,
      .enqueue_ns = pending->enqueue_ns,
      .wait_ns = pending->ended_ns > read_ns ? pending->ended_ns - read_ns : 0,
      .started_ns = pending->started_ns,
      .ended_ns = pending->ended_ns,
  };
  memcpy(out_times, &times, times.struct_size);
}

vyre_status vyre__cpu_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
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
  uint64_t before = vyre__plugin_clock_ns();
  status = vyre__cpu_pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status != VYRE_OK)
    return status;
  for (uint32_t i = 0; i < slot_count; ++i) {
    vyre_slot *slot = slot_at(slots, slot_stride, i);
    slot->binding_id = pending->outputs[i].id;
    slot->size = pending->outputs[i].size;
    if (slot->size)
      memcpy(slot->data, pending->outputs[i].data, slot->size);
    if (slot->struct_size > sizeof(*slot))
      slot->struct_size = sizeof(*slot);
  }
  if (out_times)
    fill_times(pending, before, out_times);
  return VYRE_OK;
}

void vyre__cpu_pending_release(vyre_backend_pending *pending)
{
  if (!pending)
    return;
  vyre__cpu_launch_wait(pending, VYRE_NO_TIMEOUT);
  vyre__plugin_deallocate(pending->device->host, pending);
}
