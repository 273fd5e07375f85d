/*
 * test_launches.c - what the plugin makes of launches: bytes, offsets, words that are used again,
 * waits with a limit, a bad index, memory of the host's, contexts.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static vyre_backend_device *device;
static vyre_backend_module *module;

static vyre_backend_kernel *start(uint64_t flags, const char *name)
{
  setenv("VYRE_CACHE_DIR", "off", 1);
  device = open_device();
  return load_kernel(device, two_kernels, flags, name, &module);
}

static void stop(void)
{
  backend->module_unload(device, module);
  backend->device_close(device);
  unload();
}

static vyre_backend_pending *dispatch(const vyre_dispatch_desc *desc)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  const vyre_status status = backend->dispatch(device, desc, &pending, &err);
  assert_ok(status, err);
  return pending;
}

/* Only what the kernel may write changes, and only in the copy. */
static void bytes_go_in_and_out(void **state)
{
  unsigned char in[300], back[300], old[300];
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  for (int unified = 0; unified < 2; ++unified) {
    load();
    fake->unified = unified ? CL_TRUE : CL_FALSE;
    vyre_backend_kernel *kernel = start(0, "one");
    for (uint32_t i = 0; i < sizeof(in); ++i)
      in[i] = old[i] = (unsigned char)(i * 7u);
    const vyre_binding bindings[] = {bind_host(3, VYRE_READ_ONLY, in, sizeof(in)),
                                     bind_host(1, VYRE_READ_WRITE, in, sizeof(in))};
    const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
    vyre_backend_pending *pending = dispatch(&desc);
    vyre_slot slot = slot_of(back, sizeof(back));
    const vyre_status status = backend->pending_read(pending, &slot, 1, sizeof(slot), NULL, &err);
    assert_ok(status, err);
    assert_int_equal(slot.binding_id, 1);
    assert_memory_equal(in, old, sizeof(in));
    for (uint32_t i = 0; i < sizeof(in); ++i)
      assert_int_equal(back[i], (unsigned char)(in[i] + 1u));
    backend->pending_release(pending);
    stop();
  }
}

/* Bytes that are only read are not copied where the device works in the host's memory. */
static void host_memory_is_lent(void **state)
{
  static _Alignas(64) unsigned char in[256];
  (void)state;
  for (int unified = 0; unified < 2; ++unified) {
    load();
    fake->unified = unified ? CL_TRUE : CL_FALSE;
    vyre_backend_kernel *kernel = start(0, "one");
    const vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, in, sizeof(in)),
                                     bind_host(1, VYRE_WRITE_ONLY, NULL, sizeof(in))};
    const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
    backend->pending_release(dispatch(&desc));
    assert_int_equal(fake->lent, unified);
    stop();
  }
}

/* PoCL ends the process where memory that it takes later is not there. */
static void memory_is_taken_at_once(void **state)
{
  static _Alignas(64) unsigned char in[64];
  const cl_ulong types[] = {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU};
  (void)state;
  for (uint32_t i = 0; i < 2; ++i) {
    vyre_backend_buffer *buffer = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    load();
    fake->type = types[i];
    fake->unified = CL_TRUE;
    vyre_backend_kernel *kernel = start(0, "one");
    const vyre_status status = backend->buffer_alloc(device, 64, &buffer, &err);
    assert_ok(status, err);
    const vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, in, sizeof(in)),
                                     bind_host(1, VYRE_WRITE_ONLY, NULL, 8192)};
    const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
    backend->pending_release(dispatch(&desc));
    assert_int_equal(fake->lent, 1); /* of others: neither */
    assert_int_equal(fake->at_once, types[i] == CL_DEVICE_TYPE_CPU ? 2 : 0);
    backend->buffer_free(device, buffer);
    stop();
  }
}

static void a_buffer_is_bound_from_its_offset(void **state)
{
  unsigned char back[64];
  vyre_backend_buffer *buffer = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  load();
  vyre_backend_kernel *kernel = start(0, "one");
  vyre_status status = backend->buffer_alloc(device, sizeof(back), &buffer, &err);
  assert_ok(status, err);
  const vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, NULL, 0),
                                   bind_buffer(1, buffer, 40, 24)};
  const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
  vyre_backend_pending *pending = dispatch(&desc);
  backend->pending_release(pending);
  status = backend->buffer_download(device, buffer, 0, back, sizeof(back), &err);
  assert_ok(status, err);
  for (uint32_t i = 0; i < sizeof(back); ++i)
    assert_int_equal(back[i], i < 40 ? 0 : 1);
  backend->buffer_free(device, buffer);
  stop();
}

