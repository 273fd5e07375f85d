/*
 * Coherent memory is tried when a device is opened: what comes of it stands in the device's
 * information, in its persistent launches and, for a host, in its engine.  On the recording driver,
 * whose kernel plays the machines that a plugin must not trust; each of its devices is tried once.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t next_device; /* one that nobody has opened */

static vyre_backend_device_info info_of(uint32_t index)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  OK(backend->device_info(index, &info, &fresh));
  return info;
}

static bool persists(const vyre_backend_device_info *info)
{
  return (info->capabilities & VYRE_CAP_PERSISTENT) != 0;
}

static void expect_launch(vyre_backend_device *device, vyre_status wanted, const char *text)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_backend_module *module = load_module(device, ptx_of(1, "resident", 1));
  OK(backend->coherent_alloc(device, 4096, &memory, &fresh));
  __atomic_store_n((uint32_t *)memory.host, 1, __ATOMIC_RELEASE); /* it need not wait */
  vyre_binding binding = bind_buffer(0, VYRE_READ_WRITE, memory.buffer, 16);
  vyre_dispatch_desc desc = launch_of(find_kernel(module, "resident"), &binding, 1);
  desc.flags = VYRE_DISPATCH_PERSISTENT;
  assert_int_equal(backend->dispatch(device, &desc, &pending, &err), wanted);
  if (wanted == VYRE_OK)
    OK(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &fresh));
  else
    assert_contains(err.message, text);
  backend->pending_release(pending);
  backend->buffer_free(device, memory.buffer);
  backend->module_unload(device, module);
}

/* -------- what a machine may do -------- */

static void one_that_is_coherent(void **state)
{
  const uint32_t index = next_device++;
  (void)state;
  driver->reset();
  const vyre_backend_device_info before = info_of(index);
  assert_true(persists(&before));
  assert_int_equal(driver->calls("cuLaunchKernel"), 0); /* a look costs no trial */
  vyre_backend_device *device = open_device(index);
  assert_int_equal(driver->calls("cuLaunchKernel"), 1);
  assert_string_equal(driver->launch(0)->name, "vyre_trial");
  const vyre_backend_device_info info = info_of(index);
  assert_true(persists(&info));
  assert_string_equal(info.persistent_reason, "");
  expect_launch(device, VYRE_OK, "");
  backend->device_close(device);
  /* Once a process. */
  const uint64_t launches = driver->calls("cuLaunchKernel");
  backend->device_close(open_device(index));
  assert_int_equal(driver->calls("cuLaunchKernel"), launches);
  assert_clean();
}

static void expect_off(const char *how, const char *reason)
{
  const uint32_t index = next_device++;
  driver->reset();
  setenv("VYRE_FAKE_CUDA_TRIAL", how, 1);
  vyre_backend_device *device = open_device(index);
  unsetenv("VYRE_FAKE_CUDA_TRIAL");
  const vyre_backend_device_info info = info_of(index);
  assert_false(persists(&info));
  assert_string_equal(info.persistent_reason, reason);
  assert_true(info.capabilities & VYRE_CAP_COHERENT);
  expect_launch(device, VYRE_ERROR_UNSUPPORTED, reason);
  backend->device_close(device);
  /* It stays so. */
  device = open_device(index);
  expect_launch(device, VYRE_ERROR_UNSUPPORTED, reason);
  backend->device_close(device);
  assert_clean();
}

static void one_whose_kernels_see_nothing(void **state)
{
  (void)state;
  expect_off("blind", "a kernel that runs does not see what the host stores in coherent memory");
}

static void one_whose_kernels_are_not_seen(void **state)
{
  (void)state;
  expect_off("mute", "the host does not see what a kernel stores in coherent memory while it runs");
}

static void one_that_has_no_order(void **state)
{
  (void)state;
  expect_off("early", "in coherent memory, stores are seen out of order");
}

/* -------- what else may be in the way -------- */

/*
 * Every call of this name that an open makes fails once: the open says so, leaves nothing, and is
 * free to try again.  0 if it is so; in a process of its own, which has tried nothing yet.
 */
static int fail_each(const char *name, uint32_t index)
{
  for (uint64_t nth = 1; nth < 200; ++nth) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_backend_device *device = NULL;
    driver->reset();
    (driver->fail)(name, nth, 304);
    const vyre_status status = open_try(index, &device, &err);
    const bool failed = driver->failed(), told = strstr(err.message, "(304)") != NULL;
    (driver->fail)(name, 0, 0);
    backend->device_close(device);
    if (driver->faults() || driver->live(NULL) || driver->depth() || host_live())
      return 2;
    if (!failed)
      return nth == 1 || status != VYRE_OK || driver->calls("cuLaunchKernel") != 1 ? 3 : 0;
    if (status == VYRE_OK || !told)
      return 4;
  }
  return 5;
}

