/*
 * Passes that are recorded once and replayed: when, how often the plugin is called for it, what
 * takes over if it refuses, and what its errors say.
 */
#include "tests/gridsync/front.h"

#include "core/base/alloc.h"
#include "core/dispatch/replay.h"

#include <stdlib.h>

#define I "  const vyre_u64 i = vyre_global_id(c, 0);\n"

/* ---- a program ---- */

enum { COUNT = 300 };

/* Each element goes up to its limit: element i changes in the first `limit` passes. */
static const char source[] =
    "typedef struct constants { vyre_u32 limit; } constants;\n"
    "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n" I "  const vyre_u32 limit = vyre_push(c, constants)->limit;\n"
    "  if (i < vyre_count(c, a))\n"
    "    vyre_at(c, b, i) = vyre_at(c, a, i) + (vyre_at(c, a, i) < limit ? 1u : 0u);\n"
    "}\n"
    "VYRE_SEGMENT(keep)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = vyre_at(c, b, i);\n"
    "}\n"
    "VYRE_SEGMENT(never)(vyre_ctx *c, VYRE_INOUT(vyre_u32) none)\n"
    "{\n" I "  vyre_at(c, none, i) = 1u;\n"
    "}\n";

static uint32_t zeros[COUNT], limit;

static void describe(hard *h, uint32_t iterations, vyre_converge converge)
{
  hard_init(h, source);
  hard_buffer(h, "a", VYRE_READ_WRITE, 4, COUNT, zeros);
  hard_buffer(h, "b", VYRE_READ_WRITE, 4, COUNT, zeros);
  hard_segment(h, "up");
  hard_bind(h, "a", VYRE_READ_ONLY);
  hard_bind(h, "b", VYRE_WRITE_ONLY);
  hard_segment(h, "keep");
  hard_bind(h, "a", VYRE_READ_WRITE);
  hard_bind(h, "b", VYRE_READ_ONLY);
  h->program.iterations = iterations;
  h->program.converge = converge;
  h->program.push = &limit;
  h->program.push_size = sizeof limit;
}

static vyre_status try(vyre_program *program, const hard *h, uint32_t iterations,
                       vyre_outputs *outputs, vyre_dispatch_result *out_result, vyre_error *err)
{
  vyre_bytes inputs[VYRE_MAX_BUFFERS];
  const uint32_t count = rig_inputs(&h->program, inputs);
  vyre_dispatch_options options = rig_options(&h->program, VYRE_ROUTE_RESIDENT);
  static const vyre_dispatch_result none = VYRE_DISPATCH_RESULT_INIT;
  options.iterations = iterations;
  *out_result = none;
  return vyre_dispatch(program, &options, inputs, count, outputs, out_result, err);
}

/* Runs it; every element has been raised so often. */
static vyre_dispatch_result run(vyre_program *program, const hard *h, uint32_t iterations,
                                uint32_t raised)
{
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  if (try(program, h, iterations, &outputs, &result, &err))
    fail_msg("%s (%s)", err.message, err.fix);
  assert_int_equal(result.route, VYRE_ROUTE_RESIDENT);
  for (uint32_t i = 0; i < COUNT; ++i)
    assert_int_equal(((const uint32_t *)outputs.slots[0].data)[i], raised);
  vyre_outputs_reset(&outputs);
  assert_in_range(front_on.live, 0, VYRE__KEPT);
  return result;
}

static void expect_plan(vyre_program *program, const hard *h, uint32_t iterations, const char *want)
{
  vyre_bytes inputs[VYRE_MAX_BUFFERS];
  const uint32_t count = rig_inputs(&h->program, inputs);
  vyre_dispatch_options options = rig_options(&h->program, VYRE_ROUTE_RESIDENT);
  vyre_error err = VYRE_ERROR_INIT;
  char *text = NULL;
  options.iterations = iterations;
  if (vyre_dispatch_explain(program, &options, inputs, count, NULL, &text, &err))
    fail_msg("%s (%s)", err.message, err.fix);
  if (!strstr(text, want))
    fail_msg("not '%s' in\n%s", want, text);
  free(text);
}

/* ---- runs of a fixed length ---- */

