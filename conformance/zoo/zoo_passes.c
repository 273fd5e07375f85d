/*
 * zoo_passes.c - dispatch_passes() for a plugin that declares EMULATED: launches, one after the
 * other, until the call returns; see zoo.h.
 */
#include "conformance/zoo/zoo.h"

#include <string.h>

/* Of vyre_kernel.h, which is the device's header. */
#define CONTROL_CHANGED 0u
#define CONTROL_PASSES 1u
#define CONTROL_PASS 32u
#define CONTROL_BYTES 140u

typedef struct run {
  vyre_backend_device *device;
  const vyre_passes_desc *desc;
  vyre_backend_pending *whole;
} run;

static const vyre_dispatch_desc *step_at(const vyre_passes_desc *desc, uint32_t index)
{
  return (const void *)((const char *)desc->steps + index * desc->step_stride);
}

/* ---- checks: all of them before anything runs (DISP-021) ---- */

static bool is_inside(const vyre_backend_device *device, vyre_backend_buffer *buffer,
                      uint64_t offset, uint64_t size)
{
  vyre_native_memory memory = {.struct_size = sizeof memory};
  return buffer && zoo__real()->buffer_export(device->real, buffer, &memory, NULL) == VYRE_OK &&
         offset <= memory.size && size <= memory.size - offset;
}

static vyre_status check_bindings(const vyre_backend_device *device, const vyre_dispatch_desc *step,
                                  uint32_t number, vyre_error *err)
{
  for (uint32_t i = 0; i < step->binding_count; ++i) {
    const vyre_binding *binding = zoo__binding_at(step, i);
    if (binding->struct_size < VYRE_BINDING_SIZE_0_1 || binding->id >= step->id_limit)
      return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "step %u: binding %u is not whole", number,
                       i);
    if (binding->kind == VYRE_BINDING_WORKGROUP && binding->access == VYRE_WORKGROUP)
      continue;
    if (binding->kind != VYRE_BINDING_BUFFER || binding->access > VYRE_WRITE_ONLY)
      return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "step %u: binding %u has kind %u and access %u", number, i, binding->kind,
                       binding->access);
    if (!is_inside(device, binding->buffer, binding->offset, binding->size))
      return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "step %u: binding %u is not inside its buffer", number, i);
  }
  return VYRE_OK;
}

static vyre_status check_grid(const vyre_backend_device_info *info, const vyre_dispatch_desc *step,
                              uint32_t number, vyre_error *err)
{
  uint64_t items = 1;
  for (int d = 0; d < 3; ++d) {
    if (!step->groups[d] || step->groups[d] > info->max_groups[d])
      return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "step %u: %u groups, the limit is %u",
                       number, step->groups[d], info->max_groups[d]);
    if (!step->workgroup[d] || step->workgroup[d] > info->max_workgroup[d])
      return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "step %u: %u items in a group, the limit is %u", number, step->workgroup[d],
                       info->max_workgroup[d]);
    items *= step->workgroup[d];
  }
  if (items > info->max_workgroup_items)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "step %u: %llu items in a group, the limit is %u", number,
                     (unsigned long long)items, info->max_workgroup_items);
  return VYRE_OK;
}

static vyre_status check_step(const vyre_backend_device *device,
                              const vyre_backend_device_info *info, const vyre_dispatch_desc *step,
                              uint32_t number, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (step->struct_size < VYRE_DISPATCH_DESC_SIZE_0_1)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "step %u has %u bytes", number,
                     step->struct_size);
  if (step->flags || !step->kernel || (step->push_size && !step->push))
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "step %u has flags 0x%llx or no kernel",
                     number, (unsigned long long)step->flags);
  if (step->push_size > info->max_push_bytes || step->binding_count > info->max_bindings)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "step %u: %u bytes of push constants and %u bindings, the limits are %u, %u",
                     number, step->push_size, step->binding_count, info->max_push_bytes,
                     info->max_bindings);
  if (step->binding_count && (!step->bindings || step->binding_stride < VYRE_BINDING_SIZE_0_1))
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "step %u has no whole bindings", number);
  status = check_grid(info, step, number, err);
  return status == VYRE_OK ? check_bindings(device, step, number, err) : status;
}

static vyre_status check(const vyre_backend_device *device, const vyre_passes_desc *desc,
                         vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (desc->struct_size < VYRE_PASSES_DESC_SIZE_0_2)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "vyre_passes_desc has %u bytes",
                     desc->struct_size);
  if (ZOO_IS(passes_unchecked))
    return VYRE_OK;
  if (desc->flags || desc->tested > 1 || !desc->max_passes || !desc->step_count || !desc->steps ||
      desc->step_stride < VYRE_DISPATCH_DESC_SIZE_0_1)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "%u steps, %u passes, tested %u, flags 0x%llx: one of them cannot be",
                     desc->step_count, desc->max_passes, desc->tested,
                     (unsigned long long)desc->flags);
  if (desc->control_offset % 128 ||
      !is_inside(device, desc->control, desc->control_offset, CONTROL_BYTES))
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "there is no room for the control words");
  for (uint32_t i = 0; status == VYRE_OK && i < desc->step_count; ++i)
    status = check_step(device, &device->limits, step_at(desc, i), i, err);
  return status;
}

