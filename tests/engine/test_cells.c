/*
 * test_cells.c - items that share a place of the ring: packed by submit_many(), claimed in parts by
 * several workers, reaped in any order, across the tops of what positions are kept in.
 */
#include "tests/engine/engine_help.h"

#include "core/engine/engine.h"

#include <pthread.h>

static test_rig cpu;
static const vyre_engine_mode modes[] = {VYRE_ENGINE_FORCE, VYRE_ENGINE_DISABLE};

/* The start; before the 32 bits of a value's stamp are over; before the 56 of a position. */
static const uint64_t starts[] = {0, (UINT64_C(1) << 32) - 9, VYRE_RING_POSITION_MASK - 9};

static int open_cpu(void **state)
{
  (void)state;
  rig_open(&cpu, NULL, test_device());
  return 0;
}

static int close_cpu(void **state)
{
  (void)state;
  rig_close(&cpu);
  return 0;
}

static vyre_engine *start_at(uint64_t position, const vyre_engine_options *options)
{
  vyre_engine *engine;
  vyre__engine_first_position = position;
  engine = gates_start(&cpu, options);
  vyre__engine_first_position = 0;
  return engine;
}

static vyre_work_item nothing(uint32_t correlation)
{
  return (vyre_work_item){.rule_set_id = RULE_NOTHING, .correlation = correlation};
}

/* ---- many threads ---- */

#define SUBMITTERS 2u
#define REAPERS 2u
#define ITEMS 6000u /* in all, of each engine */

typedef struct storm {
  vyre_engine *engine;
  uint8_t seen[ITEMS]; /* by correlation; atomic */
  uint32_t left;       /* completions that nobody has taken; atomic */
  uint32_t bad;        /* atomic */
  uint32_t next;       /* next correlation to submit; atomic */
} storm;

/* Relaxed throughout: what is counted is read after the threads were joined. */
static void note(storm *s, const vyre_completion *c)
{
  if (c->correlation >= ITEMS || c->status != VYRE_OK || c->result != c->correlation ||
      __atomic_exchange_n(&s->seen[c->correlation], 1, __ATOMIC_RELAXED))
    __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
  __atomic_sub_fetch(&s->left, 1, __ATOMIC_RELAXED);
}

/* Takes some of its own items by their tickets: a reaper may be at the same cell. */
static void take_own(storm *s, const uint64_t *tickets, uint32_t n, uint64_t *seed)
{
  for (uint32_t i = 0; i < n; ++i) {
    vyre_completion c;
    vyre_status status;
    if (next_random(seed) % 2)
      continue;
    status = vyre_engine_wait(s->engine, tickets[i], PATIENCE, &c);
    if (status == VYRE_OK)
      note(s, &c);
    if ((status != VYRE_OK && status != VYRE_ERROR_NOT_FOUND) ||
        (status == VYRE_OK && c.ticket != tickets[i]))
      __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
  }
}

static void *submitter(void *self)
{
  storm *s = self;
  uint64_t seed = (uint64_t)(uintptr_t)&seed;
  for (;;) {
    vyre_work_item items[40];
    uint64_t tickets[40];
    const uint32_t wanted = (uint32_t)(next_random(&seed) % 40) + 1;
    const uint32_t first = __atomic_fetch_add(&s->next, wanted, __ATOMIC_RELAXED);
    const uint32_t n = first >= ITEMS ? 0 : ITEMS - first < wanted ? ITEMS - first : wanted;
    if (!n)
      return NULL;
    for (uint32_t i = 0; i < n; ++i)
      items[i] = nothing(first + i);
    for (uint32_t done = 0, taken = 0; done < n; done += taken) {
      vyre_completion c;
      const vyre_status status =
          vyre_engine_submit_many(s->engine, items + done, n - done, tickets + done, &taken);
      if (status == VYRE_OK)
        continue;
      taken = 0;
      if (status != VYRE_ERROR_QUEUE_FULL) {
        __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
        return NULL;
      }
      if (vyre_engine_reap(s->engine, &c, 1, SECOND / 5000, NULL) == VYRE_OK)
        note(s, &c);
    }
    take_own(s, tickets, n, &seed);
  }
}

static void *reaper(void *self)
{
  storm *s = self;
  uint64_t seed = (uint64_t)(uintptr_t)&seed;
  while (__atomic_load_n(&s->left, __ATOMIC_RELAXED)) {
    vyre_completion c[10];
    uint32_t n = 0;
    const vyre_status status =
        vyre_engine_reap(s->engine, c, (uint32_t)(next_random(&seed) % 10) + 1, SECOND / 50, &n);
    if (status != VYRE_OK && status != VYRE_ERROR_TIMEOUT)
      __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n; ++i)
      note(s, &c[i]);
  }
  return NULL;
}

