/*
 * keeper.c - the thread that keeps a persistent launch there while anything is unfinished.
 *
 * A launch ends by itself: when it was idle or resident for long, or on the stop word.  That it
 * has left is known from its pending handle and from nothing else; then, if items are unfinished
 * and nobody holds the device (park.c), another one is started and goes on where the last one was:
 * the tail is in device memory and no claimed item is left behind.  While nothing is unfinished and
 * no launch is there, the thread sleeps.
 */
#include "core/engine/engine.h"
#include "core/loader/plugin.h"

#define POLL_NS 1000000u /* while something is unfinished */
#define IDLE_NS 20000000u

static void set_state(vyre_engine *engine, uint32_t state)
{
  /* Relaxed: no launch is there to write it; the fence in the keeper's wait orders it before the
     look at the ring. */
  __atomic_store_n(&engine->ring->header->state, state, __ATOMIC_RELAXED);
}

vyre_status vyre__engine_launch(vyre_engine *engine, vyre_error *err)
{
  vyre_device *device = engine->device;
  const vyre__engine_plan *plan = &engine->plan;
  const vyre__region *regions[VYRE_ENGINE_BINDINGS] = {
      &engine->ring_memory, &engine->control_memory, &engine->state,
      &engine->rules,       &engine->input,          &engine->records};
  vyre_binding bindings[VYRE_ENGINE_BINDINGS + 1];
  const bool wide = plan->width > 1;
  /* Only the keeper counts launches; relaxed for the readers of statistics. */
  const uint64_t launch = __atomic_add_fetch(&engine->launches, 1, __ATOMIC_RELAXED);
  const vyre_engine_push push = {.input_size = plan->input_size,
                                 .max_idle_ns = plan->max_idle_ns,
                                 .max_resident_ns = plan->max_resident_ns,
                                 .workers = plan->workers,
                                 .rule_sets = engine->rule_sets,
                                 .bank_records = plan->bank_records,
                                 .launch = (uint32_t)launch & 0x3fffffffu,
                                 .notify = engine->notify,
                                 .max_idle_polls = plan->max_idle_polls};
  vyre_dispatch_desc desc = {.struct_size = sizeof desc,
                             .binding_count = VYRE_ENGINE_BINDINGS + wide,
                             .flags = VYRE_DISPATCH_PERSISTENT,
                             .kernel = engine->kernel,
                             .bindings = bindings,
                             .binding_stride = sizeof bindings[0],
                             .groups = {plan->workers, 1, 1},
                             .workgroup = {plan->width, 1, 1},
                             .push = &push,
                             .push_size = sizeof push,
                             .id_limit = VYRE_ENGINE_BINDINGS + wide};
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status;
  for (uint32_t i = 0; i < VYRE_ENGINE_BINDINGS; ++i)
    bindings[i] = vyre__engine_bind(
        engine, i, regions[i], 0, regions[i]->size,
        i == VYRE_ENGINE_RULES || i == VYRE_ENGINE_INPUT ? VYRE_READ_ONLY : VYRE_READ_WRITE);
  if (wide)
    bindings[VYRE_ENGINE_GROUP] = (vyre_binding){.struct_size = sizeof bindings[0],
                                                 .id = VYRE_ENGINE_GROUP,
                                                 .access = VYRE_WORKGROUP,
                                                 .kind = VYRE_BINDING_WORKGROUP,
                                                 .size = VYRE_ENGINE_GROUP_BYTES,
                                                 .element_count = VYRE_ENGINE_GROUP_BYTES};
  set_state(engine, VYRE_RING_STATE_RUNNING);
  status = device->backend->dispatch(engine->handle, &desc, &engine->launch, &said);
  if (status != VYRE_OK)
    status = vyre__engine_note(engine,
                               vyre__plugin_error(err, device->backend, "dispatch", status, &said));
  if (status == VYRE_OK && !engine->launch)
    status = VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                       "plugin %s started no launch and reported no error", device->backend->name);
  if (status != VYRE_OK) {
    engine->launch = NULL; /* whatever a call that failed left there is no launch */
    set_state(engine, VYRE_RING_STATE_ABSENT);
    __atomic_sub_fetch(&engine->launches, 1, __ATOMIC_RELAXED);
  }
  return status;
}

