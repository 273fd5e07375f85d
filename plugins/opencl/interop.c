/*
 * interop.c - things of OpenCL's own that host and plugin lend each other: memory, events, queues.
 *
 * A number that is no object of OpenCL's cannot be told from one that is: as with the calls of
 * OpenCL itself, the caller answers for that.
 */
#include "code.h"
#include "device.h"
#include "plugins/common/host.h"

/* Handles cross the ABI as numbers. */
static void *pointer_of(uint64_t handle)
{
  /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
  return (void *)(uintptr_t)handle;
}

/* -------- memory -------- */

static vyre_status check_memory(const vyre_backend_device *device, const vyre_native_memory *memory,
                                vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  cl_context context = NULL;
  cl_uint type = 0;
  size_t size = 0;
  cl_mem handle = pointer_of(memory->handle);
  if (memory->type != VYRE_NATIVE_OPENCL_MEMORY)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "give a cl_mem",
                       "import: memory of type %u, the opencl plugin takes cl_mem (%u)",
                       memory->type, VYRE_NATIVE_OPENCL_MEMORY);
  if (!handle)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a cl_mem",
                       "import: the handle is 0");
  cl_int code = cl->clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof(type), &type, NULL);
  if (code == CL_SUCCESS)
    code = cl->clGetMemObjectInfo(handle, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
  if (code == CL_SUCCESS)
    code = cl->clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof(size), &size, NULL);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_INVALID_ARGUMENT, code, "clGetMemObjectInfo",
                          "import of a cl_mem");
  if (type != CL_MEM_OBJECT_BUFFER)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a buffer: one of clCreateBuffer() or clCreateSubBuffer()",
                       "import: the cl_mem is an image or a pipe (CL_MEM_TYPE is 0x%x)", type);
  if (context != device->context)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "open the device on a queue of the context that the memory belongs to, or "
                       "make the memory in the context of the exported queue",
                       "import: the cl_mem belongs to another context");
  if (memory->size > size)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at most the size of the cl_mem",
                       "import: %llu bytes of a cl_mem of %llu", (unsigned long long)memory->size,
                       (unsigned long long)size);
  return VYRE_OK;
}

vyre_status vyre__opencl_buffer_import(vyre_backend_device *device,
                                       const vyre_native_memory *memory,
                                       vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, memory, vyre_native_memory, VYRE_NATIVE_MEMORY_SIZE_0_1);
  if (status == VYRE_OK && (!device || !out_buffer))
    status =
        PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the buffer",
                    "device or out_buffer is NULL");
  if (status == VYRE_OK)
    status = check_memory(device, memory, err);
  if (status != VYRE_OK)
    return status;
  vyre_backend_buffer *buffer =
      vyre__plugin_allocate_zeroed(device->host, sizeof(*buffer), _Alignof(vyre_backend_buffer));
  if (!buffer)
    return PLUGIN_FAIL_MEMORY(err, "a buffer");
  buffer->memory = pointer_of(memory->handle);
  buffer->size = memory->size;
  const cl_int code = device->cl->clRetainMemObject(buffer->memory);
  if (code != CL_SUCCESS) {
    vyre__plugin_deallocate(device->host, buffer);
    return OPENCL_FAIL(err, code, "clRetainMemObject", "import of a cl_mem");
  }
  *out_buffer = buffer;
  return VYRE_OK;
}

vyre_status vyre__opencl_buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                       vyre_native_memory *out_memory, vyre_error *err)
{
  const vyre_status status =
      PLUGIN_CHECK_SIZE(err, out_memory, vyre_native_memory, VYRE_NATIVE_MEMORY_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (!device || !buffer)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a buffer of it",
                       "export: device or buffer is NULL");
  out_memory->type = VYRE_NATIVE_OPENCL_MEMORY;
  out_memory->handle = (uint64_t)(uintptr_t)buffer->memory;
  out_memory->size = buffer->size;
  if (out_memory->struct_size > sizeof(*out_memory))
    out_memory->struct_size = sizeof(*out_memory);
  return VYRE_OK;
}

/* -------- events and queues -------- */

/* INT-003.  `may_be_new`: type 0 stands for ours. */
static vyre_status check_handle(const vyre_backend_device *device, const vyre_native_handle *handle,
                                bool may_be_new, const char *what, vyre_error *err)
{
  const vyre_status status =
      PLUGIN_CHECK_SIZE(err, handle, vyre_native_handle, VYRE_NATIVE_HANDLE_SIZE_0_3);
  if (status != VYRE_OK)
    return status;
  if (!device)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device", "the device is NULL");
  if (handle->type == VYRE_NATIVE_OPENCL && (handle->handle || may_be_new))
    return VYRE_OK;
  if (!handle->type && !handle->handle && may_be_new)
    return VYRE_OK;
  if (handle->type != VYRE_NATIVE_OPENCL)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give one of OpenCL's",
                       "%s of type %u, the opencl plugin takes type %u", what, handle->type,
                       VYRE_NATIVE_OPENCL);
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give one of OpenCL's",
                     "%s: the handle is 0", what);
}

