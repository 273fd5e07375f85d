/*
 * buffer.c - tier 2: device memory, and tier 4: coherent memory.
 *
 * Every call is complete on return.  Fill and copy run on the compute stream.  Bytes of the host
 * first wait for that stream, then go through the copy stream (gpu.h says why); into coherent
 * memory they are copied by the host itself.
 */
#include "plugins/gpu/gpu.h"
#include "plugins/gpu/staging.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a buffer of no bytes takes, so that its address is one. */
#define LEAST_BYTES 16u
#define WHAT_SIZE 96u

/* ---- allocating ---- */

static const char size_fix[] = "ask for less, or free what is not needed";

static vyre_status make(vyre_backend_device *device, uint64_t size, uint32_t kind,
                        vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_backend_buffer *const buffer =
      vyre__plugin_allocate_zeroed(device->host, sizeof(*buffer), _Alignof(vyre_backend_buffer));
  if (!buffer)
    return PLUGIN_FAIL_MEMORY(err, "a buffer");
  buffer->size = size;
  buffer->kind = kind;
  *out_buffer = buffer;
  return VYRE_OK;
}

/* Drivers take sizes like these for something else than too much. */
static vyre_status check_size(const vyre_backend_device *device, uint64_t size, uint64_t most,
                              const char *what, vyre_error *err)
{
  if (size <= INT64_MAX && (!most || size <= most))
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_OUT_OF_DEVICE_MEMORY, size_fix,
                     "%s of %llu bytes: %s device %u has %llu", what, (unsigned long long)size,
                     vyre__gpu_driver.name, device->index, (unsigned long long)most);
}

static vyre_status check_device(const vyre_backend_device *device, bool is_given, vyre_error *err)
{
  if (device && is_given)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the result",
                     "the device or the place for the result is NULL");
}

/* The context is current. */
static void give_memory(vyre_backend_device *device, vyre__gpu_address address)
{
  if (device->facts.stream_ordered)
    (void)vyre__gpu_driver.memory_give_async(address, device->compute);
  else
    (void)vyre__gpu_driver.memory_give(address);
}

static vyre_status take_memory(vyre_backend_device *device, uint64_t size,
                               vyre__gpu_address *out_address, vyre_error *err)
{
  const uint64_t bytes = size ? size : LEAST_BYTES;
  char what[WHAT_SIZE];
  snprintf(what, sizeof(what), "allocating %llu bytes of device memory", (unsigned long long)size);
  return vyre__gpu_result(
      device,
      device->facts.stream_ordered
          ? vyre__gpu_driver.memory_take_async(bytes, device->compute, out_address)
          : vyre__gpu_driver.memory_take(bytes, out_address),
      what, err);
}

static vyre_status set_bytes(vyre_backend_device *device, vyre__gpu_address to, uint8_t value,
                             uint64_t size, vyre_error *err)
{
  return vyre__gpu_result(device, vyre__gpu_driver.fill(to, value, size, device->compute),
                          "filling device memory", err);
}

vyre_status vyre__gpu_buffer_alloc(vyre_backend_device *device, uint64_t size,
                                   vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_backend_buffer *buffer = NULL;
  vyre__gpu_scope scope = {0};
  bool is_taken = false;
  vyre_status status = check_device(device, out_buffer != NULL, err);
  if (status == VYRE_OK)
    status = check_size(device, size, device->facts.memory_bytes, "a buffer", err);
  if (status == VYRE_OK)
    status = make(device, size, VYRE__GPU_BUFFER_OWN, &buffer, err);
  if (status != VYRE_OK)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = take_memory(device, size, &buffer->address, err);
  is_taken = status == VYRE_OK;
  if (status == VYRE_OK && size)
    status = set_bytes(device, buffer->address, 0, size, err);
  if (status == VYRE_OK)
    status = vyre__gpu_stream_settle(device, device->compute, "zeroing device memory", err);
  if (status != VYRE_OK && is_taken)
    give_memory(device, buffer->address);
  vyre__gpu_leave(&scope);
  if (status == VYRE_OK)
    *out_buffer = buffer;
  else
    vyre__plugin_deallocate(device->host, buffer);
  return status;
}

