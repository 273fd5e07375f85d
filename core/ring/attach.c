/*
 * attach.c - a handle over a ring that exists already.  The memory may have been written by
 * anybody: it is read once into a copy, and every number of the copy is checked before one is
 * followed.
 */
#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/ring/layout.h"

#include <string.h>

#define REFUSE(err, ...)                                                                           \
  VYRE_FAIL((err), VYRE_ERROR_INVALID_ARGUMENT,                                                    \
            "give memory that vyre_ring_init() of this version laid out and nobody else wrote to", \
            __VA_ARGS__)

#define KNOWN_FLAGS (VYRE_RING_FLAG_COMPLETION | VYRE_RING_FLAG_WAITING_OFF | VYRE_RING_FLAG_DEVICE)

static vyre_status check_identity(const vyre_ring_header *copy, uint64_t size, vyre_error *err)
{
  if (copy->magic != VYRE_RING_MAGIC)
    return REFUSE(err, "no ring: the magic is 0x%08x, not 0x%08x", copy->magic, VYRE_RING_MAGIC);
  if (copy->version != VYRE_RING_LAYOUT_VERSION)
    return REFUSE(err, "layout version %u, this library knows %u", copy->version,
                  VYRE_RING_LAYOUT_VERSION);
  if (copy->header_bytes != VYRE_RING_HEADER_BYTES)
    return REFUSE(err, "header_bytes is %u, not %u", copy->header_bytes, VYRE_RING_HEADER_BYTES);
  if (copy->flags & ~KNOWN_FLAGS)
    return REFUSE(err, "flags 0x%x has bits that this library does not know", copy->flags);
  if (!copy->generation)
    return REFUSE(err, "generation is 0");
  if (copy->region_bytes < VYRE_RING_HEADER_BYTES || copy->region_bytes > size)
    return REFUSE(err, "region_bytes is %llu, but the memory has %llu bytes",
                  (unsigned long long)copy->region_bytes, (unsigned long long)size);
  return VYRE_OK;
}

static vyre_status check_counts(const vyre_ring_header *copy, vyre_error *err)
{
  const bool completion = copy->flags & VYRE_RING_FLAG_COMPLETION;
  const bool device = copy->flags & VYRE_RING_FLAG_DEVICE;
  const uint32_t most =
      device ? VYRE__RING_MAX_DEVICE_COMPLETIONS_LOG2 : VYRE__RING_MAX_COMPLETIONS_LOG2;
  if (copy->capacity_log2 > VYRE__RING_MAX_CAPACITY_LOG2)
    return REFUSE(err, "capacity_log2 is %u, more than %u", copy->capacity_log2,
                  VYRE__RING_MAX_CAPACITY_LOG2);
  if (device && !completion)
    return REFUSE(err, "flags 0x%x has a device consumer without completion", copy->flags);
  if (completion ? copy->completions_log2 < copy->capacity_log2 || copy->completions_log2 > most
                 : copy->completions_log2 != 0)
    return REFUSE(err, "completions_log2 is %u with flags 0x%x and capacity_log2 %u",
                  copy->completions_log2, copy->flags, copy->capacity_log2);
  if (!completion && copy->completion_offset)
    return REFUSE(err, "completion_offset is %llu in a ring without completion",
                  (unsigned long long)copy->completion_offset);
  if (!device && copy->results_offset)
    return REFUSE(err, "results_offset is %llu in a ring without a device consumer",
                  (unsigned long long)copy->results_offset);
  return VYRE_OK;
}

typedef struct array {
  const char *name;
  uint64_t offset;
  uint64_t bytes;
} array;

static vyre_status check_arrays(const vyre_ring_header *copy, vyre_error *err)
{
  /* The counts are checked: at most 2^31 x 128 bytes, far from an overflow. */
  const uint64_t capacity = 1ull << copy->capacity_log2;
  const uint64_t completions = 1ull << copy->completions_log2;
  const uint64_t released =
      vyre__ring_released_entries(copy->flags, copy->capacity_log2, copy->completions_log2);
  array arrays[4] = {
      {"cells_offset", copy->cells_offset, capacity * sizeof(vyre_ring_cell)},
      {"released_offset", copy->released_offset, released * sizeof(uint64_t)},
      {"completion_offset", copy->completion_offset, completions * sizeof(uint64_t)},
      {"results_offset", copy->results_offset,
       completions * VYRE__RING_RESULTS_A_PLACE * sizeof(vyre_ring_result)},
  };
  uint32_t count = 2;
  if (copy->flags & VYRE_RING_FLAG_COMPLETION)
    count = 3;
  if (copy->flags & VYRE_RING_FLAG_DEVICE)
    count = 4;
  for (uint32_t i = 0; i < count; ++i) {
    const array *a = &arrays[i];
    if (a->offset % VYRE_RING_LINE)
      return REFUSE(err, "%s is %llu, not a multiple of %u", a->name, (unsigned long long)a->offset,
                    VYRE_RING_LINE);
    if (a->offset < VYRE_RING_HEADER_BYTES ||
        !vyre__range_fits(a->offset, a->bytes, copy->region_bytes))
      return REFUSE(err, "%s is %llu: its %llu bytes do not lie between header and end of region",
                    a->name, (unsigned long long)a->offset, (unsigned long long)a->bytes);
    for (uint32_t k = 0; k < i; ++k)
      if (a->offset < arrays[k].offset + arrays[k].bytes && arrays[k].offset < a->offset + a->bytes)
        return REFUSE(err, "%s is %llu, inside what %s points to", a->name,
                      (unsigned long long)a->offset, arrays[k].name);
  }
  return VYRE_OK;
}

