/*
 * test_cli.c - the command's verbs other than scan: help, wrong command lines, devices, run,
 * compile, and outputs that are written whole or not at all.
 */
#include "spawn_vyre.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HISTOGRAM VYRE_TEST_SOURCE_DIR "/examples/histogram/manifest.json"

static const char *const verbs[] = {"devices", "scan", "run", "compile", "bench"};
#define VERBS (sizeof verbs / sizeof verbs[0])

static void test_help(void **state)
{
  spawned result = VYRE("--help");
  size_t i;

  (void)state;
  expect_exit(&result, 0);
  assert_int_equal(result.err_size, 0);
  for (i = 0; i < VERBS; i++) {
    expect_out(&result, verbs[i]);
  }
  expect_out(&result, "Exit status:");
  spawned_free(&result);
  for (i = 0; i < VERBS; i++) {
    char usage[64];
    snprintf(usage, sizeof usage, "Usage: vyre %s", verbs[i]);
    result = VYRE(verbs[i], "--help");
    expect_exit(&result, 0);
    assert_int_equal(strncmp(result.out, usage, strlen(usage)), 0);
    expect_out(&result, "Exit status:");
    assert_null(strchr(result.out, '\033'));
    spawned_free(&result);
  }
  result = VYRE("--version");
  expect_exit(&result, 0);
  assert_string_equal(result.out, "vyre 0.1.0\n");
  spawned_free(&result);
}

static void test_usage(void **state)
{
  static const char *const wrong[][6] = {
      {NULL},
      {"nosuchverb", NULL},
      {"--nonsense", NULL},
      {"devices", "extra", NULL},
      {"devices", "--nonsense", NULL},
      {"run", NULL},
      {"run", "a.json", "b.json", NULL},
      {"run", "a.json", "--in", "data", NULL},
      {"run", "a.json", "--in", "=file", NULL},
      {"run", "a.json", "--in", "a=1", "a=2", NULL},
      {"run", "a.json", "--route", "fast", NULL},
      {"run", "a.json", "--iterations", "0", NULL},
      {"run", "a.json", "--iterations", "4294967296", NULL},
      {"run", "a.json", "--in", NULL},
      {"compile", NULL},
      {"compile", "a.json", NULL},
      {"compile", "a.json", "-o", "x", NULL},
      {"compile", "a.json", "--target", "cpu", NULL},
      {"bench", NULL},
      {"bench", "nosuchbench", NULL},
      {"bench", "engine", "--rounds", "many", NULL},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    spawned result = spawn_vyre(wrong[i]);
    expect_exit(&result, 2);
    expect_err(&result, "Try 'vyre");
    assert_int_equal(result.out_size, 0);
    spawned_free(&result);
  }
}

static void test_broken_stdout(void **state)
{
  static const spawn_stdout broken[] = {SPAWN_FULL, SPAWN_BROKEN, SPAWN_CLOSED};
  static const char *const lines[][3] = {
      {"--help", NULL}, {"--version", NULL}, {"devices", NULL}, {"devices", "--json", NULL}};
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    for (k = 0; k < sizeof lines / sizeof lines[0]; k++) {
      spawned result = spawn_vyre_with(broken[i], NULL, lines[k]);
      expect_exit(&result, 2);
      expect_err(&result, "cannot write to standard output");
      spawned_free(&result);
    }
  }
}

/* ---- devices ---- */

