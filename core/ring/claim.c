/*
 * claim.c - the consumers' side: take published items, copy them out, release their places.
 *
 * The mirror image of enqueue.c: items that are published for position p stay so until somebody
 * takes the last of them, that is until tail moves; so a CAS on tail that finds it unmoved takes
 * them all.
 *
 * The tail is a ticket: a cell of several items can be claimed in parts.  Each part counts itself
 * out of the cell after its copy, and whoever completes the count releases the place.
 */
#include "core/ring/copy.h"
#include "core/ring/prefetch.h"
#include "core/ring/touch.h"
#include "core/ring/wake.h"

#include <string.h>

/* Completion words of a line. */
#define WORDS_AHEAD 8u

static uint64_t published_at(const vyre_ring *ring, uint64_t position)
{
  /* Acquire; partner: the release store in enqueue.c's publish().  The items are whole. */
  return __atomic_load_n(&ring->cells[position & ring->capacity_mask].published, __ATOMIC_ACQUIRE);
}

/* The first ticket of the next cell. */
static uint64_t next_cell(uint64_t ticket)
{
  return vyre__ring_ticket(vyre__ring_step(vyre__ring_position_of(ticket), 1), 0);
}

/* What a call took: the first item's ticket, the tail behind the last one, how many. */
typedef struct claimed {
  uint64_t first, next;
  uint32_t n;
} claimed;

/*
 * Counts items that can be claimed from `tail` on, at most `most`, and tells the tail behind them;
 * with `one_run` none behind a cell that is not full.  Producers publish out of order, so every
 * cell is looked at; ends within a lap.
 */
static uint32_t count_ready(const vyre_ring *ring, uint64_t tail, uint32_t most, bool one_run,
                            uint64_t *out_next)
{
  uint32_t n = 0;
  while (n < most) {
    const uint64_t position = vyre__ring_position_of(tail);
    const uint32_t index = vyre__ring_index_of(tail);
    const uint32_t count = vyre__ring_count_if(published_at(ring, position), position);
    if (index >= count)
      break;
    if (count - index > most - n) {
      tail += most - n;
      n = most;
    } else {
      n += count - index;
      tail = next_cell(tail);
      if (one_run && count != VYRE_RING_CELL_ITEMS)
        break;
    }
  }
  *out_next = tail;
  return n;
}

/* How many items a cell holds of which the caller has claimed some. */
static uint32_t count_of(const vyre_ring_cell *cell)
{
  /* Relaxed: take() has acquired it, and it stays until every item is released. */
  return (uint32_t)(__atomic_load_n(&cell->published, __ATOMIC_RELAXED) & VYRE_RING_COUNT_MASK);
}

/* The caller has copied its `n` of the cell's `count` items out. */
static void release_part(vyre_ring *ring, uint64_t position, uint32_t n, uint32_t count)
{
  uint64_t *released = &ring->released[position & ring->released_mask];
  if (n != count) {
    /*
     * Release: my copies come before.  Acquire: who completes the count has the copies of all
     * others before its store below.  Partners: the other parts of the cell.
     */
    const uint64_t before = __atomic_fetch_add(released, n, __ATOMIC_ACQ_REL);
    if ((before & VYRE_RING_TAKEN_MASK) + n != count)
      return;
  }
  /* Release; partner: the acquire load in enqueue.c's is_free().  The items were copied out. */
  __atomic_store_n(released, vyre__ring_released_word(position, count), __ATOMIC_RELEASE);
}

/* After the last release of a call: wakes sleeping producers. */
static void released(vyre_ring *ring)
{
  VYRE__RING_AT(VYRE__RING_ITEMS_RELEASED);
  if (!ring->waiting)
    return;
  vyre__ring_changed(ring);
  vyre__wake_sleepers(&ring->header->not_full);
}

/*
 * Passes a cell over in which there is nothing to claim: a tombstone, or what somebody wrote who
 * does not keep the protocol.  True if the caller has to look again.
 */
