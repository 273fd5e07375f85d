/*
 * module.c - loading kernel code and looking its entries up.
 *
 * An entry that was looked up is loaded for good: a driver that loads lazily would load it at its
 * first launch, and wait meanwhile for whatever is resident.
 */
#include "plugins/gpu/gpu.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"
#include "plugins/gpu/compile.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_BYTES 1536u

/* What the preludes put in front of a segment's name. */
#define ENTRY_PREFIX "vyre_entry_"
#define ENTRY_NAME_SIZE 1024u

/* -------- bytes that are no code -------- */

static bool is_inside(uint64_t offset, uint64_t size, uint64_t whole)
{
  return offset <= whole && size <= whole - offset;
}

/* Drivers are told no size: they believe the header, so what it points to must be there. */
static bool elf_is_whole(const unsigned char *data, uint64_t size)
{
  Elf64_Ehdr header;
  Elf64_Shdr section;
  Elf64_Phdr segment;
  if (size < sizeof(header))
    return false;
  memcpy(&header, data, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return false;
  if (header.e_shnum &&
      (header.e_shentsize < sizeof(section) ||
       !is_inside(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize, size)))
    return false;
  if (header.e_phnum &&
      (header.e_phentsize < sizeof(segment) ||
       !is_inside(header.e_phoff, (uint64_t)header.e_phnum * header.e_phentsize, size)))
    return false;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    memcpy(&section, data + header.e_shoff + (uint64_t)i * header.e_shentsize, sizeof(section));
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
        !is_inside(section.sh_offset, section.sh_size, size))
      return false;
  }
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    memcpy(&segment, data + header.e_phoff + (uint64_t)i * header.e_phentsize, sizeof(segment));
    if (!is_inside(segment.p_offset, segment.p_filesz, size))
      return false;
  }
  return true;
}

/* An object, or a text without a NUL in it.  `data` has a NUL behind it. */
static vyre_status check_bytes(const unsigned char *data, uint64_t size, const char *format,
                               const char *name, vyre_error *err)
{
  const bool is_elf = size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0;
  const char *complaint = NULL;
  if (strcmp(format, "ptx") != 0) {
    if (!is_elf)
      complaint = "no ELF object";
    else if (!elf_is_whole(data, size))
      complaint = "an ELF object of which a part is missing";
  } else if (is_elf || strlen((const char *)data) < size) {
    complaint = "no text";
  } else if (!strstr((const char *)data, ".version") || !strstr((const char *)data, ".entry")) {
    complaint = "a text without a .version or without an .entry";
  }
  if (complaint)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT,
                       "build the code again, or get the file again: it was cut or is another",
                       "%s: %llu bytes that were given as \"%s\" are %s", name,
                       (unsigned long long)size, format, complaint);
  return VYRE_OK;
}

/* -------- loading -------- */

/* The code with a NUL behind it, which a text needs: a copy, from host->allocate(). */
static vyre_status get_code(const vyre_backend_device *device, const vyre_module_desc *desc,
                            const char *name, unsigned char **out_code, uint64_t *out_size,
                            const char **out_format, vyre_error *err)
{
  void *made = NULL;
  const void *data = desc->data;
  uint64_t size = desc->size, room = 0;
  vyre_status status = VYRE_OK;
  *out_format = desc->format;
  if (strcmp(desc->format, "vyre-c") == 0) {
    vyre__gpu_source source = {.host = device->host,
                               .text = desc->data,
                               .size = desc->size,
                               .name = name,
                               .flags = desc->flags};
    vyre__gpu_driver.native_target(device->facts.arch, &source.format, &source.arch);
    *out_format = source.format;
    status = vyre__gpu_compile_source(&source, &made, &size, err);
    data = made;
  } else if (!size || !data) {
    status = PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "give the code",
                         "%s: no bytes were given as \"%s\"", name, desc->format);
  }
  /* A text may bring the NUL of its writer. */
  while (status == VYRE_OK && strcmp(*out_format, "ptx") == 0 && size &&
         !((const char *)data)[size - 1])
    size -= 1;
  if (status == VYRE_OK && __builtin_add_overflow(size, 1, &room))
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the true size",
                         "%s: the size of the code is %llu bytes", name, (unsigned long long)size);
  if (status == VYRE_OK) {
    unsigned char *code = vyre__plugin_allocate(device->host, room, 64);
    if (code) {
      memcpy(code, data, size);
      code[size] = '\0';
      *out_code = code;
      *out_size = size;
    } else {
      status = PLUGIN_FAIL_MEMORY(err, "a module's code");
    }
  }
  vyre__plugin_deallocate(device->host, made);
  return status;
}

