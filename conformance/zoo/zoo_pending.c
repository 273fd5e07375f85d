/* zoo_pending.c - the end of a launch: waiting, reading, releasing; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <string.h>

static vyre_slot *slot_at(vyre_slot *slots, uint64_t stride, uint32_t index)
{
  return (vyre_slot *)(void *)((char *)slots + stride * index);
}

static vyre_status copy_error(vyre_error *err, const vyre_error *from)
{
  return from->code == VYRE_OK ? VYRE_OK : zoo__fail(err, from->code, "%s", from->message);
}

vyre_status zoo__pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  zoo__enter(ZOO_AT_WAIT);
  if (!pending)
    return zoo__pass_on(err, zoo__real()->pending_wait(NULL, timeout_ns, err));
  zoo__sequence_flush(pending->device, ZOO_FROM_HANDLE);
  status = zoo__start_late(pending, err);
  if (status != VYRE_OK)
    return status;
  if (!pending->real)
    return copy_error(err, &pending->error);
  if (ZOO_IS(poll_blocks) && !timeout_ns)
    timeout_ns = VYRE_NO_TIMEOUT;
  if (ZOO_IS(limit_ignored) && timeout_ns && timeout_ns != VYRE_NO_TIMEOUT)
    timeout_ns = 1;
  if (ZOO_IS(timeout_ends_handle) && pending->timed_out)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "this handle has timed out");
  if (ZOO_IS(done_too_early)) {
    pending->timed_out = true;
    return VYRE_OK;
  }
  status = zoo__pass_on(err, zoo__real()->pending_wait(pending->real, timeout_ns, err));
  pending->timed_out = status == VYRE_ERROR_TIMEOUT;
  status = zoo__sequence_ended(pending, status, err);
  if (ZOO_IS(error_once) && status != VYRE_OK && status != VYRE_ERROR_TIMEOUT) {
    if (pending->told)
      return VYRE_OK;
    pending->told = true;
  }
  return status;
}

/* ---- reading ---- */

static void swap_outputs(vyre_slot *a, vyre_slot *b)
{
  unsigned char byte = 0;
  if (a->size != b->size)
    return;
  for (uint64_t i = 0; i < a->size; ++i) {
    byte = ((unsigned char *)a->data)[i];
    ((unsigned char *)a->data)[i] = ((unsigned char *)b->data)[i];
    ((unsigned char *)b->data)[i] = byte;
  }
}

/* Gives what the launch before gave, where the size is the same, and keeps what this one gives. */
static void go_stale(vyre_backend_device *device, vyre_slot *slot)
{
  const vyre_host *host = zoo__host();
  unsigned char *now = slot->size ? host->allocate(host->self, slot->size, 16) : NULL;
  if (!now)
    return;
  memcpy(now, slot->data, slot->size);
  pthread_mutex_lock(&device->lock);
  if (device->last && device->last_size == slot->size)
    memcpy(slot->data, device->last, slot->size);
  host->deallocate(host->self, device->last);
  device->last = now;
  device->last_size = slot->size;
  pthread_mutex_unlock(&device->lock);
}

/* The bytes behind `kept` are as they were before. */
static uint64_t bytes_kept(uint64_t size)
{
  if (ZOO_IS(one_byte_short) && size)
    return size - 1;
  if (ZOO_IS(read_in_words))
    return size - size % 4;
  return size;
}

static void break_outputs(vyre_backend_pending *pending, vyre_slot *slots, uint32_t count,
                          uint64_t stride)
{
  for (uint32_t i = 0; i < count; ++i) {
    vyre_slot *slot = slot_at(slots, stride, i);
    if (ZOO_IS(wrong_tag))
      slot->binding_id = i;
    if (ZOO_IS(wrong_size_told) && slot->size % 2)
      slot->size += 1;
    if (ZOO_IS(capacity_changed))
      slot->capacity += 1;
    if (ZOO_IS(stale_output) && i == 0)
      go_stale(pending->device, slot);
    if (ZOO_IS(one_byte_over) && slot->size)
      ((unsigned char *)slot->data)[slot->size] = 0;
    if (ZOO_IS(host_bytes_back) && pending->data[i] && slot->size)
      memcpy((void *)(uintptr_t)pending->data[i], slot->data, slot->size);
  }
  if (ZOO_IS(outputs_swapped) && count >= 2)
    swap_outputs(slot_at(slots, stride, 0), slot_at(slots, stride, 1));
}

/* Room of another size is taken as it is. */
static vyre_status read_unchecked(vyre_backend_pending *pending, vyre_slot *slots, uint32_t count,
                                  uint64_t stride, vyre_backend_times *out_times, vyre_error *err)
{
  vyre_status status =
      zoo__real()->pending_read(pending->real, slots, count, stride, out_times, err);
  return status == VYRE_ERROR_INVALID_ARGUMENT ? VYRE_OK : status;
}

