/*
 * test_interop.c - "Native objects" of vyre.h on the OpenCL that is installed: two devices of one
 * process share memory, an event and a queue; and every refusal.  Skipped (77) without OpenCL.
 */
#include "vyre.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 1000u
#define INVALID VYRE_ERROR_INVALID_ARGUMENT

static const char text[] = "VYRE_SEGMENT(step)(vyre_ctx *c, VYRE_INOUT(vyre_u32) data)\n"
                           "{\n"
                           "  const vyre_u64 i = vyre_global_id(c, 0);\n"
                           "  if (i < vyre_count(c, data))\n"
                           "    data[i] = data[i] * 3u + 1u;\n"
                           "}\n";

static vyre_context *context;
static vyre_device *device;

static vyre_status open_one(const char *selector, const vyre_native_handle *queue,
                            vyre_device **out_device, vyre_error *err)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  request.selector = selector;
  if (queue)
    request.queue = *queue;
  return vyre_device_open(context, &request, out_device, err);
}

static vyre_program *program_of(vyre_device *on)
{
  vyre_buffer_decl buffer = VYRE_BUFFER_DECL_INIT;
  vyre_segment_binding binding = VYRE_SEGMENT_BINDING_INIT;
  vyre_segment_decl segment = VYRE_SEGMENT_DECL_INIT;
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  vyre_code code = VYRE_CODE_INIT;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  code.format = "vyre-c";
  code.data = text;
  code.size = sizeof text - 1;
  buffer.name = binding.buffer = "data";
  buffer.access = binding.access = VYRE_READ_WRITE;
  buffer.element_count = N;
  segment.kernel = "step";
  segment.bindings = &binding;
  segment.binding_count = 1;
  desc.name = "step";
  desc.buffers = &buffer;
  desc.buffer_count = 1;
  desc.segments = &segment;
  desc.segment_count = 1;
  desc.code = &code;
  desc.code_count = 1;
  desc.workgroup[0] = 64;
  desc.workgroup[1] = desc.workgroup[2] = 1;
  if (vyre_program_create(on, &desc, &program, &err) != VYRE_OK)
    fail_msg("%s", err.message);
  return program;
}

static int begin(void **state)
{
  (void)state;
  return vyre_context_create(NULL, &context, NULL) == VYRE_OK &&
                 open_one("opencl", NULL, &device, NULL) == VYRE_OK
             ? 0
             : -1;
}

static int end(void **state)
{
  (void)state;
  vyre_device_close(device);
  vyre_context_destroy(context);
  return 0;
}

/* ---- sharing ---- */

