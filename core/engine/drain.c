/* drain.c - waiting until items are finished, whoever consumes their completions. */
#include "core/engine/engine.h"

/* The items of a place that have no result, by their bits. */
static uint32_t unfinished_at(const vyre_engine *engine, uint64_t position)
{
  vyre__engine_place place;
  vyre__engine_look(engine, position, &place);
  return place.pending & ~place.finished;
}

/* Goes on over what is finished; true if that is all of the span. */
static bool go_on(const vyre_engine *engine, vyre__engine_span *span)
{
  uint32_t unfinished = 0;
  while (vyre__ring_distance(span->end, span->next) > 0 &&
         !(unfinished = unfinished_at(engine, span->next)))
    span->next = vyre__ring_step(span->next, 1);
  span->blocked =
      vyre__ring_ticket(span->next, unfinished ? (uint32_t)__builtin_ctz(unfinished) : 0);
  return !unfinished;
}

bool vyre__engine_span_finished(vyre_engine *engine, void *self, uint64_t *out_blocked)
{
  vyre__engine_span *span = self;
  const bool finished = go_on(engine, span);
  *out_blocked = span->blocked;
  return finished;
}

uint64_t vyre__engine_first_unfinished(const vyre_engine *engine)
{
  vyre__engine_span span = {.next = __atomic_load_n(&engine->oldest, __ATOMIC_ACQUIRE),
                            .end = vyre__engine_head(engine)};
  (void)go_on(engine, &span);
  return span.blocked;
}

/* The tickets of the span that are not finished now: up to `max` stored, all of them counted. */
static uint32_t list_unfinished(const vyre_engine *engine, const vyre__engine_span *span,
                                uint64_t *out_unfinished, uint32_t max)
{
  uint32_t n = 0;
  for (uint64_t position = span->next; position != span->end;
       position = vyre__ring_step(position, 1))
    for (uint32_t left = unfinished_at(engine, position); left; left &= left - 1, ++n)
      if (n < max)
        out_unfinished[n] = vyre__ring_ticket(position, (uint32_t)__builtin_ctz(left));
  return n;
}

vyre_status vyre_engine_drain(vyre_engine *engine, uint64_t timeout_ns, uint64_t *out_unfinished,
                              uint32_t max, uint32_t *out_n)
{
  vyre__engine_span span;
  uint32_t n = 0;
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (max && !out_unfinished)
    return VYRE_ERROR_INVALID_ARGUMENT;
  span.next = __atomic_load_n(&engine->oldest, __ATOMIC_ACQUIRE); /* a place to begin */
  span.end = vyre__engine_head(engine);
  status = vyre__engine_wait_until(engine, vyre__engine_span_finished, &span, timeout_ns);
  if (status == VYRE_ERROR_TIMEOUT) {
    n = list_unfinished(engine, &span, out_unfinished, max);
    if (!n) /* the last one has finished meanwhile */
      status = VYRE_OK;
  }
  if (out_n)
    *out_n = n;
  return status;
}
