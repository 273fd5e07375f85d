/*
 * fnv.h - 64-bit FNV-1a.  Source: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm",
 * draft-eastlake-fnv.  For fingerprints and for damage by accident; no defence against intent.
 */
#ifndef VYRE_CORE_BASE_FNV_H
#define VYRE_CORE_BASE_FNV_H

#include <stdint.h>

#define VYRE__FNV_START 0xcbf29ce484222325u

static inline uint64_t vyre__fnv(uint64_t hash, const void *data, uint64_t size)
{
  const unsigned char *bytes = data;
  for (uint64_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

#endif
