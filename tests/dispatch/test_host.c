/* vyre_dispatch() on host bytes, with the fixture plugin: what goes in, what comes out. */
#include "core/base/alloc.h"
#include "tests/dispatch/on_fixture.h"
#include "vyre_backend.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static on_fixture on;

static int open_device(void **state)
{
  (void)state;
  on_fixture_open(&on, "", "fixture:0");
  return 0;
}

static int close_device(void **state)
{
  (void)state;
  on_fixture_close(&on);
  return 0;
}

static void assert_refused(vyre_status got, vyre_status want, const vyre_error *err,
                           const char *text)
{
  if (got != want || err->code != want || !strstr(err->message, text) || !err->fix[0])
    fail_msg("status %d, not %d: '%s' (%s), not '%s'", (int)got, (int)want, err->message, err->fix,
             text);
}

static void test_copy(void **state)
{
  uint32_t in[16];
  const vyre_bytes input = {in, sizeof in};
  vyre_program *program = on_fixture_copy(&on, 16);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  void *place = NULL;
  (void)state;
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 16; ++i)
      in[i] = i * round + 1;
    assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, &result, NULL), VYRE_OK);
    assert_int_equal(outputs.count, 1);
    assert_int_equal(outputs.slots[0].size, sizeof in);
    assert_memory_equal(outputs.slots[0].data, in, sizeof in);
    /* The slot's place stays from dispatch to dispatch. */
    assert_true(!place || place == outputs.slots[0].data);
    place = outputs.slots[0].data;
    assert_int_equal(outputs.stats.appended, round == 0);
    assert_int_equal(outputs.stats.reused, round > 0);
  }
  assert_int_equal(result.route, VYRE_ROUTE_HOST);
  assert_int_equal(result.launches, 1);
  assert_int_equal(result.passes, 1);
  assert_int_equal(result.converged, VYRE_CONVERGED_NOT_TESTED);
  assert_true(result.wall_ns != VYRE_TIME_ABSENT);
  assert_true(result.device_ns == VYRE_TIME_ABSENT); /* the fixture does not measure it */
  assert_int_equal(result.wait_ns, 0);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* An input that is read and written: the caller's bytes go in and are never written. */
static void test_read_write(void **state)
{
  uint32_t numbers[5] = {1, 2, 3, 4, 5};
  const uint32_t before[5] = {1, 2, 3, 4, 5}, after[5] = {2, 3, 4, 5, 6};
  vyre_bytes input = {numbers, sizeof numbers};
  vyre_program *program = on_fixture_increment(&on);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  (void)state;
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, NULL), VYRE_OK);
  assert_memory_equal(numbers, before, sizeof before);
  assert_memory_equal(outputs.slots[0].data, after, sizeof after);

  /* No elements: no launch, and an output of no bytes. */
  input.size = 0;
  on_fixture_set(&on, "reset", 0);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, &result, NULL), VYRE_OK);
  assert_int_equal(outputs.slots[0].size, 0);
  assert_int_equal(outputs.slots[0].capacity, sizeof numbers);
  assert_int_equal(result.launches, 0);
  assert_int_equal(result.device_ns, 0);
  assert_int_equal(on.plugin.get("dispatches"), 0);

  /* Outputs that nobody wants are not kept; without a result they are not even read. */
  input.size = sizeof numbers;
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, NULL, NULL, NULL), VYRE_OK);
  assert_int_equal(on.plugin.get("reads"), 0);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, NULL, &result, NULL), VYRE_OK);
  assert_int_equal(result.launches, 1);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* A READ_WRITE buffer that the segment does not write: the caller's bytes, or zeros. */
