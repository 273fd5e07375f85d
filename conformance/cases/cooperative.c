/*
 * cooperative.c - launches whose groups wait for each other, on the plugin's own table: the limit,
 * the flag, the barrier of a fused launch.
 */
#include "conformance/buffers.h"
#include "conformance/oracle.h"

#include "vyre_kernel.h"

#include <stdlib.h>
#include <string.h>

static uint32_t most_groups(conform *c, vyre_backend_kernel *kernel, const uint32_t *workgroup,
                            uint64_t memory)
{
  uint32_t groups = 0x5a5a5a5au;
  vyre_backend_device *const device = conform_open(c);
  CHECK_OK(c, c->counted.cooperative_groups(device, kernel, workgroup, memory, &groups, err));
  CHECK(c, groups != 0x5a5a5a5au, "cooperative_groups succeeded and stored nothing (DISP-014)");
  return groups;
}

/* Words and sums of the kernel "meet". */
typedef struct meeting {
  conform_launch launch;
  uint32_t groups;
  uint32_t *words, *sums;
} meeting;

static void prepare(conform *c, meeting *m, const uint32_t *groups, const uint32_t *workgroup)
{
  memset(m, 0, sizeof *m);
  m->groups = groups[0] * groups[1] * groups[2];
  m->words = calloc(32 + (size_t)m->groups, sizeof *m->words);
  m->sums = calloc(m->groups, sizeof *m->sums);
  CHECK(c, m->words && m->sums, "out of memory");
  conform_launch_init(&m->launch, conform_kernel(c, "meet", "meet"));
  memcpy(m->launch.desc.groups, groups, sizeof m->launch.desc.groups);
  memcpy(m->launch.desc.workgroup, workgroup, sizeof m->launch.desc.workgroup);
  m->launch.desc.flags = VYRE_DISPATCH_COOPERATIVE;
  conform_launch_host(&m->launch, VYRE_READ_WRITE, NULL, 32 + (uint64_t)m->groups, 4, m->words);
  conform_launch_host(&m->launch, VYRE_WRITE_ONLY, NULL, m->groups, 4, m->sums);
}

static void drop(meeting *m)
{
  free(m->words);
  free(m->sums);
}

static void meet(conform *c, const uint32_t *groups, const uint32_t *workgroup)
{
  uint32_t want = 0;
  meeting m;
  prepare(c, &m, groups, workgroup);
  conform_run(c, &m.launch);
  for (uint32_t g = 0; g < m.groups; ++g)
    want += g * 2654435761u + 1;
  for (uint32_t g = 0; g < m.groups; ++g)
    CHECK(c, m.sums[g] == want,
          "group %u of %u that met does not see what the others stored (DISP-011)", g, m.groups);
  CHECK(c, m.words[0] == m.groups, "%u groups came, %u were launched (DISP-011)", m.words[0],
        m.groups);
  drop(&m);
}

static void meet_line(conform *c, uint32_t groups, uint32_t items)
{
  const uint32_t grid[3] = {groups, 1, 1}, workgroup[3] = {items, 1, 1};
  meet(c, grid, workgroup);
}

/* One group over the limit, and far over it. */
static void refuse(conform *c, uint32_t groups, uint32_t limit, const uint32_t *workgroup)
{
  const uint32_t grid[3] = {groups, 1, 1};
  vyre_backend_pending *pending = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  const uint64_t before = conform_live_blocks(c);
  meeting m;
  prepare(c, &m, grid, workgroup);
  CHECK_FAILS(c, c->counted.dispatch(c->device, &m.launch.desc, &pending, err),
              VYRE_ERROR_RESIDENCY_EXCEEDED, -1);
  c->counted.dispatch(c->device, &m.launch.desc, &pending, &record);
  CHECK(c,
        conform_says_number(record.message, groups) && conform_says_number(record.message, limit),
        "the text does not name the limit %u and the request %u (DISP-013): %.500s", limit, groups,
        record.message);
  CHECK(c,
        c->counted.dispatch(c->device, &m.launch.desc, &pending, NULL) ==
            VYRE_ERROR_RESIDENCY_EXCEEDED,
        "without an error record dispatch ends otherwise (ABI-009)");
  CHECK(c, !pending && conform_live_blocks(c) == before,
        "a refused cooperative launch leaves something (ABI-008)");
  drop(&m);
}

