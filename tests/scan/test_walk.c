/*
 * test_walk.c - which files a scan takes, under which names and in which order.
 */
#include "tools/scan/support.h"
#include "tools/scan/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

/* Every test runs in a fresh directory, and all its paths are relative. */
static char home[] = "/tmp/vyre-walk-XXXXXX";

/* What the walk reported, as lines of "N path: cause" or "E path: cause". */
static char reports[8192];

static void note(void *user, vyre__walk_level level, const char *path, const char *cause)
{
  const size_t used = strlen(reports);

  assert_ptr_equal(user, reports);
  (void)snprintf(reports + used, sizeof reports - used, "%c %s: %s\n",
                 level == VYRE__WALK_ERROR ? 'E' : 'N', path, cause);
}

static void make_file(const char *path, size_t size)
{
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(ftruncate(fd, (off_t)size), 0);
  assert_int_equal(close(fd), 0);
}

static void make_dir(const char *path)
{
  assert_int_equal(mkdir(path, 0755), 0);
}

static int set_up(void **state)
{
  (void)state;
  (void)snprintf(home, sizeof home, "/tmp/vyre-walk-XXXXXX");
  reports[0] = 0;
  return mkdtemp(home) == NULL || chmod(home, 0755) != 0 || chdir(home) != 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
  (void)info;
  (void)type;
  (void)ftw;
  return remove(path);
}

static int tear_down(void **state)
{
  (void)state;
  return chdir("/") != 0 || nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}

/* Walks `paths` (ended by NULL) and holds the list against `expected`, one path a line. */
static vyre__walk_list walk(const char *const *paths, const char *expected)
{
  static char listed[65536];
  vyre_error err = VYRE_ERROR_INIT;
  vyre__walk_list list = {0};
  size_t count = 0, used = 0, i;

  while (paths[count] != NULL) {
    count++;
  }
  assert_int_equal(vyre__walk(paths, count, note, reports, &list, &err), VYRE_OK);
  listed[0] = 0;
  for (i = 0; i < list.count; i++) {
    used += (size_t)snprintf(listed + used, sizeof listed - used, "%s\n", list.files[i].path);
    assert_true(used < sizeof listed);
  }
  assert_string_equal(listed, expected);
  return list;
}

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_order_and_names(void **state)
{
  vyre__walk_list list;

  (void)state;
  make_dir("a");
  make_dir("a/sub");
  make_dir("a/sub/.hidden");
  make_dir("empty");
  make_file("a-b", 3);
  make_file("a/.dot", 0);
  make_file("a/sub/.hidden/x", 5);
  make_file("a/sub0", 1);
  make_file("a/\xff", 1);
  make_file("a/Z", 1);
  make_file("a/line\nend", 1);
  list = walk(PATHS("empty", "a//", "a-b"), "a-b\na/.dot\na/Z\na/line\nend\na/sub/.hidden/x\n"
                                            "a/sub0\na/\xff\n");
  assert_int_equal(list.files[0].size, 3);
  assert_true(list.files[0].regular && list.files[0].given && !list.files[1].given);
  assert_int_equal(list.errors, 0);
  assert_string_equal(reports, "");
  vyre__walk_destroy(&list);
  assert_null(list.files);
  list = walk(PATHS("empty"), "");
  vyre__walk_destroy(&list);
}

static void test_duplicates(void **state)
{
  vyre__walk_list list;

  (void)state;
  make_dir("d");
  make_dir("d/e");
  make_file("d/e/f", 1);
  make_file("d/g", 1);
  list = walk(PATHS("d/e", "d", "d/", "d/g", "d/g", "./d/g"), "./d/g\nd/e/f\nd/g\n");
  assert_true(list.files[2].given);
  vyre__walk_destroy(&list);
  assert_int_equal(chdir("d"), 0);
  list = walk(PATHS("."), "./e/f\n./g\n");
  vyre__walk_destroy(&list);
  assert_int_equal(chdir(".."), 0);
}

static void test_links(void **state)
{
  vyre__walk_list list;

  (void)state;
  make_dir("t");
  make_dir("out");
  make_file("out/f", 7);
  make_file("t/g", 1);
  assert_int_equal(symlink("../out", "t/dir-link"), 0);
  assert_int_equal(symlink("../out/f", "t/file-link"), 0);
  assert_int_equal(symlink("..", "t/loop"), 0);
  assert_int_equal(symlink("nowhere", "t/broken"), 0);
  assert_int_equal(link("t/g", "t/hard"), 0);
  list = walk(PATHS("t"), "t/g\nt/hard\n");
  vyre__walk_destroy(&list);
  assert_string_equal(reports, "");
  list = walk(PATHS("t/dir-link", "t/file-link", "t"), "t/dir-link/f\nt/file-link\nt/g\nt/hard\n");
  assert_int_equal(list.files[1].size, 7);
  vyre__walk_destroy(&list);
  assert_string_equal(reports, "");
  list = walk(PATHS("t/broken", "out"), "out/f\n");
  assert_int_equal(list.errors, 1);
  assert_string_equal(reports, "E t/broken: No such file or directory\n");
  vyre__walk_destroy(&list);
}

