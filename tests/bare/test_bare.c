/*
 * test_bare.c - the header of our own says what cmocka would: each assertion passes and fails, a
 * failed test ends at once and the next one runs, skipped ones are none of the failed.
 */
#include "tests/bare/cmocka.h"

static int reached, torn_down;

static void passes(void **state)
{
  int k = 0;
  (void)state;
  assert_int_equal(k++, 0);
  assert_int_equal(k, 1); /* evaluated once */
  assert_int_not_equal(k, 2);
  assert_true(k);
  assert_false(k == 2);
  assert_null(NULL);
  assert_non_null(&k);
  assert_ptr_equal(&k, &k);
  assert_in_range(k, 1, 1);
  assert_string_equal("a", "a");
  assert_memory_equal("ab", "ac", 1);
  reached += 1;
}

#define FAILS(name, assertion)                                                                     \
  static void name(void **state)                                                                   \
  {                                                                                                \
    (void)state;                                                                                   \
    assertion;                                                                                     \
    reached += 1000;                                                                               \
  }
FAILS(integers, assert_int_equal(1, 2))
FAILS(same_integers, assert_int_not_equal(1, 1))
FAILS(truth, assert_true(0))
FAILS(falsehood, assert_false(1))
FAILS(null, assert_null(&reached))
FAILS(no_null, assert_non_null(NULL))
FAILS(pointers, assert_ptr_equal(&reached, &torn_down))
FAILS(range, assert_in_range(5, 1, 4))
FAILS(texts, assert_string_equal("a", "b"))
FAILS(bytes, assert_memory_equal("ab", "ac", 2))
FAILS(message, fail_msg("as %s", "asked"))
FAILS(skips, skip())

static int tear_down(void **state)
{
  (void)state;
  torn_down += 1;
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers),
      cmocka_unit_test(same_integers),
      cmocka_unit_test(truth),
      cmocka_unit_test(falsehood),
      cmocka_unit_test(null),
      cmocka_unit_test(no_null),
      cmocka_unit_test(pointers),
      cmocka_unit_test(range),
      cmocka_unit_test(texts),
      cmocka_unit_test(bytes),
      cmocka_unit_test_teardown(message, tear_down),
      cmocka_unit_test(skips),
      cmocka_unit_test(passes),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  printf("%d failed, %d reached their end, %d torn down\n", failed, reached, torn_down);
  return failed == 11 && reached == 1 && torn_down == 1 ? 0 : 1;
}
