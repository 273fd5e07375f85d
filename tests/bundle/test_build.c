/* vyre_bundle_build(): compiled by the cpu plugin, opened again, and run. */
#include "core/base/alloc.h"
#include "core/device/device.h"
#include "tests/program/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static vyre_context *context;
static vyre_device *device;
static char native_target[VYRE_DEVICE_ID_SIZE]; /* the cheapest of the cpu plugin's */

static const char source[] =
    "VYRE_SEGMENT(twice)(vyre_ctx *c, VYRE_IN(vyre_u32) in, VYRE_OUT(vyre_u32) out)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, out)) vyre_at(c, out, i) = 2u * vyre_at(c, in, i);\n"
    "}\n";

static int open_device(void **state)
{
  static const char *const files[] = {VYRE_TEST_PLUGIN_DIR "/libvyre_fixture.so"};
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *backend = NULL;
  (void)state;
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  options.plugin_files = files; /* a plugin that compiles nothing, beside cpu */
  options.plugin_file_count = 1;
  request.selector = "cpu";
  if (vyre_context_create(&options, &context, &err) ||
      vyre_device_open(context, &request, &device, &err)) {
    fprintf(stderr, "%s: %s\n", err.message, err.fix);
    return 1;
  }
  backend = vyre__context_backend(context, "cpu");
  snprintf(native_target, sizeof native_target, "native:%s", backend->formats[0].arch);
  return strcmp(backend->formats[0].format, "native") != 0;
}

static int close_device(void **state)
{
  (void)state;
  vyre_device_close(device);
  vyre_context_destroy(context);
  return 0;
}

static void twice(sample *s)
{
  sample_init(s);
  s->segments[0].kernel = "twice";
  s->desc.code_count = 0;
  sample_code(s, "vyre-c", source);
  s->code[0].name = "twice.c";
}

static vyre_status build(const sample *s, const char *target, void **out_image, uint64_t *out_size,
                         vyre_error *err)
{
  return vyre_bundle_build(context, &s->desc, NULL, &target, 1, "{\"name\": \"twice\"}", NULL,
                           out_image, out_size, err);
}

/* A program that has only the bundle's code doubles its input. */
static void assert_runs(sample *s, const vyre_bundle *bundle)
{
  uint32_t in[16], code_count = 0;
  const vyre_bytes input = {in, sizeof in};
  vyre_program *program = NULL;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  s->desc.code = vyre_bundle_code(bundle, &code_count);
  s->desc.code_count = code_count;
  for (uint32_t i = 0; i < 16; ++i)
    in[i] = i * i;
  if (vyre_program_create(device, &s->desc, &program, &err) ||
      vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, &err))
    fail_msg("%s", err.message);
  for (uint32_t i = 0; i < 16; ++i)
    assert_int_equal(((uint32_t *)outputs.slots[0].data)[i], 2 * i * i);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

static void test_program(void **state)
{
  static sample s;
  const char *const targets[] = {"cpu", "cpu", native_target};
  void *image = NULL;
  uint64_t size = 0;
  vyre_bundle *bundle = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *backend = vyre__context_backend(context, "cpu");
  uint32_t count = 0;
  (void)state;
  twice(&s);
  if (vyre_bundle_build(context, &s.desc, NULL, targets, 3, "the manifest", NULL, &image, &size,
                        &err))
    fail_msg("%s", err.message);
  assert_int_equal(vyre_bundle_open(image, size, &bundle, &err), VYRE_OK);
  assert_string_equal(vyre_bundle_manifest(bundle), "the manifest");
  assert_non_null(vyre_bundle_code(bundle, &count));
  assert_int_equal(count, backend->format_count - 1); /* each once, and not the source */
  assert_runs(&s, bundle);
  vyre_bundle_destroy(bundle);
  free(image);
}

