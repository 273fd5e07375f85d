/* Buffers: bytes in and out, ranges, limits, faults, threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "tests/plugins/with_fixture.h"

static vyre_context *context;
static vyre_device *device;
static fixture plugin;

static int set_up(void **state)
{
  char path[FIXTURE_PATH_SIZE];
  (void)state;
  fixture_path("none", path);
  plugin = fixture_attach(path);
  assert_non_null(plugin.set);
  assert_int_equal(fixture_context("none", &context, NULL), VYRE_OK);
  assert_int_equal(open_selected(context, "fixture:0", &device, NULL), VYRE_OK);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  vyre_device_close(device);
  vyre_context_destroy(context);
  assert_int_equal(plugin.get("buffers_live"), 0);
  assert_int_equal(plugin.get("bytes_live"), 0);
  fixture_detach(&plugin);
  return 0;
}

static vyre_buffer *make(uint64_t size)
{
  vyre_buffer *buffer = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_buffer_create(device, size, &buffer, &err))
    fail_msg("%s", err.message);
  assert_int_equal(vyre_buffer_size(buffer), size);
  return buffer;
}

static void expect_bytes(const vyre_buffer *buffer, const unsigned char *bytes, uint64_t size)
{
  unsigned char got[512];
  assert_true(size <= sizeof got);
  assert_int_equal(vyre_buffer_download(buffer, 0, got, size, NULL), VYRE_OK);
  assert_memory_equal(got, bytes, size);
}

/* Sizes that are no multiple of anything, offsets likewise; the rest stays as it is. */
static void test_bytes(void **state)
{
  uint64_t size, offset, length;
  unsigned char model[67], data[67];
  (void)state;
  for (length = 0; length < sizeof data; length++)
    data[length] = (unsigned char)(length * 7 + 1);
  for (size = 0; size <= sizeof model; size += 11) {
    vyre_buffer *buffer = make(size);
    memset(model, 0, sizeof model);
    if (size)
      expect_bytes(buffer, model, size); /* zeros at first */
    for (offset = 0; offset <= size; offset += 3) {
      length = (size - offset) / 2;
      assert_int_equal(vyre_buffer_upload(buffer, offset, data, length, NULL), VYRE_OK);
      memcpy(model + offset, data, length);
      assert_int_equal(vyre_buffer_fill(buffer, offset, length / 2, 0xfe, NULL), VYRE_OK);
      memset(model + offset, 0xfe, length / 2);
      if (size)
        expect_bytes(buffer, model, size);
    }
    vyre_buffer_destroy(buffer);
  }
}

