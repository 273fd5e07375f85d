/*
 * cuda_api.h - what this plugin knows of the CUDA driver and of NVRTC: our own declarations, so
 * that it builds on any machine without NVIDIA's headers.
 *
 * Types keep NVIDIA's names, since entry_points.def is written in them; numbers are VYRE__CU_….
 * tests/cuda/test_declarations.c compares all of it with the real cuda.h and nvrtc.h where they are
 * installed: it includes those first, and the types that C cannot declare twice are then left out.
 */
#ifndef VYRE_CUDA_API_H
#define VYRE_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* ---- types ---- */

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

#ifndef __cuda_cuda_h__
/* Enumerations of the driver; all of them are 32 bits wide. */
typedef int32_t CUresult;
typedef uint32_t CUdevice_attribute;
typedef uint32_t CUfunction_attribute;
typedef uint32_t CUpointer_attribute;
typedef uint32_t CUmemPool_attribute;
typedef uint32_t CUjit_option;
typedef uint32_t CUmemAllocationType;
typedef uint32_t CUmemAllocationHandleType;
typedef uint32_t CUmemLocationType;

typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;

typedef struct CUmemLocation_st {
  CUmemLocationType type;
  int id;
} CUmemLocation;

typedef struct CUmemPoolProps_st {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
} CUmemPoolProps;
_Static_assert(sizeof(CUmemPoolProps) == 88 && offsetof(CUmemPoolProps, reserved) == 34,
               "the driver reads this structure");

/* As of CUDA 12.0. */
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
  CUfunction func;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  void **kernelParams;
  void **extra;
  struct CUkern_st *kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams) == 40,
               "the driver reads this structure");
#endif

typedef struct _nvrtcProgram *nvrtcProgram;
#ifndef __NVRTC_H__
typedef int32_t nvrtcResult;
#endif

/* ---- numbers ---- */

/* The one list of the driver's numbers in use, codes apart: X(our name, NVIDIA's name, number). */
#define VYRE__CU_NUMBERS(X)                                                                        \
  X(DEVICE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                    \
  X(DEVICE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                                \
  X(DEVICE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3)                                \
  X(DEVICE_MAX_BLOCK_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4)                                \
  X(DEVICE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                                  \
  X(DEVICE_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6)                                  \
  X(DEVICE_MAX_GRID_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7)                                  \
  X(DEVICE_MAX_SHARED, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                         \
  X(DEVICE_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                           \
  X(DEVICE_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                          \
  X(DEVICE_KERNEL_TIMEOUT, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 17)                            \
  X(DEVICE_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                                         \
  X(DEVICE_CAN_MAP_HOST, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19)                              \
  X(DEVICE_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                                     \
  X(DEVICE_CONCURRENT_KERNELS, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31)                         \
  X(DEVICE_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                         \
  X(DEVICE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                \
  X(DEVICE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                \
  X(DEVICE_PREEMPTION, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 90)                       \
  X(DEVICE_COOPERATIVE, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                                \
  X(DEVICE_MAX_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)            \
  X(DEVICE_MEMORY_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115)                          \
  X(COMPUTE_MODE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED, 2)                                         \
  X(COMPUTE_MODE_EXCLUSIVE, CU_COMPUTEMODE_EXCLUSIVE_PROCESS, 3)                                   \
  X(FUNCTION_MAX_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                              \
  X(FUNCTION_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                       \
  X(FUNCTION_LOCAL, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                         \
  X(FUNCTION_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                             \
  X(FUNCTION_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)               \
  X(POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                      \
  X(POINTER_DEVICE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                        \
  X(MEMORY_TYPE_HOST, CU_MEMORYTYPE_HOST, 1)                                                       \
  X(MEMORY_TYPE_DEVICE, CU_MEMORYTYPE_DEVICE, 2)                                                   \
  X(POOL_REUSE_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 3)                 \
  X(POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4)                                  \
  X(ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED, 1)                                           \
  X(LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE, 1)                                               \
  X(HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE, 1)                                                    \
  X(HOST_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP, 2)                                                     \
  X(STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                                                \
  X(EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC, 1)                                                \
  X(EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING, 2)                                                   \
  X(JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER, 5)                                                     \
  X(JIT_ERROR_LOG_SIZE, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)

#define VYRE__CU_NUMBER_ENUM(name, theirs, number) VYRE__CU_##name = number,
enum { VYRE__CU_NUMBERS(VYRE__CU_NUMBER_ENUM) VYRE__CU_NUMBERS_END };
#undef VYRE__CU_NUMBER_ENUM

/* ---- NVRTC ---- */

#define VYRE__NVRTC_SUCCESS 0
#define VYRE__NVRTC_OUT_OF_MEMORY 1
#define VYRE__NVRTC_INVALID_OPTION 5
#define VYRE__NVRTC_COMPILATION 6

#endif
