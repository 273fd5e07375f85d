/*
 * apt.c - runs apt-cache and takes the names out of what it prints.
 */
#include "apt.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* All of a descriptor, with a NUL behind it; NULL if it cannot be read. */
static char *read_all(int fd)
{
  size_t size = 0, capacity = 0;
  char *text = NULL, *grown;
  ssize_t n = 1;

  while (n != 0) {
    if (capacity - size < 2) {
      capacity = capacity == 0 ? 65536 : capacity * 2;
      grown = realloc(text, capacity);
      if (grown == NULL) {
        free(text);
        return NULL;
      }
      text = grown;
    }
    n = read(fd, text + size, capacity - size - 1);
    if (n < 0 && errno != EINTR) {
      free(text);
      return NULL;
    }
    size += n > 0 ? (size_t)n : 0;
  }
  text[size] = '\0';
  return text;
}

/* Runs a command and gives what it prints; 127 is "no such command", -1 anything else that failed
   before it ran. */
static int run(char *const *arguments, char **out_text)
{
  posix_spawn_file_actions_t actions;
  int ends[2], status = 0, problem;
  pid_t child;

  *out_text = NULL;
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return -1;
  }
  problem = posix_spawn_file_actions_init(&actions);
  if (problem == 0) {
    problem = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (problem == 0) {
      problem = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  if (problem == 0) {
    *out_text = read_all(ends[0]);
  }
  close(ends[0]);
  if (problem != 0) {
    return problem == ENOENT ? 127 : -1;
  }
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return -1;
    }
  }
  return *out_text != NULL && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * A line that begins with a name is a package; the lines below it, that begin with a blank or '|',
 * are what it needs, and each of those is a package further down.
 */
static bool collect(apt_names *n)
{
  size_t lines = 1, kept = 0;
  char *rest = NULL;

  for (const char *at = n->text; *at != '\0'; at++) {
    lines += *at == '\n';
  }
  n->names = malloc(lines * sizeof *n->names);
  if (n->names == NULL) {
    return false;
  }
  for (char *line = strtok_r(n->text, "\n", &rest); line != NULL;
       line = strtok_r(NULL, "\n", &rest)) {
    if (line[0] != ' ' && line[0] != '|' && line[0] != '<') {
      n->names[n->count++] = line;
    }
  }
  qsort(n->names, n->count, sizeof *n->names, compare_names);
  for (size_t i = 0; i < n->count; i++) {
    if (i == 0 || strcmp(n->names[i], n->names[kept - 1]) != 0) {
      n->names[kept++] = n->names[i];
    }
  }
  n->count = kept;
  return true;
}

apt_answer apt_ask(const char *package, const char *status, const char *native,
                   const char *architectures, apt_names *out_names)
{
  char status_option[4096], native_option[256], architectures_option[1024];
  const char *const arguments[] = {
      "apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests",
      "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances",
      /* This status file; no other source of packages, no opinion on versions, no cache kept. */
      "-o", status_option, "-o", native_option, "-o", architectures_option, "-o",
      "Dir::Etc::sourcelist=/dev/null", "-o", "Dir::Etc::sourceparts=/dev/null", "-o",
      "Dir::Etc::preferences=/dev/null", "-o", "Dir::Etc::preferencesparts=/dev/null", "-o",
      "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "--", package, NULL};
  int code;

  memset(out_names, 0, sizeof *out_names);
  snprintf(status_option, sizeof status_option, "Dir::State::status=%s", status);
  snprintf(native_option, sizeof native_option, "APT::Architecture=%s", native);
  snprintf(architectures_option, sizeof architectures_option, "APT::Architectures=%s",
           architectures);
  /* posix_spawn() takes the arguments as it takes them from main(), and changes none. */
  code = run((char *const *)arguments, &out_names->text);
  if (code == 0 && collect(out_names)) {
    return APT_ANSWERED;
  }
  apt_free(out_names);
  return code == 127 ? APT_ABSENT : APT_FAILED;
}

void apt_free(apt_names *names)
{
  free(names->names);
  free(names->text);
  memset(names, 0, sizeof *names);
}
