/*
 * vyre_backend.h - the plugin ABI, version 0.3.
 *
 * This header is the specification of a vyre plugin: one shared object per vendor that fills in the
 * table `vyre_backend` below.  A plugin includes this file (and, for the words of the kernel
 * language, vyre_kernel.h) and nothing else of vyre; it links no vyre symbol.
 *
 * How to read it
 *   - Numbered rules (`ABI-001`, `DISP-003`, …) are normative.  Each is checked by cases of the
 *     conformance suite, which name it.
 *   - "Thread class" is one of
 *       [any]         any thread, at any time, also concurrently on one object;
 *       [per object]  any thread, concurrently on distinct objects; calls on one object are
 *                     serialised by the caller;
 *       [external]    the caller serialises it against every other call on the device.
 *     DEV-005  No call depends on the thread that makes it, beyond that.
 *   - "Owned by" says who frees.  Texts are UTF-8 and end in NUL.
 *   - `host` is the vyre core that loaded the plugin.
 *
 * Rules for every structure and call
 *   ABI-001  Every structure that crosses starts with `struct_size`, set by whoever made it to the
 *            size that it knows.  A reader accepts a larger size and ignores what it does not know;
 *            it refuses one that is smaller than the size at the entry's introduction
 *            (VYRE_…_SIZE_0_1, …) with VYRE_ERROR_INVALID_ARGUMENT.  Equality is never demanded.
 *   ABI-002  Whoever fills an out-structure writes at most the smaller of the two sizes and sets
 *            `struct_size` to it.
 *   ABI-003  Fields and slots are only appended.  A slot past the table's `struct_size` counts as
 *            NULL.  A NULL slot means "not supported" and agrees with the capability bits.  An
 *            optional slot stays optional within a major version.
 *   ABI-004  Arrays of structures come with a stride in bytes; readers step by it.
 *   ABI-005  In every structure zero means the default.  Reserved fields are zero.
 *   ABI-006  Unknown flag bits are refused with VYRE_ERROR_INVALID_ARGUMENT; the host sends none
 *            that is newer than the negotiated minor version.
 *   ABI-007  Only fixed-width integers, pointers and structures of them cross: no enumerations,
 *            bit-fields, `long` or `size_t`.
 *   ABI-008  On an error nothing has changed: outputs are as they were, nothing is leaked.
 *   ABI-009  Every error has a code and a non-empty message; `err` may be NULL.
 *   ABI-010  A plugin never prints, aborts, exits, writes the environment, installs signal
 *            handlers, or has constructors, destructors or atexit handlers.  What a vendor's
 *            library does in the process of itself is not the plugin's doing; a plugin undoes what
 *            it can.
 *   ABI-011  A plugin calls no host service after the last device is closed, except from within a
 *            call of the host.
 *   ABI-012  The table and every text in it are valid until the plugin is unloaded.
 *   ABI-013  A call leaves as they are: the caller's signal mask, signal stack and rounding mode,
 *            the working directory, the umask, the file descriptors that were open before.
 *   ABI-014  When the last device is closed the plugin has given back every block of the host, and
 *            keeps no thread and no file open (a vendor's library that stays loaded may).
 *   ABI-015  A plugin exports vyre_backend_query and nothing else, and puts no symbol into the
 *            global scope.
 *   ABI-017  A child of fork() that makes no call takes nothing away from its parent.
 */
#ifndef VYRE_BACKEND_H
#define VYRE_BACKEND_H

#include "vyre_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VYRE_ABI_MAJOR 0u
#define VYRE_ABI_MINOR 3u

/* The value of `header_version` that a plugin stores: what it was compiled against. */
#define VYRE_ABI_VERSION ((VYRE_ABI_MAJOR << 16) | VYRE_ABI_MINOR)

/* Opaque to the host, made and read by the plugin. */
typedef struct vyre_backend_device vyre_backend_device;
typedef struct vyre_backend_module vyre_backend_module;
typedef struct vyre_backend_kernel vyre_backend_kernel;
typedef struct vyre_backend_buffer vyre_backend_buffer;
typedef struct vyre_backend_pending vyre_backend_pending;
typedef struct vyre_backend_sequence vyre_backend_sequence;

/* ------------------------------------------------------------------------------------------------
 * Handshake
 * ------------------------------------------------------------------------------------------------
 */

/*
 * vyre_host - what the host offers.  Owned by the host, valid until the plugin is unloaded.
 */
typedef struct vyre_host {
  uint32_t struct_size;
  uint32_t abi_major; /* the one major version that the host speaks */
  uint32_t abi_minor_min;
  uint32_t abi_minor_max; /* the range of minor versions, both ends included */
  uint64_t flags;         /* none defined: 0 */
  void *self;             /* first argument of the services below */

  /* [any] `size` bytes aligned to `align` (a power of two, at most 4096), or NULL. */
  void *(*allocate)(void *self, uint64_t size, uint64_t align);
  /* [any] Frees what allocate() returned; NULL is accepted. */
  void (*deallocate)(void *self, void *memory);
  /* [any] One line of text without a line end.  The text is copied. */
  void (*log)(void *self, vyre_log_level level, const char *text);
} vyre_host;

