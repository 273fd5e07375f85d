/*
 * compile.h - from `vyre-c` text to a native container.
 */
#ifndef VYRE_CPU_COMPILE_H
#define VYRE_CPU_COMPILE_H

#include "arch.h"
#include "vyre_backend.h"

typedef struct vyre__cpu_source {
  const vyre_host *host;
  const char *text;
  uint64_t size;
  const char *name; /* for messages */
  const vyre__cpu_level *level;
  uint64_t flags; /* VYRE_MODULE_… */
} vyre__cpu_source;

/* A container in memory from host->allocate(), from the cache or from the compiler. */
vyre_status vyre__cpu_compile_source(const vyre__cpu_source *source, void **out_data,
                                     uint64_t *out_size, vyre_error *err);

/* Removes a folder of vyre__plugin_temporary_make() and the two files that may be in it. */
void vyre__cpu_temporary_remove(const char *path);

#endif
