/*
 * flight.h - launches in the air, oldest first: starting, waiting, reading, letting go.
 */
#ifndef VYRE_CORE_DISPATCH_FLIGHT_H
#define VYRE_CORE_DISPATCH_FLIGHT_H

#include "core/program/program.h"

/* Launches that are started before the oldest is waited for: enough to keep a device busy. */
#define VYRE__FLIGHT_MOST 32u

/* `step` of what is no segment. */
#define VYRE__STEP_SETTLE UINT32_MAX
#define VYRE__STEP_WHOLE (UINT32_MAX - 1u)
#define VYRE__STEP_REPLAY (UINT32_MAX - 2u) /* all steps of `passes` passes, recorded */

typedef struct vyre__launched {
  vyre_backend_pending *handle;
  uint32_t step; /* a segment's index, or VYRE__STEP_… */
  uint32_t pass;
  uint32_t passes; /* from `pass` on */
} vyre__launched;

typedef struct vyre__flight {
  vyre__launched *launched; /* a ring of `room` */
  uint32_t room;            /* VYRE__FLIGHT_MOST, or 1 for a run of one launch */
  uint32_t first, count;
} vyre__flight;

/* Starts one launch, the next to be in the air; there is room for it. */
vyre_status vyre__flight_start(vyre_pending *pending, const vyre_dispatch_desc *desc, uint32_t step,
                               uint32_t pass, vyre_error *err);

/* The same with a handle that the plugin gave; OK with NULL is an error. */
vyre_status vyre__flight_add(vyre_pending *pending, const char *function, vyre_status status,
                             const vyre_error *said, const vyre__launched *launched,
                             vyre_error *err);

/* Waits for the oldest. */
vyre_status vyre__flight_wait(vyre_pending *pending, uint64_t deadline, vyre_error *err);

/*
 * The oldest has ended: reads its outputs into the slots, adds its times.  DISPATCH_FAILED if the
 * plugin returned other outputs than `buffers` (ids of bindings) in that order and of these sizes.
 */
vyre_status vyre__flight_read(vyre_pending *pending, vyre_slot *slots, const uint32_t *buffers,
                              uint32_t count, vyre_error *err);

/* Lets the oldest go. */
void vyre__flight_pop(vyre_pending *pending);

/* Waits for all and lets them go; results are dropped. */
void vyre__flight_drop(vyre_pending *pending);

/* "segment 2 of 4 ('hop'), pass 3: " in front of an error; nothing in a short run. */
void vyre__flight_prefix(const vyre_pending *pending, uint32_t step, uint32_t pass,
                         vyre_error *err);

#endif
