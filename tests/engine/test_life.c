/*
 * test_life.c - an engine's launch leaves and comes back, ends on demand, and never keeps anybody
 * waiting for ever.
 */
#include "tests/engine/engine_help.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static void nap(void)
{
  const struct timespec time = {0, 500000};
  nanosleep(&time, NULL);
}

static uint32_t one_item(vyre_engine *engine, uint32_t correlation)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = correlation};
  vyre_completion c = {0};
  uint64_t ticket = 0;
  assert_ok(vyre_engine_submit(engine, &item, &ticket));
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
  assert_int_equal(c.status, VYRE_OK);
  return c.result;
}

static void idle_exit_and_relaunch(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine_stats stats;
  vyre_engine *engine;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.max_idle_ms = 1;
  engine = rig_start(&cpu, &options);
  for (uint32_t i = 0; i < 20; ++i) {
    /* Polls until the launch is gone: nothing but time makes it leave. */
    while (stats_of(engine).idle_exits < i + 1)
      nap();
    assert_int_equal(stats_of(engine).launches, i + 1);
    assert_int_equal(one_item(engine, i), i);
  }
  stats = stats_of(engine);
  assert_int_equal(stats.parks, 0);
  vyre_engine_destroy(engine);
}

/* So many looks that find nothing end a launch, whatever the time; its results are the same. */
static void idle_polls(void **state)
{
  static const uint32_t polls[] = {1, 7, 100};
  (void)state;
  for (size_t k = 0; k < sizeof polls / sizeof polls[0]; ++k) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_engine *engine;
    uint8_t *input;
    options.mode = VYRE_ENGINE_FORCE;
    options.max_idle_ms = 1000000;
    options.max_resident_ms = 1000000;
    options.max_idle_polls = polls[k];
    options.input_size = 4096;
    engine = rig_start(&cpu, &options);
    input = vyre_engine_input(engine, NULL);
    assert_non_null(input);
    for (uint32_t i = 0; i < 4096; ++i)
      input[i] = (uint8_t)(i * 7u);
    for (uint32_t i = 0; i < 10; ++i) {
      vyre_work_item items[60];
      vyre_completion c[60];
      while (stats_of(engine).idle_exits < i + 1)
        nap();
      assert_int_equal(stats_of(engine).launches, i + 1);
      for (uint32_t n = 0; n < 60; ++n)
        items[n] = (vyre_work_item){
            .input_offset = 64 * n, .input_len = 64 - n, .rule_set_id = RULE_SUM, .correlation = n};
      submit_all(engine, items, 60, NULL);
      reap_all(engine, c, 60);
      for (uint32_t n = 0; n < 60; ++n) {
        const vyre_work_item *item = &items[c[n].correlation];
        assert_int_equal(c[n].status, VYRE_OK);
        assert_int_equal(c[n].result, sum_of(input + item->input_offset, item->input_len));
      }
    }
    vyre_engine_destroy(engine);
  }
}

/* Items that come in at the very moment of leaving are served all the same. */
static void race_with_leaving(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine;
  uint64_t seed = 11;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.max_idle_ms = 1;
  engine = rig_start(&cpu, &options);
  for (uint32_t i = 0; i < 400; ++i) {
    const struct timespec time = {0, 800000 + (long)(next_random(&seed) % 600000)};
    nanosleep(&time, NULL);
    assert_int_equal(one_item(engine, i), i);
  }
  assert_true(stats_of(engine).launches > 1);
  vyre_engine_destroy(engine);
}

static void residency(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine_stats stats;
  vyre_engine *engine;
  uint32_t sent = 0;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.max_resident_ms = 2;
  options.max_idle_ms = 1000;
  engine = rig_start(&cpu, &options);
  do {
    vyre_work_item items[100];
    vyre_completion c[100];
    for (uint32_t i = 0; i < 100; ++i)
      items[i] = (vyre_work_item){.rule_set_id = RULE_NOTHING, .correlation = sent + i};
    submit_all(engine, items, 100, NULL);
    reap_all(engine, c, 100);
    for (uint32_t i = 0; i < 100; ++i)
      assert_int_equal(c[i].result, c[i].correlation);
    sent += 100;
    stats = stats_of(engine);
  } while (stats.launches < 10);
  assert_int_equal(stats.submitted, sent);
  assert_int_equal(stats.completed, sent);
  vyre_engine_destroy(engine);
}

