/* stage.c - the device's side of one dispatch; see stage.h. */
#include "core/dispatch/stage.h"

#include "core/base/checked.h"
#include "core/dispatch/control.h"

#define U64(value) ((unsigned long long)(value))

/* ---- keeping ---- */

/* The program's idle stage, or a new one. */
static vyre_status get(vyre_pending *pending, vyre_error *err)
{
  vyre_program *program = pending->program;
  /* Acquire, partner: the release in vyre__stage_give(): what the last user stored is seen. */
  pending->stage = __atomic_exchange_n(&program->idle_stage, NULL, __ATOMIC_ACQUIRE);
  if (pending->stage)
    return VYRE_OK;
  pending->stage = vyre__allocate_zeroed(&program->device->allocator, 1, sizeof *pending->stage);
  if (!pending->stage)
    return VYRE_FAIL_MEMORY(err, "the buffers of a dispatch");
  pending->stage->allocator = program->device->allocator;
  return VYRE_OK;
}

void vyre__stage_give(vyre_pending *pending)
{
  /* Release, partner: the acquire in get().  The one that was idle goes. */
  vyre__stage *other =
      __atomic_exchange_n(&pending->program->idle_stage, pending->stage, __ATOMIC_ACQ_REL);
  pending->stage = NULL;
  vyre__stage_destroy(other);
}

void vyre__stage_destroy(vyre__stage *stage)
{
  if (!stage)
    return;
  for (uint32_t i = 0; i < VYRE_MAX_BUFFERS; ++i) {
    vyre_buffer_destroy(stage->buffers[i]);
    vyre__deallocate(&stage->allocator, stage->scratch[i]);
    vyre__deallocate(&stage->allocator, stage->copies[i]);
  }
  vyre_buffer_destroy(stage->shadow);
  vyre_buffer_destroy(stage->control);
  vyre__deallocate(&stage->allocator, stage);
}

/* ---- buffers ---- */

/* At least `size` bytes in `*slot`; `*out_fresh` (may be NULL): they are new, hence zeros. */
static vyre_status ensure(const vyre_pending *pending, vyre_buffer **slot, uint64_t size,
                          bool *out_fresh, vyre_error *err)
{
  vyre_buffer *buffer = NULL;
  vyre_status status = VYRE_OK;
  if (out_fresh)
    *out_fresh = false;
  if (*slot && vyre_buffer_size(*slot) >= size)
    return VYRE_OK;
  status = vyre_buffer_create(pending->program->device, size, &buffer, err);
  if (status != VYRE_OK)
    return status;
  vyre_buffer_destroy(*slot);
  *slot = buffer;
  if (out_fresh)
    *out_fresh = true;
  return VYRE_OK;
}

static vyre_status fill_one(vyre_pending *pending, uint32_t index, vyre_error *err)
{
  vyre_buffer **slot = &pending->stage->buffers[index];
  const uint64_t size = pending->shape.sizes[index];
  const vyre_bytes *given = &pending->given[index];
  bool fresh = false;
  vyre_status status = ensure(pending, slot, size, &fresh, err);
  if (status == VYRE_OK && size && given->data)
    status = vyre_buffer_upload(*slot, 0, given->data, size, err);
  else if (status == VYRE_OK && size && !fresh)
    status = vyre_buffer_fill(*slot, 0, size, 0, err);
  if (status != VYRE_OK)
    vyre__error_prefix(err, "buffer '%s': ", pending->program->buffers[index].name);
  return status;
}

static vyre_status fill(vyre_pending *pending, vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre_status status = VYRE_OK;
  if (pending->on_buffers)
    return VYRE_OK;
  for (uint32_t i = 0; i < program->buffer_count && status == VYRE_OK; ++i)
    if (program->buffers[i].bound && program->buffers[i].access != VYRE_WORKGROUP)
      status = fill_one(pending, i, err);
  return status;
}

static vyre_status make_shadow(vyre_pending *pending, vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre__stage *stage = pending->stage;
  uint64_t size = 0, at = 0;
  vyre_status status = VYRE_OK;
  /* Each buffer's copy begins on 16 bytes, as vyre_settle_bytes() has it. */
  for (uint32_t i = 0; i < program->buffer_count && pending->tested; ++i)
    if (program->buffers[i].written && (!vyre__checked_add(size, pending->shape.sizes[i], &size) ||
                                        !vyre__checked_align(size, 16, &size)))
      return VYRE_FAIL(err, VYRE_ERROR_OUT_OF_DEVICE_MEMORY, "use smaller buffers",
                       "the copies of what is tested for convergence overflow 64 bits");
  status = ensure(pending, &stage->shadow, size, NULL, err);
  stage->shadow_size = size;
  for (uint32_t i = 0; i < program->buffer_count && size && status == VYRE_OK; ++i) {
    if (!program->buffers[i].written)
      continue;
    if (pending->shape.sizes[i])
      status = vyre_buffer_copy(stage->shadow, at, vyre__staged(pending, i), 0,
                                pending->shape.sizes[i], err);
    at = (at + pending->shape.sizes[i] + 15) & ~15ull;
  }
  if (status != VYRE_OK)
    vyre__error_prefix(err, "the copy that convergence is tested with: ");
  return status;
}

/* ---- control words ---- */

