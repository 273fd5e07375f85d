/*
 * emulated.c - all segments and passes in one call of a plugin that has a form of its own for it
 * (tier 3, EMULATED).  To the caller it is the route resident.
 */
#include "core/dispatch/bind.h"
#include "core/dispatch/stage.h"
#include "core/dispatch/whole.h"

/* Descriptors of all steps; the call copies what it needs of them. */
typedef struct step_list {
  vyre_dispatch_desc *descs;
  vyre_binding *bindings;
  uint32_t count;
} step_list;

static vyre_status describe(const vyre_pending *pending, step_list *out_steps, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const vyre_allocator *allocator = &program->device->allocator;
  const uint32_t most = program->segment_count + 1;
  out_steps->descs = vyre__allocate_zeroed(allocator, most, sizeof *out_steps->descs);
  out_steps->bindings =
      vyre__allocate_zeroed(allocator, (uint64_t)most * VYRE__MAX_BINDINGS, sizeof(vyre_binding));
  if (!out_steps->descs || !out_steps->bindings)
    return VYRE_FAIL_MEMORY(err, "the steps of a program");
  for (uint32_t s = 0; s < most; ++s) {
    const bool settle = s == program->segment_count;
    if (vyre__step_is_empty(pending, s) || (settle && (!pending->tested || !program->settle)))
      continue;
    vyre__bind_step(pending, settle ? VYRE__STEP_SETTLE : s,
                    out_steps->bindings + (uint64_t)s * VYRE__MAX_BINDINGS,
                    &out_steps->descs[out_steps->count++]);
  }
  return VYRE_OK;
}

static vyre_status call(vyre_pending *pending, const step_list *steps, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  vyre_passes_desc desc = {.struct_size = sizeof desc, .step_stride = sizeof *steps->descs};
  vyre_backend_pending *handle = NULL;
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  desc.steps = steps->descs;
  desc.step_count = steps->count;
  desc.control = pending->stage->control->handle;
  desc.max_passes = pending->options.iterations;
  desc.tested = pending->tested;
  status = device->backend->dispatch_passes(device->handle, &desc, &handle, &said);
  return vyre__flight_add(pending, "dispatch_passes", status, &said, handle, VYRE__STEP_WHOLE, 1,
                          err);
}

static vyre_status start(vyre_pending *pending, const vyre__plan *plan, vyre_error *err)
{
  step_list steps = {0};
  vyre_status status = vyre__stage_take(pending, pending->program->settle != NULL, true, err);
  (void)plan;
  if (status == VYRE_OK)
    status = describe(pending, &steps, err);
  if (status == VYRE_OK && steps.count)
    status = call(pending, &steps, err);
  else if (status == VYRE_OK)
    status = VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, NULL, "the grid of every segment is empty");
  vyre__deallocate(&pending->program->device->allocator, steps.descs);
  vyre__deallocate(&pending->program->device->allocator, steps.bindings);
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
