/*
 * Runs of several launches in two steps: they go on in the calls that wait for them, one thread
 * drives, others wait; several at once; memory that runs out at the end; the process's child.
 */
#include "core/base/alloc.h"
#include "tests/dispatch/long_programs.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct scene {
  on_fixture on;
  long_way way;
  vyre_program *program;
  long_outcome wanted;
} scene;

static void scene_open(scene *s, long_way way)
{
  vyre_dispatch_result result;
  memset(s, 0, sizeof *s);
  s->way = way;
  long_open(&s->on, way, NULL);
  s->program = long_create(&s->on, LONG_REACH, way);
  long_run(s->program, LONG_REACH, long_route(way), 0, &result, &s->wanted);
}

static void scene_close(scene *s)
{
  vyre_program_destroy(s->program);
  on_fixture_close(&s->on);
}

static vyre_pending *start(const scene *s)
{
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  options.route = long_route(s->way);
  if (vyre_dispatch_start(s->program, &options, long_inputs(LONG_REACH), 3, &pending, &err))
    fail_msg("%s: %s", long_way_names[s->way], err.message);
  return pending;
}

/* Finishes it, as it should be, and lets it go. */
static void finish(const scene *s, vyre_pending *pending)
{
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  static long_outcome got;
  if (vyre_pending_finish(pending, &outputs, &result, &err))
    fail_msg("%s: %s", long_way_names[s->way], err.message);
  long_keep(&outputs, &result, &got);
  long_assert_same(&got, &s->wanted, long_way_names[s->way]);
  assert_int_equal(result.form, long_form(s->way));
  vyre_outputs_reset(&outputs);
  vyre_pending_release(pending);
}

/* A wait of 0 starts what can be started; enough of them are the whole run. */
static void test_polled(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    vyre_pending *pending = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    scene_open(&s, (long_way)way);
    on_fixture_set(&s.on, "hold", 1);
    pending = start(&s);
    assert_int_equal(vyre_pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT);
    assert_int_equal(vyre_pending_wait(pending, 1000000, &err), VYRE_ERROR_TIMEOUT);
    assert_int_equal(err.code, VYRE_ERROR_TIMEOUT);
    on_fixture_set(&s.on, "hold", 0);
    assert_int_equal(vyre_pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, 0, &err), VYRE_OK);
    finish(&s, pending);
    scene_close(&s);
  }
}

/* Each has values of its own; they end in another order than they began. */
static void test_several(void **state)
{
  enum { COUNT = 5 };
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    vyre_pending *pending[COUNT];
    vyre_error err = VYRE_ERROR_INIT;
    scene_open(&s, (long_way)way);
    for (int i = 0; i < COUNT; ++i)
      pending[i] = start(&s);
    assert_int_equal(vyre_pending_wait(pending[2], VYRE_NO_TIMEOUT, &err), VYRE_OK);
    vyre_pending_release(pending[1]); /* never waited for */
    vyre_program_destroy(s.program);  /* they keep it */
    s.program = NULL;
    finish(&s, pending[4]);
    finish(&s, pending[0]);
    finish(&s, pending[3]);
    finish(&s, pending[2]);
    assert_int_equal(s.on.plugin.get("modules_live"), 0);
    assert_int_equal(s.on.plugin.get("buffers_live"), 0);
    scene_close(&s);
  }
}

/* ---- threads ---- */

static void *wait_for_it(void *argument)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_status status = vyre_pending_wait(argument, VYRE_NO_TIMEOUT, &err);
  return (void *)(intptr_t)status;
}

static void test_two_wait(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    pthread_t threads[2];
    vyre_pending *pending = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    int64_t waits;
    scene_open(&s, (long_way)way);
    on_fixture_set(&s.on, "hold", 1);
    pending = start(&s);
    waits = s.on.plugin.get("waits");
    for (int i = 0; i < 2; ++i)
      assert_int_equal(pthread_create(&threads[i], NULL, wait_for_it, pending), 0);
    while (s.on.plugin.get("waits") == waits)
      sched_yield(); /* one of them drives */
    assert_int_equal(vyre_pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT);
    assert_true(err.message[0] && err.fix[0]);
    on_fixture_set(&s.on, "hold", 0);
    for (int i = 0; i < 2; ++i) {
      void *said = NULL;
      pthread_join(threads[i], &said);
      assert_ptr_equal(said, NULL);
    }
    finish(&s, pending);
    scene_close(&s);
  }
}

typedef struct dispatcher {
  const scene *s;
  bool good;
} dispatcher;

