/* stop.c - ending an engine: in order, or giving up what is not finished. */
#include "core/engine/engine.h"

/* What a launch may take to leave besides its items. */
#define ITEM_MARGIN_NS 100000000u

void vyre__engine_kick(vyre_engine *engine)
{
  vyre__wake_all(engine->plan.persistent ? &engine->keeper : &engine->ring->header->not_empty);
}

void vyre__engine_abort(vyre_engine *engine, vyre_status status)
{
  vyre_status none = VYRE_OK;
  /* Release: pairs with the acquire of whoever finds an item finished by it. */
  __atomic_compare_exchange_n(&engine->aborted, &none, status, false, __ATOMIC_RELEASE,
                              __ATOMIC_RELAXED);
  vyre_ring_close(engine->ring);
  vyre__engine_tell(engine);
  vyre__arena_tell(engine);
}

vyre_status vyre__engine_note(const vyre_engine *engine, vyre_status status)
{
  /* Each loss takes the device to another generation. */
  return engine->generation == vyre__device_generation(engine->device)
             ? vyre__device_note(engine->device, status)
             : status;
}

bool vyre__engine_is_lost(const vyre_engine *engine)
{
  return vyre__device_check(engine->device, engine->generation, NULL) == VYRE_ERROR_DEVICE_LOST;
}

void vyre__engine_thread_ended(vyre_engine *engine)
{
  /* Release: pairs with the acquire in thread_has_ended(). */
  __atomic_store_n(&engine->has_ended, 1, __ATOMIC_RELEASE);
  vyre__wake_all(&engine->ended);
}

static bool thread_has_ended(const vyre_engine *engine)
{
  return __atomic_load_n(&engine->has_ended, __ATOMIC_ACQUIRE);
}

vyre_status vyre__engine_end_thread(vyre_engine *engine, uint64_t timeout_ns)
{
  const uint64_t deadline = vyre__deadline(timeout_ns);
  /* Release: pairs with the acquires of the thread and of the device's workers. */
  __atomic_store_n(&engine->stopping, 1, __ATOMIC_RELEASE);
  __atomic_fetch_or(&engine->ring->header->stop, VYRE_ENGINE_STOP, __ATOMIC_RELEASE);
  vyre__engine_kick(engine);
  for (;;) {
    const uint32_t epoch = vyre__wake_prepare(&engine->ended);
    if (thread_has_ended(engine)) {
      vyre__wake_cancel(&engine->ended);
      return VYRE_OK;
    }
    if (!vyre__time_left(deadline)) {
      vyre__wake_cancel(&engine->ended);
      return VYRE_ERROR_TIMEOUT;
    }
    vyre__wake_sleep(&engine->ended, epoch, deadline);
  }
}

/* An item past max_item_ms keeps the launch there, perhaps for ever: so it is not waited for. */
static uint64_t launch_patience(const vyre_engine *engine, uint64_t time_left)
{
  const uint64_t limit = engine->plan.max_item_ns;
  return limit && limit + ITEM_MARGIN_NS < time_left ? limit + ITEM_MARGIN_NS : time_left;
}

vyre_status vyre_engine_stop(vyre_engine *engine, uint64_t timeout_ns, vyre_error *err)
{
  vyre__engine_span span;
  vyre_status finished, ended;
  uint64_t deadline;
  if (!engine)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give an engine", "the engine is NULL");
  if (vyre__engine_check(engine) != VYRE_OK)
    return VYRE_FAIL(err, VYRE_ERROR_FORKED, NULL, "the engine belongs to the parent process");
  deadline = vyre__deadline(timeout_ns);
  vyre_ring_close(engine->ring);
  vyre__arena_tell(engine);
  span.next = __atomic_load_n(&engine->oldest, __ATOMIC_RELAXED); /* a place to begin */
  span.end = vyre__engine_head(engine);
  finished =
      vyre__engine_wait_until(engine, vyre__engine_span_finished, &span, vyre__time_left(deadline));
  if (finished != VYRE_OK)
    vyre__engine_abort(engine, VYRE_ERROR_CLOSED);
  ended = vyre__engine_end_thread(engine, launch_patience(engine, vyre__time_left(deadline)));
  vyre__engine_tell(engine); /* reapers with nothing left return CLOSED */
  if (finished != VYRE_OK)
    return VYRE_FAIL(err, finished, "reap the completions: what was given up has the status CLOSED",
                     "not every item was finished in time; the first is ticket %llu",
                     (unsigned long long)span.blocked);
  if (ended != VYRE_OK)
    return VYRE_FAIL(err, ended, "call stop again to wait on",
                     "the engine's launch has not left yet");
  return VYRE_OK;
}
