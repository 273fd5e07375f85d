/* Plugins that fail or lie in the middle of a dispatch: the caller's slots are as they were. */
#include "tests/dispatch/on_fixture.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Outputs with one slot that holds "before". */
static const char before[] = "before";

static vyre_outputs prepared(void)
{
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  static sample s;
  const vyre_bytes input = {before, sizeof before};
  on_fixture_open(&on, "", "fixture:0");
  sample_init(&s);
  s.buffers[0].element_size = s.buffers[1].element_size = 1;
  s.buffers[0].element_count = s.buffers[1].element_count = sizeof before;
  program = on_fixture_program(&on, &s);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, NULL), VYRE_OK);
  vyre_program_destroy(program);
  on_fixture_close(&on);
  return outputs;
}

/* in -> first, second (outputs): kernel "increment" writes both. */
static vyre_program *two_outputs(on_fixture *on)
{
  static sample s;
  sample_empty(&s);
  sample_buffer(&s, "in", VYRE_READ_ONLY, 4, 4);
  sample_buffer(&s, "first", VYRE_READ_WRITE, 4, 4)->flags = VYRE_BUFFER_OUTPUT;
  sample_buffer(&s, "second", VYRE_READ_WRITE, 4, 4)->flags = VYRE_BUFFER_OUTPUT;
  sample_segment(&s, "increment");
  sample_bind(&s, 0, "in", VYRE_READ_ONLY);
  sample_bind(&s, 0, "first", VYRE_READ_WRITE);
  sample_bind(&s, 0, "second", VYRE_READ_WRITE);
  sample_code(&s, "fixture", "increment");
  return on_fixture_program(on, &s);
}

/* Dispatches and asserts the error and that nothing else changed. */
static void assert_fails(vyre_program *program, vyre_status code, const char *text)
{
  static const uint32_t in[4] = {1, 2, 3, 4};
  const vyre_bytes input = {in, sizeof in};
  vyre_outputs outputs = prepared(), was = outputs;
  vyre_output_slot slot = outputs.slots[0];
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT, same = result;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = vyre_dispatch(program, NULL, &input, 1, &outputs, &result, &err);
  if (status != code || err.code != code || !strstr(err.message, text))
    fail_msg("status %d, not %d: '%s', not '%s'", (int)status, (int)code, err.message, text);
  assert_memory_equal(&outputs, &was, sizeof was);
  assert_memory_equal(&outputs.slots[0], &slot, sizeof slot);
  assert_memory_equal(slot.data, before, sizeof before);
  assert_memory_equal(&result, &same, sizeof same);
  vyre_outputs_reset(&outputs);
}

