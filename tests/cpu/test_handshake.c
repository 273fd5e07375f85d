/*
 * test_handshake.c - the first call, the table, the device's description, opening and closing.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static cpu_plugin plugin;

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

static vyre_backend_query_fn query_of(const cpu_plugin *from)
{
  vyre_backend_query_fn query;
  void *symbol = dlsym(from->library, VYRE_BACKEND_QUERY_SYMBOL);
  memcpy(&query, &symbol, sizeof(query));
  return query;
}

static void refused(const vyre_host *host, vyre_status want, const char *part)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *backend = NULL;
  assert_int_equal(query_of(&plugin)(host, &backend, &err), want);
  assert_null(backend);
  assert_int_equal(err.code, want);
  assert_contains(err.message, part);
  assert_true(err.fix[0] != '\0');
  assert_int_equal(query_of(&plugin)(host, &backend, NULL), want);
}

static void versions_are_negotiated(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *backend = NULL;
  vyre_host host = plugin.host;
  (void)state;
  host.abi_major = VYRE_ABI_MAJOR + 1;
  refused(&host, VYRE_ERROR_ABI_MISMATCH, "0.1 to 0.3");
  host = plugin.host;
  host.abi_minor_min = host.abi_minor_max = VYRE_ABI_MINOR + 1;
  refused(&host, VYRE_ERROR_ABI_MISMATCH, "0.4 to 0.4");
  host.abi_minor_min = host.abi_minor_max = 0;
  refused(&host, VYRE_ERROR_ABI_MISMATCH, "0.0 to 0.0");
  host.abi_minor_min = 2;
  host.abi_minor_max = 1;
  refused(&host, VYRE_ERROR_ABI_MISMATCH, "0.2 to 0.1");
  host.abi_minor_min = 0;
  host.abi_minor_max = VYRE_ABI_MINOR + 7;
  assert_int_equal(query_of(&plugin)(&host, &backend, &err), VYRE_OK);
  assert_ptr_equal(backend, plugin.backend);
  assert_int_equal(query_of(&plugin)(&plugin.host, &backend, &err), VYRE_OK);
}

/* The table that a host of ABI 0.1 gets. */
static const vyre_backend *oldest(void)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *backend = NULL, *again = NULL;
  static vyre_host host;
  host = plugin.host;
  host.abi_minor_min = 0;
  host.abi_minor_max = 1;
  vyre_status status = query_of(&plugin)(&host, &backend, &err);
  assert_ok(status, err);
  host.abi_minor_min = 1;
  assert_int_equal(query_of(&plugin)(&host, &again, &err), VYRE_OK);
  assert_ptr_equal(backend, again);
  assert_ptr_not_equal(backend, plugin.backend);
  return backend;
}

