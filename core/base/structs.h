/*
 * structs.h - structures that cross a boundary and whose two sides may know different sizes
 * (ABI-001, ABI-002).  Every one starts with a uint32_t struct_size.
 */
#ifndef VYRE_CORE_BASE_STRUCTS_H
#define VYRE_CORE_BASE_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The size that ends with `last`: the least that is accepted of a structure. */
#define VYRE__SIZE_TO(type, last) ((uint32_t)(offsetof(type, last) + sizeof(((type *)0)->last)))

static inline uint32_t vyre__struct_size(const void *structure)
{
  uint32_t size;
  memcpy(&size, structure, sizeof size);
  return size;
}

/*
 * Copies what the writer knew of a structure; fields past its size become zero, the default.  False
 * if it is smaller than `least`: `to` is then as it was.
 */
static inline bool vyre__struct_read(void *to, uint32_t to_size, const void *from, uint32_t least)
{
  uint32_t size = vyre__struct_size(from);
  if (size < least)
    return false;
  memset(to, 0, to_size);
  memcpy(to, from, size < to_size ? size : to_size);
  memcpy(to, &to_size, sizeof to_size);
  return true;
}

/*
 * Fills a structure of the reader: the smaller of the two sizes, which it then carries.  False if
 * the reader's is smaller than `least`: `to` is then as it was.
 */
static inline bool vyre__struct_write(void *to, const void *from, uint32_t from_size,
                                      uint32_t least)
{
  uint32_t size = vyre__struct_size(to);
  if (size < least)
    return false;
  if (size > from_size)
    size = from_size;
  memcpy(to, from, size);
  memcpy(to, &size, sizeof size);
  return true;
}

#endif
