/*
 * The interpreter and the vocabulary by themselves, without vyre: results that were worked out by
 * hand, and what holds of every word.
 */
#include "tests/gridsync/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint32_t read_u32(const plain_item *item, uint32_t p, uint64_t i)
{
  uint32_t value = 0;
  memcpy(&value, item->data[p] + 4 * i, 4);
  return value;
}

static void write_u32(const plain_item *item, uint32_t p, uint64_t i, uint32_t value)
{
  memcpy(item->data[p] + 4 * i, &value, 4);
}

/* Adds one to what is less than 3. */
static void up_to_three(const plain_item *item)
{
  uint64_t i = (uint64_t)item->group[0] * item->size[0] + item->local[0];
  if (i < item->counts[0] && read_u32(item, 0, i) < 3) {
    write_u32(item, 0, i, read_u32(item, 0, i) + 1);
    *item->changed = true;
  }
}

static void next_of(const plain_item *item)
{
  uint64_t i = (uint64_t)item->group[0] * item->size[0] + item->local[0];
  if (i < item->counts[0])
    write_u32(item, 0, i, read_u32(item, 1, (i + 1) % item->counts[1]));
}

static void nothing(const plain_item *item)
{
  (void)item;
}

static plain_program one_buffer(const uint32_t *given, uint64_t count, plain_run_fn run)
{
  plain_program p = {.buffer_count = 1, .segment_count = 1, .iterations = 1};
  p.buffers[0] = (plain_buffer){
      .name = "a", .access = VYRE_READ_WRITE, .element_size = 4, .count = count, .given = given};
  p.segments[0].run = run;
  p.segments[0].binding_count = 1;
  p.segments[0].bindings[0].access = VYRE_READ_WRITE;
  return p;
}

static void expect(const plain_program *p, uint32_t passes, vyre_converged converged,
                   const uint32_t *want, uint64_t count)
{
  plain_result result;
  plain_run(p, false, &result);
  assert_int_equal(result.passes, passes);
  assert_int_equal(result.converged, converged);
  assert_int_equal(result.outputs[0].size, count * 4);
  if (count)
    assert_memory_equal(result.outputs[0].data, want, count * 4);
  plain_free(&result);
}

static void test_fixpoint(void **state)
{
  const uint32_t given[2] = {0, 2}, one[2] = {1, 3}, three[2] = {3, 3};
  (void)state;
  for (vyre_converge kind = VYRE_CONVERGE_EXACT; kind <= VYRE_CONVERGE_DECLARED; ++kind) {
    plain_program p = one_buffer(given, 2, up_to_three);
    p.converge = kind;
    expect(&p, 1, VYRE_CONVERGED_NOT_TESTED, one, 2);
    p.iterations = 3;
    expect(&p, 3, VYRE_CONVERGED_NO, three, 2);
    p.iterations = 4;
    expect(&p, 4, VYRE_CONVERGED_YES, three, 2);
    p.iterations = 100;
    expect(&p, 4, VYRE_CONVERGED_YES, three, 2);
    p.buffers[0].given = three;
    expect(&p, 1, VYRE_CONVERGED_YES, three, 2);
    p.buffers[0].count = 0;
    expect(&p, 1, VYRE_CONVERGED_YES, NULL, 0);
    p.converge = VYRE_CONVERGE_OFF;
    expect(&p, 100, VYRE_CONVERGED_NOT_TESTED, NULL, 0);
  }
}

static void test_segments(void **state)
{
  const uint32_t given[3] = {10, 20, 30}, want[3] = {30, 10, 20};
  plain_program p = one_buffer(given, 3, next_of);
  plain_result result;
  (void)state;
  /* a -> b -> a, each turned by one: twice in a pass. */
  p.buffer_count = 2;
  p.segment_count = 2;
  p.buffers[1] = (plain_buffer){.name = "b",
                                .access = VYRE_READ_WRITE,
                                .flags = VYRE_BUFFER_OUTPUT | VYRE_BUFFER_RANGE,
                                .element_size = 4,
                                .count = 3,
                                .given = given,
                                .range_offset = 4,
                                .range_size = 4};
  p.segments[1] = p.segments[0];
  for (uint32_t s = 0; s < 2; ++s) {
    p.segments[s].binding_count = 2;
    p.segments[s].bindings[0] = (plain_binding){1 - s, VYRE_WRITE_ONLY, 0};
    p.segments[s].bindings[1] = (plain_binding){s, VYRE_READ_ONLY, 0};
  }
  plain_run(&p, false, &result);
  assert_int_equal(result.output_count, 2);
  assert_memory_equal(result.outputs[0].data, want, 12);
  assert_int_equal(result.outputs[1].size, 4);
  assert_int_equal(*(uint32_t *)result.outputs[1].data, 30); /* of {20, 30, 10} */
  plain_free(&result);
  p.segment_count = 1;
  p.segments[0].run = nothing;
  plain_run(&p, false, &result);
  assert_int_equal(*(uint32_t *)result.outputs[1].data, 0);
  plain_free(&result);
  plain_run(&p, true, &result);
  assert_int_equal(*(uint32_t *)result.outputs[1].data, 20);
  plain_free(&result);
}