/* 0.1: a table that ends earlier, a device of which later bits and fields are not told. */
static void hosts_of_0_1(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device_info info, now = {.struct_size = sizeof(now)};
  const vyre_backend *b = oldest();
  (void)state;
  assert_int_equal(b->struct_size, VYRE_BACKEND_SIZE_0_1);
  assert_int_equal(b->abi_major, 0);
  assert_int_equal(b->abi_minor, 1);
  assert_int_equal(b->header_version, VYRE_ABI_VERSION);
  assert_ptr_equal(b->dispatch, plugin.backend->dispatch);
  assert_ptr_equal(b->coherent_alloc, plugin.backend->coherent_alloc);
  assert_null(b->cooperative_groups);
  assert_null(b->device_clock);
  assert_int_equal(plugin.backend->device_info(0, &now, &err), VYRE_OK);
  /* However long its structure is: what it has compiled and what it has negotiated may differ. */
  for (uint32_t more = 0; more < 2; ++more) {
    memset(&info, 0x77, sizeof(info));
    info.struct_size = more ? (uint32_t)sizeof(info) : VYRE_BACKEND_DEVICE_INFO_SIZE_0_1;
    vyre_status status = b->device_info(0, &info, &err);
    assert_ok(status, err);
    assert_int_equal(info.struct_size, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
    assert_int_equal(info.capabilities,
                     now.capabilities & ~(VYRE_CAP_TIMESTAMPS | VYRE_CAP_SEQUENCES));
    assert_int_equal(info.grid_sync, 0x77777777);
    assert_int_equal(info.cooperative_items, 0x77777777);
  }
  vyre_backend_device *device = NULL;
  vyre_status status = b->device_open(0, NULL, &device, &err);
  assert_ok(status, err);
  b->device_close(device);
}

/* 0.2: the same device without what came later. */
static void hosts_of_0_2(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device_info info = {.struct_size = sizeof(info)}, now = {.struct_size = sizeof(now)};
  const vyre_backend *b = NULL;
  vyre_host host = plugin.host;
  (void)state;
  host.abi_minor_min = host.abi_minor_max = 2;
  assert_int_equal(query_of(&plugin)(&host, &b, &err), VYRE_OK);
  assert_int_equal(b->struct_size, VYRE_BACKEND_SIZE_0_2);
  assert_int_equal(b->abi_minor, 2);
  assert_ptr_equal(b->device_clock, plugin.backend->device_clock);
  assert_int_equal(plugin.backend->device_info(0, &now, &err), VYRE_OK);
  assert_int_equal(b->device_info(0, &info, &err), VYRE_OK);
  assert_true(now.capabilities & VYRE_CAP_SEQUENCES);
  assert_int_equal(info.capabilities, now.capabilities & ~VYRE_CAP_SEQUENCES);
  assert_int_equal(info.grid_sync, now.grid_sync);
}

static void structures_of_other_sizes(void **state)
{
  struct later_host {
    vyre_host host;
    uint64_t more[4];
  } later;
  const vyre_backend *backend = NULL;
  vyre_host host = plugin.host;
  (void)state;
  host.struct_size = VYRE_HOST_SIZE_0_1 - 1;
  refused(&host, VYRE_ERROR_INVALID_ARGUMENT, "vyre_host");
  refused(NULL, VYRE_ERROR_INVALID_ARGUMENT, "vyre_host");
  host = plugin.host;
  host.flags = 1;
  refused(&host, VYRE_ERROR_INVALID_ARGUMENT, "flags");
  host = plugin.host;
  host.allocate = NULL;
  refused(&host, VYRE_ERROR_INVALID_ARGUMENT, "allocate");
  memset(&later, 0x77, sizeof(later));
  later.host = plugin.host;
  later.host.struct_size = sizeof(later);
  assert_int_equal(query_of(&plugin)(&later.host, &backend, NULL), VYRE_OK);
  assert_int_equal(query_of(&plugin)(&plugin.host, &backend, NULL), VYRE_OK);
}

/* A short error record is filled as far as it reaches, never behind. */
static void short_error_records(void **state)
{
  vyre_error err;
  const vyre_backend *backend = NULL;
  (void)state;
  memset(&err, 0x77, sizeof(err));
  err.struct_size = offsetof(vyre_error, where);
  assert_int_equal(query_of(&plugin)(NULL, &backend, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(err.code, VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(err.vendor_code, 0);
  assert_int_equal(err.where[0], 0x77);
  assert_int_equal(err.message[0], 0x77);
  assert_int_equal(err.fix[0], 0x77);
}

static void the_table_is_complete(void **state)
{
  const vyre_backend *b = plugin.backend;
  (void)state;
  assert_true(b->struct_size >= VYRE_BACKEND_SIZE_0_1);
  assert_int_equal(b->abi_major, VYRE_ABI_MAJOR);
  assert_int_equal(b->abi_minor, VYRE_ABI_MINOR);
  assert_int_equal(b->header_version, VYRE_ABI_VERSION);
  assert_true(b->flags & VYRE_BACKEND_MAY_UNLOAD);
  assert_string_equal(b->name, "cpu");
  assert_true(b->version && b->vendor && b->build_id);
  assert_true(b->device_count && b->device_info && b->device_open && b->device_close);
  assert_true(b->compile && b->module_load && b->module_unload && b->kernel_find);
  assert_true(b->dispatch && b->pending_wait && b->pending_read && b->pending_release);
  assert_true(b->buffer_alloc && b->buffer_free && b->buffer_upload && b->buffer_download);
  assert_true(b->buffer_fill && b->buffer_copy && b->buffer_import && b->buffer_export);
  assert_non_null(b->coherent_alloc);
  assert_true(b->struct_size >= VYRE_BACKEND_SIZE_0_3);
  assert_true(b->cooperative_groups && b->device_clock);
  assert_true(b->sequence_create && b->sequence_start && b->sequence_release);
  assert_null(b->event_record);    /* no vendor whose events it could share */
  assert_null(b->dispatch_passes); /* for devices that cannot synchronise their grid */
  assert_true(b->format_count >= 2);
  for (uint32_t i = 0; i < b->format_count; ++i) {
    const vyre_backend_format *format =
        (const vyre_backend_format *)(const void *)((const char *)b->formats +
                                                    i * b->format_stride);
    assert_int_equal(format->struct_size, sizeof(*format));
    assert_string_equal(format->format, i + 1 < b->format_count ? "native" : "vyre-c");
  }
  assert_int_equal(strlen(b->prelude), b->prelude_size);
  assert_contains(b->prelude, "VYRE_SEGMENT");
}

static void the_device_is_described(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  struct later_info {
    vyre_backend_device_info info;
    uint64_t more;
  } later;
  vyre_backend_device_info again = {.struct_size = sizeof(again)};
  uint32_t count = 0;
  (void)state;
  assert_int_equal(plugin.backend->device_count(&count, &err), VYRE_OK);
  assert_int_equal(count, 1);
  assert_int_equal(plugin.backend->device_count(NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  memset(&later, 0x77, sizeof(later));
  later.info.struct_size = sizeof(later);
  vyre_status status = plugin.backend->device_info(0, &later.info, &err);
  assert_ok(status, err);
  const vyre_backend_device_info *info = &later.info;
  assert_int_equal(info->struct_size, sizeof(*info));
  assert_int_equal(later.more, 0x7777777777777777);
  assert_int_equal(info->device_class, VYRE_DEVICE_CPU);
  assert_string_equal(info->id, "cpu");
  assert_true(info->name[0] && info->arch[0] && info->driver[0]);
  assert_string_equal(info->pci, "");
  assert_string_equal(info->uuid, "");
  assert_int_equal(info->capabilities,
                   VYRE_CAP_BUFFERS | VYRE_CAP_IMPORT_EXPORT | VYRE_CAP_COHERENT |
                       VYRE_CAP_PERSISTENT | VYRE_CAP_NOTIFY_HOST | VYRE_CAP_COMPILER |
                       VYRE_CAP_ALLOC_WHILE_RESIDENT | VYRE_CAP_TIMESTAMPS | VYRE_CAP_SEQUENCES);
  assert_int_equal(info->grid_sync, VYRE_GRID_SYNC_NATIVE);
  assert_true(info->cooperative_items > 0);
  assert_string_equal(info->grid_sync_reason, "");
  assert_int_equal(info->progress, VYRE_PROGRESS_OCCUPANCY);
  assert_int_equal(info->coherent_atomics, 15);
  assert_true(info->compute_units >= 1 && info->max_push_bytes >= 128 && info->max_bindings >= 16);
  assert_string_equal(info->persistent_reason, "");
  assert_string_equal(info->compiler_reason, "");
  assert_int_equal(plugin.backend->device_info(0, &again, &err), VYRE_OK);
  assert_memory_equal(&again, info, sizeof(again));
  assert_int_equal(plugin.backend->device_info(1, &again, &err), VYRE_ERROR_INVALID_ARGUMENT);
  again.struct_size = 8;
  assert_int_equal(plugin.backend->device_info(0, &again, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(plugin.backend->device_info(0, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
}

static void open_and_close(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device_options options = {.struct_size = sizeof(options)};
  vyre_backend_device *one = NULL, *two = NULL;
  (void)state;
  assert_int_equal(plugin.backend->device_open(0, &options, &one, &err), VYRE_OK);
  assert_int_equal(plugin.backend->device_open(0, NULL, &two, &err), VYRE_OK);
  assert_ptr_not_equal(one, two);
  plugin.backend->device_close(one);
  plugin.backend->device_close(two);
  plugin.backend->device_close(NULL);
  one = NULL;
  options.flags = 4;
  assert_int_equal(plugin.backend->device_open(0, &options, &one, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  options.flags = 0;
  options.struct_size = 4;
  assert_int_equal(plugin.backend->device_open(0, &options, &one, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(plugin.backend->device_open(3, NULL, &one, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(plugin.backend->device_open(0, NULL, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(one);
}

static void thread_count_can_be_set(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_device_info info = {.struct_size = sizeof(info)};
  vyre_backend_device *device = NULL;
  (void)state;
  setenv("VYRE_CPU_THREADS", "5", 1);
  assert_int_equal(plugin.backend->device_info(0, &info, &err), VYRE_OK);
  assert_int_equal(info.compute_units, 5);
  static const char *const bad[] = {"0", "1025", "two", "-1", "5x", " 5"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    setenv("VYRE_CPU_THREADS", bad[i], 1);
    assert_int_equal(plugin.backend->device_open(0, NULL, &device, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_contains(err.message, bad[i]);
    assert_int_equal(plugin.backend->device_info(0, &info, &err), VYRE_OK);
  }
  unsetenv("VYRE_CPU_THREADS");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_are_negotiated),
      cmocka_unit_test(hosts_of_0_1),
      cmocka_unit_test(hosts_of_0_2),
      cmocka_unit_test(structures_of_other_sizes),
      cmocka_unit_test(short_error_records),
      cmocka_unit_test(the_table_is_complete),
      cmocka_unit_test(the_device_is_described),
      cmocka_unit_test(open_and_close),
      cmocka_unit_test(thread_count_can_be_set),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
