/* launch.c - kernels of the suite and launches between canaries; see case.h. */
#include "conformance/kernels.h"
#include "conformance/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANARY 0x3cu
#define POISON 0xd5u
#define CANARY_SIZE 64u

/* ---- kernels ---- */

const char *conform_kernel_text(const char *name, uint64_t *out_size)
{
  for (uint32_t i = 0; i < conform_text_count(); ++i) {
    const conform_text text = conform_text_at(i);
    if (!strcmp(text.name, name)) {
      *out_size = text.size;
      return text.text;
    }
  }
  return NULL;
}

char *conform_compose(conform *c, const char *name, const char *text, uint64_t size,
                      uint64_t *out_size)
{
  const vyre_backend *b = conform_load(c);
  char line[96], *whole = NULL;
  int length = snprintf(line, sizeof line, "\n#line 1 \"%s.c\"\n", name);
  CHECK(c, text && length > 0, "the suite has no kernel %s", name);
  whole = malloc(b->prelude_size + (size_t)length + size + 1);
  CHECK(c, whole, "out of memory");
  if (b->prelude_size)
    memcpy(whole, b->prelude, b->prelude_size);
  memcpy(whole + b->prelude_size, line, (size_t)length);
  memcpy(whole + b->prelude_size + (size_t)length, text, size);
  *out_size = b->prelude_size + (size_t)length + size;
  whole[*out_size] = '\0';
  conform_unload(c);
  return whole;
}

static char *compose(conform *c, const char *name, uint64_t *out_size)
{
  uint64_t size = 0;
  const char *text = conform_kernel_text(name, &size);
  return conform_compose(c, name, text, size, out_size);
}

/* DIR/NAME.FORMAT or DIR/NAME.FORMAT.ARCH, the first of the plugin's formats that is there. */
static char *read_object(conform *c, const char *name, const vyre_backend_format **out_format,
                         uint64_t *out_size)
{
  const vyre_backend *b = &c->counted;
  for (uint32_t i = 0; i < b->format_count; ++i) {
    const vyre_backend_format *format =
        (const void *)((const char *)b->formats + i * b->format_stride);
    char path[4096], *bytes = NULL;
    long size = 0;
    FILE *file = NULL;
    snprintf(path, sizeof path, "%s/%s.%s%s%s", c->kernels, name, format->format,
             format->arch[0] ? "." : "", format->arch);
    file = fopen(path, "rb");
    if (!file)
      continue;
    if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET)) {
      bytes = malloc((size_t)size);
      if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size)
        size = 0;
    }
    fclose(file);
    CHECK(c, bytes && size > 0, "%s cannot be read", path);
    *out_format = format;
    *out_size = (uint64_t)size;
    return bytes;
  }
  CHECK(c, false, "%s has no %s in a format of the plugin", c->kernels, name);
  return NULL;
}

static vyre_backend_module *load(conform *c, const char *name)
{
  const vyre_backend *b = conform_load(c);
  const vyre_backend_format *format = NULL;
  vyre_module_desc desc = {
      .struct_size = sizeof desc, .format = "vyre-c", .arch = "", .name = name};
  vyre_backend_module *module = NULL;
  char *bytes =
      c->kernels ? read_object(c, name, &format, &desc.size) : compose(c, name, &desc.size);
  if (format) {
    desc.format = format->format;
    desc.arch = format->arch;
  }
  desc.data = bytes;
  CHECK_OK(c, b->module_load(c->device, &desc, &module, err));
  CHECK(c, module, "module_load succeeded and gave no module");
  free(bytes);
  conform_unload(c);
  return module;
}

vyre_backend_module *conform_module(conform *c, const char *name)
{
  uint32_t i = 0;
  conform_open(c);
  for (; i < CONFORM_MAX_MODULES && c->modules[i].module; ++i)
    if (!strcmp(c->modules[i].name, name))
      return c->modules[i].module;
  CHECK(c, i < CONFORM_MAX_MODULES, "the suite loads too many modules in one case");
  c->modules[i].module = load(c, name);
  snprintf(c->modules[i].name, sizeof c->modules[i].name, "%s", name);
  return c->modules[i].module;
}

vyre_backend_kernel *conform_kernel(conform *c, const char *module, const char *entry)
{
  vyre_backend_module *loaded = conform_module(c, module);
  vyre_kernel_info info = {.struct_size = sizeof info};
  vyre_backend_kernel *kernel = NULL;
  CHECK_OK(c, c->counted.kernel_find(loaded, entry, &kernel, &info, err));
  CHECK(c, kernel, "kernel_find succeeded and gave no kernel");
  return kernel;
}

/* ---- descriptors ---- */

void conform_launch_init(conform_launch *launch, vyre_backend_kernel *kernel)
{
  memset(launch, 0, sizeof *launch);
  launch->desc.struct_size = sizeof launch->desc;
  launch->desc.kernel = kernel;
  launch->desc.bindings = launch->bindings;
  launch->desc.binding_stride = sizeof launch->bindings[0];
  for (int d = 0; d < 3; ++d)
    launch->desc.groups[d] = launch->desc.workgroup[d] = 1;
}

void conform_launch_grid(conform_launch *launch, uint32_t groups, uint32_t items)
{
  launch->desc.groups[0] = groups;
  launch->desc.workgroup[0] = items;
}

