/*
 * device.c - what a device can do, opening and closing it.
 */
#include "device.h"

#include "code.h"
#include "library.h"
#include "plugins/common/handshake.h"
#include "plugins/common/host.h"

#include <stdio.h>
#include <string.h>

vyre_status vyre__opencl_device_count(uint32_t *out_count, vyre_error *err)
{
  const vyre__opencl_facts *rows = NULL;
  uint32_t count = 0;
  if (!out_count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the number",
                       "out_count is NULL");
  const vyre_status status = vyre__opencl_devices(&rows, &count, err);
  if (status == VYRE_OK)
    *out_count = count;
  return status;
}

static vyre_status find_row(uint32_t index, const vyre__opencl_facts **out_row, vyre_error *err)
{
  const vyre__opencl_facts *rows = NULL;
  uint32_t count = 0;
  const vyre_status status = vyre__opencl_devices(&rows, &count, err);
  if (status != VYRE_OK)
    return status;
  if (index >= count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use an index below the number of devices",
                       "device %u does not exist, there are %u", index, count);
  *out_row = &rows[index];
  return VYRE_OK;
}

/* -------- info -------- */

static uint64_t number(const vyre__opencl_facts *row, cl_uint what, size_t width)
{
  uint64_t wide = 0;
  uint32_t narrow = 0;
  void *place = width == sizeof(narrow) ? (void *)&narrow : &wide;
  if (vyre__opencl_calls()->clGetDeviceInfo(row->device, what, width, place, NULL) != CL_SUCCESS)
    return 0;
  return width == sizeof(narrow) ? narrow : wide;
}

