/*
 * fake_graph.c - graphs of the test driver.  A node keeps a copy of what its launch would be called
 * with; an exec keeps copies of the nodes, and puts them on a stream in their order.
 */
#include "fake.h"

typedef struct fake_node {
  fake_object object;
  struct fake_node *next;
  fake_run run;
} fake_node;

typedef struct fake_graph {
  fake_object object;
  fake_node *first, *last;
  uint32_t count;
} fake_graph;

typedef struct fake_exec {
  fake_object object;
  fake_run *runs; /* behind the exec, in one block */
  uint32_t count;
  bool sent; /* it has come to the device */
} fake_exec;

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
  BEGIN(FAKE_cuGraphCreate, NEEDS_CONTEXT, "%u", flags);
  if (flags)
    return fake_end(1);
  *out = (CUgraph)fake_make(FAKE_GRAPH, sizeof(fake_graph));
  return fake_end(0);
}

CUresult cuGraphDestroy(CUgraph handle)
{
  BEGIN_DROP(handle, FAKE_cuGraphDestroy, NEEDS_CONTEXT, "%s", "");
  fake_graph *graph = fake_take(handle, FAKE_GRAPH);
  if (!graph)
    return fake_end(400);
  for (fake_node *node = graph->first; node; node = node->next)
    fake_kill(&node->object);
  fake_kill(&graph->object);
  return fake_end(0);
}

/* In a row: anything else would be right for a driver, and is wrong for a sequence. */
static bool is_in_order(const fake_graph *graph, const CUgraphNode *before, size_t count)
{
  if (!graph->last)
    return !count;
  return count == 1 && fake_take(before[0], FAKE_NODE) == graph->last;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph handle, const CUgraphNode *before,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS *launch)
{
  BEGIN(FAKE_cuGraphAddKernelNode, NEEDS_CONTEXT, "%zu %u,%u,%u %u,%u,%u %u", count,
        launch->gridDimX, launch->gridDimY, launch->gridDimZ, launch->blockDimX, launch->blockDimY,
        launch->blockDimZ, launch->sharedMemBytes);
  const unsigned groups[3] = {launch->gridDimX, launch->gridDimY, launch->gridDimZ};
  const unsigned workgroup[3] = {launch->blockDimX, launch->blockDimY, launch->blockDimZ};
  fake_graph *graph = fake_take(handle, FAKE_GRAPH);
  fake_run run = {.cooperative = false};
  if (!graph)
    return fake_end(400);
  if (launch->extra || launch->kern || launch->ctx)
    return fake_end(1);
  const CUresult code = fake_run_fill(&run, launch->func, groups, workgroup, launch->sharedMemBytes,
                                      launch->kernelParams);
  if (code)
    return fake_end(code);
  if (!is_in_order(graph, before, count))
    fake_fault("node %u of a graph does not wait for the one before it", graph->count);
  fake_node *node = fake_make(FAKE_NODE, sizeof *node);
  node->run = run;
  if (graph->last)
    graph->last->next = node;
  else
    graph->first = node;
  graph->last = node;
  graph->count++;
  *out = (CUgraphNode)(void *)node;
  return fake_end(0);
}

/* What it takes of the device may have to wait for it, as an allocation does. */
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
  BEGIN(FAKE_cuGraphInstantiate, NEEDS_CONTEXT | WAITS, "%llu", flags);
  const fake_graph *graph = fake_take(handle, FAKE_GRAPH);
  if (!graph || flags)
    return fake_end(graph ? 1 : 400);
  /* One block, since objects are freed as they are. */
  fake_exec *exec = fake_make(FAKE_EXEC, sizeof *exec + graph->count * sizeof(fake_run));
  exec->runs = (fake_run *)(void *)(exec + 1);
  for (const fake_node *node = graph->first; node; node = node->next) {
    exec->runs[exec->count] = node->run;
    exec->runs[exec->count].sent = &exec->sent;
    exec->runs[exec->count++].graph = exec->object.number;
  }
  *out = (CUgraphExec)(void *)exec;
  return fake_end(0);
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream)
{
  BEGIN(FAKE_cuGraphUpload, NEEDS_CONTEXT | WAITS, "%s", "");
  fake_exec *exec = fake_take(handle, FAKE_EXEC);
  if (!exec || !fake_take(stream, FAKE_STREAM))
    return fake_end(400);
  const fake_op op = {.kind = OP_UPLOAD, .sent = &exec->sent};
  return fake_put(stream, &op);
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream)
{
  BEGIN(FAKE_cuGraphLaunch, NEEDS_CONTEXT, "%s", "");
  const fake_exec *exec = fake_take(handle, FAKE_EXEC);
  fake_stream *on = fake_take(stream, FAKE_STREAM);
  if (!exec || !on)
    return fake_end(400);
  for (uint32_t i = 0; i < exec->count; ++i) {
    if (exec->runs[i].function->object.dead) {
      fake_fault("a graph is launched whose code was unloaded");
      return fake_end(400);
    }
    fake_run_push(&exec->runs[i], on);
  }
  return fake_settle(on);
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
  BEGIN_DROP(handle, FAKE_cuGraphExecDestroy, NEEDS_CONTEXT | WAITS, "%s", "");
  fake_exec *exec = fake_take(handle, FAKE_EXEC);
  if (exec)
    fake_kill(&exec->object);
  return fake_end(exec ? 0 : 400);
}
