/*
 * module.c - loading kernel code and looking its entries up.
 */
#include "module.h"

#include "arch.h"
#include "compile.h"
#include "container.h"
#include "device.h"
#include "native.h"
#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct vyre_backend_module {
  const vyre_host *host;
  pthread_mutex_t lock;
  vyre_backend_kernel *kernels; /* those that were asked for, under the lock */
  vyre__cpu_native native;
  char name[];
};

/* The data as a container: as it is, or compiled.  *out_made is the caller's to free. */
static vyre_status get_container(const vyre_backend_device *device, const vyre_module_desc *desc,
                                 const char *name, void **out_made, const void **out_data,
                                 uint64_t *out_size, vyre_error *err)
{
  *out_made = NULL;
  if (desc->flags & ~VYRE_MODULE_DEBUG)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "%s: unknown module flags 0x%llx", name, (unsigned long long)desc->flags);
  if (desc->format && strcmp(desc->format, "vyre-c") == 0) {
    vyre__cpu_source source = {.host = device->host,
                               .text = desc->data,
                               .size = desc->size,
                               .name = name,
                               .level = vyre__cpu_level_best(),
                               .flags = desc->flags};
    vyre_status status = vyre__cpu_compile_source(&source, out_made, out_size, err);
    *out_data = *out_made;
    return status;
  }
  if (desc->format && strcmp(desc->format, "native") == 0) {
    *out_data = desc->data;
    *out_size = desc->size;
    return VYRE_OK;
  }
  return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "give the kernel in one of these formats",
                     "%s: the cpu device takes \"native\" for %s and below, and \"vyre-c\", not "
                     "\"%s\"",
                     name, vyre__cpu_level_best()->name, desc->format ? desc->format : "(null)");
}

/* The level that the descriptor names is the one that the container holds. */
static vyre_status check_arch(const vyre_module_desc *desc, const char *name, const void *data,
                              vyre_error *err)
{
  vyre__cpu_container header;
  if (strcmp(desc->format, "native") != 0 || !desc->arch || !*desc->arch)
    return VYRE_OK;
  memcpy(&header, data, sizeof(header));
  if (strncmp(desc->arch, header.arch, sizeof(header.arch)) == 0)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "name the level that the code was built for",
                     "%s: code for %.40s was given as code for %s", name, header.arch, desc->arch);
}

vyre_status vyre__cpu_module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                  vyre_backend_module **out_module, vyre_error *err)
{
  void *made = NULL;
  const void *data = NULL;
  uint64_t size = 0;
  vyre_status status = PLUGIN_CHECK_SIZE(err, desc, vyre_module_desc, VYRE_MODULE_DESC_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (!device || !out_module)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the module",
                       "device or out_module is NULL");
  const char *name = desc->name ? desc->name : "kernel";
  size_t name_size = strlen(name) + 1;
  vyre_backend_module *module = vyre__plugin_allocate_zeroed(
      device->host, sizeof(*module) + name_size, _Alignof(vyre_backend_module));
  if (!module)
    return PLUGIN_FAIL_MEMORY(err, "a module");
  module->host = device->host;
  module->native.file = -1;
  memcpy(module->name, name, name_size);
  pthread_mutex_init(&module->lock, NULL);

  status = get_container(device, desc, name, &made, &data, &size, err);
  if (status == VYRE_OK)
    status = vyre__cpu_container_check(data, size, name, err);
  if (status == VYRE_OK)
    status = check_arch(desc, name, data, err);
  if (status == VYRE_OK)
    status = vyre__cpu_native_open(data, size, name, &module->native, err);
  vyre__plugin_deallocate(device->host, made);
  if (status == VYRE_OK)
    *out_module = module;
  else
    vyre__cpu_module_unload(device, module);
  return status;
}

void vyre__cpu_module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  (void)device;
  if (!module)
    return;
  while (module->kernels) {
    vyre_backend_kernel *kernel = module->kernels;
    module->kernels = kernel->next;
    vyre__plugin_deallocate(module->host, kernel);
  }
  vyre__cpu_native_close(&module->native);
  pthread_mutex_destroy(&module->lock);
  vyre__plugin_deallocate(module->host, module);
}

/* The entry's table in the code, or NULL. */
static const vyre_native_entry *look_up(const vyre_backend_module *module, const char *name)
{
  char symbol[512];
  if (snprintf(symbol, sizeof(symbol), "vyre_entry_%s", name) >= (int)sizeof(symbol))
    return NULL;
  return dlsym(module->native.handle, symbol);
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
  const vyre_native_entry *entry = look_up(module, name);
  if (!entry)
    return PLUGIN_FAIL(err, VYRE_ERROR_NOT_FOUND, "use the name of a segment of this code",
                       "%s has no entry \"%s\"", module->name, name);
  if (entry->abi != VYRE_NATIVE_ABI)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "build the kernel again with this vyre",
                       "%s: entry \"%s\" has native ABI %u, want %u", module->name, name,
                       entry->abi, VYRE_NATIVE_ABI);
  size_t name_size = strlen(name) + 1;
  vyre_backend_kernel *kernel = vyre__plugin_allocate_zeroed(
      module->host, sizeof(*kernel) + name_size, _Alignof(vyre_backend_kernel));
  if (!kernel)
    return PLUGIN_FAIL_MEMORY(err, "a kernel");
  kernel->entry = entry;
  memcpy(kernel->name, name, name_size);
  kernel->next = module->kernels;
  module->kernels = kernel;
  *out_kernel = kernel;
  return VYRE_OK;
}

vyre_status vyre__cpu_kernel_find(vyre_backend_module *module, const char *name,
                                  vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                  vyre_error *err)
{
  vyre_backend_kernel *kernel = NULL;
  if (!module || !name || !out_kernel)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a module, a name and a place",
                       "module, name or out_kernel is NULL");
  vyre_status status = VYRE_OK;
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
    out_info->max_workgroup_items = VYRE__CPU_MAX_ITEMS;
    out_info->workgroup_memory = 0;
    if (out_info->struct_size > sizeof(*out_info))
      out_info->struct_size = sizeof(*out_info);
  }
  return VYRE_OK;
}
