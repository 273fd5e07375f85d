/*
 * barrier.h - a full memory barrier on every running thread of this process, paid by the caller.
 *
 * Sleeping is rare and waking is asked for after every operation.  So who wants to sleep makes the
 * barrier for both sides (membarrier(2), Linux 4.14), and wakers need only keep their program
 * order: the pattern of liburcu's and folly's asymmetric fences.  It reaches this process alone:
 * rings in shared memory use fences on both sides.
 */
#ifndef VYRE_CORE_RING_BARRIER_H
#define VYRE_CORE_RING_BARRIER_H

#include <stdbool.h>

/* True if vyre__barrier_all() can be used in this process from now on. */
bool vyre__barrier_register(void);

/* False if the kernel refuses, which it does not once it has accepted the registration. */
bool vyre__barrier_all(void);

#endif
