/*
 * sha256.h - SHA-256 (FIPS 180-4): names cached kernels and seals native containers.
 */
#ifndef VYRE_CPU_SHA256_H
#define VYRE_CPU_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define VYRE__CPU_HASH_SIZE 32u

typedef struct vyre__cpu_sha256 {
  uint32_t state[8];
  uint64_t size;
  unsigned char block[64];
} vyre__cpu_sha256;

void vyre__cpu_sha256_init(vyre__cpu_sha256 *hash);
void vyre__cpu_sha256_add(vyre__cpu_sha256 *hash, const void *data, size_t size);
void vyre__cpu_sha256_final(vyre__cpu_sha256 *hash, unsigned char out_digest[VYRE__CPU_HASH_SIZE]);

#endif
