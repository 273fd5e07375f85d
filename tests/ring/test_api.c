/* The ring's public calls one by one: results, NULL arguments, untouched outputs, capacity 1. */
#include "tests/ring/ring_help.h"

static vyre_ring *created(uint32_t capacity, vyre_completion_mode completion)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  vyre_ring *ring = NULL;
  options.capacity = capacity;
  options.completion = completion;
  assert_int_equal(vyre_ring_create(&options, &ring, NULL), VYRE_OK);
  assert_int_equal((uintptr_t)ring->header % VYRE_RING_LINE, 0);
  return ring;
}

static void test_enqueue_and_claim(void **state)
{
  vyre_ring *ring = created(4, VYRE_COMPLETION_NONE);
  vyre_work_item out;
  uint64_t ticket = 99;
  (void)state;
  assert_int_equal(vyre_ring_capacity(ring), 4);
  assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_ERROR_EMPTY);
  for (uint32_t i = 0; i < 4; ++i) {
    vyre_work_item item = item_of(0, i);
    assert_int_equal(vyre_ring_in_flight(ring), i);
    assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_OK);
    assert_int_equal(ticket, ticket_at(0, i));
    assert_int_equal(vyre_ring_head(ring), i + 1);
  }
  out = item_of(0, 4);
  ticket = 99;
  assert_int_equal(vyre_ring_enqueue(ring, &out, &ticket), VYRE_ERROR_QUEUE_FULL);
  assert_int_equal(ticket, 99);
  for (uint32_t i = 0; i < 4; ++i) {
    vyre_work_item item = item_of(0, i);
    assert_int_equal(vyre_ring_tail(ring), i);
    assert_int_equal(vyre_ring_claim(ring, &out, i % 2 ? NULL : &ticket), VYRE_OK);
    assert_memory_equal(&out, &item, sizeof item);
    assert_int_equal(ticket, ticket_at(0, i & ~1u));
    assert_int_equal(vyre_ring_in_flight(ring), 3 - i);
  }
  assert_int_equal(vyre_ring_tail(ring), 4);
  assert_int_equal(vyre_ring_enqueue(ring, &out, NULL), VYRE_OK);
  vyre_ring_destroy(ring);
}

static void test_null_arguments(void **state)
{
  vyre_ring *ring = created(2, VYRE_COMPLETION_BY_TICKET);
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  vyre_work_item item = item_of(0, 0);
  uint64_t ticket, size;
  uint32_t n;
  vyre_ring *out = NULL;
  (void)state;
  options.capacity = 2;
#define REFUSED(call) assert_int_equal(call, VYRE_ERROR_INVALID_ARGUMENT)
  REFUSED(vyre_ring_create(NULL, &out, NULL));
  REFUSED(vyre_ring_create(&options, NULL, NULL));
  REFUSED(vyre_ring_create_rounded(2, NULL, NULL));
  REFUSED(vyre_ring_region_size(NULL, &size, NULL));
  REFUSED(vyre_ring_region_size(&options, NULL, NULL));
  REFUSED(vyre_ring_init(NULL, 1 << 20, &options, &out, NULL));
  REFUSED(vyre_ring_init(ring->header, 1 << 20, NULL, &out, NULL));
  REFUSED(vyre_ring_init(ring->header, 1 << 20, &options, NULL, NULL));
  REFUSED(vyre_ring_attach(NULL, 1 << 20, &out, NULL));
  REFUSED(vyre_ring_attach(ring->header, 1 << 20, NULL, NULL));
  REFUSED(vyre_ring_enqueue(NULL, &item, &ticket));
  REFUSED(vyre_ring_enqueue(ring, NULL, &ticket));
  REFUSED(vyre_ring_enqueue_many(NULL, &item, 1, &ticket, &n));
  REFUSED(vyre_ring_enqueue_many(ring, NULL, 1, &ticket, &n));
  REFUSED(vyre_ring_enqueue_wait(NULL, &item, 0, &ticket));
  REFUSED(vyre_ring_enqueue_wait(ring, NULL, 0, &ticket));
  REFUSED(vyre_ring_claim(NULL, &item, &ticket));
  REFUSED(vyre_ring_claim(ring, NULL, &ticket));
  REFUSED(vyre_ring_claim_many(NULL, &item, &ticket, 1, &n));
  REFUSED(vyre_ring_claim_many(ring, NULL, &ticket, 1, &n));
  REFUSED(vyre_ring_claim_wait(NULL, 0, &item, &ticket));
  REFUSED(vyre_ring_claim_wait(ring, 0, NULL, &ticket));
  REFUSED(vyre_ring_wait(NULL, 0, 0));
#undef REFUSED
  assert_null(out);
  vyre_ring_mark_done(NULL, 0);
  vyre_ring_mark_done_many(NULL, &ticket, 1);
  vyre_ring_mark_done_many(ring, NULL, 0);
  vyre_ring_mark_done_many(ring, NULL, 3);
  vyre_ring_close(NULL);
  vyre_ring_destroy(NULL);
  assert_false(vyre_ring_is_done(NULL, 0));
  assert_int_equal(vyre_ring_in_flight(NULL), 0);
  assert_int_equal(vyre_ring_head(NULL), 0);
  assert_int_equal(vyre_ring_tail(NULL), 0);
  assert_int_equal(vyre_ring_capacity(NULL), 0);
  /* None of them did anything. */
  assert_int_equal(vyre_ring_head(ring), 0);
  assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_ERROR_EMPTY);
  vyre_ring_destroy(ring);
}

