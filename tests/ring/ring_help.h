/*
 * ring_help.h - what the ring's tests share: rings with a first position, items that check
 * themselves, and expectations that threads may have.
 */
#ifndef VYRE_TESTS_RING_HELP_H
#define VYRE_TESTS_RING_HELP_H

#include "core/ring/barrier.h"
#include "core/ring/ring.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RING_UNDER_TSAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define RING_UNDER_TSAN 1
#endif

/* How many of `n` rounds to run: sanitizers are slow, and find what they find early. */
#ifdef RING_UNDER_TSAN
#define ROUNDS(n) ((n) / 10)
#else
#define ROUNDS(n) (n)
#endif

/* Long enough for a loaded machine; a lost wake-up fails the test by it. */
#define PATIENCE 60000000000ull

/* The last positions before they start again at 0. */
#define NEAR_TOP ((1ull << 56) - 3)

/* Where positions are interesting: at 0, across 2^31, 2^32, 2^55 and across their own top. */
static const uint64_t first_positions[] = {
    0, (1ull << 31) - 3, (1ull << 32) - 3, (1ull << 55) - 3, NEAR_TOP,
};
#define FIRST_POSITIONS (sizeof first_positions / sizeof *first_positions)

/* Expectations in threads, where cmocka's assertions cannot jump out: counted, the first shown. */
static inline int *expect_failures(void)
{
  static int failures;
  return &failures;
}

static inline void expect(bool holds, const char *text, const char *file, int line)
{
  if (holds)
    return;
  /* Relaxed: the thread that reads it has joined the others. */
  if (__atomic_fetch_add(expect_failures(), 1, __ATOMIC_RELAXED) == 0)
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
}
#define EXPECT(condition) expect((condition), #condition, __FILE__, __LINE__)

/*
 * A ring whose positions start at `first`; `unfinished` 0 is completion NONE.  Every second one has
 * its sleepers make the barrier, as a ring that owns its memory has.
 */
static inline vyre_ring *ring_at(uint32_t capacity, uint32_t unfinished, uint64_t first)
{
  static uint32_t rings;
  vyre__ring_setup setup = {.options = VYRE_RING_OPTIONS_INIT, .first_position = first};
  vyre_ring *ring = NULL;
  uint64_t size = 0;
  void *memory;
  setup.options.capacity = capacity;
  setup.options.max_unfinished = unfinished;
  if (unfinished)
    setup.options.completion = VYRE_COMPLETION_BY_TICKET;
  assert_int_equal(vyre__ring_region_size(&setup, &size, NULL), VYRE_OK);
  memory = aligned_alloc(VYRE_RING_LINE, size);
  assert_non_null(memory);
  assert_int_equal(vyre__ring_init(memory, size, &setup, NULL, &ring, NULL), VYRE_OK);
  ring->asymmetric = rings++ % 2 && vyre__barrier_register();
  return ring;
}

/* The ticket of a single item at the `i`-th place that is handed out; and of an item in a cell. */
static inline uint64_t ticket_at(uint64_t first, uint64_t i)
{
  return vyre__ring_ticket(vyre__ring_step(first, i), 0);
}

static inline uint64_t ticket_in(uint64_t first, uint64_t i, uint32_t index)
{
  return vyre__ring_ticket(vyre__ring_step(first, i), index);
}

/* A number for each ticket, in their order: 8 for each place since the first. */
static inline uint64_t slot_of(uint64_t first, uint64_t ticket)
{
  return ((vyre__ring_position_of(ticket) - first) & VYRE_RING_POSITION_MASK) *
             (VYRE_RING_INDEX_MASK + 1) +
         vyre__ring_index_of(ticket);
}

/* Places that a batch of n takes. */
static inline uint32_t places_of(uint32_t n)
{
  return (n + VYRE_RING_CELL_ITEMS - 1) / VYRE_RING_CELL_ITEMS;
}

static inline void ring_gone(vyre_ring *ring)
{
  void *memory = ring->header;
  vyre_ring_destroy(ring);
  free(memory);
}

static inline uint32_t mix(uint64_t a)
{
  a ^= a >> 33;
  a *= 0xff51afd7ed558ccdull;
  a ^= a >> 33;
  a *= 0xc4ceb9fe1a85ec53ull;
  return (uint32_t)(a >> 32);
}

/* An item whose second half follows from its first: a torn one does not fit together. */
static inline vyre_work_item item_of(uint32_t producer, uint32_t number)
{
  uint64_t id = (uint64_t)producer << 32 | number;
  vyre_work_item item = {number, producer, mix(id), mix(~id)};
  return item;
}

static inline bool item_is_whole(const vyre_work_item *item)
{
  vyre_work_item whole = item_of(item->input_len, item->input_offset);
  return memcmp(&whole, item, sizeof whole) == 0;
}

/* A small generator for each thread. */
static inline uint32_t next_random(uint64_t *state)
{
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

#define MOST_THREADS 16

/* Runs `n` threads to their end: body(context + i * size). */
static inline void run_threads(uint32_t n, void *(*body)(void *), void *contexts, size_t size)
{
  pthread_t threads[MOST_THREADS];
  assert_true(n <= MOST_THREADS);
  for (uint32_t i = 0; i < n; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, body, (char *)contexts + i * size), 0);
  for (uint32_t i = 0; i < n; ++i)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#endif
