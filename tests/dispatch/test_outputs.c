/* core/dispatch/outputs.c: slots are kept, grown, taken over, appended, truncated; or untouched. */
#include "core/dispatch/outputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* An allocator that counts what is live and can refuse. */
typedef struct counter {
  int64_t live;
  int64_t allocations;
  int64_t fail_at; /* the n-th allocation; 0: none */
} counter;

static void *counted_allocate(void *self, uint64_t size, uint64_t align)
{
  counter *c = self;
  (void)align;
  if (++c->allocations == c->fail_at)
    return NULL;
  ++c->live;
  return malloc((size_t)size);
}

static void counted_deallocate(void *self, void *memory)
{
  counter *c = self;
  c->live -= memory != NULL;
  free(memory);
}

static vyre_allocator counting(counter *c)
{
  memset(c, 0, sizeof *c);
  return (vyre_allocator){c, counted_allocate, counted_deallocate};
}

/* A value of `size` bytes `fill`, in an allocation of its own that may be taken over. */
static vyre__value owned(const vyre_allocator *owner, uint64_t size, int fill)
{
  vyre__value value = {0};
  value.owned = owner->allocate(owner->self, size ? size : 1, 16);
  memset(value.owned, fill, (size_t)size);
  value.data = value.owned;
  value.size = value.owned_capacity = size;
  return value;
}

static void release(const vyre_allocator *owner, vyre__value *value)
{
  if (value->owned)
    owner->deallocate(owner->self, value->owned);
}

static void assert_slot(const vyre_outputs *outputs, uint32_t i, uint64_t size, int fill)
{
  const unsigned char *bytes = outputs->slots[i].data;
  assert_int_equal(outputs->slots[i].size, size);
  for (uint64_t b = 0; b < size; ++b)
    assert_int_equal(bytes[b], fill);
}

static void assert_stats(const vyre_outputs *outputs, vyre_output_stats want)
{
  assert_memory_equal(&outputs->stats, &want, sizeof want);
}

/* Stores one value in slot 0. */
static void store(vyre_outputs *outputs, const vyre_allocator *owner, uint64_t size, int fill)
{
  vyre__value value = owned(owner, size, fill);
  assert_int_equal(vyre__outputs_store(outputs, &value, 1, owner, NULL), VYRE_OK);
  assert_slot(outputs, 0, size, fill);
  release(owner, &value);
}

static void test_preserved(void **state)
{
  counter count;
  const vyre_allocator allocator = counting(&count);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  void *place = NULL;
  (void)state;
  outputs.allocator = &allocator;
  store(&outputs, &allocator, 100, 1);
  assert_stats(&outputs, (vyre_output_stats){1, 0, 0, 1, 0, 100, 100});
  place = outputs.slots[0].data;

  /* What fits is copied, and the allocation stays. */
  store(&outputs, &allocator, 100, 2);
  assert_ptr_equal(outputs.slots[0].data, place);
  assert_stats(&outputs, (vyre_output_stats){1, 1, 0, 0, 100, 0, 100});
  store(&outputs, &allocator, 7, 3);
  assert_ptr_equal(outputs.slots[0].data, place);
  assert_int_equal(outputs.slots[0].capacity, 100);
  assert_stats(&outputs, (vyre_output_stats){1, 1, 0, 0, 7, 0, 100});
  store(&outputs, &allocator, 0, 0);
  assert_ptr_equal(outputs.slots[0].data, place);

  /* What is larger replaces it. */
  store(&outputs, &allocator, 101, 4);
  assert_int_equal(outputs.slots[0].capacity, 101);
  assert_stats(&outputs, (vyre_output_stats){1, 0, 1, 0, 0, 101, 101});
  vyre_outputs_reset(&outputs);
  assert_int_equal(count.live, 0);
  assert_int_equal(outputs.count, 0);
  assert_ptr_equal(outputs.allocator, &allocator);
  vyre_outputs_reset(&outputs);
  vyre_outputs_reset(NULL);
}

