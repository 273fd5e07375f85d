/*
 * vyre_types.h - the words that applications and plugins share: access, device classes,
 * capabilities, times.  Comes with `vyre.h` and with `vyre_backend.h`; include one of those.
 */
#ifndef VYRE_TYPES_H
#define VYRE_TYPES_H

#include "vyre_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No time limit, wherever a timeout in nanoseconds is taken. */
#define VYRE_NO_TIMEOUT UINT64_MAX

/* What a program or a segment does with a buffer. */
typedef uint32_t vyre_access;
#define VYRE_READ_ONLY 0u
#define VYRE_READ_WRITE 1u
#define VYRE_WRITE_ONLY 2u
#define VYRE_WORKGROUP 3u

/* What kind of processor a device is. */
typedef uint32_t vyre_device_class;
#define VYRE_DEVICE_CPU 1u
#define VYRE_DEVICE_GPU 2u
#define VYRE_DEVICE_INTEGRATED_GPU 3u
#define VYRE_DEVICE_OTHER 4u

/*
 * Capability bits: promises about the opened device.  A bit that is not set means "no".
 *   CAP-001  A set bit is kept by every opened device with that info.
 *   CAP-002  The bits of device_info do not change between two calls or two opens.  One may go, for
 *            good: VYRE_CAP_PERSISTENT, when a process opens the device for the first time and the
 *            plugin finds by trying that it cannot be kept.  persistent_reason then says why, and
 *            the host asks once more after each open.
 */
#define VYRE_CAP_BUFFERS (1ull << 0)       /* tier 2: resident buffers */
#define VYRE_CAP_IMPORT_EXPORT (1ull << 1) /* buffer_import and buffer_export */
#define VYRE_CAP_COHERENT (1ull << 2)      /* tier 4: host-coherent memory */
#define VYRE_CAP_PERSISTENT (1ull << 3)    /* tier 4: persistent launches beside ordinary ones */
/*
 * vyre_notify_host() wakes host threads that sleep on a word of coherent memory.  A device without
 * it still has the word in its prelude, as nothing, with VYRE_CAN_NOTIFY 0: the host then looks at
 * such words by itself, and nothing else is missing.
 */
#define VYRE_CAP_NOTIFY_HOST (1ull << 4)
#define VYRE_CAP_COMPILER (1ull << 5)  /* takes `vyre-c` and has a compiler at hand now */
#define VYRE_CAP_SUBGROUPS (1ull << 6) /* subgroup words work; subgroup_size is set */
/* Opening, loading, allocating and freeing never wait for a persistent launch to end. */
#define VYRE_CAP_ALLOC_WHILE_RESIDENT (1ull << 7)
#define VYRE_CAP_TIMESTAMPS (1ull << 8)   /* tier 5: start and end of each launch, device_clock() */
#define VYRE_CAP_INTEROP (1ull << 9)      /* tier 5: the vendor's own events and queue */
#define VYRE_CAP_SEQUENCES (1ull << 10)   /* tier 5: recorded sequences of launches */
#define VYRE_CAP_KNOWN ((1ull << 11) - 1) /* every bit above */

/* Forward progress of the groups of one launch. */
typedef uint32_t vyre_progress;
#define VYRE_PROGRESS_NONE 0u       /* nothing is promised */
#define VYRE_PROGRESS_OCCUPANCY 1u  /* a group that has started keeps making progress */
#define VYRE_PROGRESS_CONCURRENT 2u /* every group starts and makes progress at last */

/* Whether all groups of one launch can meet at a barrier (tier 3). */
typedef uint32_t vyre_grid_sync;
#define VYRE_GRID_SYNC_NONE 0u /* the core runs one launch a segment */
#define VYRE_GRID_SYNC_EMULATED                                                                    \
  1u                             /* the plugin runs all segments and passes by a form of its own */
#define VYRE_GRID_SYNC_NATIVE 2u /* cooperative launches: all groups are resident at once */

/* Operations that are valid at system scope in coherent memory (`coherent_atomics`). */
#define VYRE_COHERENT_LOAD_STORE_32 (1u << 0)
#define VYRE_COHERENT_LOAD_STORE_64 (1u << 1)
#define VYRE_COHERENT_RMW_32 (1u << 2) /* the core never needs the two RMW bits */
#define VYRE_COHERENT_RMW_64 (1u << 3)

#define VYRE_DEVICE_NAME_SIZE 128
#define VYRE_DEVICE_ID_SIZE 64
#define VYRE_DEVICE_REASON_SIZE 256

/*
 * Things of the vendor's own that an application and a plugin lend each other, so that data which
 * is on the device already is not copied.
 */
typedef uint32_t vyre_native_type;
#define VYRE_NATIVE_HOST_POINTER 1u   /* memory: a host address that the device can use */
#define VYRE_NATIVE_DEVICE_POINTER 2u /* memory: CUdeviceptr, hipDeviceptr_t */
#define VYRE_NATIVE_OPENCL_MEMORY 3u  /* memory: cl_mem */
#define VYRE_NATIVE_CUDA 16u          /* CUevent, CUstream */
#define VYRE_NATIVE_HIP 17u           /* hipEvent_t, hipStream_t */
#define VYRE_NATIVE_OPENCL 18u        /* cl_event, cl_command_queue */
#define VYRE_NATIVE_OTHER 0x10000u    /* and above: a vendor's that has no number here yet */

typedef struct vyre_native_memory {
  uint32_t struct_size;
  vyre_native_type type; /* one of memory */
  uint64_t handle;       /* address or handle */
  uint64_t size;         /* bytes */
} vyre_native_memory;

/* An event or a queue.  `handle` 0 is none. */
typedef struct vyre_native_handle {
  uint32_t struct_size;
  vyre_native_type type;
  uint64_t handle;
} vyre_native_handle;

/* A time in nanoseconds that the device or plugin does not measure. */
#define VYRE_TIME_ABSENT UINT64_MAX

/* How the plugin was built: a host without this runtime must not open it. */
typedef uint32_t vyre_sanitizer;
#define VYRE_SANITIZER_NONE 0u
#define VYRE_SANITIZER_ADDRESS 1u
#define VYRE_SANITIZER_THREAD 2u
#define VYRE_SANITIZER_MEMORY 3u

#ifdef __cplusplus
}
#endif
#endif /* VYRE_TYPES_H */
