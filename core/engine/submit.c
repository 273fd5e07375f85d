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
    done += __atomic_load_n(&engine->done[(uint64_t)i * engine->done_step], __ATOMIC_ACQUIRE);
  return done;
}

/*
 * `submitted` counts an item between the taking of its place and its publication.
 *   - Not earlier, so an item that was not accepted is never counted.
 *   - Never less than `done`: who sees an item done by its acquire sees it published before, and
 *     counted before that.  So `done` is read first; what happens between the two reads only makes
 *     the answer "yes".
 *   - Nobody sleeps on a "no" and misses an item: the count is raised before the fence of
 *     announce(), like the publication itself.  Who stores a state, fences and then reads "no" is
 *     seen by the submitter, which looks at the state behind its fence.
 */
bool vyre__engine_unfinished(const vyre_engine *engine)
{
  const uint64_t done = vyre__engine_done(engine);
  return __atomic_load_n(&engine->submitted, __ATOMIC_RELAXED) != done;
}

/* What the engine was given up with.  Relaxed: a status and nothing behind it. */
static vyre_status given_up(const vyre_engine *engine)
{
  return __atomic_load_n(&engine->aborted, __ATOMIC_RELAXED);
}

/* Of an engine whose ring was seen closed by an acquire load: its closer's status is seen then. */
static vyre_status closed_status(const vyre_engine *engine)
{
  const vyre_status status = given_up(engine);
  return status != VYRE_OK ? status : VYRE_ERROR_CLOSED;
}

static vyre_status lost_status(const vyre_engine *engine)
{
  const vyre_status status = given_up(engine);
  return status != VYRE_OK ? status : vyre__device_check(engine->device, engine->generation, NULL);
}

vyre_status vyre__engine_open_status(const vyre_engine *engine)
{
  const vyre_status status = lost_status(engine);
  /* It may have been given up since. */
  return status == VYRE_OK && vyre__ring_is_closed(engine->ring) ? closed_status(engine) : status;
}

static vyre_status check(const vyre_engine *engine, const vyre_work_item *items, uint32_t n)
{
  const vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  return !items && n ? VYRE_ERROR_INVALID_ARGUMENT : lost_status(engine);
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

/* Writes and publishes what the span took.  `block`: the arena's, of the one item, or none. */
static void publish(vyre_engine *engine, const vyre__ring_span *span, const vyre_work_item *items,
                    uint32_t block)
{
  /* Relaxed: see vyre__engine_unfinished(). */
  __atomic_fetch_add(&engine->submitted, span->items, __ATOMIC_RELAXED);
  for (uint32_t k = 0; k < span->places; ++k) {
    const vyre_work_item *first = items + k * VYRE_RING_CELL_ITEMS;
    const uint64_t entry = vyre__engine_entry(engine, span->position + k, 0);
    const uint32_t n = vyre__ring_place_items(span, k);
    /* Relaxed: the place's publication and the results order them before the reaper's loads. */
    for (uint32_t i = 0; i < n; ++i) {
      __atomic_store_n(&engine->correlations[entry + i], first[i].correlation, __ATOMIC_RELAXED);
      vyre__arena_assign(&engine->arena, entry + i, block);
    }
    vyre__ring_publish(engine->ring, span, k, items);
  }
}

static vyre_status submit(vyre_engine *engine, const vyre_work_item *items, uint32_t n,
                          uint32_t block, uint64_t *out_tickets, uint32_t *out_n)
{
  vyre__ring_span span = {0};
  vyre_status status = check(engine, items, n);
  if (status != VYRE_OK)
    return status;
  if (n) {
    vyre__touch_to_read(items, (uint64_t)n * sizeof *items);
    status = vyre__ring_reserve(engine->ring, n, &span);
    if (status != VYRE_OK)
      return status == VYRE_ERROR_CLOSED ? closed_status(engine) : status;
    publish(engine, &span, items, block);
    announce(engine);
  }
  if (out_tickets)
    for (uint32_t i = 0; i < span.items; ++i)
      out_tickets[i] = vyre__ring_span_ticket(&span, i);
  if (out_n)
    *out_n = span.items;
  return VYRE_OK;
}

vyre_status vyre_engine_submit_many(vyre_engine *engine, const vyre_work_item *items, uint32_t n,
                                    uint64_t *out_tickets, uint32_t *out_n)
{
  return submit(engine, items, n, VYRE__NO_BLOCK, out_tickets, out_n);
}

vyre_status vyre_engine_submit(vyre_engine *engine, const vyre_work_item *item,
                               uint64_t *out_ticket)
{
  return submit(engine, item, 1, VYRE__NO_BLOCK, out_ticket, NULL);
}

vyre_status vyre__engine_submit_block(vyre_engine *engine, const vyre_work_item *item,
                                      uint32_t block, uint64_t *out_ticket)
{
  return submit(engine, item, 1, block, out_ticket, NULL);
}
