/* core/base: checked arithmetic, allocation, texts, error records, deadlines. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_checked(void **state)
{
  uint64_t out = 7;
  (void)state;
  assert_true(vyre__checked_add(UINT64_MAX - 1, 1, &out));
  assert_true(out == UINT64_MAX);
  assert_false(vyre__checked_add(UINT64_MAX, 1, &out));
  assert_true(out == UINT64_MAX);
  assert_true(vyre__checked_multiply(1ull << 32, (1ull << 32) - 1, &out));
  assert_false(vyre__checked_multiply(1ull << 32, 1ull << 32, &out));
  assert_true(vyre__checked_multiply(0, UINT64_MAX, &out) && out == 0);
  assert_true(vyre__checked_multiply(UINT64_MAX, 0, &out) && out == 0);
  assert_true(vyre__checked_align(0, 16, &out) && out == 0);
  assert_true(vyre__checked_align(17, 16, &out) && out == 32);
  assert_false(vyre__checked_align(UINT64_MAX - 3, 16, &out));
  assert_true(vyre__range_fits(0, 0, 0));
  assert_true(vyre__range_fits(8, 0, 8));
  assert_false(vyre__range_fits(9, 0, 8));
  assert_false(vyre__range_fits(4, UINT64_MAX, 8));
  assert_true(vyre__is_power_of_two(1) && vyre__is_power_of_two(1ull << 63));
  assert_false(vyre__is_power_of_two(0) || vyre__is_power_of_two(12));
}

static void test_allocate(void **state)
{
  const vyre_allocator allocator = vyre__allocator_or_default(NULL);
  (void)state;
  for (uint64_t align = 1; align <= 4096; align *= 2) {
    void *memory = vyre__allocate(&allocator, 3, align);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % align, 0);
    vyre__deallocate(&allocator, memory);
  }
  assert_null(vyre__allocate_zeroed(&allocator, UINT64_MAX / 2, 4));
  assert_null(vyre__allocate(&allocator, UINT64_MAX, 64));
  vyre__deallocate(&allocator, NULL);
}

static void test_failing_allocation(void **state)
{
  const vyre_allocator allocator = vyre__default_allocator;
  void *first, *third;
  (void)state;
  vyre__test_fail_allocation(2);
  first = vyre__allocate(&allocator, 1, 1);
  assert_non_null(first);
  assert_null(vyre__allocate(&allocator, 1, 1));
  third = vyre__allocate(&allocator, 1, 1);
  assert_non_null(third);
  assert_int_equal(vyre__test_allocation_count(), 3);
  vyre__test_fail_allocation(0);
  vyre__deallocate(&allocator, first);
  vyre__deallocate(&allocator, third);
}

static void test_text(void **state)
{
  vyre__text text;
  uint64_t size = 0;
  char *taken;
  (void)state;
  vyre__text_init(&text, &vyre__default_allocator);
  for (int i = 0; i < 1000; ++i)
    vyre__text_format(&text, "%d,", i);
  vyre__text_add(&text, "\0x", 2);
  taken = vyre__text_take(&text, &size);
  assert_non_null(taken);
  assert_int_equal(size, 10 * 2 + 90 * 3 + 900 * 4 + 2);
  assert_memory_equal(taken, "0,1,2,", 6);
  assert_int_equal(taken[size], 0);
  vyre__deallocate(&vyre__default_allocator, taken);
}

static void test_text_fails_once_and_stays_failed(void **state)
{
  vyre__text text;
  (void)state;
  vyre__text_init(&text, &vyre__default_allocator);
  vyre__test_fail_allocation(1);
  vyre__text_add(&text, "abc", 3);
  vyre__test_fail_allocation(0);
  vyre__text_add(&text, "def", 3);
  assert_true(text.failed);
  assert_null(vyre__text_take(&text, NULL));
}

static void test_printable(void **state)
{
  char text[] = "a\033[0m\n\tb\x7f \xc2\x85\xc3\xa4\xc2\xa0 \xc2", line[] = "\na\tb\rc";
  (void)state;
  vyre__text_printable(text, true);
  assert_string_equal(text, "a?[0m\n\tb? ??\xc3\xa4\xc2\xa0 \xc2");
  vyre__text_printable(line, false);
  assert_string_equal(line, " a b?c");
}

static void test_empty_text(void **state)
{
  vyre__text text;
  uint64_t size = 9;
  char *taken;
  (void)state;
  vyre__text_init(&text, &vyre__default_allocator);
  taken = vyre__text_take(&text, &size);
  assert_string_equal(taken, "");
  assert_int_equal(size, 0);
  vyre__deallocate(&vyre__default_allocator, taken);
}

static void test_error_set(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(VYRE_FAIL_VENDOR(&err, VYRE_ERROR_IO, 2, "look at %n", "cannot open '%s'", "x"),
                   VYRE_ERROR_IO);
  assert_int_equal(err.code, VYRE_ERROR_IO);
  assert_int_equal(err.vendor_code, 2);
  assert_string_equal(err.message, "cannot open 'x'");
  assert_string_equal(err.fix, "look at %n");
  assert_non_null(strstr(err.where, "test_base.c:"));
  assert_int_equal(VYRE_FAIL(&err, VYRE_ERROR_EMPTY, NULL, "nothing"), VYRE_ERROR_EMPTY);
  assert_string_equal(err.fix, vyre_status_fix(VYRE_ERROR_EMPTY));
  assert_int_equal(VYRE_FAIL(NULL, VYRE_ERROR_EMPTY, NULL, "nothing"), VYRE_ERROR_EMPTY);
  vyre__error_prefix(&err, "segment %d: ", 3);
  assert_string_equal(err.message, "segment 3: nothing");
  vyre__error_prefix(NULL, "x");
}

/* A record from an older neighbour ends early: nothing behind its size is written. */
static void test_error_within_struct_size(void **state)
{
  (void)state;
  for (uint32_t size = 0; size <= sizeof(vyre_error); ++size) {
    vyre_error err, from = VYRE_ERROR_INIT;
    memset(&err, 0x5a, sizeof err);
    err.struct_size = size;
    VYRE_FAIL(&err, VYRE_ERROR_IO, "fix", "message");
    vyre__error_prefix(&err, "more ");
    VYRE_FAIL(&from, VYRE_ERROR_EMPTY, NULL, "other");
    assert_int_equal(vyre__error_copy(&err, &from), VYRE_ERROR_EMPTY);
    for (size_t i = size < sizeof size ? sizeof size : size; i < sizeof err; ++i)
      assert_int_equal(((unsigned char *)&err)[i], 0x5a);
    assert_int_equal(err.struct_size, size);
  }
}

