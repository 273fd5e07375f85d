/* core/program/code.c and entries.c: the texts that the core writes, without a device. */
#include "core/program/code.h"
#include "core/program/program.h"
#include "tests/program/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_entries(void **state)
{
  static const char entries[] =
      "VYRE_ENTRY(copy, (VYRE_PARAM_CONST(0, in), VYRE_PARAM_OUT(1, out), "
      "VYRE_PARAM_LOCAL(2, tile), VYRE_PARAM_IN(3, seen)), (VYRE_ARG(0, in), "
      "VYRE_ARG(1, out), VYRE_ARG(2, tile), VYRE_ARG(3, seen)));\n"
      "VYRE_ENTRY(mark, (VYRE_PARAM_INOUT(0, seen)), (VYRE_ARG(0, seen)));\n";
  static sample s;
  vyre__text head, tail;
  (void)state;
  sample_init(&s);
  sample_buffer(&s, "seen", VYRE_READ_WRITE, 4, 16);
  sample_buffer(&s, "tile", VYRE_WORKGROUP, 4, 16);
  sample_bind(&s, 0, "tile", VYRE_WORKGROUP);
  sample_bind(&s, 0, "seen", VYRE_READ_ONLY); /* the other segment writes it */
  sample_segment(&s, "mark");
  sample_bind(&s, 1, "seen", VYRE_READ_WRITE);
  sample_segment(&s, "mark"); /* one entry serves both */
  sample_bind(&s, 2, "seen", VYRE_READ_WRITE);
  vyre__text_init(&head, &vyre__default_allocator);
  vyre__text_init(&tail, &vyre__default_allocator);
  assert_int_equal(vyre__program_validate(&s.desc, NULL, NULL), VYRE_OK);
  assert_int_equal(vyre__program_entries(&s.desc, &head, &tail, NULL), VYRE_OK);
  assert_string_equal(head.data, "#define VYRE_BUFFER_in 0\n"
                                 "#define VYRE_BUFFER_out 1\n"
                                 "#define VYRE_BUFFER_seen 2\n"
                                 "#define VYRE_BUFFER_tile 3\n");
  if (strncmp(tail.data, entries, sizeof entries - 1) != 0)
    fail_msg("%s", tail.data);
  /* Several segments: the whole program follows, with a step for each of them. */
  assert_non_null(strstr(tail.data, "VYRE_RUN(2, mark, (VYRE_ARG(2, seen)))"));
  vyre__text_free(&head);
  vyre__text_free(&tail);
}

static void test_entries_without_memory(void **state)
{
  static sample s;
  vyre__text head, tail;
  vyre_status status = VYRE_OK;
  (void)state;
  sample_init(&s);
  for (uint64_t n = 1; n <= 2; ++n) {
    vyre__text_init(&head, &vyre__default_allocator);
    vyre__text_init(&tail, &vyre__default_allocator);
    vyre__test_fail_allocation(n);
    status = vyre__program_entries(&s.desc, &head, &tail, NULL);
    vyre__test_fail_allocation(0);
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    vyre__text_free(&head);
    vyre__text_free(&tail);
  }
}

static char *compose(const char *prelude, const char *source, const char *name)
{
  static const vyre__entries entries = {"HEAD\n", "TAIL"};
  vyre_code code = VYRE_CODE_INIT;
  char *text = NULL;
  uint64_t size = 0;
  code.format = "vyre-c";
  code.data = source;
  code.size = strlen(source);
  code.name = name;
  assert_int_equal(vyre__code_compose(prelude, prelude ? strlen(prelude) : 0, &code, &entries,
                                      &vyre__default_allocator, &text, &size, NULL),
                   VYRE_OK);
  assert_int_equal(size, strlen(text));
  return text;
}

static void test_compose(void **state)
{
  static const struct {
    const char *name, *line;
  } names[] = {
      {"hop.c", "#line 1 \"hop.c\"\n"},
      {NULL, "#line 1 \"vyre-c source\"\n"},
      {"", "#line 1 \"vyre-c source\"\n"},
      {"a\"b\\c\nd?\x7f", "#line 1 \"a\\042b\\134c\\012d\\077\\177\"\n"},
  };
  char *text = compose("PRELUDE", "source \\", "k.c");
  (void)state;
  assert_string_equal(text, "PRELUDE\n#line 1 \"vyre generated\"\nHEAD\n"
                            "\n#line 1 \"k.c\"\nsource \\\n\n#line 1 \"vyre generated\"\nTAIL\n");
  vyre__deallocate(&vyre__default_allocator, text);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    text = compose(NULL, "x", names[i].name);
    assert_non_null(strstr(text, names[i].line));
    vyre__deallocate(&vyre__default_allocator, text);
  }
}

static void test_compose_without_memory(void **state)
{
  static const vyre__entries entries = {"", ""};
  vyre_code code = VYRE_CODE_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  char *text = NULL;
  uint64_t size = 0;
  (void)state;
  code.format = "vyre-c";
  code.data = "x";
  code.size = 1;
  vyre__test_fail_allocation(1);
  assert_int_equal(
      vyre__code_compose(NULL, 0, &code, &entries, &vyre__default_allocator, &text, &size, &err),
      VYRE_ERROR_OUT_OF_HOST_MEMORY);
  vyre__test_fail_allocation(0);
  assert_null(text);
}

static void test_check(void **state)
{
  vyre_code rows[2] = {VYRE_CODE_INIT, VYRE_CODE_INIT};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  for (int i = 0; i < 2; ++i) {
    rows[i].format = "native";
    rows[i].data = "x";
    rows[i].size = 1;
  }
  assert_int_equal(vyre__code_check(rows, 2, "p", &err), VYRE_OK);
  assert_int_equal(vyre__code_check(rows, 0, "p", &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "p has no code"));
  assert_int_equal(vyre__code_check(NULL, 1, "p", &err), VYRE_ERROR_INVALID_ARGUMENT);
  rows[1].format = "";
  assert_int_equal(vyre__code_check(rows, 2, "p", &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "code row 1 has no format"));
  rows[1].format = "native";
  rows[1].size = 0;
  assert_int_equal(vyre__code_check(rows, 2, "p", &err), VYRE_ERROR_INVALID_ARGUMENT);
  rows[1].size = 1;
  rows[1].data = NULL;
  assert_int_equal(vyre__code_check(rows, 2, "p", &err), VYRE_ERROR_INVALID_ARGUMENT);
  rows[0].struct_size = 4;
  assert_int_equal(vyre__code_check(rows, 2, "p", &err), VYRE_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_entries), cmocka_unit_test(test_entries_without_memory),
      cmocka_unit_test(test_compose), cmocka_unit_test(test_compose_without_memory),
      cmocka_unit_test(test_check),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
