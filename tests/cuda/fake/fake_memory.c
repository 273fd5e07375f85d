/*
 * fake_memory.c - memory of the test driver.  A device address is the host's address with a high
 * bit set: the host cannot touch it by mistake, and nothing need be looked up to find the bytes.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_BIT (UINT64_C(1) << 57)
#define MAPPED_BIT (UINT64_C(1) << 56)
#define EDGE (UINT64_C(1) << 16)
#define BIGGEST (UINT64_C(1) << 31) /* more is out of memory */

static fake_memory *next_memory(fake_object *object)
{
  for (; object; object = object->next)
    if ((object->kind == FAKE_MEMORY || object->kind == FAKE_HOST) && !object->dead)
      return (fake_memory *)(void *)object;
  return NULL;
}

#define EACH_MEMORY(memory)                                                                        \
  fake_memory *memory = next_memory(fake.objects);                                                 \
  memory;                                                                                          \
  memory = next_memory(memory->object.next)

static CUresult make(fake_kind kind, uint64_t size, uint64_t align, uint64_t bit,
                     fake_memory **out_memory)
{
  if (!size)
    return 1;
  if (size > BIGGEST)
    return 2;
  void *bytes = NULL;
  if (posix_memalign(&bytes, align, size))
    return 2;
  /* Nothing may count on zeros; the middle of a large block is as the system gives it. */
  memset(bytes, 0x5a, size < EDGE ? size : EDGE);
  memset((char *)bytes + (size < EDGE ? 0 : size - EDGE), 0x5a, size < EDGE ? size : EDGE);
  fake_memory *memory = fake_make(kind, sizeof *memory);
  memory->bytes = bytes;
  memory->size = size;
  memory->address = (CUdeviceptr)(uintptr_t)bytes | bit;
  *out_memory = memory;
  return 0;
}

void fake_memory_free(fake_memory *memory)
{
  fake_kill(&memory->object);
  free(memory->bytes);
  memory->bytes = NULL;
}

void fake_memory_drop_all(fake_context *context)
{
  for (EACH_MEMORY(memory))
    if (memory->object.context == context)
      fake_memory_free(memory);
}

unsigned char *fake_view(fake_context *context, CUdeviceptr address, uint64_t size)
{
  for (EACH_MEMORY(memory))
    if (memory->object.context == context && address >= memory->address && size <= memory->size &&
        address - memory->address <= memory->size - size)
      return memory->bytes + (address - memory->address);
  fake_fault("%llu bytes at 0x%llx are in no live memory", (unsigned long long)size, address);
  return NULL;
}

bool fake_pinned(const void *host, uint64_t size)
{
  const uintptr_t at = (uintptr_t)host;
  for (EACH_MEMORY(memory)) {
    const uintptr_t start = (uintptr_t)memory->bytes;
    if (memory->object.kind == FAKE_HOST && at >= start && size <= memory->size &&
        at - start <= memory->size - size)
      return true;
  }
  fake_fault("an asynchronous copy of %llu bytes of pageable host memory",
             (unsigned long long)size);
  return false;
}

static fake_memory *find(CUdeviceptr address, fake_kind kind)
{
  for (EACH_MEMORY(memory))
    if (memory->address == address && memory->object.kind == kind && !memory->leaving) {
      if (memory->object.context != fake_current())
        fake_fault("memory of another context is freed");
      return memory;
    }
  fake_fault("0x%llx is freed and is no memory that was taken", address);
  return NULL;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
  BEGIN(FAKE_cuMemAlloc, NEEDS_CONTEXT | WAITS, "%zu", size);
  fake_memory *memory = NULL;
  const CUresult code = make(FAKE_MEMORY, size, 256, DEVICE_BIT, &memory);
  if (!code)
    *out = memory->address;
  return fake_end(code);
}

/* An injected failure counts as the end of the block, once nothing uses it any more. */
static void excuse(CUdeviceptr address, const void *host)
{
  pthread_mutex_lock(&fake.lock);
  for (EACH_MEMORY(memory))
    if (host ? memory->bytes == host : memory->address == address) {
      fake_drain(memory->object.context);
      fake_memory_free(memory);
      break;
    }
  pthread_mutex_unlock(&fake.lock);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
  const CUresult begun = fake_begin(FAKE_cuMemFree, NEEDS_CONTEXT | WAITS, "0x%llx", address);
  if (begun) {
    excuse(address, NULL);
    return begun;
  }
  fake_memory *memory = find(address, FAKE_MEMORY);
  if (!memory)
    return fake_end(1);
  fake_drain(fake_current());
  fake_memory_free(memory);
  return fake_end(0);
}

