/* dispatch.c - launches: grids, limits, push constants. */
#include "conformance/steps.h"

#include <stdlib.h>
#include <string.h>

/* ---- grids ---- */

static void check_ids(conform *c, const uint32_t *groups, const uint32_t *items)
{
  static uint32_t ids[18 * 4096];
  const uint32_t nx = groups[0] * items[0], ny = groups[1] * items[1], nz = groups[2] * items[2];
  conform_launch launch;
  CHECK(c, nx * ny * nz <= 4096, "the suite's grid is too large");
  conform_launch_init(&launch, conform_kernel(c, "grid", "ids"));
  memcpy(launch.desc.groups, groups, sizeof launch.desc.groups);
  memcpy(launch.desc.workgroup, items, sizeof launch.desc.workgroup);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, (uint64_t)18 * nx * ny * nz, 4, ids);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < nx * ny * nz; ++i) {
    const uint32_t at[3] = {i % nx, i / nx % ny, i / nx / ny};
    for (uint32_t d = 0; d < 3; ++d) {
      const uint32_t want[6] = {at[d],     at[d] / items[d], at[d] % items[d], groups[d] * items[d],
                                groups[d], items[d]};
      static const char *const names[6] = {"global id",   "group id",    "local id",
                                           "global size", "group count", "local size"};
      for (uint32_t k = 0; k < 6; ++k)
        CHECK(c, ids[18 * i + 3 * k + d] == want[k],
              "item %u of %ux%ux%u groups of %ux%ux%u: %s %u is %u, expected is %u (LANG-005)", i,
              groups[0], groups[1], groups[2], items[0], items[1], items[2], names[k], d,
              ids[18 * i + 3 * k + d], want[k]);
    }
  }
}

static void run_ids(conform *c)
{
  static const uint32_t shapes[][2][3] = {{{1, 1, 1}, {1, 1, 1}},   {{5, 1, 1}, {64, 1, 1}},
                                          {{1, 5, 1}, {1, 33, 1}},  {{1, 1, 5}, {1, 1, 7}},
                                          {{3, 2, 4}, {2, 3, 1}},   {{2, 7, 2}, {4, 4, 3}},
                                          {{2, 2, 2}, {1, 1, 32}},  {{65, 3, 1}, {1, 2, 5}},
                                          {{1, 1, 257}, {1, 1, 1}}, {{1, 300, 1}, {3, 1, 1}}};
  const vyre_backend_device_info *info = conform_info(c);
  for (uint32_t i = 0; i < COUNT_OF(shapes); ++i) {
    uint32_t groups[3], items[3];
    for (int d = 0; d < 3; ++d) {
      groups[d] = shapes[i][0][d] < info->max_groups[d] ? shapes[i][0][d] : info->max_groups[d];
      items[d] =
          shapes[i][1][d] < info->max_workgroup[d] ? shapes[i][1][d] : info->max_workgroup[d];
    }
    if (items[0] * items[1] * items[2] <= info->max_workgroup_items)
      check_ids(c, groups, items);
  }
}

static void visit(conform *c, uint32_t groups, uint32_t items)
{
  const uint64_t n = (uint64_t)groups * items;
  uint32_t *visits = calloc(n + 1, sizeof *visits);
  conform_launch launch;
  CHECK(c, visits, "out of memory");
  conform_launch_init(&launch, conform_kernel(c, "grid", "visit"));
  conform_launch_grid(&launch, groups, items);
  conform_launch_host(&launch, VYRE_READ_WRITE, NULL, n + 1, 4, visits);
  conform_run(c, &launch);
  for (uint64_t i = 0; i < n; ++i)
    CHECK(c, visits[i] == 1, "item %llu of %u groups of %u items ran %u times (DISP-023)",
          (unsigned long long)i, groups, items, visits[i]);
  CHECK(c, visits[n] == n, "%u items ran, %llu were asked for (DISP-023)", visits[n],
        (unsigned long long)n);
  free(visits);
}

static void run_visits(conform *c)
{
  static const uint32_t groups[] = {1, 2, 3, 63, 64, 65, 255, 256, 257, 1025, 4097, 65535, 70001};
  const uint32_t most = conform_info(c)->max_groups[0];
  for (uint32_t i = 0; i < COUNT_OF(groups); ++i)
    if (groups[i] <= most)
      visit(c, groups[i], groups[i] > 5000 ? 3 : 31);
}

static void run_workgroups(conform *c)
{
  const uint32_t most = conform_most_items(c, "basic", "add");
  vyre_backend_kernel *add = conform_kernel(c, "basic", "add");
  for (uint32_t items = 1; items <= most && items <= 4096; items *= 2)
    for (uint32_t k = items > 1 ? items - 1 : 1; k <= items + 1 && k <= most; ++k)
      conform_run_add(c, add, 2 * k + 1 < 4100 ? 2 * k + 1 : 4100, k);
  conform_run_add(c, add, 4097, most);
}

