/*
 * gpu.h - an opened device of a GPU plugin, and what passes between the files of the body.
 *
 * Streams: launches and the copies of resident buffers run on `compute`, in the order of the calls
 * (DISP-020, BUF-004); the bytes of HOST bindings come in on `copy`, which a launch waits for by an
 * event.  `copy` never waits for a launch: uploads and downloads first wait for what is on
 * `compute` and then go there, so that the pinned chunks are never held by somebody who waits for a
 * launch.  A persistent launch has a stream of its own, and so has the clock.  Nothing uses the
 * vendor's default stream.
 *
 * Memory while a persistent launch is resident: the host ends it before it allocates or frees
 * (DISP-012; VYRE_CAP_ALLOC_WHILE_RESIDENT is off), but dispatch(), upload() and read() go on, so
 * they take what they need from pools that never call the driver's waiting allocator: device memory
 * from memory_take_async(), pinned memory from a fixed number of chunks (staging.h).
 *
 * Threads: `lock` guards the lists and counters of a device and is held over the driver's calls
 * that start work, so that the order of calls is the order on the stream.  It is never held while
 * anything is waited for.
 */
#ifndef VYRE_GPU_GPU_H
#define VYRE_GPU_GPU_H

#include "plugins/gpu/driver.h"

#include <pthread.h>

#define VYRE__GPU_EVENTS_KEPT 64u
#define VYRE__GPU_MAX_BINDINGS 96u /* vyre_backend_device_info.max_bindings */
#define VYRE__GPU_HANDLES_KEPT 64u
#define VYRE__GPU_STREAMS_KEPT 4u

typedef struct vyre__gpu_staging vyre__gpu_staging; /* staging.h */

struct vyre_backend_device {
  const vyre_host *host;
  uint32_t index;
  vyre__gpu_facts facts;
  vyre__gpu_context *context;
  vyre__gpu_stream *compute, *copy, *clock;
  bool is_queue_borrowed; /* `compute` is the caller's (INT-004) */
  vyre__gpu_staging *staging;

  pthread_mutex_t lock;
  bool lost; /* atomic: latched by a sticky error; everything answers DEVICE_LOST from then on */
  vyre__gpu_code lost_code; /* atomic: the vendor's, of the first one; written before `lost` */

  /* Events that are free to use, those with times second: made when first needed (event.c). */
  struct vyre__gpu_events {
    vyre__gpu_event *kept[VYRE__GPU_EVENTS_KEPT];
    uint32_t count;
  } events[2];

  /* The device's clock (clock.c), guarded by `lock`: the time at `epoch`, which is moved on. */
  vyre__gpu_event *epoch;
  uint64_t epoch_ns;      /* on the device's clock */
  uint64_t epoch_host_ns; /* when it was recorded, by the host's */
  uint64_t clock_last_ns; /* the latest time that was told */

  uint32_t resident; /* persistent launches that have not ended */

  vyre_backend_device *next_open; /* device.c, guarded by a lock of its own */

  /* Kept from launch to launch (pending.c, persistent.c); all of it starts as zeros. */
  vyre_backend_pending *spare; /* released handles with their events */
  uint32_t spare_count;
  vyre__gpu_stream *streams[VYRE__GPU_STREAMS_KEPT]; /* of persistent launches, free to use */
  uint32_t stream_count;
  bool persists; /* has prepared for persistent launches */

  /* Cooperative launches (cooperative.c), under its own lock. */
  vyre__gpu_event *cooperative;          /* behind the latest one, NULL before the first */
  vyre_backend_device *cooperative_next; /* another device with one */
};

struct vyre_backend_buffer {
  vyre__gpu_address address; /* valid also at size 0 */
  uint64_t size;
  void *host;    /* of coherent memory */
  uint32_t kind; /* VYRE__GPU_BUFFER_… */
};

#define VYRE__GPU_BUFFER_OWN 0u
#define VYRE__GPU_BUFFER_COHERENT 1u
#define VYRE__GPU_BUFFER_IMPORTED 2u

struct vyre_backend_module {
  vyre_backend_device *device;
  vyre__gpu_image *image;
  bool debug;                          /* checks indexes: launches carry a fault record */
  struct vyre_backend_kernel *kernels; /* found so far, freed with the module */
  char name[64];                       /* for messages */
};

struct vyre_backend_kernel {
  struct vyre_backend_kernel *next;
  vyre_backend_module *module;
  vyre__gpu_function *function;
  vyre__gpu_limits limits;
  uint32_t parameters; /* UINT32_MAX: the driver cannot say */
  bool is_fused;       /* its groups wait for each other (DISP-013) */
  char name[];         /* as it was asked for */
};