static void test_untouched(void **state)
{
  static sample s;
  uint32_t in[16] = {7}, kept[4] = {1, 2, 3, 4}, zeros[4] = {0};
  vyre_bytes inputs[] = {{in, sizeof in}, {kept, sizeof kept}};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_program *program = NULL;
  (void)state;
  sample_init(&s);
  sample_buffer(&s, "kept", VYRE_READ_WRITE, 4, 4);
  program = on_fixture_program(&on, &s);
  assert_int_equal(vyre_dispatch(program, NULL, inputs, 2, &outputs, NULL, NULL), VYRE_OK);
  assert_int_equal(outputs.count, 2);
  assert_memory_equal(outputs.slots[1].data, kept, sizeof kept);
  assert_ptr_not_equal(outputs.slots[1].data, kept);
  inputs[1] = (vyre_bytes){NULL, 0}; /* not given, but it has a size */
  assert_int_equal(vyre_dispatch(program, NULL, inputs, 2, &outputs, NULL, NULL), VYRE_OK);
  assert_memory_equal(outputs.slots[1].data, zeros, sizeof zeros);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* The range trims what the caller gets, not what is read back. */
static void test_range(void **state)
{
  static sample s;
  uint32_t in[16];
  const vyre_bytes input = {in, sizeof in};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_program *program = NULL;
  (void)state;
  for (uint32_t i = 0; i < 16; ++i)
    in[i] = i;
  for (uint64_t size = 0; size <= 8; size += 8) {
    sample_init(&s);
    s.buffers[1].flags = VYRE_BUFFER_RANGE;
    s.buffers[1].range_offset = 20;
    s.buffers[1].range_size = size;
    program = on_fixture_program(&on, &s);
    assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(outputs.slots[0].size, size);
    if (size)
      assert_memory_equal(outputs.slots[0].data, &in[5], 8);
    vyre_program_destroy(program);
  }
  assert_int_equal(outputs.slots[0].capacity, 8);
  vyre_outputs_reset(&outputs);
}

/* ---- what the plugin sees ---- */

/* in0 (u32, from input), tile (workgroup), facts (output, 64 words): kernel "facts". */
static vyre_program *facts_program(vyre_access first, uint32_t flags, const uint32_t workgroup[3],
                                   const uint64_t elements[3], const uint32_t groups[3])
{
  static sample s;
  sample_empty(&s);
  sample_buffer(&s, "data", first == VYRE_READ_ONLY ? VYRE_READ_ONLY : VYRE_READ_WRITE, 4,
                VYRE_COUNT_FROM_INPUT);
  sample_buffer(&s, "tile", VYRE_WORKGROUP, 2, 5);
  sample_buffer(&s, "facts", VYRE_READ_WRITE, 4, 64)->flags = VYRE_BUFFER_OUTPUT;
  sample_segment(&s, "facts");
  sample_bind(&s, 0, "tile", VYRE_WORKGROUP);
  sample_bind(&s, 0, "data", first)->flags = flags;
  sample_bind(&s, 0, "facts", VYRE_READ_WRITE);
  sample_code(&s, "fixture", "facts");
  s.desc.push_size = 12;
  for (int d = 0; d < 3; ++d) {
    s.desc.workgroup[d] = workgroup ? workgroup[d] : 0;
    s.segments[0].elements[d] = elements ? elements[d] : 0;
    s.segments[0].groups[d] = groups ? groups[d] : 0;
  }
  return on_fixture_program(&on, &s);
}

static void get_facts(vyre_program *program, const vyre_dispatch_options *given, uint64_t count,
                      uint32_t out_facts[64])
{
  static const uint32_t data[300], push[3];
  const vyre_bytes input = {data, count * 4};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t facts = program ? vyre_program_output_count(program) - 1 : 0;
  if (given)
    options = *given;
  options.push = push;
  options.push_size = sizeof push;
  if (vyre_dispatch(program, &options, &input, 1, &outputs, NULL, &err))
    fail_msg("%s", err.message);
  memcpy(out_facts, outputs.slots[facts].data, 64 * 4);
  vyre_outputs_reset(&outputs);
}

static void assert_words(const uint32_t *words, const uint32_t *want, uint32_t count)
{
  for (uint32_t i = 0; i < count; ++i)
    assert_int_equal(words[i], want[i]);
}

static void test_bindings(void **state)
{
  /* groups, workgroup, push, bindings; then id, access, kind, size, count of each. */
  const uint32_t want[] = {1,
                           1,
                           1,
                           64,
                           1,
                           1,
                           12,
                           3, /* 64 facts are covered by one group */
                           1,
                           VYRE_WORKGROUP,
                           VYRE_BINDING_WORKGROUP,
                           10,
                           5,
                           0,
                           VYRE_READ_ONLY,
                           0,
                           28,
                           7,
                           2,
                           VYRE_READ_WRITE,
                           0,
                           256,
                           64};
  uint32_t facts[64];
  vyre_program *program = facts_program(VYRE_READ_ONLY, 0, NULL, NULL, NULL);
  (void)state;
  get_facts(program, NULL, 7, facts);
  assert_words(facts, want, sizeof want / sizeof want[0]);
  vyre_program_destroy(program);

  /* A write-only binding of a buffer with a value travels as read-write ... */
  program = facts_program(VYRE_WRITE_ONLY, 0, NULL, NULL, NULL);
  get_facts(program, NULL, 7, facts);
  assert_int_equal(facts[14], VYRE_READ_WRITE);
  vyre_program_destroy(program);
  /* ... unless the segment writes all of it. */
  program = facts_program(VYRE_WRITE_ONLY, VYRE_BINDING_WRITES_ALL, NULL, NULL, NULL);
  get_facts(program, NULL, 7, facts);
  assert_int_equal(facts[14], VYRE_WRITE_ONLY);
  vyre_program_destroy(program);
}

static void test_grid(void **state)
{
  static const struct {
    uint64_t elements[3], option[3];
    uint32_t workgroup[3], groups[3];
    uint32_t want[6];
  } rows[] = {
      {{0}, {0}, {0}, {0}, {1, 1, 1, 64, 1, 1}},
      {{0}, {0}, {32, 0, 0}, {0}, {2, 1, 1, 32, 1, 1}},
      {{0}, {0}, {0, 4, 0}, {0}, {64, 1, 1, 1, 4, 1}},
      {{17, 8, 3}, {0}, {8, 4, 2}, {0}, {3, 2, 2, 8, 4, 2}},
      {{0, 5, 0}, {0}, {8, 0, 0}, {0}, {1, 5, 1, 8, 1, 1}},
      {{0}, {0}, {0}, {3, 0, 2}, {3, 1, 2, 64, 1, 1}},
      {{65, 0, 0}, {0}, {0}, {9, 9, 9}, {2, 1, 1, 64, 1, 1}},
      {{0}, {129, 2, 0}, {0}, {0}, {3, 2, 1, 64, 1, 1}},
      /* a segment's own grid is not the dispatch's to change */
      {{1, 0, 0}, {129, 2, 0}, {0}, {0}, {1, 1, 1, 64, 1, 1}},
      {{0}, {129, 2, 0}, {0}, {5, 0, 0}, {5, 1, 1, 64, 1, 1}},
  };
  uint32_t facts[64];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
    vyre_program *program =
        facts_program(VYRE_READ_ONLY, 0, rows[i].workgroup, rows[i].elements, rows[i].groups);
    memcpy(options.elements, rows[i].option, sizeof options.elements);
    get_facts(program, &options, 300, facts);
    assert_words(facts, rows[i].want, 6);
    vyre_program_destroy(program);
  }
}

