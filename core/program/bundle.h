/*
 * bundle.h - the layout of a bundle's image, docs/bundle.md in constants.  Numbers are
 * little-endian whatever the machine is.
 */
#ifndef VYRE_CORE_PROGRAM_BUNDLE_H
#define VYRE_CORE_PROGRAM_BUNDLE_H

#include "core/base/fnv.h"

#include <string.h>

/* The line ends and the control character show a transfer that was not binary. */
#define VYRE__BUNDLE_MAGIC "VYREB\r\n\x1a"
#define VYRE__BUNDLE_VERSION 1u
#define VYRE__BUNDLE_ALIGN 16u

/* The header. */
#define VYRE__BUNDLE_AT_VERSION 8u        /* u32 */
#define VYRE__BUNDLE_AT_COUNT 12u         /* u32 */
#define VYRE__BUNDLE_AT_SIZE 16u          /* u64, of the whole image */
#define VYRE__BUNDLE_AT_HASH 24u          /* u64, over everything but itself */
#define VYRE__BUNDLE_AT_MANIFEST 32u      /* u64 offset, 0 for none */
#define VYRE__BUNDLE_AT_MANIFEST_SIZE 40u /* u64, with its NUL */
#define VYRE__BUNDLE_AT_RESERVED 48u      /* zeros up to the end */
#define VYRE__BUNDLE_HEADER 64u

/* One entry of the table behind the header. */
#define VYRE__BUNDLE_FORMAT_SIZE 32u /* texts, filled up with NUL, at least one NUL */
#define VYRE__BUNDLE_ARCH_SIZE 64u
#define VYRE__BUNDLE_ENTRY_AT_ARCH 32u
#define VYRE__BUNDLE_ENTRY_AT_OFFSET 96u /* u64, a multiple of 16 */
#define VYRE__BUNDLE_ENTRY_AT_SIZE 104u  /* u64, at least 1 */
#define VYRE__BUNDLE_ENTRY 112u

static inline void vyre__put_u32(unsigned char *to, uint32_t value)
{
  for (int i = 0; i < 4; ++i)
    to[i] = (unsigned char)(value >> (8 * i));
}

static inline void vyre__put_u64(unsigned char *to, uint64_t value)
{
  for (int i = 0; i < 8; ++i)
    to[i] = (unsigned char)(value >> (8 * i));
}

static inline uint32_t vyre__get_u32(const unsigned char *from)
{
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value |= (uint32_t)from[i] << (8 * i);
  return value;
}

static inline uint64_t vyre__get_u64(const unsigned char *from)
{
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i)
    value |= (uint64_t)from[i] << (8 * i);
  return value;
}

static inline uint64_t vyre__bundle_hash(const unsigned char *image, uint64_t size)
{
  const uint64_t behind = VYRE__BUNDLE_AT_HASH + 8;
  uint64_t hash = vyre__fnv(VYRE__FNV_START, image, VYRE__BUNDLE_AT_HASH);
  return vyre__fnv(hash, image + behind, size - behind);
}

#endif