/* What a driver that does not load the code means by it. */
static vyre_status refuse_image(vyre_backend_device *device, const vyre_module_desc *desc,
                                const char *format, const char *name, vyre__gpu_code code,
                                const char *log, vyre_error *err)
{
  char what[128], number[96] = "";
  const vyre_status meant = vyre__gpu_driver.code_status(code);
  snprintf(what, sizeof(what), "%.64s: loading code", name);
  if (vyre__gpu_driver.code_is_sticky(code) || meant == VYRE_ERROR_OUT_OF_HOST_MEMORY ||
      meant == VYRE_ERROR_OUT_OF_DEVICE_MEMORY || meant == VYRE_ERROR_DEVICE_LOST)
    return vyre__gpu_result(device, code, what, err);
  vyre__gpu_driver.code_name(code, number, sizeof(number));
  if (vyre__gpu_driver.code_is_wrong_device(code) || (desc->arch && *desc->arch))
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_MODULE_FORMAT, code,
                              "build the code for this device, or give its source",
                              "%s: \"%s\" for %.64s, the device is %s: %s%s%s", name, format,
                              desc->arch && *desc->arch ? desc->arch : "another device",
                              device->facts.arch, number, *log ? ": " : "", log);
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_MODULE_FORMAT, code,
                            "build the code again; the driver may be too old for it",
                            "%s: the driver does not take this \"%s\": %s%s%s", name, format,
                            number, *log ? ": " : "", log);
}

static vyre_status load(vyre_backend_module *module, const vyre_module_desc *desc,
                        const char *format, const unsigned char *code, uint64_t size,
                        vyre_error *err)
{
  vyre_backend_device *device = module->device;
  char log[LOG_BYTES] = "";
  vyre__gpu_scope scope;
  vyre_status status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK) {
    const vyre__gpu_code result =
        vyre__gpu_driver.image_load(code, size, log, sizeof(log), &module->image);
    if (result)
      status = refuse_image(device, desc, format, module->name, result, log, err);
  }
  vyre__gpu_leave(&scope);
  return status;
}

static bool is_taken(const char *format)
{
  for (uint32_t i = 0; format && i < vyre__gpu_driver.format_count; ++i)
    if (strcmp(vyre__gpu_driver.formats[i].format, format) == 0)
      return true;
  return false;
}

vyre_status vyre__gpu_module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                  vyre_backend_module **out_module, vyre_error *err)
{
  unsigned char *code = NULL;
  const char *format = NULL;
  uint64_t size = 0;
  vyre_status status = PLUGIN_CHECK_SIZE(err, desc, vyre_module_desc, VYRE_MODULE_DESC_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (!device || !out_module)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the module",
                       "device or out_module is NULL");
  const char *name = desc->name ? desc->name : "kernel";
  if (desc->flags & ~VYRE_MODULE_DEBUG)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "%s: unknown module flags 0x%llx", name, (unsigned long long)desc->flags);
  if (!is_taken(desc->format))
    return vyre__gpu_refuse_format(name, desc->format, false, err);
  vyre_backend_module *module =
      vyre__plugin_allocate_zeroed(device->host, sizeof(*module), _Alignof(vyre_backend_module));
  if (!module)
    return PLUGIN_FAIL_MEMORY(err, "a module");
  module->device = device;
  module->debug = (desc->flags & VYRE_MODULE_DEBUG) != 0;
  snprintf(module->name, sizeof(module->name), "%s", name);

  status = get_code(device, desc, name, &code, &size, &format, err);
  if (status == VYRE_OK)
    status = check_bytes(code, size, format, name, err);
  if (status == VYRE_OK)
    status = load(module, desc, format, code, size, err);
  vyre__plugin_deallocate(device->host, code);
  if (status == VYRE_OK)
    *out_module = module;
  else
    vyre__gpu_module_unload(device, module);
  return status;
}

void vyre__gpu_module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  vyre__gpu_scope scope;
  if (!device || !module)
    return;
  while (module->kernels) {
    vyre_backend_kernel *kernel = module->kernels;
    module->kernels = kernel->next;
    vyre__plugin_deallocate(device->host, kernel);
  }
  if (module->image && vyre__gpu_enter_to_free(device, &scope)) {
    (void)vyre__gpu_driver.image_unload(module->image);
    vyre__gpu_leave(&scope);
  }
  vyre__plugin_deallocate(device->host, module);
}

/* -------- entries -------- */

