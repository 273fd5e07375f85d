/*
 * dispatch.c - from a descriptor to a launch: checks of every limit (DISP-021), one block of memory
 * for all that the launch owns, then the pool or the persistent threads.
 */
#include "device.h"

#include "grid.h"
#include "module.h"
#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <string.h>

/* A launch of at most so many items runs in the caller: less work than waking a thread. */
#define INLINE_ITEMS 512u

/* HOST and WORKGROUP bindings start on a cache line. */
#define BINDING_ALIGN 64u

static const vyre_binding *binding_at(const vyre_dispatch_desc *desc, uint32_t index)
{
  const char *bytes = (const char *)desc->bindings;
  return (const vyre_binding *)(const void *)(bytes + desc->binding_stride * index);
}

/* -------- checks -------- */

static vyre_status check_grid(const vyre_dispatch_desc *desc, vyre_error *err)
{
  static const uint32_t most_groups[3] = {VYRE__CPU_MAX_GROUPS_X, VYRE__CPU_MAX_GROUPS_YZ,
                                          VYRE__CPU_MAX_GROUPS_YZ};
  uint64_t items = 1;
  for (int d = 0; d < 3; ++d) {
    if (!desc->groups[d] || !desc->workgroup[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at least 1 in each dimension",
                         "dimension %d has %u groups of %u items", d, desc->groups[d],
                         desc->workgroup[d]);
    if (desc->groups[d] > most_groups[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use fewer groups or larger ones",
                         "%u groups in dimension %d, the limit is %u", desc->groups[d], d,
                         most_groups[d]);
    if (desc->workgroup[d] > VYRE__CPU_MAX_ITEMS)
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use smaller groups",
                         "%u items per group in dimension %d, the limit is %u", desc->workgroup[d],
                         d, VYRE__CPU_MAX_ITEMS);
    items *= desc->workgroup[d];
  }
  if (items > VYRE__CPU_MAX_ITEMS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use smaller groups",
                       "%llu items per group in all (%u x %u x %u), the limit is %u",
                       (unsigned long long)items, desc->workgroup[0], desc->workgroup[1],
                       desc->workgroup[2], VYRE__CPU_MAX_ITEMS);
  return VYRE_OK;
}

static vyre_status check_sizes(const vyre_dispatch_desc *desc, vyre_error *err)
{
  if (desc->push_size > VYRE__CPU_MAX_PUSH)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "put the rest into a buffer",
                       "%u bytes of push constants, the limit is %u", desc->push_size,
                       VYRE__CPU_MAX_PUSH);
  if (desc->push_size && !desc->push)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the bytes or a size of 0",
                       "push is NULL, push_size is %u", desc->push_size);
  if (desc->binding_count > VYRE__CPU_MAX_BINDINGS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "put several arrays into one buffer",
                       "%u bindings, the limit is %u", desc->binding_count, VYRE__CPU_MAX_BINDINGS);
  if (desc->binding_count && (!desc->bindings || desc->binding_stride < VYRE_BINDING_SIZE_0_1))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give an array of vyre_binding and its stride in bytes",
                       "bindings is %s, their stride is %llu bytes",
                       desc->bindings ? "given" : "NULL", (unsigned long long)desc->binding_stride);
  if (desc->id_limit > VYRE__CPU_MAX_IDS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "number the buffers from 0",
                       "id_limit is %u, the limit is %u", desc->id_limit, VYRE__CPU_MAX_IDS);
  return VYRE_OK;
}

static vyre_status check_binding(const vyre_dispatch_desc *desc, uint32_t index, vyre_error *err)
{
  const vyre_binding *binding = binding_at(desc, index);
  bool persistent = (desc->flags & VYRE_DISPATCH_PERSISTENT) != 0;
  vyre_status status = PLUGIN_CHECK_SIZE(err, binding, vyre_binding, VYRE_BINDING_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (binding->id >= desc->id_limit)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set id_limit to the largest id plus one",
                       "binding %u has id %u, id_limit is %u", index, binding->id, desc->id_limit);
  if (binding->kind > VYRE_BINDING_WORKGROUP || binding->access > VYRE_WORKGROUP)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use a kind and an access of the header",
                       "binding %u has kind %u and access %u", index, binding->kind,
                       binding->access);
  if ((binding->kind == VYRE_BINDING_WORKGROUP) != (binding->access == VYRE_WORKGROUP))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give workgroup memory the access VYRE_WORKGROUP, and nothing else",
                       "binding %u has kind %u and access %u", index, binding->kind,
                       binding->access);
  if (persistent && binding->kind == VYRE_BINDING_HOST)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "bind buffers to a persistent launch",
                       "binding %u of a persistent launch has kind %u", index, binding->kind);
  if (binding->kind != VYRE_BINDING_BUFFER)
    return VYRE_OK;
  if (!binding->buffer)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a buffer of this device",
                       "binding %u has no buffer", index);
  if (binding->offset > binding->buffer->size ||
      binding->size > binding->buffer->size - binding->offset)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "bind a range inside the buffer",
                       "binding %u is %llu bytes at %llu of a buffer of %llu bytes", index,
                       (unsigned long long)binding->size, (unsigned long long)binding->offset,
                       (unsigned long long)binding->buffer->size);
  return VYRE_OK;
}