/*
 * vyre_backend.flags
 *   ABI-016  With MAY_UNLOAD, dlclose() after the last device was closed leaves nothing behind, and
 *            the plugin may be loaded again.
 */
#define VYRE_BACKEND_MAY_UNLOAD (1ull << 0) /* dlclose() after the last device closed is safe */

/* ------------------------------------------------------------------------------------------------
 * Devices
 * ------------------------------------------------------------------------------------------------
 */

/*
 * vyre_backend_device_info - one device, before it is opened.
 *   DEV-001  `id` is stable over processes and reboots and unique within the plugin (a PCI address,
 *            a UUID, or a fixed word such as "cpu").  Selectors name it, so it has no ',', no '!'
 *            and no blank.
 *   DEV-003  Texts end within their fields, and limits are at least what is said beside them.
 */
typedef struct vyre_backend_device_info {
  uint32_t struct_size;
  vyre_device_class device_class;
  uint64_t capabilities; /* VYRE_CAP_… */
  char name[VYRE_DEVICE_NAME_SIZE];
  char id[VYRE_DEVICE_ID_SIZE];
  char pci[VYRE_DEVICE_ID_SIZE];      /* "0000:c1:00.0", or "" */
  char uuid[VYRE_DEVICE_ID_SIZE];     /* lower-case hexadecimal with dashes, or "" */
  char arch[VYRE_DEVICE_ID_SIZE];     /* "x86-64-v3", "sm_90", "gfx942", … */
  char driver[VYRE_DEVICE_NAME_SIZE]; /* version of driver or runtime, and where it was found */
  uint64_t memory_bytes;              /* device memory in all, 0 if unknown */
  uint64_t max_buffer_bytes;          /* the largest buffer, 0 if unknown */
  uint64_t max_workgroup_memory;      /* bytes of workgroup memory per group */
  uint32_t max_workgroup[3];          /* most items per group in each dimension */
  uint32_t max_workgroup_items;       /* most items per group in all */
  uint32_t max_groups[3];             /* most groups in each dimension */
  uint32_t compute_units; /* cores, SMs, CUs: groups that truly run at once, at least 1 */
  uint32_t subgroup_size; /* 0 if there are no subgroups */
  vyre_progress progress;
  uint32_t coherent_atomics; /* VYRE_COHERENT_… */
  uint32_t max_push_bytes;   /* push constants per dispatch, at least 128 */
  uint32_t max_bindings;     /* bindings per dispatch, at least 16 */
  /* Why VYRE_CAP_PERSISTENT or VYRE_CAP_COMPILER is off, for a reader; or "". */
  char persistent_reason[VYRE_DEVICE_REASON_SIZE];
  char compiler_reason[VYRE_DEVICE_REASON_SIZE];

  /* -------- since 0.2 -------- */
  vyre_grid_sync grid_sync;
  /*
   * NATIVE: items of a segment that are worth one group of a cooperative launch; with fewer a
   * barrier costs more than the group saves.  0: the items of one workgroup.
   */
  uint32_t cooperative_items;
  char grid_sync_reason[VYRE_DEVICE_REASON_SIZE]; /* why it is not NATIVE, or "" */
} vyre_backend_device_info;

/*
 * vyre_backend_format - one kind of kernel code that a plugin takes.
 * `format` is "vyre-c", "native", "ptx", "cubin", "hsaco", …; `arch` is "" if the format has none.
 */
typedef struct vyre_backend_format {
  uint32_t struct_size;
  uint32_t reserved;
  const char *format;
  const char *arch;
} vyre_backend_format;

/* ------------------------------------------------------------------------------------------------
 * Kernel code
 * ------------------------------------------------------------------------------------------------
 *
 *   KRN-001  For `vyre-c` the host hands over the whole text: the plugin's own prelude
 *            (vyre_backend.prelude), then the user's functions between `#line` marks, then the
 *            entries that the host generated from the words under "Entries" in vyre_kernel.h.
 *   KRN-002  An entry is found by its name: the segment's name for a program's segment,
 *            "vyre_fused" and "vyre_settle" for the whole program in one launch and for its
 *            convergence test, "vyre_engine_persistent" and "vyre_engine_batch" for a handler set.
 *            Those of vyre come out of compile(); what they are bound to is the core's own and may
 *            change with its version.
 *   KRN-003  A compiler's complaints come back in `err->message`, with the user's line numbers.
 *   KRN-004  A format that is not taken is VYRE_ERROR_MODULE_FORMAT with the list of those that
 *            are; code for another device names what was had and what is wanted.
 *   KRN-007  The limits of vyre_kernel_info hold: a group of max_workgroup_items runs.
 *   KRN-008  With VYRE_MODULE_DEBUG an index outside a buffer ends the launch with
 *            VYRE_ERROR_DISPATCH_FAILED; the message names buffer, index, count and line.
 */

#define VYRE_MODULE_DEBUG (1ull << 0) /* bounds checks in vyre_at(), traps on over-wide shifts */

