/*
 * dispatch.c - starting a launch.
 *
 * In this order: everything is checked; a handle is taken, with its events; HOST bindings get one
 * block of device memory, filled on the stream `copy`; then, under the device's lock, the stream of
 * the launch waits for the block, and start event (if anybody may ask for times), launch and end
 * event follow each other.  Nothing has run before the launch itself, and nothing that fails after
 * it makes dispatch() fail: the handle tells.
 */
#include "plugins/gpu/arguments.h"
#include "plugins/gpu/check.h"
#include "plugins/gpu/residency.h"
#include "plugins/gpu/staging.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <stdio.h>

/* -------- the block -------- */

vyre_status vyre__gpu_pending_block(vyre_backend_pending *pending, uint64_t size, vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  vyre__gpu_address block = 0;
  const vyre__gpu_code code = device->facts.stream_ordered
                                  ? vyre__gpu_driver.memory_take_async(size, device->copy, &block)
                                  : vyre__gpu_driver.memory_take(size, &block);
  char what[96];
  if (code) {
    snprintf(what, sizeof(what), "taking %llu bytes for a launch", (unsigned long long)size);
    return vyre__gpu_result(device, code, what, err);
  }
  pending->block = block;
  return VYRE_OK;
}

/* Puts the bytes of the HOST bindings on their way; the handle's mark is behind them on `copy`. */
static vyre_status fill_block(vyre_backend_pending *pending, const vyre_dispatch_desc *desc,
                              const vyre__gpu_arguments *arguments, vyre_error *err)
{
  static const char zeroing[] = "zeroing the memory of a launch";
  vyre_backend_device *device = pending->device;
  vyre__gpu_event *mark = vyre__gpu_pending_mark(pending);
  vyre_status status = VYRE_OK;
  if (pending->fault)
    status = vyre__gpu_result(
        device, vyre__gpu_driver.fill(pending->fault, 0, sizeof(vyre__gpu_fault), device->copy),
        zeroing, err);
  for (uint32_t i = 0; i < desc->binding_count && status == VYRE_OK; ++i) {
    const vyre_binding *binding = vyre__gpu_binding_at(desc, i);
    if (binding->kind != VYRE_BINDING_HOST || !binding->size)
      continue;
    if (binding->data)
      status = vyre__gpu_stage_in(device, device->copy, arguments->addresses[i], binding->data,
                                  binding->size, err);
    else
      status = vyre__gpu_result(
          device, vyre__gpu_driver.fill(arguments->addresses[i], 0, binding->size, device->copy),
          zeroing, err);
  }
  if (status == VYRE_OK)
    status = vyre__gpu_result(device, vyre__gpu_driver.event_record(mark, device->copy),
                              "marking the bytes of a launch", err);
  return status;
}

/* -------- the launch -------- */

static vyre_status tell_failure(const vyre_backend_pending *pending, vyre__gpu_code code,
                                vyre_error *err)
{
  char what[192];
  snprintf(what, sizeof(what), "launching kernel %.160s", pending->kernel->name);
  return vyre__gpu_result(pending->device, code, what, err);
}

/* The handle's own lock is not needed: nobody has the handle yet. */
void vyre__gpu_pending_unmarked(vyre_backend_pending *pending, vyre__gpu_code code,
                                const char *what)
{
  pending->is_marked = false;
  pending->error.struct_size = sizeof(pending->error);
  (void)vyre__gpu_result(pending->device, code, what, &pending->error);
}

/* Nor here. */
static vyre_status start(vyre_backend_pending *pending, const vyre_dispatch_desc *desc,
                         const vyre__gpu_needs *needs, vyre__gpu_arguments *arguments,
                         vyre_error *err)
{
  const vyre__gpu_driver_table *driver = &vyre__gpu_driver;
  vyre_backend_device *device = pending->device;
  vyre__gpu_stream *stream = pending->stream;
  const bool is_cooperative = (desc->flags & VYRE_DISPATCH_COOPERATIVE) != 0;
  vyre__gpu_code code = 0, late = 0;
  /* The order in which calls get the lock is the order on the stream (DISP-020). */
  pthread_mutex_lock(&device->lock);
  if (pending->block) /* what is awaited is recorded already: the event is free again after this */
    code = driver->stream_wait(stream, vyre__gpu_pending_mark(pending));
  if (!code && pending->is_timed)
    code = driver->event_record(pending->started, stream);
  if (!code)
    code = driver->launch(pending->kernel->function, desc->groups, desc->workgroup,
                          needs->workgroup_memory, stream, arguments->parameters, is_cooperative);
  if (!code) {
    late = driver->event_record(pending->ended, stream);
    if (!late && is_cooperative)
      late = driver->event_record(device->cooperative, stream);
  }
  pthread_mutex_unlock(&device->lock);
  if (code)
    return tell_failure(pending, code, err);
  if (late)
    vyre__gpu_pending_unmarked(pending, late, "marking the end of a launch");
  return VYRE_OK;
}

