/*
 * info.h - a device's facts in the words of the ABI.
 */
#ifndef VYRE_GPU_INFO_H
#define VYRE_GPU_INFO_H

#include "plugins/gpu/driver.h"

/* Fills all of `out_info`, its size included. */
void vyre__gpu_describe(uint32_t index, const vyre__gpu_facts *facts,
                        vyre_backend_device_info *out_info);

#endif
