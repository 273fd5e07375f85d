/*
 * A process is stopped, or killed, at every hook point of the ring, while another one uses the same
 * ring in shared memory.  Stopped: the other gets FULL and EMPTY, and nothing is lost, doubled or
 * torn when it goes on.  Killed: what docs/ring.md says under "Progress", to the letter.
 */
#include "tests/ring/process_help.h"

#include <signal.h>
#include <sys/prctl.h>

#define CAPACITY 4u
#define UNFINISHED 8u
#define FIRST ((1ull << 32) - 3) /* what process_help.h lays out */
#define SLOTS 65536u
#define CHILDS_ITEMS 9u

/* What both processes write down; the child's part is read when it has ended. */
typedef struct account {
  uint64_t put[SLOTS], taken[SLOTS]; /* by ticket */
} account;

/* What becomes of the ring when a process dies at the point. */
typedef enum after_death {
  GOES_ON,     /* as if the call had not been made, or had been wholly made */
  LINE_STANDS, /* its places are never published */
  PLACES_LOST, /* its items are gone with it, its places are never released */
  MARKS_LOST,  /* its items are gone with it, and stay unfinished until somebody says so */
  HALF_CLOSED, /* producers are refused, consumers do not hear of it */
} after_death;

typedef struct scenario {
  const char *name;
  vyre__ring_point point;
  uint32_t passes;
  void (*call)(vyre_ring *ring, account *book);
  uint32_t filled; /* items that are there before: in a batch, then a single one */
  after_death death;
} scenario;

static vyre__ring_point stop_at;
static uint32_t passes_left;
static int stop_signal;

static void stop_here(vyre__ring_point point)
{
  if (!stop_signal || point != stop_at || passes_left--)
    return;
  vyre__ring_hook = NULL;
  (void)raise(stop_signal);
}

static uint64_t log_word(const vyre_work_item *item)
{
  return ((uint64_t)item->input_len << 32 | item->input_offset) + 1;
}

static void log_items(uint64_t *log, const vyre_work_item *items, const uint64_t *tickets,
                      uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t slot = slot_of(FIRST, tickets[i]);
    EXPECT(item_is_whole(&items[i]));
    EXPECT(slot < SLOTS);
    if (slot >= SLOTS)
      return;
    EXPECT(log[slot] == 0);
    log[slot] = log_word(&items[i]);
  }
}

/* ---- the child's calls ---- */

static void child_enqueues(vyre_ring *ring, account *book)
{
  vyre_work_item items[CHILDS_ITEMS];
  uint64_t tickets[CHILDS_ITEMS];
  uint32_t done = 0;
  for (uint32_t i = 0; i < CHILDS_ITEMS; ++i)
    items[i] = item_of(1, i);
  /* As often as it takes: the parent may be faster. */
  while (done < CHILDS_ITEMS) {
    uint32_t n = 0;
    vyre_status status =
        vyre_ring_enqueue_many(ring, items + done, CHILDS_ITEMS - done, tickets, &n);
    if (status == VYRE_ERROR_QUEUE_FULL)
      return;
    EXPECT(status == VYRE_OK);
    log_items(book->put, items + done, tickets, n);
    done += n;
  }
}

static void child_claims(vyre_ring *ring, account *book)
{
  vyre_work_item items[CHILDS_ITEMS];
  uint64_t tickets[CHILDS_ITEMS];
  uint32_t n = 0;
  vyre_status status = vyre_ring_claim_many(ring, items, tickets, CHILDS_ITEMS, &n);
  EXPECT(status == VYRE_OK || status == VYRE_ERROR_EMPTY);
  log_items(book->taken, items, tickets, n);
  vyre_ring_mark_done_many(ring, tickets, n);
}

static void child_waits_for_an_item(vyre_ring *ring, account *book)
{
  vyre_work_item item;
  uint64_t ticket = 0;
  vyre_status status = vyre_ring_claim_wait(ring, PATIENCE, &item, &ticket);
  EXPECT(status == VYRE_OK || status == VYRE_ERROR_CLOSED);
  if (status != VYRE_OK)
    return;
  log_items(book->taken, &item, &ticket, 1);
  vyre_ring_mark_done(ring, ticket);
}

static void child_closes(vyre_ring *ring, account *book)
{
  (void)book;
  vyre_ring_close(ring);
}

static void child_counts(vyre_ring *ring, account *book)
{
  (void)book;
  EXPECT(vyre_ring_in_flight(ring) <= CAPACITY);
}

