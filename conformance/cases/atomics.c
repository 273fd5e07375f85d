/* atomics.c - atomic words, barriers, shares of a loop, clocks and subgroups. */
#include "conformance/steps.h"

#include <stdlib.h>
#include <string.h>

/* ---- what each operation gives and leaves ---- */

static void run_alone(conform *c)
{
  static const uint32_t narrow[8] = {9, 9, 1, (uint32_t)-9, 1, 1, 0, 0};
  static const uint64_t wide[8] = {9, 9, 1, (uint64_t)-9, 1, 1, 0, 0};
  static const uint64_t seen_want[14] = {9, 9, 1, (uint32_t)-9, 1, 1, 0xfedcba98u,
                                         9, 9, 1, (uint64_t)-9, 1, 1, 0xfedcba9876543210u};
  static const uint32_t narrow_want[8] = {5, 0x80000001u, (uint32_t)-3, (uint32_t)-3,
                                          2, 1,           0xfedcba98u,  0};
  static const uint64_t wide_want[8] = {
      5, 0x8000000000000001u, (uint64_t)-3, (uint64_t)-3, 2, 1, 0xfedcba9876543210u, 0};
  uint32_t narrow_out[8];
  uint64_t wide_out[8], seen[14];
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "atomics", "alone"));
  conform_launch_grid(&launch, 2, 3);
  conform_launch_host(&launch, VYRE_READ_WRITE, narrow, 8, 4, narrow_out);
  conform_launch_host(&launch, VYRE_READ_WRITE, wide, 8, 8, wide_out);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 14, 8, seen);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < 14; ++i)
    CHECK(c, seen[i] == seen_want[i],
          "operation %u of atomics.c/alone returns 0x%llx, expected is 0x%llx (LANG-004)", i,
          (unsigned long long)seen[i], (unsigned long long)seen_want[i]);
  for (uint32_t i = 0; i < 8; ++i)
    CHECK(c, narrow_out[i] == narrow_want[i] && wide_out[i] == wide_want[i],
          "word %u of atomics.c/alone is 0x%x and 0x%llx, expected are 0x%x and 0x%llx (LANG-004)",
          i, narrow_out[i], (unsigned long long)wide_out[i], narrow_want[i],
          (unsigned long long)wide_want[i]);
}

static uint32_t mix_32(uint32_t v)
{
  v ^= v >> 16;
  v *= 0x7feb352du;
  v ^= v >> 15;
  v *= 0x846ca68bu;
  return v ^ v >> 16;
}

static uint64_t mix_64(uint32_t v)
{
  return (uint64_t)mix_32(v) << 32 | mix_32(v + 77);
}

/* Order by sign without leaving unsigned numbers. */
static bool below_32(uint32_t a, uint32_t b)
{
  return (a ^ 0x80000000u) < (b ^ 0x80000000u);
}

static bool below_64(uint64_t a, uint64_t b)
{
  return (a ^ 1ull << 63) < (b ^ 1ull << 63);
}

#define KEEP_IF(place, candidate, condition) (place) = (condition) ? (candidate) : (place)

static void gather_one(uint32_t i, uint32_t *narrow, uint64_t *wide)
{
  const uint32_t v = mix_32(i);
  const uint64_t w = mix_64(i);
  narrow[0] += v;
  narrow[1] &= v | 0x5a5a0000u;
  narrow[2] |= v & 0x00ff3ff0u;
  narrow[3] ^= v;
  KEEP_IF(narrow[4], v, v < narrow[4]);
  KEEP_IF(narrow[5], v, v > narrow[5]);
  KEEP_IF(narrow[6], v, below_32(v, narrow[6]));
  KEEP_IF(narrow[7], v, below_32(narrow[7], v));
  wide[0] += w;
  wide[1] &= w | 0x5a5a000000000000u;
  wide[2] |= w & 0x00ff3ff000ff0ff0u;
  wide[3] ^= w;
  KEEP_IF(wide[4], w, w < wide[4]);
  KEEP_IF(wide[5], w, w > wide[5]);
  KEEP_IF(wide[6], w, below_64(w, wide[6]));
  KEEP_IF(wide[7], w, below_64(wide[7], w));
}

