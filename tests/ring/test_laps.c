/*
 * One thread against a plain model, many laps, every capacity from 1 to 64, positions across 2^32
 * and across their own top.  Every answer of the ring is known beforehand.
 */
#include "tests/ring/ring_help.h"

#define LAPS 12u
#define MOST_CELLS 4096u
#define MOST_BATCH 128u

/* What the ring must be like.  Cells count from the first position, items from 0. */
typedef struct model_cell {
  uint32_t first, count; /* its items */
  uint8_t pending;       /* a bit for each item that is not done */
} model_cell;

typedef struct model {
  uint64_t first, capacity, unfinished; /* unfinished 0: no completion */
  uint32_t head;                        /* cells */
  uint32_t tail, index;                 /* the next item to claim: its cell, and where it lies */
  uint32_t items, claimed;
  model_cell cells[MOST_CELLS];
} model;

static uint32_t least(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

/* How many of `n` places fit: those that are wholly claimed, and whose completion place is done. */
static uint32_t room(const model *m, uint32_t n)
{
  uint32_t fit = 0;
  while (fit < n) {
    uint32_t cell = m->head + fit;
    if (cell - m->tail >= m->capacity)
      break;
    if (m->unfinished && cell >= m->unfinished && m->cells[cell - m->unfinished].pending)
      break;
    ++fit;
  }
  return fit;
}

static void enqueue(vyre_ring *ring, model *m, uint32_t n, bool single)
{
  vyre_work_item items[MOST_BATCH];
  uint64_t tickets[MOST_BATCH];
  uint32_t places = room(m, places_of(n)), fit = least(n, places * VYRE_RING_CELL_ITEMS), got = 0;
  vyre_status status;
  for (uint32_t i = 0; i < n; ++i)
    items[i] = item_of(7, m->items + i);
  if (single) {
    status = vyre_ring_enqueue(ring, items, tickets);
    got = status == VYRE_OK;
  } else {
    status = vyre_ring_enqueue_many(ring, items, n, tickets, &got);
  }
  assert_int_equal(status, fit ? VYRE_OK : VYRE_ERROR_QUEUE_FULL);
  assert_int_equal(got, fit);
  for (uint32_t i = 0; i < fit; ++i)
    assert_true(tickets[i] == ticket_in(m->first, m->head + i / 7, i % 7));
  for (uint32_t left = fit; left; ++m->head) {
    model_cell *cell = &m->cells[m->head];
    cell->first = m->items;
    cell->count = least(left, VYRE_RING_CELL_ITEMS);
    cell->pending = (uint8_t)((1u << cell->count) - 1);
    m->items += cell->count;
    left -= cell->count;
  }
}

static void claim(vyre_ring *ring, model *m, uint32_t n, bool single)
{
  vyre_work_item items[MOST_BATCH];
  uint64_t tickets[MOST_BATCH];
  uint32_t there = least(m->items - m->claimed, n), got = 0;
  vyre_status status;
  if (single) {
    status = vyre_ring_claim(ring, items, tickets);
    got = status == VYRE_OK;
  } else {
    status = vyre_ring_claim_many(ring, items, tickets, n, &got);
  }
  assert_int_equal(status, there ? VYRE_OK : VYRE_ERROR_EMPTY);
  assert_int_equal(got, there);
  for (uint32_t i = 0; i < there; ++i) {
    vyre_work_item item = item_of(7, m->claimed++);
    assert_true(tickets[i] == ticket_in(m->first, m->tail, m->index));
    assert_memory_equal(&items[i], &item, sizeof item);
    if (++m->index == m->cells[m->tail].count) {
      m->index = 0;
      ++m->tail;
    }
  }
}

/* Marks tickets of any issued items: claimed or not, done or not. */
static void mark(vyre_ring *ring, model *m, uint64_t *seed, bool oldest)
{
  uint64_t tickets[12];
  uint32_t n = next_random(seed) % 12 + 1;
  uint32_t cell = next_random(seed) % m->head;
  for (uint32_t i = 0; oldest && i < m->head; ++i)
    if (m->cells[i].pending) {
      cell = i;
      break;
    }
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t index;
    if (i && next_random(seed) % 4 == 0)
      cell = next_random(seed) % m->head;
    index = next_random(seed) % m->cells[cell].count;
    tickets[i] = ticket_in(m->first, cell, index);
    m->cells[cell].pending &= (uint8_t) ~(1u << index);
    if (n % 2)
      vyre_ring_mark_done(ring, tickets[i]);
  }
  if (n % 2 == 0)
    vyre_ring_mark_done_many(ring, tickets, n);
}

static void check(const vyre_ring *ring, const model *m)
{
  assert_true(vyre_ring_head(ring) == vyre__ring_step(m->first, m->head));
  assert_true(vyre_ring_tail(ring) == vyre__ring_step(m->first, m->tail));
  assert_true(ring->header->tail == ticket_in(m->first, m->tail, m->index));
  assert_int_equal(vyre_ring_in_flight(ring), m->head - m->tail);
}

