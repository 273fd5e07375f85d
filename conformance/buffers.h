/*
 * buffers.h - device memory for cases: made, filled, read back between canaries, freed.
 */
#ifndef VYRE_CONFORMANCE_BUFFERS_H
#define VYRE_CONFORMANCE_BUFFERS_H

#include "conformance/steps.h"

/* A buffer of the device that is open; `data` NULL: as it comes. */
vyre_backend_buffer *conform_buffer(conform *c, uint64_t size, const void *data);
void conform_free(conform *c, vyre_backend_buffer *buffer);

void conform_put(conform *c, vyre_backend_buffer *buffer, uint64_t offset, const void *data,
                 uint64_t size);
/* Into memory between canaries, poisoned before; then to `out`. */
void conform_get(conform *c, vyre_backend_buffer *buffer, uint64_t offset, void *out,
                 uint64_t size);

/* The buffer's bytes from 0 on are these; `what` says what was done before. */
void conform_expect_bytes(conform *c, vyre_backend_buffer *buffer, const void *want, uint64_t size,
                          const char *what);

/* A buffer that binds from `offset`; otherwise as conform_launch_buffer(). */
void conform_launch_part(conform_launch *launch, vyre_access access, vyre_backend_buffer *buffer,
                         uint64_t offset, uint64_t count, uint32_t element_size);

/* A launch without outputs: started, waited for, read, released. */
void conform_run_buffers(conform *c, const conform_launch *launch);

/* Coherent memory; freed by conform_free(c, memory.buffer). */
vyre_coherent_memory conform_coherent(conform *c, uint64_t size);

/*
 * For loops that watch memory: gives the core away, and fails the case when `begin_ns` is longer
 * ago than anything may take.
 */
void conform_watch(conform *c, uint64_t begin_ns, const char *what);

#endif
