/*
 * Producers and consumers lap a small ring: every item exactly once, whole, and in order.
 *
 * Every ticket has a place in two logs: what its producer put in, and what its consumer took out.
 * Equal logs mean that nothing was lost, doubled or exchanged.
 */
#include "tests/ring/ring_help.h"

typedef struct stress {
  vyre_ring *ring;
  uint64_t first;
  uint32_t items; /* of one producer */
  uint32_t producers;
  bool waits; /* single calls wait instead of trying again */
  uint64_t *put;
  uint64_t *taken; /* by ticket: producer << 32 | number, plus 1 */
} stress;

typedef struct worker {
  stress *shared;
  uint32_t number;
  bool consumes;
} worker;

#define MOST_BATCH 9u

static uint64_t index_of(const stress *s, uint64_t ticket)
{
  return (ticket - s->first) & VYRE_RING_POSITION_MASK;
}

static uint64_t log_word(const vyre_work_item *item)
{
  return ((uint64_t)item->input_len << 32 | item->input_offset) + 1;
}

static void produce(stress *s, uint32_t producer)
{
  uint64_t random = producer * 1234567 + 1, last = 0;
  uint32_t number = 0;
  while (number < s->items) {
    vyre_work_item items[MOST_BATCH];
    uint64_t tickets[MOST_BATCH];
    uint32_t n = next_random(&random) % MOST_BATCH + 1, got = 0;
    vyre_status status;
    if (n > s->items - number || next_random(&random) % 2)
      n = 1;
    for (uint32_t i = 0; i < n; ++i)
      items[i] = item_of(producer, number + i);
    if (n > 1)
      status = vyre_ring_enqueue_many(s->ring, items, n, tickets, &got);
    else if (s->waits)
      status = vyre_ring_enqueue_wait(s->ring, items, PATIENCE, tickets);
    else
      status = vyre_ring_enqueue(s->ring, items, tickets);
    if (status == VYRE_ERROR_QUEUE_FULL) {
      sched_yield();
      continue;
    }
    EXPECT(status == VYRE_OK);
    if (status != VYRE_OK)
      return;
    if (n == 1)
      got = 1;
    EXPECT(got >= 1 && got <= n);
    for (uint32_t i = 0; i < got; ++i) {
      uint64_t index = index_of(s, tickets[i]);
      EXPECT(index < (uint64_t)s->items * s->producers);
      EXPECT(number + i == 0 || index > last);
      EXPECT(i == 0 || index == last + 1);
      last = index;
      s->put[index] = log_word(&items[i]);
    }
    number += got;
  }
}

static void consume(stress *s, uint32_t consumer)
{
  uint64_t random = consumer * 7654321 + 1, last = 0;
  int64_t numbers[MOST_THREADS];
  bool any = false;
  for (uint32_t i = 0; i < MOST_THREADS; ++i)
    numbers[i] = -1;
  for (;;) {
    vyre_work_item items[MOST_BATCH];
    uint64_t tickets[MOST_BATCH];
    uint32_t n = next_random(&random) % 2 ? 1 : next_random(&random) % MOST_BATCH + 1, got = 1;
    vyre_status status;
    if (n > 1)
      status = vyre_ring_claim_many(s->ring, items, tickets, n, &got);
    else if (s->waits)
      status = vyre_ring_claim_wait(s->ring, PATIENCE, items, tickets);
    else
      status = vyre_ring_claim(s->ring, items, tickets);
    if (status == VYRE_ERROR_CLOSED)
      return;
    if (status == VYRE_ERROR_EMPTY) {
      sched_yield();
      continue;
    }
    EXPECT(status == VYRE_OK);
    if (status != VYRE_OK)
      return;
    EXPECT(got >= 1 && got <= n);
    for (uint32_t i = 0; i < got; ++i) {
      uint64_t index = index_of(s, tickets[i]);
      EXPECT(item_is_whole(&items[i]));
      EXPECT(!any || index > last);
      EXPECT(i == 0 || index == last + 1);
      any = true;
      last = index;
      if (index >= (uint64_t)s->items * s->producers || items[i].input_len >= s->producers) {
        EXPECT(!"a ticket and a producer that exist");
        continue;
      }
      /* One producer's items come to one consumer in the order of their making. */
      EXPECT((int64_t)items[i].input_offset > numbers[items[i].input_len]);
      numbers[items[i].input_len] = items[i].input_offset;
      EXPECT(s->taken[index] == 0);
      s->taken[index] = log_word(&items[i]);
    }
  }
}

static void *work(void *opaque)
{
  worker *w = opaque;
  if (w->consumes)
    consume(w->shared, w->number);
  else
    produce(w->shared, w->number);
  return NULL;
}

