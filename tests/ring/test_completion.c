/*
 * Completion by ticket: the gate, marks that have no effect, and single items under concurrency;
 * test_stress.c has the same with batches.
 */
#include "tests/ring/ring_help.h"

static void test_marks(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    const uint64_t first = first_positions[f];
    vyre_ring *ring = ring_at(2, 4, first);
    vyre_work_item item = item_of(0, 0);
    uint64_t ticket = 0;
    /* Never issued: neither before nor when the ticket comes. */
    for (uint64_t i = 0; i < 12; ++i)
      for (uint32_t k = 0; k < 8; ++k) {
        vyre_ring_mark_done(ring, ticket_in(first, i, k));
        vyre_ring_mark_done(ring, ticket_in(first, 0 - i - 1, k));
        assert_false(vyre_ring_is_done(ring, ticket_in(first, i, k)));
        assert_false(vyre_ring_is_done(ring, ticket_in(first, 0 - i - 1, k)));
      }
    vyre_ring_mark_done(ring, UINT64_MAX);
    vyre_ring_mark_done(ring, 1ull << 63);
    for (uint64_t i = 0; i < 20; ++i) {
      assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_OK);
      assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_OK);
      assert_false(vyre_ring_is_done(ring, ticket));
      /* Late and double marks of all earlier tenants, and early ones of all later. */
      for (uint64_t k = 0; k < 20; ++k)
        if (k != i)
          vyre_ring_mark_done(ring, ticket_at(first, k));
      /* The same place, but no ticket: no such item, and bits that no ticket has. */
      for (uint32_t k = 1; k < 8; ++k)
        vyre_ring_mark_done(ring, ticket_in(first, i, k));
      for (uint32_t bit = 59; bit < 64; ++bit)
        vyre_ring_mark_done(ring, ticket | 1ull << bit);
      assert_false(vyre_ring_is_done(ring, ticket));
      vyre_ring_mark_done(ring, ticket);
      vyre_ring_mark_done(ring, ticket);
      for (uint64_t k = 0; k < 30; ++k)
        assert_int_equal(vyre_ring_is_done(ring, ticket_at(first, k)), k <= i);
      for (uint32_t bit = 59; bit < 64; ++bit)
        assert_false(vyre_ring_is_done(ring, ticket | 1ull << bit));
      assert_false(vyre_ring_is_done(ring, ticket_at(first, 0 - i - 1)));
    }
    ring_gone(ring);
  }
}

/* An item may be marked before it is claimed; then its cell is not released, and the word of the
   tenant before still stands there. */
static void test_late_mark_behind_an_early_one(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(2, 2, first_positions[f]);
    vyre_work_item item = item_of(0, 0);
    uint64_t tickets[4];
    for (uint32_t i = 0; i < 2; ++i) {
      assert_int_equal(vyre_ring_enqueue(ring, &item, &tickets[i]), VYRE_OK);
      assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_OK);
      vyre_ring_mark_done(ring, tickets[i]);
    }
    assert_int_equal(vyre_ring_enqueue(ring, &item, &tickets[2]), VYRE_OK);
    vyre_ring_mark_done(ring, tickets[2]);
    assert_true(vyre_ring_is_done(ring, tickets[2]));
    vyre_ring_mark_done(ring, tickets[0]);
    assert_true(vyre_ring_is_done(ring, tickets[2]));
    assert_true(vyre_ring_is_done(ring, tickets[0]));
    assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_OK);
    for (uint32_t i = 0; i < 2; ++i)
      assert_int_equal(vyre_ring_enqueue(ring, &item, &tickets[2 + i]), VYRE_OK);
    assert_false(vyre_ring_is_done(ring, tickets[2]));
    ring_gone(ring);
  }
}

