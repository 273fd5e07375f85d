/*
 * test_grid.c - fused programs: every barrier holds, passes are counted and end where they should,
 * workgroups with barriers inside, a fault in one group while the others wait.
 */
#include "grid_help.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Each element comes from the far end of the other buffer: one that was read too early or too late
   spoils all that follow. */
#define TWIST                                                                                      \
  "VYRE_SEGMENT(there)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"                \
  "{\n"                                                                                            \
  "  vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, b);\n"                                   \
  "  if (i < n) b[i] = a[n - 1u - i] * 2654435761u + (vyre_u32)i;\n"                               \
  "}\n"                                                                                            \
  "VYRE_SEGMENT(back)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"                 \
  "{\n"                                                                                            \
  "  vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, a);\n"                                   \
  "  if (i < n) a[i] ^= b[(i * 7u + 3u) % n] + 1u;\n"                                              \
  "}\n"                                                                                            \
  "VYRE_ENTRY(there, (VYRE_PARAM_IN(0, a), VYRE_PARAM_INOUT(1, b)),"                               \
  " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"                                                          \
  "VYRE_ENTRY(back, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_IN(1, b)),"                                \
  " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"                                                          \
  "VYRE_FUSED(twist, " GRID_PARAMS ")\n"                                                           \
  "  VYRE_PASSES(4, 2)\n"                                                                          \
  "    VYRE_RUN(0, there, (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n"                                     \
  "    VYRE_RUN(1, back, (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n"                                      \
  "  VYRE_PASSES_END\n"                                                                            \
  "VYRE_FUSED_END\n"

/* Counts down to zero; the author's own word of change, and the comparing step. */
static const char plain_text[] = GRID_NAMES TWIST
    "VYRE_SEGMENT(down)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i >= vyre_count(c, a) || !a[i]) return;\n"
    "  a[i] -= 1u;\n"
    "  vyre_changed(c);\n"
    "}\n"
    "/* Writes 0 and then the old value again, or one more in place of an odd one. */\n"
    "VYRE_SEGMENT(wipe)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, a)) { b[i] = a[i]; a[i] = 0u; }\n"
    "}\n"
    "VYRE_SEGMENT(restore)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, a)) a[i] = b[i] + (b[i] & 7u ? 1u : 0u);\n"
    "}\n"
    "VYRE_SEGMENT(vyre_settle)(vyre_ctx *c, VYRE_IN(vyre_u8) a, VYRE_IN(vyre_u8) b,\n"
    "                          VYRE_INOUT(vyre_u8) vyre_shadow)\n"
    "{\n"
    "  vyre_u64 at = 0;\n"
    "  at = vyre_settle_bytes(c, a, vyre_count(c, a) * 4u, vyre_shadow, at);\n"
    "  at = vyre_settle_bytes(c, b, vyre_count(c, b) * 4u, vyre_shadow, at);\n"
    "}\n"
    "VYRE_ENTRY_CHANGED(down, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_INOUT(1, vyre_control)),"
    " (VYRE_ARG(0, a)), 1);\n"
    "VYRE_ENTRY(wipe, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_INOUT(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"
    "VYRE_ENTRY(restore, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_IN(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"
    "VYRE_ENTRY_SETTLE(vyre_settle, (VYRE_PARAM_IN(0, a), VYRE_PARAM_IN(1, b),"
    " VYRE_PARAM_INOUT(2, vyre_shadow), VYRE_PARAM_INOUT(3, vyre_control)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b), VYRE_ARG(2, vyre_shadow)), 3);\n"
    "VYRE_FUSED(declared, " GRID_PARAMS ")\n"
    "  VYRE_PASSES(4, 1)\n"
    "    VYRE_RUN_CHANGED(0, down, (VYRE_ARG(0, a)), 4)\n"
    "  VYRE_PASSES_END\n"
    "VYRE_FUSED_END\n"
    "VYRE_FUSED(exact, " GRID_PARAMS ")\n"
    "  VYRE_PASSES(4, 3)\n"
    "    VYRE_RUN(0, wipe, (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n"
    "    VYRE_RUN(1, restore, (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n"
    "    VYRE_RUN_CHANGED(2, vyre_settle, (VYRE_ARG(0, a), VYRE_ARG(1, b),"
    " VYRE_ARG(3, vyre_shadow)), 4)\n"
    "  VYRE_PASSES_END\n"
    "VYRE_FUSED_END\n";

