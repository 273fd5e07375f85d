/*
 * test_barriers.c - workgroups with barriers: items as fibers, and items that break the rule.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static const char kernels[] =
    "#define VYRE_BUFFER_a 0\n"
    "#define VYRE_BUFFER_out 1\n"
    "#define VYRE_BUFFER_s 2\n"
    "/* A tree in workgroup memory: the sum of each group's elements. */\n"
    "VYRE_SEGMENT(sum)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) out,\n"
    "                  VYRE_LOCAL(vyre_u32) s)\n"
    "{\n"
    "  vyre_u32 me = vyre_local_id(c, 0), n = vyre_local_size(c, 0), left;\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  s[me] = i < vyre_count(c, a) ? a[i] : 0u;\n"
    "  vyre_barrier(c);\n"
    "  for (left = n; left > 1u; left = (left + 1u) / 2u) {\n"
    "    vyre_u32 half = (left + 1u) / 2u;\n"
    "    vyre_u32 add = me + half < left ? s[me + half] : 0u;\n"
    "    vyre_barrier(c);\n"
    "    s[me] += add;\n"
    "    vyre_barrier(c);\n"
    "  }\n"
    "  if (me == 0u) out[vyre_group_id(c, 0)] = s[0];\n"
    "}\n"
    "/* Barriers in nested loops: items pass a token round, each to the next. */\n"
    "VYRE_SEGMENT(token)(vyre_ctx *c, VYRE_OUT(vyre_u32) out, VYRE_LOCAL(vyre_u32) s)\n"
    "{\n"
    "  vyre_u32 n = vyre_local_size(c, 0) * vyre_local_size(c, 1) * vyre_local_size(c, 2);\n"
    "  vyre_u32 me = vyre_local_id(c, 0) + vyre_local_size(c, 0) *\n"
    "    (vyre_local_id(c, 1) + vyre_local_size(c, 1) * vyre_local_id(c, 2));\n"
    "  vyre_u32 round, step, value = me;\n"
    "  for (round = 0; round < 3u; ++round)\n"
    "    for (step = 0; step < n; ++step) {\n"
    "      s[me] = value;\n"
    "      vyre_barrier(c);\n"
    "      value = s[(me + 1u) % n] + 1u;\n"
    "      vyre_barrier(c);\n"
    "    }\n"
    "  out[vyre_group_id(c, 0) * n + me] = value;\n"
    "}\n"
    "/* The source has barriers, this segment meets none. */\n"
    "VYRE_SEGMENT(none)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
    "{\n"
    "  out[vyre_global_id(c, 0)] = (vyre_u32)vyre_global_id(c, 0) * 7u;\n"
    "  if (vyre_local_size(c, 0) == 2000u) vyre_barrier(c);\n"
    "}\n"
    "VYRE_SEGMENT(unequal)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
    "{\n"
    "  if (vyre_local_id(c, 0) == out[0]) return;\n"
    "  vyre_barrier(c);\n"
    "  if (vyre_local_id(c, 0) == 0u) vyre_atomic_store_u32(&out[1], 1u, VYRE_RELAXED, "
    "VYRE_SCOPE_DEVICE);\n"
    "}\n"
    "VYRE_SEGMENT(late)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
    "{\n"
    "  if (vyre_local_id(c, 0) == 5u) vyre_barrier(c);\n"
    "  vyre_atomic_store_u32(&out[1], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);\n"
    "}\n"
    "VYRE_SEGMENT(wild)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n"
    "  vyre_barrier(c);\n"
    "  vyre_at(c, a, vyre_global_id(c, 0) + (vyre_global_id(c, 0) == 77u ? 4096u : 0u)) = 1u;\n"
    "  vyre_barrier(c);\n"
    "}\n"
    "VYRE_ENTRY(sum, (VYRE_PARAM_CONST(0, a), VYRE_PARAM_OUT(1, out), VYRE_PARAM_LOCAL(2, s)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, out), VYRE_ARG(2, s)));\n"
    "VYRE_ENTRY(token, (VYRE_PARAM_OUT(0, out), VYRE_PARAM_LOCAL(1, s)),"
    " (VYRE_ARG(0, out), VYRE_ARG(1, s)));\n"
    "VYRE_ENTRY(none, (VYRE_PARAM_OUT(0, out)), (VYRE_ARG(0, out)));\n"
    "VYRE_ENTRY(unequal, (VYRE_PARAM_OUT(0, out)), (VYRE_ARG(0, out)));\n"
    "VYRE_ENTRY(late, (VYRE_PARAM_OUT(0, out)), (VYRE_ARG(0, out)));\n"
    "VYRE_ENTRY(wild, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n";

static cpu_plugin plugin;
static vyre_backend_device *device;
static vyre_backend_module *module, *debug;

static int set_up(void **state)
{
  (void)state;
  plugin_load(&plugin);
  device = device_open(&plugin);
  module = module_load(&plugin, device, kernels, 0);
  debug = module_load(&plugin, device, kernels, VYRE_MODULE_DEBUG);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin.backend->module_unload(device, debug);
  plugin.backend->module_unload(device, module);
  plugin.backend->device_close(device);
  plugin_unload(&plugin);
  return 0;
}

