/*
 * test_loss.c - the device is lost at item k of n, for every k: what was finished stays finished,
 * the rest completes with DEVICE_LOST, and whoever waits is told within a second.
 *
 * Item k is a gate that stays shut, so exactly the items before it are finished when the steer
 * plugin loses its device.
 */
#include "tests/engine/engine_help.h"
#include "tests/engine/steer.h"

#include <pthread.h>
#include <time.h>

#define ITEMS 20u
#define BYTES 16u /* of an item: its own gate, or what is summed */

static steer plugin;

static int attach(void **state)
{
  (void)state;
  plugin = steer_attach();
  assert_non_null(plugin.set);
  return 0;
}

static int detach(void **state)
{
  (void)state;
  assert_int_equal(plugin.get("buffers"), 0);
  assert_int_equal(plugin.get("resident"), 0);
  steer_detach(&plugin);
  return 0;
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static vyre_engine *start(test_rig *rig, vyre_engine_mode mode, uint32_t workers)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine;
  plugin.set("reset", 0);
  rig_open(rig, STEER_FILE, "steer");
  options.mode = mode;
  options.workers = workers;
  options.capacity = 32;
  options.max_unfinished = 32;
  options.bank_records = 64;
  options.input_size = (uint64_t)ITEMS * BYTES;
  engine = gates_start(rig, &options);
  for (uint32_t i = 0; i < ITEMS * BYTES; ++i)
    ((uint8_t *)vyre_engine_input(engine, NULL))[i] = (uint8_t)(i * 3 + 1);
  return engine;
}

static void make_items(vyre_engine *engine, vyre_work_item *items, uint32_t gate)
{
  for (uint32_t i = 0; i < ITEMS; ++i)
    items[i] = (vyre_work_item){i * BYTES, BYTES, i == gate ? RULE_GATE : RULE_SUM, 100 + i};
  if (gate < ITEMS)
    set_gate(engine, gate * BYTES, 0);
}

/* Submits the items from `first` on, the gate claimed alone and none behind it. */
static void submit_behind(vyre_engine *engine, const vyre_work_item *items, uint32_t first,
                          uint32_t gate, uint64_t *out_tickets)
{
  const uint32_t apart = gate < ITEMS ? gate + 1 : ITEMS;
  if (!engine_is_wide(engine)) {
    submit_all(engine, items + first, ITEMS - first, out_tickets + first);
    return;
  }
  submit_apart(engine, items + first, apart - first, out_tickets + first);
  submit_all(engine, items + apart, ITEMS - apart, out_tickets + apart);
}

/* ---- everybody who can wait ---- */

enum { REAP, WAIT, DRAIN, SWAP, RESERVE, SUBMIT_BYTES, CALLS };

typedef struct waiter {
  pthread_t thread;
  vyre_engine *engine;
  uint32_t call;
  uint32_t n; /* completions */
  uint64_t ticket;
  uint32_t ready; /* atomic */
  vyre_status status;
  uint64_t ended_ns;
  vyre_completion completions[ITEMS];
} waiter;

static vyre_status perform(waiter *w)
{
  const vyre_record *records = NULL;
  uint32_t n = 0, offset = 0;
  vyre_status status = VYRE_OK;
  switch (w->call) {
  case REAP: /* all but the one that is waited for */
    while (w->n < ITEMS - 1 && status == VYRE_OK) {
      status = vyre_engine_reap(w->engine, w->completions + w->n, ITEMS - 1 - w->n, PATIENCE, &n);
      w->n += n;
      n = 0;
    }
    return status;
  case WAIT:
    return vyre_engine_wait(w->engine, w->ticket, VYRE_NO_TIMEOUT, w->completions);
  case DRAIN:
    return vyre_engine_drain(w->engine, VYRE_NO_TIMEOUT, NULL, 0, &n);
  case SWAP:
    return vyre_engine_swap_bank(w->engine, VYRE_NO_TIMEOUT, &records, &n);
  case RESERVE:
    return vyre_engine_input_reserve(w->engine, 1, VYRE_NO_TIMEOUT, &offset, NULL);
  default:
    return vyre_engine_submit_bytes(w->engine, "a", 1, RULE_SUM, 0, VYRE_NO_TIMEOUT, NULL);
  }
}

