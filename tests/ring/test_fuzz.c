/*
 * Memory that somebody else wrote to: bits of the whole region flip, before a process attaches and
 * while it uses the ring.  Whatever the words say, every call returns, stays inside the region and
 * the caller's arrays (AddressSanitizer looks), and promises nothing that cannot be.  The seed is
 * fixed: a failure comes again.
 */
#include "tests/ring/ring_help.h"

#define CAPACITY 4u
#define BATCH 9u
#define GUARD 0x5a5a5a5au

typedef struct region {
  void *memory; /* exactly as large as the ring needs */
  unsigned char *sound;
  uint64_t size;
} region;

/* A ring in the middle of its life: laps, a cell taken in parts, items done and not done. */
static void lay_out(region *r, bool device, bool completion, uint64_t first)
{
  vyre__ring_setup setup = {
      .options = VYRE_RING_OPTIONS_INIT, .device = device, .first_position = first};
  vyre_work_item items[32] = {{0, 0, 0, 0}};
  uint64_t tickets[32];
  vyre_ring *ring = NULL;
  uint32_t n = 0;
  setup.options.capacity = CAPACITY;
  setup.options.completion = completion ? VYRE_COMPLETION_BY_TICKET : VYRE_COMPLETION_NONE;
  setup.options.max_unfinished = completion ? 2 * CAPACITY : 0;
  assert_int_equal(vyre__ring_region_size(&setup, &r->size, NULL), VYRE_OK);
  r->memory = aligned_alloc(VYRE_RING_LINE, r->size);
  r->sound = malloc(r->size);
  assert_true(r->memory && r->sound);
  assert_int_equal(vyre__ring_init(r->memory, r->size, &setup, NULL, &ring, NULL), VYRE_OK);
  for (int i = 0; i < 7; ++i) {
    assert_int_equal(vyre_ring_enqueue_many(ring, items, 11, tickets, &n), VYRE_OK);
    assert_int_equal(vyre_ring_claim_many(ring, items, tickets, 32, &n), VYRE_OK);
    vyre_ring_mark_done_many(ring, tickets, n - (i == 6));
  }
  assert_int_equal(vyre_ring_enqueue_many(ring, items, 12, tickets, &n), VYRE_OK);
  assert_int_equal(vyre_ring_enqueue(ring, items, tickets), VYRE_OK);
  assert_int_equal(vyre_ring_claim_many(ring, items, tickets, 2, &n), VYRE_OK);
  vyre_ring_destroy(ring);
  memcpy(r->sound, r->memory, r->size);
}

static void lay_away(region *r)
{
  free(r->memory);
  free(r->sound);
}

static bool is_one_of(vyre_status status, vyre_status a, vyre_status b, vyre_status c)
{
  return status == a || status == b || status == c;
}

static void use_producers(vyre_ring *ring)
{
  vyre_work_item items[BATCH] = {{1, 2, 3, 4}};
  uint64_t tickets[BATCH + 1], ticket = 0;
  uint32_t n = 0;
  vyre_status status;
  memset(tickets, 0x5a, sizeof tickets);
  status = vyre_ring_enqueue(ring, items, &ticket);
  assert_true(is_one_of(status, VYRE_OK, VYRE_ERROR_QUEUE_FULL, VYRE_ERROR_CLOSED));
  assert_true(ticket <= VYRE_RING_TICKET_MASK);
  status = vyre_ring_enqueue_many(ring, items, BATCH, tickets, &n);
  assert_true(is_one_of(status, VYRE_OK, VYRE_ERROR_QUEUE_FULL, VYRE_ERROR_CLOSED));
  assert_true(n <= BATCH && (status == VYRE_OK) == (n > 0));
  for (uint32_t i = 0; i < n; ++i)
    assert_true(tickets[i] <= VYRE_RING_TICKET_MASK);
  assert_true(tickets[BATCH] == 0x5a5a5a5a5a5a5a5aull);
  (void)vyre_ring_enqueue_wait(ring, items, 0, &ticket);
}

