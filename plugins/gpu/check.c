/*
 * check.c - refusing a descriptor before anything runs, with limit and request in the message; see
 * check.h.
 */
#include "plugins/gpu/check.h"

#include "plugins/common/error.h"
#include "plugins/gpu/arguments.h"

#include <string.h>

#define KNOWN_FLAGS (VYRE_DISPATCH_PERSISTENT | VYRE_DISPATCH_COOPERATIVE)

static vyre_status check_flags(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_error *err)
{
  if (desc->flags & ~KNOWN_FLAGS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "unknown dispatch flags 0x%llx",
                       (unsigned long long)(desc->flags & ~KNOWN_FLAGS));
  if (desc->flags == KNOWN_FLAGS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "leave out one of the flags",
                       "a launch is both persistent and cooperative");
  if (desc->flags & VYRE_DISPATCH_PERSISTENT)
    return vyre__gpu_persistent_check(device, err);
  if ((desc->flags & VYRE_DISPATCH_COOPERATIVE) && !device->facts.cooperative)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "use another route of the program",
                       "%s has no cooperative launches", device->facts.name);
  return VYRE_OK;
}

static vyre_status check_kernel(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                vyre_error *err)
{
  const vyre_backend_kernel *kernel = desc->kernel;
  if (!kernel)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a kernel from kernel_find()",
                       "the kernel is NULL");
  if (kernel->module->device != device)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "load the module on this device",
                       "kernel %s is of a module of another device", kernel->name);
  /* DISP-013: its groups wait for each other. */
  if (kernel->is_fused &&
      (!(desc->flags & VYRE_DISPATCH_COOPERATIVE) || desc->groups[1] > 1 || desc->groups[2] > 1))
    return PLUGIN_FAIL(
        err, VYRE_ERROR_INVALID_ARGUMENT,
        "launch it with VYRE_DISPATCH_COOPERATIVE and groups in one dimension",
        "kernel %s is a fused program: it was launched with flags 0x%llx and %u x %u x %u groups",
        kernel->name, (unsigned long long)desc->flags, desc->groups[0], desc->groups[1],
        desc->groups[2]);
  return VYRE_OK;
}

static vyre_status check_grid(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                              vyre_error *err)
{
  const vyre__gpu_facts *facts = &device->facts;
  uint64_t items = 1;
  uint32_t most = facts->max_workgroup_items;
  for (int d = 0; d < 3; ++d) {
    if (!desc->groups[d] || !desc->workgroup[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at least 1 in each dimension",
                         "dimension %d has %u groups of %u items", d, desc->groups[d],
                         desc->workgroup[d]);
    if (desc->groups[d] > facts->max_groups[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use fewer groups or larger ones",
                         "%u groups in dimension %d, the limit is %u", desc->groups[d], d,
                         facts->max_groups[d]);
    if (desc->workgroup[d] > facts->max_workgroup[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use smaller groups",
                         "%u items per group in dimension %d, the limit is %u", desc->workgroup[d],
                         d, facts->max_workgroup[d]);
    /* The limits of a dimension have at most 21 bits each: no overflow. */
    items *= desc->workgroup[d];
  }
  const char *whose = "the device";
  if (desc->kernel->limits.max_workgroup_items < most) {
    most = desc->kernel->limits.max_workgroup_items;
    whose = "this kernel";
  }
  if (items > most)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use smaller groups",
                       "kernel %s: %llu items per group in all (%u x %u x %u), the limit of %s is "
                       "%u",
                       desc->kernel->name, (unsigned long long)items, desc->workgroup[0],
                       desc->workgroup[1], desc->workgroup[2], whose, most);
  return VYRE_OK;
}

static vyre_status check_sizes(const vyre_dispatch_desc *desc, vyre_error *err)
{
  const uint32_t parameters = desc->kernel->parameters;
  if (desc->push_size > VYRE__GPU_PUSH_BYTES)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "put the rest into a buffer",
                       "%u bytes of push constants, the limit is %u", desc->push_size,
                       VYRE__GPU_PUSH_BYTES);
  if (desc->push_size && !desc->push)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the bytes or a size of 0",
                       "push is NULL, push_size is %u", desc->push_size);
  if (desc->binding_count > VYRE__GPU_MAX_BINDINGS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "put several arrays into one buffer",
                       "%u bindings, the limit is %u", desc->binding_count, VYRE__GPU_MAX_BINDINGS);
  if (desc->binding_count && (!desc->bindings || desc->binding_stride < VYRE_BINDING_SIZE_0_1))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give an array of vyre_binding and its stride in bytes",
                       "bindings is %s, their stride is %llu bytes",
                       desc->bindings ? "given" : "NULL", (unsigned long long)desc->binding_stride);
  /* One more: the launch itself (launch_layout.h). */
  if (parameters != UINT32_MAX && parameters != desc->binding_count + 1)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a binding for each parameter of the entry, in their order",
                       "%u bindings for kernel %s, which has %u parameters: one for each binding "
                       "and one for the launch",
                       desc->binding_count, desc->kernel->name, parameters);
  return VYRE_OK;
}

