/* Contexts: options, candidates, device lists, allocators, memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/device/device.h"
#include "tests/plugins/with_fixture.h"

static vyre_context *fixture_or_fail(const char *fault)
{
  vyre_context *context = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (fixture_context(fault, &context, &err))
    fail_msg("%s: %s", fault, err.message);
  return context;
}

static void expect_invalid(vyre_status status, const vyre_error *err, const char *message)
{
  assert_int_equal(status, VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(err->code, status);
  if (!strstr(err->message, message))
    fail_msg("'%s' does not hold '%s'", err->message, message);
  assert_true(err->fix[0]);
}

static void test_options(void **state)
{
  vyre_context_options options = only_files(NULL, 0);
  vyre_allocator half = {NULL, NULL, NULL};
  vyre_context *context = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  expect_invalid(vyre_context_create(&options, NULL, &err), &err, "out_context");
  assert_int_equal(vyre_context_create(&options, NULL, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  options.struct_size = 8;
  expect_invalid(vyre_context_create(&options, &context, &err), &err, "struct_size is 8");
  options.struct_size = 0;
  expect_invalid(vyre_context_create(&options, &context, &err), &err, "struct_size is 0");
  options = only_files(NULL, 0);
  options.flags |= 1u << 20;
  expect_invalid(vyre_context_create(&options, &context, &err), &err, "flags");
  options = only_files(NULL, 0);
  options.allocator = &half;
  expect_invalid(vyre_context_create(&options, &context, &err), &err, "allocate");
  assert_null(context);
  vyre_context_destroy(NULL);
}

/* A caller from the future: a larger structure whose end this version does not know. */
static void test_larger_options(void **state)
{
  struct {
    vyre_context_options known;
    uint64_t later[4];
  } options = {.known = only_files(NULL, 0), .later = {1, 2, 3, 4}};
  vyre_context *context = NULL;
  (void)state;
  options.known.struct_size = sizeof options;
  assert_int_equal(vyre_context_create(&options.known, &context, NULL), VYRE_OK);
  assert_int_equal(vyre_context_candidate_count(context), 0);
  assert_int_equal(vyre_context_device_count(context), 0);
  vyre_context_destroy(context);
}

/* No plugin, no device: a context all the same, and a message that tells the cure. */
static void test_nothing_at_all(void **state)
{
  vyre_context_options options = only_files(NULL, 0);
  vyre_context *context = NULL;
  vyre_device *device = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  assert_int_equal(vyre_device_open(context, NULL, &device, &err), VYRE_ERROR_NOT_FOUND);
  assert_non_null(strstr(err.message, "no device matches 'any'"));
  assert_non_null(strstr(err.fix, "VYRE_PLUGIN_PATH"));
  assert_null(device);
  vyre_context_destroy(context);
}

/* Plugins without devices: each one's reason is in the message. */
static void test_no_devices(void **state)
{
  char folder[FIXTURE_PATH_SIZE];
  vyre_context *context = NULL;
  vyre_device *device = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  make_folder(folder);
  put_plugin(folder, "a", "no_device");
  put_plugin(folder, "b", "vendor_missing");
  put_plugin(folder, "c", "refusing");
  assert_int_equal(context_of_path(folder, &context, NULL), VYRE_OK);
  assert_int_equal(vyre_context_device_count(context), 0);
  assert_int_equal(open_selected(context, "gpu", &device, &err), VYRE_ERROR_NOT_FOUND);
  assert_non_null(strstr(err.message, "libvyre_a.so: it sees no device"));
  assert_non_null(strstr(err.message, "libvyre_b.so: not used, libfixture.so.1 was not found"));
  assert_non_null(strstr(err.message, "libvyre_c.so: not used, the fixture does not like"));
  assert_non_null(strstr(err.fix, "driver"));
  vyre_context_destroy(context);
  remove_folder(folder);
}

/* ---- lists ---- */

