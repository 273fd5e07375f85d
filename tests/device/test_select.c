/* Selectors and policies, and the text that tells why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/loader/search.h"
#include "tests/plugins/with_fixture.h"

static vyre_context *context; /* fixture and fixture_tier_1: twice the five devices */
static fixture plugin;

static int set_up(void **state)
{
  static char one[FIXTURE_PATH_SIZE], other[FIXTURE_PATH_SIZE];
  const char *files[] = {one, other};
  vyre_context_options options = only_files(files, 2);
  (void)state;
  unsetenv("VYRE_DEVICE");
  fixture_path("none", one);
  fixture_path("tier_1", other);
  options.flags = VYRE_CONTEXT_NO_DEFAULT_PATHS; /* VYRE_DEVICE is read */
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  plugin = fixture_attach(one);
  assert_non_null(plugin.set);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin.set("reset", 0);
  assert_int_equal(plugin.get("devices_live"), 0);
  fixture_detach(&plugin);
  vyre_context_destroy(context);
  return 0;
}

static vyre_status open_with(const char *selector, vyre_policy policy, vyre_device **out_device,
                             vyre_error *err)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  request.selector = selector;
  request.policy = policy;
  return vyre_device_open(context, &request, out_device, err);
}

/* Opens, and compares what was opened. */
static void expect(const char *selector, vyre_policy policy, const char *wanted, bool fell_back)
{
  vyre_device_info info = {.struct_size = sizeof info};
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  bool fell = !fell_back;
  if (open_with(selector, policy, &device, &err))
    fail_msg("'%s': %s", selector, err.message);
  assert_int_equal(vyre_device_get_info(device, &info, NULL), VYRE_OK);
  if (strcmp(info.selector, wanted) != 0)
    fail_msg("'%s' chose %s, not %s:\n%s", selector, info.selector, wanted,
             vyre_device_choice(device, NULL));
  assert_non_null(strstr(vyre_device_choice(device, &fell), "chosen"));
  assert_int_equal(fell, fell_back);
  vyre_device_close(device);
}

static void expect_none(const char *selector, vyre_policy policy)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  assert_int_equal(open_with(selector, policy, &device, &err), VYRE_ERROR_NOT_FOUND);
  assert_null(device);
  assert_non_null(strstr(err.message, selector));
  assert_non_null(strstr(err.message, "fixture:0: "));
  assert_non_null(strstr(err.message, "fixture_tier_1:4: "));
  assert_non_null(strstr(err.fix, "VYRE_POLICY_ALLOW_FALLBACK"));
}

#define REQUIRE VYRE_POLICY_REQUIRE
#define PREFER VYRE_POLICY_PREFER
#define ALLOW VYRE_POLICY_ALLOW_FALLBACK

static void test_terms(void **state)
{
  (void)state;
  expect(NULL, REQUIRE, "fixture:0", false);
  expect("any", REQUIRE, "fixture:0", false);
  expect("gpu", REQUIRE, "fixture:0", false);
  expect("integrated", REQUIRE, "fixture:2", false);
  expect("fixture", REQUIRE, "fixture:0", false);
  expect("fixture_tier_1", REQUIRE, "fixture_tier_1:0", false);
  expect("fixture:3", REQUIRE, "fixture:3", false);
  expect("fixture_tier_1:4", REQUIRE, "fixture_tier_1:4", false);
  expect("0000:c2:00.0", REQUIRE, "fixture:1", false);
  expect("c2:00.0", REQUIRE, "fixture:1", false);
  expect("0000:C2:00.0", REQUIRE, "fixture:1", false);
  expect("0001:00:02.0", REQUIRE, "fixture:2", false);
  expect("01234567-89ab-cdef-0123-456789abcdef", REQUIRE, "fixture:0", false);
  expect("GPU-01234567-89AB-cdef-0123-456789abcdef", REQUIRE, "fixture:0", false);
  expect("npu", REQUIRE, "fixture:4", false);
  expect("host", REQUIRE, "fixture:3", false);
}

static void test_lists(void **state)
{
  (void)state;
  expect("npu,gpu", REQUIRE, "fixture:4", false);
  expect("cuda,hip,host", REQUIRE, "fixture:3", false);
  expect(" cuda ,\t npu ", REQUIRE, "fixture:4", false);
  expect("fixture:9,fixture:1", REQUIRE, "fixture:1", false);
}

static void test_exclusions(void **state)
{
  (void)state;
  expect("!gpu", REQUIRE, "fixture:4", false);
  expect("gpu,!fixture", REQUIRE, "fixture_tier_1:0", false);
  expect("!fixture,gpu", REQUIRE, "fixture_tier_1:0", false);
  expect("gpu,! c1:00.0", REQUIRE, "fixture:1", false);
  expect("!0000:c1:00.0,!fixture:1", REQUIRE, "fixture_tier_1:1", false);
  expect("!gpu,!npu", REQUIRE, "fixture:3", false);
  expect_none("fixture,!any", REQUIRE);
  expect_none("!any", ALLOW); /* also for a fall back */
}

