/*
 * test_lost.c - an engine on a device that fails under it: the fixture plugin, whose launches can
 * be made to fail, to hold, and to lose their device.  It has tier 1 only where that is asked for.
 */
#include "tests/engine/engine_help.h"
#include "tests/plugins/fixture.h"

#include "core/engine/engine.h"

#include <limits.h>

#define FIXTURE VYRE_TEST_PLUGIN_DIR "/libvyre_fixture.so"

static fixture plugin;
static vyre_context *context;

static void open_file(const char *file)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  plugin = fixture_attach(file);
  assert_non_null(plugin.set);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  options.plugin_files = &file;
  options.plugin_file_count = 1;
  assert_ok(vyre_context_create(&options, &context, NULL));
}

static int open_fixture(void **state)
{
  (void)state;
  open_file(FIXTURE);
  return 0;
}

static int close_fixture(void **state)
{
  (void)state;
  vyre_context_destroy(context);
  fixture_detach(&plugin);
  return 0;
}

/* `kernel` is what the fixture runs for a batch. */
static vyre_engine *start(const char *selector, const char *kernel, vyre_device **out_device)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_handler_decl handler = VYRE_HANDLER_DECL_INIT;
  vyre_rule_set rule = VYRE_RULE_SET_INIT;
  vyre_code code = VYRE_CODE_INIT;
  vyre_engine *engine = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  char text[64];
  plugin.set("reset", 0);
  request.selector = selector;
  assert_ok(vyre_device_open(context, &request, out_device, NULL));
  snprintf(text, sizeof text, "vyre_engine_batch=%s\n", kernel);
  handler.name = "h";
  code.format = "fixture";
  code.data = text;
  code.size = strlen(text);
  set.handlers = &handler;
  set.handler_count = 1;
  set.rule_sets = &rule;
  set.rule_set_count = 1;
  set.code = &code;
  set.code_count = 1;
  options.capacity = 8;
  options.input_size = 16;
  options.bank_records = 4;
  if (vyre_engine_start(*out_device, &set, &options, &engine, &err) != VYRE_OK)
    fail_msg("%s", err.message);
  return engine;
}

static void finish(vyre_engine *engine, vyre_device *device)
{
  vyre_engine_destroy(engine);
  vyre_device_close(device);
  assert_int_equal(plugin.get("modules_live"), 0);
  assert_int_equal(plugin.get("buffers_live"), 0);
  assert_int_equal(plugin.get("pendings_live"), 0);
}

/* Batched launches on host bytes, and on resident buffers: results come back through slots. */
static void poor_devices(void **state)
{
  const char *const selectors[] = {"fixture:4", "fixture:0"};
  (void)state;
  for (uint32_t i = 0; i < 2; ++i) {
    vyre_device *device = NULL;
    vyre_engine *engine = start(selectors[i], "increment", &device);
    const vyre_work_item item = {.correlation = 5};
    vyre_completion c;
    assert_int_equal(strncmp(vyre_engine_choice(engine), "batched: ", 9), 0);
    for (uint32_t k = 0; k < 20; ++k) {
      uint64_t ticket = 0;
      assert_ok(vyre_engine_submit(engine, &item, &ticket));
      assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
      assert_int_equal(c.ticket, ticket);
      assert_int_equal(c.correlation, 5);
      assert_int_equal(c.result, 1); /* what "increment" makes of a zeroed result */
      assert_int_equal(c.status, 1);
    }
    assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
    finish(engine, device);
  }
}

static void expect_failure(vyre_engine *engine, vyre_status status)
{
  const vyre_record *records = NULL;
  vyre_work_item items[4] = {{0}};
  vyre_completion c[4];
  uint64_t tickets[4];
  uint32_t count = 0;
  for (uint32_t i = 0; i < 4; ++i)
    items[i].correlation = 10 + i;
  /* Later ones may meet the engine that was given up. */
  for (uint32_t i = 0; i < 4; ++i) {
    const vyre_status submitted = vyre_engine_submit(engine, &items[i], &tickets[i]);
    if (submitted != VYRE_OK) {
      assert_int_equal(submitted, status);
      break;
    }
    ++count;
  }
  assert_true(count >= 1);
  reap_all(engine, c, count);
  for (uint32_t i = 0; i < count; ++i) {
    assert_int_equal(c[i].status, status);
    assert_in_range(c[i].correlation, 10, 10 + count - 1);
    assert_int_equal(c[i].ticket, tickets[c[i].correlation - 10]);
  }
  assert_int_equal(vyre_engine_submit(engine, items, NULL), status);
  assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL));
  assert_int_equal(vyre_engine_swap_bank(engine, PATIENCE, &records, &count), status);
  assert_int_equal(vyre_engine_reap(engine, c, 1, VYRE_NO_TIMEOUT, NULL), VYRE_ERROR_CLOSED);
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
}

