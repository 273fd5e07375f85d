/* cost.c - what a launch and a barrier of the grid cost on a device; see cost.h. */
#include "core/dispatch/cost.h"

#include "core/base/clock.h"
#include "core/dispatch/bind.h"
#include "core/dispatch/control.h"

/* Enough for a median of each; a launch that must wake others is the slow part. */
#define ROUNDS 5
#define LAUNCHES 8
#define BARRIERS 256
#define COPIED (256u * 1024u)

typedef struct device_probe {
  vyre_device *device;
  vyre_buffer *control;
  vyre_dispatch_desc desc;
  vyre_binding bindings[VYRE__MAX_BINDINGS];
} device_probe;

/* The cell of the device's table for so many groups, by powers of two. */
static uint32_t row_of(uint32_t groups)
{
  uint32_t row = 0;
  while (groups > 1 && row + 1 < VYRE__COST_ROWS) {
    groups = groups / 2 + (groups & 1);
    ++row;
  }
  return row;
}

/* Every buffer of the program is bound empty: with no logical group nobody looks at it. */
static void describe(const vyre_pending *pending, uint32_t groups, device_probe *out_probe)
{
  const vyre_program *program = pending->program;
  vyre_binding *bindings = out_probe->bindings;
  const uint32_t grid[3] = {groups, 1, 1};
  uint32_t count = 0;
  for (; count < program->fused_count; ++count) {
    const uint32_t buffer = program->fused_buffers[count];
    const bool local = program->buffers[buffer].access == VYRE_WORKGROUP;
    vyre__bind(pending, buffer, local ? VYRE_WORKGROUP : VYRE_READ_WRITE, &bindings[count]);
    if (local)
      continue;
    bindings[count].kind = VYRE_BINDING_BUFFER;
    bindings[count].buffer = out_probe->control->handle;
    bindings[count].size = bindings[count].element_count = 0;
  }
  for (uint32_t own = program->settle ? 0 : 1; own < 2; ++own, ++count) {
    vyre_binding *binding = &bindings[count];
    memset(binding, 0, sizeof *binding);
    binding->struct_size = sizeof *binding;
    binding->id = own ? vyre__control_id(program) : vyre__shadow_id(program);
    binding->access = VYRE_READ_WRITE;
    binding->kind = VYRE_BINDING_BUFFER;
    binding->buffer = out_probe->control->handle;
    binding->size = own ? vyre__control_size(program) : 0;
    binding->element_count = binding->size / sizeof(uint32_t);
  }
  vyre__bind_desc(pending, program->fused, grid, bindings, count, &out_probe->desc);
  out_probe->desc.flags = VYRE_DISPATCH_COOPERATIVE;
}

/* `count` launches in a row of so many passes each; the time from the first call to the last end.
 */
static bool run(const device_probe *probe, uint32_t count, uint32_t passes, uint64_t *out_ns)
{
  const vyre_backend *backend = probe->device->backend;
  vyre_backend_pending *handles[LAUNCHES] = {0};
  uint32_t started = 0;
  uint64_t begin = 0;
  bool good = !vyre_buffer_upload(probe->control, VYRE_CONTROL_LIMIT * sizeof passes, &passes,
                                  sizeof passes, NULL);
  begin = vyre__now_ns();
  while (good && started < count) {
    good = !backend->dispatch(probe->device->handle, &probe->desc, &handles[started], NULL) &&
           handles[started];
    started += good;
  }
  for (uint32_t i = 0; i < started; ++i)
    good = !backend->pending_wait(handles[i], VYRE_NO_TIMEOUT, NULL) && good;
  *out_ns = vyre__now_ns() - begin;
  for (uint32_t i = 0; i < started; ++i)
    backend->pending_release(handles[i]);
  return good;
}

static uint64_t median(uint64_t *values)
{
  for (uint32_t i = 1; i < ROUNDS; ++i)
    for (uint32_t j = i; j && values[j] < values[j - 1]; --j) {
      const uint64_t larger = values[j - 1];
      values[j - 1] = values[j];
      values[j] = larger;
    }
  return values[ROUNDS / 2];
}

