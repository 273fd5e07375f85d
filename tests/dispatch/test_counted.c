/*
 * What a run copies, allocates, moves and launches, counted: by the allocator of the context, by
 * the plugin, and against what vyre_dispatch_explain() announces.
 */
#include "core/base/alloc.h"
#include "core/dispatch/control.h"
#include "tests/dispatch/long_programs.h"

#include <stdlib.h>

#define WORDS 16384u
#define BYTES (WORDS * 4ull)

/* ---- an allocator that counts ---- */

#define LARGE (BYTES / 2) /* nothing but the bytes of buffers is that large */

typedef struct counts {
  int64_t all, large, live;
} counts;

static counts counted;

static void *count_allocate(void *self, uint64_t size, uint64_t align)
{
  void *memory = vyre__default_allocator.allocate(NULL, size, align);
  counts *to = self;
  if (memory) {
    __atomic_add_fetch(&to->all, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&to->large, size >= LARGE, __ATOMIC_RELAXED);
    __atomic_add_fetch(&to->live, 1, __ATOMIC_RELAXED);
  }
  return memory;
}

static void count_deallocate(void *self, void *memory)
{
  counts *to = self;
  if (memory)
    __atomic_sub_fetch(&to->live, 1, __ATOMIC_RELAXED);
  vyre__default_allocator.deallocate(NULL, memory);
}

static const vyre_allocator counting = {&counted, count_allocate, count_deallocate};

/* ---- a run of large buffers, and what it cost ---- */

static uint32_t edges[WORDS], seen[WORDS], kept[WORDS], numbers[WORDS];
static const vyre_bytes reach_inputs[] = {{edges, BYTES}, {seen, BYTES}, {kept, BYTES}};
static const vyre_bytes one_input[] = {{numbers, BYTES}};

static void fill_inputs(void)
{
  for (uint32_t i = 0; i < WORDS; ++i) {
    edges[i] = i;
    seen[i] = 1u << (27 + i % 4);
    kept[i] = ~i;
    numbers[i] = i % 3;
  }
}

typedef struct run_cost {
  vyre_dispatch_result result;
  counts allocations;
  int64_t uploads, upload_bytes, downloads, download_bytes, copies, copy_bytes, fills, allocs;
  int64_t dispatches, cooperative_calls, passes_calls, launch_steps;
  int64_t host_bindings_bytes, read_bytes, reads;
} run_cost;

