/*
 * Producers and consumers lap a small ring, with single calls, lists and spans mixed and threads
 * that give way at random hook points: every item exactly once, whole, and in order.
 *
 * Every ticket has a place in three logs: what its producer put in, what its consumer took out, and
 * what its finisher made of it.  Equal logs mean that nothing was lost, doubled or exchanged.  The
 * logs are plain memory: only the ring orders them, and TSan sees where it does not.
 */
#include "tests/ring/ring_help.h"

typedef struct stress {
  vyre_ring *ring;
  uint64_t first;
  uint64_t slots;
  uint32_t items; /* of one producer */
  uint32_t producers;
  uint32_t capacity;
  uint32_t unfinished; /* 0: completion NONE */
  bool waits;          /* single calls wait instead of trying again */
  uint64_t *put;
  uint64_t *taken;  /* by ticket: producer << 32 | number, plus 1 */
  uint32_t *result; /* by ticket: is_done() makes it readable */
} stress;

typedef struct worker {
  stress *shared;
  uint32_t number;
  bool consumes;
} worker;

#define MOST_BATCH 24u
#define MOST_HELD 40u
#define WATCHED 8u

/* Laps the largest ring hundreds of times, the smallest thousands of times. */
#define ITEMS_BASE ROUNDS(8000u)
#define ITEMS_MORE ROUNDS(1000u)

/* Gives way at one of 64 hook points; each thread throws its own dice. */
static void sometimes_yield(vyre__ring_point point)
{
  static _Thread_local uint64_t dice;
  if (!dice)
    dice = (uintptr_t)&dice | 1;
  if ((next_random(&dice) + (uint32_t)point) % 64 == 0)
    sched_yield();
}

static uint64_t log_word(const vyre_work_item *item)
{
  return ((uint64_t)item->input_len << 32 | item->input_offset) + 1;
}

/* A batch's tickets: seven in a place, then the next place. */
static void expect_packed(const uint64_t *tickets, uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i)
    EXPECT(tickets[i] ==
           vyre__ring_ticket(vyre__ring_step(vyre__ring_position_of(tickets[0]), i / 7), i % 7));
}

/* True once it is done: then its result is there, and it stays done. */
static bool seen_done(const stress *s, uint64_t ticket)
{
  const uint64_t slot = slot_of(s->first, ticket);
  if (!vyre_ring_is_done(s->ring, ticket))
    return false;
  EXPECT(s->result[slot] == mix(slot));
  EXPECT(vyre_ring_is_done(s->ring, ticket));
  return true;
}

/*
 * Who gets a place has the word of all finishers of its previous tenant: what consumers logged, and
 * their results, are readable.
 */
static void expect_gate(const stress *s, uint64_t ticket)
{
  const uint64_t place = slot_of(s->first, ticket) / 8;
  uint64_t slot;
  if (place < s->unfinished)
    return;
  slot = (place - s->unfinished) * 8;
  EXPECT(s->taken[slot] != 0);
  for (; slot % 8 < 7; ++slot)
    EXPECT(s->taken[slot] == 0 || s->result[slot] == mix(slot));
}

static vyre_status put_some(stress *s, const vyre_work_item *items, uint32_t n, uint64_t *tickets,
                            uint32_t *out_n)
{
  *out_n = 1;
  if (n > 1)
    return vyre_ring_enqueue_many(s->ring, items, n, tickets, out_n);
  return s->waits ? vyre_ring_enqueue_wait(s->ring, items, PATIENCE, tickets)
                  : vyre_ring_enqueue(s->ring, items, tickets);
}

