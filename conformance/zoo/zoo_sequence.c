/*
 * zoo_sequence.c - recorded sequences: forwarded to the cpu plugin, and what some rows make of
 * them; see zoo.h.
 */
#include "conformance/zoo/zoo.h"

#include <string.h>

static void *take(uint64_t size)
{
  const vyre_host *host = zoo__host();
  void *memory = host->allocate(host->self, size, 16);
  if (memory)
    memset(memory, 0, size);
  return memory;
}

static void give(void *memory)
{
  zoo__host()->deallocate(zoo__host()->self, memory);
}

static const vyre_dispatch_desc *step_at(const vyre_sequence_desc *desc, uint32_t index)
{
  return (const void *)((const char *)desc->steps + index * desc->step_stride);
}

static uint64_t groups_of(const vyre_dispatch_desc *step)
{
  return (uint64_t)step->groups[0] * step->groups[1] * step->groups[2];
}

/* ---- steps of our own, for rows that record them otherwise ---- */

static bool keeps_steps(void)
{
  return ZOO_IS(seq_no_barrier) || ZOO_IS(seq_overlap) || ZOO_IS(seq_push_borrowed) ||
         ZOO_IS(seq_step_flags);
}

static bool is_whole(const vyre_sequence_desc *desc)
{
  if (desc->struct_size < VYRE_SEQUENCE_DESC_SIZE_0_3 || !desc->step_count || !desc->steps ||
      desc->step_stride < VYRE_DISPATCH_DESC_SIZE_0_1)
    return false;
  for (uint32_t i = 0; i < desc->step_count; ++i)
    if (!zoo__is_whole(step_at(desc, i)))
      return false;
  return true;
}

/* A copy with its bindings; push constants stay the caller's. */
static bool copy_steps(vyre_backend_sequence *sequence, const vyre_sequence_desc *desc)
{
  uint64_t count = 0, used = 0;
  for (uint32_t i = 0; i < desc->step_count; ++i)
    count += step_at(desc, i)->binding_count;
  sequence->steps = take(desc->step_count * sizeof *sequence->steps);
  sequence->bindings = take((count + 1) * sizeof *sequence->bindings);
  if (!sequence->steps || !sequence->bindings)
    return false;
  for (uint32_t i = 0; i < desc->step_count; ++i) {
    vyre_dispatch_desc *step = &sequence->steps[i];
    *step = *step_at(desc, i);
    for (uint32_t k = 0; k < step->binding_count; ++k)
      sequence->bindings[used + k] = *zoo__binding_at(step_at(desc, i), k);
    step->bindings = sequence->bindings + used;
    step->binding_stride = sizeof *sequence->bindings;
    used += step->binding_count;
    if (ZOO_IS(seq_step_flags))
      step->flags = 0;
  }
  sequence->desc = *desc;
  sequence->desc.steps = sequence->steps;
  sequence->desc.step_stride = sizeof *sequence->steps;
  return true;
}

/*
 * Without the barrier between them a small step may run before the large one that it waits for;
 * here it always does.
 */
static void drop_barriers(vyre_backend_sequence *sequence)
{
  for (uint32_t i = 1; i < sequence->desc.step_count; ++i) {
    const vyre_dispatch_desc before = sequence->steps[i - 1];
    if (groups_of(&before) <= 64 || groups_of(&sequence->steps[i]) >= groups_of(&before))
      continue;
    sequence->steps[i - 1] = sequence->steps[i];
    sequence->steps[i++] = before;
  }
}

/* All but the last step; the first one, the last one, the rest; the last one. */
static vyre_status record_overlap(vyre_backend_sequence *sequence, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  vyre_backend_device *device = sequence->device->real;
  vyre_dispatch_desc *steps = sequence->steps;
  const uint32_t count = sequence->desc.step_count;
  vyre_sequence_desc part = sequence->desc;
  vyre_dispatch_desc last = steps[count - 1];
  vyre_status status = VYRE_OK;
  if (count < 2)
    return VYRE_OK;
  part.step_count = count - 1;
  status = real->sequence_create(device, &part, &sequence->parts[0], err);
  part.step_count = 1;
  part.steps = &last;
  if (status == VYRE_OK)
    status = real->sequence_create(device, &part, &sequence->parts[2], err);
  memmove(&steps[2], &steps[1], (count - 2) * sizeof *steps);
  steps[1] = last;
  if (status == VYRE_OK)
    status = real->sequence_create(device, &sequence->desc, &sequence->parts[1], err);
  return status;
}

/* ---- recording ---- */

