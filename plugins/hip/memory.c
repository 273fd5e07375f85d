/*
 * memory.c - memory of the device and of the host, and the copies between them.
 */
#include "plugins/hip/calls.h"

#include "plugins/hip/codes.h"
#include "plugins/hip/library.h"

static hipStream_t stream_of(vyre__gpu_stream *stream)
{
  return (hipStream_t)(void *)stream;
}

/* HIP's addresses are pointers, the body's are numbers. */
static hipDeviceptr_t pointer_of(vyre__gpu_address address)
{
  return (hipDeviceptr_t)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

static vyre__gpu_address address_of(const void *pointer)
{
  return (vyre__gpu_address)(uintptr_t)pointer;
}

vyre__gpu_code vyre__hip_memory_take(uint64_t size, vyre__gpu_address *out_address)
{
  void *memory = NULL;
  const hipError_t code = vyre__hip.hipMalloc(&memory, size);
  if (!code)
    *out_address = address_of(memory);
  return code;
}

vyre__gpu_code vyre__hip_memory_give(vyre__gpu_address address)
{
  return vyre__hip.hipFree(pointer_of(address));
}

vyre__gpu_code vyre__hip_memory_take_async(uint64_t size, vyre__gpu_stream *stream,
                                           vyre__gpu_address *out_address)
{
  void *memory = NULL;
  hipMemPool_t pool = NULL;
  hipError_t code = vyre__hip_pool_of_current(&pool);
  if (!code)
    code = vyre__hip.hipMallocFromPoolAsync(&memory, size, pool, stream_of(stream));
  if (!code)
    *out_address = address_of(memory);
  return code;
}

vyre__gpu_code vyre__hip_memory_give_async(vyre__gpu_address address, vyre__gpu_stream *stream)
{
  return vyre__hip.hipFreeAsync(pointer_of(address), stream_of(stream));
}

vyre__gpu_code vyre__hip_host_take(uint64_t size, void **out_host, vyre__gpu_address *out_address)
{
  void *host = NULL, *memory = NULL;
  /* Coherent is said, not left to HIP_HOST_COHERENT: only then do stores of one side reach the
     other while a kernel runs.  Portable: an application may copy between several devices. */
  hipError_t code = vyre__hip.hipHostMalloc(
      &host, size, VYRE__HIP_HOST_PORTABLE | VYRE__HIP_HOST_MAPPED | VYRE__HIP_HOST_COHERENT);
  if (code)
    return code;
  code = vyre__hip.hipHostGetDevicePointer(&memory, host, 0);
  if (code) {
    (void)vyre__hip.hipHostFree(host);
    return code;
  }
  *out_host = host;
  *out_address = address_of(memory);
  return 0;
}

vyre__gpu_code vyre__hip_host_give(void *host)
{
  return vyre__hip.hipHostFree(host);
}

vyre__gpu_code vyre__hip_memory_check(vyre__gpu_address address, bool *out_is_device)
{
  /* Not by hipMemoryType, whose numbers differ between ROCm 5 and 6.  What the runtime does not
     know is an invalid value to it. */
  int current = 0, owner = -1;
  void *host = NULL;
  hipError_t code = vyre__hip.hipGetDevice(&current);
  if (code)
    return code;
  code = vyre__hip.hipPointerGetAttribute(&owner, (hipPointer_attribute)VYRE__HIP_POINTER_DEVICE,
                                          pointer_of(address));
  if (code == VYRE__HIP_INVALID_VALUE) {
    *out_is_device = false;
    return 0;
  }
  if (code)
    return code;
  /* Another device's memory is none of this one's; host memory is everybody's. */
  if (owner != current) {
    code = vyre__hip.hipPointerGetAttribute(&host, (hipPointer_attribute)VYRE__HIP_POINTER_HOST,
                                            pointer_of(address));
    if (code == VYRE__HIP_INVALID_VALUE)
      code = 0;
  }
  if (!code)
    *out_is_device = owner == current || host;
  return code;
}

/* -------- copies -------- */

vyre__gpu_code vyre__hip_copy_in(vyre__gpu_address to, const void *from, uint64_t size,
                                 vyre__gpu_stream *stream)
{
  return vyre__hip.hipMemcpyHtoDAsync(pointer_of(to), from, size, stream_of(stream));
}

vyre__gpu_code vyre__hip_copy_out(void *to, vyre__gpu_address from, uint64_t size,
                                  vyre__gpu_stream *stream)
{
  return vyre__hip.hipMemcpyDtoHAsync(to, pointer_of(from), size, stream_of(stream));
}

vyre__gpu_code vyre__hip_copy_within(vyre__gpu_address to, vyre__gpu_address from, uint64_t size,
                                     vyre__gpu_stream *stream)
{
  return vyre__hip.hipMemcpyDtoDAsync(pointer_of(to), pointer_of(from), size, stream_of(stream));
}

vyre__gpu_code vyre__hip_fill(vyre__gpu_address to, uint8_t value, uint64_t size,
                              vyre__gpu_stream *stream)
{
  return vyre__hip.hipMemsetD8Async(pointer_of(to), value, size, stream_of(stream));
}
