/*
 * zoo.h - the broken plugins: a correct one that stands before the cpu plugin and forwards every
 * slot, and for each row of zoo.def one place where it breaks one rule.
 *
 * All rows are made of the same objects; two bytes of zoo_mutant.c say which one it is.
 * The row `none` breaks nothing, `emulated` neither: it runs passes by a slot of its own.
 */
#ifndef VYRE_CONFORMANCE_ZOO_H
#define VYRE_CONFORMANCE_ZOO_H

#include "vyre_backend.h"

#include <pthread.h>
#include <stdbool.h>

enum {
#define MUTANT(name, rule, killer, what) ZOO_##name,
#include "conformance/zoo/zoo.def"
#undef MUTANT
  ZOO_COUNT
};

/* The number of the row, the low byte first. */
extern const unsigned char zoo__row[2];
#define ZOO_THIS ((uint32_t)zoo__row[0] | (uint32_t)zoo__row[1] << 8)
#define ZOO_IS(name) (ZOO_THIS == (uint32_t)ZOO_##name)

#define ZOO_MAX_AWAITED 8u
typedef struct zoo_queue zoo_queue;

/* Handles of ours around those of the cpu plugin. */
struct vyre_backend_device {
  vyre_backend_device *real;
  uint32_t index;                  /* which of the two devices that we offer */
  uint32_t number;                 /* of the devices that were open when it was opened */
  vyre_backend_device_info limits; /* of the cpu plugin: it looks at the system at each question */
  pthread_t opener;
  pthread_mutex_t lock;
  vyre_backend_pending *resident; /* the persistent launch that runs, see resident_blocks */
  unsigned char *last;            /* what was read last, see stale_output */
  uint64_t last_size;
  vyre_backend_pending *held;      /* a start of a sequence that is held back, see seq_swapped */
  vyre_backend_pending *forgotten; /* see seq_released_early */
  zoo_queue *queue, *own;          /* in rows that lend them */
  vyre_backend_pending *awaited[ZOO_MAX_AWAITED];
};

struct vyre_backend_sequence {
  vyre_backend_sequence *real;
  vyre_backend_device *device;
  /* Steps of our own, in rows that record others than the caller's. */
  vyre_sequence_desc desc;
  vyre_dispatch_desc *steps;
  vyre_binding *bindings;
  vyre_backend_sequence *parts[3];
  vyre_backend_pending *under_way; /* of the cpu plugin, see seq_busy */
  bool spoiled;
};

#define ZOO_MAX_OUTPUTS 64u

struct vyre_backend_pending {
  vyre_backend_pending *real; /* NULL: passes, which have run */
  vyre_backend_device *device;
  bool timed_out, told;
  uint32_t output_count;
  const void *data[ZOO_MAX_OUTPUTS]; /* the host's bytes of the outputs */
  /* A launch that starts when it is waited for, see push_borrowed and bindings_borrowed. */
  vyre_dispatch_desc late;
  vyre_binding late_bindings[ZOO_MAX_OUTPUTS];
  bool is_late;
  /* Passes. */
  vyre_error error;
  vyre_backend_times passes_times;
  /* A sequence's: how many replays, and more that was started for it. */
  vyre_backend_sequence *sequence, *own;
  uint32_t times, other_count;
  vyre_backend_pending *others[2];
  vyre_backend_pending *next;
  uint32_t kept; /* atomic; by queues and events, beside its owner */
};

/* ---- zoo_plugin.c ---- */

const vyre_host *zoo__host(void);
/* The cpu plugin's table of the highest version. */
const vyre_backend *zoo__real(void);
/* A text of the table that can be written, see texts_change. */
char *zoo__vendor(void);
/* Whether this row has a slot for passes. */
bool zoo__emulates(void);

/* ---- zoo_devices.c ---- */

vyre_status zoo__device_count(uint32_t *out_count, vyre_error *err);
vyre_status zoo__device_info(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err);
vyre_status zoo__device_info_0_1(uint32_t index, vyre_backend_device_info *out_info,
                                 vyre_error *err);
vyre_status zoo__device_open(uint32_t index, const vyre_backend_device_options *options,
                             vyre_backend_device **out_device, vyre_error *err);
void zoo__device_close(vyre_backend_device *device);
vyre_status zoo__device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                              uint64_t *out_host_ns, vyre_error *err);
vyre_status zoo__cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                    const uint32_t workgroup[3], uint64_t workgroup_memory,
                                    uint32_t *out_groups, vyre_error *err);

/* ---- zoo_modules.c ---- */

vyre_status zoo__compile(const vyre_compile_desc *desc, vyre_blob *out_blob, vyre_error *err);
vyre_status zoo__module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                             vyre_backend_module **out_module, vyre_error *err);
void zoo__module_unload(vyre_backend_device *device, vyre_backend_module *module);
vyre_status zoo__kernel_find(vyre_backend_module *module, const char *name,
                             vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                             vyre_error *err);
/* The prelude of this row: the cpu plugin's, and what some rows put behind it. */
const char *zoo__prelude(const vyre_backend *real, uint64_t *out_size);

/* ---- zoo_launch.c, zoo_pending.c, zoo_passes.c ---- */

vyre_status zoo__dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                          vyre_backend_pending **out_pending, vyre_error *err);
vyre_status zoo__start_late(vyre_backend_pending *pending, vyre_error *err);
vyre_status zoo__pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns, vyre_error *err);
vyre_status zoo__pending_read(vyre_backend_pending *pending, vyre_slot *slots, uint32_t slot_count,
                              uint64_t slot_stride, vyre_backend_times *out_times, vyre_error *err);
