/*
 * event.c - a device's pool of timed events, and waiting for one.
 */
#include "plugins/gpu/gpu.h"

#include "plugins/common/host.h"

/* A wait looks this long before it sleeps in the driver, which costs some tens of microseconds to
   wake from: longer than small copies take, shorter than anybody minds. */
#define LOOK_NS 30000u

vyre_status vyre__gpu_event_take(vyre_backend_device *device, vyre__gpu_event **out_event,
                                 vyre_error *err)
{
  vyre__gpu_event *event = NULL;
  pthread_mutex_lock(&device->lock);
  if (device->event_count)
    event = device->events[--device->event_count];
  pthread_mutex_unlock(&device->lock);
  if (!event) {
    const vyre_status status = vyre__gpu_result(
        device, vyre__gpu_driver.event_make(true, true, &event), "making an event", err);
    if (status != VYRE_OK)
      return status;
  }
  *out_event = event;
  return VYRE_OK;
}

void vyre__gpu_event_drop(vyre_backend_device *device, vyre__gpu_event *event)
{
  vyre__gpu_scope scope;
  if (!event)
    return;
  if (vyre__gpu_enter_to_free(device, &scope))
    (void)vyre__gpu_driver.event_drop(event);
  vyre__gpu_leave(&scope);
}

void vyre__gpu_event_give(vyre_backend_device *device, vyre__gpu_event *event)
{
  if (!event)
    return;
  pthread_mutex_lock(&device->lock);
  const bool is_kept = device->event_count < VYRE__GPU_EVENTS_KEPT;
  if (is_kept)
    device->events[device->event_count++] = event;
  pthread_mutex_unlock(&device->lock);
  if (!is_kept)
    vyre__gpu_event_drop(device, event);
}

vyre_status vyre__gpu_event_wait(vyre_backend_device *device, vyre__gpu_event *event,
                                 const char *what, vyre_error *err)
{
  const uint64_t start = vyre__plugin_clock_ns();
  vyre__gpu_code code = 0;
  do {
    code = vyre__gpu_driver.event_query(event);
    if (!code || !vyre__gpu_driver.code_is_not_ready(code))
      return vyre__gpu_result(device, code, what, err);
  } while (vyre__plugin_clock_ns() - start < LOOK_NS);
  return vyre__gpu_result(device, vyre__gpu_driver.event_sync(event), what, err);
}

vyre_status vyre__gpu_stream_settle(vyre_backend_device *device, vyre__gpu_stream *stream,
                                    const char *what, vyre_error *err)
{
  vyre__gpu_event *event = NULL;
  vyre_status status = vyre__gpu_event_take(device, &event, err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_result(device, vyre__gpu_driver.event_record(event, stream), what, err);
  if (status == VYRE_OK)
    status = vyre__gpu_event_wait(device, event, what, err);
  vyre__gpu_event_give(device, event);
  return status;
}

void vyre__gpu_events_drop(vyre_backend_device *device)
{
  while (device->event_count)
    vyre__gpu_event_drop(device, device->events[--device->event_count]);
}
