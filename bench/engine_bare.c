/*
 * engine_bare.c - what the engine and the core cost beside bare calls of the driver, in turns:
 *
 *   all jobs    the engine; one launch by hand, items up and results down; a launch a job
 *   one item    submit to completion; a word to a waiting kernel and back; launch and synchronise
 *   a dispatch  the call that starts one, without and with times; a launch and the record of an
 *               event behind it
 *
 * The engine's launch has left before anything is measured that is not the engine.
 */
#include "bench/bare_peer.h"
#include "bench/engine_bench.h"

#include <stdlib.h>
#include <string.h>

#define REPEATS 15u   /* of all jobs, in a round; the best counts */
#define SAMPLES 2000u /* of one item, in a round */
#define AT_ONCE 50u   /* dispatches in flight, of which the calls that start them are measured */
#define LIMIT UINT64_C(10000000000)

/* What is taken in a round; each is a median over the rounds in the end. */
typedef enum figure {
  ALL_ENGINE, /* seconds */
  ALL_BATCHED,
  ALL_PIPELINED,
  ALL_WAITED,
  ITEM_P50, /* nanoseconds */
  ITEM_P99,
  PING_P50,
  WORK_P50, /* the ping with the job in it */
  LAUNCH_P50,
  DISPATCH_P50,
  TIMED_P50, /* somebody may ask for its times */
  BARE_P50,
  FIGURES
} figure;

typedef struct beside {
  engine_bench *run;
  bench_bare_peer bare;
  uint32_t *sums;
  double *samples;          /* SAMPLES of each kind that is taken in turns */
  double *figures[FIGURES]; /* by round */
} beside;

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the samples. */
static double part_of(double *samples, uint32_t count, double part)
{
  qsort(samples, count, sizeof *samples, by_value);
  return samples[(uint32_t)((count - 1) * part)];
}

/* ---- all jobs ---- */

static vyre_status run_bare(beside *b, uint32_t form, double *best, vyre_error *err)
{
  const bench_bare *calls = b->bare.calls;
  const double start = bench_now();
  vyre_status status =
      bench_bare_check(&b->bare, calls->jobs_run(b->bare.self, form, b->sums), err);
  const double seconds = bench_now() - start;
  *best = *best == 0 || seconds < *best ? seconds : *best;
  if (status == VYRE_OK && memcmp(b->sums, b->run->expected, b->run->jobs * sizeof *b->sums) != 0)
    status = bench_fail(err, VYRE_ERROR_INTERNAL, "the bare launch gave another result");
  return status;
}

static vyre_status all_jobs(beside *b, double f[FIGURES], vyre_error *err)
{
  vyre_status status = VYRE_OK;
  double seconds = 0, cpu = 0;
  for (uint32_t i = 0; i < REPEATS && status == VYRE_OK; ++i) {
    status = engine_run(b->run, &seconds, &cpu, err);
    f[ALL_ENGINE] = f[ALL_ENGINE] == 0 || seconds < f[ALL_ENGINE] ? seconds : f[ALL_ENGINE];
    engine_let_leave(b->run);
    if (status == VYRE_OK)
      status = run_bare(b, BENCH_BARE_BATCHED, &f[ALL_BATCHED], err);
  }
  if (status == VYRE_OK)
    status = run_bare(b, BENCH_BARE_PIPELINED, &f[ALL_PIPELINED], err);
  if (status == VYRE_OK)
    status = run_bare(b, BENCH_BARE_WAITED, &f[ALL_WAITED], err);
  return status;
}

/* ---- one item ---- */

/* The first of the jobs, again and again, nothing else in flight. */
static vyre_status one_item(beside *b, double f[FIGURES], vyre_error *err)
{
  for (uint32_t i = 0; i < SAMPLES; ++i) {
    vyre_completion completion;
    uint64_t ticket = 0;
    const double start = bench_now();
    vyre_status status = vyre_engine_submit(b->run->engine, b->run->items, &ticket);
    if (status == VYRE_OK)
      status = vyre_engine_wait(b->run->engine, ticket, LIMIT, &completion);
    b->samples[i] = (bench_now() - start) * 1e9;
    if (status != VYRE_OK)
      return bench_fail(err, status, "one item");
  }
  f[ITEM_P50] = part_of(b->samples, SAMPLES, 0.5);
  f[ITEM_P99] = part_of(b->samples, SAMPLES, 0.99);
  return VYRE_OK;
}