static void produce(stress *s, uint32_t producer)
{
  uint64_t random = producer * 1234567 + 1, last = 0, watched[WATCHED];
  uint32_t number = 0;
  memset(watched, 0xff, sizeof watched);
  while (number < s->items) {
    vyre_work_item items[MOST_BATCH];
    uint64_t tickets[MOST_BATCH];
    uint64_t *watch = &watched[next_random(&random) % WATCHED];
    uint32_t n = next_random(&random) % MOST_BATCH + 1, got = 0;
    vyre_status status;
    if (n > s->items - number || next_random(&random) % 2)
      n = 1;
    for (uint32_t i = 0; i < n; ++i)
      items[i] = item_of(producer, number + i);
    status = put_some(s, items, n, tickets, &got);
    if (s->unfinished && *watch != UINT64_MAX)
      (void)seen_done(s, *watch);
    if (status == VYRE_ERROR_QUEUE_FULL) {
      sched_yield();
      continue;
    }
    EXPECT(status == VYRE_OK && got >= 1 && got <= n);
    if (status != VYRE_OK || got > n)
      return;
    EXPECT(number == 0 || slot_of(s->first, tickets[0]) > last);
    expect_packed(tickets, got);
    last = slot_of(s->first, tickets[got - 1]);
    *watch = tickets[next_random(&random) % got];
    if (last >= s->slots) {
      EXPECT(!"a ticket that can be");
      return;
    }
    for (uint32_t i = 0; i < got; ++i)
      s->put[slot_of(s->first, tickets[i])] = log_word(&items[i]);
    for (uint32_t i = 0; s->unfinished && i < got; i += 7)
      expect_gate(s, tickets[i]);
    number += got;
  }
  for (uint32_t i = 0; s->unfinished && i < WATCHED; ++i)
    if (watched[i] != UINT64_MAX) {
      EXPECT(vyre_ring_wait(s->ring, watched[i], PATIENCE) == VYRE_OK);
      EXPECT(seen_done(s, watched[i]));
    }
}

/* Finishes some of the held tickets, in random order. */
static void finish_some(stress *s, uint64_t *held, uint32_t *count, uint64_t *random)
{
  uint64_t marks[MOST_HELD];
  uint32_t n = next_random(random) % *count + 1;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t which = next_random(random) % 2 ? *count - 1 : next_random(random) % *count;
    uint64_t slot = slot_of(s->first, held[which]);
    marks[i] = held[which];
    held[which] = held[--*count];
    EXPECT(!vyre_ring_is_done(s->ring, marks[i]));
    s->result[slot] = mix(slot);
  }
  if (next_random(random) % 2) {
    vyre_ring_mark_done_many(s->ring, marks, n);
  } else {
    for (uint32_t i = 0; i < n; ++i)
      vyre_ring_mark_done(s->ring, marks[i]);
  }
  for (uint32_t i = 0; i < n; ++i)
    EXPECT(vyre_ring_is_done(s->ring, marks[i]));
}

/* Its owner marks a span at once, and now and then once more. */
static void finish_span(stress *s, vyre_ring_span *span, uint64_t *random)
{
  for (uint32_t i = 0; i < span->count; ++i) {
    const uint64_t slot = slot_of(s->first, vyre_ring_span_ticket(span, i));
    EXPECT(!vyre_ring_is_done(s->ring, vyre_ring_span_ticket(span, i)));
    s->result[slot] = mix(slot);
  }
  vyre_ring_mark_done_span(s->ring, span);
  for (uint32_t i = 0; i < span->count; ++i)
    EXPECT(vyre_ring_is_done(s->ring, vyre_ring_span_ticket(span, i)));
  if (next_random(random) % 4 == 0)
    vyre_ring_mark_done_span(s->ring, span);
  span->count = 0;
}

/* The tickets of a span, as a call with a list would have told them. */
static uint32_t list_span(const vyre_ring_span *span, uint64_t *tickets)
{
  for (uint32_t i = 0; i < span->count; ++i)
    tickets[i] = vyre_ring_span_ticket(span, i);
  return span->count;
}