void vyre__gpu_buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  vyre__gpu_scope scope;
  if (!buffer)
    return;
  if (buffer->kind != VYRE__GPU_BUFFER_IMPORTED) {
    if (vyre__gpu_enter_to_free(device, &scope)) {
      if (buffer->kind == VYRE__GPU_BUFFER_COHERENT)
        (void)vyre__gpu_driver.host_give(buffer->host);
      else
        give_memory(device, buffer->address);
    }
    vyre__gpu_leave(&scope);
  }
  vyre__plugin_deallocate(device->host, buffer);
}

static uint64_t host_memory_bytes(void)
{
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static vyre_status take_coherent(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 vyre_error *err)
{
  char what[WHAT_SIZE];
  vyre__gpu_scope scope;
  vyre_status status = vyre__gpu_enter(device, &scope, err);
  snprintf(what, sizeof(what), "allocating %llu bytes of coherent memory",
           (unsigned long long)buffer->size);
  if (status == VYRE_OK)
    status = vyre__gpu_result(
        device, vyre__gpu_driver.host_take(buffer->size, &buffer->host, &buffer->address), what,
        err);
  vyre__gpu_leave(&scope);
  return status;
}

vyre_status vyre__gpu_coherent_alloc(vyre_backend_device *device, uint64_t size,
                                     vyre_coherent_memory *out_memory, vyre_error *err)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_status status = check_device(device, out_memory != NULL, err);
  if (status == VYRE_OK)
    status =
        PLUGIN_CHECK_SIZE(err, out_memory, vyre_coherent_memory, VYRE_COHERENT_MEMORY_SIZE_0_1);
  if (status == VYRE_OK && !size)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "ask for at least 1 byte",
                         "coherent memory of 0 bytes");
  if (status == VYRE_OK && !device->facts.mapped_host)
    status =
        PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "use ordinary buffers, or another device",
                    "%s device %u does not map host memory", vyre__gpu_driver.name, device->index);
  if (status == VYRE_OK)
    status = check_size(device, size, host_memory_bytes(), "coherent memory", err);
  if (status == VYRE_OK)
    status = make(device, size, VYRE__GPU_BUFFER_COHERENT, &buffer, err);
  if (status != VYRE_OK)
    return status;
  status = take_coherent(device, buffer, err);
  if (status != VYRE_OK) {
    vyre__plugin_deallocate(device->host, buffer);
    return status;
  }
  memset(buffer->host, 0, size);
  out_memory->buffer = buffer;
  out_memory->host = buffer->host;
  out_memory->device_address = buffer->address;
  if (out_memory->struct_size > sizeof(*out_memory))
    out_memory->struct_size = sizeof(*out_memory);
  return VYRE_OK;
}

/* ---- ranges ---- */

vyre_status vyre__gpu_check_range(const vyre_backend_buffer *buffer, uint64_t offset, uint64_t size,
                                  const char *what, vyre_error *err)
{
  if (!buffer)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a buffer of the device",
                       "%s: the buffer is NULL", what);
  if (offset > buffer->size || size > buffer->size - offset)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a range inside the buffer",
                       "%s: %llu bytes at %llu of a buffer of %llu bytes", what,
                       (unsigned long long)size, (unsigned long long)offset,
                       (unsigned long long)buffer->size);
  return VYRE_OK;
}

static vyre_status check(const vyre_backend_device *device, const vyre_backend_buffer *buffer,
                         uint64_t offset, uint64_t size, const char *what, vyre_error *err)
{
  if (!device)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device", "%s: the device is NULL",
                       what);
  return vyre__gpu_check_range(buffer, offset, size, what, err);
}

