/*
 * Real kernels on the cpu plugin: the whole path from source to bytes, on host bytes and on device
 * buffers, at every small size and at several workgroups.
 */
#include "tests/program/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LARGEST 4099u

static vyre_context *context;
static vyre_device *device;

static int open_device(void **state)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  request.selector = "cpu";
  if (vyre_context_create(&options, &context, &err) ||
      vyre_device_open(context, &request, &device, &err)) {
    fprintf(stderr, "%s: %s\n", err.message, err.fix);
    return 1;
  }
  return 0;
}

static int close_device(void **state)
{
  (void)state;
  vyre_device_close(device);
  vyre_context_destroy(context);
  return 0;
}

static vyre_program *create(sample *s)
{
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_program_create(device, &s->desc, &program, &err))
    fail_msg("%s (%s)", err.message, err.fix);
  return program;
}

/* ---- every size ---- */

static const char mix_source[] =
    "typedef struct constants { vyre_u32 factor; vyre_u32 add; } constants;\n"
    "VYRE_SEGMENT(mix)(vyre_ctx *c, VYRE_INOUT(vyre_u32) numbers, VYRE_IN(vyre_u32) table)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  const constants *k = vyre_push(c, constants);\n"
    "  if (i < vyre_count(c, numbers))\n"
    "    vyre_at(c, numbers, i) = vyre_at(c, numbers, i) * k->factor + k->add +\n"
    "                             vyre_at(c, table, i % vyre_count(c, table));\n"
    "}\n";

static const uint32_t constants[2] = {2654435761u, 17};
static const uint32_t table[3] = {5, 7, 11};

static vyre_program *mix_program(uint32_t workgroup, uint32_t flags)
{
  static sample s;
  sample_empty(&s);
  sample_buffer(&s, "numbers", VYRE_READ_WRITE, 4, VYRE_COUNT_FROM_INPUT);
  sample_buffer(&s, "table", VYRE_READ_ONLY, 4, 3);
  sample_segment(&s, "mix");
  sample_bind(&s, 0, "numbers", VYRE_READ_WRITE);
  sample_bind(&s, 0, "table", VYRE_READ_ONLY);
  sample_code(&s, "vyre-c", mix_source);
  s.desc.workgroup[0] = workgroup;
  s.desc.push_size = sizeof constants;
  s.desc.flags = flags;
  return create(&s);
}

static void fill(uint32_t *numbers, uint32_t count, uint32_t *want)
{
  for (uint32_t i = 0; i < count; ++i) {
    numbers[i] = i * 40503u + count;
    want[i] = numbers[i] * constants[0] + constants[1] + table[i % 3];
  }
}

static void mix_host(vyre_program *program, uint32_t count, vyre_outputs *outputs)
{
  static uint32_t numbers[LARGEST], want[LARGEST];
  const vyre_bytes inputs[] = {{numbers, count * 4}, {table, sizeof table}};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  options.push = constants;
  options.push_size = sizeof constants;
  fill(numbers, count, want);
  if (vyre_dispatch(program, &options, inputs, 2, outputs, NULL, &err))
    fail_msg("%u: %s", count, err.message);
  assert_int_equal(outputs->count, 1);
  assert_int_equal(outputs->slots[0].size, count * 4);
  if (count)
    assert_memory_equal(outputs->slots[0].data, want, count * 4);
}

static void test_every_size(void **state)
{
  static const uint32_t workgroups[] = {0, 1, 7, 256};
  (void)state;
  for (size_t w = 0; w < 4; ++w) {
    vyre_program *program = mix_program(workgroups[w], 0);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    /* All sizes at the default workgroup, those around edges at the others. */
    for (uint32_t count = 0; count <= LARGEST; count += w && count > 70 ? 251 : 1)
      mix_host(program, count, &outputs);
    mix_host(program, LARGEST, &outputs);
    vyre_outputs_reset(&outputs);
    vyre_program_destroy(program);
  }
}

static void mix_buffers(vyre_program *program, vyre_buffer *numbers_table, uint32_t count)
{
  static uint32_t numbers[LARGEST], want[LARGEST];
  vyre_buffer *buffers[2] = {NULL, numbers_table};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  options.push = constants;
  options.push_size = sizeof constants;
  fill(numbers, count, want);
  if (vyre_buffer_create(device, count * 4, &buffers[0], &err) ||
      vyre_buffer_upload(buffers[0], 0, numbers, count * 4, &err) ||
      vyre_dispatch_buffers(program, &options, buffers, 2, NULL, &err) ||
      vyre_buffer_download(buffers[0], 0, numbers, count * 4, &err))
    fail_msg("%u: %s", count, err.message);
  assert_memory_equal(numbers, want, count * 4);
  vyre_buffer_destroy(buffers[0]);
}

