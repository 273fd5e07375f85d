/*
 * gridsync.c - programs of several segments and passes through the core, on routes that are forced:
 * one fused launch (NATIVE), and split into launches or passes by core and plugin.  What they must
 * come to is computed here, in plain C.
 */
#include "conformance/steps.h"
#include "conformance/through.h"

#include <string.h>

#define MOST 20000u

static uint32_t one[MOST], two[MOST], three[MOST], scratch[MOST];

#define I "  const vyre_u64 i = vyre_global_id(c, 0);\n"

/* ---- elements that come from far away ---- */

static const char far_source[] =
    "VYRE_SEGMENT(far)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
    "{\n" I "  const vyre_u64 n = vyre_count(c, b);\n"
    "  if (i < n) vyre_at(c, b, i) = vyre_at(c, a, (i * 7u + 3u) % n) * 5u + (vyre_u32)i;\n"
    "}\n"
    "VYRE_SEGMENT(back)(vyre_ctx *c, VYRE_IN(vyre_u32) b, VYRE_INOUT(vyre_u32) a)\n"
    "{\n" I "  const vyre_u64 n = vyre_count(c, a);\n"
    "  if (i < n) vyre_at(c, a, i) = vyre_at(c, b, n - 1u - i) ^ vyre_shr_u32(vyre_at(c, b, i), "
    "3);\n"
    "}\n";

static void far_pass(uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i)
    two[i] = one[((uint64_t)i * 7 + 3) % n] * 5 + i;
  for (uint32_t i = 0; i < n; ++i)
    one[i] = two[n - 1 - i] ^ (two[i] >> 3);
}

static void check_far(conform *c, bool native)
{
  static const uint32_t sizes[] = {0,   1,   2,    63,   64,   65,   255,
                                   256, 257, 1025, 2048, 4097, 4099, MOST};
  static const uint32_t items[] = {1, 64, 100, 256};
  static uint32_t a[MOST];
  through t;
  through_open(c, &t);
  for (uint32_t k = 0; k < COUNT_OF(items); ++k) {
    through_program p;
    vyre_program *program = NULL;
    through_program_init(&p, "far", far_source);
    through_program_buffer(&p, "a", VYRE_READ_WRITE, 4, 0);
    through_program_buffer(&p, "b", VYRE_READ_WRITE, 4, 0);
    through_program_segment(&p, "far", "a +b");
    through_program_segment(&p, "back", "b +a");
    p.desc.workgroup[0] = items[k];
    p.desc.workgroup[1] = p.desc.workgroup[2] = 1;
    p.desc.iterations = 3;
    p.desc.converge = VYRE_CONVERGE_OFF;
    program = through_program_create(c, &t, &p);
    for (uint32_t s = 0; s < COUNT_OF(sizes); ++s) {
      const uint32_t n = sizes[s];
      const vyre_bytes inputs[2] = {{a, n * 4u}, {scratch, n * 4u}};
      const vyre_bytes outputs[2] = {{one, n * 4u}, {two, n * 4u}};
      const through_want want = {outputs, 2, 3, VYRE_CONVERGED_NOT_TESTED};
      if (items[k] == 1 && n > 5000)
        continue;
      conform_random_fill(c, a, n * 4u);
      memcpy(one, a, n * 4u);
      for (int pass = 0; n && pass < 3; ++pass)
        far_pass(n);
      through_check(c, &t, program, NULL, inputs, 2, &want, native, "far");
    }
    vyre_program_destroy(program);
  }
  through_close(&t);
}

/* ---- prefix sums: barriers and workgroup memory in segments ---- */

