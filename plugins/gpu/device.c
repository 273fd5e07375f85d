/*
 * device.c - what devices there are and what they can do, opening and closing one.
 *
 * All opens of one device share the process's primary context of it.  After a sticky error that
 * context is dead for everybody; it is reset by the first open for which every device of ours on it
 * is latched as lost, so that nobody's live work is taken away.
 */
#include "plugins/gpu/gpu.h"
#include "plugins/gpu/staging.h"

#include "plugins/common/error.h"
#include "plugins/common/handshake.h"
#include "plugins/common/host.h"
#include "plugins/gpu/info.h"
#include "plugins/gpu/trial.h"

#include <stdio.h>
#include <string.h>

/* Guards the list of open devices, and makes opening and closing one after the other. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static vyre_backend_device *open_devices;

/* ---- count and info ---- */

static vyre_status count_devices(uint32_t *out_count, vyre_error *err)
{
  uint32_t count = 0;
  vyre_status status = vyre__gpu_driver.load(err);
  if (status != VYRE_OK)
    return status;
  const vyre__gpu_code code = vyre__gpu_driver.device_count(&count);
  if (code && vyre__gpu_driver.code_is_no_device(code))
    count = 0;
  else
    status = vyre__gpu_result(NULL, code, "counting devices", err);
  if (status == VYRE_OK)
    *out_count = count;
  return status;
}

vyre_status vyre__gpu_device_count(uint32_t *out_count, vyre_error *err)
{
  if (!out_count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the number",
                       "out_count is NULL");
  return count_devices(out_count, err);
}

static vyre_status read_facts(uint32_t index, vyre__gpu_facts *out_facts, vyre_error *err)
{
  uint32_t count = 0;
  const vyre_status status = count_devices(&count, err);
  if (status != VYRE_OK)
    return status;
  if (index >= count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       count ? "use an index below the number of devices"
                             : "use another backend, or make a device visible to this process",
                       "%s device %u does not exist, there are %u", vyre__gpu_driver.name, index,
                       count);
  const vyre_status read = vyre__gpu_result(NULL, vyre__gpu_driver.device_facts(index, out_facts),
                                            "reading what a device can do", err);
  if (read == VYRE_OK)
    vyre__gpu_trial_recall(index, out_facts);
  return read;
}

/* `unknown`: capabilities that the host's version has no word for. */
static vyre_status describe(uint32_t index, uint64_t unknown, vyre_backend_device_info *out_info,
                            vyre_error *err)
{
  vyre_backend_device_info info;
  vyre__gpu_facts facts = {0};
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, out_info, vyre_backend_device_info, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
  if (status == VYRE_OK)
    status = read_facts(index, &facts, err);
  if (status != VYRE_OK)
    return status;
  vyre__gpu_describe(index, &facts, &info);
  info.capabilities &= ~unknown;
  if (out_info->struct_size < info.struct_size)
    info.struct_size = out_info->struct_size;
  memcpy(out_info, &info, info.struct_size);
  return VYRE_OK;
}

vyre_status vyre__gpu_device_info(uint32_t index, vyre_backend_device_info *out_info,
                                  vyre_error *err)
{
  return describe(index, 0, out_info, err);
}

vyre_status vyre__gpu_device_info_0_2(uint32_t index, vyre_backend_device_info *out_info,
                                      vyre_error *err)
{
  return describe(index, VYRE_CAP_INTEROP | VYRE_CAP_SEQUENCES, out_info, err);
}

/* ---- opening ---- */

/* `out_queue`: the caller's, handle 0 if there is none. */
static vyre_status read_options(const vyre_backend_device_options *options,
                                vyre_native_handle *out_queue, vyre_error *err)
{
  *out_queue = (vyre_native_handle){0};
  if (!options)
    return VYRE_OK;
  vyre_status status = PLUGIN_CHECK_SIZE(err, options, vyre_backend_device_options,
                                         VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1);
  if (status == VYRE_OK && options->flags)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set the flags to 0",
                         "unknown device flags 0x%llx", (unsigned long long)options->flags);
  if (status == VYRE_OK && options->struct_size >= VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_3)
    *out_queue = options->queue;
  return status == VYRE_OK ? vyre__gpu_queue_check(out_queue, err) : status;
}

static vyre_status make_stream(vyre_backend_device *device, vyre__gpu_stream **out_stream,
                               vyre_error *err)
{
  return vyre__gpu_result(device, vyre__gpu_driver.stream_make(false, out_stream),
                          "making a stream", err);
}

/* Streams, pinned chunks and the clock, the context current. */
static vyre_status furnish(vyre_backend_device *device, const vyre_native_handle *queue,
                           vyre_error *err)
{
  vyre_status status = queue->handle ? vyre__gpu_queue_take(device, queue, err)
                                     : make_stream(device, &device->compute, err);
  if (status == VYRE_OK)
    status = make_stream(device, &device->copy, err);
  if (status == VYRE_OK)
    status = make_stream(device, &device->clock, err);
  if (status == VYRE_OK)
    status = vyre__gpu_staging_make(device, &device->staging, err);
  if (status == VYRE_OK)
    status = vyre__gpu_clock_start(device, err);
  return status;
}

