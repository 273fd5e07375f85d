/*
 * ring_soak.c - the ring under load that checks itself, over the public calls: places are used over
 * and over again, one by one and in batches, with and without waiting and completion, by 1, 2 and 4
 * threads a side.  Each turn ends by closing the ring in the middle of the traffic.
 *
 * Every item names its producer and its number.  A bit for each says that it was received, another
 * one that its consumer is about to mark it done: a producer that is told "done" looks at it.
 */
#include "bench/peers/loop.h"
#include "bench/ring_bench.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ITEMS (1u << 20) /* of one producer in one turn, at most */
#define WINDOW 32u       /* tickets of a producer that are not yet known to be done */
#define TURN_MS_LEAST 10u
#define TURN_MS_MOST 250u
#define WAIT_NS UINT64_C(5000000000) /* nothing takes so long */
#define STUCK_SECONDS 15.0

typedef struct turn {
  uint32_t capacity;
  uint32_t side; /* producers, and as many consumers */
  vyre_completion_mode completion;
  vyre_waiting waiting;
} turn;

static const uint32_t capacities[] = {1, 2, 8, 64, 1024};
static const uint32_t sides[] = {1, 2, 4};
#define TURNS (5u * 3u * 2u * 2u)

/* What went wrong, and how much went right. */
typedef struct counts {
  uint64_t items, laps, turns;
  uint64_t lost, doubled, torn, disordered, early, undone, stuck, refused;
} counts;

typedef struct soak {
  vyre_ring *ring;
  turn turn;
  uint64_t *seen[RING_SIDE_MAX];    /* bits, atomic */
  uint64_t *marking[RING_SIDE_MAX]; /* bits, atomic: set before the item is marked done */
  uint32_t give_up;                 /* atomic: nothing moves any more */
  uint32_t running[2];              /* atomic: producers, consumers that have not ended */
} soak;

typedef struct worker {
  __attribute__((aligned(128))) uint64_t progress; /* atomic */
  soak *common;
  pthread_t thread;
  uint32_t index;
  uint32_t random;
  uint32_t sent; /* of a producer */
  counts found;
} worker;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
  (void)number;
  interrupted = 1;
}

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

static bool has_bit(const uint64_t *bits, uint32_t i)
{
  return (__atomic_load_n(&bits[i / 64], __ATOMIC_RELAXED) >> i % 64 & 1) != 0;
}

/* Relaxed: a flag.  Counts what is stuck once, in the thread that first sees it. */
static bool given_up(const soak *s)
{
  return __atomic_load_n(&s->give_up, __ATOMIC_RELAXED) != 0;
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
    if (!must || given_up(s))
      return false;
    bench_miss(&misses);
  }
  if (!has_bit(s->marking[w->index], oldest->number))
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