static const scenario scenarios[] = {
    {"head read", VYRE__RING_HEAD_READ, 0, child_enqueues, 0, GOES_ON},
    {"places judged", VYRE__RING_PLACES_JUDGED, 0, child_enqueues, 0, GOES_ON},
    {"places taken", VYRE__RING_PLACES_TAKEN, 0, child_enqueues, 0, LINE_STANDS},
    {"items written", VYRE__RING_ITEMS_WRITTEN, 0, child_enqueues, 1, LINE_STANDS},
    {"second cell written", VYRE__RING_ITEMS_WRITTEN, 1, child_enqueues, 0, LINE_STANDS},
    {"items published", VYRE__RING_ITEMS_PUBLISHED, 0, child_enqueues, 0, GOES_ON},
    {"tail read", VYRE__RING_TAIL_READ, 0, child_claims, 10, GOES_ON},
    {"tail read, empty", VYRE__RING_TAIL_READ, 0, child_claims, 0, GOES_ON},
    {"items judged", VYRE__RING_ITEMS_JUDGED, 0, child_claims, 10, GOES_ON},
    {"items taken", VYRE__RING_ITEMS_TAKEN, 0, child_claims, 17, PLACES_LOST},
    {"items copied", VYRE__RING_ITEMS_COPIED, 0, child_claims, 17, PLACES_LOST},
    {"second cell copied", VYRE__RING_ITEMS_COPIED, 1, child_claims, 17, PLACES_LOST},
    {"items released", VYRE__RING_ITEMS_RELEASED, 0, child_claims, 10, MARKS_LOST},
    {"completion read", VYRE__RING_COMPLETION_READ, 0, child_claims, 10, MARKS_LOST},
    {"second completion read", VYRE__RING_COMPLETION_READ, 1, child_claims, 10, MARKS_LOST},
    {"completion marked", VYRE__RING_COMPLETION_MARKED, 0, child_claims, 10, GOES_ON},
    {"sleeper counted", VYRE__RING_SLEEPER_COUNTED, 0, child_waits_for_an_item, 0, GOES_ON},
    {"sleeper looked", VYRE__RING_SLEEPER_LOOKED, 0, child_waits_for_an_item, 0, GOES_ON},
    {"closed marked", VYRE__RING_CLOSED_MARKED, 0, child_closes, 10, HALF_CLOSED},
    {"tail seen", VYRE__RING_TAIL_SEEN, 0, child_counts, 10, GOES_ON},
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* ---- the parent's side ---- */

typedef struct stage {
  shared_file file;
  vyre_ring *ring;
  account *book;
  uint32_t number; /* the parent's next item */
  uint64_t last;   /* the slot of the parent's last claim */
  bool any;
  pid_t child;
} stage;

/* Tries to put up to n items in; true if at least one fit. */
static bool parent_puts(stage *s, uint32_t n)
{
  vyre_work_item items[32];
  uint64_t tickets[32];
  uint32_t got = 1;
  vyre_status status;
  for (uint32_t i = 0; i < n; ++i)
    items[i] = item_of(0, s->number + i);
  status = n == 1 ? vyre_ring_enqueue(s->ring, items, tickets)
                  : vyre_ring_enqueue_many(s->ring, items, n, tickets, &got);
  assert_true(status == VYRE_OK || status == VYRE_ERROR_QUEUE_FULL || status == VYRE_ERROR_CLOSED);
  if (status != VYRE_OK)
    return false;
  log_items(s->book->put, items, tickets, got);
  s->number += got;
  return true;
}

static uint32_t parent_takes(stage *s, uint32_t n)
{
  vyre_work_item items[32];
  uint64_t tickets[32];
  uint32_t got = 1;
  vyre_status status = n == 1 ? vyre_ring_claim(s->ring, items, tickets)
                              : vyre_ring_claim_many(s->ring, items, tickets, n, &got);
  assert_true(status == VYRE_OK || status == VYRE_ERROR_EMPTY || status == VYRE_ERROR_CLOSED);
  if (status != VYRE_OK)
    return 0;
  log_items(s->book->taken, items, tickets, got);
  for (uint32_t i = 0; i < got; ++i) {
    assert_true(!s->any || slot_of(FIRST, tickets[i]) > s->last);
    assert_false(vyre_ring_is_done(s->ring, tickets[i]));
    s->last = slot_of(FIRST, tickets[i]);
    s->any = true;
  }
  vyre_ring_mark_done_many(s->ring, tickets, got);
  for (uint32_t i = 0; i < got; ++i)
    assert_true(vyre_ring_is_done(s->ring, tickets[i]));
  return got;
}

/* Everything that a process can do to another one's ring, many times over. */
static void parent_is_busy(stage *s, uint64_t seed)
{
  for (uint32_t i = 0; i < 300; ++i) {
    (void)parent_puts(s, next_random(&seed) % 3 ? 1 : next_random(&seed) % 20 + 1);
    (void)parent_takes(s, next_random(&seed) % 2 ? 1 : next_random(&seed) % 20 + 1);
    assert_true(vyre_ring_in_flight(s->ring) <= CAPACITY);
    assert_int_equal(*expect_failures(), 0);
  }
}

static void opens(stage *s, const scenario *sc, int with_signal)
{
  memset(s, 0, sizeof *s);
  open_shared(&s->file, CAPACITY, UNFINISHED);
  s->book = mmap(NULL, sizeof *s->book, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(s->book != MAP_FAILED);
  assert_int_equal(vyre_ring_attach(s->file.memory, s->file.size, &s->ring, NULL), VYRE_OK);
  if (sc->filled > 1)
    assert_true(parent_puts(s, sc->filled - 1));
  if (sc->filled)
    assert_true(parent_puts(s, 1));
  s->child = fork();
  assert_true(s->child >= 0);
  if (s->child == 0) {
    vyre_ring *ring = attach_elsewhere(&s->file);
    /* A parent that fails leaves no stopped child behind. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    stop_at = sc->point;
    passes_left = sc->passes;
    stop_signal = with_signal;
    vyre__ring_hook = stop_here;
    sc->call(ring, s->book);
    /* The hook is gone once it was reached. */
    EXPECT(!vyre__ring_hook);
    child_ends();
  }
}

static void closes(stage *s)
{
  vyre_ring_destroy(s->ring);
  munmap(s->book, sizeof *s->book);
  close_shared(&s->file);
}

static void drain(stage *s)
{
  while (parent_takes(s, 5))
    ;
  assert_int_equal(*expect_failures(), 0);
}

static void assert_books_agree(const stage *s)
{
  for (uint32_t i = 0; i < SLOTS; ++i)
    assert_true(s->book->put[i] == s->book->taken[i]);
}

static void stop_and_go_on(const scenario *sc, uint64_t seed)
{
  stage s;
  int status = 0;
  print_message("%s\n", sc->name);
  opens(&s, sc, SIGSTOP);
  assert_int_equal(waitpid(s.child, &status, WUNTRACED), s.child);
  assert_true(WIFSTOPPED(status));
  parent_is_busy(&s, seed);
  if (sc->death == LINE_STANDS) {
    drain(&s);
    while (parent_puts(&s, 1))
      ;
    assert_int_equal(parent_takes(&s, 1), 0);
    assert_false(parent_puts(&s, 1));
  }
  assert_int_equal(kill(s.child, SIGCONT), 0);
  /* A sleeper needs something to wake for, if the busy parent has left it nothing. */
  if (sc->call == child_waits_for_an_item)
    (void)parent_puts(&s, 1);
  child_is_well(s.child);
  parent_is_busy(&s, seed + 1);
  drain(&s);
  assert_books_agree(&s);
  assert_int_equal(vyre_ring_in_flight(s.ring), 0);
  assert_int_equal(vyre_ring_claim(s.ring, &(vyre_work_item){0}, NULL),
                   sc->death == HALF_CLOSED ? VYRE_ERROR_CLOSED : VYRE_ERROR_EMPTY);
  closes(&s);
}

static void test_stopped_at_every_point(void **state)
{
  (void)state;
  for (size_t i = 0; i < SCENARIOS; ++i)
    for (uint64_t seed = 1; seed <= 2; ++seed)
      stop_and_go_on(&scenarios[i], seed);
}

/* ---- killed ---- */

/* Laps the ring: it is as good as new. */
static void assert_goes_on(stage *s)
{
  const uint64_t before = vyre_ring_head(s->ring);
  parent_is_busy(s, 77);
  drain(s);
  assert_true(vyre__ring_distance(vyre_ring_head(s->ring), before) > 10 * (int64_t)CAPACITY);
  assert_int_equal(vyre_ring_in_flight(s->ring), 0);
}

static void assert_full_and_empty(stage *s)
{
  const vyre_work_item item = item_of(0, s->number);
  vyre_work_item out;
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(vyre_ring_enqueue(s->ring, &item, NULL), VYRE_ERROR_QUEUE_FULL);
    assert_int_equal(vyre_ring_claim(s->ring, &out, NULL), VYRE_ERROR_EMPTY);
    assert_int_equal(vyre_ring_enqueue_wait(s->ring, &item, 1000, NULL), VYRE_ERROR_TIMEOUT);
    assert_int_equal(vyre_ring_claim_wait(s->ring, 1000, &out, NULL), VYRE_ERROR_TIMEOUT);
  }
}

/* The line stands behind a dead producer, until a supervisor that knows it buries its places. */
static void line_stands(stage *s)
{
  const vyre_ring *ring = s->ring;
  drain(s);
  while (parent_puts(s, 1))
    ;
  assert_full_and_empty(s);
  for (uint64_t i = 0; i < CAPACITY; ++i) {
    const uint64_t position = vyre__ring_step(vyre_ring_tail(ring), i);
    uint64_t *published = &ring->cells[position % CAPACITY].published;
    if (vyre__ring_stamp_of(__atomic_load_n(published, __ATOMIC_ACQUIRE)) ==
        vyre__ring_stamp(position))
      continue;
    /* What it would have finished is finished: with it, the place's gate opens. */
    __atomic_store_n(&ring->completion[position % UNFINISHED],
                     vyre__ring_word(vyre__ring_stamp(position)), __ATOMIC_RELAXED);
    __atomic_store_n(published, vyre__ring_word(vyre__ring_stamp(position)), __ATOMIC_RELEASE);
  }
  assert_int_equal(vyre_ring_in_flight(ring), CAPACITY);
  drain(s);
  assert_goes_on(s);
}

/* Its items are gone with it: whoever knows the dead marks them done. */
static void mark_what_died(stage *s)
{
  for (uint32_t i = 0; i < SLOTS; ++i) {
    const uint64_t ticket = vyre__ring_ticket(vyre__ring_step(FIRST, i / 8), i % 8);
    if (s->book->put[i] && !vyre_ring_is_done(s->ring, ticket)) {
      assert_true(i < CHILDS_ITEMS + 7);
      vyre_ring_mark_done(s->ring, ticket);
      assert_true(vyre_ring_is_done(s->ring, ticket));
      s->book->taken[i] = s->book->put[i];
    }
  }
}

static void half_closed(stage *s)
{
  const vyre_work_item item = item_of(0, 0);
  vyre_work_item out;
  assert_int_equal(vyre_ring_enqueue(s->ring, &item, NULL), VYRE_ERROR_CLOSED);
  drain(s);
  assert_int_equal(vyre_ring_claim(s->ring, &out, NULL), VYRE_ERROR_EMPTY);
  vyre_ring_close(s->ring);
  assert_int_equal(vyre_ring_claim(s->ring, &out, NULL), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_enqueue(s->ring, &item, NULL), VYRE_ERROR_CLOSED);
}

static void kill_at(const scenario *sc)
{
  stage s;
  int status = 0;
  print_message("%s\n", sc->name);
  opens(&s, sc, SIGKILL);
  assert_int_equal(waitpid(s.child, &status, 0), s.child);
  assert_true(WIFSIGNALED(status));
  parent_is_busy(&s, 5);
  if (sc->death == GOES_ON) {
    assert_goes_on(&s);
  } else if (sc->death == LINE_STANDS) {
    line_stands(&s);
  } else if (sc->death == HALF_CLOSED) {
    half_closed(&s);
  } else {
    drain(&s);
    assert_full_and_empty(&s);
    mark_what_died(&s);
    if (sc->death == MARKS_LOST)
      assert_goes_on(&s);
    else
      assert_full_and_empty(&s);
  }
  /* Whatever else was put in has come out. */
  for (uint32_t i = 0; i < SLOTS; ++i)
    assert_true(!s.book->put[i] || s.book->put[i] == s.book->taken[i]);
  closes(&s);
}

static void test_killed_at_every_point(void **state)
{
  (void)state;
  for (size_t i = 0; i < SCENARIOS; ++i)
    kill_at(&scenarios[i]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stopped_at_every_point),
      cmocka_unit_test(test_killed_at_every_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
