/*
 * vyre.h - what an application includes.  API version 0.1.
 *
 *     context   loads plugins and lists devices            vyre_context_create
 *     device    one opened processor                       vyre_device_open
 *     buffer    memory that stays on a device              vyre_buffer_create
 *     program   buffers + segments, dispatched             vyre_program_create, vyre_dispatch
 *     outputs   the caller's output slots, reused          vyre_outputs
 *     ring      a bounded queue of 16-byte work items      vyre_ring_create
 *     engine    a persistent dispatch fed by a ring        vyre_engine_start
 *     bundle    kernels compiled ahead of time             vyre_bundle_build, vyre_bundle_open
 *
 * Conventions
 *   - Fallible functions return a vyre_status and fill the caller's `vyre_error` (or NULL) with a
 *     message and a fix.  On an error nothing has changed: outputs are as they were.
 *   - Option and description structures start with `struct_size`; make them with their `…_INIT`
 *     initialiser.  Zero means the default in every field, unless its comment says otherwise.
 *   - create/destroy and open/close come in pairs; destroy and close accept NULL.  Objects keep
 *     what they were made from alive: a device closed while buffers exist goes with the last one.
 *   - "Thread class": [any] any thread at any time; [per object] concurrent calls on distinct
 *     objects only.
 *   - After fork() every call on a context, a device or what they own returns VYRE_ERROR_FORKED in
 *     the child; destroy and close free host memory only.
 *   - Timeouts are in nanoseconds on the monotonic clock; 0 polls, VYRE_NO_TIMEOUT waits without
 *     limit.
 */
#ifndef VYRE_H
#define VYRE_H

#include "vyre_types.h"

#include <stdbool.h>

#if defined(__GNUC__)
#define VYRE_API __attribute__((visibility("default")))
#else
#define VYRE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VYRE_VERSION_MAJOR 0
#define VYRE_VERSION_MINOR 1
#define VYRE_VERSION_PATCH 0

typedef struct vyre_context vyre_context;
typedef struct vyre_device vyre_device;
typedef struct vyre_buffer vyre_buffer;
typedef struct vyre_program vyre_program;
typedef struct vyre_pending vyre_pending;
typedef struct vyre_ring vyre_ring;
typedef struct vyre_engine vyre_engine;
typedef struct vyre_bundle vyre_bundle;

/* ------------------------------------------------------------------------------------------------
 * Status and version
 * ------------------------------------------------------------------------------------------------
 */

/* [any] "0.1.0", of the library that is loaded. */
VYRE_API const char *vyre_version(void);

/* [any] "VYRE_ERROR_TIMEOUT", what it means, what to do.  Never NULL, also for unknown codes. */
VYRE_API const char *vyre_status_name(vyre_status status);
VYRE_API const char *vyre_status_text(vyre_status status);
VYRE_API const char *vyre_status_fix(vyre_status status);

/* [any] The retry class; VYRE_RETRY_NEVER for unknown codes. */
VYRE_API vyre_retry vyre_status_retry(vyre_status status);

/* ------------------------------------------------------------------------------------------------
 * Memory and logging
 * ------------------------------------------------------------------------------------------------
 */

/*
 * vyre_allocator - where host memory comes from.  `allocate` returns `size` bytes aligned to
 * `align` (a power of two, at most 4096) or NULL; `deallocate` accepts NULL.  Both are called from
 * any thread.
 */
typedef struct vyre_allocator {
  void *self;
  void *(*allocate)(void *self, uint64_t size, uint64_t align);
  void (*deallocate)(void *self, void *memory);
} vyre_allocator;

/* One line without a line end.  Called from any thread, never under a lock of vyre's. */
typedef void (*vyre_log_fn)(void *self, vyre_log_level level, const char *text);

/* ------------------------------------------------------------------------------------------------
 * Context: plugins and devices
 * ------------------------------------------------------------------------------------------------
 */

#define VYRE_CONTEXT_IGNORE_ENVIRONMENT (1u << 0) /* VYRE_PLUGIN_PATH, VYRE_DEVICE are not read */
#define VYRE_CONTEXT_NO_DEFAULT_PATHS (1u << 1)   /* only plugin_files and plugin_path */

/*
 * vyre_context_options
 *
 * Plugins are looked for in this order; the first of a name wins and the others are listed as
 * shadowed:
 *   1. `plugin_files`, explicit paths (two of one name are an error);
 *   2. `plugin_path`, else the environment's VYRE_PLUGIN_PATH: folders separated by ':';
 *   3. the folder `vyre/` beside libvyre.so (static libvyre: `../lib/vyre` from the executable);
 *   4. the folder `vyre/` in the library folder that was compiled in.
 * A process with elevated privileges ignores the environment; VYRE_CONTEXT_NO_DEFAULT_PATHS leaves
 * VYRE_PLUGIN_PATH out too.  What a plugin logs goes to the hook of every context.
 */
typedef struct vyre_context_options {
  uint32_t struct_size;
  uint32_t flags;                  /* VYRE_CONTEXT_… */
  const vyre_allocator *allocator; /* NULL: the C library's; copied */
  vyre_log_fn log;                 /* NULL: no log */
  void *log_self;
  vyre_log_level log_level; /* the least severe level that is passed on */
  uint32_t plugin_file_count;
  const char *const *plugin_files; /* borrowed for the call */
  const char *plugin_path;         /* borrowed for the call, NULL: the environment's */
} vyre_context_options;

#define VYRE_CONTEXT_OPTIONS_INIT                                                                  \
  {                                                                                                \
    (uint32_t)sizeof(vyre_context_options), 0, 0, 0, 0, VYRE_LOG_WARNING, 0, 0, 0                  \
  }

/*
 * [any] Looks for plugins and loads the sound ones.  A plugin that is absent or broken is no error:
 * it is kept as a candidate with its reason.  `options` may be NULL.  Errors: INVALID_ARGUMENT,
 * OUT_OF_HOST_MEMORY; for a file named in plugin_files whatever it failed with.
 *
 * A loaded plugin is asked for its devices once, by the first call that needs to know them, since a
 * vendor's driver may take long to start: lists of candidates and of devices ask all plugins,
 * vyre_device_open() those that its selector can mean.  Such a call is UNSUPPORTED within a log
 * hook that is called in the middle of the question.
 */
VYRE_API vyre_status vyre_context_create(const vyre_context_options *options,
                                         vyre_context **out_context, vyre_error *err);

/* [per object] Frees it once its devices are closed; NULL is accepted. */
VYRE_API void vyre_context_destroy(vyre_context *context);

/* How far a candidate plugin came. */
typedef uint32_t vyre_candidate_stage;
#define VYRE_CANDIDATE_LOADED 0u /* in use */
#define VYRE_CANDIDATE_FOLDER 1u /* a folder of the search path could not be read */
#define VYRE_CANDIDATE_FILE 2u   /* no such file, or not readable */
#define VYRE_CANDIDATE_ELF 3u    /* not an ELF object for this machine, or built with a sanitizer */
#define VYRE_CANDIDATE_OPEN 4u   /* dlopen() failed: its text is in the message */
#define VYRE_CANDIDATE_HANDSHAKE 5u /* no entry symbol, wrong ABI, refused, broken table */
#define VYRE_CANDIDATE_SHADOWED 6u  /* an earlier plugin has this name */
#define VYRE_CANDIDATE_DEVICES 7u   /* loaded, but its devices could not be listed */

