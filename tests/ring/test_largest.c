/*
 * The largest ring, 2^31 places: 272 GiB of addresses of which a few pages are touched.  Only the
 * places around the end of the arrays, where the test goes, carry their stamps.
 */
#include "tests/ring/ring_help.h"

#include <sys/mman.h>

#define LOG2 31u
#define PLACES (1ull << LOG2)
#define NEAR 200u /* places that are stamped */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RING_UNDER_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define RING_UNDER_ASAN 1
#endif

static uint64_t before(uint64_t position)
{
  return ((position + 1 - PLACES) & VYRE_RING_POSITION_MASK) << VYRE_RING_STAMP_SHIFT;
}

/* As vyre_ring_init() would, without writing to each of the places. */
static vyre_ring *lay_out(char *memory, uint64_t size, uint64_t first)
{
  vyre_ring_header *header = (vyre_ring_header *)(void *)memory;
  vyre_ring *ring = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  header->version = VYRE_RING_LAYOUT_VERSION;
  header->header_bytes = VYRE_RING_HEADER_BYTES;
  header->capacity_log2 = LOG2;
  header->completions_log2 = LOG2;
  header->flags = VYRE_RING_FLAG_COMPLETION;
  header->generation = 1;
  header->region_bytes = size;
  header->cells_offset = VYRE_RING_HEADER_BYTES;
  header->released_offset = header->cells_offset + PLACES * sizeof(vyre_ring_cell);
  header->completion_offset = header->released_offset + PLACES * sizeof(uint64_t);
  header->first_position = first;
  header->head = first;
  header->vacant = first;
  header->tail = vyre__ring_ticket(first, 0);
  header->magic = VYRE_RING_MAGIC;
  if (vyre_ring_attach(memory, size, &ring, &err))
    fail_msg("%s", err.message);
  for (uint64_t i = 0; i < NEAR; ++i) {
    const uint64_t place = (first + i) % PLACES;
    ring->cells[place].published = before(first + i);
    ring->released[place] = before(first + i);
    ring->completion[place] = before(first + i);
  }
  return ring;
}

/* Places go on from the last one to the first; what is not stamped is not free. */
static void cross(vyre_ring *ring, uint64_t first)
{
  vyre_work_item items[20], out[20];
  uint64_t tickets[20];
  uint32_t put = 0, taken = 0, n = 0;
  assert_true(vyre_ring_capacity(ring) == 1u << 31);
  while (put < NEAR) {
    const uint32_t wanted = put % 3 ? 1 : 20;
    for (uint32_t i = 0; i < wanted; ++i)
      items[i] = item_of(put, i);
    assert_int_equal(vyre_ring_enqueue_many(ring, items, wanted, tickets, &n), VYRE_OK);
    assert_true(n == wanted || put + places_of(wanted) > NEAR);
    assert_true(tickets[n - 1] == ticket_in(first, put + (n - 1) / 7, (n - 1) % 7));
    put += places_of(n);
    assert_true(vyre_ring_head(ring) == vyre__ring_step(first, put));
  }
  assert_int_equal(vyre_ring_enqueue(ring, items, NULL), VYRE_ERROR_QUEUE_FULL);
  assert_true(vyre_ring_in_flight(ring) == NEAR);
  while (vyre_ring_claim_many(ring, out, tickets, 1 + taken % 20, &n) == VYRE_OK) {
    for (uint32_t i = 0; i < n; ++i) {
      assert_true(item_is_whole(&out[i]));
      assert_false(vyre_ring_is_done(ring, tickets[i]));
    }
    vyre_ring_mark_done_many(ring, tickets, n);
    for (uint32_t i = 0; i < n; ++i)
      assert_true(vyre_ring_is_done(ring, tickets[i]));
    taken += n;
  }
  assert_true(taken > NEAR && vyre_ring_in_flight(ring) == 0);
}

static void test_largest(void **state)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  uint64_t size = 0;
  (void)state;
#if defined(RING_UNDER_ASAN) || defined(RING_UNDER_TSAN)
  skip(); /* their shadow of so many addresses */
#endif
  options.capacity = 1u << 31;
  options.completion = VYRE_COMPLETION_BY_TICKET;
  options.max_unfinished = 1u << 31;
  assert_int_equal(vyre_ring_region_size(&options, &size, NULL), VYRE_OK);
  assert_true(size == 0x400 + PLACES * (128 + 8 + 8));
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    /* Just before the last place, with a lap or none before it. */
    const uint64_t first =
        (first_positions[f] / PLACES * PLACES + PLACES - NEAR / 2) & VYRE_RING_POSITION_MASK;
    vyre_ring *ring;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      skip(); /* the machine promises no address that it may not be able to fill */
    ring = lay_out(memory, size, first);
    cross(ring, first);
    vyre_ring_destroy(ring);
    munmap(memory, size);
  }
}

/* The arithmetic of positions, at the top of their range. */
static void test_arithmetic(void **state)
{
  const uint64_t top = VYRE_RING_POSITION_MASK;
  (void)state;
  assert_true(vyre__ring_step(top, 1) == 0);
  assert_true(vyre__ring_step(0, 0 - 1ull) == top);
  assert_true(vyre__ring_stamp(top) == 0 && vyre__ring_stamp(0) == 1);
  assert_true(vyre__ring_previous_stamp(0, 1) == 0);
  assert_true(vyre__ring_previous_stamp(0, PLACES) == vyre__ring_step(1, 0 - PLACES));
  assert_true(vyre__ring_previous_stamp(PLACES - 1, PLACES) == 0);
  for (size_t a = 0; a < FIRST_POSITIONS; ++a)
    for (uint64_t n = 0; n < 1ull << 55; n = n * 2 + 1) {
      const uint64_t first = first_positions[a], later = vyre__ring_step(first, n);
      assert_true(vyre__ring_distance(later, first) == (int64_t)n);
      assert_true(vyre__ring_distance(first, later) == -(int64_t)n);
      assert_true(vyre__ring_stamp_of(vyre__ring_word(later)) == later);
      for (uint32_t i = 0; i < 8; ++i) {
        const uint64_t ticket = vyre__ring_ticket(later, i);
        assert_true(ticket <= VYRE_RING_TICKET_MASK);
        assert_true(vyre__ring_position_of(ticket) == later);
        assert_int_equal(vyre__ring_index_of(ticket), i);
      }
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_largest),
      cmocka_unit_test(test_arithmetic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
