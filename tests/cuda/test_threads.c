/*
 * Threads: what one has opened, another uses, with no context current there; several at once on one
 * device and on two; and first looks at once.
 */
#include "support.h"

#include <pthread.h>
#include <string.h>

#define THREADS 4u
#define TURNS 50u
#define WORDS 256u

typedef struct user {
  vyre_backend_device *device;
  vyre_backend_kernel *kernel;
  uint32_t number, wrong, depth;
  vyre_error err;
} user;

/* Adds what the thread brings to what it brings, and looks at every word. */
static void *work(void *argument)
{
  user *of = argument;
  uint32_t a[WORDS], b[WORDS], sum[WORDS];
  for (uint32_t turn = 0; turn < TURNS; ++turn) {
    for (uint32_t i = 0; i < WORDS; ++i) {
      a[i] = i * (of->number + 1);
      b[i] = turn;
    }
    vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, a, WORDS),
                               bind_host(1, VYRE_READ_ONLY, b, WORDS),
                               bind_host(2, VYRE_WRITE_ONLY, NULL, WORDS)};
    const vyre_dispatch_desc desc = launch_of(of->kernel, bindings, 3);
    vyre_slot slot = slot_of(sum, sizeof sum);
    if (run_try(of->device, &desc, &slot, 1, &of->err) != VYRE_OK) {
      of->wrong++;
      break;
    }
    for (uint32_t i = 0; i < WORDS; ++i)
      of->wrong += sum[i] != a[i] + b[i];
  }
  of->depth = driver->depth();
  return NULL;
}

static void opened_here_used_there(void **state)
{
  vyre_backend_device *devices[2];
  vyre_backend_module *modules[2];
  pthread_t threads[THREADS];
  user users[THREADS];
  (void)state;
  driver->reset();
  for (uint32_t i = 0; i < 2; ++i) {
    devices[i] = open_device(i);
    modules[i] = load_module(devices[i], ptx_of(1, "add", 3));
  }
  for (uint32_t i = 0; i < THREADS; ++i) {
    users[i] = (user){.device = devices[i % 2],
                      .kernel = find_kernel(modules[i % 2], "add"),
                      .number = i,
                      .err = VYRE_ERROR_INIT};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &users[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    if (users[i].wrong)
      fail_msg("thread %u: %u wrong: %s", i, users[i].wrong, users[i].err.message);
    assert_int_equal(users[i].depth, 0);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    backend->module_unload(devices[i], modules[i]);
    backend->device_close(devices[i]);
  }
  assert_clean();
}

typedef struct closer {
  vyre_backend_device *device;
  vyre_backend_module *module;
} closer;

static void *close_all(void *argument)
{
  const closer *of = argument;
  backend->module_unload(of->device, of->module);
  backend->device_close(of->device);
  return NULL;
}

static void closed_there(void **state)
{
  pthread_t thread;
  (void)state;
  driver->reset();
  closer of = {.device = open_device(1)};
  of.module = load_module(of.device, ptx_of(1, "add", 3));
  assert_int_equal(pthread_create(&thread, NULL, close_all, &of), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_clean();
}

/* First looks at once: the driver is started by one of them, for all. */
static void *look(void *argument)
{
  uint32_t *count = argument;
  return backend->device_count(count, NULL) == VYRE_OK ? NULL : argument;
}

static void first_look_at_once(void **state)
{
  pthread_t threads[THREADS];
  uint32_t counts[THREADS] = {0};
  (void)state;
  for (uint32_t i = 0; i < THREADS; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, look, &counts[i]), 0);
  for (uint32_t i = 0; i < THREADS; ++i) {
    void *failed = NULL;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
    assert_int_equal(counts[i], 2);
  }
#ifdef VYRE_TEST_HIP
  assert_int_equal(driver->calls("cuInit"), 2); /* the tests' own hipRTC stands on it, too */
#else
  assert_int_equal(driver->calls("cuInit"), 1);
#endif
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_look_at_once),
      cmocka_unit_test(opened_here_used_there),
      cmocka_unit_test(closed_there),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