/* The steps before the one that is refused have run. */
static void run_refused(vyre_backend_device *device, const vyre_sequence_desc *desc)
{
  const vyre_backend *real = zoo__real();
  for (uint32_t i = 0; is_whole(desc) && i < desc->step_count; ++i) {
    vyre_backend_pending *pending = NULL;
    if (real->dispatch(device->real, step_at(desc, i), &pending, NULL) != VYRE_OK)
      return;
    real->pending_release(pending);
  }
}

static vyre_status record(vyre_backend_sequence *sequence, const vyre_sequence_desc *desc,
                          vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  vyre_backend_device *device = sequence->device;
  vyre_status status = VYRE_OK;
  if (keeps_steps() && is_whole(desc)) {
    if (!copy_steps(sequence, desc))
      return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for steps");
    desc = &sequence->desc;
  }
  if (ZOO_IS(seq_no_barrier) && sequence->steps)
    drop_barriers(sequence);
  status = real->sequence_create(device->real, desc, &sequence->real, err);
  if (status == VYRE_OK && ZOO_IS(seq_overlap))
    status = record_overlap(sequence, err);
  if (status != VYRE_OK && ZOO_IS(seq_runs_refused))
    run_refused(device, desc);
  if (status != VYRE_OK && ZOO_IS(seq_other_code))
    return zoo__fail(err, VYRE_ERROR_UNSUPPORTED, "this sequence cannot be recorded");
  return status;
}

void zoo__sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence)
{
  const vyre_backend *real = zoo__real();
  if (!sequence)
    return;
  for (uint32_t k = 0; k < 3; ++k)
    real->sequence_release(device->real, sequence->parts[k]);
  real->sequence_release(device->real, sequence->real);
  if (ZOO_IS(seq_leak))
    (void)!zoo__host()->allocate(zoo__host()->self, 8, 8);
  give(sequence->steps);
  give(sequence->bindings);
  give(sequence);
}

vyre_status zoo__sequence_create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                 vyre_backend_sequence **out_sequence, vyre_error *err)
{
  vyre_backend_sequence *sequence = NULL;
  vyre_status status = VYRE_OK;
  if (ZOO_IS(seq_desc_equality) && desc->struct_size != sizeof *desc)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "vyre_sequence_desc has %zu bytes, not %u",
                     sizeof *desc, desc->struct_size);
  sequence = take(sizeof *sequence);
  if (!sequence)
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a sequence");
  sequence->device = device;
  status = zoo__pass_on(err, record(sequence, desc, err));
  if (status != VYRE_OK)
    zoo__sequence_release(device, sequence);
  else
    *out_sequence = sequence;
  return status;
}

/* ---- starting ---- */

/* One more start of the cpu plugin's, which the handle keeps. */
static vyre_status add(vyre_backend_pending *pending, vyre_backend_sequence *real, uint32_t times,
                       vyre_error *err)
{
  vyre_backend_pending **place = &pending->others[pending->other_count];
  vyre_status status = VYRE_OK;
  if (!times)
    return VYRE_OK;
  status = zoo__real()->sequence_start(pending->device->real, real, times, place, err);
  pending->other_count += status == VYRE_OK;
  return status;
}

/* Records once more, with what the caller's push constants are now. */
static vyre_status start_again(vyre_backend_pending *pending, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  vyre_backend_device *device = pending->device->real;
  const vyre_status status =
      real->sequence_create(device, &pending->sequence->desc, &pending->own, err);
  return status != VYRE_OK
             ? status
             : real->sequence_start(device, pending->own, pending->times, &pending->real, err);
}

static vyre_status start_overlap(vyre_backend_pending *pending, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  const vyre_backend_sequence *sequence = pending->sequence;
  vyre_status status = add(pending, sequence->parts[0], 1, err);
  if (status == VYRE_OK)
    status = add(pending, sequence->parts[1], pending->times - 1, err);
  if (status == VYRE_OK)
    status =
        real->sequence_start(pending->device->real, sequence->parts[2], 1, &pending->real, err);
  return status;
}

static vyre_status start(vyre_backend_pending *pending, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  vyre_backend_device *device = pending->device;
  const vyre_backend_sequence *sequence = pending->sequence;
  uint32_t times = pending->times;
  vyre_status status = VYRE_OK;
  if (ZOO_IS(seq_push_borrowed))
    return start_again(pending, err);
  if (ZOO_IS(seq_overlap) && sequence->parts[2])
    return start_overlap(pending, err);
  if (ZOO_IS(seq_one_less) && times > 16)
    times -= 1;
  if (ZOO_IS(seq_resident_blocks))
    zoo__wait_for_resident(device);
  if (ZOO_IS(seq_last_times) && times > 1) {
    status = add(pending, sequence->real, times - 1, err);
    times = 1;
  }
  if (status != VYRE_OK)
    return status;
  if (ZOO_IS(seq_done_early) && times > 1)
    times -= 1;
  status = real->sequence_start(device->real, sequence->real, times, &pending->real, err);
  if (status == VYRE_OK && ZOO_IS(seq_done_early))
    status = add(pending, sequence->real, pending->times - times, err);
  return status;
}

