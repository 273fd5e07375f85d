/*
 * park.c - the engine as a resident of its device: its launch leaves when somebody holds the device
 * (core/device/site.h), and comes back if anything is unfinished.
 *
 * The stop word has two bits.  VYRE_ENGINE_STOP sends workers away for good.  VYRE_ENGINE_PARK has
 * them claim nothing more and leave all together once every claimed item is done, so that a hold
 * that is given up again nearly always finds the launch whole (a worker that looked just before the
 * bit was set may still serve an item, behind which the launch ends).  Meanwhile items stay in the
 * ring.
 *
 * Only a persistent engine is a resident: batched launches are ordinary ones.
 */
#include "core/engine/engine.h"

/* How long a launch may take to leave where no item has a limit, and beyond its item's limit. */
#define PATIENCE_NS 10000000000ull
#define MARGIN_NS 100000000ull

static void leave(vyre__resident *self)
{
  vyre_engine *engine = VYRE__OWNER(vyre_engine, resident, self);
  /* Release: pairs with the workers' acquire.  An exchange of bits: stop() sets its own. */
  __atomic_fetch_or(&engine->ring->header->stop, VYRE_ENGINE_PARK, __ATOMIC_RELEASE);
}

static void go_on(vyre__resident *self)
{
  vyre_engine *engine = VYRE__OWNER(vyre_engine, resident, self);
  /* Release: pairs with the workers' acquire, as above. */
  __atomic_fetch_and(&engine->ring->header->stop, ~VYRE_ENGINE_PARK, __ATOMIC_RELEASE);
  vyre__engine_kick(engine); /* the keeper may have met the held site */
}

void vyre__engine_join(vyre_engine *engine)
{
  vyre__resident *self = &engine->resident;
  const uint64_t limit = engine->plan.max_item_ns;
  if (!engine->plan.persistent)
    return;
  self->patience_ns = limit && limit < PATIENCE_NS ? limit + MARGIN_NS : PATIENCE_NS;
  self->leave = leave;
  self->go_on = go_on;
  vyre__site_join(engine->device->site, self);
  engine->joined = true;
}

void vyre__engine_part(vyre_engine *engine)
{
  if (engine->joined)
    vyre__site_part(engine->device->site, &engine->resident);
  engine->joined = false;
}

bool vyre__engine_left(vyre_engine *engine)
{
  return vyre__site_left(engine->device->site, &engine->resident);
}
