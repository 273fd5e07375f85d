/*
 * bench.h - the benchmarks of `vyre bench NAME`, and the report that they fill.
 *
 * A benchmark measures in one process and compares by ratios; it adds rows to a report.  The verb
 * finds it by name, runs it, and prints the report as a table and, if asked, as JSON.
 */
#ifndef VYRE_BENCH_BENCH_H
#define VYRE_BENCH_BENCH_H

#include "vyre.h"

#include <stdbool.h>
#include <stdio.h>

/* Zero means the benchmark's own default. */
typedef struct bench_options {
  uint32_t jobs;      /* work items a round */
  uint32_t rounds;    /* measured rounds */
  uint32_t workers;   /* engine workers */
  uint32_t ms;        /* milliseconds of one measurement */
  uint32_t soak;      /* ring, engine: seconds to soak it instead of measuring */
  uint32_t reserved;  /* 0 */
  const char *device; /* selector; NULL: "cpu" */
  const char *self;   /* this program's file; NULL: /proc/self/exe */
  FILE *progress;     /* a line a round, or NULL */
  const char *cells;  /* which of them; NULL: all */
  const char *peers;  /* the module with the others; NULL: beside this program */
  uint32_t segments;  /* gridsync: the most of each */
  uint32_t passes;
  uint32_t words;
  uint32_t edges;
} bench_options;
#define BENCH_OPTIONS_INIT                                                                         \
  {                                                                                                \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                    \
  }

/* Options that a benchmark looks at. */
#define BENCH_JOBS (1u << 0)
#define BENCH_ROUNDS (1u << 1)
#define BENCH_MS (1u << 2)
#define BENCH_SOAK (1u << 3)
#define BENCH_DEVICE (1u << 4)
#define BENCH_CELLS (1u << 5)
#define BENCH_PEERS (1u << 6)
#define BENCH_SIZES (1u << 7) /* segments, passes, words, edges */

/* What a row's value is held against. */
typedef enum bench_verdict {
  BENCH_PRINTED, /* no target */
  BENCH_PASS,
  BENCH_MISS,
} bench_verdict;

#define BENCH_NAME_SIZE 64
#define BENCH_TEXT_SIZE 96
#define BENCH_NOTE_SIZE 200

typedef struct bench_row {
  char name[BENCH_NAME_SIZE];
  double value;
  char unit[16];
  char target[BENCH_TEXT_SIZE]; /* ">= 0.9", or "" */
  bench_verdict verdict;
  char note[BENCH_NAME_SIZE]; /* behind the verdict, or "" */
} bench_row;

typedef struct bench_report {
  char title[BENCH_TEXT_SIZE];
  char device[BENCH_TEXT_SIZE];
  bench_row *rows;
  uint32_t count;
  uint32_t capacity;
  char (*notes)[BENCH_NOTE_SIZE]; /* lines behind the rows */
  uint32_t note_count;
  bool failed; /* memory ran out: rows are missing */
  bool wrong;  /* what was measured gave wrong results; a note says which */
} bench_report;

void bench_report_init(bench_report *report);
void bench_report_free(bench_report *report);

/* A row without a target, with a lower bound, with an upper bound. */
void bench_report_value(bench_report *report, const char *name, double value, const char *unit);
void bench_report_at_least(bench_report *report, const char *name, double value, const char *unit,
                           double target);
void bench_report_at_most(bench_report *report, const char *name, double value, const char *unit,
                          double target);

/* A few words behind the row that was added last; a line behind all rows. */
__attribute__((format(printf, 2, 3))) void bench_report_remark(bench_report *report,
                                                               const char *format, ...);
__attribute__((format(printf, 2, 3))) void bench_report_note(bench_report *report,
                                                             const char *format, ...);

/* True if no row missed its target and nothing was wrong. */
bool bench_report_passed(const bench_report *report);

/* The table; false if the stream could not be written. */
bool bench_report_print(const bench_report *report, FILE *out);

/* The same as JSON, one object.  ERROR_IO names the file. */
vyre_status bench_report_write_json(const bench_report *report, const char *path, vyre_error *err);

/* A benchmark, by the NAME of `vyre bench NAME`. */
typedef vyre_status (*bench_run_fn)(const bench_options *options, bench_report *report,
                                    vyre_error *err);
typedef struct bench_entry {
  const char *name;
  const char *summary;
  bench_run_fn run;
  uint32_t options; /* BENCH_… that it looks at */
} bench_entry;

/* The index-th benchmark, NULL past the last; the one called `name`, or NULL. */
const bench_entry *bench_at(uint32_t index);
const bench_entry *bench_find(const char *name);

/* P10 and P11: the engine against a plain loop and a dispatch a job; a fresh process. */
vyre_status bench_engine(const bench_options *options, bench_report *report, vyre_error *err);

/* The part of bench_engine() that starts processes (P11). */
vyre_status bench_start(const bench_options *options, bench_report *report, vyre_error *err);

/* P8: what an item costs among few and many; several devices. */
vyre_status bench_flow(const bench_options *options, bench_report *report, vyre_error *err);

/* P7: the handler of the scan over bytes on the device and of the host. */
vyre_status bench_scan(const bench_options *options, bench_report *report, vyre_error *err);

/* P4: the ring against other queues, in one process; or its soak, which checks itself. */
vyre_status bench_ring(const bench_options *options, bench_report *report, vyre_error *err);

/* P3: grid-sync programs on each route; reachability beside other searches. */
vyre_status bench_gridsync(const bench_options *options, bench_report *report, vyre_error *err);

/*
 * The hidden verbs that bench_start() runs this program with: `vyre bench @empty` and
 * `vyre bench @start SELECTOR`.  True if `argv` (from NAME on) is one of them; `*out_exit` is then
 * the exit code.  The program calls it before anything else of the verb.
 */
bool bench_child(int argc, char **argv, int *out_exit);

/* Median of `count` values, which it sorts; 0 for none. */
double bench_median(double *values, uint32_t count);

/* Monotonic seconds. */
double bench_now(void);

#endif
