/*
 * test_run.c - `vyre run` of programs with several segments and passes: routes, passes, the plan,
 * the text that is kept, inputs that are left out.
 */
#include "spawn_vyre.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT 10u /* words; a pass reaches one more */

/* grow, keep: a word becomes 1 one pass after the word before it. */
static const char kernel_text[] =
    "VYRE_SEGMENT(grow)(vyre_ctx *c, VYRE_IN(vyre_u32) seen, VYRE_OUT(vyre_u32) next)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, next)) next[i] = seen[i] | (i ? seen[i - 1u] : 0u);\n"
    "}\n"
    "VYRE_SEGMENT(keep)(vyre_ctx *c, VYRE_IN(vyre_u32) next, VYRE_OUT(vyre_u32) seen)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, seen)) seen[i] = next[i];\n"
    "}\n";

#define BINDING(buffer, access) "{\"buffer\": \"" buffer "\", \"access\": \"" access "\"}"
#define MANIFEST(iterations)                                                                       \
  "{\"name\": \"grow/er\", \"kernel\": \"k.c\", \"iterations\": " iterations ",\n"                 \
  " \"buffers\": [{\"name\": \"seen\", \"access\": \"read_write\", \"element\": \"u32\","          \
  " \"count\": 10},\n"                                                                             \
  "   {\"name\": \"next\", \"access\": \"read_write\", \"element\": \"u32\", \"count\": 10,"       \
  " \"output\": true, \"range\": [0, 0]}],\n"                                                      \
  " \"segments\": [\n"                                                                             \
  "   {\"kernel\": \"grow\", \"bindings\": [" BINDING("seen", "read_only") ", " BINDING(           \
      "next", "write_only") "]},\n"                                                                \
                            "   {\"kernel\": \"keep\", \"bindings\": [" BINDING(                   \
                                "next", "read_only") ", " BINDING("seen", "write_only") "]}]}"

typedef struct place {
  char *folder, *once, *often, *kernel, *out;
  char in[4096], to[4096]; /* seen=FILE */
} place;

static int set_up(void **state)
{
  static const uint32_t first[COUNT] = {1};
  place *p = calloc(1, sizeof *p);
  char *seen;

  assert_non_null(p);
  p->folder = make_folder();
  p->once = path_in(p->folder, "once.json");
  p->often = path_in(p->folder, "often.json");
  p->kernel = path_in(p->folder, "k.c");
  p->out = path_in(p->folder, "out");
  seen = path_in(p->folder, "seen");
  write_text(p->once, MANIFEST("1"));
  write_text(p->often, MANIFEST("100"));
  write_text(p->kernel, kernel_text);
  write_file(seen, first, sizeof first);
  snprintf(p->in, sizeof p->in, "seen=%s", seen);
  snprintf(p->to, sizeof p->to, "seen=%s", p->out);
  free(seen);
  *state = p;
  return 0;
}

static int tear_down(void **state)
{
  place *p = *state;

  free(p->once);
  free(p->often);
  free(p->kernel);
  free(p->out);
  remove_folder(p->folder);
  free(p);
  return 0;
}

/* The object on stdout, of a run that ended well. */
static json_t *object_of(spawned *result)
{
  json_t *root;

  expect_exit(result, 0);
  root = json_loads(result->out, JSON_REJECT_DUPLICATES, NULL);
  if (root == NULL) {
    fail_msg("no JSON: %s", result->out);
  }
  spawned_free(result);
  return root;
}

static const char *text_of(json_t *root, const char *key)
{
  const char *text = json_string_value(json_object_get(root, key));

  return text != NULL ? text : "(none)";
}

/* The first `ones` words of the output are 1. */
static void expect_out_file(const place *p, size_t ones)
{
  size_t size = 0, i;
  uint32_t words[COUNT];
  char *bytes = read_whole(p->out, &size);

  assert_non_null(bytes);
  assert_int_equal(size, sizeof words);
  memcpy(words, bytes, sizeof words);
  free(bytes);
  for (i = 0; i < COUNT; i++) {
    assert_int_equal(words[i], i < ones);
  }
}

static void expect_passes(json_t *root, json_int_t passes, const char *converged)
{
  assert_int_equal(json_integer_value(json_object_get(root, "passes")), passes);
  assert_string_equal(text_of(root, "converged"), converged);
}

