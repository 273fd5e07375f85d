/* fixture_passes.c - tier 3 and the clock of tier 5: PASS-001 to PASS-005 as plainly as can be. */
#include "fixture_inside.h"

#include <inttypes.h>
#include <time.h>

vyre_status fixture__cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                        const uint32_t workgroup[3], uint64_t workgroup_memory,
                                        uint32_t *out_groups, vyre_error *err)
{
  (void)kernel;
  (void)workgroup_memory;
  if (VALUE(groups_error))
    return fixture__fail(err, VALUE(groups_error), "the fixture does not know how many groups fit");
  if (!workgroup[0] || !workgroup[1] || !workgroup[2])
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a workgroup of no items");
  *out_groups = (uint32_t)VALUE(cooperative_groups);
  return fixture__check_lost(device, err);
}

vyre_status fixture__device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                  uint64_t *out_host_ns, vyre_error *err)
{
  struct timespec now;
  vyre_status status = fixture__check_lost(device, err);
  if (status)
    return status;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *out_device_ns = (uint64_t)VALUE(clock);
  *out_host_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  return VYRE_OK;
}

/* ---- all passes in one call ---- */

/* The steps of one run, prepared once and launched in each pass. */
typedef struct passes {
  const vyre_passes_desc *desc;
  unsigned char *control;
  vyre_backend_pending *steps[MAX_STEPS];
} passes;

static const vyre_dispatch_desc *step_at(const vyre_passes_desc *desc, uint32_t index)
{
  return (const void *)((const char *)desc->steps + index * desc->step_stride);
}

static vyre_status check_step(const vyre_dispatch_desc *step, vyre_error *err)
{
  uint32_t i;
  for (i = 0; i < step->binding_count; i++) {
    const vyre_binding *binding =
        (const void *)((const char *)step->bindings + i * step->binding_stride);
    if (binding->kind == VYRE_BINDING_HOST)
      return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a step with host bytes");
  }
  if (step->flags)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a step with flags");
  return VYRE_OK;
}

static vyre_status check_passes(const vyre_passes_desc *desc, vyre_error *err)
{
  const uint64_t words = 4ull * (CONTROL_TESTED + 1);
  vyre_status status = VYRE_OK;
  uint32_t i;
  if (VALUE(grid_sync) != VYRE_GRID_SYNC_EMULATED)
    return fixture__fail(err, VYRE_ERROR_UNSUPPORTED, "the fixture does not emulate");
  if (VALUE(passes_error))
    return fixture__fail(err, VALUE(passes_error), "the fixture does not run passes");
  if (desc->struct_size < VYRE_PASSES_DESC_SIZE_0_2 || desc->flags || desc->tested > 1 ||
      !desc->max_passes || !desc->step_count || desc->step_count > MAX_STEPS ||
      desc->step_stride < VYRE_DISPATCH_DESC_SIZE_0_1)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "passes that the fixture does not know: %" PRIu32 " steps",
                         desc->step_count);
  if (!desc->control || desc->control_offset % 128 || desc->control_offset > desc->control->size ||
      desc->control->size - desc->control_offset < words)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "no room for the control words");
  for (i = 0; !status && i < desc->step_count; i++)
    status = check_step(step_at(desc, i), err);
  return status;
}

/* In the device's lock.  A step's failure is the failure of the whole. */
static void run_passes(passes *run, vyre_backend_pending *whole)
{
  const vyre_passes_desc *desc = run->desc;
  uint32_t pass = 0, i;
  while (!whole->result && pass < desc->max_passes) {
    fixture__put_word(run->control, CONTROL_PASS, ++pass);
    for (i = 0; !whole->result && i < desc->step_count; i++) {
      fixture__launch(run->steps[i], step_at(desc, i));
      whole->result = run->steps[i]->result;
      whole->why = run->steps[i]->why;
      whole->ended = run->steps[i]->ended;
      if (!whole->started)
        whole->started = run->steps[i]->started;
    }
    if (desc->tested && fixture__word(run->control, CONTROL_CHANGED) < pass)
      break;
  }
  if (!whole->result)
    fixture__put_word(run->control, CONTROL_PASSES,
                      VALUE(say_passes) ? (uint32_t)VALUE(say_passes) : pass);
}

vyre_status fixture__dispatch_passes(vyre_backend_device *device, const vyre_passes_desc *desc,
                                     vyre_backend_pending **out_pending, vyre_error *err)
{
  passes run = {.desc = desc};
  vyre_backend_pending *whole = NULL;
  vyre_status status = fixture__check_lost(device, err);
  uint32_t i;
  if (!status)
    status = check_passes(desc, err);
  if (status)
    return status;
  for (i = 0; !status && i < desc->step_count; i++)
    status = fixture__prepare(device, step_at(desc, i), &run.steps[i], err);
  if (!status)
    whole = fixture__allocate(sizeof *whole);
  if (!status && !whole)
    status = fixture__no_memory(err);
  if (!status) {
    whole->device = device;
    run.control = desc->control->bytes + desc->control_offset;
    pthread_mutex_lock(&device->lock);
    run_passes(&run, whole);
    pthread_mutex_unlock(&device->lock);
    ADD(passes_calls, 1);
    ADD(pendings_live, 1);
    *out_pending = whole;
  }
  for (i = 0; i < desc->step_count; i++)
    fixture__drop(run.steps[i]);
  return status;
}
