/*
 * enqueue.c - the producers' side: take places, write the items, publish them.
 *
 * A place is judged by the stamps of its previous tenant alone, never by head and tail.  A place
 * that is free for position p stays free until somebody takes p, that is until head moves; so a CAS
 * on head that finds it unmoved takes all places that were seen free.
 *
 * For the same reason what one producer saw holds for all of them: `vacant` remembers up to where
 * the places are known to be free, on the line of the head that a producer needs anyway, so that
 * the consumers' stamps are read a line at a time and not for each item.  It may lag, when a slow
 * producer stores an older value: then stamps are looked at again.
 */
#include "core/ring/copy.h"
#include "core/ring/layout.h"
#include "core/ring/prefetch.h"
#include "core/ring/touch.h"
#include "core/ring/wake.h"

_Static_assert(sizeof(vyre_work_item) == sizeof(((vyre_ring_cell *)0)->item[0]), "item");

/* Places that are looked at beyond what is needed. */
#define AHEAD 64u

static bool is_free(const vyre_ring *ring, uint64_t position)
{
  const uint64_t before = vyre__ring_step(position, 0 - (ring->capacity_mask + 1));
  const uint64_t *released = &ring->released[before & ring->released_mask];
  const uint64_t *completion;
  /*
   * Acquire; partner: the release store in claim.c's release_part().  The previous tenant was
   * copied out before we write into its cell.
   */
  if (vyre__ring_stamp_of(__atomic_load_n(released, __ATOMIC_ACQUIRE)) != vyre__ring_stamp(before))
    return false;
  if (!ring->completion)
    return true;
  /*
   * Acquire; partner: the release of the CAS in completion.c's exchange().  Every item of the
   * previous tenant is finished, with all that its finisher did, before its place changes hands.
   */
  completion = &ring->completion[position & ring->completions_mask];
  return __atomic_load_n(completion, __ATOMIC_ACQUIRE) ==
         vyre__ring_word(vyre__ring_previous_stamp(position, ring->completions_mask + 1));
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

/* How many of `places` consecutive places from `position` on are free. */
static uint32_t find_room(vyre_ring *ring, uint64_t position, uint32_t places)
{
  /*
   * Acquire; partner: the release below.  Who stored it saw the previous tenants released and
   * finished, and so do we.
   */
  const uint64_t vacant = __atomic_load_n(&ring->header->vacant, __ATOMIC_ACQUIRE);
  const int64_t ahead = vyre__ring_distance(vacant, position);
  const uint32_t known = ahead < 0 ? 0 : ahead > places ? places : (uint32_t)ahead;
  uint32_t found;
  if (known == places)
    return places;
  found = count_free(ring, vyre__ring_step(position, known),
                     places - known < AHEAD ? AHEAD : places - known);
  if (found)
    /* Release; partner: the acquire above, in another producer. */
    __atomic_store_n(&ring->header->vacant, vyre__ring_step(position, known + found),
                     __ATOMIC_RELEASE);
  found += known;
  return found < places ? found : places;
}

vyre_status vyre__ring_reserve(vyre_ring *ring, uint32_t n, vyre__ring_span *out_span)
{
  const uint32_t places =
      (uint32_t)(((uint64_t)n + VYRE_RING_CELL_ITEMS - 1) / VYRE_RING_CELL_ITEMS);
  /* Relaxed: the stamps order everything; the CAS below finds out whether it is still true. */
  uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_RELAXED);
  for (;;) {
    const uint64_t position = head & VYRE_RING_POSITION_MASK;
    uint64_t wanted;
    uint32_t room;
    VYRE__RING_AT(VYRE__RING_HEAD_READ);
    if ((head & VYRE_RING_CLOSED) && vyre__ring_is_closed(ring))
      return VYRE_ERROR_CLOSED;
    room = find_room(ring, position, places);
    VYRE__RING_AT(VYRE__RING_PLACES_JUDGED);
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
      VYRE__RING_AT(VYRE__RING_PLACES_TAKEN);
      out_span->position = position;
      out_span->places = room;
      out_span->items = room < places ? room * VYRE_RING_CELL_ITEMS : n;
      out_span->phase = (head & VYRE_RING_PHASE) != 0;
      return VYRE_OK;
    }
  }
}

/* `count` items into the cell of `position`. */
static void publish(vyre_ring *ring, uint64_t position, bool phase, const vyre_work_item *items,
                    uint32_t count)
{
  vyre_ring_cell *cell = &ring->cells[position & ring->capacity_mask];
  const uint64_t stamp = vyre__ring_stamp(position);
  vyre__copy_items(cell->item, items, count);
  VYRE__RING_AT(VYRE__RING_ITEMS_WRITTEN);
  /* Release; partner: the acquire load in claim.c's count_ready().  The items are whole. */
  __atomic_store_n(&cell->published,
                   vyre__ring_word(stamp) | (phase ? VYRE_RING_CELL_PHASE : 0) | count,
                   __ATOMIC_RELEASE);
}

void vyre__ring_publish(vyre_ring *ring, const vyre__ring_span *span, uint32_t k,
                        const vyre_work_item *items)
{
  publish(ring, vyre__ring_step(span->position, k), span->phase, items + k * VYRE_RING_CELL_ITEMS,
          vyre__ring_place_items(span, k));
}

void vyre__ring_published(vyre_ring *ring)
{
  VYRE__RING_AT(VYRE__RING_ITEMS_PUBLISHED);
  if (!ring->waiting)
    return;
  vyre__ring_changed(ring);
  vyre__wake_sleepers(&ring->header->not_empty);
}

vyre_status vyre_ring_enqueue(vyre_ring *ring, const vyre_work_item *item, uint64_t *out_ticket)
{
  vyre_work_item copy;
  vyre__ring_span span;
  vyre_status status;
  if (!ring || !item)
    return VYRE_ERROR_INVALID_ARGUMENT;
  copy = *item;
  /* The compiler may not move the read, which can fault, behind the taking of the place. */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  status = vyre__ring_reserve(ring, 1, &span);
  if (status != VYRE_OK)
    return status;
  publish(ring, span.position, span.phase, &copy, 1);
  vyre__prefetch_to_write(&ring->cells[vyre__ring_step(span.position, 1) & ring->capacity_mask]);
  vyre__ring_published(ring);
  if (out_ticket)
    *out_ticket = vyre__ring_ticket(span.position, 0);
  return VYRE_OK;
}

vyre_status vyre_ring_enqueue_many(vyre_ring *ring, const vyre_work_item *items, uint32_t n,
                                   uint64_t *out_tickets, uint32_t *out_n)
{
  const uint64_t most = (ring ? ring->capacity_mask + 1 : 0) * VYRE_RING_CELL_ITEMS;
  vyre__ring_span span = {0};
  vyre_status status;
  if (!ring || (!items && n))
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (n > most)
    n = (uint32_t)most;
  if (n) {
    vyre__touch_to_read(items, (uint64_t)n * sizeof *items);
    status = vyre__ring_reserve(ring, n, &span);
    if (status != VYRE_OK)
      return status;
    for (uint32_t k = 0; k < span.places; ++k)
      vyre__ring_publish(ring, &span, k, items);
    vyre__ring_published(ring);
  }
  for (uint32_t k = 0; out_tickets && k < span.places; ++k)
    out_tickets =
        vyre__name_items(out_tickets, vyre__ring_ticket(vyre__ring_step(span.position, k), 0),
                         vyre__ring_place_items(&span, k));
  if (out_n)
    *out_n = span.items;
  return VYRE_OK;
}
