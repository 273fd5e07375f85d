/* layout.c - checks what a ring is asked to be, and computes where its arrays lie. */
#include "core/ring/layout.h"

#include "core/base/checked.h"
#include "core/base/error.h"

static const char capacity_fix[] = "give a power of two from 1 to 2147483648 (2^31), or let "
                                   "vyre_ring_create_rounded() round up";
static const char unfinished_fix[] =
    "give a power of two from the capacity to 2147483648 (2^31), or 0 for four times the capacity";

static uint32_t log2_of(uint64_t power_of_two)
{
  return (uint32_t)__builtin_ctzll(power_of_two);
}

static vyre_status check_modes(const vyre__ring_setup *setup, vyre_error *err)
{
  const vyre_ring_options *options = &setup->options;
  if (options->waiting > VYRE_WAITING_OFF)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give VYRE_WAITING_ON or VYRE_WAITING_OFF",
                     "options.waiting is %u", options->waiting);
  if (options->completion > VYRE_COMPLETION_BY_TICKET)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give VYRE_COMPLETION_NONE or VYRE_COMPLETION_BY_TICKET",
                     "options.completion is %u", options->completion);
  if (options->flags)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set options.flags to 0",
                     "options.flags is 0x%x; this version knows no flag", options->flags);
  if (setup->first_position > VYRE_RING_POSITION_MASK)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a position below 2^56",
                     "the first position is 0x%llx", (unsigned long long)setup->first_position);
  if (setup->device && options->completion != VYRE_COMPLETION_BY_TICKET)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set completion to BY_TICKET",
                     "a device consumer's results need the completion gate, or the next tenant "
                     "overwrites them");
  return VYRE_OK;
}

static vyre_status plan_counts(const vyre__ring_setup *setup, vyre__ring_layout *layout,
                               vyre_error *err)
{
  const vyre_ring_options *options = &setup->options;
  uint32_t most =
      setup->device ? VYRE__RING_MAX_DEVICE_COMPLETIONS_LOG2 : VYRE__RING_MAX_COMPLETIONS_LOG2;
  if (!vyre__is_power_of_two(options->capacity))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, capacity_fix,
                     "options.capacity is %u, which is not a power of two", options->capacity);
  layout->capacity_log2 = log2_of(options->capacity);
  if (options->completion == VYRE_COMPLETION_NONE) {
    if (options->max_unfinished)
      return VYRE_FAIL(
          err, VYRE_ERROR_INVALID_ARGUMENT, "set completion to BY_TICKET, or max_unfinished to 0",
          "options.max_unfinished is %u, but completions are off", options->max_unfinished);
    return VYRE_OK;
  }
  if (!options->max_unfinished) {
    layout->completions_log2 = layout->capacity_log2 + 2;
  } else {
    if (!vyre__is_power_of_two(options->max_unfinished))
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, unfinished_fix,
                       "options.max_unfinished is %u, which is not a power of two",
                       options->max_unfinished);
    if (options->max_unfinished < options->capacity)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, unfinished_fix,
                       "options.max_unfinished is %u, less than the capacity of %u",
                       options->max_unfinished, options->capacity);
    layout->completions_log2 = log2_of(options->max_unfinished);
  }
  if (layout->completions_log2 > most)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set max_unfinished to at most 2^31",
                     "2^%u completion places are more than a device consumer can tell apart",
                     layout->completions_log2);
  return VYRE_OK;
}

/* Puts `count` x `size` bytes behind `*end`, on a line of their own. */
static bool append(uint64_t *end, uint64_t count, uint64_t size, uint64_t *out_offset)
{
  uint64_t bytes;
  return vyre__checked_align(*end, VYRE_RING_LINE, out_offset) &&
         vyre__checked_multiply(count, size, &bytes) && vyre__checked_add(*out_offset, bytes, end);
}

