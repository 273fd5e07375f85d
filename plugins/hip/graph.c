/*
 * graph.c - graphs of launches, made of explicit nodes.  Nothing is ever captured from a stream:
 * see plugins/cuda/graph.c.
 */
#include "plugins/hip/calls.h"

#include "plugins/hip/library.h"

#include <string.h>

/*
 * The oldest runtime whose graphs are used: 5.6, hundreds for the major number.  Its source copies
 * the values of a node's parameters when the node is added, and takes functions of modules for
 * `func`.  The calls are older, but before 5.3 the copy was not always made, and in some versions
 * up to 5.4 a module's function was no function to them.
 */
#define OLDEST_ROCM 506

bool vyre__hip_has_graphs(void)
{
  return vyre__hip_rocm() >= OLDEST_ROCM && vyre__hip.hipGraphCreate &&
         vyre__hip.hipGraphAddKernelNode && vyre__hip.hipGraphInstantiateWithFlags &&
         vyre__hip.hipGraphLaunch && vyre__hip.hipGraphExecDestroy && vyre__hip.hipGraphDestroy;
}

static hipGraph_t graph_of(vyre__gpu_graph *graph)
{
  return (hipGraph_t)(void *)graph;
}

static hipGraphExec_t exec_of(vyre__gpu_exec *exec)
{
  return (hipGraphExec_t)(void *)exec;
}

vyre__gpu_code vyre__hip_graph_make(vyre__gpu_graph **out_graph)
{
  hipGraph_t graph = NULL;
  const hipError_t code = vyre__hip.hipGraphCreate(&graph, 0);
  if (!code)
    *out_graph = (vyre__gpu_graph *)(void *)graph;
  return code;
}

vyre__gpu_code vyre__hip_graph_drop(vyre__gpu_graph *graph)
{
  return vyre__hip.hipGraphDestroy(graph_of(graph));
}

vyre__gpu_code vyre__hip_graph_add(vyre__gpu_graph *graph, vyre__gpu_function *function,
                                   const uint32_t groups[3], const uint32_t workgroup[3],
                                   uint32_t workgroup_memory, void **parameters,
                                   vyre__gpu_node **last)
{
  const hipGraphNode_t before = (hipGraphNode_t)(void *)*last;
  hipGraphNode_t node = NULL;
  hipKernelNodeParams launch;
  memset(&launch, 0, sizeof launch);
  launch.func = function;
  launch.gridDim.x = groups[0];
  launch.gridDim.y = groups[1];
  launch.gridDim.z = groups[2];
  launch.blockDim.x = workgroup[0];
  launch.blockDim.y = workgroup[1];
  launch.blockDim.z = workgroup[2];
  launch.sharedMemBytes = workgroup_memory;
  launch.kernelParams = parameters; /* copied by the call, values and all: see OLDEST_ROCM */
  const hipError_t code = vyre__hip.hipGraphAddKernelNode(
      &node, graph_of(graph), before ? &before : NULL, before ? 1u : 0u, &launch);
  if (!code)
    *last = (vyre__gpu_node *)(void *)node;
  return code;
}

/* There is nothing left to send: the runtime makes the packets now, or at each launch from the
   memory that every launch takes its parameters from. */
vyre__gpu_code vyre__hip_exec_make(vyre__gpu_graph *graph, vyre__gpu_stream *stream,
                                   vyre__gpu_exec **out_exec)
{
  hipGraphExec_t exec = NULL;
  (void)stream;
  const hipError_t code = vyre__hip.hipGraphInstantiateWithFlags(&exec, graph_of(graph), 0);
  if (!code)
    *out_exec = (vyre__gpu_exec *)(void *)exec;
  return code;
}

vyre__gpu_code vyre__hip_exec_drop(vyre__gpu_exec *exec)
{
  return vyre__hip.hipGraphExecDestroy(exec_of(exec));
}

vyre__gpu_code vyre__hip_exec_launch(vyre__gpu_exec *exec, vyre__gpu_stream *stream)
{
  return vyre__hip.hipGraphLaunch(exec_of(exec), (hipStream_t)(void *)stream);
}
