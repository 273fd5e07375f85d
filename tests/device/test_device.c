/* Opened devices: references, loss, recovery, memory that runs out. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/device/device.h"
#include "tests/plugins/with_fixture.h"

static vyre_context *context;
static fixture plugin;

static int set_up(void **state)
{
  char path[FIXTURE_PATH_SIZE];
  (void)state;
  fixture_path("none", path);
  plugin = fixture_attach(path);
  if (!plugin.set)
    return 1;
  plugin.set("reset", 0);
  assert_int_equal(fixture_context("none", &context, NULL), VYRE_OK);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  vyre_context_destroy(context);
  assert_int_equal(plugin.get("devices_live"), 0);
  assert_int_equal(plugin.get("buffers_live"), 0);
  fixture_detach(&plugin);
  assert_false(is_mapped("libvyre_fixture.so"));
  return 0;
}

static vyre_device *open_gpu(void)
{
  vyre_device *device = NULL;
  assert_int_equal(open_selected(context, "fixture:0", &device, NULL), VYRE_OK);
  return device;
}

static void test_null(void **state)
{
  vyre_device_info info = {.struct_size = sizeof info};
  vyre_device *device = open_gpu();
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  vyre_device_close(NULL);
  assert_int_equal(vyre_device_get_info(NULL, &info, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_device_get_info(device, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  info.struct_size = 10;
  assert_int_equal(vyre_device_get_info(device, &info, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_device_recover(NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_device_generation(NULL), 0);
  vyre_device_close(device);
}

/* The context goes with its last device, the device with its last buffer, in any order. */
static void test_references(void **state)
{
  vyre_context *other = NULL;
  vyre_device *device = NULL;
  vyre_buffer *buffer = NULL;
  uint32_t word = 0x01020304, back = 0;
  (void)state;
  assert_int_equal(fixture_context("none", &other, NULL), VYRE_OK);
  assert_int_equal(open_selected(other, "fixture:1", &device, NULL), VYRE_OK);
  vyre_context_destroy(other);
  assert_int_equal(vyre_buffer_create(device, 4, &buffer, NULL), VYRE_OK);
  vyre_device_close(device);
  assert_int_equal(plugin.get("devices_live"), 1);
  assert_int_equal(vyre_buffer_upload(buffer, 0, &word, 4, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_download(buffer, 0, &back, 4, NULL), VYRE_OK);
  assert_int_equal(back, word);
  vyre_buffer_destroy(buffer);
  assert_int_equal(plugin.get("devices_live"), 0);
}

static void test_twice(void **state)
{
  vyre_device *one = open_gpu(), *other = open_gpu();
  (void)state;
  assert_ptr_not_equal(one, other);
  assert_int_equal(plugin.get("devices_live"), 2);
  vyre_device_close(one);
  assert_int_equal(plugin.get("devices_live"), 1);
  vyre_device_close(other);
}

/* ---- loss ---- */

/* Loses the device through a call of the plugin that says so. */
static void lose(vyre_device *device, vyre_buffer *buffer)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)device;
  plugin.set("copy_error", VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_buffer_fill(buffer, 0, 4, 1, &err), VYRE_ERROR_DEVICE_LOST);
  plugin.set("copy_error", 0);
}