static void a_run_without_a_test(void **state)
{
  static const struct {
    uint32_t iterations, starts;
    bool recorded;
  } rows[] = {{1, 0, false}, {2, 0, false}, {8, 0, false},  {9, 1, true},
              {64, 1, true}, {65, 2, true}, {128, 2, true}, {1000, 16, true}};
  vyre_program *program = NULL;
  hard h;
  (void)state;
  limit = UINT32_MAX;
  describe(&h, 1000, VYRE_CONVERGE_OFF);
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    const uint32_t passes = rows[r].iterations;
    vyre_dispatch_result result;
    front_reset();
    program = hard_create(&hard_rigs[1], &h);
    expect_plan(program, &h, passes,
                rows[r].recorded ? "resident  2 launches a pass, recorded once and replayed; a"
                                 : "resident  2 launches a pass, recorded after 16 launches and "
                                   "then replayed; a");
    assert_int_equal(front_on.creates, 0);
    result = run(program, &h, passes, passes);
    assert_int_equal(result.form, rows[r].recorded ? VYRE_FORM_REPLAYS : VYRE_FORM_LAUNCHES);
    assert_int_equal(result.passes, passes);
    assert_int_equal(result.launches, 2 * passes);
    assert_int_equal(front_on.creates, rows[r].recorded);
    assert_int_equal(front_on.starts, rows[r].starts);
    assert_int_equal(front_on.replays, rows[r].recorded ? passes : 0);
    assert_int_equal(front_on.dispatches, rows[r].recorded ? 0 : 2 * passes);
    assert_true(result.device_ns != VYRE_TIME_ABSENT && result.enqueue_ns != VYRE_TIME_ABSENT &&
                result.device_span_ns != VYRE_TIME_ABSENT);
    assert_true(result.device_ns <= result.device_span_ns);
    vyre_program_destroy(program);
    assert_int_equal(front_on.live, 0);
  }
}

/* Empty steps are left out, and count as no launch. */
static void empty_steps_are_left_out(void **state)
{
  vyre_program *program = NULL;
  hard h;
  (void)state;
  limit = UINT32_MAX;
  describe(&h, 40, VYRE_CONVERGE_OFF);
  hard_buffer(&h, "none", VYRE_READ_WRITE, 4, 0, zeros);
  hard_segment(&h, "never");
  hard_bind(&h, "none", VYRE_READ_WRITE);
  program = hard_create(&hard_rigs[1], &h);
  front_reset();
  assert_int_equal(run(program, &h, 40, 40).launches, 80);
  assert_int_equal(front_on.steps, 2);
  assert_int_equal(front_on.starts, 1);
  vyre_program_destroy(program);
}

/* More steps than a start should have: one pass each. */
static void many_segments(void **state)
{
  enum { PAIRS = PLAIN_SEGMENTS / 2, PASSES = 5 };
  vyre_program *program = NULL;
  hard h;
  (void)state;
  limit = UINT32_MAX;
  describe(&h, PASSES, VYRE_CONVERGE_OFF);
  for (uint32_t s = 2; s < 2 * PAIRS; ++s)
    h.program.segments[h.program.segment_count++] = h.program.segments[s % 2];
  program = hard_create(&hard_rigs[1], &h);
  front_reset();
  assert_int_equal(run(program, &h, PASSES, PASSES * PAIRS).launches, 2 * PAIRS * PASSES);
  assert_int_equal(front_on.steps, 2 * PAIRS);
  assert_int_equal(front_on.replays, PASSES);
  vyre_program_destroy(program);
}

/* ---- runs that are tested ---- */

/* Three launches a pass, test included; two where items declare it: none of them does here. */
static void a_run_with_a_test(void **state)
{
  static const uint32_t limits[] = {0, 3, 4, 5, 6, 30};
  vyre_program *program = NULL;
  hard h;
  (void)state;
  describe(&h, 1000, VYRE_CONVERGE_EXACT);
  program = hard_create(&hard_rigs[1], &h);
  expect_plan(program, &h, 0,
              "resident  3 launches a pass, the test included, recorded after 16 launches and then "
              "replayed; a");
  for (size_t l = 0; l < sizeof limits / sizeof limits[0]; ++l) {
    const uint32_t passes = limits[l] + 1, single = passes < 6 ? passes : 6;
    vyre_dispatch_result result;
    limit = limits[l];
    front_reset();
    result = run(program, &h, 0, limit);
    assert_int_equal(result.passes, passes);
    assert_int_equal(result.converged, VYRE_CONVERGED_YES);
    assert_int_equal(result.launches, 3 * passes);
    assert_int_equal(result.form, passes > 6 ? VYRE_FORM_REPLAYS : VYRE_FORM_LAUNCHES);
    assert_int_equal(front_on.dispatches, 3 * single);
    assert_int_equal(front_on.starts, passes - single); /* one a pass */
    assert_int_equal(front_on.replays, passes - single);
    assert_int_equal(front_on.creates, passes > 6);
  }
  /* Recorded from the start, if it is forced. */
  limit = 3;
  front_reset();
  rig_record(&hard_rigs[1], VYRE__RECORDING_ALWAYS);
  expect_plan(program, &h, 0, "the test included, recorded once and replayed; a");
  assert_int_equal(run(program, &h, 0, 3).form, VYRE_FORM_REPLAYS);
  assert_int_equal(front_on.starts, 4);
  assert_int_equal(front_on.dispatches, 0);
  rig_record(&hard_rigs[1], VYRE__RECORDING_NEVER);
  limit = 30;
  front_reset();
  expect_plan(program, &h, 0, "the test included; a");
  assert_int_equal(run(program, &h, 0, 30).form, VYRE_FORM_LAUNCHES);
  assert_int_equal(front_on.creates, 0);
  rig_record(&hard_rigs[1], VYRE__RECORDING_WORTH);
  vyre_program_destroy(program);
}

