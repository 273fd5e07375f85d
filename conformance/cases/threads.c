/* threads.c - calls from several threads at once, as far as their thread classes allow. */
#include "conformance/steps.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4u

typedef struct worker {
  conform *c;
  pthread_t thread;
  pthread_barrier_t *start;
  vyre_backend_device *device;
  vyre_backend_kernel *add;
  const vyre_module_desc *desc; /* of a module with the kernel "add" */
  vyre_backend_module *module;
  vyre_backend_pending *shared; /* a handle that all of them wait for */
  uint64_t random;
} worker;

static uint64_t draw(worker *w)
{
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  return w->random ^= w->random << 17;
}

static void run_workers(conform *c, worker *workers, void *(*main)(void *))
{
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, THREADS);
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i].c = c;
    workers[i].start = &start;
    workers[i].random = conform_random(c) | 1;
    CHECK(c, !pthread_create(&workers[i].thread, NULL, main, &workers[i]), "no thread");
  }
  for (uint32_t i = 0; i < THREADS; ++i)
    pthread_join(workers[i].thread, NULL);
  pthread_barrier_destroy(&start);
}

/* One launch of "add", with buffers of this thread. */
static void add_once(worker *w, vyre_backend_kernel *add)
{
  enum { MOST = 1200 };
  uint32_t a[MOST], b[MOST], out[MOST];
  const uint32_t n = (uint32_t)(draw(w) % MOST) + 1;
  vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = (uint64_t)n * 4};
  vyre_backend_pending *pending = NULL;
  conform_launch launch;
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = (uint32_t)draw(w);
    b[i] = (uint32_t)draw(w);
  }
  memset(out, 0xd5, sizeof out);
  conform_launch_init(&launch, add);
  conform_launch_grid(&launch, (n + 31) / 32, 32);
  conform_launch_host(&launch, VYRE_READ_ONLY, a, n, 4, NULL);
  conform_launch_host(&launch, VYRE_READ_ONLY, b, n, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, n, 4, NULL);
  pending = conform_start(w->c, w->device, &launch);
  if (draw(w) % 2)
    CHECK_OK(w->c, w->c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
  CHECK_OK(w->c, w->c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err));
  w->c->counted.pending_release(pending);
  for (uint32_t i = 0; i < n; ++i)
    CHECK(w->c, out[i] == a[i] + b[i],
          "with %u threads element %u of %u is %u, expected is %u (DEV-005)", THREADS, i, n, out[i],
          a[i] + b[i]);
}

static void *main_dispatch(void *argument)
{
  worker *w = argument;
  pthread_barrier_wait(w->start);
  for (int i = 0; i < 150; ++i)
    add_once(w, w->add);
  return NULL;
}

static void run_one_device(conform *c)
{
  worker workers[THREADS];
  memset(workers, 0, sizeof workers);
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i].device = conform_open(c);
    workers[i].add = conform_kernel(c, "basic", "add");
  }
  run_workers(c, workers, main_dispatch);
  conform_tour(c);
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after the device is closed (ABI-014)",
        (unsigned long long)conform_live_blocks(c));
}

static vyre_backend_kernel *load_add(worker *w)
{
  CHECK_OK(w->c, w->c->counted.module_load(w->device, w->desc, &w->module, err));
  return conform_find(w->c, w->module, "add");
}

static void *main_own_device(void *argument)
{
  static const vyre_backend_device_options options = {.struct_size = sizeof options};
  worker *w = argument;
  pthread_barrier_wait(w->start);
  for (int turn = 0; turn < 5; ++turn) {
    CHECK_OK(w->c, w->c->counted.device_open(w->c->device_index, &options, &w->device, err));
    w->add = load_add(w);
    for (int i = 0; i < 20; ++i)
      add_once(w, w->add);
    w->c->counted.module_unload(w->device, w->module);
    w->c->counted.device_close(w->device);
  }
  return NULL;
}

static void *main_modules(void *argument)
{
  worker *w = argument;
  pthread_barrier_wait(w->start);
  for (int turn = 0; turn < 6; ++turn) {
    vyre_backend_kernel *add = load_add(w);
    add_once(w, add);
    CHECK(w->c, conform_find(w->c, w->module, "bump"), "no kernel");
    w->c->counted.module_unload(w->device, w->module);
  }
  return NULL;
}

