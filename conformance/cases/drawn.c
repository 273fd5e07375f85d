/*
 * drawn.c - programs that the seed draws, text and all, on routes that are forced: no plugin passes
 * by knowing them.
 */
#include "conformance/steps.h"
#include "conformance/through.h"

#include <stdio.h>
#include <string.h>

#define MOST 9000u

static uint32_t one[MOST], two[MOST], three[MOST];

#define DRAWN_BUFFERS 3u

typedef struct drawn_step {
  uint32_t to, from, kind, a, m, k;
} drawn_step;

static void draw_step(conform *c, drawn_step *step)
{
  step->to = (uint32_t)conform_random_below(c, DRAWN_BUFFERS);
  step->from =
      (step->to + 1 + (uint32_t)conform_random_below(c, DRAWN_BUFFERS - 1)) % DRAWN_BUFFERS;
  step->kind = (uint32_t)conform_random_below(c, 3);
  step->a = (uint32_t)conform_random(c) | 1;
  step->m = 1 + (uint32_t)conform_random_below(c, 50);
  step->k = (uint32_t)conform_random_below(c, 5000);
}

static size_t write_step(char *text, size_t size, const drawn_step *step, const char *name)
{
  char value[256];
  switch (step->kind) {
  case 0:
    snprintf(value, sizeof value, "x%u[i] * %uu + x%u[(i * %uu + %uu) %% n]", step->to, step->a,
             step->from, step->m, step->k);
    break;
  case 1:
    snprintf(value, sizeof value, "(x%u[(i + %uu) %% n] ^ x%u[i]) - x%u[(i * %uu + %uu) %% n]",
             step->from, step->a, step->to, step->from, step->m, step->k);
    break;
  default:
    snprintf(value, sizeof value, "x%u[(i + %uu) %% n] < x%u[i] ? x%u[i] / %uu : x%u[i %% n] + %uu",
             step->from, step->a, step->to, step->to, step->m, step->from, step->k);
  }
  return (size_t)snprintf(text, size,
                          "VYRE_SEGMENT(%s)(vyre_ctx *c, VYRE_IN(vyre_u32) x%u, "
                          "VYRE_INOUT(vyre_u32) x%u)\n{\n"
                          "  const vyre_u64 i = vyre_global_id(c, 0);\n"
                          "  const vyre_u64 n = vyre_count(c, x%u);\n"
                          "  if (i < vyre_count(c, x%u)) x%u[i] = %s;\n}\n",
                          name, step->from, step->to, step->from, step->to, step->to, value);
}

static void do_step(const drawn_step *step, uint32_t *const *x, const uint32_t *count)
{
  const uint32_t *from = x[step->from];
  uint32_t *to = x[step->to];
  const uint64_t n = count[step->from];
  for (uint64_t i = 0; i < count[step->to]; ++i)
    switch (step->kind) {
    case 0:
      to[i] = to[i] * step->a + from[(i * step->m + step->k) % n];
      break;
    case 1:
      to[i] = (from[(i + step->a) % n] ^ to[i]) - from[(i * step->m + step->k) % n];
      break;
    default:
      to[i] = from[(i + step->a) % n] < to[i] ? to[i] / step->m : from[i % n] + step->k;
    }
}

static void one_drawn(conform *c, const through *t, bool native)
{
  static char text[8192], names[THROUGH_MOST][24], buffers[THROUGH_MOST][16];
  static uint32_t given[DRAWN_BUFFERS][MOST];
  uint32_t *const x[DRAWN_BUFFERS] = {one, two, three};
  const uint32_t segments = 2 + (uint32_t)conform_random_below(c, 4);
  const uint32_t passes = 1 + (uint32_t)conform_random_below(c, 5);
  uint32_t count[DRAWN_BUFFERS];
  drawn_step steps[THROUGH_MOST];
  vyre_bytes inputs[DRAWN_BUFFERS], outputs[DRAWN_BUFFERS];
  through_want want = {outputs, DRAWN_BUFFERS, passes, VYRE_CONVERGED_NOT_TESTED};
  through_program p;
  vyre_program *program = NULL;
  size_t at = 0;
  for (uint32_t s = 0; s < segments; ++s) {
    draw_step(c, &steps[s]);
    snprintf(names[s], sizeof names[s], "s%u_%x", s, (unsigned)conform_random(c));
    snprintf(buffers[s], sizeof buffers[s], "x%u +x%u", steps[s].from, steps[s].to);
    at += write_step(text + at, sizeof text - at, &steps[s], names[s]);
  }
  through_program_init(&p, "drawn", text);
  through_program_buffer(&p, "x0", VYRE_READ_WRITE, 4, 0);
  through_program_buffer(&p, "x1", VYRE_READ_WRITE, 4, 0);
  through_program_buffer(&p, "x2", VYRE_READ_WRITE, 4, 0);
  for (uint32_t s = 0; s < segments; ++s)
    through_program_segment(&p, names[s], buffers[s]);
  p.desc.workgroup[0] = 1 + (uint32_t)conform_random_below(c, 130);
  p.desc.workgroup[1] = p.desc.workgroup[2] = 1;
  p.desc.iterations = passes;
  p.desc.converge = VYRE_CONVERGE_OFF;
  program = through_program_create(c, t, &p);
  for (int turn = 0; turn < 6; ++turn) {
    for (uint32_t b = 0; b < DRAWN_BUFFERS; ++b) {
      count[b] = 1 + (uint32_t)conform_random_below(c, turn % 2 ? 9000 : 300);
      conform_random_fill(c, given[b], count[b] * 4u);
      memcpy(x[b], given[b], count[b] * 4u);
      inputs[b] = (vyre_bytes){given[b], count[b] * 4u};
      outputs[b] = (vyre_bytes){x[b], count[b] * 4u};
    }
    for (uint32_t pass = 0; pass < passes; ++pass)
      for (uint32_t s = 0; s < segments; ++s)
        do_step(&steps[s], x, count);
    through_check(c, t, program, NULL, inputs, DRAWN_BUFFERS, &want, native, "a drawn program");
  }
  vyre_program_destroy(program);
}

static void check_drawn(conform *c, bool native)
{
  through t;
  through_open(c, &t);
  for (int k = 0; k < 3; ++k)
    one_drawn(c, &t, native);
  through_close(&t);
}

static void run_native(conform *c)
{
  check_drawn(c, true);
}

static void run_split(conform *c)
{
  check_drawn(c, false);
}

static const conform_case rows[] = {
    {"drawn.native", "DISP-011 KRN-002", CONFORM_GRIDSYNC_NATIVE, VYRE_CAP_BUFFERS,
     CONFORM_NEEDS_NATIVE | CONFORM_NEEDS_VYRE_C, 0, run_native},
    {"drawn.split", "DISP-020 DISP-030 PASS-001", CONFORM_GRIDSYNC_EMULATED, 0,
     CONFORM_NEEDS_VYRE_C, 0, run_split},
};
CONFORM_TABLE(conform_cases_drawn, rows);