/* The same twist in a source with barriers, and a segment that meets some. */
static const char barrier_text[] = GRID_NAMES TWIST
    "VYRE_SEGMENT(rotate)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_LOCAL(vyre_u32) s)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  vyre_u32 me = vyre_local_id(c, 0), n = vyre_local_size(c, 0), inside = i < vyre_count(c, "
    "a);\n"
    "  s[me] = inside ? a[i] : 0u;\n"
    "  vyre_barrier(c);\n"
    "  if (inside) a[i] = s[(me + 1u) % n] * 3u + 1u;\n"
    "  vyre_barrier(c);\n"
    "}\n"
    "VYRE_ENTRY(rotate, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_LOCAL(1, s)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, s)));\n"
    "VYRE_FUSED(rotating, " GRID_PARAMS ")\n"
    "  VYRE_PASSES(4, 3)\n"
    "    VYRE_RUN(0, there, (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n"
    "    VYRE_RUN(1, rotate, (VYRE_ARG(0, a), VYRE_ARG(2, s)))\n"
    "    VYRE_RUN(2, back, (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n"
    "  VYRE_PASSES_END\n"
    "VYRE_FUSED_END\n";

/* Ways to go wrong: b[0] is the item that does it, when its element of a has reached b[1]. */
#define FAULTY(name)                                                                               \
  "VYRE_ENTRY(" name ", (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_IN(1, b)),"                            \
  " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"                                                          \
  "VYRE_FUSED(fused_" name ", " GRID_PARAMS ")\n"                                                  \
  "  VYRE_PASSES(4, 1)\n"                                                                          \
  "    VYRE_RUN(0, " name ", (VYRE_ARG(0, a), VYRE_ARG(1, b)))\n"                                  \
  "  VYRE_PASSES_END\n"                                                                            \
  "VYRE_FUSED_END\n"
static const char fault_text[] = GRID_NAMES
    "VYRE_SEGMENT(wild)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i >= vyre_count(c, a)) return;\n"
    "  vyre_at(c, a, i) += 1u;\n"
    "  if (i == b[0] && a[i] == b[1]) vyre_at(c, a, i + 1000000u) = 1u;\n"
    "}\n"
    "VYRE_SEGMENT(wild_fiber)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  vyre_barrier(c);\n"
    "  if (i < vyre_count(c, a)) {\n"
    "    vyre_at(c, a, i) += 1u;\n"
    "    if (i == b[0] && a[i] == b[1]) vyre_at(c, a, i + 1000000u) = 1u;\n"
    "  }\n"
    "  vyre_barrier(c);\n"
    "}\n"
    "VYRE_SEGMENT(unequal)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, a)) a[i] += 1u;\n"
    "  if (i == b[0] && a[i] == b[1]) return;\n"
    "  vyre_barrier(c);\n"
    "}\n"
    "VYRE_SEGMENT(overflow)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i >= vyre_count(c, a)) return;\n"
    "  a[i] += 1u;\n"
    "  if (i == b[0] && a[i] == b[1]) a[i] = 1u << (32u + b[1]);\n"
    "}\n" FAULTY("wild") FAULTY("wild_fiber") FAULTY("unequal") FAULTY("overflow");

static cpu_plugin plugin;
static bool slow; /* a sanitizer's barriers and fibers cost many times as much */

static int set_up(void **state)
{
  (void)state;
  plugin_load(&plugin);
  slow = plugin.backend->sanitizer != VYRE_SANITIZER_NONE;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin_unload(&plugin);
  return 0;
}

/* -------- the same by hand -------- */

static void step_there(const uint32_t *a, uint32_t *b, uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i)
    b[i] = a[n - 1 - i] * 2654435761u + i;
}

static void step_back(uint32_t *a, const uint32_t *b, uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i)
    a[i] ^= b[((uint64_t)i * 7 + 3) % n] + 1;
}

static void step_rotate(uint32_t *a, uint32_t n, uint32_t workgroup)
{
  uint32_t old[1024];
  for (uint32_t first = 0; first < n; first += workgroup) {
    for (uint32_t i = 0; i < workgroup; ++i)
      old[i] = first + i < n ? a[first + i] : 0;
    for (uint32_t i = 0; i < workgroup && first + i < n; ++i)
      a[first + i] = old[(i + 1) % workgroup] * 3 + 1;
  }
}

typedef struct numbers {
  uint32_t *a, *b, *got;
} numbers;

