/*
 * test_failures.c - the host's allocator fails at every place, one after the other: each call
 * either works or says so, nothing leaks, and the next call works.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static const char text[] =
    "#define VYRE_BUFFER_a 0\n"
    "#define VYRE_BUFFER_s 1\n"
    "VYRE_SEGMENT(k)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_LOCAL(vyre_u32) s)\n"
    "{\n"
    "  s[vyre_local_id(c, 0)] = a[vyre_global_id(c, 0)];\n"
    "  vyre_barrier(c);\n"
    "  a[vyre_global_id(c, 0)] = s[(vyre_local_id(c, 0) + 1u) % vyre_local_size(c, 0)];\n"
    "}\n"
    "VYRE_SEGMENT(p)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n"
    "  vyre_atomic_add_u32(&a[vyre_group_id(c, 0)], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);\n"
    "}\n"
    "VYRE_ENTRY(k, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_LOCAL(1, s)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, s)));\n"
    "VYRE_ENTRY(p, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n";

enum { GROUPS = 150, ITEMS = 4, COUNT = GROUPS * ITEMS };

static cpu_plugin plugin;

/* One pass over everything that allocates.  The first error stops it; what was made is undone. */
static vyre_status pass(vyre_error *err)
{
  const vyre_backend *b = plugin.backend;
  static uint32_t in[COUNT], out[COUNT];
  vyre_backend_device *device = NULL;
  vyre_backend_module *module = NULL;
  vyre_backend_kernel *kernel = NULL, *stay = NULL;
  vyre_backend_buffer *buffer = NULL, *imported = NULL;
  vyre_backend_pending *pending = NULL;
  vyre_coherent_memory coherent = {.struct_size = sizeof(coherent)};
  vyre_native_memory mine = {.struct_size = sizeof(mine),
                             .type = VYRE_NATIVE_HOST_POINTER,
                             .handle = (uint64_t)(uintptr_t)in,
                             .size = sizeof(in)};
  vyre_status status = b->device_open(0, NULL, &device, err);
  if (status != VYRE_OK)
    goto done;
  status = module_try(&plugin, device, text, 0, &module, err);
  if (status == VYRE_OK)
    status = b->kernel_find(module, "k", &kernel, NULL, err);
  if (status == VYRE_OK)
    status = b->kernel_find(module, "p", &stay, NULL, err);
  if (status == VYRE_OK)
    status = b->buffer_alloc(device, 4096, &buffer, err);
  if (status == VYRE_OK)
    status = b->buffer_import(device, &mine, &imported, err);
  if (status == VYRE_OK)
    status = b->coherent_alloc(device, 4096, &coherent, err);
  if (status != VYRE_OK)
    goto done;

  for (uint32_t i = 0; i < COUNT; ++i)
    in[i] = i;
  vyre_binding bindings[] = {bind_host(0, VYRE_READ_WRITE, in, sizeof(in), COUNT),
                             bind_local(1, ITEMS * 4, ITEMS)};
  vyre_dispatch_desc desc = launch_of(kernel, bindings, 2, GROUPS, ITEMS);
  vyre_slot slot = slot_of(out, sizeof(out));
  status = run_try(&plugin, device, &desc, &slot, 1, err);
  if (status != VYRE_OK)
    goto done;
  for (uint32_t i = 0; i < COUNT; ++i)
    assert_int_equal(out[i], i / ITEMS * ITEMS + (i + 1) % ITEMS);

  vyre_binding words = bind_buffer(0, VYRE_READ_WRITE, coherent.buffer, 0, 4096, 1024);
  desc = launch_of(stay, &words, 1, 3, 1);
  desc.flags = VYRE_DISPATCH_PERSISTENT;
  status = b->dispatch(device, &desc, &pending, err);
  if (status == VYRE_OK)
    status = b->pending_wait(pending, VYRE_NO_TIMEOUT, err);

done:
  b->pending_release(pending);
  if (coherent.buffer)
    b->buffer_free(device, coherent.buffer);
  b->buffer_free(device, imported);
  b->buffer_free(device, buffer);
  b->module_unload(device, module);
  b->device_close(device);
  return status;
}

static void every_allocation_can_fail(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  host_fail(0);
  vyre_status status = pass(&err);
  assert_ok(status, err);
  uint64_t count = host_count();
  assert_true(count > 10);
  uint64_t failures = 0;
  for (uint64_t n = 1; n <= count + 5; ++n) {
    err = (vyre_error)VYRE_ERROR_INIT;
    host_fail(n);
    status = pass(&err);
    host_fail(0);
    assert_int_equal(host_live(), 0);
    if (status == VYRE_OK)
      continue; /* the cache was not read, or a thread did without */
    failures += 1;
    assert_true(status == VYRE_ERROR_OUT_OF_HOST_MEMORY ||
                status == VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(err.code, status);
    assert_true(err.message[0] && err.fix[0]);
  }
  assert_true(failures * 2 > count);
  status = pass(&err);
  assert_ok(status, err);
}

static void compiling_can_fail_everywhere(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_blob blob;
  (void)state;
  char *whole = compose(&plugin, text);
  vyre_compile_desc desc = {.struct_size = sizeof(desc),
                            .format = "native",
                            .arch = "",
                            .source = whole,
                            .source_size = strlen(whole)};
  setenv("VYRE_CACHE_DIR", "off", 1);
  for (uint64_t n = 1;; ++n) {
    blob = (vyre_blob){.struct_size = sizeof(blob)};
    host_fail(n);
    vyre_status status = plugin.backend->compile(&desc, &blob, &err);
    uint64_t count = host_count();
    host_fail(0);
    if (status == VYRE_OK) {
      plugin.host.deallocate(plugin.host.self, blob.data);
      if (count < n)
        break;
      continue;
    }
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_null(blob.data);
    assert_int_equal(host_live(), 0);
  }
  free(whole);
}

static int set_up(void **state)
{
  (void)state;
  plugin_load(&plugin);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin_unload(&plugin);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_can_fail),
      cmocka_unit_test(compiling_can_fail_everywhere),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