/* No asserts here: cmocka's are for the main thread. */
static void *dispatch_often(void *argument)
{
  dispatcher *self = argument;
  const scene *s = self->s;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  options.route = long_route(s->way);
  self->good = true;
  for (uint32_t i = 0; i < 20 && self->good; ++i) {
    const vyre_bytes inputs[3] = {{s->wanted.bytes[2], LONG_BYTES},
                                  {s->wanted.bytes[0], LONG_BYTES},
                                  {s->wanted.bytes[2], LONG_BYTES}};
    self->good = !vyre_dispatch(s->program, &options, inputs, 3, &outputs, &result, NULL) &&
                 result.converged == VYRE_CONVERGED_YES && outputs.count == 3 &&
                 !memcmp(outputs.slots[0].data, s->wanted.bytes[0], LONG_BYTES) &&
                 !memcmp(outputs.slots[2].data, s->wanted.bytes[2], LONG_BYTES);
  }
  vyre_outputs_reset(&outputs);
  return NULL;
}

/* Many threads dispatch one program: idle blocks and buffers change hands between them. */
static void test_many_dispatch(void **state)
{
  enum { COUNT = 4 };
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    pthread_t threads[COUNT];
    dispatcher dispatchers[COUNT];
    scene_open(&s, (long_way)way);
    for (int i = 0; i < COUNT; ++i) {
      dispatchers[i].s = &s;
      assert_int_equal(pthread_create(&threads[i], NULL, dispatch_often, &dispatchers[i]), 0);
    }
    for (int i = 0; i < COUNT; ++i) {
      pthread_join(threads[i], NULL);
      assert_true(dispatchers[i].good);
    }
    scene_close(&s);
  }
}

/* ---- ends ---- */

/* When memory is short at the end, finish can be called again: the results are not lost. */
static void test_finish_again(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    vyre_pending *pending = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    scene_open(&s, (long_way)way);
    pending = start(&s);
    assert_int_equal(vyre_pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_OK);
    vyre__test_fail_allocation(1);
    assert_int_equal(vyre_pending_finish(pending, &outputs, NULL, &err),
                     VYRE_ERROR_OUT_OF_HOST_MEMORY);
    vyre__test_fail_allocation(0);
    assert_int_equal(outputs.count, 0);
    finish(&s, pending);
    scene_close(&s);
  }
}

/* A run that has failed says the same to everybody, and can be let go at any point. */
static void test_failed(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    vyre_pending *pending = NULL;
    vyre_error first = VYRE_ERROR_INIT, again = VYRE_ERROR_INIT;
    scene_open(&s, (long_way)way);
    on_fixture_set(&s.on, "fail_at", 4);
    pending = start(&s);
    assert_int_equal(vyre_pending_wait(pending, VYRE_NO_TIMEOUT, &first),
                     VYRE_ERROR_DISPATCH_FAILED);
    on_fixture_set(&s.on, "fail_at", 0);
    assert_int_equal(vyre_pending_wait(pending, 0, &again), VYRE_ERROR_DISPATCH_FAILED);
    assert_string_equal(first.message, again.message);
    again.message[0] = '\0';
    assert_int_equal(vyre_pending_finish(pending, NULL, NULL, &again), VYRE_ERROR_DISPATCH_FAILED);
    assert_string_equal(first.message, again.message);
    vyre_pending_release(pending);
    vyre_pending_release(start(&s));
    scene_close(&s);
  }
}

/* In a child every call says FORKED, and release frees host memory only. */
static void test_fork(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    scene s;
    vyre_pending *pending = NULL;
    int status = 0;
    pid_t child;
    scene_open(&s, (long_way)way);
    pending = start(&s);
    child = fork();
    assert_true(child >= 0);
    if (!child) {
      vyre_pending *another = NULL;
      const int64_t buffers = s.on.plugin.get("buffers_live");
      const int64_t launches = s.on.plugin.get("pendings_live");
      bool good = vyre_pending_wait(pending, 0, NULL) == VYRE_ERROR_FORKED &&
                  vyre_pending_finish(pending, NULL, NULL, NULL) == VYRE_ERROR_FORKED &&
                  vyre_dispatch_start(s.program, NULL, long_inputs(LONG_REACH), 3, &another,
                                      NULL) == VYRE_ERROR_FORKED;
      vyre_pending_release(pending);
      vyre_program_destroy(s.program);
      good = good && s.on.plugin.get("buffers_live") == buffers &&
             s.on.plugin.get("pendings_live") == launches;
      _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      fail_msg("%s: the child ended with %d", long_way_names[way], status);
    finish(&s, pending);
    scene_close(&s);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_polled),       cmocka_unit_test(test_several),
      cmocka_unit_test(test_two_wait),     cmocka_unit_test(test_many_dispatch),
      cmocka_unit_test(test_finish_again), cmocka_unit_test(test_failed),
      cmocka_unit_test(test_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
