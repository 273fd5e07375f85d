/*
 * Closing at any moment, in many short lives of a ring: what was accepted is delivered, nothing is
 * accepted afterwards, and everybody comes home.
 */
#include "tests/ring/ring_help.h"

typedef struct life {
  vyre_ring *ring;
  uint32_t waits;
  uint32_t close_after; /* items */
  uint32_t closed;      /* the close has returned */
  uint32_t accepted, delivered;
  uint32_t word; /* plain: written before the close, read after CLOSED */
} life;

/* Relaxed counts and flags: partners are each other; the joins order what is read at the end. */
static uint32_t count(uint32_t *word, uint32_t n)
{
  return __atomic_add_fetch(word, n, __ATOMIC_RELAXED);
}

static void *produce(void *opaque)
{
  life *l = opaque;
  for (uint32_t i = 0;; ++i) {
    vyre_work_item items[9];
    /* Acquire; partner: the release store in finish(): the close lies wholly before this call. */
    bool closed = __atomic_load_n(&l->closed, __ATOMIC_ACQUIRE);
    uint32_t n = 1;
    vyre_status status;
    for (uint32_t k = 0; k < 9; ++k)
      items[k] = item_of(1, i);
    if (i % 3 == 0)
      status = vyre_ring_enqueue_many(l->ring, items, 2 + i % 8, NULL, &n);
    else if (l->waits)
      status = vyre_ring_enqueue_wait(l->ring, items, PATIENCE, NULL);
    else
      status = vyre_ring_enqueue(l->ring, items, NULL);
    EXPECT(!closed || status == VYRE_ERROR_CLOSED);
    if (status == VYRE_ERROR_CLOSED) {
      EXPECT(l->word == 7);
      return NULL;
    }
    EXPECT(status == VYRE_OK || status == VYRE_ERROR_QUEUE_FULL);
    if (status == VYRE_OK)
      count(&l->accepted, n);
    else
      sched_yield();
  }
}

static void finish(life *l)
{
  l->word = 7;
  vyre_ring_close(l->ring);
  __atomic_store_n(&l->closed, 1, __ATOMIC_RELEASE);
}

static void *consume(void *opaque)
{
  life *l = opaque;
  for (;;) {
    vyre_work_item item;
    uint64_t ticket = 0;
    vyre_status status = l->waits ? vyre_ring_claim_wait(l->ring, PATIENCE, &item, &ticket)
                                  : vyre_ring_claim(l->ring, &item, &ticket);
    if (status == VYRE_ERROR_CLOSED) {
      EXPECT(l->word == 7);
      return NULL;
    }
    EXPECT(status == VYRE_OK || (!l->waits && status == VYRE_ERROR_EMPTY));
    if (status == VYRE_OK) {
      EXPECT(item_is_whole(&item));
      /* A consumer closes it in the middle of everything. */
      if (count(&l->delivered, 1) == l->close_after)
        finish(l);
      vyre_ring_mark_done(l->ring, ticket);
    } else {
      sched_yield();
    }
  }
}

typedef struct seat {
  life *shared;
  bool consumes;
} seat;

static void *worker(void *opaque)
{
  seat *s = opaque;
  return s->consumes ? consume(s->shared) : produce(s->shared);
}

static void live(uint32_t capacity, uint32_t unfinished, uint32_t waits, uint32_t close_after)
{
  life l = {ring_at(capacity, unfinished, NEAR_TOP), waits, close_after, 0, 0, 0, 0};
  seat seats[6] = {{&l, false}, {&l, true}, {&l, false}, {&l, true}, {&l, false}, {&l, true}};
  vyre_work_item item;
  run_threads(6, worker, seats, sizeof *seats);
  assert_int_equal(*expect_failures(), 0);
  assert_int_equal(l.accepted, l.delivered);
  assert_true(l.delivered >= close_after);
  assert_int_equal(vyre_ring_in_flight(l.ring), 0);
  assert_true(vyre_ring_head(l.ring) == vyre_ring_tail(l.ring));
  assert_int_equal(vyre_ring_claim(l.ring, &item, NULL), VYRE_ERROR_CLOSED);
  ring_gone(l.ring);
}

static void test_close_at_any_time(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < ROUNDS(600); ++round)
    live(1u << round % 4, round % 3 ? 0 : 8, round / 2 % 2, round * 7 % 150 + 1);
}

/* The phase is flipped all the time: no item is lost by it, and each is of one phase. */
static void *flip(void *opaque)
{
  life *l = opaque;
  uint64_t last = vyre__ring_flip_phase(l->ring);
  while (!__atomic_load_n(&l->closed, __ATOMIC_ACQUIRE)) {
    uint64_t position = vyre__ring_flip_phase(l->ring);
    EXPECT(vyre__ring_distance(position, last) >= 0);
    last = position;
    sched_yield();
  }
  return NULL;
}

static void test_flips(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < ROUNDS(100); ++round) {
    life l = {ring_at(4, 0, NEAR_TOP), round % 2, 200, 0, 0, 0, 0};
    seat seats[4] = {{&l, false}, {&l, true}, {&l, false}, {&l, true}};
    pthread_t flipper;
    assert_int_equal(pthread_create(&flipper, NULL, flip, &l), 0);
    run_threads(4, worker, seats, sizeof *seats);
    assert_int_equal(pthread_join(flipper, NULL), 0);
    assert_int_equal(*expect_failures(), 0);
    assert_int_equal(l.accepted, l.delivered);
    ring_gone(l.ring);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_close_at_any_time),
      cmocka_unit_test(test_flips),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
