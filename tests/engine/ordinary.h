/* ordinary.h - an ordinary program for tests that run one beside an engine: x -> x + 1. */
#ifndef VYRE_TESTS_ENGINE_ORDINARY_H
#define VYRE_TESTS_ENGINE_ORDINARY_H

#include "tests/program/sample.h"

static const char ordinary_source[] =
    "VYRE_SEGMENT(more)(vyre_ctx *c, VYRE_INOUT(vyre_u32) numbers)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, numbers))\n"
    "    vyre_at(c, numbers, i) += 1u;\n"
    "}\n";

static inline vyre_status ordinary_create(vyre_device *device, vyre_program **out_program,
                                          vyre_error *err)
{
  sample s;
  sample_empty(&s);
  sample_buffer(&s, "numbers", VYRE_READ_WRITE, 4, VYRE_COUNT_FROM_INPUT);
  sample_segment(&s, "more");
  sample_bind(&s, 0, "numbers", VYRE_READ_WRITE);
  sample_code(&s, "vyre-c", ordinary_source);
  return vyre_program_create(device, &s.desc, out_program, err);
}

/* True if the program adds 1 to each of some numbers. */
static inline bool ordinary_run(vyre_program *program)
{
  uint32_t numbers[100];
  const vyre_bytes input = {numbers, sizeof numbers};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  bool good = false;
  for (uint32_t i = 0; i < 100; ++i)
    numbers[i] = i * i;
  if (vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, NULL) == VYRE_OK &&
      outputs.count == 1 && outputs.slots[0].size == sizeof numbers) {
    good = true;
    for (uint32_t i = 0; i < 100; ++i)
      good = good && ((const uint32_t *)outputs.slots[0].data)[i] == i * i + 1;
  }
  vyre_outputs_reset(&outputs);
  return good;
}

#endif
