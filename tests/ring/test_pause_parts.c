/*
 * A cell of several items that is taken in parts, and calls that take several cells: threads stop
 * between taking, copying and releasing, in every order.  The place is free when the last copy is
 * made, not before, and not never.
 */
#include "tests/ring/pause_help.h"

/* Two claimers of a cell of two items; the first or the second goes on first. */
static void test_two_claimers(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_ITEMS_TAKEN, VYRE__RING_ITEMS_COPIED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t round = 0; round < 8; ++round) {
      vyre_ring *ring = ring_at(1, 0, first_positions[f]);
      actor actors[2] = {with_items(0, 0), with_items(0, 0)};
      const uint32_t faster = round & 1;
      put_batch(ring, 0, 2);
      actor_stops(&actors[0], ring, act_claim, points[round >> 1 & 1]);
      assert_full(ring);
      actor_stops(&actors[1], ring, act_claim, points[round >> 2 & 1]);
      assert_full(ring);
      assert_empty(ring);
      actor_goes_on(&actors[faster]);
      assert_full(ring);
      actor_goes_on(&actors[!faster]);
      for (uint32_t i = 0; i < 2; ++i) {
        assert_int_equal(actors[i].status, VYRE_OK);
        assert_item(&actors[i].items[0], i);
        assert_true(actors[i].tickets[0] == ticket_in(first_positions[f], 0, i));
      }
      put(ring, 7);
      assert_full(ring);
      get(ring, 7);
      ring_gone(ring);
    }
}

/* Three parts of 2, 3 and 2 items, or 1, 1 and 5, and so on, in all six orders. */
static void three_parts(uint64_t first, const uint32_t parts[3], const uint32_t order[3])
{
  vyre_ring *ring = ring_at(2, 0, first);
  actor actors[3];
  uint32_t number = 0;
  put_batch(ring, 0, 7);
  for (uint32_t i = 0; i < 3; ++i) {
    actors[i] = with_items(0, 0);
    actors[i].n = parts[i];
    actor_stops(&actors[i], ring, parts[i] == 1 ? act_claim : act_claim_many,
                i == order[0] ? VYRE__RING_ITEMS_COPIED : VYRE__RING_ITEMS_TAKEN);
  }
  /* The other place is somebody else's, and comes and goes. */
  put(ring, 50);
  get(ring, 50);
  for (uint32_t i = 0; i < 3; ++i) {
    assert_full(ring);
    actor_goes_on(&actors[order[i]]);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    assert_int_equal(actors[i].status, VYRE_OK);
    assert_int_equal(actors[i].n, parts[i]);
    for (uint32_t k = 0; k < parts[i]; ++k, ++number) {
      assert_item(&actors[i].items[k], number);
      assert_true(actors[i].tickets[k] == ticket_in(first, 0, number));
    }
  }
  put_batch(ring, 60, 14);
  assert_full(ring);
  for (uint32_t i = 0; i < 14; ++i)
    get(ring, 60 + i);
  assert_empty(ring);
  ring_gone(ring);
}

static void test_three_claimers(void **state)
{
  static const uint32_t parts[][3] = {{2, 3, 2}, {1, 1, 5}, {5, 1, 1}, {1, 5, 1}, {3, 3, 1}};
  static const uint32_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (size_t p = 0; p < sizeof parts / sizeof *parts; ++p)
      for (size_t o = 0; o < sizeof orders / sizeof *orders; ++o)
        three_parts(first_positions[f], parts[p], orders[o]);
}

/* A claimer that has looked at a part of a cell; the rest is taken, the place gets new tenants. */
static void test_part_is_lapped(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_TAIL_READ, VYRE__RING_ITEMS_JUDGED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (int p = 0; p < 2; ++p)
      for (uint32_t wanted = 1; wanted <= 7; wanted += 3) {
        vyre_ring *ring = ring_at(1, 0, first_positions[f]);
        actor a = with_items(0, 0);
        put_batch(ring, 0, 7);
        get(ring, 0);
        get(ring, 1);
        a.n = wanted;
        actor_stops(&a, ring, act_claim_many, points[p]);
        for (uint32_t i = 2; i < 7; ++i)
          get(ring, i);
        /* The new tenant has fewer items than the index that the stopped one has seen. */
        put_batch(ring, 10, 2);
        get(ring, 10);
        actor_goes_on(&a);
        assert_int_equal(a.status, VYRE_OK);
        assert_int_equal(a.n, 1);
        assert_item(&a.items[0], 11);
        assert_true(a.tickets[0] == ticket_in(first_positions[f], 1, 1));
        put(ring, 20);
        get(ring, 20);
        ring_gone(ring);
      }
}