/* ---- drain ---- */

static void drain_names_the_unfinished(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_work_item items[6];
  uint64_t tickets[6], unfinished[3] = {0};
  vyre_engine *engine;
  vyre_completion c[6];
  uint32_t n = 99;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.workers = 3;
  options.input_size = 16;
  engine = gates_start(&cpu, &options);
  assert_ok(vyre_engine_drain(engine, 0, NULL, 0, &n)); /* nothing was submitted */
  assert_int_equal(n, 0);
  for (uint32_t i = 0; i < 6; ++i)
    items[i] = (vyre_work_item){0, 4, RULE_NOTHING, i};
  items[1].rule_set_id = RULE_GATE;
  items[4].rule_set_id = RULE_GATE;
  submit_apart(engine, items, 6, tickets);
  assert_ok(vyre_engine_wait(engine, tickets[5], PATIENCE, NULL));
  assert_ok(vyre_engine_wait(engine, tickets[3], PATIENCE, NULL));
  assert_int_equal(vyre_engine_drain(engine, SECOND / 50, unfinished, 3, &n), VYRE_ERROR_TIMEOUT);
  assert_int_equal(n, 2);
  assert_int_equal(unfinished[0], tickets[1]);
  assert_int_equal(unfinished[1], tickets[4]);
  assert_int_equal(vyre_engine_drain(engine, 0, NULL, 0, &n), VYRE_ERROR_TIMEOUT);
  assert_int_equal(n, 2);
  assert_int_equal(vyre_engine_drain(engine, 0, NULL, 0, NULL), VYRE_ERROR_TIMEOUT);
  set_gate(engine, 0, 3);
  assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, &n));
  assert_int_equal(n, 0);
  reap_all(engine, c, 4); /* finished is not reaped */
  gates_end(engine);
}

static void item_limit(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  const vyre_work_item gate = {0, 4, RULE_GATE, 6};
  vyre_engine *engine;
  vyre_completion c;
  uint64_t ticket = 0, unfinished = 99;
  uint32_t n = 0;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.input_size = 4;
  options.max_item_ms = 20;
  engine = gates_start(&cpu, &options);
  assert_ok(vyre_engine_submit(engine, &gate, &ticket));
  assert_int_equal(vyre_engine_wait(engine, ticket, VYRE_NO_TIMEOUT, &c), VYRE_ERROR_TIMEOUT);
  assert_int_equal(vyre_engine_reap(engine, &c, 1, VYRE_NO_TIMEOUT, NULL), VYRE_ERROR_TIMEOUT);
  assert_int_equal(vyre_engine_drain(engine, VYRE_NO_TIMEOUT, &unfinished, 1, &n),
                   VYRE_ERROR_TIMEOUT);
  assert_int_equal(n, 1);
  assert_int_equal(unfinished, ticket);
  set_gate(engine, 0, 8);
  assert_ok(vyre_engine_wait(engine, ticket, VYRE_NO_TIMEOUT, &c));
  assert_int_equal(c.result, 8);
  gates_end(engine);
}

/* With every worker at an item past its limit, also who waits for a later item and who stops the
   engine come back. */