typedef struct vyre_module_desc {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t flags;     /* VYRE_MODULE_… */
  const char *format; /* never NULL */
  const char *arch;   /* "" if the format has none */
  const void *data;   /* borrowed for the call; text need not end in NUL */
  uint64_t size;
  const char *name; /* for messages, may be NULL */
} vyre_module_desc;

/*
 * vyre_blob - bytes that the plugin made.  Freed by the caller through host->deallocate().
 */
typedef struct vyre_blob {
  uint32_t struct_size;
  uint32_t reserved;
  void *data;
  uint64_t size;
} vyre_blob;

typedef struct vyre_compile_desc {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t flags;     /* VYRE_MODULE_… */
  const char *format; /* the format wanted, one of vyre_backend.formats other than "vyre-c" */
  const char *arch;   /* the architecture wanted; "" takes the format's default */
  const char *source; /* the whole `vyre-c` text (KRN-001), borrowed */
  uint64_t source_size;
  const char *name; /* for messages, may be NULL */
} vyre_compile_desc;

typedef struct vyre_kernel_info {
  uint32_t struct_size;
  uint32_t max_workgroup_items; /* most items per group for this kernel, at least 1 */
  uint64_t workgroup_memory;    /* static bytes of workgroup memory */
} vyre_kernel_info;

/* ------------------------------------------------------------------------------------------------
 * Dispatch
 * ------------------------------------------------------------------------------------------------
 */

typedef uint32_t vyre_binding_kind;
#define VYRE_BINDING_HOST 0u      /* `data`, host bytes */
#define VYRE_BINDING_BUFFER 1u    /* `buffer` from `offset` (tier 2) */
#define VYRE_BINDING_WORKGROUP 2u /* `size` bytes of workgroup memory for each group */

/*
 * vyre_binding - one argument of a kernel, in the order of the entry's parameters.
 *   DISP-001  The bytes of a READ_ONLY binding are never written.
 *   DISP-002  A HOST binding with `data` NULL starts as zeros.
 *   DISP-003  A HOST binding that may be written starts as a copy of `data`; `data` itself is never
 *             written.  The result is fetched by pending_read().
 *   DISP-004  A BUFFER binding is read and written in place.
 *   DISP-005  A binding of size 0 is legal; its pointer is valid and never dereferenced.
 *   DISP-006  Kernels see pointers aligned to at least 16 bytes for HOST and WORKGROUP bindings,
 *             and for BUFFER bindings if `offset` is a multiple of 16.
 *   DISP-007  A binding comes to the parameter of its number; vyre_count() answers `element_count`
 *             of the binding whose id the parameter's name has.
 *   DISP-008  VYRE_ERROR_INVALID_ARGUMENT: a kind or an access that is none of the header's, the
 *             kind WORKGROUP without that access or the other way round, the kind BUFFER without a
 *             buffer, an id that is not below id_limit, no group, no item, no kernel.  Without
 *             VYRE_CAP_BUFFERS the kind BUFFER is that, too, or VYRE_ERROR_UNSUPPORTED.
 */
typedef struct vyre_binding {
  uint32_t struct_size;
  uint32_t id;                 /* the buffer's index in its program: vyre_count() looks it up */
  vyre_access access;          /* what this kernel does with it */
  vyre_binding_kind kind;      /* where it is */
  const void *data;            /* HOST: borrowed until the pending handle is released, or NULL */
  vyre_backend_buffer *buffer; /* BUFFER: borrowed likewise */
  uint64_t offset;             /* BUFFER: first byte */
  uint64_t size;               /* bytes */
  uint64_t element_count;      /* what vyre_count() answers */
} vyre_binding;

/* vyre_dispatch_desc.flags */
/*
 * DISP-010  The launch is the engine's: it may stay for long, is put on a queue of its own, and
 *           ordinary dispatches of the same device run beside it.  Refused with
 *           VYRE_ERROR_UNSUPPORTED without VYRE_CAP_PERSISTENT.  Its bindings are BUFFERs and,
 *           since 0.3, WORKGROUP memory.
 * DISP-012  Calls that start, watch or move (dispatch, sequence_start, pending_wait, pending_read,
 *           pending_release of other launches, upload, download, fill, copy) never wait for a
 *           persistent launch to end, unless they use a buffer of it.  With
 *           VYRE_CAP_ALLOC_WHILE_RESIDENT the same holds for device_open, device_close,
 *           module_load, module_unload, kernel_find, buffer_alloc, buffer_free, buffer_import,
 *           coherent_alloc, sequence_create and sequence_release.  Without it the host ends every
 *           persistent launch of the device, by the words that it shares with it, before it makes
 *           one of these calls, on whichever handle of the same index, and starts none until the
 *           call has returned.
 */