static vyre_status check_memory(bool is_given, uint64_t size, const char *what, vyre_error *err)
{
  if (is_given || !size)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the bytes, or a size of 0",
                     "%s: the address is NULL, the size is %llu", what, (unsigned long long)size);
}

static unsigned char *host_at(const vyre_backend_buffer *buffer, uint64_t offset)
{
  return (unsigned char *)buffer->host + offset;
}

/* ---- bytes in and out ---- */

vyre_status vyre__gpu_buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    uint64_t offset, const void *data, uint64_t size,
                                    vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status = check(device, buffer, offset, size, "upload", err);
  if (status == VYRE_OK)
    status = check_memory(data != NULL, size, "upload", err);
  if (status == VYRE_OK)
    status = vyre__gpu_check_lost(device, err);
  if (status != VYRE_OK || !size)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = vyre__gpu_stream_settle(device, device->compute, "waiting for launches", err);
  if (status == VYRE_OK && buffer->host) {
    memcpy(host_at(buffer, offset), data, size);
  } else if (status == VYRE_OK) {
    status = vyre__gpu_stage_in(device, device->copy, buffer->address + offset, data, size, err);
    if (status == VYRE_OK)
      status = vyre__gpu_stream_settle(device, device->copy, "waiting for an upload", err);
  }
  vyre__gpu_leave(&scope);
  return status;
}

vyre_status vyre__gpu_buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                      uint64_t offset, void *out_data, uint64_t size,
                                      vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status = check(device, buffer, offset, size, "download", err);
  if (status == VYRE_OK)
    status = check_memory(out_data != NULL, size, "download", err);
  if (status == VYRE_OK)
    status = vyre__gpu_check_lost(device, err);
  if (status != VYRE_OK || !size)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = vyre__gpu_stream_settle(device, device->compute, "waiting for launches", err);
  if (status == VYRE_OK && buffer->host)
    memcpy(out_data, host_at(buffer, offset), size);
  else if (status == VYRE_OK)
    status =
        vyre__gpu_stage_out(device, device->copy, out_data, buffer->address + offset, size, err);
  vyre__gpu_leave(&scope);
  return status;
}

vyre_status vyre__gpu_buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                  uint64_t offset, uint64_t size, uint32_t value, vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status = check(device, buffer, offset, size, "fill", err);
  if (status == VYRE_OK)
    status = vyre__gpu_check_lost(device, err);
  if (status != VYRE_OK || !size)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = set_bytes(device, buffer->address + offset, (uint8_t)(value & 255u), size, err);
  if (status == VYRE_OK)
    status = vyre__gpu_stream_settle(device, device->compute, "waiting for a fill", err);
  vyre__gpu_leave(&scope);
  return status;
}

/* Coherent memory is pinned: it is an end of a copy between host and device like any. */
static vyre_status start_copy(vyre_backend_device *device, const vyre_backend_buffer *to,
                              uint64_t to_offset, const vyre_backend_buffer *from,
                              uint64_t from_offset, uint64_t size, vyre_error *err)
{
  vyre__gpu_code code = 0;
  if (from->host && !to->host)
    code = vyre__gpu_driver.copy_in(to->address + to_offset, host_at(from, from_offset), size,
                                    device->compute);
  else if (to->host && !from->host)
    code = vyre__gpu_driver.copy_out(host_at(to, to_offset), from->address + from_offset, size,
                                     device->compute);
  else
    code = vyre__gpu_driver.copy_within(to->address + to_offset, from->address + from_offset, size,
                                        device->compute);
  return vyre__gpu_result(device, code, "copying between buffers", err);
}