static void each_call_fails(void **state)
{
  static const char *const names[] = {"cuModuleGetFunction",
                                      "cuFuncLoad",
                                      "cuFuncGetAttribute",
                                      "cuMemHostAlloc",
                                      "cuMemHostGetDevicePointer",
                                      "cuEventCreate",
                                      "cuEventRecord",
                                      "cuStreamCreateWithPriority",
                                      "cuLaunchKernel",
                                      "cuMemsetD8Async",
                                      "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                      "cuMemcpyDtoDAsync",
                                      "cuMemAllocFromPoolAsync"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    int ended = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) { /* a child of a process that has used the driver must not */
      execl("/proc/self/exe", "hip_trial", names[i], (char *)NULL);
      _exit(9);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    if (ended)
      fail_msg("%s: %d", names[i], WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended));
  }
}

static void each_allocation_fails(void **state)
{
  const uint32_t index = next_device++;
  uint64_t nth = 1;
  (void)state;
  driver->reset();
  for (;; ++nth) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_backend_device *device = NULL;
    host_fail(nth);
    const vyre_status status = open_try(index, &device, &err);
    host_fail(0);
    backend->device_close(device);
    assert_clean();
    if (status == VYRE_OK)
      break;
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
  }
  assert_true(nth > 6); /* the trial's text, module, kernel, buffer and launch among them */
}

static void a_kernel_that_faults(void **state)
{
  vyre_backend_device *device = NULL;
  const uint32_t index = next_device++;
  (void)state;
  driver->reset();
  driver->kernel_fails(719);
  /* The dead context is reset once, and the second trial is well. */
  OK(open_try(index, &device, &fresh));
  assert_true(driver->calls("cuDevicePrimaryCtxReset") > 0);
  assert_true(info_of(index).capabilities & VYRE_CAP_PERSISTENT);
  backend->device_close(device);
  assert_clean();
}

/* Text that its compiler does not take: the reason is the compiler's. */
static void a_compiler_that_fails(void **state)
{
  const uint32_t index = next_device++;
  (void)state;
  driver->reset();
  (nvrtc->fail)("nvrtcCompileProgram", 1, 6);
  vyre_backend_device *device = open_device(index);
  const vyre_backend_device_info info = info_of(index);
  assert_false(persists(&info));
  assert_contains(info.persistent_reason, "its coherent memory cannot be tried: ");
  backend->device_close(device);
  assert_clean();
}

/* Where there is no compiler, or none whose code the device takes.  In a process of its own. */
static int open_without_compiler(void)
{
  vyre_backend_device *device = NULL;
  vyre_backend_device_info info = {.struct_size = sizeof info};
  if (!plugin_load(FAKE_CUDA, NULL))
    return 1;
  if (backend->device_open(0, NULL, &device, NULL) != VYRE_OK)
    return 2;
  if (backend->device_info(0, &info, NULL) != VYRE_OK || persists(&info) ||
      !strstr(info.persistent_reason, "its coherent memory cannot be tried: "))
    return 3;
  backend->device_close(device);
  return driver->faults() || driver->live(NULL) || host_live() ? 4 : 0;
}

static int without_compiler; /* how that process ended */

static void no_compiler(void **state)
{
  (void)state;
  assert_int_equal(without_compiler, 0);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_that_is_coherent),
      cmocka_unit_test(one_whose_kernels_see_nothing),
      cmocka_unit_test(one_whose_kernels_are_not_seen),
      cmocka_unit_test(one_that_has_no_order),
      cmocka_unit_test(each_call_fails),
      cmocka_unit_test(each_allocation_fails),
      cmocka_unit_test(a_kernel_that_faults),
      cmocka_unit_test(a_compiler_that_fails),
      cmocka_unit_test(no_compiler),
  };
  setenv("VYRE_FAKE_CUDA_DEVICES", "8", 1);
  if (argc == 2) /* one of each_call_fails() */
    _exit(plugin_load(FAKE_CUDA, FAKE_NVRTC) && driver && nvrtc ? fail_each(argv[1], 0) : 1);
  const pid_t child = fork();
  if (!child)
    _exit(open_without_compiler());
  if (child < 0 || waitpid(child, &without_compiler, 0) != child)
    return 1;
  if (!plugin_load(FAKE_CUDA, FAKE_NVRTC) || !driver || !nvrtc)
    return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
