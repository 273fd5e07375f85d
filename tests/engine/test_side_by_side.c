/*
 * test_side_by_side.c - several at once: engines on one device, an engine beside ordinary
 * dispatches, submitters beside each other while banks are swapped and launches come and go.
 */
#include "tests/engine/engine_help.h"
#include "tests/engine/ordinary.h"

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

static void start_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
  assert_int_equal(pthread_create(thread, NULL, body, argument), 0);
}

/* The thread's body returns its argument if all was well. */
static void join(pthread_t thread, const void *argument)
{
  void *result = NULL;
  pthread_join(thread, &result);
  assert_ptr_equal(result, argument);
}

/* ---- a stream through one engine ---- */

#define ITEMS 4000u

typedef struct stream {
  vyre_engine *engine;
  uint32_t first;      /* correlation */
  uint32_t submitters; /* of the engine */
  uint8_t *seen;
  uint32_t running; /* atomic */
} stream;

/* In batches of every size, so that cells are full, partly full and single. */
static void *submit_stream(void *self)
{
  stream *s = self;
  uint64_t seed = s->first + 1;
  for (uint32_t i = 0; i < ITEMS;) {
    vyre_work_item items[20];
    uint32_t n = 1 + (uint32_t)(next_random(&seed) % 20), taken = 0;
    vyre_status status;
    n = n < ITEMS - i ? n : ITEMS - i;
    for (uint32_t k = 0; k < n; ++k)
      items[k] = (vyre_work_item){.rule_set_id = RULE_NOTHING, .correlation = s->first + i + k};
    status = vyre_engine_submit_many(s->engine, items, n, NULL, &taken);
    if (status == VYRE_OK)
      i += taken;
    else if (status == VYRE_ERROR_QUEUE_FULL)
      sched_yield();
    else
      return NULL;
  }
  return s;
}

static void *reap_stream(void *self)
{
  stream *s = self;
  for (uint32_t reaped = 0; reaped < s->submitters * ITEMS;) {
    vyre_completion c[40];
    uint32_t n = 0;
    if (vyre_engine_reap(s->engine, c, 40, PATIENCE, &n) != VYRE_OK)
      return NULL;
    for (uint32_t i = 0; i < n; ++i)
      if (c[i].status != VYRE_OK || c[i].result != c[i].correlation ||
          c[i].correlation >= s->submitters * ITEMS || s->seen[c[i].correlation]++)
        return NULL;
    reaped += n;
  }
  __atomic_store_n(&s->running, 0, __ATOMIC_RELEASE);
  return s;
}

/* ---- two engines ---- */

static void two_engines(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < 4; ++round) { /* each pair of modes */
    stream s[2];
    pthread_t threads[4];
    for (uint32_t i = 0; i < 2; ++i) {
      vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
      options.mode = modes[round >> i & 1];
      options.capacity = 64;
      options.workers = 2;
      s[i] = (stream){rig_start(&cpu, &options), 0, 1, calloc(ITEMS, 1), 1};
      assert_non_null(s[i].seen);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      start_thread(&threads[2 * i], submit_stream, &s[i]);
      start_thread(&threads[2 * i + 1], reap_stream, &s[i]);
    }
    for (uint32_t i = 0; i < 4; ++i)
      join(threads[i], &s[i / 2]);
    for (uint32_t i = 0; i < 2; ++i) {
      assert_int_equal(stats_of(s[i].engine).submitted, ITEMS);
      assert_int_equal(stats_of(s[i].engine).completed, ITEMS);
      vyre_engine_destroy(s[i].engine); /* the other may be there still */
      free(s[i].seen);
    }
  }
}

/* ---- ordinary dispatches ---- */

static void ordinary_beside(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    pthread_t threads[2];
    uint32_t runs = 0;
    stream s;
    options.mode = modes[m];
    options.capacity = 64;
    s = (stream){rig_start(&cpu, &options), 0, 1, calloc(ITEMS, 1), 1};
    assert_non_null(s.seen);
    if (ordinary_create(cpu.device, &program, &err) != VYRE_OK)
      fail_msg("%s", err.message);
    start_thread(&threads[0], submit_stream, &s);
    start_thread(&threads[1], reap_stream, &s);
    while (__atomic_load_n(&s.running, __ATOMIC_ACQUIRE) || runs < 20) {
      assert_true(ordinary_run(program));
      ++runs;
    }
    join(threads[0], &s);
    join(threads[1], &s);
    assert_true(ordinary_run(program));
    vyre_engine_destroy(s.engine);
    vyre_program_destroy(program);
    free(s.seen);
  }
}

/* An item that runs for long keeps no ordinary dispatch waiting. */
static void ordinary_beside_a_long_item(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  const vyre_work_item gate = {0, 4, RULE_GATE, 6};
  vyre_program *program = NULL;
  vyre_engine *engine;
  vyre_completion c;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.input_size = 4;
  engine = gates_start(&cpu, &options);
  assert_ok(ordinary_create(cpu.device, &program, NULL));
  assert_ok(vyre_engine_submit(engine, &gate, NULL));
  for (uint32_t i = 0; i < 20; ++i)
    assert_true(ordinary_run(program));
  assert_int_equal(vyre_engine_reap(engine, &c, 1, 0, NULL), VYRE_ERROR_EMPTY);
  set_gate(engine, 0, 4);
  assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
  assert_int_equal(c.result, 4);
  vyre_program_destroy(program);
  gates_end(engine);
}

/* ---- launches that come and go ---- */

