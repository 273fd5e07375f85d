/*
 * Recorded sequences of the GPU body on the test driver: what replays compute, what the driver is
 * asked for them, what is refused, and how they end.  With VYRE_TEST_SEQUENCES=none the driver has
 * no graphs, and a device says so.
 */
#include "scene.h"

#include <pthread.h>
#include <stdlib.h>

#define WORDS 5u

typedef struct record {
  launch launches[3];
  vyre_dispatch_desc steps[3];
  vyre_sequence_desc desc;
} record;

/* The launches of `r`, as many as `count`, as a sequence. */
static const vyre_sequence_desc *desc_of(record *r, uint32_t count)
{
  for (uint32_t i = 0; i < count; ++i)
    r->steps[i] = r->launches[i].desc;
  r->desc = (vyre_sequence_desc){.struct_size = sizeof r->desc,
                                 .step_count = count,
                                 .steps = r->steps,
                                 .step_stride = sizeof r->steps[0]};
  return &r->desc;
}

static vyre_backend_sequence *create(record *r, uint32_t count)
{
  vyre_backend_sequence *sequence = NULL;
  OK(backend->sequence_create(device, desc_of(r, count), &sequence, &fresh));
  assert_non_null(sequence);
  return sequence;
}

/* One step: this kernel on this buffer. */
static vyre_backend_sequence *create_one(const char *kernel, vyre_backend_buffer *buffer)
{
  record r;
  begin(&r.launches[0], find(kernel));
  add_buffer(&r.launches[0], VYRE_READ_WRITE, buffer, WORDS);
  return create(&r, 1);
}

static vyre_backend_pending *replay(vyre_backend_sequence *sequence, uint32_t times)
{
  vyre_backend_pending *pending = NULL;
  OK(backend->sequence_start(device, sequence, times, &pending, &fresh));
  assert_non_null(pending);
  return pending;
}

static void run(vyre_backend_sequence *sequence, uint32_t times)
{
  vyre_backend_pending *pending = replay(sequence, times);
  OK(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &fresh));
  OK(backend->pending_read(pending, NULL, 0, 0, NULL, &fresh));
  backend->pending_release(pending);
}

static vyre_backend_buffer *buffer_of(const uint32_t *values)
{
  vyre_backend_buffer *buffer = make_buffer(device, WORDS * 4);
  OK(backend->buffer_upload(device, buffer, 0, values, WORDS * 4, &fresh));
  return buffer;
}

static uint32_t first_word(vyre_backend_buffer *buffer)
{
  uint32_t word = 0;
  OK(backend->buffer_download(device, buffer, 0, &word, sizeof word, &fresh));
  return word;
}

/* -------- what replays compute -------- */

/* c = a + b, a = b, b = c: every other order or number of steps leaves other words. */
static vyre_backend_sequence *create_sums(vyre_backend_buffer *const of[3])
{
  record r;
  begin(&r.launches[0], find("add"));
  add_buffer(&r.launches[0], VYRE_READ_ONLY, of[0], WORDS);
  add_buffer(&r.launches[0], VYRE_READ_ONLY, of[1], WORDS);
  add_buffer(&r.launches[0], VYRE_WRITE_ONLY, of[2], WORDS);
  begin(&r.launches[1], find("copy"));
  add_buffer(&r.launches[1], VYRE_READ_ONLY, of[1], WORDS);
  add_buffer(&r.launches[1], VYRE_WRITE_ONLY, of[0], WORDS);
  begin(&r.launches[2], find("copy"));
  add_buffer(&r.launches[2], VYRE_READ_ONLY, of[2], WORDS);
  add_buffer(&r.launches[2], VYRE_WRITE_ONLY, of[1], WORDS);
  vyre_backend_sequence *sequence = create(&r, 3);
  memset(&r, 0x5a, sizeof r); /* borrowed for the call only */
  return sequence;
}

static void expect_sums(vyre_backend_buffer *const of[3], uint32_t a[WORDS], uint32_t b[WORDS],
                        uint32_t times)
{
  uint32_t out[WORDS];
  for (uint32_t turn = 0; turn < times; ++turn)
    for (uint32_t i = 0; i < WORDS; ++i) {
      const uint32_t sum = a[i] + b[i];
      a[i] = b[i];
      b[i] = sum;
    }
  OK(backend->buffer_download(device, of[0], 0, out, sizeof out, &fresh));
  assert_memory_equal(out, a, sizeof out);
  OK(backend->buffer_download(device, of[1], 0, out, sizeof out, &fresh));
  assert_memory_equal(out, b, sizeof out);
}

