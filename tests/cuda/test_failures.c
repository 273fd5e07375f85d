/*
 * Every call of the driver fails once, for every call of a run that touches every slot of the
 * table: with an ordinary code and with one that kills the context.  Each time the slot that made
 * the call says so, with the driver's number; outputs are as they were; afterwards nothing is left,
 * neither in the driver nor of the host; and where the context is dead, the device says that it is
 * lost until it is opened again.
 */
#include "support.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define WORDS 64u

/* What the run has made so far: given back at its end, however far it came. */
typedef struct scene {
  vyre_backend_device *device;
  vyre_backend_module *module;
  vyre_backend_buffer *buffers[4];
  vyre_backend_pending *pending, *resident;
  vyre_backend_sequence *sequence;
  vyre_coherent_memory shared;
  uint32_t buffer_count;
  uint32_t values[WORDS], out[WORDS];
} scene;

/* A step of the run; the first that fails ends it. */
typedef vyre_status (*step)(scene *of, vyre_error *err);

/* A failure that is nobody's to tell: in a slot that returns nothing, or mended. */
static bool unheard;

static vyre_status count_devices(scene *of, vyre_error *err)
{
  uint32_t count = 9;
  (void)of;
  const vyre_status status = backend->device_count(&count, err);
  assert_int_equal(count, status == VYRE_OK ? 2 : 9);
  return status;
}

static vyre_status look_at_device(scene *of, vyre_error *err)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  (void)of;
  return backend->device_info(0, &info, err);
}

static vyre_status open_it(scene *of, vyre_error *err)
{
  const vyre_status status = open_try(0, &of->device, err);
  assert_true((status == VYRE_OK) == (of->device != NULL));
  /* A context that is found dead is reset, and tried once more. */
  unheard = status == VYRE_OK && driver->calls("cuDevicePrimaryCtxReset") > 0;
  return status;
}

static vyre_status load_it(scene *of, vyre_error *err)
{
  const vyre_status status = load_try(
      of->device, ptx_of(5, "copy", 2, "add", 3, "double", 1, "resident", 1, "vyre_fused", 1),
      &of->module, err);
  assert_true((status == VYRE_OK) == (of->module != NULL));
  return status;
}

static vyre_status find_it(scene *of, const char *name, vyre_backend_kernel **out, vyre_error *err)
{
  *out = NULL;
  const vyre_status status = backend->kernel_find(of->module, name, out, NULL, err);
  assert_true((status == VYRE_OK) == (*out != NULL));
  return status;
}

static vyre_status make_buffers(scene *of, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; status == VYRE_OK && i < 2; ++i) {
    status =
        backend->buffer_alloc(of->device, sizeof of->values, &of->buffers[of->buffer_count], err);
    of->buffer_count += status == VYRE_OK;
  }
  return status;
}

static vyre_status share_memory(scene *of, vyre_error *err)
{
  of->shared.struct_size = sizeof of->shared;
  const vyre_status status = backend->coherent_alloc(of->device, 4096, &of->shared, err);
  assert_true((status == VYRE_OK) == (of->shared.buffer != NULL));
  return status;
}

static vyre_status move_bytes(scene *of, vyre_error *err)
{
  const vyre_backend *b = backend;
  vyre_status status =
      b->buffer_upload(of->device, of->buffers[0], 0, of->values, sizeof of->values, err);
  if (status == VYRE_OK)
    status = b->buffer_fill(of->device, of->buffers[1], 0, 16, 1, err);
  if (status == VYRE_OK)
    status = b->buffer_copy(of->device, of->buffers[1], 16, of->buffers[0], 0, 16, err);
  if (status == VYRE_OK)
    status = b->buffer_download(of->device, of->buffers[1], 0, of->out, 16, err);
  return status;
}

static vyre_status lend_memory(scene *of, vyre_error *err)
{
  vyre_native_memory native = {.struct_size = sizeof native};
  vyre_status status = backend->buffer_export(of->device, of->buffers[0], &native, err);
  if (status == VYRE_OK)
    status = backend->buffer_import(of->device, &native, &of->buffers[of->buffer_count], err);
  of->buffer_count += status == VYRE_OK;
  return status;
}

static vyre_status read_clock(scene *of, vyre_error *err)
{
  uint64_t device_ns = 1, host_ns = 2;
  const vyre_status status = backend->device_clock(of->device, &device_ns, &host_ns, err);
  if (status != VYRE_OK)
    assert_true(device_ns == 1 && host_ns == 2);
  return status;
}

