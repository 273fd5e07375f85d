/* steps.c - pieces that several cases are made of; see steps.h. */
#include "conformance/steps.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- launches by hand ---- */

vyre_backend_pending *conform_start(conform *c, vyre_backend_device *device,
                                    const conform_launch *launch)
{
  vyre_backend_pending *pending = NULL;
  vyre_dispatch_desc desc = launch->desc;
  desc.bindings = launch->bindings; /* the launch may be a copy */
  CHECK_OK(c, c->counted.dispatch(device, &desc, &pending, err));
  CHECK(c, pending, "dispatch succeeded and gave no handle");
  return pending;
}

void conform_finish(conform *c, vyre_backend_pending *pending, void *data, uint64_t size)
{
  vyre_slot slot = {.struct_size = sizeof slot, .data = data, .capacity = size};
  CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
  CHECK_OK(c, c->counted.pending_read(pending, data ? &slot : NULL, data ? 1 : 0, sizeof slot, NULL,
                                      err));
  CHECK(c, !data || slot.size == size, "the result says %llu bytes, expected are %llu (READ-002)",
        (unsigned long long)slot.size, (unsigned long long)size);
  c->counted.pending_release(pending);
}

vyre_backend_module *conform_load_text(conform *c, vyre_backend_device *device, const char *name,
                                       const char *text, uint64_t flags)
{
  vyre_module_desc desc = {
      .struct_size = sizeof desc, .flags = flags, .format = "vyre-c", .arch = "", .name = name};
  vyre_backend_module *module = NULL;
  char *whole = conform_compose(c, name, text, strlen(text), &desc.size);
  desc.data = whole;
  CHECK_OK(c, c->counted.module_load(device, &desc, &module, err));
  CHECK(c, module, "module_load succeeded and gave no module");
  free(whole);
  return module;
}

vyre_backend_kernel *conform_find(conform *c, vyre_backend_module *module, const char *entry)
{
  vyre_backend_kernel *kernel = NULL;
  CHECK_OK(c, c->counted.kernel_find(module, entry, &kernel, NULL, err));
  CHECK(c, kernel, "kernel_find succeeded and gave no kernel");
  return kernel;
}

/* ---- a tour ---- */

#define MOST_ADDED 4200u

void conform_run_add(conform *c, vyre_backend_kernel *add, uint32_t n, uint32_t items)
{
  static uint32_t a[MOST_ADDED], b[MOST_ADDED], out[MOST_ADDED];
  conform_launch launch;
  CHECK(c, n <= MOST_ADDED, "the suite adds too many elements");
  conform_random_fill(c, a, n * sizeof a[0]);
  conform_random_fill(c, b, n * sizeof b[0]);
  conform_launch_init(&launch, add);
  conform_launch_grid(&launch, n ? (n + items - 1) / items : 1, items);
  conform_launch_host(&launch, VYRE_READ_ONLY, a, n, 4, NULL);
  conform_launch_host(&launch, VYRE_READ_ONLY, b, n, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, n, 4, out);
  conform_run(c, &launch);
  for (uint32_t k = 0; k < n; ++k)
    CHECK(c, out[k] == a[k] + b[k],
          "element %u of %u with %u items a group is %u, expected is %u (DISP-030)", k, n, items,
          out[k], a[k] + b[k]);
}

static void tour_push(conform *c)
{
  unsigned char push[128], out[128];
  conform_launch launch;
  conform_random_fill(c, push, sizeof push);
  conform_launch_init(&launch, conform_kernel(c, "grid", "push"));
  conform_launch_grid(&launch, 2, 64);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, sizeof out, 1, out);
  launch.desc.push = push;
  launch.desc.push_size = sizeof push;
  conform_run(c, &launch);
  CHECK(c, !memcmp(push, out, sizeof out), "the kernel sees other push constants than were given");
}

static void tour_barrier(conform *c)
{
  uint32_t value[512], out[512];
  conform_launch launch;
  conform_random_fill(c, value, sizeof value);
  conform_launch_init(&launch, conform_kernel(c, "shared", "reverse"));
  conform_launch_grid(&launch, 8, 64);
  conform_launch_host(&launch, VYRE_READ_ONLY, value, 512, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 512, 4, out);
  conform_launch_local(&launch, 64, 4);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < 512; ++i)
    CHECK(c, out[i] == value[i / 64 * 64 + 63 - i % 64],
          "element %u of a turned group is %u, expected is %u (LANG-003)", i, out[i],
          value[i / 64 * 64 + 63 - i % 64]);
}

