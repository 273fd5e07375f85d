/* vyre_program_create() on the fixture plugin: positions, formats, lifetime, failing memory. */
#include "core/program/program.h"
#include "tests/plugins/fixture.h"
#include "tests/program/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static fixture plugin;
static vyre_context *context;
static vyre_device *device;

static int open_device(void **state)
{
  static const char *const files[] = {VYRE_TEST_PLUGIN_DIR "/libvyre_fixture.so"};
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  (void)state;
  plugin = fixture_attach(files[0]);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  options.plugin_files = files;
  options.plugin_file_count = 1;
  request.selector = "fixture:0";
  if (!plugin.set || vyre_context_create(&options, &context, NULL))
    return 1;
  plugin.set("reset", 0);
  return vyre_device_open(context, &request, &device, NULL) != VYRE_OK;
}

static int close_device(void **state)
{
  int live = 0;
  (void)state;
  vyre_device_close(device);
  vyre_context_destroy(context);
  live = plugin.get("devices_live") || plugin.get("modules_live");
  fixture_detach(&plugin);
  return live;
}

static void test_positions(void **state)
{
  static const char *const inputs[] = {"in", "both", "open"};
  static const char *const outputs[] = {"out", "both", "sum"};
  static sample s;
  vyre_program *program = NULL;
  (void)state;
  sample_init(&s);
  sample_buffer(&s, "both", VYRE_READ_WRITE, 4, 4);
  sample_buffer(&s, "tile", VYRE_WORKGROUP, 4, 4);
  sample_buffer(&s, "sum", VYRE_READ_WRITE, 4, 4)->flags = VYRE_BUFFER_OUTPUT;
  sample_buffer(&s, "open", VYRE_READ_ONLY, 4, VYRE_COUNT_FROM_INPUT);
  sample_bind(&s, 0, "sum", VYRE_READ_WRITE);
  assert_int_equal(vyre_program_create(device, &s.desc, &program, NULL), VYRE_OK);
  assert_int_equal(vyre_program_input_count(program), 3);
  assert_int_equal(vyre_program_output_count(program), 3);
  for (uint32_t i = 0; i < 3; ++i) {
    assert_string_equal(vyre_program_input_name(program, i), inputs[i]);
    assert_string_equal(vyre_program_output_name(program, i), outputs[i]);
  }
  assert_null(vyre_program_input_name(program, 3));
  assert_null(vyre_program_output_name(program, UINT32_MAX));
  vyre_program_destroy(program);
  assert_int_equal(vyre_program_input_count(NULL), 0);
  assert_null(vyre_program_output_name(NULL, 0));
  vyre_program_destroy(NULL);
}

/* Nothing of the description is looked at once the call is over. */
static void test_description_is_copied(void **state)
{
  char in[] = "in", kernel[] = "copy", name[] = "a name";
  static sample s;
  vyre_program *program = NULL;
  (void)state;
  sample_init(&s);
  s.desc.name = name;
  s.buffers[0].name = in;
  s.bindings[0][0].buffer = in;
  s.segments[0].kernel = kernel;
  assert_int_equal(vyre_program_create(device, &s.desc, &program, NULL), VYRE_OK);
  memset(in, 'x', 2);
  memset(kernel, 'x', 4);
  memset(name, 'x', 6);
  memset(&s, 0xee, sizeof s);
  assert_string_equal(vyre_program_input_name(program, 0), "in");
  assert_string_equal(program->name, "a name");
  assert_string_equal(program->segments[0].name, "copy");
  vyre_program_destroy(program);
}

static void test_arguments(void **state)
{
  static sample s;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  sample_init(&s);
  assert_int_equal(vyre_program_create(NULL, &s.desc, &program, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_program_create(device, &s.desc, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_program_create(device, NULL, &program, &err), VYRE_ERROR_INVALID_ARGUMENT);
  s.desc.code_count = 0;
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "no code"));
  sample_init(&s);
  s.desc.workgroup[0] = 1025;
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err),
                   VYRE_ERROR_INVALID_PROGRAM);
  assert_null(program);
}

