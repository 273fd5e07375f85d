/*
 * engine_kernel.c - the engine's device code, in the kernel language.
 *
 * Goes behind the handlers of a set and the generated vyre__call_handler() (entries.c), with
 * vyre_ring_layout.h and engine_layout.h in front of it.  Two entries:
 *   vyre_engine_persistent  workers that serve the ring until they are asked to leave, or idle;
 *   vyre_engine_batch       one work item for each item of a list.
 * Both run an item through vyre__run_item(), so their results are the same.
 *
 * Nothing keeps an array of its own: on a GPU it would lie in memory.
 *
 * A group is one worker and has one work item.  Across the link only loads and stores are used;
 * words that workers contend for lie in device memory.  The one exception is the wake word, and
 * only on a device that can wake host threads, which shares the host's memory for good.
 */
#ifndef VYRE_KERNEL_H
#include "vyre_kernel.h"
#endif

/* Most items that a worker claims at once, and for how long it likes such a batch to run. */
#define VYRE__CLAIM_MOST 32u
#define VYRE__CLAIM_NS 20000u
/* While there is more to do, sleeping host threads are woken this often and not for each item. */
#define VYRE__TELL_NS 500000u

typedef struct vyre__worker {
  VYRE_GLOBAL vyre_ring_header *header;
  VYRE_GLOBAL vyre_ring_cell *cells;
  VYRE_GLOBAL vyre_u64 *released;
  VYRE_GLOBAL vyre_ring_result *results;
  VYRE_GLOBAL vyre_engine_control *control;
  VYRE_GLOBAL vyre_engine_worker *workers;
  VYRE_GLOBAL vyre_engine_worker *own;
  VYRE_GLOBAL vyre_engine_state *state;
  VYRE_GLOBAL vyre_engine_claims *claims;
  VYRE_GLOBAL vyre_engine_claims *own_claims;
  VYRE_GLOBAL vyre_u32 *taken;
  VYRE_GLOBAL const vyre_u8 *rules;
  VYRE_GLOBAL const vyre_u8 *input;
  VYRE_GLOBAL vyre_job_record *records;
  vyre_u64 cells_mask;
  vyre_u64 results_mask;
  vyre_u64 claimed;
  vyre_u64 done;
  vyre_u64 stored_0, stored_1; /* by half of the bank */
  vyre_u32 wide;               /* 1: engine_wide_kernel.c */
  vyre_engine_push push;
} vyre__worker;

/* What one exchange takes: consecutive items, in cells that the worker has looked at. */
typedef struct vyre__hand {
  vyre_u64 position; /* of the first cell */
  vyre_u32 index;    /* of the first item in it */
  vyre_u32 cells;    /* the last one perhaps in part */
  vyre_u32 items;
  vyre_u64 low_0, low_1; /* four bits for each cell: its count and phase */
} vyre__hand;

/* Cells whose four bits one word of a hand has. */
#define VYRE__HAND_CELLS 16u

/*
 * Runs one item and returns its status; nothing is read for an item that cannot be run.  The job
 * has its ticket and its place in the bank.
 */
VYRE_FUNCTION vyre_u32 vyre__run_item(vyre_ctx *c, const vyre_engine_push *push,
                                      VYRE_GLOBAL const vyre_u8 *rules,
                                      VYRE_GLOBAL const vyre_u8 *input, vyre_u32 offset,
                                      vyre_u32 size, vyre_job *job, vyre_u32 *out_value)
{
  VYRE_GLOBAL const vyre_engine_rule *rule = (VYRE_GLOBAL const vyre_engine_rule *)rules;
  *out_value = 0u;
  if (job->rule_set_id >= push->rule_sets || offset > push->input_size ||
      size > push->input_size - offset)
    return VYRE__ERROR_INVALID_ARGUMENT;
  rule += job->rule_set_id;
  *out_value = vyre__call_handler(c, rule->handler, input + offset, size, rules + rule->offset,
                                  rule->size, job);
  return job->stored < job->wanted ? VYRE__ERROR_OVERFLOW : VYRE__OK;
}

