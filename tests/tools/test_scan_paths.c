/*
 * test_scan_paths.c - `vyre scan`: rules files, what is scanned and what is not, exit statuses,
 * errors that leave the rest standing, and output that cannot be written.
 */
#include "spawn_vyre.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct place {
  char *folder, *rules, *tree;
} place;

/* A rules file with one rule, and an empty tree. */
static int set_up(void **state)
{
  place *p = malloc(sizeof *p);

  assert_non_null(p);
  p->folder = make_folder();
  p->rules = path_in(p->folder, "rules");
  p->tree = path_in(p->folder, "tree");
  write_text(p->rules, "key SECRET\n");
  assert_int_equal(mkdir(p->tree, 0755), 0);
  *state = p;
  return 0;
}

static int tear_down(void **state)
{
  place *p = *state;

  free(p->rules);
  free(p->tree);
  remove_folder(p->folder);
  free(p);
  return 0;
}

static void put(const char *folder, const char *name, const char *text)
{
  char *path = path_in(folder, name);

  write_text(path, text);
  free(path);
}

static void expect_lines(const spawned *result, const char *folder, const char *const *lines)
{
  char *want = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&want, &size);

  assert_non_null(stream);
  for (; *lines != NULL; lines++) {
    fprintf(stream, "%s/%s\n", folder, *lines);
  }
  assert_int_equal(fclose(stream), 0);
  assert_string_equal(result->out, want);
  free(want);
}
#define EXPECT_LINES(result, folder, ...)                                                          \
  expect_lines((result), (folder), (const char *const[]){__VA_ARGS__, NULL})

/* ---- what is scanned ---- */

static void test_order_and_hidden(void **state)
{
  const place *p = *state;
  char *sub = path_in(p->tree, "a");
  spawned result;

  assert_int_equal(mkdir(sub, 0755), 0);
  put(sub, "x", "SECRET");
  put(p->tree, "a-b", "xxSECRETSECRET");
  put(p->tree, ".hidden", "SECRET");
  put(p->tree, "empty", "");
  result = VYRE("scan", "-r", p->rules, p->tree);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, p->tree, ".hidden:0:key", "a-b:2:key", "a-b:8:key", "a/x:0:key");
  assert_int_equal(result.err_size, 0);
  spawned_free(&result);
  /* Paths given in another order, with a slash, and twice. */
  result = VYRE("scan", sub, "--rules", p->rules, p->tree, sub);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, p->tree, ".hidden:0:key", "a-b:2:key", "a-b:8:key", "a/x:0:key");
  spawned_free(&result);
  free(sub);
}

static void test_links(void **state)
{
  const place *p = *state;
  char *target = path_in(p->folder, "target"), *link_path = path_in(p->tree, "link");
  char *tree_link = path_in(p->folder, "tree-link"), *loop = path_in(p->tree, "loop");
  spawned result;

  write_text(target, "SECRET");
  put(p->tree, "plain", "SECRET");
  assert_int_equal(symlink(target, link_path), 0);
  assert_int_equal(symlink(p->tree, tree_link), 0);
  assert_int_equal(symlink(p->tree, loop), 0); /* a tree inside itself */
  result = VYRE("scan", "-r", p->rules, p->tree);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, p->tree, "plain:0:key");
  assert_int_equal(result.err_size, 0);
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, link_path);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, p->tree, "link:0:key");
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, tree_link);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, tree_link, "plain:0:key");
  spawned_free(&result);
  free(target);
  free(link_path);
  free(tree_link);
  free(loop);
}

