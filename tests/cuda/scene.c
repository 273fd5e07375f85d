/*
 * scene.c - a device, its kernels, launches; see scene.h.
 */
#include "scene.h"

vyre_backend_device *device;
vyre_backend_module *module;
bool is_lost;

void load(uint64_t flags)
{
  const char *text = ptx_of(10, "add", 3, "copy", 2, "double", 1, "count", 1, "pushes", 1, "offend",
                            1, "resident", 1, "trap", 1, "vyre_fused", 1, "local", 3);
  const vyre_module_desc desc = {.struct_size = sizeof desc,
                                 .flags = flags,
                                 .format = CODE_FORMAT,
                                 .arch = "",
                                 .data = text,
                                 .size = code_size(text),
                                 .name = "kernels"};
  OK(backend->module_load(device, &desc, &module, &fresh));
}

int set_up(void **state)
{
  (void)state;
  driver->reset();
  is_lost = false;
  device = open_device(0);
  load(0);
  return 0;
}

int tear_down(void **state)
{
  (void)state;
  driver->hold(false);
  backend->module_unload(device, module);
  backend->device_close(device);
  if (is_lost) /* the dead context keeps what is in it */
    assert_int_equal(host_live(), 0);
  else
    assert_clean();
  return 0;
}

vyre_backend_kernel *find(const char *name)
{
  return find_kernel(module, name);
}

void begin(launch *l, vyre_backend_kernel *kernel)
{
  memset(l, 0, sizeof *l);
  l->desc = (vyre_dispatch_desc){.struct_size = sizeof l->desc,
                                 .kernel = kernel,
                                 .bindings = l->bindings,
                                 .binding_stride = sizeof l->bindings[0],
                                 .groups = {1, 1, 1},
                                 .workgroup = {32, 1, 1}};
}

vyre_binding *add(launch *l, vyre_access access, uint64_t words)
{
  vyre_binding *binding = &l->bindings[l->desc.binding_count];
  *binding = (vyre_binding){.struct_size = sizeof *binding,
                            .id = l->desc.binding_count++,
                            .access = access,
                            .size = words * 4,
                            .element_count = words};
  l->desc.id_limit = l->desc.binding_count;
  return binding;
}

void add_host(launch *l, vyre_access access, const void *data, uint64_t words)
{
  add(l, access, words)->data = data;
}

void add_buffer(launch *l, vyre_access access, vyre_backend_buffer *buffer, uint64_t words)
{
  vyre_binding *binding = add(l, access, words);
  binding->kind = VYRE_BINDING_BUFFER;
  binding->buffer = buffer;
}

vyre_backend_pending *start(const launch *l)
{
  vyre_backend_pending *pending = NULL;
  OK(backend->dispatch(device, &l->desc, &pending, &fresh));
  assert_non_null(pending);
  return pending;
}

void refuse(const launch *l, vyre_status code, const char *text)
{
  vyre_backend_pending *pending = NULL;
  const uint64_t blocks = host_live(), memory = driver->live("memory"),
                 streams = driver->live("stream"),
                 launches =
                     driver->calls("cuLaunchKernel") + driver->calls("cuLaunchCooperativeKernel");
  FAILS(backend->dispatch(device, &l->desc, &pending, &err), code, text);
  assert_null(pending);
  assert_int_equal(host_live(), blocks);
  assert_int_equal(driver->live("memory"), memory);
  assert_int_equal(driver->live("stream"), streams);
  assert_int_equal(driver->calls("cuLaunchKernel") + driver->calls("cuLaunchCooperativeKernel"),
                   launches);
}
