/*
 * Runs of several launches while they are under way: two threads on one program, runs in two steps
 * that a poll drives, runs that are let go in the middle, faults in the middle.
 */
#include "tests/gridsync/hard.h"

#include <pthread.h>
#include <sched.h>

#define I "  const vyre_u64 i = vyre_global_id(c, 0);\n"

enum { MOST = 3000, PASSES = 9 };

static const char hop_source[] =
    "VYRE_SEGMENT(hop)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a)) {\n"
    "    const vyre_u64 n = vyre_count(c, a);\n"
    "    const vyre_u32 x = vyre_at(c, a, i), y = vyre_at(c, a, (i + n - 1u) % n);\n"
    "    vyre_at(c, b, i) = x > y ? x : y;\n"
    "  }\n"
    "}\n"
    "VYRE_SEGMENT(keep)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = vyre_at(c, b, i);\n"
    "}\n";

/* One element is not zero and goes one place further in each pass. */
typedef struct dispatch_of {
  uint32_t count, given[MOST], want[MOST];
  hard h;
} dispatch_of;

static void hop_init(dispatch_of *d, uint32_t count, uint32_t value)
{
  memset(d, 0, sizeof *d);
  d->count = count;
  d->given[0] = value;
  for (uint32_t i = 0; i < count && i <= PASSES; ++i)
    d->want[i] = value;
  hard_init(&d->h, hop_source);
  hard_buffer(&d->h, "a", VYRE_READ_WRITE, 4, count, d->given)->open = true;
  hard_buffer(&d->h, "b", VYRE_READ_WRITE, 4, count, d->given)->open = true;
  hard_segment(&d->h, "hop");
  hard_bind(&d->h, "a", VYRE_READ_ONLY);
  hard_bind(&d->h, "b", VYRE_WRITE_ONLY);
  hard_segment(&d->h, "keep");
  hard_bind(&d->h, "a", VYRE_READ_WRITE);
  hard_bind(&d->h, "b", VYRE_READ_ONLY);
  hard_want(&d->h, d->want, count * 4);
  hard_want(&d->h, d->want, count * 4);
  d->h.program.iterations = PASSES;
  d->h.want.passes = PASSES;
  d->h.want.converged = VYRE_CONVERGED_NO;
}

/* ---- two threads ---- */

typedef struct runner {
  rig on; /* shares its device with the other thread, has outputs of its own */
  vyre_program *program;
  dispatch_of what;
  char failure[RIG_TEXT];
} runner;

/* No cmocka in here: it ends the thread that it fails in. */
static void *run_many(void *argument)
{
  runner *r = argument;
  for (uint32_t n = 0; n < 60 && !r->failure[0]; ++n) {
    char text[RIG_TEXT];
    const vyre_route route = n % RIG_ROUTES;
    const bool equal =
        n % 3 == 2 && route != VYRE_ROUTE_HOST
            ? rig_dispatch_buffers(&r->on, r->program, &r->what.h.program, route, &r->what.h.want,
                                   text)
            : rig_dispatch(&r->on, r->program, &r->what.h.program, route, &r->what.h.want, text);
    if (!equal)
      snprintf(r->failure, sizeof r->failure, "%.400s, route %s", text, vyre_route_name(route));
  }
  return NULL;
}

static void two_threads_on_one_program(void **state)
{
  enum { THREADS = 2 };
  static runner runners[THREADS];
  static const vyre_outputs no_outputs = VYRE_OUTPUTS_INIT;
  (void)state;
  for (uint32_t r = 0; r < HARD_RIGS; ++r) {
    pthread_t threads[THREADS];
    vyre_program *program = NULL;
    for (uint32_t t = 0; t < THREADS; ++t) {
      hop_init(&runners[t].what, t ? MOST : 777, 5 + t);
      if (!t)
        program = hard_create(&hard_rigs[r], &runners[0].what.h);
      for (uint32_t b = 0; b < 2; ++b) /* what device buffers hold at the end */
        runners[t].what.h.want.state[b] = runners[t].what.h.want.outputs[b];
      runners[t].on = hard_rigs[r];
      runners[t].on.outputs = no_outputs;
      runners[t].program = program;
      runners[t].failure[0] = 0;
    }
    for (uint32_t t = 0; t < THREADS; ++t)
      assert_int_equal(pthread_create(&threads[t], NULL, run_many, &runners[t]), 0);
    for (uint32_t t = 0; t < THREADS; ++t)
      pthread_join(threads[t], NULL);
    for (uint32_t t = 0; t < THREADS; ++t) {
      vyre_outputs_reset(&runners[t].on.outputs);
      if (runners[t].failure[0])
        fail_msg("thread %u: %s", t, runners[t].failure);
    }
    vyre_program_destroy(program);
  }
}