static void with_own_modules(conform *c, void *(*main)(void *))
{
  worker workers[THREADS];
  vyre_module_desc desc = {.struct_size = sizeof desc, .format = "vyre-c", .arch = ""};
  uint64_t size = 0;
  const char *text = conform_kernel_text("basic", &size);
  char *whole = conform_compose(c, "basic", text, size, &desc.size);
  desc.data = whole;
  memset(workers, 0, sizeof workers);
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i].desc = &desc;
    workers[i].device = conform_open(c);
  }
  run_workers(c, workers, main);
  free(whole);
  conform_tour(c);
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after the device is closed (ABI-014)",
        (unsigned long long)conform_live_blocks(c));
}

static void run_own_devices(conform *c)
{
  with_own_modules(c, main_own_device);
}

static void run_modules(conform *c)
{
  with_own_modules(c, main_modules);
}

/* [any]: several threads wait for one handle and look one kernel up. */
static void *main_wait(void *argument)
{
  worker *w = argument;
  vyre_backend_kernel *found = NULL;
  pthread_barrier_wait(w->start);
  for (int i = 0; i < 50; ++i) {
    const vyre_status status = w->c->counted.pending_wait(w->shared, i % 3 * 100000u, NULL);
    CHECK(w->c, status == VYRE_OK || status == VYRE_ERROR_TIMEOUT,
          "pending_wait from several threads returned %d (DEV-005)", (int)status);
    CHECK_OK(w->c, w->c->counted.kernel_find(w->module, i % 2 ? "add" : "bump", &found, NULL, err));
  }
  CHECK_OK(w->c, w->c->counted.pending_wait(w->shared, VYRE_NO_TIMEOUT, err));
  return NULL;
}

static void run_one_handle(conform *c)
{
  worker workers[THREADS];
  uint32_t value[16] = {1, 2, 3}, out[16];
  uint64_t ns = 20000000;
  conform_launch launch;
  vyre_backend_pending *pending = NULL;
  conform_launch_init(&launch, conform_kernel(c, "grid", "delay"));
  conform_launch_grid(&launch, 1, 16);
  conform_launch_host(&launch, VYRE_READ_ONLY, value, 16, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 16, 4, NULL);
  launch.desc.push = &ns;
  launch.desc.push_size = sizeof ns;
  memset(workers, 0, sizeof workers);
  vyre_backend_module *basic = conform_module(c, "basic");
  pending = conform_start(c, conform_open(c), &launch);
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i].shared = pending;
    workers[i].module = basic;
  }
  run_workers(c, workers, main_wait);
  conform_finish(c, pending, out, sizeof out);
  for (uint32_t i = 0; i < 16; ++i)
    CHECK(c, out[i] == value[i] * 3 + 1, "element %u is wrong", i);
}

/* [any]: count and info at any time, also while others open and work. */
static void *main_info(void *argument)
{
  worker *w = argument;
  vyre_backend_device_info first = {.struct_size = sizeof first}, info;
  CHECK_OK(w->c, w->c->counted.device_info(w->c->device_index, &first, err));
  pthread_barrier_wait(w->start);
  for (int i = 0; i < 100; ++i) {
    uint32_t count = 0;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    CHECK_OK(w->c, w->c->counted.device_count(&count, err));
    CHECK_OK(w->c, w->c->counted.device_info(w->c->device_index, &info, err));
    CHECK(w->c, info.capabilities == first.capabilities && !strcmp(info.id, first.id),
          "device_info says otherwise while other threads ask too (CAP-002)");
    if (w->add)
      add_once(w, w->add);
  }
  return NULL;
}

static void run_info(conform *c)
{
  worker workers[THREADS];
  memset(workers, 0, sizeof workers);
  workers[0].device = conform_open(c);
  workers[0].add = conform_kernel(c, "basic", "add");
  run_workers(c, workers, main_info);
}

static const conform_case rows[] = {
    CORE_CASE("threads.one_device", "DEV-005 DISP-030 ABI-014", CONFORM_NEEDS_KERNELS,
              run_one_device),
    CORE_CASE("threads.own_devices", "DEV-004 DEV-005", CONFORM_NEEDS_VYRE_C, run_own_devices),
    CORE_CASE("threads.modules", "DEV-005", CONFORM_NEEDS_VYRE_C, run_modules),
    CORE_CASE("threads.one_handle", "DEV-005 DISP-031", CONFORM_NEEDS_KERNELS, run_one_handle),
    CORE_CASE("threads.info", "DEV-005 CAP-002", CONFORM_NEEDS_KERNELS, run_info),
};
CONFORM_TABLE(conform_cases_threads, rows);