/* A batch packs seven items in each of its places but the last. */
static void test_batches(void **state)
{
  vyre_ring *ring = created(4, VYRE_COMPLETION_NONE);
  vyre_work_item items[40], out[40];
  uint64_t tickets[40];
  uint32_t n = 77;
  (void)state;
  for (uint32_t i = 0; i < 40; ++i)
    items[i] = item_of(1, i);
  memset(tickets, 0x5a, sizeof tickets);
  assert_int_equal(vyre_ring_enqueue_many(ring, items, 0, tickets, &n), VYRE_OK);
  assert_int_equal(n, 0);
  assert_int_equal(vyre_ring_enqueue_many(ring, NULL, 0, NULL, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_claim_many(ring, NULL, NULL, 0, &n), VYRE_OK);
  /* Nine items: two places. */
  assert_int_equal(vyre_ring_enqueue_many(ring, items, 9, tickets, &n), VYRE_OK);
  assert_int_equal(n, 9);
  assert_int_equal(vyre_ring_head(ring), 2);
  assert_int_equal(vyre_ring_in_flight(ring), 2);
  /* Only fourteen of the rest fit. */
  assert_int_equal(vyre_ring_enqueue_many(ring, items + 9, 31, tickets + 9, &n), VYRE_OK);
  assert_int_equal(n, 14);
  for (uint32_t i = 0; i < 9; ++i)
    assert_int_equal(tickets[i], ticket_in(0, i / 7, i % 7));
  for (uint32_t i = 0; i < 14; ++i)
    assert_int_equal(tickets[9 + i], ticket_in(0, 2 + i / 7, i % 7));
  assert_true(tickets[23] == 0x5a5a5a5a5a5a5a5aull);
  n = 77;
  assert_int_equal(vyre_ring_enqueue_many(ring, items, 1, tickets, &n), VYRE_ERROR_QUEUE_FULL);
  assert_int_equal(n, 77);
  assert_int_equal(tickets[0], 0);
  assert_int_equal(vyre_ring_in_flight(ring), 4);

  memset(out, 0, sizeof out);
  /* A part of a cell; the rest of it, a whole one and a part of the third; and what is left. */
  assert_int_equal(vyre_ring_claim_many(ring, out, tickets, 3, &n), VYRE_OK);
  assert_int_equal(n, 3);
  assert_int_equal(vyre_ring_tail(ring), 0);
  assert_int_equal(vyre_ring_enqueue(ring, items, NULL), VYRE_ERROR_QUEUE_FULL);
  assert_int_equal(vyre_ring_claim_many(ring, out + 3, tickets + 3, 7, &n), VYRE_OK);
  assert_int_equal(n, 7);
  assert_int_equal(vyre_ring_tail(ring), 2);
  assert_int_equal(vyre_ring_in_flight(ring), 2);
  assert_int_equal(vyre_ring_claim_many(ring, out + 10, tickets + 10, 30, &n), VYRE_OK);
  assert_int_equal(n, 13);
  assert_memory_equal(out, items, 23 * sizeof *items);
  assert_int_equal(tickets[9], ticket_in(0, 2, 0));
  assert_int_equal(tickets[22], ticket_in(0, 3, 6));
  assert_int_equal(out[23].correlation, 0);
  assert_int_equal(vyre_ring_tail(ring), 4);
  n = 77;
  assert_int_equal(vyre_ring_claim_many(ring, out, tickets, 20, &n), VYRE_ERROR_EMPTY);
  assert_int_equal(n, 77);
  assert_memory_equal(out, items, 23 * sizeof *items);
  vyre_ring_destroy(ring);
}

/* As many as fit, also where these are very many: one call, one range of places. */
static void test_large_batches(void **state)
{
  enum { CAPACITY = 512, MOST = CAPACITY * 7 };
  vyre_work_item *items = malloc((MOST + 7) * sizeof *items);
  vyre_work_item *out = malloc((MOST + 7) * sizeof *out);
  (void)state;
  assert_true(items && out);
  for (uint32_t i = 0; i < MOST + 7; ++i)
    items[i] = item_of(2, i);
  for (size_t f = 0; f < FIRST_POSITIONS; ++f)
    for (uint32_t unfinished = 0; unfinished <= CAPACITY; unfinished += CAPACITY) {
      vyre_ring *ring = ring_at(CAPACITY, unfinished, first_positions[f]);
      uint32_t n = 0, all = 0;
      assert_int_equal(vyre_ring_enqueue_many(ring, items, MOST + 7, NULL, &n), VYRE_OK);
      assert_int_equal(n, MOST);
      assert_int_equal(vyre_ring_in_flight(ring), CAPACITY);
      while (vyre_ring_claim_many(ring, out + all, NULL, MOST + 7 - all, &n) == VYRE_OK)
        all += n;
      assert_int_equal(all, MOST);
      assert_memory_equal(out, items, MOST * sizeof *out);
      ring_gone(ring);
    }
  free(items);
  free(out);
}

static void test_close(void **state)
{
  vyre_ring *ring = created(4, VYRE_COMPLETION_NONE);
  vyre_work_item item = item_of(0, 0), out;
  uint64_t ticket = 99;
  uint32_t n = 77;
  (void)state;
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
  assert_false(vyre__ring_is_closed(ring));
  vyre_ring_close(ring);
  vyre_ring_close(ring);
  assert_true(vyre__ring_is_closed(ring));
  assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_enqueue_many(ring, &item, 1, &ticket, &n), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_enqueue_wait(ring, &item, VYRE_NO_TIMEOUT, &ticket),
                   VYRE_ERROR_CLOSED);
  assert_int_equal(ticket, 99);
  assert_int_equal(n, 77);
  assert_int_equal(vyre_ring_head(ring), 2);
  assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_OK);
  assert_int_equal(vyre_ring_claim_wait(ring, VYRE_NO_TIMEOUT, &out, &ticket), VYRE_OK);
  assert_int_equal(ticket, ticket_at(0, 1));
  assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_claim_many(ring, &out, &ticket, 1, &n), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_claim_wait(ring, VYRE_NO_TIMEOUT, &out, &ticket), VYRE_ERROR_CLOSED);
  vyre_ring_destroy(ring);
}

