/*
 * forward.c - a `libamdhip64.so` for tests that passes HIP's calls on to a CUDA driver: to the
 * recording one of tests/cuda/fake without a GPU, or to NVIDIA's.  Never installed, and no AMD code
 * runs by it: its device is called "HIP-on-CUDA test runtime".
 *
 * It has every entry point of plugins/hip/entry_points.def, under the name that the plugin asks for
 * first, and finds the driver as the CUDA plugin does (VYRE_CUDA_LIBRARY).  A device's primary
 * context is retained while something of HIP's lives in it, and current for the length of a call.
 *
 * A device has wavefronts of 32 and is a gfx1100, as NVIDIA's are; or it has 64 and is a gfx90a:
 * forward_rtc.c then makes two warps one wavefront.
 *
 * In the environment: VYRE_FORWARD_HIP_VERSION (hipRuntimeGetVersion), VYRE_FORWARD_HIP_NONE (what
 * hipInit says, for "no device"), VYRE_FORWARD_HIP_WAVE (64, or 32).
 */
#include "plugins/cuda/library.h"
#include "plugins/hip/hip_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define VYRE_HIP_ENTRY(field, symbol, other, need, since, parameters)                              \
  EXPORT hipError_t symbol parameters;
#include "plugins/hip/entry_points.def"
#undef VYRE_HIP_ENTRY

#define DEVICES 64
#define ARCH_AT 1160u /* in hipDeviceProp_tR0600, of 1472 bytes */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  CUcontext context;
  uint32_t holds; /* retains, calls under way and objects together */
} devices[DEVICES];
static _Thread_local int current;

