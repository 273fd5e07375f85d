/*
 * claim.c - the consumers' side: take published items, copy them out, release their places.
 *
 * The mirror image of enqueue.c: an item that is published for position p stays so until somebody
 * takes p, that is until tail moves; so a CAS on tail that finds it unmoved takes them all.
 */
#include "core/ring/ring.h"
#include "core/ring/touch.h"

#include <string.h>

static bool is_published(const vyre_ring *ring, uint64_t position)
{
  const vyre_ring_cell *cell = &ring->cells[position & ring->capacity_mask];
  /* Acquire; partner: the release store in vyre__ring_publish().  The item is whole. */
  return __atomic_load_n(&cell->published, __ATOMIC_ACQUIRE) == vyre__ring_stamp(position);
}

/* Producers publish out of order, so every place is looked at; ends within a lap. */
static uint32_t count_published(const vyre_ring *ring, uint64_t position, uint32_t most)
{
  uint32_t n = 0;
  while (n < most && is_published(ring, vyre__ring_step(position, n)))
    ++n;
  return n;
}

/* `out_items`, if given, is made ready for as many items as are taken. */
static vyre_status take(vyre_ring *ring, uint32_t most, vyre_work_item *out_items,
                        uint64_t *out_position, uint32_t *out_n)
{
  /* Relaxed: the stamps order everything; the CAS below finds out whether it is still true. */
  uint64_t tail = __atomic_load_n(&ring->header->tail, __ATOMIC_RELAXED);
  for (;;) {
    const uint32_t ready = count_published(ring, tail, most);
    if (!ready) {
      const uint64_t seen = tail;
      uint64_t head;
      /*
       * Relaxed: if the stamp was already the next tenant's, this position was claimed before, and
       * the stamp's acquire load makes the moved tail visible here.
       */
      tail = __atomic_load_n(&ring->header->tail, __ATOMIC_RELAXED);
      if (tail != seen)
        continue;
      /*
       * Acquire; partner: the release of vyre_ring_close().  A closed head stands still: when it
       * is equal to tail, no item is left and none will come.
       */
      head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE);
      return (head & VYRE_RING_CLOSED) && (head & VYRE_RING_POSITION_MASK) == tail
                 ? VYRE_ERROR_CLOSED
                 : VYRE_ERROR_EMPTY;
    }
    if (out_items)
      vyre__touch_to_write(out_items, (uint64_t)ready * sizeof *out_items);
    /*
     * Release; partner: the acquire loads of tail in vyre_ring_tail(), vyre_ring_in_flight() and
     * vyre_ring_attach(): the head beyond this item was seen before it.  Failure relaxed: only the
     * value is used, and looked at again.
     */
    if (__atomic_compare_exchange_n(&ring->header->tail, &tail, vyre__ring_step(tail, ready), true,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
      *out_position = tail;
      *out_n = ready;
      return VYRE_OK;
    }
  }
}

static void copy_out(const vyre_ring *ring, uint64_t position, vyre_work_item *out_item)
{
  memcpy(out_item, ring->cells[position & ring->capacity_mask].item, sizeof *out_item);
}

static void release_place(vyre_ring *ring, uint64_t position)
{
  /* Release; partner: the acquire load in enqueue.c's is_free().  The item was copied out. */
  __atomic_store_n(&ring->released[position & ring->capacity_mask], vyre__ring_stamp(position),
                   __ATOMIC_RELEASE);
}

/* After the last release of a batch: wakes sleeping producers. */
static void released(vyre_ring *ring)
{
  if (ring->waiting)
    vyre__wake_all(&ring->header->not_full);
}

vyre_status vyre_ring_claim(vyre_ring *ring, vyre_work_item *out_item, uint64_t *out_ticket)
{
  vyre_work_item copy;
  vyre_status status;
  uint64_t position;
  uint32_t n;
  if (!ring || !out_item)
    return VYRE_ERROR_INVALID_ARGUMENT;
  status = take(ring, 1, NULL, &position, &n);
  if (status != VYRE_OK)
    return status;
  copy_out(ring, position, &copy);
  release_place(ring, position);
  released(ring);
  /* Last: the caller's memory may fault. */
  *out_item = copy;
  if (out_ticket)
    *out_ticket = position;
  return VYRE_OK;
}

vyre_status vyre_ring_claim_many(vyre_ring *ring, vyre_work_item *out_items, uint64_t *out_tickets,
                                 uint32_t max, uint32_t *out_n)
{
  vyre_status status;
  uint64_t position = 0;
  uint32_t taken = 0;
  if (!ring || (!out_items && max))
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (max > ring->capacity_mask)
    max = (uint32_t)(ring->capacity_mask + 1);
  if (max) {
    status = take(ring, max, out_items, &position, &taken);
    if (status != VYRE_OK)
      return status;
    for (uint32_t i = 0; i < taken; ++i) {
      copy_out(ring, vyre__ring_step(position, i), &out_items[i]);
      release_place(ring, vyre__ring_step(position, i));
    }
    released(ring);
  }
  for (uint32_t i = 0; out_tickets && i < taken; ++i)
    out_tickets[i] = vyre__ring_step(position, i);
  if (out_n)
    *out_n = taken;
  return VYRE_OK;
}
