/* fingerprint.c - the order-independent fingerprint of named byte strings. */
#include "vyre.h"

#include "core/base/fnv.h"

#include <string.h>

uint64_t vyre_fingerprint(const char *const *names, const vyre_bytes *buffers, uint32_t count)
{
  static const unsigned char separator = 0xff; /* in no UTF-8 name */
  uint64_t fingerprint = 0;
  for (uint32_t i = 0; names && buffers && i < count; ++i) {
    uint64_t hash = VYRE__FNV_START;
    if (names[i])
      hash = vyre__fnv(hash, names[i], strlen(names[i]));
    hash = vyre__fnv(hash, &separator, 1);
    if (buffers[i].data)
      hash = vyre__fnv(hash, buffers[i].data, buffers[i].size);
    fingerprint ^= hash;
  }
  return fingerprint;
}
