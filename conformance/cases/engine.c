/*
 * engine.c - the core's engine on this plugin: a persistent launch that serves a ring in coherent
 * memory.  Nothing is lost, nothing comes twice, however small the ring is and however it ends.
 */
#include "conformance/buffers.h"
#include "conformance/rig.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* ---- none lost, none twice ---- */

static void run_capacities(conform *c)
{
  for (uint32_t capacity = 1; capacity <= 64; capacity *= 2)
    for (uint32_t unfinished = capacity; unfinished <= 4 * capacity; unfinished *= 4) {
      vyre_engine_options options = rig_options(capacity);
      rig r;
      options.max_unfinished = unfinished;
      options.workers = 1 + capacity % 3;
      rig_begin(c, &r, &options);
      rig_send(c, &r, 400, 1);
      rig_send(c, &r, 400, 1 + (capacity * 7) % 64);
      rig_end(c, &r);
    }
}

/* Every counter of a small ring goes round thousands of times. */
static void run_wrap(conform *c)
{
  vyre_engine_options options = rig_options(4);
  rig r;
  options.max_unfinished = 8;
  rig_begin(c, &r, &options);
  rig_send(c, &r, 8000, 1);
  rig_send(c, &r, 40000, 30);
  rig_end(c, &r);
}

typedef struct sender {
  rig *r;
  uint32_t first, count;
  vyre_status status;
} sender;

static void *send_part(void *argument)
{
  sender *s = argument;
  for (uint32_t i = 0; i < s->count;) {
    const vyre_work_item item = rig_item(s->first + i);
    s->status = vyre_engine_submit(s->r->engine, &item, NULL);
    if (s->status == VYRE_OK)
      i += 1;
    else if (s->status == VYRE_ERROR_QUEUE_FULL)
      sched_yield();
    else
      break;
  }
  return NULL;
}

static void run_threads(conform *c)
{
  enum { SENDERS = 3, EACH = 3000 };
  vyre_engine_options options = rig_options(64);
  sender senders[SENDERS];
  pthread_t threads[SENDERS];
  counts all;
  rig r;
  rig_begin(c, &r, &options);
  rig_count(c, &all, SENDERS * EACH);
  for (uint32_t i = 0; i < SENDERS; ++i) {
    senders[i] = (sender){&r, i * EACH, EACH, VYRE_OK};
    CHECK(c, !pthread_create(&threads[i], NULL, send_part, &senders[i]), "no thread");
  }
  while (all.seen < all.n)
    rig_reap(c, &r, &all, RIG_PATIENCE);
  for (uint32_t i = 0; i < SENDERS; ++i) {
    pthread_join(threads[i], NULL);
    CHECK(c, senders[i].status == VYRE_OK, "submit ended with %d", (int)senders[i].status);
  }
  rig_count_end(c, &all);
  rig_end(c, &r);
}

/* ---- items that wait ---- */

static void set_gate(rig *r, uint32_t value)
{
  /* Release: pairs with the handler's acquire. */
  __atomic_store_n((uint32_t *)(void *)r->input, value, __ATOMIC_RELEASE);
}

static uint64_t submit_gate(conform *c, rig *r, uint32_t correlation)
{
  const vyre_work_item item = {0, 4, RULE_GATE, correlation};
  uint64_t ticket = 0;
  const vyre_status status = vyre_engine_submit(r->engine, &item, &ticket);
  CHECK(c, status == VYRE_OK, "submit ended with %d", (int)status);
  return ticket;
}

/* When there is a place for it. */
static uint64_t submit_behind(conform *c, rig *r, const vyre_work_item *item)
{
  const uint64_t deadline = conform_now_ns() + RIG_PATIENCE;
  uint64_t ticket = 0;
  vyre_status status = VYRE_ERROR_QUEUE_FULL;
  while (status == VYRE_ERROR_QUEUE_FULL && conform_now_ns() < deadline) {
    status = vyre_engine_submit(r->engine, item, &ticket);
    if (status == VYRE_ERROR_QUEUE_FULL)
      sched_yield();
  }
  CHECK(c, status == VYRE_OK, "submit behind an item that waits ended with %d", (int)status);
  return ticket;
}

/*
 * Later items finish while an earlier one waits: they come out of order.  In a ring of one place a
 * later one is not there before the earlier one was taken: a worker that took both together would
 * be allowed to complete both together.
 */