/* The launch has ended with `status`, for good. */
static void bury(vyre_engine *engine, vyre_status status)
{
  bool parked;
  /* Waiters first: a lost device may be slow to let go of the launch. */
  if (status != VYRE_OK)
    vyre__engine_abort(engine, vyre__engine_note(engine, status));
  engine->device->backend->pending_release(engine->launch);
  engine->launch = NULL;
  set_state(engine, VYRE_RING_STATE_ABSENT);
  parked = vyre__engine_left(engine);
  if (status == VYRE_OK && !parked && !__atomic_load_n(&engine->stopping, __ATOMIC_RELAXED) &&
      !vyre__engine_unfinished(engine))
    __atomic_fetch_add(&engine->idle_exits, 1, __ATOMIC_RELAXED); /* statistics */
}

/*
 * Watches a launch for a while.  Workers wake sleeping waiters themselves, but not in the middle of
 * a long item: completions that they had posted before it are told from here.
 */
static void watch(vyre_engine *engine, uint64_t *told_of)
{
  const bool busy = vyre__engine_unfinished(engine) &&
                    __atomic_load_n(&engine->aborted, __ATOMIC_RELAXED) == VYRE_OK;
  const vyre_status status =
      engine->device->backend->pending_wait(engine->launch, busy ? POLL_NS : IDLE_NS, NULL);
  const uint64_t done = vyre__engine_done(engine);
  if (done != *told_of) {
    *told_of = done;
    vyre__engine_tell(engine);
  }
  if (status != VYRE_ERROR_TIMEOUT)
    bury(engine, status);
  else if (vyre__engine_is_lost(engine)) /* another call found it: the launch may never end */
    vyre__engine_abort(engine, VYRE_ERROR_DEVICE_LOST);
}

void *vyre__engine_keeper(void *self)
{
  vyre_engine *engine = self;
  uint64_t told_of = 0, before = 0; /* before: items done when the last launch began */
  bool fruitless = false;
  for (;;) {
    uint32_t epoch;
    vyre_status status;
    if (engine->launch) {
      watch(engine, &told_of);
      fruitless = vyre__engine_done(engine) == before;
      continue;
    }
    /* Its fence pairs with the submitter's: the state is ABSENT before the ring is looked at. */
    epoch = vyre__wake_prepare(&engine->keeper);
    /* Acquire: pairs with the release of whoever asks the thread to end. */
    if (__atomic_load_n(&engine->stopping, __ATOMIC_ACQUIRE)) {
      vyre__wake_cancel(&engine->keeper);
      break;
    }
    if (__atomic_load_n(&engine->aborted, __ATOMIC_RELAXED) != VYRE_OK ||
        !vyre__engine_unfinished(engine)) {
      fruitless = false;
      vyre__wake_sleep(&engine->keeper, epoch, VYRE_NO_TIMEOUT);
      continue;
    }
    /* Another call found it while no launch was there; the device may be recovered already. */
    if (vyre__engine_is_lost(engine)) {
      vyre__wake_cancel(&engine->keeper);
      vyre__engine_abort(engine, VYRE_ERROR_DEVICE_LOST);
      continue;
    }
    if (fruitless) {
      /* It did nothing and left: one that always does must not keep a core busy. */
      fruitless = false;
      vyre__wake_sleep(&engine->keeper, epoch, vyre__deadline(POLL_NS));
      continue;
    }
    /* Parked: whoever holds the device kicks when it lets go.  Until then it may be lost. */
    if (!vyre__site_enter(engine->device->site, &engine->resident)) {
      vyre__wake_sleep(&engine->keeper, epoch, vyre__deadline(IDLE_NS));
      continue;
    }
    vyre__wake_cancel(&engine->keeper);
    before = vyre__engine_done(engine);
    status = vyre__engine_launch(engine, NULL);
    if (status != VYRE_OK) {
      vyre__engine_left(engine);
      vyre__engine_abort(engine, status);
    }
  }
  vyre__engine_thread_ended(engine);
  return NULL;
}