static void test_every_size_resident(void **state)
{
  vyre_program *program = mix_program(0, 0);
  vyre_buffer *buffer = NULL;
  (void)state;
  assert_int_equal(vyre_buffer_create(device, sizeof table, &buffer, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_upload(buffer, 0, table, sizeof table, NULL), VYRE_OK);
  for (uint32_t count = 0; count <= LARGEST; ++count)
    mix_buffers(program, buffer, count);
  vyre_buffer_destroy(buffer);
  vyre_program_destroy(program);
}

/* ---- three dimensions ---- */

static const char place_source[] =
    "VYRE_SEGMENT(place)(vyre_ctx *c, VYRE_INOUT(vyre_u32) seen)\n"
    "{\n"
    "  vyre_u64 x = vyre_global_id(c, 0), y = vyre_global_id(c, 1), z = vyre_global_id(c, 2);\n"
    "  if (x < 10u && y < 7u && z < 3u)\n"
    "    vyre_atomic_add_u32(&vyre_at(c, seen, (z * 7u + y) * 10u + x), 1u, VYRE_RELAXED,\n"
    "                        VYRE_SCOPE_DEVICE);\n"
    "}\n";

static void test_dimensions(void **state)
{
  static const uint32_t workgroups[][3] = {{0}, {1, 1, 1}, {4, 4, 2}, {3, 5, 1}, {2, 1, 3}};
  static sample s;
  (void)state;
  for (size_t w = 0; w < sizeof workgroups / sizeof workgroups[0]; ++w) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_program *program = NULL;
    sample_empty(&s);
    sample_buffer(&s, "seen", VYRE_READ_WRITE, 4, 210)->flags = VYRE_BUFFER_OUTPUT;
    sample_segment(&s, "place");
    sample_bind(&s, 0, "seen", VYRE_READ_WRITE);
    sample_code(&s, "vyre-c", place_source);
    memcpy(s.desc.workgroup, workgroups[w], sizeof s.desc.workgroup);
    s.desc.elements[0] = 10;
    s.desc.elements[1] = 7;
    s.desc.elements[2] = 3;
    program = create(&s);
    assert_int_equal(vyre_dispatch(program, NULL, NULL, 0, &outputs, NULL, NULL), VYRE_OK);
    for (uint32_t i = 0; i < 210; ++i)
      assert_int_equal(((uint32_t *)outputs.slots[0].data)[i], 1);
    vyre_outputs_reset(&outputs);
    vyre_program_destroy(program);
  }
}

/* ---- the histogram of the examples: workgroup memory, barriers, atomics ---- */

static char *read_text(const char *path)
{
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 65536);
  assert_non_null(file);
  assert_non_null(text);
  assert_true(fread(text, 1, 65535, file) > 0);
  fclose(file);
  return text;
}

static void test_histogram(void **state)
{
  static unsigned char data[100003];
  uint64_t want[256] = {0};
  char *text = read_text(VYRE_TEST_SOURCE_DIR "/examples/histogram/histogram.c");
  static sample s;
  (void)state;
  sample_empty(&s);
  sample_buffer(&s, "data", VYRE_READ_ONLY, 1, VYRE_COUNT_FROM_INPUT);
  sample_buffer(&s, "counts", VYRE_READ_WRITE, 8, 256)->flags = VYRE_BUFFER_OUTPUT;
  sample_buffer(&s, "tally", VYRE_WORKGROUP, 4, 256);
  sample_segment(&s, "histogram")->groups[0] = 64;
  sample_bind(&s, 0, "data", VYRE_READ_ONLY);
  sample_bind(&s, 0, "counts", VYRE_READ_WRITE);
  sample_bind(&s, 0, "tally", VYRE_WORKGROUP);
  sample_code(&s, "vyre-c", text);
  for (uint32_t i = 0; i < sizeof data; ++i) {
    data[i] = (unsigned char)((i * 2654435761u) >> 24);
    ++want[data[i]];
  }
  for (uint32_t debug = 0; debug < 2; ++debug) {
    const vyre_bytes input = {data, sizeof data};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error err = VYRE_ERROR_INIT;
    vyre_program *program = NULL;
    s.desc.flags = debug ? VYRE_PROGRAM_DEBUG : 0;
    program = create(&s);
    if (vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, &err))
      fail_msg("%s", err.message);
    assert_memory_equal(outputs.slots[0].data, want, sizeof want);
    vyre_outputs_reset(&outputs);
    vyre_program_destroy(program);
  }
  free(text);
}

/* ---- errors with the author's own lines ---- */

static void test_compile_error(void **state)
{
  static sample s;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  sample_init(&s);
  s.desc.code_count = 0;
  sample_code(&s, "vyre-c",
              "VYRE_SEGMENT(copy)(vyre_ctx *c, VYRE_IN(vyre_u32) in,\n"
              "                   VYRE_OUT(vyre_u32) out)\n"
              "{\n"
              "  out[0] = nothing;\n"
              "}\n");
  s.code[0].name = "my \"kernel\".c";
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), VYRE_ERROR_COMPILE_FAILED);
  if (!strstr(err.message, "kernel") || !strstr(err.message, ".c:4:") ||
      !strstr(err.message, "nothing"))
    fail_msg("%s", err.message);
  assert_null(program);
}

