/* list.h - the contestants of the module. */
#ifndef VYRE_BENCH_PEERS_LIST_H
#define VYRE_BENCH_PEERS_LIST_H

#include "bench/peers/peers.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bench_contestant bench_peer_ck, bench_peer_rte_mt, bench_peer_rte_rts,
    bench_peer_rte_hts, bench_peer_boost;

#ifdef __cplusplus
}
#endif

#endif
