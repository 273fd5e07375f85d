/*
 * beside.c - sequences among other calls: each other, launches, copies, threads, a launch that
 * stays.
 */
#include "conformance/recording.h"

#include <pthread.h>
#include <string.h>

static recording r;
static circle g;

#define SLOW_NS 12000000ull
#define N 500u

/* ---- order ---- */

/* Two sequences in turn, the same ones again before they have ended: all run, in their order. */
static void run_restart(conform *c)
{
  enum { STARTS = 24 };
  for (uint32_t turn = 0; turn < 4; ++turn) {
    vyre_backend_pending *pending[STARTS + 1];
    vyre_backend_sequence *sequences[2];
    circle_begin(c, &g, turn % 2 ? 4001 : 67);
    sequences[0] = circle_fast(c, &g, &r, 2);
    sequences[1] = circle_fast(c, &g, &r, 5);
    pending[STARTS] =
        circle_launch_slow(c, &g, SLOW_NS); /* so that none begins before all are started */
    for (uint32_t k = 0; k < STARTS; ++k) {
      const uint32_t which = turn < 2 ? k % 2 : (uint32_t)conform_random_below(c, 2);
      const uint32_t times = 1 + (uint32_t)conform_random_below(c, 9);
      pending[k] = sequence_start(c, sequences[which], times);
      g.steps = which ? 5 : 2;
      circle_replay(&g, times);
    }
    for (uint32_t k = 0; k < STARTS; ++k)
      for (uint32_t i = 0; i < k; ++i)
        CHECK(c, pending[k] != pending[i], "two starts in flight have one handle (SEQ-004)");
    for (uint32_t k = STARTS + 1; k-- > 0;) /* the end of the last one is the end of all */
      conform_finish(c, pending[turn % 2 ? k : STARTS - k], NULL, 0);
    circle_expect(c, &g, "sequences that were started while others were under way (SEQ-004)");
    for (uint32_t k = 0; k < 2; ++k)
      sequence_release(c, sequences[k]);
    circle_end(c, &g);
  }
}

/* 0 times: refused, nothing runs, the sequence is as it was. */
static void run_no_times(conform *c)
{
  vyre_backend_sequence *sequence = NULL;
  vyre_backend_pending *pending = NULL;
  circle_begin(c, &g, N);
  sequence = circle_fast(c, &g, &r, 3);
  for (uint32_t turn = 0; turn < 3; ++turn) {
    const uint64_t before = conform_live_blocks(c);
    CHECK_FAILS(c, c->counted.sequence_start(c->device, sequence, 0, &pending, err),
                VYRE_ERROR_INVALID_ARGUMENT, -1);
    CHECK(c, !pending && conform_live_blocks(c) == before,
          "a start of no replays leaves a handle or blocks (SEQ-004, ABI-008)");
    circle_expect(c, &g, "a start of no replays (SEQ-004)");
    sequence_run(c, sequence, turn + 1);
    circle_replay(&g, turn + 1);
    circle_expect(c, &g, "a sequence after a start of no replays (SEQ-004)");
  }
  sequence_release(c, sequence);
  circle_end(c, &g);
}

/* Launches and sequences on the same buffers run in the order of the calls, all before any wait. */
static void run_beside(conform *c)
{
  enum { CALLS = 40 };
  for (uint32_t turn = 0; turn < 6; ++turn) {
    vyre_backend_pending *pending[CALLS];
    vyre_backend_sequence *sequences[2];
    circle_begin(c, &g, turn % 2 ? 4001 : 67);
    sequences[0] = circle_slow(c, &g, &r, 1000000);
    sequences[1] = circle_fast(c, &g, &r, 4);
    for (uint32_t k = 0; k < CALLS; ++k) {
      const uint32_t kind = k < 6 ? k % 3 : (uint32_t)conform_random_below(c, 3);
      conform_launch launch;
      if (kind == 0) {
        const uint32_t from = (uint32_t)conform_random_below(c, 3);
        circle_launch(c, &g, &launch, from, 100 + k);
        pending[k] = conform_start(c, c->device, &launch);
        circle_mix(&g, from, 100 + k);
      } else if (kind == 1) {
        pending[k] = sequence_start(c, sequences[0], 2);
        g.steps = 3;
        circle_replay_slow(&g, 2);
      } else {
        pending[k] = sequence_start(c, sequences[1], 3);
        g.steps = 4;
        circle_replay(&g, 3);
      }
    }
    if (turn % 3)
      circle_expect(c, &g, "launches and sequences in a row (DISP-020)");
    for (uint32_t k = CALLS; k-- > 0;)
      conform_finish(c, pending[turn % 2 ? k : CALLS - 1 - k], NULL, 0);
    circle_expect(c, &g, "launches and sequences in a row (DISP-020)");
    for (uint32_t k = 0; k < 2; ++k)
      sequence_release(c, sequences[k]);
    circle_end(c, &g);
  }
}