/* ---- context.c: a device's context for the length of a call, and what its errors mean ---- */

typedef struct vyre__gpu_scope {
  vyre_backend_device *device;
  void *before;
  bool entered;
} vyre__gpu_scope;

/*
 * Makes the context current.  DEVICE_LOST without a driver call if the device is latched as lost.
 * vyre__gpu_leave() puts back what was, also after a failed enter; it takes a scope twice.
 */
vyre_status vyre__gpu_enter(vyre_backend_device *device, vyre__gpu_scope *scope, vyre_error *err);
void vyre__gpu_leave(vyre__gpu_scope *scope);

/*
 * For giving back what the vendor handed out: enters and asks for no error record.  False if it
 * could not, and always on a lost device: what is there goes with the dead context, which a later
 * open may already have reset.  To be left like any scope.
 */
bool vyre__gpu_enter_to_free(vyre_backend_device *device, vyre__gpu_scope *scope);

/* True once the device is latched as lost. */
bool vyre__gpu_is_lost(const vyre_backend_device *device);
/* DEVICE_LOST with the first vendor's code if it is. */
vyre_status vyre__gpu_check_lost(const vyre_backend_device *device, vyre_error *err);

/*
 * Turns a driver's code into a status: VYRE_OK for 0.  Otherwise an error whose message is
 * "WHAT: NAME (NUMBER)", with the vendor's number in it; a sticky code latches the device as lost
 * and is DEVICE_LOST.  `device` may be NULL.
 */
vyre_status vyre__gpu_result(vyre_backend_device *device, vyre__gpu_code code, const char *what,
                             vyre_error *err);

/* ---- event.c ---- */

/* An event from the pool, or a new one; without times it costs less to record.  The context is
 * current; `lock` is not held. */
vyre_status vyre__gpu_event_take(vyre_backend_device *device, bool timed,
                                 vyre__gpu_event **out_event, vyre_error *err);
/* Gives it back, `timed` as it was taken; NULL is accepted.  Nobody waits for it any more.  Needs
 * no context. */
void vyre__gpu_event_give(vyre_backend_device *device, bool timed, vyre__gpu_event *event);
/* Drops it, and one that is of no pool; NULL is accepted.  Enters the context itself. */
void vyre__gpu_event_drop(vyre_backend_device *device, vyre__gpu_event *event);
/*
 * Until a recorded event is reached: VYRE_OK, TIMEOUT (without a text), or what the device says.
 * Looks without a rest at first, then with rests that grow; `is_long`: with rests at once.  The
 * context is current; `lock` is not held.
 */
vyre_status vyre__gpu_event_watch(vyre_backend_device *device, vyre__gpu_event *event, bool is_long,
                                  uint64_t timeout_ns, const char *what, vyre_error *err);
/* The same without limit. */
vyre_status vyre__gpu_event_wait(vyre_backend_device *device, vyre__gpu_event *event,
                                 const char *what, vyre_error *err);
/* Waits for everything that is on the stream now, by an event from the pool. */
vyre_status vyre__gpu_stream_settle(vyre_backend_device *device, vyre__gpu_stream *stream,
                                    const char *what, vyre_error *err);
/* The device's events, at its end. */
void vyre__gpu_events_drop(vyre_backend_device *device);

/* ---- clock.c ---- */

/* At open: the first epoch.  The context is current. */
vyre_status vyre__gpu_clock_start(vyre_backend_device *device, vyre_error *err);
/*
 * A recorded, finished event's time in nanoseconds on the clock of device_clock().  The context is
 * current; `lock` is not held.
 */
vyre_status vyre__gpu_event_time(vyre_backend_device *device, vyre__gpu_event *event,
                                 uint64_t *out_ns, vyre_error *err);

/* ---- native.c ---- */

/* A queue that device_open() is given; handle 0 is none.  Needs no device. */
vyre_status vyre__gpu_queue_check(const vyre_native_handle *queue, vyre_error *err);
/* Makes it the device's `compute`; the context is current. */
vyre_status vyre__gpu_queue_take(vyre_backend_device *device, const vyre_native_handle *queue,
                                 vyre_error *err);

/* ---- persistent.c ---- */

/* Why no persistent launch may run on such a device; "" if one may. */
const char *vyre__gpu_persistent_reason(const vyre__gpu_facts *facts);

/* ---- buffer.c ---- */