/* Texts belong to the context. */
typedef struct vyre_candidate {
  uint32_t struct_size;
  vyre_candidate_stage stage;
  vyre_status status;
  uint32_t device_count;
  const char *path;
  const char *name;    /* plugin name, "" before the handshake */
  const char *version; /* plugin version, "" before the handshake */
  const char *message; /* the reason, or "" */
  const char *fix;     /* what to do, or "" */
} vyre_candidate;
#define VYRE_CANDIDATE_INIT                                                                        \
  {                                                                                                \
    (uint32_t)sizeof(vyre_candidate), 0, VYRE_OK, 0, 0, 0, 0, 0, 0                                 \
  }

/*
 * [any] Every plugin file and folder that was looked at, in order.  The count asks no plugin for
 * its devices, a candidate asks all.
 */
VYRE_API uint32_t vyre_context_candidate_count(const vyre_context *context);
VYRE_API vyre_status vyre_context_candidate(const vyre_context *context, uint32_t index,
                                            vyre_candidate *out_candidate, vyre_error *err);

/* One device.  Plain data; the texts are copies. */
typedef struct vyre_device_info {
  uint32_t struct_size;
  vyre_device_class device_class;
  uint64_t capabilities;              /* VYRE_CAP_… */
  char selector[VYRE_DEVICE_ID_SIZE]; /* "cpu:0": what vyre_device_open() takes */
  char backend[VYRE_DEVICE_ID_SIZE];  /* plugin name */
  char name[VYRE_DEVICE_NAME_SIZE];
  char id[VYRE_DEVICE_ID_SIZE];
  char pci[VYRE_DEVICE_ID_SIZE];
  char uuid[VYRE_DEVICE_ID_SIZE];
  char arch[VYRE_DEVICE_ID_SIZE];
  char driver[VYRE_DEVICE_NAME_SIZE];
  uint64_t memory_bytes;
  uint64_t max_buffer_bytes;
  uint64_t max_workgroup_memory;
  uint32_t max_workgroup[3];
  uint32_t max_workgroup_items;
  uint32_t max_groups[3];
  uint32_t compute_units;
  uint32_t subgroup_size;
  vyre_progress progress;
  uint32_t coherent_atomics;
  uint32_t max_push_bytes;
  uint32_t max_bindings;
  char persistent_reason[VYRE_DEVICE_REASON_SIZE];
  char compiler_reason[VYRE_DEVICE_REASON_SIZE];
  vyre_grid_sync grid_sync;
  uint32_t cooperative_items; /* NATIVE: items that are worth a group of a fused launch, or 0 */
  char grid_sync_reason[VYRE_DEVICE_REASON_SIZE];
} vyre_device_info;
/* Assign field by field: `vyre_device_info info = {0}; info.struct_size = sizeof info;` */

/*
 * [any] All devices of all loaded plugins, accelerators before CPUs.  The count is 0 also where
 * they cannot be listed; vyre_context_device_info() then says why.
 */
VYRE_API uint32_t vyre_context_device_count(const vyre_context *context);
VYRE_API vyre_status vyre_context_device_info(const vyre_context *context, uint32_t index,
                                              vyre_device_info *out_info, vyre_error *err);

/*
 * What to do when no device matches the selector.
 *   REQUIRE  an error;
 *   PREFER   the best other accelerator, never a CPU that was not asked for;
 *   ALLOW_FALLBACK  the best other device, a CPU included.
 */
typedef uint32_t vyre_policy;
#define VYRE_POLICY_REQUIRE 0u
#define VYRE_POLICY_PREFER 1u
#define VYRE_POLICY_ALLOW_FALLBACK 2u

/*
 * vyre_device_request
 *
 * selector: terms separated by ',', the first that matches a device wins.  A term is a plugin name
 * ("cpu", "cuda"), a plugin name and an index ("cuda:1"), a class ("any", "gpu", "integrated"), a
 * PCI address, a UUID or a device id.  The name of a loaded plugin, with an index or without, means
 * devices of that plugin alone.  A term after '!' excludes what it matches, for a fall back too;
 * excluding terms alone mean "any" but those.  NULL takes VYRE_DEVICE from the environment, else
 * "any": discrete GPU before integrated GPU before other before CPU.
 *
 * With REQUIRE, a selector of nothing but names of loaded plugins asks these for their devices, in
 * order, up to the first that has what is meant: "cpu" starts no other vendor's driver.  Any other
 * term, a term after '!', another policy, and a selector that nothing matches ask every plugin.
 *
 * A matching device that does not open is an error with REQUIRE; the other policies go on to the
 * next one and say so in vyre_device_choice().
 */
typedef struct vyre_device_request {
  uint32_t struct_size;
  vyre_policy policy;
  const char *selector;
  /*
   * A queue of the vendor's (CUstream, …) that the device is to use; see "Native objects".  Handle
   * 0: one of its own.  The queue outlives the device.  A device that cannot is UNSUPPORTED, one of
   * another vendor INVALID_ARGUMENT.
   */
  vyre_native_handle queue;
} vyre_device_request;
#define VYRE_DEVICE_REQUEST_INIT                                                                   \
  {                                                                                                \
    (uint32_t)sizeof(vyre_device_request), VYRE_POLICY_REQUIRE, 0,                                 \
    {                                                                                              \
      (uint32_t)sizeof(vyre_native_handle), 0, 0                                                   \
    }                                                                                              \
  }

/*
 * [any] Chooses a device and opens it.  `request` may be NULL.  Errors: NOT_FOUND (the message
 * lists every device and why it was not taken), INVALID_ARGUMENT for a selector that cannot be
 * read, and whatever opening the device fails with.
 */
VYRE_API vyre_status vyre_device_open(vyre_context *context, const vyre_device_request *request,
                                      vyre_device **out_device, vyre_error *err);
VYRE_API void vyre_device_close(vyre_device *device);

/* [any] What was opened. */
VYRE_API vyre_status vyre_device_get_info(const vyre_device *device, vyre_device_info *out_info,
                                          vyre_error *err);

/*
 * [any] How it was chosen: one line a device ("cuda:0: does not match 'cpu'"), and one for each
 * plugin that has none or was not asked ("cuda: not looked at, …").  `*out_fell_back` (may be NULL)
 * tells whether the policy was needed.  The text belongs to the device.
 */
VYRE_API const char *vyre_device_choice(const vyre_device *device, bool *out_fell_back);

/*
 * [per object] After VYRE_ERROR_DEVICE_LOST: closes and reopens the device in place.  Everything
 * that was made on it before stays lost; new objects work.  No other call on the device or on what
 * was made on it runs meanwhile; destroy that first where possible, so that the device is closed
 * before it is opened again.  Does nothing if the device is not lost; on an error it stays lost.
 * It goes on with a queue of its own, since the application's may have gone with the context.
 * Destroys what lives in the process's primary context of that device, other libraries' work
 * included.
 */
VYRE_API vyre_status vyre_device_recover(vyre_device *device, vyre_error *err);

/* [any] Grows by one with each loss; 0 at first. */
VYRE_API uint64_t vyre_device_generation(const vyre_device *device);

