/*
 * bench_ring.c - the ring against other queues, in one process, by turns: cells of 1, 2 and 4
 * producers and as many consumers, items one by one and in batches of 32.
 *
 * In each round every queue is measured once, in an order that moves on by one each round; what is
 * compared are ratios within a round, and the medians over the rounds are reported.  The ping-pong
 * of a cache line is measured before and after a round: the round is dropped if it moved, for then
 * the processors changed their places under it.
 */
#include "bench/ring_bench.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROUNDS 11u
#define DEFAULT_MS 40u
#define ATTEMPTS 2u /* at most so many times the rounds that are wanted */

/* Contestants: ours first. */
#define OURS 4u
#define ROW_A 0u
#define ROW_A_AGAIN 1u
#define ROW_B 2u
#define ROW_B_SPAN 3u
#define CONTESTANTS_MAX 16u

static const ring_cell cells[] = {{1, 1}, {1, 32}, {2, 1}, {2, 32}, {4, 1}, {4, 32}};
#define CELLS (sizeof cells / sizeof cells[0])
#define HAND_OFF "hand-off"

/* One round of one cell. */
typedef struct ring_round {
  double before, after; /* ping-pong */
  double rate[CONTESTANTS_MAX];
} ring_round;

typedef struct ring_bench {
  const bench_options *options;
  bench_report *report;
  ring_peers peers;
  const bench_contestant *contestants[CONTESTANTS_MAX];
  uint32_t count;
  uint32_t rounds, ms;
  ring_round *kept;                   /* rounds of the cell at work */
  double *values;                     /* of a median */
  uint32_t kept_count, dropped;       /* of the cell at work */
  const char *wrong[CONTESTANTS_MAX]; /* of the cell at work */
  char cell[24];                      /* its name */
} ring_bench;

/* ---- --cells ---- */

/* Whether one term, "2P2C", "2P2C:32" or "hand-off", names this cell (NULL: the hand-off). */
static bool term_names(const char *term, size_t length, const ring_cell *cell)
{
  char name[32];
  int n;
  if (!cell)
    return length == strlen(HAND_OFF) && !memcmp(term, HAND_OFF, length);
  n = snprintf(name, sizeof name, "%uP%uC:%u", cell->side, cell->side, cell->batch);
  return (length == (size_t)n || length == strcspn(name, ":")) && !memcmp(term, name, length);
}

static bool wanted(const char *list, const ring_cell *cell)
{
  if (!list)
    return true;
  for (;; ++list) {
    const size_t length = strcspn(list, ",");
    if (term_names(list, length, cell))
      return true;
    list += length;
    if (!*list)
      return false;
  }
}

static vyre_status check_cells(const char *list, vyre_error *err)
{
  for (; list; ++list) {
    const size_t length = strcspn(list, ",");
    bool known = term_names(list, length, NULL);
    for (size_t i = 0; i < CELLS; ++i)
      known |= term_names(list, length, &cells[i]);
    if (!known) {
      if (err) {
        err->code = VYRE_ERROR_INVALID_ARGUMENT;
        snprintf(err->message, sizeof err->message, "there is no cell '%.*s'", (int)length, list);
        snprintf(err->fix, sizeof err->fix,
                 "name cells as 1P1C, 2P2C:32 or " HAND_OFF ", separated by commas");
      }
      return VYRE_ERROR_INVALID_ARGUMENT;
    }
    list += length;
    if (!*list)
      break;
  }
  return VYRE_OK;
}

/* ---- rounds ---- */

static void tell(const ring_bench *bench, uint32_t round, const ring_round *now, bool dropped)
{
  FILE *out = bench->options->progress;
  if (!out)
    return;
  fprintf(out, "%s, round %u: ping-pong %.0f, %.0f ns%s; Mitem/s:", bench->cell, round + 1,
          now->before * 1e9, now->after * 1e9, dropped ? " (dropped)" : "");
  for (uint32_t i = 0; i < bench->count; ++i)
    fprintf(out, " %s %.2f", bench->contestants[i]->name, now->rate[i] / 1e6);
  fputc('\n', out);
}

static vyre_status measure_all(ring_bench *bench, const ring_cell *cell, uint32_t round,
                               ring_round *now, vyre_error *err)
{
  ring_sample sample;
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; i < bench->count && status == VYRE_OK; ++i) {
    const uint32_t k = (i + round) % bench->count;
    if (bench->wrong[k])
      continue;
    status = ring_measure(bench->contestants[k], cell, bench->ms, &sample, err);
    now->rate[k] = sample.rate;
    if (status == VYRE_OK)
      bench->wrong[k] = sample.wrong;
  }
  return status;
}

