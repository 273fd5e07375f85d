/*
 * test_buffers.c - tier 2 and coherent memory: contents, ranges, the order of launches and copies.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static const char kernels[] =
    "#define VYRE_BUFFER_a 0\n"
    "#define VYRE_BUFFER_b 1\n"
    "VYRE_SEGMENT(step)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, b)) b[i] = a[i] * 5u + 3u;\n"
    "}\n"
    "VYRE_ENTRY(step, (VYRE_PARAM_CONST(0, a), VYRE_PARAM_OUT(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n";

static cpu_plugin plugin;
static vyre_backend_device *device;
static vyre_backend_module *module;

static int set_up(void **state)
{
  (void)state;
  plugin_load(&plugin);
  device = device_open(&plugin);
  module = module_load(&plugin, device, kernels, 0);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin.backend->module_unload(device, module);
  plugin.backend->device_close(device);
  plugin_unload(&plugin);
  return 0;
}

static vyre_backend_buffer *buffer_of(uint64_t size)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_buffer *buffer = NULL;
  vyre_status status = plugin.backend->buffer_alloc(device, size, &buffer, &err);
  assert_ok(status, err);
  return buffer;
}

static void contents(uint64_t size)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_buffer *buffer = buffer_of(size);
  unsigned char *model = calloc(1, size + 1), *got = malloc(size + 1);
  const vyre_backend *b = plugin.backend;
  assert_true(model && got);
  assert_int_equal(b->buffer_download(device, buffer, 0, got, size, &err), VYRE_OK);
  assert_memory_equal(got, model, size);
  for (uint64_t offset = 0; offset < size; offset += size / 5 + 1)
    for (uint64_t part = 1; part < 8 && offset + part <= size; ++part) {
      memset(got, (int)(offset + part), part);
      memcpy(model + offset, got, part);
      assert_int_equal(b->buffer_upload(device, buffer, offset, got, part, &err), VYRE_OK);
    }
  if (size > 3) {
    memset(model + 1, 0xab, size - 3);
    assert_int_equal(b->buffer_fill(device, buffer, 1, size - 3, 0x777777ab, &err), VYRE_OK);
  }
  if (size > 8) {
    memcpy(model, model + size - 4, 4);
    assert_int_equal(b->buffer_copy(device, buffer, 0, buffer, size - 4, 4, &err), VYRE_OK);
  }
  assert_int_equal(b->buffer_download(device, buffer, 0, got, size, &err), VYRE_OK);
  assert_memory_equal(got, model, size);
  b->buffer_free(device, buffer);
  free(model);
  free(got);
}

static void contents_of_every_size(void **state)
{
  static const uint64_t sizes[] = {
      0, 1, 3, 4, 63, 64, 65, 4095, 4097, (1 << 20) - 1, 1 << 20, (3 << 20) + 5};
  (void)state;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i)
    contents(sizes[i]);
  plugin.backend->buffer_free(device, NULL);
}

static void ranges_are_checked(void **state)
{
  const vyre_backend *b = plugin.backend;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_buffer *one = buffer_of(100), *two = buffer_of(50);
  unsigned char bytes[128] = {0};
  (void)state;
  static const uint64_t bad[][2] = {{101, 0},        {100, 1},        {0, 101},
                                    {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    uint64_t offset = bad[i][0], size = bad[i][1];
    assert_int_equal(b->buffer_upload(device, one, offset, bytes, size, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(b->buffer_download(device, one, offset, bytes, size, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(b->buffer_fill(device, one, offset, size, 1, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(b->buffer_copy(device, two, 0, one, offset, size, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(b->buffer_copy(device, one, offset, two, 0, size, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_contains(err.message, "bytes");
  }
  assert_int_equal(b->buffer_upload(device, one, 100, NULL, 0, &err), VYRE_OK);
  assert_int_equal(b->buffer_upload(device, one, 0, NULL, 1, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->buffer_download(device, one, 0, NULL, 1, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->buffer_copy(device, one, 10, one, 15, 6, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->buffer_copy(device, one, 10, one, 16, 6, &err), VYRE_OK);
  assert_int_equal(b->buffer_upload(device, NULL, 0, bytes, 1, &err), VYRE_ERROR_INVALID_ARGUMENT);
  vyre_backend_buffer *none = NULL;
  assert_int_equal(b->buffer_alloc(device, UINT64_MAX, &none, &err),
                   VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_int_equal(b->buffer_alloc(device, UINT64_MAX / 4, &none, &err),
                   VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_null(none);
  /* A launch cannot reach outside either. */
  vyre_binding binding = bind_buffer(0, VYRE_READ_ONLY, one, 64, 37, 9);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "step"), &binding, 1, 1, 1);
  vyre_backend_pending *pending = NULL;
  assert_int_equal(b->dispatch(device, &desc, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT);
  binding.offset = UINT64_MAX;
  assert_int_equal(b->dispatch(device, &desc, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(pending);
  b->buffer_free(device, one);
  b->buffer_free(device, two);
}

static void import_and_export(void **state)
{
  const vyre_backend *b = plugin.backend;
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t mine[256] = {0};
  vyre_native_memory memory = {.struct_size = sizeof(memory),
                               .type = VYRE_NATIVE_HOST_POINTER,
                               .handle = (uint64_t)(uintptr_t)mine,
                               .size = sizeof(mine)};
  vyre_native_memory back = {.struct_size = sizeof(back)};
  vyre_backend_buffer *buffer = NULL, *source = buffer_of(sizeof(mine));
  (void)state;
  vyre_status status = b->buffer_import(device, &memory, &buffer, &err);
  assert_ok(status, err);
  vyre_binding bindings[] = {bind_buffer(0, VYRE_READ_ONLY, source, 0, sizeof(mine), 256),
                             bind_buffer(1, VYRE_WRITE_ONLY, buffer, 0, sizeof(mine), 256)};
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "step"), bindings, 2, 4, 64);
  run(&plugin, device, &desc, NULL, 0);
  for (int i = 0; i < 256; ++i)
    assert_int_equal(mine[i], 3);
  assert_int_equal(b->buffer_export(device, buffer, &back, &err), VYRE_OK);
  assert_int_equal(back.type, VYRE_NATIVE_HOST_POINTER);
  assert_int_equal(back.handle, (uint64_t)(uintptr_t)mine);
  assert_int_equal(back.size, sizeof(mine));
  b->buffer_free(device, buffer);
  b->buffer_free(device, source);
  buffer = NULL;
  memory.type = VYRE_NATIVE_DEVICE_POINTER;
  assert_int_equal(b->buffer_import(device, &memory, &buffer, &err), VYRE_ERROR_UNSUPPORTED);
  memory.type = VYRE_NATIVE_HOST_POINTER;
  memory.size = UINT64_MAX;
  assert_int_equal(b->buffer_import(device, &memory, &buffer, &err), VYRE_ERROR_INVALID_ARGUMENT);
  memory.handle = 0;
  assert_int_equal(b->buffer_import(device, &memory, &buffer, &err), VYRE_ERROR_INVALID_ARGUMENT);
  memory.struct_size = 4;
  assert_int_equal(b->buffer_import(device, &memory, &buffer, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(buffer);
}

static void coherent_memory(void **state)
{
  const vyre_backend *b = plugin.backend;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_coherent_memory memory = {.struct_size = sizeof(memory)};
  (void)state;
  assert_int_equal(b->coherent_alloc(device, 0, &memory, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(b->coherent_alloc(device, UINT64_MAX, &memory, &err),
                   VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_null(memory.buffer);
  vyre_status status = b->coherent_alloc(device, 10001, &memory, &err);
  assert_ok(status, err);
  assert_int_equal((uintptr_t)memory.host % 4096, 0);
  assert_int_equal(memory.device_address, (uint64_t)(uintptr_t)memory.host);
  for (int i = 0; i < 10001; ++i)
    assert_int_equal(((unsigned char *)memory.host)[i], 0);
  ((unsigned char *)memory.host)[10000] = 9;
  unsigned char last = 0;
  assert_int_equal(b->buffer_download(device, memory.buffer, 10000, &last, 1, &err), VYRE_OK);
  assert_int_equal(last, 9);
  b->buffer_free(device, memory.buffer);
}

/* A chain of launches that hand two buffers to each other; nobody waits in between. */
static void launches_run_in_order(void **state)
{
  enum { COUNT = 20000, STEPS = 60 };
  const vyre_backend *b = plugin.backend;
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t *values = malloc(COUNT * sizeof(*values));
  vyre_backend_buffer *buffers[2];
  vyre_backend_pending *pending[STEPS] = {NULL};
  uint64_t bytes = COUNT * sizeof(*values);
  (void)state;
  assert_non_null(values);
  for (uint32_t i = 0; i < COUNT; ++i)
    values[i] = i;
  buffers[0] = buffer_of(bytes);
  buffers[1] = buffer_of(bytes);
  assert_int_equal(b->buffer_upload(device, buffers[0], 0, values, bytes, &err), VYRE_OK);
  vyre_backend_kernel *kernel = kernel_find(&plugin, module, "step");
  for (int s = 0; s < STEPS; ++s) {
    /* Every third one is small enough to run in the caller, if nothing is before it. */
    uint32_t n = s % 3 == 2 ? 100 : COUNT;
    vyre_binding bindings[] = {
        bind_buffer(0, VYRE_READ_ONLY, buffers[s % 2], 0, bytes, COUNT),
        bind_buffer(1, VYRE_WRITE_ONLY, buffers[1 - s % 2], 0, n * sizeof(*values), n)};
    vyre_dispatch_desc desc = launch_of(kernel, bindings, 2, n / 50, 50);
    vyre_status status = b->dispatch(device, &desc, &pending[s], &err);
    assert_ok(status, err);
  }
  assert_int_equal(b->buffer_download(device, buffers[STEPS % 2], 0, values, bytes, &err), VYRE_OK);
  for (uint32_t i = 0; i < 100; ++i) {
    uint32_t want = i;
    for (int s = 0; s < STEPS; ++s)
      want = want * 5 + 3;
    assert_int_equal(values[i], want);
  }
  for (int s = 0; s < STEPS; ++s) {
    assert_int_equal(b->pending_wait(pending[s], 0, &err), VYRE_OK);
    b->pending_release(pending[s]);
  }
  b->buffer_free(device, buffers[0]);
  b->buffer_free(device, buffers[1]);
  free(values);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contents_of_every_size), cmocka_unit_test(ranges_are_checked),
      cmocka_unit_test(import_and_export),      cmocka_unit_test(coherent_memory),
      cmocka_unit_test(launches_run_in_order),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
