/*
 * test_sequence.c - recorded launches: replays give what single launches give, in their order, with
 * their errors; several starts at once; refusals; memory that runs out.
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours mix, so that a step which starts too early shows. */
static const char kernels[] =
    "#define VYRE_BUFFER_a 0\n"
    "#define VYRE_BUFFER_b 1\n"
    "#define VYRE_BUFFER_s 2\n"
    "VYRE_SEGMENT(there)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n"
    "  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, a);\n"
    "  if (i < n) vyre_at(c, b, i) = vyre_at(c, a, (i + 1u) % n) * 3u + vyre_at(c, a, n - 1u - "
    "i);\n"
    "}\n"
    "VYRE_SEGMENT(back)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n"
    "  const vyre_u32 *more = vyre_push(c, vyre_u32);\n"
    "  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, a);\n"
    "  if (i < n) vyre_at(c, a, i) = vyre_at(c, b, (i + n - 1u) % n) + *more;\n"
    "}\n"
    "VYRE_SEGMENT(turn)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_LOCAL(vyre_u32) s)\n"
    "{\n"
    "  const vyre_u64 i = vyre_global_id(c, 0), l = vyre_local_id(c, 0);\n"
    "  s[l] = i < vyre_count(c, a) ? vyre_at(c, a, i) : 0u;\n"
    "  vyre_barrier(c);\n"
    "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = s[(l + 1u) % vyre_local_size(c, 0)] ^ 5u;\n"
    "}\n"
    "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n"
    "  if (vyre_global_id(c, 0) == 0u) vyre_at(c, a, 0) += 1u;\n"
    "}\n"
    "VYRE_SEGMENT(leap)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n"
    "  if (vyre_global_id(c, 0) == 0u)\n"
    "    vyre_at(c, b, vyre_at(c, a, 0) == 3u ? 9999999u : 0u) = 1u;\n"
    "}\n"
    "VYRE_ENTRY(there, (VYRE_PARAM_CONST(0, a), VYRE_PARAM_OUT(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"
    "VYRE_ENTRY(back, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_CONST(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"
    "VYRE_ENTRY(turn, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_LOCAL(1, s)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, s)));\n"
    "VYRE_ENTRY(up, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n"
    "VYRE_ENTRY(leap, (VYRE_PARAM_CONST(0, a), VYRE_PARAM_OUT(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n";

enum { STEPS = 3, MORE = 7 };

#if defined(__SANITIZE_THREAD__) /* each item that waits is a thread of the sanitizer's */
enum { MOST_WORDS = 259, MOST_TIMES = 12 };
#else
enum { MOST_WORDS = 4099, MOST_TIMES = 100 };
#endif

static cpu_plugin plugin;

/* A device of so many threads, the kernels, two buffers of `count` words. */
typedef struct bench {
  vyre_backend_device *device;
  vyre_backend_module *module;
  vyre_backend_buffer *a, *b;
  uint32_t count, workgroup;
  vyre_binding bindings[STEPS][2];
  vyre_dispatch_desc steps[STEPS];
} bench;

static const uint32_t more = MORE;

static void bench_open(bench *t, uint32_t threads, uint32_t count, uint32_t workgroup)
{
  static const char *const names[STEPS] = {"there", "back", "turn"};
  const vyre_backend *b = plugin.backend;
  const uint32_t groups = (count + workgroup - 1) / workgroup;
  const uint64_t size = (uint64_t)count * 4;
  vyre_error err = VYRE_ERROR_INIT;
  char number[16];
  memset(t, 0, sizeof(*t));
  snprintf(number, sizeof(number), "%u", threads);
  setenv("VYRE_CPU_THREADS", number, 1);
  t->device = device_open(&plugin);
  t->module = module_load(&plugin, t->device, kernels, VYRE_MODULE_DEBUG);
  t->count = count;
  t->workgroup = workgroup;
  vyre_status status = b->buffer_alloc(t->device, size, &t->a, &err);
  assert_ok(status, err);
  status = b->buffer_alloc(t->device, size, &t->b, &err);
  assert_ok(status, err);
  for (int s = 0; s < STEPS; ++s) {
    t->bindings[s][0] = bind_buffer(0, s ? VYRE_READ_WRITE : VYRE_READ_ONLY, t->a, 0, size, count);
    t->bindings[s][1] =
        s < 2 ? bind_buffer(1, s ? VYRE_READ_ONLY : VYRE_WRITE_ONLY, t->b, 0, size, count)
              : bind_local(2, (uint64_t)workgroup * 4, workgroup);
    t->steps[s] =
        launch_of(kernel_find(&plugin, t->module, names[s]), t->bindings[s], 2, groups, workgroup);
    t->steps[s].push = &more;
    t->steps[s].push_size = sizeof(more);
  }
}

