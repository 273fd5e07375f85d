/*
 * The plugin's own form of tier 3 (EMULATED): all segments and passes in one call.  It comes out as
 * launches do, in bytes, passes and convergence, and a refusal falls back to launches.
 */
#include "tests/dispatch/long_programs.h"

static const uint32_t budgets[] = {1, 2, 3, 5, 6, 7, 10, 100};
#define BUDGETS (sizeof budgets / sizeof budgets[0])

/* By launches; with every budget. */
static void expect(long_kind kind, long_outcome outcomes[BUDGETS], uint64_t launches[BUDGETS])
{
  on_fixture on;
  vyre_program *program = NULL;
  vyre_dispatch_result result;
  long_open(&on, LONG_LAUNCHES, NULL);
  program = long_create(&on, kind, LONG_LAUNCHES);
  for (size_t i = 0; i < BUDGETS; ++i) {
    long_run(program, kind, VYRE_ROUTE_RESIDENT, budgets[i], &result, &outcomes[i]);
    launches[i] = result.launches;
  }
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

static bool has_segments(long_kind kind)
{
  return kind != LONG_SATURATE && kind != LONG_FLIP && kind != LONG_OFF;
}

/* Every program and budget, forced and chosen: as launches, in one call. */
static void test_equal(void **state)
{
  static long_outcome wanted[BUDGETS], got;
  uint64_t launches[BUDGETS];
  (void)state;
  for (int kind = 0; kind < LONG_KINDS; ++kind) {
    on_fixture on;
    vyre_program *program = NULL;
    expect((long_kind)kind, wanted, launches);
    long_open(&on, LONG_EMULATED, NULL);
    program = long_create(&on, (long_kind)kind, LONG_EMULATED);
    for (size_t i = 0; i < 2 * BUDGETS; ++i) {
      const uint32_t budget = budgets[i / 2];
      const bool is_long = budget > 1 || has_segments((long_kind)kind);
      const int64_t calls = on.plugin.get("passes_calls"), steps = on.plugin.get("launch_steps");
      vyre_dispatch_result result;
      if (!is_long && i % 2)
        continue; /* AUTO takes one launch on the caller's bytes */
      long_run(program, (long_kind)kind, i % 2 ? VYRE_ROUTE_AUTO : VYRE_ROUTE_RESIDENT, budget,
               &result, &got);
      long_assert_same(&got, &wanted[i / 2], long_names[kind]);
      assert_int_equal(result.route, VYRE_ROUTE_RESIDENT);
      assert_int_equal(result.form, is_long ? VYRE_FORM_EMULATED : VYRE_FORM_LAUNCHES);
      assert_int_equal(on.plugin.get("passes_calls") - calls, is_long);
      assert_int_equal(on.plugin.get("launch_steps") - steps, result.launches);
      assert_int_equal(result.launches, launches[i / 2]);
    }
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* On the caller's own buffers, in place. */
static void test_on_buffers(void **state)
{
  static long_outcome wanted[BUDGETS];
  uint64_t launches[BUDGETS];
  const vyre_bytes *inputs = long_inputs(LONG_REACH);
  unsigned char bytes[LONG_BYTES];
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_buffer *buffers[4] = {NULL};
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  expect(LONG_REACH, wanted, launches);
  long_open(&on, LONG_EMULATED, NULL);
  program = long_create(&on, LONG_REACH, LONG_EMULATED);
  for (int i = 0; i < 4; ++i)
    assert_int_equal(vyre_buffer_create(on.device, LONG_BYTES, &buffers[i], NULL), VYRE_OK);
  for (int i = 0; i < 3; ++i)
    assert_int_equal(
        vyre_buffer_upload(buffers[i < 2 ? i : 3], 0, inputs[i].data, LONG_BYTES, NULL), VYRE_OK);
  assert_int_equal(vyre_dispatch_buffers(program, NULL, buffers, 4, &result, NULL), VYRE_OK);
  assert_int_equal(result.form, VYRE_FORM_EMULATED);
  assert_int_equal(result.passes, wanted[BUDGETS - 1].passes);
  assert_int_equal(result.converged, VYRE_CONVERGED_YES);
  for (uint32_t p = 0; p < 3; ++p) { /* seen, next, kept */
    assert_int_equal(vyre_buffer_download(buffers[p + 1], 0, bytes, LONG_BYTES, NULL), VYRE_OK);
    assert_memory_equal(bytes, wanted[BUDGETS - 1].bytes[p], LONG_BYTES);
  }
  for (int i = 0; i < 4; ++i)
    vyre_buffer_destroy(buffers[i]);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* ---- refusals ---- */

static void test_refused(void **state)
{
  static const vyre_status codes[] = {VYRE_ERROR_UNSUPPORTED, VYRE_ERROR_RESIDENCY_EXCEEDED,
                                      VYRE_ERROR_OUT_OF_DEVICE_MEMORY};
  static long_outcome wanted[BUDGETS], got;
  uint64_t launches[BUDGETS];
  vyre_dispatch_result result;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  expect(LONG_REACH, wanted, launches);
  long_open(&on, LONG_EMULATED, NULL);
  program = long_create(&on, LONG_REACH, LONG_EMULATED);
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i)
    for (int forced = 0; forced < 2; ++forced) {
      on_fixture_set(&on, "passes_error", codes[i]);
      long_run(program, LONG_REACH, forced ? VYRE_ROUTE_RESIDENT : VYRE_ROUTE_AUTO, 0, &result,
               &got);
      assert_int_equal(result.route, VYRE_ROUTE_RESIDENT);
      assert_int_equal(result.form, VYRE_FORM_LAUNCHES);
      if (!strstr(result.reason, "the fixture does not run passes"))
        fail_msg("'%s'", result.reason);
      assert_int_equal(got.passes, wanted[6].passes);
      assert_memory_equal(got.bytes, wanted[6].bytes, sizeof got.bytes);
      assert_int_equal(on.plugin.get("passes_calls"), 0);
    }
  on_fixture_set(&on, "passes_error", 0);
  long_run(program, LONG_REACH, VYRE_ROUTE_AUTO, 0, &result, &got);
  assert_int_equal(result.form, VYRE_FORM_EMULATED);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* What another form would not cure is an error. */
static void test_not_cured(void **state)
{
  const vyre_bytes *inputs = long_inputs(LONG_REACH);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  long_open(&on, LONG_EMULATED, NULL);
  program = long_create(&on, LONG_REACH, LONG_EMULATED);
  on_fixture_set(&on, "passes_error", VYRE_ERROR_INTERNAL);
  assert_int_equal(vyre_dispatch(program, NULL, inputs, 3, &outputs, NULL, &err),
                   VYRE_ERROR_INTERNAL);
  assert_non_null(strstr(err.message, "the fixture does not run passes"));
  assert_int_equal(on.plugin.get("dispatches"), 0);
  on_fixture_set(&on, "passes_error", VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_dispatch(program, NULL, inputs, 3, &outputs, NULL, &err),
                   VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_device_generation(on.device), 1);
  assert_int_equal(outputs.count, 0);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* Without a kernel for the test, EXACT is tested by the core, launch by launch. */
static void test_no_settle(void **state)
{
  static long_outcome wanted[BUDGETS], got;
  static long_program of;
  uint64_t launches[BUDGETS];
  vyre_dispatch_result result;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  expect(LONG_REACH, wanted, launches);
  long_open(&on, LONG_EMULATED, NULL);
  program = long_create(&on, LONG_REACH, LONG_COMPARED);
  long_run(program, LONG_REACH, VYRE_ROUTE_RESIDENT, 0, &result, &got);
  assert_int_equal(result.form, VYRE_FORM_LAUNCHES);
  long_assert_same(&got, &wanted[6], "compared");
  /* One pass is not tested: it needs no kernel for that. */
  long_run(program, LONG_REACH, VYRE_ROUTE_RESIDENT, 1, &result, &got);
  assert_int_equal(result.form, VYRE_FORM_EMULATED);
  long_assert_same(&got, &wanted[0], "one pass");
  vyre_program_destroy(program);
  long_describe(&of, LONG_DECLARED, LONG_NO_SETTLE);
  program = on_fixture_program(&on, &of.s);
  long_run(program, LONG_DECLARED, VYRE_ROUTE_RESIDENT, 0, &result, &got);
  assert_int_equal(result.form, VYRE_FORM_EMULATED);
  assert_int_equal(got.converged, VYRE_CONVERGED_YES);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* ---- a plugin that lies, and empty grids ---- */

static void test_lies(void **state)
{
  const vyre_bytes *inputs = long_inputs(LONG_REACH);
  static const int64_t lies[] = {11, UINT32_MAX, 1};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  (void)state;
  for (int way = LONG_EMULATED; way <= LONG_NATIVE; ++way) {
    on_fixture on;
    vyre_program *program = NULL;
    options.route = long_route((long_way)way);
    long_open(&on, (long_way)way, NULL);
    program = long_create(&on, LONG_REACH, (long_way)way);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; ++i) {
      vyre_outputs outputs = VYRE_OUTPUTS_INIT;
      vyre_error err = VYRE_ERROR_INIT;
      on_fixture_set(&on, "say_passes", lies[i]);
      assert_int_equal(vyre_dispatch(program, &options, inputs, 3, &outputs, NULL, &err),
                       VYRE_ERROR_DISPATCH_FAILED);
      if (!strstr(err.message, "passes"))
        fail_msg("'%s'", err.message);
      assert_int_equal(outputs.count, 0);
    }
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* Nothing to do in any segment: no launch, on every way, and the same answer. */
static void test_empty(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    const vyre_bytes input = {"", 0};
    vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
    vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error err = VYRE_ERROR_INIT;
    on_fixture on;
    vyre_program *program = NULL;
    options.route = long_route((long_way)way);
    long_open(&on, (long_way)way, NULL);
    program = long_create(&on, LONG_SATURATE, (long_way)way);
    if (vyre_dispatch(program, &options, &input, 1, &outputs, &result, &err))
      fail_msg("%s: %s", long_way_names[way], err.message);
    assert_int_equal(outputs.count, 1);
    assert_int_equal(outputs.slots[0].size, 0);
    if (result.passes != 1 || result.converged != VYRE_CONVERGED_YES)
      fail_msg("%s: %u passes, converged %u", long_way_names[way], result.passes, result.converged);
    vyre_outputs_reset(&outputs);
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* The whole call has one start and one end on the device's clock. */
static void test_times(void **state)
{
  const on_fixture_setting settings[] = {
      {"grid_sync", VYRE_GRID_SYNC_EMULATED}, {"timestamps", 1}, {NULL, 0}};
  vyre_dispatch_result result;
  static long_outcome got;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  on_fixture_open_with(&on, "", "fixture:0", NULL, settings);
  program = long_create(&on, LONG_REACH, LONG_EMULATED);
  long_run(program, LONG_REACH, VYRE_ROUTE_RESIDENT, 0, &result, &got);
  assert_int_equal(result.device_ns, result.launches * 1000 - 400);
  assert_int_equal(result.device_span_ns, result.device_ns);
  vyre_program_destroy(program);
  program = long_create(&on, LONG_REACH, LONG_COMPARED); /* launches: sums, and the whole */
  long_run(program, LONG_REACH, VYRE_ROUTE_RESIDENT, 0, &result, &got);
  assert_int_equal(result.form, VYRE_FORM_LAUNCHES);
  assert_int_equal(result.device_ns, result.launches * 600);
  assert_int_equal(result.device_span_ns, result.launches * 1000 - 400);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal),     cmocka_unit_test(test_on_buffers),
      cmocka_unit_test(test_refused),   cmocka_unit_test(test_not_cured),
      cmocka_unit_test(test_no_settle), cmocka_unit_test(test_lies),
      cmocka_unit_test(test_empty),     cmocka_unit_test(test_times),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