static vyre_status check_flags(const vyre_dispatch_desc *desc, vyre_error *err)
{
  const uint64_t known = VYRE_DISPATCH_PERSISTENT | VYRE_DISPATCH_COOPERATIVE;
  if (desc->flags & ~known)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "unknown dispatch flags 0x%llx", (unsigned long long)(desc->flags & ~known));
  if (desc->flags == known)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "leave the flag out: a persistent launch has a thread for each group anyway",
                       "a launch is both persistent and cooperative");
  if (!desc->kernel)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a kernel from kernel_find()",
                       "the kernel is NULL");
  uint64_t groups = (uint64_t)desc->groups[0] * desc->groups[1] * desc->groups[2];
  if ((desc->flags & VYRE_DISPATCH_PERSISTENT) && groups > VYRE__CPU_MAX_PERSISTENT_GROUPS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use fewer groups, about one a core",
                       "%llu groups of a persistent launch, the limit is %u",
                       (unsigned long long)groups, VYRE__CPU_MAX_PERSISTENT_GROUPS);
  return VYRE_OK;
}

/* DISP-013. */
static vyre_status check_cooperative(const vyre_backend_device *device,
                                     const vyre_dispatch_desc *desc, vyre_error *err)
{
  const vyre_native_entry *entry = desc->kernel->entry;
  uint32_t items = desc->workgroup[0] * desc->workgroup[1] * desc->workgroup[2];
  uint64_t groups = (uint64_t)desc->groups[0] * desc->groups[1] * desc->groups[2];
  if ((entry->flags & VYRE_NATIVE_FUSED) &&
      (!(desc->flags & VYRE_DISPATCH_COOPERATIVE) || groups != desc->groups[0]))
    return PLUGIN_FAIL(
        err, VYRE_ERROR_INVALID_ARGUMENT,
        "launch it with VYRE_DISPATCH_COOPERATIVE and groups in one dimension",
        "kernel %s is a fused program: it was launched with flags 0x%llx and %u x %u x "
        "%u groups",
        desc->kernel->name, (unsigned long long)desc->flags, desc->groups[0], desc->groups[1],
        desc->groups[2]);
  if (!(desc->flags & VYRE_DISPATCH_COOPERATIVE))
    return VYRE_OK;
  uint32_t most = vyre__cpu_runners_most(device, entry, items);
  if (groups > most)
    return PLUGIN_FAIL(
        err, VYRE_ERROR_RESIDENCY_EXCEEDED,
        "use as many groups as cooperative_groups() says, or raise VYRE_CPU_THREADS",
        "%llu groups of a cooperative launch of kernel %s, at most %u of %u items can "
        "be resident at once",
        (unsigned long long)groups, desc->kernel->name, most, items);
  return VYRE_OK;
}

static vyre_status check(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                         vyre_error *err)
{
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, desc, vyre_dispatch_desc, VYRE_DISPATCH_DESC_SIZE_0_1);
  if (status == VYRE_OK)
    status = check_grid(desc, err);
  if (status == VYRE_OK)
    status = check_flags(desc, err);
  if (status == VYRE_OK)
    status = check_cooperative(device, desc, err);
  if (status == VYRE_OK)
    status = check_sizes(desc, err);
  for (uint32_t i = 0; status == VYRE_OK && i < desc->binding_count; ++i)
    status = check_binding(desc, i, err);
  return status;
}

/* -------- the block -------- */

/* Where the parts of the block lie, in bytes from its start. */
typedef struct layout {
  uint64_t counts, bindings, local, outputs, push, copies, size;
  uint64_t local_bytes;
  uint32_t output_count;
  bool overflow;
} layout;

