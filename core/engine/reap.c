/*
 * reap.c - completions: each exactly once, by any number of threads, in any order.
 *
 * A result lies in results[] at its ticket's place.  Whoever moves the place's completion stamp
 * from the previous tenant to this ticket owns the completion; that same stamp lets the ring hand
 * the place out again.  So everything is read before the stamp is moved, and counts only if that
 * succeeded.
 */
#include "core/engine/engine.h"

#include <sched.h>

/* Places whose lines are fetched before they are looked at: a worker wrote them. */
#define AHEAD 16u

/* An aborted item is finished once it is published: before, its submitter still writes. */
static bool is_published(const vyre_ring *ring, uint64_t ticket)
{
  /* Acquire: pairs with the submitter's release; the correlation is there.  The cell may have
     later tenants, the correlation's place has not. */
  const uint64_t stamp =
      __atomic_load_n(&ring->cells[ticket & ring->capacity_mask].published, __ATOMIC_ACQUIRE);
  return vyre__ring_distance(stamp, vyre__ring_stamp(ticket)) >= 0;
}

vyre__ticket_state vyre__engine_look(const vyre_engine *engine, uint64_t ticket,
                                     vyre_completion *out_completion)
{
  const vyre_ring *ring = engine->ring;
  const uint64_t place = ticket & ring->completions_mask;
  const uint64_t stamp = vyre__ring_stamp(ticket);
  uint64_t status, value;
  vyre_status aborted;
  /* Relaxed: taking the completion decides; here it only saves the rest of the look. */
  if (vyre__ring_distance(__atomic_load_n(&ring->completion[place], __ATOMIC_RELAXED), stamp) >= 0)
    return VYRE__TICKET_CONSUMED;
  /* Acquire: pairs with the release behind the result; the value and the item's records are there
     if the stamp is this ticket's. */
  status = __atomic_load_n(&ring->results[place].status, __ATOMIC_ACQUIRE);
  value = __atomic_load_n(&ring->results[place].value, __ATOMIC_ACQUIRE);
  if ((uint32_t)(status >> 32) != (uint32_t)stamp || (uint32_t)(value >> 32) != (uint32_t)stamp) {
    /* Acquire: pairs with the release in vyre__engine_abort(). */
    aborted = __atomic_load_n(&engine->aborted, __ATOMIC_ACQUIRE);
    if (aborted == VYRE_OK || !is_published(ring, ticket))
      return VYRE__TICKET_UNFINISHED;
    status = (uint32_t)aborted;
    value = 0;
  }
  if (out_completion) {
    out_completion->ticket = ticket;
    /* Relaxed: ordered behind the submitter's store by the acquires above. */
    out_completion->correlation = __atomic_load_n(&engine->correlations[place], __ATOMIC_RELAXED);
    out_completion->result = (uint32_t)value;
    out_completion->status = (vyre_status)(uint32_t)status;
    out_completion->reserved = 0;
  }
  return VYRE__TICKET_FINISHED;
}

