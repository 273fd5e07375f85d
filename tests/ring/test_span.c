/*
 * Spans: which items one describes, their tickets, and marking them, also twice, beside marks of
 * single tickets, and with threads that stop in the middle of it.
 */
#include "tests/ring/pause_help.h"

#define MOST 64u

static vyre_ring_span claim_up_to(vyre_ring *ring, uint32_t max, uint32_t number)
{
  vyre_work_item items[MOST];
  vyre_ring_span span = {99, 99, 99};
  assert_true(max <= MOST);
  assert_int_equal(vyre_ring_claim_span(ring, items, max, &span), VYRE_OK);
  assert_true(span.count <= max);
  for (uint32_t i = 0; i < span.count; ++i)
    assert_item(&items[i], number + i);
  return span;
}

static void expect_marks(const vyre_ring *ring, const vyre_ring_span *span, bool done)
{
  for (uint32_t i = 0; i < span->count; ++i)
    assert_int_equal(vyre_ring_is_done(ring, vyre_ring_span_ticket(span, i)), done);
}

static void test_arguments(void **state)
{
  vyre_ring *ring = ring_at(2, 2, 0);
  vyre_work_item item = item_of(9, 0);
  vyre_ring_span span = {5, 5, 5};
  (void)state;
#define REFUSED(call) assert_int_equal(call, VYRE_ERROR_INVALID_ARGUMENT)
  REFUSED(vyre_ring_claim_span(NULL, &item, 1, &span));
  REFUSED(vyre_ring_claim_span(ring, NULL, 1, &span));
  REFUSED(vyre_ring_claim_span(ring, &item, 1, NULL));
#undef REFUSED
  assert_int_equal(vyre_ring_claim_span(ring, &item, 1, &span), VYRE_ERROR_EMPTY);
  assert_true(span.first == 5 && span.count == 5);
  assert_int_equal(vyre_ring_claim_span(ring, NULL, 0, &span), VYRE_OK);
  assert_int_equal(span.count, 0);
  vyre_ring_mark_done_span(ring, &span);
  vyre_ring_mark_done_span(ring, NULL);
  vyre_ring_mark_done_span(NULL, &span);
  vyre_ring_close(ring);
  assert_int_equal(vyre_ring_claim_span(ring, &item, 1, &span), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_head(ring), 0);
  ring_gone(ring);
}

/* A span goes on over full cells and ends behind one that is not; its tickets are those of lists.
 */
static void test_what_a_span_is(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t n = 1; n <= 24; ++n) {
      const uint64_t first = first_positions[f];
      vyre_ring *ring = ring_at(8, 8, first);
      actor a = with_items(0, n);
      vyre_ring_span span;
      assert_int_equal(vyre_ring_enqueue_many(ring, a.items, n, a.tickets, NULL), VYRE_OK);
      put(ring, n);
      /* Behind a multiple of seven nothing shows where the batch ends. */
      span = claim_up_to(ring, MOST, 0);
      assert_int_equal(span.count, n % 7 ? n : n + 1);
      for (uint32_t i = 0; i < n; ++i) {
        assert_true(a.tickets[i] == ticket_in(first, i / 7, i % 7));
        assert_true(a.tickets[i] == vyre_ring_span_ticket(&span, i));
      }
      expect_marks(ring, &span, false);
      vyre_ring_mark_done_span(ring, &span);
      expect_marks(ring, &span, true);
      if (n % 7)
        get(ring, n);
      assert_empty(ring);
      ring_gone(ring);
    }
}