static void item_limit_of_others(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    const vyre_work_item gate = {0, 4, RULE_GATE, 6}, later = {0, 4, RULE_NOTHING, 7};
    vyre_engine *engine;
    vyre_error err = VYRE_ERROR_INIT;
    vyre_completion c[2];
    uint64_t tickets[2];
    options.mode = m ? VYRE_ENGINE_DISABLE : VYRE_ENGINE_FORCE;
    options.input_size = 4;
    options.workers = 1;
    options.max_item_ms = 20;
    engine = gates_start(&cpu, &options);
    assert_ok(vyre_engine_submit(engine, &gate, &tickets[0]));
    assert_int_equal(vyre_engine_wait(engine, tickets[0], VYRE_NO_TIMEOUT, c), VYRE_ERROR_TIMEOUT);
    assert_ok(vyre_engine_submit(engine, &later, &tickets[1])); /* claimed by nobody */
    assert_int_equal(vyre_engine_wait(engine, tickets[1], VYRE_NO_TIMEOUT, c), VYRE_ERROR_TIMEOUT);
    assert_int_equal(vyre_engine_stop(engine, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_TIMEOUT);
    assert_int_equal(vyre_engine_stop(engine, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_TIMEOUT);
    reap_all(engine, c, 2);
    assert_int_equal(c[0].status, VYRE_ERROR_CLOSED);
    assert_int_equal(c[1].status, VYRE_ERROR_CLOSED);
    set_gate(engine, 0, 8);
    assert_ok(vyre_engine_stop(engine, PATIENCE, &err));
    gates_end(engine);
  }
}

/* ---- stop and destroy ---- */

static void stop_finishes_what_was_accepted(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_work_item items[500];
    vyre_completion c[500];
    vyre_engine *engine;
    vyre_error err = VYRE_ERROR_INIT;
    options.mode = modes[m];
    engine = rig_start(&cpu, &options);
    for (uint32_t i = 0; i < 500; ++i)
      items[i] = (vyre_work_item){.rule_set_id = RULE_NOTHING, .correlation = i};
    submit_all(engine, items, 500, NULL);
    assert_ok(vyre_engine_stop(engine, PATIENCE, &err));
    assert_int_equal(vyre_engine_submit(engine, items, NULL), VYRE_ERROR_CLOSED);
    assert_ok(vyre_engine_stop(engine, 0, &err)); /* again */
    reap_all(engine, c, 500);
    for (uint32_t i = 0; i < 500; ++i)
      assert_true(c[i].status == VYRE_OK && c[i].result == c[i].correlation);
    assert_int_equal(vyre_engine_reap(engine, c, 1, VYRE_NO_TIMEOUT, NULL), VYRE_ERROR_CLOSED);
    assert_int_equal(vyre_engine_reap(engine, c, 1, 0, NULL), VYRE_ERROR_CLOSED);
    vyre_engine_destroy(engine);
  }
}

/* What does not end in time completes with CLOSED; a sleeping waiter is told at once. */
static void *wait_for_closed(void *engine)
{
  static vyre_completion c;
  return vyre_engine_wait(engine, 0, VYRE_NO_TIMEOUT, &c) == VYRE_OK &&
                 c.status == VYRE_ERROR_CLOSED
             ? engine
             : NULL;
}

static void stop_gives_up_at_its_limit(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_work_item items[10];
  uint64_t tickets[10];
  vyre_completion c[10];
  vyre_engine *engine;
  vyre_error err = VYRE_ERROR_INIT;
  pthread_t thread;
  void *waited = NULL;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.workers = 1;
  options.input_size = 4;
  engine = gates_start(&cpu, &options);
  for (uint32_t i = 0; i < 10; ++i)
    items[i] = (vyre_work_item){0, 4, i ? RULE_NOTHING : RULE_GATE, i};
  submit_apart(engine, items, 1, tickets);
  submit_all(engine, items + 1, 9, tickets + 1);
  assert_int_equal(pthread_create(&thread, NULL, wait_for_closed, engine), 0);
  assert_int_equal(vyre_engine_stop(engine, SECOND / 50, &err), VYRE_ERROR_TIMEOUT);
  assert_true(err.message[0] && err.fix[0]);
  pthread_join(thread, &waited);
  assert_ptr_equal(waited, engine);
  reap_all(engine, c, 9);
  for (uint32_t i = 0; i < 9; ++i) {
    assert_int_equal(c[i].status, VYRE_ERROR_CLOSED);
    assert_in_range(c[i].correlation, 1, 9);
    assert_int_equal(c[i].ticket, tickets[c[i].correlation]);
    assert_int_equal(c[i].result, 0);
  }
  assert_int_equal(vyre_engine_reap(engine, c, 1, VYRE_NO_TIMEOUT, NULL), VYRE_ERROR_CLOSED);
  set_gate(engine, 0, 1); /* now the launch can leave */
  assert_ok(vyre_engine_stop(engine, PATIENCE, &err));
  gates_end(engine);
}

