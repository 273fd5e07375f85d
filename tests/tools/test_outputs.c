/*
 * test_outputs.c - the files that `vyre run` writes where a program has two of them, and paths that
 * are hard to write to: all of them are whole, or none was touched.  And a cache of compiled
 * kernels that holds pipes.
 */
#include "spawn_vyre.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char kernel[] =
    "VYRE_SEGMENT(both)(vyre_ctx *c, VYRE_IN(vyre_u8) a, VYRE_OUT(vyre_u8) p, VYRE_OUT(vyre_u8) q)"
    "{ vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, p)) { vyre_at(c, p, i) = a[0]; vyre_at(c, q, i) = a[1]; } }\n";

static const char manifest[] =
    "{\"kernel\": \"both.c\", \"buffers\": [\n"
    "{\"name\": \"a\", \"access\": \"read_only\", \"element\": \"u8\", \"count\": 2},\n"
    "{\"name\": \"p\", \"access\": \"write_only\", \"element\": \"u8\", \"count\": 4},\n"
    "{\"name\": \"q\", \"access\": \"write_only\", \"element\": \"u8\", \"count\": 4}],\n"
    "\"segments\": [{\"kernel\": \"both\", \"bindings\": [\n"
    "{\"buffer\": \"a\", \"access\": \"read_only\"}, {\"buffer\": \"p\", \"access\": "
    "\"write_only\"},\n{\"buffer\": \"q\", \"access\": \"write_only\"}]}]}\n";

static char *folder;

static void put(const char *name, const char *text)
{
  char *path = path_in(folder, name);

  write_text(path, text);
  free(path);
}

static void expect_text(const char *name, const char *text)
{
  char *path = path_in(folder, name), *bytes;
  size_t size = 0;

  bytes = read_whole(path, &size);
  assert_non_null(bytes);
  assert_int_equal(size, strlen(text));
  assert_memory_equal(bytes, text, size);
  free(bytes);
  free(path);
}

/* `vyre run` with its outputs p and q; they begin with a `/` or lie in the folder. */
static spawned run(const char *p, const char *q)
{
  char *arguments[3], *bundle = path_in(folder, "both.vyreb");
  spawned result;
  int i;

  assert_true(asprintf(&arguments[0], "a=%s/in", folder) > 0);
  assert_true(asprintf(&arguments[1], "p=%s/%s", p[0] == '/' ? "" : folder, p) > 0);
  assert_true(asprintf(&arguments[2], "q=%s/%s", q[0] == '/' ? "" : folder, q) > 0);
  result = VYRE("run", bundle, "--in", arguments[0], "--out", arguments[1], arguments[2]);
  for (i = 0; i < 3; i++) {
    free(arguments[i]);
  }
  free(bundle);
  return result;
}

static int set_up(void **state)
{
  char *path, *bundle;
  spawned result;

  (void)state;
  folder = make_folder();
  put("both.c", kernel);
  put("both.json", manifest);
  put("in", "12");
  path = path_in(folder, "both.json");
  bundle = path_in(folder, "both.vyreb");
  result = VYRE("compile", path, "-o", bundle, "--target", "cpu");
  expect_exit(&result, 0);
  spawned_free(&result);
  free(path);
  free(bundle);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  remove_folder(folder);
  return 0;
}

static void test_two_files(void **state)
{
  spawned result = run("one", "two");

  (void)state;
  expect_exit(&result, 0);
  expect_text("one", "1111");
  expect_text("two", "2222");
  spawned_free(&result);
}

/* A device refuses when it is written, so the file beside it must not be replaced before. */
static void test_device_refuses(void **state)
{
  spawned result;

  (void)state;
  put("one", "old");
  result = run("one", "/dev/full");
  expect_exit(&result, 2);
  expect_err(&result, "/dev/full");
  expect_text("one", "old");
  spawned_free(&result);
  result = run("/dev/full", "one");
  expect_exit(&result, 2);
  expect_text("one", "old");
  spawned_free(&result);
}