static const char scan_source[] =
    "VYRE_SEGMENT(block)(vyre_ctx *c, VYRE_INOUT(vyre_u32) x, VYRE_INOUT(vyre_u32) sums,\n"
    "                    VYRE_LOCAL(vyre_u32) s)\n"
    "{\n" I "  const vyre_u32 l = vyre_local_id(c, 0), size = vyre_local_size(c, 0);\n"
    "  s[l] = i < vyre_count(c, x) ? vyre_at(c, x, i) : 0u;\n"
    "  for (vyre_u32 d = 1u; d < size; d *= 2u) {\n"
    "    vyre_u32 before = 0u;\n"
    "    vyre_barrier(c);\n"
    "    if (l >= d) before = s[l - d];\n"
    "    vyre_barrier(c);\n"
    "    s[l] += before;\n"
    "  }\n"
    "  if (i < vyre_count(c, x)) vyre_at(c, x, i) = s[l];\n"
    "  if (l == size - 1u && vyre_group_id(c, 0) < vyre_count(c, sums))\n"
    "    vyre_at(c, sums, vyre_group_id(c, 0)) = s[l];\n"
    "}\n"
    "VYRE_SEGMENT(carry)(vyre_ctx *c, VYRE_INOUT(vyre_u32) sums)\n"
    "{\n" I "  vyre_u32 before = 0u;\n"
    "  if (i == 0u)\n"
    "    for (vyre_u64 k = 0u; k < vyre_count(c, sums); ++k) {\n"
    "      const vyre_u32 own = vyre_at(c, sums, k);\n"
    "      vyre_at(c, sums, k) = before;\n"
    "      before += own;\n"
    "    }\n"
    "}\n"
    "VYRE_SEGMENT(add)(vyre_ctx *c, VYRE_IN(vyre_u32) sums, VYRE_INOUT(vyre_u32) x)\n"
    "{\n" I
    "  if (i < vyre_count(c, x)) vyre_at(c, x, i) += vyre_at(c, sums, vyre_group_id(c, 0));\n"
    "}\n";

/* One pass, and the sums of the blocks as add() has seen them. */
static void scan_pass(uint32_t n, uint32_t items)
{
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (i % items == 0)
      two[i / items] = sum;
    one[i] = sum += one[i];
  }
}

static void check_scan(conform *c, bool native)
{
  static const uint32_t sizes[] = {1, 63, 64, 65, 257, 1025, 4099};
  static const uint32_t items[] = {1, 33, 64, 256};
  static uint32_t x[MOST];
  through t;
  through_open(c, &t);
  for (uint32_t k = 0; k < COUNT_OF(items); ++k) {
    through_program p;
    vyre_program *program = NULL;
    through_program_init(&p, "scan", scan_source);
    through_program_buffer(&p, "x", VYRE_READ_WRITE, 4, 0);
    through_program_buffer(&p, "sums", VYRE_READ_WRITE, 4, 0);
    through_program_buffer(&p, "s", VYRE_WORKGROUP, 4, items[k]);
    through_program_segment(&p, "block", "+x +sums ~s");
    through_program_segment(&p, "carry", "+sums");
    through_program_segment(&p, "add", "sums +x");
    p.desc.workgroup[0] = items[k];
    p.desc.workgroup[1] = p.desc.workgroup[2] = 1;
    p.desc.iterations = 2;
    p.desc.converge = VYRE_CONVERGE_OFF;
    program = through_program_create(c, &t, &p);
    for (uint32_t s = 0; s < COUNT_OF(sizes); ++s) {
      const uint32_t n = sizes[s], groups = (n + items[k] - 1) / items[k];
      const vyre_bytes inputs[2] = {{x, n * 4u}, {scratch, groups * 4u}};
      const vyre_bytes outputs[2] = {{one, n * 4u}, {two, groups * 4u}};
      const through_want want = {outputs, 2, 2, VYRE_CONVERGED_NOT_TESTED};
      conform_random_fill(c, x, n * 4u);
      memcpy(one, x, n * 4u);
      scan_pass(n, items[k]);
      scan_pass(n, items[k]);
      through_check(c, &t, program, NULL, inputs, 2, &want, native, "scan");
    }
    vyre_program_destroy(program);
  }
  through_close(&t);
}

/* ---- a sum that goes on from segment to segment and from pass to pass ---- */

