/*
 * test_failures.c - every call of OpenCL's fails once at every place, and so does every allocation:
 * the plugin's call either works or says so with OpenCL's own number, and nothing is left.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    status = (call);                                                                               \
    if (status != VYRE_OK)                                                                         \
      goto done;                                                                                   \
  } while (0)

static const char clock_text[] = "vyre_clock_ns\n"
                                 "VYRE_ENTRY(one, (VYRE_PARAM_IN(0, a), VYRE_PARAM_INOUT(1, b)), "
                                 "(VYRE_ARG(0, a), VYRE_ARG(1, b)));\n";

/* A launch with bytes in and out, one that starts as zeros, and one in a buffer. */
static vyre_status launch(vyre_backend_device *device, vyre_backend_kernel *kernel,
                          vyre_backend_buffer *buffer, vyre_error *err)
{
  static unsigned char in[8192], out[8192];
  const vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, in, sizeof(in)),
                                   bind_host(1, VYRE_WRITE_ONLY, NULL, sizeof(out))};
  const vyre_binding resident[] = {bind_host(0, VYRE_READ_ONLY, in, 0),
                                   bind_buffer(1, buffer, 16, 64)};
  vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
  vyre_backend_times times = {.struct_size = sizeof(times)};
  vyre_slot slot = slot_of(out, sizeof(out));
  vyre_backend_pending *pending = NULL;
  vyre_status status = VYRE_OK;
  CHECK(backend->dispatch(device, &desc, &pending, err));
  CHECK(backend->pending_wait(pending, 1000000000u, err));
  CHECK(backend->pending_read(pending, &slot, 1, sizeof(slot), &times, err));
  assert_int_equal(out[0], 1);
  assert_int_equal(out[8191], 1);
  backend->pending_release(pending);
  pending = NULL;
  desc.bindings = resident;
  CHECK(backend->dispatch(device, &desc, &pending, err));
  CHECK(backend->pending_wait(pending, VYRE_NO_TIMEOUT, err));

done:
  backend->pending_release(pending);
  return status;
}

static vyre_status buffers(vyre_backend_device *device, vyre_backend_buffer *buffer,
                           vyre_error *err)
{
  unsigned char bytes[100] = {0};
  vyre_native_memory memory = {.struct_size = sizeof(memory)};
  vyre_backend_buffer *same = NULL;
  vyre_status status = VYRE_OK;
  CHECK(backend->buffer_upload(device, buffer, 0, bytes, 50, err));
  CHECK(backend->buffer_fill(device, buffer, 50, 50, 7, err));
  CHECK(backend->buffer_copy(device, buffer, 0, buffer, 50, 50, err));
  CHECK(backend->buffer_download(device, buffer, 0, bytes, 50, err));
  assert_int_equal(bytes[49], 7);
  CHECK(backend->buffer_export(device, buffer, &memory, err));
  CHECK(backend->buffer_import(device, &memory, &same, err));

done:
  backend->buffer_free(device, same);
  return status;
}

static vyre_status lend(vyre_backend_device *device, vyre_error *err)
{
  vyre_native_handle event = {.struct_size = sizeof(event)}, queue = {.struct_size = sizeof(queue)};
  vyre_backend_device_options options = {.struct_size = sizeof(options)};
  vyre_backend_device *other = NULL;
  bool recorded = false;
  vyre_status status = VYRE_OK;
  CHECK(backend->event_record(device, &event, err));
  recorded = true;
  CHECK(backend->event_wait(device, &event, err));
  CHECK(backend->queue_export(device, &queue, err));
  options.queue = queue;
  CHECK(backend->device_open(0, &options, &other, err));

done:
  backend->device_close(other);
  if (recorded) {
    /* It is released also where the call says that it failed. */
    const vyre_status released = backend->event_release(device, &event, status ? NULL : err);
    status = status ? status : released;
  }
  return status;
}

/* Everything that the plugin does, with a cache that was empty before. */
static vyre_status pass(vyre_error *err)
{
  vyre_backend_device_info info = {.struct_size = sizeof(info)};
  vyre_backend_device *device = NULL;
  vyre_backend_module *module = NULL, *again = NULL, *debug = NULL;
  vyre_backend_kernel *kernel = NULL;
  vyre_backend_buffer *buffer = NULL, *empty = NULL;
  vyre_kernel_info limits = {.struct_size = sizeof(limits)};
  uint64_t device_ns = 0, host_ns = 0;
  uint32_t count = 0;
  vyre_status status = VYRE_OK;
  CHECK(backend->device_count(&count, err));
  CHECK(backend->device_info(0, &info, err));
  CHECK(backend->device_open(0, NULL, &device, err));
  CHECK(backend->device_clock(device, &device_ns, &host_ns, err));
  CHECK(load_text(device, clock_text, 0, &module, err));
  CHECK(backend->kernel_find(module, "one", &kernel, &limits, err));
  CHECK(backend->buffer_alloc(device, 100, &buffer, err));
  CHECK(backend->buffer_alloc(device, 0, &empty, err));
  CHECK(buffers(device, buffer, err));
  CHECK(launch(device, kernel, buffer, err));
  CHECK(lend(device, err));
  CHECK(load_text(device, clock_text, 0, &again, err)); /* from the cache */
  CHECK(load_text(device, clock_text, VYRE_MODULE_DEBUG, &debug, err));
  CHECK(backend->kernel_find(debug, "one", &kernel, NULL, err));
  CHECK(launch(device, kernel, buffer, err));

done:
  backend->buffer_free(device, empty);
  backend->buffer_free(device, buffer);
  backend->module_unload(device, debug);
  backend->module_unload(device, again);
  backend->module_unload(device, module);
  backend->device_close(device);
  return status;
}

