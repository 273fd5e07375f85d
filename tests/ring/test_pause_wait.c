/*
 * Sleepers and wakers that stop between any two steps of theirs, and a ring that is closed while
 * somebody stands at any point.  A lost wake-up would show as a call that ends by its time limit.
 */
#include "tests/ring/pause_help.h"

/* What the calls that wait are waiting for, and what ends it. */
typedef enum sleep_kind { FOR_AN_ITEM, FOR_A_PLACE, FOR_A_MARK_TO_PLACE, FOR_A_MARK } sleep_kind;

typedef struct sleeping {
  const char *name;
  void (*sleep)(actor *a);
  void (*wake)(actor *a);
  vyre__ring_point wakes_after; /* the condition is changed, nobody is woken yet */
} sleeping;

static const sleeping kinds[] = {
    [FOR_AN_ITEM] = {"item", act_claim_wait, act_enqueue, VYRE__RING_ITEMS_PUBLISHED},
    [FOR_A_PLACE] = {"place", act_enqueue_wait, act_claim, VYRE__RING_ITEMS_RELEASED},
    [FOR_A_MARK_TO_PLACE] = {"place by mark", act_enqueue_wait, act_mark_done,
                             VYRE__RING_COMPLETION_MARKED},
    [FOR_A_MARK] = {"mark", act_wait, act_mark_done, VYRE__RING_COMPLETION_MARKED},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* A ring of one place in which the sleeper has to wait; the waker has what it needs. */
static vyre_ring *ring_for(sleep_kind kind, uint64_t first, actor *sleeper, actor *waker)
{
  vyre_ring *ring = ring_at(1, 1, first);
  *sleeper = with_items(1, 1);
  *waker = with_items(0, 1);
  if (kind != FOR_AN_ITEM)
    waker->tickets[0] = sleeper->tickets[0] = put(ring, 0);
  if (kind == FOR_A_MARK_TO_PLACE || kind == FOR_A_MARK)
    get(ring, 0);
  if (kind == FOR_A_PLACE) {
    /* The mark first, so that the claim is what frees the place. */
    vyre_ring_mark_done(ring, waker->tickets[0]);
  }
  return ring;
}

static void assert_slept_well(sleep_kind kind, const actor *sleeper, vyre_ring *ring)
{
  assert_int_equal(sleeper->status, VYRE_OK);
  if (kind == FOR_AN_ITEM)
    assert_item(&sleeper->items[0], 0);
  else if (kind != FOR_A_MARK)
    get(ring, 1);
  assert_int_equal(ring->header->not_empty.waiters, 0);
  assert_int_equal(ring->header->not_full.waiters, 0);
  assert_int_equal(ring->header->completed.waiters, 0);
}

/* The whole waker passes while the sleeper stands between counting itself in, looking, sleeping. */
static void test_waker_passes_a_sleeper(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_SLEEPER_COUNTED, VYRE__RING_SLEEPER_LOOKED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t kind = 0; kind < KINDS; ++kind)
      for (int p = 0; p < 2; ++p) {
        actor sleeper, waker;
        vyre_ring *ring = ring_for(kind, first_positions[f], &sleeper, &waker);
        waker.ring = ring;
        actor_stops(&sleeper, ring, kinds[kind].sleep, points[p]);
        kinds[kind].wake(&waker);
        actor_goes_on(&sleeper);
        assert_slept_well(kind, &sleeper, ring);
        ring_gone(ring);
      }
}

/* The waker stands between its change and its look for sleepers; the sleeper comes and goes. */
static void test_sleeper_passes_a_waker(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t kind = 0; kind < KINDS; ++kind) {
      actor sleeper, waker;
      vyre_ring *ring = ring_for(kind, first_positions[f], &sleeper, &waker);
      actor_stops(&waker, ring, kinds[kind].wake, kinds[kind].wakes_after);
      sleeper.ring = ring;
      kinds[kind].sleep(&sleeper);
      actor_goes_on(&waker);
      assert_slept_well(kind, &sleeper, ring);
      ring_gone(ring);
    }
}

/* The sleeper was counted in and has looked in vain; then the waker changes, and is stopped too. */
static void test_both_stop(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_SLEEPER_COUNTED, VYRE__RING_SLEEPER_LOOKED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t kind = 0; kind < KINDS; ++kind)
      for (uint32_t round = 0; round < 4; ++round) {
        actor sleeper, waker;
        vyre_ring *ring = ring_for(kind, first_positions[f], &sleeper, &waker);
        actor_stops(&sleeper, ring, kinds[kind].sleep, points[round & 1]);
        actor_stops(&waker, ring, kinds[kind].wake, kinds[kind].wakes_after);
        if (round & 2) {
          actor_let_go(&sleeper); /* asleep, or soon */
          actor_goes_on(&waker);
          actor_ends(&sleeper);
        } else {
          actor_goes_on(&waker);
          actor_goes_on(&sleeper);
        }
        assert_slept_well(kind, &sleeper, ring);
        ring_gone(ring);
      }
}

