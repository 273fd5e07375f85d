/* peers.c - the module's list. */
#include "bench/peers/list.h"

const bench_peers *vyre_bench_peers(void)
{
  static const bench_contestant *const all[] = {&bench_peer_ck, &bench_peer_rte_mt,
                                                &bench_peer_rte_rts, &bench_peer_rte_hts,
                                                &bench_peer_boost};
  static const bench_peers peers = {BENCH_PEERS_VERSION, sizeof all / sizeof all[0], all};
  return &peers;
}