static void test_copy(void **state)
{
  unsigned char model[32] = {0}, data[32];
  vyre_buffer *from = make(32), *to = make(32);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof data; i++)
    data[i] = (unsigned char)(200 - i);
  assert_int_equal(vyre_buffer_upload(from, 0, data, 32, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_copy(to, 3, from, 10, 13, NULL), VYRE_OK);
  memcpy(model + 3, data + 10, 13);
  expect_bytes(to, model, 32);
  assert_int_equal(vyre_buffer_copy(from, 16, from, 0, 16, NULL), VYRE_OK); /* side by side */
  memcpy(data + 16, data, 16);
  expect_bytes(from, data, 32);
  assert_int_equal(vyre_buffer_copy(from, 5, from, 0, 0, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_copy(from, 15, from, 0, 16, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_copy(from, 0, from, 15, 16, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_copy(from, 0, from, 0, 1, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  vyre_buffer_destroy(from);
  vyre_buffer_destroy(to);
}

static void expect_range_error(vyre_status status, const vyre_error *err)
{
  assert_int_equal(status, VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err->message, "which has 16"));
  assert_true(err->fix[0]);
}

static void test_ranges(void **state)
{
  static const uint64_t ranges[][2] = {{0, 17},          {16, 1},         {17, 0},
                                       {UINT64_MAX, 1},  {1, UINT64_MAX}, {8, UINT64_MAX - 4},
                                       {UINT64_MAX, 16}, {15, 2},         {UINT64_MAX, UINT64_MAX}};
  vyre_buffer *buffer = make(16), *other = make(64);
  vyre_error err = VYRE_ERROR_INIT;
  unsigned char data[64] = {0};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    uint64_t offset = ranges[i][0], size = ranges[i][1];
    expect_range_error(vyre_buffer_upload(buffer, offset, data, size, &err), &err);
    expect_range_error(vyre_buffer_download(buffer, offset, data, size, &err), &err);
    expect_range_error(vyre_buffer_fill(buffer, offset, size, 1, &err), &err);
    expect_range_error(vyre_buffer_copy(buffer, offset, other, 0, size, &err), &err);
    if (size <= 64)
      expect_range_error(vyre_buffer_copy(other, 0, buffer, offset, size, &err), &err);
  }
  assert_int_equal(vyre_buffer_upload(buffer, 16, data, 0, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_upload(buffer, 16, NULL, 0, NULL), VYRE_OK);
  vyre_buffer_destroy(buffer);
  vyre_buffer_destroy(other);
}

static void test_null(void **state)
{
  vyre_buffer *buffer = make(16), *out = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  unsigned char data[4] = {0};
  (void)state;
  assert_int_equal(vyre_buffer_create(NULL, 4, &out, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_create(device, 4, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_upload(NULL, 0, data, 4, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_upload(buffer, 0, NULL, 4, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_download(NULL, 0, data, 4, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_download(buffer, 0, NULL, 4, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_fill(NULL, 0, 4, 0, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_copy(NULL, 0, buffer, 0, 4, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_copy(buffer, 0, NULL, 0, 4, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_buffer_size(NULL), 0);
  vyre_buffer_destroy(NULL);
  vyre_buffer_destroy(buffer);
}

static void test_limits(void **state)
{
  vyre_device *npu = NULL, *other = NULL;
  vyre_buffer *buffer = NULL, *mine = make(8);
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre_buffer_create(device, (1u << 28) + 1, &buffer, &err),
                   VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_non_null(strstr(err.message, "268435457"));
  assert_non_null(strstr(err.message, "268435456"));
  assert_int_equal(open_selected(context, "npu", &npu, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_create(npu, 4, &buffer, &err), VYRE_ERROR_UNSUPPORTED);
  assert_non_null(strstr(err.message, "fixture:4"));
  vyre_device_close(npu);
  assert_int_equal(open_selected(context, "fixture:1", &other, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_create(other, 8, &buffer, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_copy(buffer, 0, mine, 0, 8, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "fixture:1 and fixture:0"));
  vyre_buffer_destroy(buffer);
  vyre_buffer_destroy(mine);
  vyre_device_close(other);
}

static void test_faults(void **state)
{
  static const struct {
    const char *fault;
    vyre_status status;
    const char *message;
  } rows[] = {
      {"alloc_fails", VYRE_ERROR_OUT_OF_DEVICE_MEMORY, "has no 64 bytes"},
      {"alloc_null", VYRE_ERROR_INTERNAL, "buffer_alloc succeeded and gave no buffer"},
      {"tier_1", VYRE_ERROR_UNSUPPORTED, "no resident buffers"},
  };
  size_t i;
  (void)state;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    vyre_context *faulty = NULL;
    vyre_device *opened = NULL;
    vyre_buffer *buffer = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    assert_int_equal(fixture_context(rows[i].fault, &faulty, NULL), VYRE_OK);
    assert_int_equal(vyre_device_open(faulty, NULL, &opened, NULL), VYRE_OK);
    assert_int_equal(vyre_buffer_create(opened, 64, &buffer, &err), rows[i].status);
    assert_non_null(strstr(err.message, rows[i].message));
    assert_true(err.fix[0]);
    assert_null(buffer);
    vyre_device_close(opened);
    vyre_context_destroy(faulty);
  }
}

static void test_copy_errors(void **state)
{
  vyre_buffer *buffer = make(8), *other = make(8);
  unsigned char data[8] = {5, 5, 5, 5, 5, 5, 5, 5};
  (void)state;
  plugin.set("copy_error", VYRE_ERROR_DISPATCH_FAILED);
  assert_int_equal(vyre_buffer_upload(buffer, 0, data, 8, NULL), VYRE_ERROR_DISPATCH_FAILED);
  assert_int_equal(vyre_buffer_download(buffer, 0, data, 8, NULL), VYRE_ERROR_DISPATCH_FAILED);
  assert_int_equal(vyre_buffer_fill(buffer, 0, 8, 1, NULL), VYRE_ERROR_DISPATCH_FAILED);
  assert_int_equal(vyre_buffer_copy(buffer, 0, other, 0, 8, NULL), VYRE_ERROR_DISPATCH_FAILED);
  plugin.set("copy_error", 0);
  assert_int_equal(data[0], 5);
  vyre_buffer_destroy(buffer);
  vyre_buffer_destroy(other);
}

static void test_no_memory(void **state)
{
  vyre_buffer *buffer = NULL;
  uint64_t n, count;
  (void)state;
  vyre__test_fail_allocation(0);
  buffer = make(64);
  count = vyre__test_allocation_count();
  vyre_buffer_destroy(buffer);
  assert_true(count >= 3);
  for (n = 1; n <= count; n++) {
    vyre_buffer *none = NULL;
    vyre__test_fail_allocation(n);
    assert_int_equal(vyre_buffer_create(device, 64, &none, NULL), VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_null(none);
    assert_int_equal(plugin.get("buffers_live"), 0);
  }
  vyre__test_fail_allocation(0);
}

/* ---- threads: one device, a buffer each, and one that all write ---- */

enum { THREADS = 4, ROUNDS = 100 };
static vyre_buffer *shared_buffer;

static void *move_bytes(void *argument)
{
  uint32_t number = *(const uint32_t *)argument, back = 0, round;
  vyre_buffer *own = make(4);
  for (round = 0; round < ROUNDS; round++) {
    uint32_t word = number * 1000 + round;
    assert_int_equal(vyre_buffer_upload(own, 0, &word, 4, NULL), VYRE_OK);
    assert_int_equal(vyre_buffer_copy(shared_buffer, number * 4, own, 0, 4, NULL), VYRE_OK);
    assert_int_equal(vyre_buffer_download(shared_buffer, number * 4, &back, 4, NULL), VYRE_OK);
    assert_int_equal(back, word);
  }
  vyre_buffer_destroy(own);
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[THREADS];
  uint32_t numbers[THREADS], i;
  (void)state;
  shared_buffer = make(THREADS * 4);
  for (i = 0; i < THREADS; i++) {
    numbers[i] = i;
    assert_int_equal(pthread_create(&threads[i], NULL, move_bytes, &numbers[i]), 0);
  }
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  vyre_buffer_destroy(shared_buffer);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes),       cmocka_unit_test(test_copy),
      cmocka_unit_test(test_ranges),      cmocka_unit_test(test_null),
      cmocka_unit_test(test_limits),      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_copy_errors), cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
