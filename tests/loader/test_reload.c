/* Loading and unloading again and again, by one thread and by many, with a log hook that listens.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/plugins/with_fixture.h"

/* Descriptors of the process that are open now. */
static unsigned open_files(void)
{
  unsigned count = 0;
  int fd;
  for (fd = 0; fd < 256; fd++)
    count += fcntl(fd, F_GETFD) != -1;
  return count;
}

static void test_hundred_times(void **state)
{
  unsigned round, files = open_files();
  (void)state;
  for (round = 0; round < 100; round++) {
    vyre_context *context = NULL;
    vyre_device *device = NULL;
    assert_int_equal(fixture_context("none", &context, NULL), VYRE_OK);
    assert_int_equal(open_selected(context, "fixture:0", &device, NULL), VYRE_OK);
    assert_true(is_mapped("libvyre_fixture.so"));
    vyre_device_close(device);
    vyre_context_destroy(context);
    assert_false(is_mapped("libvyre_fixture.so"));
  }
  assert_int_equal(open_files(), files);
}

static void test_failing_hundred_times(void **state)
{
  static const char *const faults[] = {"refusing", "slot_null", "missing_dependency", "no_symbol"};
  unsigned round, files = open_files();
  (void)state;
  for (round = 0; round < 100; round++) {
    vyre_context *context = NULL;
    assert_int_not_equal(fixture_context(faults[round % 4], &context, NULL), VYRE_OK);
    assert_false(is_mapped("libvyre_fixture"));
  }
  assert_int_equal(open_files(), files);
}

/* The plugin that may not be unloaded stays, and is used again as it is. */
static void test_no_unload(void **state)
{
  unsigned round;
  (void)state;
  for (round = 0; round < 10; round++) {
    vyre_context *context = NULL;
    assert_int_equal(fixture_context("no_unload", &context, NULL), VYRE_OK);
    assert_int_equal(vyre_context_device_count(context), FIXTURE_DEVICES);
    vyre_context_destroy(context);
    assert_true(is_mapped("libvyre_fixture_no_unload.so"));
  }
}

/* Two contexts, one plugin: the first to go leaves it to the other. */
static void test_two_contexts(void **state)
{
  vyre_context *one = NULL, *other = NULL;
  vyre_device *device = NULL;
  (void)state;
  assert_int_equal(fixture_context("none", &one, NULL), VYRE_OK);
  assert_int_equal(fixture_context("none", &other, NULL), VYRE_OK);
  vyre_context_destroy(one);
  assert_true(is_mapped("libvyre_fixture.so"));
  assert_int_equal(open_selected(other, "gpu", &device, NULL), VYRE_OK);
  vyre_device_close(device);
  vyre_context_destroy(other);
  assert_false(is_mapped("libvyre_fixture.so"));
}

/* ---- the log ---- */

typedef struct heard {
  uint32_t lines;   /* atomic */
  uint32_t plugins; /* atomic: lines that the plugin wrote */
} heard;

/* Calls back into vyre: no lock may be held. */
static void listen(void *self, vyre_log_level level, const char *text)
{
  heard *by = self;
  vyre_context *context = NULL;
  vyre_context_options none = only_files(NULL, 0);
  (void)level;
  __atomic_add_fetch(&by->lines, 1, __ATOMIC_RELAXED);
  if (strstr(text, "the fixture is asked")) {
    __atomic_add_fetch(&by->plugins, 1, __ATOMIC_RELAXED);
    assert_int_equal(vyre_context_create(&none, &context, NULL), VYRE_OK);
    vyre_context_destroy(context);
  }
  assert_null(strchr(text, '\n'));
}

static vyre_context *listening(heard *by, vyre_log_level level)
{
  char path[FIXTURE_PATH_SIZE];
  const char *files[] = {path};
  vyre_context_options options = only_files(files, 1);
  vyre_context *context = NULL;
  fixture_path("none", path);
  options.log = listen;
  options.log_self = by;
  options.log_level = level;
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  return context;
}

static void test_log(void **state)
{
  heard debug = {0, 0}, info = {0, 0}, quiet = {0, 0};
  vyre_context *a = NULL, *b = NULL, *c = NULL;
  (void)state;
  a = listening(&debug, VYRE_LOG_DEBUG);
  assert_int_equal(debug.plugins, 1);
  assert_true(debug.lines >= 2);
  b = listening(&info, VYRE_LOG_INFO);
  assert_int_equal(info.plugins, 0);
  assert_int_equal(info.lines, 1);
  assert_int_equal(debug.plugins, 2); /* a plugin's line goes to every context */
  c = listening(&quiet, VYRE_LOG_WARNING);
  assert_int_equal(quiet.lines, 0);
  vyre_context_destroy(a);
  vyre_context_destroy(b);
  vyre_context_destroy(c);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 25 };

static void *come_and_go(void *argument)
{
  heard *by = argument;
  unsigned round;
  for (round = 0; round < ROUNDS; round++) {
    vyre_context *context = listening(by, VYRE_LOG_DEBUG);
    vyre_device *device = NULL;
    assert_int_equal(open_selected(context, "fixture:3", &device, NULL), VYRE_OK);
    vyre_context_destroy(context); /* the device keeps it */
    vyre_device_close(device);
  }
  return NULL;
}

static void test_threads(void **state)
{
  heard by[THREADS] = {{0, 0}};
  pthread_t threads[THREADS];
  int i;
  (void)state;
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &by[i]), 0);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (i = 0; i < THREADS; i++)
    assert_true(by[i].plugins >= ROUNDS);
  assert_false(is_mapped("libvyre_fixture.so"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hundred_times), cmocka_unit_test(test_failing_hundred_times),
      cmocka_unit_test(test_no_unload),     cmocka_unit_test(test_two_contexts),
      cmocka_unit_test(test_log),           cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