#define VYRE_DISPATCH_PERSISTENT (1ull << 0)
/*
 * DISP-011  Since 0.2.  All groups are resident at once, so that they may wait for each other.
 *           Never ignored: native, or refused with VYRE_ERROR_UNSUPPORTED.
 * DISP-013  More groups than cooperative_groups() says are refused before anything runs, with
 *           VYRE_ERROR_RESIDENCY_EXCEEDED and limit and request in the message.  The entry
 *           "vyre_fused" is only launched with this flag.
 * DISP-015  A fused launch finds any number in word VYRE_CONTROL_GENERATION; the other words of its
 *           barrier are 0.
 */
#define VYRE_DISPATCH_COOPERATIVE (1ull << 1)

/* Binding ids are below this; a program has at most 64 buffers, the rest are the core's own. */
#define VYRE_BINDING_IDS 96u

typedef struct vyre_dispatch_desc {
  uint32_t struct_size;
  uint32_t binding_count;
  uint64_t flags;
  vyre_backend_kernel *kernel;
  const vyre_binding *bindings; /* borrowed for the call; what they point to, see there */
  uint64_t binding_stride;      /* bytes from one binding to the next */
  uint32_t groups[3];           /* each at least 1 */
  uint32_t workgroup[3];        /* items per group, each at least 1 */
  const void *push;             /* push constants, copied by the call; NULL if push_size is 0 */
  uint32_t push_size;
  uint32_t id_limit; /* one more than the largest binding id, at most VYRE_BINDING_IDS */

  /* -------- since 0.3 -------- */
  /*
   * Not 0: nobody asks when the launch began and ended.  A hint, which dispatch() may use to leave
   * out what is only done for times: those of pending_read() may then be VYRE_TIME_ABSENT, also
   * with VYRE_CAP_TIMESTAMPS.  Nothing else depends on it, and the steps of a sequence or of passes
   * are not looked at.
   */
  uint32_t untimed;
  uint32_t reserved;
} vyre_dispatch_desc;

/*
 * vyre_slot - room for one output, made by the host, filled by pending_read().
 *   READ-001  One slot for each HOST binding that is not READ_ONLY, in the order of the bindings.
 *   READ-002  The plugin writes exactly `capacity` bytes of result if the binding's size is equal
 *             to it, else refuses with VYRE_ERROR_INVALID_ARGUMENT; it stores the binding's id and
 *             the bytes written, and changes nothing else.  `data` may be NULL at capacity 0.
 *   READ-003  pending_read() waits without limit if need be, and is called with no slots where
 *             there is no output.
 */
typedef struct vyre_slot {
  uint32_t struct_size;
  uint32_t binding_id; /* out: the id of the binding whose bytes these are */
  void *data;          /* owned by the host */
  uint64_t capacity;   /* bytes at `data`: the binding's size */
  uint64_t size;       /* out: bytes written */
} vyre_slot;

/*
 * vyre_backend_times - VYRE_TIME_ABSENT in what is not measured.
 *   TIME-001  With VYRE_CAP_TIMESTAMPS started_ns <= ended_ns, both on the clock of
 *             device_clock(), and device_ns is their difference; all three may be absent of a
 * launch that was `untimed`.  Launches that ran one after the other have times in that order.
 *   TIME-002  device_ns is what the launch took on the device, enqueue_ns what dispatch() took,
 *             wait_ns how long the read had to wait: none is longer than all of it together.
 */
typedef struct vyre_backend_times {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t device_ns;
  uint64_t enqueue_ns;
  uint64_t wait_ns;

  /* -------- since 0.2 -------- */
  uint64_t started_ns;
  uint64_t ended_ns;
} vyre_backend_times;

/*
 * vyre_passes_desc - all segments of a program and all its passes in one call (tier 3, EMULATED).
 *
 * `steps` are launches as dispatch() takes them, with flags 0 and BUFFER or WORKGROUP bindings
 * only.  `control` are words (u32) in a buffer of the device, named VYRE_CONTROL_… in
 * vyre_kernel.h; the host has zeroed them.
 *   PASS-001  Pass p (1, 2, …) runs the steps in order.  A step sees everything that the steps
 *             before it wrote.
 *   PASS-002  Word VYRE_CONTROL_PASS holds p while the steps of pass p run.
 *   PASS-003  The run ends after `max_passes`; with `tested` not 0 also after the first pass that
 *             has left in word VYRE_CONTROL_CHANGED a number less than p.
 *   PASS-004  Word VYRE_CONTROL_PASSES holds the number of passes run once the handle has ended
 *             well.
 *   PASS-005  What DISP-020 to DISP-022 say of a launch holds for the whole.  pending_read() is
 *             called with no slots.
 *   PASS-006  VYRE_ERROR_INVALID_ARGUMENT: no step, no pass, a step with flags or HOST bindings or
 *             that dispatch() refuses, control words that are not in the buffer or not on a line.
 */
typedef struct vyre_passes_desc {
  uint32_t struct_size;
  uint32_t step_count; /* at least 1 */
  uint64_t flags;      /* 0 */
  const vyre_dispatch_desc *steps;
  uint64_t step_stride; /* bytes from one step to the next */
  vyre_backend_buffer *control;
  uint64_t control_offset; /* bytes, a multiple of 128 */
  uint32_t max_passes;     /* at least 1 */
  uint32_t tested;         /* 0 or 1 */
} vyre_passes_desc;