static void replays_run_in_order_as_often_as_asked(void **state)
{
  /* Three steps: graphs of 21 replays and of one; the large one is made when two of it are used. */
  static const uint32_t times[] = {1, 2, 5, 41, 42, 43, 95, 1000},
                        calls[] = {1, 2, 5, 41, 2, 3, 4 + 11, 47 + 13};
  uint32_t a[WORDS] = {1, 2, 3, 4, 5}, b[WORDS] = {9, 7, 5, 3, 1};
  vyre_backend_buffer *of[3] = {buffer_of(a), buffer_of(b), buffer_of(a)};
  (void)state;
  vyre_backend_sequence *sequence = create_sums(of);
  for (size_t i = 0; i < sizeof times / sizeof times[0]; ++i) {
    const uint64_t before = driver->calls("cuGraphLaunch");
    run(sequence, times[i]);
    assert_int_equal(driver->calls("cuGraphLaunch") - before, calls[i]);
    expect_sums(of, a, b, times[i]);
  }
  assert_int_equal(driver->calls("cuLaunchKernel"), 0);
  static const char *const names[] = {"add", "copy", "copy"};
  for (uint64_t i = 0; i < 3 * 1229; ++i) { /* all of them */
    const fake_launch_record *step = driver->launch(i);
    assert_non_null(step);
    assert_string_equal(step->name, names[i % 3]);
    assert_int_not_equal(step->graph, 0);
    assert_int_equal(step->stream, driver->launch(0)->stream);
  }
  backend->sequence_release(device, sequence);
  for (int i = 0; i < 3; ++i)
    backend->buffer_free(device, of[i]);
}

