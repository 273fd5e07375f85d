/*
 * test_bank.c - records: overflow and the run after it, and swaps of the bank under load.
 */
#include "tests/engine/engine_help.h"

#include <pthread.h>

static test_rig cpu;
static const vyre_engine_mode modes[] = {VYRE_ENGINE_FORCE, VYRE_ENGINE_DISABLE};

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

static uint32_t records_of(const vyre_record *records, uint32_t count, uint64_t ticket)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; ++i)
    n += records[i].ticket == ticket;
  return n;
}

/* Too little room: OVERFLOW says how many were wanted; with more room the item is whole. */
static void overflow(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    const vyre_work_item items[] = {{0, 10, RULE_FIND, 1}, {0, 50, RULE_FIND, 2}};
    const vyre_record *records = NULL;
    vyre_completion c[2], again;
    vyre_engine *engine;
    uint32_t count = 0;
    uint64_t tickets[2], ticket = 0;
    options.mode = modes[m];
    options.input_size = 100;
    options.bank_records = 50;
    options.workers = 1;
    engine = rig_start(&cpu, &options);
    memset(vyre_engine_input(engine, NULL), 'x', 100);
    for (uint32_t i = 0; i < 2; ++i) { /* one after the other: the second finds 40 places */
      submit_all(engine, &items[i], 1, &tickets[i]);
      assert_ok(vyre_engine_wait(engine, tickets[i], PATIENCE, &c[i]));
    }
    assert_int_equal(c[0].status, VYRE_OK);
    assert_int_equal(c[0].result, 10);
    assert_int_equal(c[1].status, VYRE_ERROR_OVERFLOW);
    assert_int_equal(c[1].result, 50);
    assert_ok(vyre_engine_swap_bank(engine, PATIENCE, &records, &count));
    assert_int_equal(count, 50);
    assert_int_equal(records_of(records, count, tickets[0]), 10);
    assert_int_equal(records_of(records, count, tickets[1]), 40);
    assert_ok(vyre_engine_submit(engine, &items[1], &ticket));
    assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &again));
    assert_int_equal(again.status, VYRE_OK);
    assert_int_equal(again.result, 50);
    assert_ok(vyre_engine_swap_bank(engine, PATIENCE, &records, &count));
    assert_int_equal(count, 50);
    assert_int_equal(records_of(records, count, ticket), 50);
    for (uint32_t i = 0; i < count; ++i)
      assert_int_equal(records[i].value[1], 2);
    assert_int_equal(stats_of(engine).overflows, 1);
    vyre_engine_destroy(engine);
  }
}

/* Each half is empty when it comes into use, however often the bank is swapped, used or not. */
static void many_swaps(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    const vyre_record *records = NULL;
    uint64_t seed = 3;
    vyre_engine *engine;
    options.mode = modes[m];
    options.input_size = 16;
    options.bank_records = 16;
    options.max_idle_ms = 1;
    engine = rig_start(&cpu, &options);
    memset(vyre_engine_input(engine, NULL), 'x', 16);
    for (uint32_t i = 0; i < 300; ++i) {
      const uint32_t n = (uint32_t)(next_random(&seed) % 3) * 8; /* 0, 8 or 16 records */
      const vyre_work_item item = {0, n, RULE_FIND, i};
      uint32_t count = 99;
      vyre_completion c;
      if (n) {
        assert_ok(vyre_engine_submit(engine, &item, NULL));
        assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
        assert_int_equal(c.status, VYRE_OK);
      }
      assert_ok(vyre_engine_swap_bank(engine, PATIENCE, &records, &count));
      assert_int_equal(count, n);
      for (uint32_t k = 0; k < count; ++k)
        assert_int_equal(records[k].value[1], i);
    }
    vyre_engine_destroy(engine);
  }
}

/* ---- under load ---- */

#define ITEMS 20000u
#define BYTES 40u

typedef struct load {
  vyre_engine *engine;
  uint32_t *stored; /* records seen, by correlation */
  uint32_t done;    /* the submitter has finished; atomic */
  uint64_t overflows;
} load;

/* Submits and reaps; what overflowed goes in again, as a caller would do. */
static void *feed(void *self)
{
  load *l = self;
  uint32_t next = 0, open = 0;
  uint32_t again[1024], agains = 0;
  while (next < ITEMS || open || agains) {
    vyre_completion c[64];
    uint32_t n = 0;
    while (next < ITEMS || agains) {
      const uint32_t id = agains ? again[agains - 1] : next;
      const vyre_work_item item = {0, BYTES, RULE_FIND, id};
      if (vyre_engine_submit(l->engine, &item, NULL) != VYRE_OK)
        break;
      if (agains)
        --agains;
      else
        ++next;
      ++open;
    }
    if (vyre_engine_reap(l->engine, c, 64, SECOND, &n) != VYRE_OK)
      continue;
    open -= n;
    for (uint32_t i = 0; i < n; ++i)
      if (c[i].status == VYRE_ERROR_OVERFLOW) {
        again[agains++] = c[i].correlation;
        ++l->overflows;
      }
  }
  __atomic_store_n(&l->done, 1, __ATOMIC_RELEASE);
  return NULL;
}

/*
 * No record is lost or doubled by a swap: a ticket's records are whole in one bank, or it
 * overflowed and was given again under another ticket.
 */