static const char sum_source[] =
    "VYRE_SEGMENT(gather)(vyre_ctx *c, VYRE_IN(vyre_u32) x, VYRE_INOUT(vyre_u32) total)\n"
    "{\n" I "  if (i < vyre_count(c, x))\n"
    "    vyre_atomic_add_u32(&vyre_at(c, total, 0), vyre_at(c, x, i), VYRE_RELAXED,\n"
    "                        VYRE_SCOPE_DEVICE);\n"
    "}\n"
    "VYRE_SEGMENT(use)(vyre_ctx *c, VYRE_IN(vyre_u32) total, VYRE_INOUT(vyre_u32) x)\n"
    "{\n" I "  if (i < vyre_count(c, x))\n"
    "    vyre_at(c, x, i) = vyre_at(c, x, i) * 3u + vyre_at(c, total, 0);\n"
    "}\n"
    "VYRE_SEGMENT(most)(vyre_ctx *c, VYRE_IN(vyre_u32) x, VYRE_INOUT(vyre_u32) total)\n"
    "{\n" I "  if (i < vyre_count(c, x))\n"
    "    vyre_atomic_max_u32(&vyre_at(c, total, 1), vyre_at(c, x, i), VYRE_RELAXED,\n"
    "                        VYRE_SCOPE_DEVICE);\n"
    "}\n";

static void sum_pass(uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i)
    two[0] += one[i];
  for (uint32_t i = 0; i < n; ++i)
    one[i] = one[i] * 3 + two[0];
  for (uint32_t i = 0; i < n; ++i)
    two[1] = one[i] > two[1] ? one[i] : two[1];
}

static void check_sum(conform *c, bool native)
{
  static const uint32_t sizes[] = {1, 63, 64, 65, 1025, 4099, 9000};
  static uint32_t x[MOST], total[2];
  through_program p;
  vyre_program *program = NULL;
  through t;
  through_open(c, &t);
  through_program_init(&p, "sum", sum_source);
  through_program_buffer(&p, "x", VYRE_READ_WRITE, 4, 0);
  through_program_buffer(&p, "total", VYRE_READ_WRITE, 4, 0);
  through_program_segment(&p, "gather", "x +total");
  through_program_segment(&p, "use", "total +x");
  through_program_segment(&p, "most", "x +total");
  for (uint32_t s = 0; s < 3; ++s)
    p.segments[s].groups[1] = p.segments[s].groups[2] = 1;
  p.desc.iterations = 40;
  p.desc.converge = VYRE_CONVERGE_OFF;
  for (uint32_t s = 0; s < 3; ++s)
    p.segments[s].groups[0] = (9000 + 63) / 64; /* "total" alone would give one */
  program = through_program_create(c, &t, &p);
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (uint32_t passes = 1; passes <= 5; passes += 2) {
      const uint32_t n = sizes[s];
      const vyre_bytes inputs[2] = {{x, n * 4u}, {total, 8}};
      const vyre_bytes outputs[2] = {{one, n * 4u}, {two, 8}};
      const through_want want = {outputs, 2, passes, VYRE_CONVERGED_NOT_TESTED};
      vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
      options.iterations = passes;
      conform_random_fill(c, x, n * 4u);
      conform_random_fill(c, total, 8);
      memcpy(one, x, n * 4u);
      memcpy(two, total, 8);
      for (uint32_t pass = 0; pass < passes; ++pass)
        sum_pass(n);
      through_check(c, &t, program, &options, inputs, 2, &want, native, "sum");
    }
  vyre_program_destroy(program);
  through_close(&t);
}

/* ---- where a run ends ---- */

static const char up_source[] =
    "typedef struct constants { vyre_u32 limit; } constants;\n"
    "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n" I "  if (i < vyre_count(c, a) && vyre_at(c, a, i) < vyre_push(c, constants)->limit) {\n"
    "    vyre_at(c, a, i) += 1u;\n"
    "    vyre_changed(c);\n"
    "  }\n"
    "}\n"
    "VYRE_SEGMENT(turn)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
    "{\n" I "  const vyre_u64 n = vyre_count(c, b);\n"
    "  if (i < n) vyre_at(c, b, i) = vyre_at(c, a, n - 1u - i);\n"
    "}\n";

