/* core/program/validate.c: each rule refuses with a message and a fix that name the cause. */
#include "core/program/program.h"
#include "tests/program/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A device with small limits. */
static vyre_device_info limits(void)
{
  vyre_device_info info = {.struct_size = sizeof info};
  snprintf(info.selector, sizeof info.selector, "small:0");
  info.max_buffer_bytes = 1u << 20;
  info.max_workgroup_memory = 1024;
  info.max_workgroup[0] = info.max_workgroup[1] = 256;
  info.max_workgroup[2] = 16;
  info.max_workgroup_items = 256;
  info.max_push_bytes = 128;
  info.max_bindings = 16;
  return info;
}

static vyre_status check(const sample *s, vyre_error *err)
{
  vyre_device_info info = limits();
  return vyre__program_validate(&s->desc, &info, err);
}

/* ---- the table: how to spoil the sample, and what the error must say ---- */

static void zero_segments(sample *s)
{
  s->desc.segment_count = 0;
}

static void zero_buffers(sample *s)
{
  s->desc.buffer_count = 0;
}

static void too_many_buffers(sample *s)
{
  static char names[VYRE_MAX_BUFFERS][8];
  for (uint32_t i = 0; s->desc.buffer_count <= VYRE_MAX_BUFFERS; ++i) {
    snprintf(names[i], sizeof names[i], "b%u", i);
    sample_buffer(s, names[i], VYRE_READ_ONLY, 1, 1);
  }
}

static void iterations_zero(sample *s)
{
  s->desc.iterations = 0;
}

static void unknown_converge(sample *s)
{
  s->desc.converge = 3;
}

static void unknown_flag(sample *s)
{
  s->desc.flags = 1u << 9;
}

static void much_push(sample *s)
{
  s->desc.push_size = 129;
}

static void wide_workgroup(sample *s)
{
  s->desc.workgroup[0] = 257;
}

static void deep_workgroup(sample *s)
{
  s->desc.workgroup[2] = 17;
}

static void large_workgroup(sample *s)
{
  s->desc.workgroup[0] = 32;
  s->desc.workgroup[1] = 32;
}

static void huge_workgroup(sample *s)
{
  s->desc.workgroup[0] = s->desc.workgroup[1] = s->desc.workgroup[2] = UINT32_MAX;
}

static void no_name(sample *s)
{
  s->buffers[0].name = NULL;
}

static void bad_name(sample *s)
{
  s->buffers[0].name = "in-put";
}

static void keyword_name(sample *s)
{
  s->buffers[0].name = "register";
}

static void reserved_name(sample *s)
{
  s->buffers[0].name = "vyre_in";
}

static void duplicate_name(sample *s)
{
  sample_buffer(s, "in", VYRE_READ_ONLY, 4, 1);
}

static void unknown_access(sample *s)
{
  s->buffers[0].access = 4;
}

static void unknown_buffer_flag(sample *s)
{
  s->buffers[0].flags = 1u << 4;
}

static void read_only_output(sample *s)
{
  s->buffers[0].flags = VYRE_BUFFER_OUTPUT;
}

static void workgroup_output(sample *s)
{
  sample_buffer(s, "tile", VYRE_WORKGROUP, 4, 1)->flags = VYRE_BUFFER_OUTPUT;
}

static void range_without_flag(sample *s)
{
  s->buffers[1].range_size = 4;
}

static void range_of_input(sample *s)
{
  s->buffers[0].flags = VYRE_BUFFER_RANGE;
}

static void range_outside(sample *s)
{
  s->buffers[1].flags = VYRE_BUFFER_RANGE;
  s->buffers[1].range_offset = 60;
  s->buffers[1].range_size = 5;
}

static void range_overflows(sample *s)
{
  s->buffers[1].flags = VYRE_BUFFER_RANGE;
  s->buffers[1].range_offset = UINT64_MAX;
  s->buffers[1].range_size = 2;
}

static void open_range_overflows(sample *s)
{
  vyre_buffer_decl *both = sample_buffer(s, "both", VYRE_READ_WRITE, 1, VYRE_COUNT_FROM_INPUT);
  both->flags = VYRE_BUFFER_RANGE;
  both->range_offset = UINT64_MAX;
  both->range_size = 2;
}

static void element_size_zero(sample *s)
{
  s->buffers[0].element_size = 0;
}

static void size_overflows(sample *s)
{
  s->buffers[0].element_count = UINT64_MAX / 2;
}

static void sum_overflows(sample *s)
{
  sample_buffer(s, "tile", VYRE_WORKGROUP, 1, UINT64_MAX - 1);
}

