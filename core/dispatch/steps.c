/* steps.c - the launches of one pass as a list; see steps.h. */
#include "core/dispatch/steps.h"

static uint32_t id_of(const vyre_pending *pending, uint32_t step)
{
  return step < pending->program->segment_count ? step : VYRE__STEP_SETTLE;
}

/* At most so many bindings in all. */
static uint64_t most_bindings(const vyre_program *program, bool with_test)
{
  uint64_t most = with_test ? program->buffer_count + 2u : 0;
  for (uint32_t s = 0; s < program->segment_count; ++s)
    most += program->segments[s].binding_count + 1u; /* and the control words */
  return most;
}

static vyre_status allocate(const vyre_pending *pending, bool with_test, vyre__steps *steps,
                            vyre_error *err)
{
  const vyre_program *program = pending->program;
  const vyre_allocator *allocator = &program->device->allocator;
  const uint64_t most = most_bindings(program, with_test);
  const uint32_t push_size = pending->options.push_size;
  steps->descs = vyre__allocate_zeroed(allocator, program->segment_count + (uint64_t)with_test,
                                       sizeof *steps->descs);
  steps->bindings = vyre__allocate_zeroed(allocator, 1, most * sizeof *steps->bindings + push_size);
  if (!steps->descs || !steps->bindings)
    return VYRE_FAIL_MEMORY(err, "the steps of a program");
  if (push_size)
    steps->push = memcpy(steps->bindings + most, pending->options.push, push_size);
  return VYRE_OK;
}

vyre_status vyre__steps_describe(const vyre_pending *pending, bool with_test,
                                 vyre__steps *out_steps, vyre_error *err)
{
  const uint32_t most = pending->program->segment_count + with_test;
  vyre_binding *next = NULL;
  vyre_status status = VYRE_OK;
  memset(out_steps, 0, sizeof *out_steps);
  status = allocate(pending, with_test, out_steps, err);
  next = out_steps->bindings;
  for (uint32_t s = 0; s < most && status == VYRE_OK; ++s) {
    vyre_dispatch_desc *desc = &out_steps->descs[out_steps->count];
    if (vyre__step_is_empty(pending, s))
      continue;
    vyre__bind_step(pending, id_of(pending, s), next, desc);
    desc->push = out_steps->push;
    next += desc->binding_count;
    out_steps->count += 1;
  }
  return status;
}

void vyre__steps_free(vyre__steps *steps, const vyre_allocator *allocator)
{
  vyre__deallocate(allocator, steps->descs);
  vyre__deallocate(allocator, steps->bindings);
}

/* All of a descriptor but where its bindings and its constants lie. */
static bool same_desc(const vyre_dispatch_desc *a, const vyre_dispatch_desc *b)
{
  return a->kernel == b->kernel && a->flags == b->flags && a->binding_count == b->binding_count &&
         a->binding_stride == b->binding_stride && a->id_limit == b->id_limit &&
         a->push_size == b->push_size && !memcmp(a->groups, b->groups, sizeof a->groups) &&
         !memcmp(a->workgroup, b->workgroup, sizeof a->workgroup);
}

bool vyre__steps_match(const vyre__steps *steps, const vyre_pending *pending, bool with_test)
{
  const uint32_t most = pending->program->segment_count + with_test;
  uint32_t at = 0;
  if (pending->options.push_size && steps->count &&
      (pending->options.push_size != steps->descs[0].push_size ||
       memcmp(pending->options.push, steps->push, pending->options.push_size) != 0))
    return false;
  for (uint32_t s = 0; s < most; ++s) {
    vyre_binding bindings[VYRE__MAX_BINDINGS];
    vyre_dispatch_desc desc;
    if (vyre__step_is_empty(pending, s))
      continue;
    if (at == steps->count)
      return false;
    vyre__bind_step(pending, id_of(pending, s), bindings, &desc);
    if (!same_desc(&desc, &steps->descs[at]) ||
        memcmp(bindings, steps->descs[at].bindings, desc.binding_count * sizeof *bindings) != 0)
      return false;
    at += 1;
  }
  return at == steps->count;
}
