/*
 * arguments.h - from a descriptor to what the driver hands to a kernel (launch_layout.h).
 */
#ifndef VYRE_GPU_ARGUMENTS_H
#define VYRE_GPU_ARGUMENTS_H

#include "plugins/gpu/launch.h"
#include "plugins/gpu/pending.h"

static inline const vyre_binding *vyre__gpu_binding_at(const vyre_dispatch_desc *desc,
                                                       uint32_t index)
{
  return (const vyre_binding *)(const void *)((const char *)desc->bindings +
                                              desc->binding_stride * index);
}

/* Groups in all, UINT64_MAX if the product overflows. */
static inline uint64_t vyre__gpu_group_count(const vyre_dispatch_desc *desc)
{
  uint64_t groups = (uint64_t)desc->groups[0] * desc->groups[1];
  return __builtin_mul_overflow(groups, desc->groups[2], &groups) ? UINT64_MAX : groups;
}

/* What a launch needs beyond its buffers. */
typedef struct vyre__gpu_needs {
  uint64_t block;            /* bytes of device memory, 0: none */
  uint32_t workgroup_memory; /* bytes of all WORKGROUP bindings */
  bool debug;                /* the block begins with a fault record */
} vyre__gpu_needs;

/* The values of the parameters, and where the driver finds them.  Points into itself. */
typedef struct vyre__gpu_arguments {
  vyre__gpu_launch launch;
  vyre__gpu_address addresses[VYRE__GPU_MAX_BINDINGS];
  void *parameters[VYRE__GPU_MAX_BINDINGS + 1];
} vyre__gpu_arguments;

/* The descriptor has passed every other check; refuses sizes that cannot be had. */
vyre_status vyre__gpu_arguments_plan(const vyre_backend_device *device,
                                     const vyre_dispatch_desc *desc, vyre__gpu_needs *out_needs,
                                     vyre_error *err);
/* Fills in the arguments, and the outputs and the fault record of the handle, which has its block.
   The handle may be NULL for a launch without HOST bindings: then it has no fault record. */
void vyre__gpu_arguments_pack(const vyre_dispatch_desc *desc, const vyre__gpu_needs *needs,
                              vyre_backend_pending *pending, vyre__gpu_arguments *out_arguments);

#endif
