/*
 * reap.c - completions: each exactly once, by any number of threads, in any order.
 *
 * An item's result lies in results[], at the place of its position.  The place's completion word
 * has a bit for each item whose completion nobody has taken; while it is the previous tenant's,
 * nobody has taken any.  Whoever clears bits by a compare-and-swap owns these completions; a word
 * without bits lets the ring hand the place out again.  So everything is read before the bits are
 * cleared, and counts only if that succeeded.
 */
#include "core/engine/engine.h"
#include "core/ring/wake.h"

#include <sched.h>

/* Places whose lines are fetched before they are looked at: a worker wrote them. */
#define AHEAD 8u

static uint64_t *completion_of(const vyre_engine *engine, uint64_t position)
{
  return &engine->ring->completion[position & engine->ring->completions_mask];
}

/* How far the word's tenant is beyond this position: 0: it is its own word, -lap: not yet. */
static int64_t beyond(uint64_t word, uint64_t position)
{
  return vyre__ring_distance(vyre__ring_stamp_of(word), vyre__ring_stamp(position));
}

static bool is_consumed(uint64_t word, uint64_t position)
{
  const int64_t ahead = beyond(word, position);
  return ahead > 0 || (ahead == 0 && !(word & VYRE_RING_PENDING_MASK));
}

static bool has_result(const vyre_engine *engine, uint64_t position, uint32_t index,
                       vyre__engine_place *place)
{
  const vyre_ring_result *entry =
      &engine->ring->results[vyre__engine_entry(engine, position, index)];
  const uint64_t stamp = vyre__ring_stamp(position);
  /* Acquire: pairs with the release behind the result; the value and the item's records are there
     if the stamp is this position's. */
  const uint64_t status = __atomic_load_n(&entry->status, __ATOMIC_ACQUIRE);
  const uint64_t value = __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);
  if (vyre__ring_stamp_of(status) != stamp || (uint32_t)(value >> 32) != (uint32_t)stamp)
    return false;
  place->result[index] = (uint32_t)value;
  place->status[index] = (vyre_status)(status & 0xffu);
  return true;
}

static void look_for_results(const vyre_engine *engine, uint64_t position,
                             vyre__engine_place *place)
{
  vyre_status aborted;
  for (uint32_t left = place->pending; left; left &= left - 1) {
    const uint32_t index = (uint32_t)__builtin_ctz(left);
    if (has_result(engine, position, index, place))
      place->finished |= 1u << index;
  }
  if (place->finished == place->pending)
    return;
  /* Acquire: pairs with the release in vyre__engine_abort().  The items are published: before, an
     aborted one is not finished, since its submitter still writes. */
  aborted = __atomic_load_n(&engine->aborted, __ATOMIC_ACQUIRE);
  if (aborted == VYRE_OK)
    return;
  for (uint32_t left = place->pending & ~place->finished; left; left &= left - 1) {
    place->result[__builtin_ctz(left)] = 0;
    place->status[__builtin_ctz(left)] = aborted;
  }
  place->finished = place->pending;
}

void vyre__engine_look(const vyre_engine *engine, uint64_t position, vyre__engine_place *out_place)
{
  /* The items first: behind them the completion word is not older than the tenant before. */
  const uint32_t items = vyre__ring_items_of(engine->ring, position);
  /* Acquire: pairs with the release of whoever took completions here: who waits for these items
     and finds them consumed sees their records as the taker did.  (Clearing the bits decides who
     takes the others; their results have their own acquire.) */
  const uint64_t word = __atomic_load_n(completion_of(engine, position), __ATOMIC_ACQUIRE);
  out_place->word = word;
  out_place->finished = 0;
  out_place->published = items || beyond(word, position) >= 0;
  if (!out_place->published) {
    out_place->pending = 1;
    return;
  }
  out_place->pending =
      is_consumed(word, position) ? 0 : vyre__ring_pending(engine->ring, word, position, items);
  look_for_results(engine, position, out_place);
}