/* A cell's rounds until enough are kept; without a cell, the hand-off's. */
static vyre_status run_rounds(ring_bench *bench, const ring_cell *cell, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  bench->kept_count = bench->dropped = 0;
  memset(bench->wrong, 0, sizeof bench->wrong);
  for (uint32_t round = 0;
       round < ATTEMPTS * bench->rounds && bench->kept_count < bench->rounds && status == VYRE_OK;
       ++round) {
    ring_round now = {0};
    bool moved;
    status = ring_ping_pong(&now.before, err);
    if (status == VYRE_OK)
      status =
          cell ? measure_all(bench, cell, round, &now, err) : ring_hand_off(&now.rate[ROW_A], err);
    if (status == VYRE_OK)
      status = ring_ping_pong(&now.after, err);
    if (status != VYRE_OK)
      break;
    moved = ring_moved(now.before, now.after);
    if (cell)
      tell(bench, round, &now, moved);
    if (moved)
      ++bench->dropped;
    else
      bench->kept[bench->kept_count++] = now;
  }
  return status;
}

/* ---- results ---- */

/* Sets `median_` to the median of an expression of the kept rounds, `r`. */
#define MEDIAN(bench, median_, expression)                                                         \
  do {                                                                                             \
    for (uint32_t i_ = 0; i_ < (bench)->kept_count; ++i_) {                                        \
      const ring_round *r = &(bench)->kept[i_];                                                    \
      (bench)->values[i_] = (expression);                                                          \
    }                                                                                              \
    (median_) = bench_median((bench)->values, (bench)->kept_count);                                \
  } while (0)

static const char *row_name(const ring_bench *bench, char *buffer, const char *what)
{
  snprintf(buffer, BENCH_NAME_SIZE, "%.20s: %.40s", bench->cell, what);
  return buffer;
}

static void add_value(ring_bench *bench, const char *what, double value, const char *unit)
{
  char name[BENCH_NAME_SIZE];
  bench_report_value(bench->report, row_name(bench, name, what), value, unit);
}

static double ratio_to(ring_bench *bench, uint32_t k)
{
  double ratio;
  MEDIAN(bench, ratio, r->rate[ROW_A] / r->rate[k]);
  return ratio;
}

/* The peer that is nearest to us, if there is one. */
static void report_best(ring_bench *bench, const ring_cell *cell)
{
  const double target = cell->batch > 1 && cell->side > 1 ? 1.35 : 0.95;
  char name[BENCH_NAME_SIZE];
  double ratio, least = 0;
  uint32_t best = 0;
  for (uint32_t k = OURS; k < bench->count; ++k) {
    if (bench->wrong[k])
      continue;
    ratio = ratio_to(bench, k);
    if (!best || ratio < least) {
      least = ratio;
      best = k;
    }
  }
  if (!best)
    return;
  bench_report_at_least(bench->report, row_name(bench, name, "A / best peer"), least, "ratio",
                        target);
  bench_report_remark(bench->report, "%s", bench->contestants[best]->name);
}

static void report_wrong(ring_bench *bench)
{
  for (uint32_t k = 0; k < bench->count; ++k) {
    if (!bench->wrong[k])
      continue;
    bench_report_note(bench->report, "%s: %s%s %s%s", bench->cell,
                      k < OURS ? "vyre's ring, row " : "", bench->contestants[k]->name,
                      bench->wrong[k], k < OURS ? "" : ": not measured");
    if (k < OURS)
      bench->report->wrong = true;
  }
}

static void report_floor(ring_bench *bench)
{
  char name[BENCH_NAME_SIZE];
  double value;
  MEDIAN(bench, value, r->before);
  add_value(bench, "ping-pong before, one way", value * 1e9, "ns");
  MEDIAN(bench, value, r->after);
  add_value(bench, "ping-pong after, one way", value * 1e9, "ns");
  /* Without one there is no verdict above, and that is no pass. */
  bench_report_at_least(bench->report, row_name(bench, name, "rounds kept"), bench->kept_count, "",
                        1);
  add_value(bench, "rounds dropped, the ping-pong moved", bench->dropped, "");
}

/* One form of row B beside row A; `target` 0: there is none. */
static void report_row_b(ring_bench *bench, uint32_t k, double target)
{
  char name[BENCH_NAME_SIZE], what[BENCH_NAME_SIZE];
  double value;
  if (bench->wrong[k])
    return;
  MEDIAN(bench, value, r->rate[k] / r->rate[ROW_A]);
  snprintf(what, sizeof what, "%.32s / A", bench->contestants[k]->name);
  if (target > 0)
    bench_report_at_least(bench->report, row_name(bench, name, what), value, "ratio", target);
  else
    add_value(bench, what, value, "ratio");
}

