/*
 * cmocka.h - as much of cmocka's interface as the tests of a device use, for machines with a card
 * and without packages (VYRE_BARE_TESTS; scripts/gpu-check).  The names and meanings are cmocka's.
 *
 * An assertion that fails ends its test by longjmp and prints the line; what the test holds stays
 * held, as with cmocka.  One thread runs the tests; assertions in others end the program.
 */
#ifndef VYRE_TESTS_BARE_CMOCKA_H
#define VYRE_TESTS_BARE_CMOCKA_H

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
  const char *name;
  void (*test_func)(void **state);
  CMFixtureFunction setup_func, teardown_func;
};

#define cmocka_unit_test(f)                                                                        \
  {                                                                                                \
#f, f, NULL, NULL                                                                              \
  }
#define cmocka_unit_test_setup_teardown(f, setup, teardown)                                        \
  {                                                                                                \
#f, f, setup, teardown                                                                         \
  }
#define cmocka_unit_test_teardown(f, teardown) cmocka_unit_test_setup_teardown(f, NULL, teardown)

/* One test at a time: where it began, and in which thread. */
typedef struct bare_run {
  jmp_buf end;
  pthread_t thread;
  bool inside;
} bare_run;

static bare_run bare__run;

#define BARE__FAILED 1
#define BARE__SKIPPED 2

static inline _Noreturn void bare__end(int how)
{
  fflush(NULL);
  if (!bare__run.inside || !pthread_equal(bare__run.thread, pthread_self()))
    _Exit(1);
  longjmp(bare__run.end, how);
}

#define print_message(...) ((void)printf(__VA_ARGS__))
#define print_error(...) ((void)printf(__VA_ARGS__))
#define skip() bare__end(BARE__SKIPPED)

#define fail_msg(...)                                                                              \
  do {                                                                                             \
    printf("ERROR: ");                                                                             \
    printf(__VA_ARGS__);                                                                           \
    printf("\n%s:%d: error: Failure!\n", __FILE__, __LINE__);                                      \
    bare__end(BARE__FAILED);                                                                       \
  } while (0)
#define fail() fail_msg("failed")

#define BARE__CHECK(condition, format, ...)                                                        \
  do {                                                                                             \
    if (!(condition))                                                                              \
      fail_msg(format, __VA_ARGS__);                                                               \
  } while (0)

/* Functions, so that each argument is evaluated once. */
static inline void bare__integers(uintmax_t a, uintmax_t b, bool equal, const char *file, int line)
{
  if ((a == b) == equal)
    return;
  printf("ERROR: 0x%jx %s 0x%jx\n%s:%d: error: Failure!\n", a, equal ? "!=" : "==", b, file, line);
  bare__end(BARE__FAILED);
}

static inline void bare__range(uintmax_t v, uintmax_t low, uintmax_t high, const char *file,
                               int line)
{
  if (v >= low && v <= high)
    return;
  printf("ERROR: %ju is not within %ju and %ju\n%s:%d: error: Failure!\n", v, low, high, file,
         line);
  bare__end(BARE__FAILED);
}

static inline void bare__bytes(const void *a, const void *b, size_t size, const char *file,
                               int line)
{
  if (!memcmp(a, b, size))
    return;
  printf("ERROR: %zu bytes differ\n%s:%d: error: Failure!\n", size, file, line);
  bare__end(BARE__FAILED);
}

static inline void bare__texts(const char *a, const char *b, const char *file, int line)
{
  if (!strcmp(a, b))
    return;
  printf("ERROR: \"%s\" != \"%s\"\n%s:%d: error: Failure!\n", a, b, file, line);
  bare__end(BARE__FAILED);
}

#define assert_true(c) BARE__CHECK((c), "%s is not true", #c)
#define assert_false(c) BARE__CHECK(!(c), "%s is not false", #c)
#define assert_null(p) BARE__CHECK((p) == NULL, "%s is not NULL", #p)
#define assert_non_null(p) BARE__CHECK((p) != NULL, "%s is NULL", #p)
#define assert_ptr_equal(a, b)                                                                     \
  bare__integers((uintptr_t)(a), (uintptr_t)(b), true, __FILE__, __LINE__)
#define assert_int_equal(a, b)                                                                     \
  bare__integers((uintmax_t)(a), (uintmax_t)(b), true, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                                 \
  bare__integers((uintmax_t)(a), (uintmax_t)(b), false, __FILE__, __LINE__)
#define assert_in_range(v, low, high)                                                              \
  bare__range((uintmax_t)(v), (uintmax_t)(low), (uintmax_t)(high), __FILE__, __LINE__)
#define assert_string_equal(a, b) bare__texts((a), (b), __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) bare__bytes((a), (b), (size), __FILE__, __LINE__)

/* One test's verdict: 0, BARE__FAILED or BARE__SKIPPED. */
static inline int bare__one(const struct CMUnitTest *test, void *state)
{
  int how = 0;
  bare__run.thread = pthread_self();
  if (test->setup_func && test->setup_func(&state))
    return BARE__FAILED;
  bare__run.inside = true;
  how = setjmp(bare__run.end);
  if (!how)
    test->test_func(&state);
  bare__run.inside = false;
  if (test->teardown_func && test->teardown_func(&state) && !how)
    how = BARE__FAILED;
  return how;
}

static inline int bare__group(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                              CMFixtureFunction teardown)
{
  static const char *const words[] = {"       OK ", "  FAILED  ", "  SKIPPED "};
  void *state = NULL;
  int failed = 0;
  printf("[==========] Running %zu test(s).\n", count);
  if (setup && setup(&state)) {
    printf("[  FAILED  ] GROUP SETUP\n");
    return -1;
  }
  for (size_t i = 0; i < count; ++i) {
    int how;
    printf("[ RUN      ] %s\n", tests[i].name);
    fflush(stdout);
    how = bare__one(&tests[i], state);
    failed += how == BARE__FAILED;
    printf("[%s] %s\n", words[how], tests[i].name);
  }
  if (teardown && teardown(&state))
    printf("[  FAILED  ] GROUP TEARDOWN\n");
  printf("[==========] %zu test(s) run, %d failed.\n", count, failed);
  return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown)                                             \
  bare__group((tests), sizeof(tests) / sizeof((tests)[0]), (setup), (teardown))

#endif