/* ------------------------------------------------------------------------------------------------
 * Buffers
 * ------------------------------------------------------------------------------------------------
 */

/* [any] `size` bytes of zeros on the device.  UNSUPPORTED without VYRE_CAP_BUFFERS. */
VYRE_API vyre_status vyre_buffer_create(vyre_device *device, uint64_t size,
                                        vyre_buffer **out_buffer, vyre_error *err);
/* [per object] No dispatch uses it any more; an engine that reads it keeps it until its own end. */
VYRE_API void vyre_buffer_destroy(vyre_buffer *buffer);
VYRE_API uint64_t vyre_buffer_size(const vyre_buffer *buffer);

/* [any] Complete on return; a range outside the buffer is INVALID_ARGUMENT. */
VYRE_API vyre_status vyre_buffer_upload(vyre_buffer *buffer, uint64_t offset, const void *data,
                                        uint64_t size, vyre_error *err);
VYRE_API vyre_status vyre_buffer_download(const vyre_buffer *buffer, uint64_t offset,
                                          void *out_data, uint64_t size, vyre_error *err);
VYRE_API vyre_status vyre_buffer_fill(vyre_buffer *buffer, uint64_t offset, uint64_t size,
                                      uint8_t value, vyre_error *err);
VYRE_API vyre_status vyre_buffer_copy(vyre_buffer *destination, uint64_t destination_offset,
                                      const vyre_buffer *source, uint64_t source_offset,
                                      uint64_t size, vyre_error *err);

/* ------------------------------------------------------------------------------------------------
 * Native objects: sharing memory, events and a queue with the application's own use of the device
 * ------------------------------------------------------------------------------------------------
 *
 * What is on the device already need not be copied, and the host need not wait in between:
 *
 *     vyre_native_handle ready = {sizeof ready, VYRE_NATIVE_CUDA, (uint64_t)my_event}, done = …;
 *     vyre_buffer_import(device, &my_memory, &buffer, &err);
 *     vyre_device_wait_event(device, &ready, &err);    dispatches from here on wait for it
 *     vyre_dispatch_buffers(program, …);
 *     vyre_device_record_event(device, &done, &err);   and this one tells when they have ended
 *
 * All of it is UNSUPPORTED on a device without the capability, and INVALID_ARGUMENT for another
 * vendor's objects.
 */

/*
 * [any] Wraps memory of the caller, which stays alive until vyre_buffer_destroy() and is left as it
 * is by it.  VYRE_CAP_IMPORT_EXPORT.
 */
VYRE_API vyre_status vyre_buffer_import(vyre_device *device, const vyre_native_memory *memory,
                                        vyre_buffer **out_buffer, vyre_error *err);
/* [any] The buffer's native memory, valid until vyre_buffer_destroy(). */
VYRE_API vyre_status vyre_buffer_export(const vyre_buffer *buffer, vyre_native_memory *out_memory,
                                        vyre_error *err);

/*
 * [any] VYRE_CAP_INTEROP, for this call and the next three.  Dispatches and copies that begin after
 * it on this device wait on the device for the event; the call waits for nothing.  An engine's
 * resident launch does not wait for it.
 */
VYRE_API vyre_status vyre_device_wait_event(vyre_device *device, const vyre_native_handle *event,
                                            vyre_error *err);
/*
 * [any] Marks the event when all has ended that was put on the device's queue before.  A dispatch
 * that was waited for is on the queue as a whole; of one that was only started the passes that have
 * not begun may be missing.  With handle 0 the device makes the event: released by
 * vyre_device_release_event(), or by the vendor's own call.
 */
VYRE_API vyre_status vyre_device_record_event(vyre_device *device, vyre_native_handle *event,
                                              vyre_error *err);
/* [any] */
VYRE_API vyre_status vyre_device_release_event(vyre_device *device, const vyre_native_handle *event,
                                               vyre_error *err);
/* [any] The queue that the device uses: borrowed, valid until it is closed or recovered. */
VYRE_API vyre_status vyre_device_queue(vyre_device *device, vyre_native_handle *out_queue,
                                       vyre_error *err);

/* ------------------------------------------------------------------------------------------------
 * Kernel code
 * ------------------------------------------------------------------------------------------------
 */

/*
 * vyre_code - kernels in one format.  A program or handler set may bring several; the device takes
 * the first format of its own list that is among them.  `vyre-c` is the user's source, without
 * prelude and entries; the other formats hold entries that vyre_bundle_build() or the vendor made.
 */
typedef struct vyre_code {
  uint32_t struct_size;
  uint32_t reserved;
  const char *format; /* "vyre-c", "native", "ptx", … */
  const char *arch;   /* NULL or "" if the format has none */
  const void *data;   /* borrowed for the call that takes it */
  uint64_t size;
  const char *name; /* the file's name, for messages and #line; may be NULL */
} vyre_code;
#define VYRE_CODE_INIT                                                                             \
  {                                                                                                \
    (uint32_t)sizeof(vyre_code), 0, 0, 0, 0, 0, 0                                                  \
  }

/* ------------------------------------------------------------------------------------------------
 * Programs
 * ------------------------------------------------------------------------------------------------
 */

#define VYRE_COUNT_FROM_INPUT UINT64_MAX /* element_count: as many as the caller's bytes hold */
#define VYRE_MAX_BUFFERS 64u             /* most buffers of one program */

#define VYRE_BUFFER_OUTPUT (1u << 0) /* an output: allocated by vyre, zeroed for each dispatch */
#define VYRE_BUFFER_RANGE (1u << 1)  /* range_offset and range_size trim what the caller gets */

/*
 * vyre_buffer_decl - one buffer of a program.
 *
 * Input positions: every buffer that is neither WORKGROUP nor an output, in declaration order.
 * Output positions: every READ_WRITE or WRITE_ONLY buffer, in declaration order.  WRITE_ONLY
 * implies an output.  A READ_WRITE buffer that is no output is in both: the caller gives its first
 * value and gets its last.
 */
typedef struct vyre_buffer_decl {
  uint32_t struct_size;
  vyre_access access;
  const char *name;       /* a C identifier, unique in the program */
  uint32_t element_size;  /* bytes, at least 1 */
  uint32_t flags;         /* VYRE_BUFFER_… */
  uint64_t element_count; /* 0 is a true zero; VYRE_COUNT_FROM_INPUT */
  uint64_t range_offset;  /* bytes, with VYRE_BUFFER_RANGE */
  uint64_t range_size;    /* 0: nothing is read back */
} vyre_buffer_decl;
#define VYRE_BUFFER_DECL_INIT                                                                      \
  {                                                                                                \
    (uint32_t)sizeof(vyre_buffer_decl), VYRE_READ_ONLY, 0, 4, 0, 0, 0, 0                           \
  }

#define VYRE_BINDING_WRITES_ALL (1u << 0) /* a WRITE_ONLY binding writes every byte */

/* A buffer as one segment sees it; the kernel function's parameters, in order. */
typedef struct vyre_segment_binding {
  uint32_t struct_size;
  vyre_access access;
  const char *buffer; /* the declared name */
  uint32_t flags;     /* VYRE_BINDING_… */
  uint32_t reserved;
} vyre_segment_binding;
#define VYRE_SEGMENT_BINDING_INIT                                                                  \
  {                                                                                                \
    (uint32_t)sizeof(vyre_segment_binding), VYRE_READ_ONLY, 0, 0, 0                                \
  }

