/*
 * wait.c - the calls that wait: try, spin for a moment, then sleep on the eventcount.
 */
#include "core/base/clock.h"
#include "core/ring/layout.h"
#include "core/ring/wake.h"

/* One try of a call; VYRE_ERROR_TIMEOUT means "not yet". */
typedef vyre_status (*attempt_fn)(void *call);

/* Pauses double from 1 to this between tries: about a microsecond or two in all. */
#define SPIN_LONGEST 32u

static void pause_briefly(uint32_t times)
{
  for (uint32_t i = 0; i < times; ++i) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
  }
}

static vyre_status spin(attempt_fn attempt, void *call)
{
  vyre_status status = VYRE_ERROR_TIMEOUT;
  for (uint32_t pauses = 1; status == VYRE_ERROR_TIMEOUT && pauses <= SPIN_LONGEST; pauses *= 2) {
    pause_briefly(pauses);
    status = attempt(call);
  }
  return status;
}

/* A sleep that a waker may not know of. */
#define NAP_NS 1000000u

static uint64_t sooner(uint64_t deadline, uint64_t from_now)
{
  const uint64_t then = vyre__deadline(from_now);
  return then < deadline ? then : deadline;
}

static vyre_status wait_for(const vyre_ring *ring, vyre_ring_wake *wake, attempt_fn attempt,
                            void *call, uint64_t timeout_ns)
{
  uint64_t deadline;
  vyre_status status = attempt(call);
  if (status != VYRE_ERROR_TIMEOUT || !timeout_ns)
    return status;
  deadline = vyre__deadline(timeout_ns);
  for (;;) {
    uint32_t epoch;
    bool seen;
    status = spin(attempt, call);
    if (status != VYRE_ERROR_TIMEOUT || !vyre__time_left(deadline))
      return status;
    seen = vyre__ring_prepare_to_sleep(ring, wake, &epoch);
    status = attempt(call);
    if (status != VYRE_ERROR_TIMEOUT) {
      vyre__wake_cancel(wake);
      return status;
    }
    vyre__wake_sleep(wake, epoch, seen ? deadline : sooner(deadline, NAP_NS));
  }
}

typedef struct enqueue_call {
  vyre_ring *ring;
  const vyre_work_item *item;
  uint64_t *out_ticket;
} enqueue_call;

static vyre_status attempt_enqueue(void *opaque)
{
  const enqueue_call *call = opaque;
  vyre_status status = vyre_ring_enqueue(call->ring, call->item, call->out_ticket);
  return status == VYRE_ERROR_QUEUE_FULL ? VYRE_ERROR_TIMEOUT : status;
}

vyre_status vyre_ring_enqueue_wait(vyre_ring *ring, const vyre_work_item *item, uint64_t timeout_ns,
                                   uint64_t *out_ticket)
{
  enqueue_call call = {ring, item, out_ticket};
  if (!ring || !item)
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (!ring->waiting)
    return VYRE_ERROR_UNSUPPORTED;
  return wait_for(ring, &ring->header->not_full, attempt_enqueue, &call, timeout_ns);
}

typedef struct claim_call {
  vyre_ring *ring;
  vyre_work_item *out_item;
  uint64_t *out_ticket;
} claim_call;

static vyre_status attempt_claim(void *opaque)
{
  const claim_call *call = opaque;
  vyre_status status = vyre_ring_claim(call->ring, call->out_item, call->out_ticket);
  return status == VYRE_ERROR_EMPTY ? VYRE_ERROR_TIMEOUT : status;
}

vyre_status vyre_ring_claim_wait(vyre_ring *ring, uint64_t timeout_ns, vyre_work_item *out_item,
                                 uint64_t *out_ticket)
{
  claim_call call = {ring, out_item, out_ticket};
  if (!ring || !out_item)
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (!ring->waiting)
    return VYRE_ERROR_UNSUPPORTED;
  return wait_for(ring, &ring->header->not_empty, attempt_claim, &call, timeout_ns);
}

typedef struct done_call {
  const vyre_ring *ring;
  uint64_t ticket;
} done_call;

static vyre_status attempt_done(void *opaque)
{
  const done_call *call = opaque;
  /* Closed first: after that a ticket is issued or will never be, and not be waited for. */
  const bool closed = vyre__ring_is_closed(call->ring);
  if (vyre_ring_is_done(call->ring, call->ticket))
    return VYRE_OK;
  return closed && !vyre__ring_is_issued(call->ring, call->ticket) ? VYRE_ERROR_CLOSED
                                                                   : VYRE_ERROR_TIMEOUT;
}

vyre_status vyre_ring_wait(vyre_ring *ring, uint64_t ticket, uint64_t timeout_ns)
{
  done_call call = {ring, ticket};
  if (!ring)
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (!ring->completion || !ring->waiting)
    return VYRE_ERROR_UNSUPPORTED;
  return wait_for(ring, &ring->header->completed, attempt_done, &call, timeout_ns);
}
