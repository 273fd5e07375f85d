/* device.c - what devices say of themselves, opening and closing them. */
#include "conformance/steps.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const vyre_backend_device_options plain = {.struct_size = sizeof plain};

static uint32_t device_count(conform *c)
{
  uint32_t count = 0;
  CHECK_OK(c, conform_load(c)->device_count(&count, err));
  return count;
}

static void run_count(conform *c)
{
  const vyre_backend *b = conform_load(c);
  const uint32_t count = device_count(c);
  uint32_t again = ~count;
  for (int i = 0; i < 3; ++i)
    CHECK(c, device_count(c) == count, "the number of devices changes between two calls (DEV-002)");
  CHECK(c, b->device_count(&again, NULL) == VYRE_OK && again == count,
        "without an error record device_count ends otherwise (ABI-009)");
}

/* ---- info ---- */

static void check_ends(conform *c, const char *text, size_t size, const char *what)
{
  CHECK(c, memchr(text, '\0', size), "%s does not end within its %zu bytes (DEV-003)", what, size);
}

static void check_names(conform *c, const vyre_backend_device_info *info)
{
  check_ends(c, info->name, sizeof info->name, "name");
  check_ends(c, info->id, sizeof info->id, "id");
  check_ends(c, info->pci, sizeof info->pci, "pci");
  check_ends(c, info->uuid, sizeof info->uuid, "uuid");
  check_ends(c, info->arch, sizeof info->arch, "arch");
  check_ends(c, info->driver, sizeof info->driver, "driver");
  check_ends(c, info->persistent_reason, sizeof info->persistent_reason, "persistent_reason");
  check_ends(c, info->compiler_reason, sizeof info->compiler_reason, "compiler_reason");
  check_ends(c, info->grid_sync_reason, sizeof info->grid_sync_reason, "grid_sync_reason");
  CHECK(c, info->id[0], "the id is empty (DEV-001)");
  CHECK(c, !strpbrk(info->id, ",! \t\n"), "the id '%s' has a ',', a '!' or a blank (DEV-001)",
        info->id);
  CHECK(c, info->name[0], "the device has no name (DEV-003)");
  CHECK(c, strspn(info->uuid, "0123456789abcdef-") == strlen(info->uuid),
        "the uuid '%s' is not lower-case hexadecimal with dashes (DEV-003)", info->uuid);
}

static void check_limits(conform *c, const vyre_backend_device_info *info)
{
  uint64_t most = 1;
  for (int d = 0; d < 3; ++d) {
    CHECK(c, info->max_workgroup[d] && info->max_groups[d],
          "dimension %d allows %u groups of %u items (DEV-003)", d, info->max_groups[d],
          info->max_workgroup[d]);
    most *= info->max_workgroup[d] < 1u << 20 ? info->max_workgroup[d] : 1u << 20;
  }
  CHECK(c, info->max_workgroup_items && info->max_workgroup_items <= most,
        "%u items per group in all; the dimensions allow %llu (DEV-003)", info->max_workgroup_items,
        (unsigned long long)most);
  CHECK(c, info->compute_units, "compute_units is 0, at least 1 is needed (DEV-003)");
  CHECK(c, info->max_push_bytes >= 128, "%u bytes of push constants, at least 128 (DEV-003)",
        info->max_push_bytes);
  CHECK(c, info->max_bindings >= 16, "%u bindings, at least 16 (DEV-003)", info->max_bindings);
}

static void check_words(conform *c, const vyre_backend_device_info *info)
{
  const uint64_t known = VYRE_CAP_KNOWN;
  CHECK(c, info->device_class >= VYRE_DEVICE_CPU && info->device_class <= VYRE_DEVICE_OTHER,
        "device class %u (DEV-003)", info->device_class);
  CHECK(c, !(info->capabilities & ~known), "unknown capability bits 0x%llx (ABI-006)",
        (unsigned long long)(info->capabilities & ~known));
  CHECK(c, info->progress <= VYRE_PROGRESS_CONCURRENT, "progress class %u (DEV-003)",
        info->progress);
  CHECK(c, info->grid_sync <= VYRE_GRID_SYNC_NATIVE, "grid_sync %u (DEV-003)", info->grid_sync);
  CHECK(c, !(info->coherent_atomics & ~0xfu), "coherent_atomics 0x%x (DEV-003)",
        info->coherent_atomics);
  CHECK(c, !(info->capabilities & VYRE_CAP_COHERENT) || info->coherent_atomics,
        "VYRE_CAP_COHERENT, but no operation is valid there (CAP-001)");
  CHECK(c, !(info->capabilities & VYRE_CAP_SUBGROUPS) || info->subgroup_size,
        "VYRE_CAP_SUBGROUPS, but subgroup_size is 0 (CAP-001)");
}

