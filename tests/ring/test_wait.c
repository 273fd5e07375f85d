/* The calls that wait: time limits, every kind of wake-up, and no wake-up lost in many rounds. */
#include "tests/ring/ring_help.h"

#include "core/base/clock.h"
#include "core/ring/wake.h"

#define MILLISECOND 1000000ull

static void test_timeouts(void **state)
{
  static const uint64_t limits[] = {0, 1, 5 * MILLISECOND, 30 * MILLISECOND};
  vyre_ring *ring = ring_at(1, 1, 0);
  vyre_work_item item = item_of(1, 1), out = item_of(2, 2), untouched = out;
  uint64_t ticket = 99, first = 0;
  (void)state;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    uint64_t start = vyre__now_ns();
    assert_int_equal(vyre_ring_claim_wait(ring, limits[i], &out, &ticket), VYRE_ERROR_TIMEOUT);
    assert_true(vyre__now_ns() - start >= limits[i]);
    assert_int_equal(vyre_ring_wait(ring, 0, limits[i]), VYRE_ERROR_TIMEOUT);
  }
  assert_int_equal(vyre_ring_enqueue_wait(ring, &item, 0, &first), VYRE_OK);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    uint64_t start = vyre__now_ns();
    assert_int_equal(vyre_ring_enqueue_wait(ring, &item, limits[i], &ticket), VYRE_ERROR_TIMEOUT);
    assert_true(vyre__now_ns() - start >= limits[i]);
    start = vyre__now_ns();
    assert_int_equal(vyre_ring_wait(ring, first, limits[i]), VYRE_ERROR_TIMEOUT);
    assert_true(vyre__now_ns() - start >= limits[i]);
  }
  assert_int_equal(ticket, 99);
  assert_memory_equal(&out, &untouched, sizeof out);
  /* What is there is had at once, with any limit. */
  assert_int_equal(vyre_ring_claim_wait(ring, 0, &out, &ticket), VYRE_OK);
  vyre_ring_mark_done(ring, ticket);
  assert_int_equal(vyre_ring_wait(ring, ticket, 0), VYRE_OK);
  assert_int_equal(vyre_ring_wait(ring, ticket, VYRE_NO_TIMEOUT), VYRE_OK);
  assert_int_equal(vyre_ring_enqueue_wait(ring, &item, VYRE_NO_TIMEOUT - 1, NULL), VYRE_OK);
  assert_int_equal(vyre_ring_claim_wait(ring, VYRE_NO_TIMEOUT, &out, &ticket), VYRE_OK);
  /* A ticket that will never be issued is not waited for. */
  vyre_ring_close(ring);
  assert_int_equal(vyre_ring_wait(ring, ticket_at(0, 2), VYRE_NO_TIMEOUT), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_wait(ring, UINT64_MAX, VYRE_NO_TIMEOUT), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_wait(ring, ticket, MILLISECOND), VYRE_ERROR_TIMEOUT);
  vyre_ring_mark_done(ring, ticket);
  assert_int_equal(vyre_ring_wait(ring, ticket, VYRE_NO_TIMEOUT), VYRE_OK);
  assert_int_equal(ring->header->not_empty.waiters, 0);
  assert_int_equal(ring->header->not_full.waiters, 0);
  assert_int_equal(ring->header->completed.waiters, 0);
  ring_gone(ring);
}

static void test_eventcount(void **state)
{
  vyre_ring_wake wake = {0, 0, {0}};
  uint32_t epoch;
  (void)state;
  vyre__wake_all(&wake);
  assert_int_equal(wake.epoch, 0);
  assert_int_equal(vyre__wake_prepare(&wake), 0);
  assert_int_equal(wake.waiters, 1);
  vyre__wake_cancel(&wake);
  assert_int_equal(wake.waiters, 0);
  /* A wake-up between prepare and sleep: the sleep returns at once. */
  epoch = vyre__wake_prepare(&wake);
  vyre__wake_all(&wake);
  assert_int_equal(wake.epoch, epoch + 1);
  vyre__wake_sleep(&wake, epoch, VYRE_NO_TIMEOUT);
  assert_int_equal(wake.waiters, 0);
  /* Nobody wakes: the deadline does, also one that has passed. */
  epoch = vyre__wake_prepare(&wake);
  vyre__wake_sleep(&wake, epoch, vyre__deadline(5 * MILLISECOND));
  epoch = vyre__wake_prepare(&wake);
  vyre__wake_sleep(&wake, epoch, 0);
  assert_int_equal(wake.waiters, 0);
}

