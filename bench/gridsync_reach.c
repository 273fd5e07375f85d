/*
 * gridsync_reach.c - which vertices of a graph can be reached from one, and in how many steps: by
 * vyre on each route, by a search of one thread, and by the module's, if there is one.
 */
#include "bench/gridsync_bench.h"
#include "bench/module.h"

#include "embed/bench_hops.h"

#include <stdlib.h>
#include <string.h>

static const bench_module_kind kind = {
    BENCH_GRAPHS_FILE, BENCH_GRAPHS_SYMBOL,
    "build it with VYRE_BENCH_GRAPHBLAS=ON; scripts/bench-gridsync does"};

/* Buffers, in declaration order. */
#define OUT_OFFSETS 0u
#define OUT_TARGETS 1u
#define IN_OFFSETS 2u
#define IN_SOURCES 3u
#define FRONT 4u
#define STATE 5u
#define LEVELS 6u
#define FOUND 7u
#define BUFFERS 8u

#define SHARE 8u                /* vertices of one item */
#define FOUND_WORDS (64u * 16u) /* of 64 bits: places for what a pass found, and their stride */
#define MOST_PASSES 100000u

/* The words of `state` in gridsync_hops.c. */
typedef struct gridsync_state {
  uint32_t depth, pull, left, vertices, share, unused[3];
} gridsync_state;

/* Contestants: all ways; then */
#define EXACT GRIDSYNC_WAYS /* AUTO on device buffers, convergence by bytes */
#define SERIAL (GRIDSYNC_WAYS + 1u)
#define PEER (GRIDSYNC_WAYS + 2u)
#define ALL (GRIDSYNC_WAYS + 3u)

typedef struct reach {
  gridsync_bench *bench;
  const char *cell;
  gridsync_graph graph;
  gridsync_search search; /* its levels are what everybody has to come to */
  uint32_t *first;        /* levels before the first pass */
  gridsync_state state;
  gridsync_subject declared, exact;
  void *module;
  const bench_graph_peer *peer;
  void *peer_self;
} reach;

/* ---- the program ---- */

static void declare(vyre_buffer_decl *buffer, vyre_segment_binding *binding, const char *name,
                    vyre_access access, uint64_t count)
{
  const vyre_buffer_decl empty = VYRE_BUFFER_DECL_INIT;
  const vyre_segment_binding none = VYRE_SEGMENT_BINDING_INIT;
  *buffer = empty;
  *binding = none;
  buffer->name = binding->buffer = name;
  buffer->access = binding->access = access;
  buffer->element_count = count;
}

/* A bit for each vertex. */
static uint64_t front_bytes(const reach *r)
{
  return ((uint64_t)r->graph.out.vertices + 7) / 8;
}

static vyre_status create(const reach *r, vyre_converge converge, vyre_program **out_program,
                          vyre_error *err)
{
  const bench_graph *out = &r->graph.out;
  vyre_buffer_decl buffers[BUFFERS];
  vyre_segment_binding bindings[BUFFERS];
  vyre_segment_binding deeper[2], mark[3];
  vyre_segment_decl segments[3] = {VYRE_SEGMENT_DECL_INIT, VYRE_SEGMENT_DECL_INIT,
                                   VYRE_SEGMENT_DECL_INIT};
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  declare(&buffers[OUT_OFFSETS], &bindings[OUT_OFFSETS], "out_offsets", VYRE_READ_ONLY,
          (uint64_t)out->vertices + 1);
  declare(&buffers[OUT_TARGETS], &bindings[OUT_TARGETS], "out_targets", VYRE_READ_ONLY, out->edges);
  declare(&buffers[IN_OFFSETS], &bindings[IN_OFFSETS], "in_offsets", VYRE_READ_ONLY,
          (uint64_t)out->vertices + 1);
  declare(&buffers[IN_SOURCES], &bindings[IN_SOURCES], "in_sources", VYRE_READ_ONLY, out->edges);
  declare(&buffers[FRONT], &bindings[FRONT], "front", VYRE_READ_WRITE, front_bytes(r));
  buffers[FRONT].element_size = 1;
  buffers[FRONT].flags = VYRE_BUFFER_OUTPUT | VYRE_BUFFER_RANGE; /* not read back */
  declare(&buffers[STATE], &bindings[STATE], "state", VYRE_READ_WRITE,
          sizeof(gridsync_state) / sizeof(uint32_t));
  declare(&buffers[LEVELS], &bindings[LEVELS], "levels", VYRE_READ_WRITE, out->vertices);
  declare(&buffers[FOUND], &bindings[FOUND], "found", VYRE_READ_WRITE, FOUND_WORDS);
  buffers[FOUND].element_size = sizeof(uint64_t);
  buffers[FOUND].flags = buffers[FRONT].flags;
  deeper[0] = bindings[STATE];
  deeper[1] = bindings[FOUND];
  mark[0] = bindings[LEVELS];
  mark[1] = bindings[STATE];
  mark[2] = bindings[FRONT];
  mark[0].access = mark[1].access = VYRE_READ_ONLY;
  bindings[FRONT].access = bindings[STATE].access = VYRE_READ_ONLY;
  segments[0].kernel = "hop";
  segments[0].bindings = bindings;
  segments[0].binding_count = BUFFERS;
  segments[0].elements[0] = ((uint64_t)out->vertices + SHARE - 1) / SHARE;
  segments[1].kernel = "deeper";
  segments[1].bindings = deeper;
  segments[1].binding_count = 2;
  segments[1].elements[0] = 1;
  segments[2].kernel = "mark";
  segments[2].bindings = mark;
  segments[2].binding_count = 3;
  segments[2].elements[0] = front_bytes(r);
  desc.name = "reach";
  desc.buffers = buffers;
  desc.buffer_count = BUFFERS;
  desc.segments = segments;
  desc.segment_count = 3;
  desc.iterations = MOST_PASSES;
  desc.converge = converge;
  return gridsync_program(r->bench, &desc, "gridsync_hops.c", bench_hops, bench_hops_size,
                          out_program, err);
}

