/*
 * Recorded passes that a program keeps for its next dispatches: when they are used again, when they
 * are recorded anew, and that none outlives a buffer that it binds.
 */
#include "tests/gridsync/front.h"

#include "core/base/alloc.h"
#include "core/dispatch/replay.h"

#include <pthread.h>
#include <stdlib.h>

#define I "  const vyre_u64 i = vyre_global_id(c, 0);\n"

enum { COUNT = 300, SETS = 3 };

static const char source[] =
    "typedef struct constants { vyre_u32 step; } constants;\n"
    "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a))\n"
    "    vyre_at(c, b, i) = vyre_at(c, a, i) + vyre_push(c, constants)->step;\n"
    "}\n"
    "VYRE_SEGMENT(keep)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = vyre_at(c, b, i);\n"
    "}\n";

static uint32_t zeros[COUNT], step;

/* A program, and buffers to dispatch it on. */
typedef struct subject {
  hard h;
  vyre_program *program;
  vyre_buffer *sets[SETS][2];
  uint32_t raised[SETS]; /* what each element of a set's `a` is */
} subject;

static vyre_buffer *new_buffer(void)
{
  vyre_buffer *buffer = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_buffer_create(hard_rigs[1].device, sizeof zeros, &buffer, &err))
    fail_msg("%s", err.message);
  return buffer;
}

static void begin(subject *s, uint32_t segments, vyre_converge converge)
{
  memset(s, 0, sizeof *s);
  hard_init(&s->h, source);
  hard_buffer(&s->h, "a", VYRE_READ_WRITE, 4, COUNT, zeros);
  hard_buffer(&s->h, "b", VYRE_READ_WRITE, 4, COUNT, zeros);
  hard_segment(&s->h, "up");
  hard_bind(&s->h, "a", VYRE_READ_ONLY);
  hard_bind(&s->h, "b", VYRE_WRITE_ONLY);
  if (segments > 1) {
    hard_segment(&s->h, "keep");
    hard_bind(&s->h, "a", VYRE_READ_WRITE);
    hard_bind(&s->h, "b", VYRE_READ_ONLY);
  }
  step = 1;
  s->h.program.iterations = 1000;
  s->h.program.converge = converge;
  s->h.program.push = &step;
  s->h.program.push_size = sizeof step;
  s->program = hard_create(&hard_rigs[1], &s->h);
  for (uint32_t set = 0; set < SETS; ++set)
    for (uint32_t b = 0; b < 2; ++b)
      s->sets[set][b] = new_buffer();
  front_reset();
  front_on.early_frees = 0;
  assert_int_equal(front_on.live, 0);
}

/* No buffer is freed before what binds it. */
static void end(subject *s)
{
  for (uint32_t set = 0; set < SETS; ++set)
    for (uint32_t b = 0; b < 2; ++b)
      vyre_buffer_destroy(s->sets[set][b]);
  vyre_program_destroy(s->program);
  assert_int_equal(front_on.live, 0);
  assert_int_equal(front_on.early_frees, 0);
}

static vyre_status try(subject *s, uint32_t set, uint32_t passes, vyre_dispatch_result *out_result,
                       vyre_error *err)
{
  static const vyre_dispatch_result none = VYRE_DISPATCH_RESULT_INIT;
  vyre_dispatch_options options = rig_options(&s->h.program, VYRE_ROUTE_RESIDENT);
  options.iterations = passes;
  *out_result = none;
  return vyre_dispatch_buffers(s->program, &options, s->sets[set], 2, out_result, err);
}

static void check(const subject *s, uint32_t set)
{
  uint32_t words[COUNT];
  assert_int_equal(vyre_buffer_download(s->sets[set][0], 0, words, sizeof words, NULL), VYRE_OK);
  for (uint32_t i = 0; i < COUNT; ++i)
    assert_int_equal(words[i], s->raised[set]);
}

static vyre_form run(subject *s, uint32_t set, uint32_t passes)
{
  vyre_dispatch_result result;
  vyre_error err = VYRE_ERROR_INIT;
  if (try(s, set, passes, &result, &err))
    fail_msg("%s (%s)", err.message, err.fix);
  assert_int_equal(result.passes, passes);
  if (s->h.program.segment_count > 1)
    s->raised[set] += passes * step;
  check(s, set);
  return result.form;
}