static void test_devices(void **state)
{
  static const char *const empty[] = {"VYRE_PLUGIN_PATH=/nonexistent/plugins", NULL};
  static const char *const json_line[] = {"devices", "--json", "--verbose", NULL};
  spawned result = VYRE("devices");
  json_t *root, *devices, *device, *candidates, *row;
  bool folder = false;
  size_t i;

  (void)state;
  expect_exit(&result, 0);
  expect_out(&result, "cpu:0");
  expect_out(&result, "  grid sync      ");
  assert_null(strchr(result.out, '\033'));
  spawned_free(&result);
  result = VYRE("devices", "-v");
  expect_exit(&result, 0);
  expect_out(&result, "loaded");
  expect_out(&result, "libvyre_cpu.so");
  spawned_free(&result);
  result = spawn_vyre_with(SPAWN_CAPTURE, empty, json_line);
  expect_exit(&result, 0);
  root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  assert_string_equal(json_string_value(json_object_get(root, "version")), "0.1.0");
  devices = json_object_get(root, "devices");
  assert_true(json_array_size(devices) >= 1);
  device = json_array_get(devices, json_array_size(devices) - 1);
  assert_string_equal(json_string_value(json_object_get(device, "selector")), "cpu:0");
  assert_string_equal(json_string_value(json_object_get(device, "class")), "cpu");
  assert_true(json_is_true(json_object_get(json_object_get(device, "capabilities"), "buffers")));
  assert_true(json_is_integer(json_object_get(device, "cooperative_items")));
  if (strcmp(json_string_value(json_object_get(device, "grid_sync")), "native") != 0) {
    assert_true(json_string_length(json_object_get(device, "grid_sync_reason")) > 0);
  }
  candidates = json_object_get(root, "candidates");
  json_array_foreach(candidates, i, row)
  {
    if (strcmp(json_string_value(json_object_get(row, "stage")), "folder") == 0) {
      folder = true;
      assert_true(json_string_length(json_object_get(row, "reason")) > 0);
      assert_true(json_string_length(json_object_get(row, "fix")) > 0);
    }
  }
  assert_true(folder);
  json_decref(root);
  spawned_free(&result);
}

/* ---- run and compile ---- */

typedef struct place {
  char *folder, *data, *out, *bundle;
} place;

static int set_up(void **state)
{
  place *p = malloc(sizeof *p);
  uint8_t bytes[1000];
  size_t i;

  assert_non_null(p);
  p->folder = make_folder();
  p->data = path_in(p->folder, "data");
  p->out = path_in(p->folder, "out");
  p->bundle = path_in(p->folder, "bundle.vyreb");
  for (i = 0; i < sizeof bytes; i++) {
    bytes[i] = (uint8_t)(i * i / 7);
  }
  write_file(p->data, bytes, sizeof bytes);
  *state = p;
  return 0;
}

static int tear_down(void **state)
{
  place *p = *state;

  free(p->data);
  free(p->out);
  free(p->bundle);
  remove_folder(p->folder);
  free(p);
  return 0;
}

/* NAME=PATH */
static const char *named(char text[4096], const char *name, const char *path)
{
  snprintf(text, 4096, "%s=%s", name, path);
  return text;
}

static void expect_histogram(const place *p)
{
  uint64_t counts[256] = {0};
  size_t size = 0, i;
  char *bytes = read_whole(p->data, &size);

  for (i = 0; i < size; i++) {
    counts[(uint8_t)bytes[i]]++;
  }
  free(bytes);
  bytes = read_whole(p->out, &size);
  assert_non_null(bytes);
  assert_int_equal(size, sizeof counts);
  assert_memory_equal(bytes, counts, sizeof counts);
  free(bytes);
}

/* No temporary file stays. */
static void expect_files(const place *p, const char *names)
{
  char *command = NULL, line[512] = "";
  FILE *stream;

  assert_true(asprintf(&command, "ls '%s' | tr '\\n' ' '", p->folder) > 0);
  stream = popen(command, "r");
  assert_non_null(stream);
  assert_non_null(fgets(line, sizeof line, stream));
  pclose(stream);
  free(command);
  assert_string_equal(line, names);
}