static vyre_status open_subject(reach *r, gridsync_subject *subject, vyre_converge converge,
                                vyre_error *err)
{
  const bench_graph *out = &r->graph.out, *in = &r->graph.in;
  const uint64_t offsets = ((uint64_t)out->vertices + 1) * sizeof(uint32_t);
  const uint64_t edges = (uint64_t)out->edges * sizeof(uint32_t);
  vyre_status status;
  *subject = (gridsync_subject){
      .first = {out->offsets, out->ends, in->offsets, in->ends, NULL, &r->state, r->first, NULL},
      .sizes = {offsets, edges, offsets, edges, front_bytes(r), sizeof r->state,
                out->vertices * sizeof(uint32_t), FOUND_WORDS * sizeof(uint64_t)},
      .input = {true, true, true, true, false, true, true, false},
      .renewed = {false, false, false, false, false, true, true, false},
      .buffer_count = BUFFERS,
      .result_buffer = LEVELS,
      .result_output = 2,
      .expected = r->search.levels,
      .passes = r->search.deepest + 1};
  status = create(r, converge, &subject->program, err);
  return status == VYRE_OK ? gridsync_subject_open(subject, r->bench, err) : status;
}

/* ---- the others ---- */

static vyre_status run_serial(void *self, vyre_dispatch_result *out_result, vyre_error *err)
{
  (void)out_result;
  (void)err;
  gridsync_search_run(self);
  return VYRE_OK;
}

static vyre_status run_peer(void *self, vyre_dispatch_result *out_result, vyre_error *err)
{
  const reach *r = self;
  (void)out_result;
  return r->peer->search(r->peer_self, r->graph.source)
             ? gridsync_fail(err, VYRE_ERROR_INTERNAL, r->peer->name)
             : VYRE_OK;
}

/* Opens the module, if there is one, and looks whether it finds the same. */
static vyre_status enter_peer(reach *r, gridsync_contestant *out_contestant, vyre_error *err)
{
  const void *table;
  gridsync_search found = {0};
  vyre_status status = bench_module_open(&kind, r->bench->options->peers, &r->module, &table, err);
  *out_contestant =
      (gridsync_contestant){.name = "none", .self = r, .run = run_peer, .absent = true};
  if (status != VYRE_OK || !table)
    return status;
  r->peer = table;
  if (r->peer->version != BENCH_GRAPHS_VERSION)
    return bench_module_refuse(&kind, r->bench->options->peers,
                               "it is not the module of this version", err);
  out_contestant->name = r->peer->name;
  if (r->peer->create(&r->graph.out, &r->peer_self))
    return gridsync_fail(err, VYRE_ERROR_INTERNAL, r->peer->name);
  status = gridsync_search_open(&found, &r->graph, err);
  if (status == VYRE_OK &&
      (r->peer->search(r->peer_self, r->graph.source) || r->peer->read(r->peer_self, found.levels)))
    status = gridsync_fail(err, VYRE_ERROR_INTERNAL, r->peer->name);
  if (status == VYRE_OK)
    out_contestant->absent =
        memcmp(found.levels, r->search.levels, r->graph.out.vertices * sizeof *found.levels) != 0;
  if (status == VYRE_OK && out_contestant->absent)
    bench_report_note(r->bench->report, "%s: %s: another result: not measured", r->cell,
                      r->peer->name);
  gridsync_search_close(&found);
  return status;
}

/* ---- the cell ---- */

static void report_row(const reach *r, gridsync_figures *figures, const gridsync_contestant *list,
                       uint32_t k, const char *what)
{
  char name[BENCH_NAME_SIZE];
  if (list[k].absent)
    return;
  bench_report_value(r->bench->report, gridsync_row_name(name, r->cell, what),
                     gridsync_seconds(figures, k) * 1e3, "ms");
}

