/*
 * bench_flow.c - how the cost of an item grows with the number of items that go through one engine,
 * and how much more several devices of the same plugin do together.
 *
 * The bytes of 10 000 jobs of checksum.c are in a resident buffer of each device; items point to
 * them round and round, so that memory does not grow with the items.  Every result is checked.
 */
#include "bench/work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 10000u
#define JOB_BYTES 1024u
#define SUBMIT 500u /* items of one call */
#define REAP 1024u
#define CAPACITY 16384u
#define MOST_ITEMS 10000000u
#define FLAT_FROM 100000u /* items from which on the cost must not change */
#define DEFAULT_ROUNDS 3u
#define SAMPLES 1000u /* of one item alone */
#define MOST_DEVICES 16u
#define LIMIT UINT64_C(60000000000)

/* A device with its engine. */
typedef struct lane {
  vyre_device *device;
  vyre_buffer *input;
  vyre_engine *engine;
  vyre_completion completions[REAP];
  pthread_t thread;
  const struct flow *flow;
  uint64_t items; /* that its thread is to run */
  vyre_status status;
} lane;

typedef struct flow {
  bench_device device;
  vyre_work_item *items;
  uint32_t *expected;
  uint8_t *bytes;
  lane *lanes;
  uint32_t lane_count;
} flow;

/* ---- lanes ---- */

static vyre_status open_lane(const flow *f, lane *one, vyre_device *device, vyre_error *err)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_status status;
  one->device = device;
  one->flow = f;
  status = vyre_buffer_create(device, JOBS * JOB_BYTES, &one->input, err);
  if (status == VYRE_OK)
    status = vyre_buffer_upload(one->input, 0, f->bytes, JOBS * JOB_BYTES, err);
  options.capacity = options.max_unfinished = CAPACITY;
  options.input = one->input;
  return status == VYRE_OK ? bench_start_engine(device, &options, &one->engine, err) : status;
}

static void close_lane(lane *one, bool own)
{
  vyre_engine_destroy(one->engine);
  vyre_buffer_destroy(one->input);
  if (own)
    vyre_device_close(one->device);
}

/* Every further device of the same plugin. */
static vyre_status open_others(flow *f, vyre_error *err)
{
  const uint32_t all = vyre_context_device_count(f->device.context);
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; i < all && f->lane_count < MOST_DEVICES && status == VYRE_OK; ++i) {
    vyre_device_info info = {.struct_size = sizeof info};
    vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
    vyre_device *device = NULL;
    status = vyre_context_device_info(f->device.context, i, &info, err);
    if (status != VYRE_OK || strcmp(info.backend, f->device.info.backend) != 0 ||
        !strcmp(info.selector, f->device.info.selector))
      continue;
    request.selector = info.selector;
    status = vyre_device_open(f->device.context, &request, &device, err);
    if (status == VYRE_OK)
      status = open_lane(f, &f->lanes[f->lane_count++], device, err);
  }
  return status;
}

static uint32_t checksum(const uint8_t *data, uint32_t size)
{
  uint32_t sum = size;
  for (uint32_t i = 0; i < size; ++i)
    sum = (sum << 5 | sum >> 27) + data[i];
  return sum;
}

