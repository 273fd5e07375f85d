/*
 * wait.c - how every call of the engine waits: a short spin, then a sleep on the ring's
 * `completed` word, which whoever serves the ring advances.
 */
#include "core/engine/engine.h"

vyre_status vyre__engine_check(const vyre_engine *engine)
{
  if (!engine)
    return VYRE_ERROR_INVALID_ARGUMENT;
  return vyre__context_is_ours(engine->device->context) ? VYRE_OK : VYRE_ERROR_FORKED;
}

void vyre__engine_tell(vyre_engine *engine)
{
  vyre__wake_all(&engine->ring->header->completed);
}

/* The item that a wait is blocked by, and since when it is known to be in a worker's hands. */
typedef struct overdue {
  uint64_t ticket;
  uint64_t since;
  bool claimed;
} overdue;

/* The next ticket to be issued. */
static uint64_t next_ticket(const vyre_engine *engine)
{
  return vyre__ring_ticket(vyre__engine_head(engine), 0);
}

/* Items are claimed in order: this one was if a worker has claimed up to a later ticket. */
static bool is_claimed(const vyre_engine *engine, uint64_t ticket)
{
  for (uint32_t i = 0; i < engine->plan.workers; ++i) {
    /* Relaxed: says when, nothing is read through it. */
    const uint64_t until = __atomic_load_n(&engine->workers[i].until, __ATOMIC_RELAXED);
    if ((int64_t)((until - ticket) << 5) > 0) /* tickets have 59 bits */
      return true;
  }
  return false;
}

/*
 * True once the item that blocks has been in a worker's hands for longer than max_item_ms.  An item
 * that nobody has claimed is itself blocked: by the first one that is not finished.
 */
static bool item_overdue(const vyre_engine *engine, overdue *watch, uint64_t blocked, uint64_t now)
{
  bool claimed;
  if (blocked != next_ticket(engine) && !is_claimed(engine, blocked))
    blocked = vyre__engine_first_unfinished(engine);
  claimed = blocked != next_ticket(engine) && is_claimed(engine, blocked);
  if (watch->ticket != blocked || !watch->claimed || !claimed) {
    watch->ticket = blocked;
    watch->claimed = claimed;
    watch->since = now;
  }
  return watch->claimed && now - watch->since >= engine->plan.max_item_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

static uint64_t later_by(uint64_t now, uint64_t ns)
{
  return ns > VYRE_NO_TIMEOUT - now ? VYRE_NO_TIMEOUT : now + ns;
}

static bool spin(vyre_engine *engine, vyre__engine_condition condition, void *self,
                 uint64_t deadline, uint64_t *out_blocked)
{
  const uint64_t end = earlier(deadline, later_by(vyre__now_ns(), engine->spin_ns));
  do {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    if (condition(engine, self, out_blocked))
      return true;
  } while (vyre__now_ns() < end);
  return false;
}

/*
 * A sleeper also looks by itself, soon at first and then ever later: for what a worker posted just
 * before a long item while the keeper still rests between its looks, and for a loss of the device
 * that another call found while nothing is there that could tell of it.
 */
#define LOOK_NS 1000000u
#define LOOK_MOST_NS 500000000u

static void look_for_loss(vyre_engine *engine)
{
  /* Relaxed: once is enough, and more often does no harm. */
  if (__atomic_load_n(&engine->aborted, __ATOMIC_RELAXED) == VYRE_OK &&
      vyre__engine_is_lost(engine))
    vyre__engine_abort(engine, VYRE_ERROR_DEVICE_LOST);
}

vyre_status vyre__engine_wait_until(vyre_engine *engine, vyre__engine_condition condition,
                                    void *self, uint64_t timeout_ns)
{
  vyre_ring_wake *wake = &engine->ring->header->completed;
  uint64_t blocked = 0, deadline, look_ns = LOOK_NS;
  overdue watch = {0};
  if (condition(engine, self, &blocked))
    return VYRE_OK;
  if (!timeout_ns)
    return VYRE_ERROR_TIMEOUT;
  deadline = vyre__deadline(timeout_ns);
  if (spin(engine, condition, self, deadline, &blocked))
    return VYRE_OK;
  for (;;) {
    /* The sleeper counts itself in before it looks: see vyre__wake_prepare() for the fences. */
    const uint32_t epoch = vyre__wake_prepare(wake);
    uint64_t until = deadline, now;
    look_for_loss(engine);
    if (condition(engine, self, &blocked)) {
      vyre__wake_cancel(wake);
      return VYRE_OK;
    }
    now = vyre__now_ns();
    if (now >= deadline ||
        (engine->plan.max_item_ns && item_overdue(engine, &watch, blocked, now))) {
      vyre__wake_cancel(wake);
      return VYRE_ERROR_TIMEOUT;
    }
    if (engine->plan.max_item_ns && blocked != next_ticket(engine))
      until = earlier(until, later_by(watch.since, engine->plan.max_item_ns));
    if (engine->plan.max_item_ns && until <= now) /* not claimed yet: look again later */
      until = earlier(deadline, later_by(now, engine->plan.max_item_ns));
    if (!engine->notify && vyre__engine_unfinished(engine))
      until = earlier(until, later_by(now, engine->slice_ns));
    vyre__wake_sleep(wake, epoch, earlier(until, later_by(now, look_ns)));
    look_ns = 2 * look_ns < LOOK_MOST_NS ? 2 * look_ns : LOOK_MOST_NS;
  }
}
