/*
 * stage.h - the device's side of one dispatch: a buffer for each that the caller gives or gets as
 * bytes, the shadow of the convergence test, the control words.
 *
 * A program keeps one idle stage for its next dispatch, so that a dispatch like the one before
 * allocates nothing; dispatches at the same time have a stage each.
 */
#ifndef VYRE_CORE_DISPATCH_STAGE_H
#define VYRE_CORE_DISPATCH_STAGE_H

#include "core/dispatch/pending.h"

struct vyre__stage {
  vyre_allocator allocator;
  vyre_buffer *buffers[VYRE_MAX_BUFFERS]; /* by buffer; may be larger than what is bound */
  vyre_buffer *shadow;
  uint64_t shadow_size; /* bytes in use */
  vyre_buffer *control;
  void *scratch[VYRE_MAX_BUFFERS]; /* host memory that outputs are read into, by buffer */
  uint64_t scratch_size[VYRE_MAX_BUFFERS];
  void *copies[VYRE_MAX_BUFFERS]; /* host copies of the state before, where no kernel tests */
  uint64_t copies_size[VYRE_MAX_BUFFERS];
};

/*
 * Gives the dispatch a stage, the program's idle one if there is one, with state 0 in its buffers:
 * the caller's bytes, zeros elsewhere.  Each input goes up once; buffers that no segment binds get
 * none.  `shadow`: with the shadow, a copy of state 0 if the run is tested.  `control`: with the
 * control words: zeros, the limit, whether it is tested, the group counts, pass 1.
 */
vyre_status vyre__stage_take(vyre_pending *pending, bool shadow, bool control, vyre_error *err);

/* Takes it back: kept for the next dispatch, or freed. */
void vyre__stage_give(vyre_pending *pending);

/* NULL is accepted. */
void vyre__stage_destroy(vyre__stage *stage);

/* A buffer of the program on the device: the caller's, or the stage's own. */
static inline vyre_buffer *vyre__staged(const vyre_pending *pending, uint32_t buffer)
{
  return pending->on_buffers ? pending->lent[buffer] : pending->stage->buffers[buffer];
}

/* Tells the device the pass that it is in. */
vyre_status vyre__stage_set_pass(vyre_pending *pending, uint32_t pass, vyre_error *err);

/* The words VYRE_CONTROL_CHANGED and VYRE_CONTROL_PASSES. */
vyre_status vyre__stage_outcome(vyre_pending *pending, uint32_t *out_changed, uint32_t *out_passes,
                                vyre_error *err);

/*
 * Reads each output's part that the caller gets, once, and describes it.  A buffer that no segment
 * binds has the caller's own bytes.
 */
vyre_status vyre__stage_collect(vyre_pending *pending, vyre__value *values, vyre_error *err);

/*
 * Convergence without a kernel for it: downloads every buffer that is written and compares it with
 * its copy.  With `first` it only makes the copies.
 */
vyre_status vyre__stage_compare(vyre_pending *pending, bool first, bool *out_changed,
                                vyre_error *err);

#endif
