/*
 * gridsync_steps.c - what a segment costs on each route, and how that grows with segments, passes
 * and live bytes; what is left of it when the segment does nothing.
 */
#include "bench/gridsync_bench.h"

#include "embed/bench_words.h"

#include <stdlib.h>
#include <string.h>

/* A step over words: how often, over how many. */
typedef struct steps {
  uint32_t segments, passes, words;
} steps;

/* ---- a program of steps ---- */

/* What gridsync_words.c does. */
static void step_forward(const uint32_t *a, uint32_t *b, uint32_t n)
{
  const uint32_t half = n / 2;
  for (uint32_t i = 0; i < half; ++i) {
    b[i] = a[i] * 3u + a[i + half];
    b[i + half] = a[i + half] * 5u + a[i];
  }
}

static void step_backward(const uint32_t *b, uint32_t *a, uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i)
    a[i] = b[i] * 7u + 1u;
}

/* What the program has to come to, by one thread. */
static void expect(const steps *s, uint32_t *a, uint32_t *b)
{
  for (uint32_t p = 0; p < s->passes; ++p)
    for (uint32_t k = 0; k < s->segments; ++k)
      if (k % 2)
        step_backward(b, a, s->words);
      else
        step_forward(a, b, s->words);
}

static vyre_status create(const gridsync_bench *bench, const steps *s, vyre_program **out_program,
                          vyre_error *err)
{
  const bool odd = s->segments % 2;
  vyre_buffer_decl buffers[2] = {VYRE_BUFFER_DECL_INIT, VYRE_BUFFER_DECL_INIT};
  vyre_segment_binding there[2] = {VYRE_SEGMENT_BINDING_INIT, VYRE_SEGMENT_BINDING_INIT};
  vyre_segment_binding back[2] = {VYRE_SEGMENT_BINDING_INIT, VYRE_SEGMENT_BINDING_INIT};
  const vyre_segment_decl empty = VYRE_SEGMENT_DECL_INIT;
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  vyre_segment_decl *segments = calloc(s->segments, sizeof *segments);
  vyre_status status;
  if (!segments)
    return gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the segments");
  buffers[0].name = there[0].buffer = back[1].buffer = "a";
  buffers[1].name = there[1].buffer = back[0].buffer = "b";
  buffers[0].access = s->segments > 1 ? VYRE_READ_WRITE : VYRE_READ_ONLY;
  buffers[1].access = VYRE_READ_WRITE;
  buffers[0].element_count = buffers[1].element_count = s->words;
  /* The other one is not read back. */
  buffers[0].flags = odd && s->segments > 1 ? VYRE_BUFFER_RANGE : 0;
  buffers[1].flags = VYRE_BUFFER_OUTPUT | (odd ? 0 : VYRE_BUFFER_RANGE);
  there[1].access = back[1].access = VYRE_WRITE_ONLY;
  there[1].flags = back[1].flags = VYRE_BINDING_WRITES_ALL;
  for (uint32_t k = 0; k < s->segments; ++k) {
    segments[k] = empty;
    segments[k].kernel = k % 2 ? "backward" : "forward";
    segments[k].bindings = k % 2 ? back : there;
    segments[k].binding_count = 2;
    segments[k].elements[0] = k % 2 ? s->words : s->words / 2;
  }
  desc.name = "steps";
  desc.buffers = buffers;
  desc.buffer_count = 2;
  desc.segments = segments;
  desc.segment_count = s->segments;
  desc.iterations = s->passes;
  desc.converge = VYRE_CONVERGE_OFF;
  desc.workgroup[0] = GRIDSYNC_WORKGROUP;
  status = gridsync_program(bench, &desc, "gridsync_words.c", bench_words, bench_words_size,
                            out_program, err);
  free(segments);
  return status;
}

/* ---- one cell ---- */

static void report_route(const gridsync_bench *bench, const char *cell, gridsync_figures *figures,
                         const gridsync_contestant *list, uint32_t way, uint32_t all)
{
  char name[BENCH_NAME_SIZE];
  if (list[way].absent)
    return;
  bench_report_value(bench->report, gridsync_row_name(name, cell, list[way].name),
                     gridsync_seconds(figures, way) * 1e6 / all, "us/seg");
}

