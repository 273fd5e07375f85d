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
    assert_int_equal(ticket, i);
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
    assert_int_equal(ticket, i & ~1u);
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

static void test_batches(void **state)
{
  vyre_ring *ring = created(8, VYRE_COMPLETION_NONE);
  vyre_work_item items[20], out[20];
  uint64_t tickets[20];
  uint32_t n = 77;
  (void)state;
  for (uint32_t i = 0; i < 20; ++i)
    items[i] = item_of(1, i);
  memset(tickets, 0x5a, sizeof tickets);
  assert_int_equal(vyre_ring_enqueue_many(ring, items, 0, tickets, &n), VYRE_OK);
  assert_int_equal(n, 0);
  assert_int_equal(vyre_ring_enqueue_many(ring, NULL, 0, NULL, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_claim_many(ring, NULL, NULL, 0, &n), VYRE_OK);
  assert_int_equal(vyre_ring_enqueue_many(ring, items, 5, tickets, &n), VYRE_OK);
  assert_int_equal(n, 5);
  /* Only three of fifteen fit. */
  assert_int_equal(vyre_ring_enqueue_many(ring, items + 5, 15, tickets + 5, &n), VYRE_OK);
  assert_int_equal(n, 3);
  for (uint32_t i = 0; i < 8; ++i)
    assert_int_equal(tickets[i], i);
  assert_true(tickets[8] == 0x5a5a5a5a5a5a5a5aull);
  n = 77;
  assert_int_equal(vyre_ring_enqueue_many(ring, items, 1, tickets, &n), VYRE_ERROR_QUEUE_FULL);
  assert_int_equal(n, 77);
  assert_int_equal(tickets[0], 0);
  assert_int_equal(vyre_ring_in_flight(ring), 8);

  memset(out, 0, sizeof out);
  assert_int_equal(vyre_ring_claim_many(ring, out, tickets, 3, &n), VYRE_OK);
  assert_int_equal(n, 3);
  assert_int_equal(vyre_ring_claim_many(ring, out + 3, tickets + 3, 17, &n), VYRE_OK);
  assert_int_equal(n, 5);
  assert_memory_equal(out, items, 8 * sizeof *items);
  assert_int_equal(tickets[7], 7);
  assert_int_equal(out[8].correlation, 0);
  n = 77;
  assert_int_equal(vyre_ring_claim_many(ring, out, tickets, 20, &n), VYRE_ERROR_EMPTY);
  assert_int_equal(n, 77);
  assert_memory_equal(out, items, 8 * sizeof *items);
  vyre_ring_destroy(ring);
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
  assert_int_equal(ticket, 1);
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
    uint64_t ticket = 0, expected = first_positions[f];
    uint32_t n = 0;
    for (uint32_t i = 0; i < 10; ++i) {
      vyre_work_item items[2] = {item_of(0, i), item_of(9, i)};
      assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_ERROR_EMPTY);
      assert_int_equal(vyre_ring_in_flight(ring), 0);
      if (i % 2) {
        assert_int_equal(vyre_ring_enqueue_many(ring, items, 2, &ticket, &n), VYRE_OK);
        assert_int_equal(n, 1);
      } else {
        assert_int_equal(vyre_ring_enqueue(ring, items, &ticket), VYRE_OK);
      }
      assert_true(ticket == expected);
      assert_int_equal(vyre_ring_enqueue(ring, items, &ticket), VYRE_ERROR_QUEUE_FULL);
      assert_int_equal(vyre_ring_in_flight(ring), 1);
      assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_OK);
      assert_true(ticket == expected);
      assert_memory_equal(&out, items, sizeof out);
      expected = vyre__ring_step(expected, 1);
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
      cmocka_unit_test(test_close),
      cmocka_unit_test(test_close_of_a_full_ring),
      cmocka_unit_test(test_waiting_off),
      cmocka_unit_test(test_without_completion),
      cmocka_unit_test(test_capacity_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
