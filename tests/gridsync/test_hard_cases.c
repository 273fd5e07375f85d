/*
 * Programs on the edge of the model, each on every route: who writes what, ranges, empty buffers,
 * many buffers, many segments.
 */
#include "tests/gridsync/hard.h"

#include <stdlib.h>

#define I "  const vyre_u64 i = vyre_global_id(c, 0);\n"
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char slots_source[] =
    "VYRE_SEGMENT(even)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
    "{\n" I
    "  if (i < vyre_count(c, out) && i % 2u == 0u) vyre_at(c, out, i) = 100u + (vyre_u32)i;\n"
    "}\n"
    "VYRE_SEGMENT(odd)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
    "{\n" I
    "  if (i < vyre_count(c, out) && i % 2u == 1u) vyre_at(c, out, i) = 200u + (vyre_u32)i;\n"
    "}\n";

/* Both segments' places survive, and the one that a third would write stays zero. */
static void disjoint_slots_of_two_segments(void **state)
{
  static const uint32_t want[] = {100, 201, 102, 203, 104, 205, 106};
  hard h;
  (void)state;
  hard_init(&h, slots_source);
  hard_buffer(&h, "out", VYRE_WRITE_ONLY, 4, COUNT_OF(want), NULL);
  hard_segment(&h, "even");
  hard_bind(&h, "out", VYRE_WRITE_ONLY);
  hard_segment(&h, "odd");
  hard_bind(&h, "out", VYRE_WRITE_ONLY);
  hard_want(&h, want, sizeof want);
  hard_check(&h, 1, VYRE_CONVERGED_NOT_TESTED);
  h.program.iterations = 9;
  hard_check(&h, 2, VYRE_CONVERGED_YES);
}

static const char twice_source[] = "VYRE_SEGMENT(more)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                                   "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) += 1u;\n"
                                   "}\n";

static void a_buffer_that_no_segment_touches(void **state)
{
  static const uint32_t a[] = {1, 2, 3}, more[] = {3, 4, 5}, zeros[2];
  static const unsigned char kept[] = {9, 8, 7, 6, 5};
  hard h;
  (void)state;
  hard_init(&h, twice_source);
  hard_buffer(&h, "kept", VYRE_READ_WRITE, 1, sizeof kept, kept);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 3, a);
  hard_buffer(&h, "absent", VYRE_READ_WRITE, 4, 2, NULL);
  hard_segment(&h, "more");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_segment(&h, "more"); /* the same segment twice */
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_want(&h, kept, sizeof kept);
  hard_want(&h, more, sizeof more);
  hard_want(&h, zeros, sizeof zeros);
  hard_check(&h, 1, VYRE_CONVERGED_NOT_TESTED);
}

static void an_output_that_nobody_writes(void **state)
{
  hard h;
  (void)state;
  hard_init(&h, twice_source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 3, NULL);
  hard_output(&h, "lonely", 4, 3);
  hard_segment(&h, "more");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_refused(&h, "'lonely'");
}

static void two_buffers_of_one_name(void **state)
{
  hard h;
  (void)state;
  hard_init(&h, twice_source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 3, NULL);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 3, NULL);
  hard_segment(&h, "more");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_refused(&h, "'a'");
}

static const char halves_source[] =
    "VYRE_SEGMENT(low)(vyre_ctx *c, VYRE_INOUT(vyre_u16) out)\n"
    "{\n" I "  if (i < vyre_count(c, out) / 2u) vyre_at(c, out, i) += 1u;\n"
    "}\n"
    "VYRE_SEGMENT(high)(vyre_ctx *c, VYRE_INOUT(vyre_u16) out)\n"
    "{\n" I "  if (i < vyre_count(c, out) && i >= vyre_count(c, out) / 2u)\n"
    "    vyre_at(c, out, i) += 10u;\n"
    "}\n"
    "VYRE_SEGMENT(low_once)(vyre_ctx *c, VYRE_OUT(vyre_u16) out)\n"
    "{\n" I "  if (i < vyre_count(c, out) / 2u) vyre_at(c, out, i) = 1u;\n"
    "}\n"
    "VYRE_SEGMENT(high_once)(vyre_ctx *c, VYRE_OUT(vyre_u16) out)\n"
    "{\n" I "  if (i < vyre_count(c, out) && i >= vyre_count(c, out) / 2u)\n"
    "    vyre_at(c, out, i) = 10u;\n"
    "}\n";