/* Makes a looked-at completion the caller's; false if another thread was faster. */
static bool take(const vyre_engine *engine, uint64_t ticket)
{
  vyre_ring *ring = engine->ring;
  uint64_t *place = &ring->completion[ticket & ring->completions_mask];
  uint64_t previous =
      vyre__ring_stamp((ticket - (ring->completions_mask + 1)) & VYRE_RING_POSITION_MASK);
  /* Release: pairs with the submitter's acquire in the ring's gate; the result and correlation were
     read before the place is handed out again.  Relaxed on failure: nothing is used then. */
  return __atomic_compare_exchange_n(place, &previous, vyre__ring_stamp(ticket), false,
                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static bool is_consumed(const vyre_engine *engine, uint64_t ticket)
{
  const vyre_ring *ring = engine->ring;
  return vyre__ring_distance(
             __atomic_load_n(&ring->completion[ticket & ring->completions_mask], __ATOMIC_RELAXED),
             vyre__ring_stamp(ticket)) >= 0;
}

/* Moves `oldest` on to `ticket` if it is behind. */
static void advance_oldest(vyre_engine *engine, uint64_t ticket)
{
  /* Relaxed throughout: where a scan begins; each ticket is judged by its own words. */
  uint64_t oldest = __atomic_load_n(&engine->oldest, __ATOMIC_RELAXED);
  while (vyre__ring_distance(ticket, oldest) > 0 &&
         !__atomic_compare_exchange_n(&engine->oldest, &oldest, ticket, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

/* True once no completion will ever be there again. */
static bool is_exhausted(const vyre_engine *engine)
{
  const uint64_t consumed = __atomic_load_n(&engine->consumed, __ATOMIC_RELAXED);
  return vyre__ring_is_closed(engine->ring) &&
         vyre__ring_distance(vyre__engine_head(engine), engine->first_position) ==
             (int64_t)consumed;
}

/* Accounts for completions that were taken. */
static void count(vyre_engine *engine, const vyre_completion *completions, uint32_t n)
{
  uint64_t overflows = 0;
  for (uint32_t i = 0; i < n; ++i)
    overflows += completions[i].status == VYRE_ERROR_OVERFLOW;
  /* Relaxed: statistics, and an estimate that a wait looks at again before it sleeps. */
  __atomic_fetch_add(&engine->consumed, n, __ATOMIC_RELAXED);
  if (overflows)
    __atomic_fetch_add(&engine->overflows, overflows, __ATOMIC_RELAXED);
  if (is_exhausted(engine))
    vyre__engine_tell(engine); /* the last one is out: other reapers return CLOSED */
}

/*
 * Takes up to `max` completions.  Looks at no ticket if the counts say that there is nothing, and
 * stops once it has found as many as they promise.
 */
static uint32_t collect(vyre_engine *engine, vyre_completion *out, uint32_t max)
{
  /* `consumed` first: what changes between the two reads only makes `ready` larger. */
  const uint64_t consumed = __atomic_load_n(&engine->consumed, __ATOMIC_RELAXED);
  const int64_t ready = (int64_t)(vyre__engine_done(engine) - consumed);
  const bool all = __atomic_load_n(&engine->aborted, __ATOMIC_RELAXED) != VYRE_OK;
  uint64_t ticket, head, first;
  uint32_t n = 0;
  if (ready <= 0 && !all)
    return 0;
  ticket = first = __atomic_load_n(&engine->oldest, __ATOMIC_RELAXED);
  head = vyre__engine_head(engine);
  for (; ticket != head && n < max && (all || n < ready); ticket = vyre__ring_step(ticket, 1)) {
    const vyre__ticket_state state = vyre__engine_look(engine, ticket, &out[n]);
    __builtin_prefetch(&engine->ring->results[(ticket + AHEAD) & engine->ring->completions_mask]);
    if (state == VYRE__TICKET_FINISHED && take(engine, ticket))
      ++n;
    if (state != VYRE__TICKET_UNFINISHED && first == ticket)
      first = vyre__ring_step(ticket, 1);
  }
  advance_oldest(engine, first);
  if (n)
    count(engine, out, n);
  return n;
}

uint64_t vyre__engine_first_unfinished(const vyre_engine *engine)
{
  uint64_t ticket = __atomic_load_n(&engine->oldest, __ATOMIC_RELAXED);
  const uint64_t head = vyre__engine_head(engine);
  while (ticket != head && vyre__engine_look(engine, ticket, NULL) != VYRE__TICKET_UNFINISHED)
    ticket = vyre__ring_step(ticket, 1);
  return ticket;
}

/*
 * Whoever reaps as fast as items are finished gets them one by one, and takes a core from the
 * workers for it where these are the host's own.  So with something there, less than was asked for,
 * and more under way, the workers go first.
 */
static void let_workers_run(const vyre_engine *engine, uint32_t max)
{
  const uint64_t consumed = __atomic_load_n(&engine->consumed, __ATOMIC_RELAXED);
  const int64_t ready = (int64_t)(vyre__engine_done(engine) - consumed);
  if (engine->shares_cores && ready > 0 && ready < max && vyre__engine_unfinished(engine))
    sched_yield();
}

typedef struct reaping {
  vyre_completion *out;
  uint32_t max;
  uint32_t n;
  bool closed;
} reaping;

static bool reaped(vyre_engine *engine, void *self, uint64_t *out_blocked)
{
  reaping *reap = self;
  reap->n = collect(engine, reap->out, reap->max);
  if (!reap->n)
    reap->closed = is_exhausted(engine);
  if (reap->n || reap->closed)
    return true;
  if (engine->plan.max_item_ns)
    *out_blocked = vyre__engine_first_unfinished(engine);
  return false;
}

vyre_status vyre_engine_reap(vyre_engine *engine, vyre_completion *out_completions, uint32_t max,
                             uint64_t timeout_ns, uint32_t *out_n)
{
  reaping reap = {.out = out_completions, .max = max};
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (!out_completions || !max)
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (timeout_ns)
    let_workers_run(engine, max);
  status = vyre__engine_wait_until(engine, reaped, &reap, timeout_ns);
  if (status != VYRE_OK)
    return timeout_ns ? status : VYRE_ERROR_EMPTY;
  if (!reap.n)
    return VYRE_ERROR_CLOSED;
  if (out_n)
    *out_n = reap.n;
  return VYRE_OK;
}

typedef struct waiting {
  uint64_t ticket;
  vyre_completion completion;
  vyre_status status;
} waiting;

static bool waited(vyre_engine *engine, void *self, uint64_t *out_blocked)
{
  waiting *wait = self;
  const vyre__ticket_state state = vyre__engine_look(engine, wait->ticket, &wait->completion);
  *out_blocked = wait->ticket;
  if (state == VYRE__TICKET_UNFINISHED)
    return false;
  wait->status =
      state == VYRE__TICKET_FINISHED && take(engine, wait->ticket) ? VYRE_OK : VYRE_ERROR_NOT_FOUND;
  return true;
}

/* Moves `oldest` over what is consumed, so that waits alone keep it near the head. */
static void tidy_oldest(vyre_engine *engine)
{
  uint64_t ticket = __atomic_load_n(&engine->oldest, __ATOMIC_RELAXED);
  const uint64_t head = vyre__engine_head(engine);
  while (ticket != head && is_consumed(engine, ticket))
    ticket = vyre__ring_step(ticket, 1);
  advance_oldest(engine, ticket);
}

vyre_status vyre_engine_wait(vyre_engine *engine, uint64_t ticket, uint64_t timeout_ns,
                             vyre_completion *out_completion)
{
  waiting wait = {.ticket = ticket, .status = VYRE_OK};
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (ticket > VYRE_RING_POSITION_MASK || vyre__ring_distance(ticket, engine->first_position) < 0 ||
      vyre__ring_distance(ticket, vyre__engine_head(engine)) >= 0)
    return VYRE_ERROR_NOT_FOUND;
  status = vyre__engine_wait_until(engine, waited, &wait, timeout_ns);
  if (status != VYRE_OK)
    return status;
  if (wait.status != VYRE_OK)
    return wait.status;
  tidy_oldest(engine);
  count(engine, &wait.completion, 1);
  if (out_completion)
    *out_completion = wait.completion;
  return VYRE_OK;
}