/* The part of a program between two grid barriers: one kernel function. */
typedef struct vyre_segment_decl {
  uint32_t struct_size;
  uint32_t binding_count;
  const char *kernel; /* the name in VYRE_SEGMENT(name) */
  const vyre_segment_binding *bindings;
  uint64_t elements[3]; /* work items to cover; all 0: from groups, else from the buffers */
  uint32_t groups[3];   /* groups, if elements are 0; all 0: from the program, else the buffers */
  uint32_t reserved;
} vyre_segment_decl;
#define VYRE_SEGMENT_DECL_INIT                                                                     \
  {                                                                                                \
    (uint32_t)sizeof(vyre_segment_decl), 0, 0, 0, {0, 0, 0}, {0, 0, 0}, 0                          \
  }

/*
 * How convergence is tested.  The segments, all of them in order, are one pass.  State 0 is the
 * buffers before the first pass, state p after pass p; pass p confirms if state p is state p-1.
 * The run ends with the first confirming pass or with the last of `iterations`.  Nothing is tested
 * with iterations 1.
 *   EXACT     by bytes: every buffer that a segment writes is compared;
 *   DECLARED  by the author's word: a pass confirms if no item has called vyre_changed();
 *   OFF       never.
 */
typedef uint32_t vyre_converge;
#define VYRE_CONVERGE_EXACT 0u
#define VYRE_CONVERGE_DECLARED 1u
#define VYRE_CONVERGE_OFF 2u

/*
 * vyre_program_desc - everything is borrowed for the call that takes it.
 *
 * A grid that nobody gives covers, for each segment, the largest element count among the buffers
 * that it writes (or reads, if it writes none), in dimension 0.
 */
typedef struct vyre_program_desc {
  uint32_t struct_size;
  uint32_t buffer_count;
  const char *name; /* for messages, may be NULL */
  const vyre_buffer_decl *buffers;
  const vyre_segment_decl *segments;
  uint32_t segment_count;
  uint32_t code_count;
  const vyre_code *code;
  uint32_t workgroup[3]; /* items per group; all 0: {64, 1, 1} */
  uint32_t push_size;    /* bytes of push constants that the kernels read */
  uint64_t elements[3];  /* the whole program's grid, for segments without their own */
  uint32_t groups[3];
  uint32_t iterations; /* upper bound of passes; VYRE_PROGRAM_DESC_INIT sets 1, 0 is refused */
  vyre_converge converge;
  uint32_t flags; /* VYRE_PROGRAM_… */
} vyre_program_desc;
#define VYRE_PROGRAM_DESC_INIT                                                                     \
  {                                                                                                \
    (uint32_t)sizeof(vyre_program_desc), 0, 0, 0, 0, 0, 0, 0, {0, 0, 0}, 0, {0, 0, 0}, {0, 0, 0},  \
        1, VYRE_CONVERGE_EXACT, 0                                                                  \
  }

#define VYRE_PROGRAM_DEBUG (1u << 0) /* compile with bounds checks */

/*
 * [any] Validates the description, compiles or loads the code for the device, finds the entries.
 * Errors: INVALID_PROGRAM (names the buffer or segment and the cure), COMPILE_FAILED,
 * MODULE_FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
 */
VYRE_API vyre_status vyre_program_create(vyre_device *device, const vyre_program_desc *desc,
                                         vyre_program **out_program, vyre_error *err);
VYRE_API void vyre_program_destroy(vyre_program *program);

/*
 * [any] The `vyre-c` text that a program compiles, to read or to keep: the author's source between
 * #line marks, then the entries and the fused kernel that vyre wrote.  The plugin's prelude stands
 * in it as `#include "vyre_kernel.h"`.  It ends in NUL, is from `allocator` (NULL: the C library's)
 * and belongs to the caller.  INVALID_ARGUMENT if `desc` has no `vyre-c` code.
 */
VYRE_API vyre_status vyre_program_source(const vyre_program_desc *desc,
                                         const vyre_allocator *allocator, char **out_text,
                                         uint64_t *out_size, vyre_error *err);

/* [any] Positions; the name of the buffer at one, NULL outside. */
VYRE_API uint32_t vyre_program_input_count(const vyre_program *program);
VYRE_API uint32_t vyre_program_output_count(const vyre_program *program);
VYRE_API const char *vyre_program_input_name(const vyre_program *program, uint32_t position);
VYRE_API const char *vyre_program_output_name(const vyre_program *program, uint32_t position);

/* Bytes that the caller owns. */
typedef struct vyre_bytes {
  const void *data;
  uint64_t size;
} vyre_bytes;

/* ---- output slots ---- */

/* One output's place.  `capacity` bytes at `data` come from the allocator of its vyre_outputs. */
typedef struct vyre_output_slot {
  void *data;
  uint64_t size;
  uint64_t capacity;
} vyre_output_slot;

typedef struct vyre_output_stats {
  uint64_t slots;          /* outputs of the last dispatch */
  uint64_t reused;         /* whose value fit the capacity and was copied in */
  uint64_t moved;          /* whose slot took over the new allocation */
  uint64_t appended;       /* that had no slot before */
  uint64_t bytes_copied;   /* into reused slots */
  uint64_t bytes_moved;    /* in taken-over allocations */
  uint64_t bytes_capacity; /* kept by all slots now */
} vyre_output_stats;

/*
 * vyre_outputs - the caller's output slots, kept from dispatch to dispatch.
 *
 * Initialise with VYRE_OUTPUTS_INIT (set `allocator` if it is not the C library's) and free with
 * vyre_outputs_reset().  A dispatch touches it once, at its end, after every growth that it needs
 * has succeeded: a value that fits the capacity is copied in and the allocation stays; a larger one
 * replaces it; slots past the program's outputs are freed; missing ones are appended.  On an error
 * it is as it was.
 */
typedef struct vyre_outputs {
  uint32_t struct_size;
  uint32_t count;    /* slots in use */
  uint32_t capacity; /* slots allocated */
  uint32_t reserved;
  vyre_output_slot *slots;
  const vyre_allocator *allocator; /* borrowed; NULL: the C library's */
  vyre_output_stats stats;         /* of the last dispatch */
} vyre_outputs;
#define VYRE_OUTPUTS_INIT                                                                          \
  {                                                                                                \
    (uint32_t)sizeof(vyre_outputs), 0, 0, 0, 0, 0,                                                 \
    {                                                                                              \
      0, 0, 0, 0, 0, 0, 0                                                                          \
    }                                                                                              \
  }

/* [per object] Frees all slots; the object can be used again. */
VYRE_API void vyre_outputs_reset(vyre_outputs *outputs);

/* ---- dispatch ---- */

/*
 * How a program runs.  All routes give the same bytes, passes and convergence; AUTO takes the
 * cheapest that can serve the dispatch, by costs measured once on the device.  docs/programs.md.
 */
typedef uint32_t vyre_route;
#define VYRE_ROUTE_AUTO 0u
#define VYRE_ROUTE_NATIVE 1u   /* one launch, the device synchronises its grid */
#define VYRE_ROUTE_RESIDENT 2u /* one launch a segment, buffers stay on the device */
#define VYRE_ROUTE_HOST 3u     /* one launch a segment, host bytes travel */

