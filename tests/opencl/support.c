/*
 * support.c - the opencl plugin on the fake library; see support.h.
 */
#include "support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_PATH VYRE_TEST_BINARY_DIR "/lib/vyre-test/opencl/libOpenCL.so.1"

const vyre_backend *backend;
fake_opencl *fake;

static void *plugin;
static uint64_t live, asked, fail_at;

static void *host_allocate(void *self, uint64_t size, uint64_t align)
{
  void *memory = NULL;
  (void)self;
  if (++asked == fail_at ||
      posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size))
    return NULL;
  memset(memory, 0xa5, size); /* nothing may count on zeros */
  live += 1;
  return memory;
}

static void host_deallocate(void *self, void *memory)
{
  (void)self;
  live -= memory != NULL;
  free(memory);
}

static void host_log(void *self, vyre_log_level level, const char *text)
{
  (void)self;
  (void)level;
  (void)text;
}

uint64_t host_live(void)
{
  return live;
}

void host_fail(uint64_t n)
{
  asked = 0;
  fail_at = n;
}

uint64_t host_count(void)
{
  return asked;
}

static void *symbol_of(void *library, const char *name)
{
  void *symbol = dlsym(library, name);
  if (!symbol)
    fail_msg("%s is missing", name);
  return symbol;
}

/* It stays open: the plugin never closes it either. */
static void open_fake(void)
{
  static void *library;
  fake_opencl_state_fn state;
  fake_opencl_reset_fn reset;
  void *symbol = NULL;
  if (!library)
    library = dlopen(FAKE_PATH, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail_msg("%s", dlerror());
  symbol = symbol_of(library, "fake_opencl_state");
  memcpy(&state, &symbol, sizeof(state));
  symbol = symbol_of(library, "fake_opencl_reset");
  memcpy(&reset, &symbol, sizeof(reset));
  reset();
  fake = state();
}

void load_with(const char *library)
{
  static vyre_host host;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_query_fn query;
  open_fake();
  setenv("VYRE_OPENCL_LIBRARY", library, 1);
  plugin = dlopen(VYRE_TEST_BINARY_DIR "/lib/vyre/libvyre_opencl.so", RTLD_NOW | RTLD_LOCAL);
  if (!plugin)
    fail_msg("%s", dlerror());
  void *symbol = symbol_of(plugin, VYRE_BACKEND_QUERY_SYMBOL);
  memcpy(&query, &symbol, sizeof(query));
  host = (vyre_host){.struct_size = sizeof(vyre_host),
                     .abi_major = VYRE_ABI_MAJOR,
                     .abi_minor_min = VYRE_ABI_MINOR,
                     .abi_minor_max = VYRE_ABI_MINOR,
                     .allocate = host_allocate,
                     .deallocate = host_deallocate,
                     .log = host_log};
  const vyre_status status = query(&host, &backend, &err);
  assert_ok(status, err);
}

void load(void)
{
  load_with(FAKE_PATH);
}

void unload(void)
{
  host_fail(0);
  assert_int_equal(host_live(), 0);
  assert_int_equal(fake->contexts, 0);
  assert_int_equal(fake->queues, 0);
  assert_int_equal(fake->memories, 0);
  assert_int_equal(fake->programs, 0);
  assert_int_equal(fake->kernels, 0);
  assert_int_equal(fake->events, 0);
  assert_int_equal(dlclose(plugin), 0);
}

static const char *cache_folder(void)
{
  static char folder[512];
  snprintf(folder, sizeof(folder), "%s/test-cache-opencl-%ld", VYRE_TEST_BINARY_DIR,
           (long)getpid());
  return folder;
}

bool cache_find(const char *end, char *out_path, size_t size)
{
  const size_t length = strlen(end);
  bool found = false;
  DIR *folder = opendir(cache_folder());
  const struct dirent *entry = NULL;
  while (folder && !found && (entry = readdir(folder)) != NULL) {
    const size_t name = strlen(entry->d_name);
    found = entry->d_name[0] != '.' && name >= length &&
            strcmp(entry->d_name + name - length, end) == 0;
    if (found)
      snprintf(out_path, size, "%s/%s", cache_folder(), entry->d_name);
  }
  if (folder)
    closedir(folder);
  return found;
}

void cache_remove(void)
{
  char path[1024];
  while (cache_find("", path, sizeof(path)))
    assert_int_equal(unlink(path), 0);
  rmdir(cache_folder());
}

void cache_fresh(void)
{
  cache_remove();
  setenv("VYRE_CACHE_DIR", cache_folder(), 1);
}

vyre_backend_device *open_device(void)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device *device = NULL;
  const vyre_status status = backend->device_open(0, NULL, &device, &err);
  assert_ok(status, err);
  assert_non_null(device);
  return device;
}

