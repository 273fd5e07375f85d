/* vyre_dispatch_buffers(): buffers of the device, in place. */
#include "core/base/alloc.h"
#include "tests/dispatch/on_fixture.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static on_fixture on;

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

static vyre_buffer *filled(const void *data, uint64_t size)
{
  vyre_buffer *buffer = NULL;
  assert_int_equal(vyre_buffer_create(on.device, size, &buffer, NULL), VYRE_OK);
  if (data)
    assert_int_equal(vyre_buffer_upload(buffer, 0, data, size, NULL), VYRE_OK);
  return buffer;
}

static void test_in_place(void **state)
{
  uint32_t in[16], out[16] = {0};
  vyre_program *program = on_fixture_copy(&on, 16);
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_buffer *buffers[2];
  (void)state;
  for (uint32_t i = 0; i < 16; ++i)
    in[i] = i + 100;
  buffers[0] = filled(in, sizeof in);
  buffers[1] = filled(NULL, sizeof out + 4); /* may be larger than declared */
  assert_int_equal(vyre_dispatch_buffers(program, NULL, buffers, 2, &result, NULL), VYRE_OK);
  assert_int_equal(result.route, VYRE_ROUTE_RESIDENT);
  assert_int_equal(result.launches, 1);
  assert_int_equal(vyre_buffer_download(buffers[1], 0, out, sizeof out, NULL), VYRE_OK);
  assert_memory_equal(out, in, sizeof in);
  vyre_buffer_destroy(buffers[0]);
  vyre_buffer_destroy(buffers[1]);
  vyre_program_destroy(program);
}