static vyre_status take_some(stress *s, vyre_work_item *items, uint64_t *tickets, uint32_t n,
                             bool may_sleep, vyre_ring_span *out_span, uint32_t *out_n)
{
  *out_n = 1;
  if (out_span) {
    const vyre_status status = vyre_ring_claim_span(s->ring, items, n, out_span);
    *out_n = list_span(out_span, tickets);
    return status;
  }
  if (n > 1)
    return vyre_ring_claim_many(s->ring, items, tickets, n, out_n);
  return may_sleep ? vyre_ring_claim_wait(s->ring, PATIENCE, items, tickets)
                   : vyre_ring_claim(s->ring, items, tickets);
}

static void consume(stress *s, uint32_t consumer)
{
  uint64_t random = consumer * 7654321 + 1, last = 0, held[MOST_HELD];
  int64_t numbers[MOST_THREADS];
  vyre_ring_span span = {0}; /* held like the tickets */
  uint32_t count = 0;
  bool any = false;
  for (uint32_t i = 0; i < MOST_THREADS; ++i)
    numbers[i] = -1;
  for (;;) {
    vyre_work_item items[MOST_BATCH];
    uint64_t tickets[MOST_BATCH];
    uint32_t n = next_random(&random) % 2 ? 1 : next_random(&random) % MOST_BATCH + 1, got = 0;
    const bool in_span = !span.count && next_random(&random) % 2;
    vyre_status status = VYRE_ERROR_EMPTY;
    if (count + n <= MOST_HELD)
      status = take_some(s, items, tickets, n, s->waits && !count && !span.count,
                         in_span ? &span : NULL, &got);
    if (status == VYRE_OK) {
      EXPECT(got >= 1 && got <= n);
      for (uint32_t i = 0; i < got; ++i) {
        const uint64_t slot = slot_of(s->first, tickets[i]);
        EXPECT(item_is_whole(&items[i]));
        EXPECT(!any || slot > last);
        any = true;
        last = slot;
        if (slot >= s->slots || items[i].input_len >= s->producers) {
          EXPECT(!"a ticket and a producer that exist");
          continue;
        }
        /* One producer's items come to one consumer in the order of their making. */
        EXPECT((int64_t)items[i].input_offset > numbers[items[i].input_len]);
        numbers[items[i].input_len] = items[i].input_offset;
        EXPECT(s->taken[slot] == 0);
        s->taken[slot] = log_word(&items[i]);
        /* The tickets of some spans are marked one by one. */
        if (s->unfinished && (!in_span || got % 4 == 1))
          held[count++] = tickets[i];
      }
      if (in_span && (!s->unfinished || got % 4 == 1))
        span.count = 0;
    }
    /* Keeps nothing for long when nothing comes: the gate may wait for it. */
    if (span.count && (status != VYRE_OK || next_random(&random) % 2))
      finish_span(s, &span, &random);
    else if (count && (status != VYRE_OK || next_random(&random) % 4 == 0))
      finish_some(s, held, &count, &random);
    else if (status == VYRE_ERROR_CLOSED)
      return;
    else if (status == VYRE_ERROR_EMPTY)
      sched_yield();
    else
      EXPECT(status == VYRE_OK);
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

static void check_logs(const stress *s)
{
  const uint64_t end = slot_of(s->first, vyre__ring_ticket(vyre_ring_head(s->ring), 0));
  uint64_t all = 0;
  assert_true(end <= s->slots);
  assert_true(end / 8 / s->capacity >= ROUNDS(200u));
  for (uint64_t i = 0; i < end; ++i) {
    assert_true(s->put[i] == s->taken[i]);
    all += s->put[i] != 0;
    if (s->unfinished && s->put[i])
      assert_true(vyre_ring_is_done(
          s->ring, vyre__ring_ticket(vyre__ring_step(s->first, i / 8), (uint32_t)(i % 8))));
  }
  assert_true(all == (uint64_t)s->items * s->producers);
}

static void run_stress(uint32_t producers, uint32_t consumers, uint32_t capacity,
                       uint32_t unfinished, bool waits, uint64_t first, uint32_t items)
{
  stress s = {.first = first,
              .producers = producers,
              .waits = waits,
              .capacity = capacity,
              .unfinished = unfinished,
              .items = items / producers};
  worker workers[MOST_THREADS];
  pthread_t closer;
  s.slots = (uint64_t)items * 8;
  s.ring = ring_at(capacity, unfinished, first);
  s.put = calloc(s.slots, sizeof *s.put);
  s.taken = calloc(s.slots, sizeof *s.taken);
  s.result = calloc(s.slots, sizeof *s.result);
  assert_true(s.put && s.taken && s.result);
  for (uint32_t i = 0; i < producers + consumers; ++i) {
    workers[i].shared = &s;
    workers[i].consumes = i >= producers;
    workers[i].number = workers[i].consumes ? i - producers : i;
  }
  vyre__ring_hook = sometimes_yield;
  assert_int_equal(pthread_create(&closer, NULL, work_then_close, workers), 0);
  run_threads(consumers, work, workers + producers, sizeof *workers);
  assert_int_equal(pthread_join(closer, NULL), 0);
  vyre__ring_hook = NULL;
  assert_int_equal(*expect_failures(), 0);
  assert_int_equal(vyre_ring_in_flight(s.ring), 0);
  check_logs(&s);
  ring_gone(s.ring);
  free(s.put);
  free(s.taken);
  free(s.result);
}

static void run_all(uint32_t producers, uint32_t consumers)
{
  static const uint32_t capacities[] = {1, 2, 8, 64};
  size_t round = producers;
  for (size_t c = 0; c < sizeof capacities / sizeof *capacities; ++c)
    for (uint32_t waits = 0; waits < 2; ++waits)
      for (uint32_t completion = 0; completion < 3; ++completion) {
        const uint32_t capacity = capacities[c];
        /* None, as few as can be, and the default. */
        run_stress(producers, consumers, capacity, completion * completion * capacity, waits,
                   first_positions[round++ % FIRST_POSITIONS], ITEMS_BASE + capacity * ITEMS_MORE);
      }
}

static void test_1p1c(void **state)
{
  (void)state;
  run_all(1, 1);
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

static void test_8p8c(void **state)
{
  (void)state;
  run_all(8, 8);
}

static void test_uneven(void **state)
{
  (void)state;
  run_stress(1, 4, 2, 0, false, NEAR_TOP, ITEMS_BASE);
  run_stress(4, 1, 2, 8, true, NEAR_TOP, ITEMS_BASE);
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
  vyre_work_item items[10];
  for (uint32_t i = 0; i < 10; ++i)
    items[i] = item_of(0, 0);
  for (uint32_t i = 0; i < ROUNDS(200000); ++i) {
    vyre_status status = i % 3 ? vyre_ring_enqueue(ring, items, NULL)
                               : vyre_ring_enqueue_many(ring, items, 1 + i % 10, NULL, NULL);
    EXPECT(status == VYRE_OK || status == VYRE_ERROR_QUEUE_FULL);
    status = i % 2 ? vyre_ring_claim(ring, items, NULL)
                   : vyre_ring_claim_many(ring, items, NULL, 1 + i % 9, NULL);
    EXPECT(status == VYRE_OK || status == VYRE_ERROR_EMPTY);
  }
  return NULL;
}

static void test_watched(void **state)
{
  (void)state;
  for (uint32_t capacity = 1; capacity <= 8; capacity *= 8) {
    watched w = {ring_at(capacity, 0, (1ull << 56) - 1000), 0};
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
      cmocka_unit_test(test_1p1c), cmocka_unit_test(test_2p2c),   cmocka_unit_test(test_4p4c),
      cmocka_unit_test(test_8p8c), cmocka_unit_test(test_uneven), cmocka_unit_test(test_watched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
