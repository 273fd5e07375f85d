/*
 * sha256.h - SHA-256 (FIPS 180-4): names cached kernels and seals native containers.
 */
#ifndef VYRE_PLUGIN_SHA256_H
#define VYRE_PLUGIN_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define VYRE__HASH_SIZE 32u

typedef struct vyre__plugin_sha256 {
  uint32_t state[8];
  uint64_t size;
  unsigned char block[64];
} vyre__plugin_sha256;

void vyre__plugin_sha256_init(vyre__plugin_sha256 *hash);
void vyre__plugin_sha256_add(vyre__plugin_sha256 *hash, const void *data, size_t size);
void vyre__plugin_sha256_final(vyre__plugin_sha256 *hash,
                               unsigned char out_digest[VYRE__HASH_SIZE]);

#endif
