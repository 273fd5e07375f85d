/*
 * prefetch.h - fetching the line that is written next while the present one is on its way.
 */
#ifndef VYRE_CORE_RING_PREFETCH_H
#define VYRE_CORE_RING_PREFETCH_H

/* For ownership.  A hint: where the instruction is not known it is decoded as a no-op. */
static inline void vyre__prefetch_to_write(const void *line)
{
#if defined(__x86_64__)
  /* The compiler makes a prefetch for reading of it where the target need not have this one. */
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
  __builtin_prefetch(line, 1);
#endif
}

#endif
