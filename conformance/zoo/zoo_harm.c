/* zoo_harm.c - what a row does to the process, or instead of returning; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef enum harm { CRASH, HANG, EXIT } harm;

/* Rows that end in one of the entries. */
static const struct {
  uint32_t mutant;
  zoo_place place;
  harm what;
} ends[] = {
    {ZOO_crash_in_query, ZOO_AT_QUERY, CRASH},       {ZOO_hang_in_query, ZOO_AT_QUERY, HANG},
    {ZOO_exit_in_query, ZOO_AT_QUERY, EXIT},         {ZOO_crash_in_count, ZOO_AT_COUNT, CRASH},
    {ZOO_hang_in_info, ZOO_AT_INFO, HANG},           {ZOO_crash_in_open, ZOO_AT_OPEN, CRASH},
    {ZOO_hang_in_open, ZOO_AT_OPEN, HANG},           {ZOO_exits, ZOO_AT_OPEN, EXIT},
    {ZOO_crash_in_load, ZOO_AT_LOAD, CRASH},         {ZOO_hang_in_load, ZOO_AT_LOAD, HANG},
    {ZOO_crash_in_find, ZOO_AT_FIND, CRASH},         {ZOO_hang_in_find, ZOO_AT_FIND, HANG},
    {ZOO_crash_in_dispatch, ZOO_AT_DISPATCH, CRASH}, {ZOO_hang_in_dispatch, ZOO_AT_DISPATCH, HANG},
    {ZOO_crash_in_wait, ZOO_AT_WAIT, CRASH},         {ZOO_hang_in_wait, ZOO_AT_WAIT, HANG},
    {ZOO_crash_in_read, ZOO_AT_READ, CRASH},         {ZOO_hang_in_read, ZOO_AT_READ, HANG},
    {ZOO_crash_in_release, ZOO_AT_RELEASE, CRASH},   {ZOO_hang_in_release, ZOO_AT_RELEASE, HANG},
    {ZOO_crash_in_unload, ZOO_AT_UNLOAD, CRASH},     {ZOO_hang_in_unload, ZOO_AT_UNLOAD, HANG},
    {ZOO_crash_in_close, ZOO_AT_CLOSE, CRASH},       {ZOO_hang_in_close, ZOO_AT_CLOSE, HANG},
};

static void end(harm what)
{
  int *volatile nowhere = (int *)(uintptr_t)0x18;
  if (what == CRASH)
    *nowhere = 1;
  if (what == EXIT)
    exit(0);
  for (;;)
    pause();
}

static void *stay(void *argument)
{
  (void)argument;
  for (;;)
    pause();
  return NULL;
}

static void *log_later(void *argument)
{
  const struct timespec moment = {0, 2000000};
  const vyre_host *host = zoo__host();
  (void)argument;
  for (;;) {
    nanosleep(&moment, NULL);
    host->log(host->self, VYRE_LOG_DEBUG, "still here");
  }
  return NULL;
}

static void leave_thread(void *(*main)(void *))
{
  pthread_t thread;
  if (!pthread_create(&thread, NULL, main, NULL))
    pthread_detach(thread);
}

static void on_signal(int number)
{
  (void)number;
}

static void at_open(void)
{
  const vyre_host *host = zoo__host();
  if (ZOO_IS(signal_handler))
    signal(SIGUSR2, on_signal);
  if (ZOO_IS(environment))
    setenv("VYRE_ZOO_WAS_HERE", "1", 1);
  if (ZOO_IS(working_directory))
    (void)!chdir("/");
  if (ZOO_IS(file_mask))
    umask(077);
  if (ZOO_IS(rounding_mode))
    fesetround(FE_UPWARD);
  if (ZOO_IS(prints))
    (void)!write(1, "zoo: opening\n", 13);
  if (ZOO_IS(prints_on_stderr))
    fputs("zoo: opening\n", stderr);
  if (ZOO_IS(closes_files))
    for (int fd = 3; fd < 64; ++fd)
      close(fd);
  if (ZOO_IS(closes_streams))
    for (int fd = 0; fd < 64; ++fd)
      close(fd);
  if (ZOO_IS(log_of_lines))
    host->log(host->self, VYRE_LOG_INFO, "two\nlines");
  for (uint64_t line = 0; ZOO_IS(endless_log); ++line)
    host->log(host->self, VYRE_LOG_INFO, "and another thing");
  while (ZOO_IS(endless_output))
    (void)!write(1, "and another thing, and another thing, and another thing\n", 56);
  if (ZOO_IS(stops_itself))
    raise(SIGSTOP);
  if (ZOO_IS(kills_itself))
    raise(SIGKILL);
}

static void at_close(void)
{
  if (ZOO_IS(thread_left))
    leave_thread(stay);
  if (ZOO_IS(calls_after_close))
    leave_thread(log_later);
  if (ZOO_IS(file_left))
    (void)!fcntl(open("/dev/null", O_RDONLY | O_CLOEXEC), F_GETFD);
}

void zoo__enter(zoo_place place)
{
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; ++i)
    if (ends[i].mutant == ZOO_THIS && ends[i].place == place)
      end(ends[i].what);
  if (place == ZOO_AT_OPEN)
    at_open();
  if (place == ZOO_AT_CLOSE)
    at_close();
  if (place == ZOO_AT_QUERY && ZOO_IS(stays_loaded)) {
    Dl_info me;
    if (dladdr(ends, &me))
      dlopen(me.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
}