static void test_unreadable(void **state)
{
  static const char *const bad[] = {"",      ",",     "cpu,", ",cpu",  "cpu,,gpu", "!",
                                    "!!cpu", "cpu !", "a b",  "cuda:", ":0",       " ",
                                    "! ",    "cpu,!", "c\tu", "\x01",  "c\xc3u",   "cpu!gpu"};
  char many[40 * 4], long_one[5000];
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    if (open_with(bad[i], ALLOW, &device, &err) != VYRE_ERROR_INVALID_ARGUMENT)
      fail_msg("'%s' was read", bad[i]);
    assert_non_null(strstr(err.message, "selector"));
    assert_non_null(strstr(err.fix, "separated by ','"));
  }
  for (i = 0; i < 40; i++)
    memcpy(many + i * 4, "cpu,", 4);
  many[sizeof many - 1] = '\0';
  assert_int_equal(open_with(many, ALLOW, &device, &err), VYRE_ERROR_INVALID_ARGUMENT);
  memset(long_one, 'a', sizeof long_one - 1);
  long_one[sizeof long_one - 1] = '\0';
  assert_int_equal(open_with(long_one, ALLOW, &device, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(device);
}

/* ---- policies ---- */

static void test_policies(void **state)
{
  (void)state;
  expect_none("cuda", REQUIRE);
  expect("cuda", PREFER, "fixture:0", true);
  expect("cuda", ALLOW, "fixture:0", true);
  expect("cuda,!gpu", PREFER, "fixture:4", true);
  expect_none("cuda,!gpu,!npu", PREFER); /* never a CPU that was not asked for */
  expect("cuda,!gpu,!npu", ALLOW, "fixture:3", true);
  expect("host", PREFER, "fixture:3", false); /* that was asked for */
}

static void test_request(void **state)
{
  struct {
    vyre_device_request known;
    uint64_t later;
  } large = {.known = VYRE_DEVICE_REQUEST_INIT, .later = 3};
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  (void)state;
  assert_int_equal(vyre_device_open(NULL, &request, &device, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_device_open(context, &request, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  request.policy = 3;
  assert_int_equal(vyre_device_open(context, &request, &device, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "policy 3"));
  request = (vyre_device_request)VYRE_DEVICE_REQUEST_INIT;
  request.struct_size = 4;
  assert_int_equal(vyre_device_open(context, &request, &device, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_null(device);
  large.known.struct_size = sizeof large;
  assert_int_equal(vyre_device_open(context, &large.known, &device, &err), VYRE_OK);
  vyre_device_close(device);
}

static void test_environment(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  (void)state;
  assert_int_equal(setenv("VYRE_DEVICE", "npu", 1), 0);
  expect(NULL, REQUIRE, "fixture:4", false);
  expect("host", REQUIRE, "fixture:3", false); /* an explicit one wins */
  vyre__test_elevated(true);
  expect(NULL, REQUIRE, "fixture:0", false);
  vyre__test_elevated(false);
  assert_int_equal(setenv("VYRE_DEVICE", "cuda", 1), 0);
  assert_int_equal(vyre_device_open(context, NULL, &device, &err), VYRE_ERROR_NOT_FOUND);
  assert_non_null(strstr(err.message, "VYRE_DEVICE='cuda'"));
  assert_int_equal(setenv("VYRE_DEVICE", "cuda,", 1), 0);
  assert_int_equal(vyre_device_open(context, NULL, &device, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "VYRE_DEVICE="));
  assert_int_equal(setenv("VYRE_DEVICE", "", 1), 0);
  expect(NULL, REQUIRE, "fixture:0", false);
  unsetenv("VYRE_DEVICE");
}

static void test_environment_ignored(void **state)
{
  vyre_device_info info = {.struct_size = sizeof info};
  vyre_context *deaf = NULL;
  vyre_device *device = NULL;
  (void)state;
  assert_int_equal(fixture_context("none", &deaf, NULL), VYRE_OK);
  assert_int_equal(setenv("VYRE_DEVICE", "npu", 1), 0);
  assert_int_equal(vyre_device_open(deaf, NULL, &device, NULL), VYRE_OK);
  unsetenv("VYRE_DEVICE");
  assert_int_equal(vyre_device_get_info(device, &info, NULL), VYRE_OK);
  assert_string_equal(info.selector, "fixture:0");
  vyre_device_close(device);
  vyre_context_destroy(deaf);
}

/* ---- the text ---- */

static void test_choice(void **state)
{
  vyre_device *device = NULL;
  bool fell_back = false;
  (void)state;
  assert_int_equal(open_with("gpu,!c1:00.0,!fixture_tier_1", PREFER, &device, NULL), VYRE_OK);
  assert_string_equal(vyre_device_choice(device, &fell_back),
                      "fixture:0: excluded by '!c1:00.0'\n"
                      "fixture:1: chosen, matches 'gpu'\n"
                      "fixture_tier_1:0: excluded by '!c1:00.0'\n"
                      "fixture_tier_1:1: excluded by '!fixture_tier_1'\n"
                      "fixture:2: matches 'gpu', but another comes first\n"
                      "fixture_tier_1:2: excluded by '!fixture_tier_1'\n"
                      "fixture:4: does not match 'gpu,!c1:00.0,!fixture_tier_1', and another "
                      "comes first\n"
                      "fixture_tier_1:4: excluded by '!fixture_tier_1'\n"
                      "fixture:3: does not match 'gpu,!c1:00.0,!fixture_tier_1', and a CPU is not "
                      "fallen back to\n"
                      "fixture_tier_1:3: excluded by '!fixture_tier_1'");
  assert_false(fell_back);
  vyre_device_close(device);
  assert_int_equal(open_with("hip", ALLOW, &device, NULL), VYRE_OK);
  assert_non_null(strstr(vyre_device_choice(device, NULL),
                         "fixture:0: chosen, the policy allows to fall back from 'hip'\n"));
  vyre_device_close(device);
  assert_string_equal(vyre_device_choice(NULL, &fell_back), "");
}

/* ---- devices that do not open ---- */

static void test_open_fails(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  (void)state;
  plugin.set("open_error", VYRE_ERROR_NO_DEVICE);
  plugin.set("open_error_at", 0);
  assert_int_equal(open_with("gpu", REQUIRE, &device, &err), VYRE_ERROR_NO_DEVICE);
  assert_non_null(strstr(err.message, "fixture:0: could not be opened: the fixture does not open"));
  assert_non_null(strstr(err.fix, "fixture"));
  assert_null(device);
  expect("gpu", PREFER, "fixture:1", true);
  expect("fixture:0,host", ALLOW, "fixture:3", true);
  plugin.set("open_error_at", -1);
  expect("fixture", ALLOW, "fixture_tier_1:0", true);
  assert_int_equal(open_with("!fixture_tier_1", ALLOW, &device, &err), VYRE_ERROR_NO_DEVICE);
  assert_non_null(strstr(err.message, "fixture:3: could not be opened"));
  plugin.set("reset", 0);
}

static void test_open_faults(void **state)
{
  static const struct {
    const char *fault;
    vyre_status status;
    const char *message;
  } rows[] = {
      {"open_fails", VYRE_ERROR_NO_DEVICE, "does not open device 0"},
      {"open_null", VYRE_ERROR_INTERNAL, "device_open succeeded and gave no device"},
      {"error_without_text", VYRE_ERROR_NO_DEVICE, "device_open failed without a text (ABI-009)"},
      {"unknown_code", VYRE_ERROR_INTERNAL, "code 9999, which this host does not know"},
  };
  size_t i;
  (void)state;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    vyre_context *faulty = NULL;
    vyre_device *device = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    assert_int_equal(fixture_context(rows[i].fault, &faulty, NULL), VYRE_OK);
    assert_int_equal(vyre_device_open(faulty, NULL, &device, &err), rows[i].status);
    if (!strstr(err.message, rows[i].message))
      fail_msg("%s: %s", rows[i].fault, err.message);
    assert_true(err.fix[0]);
    assert_null(device);
    vyre_context_destroy(faulty);
  }
}

/* What a plugin says is printed by whoever gets it: no text of it drives a terminal. */
static void test_terminal_codes(void **state)
{
  vyre_context *faulty = NULL;
  vyre_device *device = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device_info info = {.struct_size = sizeof info};
  (void)state;
  assert_int_equal(fixture_context("terminal_codes", &faulty, NULL), VYRE_OK);
  assert_int_equal(vyre_context_device_info(faulty, 0, &info, NULL), VYRE_OK);
  assert_string_equal(info.name, "na?]0;?me \xc3\xa4");
  assert_int_equal(vyre_device_open(faulty, NULL, &device, &err), VYRE_ERROR_NO_DEVICE);
  for (const char *at = err.message; *at; ++at)
    assert_true((unsigned char)*at >= 0x20 || *at == '\n');
  assert_non_null(strstr(err.message, "?[31m???"));
  vyre_context_destroy(faulty);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_terms),       cmocka_unit_test(test_lists),
      cmocka_unit_test(test_exclusions),  cmocka_unit_test(test_unreadable),
      cmocka_unit_test(test_policies),    cmocka_unit_test(test_request),
      cmocka_unit_test(test_environment), cmocka_unit_test(test_environment_ignored),
      cmocka_unit_test(test_choice),      cmocka_unit_test(test_open_fails),
      cmocka_unit_test(test_open_faults), cmocka_unit_test(test_terminal_codes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
