/*
 * replay.c - handles of sequences: how they end, what they tell, what is left of them.
 */
#include "conformance/recording.h"

#include <string.h>

static recording r;
static circle g;

#define SLOW_NS 12000000ull
#define N 500u

/* No clock of a device is so wrong that this many replays take less. */
static void check_took(conform *c, uint64_t begin_ns, uint32_t times, const char *what)
{
  const uint64_t least = times * SLOW_NS, took = conform_now_ns() - begin_ns;
  CHECK(c, took + least / 20 >= least,
        "%s after %llu ns; %u replays of %llu ns each have not ended then (SEQ-003)", what,
        (unsigned long long)took, times, (unsigned long long)SLOW_NS);
}

/* ---- the end ---- */

/* It ends when the last replay has ended, and says so as often as it is asked. */
static void run_wait(conform *c)
{
  vyre_backend_sequence *sequence = NULL;
  circle_begin(c, &g, N);
  sequence = circle_slow(c, &g, &r, SLOW_NS);
  for (uint32_t times = 1; times <= 4; ++times) {
    vyre_slot slot = {.struct_size = sizeof slot};
    vyre_backend_times took = {.struct_size = sizeof took};
    const uint64_t begin = conform_now_ns();
    uint64_t all = 0;
    vyre_backend_pending *pending = sequence_start(c, sequence, times);
    CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
    check_took(c, begin, times, "pending_wait says that a sequence has ended (DISP-030)");
    circle_replay_slow(&g, times);
    circle_expect(c, &g, "a sequence that was waited for (DISP-030)");
    CHECK_OK(c, c->counted.pending_wait(pending, 0, err));
    CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
    CHECK_FAILS(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err),
                VYRE_ERROR_INVALID_ARGUMENT, -1);
    CHECK_OK(c, c->counted.pending_read(pending, NULL, 0, 0, &took, err));
    all = conform_now_ns() - begin;
    CHECK(c, took.device_ns == VYRE_TIME_ABSENT || took.device_ns <= all + all / 50,
          "%llu ns on the device within %llu ns in all (TIME-002)",
          (unsigned long long)took.device_ns, (unsigned long long)all);
    CHECK_OK(c, c->counted.pending_wait(pending, 0, err));
    c->counted.pending_release(pending);
  }
  sequence_release(c, sequence);
  circle_end(c, &g);
}

/* 0 polls; limits run out and leave the handle as it is.  A busy machine may be late once. */
static void run_poll(conform *c)
{
  vyre_backend_sequence *sequence = NULL;
  uint32_t late = 0, turn = 0;
  circle_begin(c, &g, N);
  sequence = circle_slow(c, &g, &r, SLOW_NS);
  for (; turn < 4 && late == turn; ++turn) {
    vyre_backend_pending *pending = sequence_start(c, sequence, 4);
    const uint64_t begin = conform_now_ns();
    vyre_status status = c->counted.pending_wait(pending, 0, NULL);
    late += conform_now_ns() - begin > 2 * SLOW_NS;
    for (uint64_t limit = 0; status != VYRE_OK; limit += 1000) {
      vyre_error record = VYRE_ERROR_INIT;
      status = c->counted.pending_wait(pending, limit, &record);
      CHECK(c, status == VYRE_OK || status == VYRE_ERROR_TIMEOUT,
            "pending_wait returned %d: %.300s (DISP-031)", (int)status, record.message);
      CHECK(c, status == VYRE_OK || (record.code == status && record.message[0]),
            "a timeout has no code or no text (ABI-009)");
      conform_watch(c, begin, "the end of a sequence (DISP-031)");
    }
    conform_finish(c, pending, NULL, 0);
    circle_replay_slow(&g, 4);
    circle_expect(c, &g, "a sequence that was polled (DISP-030)");
  }
  CHECK(c, late < 4, "pending_wait(0) waits for a sequence (DISP-031)");
  sequence_release(c, sequence);
  circle_end(c, &g);
}