/* ---- the same again ---- */

static void the_next_dispatch_starts_it(void **state)
{
  static const uint32_t passes[] = {50, 50, 3, 200, 1, 50};
  subject s;
  (void)state;
  begin(&s, 2, VYRE_CONVERGE_OFF);
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; ++i) {
    assert_int_equal(run(&s, 0, passes[i]), VYRE_FORM_REPLAYS);
    assert_int_equal(front_on.creates, 1);
    assert_int_equal(front_on.releases, 0);
  }
  assert_int_equal(front_on.dispatches, 0);
  assert_int_equal(front_on.replays, 354);
  end(&s);
}

/* The buffers that vyre makes for host bytes are the same ones in the next dispatch. */
static void on_host_bytes(void **state)
{
  static const vyre_converge converges[] = {VYRE_CONVERGE_OFF, VYRE_CONVERGE_EXACT,
                                            VYRE_CONVERGE_DECLARED};
  (void)state;
  for (size_t c = 0; c < sizeof converges / sizeof converges[0]; ++c) {
    subject s;
    begin(&s, 2, converges[c]);
    for (uint32_t i = 0; i < 4; ++i) {
      vyre_dispatch_options options = rig_options(&s.h.program, VYRE_ROUTE_RESIDENT);
      vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
      vyre_outputs outputs = VYRE_OUTPUTS_INIT;
      vyre_bytes inputs[VYRE_MAX_BUFFERS];
      vyre_error err = VYRE_ERROR_INIT;
      const uint32_t count = rig_inputs(&s.h.program, inputs);
      options.iterations = 40;
      if (vyre_dispatch(s.program, &options, inputs, count, &outputs, &result, &err))
        fail_msg("%s", err.message);
      if (converges[c] != VYRE_CONVERGE_DECLARED) { /* there nobody says that it changes */
        assert_int_equal(result.form, VYRE_FORM_REPLAYS);
        assert_int_equal(front_on.creates, 1);
        for (uint32_t e = 0; e < COUNT; ++e)
          assert_int_equal(((const uint32_t *)outputs.slots[0].data)[e], 40);
      }
      vyre_outputs_reset(&outputs);
    }
    if (converges[c] == VYRE_CONVERGE_EXACT) /* 6 passes of the first dispatch */
      assert_int_equal(front_on.dispatches, 18);
    end(&s);
  }
}

/* ---- short runs ---- */

/* Recorded when 16 launches were made, in however many dispatches. */
static void short_runs_add_up(void **state)
{
  static const struct {
    uint32_t segments, passes, single; /* dispatches launch by launch */
  } rows[] = {{2, 1, 8}, {2, 2, 4}, {2, 4, 2}, {2, 8, 1}, {1, 2, 8}, {1, 1, 100}};
  (void)state;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    subject s;
    begin(&s, rows[r].segments, VYRE_CONVERGE_OFF);
    for (uint32_t i = 0; i < 20; ++i) {
      const vyre_form form = run(&s, 0, rows[r].passes);
      assert_int_equal(form, i < rows[r].single ? VYRE_FORM_LAUNCHES : VYRE_FORM_REPLAYS);
      assert_int_equal(front_on.creates, i >= rows[r].single);
    }
    end(&s);
  }
}

/* ---- not the same ---- */

static void other_constants(void **state)
{
  subject s;
  (void)state;
  begin(&s, 2, VYRE_CONVERGE_OFF);
  for (uint32_t i = 0; i < 6; ++i) {
    step = 1 + i;
    run(&s, 0, 20);
    assert_int_equal(front_on.creates, i + 1);
    assert_int_equal(front_on.live, i ? 2 : 1); /* the last two are kept */
  }
  step = 5;
  run(&s, 0, 20);
  assert_int_equal(front_on.creates, 6);
  end(&s);
}

static void sets_by_turns(void **state)
{
  (void)state;
  for (uint32_t sets = 1; sets <= SETS; ++sets) {
    subject s;
    begin(&s, 2, VYRE_CONVERGE_OFF);
    for (uint32_t i = 0; i < 12; ++i)
      run(&s, i % sets, 20);
    assert_int_equal(front_on.creates, sets <= VYRE__KEPT ? sets : 12);
    end(&s);
  }
}

