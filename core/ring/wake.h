/*
 * wake.h - the eventcount's two halves for a ring's own words.  wake.c explains it.
 */
#ifndef VYRE_CORE_RING_WAKE_H
#define VYRE_CORE_RING_WAKE_H

#include "core/ring/ring.h"

/*
 * gcc says under TSan that TSan does not follow fences.  It need not: these order atomic words
 * only, and no plain access depends on them.
 */
#if defined(__SANITIZE_THREAD__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/* There is somebody to wake: does it. */
void vyre__wake_now(vyre_ring_wake *wake);

/*
 * Between the change of a condition and vyre__wake_sleepers(); one serves several of those.
 * Partner: the fence in vyre__wake_prepare(), or the barrier in vyre__ring_prepare_to_sleep().
 */
static inline void vyre__ring_changed(const vyre_ring *ring)
{
  if (ring->asymmetric)
    /* The sleeper makes the barrier for both; the compiler must keep the order. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Wakes everybody who sleeps; one load when nobody does. */
static inline void vyre__wake_sleepers(vyre_ring_wake *wake)
{
  /* Relaxed: the fence before orders it.  Partner: the increment in vyre__wake_prepare(). */
  if (__atomic_load_n(&wake->waiters, __ATOMIC_RELAXED))
    vyre__wake_now(wake);
}

/*
 * Counts the caller among the sleepers of one of the ring's words and returns its epoch.  False if
 * a waker may not see that: then it may only sleep for a moment.
 */
bool vyre__ring_prepare_to_sleep(const vyre_ring *ring, vyre_ring_wake *wake, uint32_t *out_epoch);

#endif
