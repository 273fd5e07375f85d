/*
 * Hosts and plugins of different minor versions: a plugin of 0.1, one that would speak 0.3, and a
 * host of 0.1.  Each pair agrees on the older version and works.
 */
#include "core/device/device.h"
#include "core/device/process.h"
#include "core/loader/plugin.h"
#include "core/loader/table.h"
#include "tests/dispatch/on_fixture.h"
#include "tests/plugins/with_fixture.h"

static vyre_device_info info_of(const vyre_context *context, uint32_t index)
{
  vyre_device_info info = {.struct_size = sizeof info};
  assert_int_equal(vyre_context_device_info(context, index, &info, NULL), VYRE_OK);
  return info;
}

/* A program runs, on host bytes and on buffers. */
static void assert_works(const char *fault)
{
  uint32_t in[16] = {1, 2, 3}, out[16] = {0};
  const vyre_bytes input = {in, sizeof in};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_buffer *buffers[2] = {NULL, NULL};
  vyre_program *program = NULL;
  on_fixture on;
  on_fixture_open(&on, fault, "any");
  program = on_fixture_copy(&on, 16);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, &result, NULL), VYRE_OK);
  assert_memory_equal(outputs.slots[0].data, in, sizeof in);
  assert_int_equal(result.launches, 1);
  assert_int_equal(vyre_buffer_create(on.device, sizeof in, &buffers[0], NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_create(on.device, sizeof in, &buffers[1], NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_upload(buffers[0], 0, in, sizeof in, NULL), VYRE_OK);
  assert_int_equal(vyre_dispatch_buffers(program, NULL, buffers, 2, NULL, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_download(buffers[1], 0, out, sizeof out, NULL), VYRE_OK);
  assert_memory_equal(out, in, sizeof in);
  vyre_buffer_destroy(buffers[0]);
  vyre_buffer_destroy(buffers[1]);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  on_fixture_close(&on);
}

static void assert_speaks(const char *fault, uint32_t minor)
{
  vyre_context *context = NULL;
  assert_int_equal(fixture_context(fault, &context, NULL), VYRE_OK);
  assert_int_equal(vyre__context_backend_at(context, 0)->abi_minor, minor);
  vyre_context_destroy(context);
}

/* Everything that 0.2 brought is "no", with a reason. */
static void assert_no_tier_3(const char *fault)
{
  vyre_context *context = NULL;
  vyre_device_info info;
  char reason[64];
  assert_int_equal(fixture_context(fault, &context, NULL), VYRE_OK);
  info = info_of(context, 0);
  assert_int_equal(info.capabilities, VYRE_CAP_BUFFERS);
  assert_int_equal(info.grid_sync, VYRE_GRID_SYNC_NONE);
  assert_int_equal(info.cooperative_items, 0);
  snprintf(reason, sizeof reason, "plugin fixture_%s has no tier 3", fault);
  assert_string_equal(info.grid_sync_reason, reason);
  vyre_context_destroy(context);
}

static void test_older_plugin(void **state)
{
  (void)state;
  assert_speaks("minor_1", 1);
  assert_no_tier_3("minor_1");
  assert_works("minor_1");
}

static void test_newer_plugin(void **state)
{
  (void)state;
  assert_speaks("minor_next", VYRE_ABI_MINOR);
  assert_no_tier_3("minor_next");
  assert_works("minor_next");
}

/* A newer header does not make an older version newer: what it does not know is not read. */
static void test_promises_later(void **state)
{
  (void)state;
  assert_speaks("promises_later", 1);
  assert_no_tier_3("promises_later");
  assert_works("promises_later");
}

/* ---- a host of 0.1 ---- */

static void test_older_host(void **state)
{
  static const char *const faults[] = {"none", "minor_1", "minor_next"};
  vyre_host old = vyre__host;
  (void)state;
  old.struct_size = VYRE_HOST_SIZE_0_1;
  old.abi_minor_max = 1;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    vyre_candidate_stage stage = VYRE_CANDIDATE_FILE;
    vyre__plugin plugin = {NULL, NULL};
    vyre_backend_device_info info = {.struct_size = VYRE_BACKEND_DEVICE_INFO_SIZE_0_1};
    const vyre_allocator allocator = vyre__allocator_or_default(NULL);
    vyre_error err = VYRE_ERROR_INIT;
    char path[FIXTURE_PATH_SIZE];
    fixture_path(faults[i], path);
    if (vyre__plugin_open(path, &allocator, &old, &plugin, &stage, &err))
      fail_msg("%s: %s", faults[i], err.message);
    assert_int_equal(plugin.backend->abi_minor, 1);
    info.grid_sync = 77; /* behind what this host knows */
    assert_int_equal(plugin.backend->device_info(0, &info, &err), VYRE_OK);
    assert_int_equal(info.struct_size, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
    assert_int_equal(info.grid_sync, 77);
    vyre__plugin_close(&plugin);
  }
}

static void test_no_common_version(void **state)
{
  vyre_host strict = vyre__host;
  const vyre_allocator allocator = vyre__allocator_or_default(NULL);
  vyre_candidate_stage stage = VYRE_CANDIDATE_FILE;
  vyre__plugin plugin = {NULL, NULL};
  vyre_error err = VYRE_ERROR_INIT;
  char path[FIXTURE_PATH_SIZE];
  (void)state;
  strict.abi_minor_min = 2;
  fixture_path("minor_1", path);
  assert_int_equal(vyre__plugin_open(path, &allocator, &strict, &plugin, &stage, &err),
                   VYRE_ERROR_ABI_MISMATCH);
  assert_int_equal(stage, VYRE_CANDIDATE_HANDSHAKE);
}

/* ---- what the limit takes away ---- */

static void test_limit(void **state)
{
  vyre_backend table = {.struct_size = sizeof table, .abi_minor = 1};
  vyre_backend_device_info info;
  (void)state;
  memset(&info, 0xff, sizeof info);
  info.struct_size = sizeof info;
  vyre__device_info_limit(&table, &info);
  assert_int_equal(info.grid_sync, 0);
  assert_int_equal(info.cooperative_items, 0);
  assert_int_equal(info.grid_sync_reason[0], 0);
  assert_int_equal(info.capabilities & VYRE_CAP_TIMESTAMPS, 0);
  assert_int_equal((unsigned char)info.compiler_reason[0], 0xff);

  /* What a plugin of 0.2 did not fill is zero, wherever its structure ended. */
  table.abi_minor = 2;
  memset(&info, 0xff, sizeof info);
  info.struct_size = offsetof(vyre_backend_device_info, cooperative_items);
  vyre__device_info_limit(&table, &info);
  assert_int_equal(info.grid_sync, UINT32_MAX);
  assert_int_equal(info.cooperative_items, 0);
  assert_int_equal(info.grid_sync_reason[0], 0);
  assert_true(info.capabilities & VYRE_CAP_TIMESTAMPS);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_older_plugin),      cmocka_unit_test(test_newer_plugin),
      cmocka_unit_test(test_promises_later),    cmocka_unit_test(test_older_host),
      cmocka_unit_test(test_no_common_version), cmocka_unit_test(test_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
