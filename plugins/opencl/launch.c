/*
 * launch.c - from a descriptor to a queued kernel: checks of every limit (DISP-021), memory for the
 * host's bytes, the words of the launch, the arguments.
 */
#include "launch.h"

#include "code.h"
#include "module.h"
#include "plugins/common/host.h"

#include <string.h>

/* Fills of this many bytes come with the buffer, larger ones are a command of their own. */
#define ZEROS 4096u

/* The host's own bytes are used where they are from this alignment on. */
#define HOST_ALIGN 64u

static const vyre_binding *binding_at(const vyre_dispatch_desc *desc, uint32_t index)
{
  const char *bytes = (const char *)desc->bindings;
  return (const vyre_binding *)(const void *)(bytes + desc->binding_stride * index);
}

/* -------- checks -------- */

static vyre_status check_limit(const char *what, uint64_t request, uint64_t limit, vyre_error *err)
{
  if (request <= limit)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "ask for less; device_info tells the limits",
                     "%s: %llu, the limit is %llu", what, (unsigned long long)request,
                     (unsigned long long)limit);
}

static vyre_status check_flags(const vyre_dispatch_desc *desc, vyre_error *err)
{
  const uint64_t known = VYRE_DISPATCH_PERSISTENT | VYRE_DISPATCH_COOPERATIVE;
  if (desc->flags & ~known)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "unknown dispatch flags 0x%llx", (unsigned long long)(desc->flags & ~known));
  if (desc->flags)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "look at the device's capabilities",
                       "OpenCL has neither persistent nor cooperative launches");
  if (!desc->kernel)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a kernel from kernel_find()",
                       "the kernel is NULL");
  if (desc->kernel->fused)
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "run the segments one by one",
                       "kernel %s is a fused program, which needs a cooperative launch",
                       desc->kernel->name);
  return VYRE_OK;
}

static vyre_status check_grid(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                              vyre_error *err)
{
  static const uint32_t most_groups[3] = {VYRE__OPENCL_MAX_GROUPS_X, VYRE__OPENCL_MAX_GROUPS_YZ,
                                          VYRE__OPENCL_MAX_GROUPS_YZ};
  uint64_t items = 1;
  vyre_status status = VYRE_OK;
  for (int d = 0; status == VYRE_OK && d < 3; ++d) {
    if (!desc->groups[d] || !desc->workgroup[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at least 1 in each dimension",
                         "dimension %d has %u groups of %u items", d, desc->groups[d],
                         desc->workgroup[d]);
    status = check_limit("groups in a dimension", desc->groups[d], most_groups[d], err);
    if (status == VYRE_OK)
      status = check_limit("items per group in a dimension", desc->workgroup[d],
                           device->facts->max_items_by_dimension[d], err);
    items *= desc->workgroup[d];
  }
  if (status == VYRE_OK)
    status = check_limit("items per group in all", items, device->facts->max_items, err);
  if (status == VYRE_OK)
    status = check_limit("items per group of this kernel", items, desc->kernel->max_items, err);
  return status;
}

static vyre_status check_sizes(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_error *err)
{
  vyre_status status =
      check_limit("bytes of push constants", desc->push_size, VYRE__OPENCL_MAX_PUSH, err);
  if (status == VYRE_OK && desc->push_size && !desc->push)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the bytes or a size of 0",
                         "push is NULL, push_size is %u", desc->push_size);
  if (status == VYRE_OK)
    status = check_limit("bindings", desc->binding_count, device->facts->max_bindings, err);
  if (status == VYRE_OK)
    status = check_limit("id_limit", desc->id_limit, VYRE_BINDING_IDS, err);
  if (status == VYRE_OK && desc->binding_count &&
      (!desc->bindings || desc->binding_stride < VYRE_BINDING_SIZE_0_1))
    status = PLUGIN_FAIL(
        err, VYRE_ERROR_INVALID_ARGUMENT, "give an array of vyre_binding and its stride in bytes",
        "bindings is %s, their stride is %llu bytes", desc->bindings ? "given" : "NULL",
        (unsigned long long)desc->binding_stride);
  if (status == VYRE_OK && desc->binding_count != desc->kernel->parameters)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give one binding for each parameter",
                         "kernel %s has %u parameters, %u bindings were given", desc->kernel->name,
                         desc->kernel->parameters, desc->binding_count);
  return status;
}

