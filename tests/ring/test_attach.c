/* Attaching to a region: it works for a ring, and every header that is none is refused. */
#include "tests/ring/ring_help.h"

static void *memory; /* a page aligned copy of the sound region, for each case anew */
static uint64_t region_size;
static unsigned char *sound;

/* A device ring: it has all arrays.  Some items are in it. */
static void lay_out(bool device, vyre_completion_mode completion)
{
  vyre__ring_setup setup = {.options = VYRE_RING_OPTIONS_INIT, .device = device};
  const vyre_work_item item = item_of(0, 0);
  vyre_ring *ring = NULL;
  setup.first_position = (1ull << 32) - 3;
  setup.options.capacity = 16;
  setup.options.completion = completion;
  assert_int_equal(vyre__ring_region_size(&setup, &region_size, NULL), VYRE_OK);
  memory = aligned_alloc(128, region_size);
  sound = malloc(region_size);
  assert_true(memory && sound);
  assert_int_equal(vyre__ring_init(memory, region_size, &setup, NULL, &ring, NULL), VYRE_OK);
  for (int i = 0; i < 5; ++i)
    assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
  vyre_ring_destroy(ring);
  memcpy(sound, memory, region_size);
}

static void lay_away(void)
{
  free(memory);
  free(sound);
}

static void refused(uint64_t size, const char *word)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_ring *ring = NULL;
  vyre_status status = vyre_ring_attach(memory, size, &ring, &err);
  if (status != VYRE_ERROR_INVALID_ARGUMENT || ring || !strstr(err.message, word) || !err.fix[0])
    fail_msg("status %d, wanted '%s', message '%s'", (int)status, word, err.message);
  memcpy(memory, sound, region_size);
}

#define HEADER ((vyre_ring_header *)memory)

