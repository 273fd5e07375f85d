/*
 * host.c - a launch for each segment on host bytes: tier 1 is enough.
 *
 * One launch is in the air at a time.  Its results are read into spare blocks, which become the
 * values of their buffers (live.h).  Only what a segment binds travels to it.
 */
#include "core/dispatch/bind.h"
#include "core/dispatch/live.h"
#include "core/dispatch/route.h"

static bool is_declared(const vyre_pending *pending)
{
  return pending->program->converge == VYRE_CONVERGE_DECLARED;
}

/* ---- launching ---- */

/*
 * A write-only binding of a buffer that has a value travels as read-write: what the segment does
 * not write keeps its bytes.
 */
static void bind_value(const vyre_pending *pending, const vyre__binding_plan *plan,
                       vyre_binding *out_binding)
{
  vyre__bind(pending, plan->buffer, plan->access, out_binding);
  if (out_binding->kind == VYRE_BINDING_WORKGROUP || (plan->flags & VYRE_BINDING_WRITES_ALL))
    return;
  out_binding->data = vyre__live_bytes(pending, plan->buffer);
  if (out_binding->data && plan->access == VYRE_WRITE_ONLY)
    out_binding->access = VYRE_READ_WRITE;
}

static void bind_words(vyre_pending *pending, vyre_binding *out_binding)
{
  pending->live->control[VYRE_CONTROL_PASS] = pending->pass;
  memset(out_binding, 0, sizeof *out_binding);
  out_binding->struct_size = sizeof *out_binding;
  out_binding->id = vyre__control_id(pending->program);
  out_binding->access = VYRE_READ_WRITE;
  out_binding->data = pending->live->control;
  out_binding->size = sizeof pending->live->control;
  out_binding->element_count = VYRE_CONTROL_GROUPS;
}

static vyre_status launch(vyre_pending *pending, vyre_error *err)
{
  const vyre__segment_plan *segment = &pending->program->segments[pending->step];
  vyre_binding bindings[VYRE__MAX_BINDINGS];
  vyre_dispatch_desc desc;
  uint32_t count = 0;
  for (; count < segment->binding_count; ++count)
    bind_value(pending, &segment->bindings[count], &bindings[count]);
  if (is_declared(pending))
    bind_words(pending, &bindings[count++]);
  vyre__bind_desc(pending, segment->kernel, pending->groups[pending->step], bindings, count, &desc);
  return vyre__flight_start(pending, &desc, pending->step, pending->pass, err);
}

/* ---- landing ---- */

static void words_slot(vyre_pending *pending, vyre_slot *out_slot)
{
  memset(out_slot, 0, sizeof *out_slot);
  out_slot->struct_size = sizeof *out_slot;
  out_slot->binding_id = UINT32_MAX;
  out_slot->data = pending->live->said;
  out_slot->capacity = sizeof pending->live->said;
}

/* The launch has ended: its results become the values. */
static vyre_status land(vyre_pending *pending, vyre_error *err)
{
  const vyre__segment_plan *segment = &pending->program->segments[pending->step];
  vyre_slot slots[VYRE__MAX_BINDINGS];
  uint32_t buffers[VYRE__MAX_BINDINGS], count = 0;
  vyre_status status = VYRE_OK;
  for (uint32_t b = 0; b < segment->binding_count && status == VYRE_OK; ++b) {
    if (!vyre__access_writes(segment->bindings[b].access))
      continue;
    buffers[count] = segment->bindings[b].buffer;
    status = vyre__live_slot(pending, buffers[count], &slots[count], err);
    count += status == VYRE_OK;
  }
  if (status != VYRE_OK) {
    vyre__flight_prefix(pending, pending->step, pending->pass, err);
    return status;
  }
  if (is_declared(pending)) {
    words_slot(pending, &slots[count]);
    buffers[count++] = vyre__control_id(pending->program);
  }
  status = vyre__flight_read(pending, slots, buffers, count, err);
  vyre__flight_pop(pending);
  for (uint32_t i = 0; i < count && status == VYRE_OK; ++i)
    if (buffers[i] < pending->program->buffer_count)
      vyre__live_promote(pending, buffers[i]);
  if (status == VYRE_OK && is_declared(pending))
    pending->live->control[VYRE_CONTROL_CHANGED] = pending->live->said[VYRE_CONTROL_CHANGED];
  return status;
}

/* ---- the run ---- */

static void end_pass(vyre_pending *pending)
{
  vyre_dispatch_result *result = &pending->result;
  result->passes = pending->pass;
  if (pending->tested) {
    vyre__live_end_pass(pending);
    if (is_declared(pending))
      pending->changed = pending->live->control[VYRE_CONTROL_CHANGED] == pending->pass;
    result->converged = pending->changed ? VYRE_CONVERGED_NO : VYRE_CONVERGED_YES;
  }
  pending->done =
      pending->pass == pending->options.iterations || (pending->tested && !pending->changed);
  pending->pass += 1;
  pending->step = 0;
  pending->changed = false;
}

/* Goes to the next step that has a grid, or to the end of the run, and launches it. */
static vyre_status go_on(vyre_pending *pending, vyre_error *err)
{
  while (!pending->done) {
    if (pending->step == pending->program->segment_count)
      end_pass(pending);
    else if (vyre__step_is_empty(pending, pending->step))
      pending->step += 1;
    else
      return launch(pending, err);
  }
  return VYRE_OK;
}

static vyre_status start(vyre_pending *pending, const vyre__plan *plan, vyre_error *err)
{
  vyre_status status = vyre__live_take(pending, err);
  (void)plan;
  if (status != VYRE_OK)
    return status;
  pending->result.form = VYRE_FORM_LAUNCHES;
  pending->pass = pending->idle ? pending->options.iterations : 1;
  return go_on(pending, err);
}

/* Nothing comes after the launch in the air that would have to know its results. */
static bool is_last(const vyre_pending *pending)
{
  if (pending->tested || pending->pass != pending->options.iterations)
    return false;
  for (uint32_t s = pending->step + 1; s < pending->program->segment_count; ++s)
    if (!vyre__step_is_empty(pending, s))
      return false;
  return true;
}

static vyre_status advance(vyre_pending *pending, uint64_t deadline, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  while (status == VYRE_OK && !pending->done) {
    status = vyre__flight_wait(pending, deadline, err);
    if (status != VYRE_OK)
      break;
    if (is_last(pending)) {
      pending->result.passes = pending->pass;
      pending->done = true; /* collect() reads it, if anybody wants to know */
      break;
    }
    status = land(pending, err);
    pending->step += 1;
    if (status == VYRE_OK)
      status = go_on(pending, err);
  }
  return status;
}

static vyre_status collect(vyre_pending *pending, vyre__value *values, vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre_status status = pending->flight.count ? land(pending, err) : VYRE_OK;
  for (uint32_t p = 0; p < program->output_count && values && status == VYRE_OK; ++p)
    vyre__live_output(pending, program->outputs[p], &values[p]);
  return status;
}

const vyre__route_ops vyre__route_host = {VYRE_ROUTE_HOST, start, advance, collect};