static vyre_binding *next(conform_launch *launch, vyre_access access, uint64_t count,
                          uint32_t element_size)
{
  vyre_binding *binding = &launch->bindings[launch->desc.binding_count];
  binding->struct_size = sizeof *binding;
  binding->id = launch->desc.binding_count++;
  binding->access = access;
  binding->size = count * element_size;
  binding->element_count = count;
  launch->desc.id_limit = launch->desc.binding_count;
  return binding;
}

void conform_launch_host(conform_launch *launch, vyre_access access, const void *data,
                         uint64_t count, uint32_t element_size, void *result)
{
  vyre_binding *binding = next(launch, access, count, element_size);
  binding->kind = VYRE_BINDING_HOST;
  binding->data = data;
  launch->results[binding->id] = result;
}

void conform_launch_buffer(conform_launch *launch, vyre_access access, vyre_backend_buffer *buffer,
                           uint64_t count, uint32_t element_size)
{
  vyre_binding *binding = next(launch, access, count, element_size);
  binding->kind = VYRE_BINDING_BUFFER;
  binding->buffer = buffer;
}

void conform_launch_local(conform_launch *launch, uint64_t count, uint32_t element_size)
{
  next(launch, VYRE_WORKGROUP, count, element_size)->kind = VYRE_BINDING_WORKGROUP;
}

/* ---- running ---- */

/* Bytes of a binding with a canary on either side, or NULL. */
static unsigned char *guarded(conform *c, const void *bytes, uint64_t size)
{
  unsigned char *memory = malloc(size + 2 * CANARY_SIZE);
  CHECK(c, memory, "out of memory");
  memset(memory, CANARY, size + 2 * CANARY_SIZE);
  if (bytes && size)
    memcpy(memory + CANARY_SIZE, bytes, size);
  else if (size)
    memset(memory + CANARY_SIZE, POISON, size);
  return memory;
}

static void check_canaries(conform *c, const unsigned char *memory, uint64_t size,
                           const vyre_binding *binding, const char *what)
{
  for (uint32_t i = 0; i < CANARY_SIZE; ++i)
    CHECK(c, memory[i] == CANARY && memory[CANARY_SIZE + size + i] == CANARY,
          "bytes outside the %s of binding %u were written", what, binding->id);
}

void conform_run(conform *c, conform_launch *launch)
{
  const vyre_backend *b = conform_load(c);
  vyre_slot slots[CONFORM_MAX_ARGUMENTS];
  unsigned char *inputs[CONFORM_MAX_ARGUMENTS] = {0}, *outputs[CONFORM_MAX_ARGUMENTS] = {0};
  const void *given[CONFORM_MAX_ARGUMENTS] = {0};
  vyre_backend_pending *pending = NULL;
  uint32_t count = 0;
  memset(slots, 0, sizeof slots);
  for (uint32_t i = 0; i < launch->desc.binding_count; ++i) {
    vyre_binding *binding = &launch->bindings[i];
    if (binding->kind != VYRE_BINDING_HOST)
      continue;
    given[i] = binding->data;
    if (binding->data) {
      inputs[i] = guarded(c, binding->data, binding->size);
      binding->data = inputs[i] + CANARY_SIZE;
    }
    if (binding->access == VYRE_READ_ONLY)
      continue;
    outputs[i] = guarded(c, NULL, binding->size);
    slots[count].struct_size = sizeof slots[count];
    slots[count].binding_id = UINT32_MAX;
    slots[count].data = outputs[i] + CANARY_SIZE;
    slots[count++].capacity = binding->size;
  }
  CHECK_OK(c, b->dispatch(conform_open(c), &launch->desc, &pending, err));
  CHECK(c, pending, "dispatch succeeded and gave no handle");
  CHECK_OK(c, b->pending_wait(pending, VYRE_NO_TIMEOUT, err));
  launch->times.struct_size = sizeof launch->times;
  CHECK_OK(c, b->pending_read(pending, slots, count, sizeof slots[0], &launch->times, err));
  b->pending_release(pending);
  count = 0;
  for (uint32_t i = 0; i < launch->desc.binding_count; ++i) {
    vyre_binding *binding = &launch->bindings[i];
    if (inputs[i]) {
      check_canaries(c, inputs[i], binding->size, binding, "bytes given");
      CHECK(c, !memcmp(inputs[i] + CANARY_SIZE, given[i], binding->size),
            "the caller's own bytes of binding %u were written (DISP-001, DISP-003)", i);
    }
    if (outputs[i]) {
      CHECK(c, slots[count].binding_id == binding->id,
            "output %u is tagged with binding %u, expected is %u (READ-001, READ-002)", count,
            slots[count].binding_id, binding->id);
      CHECK(c, slots[count].size == binding->size,
            "output %u says %llu bytes, binding %u has %llu (READ-002)", count,
            (unsigned long long)slots[count].size, binding->id, (unsigned long long)binding->size);
      CHECK(c,
            slots[count].data == outputs[i] + CANARY_SIZE && slots[count].capacity == binding->size,
            "data or capacity of output %u was changed (READ-002)", count);
      check_canaries(c, outputs[i], binding->size, binding, "result");
      if (launch->results[i] && binding->size)
        memcpy(launch->results[i], outputs[i] + CANARY_SIZE, binding->size);
      count += 1;
    }
    binding->data = given[i];
    free(inputs[i]);
    free(outputs[i]);
  }
  conform_unload(c);
}
