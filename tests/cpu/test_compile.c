/*
 * test_compile.c - source to code: complaints with the author's lines, debug builds, the search for
 * a compiler, its time limit, the cache on disk.
 */
#include "support.h"

#include "plugins/cpu/container.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];

#define ENTRY_A " VYRE_ENTRY(k, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n"
#define HEAD_A "#define VYRE_BUFFER_a 0\n#line 1 \"mine.vyre.c\"\n"

static const char good[] = HEAD_A "VYRE_SEGMENT(k)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                                  "{\n"
                                  "  vyre_at(c, a, vyre_global_id(c, 0)) += 1u;\n"
                                  "}\n" ENTRY_A;

typedef struct session {
  cpu_plugin plugin;
  vyre_backend_device *device;
} session;

/* A fresh load each time: the plugin looks for its compiler once. */
static void session_open(session *s)
{
  plugin_load(&s->plugin);
  s->device = device_open(&s->plugin);
}

static void session_close(session *s)
{
  s->plugin.backend->device_close(s->device);
  plugin_unload(&s->plugin);
}

static vyre_status load(session *s, const char *text, uint64_t flags,
                        vyre_backend_module **out_module, vyre_error *err)
{
  *out_module = NULL;
  return module_try(&s->plugin, s->device, text, flags, out_module, err);
}

/* Loads, runs k on 8 zeros, and expects ones. */
static void check_good(session *s)
{
  uint32_t a[8] = {0}, out[8] = {0};
  vyre_backend_module *module = module_load(&s->plugin, s->device, good, 0);
  vyre_binding binding = bind_host(0, VYRE_READ_WRITE, a, sizeof(a), 8);
  vyre_dispatch_desc desc = launch_of(kernel_find(&s->plugin, module, "k"), &binding, 1, 1, 8);
  vyre_slot slot = slot_of(out, sizeof(out));
  run(&s->plugin, s->device, &desc, &slot, 1);
  for (int i = 0; i < 8; ++i)
    assert_int_equal(out[i], 1);
  s->plugin.backend->module_unload(s->device, module);
}

/* -------- complaints -------- */

static void complaints_have_the_authors_lines(void **state)
{
  static const char *const bad[][2] = {
      {HEAD_A "\n\nint x = ;\n", "mine.vyre.c:3"},
      {HEAD_A "VYRE_SEGMENT(k)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n{\n  (void)c;\n"
              "  a[0] = unknown_thing(3);\n}\n" ENTRY_A,
       "mine.vyre.c:4"},
      {HEAD_A "VYRE_SEGMENT(k)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n{\n  (void)c;\n\n"
              "  vyre_f32 *p = a; p[0] = 1;\n}\n" ENTRY_A,
       "mine.vyre.c:5"},
      {"#line 70 \"second.vyre.c\"\n#error not today\n", "second.vyre.c:70"},
  };
  session s;
  (void)state;
  session_open(&s);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_backend_module *module;
    assert_int_equal(load(&s, bad[i][0], 0, &module, &err), VYRE_ERROR_COMPILE_FAILED);
    assert_null(module);
    assert_contains(err.message, bad[i][1]);
    assert_contains(err.message, "error:");
    assert_null(strstr(err.message, "/vyre-"));
  }
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_module *module;
  /* Found by the linker: a function that is declared and nowhere defined. */
  if (s.plugin.backend->sanitizer == VYRE_SANITIZER_NONE) {
    assert_int_equal(load(&s,
                          HEAD_A "vyre_u32 elsewhere(void);\n"
                                 "VYRE_SEGMENT(k)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                                 "{ (void)c; a[0] = elsewhere(); }\n" ENTRY_A,
                          0, &module, &err),
                     VYRE_ERROR_COMPILE_FAILED);
    assert_contains(err.message, "elsewhere");
  }
  assert_int_equal(load(&s, good, 1ull << 50, &module, &err), VYRE_ERROR_INVALID_ARGUMENT);
  session_close(&s);
}

