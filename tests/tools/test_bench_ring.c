/*
 * test_bench_ring.c - `vyre bench ring`: what it prints and writes, that a queue which breaks its
 * items is told and not measured, and its soak.  Never how fast anything is.
 */
#include "spawn_vyre.h"

#include <jansson.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define PROGRAM VYRE_TEST_BINARY_DIR "/bin/vyre"
#define MODULE VYRE_TEST_PLUGIN_DIR "/libvyre_bench_broken.so"
#define SHORT "--rounds", "1", "--ms", "1"

extern char **environ;

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
  assert_true(json_is_string(json_object_get(root, "title")));
  assert_true(json_is_string(json_object_get(root, "device")));
  assert_true(json_is_boolean(json_object_get(root, "passed")));
  assert_true(json_is_array(json_object_get(root, "rows")));
  assert_true(json_is_array(json_object_get(root, "notes")));
  return root;
}

/* The row of this name, or NULL. */
static json_t *find_row(json_t *root, const char *name)
{
  json_t *row;
  size_t i;
  json_array_foreach(json_object_get(root, "rows"), i, row)
  {
    if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
      return row;
  }
  return NULL;
}

static double row_value(json_t *root, const char *name)
{
  json_t *row = find_row(root, name);
  if (!row)
    fail_msg("no row '%s'", name);
  return json_number_value(json_object_get(row, "value"));
}