vyre_status vyre__opencl_event_record(vyre_backend_device *device, vyre_native_handle *event,
                                      vyre_error *err)
{
  cl_event made = NULL;
  const vyre_status status = check_handle(device, event, true, "an event", err);
  if (status != VYRE_OK)
    return status;
  if (event->handle)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "set the handle to 0 and take the event made",
                       "an event of OpenCL belongs to the command that made it and is not recorded "
                       "again");
  cl_int code = device->cl->clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &made);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL(err, code, "clEnqueueMarkerWithWaitList", "an event");
  code = device->cl->clFlush(device->queue);
  if (code != CL_SUCCESS) {
    device->cl->clReleaseEvent(made);
    return OPENCL_FAIL(err, code, "clFlush", "an event");
  }
  event->type = VYRE_NATIVE_OPENCL;
  event->handle = (uint64_t)(uintptr_t)made;
  if (event->struct_size > sizeof(*event))
    event->struct_size = sizeof(*event);
  return VYRE_OK;
}

vyre_status vyre__opencl_event_wait(vyre_backend_device *device, const vyre_native_handle *event,
                                    vyre_error *err)
{
  const vyre_status status = check_handle(device, event, false, "an event", err);
  if (status != VYRE_OK)
    return status;
  const cl_event wanted = pointer_of(event->handle);
  /* The queue is in order: what comes behind the marker comes behind the event. */
  const cl_int code = device->cl->clEnqueueMarkerWithWaitList(device->queue, 1, &wanted, NULL);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_INVALID_ARGUMENT, code, "clEnqueueMarkerWithWaitList",
                          "waiting for an event");
  return VYRE_OK;
}

vyre_status vyre__opencl_event_release(vyre_backend_device *device, const vyre_native_handle *event,
                                       vyre_error *err)
{
  const vyre_status status = check_handle(device, event, false, "an event", err);
  if (status != VYRE_OK)
    return status;
  const cl_int code = device->cl->clReleaseEvent(pointer_of(event->handle));
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_INVALID_ARGUMENT, code, "clReleaseEvent", "an event");
  return VYRE_OK;
}

vyre_status vyre__opencl_queue_export(vyre_backend_device *device, vyre_native_handle *out_queue,
                                      vyre_error *err)
{
  const vyre_status status =
      PLUGIN_CHECK_SIZE(err, out_queue, vyre_native_handle, VYRE_NATIVE_HANDLE_SIZE_0_3);
  if (status != VYRE_OK)
    return status;
  if (!device)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device", "the device is NULL");
  out_queue->type = VYRE_NATIVE_OPENCL;
  out_queue->handle = (uint64_t)(uintptr_t)device->queue;
  if (out_queue->struct_size > sizeof(*out_queue))
    out_queue->struct_size = sizeof(*out_queue);
  return VYRE_OK;
}

vyre_status vyre__opencl_take_queue(vyre_backend_device *device, const vyre_native_handle *queue,
                                    vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  cl_command_queue handle = NULL;
  cl_context context = NULL;
  cl_device_id id = NULL;
  cl_command_queue_properties properties = 0;
  const vyre_status status = check_handle(device, queue, false, "a queue", err);
  if (status != VYRE_OK)
    return status;
  handle = pointer_of(queue->handle);
  cl_int code =
      cl->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
  if (code == CL_SUCCESS)
    code = cl->clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(id), &id, NULL);
  if (code == CL_SUCCESS)
    code = cl->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
                                     NULL);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_INVALID_ARGUMENT, code, "clGetCommandQueueInfo",
                          "the queue that was given");
  if (id != device->facts->device)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a queue of the device that is opened",
                       "the queue belongs to another device than %s", device->facts->id);
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) ||
      !(properties & CL_QUEUE_PROFILING_ENABLE))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "make the queue with CL_QUEUE_PROFILING_ENABLE and in order",
                       "the queue has properties 0x%llx: launches are ordered and timed by it",
                       (unsigned long long)properties);
  code = cl->clRetainContext(context);
  if (code == CL_SUCCESS) {
    device->context = context;
    device->lent = true;
    code = cl->clRetainCommandQueue(handle);
  }
  if (code != CL_SUCCESS)
    return OPENCL_FAIL(err, code, "clRetainCommandQueue", "the queue that was given");
  device->queue = handle;
  return VYRE_OK;
}