static void test_special_files(void **state)
{
  const place *p = *state;
  char *fifo = path_in(p->tree, "fifo"), *path = path_in(p->tree, "socket");
  struct sockaddr_un address;
  spawned result;
  int fd;

  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  assert_true(strlen(path) < sizeof address.sun_path);
  strcpy(address.sun_path, path);
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(mkfifo(fifo, 0644), 0);
  put(p->tree, "plain", "SECRET");
  result = VYRE("scan", "-r", p->rules, p->tree);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, p->tree, "plain:0:key");
  expect_err(&result, "fifo");
  expect_err(&result, "socket");
  expect_err(&result, "note");
  spawned_free(&result);
  result = VYRE("scan", "-q", "-r", p->rules, p->tree);
  expect_exit(&result, 0);
  assert_int_equal(result.out_size + result.err_size, 0);
  spawned_free(&result);
  close(fd);
  free(fifo);
  free(path);
}

static void test_system_files(void **state)
{
  const place *p = *state;
  spawned result;

  put(p->folder, "rules", "cpu processor\nnever \\xff\\xfe\\xfd\\xfc\\xfb\\xfa\n");
  /* A file whose size is told as 0, and one that is no regular file. */
  result = VYRE("scan", "-r", p->rules, "/proc/cpuinfo");
  expect_exit(&result, 0);
  expect_out(&result, "/proc/cpuinfo:0:cpu\n");
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, "/dev/null");
  expect_exit(&result, 1);
  spawned_free(&result);
}

static void test_errors_leave_the_rest(void **state)
{
  const place *p = *state;
  char *missing = path_in(p->folder, "missing"), *dangling = path_in(p->folder, "dangling");
  char *loop = path_in(p->folder, "loop"), *locked = path_in(p->tree, "locked");
  spawned result;

  assert_int_equal(symlink("nowhere", dangling), 0);
  assert_int_equal(symlink("loop", loop), 0);
  put(p->tree, "plain", "..SECRET");
  write_text(locked, "SECRET");
  assert_int_equal(chmod(locked, 0), 0);
  result = VYRE("scan", "-r", p->rules, missing, dangling, loop, p->tree);
  expect_exit(&result, 2);
  expect_out(&result, "/tree/plain:2:key\n");
  expect_err(&result, "/missing: No such file");
  expect_err(&result, "/dangling: No such file");
  expect_err(&result, "/loop: Too many levels");
  if (geteuid() != 0) {
    expect_err(&result, "/locked: Permission denied");
  }
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, "--quiet", missing);
  expect_exit(&result, 2);
  expect_err(&result, "/missing");
  spawned_free(&result);
  free(missing);
  free(dangling);
  free(loop);
  free(locked);
}

/* ---- rules ---- */

static void test_many_rules_files(void **state)
{
  const place *p = *state;
  char *one = path_in(p->folder, "one"), *two = path_in(p->folder, "two");
  char *all = path_in(p->folder, "all"), *data = path_in(p->tree, "data");
  spawned first, second;

  write_text(one, "z ab\r\n# comment\n\n  b (?i)AB\n");
  write_text(two, "a b\\x41\\\\\n");
  write_text(all, "a b\\x41\\\\\nz ab\nb (?i)AB\n");
  write_text(data, "abA\\ABaBbA\\");
  first = VYRE("scan", "-r", one, "-r", two, data);
  second = VYRE("scan", "-r", all, data);
  expect_exit(&first, 0);
  assert_string_equal(first.out, second.out);
  EXPECT_LINES(&first, p->tree, "data:0:b", "data:0:z", "data:1:a", "data:4:b", "data:6:b",
               "data:8:a");
  spawned_free(&first);
  spawned_free(&second);
  first = VYRE("scan", "-r", one, "-r", two, "-r", one, data);
  expect_exit(&first, 2);
  expect_err(&first, "one:");
  assert_int_equal(first.out_size, 0);
  spawned_free(&first);
  free(one);
  free(two);
  free(all);
  free(data);
}

