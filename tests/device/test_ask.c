/* When plugins are asked for their devices: not before somebody needs them, and each once. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/device/select.h"
#include "tests/plugins/with_fixture.h"

enum { PLUGINS = 3 };

static const char *const faults[PLUGINS] = {"none", "tier_1", "no_device"};
static char paths[PLUGINS][FIXTURE_PATH_SIZE];
static fixture plugins[PLUGINS];

static int set_up(void **state)
{
  int i;
  (void)state;
  for (i = 0; i < PLUGINS; i++) {
    fixture_path(faults[i], paths[i]);
    plugins[i] = fixture_attach(paths[i]);
    assert_non_null(plugins[i].set);
  }
  return 0;
}

static int tear_down(void **state)
{
  int i;
  (void)state;
  for (i = 0; i < PLUGINS; i++) {
    assert_int_equal(plugins[i].get("devices_live"), 0);
    fixture_detach(&plugins[i]);
  }
  return 0;
}

/* The three fixtures, which nobody has asked yet. */
static vyre_context *fresh_context(vyre_log_fn log, void *log_self)
{
  const char *files[PLUGINS] = {paths[0], paths[1], paths[2]};
  vyre_context_options options = only_files(files, PLUGINS);
  vyre_context *context = NULL;
  int i;
  options.log = log;
  options.log_self = log_self;
  options.log_level = VYRE_LOG_DEBUG;
  for (i = 0; i < PLUGINS; i++)
    plugins[i].set("reset", 0);
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  return context;
}

static void expect_asks(int none, int tier_1, int no_device)
{
  assert_int_equal(plugins[0].get("asks"), none);
  assert_int_equal(plugins[1].get("asks"), tier_1);
  assert_int_equal(plugins[2].get("asks"), no_device);
}

static vyre_status open_with(vyre_context *context, const char *selector, vyre_policy policy,
                             vyre_device **out_device, vyre_error *err)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  request.selector = selector;
  request.policy = policy;
  return vyre_device_open(context, &request, out_device, err);
}

/* ---- who is asked ---- */

static void test_names(void **state)
{
  static const struct {
    const char *selector;
    int none, tier_1, no_device;
  } rows[] = {
      {"fixture", 1, 0, 0},
      {"fixture:3", 1, 0, 0},
      {"fixture_tier_1", 0, 1, 0},
      {" fixture_tier_1:4 ", 0, 1, 0},
      {"fixture,fixture_tier_1", 1, 0, 0}, /* the first is met */
      {"fixture,any", 1, 0, 0},
      {"fixture:9,fixture_tier_1", 1, 1, 0}, /* it is not */
      {"fixture_no_device,fixture", 1, 0, 1},
      {"fixture_no_device:0,fixture_tier_1,fixture", 0, 1, 1},
  };
  size_t i;
  (void)state;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    vyre_context *context = fresh_context(NULL, NULL);
    vyre_device *device = NULL;
    int again;
    expect_asks(0, 0, 0);
    assert_int_equal(vyre_context_candidate_count(context), PLUGINS);
    expect_asks(0, 0, 0);
    for (again = 0; again < 2; again++) {
      assert_int_equal(open_selected(context, rows[i].selector, &device, NULL), VYRE_OK);
      expect_asks(rows[i].none, rows[i].tier_1, rows[i].no_device);
      vyre_device_close(device);
    }
    vyre_context_destroy(context);
  }
}

