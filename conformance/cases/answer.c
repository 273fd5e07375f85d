/* answer.c - the small kernel of the cases about kernel code; see answer.h. */
#include "conformance/cases/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const vyre_backend_format *conform_format_at(const vyre_backend *b, uint32_t index)
{
  return (const void *)((const char *)b->formats + index * b->format_stride);
}

const char *conform_answer_text(uint32_t factor, uint32_t term)
{
  static char text[640];
  snprintf(text, sizeof text,
           "#define VYRE_BUFFER_out 0\n"
           "VYRE_SEGMENT(answer)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
           "{\n"
           "  vyre_u64 i = vyre_global_id(c, 0);\n"
           "  if (i < vyre_count(c, out))\n"
           "    vyre_at(c, out, i) = (vyre_u32)i * %uu + %uu;\n"
           "}\n"
           "VYRE_ENTRY(answer, (VYRE_PARAM_OUT(0, out)), (VYRE_ARG(0, out)));\n",
           factor, term);
  return text;
}

void conform_check_answer(conform *c, vyre_backend_kernel *kernel, uint32_t factor, uint32_t term)
{
  uint32_t out[100];
  conform_launch launch;
  conform_launch_init(&launch, kernel);
  conform_launch_grid(&launch, 7, 16);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 100, 4, out);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < 100; ++i)
    CHECK(c, out[i] == i * factor + term, "element %u is %u, expected is %u", i, out[i],
          i * factor + term);
}

vyre_module_desc conform_plain_desc(char *whole, uint64_t size)
{
  const vyre_module_desc desc = {.struct_size = sizeof desc,
                                 .format = "vyre-c",
                                 .arch = "",
                                 .data = whole,
                                 .size = size,
                                 .name = "wrong"};
  return desc;
}

void conform_refuse_module(conform *c, const vyre_module_desc *desc, vyre_status code,
                           vyre_status other, char *out_text)
{
  vyre_backend_device *device = conform_open(c);
  vyre_backend_module *module = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  const uint64_t before = conform_live_blocks(c);
  CHECK_FAILS(c, c->counted.module_load(device, desc, &module, err), code, other);
  CHECK(c, !module, "a failed module_load has stored a module (ABI-008)");
  CHECK(c, conform_live_blocks(c) == before,
        "a failed module_load leaves %lld blocks in use (ABI-008)",
        (long long)(conform_live_blocks(c) - before));
  CHECK(c, c->counted.module_load(device, desc, &module, NULL) != VYRE_OK && !module,
        "without an error record module_load ends otherwise (ABI-009)");
  if (!out_text)
    return;
  c->counted.module_load(device, desc, &module, &record);
  memcpy(out_text, record.message, sizeof record.message);
}
