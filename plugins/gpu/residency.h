/*
 * residency.h - what is resident on a device for long, and who may not meet it.
 *
 * A cooperative launch needs all its groups at once, so it must not be given room that a persistent
 * launch holds: it would hang until that launch ends.  Both kinds are started under one lock of the
 * process, which comes before a device's: a device may be opened twice, and its handles share it.
 */
#ifndef VYRE_GPU_RESIDENCY_H
#define VYRE_GPU_RESIDENCY_H

#include "plugins/gpu/pending.h"

void vyre__gpu_residency_lock(void);
void vyre__gpu_residency_unlock(void);

/* The lock is held for all of these. */

/* Notes a persistent launch that is about to start, and that it is gone. */
void vyre__gpu_residency_add(vyre_backend_pending *pending);
void vyre__gpu_residency_remove(vyre_backend_pending *pending);
/*
 * Groups of `occupancy` a unit that persistent launches of the device take room from; all of a unit
 * if `whole`.
 */
uint64_t vyre__gpu_residency_taken(const vyre_backend_device *device, uint32_t occupancy,
                                   bool whole);
/* Units that persistent launches of the device fill, each launch rounded up. */
uint64_t vyre__gpu_residency_units(const vyre_backend_device *device);

/* Makes the device's event behind cooperative launches.  0 or the vendor's code. */
vyre__gpu_code vyre__gpu_residency_prepare(vyre_backend_device *device);
/* Makes the stream wait for the cooperative launches of every handle of the device. */
vyre__gpu_code vyre__gpu_residency_wait(const vyre_backend_device *device,
                                        vyre__gpu_stream *stream);
/* Drops that event.  Takes the lock and enters the context itself. */
void vyre__gpu_residency_forget(vyre_backend_device *device);

#endif
