/*
 * gridsync_graph.c - graphs that are the same each time, and a breadth-first search by one thread
 * that takes the cheaper direction at each level.
 */
#include "bench/gridsync_bench.h"

#include <stdlib.h>
#include <string.h>

/* ---- edges ---- */

typedef struct edge {
  uint32_t from, to;
} edge;

/* SplitMix64, Steele, Lea, Flood: "Fast splittable pseudorandom number generators". */
static uint64_t next_random(uint64_t *state)
{
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* One edge of R-MAT, Chakrabarti, Zhan, Faloutsos: a quarter of the matrix at each bit. */
static edge power_edge(uint64_t *state, uint32_t bits)
{
  edge e = {0, 0};
  for (uint32_t i = 0; i < bits; ++i) {
    const uint32_t percent = (uint32_t)(next_random(state) >> 32) % 100u;
    e.from = e.from << 1 | (percent >= 76u);
    e.to = e.to << 1 | ((percent >= 57u && percent < 76u) || percent >= 95u);
  }
  return e;
}

/* A permutation, so that the vertices with many edges do not lie together. */
static void shuffle(uint32_t *names, uint32_t count, uint64_t *state)
{
  for (uint32_t i = 0; i < count; ++i)
    names[i] = i;
  for (uint32_t i = count; i > 1; --i) {
    const uint32_t k = (uint32_t)(next_random(state) % i), name = names[k];
    names[k] = names[i - 1];
    names[i - 1] = name;
  }
}

/* ---- by vertex ---- */

static vyre_status index_edges(const edge *edges, uint32_t count, uint32_t vertices, bool reverse,
                               bench_graph *out, vyre_error *err)
{
  *out = (bench_graph){.vertices = vertices, .edges = count};
  out->offsets = calloc((size_t)vertices + 2, sizeof *out->offsets);
  out->ends = calloc((size_t)count + 1, sizeof *out->ends);
  if (!out->offsets || !out->ends)
    return gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the graph");
  /* Counts stand two places behind, so that filling moves each to where its vertex begins. */
  for (uint32_t i = 0; i < count; ++i)
    ++out->offsets[(reverse ? edges[i].to : edges[i].from) + 2];
  for (uint32_t v = 1; v < vertices; ++v)
    out->offsets[v + 1] += out->offsets[v];
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = reverse ? edges[i].to : edges[i].from;
    out->ends[out->offsets[at + 1]++] = reverse ? edges[i].from : edges[i].to;
  }
  return VYRE_OK;
}

vyre_status gridsync_graph_make(gridsync_kind kind, uint32_t edges, gridsync_graph *out_graph,
                                vyre_error *err)
{
  uint32_t bits = 1, vertices, most = 0;
  uint64_t state = 1;
  edge *list = calloc((size_t)edges + 1, sizeof *list);
  uint32_t *names;
  vyre_status status = VYRE_OK;
  *out_graph = (gridsync_graph){0};
  while (bits < 28 && (UINT32_C(16) << bits) <= edges)
    ++bits;
  vertices = UINT32_C(1) << bits;
  names = calloc(vertices, sizeof *names);
  if (!list || !names) {
    status = gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the graph");
    goto done;
  }
  shuffle(names, vertices, &state);
  for (uint32_t i = 0; i < edges; ++i) {
    const edge e = kind == GRIDSYNC_POWER ? power_edge(&state, bits)
                                          : (edge){(uint32_t)next_random(&state) & (vertices - 1),
                                                   (uint32_t)next_random(&state) & (vertices - 1)};
    list[i] = (edge){names[e.from], names[e.to]};
  }
  status = index_edges(list, edges, vertices, false, &out_graph->out, err);
  if (status == VYRE_OK)
    status = index_edges(list, edges, vertices, true, &out_graph->in, err);
  for (uint32_t v = 0; status == VYRE_OK && v < vertices; ++v) {
    const uint32_t degree = out_graph->out.offsets[v + 1] - out_graph->out.offsets[v];
    if (degree > most) {
      most = degree;
      out_graph->source = v;
    }
  }
done:
  free(list);
  free(names);
  return status;
}

