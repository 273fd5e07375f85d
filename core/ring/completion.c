/*
 * completion.c - which tickets are done.  completion[] holds one word a place: the stamp of a
 * tenant and a bit for each of its items that is not done.  Only finishers write it.  While the
 * previous tenant's word is there, no item is done; how many there are is said by the cell, or once
 * it may have a later tenant by the word with which it was released.  The gate in enqueue.c lets a
 * new tenant in only when the previous one is done, so a word never skips a tenant and only moves
 * forward.
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
  return ticket <= VYRE_RING_TICKET_MASK && index_of(ring, vyre__ring_position_of(ticket)) <
                                                index_of(ring, head & VYRE_RING_POSITION_MASK);
}

/* The count in the position's released word; `*out_stamp` tells whose it is. */
static uint32_t released_count(const vyre_ring *ring, uint64_t position, uint64_t *out_stamp)
{
  /* Acquire; partner: the release in claim.c's release_part(), behind which the cell is reused. */
  const uint64_t word =
      __atomic_load_n(&ring->released[position & ring->released_mask], __ATOMIC_ACQUIRE);
  *out_stamp = vyre__ring_stamp_of(word);
  return (uint32_t)(word >> VYRE_RING_RELEASED_SHIFT) & VYRE_RING_COUNT_MASK;
}

uint32_t vyre__ring_items_of(const vyre_ring *ring, uint64_t position)
{
  const vyre_ring_cell *cell = &ring->cells[position & ring->capacity_mask];
  const uint64_t own = vyre__ring_stamp(position);
  uint64_t published, stamp;
  uint32_t count = released_count(ring, position, &stamp);
  int64_t ahead;
  if (stamp == own)
    return count;
  /* Acquire; partner: the release in enqueue.c's publish(): the gate's look came before it. */
  published = __atomic_load_n(&cell->published, __ATOMIC_ACQUIRE);
  ahead = vyre__ring_distance(vyre__ring_stamp_of(published), own);
  if (ahead <= 0)
    return ahead ? 0 : (uint32_t)(published & VYRE_RING_COUNT_MASK);
  /* A later tenant: its producer saw this one released before it published, so now we do. */
  count = released_count(ring, position, &stamp);
  return stamp == own ? count : 0;
}

uint32_t vyre__ring_pending(const vyre_ring *ring, uint64_t word, uint64_t position, uint32_t items)
{
  if (vyre__ring_stamp_of(word) == vyre__ring_stamp(position))
    return (uint32_t)(word & VYRE_RING_PENDING_MASK);
  if (word == vyre__ring_word(vyre__ring_previous_stamp(position, ring->completions_mask + 1)))
    return (1u << items) - 1;
  return 0;
}

/* False, and `*word` what is there, if that is not `*word`. */
static bool exchange(uint64_t *place, uint64_t *word, uint64_t wanted)
{
  /*
   * Release; partners: the acquire loads in vyre_ring_is_done() and in enqueue.c's is_free(), who
   * may then read what the finisher wrote.  The items of a cell may have several finishers: their
   * exchanges form one release sequence.  Failure relaxed: nothing is read through it.
   */
  return __atomic_compare_exchange_n(place, word, wanted, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED);
}

/* Marks the items of `bits` done; false if none of them was a pending item. */
static bool mark(vyre_ring *ring, uint64_t position, uint32_t bits)
{
  uint64_t *place = &ring->completion[position & ring->completions_mask];
  const uint32_t items = vyre__ring_items_of(ring, position);
  uint64_t word, wanted;
  if (!items)
    return false;
  /* Relaxed: the CAS finds out whether it is still true. */
  word = __atomic_load_n(place, __ATOMIC_RELAXED);
  VYRE__RING_AT(VYRE__RING_COMPLETION_READ);
  do {
    const uint32_t pending = vyre__ring_pending(ring, word, position, items);
    /* Done already, no such item, or the place has later tenants: nothing changes. */
    if (!(pending & bits))
      return false;
    wanted = vyre__ring_word(vyre__ring_stamp(position)) | (pending & ~bits);
  } while (!exchange(place, &word, wanted));
  return true;
}

/* Of a cell of `count` items every one was copied out. */
static bool is_copied_out(const vyre_ring *ring, uint64_t position, uint32_t count)
{
  /* Acquire; partner: the release in claim.c's release_part(): the gate's look came before it. */
  return __atomic_load_n(&ring->released[position & ring->released_mask], __ATOMIC_ACQUIRE) ==
         vyre__ring_released_word(position, count);
}

/*
 * Marks all items of a cell that was copied out and of which none is done yet, as single items and
 * batches find them: mark() with what it would read known beforehand.  False: nothing was changed.
 */
static bool mark_whole_cell(const vyre_ring *ring, uint64_t position, uint32_t count)
{
  uint64_t word = vyre__ring_word(vyre__ring_previous_stamp(position, ring->completions_mask + 1));
  if (!is_copied_out(ring, position, count))
    return false;
  VYRE__RING_AT(VYRE__RING_COMPLETION_READ);
  return exchange(&ring->completion[position & ring->completions_mask], &word,
                  vyre__ring_word(vyre__ring_stamp(position)));
}

