/* zoo_buffers.c - tiers 2 and 4; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <string.h>

static vyre_backend_device *inside(vyre_backend_device *device)
{
  return device ? device->real : NULL;
}

vyre_status zoo__buffer_alloc(vyre_backend_device *device, uint64_t size,
                              vyre_backend_buffer **out_buffer, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  vyre_status status = zoo__pass_on(err, real->buffer_alloc(inside(device), size, out_buffer, err));
  if (status == VYRE_OK && ZOO_IS(dirty_buffer) && size)
    real->buffer_fill(inside(device), *out_buffer, size - 1, 1, 0xa5, NULL);
  if (status == VYRE_OK && ZOO_IS(leak_of_buffer))
    (void)!zoo__host()->allocate(zoo__host()->self, 8, 8);
  return status;
}

void zoo__buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  if (zoo__has_views())
    zoo__view_remove(buffer);
  zoo__real()->buffer_free(inside(device), buffer);
}

/* Size of a buffer, as the plugin tells it. */
static uint64_t size_of(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  vyre_native_memory memory = {.struct_size = sizeof memory};
  return zoo__real()->buffer_export(inside(device), buffer, &memory, NULL) == VYRE_OK ? memory.size
                                                                                      : 0;
}

/* A range outside is cut instead of refused. */
static uint64_t cut(vyre_backend_device *device, vyre_backend_buffer *buffer, uint64_t *offset,
                    uint64_t size)
{
  const uint64_t all = size_of(device, buffer);
  if (!ZOO_IS(range_cut) && !ZOO_IS(range_overflow))
    return size;
  /* A check that forgets that a sum may overflow. */
  if (ZOO_IS(range_overflow) && *offset + size > all)
    return size;
  *offset = *offset < all ? *offset : all;
  return size < all - *offset ? size : all - *offset;
}

vyre_status zoo__buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               uint64_t offset, const void *data, uint64_t size, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  zoo__sequence_flush(device, ZOO_FROM_TRANSFER);
  zoo__lend_settle(device, ZOO_FROM_TRANSFER);
  if (ZOO_IS(transfers_swapped))
    return real->buffer_download(inside(device), buffer, offset, (void *)(uintptr_t)data, size,
                                 err);
  if (ZOO_IS(upload_no_offset) && size && size <= size_of(device, buffer))
    offset = 0;
  size = cut(device, buffer, &offset, size);
  if (ZOO_IS(upload_in_words) && size > 4)
    size -= size % 4;
  return zoo__pass_on(err, real->buffer_upload(inside(device), buffer, offset, data, size, err));
}

vyre_status zoo__buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, void *out_data, uint64_t size, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  vyre_status status = VYRE_OK;
  zoo__sequence_flush(device, ZOO_FROM_TRANSFER);
  zoo__lend_settle(device, ZOO_FROM_TRANSFER);
  if (ZOO_IS(transfers_swapped))
    return real->buffer_upload(inside(device), buffer, offset, out_data, size, err);
  size = cut(device, buffer, &offset, size);
  if (ZOO_IS(download_in_words) && size > 4)
    size -= size % 4;
  status = real->buffer_download(inside(device), buffer, offset, out_data, size, err);
  if (status == VYRE_OK && ZOO_IS(download_overrun) && size % 16)
    ((unsigned char *)out_data)[size] = 0;
  return zoo__pass_on(err, status);
}

vyre_status zoo__buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                             uint64_t offset, uint64_t size, uint32_t value, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  zoo__sequence_flush(device, ZOO_FROM_TRANSFER);
  zoo__lend_settle(device, ZOO_FROM_TRANSFER);
  size = cut(device, buffer, &offset, size);
  if (ZOO_IS(fill_no_size) && size && offset + size <= size_of(device, buffer))
    size = size_of(device, buffer) - offset;
  if (ZOO_IS(fill_in_words) && size % 4 == 0 && offset + size <= size_of(device, buffer)) {
    for (uint64_t at = 0; at < size; at += 4)
      real->buffer_upload(inside(device), buffer, offset + at, &value, 4, NULL);
    return VYRE_OK;
  }
  return zoo__pass_on(err, real->buffer_fill(inside(device), buffer, offset, size, value, err));
}

vyre_status zoo__buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                             uint64_t destination_offset, vyre_backend_buffer *source,
                             uint64_t source_offset, uint64_t size, vyre_error *err)
{
  const vyre_backend *real = zoo__real();
  zoo__sequence_flush(device, ZOO_FROM_TRANSFER);
  zoo__lend_settle(device, ZOO_FROM_TRANSFER);
  size = cut(device, destination, &destination_offset, size);
  size = cut(device, source, &source_offset, size);
  if (ZOO_IS(copy_off_by_one) && size > 1)
    size -= 1;
  return zoo__pass_on(err, real->buffer_copy(inside(device), destination, destination_offset,
                                             source, source_offset, size, err));
}

vyre_status zoo__buffer_import(vyre_backend_device *device, const vyre_native_memory *memory,
                               vyre_backend_buffer **out_buffer, vyre_error *err)
{
  return zoo__pass_on(err, zoo__real()->buffer_import(inside(device), memory, out_buffer, err));
}

vyre_status zoo__buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               vyre_native_memory *out_memory, vyre_error *err)
{
  vyre_status status =
      zoo__pass_on(err, zoo__real()->buffer_export(inside(device), buffer, out_memory, err));
  if (status == VYRE_OK && ZOO_IS(export_size))
    out_memory->size += 1;
  return status;
}

vyre_status zoo__coherent_alloc(vyre_backend_device *device, uint64_t size,
                                vyre_coherent_memory *out_memory, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (ZOO_IS(coherent_no_size) && !size)
    size = 1;
  status = zoo__pass_on(err, zoo__real()->coherent_alloc(inside(device), size, out_memory, err));
  if (status != VYRE_OK)
    return status;
  if (ZOO_IS(coherent_dirty) && size > 8)
    ((unsigned char *)out_memory->host)[size - 1] = 1;
  if (ZOO_IS(coherent_address))
    out_memory->device_address += 4096;
  if (zoo__has_views() && !zoo__view_add(device, out_memory, size))
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no memory for the host's side");
  return VYRE_OK;
}
