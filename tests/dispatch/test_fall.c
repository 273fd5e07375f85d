/*
 * From one route to the next: refusals of residency and of launches fall, the result says so, and
 * the outcome is the same; a forced route is an error instead.
 */
#include "tests/dispatch/long_programs.h"

#include <stdlib.h>

static long_outcome wanted; /* of LONG_REACH, by host */

static int find_wanted(void **state)
{
  vyre_dispatch_result result;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  long_open(&on, LONG_HOST, NULL);
  program = long_create(&on, LONG_REACH, LONG_HOST);
  long_run(program, LONG_REACH, VYRE_ROUTE_HOST, 0, &result, &wanted);
  vyre_program_destroy(program);
  on_fixture_close(&on);
  return 0;
}

static void assert_contains(const char *text, const char *part)
{
  if (!strstr(text, part))
    fail_msg("'%s', not '%s'", text, part);
}

/* AUTO ends on this route, with that in the reason. */
static void assert_falls(vyre_program *program, vyre_route route, vyre_form form,
                         const char *reason)
{
  vyre_dispatch_result result;
  static long_outcome got;
  long_run(program, LONG_REACH, VYRE_ROUTE_AUTO, 0, &result, &got);
  if (result.route != route || result.form != form)
    fail_msg("route %s, form %u: '%s'", vyre_route_name(result.route), result.form, result.reason);
  assert_contains(result.reason, reason);
  long_assert_same(&got, &wanted, reason);
}

static void assert_refused(vyre_program *program, vyre_route route, vyre_status code,
                           const char *text)
{
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  options.route = route;
  assert_int_equal(
      vyre_dispatch(program, &options, long_inputs(LONG_REACH), 3, &outputs, NULL, &err), code);
  assert_int_equal(err.code, code);
  assert_contains(err.message, text);
  assert_true(err.fix[0]);
  assert_int_equal(outputs.count, 0);
}

/* The same of a dispatch without times. */
static void assert_untimed(vyre_program *program, vyre_route route, const char *reason)
{
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  options.timing = VYRE_TIMING_OFF;
  assert_int_equal(
      vyre_dispatch(program, &options, long_inputs(LONG_REACH), 3, &outputs, &result, NULL),
      VYRE_OK);
  vyre_outputs_reset(&outputs);
  assert_int_equal(result.route, route);
  assert_contains(result.reason, reason);
  assert_true(result.wall_ns == VYRE_TIME_ABSENT);
}

/* ---- native ---- */

