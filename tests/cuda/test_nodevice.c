/*
 * Where there is nothing to run on: no driver, a stub, a driver that is too old or has gaps, no
 * device, devices that are too old or closed.  The plugin loads, says what is missing and what to
 * do, and takes no harm.  A process opens a driver once, so each case is a child of its own.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct answer {
  vyre_status status, again, info;
  uint32_t count;
  char message[VYRE_ERROR_MESSAGE_SIZE], fix[VYRE_ERROR_FIX_SIZE];
  int64_t vendor_code;
} answer;

static bool is_open_already; /* the test driver, before the plugin looks */

static void ask(const char *library, answer *out)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device_info info = {.struct_size = sizeof info};
  if (is_open_already && !dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL))
    _exit(3);
  if (!plugin_load(library, NULL))
    _exit(1);
  out->count = 77;
  out->status = backend->device_count(&out->count, &err);
  snprintf(out->message, sizeof out->message, "%s", err.message);
  snprintf(out->fix, sizeof out->fix, "%s", err.fix);
  out->vendor_code = err.vendor_code;
  out->again = backend->device_count(&out->count, NULL);
  out->info = backend->device_info(0, &info, NULL);
}

/* What the plugin says in a process with these settings ("NAME=VALUE", or NULL). */
static answer ask_in_child(const char *library, const char *setting)
{
  int ends[2], status = 0;
  answer out;
  memset(&out, 0, sizeof out);
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    char text[128];
    snprintf(text, sizeof text, "%s", setting ? setting : "VYRE_TEST_NOTHING=1");
    putenv(text);
    ask(library, &out);
    _exit(write(ends[1], &out, sizeof out) == (ssize_t)sizeof out ? 0 : 2);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &out, sizeof out), sizeof out);
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  return out;
}

static void assert_refused(const answer *given, const char *what)
{
  assert_int_equal(given->status, VYRE_ERROR_VENDOR_LIBRARY);
  assert_int_equal(given->again, VYRE_ERROR_VENDOR_LIBRARY);
  assert_int_equal(given->info, VYRE_ERROR_VENDOR_LIBRARY);
  assert_int_equal(given->count, 77);
  assert_contains(given->message, what);
  assert_true(given->fix[0]);
}

static void no_driver(void **state)
{
  (void)state;
  answer given = ask_in_child(FAKE_DIR "/none/libcuda.so.1", NULL);
  assert_refused(&given, FAKE_DIR "/none/libcuda.so.1");
  assert_contains(given.fix, "VYRE_CUDA_LIBRARY");
}

static void a_stub(void **state)
{
  (void)state;
  answer given = ask_in_child(FAKE_DIR "/stubs/libcuda.so", NULL);
  assert_refused(&given, "stub");
  assert_contains(given.message, FAKE_DIR "/stubs/libcuda.so");
  /* One that is called as the driver is, and says so only when asked. */
  given = ask_in_child(FAKE_CUDA, "VYRE_FAKE_CUDA_INIT=34");
  assert_refused(&given, "stub");
  assert_int_equal(given.vendor_code, 34);
}

static void a_driver_that_is_too_old(void **state)
{
  (void)state;
  answer given = ask_in_child(FAKE_CUDA, "VYRE_FAKE_CUDA_VERSION=11080");
  assert_refused(&given, "11.8");
  assert_contains(given.message, "12.0");
  given = ask_in_child(FAKE_CUDA, "VYRE_FAKE_CUDA_VERSION=12000");
  assert_int_equal(given.status, VYRE_OK);
}

static void a_driver_with_gaps(void **state)
{
  (void)state;
  answer given = ask_in_child(FAKE_DIR "/partial/libcuda.so.1", NULL);
  assert_refused(&given, "cuMemAlloc_v2");
  assert_contains(given.message, FAKE_DIR "/partial/libcuda.so.1");
  assert_null(strstr(given.message, "cuFuncLoad")); /* optional */
}

static void a_driver_that_does_not_start(void **state)
{
  (void)state;
  answer given = ask_in_child(FAKE_CUDA, "VYRE_FAKE_CUDA_INIT=803");
  assert_refused(&given, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
  assert_int_equal(given.vendor_code, 803);
  given = ask_in_child(FAKE_CUDA, "VYRE_FAKE_CUDA_FAIL=cuDriverGetVersion:1:999");
  assert_refused(&given, "CUDA_ERROR_UNKNOWN (999)");
}

/* The application has a driver in the process already: that one, and no search. */
static void a_driver_that_is_there(void **state)
{
  (void)state;
  answer given = ask_in_child(NULL, NULL);
  if (given.status == VYRE_OK)
    skip(); /* this machine has a real one */
  assert_refused(&given, "libcuda.so.1");
  is_open_already = true;
  given = ask_in_child(NULL, NULL);
  is_open_already = false;
  assert_int_equal(given.status, VYRE_OK);
  assert_int_equal(given.count, 2);
}

static void no_device(void **state)
{
  static const char *const settings[] = {"VYRE_FAKE_CUDA_INIT=100", "VYRE_FAKE_CUDA_DEVICES=0"};
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    answer given = ask_in_child(FAKE_CUDA, settings[i]);
    assert_int_equal(given.status, VYRE_OK);
    assert_int_equal(given.count, 0);
    assert_true(given.info == VYRE_ERROR_INVALID_ARGUMENT || given.info == VYRE_ERROR_NOT_FOUND);
  }
}

/* -------- devices that are listed and not opened: on a driver of this process -------- */

