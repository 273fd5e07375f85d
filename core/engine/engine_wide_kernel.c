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
  vyre_u32 cells;    /* how many */
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
  vyre_u32 holds; /* 1: this group is the one that looks */
} vyre__mind;

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

/* Says that the cells before `position` are published.  `found` of `cells` that were looked at. */
VYRE_FUNCTION void vyre__announce(const vyre__worker *w, vyre_u64 position, vyre_u32 found,
                                  vyre_u32 cells)
{
  /* Relaxed: a guess at how many to look at next, by whoever looks then. */
  vyre_atomic_store_u32(&w->state->width, found == cells && cells > 1u ? 1u : 0u, VYRE_RELAXED,
                        VYRE_SCOPE_DEVICE);
  if (found == 0u)
    return;
  /* Release: pairs with the acquire in vyre__claim_cells(); this group has acquired every cell's
     published word, so who sees this position sees the items. */
  vyre_atomic_store_u64(&w->state->announced, (position + found) & VYRE_RING_POSITION_MASK,
                        VYRE_RELEASE, VYRE_SCOPE_DEVICE);
}

/* ---- claiming ---- */

/*
 * Takes whole cells that are announced: a fair share while there is not enough for everybody.
 * EMPTY if there is none.
 */
VYRE_FUNCTION vyre_u32 vyre__claim_cells(vyre__worker *w, vyre_u32 most, VYRE_SHARED vyre__wide *g)
{
  /* The tail first: what is announced then is not before it.  Acquire: keeps the two in order. */
  const vyre_u64 tail = vyre_atomic_load_u64(&w->state->tail, VYRE_ACQUIRE, VYRE_SCOPE_DEVICE);
  const vyre_u64 position = tail >> VYRE_RING_INDEX_BITS;
  /* Acquire: pairs with the release in vyre__announce(). */
  const vyre_u64 there =
      (vyre_atomic_load_u64(&w->state->announced, VYRE_ACQUIRE, VYRE_SCOPE_DEVICE) - position) &
      VYRE_RING_POSITION_MASK;
  vyre_u64 n = there / w->push.workers, next;
  if (there == 0u)
    return VYRE__CLAIM_EMPTY;
  n = n == 0u ? 1u : n > most ? most : n;
  next = ((position + n) & VYRE_RING_POSITION_MASK) << VYRE_RING_INDEX_BITS;
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

/* ---- deciding: item 0 ---- */

/*
 * One step of the group that looks: the host's wish first, then the ring.  One trip sees whether
 * the next cell is there and whether more are; for more than one the whole group looks.
 */
VYRE_FUNCTION vyre_u32 vyre__look_once(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                       VYRE_SHARED vyre__wide *g)
{
  /* Acquire: a launch after a stop sees what the host did before it. */
  const vyre_u32 stop = vyre_atomic_load_u32(&w->header->stop, VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM);
  /* Relaxed: only who looks stores it. */
  const vyre_u64 position =
      vyre_atomic_load_u64(&w->state->announced, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_u32 first, second, low;
  /* Relaxed: a mark, no data. */
  if (vyre_atomic_load_u32(&w->state->asked, VYRE_RELAXED, VYRE_SCOPE_DEVICE) != stop)
    vyre_atomic_store_u32(&w->state->asked, stop, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  if ((stop & VYRE_ENGINE_STOP) != 0u)
    vyre__leave_now(w);
  else if ((stop & VYRE_ENGINE_PARK) != 0u)
    vyre__park(c, w, m->misses);
  if ((stop & (VYRE_ENGINE_STOP | VYRE_ENGINE_PARK)) != 0u)
    return VYRE__DO_NOTHING;
  g->position = position;
  g->cells = vyre_local_size(c, 0);
  g->missing = g->cells;
  if (vyre_atomic_load_u32(&w->state->width, VYRE_RELAXED, VYRE_SCOPE_DEVICE) != 0u)
    return VYRE__DO_LOOK;
  second = vyre__published(w, position + 1u, &low);
  first = vyre__published(w, position, &low);
  if (first != 0u && second != 0u)
    return VYRE__DO_LOOK;
  if (first != 0u) {
    vyre__announce(w, position, 1u, 1u);
    m->misses = 0u;
    m->busy = vyre_clock_ns(c);
  }
  return VYRE__DO_NOTHING;
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
    m->busy = now;
  }
  if (m->holds == 0u) {
    vyre_backoff(c, m->misses);
    m->misses += 1u;
    return VYRE__DO_NOTHING;
  }
  m->misses += 1u;
  what = vyre__look_once(c, w, m, g);
  if (what == VYRE__DO_NOTHING && m->misses != 0u) {
    /* Each look is a trip across the link already. */
    if (m->misses > VYRE__EAGER_LOOKS)
      vyre_backoff(c, m->misses - VYRE__EAGER_LOOKS);
    if (now - m->busy >= w->push.max_idle_ns) {
      vyre__try_to_leave(w);
      m->busy = now;
    }
  }
  return what;
}

/* What the group does next; returns when that is more than nothing. */
VYRE_FUNCTION void vyre__decide(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                VYRE_SHARED vyre__wide *g)
{
  const vyre_u32 most = vyre_local_size(c, 0) / VYRE__CELL_LANES;
  for (;;) {
    /* Relaxed: a mark, no data. */
    const vyre_u32 asked = vyre_atomic_load_u32(&w->state->asked, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    vyre_u32 claim = VYRE__CLAIM_EMPTY;
    g->what = VYRE__DO_LEAVE;
    if (vyre__must_leave(w, 0u))
      break;
    if ((asked & VYRE_ENGINE_PARK) == 0u)
      claim = vyre__claim_cells(w, most, g);
    g->what = VYRE__DO_SERVE;
    if (claim == VYRE__CLAIM_TAKEN)
      break;
    if (claim == VYRE__CLAIM_LOST)
      continue;
    g->what = vyre__idle(c, w, m, g);
    if (g->what != VYRE__DO_NOTHING)
      return; /* it looks: it holds the word until it has */
  }
  g->items = 0u;
  g->stored_0 = 0u;
  g->stored_1 = 0u;
  m->misses = 0u;
  if (m->holds != 0u)
    vyre__give_looker(w);
  m->holds = 0u;
}

/* ---- what a group does: all items ---- */

VYRE_FUNCTION void vyre__look_wide(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                   VYRE_SHARED vyre__wide *g)
{
  const vyre_u32 lane = vyre_local_id(c, 0);
  vyre_u32 low;
  if (!vyre__published(w, g->position + lane, &low))
    vyre_atomic_min_u32(&g->missing, lane, VYRE_RELAXED, VYRE_SCOPE_WORKGROUP);
  vyre_barrier(c);
  if (lane == 0u) {
    vyre__announce(w, g->position, g->missing, g->cells);
    if (g->missing != 0u) {
      m->misses = 0u;
      m->busy = vyre_clock_ns(c);
    }
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
    /* Relaxed: announced, so the stamp is this position's and the items are whole. */
    low = (vyre_u32)vyre_atomic_load_u64(&cell->published, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
    count = low & VYRE_RING_COUNT_MASK;
    if (index < count) {
      where = from[2u * index];
      what = from[2u * index + 1u];
    }
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
    vyre_atomic_store_u64(&w->own->done, w->done, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
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
  w.claimed = w.own_claims->done;
  m.born = vyre_clock_ns(c);
  m.busy = m.born;
  m.told_of = w.done;
  m.misses = 0u;
  m.holds = 0u;
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