static void report(const gridsync_bench *bench, const char *cell, const steps *s,
                   gridsync_figures *figures, const gridsync_contestant *list)
{
  const uint32_t all = s->segments * s->passes;
  char name[BENCH_NAME_SIZE];
  double ratio;
  report_route(bench, cell, figures, list, GRIDSYNC_NATIVE, all);
  report_route(bench, cell, figures, list, GRIDSYNC_RESIDENT, all);
  report_route(bench, cell, figures, list, GRIDSYNC_HOST, all);
  if (!list[GRIDSYNC_HOST].absent && (ratio = gridsync_over_device(figures, GRIDSYNC_HOST)) > 0)
    bench_report_value(bench->report, gridsync_row_name(name, cell, "host / its kernels"), ratio,
                       "ratio");
  if (!list[GRIDSYNC_HOST].absent && !list[GRIDSYNC_NATIVE].absent)
    bench_report_value(bench->report, gridsync_row_name(name, cell, "host / native"),
                       gridsync_ratio(figures, GRIDSYNC_HOST, GRIDSYNC_NATIVE), "ratio");
  gridsync_report_auto(bench, cell, figures, list);
  gridsync_report_bare(bench, cell, figures, list, GRIDSYNC_WAYS, all, s->words);
}

static vyre_status enter_and_measure(const gridsync_bench *bench, const char *cell, const steps *s,
                                     gridsync_subject *subject, vyre_error *err)
{
  const gridsync_bare_work work = {.first = subject->first[0],
                                   .expected = subject->expected,
                                   .words = s->words,
                                   .segments = s->segments,
                                   .passes = s->passes,
                                   .which = subject->result_buffer};
  gridsync_bare bare[BENCH_BARE_STEP_FORMS];
  gridsync_contestant list[GRIDSYNC_WAYS + BENCH_BARE_STEP_FORMS];
  gridsync_figures figures = {0};
  vyre_status status = gridsync_subject_open(subject, bench, err);
  for (uint32_t way = 0; way < GRIDSYNC_WAYS && status == VYRE_OK; ++way)
    status = gridsync_enter(subject, bench, cell, way, &list[way], err);
  if (status == VYRE_OK)
    status = gridsync_enter_bare(bench, cell, &work, bare, list + GRIDSYNC_WAYS, err);
  if (status == VYRE_OK)
    status =
        gridsync_measure(bench, cell, list, GRIDSYNC_WAYS + BENCH_BARE_STEP_FORMS, &figures, err);
  if (status == VYRE_OK)
    report(bench, cell, s, &figures, list);
  gridsync_figures_free(&figures);
  return status;
}

static vyre_status run_cell(const gridsync_bench *bench, const char *cell, const steps *s,
                            vyre_error *err)
{
  const uint64_t size = (uint64_t)s->words * sizeof(uint32_t);
  uint32_t *first = calloc(1, size + 1), *a = calloc(1, size + 1), *b = calloc(1, size + 1);
  const uint32_t result = s->segments % 2;
  gridsync_subject subject = {.sizes = {size, size},
                              .input = {true, false},
                              .buffer_count = 2,
                              .result_buffer = result,
                              /* With one segment `a` is read only, and no output. */
                              .result_output = s->segments > 1 ? result : 0,
                              .passes = s->passes};
  vyre_status status = VYRE_OK;
  if (!first || !a || !b) {
    status = gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the words");
    goto done;
  }
  for (uint32_t i = 0; i < s->words; ++i)
    first[i] = a[i] = i * 2654435761u + 1u;
  expect(s, a, b);
  subject.first[0] = first;
  subject.expected = result ? b : a;
  status = create(bench, s, &subject.program, err);
  if (status == VYRE_OK)
    status = enter_and_measure(bench, cell, s, &subject, err);
done:
  gridsync_subject_close(&subject);
  free(first);
  free(a);
  free(b);
  return status;
}

