/*
 * sequence.c - recorded launches: checked and laid out once, started many times.
 *
 * A start is one job of the pool.  Whoever ends a step of it makes the next one ready and goes on
 * with that; nobody hands anything back to the caller in between.  Only the head of the queue runs,
 * so that each step sees all that was written before it.
 */
#include "sequence.h"

#include "device.h"
#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <string.h>

/*
 * A start of at most so many small steps runs in the caller, as they would if they were launched
 * one by one: handing them to another thread costs more than most of them take.
 */
#define INLINE_STEPS 32u

static const vyre_dispatch_desc *step_at(const vyre_sequence_desc *desc, uint32_t index)
{
  const char *bytes = (const char *)desc->steps;
  return (const vyre_dispatch_desc *)(const void *)(bytes + desc->step_stride * index);
}

static vyre_status check(const vyre_sequence_desc *desc, vyre_error *err)
{
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, desc, vyre_sequence_desc, VYRE_SEQUENCE_DESC_SIZE_0_3);
  if (status != VYRE_OK)
    return status;
  if (desc->flags)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set the flags to 0",
                       "unknown sequence flags 0x%llx", (unsigned long long)desc->flags);
  if (!desc->step_count || !desc->steps || desc->step_stride < VYRE_DISPATCH_DESC_SIZE_0_1)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give an array of vyre_dispatch_desc and its stride in bytes",
                       "%u steps, at %s, their stride is %llu bytes", desc->step_count,
                       desc->steps ? "an address" : "NULL", (unsigned long long)desc->step_stride);
  return VYRE_OK;
}

static uint64_t buffers_of(const vyre_dispatch_desc *desc, vyre_backend_buffer **out_buffers)
{
  uint64_t count = 0;
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const char *bytes = (const char *)desc->bindings;
    const vyre_binding *binding =
        (const vyre_binding *)(const void *)(bytes + desc->binding_stride * i);
    if (binding->kind != VYRE_BINDING_BUFFER)
      continue;
    if (out_buffers)
      out_buffers[count] = binding->buffer;
    count += 1;
  }
  return count;
}

/* "step 2 of 3: " in front of what the step was refused for. */
static vyre_status refuse(vyre_status status, const vyre_error *said, uint32_t step, uint32_t count,
                          vyre_error *err)
{
  vyre__plugin_error_set(err, status, said->vendor_code, "sequence.c", __LINE__, said->fix,
                         "step %u of %u: %s", step + 1, count, said->message);
  return status;
}

static vyre_status make_steps(const vyre_backend_device *device, const vyre_sequence_desc *desc,
                              vyre_backend_sequence *sequence, vyre_error *err)
{
  sequence->is_small = true;
  for (; sequence->step_count < desc->step_count; sequence->step_count += 1) {
    const uint32_t at = sequence->step_count;
    vyre_error said = VYRE_ERROR_INIT;
    vyre__cpu_step *step = NULL;
    const vyre_status status =
        vyre__cpu_step_make(device, step_at(desc, at), &step, err ? &said : NULL);
    if (status != VYRE_OK)
      return refuse(status, &said, at, desc->step_count, err);
    if (step->is_small) /* one runner takes it whole: nobody is woken for it */
      step->chunk = step->group_count;
    sequence->is_small = sequence->is_small && step->is_small;
    sequence->steps[at] = step;
    sequence->buffer_count += buffers_of(step_at(desc, at), NULL);
  }
  return VYRE_OK;
}

