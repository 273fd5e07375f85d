/*
 * Our declarations of HIP against AMD's own header, where it is installed: numbers and the
 * structure that is passed.  The compiler compares; there is nothing to run.
 */
#if defined(__has_include)
#if __has_include(<hip/hip_runtime_api.h>)
#define HAS_HEADER 1
#endif
#endif

#ifdef HAS_HEADER
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#endif

#include "plugins/hip/hip_api.h"

#include <stdio.h>

#ifdef HAS_HEADER
#define COMPARE(name, theirs, number)                                                              \
  _Static_assert((unsigned)(theirs) == (unsigned)(number), "a number of HIP's");
VYRE__HIP_NUMBERS(COMPARE)

#define VYRE_HIP_CODE(number, name, status, lasts)                                                 \
  _Static_assert((int)hipError##name == (number), "a code of HIP's");
#include "plugins/hip/codes.def"
#undef VYRE_HIP_CODE

_Static_assert(sizeof(hipMemPoolProps) == 88, "a structure of HIP's");
_Static_assert(sizeof(hipUUID) == 16, "a structure of HIP's");
_Static_assert(sizeof(hipKernelNodeParams) == 64 && offsetof(hipKernelNodeParams, blockDim) == 0 &&
                   offsetof(hipKernelNodeParams, extra) == 16 &&
                   offsetof(hipKernelNodeParams, func) == 24 &&
                   offsetof(hipKernelNodeParams, gridDim) == 32 &&
                   offsetof(hipKernelNodeParams, kernelParams) == 48 &&
                   offsetof(hipKernelNodeParams, sharedMemBytes) == 56,
               "a structure of HIP's");

/* The calls of graphs, which are looked for by these types. */
#define IS(name, ...)                                                                              \
  _Static_assert(__builtin_types_compatible_p(__typeof__(&name), hipError_t (*)(__VA_ARGS__)),     \
                 "a prototype of HIP's")
IS(hipGraphCreate, hipGraph_t *, unsigned int);
IS(hipGraphAddKernelNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t,
   const hipKernelNodeParams *);
IS(hipGraphInstantiateWithFlags, hipGraphExec_t *, hipGraph_t, unsigned long long);
IS(hipGraphLaunch, hipGraphExec_t, hipStream_t);
IS(hipGraphExecDestroy, hipGraphExec_t);
IS(hipGraphDestroy, hipGraph_t);
#endif

int main(void)
{
#ifdef HAS_HEADER
  return 0;
#else
  printf("SKIP: there is no header of HIP's. Run: apt-get install libamdhip64-dev\n");
  return 77;
#endif
}