/* ---- two steps ---- */

static vyre_pending *begin(vyre_program *program, const dispatch_of *d, vyre_route route)
{
  vyre_bytes inputs[VYRE_MAX_BUFFERS];
  const uint32_t count = rig_inputs(&d->h.program, inputs);
  vyre_dispatch_options options = rig_options(&d->h.program, route);
  vyre_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_dispatch_start(program, &options, inputs, count, &pending, &err))
    fail_msg("route %s: %s (%s)", vyre_route_name(route), err.message, err.fix);
  return pending;
}

static void expect_end(vyre_pending *pending, const dispatch_of *d, vyre_outputs *outputs)
{
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_pending_finish(pending, outputs, &result, &err))
    fail_msg("%s (%s)", err.message, err.fix);
  assert_int_equal(result.passes, PASSES);
  assert_int_equal(result.converged, VYRE_CONVERGED_NO);
  assert_int_equal(outputs->count, 2);
  assert_int_equal(outputs->slots[0].size, d->count * 4);
  assert_memory_equal(outputs->slots[0].data, d->want, d->count * 4);
  assert_memory_equal(outputs->slots[1].data, d->want, d->count * 4);
  assert_int_equal(vyre_pending_wait(pending, 0, &err), VYRE_OK);
  vyre_pending_release(pending);
}

/* Polls alone bring a run to its end; several runs of one program are driven by turns. */
static void polls_drive_a_run(void **state)
{
  enum { RUNS = 5 };
  static dispatch_of what[RUNS];
  (void)state;
  for (uint32_t r = 0; r < HARD_RIGS; ++r)
    for (vyre_route route = 0; route < RIG_ROUTES; ++route) {
      vyre_pending *pending[RUNS];
      vyre_program *program = NULL;
      uint32_t ended = 0;
      for (uint32_t n = 0; n < RUNS; ++n) {
        hop_init(&what[n], n % 2 ? MOST : 65, n + 1);
        if (!n)
          program = hard_create(&hard_rigs[r], &what[0].h);
        pending[n] = begin(program, &what[n], route);
      }
      while (ended != (1u << RUNS) - 1)
        for (uint32_t n = 0; n < RUNS; ++n) {
          vyre_error err = VYRE_ERROR_INIT;
          const vyre_status status = vyre_pending_wait(pending[n], 0, &err);
          if (status == VYRE_OK)
            ended |= 1u << n;
          else if (status != VYRE_ERROR_TIMEOUT)
            fail_msg("%s", err.message);
          sched_yield();
        }
      for (uint32_t n = 0; n < RUNS; ++n)
        expect_end(pending[n], &what[n], &hard_rigs[r].outputs);
      vyre_program_destroy(program);
    }
}

/* finish() alone ends it too, and the program may be gone by then. */
static void a_run_outlives_its_program(void **state)
{
  static dispatch_of what;
  (void)state;
  for (vyre_route route = 0; route < RIG_ROUTES; ++route) {
    vyre_program *program = NULL;
    vyre_pending *pending = NULL;
    hop_init(&what, 100, 3);
    program = hard_create(&hard_rigs[1], &what.h);
    pending = begin(program, &what, route);
    vyre_program_destroy(program);
    expect_end(pending, &what, &hard_rigs[1].outputs);
  }
}

/* Let go at once, or after some polls: nothing is left behind, and the next run is right. */
static void a_run_is_let_go(void **state)
{
  static dispatch_of what;
  char text[RIG_TEXT];
  (void)state;
  for (uint32_t r = 0; r < HARD_RIGS; ++r)
    for (vyre_route route = 0; route < RIG_ROUTES; ++route) {
      vyre_program *program = NULL;
      hop_init(&what, MOST, 8);
      program = hard_create(&hard_rigs[r], &what.h);
      for (uint32_t polls = 0; polls < 12; ++polls) {
        vyre_pending *pending = begin(program, &what, route);
        for (uint32_t n = 0; n < polls; ++n)
          (void)vyre_pending_wait(pending, 0, NULL);
        vyre_pending_release(pending);
        if (polls % 4 == 0 &&
            !rig_dispatch(&hard_rigs[r], program, &what.h.program, route, &what.h.want, text))
          fail_msg("route %s: %s", vyre_route_name(route), text);
      }
      vyre_program_destroy(program);
    }
}

