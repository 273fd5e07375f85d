/* pending.c - waiting for a dispatch, reading its results, handing them out. */
#include "core/dispatch/pending.h"

#include "core/base/clock.h"
#include "core/dispatch/outputs.h"
#include "core/dispatch/times.h"

#define U64(value) ((unsigned long long)(value))

vyre_status vyre__pending_create(vyre_program *program, vyre_pending **out_pending, vyre_error *err)
{
  vyre_pending *pending = vyre__allocate_zeroed(&program->device->allocator, 1, sizeof *pending);
  if (!pending)
    return VYRE_FAIL_MEMORY(err, "a pending dispatch");
  vyre__program_retain(program);
  pending->program = program;
  pending->started_ns = vyre__now_ns();
  pending->times.struct_size = sizeof pending->times;
  *out_pending = pending;
  return VYRE_OK;
}

static void free_scratch(vyre_pending *pending)
{
  for (uint32_t i = 0; i < pending->program->buffer_count; ++i) {
    vyre__deallocate(&pending->program->device->allocator, pending->scratch[i]);
    pending->scratch[i] = NULL;
  }
}

void vyre_pending_release(vyre_pending *pending)
{
  vyre_program *program = NULL;
  if (!pending)
    return;
  program = pending->program;
  if (pending->handle && vyre__context_is_ours(program->device->context))
    program->device->backend->pending_release(pending->handle);
  free_scratch(pending);
  vyre__deallocate(&program->device->allocator, pending);
  vyre__program_release(program);
}

vyre_status vyre_pending_wait(vyre_pending *pending, uint64_t timeout_ns, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  vyre_status status = VYRE_OK;
  if (!pending)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "pending is NULL");
  device = pending->program->device;
  status = vyre__device_check(device, pending->program->generation, err);
  if (status != VYRE_OK || !pending->handle)
    return status;
  status = device->backend->pending_wait(pending->handle, timeout_ns, &said);
  status = vyre__device_result(device, "pending_wait", status, &said, err);
  if (status != VYRE_OK)
    vyre__error_prefix(err, "program '%.200s': ", pending->program->name);
  return status;
}

/* ---- reading back ---- */

/* Which bindings come back as slots, in order (READ-001). */
static uint32_t expected_slots(const vyre_pending *pending, uint32_t out_buffers[VYRE_MAX_BUFFERS])
{
  const vyre__segment_plan *segment = &pending->program->segments[0];
  uint32_t count = 0;
  if (pending->route != VYRE_ROUTE_HOST)
    return 0; /* device buffers change in place */
  for (uint32_t b = 0; b < segment->binding_count; ++b)
    if (vyre__access_writes(segment->bindings[b].access))
      out_buffers[count++] = segment->bindings[b].buffer;
  return count;
}

static vyre_status allocate_scratch(vyre_pending *pending, const uint32_t *buffers, uint32_t count,
                                    vyre_slot *slots, vyre_error *err)
{
  const vyre_allocator *allocator = &pending->program->device->allocator;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t size = pending->shape.sizes[buffers[i]];
    void *memory = vyre__allocate(allocator, size, _Alignof(max_align_t));
    if (!memory) {
      free_scratch(pending);
      return VYRE_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, NULL,
                       "no host memory to read '%s' of %llu bytes back",
                       pending->program->buffers[buffers[i]].name, U64(size));
    }
    pending->scratch[buffers[i]] = memory;
    slots[i].struct_size = sizeof slots[i];
    slots[i].binding_id = UINT32_MAX; /* no binding has it: tells a slot that was not filled */
    slots[i].data = memory;
    slots[i].capacity = size;
  }
  return VYRE_OK;
}

/* The plugin's answer is checked by count, tag and length before anybody reads a byte of it. */
static vyre_status check_slots(const vyre_pending *pending, const uint32_t *buffers, uint32_t count,
                               const vyre_slot *slots, vyre_error *err)
{
  static const char fix[] = "use another version of the plugin, and report this to its author";
  const vyre_program *program = pending->program;
  const char *plugin = program->device->backend->name;
  uint32_t filled = 0;
  for (uint32_t i = 0; i < count; ++i)
    filled += slots[i].binding_id != UINT32_MAX;
  if (filled != count)
    return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED, fix,
                     "segment '%s' has %u outputs, plugin %s returned %u",
                     program->segments[0].name, count, plugin, filled);
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = program->buffers[buffers[i]].name;
    if (slots[i].binding_id != buffers[i])
      return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED, fix,
                       "plugin %s returned binding %u as output %u; expected is binding %u, '%s'",
                       plugin, slots[i].binding_id, i, buffers[i], name);
    /* The program's own size: the slot was in the plugin's hands. */
    if (slots[i].size != pending->shape.sizes[buffers[i]])
      return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED, fix,
                       "plugin %s returned %llu bytes of '%s'; expected are %llu", plugin,
                       U64(slots[i].size), name, U64(pending->shape.sizes[buffers[i]]));
  }
  return VYRE_OK;
}

