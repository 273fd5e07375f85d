/* interop.c - memory, events and the queue of the vendor's own; see "Native objects" in vyre.h. */
#include "core/base/structs.h"
#include "core/device/device.h"

#define HANDLE_SIZE_0_3 VYRE__SIZE_TO(vyre_native_handle, handle)
#define MEMORY_SIZE_0_1 VYRE__SIZE_TO(vyre_native_memory, size)

/* The device is usable and has the capability. */
static vyre_status check(const vyre_device *device, uint64_t generation, uint64_t capability,
                         const char *what, vyre_error *err)
{
  vyre_status status = vyre__device_check(device, generation, err);
  if (!status && !(device->info.capabilities & capability))
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                     "choose a device that says so in its capabilities", "device %s has no %s",
                     device->info.selector, what);
  return status;
}

static vyre_status check_size(const void *structure, uint32_t least, const char *name,
                              vyre_error *err)
{
  if (!structure)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give one", "%s is NULL", name);
  if (vyre__struct_size(structure) < least)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set its struct_size to its sizeof",
                     "%s.struct_size is %u, at least %u is needed", name,
                     vyre__struct_size(structure), least);
  return VYRE_OK;
}

/* ---- memory ---- */

vyre_status vyre_buffer_import(vyre_device *device, const vyre_native_memory *memory,
                               vyre_buffer **out_buffer, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_buffer *buffer = NULL;
  vyre_status status;
  if (!device || !out_buffer)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the buffer",
                     "%s is NULL", device ? "out_buffer" : "the device");
  status = check_size(memory, MEMORY_SIZE_0_1, "memory", err);
  if (!status)
    status = check(device, vyre__device_generation(device), VYRE_CAP_IMPORT_EXPORT,
                   "import and export of memory", err);
  if (status)
    return status;
  buffer = vyre__allocate_zeroed(&device->allocator, 1, sizeof *buffer);
  if (!buffer)
    return VYRE_FAIL_MEMORY(err, "a buffer");
  buffer->size = memory->size;
  buffer->generation = vyre__device_generation(device);
  status = vyre__device_quiesce(device, err);
  if (!status) {
    status = device->backend->buffer_import(device->handle, memory, &buffer->handle, &said);
    vyre__device_resume(device);
    status = vyre__device_result(device, "buffer_import", status, &said, err);
  }
  if (!status && !buffer->handle)
    status =
        VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "update the plugin, or report this to whoever made it",
                  "%s: buffer_import succeeded and gave no buffer", device->backend->name);
  if (status) {
    vyre__deallocate(&device->allocator, buffer);
    return status;
  }
  buffer->device = device;
  buffer->references = 1;
  buffer->id = vyre__binders_new_id(&device->binders);
  vyre__device_retain(device);
  *out_buffer = buffer;
  return VYRE_OK;
}

vyre_status vyre_buffer_export(const vyre_buffer *buffer, vyre_native_memory *out_memory,
                               vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_native_memory memory = {.struct_size = (uint32_t)sizeof memory};
  vyre_status status;
  if (!buffer)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a buffer", "the buffer is NULL");
  status = check_size(out_memory, MEMORY_SIZE_0_1, "out_memory", err);
  if (!status)
    status = check(buffer->device, buffer->generation, VYRE_CAP_IMPORT_EXPORT,
                   "import and export of memory", err);
  if (status)
    return status;
  status = buffer->device->backend->buffer_export(buffer->device->handle, buffer->handle, &memory,
                                                  &said);
  status = vyre__device_result(buffer->device, "buffer_export", status, &said, err);
  if (!status)
    vyre__struct_write(out_memory, &memory, sizeof memory, MEMORY_SIZE_0_1);
  return status;
}

/* ---- events and the queue ---- */

static vyre_status check_event(const vyre_device *device, const vyre_native_handle *event,
                               const char *name, vyre_error *err)
{
  vyre_status status;
  if (!device)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device", "the device is NULL");
  status = check_size(event, HANDLE_SIZE_0_3, name, err);
  if (!status)
    status = check(device, vyre__device_generation(device), VYRE_CAP_INTEROP,
                   "events and queue of its vendor", err);
  return status;
}

vyre_status vyre_device_wait_event(vyre_device *device, const vyre_native_handle *event,
                                   vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = check_event(device, event, "event", err);
  if (status)
    return status;
  if (!event->handle)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give an event", "event.handle is 0");
  status = device->backend->event_wait(device->handle, event, &said);
  return vyre__device_result(device, "event_wait", status, &said, err);
}

vyre_status vyre_device_record_event(vyre_device *device, vyre_native_handle *event,
                                     vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = check_event(device, event, "event", err);
  if (status)
    return status;
  status = device->backend->event_record(device->handle, event, &said);
  return vyre__device_result(device, "event_record", status, &said, err);
}

vyre_status vyre_device_release_event(vyre_device *device, const vyre_native_handle *event,
                                      vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = check_event(device, event, "event", err);
  if (status || !event->handle)
    return status;
  status = device->backend->event_release(device->handle, event, &said);
  return vyre__device_result(device, "event_release", status, &said, err);
}

vyre_status vyre_device_queue(vyre_device *device, vyre_native_handle *out_queue, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_native_handle queue = {.struct_size = (uint32_t)sizeof queue};
  vyre_status status = check_event(device, out_queue, "out_queue", err);
  if (status)
    return status;
  status = device->backend->queue_export(device->handle, &queue, &said);
  status = vyre__device_result(device, "queue_export", status, &said, err);
  if (!status)
    vyre__struct_write(out_queue, &queue, sizeof queue, HANDLE_SIZE_0_3);
  return status;
}
