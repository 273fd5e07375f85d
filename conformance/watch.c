/* watch.c - signals, and processes that were left behind; see watch.h. */
#include "conformance/watch.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* 256 jobs, and one that looks at the device's health. */
#define MOST 257u

static volatile sig_atomic_t stopped;
/* Processes of cases; the handler reads it, so a place is one word that is written at once. */
static struct {
  volatile sig_atomic_t pid, sent;
} running[MOST];

static void ask_for_end(int number, siginfo_t *info, void *context)
{
  (void)context;
  for (uint32_t i = 0; info->si_code == SI_USER && i < MOST; ++i)
    if (running[i].pid && running[i].pid == info->si_pid) {
      running[i].sent = number;
      return;
    }
  stopped = number;
}

void conform_watch_begin(void)
{
  static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART}, before;
  action.sa_sigaction = ask_for_end;
  sigemptyset(&action.sa_mask);
  for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
    if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
      sigaction(numbers[i], &action, NULL);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int conform_watch_stopped(void)
{
  return stopped;
}

static uint32_t place_of(pid_t pid)
{
  uint32_t i = 0;
  while (i < MOST && running[i].pid != pid)
    ++i;
  return i;
}

void conform_watch_add(pid_t pid)
{
  const uint32_t i = place_of(0);
  if (i == MOST)
    return;
  running[i].sent = 0;
  running[i].pid = pid;
}

void conform_watch_remove(pid_t pid)
{
  const uint32_t i = place_of(pid);
  if (i < MOST)
    running[i].pid = 0;
}

int conform_watch_sent_by(pid_t pid)
{
  const uint32_t i = place_of(pid);
  return i < MOST ? running[i].sent : 0;
}

/* Kills those that are there now; false: there is none. */
static bool kill_orphans(void)
{
  char path[64], *list = NULL, *at = NULL, *end = NULL;
  FILE *file = NULL;
  size_t size = 0;
  bool found = false;
  snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
  file = fopen(path, "re");
  if (!file) /* a kernel without the list: then only groups are ended */
    return false;
  if (getline(&list, &size, file) > 0)
    for (at = list;; at = end) {
      const long pid = strtol(at, &end, 10);
      if (end == at || pid <= 0)
        break;
      if (place_of((pid_t)pid) == MOST) {
        found = true;
        kill((pid_t)pid, SIGKILL);
        waitpid((pid_t)pid, NULL, WNOHANG);
      }
    }
  free(list);
  fclose(file);
  return found;
}

/* What a killed process has started comes to us in turn; a second is enough for all but a bomb. */
void conform_watch_end_orphans(void)
{
  for (int turn = 0; turn < 1000 && kill_orphans(); ++turn)
    poll(NULL, 0, 1);
}

void conform_watch_end_self(void)
{
  signal(stopped, SIG_DFL);
  raise(stopped);
}