static void test_bad_rules(void **state)
{
  static const char *const bad[][2] = {
      {"", "rule"},          {"# nothing\n\n", "rule"}, {"id\n", ":1"},
      {"ok x\nid \n", ":2"}, {"a x\n\na y\n", ":3"},    {"a \\q\n", ":1"},
      {"a \\x4\n", ":1"},    {"a (?i)\n", ":1"},        {"ok x\nbad \\", ":2"},
  };
  const place *p = *state;
  size_t i;

  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    spawned result;
    put(p->folder, "rules", bad[i][0]);
    result = VYRE("scan", "-r", p->rules, p->tree);
    expect_exit(&result, 2);
    expect_err(&result, p->rules);
    expect_err(&result, bad[i][1]);
    expect_err(&result, "fix: ");
    assert_int_equal(result.out_size, 0);
    spawned_free(&result);
  }
  {
    spawned result = VYRE("scan", "-r", "/nonexistent/rules", p->tree);
    expect_exit(&result, 2);
    expect_err(&result, "/nonexistent/rules");
    spawned_free(&result);
  }
}

/* ---- output ---- */

static void test_json(void **state)
{
  const place *p = *state;
  char *strange = path_in(p->tree, "q\"\\\x01\n\xc3\xa9"), *raw = path_in(p->tree, "\xff\xfe!");
  spawned result;
  json_t *object;
  char *end;

  put(p->folder, "rules", "k\xc3\xa9y\"\\ SECRET\n");
  write_text(strange, "..SECRET");
  write_text(raw, "SECRET");
  result = VYRE("scan", "-r", p->rules, "--json", p->tree);
  expect_exit(&result, 0);
  end = strchr(result.out, '\n');
  assert_non_null(end);
  object = json_loadb(result.out, (size_t)(end - result.out), 0, NULL);
  assert_non_null(object);
  assert_string_equal(json_string_value(json_object_get(object, "path")), strange);
  assert_int_equal(json_integer_value(json_object_get(object, "offset")), 2);
  assert_int_equal(json_integer_value(json_object_get(object, "length")), 6);
  assert_string_equal(json_string_value(json_object_get(object, "rule")), "k\xc3\xa9y\"\\");
  json_decref(object);
  object = json_loads(end + 1, 0, NULL);
  assert_non_null(object);
  assert_null(json_object_get(object, "path"));
  assert_non_null(json_object_get(object, "path_b64"));
  json_decref(object);
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, "--json", "--count", strange);
  expect_exit(&result, 0);
  object = json_loads(result.out, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(object, "count")), 1);
  json_decref(object);
  spawned_free(&result);
  free(strange);
  free(raw);
}

static void test_stats(void **state)
{
  static const char *const words[] = {"files     2",    "bytes     18", "matches   3",
                                      "device    cpu:", "engine    ",   "seconds   ",
                                      "GB/s      ",     "launches  ",   "errors    0"};
  const place *p = *state;
  spawned result;
  size_t i;

  put(p->tree, "a", "SECRETSECRET");
  put(p->tree, "b", "SECRET");
  result = VYRE("scan", "-r", p->rules, "--device", "cpu", "--stats", p->tree);
  expect_exit(&result, 0);
  for (i = 0; i < sizeof words / sizeof words[0]; i++) {
    expect_err(&result, words[i]);
  }
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, "--engine", "disable", "--stats", p->tree);
  expect_exit(&result, 0);
  expect_err(&result, "engine    batched: ");
  spawned_free(&result);
}

/* The same lines from several engines as from one, and what cannot be selected. */
static void test_several_devices(void **state)
{
  const place *p = *state;
  spawned result;

  put(p->tree, "a", "SECRETSECRET");
  put(p->tree, "b", "SECRET");
  result =
      VYRE("scan", "-r", p->rules, "-d", "cpu", "-d", "cpu:0", "-d", "cpu:*", "--stats", p->tree);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, p->tree, "a:0:key", "a:6:key", "b:0:key");
  expect_err(&result, "device    cpu:0");
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, "-d", "cpu", "-d", "nosuch:*", p->tree);
  expect_exit(&result, 2);
  expect_err(&result, "plugin 'nosuch' has no device here");
  assert_int_equal(result.out_size, 0);
  spawned_free(&result);
  result = VYRE("scan", "-r", p->rules, "-d", "cpu", "-d", "nosuch", p->tree);
  expect_exit(&result, 2);
  expect_err(&result, "fix: ");
  spawned_free(&result);
}

