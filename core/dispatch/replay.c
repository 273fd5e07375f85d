/* replay.c - the launches of a pass recorded once and replayed; see replay.h. */
#include "core/dispatch/replay.h"

#include "core/dispatch/kept.h"

#include <stdio.h>

/* ---- is it worth it? ---- */

static bool can_record(const vyre_device *device)
{
  return (device->info.capabilities & VYRE_CAP_SEQUENCES) &&
         VYRE__HAS_SLOT(device->backend, sequence_create) &&
         device->recording != VYRE__RECORDING_NEVER;
}

/* Launches of the next start, if they are recorded.  Of one launch each start is a launch anyway.
 */
static uint64_t launches_of_start(const vyre_pending *pending, uint64_t steps, uint32_t pass)
{
  return pending->tested ? steps : steps * (pending->options.iterations - (pass - 1ull));
}

static bool can_save(const vyre_pending *pending, uint64_t steps, uint32_t pass)
{
  return steps && steps <= UINT32_MAX &&
         (pending->program->device->recording == VYRE__RECORDING_ALWAYS ||
          launches_of_start(pending, steps, pass) > 1);
}

/*
 * Launches that speak for recording, as seen before pass `pass`: those of the passes behind it that
 * are sure to come, and `launches` that were made of these steps one by one.
 */
static bool is_worth_it(const vyre_pending *pending, uint64_t steps, uint64_t launches,
                        uint32_t pass)
{
  const uint64_t sure =
      pending->tested ? 0 : steps * ((uint64_t)pending->options.iterations - pass);
  return pending->program->device->recording == VYRE__RECORDING_ALWAYS ||
         sure >= VYRE__REPLAY_WORTH || launches >= VYRE__REPLAY_WORTH - sure;
}

/* Relaxed, both: it says the same whenever it is seen, and is only asked to save a call. */
static bool was_refused(const vyre_program *program)
{
  return __atomic_load_n(&program->unrecordable, __ATOMIC_RELAXED) != 0;
}

bool vyre__replay_can(const vyre_program *program)
{
  return can_record(program->device) && !was_refused(program);
}

static void keep_refusal(vyre_pending *pending, vyre_status status, const vyre_error *said)
{
  vyre_program *program = pending->program;
  snprintf(pending->unrecorded, sizeof pending->unrecorded, "%.100s",
           said->message[0] ? said->message : vyre_status_name(status));
  if (status == VYRE_ERROR_UNSUPPORTED)
    __atomic_store_n(&program->unrecordable, 1, __ATOMIC_RELAXED);
  vyre__context_log(program->device->context, VYRE_LOG_INFO,
                    "program '%.200s': a pass was not recorded: %s", program->name,
                    pending->unrecorded);
}

/* ---- recording ---- */

static vyre_status create(vyre_pending *pending, vyre__recorded *recorded, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  const vyre__steps *steps = &recorded->steps;
  vyre_sequence_desc desc = {.struct_size = sizeof desc, .step_stride = sizeof *steps->descs};
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  desc.steps = steps->descs;
  desc.step_count = steps->count;
  status = device->backend->sequence_create(device->handle, &desc, &recorded->handle, &said);
  status = vyre__device_result(device, "sequence_create", status, &said, err);
  if (status == VYRE_OK && !recorded->handle)
    status =
        VYRE_FAIL(err, VYRE_ERROR_INTERNAL,
                  "use another version of the plugin, and report this to its author",
                  "plugin %s returned no sequence and reported no error", device->backend->name);
  return status;
}

/* The device is held quiet. */
static vyre_status record(vyre_pending *pending, bool with_test, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  vyre__recorded *recorded = vyre__allocate_zeroed(&device->allocator, 1, sizeof *recorded);
  vyre_status status = VYRE_OK;
  if (!recorded)
    return VYRE_FAIL_MEMORY(err, "a recorded pass");
  status = vyre__steps_describe(pending, with_test, &recorded->steps, err);
  if (status == VYRE_OK)
    status = create(pending, recorded, err);
  if (status != VYRE_OK) {
    vyre__steps_free(&recorded->steps, &device->allocator);
    vyre__deallocate(&device->allocator, recorded);
    return status;
  }
  recorded->device = device;
  recorded->generation = pending->program->generation;
  recorded->digest = pending->digest;
  recorded->references = 1; /* the dispatch's */
  vyre__device_retain(device);
  vyre__kept_add(pending, with_test, recorded);
  pending->recorded = recorded;
  return VYRE_OK;
}