static bool place_arrays(vyre__ring_layout *layout)
{
  const uint64_t capacity = 1ull << layout->capacity_log2;
  const uint64_t completions = 1ull << layout->completions_log2;
  uint64_t end = VYRE_RING_HEADER_BYTES;
  if (!append(&end, capacity, sizeof(vyre_ring_cell), &layout->cells_offset) ||
      !append(&end,
              vyre__ring_released_entries(layout->flags, layout->capacity_log2,
                                          layout->completions_log2),
              sizeof(uint64_t), &layout->released_offset))
    return false;
  if ((layout->flags & VYRE_RING_FLAG_COMPLETION) &&
      !append(&end, completions, sizeof(uint64_t), &layout->completion_offset))
    return false;
  if ((layout->flags & VYRE_RING_FLAG_DEVICE) &&
      !append(&end, completions * VYRE__RING_RESULTS_A_PLACE, sizeof(vyre_ring_result),
              &layout->results_offset))
    return false;
  return vyre__checked_align(end, VYRE_RING_LINE, &layout->region_bytes);
}

vyre_status vyre__ring_layout_plan(const vyre__ring_setup *setup, vyre__ring_layout *out_layout,
                                   vyre_error *err)
{
  vyre__ring_layout layout = {0};
  vyre_status status = check_modes(setup, err);
  if (status != VYRE_OK)
    return status;
  if (setup->options.completion == VYRE_COMPLETION_BY_TICKET)
    layout.flags |= VYRE_RING_FLAG_COMPLETION;
  if (setup->options.waiting == VYRE_WAITING_OFF)
    layout.flags |= VYRE_RING_FLAG_WAITING_OFF;
  if (setup->device)
    layout.flags |= VYRE_RING_FLAG_DEVICE;
  status = plan_counts(setup, &layout, err);
  if (status != VYRE_OK)
    return status;
  if (!place_arrays(&layout))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, capacity_fix,
                     "a ring of %u items does not fit in memory", setup->options.capacity);
  *out_layout = layout;
  return VYRE_OK;
}

vyre_status vyre__ring_check_memory(const void *memory, uint64_t size, uint64_t needed,
                                    vyre_error *err)
{
  if (!memory)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the region's memory",
                     "memory is NULL");
  if ((uintptr_t)memory % VYRE_RING_LINE)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "align the memory to 128 bytes",
                     "memory at %p is not aligned to %u bytes", memory, VYRE_RING_LINE);
  if (size < needed)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give as many bytes as vyre_ring_region_size() tells",
                     "the memory has %llu bytes, the ring needs %llu", (unsigned long long)size,
                     (unsigned long long)needed);
  return VYRE_OK;
}

vyre_status vyre__ring_make_handle(void *memory, const vyre__ring_layout *layout,
                                   const vyre_allocator *allocator, vyre_ring **out_ring,
                                   vyre_error *err)
{
  vyre_allocator from = vyre__allocator_or_default(allocator);
  unsigned char *base = memory;
  vyre_ring *ring = vyre__allocate_zeroed(&from, 1, sizeof *ring);
  if (!ring)
    return VYRE_FAIL_MEMORY(err, "a ring's handle");
  ring->header = memory;
  ring->cells = (vyre_ring_cell *)(void *)(base + layout->cells_offset);
  ring->released = (uint64_t *)(void *)(base + layout->released_offset);
  if (layout->completion_offset)
    ring->completion = (uint64_t *)(void *)(base + layout->completion_offset);
  if (layout->results_offset)
    ring->results = (vyre_ring_result *)(void *)(base + layout->results_offset);
  ring->capacity_mask = (1ull << layout->capacity_log2) - 1;
  ring->completions_mask = (1ull << layout->completions_log2) - 1;
  ring->released_mask =
      vyre__ring_released_entries(layout->flags, layout->capacity_log2, layout->completions_log2) -
      1;
  ring->waiting = !(layout->flags & VYRE_RING_FLAG_WAITING_OFF);
  ring->allocator = from;
  *out_ring = ring;
  return VYRE_OK;
}
