/* bind.c - descriptors of launches; see bind.h. */
#include "core/dispatch/bind.h"

#include "core/dispatch/control.h"
#include "core/dispatch/stage.h"

void vyre__bind(const vyre_pending *pending, uint32_t buffer, vyre_access access,
                vyre_binding *out_binding)
{
  memset(out_binding, 0, sizeof *out_binding);
  out_binding->struct_size = sizeof *out_binding;
  out_binding->id = buffer;
  out_binding->access = access;
  out_binding->size = pending->shape.sizes[buffer];
  out_binding->element_count = pending->shape.counts[buffer];
  if (access == VYRE_WORKGROUP)
    out_binding->kind = VYRE_BINDING_WORKGROUP;
}

void vyre__bind_staged(const vyre_pending *pending, uint32_t buffer, vyre_access access,
                       vyre_binding *out_binding)
{
  vyre__bind(pending, buffer, access, out_binding);
  if (out_binding->kind == VYRE_BINDING_WORKGROUP)
    return;
  out_binding->kind = VYRE_BINDING_BUFFER;
  out_binding->buffer = vyre__staged(pending, buffer)->handle;
}

static void bind_own(uint32_t id, const vyre_buffer *buffer, uint64_t size, uint32_t element_size,
                     vyre_binding *out_binding)
{
  memset(out_binding, 0, sizeof *out_binding);
  out_binding->struct_size = sizeof *out_binding;
  out_binding->id = id;
  out_binding->access = VYRE_READ_WRITE;
  out_binding->kind = VYRE_BINDING_BUFFER;
  out_binding->buffer = buffer->handle;
  out_binding->size = size;
  out_binding->element_count = size / element_size;
}

void vyre__bind_shadow(const vyre_pending *pending, vyre_binding *out_binding)
{
  bind_own(vyre__shadow_id(pending->program), pending->stage->shadow, pending->stage->shadow_size,
           1, out_binding);
}

void vyre__bind_control(const vyre_pending *pending, vyre_binding *out_binding)
{
  bind_own(vyre__control_id(pending->program), pending->stage->control,
           vyre__control_size(pending->program), sizeof(uint32_t), out_binding);
}

void vyre__bind_desc(const vyre_pending *pending, vyre_backend_kernel *kernel,
                     const uint32_t groups[3], const vyre_binding *bindings, uint32_t count,
                     vyre_dispatch_desc *out_desc)
{
  memset(out_desc, 0, sizeof *out_desc);
  out_desc->struct_size = sizeof *out_desc;
  out_desc->kernel = kernel;
  out_desc->bindings = bindings;
  out_desc->binding_count = count;
  out_desc->binding_stride = sizeof *bindings;
  out_desc->id_limit = vyre__control_id(pending->program) + 1;
  out_desc->push = pending->options.push;
  out_desc->push_size = pending->options.push_size;
  out_desc->untimed = !vyre__pending_is_timed(pending);
  memcpy(out_desc->groups, groups, sizeof out_desc->groups);
  memcpy(out_desc->workgroup, pending->program->workgroup, sizeof out_desc->workgroup);
}

static uint32_t bind_segment(const vyre_pending *pending, uint32_t step, vyre_binding *bindings)
{
  const vyre_program *program = pending->program;
  const vyre__segment_plan *segment = &program->segments[step];
  uint32_t count = 0;
  for (; count < segment->binding_count; ++count)
    vyre__bind_staged(pending, segment->bindings[count].buffer, segment->bindings[count].access,
                      &bindings[count]);
  if (program->converge == VYRE_CONVERGE_DECLARED)
    vyre__bind_control(pending, &bindings[count++]);
  return count;
}

static uint32_t bind_settle(const vyre_pending *pending, vyre_binding *bindings)
{
  const vyre_program *program = pending->program;
  uint32_t count = 0;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (program->buffers[i].written && program->buffers[i].access != VYRE_WORKGROUP)
      vyre__bind_staged(pending, i, VYRE_READ_ONLY, &bindings[count++]);
  vyre__bind_shadow(pending, &bindings[count++]);
  vyre__bind_control(pending, &bindings[count++]);
  return count;
}

void vyre__bind_step(const vyre_pending *pending, uint32_t step, vyre_binding *bindings,
                     vyre_dispatch_desc *out_desc)
{
  const vyre_program *program = pending->program;
  const bool settle = step == VYRE__STEP_SETTLE;
  const uint32_t count =
      settle ? bind_settle(pending, bindings) : bind_segment(pending, step, bindings);
  vyre__bind_desc(pending, settle ? program->settle : program->segments[step].kernel,
                  pending->groups[settle ? program->segment_count : step], bindings, count,
                  out_desc);
}
