/*
 * graphblas.c - breadth-first levels by SuiteSparse:GraphBLAS, in the way of LAGraph: a vector of
 * levels is the mask, the frontier is multiplied with the matrix, pushed while it is small and
 * pulled through the transposed matrix while it is large.
 */
#include "bench/peers/graphs.h"

#include <GraphBLAS.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct peer {
  GrB_Matrix by_source, by_target; /* the second one transposed */
  GrB_Vector degrees;              /* of the vertices that edges leave */
  GrB_Vector levels;               /* of the last search */
  uint32_t vertices, edges;
} peer;

#define TRY(call)                                                                                  \
  do {                                                                                             \
    info = (call);                                                                                 \
    if (info != GrB_SUCCESS && info != GrB_NO_VALUE)                                               \
      goto done;                                                                                   \
  } while (0)

/* Started once for the process, and never ended: it cannot be started again. */
static GrB_Info start(void)
{
  static bool started;
  GrB_Info info = started ? GrB_SUCCESS : GrB_init(GrB_NONBLOCKING);
  started = info == GrB_SUCCESS;
  return info;
}

static GrB_Info fill(peer *p, const bench_graph *graph)
{
  GrB_Index *rows = calloc((size_t)graph->edges + 1, sizeof *rows);
  GrB_Index *columns = calloc((size_t)graph->edges + 1, sizeof *columns);
  bool *values = calloc((size_t)graph->edges + 1, sizeof *values);
  GrB_Info info = GrB_OUT_OF_MEMORY;
  if (!rows || !columns || !values)
    goto done;
  for (uint32_t v = 0; v < graph->vertices; ++v)
    for (uint32_t e = graph->offsets[v]; e < graph->offsets[v + 1]; ++e) {
      rows[e] = v;
      columns[e] = graph->ends[e];
      values[e] = true;
    }
  TRY(GrB_Matrix_build_BOOL(p->by_source, rows, columns, values, graph->edges, GrB_LOR));
  TRY(GrB_transpose(p->by_target, NULL, NULL, p->by_source, NULL));
  TRY(GrB_Matrix_wait(p->by_source, GrB_MATERIALIZE));
  TRY(GrB_Matrix_wait(p->by_target, GrB_MATERIALIZE));
done:
  free(rows);
  free(columns);
  free(values);
  return info;
}

static void destroy(void *self)
{
  peer *p = self;
  if (!p)
    return;
  GrB_Matrix_free(&p->by_source);
  GrB_Matrix_free(&p->by_target);
  GrB_Vector_free(&p->degrees);
  GrB_Vector_free(&p->levels);
  free(p);
}

static int create(const bench_graph *graph, void **out_self)
{
  peer *p = calloc(1, sizeof *p);
  GrB_Info info = GrB_OUT_OF_MEMORY;
  if (!p)
    return (int)info;
  p->vertices = graph->vertices;
  p->edges = graph->edges;
  TRY(start());
  TRY(GrB_Matrix_new(&p->by_source, GrB_BOOL, graph->vertices, graph->vertices));
  TRY(GrB_Matrix_new(&p->by_target, GrB_BOOL, graph->vertices, graph->vertices));
  TRY(GrB_Vector_new(&p->degrees, GrB_INT64, graph->vertices));
  TRY(fill(p, graph));
  for (uint32_t v = 0; v < graph->vertices; ++v)
    if (graph->offsets[v + 1] > graph->offsets[v])
      TRY(GrB_Vector_setElement_INT64(p->degrees, graph->offsets[v + 1] - graph->offsets[v], v));
  TRY(GrB_Vector_wait(p->degrees, GrB_MATERIALIZE));
  *out_self = p;
  return 0;
done:
  destroy(p);
  return (int)info;
}

/* ---- the search ---- */

/* When to go the other way; LAGraph's limits. */
#define ALPHA 8u    /* pull once a frontier's edges are more than one in so many that are left */
#define BETA_1 8u   /* and later, once it has one vertex in so many */
#define BETA_2 512u /* push again once it has fewer than one in so many */

typedef struct direction {
  bool pull, pulled;
  GrB_Index last; /* vertices in the frontier before */
  int64_t left;   /* edges that leave vertices not looked at yet */
} direction;

