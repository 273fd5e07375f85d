/* fixture_modules.c - the format "fixture": a text with one entry a line. */
#include "fixture_inside.h"

#include <stdlib.h>
#include <string.h>

static const char *const kernel_names[KERNEL_COUNT] = {
    "nothing", "copy",     "add",      "increment",   "push", "facts",
    "fail",    "saturate", "declared", "flip",        "or",   "or_shift",
    "set",     "add_low",  "add_high", "vyre_settle", "fused"};

static int find_kernel(const char *name)
{
  int i;
  for (i = 0; i < KERNEL_COUNT; i++)
    if (!strcmp(kernel_names[i], name))
      return i;
  return -1;
}

static const vyre_backend_kernel *find_entry(const vyre_backend_module *module, const char *name)
{
  uint32_t i;
  for (i = 0; i < module->count; i++)
    if (!strcmp(module->entries[i].name, name))
      return &module->entries[i];
  return NULL;
}

/* `hop:0.2`: one step of a fused entry; `text` is spoilt. */
static vyre_status read_step(const vyre_backend_module *module, vyre_backend_kernel *entry,
                             char *text, vyre_error *err)
{
  fixture__step *step = &entry->steps[entry->step_count];
  char *at = strchr(text, ':');
  if (entry->step_count == MAX_STEPS)
    return fixture__fail(err, VYRE_ERROR_MODULE_FORMAT, "more than %d steps", MAX_STEPS);
  if (at)
    *at++ = '\0';
  step->kernel = find_entry(module, text);
  if (!step->kernel || step->kernel == entry)
    return fixture__fail(err, VYRE_ERROR_MODULE_FORMAT, "no entry '%s' before '%s'", text,
                         entry->name);
  while (at && *at && step->count < MAX_STEP_BINDINGS) {
    step->bindings[step->count++] = (uint32_t)strtoul(at, &at, 10);
    if (*at == '.')
      at++;
  }
  entry->step_count++;
  return VYRE_OK;
}

/* `ENTRY`, `ENTRY=KERNEL`, `ENTRY=KERNEL(5)` or `ENTRY=fused STEP STEP`. */
static vyre_status read_line(const char *line, size_t length, const vyre_backend_module *module,
                             vyre_backend_kernel *entry, vyre_error *err)
{
  char text[MAX_LINE];
  char *kernel = NULL, *argument = NULL, *step = NULL, *rest = NULL;
  vyre_status status = VYRE_OK;
  if (length >= sizeof text)
    return fixture__fail(err, VYRE_ERROR_MODULE_FORMAT, "a line of %zu bytes", length);
  memcpy(text, line, length);
  text[length] = '\0';
  kernel = text;
  if (strstr(text, "=fused "))
    kernel = strtok_r(text, " ", &rest);
  if ((argument = strchr(kernel, '('))) {
    *argument = '\0';
    entry->argument = (uint32_t)strtoul(argument + 1, NULL, 0);
  }
  memcpy(entry->name, kernel, strlen(kernel) + 1);
  if ((kernel = strchr(entry->name, '=')))
    *kernel++ = '\0';
  else
    kernel = entry->name;
  entry->what = find_kernel(kernel);
  if (entry->what < 0)
    return fixture__fail(err, VYRE_ERROR_MODULE_FORMAT, "the fixture has no kernel '%s'", kernel);
  while (!status && rest && (step = strtok_r(NULL, " ", &rest)))
    status = read_step(module, entry, step, err);
  return status;
}

static vyre_status read_module(const vyre_module_desc *desc, vyre_backend_module *module,
                               vyre_error *err)
{
  const char *at = desc->data, *end = at + desc->size;
  vyre_status status = VYRE_OK;
  while (!status && at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((newline ? newline : end) - at);
    if (length && module->count == MAX_ENTRIES)
      return fixture__fail(err, VYRE_ERROR_MODULE_FORMAT, "more than %d entries", MAX_ENTRIES);
    if (length)
      status = read_line(at, length, module, &module->entries[module->count], err);
    module->count += length > 0;
    at += length + (newline != NULL);
  }
  return status;
}

vyre_status fixture__module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                 vyre_backend_module **out_module, vyre_error *err)
{
  vyre_backend_module *module = NULL;
  vyre_status status = fixture__check_lost(device, err);
  if (status)
    return status;
  if (VALUE(load_error))
    return fixture__fail(err, VALUE(load_error), "the fixture does not load modules");
  if (desc->struct_size < VYRE_MODULE_DESC_SIZE_0_1 || (desc->flags & ~VYRE_MODULE_DEBUG))
    return fixture__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                         "a description that the fixture does not know");
  if (strcmp(desc->format, "fixture") != 0)
    return fixture__fail(err, VYRE_ERROR_MODULE_FORMAT,
                         "the format '%s', the fixture takes: fixture", desc->format);
  module = fixture__allocate(sizeof *module);
  if (!module)
    return fixture__no_memory(err);
  status = read_module(desc, module, err);
  if (status) {
    fixture__deallocate(module);
    return status;
  }
  ADD(loads, 1);
  ADD(modules_live, 1);
  *out_module = module;
  return VYRE_OK;
}

void fixture__module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  (void)device;
  if (!module)
    return;
  fixture__deallocate(module);
  ADD(modules_live, -1);
}

vyre_status fixture__kernel_find(vyre_backend_module *module, const char *name,
                                 vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                 vyre_error *err)
{
  uint32_t i;
  if (IS(no_kernel))
    return VYRE_OK;
  for (i = 0; i < module->count; i++)
    if (!strcmp(module->entries[i].name, name))
      break;
  if (i == module->count)
    return fixture__fail(err, VYRE_ERROR_NOT_FOUND, "the module has no entry '%s'", name);
  if (out_info) {
    out_info->struct_size = VYRE_KERNEL_INFO_SIZE_0_1;
    out_info->max_workgroup_items = 1024;
    out_info->workgroup_memory = 0;
  }
  *out_kernel = &module->entries[i];
  return VYRE_OK;
}