static void test_routes(void **state)
{
  static const char *const routes[] = {"native", "resident", "host", "auto"};
  static const char *const times[] = {"wall", "device", "device_span", "enqueue", "wait"};
  const place *p = *state;
  size_t i, k;

  for (i = 0; i < sizeof routes / sizeof routes[0]; i++) {
    spawned result = VYRE("run", p->often, "--in", p->in, "--out", p->to, "--route", routes[i],
                          "--device", "cpu", "--json");
    json_t *root = object_of(&result), *seconds = json_object_get(root, "seconds");
    assert_true(json_is_true(json_object_get(root, "ran")));
    expect_passes(root, COUNT, "yes");
    expect_out_file(p, COUNT);
    if (strcmp(routes[i], "auto") != 0) {
      assert_string_equal(text_of(root, "route"), routes[i]);
    }
    if (strcmp(routes[i], "native") == 0) {
      assert_string_equal(text_of(root, "form"), "fused");
      assert_int_equal(json_integer_value(json_object_get(root, "launches")), 1);
    } else if (strcmp(routes[i], "auto") != 0) {
      /* Ten passes of two launches: the last ones are recorded. */
      assert_string_equal(text_of(root, "form"),
                          strcmp(routes[i], "resident") == 0 ? "replays" : "launches");
      assert_true(json_integer_value(json_object_get(root, "launches")) >= 2 * (int)COUNT);
    }
    assert_true(json_is_string(json_object_get(root, "reason")));
    for (k = 0; k < sizeof times / sizeof times[0]; k++) {
      assert_non_null(json_object_get(seconds, times[k]));
    }
    json_decref(root);
    assert_int_equal(remove(p->out), 0);
  }
}

static void test_text(void **state)
{
  static const char *const words[] = {
      "program   grow/er",      "device    cpu:0",
      "route     native",       "form      fused",
      "launches  1\n",          "passes    10 (converged: yes)",
      "  span      ",           "output    seen, 40 bytes, not written",
      "output    next, 0 bytes"};
  const place *p = *state;
  spawned result = VYRE("run", p->often, "--in", p->in, "--route", "native", "--device", "cpu");
  size_t i;

  expect_exit(&result, 0);
  for (i = 0; i < sizeof words / sizeof words[0]; i++) {
    expect_out(&result, words[i]);
  }
  spawned_free(&result);
}

/* The manifest's passes, other ones, and none that are tested. */
static void test_iterations(void **state)
{
  const place *p = *state;
  spawned result = VYRE("run", p->once, "--in", p->in, "--out", p->to, "--json");
  json_t *root = object_of(&result);

  expect_passes(root, 1, "not tested");
  expect_out_file(p, 2);
  json_decref(root);
  result = VYRE("run", p->often, "--in", p->in, "--out", p->to, "--iterations", "3", "--json");
  root = object_of(&result);
  expect_passes(root, 3, "no");
  expect_out_file(p, 4);
  json_decref(root);
  result = VYRE("run", p->often, "--in", p->in, "--out", p->to, "--no-converge", "--json");
  root = object_of(&result);
  expect_passes(root, 100, "not tested");
  expect_out_file(p, COUNT);
  json_decref(root);
  /* One pass in the manifest: the fused kernel and its test are compiled all the same. */
  result = VYRE("run", p->once, "--in", p->in, "--out", p->to, "--iterations", "20", "--route",
                "native", "--device", "cpu", "--json");
  root = object_of(&result);
  expect_passes(root, COUNT, "yes");
  assert_int_equal(json_integer_value(json_object_get(root, "launches")), 1);
  json_decref(root);
}

static void test_left_out(void **state)
{
  const place *p = *state;
  spawned result = VYRE("run", p->often, "--out", p->to);
  json_t *root, *input;

  expect_exit(&result, 0);
  expect_out(&result, "input     seen, not given: 40 bytes of zeros");
  expect_out(&result, "passes    1 (converged: yes)");
  expect_out_file(p, 0);
  spawned_free(&result);
  result = VYRE("run", p->often, "--json");
  root = object_of(&result);
  assert_int_equal(json_array_size(json_object_get(root, "inputs")), 1);
  input = json_array_get(json_object_get(root, "inputs"), 0);
  assert_string_equal(text_of(input, "name"), "seen");
  assert_int_equal(json_integer_value(json_object_get(input, "bytes")), 40);
  assert_true(json_is_null(json_object_get(input, "file")));
  json_decref(root);
}

