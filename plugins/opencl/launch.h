/*
 * launch.h - one launch: what the host knows as a pending handle.
 *
 * Made and queued by launch.c, waited for, read and released by pending.c.
 */
#ifndef VYRE_OPENCL_LAUNCH_H
#define VYRE_OPENCL_LAUNCH_H

#include "device.h"

/*
 * The words of a launch, a kernel's first argument; prelude.cl reads them.  A head of four words,
 * the offset of each binding in its buffer, the counts by id, the push constants.
 */
#define VYRE__OPENCL_WORD_COUNTS 0 /* number of the word in which the counts begin */
#define VYRE__OPENCL_WORD_PUSH 1   /* and the push constants: an even one */
#define VYRE__OPENCL_WORD_TICK 2   /* nanoseconds of a tick of the clock, times 2^32 */
#define VYRE__OPENCL_WORD_OFFSETS 4
#define VYRE__OPENCL_MOST_WORDS                                                                    \
  (VYRE__OPENCL_WORD_OFFSETS + VYRE__OPENCL_MAX_BINDINGS + VYRE_BINDING_IDS + 1u +                 \
   VYRE__OPENCL_MAX_PUSH / 8u)

typedef struct vyre__opencl_words {
  uint32_t count; /* 0: none */
  uint64_t word[VYRE__OPENCL_MOST_WORDS];
} vyre__opencl_words;

/*
 * Debug builds: the record of the first bad index, a kernel's second argument.  Behind it lies room
 * that is read and written instead of what is outside.
 */
typedef struct vyre__opencl_fault {
  uint32_t taken;
  uint32_t line;
  uint32_t index[2]; /* low half first */
  uint32_t count[2];
  uint32_t pad[2];
  char name[64];
} vyre__opencl_fault;
#define VYRE__OPENCL_FAULT_BYTES 4096u

/* A HOST binding that may be written: what pending_read() copies out. */
typedef struct vyre__opencl_output {
  uint32_t id;
  cl_mem memory;
  uint64_t size;
} vyre__opencl_output;

struct vyre_backend_pending {
  vyre_backend_device *device;
  const vyre_backend_kernel *kernel;
  cl_event launch; /* the kernel */
  cl_event last;   /* what has to end: the kernel, or in debug builds the copy of the record */
  cl_mem record;   /* debug builds */
  cl_int trouble;  /* what failed behind the kernel: it runs, and the wait tells (DISP-032) */
  vyre__opencl_fault fault;
  cl_mem *memories; /* of HOST bindings, NULL for others; owned */
  uint32_t binding_count;
  uint32_t output_count;
  vyre__opencl_output *outputs;
  uint64_t enqueue_ns; /* how long the call of dispatch() took */
};

/* Gives back what the launch holds of the vendor's and the host's; it has ended, or never began. */
void vyre__opencl_launch_drop(vyre_backend_pending *launch);

#endif