/* The allocator may give the same address again: it is another buffer all the same. */
static void a_buffer_made_anew(void **state)
{
  subject s;
  (void)state;
  begin(&s, 2, VYRE_CONVERGE_OFF);
  for (uint32_t i = 0; i < 8; ++i) {
    run(&s, 0, 20);
    assert_int_equal(front_on.creates, i + 1);
    assert_int_equal(front_on.live, 1);
    vyre_buffer_destroy(s.sets[0][i % 2]);
    assert_int_equal(front_on.live, 0);
    assert_int_equal(front_on.early_frees, 0);
    s.sets[0][i % 2] = new_buffer();
    if (i % 2 == 0)
      s.raised[0] = 0;
  }
  end(&s);
}

/* Of two recordings only the one goes that binds it. */
static void a_buffer_of_one_of_two(void **state)
{
  subject s;
  (void)state;
  begin(&s, 2, VYRE_CONVERGE_OFF);
  run(&s, 0, 20);
  run(&s, 1, 20);
  vyre_buffer_destroy(s.sets[0][1]);
  s.sets[0][1] = NULL;
  assert_int_equal(front_on.live, 1);
  run(&s, 1, 20);
  assert_int_equal(front_on.creates, 2);
  vyre_program_destroy(s.program);
  s.program = NULL;
  assert_int_equal(front_on.live, 0);
  end(&s);
}

/* ---- lifetimes ---- */

static void the_program_goes_first(void **state)
{
  (void)state;
  for (uint32_t kept = 0; kept < 2; ++kept) {
    vyre_pending *pending = NULL;
    vyre_dispatch_options options;
    subject s;
    begin(&s, 2, VYRE_CONVERGE_OFF);
    if (kept)
      run(&s, 0, 30);
    options = rig_options(&s.h.program, VYRE_ROUTE_RESIDENT);
    options.iterations = 900;
    assert_int_equal(vyre_dispatch_buffers_start(s.program, &options, s.sets[0], 2, &pending, NULL),
                     VYRE_OK);
    vyre_program_destroy(s.program);
    s.program = NULL;
    assert_int_equal(front_on.live, 1);
    assert_int_equal(vyre_pending_finish(pending, NULL, NULL, NULL), VYRE_OK);
    vyre_pending_release(pending);
    assert_int_equal(front_on.live, 0);
    s.raised[0] += 900;
    check(&s, 0);
    end(&s);
  }
}

/* Whatever call of a kept one fails: it is not started a second time. */
static void a_start_that_fails(void **state)
{
  (void)state;
  for (uint32_t at = 1; at <= 3; ++at) {
    vyre_dispatch_result result;
    vyre_error err = VYRE_ERROR_INIT;
    subject s;
    begin(&s, 2, VYRE_CONVERGE_OFF);
    run(&s, 0, 150);
    front_reset();
    front_on.fails_at = at;
    assert_int_equal(try(&s, 0, 150, &result, &err), VYRE_ERROR_DISPATCH_FAILED);
    assert_int_equal(front_on.live, 0);
    assert_int_equal(front_on.creates, 0);
    assert_int_equal(vyre_buffer_upload(s.sets[0][0], 0, zeros, sizeof zeros, NULL), VYRE_OK);
    s.raised[0] = 0;
    assert_int_equal(run(&s, 0, 150), VYRE_FORM_REPLAYS);
    assert_int_equal(front_on.creates, 1);
    end(&s);
  }
}

static void every_allocation_can_fail(void **state)
{
  uint32_t failures = 0, replays = 0;
  uint64_t count = 0;
  subject s;
  (void)state;
  begin(&s, 2, VYRE_CONVERGE_OFF);
  run(&s, 0, 20);
  for (uint64_t n = 1; n <= count + 1; ++n) {
    vyre_dispatch_result result;
    vyre_error err = VYRE_ERROR_INIT;
    vyre_status status = VYRE_OK;
    vyre__test_fail_allocation(n);
    status = try(&s, 0, 20, &result, &err);
    count = vyre__test_allocation_count();
    vyre__test_fail_allocation(0);
    if (status)
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    else
      s.raised[0] += 20;
    failures += status != VYRE_OK;
    replays += !status && result.form == VYRE_FORM_REPLAYS;
    check(&s, 0);
  }
  assert_true(failures && replays);
  end(&s);
}

