/*
 * device.h - devices of all platforms, an opened one, and the slots of the table by the file that
 * fills them in.
 */
#ifndef VYRE_OPENCL_DEVICE_H
#define VYRE_OPENCL_DEVICE_H

#include "cl.h"
#include "vyre_backend.h"

#include <pthread.h>
#include <stdbool.h>

#define VYRE__OPENCL_MAX_DEVICES 64u
/* As many buffers as a program may have, their shadow and the control words. */
#define VYRE__OPENCL_MAX_BINDINGS 66u
#define VYRE__OPENCL_MAX_PUSH 1024u
#define VYRE__OPENCL_MAX_GROUPS_X 0x7fffffffu
#define VYRE__OPENCL_MAX_GROUPS_YZ 65535u
/* A binding of size 0 is an address in here. */
#define VYRE__OPENCL_NOTHING_BYTES 256u
/* Workgroup memory is given out in these. */
#define VYRE__OPENCL_LOCAL_ALIGN 16u

/* What the plugin has to know of a device before and after it is opened. */
typedef struct vyre__opencl_facts {
  cl_platform_id platform;
  cl_device_id device;
  char id[VYRE_DEVICE_ID_SIZE];
  bool c11;       /* kernels are compiled with the atomics of C11 */
  bool unified;   /* the device works in the host's memory */
  bool is_cpu;    /* neighbouring items run one after the other */
  bool has_timer; /* clGetDeviceAndHostTimer() answers */
  bool correct;   /* the build option for correctly rounded division is taken */
  uint64_t local_bytes;
  uint32_t max_items, max_items_by_dimension[3];
  uint32_t max_bindings;
  char closed_reason[VYRE_DEVICE_REASON_SIZE]; /* why it cannot be opened, or "" */
} vyre__opencl_facts;

/* All devices, found with the first success and kept: their numbers do not change. */
vyre_status vyre__opencl_devices(const vyre__opencl_facts **out_rows, uint32_t *out_count,
                                 vyre_error *err);

/* A text of a device, cut to fit, on one line; "" if there is none. */
void vyre__opencl_device_text(cl_device_id device, cl_uint what, char *out_text, size_t size);

/* The numbers of "OpenCL 3.0 …"; false for another text. */
bool vyre__opencl_version(const char *text, unsigned long *out_major, unsigned long *out_minor);

struct vyre_backend_device {
  const vyre_host *host;
  const vyre__cl_calls *cl;
  const vyre__opencl_facts *facts;
  cl_context context;
  cl_command_queue queue;    /* in order: launches and copies of buffers */
  cl_command_queue transfer; /* in order: what need not wait for them */
  cl_mem nothing;
  bool lent;            /* the queue is the caller's (INT-004), and the context that of the queue */
  pthread_mutex_t lock; /* of `tick` */
  uint64_t tick;        /* nanoseconds of a tick of kernels' clocks, times 2^32; 0: not measured */
};

/*
 * What makes a runtime on the processor take memory when it is asked for: PoCL else takes it with
 * the first command, and ends the process where there is none.  On a GPU it would be memory of the
 * host.
 */
static inline cl_mem_flags vyre__opencl_at_once(const vyre_backend_device *device)
{
  return device->facts->is_cpu ? CL_MEM_ALLOC_HOST_PTR : 0;
}

struct vyre_backend_buffer {
  cl_mem memory;
  uint64_t size;
};

/* -------- interop.c -------- */

/* INT-004: the caller's queue and its context, retained. */
vyre_status vyre__opencl_take_queue(vyre_backend_device *device, const vyre_native_handle *queue,
                                    vyre_error *err);

/* -------- clock.c -------- */

/* Measures, once a device, how long a tick of vyre_clock_ns()'s counter is. */
vyre_status vyre__opencl_measure_tick(vyre_backend_device *device, vyre_error *err);

/* -------- build.c -------- */