static void assert_closed(const char *why)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device_info info = {.struct_size = sizeof info};
  vyre_backend_device *device = NULL;
  OK(backend->device_info(0, &info, &fresh));
  assert_int_equal(open_try(0, &device, &err), VYRE_ERROR_UNSUPPORTED);
  assert_contains(err.message, why);
  assert_null(device);
  assert_clean();
}

static void a_device_that_is_closed(void **state)
{
  (void)state;
  assert_int_equal(plugin_set_up(NULL), 0);
  driver->reset();
  driver->set_attribute(0, 75, 6);
  driver->set_attribute(0, 76, 1);
  assert_closed("6.1");
  driver->reset();
  driver->set_attribute(0, 20, 2);
  assert_closed("PROHIBITED");
  driver->reset();
  driver->set_attribute(0, 41, 0);
  assert_closed("unified addressing");
  driver->reset();
  backend->device_close(open_device(0));
  assert_clean();
}

/* -------- reasons against persistent launches -------- */

static void reasons_against_persistence(void **state)
{
  static const struct {
    const char *name, *value, *why;
  } switches[] = {{"CUDA_LAUNCH_BLOCKING", "1", "CUDA_LAUNCH_BLOCKING=1"},
                  {"CUDA_LAUNCH_BLOCKING", "0", NULL},
                  {"CUDA_LAUNCH_BLOCKING", "", NULL},
                  {"CUDA_DEVICE_MAX_CONNECTIONS", "1", "CUDA_DEVICE_MAX_CONNECTIONS=1"},
                  {"CUDA_DEVICE_MAX_CONNECTIONS", "8", NULL},
                  {"NV_SANITIZER_INJECTION_PORT_BASE", "49000", "checker"},
                  {"CUDA_INJECTION64_PATH", "/opt/compute-sanitizer/libsanitizer.so", "checker"},
                  {"CUDA_INJECTION64_PATH", "/opt/other/libtool.so", NULL},
                  {"CUDA_MEMCHECK", "1", "CUDA_MEMCHECK"}};
  static const struct {
    uint32_t attribute;
    int32_t value;
    const char *why;
  } attributes[] = {
      {90, 0, "interrupt"}, {31, 0, "one kernel"}, {17, 1, "display"}, {19, 0, "map"}};
  (void)state;
  driver->reset();
  assert_not_persistent(NULL);
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; ++i) {
    setenv(switches[i].name, switches[i].value, 1);
    assert_not_persistent(switches[i].why);
    unsetenv(switches[i].name);
  }
  for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; ++i) {
    driver->reset();
    driver->set_attribute(0, attributes[i].attribute, attributes[i].value);
    assert_not_persistent(attributes[i].why);
  }
  driver->reset();
}

/* A driver's threads are not in a child: what it would be asked for might never end. */
static void child_of_a_process_that_used_it(void **state)
{
  int ended = -1;
  uint32_t count = 0;
  (void)state;
  OK(backend->device_count(&count, &fresh));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    vyre_backend_device *device = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    count = 99;
    const vyre_status counted = backend->device_count(&count, NULL);
    const vyre_status opened = backend->device_open(0, NULL, &device, &err);
    _exit(counted == VYRE_ERROR_FORKED && opened == VYRE_ERROR_FORKED && count == 99 && !device &&
                  strstr(err.message, "parent") && strstr(err.fix, "exec()")
              ? 0
              : 1);
  }
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_int_equal(ended, 0);
  OK(backend->device_count(&count, &fresh));
  assert_clean();
}

static void what_a_device_tells(void **state)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  (void)state;
  driver->reset();
  driver->set_attribute(1, 16, 40); /* as MPS and MIG do, between two looks */
  OK(backend->device_info(1, &info, &fresh));
  assert_string_equal(info.name, "Test GPU 1");
  assert_string_equal(info.arch, "sm_90");
  assert_string_equal(info.pci, "0000:c2:00.0");
  assert_string_equal(info.uuid, "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae01");
  assert_contains(info.driver, "CUDA 13.0");
  assert_contains(info.driver, "libcuda.so.1");
  assert_int_equal(info.compute_units, 40);
  assert_int_equal(info.max_workgroup_memory, 232448);
  assert_int_equal(info.device_class, VYRE_DEVICE_GPU);
  driver->set_attribute(1, 95, 0);
  OK(backend->device_info(1, &info, &fresh));
  assert_int_not_equal(info.grid_sync, VYRE_GRID_SYNC_NATIVE);
  assert_true(info.grid_sync_reason[0]);
  driver->reset();
  /* A call that fails says so, and no half-filled record comes back. */
  for (uint64_t n = 1;; ++n) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_backend_device_info kept = info;
    (driver->fail)(NULL, n, 999);
    const vyre_status status = backend->device_info(0, &info, &err);
    if (!driver->failed()) {
      assert_true(n > 10);
      break;
    }
    assert_int_not_equal(status, VYRE_OK);
    assert_contains(err.message, "999");
    assert_memory_equal(&kept, &info, sizeof info);
  }
  driver->reset();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_driver),
      cmocka_unit_test(a_stub),
      cmocka_unit_test(a_driver_that_is_too_old),
      cmocka_unit_test(a_driver_with_gaps),
      cmocka_unit_test(a_driver_that_does_not_start),
      cmocka_unit_test(a_driver_that_is_there),
      cmocka_unit_test(no_device),
      /* From here on this process has a driver. */
      cmocka_unit_test(a_device_that_is_closed),
      cmocka_unit_test(reasons_against_persistence),
      cmocka_unit_test(child_of_a_process_that_used_it),
      cmocka_unit_test(what_a_device_tells),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
