/* Where plugins are looked for, in which order, and who wins a name. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/loader/search.h"
#include "tests/plugins/with_fixture.h"
#include "vyre_build.h"

static char first[FIXTURE_PATH_SIZE], second[FIXTURE_PATH_SIZE];
static char both[2 * FIXTURE_PATH_SIZE + 2];

static int set_up(void **state)
{
  (void)state;
  unsetenv("VYRE_PLUGIN_PATH");
  make_folder(first);
  make_folder(second);
  snprintf(both, sizeof both, "%s:%s", first, second);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  unsetenv("VYRE_PLUGIN_PATH");
  vyre__test_elevated(false);
  remove_folder(first);
  remove_folder(second);
  return 0;
}

static void run(vyre__search *search, const vyre_context_options *options)
{
  assert_int_equal(vyre__search_run(search, &vyre__default_allocator, options, NULL), VYRE_OK);
}

static void expect_row(const vyre__search *search, uint32_t row, const char *end)
{
  size_t length = strlen(end), has;
  assert_true(row < search->count);
  has = strlen(search->rows[row].path);
  if (has < length || strcmp(search->rows[row].path + has - length, end) != 0)
    fail_msg("row %u is %s and does not end in %s", row, search->rows[row].path, end);
}

static void touch(const char *folder, const char *name)
{
  char path[FIXTURE_PATH_SIZE + 300];
  FILE *file = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
}

/* Files, then the path's folders, each sorted by name; other names are not looked at. */
static void test_order(void **state)
{
  const char *files[] = {"/some/where/libvyre_z.so", "a.so"};
  vyre_context_options options = only_files(files, 2);
  vyre__search search;
  (void)state;
  options.plugin_path = both;
  touch(first, "libvyre_b.so");
  touch(first, "libvyre_a.so");
  touch(first, "libvyre_.so");
  touch(first, "libvyre_c.so.1");
  touch(first, "vyre_d.so");
  touch(first, "libvyre_e.txt");
  touch(second, "libvyre_0.so");
  run(&search, &options);
  assert_int_equal(search.count, 5);
  expect_row(&search, 0, "/some/where/libvyre_z.so");
  expect_row(&search, 1, "a.so");
  assert_true(search.rows[0].is_explicit && search.rows[1].is_explicit);
  expect_row(&search, 2, "/libvyre_a.so");
  expect_row(&search, 3, "/libvyre_b.so");
  expect_row(&search, 4, "/libvyre_0.so");
  assert_false(search.rows[2].is_explicit);
  vyre__search_free(&search);
}

/* A folder that is there twice is read once; one that cannot be read is kept with its reason. */
static void test_folders(void **state)
{
  vyre_context_options options = only_files(NULL, 0);
  char path[5 * FIXTURE_PATH_SIZE];
  vyre__search search;
  (void)state;
  touch(first, "libvyre_a.so");
  snprintf(path, sizeof path, ":%s::%s/:%s/absent:%s/libvyre_a.so:", first, first, first, first);
  options.plugin_path = path;
  run(&search, &options);
  assert_int_equal(search.count, 3);
  expect_row(&search, 0, "/libvyre_a.so");
  assert_int_equal(search.rows[0].folder_error, 0);
  expect_row(&search, 1, "/absent");
  assert_int_equal(search.rows[1].folder_error, ENOENT);
  expect_row(&search, 2, "/libvyre_a.so");
  assert_int_equal(search.rows[2].folder_error, ENOTDIR);
  vyre__search_free(&search);
}

/* As candidates: stage, status, and a context all the same. */
static void test_folder_candidates(void **state)
{
  vyre_candidate candidate = VYRE_CANDIDATE_INIT;
  vyre_context *context = NULL;
  char path[2 * FIXTURE_PATH_SIZE + 64];
  (void)state;
  touch(second, "plain");
  snprintf(path, sizeof path, "%s/absent:%s/plain", first, second);
  assert_int_equal(context_of_path(path, &context, NULL), VYRE_OK);
  assert_int_equal(vyre_context_candidate_count(context), 2);
  assert_int_equal(vyre_context_candidate(context, 0, &candidate, NULL), VYRE_OK);
  assert_int_equal(candidate.stage, VYRE_CANDIDATE_FOLDER);
  assert_int_equal(candidate.status, VYRE_ERROR_NOT_FOUND);
  assert_int_equal(vyre_context_candidate(context, 1, &candidate, NULL), VYRE_OK);
  assert_int_equal(candidate.stage, VYRE_CANDIDATE_FOLDER);
  assert_int_equal(candidate.status, VYRE_ERROR_IO);
  assert_non_null(strstr(candidate.message, "cannot be read"));
  assert_true(candidate.fix[0]);
  assert_int_equal(vyre_context_device_count(context), 0);
  vyre_context_destroy(context);
}

