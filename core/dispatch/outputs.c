/*
 * outputs.c - the caller's output slots: kept from dispatch to dispatch, touched once at the end.
 *
 * Storing has two steps.  The first decides for each value whether it fits its slot, takes over an
 * allocation or needs a new one, and makes every allocation; it changes nothing.  The second cannot
 * fail.
 *
 * Statistics: each slot is either reused, moved (it had a slot and got another allocation) or
 * appended.  bytes_copied counts bytes copied into allocations that were kept, bytes_moved those
 * that came with a new allocation.
 */
#include "core/dispatch/outputs.h"

#include "core/base/structs.h"

/* What the first step prepared. */
typedef struct preparation {
  vyre_allocator allocator;
  vyre_output_slot *slots;       /* a larger array, or NULL */
  void *grown[VYRE_MAX_BUFFERS]; /* a new allocation with the value, or NULL */
} preparation;

static bool same_allocator(const vyre_allocator *a, const vyre_allocator *b)
{
  return a->self == b->self && a->allocate == b->allocate && a->deallocate == b->deallocate;
}

vyre_status vyre__outputs_check(const vyre_outputs *outputs, vyre_error *err)
{
  static const char fix[] = "start from VYRE_OUTPUTS_INIT and leave the slots to vyre";
  if (!outputs)
    return VYRE_OK;
  if (outputs->struct_size < VYRE__SIZE_TO(vyre_outputs, stats))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, "outputs.struct_size is %u, not %u",
                     outputs->struct_size, VYRE__SIZE_TO(vyre_outputs, stats));
  if (outputs->count > outputs->capacity || (outputs->capacity && !outputs->slots))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix,
                     "outputs has %u slots in room for %u at %p", outputs->count, outputs->capacity,
                     (void *)outputs->slots);
  for (uint32_t i = 0; i < outputs->count; ++i)
    if (outputs->slots[i].size > outputs->slots[i].capacity ||
        (outputs->slots[i].capacity && !outputs->slots[i].data))
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix,
                       "output slot %u has %llu bytes in room for %llu", i,
                       (unsigned long long)outputs->slots[i].size,
                       (unsigned long long)outputs->slots[i].capacity);
  return VYRE_OK;
}

static bool fits(const vyre_outputs *outputs, uint32_t position, uint64_t size)
{
  return position < outputs->count ? size <= outputs->slots[position].capacity : !size;
}

/*
 * The bytes are the caller's own and lie in another slot: who gives the last outputs as inputs may
 * get them back at other positions.  They need memory of their own before a slot is touched.
 */
static bool lies_in_another(const vyre_outputs *outputs, uint32_t position,
                            const vyre__value *value)
{
  const uintptr_t begin = (uintptr_t)value->data;
  if (value->owned || !value->data || !value->size)
    return false;
  for (uint32_t i = 0; i < outputs->count; ++i) {
    const uintptr_t slot = (uintptr_t)outputs->slots[i].data;
    if (i != position && begin < slot + outputs->slots[i].capacity && slot < begin + value->size)
      return true;
  }
  return false;
}

static void copy_value(void *to, const vyre__value *value)
{
  if (value->size && value->data)
    memmove(to, value->data, (size_t)value->size); /* it may be in this very slot */
  else if (value->size)
    memset(to, 0, (size_t)value->size);
}

static bool takes_over(const preparation *growth, const vyre__value *value,
                       const vyre_allocator *owner)
{
  return value->owned && same_allocator(&growth->allocator, owner);
}

static void undo(preparation *growth, uint32_t count)
{
  for (uint32_t i = 0; i < count; ++i)
    vyre__deallocate(&growth->allocator, growth->grown[i]);
  vyre__deallocate(&growth->allocator, growth->slots);
}

static vyre_status prepare(preparation *growth, const vyre_outputs *outputs,
                           const vyre__value *values, uint32_t count, const vyre_allocator *owner,
                           vyre_error *err)
{
  growth->allocator = vyre__allocator_or_default(outputs->allocator);
  if (count > outputs->capacity) {
    growth->slots = vyre__allocate_zeroed(&growth->allocator, count, sizeof *growth->slots);
    if (!growth->slots)
      return VYRE_FAIL_MEMORY(err, "output slots");
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!lies_in_another(outputs, i, &values[i]) &&
        (fits(outputs, i, values[i].size) || takes_over(growth, &values[i], owner)))
      continue;
    growth->grown[i] = vyre__allocate(&growth->allocator, values[i].size, _Alignof(max_align_t));
    if (!growth->grown[i]) {
      undo(growth, i);
      return VYRE_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, NULL,
                       "no host memory for output %u of %llu bytes", i,
                       (unsigned long long)values[i].size);
    }
    copy_value(growth->grown[i], &values[i]);
  }
  return VYRE_OK;
}

/* The slot owns it now: nobody else may free it. */
static void take(vyre__value *value)
{
  value->owned = NULL;
  if (value->keeper)
    *value->keeper = NULL;
}

/* The slot exists: freed or empty slots past the old count are all zero. */
static void store_one(vyre_output_slot *slot, bool appended, preparation *growth, void *grown,
                      vyre__value *value, vyre_output_stats *stats)
{
  if (!grown && value->size <= slot->capacity) {
    copy_value(slot->data, value);
    stats->bytes_copied += value->size;
    stats->reused += !appended;
  } else {
    vyre__deallocate(&growth->allocator, slot->data);
    slot->data = grown ? grown : value->owned;
    slot->capacity = grown ? value->size : value->owned_capacity;
    if (!grown)
      take(value);
    stats->bytes_moved += value->size;
    stats->moved += !appended;
  }
  slot->size = value->size;
  stats->appended += appended;
  stats->bytes_capacity += slot->capacity;
}

vyre_status vyre__outputs_store(vyre_outputs *outputs, vyre__value *values, uint32_t count,
                                const vyre_allocator *owner, vyre_error *err)
{
  static const vyre_output_slot empty;
  vyre_output_stats stats = {.slots = count};
  preparation growth = {0};
  uint32_t had = outputs->count;
  vyre_status status = prepare(&growth, outputs, values, count, owner, err);
  if (status != VYRE_OK)
    return status;
  for (uint32_t i = count; i < had; ++i)
    vyre__deallocate(&growth.allocator, outputs->slots[i].data);
  if (growth.slots) {
    if (had)
      memcpy(growth.slots, outputs->slots, had * sizeof *growth.slots);
    vyre__deallocate(&growth.allocator, outputs->slots);
    outputs->slots = growth.slots;
    outputs->capacity = count;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (i >= had)
      outputs->slots[i] = empty;
    store_one(&outputs->slots[i], i >= had, &growth, growth.grown[i], &values[i], &stats);
  }
  outputs->count = count;
  outputs->stats = stats;
  return VYRE_OK;
}

void vyre_outputs_reset(vyre_outputs *outputs)
{
  vyre_allocator allocator;
  if (!outputs)
    return;
  allocator = vyre__allocator_or_default(outputs->allocator);
  for (uint32_t i = 0; i < outputs->count; ++i)
    vyre__deallocate(&allocator, outputs->slots[i].data);
  vyre__deallocate(&allocator, outputs->slots);
  outputs->slots = NULL;
  outputs->count = outputs->capacity = 0;
  memset(&outputs->stats, 0, sizeof outputs->stats);
}