static void run_gather(conform *c)
{
  static const uint32_t groups[] = {1, 2, 64, 257, 1024};
  for (uint32_t g = 0; g < COUNT_OF(groups); ++g) {
    uint32_t narrow[8], narrow_out[8];
    uint64_t wide[8], wide_out[8];
    conform_launch launch;
    conform_random_fill(c, narrow, sizeof narrow);
    conform_random_fill(c, wide, sizeof wide);
    conform_launch_init(&launch, conform_kernel(c, "atomics", "gather"));
    conform_launch_grid(&launch, groups[g], 64);
    conform_launch_host(&launch, VYRE_READ_WRITE, narrow, 8, 4, narrow_out);
    conform_launch_host(&launch, VYRE_READ_WRITE, wide, 8, 8, wide_out);
    conform_run(c, &launch);
    for (uint32_t i = 0; i < groups[g] * 64; ++i)
      gather_one(i, narrow, wide);
    for (uint32_t i = 0; i < 8; ++i) {
      CHECK(c, narrow_out[i] == narrow[i],
            "%u items: 32-bit operation %u leaves 0x%x, expected is 0x%x (LANG-004)",
            groups[g] * 64, i, narrow_out[i], narrow[i]);
      CHECK(c, wide_out[i] == wide[i],
            "%u items: 64-bit operation %u leaves 0x%llx, expected is 0x%llx (LANG-004)",
            groups[g] * 64, i, (unsigned long long)wide_out[i], (unsigned long long)wide[i]);
    }
  }
}

#define ITEMS 8192u

/* 0 … n - 1 each exactly once in column k, where `last` stands for what was left behind. */
static void check_once(conform *c, const uint64_t *seen, uint32_t k, uint64_t last)
{
  static unsigned char met[ITEMS + 1];
  memset(met, 0, sizeof met);
  for (uint64_t i = 0; i <= ITEMS; ++i) {
    const uint64_t value = i < ITEMS ? seen[i * 6 + k] : last;
    CHECK(c, value <= ITEMS && !met[value],
          "operation %u gave the old value %llu twice, or from nowhere "
          "(LANG-004)",
          k, (unsigned long long)value);
    met[value] = 1;
  }
}

static void run_hand_out(conform *c)
{
  static uint64_t seen[ITEMS * 6];
  uint32_t narrow[3] = {0};
  uint64_t wide[3] = {0};
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "atomics", "hand_out"));
  conform_launch_grid(&launch, ITEMS / 64, 64);
  conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 3, 4, narrow);
  conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 3, 8, wide);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, ITEMS * 6, 8, seen);
  conform_run(c, &launch);
  check_once(c, seen, 0, narrow[0]);
  check_once(c, seen, 1, wide[0]);
  check_once(c, seen, 2, narrow[1]);
  check_once(c, seen, 3, wide[1]);
  check_once(c, seen, 4, narrow[2]);
  check_once(c, seen, 5, wide[2]);
}

/* Nothing is lost while several processors are at one word for a while. */
static void run_hammer(conform *c)
{
  const uint64_t adds = 512 * 64 * 64;
  for (int turn = 0; turn < 10; ++turn) {
    uint32_t narrow = 0;
    uint64_t wide = 0;
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "atomics", "hammer"));
    conform_launch_grid(&launch, 512, 64);
    conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 1, 4, &narrow);
    conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 1, 8, &wide);
    conform_run(c, &launch);
    CHECK(c, narrow == adds, "%llu adds of 1 leave %u (LANG-004)", (unsigned long long)adds,
          narrow);
    CHECK(c, wide == adds * (adds - 1) / 2, "the old values of %llu adds sum up to %llu (LANG-004)",
          (unsigned long long)adds, (unsigned long long)wide);
  }
}

