/*
 * long_programs.h - programs of several segments and passes for the fixture plugin, the ways in
 * which they can run, and what came out.
 *
 * Each program has a kernel for each segment, a convergence test and a fused form (unless it is
 * taken away), so that it can run in every way.
 */
#ifndef VYRE_TESTS_DISPATCH_LONG_PROGRAMS_H
#define VYRE_TESTS_DISPATCH_LONG_PROGRAMS_H

#include "tests/dispatch/on_fixture.h"
#include "vyre_backend.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LONG_WORDS 41u /* no multiple of 16 bytes */
#define LONG_BYTES (LONG_WORDS * 4u)
#define LONG_OUTPUTS 4u

/* ---- programs ---- */

typedef enum long_kind {
  LONG_REACH,  /* edges, seen (both), next, kept (both, untouched): a bit a pass, then a fixpoint */
  LONG_HALVES, /* out: two segments, half of it each; grows for ever */
  LONG_SATURATE, /* numbers (both): one segment; pass 6 confirms */
  LONG_FLIP,     /* numbers (both): never a fixpoint */
  LONG_BLINK,    /* out: 0, then 1, in each pass: pass 2 confirms */
  LONG_DECLARED, /* numbers (both), out: says vyre_changed() up to 5 */
  LONG_OFF,      /* numbers (both): a fixpoint that nobody looks for */
  LONG_WRITTEN,  /* numbers, first, second: what one segment writes whole, the next one reads */
  LONG_PAIR,     /* left, right: a segment writes both, the next one of them again */
  LONG_KINDS
} long_kind;

#define LONG_NO_SETTLE 1u /* the code has no convergence test */
#define LONG_NO_FUSED 2u  /* and no fused form */

typedef struct long_program {
  sample s;
  char text[512];
  uint32_t input_count;
} long_program;

static const char *const long_names[] = {"reach",    "halves", "saturate", "flip", "blink",
                                         "declared", "off",    "written",  "pair"};

static inline void long_code(long_program *of, const char *segments, const char *settle,
                             const char *fused, uint32_t flags)
{
  snprintf(of->text, sizeof of->text, "%s%s%s%s%s", segments,
           settle && !(flags & LONG_NO_SETTLE) ? "vyre_settle\n" : "",
           flags & (LONG_NO_FUSED | LONG_NO_SETTLE) ? "" : fused,
           settle && !(flags & (LONG_NO_FUSED | LONG_NO_SETTLE)) ? settle : "",
           flags & (LONG_NO_FUSED | LONG_NO_SETTLE) ? "" : "\n");
  sample_code(&of->s, "fixture", of->text);
}

static inline void long_reach(long_program *of, uint32_t flags)
{
  sample *s = &of->s;
  sample_buffer(s, "edges", VYRE_READ_ONLY, 4, LONG_WORDS);
  sample_buffer(s, "seen", VYRE_READ_WRITE, 4, LONG_WORDS);
  sample_buffer(s, "next", VYRE_READ_WRITE, 4, LONG_WORDS)->flags = VYRE_BUFFER_OUTPUT;
  sample_buffer(s, "kept", VYRE_READ_WRITE, 4, LONG_WORDS);
  sample_segment(s, "spread");
  sample_bind(s, 0, "seen", VYRE_READ_ONLY);
  sample_bind(s, 0, "edges", VYRE_READ_ONLY);
  sample_bind(s, 0, "next", VYRE_READ_WRITE);
  sample_segment(s, "join");
  sample_bind(s, 1, "next", VYRE_READ_ONLY);
  sample_bind(s, 1, "seen", VYRE_READ_WRITE);
  of->input_count = 3;
  long_code(of, "spread=or_shift\njoin=or\n", " vyre_settle:1.2.3.4",
            "vyre_fused=fused spread:1.0.2 join:2.1", flags);
}

static inline void long_halves(long_program *of, uint32_t flags)
{
  sample *s = &of->s;
  sample_buffer(s, "out", VYRE_READ_WRITE, 4, LONG_WORDS)->flags = VYRE_BUFFER_OUTPUT;
  sample_segment(s, "low");
  sample_bind(s, 0, "out", VYRE_READ_WRITE);
  sample_segment(s, "high");
  sample_bind(s, 1, "out", VYRE_WRITE_ONLY);
  long_code(of, "low=add_low(1)\nhigh=add_high(3)\n", " vyre_settle:0.1.2",
            "vyre_fused=fused low:0 high:0", flags);
}

static inline void long_numbers(long_program *of, const char *segment, const char *segments,
                                const char *settle, const char *fused, uint32_t flags)
{
  sample_buffer(&of->s, "numbers", VYRE_READ_WRITE, 4, VYRE_COUNT_FROM_INPUT);
  sample_segment(&of->s, segment);
  sample_bind(&of->s, 0, "numbers", VYRE_READ_WRITE);
  of->input_count = 1;
  long_code(of, segments, settle, fused, flags);
}