static void fill_names(const vyre__opencl_facts *row, vyre_backend_device_info *info)
{
  char version[VYRE_DEVICE_NAME_SIZE], driver[VYRE_DEVICE_NAME_SIZE];
  unsigned char uuid[16];
  cl_device_pci_bus_info_khr pci;
  unsigned long major = 0, minor = 0;
  const vyre__cl_calls *cl = vyre__opencl_calls();
  vyre__opencl_device_text(row->device, CL_DEVICE_NAME, info->name, sizeof(info->name));
  if (!info->name[0])
    snprintf(info->name, sizeof(info->name), "OpenCL device");
  memcpy(info->id, row->id, sizeof(info->id));
  vyre__opencl_device_text(row->device, CL_DRIVER_VERSION, driver, sizeof(driver));
  snprintf(info->driver, sizeof(info->driver), "%.40s: %.80s", driver, vyre__opencl_library_path());
  vyre__opencl_device_text(row->device, CL_DEVICE_VERSION, version, sizeof(version));
  if (vyre__opencl_version(version, &major, &minor))
    snprintf(info->arch, sizeof(info->arch), "opencl-%lu.%lu", major, minor);
  else
    snprintf(info->arch, sizeof(info->arch), "opencl");
  if (cl->clGetDeviceInfo(row->device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(pci), &pci, NULL) ==
      CL_SUCCESS)
    snprintf(info->pci, sizeof(info->pci), "%04x:%02x:%02x.%x", pci.pci_domain, pci.pci_bus,
             pci.pci_device, pci.pci_function);
  if (cl->clGetDeviceInfo(row->device, CL_DEVICE_UUID_KHR, sizeof(uuid), uuid, NULL) ==
      CL_SUCCESS) {
    for (int i = 0, at = 0; i < 16; ++i)
      at += snprintf(info->uuid + at, sizeof(info->uuid) - (size_t)at, "%s%02x",
                     i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  }
}

static void fill_limits(const vyre__opencl_facts *row, vyre_backend_device_info *info)
{
  info->memory_bytes = number(row, CL_DEVICE_GLOBAL_MEM_SIZE, 8);
  info->max_buffer_bytes = number(row, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
  info->max_workgroup_memory = row->local_bytes;
  for (int d = 0; d < 3; ++d) {
    info->max_workgroup[d] = row->max_items_by_dimension[d];
    info->max_groups[d] = d ? VYRE__OPENCL_MAX_GROUPS_YZ : VYRE__OPENCL_MAX_GROUPS_X;
  }
  info->max_workgroup_items = row->max_items;
  info->max_push_bytes = VYRE__OPENCL_MAX_PUSH;
  info->max_bindings = row->max_bindings;
  info->compute_units = (uint32_t)number(row, CL_DEVICE_MAX_COMPUTE_UNITS, 4);
  if (!info->compute_units)
    info->compute_units = 1;
}

static void fill_capabilities(const vyre__opencl_facts *row, vyre_backend_device_info *info)
{
  const uint64_t type = number(row, CL_DEVICE_TYPE, 8);
  info->device_class = type & CL_DEVICE_TYPE_CPU      ? VYRE_DEVICE_CPU
                       : !(type & CL_DEVICE_TYPE_GPU) ? VYRE_DEVICE_OTHER
                       : row->unified                 ? VYRE_DEVICE_INTEGRATED_GPU
                                                      : VYRE_DEVICE_GPU;
  /* OpenCL promises nothing about groups of one launch. */
  info->progress = VYRE_PROGRESS_NONE;
  snprintf(info->persistent_reason, sizeof(info->persistent_reason),
           "OpenCL does not promise that a launch goes on beside the host and other launches");
  snprintf(info->grid_sync_reason, sizeof(info->grid_sync_reason),
           "OpenCL has no launch whose groups are all resident at once; the core runs a launch a "
           "step");
  info->grid_sync = VYRE_GRID_SYNC_NONE;
  if (row->closed_reason[0]) {
    memcpy(info->compiler_reason, row->closed_reason, sizeof(info->compiler_reason));
    return;
  }
  info->capabilities = VYRE_CAP_BUFFERS | VYRE_CAP_IMPORT_EXPORT | VYRE_CAP_COMPILER;
}

/* `size`: what the host's version knows of the structure. */
static vyre_status describe(uint32_t index, uint32_t size, uint64_t later_capabilities,
                            vyre_backend_device_info *out_info, vyre_error *err)
{
  vyre_backend_device_info info = {.struct_size = size};
  const vyre__opencl_facts *row = NULL;
  vyre_status status = find_row(index, &row, err);
  if (status == VYRE_OK)
    status = PLUGIN_CHECK_SIZE(err, out_info, vyre_backend_device_info,
                               VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  fill_names(row, &info);
  fill_limits(row, &info);
  fill_capabilities(row, &info);
  if (!row->closed_reason[0])
    info.capabilities |= later_capabilities;
  if (out_info->struct_size < info.struct_size)
    info.struct_size = out_info->struct_size;
  memcpy(out_info, &info, info.struct_size);
  return VYRE_OK;
}

vyre_status vyre__opencl_device_info(uint32_t index, vyre_backend_device_info *out_info,
                                     vyre_error *err)
{
  return describe(index, sizeof(*out_info), VYRE_CAP_TIMESTAMPS | VYRE_CAP_INTEROP, out_info, err);
}

vyre_status vyre__opencl_device_info_0_2(uint32_t index, vyre_backend_device_info *out_info,
                                         vyre_error *err)
{
  return describe(index, VYRE_BACKEND_DEVICE_INFO_SIZE_0_2, VYRE_CAP_TIMESTAMPS, out_info, err);
}

vyre_status vyre__opencl_device_info_0_1(uint32_t index, vyre_backend_device_info *out_info,
                                         vyre_error *err)
{
  return describe(index, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1, 0, out_info, err);
}

/* -------- open and close -------- */

static vyre_status check_options(const vyre_backend_device_options *options, vyre_error *err)
{
  if (!options)
    return VYRE_OK;
  vyre_status status = PLUGIN_CHECK_SIZE(err, options, vyre_backend_device_options,
                                         VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1);
  if (status == VYRE_OK && options->flags)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set the flags to 0",
                         "unknown device flags 0x%llx", (unsigned long long)options->flags);
  return status;
}

/*
 * One context a device for all that are open: buffers and events of one handle can be used on
 * another.  The last one closed gives it back.
 */
static struct {
  const vyre__opencl_facts *facts;
  cl_context context;
  uint32_t users;
} shared[VYRE__OPENCL_MAX_DEVICES];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static vyre_status share_context(vyre_backend_device *device, vyre_error *err)
{
  const vyre__opencl_facts *facts = device->facts;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              (cl_context_properties)(uintptr_t)facts->platform, 0};
  vyre_status status = VYRE_OK;
  cl_int code = CL_SUCCESS;
  uint32_t place = 0;
  pthread_mutex_lock(&shared_lock);
  while (shared[place].facts && shared[place].facts != facts)
    place += 1; /* there is a place for each device */
  shared[place].facts = facts;
  if (!shared[place].users)
    shared[place].context =
        device->cl->clCreateContext(properties, 1, &facts->device, NULL, NULL, &code);
  if (shared[place].context) {
    device->context = shared[place].context;
    shared[place].users += 1;
  } else {
    status = OPENCL_FAIL(err, code, "clCreateContext", "device %s", facts->id);
  }
  pthread_mutex_unlock(&shared_lock);
  return status;
}

/* The shared one, or that of the caller's queue. */
static void drop_context(const vyre_backend_device *device)
{
  bool last = true;
  pthread_mutex_lock(&shared_lock);
  for (uint32_t i = 0; !device->lent && i < VYRE__OPENCL_MAX_DEVICES; ++i)
    if (shared[i].facts == device->facts) {
      shared[i].users -= 1;
      last = !shared[i].users;
      if (last)
        shared[i].context = NULL;
    }
  if (last)
    device->cl->clReleaseContext(device->context);
  pthread_mutex_unlock(&shared_lock);
}

/* Context, queues and the empty buffer; device_close() takes back what there is of them. */
static vyre_status open_parts(vyre_backend_device *device, const vyre_native_handle *queue,
                              vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  cl_device_id id = device->facts->device;
  const char *name = device->facts->id;
  cl_int code = CL_SUCCESS;
  const vyre_status status =
      queue ? vyre__opencl_take_queue(device, queue, err) : share_context(device, err);
  if (status != VYRE_OK)
    return status;
  if (!queue)
    device->queue = cl->clCreateCommandQueue(device->context, id, CL_QUEUE_PROFILING_ENABLE, &code);
  if (!device->queue)
    return OPENCL_FAIL(err, code, "clCreateCommandQueue", "the queue of device %s", name);
  device->transfer =
      cl->clCreateCommandQueue(device->context, id, CL_QUEUE_PROFILING_ENABLE, &code);
  if (!device->transfer)
    return OPENCL_FAIL(err, code, "clCreateCommandQueue", "the second queue of device %s", name);
  device->nothing = cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE,
                                       VYRE__OPENCL_NOTHING_BYTES, NULL, &code);
  if (!device->nothing)
    return OPENCL_FAIL(err, code, "clCreateBuffer", "the first buffer of device %s", name);
  return VYRE_OK;
}

