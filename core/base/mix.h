/*
 * mix.h - a number for a row of words, a word at a time: for looking up what was there before,
 * where equal numbers lead to a comparison.  Where bytes are all that is compared, see fnv.h.
 */
#ifndef VYRE_CORE_BASE_MIX_H
#define VYRE_CORE_BASE_MIX_H

#include <stdint.h>

static inline uint64_t vyre__mix(uint64_t digest, uint64_t word)
{
  digest = (digest ^ word) * 0x9e3779b97f4a7c15u; /* odd, its bits look like chance */
  return digest ^ digest >> 32;
}

#endif
