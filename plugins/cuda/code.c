/*
 * code.c - images, functions and launches.
 */
#include "plugins/cuda/calls.h"

#include "plugins/cuda/codes.h"
#include "plugins/cuda/library.h"

#include <string.h>

#define MOST_PARAMETERS 1024u /* no launch takes 32 KiB of them */

static CUfunction function_of(vyre__gpu_function *function)
{
  return (CUfunction)(void *)function;
}

/* -------- images -------- */

vyre__gpu_code vyre__cuda_image_load(const void *code, uint64_t size, char *log, uint64_t log_size,
                                     vyre__gpu_image **out_image)
{
  CUmodule module = NULL;
  CUjit_option options[] = {(CUjit_option)VYRE__CU_JIT_ERROR_LOG,
                            (CUjit_option)VYRE__CU_JIT_ERROR_LOG_SIZE};
  /* Options are pointers or, in a pointer's place, numbers. */
  void *values[] = {log, (void *)(uintptr_t)log_size};
  if (log_size)
    log[0] = '\0';
  (void)size; /* the driver takes none: the body has looked whether the code is whole */
  const CUresult result = vyre__cuda.cuModuleLoadDataEx(
      &module, code, log_size ? 2u : 0u, log_size ? options : NULL, log_size ? values : NULL);
  if (log_size)
    log[log_size - 1] = '\0';
  if (!result)
    *out_image = (vyre__gpu_image *)(void *)module;
  return result;
}

vyre__gpu_code vyre__cuda_image_unload(vyre__gpu_image *image)
{
  return vyre__cuda.cuModuleUnload((CUmodule)(void *)image);
}

/* -------- functions -------- */

vyre__gpu_code vyre__cuda_function_find(vyre__gpu_image *image, const char *name,
                                        vyre__gpu_function **out_function)
{
  CUfunction function = NULL;
  const CUresult code = vyre__cuda.cuModuleGetFunction(&function, (CUmodule)(void *)image, name);
  if (!code)
    *out_function = (vyre__gpu_function *)(void *)function;
  return code;
}

/* 0 once something has failed. */
static int attribute(CUfunction function, uint32_t which, CUresult *code)
{
  int value = 0;
  if (!*code)
    *code = vyre__cuda.cuFuncGetAttribute(&value, (CUfunction_attribute)which, function);
  return *code || value < 0 ? 0 : value;
}

/* All the dynamic workgroup memory that the device has beside `used` bytes of static one. */
static CUresult allow_all_memory(CUfunction function, int used)
{
  CUdevice device = 0;
  int most = 0;
  CUresult code = vyre__cuda.cuCtxGetDevice(&device);
  if (!code)
    code = vyre__cuda.cuDeviceGetAttribute(
        &most, (CUdevice_attribute)VYRE__CU_DEVICE_MAX_SHARED_OPTIN, device);
  if (!code && most > used)
    code = vyre__cuda.cuFuncSetAttribute(
        function, (CUfunction_attribute)VYRE__CU_FUNCTION_MAX_DYNAMIC_SHARED, most - used);
  return code;
}

vyre__gpu_code vyre__cuda_function_prepare(vyre__gpu_function *function,
                                           vyre__gpu_limits *out_limits)
{
  const CUfunction it = function_of(function);
  /* Lazy loading waits for the device when a function is first used: not beside a persistent
     launch.  Before 12.4 the look at its attributes below is what loads it. */
  CUresult code = vyre__cuda.cuFuncLoad ? vyre__cuda.cuFuncLoad(it) : 0;
  vyre__gpu_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.max_workgroup_items = (uint32_t)attribute(it, VYRE__CU_FUNCTION_MAX_THREADS, &code);
  limits.registers = (uint32_t)attribute(it, VYRE__CU_FUNCTION_REGISTERS, &code);
  limits.workgroup_memory = (uint64_t)attribute(it, VYRE__CU_FUNCTION_SHARED, &code);
  limits.private_memory = (uint64_t)attribute(it, VYRE__CU_FUNCTION_LOCAL, &code);
  if (!code)
    code = allow_all_memory(it, (int)limits.workgroup_memory);
  if (!code)
    *out_limits = limits;
  return code;
}

vyre__gpu_code vyre__cuda_function_parameters(vyre__gpu_function *function, uint32_t *out_count)
{
  uint32_t count = 0;
  CUresult code = 0;
  if (!vyre__cuda.cuFuncGetParamInfo) {
    *out_count = UINT32_MAX;
    return 0;
  }
  /* Asked until it says that there is no such parameter. */
  while (!code && count < MOST_PARAMETERS) {
    size_t offset = 0, size = 0;
    code = vyre__cuda.cuFuncGetParamInfo(function_of(function), count, &offset, &size);
    count += !code;
  }
  if (code && code != VYRE__CU_INVALID_VALUE)
    return code;
  *out_count = count;
  return 0;
}

vyre__gpu_code vyre__cuda_occupancy(vyre__gpu_function *function, uint32_t items,
                                    uint64_t workgroup_memory, uint32_t *out_groups)
{
  int groups = 0;
  const CUresult code = vyre__cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &groups, function_of(function), (int)items, workgroup_memory);
  if (!code)
    *out_groups = groups > 0 ? (uint32_t)groups : 0;
  return code;
}

/* -------- launches -------- */

vyre__gpu_code vyre__cuda_launch(vyre__gpu_function *function, const uint32_t groups[3],
                                 const uint32_t workgroup[3], uint32_t workgroup_memory,
                                 vyre__gpu_stream *stream, void **parameters, bool cooperative)
{
  const CUfunction it = function_of(function);
  const CUstream on = (CUstream)(void *)stream;
  return cooperative
             ? vyre__cuda.cuLaunchCooperativeKernel(it, groups[0], groups[1], groups[2],
                                                    workgroup[0], workgroup[1], workgroup[2],
                                                    workgroup_memory, on, parameters)
             : vyre__cuda.cuLaunchKernel(it, groups[0], groups[1], groups[2], workgroup[0],
                                         workgroup[1], workgroup[2], workgroup_memory, on,
                                         parameters, NULL);
}