static vyre_status check_binding(const vyre_dispatch_desc *desc, uint32_t index, vyre_error *err)
{
  const vyre_binding *binding = binding_at(desc, index);
  vyre_status status = PLUGIN_CHECK_SIZE(err, binding, vyre_binding, VYRE_BINDING_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (binding->id >= desc->id_limit)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set id_limit to the largest id plus one",
                       "binding %u has id %u, id_limit is %u", index, binding->id, desc->id_limit);
  if (binding->kind > VYRE_BINDING_WORKGROUP || binding->access > VYRE_WORKGROUP ||
      (binding->kind == VYRE_BINDING_WORKGROUP) != (binding->access == VYRE_WORKGROUP))
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "use the kinds and accesses of the header, WORKGROUP for both or neither",
                       "binding %u has kind %u and access %u", index, binding->kind,
                       binding->access);
  if (binding->kind != VYRE_BINDING_BUFFER)
    return VYRE_OK;
  if (!binding->buffer)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a buffer of this device",
                       "binding %u has no buffer", index);
  if (binding->offset > binding->buffer->size ||
      binding->size > binding->buffer->size - binding->offset)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "bind a range inside the buffer",
                       "binding %u is %llu bytes at %llu of a buffer of %llu bytes", index,
                       (unsigned long long)binding->size, (unsigned long long)binding->offset,
                       (unsigned long long)binding->buffer->size);
  return VYRE_OK;
}

/* Bytes that a WORKGROUP binding takes; UINT64_MAX if that overflows. */
static uint64_t local_size(const vyre_binding *binding)
{
  const uint64_t align = VYRE__OPENCL_LOCAL_ALIGN, size = binding->size ? binding->size : 1;
  return size > UINT64_MAX - align ? UINT64_MAX : (size + align - 1) / align * align;
}

static vyre_status check_local(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_error *err)
{
  uint64_t sum = desc->kernel->local_bytes;
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    if (binding->kind == VYRE_BINDING_WORKGROUP &&
        __builtin_add_overflow(sum, local_size(binding), &sum))
      sum = UINT64_MAX;
    if (sum > device->facts->local_bytes)
      break;
  }
  return check_limit("bytes of workgroup memory", sum, device->facts->local_bytes, err);
}

static vyre_status check(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                         vyre_error *err)
{
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, desc, vyre_dispatch_desc, VYRE_DISPATCH_DESC_SIZE_0_1);
  if (status == VYRE_OK)
    status = check_flags(desc, err);
  if (status == VYRE_OK)
    status = check_grid(device, desc, err);
  if (status == VYRE_OK)
    status = check_sizes(device, desc, err);
  for (uint32_t i = 0; status == VYRE_OK && i < desc->binding_count; ++i)
    status = check_binding(desc, i, err);
  if (status == VYRE_OK)
    status = check_local(device, desc, err);
  return status;
}

/* -------- memory -------- */

static bool is_output(const vyre_binding *binding)
{
  return binding->kind == VYRE_BINDING_HOST && binding->access != VYRE_READ_ONLY;
}

/* Zeros, without waiting for what is queued. */
static cl_int fill_zero(const vyre_backend_device *device, cl_mem memory, uint64_t size)
{
  static const unsigned char zero;
  return device->cl->clEnqueueFillBuffer(device->queue, memory, &zero, 1, 0, size, 0, NULL, NULL);
}

/*
 * Memory for a HOST binding: a copy of its bytes or zeros.  Bytes that are only read stay where
 * they are if the device works in the host's memory; they are borrowed until the release.
 */
static vyre_status make_memory(const vyre_backend_device *device, const vyre_binding *binding,
                               cl_mem *out_memory, vyre_error *err)
{
  static unsigned char zeros[ZEROS];
  const vyre__cl_calls *cl = device->cl;
  cl_mem_flags flags = binding->access == VYRE_READ_ONLY ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
  void *bytes = (void *)(uintptr_t)binding->data; /* never written with these flags */
  cl_int code = CL_SUCCESS;
  if (!bytes && binding->size <= ZEROS)
    bytes = zeros;
  if (binding->data && binding->access == VYRE_READ_ONLY && device->facts->unified &&
      (uintptr_t)binding->data % HOST_ALIGN == 0)
    flags |= CL_MEM_USE_HOST_PTR;
  else
    flags |= vyre__opencl_at_once(device) | (bytes ? CL_MEM_COPY_HOST_PTR : 0);
  *out_memory = cl->clCreateBuffer(device->context, flags, binding->size, bytes, &code);
  if (!*out_memory)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_OUT_OF_DEVICE_MEMORY, code, "clCreateBuffer",
                          "binding %u of %llu bytes", binding->id,
                          (unsigned long long)binding->size);
  if (!bytes)
    code = fill_zero(device, *out_memory, binding->size);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL(err, code, "clEnqueueFillBuffer", "binding %u of %llu bytes", binding->id,
                       (unsigned long long)binding->size);
  return VYRE_OK;
}