/* ---- the persistent entry ---- */

VYRE_FUNCTION vyre_u64 vyre__stamp(vyre_u64 position)
{
  return (position + 1u) & VYRE_RING_POSITION_MASK;
}

/* True if the cell of this position can be read; `out_low` has its count and phase. */
VYRE_FUNCTION vyre_u32 vyre__published(const vyre__worker *w, vyre_u64 position, vyre_u32 *out_low)
{
  vyre_u64 word;
  position &= VYRE_RING_POSITION_MASK;
  /* Acquire: pairs with the producer's release of `published`; the items are whole behind it. */
  word = vyre_atomic_load_u64(&w->cells[position & w->cells_mask].published, VYRE_ACQUIRE,
                              VYRE_SCOPE_SYSTEM);
  *out_low = (vyre_u32)word & ((1u << VYRE_RING_STAMP_SHIFT) - 1u);
  return (word >> VYRE_RING_STAMP_SHIFT) == vyre__stamp(position) ? 1u : 0u;
}

/* Items of a cell from `index` on; none if the cell has no such item. */
VYRE_FUNCTION vyre_u32 vyre__items_from(vyre_u32 low, vyre_u32 index)
{
  const vyre_u32 count = low & VYRE_RING_COUNT_MASK;
  return count > index ? count - index : 0u;
}

/* What the published word of the hand's k-th cell says about count and phase. */
VYRE_FUNCTION vyre_u32 vyre__low(const vyre__hand *hand, vyre_u32 k)
{
  return (vyre_u32)vyre_shr_u64(k < VYRE__HAND_CELLS ? hand->low_0 : hand->low_1, 4u * k) & 15u;
}

/* Looks from the tail on for `most` items; the last cell may have some more. */
VYRE_FUNCTION void vyre__look(const vyre__worker *w, vyre_u64 tail, vyre_u32 most, vyre__hand *hand)
{
  vyre_u32 index = (vyre_u32)tail & VYRE_RING_INDEX_MASK, low;
  hand->position = tail >> VYRE_RING_INDEX_BITS;
  hand->index = index;
  hand->cells = 0u;
  hand->items = 0u;
  hand->low_0 = 0u;
  hand->low_1 = 0u;
  while (hand->items < most && hand->cells < VYRE__CLAIM_MOST &&
         vyre__published(w, hand->position + hand->cells, &low)) {
    hand->items += vyre__items_from(low, index);
    low &= VYRE_RING_COUNT_MASK | VYRE_RING_CELL_PHASE;
    if (hand->cells < VYRE__HAND_CELLS)
      hand->low_0 |= vyre_shl_u64(low, 4u * hand->cells);
    else
      hand->low_1 |= vyre_shl_u64(low, 4u * hand->cells);
    hand->cells += 1u;
    index = 0u;
  }
}

/* Leaves the first `n` items in the hand; returns the ticket behind them. */
VYRE_FUNCTION vyre_u64 vyre__cut(vyre__hand *hand, vyre_u32 n)
{
  vyre_u32 index = hand->index, left = n, k;
  for (k = 0u; k < hand->cells; ++k) {
    const vyre_u32 there = vyre__items_from(vyre__low(hand, k), index);
    if (there > left) {
      index += left;
      hand->cells = left != 0u ? k + 1u : k;
      break;
    }
    left -= there;
    index = 0u;
  }
  hand->items = n;
  return ((hand->position + k) & VYRE_RING_POSITION_MASK) << VYRE_RING_INDEX_BITS | index;
}

/* How a look at the ring ended. */
#define VYRE__CLAIM_EMPTY 0u
#define VYRE__CLAIM_LOST 1u /* another worker was faster */
#define VYRE__CLAIM_TAKEN 2u