typedef struct pressure {
  vyre_engine *engine;
  uint32_t accepted; /* atomic */
} pressure;

static void *press(void *self)
{
  pressure *p = self;
  for (uint32_t i = 0;; ++i) {
    const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = i};
    const vyre_status status = vyre_engine_submit(p->engine, &item, NULL);
    if (status == VYRE_OK)
      __atomic_add_fetch(&p->accepted, 1, __ATOMIC_RELAXED);
    else if (status == VYRE_ERROR_QUEUE_FULL)
      nap();
    else
      return status == VYRE_ERROR_CLOSED ? p : NULL;
  }
}

/* Accepted is delivered, whatever moment the stop comes at. */
static void stop_under_load(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < 10; ++round) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    pressure p = {0};
    pthread_t threads[3];
    uint32_t reaped = 0;
    options.mode = modes[round % 2];
    options.capacity = 64;
    p.engine = rig_start(&cpu, &options);
    for (uint32_t i = 0; i < 3; ++i)
      assert_int_equal(pthread_create(&threads[i], NULL, press, &p), 0);
    for (;;) {
      vyre_completion c[32];
      uint32_t n = 0;
      const vyre_status status = vyre_engine_reap(p.engine, c, 32, PATIENCE, &n);
      if (status == VYRE_ERROR_CLOSED)
        break;
      assert_ok(status);
      for (uint32_t i = 0; i < n; ++i)
        assert_true(c[i].status == VYRE_OK && c[i].result == c[i].correlation);
      if (reaped < 500 && reaped + n >= 500)
        assert_ok(vyre_engine_stop(p.engine, PATIENCE, NULL));
      reaped += n;
    }
    for (uint32_t i = 0; i < 3; ++i) {
      void *result = NULL;
      pthread_join(threads[i], &result);
      assert_ptr_equal(result, &p);
    }
    assert_int_equal(reaped, p.accepted);
    vyre_engine_destroy(p.engine);
  }
}

static void destroy_without_stop(void **state)
{
  (void)state;
  vyre_engine_destroy(NULL);
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_work_item items[1000];
    vyre_engine *engine;
    options.mode = modes[m];
    engine = rig_start(&cpu, &options); /* idle */
    vyre_engine_destroy(engine);
    engine = rig_start(&cpu, &options); /* with work in it */
    for (uint32_t i = 0; i < 1000; ++i)
      items[i] = (vyre_work_item){.rule_set_id = RULE_NOTHING, .correlation = i};
    submit_all(engine, items, 1000, NULL);
    vyre_engine_destroy(engine);
  }
}

/* Ordinary work of the device goes on beside a resident launch. */
static void buffers_beside(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  const vyre_work_item gate = {0, 4, RULE_GATE, 6};
  vyre_engine *engine, *other;
  vyre_buffer *a = NULL, *b = NULL;
  uint8_t bytes[256], back[256];
  (void)state;
  if (rig_parks(&cpu)) {
    print_message("skipped: calls on this device wait for the item that does not end\n");
    skip();
  }
  for (uint32_t i = 0; i < sizeof bytes; ++i)
    bytes[i] = (uint8_t)i;
  options.mode = VYRE_ENGINE_FORCE;
  options.input_size = 4;
  engine = gates_start(&cpu, &options);
  assert_ok(vyre_engine_submit(engine, &gate, NULL));
  assert_ok(vyre_buffer_create(cpu.device, sizeof bytes, &a, NULL));
  assert_ok(vyre_buffer_create(cpu.device, sizeof bytes, &b, NULL));
  assert_ok(vyre_buffer_upload(a, 0, bytes, sizeof bytes, NULL));
  assert_ok(vyre_buffer_copy(b, 0, a, 0, sizeof bytes, NULL));
  assert_ok(vyre_buffer_download(b, 0, back, sizeof back, NULL));
  assert_memory_equal(bytes, back, sizeof back);
  options.mode = VYRE_ENGINE_DISABLE; /* ordinary dispatches */
  other = gates_start(&cpu, &options);
  assert_int_equal(one_item(other, 12), 12);
  gates_end(other);
  set_gate(engine, 0, 1);
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  gates_end(engine);
  vyre_buffer_destroy(a);
  vyre_buffer_destroy(b);
}

