/*
 * Memory that is said to be a ring (vyre_ring_attach).  The input is a ring's options and then
 * edits of words of the region that vyre_ring_init() made: four bytes of where, then a number.
 * Whatever was attached to is used: every call returns and stays inside the region.
 */
#include "core/ring/layout.h"
#include "tests/fuzz/fuzz.h"

#define BATCH 9u

static bool lay_out(fuzz_input *in, vyre__ring_setup *out_setup, uint64_t *out_size)
{
  vyre__ring_setup setup = {.options = VYRE_RING_OPTIONS_INIT};
  const uint8_t modes = fuzz_byte(in);
  setup.options.capacity = 1u << (modes & 3);
  setup.options.waiting = (modes >> 2) & 1;
  setup.options.completion = (modes >> 3) & 1;
  setup.device = (modes >> 4) & 1;
  setup.first_position = fuzz_number(in);
  *out_setup = setup;
  return vyre__ring_region_size(&setup, out_size, NULL) == VYRE_OK;
}

static void edit(fuzz_input *in, unsigned char *memory, uint64_t size)
{
  while (in->left) {
    const uint64_t at = fuzz_raw(in, 2) % size / 4 * 4;
    const uint64_t value = fuzz_number(in);
    /* A word of 8 bytes where one can lie, else one of 4. */
    memcpy(memory + at, &value, at % 8 || size - at < 8 ? 4 : 8);
  }
}

static void use(vyre_ring *ring)
{
  vyre_work_item items[BATCH + 1];
  uint64_t tickets[BATCH + 1], ticket = 0;
  uint32_t n = 0;
  memset(items, 0x5a, sizeof items);
  memset(tickets, 0x5a, sizeof tickets);
  (void)vyre_ring_enqueue(ring, items, &ticket);
  (void)vyre_ring_enqueue_many(ring, items, BATCH, tickets, &n);
  FUZZ_REQUIRE(n <= BATCH && tickets[BATCH] == 0x5a5a5a5a5a5a5a5aull);
  (void)vyre_ring_is_done(ring, ticket);
  (void)vyre_ring_enqueue_wait(ring, items, 0, &ticket);
  (void)vyre_ring_claim_many(ring, items, tickets, BATCH, &n);
  FUZZ_REQUIRE(n <= BATCH && tickets[BATCH] == 0x5a5a5a5a5a5a5a5aull);
  FUZZ_REQUIRE(items[BATCH].correlation == 0x5a5a5a5au);
  (void)vyre_ring_claim(ring, items, &ticket);
  (void)vyre_ring_claim_wait(ring, 0, items, &ticket);
  vyre_ring_mark_done(ring, ticket);
  vyre_ring_mark_done_many(ring, tickets, BATCH + 1);
  (void)vyre_ring_wait(ring, ticket, 0);
  FUZZ_REQUIRE(vyre_ring_in_flight(ring) <= vyre_ring_capacity(ring));
  FUZZ_REQUIRE(vyre_ring_head(ring) <= VYRE_RING_POSITION_MASK);
  FUZZ_REQUIRE(vyre_ring_tail(ring) <= VYRE_RING_POSITION_MASK);
  vyre_ring_close(ring);
  FUZZ_REQUIRE(vyre_ring_enqueue(ring, items, &ticket) != VYRE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_input in = {data, size};
  vyre__ring_setup setup;
  vyre_ring *ring = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t region = 0;
  void *memory;
  vyre_status status;
  if (!lay_out(&in, &setup, &region))
    return 0;
  memory = aligned_alloc(VYRE_RING_LINE, region);
  if (!memory)
    exit(2);
  FUZZ_REQUIRE(vyre__ring_init(memory, region, &setup, NULL, &ring, NULL) == VYRE_OK);
  vyre_ring_destroy(ring);
  ring = NULL;
  edit(&in, memory, region);
  status = vyre_ring_attach(memory, region, &ring, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (ring != NULL));
  if (ring)
    use(ring);
  vyre_ring_destroy(ring);
  free(memory);
  return 0;
}
