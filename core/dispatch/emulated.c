/*
 * emulated.c - all segments and passes in one call of a plugin that has a form of its own for it
 * (tier 3, EMULATED).  To the caller it is the route resident.
 */
#include "core/dispatch/stage.h"
#include "core/dispatch/steps.h"
#include "core/dispatch/whole.h"

static vyre_status call(vyre_pending *pending, const vyre__steps *steps, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  vyre_passes_desc desc = {.struct_size = sizeof desc, .step_stride = sizeof *steps->descs};
  vyre__launched launched = {NULL, VYRE__STEP_WHOLE, 1, 1};
  vyre_backend_pending *handle = NULL;
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  desc.steps = steps->descs;
  desc.step_count = steps->count;
  desc.control = pending->stage->control->handle;
  desc.max_passes = pending->options.iterations;
  desc.tested = pending->tested;
  status = device->backend->dispatch_passes(device->handle, &desc, &handle, &said);
  launched.handle = handle;
  return vyre__flight_add(pending, "dispatch_passes", status, &said, &launched, err);
}

static vyre_status start(vyre_pending *pending, const vyre__plan *plan, vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre__steps steps = {0};
  vyre_status status = vyre__stage_take(pending, program->settle != NULL, true, err);
  (void)plan;
  if (status == VYRE_OK)
    status = vyre__steps_describe(pending, pending->tested && program->settle, &steps, err);
  if (status == VYRE_OK && steps.count)
    status = call(pending, &steps, err);
  else if (status == VYRE_OK)
    status = VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, NULL, "the grid of every segment is empty");
  vyre__steps_free(&steps, &program->device->allocator);
  if (status != VYRE_OK)
    return status;
  pending->result.form = VYRE_FORM_EMULATED;
  pending->emulated_steps = steps.count;
  return VYRE_OK;
}

static vyre_status collect(vyre_pending *pending, vyre__value *values, vyre_error *err)
{
  vyre_status status = vyre__whole_collect(pending, values, err);
  pending->result.launches = (uint64_t)pending->emulated_steps * pending->result.passes;
  return status;
}

const vyre__route_ops vyre__route_emulated = {VYRE_ROUTE_RESIDENT, start, vyre__whole_advance,
                                              collect};
