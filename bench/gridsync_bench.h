/*
 * gridsync_bench.h - the parts of `vyre bench gridsync`.
 *
 *   bench_gridsync.c     cells
 *   gridsync_rounds.c    contestants by turns, medians
 *   gridsync_subject.c   a program with its memory, and the ways to run it
 *   gridsync_steps.c     cost of a segment: steps over words; the empty segment
 *   gridsync_bare.c      the same steps by bare calls of the driver
 *   gridsync_reach.c     reachability in a graph, against others
 *   gridsync_graph.c     graphs, and the breadth-first search by one thread
 *   gridsync_words.c, gridsync_hops.c   the work, in the kernel language
 */
#ifndef VYRE_BENCH_GRIDSYNC_BENCH_H
#define VYRE_BENCH_GRIDSYNC_BENCH_H

#include "bench/bare_peer.h"
#include "bench/peers/graphs.h"
#include "bench/work.h"

/* What all cells share. */
typedef struct gridsync_bench {
  const bench_options *options;
  bench_report *report;
  bench_device device;
  bench_bare_peer bare;
  uint32_t rounds, ms;
  uint32_t segments, passes, words, edges; /* the most of each */
} gridsync_bench;

/* ---- gridsync_rounds.c ---- */

#define GRIDSYNC_CONTESTANTS 16u

/* Something that is run over and over. */
typedef struct gridsync_contestant {
  const char *name;
  void *self;
  /* Once.  `out_result` is filled by a vyre dispatch and stays as it is otherwise. */
  vyre_status (*run)(void *self, vyre_dispatch_result *out_result, vyre_error *err);
  bool absent; /* it cannot be had here, or its result is wrong */
} gridsync_contestant;

/* Seconds of one run, in each round. */
typedef struct gridsync_figures {
  uint32_t rounds;
  uint32_t count;
  double *seconds; /* by round, then contestant */
  double *device;  /* likewise: on the device; negative where nobody measured it */
  double *values;  /* of a median */
  vyre_dispatch_result last[GRIDSYNC_CONTESTANTS];
} gridsync_figures;

/* Measures all that are not absent by turns.  Free the figures in any case. */
vyre_status gridsync_measure(const gridsync_bench *bench, const char *cell,
                             const gridsync_contestant *list, uint32_t count,
                             gridsync_figures *out_figures, vyre_error *err);
void gridsync_figures_free(gridsync_figures *figures);

/* Medians over the rounds: seconds of `k`; of `a` in terms of `b`; `k` over its device time, or 0;
   seconds that `many` needs more than `few`. */
double gridsync_seconds(gridsync_figures *figures, uint32_t k);
double gridsync_ratio(gridsync_figures *figures, uint32_t a, uint32_t b);
double gridsync_over_device(gridsync_figures *figures, uint32_t k);
double gridsync_more(gridsync_figures *figures, uint32_t many, uint32_t few);

/* Fills `err` with "WHAT: text of the code" and a fix. */
vyre_status gridsync_fail(vyre_error *err, vyre_status code, const char *what);

/* ---- gridsync_subject.c ---- */

#define GRIDSYNC_BUFFERS 8u
#define GRIDSYNC_WORKGROUP 256u

/* Creates the program that `desc` describes, with the text of file `name` as its code. */
vyre_status gridsync_program(const gridsync_bench *bench, vyre_program_desc *desc, const char *name,
                             const char *text, size_t size, vyre_program **out_program,
                             vyre_error *err);

/* Ways to run a program.  On device buffers: */
#define GRIDSYNC_NATIVE 0u
#define GRIDSYNC_RESIDENT 1u
#define GRIDSYNC_AUTO 2u
/* on host bytes, with the way there and back: */
#define GRIDSYNC_NATIVE_BYTES 3u
#define GRIDSYNC_RESIDENT_BYTES 4u
#define GRIDSYNC_HOST 5u
#define GRIDSYNC_AUTO_BYTES 6u
#define GRIDSYNC_WAYS 7u

typedef struct gridsync_subject gridsync_subject;

typedef struct gridsync_way {
  gridsync_subject *subject;
  uint32_t way;
} gridsync_way;

/* A program, the bytes that it starts from, and what has to come out. */
struct gridsync_subject {
  vyre_program *program;
  const void *first[GRIDSYNC_BUFFERS]; /* by buffer; NULL: zeros */
  uint64_t sizes[GRIDSYNC_BUFFERS];
  bool input[GRIDSYNC_BUFFERS];
  bool renewed[GRIDSYNC_BUFFERS]; /* each run on device buffers begins with it */
  uint32_t buffer_count;
  uint32_t result_buffer; /* what is checked: its index, */
  uint32_t result_output; /* its output position, */
  uint32_t passes;        /* how many a run from `first` takes, */
  const void *expected;   /* and the bytes after it */
  /* Made by gridsync_subject_open(). */
  vyre_buffer *buffers[GRIDSYNC_BUFFERS]; /* NULL: the device has none */
  vyre_bytes inputs[GRIDSYNC_BUFFERS];
  vyre_outputs outputs;
  uint32_t input_count;
  bool has_buffers;
  gridsync_way ways[GRIDSYNC_WAYS];
};

