/*
 * Processes that share a region: each has a handle and an address of its own, items lap the ring in
 * both directions, and sleepers of one process are woken by another.
 */
#include "tests/ring/process_help.h"

#define ITEMS ROUNDS(20000u)

/* Sends `number` 0, 1, 2, … in both single and batched calls: one place, or a part of two. */
static void send_all(vyre_ring *ring, uint32_t producer)
{
  for (uint32_t i = 0; i < ITEMS;) {
    const uint32_t most = ITEMS - i < 9 ? ITEMS - i : 9;
    vyre_work_item items[9];
    uint32_t n = 1;
    vyre_status status = VYRE_ERROR_QUEUE_FULL;
    for (uint32_t k = 0; k < most; ++k)
      items[k] = item_of(producer, i + k);
    if (i % 5 == 0)
      status = vyre_ring_enqueue_many(ring, items, most - i % 3 % most, NULL, &n);
    if (status == VYRE_ERROR_QUEUE_FULL)
      status = vyre_ring_enqueue_wait(ring, items, PATIENCE, NULL);
    EXPECT(status == VYRE_OK);
    if (status != VYRE_OK)
      return;
    i += n;
  }
}

/* Takes until CLOSED; every producer's items come in order. */
static uint32_t take_all(vyre_ring *ring)
{
  uint32_t next[2] = {0, 0}, all = 0;
  for (;;) {
    vyre_work_item item;
    uint64_t ticket = 0;
    vyre_status status = vyre_ring_claim_wait(ring, PATIENCE, &item, &ticket);
    if (status == VYRE_ERROR_CLOSED)
      return all;
    EXPECT(status == VYRE_OK && item_is_whole(&item) && item.input_len < 2);
    if (status != VYRE_OK || item.input_len >= 2)
      return all;
    EXPECT(item.input_offset == next[item.input_len]);
    next[item.input_len] = item.input_offset + 1;
    vyre_ring_mark_done(ring, ticket);
    ++all;
  }
}

/* Two children send, the parent takes. */
static void run_many_to_one(uint32_t capacity, uint32_t unfinished)
{
  shared_file f;
  vyre_ring *ring = NULL;
  pid_t children[2];
  pid_t closer;
  open_shared(&f, capacity, unfinished);
  assert_int_equal(vyre_ring_attach(f.memory, f.size, &ring, NULL), VYRE_OK);
  /* A third process waits for the two senders and closes. */
  closer = fork();
  assert_true(closer >= 0);
  if (closer == 0) {
    for (uint32_t i = 0; i < 2; ++i) {
      children[i] = fork();
      if (children[i] == 0) {
        send_all(attach_elsewhere(&f), i);
        child_ends();
      }
      EXPECT(children[i] > 0);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      int status = -1;
      EXPECT(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    vyre_ring_close(ring); /* the handle that fork() copied */
    child_ends();
  }
  assert_int_equal(take_all(ring), 2 * ITEMS);
  child_is_well(closer);
  assert_int_equal(*expect_failures(), 0);
  vyre_ring_destroy(ring);
  close_shared(&f);
}

static void test_many_to_one(void **state)
{
  (void)state;
  run_many_to_one(1, 0);
  run_many_to_one(8, 8);
}

/* A child serves, the parent sleeps for each completion. */
static void test_completions_across(void **state)
{
  shared_file f;
  vyre_ring *ring = NULL;
  pid_t child;
  (void)state;
  open_shared(&f, 1, 1);
  assert_int_equal(vyre_ring_attach(f.memory, f.size, &ring, NULL), VYRE_OK);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    EXPECT(take_all(attach_elsewhere(&f)) == ITEMS);
    child_ends();
  }
  for (uint32_t i = 0; i < ITEMS; ++i) {
    vyre_work_item item = item_of(1, i);
    uint64_t ticket = 0;
    assert_int_equal(vyre_ring_enqueue_wait(ring, &item, PATIENCE, &ticket), VYRE_OK);
    assert_int_equal(vyre_ring_wait(ring, ticket, PATIENCE), VYRE_OK);
  }
  vyre_ring_close(ring);
  child_is_well(child);
  vyre_ring_destroy(ring);
  close_shared(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_to_one),
      cmocka_unit_test(test_completions_across),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