static void over_device_limit(sample *s)
{
  s->buffers[0].element_count = (1u << 18) + 1;
}

static void workgroup_from_input(sample *s)
{
  sample_buffer(s, "tile", VYRE_WORKGROUP, 4, VYRE_COUNT_FROM_INPUT);
}

static void output_from_input(sample *s)
{
  s->buffers[1].element_count = VYRE_COUNT_FROM_INPUT;
}

static void read_of_nothing(sample *s)
{
  /* An output that is read: nobody gives it and it has no size. */
  s->buffers[1].access = VYRE_READ_WRITE;
  s->buffers[1].flags = VYRE_BUFFER_OUTPUT;
  s->buffers[1].element_count = VYRE_COUNT_FROM_INPUT;
  s->bindings[0][1].access = VYRE_READ_WRITE;
}

static void unwritten_output(sample *s)
{
  sample_buffer(s, "result", VYRE_WRITE_ONLY, 4, 4);
}

static void output_only_read(sample *s)
{
  s->buffers[1].access = VYRE_READ_WRITE;
  s->buffers[1].flags = VYRE_BUFFER_OUTPUT;
  s->bindings[0][1].access = VYRE_READ_ONLY;
}

static void no_kernel(sample *s)
{
  s->segments[0].kernel = "";
}

static void bad_kernel(sample *s)
{
  s->segments[0].kernel = "2hop";
}

static void no_bindings(sample *s)
{
  s->segments[0].binding_count = 0;
}

static void unnamed_binding(sample *s)
{
  s->bindings[0][0].buffer = NULL;
}

static void undeclared(sample *s)
{
  s->bindings[0][0].buffer = "inn";
}

static void bound_twice(sample *s)
{
  sample_bind(s, 0, "in", VYRE_READ_ONLY);
}

static void writes_read_only(sample *s)
{
  s->bindings[0][0].access = VYRE_READ_WRITE;
}

static void reads_write_only(sample *s)
{
  s->bindings[0][1].access = VYRE_READ_ONLY;
}

static void workgroup_of_global(sample *s)
{
  s->buffers[1].access = VYRE_READ_WRITE;
  s->bindings[0][1].access = VYRE_WORKGROUP;
}

static void global_of_workgroup(sample *s)
{
  sample_buffer(s, "tile", VYRE_WORKGROUP, 4, 1);
  sample_bind(s, 0, "tile", VYRE_READ_WRITE);
}

static void unknown_binding_flag(sample *s)
{
  s->bindings[0][1].flags = 8;
}

static void writes_all_of_read(sample *s)
{
  s->bindings[0][0].flags = VYRE_BINDING_WRITES_ALL;
}

static void one_kernel_two_ways(sample *s)
{
  sample_buffer(s, "other", VYRE_READ_ONLY, 4, 16);
  sample_segment(s, "copy");
  sample_bind(s, 1, "other", VYRE_READ_ONLY);
  sample_bind(s, 1, "out", VYRE_WRITE_ONLY);
}

static void much_workgroup_memory(sample *s)
{
  sample_buffer(s, "tile", VYRE_WORKGROUP, 1, 1000);
  sample_buffer(s, "more", VYRE_WORKGROUP, 1, 17);
  sample_bind(s, 0, "tile", VYRE_WORKGROUP);
  sample_bind(s, 0, "more", VYRE_WORKGROUP);
}

static void many_bindings(sample *s)
{
  static char names[16][8];
  for (uint32_t i = 0; i < 15; ++i) {
    snprintf(names[i], sizeof names[i], "b%u", i);
    sample_buffer(s, names[i], VYRE_READ_ONLY, 1, 1);
    sample_bind(s, 0, names[i], VYRE_READ_ONLY);
  }
}

typedef struct rule {
  void (*spoil)(sample *s);
  const char *message; /* what the message holds */
  const char *fix;     /* what the fix holds */
} rule;

