/*
 * recording.h - sequences for cases: steps put together, recorded, replayed; three buffers that are
 * mixed around in a circle, and what they come to.
 */
#ifndef VYRE_CONFORMANCE_RECORDING_H
#define VYRE_CONFORMANCE_RECORDING_H

#include "conformance/buffers.h"

#define RECORDING_STEPS 300u

typedef struct recording {
  conform_launch steps[RECORDING_STEPS];
  struct {
    vyre_dispatch_desc desc;
    uint64_t more[2]; /* the stride is the caller's */
  } descs[RECORDING_STEPS];
  vyre_sequence_desc desc;
} recording;

/* No step yet. */
void recording_init(recording *r);
/* One step more: `groups` x `items` in dimension 0, bindings are to be added. */
conform_launch *recording_add(recording *r, vyre_backend_kernel *kernel, uint32_t groups,
                              uint32_t items);
/* Copies the steps to where the descriptor points. */
void recording_lay(recording *r);
/* Lays, creates, and overwrites the array of steps. */
vyre_backend_sequence *recording_make(conform *c, recording *r);

vyre_backend_pending *sequence_start(conform *c, vyre_backend_sequence *sequence, uint32_t times);
/* Starts, waits, reads, releases the handle. */
void sequence_run(conform *c, vyre_backend_sequence *sequence, uint32_t times);
void sequence_release(conform *c, vyre_backend_sequence *sequence);

#define CIRCLE_MOST 70000u

/* Step s mixes buffer s % 3 into the next one (buffer.c, "mix"): each reads what the last wrote. */
typedef struct circle {
  uint32_t n, steps;
  vyre_backend_buffer *buffers[3];
  uint32_t words[3][CIRCLE_MOST];
  uint32_t push[RECORDING_STEPS][2];
} circle;

void circle_begin(conform *c, circle *g, uint32_t n);
/* Records one step more, with push constants of its own. */
void circle_add(conform *c, circle *g, recording *r, uint32_t items);
/* One launch from buffer `from` to the next one, by push constants of step `push`. */
void circle_launch(conform *c, circle *g, conform_launch *launch, uint32_t from, uint32_t push);
/* What the host's words come to: one such launch; all steps so many times. */
void circle_mix(circle *g, uint32_t from, uint32_t push);
void circle_replay(circle *g, uint32_t times);
/* All three buffers hold the words of the host. */
void circle_expect(conform *c, circle *g, const char *what);
/* Sequences of so many steps; `slow` waits in a first step, which changes buffer 0. */
vyre_backend_sequence *circle_fast(conform *c, circle *g, recording *r, uint32_t steps);
vyre_backend_sequence *circle_slow(conform *c, circle *g, recording *r, uint64_t ns);
void circle_replay_slow(circle *g, uint32_t times);
/* A launch that waits likewise, started; the host's words follow. */
vyre_backend_pending *circle_launch_slow(conform *c, circle *g, uint64_t ns);
void circle_end(conform *c, circle *g);

#endif