static inline void long_blink(long_program *of, uint32_t flags)
{
  sample *s = &of->s;
  sample_buffer(s, "out", VYRE_READ_WRITE, 4, LONG_WORDS)->flags = VYRE_BUFFER_OUTPUT;
  sample_segment(s, "off");
  sample_bind(s, 0, "out", VYRE_READ_WRITE);
  sample_segment(s, "on");
  sample_bind(s, 1, "out", VYRE_READ_WRITE);
  long_code(of, "off=set(0)\non=set(1)\n", " vyre_settle:0.1.2", "vyre_fused=fused off:0 on:0",
            flags);
}

static inline void long_declared(long_program *of, uint32_t flags)
{
  sample *s = &of->s;
  s->desc.converge = VYRE_CONVERGE_DECLARED;
  sample_buffer(s, "numbers", VYRE_READ_WRITE, 4, LONG_WORDS);
  sample_buffer(s, "out", VYRE_WRITE_ONLY, 4, LONG_WORDS);
  sample_segment(s, "count");
  sample_bind(s, 0, "numbers", VYRE_READ_WRITE);
  sample_segment(s, "show");
  sample_bind(s, 1, "numbers", VYRE_READ_ONLY);
  sample_bind(s, 1, "out", VYRE_WRITE_ONLY);
  of->input_count = 1;
  /* The last binding of both are the control words; what "show" does to them would count. */
  long_code(of, "count=declared(5)\nshow=nothing\n", NULL, "vyre_fused=fused count:0.2 show:0.1.2",
            flags);
}

static inline void long_written(long_program *of, uint32_t flags)
{
  sample *s = &of->s;
  sample_buffer(s, "numbers", VYRE_READ_ONLY, 4, LONG_WORDS);
  sample_buffer(s, "first", VYRE_READ_WRITE, 4, LONG_WORDS)->flags = VYRE_BUFFER_OUTPUT;
  sample_buffer(s, "second", VYRE_WRITE_ONLY, 4, LONG_WORDS);
  sample_segment(s, "one");
  sample_bind(s, 0, "numbers", VYRE_READ_ONLY);
  sample_bind(s, 0, "first", VYRE_WRITE_ONLY)->flags = VYRE_BINDING_WRITES_ALL;
  sample_segment(s, "two");
  sample_bind(s, 1, "first", VYRE_READ_ONLY);
  sample_bind(s, 1, "second", VYRE_WRITE_ONLY);
  of->input_count = 1;
  long_code(of, "one=copy\ntwo=or_shift\n", " vyre_settle:1.2.3.4",
            "vyre_fused=fused one:0.1 two:1.2", flags);
}

static inline void long_pair(long_program *of, uint32_t flags)
{
  sample *s = &of->s;
  sample_buffer(s, "left", VYRE_READ_WRITE, 4, LONG_WORDS)->flags = VYRE_BUFFER_OUTPUT;
  sample_buffer(s, "right", VYRE_READ_WRITE, 4, LONG_WORDS)->flags = VYRE_BUFFER_OUTPUT;
  sample_segment(s, "both");
  sample_bind(s, 0, "left", VYRE_READ_WRITE);
  sample_bind(s, 0, "right", VYRE_READ_WRITE);
  sample_segment(s, "again");
  sample_bind(s, 1, "right", VYRE_READ_WRITE);
  long_code(of, "both=saturate(4)\nagain=saturate(7)\n", " vyre_settle:0.1.2.3",
            "vyre_fused=fused both:0.1 again:1", flags);
}

/* The description; it may be changed before the program is made. */
static inline void long_describe(long_program *of, long_kind kind, uint32_t flags)
{
  memset(of, 0, sizeof *of);
  sample_empty(&of->s);
  of->s.desc.name = long_names[kind];
  of->s.desc.iterations = 10;
  switch (kind) {
  case LONG_REACH:
    long_reach(of, flags);
    break;
  case LONG_HALVES:
    of->s.desc.iterations = 4;
    long_halves(of, flags);
    break;
  case LONG_SATURATE:
    long_numbers(of, "rise", "rise=saturate(5)\n", " vyre_settle:0.1.2", "vyre_fused=fused rise:0",
                 flags);
    break;
  case LONG_FLIP:
    long_numbers(of, "flip", "flip\n", " vyre_settle:0.1.2", "vyre_fused=fused flip:0", flags);
    break;
  case LONG_BLINK:
    long_blink(of, flags);
    break;
  case LONG_DECLARED:
    long_declared(of, flags);
    break;
  case LONG_OFF:
    of->s.desc.converge = VYRE_CONVERGE_OFF;
    long_numbers(of, "rise", "rise=saturate(3)\n", NULL, "vyre_fused=fused rise:0", flags);
    break;
  case LONG_PAIR:
    long_pair(of, flags);
    break;
  default:
    long_written(of, flags);
  }
}

