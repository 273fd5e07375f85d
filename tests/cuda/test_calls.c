/*
 * The life of each tier on the test driver: which calls are made, in which order, with what; that
 * bytes come back right; and that nothing which a driver forbids is done (the driver itself watches
 * for that: assert_clean()).
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define WORDS 1000u

static vyre_backend_device *device;
static vyre_backend_module *module;

static int set_up(void **state)
{
  (void)state;
  driver->reset();
  device = open_device(0);
  module = load_module(device, ptx_of(6, "copy", 2, "add", 3, "double", 1, "resident", 1, "fill", 1,
                                      "vyre_fused", 1));
  return 0;
}

/* Calls return before their work has run, as a real driver's do. */
static int set_up_deferred(void **state)
{
  const int result = set_up(state);
  driver->set_deferred(true);
  return result;
}

static int tear_down(void **state)
{
  (void)state;
  driver->hold(false);
  backend->module_unload(device, module);
  backend->device_close(device);
  assert_clean();
  return 0;
}

/* Index of the first recorded line from `from` on that begins with this, UINT64_MAX if none. */
static uint64_t find_line(const char *beginning, uint64_t from)
{
  for (uint64_t i = from; driver->line(i); ++i)
    if (!strncmp(driver->line(i), beginning, strlen(beginning)))
      return i;
  return UINT64_MAX;
}

static uint64_t lines(void)
{
  return driver->calls(NULL);
}

/* -------- tier 1 -------- */

static void host_bytes(void **state)
{
  uint32_t a[WORDS], b[WORDS], sum[WORDS];
  (void)state;
  for (uint32_t i = 0; i < WORDS; ++i) {
    a[i] = i * 3;
    b[i] = 7 * i + 1;
  }
  vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, a, WORDS),
                             bind_host(1, VYRE_READ_ONLY, b, WORDS),
                             bind_host(2, VYRE_WRITE_ONLY, NULL, WORDS)};
  vyre_backend_kernel *kernel = find_kernel(module, "add");
  const vyre_dispatch_desc desc = launch_of(kernel, bindings, 3);
  for (uint32_t turn = 0; turn < 3; ++turn) {
    const uint64_t from = lines();
    memset(sum, 0xee, sizeof sum);
    vyre_slot slot = slot_of(sum, sizeof sum);
    OK(run_try(device, &desc, &slot, 1, &fresh));
    assert_int_equal(slot.size, sizeof sum);
    assert_int_equal(slot.binding_id, 2);
    for (uint32_t i = 0; i < WORDS; ++i)
      assert_int_equal(sum[i], a[i] + b[i]);
    /* In, launch, out; and no memory that waits for the device once it is warm. */
    const uint64_t in = find_line("cuMemcpyHtoDAsync", from);
    const uint64_t launched = find_line("cuLaunchKernel 2,1,1 64,1,1 0", from);
    assert_true(in < launched);
    assert_true(launched < find_line("cuMemcpyDtoHAsync", from));
    assert_int_equal(find_line("cuMemAlloc 4", from), UINT64_MAX);
    assert_int_equal(find_line("cuMemHostAlloc", from), UINT64_MAX);
  }
  const fake_launch_record *record = driver->launch(0);
  assert_string_equal(record->name, "add");
  assert_int_equal(record->parameters, 3);
  assert_false(record->cooperative);
}

static void the_context_is_put_back(void **state)
{
  (void)state;
  /* Every call of ours leaves the thread's stack as it found it, and pushes what it pops. */
  assert_int_equal(driver->calls("cuCtxPushCurrent"), driver->calls("cuCtxPopCurrent"));
  assert_true(driver->calls("cuCtxPushCurrent") > 0);
  assert_int_equal(driver->depth(), 0);
}

static void bytes_are_borrowed(void **state)
{
  uint32_t values[WORDS];
  vyre_backend_pending *pending = NULL;
  (void)state;
  for (uint32_t i = 0; i < WORDS; ++i)
    values[i] = i;
  vyre_binding binding = bind_host(0, VYRE_READ_WRITE, values, WORDS);
  const vyre_dispatch_desc desc = launch_of(find_kernel(module, "double"), &binding, 1);
  OK(backend->dispatch(device, &desc, &pending, &fresh));
  OK(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &fresh));
  backend->pending_release(pending);
  for (uint32_t i = 0; i < WORDS; ++i)
    assert_int_equal(values[i], i); /* DISP-003 */
}

static void work_that_has_not_run(void **state)
{
  uint32_t values[4] = {1, 2, 3, 4}, out[4] = {0};
  vyre_backend_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  vyre_binding binding = bind_host(0, VYRE_READ_WRITE, values, 4);
  const vyre_dispatch_desc desc = launch_of(find_kernel(module, "double"), &binding, 1);
  driver->hold(true);
  OK(backend->dispatch(device, &desc, &pending, &fresh));
  assert_int_equal(backend->pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT);
  assert_int_equal(backend->pending_wait(pending, 1000000, &err), VYRE_ERROR_TIMEOUT);
  driver->hold(false);
  OK(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &fresh));
  vyre_slot slot = slot_of(out, sizeof out);
  OK(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &fresh));
  backend->pending_release(pending);
  for (uint32_t i = 0; i < 4; ++i)
    assert_int_equal(out[i], values[i] * 2);
}