/* ---- limits ---- */

static void refuse(conform *c, const conform_launch *launch, uint64_t limit, uint64_t request,
                   const char *what)
{
  vyre_backend_pending *pending = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  const uint64_t before = conform_live_blocks(c);
  CHECK_FAILS(c, c->counted.dispatch(conform_open(c), &launch->desc, &pending, err),
              VYRE_ERROR_INVALID_ARGUMENT, limit ? VYRE_ERROR_UNSUPPORTED : -1);
  CHECK(c, !pending, "a failed dispatch has stored a handle (ABI-008)");
  c->counted.dispatch(c->device, &launch->desc, &pending, &record);
  CHECK(c,
        !limit || (conform_says_number(record.message, limit) &&
                   conform_says_number(record.message, request)),
        "%s: the text does not name the limit %llu and the request %llu (DISP-021): %.500s", what,
        (unsigned long long)limit, (unsigned long long)request, record.message);
  CHECK(c, c->counted.dispatch(c->device, &launch->desc, &pending, NULL) != VYRE_OK && !pending,
        "without an error record dispatch ends otherwise (ABI-009)");
  CHECK(c, conform_live_blocks(c) == before, "a failed dispatch leaves blocks in use (ABI-008)");
}

static void bare(conform *c, conform_launch *launch)
{
  static const unsigned char byte = 1;
  conform_launch_init(launch, conform_kernel(c, "bound", "idle"));
  conform_launch_host(launch, VYRE_READ_ONLY, &byte, 1, 1, NULL);
  conform_launch_host(launch, VYRE_READ_WRITE, &byte, 1, 1, NULL);
  launch->bindings[0].id = 40;
  launch->bindings[1].id = 3;
  launch->desc.id_limit = 41;
}

static void run_limit_items(conform *c)
{
  const vyre_backend_device_info *info = conform_info(c);
  const uint32_t most = conform_most_items(c, "bound", "idle");
  conform_launch launch;
  for (int d = 0; d < 3; ++d) {
    const uint32_t here = info->max_workgroup[d];
    bare(c, &launch);
    launch.desc.workgroup[d] = here < most ? here : most;
    conform_run(c, &launch);
    if (here < UINT32_MAX) {
      launch.desc.workgroup[d] = here + 1;
      refuse(c, &launch, here, here + 1, "items of a group in a dimension");
    }
  }
  /* A kernel may take fewer than its device. */
  if (most < info->max_workgroup[0] && most < info->max_workgroup_items) {
    bare(c, &launch);
    launch.desc.workgroup[0] = most + 1;
    refuse(c, &launch, most, (uint64_t)most + 1, "items of a group of this kernel");
  }
  /* In all: within each dimension, and too many together. */
  bare(c, &launch);
  for (uint32_t y = 2; y <= 64; ++y) {
    const uint64_t x = info->max_workgroup_items / y + 1;
    if (y > info->max_workgroup[1] || x > info->max_workgroup[0])
      continue;
    launch.desc.workgroup[0] = (uint32_t)x;
    launch.desc.workgroup[1] = y;
    refuse(c, &launch, info->max_workgroup_items, x * y, "items of a group in all");
  }
  /* A product that overflows 32 bits to something small. */
  bare(c, &launch);
  launch.desc.workgroup[0] = launch.desc.workgroup[1] = 65536;
  refuse(c, &launch, 0, 0, "65536 x 65536 items");
  bare(c, &launch);
  conform_run(c, &launch);
}

static void run_limit_groups(conform *c)
{
  const vyre_backend_device_info *info = conform_info(c);
  conform_launch launch;
  for (int d = 0; d < 3; ++d) {
    const uint32_t most = info->max_groups[d];
    bare(c, &launch);
    if (most <= 1u << 20) {
      launch.desc.groups[d] = most;
      conform_run(c, &launch);
    }
    if (most < UINT32_MAX) {
      launch.desc.groups[d] = most + 1;
      refuse(c, &launch, most, (uint64_t)most + 1, "groups in a dimension");
    }
  }
}

