/*
 * Things that go wrong in the middle of a run, on each route: in every launch of every pass, in
 * every allocation, copy and read.  The caller's slots and inputs are byte for byte as they were,
 * nothing is left behind, the message says where it was.
 */
#include "core/base/alloc.h"
#include "tests/dispatch/long_programs.h"

static const long_kind kinds[] = {LONG_REACH, LONG_SATURATE, LONG_DECLARED, LONG_PAIR};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* ---- what the caller has ---- */

typedef struct caller {
  unsigned char given[3][LONG_BYTES];
  vyre_bytes inputs[3];
  vyre_outputs outputs;
  vyre_dispatch_result result;
  vyre_error err;
  /* How it was. */
  vyre_outputs was;
  vyre_output_slot slots[LONG_OUTPUTS];
  unsigned char bytes[LONG_OUTPUTS][LONG_BYTES];
} caller;

/* With `filled`: slots that hold the results of one pass. */
static void caller_init(caller *c, vyre_program *program, long_kind kind, bool filled)
{
  static const vyre_outputs none = VYRE_OUTPUTS_INIT;
  static const vyre_error no_error = VYRE_ERROR_INIT;
  static const vyre_dispatch_result no_result = VYRE_DISPATCH_RESULT_INIT;
  const vyre_bytes *inputs = long_inputs(kind);
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  memset(c, 0, sizeof *c);
  for (uint32_t i = 0; i < vyre_program_input_count(program); ++i) {
    memcpy(c->given[i], inputs[i].data, LONG_BYTES);
    c->inputs[i].data = c->given[i];
    c->inputs[i].size = LONG_BYTES;
  }
  c->outputs = none;
  c->err = no_error;
  c->result = no_result;
  options.iterations = 1;
  options.route = VYRE_ROUTE_HOST;
  if (filled)
    assert_int_equal(vyre_dispatch(program, &options, inputs, vyre_program_input_count(program),
                                   &c->outputs, NULL, &c->err),
                     VYRE_OK);
  c->was = c->outputs;
  for (uint32_t i = 0; i < c->outputs.count; ++i) {
    c->slots[i] = c->outputs.slots[i];
    memcpy(c->bytes[i], c->slots[i].data, (size_t)c->slots[i].size);
  }
}

static vyre_status caller_run(caller *c, vyre_program *program, vyre_route route)
{
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  options.route = route;
  return vyre_dispatch(program, &options, c->inputs, vyre_program_input_count(program), &c->outputs,
                       &c->result, &c->err);
}

/* Everything is as it was, and the plugin holds no launch; frees what the caller has. */
static void caller_end_untouched(caller *c, const on_fixture *on, long_kind kind)
{
  static const vyre_dispatch_result no_result = VYRE_DISPATCH_RESULT_INIT;
  const vyre_bytes *inputs = long_inputs(kind);
  assert_memory_equal(&c->outputs, &c->was, sizeof c->was);
  for (uint32_t i = 0; i < c->was.count; ++i) {
    assert_memory_equal(&c->outputs.slots[i], &c->slots[i], sizeof c->slots[i]);
    assert_memory_equal(c->slots[i].data, c->bytes[i], (size_t)c->slots[i].size);
  }
  assert_memory_equal(&c->result, &no_result, sizeof no_result);
  for (uint32_t i = 0; i < 3 && c->inputs[i].data; ++i)
    assert_memory_equal(c->given[i], inputs[i].data, LONG_BYTES);
  assert_int_equal(on->plugin.get("pendings_live"), 0);
  vyre_outputs_reset(&c->outputs);
}

static void assert_error(const caller *c, vyre_status status, vyre_status code, const char *what,
                         const char *text)
{
  if (status != code || c->err.code != code || !strstr(c->err.message, text) || !c->err.fix[0])
    fail_msg("%s: status %d, not %d: '%s' (%s), not '%s'", what, (int)status, (int)code,
             c->err.message, c->err.fix, text);
}

/* ---- one program on one way ---- */