static void *wait_somehow(void *self)
{
  waiter *w = self;
  __atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
  w->status = perform(w);
  w->ended_ns = now_ns();
  return NULL;
}

static void begin(waiter *w, vyre_engine *engine, uint32_t call, uint64_t ticket)
{
  memset(w, 0, sizeof *w);
  w->engine = engine;
  w->call = call;
  w->ticket = ticket;
  assert_int_equal(pthread_create(&w->thread, NULL, wait_somehow, w), 0);
  while (!__atomic_load_n(&w->ready, __ATOMIC_ACQUIRE))
    sched_yield();
}

static uint32_t item_of(const vyre_completion *c)
{
  assert_in_range(c->correlation, 100, 100 + ITEMS - 1);
  return c->correlation - 100;
}

/* Finished ones have their result, the others DEVICE_LOST; `from` on none is finished. */
static void check(const vyre_completion *c, uint32_t finished, uint32_t *seen)
{
  uint8_t bytes[BYTES];
  const uint32_t i = item_of(c);
  for (uint32_t k = 0; k < BYTES; ++k)
    bytes[k] = (uint8_t)((i * BYTES + k) * 3 + 1);
  assert_int_equal(*seen >> i & 1, 0);
  *seen |= 1u << i;
  if (i < finished) {
    assert_int_equal(c->status, VYRE_OK);
    assert_int_equal(c->result, sum_of(bytes, BYTES));
  } else {
    assert_int_equal(c->status, VYRE_ERROR_DEVICE_LOST);
    assert_int_equal(c->result, 0);
  }
}

/* Everybody came back within a second, with what his call says of a lost device. */
static void expect_waiters(waiter *w, uint64_t lost_ns, uint32_t finished)
{
  uint32_t seen = 0;
  for (uint32_t i = 0; i < CALLS; ++i) {
    pthread_join(w[i].thread, NULL);
    assert_true(w[i].ended_ns < lost_ns + SECOND);
  }
  assert_ok(w[REAP].status);
  assert_int_equal(w[REAP].n, ITEMS - 1);
  assert_ok(w[WAIT].status);
  for (uint32_t i = 0; i < ITEMS - 1; ++i)
    check(&w[REAP].completions[i], finished, &seen);
  check(&w[WAIT].completions[0], finished, &seen);
  assert_int_equal(seen, (1u << ITEMS) - 1);
  assert_ok(w[DRAIN].status);
  assert_int_equal(w[SWAP].status, VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(w[RESERVE].status, VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(w[SUBMIT_BYTES].status, VYRE_ERROR_DEVICE_LOST);
}

/* Nothing more goes in, and nothing waits. */
static void expect_lost(vyre_engine *engine)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING};
  vyre_completion c;
  uint32_t offset = 0;
  assert_int_equal(vyre_engine_submit(engine, &item, NULL), VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_engine_input_reserve(engine, 1, VYRE_NO_TIMEOUT, &offset, NULL),
                   VYRE_ERROR_DEVICE_LOST);
  assert_int_equal(vyre_engine_reap(engine, &c, 1, VYRE_NO_TIMEOUT, NULL), VYRE_ERROR_CLOSED);
  assert_ok(vyre_engine_drain(engine, VYRE_NO_TIMEOUT, NULL, 0, NULL));
}

/* The launch underneath goes on with the gate open, and leaves. */
static void finish(test_rig *rig, vyre_engine *engine, uint32_t gate)
{
  if (gate < ITEMS)
    set_gate(engine, gate * BYTES, 1);
  gates_end(engine);
  rig_close(rig);
  plugin.set("reset", 0);
}