static bool pass_over(vyre_ring *ring, uint64_t *tail)
{
  const uint64_t position = vyre__ring_position_of(*tail);
  const uint64_t published = published_at(ring, position);
  const uint64_t next = next_cell(*tail);
  if (vyre__ring_stamp_of(published) != vyre__ring_stamp(position) ||
      vyre__ring_index_of(*tail) < (published & VYRE_RING_COUNT_MASK))
    return false;
  /* As in take(). */
  if (__atomic_compare_exchange_n(&ring->header->tail, tail, next, false, __ATOMIC_RELEASE,
                                  __ATOMIC_RELAXED)) {
    *tail = next;
    /* Release; partner: the acquire load in enqueue.c's is_free(). */
    __atomic_store_n(&ring->released[position & ring->released_mask],
                     vyre__ring_released_word(position, 0), __ATOMIC_RELEASE);
    released(ring);
  }
  return true;
}

/* Nothing is published at `tail`: EMPTY, or CLOSED if nothing ever will be. */
static vyre_status nothing_there(const vyre_ring *ring, uint64_t tail)
{
  uint64_t head;
  /*
   * Acquire; partner: the release store in vyre_ring_close(): the head carries its mark.  It spares
   * a consumer of an empty ring the producers' line.
   */
  if (!__atomic_load_n(&ring->header->closed, __ATOMIC_ACQUIRE))
    return VYRE_ERROR_EMPTY;
  /*
   * Acquire; partner: the release of the mark in vyre_ring_close().  A closed head stands still:
   * when the tail is there, no item is left and none will come.
   */
  head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE);
  return (head & VYRE_RING_CLOSED) && vyre__ring_ticket(head & VYRE_RING_POSITION_MASK, 0) == tail
             ? VYRE_ERROR_CLOSED
             : VYRE_ERROR_EMPTY;
}

/* Who claims will mark: the line of the words that come next is on its way before it is needed. */
static void prefetch_completion(const vyre_ring *ring, uint64_t next)
{
  const uint64_t position = vyre__ring_step(vyre__ring_position_of(next), WORDS_AHEAD);
  if (ring->completion)
    vyre__prefetch_to_write(&ring->completion[position & ring->completions_mask]);
}

/* `out_items` and `out_tickets`, if given, are made ready for as many items as are taken. */
static vyre_status take(vyre_ring *ring, uint32_t most, bool one_run, vyre_work_item *out_items,
                        uint64_t *out_tickets, claimed *out_claimed)
{
  /* Relaxed: the stamps order everything; the CAS below finds out whether it is still true. */
  uint64_t tail = __atomic_load_n(&ring->header->tail, __ATOMIC_RELAXED);
  for (;;) {
    uint64_t next;
    uint32_t ready;
    VYRE__RING_AT(VYRE__RING_TAIL_READ);
    ready = count_ready(ring, tail, most, one_run, &next);
    VYRE__RING_AT(VYRE__RING_ITEMS_JUDGED);
    if (!ready) {
      const uint64_t seen = tail;
      if (pass_over(ring, &tail))
        continue;
      /*
       * Relaxed: if the stamp was already the next tenant's, this position was claimed before, and
       * the stamp's acquire load makes the moved tail visible here.
       */
      tail = __atomic_load_n(&ring->header->tail, __ATOMIC_RELAXED);
      if (tail != seen)
        continue;
      return nothing_there(ring, tail);
    }
    if (out_items)
      vyre__touch_to_write(out_items, (uint64_t)ready * sizeof *out_items);
    if (out_tickets)
      vyre__touch_to_write(out_tickets, (uint64_t)ready * sizeof *out_tickets);
    /*
     * Release; partner: the acquire loads of tail in vyre_ring_tail(), vyre_ring_in_flight() and
     * vyre_ring_attach(): the head beyond these items was seen before it.  Failure relaxed: only
     * the value is used, and looked at again.
     */
    if (__atomic_compare_exchange_n(&ring->header->tail, &tail, next, true, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED)) {
      VYRE__RING_AT(VYRE__RING_ITEMS_TAKEN);
      prefetch_completion(ring, next);
      out_claimed->first = tail;
      out_claimed->next = next;
      out_claimed->n = ready;
      return VYRE_OK;
    }
  }
}

