/*
 * native.c - the whole program in one launch: the fused kernel, or, of one segment and one pass,
 * that segment.
 */
#include "core/dispatch/bind.h"
#include "core/dispatch/stage.h"
#include "core/dispatch/whole.h"

/* The parameters of vyre_fused, in the order of core/program/fused.h. */
static uint32_t bind_fused(const vyre_pending *pending, vyre_binding *bindings)
{
  const vyre_program *program = pending->program;
  uint32_t count = 0;
  for (; count < program->fused_count; ++count) {
    const uint32_t buffer = program->fused_buffers[count];
    const vyre__buffer_plan *plan = &program->buffers[buffer];
    vyre__bind_staged(pending, buffer,
                      plan->access == VYRE_WORKGROUP ? VYRE_WORKGROUP
                      : plan->written                ? VYRE_READ_WRITE
                                                     : VYRE_READ_ONLY,
                      &bindings[count]);
  }
  if (program->settle)
    vyre__bind_shadow(pending, &bindings[count++]);
  vyre__bind_control(pending, &bindings[count++]);
  return count;
}

static vyre_status start_fused(vyre_pending *pending, const vyre__plan *plan, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const uint32_t groups[3] = {plan->fused_groups, 1, 1};
  vyre_binding bindings[VYRE__MAX_BINDINGS];
  vyre_dispatch_desc desc;
  /* A fused kernel with a test has the parameter for its shadow whether this run is tested or not.
   */
  vyre_status status = vyre__stage_take(pending, program->settle != NULL, true, err);
  if (status != VYRE_OK)
    return status;
  pending->result.form = VYRE_FORM_FUSED;
  vyre__bind_desc(pending, program->fused, groups, bindings, bind_fused(pending, bindings), &desc);
  desc.flags = VYRE_DISPATCH_COOPERATIVE;
  return vyre__flight_start(pending, &desc, VYRE__STEP_WHOLE, 1, err);
}

static vyre_status start_single(vyre_pending *pending, vyre_error *err)
{
  vyre_binding bindings[VYRE__MAX_BINDINGS];
  vyre_dispatch_desc desc;
  const bool declared = pending->program->converge == VYRE_CONVERGE_DECLARED;
  vyre_status status = vyre__stage_take(pending, false, declared, err);
  if (status != VYRE_OK || vyre__step_is_empty(pending, 0))
    return status;
  vyre__bind_step(pending, 0, bindings, &desc);
  return vyre__flight_start(pending, &desc, 0, 1, err);
}

static vyre_status start(vyre_pending *pending, const vyre__plan *plan, vyre_error *err)
{
  if (!vyre__pending_is_long(pending))
    return start_single(pending, err);
  return start_fused(pending, plan, err);
}

const vyre__route_ops vyre__route_native = {VYRE_ROUTE_NATIVE, start, vyre__whole_advance,
                                            vyre__whole_collect};