static void test_output_errors(void **state)
{
  static const spawn_stdout broken[] = {SPAWN_FULL, SPAWN_BROKEN, SPAWN_CLOSED};
  const place *p = *state;
  const char *arguments[] = {"scan", "-r", p->rules, p->tree, NULL};
  size_t i;

  put(p->tree, "a", "SECRET");
  for (i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    spawned result = spawn_vyre_with(broken[i], NULL, arguments);
    expect_exit(&result, 2);
    expect_err(&result, "cannot write to standard output");
    spawned_free(&result);
  }
}

/* Far more output than a buffer holds, to somebody who went away. */
static void test_output_broken_early(void **state)
{
  const place *p = *state;
  const char *arguments[] = {"scan", "-r", p->rules, p->tree, NULL};
  char *path = path_in(p->tree, "big"), *bytes = malloc(1 << 20);
  spawned result;

  assert_non_null(bytes);
  memset(bytes, 'a', 1 << 20);
  write_file(path, bytes, 1 << 20);
  put(p->folder, "rules", "a a\n");
  result = spawn_vyre_with(SPAWN_BROKEN, NULL, arguments);
  expect_exit(&result, 2);
  expect_err(&result, "Broken pipe");
  spawned_free(&result);
  free(path);
  free(bytes);
}

static void test_usage(void **state)
{
  const place *p = *state;
  const char *const wrong[][6] = {
      {"scan", NULL},
      {"scan", p->tree, NULL},
      {"scan", "-r", p->rules, NULL},
      {"scan", "-r", p->rules, p->tree, "--engine=fast", NULL},
      {"scan", "-r", p->rules, p->tree, "--piece-size=0", NULL},
      {"scan", "-r", p->rules, p->tree, "--nonsense", NULL},
      {"scan", "-r", NULL},
  };
  size_t i;
  spawned result;

  for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    result = spawn_vyre(wrong[i]);
    expect_exit(&result, 2);
    expect_err(&result, "Try 'vyre scan --help'.");
    assert_int_equal(result.out_size, 0);
    spawned_free(&result);
  }
  result = VYRE("scan", "-r", p->rules, "--device", "nosuch", p->tree);
  expect_exit(&result, 2);
  expect_err(&result, "fix: ");
  spawned_free(&result);
}

/* A scan needs no compiler: the handler was compiled by the build. */
static void test_without_compiler(void **state)
{
  const place *p = *state;
  char *cache = NULL;
  const char *environment[] = {"PATH=/nonexistent", "VYRE_CC=/nonexistent/cc", NULL, NULL};
  const char *arguments[] = {"scan", "-r", p->rules, p->tree, NULL};
  spawned result;

  assert_true(asprintf(&cache, "VYRE_CACHE_DIR=%s/cache", p->folder) > 0);
  environment[2] = cache;
  put(p->tree, "a", "SECRET");
  result = spawn_vyre_with(SPAWN_CAPTURE, environment, arguments);
  expect_exit(&result, 0);
  EXPECT_LINES(&result, p->tree, "a:0:key");
  spawned_free(&result);
  free(cache);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_order_and_hidden),
      TEST(test_links),
      TEST(test_special_files),
      TEST(test_system_files),
      TEST(test_errors_leave_the_rest),
      TEST(test_many_rules_files),
      TEST(test_bad_rules),
      TEST(test_json),
      TEST(test_stats),
      TEST(test_several_devices),
      TEST(test_output_errors),
      TEST(test_output_broken_early),
      TEST(test_usage),
      TEST(test_without_compiler),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
