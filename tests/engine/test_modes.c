/*
 * test_modes.c - starting and stopping in each mode, and the same results from all of them.
 */
#include "tests/engine/engine_help.h"

#define INPUT 65536u
#define ITEMS 600u

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

static void fill_input(uint8_t *input)
{
  uint64_t seed = 5;
  for (uint32_t i = 0; i < INPUT; ++i)
    input[i] = (uint8_t)next_random(&seed);
}

/* Items of every kind, good and bad. */
static void make_items(vyre_work_item *items)
{
  uint64_t seed = 7;
  for (uint32_t i = 0; i < ITEMS; ++i) {
    items[i].input_offset = (uint32_t)(next_random(&seed) % INPUT);
    items[i].input_len = (uint32_t)(next_random(&seed) % 700);
    if (items[i].input_len > INPUT - items[i].input_offset && i % 5)
      items[i].input_len = INPUT - items[i].input_offset;
    items[i].rule_set_id = i % 3 == 0 ? RULE_SUM : i % 3 == 1 ? RULE_FIND : RULE_BIG;
    if (i % 50 == 49)
      items[i].rule_set_id = RULE_COUNT + i;
    items[i].correlation = i * 3;
  }
}

static int by_ticket(const void *left, const void *right)
{
  const vyre_completion *a = left, *b = right;
  return a->ticket < b->ticket ? -1 : a->ticket > b->ticket;
}

static int by_number(const void *left, const void *right)
{
  const uint64_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

static int by_record(const void *left, const void *right)
{
  return memcmp(left, right, sizeof(vyre_record));
}

typedef struct outcome {
  vyre_completion completions[ITEMS];
  vyre_record *records;
  uint32_t record_count;
} outcome;

/* Which items are packed together is a matter of time: each ticket becomes its item's number. */
static void number(outcome *out, const uint64_t *tickets)
{
  for (uint32_t i = 0; i < ITEMS; ++i) {
    assert_int_equal(out->completions[i].ticket, tickets[i]);
    assert_true(!i || tickets[i] > tickets[i - 1]);
    out->completions[i].ticket = i;
  }
  for (uint32_t i = 0; i < out->record_count; ++i) {
    const uint64_t *ticket =
        bsearch(&out->records[i].ticket, tickets, ITEMS, sizeof *tickets, by_number);
    assert_non_null(ticket);
    out->records[i].ticket = (uint64_t)(ticket - tickets);
  }
}

/* All items through one engine; sorted, so that outcomes can be compared byte by byte. */
static void run(const test_rig *rig, vyre_engine_mode mode, const char *choice, outcome *out)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_work_item items[ITEMS];
  uint64_t tickets[ITEMS];
  const vyre_record *records = NULL;
  vyre_engine *engine;
  options.mode = mode;
  options.capacity = 64;
  options.max_unfinished = 1024;
  options.bank_records = 100000;
  options.input_size = INPUT;
  options.workers = 3;
  engine = rig_start(rig, &options);
  if (strncmp(vyre_engine_choice(engine), choice, strlen(choice)) != 0)
    fail_msg("choice is '%s'", vyre_engine_choice(engine));
  fill_input(vyre_engine_input(engine, NULL));
  make_items(items);
  submit_all(engine, items, ITEMS, tickets);
  reap_all(engine, out->completions, ITEMS);
  qsort(out->completions, ITEMS, sizeof out->completions[0], by_ticket);
  assert_ok(vyre_engine_swap_bank(engine, PATIENCE, &records, &out->record_count));
  out->records = malloc(out->record_count * sizeof *records + 1);
  assert_non_null(out->records);
  memcpy(out->records, records, out->record_count * sizeof *records);
  number(out, tickets);
  qsort(out->records, out->record_count, sizeof *records, by_record);
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  vyre_engine_destroy(engine);
}

static void check_outcome(const outcome *out)
{
  static uint8_t input[INPUT];
  vyre_work_item items[ITEMS];
  uint32_t wanted = 0;
  fill_input(input);
  make_items(items);
  for (uint32_t i = 0; i < ITEMS; ++i) {
    const vyre_completion *c = &out->completions[i];
    const vyre_work_item *item = &items[i];
    const bool bad = item->rule_set_id >= RULE_COUNT || item->input_offset > INPUT ||
                     item->input_len > INPUT - item->input_offset;
    uint32_t expected = 0;
    assert_int_equal(c->ticket, i);
    assert_int_equal(c->correlation, item->correlation);
    assert_int_equal(c->status, bad ? VYRE_ERROR_INVALID_ARGUMENT : VYRE_OK);
    if (bad)
      expected = 0;
    else if (item->rule_set_id == RULE_FIND)
      for (uint32_t k = 0; k < item->input_len; ++k)
        expected += input[item->input_offset + k] == 'x';
    else
      expected = sum_of(input + item->input_offset, item->input_len) +
                 (item->rule_set_id == RULE_BIG ? 8 : 0);
    assert_int_equal(c->result, expected);
    wanted += item->rule_set_id == RULE_FIND ? expected : 0;
  }
  assert_int_equal(out->record_count, wanted);
  assert_true(wanted > 100);
}

