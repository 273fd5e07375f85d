/*
 * fake_control.h - a CUDA driver for tests that runs on the host alone: what it recorded, what it
 * found wrong, and how to make it fail.
 *
 * The library is a `libcuda.so.1` (and a `libnvrtc.so.13`) of our own: it has every entry point of
 * plugins/cuda/entry_points.def.  Device memory is host memory under addresses that the host cannot
 * touch, streams run in order on a thread each, kernels are C functions found by name
 * (fake_kernels.c). A test opens the file that the plugin opens, and finds the table below by
 * dlsym("fake_cuda_control_symbol").
 *
 * In the environment, read by the first call: VYRE_FAKE_CUDA_VERSION (cuDriverGetVersion),
 * VYRE_FAKE_CUDA_INIT (what cuInit returns), VYRE_FAKE_CUDA_DEVICES, VYRE_FAKE_CUDA_FAIL
 * ("NAME:NTH:CODE", as fail() takes them; NAME may be *).
 */
#ifndef VYRE_TESTS_FAKE_CONTROL_H
#define VYRE_TESTS_FAKE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* A launch as it came in. */
typedef struct fake_launch_record {
  char name[128];
  uint32_t groups[3], workgroup[3], workgroup_memory;
  bool cooperative, finished;
  uint32_t parameters; /* addresses; the launch structure is one more */
  uint64_t addresses[32];
  uint64_t stream; /* the number of the stream, from 1 */
  uint64_t graph;  /* the number of the exec whose node it was, 0 for none */
} fake_launch_record;

typedef struct fake_cuda_control {
  /* Forgets records, faults, plans and handles that were given back, and puts the devices back.
     Resources stay.  No other thread is in the driver. */
  void (*reset)(void);

  /* -------- calls -------- */
  /* The plain name of entry point `i`, NULL past the last. */
  const char *(*entry_name)(uint32_t i);
  /* Calls of it since reset(), all of them for NULL. */
  uint64_t (*calls)(const char *name);
  /* Lines like "cuMemAlloc 64", the oldest first; NULL past the last. */
  const char *(*line)(uint64_t i);
  const fake_launch_record *(*launch)(uint64_t i);

  /*
   * -------- faults: what a caller must never do --------
   * Without the right context current, a handle that is not or no longer valid, the default stream,
   * a pageable asynchronous copy, a stream that is not non-blocking, a call that waits for the
   * device while a resident kernel runs, code first touched meanwhile, a context released with
   * live objects in it, a node that does not wait for the one before it, a graph that runs and
   * was not uploaded before.
   */
  uint64_t (*faults)(void);
  const char *(*fault)(uint64_t i);

  /* -------- resources -------- */
  /* Of a kind: "context" (retained), "memory", "host", "pool", "stream", "event", "module",
     "graph", "exec"; of all for NULL. */
  uint64_t (*live)(const char *kind);
  /* Contexts on this thread's stack. */
  uint32_t (*depth)(void);

  /* -------- failures -------- */
  /* The nth call of `name` (of any for NULL), counted from now, returns `code` and does nothing. A
     code that kills the context does.  A failed destroy still counts as one.  0 ends the plan. */
  void (*fail)(const char *name, uint64_t nth, int32_t code);
  bool (*failed)(void);
  /* The next launch ends with this code. */
  void (*kernel_fails)(int32_t code);

  /* -------- the machine -------- */
  void (*set_attribute)(uint32_t device, uint32_t attribute, int32_t value);
  /* Work put on streams starts only at release, or when somebody waits for it:
     in a call, or by asking for an event for a fifth of a second. */
  void (*hold)(bool held);
  /* Calls return before their work has run (false: after, where nothing stands before it). */
  void (*set_deferred)(bool deferred);
  /* Groups of any kernel on one multiprocessor; 0: by its threads and its memory. */
  void (*set_occupancy)(uint32_t groups);
  uint32_t (*resident)(void); /* resident kernels that run now */
} fake_cuda_control;

/* The same for NVRTC: dlsym("fake_nvrtc_control_symbol"). */
typedef struct fake_nvrtc_control {
  void (*reset)(void);
  uint64_t (*calls)(const char *name);
  void (*fail)(const char *name, uint64_t nth, int32_t code);
  bool (*failed)(void);
  uint64_t (*programs)(void);       /* that live */
  const char *(*options)(void);     /* of the last compile, a blank after each */
  void (*set_arch_limit)(uint32_t); /* knows no architecture above it: 90, … */
} fake_nvrtc_control;

#endif
