/*
 * gridsync_rounds.c - contestants by turns: in each round everyone is run for some milliseconds,
 * in an order that moves on by one each round.  What is compared are ratios within a round; the
 * medians over the rounds are reported.
 */
#include "bench/gridsync_bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Threads of the one before may still look for work: they are left the time to lie down. */
#define REST_NS 5000000

vyre_status gridsync_fail(vyre_error *err, vyre_status code, const char *what)
{
  if (err) {
    err->code = code;
    snprintf(err->message, sizeof err->message, "%s: %s", what, vyre_status_text(code));
    snprintf(err->fix, sizeof err->fix, "%s", vyre_status_fix(code));
  }
  return code;
}

/* Runs until `ms` are over, at least once.  A short run before it fills the caches and wakes
 * threads.
 */
static vyre_status sample(const gridsync_contestant *contestant, uint32_t ms, double *out_seconds,
                          double *out_device, vyre_dispatch_result *out_last, vyre_error *err)
{
  const struct timespec rest = {0, REST_NS};
  double device = 0, start, passed;
  uint32_t runs = 0;
  bool warm = false;
  nanosleep(&rest, NULL);
  start = bench_now();
  do {
    vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
    vyre_status status;
    result.device_ns = VYRE_TIME_ABSENT;
    status = contestant->run(contestant->self, &result, err);
    if (status != VYRE_OK)
      return status;
    if (result.device_ns == VYRE_TIME_ABSENT)
      device = -1;
    else if (device >= 0)
      device += (double)result.device_ns * 1e-9;
    *out_last = result;
    ++runs;
    passed = bench_now() - start;
    if (!warm && passed * 1e3 < ms) {
      device = passed = 0;
      runs = 0;
      start = bench_now();
    }
    warm = true;
  } while (!runs || passed * 1e3 < ms);
  *out_seconds = passed / runs;
  *out_device = device < 0 ? -1 : device / runs;
  return VYRE_OK;
}

static void tell(const gridsync_bench *bench, const char *cell, const gridsync_contestant *list,
                 uint32_t count, uint32_t round, const double *seconds)
{
  FILE *out = bench->options->progress;
  if (!out)
    return;
  fprintf(out, "%s, round %u, us a run:", cell, round + 1);
  for (uint32_t k = 0; k < count; ++k)
    if (!list[k].absent)
      fprintf(out, " %s %.1f", list[k].name, seconds[k] * 1e6);
  fputc('\n', out);
}

static bool allocate(gridsync_figures *figures)
{
  const size_t all = (size_t)figures->rounds * figures->count;
  figures->seconds = calloc(all, sizeof *figures->seconds);
  figures->device = calloc(all, sizeof *figures->device);
  figures->values = calloc(figures->rounds, sizeof *figures->values);
  return figures->seconds && figures->device && figures->values;
}

vyre_status gridsync_measure(const gridsync_bench *bench, const char *cell,
                             const gridsync_contestant *list, uint32_t count,
                             gridsync_figures *out_figures, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  *out_figures = (gridsync_figures){.rounds = bench->rounds, .count = count};
  if (!allocate(out_figures))
    return gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the rounds");
  for (uint32_t round = 0; round < bench->rounds && status == VYRE_OK; ++round) {
    const size_t first = (size_t)round * count;
    for (uint32_t i = 0; i < count && status == VYRE_OK; ++i) {
      const uint32_t k = (i + round) % count;
      if (!list[k].absent)
        status = sample(&list[k], bench->ms, &out_figures->seconds[first + k],
                        &out_figures->device[first + k], &out_figures->last[k], err);
    }
    if (status == VYRE_OK)
      tell(bench, cell, list, count, round, &out_figures->seconds[first]);
  }
  return status;
}

void gridsync_figures_free(gridsync_figures *figures)
{
  free(figures->seconds);
  free(figures->device);
  free(figures->values);
  *figures = (gridsync_figures){0};
}

/* ---- medians ---- */

/* The median of an expression of each round: `s` seconds and `d` device seconds of everyone. */
#define MEDIAN(figures, result, expression)                                                        \
  do {                                                                                             \
    for (uint32_t round_ = 0; round_ < (figures)->rounds; ++round_) {                              \
      const double *const s = (figures)->seconds + (size_t)round_ * (figures)->count;              \
      const double *const d = (figures)->device + (size_t)round_ * (figures)->count;               \
      (void)s;                                                                                     \
      (void)d;                                                                                     \
      (figures)->values[round_] = (expression);                                                    \
    }                                                                                              \
    (result) = bench_median((figures)->values, (figures)->rounds);                                 \
  } while (0)

double gridsync_seconds(gridsync_figures *figures, uint32_t k)
{
  double median;
  MEDIAN(figures, median, s[k]);
  return median;
}

double gridsync_ratio(gridsync_figures *figures, uint32_t a, uint32_t b)
{
  double median;
  MEDIAN(figures, median, s[b] > 0 ? s[a] / s[b] : 0);
  return median;
}

double gridsync_over_device(gridsync_figures *figures, uint32_t k)
{
  double median;
  MEDIAN(figures, median, d[k] > 0 ? s[k] / d[k] : 0);
  return median;
}

double gridsync_more(gridsync_figures *figures, uint32_t many, uint32_t few)
{
  double median;
  MEDIAN(figures, median, s[many] - s[few]);
  return median;
}
