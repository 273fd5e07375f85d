/*
 * memory.c - memory of the device and of the host, and the copies between them.
 */
#include "plugins/cuda/calls.h"

#include "plugins/cuda/library.h"

#include <string.h>

static CUstream stream_of(vyre__gpu_stream *stream)
{
  return (CUstream)(void *)stream;
}

vyre__gpu_code vyre__cuda_memory_take(uint64_t size, vyre__gpu_address *out_address)
{
  CUdeviceptr address = 0;
  const CUresult code = vyre__cuda.cuMemAlloc(&address, size);
  if (!code)
    *out_address = address;
  return code;
}

vyre__gpu_code vyre__cuda_memory_give(vyre__gpu_address address)
{
  return vyre__cuda.cuMemFree(address);
}

vyre__gpu_code vyre__cuda_memory_take_async(uint64_t size, vyre__gpu_stream *stream,
                                            vyre__gpu_address *out_address)
{
  CUdeviceptr address = 0;
  CUmemoryPool pool = NULL;
  CUresult code = vyre__cuda_pool_of_current(&pool);
  if (!code)
    code = vyre__cuda.cuMemAllocFromPoolAsync(&address, size, pool, stream_of(stream));
  if (!code)
    *out_address = address;
  return code;
}

vyre__gpu_code vyre__cuda_memory_give_async(vyre__gpu_address address, vyre__gpu_stream *stream)
{
  return vyre__cuda.cuMemFreeAsync(address, stream_of(stream));
}

vyre__gpu_code vyre__cuda_host_take(uint64_t size, void **out_host, vyre__gpu_address *out_address)
{
  void *host = NULL;
  CUdeviceptr address = 0;
  /* Portable: pinned for every context, as an application may copy between several devices.  Never
     write-combined: the host reads it. */
  CUresult code =
      vyre__cuda.cuMemHostAlloc(&host, size, VYRE__CU_HOST_PORTABLE | VYRE__CU_HOST_MAPPED);
  if (code)
    return code;
  code = vyre__cuda.cuMemHostGetDevicePointer(&address, host, 0);
  if (code) {
    vyre__cuda.cuMemFreeHost(host);
    return code;
  }
  *out_host = host;
  *out_address = address;
  return 0;
}

vyre__gpu_code vyre__cuda_host_give(void *host)
{
  return vyre__cuda.cuMemFreeHost(host);
}

vyre__gpu_code vyre__cuda_memory_check(vyre__gpu_address address, bool *out_is_device)
{
  /* The form that takes several says "none" of an address that it does not know; the one that takes
     one calls it an error. */
  CUpointer_attribute which[] = {(CUpointer_attribute)VYRE__CU_POINTER_MEMORY_TYPE,
                                 (CUpointer_attribute)VYRE__CU_POINTER_DEVICE};
  unsigned type = 0;
  int ordinal = -1;
  void *values[] = {&type, &ordinal};
  CUdevice device = 0;
  CUresult code = vyre__cuda.cuCtxGetDevice(&device);
  if (!code)
    code = vyre__cuda.cuPointerGetAttributes(2, which, values, address);
  if (!code)
    *out_is_device = type == VYRE__CU_MEMORY_TYPE_HOST ||
                     (type == VYRE__CU_MEMORY_TYPE_DEVICE && ordinal == device);
  return code;
}

/* -------- copies -------- */

vyre__gpu_code vyre__cuda_copy_in(vyre__gpu_address to, const void *from, uint64_t size,
                                  vyre__gpu_stream *stream)
{
  return vyre__cuda.cuMemcpyHtoDAsync(to, from, size, stream_of(stream));
}

vyre__gpu_code vyre__cuda_copy_out(void *to, vyre__gpu_address from, uint64_t size,
                                   vyre__gpu_stream *stream)
{
  return vyre__cuda.cuMemcpyDtoHAsync(to, from, size, stream_of(stream));
}

vyre__gpu_code vyre__cuda_copy_within(vyre__gpu_address to, vyre__gpu_address from, uint64_t size,
                                      vyre__gpu_stream *stream)
{
  return vyre__cuda.cuMemcpyDtoDAsync(to, from, size, stream_of(stream));
}

vyre__gpu_code vyre__cuda_fill(vyre__gpu_address to, uint8_t value, uint64_t size,
                               vyre__gpu_stream *stream)
{
  return vyre__cuda.cuMemsetD8Async(to, value, size, stream_of(stream));
}