/* Seven items share a word: in any order, several at once, doubled, with others' in between. */
static void test_marks_of_a_cell(void **state)
{
  uint64_t random = 5;
  (void)state;
  for (uint32_t round = 0; round < 400; ++round) {
    const uint64_t first = first_positions[round % FIRST_POSITIONS];
    vyre_ring *ring = ring_at(2, 2, first);
    for (uint32_t lap = 0; lap < 4; ++lap) {
      vyre_work_item items[9] = {{0, 0, 0, 0}};
      uint64_t tickets[9], marks[12];
      uint32_t n = 0, done = 0;
      assert_int_equal(vyre_ring_enqueue_many(ring, items, 9, tickets, &n), VYRE_OK);
      assert_int_equal(n, 9);
      assert_int_equal(vyre_ring_claim_many(ring, items, NULL, 9, &n), VYRE_OK);
      while (done != 0x1ff) {
        uint32_t some = next_random(&random) % 4;
        assert_int_equal(vyre_ring_enqueue(ring, items, NULL), VYRE_ERROR_QUEUE_FULL);
        for (uint32_t i = 0; i < some; ++i) {
          uint32_t which = next_random(&random) % 9;
          marks[i] = tickets[which];
          done |= 1u << which;
        }
        /* Ones that have no effect: an old one, one to come, one that is none. */
        marks[some] = ticket_in(first, 2 * lap - 1, next_random(&random) % 8);
        marks[some + 1] = ticket_in(first, 2 * lap + 2 + next_random(&random) % 4, 0);
        marks[some + 2] = UINT64_MAX;
        vyre_ring_mark_done_many(ring, marks, some + 3);
        for (uint32_t i = 0; i < 9; ++i)
          assert_int_equal(vyre_ring_is_done(ring, tickets[i]), (done & 1u << i) != 0);
        if ((done & 0x7f) == 0x7f)
          break;
      }
      vyre_ring_mark_done_many(ring, tickets, 9);
      for (uint32_t i = 0; i < 9; ++i)
        assert_true(vyre_ring_is_done(ring, tickets[i]));
    }
    ring_gone(ring);
  }
}

static void expect_done(const vyre_ring *ring, const uint64_t *tickets, uint32_t n, bool done)
{
  for (uint32_t i = 0; i < n; ++i)
    assert_int_equal(vyre_ring_is_done(ring, tickets[i]), done);
}

/*
 * Two full cells marked by one list: before they are claimed, claimed in parts, as they come, with
 * one item done before; then the lists of all laps before once more.
 */
static void test_marks_of_full_cells(void **state)
{
  enum { HOW_MANY = 14, LAPS = 8 };
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(2, 2, first_positions[f]);
    uint64_t tickets[LAPS][HOW_MANY];
    for (uint32_t lap = 0; lap < LAPS; ++lap) {
      vyre_work_item items[HOW_MANY] = {{0, 0, 0, 0}};
      const bool before = lap % 4 == 0;
      uint32_t part = lap % 4 == 1 ? 3 : 0, n = 0;
      assert_int_equal(vyre_ring_enqueue_many(ring, items, HOW_MANY, tickets[lap], &n), VYRE_OK);
      assert_int_equal(n, HOW_MANY);
      if (before)
        vyre_ring_mark_done_many(ring, tickets[lap], HOW_MANY);
      if (part)
        assert_int_equal(vyre_ring_claim_many(ring, items, NULL, part, &n), VYRE_OK);
      assert_int_equal(vyre_ring_claim_many(ring, items, NULL, HOW_MANY - part, &n), VYRE_OK);
      assert_int_equal(n, HOW_MANY - part);
      for (uint32_t old = 0; old < lap; ++old)
        vyre_ring_mark_done_many(ring, tickets[old], HOW_MANY);
      expect_done(ring, tickets[lap], HOW_MANY, before);
      if (lap % 4 == 3) {
        vyre_ring_mark_done(ring, tickets[lap][9]);
        expect_done(ring, tickets[lap], 9, false);
      }
      vyre_ring_mark_done_many(ring, tickets[lap], HOW_MANY);
      for (uint32_t old = 0; old <= lap; ++old)
        expect_done(ring, tickets[old], HOW_MANY, true);
    }
    ring_gone(ring);
  }
}

