/*
 * A device's side of the ring, run by threads and by another process that use only what a device
 * may use.  Host producers lap the ring; each of their items has one result, the right one, that is
 * believed neither before it is whole nor in place of another tenant's.
 */
#include "tests/ring/mock_device.h"
#include "tests/ring/process_help.h"

#define WORKERS 3u
#define PRODUCERS 2u
#define HELD 60u
#define MOST_BATCH 17u

typedef struct host {
  vyre_ring *ring;
  uint32_t items; /* of one producer */
  uint32_t number;
  uint64_t reaped;
} host;

typedef struct held_item {
  uint64_t ticket;
  vyre_work_item item;
} held_item;

/* As the engine reaps: both words carry the stamp, or there is no result yet. */
static bool look(const vyre_ring *ring, uint64_t ticket, uint32_t *out_value, uint32_t *out_status)
{
  const uint64_t position = vyre__ring_position_of(ticket);
  const vyre_ring_result *result =
      &ring->results[(position & ring->completions_mask) * 8 + vyre__ring_index_of(ticket)];
  const uint64_t stamp = vyre__ring_stamp(position);
  /* Acquire; partner: the device's release of `status`. */
  const uint64_t status = __atomic_load_n(&result->status, __ATOMIC_ACQUIRE);
  const uint64_t value = __atomic_load_n(&result->value, __ATOMIC_ACQUIRE);
  if (vyre__ring_stamp_of(status) != stamp || (uint32_t)(value >> 32) != (uint32_t)stamp)
    return false;
  *out_value = (uint32_t)value;
  *out_status = (uint32_t)(status & 0xff);
  return true;
}

/* Takes the results that are there; they come in any order. */
static uint32_t reap(host *h, held_item *held, uint32_t count)
{
  uint64_t marks[HELD];
  uint32_t n = 0;
  for (uint32_t i = 0; i < count;) {
    uint32_t value = 0, status = 0, words[4];
    if (!look(h->ring, held[i].ticket, &value, &status)) {
      ++i;
      continue;
    }
    memcpy(words, &held[i].item, sizeof words);
    EXPECT(value == mock_device_value(words));
    EXPECT(status == mock_device_status(words));
    EXPECT(!vyre_ring_is_done(h->ring, held[i].ticket));
    marks[n++] = held[i].ticket;
    held[i] = held[--count];
  }
  vyre_ring_mark_done_many(h->ring, marks, n);
  for (uint32_t i = 0; i < n; ++i)
    EXPECT(vyre_ring_is_done(h->ring, marks[i]));
  h->reaped += n;
  return count;
}

static void *produce(void *opaque)
{
  host *h = opaque;
  held_item held[HELD];
  uint64_t random = h->number + 1;
  uint32_t count = 0;
  for (uint32_t next = 0; next < h->items || count;) {
    vyre_work_item items[MOST_BATCH];
    uint64_t tickets[MOST_BATCH];
    uint32_t n = next_random(&random) % 2 ? 1 : next_random(&random) % MOST_BATCH + 1, got = 0;
    vyre_status status = VYRE_ERROR_QUEUE_FULL;
    if (n > h->items - next)
      n = h->items - next;
    for (uint32_t i = 0; i < n; ++i)
      items[i] = item_of(h->number, next + i);
    if (n && count + n <= HELD)
      status = vyre_ring_enqueue_many(h->ring, items, n, tickets, &got);
    EXPECT(status == VYRE_OK || status == VYRE_ERROR_QUEUE_FULL);
    for (uint32_t i = 0; i < got; ++i)
      held[count++] = (held_item){tickets[i], items[i]};
    next += got;
    count = reap(h, held, count);
    if (!got)
      sched_yield();
  }
  return NULL;
}

static vyre_ring *device_ring(const shared_file *f, uint32_t capacity, uint32_t unfinished,
                              uint64_t first)
{
  vyre__ring_setup setup = {
      .options = VYRE_RING_OPTIONS_INIT, .device = true, .first_position = first};
  vyre_ring *ring = NULL;
  setup.options.capacity = capacity;
  setup.options.completion = VYRE_COMPLETION_BY_TICKET;
  setup.options.max_unfinished = unfinished;
  assert_int_equal(vyre__ring_init(f->memory, f->size, &setup, NULL, &ring, NULL), VYRE_OK);
  return ring;
}

