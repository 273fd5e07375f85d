/*
 * test_manifest.c - manifests: what is read, and that every fault is told with file, line, column
 * and field.
 */
#include "tools/json_place.h"
#include "tools/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* For the tools' messages, which no test here makes. */
extern const char *cli_name;
const char *cli_name = "test";
int cli_stdout_errno;

#define BUFFER "{\"name\": \"b\", \"access\": \"read_write\", \"element\": \"u32\", \"count\": 4}"
#define SEGMENT                                                                                    \
  "{\"kernel\": \"s\", \"bindings\": [{\"buffer\": \"b\", \"access\": \"read_write\"}]}"
#define PROGRAM(more)                                                                              \
  "{\"kernel\": \"k.c\", \"buffers\": [" BUFFER "], \"segments\": [" SEGMENT "]" more "}"

static vyre_status parse(const char *text, manifest *m, vyre_error *err)
{
  return manifest_parse("m.json", text, strlen(text), m, err);
}

static void test_whole_program(void **state)
{
  static const char text[] =
      "{ \"name\": \"n\", \"kernel\": \"k.c\",\n"
      "  \"buffers\": [\n"
      "    {\"name\": \"in\", \"access\": \"read_only\", \"element\": \"u8\", \"count\": "
      "\"input\"},\n"
      "    {\"name\": \"out\", \"access\": \"write_only\", \"element\": 12, \"count\": 0,\n"
      "     \"range\": [4, 8]},\n"
      "    {\"name\": \"rw\", \"access\": \"read_write\", \"element\": \"f64\", \"count\": 7,\n"
      "     \"output\": true},\n"
      "    {\"name\": \"loc\", \"access\": \"workgroup\", \"element\": \"u16\", \"count\": 3}],\n"
      "  \"segments\": [\n"
      "    {\"kernel\": \"one\", \"bindings\": [\n"
      "       {\"buffer\": \"in\", \"access\": \"read_only\"},\n"
      "       {\"buffer\": \"out\", \"access\": \"write_only\", \"writes_all\": true}],\n"
      "     \"elements\": [100, 2]},\n"
      "    {\"kernel\": \"two\", \"bindings\": [], \"groups\": [1, 2, 3]}],\n"
      "  \"workgroup\": [32], \"groups\": [9], \"iterations\": 5, \"converge\": \"off\",\n"
      "  \"push\": 16}";
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_program_desc *p;
  manifest m;

  (void)state;
  assert_int_equal(parse(text, &m, &err), VYRE_OK);
  p = &m.program;
  assert_true(m.is_program);
  assert_string_equal(p->name, "n");
  assert_string_equal(m.kernel, "k.c");
  assert_int_equal(p->buffer_count, 4);
  assert_int_equal(p->buffers[0].element_count, VYRE_COUNT_FROM_INPUT);
  assert_int_equal(p->buffers[0].element_size, 1);
  assert_int_equal(p->buffers[1].element_size, 12);
  assert_int_equal(p->buffers[1].flags, VYRE_BUFFER_RANGE);
  assert_int_equal(p->buffers[1].range_offset, 4);
  assert_int_equal(p->buffers[1].range_size, 8);
  assert_int_equal(p->buffers[2].flags, VYRE_BUFFER_OUTPUT);
  assert_int_equal(p->buffers[3].access, VYRE_WORKGROUP);
  assert_int_equal(p->segment_count, 2);
  assert_int_equal(p->segments[0].binding_count, 2);
  assert_int_equal(p->segments[0].bindings[1].flags, VYRE_BINDING_WRITES_ALL);
  assert_int_equal(p->segments[0].elements[0], 100);
  assert_int_equal(p->segments[0].elements[1], 2);
  assert_int_equal(p->segments[0].elements[2], 1);
  assert_int_equal(p->segments[1].groups[2], 3);
  assert_int_equal(p->workgroup[0], 32);
  assert_int_equal(p->workgroup[1], 1);
  assert_int_equal(p->groups[0], 9);
  assert_int_equal(p->iterations, 5);
  assert_int_equal(p->converge, VYRE_CONVERGE_OFF);
  assert_int_equal(p->push_size, 16);
  manifest_close(&m);
}

static void test_defaults_and_handlers(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  manifest m;

  (void)state;
  assert_int_equal(parse(PROGRAM(""), &m, &err), VYRE_OK);
  assert_string_equal(m.program.name, "m.json");
  assert_int_equal(m.program.iterations, 1);
  assert_int_equal(m.program.workgroup[0], 0);
  manifest_close(&m);
  assert_int_equal(parse("{\"kernel\": \"k.c\", \"handlers\": [{\"name\": \"a\"}, "
                         "{\"name\": \"b\", \"records\": true}]}",
                         &m, &err),
                   VYRE_OK);
  assert_false(m.is_program);
  assert_int_equal(m.handlers.handler_count, 2);
  assert_string_equal(m.handlers.handlers[1].name, "b");
  assert_int_equal(m.handlers.handlers[0].flags, 0);
  assert_int_equal(m.handlers.handlers[1].flags, VYRE_HANDLER_RECORDS);
  manifest_close(&m);
}

