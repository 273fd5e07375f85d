/*
 * test_scan_tree.c - `vyre scan` on random trees against a plain matcher that shares no code with
 * it: every byte of the output, in every mode, for pieces and banks of awkward sizes.
 */
#include "spawn_vyre.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#define MAX_FILES 40
#define MAX_RULES 12
#define MAX_PATTERN 40
#define MAX_SIZE 4000

typedef struct test_rule {
  char id[32];
  uint8_t bytes[MAX_PATTERN];
  size_t length;
  bool fold;
} test_rule;

typedef struct test_file {
  char *path;
  uint8_t *bytes;
  size_t size;
} test_file;

typedef struct world {
  uint64_t random;
  char *folder, *tree, *rules_path;
  test_rule rules[MAX_RULES];
  size_t rule_count;
  test_file files[MAX_FILES];
  size_t file_count;
} world;

static uint64_t next_random(world *w)
{
  uint64_t z = w->random += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static size_t below(world *w, size_t bound)
{
  return (size_t)(next_random(w) % bound);
}

/* ---- making the world ---- */

static uint8_t random_byte(world *w, size_t alphabet)
{
  static const uint8_t few[] = {'a', 'B', 'b', 'A', 0, '\n', 0xff, '\\'};

  return alphabet <= sizeof few ? few[below(w, alphabet)] : (uint8_t)below(w, 256);
}

static void make_rules(world *w, size_t alphabet)
{
  size_t i, at;
  FILE *file;

  w->rule_count = 1 + below(w, MAX_RULES);
  file = fopen(w->rules_path, "wb");
  assert_non_null(file);
  fputs("# made up\n\n", file);
  for (i = 0; i < w->rule_count; i++) {
    test_rule *rule = &w->rules[i];
    /* Ids whose order is not that of the file. */
    snprintf(rule->id, sizeof rule->id, "%c%zu", (char)('a' + below(w, 26)), i);
    rule->length = 1 + (below(w, 4) == 0 ? below(w, MAX_PATTERN) : below(w, 4));
    rule->fold = below(w, 3) == 0;
    fprintf(file, "%s %s", rule->id, rule->fold ? "(?i)" : "");
    for (at = 0; at < rule->length; at++) {
      rule->bytes[at] = random_byte(w, alphabet);
      fprintf(file, "\\x%02x", rule->bytes[at]);
    }
    fputc('\n', file);
  }
  assert_int_equal(fclose(file), 0);
}

static int compare_files(const void *left, const void *right)
{
  return strcmp(((const test_file *)left)->path, ((const test_file *)right)->path);
}

static void make_files(world *w, size_t alphabet)
{
  static const char *const folders[] = {"",         "a/",         "a-b/",  "a/b/",
                                        ".hidden/", "line\nend/", "z\xff/"};
  size_t i, at;
  char *path;

  assert_int_equal(mkdir(w->tree, 0755), 0);
  for (i = 1; i < sizeof folders / sizeof folders[0]; i++) {
    path = path_in(w->tree, folders[i]);
    assert_int_equal(mkdir(path, 0755), 0);
    free(path);
  }
  w->file_count = 1 + below(w, MAX_FILES);
  for (i = 0; i < w->file_count; i++) {
    test_file *file = &w->files[i];
    assert_true(asprintf(&file->path, "%s/%s%s%zu", w->tree,
                         folders[below(w, sizeof folders / sizeof folders[0])],
                         below(w, 4) == 0 ? "." : "f", i) > 0);
    file->size = below(w, 3) == 0 ? below(w, MAX_SIZE) : below(w, 200);
    file->bytes = malloc(file->size + 1);
    assert_non_null(file->bytes);
    for (at = 0; at < file->size; at++) {
      file->bytes[at] = random_byte(w, alphabet);
    }
    write_file(file->path, file->bytes, file->size);
  }
  qsort(w->files, w->file_count, sizeof *w->files, compare_files);
}

static void make_world(world *w, uint64_t seed, size_t alphabet)
{
  memset(w, 0, sizeof *w);
  w->random = seed;
  w->folder = make_folder();
  w->tree = path_in(w->folder, "tree");
  w->rules_path = path_in(w->folder, "rules");
  make_rules(w, alphabet);
  make_files(w, alphabet);
}

static void free_world(world *w)
{
  size_t i;

  for (i = 0; i < w->file_count; i++) {
    free(w->files[i].path);
    free(w->files[i].bytes);
  }
  free(w->tree);
  free(w->rules_path);
  remove_folder(w->folder);
}

/* ---- the plain matcher ---- */

static bool same(uint8_t a, uint8_t b, bool fold)
{
  if (fold) {
    a = (uint8_t)(a >= 'A' && a <= 'Z' ? a + 32 : a);
    b = (uint8_t)(b >= 'A' && b <= 'Z' ? b + 32 : b);
  }
  return a == b;
}

static bool rule_at(const test_rule *rule, const test_file *file, size_t offset)
{
  size_t i;

  if (rule->length > file->size - offset) {
    return false;
  }
  for (i = 0; i < rule->length; i++) {
    if (!same(rule->bytes[i], file->bytes[offset + i], rule->fold)) {
      return false;
    }
  }
  return true;
}

static int compare_rules(const void *left, const void *right)
{
  return strcmp(((const test_rule *)left)->id, ((const test_rule *)right)->id);
}

/* Lines, or counts; returns the number of matches. */
static size_t expected(world *w, bool count, char **out_text, size_t *out_size)
{
  FILE *stream = open_memstream(out_text, out_size);
  size_t i, rule, offset, matches = 0, in_file;

  assert_non_null(stream);
  qsort(w->rules, w->rule_count, sizeof *w->rules, compare_rules);
  for (i = 0; i < w->file_count; i++) {
    in_file = 0;
    for (offset = 0; offset < w->files[i].size; offset++) {
      for (rule = 0; rule < w->rule_count; rule++) {
        if (rule_at(&w->rules[rule], &w->files[i], offset)) {
          in_file++;
          if (!count) {
            fprintf(stream, "%s:%zu:%s\n", w->files[i].path, offset, w->rules[rule].id);
          }
        }
      }
    }
    if (count && in_file != 0) {
      fprintf(stream, "%s:%zu\n", w->files[i].path, in_file);
    }
    matches += in_file;
  }
  assert_int_equal(fclose(stream), 0);
  return matches;
}

/* ---- comparing ---- */

static void expect_bytes(const spawned *result, const char *want, size_t size)
{
  size_t at = 0;

  if (result->out_size == size && memcmp(result->out, want, size) == 0) {
    return;
  }
  while (at < size && at < result->out_size && result->out[at] == want[at]) {
    at++;
  }
  at = at < 100 ? 0 : at - 100;
  print_message("differ near byte %zu\nwant: %.300s\ngot:  %.300s\nstderr: %s\n", at,
                at < size ? want + at : "(end)", at < result->out_size ? result->out + at : "(end)",
                result->err);
  fail();
}

/* The path of an object, out of `path` or `path_b64`. */
static char *object_path(const json_t *object)
{
  const char *plain = json_string_value(json_object_get(object, "path"));
  const char *coded = json_string_value(json_object_get(object, "path_b64"));
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = 0;
  int have = 0;
  char *path, *at;

  if (plain == NULL && coded == NULL) {
    fail();
    return NULL;
  }
  assert_true(plain == NULL || coded == NULL);
  path = strdup(plain != NULL ? plain : coded);
  assert_non_null(path);
  if (plain != NULL) {
    return path;
  }
  at = path;
  for (; *coded != '\0' && *coded != '='; coded++) {
    assert_non_null(strchr(digits, *coded));
    bits = bits << 6 | (uint32_t)(strchr(digits, *coded) - digits);
    have += 6;
    if (have >= 8) {
      have -= 8;
      *at++ = (char)(uint8_t)(bits >> have);
    }
  }
  *at = '\0';
  return path;
}

/* Turns the objects back into lines. */
static void json_to_lines(spawned *result)
{
  char *lines = NULL, *line, *rest = result->out;
  size_t size = 0;
  FILE *stream = open_memstream(&lines, &size);

  assert_non_null(stream);
  while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
    json_t *object = json_loads(line, 0, NULL);
    char *path;
    assert_non_null(object);
    assert_int_equal(json_object_size(object), 4);
    path = object_path(object);
    assert_true(json_integer_value(json_object_get(object, "length")) > 0);
    fprintf(stream, "%s:%lld:%s\n", path,
            (long long)json_integer_value(json_object_get(object, "offset")),
            json_string_value(json_object_get(object, "rule")));
    free(path);
    json_decref(object);
  }
  assert_int_equal(fclose(stream), 0);
  free(result->out);
  result->out = lines;
  result->out_size = size;
}