static const rule rules[] = {
    {zero_segments, "no segments", "at least one segment"},
    {zero_buffers, "no buffers", "declare the buffers"},
    {too_many_buffers, "65 buffers, the most is 64", "merge buffers"},
    {iterations_zero, "iterations is 0", "give 1"},
    {unknown_converge, "converge 3", "VYRE_CONVERGE_EXACT"},
    {unknown_flag, "flags 0x200", "VYRE_PROGRAM_DEBUG"},
    {much_push, "129 bytes of push constants", "READ_ONLY buffer"},
    {wide_workgroup, "257 items in dimension 0 is too large, the most on small:0 is 256",
     "smaller"},
    {deep_workgroup, "17 items in dimension 2", "smaller workgroup"},
    {large_workgroup, "32 x 32 x 1 items is too large, the most is 256", "smaller workgroup"},
    {huge_workgroup, "is too large", "smaller workgroup"},
    {no_name, "buffer 0 has no name", "name every buffer"},
    {bad_name, "'in-put'", "C identifier"},
    {keyword_name, "'register'", "no keyword"},
    {reserved_name, "'vyre_in'", "vyre_"},
    {duplicate_name, "buffers 0 and 2 are both named 'in'", "a name of its own"},
    {unknown_access, "'in': access 4", "VYRE_READ_ONLY"},
    {unknown_buffer_flag, "'in': unknown flags 0x10", "VYRE_BUFFER_OUTPUT"},
    {read_only_output, "'in' is READ_ONLY and cannot be an output", "VYRE_READ_WRITE"},
    {workgroup_output, "'tile' is WORKGROUP and cannot be an output", "VYRE_BUFFER_OUTPUT"},
    {range_without_flag, "'out' has a range but not the flag", "VYRE_BUFFER_RANGE"},
    {range_of_input, "'in' is READ_ONLY and is never given back", "VYRE_BUFFER_RANGE"},
    {range_outside, "'out': the range of 5 bytes from 60", "inside the buffer"},
    {range_overflows, "'out': the range", "inside the buffer"},
    {open_range_overflows, "'both': range_offset + range_size overflow", "inside the buffer"},
    {element_size_zero, "'in': element_size is 0", "at least 1"},
    {size_overflows, "'in': 9223372036854775807 elements of 4 bytes", "smaller element_count"},
    {sum_overflows, "up to 'tile' together", "smaller element_counts"},
    {over_device_limit, "'in' has 1048580 bytes, the most on small:0 is 1048576", "split"},
    {workgroup_from_input, "'tile': no input tells the size", "fixed element_count"},
    {output_from_input, "'out' is an output", "fixed element_count"},
    {read_of_nothing, "'out' is an output", "fixed element_count"},
    {unwritten_output, "'result' is an output, but no segment writes it", "bind it"},
    {output_only_read, "'out' is an output, but no segment writes it", "bind it"},
    {no_kernel, "segment 0 names no kernel", "VYRE_SEGMENT(name)"},
    {bad_kernel, "segment 0: '2hop'", "C identifier"},
    {no_bindings, "segment 'copy' binds no buffer", "bind the buffers"},
    {unnamed_binding, "'copy': binding 0 names no buffer", "declared buffer"},
    {undeclared, "'copy' binds 'inn', which is not declared", "declare the buffer"},
    {bound_twice, "'copy' binds 'in' twice", "once"},
    {writes_read_only, "binds 'in' as READ_WRITE, but the buffer is declared READ_ONLY", "declare"},
    {reads_write_only, "binds 'out' as READ_ONLY, but the buffer is declared WRITE_ONLY",
     "VYRE_BUFFER_OUTPUT"},
    {workgroup_of_global, "binds 'out' as WORKGROUP", "as it is declared"},
    {global_of_workgroup, "binds 'tile' as READ_WRITE", "as it is declared"},
    {unknown_binding_flag, "'out': unknown binding flags 0x8", "VYRE_BINDING_WRITES_ALL"},
    {writes_all_of_read, "writes all of 'in' but binds it as READ_ONLY", "VYRE_WRITE_ONLY"},
    {one_kernel_two_ways, "segments 0 and 1 use kernel 'copy' with different bindings", "second"},
    {much_workgroup_memory, "'copy' wants 1040 bytes of workgroup memory", "less workgroup memory"},
    {many_bindings, "'copy' has 17 bindings, the most on small:0 is 16", "split the segment"},
};

static void test_rules(void **state)
{
  static sample s;
  (void)state;
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; ++i) {
    vyre_error err = VYRE_ERROR_INIT;
    sample_init(&s);
    rules[i].spoil(&s);
    if (check(&s, &err) != VYRE_ERROR_INVALID_PROGRAM || err.code != VYRE_ERROR_INVALID_PROGRAM ||
        !strstr(err.message, rules[i].message) || !strstr(err.fix, rules[i].fix) ||
        strncmp(err.message, "program 'sample': ", 18) != 0)
      fail_msg("rule %zu (%s): code %d, '%s', '%s'", i, rules[i].message, (int)err.code,
               err.message, err.fix);
    assert_int_equal(check(&s, NULL), VYRE_ERROR_INVALID_PROGRAM);
  }
}

