/*
 * arena.h - the engine's own input region, lent out in blocks, first in first out.
 *
 * The region is a circle: blocks are given out in its direction and room comes back when the oldest
 * block is given back.  Positions grow for ever; a position modulo `lap` is an offset.  A block
 * that does not fit before the region's end begins at its start.
 *
 * The lock guards the table of blocks.  It is held for a few loads and stores and never while
 * anybody waits; room is waited for on the eventcount.
 */
#ifndef VYRE_CORE_ENGINE_ARENA_H
#define VYRE_CORE_ENGINE_ARENA_H

#include "core/ring/ring.h"

#include <pthread.h>

typedef struct vyre__engine_arena {
  bool made;
  pthread_mutex_t lock;
  uint64_t size;         /* bytes that blocks may use; 0: there is no region */
  uint64_t lap;          /* the same, rounded up to the alignment */
  uint64_t head;         /* where the next block may begin */
  uint64_t *blocks;      /* by number mod `places`: position, and marks in its low bits */
  uint32_t places;       /* of `blocks` */
  uint64_t first, next;  /* numbers: the oldest block that is out, the next to give out */
  uint32_t *of_items;    /* by completion entry: the item's block + 1, 0 for none; atomic */
  uint32_t serves_items; /* atomic: 1 once any item brought a block */
  vyre_ring_wake room;   /* sleepers for room, in the region or in the ring */
} vyre__engine_arena;

#define VYRE__NO_BLOCK 0u

struct vyre_engine;

vyre_status vyre__arena_make(struct vyre_engine *engine, vyre_error *err);
void vyre__arena_free(struct vyre_engine *engine);

/* Wakes who waits for room: it came, or it will never come. */
void vyre__arena_tell(struct vyre_engine *engine);

/* Gives blocks of items back; VYRE__NO_BLOCK is none. */
void vyre__arena_return(struct vyre_engine *engine, const uint32_t *blocks, uint32_t n);

/*
 * The block of the item at a completion entry ((position mod completions) * 8 + index).  Asked for
 * before the completion is taken: then the entry may have another tenant.
 */
static inline uint32_t vyre__arena_block(const vyre__engine_arena *arena, uint64_t entry)
{
  /* Relaxed: the item's result, which was acquired, came behind both stores. */
  if (!__atomic_load_n(&arena->serves_items, __ATOMIC_RELAXED))
    return VYRE__NO_BLOCK;
  return __atomic_load_n(&arena->of_items[entry], __ATOMIC_RELAXED);
}

/* Writes down the block of an item that is about to be published. */
static inline void vyre__arena_assign(vyre__engine_arena *arena, uint64_t entry, uint32_t block)
{
  /* Relaxed: the entry's last tenant, if it brought a block, was consumed before the place was
     handed out again, so its store of the flag is seen. */
  if (__atomic_load_n(&arena->serves_items, __ATOMIC_RELAXED))
    __atomic_store_n(&arena->of_items[entry], block, __ATOMIC_RELAXED);
}

/*
 * Completions of one place were consumed.  `blocks` is what vyre__arena_block() said before.
 * Whoever waits for room in the ring is woken as well; it also looks by itself, so that a missed
 * wake-up costs milliseconds and no fence is needed here.
 */
static inline void vyre__arena_consumed(struct vyre_engine *engine, vyre__engine_arena *arena,
                                        const uint32_t *blocks, uint32_t n)
{
  /* Relaxed: a flag that never goes back, and a hint. */
  if (__atomic_load_n(&arena->serves_items, __ATOMIC_RELAXED))
    vyre__arena_return(engine, blocks, n);
  if (__atomic_load_n(&arena->room.waiters, __ATOMIC_RELAXED))
    vyre__arena_tell(engine);
}

#endif