/* A full ring that is closed says so: CLOSED goes before QUEUE_FULL. */
static void test_close_of_a_full_ring(void **state)
{
  vyre_ring *ring = created(1, VYRE_COMPLETION_NONE);
  vyre_work_item item = item_of(0, 0);
  (void)state;
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_QUEUE_FULL);
  vyre_ring_close(ring);
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_CLOSED);
  vyre_ring_destroy(ring);
}

static void test_waiting_off(void **state)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  vyre_work_item item = item_of(0, 0);
  vyre_ring *ring = NULL;
  uint64_t ticket = 99;
  (void)state;
  options.capacity = 2;
  options.waiting = VYRE_WAITING_OFF;
  options.completion = VYRE_COMPLETION_BY_TICKET;
  assert_int_equal(vyre_ring_create(&options, &ring, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_enqueue_wait(ring, &item, 0, &ticket), VYRE_ERROR_UNSUPPORTED);
  assert_int_equal(vyre_ring_claim_wait(ring, 0, &item, &ticket), VYRE_ERROR_UNSUPPORTED);
  assert_int_equal(vyre_ring_wait(ring, 0, 0), VYRE_ERROR_UNSUPPORTED);
  assert_int_equal(ticket, 99);
  assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_OK);
  assert_int_equal(vyre_ring_claim(ring, &item, &ticket), VYRE_OK);
  vyre_ring_mark_done(ring, ticket);
  assert_true(vyre_ring_is_done(ring, ticket));
  vyre_ring_close(ring);
  vyre_ring_destroy(ring);
}

