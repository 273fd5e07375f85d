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
  uint64_t step, counts, bindings, local, outputs, push, copies, size;
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

/* `head`: bytes at the start of the block that are the caller's. */
static layout plan(const vyre_dispatch_desc *desc, uint64_t head)
{
  layout block = {0};
  take(&block, head, 1);
  block.step = take(&block, sizeof(vyre__cpu_step), _Alignof(max_align_t));
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

static void place_bindings(char *base, vyre__cpu_step *step, const vyre_dispatch_desc *desc,
                           const layout *block)
{
  vyre__cpu_output *output = (vyre__cpu_output *)(void *)(base + block->outputs);
  layout at = {.size = block->copies};
  vyre_u64 *counts = (vyre_u64 *)(void *)(base + block->counts);
  memset(counts, 0, (size_t)desc->id_limit * sizeof(*counts));
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    counts[binding->id] = binding->element_count;
    step->local[i] = 0;
    if (binding->kind == VYRE_BINDING_WORKGROUP) {
      step->bindings[i] = NULL;
      step->local[i] = (binding->size + BINDING_ALIGN - 1) / BINDING_ALIGN * BINDING_ALIGN;
    } else if (binding->kind == VYRE_BINDING_BUFFER) {
      step->bindings[i] = (char *)binding->buffer->data + binding->offset;
    } else if (needs_copy(binding)) {
      char *copy = base + take(&at, binding->size, BINDING_ALIGN);
      step->bindings[i] = copy;
      if (binding->data)
        memcpy(copy, binding->data, binding->size);
      else
        memset(copy, 0, binding->size);
    } else {
      step->bindings[i] = (void *)binding->data;
    }
    if (is_output(binding))
      *output++ = (vyre__cpu_output){binding->id, step->bindings[i], binding->size};
  }
  step->context.counts = counts;
}

static bool is_short_fused(const vyre__cpu_step *step, const vyre_dispatch_desc *desc)
{
  const uint32_t last = desc->binding_count - 1;
  return step->group_count == 1 && desc->binding_count && step->bindings[last] &&
         vyre__cpu_grid_is_short(step->bindings[last], binding_at(desc, last)->size, step->items);
}

/* How the groups are shared out. */
static void place_grid(vyre__cpu_step *step, const vyre_dispatch_desc *desc,
                       const vyre_backend_device *device)
{
  step->items = 1;
  step->group_count = 1;
  for (int d = 0; d < 3; ++d) {
    step->context.groups[d] = desc->groups[d];
    step->context.local_size[d] = desc->workgroup[d];
    step->items *= desc->workgroup[d];
    step->group_count *= desc->groups[d];
  }
  step->chunk = step->group_count / (8 * (uint64_t)device->thread_count);
  if (!step->chunk || (desc->flags & VYRE_DISPATCH_COOPERATIVE))
    step->chunk = 1;
  step->max_runners = vyre__cpu_runners_most(device, step->entry, step->items);
  step->spins = vyre__cpu_grid_spins(device, step->group_count);
  step->is_small =
      !(step->entry->flags & VYRE_NATIVE_MAY_WAIT) &&
      ((step->entry->flags & VYRE_NATIVE_FUSED) ? is_short_fused(step, desc)
                                                : step->group_count <= INLINE_ITEMS / step->items);
}

/* One block: `head` bytes for the caller, the step, and all that it points to. */
static vyre_status make_block(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                              uint64_t head, void **out_block, vyre__cpu_step **out_step,
                              layout *out_layout, vyre_error *err)
{
  layout block = plan(desc, head);
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
  vyre__cpu_step *step = (vyre__cpu_step *)(void *)(base + block.step);
  memset(step, 0, sizeof(*step));
  step->entry = desc->kernel->entry;
  step->kernel_name = desc->kernel->name;
  step->bindings = (void **)(void *)(base + block.bindings);
  step->local = (uint64_t *)(void *)(base + block.local);
  step->binding_count = desc->binding_count;
  step->local_bytes = block.local_bytes;
  step->context.runtime = &vyre__cpu_runtime;
  step->context.push = base + block.push;
  if (desc->push_size)
    memcpy(base + block.push, desc->push, desc->push_size);
  place_bindings(base, step, desc, &block);
  place_grid(step, desc, device);
  *out_block = base;
  *out_step = step;
  *out_layout = block;
  return VYRE_OK;
}

vyre_status vyre__cpu_step_make(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                vyre__cpu_step **out_step, vyre_error *err)
{
  void *block = NULL;
  layout parts;
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, desc, vyre_dispatch_desc, VYRE_DISPATCH_DESC_SIZE_0_1);
  if (status == VYRE_OK && desc->flags)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "record plain launches only",
                       "it has the flags 0x%llx", (unsigned long long)desc->flags);
  if (status == VYRE_OK)
    status = check(device, desc, err);
  for (uint32_t i = 0; status == VYRE_OK && i < desc->binding_count; ++i)
    if (binding_at(desc, i)->kind == VYRE_BINDING_HOST)
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "bind buffers to what is recorded",
                         "its binding %u is host memory", i);
  if (status == VYRE_OK)
    status = make_block(device, desc, 0, &block, out_step, &parts, err);
  return status;
}

static vyre_status make_launch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_backend_pending **out_launch, vyre_error *err)
{
  vyre_backend_pending *launch = NULL;
  vyre__cpu_step *step = NULL;
  void *block = NULL;
  layout parts;
  vyre_status status =
      make_block(device, desc, sizeof(vyre_backend_pending), &block, &step, &parts, err);
  if (status != VYRE_OK)
    return status;
  launch = block;
  vyre__cpu_launch_init(launch, device);
  launch->kernel_name = step->kernel_name;
  launch->step = step;
  launch->outputs = (vyre__cpu_output *)(void *)((char *)block + parts.outputs);
  launch->output_count = parts.output_count;
  launch->persistent = (desc->flags & VYRE_DISPATCH_PERSISTENT) != 0;
  launch->cooperative = (desc->flags & VYRE_DISPATCH_COOPERATIVE) != 0;
  launch->run_inline = step->is_small;
  *out_launch = launch;
  return VYRE_OK;
}

void vyre__cpu_buffer_mark(vyre_backend_buffer *buffer, uint64_t sequence)
{
  /* Relaxed: a caller orders its own dispatch and transfer; the pool's lock, which both take,
     publishes what they guard.  A smaller number never replaces a larger one. */
  uint64_t old = __atomic_load_n(&buffer->last_use, __ATOMIC_RELAXED);
  while (old < sequence && !__atomic_compare_exchange_n(&buffer->last_use, &old, sequence, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static void mark_buffers(const vyre_dispatch_desc *desc, uint64_t sequence)
{
  for (uint32_t i = 0; i < desc->binding_count; ++i)
    if (binding_at(desc, i)->kind == VYRE_BINDING_BUFFER)
      vyre__cpu_buffer_mark(binding_at(desc, i)->buffer, sequence);
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
