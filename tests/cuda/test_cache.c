/*
 * Compiled kernels on disk: found again by the whole key, never believed if damaged or if others
 * could have written them, written anew then.
 */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/vyre-test-cache-XXXXXX";
static char path[sizeof folder + 300]; /* of the last entry that each_entry() came to */

static uint32_t each_entry(bool removes)
{
  uint32_t entries = 0;
  DIR *list = opendir(folder);
  assert_non_null(list);
  for (const struct dirent *one; (one = readdir(list));) {
    if (one->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, one->d_name);
    entries += 1;
    if (removes)
      unlink(path);
  }
  closedir(list);
  return entries;
}

static int set_up(void **state)
{
  if (plugin_set_up(state) || !mkdtemp(folder))
    return -1;
  return setenv("VYRE_CACHE_DIR", folder, 1);
}

static int tear_down(void **state)
{
  (void)state;
  each_entry(true);
  return rmdir(folder);
}

/* How often the compiler ran to make this. */
static uint64_t compiles(const char *format, const char *arch, uint64_t flags, const char *rest)
{
  static char text[1 << 20];
  vyre_blob blob = {.struct_size = sizeof blob};
  memcpy(text, backend->prelude, backend->prelude_size);
  snprintf(text + backend->prelude_size, sizeof text - backend->prelude_size, "\n%s", rest);
  const vyre_compile_desc desc = {.struct_size = sizeof desc,
                                  .flags = flags,
                                  .format = format,
                                  .arch = arch,
                                  .source = text,
                                  .source_size = strlen(text)};
  const uint64_t before = nvrtc->calls("nvrtcCompileProgram");
  OK(backend->compile(&desc, &blob, &fresh));
  /* An object of the test compiler has its text behind a header of 64 bytes; neither ends in NUL.
   */
  const size_t skip = strcmp(format, "ptx") ? 64 : 0;
  assert_true(blob.size > skip);
  assert_non_null(memmem((char *)blob.data + skip, (size_t)blob.size - skip, ".entry", 6));
  host_drop(blob.data);
  return nvrtc->calls("nvrtcCompileProgram") - before;
}

#define HOP "VYRE_ENTRY(hop, (VYRE_PARAM_INOUT(0, b)),\n (VYRE_ARG(0, b)))\n"

static void everything_is_in_the_key(void **state)
{
  static const char more[] = HOP "// more\n";
  (void)state;
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 0);
  assert_int_equal(compiles("ptx", "sm_90", 0, HOP), 1);
  assert_int_equal(compiles("cubin", "sm_90", 0, HOP), 1);
  assert_int_equal(compiles("ptx", "sm_80", VYRE_MODULE_DEBUG, HOP), 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, more), 1);
  assert_int_equal(each_entry(false), 5);
  assert_int_equal(compiles("ptx", "sm_90", 0, HOP), 0);
  assert_int_equal(compiles("cubin", "sm_90", 0, HOP), 0);
  assert_int_equal(compiles("ptx", "sm_80", VYRE_MODULE_DEBUG, HOP), 0);
  assert_int_equal(compiles("ptx", "sm_80", 0, more), 0);
}

/* Changes the byte at `offset` from the start, or from the end if it is negative. */
static void damage(long offset)
{
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
  const int byte = fgetc(file);
  assert_int_equal(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
  fputc(byte ^ 0x20, file);
  fclose(file);
}

static void a_damaged_entry_is_made_again(void **state)
{
  static const long offsets[] = {0, 9, 45, 80, -1};
  (void)state;
  each_entry(true);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(each_entry(false), 1);
  for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; ++i) {
    damage(offsets[i]);
    assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
    assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 0);
  }
  assert_int_equal(truncate(path, 40), 0);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(truncate(path, 0), 0);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 0);
  assert_int_equal(each_entry(false), 1); /* nothing else is left there */
}

static void what_others_can_write_is_not_believed(void **state)
{
  (void)state;
  each_entry(true);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(each_entry(false), 1);
  assert_int_equal(chmod(path, 0666), 0);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 0); /* renamed over it, with our own mode */
}

static void it_can_be_off_or_out_of_reach(void **state)
{
  (void)state;
  setenv("VYRE_CACHE_DIR", "off", 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  setenv("VYRE_CACHE_DIR", "/proc/nowhere", 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 1);
  setenv("VYRE_CACHE_DIR", folder, 1);
  assert_int_equal(compiles("ptx", "sm_80", 0, HOP), 0);
}

/* A source on a device goes the same way, and the cached code runs. */
static void modules_come_from_it(void **state)
{
  (void)state;
  static char text[1 << 20];
  driver->reset();
  memcpy(text, backend->prelude, backend->prelude_size);
  strcpy(text + backend->prelude_size, "\n" HOP);
  for (int turn = 0; turn < 3; ++turn) {
    vyre_backend_device *device = open_device(0);
    vyre_backend_module *module = NULL;
    const vyre_module_desc desc = {.struct_size = sizeof desc,
                                   .format = "vyre-c",
                                   .arch = "",
                                   .data = text,
                                   .size = strlen(text)};
    const uint64_t before = nvrtc->calls("nvrtcCompileProgram");
    OK(backend->module_load(device, &desc, &module, &fresh));
    if (turn)
      assert_int_equal(nvrtc->calls("nvrtcCompileProgram"), before);
    find_kernel(module, "hop");
    backend->module_unload(device, module);
    backend->device_close(device);
    assert_clean();
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_in_the_key),
      cmocka_unit_test(a_damaged_entry_is_made_again),
      cmocka_unit_test(what_others_can_write_is_not_believed),
      cmocka_unit_test(it_can_be_off_or_out_of_reach),
      cmocka_unit_test(modules_come_from_it),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
