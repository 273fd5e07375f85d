/*
 * Thousands of random programs (draw.h) on every route of the cpu plugin, at several numbers of
 * threads, against the interpreter: bytes, passes and convergence are equal.
 *
 * The environment: VYRE_TEST_SEED (a number) draws other programs; VYRE_TEST_PROGRAMS sets how
 * many; VYRE_TEST_FULL=1 means five times as many, each on every number of threads;
 * VYRE_TEST_FIRST leaves out those before it.
 */
#include "tests/gridsync/everywhere.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED 20240607u
#define DISPATCHES 3u /* of each program */

#if defined(__SANITIZE_THREAD__)
#define SHAPES 8u
#define PROGRAMS 48u
#elif defined(__SANITIZE_ADDRESS__)
#define SHAPES 15u
#define PROGRAMS 300u
#else
#define SHAPES 40u
#define PROGRAMS 2000u
#endif

static rig rigs[EVERYWHERE_RIGS];
static drawn shapes[SHAPES];
static uint64_t seed;
static bool full;

static int open_rigs(void **state)
{
  uint64_t seeds = 0;
  (void)state;
  seed = everywhere_number("VYRE_TEST_SEED", SEED);
  full = everywhere_number("VYRE_TEST_FULL", 0) != 0;
  seeds = ~seed;
  for (uint32_t i = 0; i < SHAPES; ++i) {
    draw_shape(&shapes[i], draw_number(&seeds));
#if defined(__SANITIZE_THREAD__) /* each item that waits is a thread of the sanitizer's */
    while (drawn_has_barriers(&shapes[i])) {
      drawn_free(&shapes[i]);
      draw_shape(&shapes[i], draw_number(&seeds));
    }
#endif
  }
  return everywhere_open(rigs) ? 0 : 1;
}

static int close_rigs(void **state)
{
  (void)state;
  everywhere_close(rigs);
  for (uint32_t i = 0; i < SHAPES; ++i)
    drawn_free(&shapes[i]);
  return 0;
}

static void one_program(uint64_t index)
{
  drawn *d = &shapes[index % SHAPES];
  uint64_t state = seed + index * 0x100000001b3u;
  /* One number of threads after the other, or all. */
  rig *first = &rigs[full ? 0 : (index / SHAPES + index) % EVERYWHERE_RIGS];
  const uint32_t n = full ? EVERYWHERE_RIGS : 1;
  vyre_program *programs[EVERYWHERE_RIGS] = {0};
  char again[128];
  snprintf(again, sizeof again, "VYRE_TEST_SEED=%llu VYRE_TEST_FIRST=%llu VYRE_TEST_PROGRAMS=1",
           (unsigned long long)seed, (unsigned long long)index);
  draw_variation(d, draw_number(&state));
  everywhere_create(first, n, d, programs);
  for (uint32_t i = 0; i < DISPATCHES; ++i) {
    if (i)
      draw_dispatch(d, draw_number(&state));
    everywhere_dispatch(first, n, programs, d, index % 4 == 0 && i == 0, again);
  }
  for (uint32_t t = 0; t < n; ++t)
    vyre_program_destroy(programs[t]);
}

static void test_programs(void **state)
{
  const uint64_t first = everywhere_number("VYRE_TEST_FIRST", 0);
  const uint64_t count = everywhere_number("VYRE_TEST_PROGRAMS", full ? 5 * PROGRAMS : PROGRAMS);
  (void)state;
  for (uint64_t i = first; i < first + count; ++i)
    one_program(i);
  printf("%llu programs of %u shapes, each dispatched %u times on 4 routes; seed %llu\n",
         (unsigned long long)count, SHAPES, DISPATCHES, (unsigned long long)seed);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_programs),
  };
  return cmocka_run_group_tests(tests, open_rigs, close_rigs);
}