/* The row has this target and says whether it was met, in the text as in the JSON. */
static void expect_verdict(json_t *root, const spawned *result, const char *name,
                           const char *target)
{
  json_t *row = find_row(root, name), *pass;
  const char *line, *end, *verdict;
  if (!row)
    fail_msg("no row '%s'", name);
  assert_string_equal(json_string_value(json_object_get(row, "target")), target);
  pass = json_object_get(row, "pass");
  assert_true(json_is_boolean(pass));
  line = strstr(result->out, name);
  assert_non_null(line);
  end = strchr(line, '\n');
  assert_non_null(end);
  verdict = strstr(line, json_is_true(pass) ? " pass" : " MISS");
  assert_true(verdict && verdict < end);
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

static void test_report(void **state)
{
  const place *p = *state;
  spawned result = VYRE("bench", "ring", SHORT, "--cells", "1P1C,2P2C:32,4P4C,hand-off", "--peers",
                        MODULE, "--json", p->json);
  static const char *const run[] = {"1P1C batch 1", "1P1C batch 32", "2P2C batch 32",
                                    "4P4C batch 1", "4P4C batch 32"};
  json_t *root;
  char name[64];
  expect_exit(&result, 0);
  assert_int_equal(result.err_size, 0); /* progress is for terminals */
  root = load(p);
  for (size_t i = 0; i < sizeof run / sizeof run[0]; ++i) {
    const bool batch = strstr(run[i], "32") != NULL, contended = run[i][0] != '1';
    snprintf(name, sizeof name, "%s: rounds kept", run[i]);
    expect_verdict(root, &result, name, ">= 1");
    /* All rounds may have been dropped: the machine is not the test's. */
    if (row_value(root, name) == 0)
      continue;
    snprintf(name, sizeof name, "%s: A / best peer", run[i]);
    expect_verdict(root, &result, name, batch && contended ? ">= 1.35" : ">= 0.95");
    assert_string_equal(json_string_value(json_object_get(find_row(root, name), "note")), "honest");
    snprintf(name, sizeof name, "%s: B by %s / A", run[i], batch ? "spans" : "tickets");
    expect_verdict(root, &result, name, batch ? ">= 0.95" : ">= 0.7");
    snprintf(name, sizeof name, "%s: B by %s / A", run[i], batch ? "tickets" : "spans");
    assert_true(row_value(root, name) > 0);
    snprintf(name, sizeof name, "%s: A again / A, the noise", run[i]);
    assert_true(row_value(root, name) > 0);
    snprintf(name, sizeof name, "%s: A / honest", run[i]);
    assert_true(row_value(root, name) > 0);
    snprintf(name, sizeof name, "%s: A / loser", run[i]);
    assert_null(find_row(root, name));
  }
  if (row_value(root, "hand-off: rounds kept") > 0)
    expect_verdict(root, &result, "hand-off: one item / ping-pong", "<= 1.3");
  assert_null(find_row(root, "2P2C batch 1: rounds kept"));
  assert_true(has_note(root, "peers: honest (test), loser (test)"));
  json_decref(root);
  spawned_free(&result);
}

static void test_broken_queues(void **state)
{
  const place *p = *state;
  spawned result =
      VYRE("bench", "ring", SHORT, "--cells", "2P2C:32", "--peers", MODULE, "--json", p->json);
  json_t *root;
  expect_exit(&result, 0);
  root = load(p);
  assert_true(has_note(root, "2P2C batch 32: loser lost items: not measured"));
  assert_true(has_note(root, "2P2C batch 32: doubler delivered items twice: not measured"));
  assert_true(has_note(root, "2P2C batch 32: tearer delivered torn items: not measured"));
  assert_true(
      has_note(root, "2P2C batch 32: changer delivered other items than were sent: not measured"));
  assert_false(has_note(root, "batch 32: honest"));
  json_decref(root);
  spawned_free(&result);
}

static void test_refusals(void **state)
{
  spawned result = VYRE("bench", "ring", "--peers", "/nonexistent/module.so");
  (void)state;
  expect_exit(&result, 2);
  expect_err(&result, "/nonexistent/module.so");
  expect_err(&result, "scripts/bench-ring");
  spawned_free(&result);
  /* A shared object, but another one. */
  result = VYRE("bench", "ring", "--peers", VYRE_TEST_BINARY_DIR "/lib/libvyre.so");
  expect_exit(&result, 2);
  expect_err(&result, "not the module");
  spawned_free(&result);
  result = VYRE("bench", "ring", "--cells", "1P1C,3P3C");
  expect_exit(&result, 2);
  expect_err(&result, "3P3C");
  expect_err(&result, "hand-off");
  spawned_free(&result);
  result = VYRE("bench", "ring", "--soak=0");
  expect_exit(&result, 2);
  spawned_free(&result);
  /* What a benchmark does not look at is not passed over. */
  result = VYRE("bench", "start", "--soak=1");
  expect_exit(&result, 2);
  expect_err(&result, "--soak");
  spawned_free(&result);
  result = VYRE("bench", "ring", "--device", "gpu");
  expect_exit(&result, 2);
  expect_err(&result, "--device");
  spawned_free(&result);
}

static void test_soak(void **state)
{
  static const char *const zeroes[] = {"lost",
                                       "doubled",
                                       "torn, or sent by nobody",
                                       "out of order",
                                       "done before they were marked",
                                       "done, and then not",
                                       "stuck",
                                       "refused"};
  const place *p = *state;
  spawned result = VYRE("bench", "ring", "--soak=1", "--json", p->json);
  json_t *root;
  expect_exit(&result, 0);
  root = load(p);
  assert_true(json_is_true(json_object_get(root, "passed")));
  for (size_t i = 0; i < sizeof zeroes / sizeof zeroes[0]; ++i) {
    assert_true(row_value(root, zeroes[i]) == 0);
    expect_verdict(root, &result, zeroes[i], "<= 0");
  }
  assert_true(row_value(root, "items") > 0);
  assert_true(row_value(root, "laps") > 0);
  json_decref(root);
  spawned_free(&result);
}

/* Whether the process has a handler for the signal by now. */
static bool catches(pid_t process, int number)
{
  char path[64], line[256];
  unsigned long long caught = 0;
  FILE *file;
  snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
  file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file))
    if (strncmp(line, "SigCgt:", 7) == 0)
      caught = strtoull(line + 7, NULL, 16);
  fclose(file);
  return (caught >> (number - 1) & 1) != 0;
}

static void test_interrupted_soak(void **state)
{
  const place *p = *state;
  char command[] = "vyre", bench[] = "bench", ring[] = "ring", soak[] = "--soak=3600";
  char option[] = "--json", *argv[] = {command, bench, ring, soak, option, p->json, NULL};
  posix_spawn_file_actions_t actions;
  int status = 0;
  pid_t process;
  json_t *root;
  assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
  assert_int_equal(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0), 0);
  assert_int_equal(posix_spawn(&process, PROGRAM, &actions, NULL, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  while (!catches(process, SIGINT))
    sched_yield();
  assert_int_equal(kill(process, SIGINT), 0);
  assert_int_equal(waitpid(process, &status, 0), process);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  root = load(p);
  assert_true(has_note(root, "interrupted"));
  json_decref(root);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_report), TEST(test_broken_queues),    cmocka_unit_test(test_refusals),
      TEST(test_soak),   TEST(test_interrupted_soak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