/*
 * The two barriers: a waker that sees no sleeper, and a sleeper that does not see the changed
 * condition, must never come together.  Both start each round at the same moment.
 */
typedef struct duel {
  const vyre_ring *ring; /* says how the barriers are made */
  vyre_ring_wake wake;
  uint32_t condition; /* 0 or 1; on another line than the wake words */
  uint32_t pad[31];
  uint32_t arrived;
  uint32_t rounds, lost;
  unsigned char *far;
} duel;

#define FAR_BYTES (32u << 20)

static void meet(duel *d, uint32_t arrivals)
{
  /* Acquire and release: what each did before is before what the other does next. */
  __atomic_fetch_add(&d->arrived, 1, __ATOMIC_ACQ_REL);
  for (uint32_t i = 0; __atomic_load_n(&d->arrived, __ATOMIC_ACQUIRE) < arrivals; ++i)
    if (i % 256 == 255)
      sched_yield();
}

/* Sweeps one over the other, a few nanoseconds a step. */
static void stagger(uint32_t steps)
{
  for (volatile uint32_t i = 0; i < steps; ++i)
    ;
}

static void *duel_waker(void *opaque)
{
  duel *d = opaque;
  volatile unsigned char *far = d->far;
  uint64_t random = 1;
  for (uint32_t i = 0; i < d->rounds; ++i) {
    meet(d, 4 * i + 2);
    /*
     * With the waiters' line at hand and stores to far memory before it, the store of the condition
     * is late, and a load can overtake it.
     */
    for (uint32_t k = 0; k < 8; ++k)
      far[(uint64_t)next_random(&random) % FAR_BYTES] = 1;
    (void)__atomic_load_n(&d->wake.waiters, __ATOMIC_RELAXED);
    /* Relaxed: the barriers are what is tested.  Partner: the load in duel_sleeper(). */
    __atomic_store_n(&d->condition, 1, __ATOMIC_RELAXED);
    vyre__ring_changed(d->ring);
    vyre__wake_sleepers(&d->wake);
    meet(d, 4 * i + 4);
  }
  return NULL;
}

static void *duel_sleeper(void *opaque)
{
  duel *d = opaque;
  for (uint32_t i = 0; i < d->rounds; ++i) {
    uint32_t before = __atomic_load_n(&d->wake.epoch, __ATOMIC_RELAXED), condition, epoch;
    __atomic_store_n(&d->condition, 0, __ATOMIC_RELAXED);
    meet(d, 4 * i + 2);
    stagger(i % 256);
    EXPECT(vyre__ring_prepare_to_sleep(d->ring, &d->wake, &epoch));
    condition = __atomic_load_n(&d->condition, __ATOMIC_RELAXED);
    meet(d, 4 * i + 4);
    vyre__wake_cancel(&d->wake);
    if (!condition && __atomic_load_n(&d->wake.epoch, __ATOMIC_RELAXED) == before)
      ++d->lost;
  }
  return NULL;
}

static void fight(const vyre_ring *ring)
{
  duel d = {.ring = ring, .rounds = ROUNDS(40000)};
  pthread_t waker;
  d.far = malloc(FAR_BYTES);
  assert_non_null(d.far);
  memset(d.far, 0, FAR_BYTES);
  assert_int_equal(pthread_create(&waker, NULL, duel_waker, &d), 0);
  duel_sleeper(&d);
  assert_int_equal(pthread_join(waker, NULL), 0);
  assert_int_equal(*expect_failures(), 0);
  assert_int_equal(d.lost, 0);
  free(d.far);
}

static void test_fences(void **state)
{
  vyre_ring *ring = ring_at(1, 0, 0);
  (void)state;
  ring->asymmetric = false;
  fight(ring);
  ring_gone(ring);
}

/* The sleeper's barrier reaches every thread of this process; the waker has none of its own. */
static void test_barrier(void **state)
{
  vyre_ring *ring = ring_at(1, 0, 0);
  (void)state;
  ring->asymmetric = vyre__barrier_register();
  if (ring->asymmetric)
    fight(ring);
  else
    print_message("no membarrier(2) here: rings use fences\n");
  ring_gone(ring);
}

/* One thread waits in one call; `status` is what it got. */
typedef enum call_kind { CLAIM, ENQUEUE, WAIT } call_kind;

typedef struct sleeper {
  vyre_ring *ring;
  uint64_t ticket;
  call_kind kind;
  vyre_status status;
} sleeper;