vyre_status vyre__gpu_buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                  uint64_t destination_offset, vyre_backend_buffer *source,
                                  uint64_t source_offset, uint64_t size, vyre_error *err)
{
  vyre__gpu_scope scope;
  vyre_status status = check(device, source, source_offset, size, "copy from", err);
  if (status == VYRE_OK)
    status = check(device, destination, destination_offset, size, "copy to", err);
  const uint64_t apart = destination_offset > source_offset ? destination_offset - source_offset
                                                            : source_offset - destination_offset;
  if (status == VYRE_OK && destination == source && apart < size)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "copy through a second buffer",
                         "copy: the ranges at %llu and %llu of %llu bytes overlap",
                         (unsigned long long)source_offset, (unsigned long long)destination_offset,
                         (unsigned long long)size);
  if (status == VYRE_OK)
    status = vyre__gpu_check_lost(device, err);
  if (status != VYRE_OK || !size)
    return status;
  status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = start_copy(device, destination, destination_offset, source, source_offset, size, err);
  if (status == VYRE_OK)
    status = vyre__gpu_stream_settle(device, device->compute, "waiting for a copy", err);
  vyre__gpu_leave(&scope);
  return status;
}

/* ---- native memory ---- */

/* Both ends of the range are memory that a kernel of this device may use. */
static vyre_status check_native(vyre_backend_device *device, const vyre_native_memory *memory,
                                vyre_error *err)
{
  const vyre__gpu_address ends[2] = {memory->handle, memory->handle + memory->size - 1};
  bool is_device = true;
  vyre__gpu_scope scope;
  vyre_status status = vyre__gpu_enter(device, &scope, err);
  for (int i = 0; i < 2 && status == VYRE_OK && is_device; ++i)
    status = vyre__gpu_result(device, vyre__gpu_driver.memory_check(ends[i], &is_device),
                              "looking at memory to import", err);
  vyre__gpu_leave(&scope);
  if (status == VYRE_OK && !is_device)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "give an address and a size of the device's own memory",
                         "import: %llu bytes at 0x%llx are no memory of %s device %u",
                         (unsigned long long)memory->size, (unsigned long long)memory->handle,
                         vyre__gpu_driver.name, device->index);
  return status;
}

vyre_status vyre__gpu_buffer_import(vyre_backend_device *device, const vyre_native_memory *memory,
                                    vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_status status = check_device(device, out_buffer != NULL, err);
  if (status == VYRE_OK)
    status = PLUGIN_CHECK_SIZE(err, memory, vyre_native_memory, VYRE_NATIVE_MEMORY_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (memory->type != VYRE_NATIVE_DEVICE_POINTER)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "give a device address",
                       "import: memory of type %u, %s devices take device pointers (%u)",
                       memory->type, vyre__gpu_driver.name, VYRE_NATIVE_DEVICE_POINTER);
  status = check_memory(memory->handle != 0, memory->size, "import", err);
  if (status == VYRE_OK && memory->size > UINT64_MAX - memory->handle)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the size of the memory in bytes",
                         "import: %llu bytes do not fit behind their address",
                         (unsigned long long)memory->size);
  if (status == VYRE_OK)
    status = memory->size ? check_native(device, memory, err) : vyre__gpu_check_lost(device, err);
  if (status == VYRE_OK)
    status = make(device, memory->size, VYRE__GPU_BUFFER_IMPORTED, &buffer, err);
  if (status != VYRE_OK)
    return status;
  buffer->address = memory->handle;
  *out_buffer = buffer;
  return VYRE_OK;
}

vyre_status vyre__gpu_buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    vyre_native_memory *out_memory, vyre_error *err)
{
  vyre_status status = check(device, buffer, 0, 0, "export", err);
  if (status == VYRE_OK)
    status = PLUGIN_CHECK_SIZE(err, out_memory, vyre_native_memory, VYRE_NATIVE_MEMORY_SIZE_0_1);
  if (status == VYRE_OK)
    status = vyre__gpu_check_lost(device, err);
  if (status != VYRE_OK)
    return status;
  out_memory->type = VYRE_NATIVE_DEVICE_POINTER;
  out_memory->handle = buffer->address;
  out_memory->size = buffer->size;
  if (out_memory->struct_size > sizeof(*out_memory))
    out_memory->struct_size = sizeof(*out_memory);
  return VYRE_OK;
}