static void report_cell(ring_bench *bench, const ring_cell *cell)
{
  char what[BENCH_NAME_SIZE];
  double value;
  report_wrong(bench);
  if (bench->kept_count && !bench->wrong[ROW_A]) {
    report_best(bench, cell);
    /* Who has items one by one has their tickets, and who has batches has spans. */
    report_row_b(bench, ROW_B, cell->batch > 1 ? 0 : 0.7);
    report_row_b(bench, ROW_B_SPAN, cell->batch > 1 ? 0.95 : 0);
    if (!bench->wrong[ROW_A_AGAIN]) {
      MEDIAN(bench, value, r->rate[ROW_A_AGAIN] / r->rate[ROW_A]);
      add_value(bench, "A again / A, the noise", value, "ratio");
    }
    for (uint32_t k = OURS; k < bench->count; ++k)
      if (!bench->wrong[k]) {
        snprintf(what, sizeof what, "A / %.32s", bench->contestants[k]->name);
        add_value(bench, what, ratio_to(bench, k), "ratio");
      }
    MEDIAN(bench, value, r->rate[ROW_A]);
    add_value(bench, "A", value / 1e6, "Mitem/s");
    for (uint32_t k = ROW_B; k < OURS; ++k) {
      MEDIAN(bench, value, r->rate[k]);
      add_value(bench, bench->contestants[k]->name, value / 1e6, "Mitem/s");
    }
  }
  report_floor(bench);
}

static void report_hand_off(ring_bench *bench)
{
  char name[BENCH_NAME_SIZE];
  double value;
  if (bench->kept_count) {
    MEDIAN(bench, value, r->rate[ROW_A] / ((r->before + r->after) / 2));
    bench_report_at_most(bench->report, row_name(bench, name, "one item / ping-pong"), value,
                         "ratio", 1.3);
    MEDIAN(bench, value, r->rate[ROW_A]);
    add_value(bench, "one item, one way", value * 1e9, "ns");
  }
  report_floor(bench);
}

static vyre_status run_cells(ring_bench *bench, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (wanted(bench->options->cells, NULL)) {
    snprintf(bench->cell, sizeof bench->cell, HAND_OFF);
    status = run_rounds(bench, NULL, err);
    if (status == VYRE_OK)
      report_hand_off(bench);
  }
  for (size_t i = 0; i < CELLS && status == VYRE_OK; ++i) {
    if (!wanted(bench->options->cells, &cells[i]))
      continue;
    snprintf(bench->cell, sizeof bench->cell, "%uP%uC batch %u", cells[i].side, cells[i].side,
             cells[i].batch);
    status = run_rounds(bench, &cells[i], err);
    if (status == VYRE_OK)
      report_cell(bench, &cells[i]);
  }
  return status;
}

static void add_peers(ring_bench *bench)
{
  const bench_peers *list = bench->peers.list;
  char about[BENCH_NOTE_SIZE] = "";
  size_t used = 0;
  for (uint32_t i = 0; list && i < list->count && bench->count < CONTESTANTS_MAX; ++i) {
    const bench_contestant *peer = list->contestants[i];
    bench->contestants[bench->count++] = peer;
    if (used < sizeof about)
      used += (size_t)snprintf(about + used, sizeof about - used, "%s%s (%s)", i ? ", " : "",
                               peer->name, peer->about);
  }
  if (list)
    bench_report_note(bench->report, "peers: %s", about);
  else
    bench_report_note(bench->report, "peers: none, vyre's ring is compared with itself alone; "
                                     "scripts/bench-ring builds them and runs this");
}

static void describe(ring_bench *bench)
{
  const uint32_t processors = ring_processors();
  snprintf(bench->report->title, sizeof bench->report->title,
           "ring: 16-byte items, %u places, %u rounds of %u ms", RING_PLACES, bench->rounds,
           bench->ms);
  snprintf(bench->report->device, sizeof bench->report->device,
           "host, %u processor%s, a thread on each where they suffice", processors,
           processors == 1 ? "" : "s");
}

vyre_status bench_ring(const bench_options *options, bench_report *report, vyre_error *err)
{
  ring_bench bench = {
      .options = options,
      .report = report,
      .contestants = {&ring_row_a, &ring_row_a_again, &ring_row_b, &ring_row_b_span},
      .count = OURS,
      .rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS,
      .ms = options->ms ? options->ms : DEFAULT_MS};
  vyre_status status;
  if (options->soak)
    return ring_soak(options, report, err);
  if ((status = check_cells(options->cells, err)) != VYRE_OK ||
      (status = ring_peers_open(options->peers, &bench.peers, err)) != VYRE_OK)
    return status;
  bench.kept = calloc(bench.rounds, sizeof *bench.kept);
  bench.values = calloc(bench.rounds, sizeof *bench.values);
  if (bench.kept && bench.values) {
    describe(&bench);
    add_peers(&bench);
    status = run_cells(&bench, err);
  } else {
    status = ring_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the rounds");
  }
  free(bench.kept);
  free(bench.values);
  ring_peers_close(&bench.peers);
  return status;
}
