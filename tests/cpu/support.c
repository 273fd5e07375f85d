/*
 * support.c - driving the cpu plugin through its table; see support.h.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t live, count, fail_at;
static char last_line[512];

static void *host_allocate(void *self, uint64_t size, uint64_t align)
{
  (void)self;
  /* Relaxed: numbers only; tests read them when no other thread runs. */
  uint64_t number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  if (number == __atomic_load_n(&fail_at, __ATOMIC_RELAXED) || size > UINT64_C(1) << 40)
    return NULL;
  void *memory = NULL;
  if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size))
    return NULL;
  memset(memory, 0xa5, size); /* nothing may count on zeros */
  __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return memory;
}

static void host_deallocate(void *self, void *memory)
{
  (void)self;
  if (memory)
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  free(memory);
}

static void host_log(void *self, vyre_log_level level, const char *text)
{
  (void)self;
  (void)level;
  snprintf(last_line, sizeof(last_line), "%s", text);
}

uint64_t host_live(void)
{
  return __atomic_load_n(&live, __ATOMIC_RELAXED);
}

void host_fail(uint64_t n)
{
  __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&fail_at, n, __ATOMIC_RELAXED);
}

uint64_t host_count(void)
{
  return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

const char *host_last_line(void)
{
  return last_line;
}

void plugin_load(cpu_plugin *plugin)
{
  vyre_error err = VYRE_ERROR_INIT;
  plugin->library = dlopen(VYRE_TEST_BINARY_DIR "/lib/vyre/libvyre_cpu.so", RTLD_NOW | RTLD_LOCAL);
  if (!plugin->library)
    fail_msg("%s", dlerror());
  void *symbol = dlsym(plugin->library, VYRE_BACKEND_QUERY_SYMBOL);
  assert_non_null(symbol);
  vyre_backend_query_fn query;
  memcpy(&query, &symbol, sizeof(query));
  plugin->host = (vyre_host){.struct_size = sizeof(vyre_host),
                             .abi_major = VYRE_ABI_MAJOR,
                             .abi_minor_min = VYRE_ABI_MINOR,
                             .abi_minor_max = VYRE_ABI_MINOR,
                             .self = plugin,
                             .allocate = host_allocate,
                             .deallocate = host_deallocate,
                             .log = host_log};
  vyre_status status = query(&plugin->host, &plugin->backend, &err);
  assert_ok(status, err);
  assert_non_null(plugin->backend);
}

void plugin_unload(cpu_plugin *plugin)
{
  assert_int_equal(host_live(), 0);
  assert_int_equal(dlclose(plugin->library), 0);
}

vyre_backend_device *device_open(const cpu_plugin *plugin)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device *device = NULL;
  vyre_status status = plugin->backend->device_open(0, NULL, &device, &err);
  assert_ok(status, err);
  assert_non_null(device);
  return device;
}

char *compose(const cpu_plugin *plugin, const char *text)
{
  size_t prelude = plugin->backend->prelude_size, size = strlen(text);
  char *whole = malloc(prelude + size + 1);
  assert_non_null(whole);
  memcpy(whole, plugin->backend->prelude, prelude);
  memcpy(whole + prelude, text, size + 1);
  return whole;
}

vyre_status module_try(const cpu_plugin *plugin, vyre_backend_device *device, const char *text,
                       uint64_t flags, vyre_backend_module **out_module, vyre_error *err)
{
  char *whole = compose(plugin, text);
  vyre_module_desc desc = {.struct_size = sizeof(desc),
                           .flags = flags,
                           .format = "vyre-c",
                           .arch = "",
                           .data = whole,
                           .size = strlen(whole),
                           .name = "test"};
  vyre_status status = plugin->backend->module_load(device, &desc, out_module, err);
  free(whole);
  return status;
}

vyre_backend_module *module_load(const cpu_plugin *plugin, vyre_backend_device *device,
                                 const char *text, uint64_t flags)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_module *module = NULL;
  vyre_status status = module_try(plugin, device, text, flags, &module, &err);
  assert_ok(status, err);
  assert_non_null(module);
  return module;
}

vyre_backend_kernel *kernel_find(const cpu_plugin *plugin, vyre_backend_module *module,
                                 const char *name)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = plugin->backend->kernel_find(module, name, &kernel, NULL, &err);
  assert_ok(status, err);
  assert_non_null(kernel);
  return kernel;
}

vyre_binding bind_host(uint32_t id, vyre_access access, const void *data, uint64_t size,
                       uint64_t elements)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = access,
                        .kind = VYRE_BINDING_HOST,
                        .data = data,
                        .size = size,
                        .element_count = elements};
}

vyre_binding bind_buffer(uint32_t id, vyre_access access, vyre_backend_buffer *buffer,
                         uint64_t offset, uint64_t size, uint64_t elements)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = access,
                        .kind = VYRE_BINDING_BUFFER,
                        .buffer = buffer,
                        .offset = offset,
                        .size = size,
                        .element_count = elements};
}

vyre_binding bind_local(uint32_t id, uint64_t size, uint64_t elements)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = VYRE_WORKGROUP,
                        .kind = VYRE_BINDING_WORKGROUP,
                        .size = size,
                        .element_count = elements};
}

vyre_dispatch_desc launch_of(vyre_backend_kernel *kernel, const vyre_binding *bindings,
                             uint32_t binding_count, uint32_t groups, uint32_t workgroup)
{
  uint32_t limit = 0;
  for (uint32_t i = 0; i < binding_count; ++i)
    limit = bindings[i].id >= limit ? bindings[i].id + 1 : limit;
  return (vyre_dispatch_desc){.struct_size = sizeof(vyre_dispatch_desc),
                              .binding_count = binding_count,
                              .kernel = kernel,
                              .bindings = bindings,
                              .binding_stride = sizeof(*bindings),
                              .groups = {groups, 1, 1},
                              .workgroup = {workgroup, 1, 1},
                              .id_limit = limit};
}

vyre_status run_try(const cpu_plugin *plugin, vyre_backend_device *device,
                    const vyre_dispatch_desc *desc, vyre_slot *slots, uint32_t slot_count,
                    vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre_status status = plugin->backend->dispatch(device, desc, &pending, err);
  if (status != VYRE_OK) {
    assert_null(pending);
    return status;
  }
  status = plugin->backend->pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status == VYRE_OK)
    status =
        plugin->backend->pending_read(pending, slots, slot_count, sizeof(vyre_slot), NULL, err);
  plugin->backend->pending_release(pending);
  return status;
}

void run(const cpu_plugin *plugin, vyre_backend_device *device, const vyre_dispatch_desc *desc,
         vyre_slot *slots, uint32_t slot_count)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = run_try(plugin, device, desc, slots, slot_count, &err);
  assert_ok(status, err);
}

vyre_slot slot_of(void *data, uint64_t size)
{
  return (vyre_slot){
      .struct_size = sizeof(vyre_slot), .binding_id = UINT32_MAX, .data = data, .capacity = size};
}
