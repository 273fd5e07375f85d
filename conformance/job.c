/* job.c - the parent's side of a case's process; see job.h. */
#include "conformance/job.h"

#include "conformance/coverage.h"
#include "conformance/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define OUTPUT_KEPT 600u
#define MAX_JOBS 256u

typedef struct job {
  conform_result *result; /* NULL: free */
  const char *name;
  conform_report *report; /* shared with the child */
  int report_fd;
  pid_t pid;
  int pid_fd; /* readable when the child has ended */
  int output; /* what it prints; -1 once closed */
  char printed[OUTPUT_KEPT];
  size_t printed_size;
  uint64_t begin_ns, deadline_ns;
  uint64_t cpu_ns; /* of the child, and of those for which it has waited */
  bool timed_out;
  int sent; /* the signal that it has sent to us, or 0 */
} job;

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- starting ---- */

static bool map_report(job *j)
{
  j->report_fd = memfd_create("vyre-conform", 0);
  if (j->report_fd < 0 || ftruncate(j->report_fd, sizeof *j->report))
    return false;
  j->report = mmap(NULL, sizeof *j->report, PROT_READ | PROT_WRITE, MAP_SHARED, j->report_fd, 0);
  if (j->report == MAP_FAILED)
    j->report = NULL;
  return j->report != NULL;
}

static bool spawn(job *j, const conform_options *options, const char *self)
{
  char fd[16], device[16], seed[32];
  const char *arguments[16] = {self,       "--case", j->name,  "--report-fd", fd,
                               "--device", device,   "--seed", seed};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int ends[2], failure = 0, count = 9;
  if (options->kernels) {
    arguments[count++] = "--kernels";
    arguments[count++] = options->kernels;
  }
  arguments[count++] = "--";
  arguments[count++] = options->plugin;
  snprintf(fd, sizeof fd, "%d", j->report_fd);
  snprintf(device, sizeof device, "%u", options->device);
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)options->seed);
  if (pipe2(ends, O_CLOEXEC))
    return false;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawnattr_init(&attributes);
  /* A group of its own: what it starts goes with it. */
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  failure =
      posix_spawn(&j->pid, self, &actions, &attributes, (char **)(uintptr_t)arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  j->output = ends[0];
  if (failure) {
    errno = failure;
    return false;
  }
  conform_watch_add(j->pid);
  fcntl(j->output, F_SETFL, O_NONBLOCK);
  j->pid_fd = (int)syscall(SYS_pidfd_open, j->pid, 0);
  return true;
}

/* What it holds in this process. */
static void drop(job *j)
{
  if (j->output >= 0)
    close(j->output);
  if (j->pid_fd >= 0)
    close(j->pid_fd);
  if (j->report)
    munmap(j->report, sizeof *j->report);
  if (j->report_fd >= 0)
    close(j->report_fd);
  memset(j, 0, sizeof *j);
}

static bool start(job *j, const char *name, uint32_t timeout_s, const conform_options *options,
                  const char *self)
{
  memset(j, 0, sizeof *j);
  j->name = name;
  j->output = j->pid_fd = j->report_fd = -1;
  if (!map_report(j) || !spawn(j, options, self)) {
    fprintf(stderr, "vyre-conform: error: a process for '%s' could not be started: %s\n", name,
            strerror(errno));
    drop(j);
    return false;
  }
  j->begin_ns = now_ns();
  j->deadline_ns = j->begin_ns + timeout_s * 1000000000ull;
  return true;
}

/* ---- watching ---- */

/* Takes what is there; keeps its beginning, drops the rest of an endless one. */
static void read_output(job *j)
{
  char bytes[4096];
  ssize_t got = 0;
  for (int turns = 0; turns < 64 && (got = read(j->output, bytes, sizeof bytes)) > 0; ++turns) {
    size_t keep = sizeof j->printed - 1 - j->printed_size;
    keep = keep < (size_t)got ? keep : (size_t)got;
    memcpy(j->printed + j->printed_size, bytes, keep);
    j->printed_size += keep;
  }
  if (!got || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    close(j->output);
    j->output = -1;
  }
}

