/*
 * Rung 1: AMD's own runtime, on a machine without a GPU of its: it loads, is resolved, says that
 * there is no device, and that is no failure.  Its hipRTC and comgr compile, and refuse what they
 * do not know.  Skipped where there is no runtime, and where there is a device.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77

static vyre_status compile(const char *arch, vyre_blob *out_blob, vyre_error *err)
{
  static const char text[] = "VYRE_SEGMENT(one)(vyre_ctx *c, VYRE_INOUT(vyre_u32) b)\n"
                             "{\n"
                             "  for (vyre_u64 i = vyre_begin(c, b); i < vyre_end(c, b); ++i)\n"
                             "    b[i] += 1u;\n"
                             "}\n";
  const vyre_compile_desc desc = {.struct_size = sizeof desc,
                                  .format = "hsaco",
                                  .arch = arch,
                                  .name = "one",
                                  .source = text,
                                  .source_size = sizeof text - 1};
  return backend->compile(&desc, out_blob, err);
}

static void it_sees_no_device(void **state)
{
  uint32_t count = 77;
  vyre_backend_device_info info = {.struct_size = sizeof info};
  (void)state;
  OK(backend->device_count(&count, &fresh));
  assert_int_equal(count, 0);
  assert_int_not_equal(backend->device_info(0, &info, NULL), VYRE_OK);
}

/* Asked for one that it does not know, hipRTC 5.2 ends the process. */
static void unknown_architectures_are_refused(void **state)
{
  vyre_blob blob = {.struct_size = sizeof blob};
  (void)state;
  static const char *const archs[] = {"gfx9999", "sm_90", "", "gfx90a0", "gfx"};
  for (size_t i = 0; i < sizeof archs / sizeof archs[0]; ++i) {
    vyre_error err = VYRE_ERROR_INIT;
    assert_int_not_equal(compile(archs[i], &blob, &err), VYRE_OK);
    if (err.code != VYRE_ERROR_MODULE_FORMAT && err.code != VYRE_ERROR_UNSUPPORTED)
      print_error("%s: %s\n", archs[i], err.message);
    assert_true(err.code == VYRE_ERROR_MODULE_FORMAT || err.code == VYRE_ERROR_UNSUPPORTED);
    assert_true(err.fix[0]);
  }
  assert_int_equal(host_live(), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_sees_no_device),
                                     cmocka_unit_test(unknown_architectures_are_refused)};
  uint32_t count = 0;
  if (!plugin_load(NULL, NULL))
    return 1;
  if (backend->device_count(&count, NULL) != VYRE_OK || count) {
    printf("SKIP: there is no HIP runtime, or it has a device. Run: apt-get install "
           "libamdhip64-5 libhiprtc-builtins5 rocm-device-libs\n");
    return SKIPPED;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