static void modes_give_the_same(void **state)
{
  outcome *out = calloc(4, sizeof *out);
  test_rig thin;
  (void)state;
  assert_non_null(out);
  run(&cpu, VYRE_ENGINE_FORCE, "persistent: asked for", &out[0]);
  run(&cpu, VYRE_ENGINE_AUTO, "persistent: chosen", &out[1]);
  run(&cpu, VYRE_ENGINE_DISABLE, "batched: asked for", &out[2]);
  rig_open(&thin, VYRE_TEST_PLUGIN_DIR "/libvyre_thin.so", "thin");
  run(&thin, VYRE_ENGINE_AUTO, "batched: the thin plugin has nothing that stays", &out[3]);
  rig_close(&thin);
  check_outcome(&out[0]);
  for (int i = 1; i < 4; ++i) {
    assert_memory_equal(out[0].completions, out[i].completions, sizeof out[0].completions);
    assert_int_equal(out[0].record_count, out[i].record_count);
    assert_memory_equal(out[0].records, out[i].records,
                        out[0].record_count * sizeof *out[0].records);
  }
  for (int i = 0; i < 4; ++i)
    free(out[i].records);
  free(out);
}

static void force_needs_the_capability(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_engine *engine = NULL;
  test_rig thin;
  (void)state;
  rig_open(&thin, VYRE_TEST_PLUGIN_DIR "/libvyre_thin.so", "thin");
  options.mode = VYRE_ENGINE_FORCE;
  assert_int_equal(rig_try_start(&thin, &options, &engine, &err), VYRE_ERROR_UNSUPPORTED);
  assert_null(engine);
  assert_non_null(strstr(err.message, "the thin plugin has nothing that stays"));
  assert_non_null(strstr(err.fix, "VYRE_ENGINE_AUTO"));
  rig_close(&thin);
}

/* A device that cannot wake the host: waiters look for themselves. */
static void no_notification(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_completion completion;
  vyre_engine *engine;
  test_rig mute;
  (void)state;
  rig_open(&mute, VYRE_TEST_PLUGIN_DIR "/libvyre_mute.so", "mute");
  options.mode = VYRE_ENGINE_FORCE;
  engine = rig_start(&mute, &options);
  for (uint32_t i = 0; i < 50; ++i) {
    const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = i};
    uint64_t ticket = 0;
    assert_ok(vyre_engine_submit(engine, &item, &ticket));
    assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &completion));
    assert_int_equal(completion.result, i);
  }
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  vyre_engine_destroy(engine);
  rig_close(&mute);
}

static void input_buffer(void **state)
{
  const vyre_engine_mode modes[] = {VYRE_ENGINE_FORCE, VYRE_ENGINE_DISABLE};
  uint8_t data[1000];
  (void)state;
  for (uint32_t i = 0; i < sizeof data; ++i)
    data[i] = (uint8_t)(i * 7);
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    const vyre_work_item items[] = {{0, sizeof data, RULE_SUM, 1},
                                    {10, sizeof data - 10, RULE_SUM, 2},
                                    {sizeof data, 0, RULE_SUM, 3},
                                    {sizeof data, 1, RULE_SUM, 4},
                                    {UINT32_MAX, UINT32_MAX, RULE_SUM, 5}};
    vyre_completion c[5];
    vyre_buffer *buffer = NULL;
    vyre_engine *engine;
    uint64_t size = 77;
    assert_ok(vyre_buffer_create(cpu.device, sizeof data, &buffer, NULL));
    assert_ok(vyre_buffer_upload(buffer, 0, data, sizeof data, NULL));
    options.mode = modes[m];
    options.input = buffer;
    engine = rig_start(&cpu, &options);
    assert_null(vyre_engine_input(engine, &size));
    assert_int_equal(size, 0);
    submit_all(engine, items, 5, NULL);
    reap_all(engine, c, 5);
    qsort(c, 5, sizeof c[0], by_ticket);
    assert_int_equal(c[0].result, sum_of(data, sizeof data));
    assert_int_equal(c[1].result, sum_of(data + 10, sizeof data - 10));
    assert_int_equal(c[2].result, 1);
    assert_int_equal(c[2].status, VYRE_OK);
    assert_int_equal(c[3].status, VYRE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(c[4].status, VYRE_ERROR_INVALID_ARGUMENT);
    vyre_engine_destroy(engine);
    vyre_buffer_destroy(buffer);
  }
}

/* The engine keeps its device; and no options are the default ones. */
static void outlives_the_device_handle(void **state)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 8};
  vyre_completion completion;
  vyre_engine *engine;
  uint64_t ticket;
  test_rig own;
  (void)state;
  rig_open(&own, NULL, test_device());
  engine = rig_start(&own, NULL);
  rig_close(&own);
  assert_ok(vyre_engine_submit(engine, &item, &ticket));
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &completion));
  assert_int_equal(completion.result, 8);
  vyre_engine_destroy(engine);
}

static void two_engines(void **state)
{
  vyre_engine *a = rig_start(&cpu, NULL), *b = rig_start(&cpu, NULL);
  (void)state;
  for (uint32_t i = 0; i < 200; ++i) {
    const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = i};
    assert_ok(vyre_engine_submit(a, &item, NULL));
    assert_ok(vyre_engine_submit(b, &item, NULL));
  }
  for (int k = 0; k < 2; ++k) {
    vyre_completion c[200];
    uint64_t sum = 0;
    reap_all(k ? a : b, c, 200);
    for (uint32_t i = 0; i < 200; ++i)
      sum += c[i].result;
    assert_int_equal(sum, 199 * 200 / 2);
  }
  vyre_engine_destroy(a);
  vyre_engine_destroy(b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(modes_give_the_same),
                                     cmocka_unit_test(force_needs_the_capability),
                                     cmocka_unit_test(no_notification),
                                     cmocka_unit_test(input_buffer),
                                     cmocka_unit_test(outlives_the_device_handle),
                                     cmocka_unit_test(two_engines)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