static void check_sum(uint32_t items, uint32_t groups)
{
  uint32_t n = items * groups - (items > 1 ? 1 : 0);
  uint32_t *a = malloc(n * sizeof(*a)), *out = malloc(groups * sizeof(*out));
  assert_true(a && out);
  for (uint32_t i = 0; i < n; ++i)
    a[i] = i * 2654435761u;
  vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, a, n * sizeof(*a), n),
                             bind_host(1, VYRE_WRITE_ONLY, NULL, groups * sizeof(*out), groups),
                             bind_local(2, items * sizeof(uint32_t), items)};
  vyre_dispatch_desc desc =
      launch_of(kernel_find(&plugin, module, "sum"), bindings, 3, groups, items);
  vyre_slot slot = slot_of(out, groups * sizeof(*out));
  run(&plugin, device, &desc, &slot, 1);
  for (uint32_t g = 0; g < groups; ++g) {
    uint32_t want = 0;
    for (uint32_t i = g * items; i < (g + 1) * items && i < n; ++i)
      want += a[i];
    if (out[g] != want)
      fail_msg("group %u of %u items: %u, want %u", g, items, out[g], want);
  }
  free(a);
  free(out);
}

static void reductions(void **state)
{
  static const uint32_t items[] = {1, 2, 3, 31, 32, 33, 64, 255, 256, 257, 1000, 1024};
  (void)state;
  for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); ++i) {
    /* ThreadSanitizer's cost of a switch grows with the number of fibers. */
    if (plugin.backend->sanitizer == VYRE_SANITIZER_THREAD && items[i] > 100)
      break;
    check_sum(items[i], 1);
    check_sum(items[i], 19);
  }
}

static void nested_loops(void **state)
{
  static const uint32_t shapes[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 5, 1}, {2, 3, 4}, {64, 1, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
    uint32_t n = shapes[i][0] * shapes[i][1] * shapes[i][2], out[5 * 64];
    vyre_binding bindings[] = {bind_host(1, VYRE_WRITE_ONLY, NULL, 5 * n * sizeof(*out), 5 * n),
                               bind_local(2, n * sizeof(uint32_t), n)};
    vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "token"), bindings, 2, 5, 1);
    memcpy(desc.workgroup, shapes[i], sizeof(desc.workgroup));
    vyre_slot slot = slot_of(out, 5 * n * sizeof(*out));
    run(&plugin, device, &desc, &slot, 1);
    /* After n steps each value has been all the way round and grown by n. */
    for (uint32_t j = 0; j < 5 * n; ++j)
      assert_int_equal(out[j], j % n + 3 * n);
  }
}

static void no_barrier_met(void **state)
{
  static uint32_t out[40 * 100];
  (void)state;
  vyre_binding binding = bind_host(1, VYRE_WRITE_ONLY, NULL, sizeof(out), 40 * 100);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "none"), &binding, 1, 100, 40);
  vyre_slot slot = slot_of(out, sizeof(out));
  run(&plugin, device, &desc, &slot, 1);
  for (uint32_t i = 0; i < 40 * 100; ++i)
    assert_int_equal(out[i], i * 7);
}

static void check_unequal(const char *name, uint32_t which, const char *part)
{
  uint32_t words[2] = {which, 0}, out[2] = {9, 9};
  vyre_error err = VYRE_ERROR_INIT;
  vyre_binding binding = bind_host(1, VYRE_READ_WRITE, words, sizeof(words), 2);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, name), &binding, 1, 3, 8);
  vyre_slot slot = slot_of(out, sizeof(out));
  assert_int_equal(run_try(&plugin, device, &desc, &slot, 1, &err), VYRE_ERROR_DISPATCH_FAILED);
  assert_contains(err.message, name);
  assert_contains(err.message, part);
  assert_contains(err.fix, "vyre_barrier");
  assert_int_equal(out[0], 9);
}

static void unequal_barriers_are_an_error(void **state)
{
  (void)state;
  for (int again = 0; again < 3; ++again) {
    check_unequal("unequal", 3, "item 3 ended");
    check_unequal("unequal", 7, "item 7 ended");
    check_unequal("unequal", 0, "item 0 ended");
    check_unequal("late", 0, "item 5 waits");
    check_sum(64, 7); /* the threads are as good as before */
  }
}

static void a_fault_in_a_fiber_ends_the_launch(void **state)
{
  static uint32_t a[1024], out[1024];
  (void)state;
  vyre_binding binding = bind_host(0, VYRE_READ_WRITE, a, sizeof(a), 1024);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, debug, "wild"), &binding, 1, 50, 16);
  vyre_slot slot = slot_of(out, sizeof(out));
  for (int again = 0; again < 5; ++again) {
    vyre_error err = VYRE_ERROR_INIT;
    assert_int_equal(run_try(&plugin, device, &desc, &slot, 1, &err), VYRE_ERROR_DISPATCH_FAILED);
    assert_contains(err.message, "buffer a of 1024 elements");
    assert_contains(err.message, "index 4173");
    check_sum(100, 3);
  }
  desc.groups[0] = 4; /* item 77 is in the fifth group */
  run(&plugin, device, &desc, &slot, 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reductions),
      cmocka_unit_test(nested_loops),
      cmocka_unit_test(no_barrier_met),
      cmocka_unit_test(unequal_barriers_are_an_error),
      cmocka_unit_test(a_fault_in_a_fiber_ends_the_launch),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
