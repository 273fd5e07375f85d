/*
 * test_persistent.c - launches that stay: beside ordinary ones, polled, stopped, launched again;
 * waking the host; and ordinary launches that wait for the host.
 */
#include "support.h"

#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* words: 0 stop, 1 groups that have come, 2 request, 3 answer, 4 groups that have left */
static const char kernels[] =
    "#define VYRE_BUFFER_words 0\n"
    "#define VYRE_BUFFER_b 1\n"
    "VYRE_SEGMENT(stay)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words)\n"
    "{\n"
    "  vyre_u32 misses = 0, seen = 0;\n"
    "  vyre_atomic_add_u32(&words[1], 1u, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);\n"
    "  while (!vyre_atomic_load_u32(&words[0], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM)) {\n"
    "    vyre_u32 now = vyre_atomic_load_u32(&words[2], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM);\n"
    "    if (vyre_group_id(c, 0) == 0u && now != seen) {\n"
    "      seen = now;\n"
    "      misses = 0;\n"
    "      vyre_atomic_store_u32(&words[3], now * 2u, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);\n"
    "      vyre_notify_host(c, &words[3]);\n"
    "    }\n"
    "    vyre_backoff(c, misses++);\n"
    "  }\n"
    "  vyre_atomic_add_u32(&words[4], 1u, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);\n"
    "}\n"
    "VYRE_SEGMENT(gate)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words)\n"
    "{\n"
    "  vyre_u32 misses = 0;\n"
    "  vyre_u64 begin = vyre_clock_ns(c);\n"
    "  while (!vyre_atomic_load_u32(&words[0], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM))\n"
    "    vyre_backoff(c, misses++);\n"
    "  if (vyre_clock_ns(c) >= begin) words[5] = 1u;\n"
    "}\n"
    "VYRE_SEGMENT(plain)(vyre_ctx *c, VYRE_INOUT(vyre_u32) b)\n"
    "{\n"
    "  b[vyre_global_id(c, 0)] += 1u;\n"
    "}\n"
    "VYRE_SEGMENT(wild)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words)\n"
    "{\n"
    "  vyre_at(c, words, vyre_group_id(c, 0) == 2u ? 5000u : vyre_group_id(c, 0)) = 1u;\n"
    "}\n"
    "VYRE_ENTRY(stay, (VYRE_PARAM_INOUT(0, words)), (VYRE_ARG(0, words)));\n"
    "VYRE_ENTRY(gate, (VYRE_PARAM_INOUT(0, words)), (VYRE_ARG(0, words)));\n"
    "VYRE_ENTRY(plain, (VYRE_PARAM_INOUT(0, b)), (VYRE_ARG(0, b)));\n"
    "VYRE_ENTRY(wild, (VYRE_PARAM_INOUT(0, words)), (VYRE_ARG(0, words)));\n";

#define WORDS 1024u

static cpu_plugin plugin;
static vyre_backend_device *device;
static vyre_backend_module *module, *debug;
static vyre_coherent_memory memory;
static uint32_t *words;

static int set_up(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  plugin_load(&plugin);
  device = device_open(&plugin);
  module = module_load(&plugin, device, kernels, 0);
  debug = module_load(&plugin, device, kernels, VYRE_MODULE_DEBUG);
  memory = (vyre_coherent_memory){.struct_size = sizeof(memory)};
  vyre_status status = plugin.backend->coherent_alloc(device, WORDS * 4, &memory, &err);
  assert_ok(status, err);
  words = memory.host;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin.backend->buffer_free(device, memory.buffer);
  plugin.backend->module_unload(device, debug);
  plugin.backend->module_unload(device, module);
  plugin.backend->device_close(device);
  plugin_unload(&plugin);
  return 0;
}

static uint32_t load(uint32_t index)
{
  /* Acquire: pairs with the kernel's release stores. */
  return __atomic_load_n(&words[index], __ATOMIC_ACQUIRE);
}

static void store(uint32_t index, uint32_t value)
{
  /* Release: pairs with the kernel's acquire loads. */
  __atomic_store_n(&words[index], value, __ATOMIC_RELEASE);
}

static vyre_backend_pending *start(vyre_backend_module *from, const char *name, uint32_t groups,
                                   uint64_t flags)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  memset(words, 0, WORDS * 4);
  vyre_binding binding = bind_buffer(0, VYRE_READ_WRITE, memory.buffer, 0, WORDS * 4, WORDS);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, from, name), &binding, 1, groups, 1);
  desc.flags = flags;
  vyre_status status = plugin.backend->dispatch(device, &desc, &pending, &err);
  assert_ok(status, err);
  return pending;
}

