/* Pending dispatches: waiting, timeouts, finishing once, releasing; and the process's child. */
#include "core/base/alloc.h"
#include "tests/dispatch/on_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static on_fixture on;
static uint32_t numbers[4] = {1, 2, 3, 4};
static const vyre_bytes input = {numbers, sizeof numbers};

static int open_device(void **state)
{
  (void)state;
  on_fixture_open(&on, "", "fixture:0");
  return 0;
}

static int close_device(void **state)
{
  (void)state;
  on_fixture_close(&on);
  return 0;
}

static vyre_pending *started(vyre_program *program)
{
  vyre_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_dispatch_start(program, NULL, &input, 1, &pending, &err))
    fail_msg("%s", err.message);
  return pending;
}

static void test_wait(void **state)
{
  vyre_program *program = on_fixture_increment(&on);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_pending *pending = NULL;
  (void)state;
  on_fixture_set(&on, "hold", 1);
  pending = started(program);
  assert_int_equal(vyre_pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT);
  assert_int_equal(vyre_pending_wait(pending, 1000000, &err), VYRE_ERROR_TIMEOUT);
  assert_int_equal(err.code, VYRE_ERROR_TIMEOUT);
  on_fixture_set(&on, "hold", 0);
  assert_int_equal(vyre_pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_OK);
  assert_int_equal(vyre_pending_wait(pending, 0, &err), VYRE_OK);
  assert_int_equal(vyre_pending_finish(pending, &outputs, NULL, &err), VYRE_OK);
  assert_int_equal(((uint32_t *)outputs.slots[0].data)[3], 5);
  assert_int_equal(vyre_pending_finish(pending, &outputs, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "finished before"));
  vyre_pending_release(pending);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);

  vyre_pending_release(NULL);
  assert_int_equal(vyre_pending_wait(NULL, 0, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_pending_finish(NULL, NULL, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_dispatch_start(program, NULL, &input, 1, NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
}

/* The pending dispatch keeps its program, module and device alive. */
static void test_outlives_program(void **state)
{
  vyre_program *program = on_fixture_increment(&on);
  vyre_pending *first = started(program), *second = started(program);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  (void)state;
  vyre_program_destroy(program);
  assert_int_equal(on.plugin.get("modules_live"), 1);
  assert_int_equal(vyre_pending_finish(first, &outputs, NULL, NULL), VYRE_OK);
  assert_int_equal(((uint32_t *)outputs.slots[0].data)[0], 2);
  vyre_pending_release(first);
  vyre_pending_release(second); /* never finished */
  assert_int_equal(on.plugin.get("modules_live"), 0);
  vyre_outputs_reset(&outputs);
}

static void *let_go(void *argument)
{
  fixture *plugin = argument;
  /* Whoever is held has begun to wait. */
  while (plugin->get("waits") == 0)
    sched_yield();
  plugin->set("hold", 0);
  return NULL;
}

/* A dispatch with a time limit returns TIMEOUT, after the device let go of the caller's bytes. */
static void test_timeout(void **state)
{
  vyre_program *program = on_fixture_increment(&on);
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  pthread_t thread;
  (void)state;
  on_fixture_set(&on, "reset", 0);
  on_fixture_set(&on, "hold", 1);
  options.timeout_ns = 1;
  assert_int_equal(pthread_create(&thread, NULL, let_go, &on.plugin), 0);
  /* The launch may end just before the limit is looked at: both are right. */
  if (vyre_dispatch(program, &options, &input, 1, &outputs, NULL, &err))
    assert_int_equal(err.code, VYRE_ERROR_TIMEOUT);
  pthread_join(thread, NULL);
  assert_int_equal(on.plugin.get("pendings_live"), 0);
  options.timeout_ns = 60000000000u;
  assert_int_equal(vyre_dispatch(program, &options, &input, 1, &outputs, NULL, &err), VYRE_OK);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* When memory for the outputs is short, finish can be called again: the results are not lost. */
static void test_finish_again(void **state)
{
  vyre_program *program = on_fixture_increment(&on);
  vyre_pending *pending = started(program);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t n = 1;
  vyre_status status = VYRE_ERROR_OUT_OF_HOST_MEMORY;
  (void)state;
  for (; status != VYRE_OK; ++n) {
    assert_true(n < 100);
    vyre__test_fail_allocation(n <= 2 ? n : 0);
    status = vyre_pending_finish(pending, &outputs, NULL, &err);
    vyre__test_fail_allocation(0);
    if (status != VYRE_OK) {
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_int_equal(outputs.count, 0);
    }
  }
  assert_int_equal(n, 4);
  assert_int_equal(((uint32_t *)outputs.slots[0].data)[2], 4);
  vyre_pending_release(pending);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* In a child every call says FORKED, and release frees host memory only. */
static void test_fork(void **state)
{
  vyre_program *program = on_fixture_increment(&on);
  vyre_pending *pending = started(program);
  int status = 0;
  pid_t child = fork();
  (void)state;
  assert_true(child >= 0);
  if (!child) {
    vyre_pending *another = NULL;
    vyre_program *created = NULL;
    sample s;
    bool good = vyre_pending_wait(pending, 0, NULL) == VYRE_ERROR_FORKED &&
                vyre_pending_finish(pending, NULL, NULL, NULL) == VYRE_ERROR_FORKED &&
                vyre_dispatch_start(program, NULL, &input, 1, &another, NULL) == VYRE_ERROR_FORKED;
    sample_init(&s);
    good = good && vyre_program_create(on.device, &s.desc, &created, NULL) == VYRE_ERROR_FORKED;
    vyre_pending_release(pending);
    vyre_program_destroy(program);
    good = good && on.plugin.get("pendings_live") == 1 && on.plugin.get("modules_live") == 1;
    _exit(good ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  vyre_pending_release(pending);
  vyre_program_destroy(program);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wait),    cmocka_unit_test(test_outlives_program),
      cmocka_unit_test(test_timeout), cmocka_unit_test(test_finish_again),
      cmocka_unit_test(test_fork),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