static void *sleep_in_call(void *opaque)
{
  sleeper *s = opaque;
  vyre_work_item item = item_of(5, 5);
  if (s->kind == CLAIM)
    s->status = vyre_ring_claim_wait(s->ring, PATIENCE, &item, &s->ticket);
  else if (s->kind == ENQUEUE)
    s->status = vyre_ring_enqueue_wait(s->ring, &item, PATIENCE, &s->ticket);
  else
    s->status = vyre_ring_wait(s->ring, s->ticket, PATIENCE);
  return NULL;
}

static void until_sleepers(const vyre_ring_wake *wake, uint32_t n)
{
  /* Relaxed: only the number counts.  Partner: the increment in vyre__wake_prepare(). */
  while (__atomic_load_n(&wake->waiters, __ATOMIC_RELAXED) < n)
    sched_yield();
}

typedef void (*wake_action)(vyre_ring *ring);

static void act_enqueue(vyre_ring *ring)
{
  vyre_work_item item = item_of(6, 6);
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_OK);
}

static void act_claim(vyre_ring *ring)
{
  vyre_work_item item;
  assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_OK);
}

static void act_done(vyre_ring *ring)
{
  vyre_ring_mark_done(ring, ticket_at(ring->header->first_position, 0));
}

static void act_close(vyre_ring *ring)
{
  vyre_ring_close(ring);
}

/*
 * The ring is put into a state where the call waits; `action` must wake it.  A sleeper looks again
 * by itself now and then and is counted out meanwhile: then nobody has to be woken, so not every
 * round shows a wake-up.
 */
static void wakes(call_kind kind, uint32_t enqueued, uint32_t claimed, uint32_t unfinished,
                  wake_action action, vyre_status status)
{
  uint32_t woken = 0;
  for (uint32_t round = 0; round < ROUNDS(600); ++round) {
    vyre_ring *ring = ring_at(1, unfinished, NEAR_TOP + 2);
    vyre_ring_wake *words[] = {&ring->header->not_empty, &ring->header->not_full,
                               &ring->header->completed};
    sleeper s = {ring, ticket_at(NEAR_TOP + 2, 0), kind, VYRE_OK};
    pthread_t thread;
    for (uint32_t i = 0; i < enqueued; ++i)
      act_enqueue(ring);
    for (uint32_t i = 0; i < claimed; ++i)
      act_claim(ring);
    assert_int_equal(pthread_create(&thread, NULL, sleep_in_call, &s), 0);
    /* Half of the rounds wake it on its way to sleep, wherever it is. */
    if (round % 2)
      until_sleepers(words[kind], 1);
    else
      sched_yield();
    action(ring);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(s.status, status);
    assert_int_equal(words[kind]->waiters, 0);
    woken += round % 2 && words[kind]->epoch == 1;
    ring_gone(ring);
  }
  assert_true(woken > ROUNDS(600) / 4);
}

static void test_every_wake_up(void **state)
{
  (void)state;
  wakes(CLAIM, 0, 0, 0, act_enqueue, VYRE_OK);
  wakes(CLAIM, 0, 0, 1, act_close, VYRE_ERROR_CLOSED);
  wakes(ENQUEUE, 1, 0, 0, act_claim, VYRE_OK);
  wakes(ENQUEUE, 1, 1, 1, act_done, VYRE_OK);
  wakes(ENQUEUE, 1, 0, 1, act_close, VYRE_ERROR_CLOSED);
  wakes(WAIT, 1, 1, 1, act_done, VYRE_OK);
  wakes(WAIT, 0, 0, 1, act_close, VYRE_ERROR_CLOSED);
}

/* One batch wakes as many as it has items for; another the rest. */
static void test_batch_wakes_all(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < ROUNDS(300); ++round) {
    vyre_ring *ring = ring_at(8, 0, 0);
    vyre_work_item items[4];
    sleeper sleepers[6];
    pthread_t threads[6];
    uint32_t n = 0, seen = 0;
    memset(items, 0, sizeof items);
    for (int i = 0; i < 6; ++i) {
      sleepers[i] = (sleeper){ring, 0, CLAIM, VYRE_OK};
      assert_int_equal(pthread_create(&threads[i], NULL, sleep_in_call, &sleepers[i]), 0);
    }
    until_sleepers(&ring->header->not_empty, 6);
    assert_int_equal(vyre_ring_enqueue_many(ring, items, 4, NULL, &n), VYRE_OK);
    assert_int_equal(n, 4);
    assert_int_equal(vyre_ring_enqueue_many(ring, items, 2, NULL, &n), VYRE_OK);
    for (int i = 0; i < 6; ++i) {
      assert_int_equal(pthread_join(threads[i], NULL), 0);
      assert_int_equal(sleepers[i].status, VYRE_OK);
      seen |= 1u << sleepers[i].ticket;
    }
    /* Four items of one cell, two of the next. */
    assert_int_equal(seen, 0x30f);
    ring_gone(ring);
  }
}