/* What the launches of a dispatch were. */
typedef uint32_t vyre_form;
#define VYRE_FORM_LAUNCHES 0u /* plain ones, one a segment */
#define VYRE_FORM_FUSED 1u    /* one cooperative one */
#define VYRE_FORM_EMULATED 2u /* one call of the plugin, by a form of its own */
#define VYRE_FORM_REPLAYS 3u  /* one a segment, all of a pass recorded once and replayed */

/* [any] "auto", "native", "resident", "host"; "unknown" otherwise. */
VYRE_API const char *vyre_route_name(vyre_route route);

typedef uint32_t vyre_timing;
#define VYRE_TIMING_ON 0u
#define VYRE_TIMING_OFF 1u /* every time of the result is VYRE_TIME_ABSENT; a launch costs less */

typedef struct vyre_dispatch_options {
  uint32_t struct_size;
  vyre_route route; /* AUTO chooses; another is taken or is an error */
  const void *push; /* copied; NULL with push_size 0 */
  uint32_t push_size;
  uint32_t iterations;       /* 0: the program's */
  uint64_t elements[3];      /* all 0: the program's */
  uint64_t max_output_bytes; /* 0: no limit; refused before anything is read back */
  /*
   * How long vyre_dispatch() and vyre_dispatch_buffers() wait; 0: no limit.  After TIMEOUT they
   * still wait for the device to let go of the caller's bytes: where that may be long, use the
   * calls in two steps.
   */
  uint64_t timeout_ns;
  vyre_timing timing;
  uint32_t reserved;
} vyre_dispatch_options;
#define VYRE_DISPATCH_OPTIONS_INIT                                                                 \
  {                                                                                                \
    (uint32_t)sizeof(vyre_dispatch_options), VYRE_ROUTE_AUTO, 0, 0, 0, {0, 0, 0}, 0, 0, 0, 0       \
  }

typedef uint32_t vyre_converged;
#define VYRE_CONVERGED_NOT_TESTED 0u
#define VYRE_CONVERGED_YES 1u
#define VYRE_CONVERGED_NO 2u

#define VYRE_ROUTE_REASON_SIZE 256

/*
 * Times are nanoseconds, VYRE_TIME_ABSENT where nobody measures them; device, enqueue and wait are
 * sums over the launches, where passes are replayed over the starts of replays: what the device
 * needs between two launches of a start counts as its time.
 */
typedef struct vyre_dispatch_result {
  uint32_t struct_size;
  vyre_route route;
  uint32_t passes; /* run, the confirming one included */
  vyre_converged converged;
  uint64_t launches; /* of kernels on the device, replayed ones and convergence tests included */
  uint64_t wall_ns;
  uint64_t device_ns;
  uint64_t enqueue_ns;
  uint64_t wait_ns;
  uint64_t device_span_ns; /* from the start of the first launch to the end of the last one */
  vyre_form form;
  uint32_t reserved;
  char reason[VYRE_ROUTE_REASON_SIZE]; /* why this route, and which was refused; or "" */
} vyre_dispatch_result;
#define VYRE_DISPATCH_RESULT_INIT                                                                  \
  {                                                                                                \
    (uint32_t)sizeof(vyre_dispatch_result), VYRE_ROUTE_AUTO, 0, VYRE_CONVERGED_NOT_TESTED, 0, 0,   \
        0, 0, 0, 0, 0, 0,                                                                          \
    {                                                                                              \
      0                                                                                            \
    }                                                                                              \
  }

/*
 * [any] Runs the program on host bytes: `inputs` by input position, results in `outputs` by output
 * position.  Inputs are borrowed for the call and never written.  `options` and `out_result` may be
 * NULL; `outputs` may be NULL if the program's outputs are not wanted.
 * On an error in the middle of a run inputs and outputs are as they were; the message names the
 * segment ("segment 2 of 4 ('hop'), pass 3"), or which passes were under way if they are replayed
 * ("replay of 4 segments, passes 3 to 34").
 * Errors: INVALID_ARGUMENT (counts, sizes; names the buffer), UNSUPPORTED (a forced route that
 * cannot be, with the reason), RESIDENCY_EXCEEDED (a forced native one), TIMEOUT, DISPATCH_FAILED,
 * DEVICE_LOST, OUT_OF_…_MEMORY.
 */
VYRE_API vyre_status vyre_dispatch(vyre_program *program, const vyre_dispatch_options *options,
                                   const vyre_bytes *inputs, uint32_t input_count,
                                   vyre_outputs *outputs, vyre_dispatch_result *out_result,
                                   vyre_error *err);

/*
 * [any] The same in two steps: inputs are borrowed until vyre_pending_release().  A run of several
 * launches goes on in the calls that wait for it: a wait of 0 starts what can be started.  A run
 * that a plugin takes for short (the cpu's: about a million items in all) may end within this call.
 */
VYRE_API vyre_status vyre_dispatch_start(vyre_program *program,
                                         const vyre_dispatch_options *options,
                                         const vyre_bytes *inputs, uint32_t input_count,
                                         vyre_pending **out_pending, vyre_error *err);

/*
 * [any] Runs the program on buffers of its device, in place: one for each buffer that is not
 * WORKGROUP, in declaration order.  Outputs are not zeroed: state 0 is the bytes that they hold.
 * On an error in the middle their contents are undefined.  Routes are native and resident.
 */
VYRE_API vyre_status vyre_dispatch_buffers(vyre_program *program,
                                           const vyre_dispatch_options *options,
                                           vyre_buffer *const *buffers, uint32_t buffer_count,
                                           vyre_dispatch_result *out_result, vyre_error *err);

/* [any] The same in two steps: buffers are borrowed until vyre_pending_release(). */
VYRE_API vyre_status vyre_dispatch_buffers_start(vyre_program *program,
                                                 const vyre_dispatch_options *options,
                                                 vyre_buffer *const *buffers, uint32_t buffer_count,
                                                 vyre_pending **out_pending, vyre_error *err);

/*
 * [any] What a dispatch of these inputs would do, as text of several lines: buffers with their
 * sizes and who reads and writes them, segments and their groups, what each route would launch and
 * copy, which can serve it, and why AUTO (or the route in `options`) takes which.  Its last line is
 * "takes NAME", with what follows if that is refused.  Nothing runs but what measures the device
 * once.  From `allocator` (NULL: the C library's), the caller's.
 */
VYRE_API vyre_status vyre_dispatch_explain(vyre_program *program,
                                           const vyre_dispatch_options *options,
                                           const vyre_bytes *inputs, uint32_t input_count,
                                           const vyre_allocator *allocator, char **out_text,
                                           vyre_error *err);

/*
 * [any; one thread at a time drives a run] OK when it has ended well; TIMEOUT leaves it valid; the
 * dispatch's own error otherwise.
 */
VYRE_API vyre_status vyre_pending_wait(vyre_pending *pending, uint64_t timeout_ns, vyre_error *err);

/*
 * [per object] Waits, then moves the outputs out.  Once for each handle; `outputs` and `out_result`
 * may be NULL.
 */
VYRE_API vyre_status vyre_pending_finish(vyre_pending *pending, vyre_outputs *outputs,
                                         vyre_dispatch_result *out_result, vyre_error *err);