static void halves_of_an_output_over_passes(void **state)
{
  static const uint16_t three[] = {3, 3, 30, 30, 30}, once[] = {1, 1, 10, 10, 10};
  hard h;
  (void)state;
  for (uint32_t only = 0; only < 2; ++only) {
    const vyre_access access = only ? VYRE_WRITE_ONLY : VYRE_READ_WRITE;
    hard_init(&h, halves_source);
    hard_output(&h, "out", 2, 5);
    hard_segment(&h, only ? "low_once" : "low");
    hard_bind(&h, "out", access);
    hard_segment(&h, only ? "high_once" : "high");
    hard_bind(&h, "out", access);
    hard_want(&h, only ? once : three, sizeof three);
    h.program.iterations = 3;
    hard_check(&h, only ? 2 : 3, only ? VYRE_CONVERGED_YES : VYRE_CONVERGED_NO);
  }
}

static const char between_source[] =
    "VYRE_SEGMENT(make)(vyre_ctx *c, VYRE_IN(vyre_u32) in, VYRE_OUT(vyre_u64) middle)\n"
    "{\n" I "  if (i < vyre_count(c, middle)) vyre_at(c, middle, i) = 3u * vyre_at(c, in, i);\n"
    "}\n"
    "VYRE_SEGMENT(use)(vyre_ctx *c, VYRE_IN(vyre_u64) middle, VYRE_OUT(vyre_u32) out)\n"
    "{\n" I "  if (i < vyre_count(c, out))\n"
    "    vyre_at(c, out, i) = (vyre_u32)vyre_at(c, middle, vyre_count(c, out) - 1u - i);\n"
    "}\n";

static void write_only_first_then_read(void **state)
{
  static const uint32_t in[] = {1, 2, 3, 4}, out[] = {12, 9, 6, 3};
  static const uint64_t middle[] = {3, 6, 9, 12};
  hard h;
  (void)state;
  for (uint32_t flags = 0; flags <= VYRE_BINDING_WRITES_ALL; ++flags) {
    hard_init(&h, between_source);
    hard_buffer(&h, "in", VYRE_READ_ONLY, 4, 4, in)->open = true;
    hard_output(&h, "middle", 8, 4);
    hard_buffer(&h, "out", VYRE_WRITE_ONLY, 4, 4, NULL);
    hard_segment(&h, "make");
    hard_bind(&h, "in", VYRE_READ_ONLY);
    hard_bind(&h, "middle", VYRE_WRITE_ONLY)->flags = flags;
    hard_segment(&h, "use");
    hard_bind(&h, "middle", VYRE_READ_ONLY);
    hard_bind(&h, "out", VYRE_WRITE_ONLY);
    hard_want(&h, middle, sizeof middle);
    hard_want(&h, out, sizeof out);
    hard_check(&h, 1, VYRE_CONVERGED_NOT_TESTED);
  }
}

static const char ranges_source[] =
    "VYRE_SEGMENT(more)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) += 1u;\n"
    "  if (i < vyre_count(c, b)) vyre_at(c, b, i) += 2u;\n"
    "}\n"
    "VYRE_SEGMENT(sum)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_IN(vyre_u32) b,\n"
    "                  VYRE_OUT(vyre_u32) total)\n"
    "{\n" I "  if (i == 0u) {\n"
    "    vyre_u32 all = 0u;\n"
    "    for (vyre_u64 j = 0u; j < vyre_count(c, a); ++j) all += vyre_at(c, a, j);\n"
    "    for (vyre_u64 j = 0u; j < vyre_count(c, b); ++j) all += vyre_at(c, b, j);\n"
    "    vyre_at(c, total, 0) = all;\n"
    "  }\n"
    "}\n";

/* A range trims what the caller gets; the buffer is whole for every segment and pass. */
static void ranges_of_buffers_that_go_through(void **state)
{
  static const uint32_t a[] = {1, 2, 3, 4, 5}, first[] = {3}, total[] = {15 + 10 + 20};
  hard h;
  (void)state;
  hard_init(&h, ranges_source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 5, a);
  h.program.buffers[0].flags = VYRE_BUFFER_RANGE;
  h.program.buffers[0].range_size = 4;
  hard_output(&h, "b", 4, 5)->flags |= VYRE_BUFFER_RANGE; /* 0..0 */
  hard_buffer(&h, "total", VYRE_WRITE_ONLY, 4, 1, NULL);
  hard_segment(&h, "more");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_bind(&h, "b", VYRE_READ_WRITE);
  hard_segment(&h, "sum");
  hard_bind(&h, "a", VYRE_READ_ONLY);
  hard_bind(&h, "b", VYRE_READ_ONLY);
  hard_bind(&h, "total", VYRE_WRITE_ONLY);
  hard_want(&h, first, sizeof first);
  hard_want(&h, NULL, 0);
  hard_want(&h, total, sizeof total);
  h.program.iterations = 2;
  hard_check(&h, 2, VYRE_CONVERGED_NO);
  h.program.iterations = 1;
  h.want.outputs[0].data = (uint8_t *)&a[1]; /* 2 */
  h.want.outputs[2].data = (uint8_t *)&(uint32_t){15 + 5 + 10};
  hard_check(&h, 1, VYRE_CONVERGED_NOT_TESTED);
}

