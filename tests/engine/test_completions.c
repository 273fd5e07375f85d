/*
 * test_completions.c - every completion exactly once, in any order, by any number of threads; and
 * what fills the engine up.
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

/* ---- many threads ---- */

#define SUBMITTERS 3u
#define REAPERS 2u
#define ITEMS 100000u /* in all, of each mode */

typedef struct storm {
  vyre_engine *engine;
  uint8_t *seen; /* by correlation; atomic */
  uint32_t left; /* completions that nobody has taken; atomic */
  uint32_t bad;  /* atomic */
  uint32_t next; /* next correlation to submit; atomic */
} storm;

static void note(storm *s, const vyre_completion *c)
{
  /* Relaxed: counters that are read after the threads were joined. */
  if (c->correlation >= ITEMS || c->status != VYRE_OK || c->result != c->correlation ||
      __atomic_exchange_n(&s->seen[c->correlation], 1, __ATOMIC_RELAXED))
    __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
  __atomic_sub_fetch(&s->left, 1, __ATOMIC_RELAXED);
}

/* Submits batches of all sizes; now and then it takes one of its own items out by its ticket. */
static void *submitter(void *self)
{
  storm *s = self;
  uint64_t seed = (uint64_t)(uintptr_t)&seed;
  for (;;) {
    vyre_work_item items[64];
    uint64_t tickets[64];
    const uint32_t wanted = (uint32_t)(next_random(&seed) % 64) + 1;
    const uint32_t first = __atomic_fetch_add(&s->next, wanted, __ATOMIC_RELAXED);
    const uint32_t n = first >= ITEMS ? 0 : ITEMS - first < wanted ? ITEMS - first : wanted;
    if (!n)
      return NULL;
    for (uint32_t i = 0; i < n; ++i)
      items[i] = (vyre_work_item){.rule_set_id = RULE_NOTHING, .correlation = first + i};
    for (uint32_t done = 0; done < n;) {
      vyre_completion c;
      uint32_t taken = 0;
      vyre_status status =
          vyre_engine_submit_many(s->engine, items + done, n - done, tickets + done, &taken);
      if (status == VYRE_ERROR_QUEUE_FULL) {
        status = vyre_engine_reap(s->engine, &c, 1, SECOND / 100, NULL);
        if (status == VYRE_OK)
          note(s, &c);
        continue;
      }
      if (status != VYRE_OK) {
        __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
        return NULL;
      }
      done += taken;
    }
    if (next_random(&seed) % 4 == 0) {
      vyre_completion c;
      const vyre_status status =
          vyre_engine_wait(s->engine, tickets[next_random(&seed) % n], PATIENCE, &c);
      if (status == VYRE_OK)
        note(s, &c);
      else if (status != VYRE_ERROR_NOT_FOUND) /* a reaper was faster */
        __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
    }
  }
}

static void *reaper(void *self)
{
  storm *s = self;
  uint64_t seed = (uint64_t)(uintptr_t)&seed;
  while (__atomic_load_n(&s->left, __ATOMIC_RELAXED)) {
    vyre_completion c[50];
    uint32_t n = 0;
    const vyre_status status =
        vyre_engine_reap(s->engine, c, (uint32_t)(next_random(&seed) % 50) + 1, SECOND / 50, &n);
    if (status == VYRE_ERROR_TIMEOUT)
      continue;
    if (status != VYRE_OK)
      __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n; ++i)
      note(s, &c[i]);
  }
  return NULL;
}

static void exactly_once(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    pthread_t threads[SUBMITTERS + REAPERS];
    storm s = {.left = ITEMS};
    vyre_engine_stats stats;
    options.mode = modes[m];
    options.capacity = 32;
    options.max_unfinished = 128;
    s.engine = rig_start(&cpu, &options);
    s.seen = calloc(ITEMS, 1);
    assert_non_null(s.seen);
    for (uint32_t i = 0; i < SUBMITTERS + REAPERS; ++i)
      assert_int_equal(pthread_create(&threads[i], NULL, i < SUBMITTERS ? submitter : reaper, &s),
                       0);
    for (uint32_t i = 0; i < SUBMITTERS + REAPERS; ++i)
      pthread_join(threads[i], NULL);
    assert_int_equal(s.bad, 0);
    assert_int_equal(s.left, 0);
    stats = stats_of(s.engine);
    assert_int_equal(stats.submitted, ITEMS);
    assert_int_equal(stats.completed, ITEMS);
    assert_int_equal(stats.persistent, m == 0);
    assert_int_equal(stats.overflows, 0);
    assert_ok(vyre_engine_stop(s.engine, PATIENCE, NULL));
    vyre_engine_destroy(s.engine);
    free(s.seen);
  }
}

/* ---- order, places, tickets ---- */

