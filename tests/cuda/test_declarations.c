/*
 * What cuda_api.h and the lists say, against NVIDIA's own headers, where they are installed: the
 * compiler compares every prototype, number and size.  Without them there is nothing to compare.
 */
#if defined(__has_include)
#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#endif
#endif

#include "plugins/cuda/cuda_api.h"

#include <stdio.h>
#include <string.h>

/* Numbers and names are compared with a header that has all of them. */
#if defined(CUDA_VERSION) && CUDA_VERSION >= 13000

#define IS(name, type) __builtin_types_compatible_p(__typeof__(&name), type)

/* The plain name stands for the newest version of the call: the header's macro is expanded. */
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters)                             \
  _Static_assert(IS(field, CUresult(*) parameters), "prototype of " #symbol);
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY

#define VYRE_NVRTC_ENTRY(name, parameters)                                                         \
  _Static_assert(IS(name, nvrtcResult(*) parameters), "prototype of " #name);
#include "plugins/cuda/nvrtc_entry_points.def"
#undef VYRE_NVRTC_ENTRY

#define CHECK_NUMBER(name, theirs, number)                                                         \
  _Static_assert((unsigned)(theirs) == (number), "number of " #theirs);
VYRE__CU_NUMBERS(CHECK_NUMBER)

#define VYRE_CUDA_CODE(number, name, status, lasts)                                                \
  _Static_assert(CUDA_ERROR_##name == (number), "number of CUDA_ERROR_" #name);
#include "plugins/cuda/codes.def"
#undef VYRE_CUDA_CODE

_Static_assert(NVRTC_SUCCESS == VYRE__NVRTC_SUCCESS, "NVRTC_SUCCESS");
_Static_assert(NVRTC_ERROR_OUT_OF_MEMORY == VYRE__NVRTC_OUT_OF_MEMORY, "out of memory");
_Static_assert(NVRTC_ERROR_INVALID_OPTION == VYRE__NVRTC_INVALID_OPTION, "invalid option");
_Static_assert(NVRTC_ERROR_COMPILATION == VYRE__NVRTC_COMPILATION, "compilation");

/* What our own declarations take for the types that C cannot declare twice. */
_Static_assert(sizeof(CUresult) == 4 && sizeof(nvrtcResult) == 4, "codes");
_Static_assert(sizeof(CUdevice_attribute) == 4 && sizeof(CUfunction_attribute) == 4 &&
                   sizeof(CUpointer_attribute) == 4 && sizeof(CUmemPool_attribute) == 4 &&
                   sizeof(CUjit_option) == 4 && sizeof(CUmemAllocationType) == 4 &&
                   sizeof(CUmemAllocationHandleType) == 4 && sizeof(CUmemLocationType) == 4,
               "enumerations");
_Static_assert(sizeof(CUuuid) == 16, "CUuuid");
_Static_assert(sizeof(CUmemPoolProps) == 88 && offsetof(CUmemPoolProps, allocType) == 0 &&
                   offsetof(CUmemPoolProps, handleTypes) == 4 &&
                   offsetof(CUmemPoolProps, location) == 8 &&
                   offsetof(CUmemPoolProps, win32SecurityAttributes) == 16 &&
                   offsetof(CUmemPoolProps, maxSize) == 24 &&
                   offsetof(CUmemPoolProps, usage) == 32 &&
                   offsetof(CUmemPoolProps, reserved) == 34,
               "CUmemPoolProps");
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, func) == 0 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX) == 8 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX) == 20 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) == 32 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams) == 40 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, extra) == 48 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, kern) == 56 &&
                   offsetof(CUDA_KERNEL_NODE_PARAMS, ctx) == 64,
               "CUDA_KERNEL_NODE_PARAMS");
_Static_assert(sizeof(CUmemLocation) == 8 && offsetof(CUmemLocation, id) == 4, "CUmemLocation");

#define TEXT(name) #name
#define EXPANDED(name) TEXT(name)

/* The name that the header gives a call now is the one that we look for: first or second. */
static int check_names(void)
{
  int wrong = 0;
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters)                             \
  {                                                                                                \
    const char *theirs = EXPANDED(field), *second = other;                                         \
    if (strcmp(theirs, #symbol) && (!second || strcmp(theirs, second))) {                          \
      fprintf(stderr, "the header calls %s %s\n", #field, theirs);                                 \
      wrong++;                                                                                     \
    }                                                                                              \
  }
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY
  return wrong;
}

int main(void)
{
  printf("compared with cuda.h of CUDA %d.%d\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
  return check_names() ? 1 : 0;
}

#else

int main(void)
{
  puts("skipped: no cuda.h and nvrtc.h of CUDA 13.0 or later");
  return 77;
}

#endif