static void test_environment(void **state)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre__search search;
  (void)state;
  touch(first, "libvyre_first.so");
  touch(second, "libvyre_second.so");
  assert_int_equal(setenv("VYRE_PLUGIN_PATH", first, 1), 0);
  run(&search, &options);
  expect_row(&search, 0, "/libvyre_first.so");
  vyre__search_free(&search);

  options.plugin_path = second; /* comes in its place */
  run(&search, &options);
  expect_row(&search, 0, "/libvyre_second.so");
  vyre__search_free(&search);

  options.plugin_path = NULL;
  vyre__test_elevated(true);
  run(&search, &options);
  if (search.count)
    assert_null(strstr(search.rows[0].path, first));
  vyre__search_free(&search);
  vyre__test_elevated(false);

  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  run(&search, &options);
  if (search.count)
    assert_null(strstr(search.rows[0].path, first));
  vyre__search_free(&search);

  options.flags = VYRE_CONTEXT_NO_DEFAULT_PATHS;
  run(&search, &options);
  assert_int_equal(search.count, 0);
  vyre__search_free(&search);
}

/* The program's own ../lib/vyre, then what was compiled in. */
static void test_default_folders(void **state)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  char *own = vyre__own_plugin_folder(&vyre__default_allocator);
  char real[FIXTURE_PATH_SIZE], wanted[FIXTURE_PATH_SIZE];
  vyre__search search;
  uint32_t i;
  bool found = false;
  (void)state;
  assert_non_null(own);
  assert_non_null(realpath(own, real));
  assert_non_null(realpath(VYRE_TEST_BINARY_DIR "/lib/vyre", wanted));
  assert_string_equal(real, wanted);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  run(&search, &options);
  assert_true(search.count >= 1);
  for (i = 0; i < search.count; i++) {
    bool compiled_in =
        !strncmp(search.rows[i].path, VYRE_BUILD_PLUGIN_DIR, strlen(VYRE_BUILD_PLUGIN_DIR));
    found = found || compiled_in;
    if (!compiled_in)
      assert_false(found); /* it is the last place */
  }
  assert_true(found || access(VYRE_BUILD_PLUGIN_DIR, R_OK) == 0);
  vyre__search_free(&search);
  vyre__deallocate(&vyre__default_allocator, own);
}

/* The shared libvyre finds the plugins of the folder beside it. */
static void test_shared_library(void **state)
{
  typedef vyre_status (*create_fn)(const vyre_context_options *, vyre_context **, vyre_error *);
  typedef vyre_status (*candidate_fn)(const vyre_context *, uint32_t, vyre_candidate *,
                                      vyre_error *);
  typedef void (*destroy_fn)(vyre_context *);
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_candidate row = VYRE_CANDIDATE_INIT;
  void *library = dlopen(VYRE_TEST_BINARY_DIR "/lib/libvyre.so", RTLD_NOW | RTLD_LOCAL);
  create_fn create = NULL;
  candidate_fn candidate = NULL;
  destroy_fn destroy = NULL;
  vyre_context *context = NULL;
  void *symbols[3];
  (void)state;
  assert_non_null(library);
  symbols[0] = dlsym(library, "vyre_context_create");
  symbols[1] = dlsym(library, "vyre_context_candidate");
  symbols[2] = dlsym(library, "vyre_context_destroy");
  memcpy(&create, &symbols[0], sizeof create);
  memcpy(&candidate, &symbols[1], sizeof candidate);
  memcpy(&destroy, &symbols[2], sizeof destroy);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  assert_int_equal(create(&options, &context, NULL), VYRE_OK);
  assert_int_equal(candidate(context, 0, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_LOADED);
  assert_non_null(strstr(row.path, "/lib/vyre/libvyre_"));
  assert_null(strstr(row.path, "test-bin"));
  destroy(context);
  dlclose(library);
}

static void test_bad_files(void **state)
{
  const char *holes[] = {"a.so", NULL}, *empty[] = {""};
  vyre_context_options options = only_files(holes, 2);
  vyre_error err = VYRE_ERROR_INIT;
  vyre_context *context = NULL;
  (void)state;
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "1 of 2"));
  options = only_files(empty, 1);
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_ERROR_INVALID_ARGUMENT);
  options = only_files(NULL, 3);
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_ERROR_INVALID_ARGUMENT);
  holes[0] = "/nowhere/libvyre_x.so";
  options = only_files(holes, 1);
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_ERROR_NOT_FOUND);
  assert_non_null(strstr(err.message, "/nowhere/libvyre_x.so"));
}