/* ---- a fault ---- */

static const char fault_source[] =
    "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) += 1u;\n"
    "}\n"
    "VYRE_SEGMENT(leap)(vyre_ctx *c, VYRE_INOUT(vyre_u32) other, VYRE_IN(vyre_u32) a)\n"
    "{\n" I "  if (i == 0u)\n"
    "    vyre_at(c, other, vyre_at(c, a, 0) == 3u ? 99u : 0u) = 1u;\n"
    "}\n";

static const char *where_of(vyre_route route)
{
  const bool records = (hard_rigs[0].device->info.capabilities & VYRE_CAP_SEQUENCES) != 0;
  return records && route == VYRE_ROUTE_RESIDENT && hard_recording == VYRE__RECORDING_ALWAYS
             ? "replay of 2 segments, pass 3: "
             : "segment 2 of 2 ('leap'), pass 3: ";
}

/* Pass 3 writes outside a buffer: the caller's slots and inputs are as they were. */
static void a_fault_in_the_third_pass(void **state)
{
  static const uint32_t given[70], other[2];
  (void)state;
  for (uint32_t r = 0; r < HARD_RIGS; ++r) {
    rig *on = &hard_rigs[r];
    vyre_program *program = NULL;
    hard h;
    hard_init(&h, fault_source);
    hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 70, given);
    hard_buffer(&h, "other", VYRE_READ_WRITE, 4, 2, other);
    hard_segment(&h, "up");
    hard_bind(&h, "a", VYRE_READ_WRITE);
    hard_segment(&h, "leap");
    hard_bind(&h, "other", VYRE_READ_WRITE);
    hard_bind(&h, "a", VYRE_READ_ONLY);
    h.program.flags = VYRE_PROGRAM_DEBUG;
    h.program.iterations = 5;
    program = hard_create(on, &h);
    for (vyre_route route = 0; route < RIG_ROUTES; ++route) {
      const vyre_bytes inputs[] = {{given, sizeof given}, {other, sizeof other}};
      vyre_dispatch_options options = rig_options(&h.program, route);
      vyre_outputs outputs = VYRE_OUTPUTS_INIT;
      vyre_error err = VYRE_ERROR_INIT;
      void *slot = NULL;
      options.iterations = 2;
      assert_int_equal(vyre_dispatch(program, &options, inputs, 2, &outputs, NULL, &err), VYRE_OK);
      slot = outputs.slots[0].data;
      options.iterations = 5;
      assert_int_equal(vyre_dispatch(program, &options, inputs, 2, &outputs, NULL, &err),
                       VYRE_ERROR_DISPATCH_FAILED);
      if (!strstr(err.message, "other") || !strstr(err.message, "99"))
        fail_msg("route %s: %s", vyre_route_name(route), err.message);
      if (route >= VYRE_ROUTE_RESIDENT && !strstr(err.message, where_of(route)))
        fail_msg("route %s: %s", vyre_route_name(route), err.message);
      assert_int_equal(outputs.count, 2);
      assert_ptr_equal(outputs.slots[0].data, slot);
      for (uint32_t i = 0; i < 70; ++i)
        assert_int_equal(((uint32_t *)slot)[i], 2);
      vyre_outputs_reset(&outputs);
    }
    vyre_program_destroy(program);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_threads_on_one_program), cmocka_unit_test(polls_drive_a_run),
      cmocka_unit_test(a_run_outlives_its_program), cmocka_unit_test(a_run_is_let_go),
      cmocka_unit_test(a_fault_in_the_third_pass),
  };
  int failures = 0;
  for (hard_recording = VYRE__RECORDING_ALWAYS; hard_recording <= VYRE__RECORDING_NEVER;
       ++hard_recording)
    failures += cmocka_run_group_tests(tests, hard_open, hard_close);
  return failures;
}