/* Counters now, or since `before`. */
static void take_stock(const on_fixture *on, const run_cost *before, run_cost *out)
{
  const struct {
    const char *name;
    int64_t *value;
    int64_t was;
  } rows[] = {
#define ROW(name) {#name, &out->name, before ? before->name : 0}
      ROW(uploads),
      ROW(upload_bytes),
      ROW(downloads),
      ROW(download_bytes),
      ROW(copies),
      ROW(copy_bytes),
      ROW(fills),
      ROW(allocs),
      ROW(dispatches),
      ROW(cooperative_calls),
      ROW(passes_calls),
      ROW(launch_steps),
      ROW(host_bindings_bytes),
      ROW(read_bytes),
      ROW(reads),
#undef ROW
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    *rows[i].value = on->plugin.get(rows[i].name) - rows[i].was;
  out->allocations.all = counted.all - (before ? before->allocations.all : 0);
  out->allocations.large = counted.large - (before ? before->allocations.large : 0);
  out->allocations.live = counted.live;
}

static run_cost run(const on_fixture *on, vyre_program *program, const vyre_bytes *inputs,
                    long_way way, uint32_t iterations, vyre_outputs *outputs)
{
  static const vyre_dispatch_result empty = VYRE_DISPATCH_RESULT_INIT;
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  run_cost before, cost;
  memset(&cost, 0, sizeof cost);
  options.route = long_route(way);
  options.iterations = iterations;
  cost.result = empty;
  take_stock(on, NULL, &before);
  if (vyre_dispatch(program, &options, inputs, vyre_program_input_count(program), outputs,
                    &cost.result, &err))
    fail_msg("%s", err.message);
  take_stock(on, &before, &cost);
  return cost;
}

static void open_way(on_fixture *on, long_way way)
{
  memset(&counted, 0, sizeof counted);
  fill_inputs();
  long_open(on, way, &counting);
}

static void close_way(on_fixture *on)
{
  on_fixture_close(on);
  assert_int_equal(counted.live, 0);
}

/* With buffers of WORDS elements. */
static vyre_program *create(on_fixture *on, long_kind kind, long_way way)
{
  static long_program of;
  long_describe(&of, kind, way == LONG_COMPARED ? LONG_NO_SETTLE : 0);
  for (uint32_t i = 0; i < of.s.desc.buffer_count; ++i)
    if (of.s.buffers[i].element_count == LONG_WORDS)
      of.s.buffers[i].element_count = WORDS;
  return on_fixture_program(on, &of.s);
}

/* ---- the host route: bytes ---- */

/* How often the plugin is given the caller's own bytes; inputs are never copied while only read. */
static int64_t count_seen(const void *bytes)
{
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  int64_t watched;
  open_way(&on, LONG_HOST);
  program = create(&on, LONG_REACH, LONG_HOST);
  on_fixture_set(&on, "watch", (int64_t)(intptr_t)bytes);
  assert_int_equal(run(&on, program, reach_inputs, LONG_HOST, 0, &outputs).result.passes, 5);
  watched = on.plugin.get("watched");
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  close_way(&on);
  return watched;
}

static void test_borrowed(void **state)
{
  (void)state;
  assert_int_equal(count_seen(edges), 5); /* in segment 1 of each pass */
  assert_int_equal(count_seen(seen), 2);  /* in both segments of pass 1, then it is the core's */
  assert_int_equal(count_seen(kept), 0);  /* no segment binds it: it does not travel */
}

static void test_host_traffic(void **state)
{
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  run_cost cost;
  (void)state;
  open_way(&on, LONG_HOST);
  program = create(&on, LONG_REACH, LONG_HOST);
  cost = run(&on, program, reach_inputs, LONG_HOST, 0, &outputs);
  /* A pass takes seen, edges, next; next, seen.  In pass 1 next has no bytes yet. */
  assert_int_equal(cost.host_bindings_bytes, (5 * cost.result.passes - 1) * BYTES);
  assert_int_equal(cost.read_bytes, 2 * cost.result.passes * BYTES);
  assert_int_equal(cost.dispatches, cost.result.launches);
  assert_int_equal(cost.result.launches, 2 * cost.result.passes);
  assert_int_equal(cost.uploads + cost.downloads + cost.copies + cost.fills + cost.allocs, 0);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  close_way(&on);
}

/* ---- the host route: allocations ---- */

/* Of the first dispatch of a program with so many passes. */
static int64_t first_large(long_kind kind, const vyre_bytes *inputs, uint32_t passes)
{
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  run_cost cost;
  open_way(&on, LONG_HOST);
  program = create(&on, kind, LONG_HOST);
  cost = run(&on, program, inputs, LONG_HOST, passes, &outputs);
  assert_int_equal(cost.result.passes, passes);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  close_way(&on);
  return cost.allocations.large;
}

static void test_promotions(void **state)
{
  (void)state;
  /* One block a buffer when it is first written, one more to change places with. */
  assert_int_equal(first_large(LONG_REACH, reach_inputs, 1), 2);
  assert_int_equal(first_large(LONG_REACH, reach_inputs, 2), 4);
  assert_int_equal(first_large(LONG_REACH, reach_inputs, 5), 4);
  assert_int_equal(first_large(LONG_FLIP, one_input, 1), 1);
  assert_int_equal(first_large(LONG_FLIP, one_input, 2), 2);
  assert_int_equal(first_large(LONG_FLIP, one_input, 10), 2);
  /* Two segments write it: a third block keeps it as it was before the pass. */
  assert_int_equal(first_large(LONG_HALVES, NULL, 1), 2);
  assert_int_equal(first_large(LONG_HALVES, NULL, 2), 3);
  assert_int_equal(first_large(LONG_HALVES, NULL, 4), 3);
}

/* ---- no allocations in the steady state, on any way ---- */

static const long_kind steady_kinds[] = {LONG_REACH, LONG_FLIP, LONG_HALVES, LONG_DECLARED,
                                         LONG_PAIR};

static const vyre_bytes *inputs_of(long_kind kind)
{
  return kind == LONG_REACH ? reach_inputs : one_input;
}

/* More passes allocate no more. */
static void test_steady_passes(void **state)
{
  (void)state;
  for (size_t k = 0; k < sizeof steady_kinds / sizeof steady_kinds[0]; ++k)
    for (int way = 0; way < LONG_WAYS; ++way) {
      run_cost costs[2];
      for (int i = 0; i < 2; ++i) {
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        on_fixture on;
        vyre_program *program = NULL;
        open_way(&on, (long_way)way);
        program = create(&on, steady_kinds[k], (long_way)way);
        costs[i] =
            run(&on, program, inputs_of(steady_kinds[k]), (long_way)way, i ? 9 : 3, &outputs);
        vyre_outputs_reset(&outputs);
        vyre_program_destroy(program);
        close_way(&on);
      }
      assert_true(costs[1].result.passes > costs[0].result.passes);
      if (costs[0].allocations.all != costs[1].allocations.all ||
          costs[0].allocs != costs[1].allocs)
        fail_msg("%s, %s: 3 passes %lld and %lld allocations, %u passes %lld and %lld",
                 long_names[steady_kinds[k]], long_way_names[way],
                 (long long)costs[0].allocations.all, (long long)costs[0].allocs,
                 costs[1].result.passes, (long long)costs[1].allocations.all,
                 (long long)costs[1].allocs);
    }
}

/* A dispatch like the one before allocates its handle, what it says to the device, and no buffer.
 */
static void test_steady_dispatches(void **state)
{
  static const int64_t small[LONG_WAYS] = {1, 2, 2, 4, 2};
  (void)state;
  for (size_t k = 0; k < sizeof steady_kinds / sizeof steady_kinds[0]; ++k)
    for (int way = 0; way < LONG_WAYS; ++way) {
      vyre_outputs outputs = VYRE_OUTPUTS_INIT;
      on_fixture on;
      vyre_program *program = NULL;
      int64_t live = 0;
      open_way(&on, (long_way)way);
      program = create(&on, steady_kinds[k], (long_way)way);
      outputs.allocator = &counting; /* the slots may take blocks over */
      for (int round = 0; round < 6; ++round) {
        const run_cost cost =
            run(&on, program, inputs_of(steady_kinds[k]), (long_way)way, 0, &outputs);
        if (round < 3) { /* blocks settle: some went to the slots */
          live = counted.live;
          continue;
        }
        if (cost.allocations.large || cost.allocs || cost.allocations.all > small[way] ||
            counted.live != live)
          fail_msg("%s, %s: dispatch %d: %lld allocations, %lld large, %lld of the device, %lld "
                   "live",
                   long_names[steady_kinds[k]], long_way_names[way], round,
                   (long long)cost.allocations.all, (long long)cost.allocations.large,
                   (long long)cost.allocs, (long long)(counted.live - live));
        assert_int_equal(outputs.stats.reused, outputs.stats.slots);
      }
      vyre_outputs_reset(&outputs);
      vyre_program_destroy(program);
      close_way(&on);
    }
}

/* ---- the device: each input up once, each output down once ---- */

/* What else travels: the control words, the number of each pass, the answer. */
typedef struct small_talk {
  int64_t uploads, upload_bytes, downloads, download_bytes;
} small_talk;

static small_talk small_talk_of(long_way way, uint32_t segments, uint32_t passes)
{
  const bool launches = way == LONG_LAUNCHES;
  small_talk talk;
  talk.uploads = 1 + (launches ? passes - 1 : 0);
  talk.upload_bytes = (int64_t)(VYRE_CONTROL_GROUPS + 3 * (segments + 1)) * 4 +
                      (launches ? 4 * ((int64_t)passes - 1) : 0);
  talk.downloads = launches ? passes : 1;
  talk.download_bytes = 8 * talk.downloads;
  return talk;
}

static void test_device_traffic(void **state)
{
  static const long_way ways[] = {LONG_LAUNCHES, LONG_EMULATED, LONG_NATIVE};
  (void)state;
  for (size_t w = 0; w < sizeof ways / sizeof ways[0]; ++w) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    on_fixture on;
    vyre_program *program = NULL;
    open_way(&on, ways[w]);
    program = create(&on, LONG_REACH, ways[w]);
    for (int round = 0; round < 3; ++round) {
      const run_cost cost = run(&on, program, reach_inputs, ways[w], 0, &outputs);
      const uint32_t passes = cost.result.passes;
      const small_talk talk = small_talk_of(ways[w], 2, passes);
      assert_int_equal(passes, 5);
      /* edges and seen go up; `kept` does not travel; next starts as zeros there. */
      assert_int_equal(cost.uploads, 2 + talk.uploads);
      assert_int_equal(cost.upload_bytes, 2 * BYTES + (uint64_t)talk.upload_bytes);
      assert_int_equal(cost.fills, round > 0); /* next; new memory is zeros already */
      /* seen and next come down. */
      assert_int_equal(cost.downloads, 2 + talk.downloads);
      assert_int_equal(cost.download_bytes, 2 * BYTES + (uint64_t)talk.download_bytes);
      /* State 0 of what is tested is copied to the shadow, on the device. */
      assert_int_equal(cost.copies, 2);
      assert_int_equal(cost.copy_bytes, 2 * BYTES);
      /* edges, seen, next, shadow, control: once. */
      assert_int_equal(cost.allocs, round ? 0 : 5);
      assert_int_equal(cost.host_bindings_bytes, 0);
      assert_int_equal(cost.read_bytes, 0);
      assert_int_equal(cost.launch_steps, 3 * passes);
      assert_int_equal(cost.dispatches, ways[w] == LONG_LAUNCHES ? cost.result.launches
                                        : ways[w] == LONG_NATIVE ? 1
                                                                 : 0);
      assert_int_equal(cost.passes_calls, ways[w] == LONG_EMULATED);
      assert_int_equal(cost.cooperative_calls, ways[w] == LONG_NATIVE);
      assert_int_equal(cost.result.launches, ways[w] == LONG_NATIVE ? 1 : 3 * passes);
    }
    vyre_outputs_reset(&outputs);
    vyre_program_destroy(program);
    close_way(&on);
  }
}

