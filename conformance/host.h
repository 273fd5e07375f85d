/*
 * host.h - the host that the suite gives to a plugin: every block between canaries and counted,
 * every log line kept for the verdict.
 */
#ifndef VYRE_CONFORMANCE_HOST_H
#define VYRE_CONFORMANCE_HOST_H

#include "vyre_backend.h"

#include <stdbool.h>

typedef struct conform_host {
  vyre_host table;       /* what the plugin gets */
  uint64_t live_blocks;  /* atomic */
  uint64_t live_bytes;   /* atomic */
  uint64_t calls;        /* atomic; of all services */
  uint64_t broken;       /* atomic; blocks that were freed with a canary written over */
  uint64_t fail_at;      /* atomic; the n-th allocation from now returns NULL, 0: none */
  uint64_t bad_requests; /* atomic; alignments that are none, lines with a line end */
} conform_host;

void conform_host_init(conform_host *host);

#endif