static void test_one_file_twice(void **state)
{
  static const char *const again[] = {"one", "./one", "link", "new", "./new"};
  char *link = path_in(folder, "link");
  spawned result;
  size_t i;

  (void)state;
  put("one", "old");
  assert_int_equal(symlink("one", link), 0);
  for (i = 0; i < sizeof again / sizeof again[0]; i++) {
    result = run(i < 3 ? "one" : "new", again[i]);
    expect_exit(&result, 2);
    expect_err(&result, "two outputs go to this file");
    spawned_free(&result);
    expect_text("one", "old");
  }
  result = run("/dev/null", "/dev/null"); /* which loses nothing */
  expect_exit(&result, 0);
  spawned_free(&result);
  assert_int_equal(unlink(link), 0);
  free(link);
}

static void test_hard_paths(void **state)
{
  char name[256], *link = path_in(folder, "link");
  struct stat info;
  spawned result;

  (void)state;
  memset(name, 'n', 255); /* the longest that a folder takes */
  name[255] = '\0';
  result = run(name, "two");
  expect_exit(&result, 0);
  expect_text(name, "1111");
  spawned_free(&result);

  put("two", "old");
  assert_int_equal(symlink("nothing", link), 0);
  result = run("two", "link");
  expect_exit(&result, 2);
  expect_err(&result, "leads to nothing");
  expect_text("two", "old");
  spawned_free(&result);
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(unlink(link), 0);
  free(link);
}

static spawned run_source(const char *cache)
{
  char *environment = NULL, *in = NULL, *path = path_in(folder, "both.json");
  spawned result;

  assert_true(asprintf(&environment, "VYRE_CACHE_DIR=%s", cache) > 0);
  assert_true(asprintf(&in, "a=%s/in", folder) > 0);
  result = spawn_vyre_with(SPAWN_CAPTURE, (const char *const[]){environment, NULL},
                           (const char *const[]){"run", path, "--in", in, NULL});
  free(environment);
  free(in);
  free(path);
  return result;
}

/* A pipe in place of an entry is no entry; nobody waits for its writer. */
static void test_cache_of_pipes(void **state)
{
  char *cache = path_in(folder, "cache"), *path;
  spawned result = run_source(cache);
  struct dirent *entry;
  DIR *stream;
  int pipes = 0;

  (void)state;
  expect_exit(&result, 0);
  spawned_free(&result);
  stream = opendir(cache);
  assert_non_null(stream);
  while ((entry = readdir(stream)) != NULL) {
    if (entry->d_type == DT_REG) {
      path = path_in(cache, entry->d_name);
      assert_int_equal(unlink(path), 0);
      assert_int_equal(mkfifo(path, 0600), 0);
      free(path);
      pipes++;
    }
  }
  closedir(stream);
  assert_true(pipes > 0);
  result = run_source(cache);
  expect_exit(&result, 0);
  spawned_free(&result);
  free(cache);
}

/* A home that is not there is not made, and no cache is no error. */
static void test_cache_without_a_home(void **state)
{
  char *home = path_in(folder, "nobody"), *variable = NULL, *in = NULL;
  char *path = path_in(folder, "both.json");
  spawned result;
  struct stat about;

  (void)state;
  assert_true(asprintf(&variable, "HOME=%s", home) > 0);
  assert_true(asprintf(&in, "a=%s/in", folder) > 0);
  result = spawn_vyre_with(
      SPAWN_CAPTURE, (const char *const[]){variable, "-VYRE_CACHE_DIR", "-XDG_CACHE_HOME", NULL},
      (const char *const[]){"run", path, "--in", in, NULL});
  expect_exit(&result, 0);
  assert_int_not_equal(stat(home, &about), 0);
  spawned_free(&result);
  free(variable);
  free(path);
  free(home);
  free(in);
}

/* Without a PATH the compiler still finds its assembler and linker. */
static void test_no_path(void **state)
{
  char *in = NULL, *path = path_in(folder, "both.json");
  spawned result;

  (void)state;
  assert_true(asprintf(&in, "a=%s/in", folder) > 0);
  result =
      spawn_vyre_with(SPAWN_CAPTURE, (const char *const[]){"VYRE_CACHE_DIR=off", "-PATH", NULL},
                      (const char *const[]){"run", path, "--in", in, NULL});
  expect_exit(&result, 0);
  spawned_free(&result);
  free(path);
  free(in);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_files),      cmocka_unit_test(test_device_refuses),
      cmocka_unit_test(test_one_file_twice), cmocka_unit_test(test_hard_paths),
      cmocka_unit_test(test_cache_of_pipes), cmocka_unit_test(test_cache_without_a_home),
      cmocka_unit_test(test_no_path),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