static void buffers_of_no_length(void **state)
{
  static const uint32_t some[] = {4, 5}, more[] = {6, 7}, total[] = {13}, none[1];
  hard h;
  (void)state;
  /* All of them: there is no launch, and the first pass changes nothing. */
  for (uint32_t open = 0; open < 2; ++open) {
    hard_init(&h, twice_source);
    hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 0, open ? none : NULL)->open = open;
    hard_segment(&h, "more");
    hard_bind(&h, "a", VYRE_READ_WRITE);
    hard_segment(&h, "more");
    hard_bind(&h, "a", VYRE_READ_WRITE);
    hard_want(&h, NULL, 0);
    hard_check(&h, 1, VYRE_CONVERGED_NOT_TESTED);
    h.program.iterations = 5;
    hard_check(&h, 1, VYRE_CONVERGED_YES);
    h.program.segment_count = 1;
    hard_check(&h, 1, VYRE_CONVERGED_YES);
  }
  /* One among others. */
  hard_init(&h, ranges_source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 0, none)->open = true;
  hard_buffer(&h, "b", VYRE_READ_WRITE, 4, 2, some);
  hard_buffer(&h, "total", VYRE_WRITE_ONLY, 4, 1, NULL);
  hard_segment(&h, "more");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_bind(&h, "b", VYRE_READ_WRITE);
  hard_segment(&h, "sum");
  hard_bind(&h, "a", VYRE_READ_ONLY);
  hard_bind(&h, "b", VYRE_READ_ONLY);
  hard_bind(&h, "total", VYRE_WRITE_ONLY);
  hard_want(&h, NULL, 0);
  hard_want(&h, more, sizeof more);
  hard_want(&h, total, sizeof total);
  hard_check(&h, 1, VYRE_CONVERGED_NOT_TESTED);
}

static const char gather_source[] =
    "VYRE_SEGMENT(shift)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a))\n"
    "    vyre_at(c, b, i) = vyre_at(c, a, (i + 1u) % vyre_count(c, a));\n"
    "}\n"
    "VYRE_SEGMENT(back)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a, VYRE_IN(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = vyre_at(c, b, i) + 1u;\n"
    "}\n";

/* Sizes grow and shrink from dispatch to dispatch of one program. */
static void other_sizes_on_one_program(void **state)
{
  enum { MOST = 4099 };
  static const uint32_t sizes[] = {4099, 1, 0, 65, 4098, 2, 4099, 64, 0, 4099};
  static uint32_t a[MOST], want[MOST], spare[MOST], want_spare[MOST];
  vyre_program *programs[HARD_RIGS];
  char text[RIG_TEXT];
  hard h;
  (void)state;
  hard_init(&h, gather_source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 0, a)->open = true;
  hard_buffer(&h, "b", VYRE_READ_WRITE, 4, 0, spare)->open = true;
  hard_segment(&h, "shift");
  hard_bind(&h, "a", VYRE_READ_ONLY);
  hard_bind(&h, "b", VYRE_WRITE_ONLY);
  hard_segment(&h, "back");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_bind(&h, "b", VYRE_READ_ONLY);
  hard_want(&h, want, 0);
  hard_want(&h, want_spare, 0);
  h.program.iterations = 3;
  h.program.converge = VYRE_CONVERGE_OFF;
  h.want.passes = 3;
  for (uint32_t i = 0; i < HARD_RIGS; ++i)
    programs[i] = hard_create(&hard_rigs[i], &h);
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s) {
    const uint32_t n = sizes[s];
    for (uint32_t i = 0; i < n; ++i) {
      a[i] = i * 3 + s;
      want[i] = (i + 3) % n * 3 + s + 3;
      want_spare[i] = want[i] - 1;
    }
    h.program.buffers[0].count = h.program.buffers[1].count = n;
    h.want.outputs[0].size = h.want.outputs[1].size = n * 4;
    for (uint32_t i = 0; i < HARD_RIGS; ++i)
      for (vyre_route route = 0; route < RIG_ROUTES; ++route)
        if (!rig_dispatch(&hard_rigs[i], programs[i], &h.program, route, &h.want, text))
          fail_msg("%u elements, route %s: %s", n, vyre_route_name(route), text);
  }
  for (uint32_t i = 0; i < HARD_RIGS; ++i)
    vyre_program_destroy(programs[i]);
}

