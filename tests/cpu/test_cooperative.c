/*
 * test_cooperative.c - cooperative launches in the device's queue: how many groups fit, what is
 * refused, their place between and beside other launches, times, and what happens without threads
 * or memory.
 */
#include "grid_help.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* words of `a` in the waiting segments: 0 stop or go, 1 groups that have come */
static const char text[] =
    GRID_NAMES "VYRE_SEGMENT(twice)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
               "{\n"
               "  vyre_u64 i = vyre_global_id(c, 0);\n"
               "  if (i < vyre_count(c, a)) a[i] *= 2u;\n"
               "}\n"
               "VYRE_SEGMENT(more)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
               "{\n"
               "  vyre_u64 i = vyre_global_id(c, 0);\n"
               "  if (i < vyre_count(c, a)) a[i] += 1u;\n"
               "}\n"
               "VYRE_ENTRY(twice, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n"
               "VYRE_ENTRY(more, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n"
               "VYRE_FUSED(vyre_fused, " GRID_PARAMS ")\n"
               "  VYRE_PASSES(4, 2)\n"
               "    VYRE_RUN(0, twice, (VYRE_ARG(0, a)))\n"
               "    VYRE_RUN(1, more, (VYRE_ARG(0, a)))\n"
               "  VYRE_PASSES_END\n"
               "VYRE_FUSED_END\n";

/* All groups must be there at once, without the words of a fused launch. */
static const char waiting_text[] =
    GRID_NAMES "VYRE_SEGMENT(meet)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
               "{\n"
               "  vyre_u32 misses = 0;\n"
               "  vyre_atomic_add_u32(&a[1], 1u, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);\n"
               "  while (vyre_atomic_load_u32(&a[1], VYRE_ACQUIRE, VYRE_SCOPE_DEVICE) <\n"
               "         vyre_group_count(c, 0) * vyre_group_count(c, 1))\n"
               "    vyre_backoff(c, misses++);\n"
               "}\n"
               "VYRE_SEGMENT(gate)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
               "{\n"
               "  vyre_u32 misses = 0;\n"
               "  vyre_atomic_add_u32(&a[1], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);\n"
               "  while (!vyre_atomic_load_u32(&a[0], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM))\n"
               "    vyre_backoff(c, misses++);\n"
               "}\n"
               "VYRE_ENTRY(meet, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n"
               "VYRE_ENTRY(gate, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n";

static const char barrier_text[] = GRID_NAMES
    "VYRE_SEGMENT(turn)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_LOCAL(vyre_u32) s)\n"
    "{\n"
    "  s[vyre_local_id(c, 0)] = a[vyre_global_id(c, 0)];\n"
    "  vyre_barrier(c);\n"
    "  a[vyre_global_id(c, 0)] = s[(vyre_local_id(c, 0) + 1u) % vyre_local_size(c, 0)];\n"
    "}\n"
    "VYRE_ENTRY(turn, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_LOCAL(1, s)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, s)));\n"
    "VYRE_FUSED(vyre_fused, " GRID_PARAMS ")\n"
    "  VYRE_PASSES(4, 1)\n"
    "    VYRE_RUN(0, turn, (VYRE_ARG(0, a), VYRE_ARG(2, s)))\n"
    "  VYRE_PASSES_END\n"
    "VYRE_FUSED_END\n";

enum { COUNT = 1024 };

static cpu_plugin plugin;

/* -------- threads that cannot be started -------- */

static uint32_t threads_left = UINT32_MAX; /* changed while no other thread runs */

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* The plugin's calls come here too: a program's symbols go before a library's. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *newthread,
                                                          const pthread_attr_t *attr,
                                                          void *(*start_routine)(void *), void *arg)
{
  create_fn real;
  void *symbol = dlsym(RTLD_NEXT, "pthread_create");
  memcpy(&real, &symbol, sizeof(real));
  if (!threads_left)
    return EAGAIN;
  threads_left -= threads_left != UINT32_MAX;
  return real(newthread, attr, start_routine, arg);
}

/* -------- one device with its modules -------- */

static grid g;
static vyre_backend_module *module, *waiting, *barriers;

static void open_all(uint32_t threads)
{
  grid_open(&g, &plugin, threads, COUNT);
  module = module_load(&plugin, g.device, text, 0);
  waiting = module_load(&plugin, g.device, waiting_text, 0);
  barriers = module_load(&plugin, g.device, barrier_text, 0);
}