static void test_candidate_structs(void **state)
{
  struct {
    vyre_candidate known;
    uint64_t later;
  } large = {.known = VYRE_CANDIDATE_INIT, .later = 77};
  vyre_context *context = fixture_or_fail("none");
  vyre_candidate candidate = VYRE_CANDIDATE_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre_context_candidate_count(NULL), 0);
  expect_invalid(vyre_context_candidate(NULL, 0, &candidate, &err), &err, "context is NULL");
  expect_invalid(vyre_context_candidate(context, 0, NULL, &err), &err, "out_candidate");
  assert_int_equal(vyre_context_candidate(context, 1, &candidate, &err), VYRE_ERROR_NOT_FOUND);
  candidate.struct_size = 12;
  expect_invalid(vyre_context_candidate(context, 0, &candidate, &err), &err, "struct_size is 12");
  assert_null(candidate.path);
  large.known.struct_size = sizeof large;
  assert_int_equal(vyre_context_candidate(context, 0, &large.known, &err), VYRE_OK);
  assert_int_equal(large.known.struct_size, sizeof(vyre_candidate));
  assert_int_equal(large.later, 77);
  assert_non_null(strstr(large.known.path, "libvyre_fixture.so"));
  vyre_context_destroy(context);
}

static void test_device_structs(void **state)
{
  struct {
    vyre_device_info known;
    uint64_t later;
  } large = {.later = 77};
  vyre_context *context = fixture_or_fail("none");
  vyre_device_info info = {0};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre_context_device_count(NULL), 0);
  expect_invalid(vyre_context_device_info(NULL, 0, &info, &err), &err, "context is NULL");
  expect_invalid(vyre_context_device_info(context, 0, NULL, &err), &err, "out_info");
  expect_invalid(vyre_context_device_info(context, 0, &info, &err), &err, "struct_size is 0");
  info.struct_size = sizeof info;
  assert_int_equal(vyre_context_device_info(context, FIXTURE_DEVICES, &info, &err),
                   VYRE_ERROR_NOT_FOUND);
  large.known.struct_size = sizeof large;
  assert_int_equal(vyre_context_device_info(context, 0, &large.known, NULL), VYRE_OK);
  assert_int_equal(large.known.struct_size, sizeof info);
  assert_int_equal(large.later, 77);
  vyre_context_destroy(context);
}

/* Translated field by field, accelerators before CPUs. */
static void test_devices(void **state)
{
  static const char *const order[] = {"fixture:0", "fixture:1", "fixture:2", "fixture:4",
                                      "fixture:3"};
  vyre_context *context = fixture_or_fail("none");
  vyre_device_info info;
  uint32_t i;
  (void)state;
  for (i = 0; i < FIXTURE_DEVICES; i++) {
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    assert_int_equal(vyre_context_device_info(context, i, &info, NULL), VYRE_OK);
    assert_string_equal(info.selector, order[i]);
  }
  assert_int_equal(info.device_class, VYRE_DEVICE_CPU);
  assert_int_equal(vyre_context_device_info(context, 0, &info, NULL), VYRE_OK);
  assert_int_equal(info.device_class, VYRE_DEVICE_GPU);
  assert_int_equal(info.capabilities, VYRE_CAP_BUFFERS);
  assert_string_equal(info.backend, "fixture");
  assert_string_equal(info.name, "Fixture 0");
  assert_string_equal(info.id, "0000:c1:00.0");
  assert_string_equal(info.pci, "0000:c1:00.0");
  assert_string_equal(info.uuid, "01234567-89ab-cdef-0123-456789abcdef");
  assert_string_equal(info.arch, "fixture");
  assert_string_equal(info.driver, "fixture 1.0");
  assert_int_equal(info.memory_bytes, 1u << 30);
  assert_int_equal(info.max_buffer_bytes, 1u << 28);
  assert_int_equal(info.max_workgroup_memory, 1u << 16);
  assert_int_equal(info.max_workgroup[2], 64);
  assert_int_equal(info.max_workgroup_items, 1024);
  assert_int_equal(info.max_groups[2], 65535);
  assert_int_equal(info.compute_units, 4);
  assert_int_equal(info.subgroup_size, 0);
  assert_int_equal(info.max_push_bytes, 128);
  assert_int_equal(info.max_bindings, 64);
  assert_string_equal(info.persistent_reason, "the fixture has no tier 4");
  assert_string_equal(info.compiler_reason, "the fixture has no compiler");
  vyre_context_destroy(context);
}