/* Read without a wait; released without either, and all is let go directly afterwards. */
static void run_release(conform *c)
{
  for (uint32_t turn = 0; turn < 4; ++turn) {
    vyre_backend_sequence *sequence = NULL;
    vyre_backend_pending *pending = NULL;
    uint64_t begin = 0;
    circle_begin(c, &g, N);
    sequence = circle_slow(c, &g, &r, SLOW_NS);
    begin = conform_now_ns();
    pending = sequence_start(c, sequence, 3);
    if (turn % 2)
      CHECK_OK(c, c->counted.pending_read(pending, NULL, 0, 0, NULL, err));
    if (turn % 2)
      check_took(c, begin, 3, "pending_read says that a sequence has ended (READ-003)");
    c->counted.pending_release(pending);
    check_took(c, begin, 3, "pending_release has let a sequence go (DISP-033)");
    c->counted.pending_release(NULL);
    sequence_release(c, sequence);
    circle_replay_slow(&g, 3);
    circle_expect(c, &g, "a sequence whose handle was released (DISP-033)");
    circle_end(c, &g);
  }
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after the device is closed (DISP-033)",
        (unsigned long long)conform_live_blocks(c));
}

/* What a replay has stored to coherent memory the host sees without a further call. */
static void run_visible(conform *c)
{
  vyre_backend_sequence *sequence = NULL;
  vyre_coherent_memory memory;
  circle_begin(c, &g, N);
  memory = conform_coherent(c, N * 4);
  for (uint32_t turn = 1; turn <= 10; ++turn) {
    vyre_backend_pending *pending = NULL;
    conform_launch *step = NULL;
    uint32_t words[N];
    if (turn == 1) {
      conform_random_fill(c, words, sizeof words);
      memcpy(memory.host, words, sizeof words);
      recording_init(&r);
      circle_add(c, &g, &r, 32);
      step = recording_add(&r, conform_kernel(c, "buffer", "chain"), 8, 64);
      conform_launch_buffer(step, VYRE_READ_WRITE, memory.buffer, N, 4);
      sequence = recording_make(c, &r);
    }
    memcpy(words, memory.host, sizeof words);
    pending = sequence_start(c, sequence, turn);
    CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
    for (uint32_t k = 0; k < turn; ++k)
      for (uint32_t i = 0; i < N; ++i)
        words[i] = words[i] * 3u + 1u;
    CHECK(c, !memcmp(words, memory.host, sizeof words),
          "after the end of a sequence its words in coherent memory are others (DISP-030)");
    circle_replay(&g, turn);
    c->counted.pending_release(pending);
  }
  circle_expect(c, &g, "a sequence that also writes coherent memory (SEQ-001)");
  sequence_release(c, sequence);
  conform_free(c, memory.buffer);
  circle_end(c, &g);
}

/* ---- errors ---- */

static const char reach_text[] =
    "#define VYRE_BUFFER_data 0\n"
    "VYRE_SEGMENT(reach)(vyre_ctx *c, VYRE_INOUT(vyre_u32) data)\n"
    "{\n"
    "  if (vyre_global_id(c, 0) == 0u)\n"
    "    vyre_at(c, data, data[0]) = vyre_at(c, data, data[0]) + 1u;\n"
    "}\n"
    "VYRE_ENTRY(reach, (VYRE_PARAM_INOUT(0, data)), (VYRE_ARG(0, data)));\n";

/* An error of a step is the handle's, every time, and not the next one's. */
static void run_error(conform *c)
{
  static const uint32_t places[] = {7, 16, 5, 1000000, 15};
  uint32_t words[16] = {0};
  vyre_backend_device *device = conform_open(c);
  vyre_backend_module *module =
      conform_load_text(c, device, "reach", reach_text, VYRE_MODULE_DEBUG);
  vyre_backend_buffer *buffer = conform_buffer(c, sizeof words, words);
  vyre_backend_sequence *sequence = NULL;
  recording_init(&r);
  for (uint32_t s = 0; s < 3; ++s)
    conform_launch_buffer(recording_add(&r, conform_find(c, module, "reach"), 2, 32),
                          VYRE_READ_WRITE, buffer, 16, 4);
  sequence = recording_make(c, &r);
  for (uint32_t k = 0; k < COUNT_OF(places); ++k) {
    vyre_backend_pending *pending = NULL;
    words[0] = places[k];
    conform_put(c, buffer, 0, words, sizeof words);
    pending = sequence_start(c, sequence, 2);
    for (uint32_t i = 0; i < 3 && places[k] >= 16; ++i) {
      vyre_error record = VYRE_ERROR_INIT;
      const vyre_status status = c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, &record);
      CHECK(c, status == VYRE_ERROR_DISPATCH_FAILED && strstr(record.message, "data"),
            "a step with an index outside its buffer: pending_wait returned %d: %.300s (DISP-032)",
            (int)status, record.message);
    }
    if (places[k] >= 16)
      CHECK_FAILS(c, c->counted.pending_read(pending, NULL, 0, 0, NULL, err),
                  VYRE_ERROR_DISPATCH_FAILED, -1);
    else
      CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
    c->counted.pending_release(pending);
    if (places[k] >= 16)
      continue;
    words[places[k]] += 6; /* twice three steps */
    conform_expect_bytes(c, buffer, words, sizeof words,
                         "a sequence with checked indexes (DISP-032)");
  }
  sequence_release(c, sequence);
  conform_free(c, buffer);
  c->counted.module_unload(device, module);
  conform_tour(c);
}

