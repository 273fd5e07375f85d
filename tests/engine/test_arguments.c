/*
 * test_arguments.c - every function of the engine with what it must refuse, and start() with every
 * allocation failing in turn.
 */
#include "tests/engine/engine_help.h"

#include "core/base/alloc.h"

static test_rig cpu;

static int open_cpu(void **state)
{
  (void)state;
  rig_open(&cpu, NULL, test_device());
  return 0;
}

static int close_cpu(void **state)
{
  (void)state;
  rig_close(&cpu);
  return 0;
}

static void null_arguments(void **state)
{
  vyre_engine *engine = rig_start(&cpu, NULL);
  const vyre_work_item item = {0};
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;
  const vyre_record *records = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_completion c;
  uint64_t size = 5;
  uint32_t n = 5;
  (void)state;
  assert_int_equal(vyre_engine_submit(NULL, &item, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_submit(engine, NULL, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_submit_many(NULL, &item, 1, NULL, NULL),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_submit_many(engine, NULL, 1, NULL, NULL),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_ok(vyre_engine_submit_many(engine, NULL, 0, NULL, &n));
  assert_int_equal(n, 0);
  assert_int_equal(vyre_engine_reap(NULL, &c, 1, 0, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_reap(engine, NULL, 1, 0, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_reap(engine, &c, 0, 0, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_reap(engine, &c, 1, 0, NULL), VYRE_ERROR_EMPTY);
  assert_int_equal(vyre_engine_wait(NULL, 0, 0, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_wait(engine, 0, 0, NULL), VYRE_ERROR_NOT_FOUND);
  assert_int_equal(vyre_engine_drain(NULL, 0, NULL, 0, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_drain(engine, 0, NULL, 1, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_swap_bank(NULL, 0, &records, &n), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_swap_bank(engine, 0, NULL, &n), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_swap_bank(engine, 0, &records, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_stop(NULL, 0, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_true(err.message[0] && err.fix[0]);
  assert_int_equal(vyre_engine_get_stats(NULL, &stats, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_get_stats(engine, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  stats.struct_size = 8;
  assert_int_equal(vyre_engine_get_stats(engine, &stats, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_string_equal(vyre_engine_choice(NULL), "");
  assert_null(vyre_engine_input(NULL, &size));
  assert_int_equal(size, 0);
  assert_null(vyre_engine_input(engine, NULL));
  vyre_engine_destroy(engine);
}

/* A newer caller's structure is filled as far as it is known, and says so. */
static void longer_stats(void **state)
{
  struct {
    vyre_engine_stats known;
    uint64_t newer;
  } stats = {.known = {.struct_size = sizeof stats}, .newer = 123};
  vyre_engine *engine = rig_start(&cpu, NULL);
  (void)state;
  assert_ok(vyre_engine_get_stats(engine, &stats.known, NULL));
  assert_int_equal(stats.known.struct_size, sizeof(vyre_engine_stats));
  assert_int_equal(stats.newer, 123);
  vyre_engine_destroy(engine);
}

static void refuse_options(const vyre_engine_options *options, const char *word)
{
  vyre_engine *engine = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  assert_int_equal(rig_try_start(&cpu, options, &engine, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(engine);
  assert_int_equal(err.code, VYRE_ERROR_INVALID_ARGUMENT);
  assert_true(err.fix[0]);
  if (!strstr(err.message, word))
    fail_msg("'%s' does not say '%s'", err.message, word);
}

static void wrong_options(void **state)
{
  const vyre_engine_options init = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine_options options;
  vyre_buffer *buffer = NULL;
  test_rig other;
  (void)state;
#define REFUSE(word, ...)                                                                          \
  do {                                                                                             \
    options = init;                                                                                \
    __VA_ARGS__;                                                                                   \
    refuse_options(&options, word);                                                                \
  } while (0)
  REFUSE("struct_size", options.struct_size = 12);
  REFUSE("mode", options.mode = 3);
  REFUSE("flags", options.flags = 1);
  REFUSE("capacity", options.capacity = 1000);
  REFUSE("max_unfinished", options.max_unfinished = 5000);
  REFUSE("less than its capacity", options.max_unfinished = 512);
  REFUSE("less than its capacity", options.capacity = 64; options.max_unfinished = 32);
  REFUSE("bank_records", options.bank_records = UINT32_MAX);
  REFUSE("input", options.input_size = (UINT64_C(1) << 32) + 1);
  REFUSE("workers", options.workers = UINT32_MAX);
  assert_ok(vyre_buffer_create(cpu.device, 16, &buffer, NULL));
  REFUSE("both", options.input = buffer; options.input_size = 1);
  vyre_buffer_destroy(buffer);
  rig_open(&other, NULL, test_device());
  assert_ok(vyre_buffer_create(other.device, 16, &buffer, NULL));
  REFUSE("not one of its device", options.input = buffer);
  vyre_buffer_destroy(buffer);
  rig_close(&other);
#undef REFUSE
}

static const char source[] =
    "VYRE_HANDLER(h)(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size,\n"
    "  VYRE_IN(vyre_u8) constants, vyre_u64 constants_size, vyre_job *job)\n"
    "{ (void)c; (void)data; (void)constants; (void)constants_size;\n"
    "  (void)job; return size; }\n";

static vyre_handler_decl one_handler = {.struct_size = sizeof one_handler, .name = "h"};
static vyre_rule_set one_rule = {.struct_size = sizeof one_rule};
static vyre_code one_code = {.struct_size = sizeof one_code,
                             .format = "vyre-c",
                             .data = source,
                             .size = sizeof source - 1,
                             .name = "one.c"};

static vyre_engine_handlers one_set(void)
{
  vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
  set.name = "one";
  set.handlers = &one_handler;
  set.handler_count = 1;
  set.rule_sets = &one_rule;
  set.rule_set_count = 1;
  set.code = &one_code;
  set.code_count = 1;
  return set;
}

static void refuse_set(const vyre_engine_handlers *set, vyre_status status, const char *word)
{
  vyre_engine *engine = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  assert_int_equal(vyre_engine_start(cpu.device, set, NULL, &engine, &err), status);
  assert_null(engine);
  assert_true(err.fix[0]);
  if (!strstr(err.message, word))
    fail_msg("'%s' does not say '%s'", err.message, word);
}

static void wrong_handlers(void **state)
{
  vyre_engine_handlers set = one_set();
  vyre_handler_decl handler = one_handler;
  vyre_rule_set rule = one_rule;
  vyre_code code = one_code;
  vyre_engine *engine = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre_engine_start(NULL, &set, NULL, &engine, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_engine_start(cpu.device, &set, NULL, NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  refuse_set(NULL, VYRE_ERROR_INVALID_ARGUMENT, "NULL");
  set.struct_size = 8;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "struct_size");
  set = one_set();
  set.handler_count = 0;
  set.rule_set_count = 0;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "no handler");
  set = one_set();
  set.handlers = NULL;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "handler row");
  set = one_set();
  set.handlers = &handler;
  handler.name = "not a name";
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "not a name");
  handler.name = NULL;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "NULL");
  handler.name = "vyre_h";
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "vyre_h");
  handler = one_handler;
  handler.flags = 2;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "flags");
  handler = one_handler;
  handler.struct_size = 4;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "struct_size");
  set = one_set();
  set.rule_sets = &rule;
  rule.handler = 1;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "handler 1 of 1");
  rule = one_rule;
  rule.constants_size = 1;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "constants");
  rule = one_rule;
  rule.struct_size = 4;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "rule set row");
  set = one_set();
  set.code_count = 0;
  refuse_set(&set, VYRE_ERROR_INVALID_ARGUMENT, "code");
  set = one_set();
  set.code = &code;
  code.format = "ptx";
  refuse_set(&set, VYRE_ERROR_MODULE_FORMAT, "ptx");
  code = one_code;
  code.data = "int x = ;\n";
  code.size = 10;
  refuse_set(&set, VYRE_ERROR_COMPILE_FAILED, "one.c:1");
}

/* Rule sets may be none: then every item is refused. */
static void no_rule_sets(void **state)
{
  vyre_engine_handlers set = one_set();
  const vyre_work_item item = {0};
  vyre_engine *engine = NULL;
  vyre_completion c;
  (void)state;
  set.rule_sets = NULL;
  set.rule_set_count = 0;
  assert_ok(vyre_engine_start(cpu.device, &set, NULL, &engine, NULL));
  assert_ok(vyre_engine_submit(engine, &item, NULL));
  assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
  assert_int_equal(c.status, VYRE_ERROR_INVALID_ARGUMENT);
  vyre_engine_destroy(engine);
}

static void failing_allocations(void **state)
{
  (void)state;
  for (uint32_t mode = 0; mode < 3; ++mode) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    uint64_t n = 1, failures = 0;
    options.mode = mode;
    options.capacity = 8;
    options.input_size = 64;
    options.bank_records = 8;
    for (;; ++n) {
      vyre_engine *engine = NULL;
      vyre_error err = VYRE_ERROR_INIT;
      vyre_status status;
      bool reached;
      vyre__test_fail_allocation(n);
      status = rig_try_start(&cpu, &options, &engine, &err);
      reached = vyre__test_allocation_count() >= n;
      vyre__test_fail_allocation(0);
      if (status != VYRE_OK) {
        assert_true(status == VYRE_ERROR_OUT_OF_HOST_MEMORY ||
                    status == VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
        assert_true(err.message[0] && err.fix[0]);
        assert_null(engine);
        ++failures;
      }
      vyre_engine_destroy(engine);
      if (!reached)
        break;
    }
    assert_true(failures > 5);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_arguments), cmocka_unit_test(longer_stats),
      cmocka_unit_test(wrong_options),  cmocka_unit_test(wrong_handlers),
      cmocka_unit_test(no_rule_sets),   cmocka_unit_test(failing_allocations)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
