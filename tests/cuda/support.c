/*
 * support.c - the CUDA plugin, or the HIP one, on the test driver; see support.h.
 */
#include "support.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const fake_cuda_control *driver;
const fake_nvrtc_control *nvrtc;
const vyre_backend *backend;

static uint64_t live, count, fail_at;

static void *host_allocate(void *self, uint64_t size, uint64_t align)
{
  void *memory = NULL;
  (void)self;
  /* Relaxed: numbers only; tests read them when no other thread runs. */
  const uint64_t number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  if (number == __atomic_load_n(&fail_at, __ATOMIC_RELAXED) || size > UINT64_C(1) << 40)
    return NULL;
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

static const vyre_host host = {.struct_size = sizeof(vyre_host),
                               .abi_major = VYRE_ABI_MAJOR,
                               .abi_minor_min = 2,
                               .abi_minor_max = VYRE_ABI_MINOR,
                               .allocate = host_allocate,
                               .deallocate = host_deallocate};

uint64_t host_live(void)
{
  return __atomic_load_n(&live, __ATOMIC_RELAXED);
}

void host_fail(uint64_t n)
{
  __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&fail_at, n, __ATOMIC_RELAXED);
}

void host_drop(void *memory)
{
  host_deallocate(NULL, memory);
}

static const void *symbol_of(const char *path, const char *name)
{
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  return library ? dlsym(library, name) : NULL;
}

static void name_library(const char *variable, const char *path)
{
  if (path)
    setenv(variable, path, 1);
  else
    unsetenv(variable);
}

bool plugin_load(const char *cuda_path, const char *nvrtc_path)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_query_fn query = NULL;
#ifdef VYRE_TEST_HIP
  /* HIP's runtime and hipRTC of the tests stand on the test driver and its NVRTC. */
  const char *runtime = getenv("VYRE_TEST_HIP_LIBRARY");
  name_library("VYRE_HIP_LIBRARY", cuda_path ? runtime ? runtime : FORWARD_HIP : NULL);
  name_library("VYRE_HIPRTC_LIBRARY", nvrtc_path ? FORWARD_RTC : NULL);
  name_library("VYRE_COMGR_LIBRARY", nvrtc_path ? FORWARD_RTC : NULL);
#endif
  name_library("VYRE_CUDA_LIBRARY", cuda_path);
  name_library("VYRE_NVRTC_LIBRARY", nvrtc_path);
  setenv("VYRE_CACHE_DIR", "off", 1);
  void *library =
      dlopen(VYRE_TEST_BINARY_DIR "/lib/vyre/libvyre_" PLUGIN ".so", RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, VYRE_BACKEND_QUERY_SYMBOL) : NULL;
  if (!symbol) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  memcpy(&query, &symbol, sizeof query);
  if (query(&host, &backend, &err) != VYRE_OK) {
    fprintf(stderr, "%s\n", err.message);
    return false;
  }
  driver = symbol_of(cuda_path, "fake_cuda_control_symbol");
  nvrtc = symbol_of(nvrtc_path, "fake_nvrtc_control_symbol");
  return true;
}

int plugin_set_up(void **state)
{
  const char *other = getenv("VYRE_TEST_FAKE_CUDA");
  (void)state;
  if (!plugin_load(other ? other : FAKE_CUDA, FAKE_NVRTC) || !driver || !nvrtc)
    return -1;
#ifdef VYRE_TEST_HIP
  /* The trial of coherent memory is tests/hip/test_trial.c's: it is over. */
  for (uint32_t i = 0; i < 2; ++i)
    backend->device_close(open_device(i));
#endif
  return 0;
}

/* -------- kernels -------- */

#ifdef VYRE_TEST_HIP
/* As fake_nvrtc.c makes machine code: an ELF header, and the text behind it. */
static size_t code_header(char *to)
{
  const Elf64_Ehdr header = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_ehsize = sizeof header};
  memcpy(to, &header, sizeof header);
  return sizeof header;
}

uint64_t code_size(const char *code)
{
  return sizeof(Elf64_Ehdr) + strlen(code + sizeof(Elf64_Ehdr)) + 1;
}
#else
static size_t code_header(char *to)
{
  (void)to;
  return 0;
}

uint64_t code_size(const char *code)
{
  return strlen(code);
}
#endif

const char *ptx_of(uint32_t entries, ...)
{
  static char text[8192];
  int used = (int)code_header(text);
  used += snprintf(text + used, sizeof text - (size_t)used,
                   ".version 9.0\n.target sm_90\n.address_size 64\n");
  va_list arguments;
  va_start(arguments, entries);
  for (uint32_t i = 0; i < entries; ++i) {
    const char *name = va_arg(arguments, const char *);
    const uint32_t bindings = va_arg(arguments, uint32_t);
    used += snprintf(text + used, sizeof text - (size_t)used, ".visible .entry %s(\n", name);
    for (uint32_t k = 0; k < bindings; ++k)
      used += snprintf(text + used, sizeof text - (size_t)used, "  .param .u64 a%u,\n", k);
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "  .param .align 8 .b8 launch[1144]\n)\n{\n  ret;\n}\n");
  }
  va_end(arguments);
  return text;
}

