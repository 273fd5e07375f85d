/*
 * test_dispatch.c - launches: sizes, grids, bindings and their outputs, push constants, limits.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static const char kernels[] =
    "#define VYRE_BUFFER_a 0\n"
    "#define VYRE_BUFFER_b 1\n"
    "#define VYRE_BUFFER_s 2\n"
    "#line 1 \"test.vyre.c\"\n"
    "VYRE_SEGMENT(add)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i >= vyre_count(c, b)) return;\n"
    "  b[i] += a[i] * 3u + 1u;\n"
    "}\n"
    "VYRE_SEGMENT(ids)(vyre_ctx *c, VYRE_OUT(vyre_u32) a)\n"
    "{\n"
    "  vyre_u64 x = vyre_global_id(c, 0), y = vyre_global_id(c, 1), z = vyre_global_id(c, 2);\n"
    "  vyre_u64 at = x + vyre_global_size(c, 0) * (y + vyre_global_size(c, 1) * z);\n"
    "  a[at] = (vyre_u32)(x | y << 10 | z << 20);\n"
    "}\n"
    "VYRE_SEGMENT(two)(vyre_ctx *c, VYRE_OUT(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n"
    "  if (vyre_global_id(c, 0)) return;\n"
    "  a[0] = 11; b[0] = 22;\n"
    "}\n"
    "typedef struct scale { vyre_u32 factor, offset; } scale;\n"
    "VYRE_SEGMENT(push)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n"
    "  const scale *s = vyre_push(c, scale);\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i >= vyre_count(c, a)) return;\n"
    "  vyre_at(c, a, i) = vyre_at(c, a, i) * s->factor + s->offset;\n"
    "}\n"
    "VYRE_SEGMENT(local)(vyre_ctx *c, VYRE_OUT(vyre_u32) a, VYRE_LOCAL(vyre_u32) s)\n"
    "{\n"
    "  s[vyre_local_id(c, 0)] = vyre_group_id(c, 0);\n"
    "  a[vyre_global_id(c, 0)] = s[vyre_local_id(c, 0)] + (((vyre_u64)s % 64u) ? 1000000u : 0u);\n"
    "}\n"
    "VYRE_SEGMENT(nothing)(vyre_ctx *c, VYRE_IN(vyre_u32) a)\n"
    "{\n"
    "  (void)c; (void)a;\n"
    "}\n"
    "VYRE_ENTRY(add, (VYRE_PARAM_CONST(0, a), VYRE_PARAM_INOUT(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"
    "VYRE_ENTRY(ids, (VYRE_PARAM_OUT(0, a)), (VYRE_ARG(0, a)));\n"
    "VYRE_ENTRY(two, (VYRE_PARAM_OUT(0, a), VYRE_PARAM_OUT(1, b)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, b)));\n"
    "VYRE_ENTRY(push, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));\n"
    "VYRE_ENTRY(local, (VYRE_PARAM_OUT(0, a), VYRE_PARAM_LOCAL(1, s)),"
    " (VYRE_ARG(0, a), VYRE_ARG(1, s)));\n"
    "VYRE_ENTRY(nothing, (VYRE_PARAM_CONST(0, a)), (VYRE_ARG(0, a)));\n";

static cpu_plugin plugin;
static vyre_backend_device *device;
static vyre_backend_module *module;

static int set_up(void **state)
{
  (void)state;
  plugin_load(&plugin);
  device = device_open(&plugin);
  module = module_load(&plugin, device, kernels, 0);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  plugin.backend->module_unload(device, module);
  plugin.backend->device_close(device);
  plugin_unload(&plugin);
  return 0;
}

static const uint32_t sizes[] = {0, 1, 3, 255, 256, 257, 1025, 100003};
#define SIZE_COUNT (sizeof(sizes) / sizeof(sizes[0]))

/* b[i] += 3 a[i] + 1 on n elements with a workgroup size; the inputs are untouched. */
static void check_add(uint32_t n, uint32_t workgroup)
{
  size_t bytes = n * sizeof(uint32_t);
  uint32_t *a = malloc(bytes + 1), *b = malloc(bytes + 1), *out = malloc(bytes + 1);
  uint32_t *a_copy = malloc(bytes + 1), *b_copy = malloc(bytes + 1);
  assert_true(a && b && out && a_copy && b_copy);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = i * 2654435761u;
    b[i] = i ^ 0x5555u;
  }
  memcpy(a_copy, a, bytes);
  memcpy(b_copy, b, bytes);
  vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, a, bytes, n),
                             bind_host(1, VYRE_READ_WRITE, b, bytes, n)};
  vyre_dispatch_desc desc =
      launch_of(kernel_find(&plugin, module, "add"), bindings, 2, n / workgroup + 1, workgroup);
  vyre_slot slot = slot_of(out, bytes);
  run(&plugin, device, &desc, &slot, 1);
  assert_int_equal(slot.binding_id, 1);
  assert_int_equal(slot.size, bytes);
  for (uint32_t i = 0; i < n; ++i)
    if (out[i] != b_copy[i] + a_copy[i] * 3u + 1u)
      fail_msg("element %u of %u with groups of %u is %u", i, n, workgroup, out[i]);
  assert_memory_equal(a, a_copy, bytes);
  assert_memory_equal(b, b_copy, bytes);
  free(a);
  free(b);
  free(out);
  free(a_copy);
  free(b_copy);
}

