/* device.c - opened devices: references, loss, recovery, information. */
#include "core/device/context.h"

#include "core/device/open.h"

/* ---- references ---- */

void vyre__device_retain(vyre_device *device)
{
  /* Relaxed: the caller has a reference, so nobody else takes the last one away meanwhile. */
  __atomic_add_fetch(&device->references, 1, __ATOMIC_RELAXED);
}

/* Nobody uses the device any more.  In a child it is only forgotten. */
static void close_now(vyre__deferred *node)
{
  vyre_device *device = VYRE__OWNER(vyre_device, closing, node);
  vyre_context *context = device->context;
  const vyre_allocator allocator = device->allocator;
  const bool is_ours = vyre__context_is_ours(context);
  vyre__retired_handle *retired = NULL;
  while ((retired = device->retired)) {
    device->retired = retired->next;
    if (is_ours)
      device->backend->device_close(retired->handle);
    vyre__deallocate(&allocator, retired);
  }
  if (is_ours && device->handle)
    device->backend->device_close(device->handle);
  if (is_ours)
    vyre__site_release(device->site);
  if (is_ours) /* a thread that is not here may have it locked */
    vyre__binders_free(&device->binders);
  vyre__deallocate(&allocator, device->choice);
  vyre__deallocate(&allocator, device);
  vyre__context_release(context);
}

void vyre__device_release(vyre_device *device)
{
  /*
   * Release: what this thread did with the device comes before its end; acquire, of the last one:
   * the end comes after what all the others did.
   */
  if (__atomic_sub_fetch(&device->references, 1, __ATOMIC_ACQ_REL))
    return;
  device->closing.run = close_now;
  if (vyre__context_is_ours(device->context))
    vyre__device_retire(device, &device->closing);
  else
    close_now(&device->closing);
}

void vyre_device_close(vyre_device *device)
{
  if (device)
    vyre__device_release(device);
}

/* ---- resident launches ---- */

vyre_status vyre__device_quiesce(vyre_device *device, vyre_error *err)
{
  vyre_status status = vyre__site_quiesce(device->site, &device->lost, err);
  if (status)
    vyre__error_prefix(err, "device %s: ", device->info.selector);
  return status;
}

bool vyre__device_hold_quiet(vyre_device *device)
{
  return vyre__site_hold_empty(device->site);
}

void vyre__device_resume(vyre_device *device)
{
  vyre__site_resume(device->site);
}

void vyre__device_retire(vyre_device *device, vyre__deferred *node)
{
  vyre_context *context = device->context;
  if (!device->site) {
    node->run(node);
    return;
  }
  vyre__context_retain(context); /* the device may go with the node */
  if (!vyre__site_retire(device->site, &device->lost, node))
    vyre__context_log(context, VYRE_LOG_ERROR,
                      "a resident engine does not leave its device; what was to be freed stays "
                      "until it does");
  vyre__context_release(context);
}

/* ---- loss ---- */

uint64_t vyre__device_generation(const vyre_device *device)
{
  /* Acquire: pairs with the release in note_loss(); a larger number is seen with `lost` set. */
  return __atomic_load_n(&device->generation, __ATOMIC_ACQUIRE);
}

vyre_status vyre__device_check(const vyre_device *device, uint64_t generation, vyre_error *err)
{
  if (!vyre__context_is_ours(device->context))
    return VYRE_FAIL(err, VYRE_ERROR_FORKED, 0,
                     "device %s was opened before fork(), in the parent process",
                     device->info.selector);
  /*
   * Acquire: pairs with the release in vyre_device_recover(); who sees the latch open again sees
   * the new handle and generation.
   */
  if (__atomic_load_n(&device->lost, __ATOMIC_ACQUIRE))
    return VYRE_FAIL(err, VYRE_ERROR_DEVICE_LOST, 0, "device %s is lost", device->info.selector);
  if (generation != vyre__device_generation(device))
    return VYRE_FAIL(err, VYRE_ERROR_DEVICE_LOST,
                     "destroy it and make it again on the recovered device",
                     "it was made before device %s was lost", device->info.selector);
  return VYRE_OK;
}