/* [per object] Waits for the device if need be, then frees.  NULL is accepted. */
VYRE_API void vyre_pending_release(vyre_pending *pending);

/*
 * [any] Order-independent fingerprint of named byte strings: 64-bit FNV-1a over name, 0xff and
 * bytes, XORed over the buffers.  For logs; equal fingerprints do not prove equal bytes.
 * Source: Fowler, Noll, Vo, "FNV hash", draft-eastlake-fnv.
 */
VYRE_API uint64_t vyre_fingerprint(const char *const *names, const vyre_bytes *buffers,
                                   uint32_t count);

/* ------------------------------------------------------------------------------------------------
 * The work ring
 * ------------------------------------------------------------------------------------------------
 *
 * A bounded queue of work items for any number of producers and consumers.  Exactly once, never
 * torn, in ticket order.  It is blocking in the strict sense: a thread that stops between taking a
 * place and publishing it stops everybody behind it; it never makes the ring lose, double or tear
 * an item.  EMPTY means that the next ticket is not published yet; FULL that the next place, or its
 * completion place, is not released yet.
 *
 * The ring has `capacity` places.  A single enqueue takes one; a batch packs up to seven items in
 * each, so that more items may fit.  A ticket names one item and is only good for the ring's calls:
 * tickets grow in the order of the ring, but not always by one.
 *
 * All ring calls are [any] except create, init, attach and destroy.
 */

typedef struct vyre_work_item {
  uint32_t input_offset; /* bytes from the start of the engine's input */
  uint32_t input_len;    /* bytes */
  uint32_t rule_set_id;  /* index of the rule set */
  uint32_t correlation;  /* the caller's own, returned with the completion */
} vyre_work_item;

typedef uint32_t vyre_waiting;
#define VYRE_WAITING_ON 0u
#define VYRE_WAITING_OFF 1u /* the _wait calls return UNSUPPORTED, the others are faster */

typedef uint32_t vyre_completion_mode;
#define VYRE_COMPLETION_NONE 0u      /* a claim alone frees the place */
#define VYRE_COMPLETION_BY_TICKET 1u /* mark_done, is_done and wait work */

typedef struct vyre_ring_options {
  uint32_t struct_size;
  uint32_t capacity; /* single enqueues that fit; a power of two from 1 to 2^31 */
  vyre_waiting waiting;
  vyre_completion_mode completion;
  uint32_t max_unfinished; /* BY_TICKET: single items that fit unfinished, a power of two >=
                              capacity; 0: four times capacity */
  uint32_t flags;          /* 0 */
} vyre_ring_options;
#define VYRE_RING_OPTIONS_INIT                                                                     \
  {                                                                                                \
    (uint32_t)sizeof(vyre_ring_options), 0, VYRE_WAITING_ON, VYRE_COMPLETION_NONE, 0, 0            \
  }

VYRE_API vyre_status vyre_ring_create(const vyre_ring_options *options, vyre_ring **out_ring,
                                      vyre_error *err);
/* Rounds up to a power of two; 0 gives 1; over 2^31 is INVALID_ARGUMENT.  Completion NONE. */
VYRE_API vyre_status vyre_ring_create_rounded(uint32_t min_capacity, vyre_ring **out_ring,
                                              vyre_error *err);
/* Nobody uses or waits on it any more.  Memory that the caller gave stays the caller's. */
VYRE_API void vyre_ring_destroy(vyre_ring *ring);

/*
 * A ring in memory that the caller gives, aligned to 128 bytes: shared by processes, or by host and
 * device.  region_size: bytes needed.  init: lays the ring out; attach: checks the layout of one
 * that exists and refuses what is not one.  The handle is the process's own; destroy frees only it.
 */
VYRE_API vyre_status vyre_ring_region_size(const vyre_ring_options *options, uint64_t *out_size,
                                           vyre_error *err);
VYRE_API vyre_status vyre_ring_init(void *memory, uint64_t size, const vyre_ring_options *options,
                                    vyre_ring **out_ring, vyre_error *err);
VYRE_API vyre_status vyre_ring_attach(void *memory, uint64_t size, vyre_ring **out_ring,
                                      vyre_error *err);

/* OK, QUEUE_FULL, CLOSED; never waits.  `out_ticket` may be NULL. */
VYRE_API vyre_status vyre_ring_enqueue(vyre_ring *ring, const vyre_work_item *item,
                                       uint64_t *out_ticket);
/*
 * As many of `n` as fit, in order, with nobody else's items in between: OK if at least one (or n is
 * 0), and `*out_n` says how many.  `out_tickets` (n of them) and `out_n` may be NULL.
 */
VYRE_API vyre_status vyre_ring_enqueue_many(vyre_ring *ring, const vyre_work_item *items,
                                            uint32_t n, uint64_t *out_tickets, uint32_t *out_n);
/* Waits for room: OK, TIMEOUT, CLOSED, UNSUPPORTED. */
VYRE_API vyre_status vyre_ring_enqueue_wait(vyre_ring *ring, const vyre_work_item *item,
                                            uint64_t timeout_ns, uint64_t *out_ticket);
/* OK, EMPTY, CLOSED (closed and drained); never waits.  `out_ticket` may be NULL. */
VYRE_API vyre_status vyre_ring_claim(vyre_ring *ring, vyre_work_item *out_item,
                                     uint64_t *out_ticket);
/* Up to `max`: OK if at least one (or max is 0).  `out_tickets` and `out_n` may be NULL. */
VYRE_API vyre_status vyre_ring_claim_many(vyre_ring *ring, vyre_work_item *out_items,
                                          uint64_t *out_tickets, uint32_t max, uint32_t *out_n);
/* Waits for an item: OK, TIMEOUT, CLOSED, UNSUPPORTED. */
VYRE_API vyre_status vyre_ring_claim_wait(vyre_ring *ring, uint64_t timeout_ns,
                                          vyre_work_item *out_item, uint64_t *out_ticket);

/*
 * A span: consecutive items in one description instead of a list of tickets.  Item `i` of `count`
 * has the ticket vyre_ring_span_ticket(span, i).
 */
typedef struct vyre_ring_span {
  uint64_t first;     /* ticket of the first item */
  uint32_t count;     /* items; 0: none */
  uint32_t ends_cell; /* the ring's own */
} vyre_ring_span;

VYRE_API uint64_t vyre_ring_span_ticket(const vyre_ring_span *span, uint32_t i);
/*
 * As claim_many, up to `max`, but nothing behind a place that holds less than seven: a span ends
 * with a single item, and with a batch that does not fill its places.  OK if at least one (or max
 * is 0).  The span is the caller's: it is marked done once, by mark_done_span() or by its tickets.
 */
VYRE_API vyre_status vyre_ring_claim_span(vyre_ring *ring, vyre_work_item *out_items, uint32_t max,
                                          vyre_ring_span *out_span);

/* The item is done.  A ticket that was never issued, or is done already, has no effect. */
VYRE_API void vyre_ring_mark_done(vyre_ring *ring, uint64_t ticket);
/* The same for `n` tickets, cheaper than one by one; best in the order in which they were claimed.
 */
