/*
 * What the GPU body refuses before the driver hears of it: limit and request stand in the text, and
 * nothing is left.
 */
#include "scene.h"

#ifdef VYRE_TEST_HIP /* has no leave to take more, and needs none on AMD's devices */
#define MOST_MEMORY "the limit is 49152"
#else
#define MOST_MEMORY "the limit is 232448"
#endif

/* -------- what is refused -------- */

static void wrong_descriptors_start_nothing(void **state)
{
  static uint32_t word;
  vyre_backend_buffer *buffer = make_buffer(device, 64);
  launch good, l;
  (void)state;
  begin(&good, find("copy"));
  add_buffer(&good, VYRE_READ_ONLY, buffer, 4);
  add_host(&good, VYRE_READ_WRITE, &word, 1);
#define WRONG(code, text, change)                                                                  \
  do {                                                                                             \
    l = good;                                                                                      \
    l.desc.bindings = l.bindings;                                                                  \
    change;                                                                                        \
    refuse(&l, VYRE_ERROR_##code, text);                                                           \
  } while (0)
  WRONG(INVALID_ARGUMENT, "struct_size", l.desc.struct_size = VYRE_DISPATCH_DESC_SIZE_0_1 - 1);
  WRONG(INVALID_ARGUMENT, "struct_size", l.bindings[1].struct_size = 8);
  WRONG(INVALID_ARGUMENT, "stride", l.desc.binding_stride = 8);
  WRONG(INVALID_ARGUMENT, "0x8", l.desc.flags = 8);
  WRONG(INVALID_ARGUMENT, "kernel", l.desc.kernel = NULL);
  WRONG(INVALID_ARGUMENT, "dimension 2", l.desc.groups[2] = 0);
  WRONG(INVALID_ARGUMENT, "dimension 1", l.desc.workgroup[1] = 0);
  WRONG(INVALID_ARGUMENT, "65536 groups in dimension 1, the limit is 65535",
        l.desc.groups[1] = 65536);
  WRONG(INVALID_ARGUMENT, "65 items per group in dimension 2, the limit is 64",
        l.desc.workgroup[2] = 65);
  WRONG(INVALID_ARGUMENT, "1056 items", l.desc.workgroup[1] = 33);
  WRONG(INVALID_ARGUMENT, "257 bytes of push constants, the limit is 256", {
    l.desc.push = &word;
    l.desc.push_size = 257;
  });
  WRONG(INVALID_ARGUMENT, "push is NULL", l.desc.push_size = 4);
  WRONG(INVALID_ARGUMENT, "97 bindings, the limit is 96", l.desc.binding_count = 97);
#ifndef VYRE_TEST_HIP /* whose runtime does not tell how many parameters a function has */
  WRONG(INVALID_ARGUMENT, "1 bindings for kernel copy, which has 3", l.desc.binding_count = 1);
#endif
  WRONG(INVALID_ARGUMENT, "id 1, id_limit is 1", l.desc.id_limit = 1);
  WRONG(UNSUPPORTED, "id 96", {
    l.bindings[1].id = 96;
    l.desc.id_limit = 97;
  });
  WRONG(INVALID_ARGUMENT, "kind 3", l.bindings[1].kind = 3);
  WRONG(INVALID_ARGUMENT, "access 4", l.bindings[1].access = 4);
  WRONG(INVALID_ARGUMENT, "access 3", l.bindings[1].access = VYRE_WORKGROUP);
  WRONG(INVALID_ARGUMENT, "no buffer", l.bindings[0].buffer = NULL);
  WRONG(INVALID_ARGUMENT, "of a buffer of 64", l.bindings[0].offset = 49);
  WRONG(INVALID_ARGUMENT, "of a buffer of 64", l.bindings[0].offset = UINT64_MAX);
  WRONG(INVALID_ARGUMENT, "overflow", l.bindings[1].size = UINT64_MAX);
  WRONG(INVALID_ARGUMENT, MOST_MEMORY, {
    l.bindings[1].kind = VYRE_BINDING_WORKGROUP;
    l.bindings[1].access = VYRE_WORKGROUP;
    l.bindings[1].size = 232449;
  });
  WRONG(INVALID_ARGUMENT, "persistent", l.desc.flags = VYRE_DISPATCH_PERSISTENT);
  WRONG(INVALID_ARGUMENT, "both",
        l.desc.flags = VYRE_DISPATCH_PERSISTENT | VYRE_DISPATCH_COOPERATIVE);
  WRONG(OUT_OF_DEVICE_MEMORY, "(2)", l.bindings[1].size = UINT64_C(1) << 33);
#undef WRONG
  begin(&l, find("vyre_fused"));
  add_buffer(&l, VYRE_READ_WRITE, buffer, 4);
  refuse(&l, VYRE_ERROR_INVALID_ARGUMENT, "fused");
  backend->buffer_free(device, buffer);
}

static void wrong_slots_change_nothing(void **state)
{
  static uint32_t value[8] = {5}, out[16];
  launch l;
  (void)state;
  begin(&l, find("double"));
  add_host(&l, VYRE_READ_WRITE, value, 8);
  vyre_backend_pending *pending = start(&l);
  vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = 32, .size = 99};
  FAILS(backend->pending_read(pending, &slot, 0, sizeof slot, NULL, &err),
        VYRE_ERROR_INVALID_ARGUMENT, "1 outputs, 0 slots");
  FAILS(backend->pending_read(pending, &slot, 1, 8, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
        "stride");
  slot.capacity = 64;
  FAILS(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &err),
        VYRE_ERROR_INVALID_ARGUMENT, "has 64 bytes");
  assert_int_equal(slot.size, 99);
  slot.capacity = 32;
  OK(backend->pending_read(pending, &slot, 1, sizeof slot, NULL, &fresh));
  assert_int_equal(out[0], 10);
  backend->pending_release(pending);
  backend->pending_release(NULL);
}

