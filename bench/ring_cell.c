/*
 * ring_cell.c - one queue measured once: a fresh queue, its threads, so many milliseconds, and the
 * proof that what was sent is what was received.
 */
#include "bench/ring_bench.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

/* A queue that has not delivered its last items this long after the end is stuck. */
#define STUCK_SECONDS 10.0

/* Words that all threads look at: each on lines of its own. */
typedef struct shared {
  __attribute__((aligned(128))) uint32_t state;
  __attribute__((aligned(128))) uint32_t producing;
  __attribute__((aligned(128))) uint32_t running; /* consumers that have not ended */
  __attribute__((aligned(128))) uint32_t ready;   /* threads that wait for the start */
  __attribute__((aligned(128))) uint32_t start;   /* START_… */
} shared;

#define START_WAIT 0u
#define START_GO 1u
#define START_LEAVE 2u

typedef struct worker {
  __attribute__((aligned(128))) bench_lane lane;
  const bench_contestant *contestant;
  shared *common;
  pthread_t thread;
  double end;
  uint32_t index, threads;
  bool consumer;
} worker;

vyre_status ring_fail(vyre_error *err, vyre_status code, const char *what)
{
  if (err) {
    err->code = code;
    snprintf(err->message, sizeof err->message, "%s: %s", what, vyre_status_text(code));
    snprintf(err->fix, sizeof err->fix, "%s", vyre_status_fix(code));
  }
  return code;
}

uint32_t ring_processors(void)
{
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

void ring_pin(uint32_t index, uint32_t threads)
{
  cpu_set_t set, one;
  uint32_t seen = 0;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || threads > (uint32_t)CPU_COUNT(&set))
    return;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set) && seen++ == index) {
      CPU_ZERO(&one);
      CPU_SET(i, &one);
      /* In vain: the numbers are noisier, that is all. */
      (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
      return;
    }
}

static bool wait_for_start(shared *common)
{
  uint32_t start;
  /* Relaxed: creating the threads ordered all that they use. */
  __atomic_fetch_add(&common->ready, 1, __ATOMIC_RELAXED);
  while ((start = __atomic_load_n(&common->start, __ATOMIC_RELAXED)) == START_WAIT)
    sched_yield();
  return start == START_GO;
}

static void *work(void *argument)
{
  worker *w = argument;
  ring_pin(w->index, w->threads);
  if (!wait_for_start(w->common))
    return NULL;
  if (w->consumer) {
    w->contestant->consume(&w->lane);
    w->end = bench_now();
    /* Release: nothing is read through it; joining orders the results. */
    __atomic_fetch_sub(&w->common->running, 1, __ATOMIC_RELEASE);
  } else {
    w->contestant->produce(&w->lane);
    /* Release: pairs with the acquire of the consumers' last look; all pushes are before it. */
    __atomic_fetch_sub(&w->common->producing, 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

static void sleep_seconds(double seconds)
{
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0)
    ;
}

/* Ends the run; true if the queue had to be given up. */
static bool stop(shared *common)
{
  const double start = bench_now();
  bool stuck = false;
  /* Relaxed: a flag, nothing is published with it. */
  __atomic_store_n(&common->state, BENCH_LANE_STOP, __ATOMIC_RELAXED);
  while (__atomic_load_n(&common->running, __ATOMIC_RELAXED)) {
    if (!stuck && bench_now() - start > STUCK_SECONDS) {
      stuck = true;
      __atomic_store_n(&common->state, BENCH_LANE_ABORT, __ATOMIC_RELAXED);
    }
    sleep_seconds(0.0005);
  }
  return stuck;
}

static ring_sample judge(const worker *workers, uint32_t count, double start, bool stuck)
{
  ring_sample sample = {0, NULL};
  uint64_t sent = 0, received = 0, sum = 0, torn = 0;
  double end = start;
  for (uint32_t i = 0; i < count; ++i) {
    const worker *w = &workers[i];
    if (w->consumer) {
      received += w->lane.items;
      sum -= w->lane.sum;
      torn |= w->lane.torn;
      if (w->end > end)
        end = w->end;
    } else {
      sent += w->lane.items;
      sum += w->lane.sum;
    }
  }
  if (end > start)
    sample.rate = (double)received / (end - start);
  if (stuck)
    sample.wrong = "is stuck";
  else if (torn)
    sample.wrong = "delivered torn items";
  else if (received != sent)
    sample.wrong = received < sent ? "lost items" : "delivered items twice";
  else if (sum)
    sample.wrong = "delivered other items than were sent";
  else if (!received)
    sample.wrong = "delivered nothing";
  return sample;
}

/* Starts the threads, lets them run, and joins them; false if one could not be created. */
static bool run(worker *workers, uint32_t threads, shared *common, uint32_t ms, double *out_start,
                bool *out_stuck)
{
  uint32_t started = 0;
  while (started < threads &&
         pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
    ++started;
  /* Relaxed, both words: see wait_for_start(). */
  while (started == threads && __atomic_load_n(&common->ready, __ATOMIC_RELAXED) < threads)
    sched_yield();
  *out_start = bench_now();
  __atomic_store_n(&common->start, started == threads ? START_GO : START_LEAVE, __ATOMIC_RELAXED);
  if (started == threads) {
    sleep_seconds(ms * 1e-3);
    *out_stuck = stop(common);
  }
  for (uint32_t i = 0; i < started; ++i)
    pthread_join(workers[i].thread, NULL);
  return started == threads;
}

vyre_status ring_measure(const bench_contestant *contestant, const ring_cell *cell, uint32_t ms,
                         ring_sample *out_sample, vyre_error *err)
{
  worker workers[2 * RING_SIDE_MAX];
  shared common;
  const uint32_t threads = 2 * cell->side;
  void *queue = contestant->create(RING_PLACES);
  double start;
  bool stuck = false, ran;
  if (!queue)
    return ring_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, contestant->name);
  memset(&common, 0, sizeof common);
  memset(workers, 0, sizeof workers);
  common.producing = common.running = cell->side;
  for (uint32_t i = 0; i < threads; ++i) {
    worker *w = &workers[i];
    w->lane.queue = queue;
    w->lane.batch = cell->batch;
    w->lane.producer = i / 2;
    w->lane.state = &common.state;
    w->lane.producing = &common.producing;
    w->contestant = contestant;
    w->common = &common;
    w->index = i;
    w->threads = threads;
    w->consumer = i % 2;
  }
  ran = run(workers, threads, &common, ms, &start, &stuck);
  contestant->destroy(queue);
  if (!ran)
    return ring_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "a thread");
  *out_sample = judge(workers, threads, start, stuck);
  return VYRE_OK;
}