/* A child of fork() is refused everything, and can let go of the engine. */
static void forked(void **state)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING};
  vyre_engine *engine = rig_start(&cpu, NULL);
  pid_t child;
  int result = 0;
  (void)state;
  child = fork();
  if (!child) {
    vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;
    const vyre_record *records;
    vyre_completion c;
    uint32_t count, bad = 0;
    bad += vyre_engine_submit(engine, &item, NULL) != VYRE_ERROR_FORKED;
    bad += vyre_engine_submit_many(engine, &item, 1, NULL, NULL) != VYRE_ERROR_FORKED;
    bad += vyre_engine_reap(engine, &c, 1, 0, NULL) != VYRE_ERROR_FORKED;
    bad += vyre_engine_wait(engine, 0, 0, NULL) != VYRE_ERROR_FORKED;
    bad += vyre_engine_drain(engine, 0, NULL, 0, NULL) != VYRE_ERROR_FORKED;
    bad += vyre_engine_swap_bank(engine, 0, &records, &count) != VYRE_ERROR_FORKED;
    bad += vyre_engine_stop(engine, 0, NULL) != VYRE_ERROR_FORKED;
    bad += vyre_engine_get_stats(engine, &stats, NULL) != VYRE_ERROR_FORKED;
    vyre_engine_destroy(engine);
    _exit(bad ? 1 : 0);
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFEXITED(result));
  assert_int_equal(WEXITSTATUS(result), 0);
  assert_int_equal(one_item(engine, 3), 3);
  vyre_engine_destroy(engine);
}

/* The engine keeps its input alive, whatever its owner does with the handle. */
static void input_outlives_its_handle(void **state)
{
  const uint8_t bytes[64] = {[7] = 200, [63] = 55};
  const vyre_work_item item = {.input_len = sizeof bytes, .rule_set_id = RULE_SUM};
  (void)state;
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_completion c = {0};
    vyre_buffer *buffer = NULL;
    vyre_engine *engine;
    uint64_t ticket = 0;
    assert_ok(vyre_buffer_create(cpu.device, sizeof bytes, &buffer, NULL));
    assert_ok(vyre_buffer_upload(buffer, 0, bytes, sizeof bytes, NULL));
    options.mode = modes[m];
    options.input = buffer;
    engine = rig_start(&cpu, &options);
    vyre_buffer_destroy(buffer);
    assert_ok(vyre_engine_submit(engine, &item, &ticket));
    assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
    assert_int_equal(c.result, 200 + 55 + 1);
    vyre_engine_destroy(engine);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(idle_exit_and_relaunch),
                                     cmocka_unit_test(idle_polls),
                                     cmocka_unit_test(race_with_leaving),
                                     cmocka_unit_test(residency),
                                     gate_test(drain_names_the_unfinished),
                                     gate_test(item_limit),
                                     gate_test(item_limit_of_others),
                                     cmocka_unit_test(stop_finishes_what_was_accepted),
                                     gate_test(stop_gives_up_at_its_limit),
                                     cmocka_unit_test(stop_under_load),
                                     cmocka_unit_test(destroy_without_stop),
                                     gate_test(buffers_beside),
                                     cmocka_unit_test(input_outlives_its_handle),
                                     cmocka_unit_test(forked)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
