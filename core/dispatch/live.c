/* live.c - the values of a program's buffers on the host route; see live.h. */
#include "core/dispatch/live.h"

/* ---- keeping ---- */

vyre_status vyre__live_take(vyre_pending *pending, vyre_error *err)
{
  vyre_program *program = pending->program;
  /* Acquire, partner: the release in vyre__live_give(): what the last user stored is seen. */
  vyre__live *live = __atomic_exchange_n(&program->idle_live, NULL, __ATOMIC_ACQUIRE);
  if (!live)
    live = vyre__allocate_zeroed(&program->device->allocator, 1, sizeof *live);
  if (!live)
    return VYRE_FAIL_MEMORY(err, "the values of a dispatch");
  live->allocator = program->device->allocator;
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    vyre__live_value *value = &live->values[i];
    value->own = false;
    value->before_pass = 0;
    if (!value->spare.data) { /* what was the value last time is the first spare now */
      const vyre__block none = value->spare;
      value->spare = value->value;
      value->value = none;
    }
  }
  memset(live->control, 0, sizeof live->control);
  pending->live = live;
  return VYRE_OK;
}

void vyre__live_give(vyre_pending *pending)
{
  /* Release, partner: the acquire in vyre__live_take().  The one that was idle goes. */
  vyre__live *other =
      __atomic_exchange_n(&pending->program->idle_live, pending->live, __ATOMIC_ACQ_REL);
  pending->live = NULL;
  vyre__live_destroy(other);
}

void vyre__live_destroy(vyre__live *live)
{
  if (!live)
    return;
  for (uint32_t i = 0; i < VYRE_MAX_BUFFERS; ++i) {
    vyre__deallocate(&live->allocator, live->values[i].value.data);
    vyre__deallocate(&live->allocator, live->values[i].spare.data);
    vyre__deallocate(&live->allocator, live->values[i].before.data);
  }
  vyre__deallocate(&live->allocator, live);
}

/* ---- values ---- */

const void *vyre__live_bytes(const vyre_pending *pending, uint32_t buffer)
{
  const vyre__live_value *value = &pending->live->values[buffer];
  return value->own ? value->value.data : pending->given[buffer].data;
}

vyre_status vyre__live_slot(vyre_pending *pending, uint32_t buffer, vyre_slot *out_slot,
                            vyre_error *err)
{
  const vyre_allocator *allocator = &pending->live->allocator;
  vyre__block *spare = &pending->live->values[buffer].spare;
  const uint64_t size = pending->shape.sizes[buffer];
  if (!spare->data || spare->capacity < size) {
    vyre__deallocate(allocator, spare->data);
    spare->data = vyre__allocate(allocator, size, _Alignof(max_align_t));
    spare->capacity = size;
    if (!spare->data)
      return VYRE_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, NULL,
                       "no host memory to read '%s' of %llu bytes back",
                       pending->program->buffers[buffer].name, (unsigned long long)size);
  }
  memset(out_slot, 0, sizeof *out_slot);
  out_slot->struct_size = sizeof *out_slot;
  out_slot->binding_id = UINT32_MAX; /* no binding has it: tells a slot that was not filled */
  out_slot->data = spare->data;
  out_slot->capacity = size;
  return VYRE_OK;
}

/* ---- changes ---- */

static bool is_zero(const unsigned char *bytes, uint64_t size)
{
  return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

/* NULL means zeros. */
static bool is_same(const void *a, const void *b, uint64_t size)
{
  if (a && b)
    return !memcmp(a, b, size);
  return (!a || is_zero(a, size)) && (!b || is_zero(b, size));
}

static bool compares(const vyre_pending *pending)
{
  return pending->tested && pending->program->converge == VYRE_CONVERGE_EXACT;
}

/*
 * The first write of a pass to a buffer with several writers: its old value stays to the end, in
 * exchange for the block that was kept for the pass before.
 */
static void set_aside(vyre_pending *pending, vyre__live_value *value)
{
  const vyre__block kept = value->before;
  value->before_pass = pending->pass;
  value->before_own = value->own;
  value->before = value->value;
  value->value = kept;
}

void vyre__live_promote(vyre_pending *pending, uint32_t buffer)
{
  vyre__live_value *value = &pending->live->values[buffer];
  const uint64_t size = pending->shape.sizes[buffer];
  vyre__block old;
  if (compares(pending) && pending->program->buffers[buffer].writers > 1) {
    if (value->before_pass != pending->pass)
      set_aside(pending, value);
  } else if (compares(pending) && !pending->changed) {
    pending->changed = !is_same(vyre__live_bytes(pending, buffer), value->spare.data, size);
  }
  old = value->value;
  value->value = value->spare;
  value->spare = old;
  value->own = true;
}

void vyre__live_end_pass(vyre_pending *pending)
{
  const vyre_program *program = pending->program;
  if (!compares(pending))
    return;
  for (uint32_t i = 0; i < program->buffer_count && !pending->changed; ++i) {
    const vyre__live_value *value = &pending->live->values[i];
    if (value->before_pass == pending->pass)
      pending->changed = !is_same(value->before_own ? value->before.data : pending->given[i].data,
                                  vyre__live_bytes(pending, i), pending->shape.sizes[i]);
  }
}

/* ---- results ---- */

void vyre__live_output(vyre_pending *pending, uint32_t buffer, vyre__value *out_value)
{
  vyre__live_value *value = &pending->live->values[buffer];
  const void *whole = vyre__live_bytes(pending, buffer);
  uint64_t offset = 0;
  memset(out_value, 0, sizeof *out_value);
  vyre__shape_range(pending->program, &pending->shape, buffer, &offset, &out_value->size);
  out_value->data = whole ? (const char *)whole + offset : NULL;
  if (!value->own || out_value->size != pending->shape.sizes[buffer])
    return;
  out_value->owned = value->value.data;
  out_value->owned_capacity = value->value.capacity;
  out_value->keeper = &value->value.data;
}