/* Behind an item that does not end, others are finished and can be had in any order. */
static void out_of_order(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    const vyre_work_item gate = {0, 4, RULE_GATE, 1};
    vyre_work_item items[20];
    uint64_t tickets[20], gate_ticket = 0;
    vyre_completion c, rest[20];
    vyre_engine *engine;
    options.mode = modes[m];
    options.workers = 2;
    options.input_size = 64;
    engine = gates_start(&cpu, &options);
    if (modes[m] == VYRE_ENGINE_DISABLE)
      set_gate(engine, 0, 5); /* a batch ends as a whole */
    submit_apart(engine, &gate, 1, &gate_ticket);
    for (uint32_t i = 0; i < 20; ++i)
      items[i] = (vyre_work_item){.rule_set_id = RULE_NOTHING, .correlation = 100 + i};
    submit_all(engine, items, 20, tickets);
    assert_ok(vyre_engine_wait(engine, tickets[13], PATIENCE, &c));
    assert_int_equal(c.ticket, tickets[13]);
    assert_int_equal(c.correlation, 113);
    assert_int_equal(c.result, 113);
    assert_int_equal(vyre_engine_wait(engine, tickets[13], PATIENCE, &c), VYRE_ERROR_NOT_FOUND);
    assert_int_equal(vyre_engine_wait(engine, 5000, 0, &c), VYRE_ERROR_NOT_FOUND);
    assert_int_equal(vyre_engine_wait(engine, UINT64_MAX, 0, &c), VYRE_ERROR_NOT_FOUND);
    assert_ok(vyre_engine_wait(engine, tickets[2], PATIENCE, NULL));
    if (modes[m] == VYRE_ENGINE_FORCE) {
      assert_int_equal(vyre_engine_wait(engine, gate_ticket, 0, &c), VYRE_ERROR_TIMEOUT);
      assert_int_equal(vyre_engine_wait(engine, gate_ticket, SECOND / 100, &c), VYRE_ERROR_TIMEOUT);
      reap_all(engine, rest, 18);
      assert_int_equal(vyre_engine_reap(engine, &c, 1, 0, NULL), VYRE_ERROR_EMPTY);
      assert_int_equal(vyre_engine_reap(engine, &c, 1, SECOND / 100, NULL), VYRE_ERROR_TIMEOUT);
      set_gate(engine, 0, 5);
    }
    assert_ok(vyre_engine_wait(engine, gate_ticket, PATIENCE, &c));
    assert_int_equal(c.result, 5);
    assert_int_equal(c.correlation, 1);
    gates_end(engine);
  }
}

/* Completions that nobody reaps fill the engine up; nothing is overwritten. */
static void back_pressure(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_completion c[16];
    vyre_engine *engine;
    uint32_t submitted = 0, laps = 0;
    options.mode = modes[m];
    options.capacity = 4;
    options.max_unfinished = 16;
    engine = rig_start(&cpu, &options);
    for (laps = 0; laps < 50; ++laps) {
      uint32_t first = submitted;
      for (uint32_t i = 0; i < 16; ++i) {
        const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = submitted};
        submit_all(engine, &item, 1, NULL);
        ++submitted;
      }
      assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL));
      for (uint32_t i = 0; i < 3; ++i) {
        const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 0xdead};
        uint64_t ticket = 99;
        uint32_t n = 99;
        assert_int_equal(vyre_engine_submit(engine, &item, &ticket), VYRE_ERROR_QUEUE_FULL);
        assert_int_equal(vyre_engine_submit_many(engine, &item, 1, &ticket, &n),
                         VYRE_ERROR_QUEUE_FULL);
        assert_int_equal(ticket, 99);
        assert_int_equal(n, 99);
      }
      reap_all(engine, c, 16);
      for (uint32_t i = 0; i < 16; ++i)
        assert_int_equal(c[i].correlation, first + i); /* all were there: in ticket order */
    }
    /* One place of 16 is free again: one item fits. */
    for (uint32_t i = 0; i < 16; ++i) {
      const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = i};
      submit_all(engine, &item, 1, NULL);
    }
    assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL));
    assert_ok(vyre_engine_reap(engine, c, 1, 0, NULL));
    for (uint32_t i = 0; i < 2; ++i) {
      const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 77};
      assert_int_equal(vyre_engine_submit(engine, &item, NULL),
                       i ? VYRE_ERROR_QUEUE_FULL : VYRE_OK);
    }
    vyre_engine_destroy(engine);
  }
}

static void smallest(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_engine *engine;
    uint64_t last = 0;
    options.mode = modes[m];
    options.capacity = 1;
    options.max_unfinished = 1;
    options.workers = 1;
    engine = rig_start(&cpu, &options);
    for (uint32_t i = 0; i < 300; ++i) {
      const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = i};
      vyre_completion c;
      uint64_t ticket = 0;
      assert_ok(vyre_engine_submit(engine, &item, &ticket));
      assert_true(!i || ticket > last);
      last = ticket;
      assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
      assert_int_equal(c.result, i);
      assert_int_equal(c.ticket, ticket);
    }
    vyre_engine_destroy(engine);
  }
}

/* A sleeping reaper is woken by an item that somebody else submits. */
static void *late_submitter(void *engine)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 4};
  (void)vyre_engine_submit(engine, &item, NULL);
  return NULL;
}

static void waits_for_others(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < 40; ++i) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_completion c;
    vyre_engine *engine;
    pthread_t thread;
    options.mode = modes[i % 2];
    options.max_idle_ms = 1;
    engine = rig_start(&cpu, &options);
    assert_int_equal(pthread_create(&thread, NULL, late_submitter, engine), 0);
    assert_ok(vyre_engine_reap(engine, &c, 1, VYRE_NO_TIMEOUT, NULL));
    assert_int_equal(c.result, 4);
    pthread_join(thread, NULL);
    vyre_engine_destroy(engine);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(exactly_once), gate_test(out_of_order),
                                     cmocka_unit_test(back_pressure), cmocka_unit_test(smallest),
                                     cmocka_unit_test(waits_for_others)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
