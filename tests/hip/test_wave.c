/*
 * Devices with wavefronts of 32 and of 64, as the runtime tells of them: what the plugin reports,
 * and what its compiler is asked for.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *wave, const char *arch, uint32_t lanes, const char *rate)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  setenv("VYRE_FORWARD_HIP_WAVE", wave, 1);
  OK(backend->device_info(0, &info, &fresh));
  assert_string_equal(info.arch, arch); /* without "sramecc" and "xnack" */
  assert_int_equal(info.subgroup_size, lanes);
  assert_contains(info.name, "HIP-on-CUDA test runtime");
  const uint32_t index = lanes == 64 ? 0 : 1; /* each is tried once, which compiles */
  backend->device_close(open_device(index));
  assert_contains(nvrtc->options(), rate);
  assert_int_equal(strstr(nvrtc->options(), "-DVYRE_FORWARD_WAVE=64 ") != NULL, lanes == 64);
}

static void wavefronts_of_both_widths(void **state)
{
  (void)state;
  driver->reset();
  expect("64", "gfx90a", 64, "-DVYRE_CLOCK_KHZ=25000u ");
  expect("32", "gfx1100", 32, "-DVYRE_CLOCK_KHZ=100000u ");
  assert_clean();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(wavefronts_of_both_widths)};
  if (!plugin_load(FAKE_CUDA, FAKE_NVRTC) || !driver || !nvrtc)
    return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
