/*
 * trial.h - whether a kernel that runs and the host see each other's stores in coherent memory:
 * tried, for vendors that do not promise it of every machine.
 */
#ifndef VYRE_GPU_TRIAL_H
#define VYRE_GPU_TRIAL_H

#include "plugins/gpu/gpu.h"

/*
 * Tries it on a device that is being opened, once for each device of a process; what came of it is
 * in the facts of `device` from then on.  An error is one of the driver's or of memory: nothing was
 * found out, and the next open tries again.  No context is current, no lock is held but that of
 * opening.
 */
vyre_status vyre__gpu_trial(vyre_backend_device *device, vyre_error *err);

/* Adds to the facts of a device what an earlier open has found. */
void vyre__gpu_trial_recall(uint32_t index, vyre__gpu_facts *facts);

#endif
