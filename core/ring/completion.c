/*
 * completion.c - which tickets are done.  completion[] holds one stamp a place, that of its last
 * finished tenant.  The gate in enqueue.c lets a new tenant in only when the previous one is done,
 * so a stamp never skips a tenant and only moves forward.
 */
#include "core/ring/layout.h"
#include "core/ring/wake.h"

/* How many positions after the ring's first one: a number that never wraps while the ring lives. */
static uint64_t index_of(const vyre_ring *ring, uint64_t position)
{
  return (position - ring->header->first_position) & VYRE_RING_POSITION_MASK;
}

bool vyre__ring_is_issued(const vyre_ring *ring, uint64_t ticket)
{
  /*
   * Relaxed: who holds a ticket got it from the producer that moved head, or through the item's
   * publication; either way head is seen beyond it.
   */
  const uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_RELAXED);
  return ticket <= VYRE_RING_POSITION_MASK &&
         index_of(ring, ticket) < index_of(ring, head & VYRE_RING_POSITION_MASK);
}

void vyre_ring_mark_done(vyre_ring *ring, uint64_t ticket)
{
  uint64_t before;
  if (!ring || !ring->completion || !vyre__ring_is_issued(ring, ticket))
    return;
  before = vyre__ring_previous_stamp(ticket, ring->completions_mask + 1);
  /*
   * Only from the previous tenant's stamp: a ticket that is done already, or whose place has later
   * tenants, changes nothing.  Release; partners: the acquire loads in vyre_ring_is_done() and in
   * enqueue.c's is_free(), who may then read what the finisher wrote.  Failure relaxed: nothing is
   * read through it.
   */
  if (!__atomic_compare_exchange_n(&ring->completion[ticket & ring->completions_mask], &before,
                                   vyre__ring_stamp(ticket), false, __ATOMIC_RELEASE,
                                   __ATOMIC_RELAXED))
    return;
  if (ring->waiting) {
    vyre__wake_fence();
    vyre__wake_sleepers(&ring->header->completed);
    vyre__wake_sleepers(&ring->header->not_full);
  }
}

bool vyre_ring_is_done(const vyre_ring *ring, uint64_t ticket)
{
  uint64_t stamp, last;
  if (!ring || !ring->completion || ticket > VYRE_RING_POSITION_MASK)
    return false;
  /* Acquire; partner: the release in vyre_ring_mark_done().  The item's results are readable. */
  stamp = __atomic_load_n(&ring->completion[ticket & ring->completions_mask], __ATOMIC_ACQUIRE);
  last = index_of(ring, vyre__ring_step(stamp, VYRE_RING_POSITION_MASK));
  /* The first tenants' predecessors never were: their index is less than a lap below the top. */
  if (last > VYRE_RING_POSITION_MASK - (ring->completions_mask + 1))
    return false;
  /* The last one that is done was issued, so an index up to its own is that of an issued ticket. */
  return index_of(ring, ticket) <= last;
}
