/*
 * touch.h - nothing may fault between taking a place and giving it on, or a thread that waits for a
 * page stops everybody behind it.  So the caller's arrays are touched before.
 */
#ifndef VYRE_CORE_RING_TOUCH_H
#define VYRE_CORE_RING_TOUCH_H

#include <stdint.h>

#define VYRE__RING_PAGE 4096u

/* Reads a byte of every page of memory that will be read; `size` is not 0. */
static inline void vyre__touch_to_read(const void *memory, uint64_t size)
{
  const volatile unsigned char *bytes = memory;
  for (uint64_t i = 0; i < size; i += VYRE__RING_PAGE)
    (void)bytes[i];
  (void)bytes[size - 1];
}

/* Writes a byte of every page of memory that will be written, as it was; `size` is not 0. */
static inline void vyre__touch_to_write(void *memory, uint64_t size)
{
  volatile unsigned char *bytes = memory;
  for (uint64_t i = 0; i < size; i += VYRE__RING_PAGE)
    bytes[i] = bytes[i];
  bytes[size - 1] = bytes[size - 1];
}

#endif