static void release(vyre_backend_pending **pending)
{
  const bool before = driver->failed();
  backend->pending_release(*pending);
  unheard |= driver->failed() && !before;
  *pending = NULL;
}

/* Waits for `of->pending`, reads into `slots` and releases. */
static vyre_status finish(scene *of, vyre_slot *slots, uint32_t count, vyre_error *err)
{
  vyre_backend_times times = {.struct_size = sizeof times};
  vyre_status status = backend->pending_wait(of->pending, VYRE_NO_TIMEOUT, err);
  if (status == VYRE_OK)
    status = backend->pending_read(of->pending, slots, count, sizeof *slots, &times, err);
  if (status == VYRE_OK)
    release(&of->pending);
  return status;
}

static vyre_status dispatch_add(scene *of, bool is_timed, vyre_error *err)
{
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = find_it(of, "add", &kernel, err);
  vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, of->values, WORDS),
                             bind_buffer(1, VYRE_READ_ONLY, of->buffers[0], WORDS),
                             bind_host(2, VYRE_WRITE_ONLY, NULL, WORDS)};
  if (status != VYRE_OK)
    return status;
  vyre_dispatch_desc desc = launch_of(kernel, bindings, 3);
  desc.untimed = !is_timed;
  memset(of->out, 0x77, sizeof of->out);
  status = backend->dispatch(of->device, &desc, &of->pending, err);
  assert_true((status == VYRE_OK) == (of->pending != NULL));
  vyre_slot slot = slot_of(of->out, sizeof of->out);
  if (status == VYRE_OK)
    status = finish(of, &slot, 1, err);
  for (uint32_t i = 0; status == VYRE_OK && i < WORDS; ++i)
    assert_int_equal(of->out[i], 2 * of->values[i]);
  return status;
}

static vyre_status dispatch_bytes(scene *of, vyre_error *err)
{
  return dispatch_add(of, true, err);
}

static vyre_status dispatch_untimed(scene *of, vyre_error *err)
{
  return dispatch_add(of, false, err);
}

static vyre_status dispatch_together(scene *of, vyre_error *err)
{
  const uint32_t workgroup[3] = {64, 1, 1};
  uint32_t groups = 0;
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = find_it(of, "vyre_fused", &kernel, err);
  if (status == VYRE_OK)
    status = backend->cooperative_groups(of->device, kernel, workgroup, 0, &groups, err);
  if (status != VYRE_OK)
    return status;
  vyre_binding binding = bind_buffer(0, VYRE_READ_WRITE, of->buffers[0], WORDS);
  vyre_dispatch_desc desc = launch_of(kernel, &binding, 1);
  desc.flags = VYRE_DISPATCH_COOPERATIVE;
  status = backend->dispatch(of->device, &desc, &of->pending, err);
  return status == VYRE_OK ? finish(of, NULL, 0, err) : status;
}

/* Steps and replays for a graph of one replay and one of many. */
static vyre_status record_steps(scene *of, vyre_error *err)
{
  enum { STEPS = 8 };
  static vyre_dispatch_desc sums[STEPS];
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = find_it(of, "double", &kernel, err);
  if (status != VYRE_OK)
    return status;
  vyre_binding binding = bind_buffer(0, VYRE_READ_WRITE, of->buffers[1], WORDS);
  for (uint32_t i = 0; i < STEPS; ++i)
    sums[i] = launch_of(kernel, &binding, 1);
  const vyre_sequence_desc desc = {.struct_size = sizeof desc,
                                   .step_count = STEPS,
                                   .steps = sums,
                                   .step_stride = sizeof sums[0]};
  status = backend->sequence_create(of->device, &desc, &of->sequence, err);
  assert_true((status == VYRE_OK) == (of->sequence != NULL));
  if (status != VYRE_OK)
    return status;
  status = backend->sequence_start(of->device, of->sequence, 17, &of->pending, err);
  assert_true((status == VYRE_OK) == (of->pending != NULL));
  return status == VYRE_OK ? finish(of, NULL, 0, err) : status;
}

static void end_resident(scene *of)
{
  if (of->shared.host) /* Release: pairs with the acquire of the kernel's poll. */
    __atomic_store_n((uint32_t *)of->shared.host, 5, __ATOMIC_RELEASE);
}

