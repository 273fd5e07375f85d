/*
 * code.c - images, functions and launches.
 */
#include "plugins/hip/calls.h"

#include "plugins/hip/library.h"

#include <string.h>

static hipFunction_t function_of(vyre__gpu_function *function)
{
  return (hipFunction_t)(void *)function;
}

/* -------- images -------- */

vyre__gpu_code vyre__hip_image_load(const void *code, uint64_t size, char *log, uint64_t log_size,
                                    vyre__gpu_image **out_image)
{
  hipModule_t module = NULL;
  if (log_size)
    log[0] = '\0'; /* machine code: nothing is compiled, and nothing is said */
  (void)size;      /* the runtime takes none: the body has looked whether the code is whole */
  const hipError_t result = vyre__hip.hipModuleLoadData(&module, code);
  if (!result)
    *out_image = (vyre__gpu_image *)(void *)module;
  return result;
}

vyre__gpu_code vyre__hip_image_unload(vyre__gpu_image *image)
{
  return vyre__hip.hipModuleUnload((hipModule_t)(void *)image);
}

/* -------- functions -------- */

vyre__gpu_code vyre__hip_function_find(vyre__gpu_image *image, const char *name,
                                       vyre__gpu_function **out_function)
{
  hipFunction_t function = NULL;
  const hipError_t code =
      vyre__hip.hipModuleGetFunction(&function, (hipModule_t)(void *)image, name);
  if (!code)
    *out_function = (vyre__gpu_function *)(void *)function;
  return code;
}

/* 0 once something has failed. */
static int attribute(hipFunction_t function, uint32_t which, hipError_t *code)
{
  int value = 0;
  if (!*code)
    *code = vyre__hip.hipFuncGetAttribute(&value, (hipFunction_attribute)which, function);
  return *code || value < 0 ? 0 : value;
}

vyre__gpu_code vyre__hip_function_prepare(vyre__gpu_function *function,
                                          vyre__gpu_limits *out_limits)
{
  const hipFunction_t it = function_of(function);
  hipError_t code = 0;
  vyre__gpu_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.max_workgroup_items = (uint32_t)attribute(it, VYRE__HIP_FUNCTION_MAX_THREADS, &code);
  limits.registers = (uint32_t)attribute(it, VYRE__HIP_FUNCTION_REGISTERS, &code);
  limits.workgroup_memory = (uint64_t)attribute(it, VYRE__HIP_FUNCTION_SHARED, &code);
  limits.private_memory = (uint64_t)attribute(it, VYRE__HIP_FUNCTION_LOCAL, &code);
  if (!code)
    *out_limits = limits;
  return code;
}

/* The runtime knows, and does not tell. */
vyre__gpu_code vyre__hip_function_parameters(vyre__gpu_function *function, uint32_t *out_count)
{
  (void)function;
  *out_count = UINT32_MAX;
  return 0;
}

vyre__gpu_code vyre__hip_occupancy(vyre__gpu_function *function, uint32_t items,
                                   uint64_t workgroup_memory, uint32_t *out_groups)
{
  int groups = 0;
  const hipError_t code = vyre__hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
      &groups, function_of(function), (int)items, workgroup_memory);
  if (!code)
    *out_groups = groups > 0 ? (uint32_t)groups : 0;
  return code;
}

/* -------- launches -------- */

vyre__gpu_code vyre__hip_launch(vyre__gpu_function *function, const uint32_t groups[3],
                                const uint32_t workgroup[3], uint32_t workgroup_memory,
                                vyre__gpu_stream *stream, void **parameters, bool cooperative)
{
  const hipFunction_t it = function_of(function);
  const hipStream_t on = (hipStream_t)(void *)stream;
  return cooperative /* only where facts.cooperative says that the call is there */
             ? vyre__hip.hipModuleLaunchCooperativeKernel(it, groups[0], groups[1], groups[2],
                                                          workgroup[0], workgroup[1], workgroup[2],
                                                          workgroup_memory, on, parameters)
             : vyre__hip.hipModuleLaunchKernel(it, groups[0], groups[1], groups[2], workgroup[0],
                                               workgroup[1], workgroup[2], workgroup_memory, on,
                                               parameters, NULL);
}