/* Makes these finished completions the caller's; false if another thread was at the place. */
static bool take(vyre_engine *engine, uint64_t position, const vyre__engine_place *place,
                 uint32_t chosen, vyre_completion *out)
{
  uint32_t blocks[VYRE_RING_CELL_ITEMS], n = 0;
  uint64_t word = place->word;
  const uint64_t wanted = vyre__ring_word(vyre__ring_stamp(position)) | (place->pending & ~chosen);
  for (uint32_t left = chosen; left; left &= left - 1, ++out) {
    const uint32_t index = (uint32_t)__builtin_ctz(left);
    const uint64_t entry = vyre__engine_entry(engine, position, index);
    out->ticket = vyre__ring_ticket(position, index);
    /* Relaxed: ordered behind the submitter's store by the acquires of the look. */
    out->correlation = __atomic_load_n(&engine->correlations[entry], __ATOMIC_RELAXED);
    blocks[n++] = vyre__arena_block(&engine->arena, entry);
    out->result = place->result[index];
    out->status = place->status[index];
    out->reserved = 0;
  }
  /* Release: pairs with the submitter's acquire in the ring's gate; the results and correlations
     were read before the place is handed out again.  Relaxed on failure: nothing is used then. */
  if (!__atomic_compare_exchange_n(completion_of(engine, position), &word, wanted, false,
                                   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    return false;
  vyre__arena_consumed(engine, &engine->arena, blocks, n);
  return true;
}

/* The lowest `most` of these bits. */
static uint32_t lowest(uint32_t bits, uint32_t most)
{
  while ((uint32_t)__builtin_popcount(bits) > most)
    bits &= ~(1u << (31 - __builtin_clz(bits)));
  return bits;
}

/* Takes up to `most` completions of a place; `*out_consumed`: none of it is left to take. */
static uint32_t take_some(vyre_engine *engine, uint64_t position, vyre_completion *out,
                          uint32_t most, bool *out_consumed)
{
  for (;;) {
    vyre__engine_place place;
    uint32_t chosen;
    vyre__engine_look(engine, position, &place);
    chosen = lowest(place.finished, most);
    if (!chosen || take(engine, position, &place, chosen, out)) {
      *out_consumed = chosen == place.pending;
      return (uint32_t)__builtin_popcount(chosen);
    }
  }
}

/* Moves `oldest` on to `position` if it is behind. */
static void advance_oldest(vyre_engine *engine, uint64_t position)
{
  /* Relaxed: where a scan begins. */
  uint64_t oldest = __atomic_load_n(&engine->oldest, __ATOMIC_RELAXED);
  /* Release: pairs with the acquires in swap and drain, which do not look at what is before it, and
     in collect(): the head that is read after it is not behind it. */
  while (vyre__ring_distance(position, oldest) > 0 &&
         !__atomic_compare_exchange_n(&engine->oldest, &oldest, position, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
}

/* Moves `oldest` over what is consumed; true if that is everything. */
static bool tidy_oldest(vyre_engine *engine)
{
  /* Acquire: as in collect(). */
  uint64_t position = __atomic_load_n(&engine->oldest, __ATOMIC_ACQUIRE);
  const uint64_t head = vyre__engine_head(engine);
  /* Acquire: what was consumed here is passed on by advance_oldest(). */
  while (position != head &&
         is_consumed(__atomic_load_n(completion_of(engine, position), __ATOMIC_ACQUIRE), position))
    position = vyre__ring_step(position, 1);
  advance_oldest(engine, position);
  return position == head;
}

/*
 * True once no completion will ever be there again.  Judged by the places and not by the counts: a
 * submitter that has taken a place of a closed ring may not have counted its items yet.
 */
static bool is_exhausted(vyre_engine *engine)
{
  return vyre__ring_is_closed(engine->ring) && tidy_oldest(engine);
}

/* Accounts for completions that were taken. */
static void count(vyre_engine *engine, const vyre_completion *completions, uint32_t n)
{
  uint64_t overflows = 0;
  for (uint32_t i = 0; i < n; ++i)
    overflows += completions[i].status == VYRE_ERROR_OVERFLOW;
  /* Acquire and release: pairs with itself in other reapers; the last of them sees what all of them
     took, and tells. */
  __atomic_fetch_add(&engine->consumed, n, __ATOMIC_ACQ_REL);
  if (overflows)
    __atomic_fetch_add(&engine->overflows, overflows, __ATOMIC_RELAXED);
  /* A fence; partners: those in vyre_ring_close() and in a sleeper's vyre__wake_prepare().  Either
     the ring is seen closed here, or whoever is woken by its closing sees what was taken. */
  vyre__ring_changed(engine->ring);
  if (is_exhausted(engine))
    vyre__engine_tell(engine); /* the last one is out: other reapers return CLOSED */
}

/*
 * Takes up to `max` completions.  Looks at no place if the counts say that there is nothing, and
 * stops once it has found as many as they promise.
 */
static uint32_t collect(vyre_engine *engine, vyre_completion *out, uint32_t max)
{
  /* `consumed` first: what changes between the two reads only makes `ready` larger.  Acquire: keeps
     them in that order. */
  const uint64_t consumed = __atomic_load_n(&engine->consumed, __ATOMIC_ACQUIRE);
  const int64_t ready = (int64_t)(vyre__engine_done(engine) - consumed);
  const bool all = __atomic_load_n(&engine->aborted, __ATOMIC_RELAXED) != VYRE_OK;
  uint64_t position, head, first;
  uint32_t n = 0;
  if (ready <= 0 && !all)
    return 0;
  /* Acquire: pairs with the release in advance_oldest().  A head that is read from before it would
     be behind it, and never met. */
  position = first = __atomic_load_n(&engine->oldest, __ATOMIC_ACQUIRE);
  head = vyre__engine_head(engine);
  for (; position != head && n < max && (all || n < ready);
       position = vyre__ring_step(position, 1)) {
    bool over;
    __builtin_prefetch(&engine->ring->results[vyre__engine_entry(engine, position + AHEAD, 0)]);
    n += take_some(engine, position, &out[n], max - n, &over);
    if (over && first == position)
      first = vyre__ring_step(position, 1);
  }
  advance_oldest(engine, first);
  if (n)
    count(engine, out, n);
  return n;
}

/*
 * Takes from the first place that is not consumed, whatever the counts say.  A result is there a
 * moment before it is counted, and a caller may know of it already, from a drain that returned: it
 * must not be told that there is nothing.
 */
static uint32_t collect_first(vyre_engine *engine, vyre_completion *out, uint32_t max)
{
  uint64_t position;
  bool over;
  uint32_t n;
  if (tidy_oldest(engine))
    return 0;
  /* Acquire: as in collect(). */
  position = __atomic_load_n(&engine->oldest, __ATOMIC_ACQUIRE);
  if (position == vyre__engine_head(engine))
    return 0;
  n = take_some(engine, position, out, max, &over);
  if (n)
    count(engine, out, n);
  return n;
}

/*
 * Whoever reaps as fast as items are finished gets them one by one, and takes a core from the
 * workers for it where these are the host's own.  So with something there, less than was asked for,
 * and more under way, the workers go first.
 */
static void let_workers_run(const vyre_engine *engine, uint32_t max)
{
  if (!engine->shares_cores)
    return;
  const uint64_t consumed = __atomic_load_n(&engine->consumed, __ATOMIC_RELAXED);
  const int64_t ready = (int64_t)(vyre__engine_done(engine) - consumed);
  if (ready > 0 && ready < max && vyre__engine_unfinished(engine))
    sched_yield();
}

typedef struct reaping {
  vyre_completion *out;
  uint32_t max;
  uint32_t n;
  bool closed;
} reaping;

static bool reaped(vyre_engine *engine, void *self, uint64_t *out_blocked)
{
  reaping *reap = self;
  reap->n = collect(engine, reap->out, reap->max);
  if (!reap->n)
    reap->closed = is_exhausted(engine);
  if (reap->n || reap->closed)
    return true;
  if (engine->plan.max_item_ns)
    *out_blocked = vyre__engine_first_unfinished(engine);
  return false;
}

vyre_status vyre_engine_reap(vyre_engine *engine, vyre_completion *out_completions, uint32_t max,
                             uint64_t timeout_ns, uint32_t *out_n)
{
  reaping reap = {.out = out_completions, .max = max};
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (!out_completions || !max)
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (timeout_ns)
    let_workers_run(engine, max);
  status = vyre__engine_wait_until(engine, reaped, &reap, timeout_ns);
  if (status != VYRE_OK && !timeout_ns) {
    reap.n = collect_first(engine, out_completions, max);
    status = reap.n ? VYRE_OK : VYRE_ERROR_EMPTY;
  }
  if (status != VYRE_OK)
    return status;
  if (!reap.n)
    return VYRE_ERROR_CLOSED;
  if (out_n)
    *out_n = reap.n;
  return VYRE_OK;
}

typedef struct waiting {
  uint64_t ticket;
  vyre_completion completion;
  vyre_status status;
} waiting;

static bool waited(vyre_engine *engine, void *self, uint64_t *out_blocked)
{
  waiting *wait = self;
  const uint64_t position = vyre__ring_position_of(wait->ticket);
  const uint32_t bit = 1u << vyre__ring_index_of(wait->ticket);
  vyre__engine_place place;
  *out_blocked = wait->ticket;
  wait->status = VYRE_OK;
  for (;;) {
    vyre__engine_look(engine, position, &place);
    if (!(place.finished & bit))
      break;
    if (take(engine, position, &place, bit, &wait->completion))
      return true;
  }
  if ((place.pending & bit) || !place.published)
    return false;
  wait->status = VYRE_ERROR_NOT_FOUND;
  return true;
}

vyre_status vyre_engine_wait(vyre_engine *engine, uint64_t ticket, uint64_t timeout_ns,
                             vyre_completion *out_completion)
{
  const uint64_t position = vyre__ring_position_of(ticket);
  waiting wait = {.ticket = ticket, .status = VYRE_OK};
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (ticket > VYRE_RING_TICKET_MASK || vyre__ring_index_of(ticket) >= VYRE_RING_CELL_ITEMS ||
      vyre__ring_distance(position, engine->first_position) < 0 ||
      vyre__ring_distance(position, vyre__engine_head(engine)) >= 0)
    return VYRE_ERROR_NOT_FOUND;
  status = vyre__engine_wait_until(engine, waited, &wait, timeout_ns);
  if (status != VYRE_OK)
    return status;
  if (wait.status != VYRE_OK)
    return wait.status;
  (void)tidy_oldest(engine); /* so that waits alone keep it near the head */
  count(engine, &wait.completion, 1);
  if (out_completion)
    *out_completion = wait.completion;
  return VYRE_OK;
}