static void test_without_completion(void **state)
{
  vyre_ring *ring = created(1, VYRE_COMPLETION_NONE);
  vyre_work_item item = item_of(0, 0);
  uint64_t ticket;
  (void)state;
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_OK);
    assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_OK);
    vyre_ring_mark_done(ring, ticket);
    assert_false(vyre_ring_is_done(ring, ticket));
    assert_int_equal(vyre_ring_wait(ring, ticket, VYRE_NO_TIMEOUT), VYRE_ERROR_UNSUPPORTED);
  }
  vyre_ring_destroy(ring);
}

/* Capacity 1: full with one item, empty without, never both, never two. */
static void test_capacity_one(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(1, 0, first_positions[f]);
    vyre_work_item out;
    uint64_t ticket = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 10; ++i) {
      const uint64_t expected = ticket_at(first_positions[f], i);
      vyre_work_item items[8];
      for (uint32_t k = 0; k < 8; ++k)
        items[k] = item_of(k, i);
      assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_ERROR_EMPTY);
      assert_int_equal(vyre_ring_in_flight(ring), 0);
      n = 1;
      if (i % 2) {
        uint64_t tickets[8];
        assert_int_equal(vyre_ring_enqueue_many(ring, items, 8, tickets, &n), VYRE_OK);
        assert_int_equal(n, 7);
        ticket = tickets[0];
      } else {
        assert_int_equal(vyre_ring_enqueue(ring, items, &ticket), VYRE_OK);
      }
      assert_true(ticket == expected);
      assert_int_equal(vyre_ring_enqueue(ring, items, &ticket), VYRE_ERROR_QUEUE_FULL);
      for (uint32_t k = 0; k < n; ++k) {
        assert_int_equal(vyre_ring_in_flight(ring), 1);
        assert_int_equal(vyre_ring_enqueue(ring, items, &ticket), VYRE_ERROR_QUEUE_FULL);
        assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_OK);
        assert_true(ticket == expected + k);
        assert_memory_equal(&out, &items[k], sizeof out);
      }
    }
    ring_gone(ring);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_enqueue_and_claim),
      cmocka_unit_test(test_null_arguments),
      cmocka_unit_test(test_batches),
      cmocka_unit_test(test_large_batches),
      cmocka_unit_test(test_close),
      cmocka_unit_test(test_close_of_a_full_ring),
      cmocka_unit_test(test_waiting_off),
      cmocka_unit_test(test_without_completion),
      cmocka_unit_test(test_capacity_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
