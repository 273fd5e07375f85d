/*
 * driver.h - what the body of a GPU plugin asks of a vendor.
 *
 * plugins/gpu/ holds the body: everything that the ABI says, written once against this table.  A
 * vendor's folder (plugins/cuda/, plugins/hip/) fills one in with functions that call the driver by
 * dlsym(), and holds the names of its codes, its prelude and its run-time compiler.  The table is
 * `vyre__gpu_driver`; body and folder are linked into one shared object.
 *
 * Every call that returns `vyre__gpu_code` returns the vendor's own number, 0 for success; the body
 * turns it into a status by code_status() and into a text by code_name().  NOT_READY of a query is
 * told by code_is_not_ready().  All of them are [any] thread and need the device's context current
 * (context_enter) unless said otherwise; on an error outputs are as they were.
 */
#ifndef VYRE_GPU_DRIVER_H
#define VYRE_GPU_DRIVER_H

#include "vyre_backend.h"

#include <stdbool.h>

typedef int32_t vyre__gpu_code;     /* the vendor's; 0 is success */
typedef uint64_t vyre__gpu_address; /* of the device */

/* The vendor's own handles. */
typedef struct vyre__gpu_context vyre__gpu_context;
typedef struct vyre__gpu_stream vyre__gpu_stream;
typedef struct vyre__gpu_event vyre__gpu_event;
typedef struct vyre__gpu_image vyre__gpu_image; /* loaded code */
typedef struct vyre__gpu_function vyre__gpu_function;
typedef struct vyre__gpu_graph vyre__gpu_graph; /* launches that are being recorded */
typedef struct vyre__gpu_node vyre__gpu_node;   /* one of them, as long as its graph */
typedef struct vyre__gpu_exec vyre__gpu_exec;   /* a graph that can be launched */

/* What is known of a device without a context of it. */
typedef struct vyre__gpu_facts {
  char name[VYRE_DEVICE_NAME_SIZE];
  char pci[VYRE_DEVICE_ID_SIZE];  /* "0000:c1:00.0", or "" */
  char uuid[VYRE_DEVICE_ID_SIZE]; /* lower case with dashes, or "" */
  char arch[VYRE_DEVICE_ID_SIZE]; /* as module_load() and the compiler want it: "sm_90" */
  char driver[VYRE_DEVICE_NAME_SIZE];
  bool integrated;
  uint64_t memory_bytes;
  uint64_t max_workgroup_memory; /* static and dynamic together, what a launch may ask for */
  uint32_t max_workgroup[3], max_workgroup_items, max_groups[3];
  uint32_t compute_units, subgroup_size;
  bool cooperative;           /* cooperative launches of module functions work */
  uint32_t cooperative_spare; /* groups of occupancy() a unit that such a launch leaves free */
  bool stream_ordered;        /* memory_take_async() and memory_give_async() work */
  bool mapped_host;           /* pinned host memory has a device address and is coherent */
  bool exclusive;             /* the device may be used by one process or thread only */
  /* Why no persistent launch may run ("" if one may): a serialising variable, a memory checker, a
     device that cannot pre-empt … */
  char persistent_reason[VYRE_DEVICE_REASON_SIZE];
  /* Why no launches are recorded ("" if they are): the driver has not all calls of graphs. */
  char sequence_reason[VYRE_DEVICE_REASON_SIZE];
  /* Why the device is listed but cannot be opened ("" if it can): too old, or closed to compute by
     its administrator.  device_open() refuses with VYRE_ERROR_UNSUPPORTED and this text. */
  char closed_reason[VYRE_DEVICE_REASON_SIZE];
} vyre__gpu_facts;

typedef struct vyre__gpu_limits {
  uint32_t max_workgroup_items; /* of this function */
  uint32_t registers;           /* an item, 0 if unknown */
  uint64_t workgroup_memory;    /* static */
  uint64_t private_memory;      /* bytes an item spills or keeps in memory */
} vyre__gpu_limits;