static void each_once(const vyre_engine_options *options, uint64_t position)
{
  pthread_t threads[SUBMITTERS + REAPERS];
  storm *s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->left = ITEMS;
  s->engine = start_at(position, options);
  for (uint32_t i = 0; i < SUBMITTERS + REAPERS; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, i < SUBMITTERS ? submitter : reaper, s), 0);
  for (uint32_t i = 0; i < SUBMITTERS + REAPERS; ++i)
    pthread_join(threads[i], NULL);
  assert_int_equal(s->bad, 0);
  assert_int_equal(s->left, 0);
  assert_int_equal(stats_of(s->engine).submitted, ITEMS);
  assert_int_equal(stats_of(s->engine).completed, ITEMS);
  assert_ok(vyre_engine_stop(s->engine, PATIENCE, NULL));
  gates_end(s->engine);
  free(s);
}

static void small_capacities(void **state)
{
  const uint32_t capacities[] = {1, 2, 8};
  (void)state;
  for (uint32_t m = 0; m < 2; ++m)
    for (uint32_t k = 0; k < 3; ++k)
      for (uint32_t at = 0; at < 3; ++at) {
        vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
        options.mode = modes[m];
        options.capacity = capacities[k];
        options.max_unfinished = at == 1 ? 0 : capacities[k];
        options.workers = 3;
        options.max_resident_ms = 5; /* relaunches in the middle of cells */
        options.max_idle_ms = 1;
        each_once(&options, starts[at]);
      }
}

/* ---- one cell ---- */

/* An engine whose ring is one place, with a gate for each of seven items. */
static vyre_engine *start_gates(uint32_t workers, uint32_t max_item_ms, uint64_t position)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  options.mode = VYRE_ENGINE_FORCE;
  options.capacity = 1;
  options.max_unfinished = 1;
  options.workers = workers;
  options.input_size = 32;
  options.max_item_ms = max_item_ms;
  return start_at(position, &options);
}

/* Seven items in one cell; bit i of `gates` makes item i one that waits at the gate 4 * i. */
static void submit_cell(vyre_engine *engine, uint32_t gates, uint64_t *out_tickets)
{
  vyre_work_item items[7];
  uint32_t n = 0;
  for (uint32_t i = 0; i < 7; ++i)
    items[i] = gates >> i & 1 ? (vyre_work_item){4 * i, 4, RULE_GATE, i} : nothing(i);
  assert_ok(vyre_engine_submit_many(engine, items, 7, out_tickets, &n));
  assert_int_equal(n, 7);
  for (uint32_t i = 1; i < 7; ++i)
    assert_int_equal(out_tickets[i], out_tickets[0] + i);
}

/* Long items of one cell do not wait for each other, nor short ones for them. */
static void long_items_are_spread(void **state)
{
  (void)state;
  for (uint32_t at = 0; at < 3; ++at) {
    vyre_engine *engine = start_gates(4, 0, starts[at]);
    skip_if_wide(engine, "one worker serves a cell as a whole");
    for (uint32_t round = 0; round < 12; ++round) {
      const uint32_t gates = round % 3 == 0 ? 0x07 : round % 3 == 1 ? 0x52 : 0x61;
      const vyre_work_item one = nothing(0);
      uint64_t tickets[7], unfinished[7];
      uint32_t n = 0;
      vyre_completion c;
      for (uint32_t i = 0; i < 7; ++i)
        set_gate(engine, 4 * i, 0);
      submit_cell(engine, gates, tickets);
      for (uint32_t i = 0; i < 7; ++i)
        if (!(gates >> i & 1)) {
          assert_ok(vyre_engine_wait(engine, tickets[i], PATIENCE, &c));
          assert_int_equal(c.result, i);
        }
      assert_int_equal(vyre_engine_drain(engine, 0, unfinished, 7, &n), VYRE_ERROR_TIMEOUT);
      assert_int_equal(n, 3);
      for (uint32_t i = 0, k = 0; i < 7; ++i)
        if (gates >> i & 1)
          assert_int_equal(unfinished[k++], tickets[i]);
      assert_int_equal(vyre_engine_submit(engine, &one, NULL), VYRE_ERROR_QUEUE_FULL);
      for (uint32_t i = 7; i-- > 0;) /* finished in the other order */
        if (gates >> i & 1) {
          assert_int_equal(vyre_engine_wait(engine, tickets[i], 0, &c), VYRE_ERROR_TIMEOUT);
          set_gate(engine, 4 * i, 50 + i);
          assert_ok(vyre_engine_wait(engine, tickets[i], PATIENCE, &c));
          assert_int_equal(c.result, 50 + i);
          assert_int_equal(c.correlation, i);
        }
    }
    gates_end(engine);
  }
}