/*
 * vyre_sequence_desc - launches that are recorded once and started together (tier 5).
 *
 * `steps` are launches as dispatch() takes them, with flags 0 and BUFFER or WORKGROUP bindings
 * only.
 *   SEQ-001  Since 0.3.  A replay runs the steps in order.  A step sees everything that the steps
 *            before it wrote, the first one what the replay before wrote.
 *   SEQ-002  sequence_create() refuses with VYRE_ERROR_INVALID_ARGUMENT: no step, unknown flags, a
 *            step with flags or HOST bindings.  A step that dispatch() refuses it refuses with the
 *            same code, and nothing runs.
 */
typedef struct vyre_sequence_desc {
  uint32_t struct_size;
  uint32_t step_count;             /* at least 1 */
  uint64_t flags;                  /* 0 */
  const vyre_dispatch_desc *steps; /* borrowed for the call, push constants too */
  uint64_t step_stride;            /* bytes from one step to the next */
} vyre_sequence_desc;

/*
 * vyre_backend_device_options - NULL in device_open() is the same as zeros.
 *   INT-004  Since 0.3.  With a `queue` (VYRE_CAP_INTEROP) the device puts its launches and copies
 *            on that queue of the vendor's, PERSISTENT launches excepted; its owner keeps it until
 *            device_close(), which leaves it as it is.  UNSUPPORTED without the capability,
 *            INVALID_ARGUMENT for another vendor's.
 */
typedef struct vyre_backend_device_options {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t flags; /* 0 */

  /* -------- since 0.3 -------- */
  vyre_native_handle queue; /* handle 0: one of the plugin's own */
} vyre_backend_device_options;

/* ------------------------------------------------------------------------------------------------
 * Buffers (tier 2) and coherent memory (tier 4)
 * ------------------------------------------------------------------------------------------------
 */

typedef struct vyre_coherent_memory {
  uint32_t struct_size;
  uint32_t reserved;
  vyre_backend_buffer *buffer; /* binds like any buffer; freed by buffer_free */
  void *host;                  /* the host's address, aligned to at least 4096 */
  uint64_t device_address;     /* what a kernel sees as the address */
} vyre_coherent_memory;

/* ------------------------------------------------------------------------------------------------
 * The table
 * ------------------------------------------------------------------------------------------------
 *
 * All slots take `vyre_error *err` (may be NULL) where they return a status.
 */