static vyre_status stay_resident(scene *of, vyre_error *err)
{
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = find_it(of, "resident", &kernel, err);
  if (status != VYRE_OK)
    return status;
  vyre_binding binding = bind_buffer(0, VYRE_READ_WRITE, of->shared.buffer, 16);
  vyre_dispatch_desc desc = launch_of(kernel, &binding, 1);
  desc.flags = VYRE_DISPATCH_PERSISTENT;
  status = backend->dispatch(of->device, &desc, &of->resident, err);
  if (status == VYRE_OK)
    status = dispatch_bytes(of, err);
  end_resident(of);
  if (status == VYRE_OK)
    status = backend->pending_wait(of->resident, VYRE_NO_TIMEOUT, err);
  return status;
}

static const step steps[] = {count_devices, look_at_device,   open_it,        load_it,
                             make_buffers,  share_memory,     move_bytes,     lend_memory,
                             read_clock,    dispatch_untimed, dispatch_bytes, dispatch_together,
                             record_steps,  stay_resident};

static void give_back(scene *of)
{
  end_resident(of);
  backend->pending_release(of->pending);
  backend->pending_release(of->resident);
  backend->sequence_release(of->device, of->sequence);
  while (of->buffer_count)
    backend->buffer_free(of->device, of->buffers[--of->buffer_count]);
  backend->buffer_free(of->device, of->shared.buffer);
  if (of->module)
    backend->module_unload(of->device, of->module);
  backend->device_close(of->device);
}

static vyre_status run(scene *of, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  unheard = false;
  memset(of, 0, sizeof *of);
  for (uint32_t i = 0; i < WORDS; ++i)
    of->values[i] = i + 1;
  for (size_t i = 0; status == VYRE_OK && i < sizeof steps / sizeof steps[0]; ++i)
    status = steps[i](of, err);
  return status;
}

static void assert_nothing_is_left(const char *what, uint64_t nth)
{
  for (uint64_t i = 0; driver->fault(i) && i < 4; ++i)
    print_error("%s %llu: fault: %s\n", what, (unsigned long long)nth, driver->fault(i));
  if (driver->live(NULL) || host_live() || driver->depth() || driver->faults())
    fail_msg("%s %llu: left: context %llu, memory %llu, host memory %llu, pool %llu, stream %llu, "
             "event %llu, module %llu, graph %llu, exec %llu; blocks %llu, depth %u",
             what, (unsigned long long)nth, (unsigned long long)driver->live("context"),
             (unsigned long long)driver->live("memory"), (unsigned long long)driver->live("host"),
             (unsigned long long)driver->live("pool"), (unsigned long long)driver->live("stream"),
             (unsigned long long)driver->live("event"), (unsigned long long)driver->live("module"),
             (unsigned long long)driver->live("graph"), (unsigned long long)driver->live("exec"),
             (unsigned long long)host_live(), driver->depth());
}

/* Calls whose failure nobody can be told of, or that only a clean-up makes. */
static bool is_silent(const char *name)
{
  static const char *const silent[] = {
      "cuMemFree",       "cuMemFreeHost",  "cuMemFreeAsync",     "cuStreamDestroy",
      "cuEventDestroy",  "cuModuleUnload", "cuMemPoolDestroy",   "cuDevicePrimaryCtxRelease",
      "cuCtxPopCurrent", "cuGraphDestroy", "cuGraphExecDestroy",
#ifdef VYRE_TEST_HIP
      "cuDeviceGetUuid", /* a device of AMD's may have none */
#endif
  };
  for (size_t i = 0; i < sizeof silent / sizeof silent[0]; ++i)
    if (!strcmp(name, silent[i]))
      return true;
  return false;
}

/* After the context has died: the device says so, and a new one works. */
static void assert_lost(scene *of)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_buffer *buffer = NULL;
  const uint64_t calls = driver->calls(NULL);
  assert_int_equal(backend->buffer_alloc(of->device, 64, &buffer, &err), VYRE_ERROR_DEVICE_LOST);
  assert_null(buffer);
  assert_int_equal(driver->calls(NULL), calls); /* latched: nobody is asked */
}