static void *work_then_close(void *opaque)
{
  worker *w = opaque;
  run_threads(w->shared->producers, work, w, sizeof *w);
  vyre_ring_close(w->shared->ring);
  return NULL;
}

static void run_stress(uint32_t producers, uint32_t consumers, uint32_t capacity, uint64_t first,
                       bool waits, uint32_t items)
{
  stress s = {.first = first, .producers = producers, .waits = waits};
  worker workers[MOST_THREADS];
  pthread_t closer;
  uint64_t all;
  s.items = items / producers;
  all = (uint64_t)s.items * producers;
  s.ring = ring_at(capacity, 0, first);
  s.put = calloc(all, sizeof *s.put);
  s.taken = calloc(all, sizeof *s.taken);
  assert_true(s.put && s.taken);
  for (uint32_t i = 0; i < producers + consumers; ++i) {
    workers[i].shared = &s;
    workers[i].consumes = i >= producers;
    workers[i].number = workers[i].consumes ? i - producers : i;
  }
  assert_int_equal(pthread_create(&closer, NULL, work_then_close, workers), 0);
  run_threads(consumers, work, workers + producers, sizeof *workers);
  assert_int_equal(pthread_join(closer, NULL), 0);
  assert_int_equal(*expect_failures(), 0);
  assert_int_equal(vyre_ring_in_flight(s.ring), 0);
  assert_int_equal(index_of(&s, vyre_ring_head(s.ring)), all);
  for (uint64_t i = 0; i < all; ++i) {
    assert_true(s.put[i] != 0);
    assert_true(s.put[i] == s.taken[i]);
  }
  ring_gone(s.ring);
  free(s.put);
  free(s.taken);
}

static void run_all(uint32_t producers, uint32_t consumers)
{
  static const uint32_t capacities[] = {1, 2, 8, 64};
  for (size_t c = 0; c < sizeof capacities / sizeof *capacities; ++c)
    for (int waits = 0; waits < 2; ++waits)
      run_stress(producers, consumers, capacities[c],
                 first_positions[(c * 2 + (size_t)waits) % FIRST_POSITIONS], waits, ROUNDS(25000));
}

static void test_1p1c(void **state)
{
  (void)state;
  run_all(1, 1);
}

static void test_1p4c(void **state)
{
  (void)state;
  run_all(1, 4);
}

static void test_4p1c(void **state)
{
  (void)state;
  run_all(4, 1);
}

static void test_2p2c(void **state)
{
  (void)state;
  run_all(2, 2);
}

static void test_4p4c(void **state)
{
  (void)state;
  run_all(4, 4);
}

/* A watcher's numbers are possible at every moment, and never wrap. */
typedef struct watched {
  vyre_ring *ring;
  uint32_t stop;
} watched;

static void *watch(void *opaque)
{
  watched *w = opaque;
  /* Relaxed: ends a loop, orders nothing.  Partner: the store in test_watched(). */
  while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
    const uint64_t capacity = vyre_ring_capacity(w->ring);
    uint64_t tail = vyre_ring_tail(w->ring);
    uint64_t head = vyre_ring_head(w->ring);
    uint64_t later = vyre_ring_tail(w->ring);
    EXPECT(vyre__ring_distance(head, tail) >= 0);
    EXPECT(vyre__ring_distance(head, later) <= (int64_t)capacity);
    EXPECT(vyre_ring_in_flight(w->ring) <= capacity);
  }
  return NULL;
}

static void *turn(void *opaque)
{
  vyre_ring *ring = opaque;
  vyre_work_item item = item_of(0, 0);
  for (uint32_t i = 0; i < ROUNDS(200000); ++i) {
    vyre_status status = vyre_ring_enqueue(ring, &item, NULL);
    EXPECT(status == VYRE_OK || status == VYRE_ERROR_QUEUE_FULL);
    status = vyre_ring_claim(ring, &item, NULL);
    EXPECT(status == VYRE_OK || status == VYRE_ERROR_EMPTY);
  }
  return NULL;
}

static void test_watched(void **state)
{
  (void)state;
  for (uint32_t capacity = 1; capacity <= 8; capacity *= 8) {
    watched w = {ring_at(capacity, 0, (1ull << 62) - 1000), 0};
    pthread_t watcher;
    assert_int_equal(pthread_create(&watcher, NULL, watch, &w), 0);
    run_threads(3, turn, w.ring, 0);
    __atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(watcher, NULL), 0);
    assert_int_equal(*expect_failures(), 0);
    ring_gone(w.ring);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_1p1c), cmocka_unit_test(test_1p4c), cmocka_unit_test(test_4p1c),
      cmocka_unit_test(test_2p2c), cmocka_unit_test(test_4p4c), cmocka_unit_test(test_watched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
