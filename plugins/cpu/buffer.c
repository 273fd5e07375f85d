/*
 * buffer.c - tier 2: resident buffers, and tier 4: coherent memory, which on this device is the
 * same thing with the alignment of a page.
 *
 * Device memory is host memory here.  Small buffers come from the host's allocator, large ones and
 * coherent ones from the system, which zeroes pages when they are first touched.
 */
#include "device.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFER_ALIGN 64u
#define MAP_BYTES (1u << 20) /* from this size on a buffer is mapped */

/* vyre_backend_buffer.origin: whose the memory is. */
enum { FROM_HOST, FROM_MAP, FROM_CALLER };

/* Bytes of the mapping that holds `size` bytes, 0 if that overflows. */
static uint64_t mapped_size(uint64_t size)
{
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return size > UINT64_MAX - page ? 0 : (size + page - 1) / page * page;
}

static vyre_status fail_size(uint64_t size, int number, vyre_error *err)
{
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_OUT_OF_DEVICE_MEMORY, number, NULL,
                            "no memory for a buffer of %llu bytes on the cpu device",
                            (unsigned long long)size);
}

static vyre_status map(uint64_t size, void **out_data, vyre_error *err)
{
  uint64_t bytes = mapped_size(size);
  if (!bytes || bytes > SIZE_MAX / 2)
    return fail_size(size, ENOMEM, err);
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return fail_size(size, errno, err);
  *out_data = data;
  return VYRE_OK;
}

/* A buffer without memory yet. */
static vyre_status make(vyre_backend_device *device, uint64_t size, uint32_t origin,
                        vyre_backend_buffer **out_buffer, vyre_error *err)
{
  if (!device || !out_buffer)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the buffer",
                       "device or out_buffer is NULL");
  vyre_backend_buffer *buffer =
      vyre__plugin_allocate_zeroed(device->host, sizeof(*buffer), _Alignof(vyre_backend_buffer));
  if (!buffer)
    return PLUGIN_FAIL_MEMORY(err, "a buffer");
  buffer->size = size;
  buffer->origin = origin;
  *out_buffer = buffer;
  return VYRE_OK;
}

vyre_status vyre__cpu_buffer_alloc(vyre_backend_device *device, uint64_t size,
                                   vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_backend_buffer *buffer = NULL;
  bool large = size >= MAP_BYTES;
  vyre_status status = make(device, size, large ? FROM_MAP : FROM_HOST, &buffer, err);
  if (status != VYRE_OK)
    return status;
  if (large) {
    status = map(size, &buffer->data, err);
  } else {
    buffer->data = vyre__plugin_allocate_zeroed(device->host, size, BUFFER_ALIGN);
    if (!buffer->data)
      status = fail_size(size, 0, err);
  }
  if (status != VYRE_OK) {
    vyre__plugin_deallocate(device->host, buffer);
    return status;
  }
  *out_buffer = buffer;
  return VYRE_OK;
}

void vyre__cpu_buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  if (!buffer)
    return;
  if (buffer->origin == FROM_MAP)
    munmap(buffer->data, mapped_size(buffer->size));
  else if (buffer->origin == FROM_HOST)
    vyre__plugin_deallocate(device->host, buffer->data);
  vyre__plugin_deallocate(device->host, buffer);
}

/* BUF-001: the range lies in the buffer, and there is memory to copy from or to. */
static vyre_status check_range(const vyre_backend_device *device, const vyre_backend_buffer *buffer,
                               uint64_t offset, uint64_t size, const char *what, vyre_error *err)
{
  if (!device || !buffer)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a buffer of it",
                       "%s: device or buffer is NULL", what);
  if (offset > buffer->size || size > buffer->size - offset)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a range inside the buffer",
                       "%s: %llu bytes at %llu of a buffer of %llu bytes", what,
                       (unsigned long long)size, (unsigned long long)offset,
                       (unsigned long long)buffer->size);
  return VYRE_OK;
}

static vyre_status check_memory(bool given, uint64_t size, const char *what, vyre_error *err)
{
  if (given || !size)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the bytes, or a size of 0",
                     "%s: the address is NULL, the size is %llu", what, (unsigned long long)size);
}

/* Waits for the launches that were started before and use the buffer. */
static void settle(vyre_backend_device *device, const vyre_backend_buffer *buffer)
{
  /* Relaxed: the caller has ordered this call after its dispatch, which stored it. */
  vyre__cpu_pool_wait(device, __atomic_load_n(&buffer->last_use, __ATOMIC_RELAXED));
}

vyre_status vyre__cpu_buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    uint64_t offset, const void *data, uint64_t size,
                                    vyre_error *err)
{
  vyre_status status = check_range(device, buffer, offset, size, "upload", err);
  if (status == VYRE_OK)
    status = check_memory(data != NULL, size, "upload", err);
  if (status != VYRE_OK)
    return status;
  settle(device, buffer);
  if (size)
    memcpy((char *)buffer->data + offset, data, size);
  return VYRE_OK;
}