/* All ways to take three cells, of seven, seven and four items, in spans of any three sizes. */
static void test_parts(void **state)
{
  (void)state;
  for (uint32_t a = 1; a <= 18; ++a)
    for (uint32_t b = 1; b <= 18; ++b)
      for (uint32_t marks = 0; marks < 6; ++marks) {
        static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                              {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        const uint64_t first = first_positions[(a + b) % FIRST_POSITIONS];
        vyre_ring *ring = ring_at(4, 4, first);
        vyre_ring_span spans[3] = {{0}};
        uint32_t taken = 0;
        put_batch(ring, 0, 18);
        for (uint32_t i = 0; i < 3 && taken < 18; ++i) {
          spans[i] = claim_up_to(ring, i == 2 ? MOST : i ? b : a, taken);
          assert_true(vyre_ring_span_ticket(&spans[i], 0) ==
                      ticket_in(first, taken / 7, taken % 7));
          taken += spans[i].count;
        }
        assert_int_equal(taken, 18);
        for (uint32_t i = 0; i < 3; ++i) {
          const vyre_ring_span *span = &spans[orders[marks][i]];
          expect_marks(ring, span, false);
          vyre_ring_mark_done_span(ring, span);
          expect_marks(ring, span, true);
        }
        /* Each place is free again. */
        assert_true(put_batch(ring, 50, 28) == ticket_in(first, 3, 0));
        ring_gone(ring);
      }
}

/* Laps of small rings: marked again in all later laps, by tickets and by spans, to no effect. */
static void test_late_marks(void **state)
{
  enum { LAPS = 9 };
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t capacity = 1; capacity <= 2; ++capacity)
      for (uint32_t unfinished = capacity; unfinished <= 4; unfinished *= 2) {
        vyre_ring *ring = ring_at(capacity, unfinished, first_positions[f]);
        vyre_ring_span spans[LAPS];
        for (uint32_t lap = 0; lap < LAPS; ++lap) {
          const uint32_t n = (lap * 5 + 6) % 7 + 1;
          put_batch(ring, 10 * lap, n);
          for (uint32_t old = 0; old < lap; ++old) {
            vyre_ring_mark_done_span(ring, &spans[old]);
            vyre_ring_mark_done(ring, spans[old].first);
          }
          spans[lap] = claim_up_to(ring, 7, 10 * lap);
          assert_int_equal(spans[lap].count, n);
          for (uint32_t old = 0; old < lap; ++old) {
            vyre_ring_mark_done_span(ring, &spans[old]);
            vyre_ring_mark_done(ring, vyre_ring_span_ticket(&spans[old], spans[old].count - 1));
          }
          expect_marks(ring, &spans[lap], false);
          /* Some of them by their tickets before. */
          for (uint32_t i = lap % 3 ? n : 0; i < n; i += 2)
            vyre_ring_mark_done(ring, vyre_ring_span_ticket(&spans[lap], i));
          vyre_ring_mark_done_span(ring, &spans[lap]);
          for (uint32_t old = 0; old <= lap; ++old)
            expect_marks(ring, &spans[old], true);
        }
        ring_gone(ring);
      }
}

/* Spans that no claim gave: of items that are not there yet, of more than there are, of nonsense.
 */
static void test_made_up_spans(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    const uint64_t first = first_positions[f];
    vyre_ring *ring = ring_at(2, 4, first);
    vyre_ring_span span = {first << 3, 70, 1};
    vyre_ring_mark_done_span(ring, &span);
    for (uint32_t i = 0; i < 7; ++i)
      for (uint32_t ends = 0; ends < 2; ++ends) {
        vyre_ring_span wrong = {ticket_in(first, 0, i), i + 1, ends};
        vyre_ring_mark_done_span(ring, &wrong);
      }
    span = (vyre_ring_span){ticket_in(first, 0, 7), 9, 1}; /* no item has that index */
    vyre_ring_mark_done_span(ring, &span);
    span = (vyre_ring_span){UINT64_MAX, 9, 1};
    vyre_ring_mark_done_span(ring, &span);
    for (uint32_t lap = 0; lap < 6; ++lap) {
      vyre_ring_span mine;
      put_batch(ring, lap * 10, 3);
      mine = claim_up_to(ring, 3, lap * 10);
      expect_marks(ring, &mine, false);
      /* More than the cell has, and then cells that nobody published. */
      span = (vyre_ring_span){mine.first + 1, 60, 1};
      vyre_ring_mark_done_span(ring, &span);
      assert_false(vyre_ring_is_done(ring, mine.first));
      assert_true(vyre_ring_is_done(ring, mine.first + 1));
      assert_true(vyre_ring_is_done(ring, mine.first + 2));
      vyre_ring_mark_done_span(ring, &mine);
      expect_marks(ring, &mine, true);
    }
    ring_gone(ring);
  }
}