/* ---- growth ---- */

/* "2^10", or the number if it is no power of two. */
static const char *power_text(char text[24], uint32_t number)
{
  if (number && !(number & (number - 1)))
    snprintf(text, 24, "2^%d", __builtin_ctz(number));
  else
    snprintf(text, 24, "%u", number);
  return text;
}

/* Every value up to `most`, and `most` itself behind them. */
static uint32_t up_to(const uint32_t *values, uint32_t count, uint32_t most, uint32_t *out)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < count && values[i] < most; ++i)
    out[n++] = values[i];
  out[n++] = most;
  return n;
}

#define GROWTH 8u

/* The words of the cells in which something else grows: few, and many enough for several groups. */
static const uint32_t sizes[] = {1u << 10, 1u << 16};
#define SIZES (sizeof sizes / sizeof sizes[0])

static uint32_t size_of(const gridsync_bench *bench, uint32_t i)
{
  return sizes[i] < bench->words ? sizes[i] : bench->words;
}

/* Runs a cell for each size; the smaller one alone if there are no more words. */
static vyre_status run_sizes(const gridsync_bench *bench, const char *what, steps *s,
                             vyre_error *err)
{
  vyre_status status = VYRE_OK;
  char cell[64], power[24];
  for (uint32_t i = 0; i < SIZES && status == VYRE_OK; ++i) {
    if (i && size_of(bench, i) == size_of(bench, i - 1))
      break;
    s->words = size_of(bench, i);
    snprintf(cell, sizeof cell, "%s, %s words", what, power_text(power, s->words));
    status = run_cell(bench, cell, s, err);
  }
  return status;
}

vyre_status gridsync_segments(gridsync_bench *bench, vyre_error *err)
{
  static const uint32_t values[] = {1, 2, 8, 32};
  uint32_t counts[GROWTH], n = up_to(values, 4, bench->segments, counts);
  vyre_status status = VYRE_OK;
  char what[32];
  for (uint32_t i = 0; i < n && status == VYRE_OK; ++i) {
    steps s = {counts[i], 1, 0};
    snprintf(what, sizeof what, "%u segment%s", s.segments, s.segments == 1 ? "" : "s");
    status = run_sizes(bench, what, &s, err);
  }
  return status;
}

vyre_status gridsync_passes(gridsync_bench *bench, vyre_error *err)
{
  static const uint32_t values[] = {1, 4, 16};
  uint32_t counts[GROWTH], n = up_to(values, 3, bench->passes, counts);
  vyre_status status = VYRE_OK;
  char what[32];
  for (uint32_t i = 0; i < n && status == VYRE_OK; ++i) {
    steps s = {2, counts[i], 0};
    snprintf(what, sizeof what, "%u pass%s of 2", s.passes, s.passes == 1 ? "" : "es");
    status = run_sizes(bench, what, &s, err);
  }
  return status;
}

vyre_status gridsync_words(gridsync_bench *bench, vyre_error *err)
{
  static const uint32_t values[] = {1u << 10, 1u << 13, 1u << 16, 1u << 18, 1u << 20};
  uint32_t counts[GROWTH], n = up_to(values, 5, bench->words, counts);
  vyre_status status = VYRE_OK;
  char cell[40], power[24];
  for (uint32_t i = 0; i < n && status == VYRE_OK; ++i) {
    const steps s = {2, bench->passes, counts[i]};
    snprintf(cell, sizeof cell, "%s words", power_text(power, s.words));
    status = run_cell(bench, cell, &s, err);
  }
  return status;
}

/* ---- segments that do nothing ---- */

#define IDLE_ITEMS (1u << 20) /* enough for all groups that a device may have */
#define IDLE_FEW 2u

static const char idle_text[] = "VYRE_SEGMENT(idle)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)\n"
                                "{\n  (void)c;\n  (void)a;\n}\n";

static const uint32_t idle_ways[] = {GRIDSYNC_NATIVE, GRIDSYNC_RESIDENT, GRIDSYNC_HOST};
#define IDLE_WAYS (sizeof idle_ways / sizeof idle_ways[0])