/* Without a kernel for the test the tested buffers come down once a pass, and state 0 before. */
static void test_compared_traffic(void **state)
{
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  on_fixture on;
  vyre_program *program = NULL;
  run_cost cost;
  (void)state;
  open_way(&on, LONG_COMPARED);
  program = create(&on, LONG_REACH, LONG_COMPARED);
  cost = run(&on, program, reach_inputs, LONG_COMPARED, 0, &outputs);
  assert_int_equal(cost.uploads, 2);
  assert_true(cost.downloads <= 2 * (cost.result.passes + 2));
  assert_true(cost.downloads >= 2 * cost.result.passes);
  assert_int_equal(cost.copies, 0);
  assert_int_equal(cost.dispatches, 2 * cost.result.passes);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  close_way(&on);
}

/* On lent buffers nothing but words travels. */
static void test_lent(void **state)
{
  static const long_way ways[] = {LONG_LAUNCHES, LONG_EMULATED, LONG_NATIVE};
  (void)state;
  for (size_t w = 0; w < sizeof ways / sizeof ways[0]; ++w) {
    vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
    vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
    vyre_buffer *buffers[4] = {NULL};
    run_cost before, cost;
    small_talk talk;
    on_fixture on;
    vyre_program *program = NULL;
    options.route = long_route(ways[w]);
    open_way(&on, ways[w]);
    program = create(&on, LONG_REACH, ways[w]);
    for (int b = 0; b < 4; ++b)
      assert_int_equal(vyre_buffer_create(on.device, BYTES, &buffers[b], NULL), VYRE_OK);
    assert_int_equal(vyre_buffer_upload(buffers[1], 0, seen, BYTES, NULL), VYRE_OK);
    take_stock(&on, NULL, &before);
    assert_int_equal(vyre_dispatch_buffers(program, &options, buffers, 4, &result, NULL), VYRE_OK);
    take_stock(&on, &before, &cost);
    talk = small_talk_of(ways[w], 2, result.passes);
    assert_int_equal(result.passes, 5);
    assert_int_equal(cost.uploads, talk.uploads);
    assert_int_equal(cost.upload_bytes, talk.upload_bytes);
    assert_int_equal(cost.downloads, talk.downloads);
    assert_int_equal(cost.download_bytes, talk.download_bytes);
    assert_int_equal(cost.copy_bytes, 2 * BYTES);
    assert_int_equal(cost.fills, 0);
    assert_int_equal(cost.allocs, 2); /* shadow and control */
    assert_int_equal(cost.allocations.large, 0);
    for (int b = 0; b < 4; ++b)
      vyre_buffer_destroy(buffers[b]);
    vyre_program_destroy(program);
    close_way(&on);
  }
}