static void test_without_completion(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < 2; ++round) {
    vyre_ring *ring = ring_at(2, 0, NEAR_TOP);
    for (uint32_t lap = 0; lap < 10; ++lap) {
      vyre_ring_span span;
      put_batch(ring, 0, 12);
      span = claim_up_to(ring, lap % 12 + 1, 0);
      vyre_ring_mark_done_span(ring, &span);
      expect_marks(ring, &span, false);
      if (span.count < 12)
        claim_up_to(ring, MOST, span.count);
    }
    ring_gone(ring);
  }
}

/* ---- threads that stop ---- */

static vyre_ring_span marked_span;

static void act_mark_span(actor *a)
{
  vyre_ring_mark_done_span(a->ring, &marked_span);
}

static void act_claim_span(actor *a)
{
  a->status = vyre_ring_claim_span(a->ring, a->items, a->n, &marked_span);
}

/* A span is not done while a cell of it is marked and the others are not; each by itself is. */
static void test_mark_in_the_making(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t passes = 0; passes < 3; ++passes) {
      vyre_ring *ring = ring_at(4, 4, first_positions[f]);
      actor a = with_items(0, 0);
      put_batch(ring, 0, 17);
      marked_span = claim_up_to(ring, MOST, 0);
      assert_true(actor_starts(&a, ring, act_mark_span, VYRE__RING_COMPLETION_READ, passes));
      for (uint32_t i = 0; i < 17; ++i)
        assert_int_equal(vyre_ring_is_done(ring, vyre_ring_span_ticket(&marked_span, i)),
                         i < passes * 7);
      /* What is done makes room: the place that was never used, and those. */
      for (uint32_t i = 0; i < passes + 1; ++i)
        put(ring, 50 + i);
      assert_full(ring);
      actor_goes_on(&a);
      expect_marks(ring, &marked_span, true);
      ring_gone(ring);
    }
}

/* Nobody has the items of a span that is being claimed: each cell is held until it is copied. */
static void test_claim_in_the_making(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t passes = 0; passes < 3; ++passes) {
      vyre_ring *ring = ring_at(3 + 1, 0, first_positions[f]);
      actor a = with_items(0, 0);
      put_batch(ring, 0, 17);
      a.n = 32;
      assert_true(actor_starts(&a, ring, act_claim_span, VYRE__RING_ITEMS_COPIED, passes));
      for (uint32_t i = 0; i < passes + 1; ++i)
        put(ring, 50 + i);
      assert_full(ring);
      actor_goes_on(&a);
      assert_int_equal(a.status, VYRE_OK);
      assert_int_equal(marked_span.count, 17);
      for (uint32_t i = 0; i < 17; ++i)
        assert_item(&a.items[i], i);
      for (uint32_t i = 0; i < passes + 1; ++i)
        get(ring, 50 + i);
      ring_gone(ring);
    }
}

/* A span of which others hold the rest: its ends are marked apart from theirs. */
static void test_shared_cells(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t round = 0; round < 4; ++round) {
      vyre_ring *ring = ring_at(2, 2, first_positions[f]);
      actor a = with_items(0, 0);
      vyre_ring_span before, behind;
      put_batch(ring, 0, 14);
      before = claim_up_to(ring, 3, 0);
      marked_span = claim_up_to(ring, 8, 3);
      behind = claim_up_to(ring, 7, 11);
      assert_true(actor_starts(&a, ring, act_mark_span, VYRE__RING_COMPLETION_READ, round & 1));
      vyre_ring_mark_done_span(ring, round & 2 ? &before : &behind);
      actor_goes_on(&a);
      expect_marks(ring, &marked_span, true);
      expect_marks(ring, &before, (round & 2) != 0);
      expect_marks(ring, &behind, (round & 2) == 0);
      vyre_ring_mark_done_span(ring, round & 2 ? &behind : &before);
      put_batch(ring, 50, 14);
      ring_gone(ring);
    }
}

