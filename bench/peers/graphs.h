/*
 * graphs.h - a graph, and the module that brings somebody else's breadth-first search.
 *
 * The module libvyre_bench_graphs.so is built for the benchmark only (VYRE_BENCH_GRAPHBLAS=ON) and
 * opened at run time: neither libvyre nor the command depends on what it compares itself with.
 */
#ifndef VYRE_BENCH_PEERS_GRAPHS_H
#define VYRE_BENCH_PEERS_GRAPHS_H

#include <stdint.h>

/* Edges by the vertex at one end of them: of v, ends[offsets[v] … offsets[v + 1]]. */
typedef struct bench_graph {
  uint32_t vertices;
  uint32_t edges;
  uint32_t *offsets; /* vertices + 1 */
  uint32_t *ends;
} bench_graph;

#define BENCH_GRAPHS_VERSION 1u
#define BENCH_GRAPHS_FILE "libvyre_bench_graphs.so"
#define BENCH_GRAPHS_SYMBOL "vyre_bench_graphs"

/* Calls return 0 or the peer's own code. */
typedef struct bench_graph_peer {
  uint32_t version; /* BENCH_GRAPHS_VERSION */
  uint32_t reserved;
  const char *name;
  const char *about; /* version */
  /* The graph by its out-going edges, which are borrowed for the call. */
  int (*create)(const bench_graph *graph, void **out_self);
  void (*destroy)(void *self);
  /* What is measured: the level of every vertex, kept inside. */
  int (*search)(void *self, uint32_t source);
  /* The levels of the last search, UINT32_MAX where a vertex was not reached. */
  int (*read)(void *self, uint32_t *out_levels);
} bench_graph_peer;

/* The one symbol of the module. */
__attribute__((visibility("default"))) const bench_graph_peer *vyre_bench_graphs(void);

#endif