static void bench_close(bench *t)
{
  plugin.backend->buffer_free(t->device, t->a);
  plugin.backend->buffer_free(t->device, t->b);
  plugin.backend->module_unload(t->device, t->module);
  plugin.backend->device_close(t->device);
}

static vyre_sequence_desc desc_of(const vyre_dispatch_desc *steps, uint32_t count)
{
  return (vyre_sequence_desc){.struct_size = sizeof(vyre_sequence_desc),
                              .step_count = count,
                              .steps = steps,
                              .step_stride = sizeof(*steps)};
}

static vyre_backend_sequence *record(const bench *t, const vyre_dispatch_desc *steps,
                                     uint32_t count)
{
  const vyre_sequence_desc desc = desc_of(steps, count);
  vyre_backend_sequence *sequence = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_status status = plugin.backend->sequence_create(t->device, &desc, &sequence, &err);
  assert_ok(status, err);
  assert_non_null(sequence);
  return sequence;
}

static vyre_backend_pending *start(const bench *t, vyre_backend_sequence *sequence, uint32_t times)
{
  vyre_backend_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_status status =
      plugin.backend->sequence_start(t->device, sequence, times, &pending, &err);
  assert_ok(status, err);
  assert_non_null(pending);
  return pending;
}

static void finish(vyre_backend_pending *pending)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = plugin.backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err);
  assert_ok(status, err);
  plugin.backend->pending_release(pending);
}

static void put(const bench *t, vyre_backend_buffer *buffer, const uint32_t *words)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_status status =
      plugin.backend->buffer_upload(t->device, buffer, 0, words, (uint64_t)t->count * 4, &err);
  assert_ok(status, err);
}

static void get(const bench *t, vyre_backend_buffer *buffer, uint32_t *out_words)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_status status = plugin.backend->buffer_download(t->device, buffer, 0, out_words,
                                                             (uint64_t)t->count * 4, &err);
  assert_ok(status, err);
}

/* What a pass of the three steps does. */
static void pass(uint32_t *a, uint32_t *b, uint32_t n, uint32_t workgroup)
{
  for (uint32_t i = 0; i < n; ++i)
    b[i] = a[(i + 1) % n] * 3 + a[n - 1 - i];
  for (uint32_t i = 0; i < n; ++i)
    a[i] = b[(i + n - 1) % n] + MORE;
  for (uint32_t first = 0; first < n; first += workgroup) {
    uint32_t old[256];
    for (uint32_t l = 0; l < workgroup; ++l)
      old[l] = first + l < n ? a[first + l] : 0;
    for (uint32_t l = 0; l < workgroup && first + l < n; ++l)
      a[first + l] = old[(l + 1) % workgroup] ^ 5u;
  }
}

static uint32_t *words_of(uint32_t count)
{
  uint32_t *words = calloc(count, 4);
  assert_non_null(words);
  return words;
}

/* -------- results -------- */

static void check_replays(uint32_t threads, uint32_t count, uint32_t workgroup)
{
  static const uint32_t times[] = {1, 2, 10, 11, 1, MOST_TIMES};
  uint32_t *a = words_of(count), *b = words_of(count), *got = words_of(count);
  vyre_backend_sequence *sequence = NULL;
  bench t;
  bench_open(&t, threads, count, workgroup);
  for (uint32_t i = 0; i < count; ++i)
    a[i] = i * 40503u + 11u;
  put(&t, t.a, a);
  sequence = record(&t, t.steps, STEPS);
  memset(t.bindings, 0x77, sizeof(t.bindings)); /* borrowed for the call only */
  memset(t.steps, 0x77, sizeof(t.steps));
  for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); ++i) {
    finish(start(&t, sequence, times[i]));
    for (uint32_t p = 0; p < times[i]; ++p)
      pass(a, b, count, workgroup);
    get(&t, t.a, got);
    if (memcmp(a, got, (size_t)count * 4) != 0)
      fail_msg("%u threads, %u words, groups of %u: a differs after %u replays", threads, count,
               workgroup, times[i]);
    get(&t, t.b, got);
    assert_memory_equal(b, got, (size_t)count * 4);
  }
  plugin.backend->sequence_release(t.device, sequence);
  bench_close(&t);
  free(a);
  free(b);
  free(got);
}

