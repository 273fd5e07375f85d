/*
 * container.h - the format `native`: a shared object with what must hold before it may be opened.
 *
 *     0   "VYRENATV"
 *     8   u32 version of the container, u32 size of this header
 *     16  u32 VYRE_NATIVE_ABI, u32 sanitizer kind
 *     24  architecture level, 40 bytes, NUL-padded
 *     64  u64 size of the payload, u64 zero
 *     80  key of what it was made from, 32 bytes
 *     112 SHA-256 of the header (with zeros here) and the payload, 32 bytes
 *     144 payload: an ELF shared object
 *
 * Integers are little-endian, as in the payload of every architecture that the plugin knows.
 */
#ifndef VYRE_CPU_CONTAINER_H
#define VYRE_CPU_CONTAINER_H

#include "plugins/common/sha256.h"
#include "vyre_backend.h"

#include <stdbool.h>

#define VYRE__CPU_CONTAINER_MAGIC "VYRENATV"
#define VYRE__CPU_CONTAINER_VERSION 1u

typedef struct vyre__cpu_container {
  char magic[8];
  uint32_t version;
  uint32_t header_size;
  uint32_t native_abi;
  uint32_t sanitizer;
  char arch[40];
  uint64_t payload_size;
  uint64_t zero;
  unsigned char key[VYRE__HASH_SIZE];
  unsigned char hash[VYRE__HASH_SIZE];
} vyre__cpu_container;

/* Fills in the header of a container whose payload lies right behind it. */
void vyre__cpu_container_seal(vyre__cpu_container *container, const char *arch,
                              const unsigned char *key, uint64_t payload_size);

/* True if the bytes are an unharmed container of this native ABI, made from what `key` says. */
bool vyre__cpu_container_is_whole(const void *data, uint64_t size, const unsigned char *key);

/*
 * MODULE_FORMAT with have and want unless the bytes are a whole container that this plugin can open
 * on this processor.  `name` is for the message.  Reads only.
 */
vyre_status vyre__cpu_container_check(const void *data, uint64_t size, const char *name,
                                      vyre_error *err);

#endif