typedef struct vyre__gpu_driver {
  /* ---- what the plugin is: constant ---- */
  const char *name;                   /* "cuda" */
  const char *vendor;                 /* "NVIDIA" */
  vyre_native_type native_type;       /* of its events and streams: VYRE_NATIVE_CUDA */
  const vyre_backend_format *formats; /* vyre_backend.formats */
  uint32_t format_count;
  bool tries_coherence; /* of mapped host memory, when a device is opened (trial.h) */
  const char *(*prelude)(uint64_t *out_size);

  /* ---- the library: no context needed ---- */

  /*
   * Opens the vendor's library and resolves its entry points, once a process; later calls return
   * what the first one did.  Never closed.  VYRE_ERROR_VENDOR_LIBRARY names every path tried and
   * the loader's text, an entry point that is missing, a driver that is too old (have and want), or
   * a stub.  Allocates nothing of the host.
   */
  vyre_status (*load)(vyre_error *err);
  vyre_status (*code_status)(vyre__gpu_code code); /* the status that a caller sees */
  bool (*code_is_sticky)(vyre__gpu_code code);     /* the context is dead: the device is lost */
  bool (*code_is_not_ready)(vyre__gpu_code code);
  bool (*code_is_no_device)(vyre__gpu_code code); /* nothing to count, and no failure */
  /* "CUDA_ERROR_ILLEGAL_ADDRESS (700)" into `out`, which is returned. */
  const char *(*code_name)(vyre__gpu_code code, char *out, uint64_t size);

  /* ---- devices: no context needed ---- */
  vyre__gpu_code (*device_count)(uint32_t *out_count);
  vyre__gpu_code (*device_facts)(uint32_t index, vyre__gpu_facts *out_facts);
  /* The process's primary context of the device, counted. */
  vyre__gpu_code (*context_retain)(uint32_t index, vyre__gpu_context **out_context);
  vyre__gpu_code (*context_release)(uint32_t index);
  /* Destroys what lives in the primary context: after a sticky error, before it is retained. */
  vyre__gpu_code (*context_reset)(uint32_t index);
  /* Makes it current in this thread and keeps what was; always put back by context_leave(). */
  vyre__gpu_code (*context_enter)(vyre__gpu_context *context, void **out_before);
  vyre__gpu_code (*context_leave)(void *before);

  /* ---- memory ---- */
  vyre__gpu_code (*memory_take)(uint64_t size, vyre__gpu_address *out_address);
  vyre__gpu_code (*memory_give)(vyre__gpu_address address);
  /* In the order of the stream; does not wait for other streams.  Only with `stream_ordered`. */
  vyre__gpu_code (*memory_take_async)(uint64_t size, vyre__gpu_stream *stream,
                                      vyre__gpu_address *out_address);
  vyre__gpu_code (*memory_give_async)(vyre__gpu_address address, vyre__gpu_stream *stream);
  /* Pinned, mapped, coherent host memory, aligned to 4096, and its device address. */
  vyre__gpu_code (*host_take)(uint64_t size, void **out_host, vyre__gpu_address *out_address);
  vyre__gpu_code (*host_give)(void *host);
  /* The address range of `address` is device memory of this context, or mapped host memory. */
  vyre__gpu_code (*memory_check)(vyre__gpu_address address, bool *out_is_device);

  /* ---- streams and events ---- */
  /* Non-blocking.  `urgent`: of the highest priority. */
  vyre__gpu_code (*stream_make)(bool urgent, vyre__gpu_stream **out_stream);
  vyre__gpu_code (*stream_drop)(vyre__gpu_stream *stream);
  vyre__gpu_code (*stream_sync)(vyre__gpu_stream *stream);
  vyre__gpu_code (*stream_wait)(vyre__gpu_stream *stream, vyre__gpu_event *event);
  /* `wakes`: a thread that waits for it in the driver may sleep. */
  vyre__gpu_code (*event_make)(bool timed, bool wakes, vyre__gpu_event **out_event);
  vyre__gpu_code (*event_drop)(vyre__gpu_event *event);
  vyre__gpu_code (*event_record)(vyre__gpu_event *event, vyre__gpu_stream *stream);
  vyre__gpu_code (*event_query)(vyre__gpu_event *event);
  vyre__gpu_code (*event_elapsed)(vyre__gpu_event *from, vyre__gpu_event *to, float *out_ms);

  /* ---- copies, in the order of the stream; host memory is pinned ---- */
  vyre__gpu_code (*copy_in)(vyre__gpu_address to, const void *from, uint64_t size,
                            vyre__gpu_stream *stream);
  vyre__gpu_code (*copy_out)(void *to, vyre__gpu_address from, uint64_t size,
                             vyre__gpu_stream *stream);
  vyre__gpu_code (*copy_within)(vyre__gpu_address to, vyre__gpu_address from, uint64_t size,
                                vyre__gpu_stream *stream);
  vyre__gpu_code (*fill)(vyre__gpu_address to, uint8_t value, uint64_t size,
                         vyre__gpu_stream *stream);

  /* ---- code ---- */
  /* `log` gets the driver's complaints (it compiles PTX), ends in NUL; `log_size` 0: none.  Drivers
     take no size: the body has seen that an object is whole, and a text (PTX) has a NUL behind its
     last byte, at code[size]. */
  vyre__gpu_code (*image_load)(const void *code, uint64_t size, char *log, uint64_t log_size,
                               vyre__gpu_image **out_image);
  vyre__gpu_code (*image_unload)(vyre__gpu_image *image);
  vyre__gpu_code (*function_find)(vyre__gpu_image *image, const char *name,
                                  vyre__gpu_function **out_function);
  bool (*code_is_not_found)(vyre__gpu_code code);    /* of function_find() */
  bool (*code_is_wrong_device)(vyre__gpu_code code); /* of image_load(): no code for this device */
  /* Loads the function for good (lazy loading), asks for all the workgroup memory that the device
     has, and tells its limits. */
  vyre__gpu_code (*function_prepare)(vyre__gpu_function *function, vyre__gpu_limits *out_limits);
  /* Parameters of the function; UINT32_MAX where the driver cannot say. */
  vyre__gpu_code (*function_parameters)(vyre__gpu_function *function, uint32_t *out_count);
  /* Groups that one compute unit holds at once. */
  vyre__gpu_code (*occupancy)(vyre__gpu_function *function, uint32_t items,
                              uint64_t workgroup_memory, uint32_t *out_groups);
  /* `parameters[k]` points to the value of parameter k; copied by the call. */
  vyre__gpu_code (*launch)(vyre__gpu_function *function, const uint32_t groups[3],
                           const uint32_t workgroup[3], uint32_t workgroup_memory,
                           vyre__gpu_stream *stream, void **parameters, bool cooperative);

  /* ---- graphs of launches, made of explicit nodes; only where `sequence_reason` is "" ----
     Drivers do not guard them: calls on one graph or exec come one after the other. */
  vyre__gpu_code (*graph_make)(vyre__gpu_graph **out_graph);
  vyre__gpu_code (*graph_drop)(vyre__gpu_graph *graph);
  /* A launch that waits for the node `*last` (NULL: for none), which it becomes.  `parameters` as
     of launch(): copied by the call. */
  vyre__gpu_code (*graph_add)(vyre__gpu_graph *graph, vyre__gpu_function *function,
                              const uint32_t groups[3], const uint32_t workgroup[3],
                              uint32_t workgroup_memory, void **parameters, vyre__gpu_node **last);
  /* Makes it ready to be launched, as it is now; it needs the graph no longer.  May allocate, and
     so wait for the device.  What the device needs of it has come there when `stream` has come so
     far: exec_launch() then allocates nothing. */
  vyre__gpu_code (*exec_make)(vyre__gpu_graph *graph, vyre__gpu_stream *stream,
                              vyre__gpu_exec **out_exec);
  /* May free, and so wait for the device. */
  vyre__gpu_code (*exec_drop)(vyre__gpu_exec *exec);
  /* In the order of the stream, as one launch. */
  vyre__gpu_code (*exec_launch)(vyre__gpu_exec *exec, vyre__gpu_stream *stream);

  /* ---- the run-time compiler: no context and no device needed ---- */

  /* Whether there is one now, else why not; looked for once a process (CAP-002). */
  bool (*compiler_find)(char *out_reason, uint64_t size);
  /* Text that takes part in the cache's key: name and version of the compiler. */
  const char *(*compiler_version)(void);
  /*
   * Compiles the whole `vyre-c` text to `format` for `arch` ("" takes the format's default).  The
   * blob is from host->allocate().  COMPILE_FAILED with the log, MODULE_FORMAT for what it does not
   * make, UNSUPPORTED without a compiler.  `debug`: defines VYRE_DEBUG 1.
   */
  vyre_status (*compile)(const vyre_host *host, const char *source, uint64_t size, const char *name,
                         const char *format, const char *arch, bool debug, vyre_blob *out_blob,
                         vyre_error *err);
  /* The format and architecture that `vyre-c` is compiled to for a device of this `arch`. */
  void (*native_target)(const char *device_arch, const char **out_format, const char **out_arch);
} vyre__gpu_driver_table;

/* The vendor's, constant; its pointers are valid once load() has returned VYRE_OK. */
extern const vyre__gpu_driver_table vyre__gpu_driver;

#endif