/*
 * The two kinds that may not meet are started under one lock, from the look at what is there to the
 * launch.
 */
static vyre_status start_resident(vyre_backend_pending *pending, const vyre_dispatch_desc *desc,
                                  const vyre__gpu_needs *needs, vyre__gpu_arguments *arguments,
                                  vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  vyre_status status = VYRE_OK;
  vyre__gpu_residency_lock();
  if (pending->is_persistent) {
    status =
        vyre__gpu_persistent_fits(device, desc, needs->workgroup_memory, &pending->occupancy, err);
    /* Those that are on their way have been promised their room. */
    if (status == VYRE_OK)
      status = vyre__gpu_result(device, vyre__gpu_residency_wait(device, pending->stream),
                                "waiting for cooperative launches", err);
  } else {
    status =
        vyre__gpu_cooperative_check(device, pending->kernel, desc, needs->workgroup_memory, err);
    if (status == VYRE_OK)
      status =
          vyre__gpu_result(device, vyre__gpu_residency_prepare(device), "making an event", err);
  }
  if (status == VYRE_OK)
    status = start(pending, desc, needs, arguments, err);
  if (status == VYRE_OK && pending->is_persistent) {
    vyre__gpu_residency_add(pending);
    pending->is_resident = true;
  }
  vyre__gpu_residency_unlock();
  return status;
}

/* Before anything is taken; asked again when the launch is started. */
static vyre_status check_residency(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                   const vyre__gpu_needs *needs, vyre_error *err)
{
  uint32_t occupancy = 0;
  vyre__gpu_residency_lock();
  const vyre_status status =
      desc->flags & VYRE_DISPATCH_PERSISTENT
          ? vyre__gpu_persistent_fits(device, desc, needs->workgroup_memory, &occupancy, err)
          : vyre__gpu_cooperative_check(device, desc->kernel, desc, needs->workgroup_memory, err);
  vyre__gpu_residency_unlock();
  return status;
}

/* A host of an older version cannot say that nobody asks. */
static bool is_timed(const vyre_dispatch_desc *desc)
{
  return desc->struct_size < VYRE_DISPATCH_DESC_SIZE_0_3 || !desc->untimed;
}

/* The context is current. */
static vyre_status make(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                        const vyre__gpu_needs *needs, vyre_backend_pending **out_pending,
                        vyre_error *err)
{
  vyre__gpu_arguments arguments; /* 2.5 KiB; only the launch is cleared */
  vyre_backend_pending *pending = NULL;
  /* A cooperative launch that takes nothing is looked at once. */
  vyre_status status = VYRE_OK;
  if ((desc->flags & VYRE_DISPATCH_PERSISTENT) || (desc->flags && needs->block))
    status = check_residency(device, desc, needs, err);
  if (status == VYRE_OK)
    status = vyre__gpu_pending_take(device, is_timed(desc), &pending, err);
  if (status != VYRE_OK)
    return status;
  pending->kernel = desc->kernel;
  pending->stream = device->compute;
  if (desc->flags & VYRE_DISPATCH_PERSISTENT) {
    pending->groups = (uint32_t)vyre__gpu_group_count(desc); /* they fit */
    status = vyre__gpu_persistent_stream(device, &pending->stream, err);
    pending->is_persistent = status == VYRE_OK;
  }
  if (status == VYRE_OK && needs->block)
    status = vyre__gpu_pending_block(pending, needs->block, err);
  if (status == VYRE_OK)
    vyre__gpu_arguments_pack(desc, needs, pending, &arguments);
  if (status == VYRE_OK && needs->block)
    status = fill_block(pending, desc, &arguments, err);
  if (status == VYRE_OK)
    status = desc->flags ? start_resident(pending, desc, needs, &arguments, err)
                         : start(pending, desc, needs, &arguments, err);
  if (status == VYRE_OK) {
    *out_pending = pending;
    return VYRE_OK;
  }
  if (pending->is_persistent)
    vyre__gpu_persistent_stream_give(device, pending->stream);
  vyre__gpu_pending_give(pending, device->copy);
  return status;
}

vyre_status vyre__gpu_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre__gpu_needs needs;
  vyre__gpu_scope scope;
  if (!device || !out_pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the handle",
                       "device or out_pending is NULL");
  const uint64_t begin = vyre__plugin_clock_ns();
  vyre_status status = vyre__gpu_check_dispatch(device, desc, err);
  if (status == VYRE_OK)
    status = vyre__gpu_arguments_plan(device, desc, &needs, err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = make(device, desc, &needs, &pending, err);
  vyre__gpu_leave(&scope);
  if (status != VYRE_OK)
    return status;
  if (pending->is_timed)
    pending->enqueue_ns = vyre__plugin_clock_ns() - begin;
  *out_pending = pending;
  return VYRE_OK;
}
