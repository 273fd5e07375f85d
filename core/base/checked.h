/* checked.h - arithmetic that tells overflow: false leaves *out as it was. */
#ifndef VYRE_CORE_BASE_CHECKED_H
#define VYRE_CORE_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool vyre__checked_add(uint64_t a, uint64_t b, uint64_t *out)
{
  if (a > UINT64_MAX - b)
    return false;
  *out = a + b;
  return true;
}

static inline bool vyre__checked_multiply(uint64_t a, uint64_t b, uint64_t *out)
{
  if (b && a > UINT64_MAX / b)
    return false;
  *out = a * b;
  return true;
}

/* Rounds up to a multiple of `align`, a power of two. */
static inline bool vyre__checked_align(uint64_t a, uint64_t align, uint64_t *out)
{
  if (!vyre__checked_add(a, align - 1, &a))
    return false;
  *out = a & ~(align - 1);
  return true;
}

/* True if [offset, offset + size) lies within `limit` bytes. */
static inline bool vyre__range_fits(uint64_t offset, uint64_t size, uint64_t limit)
{
  return offset <= limit && size <= limit - offset;
}

static inline bool vyre__is_power_of_two(uint64_t a)
{
  return a && !(a & (a - 1));
}

#endif