/* A range is read back as far as it goes; one of no bytes is not read at all. */
static void test_ranges(void **state)
{
  static const uint64_t sizes[] = {0, 4, BYTES};
  (void)state;
  for (int way = LONG_LAUNCHES; way < LONG_WAYS; ++way)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
      static long_program of;
      vyre_outputs outputs = VYRE_OUTPUTS_INIT;
      on_fixture on;
      vyre_program *program = NULL;
      run_cost cost;
      small_talk talk;
      if (way == LONG_COMPARED)
        continue;
      open_way(&on, (long_way)way);
      long_describe(&of, LONG_HALVES, 0);
      of.s.buffers[0].element_count = WORDS;
      of.s.buffers[0].flags |= VYRE_BUFFER_RANGE;
      of.s.buffers[0].range_size = sizes[i];
      program = on_fixture_program(&on, &of.s);
      cost = run(&on, program, NULL, (long_way)way, 0, &outputs);
      talk = small_talk_of((long_way)way, 2, cost.result.passes);
      assert_int_equal(outputs.slots[0].size, sizes[i]);
      assert_int_equal(cost.downloads, (sizes[i] > 0) + talk.downloads);
      assert_int_equal(cost.download_bytes, sizes[i] + (uint64_t)talk.download_bytes);
      vyre_outputs_reset(&outputs);
      vyre_program_destroy(program);
      close_way(&on);
    }
}