/*
 * The item comes when the sleeper has looked in vain for any of its times but the one after it has
 * counted itself in: nobody wakes it, so that last look has to find it.
 */
static void test_item_comes_before_the_last_look(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    uint32_t looks = 0;
    for (uint32_t passes = 0; passes <= looks; ++passes) {
      vyre_ring *ring = ring_at(1, 0, first_positions[f]);
      actor sleeper = with_items(0, 0);
      if (!passes) {
        actor_stops(&sleeper, ring, act_claim_wait, VYRE__RING_SLEEPER_COUNTED);
        looks = sleeper.seen[VYRE__RING_ITEMS_JUDGED];
      } else {
        assert_true(
            actor_starts(&sleeper, ring, act_claim_wait, VYRE__RING_ITEMS_JUDGED, passes - 1));
      }
      put(ring, 0);
      assert_int_equal(ring->header->not_empty.epoch, passes ? 0 : 1);
      actor_goes_on(&sleeper);
      assert_int_equal(sleeper.status, VYRE_OK);
      assert_item(&sleeper.items[0], 0);
      ring_gone(ring);
    }
    assert_true(looks > 0);
  }
}

/* A wake-up that is for another sleeper: who was counted in by then looks again, and sleeps on. */
static void test_two_sleepers_one_item(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (int which = 0; which < 2; ++which) {
      vyre_ring *ring = ring_at(2, 0, first_positions[f]);
      actor sleepers[2] = {with_items(0, 0), with_items(0, 0)};
      actor_stops(&sleepers[0], ring, act_claim_wait, VYRE__RING_SLEEPER_LOOKED);
      actor_stops(&sleepers[1], ring, act_claim_wait, VYRE__RING_SLEEPER_LOOKED);
      put(ring, 0);
      actor_goes_on(&sleepers[which]);
      assert_int_equal(sleepers[which].status, VYRE_OK);
      assert_item(&sleepers[which].items[0], 0);
      actor_goes_to(&sleepers[!which], VYRE__RING_SLEEPER_LOOKED);
      put(ring, 1);
      actor_goes_on(&sleepers[!which]);
      assert_item(&sleepers[!which].items[0], 1);
      ring_gone(ring);
    }
}

/* A tombstone frees its place when it is passed over: who waits for the place must be told. */
static void test_tombstone_wakes(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(1, 0, first_positions[f]);
    actor sleeper = with_items(1, 1);
    vyre__ring_span span;
    uint64_t *published;
    assert_int_equal(vyre__ring_reserve(ring, 1, &span), VYRE_OK);
    published = &ring->cells[span.position & ring->capacity_mask].published;
    actor_stops(&sleeper, ring, act_enqueue_wait, VYRE__RING_SLEEPER_LOOKED);
    __atomic_store_n(published, vyre__ring_word(vyre__ring_stamp(span.position)), __ATOMIC_RELEASE);
    assert_empty(ring);
    assert_int_equal(ring->header->not_full.epoch, 1);
    actor_goes_on(&sleeper);
    assert_int_equal(sleeper.status, VYRE_OK);
    get(ring, 1);
    ring_gone(ring);
  }
}

/* ---- close ---- */

/* A producer stands somewhere while the ring is closed: accepted and delivered, or CLOSED. */
static void test_close_and_a_producer(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_HEAD_READ, VYRE__RING_PLACES_JUDGED,
                                            VYRE__RING_PLACES_TAKEN, VYRE__RING_ITEMS_WRITTEN,
                                            VYRE__RING_ITEMS_PUBLISHED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t p = 0; p < 5; ++p)
      for (uint32_t n = 1; n <= 15; n += 7) {
        vyre_ring *ring = ring_at(4, 0, first_positions[f]);
        actor a = with_items(1, n);
        vyre_work_item item = item_of(8, 8);
        put(ring, 0);
        actor_stops(&a, ring, n == 1 ? act_enqueue : act_enqueue_many, points[p]);
        vyre_ring_close(ring);
        assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_CLOSED);
        get(ring, 0);
        if (p == 2 || p == 3) {
          /* Accepted, and not there yet: not CLOSED. */
          assert_empty(ring);
          assert_empty(ring);
        }
        actor_goes_on(&a);
        assert_int_equal(a.status, p < 2 ? VYRE_ERROR_CLOSED : VYRE_OK);
        for (uint32_t i = 0; p >= 2 && i < n; ++i)
          get(ring, 1 + i);
        assert_closed(ring);
        ring_gone(ring);
      }
}

