/* After fork(): the child is told, frees what it holds, calls no plugin, and can start anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "core/device/device.h"
#include "core/device/process.h"
#include "tests/plugins/with_fixture.h"

static vyre_context *context;
static vyre_device *device;
static vyre_buffer *buffer, *other;
static fixture plugin;

static int make_all(void)
{
  char path[FIXTURE_PATH_SIZE];
  fixture_path("none", path);
  plugin = fixture_attach(path);
  assert_non_null(plugin.get);
  assert_int_equal(fixture_context("none", &context, NULL), VYRE_OK);
  assert_int_equal(open_selected(context, "fixture:0", &device, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_create(device, 8, &buffer, NULL), VYRE_OK);
  assert_int_equal(vyre_buffer_create(device, 8, &other, NULL), VYRE_OK);
  return 0;
}

static int set_up(void **state)
{
  (void)state;
  vyre__test_process_without_wipe(false);
  return make_all();
}

/* As on a kernel that does not empty pages for a child. */
static int set_up_without_wipe(void **state)
{
  (void)state;
  vyre__test_process_without_wipe(true);
  return make_all();
}

static int tear_down(void **state)
{
  (void)state;
  vyre_buffer_destroy(buffer);
  vyre_buffer_destroy(other);
  vyre_device_close(device);
  vyre_context_destroy(context);
  fixture_detach(&plugin);
  vyre__test_process_without_wipe(false);
  return 0;
}

/* The number of the first thing that is not as it should be, 0 if all are. */
static int in_child(void)
{
  vyre_device_info info = {.struct_size = sizeof info};
  vyre_candidate candidate = VYRE_CANDIDATE_INIT;
  vyre_context *fresh = NULL;
  vyre_device *opened = NULL;
  vyre_buffer *made = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  unsigned char data[8] = {0};
  int64_t uploads = plugin.get("uploads");
#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return __LINE__ & 0xff ? __LINE__ & 0xff : 255;                                              \
  } while (0)
  EXPECT(vyre_context_candidate_count(context) == 0);
  EXPECT(vyre_context_candidate(context, 0, &candidate, &err) == VYRE_ERROR_FORKED);
  EXPECT(err.code == VYRE_ERROR_FORKED && err.message[0] && err.fix[0]);
  EXPECT(vyre_context_device_count(context) == 0);
  EXPECT(vyre_context_device_info(context, 0, &info, NULL) == VYRE_ERROR_FORKED);
  EXPECT(vyre_device_open(context, NULL, &opened, &err) == VYRE_ERROR_FORKED && !opened);
  EXPECT(vyre_device_get_info(device, &info, NULL) == VYRE_ERROR_FORKED);
  EXPECT(vyre_device_recover(device, NULL) == VYRE_ERROR_FORKED);
  EXPECT(vyre__device_check(device, 0, &err) == VYRE_ERROR_FORKED);
  EXPECT(vyre_buffer_create(device, 4, &made, &err) == VYRE_ERROR_FORKED && !made);
  EXPECT(vyre_buffer_upload(buffer, 0, data, 8, NULL) == VYRE_ERROR_FORKED);
  EXPECT(vyre_buffer_download(buffer, 0, data, 8, NULL) == VYRE_ERROR_FORKED);
  EXPECT(vyre_buffer_fill(buffer, 0, 8, 1, NULL) == VYRE_ERROR_FORKED);
  EXPECT(vyre_buffer_copy(buffer, 0, other, 0, 8, NULL) == VYRE_ERROR_FORKED);
  EXPECT(vyre_buffer_size(buffer) == 8);
  EXPECT(vyre_status_text(VYRE_ERROR_FORKED)[0] && vyre_version()[0]);

  /* A context of its own works, beside those of the parent. */
  EXPECT(fixture_context("none", &fresh, &err) == VYRE_OK);
  EXPECT(open_selected(fresh, "fixture:1", &opened, &err) == VYRE_OK);
  EXPECT(vyre_buffer_create(opened, 4, &made, &err) == VYRE_OK);
  EXPECT(vyre_buffer_upload(made, 0, data, 4, &err) == VYRE_OK);
  EXPECT(vyre_device_get_info(device, &info, NULL) == VYRE_ERROR_FORKED);
  EXPECT(plugin.get("uploads") == uploads + 1);

  /* What the parent made is freed without a call to the plugin. */
  EXPECT(plugin.get("buffers_live") == 3 && plugin.get("devices_live") == 2);
  vyre_buffer_destroy(buffer);
  vyre_buffer_destroy(other);
  vyre_device_close(device);
  vyre_context_destroy(context);
  EXPECT(plugin.get("buffers_live") == 3 && plugin.get("devices_live") == 2);
  EXPECT(vyre_buffer_fill(made, 0, 4, 1, &err) == VYRE_OK);
  vyre_buffer_destroy(made);
  vyre_device_close(opened);
  vyre_context_destroy(fresh);
  EXPECT(plugin.get("buffers_live") == 2 && plugin.get("devices_live") == 1);
#undef EXPECT
  return 0;
}

static void wait_for(pid_t child)
{
  int result = 0;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &result, 0), child);
  if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
    fail_msg("the child ended with 0x%x, line %d", result, WEXITSTATUS(result));
}

static void test_fork(void **state)
{
  unsigned char data[8] = {1, 2, 3};
  pid_t child = fork();
  (void)state;
  if (child == 0)
    _exit(in_child());
  wait_for(child);
  /* The parent goes on as before. */
  assert_int_equal(vyre_buffer_upload(buffer, 0, data, 8, NULL), VYRE_OK);
  assert_int_equal(vyre_context_device_count(context), FIXTURE_DEVICES);
}

/* A child's context belongs to the child, not to its own child. */
static void test_grandchild(void **state)
{
  pid_t child = fork();
  (void)state;
  if (child == 0) {
    vyre_context *fresh = NULL;
    pid_t grandchild;
    int result = 0;
    if (fixture_context("none", &fresh, NULL))
      _exit(1);
    grandchild = fork();
    if (grandchild == 0)
      _exit(vyre__context_is_ours(fresh) || vyre__context_is_ours(context) ? 1 : 0);
    if (waitpid(grandchild, &result, 0) != grandchild || result)
      _exit(2);
    if (!vyre__context_is_ours(fresh) || vyre__context_is_ours(context))
      _exit(3);
    vyre_context_destroy(fresh);
    _exit(0);
  }
  wait_for(child);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_fork, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_fork, set_up_without_wipe, tear_down),
      cmocka_unit_test_setup_teardown(test_grandchild, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_grandchild, set_up_without_wipe, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