static void every_size_and_workgroup(void **state)
{
  static const uint32_t workgroups[] = {1, 7, 64, 256, 1024};
  (void)state;
  for (size_t i = 0; i < SIZE_COUNT; ++i)
    for (size_t j = 0; j < sizeof(workgroups) / sizeof(workgroups[0]); ++j)
      check_add(sizes[i], workgroups[j]);
}

static void grids_of_three_dimensions(void **state)
{
  static const uint32_t grids[][6] = {{1, 1, 1, 1, 1, 1},  {3, 2, 4, 5, 1, 1},
                                      {2, 3, 5, 1, 7, 1},  {1, 1, 9, 1, 1, 64},
                                      {4, 3, 2, 8, 8, 16}, {17, 1, 3, 2, 3, 5}};
  (void)state;
  for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); ++g) {
    uint32_t size[3], total = 1;
    for (int d = 0; d < 3; ++d) {
      size[d] = grids[g][d] * grids[g][d + 3];
      total *= size[d];
    }
    uint32_t *out = malloc(total * sizeof(*out));
    assert_non_null(out);
    vyre_binding binding = bind_host(0, VYRE_WRITE_ONLY, NULL, total * sizeof(*out), total);
    vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "ids"), &binding, 1, 1, 1);
    memcpy(desc.groups, grids[g], sizeof(desc.groups));
    memcpy(desc.workgroup, grids[g] + 3, sizeof(desc.workgroup));
    vyre_slot slot = slot_of(out, total * sizeof(*out));
    run(&plugin, device, &desc, &slot, 1);
    for (uint32_t z = 0, i = 0; z < size[2]; ++z)
      for (uint32_t y = 0; y < size[1]; ++y)
        for (uint32_t x = 0; x < size[0]; ++x, ++i)
          assert_int_equal(out[i], x | y << 10 | z << 20);
    free(out);
  }
}

static void zero_fill_and_tags(void **state)
{
  uint32_t a[64], b[64];
  (void)state;
  memset(a, 0xee, sizeof(a));
  memset(b, 0xee, sizeof(b));
  vyre_binding bindings[] = {bind_host(9, VYRE_WRITE_ONLY, NULL, sizeof(a), 64),
                             bind_host(4, VYRE_READ_WRITE, NULL, sizeof(b), 64)};
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "two"), bindings, 2, 1, 64);
  vyre_slot slots[] = {slot_of(a, sizeof(a)), slot_of(b, sizeof(b))};
  run(&plugin, device, &desc, slots, 2);
  assert_int_equal(slots[0].binding_id, 9);
  assert_int_equal(slots[1].binding_id, 4);
  assert_int_equal(a[0], 11);
  assert_int_equal(b[0], 22);
  for (int i = 1; i < 64; ++i)
    assert_int_equal(a[i] | b[i], 0);
}

static void strides_and_larger_structures(void **state)
{
  struct wide_binding {
    vyre_binding binding;
    uint64_t later[3];
  } bindings[2];
  struct wide_slot {
    vyre_slot slot;
    uint64_t later;
  } slots[2];
  uint32_t a[4], b[4];
  (void)state;
  memset(bindings, 0x77, sizeof(bindings));
  memset(slots, 0x77, sizeof(slots));
  bindings[0].binding = bind_host(0, VYRE_WRITE_ONLY, NULL, sizeof(a), 4);
  bindings[1].binding = bind_host(1, VYRE_WRITE_ONLY, NULL, sizeof(b), 4);
  bindings[0].binding.struct_size = bindings[1].binding.struct_size = sizeof(bindings[0]);
  slots[0].slot = slot_of(a, sizeof(a));
  slots[1].slot = slot_of(b, sizeof(b));
  slots[0].slot.struct_size = slots[1].slot.struct_size = sizeof(slots[0]);
  vyre_dispatch_desc desc =
      launch_of(kernel_find(&plugin, module, "two"), &bindings[0].binding, 2, 1, 1);
  desc.id_limit = 2;
  desc.binding_stride = sizeof(bindings[0]);
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  vyre_status status = plugin.backend->dispatch(device, &desc, &pending, &err);
  assert_ok(status, err);
  vyre_backend_times times = {.struct_size = sizeof(times)};
  status = plugin.backend->pending_read(pending, &slots[0].slot, 2, sizeof(slots[0]), &times, &err);
  assert_ok(status, err);
  plugin.backend->pending_release(pending);
  assert_int_equal(a[0], 11);
  assert_int_equal(b[0], 22);
  assert_true(times.device_ns < UINT64_C(60000000000));
  assert_int_equal(slots[1].later, 0x7777777777777777);
}

