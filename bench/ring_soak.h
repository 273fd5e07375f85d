/*
 * ring_soak.h - what the soak's turns and its threads share.
 */
#ifndef VYRE_BENCH_RING_SOAK_H
#define VYRE_BENCH_RING_SOAK_H

#include "bench/ring_bench.h"

#include <pthread.h>

#define SOAK_ITEMS (1u << 20) /* of one producer in one turn, at most */

typedef struct turn {
  uint32_t capacity;
  uint32_t side; /* producers, and as many consumers */
  vyre_completion_mode completion;
  vyre_waiting waiting;
} turn;

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

/* The threads: of a `worker`, until the ring is closed and drained. */
void *ring_soak_produce(void *argument);
void *ring_soak_consume(void *argument);

/* Relaxed: the ring's own orders are what is tested. */
static inline bool ring_soak_bit(const uint64_t *bits, uint32_t i)
{
  return (__atomic_load_n(&bits[i / 64], __ATOMIC_RELAXED) >> i % 64 & 1) != 0;
}

/* Relaxed: a flag. */
static inline bool ring_soak_given_up(const soak *s)
{
  return __atomic_load_n(&s->give_up, __ATOMIC_RELAXED) != 0;
}

#endif