static void *produce(void *argument)
{
  worker *w = argument;
  soak *s = w->common;
  vyre_work_item items[BENCH_BATCH_MAX];
  uint64_t tickets[BENCH_BATCH_MAX];
  window win = {.count = 0};
  uint32_t misses = 0, n, accepted;
  vyre_status status = VYRE_OK;
  while (w->sent < ITEMS && !given_up(s)) {
    n = choose_batch(w);
    n = n < ITEMS - w->sent ? n : ITEMS - w->sent;
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
  if (bench_torn(item) || producer >= s->turn.side || number >= ITEMS) {
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

static void mark(worker *w, const uint64_t *tickets, uint32_t n)
{
  vyre_ring *ring = w->common->ring;
  if (w->common->turn.completion == VYRE_COMPLETION_NONE)
    return;
  switch (draw(w, 3)) {
  case 0:
    vyre_ring_mark_done_many(ring, tickets, n);
    break;
  case 1:
    for (uint32_t i = 0; i < n; ++i)
      vyre_ring_mark_done(ring, tickets[i]);
    break;
  default:
    for (uint32_t i = n; i > 0; --i)
      vyre_ring_mark_done(ring, tickets[i - 1]);
    break;
  }
  /* Twice is no harm. */
  vyre_ring_mark_done(ring, tickets[draw(w, n)]);
}

static vyre_status receive(worker *w, vyre_work_item *items, uint64_t *tickets, uint32_t *out_n)
{
  soak *s = w->common;
  const uint32_t max = choose_batch(w);
  *out_n = 1;
  if (max > 1 || draw(w, 4) == 0)
    return vyre_ring_claim_many(s->ring, items, tickets, max, out_n);
  if (s->turn.waiting == VYRE_WAITING_ON && draw(w, 2))
    return vyre_ring_claim_wait(s->ring, WAIT_NS, items, tickets);
  return vyre_ring_claim(s->ring, items, tickets);
}

static void *consume(void *argument)
{
  worker *w = argument;
  soak *s = w->common;
  vyre_work_item items[BENCH_BATCH_MAX];
  uint64_t tickets[BENCH_BATCH_MAX];
  int64_t last[RING_SIDE_MAX] = {-1, -1, -1, -1};
  uint32_t misses = 0, n;
  vyre_status status;
  for (;;) {
    status = receive(w, items, tickets, &n);
    if (status == VYRE_ERROR_EMPTY && !given_up(s)) {
      bench_miss(&misses);
      continue;
    }
    if (status != VYRE_OK)
      break;
    for (uint32_t i = 0; i < n; ++i)
      check(w, &items[i], last);
    mark(w, tickets, n);
    w->found.items += n;
    moved(w, n);
  }
  if (status == VYRE_ERROR_TIMEOUT)
    ++w->found.stuck;
  else if (status != VYRE_ERROR_CLOSED && status != VYRE_ERROR_EMPTY)
    ++w->found.refused;
  __atomic_fetch_sub(&s->running[1], 1, __ATOMIC_RELAXED); /* relaxed: as in produce() */
  return NULL;
}

/* ---- turns ---- */

static void add(counts *to, const counts *from)
{
  to->items += from->items;
  to->laps += from->laps;
  to->turns += from->turns;
  to->lost += from->lost;
  to->doubled += from->doubled;
  to->torn += from->torn;
  to->disordered += from->disordered;
  to->early += from->early;
  to->undone += from->undone;
  to->stuck += from->stuck;
  to->refused += from->refused;
}

static uint64_t wrong(const counts *c)
{
  return c->lost + c->doubled + c->torn + c->disordered + c->early + c->undone + c->stuck +
         c->refused;
}

static bool all_ended(const soak *s)
{
  return __atomic_load_n(&s->running[0], __ATOMIC_RELAXED) == 0 &&
         __atomic_load_n(&s->running[1], __ATOMIC_RELAXED) == 0;
}

/* Closes the ring when the time is over or all was sent; gives up when nothing moves any more. */
static void watch(soak *s, const worker *workers, uint32_t count, uint32_t ms, counts *found)
{
  const struct timespec nap = {0, 500000};
  const double start = bench_now();
  double last_move = start;
  uint64_t sum, last_sum = 0;
  bool closed = false;
  while (!all_ended(s)) {
    const double now = bench_now();
    nanosleep(&nap, NULL);
    if (!closed && (now - start > ms * 1e-3 || interrupted ||
                    __atomic_load_n(&s->running[0], __ATOMIC_RELAXED) == 0)) {
      vyre_ring_close(s->ring);
      closed = true;
    }
    sum = 0;
    for (uint32_t i = 0; i < count; ++i)
      sum += __atomic_load_n(&workers[i].progress, __ATOMIC_RELAXED);
    if (sum != last_sum) {
      last_sum = sum;
      last_move = now;
    } else if (now - last_move > STUCK_SECONDS && !given_up(s)) {
      __atomic_store_n(&s->give_up, 1, __ATOMIC_RELAXED);
      vyre_ring_close(s->ring);
      ++found->stuck;
    }
  }
}

/* Starts the turn's threads; those that cannot be created do not count.  False if any. */
static bool start(soak *s, worker *workers, uint32_t seed)
{
  const uint32_t count = 2 * s->turn.side;
  uint32_t started = 0;
  for (; started < count; ++started) {
    worker *w = &workers[started];
    memset(w, 0, sizeof *w);
    w->common = s;
    w->index = started / 2;
    w->random = seed * 2654435761u + started * 40503u + 1u;
    if (!w->random)
      w->random = 1;
    if (pthread_create(&w->thread, NULL, started % 2 ? consume : produce, w) != 0)
      break;
  }
  if (started == count)
    return true;
  __atomic_store_n(&s->give_up, 1, __ATOMIC_RELAXED);
  vyre_ring_close(s->ring);
  while (started)
    pthread_join(workers[--started].thread, NULL);
  return false;
}

static void settle(soak *s, worker *workers, counts *found)
{
  for (uint32_t i = 0; i < 2 * s->turn.side; ++i) {
    const worker *w = &workers[i];
    pthread_join(w->thread, NULL);
    add(found, &w->found);
  }
  for (uint32_t p = 0; p < s->turn.side; ++p)
    for (uint32_t i = 0; i < ITEMS; ++i) {
      const bool received = has_bit(s->seen[p], i);
      if (i < workers[2 * p].sent && !received)
        ++found->lost;
      else if (i >= workers[2 * p].sent && received)
        ++found->torn; /* an item that nobody sent */
      else if (i >= workers[2 * p].sent && i % 64 == 0 && !s->seen[p][i / 64])
        i += 63;
    }
  found->laps += vyre_ring_head(s->ring) / s->turn.capacity;
  ++found->turns;
}

static vyre_status run_turn(soak *s, uint32_t number, uint32_t ms, counts *found, vyre_error *err)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  worker workers[2 * RING_SIDE_MAX];
  const uint32_t k = number % TURNS;
  vyre_status status;
  s->turn = (turn){.capacity = capacities[k / 12],
                   .side = sides[k / 4 % 3],
                   .completion = k / 2 % 2 ? VYRE_COMPLETION_NONE : VYRE_COMPLETION_BY_TICKET,
                   .waiting = k % 2 ? VYRE_WAITING_OFF : VYRE_WAITING_ON};
  options.capacity = s->turn.capacity;
  options.completion = s->turn.completion;
  options.waiting = s->turn.waiting;
  /* By turns the least that there can be, and the default. */
  if (s->turn.completion == VYRE_COMPLETION_BY_TICKET && number / TURNS % 2 == 0)
    options.max_unfinished = options.capacity;
  if ((status = vyre_ring_create(&options, &s->ring, err)) != VYRE_OK)
    return status;
  s->give_up = 0;
  s->running[0] = s->running[1] = s->turn.side;
  for (uint32_t p = 0; p < s->turn.side; ++p) {
    memset(s->seen[p], 0, ITEMS / 8);
    memset(s->marking[p], 0, ITEMS / 8);
  }
  if (start(s, workers, number)) {
    watch(s, workers, 2 * s->turn.side, ms, found);
    settle(s, workers, found);
  } else {
    status = ring_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "a thread");
  }
  vyre_ring_destroy(s->ring);
  return status;
}

/* ---- the whole ---- */

static void report_counts(bench_report *report, const counts *c, double seconds)
{
  bench_report_value(report, "time", seconds, "s");
  bench_report_value(report, "turns", (double)c->turns, "");
  bench_report_value(report, "laps", (double)c->laps, "");
  bench_report_value(report, "items", (double)c->items, "");
  bench_report_at_most(report, "lost", (double)c->lost, "items", 0);
  bench_report_at_most(report, "doubled", (double)c->doubled, "items", 0);
  bench_report_at_most(report, "torn, or sent by nobody", (double)c->torn, "items", 0);
  bench_report_at_most(report, "out of order", (double)c->disordered, "items", 0);
  bench_report_at_most(report, "done before they were marked", (double)c->early, "items", 0);
  bench_report_at_most(report, "done, and then not", (double)c->undone, "items", 0);
  bench_report_at_most(report, "stuck", (double)c->stuck, "times", 0);
  bench_report_at_most(report, "refused", (double)c->refused, "calls", 0);
  report->wrong = wrong(c) != 0;
}

static vyre_status soak_turns(soak *s, const bench_options *options, counts *found, vyre_error *err)
{
  const double start_time = bench_now();
  uint64_t ms = (uint64_t)options->soak * 1000 / TURNS;
  vyre_status status = VYRE_OK;
  ms = ms < TURN_MS_LEAST ? TURN_MS_LEAST : ms > TURN_MS_MOST ? TURN_MS_MOST : ms;
  for (uint32_t number = 0; status == VYRE_OK && !interrupted && !wrong(found) &&
                            bench_now() - start_time < options->soak;
       ++number) {
    status = run_turn(s, number, (uint32_t)ms, found, err);
    if (options->progress && number % TURNS == TURNS - 1)
      fprintf(options->progress, "%.0f s: %llu laps, %llu items\n", bench_now() - start_time,
              (unsigned long long)found->laps, (unsigned long long)found->items);
  }
  return status;
}

vyre_status ring_soak(const bench_options *options, bench_report *report, vyre_error *err)
{
  struct sigaction action, before;
  soak s = {.ring = NULL};
  counts found = {0};
  const double start_time = bench_now();
  bool memory = true;
  vyre_status status;
  for (uint32_t p = 0; p < RING_SIDE_MAX; ++p) {
    s.seen[p] = malloc(ITEMS / 8);
    s.marking[p] = malloc(ITEMS / 8);
    memory = memory && s.seen[p] && s.marking[p];
  }
  if (!memory) {
    status = ring_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the bits of the items");
    goto done;
  }
  /* The second one ends the program as always. */
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESETHAND;
  interrupted = 0;
  sigaction(SIGINT, &action, &before);
  status = soak_turns(&s, options, &found, err);
  sigaction(SIGINT, &before, NULL);
  if (status == VYRE_OK) {
    snprintf(report->title, sizeof report->title, "ring: soak of %u s, places used over and over",
             options->soak);
    snprintf(report->device, sizeof report->device, "host, %u processors", ring_processors());
    report_counts(report, &found, bench_now() - start_time);
    if (interrupted)
      bench_report_note(report, "interrupted");
    if (report->wrong)
      bench_report_note(report,
                        "in the turn with %u places, %u threads a side, completion %s, "
                        "waiting %s",
                        s.turn.capacity, s.turn.side,
                        s.turn.completion == VYRE_COMPLETION_NONE ? "off" : "by ticket",
                        s.turn.waiting == VYRE_WAITING_ON ? "on" : "off");
  }

done:
  for (uint32_t p = 0; p < RING_SIDE_MAX; ++p) {
    free(s.seen[p]);
    free(s.marking[p]);
  }
  return status;
}