vyre_status vyre_ring_claim(vyre_ring *ring, vyre_work_item *out_item, uint64_t *out_ticket)
{
  claimed one;
  vyre_work_item copy;
  vyre_status status;
  const vyre_ring_cell *cell;
  uint64_t ticket;
  if (!ring || !out_item)
    return VYRE_ERROR_INVALID_ARGUMENT;
  status = take(ring, 1, false, NULL, NULL, &one);
  if (status != VYRE_OK)
    return status;
  ticket = one.first;
  cell = &ring->cells[vyre__ring_position_of(ticket) & ring->capacity_mask];
  memcpy(&copy, cell->item[vyre__ring_index_of(ticket)], sizeof copy);
  VYRE__RING_AT(VYRE__RING_ITEMS_COPIED);
  release_part(ring, vyre__ring_position_of(ticket), 1, count_of(cell));
  released(ring);
  /* Last: the caller's memory may fault. */
  *out_item = copy;
  if (out_ticket)
    *out_ticket = ticket;
  return VYRE_OK;
}

/* Copies `n` items out from `ticket` on, and releases what is taken of each cell. */
static void copy_out(vyre_ring *ring, uint64_t ticket, vyre_work_item *out_items,
                     uint64_t *out_tickets, uint32_t n)
{
  while (n) {
    const uint64_t position = vyre__ring_position_of(ticket);
    const uint32_t index = vyre__ring_index_of(ticket);
    const vyre_ring_cell *cell = &ring->cells[position & ring->capacity_mask];
    const uint32_t count = count_of(cell);
    /* Within the cell, whatever somebody may write into a count that take() has judged. */
    uint32_t part = count > index ? count - index : VYRE_RING_CELL_ITEMS - index;
    part = part < n ? part : n;
    vyre__copy_items(out_items, cell->item[index], part);
    VYRE__RING_AT(VYRE__RING_ITEMS_COPIED);
    release_part(ring, position, part, count);
    if (out_tickets)
      out_tickets = vyre__name_items(out_tickets, ticket, part);
    out_items += part;
    n -= part;
    ticket = next_cell(ticket);
  }
}

/* Never more than the ring holds. */
static uint32_t most_of(const vyre_ring *ring, uint32_t max)
{
  const uint64_t most = (ring->capacity_mask + 1) * VYRE_RING_CELL_ITEMS;
  return max < most ? max : (uint32_t)most;
}

vyre_status vyre_ring_claim_many(vyre_ring *ring, vyre_work_item *out_items, uint64_t *out_tickets,
                                 uint32_t max, uint32_t *out_n)
{
  claimed many = {0};
  vyre_status status;
  if (!ring || (!out_items && max))
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (max) {
    status = take(ring, most_of(ring, max), false, out_items, out_tickets, &many);
    if (status != VYRE_OK)
      return status;
    copy_out(ring, many.first, out_items, out_tickets, many.n);
    released(ring);
  }
  if (out_n)
    *out_n = many.n;
  return VYRE_OK;
}

/* As copy_out(): of a span it is known which cells are whole, so no count is read again. */
static void copy_span(vyre_ring *ring, const vyre_ring_span *span, vyre_work_item *out_items)
{
  vyre__ring_part part = vyre__ring_first_part(span);
  while (part.n) {
    const vyre_ring_cell *cell = &ring->cells[part.position & ring->capacity_mask];
    vyre__copy_items(out_items, cell->item[part.index], part.n);
    VYRE__RING_AT(VYRE__RING_ITEMS_COPIED);
    release_part(ring, part.position, part.n, part.whole ? part.n : count_of(cell));
    out_items += part.n;
    vyre__ring_next_part(span, &part);
  }
}

vyre_status vyre_ring_claim_span(vyre_ring *ring, vyre_work_item *out_items, uint32_t max,
                                 vyre_ring_span *out_span)
{
  claimed run = {0};
  vyre_ring_span span = {0};
  vyre_status status;
  if (!ring || !out_span || (!out_items && max))
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (max) {
    status = take(ring, most_of(ring, max), true, out_items, NULL, &run);
    if (status != VYRE_OK)
      return status;
    span.first = run.first;
    span.count = run.n;
    span.ends_cell = vyre__ring_index_of(run.next) == 0;
    copy_span(ring, &span, out_items);
    released(ring);
  }
  /* Last: the caller's memory may fault. */
  *out_span = span;
  return VYRE_OK;
}

uint64_t vyre_ring_span_ticket(const vyre_ring_span *span, uint32_t i)
{
  const uint64_t item = (uint64_t)vyre__ring_index_of(span->first) + i;
  return vyre__ring_ticket(
      vyre__ring_step(vyre__ring_position_of(span->first), item / VYRE_RING_CELL_ITEMS),
      (uint32_t)(item % VYRE_RING_CELL_ITEMS));
}
