/*
 * entries.c - the text that the core writes around a program's kernels: buffer ids in front, one
 * VYRE_ENTRY for each segment behind (vyre_kernel.h, "Entries"), then what fused.c adds.
 */
#include "core/program/fused.h"

static const char *parameter_word(const vyre_program_desc *desc,
                                  const vyre_segment_binding *binding)
{
  switch (binding->access) {
  case VYRE_WORKGROUP:
    return "LOCAL";
  case VYRE_WRITE_ONLY:
    return "OUT";
  case VYRE_READ_WRITE:
    return "INOUT";
  default:
    /* Only what no segment writes stays constant when the segments share one launch. */
    return vyre__program_writes(desc, vyre__program_find(desc, binding->buffer)) ? "IN" : "CONST";
  }
}

/* With DECLARED the control words are one parameter more: the function may say vyre_changed(). */
static void write_entry(const vyre_program_desc *desc, const vyre_segment_decl *segment,
                        vyre__text *tail)
{
  const bool declared = desc->converge == VYRE_CONVERGE_DECLARED;
  const uint32_t count = segment->binding_count;
  vyre__text_format(tail, "VYRE_ENTRY%s(%s, (", declared ? "_CHANGED" : "", segment->kernel);
  for (uint32_t b = 0; b < count; ++b) {
    const vyre_segment_binding *binding = vyre__binding_at(segment, b);
    vyre__text_format(tail, "%sVYRE_PARAM_%s(%u, %s)", b ? ", " : "", parameter_word(desc, binding),
                      b, binding->buffer);
  }
  if (declared)
    vyre__text_format(tail, ", VYRE_PARAM_INOUT(%u, vyre_control)", count);
  vyre__text_format(tail, "), (");
  for (uint32_t b = 0; b < count; ++b)
    vyre__text_format(tail, "%sVYRE_ARG(%u, %s)", b ? ", " : "", b,
                      vyre__binding_at(segment, b)->buffer);
  if (declared)
    vyre__text_format(tail, "), %u);\n", count);
  else
    vyre__text_format(tail, "));\n");
}

vyre_status vyre__program_entries(const vyre_program_desc *desc, vyre__text *head, vyre__text *tail,
                                  vyre_error *err)
{
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    vyre__text_format(head, "#define VYRE_BUFFER_%s %u\n", vyre__buffer_at(desc, i)->name, i);
  for (uint32_t s = 0; s < desc->segment_count; ++s) {
    const vyre_segment_decl *segment = vyre__segment_at(desc, s);
    bool written = false;
    for (uint32_t i = 0; i < s && !written; ++i)
      written = !strcmp(vyre__segment_at(desc, i)->kernel, segment->kernel);
    if (!written)
      write_entry(desc, segment, tail);
  }
  if (vyre__program_settles(desc))
    vyre__write_settle(desc, tail);
  if (vyre__program_fuses(desc))
    vyre__write_fused(desc, tail);
  if (head->failed || tail->failed)
    return VYRE_FAIL_MEMORY(err, "a program's entries");
  return VYRE_OK;
}