/* The place of a cell comes back with its last completion, whatever the order. */
static void any_order(void **state)
{
  (void)state;
  for (uint32_t at = 0; at < 3; ++at) {
    vyre_engine *engine = start_gates(2, 0, starts[at]);
    uint64_t seed = 1;
    for (uint32_t round = 0; round < 40; ++round) {
      const vyre_work_item one = nothing(7);
      uint64_t tickets[7], single = 0;
      uint32_t order[7] = {0};
      vyre_completion c;
      for (uint32_t i = 0; i < 7; ++i) {
        const uint32_t k = (uint32_t)(next_random(&seed) % (i + 1));
        order[i] = order[k];
        order[k] = i;
      }
      submit_cell(engine, 0, tickets);
      for (uint32_t i = 0; i < 7; ++i) {
        assert_int_equal(vyre_engine_submit(engine, &one, NULL), VYRE_ERROR_QUEUE_FULL);
        assert_ok(vyre_engine_wait(engine, tickets[order[i]], PATIENCE, &c));
        assert_int_equal(c.ticket, tickets[order[i]]);
        assert_int_equal(c.result, order[i]);
        assert_int_equal(vyre_engine_wait(engine, tickets[order[i]], 0, &c), VYRE_ERROR_NOT_FOUND);
      }
      assert_ok(vyre_engine_submit(engine, &one, &single));
      for (uint32_t i = 1; i < 8; ++i) /* a single item has no others */
        assert_int_equal(vyre_engine_wait(engine, single + i, VYRE_NO_TIMEOUT, &c),
                         VYRE_ERROR_NOT_FOUND);
      assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
      assert_int_equal(c.ticket, single);
    }
    gates_end(engine);
  }
}

static void never_issued(void **state)
{
  (void)state;
  for (uint32_t at = 0; at < 3; ++at) {
    const uint64_t first = starts[at] << VYRE_RING_INDEX_BITS;
    const vyre_work_item items[3] = {nothing(0), nothing(1), nothing(2)};
    vyre_engine *engine = start_gates(1, 0, starts[at]);
    vyre_completion c[3];
    uint64_t tickets[3];
    assert_int_equal(vyre_engine_wait(engine, first, 0, NULL), VYRE_ERROR_NOT_FOUND);
    submit_all(engine, items, 3, tickets);
    assert_int_equal(tickets[0], first);
    for (uint32_t i = 3; i < 8; ++i)
      assert_int_equal(vyre_engine_wait(engine, first + i, VYRE_NO_TIMEOUT, NULL),
                       VYRE_ERROR_NOT_FOUND);
    assert_int_equal(vyre_engine_wait(engine, (first + 8) & VYRE_RING_TICKET_MASK, 0, NULL),
                     VYRE_ERROR_NOT_FOUND);
    assert_int_equal(vyre_engine_wait(engine, (first - 8) & VYRE_RING_TICKET_MASK, 0, NULL),
                     VYRE_ERROR_NOT_FOUND);
    assert_int_equal(vyre_engine_wait(engine, first | UINT64_C(1) << 59, 0, NULL),
                     VYRE_ERROR_NOT_FOUND);
    reap_all(engine, c, 3);
    gates_end(engine);
  }
}

/* An entry of results[] may be as old as the ring: 2^32 positions later it is no result. */
static void old_results(void **state)
{
  const uint64_t position = (UINT64_C(5) << 32) + 7;
  vyre_engine *engine = start_gates(1, 0, position);
  uint64_t tickets[7];
  vyre_completion c;
  (void)state;
  for (uint32_t i = 0; i < 7; ++i) {
    const uint64_t stamp = vyre__ring_stamp(position - (UINT64_C(1) << 32));
    engine->ring->results[i].value = stamp << 32 | 99;
    engine->ring->results[i].status = stamp << VYRE_RING_STAMP_SHIFT;
  }
  submit_cell(engine, 0x7f, tickets);
  for (uint32_t i = 0; i < 7; ++i)
    assert_int_equal(vyre_engine_wait(engine, tickets[i], 0, &c), VYRE_ERROR_TIMEOUT);
  for (uint32_t i = 0; i < 7; ++i)
    set_gate(engine, 4 * i, 10 + i);
  for (uint32_t i = 0; i < 7; ++i) {
    assert_ok(vyre_engine_wait(engine, tickets[i], PATIENCE, &c));
    assert_int_equal(c.result, 10 + i);
  }
  gates_end(engine);
}

