/*
 * Processes that share a region: each has a handle and an address of its own, items lap the ring in
 * both directions, and sleepers of one process are woken by another.
 */
#include "tests/ring/ring_help.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ITEMS ROUNDS(20000u)

static void lay_out(void *memory, uint64_t size, uint32_t capacity, uint32_t unfinished)
{
  vyre__ring_setup setup = {.options = VYRE_RING_OPTIONS_INIT, .first_position = (1ull << 32) - 3};
  vyre_ring *ring = NULL;
  setup.options.capacity = capacity;
  setup.options.completion = unfinished ? VYRE_COMPLETION_BY_TICKET : VYRE_COMPLETION_NONE;
  setup.options.max_unfinished = unfinished;
  assert_int_equal(vyre__ring_init(memory, size, &setup, NULL, &ring, NULL), VYRE_OK);
  vyre_ring_destroy(ring);
}

/* A child returns by _exit: 0 if all it expected held. */
static void child_ends(void)
{
  _exit(*expect_failures() ? 1 : 0);
}

static void child_is_well(pid_t child)
{
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* Sends `number` 0, 1, 2, … in both single and batched calls. */
static void send_all(vyre_ring *ring, uint32_t producer)
{
  for (uint32_t i = 0; i < ITEMS;) {
    vyre_work_item items[3] = {item_of(producer, i), item_of(producer, i + 1),
                               item_of(producer, i + 2)};
    uint32_t n = 1;
    vyre_status status = VYRE_ERROR_QUEUE_FULL;
    if (i % 5 == 0 && i + 3 <= ITEMS)
      status = vyre_ring_enqueue_many(ring, items, 3, NULL, &n);
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

typedef struct shared_file {
  int file;
  uint64_t size;
  void *memory;
} shared_file;

static void open_shared(shared_file *f, uint32_t capacity, uint32_t unfinished)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  options.capacity = capacity;
  options.completion = VYRE_COMPLETION_BY_TICKET;
  assert_int_equal(vyre_ring_region_size(&options, &f->size, NULL), VYRE_OK);
  f->file = memfd_create("ring", MFD_CLOEXEC);
  assert_true(f->file >= 0);
  assert_int_equal(ftruncate(f->file, (off_t)f->size), 0);
  f->memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
  assert_true(f->memory != MAP_FAILED);
  lay_out(f->memory, f->size, capacity, unfinished);
}

static void close_shared(shared_file *f)
{
  munmap(f->memory, f->size);
  close(f->file);
}

/* A handle over another mapping of the same file, as another program would have it. */
static vyre_ring *attach_elsewhere(const shared_file *f)
{
  vyre_ring *ring = NULL;
  void *memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
  EXPECT(memory != MAP_FAILED && memory != f->memory);
  EXPECT(vyre_ring_attach(memory, f->size, &ring, NULL) == VYRE_OK);
  if (!ring)
    child_ends();
  return ring;
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