/* The size comes from the buffer; outputs are not zeroed; dispatches see each other's writes. */
static void test_open_size(void **state)
{
  uint32_t numbers[3] = {1, 2, 3};
  const uint32_t want[3] = {11, 12, 13};
  vyre_program *program = on_fixture_increment(&on);
  vyre_buffer *buffer = filled(numbers, sizeof numbers);
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  (void)state;
  options.route = VYRE_ROUTE_RESIDENT;
  options.max_output_bytes = 1; /* nothing is read back */
  for (int i = 0; i < 10; ++i)
    assert_int_equal(vyre_dispatch_buffers(program, &options, &buffer, 1, NULL, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_download(buffer, 0, numbers, sizeof numbers, NULL), VYRE_OK);
  assert_memory_equal(numbers, want, sizeof want);
  vyre_buffer_destroy(buffer);

  buffer = filled(NULL, 0); /* no elements, no launch */
  on_fixture_set(&on, "reset", 0);
  assert_int_equal(vyre_dispatch_buffers(program, NULL, &buffer, 1, NULL, NULL), VYRE_OK);
  assert_int_equal(on.plugin.get("dispatches"), 0);
  vyre_buffer_destroy(buffer);
  vyre_program_destroy(program);
}

static void test_refused(void **state)
{
  vyre_program *copy = on_fixture_copy(&on, 16), *open = on_fixture_increment(&on);
  vyre_buffer *large = filled(NULL, 64), *small = filled(NULL, 63), *foreign = NULL;
  vyre_buffer *buffers[2] = {large, NULL};
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_device *other = NULL;
  vyre_pending *pending = NULL;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  on_fixture_set(&on, "reset", 0);
#define REFUSED(call, code, text)                                                                  \
  do {                                                                                             \
    assert_int_equal(call, code);                                                                  \
    if (!strstr(err.message, text))                                                                \
      fail_msg("'%s', not '%s'", err.message, text);                                               \
  } while (0)
  REFUSED(vyre_dispatch_buffers(copy, NULL, buffers, 1, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
          "1 buffers were given, the program has 2");
  REFUSED(vyre_dispatch_buffers(copy, NULL, buffers, 2, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
          "buffer 'out' is NULL");
  buffers[1] = small;
  REFUSED(vyre_dispatch_buffers(copy, NULL, buffers, 2, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
          "'out' has 63 bytes, declared are 64");
  REFUSED(vyre_dispatch_buffers(open, NULL, &small, 1, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
          "63 bytes are no multiple");
  buffers[1] = large;
  REFUSED(vyre_dispatch_buffers(copy, NULL, buffers, 2, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
          "'in' and 'out' are one buffer");
  request.selector = "fixture:1";
  assert_int_equal(vyre_device_open(on.context, &request, &other, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_create(other, 64, &foreign, NULL), VYRE_OK);
  buffers[1] = foreign;
  REFUSED(vyre_dispatch_buffers(copy, NULL, buffers, 2, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
          "'out' belongs to another device");
  vyre_buffer_destroy(foreign);
  vyre_device_close(other);
  options.route = VYRE_ROUTE_HOST;
  REFUSED(vyre_dispatch_buffers(open, &options, &large, 1, NULL, &err), VYRE_ERROR_UNSUPPORTED,
          "route host cannot be: the caller's bytes are in buffers of the device");
  assert_int_equal(on.plugin.get("dispatches"), 0);

  /* The results are in the buffers: there is nothing to hand out. */
  assert_int_equal(vyre_dispatch_buffers_start(open, NULL, &large, 1, &pending, &err), VYRE_OK);
  REFUSED(vyre_pending_finish(pending, &outputs, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
          "in those buffers");
  assert_int_equal(vyre_pending_finish(pending, NULL, NULL, &err), VYRE_OK);
  vyre_pending_release(pending);
#undef REFUSED
  vyre_buffer_destroy(large);
  vyre_buffer_destroy(small);
  vyre_program_destroy(copy);
  vyre_program_destroy(open);
}

/* Two parameters may be one buffer if nobody writes it. */
static void test_shared_input(void **state)
{
  static sample s;
  uint32_t in[4] = {1, 2, 3, 4}, out[4] = {0};
  const uint32_t want[4] = {2, 4, 6, 8};
  vyre_buffer *buffers[3];
  vyre_program *program = NULL;
  (void)state;
  sample_empty(&s);
  sample_buffer(&s, "a", VYRE_READ_ONLY, 4, 4);
  sample_buffer(&s, "b", VYRE_READ_ONLY, 4, 4);
  sample_buffer(&s, "sum", VYRE_WRITE_ONLY, 4, 4);
  sample_segment(&s, "add");
  sample_bind(&s, 0, "a", VYRE_READ_ONLY);
  sample_bind(&s, 0, "b", VYRE_READ_ONLY);
  sample_bind(&s, 0, "sum", VYRE_WRITE_ONLY);
  sample_code(&s, "fixture", "add");
  program = on_fixture_program(&on, &s);
  buffers[0] = buffers[1] = filled(in, sizeof in);
  buffers[2] = filled(NULL, sizeof out);
  assert_int_equal(vyre_dispatch_buffers(program, NULL, buffers, 3, NULL, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_download(buffers[2], 0, out, sizeof out, NULL), VYRE_OK);
  assert_memory_equal(out, want, sizeof want);
  vyre_buffer_destroy(buffers[0]);
  vyre_buffer_destroy(buffers[2]);
  vyre_program_destroy(program);
}

static void test_failing_memory(void **state)
{
  vyre_program *program = on_fixture_increment(&on);
  vyre_buffer *buffer = filled(NULL, 64);
  vyre_status status = VYRE_ERROR_OUT_OF_HOST_MEMORY;
  uint64_t n = 1;
  (void)state;
  for (; status != VYRE_OK; ++n) {
    assert_true(n < 100);
    vyre__test_fail_allocation(n);
    status = vyre_dispatch_buffers(program, NULL, &buffer, 1, NULL, NULL);
    vyre__test_fail_allocation(0);
    assert_true(status == VYRE_OK || status == VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(on.plugin.get("pendings_live"), 0);
  }
  assert_true(n > 2);
  vyre_buffer_destroy(buffer);
  vyre_program_destroy(program);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_place),       cmocka_unit_test(test_open_size),
      cmocka_unit_test(test_refused),        cmocka_unit_test(test_shared_input),
      cmocka_unit_test(test_failing_memory),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
