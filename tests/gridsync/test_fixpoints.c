/*
 * The end of a run, on every route: which pass confirms, what a budget does, and states that look
 * alike.
 */
#include "tests/gridsync/hard.h"

#define I "  const vyre_u64 i = vyre_global_id(c, 0);\n"

/* Counts up to a limit. */
static const char up_source[] = "typedef struct constants { vyre_u32 limit; } constants;\n"
                                "VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                                "{\n" I "  const vyre_u32 limit = vyre_push(c, constants)->limit;\n"
                                "  if (i < vyre_count(c, a) && vyre_at(c, a, i) < limit) {\n"
                                "    vyre_at(c, a, i) += 1u;\n"
                                "    vyre_changed(c);\n"
                                "  }\n"
                                "}\n";
static const char copy_source[] =
    "VYRE_SEGMENT(copy)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)\n"
    "{\n" I "  if (i < vyre_count(c, b)) vyre_at(c, b, i) = vyre_at(c, a, i);\n"
    "}\n";

static uint32_t least(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

/* The first confirming pass is k; the program was created with the budget, or with a large one. */
static void one_budget(uint32_t k, uint32_t budget, bool two, vyre_converge kind)
{
  static const uint32_t zeros[70];
  uint32_t want[70], limit = k - 1;
  char source[1024];
  hard h;
  snprintf(source, sizeof source, "%s%s", up_source, two ? copy_source : "");
  hard_init(&h, source);
  hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 70, zeros)->open = true;
  hard_segment(&h, "up");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_want(&h, want, sizeof want);
  if (two) {
    hard_buffer(&h, "b", VYRE_WRITE_ONLY, 4, 70, NULL);
    hard_segment(&h, "copy");
    hard_bind(&h, "a", VYRE_READ_ONLY);
    hard_bind(&h, "b", VYRE_WRITE_ONLY);
    hard_want(&h, want, sizeof want);
  }
  for (uint32_t i = 0; i < 70; ++i)
    want[i] = least(limit, budget);
  h.program.converge = kind;
  h.program.push = &limit;
  h.program.push_size = sizeof limit;
  h.program.iterations = budget;
  h.program.created_iterations = k % 2 ? 100 : budget;
  hard_check(&h, least(k, budget),
             budget == 1   ? VYRE_CONVERGED_NOT_TESTED
             : budget >= k ? VYRE_CONVERGED_YES
                           : VYRE_CONVERGED_NO);
}

static void the_first_confirming_pass(void **state)
{
  (void)state;
  for (vyre_converge kind = VYRE_CONVERGE_EXACT; kind <= VYRE_CONVERGE_DECLARED; ++kind)
    for (uint32_t two = 0; two < 2; ++two) {
      one_budget(1, 1, two, kind);
      one_budget(1, 2, two, kind);
      for (uint32_t k = 2; k <= 6; ++k) {
        one_budget(k, k - 1, two, kind);
        one_budget(k, k, two, kind);
        one_budget(k, k + 1, two, kind);
        one_budget(k, 100, two, kind);
      }
    }
}

/* ---- states that look alike ---- */

#define A1 0x9119e5759d608b20u
#define B1 0xea1c82344b38248au
#define A2 0xf20ba5d1a572cee2u
#define B2 0x446afcda523c7899u

static const char crafted_source[] =
    "VYRE_SEGMENT(step)(vyre_ctx *c, VYRE_INOUT(vyre_u64) a, VYRE_INOUT(vyre_u64) b)\n"
    "{\n" I "  if (i) return;\n"
    "  if (vyre_at(c, a, 0) == 0u) {\n"
    "    vyre_at(c, a, 0) = 0x9119e5759d608b20u;\n"
    "    vyre_at(c, b, 0) = 0xea1c82344b38248au;\n"
    "  } else if (vyre_at(c, a, 0) == 0x9119e5759d608b20u) {\n"
    "    vyre_at(c, a, 0) = 0xf20ba5d1a572cee2u;\n"
    "    vyre_at(c, b, 0) = 0x446afcda523c7899u;\n"
    "  }\n"
    "}\n"
    "VYRE_SEGMENT(rest)(vyre_ctx *c, VYRE_INOUT(vyre_u64) b, VYRE_INOUT(vyre_u64) a)\n"
    "{\n"
    "  (void)c;\n"
    "}\n";

/* Two states that the fingerprint cannot tell apart: no run stops between them. */
static void states_of_one_fingerprint(void **state)
{
  static const uint64_t a1 = A1, b1 = B1, a2 = A2, b2 = B2;
  static const char *const names[] = {"a", "b"};
  const vyre_bytes first[] = {{&a1, 8}, {&b1, 8}}, second[] = {{&a2, 8}, {&b2, 8}};
  (void)state;
  assert_true(vyre_fingerprint(names, first, 2) == vyre_fingerprint(names, second, 2));
  for (uint32_t two = 0; two < 2; ++two) {
    hard h;
    hard_init(&h, crafted_source);
    hard_output(&h, "a", 8, 1);
    hard_output(&h, "b", 8, 1);
    hard_segment(&h, "step");
    hard_bind(&h, "a", VYRE_READ_WRITE);
    hard_bind(&h, "b", VYRE_READ_WRITE);
    if (two) { /* each buffer has two writers */
      hard_segment(&h, "rest");
      hard_bind(&h, "b", VYRE_READ_WRITE);
      hard_bind(&h, "a", VYRE_READ_WRITE);
    }
    hard_want(&h, &a2, 8);
    hard_want(&h, &b2, 8);
    h.program.iterations = 10;
    hard_check(&h, 3, VYRE_CONVERGED_YES);
    h.program.iterations = 2;
    hard_check(&h, 2, VYRE_CONVERGED_NO);
  }
}

static const char bits_source[] =
    "typedef struct constants { vyre_u32 from, to; } constants;\n"
    "VYRE_SEGMENT(flip)(vyre_ctx *c, VYRE_INOUT(vyre_f32) x)\n"
    "{\n" I "  VYRE_GLOBAL vyre_u32 *bits = (VYRE_GLOBAL vyre_u32 *)x;\n"
    "  if (i < vyre_count(c, x) && bits[i] == vyre_push(c, constants)->from)\n"
    "    bits[i] = vyre_push(c, constants)->to;\n"
    "}\n";

/* One bit of a NaN's payload, the sign of a zero, the last byte of many: bytes count, not values.
 */
static void bits_that_floats_do_not_see(void **state)
{
  static const uint32_t pairs[][2] = {
      {0x7fc00001u, 0x7fc00003u}, {0x00000000u, 0x80000000u}, {0x7f800001u, 0x7fc00001u}};
  (void)state;
  for (uint32_t p = 0; p < 3; ++p)
    for (uint32_t n = 1; n <= 4099; n = n * 5 + 1) {
      static uint32_t given[4099], want[4099];
      hard h;
      for (uint32_t i = 0; i < n; ++i)
        given[i] = want[i] = i + 1 == n ? pairs[p][0] : 0x7fc0000fu;
      want[n - 1] = pairs[p][1];
      hard_init(&h, bits_source);
      hard_buffer(&h, "x", VYRE_READ_WRITE, 4, n, given)->open = true;
      hard_segment(&h, "flip");
      hard_bind(&h, "x", VYRE_READ_WRITE);
      hard_want(&h, want, n * 4);
      h.program.push = pairs[p];
      h.program.push_size = 8;
      h.program.iterations = 7;
      hard_check(&h, 2, VYRE_CONVERGED_YES);
      h.program.buffers[0].given = want;
      hard_check(&h, 1, VYRE_CONVERGED_YES);
    }
}

static const char byte_source[] =
    "typedef struct constants { vyre_u32 at; } constants;\n"
    "VYRE_SEGMENT(once)(vyre_ctx *c, VYRE_INOUT(vyre_u8) x)\n"
    "{\n" I "  if (i == vyre_push(c, constants)->at) vyre_at(c, x, i) = 1u;\n"
    "}\n";

/* A change of one byte, wherever in the buffer it is, and however long the buffer is. */
static void a_change_of_one_byte(void **state)
{
  static const uint32_t sizes[] = {1, 7, 8, 9, 511, 512, 513, 519, 4099};
  (void)state;
  for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
    const uint32_t n = sizes[s], places[] = {0, n / 2, n - 1};
    for (uint32_t p = 0; p < 3; ++p) {
      static uint8_t given[4099], want[4099];
      hard h;
      memset(want, 0, n);
      want[places[p]] = 1;
      hard_init(&h, byte_source);
      hard_buffer(&h, "x", VYRE_READ_WRITE, 1, n, given)->open = true;
      hard_segment(&h, "once");
      hard_bind(&h, "x", VYRE_READ_WRITE);
      hard_want(&h, want, n);
      h.program.push = &places[p];
      h.program.push_size = 4;
      h.program.iterations = 3;
      hard_check(&h, 2, VYRE_CONVERGED_YES);
    }
  }
}

