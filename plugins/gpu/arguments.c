/*
 * arguments.c - packing a launch: one block of device memory holds the fault record and all HOST
 * bindings, one address space of workgroup memory all WORKGROUP bindings; see arguments.h.
 */
#include "plugins/gpu/arguments.h"

#include "plugins/common/error.h"

#include <string.h>

/* HOST bindings start on a multiple of it, workgroup memory on the other. */
#define HOST_ALIGN 256u
#define WORKGROUP_ALIGN 16u

/* `*at` rounded up; the bytes behind it are taken.  UINT64_MAX if that overflows. */
static uint64_t take(uint64_t *at, uint64_t size, uint64_t align)
{
  uint64_t begin = 0, end = 0;
  if (__builtin_add_overflow(*at, align - 1, &begin))
    return UINT64_MAX;
  begin &= ~(align - 1);
  if (__builtin_add_overflow(begin, size, &end))
    return UINT64_MAX;
  *at = end;
  return begin;
}

/*
 * Lays the block out: the fault record, then the HOST bindings, those that may be written first: so
 * that outputs lie together.  Stores each one's offset if `offsets` is not NULL.  UINT64_MAX if the
 * sizes overflow.
 */
static uint64_t lay_out(const vyre_dispatch_desc *desc, bool debug, uint64_t *offsets)
{
  uint64_t size = 0;
  bool has_host = false;
  if (debug)
    take(&size, sizeof(vyre__gpu_fault), HOST_ALIGN);
  for (int turn = 0; turn < 2; ++turn)
    for (uint32_t i = 0; i < desc->binding_count; ++i) {
      const vyre_binding *binding = vyre__gpu_binding_at(desc, i);
      if (binding->kind != VYRE_BINDING_HOST || (turn == 0) == (binding->access == VYRE_READ_ONLY))
        continue;
      has_host = true;
      const uint64_t offset = take(&size, binding->size, HOST_ALIGN);
      if (offset == UINT64_MAX)
        return UINT64_MAX;
      if (offsets)
        offsets[i] = offset;
    }
  /* So that a binding of size 0 at the end has an address inside. */
  return has_host && take(&size, 1, 1) == UINT64_MAX ? UINT64_MAX : size;
}

vyre_status vyre__gpu_arguments_plan(const vyre_backend_device *device,
                                     const vyre_dispatch_desc *desc, vyre__gpu_needs *out_needs,
                                     vyre_error *err)
{
  const vyre_backend_kernel *kernel = desc->kernel;
  const uint64_t most = device->facts.max_workgroup_memory;
  const bool debug = kernel->module->debug;
  uint64_t shared = 0;
  bool has_host = false;
  for (uint32_t i = 0; i < desc->binding_count && shared != UINT64_MAX; ++i) {
    const vyre_binding *binding = vyre__gpu_binding_at(desc, i);
    has_host |= binding->kind == VYRE_BINDING_HOST;
    if (binding->kind == VYRE_BINDING_WORKGROUP &&
        take(&shared, binding->size, WORKGROUP_ALIGN) == UINT64_MAX)
      shared = UINT64_MAX;
  }
  const uint64_t block = has_host || debug ? lay_out(desc, debug, NULL) : 0;
  if (block == UINT64_MAX)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use smaller bindings",
                       "kernel %s: the sizes of the host bindings overflow 64 bits", kernel->name);
  const uint64_t fixed =
      (kernel->limits.workgroup_memory + WORKGROUP_ALIGN - 1) & ~(uint64_t)(WORKGROUP_ALIGN - 1);
  if (shared && (shared > UINT32_MAX || fixed > most || shared > most - fixed))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use less workgroup memory",
                       "kernel %s: %llu bytes of workgroup memory from bindings and %llu of its "
                       "own, the limit is %llu in all",
                       kernel->name, (unsigned long long)shared,
                       (unsigned long long)kernel->limits.workgroup_memory,
                       (unsigned long long)most);
  out_needs->block = block;
  out_needs->workgroup_memory = (uint32_t)shared;
  out_needs->debug = debug;
  return VYRE_OK;
}

void vyre__gpu_arguments_pack(const vyre_dispatch_desc *desc, const vyre__gpu_needs *needs,
                              vyre_backend_pending *pending, vyre__gpu_arguments *out_arguments)
{
  vyre__gpu_launch *launch = &out_arguments->launch;
  uint64_t shared = 0;
  memset(launch, 0, sizeof(*launch));
  memcpy(launch->groups, desc->groups, sizeof(launch->groups));
  if (desc->push_size)
    memcpy(launch->push, desc->push, desc->push_size);
  if (needs->block)
    lay_out(desc, needs->debug, out_arguments->addresses);
  if (needs->debug && pending) /* at offset 0 */
    launch->fault = pending->fault = pending->block;
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = vyre__gpu_binding_at(desc, i);
    vyre__gpu_address *address = &out_arguments->addresses[i];
    launch->counts[binding->id] = binding->element_count;
    out_arguments->parameters[i] = address;
    if (binding->kind == VYRE_BINDING_BUFFER) {
      *address = binding->buffer->address + binding->offset;
    } else if (binding->kind == VYRE_BINDING_WORKGROUP) {
      *address = take(&shared, binding->size, WORKGROUP_ALIGN);
    } else if (pending) { /* without one there are no HOST bindings */
      *address += pending->block;
      if (binding->access != VYRE_READ_ONLY)
        pending->outputs[pending->output_count++] =
            (vyre__gpu_output){*address, binding->size, binding->id};
    }
  }
  out_arguments->parameters[desc->binding_count] = launch;
}
