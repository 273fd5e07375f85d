/*
 * graph.c - layout of a graph, and a search over it in plain C.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* Most edges that one item looks at: few enough to share out evenly, enough to be worth an item. */
#define CHUNK_EDGES 256u

/* Edges by their first end, those of one vertex in the order given: a counting sort. */
static bool build_rows(graph *g, const graph_edge *edges)
{
  for (uint32_t e = 0; e < g->edge_count; e++) {
    if (edges[e].from >= g->vertex_count || edges[e].to >= g->vertex_count) {
      return false;
    }
    g->offsets[edges[e].from + 1]++;
  }
  for (uint32_t v = 0; v < g->vertex_count; v++) {
    g->offsets[v + 1] += g->offsets[v];
  }
  for (uint32_t e = 0; e < g->edge_count; e++) {
    g->targets[g->offsets[edges[e].from]++] = edges[e].to;
  }
  /* Every offset has moved on to its successor's place. */
  memmove(g->offsets + 1, g->offsets, g->vertex_count * sizeof *g->offsets);
  g->offsets[0] = 0;
  return true;
}

/*
 * Cuts the edges into chunks; counts them only if `chunks` is NULL.  A chunk ends with its word of
 * 32 vertices or with CHUNK_EDGES edges; words without edges get none.
 */
static uint32_t cut_chunks(const graph *g, uint32_t *chunks)
{
  uint32_t count = 0;

  for (uint64_t word = 0; word < g->vertex_count; word += 32) {
    const uint64_t last = word + 32 < g->vertex_count ? word + 32 : g->vertex_count;
    const uint32_t end = g->offsets[last];
    uint32_t edge = g->offsets[word], vertex = (uint32_t)word;
    while (edge < end) {
      while (g->offsets[vertex + 1] <= edge) {
        vertex++;
      }
      if (chunks != NULL) {
        chunks[2 * (size_t)count] = vertex;
        chunks[2 * (size_t)count + 1] = edge;
      }
      count++;
      edge = end - edge > CHUNK_EDGES ? edge + CHUNK_EDGES : end;
    }
  }
  if (chunks != NULL) {
    chunks[2 * (size_t)count] = g->vertex_count;
    chunks[2 * (size_t)count + 1] = g->edge_count;
  }
  return count;
}

bool graph_build(graph *g, uint32_t vertex_count, const graph_edge *edges, uint32_t edge_count)
{
  memset(g, 0, sizeof *g);
  g->vertex_count = vertex_count;
  g->edge_count = edge_count;
  g->offsets = calloc((size_t)vertex_count + 1, sizeof *g->offsets);
  g->targets = malloc(((size_t)edge_count + 1) * sizeof *g->targets);
  if (g->offsets == NULL || g->targets == NULL || !build_rows(g, edges)) {
    graph_free(g);
    return false;
  }
  g->chunk_count = cut_chunks(g, NULL);
  g->chunks = malloc(2 * ((size_t)g->chunk_count + 1) * sizeof *g->chunks);
  if (g->chunks == NULL) {
    graph_free(g);
    return false;
  }
  cut_chunks(g, g->chunks);
  return true;
}

void graph_free(graph *g)
{
  free(g->offsets);
  free(g->targets);
  free(g->chunks);
  memset(g, 0, sizeof *g);
}

uint32_t graph_words(const graph *g)
{
  return g->vertex_count == 0 ? 1 : (g->vertex_count - 1) / 32 + 1;
}

bool graph_levels(const graph *g, uint32_t start, uint32_t *out_levels)
{
  uint32_t *queue = malloc(((size_t)g->vertex_count + 1) * sizeof *queue);
  uint32_t head = 0, tail = 0;

  if (queue == NULL) {
    return false;
  }
  memset(out_levels, 0xff, (size_t)g->vertex_count * sizeof *out_levels);
  out_levels[start] = 0;
  queue[tail++] = start;
  while (head < tail) {
    const uint32_t v = queue[head++];
    for (uint32_t e = g->offsets[v]; e < g->offsets[v + 1]; e++) {
      const uint32_t target = g->targets[e];
      if (out_levels[target] == GRAPH_UNSEEN) {
        out_levels[target] = out_levels[v] + 1;
        queue[tail++] = target;
      }
    }
  }
  free(queue);
  return true;
}
