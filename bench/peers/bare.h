/*
 * bare.h - the same work by bare calls of a vendor's driver, and the module that brings it.
 *
 * What vyre is held against on a GPU: kernels and calls that somebody writes by hand for one card.
 * The module libvyre_bench_cuda.so (bench/cuda) is opened at run time where the device is of that
 * vendor; neither libvyre nor the command depends on it.  All calls come from one thread, return 0
 * or the driver's own code, and `reason()` says what the last one that failed was about.
 */
#ifndef VYRE_BENCH_PEERS_BARE_H
#define VYRE_BENCH_PEERS_BARE_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_BARE_VERSION 1u
#define BENCH_BARE_FILE "libvyre_bench_cuda.so"
#define BENCH_BARE_SYMBOL "vyre_bench_bare"

/* Ways to run the jobs of checksum.c, all of whose bytes are in device memory. */
#define BENCH_BARE_BATCHED 0u   /* one launch; what to do goes there, results come back */
#define BENCH_BARE_PIPELINED 1u /* a launch a job, nobody waits between them */
#define BENCH_BARE_WAITED 2u    /* a launch a job, each waited for */
#define BENCH_BARE_JOB_FORMS 3u

/* Ways to run the steps of gridsync_words.c. */
#define BENCH_BARE_LOOP 0u     /* one cooperative launch with a barrier between the steps */
#define BENCH_BARE_GRAPH 1u    /* a graph of a pass, launched again and again */
#define BENCH_BARE_LAUNCHES 2u /* a launch a step */
#define BENCH_BARE_STEP_FORMS 3u

/* Ways to move bytes. */
#define BENCH_BARE_UP 0u     /* pinned host memory to the device */
#define BENCH_BARE_DOWN 1u   /* and back */
#define BENCH_BARE_ACROSS 2u /* within the device; each byte is read and written */
#define BENCH_BARE_COPIES 3u

typedef struct bench_bare {
  uint32_t version; /* BENCH_BARE_VERSION */
  uint32_t reserved;
  const char *name; /* "cuda": what selectors of its devices begin with */

  /* The card of that index.  Close it in any case. */
  int (*open)(uint32_t index, void **out_self);
  void (*close)(void *self);
  const char *(*about)(void *self);  /* driver and compiler */
  const char *(*reason)(void *self); /* `self` may be NULL */

  /* `bytes` (jobs * job_bytes of them) go to the device, once.  Another call replaces them. */
  int (*jobs_open)(void *self, const void *bytes, uint32_t jobs, uint32_t job_bytes);
  /* All jobs in one of the ways, and their sums. */
  int (*jobs_run)(void *self, uint32_t form, uint32_t *out_sums);

  /*
   * `count` times a word from the host to a kernel that waits for it and back, in nanoseconds each.
   * With `work` the kernel also does one job, whose bytes are on the device, before it answers.
   */
  int (*ping)(void *self, uint32_t count, int work, double *out_ns);
  /* The same as launch and synchronise. */
  int (*launch_and_wait)(void *self, uint32_t count, double *out_ns);
  /* Nanoseconds on the host of a launch and the record of an event behind it. */
  int (*launch_cost)(void *self, uint32_t count, double *out_ns);

  /* `words` of them, an even number, from which every run begins. */
  int (*steps_open)(void *self, const uint32_t *first, uint32_t words);
  /* Not measured: the words as they were. */
  int (*steps_renew)(void *self);
  /* `passes` of `segments` steps; returns when all are done. */
  int (*steps_run)(void *self, uint32_t form, uint32_t segments, uint32_t passes);
  /* The words of a or b (which = 0 or 1). */
  int (*steps_read)(void *self, uint32_t which, uint32_t *out_words);

  /* Seconds of moving `bytes`, `times` times in a row. */
  int (*copy)(void *self, uint32_t kind, uint64_t bytes, uint32_t times, double *out_seconds);
} bench_bare;

/* The one symbol of the module. */
__attribute__((visibility("default"))) const bench_bare *vyre_bench_bare(void);

#endif