void gridsync_graph_free(gridsync_graph *graph)
{
  free(graph->out.offsets);
  free(graph->out.ends);
  free(graph->in.offsets);
  free(graph->in.ends);
  *graph = (gridsync_graph){0};
}

/* ---- the search ---- */

vyre_status gridsync_search_open(gridsync_search *search, const gridsync_graph *graph,
                                 vyre_error *err)
{
  *search = (gridsync_search){.graph = graph};
  search->levels = calloc(graph->out.vertices, sizeof *search->levels);
  search->queue = calloc(graph->out.vertices, sizeof *search->queue);
  search->front = calloc(graph->out.vertices / 8 + 1, 1);
  return search->levels && search->queue && search->front
             ? VYRE_OK
             : gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the search");
}

void gridsync_search_close(gridsync_search *search)
{
  free(search->levels);
  free(search->queue);
  free(search->front);
}

/* By the edges of queue[from … to]; returns the new end. */
static uint32_t push(const gridsync_search *search, uint32_t from, uint32_t to, uint32_t depth)
{
  const bench_graph *out = &search->graph->out;
  uint32_t *const levels = search->levels, *const queue = search->queue;
  uint32_t end = to;
  for (uint32_t i = from; i < to; ++i) {
    const uint32_t v = queue[i];
    for (uint32_t e = out->offsets[v]; e < out->offsets[v + 1]; ++e) {
      const uint32_t target = out->ends[e];
      if (levels[target] == GRIDSYNC_NONE) {
        levels[target] = depth + 1;
        queue[end++] = target;
      }
    }
  }
  return end;
}

/*
 * By every vertex that is not found yet; the queue goes on as if it had been pushed.  Whether a
 * source is in queue[from … to] is told by a bit, for those stay in the nearest cache.
 */
static uint32_t pull(const gridsync_search *search, uint32_t from, uint32_t to, uint32_t depth)
{
  const bench_graph *in = &search->graph->in;
  uint32_t *const levels = search->levels, *const queue = search->queue;
  uint8_t *const front = search->front;
  uint32_t end = to;
  memset(front, 0, in->vertices / 8 + 1);
  for (uint32_t i = from; i < to; ++i)
    front[queue[i] / 8] |= (uint8_t)(1u << queue[i] % 8);
  for (uint32_t v = 0; v < in->vertices; ++v) {
    if (levels[v] != GRIDSYNC_NONE)
      continue;
    for (uint32_t e = in->offsets[v]; e < in->offsets[v + 1]; ++e)
      if (front[in->ends[e] / 8] >> in->ends[e] % 8 & 1u) {
        levels[v] = depth + 1;
        queue[end++] = v;
        break;
      }
  }
  return end;
}

void gridsync_search_run(gridsync_search *search)
{
  const bench_graph *out = &search->graph->out;
  uint32_t from = 0, to = 1, left = out->edges, depth = 0;
  bool pulling = false;
  memset(search->levels, 0xff, out->vertices * sizeof *search->levels);
  search->levels[search->graph->source] = 0;
  search->queue[0] = search->graph->source;
  while (from < to) {
    const uint32_t end = pulling ? pull(search, from, to, depth) : push(search, from, to, depth);
    uint32_t edges = 0;
    for (uint32_t i = to; i < end; ++i)
      edges += out->offsets[search->queue[i] + 1] - out->offsets[search->queue[i]];
    left -= edges;
    /* The limits of "Direction-optimizing breadth-first search". */
    pulling = pulling ? end - to >= out->vertices / 24u : edges > left / 14u;
    from = to;
    to = end;
    ++depth;
  }
  search->deepest = depth - 1;
}
