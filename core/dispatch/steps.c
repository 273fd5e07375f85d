/* steps.c - the launches of one pass as a list; see steps.h. */
#include "core/dispatch/steps.h"

vyre_status vyre__steps_describe(const vyre_pending *pending, bool with_test,
                                 vyre__steps *out_steps, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const vyre_allocator *allocator = &program->device->allocator;
  const uint32_t most = program->segment_count + with_test;
  memset(out_steps, 0, sizeof *out_steps);
  out_steps->descs = vyre__allocate_zeroed(allocator, most, sizeof *out_steps->descs);
  out_steps->bindings =
      vyre__allocate_zeroed(allocator, (uint64_t)most * VYRE__MAX_BINDINGS, sizeof(vyre_binding));
  if (!out_steps->descs || !out_steps->bindings)
    return VYRE_FAIL_MEMORY(err, "the steps of a program");
  for (uint32_t s = 0; s < most; ++s)
    if (!vyre__step_is_empty(pending, s))
      vyre__bind_step(pending, s < program->segment_count ? s : VYRE__STEP_SETTLE,
                      out_steps->bindings + (uint64_t)s * VYRE__MAX_BINDINGS,
                      &out_steps->descs[out_steps->count++]);
  return VYRE_OK;
}

void vyre__steps_free(const vyre_pending *pending, vyre__steps *steps)
{
  vyre__deallocate(&pending->program->device->allocator, steps->descs);
  vyre__deallocate(&pending->program->device->allocator, steps->bindings);
}