/* Room for `size` bytes; returns its offset. */
static uint64_t take(layout *block, uint64_t size, uint64_t align)
{
  uint64_t offset = 0;
  if (__builtin_add_overflow(block->size, align - 1, &offset))
    block->overflow = true;
  offset &= ~(align - 1);
  if (__builtin_add_overflow(offset, size, &block->size))
    block->overflow = true;
  return offset;
}

/*
 * A HOST binding is read where it is if the kernel only reads it and it is aligned (DISP-006);
 * otherwise the block holds a copy.
 */
static bool needs_copy(const vyre_binding *binding)
{
  if (binding->kind != VYRE_BINDING_HOST)
    return false;
  return binding->access != VYRE_READ_ONLY || !binding->data || (uintptr_t)binding->data % 16 != 0;
}

static bool is_output(const vyre_binding *binding)
{
  return binding->kind == VYRE_BINDING_HOST && binding->access != VYRE_READ_ONLY;
}

static layout plan(const vyre_dispatch_desc *desc)
{
  layout block = {0};
  take(&block, sizeof(vyre_backend_pending), 1);
  for (uint32_t i = 0; i < desc->binding_count; ++i)
    block.output_count += is_output(binding_at(desc, i));
  block.counts = take(&block, (uint64_t)desc->id_limit * sizeof(vyre_u64), 16);
  block.bindings = take(&block, (uint64_t)desc->binding_count * sizeof(void *), 16);
  block.local = take(&block, (uint64_t)desc->binding_count * sizeof(uint64_t), 16);
  block.outputs = take(&block, (uint64_t)block.output_count * sizeof(vyre__cpu_output), 16);
  block.push = take(&block, desc->push_size, 16);
  block.copies = take(&block, 0, BINDING_ALIGN);
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    if (needs_copy(binding))
      take(&block, binding->size, BINDING_ALIGN);
    if (binding->kind != VYRE_BINDING_WORKGROUP)
      continue;
    layout sum = {.size = block.local_bytes};
    take(&sum, binding->size, BINDING_ALIGN);
    take(&sum, 0, BINDING_ALIGN);
    block.local_bytes = (sum.size + BINDING_ALIGN - 1) / BINDING_ALIGN * BINDING_ALIGN;
    if (sum.overflow || sum.size > VYRE__CPU_MAX_LOCAL_BYTES)
      block.local_bytes = UINT64_MAX;
    if (block.local_bytes == UINT64_MAX)
      break;
  }
  take(&block, 1, 1); /* so that a binding of size 0 at the end points inside */
  return block;
}

static void place_bindings(vyre_backend_pending *launch, const vyre_dispatch_desc *desc,
                           const layout *block)
{
  char *base = (char *)launch;
  layout at = {.size = block->copies};
  uint32_t outputs = 0;
  vyre_u64 *counts = (vyre_u64 *)(void *)(base + block->counts);
  memset(counts, 0, (size_t)desc->id_limit * sizeof(*counts));
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    counts[binding->id] = binding->element_count;
    launch->local[i] = 0;
    if (binding->kind == VYRE_BINDING_WORKGROUP) {
      launch->bindings[i] = NULL;
      launch->local[i] = (binding->size + BINDING_ALIGN - 1) / BINDING_ALIGN * BINDING_ALIGN;
    } else if (binding->kind == VYRE_BINDING_BUFFER) {
      launch->bindings[i] = (char *)binding->buffer->data + binding->offset;
    } else if (needs_copy(binding)) {
      char *copy = base + take(&at, binding->size, BINDING_ALIGN);
      launch->bindings[i] = copy;
      if (binding->data)
        memcpy(copy, binding->data, binding->size);
      else
        memset(copy, 0, binding->size);
    } else {
      launch->bindings[i] = (void *)binding->data;
    }
    if (is_output(binding))
      launch->outputs[outputs++] =
          (vyre__cpu_output){binding->id, launch->bindings[i], binding->size};
  }
  launch->context.counts = counts;
}

static bool is_fused(const vyre_backend_pending *launch)
{
  return (launch->entry->flags & VYRE_NATIVE_FUSED) != 0;
}

static bool is_short_fused(const vyre_backend_pending *launch, const vyre_dispatch_desc *desc)
{
  const uint32_t last = desc->binding_count - 1;
  return launch->group_count == 1 && desc->binding_count && launch->bindings[last] &&
         vyre__cpu_grid_is_short(launch->bindings[last], binding_at(desc, last)->size,
                                 launch->items);
}

