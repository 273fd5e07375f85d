/*
 * bank.c - swapping the halves of the output bank under a running engine.
 *
 * The half of an item is the phase bit that the ring's head carries at the moment of its enqueue,
 * so a flip of that bit divides the tickets exactly.  The half that comes into use is made ready
 * before the flip: all its earlier items are finished by then (the swap before this one waited for
 * them), so nobody touches it.
 */
#include "core/engine/engine.h"

_Static_assert(sizeof(vyre_record) == 16, "a record is what vyre_emit() stores");

static uint64_t stored(const vyre_engine *engine, uint32_t half)
{
  uint64_t sum = 0;
  /* Relaxed: the results of the half's items, which were acquired, came behind these stores. */
  for (uint32_t i = 0; i < engine->plan.workers; ++i)
    sum += __atomic_load_n(&engine->workers[i].stored[half], __ATOMIC_RELAXED);
  return sum;
}

static void begin(vyre_engine *engine)
{
  vyre__engine_bank *bank = &engine->bank;
  const uint32_t next = !bank->active;
  uint32_t *cursor = &engine->control->cursor[next];
  if (bank->boundary != bank->previous) {
    /* The half was used, so its items have zeroed its other cursor.  Relaxed: published with each
       item of the new phase. */
    __atomic_store_n(cursor, !__atomic_load_n(cursor, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  }
  bank->baseline[next] = stored(engine, next);
  bank->previous = bank->boundary;
  bank->boundary = vyre__ring_flip_phase(engine->ring);
  bank->active = next;
  bank->swapping = true;
}

vyre_status vyre_engine_swap_bank(vyre_engine *engine, uint64_t timeout_ns,
                                  const vyre_record **out_records, uint32_t *out_count)
{
  vyre__engine_bank *bank;
  vyre__engine_span span;
  uint32_t half;
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (!out_records || !out_count)
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (!engine->plan.bank_records)
    return VYRE_ERROR_UNSUPPORTED;
  bank = &engine->bank;
  if (!bank->swapping)
    begin(engine);
  /* Acquire: pairs with the release in advance_oldest(); the records of what is before it are
   * there.
   */
  span.next = __atomic_load_n(&engine->oldest, __ATOMIC_ACQUIRE);
  span.end = bank->boundary;
  status = vyre__engine_wait_until(engine, vyre__engine_span_finished, &span, timeout_ns);
  if (status != VYRE_OK)
    return status;
  /* Acquire: pairs with the release in vyre__engine_abort().  Items that were given up may have
     left anything, and may still write. */
  status = __atomic_load_n(&engine->aborted, __ATOMIC_ACQUIRE);
  if (status != VYRE_OK)
    return status;
  bank->swapping = false;
  half = !bank->active;
  *out_records =
      (const vyre_record *)engine->records.host + (uint64_t)half * engine->plan.bank_records;
  *out_count = (uint32_t)(stored(engine, half) - bank->baseline[half]);
  return VYRE_OK;
}