static bool is_ticket(uint64_t word)
{
  return word <= VYRE_RING_TICKET_MASK && vyre__ring_index_of(word) < VYRE_RING_CELL_ITEMS;
}

/* Words that move while others use the ring: they must be possible, they need not stand still. */
static vyre_status check_state(const vyre_ring_header *live, const vyre_ring_header *copy,
                               vyre_error *err)
{
  const uint64_t capacity = 1ull << copy->capacity_log2;
  /*
   * Acquire; partner: the release of claim's CAS on tail.  A claimer has seen the head beyond what
   * it claims, so the head that is read after a tail is not behind it.
   */
  const uint64_t tail = __atomic_load_n(&live->tail, __ATOMIC_ACQUIRE);
  /*
   * Acquire; partner: the release in enqueue.c's find_room().  Its places were found free for
   * positions within a lap of a head that was there before, so of the one that is read next.
   */
  const uint64_t vacant = __atomic_load_n(&live->vacant, __ATOMIC_ACQUIRE);
  /*
   * Acquire; partner: the release of reserve's CAS on head.  A producer has seen the tail beyond
   * the previous tenant of what it takes, so the tail that is read next is at most one lap behind.
   */
  const uint64_t head = __atomic_load_n(&live->head, __ATOMIC_ACQUIRE);
  const uint64_t position = head & VYRE_RING_POSITION_MASK;
  /* Relaxed: only its value counts.  The same for stop, closed and state. */
  const uint64_t later = __atomic_load_n(&live->tail, __ATOMIC_RELAXED);
  const uint32_t stop = __atomic_load_n(&live->stop, __ATOMIC_RELAXED);
  const uint32_t closed = __atomic_load_n(&live->closed, __ATOMIC_RELAXED);
  const uint32_t state = __atomic_load_n(&live->state, __ATOMIC_RELAXED);
  if (copy->first_position > VYRE_RING_POSITION_MASK)
    return REFUSE(err, "first_position is 0x%llx, not a position",
                  (unsigned long long)copy->first_position);
  if (head & ~(VYRE_RING_CLOSED | VYRE_RING_PHASE | VYRE_RING_POSITION_MASK))
    return REFUSE(err, "head is 0x%llx, not a position", (unsigned long long)head);
  if (!is_ticket(tail) || !is_ticket(later))
    return REFUSE(err, "tail is 0x%llx, not a ticket", (unsigned long long)tail);
  if (vyre__ring_distance(position, vyre__ring_position_of(tail)) < 0)
    return REFUSE(err, "head 0x%llx is behind tail 0x%llx", (unsigned long long)head,
                  (unsigned long long)tail);
  /* A device only mirrors its tail here, and may be late. */
  if (!(copy->flags & VYRE_RING_FLAG_DEVICE) &&
      vyre__ring_distance(position, vyre__ring_position_of(later)) > (int64_t)capacity)
    return REFUSE(err, "head 0x%llx is more than the capacity before tail 0x%llx",
                  (unsigned long long)head, (unsigned long long)later);
  if (vacant > VYRE_RING_POSITION_MASK || vyre__ring_distance(vacant, position) > (int64_t)capacity)
    return REFUSE(err, "vacant is 0x%llx, more than the capacity before head 0x%llx",
                  (unsigned long long)vacant, (unsigned long long)head);
  if (closed > 1)
    return REFUSE(err, "closed is %u", closed);
  if (stop > VYRE_RING_STOP_MASK)
    return REFUSE(err, "stop is %u", stop);
  if (state > VYRE_RING_STATE_LEAVING)
    return REFUSE(err, "state is %u", state);
  return VYRE_OK;
}

vyre_status vyre_ring_attach(void *memory, uint64_t size, vyre_ring **out_ring, vyre_error *err)
{
  vyre_ring_header copy;
  vyre__ring_layout layout;
  vyre_status status;
  if (!out_ring)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the result",
                     "out_ring is NULL");
  status = vyre__ring_check_memory(memory, size, VYRE_RING_HEADER_BYTES, err);
  if (status != VYRE_OK)
    return status;
  memset(&copy, 0, sizeof copy);
  /* Acquire; partner: the release store at the end of lay_out().  The rest was written before. */
  copy.magic = __atomic_load_n(&((vyre_ring_header *)memory)->magic, __ATOMIC_ACQUIRE);
  if (copy.magic == VYRE_RING_MAGIC)
    memcpy((char *)&copy + sizeof copy.magic, (const char *)memory + sizeof copy.magic,
           offsetof(vyre_ring_header, pad0) - sizeof copy.magic);
  /* The compiler may not read the memory again where the copy is meant. */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  status = check_identity(&copy, size, err);
  if (status == VYRE_OK)
    status = check_counts(&copy, err);
  if (status == VYRE_OK)
    status = check_arrays(&copy, err);
  if (status == VYRE_OK)
    status = check_state(memory, &copy, err);
  if (status != VYRE_OK)
    return status;
  layout.capacity_log2 = copy.capacity_log2;
  layout.completions_log2 = copy.completions_log2;
  layout.flags = copy.flags;
  layout.cells_offset = copy.cells_offset;
  layout.released_offset = copy.released_offset;
  layout.completion_offset = copy.completion_offset;
  layout.results_offset = copy.results_offset;
  layout.region_bytes = copy.region_bytes;
  return vyre__ring_make_handle(memory, &layout, NULL, out_ring, err);
}