/* Recovery with objects left: they stay lost, are freed with their own handle, new ones work. */
static void test_recover_with_objects(void **state)
{
  vyre_device *device = open_gpu();
  vyre_buffer *old = NULL, *fresh = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device *first_handle = device->handle;
  (void)state;
  assert_int_equal(vyre_buffer_create(device, 16, &old, NULL), VYRE_OK);
  assert_int_equal(vyre_device_generation(device), 0);
  lose(device, old);
  assert_int_equal(vyre_device_generation(device), 1);
  assert_int_equal(vyre_buffer_fill(old, 0, 4, 1, &err), VYRE_ERROR_DEVICE_LOST);
  assert_non_null(strstr(err.message, "fixture:0 is lost"));
  assert_int_equal(vyre_buffer_create(device, 16, &fresh, &err), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_device_generation(device), 1); /* one loss counts once */

  assert_int_equal(vyre_device_recover(device, &err), VYRE_OK);
  assert_int_equal(vyre_device_generation(device), 1);
  assert_int_equal(plugin.get("devices_live"), 2); /* the old one waits for its buffer */
  assert_ptr_equal(vyre__device_handle(device, 0), first_handle);
  assert_ptr_not_equal(vyre__device_handle(device, 1), first_handle);
  assert_int_equal(vyre_buffer_fill(old, 0, 4, 1, &err), VYRE_ERROR_DEVICE_LOST);
  assert_non_null(strstr(err.message, "before device fixture:0 was lost"));
  assert_int_equal(vyre_buffer_create(device, 16, &fresh, &err), VYRE_OK);
  assert_int_equal(vyre_buffer_fill(fresh, 0, 16, 9, &err), VYRE_OK);
  assert_int_equal(vyre_buffer_copy(fresh, 0, old, 0, 4, &err), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_device_recover(device, &err), VYRE_OK); /* nothing to do */

  lose(device, fresh);
  assert_int_equal(vyre_device_generation(device), 2);
  assert_int_equal(vyre_device_recover(device, &err), VYRE_OK);
  assert_int_equal(plugin.get("devices_live"), 3);
  vyre_buffer_destroy(old);
  vyre_device_close(device);
  vyre_buffer_destroy(fresh);
  assert_int_equal(plugin.get("devices_live"), 0);
}

/* Recovery with nothing left closes first. */
static void test_recover_alone(void **state)
{
  vyre_device *device = open_gpu();
  vyre_buffer *buffer = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre_buffer_create(device, 16, &buffer, NULL), VYRE_OK);
  lose(device, buffer);
  vyre_buffer_destroy(buffer);
  assert_int_equal(vyre_device_recover(device, &err), VYRE_OK);
  assert_int_equal(plugin.get("devices_live"), 1);
  assert_int_equal(plugin.get("opens"), 2);
  assert_int_equal(vyre_buffer_create(device, 16, &buffer, &err), VYRE_OK);
  vyre_buffer_destroy(buffer);
  vyre_device_close(device);
}

/* A device that does not come back stays lost, can be closed, and can be tried again. */
static void test_recover_fails(void **state)
{
  vyre_device *device = open_gpu();
  vyre_buffer *buffer = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  int with_object;
  (void)state;
  for (with_object = 0; with_object < 2; with_object++) {
    assert_int_equal(vyre_buffer_create(device, 16, &buffer, NULL), VYRE_OK);
    lose(device, buffer);
    if (!with_object)
      vyre_buffer_destroy(buffer);
    plugin.set("open_error", VYRE_ERROR_DEVICE_LOST);
    assert_int_equal(vyre_device_recover(device, &err), VYRE_ERROR_DEVICE_LOST);
    assert_non_null(strstr(err.message, "does not open"));
    assert_int_equal(vyre__device_check(device, vyre__device_generation(device), NULL),
                     VYRE_ERROR_DEVICE_LOST);
    plugin.set("open_error", 0);
    assert_int_equal(vyre_device_recover(device, &err), VYRE_OK);
  }
  vyre_buffer_destroy(buffer);
  assert_int_equal(vyre_buffer_create(device, 16, &buffer, NULL), VYRE_OK);
  lose(device, buffer);
  vyre_buffer_destroy(buffer);
  plugin.set("open_error", VYRE_ERROR_NO_DEVICE);
  assert_int_equal(vyre_device_recover(device, &err), VYRE_ERROR_NO_DEVICE);
  vyre_device_close(device);
}