/* Takes the start that is held back off the device; NULL: there is none. */
static vyre_backend_pending *take_held(vyre_backend_device *device)
{
  vyre_backend_pending *held = NULL;
  pthread_mutex_lock(&device->lock);
  held = device->held;
  device->held = NULL;
  pthread_mutex_unlock(&device->lock);
  return held;
}

void zoo__sequence_flush(vyre_backend_device *device, zoo_caller caller)
{
  vyre_backend_pending *held = NULL;
  if (!device || (ZOO_IS(seq_beside_launches) && caller == ZOO_FROM_DISPATCH) ||
      (ZOO_IS(seq_before_copies) && caller == ZOO_FROM_TRANSFER))
    return;
  held = take_held(device);
  if (held)
    start(held, NULL);
}

/* Some rows hold a start back until another call comes. */
static vyre_status start_or_hold(vyre_backend_pending *pending, vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  vyre_backend_pending *held = take_held(device);
  vyre_status status = VYRE_OK;
  if (!ZOO_IS(seq_swapped) && !ZOO_IS(seq_beside_launches) && !ZOO_IS(seq_before_copies))
    return start(pending, err);
  if (held && ZOO_IS(seq_swapped)) {
    status = start(pending, err);
    start(held, NULL);
    return status;
  }
  if (held)
    status = start(held, err);
  pthread_mutex_lock(&device->lock);
  device->held = pending;
  pthread_mutex_unlock(&device->lock);
  return status;
}

static bool is_busy(const vyre_backend_sequence *sequence)
{
  return sequence->under_way &&
         zoo__real()->pending_wait(sequence->under_way, 0, NULL) == VYRE_ERROR_TIMEOUT;
}

vyre_status zoo__sequence_start(vyre_backend_device *device, vyre_backend_sequence *sequence,
                                uint32_t times, vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre_status status = VYRE_OK;
  if (ZOO_IS(seq_busy) && is_busy(sequence))
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "this sequence is under way");
  if (!times && !ZOO_IS(seq_no_times))
    return zoo__pass_on(
        err, zoo__real()->sequence_start(device->real, sequence->real, 0, out_pending, err));
  zoo__lend_settle(device, ZOO_FROM_DISPATCH);
  pending = take(sizeof *pending);
  if (!pending)
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a start");
  pending->device = device;
  pending->sequence = sequence;
  pending->times = times;
  status = times ? zoo__pass_on(err, start_or_hold(pending, err)) : VYRE_OK;
  if (status != VYRE_OK) {
    give(pending);
    return status;
  }
  if (ZOO_IS(seq_busy))
    sequence->under_way = pending->real;
  zoo__lend_launch(device, pending);
  *out_pending = pending;
  return VYRE_OK;
}

/* ---- handles ---- */

/* An error stays with the sequence. */
vyre_status zoo__sequence_ended(const vyre_backend_pending *pending, vyre_status status,
                                vyre_error *err)
{
  if (!pending->sequence || !ZOO_IS(seq_spoiled))
    return status;
  if (status != VYRE_OK && status != VYRE_ERROR_TIMEOUT)
    pending->sequence->spoiled = true;
  return status == VYRE_OK && pending->sequence->spoiled
             ? zoo__fail(err, VYRE_ERROR_DISPATCH_FAILED, "this sequence has failed before")
             : status;
}

bool zoo__sequence_forgotten(vyre_backend_pending *pending)
{
  if (pending->sequence && pending->sequence->under_way == pending->real)
    pending->sequence->under_way = NULL;
  for (uint32_t k = 0; k < pending->other_count; ++k)
    zoo__real()->pending_release(pending->others[k]);
  if (!pending->sequence || !ZOO_IS(seq_released_early))
    return false;
  pthread_mutex_lock(&pending->device->lock);
  pending->next = pending->device->forgotten;
  pending->device->forgotten = pending;
  pthread_mutex_unlock(&pending->device->lock);
  return true;
}

void zoo__sequence_close(vyre_backend_device *device)
{
  for (vyre_backend_pending *pending = device->forgotten, *next = NULL; pending; pending = next) {
    next = pending->next;
    zoo__real()->pending_release(pending->real);
    give(pending);
  }
}
