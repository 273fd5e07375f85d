/* ring_peers.c - opens the module with other people's queues. */
#include "bench/ring_bench.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* PROGRAM/../../lib/vyre-bench/FILE; false if this program's path is not known or too long. */
static bool beside_this_program(char *out_path, size_t size)
{
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  char *slash;
  int n;
  if (length <= 0)
    return false;
  self[length] = 0;
  slash = strrchr(self, '/');
  if (!slash)
    return false;
  *slash = 0;
  n = snprintf(out_path, size, "%s/../lib/vyre-bench/%s", self, BENCH_PEERS_FILE);
  return n > 0 && (size_t)n < size;
}

static vyre_status refuse(vyre_error *err, const char *path, const char *why)
{
  if (err) {
    err->code = VYRE_ERROR_IO;
    snprintf(err->message, sizeof err->message, "%.1000s: %.900s", path, why);
    snprintf(err->fix, sizeof err->fix,
             "build it with VYRE_BENCH_PEERS=ON; scripts/bench-ring "
             "does");
  }
  return VYRE_ERROR_IO;
}

vyre_status ring_peers_open(const char *path, ring_peers *out_peers, vyre_error *err)
{
  /* A path with a slash, so that it is looked for here and nowhere else. */
  char place[PATH_MAX + 64];
  const bool named = path != NULL;
  const bench_peers *(*query)(void) = NULL;
  const char *why;
  void *symbol;
  *out_peers = (ring_peers){NULL, NULL};
  if (named)
    snprintf(place, sizeof place, "%s%s", strchr(path, '/') ? "" : "./", path);
  else if (!beside_this_program(place, sizeof place) || access(place, F_OK) != 0)
    return VYRE_OK;
  out_peers->module = dlopen(place, RTLD_NOW | RTLD_LOCAL);
  if (!out_peers->module) {
    why = dlerror();
    return refuse(err, place, why ? why : "it cannot be opened");
  }
  symbol = dlsym(out_peers->module, BENCH_PEERS_SYMBOL);
  if (symbol) {
    memcpy(&query, &symbol, sizeof query);
    out_peers->list = query();
  }
  if (!out_peers->list || out_peers->list->version != BENCH_PEERS_VERSION) {
    ring_peers_close(out_peers);
    return refuse(err, place, "it is not the module of this version");
  }
  return VYRE_OK;
}

void ring_peers_close(ring_peers *peers)
{
  if (peers->module)
    dlclose(peers->module);
  *peers = (ring_peers){NULL, NULL};
}
