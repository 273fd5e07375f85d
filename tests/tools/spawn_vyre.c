/*
 * spawn_vyre.c - see spawn_vyre.h.
 */
#include "spawn_vyre.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char *read_fd(int fd, size_t *out_size)
{
  struct stat info;
  size_t used = 0;
  ssize_t got;
  char *text;

  assert_int_equal(fstat(fd, &info), 0);
  text = malloc((size_t)info.st_size + 1);
  assert_non_null(text);
  while (used < (size_t)info.st_size) {
    got = pread(fd, text + used, (size_t)info.st_size - used, (off_t)used);
    assert_true(got > 0);
    used += (size_t)got;
  }
  text[used] = '\0';
  *out_size = used;
  return text;
}

/* In the child: only calls that are safe after fork. */
static void become_vyre(spawn_stdout where, int out, int err, int broken, char **arguments,
                        char **environment)
{
  int fd = out;

  if (where == SPAWN_FULL) {
    fd = open("/dev/full", O_WRONLY);
  } else if (where == SPAWN_BROKEN) {
    fd = broken;
  }
  if (where == SPAWN_CLOSED) {
    close(STDOUT_FILENO);
  } else {
    dup2(fd, STDOUT_FILENO);
  }
  dup2(err, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  execve(arguments[0], arguments, environment);
  _exit(126);
}

extern char **environ;

/* True if `extra` has "-NAME" for this variable. */
static int is_removed(const char *const *extra, const char *variable)
{
  const size_t length = strcspn(variable, "=");

  for (; extra != NULL && *extra != NULL; extra++) {
    if ((*extra)[0] == '-' && strlen(*extra + 1) == length &&
        memcmp(*extra + 1, variable, length) == 0) {
      return 1;
    }
  }
  return 0;
}

/* The test's environment with `extra` in front, which wins. */
static char **make_environment(const char *const *extra)
{
  size_t count = 0, more = 0, kept = 0, i;
  char **list;

  while (environ[count] != NULL) {
    count++;
  }
  while (extra != NULL && extra[more] != NULL) {
    more++;
  }
  list = calloc(count + more + 1, sizeof *list);
  assert_non_null(list);
  for (i = 0; i < more; i++) {
    if (extra[i][0] != '-') {
      list[kept++] = (char *)(uintptr_t)extra[i];
    }
  }
  for (i = 0; i < count; i++) {
    if (!is_removed(extra, environ[i])) {
      list[kept++] = environ[i];
    }
  }
  return list;
}

spawned spawn_vyre_with(spawn_stdout where, const char *const *environment,
                        const char *const *arguments)
{
  char **list = make_environment(environment), **argv;
  int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
  int broken[2], wait_status = 0;
  size_t count = 0, i;
  spawned result;
  pid_t child;

  while (arguments[count] != NULL) {
    count++;
  }
  argv = calloc(count + 2, sizeof *argv);
  assert_non_null(argv);
  argv[0] = (char *)(uintptr_t)VYRE_TEST_BINARY_DIR "/bin/vyre";
  for (i = 0; i < count; i++) {
    argv[i + 1] = (char *)(uintptr_t)arguments[i];
  }
  assert_true(out >= 0 && err >= 0);
  assert_int_equal(pipe2(broken, O_CLOEXEC), 0);
  close(broken[0]);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    become_vyre(where, out, err, broken[1], argv, list);
  }
  while (waitpid(child, &wait_status, 0) < 0) {
    assert_int_equal(errno, EINTR);
  }
  result.exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  result.out = read_fd(out, &result.out_size);
  result.err = read_fd(err, &result.err_size);
  close(out);
  close(err);
  close(broken[1]);
  free(argv);
  free(list);
  return result;
}

spawned spawn_vyre(const char *const *arguments)
{
  return spawn_vyre_with(SPAWN_CAPTURE, NULL, arguments);
}

void spawned_free(spawned *result)
{
  free(result->out);
  free(result->err);
}

static void print_both(const spawned *result)
{
  print_message("exit status %d\nstdout: %.2000s\nstderr: %.4000s\n", result->exit_status,
                result->out, result->err);
}

void expect_exit(const spawned *result, int exit_status)
{
  if (result->exit_status != exit_status) {
    print_both(result);
  }
  assert_int_equal(result->exit_status, exit_status);
}

static void expect_text(const spawned *result, const char *where, const char *text)
{
  if (strstr(where, text) == NULL) {
    print_message("missing: %s\n", text);
    print_both(result);
    fail();
  }
}

void expect_err(const spawned *result, const char *text)
{
  expect_text(result, result->err, text);
}

void expect_out(const spawned *result, const char *text)
{
  expect_text(result, result->out, text);
}

/* ---- files ---- */

char *make_folder(void)
{
  const char *base = getenv("TMPDIR");
  char *folder = NULL;

  assert_true(asprintf(&folder, "%s/vyre-test.XXXXXX", base != NULL ? base : "/tmp") > 0);
  assert_non_null(mkdtemp(folder));
  return folder;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
  (void)info;
  (void)type;
  (void)ftw;
  return remove(path);
}

void remove_folder(char *folder)
{
  assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
  free(folder);
}

char *path_in(const char *folder, const char *name)
{
  char *path = NULL;

  assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
  return path;
}

void write_file(const char *path, const void *bytes, size_t size)
{
  FILE *file = fopen(path, "wb");

  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

void write_text(const char *path, const char *text)
{
  write_file(path, text, strlen(text));
}

char *read_whole(const char *path, size_t *out_size)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  char *text;

  if (fd < 0) {
    return NULL;
  }
  text = read_fd(fd, out_size);
  close(fd);
  return text;
}

bool exists(const char *path)
{
  struct stat info;

  return lstat(path, &info) == 0;
}
