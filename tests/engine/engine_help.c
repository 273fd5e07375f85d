/* engine_help.c - see engine_help.h. */
#include "tests/engine/engine_help.h"

#include "core/engine/engine.h"
#include "embed/engine_test_handlers.h"

#include <sched.h>

static vyre_handler_decl handlers[] = {
    {.struct_size = sizeof(vyre_handler_decl), .name = "sum"},
    {.struct_size = sizeof(vyre_handler_decl), .flags = VYRE_HANDLER_RECORDS, .name = "find"},
    {.struct_size = sizeof(vyre_handler_decl), .name = "gate"},
    {.struct_size = sizeof(vyre_handler_decl), .name = "nothing"}};

void rig_open(test_rig *rig, const char *plugin, const char *selector)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_device_info info = {.struct_size = sizeof info};
  vyre_error err = VYRE_ERROR_INIT;
  const char *width = getenv("VYRE_TEST_ENGINE_WIDTH");
  vyre__engine_width = width ? (uint32_t)strtoul(width, NULL, 10) : 0;
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  options.plugin_files = &plugin;
  options.plugin_file_count = plugin ? 1 : 0;
  request.selector = selector;
  if (vyre_context_create(&options, &rig->context, &err) != VYRE_OK ||
      vyre_device_open(rig->context, &request, &rig->device, &err) != VYRE_OK)
    fail_msg("%s: %s", selector, err.message);
  assert_ok(vyre_device_get_info(rig->device, &info, NULL));
  if (!(info.capabilities & VYRE_CAP_COMPILER)) {
    print_message("skipped: %s\n", info.compiler_reason);
    exit(77);
  }
}

void rig_close(test_rig *rig)
{
  vyre_device_close(rig->device);
  vyre_context_destroy(rig->context);
}

vyre_status rig_try_start(const test_rig *rig, const vyre_engine_options *options,
                          vyre_engine **out_engine, vyre_error *err)
{
  static uint8_t big[70000];
  static const uint8_t one[1] = {1}, x[1] = {'x'};
  vyre_rule_set rules[RULE_COUNT];
  vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
  vyre_code code = VYRE_CODE_INIT;
  big[sizeof big - 1] = 9;
  for (uint32_t i = 0; i < RULE_COUNT; ++i)
    rules[i] = (vyre_rule_set)VYRE_RULE_SET_INIT;
  rules[RULE_SUM].constants = one;
  rules[RULE_SUM].constants_size = sizeof one;
  rules[RULE_FIND].handler = 1;
  rules[RULE_FIND].constants = x;
  rules[RULE_FIND].constants_size = sizeof x;
  rules[RULE_GATE].handler = 2;
  rules[RULE_BIG].constants = big;
  rules[RULE_BIG].constants_size = sizeof big;
  rules[RULE_NOTHING].handler = 3;
  code.format = "vyre-c";
  code.data = engine_test_handlers;
  code.size = engine_test_handlers_size;
  code.name = "handlers.c";
  set.name = "test handlers";
  set.handlers = handlers;
  set.handler_count = sizeof handlers / sizeof handlers[0];
  set.code = &code;
  set.code_count = 1;
  set.rule_sets = rules;
  set.rule_set_count = RULE_COUNT;
  return vyre_engine_start(rig->device, &set, options, out_engine, err);
}

vyre_engine *rig_start(const test_rig *rig, const vyre_engine_options *options)
{
  vyre_engine *engine = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (rig_try_start(rig, options, &engine, &err) != VYRE_OK)
    fail_msg("%s (%s)", err.message, err.where);
  return engine;
}

void submit_all(vyre_engine *engine, const vyre_work_item *items, uint32_t n, uint64_t *out_tickets)
{
  uint32_t done = 0;
  while (done < n) {
    uint32_t taken = 0;
    const vyre_status status = vyre_engine_submit_many(
        engine, items + done, n - done, out_tickets ? out_tickets + done : NULL, &taken);
    if (status == VYRE_OK)
      done += taken;
    else
      assert_int_equal(status, VYRE_ERROR_QUEUE_FULL); /* workers will make room */
  }
}