/* At least `unfinished` single tickets fit; the next waits for its own predecessor only. */
static void test_gate(void **state)
{
  (void)state;
  for (uint32_t capacity = 1; capacity <= 8; capacity *= 2)
    for (uint32_t unfinished = capacity; unfinished <= 4 * capacity; unfinished *= 2) {
      const uint64_t first = NEAR_TOP;
      vyre_ring *ring = ring_at(capacity, unfinished, first);
      vyre_work_item items[64] = {{0, 0, 0, 0}};
      uint32_t n = 0;
      for (uint32_t i = 0; i < unfinished; ++i) {
        assert_int_equal(vyre_ring_enqueue(ring, items, NULL), VYRE_OK);
        assert_int_equal(vyre_ring_claim(ring, items, NULL), VYRE_OK);
      }
      assert_int_equal(vyre_ring_in_flight(ring), 0);
      assert_int_equal(vyre_ring_enqueue(ring, items, NULL), VYRE_ERROR_QUEUE_FULL);
      for (uint64_t i = 1; i < unfinished; ++i)
        vyre_ring_mark_done(ring, ticket_at(first, i));
      assert_int_equal(vyre_ring_enqueue(ring, items, NULL), VYRE_ERROR_QUEUE_FULL);
      vyre_ring_mark_done(ring, ticket_at(first, 0));
      assert_int_equal(vyre_ring_enqueue_many(ring, items, 64, NULL, &n), VYRE_OK);
      assert_int_equal(n, capacity * 7);
      ring_gone(ring);
    }
}

static void test_default_number_of_places(void **state)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  vyre_work_item item = item_of(0, 0);
  vyre_ring *ring = NULL;
  (void)state;
  options.capacity = 4;
  options.completion = VYRE_COMPLETION_BY_TICKET;
  assert_int_equal(vyre_ring_create(&options, &ring, NULL), VYRE_OK);
  for (int i = 0; i < 16; ++i) {
    assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
    assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_OK);
  }
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_QUEUE_FULL);
  vyre_ring_destroy(ring);
}

/*
 * Concurrency: consumers hold tickets and finish them in any order.  `finished` says what the
 * consumer knows, `results` what it made; both are by ticket.
 */
typedef struct work {
  vyre_ring *ring;
  uint64_t first;
  uint32_t items, unfinished;
  uint32_t *finished;
  uint32_t *results; /* plain: is_done() makes them readable */
} work;

#define HELD 6u

static uint64_t index_of(const work *w, uint64_t ticket)
{
  return (vyre__ring_position_of(ticket) - w->first) & VYRE_RING_POSITION_MASK;
}

static void finish(work *w, uint64_t ticket)
{
  uint64_t index = index_of(w, ticket);
  EXPECT(!vyre_ring_is_done(w->ring, ticket));
  w->results[index] = mix(index);
  /* Relaxed: a check's memory; partner: the loads in seen_done() and produce(), which come after
   * an acquire of the mark below. */
  __atomic_store_n(&w->finished[index], 1, __ATOMIC_RELAXED);
  vyre_ring_mark_done(w->ring, ticket);
  EXPECT(vyre_ring_is_done(w->ring, ticket));
  vyre_ring_mark_done(w->ring, ticket);
}

static void *consume(void *opaque)
{
  work *w = opaque;
  uint64_t held[HELD], random = (uintptr_t)&held;
  uint32_t count = 0;
  for (;;) {
    vyre_work_item item;
    vyre_status status = VYRE_ERROR_EMPTY;
    if (count < HELD)
      status = vyre_ring_claim(w->ring, &item, &held[count]);
    if (status == VYRE_OK) {
      EXPECT(item_is_whole(&item));
      ++count;
    }
    /* Never keeps all of them when nothing comes: the gate may wait for one. */
    if (count && (status != VYRE_OK || next_random(&random) % 2)) {
      uint32_t which = next_random(&random) % count;
      finish(w, held[which]);
      held[which] = held[--count];
    } else if (status == VYRE_ERROR_CLOSED) {
      return NULL;
    } else if (status == VYRE_ERROR_EMPTY) {
      sched_yield();
    }
  }
}