/* Drops what furnish() made, as far as it came. */
static void strip(vyre_backend_device *device)
{
  vyre__gpu_stream *const streams[] = {device->clock, device->copy,
                                       device->is_queue_borrowed ? NULL : device->compute};
  vyre__gpu_scope scope;
  const bool is_current = vyre__gpu_enter_to_free(device, &scope);
  vyre__gpu_launches_drop(device);
  vyre__gpu_event_give(device, true, device->epoch);
  device->epoch = NULL;
  vyre__gpu_staging_drop(device, device->staging);
  device->staging = NULL;
  vyre__gpu_events_drop(device);
  for (uint32_t i = 0; i < sizeof(streams) / sizeof(streams[0]); ++i) {
    if (is_current && streams[i])
      (void)vyre__gpu_driver.stream_drop(streams[i]);
  }
  device->clock = device->copy = device->compute = NULL;
  vyre__gpu_leave(&scope);
}

/* Gives the device its context and what it keeps there, or leaves it without. */
static vyre_status acquire(vyre_backend_device *device, const vyre_native_handle *queue,
                           vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status =
      vyre__gpu_result(device, vyre__gpu_driver.context_retain(device->index, &device->context),
                       "taking the device's primary context", err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = furnish(device, queue, err);
  vyre__gpu_leave(&scope);
  if (status == VYRE_OK)
    status = vyre__gpu_trial(device, err);
  if (status != VYRE_OK) {
    strip(device);
    (void)vyre__gpu_driver.context_release(device->index);
  }
  return status;
}

/* True if no device of ours lives in the context.  open_lock is held. */
static bool is_forsaken(uint32_t index)
{
  for (const vyre_backend_device *other = open_devices; other; other = other->next_open)
    if (other->index == index && !vyre__gpu_is_lost(other))
      return false;
  return true;
}

/* A dead context is reset, and tried once more.  open_lock is held. */
static vyre_status revive(vyre_backend_device *device, vyre_error *err)
{
  const vyre_native_handle none = {0};
  if (!is_forsaken(device->index))
    /* Relaxed: this thread latched it. */
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_DEVICE_LOST,
                              __atomic_load_n(&device->lost_code, __ATOMIC_RELAXED),
                              "close or recover what else is open on the device first",
                              "the context of %s device %u is dead, and others still use it",
                              vyre__gpu_driver.name, device->index);
  const vyre__gpu_code code = vyre__gpu_driver.context_reset(device->index);
  /* A dead context may tell of its death once more; whether it is gone, acquire() finds out. */
  if (code && !vyre__gpu_driver.code_is_sticky(code))
    return vyre__gpu_result(NULL, code, "resetting the device's primary context", err);
  /* Relaxed, both: nobody else knows this device yet. */
  __atomic_store_n(&device->lost, false, __ATOMIC_RELAXED);
  __atomic_store_n(&device->lost_code, 0, __ATOMIC_RELAXED);
  return acquire(device, &none, err);
}

static void destroy(vyre_backend_device *device)
{
  pthread_mutex_destroy(&device->lock);
  vyre__plugin_deallocate(device->host, device);
}

vyre_status vyre__gpu_device_open(uint32_t index, const vyre_backend_device_options *options,
                                  vyre_backend_device **out_device, vyre_error *err)
{
  vyre__gpu_facts facts = {0};
  vyre_native_handle queue;
  vyre_status status = read_options(options, &queue, err);
  if (status == VYRE_OK && !out_device)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the device",
                         "out_device is NULL");
  if (status == VYRE_OK)
    status = read_facts(index, &facts, err);
  if (status == VYRE_OK && facts.closed_reason[0])
    status = PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "use another device",
                         "%s device %u (%s) cannot be opened: %s", vyre__gpu_driver.name, index,
                         facts.name, facts.closed_reason);
  if (status != VYRE_OK)
    return status;
  const vyre_host *const host = vyre__plugin_host();
  vyre_backend_device *const device =
      vyre__plugin_allocate_zeroed(host, sizeof(*device), _Alignof(vyre_backend_device));
  if (!device)
    return PLUGIN_FAIL_MEMORY(err, "a device");
  device->host = host;
  device->index = index;
  device->facts = facts;
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_lock(&open_lock);
  status = acquire(device, &queue, err);
  /* A queue of the caller's would go with its context: then he has to know first. */
  if (status == VYRE_ERROR_DEVICE_LOST && !queue.handle)
    status = revive(device, err);
  if (status == VYRE_OK) {
    device->next_open = open_devices;
    open_devices = device;
  }
  pthread_mutex_unlock(&open_lock);
  if (status == VYRE_OK)
    *out_device = device;
  else
    destroy(device);
  return status;
}

/* ---- closing ---- */

void vyre__gpu_device_close(vyre_backend_device *device)
{
  if (!device)
    return;
  pthread_mutex_lock(&open_lock);
  vyre_backend_device **link = &open_devices;
  while (*link && *link != device)
    link = &(*link)->next_open;
  if (*link)
    *link = device->next_open;
  strip(device);
  (void)vyre__gpu_driver.context_release(device->index);
  pthread_mutex_unlock(&open_lock);
  destroy(device);
}