static void use_consumers(vyre_ring *ring)
{
  vyre_work_item items[BATCH + 1];
  uint64_t tickets[BATCH + 1], ticket = 0;
  uint32_t n = 0;
  vyre_status status;
  memset(items, 0x5a, sizeof items);
  memset(tickets, 0x5a, sizeof tickets);
  status = vyre_ring_claim_many(ring, items, tickets, BATCH, &n);
  assert_true(is_one_of(status, VYRE_OK, VYRE_ERROR_EMPTY, VYRE_ERROR_CLOSED));
  assert_true(n <= BATCH && (status == VYRE_OK) == (n > 0));
  assert_int_equal(items[BATCH].correlation, GUARD);
  assert_true(tickets[BATCH] == 0x5a5a5a5a5a5a5a5aull);
  for (uint32_t i = 0; i < n; ++i)
    vyre_ring_mark_done(ring, tickets[i]);
  status = vyre_ring_claim(ring, items, &ticket);
  assert_true(is_one_of(status, VYRE_OK, VYRE_ERROR_EMPTY, VYRE_ERROR_CLOSED));
  (void)vyre_ring_claim_wait(ring, 0, items, &ticket);
  vyre_ring_mark_done_many(ring, tickets, BATCH + 1);
}

static void use_the_rest(vyre_ring *ring, uint64_t random)
{
  assert_true(vyre_ring_in_flight(ring) <= CAPACITY || vyre_ring_capacity(ring) != CAPACITY);
  assert_true(vyre_ring_head(ring) <= VYRE_RING_POSITION_MASK);
  assert_true(vyre_ring_tail(ring) <= VYRE_RING_POSITION_MASK);
  vyre_ring_mark_done(ring, random);
  vyre_ring_mark_done(ring, random & VYRE_RING_TICKET_MASK);
  vyre_ring_mark_done(ring, random & 0xff);
  (void)vyre_ring_is_done(ring, random);
  (void)vyre_ring_is_done(ring, random & VYRE_RING_TICKET_MASK);
  (void)vyre_ring_is_done(ring, random & 0xff);
  (void)vyre_ring_wait(ring, random & VYRE_RING_TICKET_MASK, 0);
  (void)vyre__ring_flip_phase(ring);
  (void)vyre__ring_is_closed(ring);
}

static void use_all(vyre_ring *ring, uint64_t random)
{
  for (int i = 0; i < 3; ++i) {
    use_consumers(ring);
    use_producers(ring);
    use_the_rest(ring, random + (uint64_t)i);
  }
  vyre_ring_close(ring);
  use_producers(ring);
  use_consumers(ring);
  use_the_rest(ring, random);
}

static void flip(region *r, uint64_t *random, uint64_t below, uint32_t n)
{
  unsigned char *bytes = r->memory;
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t at = next_random(random) % below;
    /* A bit, or the whole byte. */
    bytes[at] ^= (unsigned char)(next_random(random) % 4 ? 1u << next_random(random) % 8
                                                         : next_random(random));
  }
}

/* What attach accepts lies inside the region. */
static void assert_inside(const vyre_ring *ring, const region *r)
{
  const char *begin = (const char *)r->memory + VYRE_RING_HEADER_BYTES;
  const char *end = (const char *)r->memory + r->size;
  assert_true((const char *)ring->cells >= begin && (const char *)ring->released >= begin);
  assert_true((const char *)(ring->cells + ring->capacity_mask + 1) <= end);
  assert_true((const char *)(ring->released + ring->released_mask + 1) <= end);
  if (ring->completion)
    assert_true((const char *)(ring->completion + ring->completions_mask + 1) <= end);
  if (ring->results)
    assert_true((const char *)(ring->results + (ring->completions_mask + 1) * 8) <= end);
}

/* Flips that attach has to judge: it refuses, or the ring can be used. */
static void flip_then_attach(region *r, uint64_t *random, uint64_t below)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_ring *ring = NULL;
  memcpy(r->memory, r->sound, r->size);
  flip(r, random, below, next_random(random) % 4 + 1);
  if (vyre_ring_attach(r->memory, r->size, &ring, &err) == VYRE_OK) {
    assert_inside(ring, r);
    use_all(ring, *random);
    vyre_ring_destroy(ring);
  } else {
    assert_null(ring);
    assert_true(err.message[0] && err.fix[0]);
  }
}

/* Flips under the eyes of a process that has attached: between any two of its calls. */
static void attach_then_flip(region *r, uint64_t *random, uint64_t below)
{
  vyre_ring *ring = NULL;
  memcpy(r->memory, r->sound, r->size);
  assert_int_equal(vyre_ring_attach(r->memory, r->size, &ring, NULL), VYRE_OK);
  for (int i = 0; i < 4; ++i) {
    flip(r, random, below, next_random(random) % 4 + 1);
    use_consumers(ring);
    flip(r, random, below, next_random(random) % 4);
    use_producers(ring);
    use_the_rest(ring, *random);
  }
  use_all(ring, *random);
  vyre_ring_destroy(ring);
}

