/*
 * Launches of the GPU body on the test driver: what the host gets back, what the driver is asked,
 * in which order and with which arguments, and how a launch ends.
 */
#include "scene.h"

#include <time.h>

/* -------- what comes back -------- */

static void host_bytes_come_in_and_out(void **state)
{
  static uint32_t a[50000], b[50000], out[50000];
  (void)state;
  for (uint32_t n = 1; n <= 50000; n = n * 7 + 3) {
    launch l;
    vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = n * 4};
    vyre_backend_times times = {.struct_size = sizeof times};
    for (uint32_t i = 0; i < n; ++i) {
      a[i] = i * 3 + n;
      b[i] = i * 5;
    }
    memset(out, 0, sizeof out);
    begin(&l, find("add"));
    add_host(&l, VYRE_READ_ONLY, a, n);
    add_host(&l, VYRE_READ_ONLY, b, n);
    add_host(&l, VYRE_WRITE_ONLY, NULL, n);
    vyre_backend_pending *pending = start(&l);
    OK(backend->pending_read(pending, &slot, 1, sizeof slot, &times, &fresh));
    backend->pending_release(pending);
    for (uint32_t i = 0; i < n; ++i)
      assert_int_equal(out[i], a[i] + b[i]);
    assert_int_equal(slot.binding_id, 2);
    assert_int_equal(slot.size, n * 4);
    assert_true(times.started_ns <= times.ended_ns);
    assert_int_equal(times.device_ns, times.ended_ns - times.started_ns);
    assert_true(times.enqueue_ns > 0 && times.wait_ns != VYRE_TIME_ABSENT);
  }
}

/* Several outputs, one without bytes; those that are not written keep what was given. */
static void each_output_comes_to_its_slot(void **state)
{
  static uint32_t a[300], b[70000], zero[1], out_a[300], out_b[70000];
  (void)state;
  for (uint32_t words = 300; words <= 70000; words += 69700) {
    launch l;
    vyre_slot slots[3] = {{.struct_size = sizeof slots[0], .data = out_a, .capacity = sizeof a},
                          {.struct_size = sizeof slots[0], .data = out_b, .capacity = words * 4},
                          {.struct_size = sizeof slots[0], .data = NULL, .capacity = 0}};
    for (uint32_t i = 0; i < words; ++i)
      b[i] = ~i;
    for (uint32_t i = 0; i < 300; ++i)
      a[i] = i + words;
    memset(out_a, 0, sizeof out_a);
    memset(out_b, 0, sizeof out_b);
    begin(&l, find("local"));
    add_host(&l, VYRE_READ_WRITE, a, 300);
    add_host(&l, VYRE_READ_WRITE, b, words);
    add_host(&l, VYRE_READ_WRITE, zero, 0);
    l.bindings[0].id = 40;
    l.bindings[2].id = 95;
    l.desc.id_limit = 96;
    vyre_backend_pending *pending = start(&l);
    OK(backend->pending_read(pending, slots, 3, sizeof slots[0], NULL, &fresh));
    backend->pending_release(pending);
    assert_memory_equal(out_a, a, sizeof a);
    assert_memory_equal(out_b, b, words * 4);
    assert_int_equal(slots[0].binding_id, 40);
    assert_int_equal(slots[1].binding_id, 1);
    assert_int_equal(slots[2].binding_id, 95);
    assert_int_equal(slots[2].size, 0);
  }
}

static void pushes_are_copied_and_padded(void **state)
{
  uint8_t push[256], out[256];
  (void)state;
  memset(push, 7, sizeof push);
  for (uint32_t size = 0; size <= 256; size += 51) {
    launch l;
    vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = sizeof out};
    begin(&l, find("pushes"));
    add_host(&l, VYRE_WRITE_ONLY, NULL, 64);
    l.desc.push = size ? push : NULL;
    l.desc.push_size = size;
    vyre_backend_pending *pending = start(&l);
    OK(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &fresh));
    backend->pending_release(pending);
    for (uint32_t i = 0; i < 256; ++i)
      assert_int_equal(out[i], i < size ? 7 : 0);
  }
}

/* -------- what the driver is asked -------- */

static uint64_t count_lines(void)
{
  uint64_t lines = 0;
  while (driver->line(lines))
    lines += 1;
  return lines;
}

