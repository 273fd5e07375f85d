/*
 * test_rules.c - rules files: what they accept, what they refuse and with which words.
 */
#include "tools/scan/rules.h"
#include "tools/scan/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT(literal) (literal), (sizeof(literal) - 1)

static vyre__rules *new_set(void)
{
  vyre__rules *set = NULL;
  assert_int_equal(vyre__rules_create(&set, NULL), VYRE_OK);
  return set;
}

static void assert_rule(const vyre__rules *set, uint32_t index, const char *id, const char *pattern,
                        size_t length, bool ignore_case, uint32_t line)
{
  const vyre__rule rule = vyre__rules_get(set, index);

  assert_string_equal(rule.id, id);
  assert_int_equal(rule.id_length, strlen(id));
  assert_int_equal(rule.pattern_length, length);
  assert_memory_equal(rule.pattern, pattern, length);
  assert_int_equal(rule.ignore_case, ignore_case);
  assert_int_equal(rule.line, line);
}

static void test_accepted(void **state)
{
  static const char text[] = "# a comment\n"
                             "\n"
                             " \t \n"
                             "  # another\n"
                             "b-plain two words \n"
                             "c-tabs\t \t x#y\r\n"
                             "  d-indent z\n"
                             "e-escapes \\x00\\xfF\\n\\r\\t\\0\\\\\n"
                             "f-case (?i)PassWord=\n"
                             "g-literal \\x28?i)x\n"
                             "h-twice (?i)(?i)\n"
                             "i-raw \x01\0\xff\n"
                             "j-blank \\x20 x\n"
                             "k-cr x\\r\r\n"
                             "l-\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 u\n"
                             "a-last (?I)";
  vyre__rules *set = new_set();
  vyre_error err = VYRE_ERROR_INIT;

  (void)state;
  assert_int_equal(vyre__rules_add_text(set, "t.rules", TEXT(text), &err), VYRE_OK);
  assert_int_equal(vyre__rules_finish(set, &err), VYRE_OK);
  assert_int_equal(vyre__rules_count(set), 12);
  assert_rule(set, 0, "a-last", TEXT("(?I)"), false, 16);
  assert_rule(set, 1, "b-plain", TEXT("two words "), false, 5);
  assert_rule(set, 2, "c-tabs", TEXT("x#y"), false, 6);
  assert_rule(set, 3, "d-indent", TEXT("z"), false, 7);
  assert_rule(set, 4, "e-escapes", TEXT("\0\xff\n\r\t\0\\"), false, 8);
  assert_rule(set, 5, "f-case", TEXT("PassWord="), true, 9);
  assert_rule(set, 6, "g-literal", TEXT("(?i)x"), false, 10);
  assert_rule(set, 7, "h-twice", TEXT("(?i)"), true, 11);
  assert_rule(set, 8, "i-raw", TEXT("\x01\0\xff"), false, 12);
  assert_rule(set, 9, "j-blank", TEXT("  x"), false, 13);
  assert_rule(set, 10, "k-cr", TEXT("x\r"), false, 14);
  assert_rule(set, 11, "l-\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", TEXT("u"), false, 15);
  assert_string_equal(vyre__rules_get(set, 0).file, "t.rules");
  assert_int_equal(err.code, VYRE_OK);
  vyre__rules_destroy(set);
}

typedef struct refusal {
  const char *text;
  size_t length;
  const char *place, *words; /* what the message begins with and what it contains */
} refusal;

