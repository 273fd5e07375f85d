/*
 * ring_soak_work.c - the producers and consumers of the soak.  Every item names its producer and
 * its number.  A bit for each says that it was received, another one that its consumer is about to
 * mark it done: a producer that is told "done" looks at it.
 */
#include "bench/peers/loop.h"
#include "bench/ring_soak.h"

#define WINDOW 32u                   /* tickets of a producer that are not yet known to be done */
#define WAIT_NS UINT64_C(5000000000) /* nothing takes so long */

static uint32_t draw(worker *w, uint32_t below)
{
  w->random ^= w->random << 13;
  w->random ^= w->random >> 17;
  w->random ^= w->random << 5;
  return w->random % below;
}

/* Sets the bit; true if it was set before.  Relaxed: the ring's own orders are what is tested. */
static bool set_bit(uint64_t *bits, uint32_t i)
{
  const uint64_t bit = UINT64_C(1) << i % 64;
  return (__atomic_fetch_or(&bits[i / 64], bit, __ATOMIC_RELAXED) & bit) != 0;
}

static void moved(worker *w, uint32_t n)
{
  /* Relaxed: somebody looks whether it changes. */
  __atomic_store_n(&w->progress, w->progress + n, __ATOMIC_RELAXED);
}

/* ---- producers ---- */

typedef struct pending {
  uint64_t ticket;
  uint32_t number;
} pending;

typedef struct window {
  pending entries[WINDOW];
  uint32_t first, count;
  uint64_t last_done;
  bool any_done;
} window;

/* The oldest ticket, if it is done or `must` be: true if it was taken off. */
static bool settle_oldest(worker *w, window *win, bool must)
{
  soak *s = w->common;
  const pending *oldest = &win->entries[win->first];
  uint32_t misses = 0;
  if (must && s->turn.waiting == VYRE_WAITING_ON && draw(w, 2) &&
      vyre_ring_wait(s->ring, oldest->ticket, WAIT_NS) != VYRE_OK)
    ++w->found.stuck;
  while (!vyre_ring_is_done(s->ring, oldest->ticket)) {
    if (!must || ring_soak_given_up(s))
      return false;
    bench_miss(&misses);
  }
  if (!ring_soak_bit(s->marking[w->index], oldest->number))
    ++w->found.early;
  win->last_done = oldest->ticket;
  win->any_done = true;
  win->first = (win->first + 1) % WINDOW;
  --win->count;
  return true;
}

static void remember(worker *w, window *win, const uint64_t *tickets, uint32_t n, uint32_t number)
{
  soak *s = w->common;
  if (s->turn.completion == VYRE_COMPLETION_NONE) {
    if (vyre_ring_is_done(s->ring, tickets[0]))
      ++w->found.early;
    return;
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (win->count == WINDOW && !settle_oldest(w, win, true))
      return;
    win->entries[(win->first + win->count++) % WINDOW] = (pending){tickets[i], number + i};
  }
  while (win->count && settle_oldest(w, win, false))
    ;
  if (win->any_done && !vyre_ring_is_done(s->ring, win->last_done))
    ++w->found.undone;
}

static vyre_status send(worker *w, const vyre_work_item *items, uint32_t n, uint64_t *out_tickets,
                        uint32_t *out_n)
{
  soak *s = w->common;
  *out_n = 1;
  if (n > 1 || draw(w, 4) == 0)
    return vyre_ring_enqueue_many(s->ring, items, n, out_tickets, out_n);
  if (s->turn.waiting == VYRE_WAITING_ON && draw(w, 2))
    return vyre_ring_enqueue_wait(s->ring, items, WAIT_NS, out_tickets);
  return vyre_ring_enqueue(s->ring, items, out_tickets);
}

static uint32_t choose_batch(worker *w)
{
  return draw(w, 2) ? 1 : 1 + draw(w, BENCH_BATCH_MAX);
}

void *ring_soak_produce(void *argument)
{
  worker *w = argument;
  soak *s = w->common;
  vyre_work_item items[BENCH_BATCH_MAX];
  uint64_t tickets[BENCH_BATCH_MAX];
  window win = {.count = 0};
  uint32_t misses = 0, n, accepted;
  vyre_status status = VYRE_OK;
  while (w->sent < SOAK_ITEMS && !ring_soak_given_up(s)) {
    n = choose_batch(w);
    n = n < SOAK_ITEMS - w->sent ? n : SOAK_ITEMS - w->sent;
    for (uint32_t i = 0; i < n; ++i)
      bench_fill(&items[i], (uint64_t)w->index << 48 | (w->sent + i));
    status = send(w, items, n, tickets, &accepted);
    if (status == VYRE_ERROR_QUEUE_FULL) {
      bench_miss(&misses);
      continue;
    }
    if (status != VYRE_OK)
      break;
    w->sent += accepted;
    moved(w, accepted);
    remember(w, &win, tickets, accepted, w->sent - accepted);
  }
  if (status == VYRE_ERROR_TIMEOUT)
    ++w->found.stuck;
  else if (status != VYRE_OK && status != VYRE_ERROR_CLOSED && status != VYRE_ERROR_QUEUE_FULL)
    ++w->found.refused;
  while (win.count && settle_oldest(w, &win, true))
    ;
  /* Relaxed: joining orders the results. */
  __atomic_fetch_sub(&s->running[0], 1, __ATOMIC_RELAXED);
  return NULL;
}

