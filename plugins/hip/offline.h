/*
 * offline.h - a compiler for AMD GPUs that is a program of its own: clang with its linker lld.
 */
#ifndef VYRE_HIP_OFFLINE_H
#define VYRE_HIP_OFFLINE_H

#include "plugins/common/program.h"

/*
 * Looks for VYRE_HIP_CC, or for clang-22 in PATH, once a process.  It needs neither headers nor a
 * device library: the prelude has all that kernels use.
 */
const vyre__plugin_program *vyre__hip_offline_find(void);

/* What the compiler is told beside what it always is: part of the cache's key with it. */
extern const char *const vyre__hip_offline_options[];

/*
 * Compiles a text that ends in NUL by this compiler, with `options` besides.  MODULE_FORMAT if it
 * does not know the architecture that they name, COMPILE_FAILED with its log.
 */
vyre_status vyre__hip_offline_compile(const vyre__plugin_program *compiler, const vyre_host *host,
                                      const char *source, const char *name,
                                      const char *const *options, uint32_t option_count,
                                      vyre_blob *out_blob, vyre_error *err);

#endif
