/*
 * pending.h - a launch under way, and what the files about launches ask of each other.
 */
#ifndef VYRE_GPU_PENDING_H
#define VYRE_GPU_PENDING_H

#include "plugins/gpu/gpu.h"

/* A HOST binding that may be written: what pending_read() copies out. */
typedef struct vyre__gpu_output {
  vyre__gpu_address address;
  uint64_t size;
  uint32_t id;
} vyre__gpu_output;

/* vyre_backend_pending.state */
#define VYRE__GPU_RUNNING 0u
#define VYRE__GPU_ENDED 1u

struct vyre_backend_pending {
  vyre_backend_pending *next; /* among the spare ones */
  vyre_backend_device *device;
  const vyre_backend_kernel *kernel; /* of a sequence, the first step's */
  const char *subject;               /* "kernel", for messages: its name follows */
  vyre__gpu_stream *stream;
  vyre__gpu_event *started; /* recorded in front of a launch that is timed */
  vyre__gpu_event *ended;   /* behind it: one of these two */
  vyre__gpu_event *ended_timed, *ended_untimed;
  vyre__gpu_address block; /* memory of the HOST bindings and the fault record, or 0 */
  vyre__gpu_address fault; /* within it, or 0 */
  uint64_t enqueue_ns;
  uint32_t output_count;
  bool is_new;    /* not from the spare ones */
  bool is_timed;  /* somebody may ask when it began and ended */
  bool is_marked; /* `ended` was recorded; if not, `error` says why */

  /* A persistent launch. */
  bool is_persistent;
  bool is_resident; /* stands in the list of residency.c and has a stream to give back */
  vyre_backend_pending *resident_next;
  uint32_t groups, occupancy; /* of the launch; groups that fit in one unit */

  pthread_mutex_t lock; /* of what happens once, when the launch has ended */
  uint32_t state;       /* atomic: VYRE__GPU_RUNNING, then VYRE__GPU_ENDED */
  vyre_error error;     /* of the launch; code VYRE_OK if it ended well */
  vyre__gpu_output outputs[VYRE__GPU_MAX_BINDINGS];
};

/* ---- pending.c ---- */

/*
 * A handle with the events that such a launch needs, which stay with it from then on; all else as
 * zeros.  The context is current; no lock is held.
 */
vyre_status vyre__gpu_pending_take(vyre_backend_device *device, bool is_timed,
                                   vyre_backend_pending **out_pending, vyre_error *err);
/*
 * Gives back the handle, its block, and what a persistent launch has: the launch has ended, was
 * never started, or `stream` (where the block goes back in order) is the one that it is on.
 */
void vyre__gpu_pending_give(vyre_backend_pending *pending, vyre__gpu_stream *stream);

/* The event that may be used for something else before the launch: on its stream, waited for. */
static inline vyre__gpu_event *vyre__gpu_pending_mark(const vyre_backend_pending *pending)
{
  return pending->is_timed ? pending->started : pending->ended;
}

/* ---- dispatch.c ---- */

/* Gives the handle a block of device memory, taken in the order of the stream `copy`. */
vyre_status vyre__gpu_pending_block(vyre_backend_pending *pending, uint64_t size, vyre_error *err);
/*
 * A launch whose end could not be marked: it runs, and only a wait for the whole stream will tell
 * when it has ended.  `code` becomes the error of its handle (DISP-032).
 */
void vyre__gpu_pending_unmarked(vyre_backend_pending *pending, vyre__gpu_code code,
                                const char *what);

/* ---- persistent.c ---- */

/* VYRE_OK if the device may have a persistent launch. */
vyre_status vyre__gpu_persistent_check(const vyre_backend_device *device, vyre_error *err);
/* A stream for the launch.  The context is current; no lock is held. */
vyre_status vyre__gpu_persistent_stream(vyre_backend_device *device, vyre__gpu_stream **out_stream,
                                        vyre_error *err);
/* Gives it back. */
void vyre__gpu_persistent_stream_give(vyre_backend_device *device, vyre__gpu_stream *stream);
/* Under the lock of residency.h: RESIDENCY_EXCEEDED if the launch would fill the device.  Stores
   how many of its groups fit in a unit. */
vyre_status vyre__gpu_persistent_fits(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                      uint64_t workgroup_memory, uint32_t *out_occupancy,
                                      vyre_error *err);

/* ---- cooperative.c ---- */

/* Under the lock of residency.h: DISP-013. */
vyre_status vyre__gpu_cooperative_check(vyre_backend_device *device,
                                        const vyre_backend_kernel *kernel,
                                        const vyre_dispatch_desc *desc, uint64_t workgroup_memory,
                                        vyre_error *err);

#endif