static void test_grid_limits(void **state)
{
  const uint64_t elements[3] = {1, 65536, 1};
  const uint32_t workgroup[3] = {1, 1, 1}, groups[3] = {(1u << 30) + 1, 1, 1}, push[3] = {0};
  const vyre_bytes input = {push, 4};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = facts_program(VYRE_READ_ONLY, 0, workgroup, elements, NULL);
  (void)state;
  options.push = push;
  options.push_size = sizeof push;
  assert_refused(vyre_dispatch(program, &options, &input, 1, NULL, NULL, &err),
                 VYRE_ERROR_INVALID_ARGUMENT, &err,
                 "65536 groups in dimension 1, the most on fixture:0 is 65535");
  vyre_program_destroy(program);
  program = facts_program(VYRE_READ_ONLY, 0, workgroup, NULL, groups);
  assert_refused(vyre_dispatch(program, &options, &input, 1, NULL, NULL, &err),
                 VYRE_ERROR_INVALID_ARGUMENT, &err, "1073741825 groups");
  vyre_program_destroy(program);
  program = facts_program(VYRE_READ_ONLY, 0, workgroup, NULL, NULL);
  options.elements[0] = UINT64_MAX;
  assert_refused(vyre_dispatch(program, &options, &input, 1, NULL, NULL, &err),
                 VYRE_ERROR_INVALID_ARGUMENT, &err, "groups in dimension 0");
  vyre_program_destroy(program);
}

