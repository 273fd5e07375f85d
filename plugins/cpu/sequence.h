/*
 * sequence.h - recorded launches (tier 5): a list of steps that pool.c runs as one job.
 */
#ifndef VYRE_CPU_SEQUENCE_H
#define VYRE_CPU_SEQUENCE_H

#include "launch.h"

/*
 * Constant once it is made, so that several starts of it may be queued: where a replay stands is in
 * the job.
 */
struct vyre_backend_sequence {
  vyre__cpu_step **steps; /* step_count, each a block of its own */
  uint32_t step_count;
  bool is_small;                 /* every step is */
  vyre_backend_buffer **buffers; /* of all bindings */
  uint64_t buffer_count;
};

/*
 * The step of a job has ended and no runner is in it, under the device's lock: makes the next one
 * ready.  False if there is none, or the job has failed.
 */
bool vyre__cpu_sequence_next(vyre_backend_pending *job);

#endif
