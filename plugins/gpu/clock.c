/*
 * clock.c - the device's clock: where events were on it, and what it says now.
 *
 * Vendors tell the time between two events, in milliseconds as a float.  The clock is one recorded
 * event, the epoch, of which the nanoseconds of CLOCK_MONOTONIC were taken when the device was
 * opened; any other event is the epoch plus the time between.  A float of more than some hundred
 * milliseconds is too coarse, so the epoch is moved on to a new event from time to time, by the
 * device's own count: the clock runs on at the device's pace and never jumps.
 *
 * Its events are recorded on a stream that nothing else is on, so a reading waits for no launch.
 */
#include "plugins/gpu/gpu.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

/* A float has 24 bits: up to 134 ms a step of it is 8 ns or less. */
#define EPOCH_AGE_NS 100000000u

/* The lock is held: nobody moves the epoch meanwhile. */
static vyre_status since_epoch(vyre_backend_device *device, vyre__gpu_event *event,
                               uint64_t *out_ns, vyre_error *err)
{
  float ms = 0;
  const vyre_status status =
      vyre__gpu_result(device, vyre__gpu_driver.event_elapsed(device->epoch, event, &ms),
                       "reading the time between two events", err);
  if (status != VYRE_OK)
    return status;
  /* An event from before the epoch lies at a negative distance. */
  const double distance = (double)ms * 1e6;
  const uint64_t whole = (uint64_t)(distance < 0 ? -distance : distance);
  if (distance >= 0)
    *out_ns = device->epoch_ns + whole;
  else
    *out_ns = device->epoch_ns > whole ? device->epoch_ns - whole : 0;
  return VYRE_OK;
}

/* A reading that took longer was interrupted: it says little of how the clocks stand. */
#define CLOSE_NS 100000u
#define READINGS 3u

static vyre_status read_once(vyre_backend_device *device, vyre__gpu_event *event,
                             uint64_t *out_host_ns, uint64_t *out_took_ns, vyre_error *err)
{
  static const char what[] = "reading the device's clock";
  const uint64_t before = vyre__plugin_clock_ns();
  vyre_status status =
      vyre__gpu_result(device, vyre__gpu_driver.event_record(event, device->clock), what, err);
  if (status == VYRE_OK)
    status = vyre__gpu_event_wait(device, event, what, err);
  *out_took_ns = vyre__plugin_clock_ns() - before;
  *out_host_ns = before + *out_took_ns / 2; /* it was reached somewhere in between */
  return status;
}

/* An event that is recorded now and reached; the host's time of it, within the call. */
static vyre_status mark(vyre_backend_device *device, vyre__gpu_event **out_event,
                        uint64_t *out_host_ns, vyre_error *err)
{
  vyre__gpu_event *event = NULL;
  uint64_t host_ns = 0, took_ns = UINT64_MAX;
  vyre_status status = vyre__gpu_event_take(device, true, &event, err);
  if (status != VYRE_OK)
    return status;
  for (uint32_t i = 0; i < READINGS && status == VYRE_OK && took_ns > CLOSE_NS; ++i)
    status = read_once(device, event, &host_ns, &took_ns, err);
  if (status != VYRE_OK) {
    vyre__gpu_event_give(device, true, event);
    return status;
  }
  *out_host_ns = host_ns;
  *out_event = event;
  return VYRE_OK;
}

vyre_status vyre__gpu_clock_start(vyre_backend_device *device, vyre_error *err)
{
  const vyre_status status = mark(device, &device->epoch, &device->epoch_host_ns, err);
  if (status == VYRE_OK)
    device->epoch_ns = device->clock_last_ns = device->epoch_host_ns;
  return status;
}

/*
 * The time of an event of mark(), which becomes the epoch if that one is old.  Takes the event.
 */
static vyre_status tell(vyre_backend_device *device, vyre__gpu_event *event, uint64_t host_ns,
                        uint64_t *out_ns, vyre_error *err)
{
  uint64_t ns = 0;
  pthread_mutex_lock(&device->lock);
  const vyre_status status = since_epoch(device, event, &ns, err);
  if (status == VYRE_OK) {
    /* Between two epochs a rounded step may lie; another thread may have told a later time. */
    if (device->clock_last_ns < ns)
      device->clock_last_ns = ns;
    *out_ns = device->clock_last_ns;
    if (ns > device->epoch_ns && ns - device->epoch_ns > EPOCH_AGE_NS) {
      vyre__gpu_event *const old = device->epoch;
      device->epoch = event;
      device->epoch_ns = ns;
      device->epoch_host_ns = host_ns;
      event = old;
    }
  }
  pthread_mutex_unlock(&device->lock);
  vyre__gpu_event_give(device, true, event);
  return status;
}

/* Moves the epoch on if it is old, so that what was recorded of late is near it. */
static vyre_status refresh(vyre_backend_device *device, vyre_error *err)
{
  vyre__gpu_event *event = NULL;
  uint64_t host_ns = 0, now = 0;
  pthread_mutex_lock(&device->lock);
  const uint64_t made = device->epoch_host_ns;
  pthread_mutex_unlock(&device->lock);
  if (vyre__plugin_clock_ns() - made <= EPOCH_AGE_NS)
    return VYRE_OK;
  const vyre_status status = mark(device, &event, &host_ns, err);
  return status == VYRE_OK ? tell(device, event, host_ns, &now, err) : status;
}

vyre_status vyre__gpu_event_time(vyre_backend_device *device, vyre__gpu_event *event,
                                 uint64_t *out_ns, vyre_error *err)
{
  vyre_status status = refresh(device, err);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&device->lock);
  status = since_epoch(device, event, out_ns, err);
  pthread_mutex_unlock(&device->lock);
  return status;
}

vyre_status vyre__gpu_device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                   uint64_t *out_host_ns, vyre_error *err)
{
  vyre__gpu_event *event = NULL;
  vyre__gpu_scope scope;
  uint64_t device_ns = 0, host_ns = 0;
  if (!device || !out_device_ns || !out_host_ns)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and places for both times",
                       "device, out_device_ns or out_host_ns is NULL");
  vyre_status status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = mark(device, &event, &host_ns, err);
  if (status == VYRE_OK)
    status = tell(device, event, host_ns, &device_ns, err);
  vyre__gpu_leave(&scope);
  if (status != VYRE_OK)
    return status;
  *out_device_ns = device_ns;
  *out_host_ns = host_ns;
  return VYRE_OK;
}
