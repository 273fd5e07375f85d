/*
 * bare_peer.h - the module with bare calls (bench/peers/bare.h), for a benchmark of a device.
 */
#ifndef VYRE_BENCH_BARE_PEER_H
#define VYRE_BENCH_BARE_PEER_H

#include "bench/peers/bare.h"
#include "bench/work.h"

typedef struct bench_bare_peer {
  const bench_bare *calls; /* NULL: there is none for this device */
  void *self;
  void *module;
} bench_bare_peer;

/*
 * Opens the module beside this program if the device is of its vendor; without a module, or on
 * another device, `calls` stays NULL and that is no error.  Close it in any case.
 */
vyre_status bench_bare_open(const bench_device *device, bench_report *report,
                            bench_bare_peer *out_peer, vyre_error *err);
void bench_bare_close(bench_bare_peer *peer);

/* OK for 0, else what the module says of it. */
vyre_status bench_bare_check(const bench_bare_peer *peer, int code, vyre_error *err);

#endif