/* The same for a consumer, of a ring with an item and of one without. */
static void test_close_and_a_consumer(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_TAIL_READ, VYRE__RING_ITEMS_JUDGED,
                                            VYRE__RING_ITEMS_TAKEN, VYRE__RING_ITEMS_COPIED,
                                            VYRE__RING_ITEMS_RELEASED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t items = 0; items < 3; ++items)
      for (uint32_t p = 0; p < (items ? 5 : 2); ++p) {
        vyre_ring *ring = ring_at(4, 0, first_positions[f]);
        actor a = with_items(0, 0);
        if (items)
          put_batch(ring, 0, items);
        actor_stops(&a, ring, act_claim, points[p]);
        vyre_ring_close(ring);
        actor_goes_on(&a);
        assert_int_equal(a.status, items ? VYRE_OK : VYRE_ERROR_CLOSED);
        if (items)
          assert_item(&a.items[0], 0);
        if (items == 2)
          get(ring, 1);
        assert_closed(ring);
        ring_gone(ring);
      }
}

/* The closer itself stops half-way: producers are refused, consumers still get what is there. */
static void test_half_closed(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(4, 4, first_positions[f]);
    actor closer = with_items(0, 0), other = with_items(0, 0);
    vyre_work_item item = item_of(8, 8);
    vyre_status status;
    put(ring, 0);
    actor_stops(&closer, ring, act_close, VYRE__RING_CLOSED_MARKED);
    assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_CLOSED);
    get(ring, 0);
    status = vyre_ring_claim(ring, &item, NULL);
    assert_true(status == VYRE_ERROR_EMPTY || status == VYRE_ERROR_CLOSED);
    /* One that did it all, or another closer: nobody needs the stopped one. */
    other.ring = ring;
    act_close(&other);
    assert_closed(ring);
    actor_goes_on(&closer);
    assert_closed(ring);
    ring_gone(ring);
  }
}

/* Every kind of sleeper hears of the close, wherever it and the closer stand. */
static void test_close_wakes_all(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_SLEEPER_COUNTED, VYRE__RING_SLEEPER_LOOKED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t round = 0; round < 12; ++round) {
      static void (*const sleeps[])(actor * a) = {act_claim_wait, act_enqueue_wait, act_wait};
      const uint32_t kind = round % 3;
      vyre_ring *ring = ring_at(1, 1, first_positions[f]);
      actor sleeper = with_items(1, 1), closer = with_items(0, 0);
      uint64_t ticket = ticket_at(first_positions[f], 0);
      if (kind == 1)
        ticket = put(ring, 0);
      if (kind == 2)
        sleeper.tickets[0] = ticket; /* one that will never be issued */
      actor_stops(&sleeper, ring, sleeps[kind], points[round / 3 % 2]);
      if (round < 6) {
        vyre_ring_close(ring);
        actor_goes_on(&sleeper);
      } else {
        actor_stops(&closer, ring, act_close, VYRE__RING_CLOSED_MARKED);
        actor_let_go(&sleeper);
        actor_goes_on(&closer);
        actor_ends(&sleeper);
      }
      assert_int_equal(sleeper.status, VYRE_ERROR_CLOSED);
      assert_int_equal(ring->header->not_empty.waiters, 0);
      assert_int_equal(ring->header->not_full.waiters, 0);
      assert_int_equal(ring->header->completed.waiters, 0);
      ring_gone(ring);
    }
}

/* A finisher stands anywhere while the ring is closed: its mark counts all the same. */
static void test_close_and_a_finisher(void **state)
{
  static const vyre__ring_point points[] = {VYRE__RING_COMPLETION_READ,
                                            VYRE__RING_COMPLETION_MARKED};
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (int p = 0; p < 2; ++p) {
      vyre_ring *ring = ring_at(1, 1, first_positions[f]);
      actor a = with_items(0, 1);
      a.tickets[0] = put(ring, 0);
      get(ring, 0);
      actor_stops(&a, ring, act_mark_done, points[p]);
      vyre_ring_close(ring);
      assert_int_equal(vyre_ring_wait(ring, a.tickets[0], 0), p ? VYRE_OK : VYRE_ERROR_TIMEOUT);
      actor_goes_on(&a);
      assert_int_equal(vyre_ring_wait(ring, a.tickets[0], 0), VYRE_OK);
      ring_gone(ring);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_waker_passes_a_sleeper),
      cmocka_unit_test(test_sleeper_passes_a_waker),
      cmocka_unit_test(test_both_stop),
      cmocka_unit_test(test_item_comes_before_the_last_look),
      cmocka_unit_test(test_two_sleepers_one_item),
      cmocka_unit_test(test_tombstone_wakes),
      cmocka_unit_test(test_close_and_a_producer),
      cmocka_unit_test(test_close_and_a_consumer),
      cmocka_unit_test(test_half_closed),
      cmocka_unit_test(test_close_wakes_all),
      cmocka_unit_test(test_close_and_a_finisher),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