/* More steps than one graph of several replays holds. */
static void a_long_sequence_is_one_graph(void **state)
{
  enum { STEPS = 200 };
  static vyre_dispatch_desc steps[STEPS];
  static launch l;
  uint32_t word[WORDS] = {7};
  vyre_backend_buffer *buffer = buffer_of(word);
  vyre_backend_sequence *sequence = NULL;
  (void)state;
  begin(&l, find("count"));
  add_buffer(&l, VYRE_READ_WRITE, buffer, WORDS);
  for (uint32_t i = 0; i < STEPS; ++i)
    steps[i] = l.desc;
  const vyre_sequence_desc desc = {.struct_size = sizeof desc,
                                   .step_count = STEPS,
                                   .steps = steps,
                                   .step_stride = sizeof steps[0]};
  OK(backend->sequence_create(device, &desc, &sequence, &fresh));
  assert_int_equal(driver->live("exec"), 1);
  run(sequence, 3);
  assert_int_equal(driver->live("exec"), 1);
  assert_int_equal(first_word(buffer), 7 + 3 * STEPS * 32);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

static void what_a_step_is_called_with(void **state)
{
  uint8_t push[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[16] = {0};
  uint32_t word[WORDS] = {0};
  vyre_backend_buffer *buffer = buffer_of(word);
  record r;
  (void)state;
  begin(&r.launches[0], find("local"));
  r.launches[0].desc.groups[0] = 5;
  r.launches[0].desc.groups[1] = 2;
  r.launches[0].desc.workgroup[0] = 8;
  r.launches[0].desc.workgroup[2] = 4;
  add(&r.launches[0], VYRE_WORKGROUP, 1)->kind = VYRE_BINDING_WORKGROUP;
  add(&r.launches[0], VYRE_WORKGROUP, 9)->kind = VYRE_BINDING_WORKGROUP;
  add_buffer(&r.launches[0], VYRE_READ_WRITE, buffer, 1);
  r.launches[0].bindings[2].offset = 8;
  begin(&r.launches[1], find("pushes"));
  add_buffer(&r.launches[1], VYRE_WRITE_ONLY, buffer, 4);
  r.launches[1].desc.push = push;
  r.launches[1].desc.push_size = sizeof push;
  vyre_backend_sequence *sequence = create(&r, 2);
  memset(push, 99, sizeof push);
  run(sequence, 1);
  OK(backend->buffer_download(device, buffer, 0, out, sizeof out, &fresh));
  for (size_t i = 0; i < sizeof out; ++i)
    assert_int_equal(out[i], i < 8 ? i + 1 : 0);
  const fake_launch_record *step = driver->launch(0);
  assert_non_null(step);
  assert_string_equal(step->name, "local");
  assert_true(step->groups[0] == 5 && step->groups[1] == 2 && step->groups[2] == 1);
  assert_true(step->workgroup[0] == 8 && step->workgroup[1] == 1 && step->workgroup[2] == 4);
  assert_int_equal(step->workgroup_memory, 16 + 36);
  assert_int_equal(step->addresses[1], 16);
  assert_int_equal(step->addresses[2] & 255, 8);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

/* -------- what the driver is asked -------- */

static uint64_t count_lines(void)
{
  uint64_t lines = 0;
  while (driver->line(lines))
    lines += 1;
  return lines;
}

static void a_start_is_few_launches_between_two_events(void **state)
{
#ifdef VYRE_TEST_HIP
  skip(); /* the runtime of the tests makes calls of its own between them */
#endif
  static const char *const want[] = {"cuCtxPushCurrent", "cuEventRecord", "cuGraphLaunch",
                                     "cuGraphLaunch",    "cuEventRecord", "cuCtxPopCurrent"};
  uint32_t word[WORDS] = {1};
  vyre_backend_buffer *buffer = buffer_of(word);
  (void)state;
  vyre_backend_sequence *sequence = create_one("double", buffer);
  backend->pending_release(replay(sequence, 128)); /* makes the handle and the graph */
  const uint64_t before = count_lines(), blocks = host_live();
  backend->pending_release(replay(sequence, 128));
  for (uint64_t i = 0; i < 6; ++i)
    assert_contains(driver->line(before + i), want[i]);
  assert_int_equal(host_live(), blocks);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

/* The driver's own apart, a sequence keeps no memory of the device, and starts nothing. */
static void creating_leaves_graphs_only(void **state)
{
  uint32_t word[WORDS] = {1};
  vyre_backend_buffer *buffer = buffer_of(word);
  const uint64_t memory = driver->live("memory"), blocks = host_live();
  (void)state;
  driver->hold(true); /* whoever waits for a launch here would let it run */
  launch l;
  begin(&l, find("double"));
  add_buffer(&l, VYRE_READ_WRITE, buffer, WORDS);
  vyre_backend_pending *held = start(&l);
  driver->hold(false);
  backend->pending_release(held);
  const uint64_t launches = driver->calls("cuLaunchKernel");
  const uint64_t events = driver->live("event");
  vyre_backend_sequence *sequence = create_one("double", buffer);
  assert_int_equal(driver->live("graph"), 0);
  assert_int_equal(driver->live("exec"), 1);
  assert_int_equal(driver->live("memory"), memory);
  assert_int_equal(driver->live("event"), events);
  assert_int_equal(driver->calls("cuGraphLaunch"), 0);
  assert_int_equal(driver->calls("cuLaunchKernel"), launches);
  assert_int_equal(first_word(buffer), 2);
  run(sequence, 1000);
  assert_int_equal(driver->live("exec"), 2);
  backend->sequence_release(device, sequence);
  assert_int_equal(driver->live("exec"), 0);
  assert_true(host_live() <= blocks + 3); /* the kernel, the handle of the launch */
  backend->sequence_release(device, NULL);
  backend->buffer_free(device, buffer);
}

/* -------- beside other launches -------- */

static void starts_and_launches_keep_their_order(void **state)
{
  uint32_t word[WORDS] = {1};
  vyre_backend_times times[2] = {{.struct_size = sizeof times[0]},
                                 {.struct_size = sizeof times[0]}};
  vyre_backend_buffer *buffer = buffer_of(word);
  launch l;
  (void)state;
  begin(&l, find("count"));
  add_buffer(&l, VYRE_READ_WRITE, buffer, WORDS);
  vyre_backend_sequence *sequence = create_one("double", buffer);
  driver->hold(true);
  vyre_backend_pending *first = replay(sequence, 1), *between = start(&l),
                       *second = replay(sequence, 3);
  FAILS(backend->pending_wait(second, 0, &err), VYRE_ERROR_TIMEOUT,
        "the sequence that begins with kernel double has not ended");
  driver->hold(false);
  OK(backend->pending_read(second, NULL, 0, 0, &times[1], &fresh));
  OK(backend->pending_read(first, NULL, 0, 0, &times[0], &fresh));
  assert_true(times[0].started_ns <= times[0].ended_ns &&
              times[0].ended_ns <= times[1].started_ns &&
              times[1].started_ns <= times[1].ended_ns && times[1].enqueue_ns > 0);
  backend->pending_release(first);
  backend->pending_release(between);
  backend->pending_release(second);
  assert_int_equal(first_word(buffer), (1 * 2 + 32) * 8);
  driver->hold(true);
  backend->pending_release(replay(sequence, 1)); /* waits, which lets it run */
  driver->hold(false);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

static void replays_run_beside_a_persistent_launch(void **state)
{
  uint32_t word[WORDS] = {1};
  vyre_coherent_memory shared = {.struct_size = sizeof shared};
  vyre_backend_buffer *buffer = buffer_of(word);
  launch l;
  (void)state;
  OK(backend->coherent_alloc(device, 4096, &shared, &fresh));
  vyre_backend_sequence *sequence = create_one("double", buffer);
  begin(&l, find("resident"));
  l.desc.flags = VYRE_DISPATCH_PERSISTENT;
  add_buffer(&l, VYRE_READ_WRITE, shared.buffer, 1024);
  vyre_backend_pending *staying = start(&l);
  run(sequence, 5);
  assert_int_equal(first_word(buffer), 32);
  run(sequence, 200); /* no graph is made beside it */
  assert_int_equal(driver->calls("cuGraphLaunch"), 205);
  FAILS(backend->pending_wait(staying, 0, &err), VYRE_ERROR_TIMEOUT, "resident");
  __atomic_store_n((uint32_t *)shared.host, 1, __ATOMIC_RELEASE); /* pairs with the kernel's look */
  OK(backend->pending_wait(staying, 20000000000u, &fresh));
  backend->pending_release(staying);
  run(sequence, 200); /* 3 of 64 and 8 */
  assert_int_equal(driver->calls("cuGraphLaunch"), 205 + 11);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
  backend->buffer_free(device, shared.buffer);
}

static void replays_go_to_the_callers_queue(void **state)
{
  vyre_backend_device_options options = {.struct_size = sizeof options,
                                         .queue = {.struct_size = sizeof options.queue}};
  vyre_backend_device *const lender = device, *borrower = NULL;
  vyre_backend_module *const theirs = module;
  uint32_t word[WORDS] = {3};
  launch l;
  (void)state;
  OK(backend->queue_export(lender, &options.queue, &fresh));
  OK(backend->device_open(0, &options, &borrower, &fresh));
  vyre_backend_buffer *buffer = buffer_of(word);
  begin(&l, find("double"));
  add_buffer(&l, VYRE_READ_WRITE, buffer, WORDS);
  backend->pending_release(start(&l));
  device = borrower;
  load(0);
  vyre_backend_buffer *mine = buffer_of(word);
  vyre_backend_sequence *sequence = create_one("double", mine);
  run(sequence, 1);
  assert_int_equal(first_word(mine), 6);
  assert_int_equal(driver->launch(0)->stream, driver->launch(1)->stream);
  /* A sequence is of one device handle, as its kernels are. */
  vyre_backend_pending *pending = NULL;
  FAILS(backend->sequence_start(lender, sequence, 1, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
        "another device");
  assert_null(pending);
  backend->sequence_release(borrower, sequence);
  backend->buffer_free(borrower, mine);
  backend->module_unload(borrower, module);
  backend->device_close(borrower);
  device = lender;
  module = theirs;
  backend->buffer_free(device, buffer);
}

/* -------- threads -------- */

#define THREADS 4u
#define TURNS 40u

static vyre_backend_sequence *of_all;

static void *start_often(void *argument)
{
  uint32_t *wrong = argument;
  for (uint32_t turn = 0; turn < TURNS; ++turn) {
    vyre_backend_pending *pending = NULL;
    /* 16 steps: the large graph is of 4, and one of the threads makes it. */
    if (backend->sequence_start(device, of_all, turn % 2 ? 3 : 9, &pending, NULL) != VYRE_OK ||
        (turn % 3 && backend->pending_wait(pending, VYRE_NO_TIMEOUT, NULL) != VYRE_OK))
      *wrong += 1;
    backend->pending_release(pending);
  }
  return NULL;
}

static void threads_start_one_sequence(void **state)
{
  uint32_t word[WORDS] = {0}, wrong[THREADS] = {0};
  vyre_dispatch_desc steps[16];
  launch l;
  pthread_t threads[THREADS];
  vyre_backend_buffer *buffer = buffer_of(word);
  (void)state;
  driver->set_deferred(true);
  begin(&l, find("count"));
  add_buffer(&l, VYRE_READ_WRITE, buffer, WORDS);
  for (uint32_t i = 0; i < 16; ++i)
    steps[i] = l.desc;
  const vyre_sequence_desc desc = {
      .struct_size = sizeof desc, .step_count = 16, .steps = steps, .step_stride = sizeof steps[0]};
  OK(backend->sequence_create(device, &desc, &of_all, &fresh));
  for (uint32_t i = 0; i < THREADS; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, start_often, &wrong[i]), 0);
  for (uint32_t i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(wrong[i], 0);
  }
  assert_int_equal(first_word(buffer), THREADS * TURNS / 2 * (3 + 9) * 16 * 32);
  backend->sequence_release(device, of_all);
  backend->buffer_free(device, buffer);
}

/* -------- debug code -------- */

static void debug_code_reports_by_start(void **state)
{
  uint32_t word[WORDS] = {1};
  record r;
  (void)state;
  backend->module_unload(device, module);
  load(VYRE_MODULE_DEBUG);
  vyre_backend_buffer *buffer = buffer_of(word);
  begin(&r.launches[0], find("double"));
  add_buffer(&r.launches[0], VYRE_READ_WRITE, buffer, WORDS);
  begin(&r.launches[1], find("offend"));
  add_buffer(&r.launches[1], VYRE_READ_WRITE, buffer, WORDS);
  vyre_backend_sequence *bad = create(&r, 2), *good = create_one("double", buffer);
  driver->hold(true);
  vyre_backend_pending *pending[4] = {replay(bad, 2), replay(good, 3), replay(bad, 1),
                                      replay(good, 1)};
  driver->hold(false);
  for (int turn = 0; turn < 2; ++turn)
    for (int i = 3; i >= 0; --i)
      if (i % 2)
        OK(backend->pending_wait(pending[i], VYRE_NO_TIMEOUT, &fresh));
      else
        FAILS(backend->pending_wait(pending[i], VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DISPATCH_FAILED,
              "the sequence that begins with kernel double: index 99 of buffer 'values', which has "
              "8 elements, offend.c:17");
  for (int i = 0; i < 4; ++i)
    backend->pending_release(pending[i]);
  assert_int_equal(first_word(buffer), 1 << 7);
  assert_int_equal(driver->calls("cuGraphCreate"), 0);
  backend->sequence_release(device, good);
  backend->sequence_release(device, bad);
  backend->buffer_free(device, buffer);
}

/* Its start makes more calls than that of graphs, of which test_failures.c fails each. */
static void each_call_of_a_debug_start_fails(void **state)
{
#ifdef VYRE_TEST_HIP
  skip(); /* the runtime of the tests makes calls of its own, where an end would be lost */
#endif
  uint32_t word[WORDS] = {1};
  (void)state;
  backend->module_unload(device, module);
  load(VYRE_MODULE_DEBUG);
  vyre_backend_buffer *buffer = buffer_of(word);
  vyre_backend_sequence *sequence = create_one("double", buffer);
  uint32_t silent = 0;
  for (uint64_t nth = 1;; ++nth) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_backend_pending *pending = NULL;
    const uint64_t blocks = host_live(), memory = driver->live("memory");
    (driver->fail)(NULL, nth, 304);
    vyre_status status = backend->sequence_start(device, sequence, 2, &pending, &err);
    assert_true((status == VYRE_OK) == (pending != NULL));
    if (status == VYRE_OK)
      status = backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err);
    const bool struck = driver->failed();
    (driver->fail)(NULL, 0, 0);
    backend->pending_release(pending);
    assert_int_equal(driver->live("memory"), memory);
    assert_true(host_live() <= blocks + 1); /* a handle is kept */
    if (!struck) {
      assert_int_equal(status, VYRE_OK);
      assert_true(nth > 10);
      break;
    }
    if (status != VYRE_OK) /* what puts the context back is nobody's to tell */
      assert_int_equal(err.vendor_code, 304);
    silent += status == VYRE_OK;
  }
  assert_true(silent <= 3);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

/* -------- what is refused -------- */

static void wrong_sequences_are_refused(void **state)
{
  uint32_t word[WORDS] = {1};
  vyre_backend_buffer *buffer = buffer_of(word);
  vyre_backend_sequence *sequence = NULL;
  vyre_backend_pending *pending = NULL;
  record r;
  (void)state;
  find("vyre_fused");
  begin(&r.launches[0], find("double"));
  add_buffer(&r.launches[0], VYRE_READ_WRITE, buffer, WORDS);
  begin(&r.launches[1], find("copy"));
  add_buffer(&r.launches[1], VYRE_READ_ONLY, buffer, WORDS);
  add_buffer(&r.launches[1], VYRE_READ_WRITE, buffer, WORDS);
  const uint64_t blocks = host_live(), events = driver->live("event");
#define WRONG(code, text, change)                                                                  \
  do {                                                                                             \
    record good = r;                                                                               \
    r.launches[0].desc.bindings = r.launches[0].bindings;                                          \
    r.launches[1].desc.bindings = r.launches[1].bindings;                                          \
    desc_of(&r, 2);                                                                                \
    change;                                                                                        \
    FAILS(backend->sequence_create(device, &r.desc, &sequence, &err), VYRE_ERROR_##code, text);    \
    assert_null(sequence);                                                                         \
    assert_int_equal(host_live(), blocks);                                                         \
    r = good;                                                                                      \
  } while (0)
  WRONG(INVALID_ARGUMENT, "struct_size", r.desc.struct_size = 8);
  WRONG(INVALID_ARGUMENT, "0x1", r.desc.flags = 1);
  WRONG(INVALID_ARGUMENT, "0 steps", r.desc.step_count = 0);
  WRONG(INVALID_ARGUMENT, "NULL", r.desc.steps = NULL);
  WRONG(INVALID_ARGUMENT, "stride", r.desc.step_stride = 16);
  WRONG(INVALID_ARGUMENT, "struct_size", r.steps[1].struct_size = 8);
  WRONG(INVALID_ARGUMENT, "step 1 has flags 0x2", r.steps[1].flags = VYRE_DISPATCH_COOPERATIVE);
  WRONG(INVALID_ARGUMENT, "step 0 has flags 0x1", r.steps[0].flags = VYRE_DISPATCH_PERSISTENT);
  WRONG(INVALID_ARGUMENT, "binding 1 of step 1", {
    r.launches[1].bindings[1].kind = VYRE_BINDING_HOST;
    r.launches[1].bindings[1].data = word;
  });
  WRONG(INVALID_ARGUMENT, "kernel", r.steps[1].kernel = NULL);
  WRONG(INVALID_ARGUMENT, "dimension 2", r.steps[1].groups[2] = 0);
  WRONG(UNSUPPORTED, "id 96", {
    r.launches[1].bindings[1].id = 96;
    r.steps[1].id_limit = 97;
  });
  WRONG(INVALID_ARGUMENT, "fused", {
    r.steps[1].kernel = find("vyre_fused");
    r.steps[1].binding_count = 1;
  });
#undef WRONG
  FAILS(backend->sequence_create(device, &r.desc, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT, "NULL");
  assert_int_equal(driver->calls("cuGraphCreate"), 0);
  assert_int_equal(driver->live("event"), events);
  sequence = create(&r, 2);
  FAILS(backend->sequence_start(device, sequence, 0, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
        "0 replays");
  FAILS(backend->sequence_start(device, NULL, 1, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
        "NULL");
  FAILS(backend->sequence_start(device, sequence, 1, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
        "NULL");
  assert_null(pending);
  vyre_slot slot = {.struct_size = sizeof slot};
  pending = replay(sequence, 1);
  FAILS(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &err),
        VYRE_ERROR_INVALID_ARGUMENT, "has 0 outputs, 1 slots");
  backend->pending_release(pending);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

/* -------- how they end -------- */

/* The first call of a start makes it fail; behind that something runs, and the handle tells. */
static void a_start_that_stops_half_way(void **state)
{
  uint32_t word[WORDS] = {1};
  vyre_backend_buffer *buffer = buffer_of(word);
  vyre_backend_pending *pending = NULL;
  (void)state;
  vyre_backend_sequence *sequence = create_one("count", buffer);
  (driver->fail)("cuGraphLaunch", 1, 304);
  FAILS(backend->sequence_start(device, sequence, 3, &pending, &err), VYRE_ERROR_DISPATCH_FAILED,
        "launching the sequence that begins with kernel count");
  assert_null(pending);
  assert_int_equal(first_word(buffer), 1);
  (driver->fail)("cuGraphLaunch", 2, 304);
  pending = replay(sequence, 3);
  for (int turn = 0; turn < 2; ++turn)
    FAILS(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DISPATCH_FAILED,
          "(304)");
  FAILS(backend->pending_read(pending, NULL, 0, 0, NULL, &err), VYRE_ERROR_DISPATCH_FAILED,
        "(304)");
  backend->pending_release(pending);
  run(sequence, 3);
  assert_int_equal(first_word(buffer), 1 + (1 + 3) * 32);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

static void a_kernel_that_kills_the_device(void **state)
{
  uint32_t word[WORDS] = {1};
  vyre_backend_buffer *buffer = buffer_of(word);
  vyre_backend_pending *next = NULL;
  (void)state;
  vyre_backend_sequence *sequence = create_one("trap", buffer), *other = NULL;
  vyre_backend_pending *pending = replay(sequence, 1);
  FAILS(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DEVICE_LOST, "(700)");
  FAILS(backend->sequence_start(device, sequence, 1, &next, &err), VYRE_ERROR_DEVICE_LOST, "(700)");
  assert_null(next);
  record r;
  begin(&r.launches[0], find("trap"));
  add_buffer(&r.launches[0], VYRE_READ_WRITE, buffer, WORDS);
  FAILS(backend->sequence_create(device, desc_of(&r, 1), &other, &err), VYRE_ERROR_DEVICE_LOST,
        "(700)");
  assert_null(other);
  is_lost = true;
  backend->pending_release(pending);
  backend->sequence_release(device, sequence);
  backend->buffer_free(device, buffer);
}

/* -------- without graphs -------- */

static void a_driver_without_graphs_says_so(void **state)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  uint32_t word[WORDS] = {1};
  vyre_backend_buffer *buffer = buffer_of(word);
  vyre_backend_sequence *sequence = NULL;
  record r;
  (void)state;
  OK(backend->device_info(0, &info, &fresh));
  assert_int_equal(info.capabilities & VYRE_CAP_SEQUENCES, 0);
  begin(&r.launches[0], find("double"));
  add_buffer(&r.launches[0], VYRE_READ_WRITE, buffer, WORDS);
  FAILS(backend->sequence_create(device, desc_of(&r, 1), &sequence, &err), VYRE_ERROR_UNSUPPORTED,
        "not all calls of graphs");
  assert_null(sequence);
  backend->pending_release(start(&r.launches[0])); /* all else is as ever */
  assert_int_equal(first_word(buffer), 2);
  backend->buffer_free(device, buffer);
}

static void a_driver_with_graphs_says_so(void **state)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  (void)state;
  OK(backend->device_info(0, &info, &fresh));
  assert_int_equal(info.capabilities & VYRE_CAP_SEQUENCES, VYRE_CAP_SEQUENCES);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      ON_DEVICE(a_driver_with_graphs_says_so),
      ON_DEVICE(replays_run_in_order_as_often_as_asked),
      ON_DEVICE(a_long_sequence_is_one_graph),
      ON_DEVICE(what_a_step_is_called_with),
      ON_DEVICE(a_start_is_few_launches_between_two_events),
      ON_DEVICE(creating_leaves_graphs_only),
      ON_DEVICE(starts_and_launches_keep_their_order),
      ON_DEVICE(replays_run_beside_a_persistent_launch),
      ON_DEVICE(replays_go_to_the_callers_queue),
      ON_DEVICE(threads_start_one_sequence),
      ON_DEVICE(debug_code_reports_by_start),
      ON_DEVICE(each_call_of_a_debug_start_fails),
      ON_DEVICE(wrong_sequences_are_refused),
      ON_DEVICE(a_start_that_stops_half_way),
      ON_DEVICE(a_kernel_that_kills_the_device),
  };
  const struct CMUnitTest none[] = {ON_DEVICE(a_driver_without_graphs_says_so)};
  return getenv("VYRE_TEST_SEQUENCES") ? cmocka_run_group_tests(none, plugin_set_up, NULL)
                                       : cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
