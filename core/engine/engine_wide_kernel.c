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
 *   - Whole cells are claimed, by an add to `offer` in device memory: it always takes what it
 * finds, where an exchange would let one group in a trip succeed and send all others back.
 *   - Eight work items serve a cell, seven of them with items.  Its place is given back by another
 *     subgroup where there is one: the fence for it does not hold up those who run the items.
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
/* Steps without anything to do between two looks at the clock. */
#define VYRE__CLOCK_LOOKS 16u

/* What a group does next. */
#define VYRE__DO_NOTHING 0u
#define VYRE__DO_LEAVE 1u
#define VYRE__DO_LOOK 2u
#define VYRE__DO_SERVE 3u

/* Workgroup memory of a group: written by item 0 and read by all behind a barrier, but for the
   words at its end. */
typedef struct vyre__wide {
  vyre_u64 position; /* LOOK: of the first cell; SERVE: the same, its low 32 bits at least */
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
  vyre_u64 now;     /* looked up now and then */
  vyre_u64 told_of; /* completions that the host was told of */
  vyre_u32 misses;
  vyre_u32 polls; /* looks that found nothing, since `busy` */
  vyre_u32 holds; /* 1: this group is the one that looks; then: */
  vyre_u32 empty; /* 1: nothing is offered; that stays so until it announces something */
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
 * `offer` has the low 32 bits of two positions: the next cell to claim (high half), and the one
 * behind the last that is announced (low half).  Who claims adds before it knows whether enough is
 * left, so the next cell may be beyond the end, by one claim for each group at most: then nothing
 * is left.  The group that looks puts the two together again.
 */
VYRE_FUNCTION vyre_u32 vyre__left(const vyre__worker *w, vyre_u64 offer)
{
  const vyre_u32 left = (vyre_u32)offer - (vyre_u32)(offer >> 32);
  return left <= w->cells_mask + 1u ? left : 0u;
}

/* Before a claim, so that nobody sees one that is not counted; taken back if it fails. */
VYRE_FUNCTION void vyre__count_claim(const vyre__worker *w, vyre_u64 claims)
{
  /* Relaxed: the add to `offer` releases it, or who gives the looker's word away. */
  vyre_atomic_store_u64(&w->own_claims->items, claims, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}

/*
 * Takes cells of an offer as it was read: a fair share while there is not enough for everybody, but
 * as many as items that step together can serve at once.  EMPTY if there is none.
 */
VYRE_FUNCTION vyre_u32 vyre__claim_cells(vyre_ctx *c, vyre__worker *w, vyre_u64 offer,
                                         VYRE_SHARED vyre__wide *g)
{
  const vyre_u32 most = vyre_local_size(c, 0) / VYRE__CELL_LANES;
  const vyre_u32 together = vyre_subgroup_size(c) / VYRE__CELL_LANES;
  vyre_u32 left = vyre__left(w, offer), n = left / w->push.workers;
  if (left == 0u)
    return VYRE__CLAIM_EMPTY;
  if (n < together)
    n = together < left ? together : left;
  n = n == 0u ? 1u : n > most ? most : n;
  vyre__count_claim(w, w->claimed + 1u);
  /* Acquire: pairs with the release in vyre__announce(): who takes cells sees them whole.  Release:
     pairs with the acquire in vyre__all_done(). */
  offer = vyre_atomic_add_u64(&w->state->offer, (vyre_u64)n << 32, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);
  left = vyre__left(w, offer);
  if (left == 0u) {
    vyre__count_claim(w, w->claimed);
    return VYRE__CLAIM_LOST;
  }
  w->claimed += 1u;
  g->position = offer >> 32;
  g->cells = n < left ? n : left;
  return VYRE__CLAIM_TAKEN;
}

/* The cells before `position` are published, and dealt with.  Only who looks says so. */
VYRE_FUNCTION void vyre__advance(const vyre__worker *w, vyre__mind *m, vyre_u64 position)
{
  m->announced = position & VYRE_RING_POSITION_MASK;
  /* Relaxed: for who looks next; the looker's word orders it. */
  vyre_atomic_store_u64(&w->state->announced, m->announced, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}

/* Offers the cells from `announced` up to `position`, behind what is left. */
VYRE_FUNCTION void vyre__announce(const vyre__worker *w, vyre__mind *m, vyre_u64 position)
{
  vyre_u64 old = vyre_atomic_load_u64(&w->state->offer, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  for (;;) {
    const vyre_u64 next = vyre__left(w, old) != 0u ? old >> 32 : m->announced & 0xffffffffu;
    /* Release: pairs with the acquire in vyre__claim_cells(); this group has acquired every cell's
       published word, so who claims the cells sees the items. */
    const vyre_u64 seen =
        vyre_atomic_cas_u64(&w->state->offer, old, next << 32 | (position & 0xffffffffu),
                            VYRE_RELEASE, VYRE_SCOPE_DEVICE);
    if (seen == old)
      break;
    old = seen;
  }
  m->empty = 0u;
  vyre__advance(w, m, position);
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
  /* What was announced before it may still be there for others: then it is offered like them.  Else
     nobody but this group can take it: it is not offered, and `announced` goes past it. */
  if (m->empty == 0u) {
    vyre__announce(w, m, m->announced + 1u);
    return VYRE__DO_NOTHING;
  }
  w->claimed += 1u;
  vyre__count_claim(w, w->claimed);
  vyre__advance(w, m, m->announced + 1u);
  g->cells = 1u;
  return VYRE__DO_SERVE;
}

/*
 * A step without anything to claim: becomes the group that looks, or rests.  `offer` as it was read
 * in this step.
 */
VYRE_FUNCTION vyre_u32 vyre__idle(vyre_ctx *c, vyre__worker *w, vyre__mind *m, vyre_u64 offer,
                                  VYRE_SHARED vyre__wide *g)
{
  vyre_u32 what = VYRE__DO_NOTHING;
  if (m->misses % VYRE__CLOCK_LOOKS == 0u)
    m->now = vyre_clock_ns(c);
  if (m->now - m->born >= w->push.max_resident_ns)
    vyre__leave_now(w);
  if (m->told_of != w->done) {
    vyre__tell(c, w);
    m->told_of = w->done;
  }
  if (m->holds != 0u) {
    m->empty = vyre__left(w, offer) == 0u ? 1u : 0u; /* read while it holds the word */
  } else if (vyre__take_looker(w)) {
    m->holds = 1u;
    m->misses = 0u;
    m->polls = 0u;
    m->busy = m->now;
    /* Relaxed: ordered by the exchange that took the word.  What was seen of the offer before it
       may be old. */
    m->empty =
        vyre__left(w, vyre_atomic_load_u64(&w->state->offer, VYRE_RELAXED, VYRE_SCOPE_DEVICE)) == 0u
            ? 1u
            : 0u;
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
  if (m->empty != 0u && vyre__idle_for_long(w, m->now, m->busy, m->polls)) {
    /* Relaxed: for itself, in there. */
    vyre_atomic_store_u64(&w->state->tail, m->announced << VYRE_RING_INDEX_BITS, VYRE_RELAXED,
                          VYRE_SCOPE_DEVICE);
    vyre__try_to_leave(w);
    m->busy = m->now;
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
    /* Relaxed, all three: marks; the add finds out what is really offered.  Read before any of them
       is looked at: one trip to the device's memory. */
    const vyre_u32 asked = vyre_atomic_load_u32(&w->state->asked, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    const vyre_u32 leave = vyre__must_leave(w, 0u);
    const vyre_u64 offer = vyre_atomic_load_u64(&w->state->offer, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    vyre_u32 claim = VYRE__CLAIM_EMPTY;
    if (leave != 0u)
      what = VYRE__DO_LEAVE;
    /* Who looks and sees no end goes on looking, for the others. */
    else if ((asked & VYRE_ENGINE_PARK) == 0u && (m->holds == 0u || m->plenty == 0u))
      claim = vyre__claim_cells(c, w, offer, g);
    if (claim == VYRE__CLAIM_TAKEN)
      what = VYRE__DO_SERVE;
    else if (claim == VYRE__CLAIM_EMPTY && what == VYRE__DO_NOTHING)
      what = vyre__idle(c, w, m, offer, g);
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
    m->busy = m->now = vyre_clock_ns(c);
    m->polls = 0u;
  }
}

/*
 * Posts a result, as vyre__post() does, but so that nothing waits for the link between its words:
 * the host takes a result when both of them have the stamp.
 */
VYRE_FUNCTION void vyre__post_both(const vyre__worker *w, vyre_u64 ticket, vyre_u32 value,
                                   vyre_u32 status)
{
  const vyre_u64 stamp = vyre__stamp(ticket >> VYRE_RING_INDEX_BITS);
  VYRE_GLOBAL vyre_ring_result *result = vyre__result_of(w, ticket);
  /* Pairs with the host's acquire of either word; records and counts are there before both. */
  vyre_fence(VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
  vyre_atomic_store_u64(&result->value, stamp << 32 | value, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  vyre_atomic_store_u64(&result->status, stamp << VYRE_RING_STAMP_SHIFT | status, VYRE_RELAXED,
                        VYRE_SCOPE_SYSTEM);
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

/* The position that a published word is of. */
VYRE_FUNCTION vyre_u64 vyre__position_of(vyre_u64 published)
{
  return ((published >> VYRE_RING_STAMP_SHIFT) - 1u) & VYRE_RING_POSITION_MASK;
}

/* All is posted: item 0 counts, for the host and for whoever asks whether all is done. */
VYRE_FUNCTION void vyre__served(vyre_ctx *c, vyre__worker *w, vyre__mind *m, vyre_u64 next,
                                VYRE_SHARED vyre__wide *g)
{
  w->done += g->items;
  /* Relaxed: a mirror for statistics; several groups write it and it may go back for a moment. */
  vyre_atomic_store_u64(&w->header->tail, next, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  /* Release: pairs with the host's acquire when it counts what is finished. */
  vyre_atomic_store_u64(vyre__wide_done(w, vyre_group_id(c, 0)), w->done, VYRE_RELEASE,
                        VYRE_SCOPE_SYSTEM);
  /* Release: pairs with the acquire in vyre__all_done(). */
  vyre_atomic_store_u64(&w->own_claims->done, w->claimed, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
  if (vyre__tell_now_and_then(c, w, vyre_clock_ns(c)))
    m->told_of = w->done;
}

VYRE_FUNCTION void vyre__serve_wide(vyre_ctx *c, vyre__worker *w, vyre__mind *m,
                                    VYRE_SHARED vyre__wide *g)
{
  const vyre_u32 lane = vyre_local_id(c, 0), index = lane % VYRE__CELL_LANES;
  const vyre_u32 first = (vyre_u32)g->position, mine = lane / VYRE__CELL_LANES;
  const vyre_u32 other = vyre_local_size(c, 0) - 1u - lane; /* whose place it gives back */
  vyre_u64 where = 0u, what = 0u, published = 0u, given = 0u, position;
  vyre_u32 count = 0u, half, value = 0u, status = 0u;
  vyre_job job;
  if (mine < g->cells) {
    VYRE_GLOBAL const vyre_ring_cell *cell = &w->cells[(first + mine) & w->cells_mask];
    VYRE_GLOBAL const vyre_u64 *from = (VYRE_GLOBAL const vyre_u64 *)cell->item[0];
    /* Relaxed: announced, so the stamp is this position's and the items are whole.  An item is
       fetched before its number is known to be one: both come in one trip. */
    const vyre_u32 there = index < VYRE_RING_CELL_ITEMS ? index : 0u;
    where = from[2u * there];
    what = from[2u * there + 1u];
    published = vyre_atomic_load_u64(&cell->published, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
    count = (vyre_u32)published & VYRE_RING_COUNT_MASK;
    if (index == VYRE_RING_CELL_ITEMS && count != 0u)
      vyre_atomic_add_u32(&g->items, count, VYRE_RELAXED, VYRE_SCOPE_WORKGROUP);
  }
  if (other < g->cells) /* Relaxed: as above. */
    given = vyre_atomic_load_u64(&w->cells[(first + other) & w->cells_mask].published, VYRE_RELAXED,
                                 VYRE_SCOPE_SYSTEM);
  position = vyre__position_of(published);
  if (lane == 0u) /* Relaxed: tells the host which items are in somebody's hands. */
    vyre_atomic_store_u64(&w->own->until, (position + g->cells) << VYRE_RING_INDEX_BITS,
                          VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  vyre_barrier(c); /* all copies are made */
  if (other < g->cells)
    vyre__release(w, vyre__position_of(given), (vyre_u32)given & VYRE_RING_COUNT_MASK,
                  (vyre_u32)given & VYRE_RING_COUNT_MASK);
  half = ((vyre_u32)published & VYRE_RING_CELL_PHASE) != 0u ? 1u : 0u;
  job.stored = 0u;
  if (index < count)
    status = vyre__run_job(c, w, position << VYRE_RING_INDEX_BITS | index, where, what, half, &job,
                           &value);
  if (w->push.bank_records != 0u)
    vyre__count_group(c, w, half, job.stored, g);
  else
    vyre_barrier(c); /* a place is given back before its last completion is seen */
  if (index < count)
    vyre__post_both(w, position << VYRE_RING_INDEX_BITS | index, value, status);
  vyre_barrier(c); /* all results are posted */
  if (lane == 0u)
    vyre__served(c, w, m, (position + g->cells) << VYRE_RING_INDEX_BITS, g);
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
  m.now = m.born;
  m.told_of = w.done;
  m.misses = 0u;
  m.polls = 0u;
  m.holds = 0u;
  m.empty = 0u;
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
