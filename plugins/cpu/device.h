/*
 * device.h - an opened device: its queue of launches, its threads.  And the slots of the table,
 * by the file that fills them in.
 */
#ifndef VYRE_CPU_DEVICE_H
#define VYRE_CPU_DEVICE_H

#include "runner.h"

#include <pthread.h>

/* A thread of the pool. */
typedef struct vyre__cpu_worker {
  pthread_t thread;
  struct vyre_backend_device *device;
  vyre__cpu_runner runner;
} vyre__cpu_worker;

/* A thread that runs one group of a persistent launch (persistent.c). */
typedef struct vyre__cpu_dedicated {
  pthread_t thread;
  pthread_cond_t wake;
  struct vyre_backend_device *device;
  struct vyre__cpu_dedicated *next;      /* of all */
  struct vyre__cpu_dedicated *next_idle; /* of those that wait for a launch */
  vyre_backend_pending *launch;
  uint64_t group;
  vyre__cpu_runner runner;
} vyre__cpu_dedicated;

struct vyre_backend_device {
  const vyre_host *host;
  uint32_t thread_count; /* what the pool may have */
  uint32_t core_count;   /* what they may run on at once */

  pthread_mutex_t lock;
  pthread_cond_t work; /* the head of the queue changed, or stopping */
  pthread_cond_t done; /* a launch ended */
  bool stopping;
  vyre_backend_pending *head, *tail; /* in order of the calls; only the head runs */
  uint64_t submitted, completed;     /* sequence of the last one queued, and ended */
  uint32_t waiting_workers;

  vyre__cpu_worker *workers;      /* thread_count places */
  uint32_t worker_count;          /* threads that run */
  vyre__cpu_runner inline_runner; /* of a caller who runs the head, or helps with it */
  bool helped;                    /* it is in use by somebody who waits */

  vyre__cpu_dedicated *dedicated, *idle;
};

struct vyre_backend_buffer {
  void *data;
  uint64_t size;
  uint64_t last_use; /* atomic: sequence of the last launch that uses it */
  uint32_t origin;
};

/* Starts a thread with every signal blocked; the error of pthread_create(). */
int vyre__cpu_thread_start(pthread_t *out_thread, void *(*main)(void *), void *argument);
/* Names the calling thread.  A thread named by another one is named through /proc, and a process
   that ends with such threads can cost whoever waits for it tens of milliseconds. */
void vyre__cpu_thread_name(const char *name);

/* -------- dispatch.c -------- */

/*
 * A launch that can be recorded: one with flags or HOST bindings, or that dispatch() refuses, is
 * refused.  Freed by vyre__plugin_deallocate().
 */
vyre_status vyre__cpu_step_make(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                vyre__cpu_step **out_step, vyre_error *err);
/* The buffer was last used by that launch: uploads and downloads wait for it. */
void vyre__cpu_buffer_mark(vyre_backend_buffer *buffer, uint64_t sequence);

/* -------- pool.c -------- */

/* Queues the launch, or runs it here if it is small and nothing is before it. */
vyre_status vyre__cpu_pool_submit(vyre_backend_device *device, vyre_backend_pending *launch,
                                  vyre_error *err);
/*
 * For a caller who waits without limit, the lock held: takes groups of the launch if it is at the
 * head and has some left.  True if it did; the lock was given up meanwhile.
 */
bool vyre__cpu_pool_help(vyre_backend_pending *launch);
/* Waits until all launches up to `sequence` have ended. */
void vyre__cpu_pool_wait(vyre_backend_device *device, uint64_t sequence);
/* Joins the threads. */
void vyre__cpu_pool_stop(vyre_backend_device *device);

/* -------- persistent.c -------- */

vyre_status vyre__cpu_persistent_submit(vyre_backend_device *device, vyre_backend_pending *launch,
                                        vyre_error *err);
void vyre__cpu_persistent_stop(vyre_backend_device *device);

/* -------- slots of the table -------- */

vyre_status vyre__cpu_device_count(uint32_t *out_count, vyre_error *err);
vyre_status vyre__cpu_device_info(uint32_t index, vyre_backend_device_info *out_info,
                                  vyre_error *err);
/* As a host of ABI 0.1, of 0.2 knows it. */
vyre_status vyre__cpu_device_info_0_1(uint32_t index, vyre_backend_device_info *out_info,
                                      vyre_error *err);
vyre_status vyre__cpu_device_info_0_2(uint32_t index, vyre_backend_device_info *out_info,
                                      vyre_error *err);
vyre_status vyre__cpu_device_open(uint32_t index, const vyre_backend_device_options *options,
                                  vyre_backend_device **out_device, vyre_error *err);
void vyre__cpu_device_close(vyre_backend_device *device);
vyre_status vyre__cpu_device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                   uint64_t *out_host_ns, vyre_error *err);

vyre_status vyre__cpu_compile(const vyre_compile_desc *desc, vyre_blob *out_blob, vyre_error *err);
vyre_status vyre__cpu_module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                  vyre_backend_module **out_module, vyre_error *err);
void vyre__cpu_module_unload(vyre_backend_device *device, vyre_backend_module *module);
vyre_status vyre__cpu_kernel_find(vyre_backend_module *module, const char *name,
                                  vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                  vyre_error *err);

vyre_status vyre__cpu_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_backend_pending **out_pending, vyre_error *err);
vyre_status vyre__cpu_cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                         const uint32_t workgroup[3], uint64_t workgroup_memory,
                                         uint32_t *out_groups, vyre_error *err);
vyre_status vyre__cpu_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                   vyre_error *err);
vyre_status vyre__cpu_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                   uint32_t slot_count, uint64_t slot_stride,
                                   vyre_backend_times *out_times, vyre_error *err);
void vyre__cpu_pending_release(vyre_backend_pending *pending);

vyre_status vyre__cpu_buffer_alloc(vyre_backend_device *device, uint64_t size,
                                   vyre_backend_buffer **out_buffer, vyre_error *err);
void vyre__cpu_buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer);
vyre_status vyre__cpu_buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    uint64_t offset, const void *data, uint64_t size,
                                    vyre_error *err);
vyre_status vyre__cpu_buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                      uint64_t offset, void *out_data, uint64_t size,
                                      vyre_error *err);
vyre_status vyre__cpu_buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                  uint64_t offset, uint64_t size, uint32_t value, vyre_error *err);
vyre_status vyre__cpu_buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                  uint64_t destination_offset, vyre_backend_buffer *source,
                                  uint64_t source_offset, uint64_t size, vyre_error *err);
vyre_status vyre__cpu_buffer_import(vyre_backend_device *device, const vyre_native_memory *memory,
                                    vyre_backend_buffer **out_buffer, vyre_error *err);
vyre_status vyre__cpu_buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    vyre_native_memory *out_memory, vyre_error *err);
vyre_status vyre__cpu_coherent_alloc(vyre_backend_device *device, uint64_t size,
                                     vyre_coherent_memory *out_memory, vyre_error *err);

vyre_status vyre__cpu_sequence_create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                      vyre_backend_sequence **out_sequence, vyre_error *err);
vyre_status vyre__cpu_sequence_start(vyre_backend_device *device, vyre_backend_sequence *sequence,
                                     uint32_t times, vyre_backend_pending **out_pending,
                                     vyre_error *err);
void vyre__cpu_sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence);

#endif
