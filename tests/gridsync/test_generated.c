/*
 * Programs of generated source (generate.h), each compiled for itself, on every route of the cpu
 * plugin, against the interpreter.  The environment is that of test_random.c.
 */
#include "tests/gridsync/everywhere.h"
#include "tests/gridsync/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED 20240608u
#define VARIATIONS 4u /* of each source */

#if defined(__SANITIZE_THREAD__)
#define PROGRAMS 6u
#elif defined(__SANITIZE_ADDRESS__)
#define PROGRAMS 15u
#else
#define PROGRAMS 40u
#endif
#define FULL_PROGRAMS 300u

static rig rigs[EVERYWHERE_RIGS];

static int open_rigs(void **state)
{
  (void)state;
  return everywhere_open(rigs) ? 0 : 1;
}

static int close_rigs(void **state)
{
  (void)state;
  everywhere_close(rigs);
  return 0;
}

static void one_source(uint64_t seed, uint64_t index)
{
  static generated_set set;
  const word_source source = {generated_next, &set, false};
  uint64_t state = seed + index * 0x100000001b3u;
  drawn d;
  char again[128];
  snprintf(again, sizeof again, "VYRE_TEST_SEED=%llu VYRE_TEST_FIRST=%llu VYRE_TEST_PROGRAMS=1",
           (unsigned long long)seed, (unsigned long long)index);
  draw_shape_of(&d, draw_number(&state), &source);
  for (uint32_t i = 0; i < VARIATIONS; ++i) {
    rig *on = &rigs[(index + i) % EVERYWHERE_RIGS];
    vyre_program *program = NULL;
    draw_variation(&d, draw_number(&state));
    everywhere_create(on, 1, &d, &program);
    everywhere_dispatch(on, 1, &program, &d, i == 0, again);
    draw_dispatch(&d, draw_number(&state));
    everywhere_dispatch(on, 1, &program, &d, i == 0, again);
    vyre_program_destroy(program);
  }
  drawn_free(&d);
  generated_free(&set);
}

static void test_sources(void **state)
{
  const bool full = everywhere_number("VYRE_TEST_FULL", 0) != 0;
  const uint64_t seed = everywhere_number("VYRE_TEST_SEED", SEED);
  const uint64_t first = everywhere_number("VYRE_TEST_FIRST", 0);
  const uint64_t count = everywhere_number("VYRE_TEST_PROGRAMS", full ? FULL_PROGRAMS : PROGRAMS);
  (void)state;
  for (uint64_t i = first; i < first + count; ++i)
    one_source(seed, i);
  printf("%llu sources, each with %u variations, dispatched twice on 4 routes; seed %llu\n",
         (unsigned long long)count, VARIATIONS, (unsigned long long)seed);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sources),
  };
  return cmocka_run_group_tests(tests, open_rigs, close_rigs);
}
