/*
 * launch.h - launch_layout.h for the host, checked against the host's types.
 */
#ifndef VYRE_GPU_LAUNCH_H
#define VYRE_GPU_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

/* As vyre_kernel.h has them. */
typedef unsigned int vyre_u32;
typedef unsigned long long vyre_u64;

#include "plugins/gpu/launch_layout.h"

_Static_assert(sizeof(vyre_u32) == sizeof(uint32_t), "fixed width");
_Static_assert(sizeof(vyre_u64) == sizeof(uint64_t), "fixed width");
_Static_assert(offsetof(vyre__gpu_launch, fault) == 768, "no padding");
_Static_assert(offsetof(vyre__gpu_launch, groups) == 776, "no padding");
_Static_assert(offsetof(vyre__gpu_launch, push) == 792, "no padding");
_Static_assert(sizeof(vyre__gpu_launch) == 1048, "no padding");
_Static_assert(offsetof(vyre__gpu_fault, index) == 8, "no padding");
_Static_assert(offsetof(vyre__gpu_fault, what) == 32, "no padding");
_Static_assert(sizeof(vyre__gpu_fault) == 160, "no padding");

#endif