/* A fence, an add, a fence: whoever comes last sees all. */
static void run_last(conform *c)
{
  static uint32_t data[ITEMS];
  for (uint32_t turn = 0; turn < 10; ++turn) {
    uint32_t counter = 0;
    uint64_t sum[2] = {0}, want = 0;
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "atomics", "last"));
    conform_launch_grid(&launch, ITEMS / 32, 32);
    conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 1, 4, &counter);
    conform_launch_host(&launch, VYRE_READ_WRITE, NULL, ITEMS, 4, data);
    conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 2, 8, sum);
    conform_run(c, &launch);
    for (uint32_t i = 0; i < ITEMS; ++i) {
      CHECK(c, data[i] == mix_32(i), "element %u is wrong", i);
      want += data[i];
    }
    CHECK(c, counter == ITEMS && sum[1] == 1, "%u of %u items came, %llu were the last (LANG-004)",
          counter, ITEMS, (unsigned long long)sum[1]);
    CHECK(c, sum[0] == want, "the last item did not see every store before its fence (LANG-004)");
  }
}

/* ---- barriers ---- */

static void run_rotate(conform *c)
{
  static uint32_t value[2112], out[2112];
  static const uint32_t sizes[] = {1, 2, 32, 33, 64};
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s) {
    const uint32_t n = sizes[s], groups = 2112 / n;
    conform_launch launch;
    conform_random_fill(c, value, sizeof value);
    conform_launch_init(&launch, conform_kernel(c, "shared", "rotate"));
    conform_launch_grid(&launch, groups, n);
    conform_launch_host(&launch, VYRE_READ_ONLY, value, groups * n, 4, NULL);
    conform_launch_host(&launch, VYRE_READ_WRITE, NULL, groups * n, 4, out);
    conform_run(c, &launch);
    for (uint32_t i = 0; i < groups * n; ++i) {
      const uint32_t want = value[i / n * n + (i % n + 5) % n] + 0 + 1 + 2 + 3 + 4;
      CHECK(c, out[i] == want,
            "%u items a group, item %u: %u after five turns, expected is %u "
            "(LANG-003)",
            n, i, out[i], want);
    }
  }
}

/* Groups in three dimensions, items too: each group still has memory and a barrier of its own. */
static void run_shapes(conform *c)
{
  static const uint32_t shapes[][2][3] = {{{2, 3, 2}, {4, 4, 4}},
                                          {{1, 1, 7}, {1, 64, 1}},
                                          {{5, 1, 2}, {1, 1, 33}},
                                          {{3, 3, 3}, {2, 5, 3}}};
  static uint32_t value[1024], out[1024];
  const vyre_backend_device_info *info = conform_info(c);
  for (uint32_t s = 0; s < COUNT_OF(shapes); ++s) {
    conform_launch launch;
    uint32_t n = 1, groups = 1;
    bool fits = true;
    conform_launch_init(&launch, conform_kernel(c, "shared", "reverse"));
    for (int d = 0; d < 3; ++d) {
      groups *= launch.desc.groups[d] = shapes[s][0][d];
      n *= launch.desc.workgroup[d] = shapes[s][1][d];
      fits = fits && shapes[s][1][d] <= info->max_workgroup[d];
    }
    if (!fits)
      continue;
    conform_random_fill(c, value, sizeof value);
    conform_launch_host(&launch, VYRE_READ_ONLY, value, groups * n, 4, NULL);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, groups * n, 4, out);
    conform_launch_local(&launch, n, 4);
    conform_run(c, &launch);
    for (uint32_t i = 0; i < groups * n; ++i)
      CHECK(c, out[i] == value[i / n * n + n - 1 - i % n],
            "shape %u: item %u reads from another group, or too early (LANG-003)", s, i);
  }
}

/* ---- shares, clocks, subgroups ---- */