/* Taken over without a copy when the allocators agree, copied when they do not. */
static void test_taken_over(void **state)
{
  counter ours, theirs;
  const vyre_allocator owner = counting(&ours), other = counting(&theirs);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre__value value = owned(&owner, 64, 5);
  void *place = value.owned;
  (void)state;
  outputs.allocator = &owner;
  assert_int_equal(vyre__outputs_store(&outputs, &value, 1, &owner, NULL), VYRE_OK);
  assert_ptr_equal(outputs.slots[0].data, place);
  assert_null(value.owned);
  assert_slot(&outputs, 0, 64, 5);
  vyre_outputs_reset(&outputs);
  assert_int_equal(ours.live, 0);

  outputs.allocator = &other;
  value = owned(&owner, 64, 6);
  place = value.owned;
  assert_int_equal(vyre__outputs_store(&outputs, &value, 1, &owner, NULL), VYRE_OK);
  assert_ptr_not_equal(outputs.slots[0].data, place);
  assert_ptr_equal(value.owned, place);
  assert_slot(&outputs, 0, 64, 6);
  assert_int_equal(theirs.live, 2); /* the array and the bytes */
  release(&owner, &value);
  vyre_outputs_reset(&outputs);
  assert_int_equal(ours.live, 0);
  assert_int_equal(theirs.live, 0);
}

static void test_appended_and_truncated(void **state)
{
  counter count;
  const vyre_allocator allocator = counting(&count);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre__value values[3];
  void *places[3];
  (void)state;
  outputs.allocator = &allocator;
  store(&outputs, &allocator, 10, 1);
  places[0] = outputs.slots[0].data;
  for (int i = 0; i < 3; ++i)
    values[i] = owned(&allocator, 10 * (uint64_t)(i + 1), i + 2);
  assert_int_equal(vyre__outputs_store(&outputs, values, 3, &allocator, NULL), VYRE_OK);
  assert_ptr_equal(outputs.slots[0].data, places[0]);
  assert_stats(&outputs, (vyre_output_stats){3, 1, 0, 2, 10, 50, 60});
  for (uint32_t i = 0; i < 3; ++i) {
    assert_slot(&outputs, i, 10 * (i + 1), (int)i + 2);
    release(&allocator, &values[i]);
  }

  /* Slots past the outputs are freed; the array's room stays. */
  values[0] = owned(&allocator, 10, 9);
  assert_int_equal(vyre__outputs_store(&outputs, values, 1, &allocator, NULL), VYRE_OK);
  release(&allocator, &values[0]);
  assert_int_equal(outputs.count, 1);
  assert_int_equal(outputs.capacity, 3);
  assert_int_equal(count.live, 2);
  assert_ptr_equal(outputs.slots[0].data, places[0]);

  /* Appending into room that is there finds empty slots, whatever lay there. */
  values[0] = owned(&allocator, 1, 1);
  values[1] = owned(&allocator, 5, 2);
  assert_int_equal(vyre__outputs_store(&outputs, values, 2, &allocator, NULL), VYRE_OK);
  assert_stats(&outputs, (vyre_output_stats){2, 1, 0, 1, 1, 5, 15});
  release(&allocator, &values[0]);
  release(&allocator, &values[1]);
  assert_int_equal(vyre__outputs_store(&outputs, values, 0, &allocator, NULL), VYRE_OK);
  assert_int_equal(outputs.count, 0);
  vyre_outputs_reset(&outputs);
  assert_int_equal(count.live, 0);
}

/* Borrowed bytes are copied, no bytes are zeros, an empty appended slot has no allocation. */
static void test_borrowed(void **state)
{
  counter count;
  const vyre_allocator allocator = counting(&count);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  char bytes[] = "abc";
  vyre__value values[] = {{.data = bytes, .size = 3}, {.size = 8}, {.size = 0}};
  (void)state;
  outputs.allocator = &allocator;
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(vyre__outputs_store(&outputs, values, 3, &allocator, NULL), VYRE_OK);
    assert_memory_equal(outputs.slots[0].data, "abc", 3);
    assert_ptr_not_equal(outputs.slots[0].data, bytes);
    assert_slot(&outputs, 1, 8, 0);
    memset(outputs.slots[1].data, 7, 8);
    assert_null(outputs.slots[2].data);
  }
  vyre_outputs_reset(&outputs);
  assert_int_equal(count.live, 0);
}

