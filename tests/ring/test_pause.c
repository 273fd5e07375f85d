/*
 * The known defects of rings of this kind, one test each.  A thread is stopped at the worst place,
 * the others do what breaks a ring that advances its tail before it reads, judges full and empty by
 * its counters, or keeps one mark of completion a place.  Then the thread goes on.
 */
#include "tests/ring/pause_help.h"

/*
 * 1: a consumer that has moved the tail and copied nothing is lapped; its item is lost.
 * 3: the same between two of its loads; its item is torn.
 * Here its place stays taken until its copy is made.
 */
static void consumer_is_lapped(vyre__ring_point point)
{
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t capacity = 1; capacity <= 4; capacity *= 2) {
      vyre_ring *ring = ring_at(capacity, 0, first_positions[f]);
      actor a = with_items(0, 0);
      for (uint32_t i = 0; i < capacity; ++i)
        put(ring, i);
      actor_stops(&a, ring, act_claim, point);
      assert_full(ring);
      /* All others come and go as they like, behind its place. */
      for (uint32_t i = 1; i < capacity; ++i) {
        get(ring, i);
        assert_full(ring);
      }
      assert_empty(ring);
      assert_full(ring);
      actor_goes_on(&a);
      assert_int_equal(a.status, VYRE_OK);
      assert_true(a.tickets[0] == ticket_at(first_positions[f], 0));
      assert_item(&a.items[0], 0);
      for (uint32_t i = 0; i < capacity; ++i)
        put(ring, 100 + i);
      assert_full(ring);
      for (uint32_t i = 0; i < capacity; ++i)
        get(ring, 100 + i);
      assert_empty(ring);
      ring_gone(ring);
    }
}

static void test_1_lapped_before_the_copy(void **state)
{
  (void)state;
  consumer_is_lapped(VYRE__RING_ITEMS_TAKEN);
}

static void test_3_lapped_within_the_copy(void **state)
{
  (void)state;
  consumer_is_lapped(VYRE__RING_ITEMS_COPIED);
}

/* 2: lapped after the item was seen: the old ticket gets a new item, which is claimed again. */
static void test_2_lapped_after_the_look(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_TAIL_READ, VYRE__RING_ITEMS_JUDGED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (int p = 0; p < 2; ++p)
      for (uint32_t laps = 1; laps <= 3; ++laps) {
        vyre_ring *ring = ring_at(2, 0, first_positions[f]);
        actor a = with_items(0, 0);
        put(ring, 0);
        put(ring, 1);
        actor_stops(&a, ring, act_claim, points[p]);
        for (uint32_t i = 0; i < 2 * laps; ++i) {
          assert_true(get(ring, i) == ticket_at(first_positions[f], i));
          put(ring, i + 2);
        }
        actor_goes_on(&a);
        assert_int_equal(a.status, VYRE_OK);
        assert_item(&a.items[0], 2 * laps);
        assert_true(a.tickets[0] == ticket_at(first_positions[f], 2 * laps));
        get(ring, 2 * laps + 1);
        assert_empty(ring);
        ring_gone(ring);
      }
}

/* 4: a producer that has moved the head and written nothing overwrites, later, a newer item. */
static void test_4_producer_is_lapped(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_PLACES_TAKEN, VYRE__RING_ITEMS_WRITTEN};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (int p = 0; p < 2; ++p) {
      const uint64_t first = first_positions[f];
      vyre_ring *ring = ring_at(2, 0, first);
      actor a = with_items(0, 1);
      const uint64_t *published = &ring->cells[first & 1].published;
      const uint64_t before = *published;
      actor_stops(&a, ring, act_enqueue, points[p]);
      assert_empty(ring);
      put(ring, 1);
      /* Published behind it, but nothing goes around it: neither consumers nor producers. */
      for (int i = 0; i < 5; ++i) {
        assert_empty(ring);
        assert_full(ring);
      }
      assert_true(*published == before);
      actor_goes_on(&a);
      assert_int_equal(a.status, VYRE_OK);
      assert_true(a.tickets[0] == ticket_at(first, 0));
      assert_true(*published == (vyre__ring_word(vyre__ring_stamp(first)) | 1));
      get(ring, 0);
      get(ring, 1);
      put(ring, 2);
      get(ring, 2);
      assert_empty(ring);
      ring_gone(ring);
    }
}

/*
 * 5: one mark of completion a place: erased by the next tenant, set for the next tenant by a late
 * call, or taken back under a waiter's eyes.
 */