/* Named by its format, and by its plugin. */
static void test_one_architecture(void **state)
{
  static sample s;
  const char *const arch = strchr(native_target, ':') + 1;
  char by_plugin[64];
  const char *const targets[] = {native_target, by_plugin};
  (void)state;
  snprintf(by_plugin, sizeof by_plugin, "cpu:%s", arch);
  for (size_t i = 0; i < 2; ++i) {
    void *image = NULL;
    uint64_t size = 0;
    vyre_bundle *bundle = NULL;
    uint32_t count = 0;
    twice(&s);
    assert_int_equal(build(&s, targets[i], &image, &size, NULL), VYRE_OK);
    assert_int_equal(vyre_bundle_open(image, size, &bundle, NULL), VYRE_OK);
    assert_string_equal(vyre_bundle_code(bundle, &count)->format, "native");
    assert_string_equal(vyre_bundle_code(bundle, &count)->arch, arch);
    assert_int_equal(count, 1);
    assert_runs(&s, bundle);
    vyre_bundle_destroy(bundle);
    free(image);
  }
}

static void test_handlers(void **state)
{
  static const char text[] =
      "VYRE_HANDLER(length)(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size,\n"
      "                     VYRE_IN(vyre_u8) constants, vyre_u64 constants_size, vyre_job *job)\n"
      "{\n"
      "  (void)c; (void)data; (void)constants; (void)constants_size; (void)job;\n"
      "  return size;\n"
      "}\n";
  vyre_handler_decl decl = VYRE_HANDLER_DECL_INIT;
  vyre_engine_handlers handlers = VYRE_ENGINE_HANDLERS_INIT;
  vyre_code code = VYRE_CODE_INIT;
  const char *const targets[] = {native_target};
  void *image = NULL;
  uint64_t size = 0;
  vyre_bundle *bundle = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  decl.name = "length";
  code.format = "vyre-c";
  code.data = text;
  code.size = sizeof text - 1;
  handlers.handlers = &decl;
  handlers.handler_count = 1;
  handlers.code = &code;
  handlers.code_count = 1;
  if (vyre_bundle_build(context, NULL, &handlers, targets, 1, NULL, NULL, &image, &size, &err))
    fail_msg("%s", err.message);
  assert_int_equal(vyre_bundle_open(image, size, &bundle, NULL), VYRE_OK);
  assert_null(vyre_bundle_manifest(bundle));
  vyre_bundle_destroy(bundle);
  free(image);
  decl.name = "no such name";
  assert_int_equal(
      vyre_bundle_build(context, NULL, &handlers, targets, 1, NULL, NULL, &image, &size, &err),
      VYRE_ERROR_INVALID_ARGUMENT);
  handlers.struct_size = 4;
  assert_int_equal(
      vyre_bundle_build(context, NULL, &handlers, targets, 1, NULL, NULL, &image, &size, &err),
      VYRE_ERROR_INVALID_ARGUMENT);
}

