/*
 * compile.h - from `vyre-c` text to code of the vendor, by way of the cache.
 */
#ifndef VYRE_GPU_COMPILE_H
#define VYRE_GPU_COMPILE_H

#include "plugins/gpu/gpu.h"

typedef struct vyre__gpu_source {
  const vyre_host *host;
  const char *text;
  uint64_t size;
  const char *name; /* for messages */
  uint64_t flags;   /* VYRE_MODULE_… */
  const char *format;
  const char *arch; /* "" takes the format's default */
} vyre__gpu_source;

/* Code in memory from host->allocate().  On an error the outputs are as they were. */
vyre_status vyre__gpu_compile_source(const vyre__gpu_source *source, void **out_data,
                                     uint64_t *out_size, vyre_error *err);

/* MODULE_FORMAT with the list of those that are taken, or made: without `vyre-c`. */
vyre_status vyre__gpu_refuse_format(const char *name, const char *format, bool is_made,
                                    vyre_error *err);

#endif