static void entries_are_found_by_name(void **state)
{
  session s;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_kernel *kernel = NULL, *again = NULL;
  vyre_kernel_info info = {.struct_size = sizeof(info)};
  (void)state;
  session_open(&s);
  const vyre_backend *b = s.plugin.backend;
  vyre_backend_module *module = module_load(&s.plugin, s.device, good, 0);
  assert_int_equal(b->kernel_find(module, "hop", &kernel, NULL, &err), VYRE_ERROR_NOT_FOUND);
  assert_contains(err.message, "\"hop\"");
  assert_int_equal(b->kernel_find(module, "", &kernel, NULL, &err), VYRE_ERROR_NOT_FOUND);
  assert_int_equal(b->kernel_find(module, NULL, &kernel, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(kernel);
  assert_int_equal(b->kernel_find(module, "k", &kernel, &info, &err), VYRE_OK);
  assert_int_equal(b->kernel_find(module, "k", &again, NULL, &err), VYRE_OK);
  assert_ptr_equal(kernel, again);
  assert_int_equal(info.max_workgroup_items, 1024);
  assert_int_equal(info.workgroup_memory, 0);
  info.struct_size = 4;
  assert_int_equal(b->kernel_find(module, "k", &again, &info, &err), VYRE_ERROR_INVALID_ARGUMENT);
  b->module_unload(s.device, module);
  b->module_unload(s.device, NULL);
  session_close(&s);
}

/* -------- debug builds -------- */

static const char offences[] =
    HEAD_A "VYRE_SEGMENT(at)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
           "{\n"
           "  vyre_u64 i = vyre_global_id(c, 0);\n"
           "  vyre_at(c, a, i + (i == 700u ? 1000u : 0u)) = 1u;\n"
           "}\n"
           "VYRE_SEGMENT(shift)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
           "{\n"
           "  vyre_u64 i = vyre_global_id(c, 0);\n"
           "  a[i] = 1u << (a[0] + 30u + (i == 5u ? 2u : 0u));\n"
           "}\n"
           "VYRE_SEGMENT(add)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
           "{\n"
           "  vyre_i32 big = 0x7fffffff - (vyre_i32)a[0];\n"
           "  (void)c;\n"
           "  a[1] = (vyre_u32)(big + 1);\n"
           "}\n"
           "VYRE_SEGMENT(div)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
           "{\n"
           "  (void)c;\n"
           "  a[1] = 7u / a[0];\n"
           "}\n"
           "#define E(k) VYRE_ENTRY(k, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)))\n"
           "E(at); E(shift); E(add); E(div);\n";

static void debug_builds_report_the_first_offence(void **state)
{
  static const char *const expected[][3] = {
      {"at", "mine.vyre.c:4", "index 1700 is outside buffer a of 1000 elements"},
      {"shift", "mine.vyre.c:9", "shift"},
      {"add", "mine.vyre.c:15", "overflow"},
      {"div", "mine.vyre.c:20", "division by zero"}};
  static uint32_t a[1000], out[1000];
  session s;
  (void)state;
  session_open(&s);
  vyre_backend_module *module = module_load(&s.plugin, s.device, offences, VYRE_MODULE_DEBUG);
  vyre_binding binding = bind_host(0, VYRE_READ_WRITE, a, sizeof(a), 1000);
  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
    for (uint32_t groups = 1; groups <= 100; groups += 99) {
      vyre_error err = VYRE_ERROR_INIT;
      /* One launch in the caller, one on the threads. */
      if (i != 0 && groups != 1)
        continue;
      vyre_dispatch_desc desc = launch_of(kernel_find(&s.plugin, module, expected[i][0]), &binding,
                                          1, groups, groups == 1 && i == 0 ? 1000 : 10);
      vyre_slot slot = slot_of(out, sizeof(out));
      memset(out, 0xee, sizeof(out));
      assert_int_equal(run_try(&s.plugin, s.device, &desc, &slot, 1, &err),
                       VYRE_ERROR_DISPATCH_FAILED);
      assert_contains(err.message, expected[i][1]);
      assert_contains(err.message, expected[i][2]);
      assert_true(err.fix[0] != '\0');
      assert_int_equal(out[0], 0xeeeeeeee);
    }
  }
  s.plugin.backend->module_unload(s.device, module);
  session_close(&s);
}

/* -------- the search -------- */

/* An executable script in the test's folder. */
static const char *script(const char *name, const char *body)
{
  static char path[PATH_MAX];
  snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 64, folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "#!/bin/sh\n%s\n", body);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, 0755), 0);
  return path;
}