static vyre_status make(const vyre_backend_device *device, const vyre_sequence_desc *desc,
                        vyre_backend_sequence *sequence, vyre_error *err)
{
  uint64_t count = 0;
  vyre_status status = VYRE_OK;
  sequence->steps = vyre__plugin_allocate_zeroed(
      device->host, (uint64_t)desc->step_count * sizeof(void *), _Alignof(max_align_t));
  if (!sequence->steps)
    return PLUGIN_FAIL_MEMORY(err, "the steps of a sequence");
  status = make_steps(device, desc, sequence, err);
  if (status != VYRE_OK)
    return status;
  sequence->buffers = vyre__plugin_allocate_zeroed(
      device->host, sequence->buffer_count * sizeof(void *), _Alignof(max_align_t));
  if (!sequence->buffers)
    return PLUGIN_FAIL_MEMORY(err, "the buffers of a sequence");
  for (uint32_t i = 0; i < desc->step_count; ++i)
    count += buffers_of(step_at(desc, i), sequence->buffers + count);
  return VYRE_OK;
}

vyre_status vyre__cpu_sequence_create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                      vyre_backend_sequence **out_sequence, vyre_error *err)
{
  vyre_backend_sequence *sequence = NULL;
  vyre_status status = VYRE_OK;
  if (!device || !out_sequence)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a device and a place for the sequence",
                       "device or out_sequence is NULL");
  status = check(desc, err);
  if (status != VYRE_OK)
    return status;
  sequence = vyre__plugin_allocate_zeroed(device->host, sizeof(*sequence), _Alignof(max_align_t));
  if (!sequence)
    return PLUGIN_FAIL_MEMORY(err, "a sequence");
  status = make(device, desc, sequence, err);
  if (status != VYRE_OK) {
    vyre__cpu_sequence_release(device, sequence);
    return status;
  }
  *out_sequence = sequence;
  return VYRE_OK;
}

void vyre__cpu_sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence)
{
  if (!device || !sequence)
    return;
  for (uint32_t i = 0; i < sequence->step_count; ++i)
    vyre__plugin_deallocate(device->host, sequence->steps[i]);
  vyre__plugin_deallocate(device->host, sequence->steps);
  vyre__plugin_deallocate(device->host, sequence->buffers);
  vyre__plugin_deallocate(device->host, sequence);
}

/* -------- replays -------- */

vyre_status vyre__cpu_sequence_start(vyre_backend_device *device, vyre_backend_sequence *sequence,
                                     uint32_t times, vyre_backend_pending **out_pending,
                                     vyre_error *err)
{
  const uint64_t begin = vyre__plugin_clock_ns();
  vyre_backend_pending *job = NULL;
  vyre_status status = VYRE_OK;
  if (!device || !sequence || !out_pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a device, a sequence and a place for the handle",
                       "device, sequence or out_pending is NULL");
  if (!times)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start it at least once",
                       "a sequence is started 0 times");
  job = vyre__plugin_allocate(device->host, sizeof(*job), _Alignof(max_align_t));
  if (!job)
    return PLUGIN_FAIL_MEMORY(err, "the start of a sequence");
  vyre__cpu_launch_init(job, device);
  job->replay = sequence;
  job->times = times;
  job->step = sequence->steps[0];
  job->kernel_name = job->step->kernel_name;
  job->run_inline = sequence->is_small && (uint64_t)sequence->step_count * times <= INLINE_STEPS;
  status = vyre__cpu_pool_submit(device, job, err);
  if (status != VYRE_OK) {
    vyre__plugin_deallocate(device->host, job);
    return status;
  }
  job->enqueue_ns = job->queued_ns - begin;
  for (uint64_t i = 0; i < sequence->buffer_count; ++i)
    vyre__cpu_buffer_mark(sequence->buffers[i], job->sequence);
  *out_pending = job;
  return VYRE_OK;
}

bool vyre__cpu_sequence_next(vyre_backend_pending *job)
{
  /* Relaxed, both: who failed has left, and whoever comes takes the lock first. */
  if (!job->replay || __atomic_load_n(&job->failed, __ATOMIC_RELAXED))
    return false;
  if (++job->step_index == job->replay->step_count) {
    if (++job->round == job->times)
      return false;
    job->step_index = 0;
  }
  job->step = job->replay->steps[job->step_index];
  __atomic_store_n(&job->next_group, 0, __ATOMIC_RELAXED);
  return true;
}
