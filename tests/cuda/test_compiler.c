/*
 * The run-time compiler: options, formats, architectures, complaints, and each call failing once,
 * on an NVRTC of our own.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

static const char *text(const char *rest)
{
  static char whole[1 << 20];
  const size_t size = backend->prelude_size;
  memcpy(whole, backend->prelude, size);
  snprintf(whole + size, sizeof whole - size, "\n#line 1 \"hop.c\"\n%s", rest);
  return whole;
}

static vyre_status compile(const char *format, const char *arch, uint64_t flags, const char *source,
                           vyre_blob *out, vyre_error *err)
{
  const vyre_compile_desc desc = {.struct_size = sizeof desc,
                                  .flags = flags,
                                  .format = format,
                                  .arch = arch,
                                  .source = source,
                                  .source_size = strlen(source),
                                  .name = "hop.c"};
  *out = (vyre_blob){.struct_size = sizeof *out};
  return backend->compile(&desc, out, err);
}

static void drop(vyre_blob *blob)
{
  host_drop(blob->data);
}

static const char entries[] = "VYRE_ENTRY(hop, (VYRE_PARAM_CONST(0, a), VYRE_PARAM_INOUT(1, b)),\n"
                              "           (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n";

static void options(void **state)
{
  vyre_blob blob;
  (void)state;
  nvrtc->reset();
  OK(compile("cubin", "sm_90", 0, text(entries), &blob, &fresh));
  assert_memory_equal(blob.data, "\177ELF", 4);
  drop(&blob);
  assert_contains(nvrtc->options(), "--gpu-architecture=sm_90 ");
  assert_contains(nvrtc->options(), "--fmad=false ");
  assert_contains(nvrtc->options(), "--prec-div=true ");
  assert_contains(nvrtc->options(), "--prec-sqrt=true ");
  assert_contains(nvrtc->options(), "--ftz=false ");
  assert_contains(nvrtc->options(), "--std=c++17 ");
  assert_contains(nvrtc->options(), "--generate-line-info ");
  assert_null(strstr(nvrtc->options(), "VYRE_DEBUG"));
  OK(compile("ptx", "sm_80", VYRE_MODULE_DEBUG, text(entries), &blob, &fresh));
  assert_non_null(strstr(blob.data, ".visible .entry hop("));
  drop(&blob);
  assert_contains(nvrtc->options(), "--gpu-architecture=compute_80 ");
  assert_contains(nvrtc->options(), "-DVYRE_DEBUG=1 ");
  OK(compile("ptx", "compute_90", 0, text(entries), &blob, &fresh));
  drop(&blob);
  assert_contains(nvrtc->options(), "--gpu-architecture=compute_90 ");
  /* "": the oldest for PTX, the first device's for machine code. */
  OK(compile("ptx", "", 0, text(entries), &blob, &fresh));
  drop(&blob);
  assert_contains(nvrtc->options(), "--gpu-architecture=compute_75 ");
  driver->reset();
  driver->set_attribute(0, 75, 8);
  driver->set_attribute(0, 76, 6);
  OK(compile("cubin", "", 0, text(entries), &blob, &fresh));
  drop(&blob);
  assert_contains(nvrtc->options(), "--gpu-architecture=sm_86 ");
  driver->reset();
  assert_int_equal(nvrtc->programs(), 0);
  assert_int_equal(host_live(), 0);
}