/* -------- pools -------- */

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
  BEGIN(FAKE_cuMemPoolCreate, NEEDS_INIT, "%d", props->location.id);
  if (props->allocType != VYRE__CU_ALLOCATION_PINNED ||
      props->location.type != VYRE__CU_LOCATION_DEVICE || props->handleTypes ||
      (uint32_t)props->location.id >= fake.devices)
    return fake_end(1);
  fake_object *pool = fake_make(FAKE_POOL, sizeof *pool);
  *out = (CUmemoryPool)(void *)pool;
  return fake_end(0);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
  BEGIN(FAKE_cuMemPoolSetAttribute, NEEDS_INIT, "%u %d", attribute, *(int *)value);
  return fake_end(fake_take(pool, FAKE_POOL) && attribute <= 4 ? 0 : 1);
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
  BEGIN_DROP(handle, FAKE_cuMemPoolDestroy, NEEDS_INIT, "%s", "");
  fake_object *pool = fake_take(handle, FAKE_POOL);
  if (pool)
    fake_kill(pool);
  return fake_end(pool ? 0 : 1);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream)
{
  BEGIN(FAKE_cuMemAllocFromPoolAsync, NEEDS_CONTEXT, "%zu", size);
  if (!fake_take(pool, FAKE_POOL) || !fake_take(stream, FAKE_STREAM))
    return fake_end(400);
  fake_memory *memory = NULL;
  const CUresult code = make(FAKE_MEMORY, size, 256, DEVICE_BIT, &memory);
  if (!code)
    *out = memory->address;
  return fake_end(code);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
  const CUresult begun = fake_begin(FAKE_cuMemFreeAsync, NEEDS_CONTEXT, "0x%llx", address);
  if (begun) {
    excuse(address, NULL);
    return begun;
  }
  fake_memory *memory = find(address, FAKE_MEMORY);
  if (!memory || !fake_take(stream, FAKE_STREAM))
    return fake_end(1);
  memory->leaving = true;
  const fake_op op = {.kind = OP_FREE, .memory = memory};
  return fake_put(stream, &op);
}

/* -------- the host's -------- */

CUresult cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
  BEGIN(FAKE_cuMemHostAlloc, NEEDS_CONTEXT | WAITS, "%zu %u", size, flags);
  fake_memory *memory = NULL;
  const CUresult code = make(FAKE_HOST, size, 4096, MAPPED_BIT, &memory);
  if (!code)
    *out = memory->bytes;
  return fake_end(code);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *host, unsigned int flags)
{
  BEGIN(FAKE_cuMemHostGetDevicePointer, NEEDS_CONTEXT, "%u", flags);
  if (!fake_pinned(host, 1))
    return fake_end(1);
  *out = (CUdeviceptr)(uintptr_t)host | MAPPED_BIT;
  return fake_end(0);
}

CUresult cuMemFreeHost(void *host)
{
  const CUresult begun = fake_begin(FAKE_cuMemFreeHost, NEEDS_CONTEXT | WAITS, "%s", "");
  if (begun) {
    excuse(0, host);
    return begun;
  }
  fake_memory *memory = find((CUdeviceptr)(uintptr_t)host | MAPPED_BIT, FAKE_HOST);
  if (!memory)
    return fake_end(1);
  fake_drain(fake_current());
  fake_memory_free(memory);
  return fake_end(0);
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
  BEGIN(FAKE_cuPointerGetAttributes, NEEDS_CONTEXT, "%u 0x%llx", count, address);
  fake_memory *found = NULL;
  for (EACH_MEMORY(memory))
    if (address >= memory->address && address - memory->address < memory->size)
      found = memory;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == VYRE__CU_POINTER_MEMORY_TYPE)
      *(unsigned *)data[i] = !found                            ? 0
                             : found->object.kind == FAKE_HOST ? VYRE__CU_MEMORY_TYPE_HOST
                                                               : VYRE__CU_MEMORY_TYPE_DEVICE;
    else if (attributes[i] == VYRE__CU_POINTER_DEVICE)
      *(int *)data[i] = found ? (int)found->object.context->device : -2;
    else
      return fake_end(1);
  }
  return fake_end(0);
}