/* Fault rows of the fixture that show up in a dispatch. */
static void test_rows(void **state)
{
  static const struct {
    const char *fault;
    vyre_status code;
    const char *text;
  } rows[] = {
      {"one_output_less", VYRE_ERROR_DISPATCH_FAILED,
       "has 2 outputs, plugin fixture_one_output_less returned 1"},
      {"wrong_output_tag", VYRE_ERROR_DISPATCH_FAILED,
       "returned binding 2 as output 0; expected is binding 1, 'first'"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    on_fixture on;
    vyre_program *program = NULL;
    on_fixture_open(&on, rows[i].fault, "any");
    program = two_outputs(&on);
    assert_fails(program, rows[i].code, rows[i].text);
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* A kernel that the plugin did not give is never launched, by a program or by an engine. */
static void test_no_kernel(void **state)
{
  static const char text[] = "increment";
  const vyre_handler_decl handler = {sizeof handler, 0, "increment"};
  const vyre_rule_set rules = {sizeof rules, 0, NULL, 0};
  const vyre_code code = {sizeof code, 0, "fixture", NULL, text, sizeof text - 1, NULL};
  vyre_engine_handlers handlers = VYRE_ENGINE_HANDLERS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = NULL;
  vyre_engine *engine = NULL;
  static sample s;
  on_fixture on;
  (void)state;
  handlers.handlers = &handler;
  handlers.rule_sets = &rules;
  handlers.code = &code;
  handlers.handler_count = handlers.rule_set_count = handlers.code_count = 1;
  on_fixture_open(&on, "no_kernel", "any");
  sample_init(&s);
  sample_code(&s, "fixture", text);
  assert_int_equal(vyre_program_create(on.device, &s.desc, &program, &err), VYRE_ERROR_INTERNAL);
  assert_non_null(strstr(err.message, "found no kernel for segment"));
  assert_null(program);
  assert_int_equal(vyre_engine_start(on.device, &handlers, NULL, &engine, &err),
                   VYRE_ERROR_INTERNAL);
  assert_non_null(strstr(err.message, "found no kernel for 'vyre_engine_batch'"));
  assert_null(engine);
  on_fixture_close(&on);
}

/* Errors of each call on the way. */
static void test_calls(void **state)
{
  static const struct {
    const char *control;
    vyre_status code;
    const char *text;
  } rows[] = {
      {"dispatch_error", VYRE_ERROR_OUT_OF_DEVICE_MEMORY, "the fixture does not dispatch"},
      {"wait_error", VYRE_ERROR_DISPATCH_FAILED, "the fixture's launch failed"},
      {"read_error", VYRE_ERROR_OUT_OF_HOST_MEMORY, "the fixture does not read"},
      {"wait_error", 9999, ""},
  };
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    vyre_status code = rows[i].code == 9999 ? VYRE_ERROR_INTERNAL : rows[i].code;
    on_fixture_open(&on, "shadowed", "any");
    program = two_outputs(&on);
    on_fixture_set(&on, rows[i].control, rows[i].code);
    assert_fails(program, code, rows[i].text);
    on_fixture_set(&on, "silent", 1);
    assert_fails(program, code, "program 'sample': ");
    vyre_program_destroy(program);
    on_fixture_close(&on);
  }
}

/* A loss is latched: everything that was made before fails until the device is recovered. */
static void test_lost(void **state)
{
  static const uint32_t in[4] = {1, 2, 3, 4};
  const vyre_bytes input = {in, sizeof in};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  on_fixture on;
  vyre_program *program = NULL, *later = NULL;
  (void)state;
  on_fixture_open(&on, "lost", "any");
  program = two_outputs(&on);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, &err), VYRE_OK);
  assert_int_equal(vyre_device_generation(on.device), 0);
  assert_fails(program, VYRE_ERROR_DEVICE_LOST, "lost");
  assert_int_equal(vyre_device_generation(on.device), 1);
  assert_int_equal(vyre_dispatch_start(program, NULL, &input, 1, &pending, &err),
                   VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_device_recover(on.device, &err), VYRE_OK);
  assert_fails(program, VYRE_ERROR_DEVICE_LOST, "before device");
  later = two_outputs(&on);
  assert_int_equal(vyre_dispatch(later, NULL, &input, 1, &outputs, NULL, &err), VYRE_OK);
  vyre_program_destroy(later);
  vyre_program_destroy(program); /* its module goes with the handle that it came from */
  vyre_outputs_reset(&outputs);
  on_fixture_close(&on);
}

/* A loss while a dispatch is under way. */
static void test_lost_while_pending(void **state)
{
  static const uint32_t in[4] = {1, 2, 3, 4};
  const vyre_bytes input = {in, sizeof in};
  vyre_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  on_fixture_open(&on, "shadowed", "any");
  program = two_outputs(&on);
  on_fixture_set(&on, "lose_at", 1);
  assert_int_equal(vyre_dispatch_start(program, NULL, &input, 1, &pending, &err), VYRE_OK);
  assert_int_equal(vyre_pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_device_recover(on.device, &err), VYRE_OK);
  assert_int_equal(vyre_pending_finish(pending, NULL, NULL, &err), VYRE_ERROR_DEVICE_LOST);
  vyre_pending_release(pending);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

/* A plugin of tier 1 only: host bytes work. */
static void test_tier_1(void **state)
{
  static const uint32_t in[16] = {1, 2, 3, 4};
  const vyre_bytes input = {in, sizeof in};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  (void)state;
  on_fixture_open(&on, "tier_1", "any");
  program = on_fixture_copy(&on, 16);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, NULL), VYRE_OK);
  assert_memory_equal(outputs.slots[0].data, in, sizeof in);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_no_kernel),
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_lost),
      cmocka_unit_test(test_lost_while_pending),
      cmocka_unit_test(test_tier_1),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
