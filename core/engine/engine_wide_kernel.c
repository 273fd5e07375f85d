/*
 * engine_wide_kernel.c - the engine's persistent entry for devices whose groups are wide (GPUs), in
 * the kernel language.  Goes behind engine_kernel.c, whose functions it uses.
 *
 *   vyre_engine_wide   as vyre_engine_persistent, with a group as one worker that serves up to one
 *                      item with each of its work items.
 *
 * The ring is the same, so are the host's words; what differs is how the workers share it.
 *   - A trip across the link costs more than all that a group does on the device with what it
 *     brought, and every group that polls takes a part of the link.  So one group at a time looks:
 *     the one that holds `looker`.  It looks at as many cells in one trip as it has work items, and
 *     stores how far they are published in `announced`.  The word is free again before the group
 *     serves anything; an idle group takes it when everything announced is claimed.
 *   - Whole cells are claimed, between `tail` and `announced`, by an exchange in device memory.
 *     Eight work items serve a cell: seven for its items, one for its place.
 *   - The others learn from words in device memory what the host wants (`asked`), and that
 *     something is announced.  No group ever waits for another one, so it does not matter how many
 *     of them the device runs at a time.
 *
 * Item 0 of a group decides; the group follows what it wrote to workgroup memory.
 */

/* Work items for a cell. */
#define VYRE__CELL_LANES 8u
/* Looks in a row that find nothing before the group begins to rest between them. */
#define VYRE__EAGER_LOOKS 4096u

/* What a group does next. */
#define VYRE__DO_NOTHING 0u
#define VYRE__DO_LEAVE 1u
#define VYRE__DO_LOOK 2u
#define VYRE__DO_SERVE 3u

/* Workgroup memory of a group: written by item 0 and read by all behind a barrier, but for the
   words at its end. */
typedef struct vyre__wide {
  vyre_u64 position; /* of the first cell to look at, or to serve */
  vyre_u32 what;     /* VYRE__DO_… */
  vyre_u32 cells;    /* SERVE: how many */
  vyre_u32 missing;  /* LOOK: the lowest number of a cell that is not published; any item */
  vyre_u32 items;    /* SERVE: items in the cells; any item */
  vyre_u32 stored_0; /* SERVE: records stored, by half of the bank; any item */
  vyre_u32 stored_1;
} vyre__wide;

/* What item 0 keeps between its decisions. */
typedef struct vyre__mind {
  vyre_u64 born;
  vyre_u64 busy;    /* when this group last began to look, or found something */
  vyre_u64 told_of; /* completions that the host was told of */
  vyre_u32 misses;
  vyre_u32 polls; /* looks that found nothing, since `busy` */
  vyre_u32 holds; /* 1: this group is the one that looks; then these are as in device memory: */
  vyre_u64 announced;
  vyre_u32 asked;
  vyre_u32 plenty;
} vyre__mind;

/* Where a group counts the items that it completed, for the host. */
VYRE_FUNCTION VYRE_GLOBAL vyre_u64 *vyre__wide_done(const vyre__worker *w, vyre_u32 group)
{
  return (VYRE_GLOBAL vyre_u64 *)(w->workers + w->push.workers) + group;
}

/* ---- who looks ---- */

/*
 * True if this group is the one that looks from now on.  The word holds the number of the launch in
 * which it was taken: one that an earlier launch left behind is free.
 */