static void replays_give_what_launches_give(void **state)
{
  static const uint32_t threads[] = {1, 2, 3, 8};
  (void)state;
  for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); ++i) {
    check_replays(threads[i], 1, 1);
    check_replays(threads[i], 65, 64); /* small: in the caller, or one thread takes each whole */
    check_replays(threads[i], MOST_WORDS, 16);
  }
}

/* Launches before, between and after, transfers without a wait, all in the order of the calls. */
static void order_is_that_of_the_calls(void **state)
{
  enum { COUNT = MOST_WORDS, STARTS = 5 };
  static uint32_t a[COUNT], b[COUNT], got[COUNT];
  (void)state;
  for (uint32_t threads = 1; threads <= 4; threads += 3) {
    vyre_backend_pending *pending[2 * STARTS];
    vyre_backend_sequence *sequence = NULL;
    bench t;
    bench_open(&t, threads, COUNT, 32);
    for (uint32_t i = 0; i < COUNT; ++i)
      a[i] = i ^ 0x5555u;
    put(&t, t.a, a);
    sequence = record(&t, t.steps, STEPS);
    for (uint32_t s = 0; s < STARTS; ++s) {
      vyre_error err = VYRE_ERROR_INIT;
      pending[2 * s] = start(&t, sequence, s + 1);
      const vyre_status status =
          plugin.backend->dispatch(t.device, &t.steps[2], &pending[2 * s + 1], &err);
      assert_ok(status, err);
      for (uint32_t p = 0; p <= s; ++p)
        pass(a, b, COUNT, 32);
      for (uint32_t first = 0; first < COUNT; first += 32) {
        uint32_t old[32] = {0};
        memcpy(old, a + first, (COUNT - first < 32 ? COUNT - first : 32) * sizeof(*old));
        for (uint32_t l = 0; l < 32 && first + l < COUNT; ++l)
          a[first + l] = old[(l + 1) % 32] ^ 5u;
      }
    }
    get(&t, t.a, got); /* waits for all of them */
    assert_memory_equal(got, a, sizeof(a));
    for (uint32_t s = 2 * STARTS; s-- > 0;)
      finish(pending[s]);
    plugin.backend->sequence_release(t.device, sequence);
    bench_close(&t);
  }
}

typedef struct starter {
  const bench *t;
  vyre_backend_sequence *sequence;
  bool failed;
} starter;

/* No cmocka in here: it ends the thread that it fails in. */
static void *start_many(void *argument)
{
  starter *s = argument;
  for (int i = 0; i < 50 && !s->failed; ++i) {
    vyre_backend_pending *pending = NULL;
    s->failed = plugin.backend->sequence_start(s->t->device, s->sequence, 3, &pending, NULL) ||
                plugin.backend->pending_wait(pending, VYRE_NO_TIMEOUT, NULL);
    plugin.backend->pending_release(pending);
  }
  return NULL;
}

