/*
 * engine_bench.h - the parts of `vyre bench engine`.
 *
 *   bench_engine.c   the jobs by the engine, a loop, one launch, a dispatch each; the soak
 *   engine_bare.c    the same jobs by bare calls of the driver; one item; one dispatch
 */
#ifndef VYRE_BENCH_ENGINE_BENCH_H
#define VYRE_BENCH_ENGINE_BENCH_H

#include "bench/work.h"

#define ENGINE_JOB_BYTES 1024u

typedef struct engine_bench {
  bench_device device;
  vyre_buffer *input;
  vyre_buffer *sums;
  vyre_program *loop;
  vyre_program *job;
  vyre_engine *engine;
  vyre_work_item *items;
  vyre_completion *completions;
  uint32_t *expected;
  uint8_t *bytes;
  uint32_t jobs;
  uint32_t workers;
} engine_bench;

/* All jobs by the engine, every result checked: wall and processor seconds. */
vyre_status engine_run(engine_bench *run, double *out_seconds, double *out_cpu, vyre_error *err);

/*
 * Until the engine's launch has left the device: its idle workers would disturb what comes next,
 * and a launch that needs their room would wait for them.
 */
void engine_let_leave(const engine_bench *run);

/*
 * Rows of P1, P2 and P5: the engine and a dispatch beside bare calls, in turns.  None where no
 * module with bare calls of this device's vendor is.
 */
vyre_status engine_beside_bare(engine_bench *run, uint32_t rounds, bench_report *report,
                               vyre_error *err);

#endif
