/*
 * test_device.c - the tables by version, what a device says of itself, a context that dies under
 * two handles, the vendor's own events and queues, the clock.
 */
#include "support.h"

#include <string.h>
#include <time.h>

static vyre_backend_device *device;

static int set_up(void **state)
{
  (void)state;
  driver->reset();
  device = open_device(0);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  backend->device_close(device);
  assert_clean();
  return 0;
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- info ---- */

static void what_a_device_says(void **state)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  (void)state;
  OK(backend->device_info(0, &info, &fresh));
  assert_int_equal(info.struct_size, sizeof info);
  assert_string_equal(info.id, info.pci);
  assert_int_equal(info.device_class, VYRE_DEVICE_GPU);
  assert_int_equal(info.progress, VYRE_PROGRESS_OCCUPANCY);
  assert_int_equal(info.grid_sync, VYRE_GRID_SYNC_NATIVE);
  assert_int_equal(info.coherent_atomics,
                   VYRE_COHERENT_LOAD_STORE_32 | VYRE_COHERENT_LOAD_STORE_64);
  const uint64_t wanted = VYRE_CAP_BUFFERS | VYRE_CAP_IMPORT_EXPORT | VYRE_CAP_COHERENT |
                          VYRE_CAP_PERSISTENT | VYRE_CAP_SUBGROUPS | VYRE_CAP_TIMESTAMPS |
                          VYRE_CAP_INTEROP | VYRE_CAP_SEQUENCES;
  assert_int_equal(info.capabilities & wanted, wanted);
  assert_int_equal(info.capabilities & VYRE_CAP_ALLOC_WHILE_RESIDENT, 0);
  assert_true(info.max_push_bytes >= 128 && info.max_bindings >= 66);
}

