/*
 * plan.h - which routes can serve a dispatch, what each would cost, and in which order they are
 * tried.
 */
#ifndef VYRE_CORE_DISPATCH_PLAN_H
#define VYRE_CORE_DISPATCH_PLAN_H

#include "core/program/program.h"

typedef struct vyre__route_ops vyre__route_ops;

typedef struct vyre__plan_row {
  const vyre__route_ops *ops;
  const char *name; /* of the row: "emulated" is the route resident in the plugin's own form */
  bool possible;
  const char *why;     /* why it cannot be; the program's or a constant */
  uint64_t bytes_once; /* that travel in a dispatch */
  uint64_t bytes_pass; /* that travel in each pass */
  uint64_t cost_ns;    /* of launches, barriers and bytes, without the kernels */
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
  uint32_t taken;                  /* the row that took it */
  bool reckoned;                   /* costs were compared: */
  vyre__cost cost;
  uint32_t barriers; /* of a pass, native */
  uint32_t launches; /* of a pass, resident */
  uint64_t copies;   /* bytes, once, native and resident */
  uint64_t shape;    /* for learn.h; 0: it has no say */
  vyre__learned learned;
  bool is_trial; /* order[0] is the dearer one by the plan, to be measured */
} vyre__plan;

/*
 * Fills in pending->groups and the plan.  Measures the device once if two routes are to be compared
 * by cost.  UNSUPPORTED for a forced route that cannot be, with the reason.
 */
vyre_status vyre__plan_make(vyre_pending *pending, vyre__plan *out_plan, vyre_error *err);

/* What native or resident costs without the kernels, of so many passes; costs were reckoned. */
uint64_t vyre__plan_cost(const vyre_pending *pending, const vyre__plan *plan, uint32_t row,
                         uint64_t passes);

/* Launches of one pass; with_test: the device's own test of convergence is one of them. */
uint64_t vyre__plan_launches(const vyre_pending *pending, bool with_test);

/* Bytes of the caller that go to the device in a dispatch, and that come back. */
void vyre__plan_traffic(const vyre_pending *pending, uint64_t *out_up, uint64_t *out_down);

/* What a route costs, in words; "" if it was not reckoned. */
void vyre__plan_costs(const vyre__plan *plan, uint32_t row, char *out_text, size_t size);

/* Why the route that took it is the one, in words. */
void vyre__plan_reason(const vyre_pending *pending, char *out_text, size_t size);

/* After a refusal of order[at]: true if the next one may be tried after such an error. */
bool vyre__plan_may_fall(const vyre__plan *plan, uint32_t at, vyre_status refused);

#endif