static void run_spread(conform *c)
{
  static const uint32_t counts[] = {0, 1, 2, 63, 64, 65, 255, 256, 257, 1025, 4097, 10000};
  static const uint32_t grids[][2][3] = {{{1, 1, 1}, {1, 1, 1}},
                                         {{4, 1, 1}, {64, 1, 1}},
                                         {{2, 3, 1}, {4, 2, 2}},
                                         {{1, 1, 5}, {3, 1, 3}}};
  static uint32_t shares[10000];
  for (uint32_t g = 0; g < COUNT_OF(grids); ++g)
    for (uint32_t i = 0; i < COUNT_OF(counts); ++i) {
      conform_launch launch;
      conform_launch_init(&launch, conform_kernel(c, "grid", "spread"));
      memcpy(launch.desc.groups, grids[g][0], sizeof launch.desc.groups);
      memcpy(launch.desc.workgroup, grids[g][1], sizeof launch.desc.workgroup);
      conform_launch_host(&launch, VYRE_READ_WRITE, NULL, counts[i], 4, shares);
      conform_run(c, &launch);
      for (uint32_t k = 0; k < counts[i]; ++k)
        CHECK(c, shares[k] == 1, "VYRE_SPREAD over %u comes to %u %u times (LANG-007)", counts[i],
              k, shares[k]);
    }
}

static void run_clock(conform *c)
{
  uint32_t backs[512];
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "grid", "clock"));
  conform_launch_grid(&launch, 8, 64);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 512, 4, backs);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < 512; ++i)
    CHECK(c, !backs[i], "item %u saw the clock go back %u times (LANG-008)", i, backs[i]);
}

static void run_lanes(conform *c)
{
  static uint32_t lanes[512 * 6];
  const vyre_backend_device_info *info = conform_info(c);
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "grid", "lanes"));
  conform_launch_grid(&launch, 8, 64);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 512 * 6, 4, lanes);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < 512; ++i) {
    const uint32_t *of = &lanes[i * 6];
    CHECK(c, of[0] && of[1] < of[0], "item %u is lane %u of %u (LANG-009)", i, of[1], of[0]);
    CHECK(c, of[0] == lanes[0], "subgroups of one launch have %u and %u lanes (LANG-009)", of[0],
          lanes[0]);
    CHECK(c, of[5] == 1 && of[2] == of[3] && of[2] <= of[0] && of[2],
          "item %u: a ballot of all has %u ones, their sum is %u, of %u lanes (LANG-009)", i, of[2],
          of[3], of[0]);
    CHECK(c, of[4] == of[1], "item %u: its own lane comes back as %u, it is %u (LANG-009)", i,
          of[4], of[1]);
  }
  CHECK(c, !(info->capabilities & VYRE_CAP_SUBGROUPS) || lanes[0] > 1 || info->subgroup_size == 1,
        "VYRE_CAP_SUBGROUPS with a subgroup_size of %u, and kernels see 1 (CAP-001)",
        info->subgroup_size);
}

static const conform_case rows[] = {
    CORE_CASE("atomics.alone", "LANG-004", CONFORM_NEEDS_KERNELS, run_alone),
    CORE_CASE("atomics.gather", "LANG-004", CONFORM_NEEDS_KERNELS, run_gather),
    CORE_CASE("atomics.hand_out", "LANG-004", CONFORM_NEEDS_KERNELS, run_hand_out),
    CORE_CASE("atomics.hammer", "LANG-004", CONFORM_NEEDS_KERNELS, run_hammer),
    CORE_CASE("atomics.last", "LANG-004", CONFORM_NEEDS_KERNELS, run_last),
    CORE_CASE("atomics.rotate", "LANG-003", CONFORM_NEEDS_KERNELS, run_rotate),
    CORE_CASE("atomics.shapes", "LANG-003 LANG-005", CONFORM_NEEDS_KERNELS, run_shapes),
    CORE_CASE("atomics.spread", "LANG-007", CONFORM_NEEDS_KERNELS, run_spread),
    CORE_CASE("atomics.clock", "LANG-008", CONFORM_NEEDS_KERNELS, run_clock),
    CORE_CASE("atomics.lanes", "LANG-009 CAP-001", CONFORM_NEEDS_KERNELS, run_lanes),
};
CONFORM_TABLE(conform_cases_atomics, rows);
