/*
 * broken_queues.c - a module for `vyre bench ring --peers`: one queue under a lock as it should be,
 * and the same with faults that the benchmark must find.
 */
#include "bench/peers/loop.h"

#include <pthread.h>
#include <stdlib.h>

typedef enum fault_kind {
  FAULT_NONE,
  FAULT_LOSES,   /* the first item */
  FAULT_DOUBLES, /* the first item */
  FAULT_TEARS,   /* the first item */
  FAULT_CHANGES, /* the first item, into another whole one */
} fault_kind;

typedef struct queue {
  pthread_mutex_t lock;
  fault_kind fault; /* not yet done */
  uint32_t capacity;
  uint64_t head, tail;
  vyre_work_item items[];
} queue;

static void *create(uint32_t capacity, fault_kind fault)
{
  queue *q = malloc(sizeof *q + capacity * sizeof q->items[0]);
  if (!q || pthread_mutex_init(&q->lock, NULL) != 0) {
    free(q);
    return NULL;
  }
  q->fault = fault;
  q->capacity = capacity;
  q->head = q->tail = 0;
  return q;
}

static void destroy(void *handle)
{
  queue *q = handle;
  pthread_mutex_destroy(&q->lock);
  free(q);
}

static void put(queue *q, const vyre_work_item *item)
{
  q->items[q->head++ % q->capacity] = *item;
}

static void put_broken(queue *q, vyre_work_item item)
{
  switch (q->fault) {
  case FAULT_LOSES:
    break;
  case FAULT_DOUBLES:
    put(q, &item);
    put(q, &item);
    break;
  case FAULT_TEARS:
    item.correlation ^= 1;
    put(q, &item);
    break;
  default:
    bench_fill(&item, bench_value(&item) + 1000);
    put(q, &item);
    break;
  }
  q->fault = FAULT_NONE;
}

static uint32_t push(void *handle, const vyre_work_item *items, uint32_t n)
{
  queue *q = handle;
  uint32_t i;
  pthread_mutex_lock(&q->lock);
  for (i = 0; i < n && q->head - q->tail < q->capacity; ++i) {
    if (q->fault != FAULT_NONE)
      put_broken(q, items[i]);
    else
      put(q, &items[i]);
  }
  pthread_mutex_unlock(&q->lock);
  return i;
}

static uint32_t pop(void *handle, vyre_work_item *items, uint32_t max)
{
  queue *q = handle;
  uint32_t i;
  pthread_mutex_lock(&q->lock);
  for (i = 0; i < max && q->tail < q->head; ++i)
    items[i] = q->items[q->tail++ % q->capacity];
  pthread_mutex_unlock(&q->lock);
  return i;
}

BENCH_LOOPS(locked, push, pop)

#define QUEUE(name, kind)                                                                          \
  static void *create_##name(uint32_t capacity)                                                    \
  {                                                                                                \
    return create(capacity, kind);                                                                 \
  }                                                                                                \
  static const bench_contestant name = {#name,   "test",         create_##name,                    \
                                        destroy, locked_produce, locked_consume};

QUEUE(honest, FAULT_NONE)
QUEUE(loser, FAULT_LOSES)
QUEUE(doubler, FAULT_DOUBLES)
QUEUE(tearer, FAULT_TEARS)
QUEUE(changer, FAULT_CHANGES)

const bench_peers *vyre_bench_peers(void)
{
  static const bench_contestant *const all[] = {&honest, &loser, &doubler, &tearer, &changer};
  static const bench_peers peers = {BENCH_PEERS_VERSION, sizeof all / sizeof all[0], all};
  return &peers;
}