/* Codes that HIP has not got, and what its own runtime would say in their place. */
static hipError_t code_of(CUresult code)
{
  static const struct {
    CUresult cuda;
    hipError_t hip;
  } pairs[] = {{34, 303},  {36, 35},   {46, 100},  {102, 801}, {220, 214}, {221, 303}, {222, 209},
               {223, 801}, {226, 719}, {714, 719}, {715, 719}, {716, 719}, {717, 719}, {718, 719},
               {721, 719}, {800, 801}, {802, 303}, {803, 303}, {804, 303}, {805, 303}, {806, 719},
               {807, 303}, {808, 100}, {809, 100}, {810, 719}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
    if (pairs[i].cuda == code)
      return pairs[i].hip;
  return code;
}

static int environment(const char *name, int otherwise)
{
  const char *value = getenv(name);
  return value && *value ? (int)strtol(value, NULL, 10) : otherwise;
}

/* -------- the context for the length of a call, and for as long as objects live -------- */

static void let_go(int device, uint32_t holds)
{
  pthread_mutex_lock(&lock);
  if (devices[device].holds) {
    devices[device].holds -= holds < devices[device].holds ? holds : devices[device].holds;
    if (!devices[device].holds) {
      vyre__cuda.cuDevicePrimaryCtxRelease(device);
      devices[device].context = NULL;
    }
  }
  pthread_mutex_unlock(&lock);
}

static CUresult enter(void)
{
  CUresult code = 0;
  pthread_mutex_lock(&lock);
  if (!devices[current].holds)
    code = vyre__cuda.cuDevicePrimaryCtxRetain(&devices[current].context, current);
  devices[current].holds += !code;
  const CUcontext context = devices[current].context;
  pthread_mutex_unlock(&lock);
  if (code)
    return code;
  code = vyre__cuda.cuCtxPushCurrent(context);
  if (code)
    let_go(current, 1);
  return code;
}

/* Whatever putting the context back says: HIP has no such call. */
static hipError_t leave(CUresult code)
{
  CUcontext popped = NULL;
  (void)vyre__cuda.cuCtxPopCurrent(&popped);
  let_go(current, 1);
  return code_of(code);
}

#define ENTER                                                                                      \
  do {                                                                                             \
    const CUresult entered = enter();                                                              \
    if (entered)                                                                                   \
      return code_of(entered);                                                                     \
  } while (0)

/* For a call that ends something: twice, so that what passes by does not keep it. */
#define ENTER_TO_END                                                                               \
  do {                                                                                             \
    CUresult entered = enter();                                                                    \
    if (entered)                                                                                   \
      entered = enter();                                                                           \
    if (entered)                                                                                   \
      return code_of(entered);                                                                     \
  } while (0)

/* The end of a call that makes something. */
static hipError_t leave_with_object(CUresult code)
{
  if (!code) {
    pthread_mutex_lock(&lock);
    devices[current].holds++;
    pthread_mutex_unlock(&lock);
  }
  return leave(code);
}

/* The end of one that ends something: also if it fails. */
static hipError_t leave_without_object(CUresult code)
{
  let_go(current, 1);
  return leave(code);
}

/* -------- types -------- */

#define STREAM(stream) ((CUstream)(void *)(stream))
#define EVENT(event) ((CUevent)(void *)(event))
#define FUNCTION(function) ((CUfunction)(void *)(function))
#define GRAPH(graph) ((CUgraph)(void *)(graph))
#define EXEC(exec) ((CUgraphExec)(void *)(exec))
#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

static void *pointer_of(CUdeviceptr address)
{
  return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* -------- library and devices -------- */

hipError_t hipInit(unsigned int flags)
{
  const int none = environment("VYRE_FORWARD_HIP_NONE", 0);
  (void)flags;
  if (none)
    return none;
  if (vyre__cuda_load(NULL) != VYRE_OK)
    return 303; /* no shared object */
  return code_of(vyre__cuda_init_code());
}

hipError_t hipRuntimeGetVersion(int *version)
{
  *version = environment("VYRE_FORWARD_HIP_VERSION", 60032830);
  return 0;
}

hipError_t hipDrvGetErrorName(hipError_t code, const char **name)
{
  return code_of(vyre__cuda.cuGetErrorName(code, name));
}

hipError_t hipGetDeviceCount(int *count)
{
  const CUresult code = vyre__cuda.cuDeviceGetCount(count);
  if (!code && *count > DEVICES)
    *count = DEVICES;
  return code_of(code);
}

hipError_t hipDeviceGetName(char *name, int size, hipDevice_t device)
{
  char theirs[128];
  const CUresult code = vyre__cuda.cuDeviceGetName(theirs, (int)sizeof theirs, device);
  if (!code)
    snprintf(name, (size_t)size, "HIP-on-CUDA test runtime (%s)", theirs);
  return code_of(code);
}

hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device)
{
  CUuuid theirs;
  const CUresult code = vyre__cuda.cuDeviceGetUuid(&theirs, device);
  if (!code)
    memcpy(uuid->bytes, theirs.bytes, sizeof uuid->bytes);
  return code_of(code);
}

hipError_t hipDeviceTotalMem(size_t *size, hipDevice_t device)
{
  return code_of(vyre__cuda.cuDeviceTotalMem(size, device));
}

static int wave(void)
{
  return environment("VYRE_FORWARD_HIP_WAVE", 32) == 64 ? 64 : 32;
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
  static const struct {
    uint32_t hip, cuda;
  } pairs[] = {{VYRE__HIP_DEVICE_CAN_MAP_HOST, VYRE__CU_DEVICE_CAN_MAP_HOST},
               {VYRE__HIP_DEVICE_COMPUTE_MODE, VYRE__CU_DEVICE_COMPUTE_MODE},
               {VYRE__HIP_DEVICE_CONCURRENT_KERNELS, VYRE__CU_DEVICE_CONCURRENT_KERNELS},
               {VYRE__HIP_DEVICE_COOPERATIVE, VYRE__CU_DEVICE_COOPERATIVE},
               {VYRE__HIP_DEVICE_INTEGRATED, VYRE__CU_DEVICE_INTEGRATED},
               {VYRE__HIP_DEVICE_KERNEL_TIMEOUT, VYRE__CU_DEVICE_KERNEL_TIMEOUT},
               {VYRE__HIP_DEVICE_MAX_BLOCK_DIM_X, VYRE__CU_DEVICE_MAX_BLOCK_DIM_X},
               {VYRE__HIP_DEVICE_MAX_BLOCK_DIM_Y, VYRE__CU_DEVICE_MAX_BLOCK_DIM_Y},
               {VYRE__HIP_DEVICE_MAX_BLOCK_DIM_Z, VYRE__CU_DEVICE_MAX_BLOCK_DIM_Z},
               {VYRE__HIP_DEVICE_MAX_GRID_DIM_X, VYRE__CU_DEVICE_MAX_GRID_DIM_X},
               {VYRE__HIP_DEVICE_MAX_GRID_DIM_Y, VYRE__CU_DEVICE_MAX_GRID_DIM_Y},
               {VYRE__HIP_DEVICE_MAX_GRID_DIM_Z, VYRE__CU_DEVICE_MAX_GRID_DIM_Z},
               {VYRE__HIP_DEVICE_MAX_THREADS_PER_BLOCK, VYRE__CU_DEVICE_MAX_THREADS_PER_BLOCK},
               {VYRE__HIP_DEVICE_MULTIPROCESSORS, VYRE__CU_DEVICE_MULTIPROCESSORS},
               {VYRE__HIP_DEVICE_MAX_SHARED, VYRE__CU_DEVICE_MAX_SHARED},
               {VYRE__HIP_DEVICE_MEMORY_POOLS, VYRE__CU_DEVICE_MEMORY_POOLS}};
  if (attribute == VYRE__HIP_DEVICE_WARP_SIZE) {
    *value = wave();
    return device < 0 || device >= DEVICES ? 101 : 0;
  }
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
    if (pairs[i].hip == attribute)
      return code_of(
          vyre__cuda.cuDeviceGetAttribute(value, (CUdevice_attribute)pairs[i].cuda, device));
  return 1;
}

hipError_t hipDeviceGetPCIBusId(char *name, int size, int device)
{
  return code_of(vyre__cuda.cuDeviceGetPCIBusId(name, size, device));
}

/* The features behind the name, and rubbish in front of it, as there is on a real device. */
hipError_t hipGetDevicePropertiesR0600(void *properties, int device)
{
  char *to = properties;
  snprintf(to, 256, "HIP-on-CUDA test runtime");
  memset(to + 256, 0xff, ARCH_AT - 260);
  snprintf(to + ARCH_AT, 256, wave() == 64 ? "gfx90a:sramecc+:xnack-" : "gfx1100");
  return device < 0 || device >= DEVICES ? 101 : 0;
}

hipError_t hipSetDevice(int device)
{
  int count = 0;
  const CUresult code = vyre__cuda.cuDeviceGetCount(&count);
  if (!code && device >= 0 && device < count && device < DEVICES)
    current = device;
  else
    return code ? code_of(code) : 101;
  return 0;
}

hipError_t hipGetDevice(int *device)
{
  *device = current;
  return 0;
}

hipError_t hipDeviceReset(void)
{
  const CUresult code = vyre__cuda.cuDevicePrimaryCtxReset(current);
  if (!code)
    let_go(current, UINT32_MAX); /* what lived in it is gone */
  return code_of(code);
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
  ENTER;
  return leave(vyre__cuda.cuCtxGetStreamPriorityRange(least, greatest));
}

/* -------- memory -------- */

hipError_t hipMalloc(void **out, size_t size)
{
  CUdeviceptr address = 0;
  ENTER;
  const CUresult code = vyre__cuda.cuMemAlloc(&address, size);
  if (!code)
    *out = pointer_of(address);
  return leave_with_object(code);
}

hipError_t hipFree(void *memory)
{
  ENTER_TO_END;
  return leave_without_object(vyre__cuda.cuMemFree(ADDRESS(memory)));
}

/* A pool lives in its device, and so in its context, whichever device is current at its end. */
typedef struct pool {
  CUmemoryPool theirs;
  int device;
} pool;

static pool *pool_of(hipMemPool_t handle)
{
  return (pool *)(void *)handle;
}

hipError_t hipMemPoolCreate(hipMemPool_t *out, const hipMemPoolProps *properties)
{
  CUmemPoolProps theirs;
  pool *made = malloc(sizeof *made);
  if (!made)
    return 2;
  memset(&theirs, 0, sizeof theirs);
  theirs.allocType = (CUmemAllocationType)properties->allocType;
  theirs.location.type = (CUmemLocationType)properties->location.type;
  theirs.location.id = made->device = properties->location.id;
  const int before = current;
  current = made->device;
  CUresult code = enter();
  const bool entered = !code;
  if (entered)
    code = vyre__cuda.cuMemPoolCreate(&made->theirs, &theirs);
  const hipError_t result = entered ? leave_with_object(code) : code_of(code);
  current = before;
  if (code)
    free(made);
  else
    *out = (hipMemPool_t)(void *)made;
  return result;
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t handle, hipMemPoolAttr attribute, void *value)
{
  return code_of(vyre__cuda.cuMemPoolSetAttribute(pool_of(handle)->theirs,
                                                  (CUmemPool_attribute)attribute, value));
}

hipError_t hipMemPoolDestroy(hipMemPool_t handle)
{
  pool *it = pool_of(handle);
  const CUresult code = vyre__cuda.cuMemPoolDestroy(it->theirs);
  let_go(it->device, 1);
  free(it);
  return code_of(code);
}

hipError_t hipMallocFromPoolAsync(void **out, size_t size, hipMemPool_t handle, hipStream_t stream)
{
  CUdeviceptr address = 0;
  ENTER;
  const CUresult code =
      vyre__cuda.cuMemAllocFromPoolAsync(&address, size, pool_of(handle)->theirs, STREAM(stream));
  if (!code)
    *out = pointer_of(address);
  return leave_with_object(code);
}

hipError_t hipFreeAsync(void *memory, hipStream_t stream)
{
  ENTER_TO_END;
  return leave_without_object(vyre__cuda.cuMemFreeAsync(ADDRESS(memory), STREAM(stream)));
}

/* Coherent is what CUDA's is anyway; who does not ask for it is refused here. */
hipError_t hipHostMalloc(void **out, size_t size, unsigned int flags)
{
  const unsigned both = VYRE__HIP_HOST_MAPPED | VYRE__HIP_HOST_COHERENT;
  if ((flags & both) != both)
    return 1;
  ENTER;
  return leave_with_object(vyre__cuda.cuMemHostAlloc(out, size, flags & 3u));
}

hipError_t hipHostGetDevicePointer(void **out, void *host, unsigned int flags)
{
  CUdeviceptr address = 0;
  ENTER;
  const CUresult code = vyre__cuda.cuMemHostGetDevicePointer(&address, host, flags);
  if (!code)
    *out = pointer_of(address);
  return leave(code);
}

hipError_t hipHostFree(void *host)
{
  ENTER_TO_END;
  return leave_without_object(vyre__cuda.cuMemFreeHost(host));
}

hipError_t hipPointerGetAttribute(void *data, hipPointer_attribute attribute,
                                  hipDeviceptr_t pointer)
{
  CUpointer_attribute which[] = {(CUpointer_attribute)VYRE__CU_POINTER_MEMORY_TYPE,
                                 (CUpointer_attribute)VYRE__CU_POINTER_DEVICE};
  unsigned type = 0;
  int ordinal = -1;
  void *values[] = {&type, &ordinal};
  ENTER;
  const hipError_t code =
      leave(vyre__cuda.cuPointerGetAttributes(2, which, values, ADDRESS(pointer)));
  if (code)
    return code;
  if (!type)
    return 1;
  if (attribute == VYRE__HIP_POINTER_DEVICE) {
    *(int *)data = ordinal;
    return 0;
  }
  if (attribute != VYRE__HIP_POINTER_HOST || type != VYRE__CU_MEMORY_TYPE_HOST)
    return 1;
  *(void **)data = pointer;
  return 0;
}

/* -------- streams and events -------- */

hipError_t hipStreamCreateWithPriority(hipStream_t *out, unsigned int flags, int priority)
{
  CUstream stream = NULL;
  ENTER;
  const CUresult code = vyre__cuda.cuStreamCreateWithPriority(&stream, flags, priority);
  if (!code)
    *out = (hipStream_t)(void *)stream;
  return leave_with_object(code);
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
  ENTER_TO_END;
  return leave_without_object(vyre__cuda.cuStreamDestroy(STREAM(stream)));
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
  ENTER;
  return leave(vyre__cuda.cuStreamSynchronize(STREAM(stream)));
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
  ENTER;
  return leave(vyre__cuda.cuStreamWaitEvent(STREAM(stream), EVENT(event), flags));
}

hipError_t hipEventCreateWithFlags(hipEvent_t *out, unsigned int flags)
{
  CUevent event = NULL;
  ENTER;
  const CUresult code = vyre__cuda.cuEventCreate(&event, flags);
  if (!code)
    *out = (hipEvent_t)(void *)event;
  return leave_with_object(code);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
  ENTER_TO_END;
  return leave_without_object(vyre__cuda.cuEventDestroy(EVENT(event)));
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
  ENTER;
  return leave(vyre__cuda.cuEventRecord(EVENT(event), STREAM(stream)));
}

hipError_t hipEventQuery(hipEvent_t event)
{
  ENTER;
  return leave(vyre__cuda.cuEventQuery(EVENT(event)));
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t from, hipEvent_t to)
{
  ENTER;
  return leave(vyre__cuda.cuEventElapsedTime(ms, EVENT(from), EVENT(to)));
}

/* -------- copies -------- */

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void *from, size_t size, hipStream_t stream)
{
  ENTER;
  return leave(vyre__cuda.cuMemcpyHtoDAsync(ADDRESS(to), from, size, STREAM(stream)));
}

hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t size, hipStream_t stream)
{
  ENTER;
  return leave(vyre__cuda.cuMemcpyDtoHAsync(to, ADDRESS(from), size, STREAM(stream)));
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t size,
                              hipStream_t stream)
{
  ENTER;
  return leave(vyre__cuda.cuMemcpyDtoDAsync(ADDRESS(to), ADDRESS(from), size, STREAM(stream)));
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t size, hipStream_t stream)
{
  ENTER;
  return leave(vyre__cuda.cuMemsetD8Async(ADDRESS(to), value, size, STREAM(stream)));
}

/* -------- code -------- */

hipError_t hipModuleLoadData(hipModule_t *out, const void *image)
{
  CUmodule module = NULL;
  ENTER;
  const CUresult code = vyre__cuda.cuModuleLoadDataEx(&module, image, 0, NULL, NULL);
  if (!code)
    *out = (hipModule_t)(void *)module;
  return leave_with_object(code);
}

hipError_t hipModuleUnload(hipModule_t module)
{
  ENTER_TO_END;
  return leave_without_object(vyre__cuda.cuModuleUnload((CUmodule)(void *)module));
}

/* HIP's runtime loads a function with its module; a CUDA driver is asked to. */
hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name)
{
  CUfunction function = NULL;
  ENTER;
  CUresult code = vyre__cuda.cuModuleGetFunction(&function, (CUmodule)(void *)module, name);
  if (!code && vyre__cuda.cuFuncLoad)
    code = vyre__cuda.cuFuncLoad(function);
  if (!code)
    *out = (hipFunction_t)(void *)function;
  return leave(code);
}

