/*
 * test_threads.c - many host threads on one device, and the plugin loaded and unloaded again and
 * again.
 */
#include "support.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "#define VYRE_BUFFER_a 0\n"
    "#define VYRE_BUFFER_b 1\n"
    "VYRE_SEGMENT(k)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, b)) b[i] += a[i];\n"
    "}\n"
    "VYRE_ENTRY(k, (VYRE_PARAM_CONST(0, a), VYRE_PARAM_INOUT(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n";

enum { HOST_THREADS = 4, ROUNDS = 60, COUNT = 3000 };

typedef struct job {
  const cpu_plugin *plugin;
  vyre_backend_device *device;
  vyre_backend_module *module;
  vyre_backend_buffer *shared; /* every thread adds 1 to it, ROUNDS times */
  vyre_backend_buffer *ones;
  uint32_t number;
  uint32_t failures;
} job;

/* No cmocka in here: it ends the thread that it fails in. */
static void *host_thread(void *argument)
{
  job *j = argument;
  const vyre_backend *b = j->plugin->backend;
  uint32_t *own = malloc(COUNT * 4), *out = malloc(COUNT * 4);
  vyre_backend_kernel *kernel = NULL;
  if (!own || !out || b->kernel_find(j->module, "k", &kernel, NULL, NULL) != VYRE_OK) {
    j->failures += 1;
    goto done;
  }
  for (uint32_t round = 0; round < ROUNDS; ++round) {
    uint32_t n = (round * 131 + j->number) % COUNT + 1;
    for (uint32_t i = 0; i < n; ++i)
      own[i] = i + round;
    vyre_binding mine[] = {bind_host(0, VYRE_READ_ONLY, own, n * 4, n),
                           bind_host(1, VYRE_READ_WRITE, own, n * 4, n)};
    vyre_binding all[] = {bind_buffer(0, VYRE_READ_ONLY, j->ones, 0, COUNT * 4, COUNT),
                          bind_buffer(1, VYRE_READ_WRITE, j->shared, 0, COUNT * 4, COUNT)};
    vyre_dispatch_desc first = launch_of(kernel, mine, 2, n / 64 + 1, 64);
    vyre_dispatch_desc second = launch_of(kernel, all, 2, COUNT / 64 + 1, 64);
    vyre_backend_pending *pending = NULL;
    vyre_slot slot = slot_of(out, n * 4);
    j->failures += b->dispatch(j->device, &second, &pending, NULL) != VYRE_OK;
    j->failures += run_try(j->plugin, j->device, &first, &slot, 1, NULL) != VYRE_OK;
    for (uint32_t i = 0; i < n; ++i)
      j->failures += out[i] != 2 * (i + round);
    b->pending_release(pending);
  }

done:
  free(own);
  free(out);
  return NULL;
}

static void many_host_threads(void **state)
{
  cpu_plugin plugin;
  vyre_error err = VYRE_ERROR_INIT;
  job jobs[HOST_THREADS] = {0};
  pthread_t threads[HOST_THREADS];
  vyre_backend_buffer *shared = NULL, *ones = NULL;
  static uint32_t values[COUNT];
  (void)state;
  plugin_load(&plugin);
  const vyre_backend *b = plugin.backend;
  vyre_backend_device *device = device_open(&plugin);
  vyre_backend_module *module = module_load(&plugin, device, text, 0);
  assert_int_equal(b->buffer_alloc(device, COUNT * 4, &shared, &err), VYRE_OK);
  assert_int_equal(b->buffer_alloc(device, COUNT * 4, &ones, &err), VYRE_OK);
  for (uint32_t i = 0; i < COUNT; ++i)
    values[i] = 1;
  assert_int_equal(b->buffer_upload(device, ones, 0, values, sizeof(values), &err), VYRE_OK);
  for (uint32_t t = 0; t < HOST_THREADS; ++t) {
    jobs[t] = (job){&plugin, device, module, shared, ones, t, 0};
    assert_int_equal(pthread_create(&threads[t], NULL, host_thread, &jobs[t]), 0);
  }
  for (uint32_t t = 0; t < HOST_THREADS; ++t) {
    pthread_join(threads[t], NULL);
    assert_int_equal(jobs[t].failures, 0);
  }
  assert_int_equal(b->buffer_download(device, shared, 0, values, sizeof(values), &err), VYRE_OK);
  for (uint32_t i = 0; i < COUNT; ++i)
    assert_int_equal(values[i], HOST_THREADS * ROUNDS);
  b->buffer_free(device, shared);
  b->buffer_free(device, ones);
  b->module_unload(device, module);
  b->device_close(device);
  plugin_unload(&plugin);
}

static uint32_t entries_in(const char *path)
{
  uint32_t count = 0;
  DIR *list = opendir(path);
  assert_non_null(list);
  while (readdir(list))
    ++count;
  closedir(list);
  return count;
}

/* A thread that was joined is listed for another moment, until the kernel has buried it. */
static void expect_tasks_at_most(uint32_t count)
{
  for (int patience = 0; patience < 100000 && entries_in("/proc/self/task") > count; ++patience)
    sched_yield();
  assert_in_range(entries_in("/proc/self/task"), 0, count);
}

static void loaded_a_hundred_times(void **state)
{
  const uint32_t files = entries_in("/proc/self/fd"), tasks = entries_in("/proc/self/task");
  (void)state;
  for (int i = 0; i < 100; ++i) {
    cpu_plugin plugin;
    static uint32_t a[COUNT], out[COUNT];
    plugin_load(&plugin);
    vyre_backend_device *device = device_open(&plugin);
    vyre_backend_module *module = module_load(&plugin, device, text, 0);
    vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, a, sizeof(a), COUNT),
                               bind_host(1, VYRE_READ_WRITE, a, sizeof(a), COUNT)};
    vyre_dispatch_desc desc =
        launch_of(kernel_find(&plugin, module, "k"), bindings, 2, COUNT / 10, 10);
    vyre_slot slot = slot_of(out, sizeof(out));
    run(&plugin, device, &desc, &slot, 1);
    plugin.backend->module_unload(device, module);
    plugin.backend->device_close(device);
    plugin_unload(&plugin);
    expect_tasks_at_most(tasks);
  }
  assert_int_equal(entries_in("/proc/self/fd"), files);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_host_threads),
      cmocka_unit_test(loaded_a_hundred_times),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
