/*
 * graph.h - a directed graph laid out for the kernel: compressed rows, and chunks of bounded work.
 */
#ifndef REACHABILITY_GRAPH_H
#define REACHABILITY_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#define GRAPH_UNSEEN UINT32_MAX /* level of a vertex that was not reached */

typedef struct graph_edge {
  uint32_t from;
  uint32_t to;
} graph_edge;

typedef struct graph {
  uint32_t vertex_count;
  uint32_t edge_count;
  uint32_t chunk_count;
  uint32_t *offsets; /* vertex_count + 1: where a vertex's edges begin */
  uint32_t *targets; /* edge_count, in the order in which the edges of a vertex were given */
  uint32_t *chunks;  /* 2 * (chunk_count + 1), see reachability.c */
} graph;

/* False without memory, or with an edge to no vertex.  Less than 2^32 edges. */
bool graph_build(graph *g, uint32_t vertex_count, const graph_edge *edges, uint32_t edge_count);
void graph_free(graph *g);

/* Words of a bitmap of the vertices; at least one. */
uint32_t graph_words(const graph *g);

/* The same as the kernel, one vertex after the other: hops from `start` to each vertex, or
   GRAPH_UNSEEN.  False without memory. */
bool graph_levels(const graph *g, uint32_t start, uint32_t *out_levels);

#endif
