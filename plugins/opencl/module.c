/*
 * module.c - loading code and looking its entries up.
 */
#include "module.h"

#include "code.h"
#include "plugins/common/host.h"
#include "plugins/common/text.h"

#include <stdio.h>
#include <string.h>

struct vyre_backend_module {
  vyre_backend_device *device;
  cl_program program;
  bool debug;
  pthread_mutex_t lock;
  vyre_backend_kernel *kernels; /* those that were asked for, under the lock */
  char name[];
};

static vyre_status check_desc(const vyre_backend_device *device, const vyre_module_desc *desc,
                              vyre_backend_module **out_module, vyre_error *err)
{
  vyre_status status = PLUGIN_CHECK_SIZE(err, desc, vyre_module_desc, VYRE_MODULE_DESC_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  const char *name = desc->name ? desc->name : "kernel";
  if (!device || !out_module)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the module",
                       "device or out_module is NULL");
  if (desc->flags & ~VYRE_MODULE_DEBUG)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "%s: unknown module flags 0x%llx", name, (unsigned long long)desc->flags);
  if (!desc->format || strcmp(desc->format, "vyre-c") != 0)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "give the text of the kernel",
                       "%s: the opencl plugin takes \"vyre-c\", not \"%s\"", name,
                       desc->format ? desc->format : "(null)");
  if (desc->size && !desc->data)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the text", "%s: the text is NULL",
                       name);
  return VYRE_OK;
}

/* vyre_clock_ns() counts ticks of the device: their length is measured for the first text that
   looks at a clock.  The prelude in front has the word, too: it is looked for behind it. */
static bool uses_clock(const vyre__opencl_source *source)
{
  static const char *const words[] = {"vyre_clock_ns", NULL};
  const uint64_t skip = vyre__opencl_prelude_in(source);
  return vyre__plugin_text_has_word(source->text + skip, source->size - skip, words);
}

vyre_status vyre__opencl_module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                     vyre_backend_module **out_module, vyre_error *err)
{
  vyre_status status = check_desc(device, desc, out_module, err);
  if (status != VYRE_OK)
    return status;
  const vyre__opencl_source source = {.text = desc->data,
                                      .size = desc->size,
                                      .flags = desc->flags,
                                      .name = desc->name ? desc->name : "kernel"};
  const size_t name_size = strlen(source.name) + 1;
  vyre_backend_module *module = vyre__plugin_allocate_zeroed(
      device->host, sizeof(*module) + name_size, _Alignof(vyre_backend_module));
  if (!module)
    return PLUGIN_FAIL_MEMORY(err, "a module");
  module->device = device;
  module->debug = (desc->flags & VYRE_MODULE_DEBUG) != 0;
  memcpy(module->name, source.name, name_size);
  pthread_mutex_init(&module->lock, NULL);
  if (uses_clock(&source))
    status = vyre__opencl_measure_tick(device, err);
  if (status == VYRE_OK)
    status = vyre__opencl_build(device, &source, &module->program, err);
  if (status == VYRE_OK)
    *out_module = module;
  else
    vyre__opencl_module_unload(device, module);
  return status;
}

static void drop_kernel(vyre_backend_device *device, vyre_backend_kernel *kernel)
{
  if (kernel->words)
    device->cl->clReleaseMemObject(kernel->words);
  if (kernel->handle)
    device->cl->clReleaseKernel(kernel->handle);
  pthread_mutex_destroy(&kernel->lock);
  vyre__plugin_deallocate(device->host, kernel);
}

void vyre__opencl_module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  if (!module)
    return;
  device = module->device;
  while (module->kernels) {
    vyre_backend_kernel *kernel = module->kernels;
    module->kernels = kernel->next;
    drop_kernel(device, kernel);
  }
  if (module->program)
    device->cl->clReleaseProgram(module->program);
  pthread_mutex_destroy(&module->lock);
  vyre__plugin_deallocate(device->host, module);
}