typedef struct variant {
  const char *engine, *threads, *piece, *bank;
} variant;

static const variant variants[] = {
    {"auto", "VYRE_CPU_THREADS=2", "128k", "262144"}, {"force", "VYRE_CPU_THREADS=1", "1", "7"},
    {"disable", "VYRE_CPU_THREADS=3", "16", "64"},    {"force", "VYRE_CPU_THREADS=3", "63", "1"},
    {"disable", "VYRE_CPU_THREADS=1", "7", "3"},      {"auto", "VYRE_CPU_THREADS=3", "500", "100"},
};

static void check_world(world *w, const variant *v)
{
  const char *const environment[] = {v->threads, NULL};
  const char *arguments[] = {"scan",    "-r",           w->rules_path, "--engine",    v->engine,
                             w->tree,   "--piece-size", v->piece,      "--bank-size", v->bank,
                             "--stats", NULL,           NULL};
  char *want = NULL;
  size_t size = 0;
  const size_t matches = expected(w, false, &want, &size);
  spawned result = spawn_vyre_with(SPAWN_CAPTURE, environment, arguments);

  expect_exit(&result, matches != 0 ? 0 : 1);
  expect_bytes(&result, want, size);
  spawned_free(&result);
  arguments[11] = "--json";
  result = spawn_vyre_with(SPAWN_CAPTURE, environment, arguments);
  expect_exit(&result, matches != 0 ? 0 : 1);
  json_to_lines(&result);
  expect_bytes(&result, want, size);
  spawned_free(&result);
  free(want);
  arguments[11] = "--count";
  (void)expected(w, true, &want, &size);
  result = spawn_vyre_with(SPAWN_CAPTURE, environment, arguments);
  expect_exit(&result, matches != 0 ? 0 : 1);
  expect_bytes(&result, want, size);
  spawned_free(&result);
  free(want);
  arguments[11] = "--quiet";
  result = spawn_vyre_with(SPAWN_CAPTURE, environment, arguments);
  expect_exit(&result, matches != 0 ? 0 : 1);
  assert_int_equal(result.out_size, 0);
  spawned_free(&result);
}

