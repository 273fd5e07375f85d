/*
 * bench_engine.c - the same jobs three ways, on the same device, in the same process, by turns:
 *
 *   engine    submitted in batches to a running engine, completions reaped
 *   loop      one launch whose one item runs all jobs, one after the other, on one core
 *   launch    one launch with an item for each job, on all cores
 *   dispatch  a dispatch for each job, waited for
 *
 * All run the same machine code on the same bytes of a resident buffer.  What is compared are
 * ratios within a round; the medians over the rounds are reported.
 */
#include "bench/engine_bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_JOBS 10000u
#define DEFAULT_ROUNDS 3u
#define REPEATS 15u /* measurements of each kind in a round; the best counts */
#define SUBMIT 500u /* jobs of one call */
#define LIMIT UINT64_C(60000000000)

/* Seconds of one round, for all jobs. */
typedef struct bench_times {
  double engine;
  double engine_cpu; /* processor time of all threads */
  double loop;
  double loop_cpu;
  double launch;
  double dispatch;
} bench_times;

static double processor_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static vyre_status prepare(engine_bench *run, const bench_options *options, vyre_error *err)
{
  vyre_engine_options engine = VYRE_ENGINE_OPTIONS_INIT;
  const uint64_t size = (uint64_t)run->jobs * ENGINE_JOB_BYTES;
  vyre_status status = bench_device_open(&run->device, options->device, err);
  uint32_t seed = 1;
  if (status != VYRE_OK)
    return status;
  run->workers = options->workers ? options->workers : run->device.info.compute_units;
  run->items = calloc(run->jobs, sizeof *run->items);
  run->completions = calloc(run->jobs, sizeof *run->completions);
  run->expected = calloc(run->jobs, sizeof *run->expected);
  run->bytes = malloc(size);
  if (!run->items || !run->completions || !run->expected || !run->bytes)
    return bench_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the jobs");
  for (uint64_t i = 0; i < size; ++i)
    run->bytes[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
  for (uint32_t i = 0; i < run->jobs; ++i)
    run->items[i] = (vyre_work_item){
        .input_offset = i * ENGINE_JOB_BYTES, .input_len = ENGINE_JOB_BYTES, .correlation = i};
  if ((status = vyre_buffer_create(run->device.device, size, &run->input, err)) != VYRE_OK ||
      (status = vyre_buffer_upload(run->input, 0, run->bytes, size, err)) != VYRE_OK ||
      (status = vyre_buffer_create(run->device.device, run->jobs * sizeof(uint32_t), &run->sums,
                                   err)) != VYRE_OK ||
      (status = bench_program(run->device.device, "loop", run->jobs, ENGINE_JOB_BYTES, &run->loop,
                              err)) != VYRE_OK ||
      (status = bench_program(run->device.device, "job", run->jobs, ENGINE_JOB_BYTES, &run->job,
                              err)) != VYRE_OK)
    return status;
  engine.capacity = 1;
  while (engine.capacity < run->jobs)
    engine.capacity *= 2;
  engine.max_unfinished = engine.capacity;
  engine.workers = run->workers;
  engine.input = run->input;
  return bench_start_engine(run->device.device, &engine, &run->engine, err);
}

static void discard(engine_bench *run)
{
  vyre_engine_destroy(run->engine);
  vyre_program_destroy(run->job);
  vyre_program_destroy(run->loop);
  vyre_buffer_destroy(run->sums);
  vyre_buffer_destroy(run->input);
  bench_device_close(&run->device);
  free(run->items);
  free(run->completions);
  free(run->expected);
  free(run->bytes);
}

static vyre_status run_loop(engine_bench *run, uint32_t parts, double *out_seconds, double *out_cpu,
                            vyre_error *err)
{
  const bench_push push = {.jobs = run->jobs, .job_bytes = ENGINE_JOB_BYTES, .parts = parts};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_buffer *buffers[2] = {run->input, run->sums};
  vyre_status status;
  const double cpu = processor_now(), start = bench_now();
  options.push = &push;
  options.push_size = sizeof push;
  options.elements[0] = parts;
  options.elements[1] = options.elements[2] = 1;
  status = vyre_dispatch_buffers(run->loop, &options, buffers, 2, NULL, err);
  *out_seconds = bench_now() - start;
  *out_cpu = processor_now() - cpu;
  return status;
}

static vyre_status run_dispatches(engine_bench *run, double *out_seconds, vyre_error *err)
{
  bench_push push = {.jobs = run->jobs, .job_bytes = ENGINE_JOB_BYTES};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_buffer *buffers[2] = {run->input, run->sums};
  vyre_status status = VYRE_OK;
  const double start = bench_now();
  options.push = &push;
  options.push_size = sizeof push;
  for (; push.first < run->jobs && status == VYRE_OK; ++push.first)
    status = vyre_dispatch_buffers(run->job, &options, buffers, 2, NULL, err);
  *out_seconds = bench_now() - start;
  return status;
}

/* Submits `count` jobs and reaps them; full rings are answered by reaping. */
static vyre_status serve(engine_bench *run, uint32_t count)
{
  uint32_t submitted = 0, reaped = 0, n;
  vyre_status status = VYRE_OK;
  while (reaped < count) {
    if (submitted < count) {
      n = count - submitted < SUBMIT ? count - submitted : SUBMIT;
      status = vyre_engine_submit_many(run->engine, run->items + submitted, n, NULL, &n);
      if (status == VYRE_OK)
        submitted += n;
      else if (status != VYRE_ERROR_QUEUE_FULL)
        return status;
      continue;
    }
    /* While the workers go on: reaping all at the end would leave their cores idle meanwhile. */
    status = vyre_engine_reap(run->engine, run->completions + reaped, count - reaped, LIMIT, &n);
    if (status != VYRE_OK)
      return status;
    reaped += n;
  }
  return VYRE_OK;
}

vyre_status engine_run(engine_bench *run, double *out_seconds, double *out_cpu, vyre_error *err)
{
  /* Its launch may have left while the others were measured; it is there now. */
  vyre_status status = serve(run, run->jobs < 256 ? run->jobs : 256);
  const double cpu = processor_now(), start = bench_now();
  if (status == VYRE_OK)
    status = serve(run, run->jobs);
  *out_seconds = bench_now() - start;
  *out_cpu = processor_now() - cpu;
  if (status != VYRE_OK)
    return bench_fail(err, status, "the engine");
  for (uint32_t i = 0; i < run->jobs; ++i)
    if (run->completions[i].status != VYRE_OK ||
        run->completions[i].result != run->expected[run->completions[i].correlation])
      return bench_fail(err, VYRE_ERROR_INTERNAL, "the engine gave another result than the loop");
  return VYRE_OK;
}

void engine_let_leave(const engine_bench *run)
{
  const struct timespec nap = {0, 1000000};
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;
  uint32_t naps = 0;
  do {
    nanosleep(&nap, NULL);
    if (vyre_engine_get_stats(run->engine, &stats, NULL) != VYRE_OK)
      return;
  } while (stats.persistent && stats.idle_exits < stats.launches && ++naps < 500);
}

static double best(double a, double b)
{
  return a == 0 || b < a ? b : a;
}

static vyre_status measure(engine_bench *run, bench_times *out, vyre_error *err)
{
  bench_times times = {0};
  double seconds = 0, cpu = 0;
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; i < REPEATS && status == VYRE_OK; ++i) {
    status = engine_run(run, &seconds, &cpu, err);
    times.engine = best(times.engine, seconds);
    times.engine_cpu = best(times.engine_cpu, cpu);
    engine_let_leave(run);
    if (status == VYRE_OK)
      status = run_loop(run, 1, &seconds, &cpu, err);
    times.loop = best(times.loop, seconds);
    times.loop_cpu = best(times.loop_cpu, cpu);
    if (status == VYRE_OK)
      status = run_loop(run, run->jobs, &seconds, &cpu, err);
    times.launch = best(times.launch, seconds);
  }
  if (status == VYRE_OK)
    status = run_dispatches(run, &times.dispatch, err);
  *out = times;
  return status;
}

