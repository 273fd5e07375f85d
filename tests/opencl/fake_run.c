/*
 * fake_run.c - memory, commands and events of the fake.
 */
#include "fake_inside.h"

#include "plugins/opencl/launch.h"

#include <stdlib.h>
#include <string.h>

/* -------- memory -------- */

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *bytes,
                      cl_int *out_code)
{
  cl_mem made = NULL;
  *out_code = fake_enter(FAKE_clCreateBuffer);
  if (*out_code == CL_SUCCESS && (!size || size > fake.most_bytes))
    *out_code = CL_INVALID_BUFFER_SIZE;
  if (*out_code == CL_SUCCESS &&
      !bytes != !(flags & (cl_mem_flags)(CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR)))
    *out_code = CL_INVALID_HOST_PTR;
  if (*out_code == CL_SUCCESS && (flags & CL_MEM_USE_HOST_PTR) && (flags & CL_MEM_ALLOC_HOST_PTR))
    *out_code = CL_INVALID_VALUE;
  if (*out_code != CL_SUCCESS)
    return NULL;
  made = calloc(1, sizeof(*made));
  made->users = 1;
  made->context = context;
  made->flags = flags;
  made->type = fake.image ? CL_MEM_OBJECT_BUFFER + 1 : CL_MEM_OBJECT_BUFFER;
  made->size = size;
  made->bytes = flags & CL_MEM_USE_HOST_PTR ? bytes : malloc(size);
  if (!made->bytes)
    abort();
  if (bytes && (flags & CL_MEM_COPY_HOST_PTR))
    memcpy(made->bytes, bytes, size);
  else if (!bytes)
    memset(made->bytes, 0xdb, size); /* nothing may count on zeros */
  context->users += 1;
  fake.memories += 1;
  fake.lent += (flags & CL_MEM_USE_HOST_PTR) != 0;
  fake.at_once += (flags & CL_MEM_ALLOC_HOST_PTR) != 0;
  return made;
}

cl_int clRetainMemObject(cl_mem memory)
{
  const cl_int code = fake_enter(FAKE_clRetainMemObject);
  if (code == CL_SUCCESS)
    memory->users += 1;
  return code;
}

cl_int clReleaseMemObject(cl_mem memory)
{
  const cl_int code = fake_enter(FAKE_clReleaseMemObject);
  if (--memory->users)
    return code;
  if (--memory->context->users == 0) {
    fake.contexts -= 1;
    free(memory->context);
  }
  if (!(memory->flags & CL_MEM_USE_HOST_PTR))
    free(memory->bytes);
  fake.memories -= 1;
  free(memory);
  return code;
}

cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info what, size_t room, void *out, size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetMemObjectInfo);
  if (code != CL_SUCCESS)
    return code;
  if (what == CL_MEM_TYPE)
    return fake_answer(&memory->type, sizeof(memory->type), room, out, out_size);
  return what == CL_MEM_SIZE
             ? fake_answer(&memory->size, sizeof(memory->size), room, out, out_size)
             : fake_answer(&memory->context, sizeof(memory->context), room, out, out_size);
}

/* -------- events -------- */

cl_int fake_event(cl_int state, uint32_t looks, cl_event *out_event)
{
  if (!out_event)
    return CL_SUCCESS;
  cl_event made = calloc(1, sizeof(*made));
  made->users = 1;
  made->state = state;
  made->looks = looks;
  made->started = made->ended = fake_now();
  fake.events += 1;
  *out_event = made;
  return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event event)
{
  const cl_int code = fake_enter(FAKE_clReleaseEvent);
  if (--event->users == 0) {
    fake.events -= 1;
    free(event);
  }
  return code;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
  const cl_int code = fake_enter(FAKE_clWaitForEvents);
  cl_int worst = CL_SUCCESS;
  for (cl_uint i = 0; code == CL_SUCCESS && i < count; ++i) {
    events[i]->looks = 0;
    if (events[i]->state < 0)
      worst = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return code != CL_SUCCESS ? code : worst;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *out, size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetEventInfo);
  const cl_int running = 1, *state = event->looks ? &running : &event->state;
  (void)what;
  if (code != CL_SUCCESS)
    return code;
  if (event->looks)
    event->looks -= 1;
  return fake_answer(state, sizeof(*state), room, out, out_size);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t room, void *out,
                               size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetEventProfilingInfo);
  const cl_ulong *value = what == CL_PROFILING_COMMAND_START ? &event->started : &event->ended;
  return code != CL_SUCCESS ? code : fake_answer(value, sizeof(*value), room, out, out_size);
}

