/*
 * cl.h - the part of OpenCL's interface that the plugin uses, declared by ourselves: the plugin is
 * built without OpenCL's headers, and calls what it finds in the vendor's library.
 *
 * Names, values and types are those of the Khronos headers; tests/opencl compares them.  One list
 * of constants, one of error codes, one of entry points.
 */
#ifndef VYRE_OPENCL_CL_H
#define VYRE_OPENCL_CL_H

#include <stddef.h>
#include <stdint.h>

/* X(name, value): the codes that a call may return. */
#define VYRE__CL_CODES(X)                                                                          \
  X(CL_SUCCESS, 0)                                                                                 \
  X(CL_DEVICE_NOT_FOUND, -1)                                                                       \
  X(CL_DEVICE_NOT_AVAILABLE, -2)                                                                   \
  X(CL_COMPILER_NOT_AVAILABLE, -3)                                                                 \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                          \
  X(CL_OUT_OF_RESOURCES, -5)                                                                       \
  X(CL_OUT_OF_HOST_MEMORY, -6)                                                                     \
  X(CL_PROFILING_INFO_NOT_AVAILABLE, -7)                                                           \
  X(CL_MEM_COPY_OVERLAP, -8)                                                                       \
  X(CL_BUILD_PROGRAM_FAILURE, -11)                                                                 \
  X(CL_MAP_FAILURE, -12)                                                                           \
  X(CL_MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                          \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                             \
  X(CL_COMPILE_PROGRAM_FAILURE, -15)                                                               \
  X(CL_LINKER_NOT_AVAILABLE, -16)                                                                  \
  X(CL_LINK_PROGRAM_FAILURE, -17)                                                                  \
  X(CL_INVALID_VALUE, -30)                                                                         \
  X(CL_INVALID_DEVICE_TYPE, -31)                                                                   \
  X(CL_INVALID_PLATFORM, -32)                                                                      \
  X(CL_INVALID_DEVICE, -33)                                                                        \
  X(CL_INVALID_CONTEXT, -34)                                                                       \
  X(CL_INVALID_QUEUE_PROPERTIES, -35)                                                              \
  X(CL_INVALID_COMMAND_QUEUE, -36)                                                                 \
  X(CL_INVALID_HOST_PTR, -37)                                                                      \
  X(CL_INVALID_MEM_OBJECT, -38)                                                                    \
  X(CL_INVALID_BINARY, -42)                                                                        \
  X(CL_INVALID_BUILD_OPTIONS, -43)                                                                 \
  X(CL_INVALID_PROGRAM, -44)                                                                       \
  X(CL_INVALID_PROGRAM_EXECUTABLE, -45)                                                            \
  X(CL_INVALID_KERNEL_NAME, -46)                                                                   \
  X(CL_INVALID_KERNEL_DEFINITION, -47)                                                             \
  X(CL_INVALID_KERNEL, -48)                                                                        \
  X(CL_INVALID_ARG_INDEX, -49)                                                                     \
  X(CL_INVALID_ARG_VALUE, -50)                                                                     \
  X(CL_INVALID_ARG_SIZE, -51)                                                                      \
  X(CL_INVALID_KERNEL_ARGS, -52)                                                                   \
  X(CL_INVALID_WORK_DIMENSION, -53)                                                                \
  X(CL_INVALID_WORK_GROUP_SIZE, -54)                                                               \
  X(CL_INVALID_WORK_ITEM_SIZE, -55)                                                                \
  X(CL_INVALID_GLOBAL_OFFSET, -56)                                                                 \
  X(CL_INVALID_EVENT_WAIT_LIST, -57)                                                               \
  X(CL_INVALID_EVENT, -58)                                                                         \
  X(CL_INVALID_OPERATION, -59)                                                                     \
  X(CL_INVALID_BUFFER_SIZE, -61)                                                                   \
  X(CL_INVALID_GLOBAL_WORK_SIZE, -63)                                                              \
  X(CL_INVALID_PROPERTY, -64)                                                                      \
  X(CL_PLATFORM_NOT_FOUND_KHR, -1001)

/* X(name, value): all others. */
#define VYRE__CL_CONSTANTS(X)                                                                      \
  X(CL_FALSE, 0)                                                                                   \
  X(CL_TRUE, 1)                                                                                    \
  X(CL_COMPLETE, 0)                                                                                \
  X(CL_PLATFORM_VERSION, 0x0901)                                                                   \
  X(CL_PLATFORM_NAME, 0x0902)                                                                      \
  X(CL_DEVICE_TYPE_CPU, 2)                                                                         \
  X(CL_DEVICE_TYPE_GPU, 4)                                                                         \
  X(CL_DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                                           \
  X(CL_DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                                                         \
  X(CL_DEVICE_MAX_WORK_ITEM_SIZES, 0x1005)                                                         \
  X(CL_DEVICE_TYPE, 0x1000)                                                                        \
  X(CL_DEVICE_ADDRESS_BITS, 0x100D)                                                                \
  X(CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)                                                          \
  X(CL_DEVICE_MAX_PARAMETER_SIZE, 0x1017)                                                          \
  X(CL_DEVICE_SINGLE_FP_CONFIG, 0x101B)                                                            \
  X(CL_DEVICE_GLOBAL_MEM_SIZE, 0x101F)                                                             \
  X(CL_DEVICE_LOCAL_MEM_SIZE, 0x1023)                                                              \
  X(CL_DEVICE_ENDIAN_LITTLE, 0x1026)                                                               \
  X(CL_DEVICE_AVAILABLE, 0x1027)                                                                   \
  X(CL_DEVICE_COMPILER_AVAILABLE, 0x1028)                                                          \
  X(CL_DEVICE_NAME, 0x102B)                                                                        \
  X(CL_DRIVER_VERSION, 0x102D)                                                                     \
  X(CL_DEVICE_VERSION, 0x102F)                                                                     \
  X(CL_DEVICE_EXTENSIONS, 0x1030)                                                                  \
  X(CL_DEVICE_DOUBLE_FP_CONFIG, 0x1032)                                                            \
  X(CL_DEVICE_HOST_UNIFIED_MEMORY, 0x1035)                                                         \
  X(CL_DEVICE_OPENCL_C_FEATURES, 0x106F)                                                           \
  X(CL_DEVICE_UUID_KHR, 0x106A)                                                                    \
  X(CL_DEVICE_PCI_BUS_INFO_KHR, 0x410F)                                                            \
  X(CL_FP_DENORM, 1)                                                                               \
  X(CL_FP_INF_NAN, 2)                                                                              \
  X(CL_FP_ROUND_TO_NEAREST, 4)                                                                     \
  X(CL_FP_FMA, 32)                                                                                 \
  X(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, 128)                                                      \
  X(CL_CONTEXT_PLATFORM, 0x1084)                                                                   \
  X(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1)                                                     \
  X(CL_QUEUE_PROFILING_ENABLE, 2)                                                                  \
  X(CL_QUEUE_CONTEXT, 0x1090)                                                                      \
  X(CL_QUEUE_DEVICE, 0x1091)                                                                       \
  X(CL_QUEUE_PROPERTIES, 0x1093)                                                                   \
  X(CL_MEM_TYPE, 0x1100)                                                                           \
  X(CL_MEM_SIZE, 0x1102)                                                                           \
  X(CL_MEM_CONTEXT, 0x1106)                                                                        \
  X(CL_MEM_OBJECT_BUFFER, 0x10F0)                                                                  \
  X(CL_MEM_READ_WRITE, 1)                                                                          \
  X(CL_MEM_READ_ONLY, 4)                                                                           \
  X(CL_MEM_USE_HOST_PTR, 8)                                                                        \
  X(CL_MEM_ALLOC_HOST_PTR, 16)                                                                     \
  X(CL_MEM_COPY_HOST_PTR, 32)                                                                      \
  X(CL_PROGRAM_BINARY_SIZES, 0x1165)                                                               \
  X(CL_PROGRAM_BINARIES, 0x1166)                                                                   \
  X(CL_PROGRAM_BUILD_LOG, 0x1183)                                                                  \
  X(CL_KERNEL_NUM_ARGS, 0x1191)                                                                    \
  X(CL_KERNEL_WORK_GROUP_SIZE, 0x11B0)                                                             \
  X(CL_KERNEL_LOCAL_MEM_SIZE, 0x11B2)                                                              \
  X(CL_EVENT_COMMAND_EXECUTION_STATUS, 0x11D3)                                                     \
  X(CL_PROFILING_COMMAND_QUEUED, 0x1280)                                                           \
  X(CL_PROFILING_COMMAND_START, 0x1282)                                                            \
  X(CL_PROFILING_COMMAND_END, 0x1283)

/* A test includes the Khronos headers in front of this one, for comparison. */
#ifndef VYRE__CL_COMPARE
#define VYRE__CL_ENUM(name, value) name = (value),
enum { VYRE__CL_CODES(VYRE__CL_ENUM) VYRE__CL_CONSTANTS(VYRE__CL_ENUM) VYRE__CL_END };
#undef VYRE__CL_ENUM
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef cl_bitfield cl_device_type;
typedef cl_bitfield cl_command_queue_properties;
typedef cl_bitfield cl_mem_flags;
typedef cl_uint cl_platform_info;
typedef cl_uint cl_device_info;
typedef cl_uint cl_command_queue_info;
typedef cl_uint cl_mem_info;
typedef cl_uint cl_program_info;
typedef cl_uint cl_program_build_info;
typedef cl_uint cl_kernel_info;
typedef cl_uint cl_kernel_work_group_info;
typedef cl_uint cl_event_info;
typedef cl_uint cl_profiling_info;
typedef intptr_t cl_context_properties;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

/* The value of CL_DEVICE_OPENCL_C_FEATURES: an array. */
typedef struct cl_name_version {
  cl_uint version;
  char name[64];
} cl_name_version;

/* The value of CL_DEVICE_PCI_BUS_INFO_KHR. */
typedef struct cl_device_pci_bus_info_khr {
  cl_uint pci_domain;
  cl_uint pci_bus;
  cl_uint pci_device;
  cl_uint pci_function;
} cl_device_pci_bus_info_khr;
#endif

/*
 * The one list of entry points: X(need, result, name, parameters), need REQUIRED or OPTIONAL.  All
 * required ones are of OpenCL 1.2.  No call takes a function of ours: a vendor's thread must not
 * come into a plugin that may have been unloaded.
 */
#define VYRE__CL_CALLS(X)                                                                          \
  X(REQUIRED, cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                    \
  X(REQUIRED, cl_int, clGetPlatformInfo,                                                           \
    (cl_platform_id, cl_platform_info, size_t, void *, size_t *))                                  \
  X(REQUIRED, cl_int, clGetDeviceIDs,                                                              \
    (cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *))                          \
  X(REQUIRED, cl_int, clGetDeviceInfo, (cl_device_id, cl_device_info, size_t, void *, size_t *))   \
  X(REQUIRED, cl_context, clCreateContext,                                                         \
    (const cl_context_properties *, cl_uint, const cl_device_id *,                                 \
     void (*)(const char *, const void *, size_t, void *), void *, cl_int *))                      \
  X(REQUIRED, cl_int, clRetainContext, (cl_context))                                               \
  X(REQUIRED, cl_int, clReleaseContext, (cl_context))                                              \
  X(REQUIRED, cl_command_queue, clCreateCommandQueue,                                              \
    (cl_context, cl_device_id, cl_command_queue_properties, cl_int *))                             \
  X(REQUIRED, cl_int, clRetainCommandQueue, (cl_command_queue))                                    \
  X(REQUIRED, cl_int, clReleaseCommandQueue, (cl_command_queue))                                   \
  X(REQUIRED, cl_int, clGetCommandQueueInfo,                                                       \
    (cl_command_queue, cl_command_queue_info, size_t, void *, size_t *))                           \
  X(REQUIRED, cl_int, clGetMemObjectInfo, (cl_mem, cl_mem_info, size_t, void *, size_t *))         \
  X(REQUIRED, cl_mem, clCreateBuffer, (cl_context, cl_mem_flags, size_t, void *, cl_int *))        \
  X(REQUIRED, cl_int, clRetainMemObject, (cl_mem))                                                 \
  X(REQUIRED, cl_int, clReleaseMemObject, (cl_mem))                                                \
  X(REQUIRED, cl_program, clCreateProgramWithSource,                                               \
    (cl_context, cl_uint, const char **, const size_t *, cl_int *))                                \
  X(REQUIRED, cl_program, clCreateProgramWithBinary,                                               \
    (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *,  \
     cl_int *))                                                                                    \
  X(REQUIRED, cl_int, clBuildProgram,                                                              \
    (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *),        \
     void *))                                                                                      \
  X(REQUIRED, cl_int, clGetProgramInfo, (cl_program, cl_program_info, size_t, void *, size_t *))   \
  X(REQUIRED, cl_int, clGetProgramBuildInfo,                                                       \
    (cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *))                   \
  X(REQUIRED, cl_int, clReleaseProgram, (cl_program))                                              \
  X(REQUIRED, cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                     \
  X(REQUIRED, cl_int, clGetKernelInfo, (cl_kernel, cl_kernel_info, size_t, void *, size_t *))      \
  X(REQUIRED, cl_int, clGetKernelWorkGroupInfo,                                                    \
    (cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *))                \
  X(REQUIRED, cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                  \
  X(REQUIRED, cl_int, clReleaseKernel, (cl_kernel))                                                \
  X(REQUIRED, cl_int, clEnqueueNDRangeKernel,                                                      \
    (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,         \
     cl_uint, const cl_event *, cl_event *))                                                       \
  X(REQUIRED, cl_int, clEnqueueReadBuffer,                                                         \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,         \
     cl_event *))                                                                                  \
  X(REQUIRED, cl_int, clEnqueueWriteBuffer,                                                        \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *,   \
     cl_event *))                                                                                  \
  X(REQUIRED, cl_int, clEnqueueFillBuffer,                                                         \
    (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *,    \
     cl_event *))                                                                                  \
  X(REQUIRED, cl_int, clEnqueueCopyBuffer,                                                         \
    (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,          \
     cl_event *))                                                                                  \
  X(REQUIRED, cl_int, clEnqueueMarkerWithWaitList,                                                 \
    (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                     \
  X(REQUIRED, cl_int, clWaitForEvents, (cl_uint, const cl_event *))                                \
  X(REQUIRED, cl_int, clGetEventInfo, (cl_event, cl_event_info, size_t, void *, size_t *))         \
  X(REQUIRED, cl_int, clGetEventProfilingInfo,                                                     \
    (cl_event, cl_profiling_info, size_t, void *, size_t *))                                       \
  X(REQUIRED, cl_int, clReleaseEvent, (cl_event))                                                  \
  X(REQUIRED, cl_int, clFlush, (cl_command_queue))                                                 \
  X(REQUIRED, cl_int, clFinish, (cl_command_queue))                                                \
  X(OPTIONAL, cl_int, clGetDeviceAndHostTimer, (cl_device_id, cl_ulong *, cl_ulong *))

#define VYRE__CL_POINTER(need, result, name, parameters) result(*name) parameters;
typedef struct vyre__cl_calls {
  VYRE__CL_CALLS(VYRE__CL_POINTER)
} vyre__cl_calls;
#undef VYRE__CL_POINTER

#endif