static void run_out_of_order(conform *c)
{
  vyre_engine_options options = rig_options(1);
  vyre_completion done;
  uint64_t gate = 0;
  rig r;
  options.max_unfinished = 256;
  options.workers = 2;
  rig_begin(c, &r, &options);
  if (r.t.info.compute_units < 2 && r.t.info.device_class != VYRE_DEVICE_CPU)
    conform_not_supported(c, "the device runs one group at a time");
  set_gate(&r, 0);
  gate = submit_gate(c, &r, 7);
  for (uint32_t i = 0; i < 200; ++i) {
    const vyre_work_item item = rig_item(i);
    const uint64_t ticket = submit_behind(c, &r, &item);
    const vyre_status status = vyre_engine_wait(r.engine, ticket, RIG_PATIENCE, &done);
    CHECK(c, status == VYRE_OK && done.correlation == i,
          "item %u behind one that waits ended with %d (DISP-010)", i, (int)status);
  }
  CHECK(c, vyre_engine_wait(r.engine, gate, 1000000, &done) == VYRE_ERROR_TIMEOUT,
        "an item that waits has ended");
  set_gate(&r, 1);
  CHECK(c, vyre_engine_wait(r.engine, gate, RIG_PATIENCE, &done) == VYRE_OK && done.result == 8,
        "an item that was let go does not end");
  CHECK(c, vyre_engine_wait(r.engine, gate, 0, &done) == VYRE_ERROR_NOT_FOUND,
        "a completion came twice");
  rig_end(c, &r);
}

/* Until a deadline, which names what is not finished. */
static void run_drain(conform *c)
{
  vyre_engine_options options = rig_options(64);
  uint64_t gate = 0, unfinished[8] = {0};
  uint32_t n = 0;
  counts all;
  rig r;
  options.workers = 2;
  rig_begin(c, &r, &options);
  rig_count(c, &all, 40);
  CHECK(c, vyre_engine_drain(r.engine, 0, NULL, 0, NULL) == VYRE_OK,
        "an empty engine does not drain");
  set_gate(&r, 0);
  gate = submit_gate(c, &r, 7);
  CHECK(c, vyre_engine_drain(r.engine, 20000000, unfinished, 8, &n) == VYRE_ERROR_TIMEOUT,
        "drain ended before its items");
  CHECK(c, n == 1 && unfinished[0] == gate, "drain names %u unfinished items, not the one", n);
  set_gate(&r, 1);
  for (uint32_t i = 0; i < 40; ++i) {
    const vyre_work_item item = rig_item(i);
    CHECK(c, vyre_engine_submit(r.engine, &item, &all.tickets[i]) == VYRE_OK, "submit failed");
  }
  CHECK(c, vyre_engine_drain(r.engine, RIG_PATIENCE, NULL, 0, NULL) == VYRE_OK,
        "drain does not end");
  CHECK(c, vyre_engine_wait(r.engine, gate, 0, NULL) == VYRE_OK,
        "after a drain an item is not finished");
  while (all.seen < 40)
    rig_reap(c, &r, &all, 0); /* all are there */
  rig_count_end(c, &all);
  rig_end(c, &r);
}

/* What was accepted is finished, then nothing is taken any more. */
static void run_stop(conform *c)
{
  for (uint32_t turn = 0; turn < 4; ++turn) {
    vyre_engine_options options = rig_options(256);
    const uint32_t n = turn * 60;
    vyre_completion none;
    uint32_t more = 0;
    counts all;
    rig r;
    rig_begin(c, &r, &options);
    rig_count(c, &all, n);
    for (uint32_t i = 0; i < n; ++i) {
      const vyre_work_item item = rig_item(i);
      CHECK(c, vyre_engine_submit(r.engine, &item, &all.tickets[i]) == VYRE_OK, "submit failed");
    }
    CHECK_OK(c, vyre_engine_stop(r.engine, RIG_PATIENCE, err));
    const vyre_work_item late = rig_item(1);
    CHECK(c, vyre_engine_submit(r.engine, &late, NULL) == VYRE_ERROR_CLOSED,
          "a stopped engine takes an item");
    while (all.seen < n)
      rig_reap(c, &r, &all, 0);
    CHECK(c, vyre_engine_reap(r.engine, &none, 1, RIG_PATIENCE, &more) == VYRE_ERROR_CLOSED,
          "a stopped engine has a completion more");
    rig_count_end(c, &all);
    rig_end(c, &r);
  }
}

/* ---- leaving and coming back ---- */

static vyre_engine_stats stats_of(conform *c, const rig *r)
{
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;
  CHECK_OK(c, vyre_engine_get_stats(r->engine, &stats, err));
  CHECK(c, stats.persistent, "the engine is not served by a persistent launch");
  return stats;
}