/* What other parts of the core rely on. */
static void test_note(void **state)
{
  vyre_device *device = open_gpu();
  vyre_error said = VYRE_ERROR_INIT, err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre__device_note(device, VYRE_OK), VYRE_OK);
  assert_int_equal(vyre__device_note(device, VYRE_ERROR_TIMEOUT), VYRE_ERROR_TIMEOUT);
  assert_int_equal(vyre__device_check(device, 0, NULL), VYRE_OK);
  assert_int_equal(vyre__device_result(device, "f", VYRE_OK, &said, &err), VYRE_OK);
  assert_int_equal(err.code, VYRE_OK);
  assert_int_equal(vyre__device_result(device, "f", VYRE_ERROR_TIMEOUT, &said, &err),
                   VYRE_ERROR_TIMEOUT);
  assert_string_equal(err.message,
                      "fixture: f failed without a text (ABI-009): the time limit ran out");
  snprintf(said.message, sizeof said.message, "gone");
  said.vendor_code = 719;
  assert_int_equal(vyre__device_result(device, "f", VYRE_ERROR_DEVICE_LOST, &said, &err),
                   VYRE_ERROR_DEVICE_LOST);
  assert_string_equal(err.message, "gone");
  assert_int_equal(err.vendor_code, 719);
  assert_true(err.fix[0]);
  assert_int_equal(vyre_device_generation(device), 1);
  vyre__device_retain(device);
  vyre_device_close(device);
  assert_int_equal(plugin.get("devices_live"), 1);
  vyre__device_release(device);
}

/* ---- memory ---- */

static void test_no_memory(void **state)
{
  vyre_device *device = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t n, count;
  (void)state;
  vyre_device_close(open_gpu()); /* asks the plugin for its devices, once */
  vyre__test_fail_allocation(0);
  device = open_gpu();
  count = vyre__test_allocation_count();
  vyre_device_close(device);
  assert_true(count >= 4);
  for (n = 1; n <= count; n++) {
    vyre_device *none = NULL;
    memset(err.message, 0, sizeof err.message);
    vyre__test_fail_allocation(n);
    assert_int_equal(open_selected(context, "fixture:0", &none, &err),
                     VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_true(err.message[0]);
    assert_null(none);
    assert_int_equal(plugin.get("devices_live"), 0);
  }
  vyre__test_fail_allocation(0);
}

static void test_recover_without_memory(void **state)
{
  vyre_device *device = open_gpu();
  vyre_buffer *buffer = NULL;
  uint64_t n, count = 3;
  (void)state;
  assert_int_equal(vyre_buffer_create(device, 16, &buffer, NULL), VYRE_OK);
  lose(device, buffer);
  for (n = 1; n < count; n++) {
    vyre__test_fail_allocation(n);
    assert_int_equal(vyre_device_recover(device, NULL), VYRE_ERROR_OUT_OF_HOST_MEMORY);
  }
  vyre__test_fail_allocation(0);
  assert_int_equal(vyre_device_recover(device, NULL), VYRE_OK);
  assert_int_equal(vyre__test_allocation_count(), count - 1);
  vyre_buffer_destroy(buffer);
  vyre_device_close(device);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 50 };

static void *open_and_close(void *argument)
{
  unsigned round;
  (void)argument;
  for (round = 0; round < ROUNDS; round++) {
    vyre_device *device = open_gpu();
    vyre_buffer *buffer = NULL;
    assert_int_equal(vyre_buffer_create(device, 8, &buffer, NULL), VYRE_OK);
    vyre_device_close(device);
    vyre_buffer_destroy(buffer);
  }
  return NULL;
}

static void *note_loss(void *argument)
{
  vyre__device_note(argument, VYRE_ERROR_DEVICE_LOST);
  return NULL;
}

static void run_threads(void *(*what)(void *), void *argument)
{
  pthread_t threads[THREADS];
  int i;
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, what, argument), 0);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void test_threads(void **state)
{
  vyre_device *device = open_gpu();
  (void)state;
  run_threads(open_and_close, NULL);
  run_threads(note_loss, device);
  assert_int_equal(vyre_device_generation(device), 1);
  vyre_device_close(device);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_null),          TEST(test_references),
      TEST(test_twice),         TEST(test_recover_with_objects),
      TEST(test_recover_alone), TEST(test_recover_fails),
      TEST(test_note),          TEST(test_no_memory),
      TEST(test_threads),       TEST(test_recover_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
