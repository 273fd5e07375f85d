/*
 * test_arena.c - blocks of the engine's input region: first in, first out, with wrap-around and
 * back-pressure; and bytes that are submitted through them.
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

static vyre_engine *with_input(vyre_engine_mode mode, uint64_t size)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  options.mode = mode;
  options.input_size = size;
  options.workers = 2;
  return rig_start(&cpu, &options);
}

static uint32_t reserve(vyre_engine *engine, uint32_t size)
{
  void *bytes = NULL;
  uint32_t offset = UINT32_MAX;
  assert_ok(vyre_engine_input_reserve(engine, size, 0, &offset, &bytes));
  assert_int_equal(offset % 16, 0);
  assert_ptr_equal(bytes, (char *)vyre_engine_input(engine, NULL) + offset);
  return offset;
}

static void expect_full(vyre_engine *engine, uint32_t size)
{
  uint32_t offset = 77;
  void *bytes = &offset;
  assert_int_equal(vyre_engine_input_reserve(engine, size, 0, &offset, &bytes),
                   VYRE_ERROR_QUEUE_FULL);
  assert_int_equal(vyre_engine_input_reserve(engine, size, 1000000, &offset, &bytes),
                   VYRE_ERROR_TIMEOUT);
  assert_int_equal(offset, 77); /* as they were */
  assert_ptr_equal(bytes, &offset);
}

/* Every block is back: the whole region can be had at once. */
static void expect_empty(vyre_engine *engine, uint64_t size)
{
  assert_int_equal(reserve(engine, (uint32_t)size), 0);
  assert_ok(vyre_engine_input_release(engine, 0));
}

static void in_order_with_wrap(void **state)
{
  vyre_engine *engine = with_input(VYRE_ENGINE_FORCE, 250);
  (void)state;
  assert_int_equal(reserve(engine, 100), 0);
  assert_int_equal(reserve(engine, 100), 112);
  expect_full(engine, 100);
  expect_full(engine, 27); /* 224 + 27 is past the end */
  assert_int_equal(reserve(engine, 26), 224);
  expect_full(engine, 1);
  assert_ok(vyre_engine_input_release(engine, 112));
  expect_full(engine, 1); /* the oldest is still out */
  assert_ok(vyre_engine_input_release(engine, 0));
  assert_int_equal(reserve(engine, 200), 0);
  expect_full(engine, 32); /* 208 to 224 is free, and not more */
  assert_int_equal(reserve(engine, 16), 208);
  assert_ok(vyre_engine_input_release(engine, 224));
  assert_ok(vyre_engine_input_release(engine, 208));
  assert_ok(vyre_engine_input_release(engine, 0));
  expect_empty(engine, 250);
  vyre_engine_destroy(engine);
}

/* Against a plain model: blocks that are out never overlap, and always lie inside. */
static void random_blocks(void **state)
{
  static const uint32_t sizes[] = {1, 16, 20, 100, 4096};
  uint64_t seed = 21;
  (void)state;
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
    vyre_engine *engine = with_input(VYRE_ENGINE_DISABLE, sizes[s]);
    struct {
      uint32_t offset, size;
    } out[300];
    uint32_t n = 0, given = 0;
    for (uint32_t step = 0; step < 20000; ++step) {
      const uint32_t size = 1 + (uint32_t)(next_random(&seed) % (step % 7 ? 40 : sizes[s]));
      if (n < 300 && next_random(&seed) % 2) {
        uint32_t offset = 0;
        const vyre_status status = vyre_engine_input_reserve(engine, size, 0, &offset, NULL);
        if (size > sizes[s]) {
          assert_int_equal(status, VYRE_ERROR_INVALID_ARGUMENT);
          continue;
        }
        if (status == VYRE_ERROR_QUEUE_FULL) {
          assert_true(n > 0); /* an empty region has room for all that fits */
          continue;
        }
        assert_ok(status);
        assert_true(offset % 16 == 0 && (uint64_t)offset + size <= sizes[s]);
        for (uint32_t i = 0; i < n; ++i)
          assert_true(offset + size <= out[i].offset || out[i].offset + out[i].size <= offset);
        out[n].offset = offset;
        out[n++].size = size;
        ++given;
      } else if (n) {
        const uint32_t i = next_random(&seed) % 4 ? 0 : (uint32_t)(next_random(&seed) % n);
        assert_ok(vyre_engine_input_release(engine, out[i].offset));
        memmove(&out[i], &out[i + 1], (--n - i) * sizeof out[0]);
      }
    }
    while (n)
      assert_ok(vyre_engine_input_release(engine, out[--n].offset));
    assert_true(given > 1000);
    expect_empty(engine, sizes[s]);
    vyre_engine_destroy(engine);
  }
}