static void run_limit_sizes(conform *c)
{
  static vyre_binding many[4096];
  const vyre_backend_device_info *info = conform_info(c);
  unsigned char *push = calloc(1, (size_t)info->max_push_bytes + 1);
  conform_launch launch;
  CHECK(c, push, "out of memory");
  bare(c, &launch);
  launch.desc.push = push;
  launch.desc.push_size = info->max_push_bytes;
  conform_run(c, &launch);
  launch.desc.push_size = info->max_push_bytes + 1;
  refuse(c, &launch, info->max_push_bytes, (uint64_t)info->max_push_bytes + 1, "push constants");
  if (info->max_bindings < COUNT_OF(many)) {
    bare(c, &launch);
    for (uint32_t i = 0; i <= info->max_bindings; ++i)
      many[i] = launch.bindings[0];
    launch.desc.bindings = many;
    launch.desc.binding_count = info->max_bindings + 1;
    refuse(c, &launch, info->max_bindings, (uint64_t)info->max_bindings + 1, "bindings");
  }
  const uint32_t words = 1;
  uint32_t out[1];
  conform_launch_init(&launch, conform_kernel(c, "shared", "fill"));
  conform_launch_host(&launch, VYRE_READ_ONLY, &words, 1, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 1, 4, out);
  conform_launch_local(&launch, info->max_workgroup_memory + 1, 1);
  vyre_backend_pending *pending = NULL;
  CHECK_FAILS(c, c->counted.dispatch(conform_open(c), &launch.desc, &pending, err),
              VYRE_ERROR_INVALID_ARGUMENT, VYRE_ERROR_UNSUPPORTED);
  CHECK(c, !pending, "a failed dispatch has stored a handle (ABI-008)");
  free(push);
}

static void run_zero_grid(conform *c)
{
  conform_launch launch;
  for (int d = 0; d < 3; ++d) {
    bare(c, &launch);
    launch.desc.groups[d] = 0;
    refuse(c, &launch, 0, 0, "no group");
    bare(c, &launch);
    launch.desc.workgroup[d] = 0;
    refuse(c, &launch, 0, 0, "no item");
  }
  bare(c, &launch);
  launch.desc.kernel = NULL;
  refuse(c, &launch, 0, 0, "no kernel");
}

static void run_unknown_flags(conform *c)
{
  conform_launch launch;
  for (uint32_t bit = 2; bit < 64; ++bit) {
    bare(c, &launch);
    launch.desc.flags = 1ull << bit;
    refuse(c, &launch, 0, 0, "an unknown flag");
  }
  conform_tour(c);
}

/* ---- push constants ---- */

static void run_push(conform *c)
{
  static const uint32_t sizes[] = {1,  2,  3,  4,  5,  7,   8,   12,  15,  16,  17,  31,
                                   32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 1024};
  const uint32_t most = conform_info(c)->max_push_bytes;
  unsigned char *out = NULL, *push = NULL, *kept = NULL;
  for (uint32_t i = 0; i <= COUNT_OF(sizes); ++i) {
    const uint32_t size = i < COUNT_OF(sizes) ? sizes[i] : most < 65536 ? most : 65536;
    conform_launch launch;
    vyre_backend_pending *pending = NULL;
    if (size > most)
      continue;
    out = malloc(size);
    push = malloc(size);
    kept = malloc(size);
    CHECK(c, out && push && kept, "out of memory");
    conform_random_fill(c, push, size);
    memcpy(kept, push, size);
    memset(out, 0xd5, size);
    conform_launch_init(&launch, conform_kernel(c, "grid", "push"));
    conform_launch_grid(&launch, (size + 63) / 64, 64);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, size, 1, NULL);
    launch.desc.push = push;
    launch.desc.push_size = size;
    pending = conform_start(c, conform_open(c), &launch);
    memset(push, 0xff, size); /* they are copied by the call */
    free(push);
    conform_finish(c, pending, out, size);
    CHECK(c, !memcmp(out, kept, size),
          "of %u bytes of push constants the kernel sees others (DISP-022)", size);
    free(out);
    free(kept);
  }
}

static const conform_case rows[] = {
    CORE_CASE("dispatch.ids", "LANG-005", CONFORM_NEEDS_KERNELS, run_ids),
    CORE_CASE("dispatch.visits", "DISP-023", CONFORM_NEEDS_KERNELS, run_visits),
    CORE_CASE("dispatch.workgroups", "DISP-030 CAP-001", CONFORM_NEEDS_KERNELS, run_workgroups),
    CORE_CASE("dispatch.limit_items", "DISP-021 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
              run_limit_items),
    CORE_CASE("dispatch.limit_groups", "DISP-021 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
              run_limit_groups),
    CORE_CASE("dispatch.limit_sizes", "DISP-021 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
              run_limit_sizes),
    CORE_CASE("dispatch.zero_grid", "DISP-008 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
              run_zero_grid),
    CORE_CASE("dispatch.unknown_flags", "ABI-006 ABI-008", CONFORM_NEEDS_KERNELS,
              run_unknown_flags),
    CORE_CASE("dispatch.push", "DISP-022", CONFORM_NEEDS_KERNELS, run_push),
};
CONFORM_TABLE(conform_cases_dispatch, rows);