/* -------- commands -------- */

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool wait, size_t offset,
                           size_t size, void *out, cl_uint count, const cl_event *events,
                           cl_event *out_event)
{
  const cl_int code = fake_enter(FAKE_clEnqueueReadBuffer);
  (void)queue;
  (void)wait;
  (void)count;
  (void)events;
  if (code != CL_SUCCESS)
    return code;
  memcpy(out, memory->bytes + offset, size);
  return fake_event(CL_COMPLETE, 0, out_event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool wait, size_t offset,
                            size_t size, const void *bytes, cl_uint count, const cl_event *events,
                            cl_event *out_event)
{
  const cl_int code = fake_enter(FAKE_clEnqueueWriteBuffer);
  (void)queue;
  (void)wait;
  (void)count;
  (void)events;
  if (code != CL_SUCCESS)
    return code;
  memcpy(memory->bytes + offset, bytes, size);
  return fake_event(CL_COMPLETE, 0, out_event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size, cl_uint count,
                           const cl_event *events, cl_event *out_event)
{
  const cl_int code = fake_enter(FAKE_clEnqueueFillBuffer);
  (void)queue;
  (void)pattern_size;
  (void)count;
  (void)events;
  if (code != CL_SUCCESS)
    return code;
  memset(memory->bytes + offset, *(const unsigned char *)pattern, size);
  return fake_event(CL_COMPLETE, 0, out_event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint count, const cl_event *events,
                           cl_event *out_event)
{
  const cl_int code = fake_enter(FAKE_clEnqueueCopyBuffer);
  (void)queue;
  (void)count;
  (void)events;
  if (code != CL_SUCCESS)
    return code;
  memmove(to->bytes + to_offset, from->bytes + from_offset, size);
  return fake_event(CL_COMPLETE, 0, out_event);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *events,
                                   cl_event *out_event)
{
  const cl_int code = fake_enter(FAKE_clEnqueueMarkerWithWaitList);
  (void)queue;
  (void)count;
  (void)events;
  return code != CL_SUCCESS ? code : fake_event(CL_COMPLETE, 0, out_event);
}

/* -------- kernels -------- */

static void find_bad_index(cl_mem record)
{
  const vyre__opencl_fault fault = {
      .taken = 1, .line = 12, .index = {7, 1}, .count = {5, 0}, .name = "edges"};
  memcpy(record->bytes, &fault, sizeof(fault));
}

/* Adds 1 to each byte from a binding's offset on, as the words of the launch say. */
static void touch(cl_mem memory, uint64_t offset)
{
  if (memory->flags & CL_MEM_READ_ONLY)
    return;
  for (size_t i = offset; i < memory->size; ++i)
    memory->bytes[i] += 1;
}

static void run_entry(cl_kernel kernel)
{
  const uint32_t hidden = kernel->program->debug ? 2 : 1;
  const uint64_t *words = (const uint64_t *)(const void *)kernel->argument[0].memory->bytes;
  for (uint32_t i = hidden; i < kernel->arguments; ++i)
    if (kernel->argument[i].memory)
      touch(kernel->argument[i].memory, words[VYRE__OPENCL_WORD_OFFSETS + i - hidden]);
  if (kernel->program->debug && fake.bad_index)
    find_bad_index(kernel->argument[1].memory);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *events, cl_event *out_event)
{
  const cl_int code = fake_enter(FAKE_clEnqueueNDRangeKernel);
  (void)queue;
  (void)offset;
  (void)count;
  (void)events;
  if (code != CL_SUCCESS)
    return code;
  for (cl_uint d = 0; d < dimensions; ++d)
    if (!local[d] || !global[d] || global[d] % local[d])
      return CL_INVALID_WORK_GROUP_SIZE;
  for (uint32_t i = 0; i < kernel->arguments; ++i)
    if (!kernel->argument[i].set)
      return CL_INVALID_KERNEL_ARGS;
  if (kernel->arguments == 1) {
    const uint64_t ticks = fake_now() * 2;
    memcpy(kernel->argument[0].memory->bytes, &ticks, sizeof(ticks));
  } else {
    run_entry(kernel);
  }
  return fake_event(fake.launch_code, fake.slow_looks, out_event);
}