/* ---- two threads ---- */

enum { THREADS = 2, ROUNDS = 30, PASSES = 20 };

typedef struct runner {
  subject *s;
  uint32_t set; /* SETS: makes and frees buffers of its own */
  vyre_status status;
} runner;

static void *run_many(void *argument)
{
  runner *r = argument;
  for (uint32_t n = 0; n < ROUNDS && !r->status; ++n) {
    vyre_dispatch_options options = rig_options(&r->s->h.program, VYRE_ROUTE_RESIDENT);
    vyre_buffer *own[2] = {NULL, NULL};
    options.iterations = PASSES;
    for (uint32_t b = 0; b < 2 && r->set == SETS; ++b)
      r->status |= vyre_buffer_create(hard_rigs[1].device, sizeof zeros, &own[b], NULL);
    if (!r->status)
      r->status = vyre_dispatch_buffers(r->s->program, &options,
                                        r->set == SETS ? own : r->s->sets[r->set], 2, NULL, NULL);
    vyre_buffer_destroy(own[0]);
    vyre_buffer_destroy(own[1]);
  }
  return NULL;
}

/* On the same buffers, on others, and on such that come and go. */
static void two_threads(void **state)
{
  static const uint32_t rows[][THREADS] = {{0, 0}, {0, 1}, {0, SETS}, {SETS, SETS}};
  (void)state;
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; ++row) {
    runner runners[THREADS];
    pthread_t threads[THREADS];
    subject s;
    begin(&s, 2, VYRE_CONVERGE_OFF);
    for (uint32_t t = 0; t < THREADS; ++t) {
      const runner one = {&s, rows[row][t], VYRE_OK};
      runners[t] = one;
      assert_int_equal(pthread_create(&threads[t], NULL, run_many, &runners[t]), 0);
    }
    for (uint32_t t = 0; t < THREADS; ++t) {
      pthread_join(threads[t], NULL);
      assert_int_equal(runners[t].status, VYRE_OK);
      if (rows[row][t] < SETS)
        s.raised[rows[row][t]] += ROUNDS * PASSES;
    }
    check(&s, 0);
    check(&s, 1);
    if (row < 2)
      assert_in_range(front_on.creates, 1, 2);
    end(&s);
  }
}

/* ---- the last one: the device is lost ---- */

static void a_device_that_is_lost(void **state)
{
  vyre_dispatch_result result;
  vyre_error err = VYRE_ERROR_INIT;
  subject s;
  (void)state;
  begin(&s, 2, VYRE_CONVERGE_OFF);
  run(&s, 0, 30);
  run(&s, 1, 30);
  front_reset();
  front_on.fails_at = 1;
  front_on.failure = VYRE_ERROR_DEVICE_LOST;
  assert_int_equal(try(&s, 0, 30, &result, &err), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(front_on.live, 1);
  assert_int_equal(try(&s, 1, 30, &result, &err), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(front_on.starts, 1);
  assert_int_equal(vyre_device_recover(hard_rigs[1].device, NULL), VYRE_OK);
  assert_int_equal(front_on.live, 0);
  assert_int_equal(try(&s, 1, 30, &result, &err), VYRE_ERROR_DEVICE_LOST);
  end(&s);
  begin(&s, 2, VYRE_CONVERGE_OFF);
  assert_int_equal(run(&s, 0, 30), VYRE_FORM_REPLAYS);
  end(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_next_dispatch_starts_it),
      cmocka_unit_test(on_host_bytes),
      cmocka_unit_test(short_runs_add_up),
      cmocka_unit_test(other_constants),
      cmocka_unit_test(sets_by_turns),
      cmocka_unit_test(a_buffer_made_anew),
      cmocka_unit_test(a_buffer_of_one_of_two),
      cmocka_unit_test(the_program_goes_first),
      cmocka_unit_test(a_start_that_fails),
      cmocka_unit_test(every_allocation_can_fail),
      cmocka_unit_test(two_threads),
      cmocka_unit_test(a_device_that_is_lost),
  };
  return cmocka_run_group_tests(tests, front_open, front_close);
}