typedef struct vyre_backend {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;      /* the highest version that both speak */
  uint32_t header_version; /* VYRE_ABI_VERSION of the header that it was compiled with */
  uint64_t flags;          /* VYRE_BACKEND_… */
  vyre_sanitizer sanitizer;
  uint32_t format_count;
  const char *name;     /* short, [a-z0-9_-]+, what selectors use: "cpu", "cuda" */
  const char *version;  /* the plugin's own version */
  const char *vendor;   /* for readers */
  const char *build_id; /* for readers, may be "" */

  /*
   *   TAB-001  `name` is one or more of [a-z0-9_-]; no text is NULL, and all of them are UTF-8.
   *   TAB-002  Formats that module_load() takes, best first, at least one, none twice.  The list
   *            may hold several architectures of one format.  A plugin with "vyre-c" gives the text
   *            that goes before it.
   *   TAB-003  No slot of tier 1 but compile() is NULL.
   */
  const vyre_backend_format *formats;
  uint64_t format_stride;
  const char *prelude; /* NULL without "vyre-c" */
  uint64_t prelude_size;

  /* -------- tier 1: required -------- */

  /*
   * [any] Devices now.  Zero is not an error.  VYRE_ERROR_VENDOR_LIBRARY if the vendor's library is
   * missing: the message names every path that was tried.
   */
  vyre_status (*device_count)(uint32_t *out_count, vyre_error *err);

  /*
   * [any] Fills `out_info` (ABI-002).
   *   DEV-002  Indexes run from 0 to one below device_count(), here and in device_open(); any other
   *            is VYRE_ERROR_INVALID_ARGUMENT or VYRE_ERROR_NOT_FOUND.
   */
  vyre_status (*device_info)(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err);

  /*
   * [any] Opens a device.  Owned by the caller until device_close().
   *   DEV-004  May be called again for the same index, before and after a close: the devices are
   *            independent.
   */
  vyre_status (*device_open)(uint32_t index, const vyre_backend_device_options *options,
                             vyre_backend_device **out_device, vyre_error *err);

  /*
   * [external] Closes it.  The caller has unloaded its modules, freed its buffers and released its
   * pending handles.  NULL is accepted.  Vendor errors after the vendor's own teardown are ignored.
   */
  void (*device_close)(vyre_backend_device *device);

  /*
   * [any] Compiles without a device.  Optional.  VYRE_ERROR_COMPILE_FAILED with the log;
   * VYRE_ERROR_UNSUPPORTED if no compiler is at hand.
   *   KRN-005  `out_blob->data` is from host->allocate() and belongs to the caller; module_load()
   *            takes it for the format and architecture that were asked for.
   */
  vyre_status (*compile)(const vyre_compile_desc *desc, vyre_blob *out_blob, vyre_error *err);

  /*
   * [any] Loads code.  Owned by the caller until module_unload(), which comes before
   * device_close() and after every pending handle of its kernels was released.
   */
  vyre_status (*module_load)(vyre_backend_device *device, const vyre_module_desc *desc,
                             vyre_backend_module **out_module, vyre_error *err);
  void (*module_unload)(vyre_backend_device *device, vyre_backend_module *module);

  /*
   * [any] Looks an entry up.  The kernel lives as long as its module.  `out_info` may be NULL.
   *   KRN-006  VYRE_ERROR_NOT_FOUND names the entry.
   */
  vyre_status (*kernel_find)(vyre_backend_module *module, const char *name,
                             vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                             vyre_error *err);

  /*
   * [any] Starts one launch.
   *   DISP-020  Dispatches of one device that touch the same BUFFER run in the order of the calls;
   *             a PERSISTENT one is outside that order.
   *   DISP-021  Too many items per group, groups, push bytes or bindings are refused before
   *             anything runs, with limit and request in the message.
   *   DISP-022  What the descriptor points to is borrowed for the call, except the bytes and
   *             buffers of its bindings, which are borrowed until pending_release().
   *   DISP-023  Every item of every group runs exactly once.
   * The handle belongs to the caller until pending_release().  It starts work and waits for none,
   * so it never returns VYRE_ERROR_TIMEOUT.
   */
  vyre_status (*dispatch)(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                          vyre_backend_pending **out_pending, vyre_error *err);

  /*
   * [any] Waits until the launch has ended.
   *   DISP-030  After VYRE_OK every write of the launch is visible to the host and to later
   *             dispatches.
   *   DISP-031  0 polls.  VYRE_ERROR_TIMEOUT leaves the handle valid.
   *   DISP-032  An error of the launch itself is returned here, every time.
   */
  vyre_status (*pending_wait)(vyre_backend_pending *pending, uint64_t timeout_ns, vyre_error *err);

  /*
   * [per object] Copies the outputs out (READ-001 to READ-003).  `out_times` may be NULL.  May be
   * called once for each handle.
   */
  vyre_status (*pending_read)(vyre_backend_pending *pending, vyre_slot *slots, uint32_t slot_count,
                              uint64_t slot_stride, vyre_backend_times *out_times, vyre_error *err);

  /*
   * [per object] Frees the handle.  NULL is accepted.
   *   DISP-033  Waits for the device if need be: after it nothing borrowed is touched any more.
   */
  void (*pending_release)(vyre_backend_pending *pending);

  /* -------- tier 2: VYRE_CAP_BUFFERS; all or none -------- */

  /*
   * [any] `size` bytes (0 is legal) of device memory.  Owned until buffer_free().
   *   BUF-003  All of them are zero, also where the memory was in use before.  A size that is not
   *            to be had is VYRE_ERROR_OUT_OF_DEVICE_MEMORY.
   */
  vyre_status (*buffer_alloc)(vyre_backend_device *device, uint64_t size,
                              vyre_backend_buffer **out_buffer, vyre_error *err);

  /* [any] No pending handle uses it any more.  NULL is accepted. */
  void (*buffer_free)(vyre_backend_device *device, vyre_backend_buffer *buffer);

  /*
   * [any] Bytes in and out.  These rules hold for fill and copy too.
   *   BUF-001  A range outside the buffer is VYRE_ERROR_INVALID_ARGUMENT; a sum that overflows too.
   *   BUF-002  Exactly `size` bytes at `offset` change, also at sizes that are no multiple of 4.
   *   BUF-004  Ordered after the dispatches that were started before it and use the buffer;
   *            complete on return.
   */
  vyre_status (*buffer_upload)(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               uint64_t offset, const void *data, uint64_t size, vyre_error *err);
  vyre_status (*buffer_download)(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, void *out_data, uint64_t size, vyre_error *err);

  /*
   * [any] BUF-005  Sets `size` bytes to the low byte of `value`; its other bits do not matter.
   */
  vyre_status (*buffer_fill)(vyre_backend_device *device, vyre_backend_buffer *buffer,
                             uint64_t offset, uint64_t size, uint32_t value, vyre_error *err);

  /*
   * [any] BUF-006  Copies between two buffers of the device, or within one if the ranges do not
   *       overlap.  The source stays as it is.
   */
  vyre_status (*buffer_copy)(vyre_backend_device *device, vyre_backend_buffer *destination,
                             uint64_t destination_offset, vyre_backend_buffer *source,
                             uint64_t source_offset, uint64_t size, vyre_error *err);

  /*
   * [any] Optional, VYRE_CAP_IMPORT_EXPORT.  Wraps memory that the caller keeps alive until
   * buffer_free(), and tells the native address of a buffer.
   *   BUF-007  What was exported can be imported on the same device: both buffers are the same
   *            bytes.  Freeing the imported one leaves the memory as it is.
   */
  vyre_status (*buffer_import)(vyre_backend_device *device, const vyre_native_memory *memory,
                               vyre_backend_buffer **out_buffer, vyre_error *err);
  vyre_status (*buffer_export)(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               vyre_native_memory *out_memory, vyre_error *err);

  /* -------- tier 4: VYRE_CAP_COHERENT -------- */

  /*
   * [any] `size` bytes (at least 1) of memory that host and device see at once.
   *   COH-001  Aligned loads and stores of the widths in `coherent_atomics` are atomic from both
   *            sides, and acquire and release at system scope order all other accesses to the same
   *            memory.
   *   COH-002  It is zeroed, and its host address is a multiple of 4096; a size of 0 is
   *            VYRE_ERROR_INVALID_ARGUMENT.
   *   COH-003  A kernel finds it at `device_address`, plus the binding's offset.
   */
  vyre_status (*coherent_alloc)(vyre_backend_device *device, uint64_t size,
                                vyre_coherent_memory *out_memory, vyre_error *err);

  /* ================ since 0.2 ================ */

  /* -------- tier 3: cooperative_groups with NATIVE, dispatch_passes with EMULATED -------- */

  /*
   * [any] The most groups of one COOPERATIVE launch of this kernel, with workgroups of that shape
   * and so many bytes of workgroup memory from bindings; asked of the driver for this very kernel,
   * with headroom.
   *   DISP-014  A launch of so many is taken; 0: it cannot be launched that way.
   */
  vyre_status (*cooperative_groups)(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                    const uint32_t workgroup[3], uint64_t workgroup_memory,
                                    uint32_t *out_groups, vyre_error *err);

  /* [any] Starts all passes; the handle is one of dispatch(). */
  vyre_status (*dispatch_passes)(vyre_backend_device *device, const vyre_passes_desc *desc,
                                 vyre_backend_pending **out_pending, vyre_error *err);

  /* -------- tier 5: VYRE_CAP_TIMESTAMPS -------- */

  /*
   * [any] The device's clock and the host's CLOCK_MONOTONIC, read as close together as can be, both
   * in nanoseconds.
   *   TIME-003  The device's clock never goes back and keeps the host's pace; the host's time lies
   *             within the call.
   */
  vyre_status (*device_clock)(vyre_backend_device *device, uint64_t *out_device_ns,
                              uint64_t *out_host_ns, vyre_error *err);

  /* ================ since 0.3 ================ */

  /* -------- tier 5: VYRE_CAP_INTEROP; all or none -------- */

  /*
   * [any] An event of the vendor's that is reached when every launch and copy before it on this
   * device handle has ended, PERSISTENT ones excepted.  Waits for nothing.
   *   INT-001  `event->handle` 0: the plugin makes the event and stores type and handle; it belongs
   *            to the caller until event_release(), or until the vendor's own call releases it.
   *            Otherwise the caller's own event is recorded, or UNSUPPORTED if events of this
   *            vendor cannot be.
   *   INT-003  Another vendor's type is VYRE_ERROR_INVALID_ARGUMENT with have and want.
   */
  vyre_status (*event_record)(vyre_backend_device *device, vyre_native_handle *event,
                              vyre_error *err);

  /*
   * [any] INT-002  Launches and copies that are called for afterwards on this handle begin when the
   *       event is reached, PERSISTENT ones excepted.  The call itself waits for nothing, and the
   *       event may be released after it.  Handle 0 is VYRE_ERROR_INVALID_ARGUMENT.
   */
  vyre_status (*event_wait)(vyre_backend_device *device, const vyre_native_handle *event,
                            vyre_error *err);

  /* [any] Releases an event that event_record() made; what waits for it still does. */
  vyre_status (*event_release)(vyre_backend_device *device, const vyre_native_handle *event,
                               vyre_error *err);

  /*
   * [any] INT-005  The queue that launches and copies of this handle go to: borrowed, valid until
   *       device_close().
   */
  vyre_status (*queue_export)(vyre_backend_device *device, vyre_native_handle *out_queue,
                              vyre_error *err);

  /* -------- tier 5: VYRE_CAP_SEQUENCES; all or none -------- */

  /*
   * [any] Records a sequence.  Starts nothing.  Owned by the caller until sequence_release(); until
   * then its kernels, their modules and its buffers stay.
   */
  vyre_status (*sequence_create)(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                 vyre_backend_sequence **out_sequence, vyre_error *err);

  /*
   * [any] Starts `times` replays, one after the other.
   *   SEQ-003  The handle is one of dispatch(): what BUF-004, DISP-020, DISP-030 to DISP-033,
   *            TIME-001 and TIME-002 say of a launch holds for all replays together.
   *            pending_read() is called with no slots.
   *   SEQ-004  May be called again while earlier replays are under way: all run, in the order of
   *            the calls.  0 times is VYRE_ERROR_INVALID_ARGUMENT.
   */
  vyre_status (*sequence_start)(vyre_backend_device *device, vyre_backend_sequence *sequence,
                                uint32_t times, vyre_backend_pending **out_pending,
                                vyre_error *err);

  /* [any] Its pending handles are released.  NULL is accepted. */
  void (*sequence_release)(vyre_backend_device *device, vyre_backend_sequence *sequence);
} vyre_backend;