/* The first pass that changes nothing is k; only the last element makes the others look on. */
static void one_end(conform *c, const through *t, vyre_program *program, uint32_t n, uint32_t k,
                    uint32_t budget, bool native)
{
  const uint32_t limit = k - 1, passes = k < budget ? k : budget;
  const uint32_t last = limit < budget ? limit : budget;
  const vyre_bytes inputs[2] = {{three, n * 4u}, {scratch, n * 4u}};
  const vyre_bytes outputs[2] = {{one, n * 4u}, {two, n * 4u}};
  const through_want want = {outputs, 2, passes,
                             budget == 1   ? VYRE_CONVERGED_NOT_TESTED
                             : budget >= k ? VYRE_CONVERGED_YES
                                           : VYRE_CONVERGED_NO};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  options.iterations = budget;
  options.push = &limit;
  options.push_size = sizeof limit;
  for (uint32_t i = 0; i < n; ++i)
    three[i] = one[i] = limit;
  three[n - 1] = 0;
  one[n - 1] = last;
  for (uint32_t i = 0; i < n; ++i)
    scratch[i] = two[i] = one[n - 1 - i];
  scratch[0] = limit ? 0 : two[0];
  through_check(c, t, program, &options, inputs, 2, &want, native, "up");
  memset(scratch, 0, sizeof scratch);
}

static void check_ends(conform *c, bool native, vyre_converge converge)
{
  static const uint32_t sizes[] = {1, 70, 4099};
  through_program p;
  vyre_program *program = NULL;
  through t;
  through_open(c, &t);
  through_program_init(&p, "up", up_source);
  through_program_buffer(&p, "a", VYRE_READ_WRITE, 4, 0);
  through_program_buffer(&p, "b", VYRE_READ_WRITE, 4, 0);
  through_program_segment(&p, "up", "+a");
  through_program_segment(&p, "turn", "a +b");
  p.desc.iterations = 100;
  p.desc.push_size = 4;
  p.desc.converge = converge;
  program = through_program_create(c, &t, &p);
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (uint32_t k = 1; k <= 6; ++k) {
      one_end(c, &t, program, sizes[s], k, 1, native);
      one_end(c, &t, program, sizes[s], k, 100, native);
      for (uint32_t budget = k > 2 ? k - 1 : 2; budget <= k + 1; ++budget)
        one_end(c, &t, program, sizes[s], k, budget, native);
    }
  vyre_program_destroy(program);
  through_close(&t);
}

/* ---- a search in a graph ---- */

static const char reach_source[] =
    "VYRE_SEGMENT(spread)(vyre_ctx *c, VYRE_IN(vyre_u32) from, VYRE_IN(vyre_u32) to,\n"
    "                     VYRE_IN(vyre_u32) seen, VYRE_INOUT(vyre_u32) next)\n"
    "{\n" I "  if (i < vyre_count(c, from) && vyre_at(c, seen, vyre_at(c, from, i)) != 0u)\n"
    "    vyre_atomic_or_u32(&vyre_at(c, next, vyre_at(c, to, i)), 1u, VYRE_RELAXED,\n"
    "                       VYRE_SCOPE_DEVICE);\n"
    "}\n"
    "VYRE_SEGMENT(adopt)(vyre_ctx *c, VYRE_IN(vyre_u32) next, VYRE_INOUT(vyre_u32) seen)\n"
    "{\n" I "  if (i < vyre_count(c, seen) && vyre_at(c, next, i) != vyre_at(c, seen, i)) {\n"
    "    vyre_at(c, seen, i) = vyre_at(c, next, i);\n"
    "    vyre_changed(c);\n"
    "  }\n"
    "}\n";

/* Runs it out; returns the passes, the confirming one included. */
static uint32_t reach(const uint32_t *from, const uint32_t *to, uint32_t edges, uint32_t nodes)
{
  for (uint32_t pass = 1;; ++pass) {
    bool changed = false;
    for (uint32_t e = 0; e < edges; ++e)
      two[to[e]] |= one[from[e]];
    for (uint32_t i = 0; i < nodes; ++i) {
      changed = changed || one[i] != two[i];
      one[i] = two[i];
    }
    if (!changed)
      return pass;
  }
}