vyre_status vyre__opencl_device_open(uint32_t index, const vyre_backend_device_options *options,
                                     vyre_backend_device **out_device, vyre_error *err)
{
  const vyre_host *host = vyre__plugin_host();
  const vyre__opencl_facts *row = NULL;
  const vyre_native_handle *queue = NULL;
  vyre_status status = find_row(index, &row, err);
  if (status == VYRE_OK)
    status = check_options(options, err);
  if (status == VYRE_OK && !out_device)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the device",
                         "out_device is NULL");
  if (status == VYRE_OK && row->closed_reason[0])
    status = PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "choose another device, or a newer driver",
                         "device %s cannot be used: %s", row->id, row->closed_reason);
  if (status != VYRE_OK)
    return status;
  vyre_backend_device *device =
      vyre__plugin_allocate_zeroed(host, sizeof(*device), _Alignof(vyre_backend_device));
  if (!device)
    return PLUGIN_FAIL_MEMORY(err, "a device");
  device->host = host;
  device->cl = vyre__opencl_calls();
  device->facts = row;
  pthread_mutex_init(&device->lock, NULL);
  /* A host of an earlier version has no queue behind its options. */
  if (options && options->struct_size >= VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_3 &&
      options->queue.handle)
    queue = &options->queue;
  status = open_parts(device, queue, err);
  if (status == VYRE_OK)
    *out_device = device;
  else
    vyre__opencl_device_close(device);
  return status;
}

void vyre__opencl_device_close(vyre_backend_device *device)
{
  if (!device)
    return;
  const vyre__cl_calls *cl = device->cl;
  /* What the vendor says now is of no use to anybody. */
  if (device->queue)
    cl->clFinish(device->queue);
  if (device->transfer)
    cl->clFinish(device->transfer);
  if (device->nothing)
    cl->clReleaseMemObject(device->nothing);
  if (device->transfer)
    cl->clReleaseCommandQueue(device->transfer);
  if (device->queue)
    cl->clReleaseCommandQueue(device->queue);
  if (device->context)
    drop_context(device);
  pthread_mutex_destroy(&device->lock);
  vyre__plugin_deallocate(device->host, device);
}