/* ---- refusals ---- */

/* Single launches take over, the result says why; a device that cannot is not asked again. */
static void a_device_that_refuses(void **state)
{
  static const struct {
    vyre_status refusal;
    bool for_good;
  } rows[] = {{VYRE_ERROR_UNSUPPORTED, true},
              {VYRE_ERROR_OUT_OF_HOST_MEMORY, false},
              {VYRE_ERROR_OUT_OF_DEVICE_MEMORY, false},
              {VYRE_ERROR_INVALID_ARGUMENT, false},
              {VYRE_OK, false}};
  (void)state;
  limit = UINT32_MAX;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r)
    for (uint32_t tested = 0; tested < 2; ++tested) {
      vyre_program *program = NULL;
      vyre_dispatch_result result;
      hard h;
      describe(&h, 50, tested ? VYRE_CONVERGE_EXACT : VYRE_CONVERGE_OFF);
      program = hard_create(&hard_rigs[1], &h);
      front_reset();
      front_on.refusal = rows[r].refusal;
      front_on.gives_nothing = !rows[r].refusal;
      result = run(program, &h, 50, 50);
      assert_int_equal(result.form, VYRE_FORM_LAUNCHES);
      assert_int_equal(result.launches, 50 * (2 + tested));
      assert_int_equal(front_on.dispatches, result.launches);
      assert_int_equal(front_on.creates, 1); /* one try a dispatch */
      assert_int_equal(front_on.starts, 0);
      if (!strstr(result.reason, rows[r].refusal
                                     ? "asked for; not recorded: no recorder here"
                                     : "; not recorded: plugin cpu returned no sequence"))
        fail_msg("%s", result.reason);
      expect_plan(program, &h, 50,
                  rows[r].for_good ? ", one by one: the plugin has refused to record them; a"
                                   : "replayed; a");
      (void)run(program, &h, 50, 50);
      assert_int_equal(front_on.creates, rows[r].for_good ? 1 : 2);
      front_on.refusal = VYRE_OK;
      front_on.gives_nothing = false;
      front_on.creates = 0;
      result = run(program, &h, 50, 50);
      assert_int_equal(result.form, rows[r].for_good ? VYRE_FORM_LAUNCHES : VYRE_FORM_REPLAYS);
      vyre_program_destroy(program);
    }
}

