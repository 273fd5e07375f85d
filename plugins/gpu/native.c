/*
 * native.c - events and queues of the vendor's own, lent to an application or by it (tier 5).
 *
 * A device's queue is its stream `compute`: launches are on it, and copies are started behind what
 * is on it, so an event there stands for both.
 */
#include "plugins/gpu/gpu.h"

#include "plugins/common/error.h"

/* CUDA and HIP call their two default streams 1 and 2: one waits for everybody else's work, the
   other is another stream in each thread. */
#define LAST_DEFAULT_STREAM 2u

static vyre__gpu_event *event_of(const vyre_native_handle *handle)
{
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): the ABI hands handles over as numbers. */
  return (vyre__gpu_event *)(uintptr_t)handle->handle;
}

static vyre_status check_type(const vyre_native_handle *handle, const char *what, vyre_error *err)
{
  if (handle->type == vyre__gpu_driver.native_type)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give one of this device's vendor",
                     "%s is of type %u, %s devices take type %u", what, handle->type,
                     vyre__gpu_driver.name, vyre__gpu_driver.native_type);
}

static vyre_status check(const vyre_backend_device *device, const vyre_native_handle *handle,
                         vyre_error *err)
{
  if (!device)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device", "the device is NULL");
  return PLUGIN_CHECK_SIZE(err, handle, vyre_native_handle, VYRE_NATIVE_HANDLE_SIZE_0_3);
}

/* An event of the caller's or of event_record(). */
static vyre_status check_event(const vyre_backend_device *device, const vyre_native_handle *event,
                               vyre_error *err)
{
  vyre_status status = check(device, event, err);
  if (status == VYRE_OK)
    status = check_type(event, "the event", err);
  if (status == VYRE_OK && !event->handle)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give an event that was recorded",
                         "the event has handle 0");
  return status;
}

static void give(vyre_native_handle *to, const void *handle)
{
  to->type = vyre__gpu_driver.native_type;
  to->handle = (uint64_t)(uintptr_t)handle;
  if (to->struct_size > sizeof(*to))
    to->struct_size = sizeof(*to);
}

/* ---- events ---- */

/* Puts the event behind what the device has been given so far; the context is current. */
static vyre_status record(vyre_backend_device *device, vyre__gpu_event *event, vyre_error *err)
{
  /* Between the calls of a launch there is no place for it. */
  pthread_mutex_lock(&device->lock);
  const vyre__gpu_code code = vyre__gpu_driver.event_record(event, device->compute);
  pthread_mutex_unlock(&device->lock);
  return vyre__gpu_result(device, code, "recording an event", err);
}

vyre_status vyre__gpu_event_record(vyre_backend_device *device, vyre_native_handle *event,
                                   vyre_error *err)
{
  vyre__gpu_event *native = NULL;
  vyre__gpu_scope scope;
  vyre_status status = check(device, event, err);
  if (status == VYRE_OK && event->handle)
    status = check_type(event, "the event", err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK && event->handle)
    native = event_of(event);
  else if (status == VYRE_OK)
    status = vyre__gpu_result(device, vyre__gpu_driver.event_make(false, true, &native),
                              "making an event", err);
  if (status == VYRE_OK)
    status = record(device, native, err);
  if (status != VYRE_OK && native && !event->handle)
    (void)vyre__gpu_driver.event_drop(native);
  vyre__gpu_leave(&scope);
  if (status == VYRE_OK)
    give(event, native);
  return status;
}

vyre_status vyre__gpu_event_await(vyre_backend_device *device, const vyre_native_handle *event,
                                  vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status = check_event(device, event, err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK) {
    pthread_mutex_lock(&device->lock);
    const vyre__gpu_code code = vyre__gpu_driver.stream_wait(device->compute, event_of(event));
    pthread_mutex_unlock(&device->lock);
    status = vyre__gpu_result(device, code, "waiting for an event on the device", err);
  }
  vyre__gpu_leave(&scope);
  return status;
}

vyre_status vyre__gpu_event_release(vyre_backend_device *device, const vyre_native_handle *event,
                                    vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status = check_event(device, event, err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = vyre__gpu_result(device, vyre__gpu_driver.event_drop(event_of(event)),
                              "releasing an event", err);
  vyre__gpu_leave(&scope);
  return status;
}

/* ---- queues ---- */

vyre_status vyre__gpu_queue_export(vyre_backend_device *device, vyre_native_handle *out_queue,
                                   vyre_error *err)
{
  vyre_status status = check(device, out_queue, err);
  if (status == VYRE_OK)
    status = vyre__gpu_check_lost(device, err);
  if (status == VYRE_OK)
    give(out_queue, device->compute);
  return status;
}

vyre_status vyre__gpu_queue_check(const vyre_native_handle *queue, vyre_error *err)
{
  if (!queue->handle)
    return VYRE_OK;
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, queue, vyre_native_handle, VYRE_NATIVE_HANDLE_SIZE_0_3);
  if (status == VYRE_OK)
    status = check_type(queue, "the queue", err);
  if (status == VYRE_OK && queue->handle <= LAST_DEFAULT_STREAM)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "make a stream of your own",
                         "the queue is a default stream (%llu)", (unsigned long long)queue->handle);
  return status;
}

vyre_status vyre__gpu_queue_take(vyre_backend_device *device, const vyre_native_handle *queue,
                                 vyre_error *err)
{
  vyre__gpu_event *event = NULL;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): the ABI hands handles over as numbers. */
  vyre__gpu_stream *const stream = (vyre__gpu_stream *)(uintptr_t)queue->handle;
  vyre_status status = vyre__gpu_event_take(device, false, &event, err);
  if (status != VYRE_OK)
    return status;
  /* Waits for nothing; a queue of another device or context refuses our event. */
  status = vyre__gpu_result(device, vyre__gpu_driver.event_record(event, stream),
                            "using the queue of the caller", err);
  vyre__gpu_event_give(device, false, event);
  if (status == VYRE_OK) {
    device->compute = stream;
    device->is_queue_borrowed = true;
  }
  return status;
}
