/*
 * cache.h - compiled kernels on disk: one container a file, named by its key.
 *
 * In VYRE_CACHE_DIR, else XDG_CACHE_HOME/vyre, else HOME/.cache/vyre; VYRE_CACHE_DIR=off, or empty,
 * turns it off, and so do elevated privileges.  A cache that cannot be read or written is never an
 * error.
 */
#ifndef VYRE_CPU_CACHE_H
#define VYRE_CPU_CACHE_H

#include "vyre_backend.h"

#include <stdbool.h>

/* A sound container with that key, from host->allocate(), or NULL. */
void *vyre__cpu_cache_get(const vyre_host *host, const unsigned char *key, uint64_t *out_size);

/* Stores a container under the key it carries. */
void vyre__cpu_cache_put(const vyre_host *host, const void *data, uint64_t size);

/* A short text that was stored under a key: true if there is one.  What it says is only believed as
   far as a reader believes a note of its own. */
bool vyre__cpu_cache_get_text(const unsigned char *key, char *out_text, uint64_t size);
void vyre__cpu_cache_put_text(const unsigned char *key, const char *text);

/* A whole file in memory from host->allocate() with `room` bytes free in front, or NULL. */
void *vyre__cpu_file_read(const vyre_host *host, const char *path, uint64_t room,
                          uint64_t *out_size);

#endif