/* BUF-001: VYRE_OK if the range lies in the buffer. */
vyre_status vyre__gpu_check_range(const vyre_backend_buffer *buffer, uint64_t offset, uint64_t size,
                                  const char *what, vyre_error *err);

/* ---- pending.c ---- */

/*
 * Drops what a device keeps for its launches; device_close() calls it before the pool of events and
 * the streams go.  Enters the context itself.
 */
void vyre__gpu_launches_drop(vyre_backend_device *device);

/* ---- slots of the table, by file ---- */

/* device.c */
vyre_status vyre__gpu_device_count(uint32_t *out_count, vyre_error *err);
vyre_status vyre__gpu_device_info(uint32_t index, vyre_backend_device_info *out_info,
                                  vyre_error *err);
/* As a host of ABI 0.2 knows it. */
vyre_status vyre__gpu_device_info_0_2(uint32_t index, vyre_backend_device_info *out_info,
                                      vyre_error *err);
vyre_status vyre__gpu_device_open(uint32_t index, const vyre_backend_device_options *options,
                                  vyre_backend_device **out_device, vyre_error *err);
void vyre__gpu_device_close(vyre_backend_device *device);
/* clock.c */
vyre_status vyre__gpu_device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                   uint64_t *out_host_ns, vyre_error *err);
/* compile.c */
vyre_status vyre__gpu_compile(const vyre_compile_desc *desc, vyre_blob *out_blob, vyre_error *err);
/* module.c */
vyre_status vyre__gpu_module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                  vyre_backend_module **out_module, vyre_error *err);
void vyre__gpu_module_unload(vyre_backend_device *device, vyre_backend_module *module);
vyre_status vyre__gpu_kernel_find(vyre_backend_module *module, const char *name,
                                  vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                  vyre_error *err);
/* dispatch.c, cooperative.c */
vyre_status vyre__gpu_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_backend_pending **out_pending, vyre_error *err);
vyre_status vyre__gpu_cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                         const uint32_t workgroup[3], uint64_t workgroup_memory,
                                         uint32_t *out_groups, vyre_error *err);
/* sequence.c */
vyre_status vyre__gpu_sequence_create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                      vyre_backend_sequence **out_sequence, vyre_error *err);
vyre_status vyre__gpu_sequence_start(vyre_backend_device *device, vyre_backend_sequence *sequence,
                                     uint32_t times, vyre_backend_pending **out_pending,
                                     vyre_error *err);
void vyre__gpu_sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence);
/* pending.c */
vyre_status vyre__gpu_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                   vyre_error *err);
vyre_status vyre__gpu_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                   uint32_t slot_count, uint64_t slot_stride,
                                   vyre_backend_times *out_times, vyre_error *err);
void vyre__gpu_pending_release(vyre_backend_pending *pending);
/* buffer.c */
vyre_status vyre__gpu_buffer_alloc(vyre_backend_device *device, uint64_t size,
                                   vyre_backend_buffer **out_buffer, vyre_error *err);
void vyre__gpu_buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer);
vyre_status vyre__gpu_buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    uint64_t offset, const void *data, uint64_t size,
                                    vyre_error *err);
vyre_status vyre__gpu_buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                      uint64_t offset, void *out_data, uint64_t size,
                                      vyre_error *err);
vyre_status vyre__gpu_buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                  uint64_t offset, uint64_t size, uint32_t value, vyre_error *err);
vyre_status vyre__gpu_buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                  uint64_t destination_offset, vyre_backend_buffer *source,
                                  uint64_t source_offset, uint64_t size, vyre_error *err);
vyre_status vyre__gpu_buffer_import(vyre_backend_device *device, const vyre_native_memory *memory,
                                    vyre_backend_buffer **out_buffer, vyre_error *err);
vyre_status vyre__gpu_buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    vyre_native_memory *out_memory, vyre_error *err);
vyre_status vyre__gpu_coherent_alloc(vyre_backend_device *device, uint64_t size,
                                     vyre_coherent_memory *out_memory, vyre_error *err);

/* native.c */
vyre_status vyre__gpu_event_record(vyre_backend_device *device, vyre_native_handle *event,
                                   vyre_error *err);
vyre_status vyre__gpu_event_await(vyre_backend_device *device, const vyre_native_handle *event,
                                  vyre_error *err);
vyre_status vyre__gpu_event_release(vyre_backend_device *device, const vyre_native_handle *event,
                                    vyre_error *err);
vyre_status vyre__gpu_queue_export(vyre_backend_device *device, vyre_native_handle *out_queue,
                                   vyre_error *err);

#endif