static void test_sound(void **state)
{
  static sample s;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  sample_init(&s);
  assert_int_equal(check(&s, &err), VYRE_OK);
  assert_int_equal(vyre__program_validate(&s.desc, NULL, &err), VYRE_OK);
  s.desc.name = NULL;
  assert_int_equal(check(&s, &err), VYRE_OK);

  /* Zero elements are a true zero; every kind of buffer; all of the device's limits used up. */
  s.buffers[0].element_count = 0;
  sample_buffer(&s, "both", VYRE_READ_WRITE, 3, VYRE_COUNT_FROM_INPUT);
  sample_buffer(&s, "tile", VYRE_WORKGROUP, 1, 1024);
  sample_buffer(&s, "large", VYRE_READ_ONLY, 1, 1u << 20);
  sample_bind(&s, 0, "both", VYRE_WRITE_ONLY)->flags = VYRE_BINDING_WRITES_ALL;
  sample_bind(&s, 0, "tile", VYRE_WORKGROUP);
  s.buffers[1].flags = VYRE_BUFFER_RANGE;
  s.buffers[1].range_offset = 64;
  s.desc.workgroup[0] = 256;
  s.desc.push_size = 128;
  s.desc.iterations = 7;
  assert_int_equal(check(&s, &err), VYRE_OK);

  /* The same kernel with the same bindings may come again. */
  sample_segment(&s, "copy");
  memcpy(s.bindings[1], s.bindings[0], sizeof s.bindings[0]);
  s.segments[1].binding_count = s.segments[0].binding_count;
  assert_int_equal(check(&s, &err), VYRE_OK);
}

static void test_structures(void **state)
{
  static sample s;
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(vyre__program_validate(NULL, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT);
  sample_init(&s);
  s.desc.struct_size = 8;
  assert_int_equal(check(&s, &err), VYRE_ERROR_INVALID_ARGUMENT);
  sample_init(&s);
  s.buffers[0].struct_size = 8;
  assert_int_equal(check(&s, &err), VYRE_ERROR_INVALID_ARGUMENT);
  sample_init(&s);
  s.buffers[1].struct_size += 8;
  assert_int_equal(check(&s, &err), VYRE_ERROR_INVALID_ARGUMENT);
  sample_init(&s);
  s.segments[0].struct_size = 0;
  assert_int_equal(check(&s, &err), VYRE_ERROR_INVALID_ARGUMENT);
  sample_init(&s);
  s.segments[0].bindings = NULL;
  assert_int_equal(check(&s, &err), VYRE_ERROR_INVALID_ARGUMENT);
  sample_init(&s);
  s.bindings[0][0].struct_size -= 16;
  assert_int_equal(check(&s, &err), VYRE_ERROR_INVALID_ARGUMENT);
}

/* An application built with a newer vyre.h has larger rows: readers step by what they state. */
static void test_larger_rows(void **state)
{
  static sample s;
  static struct {
    vyre_buffer_decl decl;
    uint64_t newer[3];
  } buffers[2];
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  sample_init(&s);
  memset(buffers, 0xee, sizeof buffers);
  for (int i = 0; i < 2; ++i) {
    buffers[i].decl = s.buffers[i];
    buffers[i].decl.struct_size = sizeof buffers[i];
  }
  s.desc.buffers = &buffers[0].decl;
  assert_int_equal(check(&s, &err), VYRE_OK);
  assert_int_equal(vyre__program_find(&s.desc, "out"), 1);
}

static void test_identifiers(void **state)
{
  static const char *const good[] = {"a", "_a", "A9_", "in", "out", "vyre", "VYREX", "ints", "c"};
  static const char *const bad[] = {"",    "9",     "a b",    "a-b", "\xc3\xa4", "int",    "class",
                                    "__x", "vyre_", "VYRE_X", "a\n", "a\"",      "typedef"};
  char name[130];
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i)
    assert_true(vyre__is_identifier(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
    assert_false(vyre__is_identifier(bad[i]));
  assert_false(vyre__is_identifier(NULL));
  memset(name, 'a', sizeof name);
  name[127] = '\0';
  assert_true(vyre__is_identifier(name));
  name[127] = 'a';
  name[128] = '\0';
  assert_false(vyre__is_identifier(name));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),       cmocka_unit_test(test_sound),
      cmocka_unit_test(test_structures),  cmocka_unit_test(test_larger_rows),
      cmocka_unit_test(test_identifiers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
