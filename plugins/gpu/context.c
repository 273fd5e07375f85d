/*
 * context.c - a device's context for the length of a call, what the vendor's codes mean, and the
 * latch of a lost device.
 */
#include "plugins/gpu/gpu.h"

#include "plugins/common/error.h"

/* Room for the longest name of a code with its number. */
#define CODE_NAME_SIZE 96u

static const char lost_fix[] = "close what is open on the device and open it again";

static void latch(vyre_backend_device *device, vyre__gpu_code code)
{
  vyre__gpu_code none = 0;
  /* Relaxed: only the first code stays; whoever sees `lost` sees it, by the release below and since
     a failed exchange has read it too. */
  __atomic_compare_exchange_n(&device->lost_code, &none, code, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  /* Release: pairs with the acquire in vyre__gpu_is_lost(). */
  __atomic_store_n(&device->lost, true, __ATOMIC_RELEASE);
}

bool vyre__gpu_is_lost(const vyre_backend_device *device)
{
  /* Acquire: pairs with the release in latch(); lost_code is there. */
  return __atomic_load_n(&device->lost, __ATOMIC_ACQUIRE);
}

vyre_status vyre__gpu_check_lost(const vyre_backend_device *device, vyre_error *err)
{
  char name[CODE_NAME_SIZE] = "";
  if (!vyre__gpu_is_lost(device))
    return VYRE_OK;
  /* Relaxed: ordered by the acquire in vyre__gpu_is_lost(), partner of the release in latch(). */
  const vyre__gpu_code code = __atomic_load_n(&device->lost_code, __ATOMIC_RELAXED);
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_DEVICE_LOST, code, lost_fix,
                            "%s device %u is lost since %s", vyre__gpu_driver.name, device->index,
                            vyre__gpu_driver.code_name(code, name, sizeof(name)));
}

vyre_status vyre__gpu_result(vyre_backend_device *device, vyre__gpu_code code, const char *what,
                             vyre_error *err)
{
  char name[CODE_NAME_SIZE] = "";
  if (!code)
    return VYRE_OK;
  const bool is_sticky = vyre__gpu_driver.code_is_sticky(code);
  vyre_status status = is_sticky ? VYRE_ERROR_DEVICE_LOST : vyre__gpu_driver.code_status(code);
  if (status == VYRE_OK)
    status = VYRE_ERROR_INTERNAL;
  if (is_sticky && device)
    latch(device, code);
  return PLUGIN_FAIL_VENDOR(err, status, code, is_sticky ? lost_fix : NULL, "%s: %s", what,
                            vyre__gpu_driver.code_name(code, name, sizeof(name)));
}

vyre_status vyre__gpu_enter(vyre_backend_device *device, vyre__gpu_scope *scope, vyre_error *err)
{
  *scope = (vyre__gpu_scope){.device = device};
  vyre_status status = vyre__gpu_check_lost(device, err);
  if (status == VYRE_OK)
    status =
        vyre__gpu_result(device, vyre__gpu_driver.context_enter(device->context, &scope->before),
                         "making the device's context current", err);
  scope->entered = status == VYRE_OK;
  return status;
}

bool vyre__gpu_enter_to_free(vyre_backend_device *device, vyre__gpu_scope *scope)
{
  *scope = (vyre__gpu_scope){.device = device};
  /* Twice: what passes by is not to cost the memory that is given back. */
  for (int turn = 0; turn < 2 && !scope->entered; ++turn)
    scope->entered = vyre__gpu_enter(device, scope, NULL) == VYRE_OK;
  return scope->entered;
}

void vyre__gpu_leave(vyre__gpu_scope *scope)
{
  if (!scope->entered)
    return;
  scope->entered = false;
  /* Nothing can be done about it, and the call that it belongs to has its result. */
  (void)vyre__gpu_driver.context_leave(scope->before);
}