static void wrong_arguments(void **state)
{
  vyre_engine *engine = with_input(VYRE_ENGINE_DISABLE, 64);
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_buffer *buffer = NULL;
  uint32_t offset = 0;
  uint64_t ticket = 0;
  (void)state;
#define REFUSED(call) assert_int_equal((call), VYRE_ERROR_INVALID_ARGUMENT)
  REFUSED(vyre_engine_input_reserve(NULL, 1, 0, &offset, NULL));
  REFUSED(vyre_engine_input_reserve(engine, 1, 0, NULL, NULL));
  REFUSED(vyre_engine_input_reserve(engine, 0, 0, &offset, NULL));
  REFUSED(vyre_engine_input_reserve(engine, 65, VYRE_NO_TIMEOUT, &offset, NULL));
  REFUSED(vyre_engine_input_release(NULL, 0));
  REFUSED(vyre_engine_input_release(engine, 0));
  REFUSED(vyre_engine_submit_bytes(NULL, "a", 1, 0, 0, 0, NULL));
  REFUSED(vyre_engine_submit_bytes(engine, NULL, 1, 0, 0, 0, NULL));
  REFUSED(vyre_engine_submit_bytes(engine, "a", 0, 0, 0, 0, NULL));
  REFUSED(vyre_engine_submit_bytes(engine, "a", 65, 0, 0, 0, NULL));
  assert_int_equal(reserve(engine, 20), 0);
  REFUSED(vyre_engine_input_release(engine, 16)); /* inside the block */
  REFUSED(vyre_engine_input_release(engine, 32)); /* behind it */
  REFUSED(vyre_engine_input_release(engine, UINT32_MAX));
  assert_ok(vyre_engine_submit_bytes(engine, "abc", 3, RULE_SUM, 0, 0, &ticket));
  for (uint32_t i = 0; i < 16; ++i) /* an item's block goes back by itself */
    REFUSED(vyre_engine_input_release(engine, 32 + i));
  assert_ok(vyre_engine_input_release(engine, 0));
  REFUSED(vyre_engine_input_release(engine, 0)); /* twice */
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, NULL));
  expect_empty(engine, 64);
  vyre_engine_destroy(engine);
  engine = rig_start(&cpu, NULL); /* no region */
  REFUSED(vyre_engine_input_reserve(engine, 1, 0, &offset, NULL));
  REFUSED(vyre_engine_input_release(engine, 0));
  REFUSED(vyre_engine_submit_bytes(engine, "a", 1, 0, 0, 0, NULL));
  vyre_engine_destroy(engine);
  assert_ok(vyre_buffer_create(cpu.device, 64, &buffer, NULL)); /* the caller's */
  options.input = buffer;
  engine = rig_start(&cpu, &options);
  REFUSED(vyre_engine_input_reserve(engine, 1, 0, &offset, NULL));
  REFUSED(vyre_engine_submit_bytes(engine, "a", 1, 0, 0, 0, NULL));
  vyre_engine_destroy(engine);
  vyre_buffer_destroy(buffer);
#undef REFUSED
}

/* ---- waiting ---- */

typedef struct waiter {
  vyre_engine *engine;
  pthread_t thread;
  uint32_t size;
  vyre_status status;
  uint32_t offset;
  uint32_t started; /* atomic */
} waiter;

static void *wait_for_room(void *self)
{
  waiter *w = self;
  __atomic_store_n(&w->started, 1, __ATOMIC_RELEASE);
  w->status = vyre_engine_input_reserve(w->engine, w->size, PATIENCE, &w->offset, NULL);
  return NULL;
}

static void start_waiter(waiter *w, vyre_engine *engine, uint32_t size)
{
  memset(w, 0, sizeof *w);
  w->engine = engine;
  w->size = size;
  assert_int_equal(pthread_create(&w->thread, NULL, wait_for_room, w), 0);
  while (!__atomic_load_n(&w->started, __ATOMIC_ACQUIRE))
    sched_yield();
}