static void run_plain(void)
{
  enum { COUNT = 6000 };
  static uint32_t b[COUNT], out[COUNT];
  vyre_binding binding = bind_host(1, VYRE_READ_WRITE, b, sizeof(b), COUNT);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "plain"), &binding, 1, 60, 100);
  vyre_slot slot = slot_of(out, sizeof(out));
  run(&plugin, device, &desc, &slot, 1);
  for (int i = 0; i < COUNT; ++i)
    assert_int_equal(out[i], 1);
}

/* Sleeps on the answer word until the kernel wakes it; the time limit is the test's own. */
static void sleep_until_answer(uint32_t want)
{
  uint32_t seen;
  while ((seen = load(3)) != want)
    syscall(SYS_futex, &words[3], FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void beside_ordinary_launches(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  /* More groups than cores: every one makes progress. */
  for (uint32_t round = 0, groups = 1; round < 4; ++round, groups = groups * 2 + 1) {
    vyre_backend_pending *pending = start(module, "stay", groups, VYRE_DISPATCH_PERSISTENT);
    while (load(1) != groups)
      sched_yield();
    assert_int_equal(plugin.backend->pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT);
    assert_contains(err.message, "stay");
    for (uint32_t i = 1; i < 20; ++i) {
      store(2, i);
      sleep_until_answer(2 * i);
      run_plain();
    }
    assert_int_equal(plugin.backend->pending_wait(pending, 1000, &err), VYRE_ERROR_TIMEOUT);
    store(0, 1);
    vyre_status status = plugin.backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err);
    assert_ok(status, err);
    assert_int_equal(load(4), groups);
    assert_int_equal(plugin.backend->pending_wait(pending, 0, &err), VYRE_OK);
    plugin.backend->pending_release(pending);
  }
}

static void relaunch_reuses_threads(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  vyre_backend_pending *pending = start(module, "stay", 3, VYRE_DISPATCH_PERSISTENT);
  store(0, 1);
  assert_int_equal(plugin.backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_OK);
  plugin.backend->pending_release(pending);
  uint64_t live = host_live();
  for (int i = 0; i < 200; ++i) {
    pending = start(module, "stay", 3, VYRE_DISPATCH_PERSISTENT);
    store(0, 1);
    assert_int_equal(plugin.backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_OK);
    plugin.backend->pending_release(pending);
  }
  assert_int_equal(host_live(), live);
}

static void several_at_once(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending[3];
  (void)state;
  for (int i = 0; i < 3; ++i)
    pending[i] = start(module, "stay", 2, VYRE_DISPATCH_PERSISTENT);
  run_plain();
  store(0, 1);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(plugin.backend->pending_wait(pending[i], VYRE_NO_TIMEOUT, &err), VYRE_OK);
    plugin.backend->pending_release(pending[i]);
  }
}

static void a_fault_ends_one_group(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  vyre_backend_pending *pending = start(debug, "wild", 4, VYRE_DISPATCH_PERSISTENT);
  assert_int_equal(plugin.backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err),
                   VYRE_ERROR_DISPATCH_FAILED);
  assert_contains(err.message, "index 5000 is outside buffer words of 1024 elements");
  vyre_error again = VYRE_ERROR_INIT;
  assert_int_equal(plugin.backend->pending_wait(pending, 0, &again), VYRE_ERROR_DISPATCH_FAILED);
  assert_string_equal(again.message, err.message);
  plugin.backend->pending_release(pending);
}

/* An ordinary launch that waits for the host never runs in the caller, however small it is. */
static void waiting_launches_do_not_block_dispatch(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  vyre_backend_pending *pending = start(module, "gate", 1, 0);
  assert_int_equal(plugin.backend->pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT);
  assert_int_equal(plugin.backend->pending_wait(pending, 2000000, &err), VYRE_ERROR_TIMEOUT);
  store(0, 1);
  assert_int_equal(plugin.backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_OK);
  assert_int_equal(load(5), 1);
  plugin.backend->pending_release(pending);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(beside_ordinary_launches),
      cmocka_unit_test(relaunch_reuses_threads),
      cmocka_unit_test(several_at_once),
      cmocka_unit_test(a_fault_ends_one_group),
      cmocka_unit_test(waiting_launches_do_not_block_dispatch),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