VYRE_FUNCTION vyre_u32 vyre__take_looker(const vyre__worker *w)
{
  const vyre_u32 mine = w->push.launch << 1 | 1u;
  const vyre_u32 old = vyre_atomic_load_u32(&w->state->looker, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  /* Acquire: pairs with the release of who looked before; `announced` is as that one left it. */
  return old != mine && vyre_atomic_cas_u32(&w->state->looker, old, mine, VYRE_ACQUIRE,
                                            VYRE_SCOPE_DEVICE) == old
             ? 1u
             : 0u;
}

VYRE_FUNCTION void vyre__give_looker(const vyre__worker *w)
{
  /* Release: pairs with the acquire of who takes it next. */
  vyre_atomic_store_u32(&w->state->looker, w->push.launch << 1, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
}

/* ---- claiming: item 0 ---- */

/*
 * Takes `n` whole cells from `position` on, the tail as it was read.  A stale tail does no harm:
 * the exchange fails.
 */
VYRE_FUNCTION vyre_u32 vyre__claim_at(vyre__worker *w, vyre_u64 position, vyre_u64 n,
                                      VYRE_SHARED vyre__wide *g)
{
  const vyre_u64 tail = position << VYRE_RING_INDEX_BITS;
  const vyre_u64 next = ((position + n) & VYRE_RING_POSITION_MASK) << VYRE_RING_INDEX_BITS;
  /* Before the exchange, so that nobody sees cells taken and not counted.  Relaxed: the exchange
     releases it. */
  vyre_atomic_store_u64(&w->own_claims->items, w->claimed + n, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  /* Release: pairs with the acquire in vyre__all_done(). */
  if (vyre_atomic_cas_u64(&w->state->tail, tail, next, VYRE_RELEASE, VYRE_SCOPE_DEVICE) != tail) {
    vyre_atomic_store_u64(&w->own_claims->items, w->claimed, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    return VYRE__CLAIM_LOST;
  }
  w->claimed += n;
  g->position = position;
  g->cells = (vyre_u32)n;
  /* Relaxed: which items are in somebody's hands, and a mirror for statistics. */
  vyre_atomic_store_u64(&w->own->until, next, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  vyre_atomic_store_u64(&w->header->tail, next, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  return VYRE__CLAIM_TAKEN;
}

/*
 * Takes cells that are announced: a fair share while there is not enough for everybody, but as many
 * as items that step together can serve at once.  EMPTY if there is none.
 */
VYRE_FUNCTION vyre_u32 vyre__claim_cells(vyre_ctx *c, vyre__worker *w, VYRE_SHARED vyre__wide *g)
{
  const vyre_u64 most = vyre_local_size(c, 0) / VYRE__CELL_LANES;
  const vyre_u64 together = vyre_subgroup_size(c) / VYRE__CELL_LANES;
  /* Relaxed: the exchange finds out whether it is still the tail. */
  const vyre_u64 position =
      vyre_atomic_load_u64(&w->state->tail, VYRE_RELAXED, VYRE_SCOPE_DEVICE) >>
      VYRE_RING_INDEX_BITS;
  /* Acquire: pairs with the release in vyre__announce(). */
  const vyre_u64 there =
      (vyre_atomic_load_u64(&w->state->announced, VYRE_ACQUIRE, VYRE_SCOPE_DEVICE) - position) &
      VYRE_RING_POSITION_MASK;
  vyre_u64 n = there / w->push.workers;
  /* More than the ring has: the two words were read on both sides of a change. */
  if (there == 0u || there > w->cells_mask + 1u)
    return VYRE__CLAIM_EMPTY;
  if (n < together)
    n = together < there ? together : there;
  n = n == 0u ? 1u : n > most ? most : n;
  return vyre__claim_at(w, position, n, g);
}

/* Says that the cells before `position` are published.  Only who looks does. */
VYRE_FUNCTION void vyre__announce(const vyre__worker *w, vyre__mind *m, vyre_u64 position)
{
  m->announced = position & VYRE_RING_POSITION_MASK;
  /* Release: pairs with the acquire in vyre__claim_cells(); this group has acquired every cell's
     published word, so who sees this position sees the items. */
  vyre_atomic_store_u64(&w->state->announced, m->announced, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
}

/* ---- deciding: item 0 ---- */

/*
 * One step of the group that looks: the host's wish, and the ring.  One trip across the link sees
 * whether the next cell is there, and whether more are: then the whole group looks.  A cell that is
 * there alone is taken at once.
 */
VYRE_FUNCTION vyre_u32 vyre__look_once(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                       VYRE_SHARED vyre__wide *g)
{
  vyre_u32 more = m->plenty, low, first = 0u;
  /* Relaxed: a mark, no data; and so is the look at the second cell. */
  const vyre_u32 stop = vyre_atomic_load_u32(&w->header->stop, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  if (more == 0u) {
    const vyre_u64 second = (m->announced + 1u) & VYRE_RING_POSITION_MASK;
    const vyre_u64 word = vyre_atomic_load_u64(&w->cells[second & w->cells_mask].published,
                                               VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
    first = vyre__published(w, m->announced, &low);
    more = first != 0u && (word >> VYRE_RING_STAMP_SHIFT) == vyre__stamp(second) ? 1u : 0u;
  }
  if (m->asked != stop) {
    m->asked = stop;
    vyre_atomic_store_u32(&w->state->asked, stop, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  }
  if ((stop & VYRE_ENGINE_STOP) != 0u)
    vyre__leave_now(w);
  else if ((stop & VYRE_ENGINE_PARK) != 0u)
    vyre__park(c, w, m->misses);
  if ((stop & (VYRE_ENGINE_STOP | VYRE_ENGINE_PARK)) != 0u)
    return VYRE__DO_NOTHING;
  g->position = m->announced;
  g->missing = vyre_local_size(c, 0);
  if (more != 0u)
    return VYRE__DO_LOOK;
  if (first == 0u)
    return VYRE__DO_NOTHING;
  /* What was announced before it may still be there for others: then it is announced like them.
     Else nobody but this group can take it, and the words change behind the exchange. */
  if (vyre__claim_at(w, m->announced, 1u, g) != VYRE__CLAIM_TAKEN) {
    vyre__announce(w, m, m->announced + 1u);
    return VYRE__DO_NOTHING;
  }
  vyre__announce(w, m, m->announced + 1u);
  return VYRE__DO_SERVE;
}

/* A step without anything to claim: becomes the group that looks, or rests. */
VYRE_FUNCTION vyre_u32 vyre__idle(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                  VYRE_SHARED vyre__wide *g)
{
  vyre_u32 what = VYRE__DO_NOTHING;
  const vyre_u64 now = vyre_clock_ns(c);
  if (now - m->born >= w->push.max_resident_ns)
    vyre__leave_now(w);
  if (m->told_of != w->done) {
    vyre__tell(c, w);
    m->told_of = w->done;
  }
  if (m->holds == 0u && vyre__take_looker(w)) {
    m->holds = 1u;
    m->misses = 0u;
    m->polls = 0u;
    m->busy = now;
    /* Relaxed: ordered by the exchange that took the word. */
    m->announced = vyre_atomic_load_u64(&w->state->announced, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    m->asked = vyre_atomic_load_u32(&w->state->asked, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    m->plenty = vyre_atomic_load_u32(&w->state->plenty, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  }
  if (m->holds == 0u) {
    vyre_backoff(c, m->misses);
    m->misses += 1u;
    return VYRE__DO_NOTHING;
  }
  m->misses += 1u;
  what = vyre__look_once(c, w, m, g);
  if (what != VYRE__DO_NOTHING)
    return what;
  /* Each look is a trip across the link already. */
  if (m->misses > VYRE__EAGER_LOOKS)
    vyre_backoff(c, m->misses - VYRE__EAGER_LOOKS);
  m->polls += 1u;
  if (vyre__idle_for_long(w, now, m->busy, m->polls)) {
    vyre__try_to_leave(w);
    m->busy = now;
    m->polls = 0u;
  }
  return VYRE__DO_NOTHING;
}

/* What the group does next; returns when that is more than nothing. */
VYRE_FUNCTION void vyre__decide(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                VYRE_SHARED vyre__wide *g)
{
  vyre_u32 what = VYRE__DO_NOTHING;
  while (what == VYRE__DO_NOTHING) {
    /* Relaxed: a mark, no data. */
    const vyre_u32 asked = vyre_atomic_load_u32(&w->state->asked, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    vyre_u32 claim = VYRE__CLAIM_EMPTY;
    if (vyre__must_leave(w, 0u))
      what = VYRE__DO_LEAVE;
    else if ((asked & VYRE_ENGINE_PARK) == 0u)
      claim = vyre__claim_cells(c, w, g);
    if (claim == VYRE__CLAIM_TAKEN)
      what = VYRE__DO_SERVE;
    else if (claim == VYRE__CLAIM_EMPTY && what == VYRE__DO_NOTHING)
      what = vyre__idle(c, w, m, g);
  }
  g->what = what;
  g->items = 0u;
  g->stored_0 = 0u;
  g->stored_1 = 0u;
  m->misses = 0u;
  if (what == VYRE__DO_LOOK)
    return; /* it holds the word until it has looked, and found nothing more to take */
  if (m->holds != 0u)
    vyre__give_looker(w);
  m->holds = 0u;
}

/* ---- what a group does: all items ---- */

/* The whole group looks, each item at one cell. */
VYRE_FUNCTION void vyre__look_wide(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                   VYRE_SHARED vyre__wide *g)
{
  const vyre_u32 lane = vyre_local_id(c, 0);
  vyre_u32 low;
  /* Acquire, by each that looks: a fence of item 0 behind the barrier would pair with what item 0
     has read, and not with what the others have.  Item 0 passes on what all acquired: the barrier,
     then the release in vyre__announce(). */
  if (!vyre__published(w, g->position + lane, &low))
    vyre_atomic_min_u32(&g->missing, lane, VYRE_RELAXED, VYRE_SCOPE_WORKGROUP);
  vyre_barrier(c);
  if (lane != 0u)
    return;
  /* As many as it looked at: there may be as many again.  Relaxed: a guess, ordered like
     `announced` for who looks next. */
  m->plenty = g->missing == vyre_local_size(c, 0) ? 1u : 0u;
  vyre_atomic_store_u32(&w->state->plenty, m->plenty, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  if (g->missing != 0u) {
    vyre__announce(w, m, g->position + g->missing);
    m->busy = vyre_clock_ns(c);
    m->polls = 0u;
  }
}

/* Adds what the items of the group stored, before any of them completes. */
VYRE_FUNCTION void vyre__count_group(vyre_ctx *c, vyre__worker *w, vyre_u32 half, vyre_u32 stored,
                                     VYRE_SHARED vyre__wide *g)
{
  if (stored != 0u)
    vyre_atomic_add_u32(half == 0u ? &g->stored_0 : &g->stored_1, stored, VYRE_RELAXED,
                        VYRE_SCOPE_WORKGROUP);
  vyre_barrier(c);
  if (vyre_local_id(c, 0) == 0u) {
    if (g->stored_0 != 0u)
      vyre__count_stored(w, 0u, g->stored_0);
    if (g->stored_1 != 0u)
      vyre__count_stored(w, 1u, g->stored_1);
  }
  vyre_barrier(c);
}

VYRE_FUNCTION void vyre__serve_wide(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                    VYRE_SHARED vyre__wide *g)
{
  const vyre_u32 lane = vyre_local_id(c, 0), index = lane % VYRE__CELL_LANES;
  const vyre_u64 position = (g->position + lane / VYRE__CELL_LANES) & VYRE_RING_POSITION_MASK;
  VYRE_GLOBAL const vyre_ring_cell *cell = &w->cells[position & w->cells_mask];
  VYRE_GLOBAL const vyre_u64 *from = (VYRE_GLOBAL const vyre_u64 *)cell->item[0];
  vyre_u64 where = 0u, what = 0u;
  vyre_u32 low = 0u, count = 0u, half, value = 0u, status = 0u;
  vyre_job job;
  if (lane / VYRE__CELL_LANES < g->cells) {
    /* Relaxed: announced, so the stamp is this position's and the items are whole.  An item is
       fetched before its number is known to be one: both come in one trip. */
    const vyre_u32 there = index < VYRE_RING_CELL_ITEMS ? index : 0u;
    where = from[2u * there];
    what = from[2u * there + 1u];
    low = (vyre_u32)vyre_atomic_load_u64(&cell->published, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
    count = low & VYRE_RING_COUNT_MASK;
    if (index == VYRE_RING_CELL_ITEMS && count != 0u)
      vyre_atomic_add_u32(&g->items, count, VYRE_RELAXED, VYRE_SCOPE_WORKGROUP);
  }
  vyre_barrier(c); /* all copies are made */
  if (index == VYRE_RING_CELL_ITEMS && lane / VYRE__CELL_LANES < g->cells)
    vyre__release(w, position, count, count);
  half = (low & VYRE_RING_CELL_PHASE) != 0u ? 1u : 0u;
  job.stored = 0u;
  if (index < count)
    status = vyre__run_job(c, w, position << VYRE_RING_INDEX_BITS | index, where, what, half, &job,
                           &value);
  if (w->push.bank_records != 0u)
    vyre__count_group(c, w, half, job.stored, g);
  if (index < count)
    vyre__post(w, position << VYRE_RING_INDEX_BITS | index, value, status);
  vyre_barrier(c); /* all results are posted */
  if (lane == 0u) {
    w->done += g->items;
    /* Release: pairs with the host's acquire when it counts what is finished. */
    vyre_atomic_store_u64(vyre__wide_done(w, vyre_group_id(c, 0)), w->done, VYRE_RELEASE,
                          VYRE_SCOPE_SYSTEM);
    /* Release: pairs with the acquire in vyre__all_done(). */
    vyre_atomic_store_u64(&w->own_claims->done, w->claimed, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
    if (vyre__tell_now_and_then(c, w, vyre_clock_ns(c)))
      m->told_of = w->done;
  }
}

VYRE_SEGMENT(vyre_engine_wide)
(vyre_ctx *c, VYRE_GLOBAL vyre_u8 *ring, VYRE_GLOBAL vyre_u8 *control, VYRE_GLOBAL vyre_u8 *state,
 VYRE_GLOBAL const vyre_u8 *rules, VYRE_GLOBAL const vyre_u8 *input,
 VYRE_GLOBAL vyre_job_record *records, VYRE_LOCAL(vyre__wide) g)
{
  vyre__worker w;
  vyre__mind m;
  if (vyre_group_id(c, 0) >= vyre_push(c, vyre_engine_push)->workers)
    return;
  vyre__worker_init(c, &w, ring, control, state, rules, input, records);
  w.wide = 1u;
  w.done = *vyre__wide_done(&w, vyre_group_id(c, 0));
  w.claimed = w.own_claims->done;
  m.born = vyre_clock_ns(c);
  m.busy = m.born;
  m.told_of = w.done;
  m.misses = 0u;
  m.polls = 0u;
  m.holds = 0u;
  m.announced = 0u;
  m.asked = 0u;
  m.plenty = 0u;
  for (;;) {
    if (vyre_local_id(c, 0) == 0u)
      vyre__decide(c, &w, &m, g);
    vyre_barrier(c);
    if (g->what == VYRE__DO_LEAVE)
      break;
    if (g->what == VYRE__DO_LOOK)
      vyre__look_wide(c, &w, &m, g);
    else
      vyre__serve_wide(c, &w, &m, g);
  }
  if (vyre_local_id(c, 0) == 0u && m.told_of != w.done)
    vyre__tell(c, &w);
}
