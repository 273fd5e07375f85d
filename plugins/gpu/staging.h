/*
 * staging.h - host bytes on their way to and from a device, through pinned chunks.
 *
 * A device has a fixed number of pinned chunks, made when it is opened: some small ones for the
 * bytes of little bindings, some large ones for the rest.  Copies of any size go through them piece
 * by piece, two pieces at a time, so that the host's copy of one runs beside the link's copy of the
 * other.  A transfer waits for a free chunk and allocates nothing (gpu.h says why).
 *
 * Chunks are shared by all threads, so give these calls a stream that no launch is on
 * (device->copy), after a wait for the launch whose bytes are moved: then a chunk is never held for
 * longer than a copy takes, and dispatch() never waits for a launch.
 */
#ifndef VYRE_GPU_STAGING_H
#define VYRE_GPU_STAGING_H

#include "plugins/gpu/gpu.h"

/* The context is current.  Owned by the caller until drop. */
vyre_status vyre__gpu_staging_make(vyre_backend_device *device, vyre__gpu_staging **out_staging,
                                   vyre_error *err);
/* No transfer is under way.  NULL is accepted. */
void vyre__gpu_staging_drop(vyre_backend_device *device, vyre__gpu_staging *staging);

/*
 * Copies host bytes to the device, in the order of `stream`.  On return `data` is read, and the
 * last pieces may still be on their way: what is put on `stream` afterwards sees them.  [any]; the
 * context is current and `lock` is not held.
 */
vyre_status vyre__gpu_stage_in(vyre_backend_device *device, vyre__gpu_stream *stream,
                               vyre__gpu_address to, const void *data, uint64_t size,
                               vyre_error *err);
/* Copies device bytes out, behind what is on `stream`; they are there on return. */
vyre_status vyre__gpu_stage_out(vyre_backend_device *device, vyre__gpu_stream *stream, void *data,
                                vyre__gpu_address from, uint64_t size, vyre_error *err);

#endif