/* How the groups are shared out. */
static void place_grid(vyre_backend_pending *launch, const vyre_dispatch_desc *desc,
                       const vyre_backend_device *device)
{
  launch->items = 1;
  launch->group_count = 1;
  for (int d = 0; d < 3; ++d) {
    launch->context.groups[d] = desc->groups[d];
    launch->context.local_size[d] = desc->workgroup[d];
    launch->items *= desc->workgroup[d];
    launch->group_count *= desc->groups[d];
  }
  launch->persistent = (desc->flags & VYRE_DISPATCH_PERSISTENT) != 0;
  launch->cooperative = (desc->flags & VYRE_DISPATCH_COOPERATIVE) != 0;
  launch->chunk = launch->group_count / (8 * (uint64_t)device->thread_count);
  if (!launch->chunk || launch->cooperative)
    launch->chunk = 1;
  launch->max_runners = vyre__cpu_runners_most(device, launch->entry, launch->items);
  launch->spins = vyre__cpu_grid_spins(device, launch->group_count);
  const bool small = launch->group_count <= INLINE_ITEMS / launch->items;
  launch->run_inline = !(launch->entry->flags & VYRE_NATIVE_MAY_WAIT) &&
                       (is_fused(launch) ? is_short_fused(launch, desc) : small);
}

static vyre_status make_launch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_backend_pending **out_launch, vyre_error *err)
{
  layout block = plan(desc);
  if (block.local_bytes > VYRE__CPU_MAX_LOCAL_BYTES)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use less workgroup memory",
                       "the bindings ask for more than %u bytes of workgroup memory, which is the "
                       "limit",
                       VYRE__CPU_MAX_LOCAL_BYTES);
  if (block.overflow)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use smaller bindings",
                       "the sizes of the host bindings overflow 64 bits");
  char *base = vyre__plugin_allocate(device->host, block.size, BINDING_ALIGN);
  if (!base)
    return PLUGIN_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, NULL,
                       "no host memory for a launch with %llu bytes of bindings",
                       (unsigned long long)block.size);
  vyre_backend_pending *launch = (vyre_backend_pending *)(void *)base;
  memset(launch, 0, offsetof(vyre_backend_pending, error));
  launch->error.code = VYRE_OK;
  launch->device = device;
  launch->entry = desc->kernel->entry;
  launch->kernel_name = desc->kernel->name;
  launch->bindings = (void **)(void *)(base + block.bindings);
  launch->local = (uint64_t *)(void *)(base + block.local);
  launch->outputs = (vyre__cpu_output *)(void *)(base + block.outputs);
  launch->binding_count = desc->binding_count;
  launch->output_count = block.output_count;
  launch->local_bytes = block.local_bytes;
  launch->started_ns = launch->ended_ns = launch->queued_ns = 0;
  launch->context.runtime = &vyre__cpu_runtime;
  launch->context.push = base + block.push;
  if (desc->push_size)
    memcpy(base + block.push, desc->push, desc->push_size);
  place_bindings(launch, desc, &block);
  place_grid(launch, desc, device);
  *out_launch = launch;
  return VYRE_OK;
}

/* The buffers of the launch were last used by it: uploads and downloads wait for that. */
static void mark_buffers(const vyre_dispatch_desc *desc, uint64_t sequence)
{
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    if (binding->kind != VYRE_BINDING_BUFFER)
      continue;
    /* Relaxed: a caller orders its own dispatch and transfer; the pool's lock, which both take,
       publishes what they guard.  A smaller number never replaces a larger one. */
    uint64_t old = __atomic_load_n(&binding->buffer->last_use, __ATOMIC_RELAXED);
    while (old < sequence &&
           !__atomic_compare_exchange_n(&binding->buffer->last_use, &old, sequence, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
}

vyre_status vyre__cpu_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_backend_pending **out_pending, vyre_error *err)
{
  if (!device || !out_pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the handle",
                       "device or out_pending is NULL");
  uint64_t begin = vyre__plugin_clock_ns();
  vyre_backend_pending *launch = NULL;
  vyre_status status = check(device, desc, err);
  if (status == VYRE_OK)
    status = make_launch(device, desc, &launch, err);
  if (status != VYRE_OK)
    return status;
  if (launch->persistent)
    status = vyre__cpu_persistent_submit(device, launch, err);
  else
    status = vyre__cpu_pool_submit(device, launch, err);
  if (status != VYRE_OK) {
    vyre__plugin_deallocate(device->host, launch);
    return status;
  }
  launch->enqueue_ns = launch->queued_ns - begin;
  if (!launch->persistent)
    mark_buffers(desc, launch->sequence);
  *out_pending = launch;
  return VYRE_OK;
}