vyre_status load_text(vyre_backend_device *device, const char *text, uint64_t flags,
                      vyre_backend_module **out_module, vyre_error *err)
{
  const size_t prelude = backend->prelude_size, size = strlen(text);
  char *whole = malloc(prelude + size);
  assert_non_null(whole);
  memcpy(whole, backend->prelude, prelude);
  memcpy(whole + prelude, text, size);
  const vyre_module_desc desc = {.struct_size = sizeof(desc),
                                 .flags = flags,
                                 .format = "vyre-c",
                                 .arch = "",
                                 .data = whole,
                                 .size = prelude + size,
                                 .name = "test"};
  const vyre_status status = backend->module_load(device, &desc, out_module, err);
  free(whole);
  return status;
}

vyre_backend_kernel *load_kernel(vyre_backend_device *device, const char *text, uint64_t flags,
                                 const char *name, vyre_backend_module **out_module)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_kernel *kernel = NULL;
  vyre_status status = load_text(device, text, flags, out_module, &err);
  assert_ok(status, err);
  status = backend->kernel_find(*out_module, name, &kernel, NULL, &err);
  assert_ok(status, err);
  return kernel;
}

vyre_binding bind_host(uint32_t id, vyre_access access, const void *data, uint64_t size)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = access,
                        .kind = VYRE_BINDING_HOST,
                        .data = data,
                        .size = size,
                        .element_count = size};
}

vyre_binding bind_buffer(uint32_t id, vyre_backend_buffer *buffer, uint64_t offset, uint64_t size)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = VYRE_READ_WRITE,
                        .kind = VYRE_BINDING_BUFFER,
                        .buffer = buffer,
                        .offset = offset,
                        .size = size,
                        .element_count = size};
}

vyre_binding bind_local(uint32_t id, uint64_t size)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = VYRE_WORKGROUP,
                        .kind = VYRE_BINDING_WORKGROUP,
                        .size = size,
                        .element_count = size};
}

vyre_dispatch_desc launch_of(vyre_backend_kernel *kernel, const vyre_binding *bindings,
                             uint32_t count)
{
  return (vyre_dispatch_desc){.struct_size = sizeof(vyre_dispatch_desc),
                              .binding_count = count,
                              .kernel = kernel,
                              .bindings = bindings,
                              .binding_stride = sizeof(*bindings),
                              .groups = {2, 1, 1},
                              .workgroup = {64, 1, 1},
                              .id_limit = 8};
}

vyre_slot slot_of(void *data, uint64_t size)
{
  return (vyre_slot){.struct_size = sizeof(vyre_slot), .data = data, .capacity = size};
}

const char two_kernels[] =
    "VYRE_ENTRY(one, (VYRE_PARAM_IN(0, a), VYRE_PARAM_INOUT(1, b)), (VYRE_ARG(0, a), "
    "VYRE_ARG(1, b)));\n"
    "VYRE_ENTRY(three, (VYRE_PARAM_IN(0, a), VYRE_PARAM_INOUT(1, b), VYRE_PARAM_LOCAL(2, t)), "
    "(VYRE_ARG(0, a), VYRE_ARG(1, b), VYRE_ARG(2, t)));\n";