static void test_push(void **state)
{
  static sample s;
  const char push[12] = "push me now";
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = NULL;
  (void)state;
  sample_empty(&s);
  sample_buffer(&s, "out", VYRE_WRITE_ONLY, 1, 12);
  sample_segment(&s, "push");
  sample_bind(&s, 0, "out", VYRE_WRITE_ONLY);
  sample_code(&s, "fixture", "push");
  s.desc.push_size = 12;
  program = on_fixture_program(&on, &s);
  options.push = push;
  options.push_size = 12;
  assert_int_equal(vyre_dispatch(program, &options, NULL, 0, &outputs, NULL, NULL), VYRE_OK);
  assert_memory_equal(outputs.slots[0].data, push, 12);
  options.push_size = 11;
  assert_refused(vyre_dispatch(program, &options, NULL, 0, &outputs, NULL, &err),
                 VYRE_ERROR_INVALID_ARGUMENT, &err, "11 bytes of push constants");
  options.push_size = 12;
  options.push = NULL;
  assert_refused(vyre_dispatch(program, &options, NULL, 0, &outputs, NULL, &err),
                 VYRE_ERROR_INVALID_ARGUMENT, &err, "push is NULL");
  assert_memory_equal(outputs.slots[0].data, push, 12);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* ---- what is refused before anything runs ---- */

static void test_inputs_refused(void **state)
{
  uint32_t in[17] = {0};
  vyre_bytes input = {in, 64};
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *copy = on_fixture_copy(&on, 16), *open = on_fixture_increment(&on);
  (void)state;
  on_fixture_set(&on, "reset", 0);
#define REFUSED(program, text)                                                                     \
  assert_refused(vyre_dispatch(program, NULL, &input, 1, NULL, NULL, &err),                        \
                 VYRE_ERROR_INVALID_ARGUMENT, &err, text)
  assert_refused(vyre_dispatch(copy, NULL, &input, 0, NULL, NULL, &err),
                 VYRE_ERROR_INVALID_ARGUMENT, &err, "0 inputs were given, the program has 1");
  assert_refused(vyre_dispatch(copy, NULL, NULL, 1, NULL, NULL, &err), VYRE_ERROR_INVALID_ARGUMENT,
                 &err, "inputs were given");
  assert_refused(vyre_dispatch(NULL, NULL, &input, 1, NULL, NULL, &err),
                 VYRE_ERROR_INVALID_ARGUMENT, &err, "program is NULL");
  input.size = 63;
  REFUSED(copy, "'in' has 63 bytes, declared are 16 elements of 4 bytes, 64 in all");
  REFUSED(open, "'both': 63 bytes are no multiple of its 4-byte elements");
  input.size = (1u << 28) + 4;
  REFUSED(open, "the most on fixture:0 is 268435456");
  input = (vyre_bytes){NULL, 64};
  REFUSED(copy, "'in': data is NULL, size is 64");
  input.size = 0;
  REFUSED(open, "'both' was not given and has no size of its own");
#undef REFUSED
  assert_int_equal(on.plugin.get("dispatches"), 0);
  vyre_program_destroy(copy);
  vyre_program_destroy(open);
}

static void test_options_refused(void **state)
{
  uint32_t in[16] = {0};
  const vyre_bytes input = {in, sizeof in};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_program *program = on_fixture_copy(&on, 16);
  (void)state;
  on_fixture_set(&on, "reset", 0);
#define REFUSED(status, text)                                                                      \
  assert_refused(vyre_dispatch(program, &options, &input, 1, &outputs, &result, &err), status,     \
                 &err, text)
  options.route = VYRE_ROUTE_NATIVE;
  options.iterations = 2;
  REFUSED(VYRE_ERROR_UNSUPPORTED, "route native cannot be: ");
  options.iterations = 0;
  options.route = 4;
  REFUSED(VYRE_ERROR_INVALID_ARGUMENT, "route 4");
  options.route = VYRE_ROUTE_AUTO;
  options.struct_size = 4;
  REFUSED(VYRE_ERROR_INVALID_ARGUMENT, "struct_size");
  options.struct_size = sizeof options;
  options.max_output_bytes = 63;
  REFUSED(VYRE_ERROR_INVALID_ARGUMENT, "up to 'out' have 64 bytes, max_output_bytes is 63");
  result.struct_size = 8;
  REFUSED(VYRE_ERROR_INVALID_ARGUMENT, "result's struct_size is 8");
  result.struct_size = sizeof result;
  outputs.struct_size = 8;
  REFUSED(VYRE_ERROR_INVALID_ARGUMENT, "outputs.struct_size is 8");
  outputs.struct_size = sizeof outputs;
#undef REFUSED
  assert_int_equal(on.plugin.get("dispatches"), 0);
  assert_int_equal(outputs.count, 0);
  options.max_output_bytes = 64;
  options.route = VYRE_ROUTE_HOST;
  options.iterations = 1;
  assert_int_equal(vyre_dispatch(program, &options, &input, 1, &outputs, &result, &err), VYRE_OK);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

/* Programs of several segments and passes are created, and their dispatch is refused. */
static void test_several_segments(void **state)
{
  static sample s;
  uint32_t in[16] = {0};
  const vyre_bytes input = {in, sizeof in};
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_program *program = NULL;
  (void)state;
  sample_init(&s);
  sample_segment(&s, "copy");
  memcpy(s.bindings[1], s.bindings[0], sizeof s.bindings[0]);
  s.segments[1].binding_count = 2;
  s.desc.iterations = 9;
  program = on_fixture_program(&on, &s);
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, NULL, &result, NULL), VYRE_OK);
  assert_int_equal(result.passes, 1); /* zeros over zeros: the first pass confirms */
  assert_int_equal(result.converged, VYRE_CONVERGED_YES);
  assert_int_equal(result.launches, 2);
  vyre_program_destroy(program);
}