static void expect_groups(const plain_program *p, uint32_t x, uint32_t y, uint32_t z)
{
  uint32_t groups[3] = {0, 0, 0};
  assert_int_equal(plain_groups(p, &p->segments[0], groups), x != 0);
  if (!x)
    return;
  assert_int_equal(groups[0], x);
  assert_int_equal(groups[1], y);
  assert_int_equal(groups[2], z);
}

static void test_grid(void **state)
{
  plain_program p = one_buffer(NULL, 129, nothing);
  (void)state;
  expect_groups(&p, 3, 1, 1);
  p.workgroup[1] = 4;
  expect_groups(&p, 129, 1, 1);
  p.workgroup[0] = 129;
  expect_groups(&p, 1, 1, 1);
  p.buffers[0].count = 0;
  expect_groups(&p, 0, 0, 0);
  p.groups[1] = 2;
  expect_groups(&p, 1, 2, 1);
  p.elements[0] = 130;
  expect_groups(&p, 2, 1, 1);
  p.asked_elements[2] = 7;
  expect_groups(&p, 1, 1, 7);
  p.segments[0].groups[0] = 5;
  expect_groups(&p, 5, 1, 1);
  p.segments[0].elements[1] = 9;
  expect_groups(&p, 1, 3, 1);
}

/* A grid that covers its buffers gives the same result at every workgroup, for most words. */
static void test_workgroups(void **state)
{
  static const uint32_t sizes[] = {1, 7, 64, 1024};
  uint64_t seeds = 1, compared = 0;
  (void)state;
  for (uint32_t round = 0; round < 200; ++round) {
    drawn d;
    plain_result first, other;
    draw_shape(&d, draw_number(&seeds));
    draw_variation(&d, draw_number(&seeds));
    memset(d.program.elements, 0, sizeof d.program.elements);
    memset(d.program.asked_elements, 0, sizeof d.program.asked_elements);
    memset(d.program.groups, 0, sizeof d.program.groups);
    memset(d.program.workgroup, 0, sizeof d.program.workgroup);
    for (uint32_t s = 0; s < d.program.segment_count; ++s) {
      memset(d.program.segments[s].elements, 0, sizeof d.program.elements);
      memset(d.program.segments[s].groups, 0, sizeof d.program.groups);
    }
    plain_run(&d.program, false, &first);
    for (uint32_t i = 0; i < 4 && !drawn_reads_workgroup(&d); ++i) {
      d.program.workgroup[0] = sizes[i];
      plain_run(&d.program, false, &other);
      assert_int_equal(first.passes, other.passes);
      assert_int_equal(first.converged, other.converged);
      for (uint32_t p = 0; p < first.output_count; ++p)
        if (memcmp(first.outputs[p].data, other.outputs[p].data, first.outputs[p].size) != 0) {
          drawn_print(&d, stderr);
          fail_msg("round %u, workgroup %u, output %u", round, sizes[i], p);
        }
      plain_free(&other);
      ++compared;
    }
    plain_free(&first);
    drawn_free(&d);
  }
  assert_true(compared > 400);
}

/* The same seed draws the same; a copy is equal; every word and every outcome comes up. */
static void test_draws(void **state)
{
  uint32_t outcomes[3] = {0}, used[64] = {0};
  uint64_t seeds = 2;
  (void)state;
  assert_true(word_count <= 64);
  for (uint32_t round = 0; round < 300; ++round) {
    const uint64_t shape = draw_number(&seeds), seed = draw_number(&seeds);
    drawn a, b, c;
    plain_result x, y;
    draw_shape(&a, shape);
    draw_shape(&b, shape);
    draw_variation(&a, seed);
    draw_variation(&b, seed);
    drawn_copy(&a, &c);
    drawn_free(&a);
    assert_string_equal(b.source, c.source);
    plain_run(&b.program, false, &x);
    plain_run(&c.program, false, &y);
    assert_int_equal(x.passes, y.passes);
    assert_int_equal(x.output_count, y.output_count);
    for (uint32_t p = 0; p < x.output_count; ++p)
      if (x.outputs[p].size)
        assert_memory_equal(x.outputs[p].data, y.outputs[p].data, x.outputs[p].size);
    ++outcomes[x.converged];
    for (uint32_t s = 0; s < b.program.segment_count; ++s)
      ++used[b.words[s] - word_table];
    plain_free(&x);
    plain_free(&y);
    drawn_free(&b);
    drawn_free(&c);
  }
  for (uint32_t i = 0; i < 3; ++i)
    assert_true(outcomes[i] >= 30);
  for (uint32_t w = 0; w < word_count; ++w)
    assert_true(used[w] > 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fixpoint), cmocka_unit_test(test_segments),
      cmocka_unit_test(test_grid),     cmocka_unit_test(test_workgroups),
      cmocka_unit_test(test_draws),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
