/*
 * Result codes: what each is called, what a caller sees, and which of them end a context.
 */
#include "plugins/cuda/codes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void names(void **state)
{
  char text[64], cut[8];
  (void)state;
  assert_string_equal(vyre__cuda_code_name(700, text, sizeof text),
                      "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  assert_string_equal(vyre__cuda_code_name(2, text, sizeof text), "CUDA_ERROR_OUT_OF_MEMORY (2)");
  assert_string_equal(vyre__cuda_code_name(0, text, sizeof text), "CUDA_SUCCESS (0)");
  /* One that is newer than the list; no driver is there to ask. */
  assert_string_equal(vyre__cuda_code_name(4711, text, sizeof text), "a CUDA error (4711)");
  assert_string_equal(vyre__cuda_code_name(700, cut, sizeof cut), "CUDA_ER");
}

static void statuses(void **state)
{
  static const struct {
    int32_t code;
    vyre_status status;
  } rows[] = {{0, VYRE_OK},
              {2, VYRE_ERROR_OUT_OF_DEVICE_MEMORY},
              {100, VYRE_ERROR_NO_DEVICE},
              {209, VYRE_ERROR_MODULE_FORMAT},
              {218, VYRE_ERROR_COMPILE_FAILED},
              {222, VYRE_ERROR_MODULE_FORMAT},
              {500, VYRE_ERROR_NOT_FOUND},
              {600, VYRE_ERROR_TIMEOUT},
              {700, VYRE_ERROR_DEVICE_LOST},
              {701, VYRE_ERROR_DISPATCH_FAILED},
              {719, VYRE_ERROR_DEVICE_LOST},
              {720, VYRE_ERROR_RESIDENCY_EXCEEDED},
              {801, VYRE_ERROR_UNSUPPORTED},
              {4711, VYRE_ERROR_DISPATCH_FAILED}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    assert_int_equal(vyre__cuda_code_status(rows[i].code), rows[i].status);
}

/* The device is lost by exactly these: written out a second time, on purpose. */
static void sticky_codes(void **state)
{
  static const int32_t sticky[] = {4,   201, 214, 220, 226, 700, 702, 709, 710, 714,
                                   715, 716, 717, 718, 719, 721, 806, 810, 999};
  (void)state;
  for (int32_t code = 0; code < 1200; ++code) {
    bool is_sticky = false;
    for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; ++i)
      is_sticky |= sticky[i] == code;
    if (vyre__cuda_code_is_sticky(code) != is_sticky)
      fail_msg("code %d", (int)code);
    assert_int_equal(vyre__cuda_code_status(code) == VYRE_ERROR_DEVICE_LOST, is_sticky);
  }
}

static void what_is_asked(void **state)
{
  (void)state;
  for (int32_t code = 0; code < 1200; ++code) {
    assert_int_equal(vyre__cuda_code_is_not_ready(code), code == 600);
    assert_int_equal(vyre__cuda_code_is_no_device(code), code == 100);
    assert_int_equal(vyre__cuda_code_is_not_found(code), code == 500);
    assert_int_equal(vyre__cuda_code_is_wrong_device(code), code == 209);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),
      cmocka_unit_test(statuses),
      cmocka_unit_test(sticky_codes),
      cmocka_unit_test(what_is_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
