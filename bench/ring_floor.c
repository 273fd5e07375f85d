/*
 * ring_floor.c - what the machine itself takes: a word stored by one processor until another one
 * sees it; and beside it one item through the ring, nothing else in flight.  Both are half of a
 * round trip between two threads, each on a processor of its own, which look without a pause.
 */
#include "bench/ring_bench.h"

#include <pthread.h>
#include <sched.h>

/* Short parts and the median of many: who is interrupted spoils a few of them only. */
#define PARTS 101u
#define TRIPS 200u     /* round trips of a part */
#define PATIENCE 4096u /* looks until the other one may need this processor to go on */
#define MOVED 1.5

typedef struct line {
  __attribute__((aligned(128))) uint64_t word;
} line;

/* The two directions: words, or rings where there are some. */
typedef struct court {
  line there, back;
  vyre_ring *ring_there, *ring_back;
  uint32_t failed; /* atomic: the ring refused or gave another item */
} court;

/* Yields now and then: there may be one processor only. */
static void look_again(uint32_t *looks)
{
  if (++*looks % PATIENCE == 0)
    sched_yield();
}

static void send_word(line *to, uint64_t value)
{
  /* Release with await_word()'s acquire, as a queue would have it. */
  __atomic_store_n(&to->word, value, __ATOMIC_RELEASE);
}

static void await_word(line *from, uint64_t value)
{
  uint32_t looks = 0;
  while (__atomic_load_n(&from->word, __ATOMIC_ACQUIRE) != value)
    look_again(&looks);
}

static void fault(court *c)
{
  /* Relaxed: read after joining. */
  __atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
}

static void send_item(court *c, vyre_ring *to, uint64_t value)
{
  const vyre_work_item item = {.correlation = (uint32_t)value};
  if (vyre_ring_enqueue(to, &item, NULL) != VYRE_OK)
    fault(c);
}

static void await_item(court *c, vyre_ring *from, uint64_t value)
{
  vyre_work_item item = {0, 0, 0, 0};
  uint32_t looks = 0;
  vyre_status status;
  while ((status = vyre_ring_claim(from, &item, NULL)) == VYRE_ERROR_EMPTY)
    look_again(&looks);
  if (status != VYRE_OK || item.correlation != (uint32_t)value)
    fault(c);
}

static void *other_side(void *argument)
{
  court *c = argument;
  ring_pin(1, 2);
  for (uint64_t i = 1; i <= PARTS * TRIPS; ++i) {
    if (c->ring_there) {
      await_item(c, c->ring_there, i);
      send_item(c, c->ring_back, i);
    } else {
      await_word(&c->there, i);
      send_word(&c->back, i);
    }
  }
  return NULL;
}

/* This thread's side; the times of the parts. */
static void this_side(court *c, double *out_parts)
{
  uint64_t i = 0;
  for (uint32_t part = 0; part < PARTS; ++part) {
    const double start = bench_now();
    for (uint32_t trip = 0; trip < TRIPS; ++trip) {
      ++i;
      if (c->ring_there) {
        send_item(c, c->ring_there, i);
        await_item(c, c->ring_back, i);
      } else {
        send_word(&c->there, i);
        await_word(&c->back, i);
      }
    }
    out_parts[part] = (bench_now() - start) / (2.0 * TRIPS);
  }
}

static vyre_status play(court *c, double *out_seconds, vyre_error *err)
{
  double parts[PARTS];
  cpu_set_t before;
  const bool known = pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
  pthread_t other;
  if (pthread_create(&other, NULL, other_side, c) != 0)
    return ring_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "a thread");
  ring_pin(0, 2);
  this_side(c, parts);
  pthread_join(other, NULL);
  if (known)
    (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before);
  *out_seconds = bench_median(parts, PARTS);
  return c->failed ? ring_fail(err, VYRE_ERROR_INTERNAL, "the hand-off gave another item")
                   : VYRE_OK;
}

vyre_status ring_ping_pong(double *out_seconds, vyre_error *err)
{
  court c = {.failed = 0};
  return play(&c, out_seconds, err);
}

vyre_status ring_hand_off(double *out_seconds, vyre_error *err)
{
  court c = {.failed = 0};
  vyre_status status;
  c.ring_there = ring_row_a.create(RING_PLACES);
  c.ring_back = ring_row_a.create(RING_PLACES);
  status = c.ring_there && c.ring_back
               ? play(&c, out_seconds, err)
               : ring_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the rings of the hand-off");
  ring_row_a.destroy(c.ring_there);
  ring_row_a.destroy(c.ring_back);
  return status;
}

bool ring_moved(double before, double after)
{
  return before > after * MOVED || after > before * MOVED;
}
