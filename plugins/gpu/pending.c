/*
 * pending.c - the end of a launch: waiting for it, its error, its outputs; and the handles, which
 * are kept with their events from launch to launch.
 */
#include "plugins/gpu/pending.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"
#include "plugins/gpu/launch.h"
#include "plugins/gpu/residency.h"
#include "plugins/gpu/staging.h"

#include <string.h>

/* -------- handles -------- */

static void drop(vyre_backend_pending *pending)
{
  vyre_backend_device *device = pending->device;
  vyre__gpu_event_give(device, true, pending->started);
  vyre__gpu_event_give(device, true, pending->ended_timed);
  vyre__gpu_event_give(device, false, pending->ended_untimed);
  pthread_mutex_destroy(&pending->lock);
  vyre__plugin_deallocate(device->host, pending);
}

static vyre_status make(vyre_backend_device *device, vyre_backend_pending **out_pending,
                        vyre_error *err)
{
  vyre_backend_pending *pending =
      vyre__plugin_allocate(device->host, sizeof(*pending), _Alignof(vyre_backend_pending));
  if (!pending)
    return PLUGIN_FAIL_MEMORY(err, "a launch");
  memset(pending, 0, offsetof(vyre_backend_pending, outputs));
  pending->device = device;
  pthread_mutex_init(&pending->lock, NULL);
  *out_pending = pending;
  return VYRE_OK;
}

/* Those that the handle has not got yet.  An event without times costs the driver less. */
static vyre_status take_events(vyre_backend_pending *pending, bool is_timed, vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  vyre_status status = VYRE_OK;
  if (is_timed && !pending->started)
    status = vyre__gpu_event_take(device, true, &pending->started, err);
  if (is_timed && !pending->ended_timed && status == VYRE_OK)
    status = vyre__gpu_event_take(device, true, &pending->ended_timed, err);
  if (!is_timed && !pending->ended_untimed)
    status = vyre__gpu_event_take(device, false, &pending->ended_untimed, err);
  pending->is_timed = is_timed;
  pending->ended = is_timed ? pending->ended_timed : pending->ended_untimed;
  return status;
}

vyre_status vyre__gpu_pending_take(vyre_backend_device *device, bool is_timed,
                                   vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  pthread_mutex_lock(&device->lock);
  vyre_backend_pending *pending = device->spare;
  if (pending) {
    device->spare = pending->next;
    device->spare_count -= 1;
  }
  pthread_mutex_unlock(&device->lock);
  const bool is_new = !pending;
  if (is_new)
    status = make(device, &pending, err);
  if (status != VYRE_OK)
    return status;
  pending->next = NULL;
  pending->kernel = NULL;
  pending->subject = "kernel";
  pending->stream = NULL;
  pending->block = pending->fault = 0;
  pending->enqueue_ns = 0;
  pending->output_count = 0;
  pending->is_new = is_new;
  pending->is_marked = true;
  pending->is_persistent = pending->is_resident = false;
  /* Relaxed: nobody else has the handle yet. */
  __atomic_store_n(&pending->state, VYRE__GPU_RUNNING, __ATOMIC_RELAXED);
  pending->error.code = VYRE_OK;
  status = take_events(pending, is_timed, err);
  if (status == VYRE_OK)
    *out_pending = pending;
  else
    vyre__gpu_pending_give(pending, NULL); /* it has no block */
  return status;
}

/* A driver that refuses this has lost the memory or the context: nobody asks again. */
static void give_block(vyre_backend_pending *pending, vyre__gpu_stream *stream)
{
  vyre_backend_device *device = pending->device;
  vyre__gpu_scope scope;
  if (vyre__gpu_enter_to_free(device, &scope))
    (void)(device->facts.stream_ordered ? vyre__gpu_driver.memory_give_async(pending->block, stream)
                                        : vyre__gpu_driver.memory_give(pending->block));
  vyre__gpu_leave(&scope);
  pending->block = 0;
}

/* A persistent launch is gone.  Once for each launch: by end(), or by give() without one. */
static void leave_residency(vyre_backend_pending *pending)
{
  if (!pending->is_resident)
    return;
  pending->is_resident = false;
  vyre__gpu_residency_lock();
  vyre__gpu_residency_remove(pending);
  vyre__gpu_residency_unlock();
  vyre__gpu_persistent_stream_give(pending->device, pending->stream);
}