static void at_each_item(vyre_engine_mode mode)
{
  for (uint32_t k = 0; k < ITEMS; ++k) {
    vyre_work_item items[ITEMS];
    uint64_t tickets[ITEMS], lost_ns;
    uint32_t block = 0;
    waiter w[CALLS];
    test_rig rig;
    vyre_engine *engine = start(&rig, mode, 1);
    make_items(engine, items, k);
    assert_ok(vyre_engine_input_reserve(engine, ITEMS * BYTES, 0, &block, NULL)); /* all of it */
    if (mode == VYRE_ENGINE_DISABLE && k) { /* one launch for what is finished */
      submit_all(engine, items, k, tickets);
      assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL));
    }
    submit_behind(engine, items, mode == VYRE_ENGINE_DISABLE ? k : 0, k, tickets);
    for (uint32_t i = 0; i < CALLS; ++i)
      begin(&w[i], engine, i, tickets[ITEMS - 1]);
    while (mode == VYRE_ENGINE_FORCE && stats_of(engine).completed < k)
      sched_yield(); /* until all before the gate are finished and reaped */
    lost_ns = now_ns();
    plugin.set("lost", 1);
    expect_waiters(w, lost_ns, k);
    expect_lost(engine);
    finish(&rig, engine, k);
  }
}

static void persistent(void **state)
{
  (void)state;
  at_each_item(VYRE_ENGINE_FORCE);
}

static void batched(void **state)
{
  (void)state;
  at_each_item(VYRE_ENGINE_DISABLE);
}

/* Finished and not reaped when the loss comes: they stay finished. */
static void unreaped(void **state)
{
  (void)state;
  for (uint32_t k = 0; k <= ITEMS; ++k) {
    vyre_work_item items[ITEMS];
    vyre_completion c[ITEMS];
    uint64_t tickets[ITEMS];
    uint32_t seen = 0;
    test_rig rig;
    vyre_engine *engine = start(&rig, VYRE_ENGINE_FORCE, 1);
    make_items(engine, items, k);
    submit_behind(engine, items, 0, k, tickets);
    for (;;) { /* until the gate is the first that is not finished */
      uint64_t first = 0;
      uint32_t n = 0;
      vyre_engine_drain(engine, SECOND / 1000, &first, 1, &n);
      if (n ? k < ITEMS && first == tickets[k] : k == ITEMS)
        break;
    }
    plugin.set("lost", 1);
    reap_all(engine, c, k == ITEMS ? ITEMS : 1); /* the loss may not be known yet */
    if (k < ITEMS)
      reap_all(engine, c + 1, ITEMS - 1);
    for (uint32_t i = 0; i < ITEMS; ++i)
      check(&c[i], k, &seen);
    assert_int_equal(seen, (1u << ITEMS) - 1);
    finish(&rig, engine, k);
  }
}

/* In the middle of a stream, several workers: each is finished and right, or lost, once. */
static void in_a_stream(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < 20; ++round) {
    vyre_work_item items[ITEMS];
    uint32_t submitted = 0, reaped = 0, lost = 0;
    test_rig rig;
    vyre_engine *engine = start(&rig, round % 2 ? VYRE_ENGINE_DISABLE : VYRE_ENGINE_FORCE, 3);
    vyre_status status = VYRE_OK;
    make_items(engine, items, ITEMS);
    while (status == VYRE_OK || status == VYRE_ERROR_QUEUE_FULL) {
      vyre_completion c[8];
      uint32_t n = 0;
      status = vyre_engine_submit(engine, &items[submitted % ITEMS], NULL);
      submitted += status == VYRE_OK;
      if (submitted == 10 * round + 1)
        plugin.set("lost", 1);
      if (vyre_engine_reap(engine, c, 8, 0, &n) != VYRE_OK)
        continue;
      for (uint32_t i = 0; i < n; ++i) {
        uint32_t seen = 0;
        check(&c[i], c[i].status == VYRE_OK ? ITEMS : 0, &seen);
        lost += c[i].status != VYRE_OK;
      }
      reaped += n;
    }
    assert_int_equal(status, VYRE_ERROR_DEVICE_LOST);
    while (reaped < submitted) {
      vyre_completion c;
      uint32_t seen = 0;
      assert_ok(vyre_engine_reap(engine, &c, 1, SECOND, NULL));
      check(&c, c.status == VYRE_OK ? ITEMS : 0, &seen);
      lost += c.status != VYRE_OK;
      ++reaped;
    }
    assert_int_equal(stats_of(engine).submitted, submitted);
    assert_true(lost <= submitted);
    finish(&rig, engine, ITEMS);
  }
}

