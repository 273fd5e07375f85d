/*
 * bare.h - what the files of this folder share: one card, its stream, its kernels.
 *
 * Every call of the module makes the card's primary context current and takes it off again, so that
 * vyre's plugin in the same process is not disturbed, and does what it does on one stream.
 */
#ifndef VYRE_BENCH_CUDA_BARE_H
#define VYRE_BENCH_CUDA_BARE_H

#include "bench/peers/bare.h"
#include "plugins/cuda/library.h"

#define BARE_GROUP 256u /* threads of a block */

/* Kernels of kernels.cu. */
typedef enum bare_kernel {
  BARE_JOBS,
  BARE_JOB,
  BARE_PING,
  BARE_NOTHING,
  BARE_FORWARD,
  BARE_BACKWARD,
  BARE_LOOP,
  BARE_KERNELS
} bare_kernel;

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

typedef struct bare {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUstream stream;
  CUevent event;
  CUfunction kernels[BARE_KERNELS];
  int units;
  char about[160];

  /* jobs.c */
  uint32_t jobs, job_bytes;
  CUdeviceptr input, items, sums;
  void *pinned_items, *pinned_sums;

  /* ping.c: words of pinned memory, a line apart */
  void *words;

  /* steps.c */
  uint32_t count;
  CUdeviceptr first, a, b, arrived;
  CUgraph graph;
  CUgraphExec exec;
  uint32_t segments, passes; /* of the graph */
} bare;

/* Keeps what failed; returns `code`. */
int bare_fail(const char *what, int code);
#define BARE_TRY(call)                                                                             \
  do {                                                                                             \
    const int code_ = (int)(call);                                                                 \
    if (code_)                                                                                     \
      return bare_fail(#call, code_);                                                              \
  } while (0)

double bare_now(void); /* monotonic seconds */

int bare_launch(bare *self, bare_kernel kernel, uint32_t groups, uint32_t threads,
                void **arguments);

/* Gives memory back if there is any, and forgets it. */
void bare_free(CUdeviceptr *memory);
void bare_free_host(void **memory);

/* Run with the context current. */
int bare_jobs_open(bare *self, const void *bytes, uint32_t jobs, uint32_t job_bytes);
int bare_jobs_run(bare *self, uint32_t form, uint32_t *out_sums);
void bare_jobs_close(bare *self);
int bare_ping(bare *self, uint32_t count, int work, double *out_ns);
int bare_launch_and_wait(bare *self, uint32_t count, double *out_ns);
int bare_launch_cost(bare *self, uint32_t count, double *out_ns);
void bare_ping_close(bare *self);
int bare_steps_open(bare *self, const uint32_t *first, uint32_t words);
int bare_steps_renew(bare *self);
int bare_steps_run(bare *self, uint32_t form, uint32_t segments, uint32_t passes);
int bare_steps_read(bare *self, uint32_t which, uint32_t *out_words);
void bare_steps_close(bare *self);
int bare_copy(bare *self, uint32_t kind, uint64_t bytes, uint32_t times, double *out_seconds);

#endif