/*
 * Results come into scratch of the core's own, never straight into the caller's slots: those keep
 * their bytes until nothing can fail any more.
 */
static vyre_status read_back(vyre_pending *pending, vyre_error *err)
{
  static const vyre_backend_times absent = {sizeof absent, 0, VYRE_TIME_ABSENT, VYRE_TIME_ABSENT,
                                            VYRE_TIME_ABSENT};
  vyre_device *device = pending->program->device;
  uint32_t buffers[VYRE_MAX_BUFFERS];
  vyre_slot slots[VYRE_MAX_BUFFERS] = {0};
  uint32_t count = expected_slots(pending, buffers);
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = allocate_scratch(pending, buffers, count, slots, err);
  if (status != VYRE_OK)
    return status;
  pending->read = true;
  pending->times = absent;
  status = device->backend->pending_read(pending->handle, slots, count, sizeof slots[0],
                                         &pending->times, &said);
  status = vyre__device_result(device, "pending_read", status, &said, err);
  if (status == VYRE_OK)
    status = check_slots(pending, buffers, count, slots, err);
  pending->read_status = status;
  if (status != VYRE_OK)
    free_scratch(pending);
  return status;
}

/* ---- handing out ---- */

static void collect(const vyre_pending *pending, vyre__value values[VYRE_MAX_BUFFERS])
{
  const vyre_program *program = pending->program;
  for (uint32_t p = 0; p < program->output_count; ++p) {
    uint32_t buffer = program->outputs[p];
    uint64_t offset = 0;
    const void *whole = pending->scratch[buffer];
    vyre__value *value = &values[p];
    memset(value, 0, sizeof *value);
    vyre__shape_range(program, &pending->shape, buffer, &offset, &value->size);
    if (whole && value->size == pending->shape.sizes[buffer]) {
      value->owned = pending->scratch[buffer];
      value->owned_capacity = value->size;
    }
    /* A buffer that the segment does not write has the caller's own bytes. */
    if (!whole)
      whole = pending->given[buffer].data;
    value->data = whole ? (const char *)whole + offset : NULL;
  }
}

static vyre_status hand_out(vyre_pending *pending, vyre_outputs *outputs, vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre__value values[VYRE_MAX_BUFFERS];
  vyre_status status = VYRE_OK;
  if (pending->route != VYRE_ROUTE_HOST)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "pass NULL for outputs and use vyre_buffer_download()",
                     "a dispatch on device buffers has its results in those buffers");
  collect(pending, values);
  status =
      vyre__outputs_store(outputs, values, program->output_count, &program->device->allocator, err);
  if (status != VYRE_OK)
    return status;
  /* A slot that took an allocation over owns it now. */
  for (uint32_t p = 0; p < program->output_count; ++p)
    if (pending->scratch[program->outputs[p]] &&
        outputs->slots[p].data == pending->scratch[program->outputs[p]])
      pending->scratch[program->outputs[p]] = NULL;
  return VYRE_OK;
}

vyre_status vyre__result_check(const vyre_dispatch_result *result, vyre_error *err)
{
  if (result && result->struct_size < VYRE__SIZE_TO(vyre_dispatch_result, wait_ns))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_DISPATCH_RESULT_INIT",
                     "the result's struct_size is %u, not %u", result->struct_size,
                     VYRE__SIZE_TO(vyre_dispatch_result, wait_ns));
  return VYRE_OK;
}

vyre_status vyre_pending_finish(vyre_pending *pending, vyre_outputs *outputs,
                                vyre_dispatch_result *out_result, vyre_error *err)
{
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_status status = VYRE_OK;
  if (!pending)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "pending is NULL");
  if (pending->finished)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "finish each pending dispatch once",
                     "this dispatch was finished before");
  status = vyre__outputs_check(outputs, err);
  if (status == VYRE_OK)
    status = vyre__result_check(out_result, err);
  if (status == VYRE_OK)
    status = vyre_pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status != VYRE_OK)
    return status;
  if (pending->read && pending->read_status != VYRE_OK)
    return VYRE_FAIL(err, pending->read_status, NULL, "reading its results back failed before");
  if (pending->handle && !pending->read && (outputs || out_result))
    status = read_back(pending, err);
  if (status == VYRE_OK)
    status = vyre__times_add(&result, &pending->times, err);
  if (status == VYRE_OK && outputs)
    status = hand_out(pending, outputs, err);
  if (status != VYRE_OK) {
    vyre__error_prefix(err, "program '%.200s': ", pending->program->name);
    return status;
  }
  pending->finished = true;
  result.route = pending->route;
  result.passes = 1;
  result.converged = VYRE_CONVERGED_NOT_TESTED;
  result.launches = pending->launches;
  result.wall_ns = vyre__now_ns() - pending->started_ns;
  if (out_result)
    vyre__struct_write(out_result, &result, sizeof result,
                       VYRE__SIZE_TO(vyre_dispatch_result, wait_ns));
  return VYRE_OK;
}
