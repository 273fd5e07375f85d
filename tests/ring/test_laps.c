/*
 * One thread against a plain model, many laps, every capacity from 1 to 64, positions across 2^32
 * and across their own top.  Every answer of the ring is known beforehand.
 */
#include "tests/ring/ring_help.h"

#define LAPS 12u
#define MOST_ITEMS 4096u

/* What the ring must be like.  Indices count from the first position. */
typedef struct model {
  uint64_t first, capacity, unfinished; /* unfinished 0: no completion */
  uint32_t head, tail;
  bool done[MOST_ITEMS];
} model;

static uint64_t ticket_at(const model *m, uint32_t index)
{
  return vyre__ring_step(m->first, index);
}

/* How many of `n` fit: places that are claimed, and whose completion place is done. */
static uint32_t room(const model *m, uint32_t n)
{
  uint32_t fit = 0;
  while (fit < n) {
    uint32_t index = m->head + fit;
    if (index - m->tail >= m->capacity)
      break;
    if (m->unfinished && index >= m->unfinished && !m->done[index - m->unfinished])
      break;
    ++fit;
  }
  return fit;
}

static void enqueue(vyre_ring *ring, model *m, uint32_t n)
{
  vyre_work_item items[70];
  uint64_t tickets[70];
  uint32_t fit = room(m, n), got = 0;
  vyre_status status;
  for (uint32_t i = 0; i < n; ++i)
    items[i] = item_of(7, m->head + i);
  if (n == 1) {
    status = vyre_ring_enqueue(ring, items, tickets);
    got = status == VYRE_OK;
  } else {
    status = vyre_ring_enqueue_many(ring, items, n, tickets, &got);
  }
  assert_int_equal(status, fit ? VYRE_OK : VYRE_ERROR_QUEUE_FULL);
  assert_int_equal(got, fit);
  for (uint32_t i = 0; i < fit; ++i)
    assert_true(tickets[i] == ticket_at(m, m->head + i));
  m->head += fit;
}

static void claim(vyre_ring *ring, model *m, uint32_t n)
{
  vyre_work_item items[70];
  uint64_t tickets[70];
  uint32_t there = m->head - m->tail, got = 0;
  vyre_status status;
  if (there > n)
    there = n;
  if (n == 1) {
    status = vyre_ring_claim(ring, items, tickets);
    got = status == VYRE_OK;
  } else {
    status = vyre_ring_claim_many(ring, items, tickets, n, &got);
  }
  assert_int_equal(status, there ? VYRE_OK : VYRE_ERROR_EMPTY);
  assert_int_equal(got, there);
  for (uint32_t i = 0; i < there; ++i) {
    vyre_work_item item = item_of(7, m->tail + i);
    assert_true(tickets[i] == ticket_at(m, m->tail + i));
    assert_memory_equal(&items[i], &item, sizeof item);
  }
  m->tail += there;
}

static void check(const vyre_ring *ring, const model *m)
{
  assert_true(vyre_ring_head(ring) == ticket_at(m, m->head));
  assert_true(vyre_ring_tail(ring) == ticket_at(m, m->tail));
  assert_int_equal(vyre_ring_in_flight(ring), m->head - m->tail);
}

static void run_model(uint32_t capacity, uint32_t unfinished, uint64_t first, uint64_t seed)
{
  static model m;
  const uint32_t items = LAPS * (unfinished ? unfinished : capacity);
  vyre_ring *ring = ring_at(capacity, unfinished, first);
  memset(&m, 0, sizeof m);
  m.first = first;
  m.capacity = capacity;
  m.unfinished = unfinished;
  assert_true(items + 70 < MOST_ITEMS);
  while (m.head < items) {
    uint32_t what = next_random(&seed) % 8;
    uint32_t n = next_random(&seed) % (capacity + 2) + 1;
    if (what < 2)
      enqueue(ring, &m, 1);
    else if (what == 2)
      enqueue(ring, &m, n);
    else if (what < 5)
      claim(ring, &m, 1);
    else if (what == 5)
      claim(ring, &m, n);
    else if (m.tail) {
      /* Any claimed ticket, also one that is done; the oldest now and then, or nothing moves. */
      uint32_t index = next_random(&seed) % m.tail;
      for (uint32_t i = 0; what == 6 && i < m.tail; ++i)
        if (!m.done[i]) {
          index = i;
          break;
        }
      vyre_ring_mark_done(ring, ticket_at(&m, index));
      m.done[index] = true;
    }
    check(ring, &m);
    for (uint32_t i = 0; unfinished && what >= 6 && i < m.head; ++i)
      assert_int_equal(vyre_ring_is_done(ring, ticket_at(&m, i)), m.done[i]);
  }
  vyre_ring_close(ring);
  while (m.tail < m.head)
    claim(ring, &m, 3);
  assert_int_equal(vyre_ring_claim(ring, &(vyre_work_item){0}, NULL), VYRE_ERROR_CLOSED);
  ring_gone(ring);
}

