/*
 * Launches that stay and launches whose groups wait for each other, on the test driver: what goes
 * on beside them, and the room that they leave to each other.
 */
#include "scene.h"

/* Groups of "double" that one unit holds, less what a cooperative launch leaves free. */
#ifdef VYRE_TEST_HIP
#define TOGETHER 7u
#define TOO_MANY "885 groups"
#else
#define TOGETHER 8u
#define TOO_MANY "1017 groups"
#endif

/* -------- launches that stay -------- */

typedef struct stay {
  vyre_coherent_memory memory;
  uint32_t *words;
  vyre_backend_pending *pending;
} stay;

static void stay_begin(stay *s, uint32_t groups)
{
  launch l;
  s->memory = (vyre_coherent_memory){.struct_size = sizeof s->memory};
  OK(backend->coherent_alloc(device, 4096, &s->memory, &fresh));
  s->words = s->memory.host;
  begin(&l, find("resident"));
  l.desc.flags = VYRE_DISPATCH_PERSISTENT;
  l.desc.groups[0] = groups;
  add_buffer(&l, VYRE_READ_WRITE, s->memory.buffer, 1024);
  s->pending = start(&l);
}

static void stay_end(stay *s)
{
  /* Release: pairs with the kernel's acquire. */
  __atomic_store_n(&s->words[0], 41, __ATOMIC_RELEASE);
  OK(backend->pending_wait(s->pending, 20000000000u, &fresh));
  assert_int_equal(__atomic_load_n(&s->words[1], __ATOMIC_ACQUIRE), 42);
  backend->pending_release(s->pending);
  backend->buffer_free(device, s->memory.buffer);
}

static void others_run_beside_a_persistent_launch(void **state)
{
  uint32_t a[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, out[9];
  launch l;
  stay first, second;
  (void)state;
  find("resident");
  begin(&l, find("add"));
  add_host(&l, VYRE_READ_ONLY, a, 9);
  add_host(&l, VYRE_READ_ONLY, a, 9);
  add_host(&l, VYRE_WRITE_ONLY, NULL, 9);
  second.memory = (vyre_coherent_memory){.struct_size = sizeof second.memory};
  OK(backend->coherent_alloc(device, 4096, &second.memory, &fresh));
  second.words = second.memory.host;
  stay_begin(&first, 2);
  launch two;
  begin(&two, find("resident"));
  two.desc.flags = VYRE_DISPATCH_PERSISTENT;
  add_buffer(&two, VYRE_READ_WRITE, second.memory.buffer, 1024);
  second.pending = start(&two);
  for (int turn = 0; turn < 5; ++turn) {
    vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = sizeof out};
    vyre_backend_pending *pending = start(&l);
    OK(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &fresh));
    backend->pending_release(pending);
    assert_int_equal(out[8], 18);
    FAILS(backend->pending_wait(first.pending, 0, &err), VYRE_ERROR_TIMEOUT, "resident");
  }
  const fake_launch_record *one = driver->launch(0), *other = driver->launch(1),
                           *plain = driver->launch(2);
  assert_true(one->stream != other->stream && one->stream != plain->stream);
  /* Acquire and release: as in stay_end(); memory is freed only when both have ended. */
  __atomic_store_n(&second.words[0], 1, __ATOMIC_RELEASE);
  backend->pending_release(second.pending);
  stay_end(&first);
  backend->buffer_free(device, second.memory.buffer);
}

static void a_persistent_launch_leaves_room(void **state)
{
  const uint32_t shape[3] = {32, 1, 1};
  uint32_t before = 0, beside = 0, after = 0;
  launch l;
  stay s;
  (void)state;
  driver->set_occupancy(8);
  vyre_backend_buffer *buffer = make_buffer(device, 64);
  vyre_backend_kernel *kernel = find("double");
  find("resident");
  OK(backend->cooperative_groups(device, kernel, shape, 0, &before, &fresh));
  assert_int_equal(before, 132 * TOGETHER);
  /* One unit stays free. */
  begin(&l, find("resident"));
  l.desc.flags = VYRE_DISPATCH_PERSISTENT;
  l.desc.groups[0] = 131 * 8 + 1;
  add_buffer(&l, VYRE_READ_WRITE, buffer, 4);
  refuse(&l, VYRE_ERROR_RESIDENCY_EXCEEDED, "1049 groups");
  stay_begin(&s, 10);
  /* Each of the ten costs up to four: 4 times 8 of 8. */
  OK(backend->cooperative_groups(device, kernel, shape, 0, &beside, &fresh));
  assert_int_equal(beside, 132 * TOGETHER - 10 * 4);
  OK(backend->cooperative_groups(device, kernel, shape, 1024, &after, &fresh));
  assert_int_equal(after, 132 * TOGETHER - 10 * 8);
  begin(&l, kernel);
  l.desc.flags = VYRE_DISPATCH_COOPERATIVE;
  l.desc.groups[0] = beside + 1;
  add_buffer(&l, VYRE_READ_WRITE, buffer, 4);
  refuse(&l, VYRE_ERROR_RESIDENCY_EXCEEDED, TOO_MANY);
  l.desc.groups[0] = beside;
  backend->pending_release(start(&l));
  stay_end(&s);
  OK(backend->cooperative_groups(device, kernel, shape, 0, &after, &fresh));
  assert_int_equal(after, before);
  backend->buffer_free(device, buffer);
}

/* It begins behind cooperative launches that are on their way. */
static void a_persistent_launch_waits_for_cooperative_ones(void **state)
{
  vyre_backend_buffer *buffer = make_buffer(device, 64);
  launch l;
  stay s;
  (void)state;
  begin(&l, find("double"));
  l.desc.flags = VYRE_DISPATCH_COOPERATIVE;
  l.desc.groups[0] = 132;
  add_buffer(&l, VYRE_READ_WRITE, buffer, 4);
  backend->pending_release(start(&l));
  const uint64_t waits = driver->calls("cuStreamWaitEvent");
  stay_begin(&s, 1);
  assert_int_equal(driver->calls("cuStreamWaitEvent"), waits + 1);
  stay_end(&s);
  backend->buffer_free(device, buffer);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      ON_DEVICE(others_run_beside_a_persistent_launch),
      ON_DEVICE(a_persistent_launch_leaves_room),
      ON_DEVICE(a_persistent_launch_waits_for_cooperative_ones),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