typedef struct scene {
  on_fixture on;
  long_kind kind;
  long_way way;
  vyre_program *program;
  long_outcome wanted;
  uint32_t steps;    /* kernels that a whole run takes */
  uint32_t segments; /* of the program */
  char what[64];     /* for messages */
} scene;

static void scene_create(scene *s)
{
  s->program = long_create(&s->on, s->kind, s->way);
}

static void scene_open(scene *s, long_kind kind, long_way way)
{
  vyre_dispatch_result result;
  int64_t before = 0;
  memset(s, 0, sizeof *s);
  s->kind = kind;
  s->way = way;
  snprintf(s->what, sizeof s->what, "%s, %s", long_names[kind], long_way_names[way]);
  long_open(&s->on, way, NULL);
  scene_create(s);
  s->segments = kind == LONG_SATURATE ? 1 : 2;
  before = s->on.plugin.get("launch_steps");
  long_run(s->program, kind, long_route(way), 0, &result, &s->wanted);
  assert_int_equal(result.form, long_form(way));
  assert_int_equal(s->wanted.converged, VYRE_CONVERGED_YES);
  s->steps = (uint32_t)(s->on.plugin.get("launch_steps") - before);
  assert_true(s->steps > 4);
}

static void scene_close(scene *s)
{
  vyre_program_destroy(s->program);
  on_fixture_close(&s->on);
}

/* A run without faults is as it was before: nothing was spoilt. */
static void scene_assert_sound(scene *s)
{
  vyre_dispatch_result result;
  static long_outcome got;
  long_run(s->program, s->kind, long_route(s->way), 0, &result, &got);
  long_assert_same(&got, &s->wanted, s->what);
}

/* Where the n-th kernel of a run is, in the words of a message. */
static void place_of(const scene *s, uint32_t n, char *text, size_t size)
{
  static const char *const names[][2] = {
      {"spread", "join"}, {"rise", ""}, {"count", "show"}, {"both", "again"}};
  const bool settles = s->way == LONG_LAUNCHES && s->kind != LONG_DECLARED;
  const uint32_t each = s->segments + settles;
  const uint32_t step = (n - 1) % each, pass = (n - 1) / each + 1;
  size_t row = 0;
  while (kinds[row] != s->kind)
    ++row;
  if (s->way == LONG_EMULATED || s->way == LONG_NATIVE)
    snprintf(text, size, "all %u segments in one: ", s->segments);
  else if (step == s->segments)
    snprintf(text, size, "convergence test, pass %u: ", pass);
  else
    snprintf(text, size, "segment %u of %u ('%s'), pass %u: ", step + 1, s->segments,
             names[row][step], pass);
}

/* A fault at every n from 1 to `last` in turn, by a forced route. */
static void sweep(scene *s, const char *control, uint32_t last, vyre_status code, const char *text,
                  bool with_place)
{
  char place[96] = "";
  for (uint32_t n = 1; n <= last; ++n) {
    caller c;
    vyre_status status;
    caller_init(&c, s->program, s->kind, n % 2);
    on_fixture_set(&s->on, control, n);
    status = caller_run(&c, s->program, long_route(s->way));
    on_fixture_set(&s->on, control, 0);
    if (with_place)
      place_of(s, n, place, sizeof place);
    assert_error(&c, status, code, s->what, place);
    assert_error(&c, status, code, s->what, text);
    assert_non_null(strstr(c.err.message, long_names[s->kind]));
    caller_end_untouched(&c, &s->on, s->kind);
  }
  scene_assert_sound(s);
}

/* ---- launches ---- */

static void test_every_launch_fails(void **state)
{
  (void)state;
  for (size_t k = 0; k < KINDS; ++k)
    for (int way = 0; way < LONG_WAYS; ++way) {
      scene s;
      if (way == LONG_COMPARED && kinds[k] == LONG_DECLARED)
        continue; /* nothing is compared */
      scene_open(&s, kinds[k], (long_way)way);
      sweep(&s, "fail_at", s.steps, VYRE_ERROR_DISPATCH_FAILED, "this launch was to fail", true);
      scene_close(&s);
    }
}

