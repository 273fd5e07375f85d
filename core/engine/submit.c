/* submit.c - handing items to the ring. */
#include "core/ring/touch.h"

#include "core/engine/engine.h"

uint64_t vyre__engine_head(const vyre_engine *engine)
{
  return vyre_ring_head(engine->ring);
}

uint64_t vyre__engine_done(const vyre_engine *engine)
{
  uint64_t done = 0;
  /* Acquire: pairs with the release behind each result. */
  for (uint32_t i = 0; i < engine->plan.workers; ++i)
    done += __atomic_load_n(&engine->workers[i].done, __ATOMIC_ACQUIRE);
  return done;
}

bool vyre__engine_unfinished(const vyre_engine *engine)
{
  /* The counts first: what is completed between the two reads only makes the answer "yes". */
  const uint64_t done = vyre__engine_done(engine);
  return vyre__ring_distance(vyre__engine_head(engine), engine->first_position) > (int64_t)done;
}

/* OK while items are taken. */
static vyre_status check(const vyre_engine *engine, const vyre_work_item *items, uint32_t n)
{
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (!items && n)
    return VYRE_ERROR_INVALID_ARGUMENT;
  /* Relaxed: a status and nothing behind it. */
  status = __atomic_load_n(&engine->aborted, __ATOMIC_RELAXED);
  return status != VYRE_OK ? status : vyre__device_check(engine->device, engine->generation, NULL);
}

/*
 * Behind the last publish: whoever serves the ring has to know.  vyre__ring_published() begins with
 * a fence.  It pairs with those in the device's vyre__try_to_leave() and in the keeper's wait,
 * which come between storing the state and looking at the ring; here it comes between the ring and
 * the look at the state.  One of the two sees the other.
 */
static void announce(vyre_engine *engine)
{
  vyre__ring_published(engine->ring);
  if (engine->plan.persistent &&
      __atomic_load_n(&engine->ring->header->state, __ATOMIC_RELAXED) != VYRE_RING_STATE_RUNNING)
    vyre__engine_kick(engine);
  if (!engine->notify)
    vyre__engine_tell(engine); /* sleepers begin to look by themselves */
  /* Items that came in with an abort are finished by it: a waiter may have looked too early. */
  if (__atomic_load_n(&engine->aborted, __ATOMIC_RELAXED) != VYRE_OK)
    vyre__engine_tell(engine);
}

vyre_status vyre_engine_submit_many(vyre_engine *engine, const vyre_work_item *items, uint32_t n,
                                    uint64_t *out_tickets, uint32_t *out_n)
{
  vyre_ring *ring;
  uint64_t position = 0;
  uint32_t taken = 0;
  bool phase = false;
  vyre_status status = check(engine, items, n);
  if (status != VYRE_OK)
    return status;
  if (n) {
    ring = engine->ring;
    vyre__touch_to_read(items, (uint64_t)n * sizeof *items);
    status = vyre__ring_reserve(ring, n, &position, &taken, &phase);
    if (status != VYRE_OK)
      return status;
    for (uint32_t i = 0; i < taken; ++i) {
      const uint64_t ticket = vyre__ring_step(position, i);
      /* Relaxed: the item's publication and its result order it before the reaper's load. */
      __atomic_store_n(&engine->correlations[ticket & ring->completions_mask], items[i].correlation,
                       __ATOMIC_RELAXED);
      vyre__ring_publish(ring, ticket, phase, &items[i]);
    }
    announce(engine);
  }
  if (out_tickets)
    for (uint32_t i = 0; i < taken; ++i)
      out_tickets[i] = vyre__ring_step(position, i);
  if (out_n)
    *out_n = taken;
  return VYRE_OK;
}

vyre_status vyre_engine_submit(vyre_engine *engine, const vyre_work_item *item,
                               uint64_t *out_ticket)
{
  return vyre_engine_submit_many(engine, item, 1, out_ticket, NULL);
}