/* A step that the plugin refuses: the launch says which segment it was, as without recording. */
static void a_step_that_is_refused(void **state)
{
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = NULL;
  vyre_backend_kernel *kernel = NULL;
  hard h;
  (void)state;
  limit = UINT32_MAX;
  describe(&h, 50, VYRE_CONVERGE_OFF);
  program = hard_create(&hard_rigs[1], &h);
  kernel = program->segments[1].kernel;
  program->segments[1].kernel = NULL;
  front_reset();
  assert_int_equal(try(program, &h, 50, &outputs, &result, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(front_on.creates, 1);
  assert_int_equal(front_on.starts, 0);
  if (!strstr(err.message, "segment 2 of 2 ('keep'), pass 1: "))
    fail_msg("%s", err.message);
  program->segments[1].kernel = kernel;
  assert_int_equal(outputs.count, 0);
  vyre_program_destroy(program);
}

/* A start that fails names its passes; the caller's slots are as they were. */
static void a_start_that_fails(void **state)
{
  static const char *const where[] = {"replay of 2 segments, passes 1 to 64: the tape is torn",
                                      "replay of 2 segments, passes 65 to 128: the tape is torn",
                                      "replay of 2 segments, passes 129 to 150: the tape is torn"};
  (void)state;
  limit = UINT32_MAX;
  for (uint32_t at = 1; at <= 3; ++at) {
    vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error err = VYRE_ERROR_INIT;
    vyre_program *program = NULL;
    hard h;
    describe(&h, 150, VYRE_CONVERGE_OFF);
    program = hard_create(&hard_rigs[1], &h);
    front_reset();
    front_on.fails_at = at;
    assert_int_equal(try(program, &h, 150, &outputs, &result, &err), VYRE_ERROR_DISPATCH_FAILED);
    if (!strstr(err.message, where[at - 1]))
      fail_msg("%s", err.message);
    assert_int_equal(outputs.count, 0);
    assert_int_equal(front_on.releases, 1);
    front_reset();
    assert_int_equal(run(program, &h, 150, 150).launches, 300);
    vyre_program_destroy(program);
  }
}

static const char fault_source[] =
    "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) += 1u;\n"
    "}\n"
    "VYRE_SEGMENT(leap)(vyre_ctx *c, VYRE_INOUT(vyre_u32) other, VYRE_IN(vyre_u32) a)\n"
    "{\n" I "  if (i == 0u) vyre_at(c, other, vyre_at(c, a, 0) == 70u ? 999u : 0u) = 1u;\n"
    "}\n";

/* A fault of a kernel on the way: which passes were under way, and what the plugin knows. */
static void a_replay_that_fails(void **state)
{
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = NULL;
  hard h;
  (void)state;
  hard_init(&h, fault_source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 70, zeros);
  hard_buffer(&h, "other", VYRE_READ_WRITE, 4, 2, zeros);
  hard_segment(&h, "up");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_segment(&h, "leap");
  hard_bind(&h, "other", VYRE_READ_WRITE);
  hard_bind(&h, "a", VYRE_READ_ONLY);
  h.program.flags = VYRE_PROGRAM_DEBUG;
  h.program.iterations = 500;
  h.program.converge = VYRE_CONVERGE_OFF;
  program = hard_create(&hard_rigs[1], &h);
  front_reset();
  assert_int_equal(try(program, &h, 500, &outputs, &result, &err), VYRE_ERROR_DISPATCH_FAILED);
  if (!strstr(err.message, "replay of 2 segments, passes 65 to 128: ") ||
      !strstr(err.message, "kernel leap, replay 6") || !strstr(err.message, "999"))
    fail_msg("%s", err.message);
  assert_int_equal(outputs.count, 0);
  assert_int_equal(front_on.releases, 1);
  assert_int_equal(try(program, &h, 69, &outputs, &result, &err), VYRE_OK);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* Each allocation fails once: the run is right, by single launches if need be, or says so. */
static void every_allocation_can_fail(void **state)
{
  vyre_program *program = NULL;
  uint32_t single = 0, failures = 0;
  uint64_t count = 0;
  hard h;
  (void)state;
  limit = UINT32_MAX;
  describe(&h, 20, VYRE_CONVERGE_OFF);
  program = hard_create(&hard_rigs[1], &h);
  (void)run(program, &h, 20, 20); /* buffers and threads are there now */
  for (uint64_t n = 1; n <= count + 1; ++n) {
    vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error err = VYRE_ERROR_INIT;
    vyre_status status = VYRE_OK;
    vyre__binders_drop(&hard_rigs[1].device->binders, 0); /* it has to be recorded again */
    assert_int_equal(front_on.live, 0);
    front_reset();
    vyre__test_fail_allocation(n);
    status = try(program, &h, 20, &outputs, &result, &err);
    count = vyre__test_allocation_count();
    vyre__test_fail_allocation(0);
    if (status) {
      ++failures;
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_int_equal(outputs.count, 0);
    } else {
      single += result.form == VYRE_FORM_LAUNCHES;
      assert_int_equal(result.launches, 40);
      for (uint32_t i = 0; i < COUNT; ++i)
        assert_int_equal(((const uint32_t *)outputs.slots[0].data)[i], 20);
    }
    assert_in_range(front_on.live, 0, 1);
    vyre_outputs_reset(&outputs);
  }
  assert_true(single >= 3 && failures >= 1); /* what is recorded, its steps and their bindings */
  vyre_program_destroy(program);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_without_a_test),
      cmocka_unit_test(empty_steps_are_left_out),
      cmocka_unit_test(many_segments),
      cmocka_unit_test(a_run_with_a_test),
      cmocka_unit_test(a_device_that_refuses),
      cmocka_unit_test(a_step_that_is_refused),
      cmocka_unit_test(a_start_that_fails),
      cmocka_unit_test(a_replay_that_fails),
      cmocka_unit_test(every_allocation_can_fail),
  };
  return cmocka_run_group_tests(tests, front_open, front_close);
}