static void push_constants(void **state)
{
  const uint32_t push[2] = {5, 7};
  uint32_t a[5] = {0, 1, 2, 3, 4}, out[5];
  (void)state;
  vyre_binding binding = bind_host(0, VYRE_READ_WRITE, a, sizeof(a), 5);
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "push"), &binding, 1, 1, 8);
  desc.push = push;
  desc.push_size = sizeof(push);
  vyre_slot slot = slot_of(out, sizeof(out));
  run(&plugin, device, &desc, &slot, 1);
  for (uint32_t i = 0; i < 5; ++i)
    assert_int_equal(out[i], i * 5 + 7);
}

static void workgroup_memory(void **state)
{
  enum { GROUPS = 500, ITEMS = 16 };
  static uint32_t out[GROUPS * ITEMS];
  (void)state;
  vyre_binding bindings[] = {bind_host(0, VYRE_WRITE_ONLY, NULL, sizeof(out), GROUPS * ITEMS),
                             bind_local(2, ITEMS * sizeof(uint32_t), ITEMS)};
  vyre_dispatch_desc desc =
      launch_of(kernel_find(&plugin, module, "local"), bindings, 2, GROUPS, ITEMS);
  vyre_slot slot = slot_of(out, sizeof(out));
  run(&plugin, device, &desc, &slot, 1);
  for (uint32_t i = 0; i < GROUPS * ITEMS; ++i)
    assert_int_equal(out[i], i / ITEMS);
}

static void misaligned_inputs_are_aligned(void **state)
{
  unsigned char bytes[4 * 33 + 1];
  uint32_t b[33] = {0}, out[33];
  (void)state;
  for (uint32_t i = 0; i < 33; ++i)
    memcpy(bytes + 1 + 4 * i, &i, 4);
  vyre_binding bindings[] = {bind_host(0, VYRE_READ_ONLY, bytes + 1, 4 * 33, 33),
                             bind_host(1, VYRE_READ_WRITE, b, sizeof(b), 33)};
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "add"), bindings, 2, 1, 64);
  vyre_slot slot = slot_of(out, sizeof(out));
  run(&plugin, device, &desc, &slot, 1);
  for (uint32_t i = 0; i < 33; ++i)
    assert_int_equal(out[i], 3 * i + 1);
}

/* -------- refusals -------- */

static void refused(const vyre_dispatch_desc *desc, vyre_status want, const char *part_1,
                    const char *part_2)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  assert_int_equal(plugin.backend->dispatch(device, desc, &pending, &err), want);
  assert_null(pending);
  assert_int_equal(err.code, want);
  assert_contains(err.message, part_1);
  assert_contains(err.message, part_2);
  assert_true(err.fix[0] != '\0');
  /* Without a record, the code alone. */
  assert_int_equal(plugin.backend->dispatch(device, desc, &pending, NULL), want);
}

static void limits_are_refused(void **state)
{
  uint32_t word = 0;
  (void)state;
  vyre_binding binding = bind_host(0, VYRE_READ_ONLY, &word, sizeof(word), 1);
  const vyre_dispatch_desc good =
      launch_of(kernel_find(&plugin, module, "nothing"), &binding, 1, 1, 1);
  vyre_dispatch_desc desc = good;
  desc.groups[1] = 0;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "dimension 1", "0 groups");
  desc = good;
  desc.workgroup[2] = 0;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "dimension 2", "0 items");
  desc = good;
  desc.workgroup[0] = 1025;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "1025", "1024");
  desc = good;
  desc.workgroup[0] = 1024;
  desc.workgroup[2] = 2;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "2048", "1024");
  desc = good;
  desc.groups[1] = 65536;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "65536", "65535");
  desc = good;
  desc.push = &word;
  desc.push_size = 5000;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "5000", "1024");
  desc = good;
  desc.push_size = 4;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "push", "NULL");
  desc = good;
  desc.binding_count = 1000;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "1000", "66");
  desc = good;
  desc.id_limit = 0;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "id 0", "id_limit");
  desc = good;
  desc.id_limit = UINT32_MAX;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "4294967295", "65536");
  desc = good;
  desc.flags = 1ull << 40;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "flags", "0x10000000000");
  desc = good;
  desc.flags = VYRE_DISPATCH_COOPERATIVE | VYRE_DISPATCH_PERSISTENT;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "cooperative", "persistent");
  desc = good;
  desc.struct_size = 16;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "vyre_dispatch_desc", "16");
  desc = good;
  desc.binding_stride = 8;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "stride", "8");
  desc = good;
  desc.kernel = NULL;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "kernel", "NULL");
  desc = good;
  desc.flags = VYRE_DISPATCH_PERSISTENT;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "persistent", "binding 0");
}

