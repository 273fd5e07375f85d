/*
 * ring.h - the ring's handle, and the two-step enqueue that the engine uses.
 */
#ifndef VYRE_CORE_RING_RING_H
#define VYRE_CORE_RING_RING_H

#include "vyre.h"
#include "vyre_ring_layout.h"

#include "core/base/alloc.h"

struct vyre_ring {
  vyre_ring_header *header;
  vyre_ring_cell *cells;
  uint64_t *released;
  uint64_t *completion;      /* NULL without completion */
  vyre_ring_result *results; /* NULL without a device consumer */
  uint64_t capacity_mask;    /* capacity - 1 */
  uint64_t released_mask;    /* completions - 1, or capacity - 1 without completion */
  uint64_t completions_mask; /* completions - 1 */
  bool waiting;
  bool asymmetric; /* sleepers make the barrier for wakers too: see wake.c */
  vyre_allocator allocator;
  void *owned; /* the region, if the ring allocated it */
};

/* More than the public options: the first position (tests), and a device consumer (the engine). */
typedef struct vyre__ring_setup {
  vyre_ring_options options;
  uint64_t first_position;
  bool device; /* lay out results[] */
} vyre__ring_setup;

vyre_status vyre__ring_region_size(const vyre__ring_setup *setup, uint64_t *out_size,
                                   vyre_error *err);
vyre_status vyre__ring_init(void *memory, uint64_t size, const vyre__ring_setup *setup,
                            const vyre_allocator *allocator, vyre_ring **out_ring, vyre_error *err);

/* Consecutive places that one call took: full cells, and a last one with what is left. */
typedef struct vyre__ring_span {
  uint64_t position; /* the first */
  uint32_t places;
  uint32_t items;
  bool phase; /* the head's, at the very moment */
} vyre__ring_span;

/*
 * Takes places for up to `n` items: OK with `items` >= 1, QUEUE_FULL, CLOSED.  The caller then
 * publishes each place in order, with nothing in between that can wait, fail or fault.
 */
vyre_status vyre__ring_reserve(vyre_ring *ring, uint32_t n, vyre__ring_span *out_span);

/*
 * Publishes place `k` of a span; `items` is the span's first item.  What the caller stored before
 * is there for whoever claims one of the place's items.
 */
void vyre__ring_publish(vyre_ring *ring, const vyre__ring_span *span, uint32_t k,
                        const vyre_work_item *items);

/* After the last publish of a span: wakes sleeping consumers. */
void vyre__ring_published(vyre_ring *ring);

/* How many items lie in place `k` of a span. */
static inline uint32_t vyre__ring_place_items(const vyre__ring_span *span, uint32_t k)
{
  const uint32_t left = span->items - k * VYRE_RING_CELL_ITEMS;
  return left < VYRE_RING_CELL_ITEMS ? left : VYRE_RING_CELL_ITEMS;
}

/* Flips the phase of positions handed out from now on; returns the first such position. */
uint64_t vyre__ring_flip_phase(vyre_ring *ring);

/* True once no position is handed out any more. */
bool vyre__ring_is_closed(const vyre_ring *ring);

/* Position `n` further, modulo the ring's range. */
static inline uint64_t vyre__ring_step(uint64_t position, uint64_t n)
{
  return (position + n) & VYRE_RING_POSITION_MASK;
}

/* The stamp of a tenant: its position + 1. */
static inline uint64_t vyre__ring_stamp(uint64_t position)
{
  return vyre__ring_step(position, 1);
}

/* Signed distance from position b to a, modulo the ring's range. */
static inline int64_t vyre__ring_distance(uint64_t a, uint64_t b)
{
  return (int64_t)((a - b) << 8) >> 8;
}

/* The stamp of the tenant before `position` in an array of `lap` places. */
static inline uint64_t vyre__ring_previous_stamp(uint64_t position, uint64_t lap)
{
  return vyre__ring_stamp(vyre__ring_step(position, 0 - lap));
}

/* A word with this stamp and nothing in its low bits. */
static inline uint64_t vyre__ring_word(uint64_t stamp)
{
  return stamp << VYRE_RING_STAMP_SHIFT;
}

static inline uint64_t vyre__ring_stamp_of(uint64_t word)
{
  return word >> VYRE_RING_STAMP_SHIFT;
}

static inline uint64_t vyre__ring_ticket(uint64_t position, uint32_t index)
{
  return position << VYRE_RING_INDEX_BITS | index;
}

static inline uint64_t vyre__ring_position_of(uint64_t ticket)
{
  return ticket >> VYRE_RING_INDEX_BITS;
}

static inline uint32_t vyre__ring_index_of(uint64_t ticket)
{
  return (uint32_t)(ticket & VYRE_RING_INDEX_MASK);
}

/* The ticket of item `i` of a span. */
static inline uint64_t vyre__ring_span_ticket(const vyre__ring_span *span, uint32_t i)
{
  return vyre__ring_ticket(vyre__ring_step(span->position, i / VYRE_RING_CELL_ITEMS),
                           i % VYRE_RING_CELL_ITEMS);
}