/*
 * Sizes at ABI 0.1: the least that a reader accepts (ABI-001).  They end with the last field or
 * slot of that version and never change.
 */
#define VYRE__END(type, last) ((uint32_t)(offsetof(type, last) + sizeof(((type *)0)->last)))
#define VYRE_HOST_SIZE_0_1 VYRE__END(vyre_host, log)
#define VYRE_BACKEND_SIZE_0_1 VYRE__END(vyre_backend, coherent_alloc)
#define VYRE_BACKEND_DEVICE_INFO_SIZE_0_1 VYRE__END(vyre_backend_device_info, compiler_reason)
#define VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1 VYRE__END(vyre_backend_device_options, flags)
#define VYRE_BACKEND_FORMAT_SIZE_0_1 VYRE__END(vyre_backend_format, arch)
#define VYRE_MODULE_DESC_SIZE_0_1 VYRE__END(vyre_module_desc, name)
#define VYRE_COMPILE_DESC_SIZE_0_1 VYRE__END(vyre_compile_desc, name)
#define VYRE_BLOB_SIZE_0_1 VYRE__END(vyre_blob, size)
#define VYRE_KERNEL_INFO_SIZE_0_1 VYRE__END(vyre_kernel_info, workgroup_memory)
#define VYRE_BINDING_SIZE_0_1 VYRE__END(vyre_binding, element_count)
#define VYRE_DISPATCH_DESC_SIZE_0_1 VYRE__END(vyre_dispatch_desc, id_limit)
#define VYRE_SLOT_SIZE_0_1 VYRE__END(vyre_slot, size)
#define VYRE_BACKEND_TIMES_SIZE_0_1 VYRE__END(vyre_backend_times, wait_ns)
#define VYRE_NATIVE_MEMORY_SIZE_0_1 VYRE__END(vyre_native_memory, size)
#define VYRE_COHERENT_MEMORY_SIZE_0_1 VYRE__END(vyre_coherent_memory, device_address)
/* What 0.2 appended to, and what it brought. */
#define VYRE_BACKEND_SIZE_0_2 VYRE__END(vyre_backend, device_clock)
#define VYRE_BACKEND_DEVICE_INFO_SIZE_0_2 VYRE__END(vyre_backend_device_info, grid_sync_reason)
#define VYRE_BACKEND_TIMES_SIZE_0_2 VYRE__END(vyre_backend_times, ended_ns)
#define VYRE_PASSES_DESC_SIZE_0_2 VYRE__END(vyre_passes_desc, tested)
#define VYRE_DISPATCH_DESC_SIZE_0_3 VYRE__END(vyre_dispatch_desc, reserved)
#define VYRE_BACKEND_SIZE_0_3 VYRE__END(vyre_backend, sequence_release)
#define VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_3 VYRE__END(vyre_backend_device_options, queue)
#define VYRE_NATIVE_HANDLE_SIZE_0_3 VYRE__END(vyre_native_handle, handle)
#define VYRE_SEQUENCE_DESC_SIZE_0_3 VYRE__END(vyre_sequence_desc, step_stride)