/* ---- consumers ---- */

static void check(worker *w, const vyre_work_item *item, int64_t *last)
{
  soak *s = w->common;
  const uint64_t value = bench_value(item), producer = value >> 48;
  const uint64_t number = value & ((UINT64_C(1) << 48) - 1);
  if (bench_torn(item) || producer >= s->turn.side || number >= SOAK_ITEMS) {
    ++w->found.torn;
    return;
  }
  if (set_bit(s->seen[producer], (uint32_t)number))
    ++w->found.doubled;
  if ((int64_t)number <= last[producer])
    ++w->found.disordered;
  last[producer] = (int64_t)number;
  if (s->turn.completion == VYRE_COMPLETION_BY_TICKET)
    set_bit(s->marking[producer], (uint32_t)number);
}

/* `span` is empty if the items came with a list of tickets. */
static void mark(worker *w, const vyre_ring_span *span, const uint64_t *tickets, uint32_t n)
{
  vyre_ring *ring = w->common->ring;
  if (w->common->turn.completion == VYRE_COMPLETION_NONE || n == 0)
    return;
  switch (span->count && draw(w, 4) ? 3 : draw(w, 3)) {
  case 0:
    vyre_ring_mark_done_many(ring, tickets, n);
    break;
  case 1:
    for (uint32_t i = 0; i < n; ++i)
      vyre_ring_mark_done(ring, tickets[i]);
    break;
  case 2:
    for (uint32_t i = n; i > 0; --i)
      vyre_ring_mark_done(ring, tickets[i - 1]);
    break;
  default:
    vyre_ring_mark_done_span(ring, span);
    break;
  }
  /* Twice is no harm. */
  vyre_ring_mark_done(ring, tickets[draw(w, n)]);
}

static vyre_status receive(worker *w, vyre_work_item *items, vyre_ring_span *out_span,
                           uint64_t *tickets, uint32_t *out_n)
{
  soak *s = w->common;
  const uint32_t max = choose_batch(w);
  vyre_status status;
  *out_n = 1;
  out_span->count = 0;
  if (draw(w, 3) == 0) {
    status = vyre_ring_claim_span(s->ring, items, max, out_span);
    for (*out_n = 0; *out_n < out_span->count; ++*out_n)
      tickets[*out_n] = vyre_ring_span_ticket(out_span, *out_n);
    return status;
  }
  if (max > 1 || draw(w, 4) == 0)
    return vyre_ring_claim_many(s->ring, items, tickets, max, out_n);
  if (s->turn.waiting == VYRE_WAITING_ON && draw(w, 2))
    return vyre_ring_claim_wait(s->ring, WAIT_NS, items, tickets);
  return vyre_ring_claim(s->ring, items, tickets);
}

void *ring_soak_consume(void *argument)
{
  worker *w = argument;
  soak *s = w->common;
  vyre_work_item items[BENCH_BATCH_MAX];
  uint64_t tickets[BENCH_BATCH_MAX];
  int64_t last[RING_SIDE_MAX] = {-1, -1, -1, -1};
  vyre_ring_span span;
  uint32_t misses = 0, n;
  vyre_status status;
  for (;;) {
    status = receive(w, items, &span, tickets, &n);
    if (status == VYRE_ERROR_EMPTY && !ring_soak_given_up(s)) {
      bench_miss(&misses);
      continue;
    }
    if (status != VYRE_OK)
      break;
    for (uint32_t i = 0; i < n; ++i)
      check(w, &items[i], last);
    mark(w, &span, tickets, n);
    w->found.items += n;
    moved(w, n);
  }
  if (status == VYRE_ERROR_TIMEOUT)
    ++w->found.stuck;
  else if (status != VYRE_ERROR_CLOSED && status != VYRE_ERROR_EMPTY)
    ++w->found.refused;
  __atomic_fetch_sub(&s->running[1], 1, __ATOMIC_RELAXED); /* relaxed: as in ring_soak_produce() */
  return NULL;
}
