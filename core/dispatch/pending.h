/*
 * pending.h - a dispatch under way: what was asked for, where it stands, what is in the air.
 *
 * A run of several launches is driven by whoever waits for it: the calls that wait take the next
 * steps, under `lock`.  How it goes is its route's business (route.h).
 */
#ifndef VYRE_CORE_DISPATCH_PENDING_H
#define VYRE_CORE_DISPATCH_PENDING_H

#include "core/dispatch/flight.h"
#include "core/dispatch/outputs.h"
#include "core/dispatch/plan.h"
#include "core/dispatch/shape.h"

#include <pthread.h>

struct vyre_pending {
  vyre_program *program; /* retained */
  pthread_mutex_t lock;

  /* What was asked for; constant once it runs. */
  vyre_dispatch_options options; /* `push` is a copy */
  bool on_buffers;               /* the caller lent buffers and has the results in them */
  bool tested;                   /* convergence is tested behind each pass */
  bool idle; /* no step has a group and nothing is tested: passes are only counted */
  vyre__shape shape;
  vyre_bytes *given;  /* the caller's bytes, by buffer; NULL: none */
  vyre_buffer **lent; /* the caller's buffers, by buffer */
  vyre__plan plan;
  uint32_t (*groups)[3]; /* logical groups by step: the segments, then the test; 0: an empty grid */

  /* Where it stands. */
  const vyre__route_ops *ops; /* NULL: no route has taken it */
  uint32_t pass;              /* whose steps are launched, from 1 */
  uint32_t step;              /* the next one of that pass */
  uint32_t tested_pass;       /* the last one whose convergence is known */
  bool launched;              /* every step of the last pass is (resident route) */
  bool changed;               /* this pass has changed something (host route) */
  bool done;                  /* everything has ended well; the last launch may be unread */
  bool finished;              /* the outputs were handed out */
  vyre_status failed;         /* what it ended with, once it ended badly */
  vyre_error *error;          /* the same in words; NULL: there was no memory for them */
  vyre__flight flight;
  vyre__stage *stage;       /* device routes: buffers of the device */
  vyre__live *live;         /* host route: the buffers' values */
  uint32_t emulated_steps;  /* launches of one pass in the plugin's own form */
  vyre__recorded *recorded; /* resident route: passes are replays of it; or NULL */
  uint64_t digest;          /* of the steps (kept.h); 0: nobody has asked */
  uint64_t single;          /* launches that dispatches before made of them one by one */
  char unrecorded[104];     /* why it is not to be had, or "" */

  /* What the result will say. */
  uint64_t started_ns;
  vyre_dispatch_result result; /* sums so far */
  uint64_t first_start_ns;     /* on the device's clock; VYRE_TIME_ABSENT: unknown */
};

/* An empty handle for the program; freed by vyre_pending_release(). */
vyre_status vyre__pending_create(vyre_program *program, const vyre_dispatch_options *options,
                                 vyre_pending **out_pending, vyre_error *err);

/* Lets go of what a route that was refused has prepared, so that another can take it. */
void vyre__pending_forget(vyre_pending *pending);

/* Several segments or passes: messages say which. */
static inline bool vyre__pending_is_long(const vyre_pending *pending)
{
  return pending->program->segment_count > 1 || pending->options.iterations > 1;
}

/* Somebody may ask for times. */
static inline bool vyre__pending_is_timed(const vyre_pending *pending)
{
  return pending->options.timing == VYRE_TIMING_ON;
}

/* INVALID_ARGUMENT if the result's struct_size is too small; NULL is accepted. */
vyre_status vyre__result_check(const vyre_dispatch_result *result, vyre_error *err);

#endif
