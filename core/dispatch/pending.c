/*
 * pending.c - a dispatch under way: waiting for it, which takes its next steps, and handing its
 * outputs out.
 */
#include "core/dispatch/pending.h"

#include "core/base/clock.h"
#include "core/dispatch/live.h"
#include "core/dispatch/replay.h"
#include "core/dispatch/route.h"
#include "core/dispatch/stage.h"

/* ---- making and freeing ---- */

/* Nothing has run: sums of no launch, or no times at all. */
static void reset_result(vyre_pending *pending)
{
  vyre_dispatch_result *result = &pending->result;
  const uint64_t none = vyre__pending_is_timed(pending) ? 0 : VYRE_TIME_ABSENT;
  result->struct_size = (uint32_t)sizeof *result;
  result->route = VYRE_ROUTE_AUTO;
  result->passes = 0;
  result->converged = VYRE_CONVERGED_NOT_TESTED;
  result->launches = 0;
  result->form = VYRE_FORM_LAUNCHES;
  result->reason[0] = '\0';
  result->wall_ns = result->device_ns = result->enqueue_ns = result->wait_ns = none;
  result->device_span_ns = VYRE_TIME_ABSENT;
  pending->first_start_ns = VYRE_TIME_ABSENT;
}

/* What stands behind the handle in its block, the strictest alignment first. */
typedef struct parts {
  uint64_t launched, sizes, counts, given, lent, groups, push; /* where each begins */
  uint64_t size;                                               /* of all of it */
} parts;

/* Some KiB at most, each: nothing overflows. */
static parts lay_out(const vyre_program *program, uint32_t room, uint32_t push_size)
{
  const uint64_t buffers = program->buffer_count;
  parts p = {.launched = sizeof(vyre_pending)};
  p.sizes = p.launched + room * sizeof(vyre__launched);
  p.counts = p.sizes + buffers * sizeof(uint64_t);
  p.given = p.counts + buffers * sizeof(uint64_t);
  p.lent = p.given + buffers * sizeof(vyre_bytes);
  p.groups = p.lent + buffers * sizeof(vyre_buffer *);
  p.push = p.groups + (program->segment_count + 1ull) * sizeof(uint32_t[3]);
  p.size = p.push + push_size;
  return p;
}

/* One block, of the size that this program needs: it is cleared for each dispatch. */
vyre_status vyre__pending_create(vyre_program *program, const vyre_dispatch_options *options,
                                 vyre_pending **out_pending, vyre_error *err)
{
  const bool is_long = program->segment_count > 1 || options->iterations > 1;
  const uint32_t room = is_long ? VYRE__FLIGHT_MOST : 1;
  const parts at = lay_out(program, room, options->push_size);
  vyre_pending *pending = vyre__allocate_zeroed(&program->device->allocator, 1, at.size);
  unsigned char *block = (unsigned char *)pending;
  if (!pending)
    return VYRE_FAIL_MEMORY(err, "a pending dispatch");
  vyre__program_retain(program);
  pending->program = program;
  pthread_mutex_init(&pending->lock, NULL);
  pending->flight.launched = (vyre__launched *)(void *)(block + at.launched);
  pending->flight.room = room;
  pending->shape.sizes = (uint64_t *)(void *)(block + at.sizes);
  pending->shape.counts = (uint64_t *)(void *)(block + at.counts);
  pending->given = (vyre_bytes *)(void *)(block + at.given);
  pending->lent = (vyre_buffer **)(void *)(block + at.lent);
  pending->groups = (uint32_t(*)[3])(void *)(block + at.groups);
  pending->options = *options;
  pending->options.push = NULL;
  if (options->push_size)
    pending->options.push = memcpy(block + at.push, options->push, options->push_size);
  pending->tested = options->iterations > 1 && program->converge != VYRE_CONVERGE_OFF;
  reset_result(pending);
  if (vyre__pending_is_timed(pending))
    pending->started_ns = vyre__now_ns();
  *out_pending = pending;
  return VYRE_OK;
}

void vyre__pending_forget(vyre_pending *pending)
{
  vyre__flight_drop(pending);
  vyre__replay_forget(pending);
  if (pending->stage)
    vyre__stage_give(pending);
  if (pending->live)
    vyre__live_give(pending);
  pending->ops = NULL;
  pending->pass = pending->step = pending->tested_pass = 0;
  pending->changed = pending->done = pending->launched = false;
  reset_result(pending);
}

void vyre_pending_release(vyre_pending *pending)
{
  vyre_program *program = NULL;
  if (!pending)
    return;
  program = pending->program;
  vyre__pending_forget(pending);
  pthread_mutex_destroy(&pending->lock);
  vyre__deallocate(&program->device->allocator, pending->error);
  vyre__deallocate(&program->device->allocator, pending);
  vyre__program_release(program);
}

/* ---- going on ---- */

/* Whoever waits for the run drives it; the others wait for the driver.  False at the deadline. */
static bool take_the_wheel(vyre_pending *pending, uint64_t deadline)
{
  struct timespec until;
  if (!pthread_mutex_trylock(&pending->lock))
    return true;
  if (deadline == VYRE_NO_TIMEOUT)
    return !pthread_mutex_lock(&pending->lock);
  until.tv_sec = (time_t)(deadline / 1000000000u);
  until.tv_nsec = (long)(deadline % 1000000000u);
  return !pthread_mutex_clocklock(&pending->lock, CLOCK_MONOTONIC, &until);
}