/* Edges that leave the frontier. */
static GrB_Info edges_of(const peer *p, GrB_Vector frontier, int64_t *out_edges)
{
  GrB_Vector chosen = NULL;
  GrB_Info info;
  TRY(GrB_Vector_new(&chosen, GrB_INT64, p->vertices));
  TRY(GrB_Vector_assign(chosen, frontier, NULL, p->degrees, GrB_ALL, p->vertices, GrB_DESC_RS));
  *out_edges = 0;
  TRY(GrB_Vector_reduce_INT64(out_edges, NULL, GrB_PLUS_MONOID_INT64, chosen, NULL));
done:
  GrB_Vector_free(&chosen);
  return info;
}

static GrB_Info choose(const peer *p, direction *d, GrB_Vector frontier, GrB_Index size)
{
  const bool grows = size > d->last, shrinks = size < d->last;
  GrB_Info info = GrB_SUCCESS;
  int64_t edges = 0;
  if (d->pull) {
    d->pull = !(shrinks && size <= p->vertices / BETA_2);
  } else if (d->pulled) {
    d->pull = grows && size > p->vertices / BETA_1;
  } else if (d->left >= (int64_t)p->vertices) {
    TRY(edges_of(p, frontier, &edges));
    d->left -= edges;
    d->pull = grows && edges > d->left / (int64_t)ALPHA;
  }
  d->pulled |= d->pull;
  d->last = size;
done:
  return info;
}

static int search(void *self, uint32_t source)
{
  peer *p = self;
  direction d = {false, false, 0, p->edges};
  GrB_Vector frontier = NULL;
  GrB_Index size = 1;
  GrB_Info info;
  GrB_Vector_free(&p->levels);
  TRY(GrB_Vector_new(&p->levels, GrB_INT32, p->vertices));
  TRY(GxB_Vector_Option_set(p->levels, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
  TRY(GrB_Vector_setElement_INT32(p->levels, 0, source));
  TRY(GrB_Vector_new(&frontier, GrB_BOOL, p->vertices));
  TRY(GrB_Vector_setElement_BOOL(frontier, true, source));
  for (int32_t depth = 1; size != 0; ++depth) {
    TRY(choose(p, &d, frontier, size));
    TRY(GxB_Vector_Option_set(frontier, GxB_SPARSITY_CONTROL, d.pull ? GxB_BITMAP : GxB_SPARSE));
    if (d.pull)
      TRY(GrB_mxv(frontier, p->levels, NULL, GxB_ANY_PAIR_BOOL, p->by_target, frontier,
                  GrB_DESC_RSC));
    else
      TRY(GrB_vxm(frontier, p->levels, NULL, GxB_ANY_PAIR_BOOL, frontier, p->by_source,
                  GrB_DESC_RSC));
    TRY(GrB_Vector_nvals(&size, frontier));
    TRY(GrB_Vector_assign_INT32(p->levels, frontier, NULL, depth, GrB_ALL, p->vertices,
                                GrB_DESC_S));
  }
  TRY(GrB_Vector_wait(p->levels, GrB_MATERIALIZE));
done:
  GrB_Vector_free(&frontier);
  return info == GrB_NO_VALUE ? 0 : (int)info;
}

static int read_levels(void *self, uint32_t *out_levels)
{
  const peer *p = self;
  GrB_Index count = p->vertices;
  GrB_Index *at = calloc((size_t)count + 1, sizeof *at);
  int32_t *values = calloc((size_t)count + 1, sizeof *values);
  GrB_Info info = GrB_OUT_OF_MEMORY;
  if (!at || !values)
    goto done;
  TRY(GrB_Vector_extractTuples_INT32(at, values, &count, p->levels));
  memset(out_levels, 0xff, p->vertices * sizeof *out_levels);
  for (GrB_Index i = 0; i < count; ++i)
    out_levels[at[i]] = (uint32_t)values[i];
done:
  free(at);
  free(values);
  return (int)info;
}

const bench_graph_peer *vyre_bench_graphs(void)
{
  static char about[64];
  static const bench_graph_peer graphblas = {
      BENCH_GRAPHS_VERSION, 0, "GraphBLAS", about, create, destroy, search, read_levels};
  snprintf(about, sizeof about, "SuiteSparse:GraphBLAS %d.%d.%d", GxB_IMPLEMENTATION_MAJOR,
           GxB_IMPLEMENTATION_MINOR, GxB_IMPLEMENTATION_SUB);
  return &graphblas;
}
