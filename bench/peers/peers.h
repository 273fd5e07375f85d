/*
 * peers.h - a queue in the benchmark of the ring, and the module that brings other people's.
 *
 * The module libvyre_bench_peers.so is built for the benchmark only (VYRE_BENCH_PEERS=ON) and
 * opened at run time: neither libvyre nor the command depends on what it compares itself with.
 * Compiled as C and as C++.
 */
#ifndef VYRE_BENCH_PEERS_PEERS_H
#define VYRE_BENCH_PEERS_PEERS_H

#include "vyre.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_BATCH_MAX 32u

#define BENCH_LANE_RUN 0u
#define BENCH_LANE_STOP 1u  /* producers end after their batch */
#define BENCH_LANE_ABORT 2u /* everybody ends: the queue delivers no more */

/* One thread of a measurement.  The words behind pointers are shared: atomic accesses only. */
typedef struct bench_lane {
  void *queue;
  uint32_t batch;            /* items a call, 1 to BENCH_BATCH_MAX */
  uint32_t producer;         /* the number of this producer */
  const uint32_t *state;     /* BENCH_LANE_… */
  const uint32_t *producing; /* producers that have not ended */
  uint64_t items;            /* out: sent or received */
  uint64_t sum;              /* out: of them */
  uint64_t torn;             /* out: not 0 if an item was none that anybody sent */
} bench_lane;

typedef struct bench_contestant {
  const char *name;
  const char *about; /* version */
  /* A queue for `capacity` items or a few less; NULL without memory. */
  void *(*create)(uint32_t capacity);
  void (*destroy)(void *queue);
  /* Until told to stop; until no producer is left and the queue is empty.  See loop.h. */
  void (*produce)(bench_lane *lane);
  void (*consume)(bench_lane *lane);
} bench_contestant;

#define BENCH_PEERS_VERSION 1u
#define BENCH_PEERS_FILE "libvyre_bench_peers.so"
#define BENCH_PEERS_SYMBOL "vyre_bench_peers"

typedef struct bench_peers {
  uint32_t version; /* BENCH_PEERS_VERSION */
  uint32_t count;
  const bench_contestant *const *contestants;
} bench_peers;

/* The one symbol of the module. */
__attribute__((visibility("default"))) const bench_peers *vyre_bench_peers(void);

#ifdef __cplusplus
}
#endif

#endif
