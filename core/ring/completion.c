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
  if (!ring || !ring->completion || ticket > VYRE_RING_TICKET_MASK)
    return;
  if (mark(ring, vyre__ring_position_of(ticket), 1u << vyre__ring_index_of(ticket)))
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

/*
 * Marks all items of a full cell that was copied out and of which none is done yet, as batches find
 * them: mark() with what it would read known beforehand.  False: nothing was changed.
 */
static bool mark_full_cell(const vyre_ring *ring, uint64_t position)
{
  uint64_t word = vyre__ring_word(vyre__ring_previous_stamp(position, ring->completions_mask + 1));
  /* Acquire; partner: the release in claim.c's release_part(): the gate's look came before it. */
  if (__atomic_load_n(&ring->released[position & ring->released_mask], __ATOMIC_ACQUIRE) !=
      vyre__ring_released_word(position, VYRE_RING_CELL_ITEMS))
    return false;
  VYRE__RING_AT(VYRE__RING_COMPLETION_READ);
  return exchange(&ring->completion[position & ring->completions_mask], &word,
                  vyre__ring_word(vyre__ring_stamp(position)));
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
    if (bits == VYRE_RING_PENDING_MASK && mark_full_cell(ring, position))
      any = true;
    else if (bits)
      any |= mark(ring, position, bits);
    i += cell;
  }
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
