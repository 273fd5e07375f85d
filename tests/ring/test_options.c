/* What a ring may be asked to be: options, rounding, sizes, and every allocation failing. */
#include "tests/ring/ring_help.h"

#include "core/base/alloc.h"

static vyre_ring *const untouched = (vyre_ring *)(void *)&first_positions;

static void refused(const vyre_ring_options *options, const char *message, const char *fix)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_ring *ring = untouched;
  uint64_t size = 7;
  assert_int_equal(vyre_ring_create(options, &ring, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_ptr_equal(ring, untouched);
  assert_int_equal(err.code, VYRE_ERROR_INVALID_ARGUMENT);
  if (!strstr(err.message, message) || !strstr(err.fix, fix))
    fail_msg("message '%s', fix '%s'", err.message, err.fix);
  memset(err.message, 0, sizeof err.message);
  assert_int_equal(vyre_ring_region_size(options, &size, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(size, 7);
  assert_non_null(strstr(err.message, message));
}

static void test_capacities(void **state)
{
  static const uint32_t bad[] = {0, 3, 5, 6, 7, 12, 1000, 0x7fffffff, 0x80000001u, UINT32_MAX};
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    options.capacity = bad[i];
    refused(&options, "capacity", "power of two from 1 to 2147483648");
  }
  for (uint32_t capacity = 1; capacity <= 1u << 16; capacity *= 2) {
    vyre_ring *ring = NULL;
    options.capacity = capacity;
    assert_int_equal(vyre_ring_create(&options, &ring, NULL), VYRE_OK);
    assert_int_equal(vyre_ring_capacity(ring), capacity);
    vyre_ring_destroy(ring);
  }
}

static void test_other_options(void **state)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  const vyre_ring_options good = {
      sizeof options, 4, VYRE_WAITING_ON, VYRE_COMPLETION_BY_TICKET, 0, 0};
  (void)state;
  options = good;
  options.waiting = 2;
  refused(&options, "waiting", "VYRE_WAITING_OFF");
  options = good;
  options.completion = 2;
  refused(&options, "completion", "VYRE_COMPLETION_BY_TICKET");
  options = good;
  options.flags = 1;
  refused(&options, "flags", "0");
  options = good;
  options.max_unfinished = 6;
  refused(&options, "max_unfinished", "power of two");
  options.max_unfinished = 2;
  refused(&options, "max_unfinished", "from the capacity");
  options.max_unfinished = 4;
  options.completion = VYRE_COMPLETION_NONE;
  refused(&options, "max_unfinished", "BY_TICKET");
  options = good;
  options.struct_size = 8;
  refused(&options, "struct_size", "VYRE_RING_OPTIONS_INIT");
  options.struct_size = 0;
  refused(&options, "struct_size", "VYRE_RING_OPTIONS_INIT");
  refused(NULL, "options is NULL", "VYRE_RING_OPTIONS_INIT");
}

/* A structure of a newer header is longer; what is behind our part is not looked at. */
static void test_longer_options(void **state)
{
  struct {
    vyre_ring_options options;
    uint64_t more;
  } longer = {VYRE_RING_OPTIONS_INIT, UINT64_MAX};
  vyre_ring *ring = NULL;
  (void)state;
  longer.options.struct_size = sizeof longer;
  longer.options.capacity = 2;
  assert_int_equal(vyre_ring_create(&longer.options, &ring, NULL), VYRE_OK);
  vyre_ring_destroy(ring);
}

static void test_rounding(void **state)
{
  static const struct {
    uint32_t asked, given;
  } rows[] = {{0, 1}, {1, 1},     {2, 2},     {3, 4},       {4, 4},
              {5, 8}, {127, 128}, {128, 128}, {1000, 1024}, {65537, 131072}};
  static const uint32_t too_large[] = {0x80000001u, 0xc0000000u, UINT32_MAX};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    vyre_ring *ring = NULL;
    assert_int_equal(vyre_ring_create_rounded(rows[i].asked, &ring, NULL), VYRE_OK);
    assert_int_equal(vyre_ring_capacity(ring), rows[i].given);
    assert_int_equal(vyre_ring_wait(ring, 0, 0), VYRE_ERROR_UNSUPPORTED);
    vyre_ring_destroy(ring);
  }
  for (size_t i = 0; i < sizeof too_large / sizeof *too_large; ++i) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_ring *ring = untouched;
    assert_int_equal(vyre_ring_create_rounded(too_large[i], &ring, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_ptr_equal(ring, untouched);
    assert_non_null(strstr(err.message, "2^31"));
    assert_non_null(strstr(err.fix, "2147483648"));
  }
  /* The largest that is allowed: rounded to itself, and then there is no memory for it. */
  for (uint32_t asked = (1u << 31) - 1; asked <= 1u << 31; ++asked) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_ring *ring = untouched;
    vyre__test_fail_allocation(1);
    assert_int_equal(vyre_ring_create_rounded(asked, &ring, &err), VYRE_ERROR_OUT_OF_HOST_MEMORY);
    vyre__test_fail_allocation(0);
    assert_ptr_equal(ring, untouched);
    assert_non_null(strstr(err.fix, "smaller"));
  }
}