/* A step on one device, then one on the other that waits for the first on the device alone. */
static void share(const vyre_native_handle *queue)
{
  uint32_t words[N], back[N];
  vyre_native_memory memory = {.struct_size = sizeof memory};
  vyre_native_handle event = {.struct_size = sizeof event};
  vyre_device *other = NULL;
  vyre_buffer *buffer = NULL, *window = NULL;
  vyre_program *here = program_of(device), *there;
  assert_int_equal(open_one("opencl", queue, &other, NULL), VYRE_OK);
  there = program_of(other);
  for (uint32_t i = 0; i < N; ++i)
    words[i] = i * 0x9e3779b1u;
  assert_int_equal(vyre_buffer_create(device, sizeof words, &buffer, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_upload(buffer, 0, words, sizeof words, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_export(buffer, &memory, NULL), VYRE_OK);
  assert_int_equal(memory.size, sizeof words);
  assert_int_equal(vyre_buffer_import(other, &memory, &window, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_size(window), sizeof words);
  assert_int_equal(vyre_dispatch_buffers(here, NULL, &buffer, 1, NULL, NULL), VYRE_OK);
  if (!queue) {
    assert_int_equal(vyre_device_record_event(device, &event, NULL), VYRE_OK);
    assert_int_equal(event.type, VYRE_NATIVE_OPENCL);
    assert_true(event.handle);
    assert_int_equal(vyre_device_wait_event(other, &event, NULL), VYRE_OK);
    assert_int_equal(vyre_device_release_event(device, &event, NULL), VYRE_OK);
  }
  assert_int_equal(vyre_dispatch_buffers(there, NULL, &window, 1, NULL, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_download(buffer, 0, back, sizeof back, NULL), VYRE_OK);
  for (uint32_t i = 0; i < N; ++i)
    assert_int_equal(back[i], (words[i] * 3u + 1u) * 3u + 1u);
  vyre_buffer_destroy(window);
  vyre_program_destroy(there);
  vyre_device_close(other);
  /* What was lent is whole. */
  assert_int_equal(vyre_buffer_download(buffer, 0, words, sizeof words, NULL), VYRE_OK);
  assert_memory_equal(words, back, sizeof back);
  vyre_buffer_destroy(buffer);
  vyre_program_destroy(here);
}

static void memory_and_event(void **state)
{
  (void)state;
  share(NULL);
}

static void memory_and_queue(void **state)
{
  vyre_native_handle queue = {.struct_size = sizeof queue};
  (void)state;
  assert_int_equal(vyre_device_queue(device, &queue, NULL), VYRE_OK);
  assert_int_equal(queue.type, VYRE_NATIVE_OPENCL);
  assert_true(queue.handle);
  share(&queue);
}

/* ---- refusals ---- */

static void wrong_arguments(void **state)
{
  vyre_native_memory memory = {.struct_size = sizeof memory}, small = {.struct_size = 4};
  vyre_native_handle event = {.struct_size = sizeof event}, short_event = {.struct_size = 4};
  vyre_native_handle foreign = {sizeof foreign, VYRE_NATIVE_OTHER + 7, 1};
  vyre_buffer *buffer = NULL;
  vyre_device *none = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre_buffer_import(NULL, &memory, &buffer, NULL), INVALID);
  assert_int_equal(vyre_buffer_import(device, NULL, &buffer, NULL), INVALID);
  assert_int_equal(vyre_buffer_import(device, &memory, NULL, NULL), INVALID);
  assert_int_equal(vyre_buffer_import(device, &small, &buffer, &err), INVALID);
  assert_non_null(strstr(err.message, "struct_size"));
  assert_int_equal(vyre_buffer_export(NULL, &memory, NULL), INVALID);
  assert_int_equal(vyre_device_wait_event(NULL, &foreign, NULL), INVALID);
  assert_int_equal(vyre_device_wait_event(device, NULL, NULL), INVALID);
  assert_int_equal(vyre_device_wait_event(device, &event, NULL), INVALID); /* handle 0 */
  assert_int_equal(vyre_device_wait_event(device, &short_event, NULL), INVALID);
  assert_int_equal(vyre_device_wait_event(device, &foreign, &err), INVALID);
  assert_true(err.message[0] && err.fix[0]);
  assert_int_equal(vyre_device_record_event(device, &foreign, NULL), INVALID);
  assert_int_equal(vyre_device_release_event(device, &foreign, NULL), INVALID);
  assert_int_equal(vyre_device_release_event(device, &event, NULL), VYRE_OK); /* none: nothing */
  assert_int_equal(vyre_device_queue(device, NULL, NULL), INVALID);
  assert_int_equal(open_one("opencl", &foreign, &none, &err), INVALID);
  foreign.struct_size = 4;
  assert_int_equal(open_one("opencl", &foreign, &none, &err), INVALID);
  assert_non_null(strstr(err.message, "struct_size"));
  assert_null(none);
  assert_null(buffer);
}

static void without_the_capability(void **state)
{
  vyre_native_handle event = {sizeof event, VYRE_NATIVE_OPENCL, 1};
  vyre_device *cpu = NULL, *none = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(open_one("cpu", NULL, &cpu, NULL), VYRE_OK);
  assert_int_equal(vyre_device_wait_event(cpu, &event, NULL), VYRE_ERROR_UNSUPPORTED);
  assert_int_equal(vyre_device_record_event(cpu, &event, NULL), VYRE_ERROR_UNSUPPORTED);
  assert_int_equal(vyre_device_release_event(cpu, &event, NULL), VYRE_ERROR_UNSUPPORTED);
  assert_int_equal(vyre_device_queue(cpu, &event, &err), VYRE_ERROR_UNSUPPORTED);
  assert_true(err.message[0] && err.fix[0]);
  assert_int_equal(open_one("cpu", &event, &none, &err), VYRE_ERROR_UNSUPPORTED);
  assert_non_null(strstr(err.message, "queue"));
  assert_null(none);
  vyre_device_close(cpu);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_and_event),
      cmocka_unit_test(memory_and_queue),
      cmocka_unit_test(wrong_arguments),
      cmocka_unit_test(without_the_capability),
  };
  /* Tests see an OpenCL without devices; this one wants what is installed. */
  unsetenv("VYRE_OPENCL_LIBRARY");
  if (begin(NULL)) {
    print_message("skipped: there is no OpenCL device\n");
    vyre_context_destroy(context);
    return 77;
  }
  end(NULL);
  return cmocka_run_group_tests(tests, begin, end);
}
