/*
 * What in the environment keeps launches from staying on an AMD GPU: the plugin names it, and does
 * not say that it has persistent launches.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

/* Four queues are one for each launch that the plugin lets stay. */
static void reasons_against_persistence(void **state)
{
  static const struct {
    const char *name, *value, *why;
  } switches[] = {{"HIP_LAUNCH_BLOCKING", "1", "HIP_LAUNCH_BLOCKING=1"},
                  {"HIP_LAUNCH_BLOCKING", "0", NULL},
                  {"AMD_SERIALIZE_KERNEL", "3", "AMD_SERIALIZE_KERNEL=3"},
                  {"AMD_SERIALIZE_COPY", "1", "AMD_SERIALIZE_COPY=1"},
                  {"GPU_MAX_HW_QUEUES", "1", "GPU_MAX_HW_QUEUES=1"},
                  {"GPU_MAX_HW_QUEUES", "3", "share a queue"},
                  {"GPU_MAX_HW_QUEUES", "4", NULL},
                  {"ROCP_TOOL_LIB", "/opt/rocm/lib/librocprofiler64.so", "profiler"}};
  (void)state;
  driver->reset();
  assert_not_persistent(NULL);
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; ++i) {
    setenv(switches[i].name, switches[i].value, 1);
    assert_not_persistent(switches[i].why);
    unsetenv(switches[i].name);
  }
  assert_clean();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(reasons_against_persistence)};
  if (!plugin_load(FAKE_CUDA, FAKE_NVRTC) || !driver)
    return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