static void test_5_late_mark(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t unfinished = 1; unfinished <= 2; ++unfinished) {
      vyre_ring *ring = ring_at(1, unfinished, first_positions[f]);
      uint64_t tickets[4];
      actor a = with_items(0, 1);
      a.tickets[0] = tickets[0] = put(ring, 0);
      get(ring, 0);
      assert_false(vyre_ring_is_done(ring, tickets[0]));
      actor_stops(&a, ring, act_mark_done, VYRE__RING_COMPLETION_READ);
      assert_false(vyre_ring_is_done(ring, tickets[0]));
      vyre_ring_mark_done(ring, tickets[0]);
      for (uint32_t i = 1; i <= unfinished; ++i) {
        assert_true(vyre_ring_is_done(ring, tickets[0]));
        tickets[i] = put(ring, i);
        assert_true(vyre_ring_is_done(ring, tickets[0]));
        get(ring, i);
      }
      /* The late mark finds the next tenant of its completion place. */
      actor_goes_on(&a);
      for (uint32_t i = 1; i <= unfinished; ++i) {
        assert_true(vyre_ring_is_done(ring, tickets[0]));
        assert_false(vyre_ring_is_done(ring, tickets[i]));
        vyre_ring_mark_done(ring, tickets[0]);
        assert_false(vyre_ring_is_done(ring, tickets[i]));
      }
      for (uint32_t i = 1; i <= unfinished; ++i)
        vyre_ring_mark_done(ring, tickets[i]);
      for (uint32_t i = 0; i <= unfinished; ++i)
        assert_true(vyre_ring_is_done(ring, tickets[i]));
      ring_gone(ring);
    }
}

/* The same for the bits of a packed cell: late, and among other finishers. */
static void test_5_late_bit(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t which = 0; which < 3; ++which) {
      vyre_ring *ring = ring_at(1, 1, first_positions[f]);
      uint64_t first = put_batch(ring, 0, 3);
      actor a = with_items(0, 1);
      for (uint32_t i = 0; i < 3; ++i)
        get(ring, i);
      a.tickets[0] = first + which;
      actor_stops(&a, ring, act_mark_done, VYRE__RING_COMPLETION_READ);
      /* Another bit of the word changes: the stopped one must neither lose it nor be lost. */
      vyre_ring_mark_done(ring, first + (which + 1) % 3);
      assert_true(vyre_ring_is_done(ring, first + (which + 1) % 3));
      assert_false(vyre_ring_is_done(ring, first + which));
      actor_goes_on(&a);
      for (uint32_t i = 0; i < 3; ++i)
        assert_int_equal(vyre_ring_is_done(ring, first + i), i != (which + 2) % 3);
      assert_full(ring);
      /* And a late one, whose bit is the next batch's. */
      actor_stops(&a, ring, act_mark_done, VYRE__RING_COMPLETION_READ);
      vyre_ring_mark_done(ring, first + (which + 2) % 3);
      put_batch(ring, 10, 3);
      for (uint32_t i = 0; i < 3; ++i)
        get(ring, 10 + i);
      actor_goes_on(&a);
      for (uint32_t i = 0; i < 3; ++i) {
        assert_true(vyre_ring_is_done(ring, first + i));
        assert_false(vyre_ring_is_done(ring, ticket_in(first_positions[f], 1, i)));
      }
      ring_gone(ring);
    }
}

/* A ticket that nobody has yet is not done, and cannot be marked, wherever its producer stands. */
static void test_5_early_mark(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_HEAD_READ, VYRE__RING_PLACES_JUDGED,
                                            VYRE__RING_PLACES_TAKEN, VYRE__RING_ITEMS_WRITTEN};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t n = 1; n <= 9; ++n)
      for (int p = 0; p < 4; ++p) {
        vyre_ring *ring = ring_at(2, 2, first_positions[f]);
        actor a = with_items(0, n);
        uint32_t got = 0;
        actor_stops(&a, ring, n == 1 ? act_enqueue : act_enqueue_many, points[p]);
        for (uint32_t i = 0; i < n; ++i) {
          const uint64_t ticket = ticket_in(first_positions[f], i / 7, i % 7);
          vyre_ring_mark_done(ring, ticket);
          assert_false(vyre_ring_is_done(ring, ticket));
        }
        actor_goes_on(&a);
        assert_int_equal(a.status, VYRE_OK);
        assert_int_equal(vyre_ring_claim_many(ring, a.items, a.tickets, n, &got), VYRE_OK);
        assert_int_equal(got, n);
        for (uint32_t i = 0; i < n; ++i)
          assert_false(vyre_ring_is_done(ring, a.tickets[i]));
        vyre_ring_mark_done_many(ring, a.tickets, n);
        for (uint32_t i = 0; i < n; ++i)
          assert_true(vyre_ring_is_done(ring, a.tickets[i]));
        ring_gone(ring);
      }
}

/* 6: FULL on an empty ring, judged from a head that was read before the others moved on. */
static void test_6_stale_head(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_HEAD_READ, VYRE__RING_PLACES_JUDGED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t unfinished = 0; unfinished <= 2; ++unfinished)
      for (uint32_t moves = 1; moves <= 9; ++moves)
        for (int p = 0; p < 2; ++p) {
          vyre_ring *ring = ring_at(2, unfinished == 1 ? 4 : unfinished, first_positions[f]);
          actor a = with_items(50, 1);
          actor_stops(&a, ring, act_enqueue, points[p]);
          for (uint32_t i = 0; i < moves; ++i) {
            put(ring, i);
            vyre_ring_mark_done(ring, get(ring, i));
          }
          actor_goes_on(&a);
          assert_int_equal(a.status, VYRE_OK);
          assert_true(a.tickets[0] == ticket_at(first_positions[f], moves));
          get(ring, 50);
          assert_empty(ring);
          ring_gone(ring);
        }
}

