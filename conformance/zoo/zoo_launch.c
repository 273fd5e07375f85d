/* zoo_launch.c - dispatch(): what goes in; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <string.h>

const vyre_binding *zoo__binding_at(const vyre_dispatch_desc *desc, uint32_t index)
{
  return (const void *)((const char *)desc->bindings + index * desc->binding_stride);
}

bool zoo__is_whole(const vyre_dispatch_desc *desc)
{
  if (!desc || desc->struct_size < VYRE_DISPATCH_DESC_SIZE_0_1 || !desc->kernel ||
      desc->binding_count > ZOO_MAX_OUTPUTS || (desc->binding_count && !desc->bindings) ||
      (desc->binding_count && desc->binding_stride < VYRE_BINDING_SIZE_0_1))
    return false;
  for (uint32_t i = 0; i < desc->binding_count; ++i)
    if (zoo__binding_at(desc, i)->struct_size < VYRE_BINDING_SIZE_0_1)
      return false;
  return true;
}

/* ---- rows that refuse too little: they make the descriptor fit ---- */

static void lower(uint32_t *value, uint32_t most)
{
  if (*value > most)
    *value = most;
}

static void make_fit(const vyre_backend_device_info *limits, vyre_dispatch_desc *desc)
{
  static const uint32_t one[3] = {1, 1, 1};
  if (ZOO_IS(limit_of_items)) {
    for (int d = 0; d < 3; ++d)
      lower(&desc->workgroup[d], limits->max_workgroup[d]);
    while ((uint64_t)desc->workgroup[0] * desc->workgroup[1] * desc->workgroup[2] >
           limits->max_workgroup_items)
      desc->workgroup[0] = desc->workgroup[1] = 1;
  }
  if (ZOO_IS(limit_of_groups))
    for (int d = 0; d < 3; ++d)
      lower(&desc->groups[d], limits->max_groups[d]);
  if (ZOO_IS(limit_of_push))
    lower(&desc->push_size, limits->max_push_bytes);
  if (ZOO_IS(unknown_flags))
    desc->flags &= VYRE_DISPATCH_COOPERATIVE | VYRE_DISPATCH_PERSISTENT;
  if (ZOO_IS(no_groups))
    for (int d = 0; d < 3; ++d)
      if (!desc->groups[d] || !desc->workgroup[d]) {
        memcpy(desc->groups, one, sizeof one);
        memcpy(desc->workgroup, one, sizeof one);
      }
  if (ZOO_IS(cooperative_ignored) || ZOO_IS(cooperative_taken))
    desc->flags &= ~VYRE_DISPATCH_COOPERATIVE;
}

/* One over is cut to what is resident: the groups that are left out never run. */
static void cut_to_residency(vyre_backend_device *device, vyre_dispatch_desc *desc)
{
  uint32_t most = 0;
  if (!(desc->flags & VYRE_DISPATCH_COOPERATIVE))
    return;
  if (zoo__real()->cooperative_groups(device->real, desc->kernel, desc->workgroup, 0, &most,
                                      NULL) == VYRE_OK)
    lower(&desc->groups[0], most);
}

/* ---- rows that change what the kernel sees ---- */

static void change(vyre_backend_device *device, vyre_dispatch_desc *desc, vyre_binding *bindings)
{
  static unsigned char stale[65536];
  if (ZOO_IS(no_zero_fill))
    memset(stale, 0xee, sizeof stale);
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    bindings[i] = *zoo__binding_at(desc, i);
    vyre_binding *binding = &bindings[i];
    if (ZOO_IS(no_zero_fill) && binding->kind == VYRE_BINDING_HOST && !binding->data &&
        binding->size <= sizeof stale)
      binding->data = stale;
    if (ZOO_IS(start_is_zero) && binding->kind == VYRE_BINDING_HOST &&
        binding->access != VYRE_READ_ONLY)
      binding->data = NULL;
    if (ZOO_IS(count_in_bytes))
      binding->element_count = binding->size;
    if (ZOO_IS(buffer_kind_taken) && binding->kind == VYRE_BINDING_BUFFER) {
      binding->kind = VYRE_BINDING_HOST;
      binding->data = NULL;
    }
    if (ZOO_IS(offset_ignored) && binding->kind == VYRE_BINDING_BUFFER)
      binding->offset = 0;
  }
  desc->bindings = bindings;
  desc->binding_stride = sizeof *bindings;
  if (ZOO_IS(last_group_lost) && desc->groups[0] > 64)
    desc->groups[0] -= 1;
  if (ZOO_IS(fails_on_second_open) && device->number && desc->groups[0] > 1)
    desc->groups[0] -= 1;
  if (ZOO_IS(fails_on_second_device) && device->index && desc->groups[0] > 1)
    desc->groups[0] -= 1;
}

/* Bytes of the host that a row writes, which it never may. */
static void write_host(const vyre_dispatch_desc *desc)
{
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = zoo__binding_at(desc, i);
    unsigned char *data = (unsigned char *)(uintptr_t)binding->data;
    if (binding->kind != VYRE_BINDING_HOST || !data || !binding->size)
      continue;
    if (ZOO_IS(read_only_written) && binding->access == VYRE_READ_ONLY)
      data[binding->size - 1] ^= 0x40;
    if (ZOO_IS(host_bytes_written) && binding->access == VYRE_READ_WRITE)
      data[0] ^= 0x40;
  }
}

/* ---- dispatch ---- */

