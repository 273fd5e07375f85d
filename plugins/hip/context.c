/*
 * context.c - the device that is current, call by call, and the plugin's own memory pool beside it.
 *
 * HIP has no contexts: each thread has a device that is current, and a device lives as long as the
 * process.  A vyre__gpu_context points to the device's place in the table below.
 *
 * The pool is the plugin's own for the reasons in plugins/cuda/context.c: the default one may be
 * the application's, gives memory back at each synchronisation, and may order an allocation behind
 * a launch that stays.
 */
#include "plugins/hip/calls.h"

#include "plugins/hip/codes.h"
#include "plugins/hip/library.h"

#include <pthread.h>
#include <string.h>

#define DEVICES 64u /* no runtime shows more */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place {
  hipMemPool_t pool; /* atomic: read without the lock by allocations */
  uint32_t retained;
} devices[DEVICES];

/* What was current is kept as a pointer: NULL for "nothing to put back". */
static char before_of[DEVICES];

static vyre__gpu_context *context_of(uint32_t index)
{
  return (vyre__gpu_context *)(void *)&devices[index];
}

static uint32_t index_of(const vyre__gpu_context *context)
{
  return (uint32_t)((const struct place *)(const void *)context - devices);
}

/* -------- the pool -------- */

bool vyre__hip_has_pools(void)
{
  return vyre__hip.hipMemPoolCreate && vyre__hip.hipMemPoolSetAttribute &&
         vyre__hip.hipMemPoolDestroy && vyre__hip.hipMallocFromPoolAsync && vyre__hip.hipFreeAsync;
}

static hipError_t make_pool(uint32_t index, hipMemPool_t *out_pool)
{
  hipMemPoolProps properties;
  hipMemPool_t pool = NULL;
  uint64_t keep = UINT64_MAX;
  int wait_for_others = 0, supported = 0;
  hipError_t code = vyre__hip.hipDeviceGetAttribute(
      &supported, (hipDeviceAttribute_t)VYRE__HIP_DEVICE_MEMORY_POOLS, (int)index);
  if (code == VYRE__HIP_INVALID_VALUE || !vyre__hip_has_pools())
    return 0; /* has never heard of it */
  if (code || !supported)
    return code;
  memset(&properties, 0, sizeof properties);
  properties.allocType = (hipMemAllocationType)VYRE__HIP_ALLOCATION_PINNED;
  properties.location.type = (hipMemLocationType)VYRE__HIP_LOCATION_DEVICE;
  properties.location.id = (int)index;
  code = vyre__hip.hipMemPoolCreate(&pool, &properties);
  if (code)
    return code;
  code = vyre__hip.hipMemPoolSetAttribute(pool, (hipMemPoolAttr)VYRE__HIP_POOL_RELEASE_THRESHOLD,
                                          &keep);
  if (!code)
    code = vyre__hip.hipMemPoolSetAttribute(pool, (hipMemPoolAttr)VYRE__HIP_POOL_REUSE_DEPENDENCIES,
                                            &wait_for_others);
  if (code)
    (void)vyre__hip.hipMemPoolDestroy(pool);
  else
    *out_pool = pool;
  return code;
}

/* With the lock held.  Errors are not told: there is nobody who could do anything about them. */
static void drop_pool(uint32_t index)
{
  const hipMemPool_t pool = devices[index].pool;
  /* Release: pairs with the acquire in vyre__hip_pool_of_current(). */
  __atomic_store_n(&devices[index].pool, (hipMemPool_t)NULL, __ATOMIC_RELEASE);
  if (pool)
    (void)vyre__hip.hipMemPoolDestroy(pool);
}

vyre__gpu_code vyre__hip_pool_of_current(hipMemPool_t *out_pool)
{
  int device = 0;
  const hipError_t code = vyre__hip.hipGetDevice(&device);
  if (code)
    return code;
  if (device < 0 || (uint32_t)device >= DEVICES)
    return VYRE__HIP_INVALID_DEVICE;
  /* Acquire: pairs with the releases in context_retain() and drop_pool(). */
  *out_pool = __atomic_load_n(&devices[device].pool, __ATOMIC_ACQUIRE);
  return *out_pool ? 0 : VYRE__HIP_INVALID_VALUE;
}

/* -------- the context -------- */

vyre__gpu_code vyre__hip_context_retain(uint32_t index, vyre__gpu_context **out_context)
{
  hipMemPool_t pool = NULL;
  hipError_t code = index < DEVICES ? 0 : (hipError_t)VYRE__HIP_INVALID_DEVICE;
  if (code)
    return code;
  pthread_mutex_lock(&lock);
  if (!devices[index].pool) {
    void *before = NULL;
    code = vyre__hip_context_enter(context_of(index), &before);
    if (!code) {
      code = make_pool(index, &pool);
      const hipError_t left = vyre__hip_context_leave(before);
      code = code ? code : left;
    }
    /* Release: pairs with the acquire in vyre__hip_pool_of_current(). */
    __atomic_store_n(&devices[index].pool, pool, __ATOMIC_RELEASE);
  }
  if (!code) {
    devices[index].retained++;
    *out_context = context_of(index);
  } else if (!devices[index].retained) {
    drop_pool(index);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

vyre__gpu_code vyre__hip_context_release(uint32_t index)
{
  if (index >= DEVICES)
    return VYRE__HIP_INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  if (devices[index].retained && !--devices[index].retained)
    drop_pool(index);
  pthread_mutex_unlock(&lock);
  return 0;
}

vyre__gpu_code vyre__hip_context_reset(uint32_t index)
{
  void *before = NULL;
  hipError_t code = index < DEVICES ? 0 : (hipError_t)VYRE__HIP_INVALID_DEVICE;
  if (code)
    return code;
  pthread_mutex_lock(&lock);
  drop_pool(index); /* before its memory goes; made again by the next retain */
  code = vyre__hip_context_enter(context_of(index), &before);
  if (!code) {
    code = vyre__hip.hipDeviceReset();
    const hipError_t left = vyre__hip_context_leave(before);
    code = code ? code : left;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

vyre__gpu_code vyre__hip_context_enter(vyre__gpu_context *context, void **out_before)
{
  const int device = (int)index_of(context);
  int before = 0;
  hipError_t code = vyre__hip.hipGetDevice(&before);
  if (!code && before != device)
    code = vyre__hip.hipSetDevice(device);
  if (!code)
    *out_before =
        before == device || before < 0 || (uint32_t)before >= DEVICES ? NULL : &before_of[before];
  return code;
}

vyre__gpu_code vyre__hip_context_leave(void *before)
{
  return before ? vyre__hip.hipSetDevice((int)((const char *)before - before_of)) : 0;
}