static void open_device_file(shared_file *f, uint32_t capacity, uint32_t unfinished)
{
  f->size = 0x400 + 128ull * capacity + 2 * (128 * ((unfinished * 8ull + 127) / 128)) +
            unfinished * 128ull;
  f->file = memfd_create("ring", MFD_CLOEXEC);
  assert_true(f->file >= 0);
  assert_int_equal(ftruncate(f->file, (off_t)f->size), 0);
  f->memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
  assert_true(f->memory != MAP_FAILED);
}

typedef struct crew {
  mock_device *device;
  uint64_t seed, done;
} crew;

static void *work(void *opaque)
{
  crew *c = opaque;
  c->done = mock_device_work(c->device, c->seed);
  return NULL;
}

/* The device, at this mapping: `expected` items, by all workers together. */
static void serve(void *memory, uint64_t size, uint64_t expected)
{
  const char *reason = NULL;
  crew crews[WORKERS];
  uint64_t done = 0;
  mock_device *device = mock_device_attach(memory, size, &reason);
  EXPECT(device != NULL);
  if (!device)
    return;
  for (uint32_t i = 0; i < WORKERS; ++i)
    crews[i] = (crew){device, i + 1, 0};
  run_threads(WORKERS, work, crews, sizeof *crews);
  for (uint32_t i = 0; i < WORKERS; ++i)
    done += crews[i].done;
  EXPECT(done == expected);
  mock_device_detach(device);
}

#define ALL_ITEMS ((uint64_t)PRODUCERS * ROUNDS(20000u))

/* Threads share the host's mapping, so that TSan sees both sides. */
static void *serve_here(void *opaque)
{
  const shared_file *f = opaque;
  serve(f->memory, f->size, ALL_ITEMS);
  return NULL;
}

/* A process has one of its own. */
static void serve_elsewhere(const shared_file *f)
{
  void *memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
  EXPECT(memory != MAP_FAILED);
  if (memory != MAP_FAILED)
    serve(memory, f->size, ALL_ITEMS);
}

static void produce_all(vyre_ring *ring)
{
  host hosts[PRODUCERS];
  for (uint32_t i = 0; i < PRODUCERS; ++i)
    hosts[i] = (host){ring, ROUNDS(20000u), i, 0};
  run_threads(PRODUCERS, produce, hosts, sizeof *hosts);
  for (uint32_t i = 0; i < PRODUCERS; ++i)
    assert_int_equal(hosts[i].reaped, hosts[i].items);
  /* Relaxed would do: everything is served.  Partner: the device's look at `stop`. */
  __atomic_store_n(&ring->header->stop, 1, __ATOMIC_RELEASE);
}

static const struct {
  uint32_t capacity, unfinished;
} shapes[] = {{1, 1}, {1, 4}, {2, 2}, {8, 32}};
#define SHAPES (sizeof shapes / sizeof *shapes)

static void run(size_t shape, bool process)
{
  const uint64_t first = first_positions[(shape + 2) % FIRST_POSITIONS];
  shared_file f;
  vyre_ring *ring;
  pthread_t thread;
  pid_t child = 0;
  open_device_file(&f, shapes[shape].capacity, shapes[shape].unfinished);
  ring = device_ring(&f, shapes[shape].capacity, shapes[shape].unfinished, first);
  if (process) {
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      serve_elsewhere(&f);
      child_ends();
    }
  } else {
    assert_int_equal(pthread_create(&thread, NULL, serve_here, &f), 0);
  }
  produce_all(ring);
  if (process)
    child_is_well(child);
  else
    assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(*expect_failures(), 0);
  /* The mirror of the tail, when the device is quiet; and the ring has been lapped. */
  assert_int_equal(vyre_ring_in_flight(ring), 0);
  assert_true(vyre__ring_distance(vyre_ring_head(ring), first) >
              (int64_t)(ROUNDS(1000u) * shapes[shape].capacity) / 8);
  assert_int_equal(ring->header->state, VYRE_RING_STATE_ABSENT);
  vyre_ring_destroy(ring);
  close_shared(&f);
}

static void test_device_of_threads(void **state)
{
  (void)state;
  for (size_t i = 0; i < SHAPES; ++i)
    run(i, false);
}

static void test_device_in_another_process(void **state)
{
  (void)state;
#ifdef RING_UNDER_TSAN
  skip(); /* it does not see what another process orders */
#endif
  for (size_t i = 0; i < SHAPES; ++i)
    run(i, true);
}