static void run_info(conform *c)
{
  const vyre_backend *b = conform_load(c);
  const uint32_t count = device_count(c);
  CHECK(c, count <= 4096, "it says that it has %u devices (DEV-002)", count);
  vyre_backend_device_info *infos = calloc(count ? count : 1, sizeof *infos);
  CHECK(c, infos, "out of memory");
  for (uint32_t i = 0; i < count; ++i) {
    infos[i].struct_size = sizeof infos[i];
    CHECK_OK(c, b->device_info(i, &infos[i], err));
    check_names(c, &infos[i]);
    check_limits(c, &infos[i]);
    check_words(c, &infos[i]);
    for (uint32_t k = 0; k < i; ++k)
      CHECK(c, strcmp(infos[k].id, infos[i].id) != 0,
            "devices %u and %u have one id '%s' (DEV-001)", k, i, infos[i].id);
  }
  free(infos);
}

#define BEHIND 512u

typedef struct room {
  vyre_backend_device_info info;
  unsigned char behind[BEHIND];
} room;

static void check_size(conform *c, uint32_t size)
{
  static room to;
  const vyre_backend_device_info *whole = conform_info(c);
  const unsigned char *bytes = (const unsigned char *)&to;
  uint32_t written = 0;
  bool beyond = false;
  memset(&to, 0xb7, sizeof to);
  to.info.struct_size = size;
  CHECK_OK(c, conform_load(c)->device_info(c->device_index, &to.info, err));
  written = to.info.struct_size;
  CHECK(c, written <= size && written <= sizeof to && written >= VYRE_BACKEND_DEVICE_INFO_SIZE_0_1,
        "into %u bytes it says that it wrote %u (ABI-002)", size, written);
  CHECK(c, size > whole->struct_size || written == size,
        "it knows %u bytes, was given %u and filled %u (ABI-002)", whole->struct_size, size,
        written);
  for (uint32_t i = written; i < sizeof to; ++i)
    CHECK(c, bytes[i] == 0xb7, "it says %u bytes and wrote byte %u (ABI-002)", written, i);
  /* Of what it counts as its own it has written at least something. */
  for (uint32_t i = sizeof to.info; i < written; ++i)
    beyond = beyond || bytes[i] != 0xb7;
  CHECK(c, written <= sizeof to.info || beyond,
        "it says %u bytes, and wrote none behind the first %zu (ABI-002)", written, sizeof to.info);
  CHECK(c,
        !memcmp((const char *)&to.info + sizeof(uint32_t), (const char *)whole + sizeof(uint32_t),
                (written < whole->struct_size ? written : whole->struct_size) - sizeof(uint32_t)),
        "the same device reads otherwise through a structure of %u bytes (ABI-002)", size);
}