void vyre__gpu_pending_give(vyre_backend_pending *pending, vyre__gpu_stream *stream)
{
  vyre_backend_device *device = pending->device;
  /* A handle that was made for a launch that failed goes too: nothing is left of it (ABI-008). */
  const bool has_ended = __atomic_load_n(&pending->state, __ATOMIC_RELAXED) == VYRE__GPU_ENDED;
  bool is_kept = has_ended || !pending->is_new;
  if (pending->block)
    give_block(pending, stream);
  leave_residency(pending);
  if (is_kept) {
    pthread_mutex_lock(&device->lock);
    is_kept = device->spare_count < VYRE__GPU_HANDLES_KEPT;
    if (is_kept) {
      pending->next = device->spare;
      device->spare = pending;
      device->spare_count += 1;
    }
    pthread_mutex_unlock(&device->lock);
  }
  if (!is_kept)
    drop(pending);
}

void vyre__gpu_launches_drop(vyre_backend_device *device)
{
  vyre__gpu_scope scope;
  while (device->spare) {
    vyre_backend_pending *pending = device->spare;
    device->spare = pending->next;
    device->spare_count -= 1;
    drop(pending);
  }
  vyre__gpu_residency_forget(device);
  if (device->stream_count && vyre__gpu_enter_to_free(device, &scope)) {
    while (device->stream_count)
      (void)vyre__gpu_driver.stream_drop(device->streams[--device->stream_count]);
    vyre__gpu_leave(&scope);
  }
  device->stream_count = 0;
}

/* -------- the end -------- */

static bool has_ended(const vyre_backend_pending *pending)
{
  /* Acquire: pairs with the release in end(), before which `error` was written. */
  return __atomic_load_n(&pending->state, __ATOMIC_ACQUIRE) == VYRE__GPU_ENDED;
}

/* The handle's lock is held. */
static void end(vyre_backend_pending *pending)
{
  leave_residency(pending);
  /* Release: pairs with the acquire in has_ended(). */
  __atomic_store_n(&pending->state, VYRE__GPU_ENDED, __ATOMIC_RELEASE);
}

static void tell_fault(vyre_backend_pending *pending, const vyre__gpu_fault *fault)
{
  vyre_error *error = &pending->error;
  const int what = (int)sizeof(fault->what), file = (int)sizeof(fault->file);
  error->struct_size = sizeof(*error);
  if (fault->kind == VYRE__GPU_FAULT_SHIFT)
    (void)PLUGIN_FAIL(error, VYRE_ERROR_DISPATCH_FAILED, "mask the distance, or use vyre_shl()",
                      "%s %s: a shift by %llu of a value of %llu bits, %.*s:%u", pending->subject,
                      pending->kernel->name, (unsigned long long)fault->index,
                      (unsigned long long)fault->count, file, fault->file, fault->line);
  else
    (void)PLUGIN_FAIL(error, VYRE_ERROR_DISPATCH_FAILED, "correct the index, or the buffer's size",
                      "%s %s: index %llu of buffer '%.*s', which has %llu elements, %.*s:%u",
                      pending->subject, pending->kernel->name, (unsigned long long)fault->index,
                      what, fault->what, (unsigned long long)fault->count, file, fault->file,
                      fault->line);
}

/* What happens once, when the end event was reached.  The context is current. */
static vyre_status finish(vyre_backend_pending *pending, vyre_error *err)
{
  vyre__gpu_fault fault = {0};
  vyre_status status = VYRE_OK;
  pthread_mutex_lock(&pending->lock);
  if (!has_ended(pending)) {
    if (pending->fault)
      status = vyre__gpu_stage_out(pending->device, pending->device->copy, &fault, pending->fault,
                                   sizeof(fault), err);
    if (status == VYRE_OK && fault.taken)
      tell_fault(pending, &fault);
    if (status == VYRE_OK)
      end(pending);
  }
  pthread_mutex_unlock(&pending->lock);
  return status;
}

/* Until the end event is reached: VYRE_OK, TIMEOUT (without a text), or what the device says.  A
   persistent launch is seldom about to end. */
static vyre_status watch(const vyre_backend_pending *pending, uint64_t timeout_ns, vyre_error *err)
{
  return vyre__gpu_event_watch(pending->device, pending->ended, pending->is_persistent, timeout_ns,
                               "waiting for a launch", err);
}

