/*
 * One meaning of a program: every way of the fixture plugin gives the same bytes, passes and
 * convergence, whatever ran before.
 */
#include "tests/dispatch/long_programs.h"

static const uint32_t budgets[] = {1, 2, 3, 5, 6, 7, 10, 100};
#define BUDGETS (sizeof budgets / sizeof budgets[0])

/* All programs with all budgets; the first way is what the others are held against. */
static void test_every_way(void **state)
{
  static long_outcome wanted[LONG_KINDS][BUDGETS], got;
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way)
    for (int kind = 0; kind < LONG_KINDS; ++kind) {
      on_fixture on;
      vyre_program *program = NULL;
      long_open(&on, (long_way)way, NULL);
      program = long_create(&on, (long_kind)kind, (long_way)way);
      for (size_t i = 0; i < BUDGETS; ++i) {
        const int64_t dispatches = on.plugin.get("dispatches");
        vyre_dispatch_result result;
        long_run(program, (long_kind)kind, long_route((long_way)way), budgets[i], &result, &got);
        if (!way)
          wanted[kind][i] = got;
        long_assert_same(&got, &wanted[kind][i], long_names[kind]);
        assert_int_equal(result.route, long_route((long_way)way));
        if (way != LONG_EMULATED)
          assert_int_equal(on.plugin.get("dispatches") - dispatches, result.launches);
        if (way == LONG_NATIVE)
          assert_int_equal(result.launches, 1);
      }
      vyre_program_destroy(program);
      on_fixture_close(&on);
    }
}

/* ---- state 0 ---- */

/* a and b, both given and written: nothing changes, so the first pass confirms. */
static void describe_still(long_program *of, uint32_t flags)
{
  sample *s = &of->s;
  memset(of, 0, sizeof *of);
  sample_empty(s);
  s->desc.name = "still";
  s->desc.iterations = 5;
  sample_buffer(s, "a", VYRE_READ_WRITE, 4, LONG_WORDS);
  sample_buffer(s, "b", VYRE_READ_WRITE, 4, LONG_WORDS);
  sample_segment(s, "stay");
  sample_bind(s, 0, "a", VYRE_READ_WRITE);
  sample_bind(s, 0, "b", VYRE_READ_WRITE);
  long_code(of, "stay=saturate(3)\n", " vyre_settle:0.1.2.3", "vyre_fused=fused stay:0.1", flags);
}

static void assert_passes(vyre_program *program, long_way way, const uint32_t *a, const uint32_t *b,
                          uint32_t iterations, uint32_t passes, vyre_converged converged)
{
  const vyre_bytes inputs[] = {{a, LONG_BYTES}, {b, LONG_BYTES}};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  options.route = long_route(way);
  options.iterations = iterations;
  if (vyre_dispatch(program, &options, inputs, vyre_program_input_count(program), &outputs, &result,
                    &err))
    fail_msg("%s: %s", long_way_names[way], err.message);
  if (result.passes != passes || result.converged != converged)
    fail_msg("%s: %u passes and %u, not %u and %u", long_way_names[way], result.passes,
             result.converged, passes, converged);
  vyre_outputs_reset(&outputs);
}

/* The state before the first pass is the caller's, in every tested buffer. */
static void test_state_0(void **state)
{
  uint32_t a[LONG_WORDS], b[LONG_WORDS];
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    static long_program of;
    on_fixture on;
    vyre_program *program = NULL;
    for (uint32_t i = 0; i < LONG_WORDS; ++i) {
      a[i] = 3 + i;
      b[i] = 1000 + i;
    }
    long_open(&on, (long_way)way, NULL);
    describe_still(&of, way == LONG_COMPARED ? LONG_NO_SETTLE : 0);
    program = on_fixture_program(&on, &of.s);
    for (int round = 0; round < 2; ++round) {
      assert_passes(program, (long_way)way, a, b, 1, 1, VYRE_CONVERGED_NOT_TESTED);
      assert_passes(program, (long_way)way, a, b, 2, 1, VYRE_CONVERGED_YES);
      assert_passes(program, (long_way)way, a, b, 5, 1, VYRE_CONVERGED_YES);
      /* The last byte of the last buffer counts. */
      b[LONG_WORDS - 1] = 2;
      assert_passes(program, (long_way)way, a, b, 5, 2, VYRE_CONVERGED_YES);
      assert_passes(program, (long_way)way, a, b, 1, 1, VYRE_CONVERGED_NOT_TESTED);
      b[LONG_WORDS - 1] = 1000;
      /* And the first of the first. */
      a[0] = 0;
      assert_passes(program, (long_way)way, a, b, 5, 4, VYRE_CONVERGED_YES);
      assert_passes(program, (long_way)way, a, b, 3, 3, VYRE_CONVERGED_NO);
      a[0] = 3;
    }
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* What the run before said of its passes is forgotten. */
static void test_forgotten(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    uint32_t numbers[LONG_WORDS] = {0};
    on_fixture on;
    vyre_program *program = NULL;
    if (way == LONG_COMPARED)
      continue;
    long_open(&on, (long_way)way, NULL);
    program = long_create(&on, LONG_DECLARED, (long_way)way);
    for (uint32_t first = 0; first <= 5; ++first) {
      for (uint32_t i = 0; i < LONG_WORDS; ++i)
        numbers[i] = first;
      /* The pass that confirms is the last one that changed something in the run before. */
      assert_passes(program, (long_way)way, numbers, NULL, 10, 6 - first, VYRE_CONVERGED_YES);
    }
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_way),
      cmocka_unit_test(test_state_0),
      cmocka_unit_test(test_forgotten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
