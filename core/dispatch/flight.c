/* flight.c - launches in the air; see flight.h. */
#include "core/dispatch/flight.h"

#include "core/base/clock.h"
#include "core/dispatch/control.h"
#include "core/dispatch/pending.h"
#include "core/dispatch/times.h"

#include <stdio.h>

#define U64(value) ((unsigned long long)(value))

static const char report[] = "use another version of the plugin, and report this to its author";

static const vyre__launched *oldest(const vyre_pending *pending)
{
  return &pending->flight.launched[pending->flight.first];
}

/* The place of the `index`-th in the air; 0 is the oldest. */
static uint32_t place(const vyre__flight *flight, uint32_t index)
{
  const uint32_t at = flight->first + index;
  return at < flight->room ? at : at - flight->room;
}

static void prefix(const vyre_pending *pending, const vyre__launched *launched, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const uint32_t step = launched->step;
  char passes[48] = "";
  if (!vyre__pending_is_long(pending))
    return;
  if (launched->passes > 1)
    snprintf(passes, sizeof passes, ", passes %u to %u", launched->pass,
             launched->pass + (launched->passes - 1));
  else if (pending->options.iterations > 1)
    snprintf(passes, sizeof passes, ", pass %u", launched->pass);
  if (step == VYRE__STEP_WHOLE)
    vyre__error_prefix(err, "all %u segments in one: ", program->segment_count);
  else if (step == VYRE__STEP_REPLAY)
    vyre__error_prefix(err, "replay of %u segment%s%s: ", program->segment_count,
                       program->segment_count == 1 ? "" : "s", passes);
  else if (step == VYRE__STEP_SETTLE)
    vyre__error_prefix(err, "convergence test%s: ", passes);
  else
    vyre__error_prefix(err, "segment %u of %u ('%.200s')%s: ", step + 1, program->segment_count,
                       program->segments[step].name, passes);
}

void vyre__flight_prefix(const vyre_pending *pending, uint32_t step, uint32_t pass, vyre_error *err)
{
  const vyre__launched launched = {NULL, step, pass, 1};
  prefix(pending, &launched, err);
}

static const char *step_name(const vyre_program *program, uint32_t step)
{
  return step < program->segment_count ? program->segments[step].name : "all in one";
}

vyre_status vyre__flight_add(vyre_pending *pending, const char *function, vyre_status status,
                             const vyre_error *said, const vyre__launched *launched,
                             vyre_error *err)
{
  vyre_device *device = pending->program->device;
  vyre__flight *flight = &pending->flight;
  status = vyre__device_result(device, function, status, said, err);
  if (status == VYRE_OK && !launched->handle)
    status = VYRE_FAIL(err, VYRE_ERROR_INTERNAL, report,
                       "plugin %s returned no pending handle and reported no error",
                       device->backend->name);
  if (status != VYRE_OK) {
    prefix(pending, launched, err);
    return status;
  }
  flight->launched[place(flight, flight->count++)] = *launched;
  return VYRE_OK;
}

vyre_status vyre__flight_start(vyre_pending *pending, const vyre_dispatch_desc *desc, uint32_t step,
                               uint32_t pass, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  vyre__launched launched = {NULL, step, pass, 1};
  vyre_error said;
  vyre_status status = VYRE_OK;
  vyre__error_clear(&said);
  status = device->backend->dispatch(device->handle, desc, &launched.handle, &said);
  status = vyre__flight_add(pending, "dispatch", status, &said, &launched, err);
  if (status == VYRE_OK)
    pending->result.launches += 1;
  return status;
}

vyre_status vyre__flight_wait(vyre_pending *pending, uint64_t deadline, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  const vyre__launched *launched = oldest(pending);
  vyre_error said;
  vyre_status status = VYRE_OK;
  vyre__error_clear(&said);
  status = device->backend->pending_wait(launched->handle, vyre__time_left(deadline), &said);
  status = vyre__device_result(device, "pending_wait", status, &said, err);
  if (status != VYRE_OK)
    prefix(pending, launched, err);
  return status;
}