/* The device comes back, and a new engine with it. */
static void recovered(void **state)
{
  vyre_work_item items[ITEMS];
  vyre_completion c[ITEMS];
  uint64_t tickets[ITEMS];
  vyre_engine *engine, *again;
  test_rig rig;
  (void)state;
  engine = start(&rig, VYRE_ENGINE_FORCE, 1);
  make_items(engine, items, 3);
  submit_behind(engine, items, 0, 3, tickets);
  reap_all(engine, c, 3);
  plugin.set("lost", 1);
  reap_all(engine, c, ITEMS - 3);
  set_gate(engine, 3 * BYTES, 1);
  plugin.set("lost", 0);
  assert_ok(vyre_device_recover(rig.device, NULL));
  again = rig_start(&rig, NULL);
  for (uint32_t i = 0; i < 50; ++i) {
    const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = i};
    assert_ok(vyre_engine_submit(again, &item, NULL));
    assert_ok(vyre_engine_reap(again, c, 1, PATIENCE, NULL));
    assert_int_equal(c[0].result, i);
  }
  assert_int_equal(vyre_engine_submit(engine, items, NULL), VYRE_ERROR_DEVICE_LOST);
  vyre_engine_destroy(again);
  gates_end(engine);
  rig_close(&rig);
}

/* ---- while the engine is parked ---- */

typedef struct holder {
  pthread_t thread;
  vyre_device *device; /* another handle of the same hardware */
  vyre_status status;
} holder;

static void *hold_device(void *self)
{
  holder *h = self;
  vyre_buffer *buffer = NULL;
  h->status = vyre_buffer_create(h->device, 16, &buffer, NULL);
  vyre_buffer_destroy(buffer);
  return NULL;
}

static void begin_hold(holder *h, const test_rig *rig)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  request.selector = "steer";
  h->device = NULL;
  assert_ok(vyre_device_open(rig->context, &request, &h->device, NULL));
  plugin.set("hold", 1);
  assert_int_equal(pthread_create(&h->thread, NULL, hold_device, h), 0);
  while (!plugin.get("holding"))
    sched_yield();
}

static void end_hold(holder *h)
{
  plugin.set("hold", 0);
  pthread_join(h->thread, NULL);
  assert_ok(h->status);
  vyre_device_close(h->device);
}

/*
 * There is no launch that could tell of the loss; another call finds it.  With `recover` the device
 * is there again before the engine may come back: its items do not run on what was made anew.
 */
static void lose_parked(bool recover)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 100};
  vyre_buffer *buffer = NULL;
  vyre_completion c = {0};
  uint64_t ticket = 0;
  test_rig rig;
  holder h;
  vyre_engine *engine = start(&rig, VYRE_ENGINE_FORCE, 1);
  assert_ok(vyre_buffer_create(rig.device, 16, &buffer, NULL));
  begin_hold(&h, &rig);
  assert_ok(vyre_engine_submit(engine, &item, &ticket));
  plugin.set("lost", 1);
  assert_int_equal(vyre_buffer_upload(buffer, 0, "a", 1, NULL), VYRE_ERROR_DEVICE_LOST);
  if (!recover)
    assert_ok(vyre_engine_wait(engine, ticket, SECOND, &c));
  plugin.set("lost", 0);
  assert_ok(vyre_device_recover(rig.device, NULL));
  end_hold(&h);
  if (recover)
    assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
  assert_int_equal(c.status, VYRE_ERROR_DEVICE_LOST);
  vyre_buffer_destroy(buffer);
  finish(&rig, engine, ITEMS);
}