/*
 * Takes the next items, at most `most`, and no more than a fair share when few are left: when there
 * is not as much for every worker, as far as cells like these go.  A stale tail does no harm: its
 * cell then carries another stamp, or the exchange fails.
 */
VYRE_FUNCTION vyre_u32 vyre__claim(vyre__worker *w, vyre_u32 most, vyre__hand *hand)
{
  /* Relaxed: the tail only hands out tickets; what they hold is ordered by `published`. */
  const vyre_u64 tail = vyre_atomic_load_u64(&w->state->tail, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_u64 next;
  vyre_u32 n, low;
  vyre__look(w, tail, most, hand);
  if (hand->cells == 0u)
    return VYRE__CLAIM_EMPTY;
  n = hand->items < most ? hand->items : most;
  if (n > 1u &&
      (n < most ||
       !vyre__published(w, hand->position + (vyre_u64)hand->cells * w->push.workers - 1u, &low))) {
    n /= w->push.workers;
    n = n == 0u ? 1u : n;
  }
  next = vyre__cut(hand, n);
  /* Before the exchange, so that nobody sees the items taken and not counted.  Relaxed: the
     exchange releases it. */
  vyre_atomic_store_u64(&w->own_claims->items, w->claimed + n, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  /* Release: pairs with the acquire in vyre__all_done().  Between workers the exchange alone
     decides whose the items are. */
  if (vyre_atomic_cas_u64(&w->state->tail, tail, next, VYRE_RELEASE, VYRE_SCOPE_DEVICE) != tail) {
    vyre_atomic_store_u64(&w->own_claims->items, w->claimed, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    return VYRE__CLAIM_LOST;
  }
  w->claimed += n;
  /* Relaxed: tells the host which items are in somebody's hands. */
  vyre_atomic_store_u64(&w->own->until, next, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  /* A mirror for statistics; several workers write it and it may go back for a moment. */
  vyre_atomic_store_u64(&w->header->tail, next, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  return VYRE__CLAIM_TAKEN;
}

/* Gives the job its half of the bank, and makes the half's other cursor ready for its next use. */
VYRE_FUNCTION void vyre__open_bank(const vyre__worker *w, vyre_u32 half, vyre_job *job)
{
  vyre_u32 k;
  job->records = w->records + (vyre_u64)half * w->push.bank_records;
  job->cursor = &w->state->cursor[half][0];
  job->capacity = w->push.bank_records;
  if (job->capacity == 0u)
    return;
  /* Relaxed: the host stored it before it published this item. */
  k = vyre_atomic_load_u32(&w->control->cursor[half], VYRE_RELAXED, VYRE_SCOPE_SYSTEM) & 1u;
  job->cursor = &w->state->cursor[half][k];
  /* Relaxed: the half is used again only after this item completed, and its completion (release)
     reaches the next user through the host (acquire, then release of the item). */
  if (vyre_atomic_load_u32(&w->state->cursor[half][1u - k], VYRE_RELAXED, VYRE_SCOPE_DEVICE) != 0u)
    vyre_atomic_store_u32(&w->state->cursor[half][1u - k], 0u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}

VYRE_FUNCTION VYRE_GLOBAL vyre_ring_result *vyre__result_of(const vyre__worker *w, vyre_u64 ticket)
{
  const vyre_u64 place = (ticket >> VYRE_RING_INDEX_BITS) & w->results_mask;
  return &w->results[place << VYRE_RING_INDEX_BITS | (ticket & VYRE_RING_INDEX_MASK)];
}

/* Posts a result.  After it the host may hand the result's place to another item. */
VYRE_FUNCTION void vyre__post(const vyre__worker *w, vyre_u64 ticket, vyre_u32 value,
                              vyre_u32 status)
{
  const vyre_u64 stamp = vyre__stamp(ticket >> VYRE_RING_INDEX_BITS);
  VYRE_GLOBAL vyre_ring_result *result = vyre__result_of(w, ticket);
  vyre_atomic_store_u64(&result->value, stamp << 32 | value, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  /* Release: pairs with the host's acquire of this word; records, counts and the value are there
     before it. */
  vyre_atomic_store_u64(&result->status, stamp << VYRE_RING_STAMP_SHIFT | status, VYRE_RELEASE,
                        VYRE_SCOPE_SYSTEM);
}

/* Counts records that an item stored.  Relaxed: the completion that follows publishes it. */
VYRE_FUNCTION void vyre__count_stored(vyre__worker *w, vyre_u32 half, vyre_u32 n)
{
  const vyre_u64 stored = (half == 0u ? w->stored_0 : w->stored_1) + n;
  if (half == 0u)
    w->stored_0 = stored;
  else
    w->stored_1 = stored;
  vyre_atomic_store_u64(&w->own->stored[half], stored, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
}

/*
 * Runs one item that was copied out of its cell; returns its status.  `where` and `what` are its
 * two halves: offset and size of its input, rule set and correlation, the first one low.
 */
VYRE_FUNCTION vyre_u32 vyre__run_job(vyre_ctx *c, const vyre__worker *w, vyre_u64 ticket,
                                     vyre_u64 where, vyre_u64 what, vyre_u32 half, vyre_job *job,
                                     vyre_u32 *out_value)
{
  job->ticket = ticket;
  job->rule_set_id = (vyre_u32)what;
  job->correlation = (vyre_u32)(what >> 32);
  job->wanted = 0u;
  job->stored = 0u;
  job->reserved = 0u;
  vyre__open_bank(w, half, job);
  return vyre__run_item(c, &w->push, w->rules, w->input, (vyre_u32)where, (vyre_u32)(where >> 32),
                        job, out_value);
}

/* Runs one item and posts its result. */
VYRE_FUNCTION void vyre__serve(vyre_ctx *c, vyre__worker *w, vyre_u64 ticket, vyre_u64 where,
                               vyre_u64 what, vyre_u32 half)
{
  vyre_job job;
  vyre_u32 value;
  const vyre_u32 status = vyre__run_job(c, w, ticket, where, what, half, &job, &value);
  if (job.stored != 0u)
    vyre__count_stored(w, half, job.stored);
  vyre__post(w, ticket, value, status);
  w->done += 1u;
  /* Release: pairs with the host's acquire when it counts what is finished. */
  vyre_atomic_store_u64(&w->own->done, w->done, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
}

/* `n` of the `count` items of a cell were copied out: gives its place back behind the last one. */
VYRE_FUNCTION void vyre__release(const vyre__worker *w, vyre_u64 position, vyre_u32 count,
                                 vyre_u32 n)
{
  if (n < count) {
    VYRE_GLOBAL vyre_u32 *taken = &w->taken[position & w->cells_mask];
    /* Release and acquire: pairs with itself in the other workers that share the cell; whoever is
       last has all their copies behind it. */
    if (vyre_atomic_add_u32(taken, n, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE) + n != count)
      return;
    /* Relaxed: the release below and the next cell's publication order it before the next add. */
    vyre_atomic_store_u32(taken, 0u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  }
  /* Release: pairs with the producer's acquire; the items were copied out before. */
  vyre_atomic_store_u64(&w->released[position & w->results_mask],
                        vyre__stamp(position) << VYRE_RING_STAMP_SHIFT |
                            count << VYRE_RING_RELEASED_SHIFT,
                        VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
}

/* Once for each item that a cell can hold: the copies are variables of their own. */
#if VYRE_RING_CELL_ITEMS != 7u
#error "VYRE__EACH_ITEM has another number of items than a cell"
#endif
#define VYRE__EACH_ITEM(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6)
#define VYRE__COPY(k) vyre_u64 where_##k = 0u, what_##k = 0u;
#define VYRE__TAKE(k)                                                                              \
  if (k < n) {                                                                                     \
    where_##k = from[2 * k];                                                                       \
    what_##k = from[2 * k + 1];                                                                    \
  }
#define VYRE__PICK(k)                                                                              \
  if (i == k) {                                                                                    \
    where = where_##k;                                                                             \
    what = what_##k;                                                                               \
  }

/* Copies `n` items from `first` on out of their cell, and serves them. */
VYRE_FUNCTION void vyre__serve_cell(vyre_ctx *c, vyre__worker *w, vyre_u64 position, vyre_u32 low,
                                    vyre_u32 first, vyre_u32 n)
{
  VYRE_GLOBAL const vyre_ring_cell *cell = &w->cells[position & w->cells_mask];
  VYRE_GLOBAL const vyre_u64 *from = (VYRE_GLOBAL const vyre_u64 *)cell->item[first];
  const vyre_u32 half = (low & VYRE_RING_CELL_PHASE) != 0u ? 1u : 0u;
  const vyre_u64 ticket = position << VYRE_RING_INDEX_BITS | first;
  vyre_u32 i;
  VYRE__EACH_ITEM(VYRE__COPY)
  VYRE__EACH_ITEM(VYRE__TAKE)
  vyre__release(w, position, low & VYRE_RING_COUNT_MASK, n);
  for (i = 0u; i < n; ++i) {
    vyre_u64 where = 0u, what = 0u;
    VYRE__EACH_ITEM(VYRE__PICK)
    vyre__serve(c, w, ticket + i, where, what, half);
  }
}

/* Serves all that was claimed. */
VYRE_FUNCTION void vyre__serve_hand(vyre_ctx *c, vyre__worker *w, const vyre__hand *hand)
{
  vyre_u32 index = hand->index, left = hand->items, k;
  for (k = 0u; k < hand->cells; ++k) {
    const vyre_u32 there = vyre__items_from(vyre__low(hand, k), index);
    const vyre_u32 n = there < left ? there : left;
    vyre__serve_cell(c, w, (hand->position + k) & VYRE_RING_POSITION_MASK, vyre__low(hand, k),
                     index, n);
    left -= n;
    index = 0u;
  }
}

/* Wakes host threads that sleep until something is completed. */
VYRE_FUNCTION void vyre__tell(vyre_ctx *c, const vyre__worker *w)
{
#if VYRE_CAN_NOTIFY
  if (w->push.notify == 0u)
    return;
  /* Pairs with the sleeper's fence: it counts itself in, then looks for results; here a result is
     stored, then sleepers are looked for.  One of the two sees the other. */
  vyre_fence(VYRE_SEQ_CST, VYRE_SCOPE_SYSTEM);
  if (vyre_atomic_load_u32(&w->header->completed.waiters, VYRE_RELAXED, VYRE_SCOPE_SYSTEM) != 0u) {
    /* The kernel compares the word again before it lets anybody sleep on it. */
    vyre_atomic_add_u32(&w->header->completed.epoch, 1u, VYRE_SEQ_CST, VYRE_SCOPE_SYSTEM);
    vyre_notify_host(c, &w->header->completed.epoch);
  }
#else
  (void)c;
  (void)w;
#endif
}

/* The same in the middle of work: not for each item.  True if it did. */
VYRE_FUNCTION vyre_u32 vyre__tell_now_and_then(vyre_ctx *c, const vyre__worker *w, vyre_u64 now)
{
  /* Relaxed: only says when; if two workers tell at once, nothing is lost. */
  if (now - vyre_atomic_load_u64(&w->state->told, VYRE_RELAXED, VYRE_SCOPE_DEVICE) < VYRE__TELL_NS)
    return 0u;
  vyre_atomic_store_u64(&w->state->told, now, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre__tell(c, w);
  return 1u;
}

/* True once all workers of this launch have to leave. */
VYRE_FUNCTION vyre_u32 vyre__must_leave(const vyre__worker *w, vyre_u32 stop)
{
  /* Relaxed: a mark, no data. */
  return (stop & VYRE_ENGINE_STOP) != 0u ||
                 vyre_atomic_load_u32(&w->state->leaving, VYRE_RELAXED, VYRE_SCOPE_DEVICE) ==
                     (w->push.launch << 2 | VYRE_ENGINE_LEAVE_NOW)
             ? 1u
             : 0u;
}

/* Sends every worker away, whatever there is to do: the host starts another launch. */
VYRE_FUNCTION void vyre__leave_now(const vyre__worker *w)
{
  vyre_atomic_store_u32(&w->header->state, VYRE_RING_STATE_LEAVING, VYRE_RELAXED,
                        VYRE_SCOPE_SYSTEM);
  vyre_atomic_store_u32(&w->state->leaving, w->push.launch << 2 | VYRE_ENGINE_LEAVE_NOW,
                        VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}

/*
 * True if every worker has done what it claimed.  `done` first: a claim in between makes the answer
 * "no".
 */
VYRE_FUNCTION vyre_u32 vyre__all_done(const vyre__worker *w)
{
  vyre_u32 i;
  /* Acquire: pairs with the release of each claim up to this one; they are all counted below. */
  (void)vyre_atomic_load_u64(w->wide != 0u ? &w->state->offer : &w->state->tail, VYRE_ACQUIRE,
                             VYRE_SCOPE_DEVICE);
  for (i = 0u; i < w->push.workers; ++i) {
    /* Acquire: keeps the two loads in order.  Wide workers count claims, in device memory. */
    const vyre_u64 done =
        w->wide != 0u ? vyre_atomic_load_u64(&w->claims[i].done, VYRE_ACQUIRE, VYRE_SCOPE_DEVICE)
                      : vyre_atomic_load_u64(&w->workers[i].done, VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM);
    if (vyre_atomic_load_u64(&w->claims[i].items, VYRE_RELAXED, VYRE_SCOPE_DEVICE) != done)
      return 0u;
  }
  return 1u;
}

/*
 * The host wants the device for itself: nothing is claimed any more, and all leave together once
 * nothing is being run.  Until then the host may change its mind, and nobody is missing.
 */
VYRE_FUNCTION void vyre__park(vyre_ctx *c, const vyre__worker *w, vyre_u32 misses)
{
  if (vyre__all_done(w))
    vyre__leave_now(w);
  else
    vyre_backoff(c, misses);
}

/*
 * True if a worker that was idle since `busy`, and for `polls` looks in a row, was so for long.
 * Where a count is given, no loop that waits for the host runs longer than that.
 */
VYRE_FUNCTION vyre_u32 vyre__idle_for_long(const vyre__worker *w, vyre_u64 now, vyre_u64 busy,
                                           vyre_u32 polls)
{
  return now - busy >= w->push.max_idle_ns ||
                 (w->push.max_idle_polls != 0u && polls >= w->push.max_idle_polls)
             ? 1u
             : 0u;
}

/*
 * A worker that was idle for long asks whether all may leave.  Not while another one runs an item:
 * a launch that has lost its idle workers could not serve what comes in meanwhile.
 */
VYRE_FUNCTION void vyre__try_to_leave(const vyre__worker *w)
{
  const vyre_u32 asked = w->push.launch << 2 | VYRE_ENGINE_LEAVE_ASKED;
  vyre_u32 old = vyre_atomic_load_u32(&w->state->leaving, VYRE_RELAXED, VYRE_SCOPE_DEVICE), low;
  vyre_u64 tail;
  if ((old >> 2) == w->push.launch && (old & 3u) != 0u)
    return; /* another worker asks */
  if (!vyre__all_done(w) ||
      vyre_atomic_cas_u32(&w->state->leaving, old, asked, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE) != old)
    return;
  vyre_atomic_store_u32(&w->header->state, VYRE_RING_STATE_LEAVING, VYRE_RELAXED,
                        VYRE_SCOPE_SYSTEM);
  /* Pairs with the submitter's fence: it publishes, then looks at the state; here the state is
     stored, then the ring is looked at.  Either the item is seen here, or it sees LEAVING and has
     the keeper start another launch. */
  vyre_fence(VYRE_SEQ_CST, VYRE_SCOPE_SYSTEM);
  tail = vyre_atomic_load_u64(&w->state->tail, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  if (vyre__published(w, tail >> VYRE_RING_INDEX_BITS, &low) || !vyre__all_done(w)) {
    vyre_atomic_store_u32(&w->header->state, VYRE_RING_STATE_RUNNING, VYRE_RELAXED,
                          VYRE_SCOPE_SYSTEM);
    /* An exchange: another worker may have sent everybody away meanwhile.  Release: who asks next
       stores LEAVING behind the RUNNING above, not under it. */
    vyre_atomic_cas_u32(&w->state->leaving, asked, w->push.launch << 2, VYRE_RELEASE,
                        VYRE_SCOPE_SYSTEM);
    return;
  }
  vyre_atomic_store_u32(&w->state->leaving, w->push.launch << 2 | VYRE_ENGINE_LEAVE_NOW,
                        VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}

/*
 * Serves the ring until it must leave.  It claims more at once while items are short, so that short
 * ones cost little and long ones are spread evenly.
 */
VYRE_FUNCTION void vyre__work(vyre_ctx *c, vyre__worker *w)
{
  const vyre_u64 born = vyre_clock_ns(c);
  vyre_u64 now = born, busy = born; /* busy: when it last had something to do */
  vyre_u64 told_of = w->done;       /* completions that the host was told of */
  vyre_u32 most = 1u, misses = 0u;
  vyre_u32 polls = 0u; /* looks that found nothing, since `busy` */
  vyre__hand hand;
  for (;;) {
    /* Acquire: a launch after a stop sees what the host did before it. */
    const vyre_u32 stop = vyre_atomic_load_u32(&w->header->stop, VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM);
    vyre_u32 claim;
    vyre_u64 before;
    if (vyre__must_leave(w, stop))
      break;
    if ((stop & VYRE_ENGINE_PARK) != 0u) {
      if (told_of != w->done)
        vyre__tell(c, w);
      told_of = w->done;
      vyre__park(c, w, misses);
      misses += 1u;
      continue;
    }
    claim = vyre__claim(w, most, &hand);
    if (claim == VYRE__CLAIM_LOST)
      continue;
    if (claim == VYRE__CLAIM_EMPTY) {
      if (told_of != w->done) {
        vyre__tell(c, w);
        told_of = w->done;
      }
      vyre_backoff(c, misses);
      misses += 1u;
      polls += 1u;
      now = vyre_clock_ns(c);
      if (vyre__idle_for_long(w, now, busy, polls)) {
        vyre__try_to_leave(w);
        busy = now;
        polls = 0u;
      }
    } else {
      if (misses != 0u)
        now = vyre_clock_ns(c);
      before = now;
      misses = 0u;
      vyre__serve_hand(c, w, &hand);
      now = vyre_clock_ns(c);
      busy = now;
      polls = 0u;
      if (now - before < VYRE__CLAIM_NS)
        most = most < VYRE__CLAIM_MOST ? 2u * most : most;
      else if (now - before > 2u * VYRE__CLAIM_NS)
        most = most > 1u ? most / 2u : 1u;
      if (vyre__tell_now_and_then(c, w, now))
        told_of = w->done;
    }
    if (now - born >= w->push.max_resident_ns)
      vyre__leave_now(w);
  }
  if (told_of != w->done)
    vyre__tell(c, w);
}

/* The worker that this group is. */
VYRE_FUNCTION void vyre__worker_init(vyre_ctx *c, vyre__worker *w, VYRE_GLOBAL vyre_u8 *ring,
                                     VYRE_GLOBAL vyre_u8 *control, VYRE_GLOBAL vyre_u8 *state,
                                     VYRE_GLOBAL const vyre_u8 *rules,
                                     VYRE_GLOBAL const vyre_u8 *input,
                                     VYRE_GLOBAL vyre_job_record *records)
{
  w->push = *vyre_push(c, vyre_engine_push);
  w->wide = 0u;
  w->header = (VYRE_GLOBAL vyre_ring_header *)ring;
  w->cells = (VYRE_GLOBAL vyre_ring_cell *)(ring + w->header->cells_offset);
  w->released = (VYRE_GLOBAL vyre_u64 *)(ring + w->header->released_offset);
  w->results = (VYRE_GLOBAL vyre_ring_result *)(ring + w->header->results_offset);
  w->cells_mask = vyre_shl_u64(1u, w->header->capacity_log2) - 1u;
  w->results_mask = vyre_shl_u64(1u, w->header->completions_log2) - 1u;
  w->control = (VYRE_GLOBAL vyre_engine_control *)control;
  w->workers = (VYRE_GLOBAL vyre_engine_worker *)(control + sizeof(vyre_engine_control));
  w->own = w->workers + vyre_group_id(c, 0);
  w->state = (VYRE_GLOBAL vyre_engine_state *)state;
  w->claims = (VYRE_GLOBAL vyre_engine_claims *)(state + sizeof(vyre_engine_state));
  w->own_claims = w->claims + vyre_group_id(c, 0);
  w->taken = (VYRE_GLOBAL vyre_u32 *)(w->claims + w->push.workers);
  w->rules = rules;
  w->input = input;
  w->records = records;
  /* This worker's counts go on from its last launch, which has ended. */
  w->done = w->own->done;
  w->claimed = w->done;
  w->stored_0 = w->own->stored[0];
  w->stored_1 = w->own->stored[1];
}

VYRE_SEGMENT(vyre_engine_persistent)
(vyre_ctx *c, VYRE_GLOBAL vyre_u8 *ring, VYRE_GLOBAL vyre_u8 *control, VYRE_GLOBAL vyre_u8 *state,
 VYRE_GLOBAL const vyre_u8 *rules, VYRE_GLOBAL const vyre_u8 *input,
 VYRE_GLOBAL vyre_job_record *records)
{
  vyre__worker w;
  if (vyre_group_id(c, 0) >= vyre_push(c, vyre_engine_push)->workers || vyre_local_id(c, 0) != 0u)
    return;
  vyre__worker_init(c, &w, ring, control, state, rules, input, records);
  vyre__work(c, &w);
}

/* ---- the batch entry ---- */

VYRE_SEGMENT(vyre_engine_batch)
(vyre_ctx *c, VYRE_GLOBAL const vyre_engine_batch_item *items,
 VYRE_GLOBAL vyre_engine_batch_result *results, VYRE_GLOBAL vyre_engine_state *state,
 VYRE_GLOBAL const vyre_u8 *rules, VYRE_GLOBAL const vyre_u8 *input,
 VYRE_GLOBAL vyre_job_record *records)
{
  const vyre_engine_push push = *vyre_push(c, vyre_engine_push);
  const vyre_u64 i = vyre_global_id(c, 0);
  vyre_u32 value;
  vyre_job job;
  if (i >= push.items)
    return;
  job.ticket = items[i].ticket;
  job.rule_set_id = items[i].item[2];
  job.correlation = items[i].item[3];
  job.wanted = 0u;
  job.stored = 0u;
  job.reserved = 0u;
  job.records = records;
  job.cursor = &state->cursor[0][0];
  job.capacity = push.bank_records;
  results[i].status =
      vyre__run_item(c, &push, rules, input, items[i].item[0], items[i].item[1], &job, &value);
  results[i].value = value;
  results[i].stored = job.stored;
  results[i].reserved = 0u;
}