static void run_info_sizes(conform *c)
{
  static const uint32_t small[] = {0, 4, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1 - 1};
  static room to, kept;
  const vyre_backend *b = conform_load(c);
  for (uint32_t i = 0; i < COUNT_OF(small); ++i) {
    memset(&to, 0xb7, sizeof to);
    to.info.struct_size = small[i];
    kept = to;
    CHECK_FAILS(c, b->device_info(c->device_index, &to.info, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding counts too. */
    CHECK(c, !memcmp(&to, &kept, sizeof to), "a failed call has written (ABI-008)");
  }
  check_size(c, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
  check_size(c, VYRE_BACKEND_DEVICE_INFO_SIZE_0_2 - 1);
  check_size(c, sizeof(vyre_backend_device_info));
  check_size(c, sizeof(vyre_backend_device_info) + 8);
  check_size(c, sizeof(room));
}

static void run_info_index(conform *c)
{
  const vyre_backend *b = conform_load(c);
  const uint32_t count = device_count(c), wrong[] = {count, count + 1, 0x80000000u, UINT32_MAX};
  static room to, kept;
  for (uint32_t i = 0; i < COUNT_OF(wrong); ++i) {
    vyre_backend_device *device = NULL;
    memset(&to, 0xb7, sizeof to);
    to.info.struct_size = sizeof to.info;
    kept = to;
    CHECK_FAILS(c, b->device_info(wrong[i], &to.info, err), VYRE_ERROR_INVALID_ARGUMENT,
                VYRE_ERROR_NOT_FOUND);
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding counts too. */
    CHECK(c, !memcmp(&to, &kept, sizeof to), "a failed call has written (ABI-008)");
    CHECK_FAILS(c, b->device_open(wrong[i], &plain, &device, err), VYRE_ERROR_INVALID_ARGUMENT,
                VYRE_ERROR_NOT_FOUND);
    CHECK(c, !device, "a failed open has stored a device (ABI-008)");
    CHECK(c,
          b->device_info(wrong[i], &to.info, NULL) != VYRE_OK &&
              b->device_open(wrong[i], &plain, &device, NULL) != VYRE_OK,
          "without an error record device %u exists (ABI-009)", wrong[i]);
  }
}

static void read_info(conform *c, vyre_backend_device_info *out)
{
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  CHECK_OK(c, conform_load(c)->device_info(c->device_index, out, err));
}

static bool same_promises(const vyre_backend_device_info *a, const vyre_backend_device_info *b)
{
  return a->capabilities == b->capabilities && !strcmp(a->id, b->id) &&
         a->grid_sync == b->grid_sync && a->progress == b->progress &&
         a->max_push_bytes == b->max_push_bytes && a->max_bindings == b->max_bindings &&
         a->max_workgroup_items == b->max_workgroup_items &&
         a->coherent_atomics == b->coherent_atomics && a->device_class == b->device_class &&
         a->max_workgroup_memory == b->max_workgroup_memory;
}

/* CAP-002: what the first open may find out by trying. */
static void take_persistent_back(vyre_backend_device_info *first,
                                 const vyre_backend_device_info *now)
{
  if (now->persistent_reason[0] && !(now->capabilities & VYRE_CAP_PERSISTENT))
    first->capabilities &= ~VYRE_CAP_PERSISTENT;
}

static void run_capabilities(conform *c)
{
  vyre_backend_device_info first, now;
  read_info(c, &first);
  for (int i = 0; i < 5; ++i) {
    read_info(c, &now);
    CHECK(c, same_promises(&first, &now), "call %d of device_info says otherwise (CAP-002)", i + 2);
  }
  for (int i = 0; i < 3; ++i) {
    conform_open(c);
    read_info(c, &now);
    if (!i)
      take_persistent_back(&first, &now);
    CHECK(c, same_promises(&first, &now), "device_info says otherwise in open %d (CAP-002)", i + 1);
    conform_close(c);
    read_info(c, &now);
    CHECK(c, same_promises(&first, &now), "device_info says otherwise after close %d (CAP-002)",
          i + 1);
  }
}

/* In another process the same device has the same id and bits. */
static void run_processes(conform *c)
{
  static vyre_backend_device_info here, there;
  int ends[2], status = 0;
  pid_t child = -1;
  CHECK(c, !pipe(ends), "no pipe");
  /* The plugin is not loaded yet: to it the child is a process like any other. */
  child = fork();
  CHECK(c, child >= 0, "no process");
  if (!child) {
    vyre_backend_device_info info;
    read_info(c, &info);
    _exit(write(ends[1], &info, sizeof info) == (ssize_t)sizeof info ? 7 : 1);
  }
  close(ends[1]);
  CHECK(c, read(ends[0], &there, sizeof there) == (ssize_t)sizeof there,
        "another process could not read the device's info");
  close(ends[0]);
  CHECK(c, waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
        "another process that read the device's info ended with status 0x%x", (unsigned)status);
  read_info(c, &here);
  CHECK(c, !strcmp(here.id, there.id), "the id is '%s' here and '%s' in another process (DEV-001)",
        here.id, there.id);
  CHECK(c, same_promises(&here, &there), "another process is told other promises (CAP-002)");
}

/* ---- opening ---- */

static void run_open_options(conform *c)
{
  struct {
    vyre_backend_device_options options;
    unsigned char more[64];
  } large;
  static const uint64_t flags[] = {1, 1ull << 40, 1ull << 63};
  const vyre_backend *b = conform_load(c);
  vyre_backend_device *device = NULL;
  const uint64_t before = conform_live_blocks(c);
  memset(&large, 0, sizeof large);
  for (uint32_t i = 0; i < COUNT_OF(flags); ++i) {
    large.options.struct_size = sizeof large.options;
    large.options.flags = flags[i];
    CHECK_FAILS(c, b->device_open(c->device_index, &large.options, &device, err),
                VYRE_ERROR_INVALID_ARGUMENT, -1);
    CHECK(c, !device, "a failed open has stored a device (ABI-008)");
  }
  large.options.flags = 0;
  large.options.struct_size = VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1 - 1;
  CHECK_FAILS(c, b->device_open(c->device_index, &large.options, &device, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK(c, !device, "a failed open has stored a device (ABI-008)");
  CHECK(c, conform_live_blocks(c) == before, "a failed open leaves blocks in use (ABI-008)");
  memset(large.more, 0xff, sizeof large.more);
  large.options.struct_size = sizeof large;
  CHECK_OK(c, b->device_open(c->device_index, &large.options, &device, err));
  CHECK(c, device, "device_open succeeded and gave no device");
  b->device_close(device);
}

static void run_close_null(conform *c)
{
  const vyre_backend *b = conform_load(c);
  b->device_close(NULL);
  b->pending_release(NULL);
  conform_open(c);
  b->device_close(NULL);
  b->pending_release(NULL);
  conform_tour(c);
}

static void open_and_close(conform *c)
{
  conform_open(c);
  conform_close(c);
}

static void run_open_often(conform *c)
{
  conform_load(c); /* it stays loaded */
  conform_check_growth(c, open_and_close, 100, "opening and closing a device");
}

static void work_once(conform *c)
{
  conform_open(c);
  conform_run_add(c, conform_kernel(c, "basic", "add"), 2000, 8);
  conform_close(c);
}

static void run_work_often(conform *c)
{
  conform_load(c);
  conform_check_growth(c, work_once, 20, "opening, working and closing");
}

/* Two opens at once are independent. */
static void run_second_open(conform *c)
{
  const vyre_backend *b = conform_load(c);
  vyre_backend_device *first = conform_open(c), *second = NULL;
  CHECK_OK(c, b->device_open(c->device_index, &plain, &second, err));
  CHECK(c, second && second != first, "a second open gives the same handle (DEV-004)");
  conform_tour(c);
  conform_close(c);
  c->device = second;
  conform_load(c); /* the reference that conform_close() gives back */
  conform_tour(c);
  conform_open(c);
  conform_tour(c);
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after all devices are closed (ABI-014)",
        (unsigned long long)conform_live_blocks(c));
}

/* The same again after a close, and with launches of two opens in turn. */
static void run_reopen(conform *c)
{
  vyre_backend_device *devices[2];
  conform_load(c);
  for (int i = 0; i < 3; ++i) {
    conform_open(c);
    conform_tour(c);
    conform_close(c);
  }
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(c, c->counted.device_open(c->device_index, &plain, &devices[i], err));
    CHECK(c, devices[i], "device_open succeeded and gave no device");
  }
  for (int turn = 0; turn < 6; ++turn) {
    c->device = devices[turn % 2];
    conform_load(c);
    conform_run_add(c, conform_kernel(c, "basic", "add"), 1025, 64);
    for (uint32_t i = 0; i < CONFORM_MAX_MODULES; ++i) {
      if (c->modules[i].module)
        c->counted.module_unload(c->device, c->modules[i].module);
      memset(&c->modules[i], 0, sizeof c->modules[i]);
    }
    conform_unload(c);
    c->device = NULL;
  }
  c->counted.device_close(devices[0]);
  c->counted.device_close(devices[1]);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after all devices are closed (ABI-014)",
        (unsigned long long)conform_live_blocks(c));
}

static void run_second_device(conform *c)
{
  const uint32_t count = device_count(c), mine = c->device_index;
  for (uint32_t i = 0; i < count; ++i) {
    if (i == mine)
      continue;
    memset(&c->info, 0, sizeof c->info);
    c->device_index = i;
    conform_open(c);
    conform_tour(c);
    conform_close(c);
  }
}

/* Both at once: each has its own. */
static void run_two_devices(conform *c)
{
  vyre_backend_device *other = NULL;
  const uint32_t index = c->device_index ? 0 : 1;
  conform_open(c);
  CHECK_OK(c, c->counted.device_open(index, &plain, &other, err));
  CHECK(c, other && other != c->device, "two devices have one handle (DEV-004)");
  conform_tour(c);
  conform_close(c);
  c->device = other;
  conform_load(c);
  conform_tour(c);
  conform_close(c);
}

/* ---- threads ---- */

static void in_thread(conform *c, void *(*main)(void *))
{
  pthread_t thread;
  CHECK(c, !pthread_create(&thread, NULL, main, c), "no thread");
  pthread_join(thread, NULL);
}

static void *thread_open(void *argument)
{
  conform_open(argument);
  return NULL;
}

static void *thread_tour(void *argument)
{
  conform_tour(argument);
  return NULL;
}

static void *thread_close(void *argument)
{
  conform_close(argument);
  return NULL;
}

/* Each step in a thread of its own: nothing belongs to the first. */
static void run_second_thread(conform *c)
{
  conform_load(c);
  in_thread(c, thread_open);
  in_thread(c, thread_tour);
  conform_tour(c);
  in_thread(c, thread_tour);
  in_thread(c, thread_close);
  conform_open(c);
  in_thread(c, thread_tour);
  conform_close(c);
}

static const conform_case rows[] = {
    CORE_CASE("device.count", "DEV-002 ABI-009", 0, run_count),
    CORE_CASE("device.info", "DEV-001 DEV-002 DEV-003 ABI-006 CAP-001", 0, run_info),
    CORE_CASE("device.info_sizes", "ABI-001 ABI-002 ABI-008", 0, run_info_sizes),
    CORE_CASE("device.info_index", "DEV-002 ABI-008 ABI-009", 0, run_info_index),
    CORE_CASE("device.capabilities", "CAP-002", 0, run_capabilities),
    CORE_CASE("device.processes", "DEV-001 CAP-002", 0, run_processes),
    CORE_CASE("device.open_options", "ABI-001 ABI-006 ABI-008", 0, run_open_options),
    CORE_CASE("device.close_null", "DEV-004", CONFORM_NEEDS_KERNELS, run_close_null),
    CORE_CASE("device.open_often", "DEV-004 ABI-008", 0, run_open_often),
    CORE_CASE("device.work_often", "DEV-004 ABI-008", CONFORM_NEEDS_KERNELS, run_work_often),
    CORE_CASE("device.second_open", "DEV-004 ABI-014", CONFORM_NEEDS_KERNELS, run_second_open),
    CORE_CASE("device.reopen", "DEV-004 CAP-001 ABI-014", CONFORM_NEEDS_KERNELS, run_reopen),
    CORE_CASE("device.second_device", "DEV-004 CAP-001", CONFORM_NEEDS_TWO | CONFORM_NEEDS_KERNELS,
              run_second_device),
    CORE_CASE("device.two_devices", "DEV-004", CONFORM_NEEDS_TWO | CONFORM_NEEDS_KERNELS,
              run_two_devices),
    CORE_CASE("device.second_thread", "DEV-005", CONFORM_NEEDS_KERNELS, run_second_thread),
};
CONFORM_TABLE(conform_cases_device, rows);
