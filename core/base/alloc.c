/* alloc.c - the default allocator, zeroed allocation, and the test build's fault injection. */
#include "core/base/alloc.h"

#include "core/base/checked.h"

#include <stdlib.h>
#include <string.h>

static void *default_allocate(void *self, uint64_t size, uint64_t align)
{
  (void)self;
  if (size > SIZE_MAX - align)
    return NULL;
  if (align <= _Alignof(max_align_t))
    return malloc((size_t)size);
  /* aligned_alloc wants a size that is a multiple of the alignment. */
  return aligned_alloc((size_t)align, (size_t)((size + align - 1) & ~(align - 1)));
}

static void default_deallocate(void *self, void *memory)
{
  (void)self;
  free(memory);
}

const vyre_allocator vyre__default_allocator = {NULL, default_allocate, default_deallocate};

vyre_allocator vyre__allocator_or_default(const vyre_allocator *allocator)
{
  return allocator ? *allocator : vyre__default_allocator;
}

#ifdef VYRE_TESTING
/* Both are only counted, never used to order other accesses: relaxed suffices. */
static uint64_t test_fail_at;
static uint64_t test_count;

void vyre__test_fail_allocation(uint64_t n)
{
  __atomic_store_n(&test_count, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&test_fail_at, n, __ATOMIC_RELAXED);
}

uint64_t vyre__test_allocation_count(void)
{
  return __atomic_load_n(&test_count, __ATOMIC_RELAXED);
}

static int test_fails(void)
{
  uint64_t number = __atomic_add_fetch(&test_count, 1, __ATOMIC_RELAXED);
  return number == __atomic_load_n(&test_fail_at, __ATOMIC_RELAXED);
}
#else
#define test_fails() 0
#endif

void *vyre__allocate(const vyre_allocator *allocator, uint64_t size, uint64_t align)
{
  if (test_fails())
    return NULL;
  return allocator->allocate(allocator->self, size ? size : 1, align);
}

void *vyre__allocate_zeroed(const vyre_allocator *allocator, uint64_t count, uint64_t size)
{
  uint64_t bytes = 0;
  void *memory = NULL;
  if (!vyre__checked_multiply(count, size, &bytes))
    return NULL;
  memory = vyre__allocate(allocator, bytes, _Alignof(max_align_t));
  if (memory)
    memset(memory, 0, (size_t)bytes);
  return memory;
}

void vyre__deallocate(const vyre_allocator *allocator, void *memory)
{
  if (memory)
    allocator->deallocate(allocator->self, memory);
}

char *vyre__copy_text(const vyre_allocator *allocator, const char *text)
{
  uint64_t size = text ? strlen(text) + 1 : 1;
  char *copy = vyre__allocate(allocator, size, 1);
  if (copy)
    memcpy(copy, text ? text : "", (size_t)size);
  return copy;
}