/* ---- reading ---- */

/* The plugin's answer is checked by count, tag and length before anybody reads a byte of it. */
static vyre_status check_slots(const vyre_pending *pending, const vyre_slot *slots,
                               const uint32_t *buffers, uint32_t count, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const char *plugin = program->device->backend->name;
  uint32_t filled = 0;
  for (uint32_t i = 0; i < count; ++i)
    filled += slots[i].binding_id != UINT32_MAX;
  if (filled != count)
    return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED, report,
                     "segment '%.200s' has %u outputs, plugin %s returned %u",
                     step_name(program, oldest(pending)->step), count, plugin, filled);
  for (uint32_t i = 0; i < count; ++i) {
    const bool own = buffers[i] < program->buffer_count;
    const uint64_t size =
        own ? pending->shape.sizes[buffers[i]] : sizeof(uint32_t) * VYRE_CONTROL_GROUPS;
    const char *name = own ? program->buffers[buffers[i]].name : "the control words";
    if (slots[i].binding_id != buffers[i])
      return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED, report,
                       "plugin %s returned binding %u as output %u; expected is binding %u, '%s'",
                       plugin, slots[i].binding_id, i, buffers[i], name);
    if (slots[i].size != size)
      return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED, report,
                       "plugin %s returned %llu bytes of '%s'; expected are %llu", plugin,
                       U64(slots[i].size), name, U64(size));
  }
  return VYRE_OK;
}

/* The first launch's start counts, and the last one's end. */
static void add_span(vyre_pending *pending, const vyre_backend_times *times)
{
  vyre_dispatch_result *result = &pending->result;
  const bool first = result->device_span_ns == VYRE_TIME_ABSENT;
  if (times->started_ns == VYRE_TIME_ABSENT || times->ended_ns == VYRE_TIME_ABSENT)
    return;
  if (first)
    pending->first_start_ns = times->started_ns;
  if (times->ended_ns >= pending->first_start_ns)
    result->device_span_ns = times->ended_ns - pending->first_start_ns;
}

vyre_status vyre__flight_read(vyre_pending *pending, vyre_slot *slots, const uint32_t *buffers,
                              uint32_t count, vyre_error *err)
{
  static const vyre_backend_times absent = {
      sizeof absent,   0, VYRE_TIME_ABSENT, VYRE_TIME_ABSENT, VYRE_TIME_ABSENT, VYRE_TIME_ABSENT,
      VYRE_TIME_ABSENT};
  vyre_device *device = pending->program->device;
  const vyre__launched *launched = oldest(pending);
  vyre_backend_times times = absent;
  vyre_error said;
  vyre_status status = VYRE_OK;
  vyre__error_clear(&said);
  status = device->backend->pending_read(launched->handle, slots, count, sizeof *slots,
                                         vyre__pending_is_timed(pending) ? &times : NULL, &said);
  status = vyre__device_result(device, "pending_read", status, &said, err);
  if (status == VYRE_OK)
    status = check_slots(pending, slots, buffers, count, err);
  if (status == VYRE_OK && vyre__pending_is_timed(pending))
    status = vyre__times_add(&pending->result, &times, err);
  if (status == VYRE_OK)
    add_span(pending, &times);
  if (status != VYRE_OK)
    prefix(pending, launched, err);
  return status;
}

/* ---- letting go ---- */

void vyre__flight_pop(vyre_pending *pending)
{
  vyre__flight *flight = &pending->flight;
  vyre_device *device = pending->program->device;
  if (vyre__context_is_ours(device->context))
    device->backend->pending_release(oldest(pending)->handle);
  flight->first = place(flight, 1);
  flight->count -= 1;
}

void vyre__flight_drop(vyre_pending *pending)
{
  while (pending->flight.count)
    vyre__flight_pop(pending);
}
