/*
 * steps.h - the launches of one pass as a list: what a plugin gets that runs or records all of them
 * in one call.
 */
#ifndef VYRE_CORE_DISPATCH_STEPS_H
#define VYRE_CORE_DISPATCH_STEPS_H

#include "core/dispatch/bind.h"

typedef struct vyre__steps {
  vyre_dispatch_desc *descs;
  vyre_binding *bindings; /* of all steps, one after the other */
  void *push;             /* the constants of all of them, behind the bindings */
  uint32_t count;         /* without steps whose grid is empty */
} vyre__steps;

/*
 * The segments, and the test of convergence behind them with `with_test`, on the dispatch's stage.
 * It needs the dispatch no more.  Freed by vyre__steps_free(), on an error too.
 */
vyre_status vyre__steps_describe(const vyre_pending *pending, bool with_test,
                                 vyre__steps *out_steps, vyre_error *err);
void vyre__steps_free(vyre__steps *steps, const vyre_allocator *allocator);

/* True if the dispatch would describe just these, as long as the handles in them are alive. */
bool vyre__steps_match(const vyre__steps *steps, const vyre_pending *pending, bool with_test);

#endif
