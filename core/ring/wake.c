/*
 * wake.c - an eventcount on two words of shared memory: how many sleep, and a futex word that
 * changes with every wake-up.
 *
 *     sleeper                               waker
 *     waiters += 1                          change the condition
 *     fence                                 fence
 *     read epoch                            read waiters; none: finished
 *     look at the condition again           epoch += 1
 *     sleep while epoch is what was read    wake all
 *     waiters -= 1
 *
 * The two fences are partners.  They are totally ordered: if the waker's comes first, the sleeper
 * sees the changed condition when it looks again; if the sleeper's comes first, the waker sees it
 * among the waiters.  With either fence missing both may read the old value, and the wake-up is
 * lost.
 *
 * A waker that sees a sleeper changes the epoch.  If the sleeper read the epoch before, the kernel
 * does not let it sleep on the old value, or wakes it.  If it read the new one, acquire and release
 * on the epoch make it see the condition.  (2^32 wake-ups between read and sleep would be missed.)
 *
 * A ring of one process leaves out the waker's fence.  The sleeper then has the kernel make a
 * barrier on every thread of the process (barrier.h) in the place of its own fence.  A waker whose
 * change comes before that barrier has it seen by the second look; one whose change comes behind it
 * sees the count.
 *
 * A process that dies asleep leaves `waiters` too high: wakers then make a system call in vain,
 * nothing is lost.
 */
#include "core/ring/wake.h"

#include "core/base/futex.h"
#include "core/ring/barrier.h"

uint32_t vyre__wake_prepare(vyre_ring_wake *wake)
{
  /* Relaxed: the fence below orders it.  Partner: the load of waiters in vyre__wake_sleepers(). */
  __atomic_fetch_add(&wake->waiters, 1, __ATOMIC_RELAXED);
  /* Partner: the fence of vyre__ring_changed() or vyre__wake_all().  See the head of this file. */
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  /* Acquire; partner: the release of the epoch's increment in vyre__wake_now(). */
  return __atomic_load_n(&wake->epoch, __ATOMIC_ACQUIRE);
}

bool vyre__ring_prepare_to_sleep(const vyre_ring *ring, vyre_ring_wake *wake, uint32_t *out_epoch)
{
  bool seen;
  *out_epoch = vyre__wake_prepare(wake);
  seen = !ring->asymmetric || vyre__barrier_all();
  VYRE__RING_AT(VYRE__RING_SLEEPER_COUNTED);
  return seen;
}

void vyre__wake_cancel(vyre_ring_wake *wake)
{
  /* Relaxed: to be counted too long costs a waker a system call, no more. */
  __atomic_fetch_sub(&wake->waiters, 1, __ATOMIC_RELAXED);
}

void vyre__wake_sleep(vyre_ring_wake *wake, uint32_t epoch, uint64_t deadline)
{
  VYRE__RING_AT(VYRE__RING_SLEEPER_LOOKED);
  vyre__futex_wait(&wake->epoch, epoch, deadline);
  vyre__wake_cancel(wake);
}

void vyre__wake_now(vyre_ring_wake *wake)
{
  /* Release; partner: the acquire load of the epoch in vyre__wake_prepare(). */
  __atomic_fetch_add(&wake->epoch, 1, __ATOMIC_RELEASE);
  vyre__futex_wake_all(&wake->epoch);
}

void vyre__wake_all(vyre_ring_wake *wake)
{
  /* Partner: the fence in vyre__wake_prepare().  See the head of this file. */
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  vyre__wake_sleepers(wake);
}
