/*
 * test_switches.c - environment variables that serialise a vendor's launches turn persistence off,
 * with a reason that names them; on that vendor's devices and on no others.
 */
#include "tests/engine/engine_help.h"

static const struct {
  const char *backend, *name, *on, *off;
} rows[] = {{"cuda", "CUDA_LAUNCH_BLOCKING", "1", "0"},
            {"cuda", "CUDA_DEVICE_MAX_CONNECTIONS", "1", "8"},
            {"cuda", "NV_SANITIZER_INJECTION_PORT_BASE", "49152", ""},
            {"cuda", "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", "49152", ""},
            {"cuda", "CUDA_INJECTION64_PATH", "/opt/libsanitizer-collection.so",
             "/opt/libToolsInjection64.so"},
            {"cuda", "CUDA_MEMCHECK", "1", ""},
            {"cuda", "NV_COMPUTE_PROFILER_PERFWORKS_DIR", "/opt/ncu", ""},
            {"hip", "HIP_LAUNCH_BLOCKING", "1", "0"},
            {"hip", "AMD_SERIALIZE_KERNEL", "3", "0"},
            {"hip", "AMD_SERIALIZE_COPY", "2", "0x0"},
            {"hip", "GPU_MAX_HW_QUEUES", "1", "4"}};
#define ROWS (sizeof rows / sizeof rows[0])

static int clear(void **state)
{
  (void)state;
  for (size_t i = 0; i < ROWS; ++i)
    unsetenv(rows[i].name);
  return 0;
}

static void open_like(test_rig *rig, const char *backend)
{
  char file[512];
  if (!strcmp(backend, "cpu")) {
    rig_open(rig, NULL, backend);
    return;
  }
  snprintf(file, sizeof file, VYRE_TEST_PLUGIN_DIR "/libvyre_like_%s.so", backend);
  rig_open(rig, file, backend);
}

static void expect(const char *backend, const char *name, const char *value)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_device_info info = {.struct_size = sizeof info};
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 6};
  vyre_error err = VYRE_ERROR_INIT;
  vyre_engine *engine = NULL;
  char reason[256];
  vyre_completion c;
  test_rig rig;
  snprintf(reason, sizeof reason, "batched: %s=%s is set: ", name ? name : "", value ? value : "");
  open_like(&rig, backend);
  assert_ok(vyre_device_get_info(rig.device, &info, NULL));
  assert_int_equal(!(info.capabilities & VYRE_CAP_PERSISTENT), name != NULL);
  engine = rig_start(&rig, NULL);
  if (strncmp(vyre_engine_choice(engine),
              name ? reason : "persistent: ", strlen(name ? reason : "persistent: ")) != 0)
    fail_msg("choice is '%s'", vyre_engine_choice(engine));
  if (name && strncmp(info.persistent_reason, reason + 9, strlen(reason) - 9) != 0)
    fail_msg("reason is '%s'", info.persistent_reason);
  assert_ok(vyre_engine_submit(engine, &item, NULL));
  assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
  assert_int_equal(c.result, 6);
  vyre_engine_destroy(engine);
  options.mode = VYRE_ENGINE_FORCE;
  engine = NULL;
  if (name) {
    assert_int_equal(rig_try_start(&rig, &options, &engine, &err), VYRE_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.message, reason + 9));
    assert_non_null(strstr(err.fix, "unset "));
    assert_non_null(strstr(err.fix, name));
    assert_non_null(strstr(err.fix, "VYRE_ENGINE_AUTO"));
  } else {
    assert_ok(rig_try_start(&rig, &options, &engine, &err));
  }
  vyre_engine_destroy(engine);
  rig_close(&rig);
}

static void each_switch(void **state)
{
  for (size_t i = 0; i < ROWS; ++i) {
    const char *other = !strcmp(rows[i].backend, "cuda") ? "hip" : "cuda";
    setenv(rows[i].name, rows[i].on, 1);
    expect(rows[i].backend, rows[i].name, rows[i].on);
    expect(other, NULL, NULL);
    setenv(rows[i].name, rows[i].off, 1);
    expect(rows[i].backend, NULL, NULL);
    clear(state);
  }
}

/* The embedded default listens to no vendor's switches. */
static void cpu_does_not_care(void **state)
{
  for (size_t i = 0; i < ROWS; ++i)
    setenv(rows[i].name, rows[i].on, 1);
  expect("cpu", NULL, NULL);
  clear(state);
}

/* What counts is what the vendor's library saw when it started. */
static void read_when_listed(void **state)
{
  vyre_engine *engine;
  test_rig rig;
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  open_like(&rig, "cuda");
  clear(state);
  engine = rig_start(&rig, NULL);
  assert_int_equal(strncmp(vyre_engine_choice(engine), "batched: CUDA_LAUNCH_BLOCKING=1", 31), 0);
  vyre_engine_destroy(engine);
  rig_close(&rig);
}

/* A value of any length and kind is shown as far as there is room. */
static void strange_values(void **state)
{
  vyre_device_info info = {.struct_size = sizeof info};
  char value[5000];
  test_rig rig;
  memset(value, 'v', sizeof value - 1);
  value[sizeof value - 1] = '\0';
  setenv("HIP_LAUNCH_BLOCKING", value, 1);
  open_like(&rig, "hip");
  assert_ok(vyre_device_get_info(rig.device, &info, NULL));
  assert_false(info.capabilities & VYRE_CAP_PERSISTENT);
  assert_non_null(strstr(info.persistent_reason, "HIP_LAUNCH_BLOCKING=vvv"));
  assert_non_null(strstr(info.persistent_reason, "each launch waits"));
  rig_close(&rig);
  clear(state);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_switch), cmocka_unit_test(cpu_does_not_care),
      cmocka_unit_test(read_when_listed), cmocka_unit_test(strange_values)};
  return cmocka_run_group_tests(tests, clear, clear);
}
