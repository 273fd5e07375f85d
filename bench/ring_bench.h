/*
 * ring_bench.h - the parts of `vyre bench ring`.
 *
 *   bench_ring.c   cells, rounds, verdicts
 *   ring_cell.c    one queue measured once: threads, delivered sums
 *   ring_floor.c   the ping-pong of a cache line, and the hand-off of one item
 *   ring_ours.c    vyre's ring as a contestant
 *   ring_peers.c   opens the module with the others
 *   ring_soak.c    the ring against itself: nothing lost, doubled, torn or done early; its threads
 *                  are in ring_soak_work.c
 */
#ifndef VYRE_BENCH_RING_BENCH_H
#define VYRE_BENCH_RING_BENCH_H

#include "bench/bench.h"
#include "bench/peers/peers.h"

#define RING_PLACES 1024u
#define RING_SIDE_MAX 4u /* producers, and as many consumers */

/* Processors that this process may use; thread `index` of `threads` gets its own if they do. */
uint32_t ring_processors(void);
void ring_pin(uint32_t index, uint32_t threads);

/* ---- ring_ours.c ---- */

/*
 * Row A: completion and waiting off, as the peers have neither.  Row B: both on; items are marked
 * done by their tickets, or by the span that describes what came.
 */
extern const bench_contestant ring_row_a, ring_row_a_again, ring_row_b, ring_row_b_span;

/* ---- ring_peers.c ---- */

typedef struct ring_peers {
  void *module;
  const bench_peers *list; /* NULL: there are none */
} ring_peers;

/* `path` NULL: beside this program, and then it is no error if there is none. */
vyre_status ring_peers_open(const char *path, ring_peers *out_peers, vyre_error *err);
void ring_peers_close(ring_peers *peers);

/* ---- ring_cell.c ---- */

typedef struct ring_cell {
  uint32_t side; /* producers, and as many consumers */
  uint32_t batch;
} ring_cell;

typedef struct ring_sample {
  double rate;       /* items a second */
  const char *wrong; /* what the queue did to its items, or NULL */
} ring_sample;

vyre_status ring_measure(const bench_contestant *contestant, const ring_cell *cell, uint32_t ms,
                         ring_sample *out_sample, vyre_error *err);

/* ---- ring_floor.c ---- */

/* Seconds from a store until the other processor sees it. */
vyre_status ring_ping_pong(double *out_seconds, vyre_error *err);
/* Seconds from an enqueue until the item is claimed on the other side, one item in flight. */
vyre_status ring_hand_off(double *out_seconds, vyre_error *err);
/* True if the two differ by more than the noise that a round may have. */
bool ring_moved(double before, double after);

/* ---- ring_soak.c ---- */

vyre_status ring_soak(const bench_options *options, bench_report *report, vyre_error *err);

/* ---- */

/* Fills `err` with "WHAT: text of the code" and a fix. */
vyre_status ring_fail(vyre_error *err, vyre_status code, const char *what);

#endif