static void check_done(const vyre_ring *ring, const model *m)
{
  /* All there ever were now and then, mostly the later ones. */
  uint32_t i =
      m->head % 8 && m->head > 2 * m->unfinished ? m->head - 2 * (uint32_t)m->unfinished : 0;
  for (; i < m->head; ++i)
    for (uint32_t k = 0; k < m->cells[i].count; ++k)
      assert_int_equal(vyre_ring_is_done(ring, ticket_in(m->first, i, k)),
                       !(m->cells[i].pending & 1u << k));
  for (; i < m->head + m->unfinished; ++i)
    assert_false(vyre_ring_is_done(ring, ticket_at(m->first, i)));
}

static void run_model(uint32_t capacity, uint32_t unfinished, uint64_t first, uint64_t seed)
{
  static model m;
  const uint32_t cells = LAPS * (unfinished ? unfinished : capacity);
  vyre_ring *ring = ring_at(capacity, unfinished, first);
  memset(&m, 0, sizeof m);
  m.first = first;
  m.capacity = capacity;
  m.unfinished = unfinished;
  assert_true(cells + 70 < MOST_CELLS);
  while (m.head < cells) {
    uint32_t what = next_random(&seed) % 8;
    uint32_t n = next_random(&seed) % (least(capacity, 16) * 7 + 9) + 1;
    if (what < 2)
      enqueue(ring, &m, 1, what == 0);
    else if (what == 2)
      enqueue(ring, &m, n, false);
    else if (what < 5)
      claim(ring, &m, 1, what == 3);
    else if (what == 5)
      claim(ring, &m, n, false);
    else if (m.head && unfinished)
      /* The oldest now and then, or nothing moves. */
      mark(ring, &m, &seed, what == 6);
    check(ring, &m);
    if (unfinished && what >= 6)
      check_done(ring, &m);
  }
  vyre_ring_close(ring);
  while (m.tail < m.head)
    claim(ring, &m, 3, false);
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
  for (uint32_t capacity = 1; capacity <= 64; capacity *= 4)
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
    vyre_work_item items[22], out[22];
    vyre__ring_span a = {0}, b = {0}, c = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < 22; ++i)
      items[i] = item_of(3, i);
    assert_int_equal(vyre__ring_reserve(ring, 1, &a), VYRE_OK);
    assert_true(a.position == first_positions[f] && a.places == 1 && a.items == 1 && !a.phase);
    /* 27 items would take four places. */
    assert_int_equal(vyre__ring_reserve(ring, 27, &b), VYRE_OK);
    assert_true(b.position == vyre__ring_step(a.position, 1) && b.places == 3 && b.items == 21);
    assert_int_equal(vyre__ring_place_items(&b, 2), 7);
    assert_true(vyre__ring_span_ticket(&b, 15) == ticket_in(first_positions[f], 3, 1));
    assert_int_equal(vyre__ring_reserve(ring, 1, &c), VYRE_ERROR_QUEUE_FULL);
    vyre__ring_publish(ring, &b, 0, &items[1]);
    vyre__ring_publish(ring, &b, 2, &items[1]);
    vyre__ring_published(ring);
    assert_int_equal(vyre_ring_claim_many(ring, out, NULL, 22, &n), VYRE_ERROR_EMPTY);
    /* Closed, but not drained: items are still to come. */
    vyre_ring_close(ring);
    assert_int_equal(vyre_ring_claim(ring, out, NULL), VYRE_ERROR_EMPTY);
    vyre__ring_publish(ring, &a, 0, &items[0]);
    assert_int_equal(vyre_ring_claim_many(ring, out, NULL, 22, &n), VYRE_OK);
    assert_int_equal(n, 8);
    assert_int_equal(vyre_ring_claim(ring, out + 8, NULL), VYRE_ERROR_EMPTY);
    vyre__ring_publish(ring, &b, 1, &items[1]);
    assert_int_equal(vyre_ring_claim_many(ring, out + 8, NULL, 14, &n), VYRE_OK);
    assert_int_equal(n, 14);
    assert_memory_equal(out, items, sizeof items);
    assert_int_equal(vyre_ring_claim(ring, out, NULL), VYRE_ERROR_CLOSED);
    ring_gone(ring);
  }
}

static uint64_t word_at(uint64_t position)
{
  return ((position + 1) & VYRE_RING_POSITION_MASK) << 8;
}

static uint64_t released_at(uint64_t position, uint32_t count)
{
  return word_at(position) | count << 3;
}