static numbers numbers_make(uint32_t n)
{
  numbers made = {calloc(n, 4), calloc(n, 4), calloc(n, 4)};
  assert_true(made.a && made.b && made.got);
  for (uint32_t i = 0; i < n; ++i)
    made.a[i] = i * 40503u + 11u;
  return made;
}

static void numbers_free(numbers *made)
{
  free(made->a);
  free(made->b);
  free(made->got);
}

/* -------- barriers hold -------- */

/* Runs a twisting program on `n` elements and compares with the loops above. */
static void check_twist(grid *g, vyre_backend_kernel *kernel, bool rotates, uint32_t groups,
                        uint32_t workgroup, uint32_t passes)
{
  const uint32_t n = (uint32_t)g->count, each = (n + workgroup - 1) / workgroup;
  const uint32_t logical[3] = {each, each, each};
  numbers want = numbers_make(n);
  grid_put(g, g->a, want.a);
  grid_put(g, g->b, want.b);
  grid_control(g, passes, 0, logical, 3);
  vyre_dispatch_desc desc = grid_launch(g, kernel, groups, workgroup);
  run(g->plugin, g->device, &desc, NULL, 0);
  for (uint32_t p = 0; p < passes; ++p) {
    step_there(want.a, want.b, n);
    if (rotates)
      step_rotate(want.a, n, workgroup);
    step_back(want.a, want.b, n);
  }
  grid_get(g, g->a, want.got);
  if (memcmp(want.got, want.a, n * 4) != 0)
    fail_msg("a differs: %u groups of %u, %u elements", groups, workgroup, n);
  grid_get(g, g->b, want.got);
  if (memcmp(want.got, want.b, n * 4) != 0)
    fail_msg("b differs: %u groups of %u, %u elements", groups, workgroup, n);
  assert_int_equal(grid_word(g, VYRE_CONTROL_PASSES), passes);
  assert_int_equal(grid_word(g, VYRE_CONTROL_ARRIVED), 0);
  /* A group that is alone counts no barriers. */
  assert_int_equal(grid_word(g, VYRE_CONTROL_GENERATION),
                   groups == 1 ? 0 : passes * (rotates ? 3 : 2));
  numbers_free(&want);
}

static void barriers_hold(void **state)
{
  static const uint32_t counts[] = {1, 3, 63, 64, 65, 1000, 4099};
  static const uint32_t workgroups[] = {1, 7, 64, 256, 1024};
  (void)state;
  for (uint32_t threads = 1; threads <= 8; ++threads)
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i += slow ? 2 : 1) {
      grid g;
      grid_open(&g, &plugin, threads, counts[i]);
      vyre_backend_module *module = module_load(&plugin, g.device, plain_text, 0);
      vyre_backend_kernel *kernel = kernel_find(&plugin, module, "twist");
      check_twist(&g, kernel, false, threads, workgroups[(i + threads) % 5], slow ? 20 : 300);
      check_twist(&g, kernel, false, (threads + 1) / 2, workgroups[i % 5], 10);
      plugin.backend->module_unload(g.device, module);
      grid_close(&g);
    }
}

static void workgroup_barriers_inside(void **state)
{
  static const uint32_t counts[] = {1, 100, 1000};
  static const uint32_t workgroups[] = {1, 5, 32, 64};
  (void)state;
  for (uint32_t threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5)
    for (size_t i = 0; i < 3; ++i) {
      grid g;
      grid_open(&g, &plugin, threads, counts[i]);
      vyre_backend_module *module = module_load(&plugin, g.device, barrier_text, 0);
      for (size_t w = 0; w < 4; ++w) {
        check_twist(&g, kernel_find(&plugin, module, "rotating"), true, threads, workgroups[w],
                    slow ? 4 : 100);
        check_twist(&g, kernel_find(&plugin, module, "twist"), false, threads, workgroups[w], 10);
      }
      plugin.backend->module_unload(g.device, module);
      grid_close(&g);
    }
}

/* -------- passes -------- */

static uint32_t run_passes(grid *g, vyre_backend_kernel *kernel, uint32_t groups, uint32_t limit,
                           uint32_t tested, const uint32_t *a, uint32_t shared_turns)
{
  const uint32_t each = ((uint32_t)g->count + 15) / 16;
  const uint32_t logical[3] = {each, each, shared_turns};
  grid_put(g, g->a, a);
  grid_control(g, limit, tested, logical, 3);
  vyre_dispatch_desc desc = grid_launch(g, kernel, groups, 16);
  run(g->plugin, g->device, &desc, NULL, 0);
  return grid_word(g, VYRE_CONTROL_PASSES);
}

