/*
 * ring_ours.c - vyre's ring as a contestant, through the public calls of the shared library, as a
 * program has it.
 */
#include "bench/peers/loop.h"
#include "bench/ring_bench.h"

static void *create(uint32_t capacity, vyre_waiting waiting, vyre_completion_mode completion)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  vyre_ring *ring = NULL;
  options.capacity = capacity;
  options.waiting = waiting;
  options.completion = completion;
  return vyre_ring_create(&options, &ring, NULL) == VYRE_OK ? ring : NULL;
}

static void destroy(void *ring)
{
  vyre_ring_destroy(ring);
}

BENCH_INLINE uint32_t push(void *ring, const vyre_work_item *items, uint32_t n)
{
  uint32_t sent = 0;
  if (n == 1)
    return vyre_ring_enqueue(ring, items, NULL) == VYRE_OK;
  return vyre_ring_enqueue_many(ring, items, n, NULL, &sent) == VYRE_OK ? sent : 0;
}

static void *create_a(uint32_t capacity)
{
  return create(capacity, VYRE_WAITING_OFF, VYRE_COMPLETION_NONE);
}

BENCH_INLINE uint32_t pop_a(void *ring, vyre_work_item *items, uint32_t max)
{
  uint32_t received = 0;
  if (max == 1)
    return vyre_ring_claim(ring, items, NULL) == VYRE_OK;
  return vyre_ring_claim_many(ring, items, NULL, max, &received) == VYRE_OK ? received : 0;
}

static void *create_b(uint32_t capacity)
{
  return create(capacity, VYRE_WAITING_ON, VYRE_COMPLETION_BY_TICKET);
}

/* Everything is marked done as soon as it is there: by tickets, or by the span of what came. */
BENCH_INLINE uint32_t pop_b(void *ring, vyre_work_item *items, uint32_t max)
{
  uint64_t tickets[BENCH_BATCH_MAX];
  uint32_t received = 0;
  if (max == 1) {
    if (vyre_ring_claim(ring, items, tickets) != VYRE_OK)
      return 0;
    vyre_ring_mark_done(ring, tickets[0]);
    return 1;
  }
  if (vyre_ring_claim_many(ring, items, tickets, max, &received) != VYRE_OK)
    return 0;
  vyre_ring_mark_done_many(ring, tickets, received);
  return received;
}

BENCH_INLINE uint32_t pop_b_span(void *ring, vyre_work_item *items, uint32_t max)
{
  vyre_ring_span span;
  if (vyre_ring_claim_span(ring, items, max, &span) != VYRE_OK)
    return 0;
  vyre_ring_mark_done_span(ring, &span);
  return span.count;
}

BENCH_LOOPS(row_a, push, pop_a)
BENCH_LOOPS(row_b, push, pop_b)
BENCH_LOOPS(row_b_span, push, pop_b_span)

const bench_contestant ring_row_a = {"A", "", create_a, destroy, row_a_produce, row_a_consume};
const bench_contestant ring_row_a_again = {"A again",     "",           create_a, destroy,
                                           row_a_produce, row_a_consume};
const bench_contestant ring_row_b = {"B by tickets", "",           create_b, destroy,
                                     row_b_produce,  row_b_consume};
const bench_contestant ring_row_b_span = {
    "B by spans", "", create_b, destroy, row_b_span_produce, row_b_span_consume};