/* The words in memory are those of vyre_ring_layout.h: a device reads them by it. */
static void test_words_in_memory(void **state)
{
  const uint64_t first = NEAR_TOP;
  vyre_ring *ring = ring_at(4, 8, first);
  vyre_work_item item = item_of(1, 2), out;
  uint64_t ticket;
  (void)state;
  for (uint64_t i = 0; i < 4; ++i) {
    assert_true(ring->cells[(first + i) % 4].published == word_at(first + i - 4));
  }
  for (uint64_t i = 0; i < 8; ++i) {
    assert_true(ring->released[(first + i) % 8] == word_at(first + i - 8));
    assert_true(ring->completion[(first + i) % 8] == word_at(first + i - 8));
  }
  for (uint64_t i = 0; i < 9; ++i) {
    uint64_t position = (first + i) & VYRE_RING_POSITION_MASK;
    const vyre_ring_cell *cell = &ring->cells[position % 4];
    if (i % 3 == 2)
      assert_true(vyre__ring_flip_phase(ring) == position);
    assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_OK);
    assert_true(cell->published ==
                (word_at(position) | ((i + 1) / 3 % 2 ? VYRE_RING_CELL_PHASE : 0) | 1));
    assert_int_equal(cell->item[0][0], item.input_offset);
    assert_int_equal(cell->item[0][1], item.input_len);
    assert_int_equal(cell->item[0][2], item.rule_set_id);
    assert_int_equal(cell->item[0][3], item.correlation);
    assert_true(ring->completion[position % 8] == word_at(position - 8));
    assert_int_equal(vyre_ring_claim(ring, &out, NULL), VYRE_OK);
    assert_true(ring->released[position % 8] == released_at(position, 1));
    vyre_ring_mark_done(ring, ticket);
    assert_true(ring->completion[position % 8] == word_at(position));
  }
  ring_gone(ring);
}

/* The same for a cell of several items, taken and finished in parts. */
static void test_words_of_a_packed_cell(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    const uint64_t first = first_positions[f];
    vyre_ring *ring = ring_at(2, 2, first);
    for (uint64_t i = 0; i < 7; ++i) {
      const uint64_t position = (first + i) & VYRE_RING_POSITION_MASK;
      const uint32_t count = (uint32_t)(7 - i % 6);
      vyre_work_item items[7], out[7];
      uint64_t tickets[7], *completion = &ring->completion[position % 2];
      const uint64_t *released = &ring->released[position % 2];
      const uint64_t before = *released, done_before = *completion;
      uint32_t n = 0;
      for (uint32_t k = 0; k < 7; ++k)
        items[k] = item_of(k, k);
      assert_true(before >> 8 == word_at(position - 2) >> 8 && (before & 7) == 0);
      assert_true(done_before == word_at(position - 2));
      assert_int_equal(vyre_ring_enqueue_many(ring, items, count, tickets, &n), VYRE_OK);
      assert_int_equal(n, count);
      assert_true(ring->cells[position % 2].published == (word_at(position) | count));
      assert_memory_equal(ring->cells[position % 2].item, items, count * sizeof *items);
      for (uint32_t k = 0; k < count; ++k) {
        assert_true(*released == (before | k));
        assert_true(ring->header->tail == tickets[k]);
        assert_int_equal(vyre_ring_claim(ring, &out[k], NULL), VYRE_OK);
      }
      assert_true(*released == released_at(position, count));
      assert_true(*completion == done_before);
      assert_memory_equal(out, items, count * sizeof *items);
      /* From the last to the first; an index that the cell does not have changes nothing. */
      for (uint32_t k = count; k-- > 0;) {
        vyre_ring_mark_done(ring, ticket_in(first, i, 7));
        if (count < 7)
          vyre_ring_mark_done(ring, ticket_in(first, i, count));
        assert_true(*completion ==
                    (k + 1 == count ? done_before : (word_at(position) | ((2u << k) - 1))));
        vyre_ring_mark_done(ring, tickets[k]);
      }
      assert_true(*completion == word_at(position));
    }
    ring_gone(ring);
  }
}

/* A supervisor's tombstone: a cell without items frees the line behind it. */
static void test_tombstones(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    const uint64_t first = first_positions[f];
    vyre_ring *ring = ring_at(2, 0, first);
    for (uint64_t i = 0; i < 12; ++i) {
      const vyre_work_item item = item_of(0, (uint32_t)i);
      vyre_work_item out;
      uint64_t ticket = 0;
      vyre__ring_span span;
      assert_int_equal(vyre__ring_reserve(ring, 1, &span), VYRE_OK);
      assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
      assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_ERROR_EMPTY);
      assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_QUEUE_FULL);
      __atomic_store_n(&ring->cells[span.position % 2].published, word_at(span.position),
                       __ATOMIC_RELEASE);
      assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_OK);
      assert_true(ticket == ticket_at(first, 2 * i + 1));
      assert_memory_equal(&out, &item, sizeof item);
      assert_int_equal(vyre_ring_in_flight(ring), 0);
      /* One that ends what is there. */
      if (i == 11) {
        assert_int_equal(vyre__ring_reserve(ring, 1, &span), VYRE_OK);
        vyre_ring_close(ring);
        assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_ERROR_EMPTY);
        __atomic_store_n(&ring->cells[span.position % 2].published, word_at(span.position),
                         __ATOMIC_RELEASE);
        assert_int_equal(vyre_ring_claim(ring, &out, &ticket), VYRE_ERROR_CLOSED);
      }
    }
    ring_gone(ring);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_model),
      cmocka_unit_test(test_model_with_completion),
      cmocka_unit_test(test_published_out_of_order),
      cmocka_unit_test(test_words_in_memory),
      cmocka_unit_test(test_words_of_a_packed_cell),
      cmocka_unit_test(test_tombstones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