/* One step at a time: results are believed only when both words are the ticket's own. */
static void test_results(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    shared_file file;
    vyre_ring *ring;
    mock_device *device;
    const char *reason;
    uint64_t seed = 1;
    open_device_file(&file, 2, 2);
    ring = device_ring(&file, 2, 2, first_positions[f]);
    device = mock_device_attach(file.memory, file.size, &reason);
    assert_non_null(device);
    for (uint32_t lap = 0; lap < 20; ++lap) {
      vyre_work_item items[9];
      uint64_t tickets[9];
      uint32_t n = 0, value, status, words[4];
      for (uint32_t i = 0; i < 9; ++i)
        items[i] = item_of(lap, i);
      assert_int_equal(vyre_ring_enqueue_many(ring, items, 1 + lap % 9, tickets, &n), VYRE_OK);
      for (uint32_t i = 0; i < n; ++i)
        assert_false(look(ring, tickets[i], &value, &status));
      for (uint32_t served = 0; served < n;)
        served += mock_device_step(device, &seed);
      assert_int_equal(mock_device_step(device, &seed), 0);
      for (uint32_t i = 0; i < n; ++i) {
        vyre_ring_result *result =
            &ring->results[(vyre__ring_position_of(tickets[i]) & 1) * 8 + tickets[i] % 8];
        assert_true(look(ring, tickets[i], &value, &status));
        memcpy(words, &items[i], sizeof words);
        assert_int_equal(value, mock_device_value(words));
        assert_int_equal(status, mock_device_status(words));
        /* Half a result is none. */
        result->value ^= 1ull << 32;
        assert_false(look(ring, tickets[i], &value, &status));
        result->value ^= 1ull << 32;
        result->status ^= 1ull << 63;
        assert_false(look(ring, tickets[i], &value, &status));
        result->status ^= 1ull << 63;
      }
      /* Released, but not reaped: the gate keeps the results. */
      if (n == 9)
        assert_int_equal(vyre_ring_enqueue(ring, items, NULL), VYRE_ERROR_QUEUE_FULL);
      vyre_ring_mark_done_many(ring, tickets, n);
    }
    mock_device_detach(device);
    vyre_ring_destroy(ring);
    close_shared(&file);
  }
}

/* A cell without items, and one whose stamp is from nowhere: passed over, and not followed. */
static void test_strange_cells(void **state)
{
  (void)state;
  for (size_t f = 0; f < FIRST_POSITIONS; ++f) {
    const uint64_t first = first_positions[f];
    shared_file file;
    vyre_ring *ring;
    mock_device *device;
    const char *reason;
    uint64_t seed = 1, *published;
    const vyre_work_item item = item_of(0, 0);
    uint32_t value, status;
    open_device_file(&file, 2, 2);
    ring = device_ring(&file, 2, 2, first);
    device = mock_device_attach(file.memory, file.size, &reason);
    assert_non_null(device);
    published = &ring->cells[first & 1].published;
    for (uint64_t bit = 8; bit < 64; ++bit) {
      const uint64_t before = *published;
      *published = (vyre__ring_word(vyre__ring_stamp(first)) ^ 1ull << bit) | 7;
      assert_int_equal(mock_device_step(device, &seed), 0);
      assert_true(vyre_ring_tail(ring) == first);
      *published = before;
    }
    {
      vyre__ring_span span;
      assert_int_equal(vyre__ring_reserve(ring, 1, &span), VYRE_OK);
      *published = vyre__ring_word(vyre__ring_stamp(first));
      ring->completion[first & 1] = *published;
    }
    assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
    while (!mock_device_step(device, &seed))
      ;
    assert_true(look(ring, ticket_at(first, 1), &value, &status));
    assert_false(look(ring, ticket_at(first, 0), &value, &status));
    assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
    mock_device_detach(device);
    vyre_ring_destroy(ring);
    close_shared(&file);
  }
}

/* The device refuses a region that is no ring, whatever bit of the fixed line is wrong. */
static void test_device_refuses(void **state)
{
  shared_file file;
  vyre_ring *ring;
  unsigned char *bytes;
  uint32_t refused = 0;
  (void)state;
  open_device_file(&file, 8, 8);
  ring = device_ring(&file, 8, 8, 5);
  bytes = file.memory;
  for (uint32_t bit = 0; bit < 8 * offsetof(vyre_ring_header, pad0); ++bit) {
    const char *reason = NULL;
    mock_device *device;
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    device = mock_device_attach(file.memory, file.size, &reason);
    refused += !device;
    if (!device)
      assert_non_null(reason);
    mock_device_detach(device);
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  assert_true(refused > 200);
  vyre_ring_destroy(ring);
  close_shared(&file);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results),
      cmocka_unit_test(test_strange_cells),
      cmocka_unit_test(test_device_refuses),
      cmocka_unit_test(test_device_of_threads),
      cmocka_unit_test(test_device_in_another_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
