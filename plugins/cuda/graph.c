/*
 * graph.c - graphs of launches, made of explicit nodes.  Nothing is ever captured from a stream:
 * capturing refuses calls of other threads, and takes in what is not meant to be in it.
 */
#include "plugins/cuda/calls.h"

#include "plugins/cuda/library.h"

#include <string.h>

bool vyre__cuda_has_graphs(void)
{
  return vyre__cuda.cuGraphCreate && vyre__cuda.cuGraphAddKernelNode &&
         vyre__cuda.cuGraphInstantiate && vyre__cuda.cuGraphUpload && vyre__cuda.cuGraphLaunch &&
         vyre__cuda.cuGraphExecDestroy && vyre__cuda.cuGraphDestroy;
}

static CUgraph graph_of(vyre__gpu_graph *graph)
{
  return (CUgraph)(void *)graph;
}

static CUgraphExec exec_of(vyre__gpu_exec *exec)
{
  return (CUgraphExec)(void *)exec;
}

static CUstream stream_of(vyre__gpu_stream *stream)
{
  return (CUstream)(void *)stream;
}

vyre__gpu_code vyre__cuda_graph_make(vyre__gpu_graph **out_graph)
{
  CUgraph graph = NULL;
  const CUresult code = vyre__cuda.cuGraphCreate(&graph, 0);
  if (!code)
    *out_graph = (vyre__gpu_graph *)(void *)graph;
  return code;
}

vyre__gpu_code vyre__cuda_graph_drop(vyre__gpu_graph *graph)
{
  return vyre__cuda.cuGraphDestroy(graph_of(graph));
}

vyre__gpu_code vyre__cuda_graph_add(vyre__gpu_graph *graph, vyre__gpu_function *function,
                                    const uint32_t groups[3], const uint32_t workgroup[3],
                                    uint32_t workgroup_memory, void **parameters,
                                    vyre__gpu_node **last)
{
  const CUgraphNode before = (CUgraphNode)(void *)*last;
  CUgraphNode node = NULL;
  CUDA_KERNEL_NODE_PARAMS launch;
  memset(&launch, 0, sizeof launch); /* `kern` and `ctx` are not looked at beside a `func` */
  launch.func = (CUfunction)(void *)function;
  launch.gridDimX = groups[0];
  launch.gridDimY = groups[1];
  launch.gridDimZ = groups[2];
  launch.blockDimX = workgroup[0];
  launch.blockDimY = workgroup[1];
  launch.blockDimZ = workgroup[2];
  launch.sharedMemBytes = workgroup_memory;
  /* "The kernelParams or extra array, as well as the argument values it points to, are copied
     during this call" (cuda.h at cuGraphAddKernelNode). */
  launch.kernelParams = parameters;
  const CUresult code = vyre__cuda.cuGraphAddKernelNode(
      &node, graph_of(graph), before ? &before : NULL, before ? 1u : 0u, &launch);
  if (!code)
    *last = (vyre__gpu_node *)(void *)node;
  return code;
}

vyre__gpu_code vyre__cuda_exec_make(vyre__gpu_graph *graph, vyre__gpu_stream *stream,
                                    vyre__gpu_exec **out_exec)
{
  CUgraphExec exec = NULL;
  CUresult code = vyre__cuda.cuGraphInstantiate(&exec, graph_of(graph), 0);
  if (code)
    return code;
  /* Else the first launch does it, which may have to allocate beside a launch that stays. */
  code = vyre__cuda.cuGraphUpload(exec, stream_of(stream));
  if (code)
    vyre__cuda.cuGraphExecDestroy(exec);
  else
    *out_exec = (vyre__gpu_exec *)(void *)exec;
  return code;
}

vyre__gpu_code vyre__cuda_exec_drop(vyre__gpu_exec *exec)
{
  return vyre__cuda.cuGraphExecDestroy(exec_of(exec));
}

vyre__gpu_code vyre__cuda_exec_launch(vyre__gpu_exec *exec, vyre__gpu_stream *stream)
{
  return vyre__cuda.cuGraphLaunch(exec_of(exec), stream_of(stream));
}