static vyre_status check_loop(engine_bench *run, vyre_error *err)
{
  double seconds, cpu;
  vyre_status status = run_loop(run, 1, &seconds, &cpu, err);
  if (status == VYRE_OK)
    status = vyre_buffer_download(run->sums, 0, run->expected, run->jobs * sizeof(uint32_t), err);
  return status;
}

static void tell(const engine_bench *run, const bench_options *options, uint32_t round,
                 const bench_times *t)
{
  if (options->progress)
    fprintf(options->progress,
            "round %u: engine %.2f ms, loop on one core %.2f ms (engine / loop x %u workers: "
            "%.2f), one launch of all %.2f ms (%.2f), a dispatch a job %.2f ms (%.1f x)\n",
            round + 1, t->engine * 1e3, t->loop * 1e3, run->workers,
            t->loop / run->workers / t->engine, t->launch * 1e3, t->launch / t->engine,
            t->dispatch * 1e3, t->dispatch / t->engine);
}

static void report_rounds(bench_report *report, const engine_bench *run, const bench_times *times,
                          uint32_t rounds, double *values)
{
  const double workers = run->workers, jobs = run->jobs;
  uint32_t i;
#define MEDIAN(expression)                                                                         \
  for (i = 0; i < rounds; ++i) {                                                                   \
    const bench_times *t = &times[i];                                                              \
    values[i] = (expression);                                                                      \
  }
  MEDIAN(t->loop / workers / t->engine)
  bench_report_at_least(report, "speed: engine / (plain loop x workers)",
                        bench_median(values, rounds), "ratio", 0.9);
  MEDIAN((t->engine * workers - t->loop) / jobs * 1e9)
  bench_report_at_most(report, "worker time over the kernel, a job", bench_median(values, rounds),
                       "ns", 150);
  MEDIAN((t->engine_cpu - t->loop_cpu) / jobs * 1e9)
  bench_report_value(report, "processor time over the kernel, a job", bench_median(values, rounds),
                     "ns");
  MEDIAN(t->launch / t->engine)
  bench_report_value(report, "speed: engine / (one launch of all jobs)",
                     bench_median(values, rounds), "ratio");
  MEDIAN(t->loop / workers / t->launch)
  bench_report_value(report, "speed: (one launch of all jobs) / (plain loop x workers)",
                     bench_median(values, rounds), "ratio");
  MEDIAN(t->dispatch / t->engine)
  bench_report_value(report, "speed: engine / (a dispatch a job)", bench_median(values, rounds),
                     "ratio");
  MEDIAN(t->loop / jobs * 1e9)
  bench_report_value(report, "kernel, a job", bench_median(values, rounds), "ns");
  MEDIAN(t->engine / jobs * 1e9)
  bench_report_value(report, "engine, a job", bench_median(values, rounds), "ns");
  MEDIAN(t->dispatch / jobs * 1e9)
  bench_report_value(report, "dispatch, a job", bench_median(values, rounds), "ns");
#undef MEDIAN
}

