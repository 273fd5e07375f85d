/*
 * plan.h - which routes can serve a dispatch, what each would cost, and in which order they are
 * tried.
 */
#ifndef VYRE_CORE_DISPATCH_PLAN_H
#define VYRE_CORE_DISPATCH_PLAN_H

#include "core/dispatch/pending.h"

typedef struct vyre__plan_row {
  const vyre__route_ops *ops;
  bool possible;
  uint64_t cost_ns; /* of launches and barriers, without the kernels; 0: unknown */
  char why[160];    /* what it costs, or why it cannot be */
} vyre__plan_row;

#define VYRE__PLAN_NATIVE 0u
#define VYRE__PLAN_EMULATED 1u
#define VYRE__PLAN_RESIDENT 2u
#define VYRE__PLAN_HOST 3u
#define VYRE__PLAN_ROWS 4u

typedef struct vyre__plan {
  vyre__plan_row rows[VYRE__PLAN_ROWS];
  uint32_t order[VYRE__PLAN_ROWS]; /* rows to try, the best first */
  uint32_t count;                  /* of them; with a forced route those of that route */
  uint32_t fused_groups;           /* groups of the fused launch */
} vyre__plan;

/*
 * Fills in pending->groups and the plan.  Measures the device once if two routes are to be compared
 * by cost.  UNSUPPORTED for a forced route that cannot be, with the reason.
 */
vyre_status vyre__plan_make(vyre_pending *pending, vyre__plan *out_plan, vyre_error *err);

/* After a refusal of order[at]: true if the next one may be tried after such an error. */
bool vyre__plan_may_fall(const vyre__plan *plan, uint32_t at, vyre_status refused);

#endif