static const refusal refusals[] = {
    {TEXT(""), "bad:1: ", "no rule"},
    {TEXT("# only\n\n# comments\n"), "bad:3: ", "no rule"},
    {TEXT("\xef\xbb\xbf"), "bad:1: ", "no rule"},
    {TEXT("a x\nid\n"), "bad:2: ", "'id' has an empty pattern"},
    {TEXT("id  \t "), "bad:1: ", "empty pattern"},
    {TEXT("id\r\n"), "bad:1: ", "empty pattern"},
    {TEXT("id (?i)\n"), "bad:1: ", "empty pattern"},
    {TEXT("id a\\"), "bad:1: ", "lone backslash"},
    {TEXT("id a\\\nb c\n"), "bad:1: ", "lone backslash"},
    {TEXT("id \\x"), "bad:1: ", "two hexadecimal digits"},
    {TEXT("id \\x4"), "bad:1: ", "two hexadecimal digits"},
    {TEXT("id \\x4g"), "bad:1: ", "two hexadecimal digits"},
    {TEXT("id \\xg4"), "bad:1: ", "two hexadecimal digits"},
    {TEXT("\n\nid \\q"), "bad:3: ", "\\q"},
    {TEXT("id \\N"), "bad:1: ", "\\N"},
    {TEXT("id \\X41"), "bad:1: ", "\\X"},
    {TEXT("id \\ x"), "bad:1: ", "0x20"},
    {TEXT("id \\\0"), "bad:1: ", "0x00"},
    {TEXT("i\x01 x"), "bad:1: ", "0x01"},
    {TEXT("i\0 x"), "bad:1: ", "0x00"},
    {TEXT("i\xff x"), "bad:1: ", "0xff"},
    {TEXT("i\xed\xa0\x80 x"), "bad:1: ", "0xed"},
    {TEXT("i\xc3 x"), "bad:1: ", "0xc3"},
};