VYRE_API void vyre_ring_mark_done_many(vyre_ring *ring, const uint64_t *tickets, uint32_t n);
/*
 * All items of a span that claim_span() gave are done; cheaper than by their tickets, as nobody
 * else marks them meanwhile.  Those that are done already are left as they are.  Two marks of one
 * item at the same time, one of them by this call, are an error of the caller: if a whole lap of
 * the ring overtakes one, later items of that place are told not done again, and enqueue is FULL
 * before it, until they are marked once more.
 */
VYRE_API void vyre_ring_mark_done_span(vyre_ring *ring, const vyre_ring_span *span);
/*
 * Never true early, never true then false.  False with VYRE_COMPLETION_NONE, and for a ticket whose
 * place was never handed out.
 */
VYRE_API bool vyre_ring_is_done(const vyre_ring *ring, uint64_t ticket);
/*
 * OK once done; TIMEOUT; CLOSED if the ring was closed before the ticket was issued; UNSUPPORTED
 * with VYRE_COMPLETION_NONE.
 */
VYRE_API vyre_status vyre_ring_wait(vyre_ring *ring, uint64_t ticket, uint64_t timeout_ns);

/* Places accepted and not yet wholly claimed; an estimate, at most the capacity, never wrapped. */
VYRE_API uint64_t vyre_ring_in_flight(const vyre_ring *ring);
/*
 * Positions in places: next to hand out, next to claim.  With single calls only, each enqueue and
 * claim moves them by one; a batch by the places it takes, once these are wholly enqueued or
 * claimed.  A tail is never above a head that is read later.
 */
VYRE_API uint64_t vyre_ring_head(const vyre_ring *ring);
VYRE_API uint64_t vyre_ring_tail(const vyre_ring *ring);
VYRE_API uint32_t vyre_ring_capacity(const vyre_ring *ring);
/* Exact: what enqueue accepted before is delivered, everything after gets CLOSED.  Wakes all. */
VYRE_API void vyre_ring_close(vyre_ring *ring);

/* ------------------------------------------------------------------------------------------------
 * The engine
 * ------------------------------------------------------------------------------------------------
 */

typedef uint32_t vyre_engine_mode;
#define VYRE_ENGINE_AUTO 0u    /* persistent if the device promises it, else batched launches */
#define VYRE_ENGINE_FORCE 1u   /* persistent or an error */
#define VYRE_ENGINE_DISABLE 2u /* batched launches */

#define VYRE_HANDLER_RECORDS (1u << 0) /* emits records: the result is the number wanted */

/* One device function, VYRE_HANDLER(name). */
typedef struct vyre_handler_decl {
  uint32_t struct_size;
  uint32_t flags; /* VYRE_HANDLER_… */
  const char *name;
} vyre_handler_decl;
#define VYRE_HANDLER_DECL_INIT                                                                     \
  {                                                                                                \
    (uint32_t)sizeof(vyre_handler_decl), 0, 0                                                      \
  }

/* What a rule_set_id stands for: a handler and its constants (copied, 16-byte aligned on device).
 */
typedef struct vyre_rule_set {
  uint32_t struct_size;
  uint32_t handler; /* index in the handler table */
  const void *constants;
  uint64_t constants_size;
} vyre_rule_set;
#define VYRE_RULE_SET_INIT                                                                         \
  {                                                                                                \
    (uint32_t)sizeof(vyre_rule_set), 0, 0, 0                                                       \
  }

/* Borrowed for the call. */
typedef struct vyre_engine_handlers {
  uint32_t struct_size;
  uint32_t handler_count;
  const char *name; /* for messages, may be NULL */
  const vyre_handler_decl *handlers;
  const vyre_code *code;
  uint32_t code_count;
  uint32_t rule_set_count;
  const vyre_rule_set *rule_sets;
} vyre_engine_handlers;
#define VYRE_ENGINE_HANDLERS_INIT                                                                  \
  {                                                                                                \
    (uint32_t)sizeof(vyre_engine_handlers), 0, 0, 0, 0, 0, 0, 0                                    \
  }

typedef struct vyre_engine_options {
  uint32_t struct_size;
  vyre_engine_mode mode;
  uint32_t capacity;        /* single items that fit in the ring, a power of two; 0: 1024 */
  uint32_t max_unfinished;  /* single items submitted and not reaped, likewise; 0: 4 x capacity */
  uint32_t workers;         /* groups that serve the ring; 0: one for each compute unit */
  uint32_t bank_records;    /* records in each half of the output bank; 0: none */
  uint64_t input_size;      /* bytes of the engine's own input region, at most 4 GiB; 0: none */
  vyre_buffer *input;       /* instead of it: a buffer of the device, kept alive by the engine */
  uint32_t max_idle_ms;     /* an idle launch leaves after this; 0: 20 */
  uint32_t max_resident_ms; /* any launch leaves after this and is relaunched; 0: 10000 */
  uint32_t max_item_ms; /* an item unfinished past this makes waits return TIMEOUT; 0: no limit */
  uint32_t flags;       /* 0 */
  /* An idle launch leaves after so many looks at the ring in a row that found nothing, too: where
     time means little, as in an emulator of the device.  0: by max_idle_ms alone. */
  uint32_t max_idle_polls;
  uint32_t reserved;
} vyre_engine_options;
#define VYRE_ENGINE_OPTIONS_INIT                                                                   \
  {                                                                                                \
    (uint32_t)sizeof(vyre_engine_options), VYRE_ENGINE_AUTO, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0    \
  }

/* One finished item. */
typedef struct vyre_completion {
  uint64_t ticket;
  uint32_t correlation;
  uint32_t result;    /* the handler's; with VYRE_HANDLER_RECORDS the number of records wanted */
  vyre_status status; /* OK; OVERFLOW: fewer records were stored; INVALID_ARGUMENT; DEVICE_LOST … */
  uint32_t reserved;
} vyre_completion;

/* One record of the output bank. */
typedef struct vyre_record {
  uint64_t ticket;
  uint32_t value[2];
} vyre_record;