/* ---- what was announced ---- */

static void assert_line(const char *text, const char *line)
{
  if (!strstr(text, line))
    fail_msg("not '%s' in\n%s", line, text);
}

/* The plan of each way against what a run of it does. */
static void test_announced(void **state)
{
  (void)state;
  for (int way = 0; way < LONG_WAYS; ++way) {
    vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error err = VYRE_ERROR_INIT;
    on_fixture on;
    vyre_program *program = NULL;
    char *text = NULL, line[256];
    run_cost before, cost;
    uint64_t launches;
    open_way(&on, (long_way)way);
    program = create(&on, LONG_REACH, (long_way)way);
    options.route = long_route((long_way)way);
    take_stock(&on, NULL, &before);
    if (vyre_dispatch_explain(program, &options, reach_inputs, 3, &counting, &text, &err))
      fail_msg("%s", err.message);
    take_stock(&on, &before, &cost);
    assert_int_equal(cost.dispatches + cost.passes_calls + cost.allocs + cost.uploads, 0);
    snprintf(line, sizeof line, "takes %s, which was asked for",
             way == LONG_EMULATED ? "emulated" : vyre_route_name(options.route));
    assert_line(text, line);

    cost = run(&on, program, reach_inputs, (long_way)way, 0, &outputs);
    launches = cost.result.launches / cost.result.passes;
    if (way == LONG_NATIVE) {
      assert_int_equal(cost.result.launches, 1);
      assert_line(text, "native    1 launch in all, of ");
    } else if (way == LONG_EMULATED) {
      snprintf(line, sizeof line, "emulated  1 call of the plugin in all, %llu steps a pass",
               (unsigned long long)launches);
      assert_line(text, line);
    } else {
      snprintf(line, sizeof line, "%-9s %llu launches a pass%s", vyre_route_name(options.route),
               (unsigned long long)launches, way == LONG_LAUNCHES ? ", the test included" : "");
      assert_line(text, line);
    }
    if (way == LONG_HOST) { /* next has no bytes in the first pass */
      snprintf(line, sizeof line, "; a pass takes %llu bytes to segments and %llu back",
               (unsigned long long)(cost.host_bindings_bytes + (int64_t)BYTES) / cost.result.passes,
               (unsigned long long)cost.read_bytes / cost.result.passes);
    } else if (way != LONG_COMPARED) {
      const small_talk talk = small_talk_of((long_way)way, 2, cost.result.passes);
      snprintf(line, sizeof line, "; a dispatch takes %llu bytes up and %llu down",
               (unsigned long long)(cost.upload_bytes - talk.upload_bytes),
               (unsigned long long)(cost.download_bytes - talk.download_bytes));
    }
    assert_line(text, line);
    count_deallocate(&counted, text);
    vyre_outputs_reset(&outputs);
    vyre_program_destroy(program);
    close_way(&on);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_borrowed),
      cmocka_unit_test(test_host_traffic),
      cmocka_unit_test(test_promotions),
      cmocka_unit_test(test_steady_passes),
      cmocka_unit_test(test_steady_dispatches),
      cmocka_unit_test(test_device_traffic),
      cmocka_unit_test(test_compared_traffic),
      cmocka_unit_test(test_lent),
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_announced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