/* Long enough for threads that ran the last launch to sleep. */
static void rest(void)
{
  const struct timespec pause = {0, 100000};
  nanosleep(&pause, NULL);
}

static bool measure(const device_probe *probe, uint32_t steps, vyre__cost *out_cost)
{
  const uint32_t passes = BARRIERS / steps + 1;
  uint64_t starts[ROUNDS], launches[ROUNDS], whole[ROUNDS], first = 0, barriers = 0;
  if (!run(probe, 1, 1, &first)) /* loads what is not loaded yet */
    return false;
  for (uint32_t r = 0; r < ROUNDS; ++r) {
    rest();
    if (!run(probe, 1, 0, &starts[r]) || !run(probe, LAUNCHES, 0, &launches[r]))
      return false;
    rest();
    if (!run(probe, 1, passes, &whole[r]))
      return false;
  }
  out_cost->start_ns = median(starts);
  out_cost->launch_ns = median(launches) / LAUNCHES;
  barriers = median(whole);
  barriers = barriers > out_cost->start_ns ? barriers - out_cost->start_ns : 0;
  out_cost->barrier_ns = barriers / ((uint64_t)passes * steps) + 1;
  return true;
}

static bool measure_copy(vyre_pending *pending, vyre__cost *out_cost)
{
  const vyre_allocator *allocator = &pending->program->device->allocator;
  uint64_t times[ROUNDS];
  vyre_buffer *buffer = NULL;
  void *bytes = vyre__allocate_zeroed(allocator, 1, COPIED);
  bool good = bytes && !vyre_buffer_create(pending->program->device, COPIED, &buffer, NULL);
  for (uint32_t r = 0; r < ROUNDS && good; ++r) {
    const uint64_t begin = vyre__now_ns();
    good = !vyre_buffer_upload(buffer, 0, bytes, COPIED, NULL);
    times[r] = vyre__now_ns() - begin;
  }
  if (good)
    out_cost->copy_ps = median(times) * 1000 / COPIED;
  vyre_buffer_destroy(buffer);
  vyre__deallocate(allocator, bytes);
  return good;
}

static bool probe_device(vyre_pending *pending, uint32_t groups, vyre__cost *out_cost)
{
  const vyre_program *program = pending->program;
  const uint64_t size = vyre__control_size(program);
  device_probe probe;
  bool good = false;
  memset(&probe, 0, sizeof probe);
  probe.device = program->device;
  if (vyre_buffer_create(program->device, size, &probe.control, NULL))
    return false;
  describe(pending, groups, &probe);
  good = measure(&probe, program->segment_count + (program->settle != NULL), out_cost);
  vyre_buffer_destroy(probe.control);
  return good && measure_copy(pending, out_cost);
}

bool vyre__cost_get(vyre_pending *pending, uint32_t groups, vyre__cost *out_cost)
{
  vyre__cost *kept = &pending->program->device->costs[row_of(groups)];
  /* Acquire, partner: the release below: who sees barrier_ns sees the others.  Two who measure at
     the same time both store something that is right. */
  out_cost->barrier_ns = __atomic_load_n(&kept->barrier_ns, __ATOMIC_ACQUIRE);
  out_cost->start_ns = __atomic_load_n(&kept->start_ns, __ATOMIC_RELAXED);
  out_cost->launch_ns = __atomic_load_n(&kept->launch_ns, __ATOMIC_RELAXED);
  out_cost->copy_ps = __atomic_load_n(&kept->copy_ps, __ATOMIC_RELAXED);
  if (out_cost->barrier_ns)
    return true;
  if (!probe_device(pending, groups, out_cost))
    return false;
  __atomic_store_n(&kept->start_ns, out_cost->start_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&kept->launch_ns, out_cost->launch_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&kept->copy_ps, out_cost->copy_ps, __ATOMIC_RELAXED);
  __atomic_store_n(&kept->barrier_ns, out_cost->barrier_ns, __ATOMIC_RELEASE);
  return true;
}