vyre_status vyre__gpu_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                   vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status = VYRE_OK;
  if (!pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a handle from dispatch()",
                       "the pending handle is NULL");
  if (!pending->is_marked)
    return vyre__plugin_error_copy(err, &pending->error);
  if (!has_ended(pending)) {
    status = vyre__gpu_enter(pending->device, &scope, err);
    if (status == VYRE_OK)
      status = watch(pending, timeout_ns, err);
    if (status == VYRE_ERROR_TIMEOUT)
      (void)PLUGIN_FAIL(err, status, NULL, "%s %s has not ended after %llu ns", pending->subject,
                        pending->kernel->name, (unsigned long long)timeout_ns);
    if (status == VYRE_OK)
      status = finish(pending, err);
    vyre__gpu_leave(&scope);
  }
  if (status == VYRE_OK && pending->error.code != VYRE_OK)
    status = vyre__plugin_error_copy(err, &pending->error);
  return status;
}

/* -------- reading -------- */

static vyre_slot *slot_at(vyre_slot *slots, uint64_t stride, uint32_t index)
{
  return (vyre_slot *)(void *)((char *)slots + stride * index);
}

/* READ-001 and READ-002, before anything is written. */
static vyre_status check_slots(const vyre_backend_pending *pending, vyre_slot *slots,
                               uint32_t slot_count, uint64_t stride, vyre_error *err)
{
  if (slot_count != pending->output_count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give one slot for each HOST binding that is not READ_ONLY",
                       "%s %s has %u outputs, %u slots were given", pending->subject,
                       pending->kernel->name, pending->output_count, slot_count);
  if (slot_count && (!slots || stride < VYRE_SLOT_SIZE_0_1))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give an array of vyre_slot and its stride in bytes",
                       "slots is %s, their stride is %llu bytes", slots ? "given" : "NULL",
                       (unsigned long long)stride);
  for (uint32_t i = 0; i < slot_count; ++i) {
    const vyre_slot *slot = slot_at(slots, stride, i);
    const vyre__gpu_output *output = &pending->outputs[i];
    const vyre_status status = PLUGIN_CHECK_SIZE(err, slot, vyre_slot, VYRE_SLOT_SIZE_0_1);
    if (status != VYRE_OK)
      return status;
    if (slot->capacity != output->size || (slot->capacity && !slot->data))
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "give room for exactly the binding's size",
                         "slot %u has %llu bytes at %s, binding %u has %llu", i,
                         (unsigned long long)slot->capacity, slot->data ? "an address" : "NULL",
                         output->id, (unsigned long long)output->size);
  }
  return VYRE_OK;
}

/* Outputs of this many bytes in all come in one copy. */
#define TOGETHER_BYTES ((uint64_t)256 << 10)

/* The range of the block that the outputs lie in: they follow each other (arguments.c). */
static uint64_t output_span(const vyre_backend_pending *pending)
{
  const vyre__gpu_output *last = &pending->outputs[pending->output_count - 1];
  return last->address + last->size - pending->outputs[0].address;
}

/* One copy for all outputs, by a piece of memory in between; `memory` holds the span. */
static vyre_status read_together(const vyre_backend_pending *pending, vyre_slot *slots,
                                 uint64_t stride, unsigned char *memory, vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  const vyre__gpu_address first = pending->outputs[0].address;
  const vyre_status status =
      vyre__gpu_stage_out(device, device->copy, memory, first, output_span(pending), err);
  for (uint32_t i = 0; i < pending->output_count && status == VYRE_OK; ++i)
    if (pending->outputs[i].size)
      memcpy(slot_at(slots, stride, i)->data, memory + (pending->outputs[i].address - first),
             pending->outputs[i].size);
  return status;
}

static vyre_status read_each(const vyre_backend_pending *pending, vyre_slot *slots, uint64_t stride,
                             vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; i < pending->output_count && status == VYRE_OK; ++i)
    status = vyre__gpu_stage_out(device, device->copy, slot_at(slots, stride, i)->data,
                                 pending->outputs[i].address, pending->outputs[i].size, err);
  return status;
}

/* All bytes first, what the slots say after them: an error leaves the slots as they were. */
static vyre_status read_outputs(const vyre_backend_pending *pending, vyre_slot *slots,
                                uint64_t stride, vyre_error *err)
{
  const vyre_host *host = pending->device->host;
  unsigned char *memory = NULL;
  if (pending->output_count > 1 && output_span(pending) <= TOGETHER_BYTES)
    memory = vyre__plugin_allocate(host, output_span(pending), 64);
  const vyre_status status = memory ? read_together(pending, slots, stride, memory, err)
                                    : read_each(pending, slots, stride, err);
  vyre__plugin_deallocate(host, memory);
  for (uint32_t i = 0; i < pending->output_count && status == VYRE_OK; ++i) {
    vyre_slot *slot = slot_at(slots, stride, i);
    slot->binding_id = pending->outputs[i].id;
    slot->size = pending->outputs[i].size;
    if (slot->struct_size > sizeof(*slot))
      slot->struct_size = sizeof(*slot);
  }
  return status;
}

