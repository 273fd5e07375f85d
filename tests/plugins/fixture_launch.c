/* fixture_launch.c - the fixture's launches: what is refused, how they end, their outputs. */
#include "fixture_inside.h"

#include <inttypes.h>
#include <string.h>

#define LAUNCH_TICKS 600 /* of the fixture's clock, for each step */

/* ---- starting ---- */

/* DISP-011 and DISP-013. */
static vyre_status check_cooperative(const vyre_dispatch_desc *desc, vyre_error *err)
{
  const uint64_t groups = (uint64_t)desc->groups[0] * desc->groups[1] * desc->groups[2];
  if (VALUE(grid_sync) != VYRE_GRID_SYNC_NATIVE)
    return fixture__fail(err, VYRE_ERROR_UNSUPPORTED, "the fixture has no cooperative launches");
  if (VALUE(residency))
    return fixture__fail(err, VALUE(residency), "the fixture does not launch cooperatively");
  if (groups > (uint64_t)VALUE(cooperative_groups))
    return fixture__fail(err, VYRE_ERROR_RESIDENCY_EXCEEDED,
                         "%" PRIu64 " groups, at most %" PRId64 " are resident at once", groups,
                         VALUE(cooperative_groups));
  return VYRE_OK;
}

static vyre_status check_dispatch(const vyre_dispatch_desc *desc, vyre_error *err)
{
  uint64_t items = (uint64_t)desc->workgroup[0] * desc->workgroup[1] * desc->workgroup[2];
  int i;
  if (desc->struct_size < VYRE_DISPATCH_DESC_SIZE_0_1)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "struct_size is %" PRIu32,
                         desc->struct_size);
  if (desc->flags & VYRE_DISPATCH_PERSISTENT)
    return fixture__fail(err, VYRE_ERROR_UNSUPPORTED, "the fixture has no persistent launches");
  if (desc->flags & ~VYRE_DISPATCH_COOPERATIVE)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "unknown flags");
  if (desc->push_size > 128 || desc->binding_count > MAX_BINDINGS ||
      (desc->binding_count && desc->binding_stride < VYRE_BINDING_SIZE_0_1))
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "%" PRIu32 " push bytes (at most 128), %" PRIu32 " bindings (at most %u)",
                         desc->push_size, desc->binding_count, MAX_BINDINGS);
  for (i = 0; i < 3; i++)
    if (!desc->groups[i] || !desc->workgroup[i] || desc->workgroup[i] > (i < 2 ? 1024 : 64))
      return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a grid outside of the limits");
  if (items > 1024)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "%" PRIu64 " items per group, at most 1024", items);
  if (desc->flags & VYRE_DISPATCH_COOPERATIVE)
    return check_cooperative(desc, err);
  if (desc->kernel->what == KERNEL_fused)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "'%s' in a plain launch (DISP-013)",
                         desc->kernel->name);
  return VYRE_OK;
}

/* Host bytes that may be written are copied; the others are used where they are (DISP-001..003). */
static vyre_status make_view(const vyre_binding *binding, fixture__view *to, vyre_error *err)
{
  bool is_host = binding->kind == VYRE_BINDING_HOST;
  to->binding = *binding;
  if (binding->kind == VYRE_BINDING_BUFFER) {
    if (!binding->buffer || binding->offset > binding->buffer->size ||
        binding->size > binding->buffer->size - binding->offset)
      return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                           "binding %" PRIu32 " exceeds its buffer", binding->id);
    to->bytes = binding->buffer->bytes + binding->offset;
    return VYRE_OK;
  }
  if (is_host && binding->data) {
    ADD(host_bindings_bytes, binding->size);
    ADD(watched, (int64_t)(intptr_t)binding->data == VALUE(watch));
  }
  if (is_host && binding->access == VYRE_READ_ONLY && binding->data) {
    to->bytes = (unsigned char *)binding->data;
    return VYRE_OK;
  }
  to->bytes = to->own = fixture__allocate(binding->size);
  if (!to->own)
    return fixture__no_memory(err);
  if (is_host && binding->data && binding->size)
    memcpy(to->own, binding->data, (size_t)binding->size);
  return VYRE_OK;
}

void fixture__drop(vyre_backend_pending *pending)
{
  uint32_t i;
  for (i = 0; pending && i < pending->count; i++)
    fixture__deallocate(pending->views[i].own);
  fixture__deallocate(pending);
}

vyre_status fixture__prepare(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                             vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre_status status = check_dispatch(desc, err);
  uint32_t i;
  if (status)
    return status;
  pending = fixture__allocate(sizeof *pending + desc->binding_count * sizeof pending->views[0]);
  if (!pending)
    return fixture__no_memory(err);
  pending->device = device;
  pending->count = desc->binding_count;
  for (i = 0; !status && i < desc->binding_count; i++)
    status = make_view((const void *)((const char *)desc->bindings + i * desc->binding_stride),
                       &pending->views[i], err);
  if (status)
    fixture__drop(pending);
  else
    *out_pending = pending;
  return status;
}

void fixture__launch(vyre_backend_pending *pending, const vyre_dispatch_desc *desc)
{
  if (TURN(lose_at))
    __atomic_store_n(&pending->device->lost, 1, __ATOMIC_SEQ_CST);
  pending->result = fixture__run(desc, pending->views, pending->count, &pending->why);
  pending->ended = (uint64_t)fixture__add(VALUE_clock, LAUNCH_TICKS);
  if (!pending->started)
    pending->started = pending->ended - LAUNCH_TICKS;
  ADD(clock, 400); /* until the next one */
}