static void relaunches_lose_nothing(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  const uint32_t submitters = 3;
  stream s[3], all;
  pthread_t threads[4];
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.capacity = 16;
  options.workers = 3;
  options.max_resident_ms = 1;
  options.max_idle_ms = 1;
  all = (stream){rig_start(&cpu, &options), 0, submitters, calloc(submitters * ITEMS, 1), 1};
  assert_non_null(all.seen);
  start_thread(&threads[3], reap_stream, &all);
  for (uint32_t i = 0; i < submitters; ++i) {
    s[i] = all;
    s[i].first = i * ITEMS;
    start_thread(&threads[i], submit_stream, &s[i]);
  }
  for (uint32_t i = 0; i < submitters; ++i)
    join(threads[i], &s[i]);
  join(threads[3], &all);
  assert_true(stats_of(all.engine).launches > 1);
  assert_int_equal(stats_of(all.engine).completed, submitters * ITEMS);
  vyre_engine_destroy(all.engine);
  free(all.seen);
}

/* ---- swaps beside several submitters ---- */

#define FINDERS 3u
#define FINDS 1500u
#define HITS 5u

typedef struct finder {
  vyre_engine *engine;
  uint32_t id;
} finder;

static void *submit_finds(void *self)
{
  finder *f = self;
  for (uint32_t i = 0; i < FINDS;) {
    const vyre_work_item item = {0, HITS, RULE_FIND, f->id * FINDS + i};
    const vyre_status status = vyre_engine_submit(f->engine, &item, NULL);
    if (status == VYRE_OK)
      ++i;
    else if (status != VYRE_ERROR_QUEUE_FULL)
      return NULL;
    else
      sched_yield();
  }
  return f;
}

static void *reap_finds(void *self)
{
  finder *f = self;
  for (uint32_t reaped = 0; reaped < FINDERS * FINDS;) {
    vyre_completion c[16];
    uint32_t n = 0;
    if (vyre_engine_reap(f->engine, c, 16, PATIENCE, &n) != VYRE_OK)
      return NULL;
    for (uint32_t i = 0; i < n; ++i)
      if (c[i].status != VYRE_OK || c[i].result != HITS)
        return NULL;
    reaped += n;
  }
  __atomic_store_n(&f->id, 1, __ATOMIC_RELEASE);
  return f;
}

/* The bank is roomy: each item's records come out whole, once, in one swap or another. */
static void swaps_under_load(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    finder f[FINDERS], reaper;
    pthread_t threads[FINDERS + 1];
    uint8_t *found = calloc(FINDERS * FINDS, 1);
    uint32_t swaps = 0;
    bool last = false;
    assert_non_null(found);
    options.mode = modes[m];
    options.capacity = 32;
    options.input_size = HITS;
    options.bank_records = FINDERS * FINDS * HITS;
    options.workers = 3;
    options.max_resident_ms = 3;
    reaper = (finder){rig_start(&cpu, &options), 0};
    memset(vyre_engine_input(reaper.engine, NULL), 'x', HITS);
    start_thread(&threads[FINDERS], reap_finds, &reaper);
    for (uint32_t i = 0; i < FINDERS; ++i) {
      f[i] = (finder){reaper.engine, i};
      start_thread(&threads[i], submit_finds, &f[i]);
    }
    while (!last) {
      const vyre_record *records = NULL;
      uint32_t count = 0;
      last = __atomic_load_n(&reaper.id, __ATOMIC_ACQUIRE);
      assert_ok(vyre_engine_swap_bank(reaper.engine, PATIENCE, &records, &count));
      for (uint32_t i = 0; i < count; ++i) {
        assert_true(records[i].value[1] < FINDERS * FINDS && records[i].value[0] < HITS);
        ++found[records[i].value[1]];
      }
      ++swaps;
    }
    for (uint32_t i = 0; i < FINDERS; ++i)
      join(threads[i], &f[i]);
    join(threads[FINDERS], &reaper);
    for (uint32_t i = 0; i < FINDERS * FINDS; ++i)
      assert_int_equal(found[i], HITS);
    assert_true(swaps > 1);
    vyre_engine_destroy(reaper.engine);
    free(found);
  }
}

/* A limit of one item names that item, while others go on. */
static void limit_names_the_item(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_work_item items[30];
  uint64_t tickets[30], unfinished[30];
  vyre_completion c[30];
  vyre_engine *engine;
  uint32_t n = 0, reaped = 0;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.input_size = 4;
  options.workers = 2;
  options.max_item_ms = 20;
  engine = gates_start(&cpu, &options);
  for (uint32_t i = 0; i < 30; ++i)
    items[i] = (vyre_work_item){0, 4, i == 13 ? RULE_GATE : RULE_NOTHING, i};
  for (uint32_t i = 0; i < 30; ++i) /* one a cell: nothing is claimed with the long one */
    submit_apart(engine, &items[i], 1, &tickets[i]);
  assert_int_equal(vyre_engine_wait(engine, tickets[13], VYRE_NO_TIMEOUT, NULL),
                   VYRE_ERROR_TIMEOUT);
  while (reaped < 13) /* those before it, whatever a limit says meanwhile */
    if (vyre_engine_reap(engine, c, 13 - reaped, PATIENCE, &n) == VYRE_OK)
      reaped += n;
  assert_int_equal(vyre_engine_drain(engine, VYRE_NO_TIMEOUT, unfinished, 30, &n),
                   VYRE_ERROR_TIMEOUT);
  assert_true(n >= 1);
  assert_int_equal(unfinished[0], tickets[13]);
  set_gate(engine, 0, 4);
  reap_all(engine, c, 17);
  gates_end(engine);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_engines),          cmocka_unit_test(ordinary_beside),
      gate_test(ordinary_beside_a_long_item), cmocka_unit_test(relaunches_lose_nothing),
      cmocka_unit_test(swaps_under_load),     gate_test(limit_names_the_item)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