/* One item goes round through rings of capacity 1; every hand-over may need a wake-up. */
typedef struct runner {
  vyre_ring *from, *to;
  uint32_t rounds;
} runner;

static void *run_round(void *opaque)
{
  runner *r = opaque;
  for (uint32_t i = 0; i < r->rounds; ++i) {
    vyre_work_item item;
    vyre_status status = vyre_ring_claim_wait(r->from, PATIENCE, &item, NULL);
    EXPECT(status == VYRE_OK);
    if (status != VYRE_OK)
      return NULL;
    EXPECT(item_is_whole(&item) && item.input_offset / 3 == i);
    item = item_of(0, item.input_offset + 1);
    status = vyre_ring_enqueue_wait(r->to, &item, PATIENCE, NULL);
    EXPECT(status == VYRE_OK);
  }
  return NULL;
}

static void test_round_and_round(void **state)
{
  const vyre_work_item item = item_of(0, 0);
  const uint32_t rounds = ROUNDS(20000);
  vyre_ring *rings[3];
  runner runners[3];
  (void)state;
  for (size_t i = 0; i < 3; ++i)
    rings[i] = ring_at(1, 0, first_positions[i]);
  for (int i = 0; i < 3; ++i)
    runners[i] = (runner){rings[i], rings[(i + 1) % 3], rounds};
  assert_int_equal(vyre_ring_enqueue(rings[0], &item, NULL), VYRE_OK);
  run_threads(3, run_round, runners, sizeof *runners);
  assert_int_equal(*expect_failures(), 0);
  assert_int_equal(vyre_ring_in_flight(rings[0]), 1);
  for (int i = 0; i < 3; ++i)
    ring_gone(rings[i]);
}

/* Submitters sleep for their ticket, workers for items, all through capacity 1. */
typedef struct service {
  vyre_ring *ring;
  uint32_t calls;
  uint32_t served; /* by all workers */
} service;

static void *submit(void *opaque)
{
  service *s = opaque;
  for (uint32_t i = 0; i < s->calls; ++i) {
    vyre_work_item item = item_of(1, i);
    uint64_t ticket = 0;
    vyre_status status = vyre_ring_enqueue_wait(s->ring, &item, PATIENCE, &ticket);
    EXPECT(status == VYRE_OK);
    if (status != VYRE_OK)
      return NULL;
    if (i % 4 == 0)
      continue; /* nobody waits for this one */
    EXPECT(vyre_ring_wait(s->ring, ticket, PATIENCE) == VYRE_OK);
    EXPECT(vyre_ring_is_done(s->ring, ticket));
  }
  return NULL;
}

static void *serve(void *opaque)
{
  service *s = opaque;
  for (;;) {
    vyre_work_item item;
    uint64_t ticket = 0;
    vyre_status status = vyre_ring_claim_wait(s->ring, PATIENCE, &item, &ticket);
    if (status == VYRE_ERROR_CLOSED)
      return NULL;
    EXPECT(status == VYRE_OK);
    if (status != VYRE_OK)
      return NULL;
    EXPECT(item_is_whole(&item));
    /* Relaxed: a count that is read after the join. */
    __atomic_fetch_add(&s->served, 1, __ATOMIC_RELAXED);
    vyre_ring_mark_done(s->ring, ticket);
  }
}

static void *serve_all(void *opaque)
{
  run_threads(3, serve, opaque, 0);
  return NULL;
}

static void test_service(void **state)
{
  static const uint32_t shapes[][2] = {{1, 1}, {1, 4}, {4, 4}};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    service s = {ring_at(shapes[i][0], shapes[i][1], first_positions[i + 2]), ROUNDS(6000), 0};
    pthread_t serving;
    assert_int_equal(pthread_create(&serving, NULL, serve_all, &s), 0);
    run_threads(3, submit, &s, 0);
    vyre_ring_close(s.ring);
    assert_int_equal(pthread_join(serving, NULL), 0);
    assert_int_equal(*expect_failures(), 0);
    assert_int_equal(s.served, 3 * s.calls);
    ring_gone(s.ring);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_timeouts),        cmocka_unit_test(test_eventcount),
      cmocka_unit_test(test_fences),          cmocka_unit_test(test_barrier),
      cmocka_unit_test(test_every_wake_up),   cmocka_unit_test(test_batch_wakes_all),
      cmocka_unit_test(test_round_and_round), cmocka_unit_test(test_service),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