/* Flips at the hook points: within calls, between what they judge and what they do. */
static region *hooked;
static uint64_t hook_random;

static void flip_here(vyre__ring_point point)
{
  (void)point;
  if (next_random(&hook_random) % 4 == 0)
    flip(hooked, &hook_random, next_random(&hook_random) % 2 ? 0x400 : hooked->size, 1);
}

static void flip_within_calls(region *r, uint64_t *random)
{
  vyre_ring *ring = NULL;
  memcpy(r->memory, r->sound, r->size);
  assert_int_equal(vyre_ring_attach(r->memory, r->size, &ring, NULL), VYRE_OK);
  hooked = r;
  hook_random = *random += 1234567;
  vyre__ring_hook = flip_here;
  use_all(ring, *random);
  vyre__ring_hook = NULL;
  vyre_ring_destroy(ring);
}

static void fuzz(bool device, bool completion, uint64_t first, uint64_t seed)
{
  region r;
  lay_out(&r, device, completion, first);
  for (uint32_t i = 0; i < ROUNDS(20000u); ++i) {
    /* Half of them in the header, where they do most. */
    const uint64_t below = i % 2 ? VYRE_RING_HEADER_BYTES : r.size;
    if (i % 8 > 5)
      flip_within_calls(&r, &seed);
    else if (i % 4 < 2)
      flip_then_attach(&r, &seed, below);
    else
      attach_then_flip(&r, &seed, below);
  }
  lay_away(&r);
}

static void test_without_completion(void **state)
{
  (void)state;
  fuzz(false, false, 0, 1);
  fuzz(false, false, NEAR_TOP - 20, 2);
}

static void test_with_completion(void **state)
{
  (void)state;
  fuzz(false, true, 0, 3);
  fuzz(false, true, NEAR_TOP - 20, 4);
}

static void test_of_a_device(void **state)
{
  (void)state;
  fuzz(true, true, (1ull << 32) - 20, 5);
}

/* Words of particular malice, one at a time: each moving word takes each of them. */
static void test_strange_words(void **state)
{
  static const size_t words[] = {
      offsetof(vyre_ring_header, head),      offsetof(vyre_ring_header, vacant),
      offsetof(vyre_ring_header, tail),      offsetof(vyre_ring_header, stop),
      offsetof(vyre_ring_header, not_empty), offsetof(vyre_ring_header, not_full),
      offsetof(vyre_ring_header, completed)};
  (void)state;
  for (uint32_t mode = 0; mode < 2; ++mode) {
    region r;
    lay_out(&r, mode, mode, NEAR_TOP - 17);
    for (size_t w = 0; w < sizeof words / sizeof *words + 3; ++w)
      for (uint32_t shift = 0; shift < 64; ++shift)
        for (uint32_t what = 0; what < 6; ++what) {
          vyre_ring *ring = NULL;
          vyre_ring_u64 *word;
          memcpy(r.memory, r.sound, r.size);
          assert_int_equal(vyre_ring_attach(r.memory, r.size, &ring, NULL), VYRE_OK);
          if (w < sizeof words / sizeof *words)
            word = (vyre_ring_u64 *)(void *)((char *)r.memory + words[w]);
          else if (w == sizeof words / sizeof *words)
            word = &ring->cells[shift % CAPACITY].published;
          else if (w == sizeof words / sizeof *words + 1 || !ring->completion)
            word = &ring->released[shift % CAPACITY];
          else
            word = &ring->completion[shift % CAPACITY];
          if (what == 0)
            *word = 1ull << shift;
          else if (what == 1)
            *word = (1ull << shift) - 1;
          else if (what == 2)
            *word += 1ull << shift;
          else if (what == 3)
            *word -= 1ull << shift;
          else if (what == 4)
            *word = ~(*word) >> shift;
          else
            *word = (*word & ~7ull) | (shift & 7);
          use_all(ring, *word + shift);
          vyre_ring_destroy(ring);
        }
    lay_away(&r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strange_words),
      cmocka_unit_test(test_without_completion),
      cmocka_unit_test(test_with_completion),
      cmocka_unit_test(test_of_a_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