static void check_reach(conform *c, bool native, vyre_converge converge)
{
  static uint32_t from[MOST], to[MOST], seen[MOST];
  through_program p;
  vyre_program *program = NULL;
  through t;
  through_open(c, &t);
  through_program_init(&p, "reach", reach_source);
  through_program_buffer(&p, "from", VYRE_READ_ONLY, 4, 0);
  through_program_buffer(&p, "to", VYRE_READ_ONLY, 4, 0);
  through_program_buffer(&p, "seen", VYRE_READ_WRITE, 4, 0);
  through_program_buffer(&p, "next", VYRE_READ_WRITE, 4, 0);
  through_program_segment(&p, "spread", "from to seen +next");
  through_program_segment(&p, "adopt", "next +seen");
  p.segments[0].groups[1] = p.segments[0].groups[2] = 1;
  p.desc.iterations = 500;
  p.desc.converge = converge;
  p.segments[0].groups[0] = 4099 * 2 / 64 + 1; /* one item an edge, not one a node */
  program = through_program_create(c, &t, &p);
  for (uint32_t turn = 0; turn < 8; ++turn) {
    static const uint32_t sizes[] = {1, 2, 65, 200, 1025, 4099};
    const uint32_t nodes = sizes[turn % COUNT_OF(sizes)], edges = nodes * 2;
    const uint32_t step = 1 + nodes / 100 + (uint32_t)conform_random_below(c, 4);
    const vyre_bytes inputs[4] = {
        {from, edges * 4u}, {to, edges * 4u}, {seen, nodes * 4u}, {seen, nodes * 4u}};
    const vyre_bytes outputs[2] = {{one, nodes * 4u}, {two, nodes * 4u}};
    through_want want = {outputs, 2, 0, VYRE_CONVERGED_YES};
    /* Edges that lead on by about `step`, so that there are some passes. */
    for (uint32_t e = 0; e < edges; ++e) {
      from[e] = (uint32_t)conform_random_below(c, nodes);
      to[e] = (from[e] + 1 + (uint32_t)conform_random_below(c, 4 * step)) % nodes;
    }
    memset(seen, 0, sizeof seen);
    seen[conform_random_below(c, nodes)] = 1;
    memcpy(one, seen, nodes * 4u);
    memcpy(two, seen, nodes * 4u);
    want.passes = reach(from, to, edges, nodes);
    through_check(c, &t, program, NULL, inputs, 4, &want, native, "reach");
  }
  vyre_program_destroy(program);
  through_close(&t);
}

/* ---- grids of two and three dimensions ---- */

static const char grid_source[] =
    "typedef struct sizes { vyre_u32 x, y, z; } sizes;\n"
    "VYRE_FUNCTION vyre_u32 place(vyre_ctx *c)\n"
    "{\n"
    "  const sizes n = *vyre_push(c, sizes);\n"
    "  const vyre_u64 x = vyre_global_id(c, 0), y = vyre_global_id(c, 1), z = vyre_global_id(c, "
    "2);\n"
    "  return x < n.x && y < n.y && z < n.z ? (vyre_u32)(x + n.x * (y + n.y * z)) : "
    "0xffffffffu;\n"
    "}\n"
    "VYRE_SEGMENT(there)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
    "{\n"
    "  const vyre_u32 at = place(c), n = (vyre_u32)vyre_count(c, a);\n"
    "  if (at < n) vyre_at(c, b, n - 1u - at) = vyre_at(c, a, at) * 9u + vyre_group_id(c, 1) * 0u "
    "+ at;\n"
    "}\n"
    "VYRE_SEGMENT(again)(vyre_ctx *c, VYRE_IN(vyre_u32) b, VYRE_INOUT(vyre_u32) a)\n"
    "{\n"
    "  const vyre_u32 at = place(c), n = (vyre_u32)vyre_count(c, b);\n"
    "  if (at < n) vyre_at(c, a, at) = vyre_at(c, b, (at * 5u + 1u) % n) + vyre_at(c, b, at);\n"
    "}\n";