/* All jobs again and again, every result checked; the launch may leave and come back meanwhile. */
static vyre_status soak(engine_bench *run, const bench_options *options, bench_report *report,
                        vyre_error *err)
{
  const double start = bench_now(), end = start + options->soak;
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;
  double seconds, cpu, told = start;
  uint64_t laps = 0;
  vyre_status status = VYRE_OK;
  while (status == VYRE_OK && bench_now() < end) {
    status = engine_run(run, &seconds, &cpu, err);
    laps += 1;
    if (laps % 64 == 0)
      engine_let_leave(run);
    if (options->progress && bench_now() - told > 30) {
      told = bench_now();
      fprintf(options->progress, "%.0f s: %llu laps of %u jobs, all right\n", told - start,
              (unsigned long long)laps, run->jobs);
    }
  }
  if (status != VYRE_OK)
    return status;
  status = vyre_engine_get_stats(run->engine, &stats, err);
  snprintf(report->title, sizeof report->title, "engine, soaked: %u jobs of %u bytes a lap",
           run->jobs, ENGINE_JOB_BYTES);
  snprintf(report->device, sizeof report->device, "%.30s (%.60s)", run->device.info.selector,
           run->device.info.name);
  bench_report_value(report, "time", bench_now() - start, "s");
  bench_report_value(report, "laps, every result right", (double)laps, "");
  bench_report_value(report, "items submitted", (double)stats.submitted, "");
  bench_report_at_least(report, "items completed / submitted",
                        (double)stats.completed / (double)stats.submitted, "ratio", 1);
  bench_report_value(report, "launches", (double)stats.launches, "");
  bench_report_value(report, "idle exits", (double)stats.idle_exits, "");
  return status;
}

vyre_status bench_engine(const bench_options *options, bench_report *report, vyre_error *err)
{
  const uint32_t rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  engine_bench run = {.jobs = options->jobs ? options->jobs : DEFAULT_JOBS};
  bench_times *times = calloc(rounds, sizeof *times);
  double *values = calloc(rounds, sizeof *values);
  vyre_status status;
  if (!times || !values || (uint64_t)run.jobs * ENGINE_JOB_BYTES > UINT32_MAX) {
    free(times);
    free(values);
    return bench_fail(err,
                      times && values ? VYRE_ERROR_INVALID_ARGUMENT : VYRE_ERROR_OUT_OF_HOST_MEMORY,
                      "the number of jobs or rounds");
  }
  status = prepare(&run, options, err);
  if (status == VYRE_OK)
    status = check_loop(&run, err);
  if (status == VYRE_OK && options->soak) {
    status = soak(&run, options, report, err);
    discard(&run);
    free(times);
    free(values);
    return status;
  }
  for (uint32_t round = 0; round < rounds && status == VYRE_OK; ++round) {
    status = measure(&run, &times[round], err);
    if (status == VYRE_OK)
      tell(&run, options, round, &times[round]);
  }
  if (status == VYRE_OK) {
    snprintf(report->title, sizeof report->title, "engine: %u jobs of %u bytes, %u worker%s",
             run.jobs, ENGINE_JOB_BYTES, run.workers, run.workers == 1 ? "" : "s");
    snprintf(report->device, sizeof report->device, "%.30s (%.60s)", run.device.info.selector,
             run.device.info.name);
    report_rounds(report, &run, times, rounds, values);
    status = engine_beside_bare(&run, rounds, report, err);
  }
  discard(&run);
  free(times);
  free(values);
  return status == VYRE_OK ? bench_start(options, report, err) : status;
}
