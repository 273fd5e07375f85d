/* buffer.c - memory that stays on a device; ranges are checked here, before the plugin sees them.
 */
#include "core/base/checked.h"
#include "core/device/device.h"

/* ---- creating and destroying ---- */

static vyre_status check_create(vyre_device *device, uint64_t size, vyre_buffer **out_buffer,
                                vyre_error *err)
{
  vyre_status status;
  if (!device || !out_buffer)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the buffer",
                     "%s is NULL", device ? "out_buffer" : "the device");
  status = vyre__device_check(device, vyre__device_generation(device), err);
  if (status)
    return status;
  if (!(device->info.capabilities & VYRE_CAP_BUFFERS))
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                     "give the bytes to each dispatch, or choose a device with VYRE_CAP_BUFFERS",
                     "device %s has no resident buffers", device->info.selector);
  if (device->info.max_buffer_bytes && size > device->info.max_buffer_bytes)
    return VYRE_FAIL(err, VYRE_ERROR_OUT_OF_DEVICE_MEMORY, "split it into smaller buffers",
                     "a buffer of %llu bytes, device %s has at most %llu in one",
                     (unsigned long long)size, device->info.selector,
                     (unsigned long long)device->info.max_buffer_bytes);
  return VYRE_OK;
}

vyre_status vyre_buffer_create(vyre_device *device, uint64_t size, vyre_buffer **out_buffer,
                               vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_buffer *buffer = NULL;
  vyre_status status = check_create(device, size, out_buffer, err);
  if (status)
    return status;
  buffer = vyre__allocate_zeroed(&device->allocator, 1, sizeof *buffer);
  if (!buffer)
    return VYRE_FAIL_MEMORY(err, "a buffer");
  buffer->size = size;
  buffer->generation = vyre__device_generation(device);
  status = vyre__device_quiesce(device, err);
  if (!status) {
    status = device->backend->buffer_alloc(device->handle, size, &buffer->handle, &said);
    vyre__device_resume(device);
    status = vyre__device_result(device, "buffer_alloc", status, &said, err);
  }
  if (!status && !buffer->handle)
    status =
        VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "update the plugin, or report this to whoever made it",
                  "%s: buffer_alloc succeeded and gave no buffer", device->backend->name);
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

void vyre__buffer_retain(vyre_buffer *buffer)
{
  /* Relaxed: whoever retains already holds a reference. */
  __atomic_fetch_add(&buffer->references, 1, __ATOMIC_RELAXED);
}

/* Nobody uses it any more.  In a child it is only forgotten. */
static void free_now(vyre__deferred *node)
{
  vyre_buffer *buffer = VYRE__OWNER(vyre_buffer, freeing, node);
  vyre_device *device = buffer->device;
  if (vyre__context_is_ours(device->context))
    device->backend->buffer_free(vyre__device_handle(device, buffer->generation), buffer->handle);
  vyre__deallocate(&device->allocator, buffer);
  vyre__device_release(device);
}

void vyre__buffer_release(vyre_buffer *buffer)
{
  /* Partner: the other releases.  Release publishes this holder's accesses, acquire makes the last
     one see all of them before it frees. */
  if (__atomic_fetch_sub(&buffer->references, 1, __ATOMIC_ACQ_REL) != 1)
    return;
  buffer->freeing.run = free_now;
  if (!vyre__context_is_ours(buffer->device->context)) {
    free_now(&buffer->freeing);
    return;
  }
  /* Relaxed: whoever bound it did so while the caller lent it, which came before this release. */
  if (__atomic_load_n(&buffer->bound, __ATOMIC_RELAXED))
    vyre__binders_drop(&buffer->device->binders, buffer->id);
  vyre__device_retire(buffer->device, &buffer->freeing);
}

void vyre_buffer_destroy(vyre_buffer *buffer)
{
  if (buffer)
    vyre__buffer_release(buffer);
}

uint64_t vyre_buffer_size(const vyre_buffer *buffer)
{
  return buffer ? buffer->size : 0;
}

/* ---- moving bytes ---- */

/* The buffer is usable and the range lies within it. */
static vyre_status check_range(const vyre_buffer *buffer, uint64_t offset, uint64_t size,
                               const char *what, vyre_error *err)
{
  vyre_status status;
  if (!buffer)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a buffer", "%s is NULL", what);
  status = vyre__device_check(buffer->device, buffer->generation, err);
  if (status)
    return status;
  if (!vyre__range_fits(offset, size, buffer->size))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "keep offset + size within the buffer",
                     "%llu bytes at %llu of %s, which has %llu", (unsigned long long)size,
                     (unsigned long long)offset, what, (unsigned long long)buffer->size);
  return VYRE_OK;
}

static vyre_status check_data(const void *data, uint64_t size, vyre_error *err)
{
  if (data || !size)
    return VYRE_OK;
  return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the bytes, or a size of 0",
                   "the data is NULL and the size %llu", (unsigned long long)size);
}

vyre_status vyre_buffer_upload(vyre_buffer *buffer, uint64_t offset, const void *data,
                               uint64_t size, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  vyre_status status = check_range(buffer, offset, size, "the buffer", err);
  if (!status)
    status = check_data(data, size, err);
  if (status || !size)
    return status;
  device = buffer->device;
  status =
      device->backend->buffer_upload(device->handle, buffer->handle, offset, data, size, &said);
  return vyre__device_result(device, "buffer_upload", status, &said, err);
}

vyre_status vyre_buffer_download(const vyre_buffer *buffer, uint64_t offset, void *out_data,
                                 uint64_t size, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  vyre_status status = check_range(buffer, offset, size, "the buffer", err);
  if (!status)
    status = check_data(out_data, size, err);
  if (status || !size)
    return status;
  device = buffer->device;
  status = device->backend->buffer_download(device->handle, buffer->handle, offset, out_data, size,
                                            &said);
  return vyre__device_result(device, "buffer_download", status, &said, err);
}

vyre_status vyre_buffer_fill(vyre_buffer *buffer, uint64_t offset, uint64_t size, uint8_t value,
                             vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  vyre_status status = check_range(buffer, offset, size, "the buffer", err);
  if (status || !size)
    return status;
  device = buffer->device;
  status = device->backend->buffer_fill(device->handle, buffer->handle, offset, size, value, &said);
  return vyre__device_result(device, "buffer_fill", status, &said, err);
}

vyre_status vyre_buffer_copy(vyre_buffer *destination, uint64_t destination_offset,
                             const vyre_buffer *source, uint64_t source_offset, uint64_t size,
                             vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  vyre_status status = check_range(destination, destination_offset, size, "the destination", err);
  if (!status)
    status = check_range(source, source_offset, size, "the source", err);
  if (status)
    return status;
  device = destination->device;
  if (source->device != device)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "download from one and upload to the other",
                     "the buffers are of two devices, %s and %s", device->info.selector,
                     source->device->info.selector);
  if (source == destination && size && destination_offset < source_offset + size &&
      source_offset < destination_offset + size) /* both fit the buffer: no overflow */
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "copy through another buffer",
                     "the two ranges of the buffer overlap");
  if (!size)
    return VYRE_OK;
  status = device->backend->buffer_copy(device->handle, destination->handle, destination_offset,
                                        source->handle, source_offset, size, &said);
  return vyre__device_result(device, "buffer_copy", status, &said, err);
}