static vyre_status make_control(vyre_pending *pending, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const vyre_allocator *allocator = &pending->stage->allocator;
  const uint64_t size = vyre__control_size(program);
  const uint32_t steps = program->segment_count + 1;
  uint32_t *words = NULL;
  vyre_status status = ensure(pending, &pending->stage->control, size, NULL, err);
  if (status != VYRE_OK)
    return status;
  words = vyre__allocate_zeroed(allocator, 1, size);
  if (!words)
    return VYRE_FAIL_MEMORY(err, "the control words of a dispatch");
  words[VYRE_CONTROL_PASS] = 1;
  words[VYRE_CONTROL_LIMIT] = pending->idle ? 1 : pending->options.iterations;
  words[VYRE_CONTROL_TESTED] = pending->tested;
  memcpy(words + VYRE_CONTROL_GROUPS, pending->groups, steps * sizeof *pending->groups);
  status = vyre_buffer_upload(pending->stage->control, 0, words, size, err);
  vyre__deallocate(allocator, words);
  return status;
}

vyre_status vyre__stage_take(vyre_pending *pending, bool shadow, bool control, vyre_error *err)
{
  vyre_status status = get(pending, err);
  if (status == VYRE_OK)
    status = fill(pending, err);
  if (status == VYRE_OK && shadow)
    status = make_shadow(pending, err);
  if (status == VYRE_OK && control)
    status = make_control(pending, err);
  return status;
}

/* ---- in the run ---- */

vyre_status vyre__stage_set_pass(vyre_pending *pending, uint32_t pass, vyre_error *err)
{
  return vyre_buffer_upload(pending->stage->control, VYRE_CONTROL_PASS * sizeof pass, &pass,
                            sizeof pass, err);
}

vyre_status vyre__stage_outcome(vyre_pending *pending, uint32_t *out_changed, uint32_t *out_passes,
                                vyre_error *err)
{
  uint32_t words[2] = {0};
  vyre_status status = vyre_buffer_download(pending->stage->control, 0, words, sizeof words, err);
  *out_changed = words[VYRE_CONTROL_CHANGED];
  *out_passes = words[VYRE_CONTROL_PASSES];
  return status;
}

/* ---- results ---- */

/* At least `size` bytes of host memory in the slot. */
static vyre_status ensure_memory(const vyre_pending *pending, void **memory, uint64_t *have,
                                 uint64_t size, uint32_t index, vyre_error *err)
{
  const vyre_allocator *allocator = &pending->stage->allocator;
  if (*memory && *have >= size)
    return VYRE_OK;
  vyre__deallocate(allocator, *memory);
  *have = size;
  *memory = vyre__allocate(allocator, size, _Alignof(max_align_t));
  if (!*memory)
    return VYRE_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, NULL,
                     "no host memory to read '%s' of %llu bytes back",
                     pending->program->buffers[index].name, U64(size));
  return VYRE_OK;
}

static vyre_status collect_one(vyre_pending *pending, uint32_t index, vyre__value *value,
                               vyre_error *err)
{
  vyre__stage *stage = pending->stage;
  const void *given = pending->given[index].data;
  uint64_t offset = 0;
  vyre_status status = VYRE_OK;
  memset(value, 0, sizeof *value);
  vyre__shape_range(pending->program, &pending->shape, index, &offset, &value->size);
  if (!pending->program->buffers[index].bound) {
    value->data = given ? (const char *)given + offset : NULL;
    return VYRE_OK;
  }
  if (!value->size)
    return VYRE_OK;
  status = ensure_memory(pending, &stage->scratch[index], &stage->scratch_size[index], value->size,
                         index, err);
  if (status == VYRE_OK)
    status = vyre_buffer_download(stage->buffers[index], offset, stage->scratch[index], value->size,
                                  err);
  value->data = value->owned = stage->scratch[index];
  value->owned_capacity = stage->scratch_size[index];
  value->keeper = &stage->scratch[index];
  return status;
}

vyre_status vyre__stage_collect(vyre_pending *pending, vyre__value *values, vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre_status status = VYRE_OK;
  for (uint32_t p = 0; p < program->output_count && status == VYRE_OK; ++p) {
    status = collect_one(pending, program->outputs[p], &values[p], err);
    if (status != VYRE_OK)
      vyre__error_prefix(err, "output '%s': ", program->buffers[program->outputs[p]].name);
  }
  return status;
}

vyre_status vyre__stage_compare(vyre_pending *pending, bool first, bool *out_changed,
                                vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre__stage *stage = pending->stage;
  vyre_status status = VYRE_OK;
  *out_changed = false;
  for (uint32_t i = 0; i < program->buffer_count && status == VYRE_OK; ++i) {
    const uint64_t size = pending->shape.sizes[i];
    void **now = first ? &stage->copies[i] : &stage->scratch[i];
    uint64_t *have = first ? &stage->copies_size[i] : &stage->scratch_size[i];
    if (!program->buffers[i].written || !size)
      continue;
    status = ensure_memory(pending, now, have, size, i, err);
    if (status == VYRE_OK)
      status = vyre_buffer_download(vyre__staged(pending, i), 0, *now, size, err);
    if (status != VYRE_OK || first || !*now || !memcmp(*now, stage->copies[i], size))
      continue;
    *out_changed = true;
    /* The new state is the next pass's old one: the memories change places. */
    void *copy = stage->copies[i];
    const uint64_t copy_size = stage->copies_size[i];
    stage->copies[i] = *now;
    stage->copies_size[i] = *have;
    *now = copy;
    *have = copy_size;
  }
  return status;
}