/* What a vyre_ring_span has in one cell.  Its cells are full but for the last one. */
typedef struct vyre__ring_part {
  uint64_t position;
  uint32_t index; /* of its first item in the cell */
  uint32_t n;     /* items; 0: the span has ended */
  uint32_t left;  /* items of the span from here on */
  bool whole;     /* they are all that the cell has */
} vyre__ring_part;

static inline void vyre__ring_judge_part(const vyre_ring_span *span, vyre__ring_part *part)
{
  const uint32_t room = VYRE_RING_CELL_ITEMS - part->index;
  part->n = part->left < room ? part->left : room;
  part->whole = part->index == 0 && (part->n < part->left || span->ends_cell);
}

/* The index of the span's first ticket is less than VYRE_RING_CELL_ITEMS. */
static inline vyre__ring_part vyre__ring_first_part(const vyre_ring_span *span)
{
  vyre__ring_part part = {.position = vyre__ring_position_of(span->first),
                          .index = vyre__ring_index_of(span->first),
                          .left = span->count};
  vyre__ring_judge_part(span, &part);
  return part;
}

static inline void vyre__ring_next_part(const vyre_ring_span *span, vyre__ring_part *part)
{
  part->position = vyre__ring_step(part->position, 1);
  part->index = 0;
  part->left -= part->n;
  vyre__ring_judge_part(span, part);
}

/* How many items the cell of a published word holds, if it is the cell of `position`; else 0. */
static inline uint32_t vyre__ring_count_if(uint64_t published, uint64_t position)
{
  return vyre__ring_stamp_of(published) == vyre__ring_stamp(position)
             ? (uint32_t)(published & VYRE_RING_COUNT_MASK)
             : 0;
}

/* The released word of a position whose items were all copied out. */
static inline uint64_t vyre__ring_released_word(uint64_t position, uint32_t count)
{
  return vyre__ring_word(vyre__ring_stamp(position)) | count << VYRE_RING_RELEASED_SHIFT;
}

/*
 * How many items lie, or lay, at a position; 0 if they are not published, or the completion place
 * has a later tenant.  Behind a number that is not 0 the completion word can be read: it is that of
 * the tenant before, or later.
 */
uint32_t vyre__ring_items_of(const vyre_ring *ring, uint64_t position);

/*
 * The bits of the items that are not done by this completion word, of `items` that the position
 * has; 0 if the word is a later tenant's.
 */
uint32_t vyre__ring_pending(const vyre_ring *ring, uint64_t word, uint64_t position,
                            uint32_t items);

/*
 * An eventcount on a wake word pair of the header.  Sleeper: prepare, look again, sleep or cancel.
 * Waker: change the condition, then wake; it costs one fence and one load when nobody sleeps.
 */
uint32_t vyre__wake_prepare(vyre_ring_wake *wake);
void vyre__wake_cancel(vyre_ring_wake *wake);
void vyre__wake_sleep(vyre_ring_wake *wake, uint32_t epoch, uint64_t deadline);
void vyre__wake_all(vyre_ring_wake *wake);

/*
 * Points at which a test can stop a thread.  Compiled out unless VYRE_TESTING; the hook is one
 * pointer for the whole process, set while no other thread uses a ring.
 */
typedef enum vyre__ring_point {
  VYRE__RING_HEAD_READ,         /* enqueue: the head is read, nothing is judged yet */
  VYRE__RING_PLACES_JUDGED,     /* enqueue: the places are free, the head not yet moved */
  VYRE__RING_PLACES_TAKEN,      /* enqueue: the head is moved, nothing written */
  VYRE__RING_ITEMS_WRITTEN,     /* enqueue: a cell is written, not published */
  VYRE__RING_ITEMS_PUBLISHED,   /* enqueue: published, nobody is woken yet */
  VYRE__RING_TAIL_READ,         /* claim: the tail is read, nothing judged yet */
  VYRE__RING_ITEMS_JUDGED,      /* claim: items are there, the tail not yet moved */
  VYRE__RING_ITEMS_TAKEN,       /* claim: the tail is moved, nothing copied */
  VYRE__RING_ITEMS_COPIED,      /* claim: a cell's items are copied, not released */
  VYRE__RING_ITEMS_RELEASED,    /* claim: released, nobody is woken yet */
  VYRE__RING_COMPLETION_READ,   /* mark_done: the word is read, not yet changed */
  VYRE__RING_COMPLETION_MARKED, /* mark_done: done, nobody is woken yet */
  VYRE__RING_SLEEPER_COUNTED,   /* wait: counted in, the condition not yet looked at again */
  VYRE__RING_SLEEPER_LOOKED,    /* wait: looked again, in vain, not yet asleep */
  VYRE__RING_CLOSED_MARKED,     /* close: the head carries the mark, the hint is not set */
  VYRE__RING_TAIL_SEEN          /* in_flight: the tail is read, the head not yet */
} vyre__ring_point;

#ifdef VYRE_TESTING
extern void (*vyre__ring_hook)(vyre__ring_point point);
#define VYRE__RING_AT(point) (vyre__ring_hook ? vyre__ring_hook(point) : (void)0)
#else
#define VYRE__RING_AT(point) ((void)0)
#endif

#endif