static void test_refused(void **state)
{
  static sample s;
  static const struct {
    const char *target;
    vyre_status status;
    const char *message;
  } rows[] = {
      {"", VYRE_ERROR_INVALID_ARGUMENT, "a target is empty"},
      {"gpu9", VYRE_ERROR_NOT_FOUND, "no plugin is named 'gpu9'; loaded are: "},
      {"spirv:1.5", VYRE_ERROR_NOT_FOUND, "'spirv:1.5'"},
      {"cpu:pdp11", VYRE_ERROR_NOT_FOUND, "'cpu:pdp11'"},
      {"cp:x86-64", VYRE_ERROR_NOT_FOUND, "'cp:x86-64'"},
      {"native:pdp11", VYRE_ERROR_NOT_FOUND, "'native:pdp11'"},
      {"vyre-c:", VYRE_ERROR_NOT_FOUND, "'vyre-c:'"},
      {"fixture", VYRE_ERROR_UNSUPPORTED, "plugin fixture does not compile ahead of time"},
      {"fixture:x", VYRE_ERROR_UNSUPPORTED, "plugin fixture does not compile ahead of time"},
  };
  vyre_engine_handlers handlers = VYRE_ENGINE_HANDLERS_INIT;
  const char *const targets[] = {native_target};
  void *image = NULL;
  uint64_t size = 0;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  twice(&s);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (build(&s, rows[i].target, &image, &size, &err) != rows[i].status ||
        !strstr(err.message, rows[i].message))
      fail_msg("'%s': %d, '%s'", rows[i].target, (int)err.code, err.message);
#define BUILD(context, program, handlers, targets, count)                                          \
  vyre_bundle_build(context, program, handlers, targets, count, NULL, NULL, &image, &size, &err)
  assert_int_equal(BUILD(NULL, &s.desc, NULL, targets, 1), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(BUILD(context, NULL, NULL, targets, 1), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(BUILD(context, &s.desc, &handlers, targets, 1), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(BUILD(context, &s.desc, NULL, targets, 0), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(BUILD(context, &s.desc, NULL, NULL, 1), VYRE_ERROR_INVALID_ARGUMENT);
  s.code[0].format = "native";
  assert_int_equal(BUILD(context, &s.desc, NULL, targets, 1), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "'sample' has no `vyre-c` code"));
  twice(&s);
  s.desc.iterations = 0;
  assert_int_equal(BUILD(context, &s.desc, NULL, targets, 1), VYRE_ERROR_INVALID_PROGRAM);
#undef BUILD
  twice(&s);
  s.desc.code_count = 0;
  sample_code(&s, "vyre-c", "VYRE_SEGMENT(twice)\nbroken\n");
  s.code[0].name = "broken.c";
  assert_int_equal(build(&s, native_target, &image, &size, &err), VYRE_ERROR_COMPILE_FAILED);
  assert_non_null(strstr(err.message, "broken.c"));
  assert_non_null(strstr(err.message, "target native:"));
  assert_null(image);
}

/* Code that holds no such entry is refused when the program is created. */
static void test_foreign_bundle(void **state)
{
  static sample s;
  void *image = NULL;
  uint64_t size = 0;
  vyre_bundle *bundle = NULL;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t count = 0;
  (void)state;
  twice(&s);
  assert_int_equal(build(&s, native_target, &image, &size, NULL), VYRE_OK);
  assert_int_equal(vyre_bundle_open(image, size, &bundle, NULL), VYRE_OK);
  s.desc.code = vyre_bundle_code(bundle, &count);
  s.desc.code_count = count;
  s.segments[0].kernel = "thrice";
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), VYRE_ERROR_NOT_FOUND);
  assert_non_null(strstr(err.message, "thrice"));
  vyre_bundle_destroy(bundle);
  free(image);
}

/* Kernels that cannot say vyre_changed() are no good to a program that waits for their word. */
static void test_other_convergence(void **state)
{
  static sample s;
  void *image = NULL;
  uint64_t size = 0;
  vyre_bundle *bundle = NULL;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t count = 0;
  (void)state;
  twice(&s);
  s.desc.iterations = 5;
  assert_int_equal(build(&s, native_target, &image, &size, NULL), VYRE_OK);
  assert_int_equal(vyre_bundle_open(image, size, &bundle, NULL), VYRE_OK);
  s.desc.code = vyre_bundle_code(bundle, &count);
  s.desc.code_count = count;
  s.desc.converge = VYRE_CONVERGE_DECLARED;
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err),
                   VYRE_ERROR_INVALID_PROGRAM);
  assert_non_null(strstr(err.message, "not with DECLARED"));
  assert_null(program);
  vyre_bundle_destroy(bundle);
  free(image);
}

static void test_failing_memory(void **state)
{
  static sample s;
  vyre_status status = VYRE_ERROR_OUT_OF_HOST_MEMORY;
  uint64_t n = 1;
  (void)state;
  twice(&s);
  for (; status != VYRE_OK; ++n) {
    void *image = NULL;
    uint64_t size = 0;
    vyre_error err = VYRE_ERROR_INIT;
    assert_true(n < 100);
    vyre__test_fail_allocation(n);
    status = build(&s, native_target, &image, &size, &err);
    vyre__test_fail_allocation(0);
    if (status != VYRE_OK) {
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_null(image);
    }
    free(image);
  }
  assert_true(n > 4);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_program),        cmocka_unit_test(test_one_architecture),
      cmocka_unit_test(test_handlers),       cmocka_unit_test(test_refused),
      cmocka_unit_test(test_foreign_bundle), cmocka_unit_test(test_other_convergence),
      cmocka_unit_test(test_failing_memory),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