/* The plugin refuses the cooperative launch. */
static void test_residency(void **state)
{
  static const vyre_status codes[] = {VYRE_ERROR_RESIDENCY_EXCEEDED, VYRE_ERROR_UNSUPPORTED,
                                      VYRE_ERROR_OUT_OF_DEVICE_MEMORY};
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    long_open(&on, LONG_NATIVE, NULL);
    program = long_create(&on, LONG_REACH, LONG_NATIVE);
    on_fixture_set(&on, "residency", codes[i]);
    assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES,
                 "native was refused: all 2 segments in one: the fixture does not launch "
                 "cooperatively");
    assert_refused(program, VYRE_ROUTE_NATIVE, codes[i], "does not launch cooperatively");
    on_fixture_set(&on, "residency", 0);
    assert_falls(program, VYRE_ROUTE_NATIVE, VYRE_FORM_FUSED, "");
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* Fewer groups fit at the launch than were promised. */
static void test_fewer_groups(void **state)
{
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  long_open(&on, LONG_NATIVE, NULL);
  program = long_create(&on, LONG_REACH, LONG_NATIVE);
  on_fixture_set(&on, "cooperative_groups", 0);
  assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES, "at most 0 are resident at once");
  assert_refused(program, VYRE_ROUTE_NATIVE, VYRE_ERROR_RESIDENCY_EXCEEDED,
                 "at most 0 are resident at once");
  vyre_program_destroy(program);

  /* Known when the program is made: not even tried. */
  program = long_create(&on, LONG_REACH, LONG_NATIVE);
  assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES, "not native: not one group");
  assert_refused(program, VYRE_ROUTE_NATIVE, VYRE_ERROR_UNSUPPORTED, "not one group");
  vyre_program_destroy(program);
  on_fixture_set(&on, "groups_error", VYRE_ERROR_INTERNAL);
  program = long_create(&on, LONG_REACH, LONG_NATIVE);
  assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES,
               "not native: the fixture does not know how many groups fit");
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* No form of its own, no fused kernel, no tier 3: the reason is the device's or the code's. */
static void test_impossible(void **state)
{
  static long_program of;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  long_open(&on, LONG_NATIVE, NULL);
  long_describe(&of, LONG_REACH, LONG_NO_FUSED);
  program = on_fixture_program(&on, &of.s);
  assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES,
               "not native: the code brings no fused kernel");
  assert_refused(program, VYRE_ROUTE_NATIVE, VYRE_ERROR_UNSUPPORTED, "no fused kernel");
  vyre_program_destroy(program);
  on_fixture_close(&on);

  long_open(&on, LONG_LAUNCHES, NULL);
  program = long_create(&on, LONG_REACH, LONG_LAUNCHES);
  assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES,
               "not native: plugin fixture has no tier 3");
  assert_refused(program, VYRE_ROUTE_NATIVE, VYRE_ERROR_UNSUPPORTED, "has no tier 3");
  vyre_program_destroy(program);
  on_fixture_close(&on);

  long_open(&on, LONG_EMULATED, NULL);
  program = long_create(&on, LONG_REACH, LONG_EMULATED);
  assert_refused(program, VYRE_ROUTE_NATIVE, VYRE_ERROR_UNSUPPORTED,
                 "the fixture's groups do not meet");
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* A device without buffers, and a plugin without tier 2: the host route alone. */
static void test_no_buffers(void **state)
{
  static const char *const faults[] = {"", "tier_1"};
  static const char *const selectors[] = {"fixture:4", "any"};
  (void)state;
  for (int i = 0; i < 2; ++i) {
    on_fixture on;
    vyre_program *program = NULL;
    on_fixture_open(&on, faults[i], selectors[i]);
    program = long_create(&on, LONG_REACH, LONG_HOST);
    assert_falls(program, VYRE_ROUTE_HOST, VYRE_FORM_LAUNCHES, "");
    assert_refused(program, VYRE_ROUTE_RESIDENT, VYRE_ERROR_UNSUPPORTED, "no buffers");
    assert_refused(program, VYRE_ROUTE_NATIVE, VYRE_ERROR_UNSUPPORTED, "no buffers");
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* ---- resident ---- */

/* Launches, memory and copies that are refused before the first wait. */
static void test_resident(void **state)
{
  static const struct {
    const char *control;
    uint32_t at;
    const char *reason;
  } rows[] = {
      {"dispatch_fail_at", 1, "resident was refused: segment 1 of 2 ('spread'), pass 1: "},
      {"dispatch_fail_at", 2, "resident was refused: segment 2 of 2 ('join'), pass 1: "},
      {"dispatch_fail_at", 3, "resident was refused: convergence test, pass 1: "},
      {"alloc_fail_at", 1, "resident was refused: buffer 'edges': "},
      {"alloc_fail_at", 3, "resident was refused: buffer 'next': "},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    on_fixture on;
    vyre_program *program = NULL;
    long_open(&on, LONG_LAUNCHES, NULL);
    program = long_create(&on, LONG_REACH, LONG_LAUNCHES);
    on_fixture_set(&on, rows[i].control, rows[i].at);
    assert_falls(program, VYRE_ROUTE_HOST, VYRE_FORM_LAUNCHES, rows[i].reason);
    assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES, "");
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* Everything that can be refused is: the last route has it, and the first error is not lost. */
static void test_all_the_way(void **state)
{
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  long_open(&on, LONG_EMULATED, NULL);
  program = long_create(&on, LONG_REACH, LONG_EMULATED);
  on_fixture_set(&on, "passes_error", VYRE_ERROR_RESIDENCY_EXCEEDED);
  on_fixture_set(&on, "dispatch_fail_at", 1);
  assert_falls(program, VYRE_ROUTE_HOST, VYRE_FORM_LAUNCHES, "resident was refused: ");
  on_fixture_set(&on, "dispatch_error", VYRE_ERROR_UNSUPPORTED);
  assert_refused(program, VYRE_ROUTE_AUTO, VYRE_ERROR_UNSUPPORTED, "the fixture does not dispatch");
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* ---- costs ---- */

/* A barrier that is dearer than a launch: launches win, and the reason has the figures. */
static void test_costs(void **state)
{
  on_fixture on;
  vyre_program *program = NULL;
  int64_t dispatches;
  (void)state;
  long_open(&on, LONG_NATIVE, NULL);
  program = long_create(&on, LONG_REACH, LONG_NATIVE);
  on_fixture_set(&on, "barrier_ns", 300000);
  assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES,
               "native: a launch of 1 groups in ");
  /* It was measured once. */
  dispatches = on.plugin.get("cooperative_calls");
  assert_true(dispatches > 0);
  assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES, "; resident: 3 launches of ");
  assert_int_equal(on.plugin.get("cooperative_calls"), dispatches);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* What no launch and no barrier shows: the route of the plan is slower.  The other one is measured,
   and taken from then on. */
static void test_experience(void **state)
{
  on_fixture on;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  char *text = NULL;
  (void)state;
  long_open(&on, LONG_NATIVE, NULL);
  program = long_create(&on, LONG_REACH, LONG_NATIVE);
  if (vyre_dispatch_explain(program, NULL, long_inputs(LONG_REACH), 3, NULL, &text, &err))
    fail_msg("%s", err.message);
  if (strstr(text, "takes native")) { /* unless somebody else took the processor meanwhile */
    on_fixture_set(&on, "barrier_ns", 2000000); /* after it was measured */
    for (int i = 0; i < 3; ++i)                 /* nothing is learnt without times */
      assert_untimed(program, VYRE_ROUTE_NATIVE, "native: a launch of ");
    for (int i = 0; i < 2; ++i)
      assert_falls(program, VYRE_ROUTE_NATIVE, VYRE_FORM_FUSED, "native: a launch of ");
    assert_untimed(program, VYRE_ROUTE_NATIVE, "native: a launch of "); /* nor tried */
    for (int i = 0; i < 2; ++i)
      assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES,
                   "to be measured: native took ");
    for (int i = 0; i < 3; ++i)
      assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES, "measured: native ");
    assert_untimed(program, VYRE_ROUTE_RESIDENT, "measured: native ");
  }
  free(text);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/*
 * On the caller's own buffers a route that has started may have written: no other route may take it
 * for state 0.
 */
static void test_lent_buffers(void **state)
{
  static const uint32_t at[] = {1, 2, 3};
  const vyre_bytes *inputs = long_inputs(LONG_REACH);
  (void)state;
  for (size_t i = 0; i < sizeof at / sizeof at[0]; ++i) {
    vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
    vyre_buffer *buffers[4] = {NULL};
    unsigned char bytes[LONG_BYTES];
    vyre_error err = VYRE_ERROR_INIT;
    on_fixture on;
    vyre_program *program = NULL;
    long_open(&on, LONG_NATIVE, NULL);
    program = long_create(&on, LONG_REACH, LONG_NATIVE);
    on_fixture_set(&on, "barrier_ns", 300000);
    assert_falls(program, VYRE_ROUTE_RESIDENT, VYRE_FORM_LAUNCHES, "native: a launch");
    for (int b = 0; b < 4; ++b)
      assert_int_equal(vyre_buffer_create(on.device, LONG_BYTES, &buffers[b], NULL), VYRE_OK);
    for (int b = 0; b < 3; ++b)
      assert_int_equal(
          vyre_buffer_upload(buffers[b < 2 ? b : 3], 0, inputs[b].data, LONG_BYTES, NULL), VYRE_OK);
    on_fixture_set(&on, "dispatch_fail_at", at[i]);
    if (vyre_dispatch_buffers(program, NULL, buffers, 4, &result, &err)) {
      assert_int_equal(err.code, VYRE_ERROR_DISPATCH_FAILED);
      assert_contains(err.message, "the fixture does not dispatch now");
    } else {
      assert_int_equal(result.passes, wanted.passes);
      assert_int_equal(result.converged, wanted.converged);
      for (uint32_t p = 0; p < 3; ++p) {
        assert_int_equal(vyre_buffer_download(buffers[p + 1], 0, bytes, LONG_BYTES, NULL), VYRE_OK);
        assert_memory_equal(bytes, wanted.bytes[p], LONG_BYTES);
      }
    }
    for (int b = 0; b < 4; ++b)
      vyre_buffer_destroy(buffers[b]);
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_residency),  cmocka_unit_test(test_fewer_groups),
      cmocka_unit_test(test_impossible), cmocka_unit_test(test_no_buffers),
      cmocka_unit_test(test_resident),   cmocka_unit_test(test_all_the_way),
      cmocka_unit_test(test_costs),      cmocka_unit_test(test_lent_buffers),
      cmocka_unit_test(test_experience),
  };
  return cmocka_run_group_tests(tests, find_wanted, NULL);
}