static void waits_are_woken(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < 30; ++round) {
    vyre_engine *engine = with_input(modes[round % 2], 64);
    waiter w[3];
    assert_int_equal(reserve(engine, 64), 0);
    for (uint32_t i = 0; i < 3; ++i)
      start_waiter(&w[i], engine, 32);
    assert_ok(vyre_engine_input_release(engine, 0)); /* two of the three fit */
    if (round % 3 == 0) {
      uint32_t served = 0, closed = 0;
      assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
      for (uint32_t i = 0; i < 3; ++i) {
        pthread_join(w[i].thread, NULL);
        served += w[i].status == VYRE_OK;
        closed += w[i].status == VYRE_ERROR_CLOSED;
      }
      assert_int_equal(served + closed, 3);
      assert_true(closed >= 1);
    } else {
      uint32_t left = 3;
      while (left) { /* whoever got a block gives it back */
        for (uint32_t i = 0; i < 3; ++i) {
          if (!w[i].thread || pthread_tryjoin_np(w[i].thread, NULL))
            continue;
          w[i].thread = 0;
          assert_ok(w[i].status);
          assert_ok(vyre_engine_input_release(engine, w[i].offset));
          --left;
        }
      }
      expect_empty(engine, 64);
    }
    vyre_engine_destroy(engine);
  }
}

static void closed_and_lasting(void **state)
{
  vyre_engine *engine = with_input(VYRE_ENGINE_FORCE, 64);
  uint32_t offset = 0;
  (void)state;
  assert_int_equal(reserve(engine, 16), 0);
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  assert_int_equal(vyre_engine_input_reserve(engine, 16, 0, &offset, NULL), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_engine_input_reserve(engine, 16, VYRE_NO_TIMEOUT, &offset, NULL),
                   VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_engine_submit_bytes(engine, "a", 1, 0, 0, VYRE_NO_TIMEOUT, NULL),
                   VYRE_ERROR_CLOSED);
  assert_ok(vyre_engine_input_release(engine, 0)); /* still taken back */
  vyre_engine_destroy(engine);
}

/* ---- bytes ---- */

#define FEEDERS 3u
#define PIECES 1500u

typedef struct feeder {
  vyre_engine *engine;
  uint32_t id;
  uint32_t most; /* bytes of a piece */
  uint32_t *expected;
  pthread_t thread;
} feeder;

static void *feed(void *self)
{
  feeder *f = self;
  uint8_t bytes[300];
  uint64_t seed = f->id;
  for (uint32_t i = 0; i < PIECES; ++i) {
    const uint32_t size = 1 + (uint32_t)(next_random(&seed) % f->most);
    const uint32_t correlation = f->id * PIECES + i;
    for (uint32_t k = 0; k < size; ++k)
      bytes[k] = (uint8_t)next_random(&seed);
    f->expected[correlation] = sum_of(bytes, size);
    if (i % 5) {
      if (vyre_engine_submit_bytes(f->engine, bytes, size, RULE_SUM, correlation, PATIENCE, NULL))
        return NULL;
    } else { /* by hand in between; the reaper releases it */
      void *block = NULL;
      vyre_work_item item = {0, size, RULE_SUM, correlation | 1u << 31};
      vyre_status status =
          vyre_engine_input_reserve(f->engine, size, PATIENCE, &item.input_offset, &block);
      if (status != VYRE_OK)
        return NULL;
      memcpy(block, bytes, size);
      /* The correlation has no room for the offset: the table of expected sums keeps it. */
      f->expected[FEEDERS * PIECES + correlation] = item.input_offset;
      do
        status = vyre_engine_submit(f->engine, &item, NULL);
      while (status == VYRE_ERROR_QUEUE_FULL && sched_yield() == 0);
      if (status != VYRE_OK)
        return NULL;
    }
  }
  return f;
}