static void test_explain(void **state)
{
  const place *p = *state;
  spawned result = VYRE("run", p->often, "--in", p->in, "--explain");
  json_t *root;
  char *route;

  expect_exit(&result, 0);
  expect_out(&result, "plan      ");
  expect_out(&result, "grow");
  assert_null(strstr(result.out, "launches  "));
  assert_false(exists(p->out));
  spawned_free(&result);
  result = VYRE("run", p->often, "--in", p->in, "--explain", "--json");
  root = object_of(&result);
  assert_true(json_is_false(json_object_get(root, "ran")));
  assert_true(json_array_size(json_object_get(root, "plan")) > 4);
  assert_null(json_object_get(root, "passes"));
  route = strdup(text_of(root, "route"));
  assert_non_null(route);
  assert_true(strcmp(route, "native") == 0 || strcmp(route, "resident") == 0 ||
              strcmp(route, "host") == 0);
  json_decref(root);
  free(route);
  result = VYRE("run", p->often, "--in", p->in, "--explain", "--route", "host", "--json");
  root = object_of(&result);
  assert_string_equal(text_of(root, "route"), "host");
  json_decref(root);
  /* With an output it runs. */
  result = VYRE("run", p->often, "--in", p->in, "--explain", "--out", p->to);
  expect_exit(&result, 0);
  expect_out(&result, "plan      ");
  expect_out(&result, "passes    10 (converged: yes)");
  expect_out_file(p, COUNT);
  spawned_free(&result);
}

/* FOLDER/grow_er.vyre.c is there and has these words; it is removed. */
static void expect_kept(const place *p)
{
  char *path = path_in(p->folder, "grow_er.vyre.c"), *text;
  size_t size = 0;

  text = read_whole(path, &size);
  assert_non_null(text);
  assert_non_null(strstr(text, "VYRE_SEGMENT(grow)"));
  assert_non_null(strstr(text, "#line"));
  assert_non_null(strstr(text, "VYRE_FUSED(vyre_fused"));
  free(text);
  assert_int_equal(remove(path), 0);
  free(path);
}

static void test_keep_temps(void **state)
{
  const place *p = *state;
  char option[4096], *bundle = path_in(p->folder, "b.vyreb");
  spawned result;

  snprintf(option, sizeof option, "--keep-temps=%s", p->folder);
  result = VYRE("run", p->often, "--in", p->in, option);
  expect_exit(&result, 0);
  expect_out(&result, "grow_er.vyre.c");
  expect_kept(p);
  spawned_free(&result);
  result = VYRE("compile", p->often, "-o", bundle, "--target", "cpu", option);
  expect_exit(&result, 0);
  expect_kept(p);
  spawned_free(&result);
  /* A bundle, and handlers, have no such text. */
  result = VYRE("run", bundle, option);
  expect_exit(&result, 2);
  expect_err(&result, "--keep-temps");
  spawned_free(&result);
  result = VYRE("compile", VYRE_TEST_SOURCE_DIR "/tools/scan/scan.json", "-o", bundle, "--target",
                "cpu", option);
  expect_exit(&result, 2);
  expect_err(&result, "describes handlers");
  spawned_free(&result);
  result = VYRE("run", p->often, "--keep-temps=/nonexistent/folder");
  expect_exit(&result, 2);
  expect_err(&result, "/nonexistent/folder");
  spawned_free(&result);
  result = VYRE("run", p->often, "--keep-temps=");
  expect_exit(&result, 2);
  spawned_free(&result);
  /* What does not compile is there to be read. */
  write_text(p->kernel, "VYRE_SEGMENT(grow)\nVYRE_SEGMENT(keep)\nnonsense\n");
  result = VYRE("run", p->often, option);
  expect_exit(&result, 2);
  expect_kept(p);
  spawned_free(&result);
  free(bundle);
}