/* -------- tier 2 -------- */

static void resident_buffers(void **state)
{
  uint32_t values[WORDS], out[WORDS];
  (void)state;
  for (uint32_t i = 0; i < WORDS; ++i)
    values[i] = i ^ 0x55;
  vyre_backend_buffer *from = make_buffer(device, sizeof values),
                      *to = make_buffer(device, sizeof values);
  OK(backend->buffer_download(device, from, 0, out, sizeof out, &fresh));
  for (uint32_t i = 0; i < WORDS; ++i)
    assert_int_equal(out[i], 0); /* BUF-003 */
  OK(backend->buffer_upload(device, from, 0, values, sizeof values, &fresh));
  vyre_binding bindings[] = {bind_buffer(0, VYRE_READ_ONLY, from, WORDS),
                             bind_buffer(1, VYRE_WRITE_ONLY, to, WORDS)};
  const vyre_dispatch_desc desc = launch_of(find_kernel(module, "copy"), bindings, 2);
  const uint64_t copies = driver->calls("cuMemcpyHtoDAsync") + driver->calls("cuMemcpyDtoHAsync");
  OK(run_try(device, &desc, NULL, 0, &fresh));
  assert_int_equal(driver->calls("cuMemcpyHtoDAsync") + driver->calls("cuMemcpyDtoHAsync"), copies);
  OK(backend->buffer_download(device, to, 0, out, sizeof out, &fresh));
  assert_memory_equal(out, values, sizeof out);
  OK(backend->buffer_fill(device, to, 1, 2, 0xab, &fresh));
  OK(backend->buffer_copy(device, from, 0, to, 0, 8, &fresh));
  OK(backend->buffer_download(device, from, 0, out, 8, &fresh));
  assert_int_equal(out[0], (values[0] & 0xff0000ffu) | 0xabab00u);
  backend->buffer_free(device, from);
  backend->buffer_free(device, to);
}