static vyre_status read_real(vyre_backend_pending *pending, vyre_slot *slots, uint32_t count,
                             uint64_t stride, vyre_backend_times *out_times, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  unsigned char tails[ZOO_MAX_OUTPUTS][4];
  vyre_status status = VYRE_OK;
  if (ZOO_IS(slots_unchecked))
    return read_unchecked(pending, slots, count, stride, out_times, err);
  if (ZOO_IS(done_too_early) && pending->timed_out &&
      real->pending_wait(pending->real, 0, NULL) == VYRE_ERROR_TIMEOUT) {
    for (uint32_t i = 0; i < count; ++i)
      slot_at(slots, stride, i)->size = slot_at(slots, stride, i)->capacity;
    return VYRE_OK;
  }
  for (uint32_t i = 0; i < count && i < pending->output_count; ++i) {
    const vyre_slot *slot = slot_at(slots, stride, i);
    const uint64_t kept = bytes_kept(slot->capacity);
    if (kept < slot->capacity)
      memcpy(tails[i], (char *)slot->data + kept, slot->capacity - kept);
  }
  status =
      zoo__pass_on(err, real->pending_read(pending->real, slots, count, stride, out_times, err));
  if (status != VYRE_OK)
    return status;
  for (uint32_t i = 0; i < count; ++i) {
    const vyre_slot *slot = slot_at(slots, stride, i);
    const uint64_t kept = bytes_kept(slot->capacity);
    if (kept < slot->capacity)
      memcpy((char *)slot->data + kept, tails[i], slot->capacity - kept);
  }
  break_outputs(pending, slots, count, stride);
  return VYRE_OK;
}

static void break_times(vyre_backend_times *times)
{
  const bool whole = times->struct_size >= VYRE_BACKEND_TIMES_SIZE_0_2;
  static uint64_t back;
  if (ZOO_IS(absurd_times))
    times->device_ns = 3600000000000u;
  if (ZOO_IS(ends_before_start) && whole) {
    const uint64_t started = times->started_ns;
    times->started_ns = times->ended_ns;
    times->ended_ns = started;
  }
  if (ZOO_IS(times_go_back) && whole) {
    back += 1000000000u;
    times->started_ns -= back;
    times->ended_ns -= back;
  }
  if (ZOO_IS(other_clock) && whole) {
    times->started_ns += 1ull << 50;
    times->ended_ns += 1ull << 50;
  }
}

static vyre_status read_passes(const vyre_backend_pending *pending, uint32_t slot_count,
                               vyre_backend_times *out_times, vyre_error *err)
{
  uint32_t size = 0;
  if (slot_count)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "passes have no outputs, %u slots came",
                     slot_count);
  if (out_times && out_times->struct_size < VYRE_BACKEND_TIMES_SIZE_0_1)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "vyre_backend_times has %u bytes",
                     out_times->struct_size);
  if (pending->error.code != VYRE_OK || !out_times)
    return copy_error(err, &pending->error);
  size = out_times->struct_size < sizeof *out_times ? out_times->struct_size
                                                    : (uint32_t)sizeof *out_times;
  memcpy(out_times, &pending->passes_times, size);
  out_times->struct_size = size;
  return VYRE_OK;
}

vyre_status zoo__pending_read(vyre_backend_pending *pending, vyre_slot *slots, uint32_t slot_count,
                              uint64_t slot_stride, vyre_backend_times *out_times, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  zoo__enter(ZOO_AT_READ);
  if (!pending)
    return zoo__pass_on(
        err, zoo__real()->pending_read(NULL, slots, slot_count, slot_stride, out_times, err));
  zoo__sequence_flush(pending->device, ZOO_FROM_HANDLE);
  status = zoo__start_late(pending, err);
  if (status != VYRE_OK)
    return status;
  if (!pending->real)
    return read_passes(pending, slot_count, out_times, err);
  if (ZOO_IS(times_overrun) && out_times && out_times->struct_size >= VYRE_BACKEND_TIMES_SIZE_0_1)
    out_times->struct_size = sizeof *out_times;
  status = read_real(pending, slots, slot_count, slot_stride, out_times, err);
  if (status == VYRE_OK && out_times)
    break_times(out_times);
  return status;
}

/* ---- releasing ---- */

void zoo__pending_release(vyre_backend_pending *pending)
{
  const vyre_host *host = zoo__host();
  if (!pending)
    return;
  zoo__enter(ZOO_AT_RELEASE);
  zoo__sequence_flush(pending->device, ZOO_FROM_HANDLE);
  pthread_mutex_lock(&pending->device->lock);
  if (pending->device->resident && pending->device->resident == pending->real)
    pending->device->resident = NULL;
  pthread_mutex_unlock(&pending->device->lock);
  if (ZOO_IS(leak_of_handle) && pending->real &&
      zoo__real()->pending_wait(pending->real, 0, NULL) == VYRE_ERROR_TIMEOUT) {
    zoo__real()->pending_wait(pending->real, VYRE_NO_TIMEOUT, NULL);
    return;
  }
  if (pending->is_late)
    zoo__start_late(pending, NULL);
  if (zoo__sequence_forgotten(pending) || zoo__lend_release(pending))
    return;
  zoo__real()->pending_release(pending->real);
  if (pending->own)
    zoo__real()->sequence_release(pending->device->real, pending->own);
  host->deallocate(host->self, pending);
}
