/*
 * test_native.c - kernels built ahead of time: every level that runs here, and refusals before any
 * code is opened.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER_SIZE 144u

static const char text[] = "#define VYRE_BUFFER_a 0\n"
                           "VYRE_SEGMENT(k)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                           "{\n"
                           "  a[vyre_global_id(c, 0)] += 2u;\n"
                           "}\n"
                           "VYRE_ENTRY(k, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n";

static cpu_plugin plugin;
static vyre_backend_device *device;
static vyre_blob blob; /* for the baseline */

static vyre_status build(const char *format, const char *arch, vyre_blob *out_blob, vyre_error *err)
{
  char *whole = compose(&plugin, text);
  vyre_compile_desc desc = {.struct_size = sizeof(desc),
                            .format = format,
                            .arch = arch,
                            .source = whole,
                            .source_size = strlen(whole),
                            .name = "ahead"};
  *out_blob = (vyre_blob){.struct_size = sizeof(*out_blob)};
  vyre_status status = plugin.backend->compile(&desc, out_blob, err);
  free(whole);
  return status;
}

static vyre_status load(const void *data, uint64_t size, const char *arch,
                        vyre_backend_module **out_module, vyre_error *err)
{
  vyre_module_desc desc = {.struct_size = sizeof(desc),
                           .format = "native",
                           .arch = arch,
                           .data = data,
                           .size = size,
                           .name = "ahead"};
  *out_module = NULL;
  return plugin.backend->module_load(device, &desc, out_module, err);
}

static int set_up(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  plugin_load(&plugin);
  device = device_open(&plugin);
  return build("native", "", &blob, &err) == VYRE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
  (void)state;
  plugin.host.deallocate(plugin.host.self, blob.data);
  plugin.backend->device_close(device);
  plugin_unload(&plugin);
  return 0;
}

static void check_works(vyre_backend_module *module)
{
  uint32_t a[3] = {1, 2, 3}, out[3];
  vyre_binding binding = bind_host(0, VYRE_READ_WRITE, a, sizeof(a), 3);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "k"), &binding, 1, 3, 1);
  vyre_slot slot = slot_of(out, sizeof(out));
  run(&plugin, device, &desc, &slot, 1);
  assert_int_equal(out[2], 5);
}

static void every_level_that_runs_here(void **state)
{
  const vyre_backend *b = plugin.backend;
  (void)state;
  for (uint32_t i = 0; i + 1 < b->format_count; ++i) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_blob code;
    vyre_backend_module *module;
    const char *arch = b->formats[i].arch;
    vyre_status status = build("native", arch, &code, &err);
    assert_ok(status, err);
    status = load(code.data, code.size, arch, &module, &err);
    assert_ok(status, err);
    check_works(module);
    b->module_unload(device, module);
    /* The level is in the container; it need not be named, but must not be named wrongly. */
    status = load(code.data, code.size, "", &module, &err);
    assert_ok(status, err);
    b->module_unload(device, module);
    assert_int_equal(load(code.data, code.size, "sm_90", &module, &err), VYRE_ERROR_MODULE_FORMAT);
    assert_contains(err.message, arch);
    assert_contains(err.message, "sm_90");
    plugin.host.deallocate(plugin.host.self, code.data);
  }
}

static void many_modules_at_once(void **state)
{
  vyre_backend_module *modules[40];
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  for (int i = 0; i < 40; ++i) {
    vyre_status status = load(blob.data, blob.size, "", &modules[i], &err);
    assert_ok(status, err);
  }
  for (int i = 0; i < 40; i += 2)
    plugin.backend->module_unload(device, modules[i]);
  for (int i = 1; i < 40; i += 2) {
    check_works(modules[i]);
    plugin.backend->module_unload(device, modules[i]);
  }
}

static void other_formats_are_refused(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_blob code;
  vyre_backend_module *module = NULL;
  vyre_module_desc desc = {
      .struct_size = sizeof(desc), .format = "ptx", .arch = "sm_90", .data = "x", .size = 1};
  (void)state;
  assert_int_equal(plugin.backend->module_load(device, &desc, &module, &err),
                   VYRE_ERROR_MODULE_FORMAT);
  assert_contains(err.message, "vyre-c");
  assert_contains(err.message, "native");
  assert_contains(err.message, "ptx");
  desc.struct_size = 8;
  assert_int_equal(plugin.backend->module_load(device, &desc, &module, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(module);
  assert_int_equal(build("native", "sm_90", &code, &err), VYRE_ERROR_MODULE_FORMAT);
  assert_int_equal(build("ptx", "", &code, &err), VYRE_ERROR_MODULE_FORMAT);
  assert_null(code.data);
}

/* A changed copy, refused; with its checksum made right again by nobody. */
static void refused(const unsigned char *data, uint64_t size, const char *part)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_module *module;
  assert_int_equal(load(data, size, "", &module, &err), VYRE_ERROR_MODULE_FORMAT);
  assert_null(module);
  assert_contains(err.message, part);
}

static void every_flipped_bit_is_refused(void **state)
{
  unsigned char *copy = malloc(blob.size);
  (void)state;
  assert_non_null(copy);
  memcpy(copy, blob.data, blob.size);
  for (uint64_t bit = 0; bit < blob.size * 8; bit += bit < HEADER_SIZE * 8u ? 1 : 4099) {
    copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
    refused(copy, blob.size, "ahead");
    copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  copy[0] = 'X';
  refused(copy, blob.size, "VYRENATV");
  memcpy(copy, blob.data, blob.size);
  refused(copy, blob.size - 1, "bytes of code");
  copy[blob.size / 2] ^= 1;
  refused(copy, blob.size, "checksum");
  refused(copy, 0, "too few");
  refused(copy, HEADER_SIZE - 1, "too few");
  refused(NULL, 0, "too few");
  free(copy);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_level_that_runs_here),
      cmocka_unit_test(many_modules_at_once),
      cmocka_unit_test(other_formats_are_refused),
      cmocka_unit_test(every_flipped_bit_is_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