static void a_declared_end(void **state)
{
  enum { COUNT = 500, MOST = 37 };
  uint32_t a[COUNT], got[COUNT];
  (void)state;
  for (uint32_t i = 0; i < COUNT; ++i)
    a[i] = i % (MOST + 1);
  for (uint32_t groups = 1; groups <= 4; groups += groups < 2 ? 1 : 2) {
    grid g;
    grid_open(&g, &plugin, groups, COUNT);
    vyre_backend_module *module = module_load(&plugin, g.device, plain_text, 0);
    vyre_backend_kernel *kernel = kernel_find(&plugin, module, "declared");
    static const uint32_t limits[] = {0, 1, MOST - 1, MOST, MOST + 1, MOST + 2, UINT32_MAX};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); ++i) {
      /* The pass that changes nothing is counted, if the limit lets it run. */
      const uint32_t want = limits[i] < MOST + 1 ? limits[i] : MOST + 1;
      const uint32_t left = want < MOST ? want : MOST;
      assert_int_equal(run_passes(&g, kernel, groups, limits[i], 1, a, 1), want);
      assert_int_equal(grid_word(&g, VYRE_CONTROL_CHANGED), left);
      grid_get(&g, g.a, got);
      for (uint32_t e = 0; e < COUNT; ++e)
        assert_int_equal(got[e], a[e] > left ? a[e] - left : 0);
    }
    /* Not tested: all passes run. */
    assert_int_equal(run_passes(&g, kernel, groups, MOST + 20, 0, a, 1), MOST + 20);
    assert_int_equal(grid_word(&g, VYRE_CONTROL_CHANGED), MOST);
    plugin.backend->module_unload(g.device, module);
    grid_close(&g);
  }
}

static void an_exact_end(void **state)
{
  static const uint32_t counts[] = {1, 2, 3, 5, 129, 500, 2001};
  (void)state;
  for (uint32_t groups = 1; groups <= 3; ++groups)
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
      grid g;
      grid_open(&g, &plugin, groups, counts[i]);
      numbers made = numbers_make(counts[i]);
      vyre_backend_module *module = module_load(&plugin, g.device, plain_text, 0);
      vyre_backend_kernel *kernel = kernel_find(&plugin, module, "exact");
      /* Only the last element counts up, to a multiple of 8; k steps change something in k passes,
         and b, which is a pass behind, in one more. */
      for (uint32_t k = 0; k < 4; ++k) {
        for (uint32_t e = 0; e < counts[i]; ++e)
          made.a[e] = e * 8u;
        made.a[counts[i] - 1] -= k;
        /* State 0 lies in the shadow: a, and b from the next multiple of 16. */
        uint64_t at = (counts[i] * 4u + 15u) / 16u * 16u;
        vyre_error err = VYRE_ERROR_INIT;
        const vyre_backend *b = plugin.backend;
        assert_int_equal(b->buffer_upload(g.device, g.shadow, 0, made.a, counts[i] * 4, &err), 0);
        assert_int_equal(b->buffer_upload(g.device, g.shadow, at, made.a, counts[i] * 4, &err), 0);
        const uint32_t want = k ? k + 2 : 1;
        assert_int_equal(run_passes(&g, kernel, groups, UINT32_MAX, 1, made.a, 2), want);
        assert_int_equal(grid_word(&g, VYRE_CONTROL_CHANGED), want - 1);
        grid_get(&g, g.b, made.got);
        assert_int_equal(made.got[counts[i] - 1], counts[i] * 8u - 8u);
      }
      plugin.backend->module_unload(g.device, module);
      numbers_free(&made);
      grid_close(&g);
    }
}

/* -------- faults -------- */