/* The same launch over and over makes no buffer more; another count makes one. */
static void words_are_used_again(void **state)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  load();
  vyre_backend_kernel *kernel = start(0, "one");
  const vyre_status status = backend->buffer_alloc(device, 64, &buffer, &err);
  assert_ok(status, err);
  vyre_binding bindings[] = {bind_buffer(0, buffer, 0, 32), bind_buffer(1, buffer, 32, 32)};
  const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
  backend->pending_release(dispatch(&desc));
  const uint32_t made = fake->calls[FAKE_clCreateBuffer];
  for (int turn = 0; turn < 5; ++turn)
    backend->pending_release(dispatch(&desc));
  assert_int_equal(fake->calls[FAKE_clCreateBuffer], made);
  bindings[1].element_count = 31;
  backend->pending_release(dispatch(&desc));
  assert_int_equal(fake->calls[FAKE_clCreateBuffer], made + 1);
  backend->buffer_free(device, buffer);
  stop();
}

static void waits_have_a_limit(void **state)
{
  unsigned char in[16] = {0};
  (void)state;
  load();
  vyre_backend_kernel *kernel = start(0, "one");
  const vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, in, sizeof(in)),
                                   bind_host(1, VYRE_READ_WRITE, in, sizeof(in))};
  const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
  fake->slow_looks = 100000000;
  vyre_backend_pending *pending = dispatch(&desc);
  assert_refused(backend->pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT, "has not ended");
  assert_refused(backend->pending_wait(pending, 3000000, &err), VYRE_ERROR_TIMEOUT, "3000000 ns");
  assert_int_equal(backend->pending_wait(pending, VYRE_NO_TIMEOUT, NULL), VYRE_OK);
  assert_int_equal(backend->pending_wait(pending, 0, NULL), VYRE_OK);
  backend->pending_release(pending);
  fake->slow_looks = 200; /* more than the looks that do not sleep */
  pending = dispatch(&desc);
  assert_int_equal(backend->pending_wait(pending, 60000000000u, NULL), VYRE_OK);
  backend->pending_release(pending);
  stop();
}

/* KRN-008, and DISP-032. */
static void a_bad_index_is_told(void **state)
{
  unsigned char in[16] = {0}, back[16] = {9};
  vyre_slot slot = slot_of(back, sizeof(back));
  (void)state;
  load();
  vyre_backend_kernel *kernel = start(VYRE_MODULE_DEBUG, "one");
  const vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, in, sizeof(in)),
                                   bind_host(1, VYRE_READ_WRITE, in, sizeof(in))};
  const vyre_dispatch_desc desc = launch_of(kernel, bindings, 2);
  fake->bad_index = true;
  vyre_backend_pending *pending = dispatch(&desc);
  for (int turn = 0; turn < 2; ++turn)
    assert_refused(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err),
                   VYRE_ERROR_DISPATCH_FAILED,
                   "line 12: index 4294967303 of buffer edges is outside its 5 elements");
  assert_refused(backend->pending_read(pending, &slot, 1, sizeof(slot), NULL, &err),
                 VYRE_ERROR_DISPATCH_FAILED, "edges");
  assert_int_equal(back[0], 9);
  backend->pending_release(pending);
  fake->bad_index = false;
  pending = dispatch(&desc);
  assert_int_equal(backend->pending_wait(pending, VYRE_NO_TIMEOUT, NULL), VYRE_OK);
  backend->pending_release(pending);
  stop();
}

