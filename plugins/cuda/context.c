/*
 * context.c - the primary context of a device, made current call by call, and the plugin's own
 * memory pool beside it.
 *
 * The pool is not the device's default one for three reasons: an application may have set that one
 * up for itself; by default it gives memory back to the system whenever somebody synchronises,
 * which makes every dispatch pay for mapping it again; and it may order an allocation behind
 * another stream to use what was freed there, which behind a persistent launch would be for ever.
 */
#include "plugins/cuda/calls.h"

#include "plugins/cuda/codes.h"
#include "plugins/cuda/library.h"

#include <pthread.h>
#include <string.h>

#define DEVICES 64u /* no driver shows more */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  CUmemoryPool pool; /* atomic: read without the lock by allocations */
  uint32_t retained;
} devices[DEVICES];

/* -------- the pool -------- */

static CUresult make_pool(CUdevice device, CUmemoryPool *out_pool)
{
  CUmemPoolProps properties;
  CUmemoryPool pool = NULL;
  uint64_t keep = UINT64_MAX;
  int wait_for_others = 0, supported = 0;
  CUresult code = vyre__cuda.cuDeviceGetAttribute(
      &supported, (CUdevice_attribute)VYRE__CU_DEVICE_MEMORY_POOLS, device);
  if (code || !supported)
    return code;
  memset(&properties, 0, sizeof properties);
  properties.allocType = (CUmemAllocationType)VYRE__CU_ALLOCATION_PINNED;
  properties.location.type = (CUmemLocationType)VYRE__CU_LOCATION_DEVICE;
  properties.location.id = device;
  code = vyre__cuda.cuMemPoolCreate(&pool, &properties);
  if (code)
    return code;
  code = vyre__cuda.cuMemPoolSetAttribute(
      pool, (CUmemPool_attribute)VYRE__CU_POOL_RELEASE_THRESHOLD, &keep);
  if (!code)
    code = vyre__cuda.cuMemPoolSetAttribute(
        pool, (CUmemPool_attribute)VYRE__CU_POOL_REUSE_DEPENDENCIES, &wait_for_others);
  if (code)
    vyre__cuda.cuMemPoolDestroy(pool);
  else
    *out_pool = pool;
  return code;
}

/* With the lock held.  Errors are not told: the memory goes with the context in any case. */
static void drop_pool(uint32_t index)
{
  const CUmemoryPool pool = devices[index].pool;
  /* Release: pairs with the acquire in vyre__cuda_pool_of_current(). */
  __atomic_store_n(&devices[index].pool, (CUmemoryPool)NULL, __ATOMIC_RELEASE);
  if (pool)
    vyre__cuda.cuMemPoolDestroy(pool);
}

vyre__gpu_code vyre__cuda_pool_of_current(CUmemoryPool *out_pool)
{
  CUdevice device = 0;
  const CUresult code = vyre__cuda.cuCtxGetDevice(&device);
  if (code)
    return code;
  if (device < 0 || (uint32_t)device >= DEVICES)
    return VYRE__CU_INVALID_DEVICE;
  /* Acquire: pairs with the releases in context_retain() and drop_pool(). */
  *out_pool = __atomic_load_n(&devices[device].pool, __ATOMIC_ACQUIRE);
  return *out_pool ? 0 : VYRE__CU_INVALID_VALUE;
}

/* -------- the context -------- */

vyre__gpu_code vyre__cuda_context_retain(uint32_t index, vyre__gpu_context **out_context)
{
  CUcontext context = NULL;
  CUmemoryPool pool = NULL;
  CUdevice device = 0;
  CUresult code = index < DEVICES ? vyre__cuda.cuDeviceGet(&device, (int)index)
                                  : (CUresult)VYRE__CU_INVALID_DEVICE;
  if (code)
    return code;
  pthread_mutex_lock(&lock);
  code = vyre__cuda.cuDevicePrimaryCtxRetain(&context, device);
  if (!code && !devices[index].pool) {
    code = make_pool(device, &pool);
    if (code)
      vyre__cuda.cuDevicePrimaryCtxRelease(device);
    else /* Release: pairs with the acquire in vyre__cuda_pool_of_current(). */
      __atomic_store_n(&devices[index].pool, pool, __ATOMIC_RELEASE);
  }
  if (!code) {
    devices[index].retained++;
    *out_context = (vyre__gpu_context *)(void *)context;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

vyre__gpu_code vyre__cuda_context_release(uint32_t index)
{
  CUdevice device = 0;
  CUresult code = index < DEVICES ? vyre__cuda.cuDeviceGet(&device, (int)index)
                                  : (CUresult)VYRE__CU_INVALID_DEVICE;
  if (index >= DEVICES)
    return code;
  pthread_mutex_lock(&lock);
  if (devices[index].retained && !--devices[index].retained)
    drop_pool(index);
  /* The number of a device is its index; a failed look-up must not keep the context. */
  const CUresult released = vyre__cuda.cuDevicePrimaryCtxRelease(code ? (CUdevice)index : device);
  pthread_mutex_unlock(&lock);
  return code ? code : released;
}

vyre__gpu_code vyre__cuda_context_reset(uint32_t index)
{
  CUdevice device = 0;
  CUresult code = index < DEVICES ? vyre__cuda.cuDeviceGet(&device, (int)index)
                                  : (CUresult)VYRE__CU_INVALID_DEVICE;
  if (code)
    return code;
  pthread_mutex_lock(&lock);
  drop_pool(index); /* before its memory goes; made again by the next retain */
  code = vyre__cuda.cuDevicePrimaryCtxReset(device);
  pthread_mutex_unlock(&lock);
  return code;
}

vyre__gpu_code vyre__cuda_context_enter(vyre__gpu_context *context, void **out_before)
{
  /* The driver keeps what was current on a stack of the thread. */
  const CUresult code = vyre__cuda.cuCtxPushCurrent((CUcontext)(void *)context);
  if (!code)
    *out_before = NULL;
  return code;
}

vyre__gpu_code vyre__cuda_context_leave(void *before)
{
  CUcontext popped = NULL;
  (void)before;
  return vyre__cuda.cuCtxPopCurrent(&popped);
}