/*
 * The same for a cell that the caller claimed whole and marks alone.  Until it does nobody changes
 * the word: finishers of the tenant before are gone, and the gate lets no later one in.  So a store
 * is exact, where a ticket, which anybody may mark, needs an exchange.  The two looks leave a
 * second mark of a span, or of one that was not claimed, without effect; but for two at the same
 * time, of which one is overtaken by a whole lap between its look and its store.
 */
static bool mark_own_cell(const vyre_ring *ring, uint64_t position, uint32_t count)
{
  uint64_t *place = &ring->completion[position & ring->completions_mask];
  if (!is_copied_out(ring, position, count))
    return false;
  /* Relaxed: is_copied_out() has acquired what the gate saw. */
  if (__atomic_load_n(place, __ATOMIC_RELAXED) !=
      vyre__ring_word(vyre__ring_previous_stamp(position, ring->completions_mask + 1)))
    return false;
  VYRE__RING_AT(VYRE__RING_COMPLETION_READ);
  /* Release; partners: as in exchange().  There is no other finisher, so no sequence to go on. */
  __atomic_store_n(place, vyre__ring_word(vyre__ring_stamp(position)), __ATOMIC_RELEASE);
  return true;
}

/* Behind the last mark of a call. */
static void marked(vyre_ring *ring)
{
  VYRE__RING_AT(VYRE__RING_COMPLETION_MARKED);
  if (!ring->waiting)
    return;
  vyre__ring_changed(ring);
  vyre__wake_sleepers(&ring->header->completed);
  vyre__wake_sleepers(&ring->header->not_full);
}

void vyre_ring_mark_done(vyre_ring *ring, uint64_t ticket)
{
  const uint64_t position = vyre__ring_position_of(ticket);
  const uint32_t index = vyre__ring_index_of(ticket);
  if (!ring || !ring->completion || ticket > VYRE_RING_TICKET_MASK)
    return;
  if ((index == 0 && mark_whole_cell(ring, position, 1)) || mark(ring, position, 1u << index))
    marked(ring);
}

/* A whole cell in order, as claim_many gives it: looked at without a branch for each ticket. */
static bool is_full_cell(const uint64_t *tickets)
{
  uint64_t differs = vyre__ring_index_of(tickets[0]);
  for (uint32_t i = 1; i < VYRE_RING_CELL_ITEMS; ++i)
    differs |= tickets[i] ^ (tickets[0] + i);
  return !differs;
}

/* How many of `n` tickets name items of the first one's cell, one behind the other; their bits. */
static uint32_t same_cell(const uint64_t *tickets, uint32_t n, uint32_t *out_bits)
{
  uint32_t i = 0;
  if (n >= VYRE_RING_CELL_ITEMS && is_full_cell(tickets)) {
    *out_bits = VYRE_RING_PENDING_MASK;
    return VYRE_RING_CELL_ITEMS;
  }
  for (; i < n && vyre__ring_position_of(tickets[i]) == vyre__ring_position_of(tickets[0]); ++i)
    *out_bits |= 1u << vyre__ring_index_of(tickets[i]);
  return i;
}

void vyre_ring_mark_done_many(vyre_ring *ring, const uint64_t *tickets, uint32_t n)
{
  bool any = false;
  uint32_t i = 0;
  if (!ring || !ring->completion || !tickets)
    return;
  while (i < n) {
    const uint64_t position = vyre__ring_position_of(tickets[i]);
    uint32_t bits = 0, cell = same_cell(tickets + i, n - i, &bits);
    if (tickets[i] > VYRE_RING_TICKET_MASK)
      bits = 0;
    if (bits == VYRE_RING_PENDING_MASK && mark_whole_cell(ring, position, VYRE_RING_CELL_ITEMS))
      any = true;
    else if (bits)
      any |= mark(ring, position, bits);
    i += cell;
  }
  if (any)
    marked(ring);
}

void vyre_ring_mark_done_span(vyre_ring *ring, const vyre_ring_span *span)
{
  vyre__ring_part part;
  bool any = false;
  if (!ring || !ring->completion || !span || span->first > VYRE_RING_TICKET_MASK ||
      vyre__ring_index_of(span->first) >= VYRE_RING_CELL_ITEMS)
    return;
  for (part = vyre__ring_first_part(span); part.n; vyre__ring_next_part(span, &part))
    if (part.whole && mark_own_cell(ring, part.position, part.n))
      any = true;
    else
      any |= mark(ring, part.position, ((1u << part.n) - 1) << part.index);
  if (any)
    marked(ring);
}

bool vyre_ring_is_done(const vyre_ring *ring, uint64_t ticket)
{
  uint64_t position, word, last;
  if (!ring || !ring->completion || ticket > VYRE_RING_TICKET_MASK)
    return false;
  position = vyre__ring_position_of(ticket);
  /* Acquire; partner: the release in mark().  The item's results are readable. */
  word = __atomic_load_n(&ring->completion[position & ring->completions_mask], __ATOMIC_ACQUIRE);
  last = index_of(ring, vyre__ring_step(vyre__ring_stamp_of(word), VYRE_RING_POSITION_MASK));
  /* The first tenants' predecessors never were: their index is less than a lap below the top. */
  if (last > VYRE_RING_POSITION_MASK - (ring->completions_mask + 1))
    return false;
  /* The last tenant was issued, so an index before its own is that of an issued position. */
  if (index_of(ring, position) != last)
    return index_of(ring, position) < last;
  return !(word & (1u << vyre__ring_index_of(ticket)));
}
