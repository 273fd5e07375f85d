/* steps.c - the steps of gridsync_words.c by bare launches; see bench/peers/bare.h. */
#include "bench/cuda/bare.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* A graph of all passes, if it has no more nodes; else of as many passes as come below it. */
#define MOST_NODES 4096u

/* CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h. */
typedef struct node_params {
  CUfunction function;
  unsigned int grid[3], block[3], shared;
  void **arguments, **extra;
  void *kernel;
  CUcontext context;
} node_params;
_Static_assert(sizeof(node_params) == 72, "the driver reads this structure");

static struct {
  CUresult (*create)(CUgraph *, unsigned int);
  CUresult (*add)(void **, CUgraph, void *const *, size_t, const node_params *);
  CUresult (*instantiate)(CUgraphExec *, CUgraph, unsigned long long);
  CUresult (*launch)(CUgraphExec, CUstream);
  CUresult (*destroy_exec)(CUgraphExec);
  CUresult (*destroy)(CUgraph);
} graphs;

static int find_graphs(void)
{
  static const char *const names[] = {
      "cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags",
      "cuGraphLaunch", "cuGraphExecDestroy",      "cuGraphDestroy"};
  void *library = dlopen(vyre__cuda_library_path(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return bare_fail("opening the driver for its graphs", -1);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol)
      return bare_fail(names[i], -1);
    memcpy((char *)&graphs + i * sizeof symbol, &symbol, sizeof symbol);
  }
  return 0;
}

static void drop_graph(bare *self)
{
  if (self->exec)
    graphs.destroy_exec(self->exec);
  if (self->graph)
    graphs.destroy(self->graph);
  self->exec = NULL;
  self->graph = NULL;
}

void bare_steps_close(bare *self)
{
  drop_graph(self);
  bare_free(&self->first);
  bare_free(&self->a);
  bare_free(&self->b);
  bare_free(&self->arrived);
}

int bare_steps_open(bare *self, const uint32_t *first, uint32_t words)
{
  const size_t size = words * sizeof *first;
  bare_steps_close(self);
  self->count = words;
  BARE_TRY(vyre__cuda.cuMemAlloc(&self->first, size));
  BARE_TRY(vyre__cuda.cuMemAlloc(&self->a, size));
  BARE_TRY(vyre__cuda.cuMemAlloc(&self->b, size));
  BARE_TRY(vyre__cuda.cuMemAlloc(&self->arrived, sizeof(uint32_t)));
  BARE_TRY(vyre__cuda.cuMemcpyHtoDAsync(self->first, first, size, self->stream));
  return bare_steps_renew(self);
}

int bare_steps_renew(bare *self)
{
  BARE_TRY(vyre__cuda.cuMemcpyDtoDAsync(self->a, self->first, self->count * sizeof(uint32_t),
                                        self->stream));
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}

int bare_steps_read(bare *self, uint32_t which, uint32_t *out_words)
{
  BARE_TRY(vyre__cuda.cuMemcpyDtoHAsync(out_words, which ? self->b : self->a,
                                        self->count * sizeof *out_words, self->stream));
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}

/* ---- a step ---- */

typedef struct step {
  bare_kernel kernel;
  uint32_t groups;
  void *arguments[3];
} step;

static step step_of(bare *self, uint32_t k)
{
  const uint32_t items = k % 2 ? self->count : self->count / 2;
  return (step){k % 2 ? BARE_BACKWARD : BARE_FORWARD,
                (items + BARE_GROUP - 1) / BARE_GROUP,
                {k % 2 ? &self->b : &self->a, k % 2 ? &self->a : &self->b, &self->count}};
}

static int launches(bare *self, uint32_t segments, uint32_t passes)
{
  for (uint32_t p = 0; p < passes; ++p)
    for (uint32_t k = 0; k < segments; ++k) {
      step s = step_of(self, k);
      if (bare_launch(self, s.kernel, s.groups, BARE_GROUP, s.arguments))
        return -1;
    }
  return 0;
}

/* ---- a graph ---- */

static int add_step(bare *self, uint32_t k, void **last)
{
  step s = step_of(self, k);
  const node_params params = {.function = self->kernels[s.kernel],
                              .grid = {s.groups, 1, 1},
                              .block = {BARE_GROUP, 1, 1},
                              .arguments = s.arguments};
  void *node = NULL;
  BARE_TRY(graphs.add(&node, self->graph, last, *last != NULL, &params));
  *last = node;
  return 0;
}

/* Once for a number of segments and passes: not measured, since the first run is not. */
static int make_graph(bare *self, uint32_t segments, uint32_t passes)
{
  void *last = NULL;
  if (!graphs.destroy && find_graphs())
    return -1;
  drop_graph(self);
  self->segments = segments;
  self->passes = passes;
  BARE_TRY(graphs.create(&self->graph, 0));
  for (uint32_t p = 0; p < passes; ++p)
    for (uint32_t k = 0; k < segments; ++k)
      if (add_step(self, k, &last))
        return -1;
  BARE_TRY(graphs.instantiate(&self->exec, self->graph, 0));
  return 0;
}

static int replay(bare *self, uint32_t segments, uint32_t passes)
{
  uint32_t once = passes;
  while (once > 1 && (uint64_t)once * segments > MOST_NODES)
    once = once % 2 ? 1 : once / 2;
  if ((!self->exec || self->segments != segments || self->passes != once) &&
      make_graph(self, segments, once))
    return -1;
  for (uint32_t done = 0; done < passes; done += once)
    BARE_TRY(graphs.launch(self->exec, self->stream));
  return 0;
}

/* ---- a loop with barriers ---- */

static int loop(bare *self, uint32_t segments, uint32_t passes)
{
  uint32_t groups = (self->count / 2 + BARE_GROUP - 1) / BARE_GROUP, fit;
  void *arguments[] = {&self->a, &self->b, &self->count, &segments, &passes, &self->arrived};
  int each = 0;
  BARE_TRY(vyre__cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, self->kernels[BARE_LOOP],
                                                                  BARE_GROUP, 0));
  /* More than four a unit were slower: each of them takes part in every barrier. */
  fit = (uint32_t)self->units * (each < 4 ? (uint32_t)each : 4u);
  groups = groups < fit ? groups : fit;
  BARE_TRY(vyre__cuda.cuMemsetD8Async(self->arrived, 0, sizeof(uint32_t), self->stream));
  BARE_TRY(vyre__cuda.cuLaunchCooperativeKernel(self->kernels[BARE_LOOP], groups ? groups : 1, 1, 1,
                                                BARE_GROUP, 1, 1, 0, self->stream, arguments));
  return 0;
}

int bare_steps_run(bare *self, uint32_t form, uint32_t segments, uint32_t passes)
{
  const int code = form == BENCH_BARE_LOOP    ? loop(self, segments, passes)
                   : form == BENCH_BARE_GRAPH ? replay(self, segments, passes)
                                              : launches(self, segments, passes);
  if (code)
    return code;
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}
