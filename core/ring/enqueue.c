/*
 * enqueue.c - the producers' side: take places, write the items, publish them.
 *
 * A place is judged by the stamps of its previous tenant alone, never by head and tail.  A place
 * that is free for position p stays free until somebody takes p, that is until head moves; so a CAS
 * on head that finds it unmoved takes all places that were seen free.
 */
#include "core/ring/layout.h"
#include "core/ring/touch.h"

#include <string.h>

_Static_assert(sizeof(vyre_work_item) == sizeof(((vyre_ring_cell *)0)->item), "item");

static bool is_free(const vyre_ring *ring, uint64_t position)
{
  const uint64_t *released = &ring->released[position & ring->capacity_mask];
  const uint64_t *completion;
  /*
   * Acquire; partner: the release store in claim.c's release_place().  The previous tenant was
   * copied out before we write into its cell.
   */
  if (__atomic_load_n(released, __ATOMIC_ACQUIRE) !=
      vyre__ring_previous_stamp(position, ring->capacity_mask + 1))
    return false;
  if (!ring->completion)
    return true;
  /*
   * Acquire; partner: the release of the CAS in vyre_ring_mark_done().  The previous tenant is
   * finished, with all that its finisher did, before its place changes hands.
   */
  completion = &ring->completion[position & ring->completions_mask];
  return __atomic_load_n(completion, __ATOMIC_ACQUIRE) ==
         vyre__ring_previous_stamp(position, ring->completions_mask + 1);
}

/* Consumers release and finish out of order, so every place is looked at. */
static uint32_t count_free(const vyre_ring *ring, uint64_t position, uint32_t most)
{
  uint32_t n = 0;
  /* Ends within a lap: the place of position + capacity still waits for position. */
  while (n < most && is_free(ring, vyre__ring_step(position, n)))
    ++n;
  return n;
}

vyre_status vyre__ring_reserve(vyre_ring *ring, uint32_t n, uint64_t *out_position, uint32_t *out_n,
                               bool *out_phase)
{
  /* Relaxed: the stamps order everything; the CAS below finds out whether it is still true. */
  uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_RELAXED);
  for (;;) {
    const uint64_t position = head & VYRE_RING_POSITION_MASK;
    uint64_t wanted;
    uint32_t room;
    if ((head & VYRE_RING_CLOSED) && vyre__ring_is_closed(ring))
      return VYRE_ERROR_CLOSED;
    room = count_free(ring, position, n);
    if (!room) {
      const uint64_t seen = head;
      /*
       * Relaxed: who took this position did so before it was published, claimed and released; if
       * the stamp was already the new tenant's, its acquire load makes the moved head visible here.
       */
      head = __atomic_load_n(&ring->header->head, __ATOMIC_RELAXED);
      if (head == seen)
        return VYRE_ERROR_QUEUE_FULL;
      continue;
    }
    wanted = vyre__ring_step(position, room) | (head & VYRE_RING_PHASE);
    /*
     * Acquire; partner: vyre__ring_flip_phase(), so that items of a phase come after what was done
     * before the flip.  Release; partner: the acquire loads of head in vyre_ring_attach() and
     * vyre_ring_head(), which may then count on the tail that freed this place.  Failure relaxed:
     * only the value is used, and looked at again.
     */
    if (__atomic_compare_exchange_n(&ring->header->head, &head, wanted, true, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      *out_position = position;
      *out_n = room;
      *out_phase = (head & VYRE_RING_PHASE) != 0;
      return VYRE_OK;
    }
  }
}

void vyre__ring_publish(vyre_ring *ring, uint64_t position, bool phase, const vyre_work_item *item)
{
  vyre_ring_cell *cell = &ring->cells[position & ring->capacity_mask];
  cell->flags = phase ? VYRE_RING_CELL_PHASE : 0;
  memcpy(cell->item, item, sizeof cell->item);
  /* Release; partner: the acquire load in claim.c's is_published().  The item is whole. */
  __atomic_store_n(&cell->published, vyre__ring_stamp(position), __ATOMIC_RELEASE);
}

void vyre__ring_published(vyre_ring *ring)
{
  if (ring->waiting)
    vyre__wake_all(&ring->header->not_empty);
}

vyre_status vyre_ring_enqueue(vyre_ring *ring, const vyre_work_item *item, uint64_t *out_ticket)
{
  vyre_work_item copy;
  vyre_status status;
  uint64_t position;
  uint32_t n;
  bool phase;
  if (!ring || !item)
    return VYRE_ERROR_INVALID_ARGUMENT;
  copy = *item;
  /* The compiler may not move the read, which can fault, behind the taking of the place. */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  status = vyre__ring_reserve(ring, 1, &position, &n, &phase);
  if (status != VYRE_OK)
    return status;
  vyre__ring_publish(ring, position, phase, &copy);
  vyre__ring_published(ring);
  if (out_ticket)
    *out_ticket = position;
  return VYRE_OK;
}

vyre_status vyre_ring_enqueue_many(vyre_ring *ring, const vyre_work_item *items, uint32_t n,
                                   uint64_t *out_tickets, uint32_t *out_n)
{
  vyre_status status;
  uint64_t position = 0;
  uint32_t taken = 0;
  bool phase;
  if (!ring || (!items && n))
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (n > ring->capacity_mask)
    n = (uint32_t)(ring->capacity_mask + 1);
  if (n) {
    vyre__touch_to_read(items, (uint64_t)n * sizeof *items);
    status = vyre__ring_reserve(ring, n, &position, &taken, &phase);
    if (status != VYRE_OK)
      return status;
    for (uint32_t i = 0; i < taken; ++i)
      vyre__ring_publish(ring, vyre__ring_step(position, i), phase, &items[i]);
    vyre__ring_published(ring);
  }
  for (uint32_t i = 0; out_tickets && i < taken; ++i)
    out_tickets[i] = vyre__ring_step(position, i);
  if (out_n)
    *out_n = taken;
  return VYRE_OK;
}
