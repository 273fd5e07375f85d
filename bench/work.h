/*
 * work.h - checksum.c on a device: programs and handlers made of its text, and a context to make
 * them in.  Shared by the benchmarks.
 */
#ifndef VYRE_BENCH_WORK_H
#define VYRE_BENCH_WORK_H

#include "bench/bench.h"

/* checksum.c's push constants. */
typedef struct bench_push {
  uint32_t jobs;
  uint32_t job_bytes;
  uint32_t first;
  uint32_t parts;
} bench_push;

typedef struct bench_device {
  vyre_context *context;
  vyre_device *device;
  vyre_device_info info;
} bench_device;

/* `err` says which `what` failed; returns the code. */
static inline vyre_status bench_fail(vyre_error *err, vyre_status code, const char *what)
{
  if (err) {
    err->code = code;
    snprintf(err->message, sizeof err->message, "%s: %s", what, vyre_status_text(code));
    snprintf(err->fix, sizeof err->fix, "%s", vyre_status_fix(code));
  }
  return code;
}

/* `selector` may be NULL: "cpu".  Close it in any case. */
vyre_status bench_device_open(bench_device *device, const char *selector, vyre_error *err);
void bench_device_close(bench_device *device);

/* `kernel` is "job" or "loop"; the buffers are `input` and `sums`. */
vyre_status bench_program(vyre_device *device, const char *kernel, uint32_t jobs,
                          uint32_t job_bytes, vyre_program **out_program, vyre_error *err);

/* An engine with the one handler, as rule set 0. */
vyre_status bench_start_engine(vyre_device *device, const vyre_engine_options *options,
                               vyre_engine **out_engine, vyre_error *err);

#endif
