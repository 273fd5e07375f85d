/*
 * check.h - what a descriptor must hold before anything of a launch is started.
 */
#ifndef VYRE_GPU_CHECK_H
#define VYRE_GPU_CHECK_H

#include "plugins/gpu/gpu.h"

/* DISP-008, DISP-010, DISP-011, DISP-021 and the sizes of ABI-001 and ABI-004.  Calls no driver. */
vyre_status vyre__gpu_check_dispatch(const vyre_backend_device *device,
                                     const vyre_dispatch_desc *desc, vyre_error *err);

#endif
