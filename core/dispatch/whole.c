/* whole.c - a run that is one call of the plugin; see whole.h. */
#include "core/dispatch/whole.h"

#include "core/dispatch/stage.h"

vyre_status vyre__whole_advance(vyre_pending *pending, uint64_t deadline, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (pending->flight.count)
    status = vyre__flight_wait(pending, deadline, err);
  pending->done = status == VYRE_OK;
  return status;
}

/* How many passes it was, and how it ended. */
static vyre_status ask_outcome(vyre_pending *pending, vyre_error *err)
{
  const uint32_t limit = pending->idle ? 1 : pending->options.iterations;
  uint32_t changed = 0, passes = 0;
  vyre_status status = VYRE_OK;
  pending->result.passes = pending->idle ? pending->options.iterations : 1;
  if (limit == 1)
    return VYRE_OK;
  status = vyre__stage_outcome(pending, &changed, &passes, err);
  if (status != VYRE_OK)
    return status;
  if (!passes || passes > limit || changed > passes || (!pending->tested && passes != limit))
    return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED,
                     "use another version of the plugin, and report this to its author",
                     "plugin %s says %u passes and a change in pass %u; %u were asked for",
                     pending->program->device->backend->name, passes, changed, limit);
  pending->result.passes = passes;
  if (pending->tested)
    pending->result.converged = changed < passes ? VYRE_CONVERGED_YES : VYRE_CONVERGED_NO;
  return VYRE_OK;
}

/* The times last: as long as the launch is unread, who had no memory may ask again. */
vyre_status vyre__staged_collect(vyre_pending *pending, vyre__value *values, vyre_error *err)
{
  vyre_status status = values ? vyre__stage_collect(pending, values, err) : VYRE_OK;
  if (status == VYRE_OK && pending->flight.count) {
    status = vyre__flight_read(pending, NULL, NULL, 0, err);
    vyre__flight_pop(pending);
  }
  return status;
}

vyre_status vyre__whole_collect(vyre_pending *pending, vyre__value *values, vyre_error *err)
{
  vyre_status status = ask_outcome(pending, err);
  if (status == VYRE_OK)
    status = vyre__staged_collect(pending, values, err);
  return status;
}