static vyre_status check_range(const vyre_binding *binding, uint32_t index, vyre_error *err)
{
  const vyre_backend_buffer *buffer = binding->buffer;
  if (!buffer)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a buffer of this device",
                       "binding %u has no buffer", index);
  if (binding->offset > buffer->size || binding->size > buffer->size - binding->offset)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "bind a range inside the buffer",
                       "binding %u is %llu bytes at %llu of a buffer of %llu bytes", index,
                       (unsigned long long)binding->size, (unsigned long long)binding->offset,
                       (unsigned long long)buffer->size);
  return VYRE_OK;
}

static vyre_status check_binding(const vyre_dispatch_desc *desc, uint32_t index, vyre_error *err)
{
  const vyre_binding *binding = vyre__gpu_binding_at(desc, index);
  const vyre_status status = PLUGIN_CHECK_SIZE(err, binding, vyre_binding, VYRE_BINDING_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (binding->id >= desc->id_limit)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set id_limit to the largest id plus one",
                       "binding %u has id %u, id_limit is %u", index, binding->id, desc->id_limit);
  if (binding->id >= VYRE__GPU_IDS)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "number the buffers from 0",
                       "binding %u has id %u, the limit of ids is %u", index, binding->id,
                       VYRE__GPU_IDS);
  if (binding->kind > VYRE_BINDING_WORKGROUP || binding->access > VYRE_WORKGROUP)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use a kind and an access of the header",
                       "binding %u has kind %u and access %u", index, binding->kind,
                       binding->access);
  if ((binding->kind == VYRE_BINDING_WORKGROUP) != (binding->access == VYRE_WORKGROUP))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give workgroup memory the access VYRE_WORKGROUP, and nothing else",
                       "binding %u has kind %u and access %u", index, binding->kind,
                       binding->access);
  if ((desc->flags & VYRE_DISPATCH_PERSISTENT) && binding->kind == VYRE_BINDING_HOST)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "bind buffers to a persistent launch",
                       "binding %u of a persistent launch has kind %u", index, binding->kind);
  return binding->kind == VYRE_BINDING_BUFFER ? check_range(binding, index, err) : VYRE_OK;
}

vyre_status vyre__gpu_check_dispatch(const vyre_backend_device *device,
                                     const vyre_dispatch_desc *desc, vyre_error *err)
{
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, desc, vyre_dispatch_desc, VYRE_DISPATCH_DESC_SIZE_0_1);
  if (status == VYRE_OK)
    status = check_flags(device, desc, err);
  if (status == VYRE_OK)
    status = check_kernel(device, desc, err);
  if (status == VYRE_OK)
    status = check_grid(device, desc, err);
  if (status == VYRE_OK)
    status = check_sizes(desc, err);
  for (uint32_t i = 0; status == VYRE_OK && i < desc->binding_count; ++i)
    status = check_binding(desc, i, err);
  return status;
}
