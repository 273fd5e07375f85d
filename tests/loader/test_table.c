/*
 * test_table.c - the rules of the table for what 0.3 appended, one slot and one bit at a time: the
 * cpu plugin's own table, copied and changed.
 */
#include "core/device/device.h"
#include "core/loader/table.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void *library;
static vyre_backend sound;
static vyre_backend_device_info info;

static int set_up(void **state)
{
  const vyre_backend *backend = NULL;
  vyre_backend_query_fn query = NULL;
  void *symbol = NULL;
  (void)state;
  library = dlopen(VYRE_TEST_BINARY_DIR "/lib/vyre/libvyre_cpu.so", RTLD_NOW | RTLD_LOCAL);
  symbol = library ? dlsym(library, VYRE_BACKEND_QUERY_SYMBOL) : NULL;
  if (!symbol)
    return 1;
  memcpy(&query, &symbol, sizeof query);
  if (query(&vyre__host, &backend, NULL) || backend->struct_size != sizeof sound)
    return 1;
  sound = *backend;
  info.struct_size = sizeof info;
  return backend->device_info(0, &info, NULL) ? 1 : 0;
}

static int tear_down(void **state)
{
  (void)state;
  return dlclose(library);
}

static void expect(const vyre_backend *table, const char *text)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_status status = vyre__table_check(table, &vyre__host, &err);
  if (!text && status)
    fail_msg("refused: %s", err.message);
  if (text && (status != VYRE_ERROR_ABI_MISMATCH || !strstr(err.message, text)))
    fail_msg("'%s', not '%s'", err.message, text);
}

static void expect_device(const vyre_backend *table, const vyre_backend_device_info *device,
                          const char *text)
{
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_status status = vyre__device_info_check(table, device, &err);
  if (!text && status)
    fail_msg("refused: %s", err.message);
  if (text && (status != VYRE_ERROR_ABI_MISMATCH || !strstr(err.message, text)))
    fail_msg("'%s', not '%s'", err.message, text);
}

static void sequences_are_all_or_none(void **state)
{
  vyre_backend table = sound;
  (void)state;
  expect(&table, NULL);
  table.sequence_start = NULL;
  expect(&table, "sequence_create is filled and sequence_start is NULL (ABI-003)");
  table = sound;
  table.sequence_release = NULL;
  expect(&table, "sequence_create is filled and sequence_release is NULL (ABI-003)");
  table = sound;
  table.sequence_create = NULL;
  expect(&table, "sequence_start is filled and sequence_create is NULL (ABI-003)");
  table.sequence_start = NULL;
  table.sequence_release = NULL;
  expect(&table, NULL);
}

static void the_capability_needs_the_slots(void **state)
{
  vyre_backend table = sound;
  vyre_backend_device_info device = info;
  (void)state;
  assert_true(device.capabilities & VYRE_CAP_SEQUENCES);
  expect_device(&table, &device, NULL);
  table.sequence_create = NULL;
  table.sequence_start = NULL;
  table.sequence_release = NULL;
  expect_device(&table, &device, "promises VYRE_CAP_SEQUENCES without the slots of sequences");
  device.capabilities &= ~VYRE_CAP_SEQUENCES;
  expect_device(&table, &device, NULL);
  /* Slots that a device makes no promise of are none of its business. */
  expect_device(&sound, &device, NULL);
  device = info;
  device.capabilities = VYRE_CAP_SEQUENCES;
  device.grid_sync = VYRE_GRID_SYNC_NONE;
  expect_device(&sound, &device, "promises VYRE_CAP_SEQUENCES without VYRE_CAP_BUFFERS");
}

/* A table that ends before the slots has none, whatever lies behind it; nor has an older one. */
static void shorter_and_older_tables(void **state)
{
  vyre_backend table = sound;
  vyre_backend_device_info device;
  (void)state;
  table.struct_size = (uint32_t)offsetof(vyre_backend, sequence_create);
  memset((char *)&table + table.struct_size, 0x77, sizeof table - table.struct_size);
  expect(&table, NULL);
  device = info;
  vyre__device_info_limit(&table, &device);
  expect_device(&table, &device, "promises VYRE_CAP_SEQUENCES without the slots of sequences");
  device.capabilities &= ~VYRE_CAP_SEQUENCES;
  expect_device(&table, &device, NULL);
  table.struct_size -= 1; /* into what 0.3 has had from the start */
  expect(&table, "speaks ABI 0.3 with a table of");

  for (uint32_t minor = 1; minor <= 2; ++minor) {
    const uint32_t sizes[] = {VYRE_BACKEND_SIZE_0_1, VYRE_BACKEND_SIZE_0_2};
    table = sound;
    table.struct_size = sizes[minor - 1];
    table.abi_minor = minor;
    expect(&table, NULL);
    table.struct_size = sizeof table; /* filled, and not read */
    table.sequence_start = NULL;
    expect(&table, NULL);
    device = info;
    vyre__device_info_limit(&table, &device);
    assert_false(device.capabilities & VYRE_CAP_SEQUENCES);
    expect_device(&table, &device, NULL);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sequences_are_all_or_none),
      cmocka_unit_test(the_capability_needs_the_slots),
      cmocka_unit_test(shorter_and_older_tables),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
