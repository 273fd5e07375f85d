/*
 * loop.h - what the threads of a measurement do, the same text for every queue: the loops are
 * inlined around the queue's own two functions, so that a queue made of inline functions has no
 * call in between, and the rule for waiting is one for all.
 *
 *   push(queue, items, n)   how many were accepted, 0 if there is no room
 *   pop(queue, items, max)  how many were received, 0 if there is none
 */
#ifndef VYRE_BENCH_PEERS_LOOP_H
#define VYRE_BENCH_PEERS_LOOP_H

#include "bench/peers/peers.h"

#include <sched.h>

#define BENCH_INLINE static inline __attribute__((always_inline))

/* The second half of an item is the first one with this key: a torn item shows. */
#define BENCH_KEY UINT64_C(0x9e3779b97f4a7c15)

typedef uint32_t (*bench_push_fn)(void *queue, const vyre_work_item *items, uint32_t n);
typedef uint32_t (*bench_pop_fn)(void *queue, vyre_work_item *items, uint32_t max);

BENCH_INLINE void bench_relax(void)
{
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("isb" ::: "memory");
#endif
}

/* Nothing was there: one pause, and at every 32nd time the processor to somebody else. */
BENCH_INLINE void bench_miss(uint32_t *misses)
{
  bench_relax();
  if (++*misses % 32 == 0)
    sched_yield();
}

BENCH_INLINE void bench_fill(vyre_work_item *item, uint64_t value)
{
  const uint64_t check = value ^ BENCH_KEY;
  item->input_offset = (uint32_t)value;
  item->input_len = (uint32_t)(value >> 32);
  item->rule_set_id = (uint32_t)check;
  item->correlation = (uint32_t)(check >> 32);
}

BENCH_INLINE uint64_t bench_value(const vyre_work_item *item)
{
  return item->input_offset | (uint64_t)item->input_len << 32;
}

/* 0 if the item is whole. */
BENCH_INLINE uint64_t bench_torn(const vyre_work_item *item)
{
  const uint64_t check = item->rule_set_id | (uint64_t)item->correlation << 32;
  return bench_value(item) ^ check ^ BENCH_KEY;
}

/* The words are only looked at: what they guard is the queue's business, or ordered by joining. */
BENCH_INLINE uint32_t bench_lane_state(const bench_lane *lane)
{
  return __atomic_load_n(lane->state, __ATOMIC_RELAXED);
}

BENCH_INLINE void bench_produce(bench_lane *lane, uint32_t batch, bench_push_fn push)
{
  void *const queue = lane->queue;
  __attribute__((aligned(64))) vyre_work_item items[BENCH_BATCH_MAX];
  uint64_t value = (uint64_t)lane->producer << 48, sum = 0, sent = 0;
  uint32_t misses = 0, done, n, i;
  /* Once in any case: a short run may be over before this thread was there. */
  do {
    for (i = 0; i < batch; ++i) {
      sum += value;
      bench_fill(&items[i], value++);
    }
    for (done = 0; done < batch; done += n) {
      n = push(queue, items + done, batch - done);
      if (!n) {
        if (bench_lane_state(lane) == BENCH_LANE_ABORT)
          goto done;
        bench_miss(&misses);
      }
    }
    sent += batch;
  } while (bench_lane_state(lane) == BENCH_LANE_RUN);
done:
  lane->items = sent;
  lane->sum = sum;
}

BENCH_INLINE void bench_consume(bench_lane *lane, uint32_t batch, bench_pop_fn pop)
{
  void *const queue = lane->queue;
  __attribute__((aligned(64))) vyre_work_item items[BENCH_BATCH_MAX];
  uint64_t sum = 0, received = 0, torn = 0;
  uint32_t misses = 0, n, i;
  uint32_t last = 0; /* the producers had ended before the look that is made now */
  for (;;) {
    n = pop(queue, items, batch);
    if (!n) {
      if (last || bench_lane_state(lane) == BENCH_LANE_ABORT)
        break;
      /* Acquire: pairs with the release that each producer's thread ends with; what they pushed is
         there for the next look. */
      last = __atomic_load_n(lane->producing, __ATOMIC_ACQUIRE) == 0;
      bench_miss(&misses);
      continue;
    }
    for (i = 0; i < n; ++i) {
      sum += bench_value(&items[i]);
      torn |= bench_torn(&items[i]);
    }
    received += n;
  }
  lane->items = received;
  lane->sum = sum;
  lane->torn = torn;
}

/* The two functions of a contestant, with batches of one known to the compiler. */
#define BENCH_LOOPS(name, push, pop)                                                               \
  static void name##_produce(bench_lane *lane)                                                     \
  {                                                                                                \
    if (lane->batch == 1)                                                                          \
      bench_produce(lane, 1, push);                                                                \
    else                                                                                           \
      bench_produce(lane, lane->batch, push);                                                      \
  }                                                                                                \
  static void name##_consume(bench_lane *lane)                                                     \
  {                                                                                                \
    if (lane->batch == 1)                                                                          \
      bench_consume(lane, 1, pop);                                                                 \
    else                                                                                           \
      bench_consume(lane, lane->batch, pop);                                                       \
  }

#endif