/* The numbers are the same. */
hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function)
{
  ENTER;
  return leave(
      vyre__cuda.cuFuncGetAttribute(value, (CUfunction_attribute)attribute, FUNCTION(function)));
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *groups, hipFunction_t function,
                                                              int items, size_t memory)
{
  ENTER;
  return leave(vyre__cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(groups, FUNCTION(function),
                                                                      items, memory));
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int gx, unsigned int gy,
                                 unsigned int gz, unsigned int wx, unsigned int wy, unsigned int wz,
                                 unsigned int memory, hipStream_t stream, void **parameters,
                                 void **extra)
{
  ENTER;
  return leave(vyre__cuda.cuLaunchKernel(FUNCTION(function), gx, gy, gz, wx, wy, wz, memory,
                                         STREAM(stream), parameters, extra));
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned int gx,
                                            unsigned int gy, unsigned int gz, unsigned int wx,
                                            unsigned int wy, unsigned int wz, unsigned int memory,
                                            hipStream_t stream, void **parameters)
{
  ENTER;
  return leave(vyre__cuda.cuLaunchCooperativeKernel(FUNCTION(function), gx, gy, gz, wx, wy, wz,
                                                    memory, STREAM(stream), parameters));
}

/* -------- graphs -------- */

hipError_t hipGraphCreate(hipGraph_t *out, unsigned int flags)
{
  CUgraph graph = NULL;
  ENTER;
  const CUresult code = vyre__cuda.cuGraphCreate(&graph, flags);
  if (!code)
    *out = (hipGraph_t)(void *)graph;
  return leave_with_object(code);
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
  ENTER;
  return leave_without_object(vyre__cuda.cuGraphDestroy(GRAPH(graph)));
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t *out, hipGraph_t graph,
                                 const hipGraphNode_t *before, size_t count,
                                 const hipKernelNodeParams *launch)
{
  CUDA_KERNEL_NODE_PARAMS theirs;
  CUgraphNode node = NULL, first = count ? (CUgraphNode)(void *)before[0] : NULL;
  if (count > 1) /* the plugin never does */
    return 1;
  memset(&theirs, 0, sizeof theirs);
  theirs.func = (CUfunction)launch->func;
  theirs.gridDimX = launch->gridDim.x;
  theirs.gridDimY = launch->gridDim.y;
  theirs.gridDimZ = launch->gridDim.z;
  theirs.blockDimX = launch->blockDim.x;
  theirs.blockDimY = launch->blockDim.y;
  theirs.blockDimZ = launch->blockDim.z;
  theirs.sharedMemBytes = launch->sharedMemBytes;
  theirs.kernelParams = launch->kernelParams;
  theirs.extra = launch->extra;
  ENTER;
  const CUresult code =
      vyre__cuda.cuGraphAddKernelNode(&node, GRAPH(graph), &first, count, &theirs);
  if (!code)
    *out = (hipGraphNode_t)(void *)node;
  return leave(code);
}