static vyre_status pings(beside *b, double f[FIGURES], vyre_error *err)
{
  const bench_bare *calls = b->bare.calls;
  vyre_status status = VYRE_OK;
  engine_let_leave(b->run);
  status = bench_bare_check(&b->bare, calls->ping(b->bare.self, SAMPLES, 0, b->samples), err);
  if (status != VYRE_OK)
    return status;
  f[PING_P50] = part_of(b->samples, SAMPLES, 0.5);
  status = bench_bare_check(&b->bare, calls->ping(b->bare.self, SAMPLES, 1, b->samples), err);
  if (status != VYRE_OK)
    return status;
  f[WORK_P50] = part_of(b->samples, SAMPLES, 0.5);
  status =
      bench_bare_check(&b->bare, calls->launch_and_wait(b->bare.self, SAMPLES, b->samples), err);
  f[LAUNCH_P50] = part_of(b->samples, SAMPLES, 0.5);
  return status;
}

/* ---- one dispatch ---- */

/* Starts AT_ONCE dispatches, measures each call, and waits for them. */
static vyre_status start_some(beside *b, vyre_timing timing, double *samples, vyre_error *err)
{
  const bench_push push = {.jobs = b->run->jobs, .job_bytes = ENGINE_JOB_BYTES};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_buffer *buffers[2] = {b->run->input, b->run->sums};
  vyre_pending *pending[AT_ONCE] = {0};
  vyre_status status = VYRE_OK;
  options.push = &push;
  options.push_size = sizeof push;
  options.timing = timing;
  for (uint32_t i = 0; i < AT_ONCE && status == VYRE_OK; ++i) {
    const double start = bench_now();
    status = vyre_dispatch_buffers_start(b->run->job, &options, buffers, 2, &pending[i], err);
    samples[i] = (bench_now() - start) * 1e9;
  }
  for (uint32_t i = 0; i < AT_ONCE && status == VYRE_OK; ++i)
    status = vyre_pending_finish(pending[i], NULL, NULL, err);
  for (uint32_t i = 0; i < AT_ONCE; ++i)
    vyre_pending_release(pending[i]);
  return status;
}

/* All three kinds in turns, each with as many in flight and nothing else on the device. */
static vyre_status dispatches(beside *b, double f[FIGURES], vyre_error *err)
{
  double *untimed = b->samples, *timed = untimed + SAMPLES, *bare = timed + SAMPLES;
  vyre_status status = VYRE_OK;
  engine_let_leave(b->run);
  for (uint32_t i = 0; i < SAMPLES && status == VYRE_OK; i += AT_ONCE) {
    status = start_some(b, VYRE_TIMING_OFF, untimed + i, err);
    if (status == VYRE_OK)
      status = bench_bare_check(&b->bare,
                                b->bare.calls->launch_cost(b->bare.self, AT_ONCE, bare + i), err);
    if (status == VYRE_OK)
      status = start_some(b, VYRE_TIMING_ON, timed + i, err);
  }
  f[DISPATCH_P50] = part_of(untimed, SAMPLES, 0.5);
  f[TIMED_P50] = part_of(timed, SAMPLES, 0.5);
  f[BARE_P50] = part_of(bare, SAMPLES, 0.5);
  return status;
}

/* ---- rows ---- */

static double over(const beside *b, uint32_t rounds, double *values, figure above, figure below)
{
  for (uint32_t i = 0; i < rounds; ++i)
    values[i] = b->figures[above][i] / b->figures[below][i];
  return bench_median(values, rounds);
}

static double more(const beside *b, uint32_t rounds, double *values, figure above, figure below)
{
  for (uint32_t i = 0; i < rounds; ++i)
    values[i] = b->figures[above][i] - b->figures[below][i];
  return bench_median(values, rounds);
}

static double median(const beside *b, uint32_t rounds, double *values, figure which)
{
  memcpy(values, b->figures[which], rounds * sizeof *values);
  return bench_median(values, rounds);
}