typedef struct vyre_engine_stats {
  uint32_t struct_size;
  uint32_t persistent; /* 1 if a persistent launch serves the ring, 0 for batched launches */
  uint64_t submitted;  /* items */
  uint64_t completed;  /* seen by reap or wait */
  uint64_t launches;
  uint64_t idle_exits;
  uint64_t parks; /* times that the launch left for a call on its device */
  uint64_t overflows;
  uint32_t workers;
  uint32_t reserved;
} vyre_engine_stats;
#define VYRE_ENGINE_STATS_INIT                                                                     \
  {                                                                                                \
    (uint32_t)sizeof(vyre_engine_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0                                 \
  }

/*
 * [any] Compiles or loads the handlers and starts serving.  `options` may be NULL.  The engine
 * keeps its device alive.  Errors: INVALID_ARGUMENT, UNSUPPORTED (FORCE without the capability,
 * with the reason), COMPILE_FAILED, MODULE_FORMAT, OUT_OF_…_MEMORY.
 */
VYRE_API vyre_status vyre_engine_start(vyre_device *device, const vyre_engine_handlers *handlers,
                                       const vyre_engine_options *options, vyre_engine **out_engine,
                                       vyre_error *err);

/* [any] "persistent: …" or "batched: …", with the reason.  Belongs to the engine. */
VYRE_API const char *vyre_engine_choice(const vyre_engine *engine);

/* [any] The engine's own input region: host address and size; NULL and 0 if it has none. */
VYRE_API void *vyre_engine_input(const vyre_engine *engine, uint64_t *out_size);

/*
 * [any] Lends a block of the engine's own input region: `size` bytes at `*out_offset`, a multiple
 * of 16.  Blocks come first in, first out, with wrap-around; room comes back when the oldest blocks
 * are given back.  Waits for room: OK; TIMEOUT, with timeout 0 QUEUE_FULL (reap, release, or a
 * larger input_size); CLOSED or DEVICE_LOST as vyre_engine_submit().  INVALID_ARGUMENT: `size` is
 * 0, or more than the region has (give a larger input_size), or the engine has no region of its own
 * (give input_size, not input).  `out_bytes` (may be NULL) is where the block lies.
 * Who uses these calls puts nothing into the region by other ways.
 */
VYRE_API vyre_status vyre_engine_input_reserve(vyre_engine *engine, uint32_t size,
                                               uint64_t timeout_ns, uint32_t *out_offset,
                                               void **out_bytes);
/*
 * [any] Gives a block back, in any order; its items' completions were reaped.  INVALID_ARGUMENT if
 * no block that was reserved by hand begins at the offset.
 */
VYRE_API vyre_status vyre_engine_input_release(vyre_engine *engine, uint32_t offset);

/*
 * [any] OK, QUEUE_FULL (ring or completions full: reap first), CLOSED once stopped, DEVICE_LOST or
 * the error of the launch that failed once the engine was given up for it, FORKED.  The bytes that
 * an item points to must not change until its completion was reaped.  A single item
 * takes a place of the ring, of submit_many() seven take one: as many as fit are taken, in order,
 * and `*out_n` says how many.  Tickets grow in the order of the ring, but not always by one.
 */
VYRE_API vyre_status vyre_engine_submit(vyre_engine *engine, const vyre_work_item *item,
                                        uint64_t *out_ticket);
VYRE_API vyre_status vyre_engine_submit_many(vyre_engine *engine, const vyre_work_item *items,
                                             uint32_t n, uint64_t *out_tickets, uint32_t *out_n);

/*
 * [any] Copies `size` bytes into a block of the input region and submits them as one item; the
 * block is given back when the item's completion is reaped or waited for.  Waits for room in the
 * region and in the ring, so another thread has to reap, or the timeout ends it.  Errors: those of
 * vyre_engine_input_reserve(); INVALID_ARGUMENT also for `bytes` NULL.  An item without bytes goes
 * in by vyre_engine_submit().
 */
VYRE_API vyre_status vyre_engine_submit_bytes(vyre_engine *engine, const void *bytes, uint32_t size,
                                              uint32_t rule_set_id, uint32_t correlation,
                                              uint64_t timeout_ns, uint64_t *out_ticket);

/*
 * [any] Up to `max` completions, in any order, each exactly once: OK if at least one, TIMEOUT (with
 * timeout 0: EMPTY), CLOSED when the engine is stopped and nothing is left.
 */
VYRE_API vyre_status vyre_engine_reap(vyre_engine *engine, vyre_completion *out_completions,
                                      uint32_t max, uint64_t timeout_ns, uint32_t *out_n);

/*
 * [any] Waits for one item and consumes its completion like reap; `out_completion` may be NULL.
 * NOT_FOUND if the ticket was never issued or its completion was consumed before.
 */
VYRE_API vyre_status vyre_engine_wait(vyre_engine *engine, uint64_t ticket, uint64_t timeout_ns,
                                      vyre_completion *out_completion);

/*
 * [any] Waits until everything submitted before the call is finished (not necessarily reaped).  On
 * TIMEOUT up to `max` unfinished tickets are stored and `*out_n` counts all of them; both may be
 * NULL with max 0.
 */
VYRE_API vyre_status vyre_engine_drain(vyre_engine *engine, uint64_t timeout_ns,
                                       uint64_t *out_unfinished, uint32_t max, uint32_t *out_n);

/*
 * [per object] Swaps the halves of the output bank: items submitted from now on fill the other
 * half; returns when all earlier ones are finished.  `*out_records` (in no particular order) belong
 * to the engine and stay until the next swap.  UNSUPPORTED without a bank; TIMEOUT: call again, the
 * same swap goes on.
 */
VYRE_API vyre_status vyre_engine_swap_bank(vyre_engine *engine, uint64_t timeout_ns,
                                           const vyre_record **out_records, uint32_t *out_count);

/*
 * [any] Takes no more items, finishes what was accepted, ends the launch.  TIMEOUT, also when an
 * item is past max_item_ms: what is not finished completes with VYRE_ERROR_CLOSED.  Completions can
 * still be reaped.  Idempotent.
 */
VYRE_API vyre_status vyre_engine_stop(vyre_engine *engine, uint64_t timeout_ns, vyre_error *err);

/*
 * [per object] Stops without waiting for unfinished items, and frees.  An item that is being run is
 * waited for up to 10 s; after that the engine's memory stays in use, and the log says so.
 */
VYRE_API void vyre_engine_destroy(vyre_engine *engine);

VYRE_API vyre_status vyre_engine_get_stats(const vyre_engine *engine, vyre_engine_stats *out_stats,
                                           vyre_error *err);

/* ------------------------------------------------------------------------------------------------
 * Bundles: kernels compiled ahead of time
 * ------------------------------------------------------------------------------------------------
 */

/*
 * [any] Compiles a program's or a handler set's `vyre-c` code, entries included, for each target
 * and packs the results into one file image.  Exactly one of `program` and `handlers` is given; its
 * `vyre-c` code is needed.  A target is a plugin name ("cpu": all its default architectures),
 * "plugin:arch" ("hip:gfx90a": the first format of its list for this architecture), or
 * "format:arch" ("native:x86-64-v3").  `manifest` (may be NULL) is kept with it, for tools.
 * The image is from `allocator` (NULL: the C library's) and belongs to the caller.
 */
VYRE_API vyre_status vyre_bundle_build(vyre_context *context, const vyre_program_desc *program,
                                       const vyre_engine_handlers *handlers,
                                       const char *const *targets, uint32_t target_count,
                                       const char *manifest, const vyre_allocator *allocator,
                                       void **out_image, uint64_t *out_size, vyre_error *err);

/* [any] Checks and reads an image, which is borrowed until destroy.  MODULE_FORMAT if it is none.
 */
VYRE_API vyre_status vyre_bundle_open(const void *image, uint64_t size, vyre_bundle **out_bundle,
                                      vyre_error *err);
VYRE_API void vyre_bundle_destroy(vyre_bundle *bundle);
/*
 * [any] Code for a program or handler set; belongs to the bundle.  It fits the description that it
 * was built with: buffers, segments, workgroup memory.  Iterations may differ, and converge between
 * EXACT and OFF; kernels that were built with DECLARED need DECLARED.
 */
VYRE_API const vyre_code *vyre_bundle_code(const vyre_bundle *bundle, uint32_t *out_count);
/* [any] The manifest that was kept, ending in NUL, or NULL. */
VYRE_API const char *vyre_bundle_manifest(const vyre_bundle *bundle);

#ifdef __cplusplus
}
#endif
#endif /* VYRE_H */