static void check_fault(const char *name, bool debug, uint32_t threads, const char *part)
{
  enum { COUNT = 96 };
  char fused[64] = "fused_";
  uint32_t zero[COUNT] = {0}, b[COUNT] = {0};
  grid g;
  strcat(fused, name);
  grid_open(&g, &plugin, threads, COUNT);
  vyre_backend_module *module =
      module_load(&plugin, g.device, fault_text, debug ? VYRE_MODULE_DEBUG : 0);
  vyre_backend_module *good = module_load(&plugin, g.device, barrier_text, 0);
  vyre_backend_kernel *kernel = kernel_find(&plugin, module, fused);
  const uint32_t logical[1] = {COUNT / 8};
  /* In every group of the launch once, in the first pass and later. */
  for (uint32_t item = 0; item < COUNT; item += COUNT / threads)
    for (uint32_t pass = 1; pass <= 5; pass += 4) {
      vyre_error err = VYRE_ERROR_INIT;
      b[0] = item;
      b[1] = pass;
      grid_put(&g, g.a, zero);
      grid_put(&g, g.b, b);
      grid_control(&g, 20, 0, logical, 1);
      vyre_dispatch_desc desc = grid_launch(&g, kernel, threads, 8);
      assert_int_equal(run_try(&plugin, g.device, &desc, NULL, 0, &err),
                       VYRE_ERROR_DISPATCH_FAILED);
      assert_contains(err.message, part);
    }
  /* The threads are as good as before. */
  check_twist(&g, kernel_find(&plugin, good, "rotating"), true, threads, 8, 5);
  plugin.backend->module_unload(g.device, good);
  plugin.backend->module_unload(g.device, module);
  grid_close(&g);
}

static void a_fault_lets_nobody_wait(void **state)
{
  static const uint32_t threads[] = {1, 2, 4, 8};
  (void)state;
  for (size_t i = 0; i < 4; i += slow ? 2 : 1) {
    check_fault("wild", true, threads[i], "kernel wild, pass ");
    check_fault("wild_fiber", true, threads[i], "is outside buffer a of 96 elements");
    check_fault("unequal", false, threads[i], "kernel unequal, pass ");
    check_fault("overflow", true, threads[i], "a shift by the width");
  }
}

/* -------- where it runs -------- */

static const char where_text[] =
    GRID_NAMES "VYRE_SEGMENT(where)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
               "{\n"
               "  vyre_u64 here = (vyre_u64)__builtin_frame_address(0);\n"
               "  if (vyre_global_id(c, 0)) return;\n"
               "  a[0] = (vyre_u32)here;\n"
               "  a[1] = (vyre_u32)(here >> 32);\n"
               "}\n"
               "VYRE_ENTRY(where, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n"
               "VYRE_FUSED(fused, " GRID_PARAMS ")\n"
               "  VYRE_PASSES(4, 2)\n"
               "    VYRE_RUN(0, where, (VYRE_ARG(0, a)))\n"
               "    VYRE_RUN(1, where, (VYRE_ARG(0, a)))\n"
               "  VYRE_PASSES_END\n"
               "VYRE_FUSED_END\n";

/* True if the kernel ran on the stack of the thread that calls this. */
static bool runs_here(grid *g, vyre_backend_kernel *kernel, const uint32_t groups[2])
{
  uint32_t data[2] = {0};
  pthread_attr_t about;
  void *stack = NULL;
  size_t size = 0;
  vyre_backend_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  grid_control(g, 1, 0, groups, 2);
  vyre_dispatch_desc desc = grid_launch(g, kernel, 1, 8);
  assert_ok(plugin.backend->dispatch(g->device, &desc, &pending, &err), err);
  /* Who waits without a limit would help. */
  assert_ok(plugin.backend->pending_wait(pending, 60000000000u, &err), err);
  plugin.backend->pending_release(pending);
  grid_get(g, g->a, data);
  assert_int_equal(pthread_getattr_np(pthread_self(), &about), 0);
  assert_int_equal(pthread_attr_getstack(&about, &stack, &size), 0);
  pthread_attr_destroy(&about);
  const uint64_t here = data[0] | (uint64_t)data[1] << 32;
  return here - (uint64_t)(uintptr_t)stack < size;
}

/* Long ones give the caller its thread back, behind an empty step too. */
static void only_short_ones_run_in_the_caller(void **state)
{
  static const uint32_t little[2] = {0, 1}, much[2] = {0, 1u << 20};
  (void)state;
  grid g;
  grid_open(&g, &plugin, 1, 2);
  vyre_backend_module *module = module_load(&plugin, g.device, where_text, 0);
  vyre_backend_kernel *kernel = kernel_find(&plugin, module, "fused");
  assert_true(runs_here(&g, kernel, little));
  assert_false(runs_here(&g, kernel, much));
  plugin.backend->module_unload(g.device, module);
  grid_close(&g);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(barriers_hold),
      cmocka_unit_test(workgroup_barriers_inside),
      cmocka_unit_test(a_declared_end),
      cmocka_unit_test(an_exact_end),
      cmocka_unit_test(a_fault_lets_nobody_wait),
      cmocka_unit_test(only_short_ones_run_in_the_caller),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