/* Makes the memory; close it in any case, also the program. */
vyre_status gridsync_subject_open(gridsync_subject *subject, const gridsync_bench *bench,
                                  vyre_error *err);
void gridsync_subject_close(gridsync_subject *subject);

/*
 * The contestant for one way, run and checked once.  A route that the device does not have makes it
 * absent; a wrong result too, and the report says so.
 */
vyre_status gridsync_enter(gridsync_subject *subject, const gridsync_bench *bench, const char *cell,
                           uint32_t way, gridsync_contestant *out_contestant, vyre_error *err);

/* Rows for what AUTO took, held against the best of `list`, whose first ones are all ways. */
void gridsync_report_auto(const gridsync_bench *bench, const char *cell, gridsync_figures *figures,
                          const gridsync_contestant *list);

/* "CELL: WHAT" in `buffer`, which it returns. */
const char *gridsync_row_name(char buffer[BENCH_NAME_SIZE], const char *cell, const char *what);

/* ---- gridsync_bare.c ---- */

#define GRIDSYNC_MANY_STEPS 64u /* from here on launches are what a run of few words is */
#define GRIDSYNC_FEW_WORDS (1u << 16)

typedef struct gridsync_bare {
  const gridsync_bench *bench;
  uint32_t form, segments, passes;
} gridsync_bare;

/* Steps over words, and what has to come out in a (which = 0) or b. */
typedef struct gridsync_bare_work {
  const uint32_t *first, *expected;
  uint32_t words, segments, passes, which;
} gridsync_bare_work;

/* A contestant for each form, absent without the module; each is run and checked once. */
vyre_status gridsync_enter_bare(const gridsync_bench *bench, const char *cell,
                                const gridsync_bare_work *work,
                                gridsync_bare bare[BENCH_BARE_STEP_FORMS],
                                gridsync_contestant out_contestants[BENCH_BARE_STEP_FORMS],
                                vyre_error *err);

/* Rows for those from `first` on in the list, and AUTO against them; a run is so many steps. */
void gridsync_report_bare(const gridsync_bench *bench, const char *cell, gridsync_figures *figures,
                          const gridsync_contestant *list, uint32_t first, uint32_t steps,
                          uint32_t words);

/* ---- cells ---- */

/* gridsync_steps.c */
vyre_status gridsync_barrier(gridsync_bench *bench, vyre_error *err);
vyre_status gridsync_segments(gridsync_bench *bench, vyre_error *err);
vyre_status gridsync_passes(gridsync_bench *bench, vyre_error *err);
vyre_status gridsync_words(gridsync_bench *bench, vyre_error *err);

/* gridsync_reach.c */
vyre_status gridsync_uniform(gridsync_bench *bench, vyre_error *err);
vyre_status gridsync_power(gridsync_bench *bench, vyre_error *err);

/* ---- gridsync_graph.c ---- */

#define GRIDSYNC_NONE UINT32_MAX /* the level of a vertex that is not reached */

typedef enum gridsync_kind {
  GRIDSYNC_UNIFORM, /* every pair of vertices is as likely an edge as any other */
  GRIDSYNC_POWER    /* R-MAT with 0.57, 0.19, 0.19, vertices shuffled */
} gridsync_kind;

/* A graph in both directions. */
typedef struct gridsync_graph {
  bench_graph out, in;
  uint32_t source; /* the vertex that most edges leave */
} gridsync_graph;

/* `edges` of them, on a sixteenth as many vertices, rounded to a power of two; the same ones each
 * time. */
vyre_status gridsync_graph_make(gridsync_kind kind, uint32_t edges, gridsync_graph *out_graph,
                                vyre_error *err);
void gridsync_graph_free(gridsync_graph *graph);

/* The search by one thread, in memory that is kept. */
typedef struct gridsync_search {
  const gridsync_graph *graph;
  uint32_t *levels;
  uint32_t *queue;
  uint8_t *front;   /* a bit for each vertex of the level before */
  uint32_t deepest; /* of the last search */
} gridsync_search;

vyre_status gridsync_search_open(gridsync_search *search, const gridsync_graph *graph,
                                 vyre_error *err);
void gridsync_search_close(gridsync_search *search);
void gridsync_search_run(gridsync_search *search);

#endif