static void refusals(void **state)
{
  static const struct {
    const char *format, *arch, *part;
    vyre_status status;
  } rows[] = {{"cubin", "sm_35", "sm_35", VYRE_ERROR_MODULE_FORMAT},
              {"cubin", "sm_990", "sm_121", VYRE_ERROR_MODULE_FORMAT},
              {"cubin", "compute_90", "compute_90", VYRE_ERROR_MODULE_FORMAT},
              {"ptx", "gfx90a", "gfx90a", VYRE_ERROR_MODULE_FORMAT},
              {"ptx", "sm_", "sm_", VYRE_ERROR_MODULE_FORMAT},
              {"ptx", "sm_90ab", "sm_90ab", VYRE_ERROR_MODULE_FORMAT},
              {"ptx", "sm_-90", "sm_-90", VYRE_ERROR_MODULE_FORMAT},
              {"hsaco", "", "hsaco", VYRE_ERROR_MODULE_FORMAT}};
  (void)state;
  nvrtc->reset();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_blob blob;
    assert_int_equal(compile(rows[i].format, rows[i].arch, 0, text(entries), &blob, &err),
                     rows[i].status);
    assert_contains(err.message, rows[i].part);
    assert_null(blob.data);
    assert_true(err.fix[0]);
  }
  assert_int_equal(nvrtc->programs(), 0);
  assert_int_equal(host_live(), 0);
}

static void complaints(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_blob blob;
  (void)state;
  nvrtc->reset();
  assert_int_equal(compile("ptx", "", 0, text("\n\n#error this is wrong\n"), &blob, &err),
                   VYRE_ERROR_COMPILE_FAILED);
  assert_contains(err.message, "hop.c(3): error");
  assert_contains(err.message, "this is wrong");
  assert_int_equal(err.vendor_code, 6);
  assert_null(blob.data);
  assert_int_equal(compile("ptx", "", 0, text("#error x\n"), &blob, NULL),
                   VYRE_ERROR_COMPILE_FAILED);
  assert_int_equal(nvrtc->programs(), 0);
  assert_int_equal(host_live(), 0);
}

static void each_call_fails(void **state)
{
  (void)state;
  for (uint64_t n = 1;; ++n) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_blob blob;
    nvrtc->reset();
    (nvrtc->fail)(NULL, n, 11);
    const vyre_status status = compile("ptx", "sm_90", 0, text(entries), &blob, &err);
    assert_int_equal(nvrtc->programs(), 0);
    if (status == VYRE_OK) {
      drop(&blob);
      assert_true(n >= 5);
      assert_int_equal(host_live(), 0);
      if (!nvrtc->failed())
        break;
      continue; /* of the last call, which ends the program */
    }
    assert_true(nvrtc->failed());
    assert_contains(err.message, "(11)");
    assert_int_equal(err.vendor_code, 11);
    assert_null(blob.data);
    assert_int_equal(host_live(), 0);
  }
  for (uint64_t n = 1;; ++n) {
    vyre_error err = VYRE_ERROR_INIT;
    vyre_blob blob;
    nvrtc->reset();
    host_fail(n);
    const vyre_status status = compile("ptx", "sm_90", 0, text(entries), &blob, &err);
    host_fail(0);
    assert_int_equal(nvrtc->programs(), 0);
    if (status == VYRE_OK) {
      drop(&blob);
      break;
    }
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(host_live(), 0);
  }
  assert_int_equal(host_live(), 0);
}

/* vyre-c on a device: machine code for it, or PTX where the compiler is older than the device. */
static void source_on_a_device(void **state)
{
  static const struct {
    int major, minor;
    const char *option;
  } rows[] = {{9, 0, "--gpu-architecture=sm_90 "}, {13, 0, "--gpu-architecture=compute_121 "}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    driver->reset();
    nvrtc->reset();
    driver->set_attribute(0, 75, rows[i].major);
    driver->set_attribute(0, 76, rows[i].minor);
    vyre_backend_device *device = open_device(0);
    vyre_backend_module *module = NULL;
    const char *source = text(entries);
    const vyre_module_desc desc = {.struct_size = sizeof desc,
                                   .format = "vyre-c",
                                   .arch = "",
                                   .data = source,
                                   .size = strlen(source),
                                   .name = "hop.c"};
    OK(backend->module_load(device, &desc, &module, &fresh));
    find_kernel(module, "hop");
    assert_contains(nvrtc->options(), rows[i].option);
    backend->module_unload(device, module);
    backend->device_close(device);
    assert_clean();
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options),
      cmocka_unit_test(refusals),
      cmocka_unit_test(complaints),
      cmocka_unit_test(each_call_fails),
      cmocka_unit_test(source_on_a_device),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