/* Each is refused with its place, and leaves the set as it was. */
static void test_refused(void **state)
{
  vyre__rules *set = new_set();
  size_t i;

  (void)state;
  assert_int_equal(vyre__rules_add_text(set, "good", TEXT("id x"), NULL), VYRE_OK);
  for (i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    const refusal *r = &refusals[i];
    vyre_error err = VYRE_ERROR_INIT;
    assert_int_equal(vyre__rules_add_text(set, "bad", r->text, r->length, &err),
                     VYRE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(err.code, VYRE_ERROR_INVALID_ARGUMENT);
    if (strncmp(err.message, r->place, strlen(r->place)) != 0 ||
        strstr(err.message, r->words) == NULL) {
      fail_msg("row %zu: %s", i, err.message);
    }
    assert_true(err.fix[0] != 0 && err.where[0] != 0);
    assert_int_equal(vyre__rules_count(set), 1);
    assert_rule(set, 0, "id", TEXT("x"), false, 1);
  }
  vyre__rules_destroy(set);
}

static void test_duplicates(void **state)
{
  vyre__rules *set = new_set();
  vyre_error err = VYRE_ERROR_INIT;

  (void)state;
  assert_int_equal(vyre__rules_finish(set, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre__rules_add_text(set, "one", TEXT("z 1\nid 2\n"), &err), VYRE_OK);
  assert_int_equal(vyre__rules_add_text(set, "two", TEXT("a 1\n#\nid 2\nz 3\n"), &err), VYRE_OK);
  assert_int_equal(vyre__rules_finish(set, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "two:3: duplicate id 'id', first given at one:2");
  vyre__rules_destroy(set);
  /* Ids differ by case and by length; equal patterns are no fault. */
  set = new_set();
  assert_int_equal(vyre__rules_add_text(set, "one", TEXT("id x\nID x\ni x\nidd x\n"), &err),
                   VYRE_OK);
  assert_int_equal(vyre__rules_finish(set, &err), VYRE_OK);
  assert_string_equal(vyre__rules_get(set, 0).id, "ID");
  assert_string_equal(vyre__rules_get(set, 1).id, "i");
  assert_string_equal(vyre__rules_get(set, 2).id, "id");
  assert_string_equal(vyre__rules_get(set, 3).id, "idd");
  vyre__rules_destroy(set);
}

static void write_file(const char *path, const char *text, size_t length)
{
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static void test_files(void **state)
{
  char dir[] = "/tmp/vyre-rules-XXXXXX";
  char path[64], missing[64], large[64];
  vyre__rules *set = new_set();
  vyre_error err = VYRE_ERROR_INIT;
  FILE *file;
  uint32_t i;

  (void)state;
  assert_non_null(mkdtemp(dir));
  (void)snprintf(path, sizeof path, "%s/a.rules", dir);
  (void)snprintf(large, sizeof large, "%s/b.rules", dir);
  (void)snprintf(missing, sizeof missing, "%s/none", dir);
  write_file(path, TEXT("\xef\xbb\xbf"
                        "m x\n"));
  assert_int_equal(vyre__rules_add_file(set, path, &err), VYRE_OK);
  file = fopen(large, "wb");
  assert_non_null(file);
  for (i = 0; i < 30000; i++) {
    (void)fprintf(file, "n%05u pattern%u\n", 29999 - i, i);
  }
  assert_int_equal(fclose(file), 0);
  assert_int_equal(vyre__rules_add_file(set, large, &err), VYRE_OK);
  assert_int_equal(vyre__rules_add_file(set, missing, &err), VYRE_ERROR_IO);
  assert_non_null(strstr(err.message, missing));
  assert_int_equal(err.vendor_code, 2);
  assert_int_equal(vyre__rules_add_file(set, dir, &err), VYRE_ERROR_IO);
  assert_int_equal(vyre__rules_add_file(set, "/dev/null", &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre__rules_finish(set, &err), VYRE_OK);
  assert_int_equal(vyre__rules_count(set), 30001);
  assert_rule(set, 0, "m", TEXT("x"), false, 1);
  assert_rule(set, 1, "n00000", TEXT("pattern29999"), false, 30000);
  assert_string_equal(vyre__rules_get(set, 1).file, large);
  vyre__rules_destroy(set);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(unlink(large), 0);
  assert_int_equal(rmdir(dir), 0);
}

#ifdef VYRE_SECRETS_RULES
/* The rules that come with the project are a good file. */
static void test_shipped(void **state)
{
  vyre__rules *set = new_set();
  vyre_error err = VYRE_ERROR_INIT;

  (void)state;
  if (vyre__rules_add_file(set, VYRE_SECRETS_RULES, &err) != VYRE_OK ||
      vyre__rules_finish(set, &err) != VYRE_OK) {
    fail_msg("%s", err.message);
  }
  assert_in_range(vyre__rules_count(set), 30, 64);
  vyre__rules_destroy(set);
}
#endif

static vyre_status make_set(const char *path, vyre_error *err)
{
  vyre__rules *set = NULL;
  vyre_status status = vyre__rules_create(&set, err);

  if (status != VYRE_OK) {
    assert_null(set);
    return status;
  }
  status = vyre__rules_add_text(set, "t", TEXT("a b\nc d\n"), err);
  if (status == VYRE_OK) {
    status = vyre__rules_add_file(set, path, err);
  }
  if (status == VYRE_OK) {
    status = vyre__rules_finish(set, err);
  }
  vyre__rules_destroy(set);
  return status;
}

static void test_allocation_failures(void **state)
{
  char path[] = "/tmp/vyre-rules-XXXXXX";
  int fd = mkstemp(path), i;
  uint64_t nth;

  (void)state;
  assert_true(fd >= 0);
  for (i = 0; i < 100; i++) {
    assert_true(dprintf(fd, "e%d some pattern\n", i) > 0);
  }
  assert_int_equal(close(fd), 0);
  for (nth = 1;; nth++) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_status status;
    vyre__scan_fail_nth(nth);
    status = make_set(path, &err);
    if (!vyre__scan_fail_happened()) {
      vyre__scan_fail_nth(0);
      assert_int_equal(status, VYRE_OK);
      break;
    }
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(err.code, status);
  }
  assert_true(nth > 5);
  assert_int_equal(unlink(path), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accepted),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_duplicates),
      cmocka_unit_test(test_files),
#ifdef VYRE_SECRETS_RULES
      cmocka_unit_test(test_shipped),
#endif
      cmocka_unit_test(test_allocation_failures),
  };
  return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