void zoo__pending_release(vyre_backend_pending *pending);
vyre_status zoo__dispatch_passes(vyre_backend_device *device, const vyre_passes_desc *desc,
                                 vyre_backend_pending **out_pending, vyre_error *err);

const vyre_binding *zoo__binding_at(const vyre_dispatch_desc *desc, uint32_t index);

/* Whether the descriptor is whole: rows that change one look at it before the cpu plugin does. */
bool zoo__is_whole(const vyre_dispatch_desc *desc);
/* Nothing ordinary runs while a persistent launch is there. */
void zoo__wait_for_resident(vyre_backend_device *device);

/* ---- zoo_sequence.c ---- */

vyre_status zoo__sequence_create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                 vyre_backend_sequence **out_sequence, vyre_error *err);
vyre_status zoo__sequence_start(vyre_backend_device *device, vyre_backend_sequence *sequence,
                                uint32_t times, vyre_backend_pending **out_pending,
                                vyre_error *err);
void zoo__sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence);

/* Starts what some rows hold back, before another call. */
typedef enum zoo_caller { ZOO_FROM_DISPATCH, ZOO_FROM_TRANSFER, ZOO_FROM_HANDLE } zoo_caller;
void zoo__sequence_flush(vyre_backend_device *device, zoo_caller caller);
/* What a row makes of the end of a start, of its release (true: it keeps it). */
vyre_status zoo__sequence_ended(const vyre_backend_pending *pending, vyre_status status,
                                vyre_error *err);
bool zoo__sequence_forgotten(vyre_backend_pending *pending);
void zoo__sequence_close(vyre_backend_device *device);

/* ---- zoo_interop.c: events and a queue of the zoo's own ---- */

/* Whether this row lends them. */
bool zoo__lends(void);
vyre_status zoo__lend_open(vyre_backend_device *device, const vyre_backend_device_options *options,
                           vyre_error *err);
void zoo__lend_close(vyre_backend_device *device);
/* What is called for now begins when what the handle waits for has ended. */
void zoo__lend_settle(vyre_backend_device *device, zoo_caller caller);
/* This launch is the last one of its queue; the handle is released (true: that was all). */
void zoo__lend_launch(vyre_backend_device *device, vyre_backend_pending *pending);
bool zoo__lend_release(vyre_backend_pending *pending);
vyre_status zoo__event_record(vyre_backend_device *device, vyre_native_handle *handle,
                              vyre_error *err);
vyre_status zoo__event_wait(vyre_backend_device *device, const vyre_native_handle *handle,
                            vyre_error *err);
vyre_status zoo__event_release(vyre_backend_device *device, const vyre_native_handle *handle,
                               vyre_error *err);
vyre_status zoo__queue_export(vyre_backend_device *device, vyre_native_handle *out_queue,
                              vyre_error *err);

/* ---- zoo_buffers.c ---- */

vyre_status zoo__buffer_alloc(vyre_backend_device *device, uint64_t size,
                              vyre_backend_buffer **out_buffer, vyre_error *err);
void zoo__buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer);
vyre_status zoo__buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               uint64_t offset, const void *data, uint64_t size, vyre_error *err);
vyre_status zoo__buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, void *out_data, uint64_t size, vyre_error *err);
vyre_status zoo__buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                             uint64_t offset, uint64_t size, uint32_t value, vyre_error *err);
vyre_status zoo__buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                             uint64_t destination_offset, vyre_backend_buffer *source,
                             uint64_t source_offset, uint64_t size, vyre_error *err);
vyre_status zoo__buffer_import(vyre_backend_device *device, const vyre_native_memory *memory,
                               vyre_backend_buffer **out_buffer, vyre_error *err);
vyre_status zoo__buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               vyre_native_memory *out_memory, vyre_error *err);
vyre_status zoo__coherent_alloc(vyre_backend_device *device, uint64_t size,
                                vyre_coherent_memory *out_memory, vyre_error *err);

/* ---- zoo_views.c: coherent memory whose two sides are not the same ---- */

/* Whether the host's side of coherent memory is a copy in this row. */
bool zoo__has_views(void);
/* Gives the host a side of its own; false: no memory. */
bool zoo__view_add(vyre_backend_device *device, vyre_coherent_memory *memory, uint64_t size);
void zoo__view_remove(const vyre_backend_buffer *buffer);

/* ---- zoo_harm.c: what a row does to the process, or instead of returning ---- */

/* The places where harm is done, in the order in which a host comes to them. */
typedef enum zoo_place {
  ZOO_AT_QUERY,
  ZOO_AT_COUNT,
  ZOO_AT_INFO,
  ZOO_AT_OPEN,
  ZOO_AT_LOAD,
  ZOO_AT_FIND,
  ZOO_AT_DISPATCH,
  ZOO_AT_WAIT,
  ZOO_AT_READ,
  ZOO_AT_RELEASE,
  ZOO_AT_UNLOAD,
  ZOO_AT_CLOSE,
} zoo_place;

void zoo__enter(zoo_place place);

/* ---- zoo_error.c ---- */

/* Fills `err` (may be NULL or short) and returns the code. */
__attribute__((format(printf, 3, 4))) vyre_status zoo__fail(vyre_error *err, vyre_status code,
                                                            const char *format, ...);
/* What this row makes of an error that the cpu plugin has told. */
vyre_status zoo__pass_on(vyre_error *err, vyre_status status);

#endif