/* ---- within a pass, and for ever ---- */

static const char constants_source[] =
    "VYRE_SEGMENT(zero)(vyre_ctx *c, VYRE_OUT(vyre_u32) a)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = 0u;\n"
    "  vyre_changed(c);\n"
    "}\n"
    "VYRE_SEGMENT(one)(vyre_ctx *c, VYRE_OUT(vyre_u32) a)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) = 1u;\n"
    "  vyre_changed(c);\n"
    "}\n"
    "VYRE_SEGMENT(toggle)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
    "{\n" I "  if (i < vyre_count(c, a)) vyre_at(c, a, i) ^= 1u;\n"
    "}\n"
    "VYRE_SEGMENT(say)(vyre_ctx *c, VYRE_IN(vyre_u32) a)\n"
    "{\n" I "  if (i == vyre_count(c, a) - 1u) vyre_changed(c);\n"
    "}\n";

static void constant(hard *h, const void *given, vyre_converge kind, uint32_t iterations)
{
  hard_init(h, constants_source);
  hard_buffer(h, "a", VYRE_READ_WRITE, 4, 3, given);
  h->program.converge = kind;
  h->program.iterations = iterations;
}

/* 0, then 1, in each pass: the bytes between segments are nobody's business. */
static void zero_then_one_in_each_pass(void **state)
{
  static const uint32_t zeros[3], ones[3] = {1, 1, 1};
  hard h;
  (void)state;
  for (uint32_t i = 0; i < 2; ++i) {
    constant(&h, i ? ones : zeros, VYRE_CONVERGE_EXACT, 20);
    hard_segment(&h, "zero");
    hard_bind(&h, "a", VYRE_WRITE_ONLY);
    hard_segment(&h, "one");
    hard_bind(&h, "a", VYRE_WRITE_ONLY);
    hard_want(&h, ones, sizeof ones);
    hard_check(&h, i ? 1 : 2, VYRE_CONVERGED_YES);
    h.program.converge = VYRE_CONVERGE_DECLARED; /* both say that they have changed something */
    hard_check(&h, 20, VYRE_CONVERGED_NO);
    h.program.converge = VYRE_CONVERGE_OFF;
    hard_check(&h, 20, VYRE_CONVERGED_NOT_TESTED);
  }
}