static void bad_bindings_are_refused(void **state)
{
  uint32_t word = 0;
  (void)state;
  vyre_binding binding = bind_host(0, VYRE_READ_ONLY, &word, sizeof(word), 1);
  const vyre_dispatch_desc desc =
      launch_of(kernel_find(&plugin, module, "nothing"), &binding, 1, 1, 1);
  binding.kind = 7;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "kind 7", "binding 0");
  binding = bind_host(0, 9, &word, sizeof(word), 1);
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "access 9", "binding 0");
  binding = bind_host(0, VYRE_WORKGROUP, &word, sizeof(word), 1);
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "access 3", "binding 0");
  binding = bind_buffer(0, VYRE_READ_ONLY, NULL, 0, 4, 1);
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "no buffer", "binding 0");
  binding = bind_local(0, UINT64_MAX - 3, 1);
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "workgroup memory", "262144");
  binding = bind_local(0, 262145, 1);
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "workgroup memory", "262144");
  binding = bind_host(0, VYRE_WRITE_ONLY, NULL, UINT64_MAX - 8, 1);
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "overflow", "host");
  binding = bind_host(0, VYRE_WRITE_ONLY, NULL, UINT64_MAX / 4, 1);
  refused(&desc, VYRE_ERROR_OUT_OF_HOST_MEMORY, "launch", "bytes");
  binding = bind_host(0, VYRE_READ_ONLY, &word, sizeof(word), 1);
  binding.struct_size = 8;
  refused(&desc, VYRE_ERROR_INVALID_ARGUMENT, "vyre_binding", "8");
}

static void bad_slots_change_nothing(void **state)
{
  uint32_t a[4], b[4];
  (void)state;
  memset(a, 0xee, sizeof(a));
  memset(b, 0xee, sizeof(b));
  vyre_binding bindings[] = {bind_host(0, VYRE_WRITE_ONLY, NULL, sizeof(a), 4),
                             bind_host(1, VYRE_WRITE_ONLY, NULL, sizeof(b), 4)};
  vyre_dispatch_desc desc = launch_of(kernel_find(&plugin, module, "two"), bindings, 2, 1, 1);
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_pending *pending = NULL;
  vyre_status status = plugin.backend->dispatch(device, &desc, &pending, &err);
  assert_ok(status, err);
  vyre_slot slots[] = {slot_of(a, sizeof(a)), slot_of(b, sizeof(b) - 1)};
  const vyre_backend *backend = plugin.backend;
  assert_int_equal(backend->pending_read(pending, slots, 2, sizeof(slots[0]), NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_contains(err.message, "binding 1");
  assert_int_equal(backend->pending_read(pending, slots, 1, sizeof(slots[0]), NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(backend->pending_read(pending, NULL, 2, sizeof(slots[0]), NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  slots[1].struct_size = 4;
  assert_int_equal(backend->pending_read(pending, slots, 2, sizeof(slots[0]), NULL, &err),
                   VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(a[0], 0xeeeeeeee);
  assert_int_equal(slots[0].binding_id, UINT32_MAX);
  backend->pending_release(pending);
  backend->pending_release(NULL);
  assert_int_equal(backend->pending_wait(NULL, 0, &err), VYRE_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_and_workgroup),
      cmocka_unit_test(grids_of_three_dimensions),
      cmocka_unit_test(zero_fill_and_tags),
      cmocka_unit_test(strides_and_larger_structures),
      cmocka_unit_test(push_constants),
      cmocka_unit_test(workgroup_memory),
      cmocka_unit_test(misaligned_inputs_are_aligned),
      cmocka_unit_test(limits_are_refused),
      cmocka_unit_test(bad_bindings_are_refused),
      cmocka_unit_test(bad_slots_change_nothing),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