/* ---- times ---- */

static void run_times(conform *c)
{
  vyre_backend_sequence *sequence = NULL;
  uint64_t last = 0, host = 0;
  circle_begin(c, &g, N);
  sequence = circle_slow(c, &g, &r, SLOW_NS / 2);
  sequence_run(c, sequence, 1); /* loads what there is to load */
  for (uint32_t turn = 0; turn < 6; ++turn) {
    const uint32_t times = turn < 5 ? 1 + turn : 30;
    vyre_backend_pending *pending[2];
    uint64_t before = 0, after = 0;
    vyre_backend_times took[2];
    CHECK_OK(c, c->counted.device_clock(c->device, &before, &host, err));
    for (uint32_t k = 0; k < 2; ++k)
      pending[k] = sequence_start(c, sequence, times);
    for (uint32_t k = 2; k-- > 0;) {
      memset(&took[k], 0, sizeof took[k]);
      took[k].struct_size = sizeof took[k];
      CHECK_OK(c, c->counted.pending_read(pending[k], NULL, 0, 0, &took[k], err));
      c->counted.pending_release(pending[k]);
    }
    CHECK_OK(c, c->counted.device_clock(c->device, &after, &host, err));
    for (uint32_t k = 0; k < 2; ++k) {
      const uint64_t least = times * (SLOW_NS / 2);
      CHECK(c,
            took[k].started_ns <= took[k].ended_ns &&
                took[k].device_ns == took[k].ended_ns - took[k].started_ns,
            "a sequence from %llu to %llu took %llu ns (TIME-001)",
            (unsigned long long)took[k].started_ns, (unsigned long long)took[k].ended_ns,
            (unsigned long long)took[k].device_ns);
      CHECK(c, took[k].device_ns + least / 50 >= least,
            "%u replays that wait %llu ns together took %llu (TIME-001, SEQ-003)", times,
            (unsigned long long)least, (unsigned long long)took[k].device_ns);
      CHECK(c, took[k].started_ns >= before && took[k].ended_ns <= after,
            "a sequence is not within the clock's readings around it (TIME-001)");
      CHECK(c, took[k].started_ns >= last,
            "a later sequence began before an earlier one ended (TIME-001)");
      last = took[k].ended_ns;
    }
  }
  sequence_release(c, sequence);
  circle_end(c, &g);
}

#define REPLAY_CASE(name, rules, more, needs, run)                                                 \
  {                                                                                                \
    name, rules, CONFORM_SEQUENCES, VYRE_CAP_BUFFERS | VYRE_CAP_SEQUENCES | (more),                \
        CONFORM_NEEDS_KERNELS | (needs), 0, run                                                    \
  }

static const conform_case rows[] = {
    REPLAY_CASE("sequence.wait", "SEQ-003 DISP-030 DISP-031 READ-002 TIME-002", 0, 0, run_wait),
    REPLAY_CASE("sequence.poll", "SEQ-003 DISP-031", 0, 0, run_poll),
    REPLAY_CASE("sequence.release", "SEQ-003 DISP-033 READ-003 ABI-014", 0, 0, run_release),
    REPLAY_CASE("sequence.visible", "SEQ-003 DISP-030", VYRE_CAP_COHERENT, 0, run_visible),
    REPLAY_CASE("sequence.error", "SEQ-003 DISP-032 KRN-008", 0, CONFORM_NEEDS_VYRE_C, run_error),
    REPLAY_CASE("sequence.timing", "SEQ-003 TIME-001", VYRE_CAP_TIMESTAMPS, 0, run_times),
};
CONFORM_TABLE(conform_cases_replay, rows);
