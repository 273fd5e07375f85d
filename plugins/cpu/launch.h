/*
 * launch.h - one launch, or the replays of a sequence: what the host knows as a pending handle.
 *
 * Made by dispatch.c in one block of memory, or by sequence.c; run by pool.c (ordinary) or
 * persistent.c, read and released by pending.c.
 */
#ifndef VYRE_CPU_LAUNCH_H
#define VYRE_CPU_LAUNCH_H

#include "vyre_backend.h"
#include "vyre_kernel.h"

#include <stdbool.h>

/* As many buffers as a program may have, their shadow and the control words. */
#define VYRE__CPU_MAX_BINDINGS 66u
#define VYRE__CPU_MAX_ITEMS 1024u
#define VYRE__CPU_MAX_PUSH 1024u
#define VYRE__CPU_MAX_LOCAL_BYTES (256u * 1024u)
#define VYRE__CPU_MAX_IDS 65536u
#define VYRE__CPU_MAX_GROUPS_X 0x7fffffffu
#define VYRE__CPU_MAX_GROUPS_YZ 65535u
#define VYRE__CPU_MAX_PERSISTENT_GROUPS 1024u

/* The bytes of a HOST binding that may be written: what pending_read() copies out. */
typedef struct vyre__cpu_output {
  uint32_t id;
  const void *data;
  uint64_t size;
} vyre__cpu_output;

/*
 * What runs: one launch of a kernel.  Constant once it is made, in a block of its own (a step of a
 * sequence) or behind the pending handle of the launch.
 */
typedef struct vyre__cpu_step {
  const vyre_native_entry *entry;
  const char *kernel_name; /* the module's */
  vyre_ctx context;        /* everything but ids and runner */
  void **bindings;         /* NULL where `local` says workgroup memory */
  uint64_t *local;         /* bytes of workgroup memory by binding, else 0 */
  uint32_t binding_count;
  uint32_t items;       /* of a group */
  uint64_t local_bytes; /* of one group, in all, each binding rounded up to 64 */
  uint64_t group_count;
  uint64_t chunk; /* groups that a runner takes at once */
  uint32_t max_runners;
  uint32_t spins; /* looks at the grid barrier before a group sleeps there */
  bool is_small;  /* less work than waking a thread, and it waits for nobody */
} vyre__cpu_step;

struct vyre_backend_pending {
  vyre_backend_device *device;

  /* Constant once it is queued. */
  const char *kernel_name; /* of the launch, of a sequence's first step */
  vyre__cpu_output *outputs;
  uint32_t output_count;
  bool persistent;
  bool cooperative;                    /* every group has a thread of its own at the same time */
  const vyre_backend_sequence *replay; /* NULL: one launch */
  uint32_t times;                      /* replays of it */

  /* Changes between the steps of a sequence, under the device's lock and with no runner. */
  const vyre__cpu_step *step; /* the one that runs; of one launch always the same */
  uint32_t step_index, round; /* of the sequence; the replay, from 0 */

  bool run_inline;
  uint64_t next_group; /* atomic: the first group that nobody has taken */
  uint32_t failed;     /* atomic: a group failed, the others need not start */
  uint32_t done;       /* atomic: ended; all results are visible to whoever acquires it */
  uint32_t sleepers;   /* atomic: groups that sleep in the grid barrier, or are about to */

  /* Under the device's lock. */
  vyre_backend_pending *next; /* in the queue */
  uint64_t sequence;          /* place in the queue's order, from 1 */
  uint32_t runners;           /* threads in it */
  vyre_error error;           /* the first one; code VYRE_OK without */

  uint64_t enqueue_ns; /* how long the call of dispatch() took before it was queued */
  uint64_t queued_ns, started_ns, ended_ns; /* clock */
};

/* Zeroes a handle of that device, with no error. */
void vyre__cpu_launch_init(vyre_backend_pending *launch, vyre_backend_device *device);

/* Keeps the first error of a launch and stops the rest of it.  Any thread. */
__attribute__((format(printf, 5, 6))) void vyre__cpu_launch_fail(vyre_backend_pending *launch,
                                                                 vyre_status code, int line,
                                                                 const char *fix,
                                                                 const char *format, ...);

/* The device's lock is held: marks the launch as ended and wakes whoever waits. */
void vyre__cpu_launch_end(vyre_backend_pending *launch);

/* Sleeps until it has ended; TIMEOUT after `timeout_ns`. */
bool vyre__cpu_launch_wait(vyre_backend_pending *launch, uint64_t timeout_ns);

#endif
