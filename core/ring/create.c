/* create.c - makes rings: in memory of their own, and in memory that the caller gives. */
#include "core/base/error.h"
#include "core/base/structs.h"
#include "core/ring/barrier.h"
#include "core/ring/layout.h"

static vyre_status read_options(const vyre_ring_options *options, vyre__ring_setup *out_setup,
                                vyre_error *err)
{
  memset(out_setup, 0, sizeof *out_setup);
  if (!options)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give options made with VYRE_RING_OPTIONS_INIT and a capacity",
                     "options is NULL");
  if (!vyre__struct_read(&out_setup->options, (uint32_t)sizeof out_setup->options, options,
                         VYRE__SIZE_TO(vyre_ring_options, flags)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "initialise the options with VYRE_RING_OPTIONS_INIT",
                     "options.struct_size is %u, less than the %u of the first version",
                     vyre__struct_size(options), VYRE__SIZE_TO(vyre_ring_options, flags));
  return VYRE_OK;
}

static vyre_status check_out(const void *out, const char *name, vyre_error *err)
{
  if (out)
    return VYRE_OK;
  return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the result", "%s is NULL",
                   name);
}

/* Nobody else sees the region before its magic is there: plain stores, and one with release. */
static void lay_out(vyre_ring *ring, const vyre__ring_layout *layout, uint64_t first)
{
  const uint64_t capacity = ring->capacity_mask + 1, completions = ring->completions_mask + 1;
  vyre_ring_header *header = ring->header;
  memset(header, 0, sizeof *header);
  header->version = VYRE_RING_LAYOUT_VERSION;
  header->header_bytes = VYRE_RING_HEADER_BYTES;
  header->capacity_log2 = layout->capacity_log2;
  header->completions_log2 = layout->completions_log2;
  header->flags = layout->flags;
  header->generation = 1;
  header->region_bytes = layout->region_bytes;
  header->cells_offset = layout->cells_offset;
  header->released_offset = layout->released_offset;
  header->completion_offset = layout->completion_offset;
  header->results_offset = layout->results_offset;
  header->first_position = first;
  header->head = first;
  header->vacant = vyre__ring_step(first, capacity);
  header->tail = vyre__ring_ticket(first, 0);
  /* Every place starts with the stamp of the tenant one lap before its first one. */
  memset(ring->cells, 0, capacity * sizeof *ring->cells);
  for (uint64_t i = 0; i < capacity; ++i) {
    uint64_t position = vyre__ring_step(first, i), place = position & ring->capacity_mask;
    ring->cells[place].published = vyre__ring_word(vyre__ring_previous_stamp(position, capacity));
  }
  for (uint64_t i = 0; i <= ring->released_mask; ++i) {
    uint64_t position = vyre__ring_step(first, i), place = position & ring->released_mask;
    ring->released[place] =
        vyre__ring_word(vyre__ring_previous_stamp(position, ring->released_mask + 1));
  }
  for (uint64_t i = 0; ring->completion && i < completions; ++i) {
    uint64_t position = vyre__ring_step(first, i), place = position & ring->completions_mask;
    ring->completion[place] = vyre__ring_word(vyre__ring_previous_stamp(position, completions));
    for (uint64_t k = 0; ring->results && k < VYRE__RING_RESULTS_A_PLACE; ++k) {
      vyre_ring_result *result = &ring->results[place * VYRE__RING_RESULTS_A_PLACE + k];
      result->value = vyre__ring_previous_stamp(position, completions) << 32;
      result->status = ring->completion[place];
    }
  }
  /* Release; partner: the acquire load in vyre_ring_attach(), which then sees all of the above. */
  __atomic_store_n(&header->magic, VYRE_RING_MAGIC, __ATOMIC_RELEASE);
}

vyre_status vyre__ring_region_size(const vyre__ring_setup *setup, uint64_t *out_size,
                                   vyre_error *err)
{
  vyre__ring_layout layout;
  vyre_status status = vyre__ring_layout_plan(setup, &layout, err);
  if (status == VYRE_OK)
    *out_size = layout.region_bytes;
  return status;
}

vyre_status vyre__ring_init(void *memory, uint64_t size, const vyre__ring_setup *setup,
                            const vyre_allocator *allocator, vyre_ring **out_ring, vyre_error *err)
{
  vyre__ring_layout layout;
  vyre_ring *ring = NULL;
  vyre_status status = vyre__ring_layout_plan(setup, &layout, err);
  if (status == VYRE_OK)
    status = vyre__ring_check_memory(memory, size, layout.region_bytes, err);
  if (status == VYRE_OK)
    status = vyre__ring_make_handle(memory, &layout, allocator, &ring, err);
  if (status != VYRE_OK)
    return status;
  lay_out(ring, &layout, setup->first_position);
  *out_ring = ring;
  return VYRE_OK;
}

vyre_status vyre_ring_region_size(const vyre_ring_options *options, uint64_t *out_size,
                                  vyre_error *err)
{
  vyre__ring_setup setup;
  vyre_status status = check_out(out_size, "out_size", err);
  if (status == VYRE_OK)
    status = read_options(options, &setup, err);
  if (status == VYRE_OK)
    status = vyre__ring_region_size(&setup, out_size, err);
  return status;
}

vyre_status vyre_ring_init(void *memory, uint64_t size, const vyre_ring_options *options,
                           vyre_ring **out_ring, vyre_error *err)
{
  vyre__ring_setup setup;
  vyre_status status = check_out(out_ring, "out_ring", err);
  if (status == VYRE_OK)
    status = read_options(options, &setup, err);
  if (status == VYRE_OK)
    status = vyre__ring_init(memory, size, &setup, NULL, out_ring, err);
  return status;
}

vyre_status vyre_ring_create(const vyre_ring_options *options, vyre_ring **out_ring,
                             vyre_error *err)
{
  const vyre_allocator *allocator = &vyre__default_allocator;
  vyre__ring_setup setup;
  uint64_t size = 0;
  void *memory = NULL;
  vyre_status status = check_out(out_ring, "out_ring", err);
  if (status == VYRE_OK)
    status = read_options(options, &setup, err);
  if (status == VYRE_OK)
    status = vyre__ring_region_size(&setup, &size, err);
  if (status != VYRE_OK)
    return status;
  memory = vyre__allocate(allocator, size, VYRE_RING_LINE);
  if (!memory)
    return VYRE_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "ask for a smaller capacity",
                     "no host memory for a ring of %llu bytes", (unsigned long long)size);
  status = vyre__ring_init(memory, size, &setup, allocator, out_ring, err);
  if (status != VYRE_OK) {
    vyre__deallocate(allocator, memory);
    return status;
  }
  (*out_ring)->owned = memory;
  /* Nobody else has this memory, so every waker is a thread of this process. */
  (*out_ring)->asymmetric = (*out_ring)->waiting && vyre__barrier_register();
  return VYRE_OK;
}

vyre_status vyre_ring_create_rounded(uint32_t min_capacity, vyre_ring **out_ring, vyre_error *err)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  if (min_capacity > VYRE_RING_MAX_CAPACITY)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "ask for at most 2147483648 (2^31) items, or use several rings",
                     "%u items round up to more than 2^31", min_capacity);
  options.capacity = 1;
  while (options.capacity < min_capacity)
    options.capacity *= 2;
  return vyre_ring_create(&options, out_ring, err);
}

void vyre_ring_destroy(vyre_ring *ring)
{
  vyre_allocator allocator;
  if (!ring)
    return;
  allocator = ring->allocator;
  vyre__deallocate(&allocator, ring->owned);
  vyre__deallocate(&allocator, ring);
}