/* The region is much smaller than the bytes, the ring too: both push back. */
static void stream(const test_rig *rig, vyre_engine_mode mode, uint32_t input, uint32_t capacity)
{
  const uint32_t all = FEEDERS * PIECES;
  uint32_t *expected = calloc(2 * all, sizeof *expected), reaped = 0;
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  feeder f[FEEDERS];
  vyre_engine *engine;
  assert_non_null(expected);
  options.mode = mode;
  options.input_size = input;
  options.capacity = capacity;
  options.max_unfinished = capacity;
  options.workers = 2;
  engine = rig_start(rig, &options);
  for (uint32_t i = 0; i < FEEDERS; ++i) {
    f[i] = (feeder){engine, i, input / 4 < 300 ? input / 4 : 300, expected, 0};
    assert_int_equal(pthread_create(&f[i].thread, NULL, feed, &f[i]), 0);
  }
  while (reaped < all) {
    vyre_completion c[16];
    uint32_t n = 0;
    assert_ok(vyre_engine_reap(engine, c, 16, PATIENCE, &n));
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t correlation = c[i].correlation & ~(1u << 31);
      assert_int_equal(c[i].status, VYRE_OK);
      assert_int_equal(c[i].result, expected[correlation]);
      if (c[i].correlation >> 31)
        assert_ok(vyre_engine_input_release(engine, expected[all + correlation]));
    }
    reaped += n;
  }
  for (uint32_t i = 0; i < FEEDERS; ++i) {
    void *result = NULL;
    pthread_join(f[i].thread, &result);
    assert_ptr_equal(result, &f[i]);
  }
  expect_empty(engine, input);
  vyre_engine_destroy(engine);
  free(expected);
}

static void streams(void **state)
{
  test_rig thin;
  (void)state;
  for (size_t m = 0; m < 2; ++m) {
    stream(&cpu, modes[m], 2000, 64);
    stream(&cpu, modes[m], 100000, 4); /* the ring is the bottleneck */
  }
  rig_open(&thin, VYRE_TEST_PLUGIN_DIR "/libvyre_thin.so", "thin");
  stream(&thin, VYRE_ENGINE_AUTO, 2000, 64); /* the region travels */
  rig_close(&thin);
}

/* Room for neither comes: the block is given back, nothing is submitted. */
static void no_room_in_the_ring(void **state)
{
  (void)state;
  for (size_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_engine *engine;
    vyre_completion c;
    uint64_t ticket = 99, first = 0;
    options.mode = modes[m];
    options.input_size = 64;
    options.capacity = 1;
    options.max_unfinished = 1;
    engine = rig_start(&cpu, &options);
    assert_ok(vyre_engine_submit_bytes(engine, "ab", 2, RULE_SUM, 1, 0, &first));
    assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL)); /* finished, not reaped */
    for (uint32_t i = 0; i < 10; ++i) {
      assert_int_equal(vyre_engine_submit_bytes(engine, "a", 1, RULE_SUM, 2, 0, &ticket),
                       VYRE_ERROR_QUEUE_FULL);
      assert_int_equal(vyre_engine_submit_bytes(engine, "a", 1, RULE_SUM, 2, 2000000, &ticket),
                       VYRE_ERROR_TIMEOUT);
    }
    assert_int_equal(ticket, 99);
    assert_int_equal(stats_of(engine).submitted, 1);
    assert_ok(vyre_engine_wait(engine, first, PATIENCE, &c));
    assert_int_equal(c.result, sum_of((const uint8_t *)"ab", 2));
    expect_empty(engine, 64);
    vyre_engine_destroy(engine);
  }
}

/*
 * An entry of the completions is used by items with and without a block by turns: each gives back
 * its own and nothing else.
 */
static void turns(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine;
  uint64_t seed = 4;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.input_size = 160;
  options.capacity = 2;
  options.max_unfinished = 2;
  engine = rig_start(&cpu, &options);
  for (uint32_t i = 0; i < 3000; ++i) {
    const uint32_t held = reserve(engine, 16);
    const vyre_work_item items[7] = {{held, 3, RULE_SUM, i}, {held, 1, RULE_SUM, i}};
    vyre_completion c;
    if (next_random(&seed) % 2)
      assert_ok(vyre_engine_submit_bytes(engine, "abcd", 4, RULE_SUM, i, PATIENCE, NULL));
    else
      submit_all(engine, items, 1 + (uint32_t)(next_random(&seed) % 7), NULL);
    while (vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL) == VYRE_OK &&
           vyre_engine_reap(engine, &c, 1, 0, NULL) == VYRE_OK)
      assert_int_equal(c.status, VYRE_OK);
    assert_ok(vyre_engine_input_release(engine, held));
    assert_int_equal(stats_of(engine).submitted, stats_of(engine).completed);
  }
  expect_empty(engine, 160);
  vyre_engine_destroy(engine);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_order_with_wrap),  cmocka_unit_test(random_blocks),
      cmocka_unit_test(wrong_arguments),     cmocka_unit_test(waits_are_woken),
      cmocka_unit_test(closed_and_lasting),  cmocka_unit_test(streams),
      cmocka_unit_test(no_room_in_the_ring), cmocka_unit_test(turns)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