static void report_rows(const beside *b, uint32_t rounds, double *values, bench_report *report)
{
#define OVER(above, below) over(b, rounds, values, above, below)
#define MEDIAN(which) median(b, rounds, values, which)
  const double jobs = b->run->jobs;
  bench_report_at_most(report, "engine / one launch by hand", OVER(ALL_ENGINE, ALL_BATCHED),
                       "ratio", 1.1);
  bench_report_remark(report, "items up and results down");
  bench_report_at_least(report, "a launch a job, pipelined / engine",
                        OVER(ALL_PIPELINED, ALL_ENGINE), "ratio", 600);
  bench_report_value(report, "by hand, one launch, a job", MEDIAN(ALL_BATCHED) / jobs * 1e9, "ns");
  bench_report_value(report, "by hand, pipelined, a job", MEDIAN(ALL_PIPELINED) / jobs * 1e9, "ns");
  bench_report_value(report, "by hand, waited for, a job", MEDIAN(ALL_WAITED) / jobs * 1e9, "ns");
  bench_report_value(report, "one item, p50", MEDIAN(ITEM_P50) * 1e-3, "us");
  bench_report_value(report, "bare ping, p50", MEDIAN(PING_P50) * 1e-3, "us");
  bench_report_value(report, "bare ping with the job, p50", MEDIAN(WORK_P50) * 1e-3, "us");
  bench_report_at_most(report, "one item / bare ping with the job", OVER(ITEM_P50, WORK_P50),
                       "ratio", 1.3);
  bench_report_at_most(report, "one item, p99 / p50", OVER(ITEM_P99, ITEM_P50), "ratio", 1.6);
  bench_report_at_least(report, "launch and synchronise / one item", OVER(LAUNCH_P50, ITEM_P50),
                        "ratio", 2.5);
  bench_report_at_most(report, "a dispatch over launch and record",
                       more(b, rounds, values, DISPATCH_P50, BARE_P50), "ns", 200);
  bench_report_value(report, "a dispatch with times over it",
                     more(b, rounds, values, TIMED_P50, BARE_P50), "ns");
  bench_report_value(report, "launch and record, p50", MEDIAN(BARE_P50), "ns");
#undef OVER
#undef MEDIAN
}

/* ---- all of it ---- */

static vyre_status round_of(beside *b, uint32_t round, vyre_error *err)
{
  double f[FIGURES] = {0};
  vyre_status status = all_jobs(b, f, err);
  if (status == VYRE_OK)
    status = one_item(b, f, err);
  if (status == VYRE_OK)
    status = pings(b, f, err);
  if (status == VYRE_OK)
    status = dispatches(b, f, err);
  for (uint32_t k = 0; k < FIGURES; ++k)
    b->figures[k][round] = f[k];
  return status;
}

static vyre_status measure(beside *b, uint32_t rounds, bench_report *report, vyre_error *err)
{
  vyre_status status = bench_bare_check(
      &b->bare,
      b->bare.calls->jobs_open(b->bare.self, b->run->bytes, b->run->jobs, ENGINE_JOB_BYTES), err);
  double *values = calloc(rounds, sizeof *values);
  b->sums = calloc(b->run->jobs, sizeof *b->sums);
  b->samples = calloc(3 * (size_t)SAMPLES, sizeof *b->samples);
  b->figures[0] = calloc((size_t)rounds * FIGURES, sizeof **b->figures);
  if (!values || !b->sums || !b->samples || !b->figures[0])
    status = bench_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the samples");
  for (uint32_t k = 1; k < FIGURES && status == VYRE_OK; ++k)
    b->figures[k] = b->figures[0] + (size_t)k * rounds;
  for (uint32_t round = 0; round < rounds && status == VYRE_OK; ++round)
    status = round_of(b, round, err);
  if (status == VYRE_OK)
    report_rows(b, rounds, values, report);
  free(b->figures[0]);
  free(b->samples);
  free(b->sums);
  free(values);
  return status;
}

vyre_status engine_beside_bare(engine_bench *run, uint32_t rounds, bench_report *report,
                               vyre_error *err)
{
  beside b = {.run = run};
  vyre_status status = bench_bare_open(&run->device, report, &b.bare, err);
  if (status == VYRE_OK && b.bare.calls)
    status = measure(&b, rounds, report, err);
  bench_bare_close(&b.bare);
  return status;
}
