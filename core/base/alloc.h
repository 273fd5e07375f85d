/*
 * alloc.h - host memory of the core.  Every allocation goes through here.
 *
 * In the test build (VYRE_TESTING) the N-th allocation can be made to fail, process-wide.
 */
#ifndef VYRE_CORE_BASE_ALLOC_H
#define VYRE_CORE_BASE_ALLOC_H

#include "vyre.h"

#include <stddef.h>

/* The C library's allocator. */
extern const vyre_allocator vyre__default_allocator;

/* `allocator` or the default one, by value. */
vyre_allocator vyre__allocator_or_default(const vyre_allocator *allocator);

/* `size` bytes (0 gives a valid pointer), not zeroed; NULL on failure. */
void *vyre__allocate(const vyre_allocator *allocator, uint64_t size, uint64_t align);

/* `count` x `size` zeroed bytes aligned for any object; NULL on failure or overflow. */
void *vyre__allocate_zeroed(const vyre_allocator *allocator, uint64_t count, uint64_t size);

/* Accepts NULL. */
void vyre__deallocate(const vyre_allocator *allocator, void *memory);

/* A copy of `text` (NULL gives a copy of ""); NULL on failure. */
char *vyre__copy_text(const vyre_allocator *allocator, const char *text);

#ifdef VYRE_TESTING
/* Fails the n-th allocation from now (1 is the next one) and no other; 0 fails none. */
void vyre__test_fail_allocation(uint64_t n);
/* Allocations since the last vyre__test_fail_allocation(); frees are not counted. */
uint64_t vyre__test_allocation_count(void);
#endif

#endif