/* waitpid() that takes the times too. */
static pid_t reap(job *j, int *out_status, int flags)
{
  struct rusage used;
  const pid_t got = wait4(j->pid, out_status, flags, &used);
  if (got != j->pid)
    return got;
  j->sent = conform_watch_sent_by(j->pid);
  conform_watch_remove(j->pid);
  j->cpu_ns = 1000u * (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) +
              1000000000u * (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  return got;
}

/* Until the child has ended, or its time is over. */
static bool has_ended(job *j, int *out_status)
{
  pid_t got = 0;
  if (j->output >= 0)
    read_output(j);
  got = reap(j, out_status, WNOHANG);
  if (got == j->pid)
    return true;
  if (now_ns() < j->deadline_ns && !conform_watch_stopped())
    return false;
  j->timed_out = !conform_watch_stopped();
  kill(-j->pid, SIGKILL);
  kill(j->pid, SIGKILL);
  reap(j, out_status, 0);
  return true;
}

static void end(job *j)
{
  /* What the plugin has left running: in the group, and in groups of its own. */
  kill(-j->pid, SIGKILL);
  conform_watch_end_orphans();
  drop(j);
}

/* ---- judging ---- */

static const char *where(const job *j, conform_state state)
{
  static char text[96];
  const uint32_t slot = __atomic_load_n(&j->report->last_slot, __ATOMIC_RELAXED);
  const bool is_probe = !strcmp(j->name, CONFORM_JOB_PROBE);
  if (state != CONFORM_STATE_RUNNING)
    return state == CONFORM_STATE_RETURNED ? "after the case had returned"
                                           : "before the case began";
  if (slot)
    snprintf(text, sizeof text, "%s; the last call was %s()",
             is_probe ? "when it was asked what it is" : "in the case",
             conform_slot_name(slot - 1));
  else
    snprintf(text, sizeof text, "%s",
             is_probe ? "while it was loaded, or its table was read (ABI-004, ABI-012)"
                      : "in the case, before any call of a slot");
  return text;
}

/* What the process came to; true: it ended well, and `state` tells the verdict. */
static bool judge_end(const job *j, int status, conform_state state, char *text, size_t size)
{
  text[0] = '\0';
  if (conform_watch_stopped())
    snprintf(text, size, "the run was stopped while it ran");
  else if (j->sent)
    snprintf(text, size, "it sent signal %d (%s) to the process that started it (ABI-010)", j->sent,
             strsignal(j->sent));
  else if (j->timed_out)
    snprintf(text, size, "it has not ended after %llu s, %s; it was killed",
             (unsigned long long)((j->deadline_ns - j->begin_ns) / 1000000000u), where(j, state));
  else if (WIFSIGNALED(status))
    snprintf(text, size, "the process was ended by signal %d (%s), %s%s%s", WTERMSIG(status),
             strsignal(WTERMSIG(status)), where(j, state), j->printed_size ? "; it printed: " : "",
             j->printed);
  else if (WEXITSTATUS(status))
    snprintf(text, size, "the process ended with exit status %d, %s%s%s", WEXITSTATUS(status),
             where(j, state), j->printed_size ? "; it printed: " : "", j->printed);
  else if (state == CONFORM_STATE_RUNNING || state == CONFORM_STATE_NONE)
    snprintf(text, size, "the plugin ended the process, %s (ABI-010)", where(j, state));
  return !text[0];
}

static void judge(job *j, int status)
{
  conform_result *result = j->result;
  const conform_state state = __atomic_load_n(&j->report->state, __ATOMIC_ACQUIRE);
  j->report->text[CONFORM_TEXT_SIZE - 1] = '\0';
  result->wall_ns = now_ns() - j->begin_ns;
  result->cpu_ns = j->cpu_ns;
  result->verdict = conform_watch_stopped() ? CONFORM_SKIPPED : CONFORM_FAIL;
  if (!judge_end(j, status, state, result->text, sizeof result->text))
    return;
  if (state == CONFORM_STATE_FAILED) {
    memcpy(result->text, j->report->text, sizeof result->text);
  } else if (j->printed_size) {
    snprintf(result->text, sizeof result->text, "the plugin printed (ABI-010): %s", j->printed);
  } else if (state == CONFORM_STATE_NOT_SUPPORTED) {
    result->verdict = CONFORM_NOT_SUPPORTED;
    memcpy(result->text, j->report->text, sizeof result->text);
  } else {
    result->verdict = CONFORM_PASS;
  }
}

static bool ended_by_force(const job *j, int status)
{
  return j->timed_out || WIFSIGNALED(status);
}

/* ---- one process alone ---- */

/* Runs it to its end; false if it did not end well. */
static bool run_alone(job *j, const char *name, uint32_t timeout_s, const conform_options *options,
                      const char *self, char *out_text, size_t size)
{
  conform_state state = CONFORM_STATE_NONE;
  int status = 0;
  bool good = false;
  if (!start(j, name, timeout_s, options, self)) {
    snprintf(out_text, size, "no process could be started");
    return false;
  }
  while (!has_ended(j, &status)) {
    struct pollfd wait[2] = {{j->pid_fd, POLLIN, 0}, {j->output, POLLIN, 0}};
    poll(wait, 2, 50);
  }
  state = __atomic_load_n(&j->report->state, __ATOMIC_ACQUIRE);
  good = judge_end(j, status, state, out_text, size);
  if (good && state != CONFORM_STATE_RETURNED) {
    j->report->text[CONFORM_TEXT_SIZE - 1] = '\0';
    snprintf(out_text, size, "%s", j->report->text);
    good = false;
  }
  return good;
}

/* The plugin shares the memory of the record: what should be texts may have no end. */
static void end_texts(conform_probe *probe)
{
  vyre_backend_device_info *device = &probe->device;
#define END(text) (text)[sizeof(text) - 1] = '\0'
  END(probe->name);
  END(probe->version);
  END(probe->vendor);
  END(probe->build_id);
  END(probe->formats);
  END(device->name);
  END(device->id);
  END(device->pci);
  END(device->uuid);
  END(device->arch);
  END(device->driver);
  END(device->persistent_reason);
  END(device->compiler_reason);
  END(device->grid_sync_reason);
#undef END
}

bool conform_run_probe(const conform_options *options, const char *self, conform_probe *out_probe,
                       char *out_text, size_t size)
{
  job j;
  bool good = run_alone(&j, CONFORM_JOB_PROBE, options->timeout_s, options, self, out_text, size);
  if (!j.report)
    return false;
  *out_probe = j.report->probe;
  end_texts(out_probe);
  if (good && out_probe->status != VYRE_OK) {
    j.report->text[CONFORM_TEXT_SIZE - 1] = '\0';
    snprintf(out_text, size, "%s", j.report->text);
  }
  end(&j);
  return good;
}

static bool is_healthy(const conform_options *options, const char *self, char *out_text,
                       size_t size)
{
  job j;
  const bool good =
      run_alone(&j, CONFORM_JOB_HEALTH, options->timeout_s, options, self, out_text, size);
  if (j.report)
    end(&j);
  return good;
}

/* ---- all ---- */

typedef struct crew {
  job jobs[MAX_JOBS];
  const conform_options *options;
  const char *self;
  uint32_t *calls;
  void (*progress)(conform_result *);
  bool unhealthy;
  char reason[CONFORM_TEXT_SIZE]; /* why it is */
} crew;

static void finish(crew *all, job *j, int status)
{
  judge(j, status);
  for (uint32_t s = 0; s < CONFORM_SLOTS; ++s)
    all->calls[s] += j->report->calls[s];
  const bool forced = ended_by_force(j, status);
  conform_result *result = j->result;
  end(j);
  j->result = NULL;
  if (all->progress)
    all->progress(result);
  if (forced && !all->unhealthy && !conform_watch_stopped())
    all->unhealthy = !is_healthy(all->options, all->self, all->reason, sizeof all->reason);
}

/* Waits until something may have happened. */
static void wait_some(crew *all)
{
  struct pollfd wait[2 * MAX_JOBS];
  nfds_t count = 0;
  for (uint32_t i = 0; i < all->options->jobs; ++i) {
    const job *j = &all->jobs[i];
    if (!j->result)
      continue;
    wait[count++] = (struct pollfd){j->pid_fd, POLLIN, 0};
    wait[count++] = (struct pollfd){j->output, POLLIN, 0};
  }
  poll(wait, count, 50);
}

bool conform_run_jobs(const conform_options *options, const char *self, conform_result **rows,
                      uint32_t count, uint32_t *calls, void (*progress)(conform_result *))
{
  crew *all = calloc(1, sizeof *all);
  uint32_t next = 0, busy = 0;
  bool good = all != NULL;
  for (uint32_t i = 0; i < count; ++i) {
    rows[i]->verdict = CONFORM_SKIPPED;
    snprintf(rows[i]->text, sizeof rows[i]->text, "it was not run: the run ended before");
  }
  if (!good)
    return false;
  all->options = options;
  all->self = self;
  all->calls = calls;
  all->progress = progress;
  for (bool more = count > 0; more || busy;) {
    for (uint32_t i = 0; i < options->jobs && more; ++i) {
      job *j = &all->jobs[i];
      conform_result *row = rows[next];
      if (j->result)
        continue;
      if (conform_watch_stopped()) {
        more = false;
        break;
      }
      next += 1;
      more = next < count;
      if (all->unhealthy) {
        row->verdict = CONFORM_FAIL;
        snprintf(row->text, sizeof row->text,
                 "it was not run: since a case was ended by force no device can be opened and "
                 "closed any more: %.2000s",
                 all->reason);
        if (progress)
          progress(row);
        continue;
      }
      good = start(j, row->row->name,
                   row->row->timeout_s ? row->row->timeout_s : options->timeout_s, options, self);
      if (!good) {
        more = false;
        break;
      }
      j->result = row;
      busy += 1;
    }
    wait_some(all);
    for (uint32_t i = 0; i < options->jobs; ++i) {
      int status = 0;
      if (all->jobs[i].result && has_ended(&all->jobs[i], &status)) {
        finish(all, &all->jobs[i], status);
        busy -= 1;
      }
    }
  }
  free(all);
  return good;
}