typedef struct fault {
  const char *text, *message;
} fault;

static const fault faults[] = {
    {"", "m.json:1:"},
    {"[]", "m.json:1:1: must be an object"},
    {"{", "m.json:1:"},
    {"{\n  \"kernel\": \"k.c\",\n  \"kernel\": 1}", "m.json:3:"},
    {"{\"kernel\": \"k.c\"}\n x", "m.json:2:"},
    {"{\"kernel\": \"k\\u0000.c\"}", "m.json:1:"},
    {"{}", "m.json:1:1: \"kernel\" is missing"},
    {"{\n \"kernel\": 7}", "m.json:2:12: kernel: must be a text"},
    {"{\"kernel\": \"\"}", "kernel: must be a text"},
    {"{\"kernel\": \"k.c\"}", "\"buffers\" is missing"},
    {PROGRAM(",\n\n \"colour\": 1"), "m.json:3:12: colour: unknown key; known here: name, kernel"},
    {PROGRAM(", \"handlers\": []"), "segments: \"handlers\" is given already"},
    {PROGRAM(", \"iterations\": 0"), "iterations: must be a whole number from 1"},
    {PROGRAM(", \"iterations\": 1.0"), "iterations: must be a whole number"},
    {PROGRAM(", \"iterations\": 99999999999"), "iterations: must be a whole number"},
    {PROGRAM(", \"iterations\": 99999999999999999999999"), "m.json:1:"},
    {PROGRAM(", \"push\": -1"), "push: must be a whole number from 0"},
    {PROGRAM(", \"converge\": \"maybe\""), "must be one of \"exact\", \"declared\", \"off\""},
    {PROGRAM(", \"workgroup\": []"), "workgroup: must be a list of one to three"},
    {PROGRAM(", \"workgroup\": [1, 2, 3, 4]"), "workgroup: must be a list of one to three"},
    {PROGRAM(", \"workgroup\": [1,\n 0]"), "m.json:2:2: workgroup[1]: must be a whole number"},
    {PROGRAM(", \"elements\": [1], \"groups\": [1]"), "groups: \"elements\" is given already"},
    {"{\"kernel\": \"k.c\", \"buffers\": {}, \"segments\": []}", "buffers: must be a list"},
    {"{\"kernel\": \"k.c\", \"buffers\": [], \"segments\": []}", "segments: must be a list that"},
    {"{\"kernel\": \"k.c\", \"buffers\": [1], \"segments\": [" SEGMENT "]}",
     "buffers[0]: must be an object"},
    {"{\"kernel\": \"k.c\", \"buffers\": [" BUFFER ",\n"
     "   {\"name\": \"c\", \"access\": \"readonly\", \"element\": \"u8\", \"count\": 1}],\n"
     " \"segments\": [" SEGMENT "]}",
     "m.json:2:28: buffers[1].access: must be one of \"read_only\""},
    {"{\"kernel\": \"k.c\", \"buffers\": [{\"name\": \"b\", \"access\": \"read_only\", "
     "\"element\": "
     "\"u7\", \"count\": 1}], \"segments\": [" SEGMENT "]}",
     "buffers[0].element: must be one of \"u8\""},
    {"{\"kernel\": \"k.c\", \"buffers\": [{\"name\": \"b\", \"access\": \"read_only\", "
     "\"element\": "
     "0, \"count\": 1}], \"segments\": [" SEGMENT "]}",
     "buffers[0].element: must be a whole number from 1"},
    {"{\"kernel\": \"k.c\", \"buffers\": [{\"name\": \"b\", \"access\": \"read_only\", "
     "\"element\": "
     "1, \"count\": \"all\"}], \"segments\": [" SEGMENT "]}",
     "buffers[0].count: must be a number or \"input\""},
    {"{\"kernel\": \"k.c\", \"buffers\": [{\"name\": \"b\", \"access\": \"read_only\", "
     "\"element\": "
     "1}], \"segments\": [" SEGMENT "]}",
     "buffers[0]: \"count\" is missing"},
    {"{\"kernel\": \"k.c\", \"buffers\": [{\"name\": \"b\", \"access\": \"read_write\", "
     "\"element\": "
     "1, \"count\": 1, \"output\": 1}], \"segments\": [" SEGMENT "]}",
     "buffers[0].output: must be true or false"},
    {"{\"kernel\": \"k.c\", \"buffers\": [{\"name\": \"b\", \"access\": \"read_write\", "
     "\"element\": "
     "1, \"count\": 1, \"range\": [1]}], \"segments\": [" SEGMENT "]}",
     "buffers[0].range: must be a list of two"},
    {"{\"kernel\": \"k.c\", \"buffers\": [" BUFFER "], \"segments\": [{\"kernel\": \"s\"}]}",
     "segments[0]: \"bindings\" is missing"},
    {"{\"kernel\": \"k.c\", \"buffers\": [" BUFFER "], \"segments\": [{\"kernel\": \"s\", "
     "\"bindings\": [{\"buffer\": \"b\", \"access\": \"read_only\", \"x\": 1}]}]}",
     "segments[0].bindings[0].x: unknown key; known here: buffer, access, writes_all"},
    {"{\"kernel\": \"k.c\", \"handlers\": []}", "handlers: must be a list that is not empty"},
    {"{\"kernel\": \"k.c\", \"handlers\": [{}]}", "handlers[0]: \"name\" is missing"},
    {"{\"kernel\": \"k.c\", \"handlers\": [{\"name\": \"a\", \"records\": \"yes\"}]}",
     "handlers[0].records: must be true or false"},
};

