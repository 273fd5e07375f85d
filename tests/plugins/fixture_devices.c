/* fixture_devices.c - the fixture's devices and their buffers (tier 2). */
#include "fixture_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
  vyre_device_class device_class;
  const char *id, *pci, *uuid;
  uint64_t capabilities;
} devices[FIXTURE_DEVICES] = {
    {VYRE_DEVICE_GPU, "0000:c1:00.0", "0000:c1:00.0", "01234567-89ab-cdef-0123-456789abcdef",
     VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_GPU, "0000:c2:00.0", "0000:c2:00.0", "", VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_INTEGRATED_GPU, "0001:00:02.0", "0001:00:02.0", "", VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_CPU, "host", "", "", VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_OTHER, "npu", "", "", 0},
};

vyre_status fixture__device_count(uint32_t *out_count, vyre_error *err)
{
  const vyre_host *host = fixture__host();
  ADD(asks, 1);
  host->log(host->self, VYRE_LOG_DEBUG, "the fixture counts its devices");
  if (VALUE(devices_error))
    return fixture__fail(err, VALUE(devices_error),
                         IS(vendor_missing)
                             ? "libfixture.so.1 was not found; tried: FIXTURE_LIBRARY, "
                               "libfixture.so.1, libfixture.so"
                             : "the fixture cannot count its devices");
  *out_count = IS(many_devices) ? UINT32_MAX : (uint32_t)VALUE(devices);
  return VYRE_OK;
}

/* What 0.2 brought.  Only devices with buffers have a grid to synchronise. */
static void fill_later(vyre_backend_device_info *info)
{
  if (VALUE(timestamps))
    info->capabilities |= VYRE_CAP_TIMESTAMPS;
  if ((info->capabilities & VYRE_CAP_BUFFERS) || IS(emulated_no_buffers))
    info->grid_sync = (vyre_grid_sync)VALUE(grid_sync);
  info->cooperative_items = (uint32_t)VALUE(cooperative_items);
  if (info->grid_sync == VYRE_GRID_SYNC_EMULATED || IS(promises_later))
    snprintf(info->grid_sync_reason, sizeof info->grid_sync_reason,
             "the fixture's groups do not meet");
}

vyre_status fixture__device_info(uint32_t index, vyre_backend_device_info *out_info,
                                 vyre_error *err)
{
  vyre_backend_device_info info = {.struct_size = (uint32_t)sizeof info};
  const uint32_t own = IS(minor_1) ? VYRE_BACKEND_DEVICE_INFO_SIZE_0_1 : (uint32_t)sizeof info;
  uint32_t size = out_info->struct_size;
  if (index >= VALUE(devices) || (IS(info_fails) && index == 1))
    return fixture__fail(err, VYRE_ERROR_NOT_FOUND, "the fixture has no device %" PRIu32, index);
  if (size < VYRE_BACKEND_DEVICE_INFO_SIZE_0_1)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "struct_size is %" PRIu32, size);
  info.device_class = devices[index].device_class;
  info.capabilities = IS(tier_1) ? 0 : devices[index].capabilities;
  snprintf(info.name, sizeof info.name, "Fixture %" PRIu32, index);
  snprintf(info.id, sizeof info.id, "%s", devices[IS(twin_ids) ? 0 : index].id);
  snprintf(info.pci, sizeof info.pci, "%s", devices[index].pci);
  snprintf(info.uuid, sizeof info.uuid, "%s", devices[index].uuid);
  snprintf(info.arch, sizeof info.arch, "fixture");
  snprintf(info.driver, sizeof info.driver, "fixture 1.0");
  info.memory_bytes = 1u << 30;
  info.max_buffer_bytes = 1u << 28;
  info.max_workgroup_memory = 1u << 16;
  info.max_workgroup[0] = info.max_workgroup[1] = 1024;
  info.max_workgroup[2] = 64;
  info.max_workgroup_items = 1024;
  info.max_groups[0] = 1u << 30;
  info.max_groups[1] = info.max_groups[2] = 65535;
  info.compute_units = IS(info_broken) ? 0 : 4;
  info.max_push_bytes = 128;
  info.max_bindings = MAX_BINDINGS;
  snprintf(info.persistent_reason, sizeof info.persistent_reason, "the fixture has no tier 4");
  snprintf(info.compiler_reason, sizeof info.compiler_reason, "the fixture has no compiler");
  if (!IS(minor_1))
    fill_later(&info);
  if (IS(info_unterminated)) {
    memset(info.name, 'n', sizeof info.name);
    memset(info.arch, 'a', sizeof info.arch);
    memset(info.grid_sync_reason, 'r', sizeof info.grid_sync_reason);
  }
  if (IS(terminal_codes))
    snprintf(info.name, sizeof info.name, "na\033]0;\ame\n\xc3\xa4");
  size = IS(info_short) ? (uint32_t)offsetof(vyre_backend_device_info, memory_bytes)
                        : (uint32_t)fixture__least(size, own);
  memcpy(out_info, &info, size);
  out_info->struct_size = IS(info_too_large) ? (uint32_t)sizeof info + 64 : size;
  return VYRE_OK;
}