/* A run that has ended badly says the same to everybody. */
static vyre_status keep_error(vyre_pending *pending, vyre_status status, const vyre_error *said)
{
  pending->failed = status;
  pending->error =
      vyre__allocate_zeroed(&pending->program->device->allocator, 1, sizeof *pending->error);
  if (pending->error)
    *pending->error = *said;
  return status;
}

static vyre_status tell_error(const vyre_pending *pending, vyre_error *err)
{
  if (pending->error)
    return vyre__error_copy(err, pending->error);
  return VYRE_FAIL(err, pending->failed, NULL, "the dispatch has failed");
}

/* The lock is held. */
static vyre_status advance(vyre_pending *pending, uint64_t deadline, vyre_error *err)
{
  vyre_error said;
  vyre_status status = VYRE_OK;
  if (pending->failed)
    return tell_error(pending, err);
  vyre__error_clear(&said);
  status = vyre__device_check(pending->program->device, pending->program->generation, &said);
  if (status == VYRE_OK && !pending->done)
    status = pending->ops->advance(pending, deadline, &said);
  if (status == VYRE_OK)
    return VYRE_OK;
  vyre__error_prefix(&said, "program '%.200s': ", pending->program->name);
  if (status != VYRE_ERROR_TIMEOUT && status != VYRE_ERROR_FORKED)
    keep_error(pending, status, &said);
  vyre__error_copy(err, &said);
  return status;
}

vyre_status vyre_pending_wait(vyre_pending *pending, uint64_t timeout_ns, vyre_error *err)
{
  const uint64_t deadline = vyre__deadline(timeout_ns);
  vyre_status status = VYRE_OK;
  if (!pending)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "pending is NULL");
  /* Before the lock: in a child nobody may be left to give it back. */
  if (!vyre__context_is_ours(pending->program->device->context))
    return vyre__device_check(pending->program->device, pending->program->generation, err);
  if (!take_the_wheel(pending, deadline))
    return VYRE_FAIL(err, VYRE_ERROR_TIMEOUT, NULL,
                     "program '%.200s': another thread waits for it too, and it has not ended",
                     pending->program->name);
  status = advance(pending, deadline, err);
  pthread_mutex_unlock(&pending->lock);
  return status;
}

/* ---- handing out ---- */

static vyre_status hand_out(vyre_pending *pending, vyre_outputs *outputs, vyre__value *values,
                            vyre_error *err)
{
  const vyre_program *program = pending->program;
  return vyre__outputs_store(outputs, values, program->output_count, &program->device->allocator,
                             err);
}

vyre_status vyre__result_check(const vyre_dispatch_result *result, vyre_error *err)
{
  if (result && result->struct_size < VYRE__SIZE_TO(vyre_dispatch_result, wait_ns))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_DISPATCH_RESULT_INIT",
                     "the result's struct_size is %u, not %u", result->struct_size,
                     VYRE__SIZE_TO(vyre_dispatch_result, wait_ns));
  return VYRE_OK;
}

static vyre_status check_finish(const vyre_pending *pending, const vyre_outputs *outputs,
                                const vyre_dispatch_result *result, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (!pending)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "pending is NULL");
  if (pending->finished)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "finish each pending dispatch once",
                     "this dispatch was finished before");
  status = vyre__outputs_check(outputs, err);
  if (status == VYRE_OK)
    status = vyre__result_check(result, err);
  return status;
}

/* The run has ended well. */
static vyre_status collect(vyre_pending *pending, vyre_outputs *outputs, bool wants_result,
                           vyre_error *err)
{
  vyre__value values[VYRE_MAX_BUFFERS];
  vyre_error said;
  const uint32_t unread = pending->flight.count;
  vyre_status status = VYRE_OK;
  vyre__error_clear(&said);
  if (outputs && pending->on_buffers) {
    status = VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "pass NULL for outputs and use vyre_buffer_download()",
                       "a dispatch on device buffers has its results in those buffers");
    vyre__error_prefix(err, "program '%.200s': ", pending->program->name);
    return status;
  }
  if (outputs || wants_result)
    status = pending->ops->collect(pending, outputs ? values : NULL, &said);
  if (status != VYRE_OK) {
    vyre__error_prefix(&said, "program '%.200s': ", pending->program->name);
    if (pending->flight.count != unread) /* what was read is gone: no second try will have it */
      keep_error(pending, status, &said);
    return vyre__error_copy(err, &said);
  }
  if (outputs)
    status = hand_out(pending, outputs, values, err);
  if (status != VYRE_OK)
    vyre__error_prefix(err, "program '%.200s': ", pending->program->name);
  return status;
}

vyre_status vyre_pending_finish(vyre_pending *pending, vyre_outputs *outputs,
                                vyre_dispatch_result *out_result, vyre_error *err)
{
  vyre_status status = check_finish(pending, outputs, out_result, err);
  if (status == VYRE_OK)
    status = vyre_pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status == VYRE_OK)
    status = collect(pending, outputs, out_result != NULL, err);
  if (status != VYRE_OK)
    return status;
  pending->finished = true;
  pending->result.route = pending->ops->route;
  if (vyre__pending_is_timed(pending))
    pending->result.wall_ns = vyre__now_ns() - pending->started_ns;
  if (out_result && !pending->result.reason[0])
    vyre__plan_reason(pending, pending->result.reason, sizeof pending->result.reason);
  if (out_result)
    vyre__struct_write(out_result, &pending->result, sizeof pending->result,
                       VYRE__SIZE_TO(vyre_dispatch_result, wait_ns));
  return VYRE_OK;
}