static void close_all(void)
{
  plugin.backend->module_unload(g.device, module);
  plugin.backend->module_unload(g.device, waiting);
  plugin.backend->module_unload(g.device, barriers);
  grid_close(&g);
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

/* A launch on buffer a only. */
static vyre_dispatch_desc on_a(vyre_backend_module *from, const char *name, uint32_t groups,
                               uint32_t workgroup, uint64_t flags)
{
  vyre_dispatch_desc desc =
      launch_of(kernel_find(&plugin, from, name), g.bindings, 1, groups, workgroup);
  desc.flags = flags;
  return desc;
}

static vyre_backend_pending *start(const vyre_dispatch_desc *desc)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  vyre_status status = plugin.backend->dispatch(g.device, desc, &pending, &err);
  assert_ok(status, err);
  return pending;
}

static void finish(vyre_backend_pending *pending, vyre_backend_times *times)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = plugin.backend->pending_read(pending, NULL, 0, 0, times, &err);
  assert_ok(status, err);
  plugin.backend->pending_release(pending);
}

static vyre_dispatch_desc fused(vyre_backend_module *from, uint32_t groups, uint32_t workgroup,
                                uint32_t passes)
{
  const uint32_t logical[2] = {COUNT / workgroup, COUNT / workgroup};
  grid_control(&g, passes, 0, logical, 2);
  return grid_launch(&g, kernel_find(&plugin, from, "vyre_fused"), groups, workgroup);
}

static void fill_a(uint32_t value)
{
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t a[COUNT];
  for (uint32_t i = 0; i < COUNT; ++i)
    a[i] = value;
  vyre_status status = plugin.backend->buffer_upload(g.device, g.a, 0, a, sizeof(a), &err);
  assert_ok(status, err);
}

static void expect_a(uint32_t value)
{
  uint32_t a[COUNT];
  grid_get(&g, g.a, a);
  for (uint32_t i = 0; i < COUNT; ++i)
    assert_int_equal(a[i], value);
}

/* -------- how many -------- */

static uint32_t most(vyre_backend_module *from, const char *name, uint32_t x, uint32_t y,
                     uint64_t memory)
{
  vyre_error err = VYRE_ERROR_INIT;
  const uint32_t workgroup[3] = {x, y, 1};
  uint32_t groups = 77;
  vyre_status status = plugin.backend->cooperative_groups(
      g.device, kernel_find(&plugin, from, name), workgroup, memory, &groups, &err);
  assert_ok(status, err);
  return groups;
}