static void bad_launches_are_refused(void **state)
{
  unsigned char in[16] = {0};
  vyre_backend_pending *pending = NULL;
  (void)state;
  load();
  vyre_backend_kernel *kernel = start(0, "three");
  vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, in, sizeof(in)),
                             bind_host(1, VYRE_READ_WRITE, in, sizeof(in)), bind_local(2, 32768)};
  vyre_dispatch_desc desc = launch_of(kernel, bindings, 3);
  backend->pending_release(dispatch(&desc)); /* all of the workgroup memory */
  bindings[2].size = 32769;
  assert_refused(backend->dispatch(device, &desc, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "the limit is 32768");
  bindings[2].size = UINT64_MAX;
  assert_refused(backend->dispatch(device, &desc, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "the limit is 32768");
  bindings[2].size = 16;
  desc.binding_count = 2;
  assert_refused(backend->dispatch(device, &desc, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "3 parameters, 2 bindings");
  desc.binding_count = 3;
  desc.workgroup[0] = 257; /* the kernel's own limit; the device takes 1024 */
  assert_refused(backend->dispatch(device, &desc, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "257, the limit is 256");
  desc.workgroup[0] = 1;
  desc.workgroup[2] = 65;
  assert_refused(backend->dispatch(device, &desc, &pending, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "65, the limit is 64");
  desc.workgroup[2] = 1;
  desc.flags = VYRE_DISPATCH_COOPERATIVE;
  assert_refused(backend->dispatch(device, &desc, &pending, &err), VYRE_ERROR_UNSUPPORTED,
                 "neither persistent nor cooperative");
  assert_null(pending);
  stop();
}

/* Two handles of one device share its context; a third one, on a queue of the first, too. */
static void handles_share_a_context(void **state)
{
  vyre_native_handle queue = {.struct_size = sizeof(queue)}, same = {.struct_size = sizeof(same)};
  vyre_backend_device_options options = {.struct_size = sizeof(options)};
  vyre_backend_device *first = NULL, *third = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  load();
  first = open_device();
  vyre_backend_device *second = open_device();
  assert_int_equal(fake->contexts, 1);
  vyre_status status = backend->queue_export(first, &queue, &err);
  assert_ok(status, err);
  options.queue = queue;
  status = backend->device_open(0, &options, &third, &err);
  assert_ok(status, err);
  assert_int_equal(fake->contexts, 1);
  status = backend->queue_export(third, &same, &err);
  assert_ok(status, err);
  assert_true(same.handle == queue.handle && same.type == VYRE_NATIVE_OPENCL);
  backend->device_close(first);
  backend->device_close(second);
  assert_int_equal(fake->contexts, 1); /* the queue keeps it */
  backend->device_close(third);
  unload();
}

static void a_queue_has_to_fit(void **state)
{
  vyre_native_handle queue = {.struct_size = sizeof(queue)};
  vyre_backend_device_options options = {.struct_size = sizeof(options)};
  vyre_backend_device *other = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  (void)state;
  load();
  fake->devices = 2;
  vyre_backend_device *first = open_device();
  const vyre_status status = backend->queue_export(first, &queue, &record);
  assert_ok(status, record);
  options.queue = queue;
  assert_refused(backend->device_open(1, &options, &other, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "another device");
  options.queue.type = VYRE_NATIVE_CUDA;
  assert_refused(backend->device_open(0, &options, &other, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 "type 16, the opencl plugin takes type 18");
  assert_null(other);
  backend->device_close(first);
  unload();
}

static void c11_atomics_are_used_where_they_are(void **state)
{
  static const struct {
    const char *version;
    bool c11;
    const char *options;
  } rows[] = {{"OpenCL 3.0 fake", true, "-cl-std=CL3.0 "},
              {"OpenCL 3.0 fake", false, "-cl-std=CL1.2 "},
              {"OpenCL 1.2 fake", true, "-cl-std=CL1.2 "}};
  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    load();
    fake->version = rows[i].version;
    fake->c11 = rows[i].c11;
    start(0, "one");
    assert_contains(fake->options, rows[i].options);
    assert_contains(fake->options, "-cl-fp32-correctly-rounded-divide-sqrt");
    stop();
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_go_in_and_out),
      cmocka_unit_test(host_memory_is_lent),
      cmocka_unit_test(memory_is_taken_at_once),
      cmocka_unit_test(a_buffer_is_bound_from_its_offset),
      cmocka_unit_test(words_are_used_again),
      cmocka_unit_test(waits_have_a_limit),
      cmocka_unit_test(a_bad_index_is_told),
      cmocka_unit_test(bad_launches_are_refused),
      cmocka_unit_test(handles_share_a_context),
      cmocka_unit_test(a_queue_has_to_fit),
      cmocka_unit_test(c11_atomics_are_used_where_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