void conform_tour(conform *c)
{
  static const uint32_t counts[] = {1, 63, 64, 65, 257, 1025, 4097};
  for (uint32_t i = 0; i < COUNT_OF(counts); ++i)
    conform_run_add(c, conform_kernel(c, "basic", "add"), counts[i], 64);
  tour_push(c);
  tour_barrier(c);
}

uint32_t conform_most_items(conform *c, const char *module, const char *entry)
{
  const vyre_backend_device_info *info = conform_info(c);
  vyre_kernel_info kernel = {.struct_size = sizeof kernel};
  vyre_backend_kernel *found = NULL;
  uint32_t most = info->max_workgroup[0] < info->max_workgroup_items ? info->max_workgroup[0]
                                                                     : info->max_workgroup_items;
  CHECK_OK(c, c->counted.kernel_find(conform_module(c, module), entry, &found, &kernel, err));
  return kernel.max_workgroup_items < most ? kernel.max_workgroup_items : most;
}

/* ---- what the process holds ---- */

static uint32_t entries(const char *path)
{
  DIR *folder = opendir(path);
  uint32_t count = 0;
  if (!folder)
    return 0;
  while (readdir(folder))
    count += 1;
  closedir(folder);
  return count;
}

uint32_t conform_threads(void)
{
  return entries("/proc/self/task") - 2; /* without . and .. */
}

uint32_t conform_descriptors(void)
{
  return entries("/proc/self/fd") - 3; /* and without the folder's own */
}

uint32_t conform_mappings(void)
{
  FILE *file = fopen("/proc/self/maps", "r");
  uint32_t count = 0;
  int byte = 0;
  if (!file)
    return 0;
  while ((byte = getc(file)) != EOF)
    count += byte == '\n';
  fclose(file);
  return count;
}

uint32_t conform_threads_settle(uint32_t most)
{
  const struct timespec moment = {0, 2000000};
  uint32_t now = conform_threads();
  for (int turns = 0; now > most && turns < 1000; ++turns) {
    nanosleep(&moment, NULL);
    now = conform_threads();
  }
  return now;
}

typedef struct holds {
  uint64_t blocks;
  uint32_t threads, descriptors, mappings;
} holds;

static holds look(const conform *c, uint32_t most_threads)
{
  const holds now = {conform_live_blocks(c), conform_threads_settle(most_threads),
                     conform_descriptors(), conform_mappings()};
  return now;
}

uint64_t conform_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#define LEAST_TIMES 20u
#define LONG_ENOUGH_NS 10000000000ull

void conform_check_growth(conform *c, void (*step)(conform *), uint32_t times, const char *what)
{
  holds before, after;
  uint64_t begin;
  uint32_t done;
  /* What is made once and kept is made in the first turns. */
  for (uint32_t i = 0; i < 8; ++i)
    step(c);
  before = look(c, 1);
  begin = conform_now_ns();
  for (done = 0; done < times; ++done) {
    /* A device that is slow to open is not looked at all day. */
    if (done >= LEAST_TIMES && conform_now_ns() - begin > LONG_ENOUGH_NS)
      break;
    step(c);
  }
  times = done;
  after = look(c, before.threads);
  CHECK(c, after.blocks == before.blocks,
        "%s %u times leaves %llu more blocks of the host in use (ABI-008)", what, times,
        (unsigned long long)(after.blocks - before.blocks));
  CHECK(c, after.threads <= before.threads, "%s %u times leaves %u more threads", what, times,
        after.threads - before.threads);
  CHECK(c, after.descriptors <= before.descriptors, "%s %u times leaves %u more file descriptors",
        what, times, after.descriptors - before.descriptors);
  /* Arenas and stacks that libc keeps come and go: a few, not one for each turn. */
  CHECK(c, after.mappings <= before.mappings + times / 4, "%s %u times leaves %u more mappings",
        what, times, after.mappings - before.mappings);
  CHECK(c, !c->host.broken, "%llu blocks of the host were written outside",
        (unsigned long long)c->host.broken);
  CHECK(c, !c->host.bad_requests, "%llu calls of host services were malformed (ABI-007)",
        (unsigned long long)c->host.bad_requests);
}

/* ---- texts ---- */

static bool is_digit(char byte)
{
  return byte >= '0' && byte <= '9';
}

bool conform_says_number(const char *message, uint64_t number)
{
  char digits[24];
  const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
  for (const char *at = message; (at = strstr(at, digits)); ++at)
    if ((at == message || !is_digit(at[-1])) && !is_digit(at[length]))
      return true;
  return false;
}