/* What a device says of its grid, and a reason wherever it is not native. */
static void test_grid_sync(void **state)
{
  static const char *const reasons[] = {"plugin fixture has no tier 3",
                                        "the fixture's groups do not meet", ""};
  char path[FIXTURE_PATH_SIZE];
  fixture plugin;
  vyre_grid_sync sync;
  (void)state;
  fixture_path("none", path);
  plugin = fixture_attach(path);
  if (!plugin.set) {
    fail_msg("'%s' is no fixture", path);
    return;
  }
  plugin.set("cooperative_items", 77);
  plugin.set("timestamps", 1);
  for (sync = VYRE_GRID_SYNC_NONE; sync <= VYRE_GRID_SYNC_NATIVE; sync++) {
    vyre_device_info info = {.struct_size = sizeof info};
    vyre_context *context = NULL;
    plugin.set("grid_sync", sync);
    context = fixture_or_fail("none");
    assert_int_equal(vyre_context_device_info(context, 0, &info, NULL), VYRE_OK);
    assert_int_equal(info.capabilities, VYRE_CAP_BUFFERS | VYRE_CAP_TIMESTAMPS);
    assert_int_equal(info.grid_sync, sync);
    assert_int_equal(info.cooperative_items, sync == VYRE_GRID_SYNC_NATIVE ? 77 : 0);
    assert_string_equal(info.grid_sync_reason, reasons[sync]);
    /* Without buffers there is nothing to run passes on. */
    assert_int_equal(vyre_context_device_info(context, 3, &info, NULL), VYRE_OK);
    assert_string_equal(info.id, "npu");
    assert_int_equal(info.grid_sync, VYRE_GRID_SYNC_NONE);
    assert_string_equal(info.grid_sync_reason, reasons[0]);
    /* A caller of 0.1 gets what it knows. */
    memset(&info, 0x55, sizeof info);
    info.struct_size = offsetof(vyre_device_info, grid_sync);
    assert_int_equal(vyre_context_device_info(context, 0, &info, NULL), VYRE_OK);
    assert_int_equal(info.struct_size, offsetof(vyre_device_info, grid_sync));
    assert_int_equal(info.grid_sync, 0x55555555);
    vyre_context_destroy(context);
  }
  plugin.set("reset", 0);
  fixture_detach(&plugin);
}

/* What the rest of the core asks. */
static void test_backends(void **state)
{
  vyre_context *context = fixture_or_fail("none");
  const vyre_backend *backend = vyre__context_backend(context, "fixture");
  (void)state;
  assert_non_null(backend);
  assert_ptr_equal(vyre__context_backend_at(context, 0), backend);
  assert_null(vyre__context_backend_at(context, 1));
  assert_null(vyre__context_backend(context, "absent"));
  assert_true(vyre__context_is_ours(context));
  assert_non_null(vyre__context_allocator(context)->allocate);
  vyre_context_destroy(context);
}

/* The embedded default is found with no help, beside this very library. */
static void test_default_context(void **state)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_context *context = NULL;
  vyre_device *device = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  assert_int_equal(vyre_context_create(NULL, &context, NULL), VYRE_OK);
  vyre_context_destroy(context);
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  if (open_selected(context, "cpu", &device, &err))
    fail_msg("%s", err.message);
  vyre_device_close(device);
  vyre_context_destroy(context);
}

/* ---- memory ---- */

typedef struct counted {
  int64_t live;
  uint64_t calls;
} counted;

