/* ring_peers.c - opens the module with other people's queues. */
#include "bench/module.h"
#include "bench/ring_bench.h"

static const bench_module_kind kind = {
    BENCH_PEERS_FILE, BENCH_PEERS_SYMBOL,
    "build it with VYRE_BENCH_PEERS=ON; scripts/bench-ring does"};

vyre_status ring_peers_open(const char *path, ring_peers *out_peers, vyre_error *err)
{
  const void *table;
  const vyre_status status = bench_module_open(&kind, path, &out_peers->module, &table, err);
  out_peers->list = table;
  if (status == VYRE_OK && table && out_peers->list->version != BENCH_PEERS_VERSION) {
    ring_peers_close(out_peers);
    return bench_module_refuse(&kind, path, "it is not the module of this version", err);
  }
  return status;
}

void ring_peers_close(ring_peers *peers)
{
  bench_module_close(peers->module);
  *peers = (ring_peers){NULL, NULL};
}