static void note_outputs(vyre_backend_pending *pending, const vyre_dispatch_desc *desc)
{
  for (uint32_t i = 0; i < desc->binding_count && pending->output_count < ZOO_MAX_OUTPUTS; ++i) {
    const vyre_binding *binding = zoo__binding_at(desc, i);
    if (binding->kind == VYRE_BINDING_HOST && binding->access != VYRE_READ_ONLY)
      pending->data[pending->output_count++] = binding->data;
  }
}

void zoo__wait_for_resident(vyre_backend_device *device)
{
  vyre_backend_pending *resident = NULL;
  pthread_mutex_lock(&device->lock);
  resident = device->resident;
  pthread_mutex_unlock(&device->lock);
  if (resident)
    zoo__real()->pending_wait(resident, VYRE_NO_TIMEOUT, NULL);
}

vyre_status zoo__start_late(vyre_backend_pending *pending, vyre_error *err)
{
  vyre_dispatch_desc desc = pending->late;
  vyre_status status = VYRE_OK;
  if (!pending->is_late)
    return VYRE_OK;
  if (ZOO_IS(push_borrowed))
    desc.bindings = pending->late_bindings;
  status = zoo__real()->dispatch(pending->device->real, &desc, &pending->real, err);
  pending->is_late = status != VYRE_OK;
  return status;
}

static vyre_status start(vyre_backend_pending *pending, const vyre_dispatch_desc *desc,
                         vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  vyre_binding bindings[ZOO_MAX_OUTPUTS];
  vyre_dispatch_desc changed;
  if (ZOO_IS(desc_short) && desc && desc->struct_size) {
    changed = *desc;
    changed.struct_size = sizeof changed;
    return zoo__real()->dispatch(device->real, &changed, &pending->real, err);
  }
  if (!zoo__is_whole(desc))
    return zoo__real()->dispatch(device->real, desc, &pending->real, err);
  changed = *desc;
  make_fit(&device->limits, &changed);
  if (ZOO_IS(push_borrowed) || ZOO_IS(bindings_borrowed)) {
    pending->late = changed;
    for (uint32_t i = 0; i < desc->binding_count; ++i)
      pending->late_bindings[i] = *zoo__binding_at(desc, i);
    if (ZOO_IS(push_borrowed))
      pending->late.binding_stride = sizeof pending->late_bindings[0];
    pending->is_late = true;
    return VYRE_OK;
  }
  change(device, &changed, bindings);
  if (ZOO_IS(residency_not_enforced))
    cut_to_residency(device, &changed);
  if (ZOO_IS(resident_blocks) && !(desc->flags & VYRE_DISPATCH_PERSISTENT))
    zoo__wait_for_resident(device);
  write_host(desc);
  return zoo__real()->dispatch(device->real, &changed, &pending->real, err);
}

static vyre_status refuse(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                          vyre_error *err)
{
  if (ZOO_IS(desc_equality) && desc->struct_size != sizeof *desc)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a dispatch has %zu bytes, not %u",
                     sizeof *desc, desc->struct_size);
  if (ZOO_IS(fails_on_second_thread) && !pthread_equal(device->opener, pthread_self()))
    return zoo__fail(err, VYRE_ERROR_INTERNAL, "this device belongs to another thread");
  if (ZOO_IS(no_persistent) && desc && (desc->flags & VYRE_DISPATCH_PERSISTENT))
    return zoo__fail(err, VYRE_ERROR_UNSUPPORTED, "no launch may stay");
  if (zoo__emulates() && !ZOO_IS(cooperative_taken) && desc &&
      desc->struct_size >= VYRE_DISPATCH_DESC_SIZE_0_1 &&
      (desc->flags & VYRE_DISPATCH_COOPERATIVE) && !(desc->flags >> 2))
    return zoo__fail(err, VYRE_ERROR_UNSUPPORTED, "the zoo emulates: it has no cooperative launch");
  return VYRE_OK;
}

vyre_status zoo__dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                          vyre_backend_pending **out_pending, vyre_error *err)
{
  const vyre_host *host = zoo__host();
  vyre_backend_pending *pending = NULL;
  vyre_status status = VYRE_OK;
  zoo__enter(ZOO_AT_DISPATCH);
  zoo__sequence_flush(device, ZOO_FROM_DISPATCH);
  zoo__lend_settle(device, ZOO_FROM_DISPATCH);
  status = refuse(device, desc, err);
  if (status != VYRE_OK)
    return status;
  pending = host->allocate(host->self, sizeof *pending, 16);
  if (!pending)
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a launch");
  memset(pending, 0, sizeof *pending);
  pending->device = device;
  status = zoo__pass_on(err, start(pending, desc, err));
  if (status != VYRE_OK) {
    if (ZOO_IS(stores_on_error))
      *out_pending = pending;
    if (!ZOO_IS(leak_on_error))
      host->deallocate(host->self, pending);
    return status;
  }
  note_outputs(pending, desc);
  if (desc->flags & VYRE_DISPATCH_PERSISTENT) {
    pthread_mutex_lock(&device->lock);
    device->resident = pending->real;
    pthread_mutex_unlock(&device->lock);
  } else {
    zoo__lend_launch(device, pending);
  }
  if (ZOO_IS(leak_of_launch))
    (void)!host->allocate(host->self, 16, 8);
  *out_pending = ZOO_IS(null_pending) ? NULL : pending;
  return VYRE_OK;
}