static void test_all(void **state)
{
  static const struct {
    const char *selector;
    vyre_policy policy;
  } rows[] = {
      {NULL, VYRE_POLICY_REQUIRE},
      {"any", VYRE_POLICY_REQUIRE},
      {"gpu", VYRE_POLICY_REQUIRE},
      {"integrated", VYRE_POLICY_REQUIRE},
      {"c1:00.0", VYRE_POLICY_REQUIRE},
      {"GPU-01234567-89ab-cdef-0123-456789abcdef", VYRE_POLICY_REQUIRE},
      {"host", VYRE_POLICY_REQUIRE},
      {"cuda,fixture", VYRE_POLICY_REQUIRE}, /* "cuda" may be an id */
      {"fixture_no_device,any", VYRE_POLICY_REQUIRE},
      {"fixture,!host", VYRE_POLICY_REQUIRE},
      {"!fixture", VYRE_POLICY_REQUIRE},
      {"fixture", VYRE_POLICY_PREFER},
      {"fixture", VYRE_POLICY_ALLOW_FALLBACK},
  };
  size_t i;
  (void)state;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    vyre_context *context = fresh_context(NULL, NULL);
    vyre_device *device = NULL;
    assert_int_equal(open_with(context, rows[i].selector, rows[i].policy, &device, NULL), VYRE_OK);
    expect_asks(1, 1, 1);
    assert_null(strstr(vyre_device_choice(device, NULL), "not looked at"));
    assert_int_equal(vyre_context_device_count(context), 2 * FIXTURE_DEVICES);
    expect_asks(1, 1, 1);
    vyre_device_close(device);
    vyre_context_destroy(context);
  }
}

/* Each list of a context that asked one plugin before is that of all. */
static void test_lists(void **state)
{
  int list;
  (void)state;
  for (list = 0; list < 3; list++) {
    vyre_context *context = fresh_context(NULL, NULL);
    vyre_device_info info = {.struct_size = sizeof info};
    vyre_candidate candidate = VYRE_CANDIDATE_INIT;
    vyre_device *device = NULL;
    assert_int_equal(open_selected(context, "fixture_tier_1:3", &device, NULL), VYRE_OK);
    vyre_device_close(device);
    expect_asks(0, 1, 0);
    if (list == 0)
      assert_int_equal(vyre_context_device_count(context), 2 * FIXTURE_DEVICES);
    if (list <= 1) {
      assert_int_equal(vyre_context_device_info(context, 0, &info, NULL), VYRE_OK);
      assert_string_equal(info.selector, "fixture:0");
    }
    assert_int_equal(vyre_context_candidate(context, 2, &candidate, NULL), VYRE_OK);
    assert_string_equal(candidate.message, "it sees no device");
    assert_int_equal(vyre_context_candidate(context, 0, &candidate, NULL), VYRE_OK);
    assert_int_equal(candidate.device_count, FIXTURE_DEVICES);
    expect_asks(1, 1, 1);
    vyre_context_destroy(context);
  }
}

/* ---- what is said ---- */

static void test_choice(void **state)
{
  vyre_context *context = fresh_context(NULL, NULL);
  vyre_device *device = NULL, *later = NULL;
  (void)state;
  plugins[1].set("devices", 2);
  assert_int_equal(open_selected(context, "fixture_tier_1:1", &device, NULL), VYRE_OK);
  assert_string_equal(
      vyre_device_choice(device, NULL),
      "fixture_tier_1:0: does not match 'fixture_tier_1:1'\n"
      "fixture_tier_1:1: chosen, matches 'fixture_tier_1:1'\n"
      "fixture: not looked at, 'fixture_tier_1:1' needs none of its devices\n"
      "fixture_no_device: not looked at, 'fixture_tier_1:1' needs none of its devices");
  /* What was learnt since is told. */
  assert_int_equal(vyre_context_device_count(context), FIXTURE_DEVICES + 2);
  assert_int_equal(open_selected(context, "fixture_tier_1:1", &later, NULL), VYRE_OK);
  assert_non_null(strstr(vyre_device_choice(later, NULL), "fixture:0: does not match"));
  assert_non_null(strstr(vyre_device_choice(later, NULL), "it sees no device"));
  assert_non_null(strstr(vyre_device_choice(device, NULL), "fixture: not looked at"));
  vyre_device_close(later);
  vyre_device_close(device);
  vyre_context_destroy(context);
}