static void expect_lines(uint64_t from, const char *const *want)
{
  for (uint64_t i = 0; want[i]; ++i) {
    const char *line = driver->line(from + i);
    if (!line || strncmp(line, want[i], strlen(want[i])) != 0)
      fail_msg("call %llu is %s, wanted %s", (unsigned long long)i, line ? line : "none", want[i]);
  }
}

/* With buffers only: a launch and two records, nothing else. */
static void a_resident_launch_is_three_calls(void **state)
{
#ifdef VYRE_TEST_HIP
  skip(); /* the runtime of the tests makes calls of its own between them */
#endif
  static const char *const want[] = {"cuCtxPushCurrent",        "cuEventRecord",
                                     "cuLaunchKernel 5,1,1 32", "cuEventRecord",
                                     "cuCtxPopCurrent",         NULL};
  uint32_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  vyre_backend_buffer *buffer = make_buffer(device, sizeof words);
  launch l;
  (void)state;
  OK(backend->buffer_upload(device, buffer, 0, words, sizeof words, &fresh));
  begin(&l, find("double"));
  l.desc.groups[0] = 5;
  add_buffer(&l, VYRE_READ_WRITE, buffer, 8);
  backend->pending_release(start(&l)); /* makes the handle */
  const uint64_t before = count_lines(), blocks = host_live();
  backend->pending_release(start(&l));
  expect_lines(before, want);
  assert_int_equal(host_live(), blocks);
  OK(backend->buffer_download(device, buffer, 0, words, sizeof words, &fresh));
  for (uint32_t i = 0; i < 8; ++i)
    assert_int_equal(words[i], (i + 1) * 4);
  backend->buffer_free(device, buffer);
}

/* Where nobody asks for times the record before it goes, and the one behind it has none. */
static void an_untimed_launch_is_two_calls(void **state)
{
#ifdef VYRE_TEST_HIP
  skip(); /* as above */
#endif
  static const char *const want[] = {"cuCtxPushCurrent", "cuLaunchKernel 5,1,1 32", "cuEventRecord",
                                     "cuCtxPopCurrent", NULL};
  vyre_backend_buffer *buffer = make_buffer(device, 32);
  launch l;
  (void)state;
  begin(&l, find("double"));
  l.desc.groups[0] = 5;
  l.desc.untimed = 1;
  add_buffer(&l, VYRE_READ_WRITE, buffer, 8);
  backend->pending_release(start(&l)); /* makes the handle */
  const uint64_t before = count_lines(), blocks = host_live(), events = driver->live("event");
  backend->pending_release(start(&l));
  expect_lines(before, want);
  assert_int_equal(host_live(), blocks);
  assert_int_equal(driver->live("event"), events);
  backend->buffer_free(device, buffer);
}