static void *count_allocate(void *self, uint64_t size, uint64_t align)
{
  counted *by = self;
  void *memory = vyre__default_allocator.allocate(NULL, size, align);
  if (memory) {
    by->live += 1;
    by->calls += 1;
  }
  return memory;
}

static void count_deallocate(void *self, void *memory)
{
  counted *by = self;
  if (memory)
    by->live -= 1;
  vyre__default_allocator.deallocate(NULL, memory);
}

/* The caller's allocator is copied, used, and gets everything back. */
static void test_allocator(void **state)
{
  counted by = {0, 0};
  vyre_allocator allocator = {&by, count_allocate, count_deallocate};
  char path[FIXTURE_PATH_SIZE];
  const char *files[] = {path};
  vyre_context_options options = only_files(files, 1);
  vyre_context *context = NULL;
  vyre_device *device = NULL;
  vyre_buffer *buffer = NULL;
  (void)state;
  fixture_path("none", path);
  options.allocator = &allocator;
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  memset(&allocator, 0, sizeof allocator);
  memset(path, 'x', sizeof path - 1); /* was borrowed for the call only */
  assert_true(by.live > 0);
  assert_int_equal(open_selected(context, "fixture:0", &device, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_create(device, 64, &buffer, NULL), VYRE_OK);
  vyre_buffer_destroy(buffer);
  vyre_device_close(device);
  vyre_context_destroy(context);
  assert_int_equal(by.live, 0);
  assert_true(by.calls >= 8);
}

/* A folder with every kind of candidate, and each allocation failing in its turn. */
static void test_no_memory(void **state)
{
  char folder[FIXTURE_PATH_SIZE], path[2 * FIXTURE_PATH_SIZE + 16];
  vyre_context *context = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t n, count;
  (void)state;
  make_folder(folder);
  put_plugin(folder, "a", "none");
  put_plugin(folder, "b", "shadowed");
  put_plugin(folder, "c", "refusing");
  put_plugin(folder, "d", "info_broken");
  put_plugin(folder, "e", "no_symbol");
  put_plugin(folder, "f", "tier_1");
  snprintf(path, sizeof path, "%s:%s/absent", folder, folder);
  vyre__test_fail_allocation(0);
  assert_int_equal(context_of_path(path, &context, &err), VYRE_OK);
  count = vyre__test_allocation_count();
  vyre_context_destroy(context);
  assert_true(count > 20);
  for (n = 1; n <= count; n++) {
    vyre_context *none = NULL;
    memset(err.message, 0, sizeof err.message);
    vyre__test_fail_allocation(n);
    assert_int_equal(context_of_path(path, &none, &err), VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(err.code, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_true(err.message[0]);
    assert_null(none);
    assert_false(is_mapped("libvyre_fixture"));
  }
  vyre__test_fail_allocation(0);
  remove_folder(folder);
}

/* An error record of an older or newer caller is filled as far as it goes. */
static void test_error_sizes(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_context *context = NULL;
  (void)state;
  err.struct_size = (uint32_t)offsetof(vyre_error, message);
  assert_int_equal(fixture_context("refusing", &context, &err), VYRE_ERROR_REFUSED);
  assert_int_equal(err.code, VYRE_ERROR_REFUSED);
  assert_string_equal(err.message, "");
  err.struct_size = 0;
  err.code = 77;
  assert_int_equal(fixture_context("refusing", &context, &err), VYRE_ERROR_REFUSED);
  assert_int_equal(err.code, 77);
  assert_int_equal(fixture_context("refusing", &context, NULL), VYRE_ERROR_REFUSED);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options),           cmocka_unit_test(test_larger_options),
      cmocka_unit_test(test_nothing_at_all),    cmocka_unit_test(test_no_devices),
      cmocka_unit_test(test_candidate_structs), cmocka_unit_test(test_device_structs),
      cmocka_unit_test(test_devices),           cmocka_unit_test(test_grid_sync),
      cmocka_unit_test(test_backends),          cmocka_unit_test(test_default_context),
      cmocka_unit_test(test_allocator),         cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_error_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
