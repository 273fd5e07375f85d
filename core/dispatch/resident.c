/*
 * resident.c - a launch for each segment, on buffers that stay on the device; or a pass recorded
 * and replayed (replay.h).
 *
 * Launches are started ahead; the device keeps those that share a buffer in order.  Where
 * convergence is tested, a pass is over before the next one begins: the device tests it with a
 * kernel of its own and one word comes back, or, if the code brings no such kernel, the buffers do.
 */
#include "core/dispatch/bind.h"
#include "core/dispatch/replay.h"
#include "core/dispatch/stage.h"
#include "core/dispatch/whole.h"

/* The run is tested by bytes, on the device. */
static bool settles(const vyre_pending *pending)
{
  return pending->tested && pending->program->converge == VYRE_CONVERGE_EXACT &&
         pending->program->settle;
}

/* The run is tested by bytes, here. */
static bool compares(const vyre_pending *pending)
{
  return pending->tested && pending->program->converge == VYRE_CONVERGE_EXACT &&
         !pending->program->settle;
}

/* ---- launching ---- */

/* There is a next step, and nothing has to be known before it. */
static bool may_launch(const vyre_pending *pending)
{
  const uint32_t most = pending->recorded ? VYRE__REPLAY_AHEAD : pending->flight.room;
  if (pending->flight.count >= most || pending->launched)
    return false;
  return pending->step || !pending->tested || pending->tested_pass + 1 == pending->pass;
}

static void next_step(vyre_pending *pending)
{
  const uint32_t steps = pending->program->segment_count + settles(pending);
  if (++pending->step < steps)
    return;
  pending->step = 0;
  pending->launched = pending->pass == pending->options.iterations;
  pending->pass += 1;
}

static vyre_status launch_step(vyre_pending *pending, vyre_error *err)
{
  const uint32_t segments = pending->program->segment_count;
  const uint32_t step = pending->step < segments ? pending->step : VYRE__STEP_SETTLE;
  vyre_binding bindings[VYRE__MAX_BINDINGS];
  vyre_dispatch_desc desc;
  vyre_status status = VYRE_OK;
  if (!vyre__step_is_empty(pending, pending->step)) {
    vyre__bind_step(pending, step, bindings, &desc);
    status = vyre__flight_start(pending, &desc, step, pending->pass, err);
  }
  if (status == VYRE_OK)
    next_step(pending);
  return status;
}

/* One launch alone is only recorded where tests want it. */
static bool may_replay(const vyre_pending *pending)
{
  return pending->options.iterations > 1 || pending->program->segment_count > 1 ||
         pending->program->device->recording == VYRE__RECORDING_ALWAYS;
}

/* A step; at the beginning of a pass all of it, if it is recorded. */
static vyre_status launch(vyre_pending *pending, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (pending->step)
    return launch_step(pending, err);
  if (pending->pass > 1 && pending->tested && !compares(pending))
    status = vyre__stage_set_pass(pending, pending->pass, err);
  if (status == VYRE_OK && may_replay(pending))
    status = vyre__replay_consider(pending, settles(pending), err);
  if (status != VYRE_OK)
    return status;
  return pending->recorded ? vyre__replay_start(pending, err) : launch_step(pending, err);
}

static vyre_status launch_ahead(vyre_pending *pending, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  while (status == VYRE_OK && may_launch(pending))
    status = launch(pending, err);
  return status;
}

static vyre_status start(vyre_pending *pending, const vyre__plan *plan, vyre_error *err)
{
  const bool declared = pending->program->converge == VYRE_CONVERGE_DECLARED;
  bool changed = false;
  vyre_status status = VYRE_OK;
  (void)plan;
  /* With the caller's buffers and nothing tested there is nothing to keep on the device. */
  if (!pending->on_buffers || declared || pending->tested)
    status = vyre__stage_take(pending, settles(pending), declared || settles(pending), err);
  if (status == VYRE_OK && compares(pending))
    status = vyre__stage_compare(pending, true, &changed, err);
  if (status != VYRE_OK)
    return status;
  pending->result.form = VYRE_FORM_LAUNCHES;
  pending->pass = pending->idle ? pending->options.iterations : 1;
  return launch_ahead(pending, err);
}

/* ---- between the passes ---- */

/* Pass `tested_pass + 1` is over. */
static vyre_status test(vyre_pending *pending, vyre_error *err)
{
  uint32_t last_changed = 0, passes = 0;
  bool changed = false;
  vyre_status status = VYRE_OK;
  if (compares(pending)) {
    status = vyre__stage_compare(pending, false, &changed, err);
  } else {
    status = vyre__stage_outcome(pending, &last_changed, &passes, err);
    changed = last_changed > pending->tested_pass;
  }
  if (status != VYRE_OK)
    return status;
  pending->tested_pass += 1;
  pending->result.passes = pending->tested_pass;
  pending->result.converged = changed ? VYRE_CONVERGED_NO : VYRE_CONVERGED_YES;
  pending->done = !changed || pending->tested_pass == pending->options.iterations;
  return VYRE_OK;
}

/* The oldest has ended and is not the last of the run. */
static vyre_status land(vyre_pending *pending, vyre_error *err)
{
  vyre_status status = vyre__flight_read(pending, NULL, NULL, 0, err);
  vyre__flight_pop(pending);
  return status;
}

static vyre_status advance(vyre_pending *pending, uint64_t deadline, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  while (status == VYRE_OK && !pending->done) {
    const bool over = pending->launched;
    if (pending->flight.count) {
      status = vyre__flight_wait(pending, deadline, err);
      if (status == VYRE_OK && over && !pending->tested && pending->flight.count == 1)
        pending->done = true; /* collect() reads it, if anybody wants to know */
      else if (status == VYRE_OK)
        status = land(pending, err);
    } else if (pending->tested) {
      status = test(pending, err);
    } else {
      pending->done = over;
    }
    if (status == VYRE_OK && !pending->done)
      status = launch_ahead(pending, err);
  }
  if (status == VYRE_OK && !pending->tested)
    pending->result.passes = pending->options.iterations;
  return status;
}

const vyre__route_ops vyre__route_resident = {VYRE_ROUTE_RESIDENT, start, advance,
                                              vyre__staged_collect};
