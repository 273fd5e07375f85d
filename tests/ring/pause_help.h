/*
 * pause_help.h - an actor is a thread that makes one call on a ring and is stopped at hook points
 * of it, for as long as the test likes.  Nothing here waits for time to pass.
 */
#ifndef VYRE_TESTS_PAUSE_HELP_H
#define VYRE_TESTS_PAUSE_HELP_H

#include "tests/ring/ring_help.h"

#include <semaphore.h>
#include <time.h>

#define ACTOR_ITEMS 32u

typedef struct actor actor;
struct actor {
  /* The call: what it gets and what it returned. */
  vyre_ring *ring;
  void (*act)(actor *a);
  vyre_work_item items[ACTOR_ITEMS];
  uint64_t tickets[ACTOR_ITEMS];
  uint32_t n;
  vyre_status status;
  uint64_t value;
  /* Where it stops, after how many passes; written while it stands still. */
  vyre__ring_point point;
  uint32_t passes;
  uint32_t seen[VYRE__RING_TAIL_SEEN + 1]; /* how often it came to each point */
  bool armed, ended;
  sem_t stopped, go;
  pthread_t thread;
};

/* The actor whose thread this is. */
static _Thread_local actor *acting;

static inline void until(sem_t *semaphore)
{
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += (time_t)(PATIENCE / 1000000000ull);
  if (sem_timedwait(semaphore, &limit) != 0)
    fail_msg("%s", "an actor neither stopped nor ended");
}

static inline void actor_hook(vyre__ring_point point)
{
  actor *a = acting;
  if (!a)
    return;
  ++a->seen[point];
  if (!a->armed || a->point != point)
    return;
  if (a->passes) {
    --a->passes;
    return;
  }
  a->armed = false;
  sem_post(&a->stopped);
  while (sem_wait(&a->go) != 0)
    ;
}

static inline void *actor_thread(void *opaque)
{
  actor *a = opaque;
  acting = a;
  a->act(a);
  a->ended = true;
  sem_post(&a->stopped);
  return NULL;
}

/* Starts the call; true if it stands at the point, false if it ended without passing it. */
static inline bool actor_starts(actor *a, vyre_ring *ring, void (*act)(actor *a),
                                vyre__ring_point point, uint32_t passes)
{
  a->ring = ring;
  a->act = act;
  a->point = point;
  a->passes = passes;
  a->armed = true;
  a->ended = false;
  vyre__ring_hook = actor_hook;
  sem_init(&a->stopped, 0, 0);
  sem_init(&a->go, 0, 0);
  assert_int_equal(pthread_create(&a->thread, NULL, actor_thread, a), 0);
  until(&a->stopped);
  return !a->ended;
}

/* Starts the call, which must come to the point. */
static inline void actor_stops(actor *a, vyre_ring *ring, void (*act)(actor *a),
                               vyre__ring_point point)
{
  assert_true(actor_starts(a, ring, act, point, 0));
}

/* Lets a stopped call go on to another point, which it must come to. */
static inline void actor_goes_to(actor *a, vyre__ring_point point)
{
  a->point = point;
  a->passes = 0;
  a->armed = true;
  sem_post(&a->go);
  until(&a->stopped);
  assert_false(a->ended);
}

static inline void actor_gone(actor *a)
{
  assert_int_equal(pthread_join(a->thread, NULL), 0);
  sem_destroy(&a->stopped);
  sem_destroy(&a->go);
}

/* Lets a stopped call go on without waiting for it: it may sleep until the test does something. */
static inline void actor_let_go(actor *a)
{
  a->armed = false;
  sem_post(&a->go);
}

/* Waits for the end of a call that was let go. */
static inline void actor_ends(actor *a)
{
  until(&a->stopped);
  assert_true(a->ended);
  actor_gone(a);
}

/* Lets a stopped call go on to its end. */
static inline void actor_goes_on(actor *a)
{
  actor_let_go(a);
  actor_ends(a);
}

/* ---- calls ---- */

static inline void act_enqueue(actor *a)
{
  a->status = vyre_ring_enqueue(a->ring, a->items, a->tickets);
  a->n = a->status == VYRE_OK;
}

static inline void act_enqueue_many(actor *a)
{
  a->status = vyre_ring_enqueue_many(a->ring, a->items, a->n, a->tickets, &a->n);
}

static inline void act_enqueue_wait(actor *a)
{
  a->status = vyre_ring_enqueue_wait(a->ring, a->items, PATIENCE, a->tickets);
}

static inline void act_claim(actor *a)
{
  a->status = vyre_ring_claim(a->ring, a->items, a->tickets);
  a->n = a->status == VYRE_OK;
}

static inline void act_claim_many(actor *a)
{
  a->status = vyre_ring_claim_many(a->ring, a->items, a->tickets, a->n, &a->n);
}

static inline void act_claim_wait(actor *a)
{
  a->status = vyre_ring_claim_wait(a->ring, PATIENCE, a->items, a->tickets);
}

static inline void act_mark_done(actor *a)
{
  vyre_ring_mark_done_many(a->ring, a->tickets, a->n);
}

static inline void act_wait(actor *a)
{
  a->status = vyre_ring_wait(a->ring, a->tickets[0], PATIENCE);
}

static inline void act_close(actor *a)
{
  vyre_ring_close(a->ring);
}

static inline void act_in_flight(actor *a)
{
  a->value = vyre_ring_in_flight(a->ring);
}

/* ---- what the test itself does meanwhile; `number` says which item ---- */

static inline actor with_items(uint32_t number, uint32_t n)
{
  actor a;
  memset(&a, 0, sizeof a);
  a.n = n;
  for (uint32_t i = 0; i < n; ++i)
    a.items[i] = item_of(9, number + i);
  return a;
}

static inline uint64_t put(vyre_ring *ring, uint32_t number)
{
  const vyre_work_item item = item_of(9, number);
  uint64_t ticket = 0;
  assert_int_equal(vyre_ring_enqueue(ring, &item, &ticket), VYRE_OK);
  return ticket;
}

/* One batch of n items, all of which must fit; returns the first ticket. */
static inline uint64_t put_batch(vyre_ring *ring, uint32_t number, uint32_t n)
{
  actor a = with_items(number, n);
  uint32_t got = 0;
  assert_int_equal(vyre_ring_enqueue_many(ring, a.items, n, a.tickets, &got), VYRE_OK);
  assert_int_equal(got, n);
  return a.tickets[0];
}

static inline void assert_full(vyre_ring *ring)
{
  const vyre_work_item item = item_of(8, 8);
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_QUEUE_FULL);
}

static inline void assert_empty(vyre_ring *ring)
{
  vyre_work_item item;
  assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_ERROR_EMPTY);
}

static inline void assert_item(const vyre_work_item *item, uint32_t number)
{
  const vyre_work_item expected = item_of(9, number);
  assert_memory_equal(item, &expected, sizeof expected);
}

/* Takes the item of this number, and no other. */
static inline uint64_t get(vyre_ring *ring, uint32_t number)
{
  vyre_work_item item = {0, 0, 0, 0};
  uint64_t ticket = 0;
  assert_int_equal(vyre_ring_claim(ring, &item, &ticket), VYRE_OK);
  assert_item(&item, number);
  return ticket;
}

static inline void assert_closed(vyre_ring *ring)
{
  vyre_work_item item = item_of(8, 8);
  assert_int_equal(vyre_ring_enqueue(ring, &item, NULL), VYRE_ERROR_CLOSED);
  assert_int_equal(vyre_ring_claim(ring, &item, NULL), VYRE_ERROR_CLOSED);
}

#endif