static vyre_status prepare(flow *f, const bench_options *options, vyre_error *err)
{
  uint32_t seed = 1;
  vyre_status status = bench_device_open(&f->device, options->device, err);
  if (status != VYRE_OK)
    return status;
  f->items = calloc(JOBS, sizeof *f->items);
  f->expected = calloc(JOBS, sizeof *f->expected);
  f->bytes = malloc(JOBS * JOB_BYTES);
  f->lanes = calloc(MOST_DEVICES, sizeof *f->lanes);
  if (!f->items || !f->expected || !f->bytes || !f->lanes)
    return bench_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the jobs");
  for (uint32_t i = 0; i < JOBS * JOB_BYTES; ++i)
    f->bytes[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
  for (uint32_t i = 0; i < JOBS; ++i) {
    f->items[i] =
        (vyre_work_item){.input_offset = i * JOB_BYTES, .input_len = JOB_BYTES, .correlation = i};
    f->expected[i] = checksum(f->bytes + (size_t)i * JOB_BYTES, JOB_BYTES);
  }
  f->lane_count = 1;
  status = open_lane(f, &f->lanes[0], f->device.device, err);
  return status == VYRE_OK ? open_others(f, err) : status;
}

static void discard(flow *f)
{
  for (uint32_t i = f->lanes ? f->lane_count : 0; i-- > 0;)
    close_lane(&f->lanes[i], i > 0);
  bench_device_close(&f->device);
  free(f->lanes);
  free(f->bytes);
  free(f->expected);
  free(f->items);
}

/* ---- items through a lane ---- */

static vyre_status reap(lane *one, uint64_t timeout_ns, uint64_t *reaped)
{
  uint32_t n = 0;
  const vyre_status status = vyre_engine_reap(one->engine, one->completions, REAP, timeout_ns, &n);
  for (uint32_t i = 0; i < n; ++i)
    if (one->completions[i].status != VYRE_OK ||
        one->completions[i].result != one->flow->expected[one->completions[i].correlation])
      return VYRE_ERROR_INTERNAL;
  *reaped += n;
  return status == VYRE_ERROR_EMPTY ? VYRE_OK : status;
}

/* `count` items; what is finished is reaped whenever the engine takes no more. */
static vyre_status run_items(lane *one, uint64_t count)
{
  uint64_t submitted = 0, reaped = 0;
  vyre_status status = VYRE_OK;
  while (reaped < count && status == VYRE_OK) {
    const uint32_t at = (uint32_t)(submitted % JOBS);
    uint64_t most = count - submitted;
    uint32_t n = 0;
    most = most < SUBMIT ? most : SUBMIT;
    most = most < JOBS - at ? most : JOBS - at;
    if (most)
      status =
          vyre_engine_submit_many(one->engine, one->flow->items + at, (uint32_t)most, NULL, &n);
    submitted += n;
    if (most && status == VYRE_OK)
      continue;
    if (!most || status == VYRE_ERROR_QUEUE_FULL)
      status = reap(one, LIMIT, &reaped);
  }
  return status;
}

static void *run_lane(void *self)
{
  lane *one = self;
  one->status = run_items(one, one->items);
  return NULL;
}

/* The first `lanes` of them at once, `items` each; each lane has a launch that waits already. */
static vyre_status run_lanes(flow *f, uint32_t lanes, uint64_t items, double *out_seconds,
                             vyre_error *err)
{
  vyre_status status = VYRE_OK;
  uint32_t started = 0;
  double start;
  for (uint32_t i = 0; i < lanes && status == VYRE_OK; ++i)
    status = run_items(&f->lanes[i], 256);
  start = bench_now();
  for (; started < lanes && status == VYRE_OK; ++started) {
    f->lanes[started].items = items;
    if (pthread_create(&f->lanes[started].thread, NULL, run_lane, &f->lanes[started])) {
      status = VYRE_ERROR_OUT_OF_HOST_MEMORY;
      break;
    }
  }
  while (started-- > 0) {
    pthread_join(f->lanes[started].thread, NULL);
    status = status == VYRE_OK ? f->lanes[started].status : status;
  }
  *out_seconds = bench_now() - start;
  return status == VYRE_OK ? VYRE_OK : bench_fail(err, status, "the engine");
}

/* ---- figures ---- */

/* Nanoseconds of an item among `items`, the median of the rounds; a small number is run often. */
static vyre_status cost_of(flow *f, uint64_t items, uint32_t rounds, double *values, double *out_ns,
                           vyre_error *err)
{
  const uint32_t repeats = items < FLAT_FROM ? (uint32_t)(FLAT_FROM / items) : 1;
  vyre_status status = VYRE_OK;
  for (uint32_t round = 0; round < rounds && status == VYRE_OK; ++round) {
    double best = 0, seconds = 0;
    for (uint32_t i = 0; i < repeats && status == VYRE_OK; ++i) {
      status = run_lanes(f, 1, items, &seconds, err);
      best = best == 0 || seconds < best ? seconds : best;
    }
    values[round] = best / (double)items * 1e9;
  }
  *out_ns = bench_median(values, rounds);
  return status;
}

static vyre_status one_alone(flow *f, double *values, double *out_ns, vyre_error *err)
{
  lane *one = &f->lanes[0];
  for (uint32_t i = 0; i < SAMPLES; ++i) {
    uint64_t ticket = 0;
    const double start = bench_now();
    vyre_status status = vyre_engine_submit(one->engine, f->items, &ticket);
    if (status == VYRE_OK)
      status = vyre_engine_wait(one->engine, ticket, LIMIT, one->completions);
    if (status != VYRE_OK)
      return bench_fail(err, status, "one item");
    values[i] = (bench_now() - start) * 1e9;
  }
  *out_ns = bench_median(values, SAMPLES);
  return VYRE_OK;
}

static vyre_status report_growth(flow *f, uint64_t most, uint32_t rounds, bench_report *report,
                                 double *values, vyre_error *err)
{
  double alone = 0, least = 0, largest = 0, ns = 0, few[2] = {0, 0};
  char name[BENCH_NAME_SIZE];
  vyre_status status = one_alone(f, values, &alone, err);
  if (status != VYRE_OK)
    return status;
  bench_report_value(report, "one item alone, p50", alone, "ns");
  for (uint64_t items = 1000; items <= most; items *= 10) {
    status = cost_of(f, items, rounds, values, &ns, err);
    if (status != VYRE_OK)
      return status;
    snprintf(name, sizeof name, "%llu items, an item", (unsigned long long)items);
    bench_report_value(report, name, ns, "ns");
    if (items < FLAT_FROM) {
      few[items > 1000] = ns;
    } else {
      least = least == 0 || ns < least ? ns : least;
      largest = ns > largest ? ns : largest;
    }
  }
  if (least == 0)
    return VYRE_OK;
  bench_report_at_most(report, "from 10^5 items on: largest / least", largest / least, "ratio",
                       1.1);
  for (uint32_t i = 0; i < 2; ++i) {
    const double items = i ? 10000 : 1000;
    snprintf(name, sizeof name, "%.0f items: more than that, in items alone", items);
    bench_report_at_most(report, name, (few[i] - least) * items / alone, "", 2);
  }
  return VYRE_OK;
}

static vyre_status report_devices(flow *f, uint64_t most, uint32_t rounds, bench_report *report,
                                  double *values, vyre_error *err)
{
  const uint64_t items = most < 1000000 ? most : 1000000;
  char name[BENCH_NAME_SIZE];
  for (uint32_t lanes = 2; lanes <= f->lane_count; ++lanes) {
    for (uint32_t round = 0; round < rounds; ++round) {
      double one = 0, all = 0;
      vyre_status status = run_lanes(f, 1, items, &one, err);
      if (status == VYRE_OK)
        status = run_lanes(f, lanes, items, &all, err);
      if (status != VYRE_OK)
        return status;
      values[round] = one * lanes / all;
    }
    snprintf(name, sizeof name, "%u devices / one", lanes);
    bench_report_at_least(report, name, bench_median(values, rounds), "ratio", 0.975 * lanes);
  }
  return VYRE_OK;
}

vyre_status bench_flow(const bench_options *options, bench_report *report, vyre_error *err)
{
  const uint32_t rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  const uint64_t most = options->jobs ? options->jobs : MOST_ITEMS;
  flow f = {.lane_count = 0};
  double *values = calloc(rounds > SAMPLES ? rounds : SAMPLES, sizeof *values);
  vyre_status status = values ? prepare(&f, options, err)
                              : bench_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the rounds");
  if (status == VYRE_OK) {
    snprintf(report->title, sizeof report->title, "flow: items of %u bytes through one engine",
             JOB_BYTES);
    snprintf(report->device, sizeof report->device, "%.30s (%.60s)", f.device.info.selector,
             f.device.info.name);
    status = report_growth(&f, most, rounds, report, values, err);
  }
  if (status == VYRE_OK)
    status = report_devices(&f, most, rounds, report, values, err);
  discard(&f);
  free(values);
  return status;
}