/* The owner stands between its look and its store; single tickets are marked beside it. */
static void test_tickets_beside(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t which = 0; which < 7; ++which) {
      vyre_ring *ring = ring_at(1, 1, first_positions[f]);
      actor a = with_items(0, 0);
      put_batch(ring, 0, 7);
      marked_span = claim_up_to(ring, 7, 0);
      actor_stops(&a, ring, act_mark_span, VYRE__RING_COMPLETION_READ);
      vyre_ring_mark_done(ring, vyre_ring_span_ticket(&marked_span, which));
      for (uint32_t i = 0; i < 7; ++i)
        assert_int_equal(vyre_ring_is_done(ring, vyre_ring_span_ticket(&marked_span, i)),
                         i == which);
      assert_full(ring);
      actor_goes_on(&a);
      expect_marks(ring, &marked_span, true);
      put(ring, 20);
      get(ring, 20);
      ring_gone(ring);
    }
}

/*
 * What the header calls the caller's error, at its worst: two threads mark one span, and a whole
 * lap passes while one of them stands between its look and its store.  The later tenant's mark is
 * undone and its place not handed out again; nothing is told done early, and a new mark mends it.
 */
static void test_overtaken_double_mark(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(2, 2, first_positions[f]);
    actor a = with_items(0, 0);
    vyre_ring_span later;
    put_batch(ring, 0, 5);
    marked_span = claim_up_to(ring, 5, 0);
    actor_stops(&a, ring, act_mark_span, VYRE__RING_COMPLETION_READ);
    vyre_ring_mark_done_span(ring, &marked_span);
    vyre_ring_mark_done(ring, (put(ring, 10), get(ring, 10)));
    put_batch(ring, 20, 6);
    later = claim_up_to(ring, 6, 20);
    vyre_ring_mark_done_span(ring, &later);
    expect_marks(ring, &later, true);
    actor_goes_on(&a);
    expect_marks(ring, &marked_span, true);
    expect_marks(ring, &later, false);
    vyre_ring_mark_done(ring, (put(ring, 30), get(ring, 30)));
    assert_full(ring);
    vyre_ring_mark_done_span(ring, &later);
    expect_marks(ring, &later, true);
    put(ring, 40);
    get(ring, 40);
    ring_gone(ring);
  }
}

/* Who sleeps until the last item of a span is done, or for its place, is woken by one mark. */
static void act_wait_last(actor *a)
{
  a->status = vyre_ring_wait(a->ring, a->tickets[0], PATIENCE);
}

static void test_mark_wakes(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(2, 2, first_positions[f]);
    actor waiter = with_items(0, 0), producer = with_items(50, 1);
    put_batch(ring, 0, 12);
    marked_span = claim_up_to(ring, MOST, 0);
    waiter.tickets[0] = vyre_ring_span_ticket(&marked_span, 11);
    actor_stops(&waiter, ring, act_wait_last, VYRE__RING_SLEEPER_LOOKED);
    actor_stops(&producer, ring, act_enqueue_wait, VYRE__RING_SLEEPER_LOOKED);
    actor_let_go(&waiter);
    actor_let_go(&producer);
    vyre_ring_mark_done_span(ring, &marked_span);
    actor_ends(&waiter);
    actor_ends(&producer);
    assert_int_equal(waiter.status, VYRE_OK);
    assert_int_equal(producer.status, VYRE_OK);
    get(ring, 50);
    ring_gone(ring);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_what_a_span_is),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_late_marks),
      cmocka_unit_test(test_made_up_spans),
      cmocka_unit_test(test_without_completion),
      cmocka_unit_test(test_mark_in_the_making),
      cmocka_unit_test(test_claim_in_the_making),
      cmocka_unit_test(test_shared_cells),
      cmocka_unit_test(test_tickets_beside),
      cmocka_unit_test(test_overtaken_double_mark),
      cmocka_unit_test(test_mark_wakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