static const char *name_of(uint32_t call)
{
  static const char *const names[] = {
#define NAME(need, result, name, parameters) #name,
      VYRE__CL_CALLS(NAME)
#undef NAME
  };
  return names[call];
}

/*
 * What a failing call may lead to.  A property that cannot be asked for is one that is not there,
 * so the device may be refused; a kernel's clock may go on another way; what is given back or
 * cached is nobody's trouble.
 */
static void expect(uint32_t call, uint32_t at, vyre_status status, const vyre_error *err)
{
  if (status == VYRE_OK)
    return;
  assert_int_equal(err->code, status);
  if (!err->message[0] || !err->fix[0])
    fail_msg("%s, time %u: an error without text", name_of(call), at);
  if (call == FAKE_clGetDeviceInfo && status == VYRE_ERROR_UNSUPPORTED)
    return;
  if ((status != VYRE_ERROR_OUT_OF_DEVICE_MEMORY && status != VYRE_ERROR_DISPATCH_FAILED) ||
      err->vendor_code != CL_OUT_OF_RESOURCES || !strstr(err->message, "CL_OUT_OF_RESOURCES (-5)"))
    fail_msg("%s, time %u: status %d, %s", name_of(call), at, (int)status, err->message);
}

/* True where the plugin can do without the call's success. */
static bool may_be_unheard(uint32_t call)
{
  switch (call) {
  case FAKE_clGetPlatformInfo:
  case FAKE_clGetDeviceInfo:
  case FAKE_clGetDeviceAndHostTimer: /* there is another clock */
  case FAKE_clReleaseContext:
  case FAKE_clReleaseCommandQueue:
  case FAKE_clReleaseMemObject:
  case FAKE_clReleaseProgram:
  case FAKE_clReleaseKernel:
  case FAKE_clReleaseEvent:
  case FAKE_clFinish:
  case FAKE_clGetProgramInfo: /* of the cache */
  case FAKE_clCreateProgramWithBinary:
  case FAKE_clGetEventProfilingInfo: /* a time that is absent */
    return true;
  default:
    return false;
  }
}

static void fail_each(uint32_t call, uint32_t times, uint32_t *out_failures)
{
  for (uint32_t at = 1; at <= times; ++at) {
    vyre_error err = VYRE_ERROR_INIT;
    load();
    cache_fresh();
    fake->timer = call == FAKE_clGetDeviceAndHostTimer;
    fake->fail_call = call;
    fake->fail_at = at;
    fake->fail_code = CL_OUT_OF_RESOURCES;
    const vyre_status status = pass(&err);
    expect(call, at, status, &err);
    *out_failures += status != VYRE_OK;
    unload();
  }
}

static void every_call_can_fail(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t times[FAKE_CALLS];
  (void)state;
  load();
  cache_fresh();
  fake->timer = false; /* so that the marker of the other clock is called, too */
  const vyre_status status = pass(&err);
  assert_ok(status, err);
  memcpy(times, fake->calls, sizeof(times));
  unload();
  times[FAKE_clGetDeviceAndHostTimer] = 2;
  for (uint32_t call = 0; call < FAKE_CALLS; ++call) {
    uint32_t failures = 0;
    if (call == FAKE_clGetProgramBuildInfo)
      continue; /* of a text that does not compile: test_refusals.c */
    if (!times[call])
      fail_msg("%s is never called", name_of(call));
    fail_each(call, times[call], &failures);
    if (!failures && !may_be_unheard(call))
      fail_msg("%s fails and nobody is told", name_of(call));
  }
}

static void every_allocation_can_fail(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t failures = 0;
  (void)state;
  load();
  cache_fresh();
  host_fail(0);
  vyre_status status = pass(&err);
  assert_ok(status, err);
  const uint64_t count = host_count();
  unload();
  assert_true(count > 10);
  for (uint64_t n = 1; n <= count; ++n) {
    err = (vyre_error)VYRE_ERROR_INIT;
    load();
    cache_fresh();
    host_fail(n);
    status = pass(&err);
    unload();
    if (status == VYRE_OK)
      continue; /* the cache, or a log */
    failures += 1;
    assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_true(err.message[0] && err.fix[0]);
  }
  assert_true(failures * 2 > count);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_can_fail),
      cmocka_unit_test(every_allocation_can_fail),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cache_remove();
  return failed;
}