static void how_many_fit(void **state)
{
  (void)state;
  static const uint32_t threads[] = {1, 3, 8, 200};
  for (size_t i = 0; i < 4; ++i) {
    open_all(threads[i]);
    assert_int_equal(most(module, "vyre_fused", 64, 1, 0), threads[i]);
    assert_int_equal(most(module, "more", 1024, 1, 262144), threads[i]);
    assert_int_equal(most(module, "vyre_fused", 1025, 1, 0), 0);
    assert_int_equal(most(module, "vyre_fused", 64, 17, 0), 0);
    assert_int_equal(most(module, "vyre_fused", UINT32_MAX, UINT32_MAX, 0), 0);
    assert_int_equal(most(module, "vyre_fused", 64, 1, 262145), 0);
    /* Items with barriers need a stack each. */
    assert_int_equal(most(barriers, "vyre_fused", 1024, 1, 0), threads[i] < 12 ? threads[i] : 12);
    assert_int_equal(most(barriers, "turn", 64, 1, 0), threads[i] < 192 ? threads[i] : 192);
    close_all();
  }
  open_all(2);
  const uint32_t good[3] = {8, 8, 8}, bad[3] = {8, 0, 8};
  uint32_t groups = 77;
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *b = plugin.backend;
  vyre_backend_kernel *kernel = kernel_find(&plugin, module, "more");
  assert_int_equal(b->cooperative_groups(g.device, kernel, bad, 0, &groups, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_contains(err.message, "dimension 1");
  assert_int_equal(b->cooperative_groups(NULL, kernel, good, 0, &groups, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->cooperative_groups(g.device, NULL, good, 0, &groups, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->cooperative_groups(g.device, kernel, NULL, 0, &groups, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->cooperative_groups(g.device, kernel, good, 0, NULL, NULL),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(groups, 77);
  close_all();
}

static void refused(const vyre_dispatch_desc *desc, vyre_status want, const char *part_1,
                    const char *part_2)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  assert_int_equal(plugin.backend->dispatch(g.device, desc, &pending, &err), want);
  assert_null(pending);
  assert_contains(err.message, part_1);
  assert_contains(err.message, part_2);
  assert_true(err.fix[0] != '\0');
}

static void what_does_not_fit_is_refused(void **state)
{
  (void)state;
  open_all(3);
  fill_a(5);
  vyre_dispatch_desc desc = fused(module, 4, 64, 1);
  refused(&desc, VYRE_ERROR_RESIDENCY_EXCEEDED, "4 groups", "at most 3");
  desc = on_a(module, "more", 4000, 1, VYRE_DISPATCH_COOPERATIVE);
  refused(&desc, VYRE_ERROR_RESIDENCY_EXCEEDED, "4000 groups", "at most 3");
  desc = fused(module, 2, 64, 1);
  desc.flags = 0;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "vyre_fused", "flags 0x0");
  desc.flags = VYRE_DISPATCH_PERSISTENT;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "vyre_fused", "flags 0x1");
  desc.flags |= VYRE_DISPATCH_COOPERATIVE;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "persistent", "cooperative");
  desc.flags = VYRE_DISPATCH_COOPERATIVE;
  desc.groups[0] = 1;
  desc.groups[2] = 2;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "vyre_fused", "1 x 1 x 2");
  expect_a(5);
  desc = fused(module, 3, 64, 2);
  run(&plugin, g.device, &desc, NULL, 0);
  expect_a(23);
  close_all();
}

/* -------- all at once -------- */

static void groups_that_wait_for_each_other(void **state)
{
  (void)state;
  for (uint32_t threads = 1; threads <= 8; ++threads) {
    open_all(threads);
    for (int again = 0; again < 20; ++again) {
      fill_a(0);
      vyre_dispatch_desc desc = on_a(waiting, "meet", threads, 1, VYRE_DISPATCH_COOPERATIVE);
      if (again % 2 && threads % 2 == 0) {
        desc.groups[0] = threads / 2;
        desc.groups[1] = 2;
      }
      run(&plugin, g.device, &desc, NULL, 0);
    }
    close_all();
  }
}

/* In the order of the calls, whatever is in front and behind; everything is queued before any of it
   can start. */
static void between_ordinary_launches(void **state)
{
  enum { ROUNDS = 30 };
  vyre_backend_pending *pending[2 * ROUNDS + 1];
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  for (uint32_t threads = 1; threads <= 4; ++threads) {
    uint32_t want = 3, go = 1, *words = NULL;
    vyre_coherent_memory memory = {.struct_size = sizeof(memory)};
    open_all(threads);
    fill_a(want);
    assert_int_equal(plugin.backend->coherent_alloc(g.device, 4096, &memory, &err), VYRE_OK);
    words = memory.host;
    vyre_binding gate_words = bind_buffer(0, VYRE_READ_WRITE, memory.buffer, 0, 4096, 1024);
    vyre_dispatch_desc gate = on_a(waiting, "gate", threads, 1, VYRE_DISPATCH_COOPERATIVE);
    gate.bindings = &gate_words;
    vyre_dispatch_desc program = fused(module, threads, 64, 2);
    vyre_dispatch_desc plain = on_a(module, "more", COUNT / 16, 16, 0);
    uint32_t count = 0;
    pending[count++] = start(&gate);
    for (uint32_t i = 0; i < ROUNDS; ++i) {
      pending[count++] = start(&program);
      pending[count++] = start(&plain);
      want = want * 4 + 3 + 1;
    }
    assert_int_equal(plugin.backend->pending_wait(pending[count - 1], 0, &err), VYRE_ERROR_TIMEOUT);
    /* Release: pairs with the acquire of the gate's groups. */
    __atomic_store_n(&words[0], go, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < count; ++i)
      finish(pending[i], NULL);
    expect_a(want);
    plugin.backend->buffer_free(g.device, memory.buffer);
    close_all();
  }
}

static void beside_a_persistent_launch(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_coherent_memory memory = {.struct_size = sizeof(memory)};
  (void)state;
  open_all(3);
  assert_int_equal(plugin.backend->coherent_alloc(g.device, 4096, &memory, &err), VYRE_OK);
  uint32_t *words = memory.host, want = 1;
  vyre_binding stay_words = bind_buffer(0, VYRE_READ_WRITE, memory.buffer, 0, 4096, 1024);
  vyre_dispatch_desc stay = on_a(waiting, "gate", 3, 1, VYRE_DISPATCH_PERSISTENT);
  stay.bindings = &stay_words;
  vyre_backend_pending *pending = start(&stay);
  fill_a(want);
  for (uint32_t i = 0; i < 20; ++i) {
    vyre_dispatch_desc program = fused(module, 1 + i % 3, 64, 3);
    run(&plugin, g.device, &program, NULL, 0);
    want = want * 8 + 7;
    expect_a(want);
  }
  assert_int_equal(plugin.backend->pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT);
  /* Release: pairs with the acquire of the groups that stay. */
  __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
  finish(pending, NULL);
  plugin.backend->buffer_free(g.device, memory.buffer);
  close_all();
}

/* A long program of one group is not run by the call that starts it. */
static void a_long_program_does_not_hold_dispatch(void **state)
{
  static const char text_until[] =
      GRID_NAMES "VYRE_SEGMENT(until)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                 "{\n"
                 "  if (vyre_global_id(c, 0) == 0u &&\n"
                 "      !vyre_atomic_or_u32(&a[0], 0u, VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM))\n"
                 "    vyre_changed(c);\n"
                 "}\n"
                 "VYRE_ENTRY_CHANGED(until, (VYRE_PARAM_INOUT(0, a),"
                 " VYRE_PARAM_INOUT(1, vyre_control)), (VYRE_ARG(0, a)), 1);\n"
                 "VYRE_FUSED(vyre_fused, " GRID_PARAMS ")\n"
                 "  VYRE_PASSES(4, 1)\n"
                 "    VYRE_RUN_CHANGED(0, until, (VYRE_ARG(0, a)), 4)\n"
                 "  VYRE_PASSES_END\n"
                 "VYRE_FUSED_END\n";
  vyre_error err = VYRE_ERROR_INIT;
  vyre_coherent_memory memory = {.struct_size = sizeof(memory)};
  (void)state;
  open_all(2);
  vyre_backend_module *until = module_load(&plugin, g.device, text_until, 0);
  assert_int_equal(plugin.backend->coherent_alloc(g.device, 4096, &memory, &err), VYRE_OK);
  uint32_t *words = memory.host;
  const uint32_t logical[1] = {1};
  grid_control(&g, UINT32_MAX, 1, logical, 1);
  vyre_dispatch_desc desc = grid_launch(&g, kernel_find(&plugin, until, "vyre_fused"), 1, 1);
  g.bindings[0] = bind_buffer(0, VYRE_READ_WRITE, memory.buffer, 0, 4096, 1024);
  vyre_backend_pending *pending = start(&desc);
  assert_int_equal(plugin.backend->pending_wait(pending, 1000000, &err), VYRE_ERROR_TIMEOUT);
  /* Release: pairs with the acquire in the kernel. */
  __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
  finish(pending, NULL);
  /* Its thread may have come after the word. */
  assert_true(grid_word(&g, VYRE_CONTROL_PASSES) >= 1);
  plugin.backend->buffer_free(g.device, memory.buffer);
  plugin.backend->module_unload(g.device, until);
  close_all();
}

/* -------- times -------- */

static uint64_t clock_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void launches_have_times(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *b = plugin.backend;
  uint64_t device = 0, host = 0, last = 0, before = clock_now();
  vyre_backend_times times;
  (void)state;
  open_all(2);
  assert_int_equal(b->device_clock(g.device, &device, &host, &err), VYRE_OK);
  assert_in_range(host, before, clock_now());
  assert_in_range(device, before, clock_now());
  assert_int_equal(b->device_clock(NULL, &device, &host, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->device_clock(g.device, NULL, &host, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->device_clock(g.device, &device, NULL, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  last = device;
  for (uint32_t i = 0; i < 30; ++i) {
    vyre_dispatch_desc desc = i % 3 == 0   ? on_a(module, "more", COUNT, 1, 0)
                              : i % 3 == 1 ? on_a(module, "more", 1, 1, 0)
                                           : fused(module, 1 + i % 2, 64, 3);
    vyre_backend_pending *pending = start(&desc);
    memset(&times, 0x77, sizeof(times));
    times.struct_size = sizeof(times);
    finish(pending, &times);
    assert_int_equal(times.struct_size, sizeof(times));
    assert_true(times.started_ns >= last && times.started_ns <= times.ended_ns);
    assert_int_equal(times.device_ns, times.ended_ns - times.started_ns);
    last = times.ended_ns;
    assert_int_equal(b->device_clock(g.device, &device, &host, &err), VYRE_OK);
    assert_true(device >= last);
  }
  close_all();
}

/* ABI-002: as far as the caller's structure reaches. */
static void times_of_other_sizes(void **state)
{
  static const uint32_t sizes[] = {VYRE_BACKEND_TIMES_SIZE_0_1, VYRE_BACKEND_TIMES_SIZE_0_1 + 8,
                                   sizeof(vyre_backend_times), sizeof(vyre_backend_times) + 40};
  (void)state;
  open_all(1);
  vyre_dispatch_desc desc = on_a(module, "more", 1, 1, 0);
  for (size_t i = 0; i < 4; ++i) {
    unsigned char bytes[sizeof(vyre_backend_times) + 40];
    vyre_backend_times times;
    memset(bytes, 0x77, sizeof(bytes));
    memcpy(bytes, &sizes[i], sizeof(sizes[i]));
    vyre_backend_pending *pending = start(&desc);
    finish(pending, (vyre_backend_times *)(void *)bytes);
    memcpy(&times, bytes, sizeof(times));
    assert_int_equal(times.struct_size, sizes[i] < sizeof(times) ? sizes[i] : sizeof(times));
    assert_true(times.device_ns < UINT64_C(60000000000));
    assert_int_equal(times.started_ns == 0x7777777777777777, i == 0);
    assert_int_equal(times.ended_ns == 0x7777777777777777, i < 2);
    assert_int_equal(bytes[sizeof(times)], 0x77);
  }
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_times small = {.struct_size = VYRE_BACKEND_TIMES_SIZE_0_1 - 1};
  vyre_backend_pending *pending = start(&desc);
  assert_int_equal(plugin.backend->pending_read(pending, NULL, 0, 0, &small, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  plugin.backend->pending_release(pending);
  close_all();
}

/* -------- without threads, without memory -------- */

static void too_few_threads(void **state)
{
  (void)state;
  for (uint32_t have = 0; have < 4; ++have) {
    open_all(4);
    fill_a(1);
    vyre_dispatch_desc desc = fused(module, 4, 64, 1);
    threads_left = have;
    refused(&desc, VYRE_ERROR_RESIDENCY_EXCEEDED, "4 groups", "threads could be started");
    expect_a(1);
    if (have) {
      /* As many as there are can do it; fewer do an ordinary one. */
      vyre_dispatch_desc less = fused(module, have, 64, 1);
      run(&plugin, g.device, &less, NULL, 0);
      expect_a(3);
      vyre_dispatch_desc plain = on_a(module, "more", COUNT, 1, 0);
      run(&plugin, g.device, &plain, NULL, 0);
      expect_a(4);
    }
    threads_left = UINT32_MAX;
    desc = fused(module, 4, 64, 2);
    run(&plugin, g.device, &desc, NULL, 0);
    expect_a(have ? 19 : 7);
    close_all();
  }
}

/* One cooperative program with barriers from opening to closing; what was made is undone. */
static vyre_status with_barriers(vyre_backend_device *device, vyre_error *err)
{
  const vyre_backend *b = plugin.backend;
  vyre_backend_module *code = NULL;
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = module_try(&plugin, device, barrier_text, 0, &code, err);
  if (status == VYRE_OK)
    status = b->kernel_find(code, "vyre_fused", &kernel, NULL, err);
  if (status == VYRE_OK) {
    vyre_dispatch_desc desc = grid_launch(&g, kernel, 3, 8);
    status = run_try(&plugin, device, &desc, NULL, 0, err);
  }
  b->module_unload(device, code);
  return status;
}

static void every_allocation_can_fail(void **state)
{
  const uint32_t logical[1] = {COUNT / 8};
  uint64_t failures = 0, count = 1;
  (void)state;
  for (uint64_t n = 0; n <= count; ++n) {
    vyre_error err = VYRE_ERROR_INIT;
    open_all(3); /* fresh threads: no stacks yet */
    grid_control(&g, 5, 0, logical, 1);
    host_fail(n);
    vyre_status status = with_barriers(g.device, &err);
    if (!n) {
      assert_ok(status, err);
      count = host_count() + 5; /* which threads need what is not the same each time */
    }
    host_fail(0);
    if (status != VYRE_OK) {
      failures += 1;
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_true(err.message[0] && err.fix[0]);
      grid_control(&g, 5, 0, logical, 1);
      status = with_barriers(g.device, &err);
      assert_ok(status, err);
    }
    close_all();
  }
  assert_true(failures * 2 > count);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(how_many_fit),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(groups_that_wait_for_each_other),
      cmocka_unit_test(between_ordinary_launches),
      cmocka_unit_test(beside_a_persistent_launch),
      cmocka_unit_test(a_long_program_does_not_hold_dispatch),
      cmocka_unit_test(launches_have_times),
      cmocka_unit_test(times_of_other_sizes),
      cmocka_unit_test(too_few_threads),
      cmocka_unit_test(every_allocation_can_fail),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