static void test_attach_works(void **state)
{
  vyre_ring *ring = NULL, *second = NULL;
  vyre_work_item out;
  uint64_t ticket = 0;
  (void)state;
  lay_out(false, VYRE_COMPLETION_BY_TICKET);
  assert_int_equal(vyre_ring_attach(memory, region_size, &ring, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_attach(memory, region_size + 1000, &second, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_capacity(ring), 16);
  assert_int_equal(vyre_ring_in_flight(ring), 5);
  assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_OK);
  assert_true(ticket == ticket_at((1ull << 32) - 3, 0));
  assert_true(item_is_whole(&out));
  vyre_ring_mark_done(second, ticket);
  assert_true(vyre_ring_is_done(ring, ticket));
  assert_int_equal(vyre_ring_in_flight(second), 4);
  vyre_ring_close(second);
  assert_int_equal(vyre_ring_enqueue(ring, &out, NULL), VYRE_ERROR_CLOSED);
  vyre_ring_destroy(ring);
  vyre_ring_destroy(second);
  /* A closed ring, in either phase, is a ring. */
  HEADER->head |= VYRE_RING_PHASE;
  assert_int_equal(vyre_ring_attach(memory, region_size, &ring, NULL), VYRE_OK);
  vyre_ring_destroy(ring);
  lay_away();
}

static void test_memory(void **state)
{
  vyre_ring *ring = NULL;
  (void)state;
  lay_out(true, VYRE_COMPLETION_BY_TICKET);
  for (uint64_t size = 0; size < region_size; size += size < 0x400 ? 1 : 37)
    refused(size, "bytes");
  assert_int_equal(vyre_ring_attach((char *)memory + 8, region_size - 8, &ring, NULL),
                   VYRE_ERROR_INVALID_ARGUMENT);
  memset(memory, 0, region_size);
  refused(region_size, "magic");
  memset(memory, 0xff, region_size);
  refused(region_size, "magic");
  lay_away();
}

static void test_identity(void **state)
{
  (void)state;
  lay_out(true, VYRE_COMPLETION_BY_TICKET);
  HEADER->magic ^= 1;
  refused(region_size, "magic");
  HEADER->version = 0;
  refused(region_size, "version");
  HEADER->version = VYRE_RING_LAYOUT_VERSION - 1;
  refused(region_size, "version");
  HEADER->version = VYRE_RING_LAYOUT_VERSION + 1;
  refused(region_size, "version");
  HEADER->header_bytes += 128;
  refused(region_size, "header_bytes");
  HEADER->header_bytes = 0;
  refused(region_size, "header_bytes");
  HEADER->generation = 0;
  refused(region_size, "generation");
  HEADER->region_bytes += 128;
  refused(region_size, "region_bytes");
  HEADER->region_bytes = UINT64_MAX;
  refused(region_size, "region_bytes");
  HEADER->region_bytes = 0x3ff;
  refused(region_size, "region_bytes");
  HEADER->region_bytes -= 128;
  refused(region_size, "offset");
  for (uint32_t bit = 3; bit < 32; ++bit) {
    HEADER->flags ^= 1u << bit;
    refused(region_size, "flags");
  }
  lay_away();
}

static void test_counts(void **state)
{
  static const uint32_t wild[] = {31, 32, 33, 63, 64, 65, 127, 1u << 31, UINT32_MAX};
  (void)state;
  lay_out(true, VYRE_COMPLETION_BY_TICKET);
  for (size_t i = 0; i < sizeof wild / sizeof *wild; ++i) {
    HEADER->capacity_log2 = wild[i];
    refused(region_size, wild[i] > 31 ? "capacity_log2" : "completions_log2");
    HEADER->completions_log2 = wild[i];
    refused(region_size, wild[i] > 31 ? "completions_log2" : "offset");
  }
  /* One step too large overruns the array behind, also where nothing overflows. */
  HEADER->capacity_log2 += 1;
  refused(region_size, "offset");
  HEADER->completions_log2 += 1;
  refused(region_size, "offset");
  HEADER->completions_log2 = HEADER->capacity_log2 - 1;
  refused(region_size, "completions_log2");
  HEADER->flags &= ~VYRE_RING_FLAG_COMPLETION;
  refused(region_size, "without completion");
  HEADER->flags &= ~VYRE_RING_FLAG_DEVICE;
  refused(region_size, "results_offset");
  HEADER->results_offset = 0;
  HEADER->flags = 0;
  refused(region_size, "completions_log2");
  HEADER->results_offset = 0;
  HEADER->flags = 0;
  HEADER->completions_log2 = 0;
  refused(region_size, "completion_offset");
  lay_away();
  lay_out(false, VYRE_COMPLETION_NONE);
  HEADER->flags |= VYRE_RING_FLAG_COMPLETION;
  refused(region_size, "completions_log2");
  HEADER->flags |= VYRE_RING_FLAG_COMPLETION;
  HEADER->completions_log2 = 4;
  refused(region_size, "completion_offset");
  lay_away();
}

static void test_offsets(void **state)
{
  static const size_t fields[] = {
      offsetof(vyre_ring_header, cells_offset), offsetof(vyre_ring_header, released_offset),
      offsetof(vyre_ring_header, completion_offset), offsetof(vyre_ring_header, results_offset)};
  static const char *const names[] = {"cells_offset", "released_offset", "completion_offset",
                                      "results_offset"};
  (void)state;
  lay_out(true, VYRE_COMPLETION_BY_TICKET);
  for (int i = 0; i < 4; ++i) {
    const uint64_t wild[] = {
        0, 128, 0x380, region_size, region_size - 128, UINT64_MAX - 127, 1ull << 63, 1ull << 32};
    vyre_ring_u64 *field = (vyre_ring_u64 *)(void *)((char *)memory + fields[i]);
    for (size_t k = 0; k < sizeof wild / sizeof *wild; ++k) {
      *field = wild[k];
      refused(region_size, "_offset");
    }
    for (uint64_t shift = 1; shift < 128; ++shift) {
      *field += shift;
      refused(region_size, names[i]);
    }
    /* On top of another array. */
    for (int k = 0; k < 4; ++k) {
      if (k == i)
        continue;
      memcpy(field, (char *)memory + fields[k], sizeof *field);
      refused(region_size, "_offset");
    }
  }
  lay_away();
}

static void test_moving_words(void **state)
{
  const uint64_t first = (1ull << 32) - 3;
  (void)state;
  lay_out(false, VYRE_COMPLETION_BY_TICKET);
  HEADER->first_position = 1ull << 56;
  refused(region_size, "first_position");
  HEADER->tail = 1ull << 59;
  refused(region_size, "tail");
  HEADER->tail = UINT64_MAX;
  refused(region_size, "tail");
  HEADER->tail = ticket_at(first, 6);
  refused(region_size, "behind");
  HEADER->tail = ticket_at(first - 12, 0);
  refused(region_size, "capacity");
  HEADER->head = first - 1;
  refused(region_size, "behind");
  HEADER->head = first + 17;
  refused(region_size, "capacity");
  HEADER->tail = ticket_in(first, 0, 7);
  refused(region_size, "tail");
  for (uint32_t bit = 56; bit < 62; ++bit) {
    HEADER->head ^= 1ull << bit;
    refused(region_size, "head");
  }
  HEADER->vacant = first + 5 + 17;
  refused(region_size, "vacant");
  HEADER->vacant = 1ull << 56;
  refused(region_size, "vacant");
  HEADER->closed = 2;
  refused(region_size, "closed");
  HEADER->stop = 4;
  refused(region_size, "stop");
  HEADER->state = 3;
  refused(region_size, "state");
  lay_away();
}

/* Any single bit of the fixed line: attach refuses, or what it accepted stays inside the region. */
static void test_every_bit(void **state)
{
  (void)state;
  lay_out(true, VYRE_COMPLETION_BY_TICKET);
  for (size_t bit = 0; bit < 8 * offsetof(vyre_ring_header, pad0); ++bit) {
    vyre_ring *ring = NULL;
    ((unsigned char *)memory)[bit / 8] ^= (unsigned char)(1u << bit % 8);
    if (vyre_ring_attach(memory, region_size, &ring, NULL) == VYRE_OK) {
      const char *base = memory, *end = base + region_size;
      assert_true((const char *)(ring->cells + ring->capacity_mask + 1) <= end);
      assert_true((const char *)(ring->released + ring->released_mask + 1) <= end);
      if (ring->completion)
        assert_true((const char *)(ring->completion + ring->completions_mask + 1) <= end);
      if (ring->results)
        assert_true((const char *)(ring->results + (ring->completions_mask + 1) * 8) <= end);
      vyre_ring_destroy(ring);
    }
    memcpy(memory, sound, region_size);
  }
  lay_away();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attach_works), cmocka_unit_test(test_memory),
      cmocka_unit_test(test_identity),     cmocka_unit_test(test_counts),
      cmocka_unit_test(test_offsets),      cmocka_unit_test(test_moving_words),
      cmocka_unit_test(test_every_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