vyre_status fixture__dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                              vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre_status status = fixture__check_lost(device, err);
  if (!status && VALUE(dispatch_error))
    status = fixture__fail(err, VALUE(dispatch_error), "the fixture does not dispatch");
  if (!status && TURN(dispatch_fail_at))
    status = fixture__fail(err, VYRE_ERROR_DISPATCH_FAILED, "the fixture does not dispatch now");
  if (!status)
    status = fixture__prepare(device, desc, &pending, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  fixture__launch(pending, desc);
  pthread_mutex_unlock(&device->lock);
  ADD(dispatches, 1);
  ADD(cooperative_calls, (desc->flags & VYRE_DISPATCH_COOPERATIVE) != 0);
  ADD(pendings_live, 1);
  *out_pending = pending;
  return VYRE_OK;
}

/* ---- ending ---- */

vyre_status fixture__pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                  vyre_error *err)
{
  vyre_status status;
  ADD(waits, 1);
  if (!fixture__wait_for_hold(timeout_ns))
    return fixture__fail(err, VYRE_ERROR_TIMEOUT, "the launch has not ended");
  status = fixture__check_lost(pending->device, err);
  if (status)
    return status;
  if (VALUE(wait_error))
    return fixture__fail(err, VALUE(wait_error), "the fixture's launch failed");
  if (pending->result)
    return fixture__fail(err, pending->result, "%s", pending->why ? pending->why : "it failed");
  return VYRE_OK;
}

static vyre_slot *slot_at(vyre_slot *slots, uint64_t stride, uint32_t index)
{
  return (void *)((char *)slots + index * stride);
}

/* Spoils what is filled already. */
static void lie(vyre_slot *slots, uint32_t count, uint64_t stride)
{
  const bool swaps = TURN(swap_outputs) || IS(wrong_output_tag);
  vyre_slot *last = count ? slot_at(slots, stride, count - 1) : NULL;
  uint32_t id = count ? slots->binding_id : 0;
  if (swaps && count > 1) {
    slots->binding_id = last->binding_id;
    last->binding_id = id;
  } else if (swaps && count) {
    slots->binding_id += 1;
  }
  if (count && TURN(long_output))
    last->size += 1;
}

static vyre_status fill_slots(const vyre_backend_pending *pending, vyre_slot *slots, uint32_t count,
                              uint64_t stride, vyre_error *err)
{
  const bool drops = (count && TURN(drop_output)) || IS(one_output_less);
  uint32_t i, next = 0;
  if (count && TURN(extra_output))
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "too few slots: %" PRIu32, count);
  for (i = 0; i < pending->count; i++) {
    const fixture__view *from = &pending->views[i];
    vyre_slot *slot = NULL;
    if (from->binding.kind != VYRE_BINDING_HOST || !fixture__may_write(from))
      continue;
    if (next == count)
      return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "too few slots: %" PRIu32, count);
    if (drops && next == count - 1)
      return VYRE_OK;
    slot = slot_at(slots, stride, next++);
    if (slot->capacity != from->binding.size)
      return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                           "slot of %" PRIu64 " bytes for a binding of %" PRIu64, slot->capacity,
                           from->binding.size);
    if (slot->capacity)
      memcpy(slot->data, from->bytes, (size_t)slot->capacity);
    slot->size = slot->capacity;
    slot->binding_id = from->binding.id;
    ADD(read_bytes, slot->size);
  }
  if (next != count)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "too many slots: %" PRIu32, count);
  lie(slots, count, stride);
  return VYRE_OK;
}

/* As much as both know (ABI-002). */
static void tell_times(const vyre_backend_pending *pending, vyre_backend_times *out_times)
{
  const bool measured = VALUE(timestamps) != 0;
  const bool later = fixture__minor() >= 2 && out_times->struct_size >= VYRE_BACKEND_TIMES_SIZE_0_2;
  out_times->struct_size = later ? VYRE_BACKEND_TIMES_SIZE_0_2 : VYRE_BACKEND_TIMES_SIZE_0_1;
  out_times->device_ns = measured ? pending->ended - pending->started : VYRE_TIME_ABSENT;
  out_times->enqueue_ns = out_times->wait_ns = 0;
  if (later) {
    out_times->started_ns = measured ? pending->started : VYRE_TIME_ABSENT;
    out_times->ended_ns = measured ? pending->ended : VYRE_TIME_ABSENT;
  }
}

vyre_status fixture__pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                  uint32_t slot_count, uint64_t slot_stride,
                                  vyre_backend_times *out_times, vyre_error *err)
{
  vyre_status status = fixture__pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status)
    return status;
  if (VALUE(read_error))
    return fixture__fail(err, VALUE(read_error), "the fixture does not read");
  status = fill_slots(pending, slots, slot_count, slot_stride, err);
  if (status)
    return status;
  if (out_times)
    tell_times(pending, out_times);
  ADD(reads, 1);
  return VYRE_OK;
}

void fixture__pending_release(vyre_backend_pending *pending)
{
  if (!pending)
    return;
  fixture__wait_for_hold(VYRE_NO_TIMEOUT);
  fixture__drop(pending);
  ADD(pendings_live, -1);
}