/* A refused launch is an error on a forced route. */
static void test_every_launch_is_refused(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    if (way == LONG_EMULATED)
      continue; /* it makes no launches; see test_emulated.c */
    scene_open(&s, LONG_REACH, (long_way)way);
    sweep(&s, "dispatch_fail_at", way == LONG_NATIVE ? 1 : s.steps, VYRE_ERROR_DISPATCH_FAILED,
          "the fixture does not dispatch now", true);
    scene_close(&s);
  }
}

static void test_every_launch_loses_the_device(void **state)
{
  (void)state;
  for (size_t k = 0; k < KINDS; ++k)
    for (int way = 0; way < LONG_WAYS; ++way) {
      scene s;
      uint32_t launches;
      if (way == LONG_COMPARED && kinds[k] == LONG_DECLARED)
        continue;
      scene_open(&s, kinds[k], (long_way)way);
      launches = way == LONG_NATIVE ? 1 : s.steps;
      for (uint32_t n = 1; n <= launches; ++n) {
        caller c;
        vyre_status status;
        caller_init(&c, s.program, s.kind, n % 2);
        on_fixture_set(&s.on, "lose_at", n);
        status = caller_run(&c, s.program, long_route(s.way));
        assert_error(&c, status, VYRE_ERROR_DEVICE_LOST, s.what, "lost");
        caller_end_untouched(&c, &s.on, s.kind);
        assert_int_equal(vyre_device_generation(s.on.device), n);
        vyre_program_destroy(s.program);
        assert_int_equal(s.on.plugin.get("buffers_live"), 0);
        assert_int_equal(s.on.plugin.get("modules_live"), 0);
        assert_int_equal(vyre_device_recover(s.on.device, NULL), VYRE_OK);
        scene_create(&s);
      }
      scene_assert_sound(&s);
      scene_close(&s);
    }
}

/* A loss while nothing is done with the run: it is found later, and everything can be freed. */
static void test_lost_between_waits(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    vyre_pending *pending = NULL;
    vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
    vyre_error err = VYRE_ERROR_INIT;
    scene_open(&s, LONG_REACH, (long_way)way);
    options.route = long_route(s.way);
    on_fixture_set(&s.on, "lose_at", 1);
    (void)vyre_dispatch_start(s.program, &options, long_inputs(LONG_REACH), 3, &pending, &err);
    if (pending) {
      assert_int_equal(vyre_pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DEVICE_LOST);
      assert_int_equal(vyre_device_recover(s.on.device, NULL), VYRE_OK);
      assert_int_equal(vyre_pending_wait(pending, 0, &err), VYRE_ERROR_DEVICE_LOST);
      assert_int_equal(vyre_pending_finish(pending, NULL, NULL, &err), VYRE_ERROR_DEVICE_LOST);
      vyre_pending_release(pending);
    }
    scene_close(&s);
  }
}

/* ---- what comes back on the host route ---- */

static void test_every_read_lies(void **state)
{
  static const struct {
    const char *control;
    vyre_status code;
    const char *text;
  } rows[] = {
      {"drop_output", VYRE_ERROR_DISPATCH_FAILED, "outputs, plugin fixture returned "},
      {"swap_outputs", VYRE_ERROR_DISPATCH_FAILED, "; expected is binding "},
      {"extra_output", VYRE_ERROR_INVALID_ARGUMENT, "too few slots"},
      {"long_output", VYRE_ERROR_DISPATCH_FAILED, ""},
  };
  (void)state;
  for (size_t k = 0; k < KINDS; ++k)
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
      scene s;
      scene_open(&s, kinds[k], LONG_HOST);
      sweep(&s, rows[i].control, s.steps, rows[i].code, rows[i].text, true);
      scene_close(&s);
    }
}