/* Once a dispatch: what there is of these steps. */
static void look_back(vyre_pending *pending, bool with_test)
{
  if (pending->digest)
    return;
  pending->digest = vyre__kept_digest(pending, with_test);
  pending->recorded = vyre__kept_find(pending, with_test, pending->digest, &pending->single);
}

vyre_status vyre__replay_consider(vyre_pending *pending, bool with_test, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  const uint64_t steps = vyre__plan_launches(pending, with_test);
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  if (pending->recorded || pending->unrecorded[0] || !can_record(device) ||
      was_refused(pending->program) || !can_save(pending, steps, pending->pass))
    return VYRE_OK;
  look_back(pending, with_test);
  if (pending->recorded ||
      !is_worth_it(pending, steps, pending->single + pending->result.launches, pending->pass))
    return VYRE_OK;
  if (!vyre__device_hold_quiet(device)) /* an engine would have to leave for it */
    return VYRE_OK;
  status = record(pending, with_test, &said);
  vyre__device_resume(device);
  if (status == VYRE_ERROR_DEVICE_LOST)
    return vyre__error_copy(err, &said);
  /* Single launches go on, and say which segment it was if it is a segment's fault. */
  if (status != VYRE_OK)
    keep_refusal(pending, status, &said);
  return VYRE_OK;
}

/* Of a run that has failed nothing is kept; of one that went launch by launch the number is. */
void vyre__replay_forget(vyre_pending *pending)
{
  vyre__recorded *recorded = pending->recorded;
  const bool is_ours = vyre__context_is_ours(pending->program->device->context);
  if (recorded && is_ours && pending->failed)
    vyre__kept_remove(pending->program, recorded);
  if (recorded)
    vyre__recorded_release(recorded);
  else if (pending->digest && is_ours)
    vyre__kept_count(pending->program, pending->digest, pending->result.launches);
  pending->recorded = NULL;
  pending->digest = 0;
  pending->unrecorded[0] = '\0';
}

/* ---- replaying ---- */

/* Passes of the next start; at least one is left. */
static uint32_t next_times(const vyre_pending *pending)
{
  const uint32_t left = pending->options.iterations - (pending->pass - 1);
  const uint32_t most = VYRE__REPLAY_LAUNCHES / pending->recorded->steps.count;
  if (pending->tested || !most)
    return 1;
  return left < most ? left : most;
}

vyre_status vyre__replay_start(vyre_pending *pending, vyre_error *err)
{
  vyre_device *device = pending->program->device;
  const uint32_t times = next_times(pending);
  vyre__launched launched = {NULL, VYRE__STEP_REPLAY, pending->pass, times};
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = device->backend->sequence_start(device->handle, pending->recorded->handle,
                                                       times, &launched.handle, &said);
  status = vyre__flight_add(pending, "sequence_start", status, &said, &launched, err);
  if (status != VYRE_OK) {
    vyre__kept_remove(pending->program, pending->recorded);
    return status;
  }
  pending->result.form = VYRE_FORM_REPLAYS;
  pending->result.launches += (uint64_t)pending->recorded->steps.count * times;
  pending->launched = times - 1 == pending->options.iterations - pending->pass;
  pending->pass += times;
  return VYRE_OK;
}

/* ---- in words ---- */

void vyre__replay_plan(const vyre_pending *pending, bool with_test, char *out_text, size_t size)
{
  const uint64_t steps = vyre__plan_launches(pending, with_test);
  out_text[0] = '\0';
  if (!can_record(pending->program->device) || !can_save(pending, steps, 1))
    return;
  if (was_refused(pending->program))
    snprintf(out_text, size, ", one by one: the plugin has refused to record them");
  else if (is_worth_it(pending, steps, 0, 1))
    snprintf(out_text, size, ", recorded once and replayed");
  else
    snprintf(out_text, size, ", recorded after %u launches and then replayed", VYRE__REPLAY_WORTH);
}

void vyre__replay_reason(const vyre_pending *pending, char *out_text, size_t size)
{
  out_text[0] = '\0';
  if (pending->unrecorded[0])
    snprintf(out_text, size, "; not recorded: %s", pending->unrecorded);
}