/* Fails every allocation in turn: nothing leaks, and the outputs are as they were. */
static void test_failing_memory(void **state)
{
  uint32_t small[2] = {1, 2}, large[64] = {3};
  vyre_bytes input = {small, sizeof small};
  vyre_program *program = on_fixture_increment(&on);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT, before;
  vyre_status status = VYRE_ERROR_OUT_OF_HOST_MEMORY;
  uint64_t n = 1;
  (void)state;
  assert_int_equal(vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, NULL), VYRE_OK);
  before = outputs;
  input = (vyre_bytes){large, sizeof large};
  for (; status != VYRE_OK; ++n) {
    vyre_error err = VYRE_ERROR_INIT;
    assert_true(n < 100);
    vyre__test_fail_allocation(n);
    status = vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, &err);
    vyre__test_fail_allocation(0);
    if (status != VYRE_OK) {
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_memory_equal(&outputs, &before, sizeof before);
      assert_int_equal(((uint32_t *)outputs.slots[0].data)[1], 3);
    }
    assert_int_equal(on.plugin.get("pendings_live"), 0);
  }
  assert_true(n > 3);
  assert_int_equal(outputs.slots[0].size, sizeof large);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copy),
      cmocka_unit_test(test_read_write),
      cmocka_unit_test(test_untouched),
      cmocka_unit_test(test_range),
      cmocka_unit_test(test_bindings),
      cmocka_unit_test(test_grid),
      cmocka_unit_test(test_grid_limits),
      cmocka_unit_test(test_push),
      cmocka_unit_test(test_inputs_refused),
      cmocka_unit_test(test_options_refused),
      cmocka_unit_test(test_several_segments),
      cmocka_unit_test(test_failing_memory),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