/* Nothing matches: then every device of every plugin is in the message. */
static void test_nothing_matches(void **state)
{
  vyre_context *context = fresh_context(NULL, NULL);
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  (void)state;
  assert_int_equal(open_selected(context, "fixture:9", &device, &err), VYRE_ERROR_NOT_FOUND);
  expect_asks(1, 1, 1);
  assert_non_null(strstr(err.message, "fixture:0: does not match 'fixture:9'"));
  assert_non_null(strstr(err.message, "fixture_tier_1:4: does not match 'fixture:9'"));
  assert_non_null(strstr(err.message, "it sees no device"));
  assert_null(strstr(err.message, "not looked at"));
  vyre_context_destroy(context);
}

/* A selector that cannot be read asks nobody. */
static void test_unreadable(void **state)
{
  vyre_context *context = fresh_context(NULL, NULL);
  vyre_device *device = NULL;
  (void)state;
  assert_int_equal(open_selected(context, "any,,", &device, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  expect_asks(0, 0, 0);
  vyre_context_destroy(context);
}

/* The name of a plugin is no id of another's device, whoever has been asked. */
static void test_names_before_ids(void **state)
{
  vyre__listed_device row = {.backend_index = 0};
  vyre__devices devices = {vyre__default_allocator, &row, 1, 1};
  vyre__selection selection;
  (void)state;
  strcpy(row.info.backend, "other");
  strcpy(row.info.selector, "other:0");
  strcpy(row.info.id, "cuda:0");
  assert_int_equal(vyre__selection_read(&selection, &vyre__default_allocator,
                                        "cuda:0,cuda,cuda:x,cuda:,other:0", 0, NULL),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre__selection_read(&selection, &vyre__default_allocator,
                                        "cuda:0,cuda,cuda:x,cudas,cuda0,cud", 0, NULL),
                   VYRE_OK);
  assert_true(vyre__term_names(&selection.terms[0], "cuda"));
  assert_true(vyre__term_names(&selection.terms[1], "cuda"));
  assert_false(vyre__term_names(&selection.terms[2], "cuda"));
  assert_false(vyre__term_names(&selection.terms[3], "cuda"));
  assert_false(vyre__term_names(&selection.terms[4], "cuda"));
  assert_false(vyre__term_names(&selection.terms[5], "cuda"));
  assert_true(vyre__term_finds(&selection.terms[0], &devices));
  selection.terms[0].names_plugin = true;
  assert_false(vyre__term_finds(&selection.terms[0], &devices));
  assert_int_equal(vyre__selection_judge(&selection, &devices, NULL), VYRE_OK);
  assert_int_equal(selection.order_count, 0);
  vyre__selection_free(&selection);
}

/* ---- threads, hooks ---- */

enum { THREADS = 6, ROUNDS = 20 };

typedef struct crowd {
  vyre_context *context;
  unsigned arrived, wrong; /* atomic */
} crowd;

/* Holds the first question until every thread is on its way to one. */
static void wait_for_all(void *self, vyre_log_level level, const char *text)
{
  crowd *all = self;
  (void)level;
  if (!strstr(text, "counts its devices"))
    return;
  /* Relaxed: a count alone; nothing is read on its strength. */
  while (__atomic_load_n(&all->arrived, __ATOMIC_RELAXED) < THREADS)
    sched_yield();
}

static void *open_at_once(void *argument)
{
  crowd *all = argument;
  vyre_device_info info = {.struct_size = sizeof info};
  vyre_device *device = NULL;
  const unsigned number = __atomic_add_fetch(&all->arrived, 1, __ATOMIC_RELAXED);
  bool is_right;
  if (number % 3 == 0)
    is_right = vyre_context_device_count(all->context) == 2 * FIXTURE_DEVICES;
  else
    is_right = open_selected(all->context, number % 3 == 1 ? "any" : "fixture", &device, NULL) ==
                   VYRE_OK &&
               vyre_device_get_info(device, &info, NULL) == VYRE_OK &&
               !strcmp(info.selector, "fixture:0");
  if (!is_right)
    __atomic_add_fetch(&all->wrong, 1, __ATOMIC_RELAXED); /* read after the joins */
  vyre_device_close(device);
  return NULL;
}

static void test_threads(void **state)
{
  int round, i;
  (void)state;
  for (round = 0; round < ROUNDS; round++) {
    pthread_t threads[THREADS];
    crowd all = {NULL, 0, 0};
    all.context = fresh_context(wait_for_all, &all);
    for (i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, open_at_once, &all), 0);
    for (i = 0; i < THREADS; i++)
      assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(all.wrong, 0);
    expect_asks(1, 1, 1);
    vyre_context_destroy(all.context);
  }
}

typedef struct nested {
  vyre_context *context;
  unsigned calls;
} nested;

/* A hook that asks in the middle of the answer. */
static void ask_within(void *self, vyre_log_level level, const char *text)
{
  nested *in = self;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device *device = NULL;
  (void)level;
  if (!strstr(text, "counts its devices"))
    return;
  in->calls += 1;
  assert_int_equal(open_selected(in->context, "fixture", &device, &err), VYRE_ERROR_UNSUPPORTED);
  assert_non_null(strstr(err.message, "by this very thread"));
  assert_non_null(strstr(err.fix, "hook"));
  assert_int_equal(vyre_context_device_count(in->context), 0);
  assert_null(device);
}

static void test_hook(void **state)
{
  nested in = {NULL, 0};
  vyre_device *device = NULL;
  (void)state;
  in.context = fresh_context(ask_within, &in);
  assert_int_equal(open_selected(in.context, "fixture", &device, NULL), VYRE_OK);
  assert_int_equal(in.calls, 1);
  expect_asks(1, 0, 0);
  vyre_device_close(device);
  vyre_context_destroy(in.context);
}

/* ---- memory ---- */

/* One of the calls that ask, with what it made given back. */
static vyre_status ask_by(int call, vyre_context *context, vyre_error *err)
{
  static const char *const selectors[] = {"fixture_no_device,fixture", "any"};
  vyre_device_info info = {.struct_size = sizeof info};
  vyre_candidate candidate = VYRE_CANDIDATE_INIT;
  vyre_device *device = NULL;
  vyre_status status;
  if (call == 2)
    return vyre_context_device_info(context, 9, &info, err);
  if (call == 3)
    return vyre_context_candidate(context, 2, &candidate, err);
  status = open_selected(context, selectors[call], &device, err);
  vyre_device_close(device);
  return status;
}

/* Each allocation of a first question fails in its turn; the next call asks and succeeds. */
static void test_no_memory(void **state)
{
  int call;
  (void)state;
  for (call = 0; call < 4; call++) {
    uint64_t n = 0, count = 0;
    do {
      vyre_context *context = fresh_context(NULL, NULL);
      vyre_error err = VYRE_ERROR_INIT;
      vyre_status status;
      vyre__test_fail_allocation(n);
      status = ask_by(call, context, &err);
      if (!n)
        count = vyre__test_allocation_count();
      vyre__test_fail_allocation(0);
      assert_int_equal(status, n ? VYRE_ERROR_OUT_OF_HOST_MEMORY : VYRE_OK);
      assert_int_equal(err.message[0] != '\0', n != 0);
      assert_int_equal(ask_by(call, context, NULL), VYRE_OK);
      assert_int_equal(vyre_context_device_count(context), 2 * FIXTURE_DEVICES);
      assert_int_equal(plugins[0].get("devices_live"), 0);
      vyre_context_destroy(context);
    } while (n++ < count);
    assert_true(count >= 3);
  }
}

/* A count has no error to give. */
static void test_count_without_memory(void **state)
{
  vyre_context *context = fresh_context(NULL, NULL);
  (void)state;
  vyre__test_fail_allocation(1);
  assert_int_equal(vyre_context_device_count(context), 0);
  vyre__test_fail_allocation(0);
  assert_int_equal(vyre_context_device_count(context), 2 * FIXTURE_DEVICES);
  vyre_context_destroy(context);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_all),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_nothing_matches),
      cmocka_unit_test(test_unreadable),
      cmocka_unit_test(test_names_before_ids),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_hook),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_count_without_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