static void no_compiler_says_what_was_tried(void **state)
{
  session s;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_module *module;
  vyre_backend_device_info info = {.struct_size = sizeof(info)};
  (void)state;
  setenv("VYRE_CC", "/nonexistent/cc", 1);
  session_open(&s);
  assert_int_equal(s.plugin.backend->device_info(0, &info, &err), VYRE_OK);
  assert_false(info.capabilities & VYRE_CAP_COMPILER);
  assert_contains(info.compiler_reason, "/nonexistent/cc");
  assert_string_equal(info.driver, "no compiler");
  assert_int_equal(load(&s, good, 0, &module, &err), VYRE_ERROR_UNSUPPORTED);
  assert_contains(err.message, "/nonexistent/cc");
  assert_contains(err.fix, "VYRE_CC");
  session_close(&s);

  setenv("VYRE_CC", script("broken", "exit 3"), 1);
  session_open(&s);
  assert_int_equal(load(&s, good, 0, &module, &err), VYRE_ERROR_UNSUPPORTED);
  assert_contains(err.message, "does not run");
  session_close(&s);

  unsetenv("VYRE_CC");
  const char *search = getenv("PATH");
  char *path = strdup(search ? search : "/usr/bin:/bin");
  assert_non_null(path);
  setenv("PATH", folder, 1);
  session_open(&s);
  if (s.plugin.backend->sanitizer == VYRE_SANITIZER_NONE) {
    assert_int_equal(load(&s, good, 0, &module, &err), VYRE_ERROR_UNSUPPORTED);
    assert_contains(err.message, "cc");
    assert_contains(err.message, "clang");
  }
  session_close(&s);
  setenv("PATH", path, 1);
  free(path);
}

static void a_compiler_that_hangs_is_ended(void **state)
{
  session s;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_module *module;
  (void)state;
  setenv("VYRE_CACHE_DIR", "off", 1);
  setenv("VYRE_CC", script("slow", "[ \"$1\" = --version ] && echo slow 1 && exit\nsleep 600"), 1);
  setenv("VYRE_CC_TIMEOUT", "1", 1);
  session_open(&s);
  assert_int_equal(load(&s, good, 0, &module, &err), VYRE_ERROR_COMPILE_FAILED);
  assert_contains(err.message, "after 1 s");
  session_close(&s);

  setenv("VYRE_CC", script("liar", "[ \"$1\" = --version ] && echo liar 1\nexit 0"), 1);
  session_open(&s);
  assert_int_equal(load(&s, good, 0, &module, &err), VYRE_ERROR_COMPILE_FAILED);
  assert_contains(err.message, "no shared object");
  session_close(&s);

  setenv("VYRE_CC",
         script("loud", "[ \"$1\" = --version ] && echo loud 1 && exit\n"
                        "i=0; while [ $i -lt 5000 ]; do echo 0123456789012345678901234; "
                        "i=$((i+1)); done; exit 1"),
         1);
  session_open(&s);
  assert_int_equal(load(&s, good, 0, &module, &err), VYRE_ERROR_COMPILE_FAILED);
  assert_contains(err.message, "0123456789");
  session_close(&s);
  unsetenv("VYRE_CC");
  unsetenv("VYRE_CC_TIMEOUT");
}

static void temporary_files_are_kept_on_demand(void **state)
{
  session s;
  struct stat about;
  char temps[PATH_MAX], kept[PATH_MAX + 16];
  (void)state;
  snprintf(temps, sizeof(temps), "%.*s/temps", PATH_MAX - 64, folder);
  assert_int_equal(mkdir(temps, 0700), 0);
  setenv("VYRE_CACHE_DIR", "", 1);
  setenv("TMPDIR", temps, 1);
  session_open(&s);
  check_good(&s);
  assert_int_equal(rmdir(temps), 0); /* nothing was left */
  assert_int_equal(mkdir(temps, 0700), 0);
  setenv("VYRE_KEEP_TEMPS", "1", 1);
  check_good(&s);
  unsetenv("VYRE_KEEP_TEMPS");
  const char *path = strstr(host_last_line(), temps);
  assert_non_null(path);
  snprintf(kept, sizeof(kept), "%s/kernel.c", path);
  assert_int_equal(stat(kept, &about), 0);
  unlink(kept);
  snprintf(kept, sizeof(kept), "%s/kernel.so", path);
  assert_int_equal(unlink(kept), 0);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(rmdir(temps), 0);
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_module *module;
  assert_int_equal(load(&s, good, 0, &module, &err), VYRE_ERROR_IO);
  assert_contains(err.message, temps);
  unsetenv("TMPDIR");
  session_close(&s);
}