static uint64_t seed_of_run(void)
{
  const char *given = getenv("VYRE_TEST_SEED");
  struct timespec now;
  uint64_t seed;

  clock_gettime(CLOCK_REALTIME, &now);
  seed = given != NULL ? strtoull(given, NULL, 0)
                       : (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
  print_message("seed: VYRE_TEST_SEED=%llu\n", (unsigned long long)seed);
  return seed;
}

static void test_random_trees(void **state)
{
  static const size_t alphabets[] = {2, 8, 256};
  const uint64_t seed = seed_of_run();
  world w;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    make_world(&w, seed + i, alphabets[i % 3]);
    check_world(&w, &variants[i]);
    free_world(&w);
  }
}

/* The same tree in every variant: the bytes do not depend on it. */
static void test_variants_agree(void **state)
{
  world w;
  size_t i;

  (void)state;
  make_world(&w, 4711, 4);
  for (i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    check_world(&w, &variants[i]);
  }
  free_world(&w);
}

/* Without the functions of strings, which look at all of a long text under sanitizers. */
static size_t count_lines(const spawned *result)
{
  size_t lines = 0, i;

  for (i = 0; i < result->out_size; i++) {
    lines += result->out[i] == '\n';
  }
  return lines;
}

/* A needle at every position around the edges of pieces. */
static void test_every_edge(void **state)
{
  enum { PIECE = 32, SIZE = 4 * PIECE };
  static const char needle[] = "needle-of-19-bytes!";
  char name[32];
  world w;
  size_t i, count = 0;

  (void)state;
  memset(&w, 0, sizeof w);
  w.folder = make_folder();
  w.tree = path_in(w.folder, "tree");
  w.rules_path = path_in(w.folder, "rules");
  write_text(w.rules_path, "whole needle-of-19-bytes!\nlast !\nfirst n\n");
  assert_int_equal(mkdir(w.tree, 0755), 0);
  for (i = 0; i + sizeof needle - 1 <= SIZE; i++) {
    uint8_t bytes[SIZE];
    char *path;
    memset(bytes, '.', sizeof bytes);
    memcpy(bytes + i, needle, sizeof needle - 1);
    snprintf(name, sizeof name, "%04zu", i);
    path = path_in(w.tree, name);
    write_file(path, bytes, i % 2 == 0 ? sizeof bytes : i + sizeof needle - 1);
    free(path);
    count++;
  }
  {
    const char *const sizes[] = {"1", "18", "19", "20", "31", "32", "33"};
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      spawned result = VYRE("scan", "-r", w.rules_path, "--piece-size", sizes[i], w.tree);
      const size_t lines = count_lines(&result);
      size_t whole = 0;
      const char *at;
      expect_exit(&result, 0);
      for (at = result.out; (at = strstr(at, ":whole\n")) != NULL; at++) {
        whole++;
      }
      assert_int_equal(whole, count);
      assert_int_equal(lines, 3 * count);
      spawned_free(&result);
    }
  }
  free_world(&w);
}

/* More matches in a piece than the bank takes: every byte ends many rules. */
static void test_dense(void **state)
{
  enum { RULES = 40, SIZE = 20000 };
  char *folder = make_folder(), *rules = path_in(folder, "rules"), *data = path_in(folder, "data");
  char *bytes = malloc(SIZE);
  FILE *file = fopen(rules, "w");
  size_t i;
  spawned result;

  (void)state;
  assert_non_null(file);
  assert_non_null(bytes);
  for (i = 1; i <= RULES; i++) {
    fprintf(file, "r%02zu %.*s\n", i, (int)i, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  }
  assert_int_equal(fclose(file), 0);
  memset(bytes, 'a', SIZE);
  write_file(data, bytes, SIZE);
  result = VYRE("scan", "-r", rules, data, "--bank-size", "100", "--stats");
  expect_exit(&result, 0);
  assert_int_equal(count_lines(&result), RULES * SIZE - RULES * (RULES - 1) / 2);
  expect_err(&result, "1 of them again");
  spawned_free(&result);
  free(bytes);
  free(rules);
  free(data);
  remove_folder(folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_trees),
      cmocka_unit_test(test_variants_agree),
      cmocka_unit_test(test_every_edge),
      cmocka_unit_test(test_dense),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
