/*
 * kept.h - recorded launches that a program keeps for its next dispatches, and what it remembers of
 * steps that were not recorded.
 *
 * Two dispatches have the same steps if they launch the same kernels on the same parts of the same
 * buffers, with the same counts, push constants, groups and workgroups.  A buffer is the same if
 * its id is: handles and addresses are given out again.  The buffers that vyre itself makes for a
 * dispatch are the same ones as long as the program's idle stage (stage.h) serves it.
 *
 * What is kept holds on to no buffer: it is let go before one that it binds is freed (binders.h),
 * before the program is, and when the device is recovered.  Dispatches at the same time may start
 * one recording (SEQ-004); each holds a reference while it runs.
 */
#ifndef VYRE_CORE_DISPATCH_KEPT_H
#define VYRE_CORE_DISPATCH_KEPT_H

#include "core/dispatch/bind.h"
#include "core/dispatch/steps.h"

/* The launches of a pass, recorded; constant while it is kept. */
struct vyre__recorded {
  vyre__binder binder;
  vyre__deferred freeing;
  uint32_t references;  /* atomic: the program's while it is kept, one for each dispatch */
  vyre_program *keeper; /* NULL: nobody's.  Guarded by the lock of the device's binders */
  vyre_device *device;  /* retained */
  uint64_t generation;
  vyre_backend_sequence *handle;
  uint64_t digest;
  vyre__steps steps;                    /* what was recorded, push constants and all */
  uint64_t buffers[VYRE__MAX_BINDINGS]; /* ids of what is bound */
};

/*
 * A number for the steps of a dispatch, never 0: equal for the same steps, different for others as
 * good as always.  Nothing is started because of it alone.
 */
uint64_t vyre__kept_digest(const vyre_pending *pending, bool with_test);

/*
 * The recording of just these steps, with a reference for the caller; or NULL.  `*out_launches`: so
 * many have been made one by one of steps with this digest.
 */
vyre__recorded *vyre__kept_find(const vyre_pending *pending, bool with_test, uint64_t digest,
                                uint64_t *out_launches);

/* So many more launches of such steps were made one by one. */
void vyre__kept_count(vyre_program *program, uint64_t digest, uint64_t launches);

/*
 * The dispatch's program keeps it, with a reference of its own, in place of what has not been used
 * for longest.
 */
void vyre__kept_add(const vyre_pending *pending, bool with_test, vyre__recorded *recorded);

/* Keeps it no longer, and begins to count its steps anew. */
void vyre__kept_remove(vyre_program *program, vyre__recorded *recorded);

/* The program goes. */
void vyre__kept_clear(vyre_program *program);

/* Gives a reference back; with the last one it is freed. */
void vyre__recorded_release(vyre__recorded *recorded);

#endif
