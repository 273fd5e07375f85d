/*
 * test_refusals.c - every way in which OpenCL, or a device of it, may be missing or not enough:
 * a status, a text that names what it was, and nothing left behind.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t count_devices(void)
{
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t count = 99;
  const vyre_status status = backend->device_count(&count, &err);
  assert_ok(status, err);
  return count;
}

/* -------- the library -------- */

static void no_library(void **state)
{
  uint32_t count = 99;
  (void)state;
  load_with("/no/such/folder/libOpenCL.so.1");
  assert_refused(backend->device_count(&count, &err), VYRE_ERROR_VENDOR_LIBRARY,
                 "/no/such/folder/libOpenCL.so.1");
  assert_int_equal(count, 99);
  assert_refused(backend->device_count(&count, &err), VYRE_ERROR_VENDOR_LIBRARY, "no OpenCL");
  unload();
}

static void library_of_something_else(void **state)
{
  uint32_t count = 99;
  (void)state;
  load_with(VYRE_TEST_BINARY_DIR "/lib/vyre-test/opencl/stub/libOpenCL.so.1");
  assert_refused(backend->device_count(&count, &err), VYRE_ERROR_VENDOR_LIBRARY, "stub");
  assert_refused(backend->device_count(&count, &err), VYRE_ERROR_VENDOR_LIBRARY,
                 "clGetPlatformInfo");
  unload();
}

/* The first failure is not kept: somebody may install it meanwhile. */
static void library_comes_later(void **state)
{
  uint32_t count = 99;
  (void)state;
  load_with("/no/such/folder/libOpenCL.so.1");
  assert_refused(backend->device_count(&count, &err), VYRE_ERROR_VENDOR_LIBRARY, "no OpenCL");
  setenv("VYRE_OPENCL_LIBRARY", VYRE_TEST_BINARY_DIR "/lib/vyre-test/opencl/libOpenCL.so.1", 1);
  assert_int_equal(count_devices(), 1);
  unload();
}

/* Without a name it is one that the process has already. */
static void library_in_the_process(void **state)
{
  vyre_backend_device_info info = {.struct_size = sizeof(info)};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  load();
  unsetenv("VYRE_OPENCL_LIBRARY");
  assert_int_equal(count_devices(), 1);
  const vyre_status status = backend->device_info(0, &info, &err);
  assert_ok(status, err);
  assert_contains(info.driver, "vyre-test/opencl/libOpenCL.so.1");
  unload();
}

/* -------- platforms and devices -------- */

static void no_runtime(void **state)
{
  (void)state;
  load();
  fake->platforms_code = CL_PLATFORM_NOT_FOUND_KHR; /* the loader's word for no ICD */
  assert_int_equal(count_devices(), 0);
  unload();
}

static void no_platform(void **state)
{
  (void)state;
  load();
  fake->platforms = 0;
  assert_int_equal(count_devices(), 0);
  unload();
}