static void entries_that_are_not_there_are_named(void **state)
{
  vyre_backend_kernel *kernel = NULL;
  (void)state;
  FAILS(backend->kernel_find(module, "nobody", &kernel, NULL, &err), VYRE_ERROR_NOT_FOUND,
        "\"nobody\"");
  FAILS(backend->kernel_find(module, "", &kernel, NULL, &err), VYRE_ERROR_NOT_FOUND, "\"\"");
  assert_null(kernel);
  assert_ptr_equal(find("add"), find("add"));
}

static void code_of_other_kinds_is_refused(void **state)
{
  vyre_backend_module *other = NULL;
  vyre_module_desc desc = {
      .struct_size = sizeof desc, .arch = "", .data = ".version 9.0", .size = 12};
  (void)state;
  desc.format = "spirv";
  FAILS(backend->module_load(device, &desc, &other, &err), VYRE_ERROR_MODULE_FORMAT, "\"vyre-c\"");
#ifdef VYRE_TEST_HIP
  desc.format = "ptx";
  FAILS(backend->module_load(device, &desc, &other, &err), VYRE_ERROR_MODULE_FORMAT, "\"hsaco\"");
  desc.format = "hsaco";
#else
  desc.format = "ptx";
  FAILS(backend->module_load(device, &desc, &other, &err), VYRE_ERROR_MODULE_FORMAT, ".entry");
  desc.format = "cubin";
#endif
  FAILS(backend->module_load(device, &desc, &other, &err), VYRE_ERROR_MODULE_FORMAT, "ELF");
  desc.size = 0;
  FAILS(backend->module_load(device, &desc, &other, &err), VYRE_ERROR_MODULE_FORMAT, "no bytes");
  desc.flags = 4;
  FAILS(backend->module_load(device, &desc, &other, &err), VYRE_ERROR_INVALID_ARGUMENT, "0x4");
  assert_null(other);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      ON_DEVICE(wrong_descriptors_start_nothing),
      ON_DEVICE(wrong_slots_change_nothing),
      ON_DEVICE(entries_that_are_not_there_are_named),
      ON_DEVICE(code_of_other_kinds_is_refused),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