/* A claim of several cells holds each until it is copied, and gives them back one by one. */
static void test_claim_of_several_cells(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t passes = 0; passes < 4; ++passes) {
      vyre_ring *ring = ring_at(4, 0, first_positions[f]);
      actor a = with_items(0, 0), other = with_items(0, 0);
      put_batch(ring, 0, 26);
      get(ring, 0);
      /* The rest of the first cell, two whole ones, three of the last one's five. */
      a.n = 23;
      assert_true(actor_starts(&a, ring, act_claim_many, VYRE__RING_ITEMS_COPIED, passes));
      assert_int_equal(vyre_ring_tail(ring), vyre__ring_step(first_positions[f], 3));
      for (uint32_t i = 0; i < passes; ++i)
        put(ring, 50 + i);
      assert_full(ring);
      actor_stops(&other, ring, act_claim, VYRE__RING_ITEMS_TAKEN);
      get(ring, 25);
      assert_full(ring);
      actor_goes_on(&a);
      assert_int_equal(a.n, 23);
      for (uint32_t i = 0; i < 23; ++i) {
        assert_item(&a.items[i], 1 + i);
        assert_true(a.tickets[i] == ticket_in(first_positions[f], (1 + i) / 7, (1 + i) % 7));
      }
      for (uint32_t i = passes; i < 3; ++i)
        put(ring, 50 + i);
      /* The last cell waits for the one item that is not copied yet. */
      assert_full(ring);
      actor_goes_on(&other);
      assert_item(&other.items[0], 24);
      put(ring, 53);
      for (uint32_t i = 0; i < 4; ++i)
        get(ring, 50 + i);
      assert_empty(ring);
      ring_gone(ring);
    }
}

/* A batch is published cell by cell: what is there can be had, in order, and nothing behind it. */
static void test_batch_in_the_making(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t passes = 0; passes < 3; ++passes) {
      vyre_ring *ring = ring_at(4, 4, first_positions[f]);
      actor a = with_items(0, 17);
      vyre_work_item out[32];
      uint64_t tickets[32];
      uint32_t n = 0;
      assert_true(actor_starts(&a, ring, act_enqueue_many, VYRE__RING_ITEMS_WRITTEN, passes));
      put(ring, 50);
      assert_full(ring);
      assert_int_equal(vyre_ring_claim_many(ring, out, tickets, 32, &n),
                       passes ? VYRE_OK : VYRE_ERROR_EMPTY);
      assert_int_equal(n, passes * 7);
      for (uint32_t i = 0; i < n; ++i)
        assert_item(&out[i], i);
      vyre_ring_mark_done_many(ring, tickets, n);
      for (uint32_t i = 0; i < 17; ++i)
        assert_int_equal(vyre_ring_is_done(ring, ticket_in(first_positions[f], i / 7, i % 7)),
                         i < n);
      assert_empty(ring);
      if (passes)
        put(ring, 51); /* a lap on, while the batch is not whole */
      assert_empty(ring);
      actor_goes_on(&a);
      assert_int_equal(a.n, 17);
      for (uint32_t i = passes * 7; i < 17; ++i)
        get(ring, i);
      get(ring, 50);
      if (passes)
        get(ring, 51);
      assert_empty(ring);
      ring_gone(ring);
    }
}

/* The phase is that of the head at the moment at which the places were taken. */
static void test_flip_on_the_way(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_HEAD_READ, VYRE__RING_PLACES_JUDGED,
                                            VYRE__RING_PLACES_TAKEN, VYRE__RING_ITEMS_WRITTEN};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t p = 0; p < 4; ++p) {
      vyre_ring *ring = ring_at(2, 0, first_positions[f]);
      const uint64_t first = first_positions[f];
      actor a = with_items(0, 9);
      actor_stops(&a, ring, act_enqueue_many, points[p]);
      assert_true(vyre__ring_flip_phase(ring) == vyre__ring_step(first, p < 2 ? 0 : 2));
      actor_goes_on(&a);
      for (uint32_t i = 0; i < 2; ++i) {
        const uint64_t position = vyre__ring_step(first, i);
        assert_true(ring->cells[position & 1].published ==
                    (vyre__ring_word(vyre__ring_stamp(position)) |
                     (p < 2 ? VYRE_RING_CELL_PHASE : 0) | (i ? 2 : 7)));
      }
      for (uint32_t i = 0; i < 9; ++i)
        get(ring, i);
      ring_gone(ring);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_claimers),        cmocka_unit_test(test_three_claimers),
      cmocka_unit_test(test_part_is_lapped),      cmocka_unit_test(test_claim_of_several_cells),
      cmocka_unit_test(test_batch_in_the_making), cmocka_unit_test(test_flip_on_the_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