vyre_status vyre__device_note(vyre_device *device, vyre_status status)
{
  uint32_t sound = 0;
  if (status != VYRE_ERROR_DEVICE_LOST)
    return status;
  /* One thread wins and counts; acquire-release: pairs with the acquire in device_check(). */
  if (__atomic_compare_exchange_n(&device->lost, &sound, 1, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    /* Release: pairs with the acquire in device_generation(). */
    __atomic_add_fetch(&device->generation, 1, __ATOMIC_RELEASE);
    vyre__context_log(device->context, VYRE_LOG_ERROR, "device %s is lost", device->info.selector);
  }
  return status;
}

vyre_status vyre__device_result(vyre_device *device, const char *function, vyre_status status,
                                const vyre_error *said, vyre_error *err)
{
  if (!status)
    return VYRE_OK;
  return vyre__device_note(device,
                           vyre__plugin_error(err, device->backend, function, status, said));
}

uint64_t vyre_device_generation(const vyre_device *device)
{
  return device ? vyre__device_generation(device) : 0;
}

vyre_backend_device *vyre__device_handle(const vyre_device *device, uint64_t generation)
{
  const vyre__retired_handle *retired = NULL;
  for (retired = device->retired; retired; retired = retired->next)
    if (retired->generation == generation)
      return retired->handle;
  return device->handle;
}

/* ---- recovery ---- */

/*
 * Nothing of the old handle is left but the caller's own reference: close, then open, which lets a
 * vendor drop everything in between.  Else the old handle is kept for what still has to be freed
 * with it.
 */
static vyre_status reopen(vyre_device *device, vyre_error *err)
{
  vyre_backend_device *handle = NULL;
  vyre__retired_handle *retired = NULL;
  vyre_status status;
  /* Acquire: pairs with the release in device_release(); those objects are freed. */
  bool is_alone = __atomic_load_n(&device->references, __ATOMIC_ACQUIRE) == 1;
  if (is_alone && device->handle) {
    device->backend->device_close(device->handle);
    device->handle = NULL;
  }
  if (device->handle) {
    retired = vyre__allocate_zeroed(&device->allocator, 1, sizeof *retired);
    if (!retired)
      return VYRE_FAIL_MEMORY(err, "recovering a device");
  }
  status = vyre__backend_open(device->backend, device->backend_index, NULL, &handle, err);
  if (status) {
    vyre__deallocate(&device->allocator, retired);
    return status;
  }
  if (retired) {
    retired->handle = device->handle;
    retired->generation = device->handle_generation;
    retired->next = device->retired;
    device->retired = retired;
  }
  device->handle = handle;
  device->handle_generation = vyre__device_generation(device);
  return VYRE_OK;
}

vyre_status vyre_device_recover(vyre_device *device, vyre_error *err)
{
  vyre_status status;
  if (!device)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device", "the device is NULL");
  status = vyre__context_check(device->context, err);
  if (status)
    return status;
  /* Relaxed: serialised by the caller against every other use of the device. */
  if (!__atomic_load_n(&device->lost, __ATOMIC_RELAXED))
    return VYRE_OK;
  status = vyre__device_quiesce(device, err);
  if (status)
    return status;
  vyre__binders_drop(&device->binders, 0); /* what was recorded is not started again */
  status = reopen(device, err);
  vyre__device_resume(device);
  if (status)
    return status;
  /* Release: pairs with the acquire in device_check(); the handle comes with the open latch. */
  __atomic_store_n(&device->lost, 0, __ATOMIC_RELEASE);
  vyre__context_log(device->context, VYRE_LOG_INFO, "device %s is recovered",
                    device->info.selector);
  return VYRE_OK;
}

/* ---- information ---- */

vyre_status vyre_device_get_info(const vyre_device *device, vyre_device_info *out_info,
                                 vyre_error *err)
{
  vyre_status status;
  if (!device)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device", "the device is NULL");
  status = vyre__context_check(device->context, err);
  if (status)
    return status;
  return vyre__device_info_write(&device->info, out_info, err);
}

const char *vyre_device_choice(const vyre_device *device, bool *out_fell_back)
{
  if (out_fell_back)
    *out_fell_back = device && device->fell_back;
  return device ? device->choice : "";
}