/* Sixty-four buffers, all of them parameters of one segment, and four segments that share them. */
static void sixty_four_buffers(void **state)
{
  static char names[VYRE_MAX_BUFFERS][8];
  static uint32_t values[VYRE_MAX_BUFFERS], want[VYRE_MAX_BUFFERS];
  char *source = NULL;
  size_t size = 0;
  (void)state;
  for (uint32_t i = 0; i < VYRE_MAX_BUFFERS; ++i)
    snprintf(names[i], sizeof names[i], "n%u", i);
  for (vyre_converge kind = VYRE_CONVERGE_EXACT; kind <= VYRE_CONVERGE_OFF; ++kind) {
    FILE *to = open_memstream(&source, &size);
    hard h;
    assert_non_null(to);
    fprintf(to, "VYRE_SEGMENT(all)(vyre_ctx *c");
    for (uint32_t i = 0; i < VYRE_MAX_BUFFERS; ++i)
      fprintf(to, ", VYRE_%s(vyre_u32) n%u", i ? "INOUT" : "IN", i);
    fprintf(to, ")\n{\n" I "  if (i) return;\n");
    for (uint32_t i = 1; i < VYRE_MAX_BUFFERS; ++i)
      fprintf(to, "  vyre_at(c, n%u, 0) = vyre_at(c, n%u, 0) / 2u + vyre_at(c, n0, 0);\n", i, i);
    fprintf(to, "  vyre_changed(c);\n}\n");
    fclose(to);
    hard_init(&h, source);
    for (uint32_t i = 0; i < VYRE_MAX_BUFFERS; ++i) {
      values[i] = 1000 * i + 8;
      want[i] = i ? (values[i] / 2 + 8) / 2 + 8 : 8;
      hard_buffer(&h, names[i], i ? VYRE_READ_WRITE : VYRE_READ_ONLY, 4, 1, &values[i]);
    }
    hard_segment(&h, "all");
    for (uint32_t i = 0; i < VYRE_MAX_BUFFERS; ++i) {
      hard_bind(&h, names[i], i ? VYRE_READ_WRITE : VYRE_READ_ONLY);
      if (i)
        hard_want(&h, &want[i], 4);
    }
    h.program.iterations = 2;
    h.program.converge = kind;
    hard_check(&h, 2, kind == VYRE_CONVERGE_OFF ? VYRE_CONVERGED_NOT_TESTED : VYRE_CONVERGED_NO);
    free(source);
  }
}

/* The order of forty segments can be told from the result. */
static void forty_segments(void **state)
{
  enum { SEGMENTS = 40 };
  static char names[SEGMENTS][8];
  static const uint32_t given[] = {0, 1, 77};
  uint32_t want[] = {0, 1, 77};
  char *source = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&source, &size);
  hard h;
  (void)state;
  assert_non_null(to);
  for (uint32_t s = 0; s < SEGMENTS; ++s) {
    snprintf(names[s], sizeof names[s], "s%u", s);
    fprintf(to,
            "VYRE_SEGMENT(s%u)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
            "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = vyre_at(c, a, i) * 3u + %uu;\n"
            "}\n",
            s, s);
  }
  fclose(to);
  hard_init(&h, source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 3, given);
  for (uint32_t s = 0; s < SEGMENTS; ++s) {
    hard_segment(&h, names[s]);
    hard_bind(&h, "a", VYRE_READ_WRITE);
  }
  for (uint32_t pass = 0; pass < 3; ++pass)
    for (uint32_t s = 0; s < SEGMENTS; ++s)
      for (uint32_t i = 0; i < 3; ++i)
        want[i] = want[i] * 3 + s;
  hard_want(&h, want, sizeof want);
  h.program.iterations = 3;
  hard_check(&h, 3, VYRE_CONVERGED_NO);
  free(source);
}