static void test_run(void **state)
{
  static const char *const words[] = {"device    cpu:0", "chosen    ",  "route     ",
                                      "launches  1",     "passes    1", "wall"};
  const place *p = *state;
  char in[4096], out[4096];
  spawned result = VYRE("run", HISTOGRAM, "--in", named(in, "data", p->data), "--out",
                        named(out, "counts", p->out), "--device", "cpu");
  json_t *root;
  struct stat info;
  size_t i;

  expect_exit(&result, 0);
  for (i = 0; i < sizeof words / sizeof words[0]; i++) {
    expect_out(&result, words[i]);
  }
  expect_histogram(p);
  assert_int_equal(stat(p->out, &info), 0);
  expect_files(p, "data out ");
  spawned_free(&result);
  /* Over a file that is there, whose mode stays. */
  assert_int_equal(chmod(p->out, 0600), 0);
  write_text(p->out, "old");
  result = VYRE("run", HISTOGRAM, "--in", in, "--out", out, "--route", "host", "--json");
  expect_exit(&result, 0);
  expect_histogram(p);
  assert_int_equal(stat(p->out, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
  root = json_loads(result.out, 0, NULL);
  assert_non_null(root);
  assert_string_equal(json_string_value(json_object_get(root, "route")), "host");
  assert_int_equal(json_integer_value(json_object_get(root, "launches")), 1);
  assert_non_null(json_object_get(json_object_get(root, "device"), "choice"));
  json_decref(root);
  spawned_free(&result);
}

static void test_run_through_link_and_pipe(void **state)
{
  const place *p = *state;
  char in[4096], out[4096];
  char *link_path = path_in(p->folder, "link");
  struct stat info;
  spawned result;

  write_text(p->out, "old");
  assert_int_equal(symlink("out", link_path), 0);
  result = VYRE("run", HISTOGRAM, "--in", named(in, "data", p->data), "--out",
                named(out, "counts", link_path));
  expect_exit(&result, 0);
  expect_histogram(p);
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  spawned_free(&result);
  result = VYRE("run", HISTOGRAM, "--in", in, "--out", "counts=/dev/null");
  expect_exit(&result, 0);
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  spawned_free(&result);
  free(link_path);
}

static void test_run_errors_write_nothing(void **state)
{
  const place *p = *state;
  char in[4096], out[4096], bad[4096];
  spawned result;

  write_text(p->out, "old");
  named(in, "data", p->data);
  named(out, "counts", p->out);
  result = VYRE("run", HISTOGRAM, "--out", out);
  expect_exit(&result, 2);
  expect_err(&result, "input 'data' is not given");
  spawned_free(&result);
  result = VYRE("run", HISTOGRAM, "--in", in, "--in", "extra=/dev/null", "--out", out);
  expect_exit(&result, 2);
  expect_err(&result, "extra");
  spawned_free(&result);
  result = VYRE("run", HISTOGRAM, "--in", "data=/nonexistent/x", "--out", out);
  expect_exit(&result, 2);
  expect_err(&result, "/nonexistent/x");
  spawned_free(&result);
  result = VYRE("run", HISTOGRAM, "--in", in, "--out", "counts=/nonexistent/x");
  expect_exit(&result, 2);
  expect_err(&result, "/nonexistent/x");
  spawned_free(&result);
  result = VYRE("run", HISTOGRAM, "--in", in, "--out", out, "--device", "cuda");
  expect_exit(&result, 2);
  expect_err(&result, "cpu:0");
  expect_err(&result, "fix: ");
  spawned_free(&result);
  result = VYRE("run", HISTOGRAM, "--in", in, "--out", named(bad, "counts", p->folder));
  expect_exit(&result, 2);
  expect_err(&result, "Is a directory");
  spawned_free(&result);
  {
    size_t size = 0;
    char *bytes = read_whole(p->out, &size);
    assert_string_equal(bytes, "old");
    free(bytes);
  }
  expect_files(p, "data out ");
}

static void test_compile(void **state)
{
  const place *p = *state;
  char in[4096], out[4096], cache[4096];
  const char *arguments[] = {"run", p->bundle, "--in", in, "--out", out, NULL};
  const char *environment[] = {"PATH=/nonexistent", "VYRE_CC=/nonexistent/cc", cache, NULL};
  spawned result = VYRE("compile", HISTOGRAM, "-o", p->bundle, "--target", "cpu");

  expect_exit(&result, 0);
  assert_int_equal(result.out_size + result.err_size, 0);
  spawned_free(&result);
  named(in, "data", p->data);
  named(out, "counts", p->out);
  snprintf(cache, sizeof cache, "VYRE_CACHE_DIR=%s/cache", p->folder);
  result = spawn_vyre_with(SPAWN_CAPTURE, environment, arguments);
  expect_exit(&result, 0);
  expect_out(&result, "program   histogram");
  expect_histogram(p);
  spawned_free(&result);
  result = VYRE("compile", p->bundle, "-o", p->out, "--target", "cpu");
  expect_exit(&result, 2);
  expect_err(&result, "compiled already");
  spawned_free(&result);
  result = VYRE("compile", HISTOGRAM, "-o", p->out, "--target", "nosuch");
  expect_exit(&result, 2);
  expect_err(&result, "nosuch");
  spawned_free(&result);
  result = VYRE("compile", HISTOGRAM, "-o", "/nonexistent/x.vyreb", "--target", "cpu");
  expect_exit(&result, 2);
  expect_err(&result, "/nonexistent/x.vyreb");
  spawned_free(&result);
}

/* Every truncation of a bundle, and bytes turned over, end in an error or in the right result. */
static void test_broken_bundles(void **state)
{
  const place *p = *state;
  char *broken = path_in(p->folder, "broken.vyreb"), in[4096], *image;
  size_t size = 0, i;
  spawned result = VYRE("compile", HISTOGRAM, "-o", p->bundle, "--target", "cpu");

  expect_exit(&result, 0);
  spawned_free(&result);
  named(in, "data", p->data);
  image = read_whole(p->bundle, &size);
  assert_non_null(image);
  for (i = 0; i < 12; i++) {
    write_file(broken, image, size * i / 12);
    result = VYRE("run", broken, "--in", in);
    expect_exit(&result, 2);
    expect_err(&result, "broken.vyreb");
    spawned_free(&result);
  }
  for (i = 0; i < 64; i += 5) {
    image[i] = (char)~image[i];
    write_file(broken, image, size);
    image[i] = (char)~image[i];
    result = VYRE("run", broken, "--in", in);
    assert_true(result.exit_status == 2 || result.exit_status == 0);
    spawned_free(&result);
  }
  free(image);
  free(broken);
}

static void test_bad_manifests(void **state)
{
  const place *p = *state;
  char *path = path_in(p->folder, "m.json"), *kernel = path_in(p->folder, "k.c"), in[4096];
  spawned result;

  named(in, "n", p->data);
  write_text(path, "{\n  \"kernel\": \"k.c\",\n  \"bufers\": []\n}\n");
  result = VYRE("run", path);
  expect_exit(&result, 2);
  expect_err(&result, "m.json:3:13: bufers: unknown key");
  spawned_free(&result);
  write_text(path,
             "{\"kernel\": \"k.c\",\n \"buffers\": [{\"name\": \"n\", \"access\": \"read_write\","
             " \"element\": \"u8\", \"count\": \"input\"}],\n"
             " \"segments\": [{\"kernel\": \"s\", \"bindings\": [{\"buffer\": \"n\","
             " \"access\": \"read_write\"}]}]}");
  result = VYRE("run", path, "--in", in);
  expect_exit(&result, 2);
  expect_err(&result, "m.json:1:12: kernel: ");
  expect_err(&result, "/k.c");
  spawned_free(&result);
  write_text(kernel, "VYRE_SEGMENT(s)(vyre_ctx *c, VYRE_INOUT(vyre_u8) n)\n{\n  nonsense;\n}\n");
  result = VYRE("run", path, "--in", in);
  expect_exit(&result, 2);
  expect_err(&result, "k.c:3:"); /* the author's own line */
  spawned_free(&result);
  write_text(kernel,
             "VYRE_SEGMENT(s)(vyre_ctx *c, VYRE_INOUT(vyre_u8) n)\n{\n"
             "  if (vyre_global_id(c, 0) < vyre_count(c, n)) n[vyre_global_id(c, 0)] ^= 255;\n"
             "}\n");
  result = VYRE("run", path, "--in", in);
  expect_exit(&result, 0);
  expect_out(&result, "1000 bytes, not written");
  spawned_free(&result);
  /* Handlers are no program. */
  result = VYRE("run", VYRE_TEST_SOURCE_DIR "/tools/scan/scan.json");
  expect_exit(&result, 2);
  expect_err(&result, "not a program");
  spawned_free(&result);
  free(path);
  free(kernel);
}

static void test_bench(void **state)
{
  const place *p = *state;
  spawned result = VYRE("bench", "--list");
  json_t *root;

  expect_exit(&result, 0);
  expect_out(&result, "engine");
  spawned_free(&result);
  result = VYRE("bench", "engine", "--rounds", "1", "--jobs", "100", "--json", p->out);
  expect_exit(&result, 0);
  expect_out(&result, "ratio");
  spawned_free(&result);
  root = json_load_file(p->out, 0, NULL);
  assert_non_null(root);
  json_decref(root);
  result = VYRE("bench", "engine", "--rounds", "1", "--jobs", "100", "--json", "/nonexistent/x");
  expect_exit(&result, 2);
  expect_err(&result, "/nonexistent/x");
  spawned_free(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_help),
      cmocka_unit_test(test_usage),
      cmocka_unit_test(test_broken_stdout),
      cmocka_unit_test(test_devices),
      TEST(test_run),
      TEST(test_run_through_link_and_pipe),
      TEST(test_run_errors_write_nothing),
      TEST(test_compile),
      TEST(test_broken_bundles),
      TEST(test_bad_manifests),
      TEST(test_bench),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