/* The context is current.  HIP's is ready to be launched, a CUDA driver is asked to send it. */
static CUresult send(CUgraphExec exec)
{
  CUstream stream = NULL;
  CUresult code = vyre__cuda.cuStreamCreateWithPriority(&stream, VYRE__CU_STREAM_NON_BLOCKING, 0);
  if (code)
    return code;
  code = vyre__cuda.cuGraphUpload(exec, stream);
  if (!code)
    code = vyre__cuda.cuStreamSynchronize(stream);
  vyre__cuda.cuStreamDestroy(stream);
  return code;
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *out, hipGraph_t graph,
                                        unsigned long long flags)
{
  CUgraphExec exec = NULL;
  ENTER;
  CUresult code = vyre__cuda.cuGraphInstantiate(&exec, GRAPH(graph), flags);
  if (!code) {
    code = send(exec);
    if (code)
      vyre__cuda.cuGraphExecDestroy(exec);
    else
      *out = (hipGraphExec_t)(void *)exec;
  }
  return leave_with_object(code);
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
  ENTER;
  return leave_without_object(vyre__cuda.cuGraphExecDestroy(EXEC(exec)));
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
  ENTER;
  return leave(vyre__cuda.cuGraphLaunch(EXEC(exec), STREAM(stream)));
}