vyre_status fixture__device_open(uint32_t index, const vyre_backend_device_options *options,
                                 vyre_backend_device **out_device, vyre_error *err)
{
  int64_t at = VALUE(open_error_at);
  vyre_backend_device *device = NULL;
  if (options->struct_size < VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1 || options->flags)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "options that the fixture does not know");
  if (index >= VALUE(devices))
    return fixture__fail(err, VYRE_ERROR_NOT_FOUND, "the fixture has no device %" PRIu32, index);
  if (VALUE(open_error) && (at < 0 || at == index))
    return fixture__fail(err, VALUE(open_error), "the fixture does not open device %" PRIu32,
                         index);
  if (IS(open_null))
    return VYRE_OK;
  device = fixture__allocate(sizeof *device);
  if (!device)
    return fixture__no_memory(err);
  device->index = index;
  pthread_mutex_init(&device->lock, NULL);
  ADD(opens, 1);
  ADD(devices_live, 1);
  *out_device = device;
  return VYRE_OK;
}

void fixture__device_close(vyre_backend_device *device)
{
  if (!device)
    return;
  pthread_mutex_destroy(&device->lock);
  fixture__deallocate(device);
  ADD(devices_live, -1);
}

vyre_status fixture__check_lost(const vyre_backend_device *device, vyre_error *err)
{
  if (__atomic_load_n(&device->lost, __ATOMIC_SEQ_CST))
    return fixture__fail(err, VYRE_ERROR_DEVICE_LOST, "device %" PRIu32 " of the fixture is lost",
                         device->index);
  return VYRE_OK;
}

/* ---- buffers ---- */

vyre_status fixture__buffer_alloc(vyre_backend_device *device, uint64_t size,
                                  vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_status status = fixture__check_lost(device, err);
  if (status)
    return status;
  if (VALUE(alloc_error) || TURN(alloc_fail_at))
    return fixture__fail(err,
                         VALUE(alloc_error) ? VALUE(alloc_error) : VYRE_ERROR_OUT_OF_DEVICE_MEMORY,
                         "the fixture has no %" PRIu64 " bytes", size);
  if (IS(alloc_null))
    return VYRE_OK;
  buffer = fixture__allocate(sizeof *buffer);
  if (buffer)
    buffer->bytes = fixture__allocate(size);
  if (!buffer || !buffer->bytes) {
    fixture__deallocate(buffer);
    return fixture__no_memory(err);
  }
  buffer->size = size;
  ADD(allocs, 1);
  ADD(buffers_live, 1);
  ADD(bytes_live, size);
  *out_buffer = buffer;
  return VYRE_OK;
}

void fixture__buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  (void)device;
  if (!buffer)
    return;
  ADD(buffers_live, -1);
  ADD(bytes_live, -(int64_t)buffer->size);
  fixture__deallocate(buffer->bytes);
  fixture__deallocate(buffer);
}

static vyre_status check_range(const vyre_backend_buffer *buffer, uint64_t offset, uint64_t size,
                               vyre_error *err)
{
  if (offset > buffer->size || size > buffer->size - offset)
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "%" PRIu64 " bytes at %" PRIu64 " of %" PRIu64, size, offset,
                         buffer->size);
  return VYRE_OK;
}

static vyre_status check_copy(vyre_backend_device *device, const vyre_backend_buffer *buffer,
                              uint64_t offset, uint64_t size, vyre_error *err)
{
  vyre_status status = fixture__check_lost(device, err);
  int64_t code = VALUE(copy_error);
  if (status)
    return status;
  if (!code && TURN(copy_fail_at))
    code = VYRE_ERROR_DISPATCH_FAILED;
  if (code) {
    if (code == VYRE_ERROR_DEVICE_LOST)
      __atomic_store_n(&device->lost, 1, __ATOMIC_SEQ_CST);
    return fixture__fail(err, code, "the fixture does not copy");
  }
  return check_range(buffer, offset, size, err);
}

vyre_status fixture__buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                   uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *err)
{
  vyre_status status = check_copy(device, buffer, offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  if (size)
    memcpy(buffer->bytes + offset, data, (size_t)size);
  pthread_mutex_unlock(&device->lock);
  ADD(uploads, 1);
  ADD(upload_bytes, size);
  return VYRE_OK;
}

vyre_status fixture__buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                     uint64_t offset, void *out_data, uint64_t size,
                                     vyre_error *err)
{
  vyre_status status = check_copy(device, buffer, offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  if (size)
    memcpy(out_data, buffer->bytes + offset, (size_t)size);
  pthread_mutex_unlock(&device->lock);
  ADD(downloads, 1);
  ADD(download_bytes, size);
  return VYRE_OK;
}

vyre_status fixture__buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, uint64_t size, uint32_t byte, vyre_error *err)
{
  vyre_status status = check_copy(device, buffer, offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  memset(buffer->bytes + offset, (int)(byte & 0xff), (size_t)size);
  pthread_mutex_unlock(&device->lock);
  ADD(fills, 1);
  ADD(fill_bytes, size);
  return VYRE_OK;
}

vyre_status fixture__buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                 uint64_t destination_offset, vyre_backend_buffer *source,
                                 uint64_t source_offset, uint64_t size, vyre_error *err)
{
  vyre_status status = check_copy(device, destination, destination_offset, size, err);
  if (!status)
    status = check_range(source, source_offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  memmove(destination->bytes + destination_offset, source->bytes + source_offset, (size_t)size);
  pthread_mutex_unlock(&device->lock);
  ADD(copies, 1);
  ADD(copy_bytes, size);
  return VYRE_OK;
}