static vyre_status make_memories(vyre_backend_pending *launch, const vyre_dispatch_desc *desc,
                                 vyre_error *err)
{
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; status == VYRE_OK && i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    if (binding->kind != VYRE_BINDING_HOST)
      continue;
    if (binding->size)
      status = make_memory(launch->device, binding, &launch->memories[i], err);
    if (is_output(binding))
      launch->outputs[launch->output_count++] =
          (vyre__opencl_output){binding->id, launch->memories[i], binding->size};
  }
  return status;
}

/* The record of a bad index, all zeros. */
static vyre_status make_record(vyre_backend_pending *launch, vyre_error *err)
{
  const vyre_backend_device *device = launch->device;
  cl_int code = CL_SUCCESS;
  if (!launch->kernel->debug)
    return VYRE_OK;
  launch->record = device->cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE,
                                              VYRE__OPENCL_FAULT_BYTES, NULL, &code);
  if (launch->record)
    code = fill_zero(device, launch->record, VYRE__OPENCL_FAULT_BYTES);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL(err, code, "clCreateBuffer", "the record of a bad index");
  return VYRE_OK;
}

static vyre_status make_launch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                               vyre_backend_pending **out_launch, vyre_error *err)
{
  const uint64_t outputs = desc->binding_count, head = sizeof(vyre_backend_pending);
  const uint64_t size = head + outputs * (sizeof(vyre__opencl_output) + sizeof(cl_mem));
  char *base = vyre__plugin_allocate_zeroed(device->host, size, _Alignof(vyre_backend_pending));
  if (!base)
    return PLUGIN_FAIL_MEMORY(err, "a launch");
  vyre_backend_pending *launch = (vyre_backend_pending *)(void *)base;
  launch->device = device;
  launch->kernel = desc->kernel;
  launch->binding_count = desc->binding_count;
  launch->outputs = (vyre__opencl_output *)(void *)(base + head);
  launch->memories = (cl_mem *)(void *)(launch->outputs + outputs);
  vyre_status status = make_memories(launch, desc, err);
  if (status == VYRE_OK)
    status = make_record(launch, err);
  if (status == VYRE_OK)
    *out_launch = launch;
  else
    vyre__opencl_launch_drop(launch);
  return status;
}

void vyre__opencl_launch_drop(vyre_backend_pending *launch)
{
  const vyre__cl_calls *cl = launch->device->cl;
  if (launch->last && launch->last != launch->launch)
    cl->clReleaseEvent(launch->last);
  if (launch->launch)
    cl->clReleaseEvent(launch->launch);
  if (launch->record)
    cl->clReleaseMemObject(launch->record);
  for (uint32_t i = 0; i < launch->binding_count; ++i)
    if (launch->memories[i])
      cl->clReleaseMemObject(launch->memories[i]);
  vyre__plugin_deallocate(launch->device->host, launch);
}

/* -------- words and arguments -------- */

static void fill_words(const vyre_backend_device *device, const vyre_dispatch_desc *desc,
                       vyre__opencl_words *words)
{
  const uint32_t counts = VYRE__OPENCL_WORD_OFFSETS + desc->binding_count;
  const uint32_t push = (counts + desc->id_limit + 1u) / 2u * 2u;
  words->count = push + (desc->push_size + 7u) / 8u;
  memset(words->word, 0, words->count * sizeof(words->word[0]));
  words->word[VYRE__OPENCL_WORD_COUNTS] = counts;
  words->word[VYRE__OPENCL_WORD_PUSH] = push;
  /* Relaxed: measured before the module was loaded whose kernels look at it. */
  words->word[VYRE__OPENCL_WORD_TICK] = __atomic_load_n(&device->tick, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    words->word[counts + binding->id] = binding->element_count;
    if (binding->kind == VYRE_BINDING_BUFFER && binding->size)
      words->word[VYRE__OPENCL_WORD_OFFSETS + i] = binding->offset;
  }
  if (desc->push_size)
    memcpy(&words->word[push], desc->push, desc->push_size);
}

/*
 * A launch with the same words as the kernel's last one uses them again: programs of many passes
 * launch the same thing over and over.  Otherwise there is a new buffer; a launch that is still
 * queued keeps the old one alive.  The kernel's lock is held.
 */
