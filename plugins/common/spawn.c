/*
 * spawn.c - running a program without a shell: its output in one bounded text, a time limit, no
 * signal state of the host's, the C locale.
 */
#include "plugins/common/program.h"

#include "plugins/common/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Both ends away from 0, 1 and 2, which the child has other uses for. */
static bool open_pipe(int ends[2])
{
  int plain[2];
  if (pipe2(plain, O_CLOEXEC) != 0)
    return false;
  ends[0] = fcntl(plain[0], F_DUPFD_CLOEXEC, 3);
  ends[1] = fcntl(plain[1], F_DUPFD_CLOEXEC, 3);
  close(plain[0]);
  close(plain[1]);
  if (ends[0] >= 0 && ends[1] >= 0)
    return true;
  if (ends[0] >= 0)
    close(ends[0]);
  if (ends[1] >= 0)
    close(ends[1]);
  return false;
}

/*
 * The host's environment with the language of messages set to C, and a PATH if it has none: a
 * compiler looks for its assembler and linker there.  The caller frees the array.
 */
static char **child_environment(void)
{
  static char language[] = "LC_ALL=C", path[] = "PATH=" VYRE__PLUGIN_SAFE_PATH;
  size_t count = 0, kept = 0;
  bool has_path = false;
  while (environ && environ[count])
    ++count;
  char **copy = malloc((count + 3) * sizeof(*copy));
  for (size_t i = 0; copy && i < count; ++i) {
    has_path = has_path || strncmp(environ[i], "PATH=", 5) == 0;
    if (strncmp(environ[i], "LC_ALL=", 7) != 0 && strncmp(environ[i], "LANGUAGE=", 9) != 0)
      copy[kept++] = environ[i];
  }
  if (copy) {
    if (!has_path)
      copy[kept++] = path;
    copy[kept++] = language;
    copy[kept] = NULL;
  }
  return copy;
}

/* The error of posix_spawn().  The child leads a group of its own, so that all of it can be ended.
 */
static int start(char *const *arguments, char **environment, int output, pid_t *out_child)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGCHLD);
  sigaddset(&defaults, SIGTERM);
  sigaddset(&defaults, SIGINT);
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure)
    return failure;
  failure = posix_spawnattr_init(&attributes);
  if (failure) {
    posix_spawn_file_actions_destroy(&actions);
    return failure;
  }
  failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (!failure)
    failure = posix_spawn_file_actions_adddup2(&actions, output, 1);
  if (!failure)
    failure = posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  if (!failure)
    failure = posix_spawn(out_child, arguments[0], &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

/* Reads until the end or the deadline; false at the deadline.  What does not fit is dropped. */
static bool drain(int input, uint64_t deadline, vyre__plugin_run *run)
{
  uint64_t used = 0;
  char spill[4096];
  for (;;) {
    uint64_t now = vyre__plugin_clock_ns();
    uint64_t left = deadline > now ? deadline - now : 0;
    struct pollfd ready = {.fd = input, .events = POLLIN};
    uint64_t left_ms = (left + 999999u) / 1000000u;
    int count = poll(&ready, 1, left_ms > INT_MAX ? INT_MAX : (int)left_ms);
    if (count < 0 && errno == EINTR)
      continue;
    if (count == 0 && vyre__plugin_clock_ns() >= deadline)
      return false;
    if (count <= 0)
      continue;
    bool room = used + 1 < run->log_size;
    ssize_t got = read(input, room ? run->log + used : spill,
                       room ? run->log_size - 1 - used : sizeof(spill));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return true;
    if (room)
      used += (uint64_t)got;
    run->log[used] = '\0';
  }
}

static void reap(pid_t child, vyre__plugin_run *run)
{
  int state = 0;
  pid_t got;
  do
    got = waitpid(child, &state, 0);
  while (got < 0 && errno == EINTR);
  /* A host that ignores SIGCHLD leaves no state: the caller judges by what was written. */
  run->exit_code = got == child && WIFEXITED(state) ? WEXITSTATUS(state) : got == child ? -1 : 0;
  run->signal = got == child && WIFSIGNALED(state) ? WTERMSIG(state) : 0;
}

void vyre__plugin_run_program(char *const *arguments, uint64_t timeout_ns, vyre__plugin_run *run)
{
  int ends[2];
  pid_t child = 0;
  run->started = run->timed_out = false;
  run->exit_code = -1;
  run->signal = run->error_number = 0;
  run->log[0] = '\0';
  char **environment = child_environment();
  if (!environment) {
    run->error_number = ENOMEM;
    return;
  }
  if (!open_pipe(ends)) {
    run->error_number = errno;
    free(environment);
    return;
  }
  run->error_number = start(arguments, environment, ends[1], &child);
  free(environment);
  close(ends[1]);
  if (!run->error_number) {
    run->started = true;
    run->timed_out = !drain(ends[0], vyre__plugin_clock_ns() + timeout_ns, run);
    if (run->timed_out)
      kill(-child, SIGKILL);
    reap(child, run);
  }
  close(ends[0]);
}