static void test_faults(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    vyre_error err = VYRE_ERROR_INIT;
    manifest m;
    assert_int_equal(parse(faults[i].text, &m, &err), VYRE_ERROR_INVALID_ARGUMENT);
    if (strstr(err.message, faults[i].message) == NULL || strncmp(err.message, "m.json:", 7) != 0) {
      print_message("row %zu\nwant: %s\ngot:  %s\n", i, faults[i].message, err.message);
      fail();
    }
    assert_true(err.fix[0] != '\0');
    assert_null(m.text);
  }
}

/* Every beginning of a manifest is refused and nothing is read behind it. */
static void test_cut_texts(void **state)
{
  static const char text[] = PROGRAM(", \"workgroup\": [1, 2], \"push\": 4");
  size_t size;

  (void)state;
  for (size = 0; size < sizeof text - 1; size++) {
    char *copy = malloc(size + 1);
    vyre_error err = VYRE_ERROR_INIT;
    manifest m;
    assert_non_null(copy);
    memcpy(copy, text, size);
    assert_int_equal(manifest_parse("m.json", copy, size, &m, &err), VYRE_ERROR_INVALID_ARGUMENT);
    free(copy);
  }
}

/* Every byte of a manifest replaced by each of some: refused with a place, or read. */
static void test_changed_texts(void **state)
{
  static const char others[] = "{}[]\",:0x\\ \n\x80";
  char text[] = PROGRAM(", \"workgroup\": [1, 2], \"push\": 4");
  size_t at, other;

  (void)state;
  for (at = 0; at < sizeof text - 1; at++) {
    const char before = text[at];
    for (other = 0; other < sizeof others; other++) {
      vyre_error err = VYRE_ERROR_INIT;
      manifest m;
      text[at] = others[other];
      if (manifest_parse("m.json", text, sizeof text - 1, &m, &err) == VYRE_OK) {
        manifest_close(&m);
      } else {
        assert_int_equal(strncmp(err.message, "m.json:", 7), 0);
      }
    }
    text[at] = before;
  }
}

static void test_deep_text(void **state)
{
  enum { DEPTH = 100000 };
  char *text = malloc(DEPTH + 1);
  vyre_error err = VYRE_ERROR_INIT;
  manifest m;

  (void)state;
  assert_non_null(text);
  memset(text, '[', DEPTH);
  text[DEPTH] = '\0';
  assert_int_equal(parse(text, &m, &err), VYRE_ERROR_INVALID_ARGUMENT);
  free(text);
}

static void test_places(void **state)
{
  static const char text[] =
      "\n {\"a\\\"\": [1, {\"\xc3\xa9\": \"]\", \"b\": {}}],\n\t\"c\": null}";
  const json_place root = {NULL, NULL, 0};
  const json_place c = {&root, "c", 0}, a = {&root, "a\\\"", 0};
  const json_place a1 = {&a, NULL, 1}, a1b = {&a1, "b", 0}, none = {&root, "zz", 0};
  char field[32];
  size_t line, column;

  (void)state;
  json_place_find(text, sizeof text - 1, &root, &line, &column);
  assert_int_equal(line, 2);
  assert_int_equal(column, 2);
  json_place_find(text, sizeof text - 1, &c, &line, &column);
  assert_int_equal(line, 3);
  assert_int_equal(column, 7);
  json_place_find(text, sizeof text - 1, &a1b, &line, &column);
  assert_int_equal(line, 2);
  assert_int_equal(column, 30);
  json_place_find(text, sizeof text - 1, &none, &line, &column);
  assert_int_equal(line, 3);
  assert_string_equal(json_place_text(&a1b, field, sizeof field), "a\\\"[1].b");
  assert_string_equal(json_place_text(&a1b, field, 5), "a\\\"[");
  assert_string_equal(json_place_text(&root, field, sizeof field), "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_program), cmocka_unit_test(test_defaults_and_handlers),
      cmocka_unit_test(test_faults),        cmocka_unit_test(test_cut_texts),
      cmocka_unit_test(test_changed_texts), cmocka_unit_test(test_deep_text),
      cmocka_unit_test(test_places),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