/* ---- the limit ---- */

static void run_limit(conform *c)
{
  static const uint32_t items[] = {1, 2, 32, 33, 64, 256};
  for (uint32_t i = 0; i < COUNT_OF(items); ++i) {
    const uint32_t workgroup[3] = {items[i], 1, 1};
    uint32_t most = 0;
    if (items[i] > conform_most_items(c, "meet", "meet"))
      continue;
    most = most_groups(c, conform_kernel(c, "meet", "meet"), workgroup, 0);
    CHECK(c, most, "no group of %u items can be launched (DISP-014)", items[i]);
    for (int turn = 0; turn < 10; ++turn)
      meet_line(c, most, items[i]);
    refuse(c, most + 1, most, workgroup);
    refuse(c, most * 2 + 7, most, workgroup);
    meet_line(c, most, items[i]);
  }
}

/* Every shape that is promised works; what cannot be is 0. */
static void run_shapes(conform *c)
{
  static const uint32_t shapes[][3] = {{1, 1, 1}, {8, 8, 1}, {4, 4, 4},   {1, 16, 1},
                                       {1, 1, 8}, {7, 5, 3}, {128, 1, 1}, {32, 4, 2}};
  const vyre_backend_device_info *info = conform_info(c);
  vyre_backend_kernel *kernel = conform_kernel(c, "meet", "meet");
  for (uint32_t s = 0; s < COUNT_OF(shapes); ++s) {
    const uint32_t most = most_groups(c, kernel, shapes[s], 0);
    uint32_t groups[3] = {most, 1, 1};
    CHECK(c, most == most_groups(c, kernel, shapes[s], 0), "cooperative_groups changes its answer");
    if (!most)
      continue;
    meet(c, groups, shapes[s]);
    if (most % 2 == 0) {
      groups[0] = most / 2;
      groups[1] = 2;
      meet(c, groups, shapes[s]);
      groups[1] = 1;
      groups[2] = 2;
      meet(c, groups, shapes[s]);
    }
  }
  for (int d = 0; d < 3; ++d) {
    uint32_t large[3] = {1, 1, 1};
    if (info->max_workgroup[d] == UINT32_MAX)
      continue;
    large[d] = info->max_workgroup[d] + 1;
    CHECK(c, most_groups(c, kernel, large, 0) == 0,
          "%u items in dimension %d, %u are possible: some groups are promised (DISP-014)",
          large[d], d, info->max_workgroup[d]);
  }
  const uint32_t one[3] = {1, 1, 1};
  CHECK(c,
        most_groups(c, kernel, one, info->max_workgroup_memory + 1) == 0 &&
            most_groups(c, kernel, one, UINT64_MAX) == 0,
        "with more workgroup memory than there is some groups are promised (DISP-014)");
  CHECK(c,
        most_groups(c, kernel, one, info->max_workgroup_memory) <= most_groups(c, kernel, one, 0),
        "with all workgroup memory more groups are promised than without (DISP-014)");
}

