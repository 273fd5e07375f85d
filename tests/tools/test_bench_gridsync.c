/*
 * test_bench_gridsync.c - `vyre bench gridsync` with small sizes: that every result is right, what
 * it prints and writes, and that a search with wrong results is told and not measured.  Never how
 * fast anything is.
 */
#include "spawn_vyre.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODULE VYRE_TEST_PLUGIN_DIR "/libvyre_bench_search.so"
#define SHORT "--rounds", "1", "--ms", "1", "--device", "cpu"

typedef struct place {
  char *folder, *json;
} place;

static int set_up(void **state)
{
  place *p = malloc(sizeof *p);
  assert_non_null(p);
  p->folder = make_folder();
  p->json = path_in(p->folder, "report.json");
  *state = p;
  return 0;
}

static int tear_down(void **state)
{
  place *p = *state;
  remove_folder(p->folder);
  free(p->json);
  free(p);
  return 0;
}

static json_t *load(const place *p)
{
  json_t *root = json_load_file(p->json, 0, NULL);
  assert_non_null(root);
  return root;
}

/* The value of the row of this name. */
static double value_of(json_t *root, const char *name)
{
  json_t *row;
  size_t i;
  json_array_foreach(json_object_get(root, "rows"), i, row)
  {
    if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
      return json_number_value(json_object_get(row, "value"));
  }
  fail_msg("no row '%s'", name);
  return 0;
}

static bool has_note(json_t *root, const char *text)
{
  json_t *note;
  size_t i;
  json_array_foreach(json_object_get(root, "notes"), i, note)
  {
    if (strstr(json_string_value(note), text))
      return true;
  }
  return false;
}

static void test_steps(void **state)
{
  static const char *const cells[] = {"1 segment, 2^10 words",
                                      "2 segments, 2^10 words",
                                      "5 segments, 1500 words",
                                      "1 pass of 2, 2^10 words",
                                      "3 passes of 2, 1500 words",
                                      "2^10 words",
                                      "1500 words"};
  static const char *const routes[] = {"native",
                                       "resident",
                                       "host",
                                       "host / native",
                                       "auto / best, device buffers",
                                       "auto / best, host bytes"};
  static const char *const idle[] = {"a fused launch", "a resident dispatch", "a host dispatch"};
  const place *p = *state;
  spawned result = VYRE("bench", "gridsync", SHORT, "--cells", "barrier,segments,passes,words",
                        "--segments", "5", "--passes", "3", "--words", "1500", "--json", p->json);
  char name[96];
  json_t *root;
  expect_exit(&result, 0);
  assert_int_equal(result.err_size, 0); /* progress is for terminals */
  root = load(p);
  for (size_t i = 0; i < sizeof cells / sizeof cells[0]; ++i)
    for (size_t k = 0; k < sizeof routes / sizeof routes[0]; ++k) {
      snprintf(name, sizeof name, "%s: %s", cells[i], routes[k]);
      assert_true(value_of(root, name) > 0);
    }
  for (size_t i = 0; i < sizeof idle / sizeof idle[0]; ++i)
    (void)value_of(root, idle[i]);
  json_decref(root);
  spawned_free(&result);
}

static void test_reach(void **state)
{
  static const char *const rows[] = {
      "native", "resident",      "auto",        "native, bytes", "host",
      "serial", "serial / auto", "auto, bytes", "auto, EXACT",   "auto, EXACT / DECLARED"};
  static const char *const cells[] = {"uniform", "power"};
  const place *p = *state;
  spawned result = VYRE("bench", "gridsync", SHORT, "--cells", "power,uniform", "--edges", "3000",
                        "--peers", MODULE, "--json", p->json);
  char name[96];
  json_t *root;
  expect_exit(&result, 0);
  root = load(p);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
      snprintf(name, sizeof name, "%s: %s", cells[i], rows[k]);
      assert_true(value_of(root, name) > 0);
    }
    snprintf(name, sizeof name, "%s: guesser: another result: not measured", cells[i]);
    assert_true(has_note(root, name));
    snprintf(name, sizeof name, "%s: 256 vertices, 3000 edges, ", cells[i]);
    assert_true(has_note(root, name));
  }
  assert_null(strstr(result.out, "guesser / auto"));
  json_decref(root);
  spawned_free(&result);
}

static void test_wrong_options(void **state)
{
  static const char *const wrong[][5] = {
      {"gridsync", "--cells", "words,1P1C", NULL},
      {"gridsync", "--segments", "0", NULL},
      {"gridsync", "--segments", "5000", NULL},
      {"gridsync", "--soak", NULL},
      {"gridsync", "--jobs", "5", NULL},
      {"gridsync", "--peers", "/nonexistent/x.so", "--cells=power"},
      {"ring", "--words", "5", NULL},
      {"engine", "--edges", "5", NULL}};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    const char *arguments[8] = {"bench"};
    spawned result;
    for (size_t k = 0; k < 5 && wrong[i][k]; ++k)
      arguments[k + 1] = wrong[i][k];
    result = spawn_vyre(arguments);
    expect_exit(&result, 2);
    assert_true(result.err_size > 0);
    spawned_free(&result);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {TEST(test_steps), TEST(test_reach), TEST(test_wrong_options)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
