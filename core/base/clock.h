/* clock.h - the monotonic clock in nanoseconds, and deadlines that do not overflow. */
#ifndef VYRE_CORE_BASE_CLOCK_H
#define VYRE_CORE_BASE_CLOCK_H

#include "vyre_types.h"

#include <time.h>

static inline uint64_t vyre__now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The moment `timeout_ns` from now; VYRE_NO_TIMEOUT is never. */
static inline uint64_t vyre__deadline(uint64_t timeout_ns)
{
  uint64_t now;
  if (timeout_ns == VYRE_NO_TIMEOUT)
    return VYRE_NO_TIMEOUT;
  now = vyre__now_ns();
  return timeout_ns > VYRE_NO_TIMEOUT - now ? VYRE_NO_TIMEOUT : now + timeout_ns;
}

/* Nanoseconds left: 0 when it has passed, VYRE_NO_TIMEOUT when there is none. */
static inline uint64_t vyre__time_left(uint64_t deadline)
{
  uint64_t now;
  if (deadline == VYRE_NO_TIMEOUT)
    return VYRE_NO_TIMEOUT;
  now = vyre__now_ns();
  return now < deadline ? deadline - now : 0;
}

#endif
