/*
 * runner.h - what a thread needs to run groups: workgroup memory, fibers, a way out of a fault.
 * One thread uses a runner at a time.
 */
#ifndef VYRE_CPU_RUNNER_H
#define VYRE_CPU_RUNNER_H

#include "fiber.h"
#include "launch.h"

#include <setjmp.h>

/* Fibers that runners keep between launches, and that one launch may use, over all threads: two
   mappings each, well under the system's 65530 for a process. */
#define VYRE__CPU_FIBER_BUDGET 12288u

/* One item of a group that runs as a fiber. */
typedef struct vyre__cpu_item {
  vyre_ctx context;
  struct vyre__cpu_runner *runner;
  vyre__cpu_fiber *fiber;
} vyre__cpu_item;

typedef struct vyre__cpu_runner {
  const vyre_host *host;
  vyre_backend_pending *launch; /* the one that it runs */
  void *bindings[VYRE__CPU_MAX_BINDINGS];
  /* What items run: the launch's own, or a segment of the fused launch. */
  const vyre_native_entry *entry;
  void *const *entry_bindings;
  char *local; /* workgroup memory */
  uint64_t local_capacity;
  vyre__cpu_item **items; /* VYRE__CPU_MAX_ITEMS places, filled as needed */
  uint32_t item_count;
  uint32_t keep; /* fibers to keep when a launch is over */
  vyre__cpu_item *current;
  bool faulted;
  vyre__cpu_home home;
  jmp_buf way_out; /* of a fault outside fibers */
} vyre__cpu_runner;

/* Zeroes it; `sharers` runners share the budget of fibers. */
void vyre__cpu_runner_init(vyre__cpu_runner *runner, const vyre_host *host, uint32_t sharers);
void vyre__cpu_runner_deinit(vyre__cpu_runner *runner);

/* Takes groups of the launch until none is left or it has failed. */
void vyre__cpu_runner_run(vyre__cpu_runner *runner, vyre_backend_pending *launch);

/* Runs exactly the group `group`. */
void vyre__cpu_runner_run_group(vyre__cpu_runner *runner, vyre_backend_pending *launch,
                                uint64_t group);

/* The runner that this thread is in, for callbacks that have no context. */
extern _Thread_local vyre__cpu_runner *vyre__cpu_running;

/* The runner of the item that `c` names. */
#define VYRE__CPU_RUNNER(c) ((vyre__cpu_runner *)(c)->runner)

/* The words of vyre_native_runtime that need no runner (runtime.c). */
extern const vyre_native_runtime vyre__cpu_runtime;

/* The words that do. */
void vyre__cpu_runner_barrier(vyre_ctx *c);
void vyre__cpu_runner_groups(const vyre_ctx *c, const vyre_native_entry *entry,
                             void *const *bindings, vyre_u64 first, vyre_u64 count);
void vyre__cpu_grid_barrier(vyre_ctx *c, vyre_u32 *control); /* grid.c */

/* "kernel NAME", in a fused launch with the segment's name and the pass.  `c` may be NULL. */
#define VYRE__CPU_PLACE_SIZE 160u
void vyre__cpu_runner_place(const vyre__cpu_runner *runner, const vyre_ctx *c,
                            char out_text[VYRE__CPU_PLACE_SIZE]);

/* Ends this thread's part of the launch. */
_Noreturn void vyre__cpu_runner_leave(vyre__cpu_runner *runner);

#endif
