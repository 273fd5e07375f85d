/*
 * ring_soak.c - the ring under load that checks itself, over the public calls: places are used over
 * and over again, one by one and in batches, with and without waiting and completion, by 1, 2 and 4
 * threads a side.  Each turn ends by closing the ring, as a rule in the middle of the traffic.
 */
#include "bench/ring_soak.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURN_MS_LEAST 10u
#define TURN_MS_MOST 250u
#define STUCK_SECONDS 15.0

static const uint32_t capacities[] = {1, 2, 8, 64, 1024};
static const uint32_t sides[] = {1, 2, 4};
#define TURNS (5u * 3u * 2u * 2u)

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
  (void)number;
  interrupted = 1;
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
    } else if (now - last_move > STUCK_SECONDS && !ring_soak_given_up(s)) {
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
    w->common = s;
    w->index = started / 2;
    w->random = seed * 2654435761u + started * 40503u + 1u;
    if (!w->random)
      w->random = 1;
    if (pthread_create(&w->thread, NULL, started % 2 ? ring_soak_consume : ring_soak_produce, w) !=
        0)
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
    for (uint32_t i = 0; i < SOAK_ITEMS; ++i) {
      const bool received = ring_soak_bit(s->seen[p], i);
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
  /* A stride through all of them, so that a short soak sees some of each. */
  const uint32_t k = number * 37 % TURNS;
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
  memset(workers, 0, sizeof workers);
  s->give_up = 0;
  s->running[0] = s->running[1] = s->turn.side;
  for (uint32_t p = 0; p < s->turn.side; ++p) {
    memset(s->seen[p], 0, SOAK_ITEMS / 8);
    memset(s->marking[p], 0, SOAK_ITEMS / 8);
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
    s.seen[p] = malloc(SOAK_ITEMS / 8);
    s.marking[p] = malloc(SOAK_ITEMS / 8);
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
