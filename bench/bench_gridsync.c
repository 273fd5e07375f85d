/*
 * bench_gridsync.c - grid-sync programs on each route, in one process, by turns: what a segment
 * costs and how that grows; what is left of it when it does nothing; reachability in graphs,
 * beside other searches.  Every result is checked before it is measured.
 */
#include "bench/gridsync_bench.h"
#include "bench/ring_bench.h"

#include <string.h>

#define DEFAULT_ROUNDS 7u
#define DEFAULT_MS 20u
#define DEFAULT_SEGMENTS 128u
#define DEFAULT_PASSES 64u
#define DEFAULT_WORDS (1u << 22)
#define DEFAULT_EDGES 1000000u

static const struct {
  const char *name;
  vyre_status (*run)(gridsync_bench *bench, vyre_error *err);
} cells[] = {{"barrier", gridsync_barrier}, {"segments", gridsync_segments},
             {"passes", gridsync_passes},   {"words", gridsync_words},
             {"uniform", gridsync_uniform}, {"power", gridsync_power}};
#define CELLS (sizeof cells / sizeof cells[0])

/* True if the list, words separated by commas, has the name; NULL has all. */
static bool wanted(const char *list, const char *name)
{
  for (; list; ++list) {
    const size_t length = strcspn(list, ",");
    if (length == strlen(name) && !memcmp(list, name, length))
      return true;
    list += length;
    if (!*list)
      return false;
  }
  return true;
}

static vyre_status check_cells(const char *list, vyre_error *err)
{
  for (; list; ++list) {
    const size_t length = strcspn(list, ",");
    bool known = false;
    for (size_t i = 0; i < CELLS; ++i)
      known |= length == strlen(cells[i].name) && !memcmp(list, cells[i].name, length);
    if (!known) {
      if (err) {
        err->code = VYRE_ERROR_INVALID_ARGUMENT;
        snprintf(err->message, sizeof err->message, "there is no cell '%.*s'", (int)length, list);
        snprintf(err->fix, sizeof err->fix,
                 "name cells as barrier, segments, passes, words, uniform or power, separated by "
                 "commas");
      }
      return VYRE_ERROR_INVALID_ARGUMENT;
    }
    list += length;
    if (!*list)
      break;
  }
  return VYRE_OK;
}

static void describe(const gridsync_bench *bench)
{
  const vyre_device_info *info = &bench->device.info;
  bench_report *report = bench->report;
  snprintf(report->title, sizeof report->title, "gridsync: %u rounds of %u ms", bench->rounds,
           bench->ms);
  snprintf(report->device, sizeof report->device, "%.24s (%.48s)", info->selector, info->name);
  bench_report_note(report, "device: %s%s%.120s",
                    info->grid_sync == VYRE_GRID_SYNC_NATIVE     ? "synchronises its grid"
                    : info->grid_sync == VYRE_GRID_SYNC_EMULATED ? "emulates grid barriers"
                                                                 : "cannot synchronise its grid",
                    info->grid_sync_reason[0] ? ": " : "", info->grid_sync_reason);
}

/* On the host's own processors: how near two of them are, on which a barrier depends. */
static vyre_status ping_pong(const gridsync_bench *bench, const char *name, vyre_error *err)
{
  double seconds = 0;
  vyre_status status;
  if (bench->device.info.device_class != VYRE_DEVICE_CPU || ring_processors() < 2)
    return VYRE_OK;
  status = ring_ping_pong(&seconds, err);
  if (status == VYRE_OK)
    bench_report_value(bench->report, name, seconds * 1e9, "ns");
  return status;
}

vyre_status bench_gridsync(const bench_options *options, bench_report *report, vyre_error *err)
{
  gridsync_bench bench = {.options = options,
                          .report = report,
                          .rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS,
                          .ms = options->ms ? options->ms : DEFAULT_MS,
                          .segments = options->segments ? options->segments : DEFAULT_SEGMENTS,
                          .passes = options->passes ? options->passes : DEFAULT_PASSES,
                          .words = options->words ? options->words : DEFAULT_WORDS,
                          .edges = options->edges ? options->edges : DEFAULT_EDGES};
  vyre_status status = check_cells(options->cells, err);
  bench.words += bench.words % 2; /* steps take two at once */
  if (status != VYRE_OK)
    return status;
  status = bench_device_open(&bench.device, options->device, err);
  if (status == VYRE_OK)
    status = bench_bare_open(&bench.device, report, &bench.bare, err);
  if (status == VYRE_OK) {
    describe(&bench);
    status = ping_pong(&bench, "ping-pong before, one way", err);
  }
  for (size_t i = 0; i < CELLS && status == VYRE_OK; ++i)
    if (wanted(options->cells, cells[i].name))
      status = cells[i].run(&bench, err);
  if (status == VYRE_OK)
    status = ping_pong(&bench, "ping-pong after, one way", err);
  bench_bare_close(&bench.bare);
  bench_device_close(&bench.device);
  return status;
}