/* What the driver knows of the kernel. */
static vyre_status ask_limits(const vyre_backend_module *module, vyre_backend_kernel *kernel,
                              vyre_error *err)
{
  const vyre_backend_device *device = module->device;
  const vyre__cl_calls *cl = device->cl;
  size_t items = 0;
  cl_ulong local = 0;
  cl_uint arguments = 0;
  const cl_uint hidden = module->debug ? 2 : 1;
  cl_int code =
      cl->clGetKernelWorkGroupInfo(kernel->handle, device->facts->device, CL_KERNEL_WORK_GROUP_SIZE,
                                   sizeof(items), &items, NULL);
  if (code == CL_SUCCESS)
    code = cl->clGetKernelWorkGroupInfo(kernel->handle, device->facts->device,
                                        CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local), &local, NULL);
  if (code == CL_SUCCESS)
    code = cl->clGetKernelInfo(kernel->handle, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments,
                               NULL);
  if (code != CL_SUCCESS)
    return OPENCL_FAIL(err, code, "clGetKernelInfo", "entry \"%s\" of %s", kernel->name,
                       module->name);
  kernel->max_items = items < device->facts->max_items ? (uint32_t)items : device->facts->max_items;
  /* Some drivers count a parameter whose size is not set yet as a byte. */
  kernel->local_bytes = local < VYRE__OPENCL_LOCAL_ALIGN ? 0 : local;
  kernel->parameters = arguments < hidden ? 0 : arguments - hidden;
  return VYRE_OK;
}

static vyre_status make_handle(const vyre_backend_module *module, vyre_backend_kernel *kernel,
                               vyre_error *err)
{
  char symbol[512];
  cl_int code = CL_INVALID_KERNEL_NAME;
  if (snprintf(symbol, sizeof(symbol), "vyre_entry_%s", kernel->name) < (int)sizeof(symbol))
    kernel->handle = module->device->cl->clCreateKernel(module->program, symbol, &code);
  if (kernel->handle)
    return ask_limits(module, kernel, err);
  if (code == CL_INVALID_KERNEL_NAME)
    return PLUGIN_FAIL(err, VYRE_ERROR_NOT_FOUND, "use the name of a segment of this code",
                       "%s has no entry \"%s\"", module->name, kernel->name);
  return OPENCL_FAIL(err, code, "clCreateKernel", "entry \"%s\" of %s", kernel->name, module->name);
}

/* The kernel of that name, made on the first call.  The lock is held. */
static vyre_status get_kernel(vyre_backend_module *module, const char *name,
                              vyre_backend_kernel **out_kernel, vyre_error *err)
{
  for (vyre_backend_kernel *kernel = module->kernels; kernel; kernel = kernel->next)
    if (strcmp(kernel->name, name) == 0) {
      *out_kernel = kernel;
      return VYRE_OK;
    }
  const size_t name_size = strlen(name) + 1;
  vyre_backend_kernel *kernel = vyre__plugin_allocate_zeroed(
      module->device->host, sizeof(*kernel) + name_size, _Alignof(vyre_backend_kernel));
  if (!kernel)
    return PLUGIN_FAIL_MEMORY(err, "a kernel");
  kernel->cl = module->device->cl;
  kernel->debug = module->debug;
  kernel->fused = strcmp(name, "vyre_fused") == 0;
  memcpy(kernel->name, name, name_size);
  pthread_mutex_init(&kernel->lock, NULL);
  const vyre_status status = make_handle(module, kernel, err);
  if (status != VYRE_OK) {
    drop_kernel(module->device, kernel);
    return status;
  }
  kernel->next = module->kernels;
  module->kernels = kernel;
  *out_kernel = kernel;
  return VYRE_OK;
}

vyre_status vyre__opencl_kernel_find(vyre_backend_module *module, const char *name,
                                     vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                     vyre_error *err)
{
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = VYRE_OK;
  if (!module || !name || !out_kernel)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a module, a name and a place",
                       "module, name or out_kernel is NULL");
  if (out_info)
    status = PLUGIN_CHECK_SIZE(err, out_info, vyre_kernel_info, VYRE_KERNEL_INFO_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&module->lock);
  status = get_kernel(module, name, &kernel, err);
  pthread_mutex_unlock(&module->lock);
  if (status != VYRE_OK)
    return status;
  *out_kernel = kernel;
  if (out_info) {
    out_info->max_workgroup_items = kernel->max_items;
    out_info->workgroup_memory = kernel->local_bytes;
    if (out_info->struct_size > sizeof(*out_info))
      out_info->struct_size = sizeof(*out_info);
  }
  return VYRE_OK;
}