vyre_status vyre__cpu_buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                      uint64_t offset, void *out_data, uint64_t size,
                                      vyre_error *err)
{
  vyre_status status = check_range(device, buffer, offset, size, "download", err);
  if (status == VYRE_OK)
    status = check_memory(out_data != NULL, size, "download", err);
  if (status != VYRE_OK)
    return status;
  settle(device, buffer);
  if (size)
    memcpy(out_data, (const char *)buffer->data + offset, size);
  return VYRE_OK;
}

vyre_status vyre__cpu_buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                  uint64_t offset, uint64_t size, uint32_t value, vyre_error *err)
{
  vyre_status status = check_range(device, buffer, offset, size, "fill", err);
  if (status != VYRE_OK)
    return status;
  settle(device, buffer);
  memset((char *)buffer->data + offset, (int)(value & 255u), size);
  return VYRE_OK;
}

vyre_status vyre__cpu_buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                  uint64_t destination_offset, vyre_backend_buffer *source,
                                  uint64_t source_offset, uint64_t size, vyre_error *err)
{
  vyre_status status = check_range(device, source, source_offset, size, "copy from", err);
  if (status == VYRE_OK)
    status = check_range(device, destination, destination_offset, size, "copy to", err);
  if (status != VYRE_OK)
    return status;
  uint64_t apart = destination_offset > source_offset ? destination_offset - source_offset
                                                      : source_offset - destination_offset;
  if (destination == source && apart < size)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "copy through a second buffer",
                       "copy: the ranges at %llu and %llu of %llu bytes overlap",
                       (unsigned long long)source_offset, (unsigned long long)destination_offset,
                       (unsigned long long)size);
  settle(device, source);
  settle(device, destination);
  if (size)
    memcpy((char *)destination->data + destination_offset,
           (const char *)source->data + source_offset, size);
  return VYRE_OK;
}

vyre_status vyre__cpu_buffer_import(vyre_backend_device *device, const vyre_native_memory *memory,
                                    vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, memory, vyre_native_memory, VYRE_NATIVE_MEMORY_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (memory->type != VYRE_NATIVE_HOST_POINTER)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "give a host address",
                       "import: memory of type %u, the cpu device takes host pointers (%u)",
                       memory->type, VYRE_NATIVE_HOST_POINTER);
  status = check_memory(memory->handle != 0, memory->size, "import", err);
  if (status != VYRE_OK)
    return status;
  if (memory->size > UINT64_MAX - memory->handle)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the size of the memory in bytes",
                       "import: %llu bytes do not fit behind their address",
                       (unsigned long long)memory->size);
  vyre_backend_buffer *buffer = NULL;
  status = make(device, memory->size, FROM_CALLER, &buffer, err);
  if (status != VYRE_OK)
    return status;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): the ABI hands addresses over as numbers. */
  buffer->data = (void *)(uintptr_t)memory->handle;
  *out_buffer = buffer;
  return VYRE_OK;
}

vyre_status vyre__cpu_buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                    vyre_native_memory *out_memory, vyre_error *err)
{
  vyre_status status = check_range(device, buffer, 0, 0, "export", err);
  if (status == VYRE_OK)
    status = PLUGIN_CHECK_SIZE(err, out_memory, vyre_native_memory, VYRE_NATIVE_MEMORY_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  out_memory->type = VYRE_NATIVE_HOST_POINTER;
  out_memory->handle = (uint64_t)(uintptr_t)buffer->data;
  out_memory->size = buffer->size;
  if (out_memory->struct_size > sizeof(*out_memory))
    out_memory->struct_size = sizeof(*out_memory);
  return VYRE_OK;
}

vyre_status vyre__cpu_coherent_alloc(vyre_backend_device *device, uint64_t size,
                                     vyre_coherent_memory *out_memory, vyre_error *err)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, out_memory, vyre_coherent_memory, VYRE_COHERENT_MEMORY_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (!size)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "ask for at least 1 byte",
                       "coherent memory of 0 bytes");
  status = make(device, size, FROM_MAP, &buffer, err);
  if (status != VYRE_OK)
    return status;
  status = map(size, &buffer->data, err);
  if (status != VYRE_OK) {
    vyre__plugin_deallocate(device->host, buffer);
    return status;
  }
  out_memory->buffer = buffer;
  out_memory->host = buffer->data;
  out_memory->device_address = (uint64_t)(uintptr_t)buffer->data;
  if (out_memory->struct_size > sizeof(*out_memory))
    out_memory->struct_size = sizeof(*out_memory);
  return VYRE_OK;
}