/* One sequence, started by several threads: every replay runs, one after the other. */
static void threads_share_a_sequence(void **state)
{
  enum { COUNT = 2000, THREADS = 4 };
  static uint32_t got[COUNT], zeros[COUNT];
  (void)state;
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    pthread_t running[THREADS];
    starter starters[THREADS];
    bench t;
    bench_open(&t, threads, COUNT, 8);
    vyre_dispatch_desc steps[2] = {
        launch_of(kernel_find(&plugin, t.module, "up"), t.bindings[1], 1, COUNT / 8, 8),
        launch_of(kernel_find(&plugin, t.module, "up"), t.bindings[1], 1, 1, 8)};
    put(&t, t.a, zeros);
    vyre_backend_sequence *sequence = record(&t, steps, 2);
    for (int i = 0; i < THREADS; ++i) {
      starters[i] = (starter){&t, sequence, false};
      assert_int_equal(pthread_create(&running[i], NULL, start_many, &starters[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i)
      pthread_join(running[i], NULL);
    for (int i = 0; i < THREADS; ++i)
      assert_false(starters[i].failed);
    get(&t, t.a, got);
    assert_int_equal(got[0], THREADS * 50 * 3 * 2);
    plugin.backend->sequence_release(t.device, sequence);
    bench_close(&t);
  }
}

/* -------- the handle -------- */

static void a_handle_like_any_other(void **state)
{
  const vyre_backend *b = plugin.backend;
  vyre_backend_times times = {.struct_size = sizeof(times)};
  vyre_slot slot = slot_of(NULL, 0);
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t before = 0, after = 0, host = 0;
  bench t;
  (void)state;
  bench_open(&t, 2, MOST_WORDS, 16);
  vyre_backend_sequence *sequence = record(&t, t.steps, STEPS);
  assert_int_equal(b->device_clock(t.device, &before, &host, &err), VYRE_OK);
  vyre_backend_pending *pending = start(&t, sequence, 20);
  vyre_status status = b->pending_wait(pending, 0, &err);
  assert_true(status == VYRE_OK || status == VYRE_ERROR_TIMEOUT);
  if (status == VYRE_ERROR_TIMEOUT)
    assert_contains(err.message, "a sequence that begins with kernel there");
  assert_int_equal(b->pending_read(pending, &slot, 1, sizeof(slot), NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  status = b->pending_read(pending, NULL, 0, sizeof(slot), &times, &err);
  assert_ok(status, err);
  assert_int_equal(b->pending_wait(pending, 0, &err), VYRE_OK);
  assert_int_equal(b->device_clock(t.device, &after, &host, &err), VYRE_OK);
  assert_true(before <= times.started_ns && times.started_ns <= times.ended_ns &&
              times.ended_ns <= after);
  assert_int_equal(times.device_ns, times.ended_ns - times.started_ns);
  b->pending_release(pending);
  /* Let go while it runs: the release waits. */
  b->pending_release(start(&t, sequence, 20));
  b->sequence_release(t.device, sequence);
  b->sequence_release(t.device, NULL);
  bench_close(&t);
}

/* -------- faults -------- */

static void a_fault_in_a_replay(void **state)
{
  static const uint32_t zeros[100];
  const vyre_backend *b = plugin.backend;
  (void)state;
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    uint32_t got[100];
    vyre_error err = VYRE_ERROR_INIT;
    bench t;
    bench_open(&t, threads, 100, 4);
    vyre_dispatch_desc steps[2] = {
        launch_of(kernel_find(&plugin, t.module, "up"), t.bindings[1], 1, 200, 4),
        launch_of(kernel_find(&plugin, t.module, "leap"), t.bindings[0], 2, 25, 4)};
    put(&t, t.a, zeros);
    vyre_backend_sequence *sequence = record(&t, steps, 2);
    vyre_backend_pending *bad = start(&t, sequence, 50), *next = start(&t, sequence, 2);
    for (int i = 0; i < 2; ++i) { /* every time */
      assert_int_equal(b->pending_wait(bad, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DISPATCH_FAILED);
      assert_contains(err.message, "kernel leap, replay 3");
      assert_contains(err.message, "9999999");
    }
    assert_int_equal(b->pending_read(bad, NULL, 0, 0, NULL, &err), VYRE_ERROR_DISPATCH_FAILED);
    b->pending_release(bad);
    finish(next); /* what was started behind it runs */
    get(&t, t.a, got);
    assert_int_equal(got[0], 5);
    b->sequence_release(t.device, sequence);
    bench_close(&t);
  }
}

static vyre_status try_record(const bench *t, const vyre_sequence_desc *desc, vyre_error *err)
{
  vyre_backend_sequence *sequence = NULL;
  const uint64_t live = host_live();
  const vyre_status status = plugin.backend->sequence_create(t->device, desc, &sequence, err);
  assert_null(sequence);
  assert_int_equal(host_live(), live);
  assert_int_equal(err->code, status);
  assert_true(err->message[0] && err->fix[0]);
  return status;
}

/* A step that a launch of the same descriptor is refused for, with the same code; which it was. */
static void expect_refused_step(const bench *t, const vyre_dispatch_desc *bad)
{
  const vyre_dispatch_desc steps[3] = {t->steps[0], *bad, t->steps[1]};
  const vyre_sequence_desc desc = desc_of(steps, 3);
  vyre_backend_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT, alone = VYRE_ERROR_INIT;
  const vyre_status status = plugin.backend->dispatch(t->device, bad, &pending, &alone);
  assert_true(status != VYRE_OK);
  assert_int_equal(try_record(t, &desc, &err), status);
  assert_contains(err.message, "step 2 of 3: ");
  assert_contains(err.message, alone.message);
}

static void refusals(void **state)
{
  static uint32_t words[64];
  const vyre_backend *b = plugin.backend;
  vyre_backend_sequence *sequence = NULL;
  vyre_backend_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_sequence_desc desc;
  bench t;
  (void)state;
  bench_open(&t, 2, 64, 16);
  desc = desc_of(t.steps, 0);
  assert_int_equal(try_record(&t, &desc, &err), VYRE_ERROR_INVALID_ARGUMENT);
  desc = desc_of(NULL, 1);
  desc.step_stride = sizeof(t.steps[0]);
  assert_int_equal(try_record(&t, &desc, &err), VYRE_ERROR_INVALID_ARGUMENT);
  desc = desc_of(t.steps, STEPS);
  desc.step_stride = VYRE_DISPATCH_DESC_SIZE_0_1 - 1;
  assert_int_equal(try_record(&t, &desc, &err), VYRE_ERROR_INVALID_ARGUMENT);
  desc = desc_of(t.steps, STEPS);
  desc.flags = 1;
  assert_int_equal(try_record(&t, &desc, &err), VYRE_ERROR_INVALID_ARGUMENT);
  desc = desc_of(t.steps, STEPS);
  desc.struct_size = VYRE_SEQUENCE_DESC_SIZE_0_3 - 1;
  assert_int_equal(try_record(&t, &desc, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->sequence_create(t.device, NULL, &sequence, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  desc = desc_of(t.steps, STEPS);
  assert_int_equal(b->sequence_create(NULL, &desc, &sequence, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->sequence_create(t.device, &desc, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);

  /* Flags and host bytes, which dispatch() takes. */
  for (uint32_t i = 0; i < 3; ++i) {
    vyre_binding host = bind_host(0, VYRE_READ_ONLY, words, sizeof(words), 64);
    vyre_binding bindings[2] = {host, t.bindings[0][1]};
    t.steps[1].flags = i == 0 ? VYRE_DISPATCH_COOPERATIVE : i == 1 ? VYRE_DISPATCH_PERSISTENT : 0;
    if (i == 2) {
      t.steps[1] = t.steps[0];
      t.steps[1].bindings = bindings;
    }
    assert_int_equal(try_record(&t, &desc, &err), VYRE_ERROR_INVALID_ARGUMENT);
    assert_contains(err.message, "step 2 of 3: ");
    t.steps[1].bindings = t.bindings[1];
  }
  bench_close(&t);

  bench_open(&t, 2, 64, 16);
  vyre_dispatch_desc bad = t.steps[0];
  bad.groups[1] = 0;
  expect_refused_step(&t, &bad);
  bad = t.steps[0];
  bad.workgroup[0] = 1025;
  expect_refused_step(&t, &bad);
  bad = t.steps[0];
  bad.push_size = 100000;
  expect_refused_step(&t, &bad);
  bad = t.steps[0];
  bad.kernel = NULL;
  expect_refused_step(&t, &bad);
  bad = t.steps[0];
  bad.id_limit = 1;
  expect_refused_step(&t, &bad);
  bad = t.steps[0];
  bad.struct_size = VYRE_DISPATCH_DESC_SIZE_0_1 - 1;
  expect_refused_step(&t, &bad);

  desc = desc_of(t.steps, STEPS);
  vyre_status status = b->sequence_create(t.device, &desc, &sequence, NULL);
  assert_int_equal(status, VYRE_OK);
  assert_int_equal(b->sequence_start(t.device, sequence, 0, &pending, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->sequence_start(t.device, NULL, 1, &pending, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->sequence_start(NULL, sequence, 1, &pending, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->sequence_start(t.device, sequence, 1, NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(pending);
  b->sequence_release(t.device, sequence);
  bench_close(&t);
}

/* Steps with a stride, longer than ours. */
static void longer_structures(void **state)
{
  struct later_desc {
    vyre_sequence_desc desc;
    uint64_t more[2];
  } desc;
  struct later_step {
    vyre_dispatch_desc step;
    uint64_t more[3];
  } steps[STEPS];
  enum { COUNT = 50 };
  uint32_t a[COUNT], b[COUNT], got[COUNT];
  vyre_backend_sequence *sequence = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  bench t;
  (void)state;
  bench_open(&t, 2, COUNT, 8);
  memset(steps, 0x77, sizeof(steps));
  memset(&desc, 0x77, sizeof(desc));
  for (int s = 0; s < STEPS; ++s) {
    steps[s].step = t.steps[s];
    steps[s].step.struct_size = sizeof(steps[s]);
  }
  desc.desc = desc_of(&steps[0].step, STEPS);
  desc.desc.struct_size = sizeof(desc);
  desc.desc.step_stride = sizeof(steps[0]);
  for (uint32_t i = 0; i < COUNT; ++i)
    a[i] = i * i;
  put(&t, t.a, a);
  const vyre_status status = plugin.backend->sequence_create(t.device, &desc.desc, &sequence, &err);
  assert_ok(status, err);
  finish(start(&t, sequence, 4));
  for (int p = 0; p < 4; ++p)
    pass(a, b, COUNT, 8);
  get(&t, t.a, got);
  assert_memory_equal(got, a, sizeof(a));
  plugin.backend->sequence_release(t.device, sequence);
  bench_close(&t);
}

/* -------- memory -------- */

/* Each allocation of recording and of a start fails once; nothing leaks, and the next try works. */
static void every_allocation_can_fail(void **state)
{
  enum { COUNT = 600 };
  static uint32_t zeros[COUNT];
  const vyre_backend *b = plugin.backend;
  uint64_t failures = 0, last = 0;
  bench t;
  (void)state;
  bench_open(&t, 2, COUNT, 4);
  put(&t, t.a, zeros);
  vyre_backend_sequence *warm = record(&t, t.steps, STEPS);
  finish(start(&t, warm, 1)); /* threads and fibers are there now */
  b->sequence_release(t.device, warm);
  for (uint64_t n = 1; last + 1 >= n; ++n) {
    const vyre_sequence_desc desc = desc_of(t.steps, STEPS);
    vyre_backend_sequence *sequence = NULL;
    vyre_backend_pending *pending = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    const uint64_t live = host_live();
    host_fail(n);
    vyre_status status = b->sequence_create(t.device, &desc, &sequence, &err);
    if (status == VYRE_OK)
      status = b->sequence_start(t.device, sequence, 2, &pending, &err);
    else
      assert_int_equal(host_live(), live);
    if (status == VYRE_OK)
      status = b->pending_wait(pending, VYRE_NO_TIMEOUT, &err);
    last = host_count();
    host_fail(0);
    if (status != VYRE_OK) {
      failures += 1;
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_true(err.message[0] && err.fix[0]);
    }
    b->pending_release(pending);
    b->sequence_release(t.device, sequence);
  }
  assert_true(failures >= 3 + STEPS);
  bench_close(&t);
}

static int set_up(void **state)
{
  (void)state;
  plugin_load(&plugin);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin_unload(&plugin);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(replays_give_what_launches_give),
      cmocka_unit_test(order_is_that_of_the_calls),
      cmocka_unit_test(threads_share_a_sequence),
      cmocka_unit_test(a_handle_like_any_other),
      cmocka_unit_test(a_fault_in_a_replay),
      cmocka_unit_test(refusals),
      cmocka_unit_test(longer_structures),
      cmocka_unit_test(every_allocation_can_fail),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
