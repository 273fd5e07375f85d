/* state.c - what a ring tells about itself, closing it, and the phase mark. */
#include "core/ring/wake.h"

#ifdef VYRE_TESTING
void (*vyre__ring_hook)(vyre__ring_point point);
#endif

uint64_t vyre_ring_head(const vyre_ring *ring)
{
  /* Acquire; partner: reserve's CAS: a tail that is read later is at most one lap behind. */
  return ring ? __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE) & VYRE_RING_POSITION_MASK
              : 0;
}

uint64_t vyre_ring_tail(const vyre_ring *ring)
{
  /*
   * Acquire; partner: the release of claim's CAS.  Who claims has seen the head beyond the item, so
   * a head that is read after this tail is never behind it.
   */
  return ring ? vyre__ring_position_of(__atomic_load_n(&ring->header->tail, __ATOMIC_ACQUIRE) &
                                       VYRE_RING_TICKET_MASK)
              : 0;
}

uint64_t vyre_ring_in_flight(const vyre_ring *ring)
{
  uint64_t tail, head;
  int64_t between;
  if (!ring)
    return 0;
  /* Tail first: read the other way round, items claimed in between would make it negative. */
  tail = vyre_ring_tail(ring);
  VYRE__RING_AT(VYRE__RING_TAIL_SEEN);
  head = vyre_ring_head(ring);
  between = vyre__ring_distance(head, tail);
  /* A device mirrors its tail when it likes. */
  if (between < 0)
    return 0;
  /* Items that were accepted and claimed between the two reads were never there together. */
  return (uint64_t)between > ring->capacity_mask ? ring->capacity_mask + 1 : (uint64_t)between;
}

uint32_t vyre_ring_capacity(const vyre_ring *ring)
{
  return ring ? (uint32_t)(ring->capacity_mask + 1) : 0;
}

void vyre_ring_close(vyre_ring *ring)
{
  if (!ring)
    return;
  /*
   * Head and mark are one word: a CAS of a producer comes before and is delivered, or fails.
   * Release; partners: the acquire loads in vyre__ring_is_closed() and claim's nothing_there(): who
   * learns that the ring is closed sees what its closer did before.
   */
  __atomic_fetch_or(&ring->header->head, VYRE_RING_CLOSED, __ATOMIC_RELEASE);
  VYRE__RING_AT(VYRE__RING_CLOSED_MARKED);
  /* Release; partner: the acquire load in claim's nothing_there(): the mark is in the head. */
  __atomic_store_n(&ring->header->closed, 1, __ATOMIC_RELEASE);
  if (!ring->waiting)
    return;
  vyre__ring_changed(ring);
  vyre__wake_sleepers(&ring->header->not_empty);
  vyre__wake_sleepers(&ring->header->not_full);
  vyre__wake_sleepers(&ring->header->completed);
}

bool vyre__ring_is_closed(const vyre_ring *ring)
{
  /* Acquire; partner: the release of vyre_ring_close(). */
  return (__atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE) & VYRE_RING_CLOSED) != 0;
}

uint64_t vyre__ring_flip_phase(vyre_ring *ring)
{
  /*
   * Position and phase are one word, so the flip is exact.  Release; partner: the acquire of
   * reserve's CAS: items of the new phase come after what was done before the flip.  Acquire, with
   * reserve's release: what is done after the flip comes after the items of the old phase were
   * accepted.
   */
  return __atomic_fetch_xor(&ring->header->head, VYRE_RING_PHASE, __ATOMIC_ACQ_REL) &
         VYRE_RING_POSITION_MASK;
}
