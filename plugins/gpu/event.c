/*
 * event.c - a device's pools of events, and waiting for one.
 *
 * None of them wakes a thread that sleeps in the driver.  To record one that does costs 0.8 us more
 * on an H200, and waking takes 40 us (docs/measurements/h200.md); no vendor's wait takes a limit,
 * and some hold a lock meanwhile that other threads need.  So a wait looks for itself.
 */
#include "plugins/gpu/gpu.h"

#include "plugins/common/host.h"

#include <sched.h>
#include <time.h>

/* A wait looks this long without a rest: longer than small copies and launches take. */
#define LOOK_NS 60000u
/* Then, up to here, it lets other threads have the processor between two looks: the shortest rest
   is as long as a hundred small launches. */
#define YIELD_NS 1000000u
/* Then it rests, a part of what it has waited for, so that it ends late by no more than one in
   sixty and what the system's timer adds. */
#define WAITED_PER_NAP 64u
#define LEAST_LONG_NAP_NS 200000u
#define MOST_NAP_NS 1000000u

vyre_status vyre__gpu_event_take(vyre_backend_device *device, bool timed,
                                 vyre__gpu_event **out_event, vyre_error *err)
{
  struct vyre__gpu_events *pool = &device->events[timed];
  vyre__gpu_event *event = NULL;
  pthread_mutex_lock(&device->lock);
  if (pool->count)
    event = pool->kept[--pool->count];
  pthread_mutex_unlock(&device->lock);
  if (!event) {
    const vyre_status status = vyre__gpu_result(
        device, vyre__gpu_driver.event_make(timed, false, &event), "making an event", err);
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

void vyre__gpu_event_give(vyre_backend_device *device, bool timed, vyre__gpu_event *event)
{
  struct vyre__gpu_events *pool = &device->events[timed];
  if (!event)
    return;
  pthread_mutex_lock(&device->lock);
  const bool is_kept = pool->count < VYRE__GPU_EVENTS_KEPT;
  if (is_kept)
    pool->kept[pool->count++] = event;
  pthread_mutex_unlock(&device->lock);
  if (!is_kept)
    vyre__gpu_event_drop(device, event);
}

static void nap(uint64_t waited, uint64_t left, bool is_long)
{
  uint64_t ns = waited / WAITED_PER_NAP;
  if (is_long && ns < LEAST_LONG_NAP_NS)
    ns = LEAST_LONG_NAP_NS;
  ns = ns < MOST_NAP_NS ? ns : MOST_NAP_NS;
  ns = ns < left ? ns : left;
  const struct timespec rest = {0, (long)ns}; /* less than a second */
  nanosleep(&rest, NULL);
}

vyre_status vyre__gpu_event_watch(vyre_backend_device *device, vyre__gpu_event *event, bool is_long,
                                  uint64_t timeout_ns, const char *what, vyre_error *err)
{
  const uint64_t start = vyre__plugin_clock_ns();
  for (;;) {
    const vyre__gpu_code code = vyre__gpu_driver.event_query(event);
    if (!code || !vyre__gpu_driver.code_is_not_ready(code))
      return vyre__gpu_result(device, code, what, err);
    const uint64_t waited = timeout_ns ? vyre__plugin_clock_ns() - start : 0;
    if (waited >= timeout_ns)
      return VYRE_ERROR_TIMEOUT;
    if (is_long || waited >= YIELD_NS)
      nap(waited, timeout_ns - waited, is_long);
    else if (waited >= LOOK_NS)
      sched_yield();
  }
}

vyre_status vyre__gpu_event_wait(vyre_backend_device *device, vyre__gpu_event *event,
                                 const char *what, vyre_error *err)
{
  return vyre__gpu_event_watch(device, event, false, VYRE_NO_TIMEOUT, what, err);
}

vyre_status vyre__gpu_stream_settle(vyre_backend_device *device, vyre__gpu_stream *stream,
                                    const char *what, vyre_error *err)
{
  vyre__gpu_event *event = NULL;
  vyre_status status = vyre__gpu_event_take(device, false, &event, err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_result(device, vyre__gpu_driver.event_record(event, stream), what, err);
  if (status == VYRE_OK)
    status = vyre__gpu_event_wait(device, event, what, err);
  vyre__gpu_event_give(device, false, event);
  return status;
}

void vyre__gpu_events_drop(vyre_backend_device *device)
{
  for (int timed = 0; timed < 2; ++timed)
    while (device->events[timed].count)
      vyre__gpu_event_drop(device, device->events[timed].kept[--device->events[timed].count]);
}
