/*
 * cache.h - compiled kernels on disk: one entry a file, named by its key and its kind.
 *
 * In VYRE_CACHE_DIR, else XDG_CACHE_HOME/vyre, else HOME/.cache/vyre; VYRE_CACHE_DIR=off, or empty,
 * turns it off, and so do elevated privileges.  A cache that cannot be read or written is never an
 * error.  A key has VYRE__HASH_SIZE bytes; a kind is a word that ends the file's name.
 */
#ifndef VYRE_PLUGIN_CACHE_H
#define VYRE_PLUGIN_CACHE_H

#include "vyre_backend.h"

#include <stdbool.h>

/* The bytes of an entry, from host->allocate() and aligned to 64, or NULL.  Nobody but this user
   could have written them; whether they are whole is for the caller to check. */
void *vyre__plugin_cache_get(const vyre_host *host, const unsigned char *key, const char *kind,
                             uint64_t *out_size);
void vyre__plugin_cache_put(const vyre_host *host, const unsigned char *key, const char *kind,
                            const void *data, uint64_t size);

/* The same for bytes that have no checksum of their own: get gives only what put stored under this
   key, whole and unharmed. */
void *vyre__plugin_cache_get_sealed(const vyre_host *host, const unsigned char *key,
                                    const char *kind, uint64_t *out_size);
void vyre__plugin_cache_put_sealed(const vyre_host *host, const unsigned char *key,
                                   const char *kind, const void *data, uint64_t size);

/* A short text that was stored under a key: true if there is one.  What it says is only believed as
   far as a reader believes a note of its own. */
bool vyre__plugin_cache_get_text(const unsigned char *key, char *out_text, uint64_t size);
void vyre__plugin_cache_put_text(const unsigned char *key, const char *text);

/* A whole file in memory from host->allocate() with `room` bytes free in front, or NULL. */
void *vyre__plugin_file_read(const vyre_host *host, const char *path, uint64_t room,
                             uint64_t *out_size);

#endif