static void test_model(void **state)
{
  (void)state;
  for (uint32_t capacity = 1; capacity <= 64; capacity *= 2)
    for (size_t f = 0; f < FIRST_POSITIONS; ++f)
      for (uint64_t seed = 1; seed <= 5; ++seed)
        run_model(capacity, 0, first_positions[f], seed * 77 + capacity);
}

static void test_model_with_completion(void **state)
{
  (void)state;
  for (uint32_t capacity = 1; capacity <= 64; capacity *= 2)
    for (size_t f = 0; f < FIRST_POSITIONS; ++f)
      for (uint32_t unfinished = capacity; unfinished <= capacity * 4; unfinished *= 2)
        run_model(capacity, unfinished, first_positions[f], f * 31 + capacity);
}

/* EMPTY: the next ticket is not published, whatever is published behind it. */
static void test_published_out_of_order(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    vyre_ring *ring = ring_at(4, 0, first_positions[f]);
    vyre_work_item items[4], out[4];
    uint64_t a = 0, b = 0;
    uint32_t n = 0;
    bool phase = true;
    for (uint32_t i = 0; i < 4; ++i)
      items[i] = item_of(3, i);
    assert_int_equal(vyre__ring_reserve(ring, 1, &a, &n, &phase), VYRE_OK);
    assert_true(a == first_positions[f] && n == 1 && !phase);
    assert_int_equal(vyre__ring_reserve(ring, 9, &b, &n, &phase), VYRE_OK);
    assert_true(b == vyre__ring_step(a, 1) && n == 3);
    assert_int_equal(vyre__ring_reserve(ring, 1, &b, &n, &phase), VYRE_ERROR_QUEUE_FULL);
    vyre__ring_publish(ring, vyre__ring_step(a, 1), false, &items[1]);
    vyre__ring_publish(ring, vyre__ring_step(a, 3), false, &items[3]);
    vyre__ring_published(ring);
    assert_int_equal(vyre_ring_claim_many(ring, out, NULL, 4, &n), VYRE_ERROR_EMPTY);
    /* Closed, but not drained: items are still to come. */
    vyre_ring_close(ring);
    assert_int_equal(vyre_ring_claim(ring, out, NULL), VYRE_ERROR_EMPTY);
    vyre__ring_publish(ring, a, false, &items[0]);
    assert_int_equal(vyre_ring_claim_many(ring, out, NULL, 4, &n), VYRE_OK);
    assert_int_equal(n, 2);
    assert_int_equal(vyre_ring_claim(ring, out + 2, NULL), VYRE_ERROR_EMPTY);
    vyre__ring_publish(ring, vyre__ring_step(a, 2), false, &items[2]);
    assert_int_equal(vyre_ring_claim_many(ring, out + 2, NULL, 2, &n), VYRE_OK);
    assert_int_equal(n, 2);
    assert_memory_equal(out, items, sizeof items);
    assert_int_equal(vyre_ring_claim(ring, out, NULL), VYRE_ERROR_CLOSED);
    ring_gone(ring);
  }
}

/* The words in memory are those of vyre_ring_layout.h: a device reads them by it. */
static void test_stamps_in_memory(void **state)
{
  const uint64_t first = (1ull << 62) - 3;
  vyre_ring *ring = ring_at(4, 8, first);
  vyre_work_item item = item_of(1, 2), out;
  uint64_t ticket;
  (void)state;
  for (uint64_t i = 0; i < 4; ++i) {
    uint64_t previous = (first + i - 4 + 1) & VYRE_RING_POSITION_MASK;
    assert_true(ring->cells[(first + i) % 4].published == previous);
    assert_true(ring->released[(first + i) % 4] == previous);
  }
  for (uint64_t i = 0; i < 8; ++i)
    assert_true(ring->completion[(first + i) % 8] ==
                ((first + i - 8 + 1) & VYRE_RING_POSITION_MASK));
  for (uint64_t i = 0; i < 9; ++i) {
    uint64_t position = (first + i) & VYRE_RING_POSITION_MASK;
    const vyre_ring_cell *cell = &ring->cells[position % 4];
    if (i % 3 == 2)
      assert_true(vyre__ring_flip_phase(ring) == position);
    assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_OK);
    assert_true(cell->published == ((position + 1) & VYRE_RING_POSITION_MASK));
    assert_int_equal(cell->flags, (i + 1) / 3 % 2 ? VYRE_RING_CELL_PHASE : 0);
    assert_int_equal(cell->item[0], item.input_offset);
    assert_int_equal(cell->item[1], item.input_len);
    assert_int_equal(cell->item[2], item.rule_set_id);
    assert_int_equal(cell->item[3], item.correlation);
    assert_int_equal(vyre_ring_claim(ring, &out, NULL), VYRE_OK);
    assert_true(ring->released[position % 4] == ((position + 1) & VYRE_RING_POSITION_MASK));
    vyre_ring_mark_done(ring, ticket);
    assert_true(ring->completion[position % 8] == ((position + 1) & VYRE_RING_POSITION_MASK));
  }
  ring_gone(ring);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_model),
      cmocka_unit_test(test_model_with_completion),
      cmocka_unit_test(test_published_out_of_order),
      cmocka_unit_test(test_stamps_in_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