static const char add_source[] =
    "VYRE_SEGMENT(first)(vyre_ctx *c, VYRE_IN(vyre_u32) in, VYRE_INOUT(vyre_u32) sum)\n"
    "{\n" I "  if (i < vyre_count(c, sum)) vyre_at(c, sum, i) += vyre_at(c, in, i);\n"
    "}\n"
    "VYRE_SEGMENT(second)(vyre_ctx *c, VYRE_INOUT(vyre_u32) sum, VYRE_OUT(vyre_u32) last)\n"
    "{\n" I "  if (i < vyre_count(c, sum)) vyre_at(c, sum, i) += 1u;\n"
    "  if (i == 1u && i < vyre_count(c, last)) vyre_at(c, last, i) = vyre_at(c, sum, i);\n"
    "}\n";

/* The caller's buffers are state 0, outputs too: they go on where the last dispatch ended. */
static void device_buffers_go_on(void **state)
{
  static const uint32_t in[] = {10, 20, 30}, before[] = {1, 2, 3}, last[] = {7, 7, 7};
  static const vyre_route routes[] = {VYRE_ROUTE_NATIVE, VYRE_ROUTE_RESIDENT, VYRE_ROUTE_AUTO};
  hard h;
  (void)state;
  hard_init(&h, add_source);
  hard_buffer(&h, "in", VYRE_READ_ONLY, 4, 3, in);
  hard_output(&h, "sum", 4, 3);
  hard_buffer(&h, "last", VYRE_WRITE_ONLY, 4, 3, NULL);
  hard_segment(&h, "first");
  hard_bind(&h, "in", VYRE_READ_ONLY);
  hard_bind(&h, "sum", VYRE_READ_WRITE);
  hard_segment(&h, "second");
  hard_bind(&h, "sum", VYRE_READ_WRITE);
  hard_bind(&h, "last", VYRE_WRITE_ONLY);
  h.program.iterations = 2;
  for (uint32_t r = 0; r < HARD_RIGS; ++r) {
    vyre_program *program = hard_create(&hard_rigs[r], &h);
    vyre_device *device = hard_rigs[r].device;
    vyre_buffer *buffers[3];
    uint32_t sum[3], got[3], passes = 0;
    for (uint32_t b = 0; b < 3; ++b)
      assert_int_equal(vyre_buffer_create(device, 12, &buffers[b], NULL), VYRE_OK);
    assert_int_equal(vyre_buffer_upload(buffers[0], 0, in, 12, NULL), VYRE_OK);
    assert_int_equal(vyre_buffer_upload(buffers[1], 0, before, 12, NULL), VYRE_OK);
    assert_int_equal(vyre_buffer_upload(buffers[2], 0, last, 12, NULL), VYRE_OK);
    for (uint32_t n = 0; n < 9; ++n) {
      vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
      vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
      vyre_error err = VYRE_ERROR_INIT;
      options.route = routes[n % 3];
      if (vyre_dispatch_buffers(program, &options, buffers, 3, &result, &err))
        fail_msg("%s (%s)", err.message, err.fix);
      passes += result.passes;
      assert_int_equal(result.passes, 2);
      assert_int_equal(result.converged, VYRE_CONVERGED_NO);
      assert_int_equal(vyre_buffer_download(buffers[1], 0, sum, 12, NULL), VYRE_OK);
      assert_int_equal(vyre_buffer_download(buffers[2], 0, got, 12, NULL), VYRE_OK);
      for (uint32_t i = 0; i < 3; ++i)
        assert_int_equal(sum[i], before[i] + passes * (in[i] + 1));
      assert_int_equal(got[0], 7);
      assert_int_equal(got[1], sum[1]);
      assert_int_equal(got[2], 7);
    }
    for (uint32_t b = 0; b < 3; ++b)
      vyre_buffer_destroy(buffers[b]);
    vyre_program_destroy(program);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(disjoint_slots_of_two_segments),
      cmocka_unit_test(a_buffer_that_no_segment_touches),
      cmocka_unit_test(an_output_that_nobody_writes),
      cmocka_unit_test(two_buffers_of_one_name),
      cmocka_unit_test(halves_of_an_output_over_passes),
      cmocka_unit_test(write_only_first_then_read),
      cmocka_unit_test(ranges_of_buffers_that_go_through),
      cmocka_unit_test(buffers_of_no_length),
      cmocka_unit_test(other_sizes_on_one_program),
      cmocka_unit_test(sixty_four_buffers),
      cmocka_unit_test(forty_segments),
      cmocka_unit_test(device_buffers_go_on),
  };
  return cmocka_run_group_tests(tests, hard_open, hard_close);
}
