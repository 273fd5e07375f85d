/*
 * test_cache.c - programs that are kept on disk: used again, made again when they are damaged or
 * when the driver takes them no more, never taken for another text, device or driver.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often the compiler was called, and how often a binary was given. */
static uint32_t compiled(void)
{
  return fake->calls[FAKE_clCreateProgramWithSource];
}

static uint32_t taken(void)
{
  return fake->calls[FAKE_clCreateProgramWithBinary];
}

/* Loads a text once, in a plugin of its own. */
static void once(const char *text, const char *driver, uint64_t flags)
{
  vyre_backend_module *module = NULL;
  load();
  fake->driver = driver;
  vyre_backend_device *device = open_device();
  load_kernel(device, text, flags, "one", &module);
  backend->module_unload(device, module);
  backend->device_close(device);
}

static void expect(uint32_t compilations, uint32_t binaries)
{
  assert_int_equal(compiled(), compilations);
  assert_int_equal(taken(), binaries);
  unload();
}

static void a_program_is_compiled_once(void **state)
{
  (void)state;
  cache_fresh();
  once(two_kernels, "1", 0);
  expect(1, 0);
  once(two_kernels, "1", 0);
  expect(0, 1);
}

static void the_key_has_everything_in_it(void **state)
{
  static const char other[] = "VYRE_ENTRY(one, (VYRE_PARAM_INOUT(0, b)), (VYRE_ARG(0, b)));\n";
  static const char barrier[] = "/* */ vyre_barrier\n"
                                "VYRE_ENTRY(one, (VYRE_PARAM_INOUT(0, b)), (VYRE_ARG(0, b)));\n";
  (void)state;
  cache_fresh();
  once(two_kernels, "1", 0);
  expect(1, 0);
  once(two_kernels, "2", 0); /* another driver */
  expect(1, 0);
  once(two_kernels, "1", VYRE_MODULE_DEBUG);
  assert_contains(fake->options, "-DVYRE_DEBUG=1");
  expect(1, 0);
  once(other, "1", 0);
  assert_contains(fake->options, "-DVYRE_HAS_BARRIER=0");
  expect(1, 0);
  once(barrier, "1", 0);
  assert_contains(fake->options, "-DVYRE_HAS_BARRIER=1");
  expect(1, 0);
  once(two_kernels, "1", 0);
  expect(0, 1);
}

/* Changes one byte of the entry, or cuts it. */
static void damage(long at)
{
  char path[1024];
  assert_true(cache_find(".vyreocl", path, sizeof(path)));
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  if (at < 0) {
    assert_int_equal(truncate(path, 100), 0);
  } else {
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    fputc(byte ^ 1, file);
  }
  fclose(file);
}

static void a_damaged_entry_is_made_again(void **state)
{
  static const long places[] = {0, 20, 50, 90, 2000, -1};
  (void)state;
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
    cache_fresh();
    once(two_kernels, "1", 0);
    expect(1, 0);
    damage(places[i]);
    once(two_kernels, "1", 0);
    expect(1, 0); /* not even shown to the driver */
    once(two_kernels, "1", 0);
    expect(0, 1);
  }
}

static void a_refused_binary_is_made_again(void **state)
{
  vyre_backend_module *module = NULL;
  (void)state;
  cache_fresh();
  once(two_kernels, "1", 0);
  expect(1, 0);
  load();
  fake->binary_code = CL_INVALID_BINARY;
  vyre_backend_device *device = open_device();
  load_kernel(device, two_kernels, 0, "one", &module);
  backend->module_unload(device, module);
  /* The driver takes it and cannot build it. */
  fake->binary_code = CL_SUCCESS;
  fake->fail_call = FAKE_clBuildProgram;
  fake->fail_at = fake->calls[FAKE_clBuildProgram] + 1;
  fake->fail_code = CL_BUILD_PROGRAM_FAILURE;
  load_kernel(device, two_kernels, 0, "one", &module);
  backend->module_unload(device, module);
  backend->device_close(device);
  expect(2, 2);
}

static void entries_of_others_are_not_believed(void **state)
{
  char path[1024];
  (void)state;
  cache_fresh();
  once(two_kernels, "1", 0);
  expect(1, 0);
  assert_true(cache_find(".vyreocl", path, sizeof(path)));
  assert_int_equal(chmod(path, 0666), 0);
  once(two_kernels, "1", 0);
  expect(1, 0);
}

static void the_cache_can_be_off(void **state)
{
  (void)state;
  setenv("VYRE_CACHE_DIR", "off", 1);
  for (int turn = 0; turn < 2; ++turn) {
    once(two_kernels, "1", 0);
    expect(1, 0);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_is_compiled_once),
      cmocka_unit_test(the_key_has_everything_in_it),
      cmocka_unit_test(a_damaged_entry_is_made_again),
      cmocka_unit_test(a_refused_binary_is_made_again),
      cmocka_unit_test(entries_of_others_are_not_believed),
      cmocka_unit_test(the_cache_can_be_off),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cache_remove();
  return failed;
}