static void fail_each(int32_t code, bool sticky)
{
  static scene of;
  char number[16];
  snprintf(number, sizeof number, "(%d)", (int)code);
  for (uint32_t i = 0; driver->entry_name(i); ++i) {
    const char *name = driver->entry_name(i);
    uint64_t nth = 1;
#ifdef VYRE_TEST_HIP
    /* Calls of the tests' own runtime, between which an end of an object would be lost. */
    if (!strncmp(name, "cuDevicePrimaryCtx", 18) || !strncmp(name, "cuCtxP", 6))
      continue;
#endif
    for (;; ++nth) {
      vyre_error err = VYRE_ERROR_INIT;
      driver->reset();
      (driver->fail)(name, nth, code);
      const vyre_status status = run(&of, &err);
      const bool struck = driver->failed(), open = of.device != NULL;
      if (struck && !unheard && !is_silent(name)) {
        if (status == VYRE_OK)
          fail_msg("%s %llu fails, and nobody says so", name, (unsigned long long)nth);
        if (err.code != status || !err.message[0] || !strstr(err.message, number) ||
            err.vendor_code != code)
          fail_msg("%s %llu: %d with vendor code %lld: %s", name, (unsigned long long)nth,
                   (int)status, (long long)err.vendor_code, err.message);
        if (sticky && open)
          assert_lost(&of);
      }
      if (!struck && status != VYRE_OK)
        fail_msg("%s: nothing was made to fail: %s", name, err.message);
      give_back(&of);
      assert_nothing_is_left(name, nth);
      if (!struck && !driver->failed())
        break;
    }
    print_message("%s: failed %llu times\n", name, (unsigned long long)nth - 1);
  }
}

static void each_call_fails(void **state)
{
  (void)state;
  fail_each(304, false);
}

static void each_call_kills_the_context(void **state)
{
#ifdef VYRE_TEST_HIP
  skip(); /* what is in a dead device of HIP stays until the device is reset */
#endif
  (void)state;
  fail_each(719, true);
}

/* The host's allocations, likewise. */
static void each_allocation_fails(void **state)
{
  static scene of;
  (void)state;
  driver->reset();
  for (uint64_t nth = 1;; ++nth) {
    vyre_error err = VYRE_ERROR_INIT;
    host_fail(nth);
    const vyre_status status = run(&of, &err);
    host_fail(0);
    give_back(&of);
    assert_nothing_is_left("allocation", nth);
    if (status == VYRE_OK) {
      assert_true(nth > 5);
      break;
    }
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(err.code, status);
  }
}

/* -------- what a kernel does -------- */

static void a_kernel_that_faults(void **state)
{
#ifdef VYRE_TEST_HIP
  skip(); /* HIP has one code for what CUDA has many for */
#endif
  static const int32_t codes[] = {700, 702, 710, 714, 715, 716, 717, 718, 719, 999};
  uint32_t values[4] = {1, 2, 3, 4}, out[4];
  (void)state;
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    vyre_error err = VYRE_ERROR_INIT;
    char number[16];
    driver->reset();
    vyre_backend_device *device = open_device(0), *again = NULL;
    vyre_backend_module *module = load_module(device, ptx_of(1, "double", 1));
    vyre_binding binding = bind_host(0, VYRE_READ_WRITE, values, 4);
    const vyre_dispatch_desc desc = launch_of(find_kernel(module, "double"), &binding, 1);
    memset(out, 0x33, sizeof out);
    vyre_slot slot = slot_of(out, sizeof out);
    driver->kernel_fails(codes[i]);
    assert_int_equal(run_try(device, &desc, &slot, 1, &err), VYRE_ERROR_DEVICE_LOST);
    snprintf(number, sizeof number, "(%d)", (int)codes[i]);
    assert_contains(err.message, number);
    assert_int_equal(err.vendor_code, codes[i]);
    for (uint32_t k = 0; k < 4; ++k)
      assert_int_equal(out[k], 0x33333333);
    assert_int_equal(run_try(device, &desc, &slot, 1, &err), VYRE_ERROR_DEVICE_LOST);
    /* A new handle works, while the old one stays lost. */
    OK(open_try(0, &again, &fresh));
    vyre_backend_module *anew = load_module(again, ptx_of(1, "double", 1));
    const vyre_dispatch_desc good = launch_of(find_kernel(anew, "double"), &binding, 1);
    OK(run_try(again, &good, &slot, 1, &fresh));
    assert_int_equal(out[3], 8);
    assert_int_equal(run_try(device, &desc, &slot, 1, &err), VYRE_ERROR_DEVICE_LOST);
    backend->module_unload(device, module);
    backend->device_close(device);
    OK(run_try(again, &good, &slot, 1, &fresh));
    backend->module_unload(again, anew);
    backend->device_close(again);
    assert_nothing_is_left("kernel", (uint64_t)codes[i]);
  }
}

/* The driver is started once a process: what can go wrong there is test_nodevice.c's. */
static int start(void **state)
{
  uint32_t count = 0;
  if (plugin_set_up(state) || backend->device_count(&count, NULL) != VYRE_OK)
    return -1;
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_fails),
      cmocka_unit_test(each_call_kills_the_context),
      cmocka_unit_test(each_allocation_fails),
      cmocka_unit_test(a_kernel_that_faults),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