/* What every kind is given; the same each time. */
static inline const vyre_bytes *long_inputs(long_kind kind)
{
  static uint32_t edges[LONG_WORDS], seen[LONG_WORDS], kept[LONG_WORDS], numbers[LONG_WORDS];
  static const vyre_bytes reach[] = {{edges, LONG_BYTES}, {seen, LONG_BYTES}, {kept, LONG_BYTES}};
  static const vyre_bytes one[] = {{numbers, LONG_BYTES}};
  for (uint32_t i = 0; i < LONG_WORDS; ++i) {
    edges[i] = i * 3;
    seen[i] = 1u << (27 + i % 4);
    kept[i] = 1000 + i;
    numbers[i] = i % 3;
  }
  return kind == LONG_REACH ? reach : one;
}

/* ---- ways ---- */

typedef enum long_way {
  LONG_HOST,
  LONG_LAUNCHES, /* resident, one launch a segment, tested by a kernel */
  LONG_COMPARED, /* resident, tested by downloads */
  LONG_EMULATED, /* resident, by the plugin's own form */
  LONG_NATIVE,
  LONG_WAYS
} long_way;

static const char *const long_way_names[] = {"host", "launches", "compared", "emulated", "native"};

static inline vyre_route long_route(long_way way)
{
  return way == LONG_HOST     ? VYRE_ROUTE_HOST
         : way == LONG_NATIVE ? VYRE_ROUTE_NATIVE
                              : VYRE_ROUTE_RESIDENT;
}

static inline vyre_form long_form(long_way way)
{
  return way == LONG_NATIVE     ? VYRE_FORM_FUSED
         : way == LONG_EMULATED ? VYRE_FORM_EMULATED
                                : VYRE_FORM_LAUNCHES;
}

/* A device that can go this way. */
static inline void long_open(on_fixture *on, long_way way, const vyre_allocator *allocator)
{
  const on_fixture_setting settings[] = {{"grid_sync", way == LONG_NATIVE ? VYRE_GRID_SYNC_NATIVE
                                                       : way == LONG_EMULATED
                                                           ? VYRE_GRID_SYNC_EMULATED
                                                           : VYRE_GRID_SYNC_NONE},
                                         {NULL, 0}};
  on_fixture_open_with(on, "", "fixture:0", allocator, settings);
}

static inline vyre_program *long_create(on_fixture *on, long_kind kind, long_way way)
{
  static long_program of;
  long_describe(&of, kind, way == LONG_COMPARED ? LONG_NO_SETTLE : 0);
  return on_fixture_program(on, &of.s);
}

/* ---- what came out ---- */

typedef struct long_outcome {
  uint32_t passes;
  vyre_converged converged;
  uint32_t output_count;
  uint64_t sizes[LONG_OUTPUTS];
  unsigned char bytes[LONG_OUTPUTS][LONG_BYTES];
} long_outcome;

static inline void long_keep(const vyre_outputs *outputs, const vyre_dispatch_result *result,
                             long_outcome *out)
{
  memset(out, 0, sizeof *out);
  out->passes = result->passes;
  out->converged = result->converged;
  out->output_count = outputs->count;
  for (uint32_t i = 0; i < outputs->count; ++i) {
    out->sizes[i] = outputs->slots[i].size;
    memcpy(out->bytes[i], outputs->slots[i].data, (size_t)out->sizes[i]);
  }
}

static inline void long_assert_same(const long_outcome *a, const long_outcome *b, const char *what)
{
  if (a->passes != b->passes || a->converged != b->converged)
    fail_msg("%s: %u passes and %u, %u passes and %u", what, a->passes, a->converged, b->passes,
             b->converged);
  if (a->output_count != b->output_count || memcmp(a->sizes, b->sizes, sizeof a->sizes) != 0 ||
      memcmp(a->bytes, b->bytes, sizeof a->bytes) != 0)
    fail_msg("%s: the outputs differ", what);
}

/* Dispatches by a forced route, or AUTO; fails the test on an error. */
static inline void long_run(vyre_program *program, long_kind kind, vyre_route route,
                            uint32_t iterations, vyre_dispatch_result *out_result,
                            long_outcome *out)
{
  static const vyre_dispatch_result empty = VYRE_DISPATCH_RESULT_INIT;
  const vyre_bytes *inputs = long_inputs(kind);
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  options.route = route;
  options.iterations = iterations;
  *out_result = empty;
  if (vyre_dispatch(program, &options, inputs, vyre_program_input_count(program), &outputs,
                    out_result, &err))
    fail_msg("%s: %s", long_names[kind], err.message);
  long_keep(&outputs, out_result, out);
  vyre_outputs_reset(&outputs);
}

#endif