static void a_run_that_never_converges(void **state)
{
  static const uint32_t given[3] = {4, 5, 6}, odd[3] = {5, 4, 7};
  hard h;
  (void)state;
  constant(&h, given, VYRE_CONVERGE_EXACT, 100);
  hard_segment(&h, "toggle");
  hard_bind(&h, "a", VYRE_READ_WRITE);
  hard_want(&h, given, sizeof given);
  hard_check(&h, 100, VYRE_CONVERGED_NO);
  h.program.iterations = 3;
  h.want.outputs[0].data = (uint8_t *)odd;
  hard_check(&h, 3, VYRE_CONVERGED_NO);
  h.program.converge = VYRE_CONVERGE_OFF;
  hard_check(&h, 3, VYRE_CONVERGED_NOT_TESTED);
  h.program.converge = VYRE_CONVERGE_DECLARED; /* which nobody says */
  hard_check(&h, 1, VYRE_CONVERGED_YES);
  /* Twice in a pass is back where it was. */
  constant(&h, given, VYRE_CONVERGE_EXACT, 100);
  for (uint32_t i = 0; i < 2; ++i) {
    hard_segment(&h, "toggle");
    hard_bind(&h, "a", VYRE_READ_WRITE);
  }
  hard_want(&h, given, sizeof given);
  hard_check(&h, 1, VYRE_CONVERGED_YES);
}

/* The author's word counts, in whichever segment; nothing else does. */
static void the_word_of_the_author(void **state)
{
  static const uint32_t given[3] = {4, 5, 6};
  hard h;
  (void)state;
  for (uint32_t first = 0; first < 2; ++first) {
    constant(&h, given, VYRE_CONVERGE_DECLARED, 6);
    for (uint32_t i = 0; i < 2; ++i)
      if (i == first) {
        hard_segment(&h, "say");
        hard_bind(&h, "a", VYRE_READ_ONLY);
      } else {
        hard_segment(&h, "toggle");
        hard_bind(&h, "a", VYRE_READ_WRITE);
      }
    hard_want(&h, given, sizeof given);
    hard_check(&h, 6, VYRE_CONVERGED_NO);
    h.program.converge = VYRE_CONVERGE_EXACT;
    hard_check(&h, 6, VYRE_CONVERGED_NO);
    h.program.segments[0] = h.program.segments[first]; /* only say() */
    h.program.segment_count = 1;
    hard_check(&h, 1, VYRE_CONVERGED_YES);
    h.program.converge = VYRE_CONVERGE_DECLARED;
    hard_check(&h, 6, VYRE_CONVERGED_NO);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_confirming_pass),   cmocka_unit_test(states_of_one_fingerprint),
      cmocka_unit_test(bits_that_floats_do_not_see), cmocka_unit_test(a_change_of_one_byte),
      cmocka_unit_test(zero_then_one_in_each_pass),  cmocka_unit_test(a_run_that_never_converges),
      cmocka_unit_test(the_word_of_the_author),
  };
  return cmocka_run_group_tests(tests, hard_open, hard_close);
}
