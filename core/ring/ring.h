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
  uint64_t completions_mask; /* completions - 1 */
  bool waiting;
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

/*
 * Takes up to `n` consecutive positions: OK with *out_n >= 1, QUEUE_FULL, CLOSED.  `*out_phase` is
 * the head's phase at that very moment.  The caller then writes each item with vyre__ring_publish()
 * in order, with nothing in between that can wait, fail or fault.
 */
vyre_status vyre__ring_reserve(vyre_ring *ring, uint32_t n, uint64_t *out_position, uint32_t *out_n,
                               bool *out_phase);
void vyre__ring_publish(vyre_ring *ring, uint64_t position, bool phase, const vyre_work_item *item);
/* After the last publish of a batch: wakes sleeping consumers. */
void vyre__ring_published(vyre_ring *ring);

/* Flips the phase of positions handed out from now on; returns the first such position. */
uint64_t vyre__ring_flip_phase(vyre_ring *ring);

/* True once no position is handed out any more. */
bool vyre__ring_is_closed(const vyre_ring *ring);

/* Position `n` further, modulo the ring's range. */
static inline uint64_t vyre__ring_step(uint64_t position, uint64_t n)
{
  return (position + n) & VYRE_RING_POSITION_MASK;
}

/* The event stamp of a tenant: its position + 1. */
static inline uint64_t vyre__ring_stamp(uint64_t position)
{
  return vyre__ring_step(position, 1);
}

/* Signed distance from b to a, modulo the ring's range. */
static inline int64_t vyre__ring_distance(uint64_t a, uint64_t b)
{
  return (int64_t)((a - b) << 2) >> 2;
}

/*
 * An eventcount on a wake word pair of the header.  Sleeper: prepare, look again, sleep or cancel.
 * Waker: change the condition, then wake; it costs one fence and one load when nobody sleeps.
 */
uint32_t vyre__wake_prepare(vyre_ring_wake *wake);
void vyre__wake_cancel(vyre_ring_wake *wake);
void vyre__wake_sleep(vyre_ring_wake *wake, uint32_t epoch, uint64_t deadline);
void vyre__wake_all(vyre_ring_wake *wake);

#endif