static void check_grid(conform *c, bool native)
{
  static const uint32_t shapes[][2][3] = {{{5, 7, 3}, {4, 2, 2}},   {{1, 65, 1}, {1, 32, 1}},
                                          {{3, 1, 70}, {2, 1, 16}}, {{64, 33, 2}, {8, 8, 1}},
                                          {{17, 17, 9}, {5, 3, 2}}, {{1, 1, 1}, {1, 1, 1}}};
  static uint32_t a[MOST];
  through t;
  through_open(c, &t);
  for (uint32_t k = 0; k < COUNT_OF(shapes); ++k) {
    const uint32_t *size = shapes[k][0], n = size[0] * size[1] * size[2];
    const vyre_bytes inputs[2] = {{a, n * 4u}, {scratch, n * 4u}};
    const vyre_bytes outputs[2] = {{one, n * 4u}, {two, n * 4u}};
    const through_want want = {outputs, 2, 2, VYRE_CONVERGED_NOT_TESTED};
    vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
    through_program p;
    vyre_program *program = NULL;
    through_program_init(&p, "grid", grid_source);
    through_program_buffer(&p, "a", VYRE_READ_WRITE, 4, 0);
    through_program_buffer(&p, "b", VYRE_READ_WRITE, 4, 0);
    through_program_segment(&p, "there", "a +b");
    through_program_segment(&p, "again", "b +a");
    memcpy(p.desc.workgroup, shapes[k][1], sizeof p.desc.workgroup);
    for (int d = 0; d < 3; ++d)
      p.desc.elements[d] = size[d];
    p.desc.push_size = 12;
    p.desc.iterations = 2;
    p.desc.converge = VYRE_CONVERGE_OFF;
    program = through_program_create(c, &t, &p);
    conform_random_fill(c, a, n * 4u);
    memcpy(one, a, n * 4u);
    for (int pass = 0; pass < 2; ++pass) {
      for (uint32_t i = 0; i < n; ++i)
        two[n - 1 - i] = one[i] * 9 + i;
      for (uint32_t i = 0; i < n; ++i)
        one[i] = two[(i * 5 + 1) % n] + two[i];
    }
    options.push = size;
    options.push_size = 12;
    through_check(c, &t, program, &options, inputs, 2, &want, native, "grid");
    vyre_program_destroy(program);
  }
  through_close(&t);
}

/* ---- rows ---- */

#define BOTH(name, call_native, call_split)                                                        \
  static void run_native_##name(conform *c)                                                        \
  {                                                                                                \
    call_native;                                                                                   \
  }                                                                                                \
  static void run_split_##name(conform *c)                                                         \
  {                                                                                                \
    call_split;                                                                                    \
  }
BOTH(far, check_far(c, true), check_far(c, false))
BOTH(scan, check_scan(c, true), check_scan(c, false))
BOTH(sum, check_sum(c, true), check_sum(c, false))
BOTH(exact_end, check_ends(c, true, VYRE_CONVERGE_EXACT), check_ends(c, false, VYRE_CONVERGE_EXACT))
BOTH(declared_end, check_ends(c, true, VYRE_CONVERGE_DECLARED),
     check_ends(c, false, VYRE_CONVERGE_DECLARED))
BOTH(exact_reach, check_reach(c, true, VYRE_CONVERGE_EXACT),
     check_reach(c, false, VYRE_CONVERGE_EXACT))
BOTH(declared_reach, check_reach(c, true, VYRE_CONVERGE_DECLARED),
     check_reach(c, false, VYRE_CONVERGE_DECLARED))
BOTH(grid, check_grid(c, true), check_grid(c, false))

#define ROWS(name)                                                                                 \
  {"gridsync.native_" #name,                                                                       \
   "DISP-011 KRN-002",                                                                             \
   CONFORM_GRIDSYNC_NATIVE,                                                                        \
   VYRE_CAP_BUFFERS,                                                                               \
   CONFORM_NEEDS_NATIVE | CONFORM_NEEDS_VYRE_C,                                                    \
   0,                                                                                              \
   run_native_##name},                                                                             \
  {                                                                                                \
    "gridsync.split_" #name, "DISP-020 DISP-030 PASS-001 PASS-003", CONFORM_GRIDSYNC_EMULATED, 0,  \
        CONFORM_NEEDS_VYRE_C, 0, run_split_##name                                                  \
  }

static const conform_case rows[] = {
    ROWS(far),         ROWS(scan),           ROWS(sum),  ROWS(exact_end), ROWS(declared_end),
    ROWS(exact_reach), ROWS(declared_reach), ROWS(grid),
};
CONFORM_TABLE(conform_cases_gridsync, rows);