/* Giving up in the middle of a cell: finished stays finished, the rest is closed, each once. */
static void stop_inside_a_cell(void **state)
{
  (void)state;
  for (uint32_t at = 0; at < 3; ++at) {
    vyre_engine *engine = start_gates(1, 0, starts[at]);
    uint64_t tickets[7];
    vyre_completion c[7];
    vyre_error err = VYRE_ERROR_INIT;
    char first[32];
    skip_if_wide(engine, "the items of a cell are in no order");
    submit_cell(engine, 1u << 3, tickets);
    assert_ok(vyre_engine_wait(engine, tickets[1], PATIENCE, &c[0]));
    assert_int_equal(vyre_engine_stop(engine, SECOND / 50, &err), VYRE_ERROR_TIMEOUT);
    snprintf(first, sizeof first, "ticket %llu", (unsigned long long)tickets[3]);
    assert_non_null(strstr(err.message, first));
    reap_all(engine, c, 6);
    for (uint32_t i = 0; i < 6; ++i) {
      const uint32_t index = i + (i > 0);
      assert_int_equal(c[i].ticket, tickets[index]);
      assert_int_equal(c[i].correlation, index);
      assert_int_equal(c[i].status, index < 3 ? VYRE_OK : VYRE_ERROR_CLOSED);
    }
    assert_int_equal(vyre_engine_reap(engine, c, 1, VYRE_NO_TIMEOUT, NULL), VYRE_ERROR_CLOSED);
    set_gate(engine, 12, 1);
    gates_end(engine);
  }
}

/* The limit of an item counts although the rest of its cell is not taken yet. */
static void item_limit(void **state)
{
  (void)state;
  for (uint32_t at = 0; at < 3; ++at) {
    vyre_engine *engine = start_gates(2, 20, starts[at]);
    uint64_t tickets[7];
    vyre_completion c;
    submit_cell(engine, 0x03, tickets); /* both workers are held */
    assert_int_equal(vyre_engine_wait(engine, tickets[1], VYRE_NO_TIMEOUT, &c), VYRE_ERROR_TIMEOUT);
    assert_int_equal(vyre_engine_wait(engine, tickets[0], VYRE_NO_TIMEOUT, &c), VYRE_ERROR_TIMEOUT);
    set_gate(engine, 0, 1);
    set_gate(engine, 4, 1);
    assert_ok(vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL));
    gates_end(engine);
  }
}

/* A cell without items, as it is published for a producer that died, is passed over. */
static void empty_cells(void **state)
{
  (void)state;
  for (uint32_t m = 0; m < 2; ++m) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_engine *engine;
    options.mode = modes[m];
    options.capacity = 2;
    options.max_unfinished = 4;
    engine = start_at(starts[2], &options);
    for (uint32_t i = 0; i < 30; ++i) {
      const vyre_work_item item = nothing(i);
      vyre_ring *ring = engine->ring;
      vyre__ring_span span;
      vyre_completion c;
      uint64_t word, ticket = 0;
      while (vyre__ring_reserve(ring, 1, &span) == VYRE_ERROR_QUEUE_FULL) {
      }
      word = vyre__ring_word(vyre__ring_stamp(span.position));
      __atomic_store_n(&ring->completion[span.position & ring->completions_mask], word,
                       __ATOMIC_RELAXED);
      __atomic_store_n(&ring->cells[span.position & ring->capacity_mask].published, word,
                       __ATOMIC_RELEASE);
      while (vyre_engine_submit(engine, &item, &ticket) == VYRE_ERROR_QUEUE_FULL) {
      }
      assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
      assert_int_equal(c.result, i);
    }
    assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
    gates_end(engine);
  }
}

/* A launch leaves when all is done, and only then; cells are shared across the tops. */
static void idle_exits(void **state)
{
  (void)state;
  for (uint32_t at = 0; at < 3; ++at) {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    vyre_engine *engine;
    options.mode = VYRE_ENGINE_FORCE;
    options.capacity = 2;
    options.workers = 3;
    options.max_idle_ms = 1;
    engine = start_at(starts[at], &options);
    for (uint32_t i = 0; i < 8; ++i) {
      vyre_work_item items[10];
      vyre_completion c[10];
      for (uint32_t k = 0; k < 10; ++k)
        items[k] = nothing(k);
      submit_all(engine, items, 10, NULL);
      reap_all(engine, c, 10);
      while (stats_of(engine).idle_exits < i + 1) {
        const vyre_status status = vyre_engine_reap(engine, c, 1, SECOND / 1000, NULL);
        assert_int_equal(status, VYRE_ERROR_TIMEOUT); /* nothing but time makes it leave */
      }
    }
    gates_end(engine);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      gate_test(small_capacities), gate_test(long_items_are_spread), gate_test(any_order),
      gate_test(never_issued),     gate_test(old_results),           gate_test(stop_inside_a_cell),
      gate_test(item_limit),       gate_test(empty_cells),           gate_test(idle_exits)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
