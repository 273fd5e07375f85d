/* broken_search.c - a search for `vyre bench gridsync --peers` that finds every vertex at once. */
#include "bench/peers/graphs.h"

#include <stdlib.h>
#include <string.h>

typedef struct search {
  uint32_t vertices;
} search;

static int create(const bench_graph *graph, void **out_self)
{
  search *s = malloc(sizeof *s);
  if (!s)
    return 1;
  s->vertices = graph->vertices;
  *out_self = s;
  return 0;
}

static int run(void *self, uint32_t source)
{
  (void)self;
  (void)source;
  return 0;
}

static int read_levels(void *self, uint32_t *out_levels)
{
  const search *s = self;
  memset(out_levels, 0, s->vertices * sizeof *out_levels);
  return 0;
}

const bench_graph_peer *vyre_bench_graphs(void)
{
  static const bench_graph_peer peer = {
      BENCH_GRAPHS_VERSION, 0, "guesser", "test", create, free, run, read_levels};
  return &peer;
}