void reap_all(vyre_engine *engine, vyre_completion *out, uint32_t n)
{
  uint32_t done = 0;
  while (done < n) {
    uint32_t taken = 0;
    assert_ok(vyre_engine_reap(engine, out + done, n - done, PATIENCE, &taken));
    assert_in_range(taken, 1, n - done);
    done += taken;
  }
}

uint32_t sum_of(const uint8_t *data, uint32_t size)
{
  uint32_t sum = 1;
  for (uint32_t i = 0; i < size; ++i)
    sum += data[i];
  return sum;
}

/* splitmix64 */
uint64_t next_random(uint64_t *state)
{
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

void set_gate(vyre_engine *engine, uint32_t offset, uint32_t value)
{
  uint8_t *input = vyre_engine_input(engine, NULL);
  /* Release: pairs with the acquire in the handler. */
  __atomic_store_n((uint32_t *)(void *)(input + offset), value, __ATOMIC_RELEASE);
}

/* ---- engines with gates ---- */

static vyre_engine *gated[4]; /* that are there; NULL: none */

static void replace(const vyre_engine *old, vyre_engine *new)
{
  for (size_t i = 0; i < sizeof gated / sizeof gated[0]; ++i)
    if (gated[i] == old) {
      gated[i] = new;
      return;
    }
  fail_msg("no room for another engine with gates");
}

vyre_engine *gates_start(const test_rig *rig, const vyre_engine_options *options)
{
  vyre_engine *engine = rig_start(rig, options);
  replace(NULL, engine);
  return engine;
}

void gates_end(vyre_engine *engine)
{
  replace(engine, NULL);
  vyre_engine_destroy(engine);
}

/* The engines stay there: threads of the failed test may still use them. */
int gates_open_all(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof gated / sizeof gated[0]; ++i) {
    uint64_t size = 0;
    if (!gated[i])
      continue;
    (void)vyre_engine_input(gated[i], &size);
    for (uint64_t offset = 0; offset + 4 <= size; offset += 4)
      set_gate(gated[i], (uint32_t)offset, 1);
    (void)vyre_engine_stop(gated[i], PATIENCE, NULL);
    gated[i] = NULL;
  }
  return 0;
}

bool engine_is_wide(const vyre_engine *engine)
{
  return engine->plan.persistent && engine->plan.width > 1;
}

void skip_if_wide(vyre_engine *engine, const char *why)
{
  if (!engine_is_wide(engine))
    return;
  print_message("skipped with wide workers: %s\n", why);
  gates_end(engine);
  skip();
}

static bool is_claimed(const vyre_engine *engine, uint64_t ticket)
{
  for (uint32_t i = 0; i < engine->plan.workers; ++i) {
    /* Relaxed: says that the item is in somebody's hands, nothing is read through it. */
    const uint64_t until = __atomic_load_n(&engine->workers[i].until, __ATOMIC_RELAXED);
    if ((int64_t)((until - ticket) << 5) > 0) /* tickets have 59 bits */
      return true;
  }
  return false;
}

void submit_apart(vyre_engine *engine, const vyre_work_item *items, uint32_t n,
                  uint64_t *out_tickets)
{
  if (!engine_is_wide(engine)) {
    submit_all(engine, items, n, out_tickets);
    return;
  }
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t ticket = 0, started = vyre__now_ns();
    submit_all(engine, items + i, 1, &ticket);
    while (!is_claimed(engine, ticket)) {
      assert_true(vyre__now_ns() - started < PATIENCE);
      sched_yield();
    }
    if (out_tickets)
      out_tickets[i] = ticket;
  }
}

bool rig_parks(const test_rig *rig)
{
  vyre_device_info info = {.struct_size = sizeof info};
  assert_ok(vyre_device_get_info(rig->device, &info, NULL));
  return !(info.capabilities & VYRE_CAP_ALLOC_WHILE_RESIDENT);
}

vyre_engine_stats stats_of(const vyre_engine *engine)
{
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;
  assert_ok(vyre_engine_get_stats(engine, &stats, NULL));
  return stats;
}