static void swaps_under_load(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    load l = {0};
    pthread_t thread;
    uint32_t swaps = 0;
    bool last = false;
    options.mode = modes[m];
    options.capacity = 64;
    options.max_unfinished = 256;
    options.input_size = BYTES;
    options.bank_records = 4000;
    options.max_resident_ms = 5; /* swaps across relaunches too */
    l.engine = rig_start(&cpu, &options);
    l.stored = calloc(ITEMS, sizeof *l.stored);
    assert_non_null(l.stored);
    for (uint32_t i = 0; i < BYTES; ++i)
      ((uint8_t *)vyre_engine_input(l.engine, NULL))[i] = i % 4 ? 'x' : 'y';
    assert_int_equal(pthread_create(&thread, NULL, feed, &l), 0);
    while (!last) {
      const vyre_record *records = NULL;
      uint32_t count = 0;
      last = __atomic_load_n(&l.done, __ATOMIC_ACQUIRE);
      assert_ok(vyre_engine_swap_bank(l.engine, PATIENCE, &records, &count));
      assert_true(count <= 4000);
      for (uint32_t i = 0; i < count; ++i) {
        const vyre_record *r = &records[i];
        assert_true(r->value[1] < ITEMS && r->value[0] < BYTES && r->value[0] % 4);
        assert_true(r->ticket <= 8 * stats_of(l.engine).submitted);
        ++l.stored[r->value[1]];
      }
      ++swaps;
    }
    pthread_join(thread, NULL);
    /* Every item is whole once; an overflowed try leaves up to 29 more. */
    for (uint32_t i = 0; i < ITEMS; ++i)
      assert_true(l.stored[i] >= 30);
    if (!l.overflows)
      for (uint32_t i = 0; i < ITEMS; ++i)
        assert_int_equal(l.stored[i], 30);
    assert_true(swaps > 1);
    vyre_engine_destroy(l.engine);
    free(l.stored);
  }
}

/* A swap that has to wait goes on where it was. */
static void swap_timeout(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  const vyre_work_item gate = {0, 4, RULE_GATE, 0}, find = {4, 3, RULE_FIND, 7};
  const vyre_record *records = NULL;
  vyre_engine *engine;
  uint64_t old_ticket = 0, new_ticket = 0, gate_ticket = 0;
  uint32_t count = 99;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.workers = 2;
  options.input_size = 8;
  options.bank_records = 8;
  engine = gates_start(&cpu, &options);
  memset((char *)vyre_engine_input(engine, NULL) + 4, 'x', 4);
  submit_apart(engine, &gate, 1, &gate_ticket);
  assert_ok(vyre_engine_submit(engine, &find, &old_ticket));
  assert_ok(vyre_engine_wait(engine, old_ticket, PATIENCE, NULL));
  assert_int_equal(vyre_engine_swap_bank(engine, 0, &records, &count), VYRE_ERROR_TIMEOUT);
  assert_int_equal(count, 99);
  assert_ok(vyre_engine_submit(engine, &find, &new_ticket)); /* fills the other half */
  assert_ok(vyre_engine_wait(engine, new_ticket, PATIENCE, NULL));
  assert_int_equal(vyre_engine_swap_bank(engine, SECOND / 100, &records, &count),
                   VYRE_ERROR_TIMEOUT);
  set_gate(engine, 0, 1);
  assert_ok(vyre_engine_swap_bank(engine, PATIENCE, &records, &count));
  assert_int_equal(count, 3);
  assert_int_equal(records_of(records, count, old_ticket), 3);
  assert_ok(vyre_engine_swap_bank(engine, PATIENCE, &records, &count));
  assert_int_equal(count, 3);
  assert_int_equal(records_of(records, count, new_ticket), 3);
  /* The last records can be had after a stop. */
  assert_ok(vyre_engine_submit(engine, &find, &new_ticket));
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  assert_ok(vyre_engine_swap_bank(engine, PATIENCE, &records, &count));
  assert_int_equal(records_of(records, count, new_ticket), 3);
  gates_end(engine);
}

static void no_bank(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    const vyre_work_item find = {0, 8, RULE_FIND, 7}, none = {8, 0, RULE_FIND, 8};
    const vyre_record *records = NULL;
    vyre_completion c;
    vyre_engine *engine;
    uint32_t count = 0;
    options.mode = modes[m];
    options.input_size = 8;
    engine = rig_start(&cpu, &options);
    memset(vyre_engine_input(engine, NULL), 'x', 8);
    assert_int_equal(vyre_engine_swap_bank(engine, 0, &records, &count), VYRE_ERROR_UNSUPPORTED);
    assert_ok(vyre_engine_submit(engine, &find, NULL));
    assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
    assert_int_equal(c.status, VYRE_ERROR_OVERFLOW);
    assert_int_equal(c.result, 8);
    assert_ok(vyre_engine_submit(engine, &none, NULL));
    assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
    assert_int_equal(c.status, VYRE_OK);
    assert_int_equal(c.result, 0);
    vyre_engine_destroy(engine);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(overflow), cmocka_unit_test(many_swaps),
                                     cmocka_unit_test(swaps_under_load), gate_test(swap_timeout),
                                     cmocka_unit_test(no_bank)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
