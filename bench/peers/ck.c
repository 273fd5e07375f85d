/*
 * ck.c - Concurrency Kit's ring for many producers and consumers, with the items by value.  It has
 * no call for several items: a batch is a loop.  Of its places one stays empty.
 */
#include "bench/peers/list.h"
#include "bench/peers/loop.h"

#include <ck_ring.h>
#include <stdlib.h>

CK_RING_PROTOTYPE(item, vyre_work_item)

typedef struct ck_queue {
  ck_ring_t ring;
  vyre_work_item *items;
} ck_queue;

static void *ck_create(uint32_t capacity)
{
  ck_queue *queue = aligned_alloc(128, (sizeof *queue + 127) / 128 * 128);
  vyre_work_item *items = aligned_alloc(128, capacity * sizeof *items);
  if (!queue || !items) {
    free(queue);
    free(items);
    return NULL;
  }
  ck_ring_init(&queue->ring, capacity);
  queue->items = items;
  return queue;
}

static void ck_destroy(void *handle)
{
  ck_queue *queue = handle;
  free(queue->items);
  free(queue);
}

BENCH_INLINE uint32_t ck_push(void *handle, const vyre_work_item *items, uint32_t n)
{
  ck_queue *queue = handle;
  uint32_t i;
  /* It only reads the item, but does not say so. */
  for (i = 0; i < n; ++i)
    if (!ck_ring_enqueue_mpmc_item(&queue->ring, queue->items, (vyre_work_item *)&items[i]))
      break;
  return i;
}

BENCH_INLINE uint32_t ck_pop(void *handle, vyre_work_item *items, uint32_t max)
{
  ck_queue *queue = handle;
  uint32_t i;
  for (i = 0; i < max; ++i)
    if (!ck_ring_dequeue_mpmc_item(&queue->ring, queue->items, &items[i]))
      break;
  return i;
}

BENCH_LOOPS(ck, ck_push, ck_pop)

const bench_contestant bench_peer_ck = {"ck_ring",  BENCH_CK_VERSION, ck_create,
                                        ck_destroy, ck_produce,       ck_consume};
