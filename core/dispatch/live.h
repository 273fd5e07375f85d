/*
 * live.h - the values of a program's buffers on the host route.
 *
 * A buffer starts borrowed: the caller's bytes, or zeros where there are none; it is never written
 * and never copied.  A segment's result is read into a spare block, which then becomes the value:
 * the block that was the value until now is the next spare.  So nothing is copied between segments,
 * and from the second write on nothing is allocated.
 *
 * Convergence is tested where old and new bytes are both in hand, at that exchange.  Of a buffer
 * that several segments write the block from before the pass is kept until the pass is over.
 */
#ifndef VYRE_CORE_DISPATCH_LIVE_H
#define VYRE_CORE_DISPATCH_LIVE_H

#include "core/dispatch/pending.h"

#include "vyre_kernel.h"

typedef struct vyre__block {
  void *data; /* NULL: none */
  uint64_t capacity;
} vyre__block;

typedef struct vyre__live_value {
  bool own; /* `value` holds it, else it is the caller's bytes or zeros */
  vyre__block value;
  vyre__block spare;  /* what the next write is read into */
  vyre__block before; /* several writers: the value when the pass began, if it was our own */
  bool before_own;
  uint32_t before_pass; /* the pass that `before` is of */
} vyre__live_value;

struct vyre__live {
  vyre_allocator allocator;
  vyre__live_value values[VYRE_MAX_BUFFERS];
  uint32_t control[VYRE_CONTROL_GROUPS]; /* DECLARED: the words, as they go to each segment */
  uint32_t said[VYRE_CONTROL_GROUPS];    /* and as they come back */
};

/* Gives the dispatch its values, in the program's idle blocks if there are any. */
vyre_status vyre__live_take(vyre_pending *pending, vyre_error *err);

/* Keeps the blocks for the program's next dispatch, or frees them. */
void vyre__live_give(vyre_pending *pending);

/* NULL is accepted. */
void vyre__live_destroy(vyre__live *live);

/* The bytes of a buffer now; NULL: zeros. */
const void *vyre__live_bytes(const vyre_pending *pending, uint32_t buffer);

/* A slot for the buffer's next value. */
vyre_status vyre__live_slot(vyre_pending *pending, uint32_t buffer, vyre_slot *out_slot,
                            vyre_error *err);

/* The slot was filled: its block is the value now.  Notes a change, if the run is tested. */
void vyre__live_promote(vyre_pending *pending, uint32_t buffer);

/* The pass is over: notes changes of what several segments write. */
void vyre__live_end_pass(vyre_pending *pending);

/* The value as an output. */
void vyre__live_output(vyre_pending *pending, uint32_t buffer, vyre__value *out_value);

#endif
