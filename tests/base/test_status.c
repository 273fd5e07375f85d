/* Status codes: stable numbers, names, texts, fixes and retry classes. */
#include "vyre.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The numbers are part of the ABI: this table only ever grows at its end. */
static void test_numbers_are_frozen(void **state)
{
  static const struct {
    vyre_status status;
    int number;
    const char *name;
    vyre_retry retry;
  } frozen[] = {
      {VYRE_OK, 0, "VYRE_OK", VYRE_RETRY_NONE},
      {VYRE_ERROR_INVALID_ARGUMENT, 1, "VYRE_ERROR_INVALID_ARGUMENT", VYRE_RETRY_NEVER},
      {VYRE_ERROR_INVALID_PROGRAM, 2, "VYRE_ERROR_INVALID_PROGRAM", VYRE_RETRY_NEVER},
      {VYRE_ERROR_UNSUPPORTED, 3, "VYRE_ERROR_UNSUPPORTED", VYRE_RETRY_NEVER},
      {VYRE_ERROR_OUT_OF_HOST_MEMORY, 4, "VYRE_ERROR_OUT_OF_HOST_MEMORY", VYRE_RETRY_SAME_DEVICE},
      {VYRE_ERROR_OUT_OF_DEVICE_MEMORY, 5, "VYRE_ERROR_OUT_OF_DEVICE_MEMORY",
       VYRE_RETRY_SAME_DEVICE},
      {VYRE_ERROR_COMPILE_FAILED, 6, "VYRE_ERROR_COMPILE_FAILED", VYRE_RETRY_NEVER},
      {VYRE_ERROR_MODULE_FORMAT, 7, "VYRE_ERROR_MODULE_FORMAT", VYRE_RETRY_NEVER},
      {VYRE_ERROR_RESIDENCY_EXCEEDED, 8, "VYRE_ERROR_RESIDENCY_EXCEEDED", VYRE_RETRY_OTHER_ROUTE},
      {VYRE_ERROR_DISPATCH_FAILED, 9, "VYRE_ERROR_DISPATCH_FAILED", VYRE_RETRY_NEVER},
      {VYRE_ERROR_TIMEOUT, 10, "VYRE_ERROR_TIMEOUT", VYRE_RETRY_SAME_CALL},
      {VYRE_ERROR_QUEUE_FULL, 11, "VYRE_ERROR_QUEUE_FULL", VYRE_RETRY_SAME_CALL},
      {VYRE_ERROR_EMPTY, 12, "VYRE_ERROR_EMPTY", VYRE_RETRY_SAME_CALL},
      {VYRE_ERROR_CLOSED, 13, "VYRE_ERROR_CLOSED", VYRE_RETRY_NEVER},
      {VYRE_ERROR_OVERFLOW, 14, "VYRE_ERROR_OVERFLOW", VYRE_RETRY_NEVER},
      {VYRE_ERROR_DEVICE_LOST, 15, "VYRE_ERROR_DEVICE_LOST", VYRE_RETRY_NEW_DEVICE},
      {VYRE_ERROR_FORKED, 16, "VYRE_ERROR_FORKED", VYRE_RETRY_NEVER},
      {VYRE_ERROR_ABI_MISMATCH, 17, "VYRE_ERROR_ABI_MISMATCH", VYRE_RETRY_NEVER},
      {VYRE_ERROR_NOT_A_PLUGIN, 18, "VYRE_ERROR_NOT_A_PLUGIN", VYRE_RETRY_NEVER},
      {VYRE_ERROR_NOT_FOUND, 19, "VYRE_ERROR_NOT_FOUND", VYRE_RETRY_NEVER},
      {VYRE_ERROR_VENDOR_LIBRARY, 20, "VYRE_ERROR_VENDOR_LIBRARY", VYRE_RETRY_NEVER},
      {VYRE_ERROR_NO_DEVICE, 21, "VYRE_ERROR_NO_DEVICE", VYRE_RETRY_NEVER},
      {VYRE_ERROR_REFUSED, 22, "VYRE_ERROR_REFUSED", VYRE_RETRY_NEVER},
      {VYRE_ERROR_IO, 23, "VYRE_ERROR_IO", VYRE_RETRY_NEVER},
      {VYRE_ERROR_INTERNAL, 24, "VYRE_ERROR_INTERNAL", VYRE_RETRY_NEVER},
  };
  (void)state;
  assert_int_equal(sizeof frozen / sizeof frozen[0], VYRE_STATUS_COUNT);
  for (size_t i = 0; i < sizeof frozen / sizeof frozen[0]; ++i) {
    assert_int_equal(frozen[i].status, frozen[i].number);
    assert_string_equal(vyre_status_name(frozen[i].status), frozen[i].name);
    assert_int_equal(vyre_status_retry(frozen[i].status), frozen[i].retry);
    assert_true(strlen(vyre_status_text(frozen[i].status)) > 0);
    assert_true(strlen(vyre_status_fix(frozen[i].status)) > 0);
  }
}

static void test_unknown_codes_have_texts(void **state)
{
  static const vyre_status unknown[] = {-1, VYRE_STATUS_COUNT, INT32_MAX, INT32_MIN};
  (void)state;
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; ++i) {
    assert_string_equal(vyre_status_name(unknown[i]), "VYRE_ERROR_UNKNOWN");
    assert_true(strlen(vyre_status_text(unknown[i])) > 0);
    assert_true(strlen(vyre_status_fix(unknown[i])) > 0);
    assert_int_equal(vyre_status_retry(unknown[i]), VYRE_RETRY_NEVER);
  }
}

static void test_version(void **state)
{
  (void)state;
  assert_string_equal(vyre_version(), "0.1.0");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_are_frozen),
      cmocka_unit_test(test_unknown_codes_have_texts),
      cmocka_unit_test(test_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