/* ---- running ---- */

static vyre_status word(run *r, uint32_t index, uint32_t *value, bool put, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  const uint64_t at = r->desc->control_offset + 4ull * index;
  return put ? real->buffer_upload(r->device->real, r->desc->control, at, value, 4, err)
             : real->buffer_download(r->device->real, r->desc->control, at, value, 4, err);
}

/* What is wrong before the first launch is the call's error, what goes wrong later the handle's. */
static vyre_status run_step(run *r, uint32_t index, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  vyre_backend_times times = {.struct_size = sizeof times};
  vyre_backend_pending *pending = NULL;
  vyre_status status = real->dispatch(r->device->real, step_at(r->desc, index), &pending, err);
  if (status != VYRE_OK)
    return status;
  status = real->pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status == VYRE_OK)
    status = real->pending_read(pending, NULL, 0, 0, &times, err);
  real->pending_release(pending);
  if (status != VYRE_OK)
    return status;
  if (!r->whole->passes_times.struct_size)
    r->whole->passes_times = times;
  r->whole->passes_times.ended_ns = times.ended_ns;
  r->whole->passes_times.device_ns =
      r->whole->passes_times.ended_ns - r->whole->passes_times.started_ns;
  return VYRE_OK;
}

static uint64_t groups_of(const vyre_dispatch_desc *step)
{
  return (uint64_t)step->groups[0] * step->groups[1] * step->groups[2];
}

/*
 * Without the barrier before it the last step may run before the one that it waits for; here it
 * always does.
 */
static uint32_t order(const run *r, uint32_t turn)
{
  const uint32_t last = r->desc->step_count - 1;
  if (!ZOO_IS(passes_last_barrier) || !last || groups_of(step_at(r->desc, last)) <= 64 ||
      turn + 1 < last)
    return turn;
  return turn == last ? last - 1 : last;
}

static vyre_status run_pass(run *r, uint32_t pass, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  uint32_t told = ZOO_IS(passes_no_word) ? 1 : pass;
  const uint32_t steps = ZOO_IS(passes_first_only) && pass > 1 ? 1 : r->desc->step_count;
  status = word(r, CONTROL_PASS, &told, true, err);
  for (uint32_t i = 0; status == VYRE_OK && i < steps; ++i)
    status = run_step(r, order(r, i), err);
  return status;
}

static uint32_t most_passes(const vyre_passes_desc *desc)
{
  if (ZOO_IS(passes_one_less) && desc->max_passes > 1)
    return desc->max_passes - 1;
  if (ZOO_IS(passes_one_more))
    return desc->max_passes + 1;
  return desc->max_passes;
}

static vyre_status run_all(run *r, vyre_error *err)
{
  const uint32_t most = most_passes(r->desc);
  vyre_status status = VYRE_OK;
  uint32_t pass = 0, changed = 0;
  while (status == VYRE_OK && pass < most) {
    status = run_pass(r, ++pass, err);
    if (status == VYRE_OK && r->desc->tested)
      status = word(r, CONTROL_CHANGED, &changed, false, err);
    if (r->desc->tested && !ZOO_IS(passes_untested) && changed < pass)
      break;
  }
  if (ZOO_IS(passes_wrong_count))
    pass += 1;
  if (status == VYRE_OK)
    status = word(r, CONTROL_PASSES, &pass, true, err);
  return status;
}

vyre_status zoo__dispatch_passes(vyre_backend_device *device, const vyre_passes_desc *desc,
                                 vyre_backend_pending **out_pending, vyre_error *err)
{
  const vyre_host *host = zoo__host();
  run r = {.device = device, .desc = desc};
  vyre_error record = VYRE_ERROR_INIT;
  vyre_status status = check(device, desc, err);
  if (status != VYRE_OK)
    return zoo__pass_on(err, status);
  r.whole = host->allocate(host->self, sizeof *r.whole, 16);
  if (!r.whole)
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for passes");
  memset(r.whole, 0, sizeof *r.whole);
  r.whole->device = device;
  r.whole->error.struct_size = sizeof r.whole->error;
  status = run_all(&r, &record);
  if (status != VYRE_OK && !r.whole->passes_times.struct_size) {
    host->deallocate(host->self, r.whole);
    return zoo__fail(err, status, "%s", record.message);
  }
  if (status != VYRE_OK)
    r.whole->error = record;
  *out_pending = r.whole;
  return VYRE_OK;
}
