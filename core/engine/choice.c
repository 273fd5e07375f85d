/* choice.c - persistent or batched, and the sentence that says why. */
#include "core/base/text.h"

#include "core/engine/engine.h"

#include <stdio.h>

/* What the engine needs of a device for a persistent launch; NULL if it has all of it. */
static const char *obstacle(const vyre_device *device)
{
  const vyre_device_info *info = &device->info;
  const uint32_t atomics = VYRE_COHERENT_LOAD_STORE_32 | VYRE_COHERENT_LOAD_STORE_64;
  if (!(info->capabilities & VYRE_CAP_PERSISTENT))
    return info->persistent_reason[0] ? info->persistent_reason
                                      : "the device has no persistent launches";
  if (!(info->capabilities & VYRE_CAP_COHERENT) || !VYRE__HAS_SLOT(device->backend, coherent_alloc))
    return "the device has no memory that host and device see at once";
  if (!(info->capabilities & VYRE_CAP_BUFFERS))
    return "the device has no resident buffers";
  if ((info->coherent_atomics & atomics) != atomics)
    return "the device's coherent memory has no atomic loads and stores of 32 and 64 bits";
  if (info->progress == VYRE_PROGRESS_NONE)
    return "the device does not promise that its groups make progress";
  return NULL;
}

vyre_status vyre__engine_choose(const vyre_device *device, vyre__engine_plan *plan,
                                char **out_choice, vyre_error *err)
{
  const char *reason = obstacle(device);
  vyre__text text;
  if (plan->mode == VYRE_ENGINE_FORCE && reason && device->serialised_by) {
    char fix[160];
    snprintf(fix, sizeof fix,
             "unset %s before the context is created, or use VYRE_ENGINE_AUTO: batched launches "
             "give the same results",
             device->serialised_by);
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, fix, "%s cannot run a persistent engine: %s",
                     device->info.selector, reason);
  }
  if (plan->mode == VYRE_ENGINE_FORCE && reason)
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                     "use VYRE_ENGINE_AUTO: batched launches give the same results; or another "
                     "device",
                     "%s cannot run a persistent engine: %s", device->info.selector, reason);
  plan->persistent = plan->mode != VYRE_ENGINE_DISABLE && !reason;
  vyre__text_init(&text, &device->allocator);
  if (plan->persistent)
    vyre__text_format(&text, "persistent: %s on %s, %u worker%s",
                      plan->mode == VYRE_ENGINE_FORCE ? "asked for" : "chosen",
                      device->info.selector, plan->workers, plan->workers == 1 ? "" : "s");
  else
    vyre__text_format(&text, "batched: %s",
                      plan->mode == VYRE_ENGINE_DISABLE ? "asked for" : reason);
  *out_choice = vyre__text_take(&text, NULL);
  return *out_choice ? VYRE_OK : VYRE_FAIL_MEMORY(err, "an engine's choice");
}
