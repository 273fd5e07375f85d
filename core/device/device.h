/*
 * device.h - the opened device and the buffer, as the rest of the core sees them.
 *
 * Everything made on a device holds a reference to it and remembers the device's generation; a call
 * on an object of an older generation fails with DEVICE_LOST.
 *
 * How an object lives with vyre_device_recover(): it takes `device->generation` *before* the plugin
 * makes its part, checks it with vyre__device_check() on every call, and frees its part with the
 * handle that vyre__device_handle() gives for it.  recover() never frees under anybody's feet.
 */
#ifndef VYRE_CORE_DEVICE_DEVICE_H
#define VYRE_CORE_DEVICE_DEVICE_H

#include "vyre.h"
#include "vyre_backend.h"

#include "core/base/alloc.h"
#include "core/base/error.h"
#include "core/device/binders.h"
#include "core/device/site.h"

/* A handle that was lost while objects of it existed; closed with the device. */
typedef struct vyre__retired_handle {
  struct vyre__retired_handle *next;
  vyre_backend_device *handle;
  uint64_t generation;
} vyre__retired_handle;

/* What launches and barriers cost with 1, 2, 4, … groups; core/dispatch/cost.h measures. */
#define VYRE__COST_ROWS 20u

typedef struct vyre__cost {
  uint64_t start_ns;   /* atomic; a fused launch that finds the device at rest */
  uint64_t launch_ns;  /* atomic; one of several launches in a row */
  uint64_t copy_ps;    /* atomic; a byte on its way to the device, in picoseconds */
  uint64_t barrier_ns; /* atomic; one barrier of the grid, plus 1; 0: not measured yet */
} vyre__cost;

/* When passes are recorded and replayed. */
typedef enum vyre__recording {
  VYRE__RECORDING_WORTH, /* where it is worth it */
  VYRE__RECORDING_ALWAYS,
  VYRE__RECORDING_NEVER
} vyre__recording;

struct vyre_device {
  vyre_context *context; /* retained */
  const vyre_backend *backend;
  vyre_backend_device *handle; /* NULL after a recover() that could not open it again */
  uint64_t handle_generation;  /* of the objects that belong to `handle` */
  vyre__retired_handle *retired;
  vyre_allocator allocator; /* the context's */
  vyre_device_info info;
  uint32_t backend_index; /* the plugin's index of this device */
  uint32_t references;    /* atomic */
  uint64_t generation;    /* atomic; grows with each loss */
  uint32_t lost;          /* atomic; latched until vyre_device_recover() */
  bool fell_back;
  char *choice;
  const char *serialised_by; /* see vyre__listed_device */
  vyre__cost costs[VYRE__COST_ROWS];
  vyre__recording recording; /* tests set it; see core/dispatch/replay.h */
  vyre__binders binders;     /* recorded launches that name buffers of it */
  vyre__site *site;          /* NULL: nothing waits for a resident launch here */
  vyre__deferred closing;
};

struct vyre_buffer {
  uint32_t references; /* atomic: its owner's, and one for each engine that reads it */
  uint32_t bound;      /* atomic; something in the device's `binders` may bind it */
  uint64_t id;         /* no other buffer of the device has it, or had it */
  vyre_device *device; /* retained */
  vyre_backend_buffer *handle;
  uint64_t size;
  uint64_t generation;
  vyre__deferred freeing;
};

/* True if the table reaches as far as `slot` and it is filled (ABI-003). */
#define VYRE__HAS_SLOT(backend, slot)                                                              \
  ((backend)->struct_size >= offsetof(vyre_backend, slot) + sizeof((backend)->slot) &&             \
   (backend)->slot)

void vyre__buffer_retain(vyre_buffer *buffer);
void vyre__buffer_release(vyre_buffer *buffer);

void vyre__device_retain(vyre_device *device);
void vyre__device_release(vyre_device *device);

/*
 * FORKED in a child process, DEVICE_LOST if the device is lost or `generation` is not its present
 * one; OK otherwise.  Cheap: no system call.
 */
vyre_status vyre__device_check(const vyre_device *device, uint64_t generation, vyre_error *err);

/*
 * The plugin's handle that an object of this generation was made with; for freeing it.  Only in the
 * process itself (vyre__context_is_ours()): a child calls no plugin.
 */
vyre_backend_device *vyre__device_handle(const vyre_device *device, uint64_t generation);

/*
 * Around calls of the plugin that may wait for a resident launch: opening, closing, loading,
 * unloading, looking kernels up, allocating.  After OK comes a resume; TIMEOUT has its fix.
 */
vyre_status vyre__device_quiesce(vyre_device *device, vyre_error *err);
/* The same for a call that can be done without: false if a launch is resident, which stays. */
bool vyre__device_hold_quiet(vyre_device *device);
void vyre__device_resume(vyre_device *device);

/* Frees `node` while nothing is resident: now, or later if a launch does not leave. */
void vyre__device_retire(vyre_device *device, vyre__deferred *node);

/* The present generation, for an object that is about to be made. */
uint64_t vyre__device_generation(const vyre_device *device);

/*
 * After a call of the plugin: gives the error of `said` (what the plugin filled) to the caller with
 * a text in any case, latches a loss, returns the status.  OK passes.  `function` is for messages.
 */
vyre_status vyre__device_result(vyre_device *device, const char *function, vyre_status status,
                                const vyre_error *said, vyre_error *err);

/* Latches the loss if `status` is DEVICE_LOST; returns `status`. */
vyre_status vyre__device_note(vyre_device *device, vyre_status status);

/* False in a child of the process that made the context. */
bool vyre__context_is_ours(const vyre_context *context);

/* Logs through the context's hook; formats with printf rules. */
__attribute__((format(printf, 3, 4))) void
vyre__context_log(const vyre_context *context, vyre_log_level level, const char *format, ...);

const vyre_allocator *vyre__context_allocator(const vyre_context *context);

/* The table of a loaded plugin by its name, or NULL.  Lives as long as the context. */
const vyre_backend *vyre__context_backend(const vyre_context *context, const char *name);

/* The table of the index-th loaded plugin, or NULL past the last. */
const vyre_backend *vyre__context_backend_at(const vyre_context *context, uint32_t index);

#endif