static void launches_fail(void **state)
{
  const struct {
    const char *kernel, *control;
    vyre_status status;
  } rows[] = {{"fail", NULL, VYRE_ERROR_DISPATCH_FAILED},
              {"nothing", "dispatch_error", VYRE_ERROR_OUT_OF_DEVICE_MEMORY},
              {"nothing", "wait_error", VYRE_ERROR_DISPATCH_FAILED},
              {"nothing", "read_error", VYRE_ERROR_INTERNAL},
              {"nothing", "dispatch_error", VYRE_ERROR_DEVICE_LOST},
              {"nothing", "wait_error", VYRE_ERROR_DEVICE_LOST}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    vyre_device *device = NULL;
    vyre_engine *engine = start("fixture:0", rows[i].kernel, &device);
    if (rows[i].control)
      plugin.set(rows[i].control, rows[i].status);
    expect_failure(engine, rows[i].status);
    finish(engine, device);
  }
}

/* A plugin that says OK and leaves a slot as it was, or fills the wrong one: no stale result. */
static void slots_are_checked(void **state)
{
  const char *const faults[] = {"one_output_less", "wrong_output_tag"};
  for (size_t i = 0; i < 2; ++i) {
    vyre_device *device = NULL;
    vyre_engine *engine;
    char file[PATH_MAX], selector[64];
    snprintf(file, sizeof file, VYRE_TEST_PLUGIN_DIR "/libvyre_fixture_%s.so", faults[i]);
    snprintf(selector, sizeof selector, "fixture_%s:0", faults[i]);
    close_fixture(state);
    open_file(file);
    engine = start(selector, "nothing", &device);
    expect_failure(engine, VYRE_ERROR_INTERNAL);
    finish(engine, device);
  }
  close_fixture(state);
  open_file(FIXTURE);
}

/* What was finished before the loss stays finished. */
static void finished_stays_finished(void **state)
{
  vyre_device *device = NULL;
  vyre_engine *engine = start("fixture:0", "nothing", &device);
  const vyre_work_item item = {.correlation = 3};
  vyre_completion c;
  uint64_t first = 0, second = 0;
  (void)state;
  assert_ok(vyre_engine_submit(engine, &item, &first));
  assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL));
  plugin.set("lose_at", 1);
  assert_ok(vyre_engine_submit(engine, &item, &second));
  assert_ok(vyre_engine_wait(engine, second, PATIENCE, &c));
  assert_int_equal(c.status, VYRE_ERROR_DEVICE_LOST);
  assert_ok(vyre_engine_wait(engine, first, PATIENCE, &c));
  assert_int_equal(c.status, VYRE_OK);
  assert_int_equal(vyre_engine_submit(engine, &item, NULL), VYRE_ERROR_DEVICE_LOST);
  finish(engine, device);
}

static vyre_engine *given_up;

static void give_up_once(vyre__ring_point point)
{
  if (point == VYRE__RING_HEAD_READ && given_up) {
    vyre_engine *engine = given_up;
    given_up = NULL;
    vyre__engine_abort(engine, VYRE_ERROR_DEVICE_LOST);
  }
}

/* Given up between submit's first look and its place in the ring: the reason, not CLOSED. */
static void given_up_within_submit(void **state)
{
  const vyre_work_item item = {0};
  vyre_device *device = NULL;
  vyre_engine *engine;
  (void)state;
  vyre__ring_hook = give_up_once; /* the engine's thread reads it, too */
  engine = start("fixture:0", "nothing", &device);
  given_up = engine;
  assert_int_equal(vyre_engine_submit(engine, &item, NULL), VYRE_ERROR_DEVICE_LOST);
  assert_null(given_up);
  finish(engine, device);
  vyre__ring_hook = NULL;
}

/* start() fails as the plugin does, and leaves nothing behind. */
static void start_fails(void **state)
{
  const struct {
    const char *control;
    vyre_status status;
  } rows[] = {{"load_error", VYRE_ERROR_COMPILE_FAILED},
              {"alloc_error", VYRE_ERROR_OUT_OF_DEVICE_MEMORY},
              {"copy_error", VYRE_ERROR_INTERNAL}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
    vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
    vyre_handler_decl handler = VYRE_HANDLER_DECL_INIT;
    vyre_code code = VYRE_CODE_INIT;
    vyre_device *device = NULL;
    vyre_engine *engine = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    plugin.set("reset", 0);
    request.selector = "fixture:0";
    assert_ok(vyre_device_open(context, &request, &device, NULL));
    handler.name = "h";
    code.format = "fixture";
    code.data = "vyre_engine_batch=nothing\n";
    code.size = 26;
    set.handlers = &handler;
    set.handler_count = 1;
    set.code = &code;
    set.code_count = 1;
    plugin.set(rows[i].control, rows[i].status);
    assert_int_equal(vyre_engine_start(device, &set, NULL, &engine, &err), rows[i].status);
    assert_null(engine);
    assert_true(err.message[0]);
    plugin.set("reset", 0);
    code.data = "other=nothing\n";
    code.size = 14;
    assert_int_equal(vyre_engine_start(device, &set, NULL, &engine, &err), VYRE_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.message, "vyre_engine_batch"));
    finish(NULL, device);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(poor_devices),           cmocka_unit_test(launches_fail),
      cmocka_unit_test(slots_are_checked),      cmocka_unit_test(finished_stays_finished),
      cmocka_unit_test(given_up_within_submit), cmocka_unit_test(start_fails)};
  return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