/* A bundle of one segment and one pass, run for more. */
static void test_bundle(void **state)
{
  const place *p = *state;
  char *manifest = path_in(p->folder, "up.json"), *bundle = path_in(p->folder, "up.vyreb");
  spawned result;
  json_t *root;

  write_text(manifest, "{\"name\": \"up\", \"kernel\": \"k.c\",\n"
                       " \"buffers\": [{\"name\": \"n\", \"access\": \"read_write\","
                       " \"element\": \"u32\", \"count\": 7}],\n"
                       " \"segments\": [{\"kernel\": \"up\", \"bindings\": [" BINDING(
                           "n", "read_write") "]}]}");
  write_text(p->kernel, "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_INOUT(vyre_u32) n)\n"
                        "{\n"
                        "  vyre_u64 i = vyre_global_id(c, 0);\n"
                        "  if (i < vyre_count(c, n) && n[i] < 5u) n[i] += 1u;\n"
                        "}\n");
  result = VYRE("compile", manifest, "-o", bundle, "--target", "cpu");
  expect_exit(&result, 0);
  spawned_free(&result);
  result = VYRE("run", bundle, "--iterations", "100", "--json");
  root = object_of(&result);
  expect_passes(root, 6, "yes");
  json_decref(root);
  free(manifest);
  free(bundle);
}

/* A bundle that was made for a test, run without one: its fused kernel has the shadow all the same.
 */
static void test_bundle_untested(void **state)
{
  const place *p = *state;
  char *bundle = path_in(p->folder, "often.vyreb");
  const char *const routes[] = {"native", "resident", "host"};
  spawned result = VYRE("compile", p->often, "-o", bundle, "--target", "cpu");
  json_t *root;

  expect_exit(&result, 0);
  spawned_free(&result);
  for (size_t i = 0; i < 3; i++) {
    result = VYRE("run", bundle, "--in", p->in, "--out", p->to, "--device", "cpu", "--route",
                  routes[i], "--no-converge", "--iterations", "3", "--json");
    root = object_of(&result);
    expect_passes(root, 3, "not tested");
    expect_out_file(p, 4);
    json_decref(root);
    result = VYRE("run", bundle, "--in", p->in, "--out", p->to, "--device", "cpu", "--route",
                  routes[i], "--iterations", "1", "--json");
    root = object_of(&result);
    expect_passes(root, 1, "not tested");
    expect_out_file(p, 2);
    json_decref(root);
  }
  free(bundle);
}

/* Kernels that report changes have a parameter for that; who runs them cannot take it away. */
static void test_bundle_declared(void **state)
{
  const place *p = *state;
  char *manifest = path_in(p->folder, "down.json"), *bundle = path_in(p->folder, "down.vyreb");
  spawned result;

  write_text(manifest, "{\"name\": \"down\", \"kernel\": \"k.c\", \"iterations\": 9,\n"
                       " \"converge\": \"declared\",\n"
                       " \"buffers\": [{\"name\": \"n\", \"access\": \"read_write\","
                       " \"element\": \"u32\", \"count\": 7}],\n"
                       " \"segments\": [{\"kernel\": \"down\", \"bindings\": [" BINDING(
                           "n", "read_write") "]}]}");
  write_text(p->kernel, "VYRE_SEGMENT(down)(vyre_ctx *c, VYRE_INOUT(vyre_u32) n)\n"
                        "{\n"
                        "  vyre_u64 i = vyre_global_id(c, 0);\n"
                        "  if (i < vyre_count(c, n) && n[i]) { n[i] -= 1u; vyre_changed(c); }\n"
                        "}\n");
  result = VYRE("compile", manifest, "-o", bundle, "--target", "cpu");
  expect_exit(&result, 0);
  spawned_free(&result);
  result = VYRE("run", bundle, "--no-converge", "--route", "host");
  expect_exit(&result, 2);
  expect_err(&result, "--no-converge");
  spawned_free(&result);
  result = VYRE("run", manifest, "--no-converge", "--route", "host", "--device", "cpu");
  expect_exit(&result, 0);
  spawned_free(&result);
  free(manifest);
  free(bundle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_routes),          TEST(test_text),
      TEST(test_iterations),      TEST(test_left_out),
      TEST(test_explain),         TEST(test_keep_temps),
      TEST(test_bundle),          TEST(test_bundle_untested),
      TEST(test_bundle_declared),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
