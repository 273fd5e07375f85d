/* drain.c - waiting until items are finished, whoever consumes their completions. */
#include "core/engine/engine.h"

bool vyre__engine_span_finished(vyre_engine *engine, void *self, uint64_t *out_blocked)
{
  vyre__engine_span *span = self;
  while (vyre__ring_distance(span->end, span->next) > 0 &&
         vyre__engine_look(engine, span->next, NULL) != VYRE__TICKET_UNFINISHED)
    span->next = vyre__ring_step(span->next, 1);
  *out_blocked = span->next;
  return vyre__ring_distance(span->end, span->next) <= 0;
}

/* The tickets of the span that are not finished now: up to `max` stored, all of them counted. */
static uint32_t list_unfinished(const vyre_engine *engine, const vyre__engine_span *span,
                                uint64_t *out_unfinished, uint32_t max)
{
  uint32_t n = 0;
  for (uint64_t ticket = span->next; ticket != span->end; ticket = vyre__ring_step(ticket, 1)) {
    if (vyre__engine_look(engine, ticket, NULL) != VYRE__TICKET_UNFINISHED)
      continue;
    if (n < max)
      out_unfinished[n] = ticket;
    ++n;
  }
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
  span.next = __atomic_load_n(&engine->oldest, __ATOMIC_RELAXED); /* a place to begin */
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