static void no_device(void **state)
{
  vyre_backend_device *device = NULL;
  (void)state;
  load();
  fake->devices = 0;
  assert_int_equal(count_devices(), 0);
  assert_refused(backend->device_open(0, NULL, &device, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "there are 0");
  /* None is not kept either. */
  fake->devices = 2;
  assert_int_equal(count_devices(), 2);
  unload();
}

static void platform_that_fails(void **state)
{
  uint32_t count = 99;
  (void)state;
  load();
  fake->platforms_code = CL_OUT_OF_HOST_MEMORY;
  assert_refused(backend->device_count(&count, &err), VYRE_ERROR_OUT_OF_HOST_MEMORY,
                 "CL_OUT_OF_HOST_MEMORY (-6)");
  fake->platforms_code = CL_SUCCESS;
  fake->devices_code = CL_INVALID_VALUE;
  assert_refused(backend->device_count(&count, &err), VYRE_ERROR_NO_DEVICE,
                 "CL_INVALID_VALUE (-30)");
  assert_int_equal(count, 99);
  unload();
}

/* A runtime that is broken takes nothing away from the others. */
static void platform_that_fails_beside_another(void **state)
{
  vyre_backend_device_info info = {.struct_size = sizeof(info)};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  for (uint32_t at = 1; at <= 2; ++at) {
    load();
    fake->platforms = 2;
    fake->fail_call = FAKE_clGetDeviceIDs;
    fake->fail_at = at;
    fake->fail_code = CL_OUT_OF_HOST_MEMORY;
    assert_int_equal(count_devices(), 1);
    const vyre_status status = backend->device_info(0, &info, &err);
    assert_ok(status, err);
    backend->device_close(open_device());
    unload();
  }
}

/* The threads of a runtime are not in a child: what it would be asked for might never end. */
static void child_of_a_process_that_used_it(void **state)
{
  int ended = -1;
  (void)state;
  load();
  assert_int_equal(count_devices(), 1);
  const pid_t child = fork();
  if (!child) {
    vyre_backend_device *device = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    uint32_t count = 99;
    const vyre_status counted = backend->device_count(&count, NULL);
    const vyre_status opened = backend->device_open(0, NULL, &device, &err);
    _exit(counted == VYRE_ERROR_FORKED && opened == VYRE_ERROR_FORKED && count == 99 && !device &&
                  strstr(err.message, "parent") && strstr(err.fix, "exec()")
              ? 0
              : 1);
  }
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_int_equal(ended, 0);
  assert_int_equal(count_devices(), 1);
  unload();
  /* One whose parent has found nothing. */
  load();
  fake->devices = 0;
  assert_int_equal(count_devices(), 0);
  const pid_t second = fork();
  if (!second) {
    fake->devices = 1;
    _exit((int)count_devices());
  }
  assert_int_equal(waitpid(second, &ended, 0), second);
  assert_int_equal(WEXITSTATUS(ended), 1);
  unload();
}

/* DEV-001. */
static void ids_are_unique(void **state)
{
  vyre_backend_device_info info[6];
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  load();
  fake->platforms = 2;
  fake->devices = 3;
  fake->name = "A Card, the 2nd!  (rev. 1)";
  assert_int_equal(count_devices(), 6);
  for (uint32_t i = 0; i < 6; ++i) {
    memset(&info[i], 0, sizeof(info[i]));
    info[i].struct_size = sizeof(info[i]);
    const vyre_status status = backend->device_info(i, &info[i], &err);
    assert_ok(status, err);
    assert_null(strpbrk(info[i].id, ",! "));
    for (uint32_t k = 0; k < i; ++k)
      assert_string_not_equal(info[i].id, info[k].id);
  }
  assert_string_equal(info[0].id, "fake-a-card-the-2nd-rev-1");
  assert_string_equal(info[1].id, "fake-a-card-the-2nd-rev-1-2");
  unload();
}

/* -------- devices that are not enough -------- */

/* It is listed, says why, and is not opened. */
static void expect_closed(const char *part)
{
  vyre_backend_device_info info = {.struct_size = sizeof(info)};
  vyre_backend_device *device = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  assert_int_equal(count_devices(), 1);
  const vyre_status status = backend->device_info(0, &info, &record);
  assert_ok(status, record);
  assert_int_equal(info.capabilities, 0);
  assert_contains(info.compiler_reason, part);
  assert_refused(backend->device_open(0, NULL, &device, &err), VYRE_ERROR_UNSUPPORTED, part);
  assert_null(device);
  unload();
}

static void device_too_old(void **state)
{
  (void)state;
  load();
  fake->version = "OpenCL 1.1 old";
  expect_closed("OpenCL 1.2 is needed");
}

static void device_not_available(void **state)
{
  (void)state;
  load();
  fake->available = CL_FALSE;
  expect_closed("not available");
}

static void device_without_compiler(void **state)
{
  (void)state;
  load();
  fake->compiler = CL_FALSE;
  expect_closed("no compiler");
}

static void device_without_wide_atomics(void **state)
{
  (void)state;
  load();
  fake->extensions = "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics_not cl_khr_fp64";
  expect_closed("cl_khr_int64_extended_atomics");
}

static void device_without_doubles(void **state)
{
  (void)state;
  load();
  fake->extensions = "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics";
  expect_closed("cl_khr_fp64");
}

static void device_with_rough_floats(void **state)
{
  (void)state;
  load();
  fake->single_fp = 191 & ~(cl_ulong)CL_FP_DENORM;
  expect_closed("floats are not exact");
  load();
  fake->single_fp = 191 & ~(cl_ulong)CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  expect_closed("floats are not exact");
}

static void device_of_another_kind(void **state)
{
  (void)state;
  load();
  fake->address_bits = 32;
  expect_closed("64 bits");
  load();
  fake->little = CL_FALSE;
  expect_closed("little-endian");
}

/* -------- code and memory -------- */

static void text_that_does_not_compile(void **state)
{
  vyre_backend_module *module = NULL;
  (void)state;
  setenv("VYRE_CACHE_DIR", "off", 1);
  load();
  vyre_backend_device *device = open_device();
  assert_refused(load_text(device, "this is not a kernel", 0, &module, &err),
                 VYRE_ERROR_COMPILE_FAILED, "user.c:7: that is not a kernel");
  /* A compiler that fails and says nothing. */
  fake->fail_call = FAKE_clGetProgramBuildInfo;
  fake->fail_at = fake->calls[FAKE_clGetProgramBuildInfo] + 1;
  fake->fail_code = CL_OUT_OF_RESOURCES;
  assert_refused(load_text(device, "this is not a kernel", 0, &module, &err),
                 VYRE_ERROR_COMPILE_FAILED, "CL_BUILD_PROGRAM_FAILURE (-11)");
  fake->fail_call = FAKE_clBuildProgram;
  fake->fail_at = fake->calls[FAKE_clBuildProgram] + 1;
  fake->fail_code = CL_INVALID_BUILD_OPTIONS;
  assert_refused(load_text(device, "text", 0, &module, &err), VYRE_ERROR_COMPILE_FAILED,
                 "CL_INVALID_BUILD_OPTIONS (-43)");
  assert_null(module);
  backend->device_close(device);
  unload();
}

/* KRN-003, where the compiler counts the lines of the whole text. */
static void lines_are_those_of_the_author(void **state)
{
  vyre_backend_module *module = NULL;
  (void)state;
  setenv("VYRE_CACHE_DIR", "off", 1);
  load();
  fake->whole_lines = true;
  vyre_backend_device *device = open_device();
  assert_refused(load_text(device,
                           "\n#line 1 \"vyre generated\"\n\n\n#line 40 \"my file.c\"\nfine;\n"
                           "this is not a kernel\n#line 1 \"behind\"\n",
                           0, &module, &err),
                 VYRE_ERROR_COMPILE_FAILED,
                 "test: my file.c:41:3: error: wrong\n<kernel>: 1 error");
  assert_refused(load_text(device, "#line 9\nthis is not a kernel", 0, &module, &err),
                 VYRE_ERROR_COMPILE_FAILED, "<kernel>:");
  backend->device_close(device);
  unload();
}

static void log_that_steers_a_terminal(void **state)
{
  vyre_backend_module *module = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  setenv("VYRE_CACHE_DIR", "off", 1);
  load();
  fake->rude_lines = true;
  vyre_backend_device *device = open_device();
  assert_int_equal(load_text(device, "this is not a kernel", 0, &module, &err),
                   VYRE_ERROR_COMPILE_FAILED);
  assert_string_equal(err.message, "test: user.c:7: ?[31mred?[0m?\n\tj\303\251?");
  backend->device_close(device);
  unload();
}

static void format_and_entry(void **state)
{
  vyre_backend_module *module = NULL;
  vyre_backend_kernel *kernel = NULL;
  (void)state;
  load();
  vyre_backend_device *device = open_device();
  vyre_module_desc desc = {.struct_size = sizeof(desc), .format = "ptx", .arch = "", .data = "x"};
  assert_refused(backend->module_load(device, &desc, &module, &err), VYRE_ERROR_MODULE_FORMAT,
                 "\"vyre-c\", not \"ptx\"");
  load_kernel(device, two_kernels, 0, "one", &module);
  assert_refused(backend->kernel_find(module, "two", &kernel, NULL, &err), VYRE_ERROR_NOT_FOUND,
                 "\"two\"");
  backend->module_unload(device, module);
  backend->device_close(device);
  unload();
}

static void memory_that_is_not_there(void **state)
{
  vyre_backend_buffer *buffer = NULL;
  (void)state;
  load();
  vyre_backend_device *device = open_device();
  assert_refused(backend->buffer_alloc(device, (uint64_t)1 << 40, &buffer, &err),
                 VYRE_ERROR_OUT_OF_DEVICE_MEMORY, "CL_INVALID_BUFFER_SIZE (-61)");
  assert_refused(backend->buffer_alloc(device, UINT64_MAX - 5, &buffer, &err),
                 VYRE_ERROR_OUT_OF_DEVICE_MEMORY, "CL_INVALID_BUFFER_SIZE (-61)");
  fake->fail_call = FAKE_clCreateBuffer;
  fake->fail_at = fake->calls[FAKE_clCreateBuffer] + 1;
  fake->fail_code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  assert_refused(backend->buffer_alloc(device, 4096, &buffer, &err),
                 VYRE_ERROR_OUT_OF_DEVICE_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
  assert_null(buffer);
  backend->device_close(device);
  unload();
}

/* Memory of others: what no launch takes, and what the host cannot copy. */
static void memory_of_others(void **state)
{
  vyre_native_memory memory = {.struct_size = sizeof(memory)};
  vyre_backend_buffer *buffer = NULL, *same = NULL;
  unsigned char bytes[64] = {0};
  vyre_error record = VYRE_ERROR_INIT;
  (void)state;
  load();
  vyre_backend_device *device = open_device();
  fake->image = true;
  vyre_status status = backend->buffer_alloc(device, 64, &buffer, &record);
  assert_ok(status, record);
  status = backend->buffer_export(device, buffer, &memory, &record);
  assert_ok(status, record);
  assert_refused(backend->buffer_import(device, &memory, &same, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "an image or a pipe (CL_MEM_TYPE is 0x10f1)");
  assert_null(same);
  fake->fail_call = FAKE_clEnqueueReadBuffer;
  fake->fail_at = fake->calls[FAKE_clEnqueueReadBuffer] + 1;
  fake->fail_code = CL_INVALID_OPERATION;
  assert_refused(backend->buffer_download(device, buffer, 0, bytes, sizeof(bytes), &err),
                 VYRE_ERROR_INVALID_ARGUMENT, "does not let the host at it");
  backend->buffer_free(device, buffer);
  backend->device_close(device);
  unload();
}

/* A code that no list has, and one that says that the device is gone. */
static void codes_of_a_launch(void **state)
{
  vyre_backend_module *module = NULL;
  vyre_backend_pending *pending = NULL;
  unsigned char in[64] = {0};
  vyre_error record = VYRE_ERROR_INIT;
  (void)state;
  load();
  vyre_backend_device *device = open_device();
  vyre_backend_kernel *kernel = load_kernel(device, two_kernels, 0, "one", &module);
  const vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, in, sizeof(in)),
                                   bind_host(1, VYRE_READ_WRITE, in, sizeof(in))};
  const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
  static const struct {
    cl_int code;
    vyre_status status;
    const char *part;
  } rows[] = {{-9999, VYRE_ERROR_DISPATCH_FAILED, "an unknown code (-9999)"},
              {CL_DEVICE_NOT_AVAILABLE, VYRE_ERROR_DEVICE_LOST, "CL_DEVICE_NOT_AVAILABLE (-2)"},
              {CL_OUT_OF_RESOURCES, VYRE_ERROR_DISPATCH_FAILED, "CL_OUT_OF_RESOURCES (-5)"}};
  for (uint32_t i = 0; i < 3; ++i) {
    fake->launch_code = rows[i].code;
    const vyre_status status = backend->dispatch(device, &desc, &pending, &record);
    assert_ok(status, record);
    for (int turn = 0; turn < 2; ++turn) /* DISP-032: every time */
      assert_refused(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), rows[i].status,
                     rows[i].part);
    backend->pending_release(pending);
  }
  backend->module_unload(device, module);
  backend->device_close(device);
  unload();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_library),
      cmocka_unit_test(library_of_something_else),
      cmocka_unit_test(library_comes_later),
      cmocka_unit_test(library_in_the_process),
      cmocka_unit_test(no_runtime),
      cmocka_unit_test(no_platform),
      cmocka_unit_test(no_device),
      cmocka_unit_test(platform_that_fails),
      cmocka_unit_test(platform_that_fails_beside_another),
      cmocka_unit_test(child_of_a_process_that_used_it),
      cmocka_unit_test(ids_are_unique),
      cmocka_unit_test(device_too_old),
      cmocka_unit_test(device_not_available),
      cmocka_unit_test(device_without_compiler),
      cmocka_unit_test(device_without_wide_atomics),
      cmocka_unit_test(device_without_doubles),
      cmocka_unit_test(device_with_rough_floats),
      cmocka_unit_test(device_of_another_kind),
      cmocka_unit_test(text_that_does_not_compile),
      cmocka_unit_test(lines_are_those_of_the_author),
      cmocka_unit_test(log_that_steers_a_terminal),
      cmocka_unit_test(format_and_entry),
      cmocka_unit_test(memory_that_is_not_there),
      cmocka_unit_test(memory_of_others),
      cmocka_unit_test(codes_of_a_launch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