static vyre_status read_times(const vyre_backend_pending *pending, uint64_t wait_ns,
                              vyre_backend_times *out_times, vyre_error *err)
{
  static const vyre_backend_times none = {.struct_size = sizeof(none),
                                          .device_ns = VYRE_TIME_ABSENT,
                                          .enqueue_ns = VYRE_TIME_ABSENT,
                                          .wait_ns = VYRE_TIME_ABSENT,
                                          .started_ns = VYRE_TIME_ABSENT,
                                          .ended_ns = VYRE_TIME_ABSENT};
  uint64_t started = 0, ended = 0;
  vyre_status status = VYRE_OK;
  if (!pending->is_timed) {
    *out_times = none;
    return VYRE_OK;
  }
  status = vyre__gpu_event_time(pending->device, pending->started, &started, err);
  if (status == VYRE_OK)
    status = vyre__gpu_event_time(pending->device, pending->ended, &ended, err);
  if (status != VYRE_OK)
    return status;
  if (ended < started) /* the epoch was moved between the two */
    ended = started;
  *out_times = (vyre_backend_times){.struct_size = sizeof(*out_times),
                                    .device_ns = ended - started,
                                    .enqueue_ns = pending->enqueue_ns,
                                    .wait_ns = wait_ns,
                                    .started_ns = started,
                                    .ended_ns = ended};
  return VYRE_OK;
}

vyre_status vyre__gpu_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                   uint32_t slot_count, uint64_t slot_stride,
                                   vyre_backend_times *out_times, vyre_error *err)
{
  vyre_backend_times times = {0};
  vyre__gpu_scope scope;
  if (!pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a handle from dispatch()",
                       "the pending handle is NULL");
  vyre_status status = check_slots(pending, slots, slot_count, slot_stride, err);
  if (status == VYRE_OK && out_times)
    status = PLUGIN_CHECK_SIZE(err, out_times, vyre_backend_times, VYRE_BACKEND_TIMES_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  const uint64_t before = vyre__plugin_clock_ns();
  status = vyre__gpu_pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status != VYRE_OK)
    return status;
  const uint64_t wait_ns = vyre__plugin_clock_ns() - before;
  if (!slot_count && !out_times)
    return VYRE_OK;
  status = vyre__gpu_enter(pending->device, &scope, err);
  if (status == VYRE_OK && out_times)
    status = read_times(pending, wait_ns, &times, err);
  if (status == VYRE_OK)
    status = read_outputs(pending, slots, slot_stride, err);
  vyre__gpu_leave(&scope);
  if (status == VYRE_OK && out_times) {
    /* As far as the caller's structure reaches (ABI-002). */
    if (out_times->struct_size < times.struct_size)
      times.struct_size = out_times->struct_size;
    memcpy(out_times, &times, times.struct_size);
  }
  return status;
}

void vyre__gpu_pending_release(vyre_backend_pending *pending)
{
  if (!pending)
    return;
  vyre_backend_device *device = pending->device;
  vyre__gpu_stream *stream = device->copy;
  vyre__gpu_scope scope;
  /* Nobody asks for a fault any more: only the end matters.  On a lost device nothing runs. */
  if (!has_ended(pending) && vyre__gpu_enter_to_free(device, &scope)) {
    bool is_over = false;
    for (int turn = 0; turn < 2 && pending->is_marked && !is_over; ++turn)
      is_over = watch(pending, VYRE_NO_TIMEOUT, NULL) == VYRE_OK;
    for (int turn = 0; turn < 2 && !is_over; ++turn)
      is_over = vyre__gpu_driver.stream_sync(pending->stream) == 0;
    if (!is_over) /* then the memory goes back behind the launch */
      stream = pending->stream;
    vyre__gpu_leave(&scope);
  }
  /* Relaxed: the caller lets nobody else use the handle. */
  __atomic_store_n(&pending->state, VYRE__GPU_ENDED, __ATOMIC_RELAXED);
  vyre__gpu_pending_give(pending, stream);
}