static void test_special_files(void **state)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s/socket"};
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  vyre__walk_list list;
  bool device;

  (void)state;
  make_dir("s");
  make_file("s/file", 1);
  assert_int_equal(mkfifo("s/pipe", 0644), 0);
  assert_true(fd >= 0);
  assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
  device = mknod("s/null", S_IFCHR | 0644, makedev(1, 3)) == 0; /* root alone may */
  list = walk(PATHS("s"), "s/file\n");
  assert_int_equal(list.errors, 0);
  assert_non_null(strstr(reports, "N s/pipe: a pipe inside a tree is not read\n"));
  assert_non_null(strstr(reports, "N s/socket: a socket inside a tree is not read\n"));
  assert_true(!device || strstr(reports, "N s/null: a device inside a tree is not read\n") != NULL);
  vyre__walk_destroy(&list);
  reports[0] = 0;
  list = walk(PATHS("s/pipe", "/dev/null", "s/socket"), "/dev/null\ns/pipe\n");
  assert_false(list.files[0].regular);
  assert_false(list.files[1].regular);
  assert_int_equal(list.errors, 1);
  assert_string_equal(reports, "E s/socket: a socket cannot be read\n");
  vyre__walk_destroy(&list);
  assert_int_equal(close(fd), 0);
}

/* What cannot be read is told, and the rest goes on. */
static void test_errors(void **state)
{
  const bool root = geteuid() == 0;
  vyre__walk_list list;

  (void)state;
  make_dir("p");
  make_dir("p/closed");
  make_dir("p/open");
  make_file("p/closed/f", 1);
  make_file("p/open/f", 1);
  assert_int_equal(chmod("p/closed", 0), 0);
  if (root) {
    assert_int_equal(seteuid(65534), 0);
  }
  list = walk(PATHS("missing", "", "p/open/f/x", "p"), "p/open/f\n");
  if (root) {
    assert_int_equal(seteuid(0), 0);
  }
  assert_int_equal(list.errors, 4);
  assert_string_equal(reports, "E missing: No such file or directory\n"
                               "E : No such file or directory\n"
                               "E p/open/f/x: Not a directory\n"
                               "E p/closed: Permission denied\n");
  vyre__walk_destroy(&list);
  assert_int_equal(chmod("p/closed", 0755), 0);
}

/* A tree deeper than recursion or open files would bear, and paths that fill several blocks. */
static void test_deep_and_wide(void **state)
{
  vyre__walk_list list = {0};
  char path[4000], name[64];
  size_t used = 1, depth = 0;
  int i;

  (void)state;
  (void)snprintf(path, sizeof path, "x");
  make_dir(path);
  while (used < sizeof path - 8) {
    used += (size_t)sprintf(path + used, "/d");
    make_dir(path);
    depth++;
  }
  (void)snprintf(path + used, sizeof path - used, "/f");
  make_file(path, 1);
  make_dir("wide");
  for (i = 0; i < 3000; i++) {
    (void)sprintf(name, "wide/a-name-that-takes-some-room-%05d", i * 7919 % 3000);
    make_file(name, 0);
  }
  assert_int_equal(vyre__walk(PATHS("x", "wide"), 2, NULL, NULL, &list, NULL), VYRE_OK);
  assert_true(depth > 1900);
  assert_int_equal(list.count, 3001);
  assert_true(list.block_count > 1);
  assert_string_equal(list.files[3000].path, path);
  for (i = 0; i < 3000; i++) {
    (void)sprintf(name, "wide/a-name-that-takes-some-room-%05d", i);
    assert_string_equal(list.files[i].path, name);
  }
  vyre__walk_destroy(&list);
}

static void test_allocation_failures(void **state)
{
  char name[300];
  uint64_t nth;
  int i;

  (void)state;
  make_dir("m");
  make_dir("m/n");
  for (i = 0; i < 400; i++) { /* enough to grow every list */
    (void)snprintf(name, sizeof name, "m/%0240d", i);
    make_file(name, 0);
  }
  for (i = 0; i < 40; i++) {
    (void)snprintf(name, sizeof name, "m/n/%d", i);
    make_dir(name);
  }
  for (nth = 1;; nth++) {
    vyre__walk_list list = {0};
    vyre_error err = VYRE_ERROR_INIT;
    vyre_status status;
    vyre__scan_fail_nth(nth);
    status = vyre__walk(PATHS("m"), 1, NULL, NULL, &list, &err);
    if (!vyre__scan_fail_happened()) {
      vyre__scan_fail_nth(0);
      assert_int_equal(status, VYRE_OK);
      assert_int_equal(list.count, 400);
      vyre__walk_destroy(&list);
      break;
    }
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(err.code, status);
    assert_null(list.files);
  }
  assert_true(nth > 8);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_order_and_names),     TEST(test_duplicates), TEST(test_links),
      TEST(test_special_files),       TEST(test_errors),     TEST(test_deep_and_wide),
      TEST(test_allocation_failures),
  };
  return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