/* -------- the cache -------- */

/* The only kernel in the cache, by its path; NULL if there is none. */
static const char *only_entry(const char *cache)
{
  static char path[2 * PATH_MAX];
  const char *found = NULL;
  DIR *list = opendir(cache);
  struct dirent *entry;
  while (list && (entry = readdir(list))) {
    if (!strstr(entry->d_name, ".vyren"))
      continue;
    assert_null(found);
    snprintf(path, sizeof(path), "%s/%s", cache, entry->d_name);
    found = path;
  }
  if (list)
    closedir(list);
  return found;
}

/* A folder without folders in it. */
static void remove_folder(const char *path)
{
  char file[2 * PATH_MAX];
  DIR *list = opendir(path);
  struct dirent *entry;
  while (list && (entry = readdir(list))) {
    snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
    if (entry->d_name[0] != '.')
      unlink(file);
  }
  if (list)
    closedir(list);
  rmdir(path);
}

/* A note of the compiler's version serves until the compiler's file changes. */
static void the_version_is_remembered(void **state)
{
  session s;
  char cache[PATH_MAX];
  vyre_backend_device_info info = {.struct_size = sizeof(info)};
  (void)state;
  snprintf(cache, sizeof(cache), "%.*s/notes", PATH_MAX - 64, folder);
  setenv("VYRE_CACHE_DIR", cache, 1);
  setenv("VYRE_CC", script("named", "echo first"), 1);
  session_open(&s);
  assert_int_equal(s.plugin.backend->device_info(0, &info, NULL), VYRE_OK);
  assert_contains(info.driver, "named: first");
  session_close(&s);
  session_open(&s);
  assert_int_equal(s.plugin.backend->device_info(0, &info, NULL), VYRE_OK);
  assert_contains(info.driver, "named: first");
  session_close(&s);
  setenv("VYRE_CC", script("named", "echo the second"), 1);
  session_open(&s);
  assert_int_equal(s.plugin.backend->device_info(0, &info, NULL), VYRE_OK);
  assert_contains(info.driver, "named: the second");
  session_close(&s);
  unsetenv("VYRE_CC");
  remove_folder(cache);
}

static void change_byte(const char *path, long at)
{
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
  int c = fgetc(file);
  fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
  fputc(c ^ 1, file);
  assert_int_equal(fclose(file), 0);
}

static uint64_t inode_of(const char *path)
{
  struct stat about;
  assert_int_equal(stat(path, &about), 0);
  return (uint64_t)about.st_ino;
}

static void the_cache_serves_and_heals(void **state)
{
  session s;
  char cache[PATH_MAX];
  (void)state;
  snprintf(cache, sizeof(cache), "%.*s/deep/cache", PATH_MAX - 64, folder);
  setenv("VYRE_CACHE_DIR", cache, 1);
  session_open(&s);
  check_good(&s);
  const char *entry = only_entry(cache);
  assert_non_null(entry);

  /* Served: the entry stays the same file, and no folder for the compiler is needed. */
  uint64_t inode = inode_of(entry);
  setenv("TMPDIR", "/nonexistent", 1);
  check_good(&s);
  unsetenv("TMPDIR");
  assert_int_equal(inode_of(entry), inode);

  /* Damaged in its header, its code, its end, cut, or emptied: made again. */
  static const long places[] = {0, 9, 30, 100, 130, 200, 5000, -1};
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
    change_byte(entry, places[i]);
    inode = inode_of(entry);
    check_good(&s);
    assert_int_not_equal(inode_of(only_entry(cache)), inode);
  }
  assert_int_equal(truncate(entry, 1000), 0);
  check_good(&s);
  assert_int_equal(truncate(entry, 0), 0);
  check_good(&s);
  setenv("TMPDIR", "/nonexistent", 1);
  check_good(&s);
  unsetenv("TMPDIR");

  /* Writable by others: not trusted. */
  assert_int_equal(chmod(entry, 0666), 0);
  inode = inode_of(entry);
  check_good(&s);
  assert_int_not_equal(inode_of(only_entry(cache)), inode);

  /* Another kernel's code under this name: not what was asked for. */
  char first[2 * PATH_MAX], second[PATH_MAX + 64];
  snprintf(first, sizeof(first), "%s", entry);
  snprintf(second, sizeof(second), "%s.elsewhere", cache);
  assert_int_equal(rename(first, second), 0);
  vyre_backend_module *module = module_load(&s.plugin, s.device, offences, 0);
  s.plugin.backend->module_unload(s.device, module);
  assert_int_equal(rename(only_entry(cache), first), 0);
  check_good(&s);
  unlink(second);
  remove_folder(cache);
  session_close(&s);
}