static void what_does_not_exist(void **state)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  vyre_backend_device *none = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(backend->device_info(77, &info, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_string_equal(info.name, "");
  assert_contains(err.message, "77");
  assert_int_equal(open_try(77, &none, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(none);
}

/* ---- a context that dies ---- */

static void kill_context(vyre_backend_device *of)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (driver->fail)("cuMemsetD8Async", 1, 700);
  assert_int_equal(backend->buffer_alloc(of, 64, &buffer, &err), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(err.vendor_code, 700);
  assert_null(buffer);
  (driver->fail)(NULL, 0, 0);
}

/* The context is one for all handles: it is reset once each of them knows that it is dead. */
static void two_handles_lose_one_context(void **state)
{
  vyre_backend_device *first = NULL, *second = NULL, *third = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t ns = 0, host_ns = 0;
  (void)state;
  driver->reset();
  OK(open_try(0, &first, &fresh));
  OK(open_try(0, &second, &fresh));
  vyre_backend_buffer *buffer = make_buffer(first, 100);
  kill_context(first);
  const uint64_t calls = driver->calls(NULL);
  assert_int_equal(backend->device_clock(first, &ns, &host_ns, &err), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(err.vendor_code, 700);
  assert_int_equal(driver->calls(NULL), calls); /* it is latched */
  assert_int_equal(open_try(0, &third, &err), VYRE_ERROR_DEVICE_LOST);
  assert_null(third);
  assert_contains(err.message, "others");
  assert_int_equal(driver->calls("cuDevicePrimaryCtxReset"), 0);
  assert_int_equal(backend->device_clock(second, &ns, &host_ns, &err), VYRE_ERROR_DEVICE_LOST);
  OK(open_try(0, &third, &fresh));
  assert_int_equal(driver->calls("cuDevicePrimaryCtxReset"), 1);
  OK(backend->device_clock(third, &ns, &host_ns, &fresh));
  /* What the dead ones held went with the context; they ask the driver for nothing. */
  backend->buffer_free(first, buffer);
  backend->device_close(first);
  backend->device_close(second);
  OK(backend->device_clock(third, &ns, &host_ns, &fresh));
  backend->device_close(third);
  assert_clean();
}

/* ---- native events and queues ---- */

static void events_of_the_vendor(void **state)
{
  vyre_native_handle event = {.struct_size = sizeof event}, wrong = {.struct_size = sizeof wrong};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  OK(backend->event_record(device, &event, &fresh));
  assert_int_equal(event.type, VYRE_NATIVE_CUDA);
  assert_true(event.handle != 0);
  const uint64_t handle = event.handle, live = driver->live("event");
  OK(backend->event_wait(device, &event, &fresh));
  OK(backend->event_record(device, &event, &fresh));
  assert_int_equal(event.handle, handle);
  assert_int_equal(driver->live("event"), live);
  OK(backend->event_release(device, &event, &fresh));
  assert_int_equal(driver->live("event"), live - 1);
  wrong.type = VYRE_NATIVE_HIP;
  wrong.handle = handle;
  assert_int_equal(backend->event_wait(device, &wrong, &err), VYRE_ERROR_INVALID_ARGUMENT);
  wrong.type = VYRE_NATIVE_CUDA;
  wrong.handle = 0;
  assert_int_equal(backend->event_wait(device, &wrong, &err), VYRE_ERROR_INVALID_ARGUMENT);
  for (uint32_t i = 0; i < 2; ++i) {
    vyre_native_handle none = {.struct_size = sizeof none};
    (driver->fail)(i ? "cuEventRecord" : "cuEventCreate", 1, 304);
    assert_true(backend->event_record(device, &none, &err) != VYRE_OK);
    assert_true(!none.handle && !none.type);
    assert_int_equal(driver->live("event"), live - 1);
  }
}

static void a_queue_of_the_caller(void **state)
{
  vyre_backend_device_options options = {.struct_size = sizeof options,
                                         .queue = {.struct_size = sizeof options.queue}};
  vyre_native_handle queue = {.struct_size = sizeof queue};
  vyre_backend_device *other = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  OK(backend->queue_export(device, &options.queue, &fresh));
  const uint64_t streams = driver->live("stream");
  OK(backend->device_open(0, &options, &other, &fresh));
  OK(backend->queue_export(other, &queue, &fresh));
  assert_int_equal(queue.handle, options.queue.handle);
  backend->buffer_free(other, make_buffer(other, 1000));
  backend->device_close(other);
  assert_int_equal(driver->live("stream"), streams);
  backend->buffer_free(device, make_buffer(device, 1000));
  /* The default streams wait for others, or differ from thread to thread. */
  other = NULL;
  for (uint64_t handle = 1; handle <= 2; ++handle) {
    options.queue.handle = handle;
    assert_int_equal(backend->device_open(0, &options, &other, &err), VYRE_ERROR_INVALID_ARGUMENT);
    assert_null(other);
  }
  options.queue.type = VYRE_NATIVE_HIP;
  assert_int_equal(backend->device_open(0, &options, &other, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(other);
}

/* ---- the clock ---- */

/* Long enough that its epoch is moved on several times. */
static void the_clock_goes_on(void **state)
{
  const uint64_t start = now_ns();
  uint64_t last = 0, first = 0, ns = 0, host_ns = 0, moves = 0;
  (void)state;
  OK(backend->device_clock(device, &first, &host_ns, &fresh));
  while (now_ns() - start < 450000000u) {
    const uint64_t before = now_ns();
    OK(backend->device_clock(device, &ns, &host_ns, &fresh));
    assert_true(host_ns >= before && host_ns <= now_ns());
    assert_true(ns >= last);
    moves += ns > last;
    last = ns;
  }
  assert_true(moves > 3);
  /* It keeps the host's pace, as far as two readings tell. */
  assert_true(last - first > 100000000u && last - first < now_ns() - start + 100000000u);
}

int main(void)
{
#define LIFE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      LIFE(what_a_device_says),
      LIFE(what_does_not_exist),
      cmocka_unit_test(two_handles_lose_one_context),
      LIFE(events_of_the_vendor),
      LIFE(a_queue_of_the_caller),
      LIFE(the_clock_goes_on),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