static void test_formats(void **state)
{
  static sample s;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  sample_init(&s);
  s.code[0].format = "ptx";
  s.code[0].arch = "sm_90";
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), VYRE_ERROR_MODULE_FORMAT);
  assert_non_null(strstr(err.message, "'sample' has code in ptx:sm_90"));
  assert_non_null(strstr(err.message, "fixture:0 takes fixture"));
  sample_code(&s, "fixture", "copy");
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), VYRE_OK);
  vyre_program_destroy(program);

  /* Code that the plugin takes for another machine's: the next row may do. */
  sample_init(&s);
  s.code[0].data = "no such kernel";
  s.code[0].size = 14;
  program = NULL;
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), VYRE_ERROR_MODULE_FORMAT);
  assert_non_null(strstr(err.message, "no such kernel"));
  sample_code(&s, "fixture", "copy");
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), VYRE_OK);
  vyre_program_destroy(program);

  sample_init(&s);
  s.segments[0].kernel = "missing";
  program = NULL;
  assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), VYRE_ERROR_NOT_FOUND);
  assert_non_null(strstr(err.message, "'missing'"));
  assert_null(program);
  assert_int_equal(plugin.get("modules_live"), 0);
}

static void test_load_errors(void **state)
{
  static const vyre_status codes[] = {VYRE_ERROR_COMPILE_FAILED, VYRE_ERROR_UNSUPPORTED,
                                      VYRE_ERROR_OUT_OF_DEVICE_MEMORY};
  static sample s;
  (void)state;
  sample_init(&s);
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    vyre_program *program = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    plugin.set("load_error", codes[i]);
    assert_int_equal(vyre_program_create(device, &s.desc, &program, &err), codes[i]);
    assert_int_equal(err.code, codes[i]);
    assert_non_null(strstr(err.message, "program 'sample': "));
    assert_null(program);
  }
  plugin.set("reset", 0);
}

/* The device outlives its handle until its programs are gone. */
static void test_lifetime(void **state)
{
  static sample s;
  vyre_program *program = NULL;
  vyre_device *other = NULL;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  int64_t devices = plugin.get("devices_live");
  (void)state;
  request.selector = "fixture:1";
  assert_int_equal(vyre_device_open(context, &request, &other, NULL), VYRE_OK);
  sample_init(&s);
  assert_int_equal(vyre_program_create(other, &s.desc, &program, NULL), VYRE_OK);
  vyre_device_close(other);
  assert_int_equal(plugin.get("devices_live"), devices + 1);
  vyre__program_retain(program);
  vyre_program_destroy(program);
  assert_int_equal(plugin.get("modules_live"), 1);
  vyre__program_release(program);
  assert_int_equal(plugin.get("modules_live"), 0);
  assert_int_equal(plugin.get("devices_live"), devices);
}

static void test_failing_memory(void **state)
{
  static sample s;
  uint64_t n = 1;
  vyre_status status = VYRE_ERROR_OUT_OF_HOST_MEMORY;
  (void)state;
  sample_init(&s);
  for (; status != VYRE_OK; ++n) {
    vyre_program *program = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    assert_true(n < 100);
    vyre__test_fail_allocation(n);
    status = vyre_program_create(device, &s.desc, &program, &err);
    vyre__test_fail_allocation(0);
    if (status == VYRE_OK) {
      vyre_program_destroy(program);
    } else {
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_null(program);
    }
    assert_int_equal(plugin.get("modules_live"), 0);
  }
  assert_true(n > 5);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_positions),      cmocka_unit_test(test_description_is_copied),
      cmocka_unit_test(test_arguments),      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_load_errors),    cmocka_unit_test(test_lifetime),
      cmocka_unit_test(test_failing_memory),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