static uint64_t size_of(uint32_t capacity, vyre_completion_mode completion, uint32_t unfinished)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  uint64_t size = 0;
  options.capacity = capacity;
  options.completion = completion;
  options.max_unfinished = unfinished;
  assert_int_equal(vyre_ring_region_size(&options, &size, NULL), VYRE_OK);
  return size;
}

static uint64_t lines(uint64_t bytes)
{
  return (bytes + 127) / 128 * 128;
}

static void test_region_sizes(void **state)
{
  (void)state;
  for (uint32_t log2 = 0; log2 <= 31; ++log2) {
    const uint64_t n = 1ull << log2;
    const uint64_t cells = 0x400 + lines(n * 128);
    assert_true(size_of((uint32_t)n, VYRE_COMPLETION_NONE, 0) == cells + lines(n * 8));
    assert_true(size_of((uint32_t)n, VYRE_COMPLETION_BY_TICKET, 0) == cells + 2 * lines(4 * n * 8));
    assert_true(size_of((uint32_t)n, VYRE_COMPLETION_BY_TICKET, (uint32_t)n) ==
                cells + 2 * lines(n * 8));
    assert_true(size_of((uint32_t)n, VYRE_COMPLETION_BY_TICKET, 1u << 31) == cells + (16ull << 31));
  }
}

static void test_device_setups(void **state)
{
  vyre__ring_setup setup = {.options = VYRE_RING_OPTIONS_INIT, .device = true};
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t size = 7;
  (void)state;
  setup.options.capacity = 64;
  assert_int_equal(vyre__ring_region_size(&setup, &size, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.fix, "BY_TICKET"));
  setup.options.completion = VYRE_COMPLETION_BY_TICKET;
  assert_int_equal(vyre__ring_region_size(&setup, &size, &err), VYRE_OK);
  assert_int_equal(size, 0x400 + 64 * 128 + 256 * 16 + 256 * 8 * 16);
  setup.options.capacity = 1u << 30;
  assert_int_equal(vyre__ring_region_size(&setup, &size, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.fix, "max_unfinished"));
  setup.options.max_unfinished = 1u << 31;
  assert_int_equal(vyre__ring_region_size(&setup, &size, &err), VYRE_OK);
  setup.first_position = 1ull << 56;
  assert_int_equal(vyre__ring_region_size(&setup, &size, &err), VYRE_ERROR_INVALID_ARGUMENT);
}

static void test_memory_that_does_not_do(void **state)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_ring *ring = untouched;
  uint64_t size = 0;
  unsigned char *memory, *before;
  (void)state;
  options.capacity = 8;
  assert_int_equal(vyre_ring_region_size(&options, &size, NULL), VYRE_OK);
  memory = aligned_alloc(128, size + 128);
  before = malloc(size + 128);
  assert_true(memory && before);
  memset(memory, 0x5a, size + 128);
  memset(before, 0x5a, size + 128);
  assert_int_equal(vyre_ring_init(memory, size - 1, &options, &ring, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.fix, "vyre_ring_region_size"));
  assert_int_equal(vyre_ring_init(memory + 64, size, &options, &ring, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.fix, "128"));
  assert_ptr_equal(ring, untouched);
  vyre__test_fail_allocation(1);
  assert_int_equal(vyre_ring_init(memory, size, &options, &ring, &err),
                   VYRE_ERROR_OUT_OF_HOST_MEMORY);
  vyre__test_fail_allocation(0);
  assert_ptr_equal(ring, untouched);
  assert_memory_equal(memory, before, size + 128);
  /* Exactly as many bytes as asked for are used. */
  assert_int_equal(vyre_ring_init(memory, size, &options, &ring, &err), VYRE_OK);
  assert_memory_equal(memory + size, before, 128);
  vyre__test_fail_allocation(1);
  {
    vyre_ring *second = untouched;
    assert_int_equal(vyre_ring_attach(memory, size, &second, &err), VYRE_ERROR_OUT_OF_HOST_MEMORY);
    vyre__test_fail_allocation(0);
    assert_ptr_equal(second, untouched);
  }
  vyre_ring_destroy(ring);
  free(memory);
  free(before);
}

static void test_every_allocation_fails(void **state)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  uint64_t allocations;
  vyre_ring *ring = NULL;
  (void)state;
  options.capacity = 16;
  options.completion = VYRE_COMPLETION_BY_TICKET;
  vyre__test_fail_allocation(0);
  assert_int_equal(vyre_ring_create(&options, &ring, NULL), VYRE_OK);
  allocations = vyre__test_allocation_count();
  assert_true(allocations > 0);
  vyre_ring_destroy(ring);
  for (uint64_t n = 1; n <= allocations; ++n) {
    vyre_error err = VYRE_ERROR_INIT;
    ring = untouched;
    vyre__test_fail_allocation(n);
    assert_int_equal(vyre_ring_create(&options, &ring, &err), VYRE_ERROR_OUT_OF_HOST_MEMORY);
    vyre__test_fail_allocation(0);
    assert_ptr_equal(ring, untouched);
    assert_true(err.message[0] && err.fix[0]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_capacities),
      cmocka_unit_test(test_other_options),
      cmocka_unit_test(test_longer_options),
      cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_region_sizes),
      cmocka_unit_test(test_device_setups),
      cmocka_unit_test(test_memory_that_does_not_do),
      cmocka_unit_test(test_every_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