static void test_long_texts_are_cut(void **state)
{
  char text[2 * VYRE_ERROR_MESSAGE_SIZE];
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  memset(text, 'a', sizeof text);
  text[sizeof text - 1] = '\0';
  VYRE_FAIL(&err, VYRE_ERROR_IO, text, "%s", text);
  assert_int_equal(strlen(err.message), VYRE_ERROR_MESSAGE_SIZE - 1);
  assert_int_equal(strlen(err.fix), VYRE_ERROR_FIX_SIZE - 1);
  vyre__error_prefix(&err, "%s", text);
  assert_int_equal(strlen(err.message), VYRE_ERROR_MESSAGE_SIZE - 1);
}

static void test_deadlines(void **state)
{
  (void)state;
  assert_true(vyre__deadline(VYRE_NO_TIMEOUT) == VYRE_NO_TIMEOUT);
  assert_true(vyre__deadline(VYRE_NO_TIMEOUT - 1) == VYRE_NO_TIMEOUT);
  assert_true(vyre__time_left(VYRE_NO_TIMEOUT) == VYRE_NO_TIMEOUT);
  assert_true(vyre__time_left(vyre__now_ns()) == 0);
  assert_true(vyre__time_left(vyre__deadline(1000000000000u)) > 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_checked),
      cmocka_unit_test(test_allocate),
      cmocka_unit_test(test_failing_allocation),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_printable),
      cmocka_unit_test(test_text_fails_once_and_stays_failed),
      cmocka_unit_test(test_empty_text),
      cmocka_unit_test(test_error_set),
      cmocka_unit_test(test_error_within_struct_size),
      cmocka_unit_test(test_long_texts_are_cut),
      cmocka_unit_test(test_deadlines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