/*
 * vyre_backend_query - the one symbol that a plugin exports, and the first call that it gets.
 *
 * [any] Stores the table in `*out_backend` and returns VYRE_OK.  Otherwise returns
 * VYRE_ERROR_ABI_MISMATCH with both sides' versions, or VYRE_ERROR_REFUSED with the reason;
 * `*out_backend` is then not written.
 *   ABI-020  VYRE_OK always comes with a table that is not NULL.
 *   ABI-021  Every call within one load returns the same table for the same versions.
 *   ABI-022  It is the table of the highest minor version within the host's range that the plugin
 *            speaks.
 *   ABI-023  The call touches no device and opens no vendor library.
 */
typedef vyre_status (*vyre_backend_query_fn)(const vyre_host *host,
                                             const vyre_backend **out_backend, vyre_error *err);
#define VYRE_BACKEND_QUERY_SYMBOL "vyre_backend_query"

#if defined(__GNUC__)
#define VYRE_BACKEND_EXPORT __attribute__((visibility("default")))
#else
#define VYRE_BACKEND_EXPORT
#endif

VYRE_BACKEND_EXPORT vyre_status vyre_backend_query(const vyre_host *host,
                                                   const vyre_backend **out_backend,
                                                   vyre_error *err);

/* Fills the version fields of a table: `{VYRE_BACKEND_HEADER, .name = …}`. */
#define VYRE_BACKEND_HEADER                                                                        \
  .struct_size = (uint32_t)sizeof(vyre_backend), .abi_major = VYRE_ABI_MAJOR,                      \
  .abi_minor = VYRE_ABI_MINOR, .header_version = VYRE_ABI_VERSION

#ifdef __cplusplus
}
#endif
#endif /* VYRE_BACKEND_H */
