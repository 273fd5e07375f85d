/*
 * buffer.c - tier 2: resident buffers.
 *
 * Copies go to the queue of the launches, which is in order: each comes after what was queued
 * before it (BUF-004).
 */
#include "code.h"
#include "device.h"
#include "plugins/common/host.h"

#include <string.h>

/* BUF-003: zeros before the first use.  On the other queue: launches are not waited for. */
static cl_int zero(const vyre_backend_device *device, cl_mem memory, uint64_t size)
{
  static const unsigned char byte;
  const vyre__cl_calls *cl = device->cl;
  cl_event filled = NULL;
  cl_int code =
      cl->clEnqueueFillBuffer(device->transfer, memory, &byte, 1, 0, size, 0, NULL, &filled);
  if (code != CL_SUCCESS)
    return code;
  code = cl->clWaitForEvents(1, &filled);
  if (code != CL_SUCCESS) {
    cl_int state = CL_SUCCESS;
    if (cl->clGetEventInfo(filled, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state,
                           NULL) == CL_SUCCESS &&
        state < 0)
      code = state; /* tells more than that waiting failed */
  }
  cl->clReleaseEvent(filled);
  return code;
}

static vyre_status make_memory(const vyre_backend_device *device, uint64_t size, cl_mem *out_memory,
                               vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  const cl_mem_flags flags = CL_MEM_READ_WRITE | vyre__opencl_at_once(device);
  cl_int code = CL_SUCCESS;
  cl_mem memory = NULL;
  if (!size) {
    code = cl->clRetainMemObject(device->nothing);
    memory = device->nothing;
  } else if (size <= SIZE_MAX / 2) {
    memory = cl->clCreateBuffer(device->context, flags, size, NULL, &code);
    if (memory)
      code = zero(device, memory, size);
  } else {
    code = CL_INVALID_BUFFER_SIZE;
  }
  if (code == CL_SUCCESS && memory) {
    *out_memory = memory;
    return VYRE_OK;
  }
  if (memory && size)
    cl->clReleaseMemObject(memory);
  /* A size that the device has not is told by several codes. */
  return OPENCL_FAIL_AS(err, VYRE_ERROR_OUT_OF_DEVICE_MEMORY, code, "clCreateBuffer",
                        "a buffer of %llu bytes", (unsigned long long)size);
}

vyre_status vyre__opencl_buffer_alloc(vyre_backend_device *device, uint64_t size,
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
  const vyre_status status = make_memory(device, size, &buffer->memory, err);
  if (status == VYRE_OK)
    *out_buffer = buffer;
  else
    vyre__plugin_deallocate(device->host, buffer);
  return status;
}

void vyre__opencl_buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  if (!buffer)
    return;
  device->cl->clReleaseMemObject(buffer->memory);
  vyre__plugin_deallocate(device->host, buffer);
}

/* BUF-001. */
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

static vyre_status check_memory(const void *memory, uint64_t size, const char *what,
                                vyre_error *err)
{
  if (memory || !size)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the bytes, or a size of 0",
                     "%s: the address is NULL, the size is %llu", what, (unsigned long long)size);
}

static vyre_status told(cl_int code, const char *call, const char *what, uint64_t size,
                        vyre_error *err)
{
  if (code == CL_SUCCESS)
    return VYRE_OK;
  /* Only memory of others is made without it. */
  if (code == CL_INVALID_OPERATION)
    return PLUGIN_FAIL_VENDOR(
        err, VYRE_ERROR_INVALID_ARGUMENT, code,
        "make the cl_mem without CL_MEM_HOST_NO_ACCESS, _READ_ONLY and _WRITE_ONLY",
        "%s of %llu bytes: the imported cl_mem does not let the host at it: %s said "
        "CL_INVALID_OPERATION (%d)",
        what, (unsigned long long)size, call, (int)code);
  return OPENCL_FAIL(err, code, call, "%s of %llu bytes", what, (unsigned long long)size);
}

vyre_status vyre__opencl_buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                       uint64_t offset, const void *data, uint64_t size,
                                       vyre_error *err)
{
  vyre_status status = check_range(device, buffer, offset, size, "upload", err);
  if (status == VYRE_OK)
    status = check_memory(data, size, "upload", err);
  if (status != VYRE_OK || !size)
    return status;
  return told(device->cl->clEnqueueWriteBuffer(device->queue, buffer->memory, CL_TRUE, offset, size,
                                               data, 0, NULL, NULL),
              "clEnqueueWriteBuffer", "an upload", size, err);
}

vyre_status vyre__opencl_buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                         uint64_t offset, void *out_data, uint64_t size,
                                         vyre_error *err)
{
  vyre_status status = check_range(device, buffer, offset, size, "download", err);
  if (status == VYRE_OK)
    status = check_memory(out_data, size, "download", err);
  if (status != VYRE_OK || !size)
    return status;
  return told(device->cl->clEnqueueReadBuffer(device->queue, buffer->memory, CL_TRUE, offset, size,
                                              out_data, 0, NULL, NULL),
              "clEnqueueReadBuffer", "a download", size, err);
}

/* Waits for a command of the queue that has no blocking form. */
static cl_int finish(const vyre_backend_device *device, cl_int code, cl_event event)
{
  if (code != CL_SUCCESS)
    return code;
  code = device->cl->clWaitForEvents(1, &event);
  device->cl->clReleaseEvent(event);
  return code;
}

vyre_status vyre__opencl_buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                     uint64_t offset, uint64_t size, uint32_t value,
                                     vyre_error *err)
{
  const unsigned char byte = (unsigned char)(value & 255u);
  cl_event event = NULL;
  const vyre_status status = check_range(device, buffer, offset, size, "fill", err);
  if (status != VYRE_OK || !size)
    return status;
  const cl_int code = device->cl->clEnqueueFillBuffer(device->queue, buffer->memory, &byte, 1,
                                                      offset, size, 0, NULL, &event);
  return told(finish(device, code, event), "clEnqueueFillBuffer", "a fill", size, err);
}

vyre_status vyre__opencl_buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                     uint64_t destination_offset, vyre_backend_buffer *source,
                                     uint64_t source_offset, uint64_t size, vyre_error *err)
{
  cl_event event = NULL;
  vyre_status status = check_range(device, source, source_offset, size, "copy from", err);
  if (status == VYRE_OK)
    status = check_range(device, destination, destination_offset, size, "copy to", err);
  if (status != VYRE_OK)
    return status;
  const uint64_t apart = destination_offset > source_offset ? destination_offset - source_offset
                                                            : source_offset - destination_offset;
  if (destination == source && apart < size)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "copy through a second buffer",
                       "copy: the ranges at %llu and %llu of %llu bytes overlap",
                       (unsigned long long)source_offset, (unsigned long long)destination_offset,
                       (unsigned long long)size);
  if (!size)
    return VYRE_OK;
  const cl_int code =
      device->cl->clEnqueueCopyBuffer(device->queue, source->memory, destination->memory,
                                      source_offset, destination_offset, size, 0, NULL, &event);
  return told(finish(device, code, event), "clEnqueueCopyBuffer", "a copy", size, err);
}