/* A copy in or out that is called for directly after a start comes after the last replay. */
static void run_transfers(conform *c)
{
  static uint32_t words[N];
  vyre_backend_sequence *sequence = NULL;
  circle_begin(c, &g, N);
  sequence = circle_slow(c, &g, &r, SLOW_NS / 4);
  for (uint32_t turn = 0; turn < 10; ++turn) {
    const char *what = "a download behind a sequence (BUF-004)";
    vyre_backend_pending *pending = sequence_start(c, sequence, 1 + turn);
    circle_replay_slow(&g, 1 + turn);
    if (turn % 5 == 1) {
      what = "an upload behind a sequence (BUF-004)";
      conform_random_fill(c, words, sizeof words);
      conform_put(c, g.buffers[turn % 3], 20, words, 1000);
      memcpy(g.words[turn % 3] + 5, words, 1000);
      memset(words, 0xee, sizeof words);
    } else if (turn % 5 == 2) {
      what = "a fill behind a sequence (BUF-004)";
      CHECK_OK(c, c->counted.buffer_fill(c->device, g.buffers[turn % 3], 40, 900, 0x5a, err));
      memset(g.words[turn % 3] + 10, 0x5a, 900);
    } else if (turn % 5 == 3) {
      what = "a copy behind a sequence (BUF-004)";
      CHECK_OK(c, c->counted.buffer_copy(c->device, g.buffers[1], 0, g.buffers[0], 16, 800, err));
      memcpy(g.words[1], g.words[0] + 4, 800);
    }
    circle_expect(c, &g, what);
    conform_finish(c, pending, NULL, 0);
  }
  sequence_release(c, sequence);
  circle_end(c, &g);
}

/* ---- threads ---- */

enum { THREADS = 4, TURNS = 40, SHARED_WORDS = 300 };

typedef struct worker {
  conform *c;
  vyre_backend_sequence *common, *own; /* one for all; the thread's own */
  uint32_t replays, wrong;
} worker;

static void *work(void *argument)
{
  worker *w = argument;
  const vyre_backend *b = &w->c->counted;
  for (uint32_t turn = 0; turn < TURNS; ++turn) {
    vyre_backend_pending *pending[2] = {NULL, NULL};
    const uint32_t times = 1 + turn % 4;
    w->wrong += b->sequence_start(w->c->device, w->common, times, &pending[0], NULL) != VYRE_OK;
    w->wrong += b->sequence_start(w->c->device, w->own, times, &pending[1], NULL) != VYRE_OK;
    for (uint32_t k = 0; k < 2; ++k) {
      if (pending[k] && turn % 3)
        w->wrong += b->pending_wait(pending[k], VYRE_NO_TIMEOUT, NULL) != VYRE_OK;
      if (pending[k])
        b->pending_release(pending[k]);
    }
    w->replays += times;
  }
  return NULL;
}

/* A sequence of two steps of the chain. */
static vyre_backend_sequence *make_chain(conform *c, vyre_backend_buffer *buffer)
{
  recording_init(&r);
  for (uint32_t s = 0; s < 2; ++s)
    conform_launch_buffer(recording_add(&r, conform_kernel(c, "buffer", "chain"), 5, 64),
                          VYRE_READ_WRITE, buffer, SHARED_WORDS, 4);
  return recording_make(c, &r);
}

static void expect_chain(conform *c, vyre_backend_buffer *buffer, uint32_t replays,
                         const char *what)
{
  uint32_t words[SHARED_WORDS] = {0};
  for (uint32_t k = 0; k < 2 * replays; ++k)
    for (uint32_t i = 0; i < SHARED_WORDS; ++i)
      words[i] = words[i] * 3u + 1u;
  conform_expect_bytes(c, buffer, words, sizeof words, what);
}