static void report_ratio(const reach *r, gridsync_figures *figures, const gridsync_contestant *list,
                         const char *what, uint32_t a, uint32_t b)
{
  char name[BENCH_NAME_SIZE];
  if (list[a].absent || list[b].absent)
    return;
  bench_report_value(r->bench->report, gridsync_row_name(name, r->cell, what),
                     gridsync_ratio(figures, a, b), "ratio");
}

static void report(const reach *r, gridsync_figures *figures, const gridsync_contestant *list)
{
  uint32_t reached = 0;
  for (uint32_t v = 0; v < r->graph.out.vertices; ++v)
    reached += r->search.levels[v] != GRIDSYNC_NONE;
  for (uint32_t way = 0; way < GRIDSYNC_WAYS; ++way)
    report_row(r, figures, list, way, list[way].name);
  report_row(r, figures, list, EXACT, "auto, EXACT");
  report_row(r, figures, list, SERIAL, "serial");
  report_row(r, figures, list, PEER, list[PEER].name);
  report_ratio(r, figures, list, "serial / auto", SERIAL, GRIDSYNC_AUTO);
  report_ratio(r, figures, list, "serial / auto, bytes", SERIAL, GRIDSYNC_AUTO_BYTES);
  if (!list[PEER].absent) {
    report_ratio(r, figures, list, "GraphBLAS / auto", PEER, GRIDSYNC_AUTO);
    report_ratio(r, figures, list, "GraphBLAS / auto, bytes", PEER, GRIDSYNC_AUTO_BYTES);
  }
  report_ratio(r, figures, list, "auto, EXACT / DECLARED", EXACT, GRIDSYNC_AUTO);
  gridsync_report_auto(r->bench, r->cell, figures, list);
  bench_report_note(r->bench->report, "%s: %u vertices, %u edges, %u reached in %u steps%s%s",
                    r->cell, r->graph.out.vertices, r->graph.out.edges, reached, r->search.deepest,
                    r->peer ? "; beside "
                            : "; no module with another search: scripts/bench-gridsync",
                    r->peer ? r->peer->about : "");
}

static vyre_status enter(reach *r, gridsync_contestant *list, vyre_error *err)
{
  vyre_status status = open_subject(r, &r->declared, VYRE_CONVERGE_DECLARED, err);
  for (uint32_t way = 0; way < GRIDSYNC_WAYS && status == VYRE_OK; ++way)
    status = gridsync_enter(&r->declared, r->bench, r->cell, way, &list[way], err);
  if (status == VYRE_OK)
    status = open_subject(r, &r->exact, VYRE_CONVERGE_EXACT, err);
  if (status == VYRE_OK)
    status = gridsync_enter(&r->exact, r->bench, r->cell, GRIDSYNC_AUTO, &list[EXACT], err);
  list[EXACT].name = "auto, EXACT";
  list[SERIAL] = (gridsync_contestant){.name = "serial", .self = &r->search, .run = run_serial};
  return status == VYRE_OK ? enter_peer(r, &list[PEER], err) : status;
}

static vyre_status prepare(reach *r, gridsync_kind graph, vyre_error *err)
{
  vyre_status status = gridsync_graph_make(graph, r->bench->edges, &r->graph, err);
  const size_t size = (size_t)r->graph.out.vertices * sizeof *r->first;
  if (status == VYRE_OK)
    status = gridsync_search_open(&r->search, &r->graph, err);
  if (status != VYRE_OK)
    return status;
  r->first = malloc(size);
  if (!r->first)
    return gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the levels");
  gridsync_search_run(&r->search);
  memset(r->first, 0xff, size);
  r->first[r->graph.source] = 0;
  r->state.left = r->graph.out.edges;
  r->state.vertices = r->graph.out.vertices;
  r->state.share = SHARE;
  return VYRE_OK;
}

static vyre_status run_cell(gridsync_bench *bench, const char *cell, gridsync_kind graph,
                            vyre_error *err)
{
  reach r = {.bench = bench, .cell = cell};
  gridsync_contestant list[ALL] = {{0}};
  gridsync_figures figures = {0};
  vyre_status status = prepare(&r, graph, err);
  if (status == VYRE_OK)
    status = enter(&r, list, err);
  if (status == VYRE_OK)
    status = gridsync_measure(bench, cell, list, ALL, &figures, err);
  if (status == VYRE_OK)
    report(&r, &figures, list);
  gridsync_figures_free(&figures);
  if (r.peer)
    r.peer->destroy(r.peer_self);
  bench_module_close(r.module);
  gridsync_subject_close(&r.declared);
  gridsync_subject_close(&r.exact);
  gridsync_search_close(&r.search);
  gridsync_graph_free(&r.graph);
  free(r.first);
  return status;
}

vyre_status gridsync_uniform(gridsync_bench *bench, vyre_error *err)
{
  return run_cell(bench, "uniform", GRIDSYNC_UNIFORM, err);
}

vyre_status gridsync_power(gridsync_bench *bench, vyre_error *err)
{
  return run_cell(bench, "power", GRIDSYNC_POWER, err);
}