static void parked(void **state)
{
  (void)state;
  lose_parked(false);
}

static void parked_and_recovered(void **state)
{
  (void)state;
  lose_parked(true);
}

/* ---- while nothing is under way ---- */

static void *reap_nothing(void *self)
{
  waiter *w = self;
  w->status = vyre_engine_reap(w->engine, w->completions, 1, PATIENCE, &w->n);
  w->ended_ns = now_ns();
  return NULL;
}

/* There is no launch and no item; whoever waits for one is told all the same. */
static void lose_idle(vyre_engine_mode mode)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING};
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_buffer *buffer = NULL;
  vyre_engine *engine;
  waiter w = {0};
  test_rig rig;
  vyre_completion c;
  uint64_t lost_ns;
  plugin.set("reset", 0);
  rig_open(&rig, STEER_FILE, "steer");
  options.mode = mode;
  options.max_idle_ms = 1;
  w.engine = engine = gates_start(&rig, &options);
  assert_ok(vyre_buffer_create(rig.device, 16, &buffer, NULL));
  assert_ok(vyre_engine_submit(engine, &item, NULL));
  reap_all(engine, &c, 1);
  while (plugin.get("resident"))
    sched_yield();
  assert_int_equal(pthread_create(&w.thread, NULL, reap_nothing, &w), 0);
  lost_ns = now_ns();
  plugin.set("lost", 1);
  assert_int_equal(vyre_buffer_upload(buffer, 0, "a", 1, NULL), VYRE_ERROR_DEVICE_LOST);
  pthread_join(w.thread, NULL);
  assert_int_equal(w.status, VYRE_ERROR_CLOSED);
  assert_true(w.ended_ns < lost_ns + SECOND);
  vyre_buffer_destroy(buffer);
  finish(&rig, engine, ITEMS);
}

static void idle(void **state)
{
  (void)state;
  lose_idle(VYRE_ENGINE_FORCE);
  lose_idle(VYRE_ENGINE_DISABLE);
}

/*
 * The device comes back while a batch is still under way: its engine learns of the loss late, and
 * that is a loss of the old handle, not another one of the new.
 */
static void recovered_early(void **state)
{
  const vyre_work_item item = {0, BYTES, RULE_GATE, 100};
  vyre_engine *engine, *again;
  vyre_buffer *buffer = NULL;
  vyre_completion c = {0};
  uint64_t ticket = 0;
  test_rig rig;
  (void)state;
  engine = start(&rig, VYRE_ENGINE_DISABLE, 1);
  assert_ok(vyre_buffer_create(rig.device, 16, &buffer, NULL));
  set_gate(engine, 0, 0);
  assert_ok(vyre_engine_submit(engine, &item, &ticket));
  while (!stats_of(engine).launches)
    sched_yield();
  plugin.set("lost", 1);
  assert_int_equal(vyre_buffer_upload(buffer, 0, "a", 1, NULL), VYRE_ERROR_DEVICE_LOST);
  plugin.set("lost", 0);
  assert_ok(vyre_device_recover(rig.device, NULL));
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
  assert_int_equal(c.status, VYRE_ERROR_DEVICE_LOST);
  again = rig_start(&rig, NULL);
  set_gate(engine, 0, 1);
  vyre_buffer_destroy(buffer);
  vyre_engine_destroy(again);
  finish(&rig, engine, ITEMS);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      gate_test(persistent),           gate_test(batched),   gate_test(unreaped),
      gate_test(in_a_stream),          gate_test(recovered), gate_test(parked),
      gate_test(parked_and_recovered), gate_test(idle),      gate_test(recovered_early)};
  return cmocka_run_group_tests(tests, attach, detach);
}