/* One handle serves both kinds; a host that knows no hint has times. */
static void untimed_launches_have_no_times(void **state)
{
  uint32_t words[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, out[9];
  launch l;
  (void)state;
  begin(&l, find("double"));
  add_host(&l, VYRE_READ_WRITE, words, 9);
  for (uint32_t turn = 0; turn < 6; ++turn) {
    const bool is_old = turn > 3, is_timed = turn % 2 || is_old;
    vyre_backend_times times = {.struct_size = sizeof times};
    vyre_slot slot = slot_of(out, sizeof out);
    l.desc.untimed = turn % 2 == 0;
    l.desc.struct_size = is_old ? VYRE_DISPATCH_DESC_SIZE_0_1 : sizeof l.desc;
    vyre_backend_pending *pending = start(&l);
    OK(backend->pending_read(pending, &slot, 1, sizeof slot, &times, &fresh));
    backend->pending_release(pending);
    for (uint32_t i = 0; i < 9; ++i)
      assert_int_equal(out[i], 2 * words[i]);
    assert_true((times.started_ns != VYRE_TIME_ABSENT) == is_timed);
    assert_true((times.ended_ns != VYRE_TIME_ABSENT) == is_timed);
    assert_true((times.device_ns != VYRE_TIME_ABSENT) == is_timed);
    assert_true((times.enqueue_ns != VYRE_TIME_ABSENT) == is_timed);
    assert_true((times.wait_ns != VYRE_TIME_ABSENT) == is_timed);
  }
}

/* Workgroup memory lies at multiples of 16, its sum goes to the driver. */
static void workgroup_memory_is_laid_out(void **state)
{
  launch l;
  (void)state;
  begin(&l, find("local"));
  add(&l, VYRE_WORKGROUP, 1)->kind = VYRE_BINDING_WORKGROUP;
  add(&l, VYRE_WORKGROUP, 9)->kind = VYRE_BINDING_WORKGROUP;
  add(&l, VYRE_WORKGROUP, 3)->kind = VYRE_BINDING_WORKGROUP;
  backend->pending_release(start(&l));
  const fake_launch_record *record = driver->launch(0);
  assert_non_null(record);
  assert_int_equal(record->addresses[0], 0);
  assert_int_equal(record->addresses[1], 16);
  assert_int_equal(record->addresses[2], 64);
  assert_int_equal(record->workgroup_memory, 76);
}

/* -------- waiting -------- */

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void waits_end_at_their_limit(void **state)
{
  vyre_backend_buffer *buffer = make_buffer(device, 64);
  launch l;
  (void)state;
  begin(&l, find("double"));
  add_buffer(&l, VYRE_READ_WRITE, buffer, 4);
  driver->hold(true);
  vyre_backend_pending *pending = start(&l);
  FAILS(backend->pending_wait(pending, 0, &err), VYRE_ERROR_TIMEOUT, "double");
  const uint64_t before = now_ns();
  FAILS(backend->pending_wait(pending, 5000000, &err), VYRE_ERROR_TIMEOUT, "5000000");
  assert_true(now_ns() - before >= 5000000);
  driver->hold(false);
  OK(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &fresh));
  OK(backend->pending_wait(pending, 0, &fresh));
  backend->pending_release(pending);
  driver->hold(true);
  backend->pending_release(start(&l)); /* waits, which lets it run */
  backend->buffer_free(device, buffer);
}

static void an_offence_is_told_every_time(void **state)
{
  uint32_t value = 3, out = 77;
  launch l;
  (void)state;
  backend->module_unload(device, module);
  load(VYRE_MODULE_DEBUG);
  begin(&l, find("offend"));
  add_host(&l, VYRE_READ_WRITE, &value, 1);
  vyre_backend_pending *pending = start(&l);
  vyre_slot slot = {.struct_size = sizeof slot, .data = &out, .capacity = 4, .size = 9};
  for (int turn = 0; turn < 3; ++turn)
    FAILS(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DISPATCH_FAILED,
          "index 99 of buffer 'values', which has 8 elements, offend.c:17");
  FAILS(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &err),
        VYRE_ERROR_DISPATCH_FAILED, "values");
  assert_int_equal(out, 77);
  assert_int_equal(slot.size, 9);
  backend->pending_release(pending);
  begin(&l, find("double")); /* the next one is well */
  add_host(&l, VYRE_READ_WRITE, &value, 1);
  pending = start(&l);
  OK(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &fresh));
  assert_int_equal(out, 6);
  backend->pending_release(pending);
}

static void a_lost_device_is_told_and_waits_for_nothing(void **state)
{
  uint32_t value = 3;
  launch l;
  (void)state;
  begin(&l, find("trap"));
  add_host(&l, VYRE_READ_WRITE, &value, 1);
  vyre_backend_pending *pending = start(&l), *next = NULL;
  FAILS(backend->pending_wait(pending, VYRE_NO_TIMEOUT, &err), VYRE_ERROR_DEVICE_LOST, "(700)");
  FAILS(backend->pending_wait(pending, 0, &err), VYRE_ERROR_DEVICE_LOST, "(700)");
  FAILS(backend->dispatch(device, &l.desc, &next, &err), VYRE_ERROR_DEVICE_LOST, "(700)");
  assert_null(next);
  is_lost = true;
  backend->pending_release(pending);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      ON_DEVICE(host_bytes_come_in_and_out),
      ON_DEVICE(each_output_comes_to_its_slot),
      ON_DEVICE(pushes_are_copied_and_padded),
      ON_DEVICE(a_resident_launch_is_three_calls),
      ON_DEVICE(an_untimed_launch_is_two_calls),
      ON_DEVICE(untimed_launches_have_no_times),
      ON_DEVICE(workgroup_memory_is_laid_out),
      ON_DEVICE(waits_end_at_their_limit),
      ON_DEVICE(an_offence_is_told_every_time),
      ON_DEVICE(a_lost_device_is_told_and_waits_for_nothing),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
