/*
 * What the trial at an open has found comes to an application: the opened device has no persistent
 * launches, and says why.  What was listed before is as it was.
 */
#include "support.h"

#include "vyre.h"

#include <stdlib.h>
#include <string.h>

static void it_is_told(void **state)
{
  vyre_context *context = NULL;
  vyre_device *device = NULL;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_device_info info = {.struct_size = sizeof info};
  (void)state;
  OK(vyre_context_create(NULL, &context, &fresh));
  request.selector = "hip:0";
  OK(vyre_device_open(context, &request, &device, &fresh));
  OK(vyre_device_get_info(device, &info, &fresh));
  assert_false(info.capabilities & VYRE_CAP_PERSISTENT);
  assert_true(info.capabilities & VYRE_CAP_COHERENT);
  assert_string_equal(info.persistent_reason,
                      "a kernel that runs does not see what the host stores in coherent memory");
  vyre_device_close(device);
  request.selector = "hip:1"; /* which is well */
  unsetenv("VYRE_FAKE_CUDA_TRIAL");
  OK(vyre_device_open(context, &request, &device, &fresh));
  OK(vyre_device_get_info(device, &info, &fresh));
  assert_true(info.capabilities & VYRE_CAP_PERSISTENT);
  vyre_device_close(device);
  vyre_context_destroy(context);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_told)};
  setenv("VYRE_FAKE_CUDA_TRIAL", "blind", 1);
  setenv("VYRE_PLUGIN_PATH", VYRE_TEST_BINARY_DIR "/lib/vyre", 1);
  if (!plugin_load(FAKE_CUDA, FAKE_NVRTC))
    return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
