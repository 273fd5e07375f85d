/*
 * hip_api.h - what this plugin knows of HIP, hipRTC and comgr: our own declarations, so that it
 * builds on any machine without ROCm.
 *
 * Types keep AMD's names, since entry_points.def is written in them; numbers are VYRE__HIP_….
 * tests/hip/test_declarations.c compares all of it with the real headers where they are installed:
 * it includes those first, and the types that C cannot declare twice are then left out.  Nothing is
 * here whose layout has changed between ROCm 5 and 7.
 */
#ifndef VYRE_HIP_API_H
#define VYRE_HIP_API_H

#include <stddef.h>
#include <stdint.h>

/* ---- types ---- */

typedef void *hipDeviceptr_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipMemPoolHandle_t *hipMemPool_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef int hipDevice_t;

#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
/* Enumerations of the runtime; all of them are 32 bits wide. */
typedef int32_t hipError_t;
typedef uint32_t hipDeviceAttribute_t;
typedef uint32_t hipFunction_attribute;
typedef uint32_t hipPointer_attribute;
typedef uint32_t hipMemPoolAttr;
typedef uint32_t hipJitOption;
typedef uint32_t hipMemAllocationType;
typedef uint32_t hipMemAllocationHandleType;
typedef uint32_t hipMemLocationType;

typedef struct hipUUID_t {
  char bytes[16];
} hipUUID;

typedef struct hipMemLocation {
  hipMemLocationType type;
  int id;
} hipMemLocation;

/* Newer runtimes name a part of `reserved`; zeros there mean what they meant before. */
typedef struct hipMemPoolProps {
  hipMemAllocationType allocType;
  hipMemAllocationHandleType handleTypes;
  hipMemLocation location;
  void *win32SecurityAttributes;
  unsigned char reserved[64];
} hipMemPoolProps;
_Static_assert(sizeof(hipMemPoolProps) == 88, "the runtime reads this structure");

typedef struct dim3 {
  uint32_t x, y, z;
} dim3;

typedef struct hipKernelNodeParams {
  dim3 blockDim;
  void **extra;
  void *func;
  dim3 gridDim;
  void **kernelParams;
  unsigned int sharedMemBytes;
} hipKernelNodeParams;
_Static_assert(sizeof(hipKernelNodeParams) == 64 &&
                   offsetof(hipKernelNodeParams, kernelParams) == 48,
               "the runtime reads this structure");
#endif

/* ---- numbers ---- */

/* The one list of HIP's numbers in use, codes apart: X(our name, AMD's name, number). */
#define VYRE__HIP_NUMBERS(X)                                                                       \
  X(DEVICE_CAN_MAP_HOST, hipDeviceAttributeCanMapHostMemory, 3)                                    \
  X(DEVICE_COMPUTE_MODE, hipDeviceAttributeComputeMode, 6)                                         \
  X(DEVICE_CONCURRENT_KERNELS, hipDeviceAttributeConcurrentKernels, 8)                             \
  X(DEVICE_COOPERATIVE, hipDeviceAttributeCooperativeLaunch, 10)                                   \
  X(DEVICE_INTEGRATED, hipDeviceAttributeIntegrated, 16)                                           \
  X(DEVICE_KERNEL_TIMEOUT, hipDeviceAttributeKernelExecTimeout, 18)                                \
  X(DEVICE_MAX_BLOCK_DIM_X, hipDeviceAttributeMaxBlockDimX, 26)                                    \
  X(DEVICE_MAX_BLOCK_DIM_Y, hipDeviceAttributeMaxBlockDimY, 27)                                    \
  X(DEVICE_MAX_BLOCK_DIM_Z, hipDeviceAttributeMaxBlockDimZ, 28)                                    \
  X(DEVICE_MAX_GRID_DIM_X, hipDeviceAttributeMaxGridDimX, 29)                                      \
  X(DEVICE_MAX_GRID_DIM_Y, hipDeviceAttributeMaxGridDimY, 30)                                      \
  X(DEVICE_MAX_GRID_DIM_Z, hipDeviceAttributeMaxGridDimZ, 31)                                      \
  X(DEVICE_MAX_THREADS_PER_BLOCK, hipDeviceAttributeMaxThreadsPerBlock, 56)                        \
  X(DEVICE_MULTIPROCESSORS, hipDeviceAttributeMultiprocessorCount, 63)                             \
  X(DEVICE_MAX_SHARED, hipDeviceAttributeMaxSharedMemoryPerBlock, 74)                              \
  X(DEVICE_WARP_SIZE, hipDeviceAttributeWarpSize, 87)                                              \
  X(DEVICE_MEMORY_POOLS, hipDeviceAttributeMemoryPoolsSupported, 88)                               \
  X(COMPUTE_MODE_EXCLUSIVE, hipComputeModeExclusive, 1)                                            \
  X(COMPUTE_MODE_PROHIBITED, hipComputeModeProhibited, 2)                                          \
  X(COMPUTE_MODE_EXCLUSIVE_PROCESS, hipComputeModeExclusiveProcess, 3)                             \
  X(FUNCTION_MAX_THREADS, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                             \
  X(FUNCTION_SHARED, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                      \
  X(FUNCTION_LOCAL, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                        \
  X(FUNCTION_REGISTERS, HIP_FUNC_ATTRIBUTE_NUM_REGS, 4)                                            \
  X(POINTER_HOST, HIP_POINTER_ATTRIBUTE_HOST_POINTER, 4)                                           \
  X(POINTER_DEVICE, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                       \
  X(POOL_REUSE_DEPENDENCIES, hipMemPoolReuseAllowInternalDependencies, 3)                          \
  X(POOL_RELEASE_THRESHOLD, hipMemPoolAttrReleaseThreshold, 4)                                     \
  X(ALLOCATION_PINNED, hipMemAllocationTypePinned, 1)                                              \
  X(LOCATION_DEVICE, hipMemLocationTypeDevice, 1)                                                  \
  X(HOST_PORTABLE, hipHostMallocPortable, 0x1)                                                     \
  X(HOST_MAPPED, hipHostMallocMapped, 0x2)                                                         \
  X(HOST_COHERENT, hipHostMallocCoherent, 0x40000000)                                              \
  X(STREAM_NON_BLOCKING, hipStreamNonBlocking, 0x1)                                                \
  X(EVENT_BLOCKING_SYNC, hipEventBlockingSync, 0x1)                                                \
  X(EVENT_NO_TIMING, hipEventDisableTiming, 0x2)

#define VYRE__HIP_NUMBER_ENUM(name, theirs, number) VYRE__HIP_##name = number,
enum { VYRE__HIP_NUMBERS(VYRE__HIP_NUMBER_ENUM) VYRE__HIP_NUMBERS_END };
#undef VYRE__HIP_NUMBER_ENUM

/* ---- hipRTC and comgr ---- */

typedef struct _hiprtcProgram *hiprtcProgram;
#ifndef HIPRTC_H
typedef int32_t hiprtcResult;
#endif
typedef int32_t vyre__comgr_status; /* amd_comgr_status_t, an enumeration */

#define VYRE__HIPRTC_OUT_OF_MEMORY 1
#define VYRE__HIPRTC_INVALID_OPTION 5
#define VYRE__HIPRTC_COMPILATION 6

#endif