static void run_threads(conform *c)
{
  worker workers[THREADS];
  pthread_t threads[THREADS];
  vyre_backend_buffer *buffers[THREADS + 1];
  vyre_backend_sequence *common = NULL;
  uint32_t replays = 0;
  for (uint32_t i = 0; i <= THREADS; ++i)
    buffers[i] = conform_buffer(c, SHARED_WORDS * 4, NULL);
  common = make_chain(c, buffers[THREADS]);
  for (uint32_t i = 0; i < THREADS; ++i)
    workers[i] = (worker){.c = c, .common = common, .own = make_chain(c, buffers[i])};
  for (uint32_t i = 0; i < THREADS; ++i)
    CHECK(c, !pthread_create(&threads[i], NULL, work, &workers[i]), "no thread");
  for (uint32_t i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  for (uint32_t i = 0; i < THREADS; ++i) {
    CHECK(c, !workers[i].wrong, "from several threads %u calls have failed (SEQ-004, DEV-005)",
          workers[i].wrong);
    expect_chain(c, buffers[i], workers[i].replays, "a thread's own sequence (SEQ-004)");
    replays += workers[i].replays;
    sequence_release(c, workers[i].own);
  }
  expect_chain(c, buffers[THREADS], replays, "one sequence started by all threads (SEQ-004)");
  sequence_release(c, common);
  for (uint32_t i = 0; i <= THREADS; ++i)
    conform_free(c, buffers[i]);
}

/* ---- beside a launch that stays ---- */

static void run_resident(conform *c)
{
  const bool frees = (conform_info(c)->capabilities & VYRE_CAP_ALLOC_WHILE_RESIDENT) != 0;
  vyre_coherent_memory memory;
  vyre_backend_pending *stays = NULL;
  vyre_backend_sequence *sequence = NULL;
  conform_launch stay;
  uint32_t *words = NULL;
  const uint64_t begin = conform_now_ns();
  circle_begin(c, &g, 2000);
  memory = conform_coherent(c, 4096);
  words = memory.host;
  sequence = circle_fast(c, &g, &r, 3);
  conform_launch_init(&stay, conform_kernel(c, "coherent", "stay"));
  stay.desc.flags = VYRE_DISPATCH_PERSISTENT;
  conform_launch_buffer(&stay, VYRE_READ_WRITE, memory.buffer, 1024, 4);
  stays = conform_start(c, c->device, &stay);
  while (!__atomic_load_n(&words[32], __ATOMIC_ACQUIRE)) /* pairs with the kernel's release */
    conform_watch(c, begin, "a persistent launch (DISP-010)");
  for (uint32_t turn = 1; turn <= 10; ++turn) {
    if (frees && turn > 1) {
      sequence_release(c, sequence);
      sequence = circle_fast(c, &g, &r, 3);
    }
    sequence_run(c, sequence, turn);
    circle_replay(&g, turn);
    circle_expect(c, &g, "a sequence beside a launch that stays (DISP-012)");
    CHECK(c, c->counted.pending_wait(stays, 0, NULL) == VYRE_ERROR_TIMEOUT,
          "a launch that stays has ended beside a sequence (DISP-012)");
  }
  __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE); /* pairs with the kernel's acquire */
  conform_finish(c, stays, NULL, 0);
  sequence_release(c, sequence);
  conform_free(c, memory.buffer);
  circle_end(c, &g);
}

#define BESIDE_CASE(name, rules, more, needs, run)                                                 \
  {                                                                                                \
    name, rules, CONFORM_SEQUENCES, VYRE_CAP_BUFFERS | VYRE_CAP_SEQUENCES | (more),                \
        CONFORM_NEEDS_KERNELS | (needs), 0, run                                                    \
  }

static const conform_case rows[] = {
    BESIDE_CASE("sequence.restart", "SEQ-004", 0, 0, run_restart),
    BESIDE_CASE("sequence.no_times", "SEQ-004 ABI-008 ABI-009", 0, 0, run_no_times),
    BESIDE_CASE("sequence.beside", "SEQ-003 DISP-020", 0, 0, run_beside),
    BESIDE_CASE("sequence.transfers", "SEQ-003 BUF-004", 0, 0, run_transfers),
    BESIDE_CASE("sequence.threads", "SEQ-004 DEV-005", 0, 0, run_threads),
    BESIDE_CASE("sequence.resident", "DISP-012 SEQ-003", VYRE_CAP_COHERENT | VYRE_CAP_PERSISTENT, 0,
                run_resident),
};
CONFORM_TABLE(conform_cases_beside, rows);