static vyre_status create_idle(const gridsync_bench *bench, uint32_t count,
                               vyre_program **out_program, vyre_error *err)
{
  vyre_buffer_decl buffer = VYRE_BUFFER_DECL_INIT;
  vyre_segment_binding binding = VYRE_SEGMENT_BINDING_INIT;
  const vyre_segment_decl empty = VYRE_SEGMENT_DECL_INIT;
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  vyre_segment_decl *segments = calloc(count, sizeof *segments);
  vyre_status status;
  if (!segments)
    return gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the segments");
  buffer.name = binding.buffer = "a";
  buffer.access = binding.access = VYRE_READ_WRITE;
  buffer.element_count = 1;
  for (uint32_t k = 0; k < count; ++k) {
    segments[k] = empty;
    segments[k].kernel = "idle";
    segments[k].bindings = &binding;
    segments[k].binding_count = 1;
  }
  desc.name = "idle";
  desc.buffers = &buffer;
  desc.buffer_count = 1;
  desc.segments = segments;
  desc.segment_count = count;
  desc.workgroup[0] = GRIDSYNC_WORKGROUP;
  desc.elements[0] = IDLE_ITEMS;
  status =
      gridsync_program(bench, &desc, "idle", idle_text, sizeof idle_text - 1, out_program, err);
  free(segments);
  return status;
}

/* Contestants: all ways with few segments, then all of them with many. */
static void report_idle(const gridsync_bench *bench, gridsync_figures *figures,
                        const gridsync_contestant *list, uint32_t more)
{
  static const char *const what[IDLE_WAYS][2] = {
      {"a barrier of the fused kernel", "a fused launch"},
      {"a launch, resident", "a resident dispatch"},
      {"a launch, host", "a host dispatch"}};
  for (uint32_t w = 0; w < IDLE_WAYS; ++w) {
    const uint32_t few = w, many = IDLE_WAYS + w;
    double each;
    if (list[few].absent || list[many].absent)
      continue;
    each = gridsync_more(figures, many, few) / more;
    bench_report_value(bench->report, what[w][0], each * 1e6, "us");
    bench_report_value(bench->report, what[w][1],
                       (gridsync_seconds(figures, few) - IDLE_FEW * each) * 1e6, "us");
    bench_report_remark(bench->report, "without its segments");
  }
}

vyre_status gridsync_barrier(gridsync_bench *bench, vyre_error *err)
{
  static const uint32_t word = 1;
  const uint32_t counts[2] = {IDLE_FEW, bench->segments > IDLE_FEW ? bench->segments : 16u};
  gridsync_subject subjects[2];
  gridsync_contestant list[2 * IDLE_WAYS];
  gridsync_figures figures = {0};
  vyre_status status = VYRE_OK;
  memset(subjects, 0, sizeof subjects);
  for (uint32_t i = 0; i < 2 && status == VYRE_OK; ++i) {
    gridsync_subject *subject = &subjects[i];
    *subject = (gridsync_subject){.first = {&word},
                                  .sizes = {sizeof word},
                                  .input = {true},
                                  .buffer_count = 1,
                                  .expected = &word,
                                  .passes = 1};
    status = create_idle(bench, counts[i], &subject->program, err);
    if (status == VYRE_OK)
      status = gridsync_subject_open(subject, bench, err);
    for (uint32_t w = 0; w < IDLE_WAYS && status == VYRE_OK; ++w)
      status =
          gridsync_enter(subject, bench, "barrier", idle_ways[w], &list[i * IDLE_WAYS + w], err);
  }
  if (status == VYRE_OK)
    status = gridsync_measure(bench, "barrier", list, 2 * IDLE_WAYS, &figures, err);
  if (status == VYRE_OK)
    report_idle(bench, &figures, list, counts[1] - counts[0]);
  gridsync_figures_free(&figures);
  gridsync_subject_close(&subjects[0]);
  gridsync_subject_close(&subjects[1]);
  return status;
}