/* The buffer is named. */
static void test_named_buffers(void **state)
{
  static const struct {
    const char *control;
    uint32_t read;
    const char *text;
  } rows[] = {
      {"drop_output", 1,
       "segment 1 of 2 ('both'), pass 1: segment 'both' has 2 outputs, plugin "
       "fixture returned 1"},
      {"swap_outputs", 3,
       "segment 1 of 2 ('both'), pass 2: plugin fixture returned binding 1 as "
       "output 0; expected is binding 0, 'left'"},
      {"long_output", 4,
       "segment 2 of 2 ('again'), pass 2: plugin fixture returned 165 bytes of "
       "'right'; expected are 164"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    scene s;
    caller c;
    vyre_status status;
    scene_open(&s, LONG_PAIR, LONG_HOST);
    caller_init(&c, s.program, s.kind, true);
    on_fixture_set(&s.on, rows[i].control, rows[i].read);
    status = caller_run(&c, s.program, VYRE_ROUTE_HOST);
    assert_error(&c, status, VYRE_ERROR_DISPATCH_FAILED, s.what, rows[i].text);
    caller_end_untouched(&c, &s.on, s.kind);
    scene_close(&s);
  }
}

/* ---- memory and copies ---- */

/* Fails the n-th of something for n = 1, 2, … with a new program each time, until a run succeeds.
 */
static void exhaust(scene *s, const char *control, vyre_status code, uint32_t least)
{
  vyre_status status = code;
  uint32_t n = 0;
  while (status != VYRE_OK) {
    caller c;
    assert_true(++n < 500);
    vyre_program_destroy(s->program);
    scene_create(s);
    caller_init(&c, s->program, s->kind, n % 2);
    if (control)
      on_fixture_set(&s->on, control, n);
    else
      vyre__test_fail_allocation(n);
    status = caller_run(&c, s->program, long_route(s->way));
    if (control)
      on_fixture_set(&s->on, control, 0);
    else
      vyre__test_fail_allocation(0);
    if (status == VYRE_OK) {
      static long_outcome got;
      long_keep(&c.outputs, &c.result, &got);
      long_assert_same(&got, &s->wanted, s->what);
      vyre_outputs_reset(&c.outputs);
      if (c.result.form != long_form(s->way))
        status = code; /* the plugin's own form has fallen to launches: more can fail */
    } else {
      assert_error(&c, status, code, s->what, long_names[s->kind]);
      caller_end_untouched(&c, &s->on, s->kind);
    }
  }
  if (n <= least)
    fail_msg("%s: %s: only %u failed", s->what, control ? control : "allocations", n - 1);
  scene_assert_sound(s);
}

static void test_every_allocation_fails(void **state)
{
  (void)state;
  for (size_t k = 0; k < KINDS; ++k)
    for (int way = 0; way < LONG_WAYS; ++way) {
      scene s;
      if (way == LONG_COMPARED && kinds[k] == LONG_DECLARED)
        continue;
      scene_open(&s, kinds[k], (long_way)way);
      exhaust(&s, NULL, VYRE_ERROR_OUT_OF_HOST_MEMORY, 5);
      if (way != LONG_HOST)
        exhaust(&s, "alloc_fail_at", VYRE_ERROR_OUT_OF_DEVICE_MEMORY,
                kinds[k] == LONG_SATURATE && way == LONG_COMPARED ? 1 : 2);
      scene_close(&s);
    }
}

static void test_every_copy_fails(void **state)
{
  (void)state;
  for (size_t k = 0; k < KINDS; ++k)
    for (int way = LONG_LAUNCHES; way < LONG_WAYS; ++way) {
      scene s;
      if (way == LONG_COMPARED && kinds[k] == LONG_DECLARED)
        continue;
      scene_open(&s, kinds[k], (long_way)way);
      exhaust(&s, "copy_fail_at", VYRE_ERROR_DISPATCH_FAILED, 3);
      scene_close(&s);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_launch_fails),
      cmocka_unit_test(test_every_launch_is_refused),
      cmocka_unit_test(test_every_launch_loses_the_device),
      cmocka_unit_test(test_lost_between_waits),
      cmocka_unit_test(test_every_read_lies),
      cmocka_unit_test(test_named_buffers),
      cmocka_unit_test(test_every_allocation_fails),
      cmocka_unit_test(test_every_copy_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
