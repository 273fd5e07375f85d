/* The parts of core/dispatch that need no device: fingerprint, times, route names. */
#include "core/dispatch/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_fingerprint(void **state)
{
  static const char *const names[] = {"a", "b"}, *const swapped[] = {"b", "a"};
  const vyre_bytes bytes[] = {{"xyz", 3}, {"", 0}}, turned[] = {{"", 0}, {"xyz", 3}};
  (void)state;
  assert_true(vyre_fingerprint(names, bytes, 0) == 0);
  assert_true(vyre_fingerprint(NULL, NULL, 0) == 0);
  /* FNV-1a of the one byte 0xff. */
  assert_true(vyre_fingerprint(&(const char *){""}, &(vyre_bytes){NULL, 0}, 1) ==
              (0xcbf29ce484222325u ^ 0xff) * 0x100000001b3u);
  /* The order of the buffers does not count, which name has which bytes does. */
  assert_true(vyre_fingerprint(names, bytes, 2) == vyre_fingerprint(swapped, turned, 2));
  assert_true(vyre_fingerprint(names, bytes, 2) != vyre_fingerprint(swapped, bytes, 2));
  assert_true(vyre_fingerprint(names, bytes, 2) != vyre_fingerprint(names, bytes, 1));
}

static void put_u64(unsigned char *to, uint64_t value)
{
  for (int i = 0; i < 8; ++i)
    to[i] = (unsigned char)(value >> (8 * i));
}

/* Two different states with one fingerprint: equal fingerprints prove nothing. */
static void test_fingerprint_collision(void **state)
{
  static const char *const names[] = {"a", "b"};
  static const uint64_t pairs[2][2] = {{0x9119e5759d608b20u, 0xea1c82344b38248au},
                                       {0xf20ba5d1a572cee2u, 0x446afcda523c7899u}};
  unsigned char bytes[2][8];
  const vyre_bytes buffers[] = {{bytes[0], 8}, {bytes[1], 8}};
  (void)state;
  for (int p = 0; p < 2; ++p) {
    put_u64(bytes[0], pairs[p][0]);
    put_u64(bytes[1], pairs[p][1]);
    assert_true(vyre_fingerprint(names, buffers, 2) == 0xb95cc60da91b6e42u);
  }
}

static void test_times(void **state)
{
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_backend_times times = {sizeof times, 0, 10, 20, VYRE_TIME_ABSENT, 0, 0};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre__times_add(&result, &times, &err), VYRE_OK);
  times.wait_ns = 5; /* one absent makes the sum absent, and it stays that */
  times.enqueue_ns = 1;
  assert_int_equal(vyre__times_add(&result, &times, &err), VYRE_OK);
  assert_int_equal(result.device_ns, 20);
  assert_int_equal(result.enqueue_ns, 21);
  assert_true(result.wait_ns == VYRE_TIME_ABSENT);
  /* Overflow is an error, also when the sum would read as absent; nothing changes. */
  times.enqueue_ns = VYRE_TIME_ABSENT - 21;
  assert_int_equal(vyre__times_add(&result, &times, &err), VYRE_ERROR_DISPATCH_FAILED);
  assert_int_equal(result.device_ns, 20);
  times.enqueue_ns = VYRE_TIME_ABSENT - 1;
  assert_int_equal(vyre__times_add(&result, &times, &err), VYRE_ERROR_DISPATCH_FAILED);
  assert_int_equal(result.enqueue_ns, 21);
}

static void test_route_names(void **state)
{
  (void)state;
  assert_string_equal(vyre_route_name(VYRE_ROUTE_AUTO), "auto");
  assert_string_equal(vyre_route_name(VYRE_ROUTE_NATIVE), "native");
  assert_string_equal(vyre_route_name(VYRE_ROUTE_RESIDENT), "resident");
  assert_string_equal(vyre_route_name(VYRE_ROUTE_HOST), "host");
  assert_string_equal(vyre_route_name(4), "unknown");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fingerprint),
      cmocka_unit_test(test_fingerprint_collision),
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_route_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