vyre_status open_try(uint32_t index, vyre_backend_device **out_device, vyre_error *err)
{
  return backend->device_open(index, NULL, out_device, err);
}

vyre_backend_device *open_device(uint32_t index)
{
  vyre_backend_device *device = NULL;
  OK(open_try(index, &device, &fresh));
  assert_non_null(device);
  return device;
}

vyre_status load_try(vyre_backend_device *device, const char *ptx, vyre_backend_module **out_module,
                     vyre_error *err)
{
  const vyre_module_desc desc = {.struct_size = sizeof desc,
                                 .format = CODE_FORMAT,
                                 .arch = "",
                                 .data = ptx,
                                 .size = code_size(ptx),
                                 .name = "kernels"};
  return backend->module_load(device, &desc, out_module, err);
}

vyre_backend_module *load_module(vyre_backend_device *device, const char *ptx)
{
  vyre_backend_module *module = NULL;
  OK(load_try(device, ptx, &module, &fresh));
  return module;
}

vyre_backend_kernel *find_kernel(vyre_backend_module *module, const char *name)
{
  vyre_backend_kernel *kernel = NULL;
  OK(backend->kernel_find(module, name, &kernel, NULL, &fresh));
  return kernel;
}

vyre_backend_buffer *make_buffer(vyre_backend_device *device, uint64_t size)
{
  vyre_backend_buffer *buffer = NULL;
  OK(backend->buffer_alloc(device, size, &buffer, &fresh));
  return buffer;
}

vyre_binding bind_host(uint32_t id, vyre_access access, const void *data, uint64_t words)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = access,
                        .kind = VYRE_BINDING_HOST,
                        .data = data,
                        .size = words * 4,
                        .element_count = words};
}

vyre_binding bind_buffer(uint32_t id, vyre_access access, vyre_backend_buffer *buffer,
                         uint64_t words)
{
  return (vyre_binding){.struct_size = sizeof(vyre_binding),
                        .id = id,
                        .access = access,
                        .kind = VYRE_BINDING_BUFFER,
                        .buffer = buffer,
                        .size = words * 4,
                        .element_count = words};
}

vyre_dispatch_desc launch_of(vyre_backend_kernel *kernel, const vyre_binding *bindings,
                             uint32_t binding_count)
{
  return (vyre_dispatch_desc){.struct_size = sizeof(vyre_dispatch_desc),
                              .binding_count = binding_count,
                              .kernel = kernel,
                              .bindings = bindings,
                              .binding_stride = sizeof(vyre_binding),
                              .groups = {2, 1, 1},
                              .workgroup = {64, 1, 1},
                              .id_limit = 8};
}

vyre_slot slot_of(void *data, uint64_t size)
{
  return (vyre_slot){.struct_size = sizeof(vyre_slot), .data = data, .capacity = size};
}

vyre_status run_try(vyre_backend_device *device, const vyre_dispatch_desc *desc, vyre_slot *slots,
                    uint32_t slot_count, vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre_status status = backend->dispatch(device, desc, &pending, err);
  if (status != VYRE_OK)
    return status;
  status = backend->pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status == VYRE_OK)
    status = backend->pending_read(pending, slots, slot_count, sizeof(vyre_slot), NULL, err);
  backend->pending_release(pending);
  return status;
}

void assert_clean(void)
{
  for (uint64_t i = 0; i < driver->faults() && driver->fault(i); ++i)
    print_error("fault: %s\n", driver->fault(i));
  assert_int_equal(driver->faults(), 0);
  static const char *const kinds[] = {"context", "memory", "host",  "pool",
                                      "stream",  "event",  "module"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    if (driver->live(kinds[i]))
      print_error("%s: %llu left\n", kinds[i], (unsigned long long)driver->live(kinds[i]));
  assert_int_equal(driver->live(NULL), 0);
  assert_int_equal(driver->depth(), 0);
  assert_int_equal(host_live(), 0);
}

void assert_not_persistent(const char *why)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  OK(backend->device_info(0, &info, &fresh));
  if (why) {
    assert_false(info.capabilities & VYRE_CAP_PERSISTENT);
    assert_contains(info.persistent_reason, why);
  } else {
    assert_true(info.capabilities & VYRE_CAP_PERSISTENT);
    assert_string_equal(info.persistent_reason, "");
  }
}
