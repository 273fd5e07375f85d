/* bare_peer.c - see bare_peer.h. */
#include "bench/bare_peer.h"

#include "bench/module.h"

#include <stdlib.h>
#include <string.h>

static const bench_module_kind kind = {BENCH_BARE_FILE, BENCH_BARE_SYMBOL,
                                       "build it with the target vyre_bench_cuda"};

vyre_status bench_bare_check(const bench_bare_peer *peer, int code, vyre_error *err)
{
  if (!code)
    return VYRE_OK;
  if (err) {
    err->code = VYRE_ERROR_DISPATCH_FAILED;
    err->vendor_code = code;
    snprintf(err->message, sizeof err->message, "bare calls: %s", peer->calls->reason(peer->self));
    snprintf(err->fix, sizeof err->fix, "measure without lib/vyre-bench/%s", BENCH_BARE_FILE);
  }
  return VYRE_ERROR_DISPATCH_FAILED;
}

/* "cuda:1" of a vendor "cuda": 1. */
static bool index_of(const char *selector, const char *vendor, uint32_t *out_index)
{
  const size_t length = strlen(vendor);
  if (strncmp(selector, vendor, length) != 0 || selector[length] != ':')
    return false;
  *out_index = (uint32_t)strtoul(selector + length + 1, NULL, 10);
  return true;
}

vyre_status bench_bare_open(const bench_device *device, bench_report *report,
                            bench_bare_peer *out_peer, vyre_error *err)
{
  const void *table = NULL;
  uint32_t index = 0;
  vyre_status status = bench_module_open(&kind, NULL, &out_peer->module, &table, err);
  const bench_bare *calls = table;
  if (status != VYRE_OK || !calls)
    return status;
  if (calls->version != BENCH_BARE_VERSION)
    return bench_module_refuse(&kind, NULL, "it is not the module of this version", err);
  if (!index_of(device->info.selector, calls->name, &index))
    return VYRE_OK;
  out_peer->calls = calls;
  status = bench_bare_check(out_peer, calls->open(index, &out_peer->self), err);
  if (status == VYRE_OK)
    bench_report_note(report, "bare: by hand, %s", calls->about(out_peer->self));
  return status;
}

void bench_bare_close(bench_bare_peer *peer)
{
  if (peer->calls)
    peer->calls->close(peer->self);
  /* The module stays: what it has opened has threads. */
  peer->calls = NULL;
}
