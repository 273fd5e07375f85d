/*
 * bench_start.c - how long a fresh process takes up to its first result: it loads libvyre, finds
 * and loads the plugin, opens the device, loads a kernel that is in the cache, runs it, and ends.
 * Beside it the same program that ends at once.
 */
#include "bench/work.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define RUNS 15u
#define JOBS 4u
#define JOB_BYTES 64u

extern char **environ;

static vyre_status fail(vyre_error *err, const char *what, int number)
{
  if (err) {
    err->code = VYRE_ERROR_IO;
    err->vendor_code = number;
    snprintf(err->message, sizeof err->message, "%s%s%s", what, number ? ": " : "",
             number ? strerror(number) : "");
    snprintf(err->fix, sizeof err->fix, "run `vyre bench start` by hand and look at its errors");
  }
  return VYRE_ERROR_IO;
}

typedef struct sample {
  double wall;      /* seconds from its start to its end */
  double processor; /* of it and of what it started */
} sample;

/* Runs this program with a hidden verb and waits for its end. */
static vyre_status run_child(const char *self, const char *verb, const char *selector,
                             sample *out_sample, vyre_error *err)
{
  /* Copies: the arguments of a new process are not const. */
  char command[] = "vyre", bench[] = "bench", name[64], device[VYRE_DEVICE_ID_SIZE];
  char *argv[] = {command, bench, name, device, NULL};
  pid_t child;
  struct rusage usage;
  int failed, state = 0;
  const double start = bench_now();
  snprintf(name, sizeof name, "%s", verb);
  snprintf(device, sizeof device, "%s", selector ? selector : "");
  failed = posix_spawn(&child, self, NULL, NULL, argv, environ);
  if (failed)
    return fail(err, "this program cannot be started again", failed);
  while (wait4(child, &state, 0, &usage) < 0)
    if (errno != EINTR)
      return fail(err, "waiting for a process", errno);
  out_sample->wall = bench_now() - start;
  out_sample->processor = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  if (!WIFEXITED(state) || WEXITSTATUS(state))
    return fail(err, "a fresh process did not get its result", 0);
  return VYRE_OK;
}

vyre_status bench_start(const bench_options *options, bench_report *report, vyre_error *err)
{
  const char *self = options->self ? options->self : "/proc/self/exe";
  const char *selector = options->device ? options->device : "cpu";
  double start[RUNS], empty[RUNS], processor[RUNS];
  sample one;
  /* The first one fills the cache. */
  vyre_status status = run_child(self, "@start", selector, &one, err);
  for (uint32_t i = 0; i < RUNS && status == VYRE_OK; ++i) {
    status = run_child(self, "@start", selector, &one, err);
    start[i] = one.wall;
    processor[i] = one.processor;
    if (status == VYRE_OK)
      status = run_child(self, "@empty", selector, &one, err);
    empty[i] = one.wall;
  }
  if (status != VYRE_OK)
    return status;
  if (!report->title[0])
    snprintf(report->title, sizeof report->title, "start: a fresh process up to its first result");
  if (!report->device[0])
    snprintf(report->device, sizeof report->device, "%s", selector);
  bench_report_at_most(report, "fresh process to its first result", bench_median(start, RUNS) * 1e3,
                       "ms", 20);
  bench_report_value(report, "its processor time", bench_median(processor, RUNS) * 1e3, "ms");
  bench_report_value(report, "empty process", bench_median(empty, RUNS) * 1e3, "ms");
  return VYRE_OK;
}

/* The first result of a fresh process. */
static int start_child(const char *selector)
{
  static uint8_t input[JOBS * JOB_BYTES];
  const bench_push push = {.jobs = JOBS, .job_bytes = JOB_BYTES, .parts = 1};
  const uint32_t sums[JOBS] = {0};
  const vyre_bytes inputs[2] = {{input, sizeof input}, {sums, sizeof sums}};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = NULL;
  bench_device device;
  vyre_status status = bench_device_open(&device, selector, &err);
  options.push = &push;
  options.push_size = sizeof push;
  if (status == VYRE_OK)
    status = bench_program(device.device, "loop", JOBS, JOB_BYTES, &program, &err);
  if (status == VYRE_OK)
    status = vyre_dispatch(program, &options, inputs, 2, &outputs, NULL, &err);
  if (status == VYRE_OK && (outputs.count != 1 || outputs.slots[0].size != sizeof sums))
    status = VYRE_ERROR_INTERNAL;
  if (status != VYRE_OK)
    fprintf(stderr, "%s\n", err.message);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  bench_device_close(&device);
  return status == VYRE_OK ? 0 : 2;
}

bool bench_child(int argc, char **argv, int *out_exit)
{
  if (argc < 1)
    return false;
  if (!strcmp(argv[0], "@empty"))
    *out_exit = 0;
  else if (!strcmp(argv[0], "@start"))
    *out_exit = start_child(argc > 1 ? argv[1] : NULL);
  else
    return false;
  return true;
}