/* An entry that says it was made for an older native ABI, and is whole: made again, not opened. */
static void an_older_abi_in_the_cache(void **state)
{
  session s;
  char cache[PATH_MAX];
  unsigned char bytes[1 << 17], zeros[VYRE__HASH_SIZE] = {0};
  vyre__cpu_container header;
  vyre__plugin_sha256 hash;
  (void)state;
  snprintf(cache, sizeof(cache), "%.*s/older", PATH_MAX - 64, folder);
  setenv("VYRE_CACHE_DIR", cache, 1);
  session_open(&s);
  check_good(&s);
  const char *entry = only_entry(cache);
  FILE *file = fopen(entry, "r+");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof(bytes), file);
  assert_in_range(size, sizeof(header), sizeof(bytes) - 1);
  memcpy(&header, bytes, sizeof(header));
  assert_int_equal(header.native_abi, VYRE_NATIVE_ABI);
  header.native_abi = 1;
  memcpy(header.hash, zeros, sizeof(zeros));
  memcpy(bytes, &header, sizeof(header));
  vyre__plugin_sha256_init(&hash);
  vyre__plugin_sha256_add(&hash, bytes, size);
  vyre__plugin_sha256_final(&hash, header.hash);
  rewind(file);
  assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
  assert_int_equal(fclose(file), 0);
  check_good(&s);
  file = fopen(only_entry(cache), "r");
  assert_non_null(file);
  assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
  fclose(file);
  assert_int_equal(header.native_abi, VYRE_NATIVE_ABI);
  remove_folder(cache);
  session_close(&s);
}

static void a_cache_that_cannot_be_used_is_no_error(void **state)
{
  session s;
  char file[PATH_MAX];
  (void)state;
  session_open(&s);
  setenv("VYRE_CACHE_DIR", "/proc/nowhere/cache", 1);
  check_good(&s);
  snprintf(file, sizeof(file), "%.*s/file", PATH_MAX - 64, folder);
  close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  setenv("VYRE_CACHE_DIR", file, 1);
  check_good(&s);
  unlink(file);
  /* The folders of the standard, in their order. */
  unsetenv("VYRE_CACHE_DIR");
  char xdg[PATH_MAX + 32], home[PATH_MAX + 32], kept[PATH_MAX] = "";
  snprintf(kept, sizeof(kept), "%s", getenv("HOME") ? getenv("HOME") : "");
  setenv("XDG_CACHE_HOME", folder, 1);
  check_good(&s);
  snprintf(xdg, sizeof(xdg), "%s/vyre", folder);
  assert_non_null(only_entry(xdg));
  remove_folder(xdg);
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", folder, 1);
  check_good(&s);
  snprintf(home, sizeof(home), "%s/.cache/vyre", folder);
  assert_non_null(only_entry(home));
  remove_folder(home);
  if (kept[0])
    setenv("HOME", kept, 1);
  session_close(&s);
}

static int set_up(void **state)
{
  (void)state;
  snprintf(folder, sizeof(folder), "%s/cpu-compile-XXXXXX", VYRE_TEST_BINARY_DIR);
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
  static const char *const names[] = {"broken", "slow",   "liar",  "loud", "named", "deep/cache",
                                      "deep",   ".cache", "temps", "file", "older", ""};
  char path[PATH_MAX + 32];
  (void)state;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
    remove(path);
  }
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(complaints_have_the_authors_lines),
      cmocka_unit_test(entries_are_found_by_name),
      cmocka_unit_test(debug_builds_report_the_first_offence),
      cmocka_unit_test(no_compiler_says_what_was_tried),
      cmocka_unit_test(the_version_is_remembered),
      cmocka_unit_test(a_compiler_that_hangs_is_ended),
      cmocka_unit_test(temporary_files_are_kept_on_demand),
      cmocka_unit_test(the_cache_serves_and_heals),
      cmocka_unit_test(an_older_abi_in_the_cache),
      cmocka_unit_test(a_cache_that_cannot_be_used_is_no_error),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