/* A text to compile. */
typedef struct vyre__opencl_source {
  const char *text;
  uint64_t size;
  uint64_t flags; /* VYRE_MODULE_… */
  const char *name;
} vyre__opencl_source;

/* The log of a failed build, with the lines of the author's text. */
void vyre__opencl_log_lines(const vyre__opencl_source *source, const char *log, char *out_text,
                            size_t size);

/* Bytes of the plugin's prelude in front of the text. */
uint64_t vyre__opencl_prelude_in(const vyre__opencl_source *source);

/* A program that is built, from the cache or by the vendor's compiler. */
vyre_status vyre__opencl_build(vyre_backend_device *device, const vyre__opencl_source *source,
                               cl_program *out_program, vyre_error *err);

/* -------- slots of the table -------- */

vyre_status vyre__opencl_device_count(uint32_t *out_count, vyre_error *err);
vyre_status vyre__opencl_device_info(uint32_t index, vyre_backend_device_info *out_info,
                                     vyre_error *err);
/* As hosts of ABI 0.1 and 0.2 know it. */
vyre_status vyre__opencl_device_info_0_1(uint32_t index, vyre_backend_device_info *out_info,
                                         vyre_error *err);
vyre_status vyre__opencl_device_info_0_2(uint32_t index, vyre_backend_device_info *out_info,
                                         vyre_error *err);
vyre_status vyre__opencl_device_open(uint32_t index, const vyre_backend_device_options *options,
                                     vyre_backend_device **out_device, vyre_error *err);
void vyre__opencl_device_close(vyre_backend_device *device);
vyre_status vyre__opencl_device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                      uint64_t *out_host_ns, vyre_error *err);

vyre_status vyre__opencl_module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                     vyre_backend_module **out_module, vyre_error *err);
void vyre__opencl_module_unload(vyre_backend_device *device, vyre_backend_module *module);
vyre_status vyre__opencl_kernel_find(vyre_backend_module *module, const char *name,
                                     vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                     vyre_error *err);

vyre_status vyre__opencl_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                  vyre_backend_pending **out_pending, vyre_error *err);
vyre_status vyre__opencl_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                      vyre_error *err);
vyre_status vyre__opencl_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                      uint32_t slot_count, uint64_t slot_stride,
                                      vyre_backend_times *out_times, vyre_error *err);
void vyre__opencl_pending_release(vyre_backend_pending *pending);

vyre_status vyre__opencl_buffer_alloc(vyre_backend_device *device, uint64_t size,
                                      vyre_backend_buffer **out_buffer, vyre_error *err);
void vyre__opencl_buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer);
vyre_status vyre__opencl_buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                       uint64_t offset, const void *data, uint64_t size,
                                       vyre_error *err);
vyre_status vyre__opencl_buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                         uint64_t offset, void *out_data, uint64_t size,
                                         vyre_error *err);
vyre_status vyre__opencl_buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                     uint64_t offset, uint64_t size, uint32_t value,
                                     vyre_error *err);
vyre_status vyre__opencl_buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                     uint64_t destination_offset, vyre_backend_buffer *source,
                                     uint64_t source_offset, uint64_t size, vyre_error *err);
vyre_status vyre__opencl_buffer_import(vyre_backend_device *device,
                                       const vyre_native_memory *memory,
                                       vyre_backend_buffer **out_buffer, vyre_error *err);
vyre_status vyre__opencl_buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                       vyre_native_memory *out_memory, vyre_error *err);

vyre_status vyre__opencl_event_record(vyre_backend_device *device, vyre_native_handle *event,
                                      vyre_error *err);
vyre_status vyre__opencl_event_wait(vyre_backend_device *device, const vyre_native_handle *event,
                                    vyre_error *err);
vyre_status vyre__opencl_event_release(vyre_backend_device *device, const vyre_native_handle *event,
                                       vyre_error *err);
vyre_status vyre__opencl_queue_export(vyre_backend_device *device, vyre_native_handle *out_queue,
                                      vyre_error *err);

#endif