static vyre_status set_words(const vyre_backend_device *device, vyre_backend_kernel *kernel,
                             const vyre__opencl_words *words, vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  const size_t size = words->count * sizeof(words->word[0]);
  cl_int code = CL_SUCCESS;
  if (kernel->words && kernel->kept.count == words->count &&
      memcmp(kernel->kept.word, words->word, size) == 0)
    return VYRE_OK;
  cl_mem memory = cl->clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size,
                                     (void *)(uintptr_t)words->word, &code);
  if (!memory)
    return OPENCL_FAIL(err, code, "clCreateBuffer", "the words of a launch of kernel %s",
                       kernel->name);
  if (kernel->words)
    cl->clReleaseMemObject(kernel->words);
  kernel->words = memory;
  kernel->kept.count = words->count;
  memcpy(kernel->kept.word, words->word, size);
  return VYRE_OK;
}

/* All arguments, each time: none of an earlier launch is left.  The kernel's lock is held. */
static vyre_status set_arguments(const vyre_backend_pending *launch, vyre_backend_kernel *kernel,
                                 const vyre_dispatch_desc *desc, vyre_error *err)
{
  const vyre_backend_device *device = launch->device;
  const vyre__cl_calls *cl = device->cl;
  cl_uint place = 0;
  cl_int code = cl->clSetKernelArg(kernel->handle, place++, sizeof(cl_mem), &kernel->words);
  if (code == CL_SUCCESS && kernel->debug)
    code = cl->clSetKernelArg(kernel->handle, place++, sizeof(cl_mem), &launch->record);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL(err, code, "clSetKernelArg", "kernel %s", kernel->name);
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    const cl_mem memory = !binding->size                         ? device->nothing
                          : binding->kind == VYRE_BINDING_BUFFER ? binding->buffer->memory
                                                                 : launch->memories[i];
    if (binding->kind == VYRE_BINDING_WORKGROUP)
      code = cl->clSetKernelArg(kernel->handle, place++, local_size(binding), NULL);
    else
      code = cl->clSetKernelArg(kernel->handle, place++, sizeof(memory), &memory);
    if (code != CL_SUCCESS)
      return OPENCL_FAIL_AS(err, VYRE_ERROR_INVALID_ARGUMENT, code, "clSetKernelArg",
                            "binding %u of kernel %s", i, kernel->name);
  }
  return VYRE_OK;
}

/* -------- the launch -------- */

/* The kernel's lock is held. */
static vyre_status enqueue(vyre_backend_pending *launch, const vyre_dispatch_desc *desc,
                           vyre_error *err)
{
  const vyre_backend_device *device = launch->device;
  const vyre__cl_calls *cl = device->cl;
  size_t global[3], local[3];
  for (int d = 0; d < 3; ++d) {
    local[d] = desc->workgroup[d];
    global[d] = (size_t)desc->groups[d] * desc->workgroup[d];
  }
  cl_int code = cl->clEnqueueNDRangeKernel(device->queue, desc->kernel->handle, 3, NULL, global,
                                           local, 0, NULL, &launch->launch);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_DISPATCH_FAILED, code, "clEnqueueNDRangeKernel",
                          "kernel %s", desc->kernel->name);
  /* It is queued and cannot be taken back: from here on the handle tells what fails. */
  launch->last = launch->launch;
  if (launch->record) {
    cl_event copied = NULL;
    launch->trouble =
        cl->clEnqueueReadBuffer(device->queue, launch->record, CL_FALSE, 0, sizeof(launch->fault),
                                &launch->fault, 0, NULL, &copied);
    if (launch->trouble == CL_SUCCESS)
      launch->last = copied;
  }
  if (launch->trouble == CL_SUCCESS)
    launch->trouble = cl->clFlush(device->queue);
  return VYRE_OK;
}

vyre_status vyre__opencl_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                  vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre__opencl_words words;
  vyre_backend_pending *launch = NULL;
  if (!device || !out_pending)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the handle",
                       "device or out_pending is NULL");
  const uint64_t begin = vyre__plugin_clock_ns();
  vyre_status status = check(device, desc, err);
  if (status == VYRE_OK)
    status = make_launch(device, desc, &launch, err);
  if (status != VYRE_OK)
    return status;
  vyre_backend_kernel *kernel = desc->kernel;
  fill_words(device, desc, &words);
  pthread_mutex_lock(&kernel->lock);
  status = set_words(device, kernel, &words, err);
  if (status == VYRE_OK)
    status = set_arguments(launch, kernel, desc, err);
  if (status == VYRE_OK)
    status = enqueue(launch, desc, err);
  pthread_mutex_unlock(&kernel->lock);
  if (status != VYRE_OK) {
    vyre__opencl_launch_drop(launch);
    return status;
  }
  launch->enqueue_ns = vyre__plugin_clock_ns() - begin;
  *out_pending = launch;
  return VYRE_OK;
}