static void test_debug_bounds(void **state)
{
  static sample s;
  static const uint32_t in[16];
  const vyre_bytes input = {in, sizeof in};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = NULL;
  (void)state;
  sample_init(&s);
  s.desc.code_count = 0;
  sample_code(&s, "vyre-c",
              "VYRE_SEGMENT(copy)(vyre_ctx *c, VYRE_IN(vyre_u32) in,\n"
              "                   VYRE_OUT(vyre_u32) out)\n"
              "{\n"
              "  vyre_u64 i = vyre_global_id(c, 0);\n"
              "  vyre_at(c, out, i) = vyre_at(c, in, 0);\n"
              "}\n");
  s.code[0].name = "bounds.c";
  s.desc.flags = VYRE_PROGRAM_DEBUG;
  program = create(&s);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, &err),
                   VYRE_ERROR_DISPATCH_FAILED);
  if (!strstr(err.message, "out") || !strstr(err.message, "16") ||
      !strstr(err.message, "bounds.c:5"))
    fail_msg("%s", err.message);
  assert_int_equal(outputs.count, 0);
  vyre_program_destroy(program);
}

/* Many dispatches under way at once, finished in another order. */
static void test_pending(void **state)
{
  enum { COUNT = 64 };
  static uint32_t numbers[COUNT][1000], want[COUNT][1000];
  vyre_pending *pending[COUNT] = {0};
  vyre_program *program = mix_program(0, 0);
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  (void)state;
  options.push = constants;
  options.push_size = sizeof constants;
  for (uint32_t i = 0; i < COUNT; ++i) {
    const vyre_bytes inputs[] = {{numbers[i], (i + 900) * 4}, {table, sizeof table}};
    fill(numbers[i], i + 900, want[i]);
    assert_int_equal(vyre_dispatch_start(program, &options, inputs, 2, &pending[i], NULL), VYRE_OK);
  }
  vyre_program_destroy(program);
  for (uint32_t i = COUNT; i-- > 0;) {
    assert_int_equal(vyre_pending_finish(pending[i], &outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(outputs.slots[0].size, (i + 900) * 4);
    assert_memory_equal(outputs.slots[0].data, want[i], (i + 900) * 4);
    vyre_pending_release(pending[i]);
  }
  vyre_outputs_reset(&outputs);
}

/* ---- passes without work ---- */

/* Every grid is empty and nothing is tested: the most passes there can be take no time. */
static void test_idle_passes(void **state)
{
  static const char source[] = "VYRE_SEGMENT(first)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                               "{ vyre_at(c, a, vyre_global_id(c, 0)) += 1u; }\n"
                               "VYRE_SEGMENT(second)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                               "{ vyre_at(c, a, vyre_global_id(c, 0)) += 1u; }\n";
  const vyre_bytes none = {"", 0};
  static sample s;
  vyre_program *program = NULL;
  (void)state;
  sample_empty(&s);
  sample_buffer(&s, "a", VYRE_READ_WRITE, 4, VYRE_COUNT_FROM_INPUT);
  sample_segment(&s, "first");
  sample_bind(&s, 0, "a", VYRE_READ_WRITE);
  sample_segment(&s, "second");
  sample_bind(&s, 1, "a", VYRE_READ_WRITE);
  sample_code(&s, "vyre-c", source);
  s.desc.iterations = UINT32_MAX;
  s.desc.converge = VYRE_CONVERGE_OFF;
  program = create(&s);
  for (vyre_route route = VYRE_ROUTE_AUTO; route <= VYRE_ROUTE_HOST; ++route) {
    vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
    vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error err = VYRE_ERROR_INIT;
    options.route = route;
    if (vyre_dispatch(program, &options, &none, 1, &outputs, &result, &err))
      fail_msg("%s: %s", vyre_route_name(route), err.message);
    assert_int_equal(result.passes, UINT32_MAX);
    assert_int_equal(result.converged, VYRE_CONVERGED_NOT_TESTED);
    assert_in_range(result.launches, 0, 1);
    assert_int_equal(outputs.slots[0].size, 0);
    vyre_outputs_reset(&outputs);
  }
  vyre_program_destroy(program);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_size),    cmocka_unit_test(test_every_size_resident),
      cmocka_unit_test(test_dimensions),    cmocka_unit_test(test_histogram),
      cmocka_unit_test(test_compile_error), cmocka_unit_test(test_debug_bounds),
      cmocka_unit_test(test_pending),       cmocka_unit_test(test_idle_passes),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