static void run_idle(conform *c)
{
  vyre_engine_options options = rig_options(16);
  rig r;
  options.max_idle_ms = 1;
  rig_begin(c, &r, &options);
  for (uint32_t turn = 0; turn < 12; ++turn) {
    const uint64_t exits = stats_of(c, &r).idle_exits, began = conform_now_ns();
    rig_send(c, &r, 30 + turn, 1 + turn);
    while (turn % 2 && stats_of(c, &r).idle_exits == exits)
      conform_watch(c, began, "an idle persistent launch to leave (DISP-010)");
  }
  CHECK(c, stats_of(c, &r).launches > 3, "the launch has left and was not launched again");
  rig_end(c, &r);
}

/* It leaves and comes back under load, and nothing is lost between. */
static void run_relaunch(conform *c)
{
  vyre_engine_options options = rig_options(32);
  const uint64_t began = conform_now_ns();
  rig r;
  options.max_resident_ms = 2;
  rig_begin(c, &r, &options);
  do {
    rig_send(c, &r, 3000, 3);
  } while (stats_of(c, &r).launches < 15 && conform_now_ns() - began < 5 * RIG_SECOND);
  CHECK(c, stats_of(c, &r).launches > 2, "a launch that should leave after 2 ms stays");
  rig_end(c, &r);
}

/* ---- records ---- */

static void run_bank(conform *c)
{
  vyre_engine_options options = rig_options(64);
  rig r;
  options.bank_records = 50;
  rig_begin(c, &r, &options);
  memset(r.input, 0, RIG_INPUT);
  for (uint32_t i = 0; i < 4096; i += 8)
    r.input[i] = RIG_CONSTANT;
  for (uint32_t turn = 0; turn < 12; ++turn) {
    const uint32_t items = 1 + turn; /* eight records each: from the seventh on too many */
    const vyre_record *records = NULL;
    uint32_t count = 0, stored = 0, seen[16][64] = {{0}};
    uint64_t tickets[16];
    for (uint32_t i = 0; i < items; ++i) {
      const vyre_work_item item = {i * 64, 64, RULE_FIND, turn * 100 + i};
      CHECK(c, vyre_engine_submit(r.engine, &item, &tickets[i]) == VYRE_OK, "submit failed");
    }
    for (uint32_t i = 0; i < items; ++i) {
      vyre_completion done;
      CHECK(c, vyre_engine_wait(r.engine, tickets[i], RIG_PATIENCE, &done) == VYRE_OK,
            "an item is lost");
      CHECK(c, done.result == 8, "an item of 8 records says %u", done.result);
      CHECK(c, done.status == VYRE_OK || (items > 6 && done.status == VYRE_ERROR_OVERFLOW),
            "an item that emits ended with %d", (int)done.status);
      stored += done.status == VYRE_OK ? 8 : 0;
    }
    CHECK(c, vyre_engine_swap_bank(r.engine, RIG_PATIENCE, &records, &count) == VYRE_OK, "no swap");
    CHECK(c, count == (items * 8 < 50 ? items * 8 : 50) && count >= stored,
          "%u items of 8 records left %u in a bank of 50 (COH-001)", items, count);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t i = records[k].value[1] - turn * 100, at = records[k].value[0];
      CHECK(c, i < items && at < 64 && at % 8 == 0 && records[k].ticket == tickets[i],
            "record %u is of no item: %u, %u (COH-001)", k, records[k].value[0],
            records[k].value[1]);
      CHECK(c, !seen[i][at]++, "a record came twice");
    }
  }
  rig_end(c, &r);
}

/* ---- beside it ---- */