/* The kernel of that name among those found so far.  The device's lock is held. */
static vyre_backend_kernel *find_known(const vyre_backend_module *module, const char *name)
{
  vyre_backend_kernel *kernel = module->kernels;
  while (kernel && strcmp(kernel->name, name) != 0)
    kernel = kernel->next;
  return kernel;
}

/* The function by its name with the preludes' prefix, else by the name itself. */
static vyre_status find_function(vyre_backend_module *module, const char *name,
                                 vyre__gpu_function **out_function, vyre_error *err)
{
  const size_t prefix = sizeof(ENTRY_PREFIX) - 1;
  char entry[ENTRY_NAME_SIZE];
  bool is_known =
      *name != '\0' && snprintf(entry, sizeof(entry), ENTRY_PREFIX "%s", name) < (int)sizeof(entry);
  vyre__gpu_code code = 0;
  if (is_known) {
    code = vyre__gpu_driver.function_find(module->image, entry, out_function);
    /* What the preludes write is found by the segment's name only (KRN-002). */
    if (code && vyre__gpu_driver.code_is_not_found(code) &&
        strncmp(name, ENTRY_PREFIX, prefix) != 0)
      code = vyre__gpu_driver.function_find(module->image, name, out_function);
    is_known = !code || !vyre__gpu_driver.code_is_not_found(code);
  }
  if (!is_known)
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_NOT_FOUND, code,
                              "use the name of a segment of this code", "%s has no entry \"%s\"",
                              module->name, name);
  return vyre__gpu_result(module->device, code, "looking an entry up", err);
}

/* The context is current. */
static vyre_status make_kernel(vyre_backend_module *module, const char *name,
                               vyre_backend_kernel **out_kernel, vyre_error *err)
{
  const vyre_backend_device *device = module->device;
  const size_t name_size = strlen(name) + 1;
  vyre_backend_kernel found = {.module = module};
  vyre_status status = find_function(module, name, &found.function, err);
  if (status == VYRE_OK)
    status = vyre__gpu_result(module->device,
                              vyre__gpu_driver.function_prepare(found.function, &found.limits),
                              "loading an entry", err);
  if (status == VYRE_OK)
    status = vyre__gpu_result(
        module->device, vyre__gpu_driver.function_parameters(found.function, &found.parameters),
        "counting the parameters of an entry", err);
  if (status != VYRE_OK)
    return status;
  if (found.limits.max_workgroup_items > device->facts.max_workgroup_items)
    found.limits.max_workgroup_items = device->facts.max_workgroup_items;
  found.is_fused = strcmp(name, "vyre_fused") == 0;
  vyre_backend_kernel *kernel = vyre__plugin_allocate(device->host, sizeof(*kernel) + name_size,
                                                      _Alignof(vyre_backend_kernel));
  if (!kernel)
    return PLUGIN_FAIL_MEMORY(err, "a kernel");
  memcpy(kernel, &found, sizeof(*kernel));
  memcpy(kernel->name, name, name_size);
  *out_kernel = kernel;
  return VYRE_OK;
}

/* The kernel of that name, made on the first call. */
static vyre_status get_kernel(vyre_backend_module *module, const char *name,
                              vyre_backend_kernel **out_kernel, vyre_error *err)
{
  vyre_backend_device *device = module->device;
  vyre_backend_kernel *made = NULL;
  vyre__gpu_scope scope;
  pthread_mutex_lock(&device->lock);
  *out_kernel = find_known(module, name);
  pthread_mutex_unlock(&device->lock);
  if (*out_kernel)
    return VYRE_OK;
  /* Without the lock: the driver may wait. */
  vyre_status status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = make_kernel(module, name, &made, err);
  vyre__gpu_leave(&scope);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&device->lock);
  *out_kernel = find_known(module, name); /* another thread may have been faster */
  if (!*out_kernel) {
    made->next = module->kernels;
    module->kernels = *out_kernel = made;
    made = NULL;
  }
  pthread_mutex_unlock(&device->lock);
  vyre__plugin_deallocate(device->host, made);
  return VYRE_OK;
}

vyre_status vyre__gpu_kernel_find(vyre_backend_module *module, const char *name,
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
  if (status == VYRE_OK)
    status = get_kernel(module, name, &kernel, err);
  if (status != VYRE_OK)
    return status;
  *out_kernel = kernel;
  if (out_info) {
    out_info->max_workgroup_items = kernel->limits.max_workgroup_items;
    out_info->workgroup_memory = kernel->limits.workgroup_memory;
    if (out_info->struct_size > sizeof(*out_info))
      out_info->struct_size = sizeof(*out_info);
  }
  return VYRE_OK;
}