static void native_memory(void **state)
{
  uint32_t value = 41;
  vyre_native_memory native = {.struct_size = sizeof native};
  vyre_backend_buffer *own = make_buffer(device, 64), *other = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  OK(backend->buffer_export(device, own, &native, &fresh));
  assert_int_equal(native.type, VYRE_NATIVE_DEVICE_POINTER);
  assert_int_equal(native.size, 64);
  OK(backend->buffer_import(device, &native, &other, &fresh));
  OK(backend->buffer_upload(device, other, 4, &value, 4, &fresh));
  value = 0;
  OK(backend->buffer_download(device, own, 4, &value, 4, &fresh));
  assert_int_equal(value, 41);
  const uint64_t live = driver->live("memory");
  backend->buffer_free(device, other);
  assert_int_equal(driver->live("memory"), live);
  native.handle = 0x1234;
  other = NULL;
  assert_int_equal(backend->buffer_import(device, &native, &other, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(other);
  backend->buffer_free(device, own);
}

/* -------- tier 3 -------- */

static void cooperative_launches(void **state)
{
  const uint32_t workgroup[3] = {256, 1, 1};
  uint32_t groups = 0;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  vyre_backend_kernel *kernel = find_kernel(module, "vyre_fused");
  OK(backend->cooperative_groups(device, kernel, workgroup, 0, &groups, &fresh));
  assert_true(groups >= 132 && groups <= 132 * 8);
  vyre_backend_buffer *buffer = make_buffer(device, 256);
  vyre_binding binding = bind_buffer(0, VYRE_READ_WRITE, buffer, 64);
  vyre_dispatch_desc desc = launch_of(kernel, &binding, 1);
  desc.flags = VYRE_DISPATCH_COOPERATIVE;
  desc.workgroup[0] = 256;
  desc.groups[0] = groups;
  OK(run_try(device, &desc, NULL, 0, &fresh));
  assert_int_equal(driver->calls("cuLaunchCooperativeKernel"), 1);
  assert_int_equal(driver->calls("cuLaunchKernel"), 0);
  assert_true(driver->launch(0)->cooperative);
  desc.groups[0] = groups * 16;
  assert_int_equal(run_try(device, &desc, NULL, 0, &err), VYRE_ERROR_RESIDENCY_EXCEEDED);
  assert_int_equal(driver->calls("cuLaunchCooperativeKernel"), 1); /* refused before */
  backend->buffer_free(device, buffer);
}

/* -------- tier 4 -------- */

/* Every function of the module was touched, and all that is needed was made, before it began. */
static void persistent_launches(void **state)
{
  uint32_t values[16], out[16] = {0};
  vyre_backend_pending *resident = NULL;
  vyre_coherent_memory shared = {.struct_size = sizeof shared};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  OK(backend->coherent_alloc(device, 4096, &shared, &fresh));
  assert_int_equal((uintptr_t)shared.host % 4096, 0);
  assert_true(shared.device_address != (uintptr_t)shared.host); /* on this driver */
  vyre_backend_kernel *adder = find_kernel(module, "double");
  vyre_backend_buffer *buffer = make_buffer(device, sizeof values);
  vyre_binding words = bind_buffer(0, VYRE_READ_WRITE, shared.buffer, 16);
  vyre_dispatch_desc desc = launch_of(find_kernel(module, "resident"), &words, 1);
  desc.flags = VYRE_DISPATCH_PERSISTENT;
  OK(backend->dispatch(device, &desc, &resident, &fresh));
  while (!driver->resident())
    sched_yield();
  /* Beside it: host bytes, a resident buffer, copies, fills, a poll. */
  for (uint32_t turn = 0; turn < 20; ++turn) {
    for (uint32_t i = 0; i < 16; ++i)
      values[i] = turn + i;
    vyre_binding binding = bind_host(0, VYRE_READ_WRITE, values, 16);
    vyre_dispatch_desc ordinary = launch_of(adder, &binding, 1);
    vyre_slot slot = slot_of(out, sizeof out);
    OK(run_try(device, &ordinary, &slot, 1, &fresh));
    assert_int_equal(out[15], 2 * (turn + 15));
    OK(backend->buffer_upload(device, buffer, 0, values, sizeof values, &fresh));
    OK(backend->buffer_fill(device, buffer, 0, 4, 0, &fresh));
    OK(backend->buffer_download(device, buffer, 0, out, sizeof out, &fresh));
    assert_int_equal(out[0], 0);
    assert_int_equal(out[15], turn + 15);
  }
  assert_int_equal(backend->pending_wait(resident, 0, &err), VYRE_ERROR_TIMEOUT);
  assert_int_equal(driver->resident(), 1);
  /* The streams differ, so that nothing stands behind the resident kernel. */
  assert_string_equal(driver->launch(0)->name, "resident");
  assert_true(driver->launch(0)->stream != driver->launch(1)->stream);
  /* Release: pairs with the acquire of the kernel's poll. */
  __atomic_store_n((uint32_t *)shared.host, 5, __ATOMIC_RELEASE);
  OK(backend->pending_wait(resident, VYRE_NO_TIMEOUT, &fresh));
  /* Acquire: pairs with the kernel's release of its answer. */
  assert_int_equal(__atomic_load_n((uint32_t *)shared.host + 1, __ATOMIC_ACQUIRE), 6);
  backend->pending_release(resident);
  backend->buffer_free(device, buffer);
  backend->buffer_free(device, shared.buffer);
}

/* -------- how a device is opened -------- */

static void what_open_does(void **state)
{
  vyre_backend_device *second = NULL;
  (void)state;
#ifdef VYRE_TEST_HIP
  skip(); /* HIP has no contexts to count */
#endif
  const uint64_t from = lines();
  OK(open_try(1, &second, &fresh));
  assert_int_equal(driver->live("context"), 2);
  assert_true(find_line("cuDevicePrimaryCtxRetain 1", from) != UINT64_MAX);
  /* The pool keeps its memory, and orders nothing behind other streams. */
  assert_true(find_line("cuMemPoolCreate 1", from) != UINT64_MAX);
  assert_true(find_line("cuMemPoolSetAttribute 4 -1", from) != UINT64_MAX);
  assert_true(find_line("cuMemPoolSetAttribute 3 0", from) != UINT64_MAX);
  backend->device_close(second);
  assert_int_equal(driver->live("context"), 1);
  /* Twice the same one: two handles, each with its own count. */
  OK(open_try(0, &second, &fresh));
  assert_int_equal(driver->live("context"), 2);
  assert_int_equal(driver->live("pool"), 1);
  backend->device_close(second);
  assert_int_equal(driver->live("context"), 1);
  assert_int_equal(driver->live("pool"), 1);
}

int main(void)
{
#define LIFE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define LATE(name) cmocka_unit_test_setup_teardown(name, set_up_deferred, tear_down)
  const struct CMUnitTest tests[] = {
      LIFE(host_bytes),           LIFE(the_context_is_put_back),
      LIFE(bytes_are_borrowed),   LIFE(work_that_has_not_run),
      LIFE(resident_buffers),     LIFE(native_memory),
      LIFE(cooperative_launches), LIFE(persistent_launches),
      LIFE(what_open_does),       LATE(host_bytes),
      LATE(bytes_are_borrowed),   LATE(resident_buffers),
      LATE(native_memory),        LATE(cooperative_launches),
      LATE(persistent_launches),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