/* Whatever growth fails: slots, bytes and values are as they were. */
static void test_failing_growth(void **state)
{
  counter ours, theirs;
  const vyre_allocator owner = counting(&ours), allocator = counting(&theirs);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT, before;
  vyre_output_slot slot;
  vyre__value values[4];
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  outputs.allocator = &allocator;
  store(&outputs, &allocator, 10, 1);
  before = outputs;
  slot = outputs.slots[0];
  for (int i = 0; i < 4; ++i)
    values[i] = owned(&owner, 20, i + 2);
  for (int64_t n = 1; n <= 5; ++n) {
    theirs.allocations = 0;
    theirs.fail_at = n;
    assert_int_equal(vyre__outputs_store(&outputs, values, 4, &owner, &err),
                     VYRE_ERROR_OUT_OF_HOST_MEMORY);
    assert_memory_equal(&outputs, &before, sizeof before);
    assert_memory_equal(&outputs.slots[0], &slot, sizeof slot);
    assert_slot(&outputs, 0, 10, 1);
    assert_int_equal(theirs.live, 2);
    for (int i = 0; i < 4; ++i)
      assert_non_null(values[i].owned);
  }
  theirs.fail_at = 0;
  assert_int_equal(vyre__outputs_store(&outputs, values, 4, &owner, &err), VYRE_OK);
  for (int i = 0; i < 4; ++i)
    release(&owner, &values[i]);
  vyre_outputs_reset(&outputs);
  assert_int_equal(ours.live, 0);
  assert_int_equal(theirs.live, 0);
}

/* The last outputs were given as inputs and come back, untouched, at each other's positions. */
static void test_borrowed_from_slots(void **state)
{
  counter count;
  const vyre_allocator allocator = counting(&count);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT, before;
  vyre__value values[3] = {{0}};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  outputs.allocator = &allocator;
  for (int i = 0; i < 3; ++i)
    values[i] = owned(&allocator, 10u + 10u * (unsigned)i, i + 1);
  assert_int_equal(vyre__outputs_store(&outputs, values, 3, &allocator, &err), VYRE_OK);
  /* 0 and 2 change places, 1 stays where it is. */
  memset(values, 0, sizeof values);
  for (int i = 0; i < 3; ++i) {
    values[i].data = outputs.slots[2 - i].data;
    values[i].size = outputs.slots[2 - i].size;
  }
  before = outputs;
  count.fail_at = count.allocations + 2;
  assert_int_equal(vyre__outputs_store(&outputs, values, 3, &allocator, &err),
                   VYRE_ERROR_OUT_OF_HOST_MEMORY);
  assert_memory_equal(&outputs, &before, sizeof before);
  assert_int_equal(vyre__outputs_store(&outputs, values, 3, &allocator, &err), VYRE_OK);
  assert_slot(&outputs, 0, 30, 3);
  assert_slot(&outputs, 1, 20, 2);
  assert_slot(&outputs, 2, 10, 1);
  /* The only value comes from a slot that goes. */
  values[0].data = outputs.slots[2].data;
  values[0].size = 10;
  assert_int_equal(vyre__outputs_store(&outputs, values, 1, &allocator, &err), VYRE_OK);
  assert_slot(&outputs, 0, 10, 1);
  vyre_outputs_reset(&outputs);
  assert_int_equal(count.live, 0);
}

static void test_check(void **state)
{
  vyre_output_slot slot = {NULL, 0, 0};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  (void)state;
  assert_int_equal(vyre__outputs_check(NULL, NULL), VYRE_OK);
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_OK);
  outputs.count = 1;
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  outputs.capacity = 1;
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  outputs.slots = &slot;
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_OK);
  slot.size = 1;
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  slot.capacity = 1;
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  slot.data = &slot;
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_OK);
  outputs.struct_size = 8;
  assert_int_equal(vyre__outputs_check(&outputs, NULL), VYRE_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_preserved),
      cmocka_unit_test(test_taken_over),
      cmocka_unit_test(test_appended_and_truncated),
      cmocka_unit_test(test_borrowed),
      cmocka_unit_test(test_borrowed_from_slots),
      cmocka_unit_test(test_failing_growth),
      cmocka_unit_test(test_check),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