/* Other work on the device goes on while an item holds a worker. */
static void run_beside(conform *c)
{
  static const char source[] =
      "VYRE_SEGMENT(step)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
      "{\n"
      "  const vyre_u64 i = vyre_global_id(c, 0);\n"
      "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = vyre_at(c, a, i) * 3u + 1u;\n"
      "}\n";
  static uint32_t given[5000], wanted[5000];
  const vyre_bytes inputs[1] = {{given, sizeof given}}, outputs[1] = {{wanted, sizeof wanted}};
  const through_want want = {outputs, 1, 1, VYRE_CONVERGED_NOT_TESTED};
  vyre_engine_options options = rig_options(16);
  through_program p;
  vyre_program *program = NULL;
  vyre_buffer *buffer = NULL;
  uint64_t gate = 0;
  rig r;
  rig_begin(c, &r, &options);
  through_program_init(&p, "step", source);
  through_program_buffer(&p, "a", VYRE_READ_WRITE, 4, 0);
  through_program_segment(&p, "step", "+a");
  program = through_program_create(c, &r.t, &p);
  CHECK_OK(c, vyre_buffer_create(r.t.device, sizeof given, &buffer, err));
  set_gate(&r, 0);
  gate = submit_gate(c, &r, 1);
  for (uint32_t turn = 0; turn < 20; ++turn) {
    conform_random_fill(c, given, sizeof given);
    for (uint32_t i = 0; i < 5000; ++i)
      wanted[i] = given[i] * 3 + 1;
    if (turn % 2) {
      CHECK_OK(c, vyre_buffer_upload(buffer, 0, given, sizeof given, err));
      CHECK_OK(c, vyre_dispatch_buffers(program, NULL, &buffer, 1, NULL, err));
      CHECK_OK(c, vyre_buffer_download(buffer, 0, given, sizeof given, err));
      CHECK(c, !memcmp(given, wanted, sizeof given),
            "a launch beside the engine is wrong (DISP-012)");
    } else {
      vyre_outputs got = VYRE_OUTPUTS_INIT;
      CHECK_OK(c, vyre_dispatch(program, NULL, inputs, 1, &got, NULL, err));
      CHECK(c,
            got.count == want.output_count && got.slots[0].size == sizeof wanted &&
                !memcmp(got.slots[0].data, wanted, sizeof wanted),
            "a launch beside the engine is wrong (DISP-012)");
      vyre_outputs_reset(&got);
    }
  }
  CHECK(c, vyre_engine_wait(r.engine, gate, 0, NULL) == VYRE_ERROR_TIMEOUT,
        "an item that waits has ended");
  set_gate(&r, 1);
  CHECK(c, vyre_engine_wait(r.engine, gate, RIG_PATIENCE, NULL) == VYRE_OK, "an item does not end");
  vyre_buffer_destroy(buffer);
  vyre_program_destroy(program);
  rig_end(c, &r);
}

/* Items whose bytes lie in a buffer of the device, and two engines at once. */
static void run_two(conform *c)
{
  vyre_engine_options options = rig_options(32);
  vyre_engine_options second = rig_options(8);
  rig r, other;
  second.input_size = 0;
  rig_begin(c, &r, &options);
  other = r;
  CHECK_OK(c, vyre_buffer_create(r.t.device, RIG_INPUT, &second.input, err));
  CHECK_OK(c, vyre_buffer_upload(second.input, 0, r.input, RIG_INPUT, err));
  rig_start(c, &other, &second);
  other.input = r.input; /* the same bytes: what the oracle reads */
  for (uint32_t turn = 0; turn < 4; ++turn) {
    rig_send(c, &r, 500, 1 + turn);
    rig_send(c, &other, 500, 3 + turn);
  }
  CHECK_OK(c, vyre_engine_stop(other.engine, RIG_PATIENCE, err));
  vyre_engine_destroy(other.engine);
  vyre_buffer_destroy(second.input);
  rig_send(c, &r, 100, 1);
  rig_end(c, &r);
}

/* Without a persistent launch the same comes out, by launches that end: tier 1 is enough. */
static void run_batched(conform *c)
{
  for (uint32_t capacity = 1; capacity <= 64; capacity *= 8) {
    vyre_engine_options options = rig_options(capacity);
    rig r;
    options.mode = VYRE_ENGINE_DISABLE;
    rig_begin(c, &r, &options);
    rig_send(c, &r, 500, 1);
    rig_send(c, &r, 2000, 50);
    rig_end(c, &r);
  }
}

#define ENGINE_CASE(name, rules, run)                                                              \
  {                                                                                                \
    name, rules, CONFORM_PERSISTENT, VYRE_CAP_PERSISTENT | VYRE_CAP_COHERENT | VYRE_CAP_BUFFERS,   \
        CONFORM_NEEDS_VYRE_C, 0, run                                                               \
  }

static const conform_case rows[] = {
    {"engine.batched", "DISP-022 DISP-030 READ-002 KRN-002", CONFORM_CORE, 0, CONFORM_NEEDS_VYRE_C,
     0, run_batched},
    ENGINE_CASE("engine.capacities", "COH-001 DISP-010 KRN-002", run_capacities),
    ENGINE_CASE("engine.wrap", "COH-001 DISP-010", run_wrap),
    ENGINE_CASE("engine.threads", "COH-001 DISP-010", run_threads),
    ENGINE_CASE("engine.out_of_order", "COH-001 DISP-010", run_out_of_order),
    ENGINE_CASE("engine.drain", "COH-001 DISP-010", run_drain),
    ENGINE_CASE("engine.stop", "COH-001 DISP-010", run_stop),
    ENGINE_CASE("engine.idle", "DISP-010", run_idle),
    ENGINE_CASE("engine.relaunch", "DISP-010", run_relaunch),
    ENGINE_CASE("engine.bank", "COH-001", run_bank),
    ENGINE_CASE("engine.beside", "DISP-012", run_beside),
    ENGINE_CASE("engine.two", "DISP-010 DISP-012", run_two),
};
CONFORM_TABLE(conform_cases_engine, rows);