/* FULL was right when it was judged, but the head has moved: it is judged again. */
static void test_6_full_again(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t room = 0; room < 2; ++room) {
      vyre_ring *ring = ring_at(2, 0, first_positions[f]);
      actor a = with_items(50, 1);
      put(ring, 0);
      put(ring, 1);
      actor_stops(&a, ring, act_enqueue, VYRE__RING_PLACES_JUDGED);
      get(ring, 0);
      put(ring, 2);
      if (room)
        get(ring, 1);
      actor_goes_on(&a);
      assert_int_equal(a.status, room ? VYRE_OK : VYRE_ERROR_QUEUE_FULL);
      if (!room)
        get(ring, 1);
      get(ring, 2);
      if (room)
        get(ring, 50);
      assert_empty(ring);
      ring_gone(ring);
    }
}

/* Places that were seen free and were taken since are not taken again: also a part of them. */
static void test_6_batch_and_a_stale_look(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t taken = 1; taken <= 4; ++taken) {
      vyre_ring *ring = ring_at(4, 0, first_positions[f]);
      actor a = with_items(50, 28);
      actor_stops(&a, ring, act_enqueue_many, VYRE__RING_PLACES_JUDGED);
      for (uint32_t i = 0; i < taken; ++i)
        put(ring, i);
      actor_goes_on(&a);
      assert_int_equal(a.status, taken < 4 ? VYRE_OK : VYRE_ERROR_QUEUE_FULL);
      for (uint32_t i = 0; i < taken; ++i)
        get(ring, i);
      for (uint32_t i = 0; taken < 4 && i < (4 - taken) * 7; ++i)
        assert_true(get(ring, 50 + i) == a.tickets[i]);
      assert_empty(ring);
      ring_gone(ring);
    }
}

/* 7: how many are in flight, counted from a tail that the head has left far behind. */
static void test_7_in_flight(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t moves = 0; moves <= 9; ++moves)
      for (uint32_t left = 0; left <= 2; ++left) {
        vyre_ring *ring = ring_at(2, 0, first_positions[f]);
        actor a = with_items(0, 0);
        actor_stops(&a, ring, act_in_flight, VYRE__RING_TAIL_SEEN);
        for (uint32_t i = 0; i < moves; ++i) {
          put(ring, i);
          get(ring, i);
        }
        for (uint32_t i = 0; i < left; ++i)
          put(ring, i);
        actor_goes_on(&a);
        assert_true(a.value <= 2 && a.value >= left);
        assert_int_equal(vyre_ring_in_flight(ring), left);
        ring_gone(ring);
      }
}

/* 8: EMPTY from a ring that never was, because others were faster. */
static void test_8_never_empty(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_TAIL_READ, VYRE__RING_ITEMS_JUDGED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t moves = 1; moves <= 9; ++moves)
      for (int p = 0; p < 2; ++p) {
        vyre_ring *ring = ring_at(4, 0, first_positions[f]);
        actor a = with_items(0, 0);
        put(ring, 0);
        actor_stops(&a, ring, act_claim, points[p]);
        for (uint32_t i = 0; i < moves; ++i) {
          put(ring, i + 1);
          get(ring, i);
        }
        actor_goes_on(&a);
        assert_int_equal(a.status, VYRE_OK);
        assert_item(&a.items[0], moves);
        assert_empty(ring);
        ring_gone(ring);
      }
}

/* EMPTY was right when it was judged, but the tail has moved: it is judged again. */
static void test_8_empty_again(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t more = 0; more < 2; ++more) {
      vyre_ring *ring = ring_at(2, 0, first_positions[f]);
      actor a = with_items(0, 0);
      actor_stops(&a, ring, act_claim, VYRE__RING_ITEMS_JUDGED);
      put(ring, 0);
      if (more)
        put(ring, 1);
      get(ring, 0);
      actor_goes_on(&a);
      assert_int_equal(a.status, more ? VYRE_OK : VYRE_ERROR_EMPTY);
      if (more)
        assert_item(&a.items[0], 1);
      assert_empty(ring);
      ring_gone(ring);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_1_lapped_before_the_copy),
      cmocka_unit_test(test_2_lapped_after_the_look),
      cmocka_unit_test(test_3_lapped_within_the_copy),
      cmocka_unit_test(test_4_producer_is_lapped),
      cmocka_unit_test(test_5_late_mark),
      cmocka_unit_test(test_5_late_bit),
      cmocka_unit_test(test_5_early_mark),
      cmocka_unit_test(test_6_stale_head),
      cmocka_unit_test(test_6_full_again),
      cmocka_unit_test(test_6_batch_and_a_stale_look),
      cmocka_unit_test(test_7_in_flight),
      cmocka_unit_test(test_8_never_empty),
      cmocka_unit_test(test_8_empty_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