/* ---- names ---- */

static void test_shadowed(void **state)
{
  vyre_candidate row = VYRE_CANDIDATE_INIT;
  vyre_context *context = NULL;
  (void)state;
  put_plugin(first, "zz", "none");
  put_plugin(second, "aa", "shadowed");
  put_plugin(second, "bb", "tier_1");
  assert_int_equal(context_of_path(both, &context, NULL), VYRE_OK);
  assert_int_equal(vyre_context_candidate_count(context), 3);
  assert_int_equal(vyre_context_candidate(context, 0, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_LOADED);
  assert_int_equal(vyre_context_candidate(context, 1, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_SHADOWED);
  assert_string_equal(row.name, "fixture");
  assert_string_equal(row.version, "1.0");
  assert_non_null(strstr(row.message, first)); /* who won */
  assert_true(row.fix[0]);
  assert_false(is_mapped("libvyre_fixture_shadowed.so"));
  assert_int_equal(vyre_context_candidate(context, 2, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_LOADED);
  assert_int_equal(vyre_context_device_count(context), 2 * FIXTURE_DEVICES);
  vyre_context_destroy(context);
}

/* A broken plugin does not hold its name: the next sound one takes it. */
static void test_broken_first(void **state)
{
  vyre_candidate row = VYRE_CANDIDATE_INIT;
  vyre_context *context = NULL;
  (void)state;
  put_plugin(first, "fixture", "slot_null");
  put_plugin(second, "fixture", "none");
  assert_int_equal(context_of_path(both, &context, NULL), VYRE_OK);
  assert_int_equal(vyre_context_candidate(context, 0, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_HANDSHAKE);
  assert_int_equal(vyre_context_candidate(context, 1, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_LOADED);
  vyre_context_destroy(context);
}

static void test_explicit_twice(void **state)
{
  char one[FIXTURE_PATH_SIZE], other[FIXTURE_PATH_SIZE];
  const char *files[] = {one, other};
  vyre_context_options options = only_files(files, 2);
  vyre_error err = VYRE_ERROR_INIT;
  vyre_context *context = NULL;
  (void)state;
  fixture_path("none", one);
  fixture_path("shadowed", other);
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, one));
  assert_non_null(strstr(err.message, other));
  assert_non_null(strstr(err.message, "'fixture'"));
  assert_false(is_mapped("libvyre_fixture"));
  files[1] = one; /* the very same file */
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_false(is_mapped("libvyre_fixture"));
}

/* An explicit file beats the path, as the first of its name. */
static void test_explicit_wins(void **state)
{
  char one[FIXTURE_PATH_SIZE];
  const char *files[] = {one};
  vyre_context_options options = only_files(files, 1);
  vyre_candidate row = VYRE_CANDIDATE_INIT;
  vyre_context *context = NULL;
  (void)state;
  fixture_path("shadowed", one);
  put_plugin(first, "fixture", "none");
  options.plugin_path = first;
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  assert_int_equal(vyre_context_candidate(context, 0, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_LOADED);
  assert_string_equal(row.path, one);
  assert_int_equal(vyre_context_candidate(context, 1, &row, NULL), VYRE_OK);
  assert_int_equal(row.stage, VYRE_CANDIDATE_SHADOWED);
  vyre_context_destroy(context);
}

/* A file name without a folder is one of the current folder, not of the system's libraries. */
static void test_bare_name(void **state)
{
  const char *files[] = {"libvyre_bare.so"};
  vyre_context_options options = only_files(files, 1);
  vyre_context *context = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  char before[FIXTURE_PATH_SIZE];
  (void)state;
  assert_non_null(getcwd(before, sizeof before));
  put_plugin(first, "bare", "none");
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_ERROR_NOT_FOUND);
  assert_int_equal(chdir(first), 0);
  assert_int_equal(vyre_context_create(&options, &context, &err), VYRE_OK);
  assert_int_equal(chdir(before), 0);
  vyre_context_destroy(context);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_order),          TEST(test_folders),         TEST(test_folder_candidates),
      TEST(test_environment),    TEST(test_default_folders), TEST(test_bad_files),
      TEST(test_shared_library), TEST(test_shadowed),        TEST(test_broken_first),
      TEST(test_explicit_twice), TEST(test_explicit_wins),   TEST(test_bare_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