static void run_asked_wrongly(conform *c)
{
  static const uint32_t good[3] = {1, 1, 1}, bad[3] = {1, 0, 1};
  vyre_backend_kernel *kernel = conform_kernel(c, "meet", "meet");
  uint32_t groups = 77;
  CHECK_FAILS(c, c->counted.cooperative_groups(c->device, kernel, bad, 0, &groups, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK(c, groups == 77, "a failed cooperative_groups has stored a number (ABI-008)");
  CHECK_OK(c, c->counted.cooperative_groups(c->device, kernel, good, 0, &groups, NULL));
}

/* Again and again, with 1 to L groups. */
static void run_meet_again(conform *c)
{
  static const uint32_t one[3] = {1, 1, 1};
  const uint32_t most = most_groups(c, conform_kernel(c, "meet", "meet"), one, 0);
  for (int turn = 0; turn < 150; ++turn)
    meet_line(c, 1 + (uint32_t)conform_random_below(c, most), 1);
  for (int turn = 0; turn < 50; ++turn)
    meet_line(c, most, 1);
}

/* In the order of the calls, between launches of the other kind on one buffer. */
static void run_order(conform *c)
{
  static uint32_t words[1000];
  vyre_backend_pending *pending[60];
  vyre_backend_buffer *buffer = NULL;
  conform_random_fill(c, words, sizeof words);
  buffer = conform_buffer(c, sizeof words, words);
  for (uint32_t k = 0; k < COUNT_OF(pending); ++k) {
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
    if (k % 3 == 1) {
      conform_launch_grid(&launch, 1, 1);
      launch.desc.flags = VYRE_DISPATCH_COOPERATIVE;
    } else {
      conform_launch_grid(&launch, 100, 10);
    }
    conform_launch_buffer(&launch, VYRE_READ_WRITE, buffer, k % 3 == 1 ? 1 : 1000, 4);
    pending[k] = conform_start(c, c->device, &launch);
    for (uint32_t i = 0; i < (k % 3 == 1 ? 1 : 1000); ++i)
      words[i] = words[i] * 3 + 1;
  }
  conform_expect_bytes(c, buffer, words, sizeof words, "cooperative launches in a row (DISP-020)");
  for (uint32_t k = 0; k < COUNT_OF(pending); ++k)
    conform_finish(c, pending[k], NULL, 0);
  conform_free(c, buffer);
}

/* A device that cannot says so; one that can does it. */
static void run_flag(conform *c)
{
  static const uint32_t one[3] = {1, 1, 1};
  const vyre_backend_device_info *info = conform_info(c);
  vyre_backend_pending *pending = NULL;
  meeting m;
  if (info->grid_sync == VYRE_GRID_SYNC_NATIVE) {
    meet_line(c, most_groups(c, conform_kernel(c, "meet", "meet"), one, 0), 1);
    return;
  }
  prepare(c, &m, one, one);
  CHECK_FAILS(c, c->counted.dispatch(conform_open(c), &m.launch.desc, &pending, err),
              VYRE_ERROR_UNSUPPORTED, -1);
  CHECK(c, !pending, "a failed dispatch has stored a handle (ABI-008)");
  CHECK(c, !c->counted.cooperative_groups,
        "grid_sync is not NATIVE, and there is cooperative_groups (ABI-003)");
  drop(&m);
}

/* ---- fused launches ---- */

#define MOST_ELEMENTS 6000u
#define CONTROL_WORDS 256u

typedef struct fused {
  vyre_backend_buffer *a, *b, *count, *control;
  uint32_t words[3][MOST_ELEMENTS]; /* a, b, count */
  oracle want;
} fused;

static void make(conform *c, fused *f, uint32_t n, uint32_t limit)
{
  memset(f->words[1], 0, sizeof f->words[1]);
  memset(f->words[2], 0, sizeof f->words[2]);
  conform_random_fill(c, f->words[0], n * 4u);
  f->want = (oracle){n, limit, f->words[0], f->words[1], f->words[2]};
  f->a = conform_buffer(c, n * 4u, f->words[0]);
  f->b = conform_buffer(c, n * 4u, f->words[1]);
  f->count = conform_buffer(c, n * 4u, f->words[2]);
  f->control = conform_buffer(c, CONTROL_WORDS * 4, NULL);
}

static void unmake(conform *c, fused *f)
{
  conform_free(c, f->a);
  conform_free(c, f->b);
  conform_free(c, f->count);
  conform_free(c, f->control);
}

/* All control words but the barrier's generation. */
static void set_control(conform *c, fused *f, uint32_t items, uint32_t passes, bool tested)
{
  uint32_t control[CONTROL_WORDS] = {0};
  control[VYRE_CONTROL_LIMIT] = passes;
  control[VYRE_CONTROL_TESTED] = tested;
  for (uint32_t s = 0; s < 3; ++s) {
    control[VYRE_CONTROL_GROUPS + 3 * s] = (f->want.n + items - 1) / items;
    control[VYRE_CONTROL_GROUPS + 3 * s + 1] = control[VYRE_CONTROL_GROUPS + 3 * s + 2] = 1;
  }
  conform_put(c, f->control, 0, control, VYRE_CONTROL_GENERATION * 4);
  conform_put(c, f->control, VYRE_CONTROL_GENERATION * 4 + 4, control + VYRE_CONTROL_GENERATION + 1,
              (CONTROL_WORDS - VYRE_CONTROL_GENERATION - 1) * 4);
}

static void launch_of(conform *c, const fused *f, conform_launch *launch, uint32_t groups,
                      uint32_t items)
{
  conform_launch_init(launch, conform_kernel(c, "steps", "vyre_fused"));
  conform_launch_grid(launch, groups, items);
  launch->desc.flags = VYRE_DISPATCH_COOPERATIVE;
  conform_launch_buffer(launch, VYRE_READ_WRITE, f->a, f->want.n, 4);
  conform_launch_buffer(launch, VYRE_READ_WRITE, f->b, f->want.n, 4);
  conform_launch_buffer(launch, VYRE_READ_WRITE, f->count, f->want.n, 4);
  conform_launch_buffer(launch, VYRE_READ_WRITE, f->control, CONTROL_WORDS, 4);
  launch->desc.push = &f->want.limit;
  launch->desc.push_size = 4;
}

static void run_fused(conform *c, fused *f, uint32_t groups, uint32_t items, uint32_t passes,
                      bool tested)
{
  uint32_t made = 0, want = 0;
  conform_launch launch;
  set_control(c, f, items, passes, tested);
  launch_of(c, f, &launch, groups, items);
  conform_run_buffers(c, &launch);
  want = oracle_run(&f->want, passes, tested);
  conform_get(c, f->control, VYRE_CONTROL_PASSES * 4, &made, 4);
  CHECK(c, made == want,
        "a fused launch of %u groups over %u elements made %u passes, expected are %u (DISP-011)",
        groups, f->want.n, made, want);
  conform_expect_bytes(c, f->a, f->want.a, f->want.n * 4u,
                       "a fused launch, first buffer (DISP-011)");
  conform_expect_bytes(c, f->b, f->want.b, f->want.n * 4u,
                       "a fused launch, second buffer (DISP-011)");
  conform_expect_bytes(c, f->count, f->want.count, f->want.n * 4u,
                       "a fused launch, third buffer (DISP-011)");
}

static uint32_t most_fused(conform *c, uint32_t items)
{
  const uint32_t workgroup[3] = {items, 1, 1};
  return most_groups(c, conform_kernel(c, "steps", "vyre_fused"), workgroup, 0);
}

static void run_fused_grids(conform *c)
{
  static fused f;
  static const uint32_t sizes[] = {1, 2, 63, 64, 65, 257, 1025, 4099, 6000};
  static const uint32_t items[] = {1, 32, 64, 100};
  for (uint32_t k = 0; k < COUNT_OF(items); ++k) {
    const uint32_t most = most_fused(c, items[k]);
    CHECK(c, most, "no group of %u items of a fused kernel can be launched (DISP-014)", items[k]);
    for (uint32_t s = 0; s < COUNT_OF(sizes); ++s) {
      const uint32_t grids[] = {1, 2, 3, most / 2, most - 1, most};
      for (uint32_t g = 0; g < COUNT_OF(grids); ++g) {
        if (!grids[g] || grids[g] > most)
          continue;
        make(c, &f, sizes[s], 2);
        run_fused(c, &f, grids[g], items[k], 4, false);
        unmake(c, &f);
      }
    }
  }
}

/* Whatever number the barrier's generation has, and also when it wraps. */
static void run_dirty_barrier(conform *c)
{
  static const uint32_t edges[] = {
      0, 1, UINT32_MAX, UINT32_MAX - 1, UINT32_MAX - 5, 1u << 31, (1u << 31) - 1, 0x80000001u};
  static fused f;
  const uint32_t most = most_fused(c, 16);
  make(c, &f, 700, 3);
  for (uint32_t turn = 0; turn < 100; ++turn) {
    const uint32_t generation = turn < COUNT_OF(edges) ? edges[turn] : (uint32_t)conform_random(c);
    if (turn % 4 != 3) /* else as the last launch has left it */
      conform_put(c, f.control, VYRE_CONTROL_GENERATION * 4, &generation, 4);
    run_fused(c, &f, turn % 2 ? most : 1 + turn % most, 16, 3, false);
  }
  unmake(c, &f);
}

/* The end is decided inside: after the first pass that says no change, and not before. */
static void run_fused_end(conform *c)
{
  static fused f;
  const uint32_t most = most_fused(c, 32);
  for (uint32_t k = 1; k <= 6; ++k)
    for (uint32_t budget = 1; budget <= 8; ++budget)
      for (uint32_t tested = 0; tested < 2; ++tested) {
        make(c, &f, k % 2 ? 4099 : 33, k - 1);
        run_fused(c, &f, budget % 2 ? most : 1 + k % most, 32, budget, tested);
        unmake(c, &f);
      }
}

/* DISP-013: never without the flag, never with more groups. */
static void run_fused_refused(conform *c)
{
  static const uint64_t flags[] = {0, VYRE_DISPATCH_PERSISTENT};
  static fused f;
  const uint32_t most = most_fused(c, 64);
  vyre_backend_pending *pending = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  conform_launch launch;
  make(c, &f, 1000, 2);
  set_control(c, &f, 64, 3, false);
  launch_of(c, &f, &launch, 1, 64);
  for (uint32_t i = 0; i < COUNT_OF(flags); ++i) {
    launch.desc.flags = flags[i];
    CHECK_FAILS(c, c->counted.dispatch(c->device, &launch.desc, &pending, err),
                VYRE_ERROR_INVALID_ARGUMENT, VYRE_ERROR_UNSUPPORTED);
  }
  launch.desc.flags = VYRE_DISPATCH_COOPERATIVE;
  launch.desc.groups[0] = most + 1;
  CHECK_FAILS(c, c->counted.dispatch(c->device, &launch.desc, &pending, err),
              VYRE_ERROR_RESIDENCY_EXCEEDED, -1);
  c->counted.dispatch(c->device, &launch.desc, &pending, &record);
  CHECK(c,
        conform_says_number(record.message, most) &&
            conform_says_number(record.message, (uint64_t)most + 1),
        "the text does not name the limit %u and the request %u (DISP-013): %.500s", most, most + 1,
        record.message);
  CHECK(c, !pending, "a failed dispatch has stored a handle (ABI-008)");
  conform_expect_bytes(c, f.a, f.want.a, 4000, "a refused fused launch (ABI-008)");
  run_fused(c, &f, most, 64, 3, false);
  unmake(c, &f);
}

#define NATIVE_CASE(name, rules, bits, run)                                                        \
  {                                                                                                \
    name, rules, CONFORM_GRIDSYNC_NATIVE, bits, CONFORM_NEEDS_NATIVE | CONFORM_NEEDS_KERNELS, 0,   \
        run                                                                                        \
  }

static const conform_case rows[] = {
    {"cooperative.flag", "DISP-011 ABI-003", CONFORM_CORE, 0, CONFORM_NEEDS_KERNELS, 0, run_flag},
    NATIVE_CASE("cooperative.limit", "DISP-011 DISP-013 DISP-014 ABI-008", 0, run_limit),
    NATIVE_CASE("cooperative.shapes", "DISP-011 DISP-014", 0, run_shapes),
    NATIVE_CASE("cooperative.asked_wrongly", "DISP-014 ABI-008 ABI-009", 0, run_asked_wrongly),
    NATIVE_CASE("cooperative.meet_again", "DISP-011", 0, run_meet_again),
    NATIVE_CASE("cooperative.order", "DISP-020", VYRE_CAP_BUFFERS, run_order),
    NATIVE_CASE("cooperative.fused_grids", "DISP-011", VYRE_CAP_BUFFERS, run_fused_grids),
    NATIVE_CASE("cooperative.dirty_barrier", "DISP-015", VYRE_CAP_BUFFERS, run_dirty_barrier),
    NATIVE_CASE("cooperative.fused_end", "DISP-011", VYRE_CAP_BUFFERS, run_fused_end),
    NATIVE_CASE("cooperative.fused_refused", "DISP-013 ABI-008", VYRE_CAP_BUFFERS,
                run_fused_refused),
};
CONFORM_TABLE(conform_cases_cooperative, rows);