/* True once it was done: then it was finished, its result is there, and it stays done. */
static bool seen_done(const work *w, uint64_t ticket)
{
  uint64_t index = index_of(w, ticket);
  if (!vyre_ring_is_done(w->ring, ticket))
    return false;
  EXPECT(__atomic_load_n(&w->finished[index], __ATOMIC_RELAXED) == 1);
  EXPECT(w->results[index] == mix(index));
  EXPECT(vyre_ring_is_done(w->ring, ticket));
  return true;
}

static void *produce(void *opaque)
{
  work *w = opaque;
  uint64_t mine[8], random = (uintptr_t)&mine;
  memset(mine, 0xff, sizeof mine);
  for (uint32_t i = 0; i < w->items;) {
    vyre_work_item item = item_of(1, i);
    uint64_t ticket = 0;
    vyre_status status = vyre_ring_enqueue(w->ring, &item, &ticket);
    uint64_t *slot = &mine[next_random(&random) % 8];
    EXPECT(status == VYRE_OK || status == VYRE_ERROR_QUEUE_FULL);
    if (status == VYRE_OK) {
      uint64_t index = index_of(w, ticket);
      /* The gate: whoever had this completion place is finished. */
      if (index >= w->unfinished) {
        EXPECT(__atomic_load_n(&w->finished[index - w->unfinished], __ATOMIC_RELAXED) == 1);
        EXPECT(vyre_ring_is_done(w->ring, ticket_at(w->first, index - w->unfinished)));
      }
      *slot = ticket;
      ++i;
    } else {
      sched_yield();
    }
    if (*slot != UINT64_MAX)
      (void)seen_done(w, *slot);
  }
  for (int i = 0; i < 8; ++i)
    if (mine[i] != UINT64_MAX) {
      EXPECT(vyre_ring_wait(w->ring, mine[i], PATIENCE) == VYRE_OK);
      EXPECT(seen_done(w, mine[i]));
    }
  return NULL;
}

static void *watch(void *opaque)
{
  work *w = opaque;
  /* Every ticket from the first on, until each is done: none may come early or go back. */
  for (uint64_t i = 0; i < (uint64_t)w->items * 2;) {
    if (seen_done(w, ticket_at(w->first, i)))
      ++i;
    else
      sched_yield();
    if (i >= 40)
      EXPECT(vyre_ring_is_done(w->ring, ticket_at(w->first, i - 40)));
  }
  return NULL;
}

static void *consumers(void *opaque)
{
  run_threads(2, consume, opaque, 0);
  return NULL;
}

static void run_gate(uint32_t capacity, uint32_t unfinished, uint64_t first)
{
  work w = {ring_at(capacity, unfinished, first), first, ROUNDS(30000), unfinished, NULL, NULL};
  pthread_t watcher, consuming;
  w.finished = calloc(w.items * 2, sizeof *w.finished);
  w.results = calloc(w.items * 2, sizeof *w.results);
  assert_true(w.finished && w.results);
  assert_int_equal(pthread_create(&watcher, NULL, watch, &w), 0);
  assert_int_equal(pthread_create(&consuming, NULL, consumers, &w), 0);
  run_threads(2, produce, &w, 0);
  vyre_ring_close(w.ring);
  assert_int_equal(pthread_join(consuming, NULL), 0);
  assert_int_equal(pthread_join(watcher, NULL), 0);
  assert_int_equal(*expect_failures(), 0);
  ring_gone(w.ring);
  free(w.finished);
  free(w.results);
}

static void test_gate_under_concurrency(void **state)
{
  (void)state;
  run_gate(1, 1, (1ull << 32) - 3);
  run_gate(1, 4, NEAR_TOP);
  run_gate(2, 2, 0);
  run_gate(8, 8, (1ull << 32) - 3);
  run_gate(8, 32, NEAR_TOP);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_marks),
      cmocka_unit_test(test_marks_of_a_cell),
      cmocka_unit_test(test_marks_of_full_cells),
      cmocka_unit_test(test_late_mark_behind_an_early_one),
      cmocka_unit_test(test_gate),
      cmocka_unit_test(test_default_number_of_places),
      cmocka_unit_test(test_gate_under_concurrency),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
