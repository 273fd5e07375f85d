/*
 * fused.c - the text of the fused kernel and of the convergence test; see fused.h.
 *
 * It is written to be read: `vyre run --keep-temps` keeps it.
 */
#include "core/program/fused.h"

bool vyre__program_fuses(const vyre_program_desc *desc)
{
  return (desc->segment_count > 1 || desc->iterations > 1) &&
         desc->segment_count <= VYRE__FUSED_SEGMENTS;
}

bool vyre__program_settles(const vyre_program_desc *desc)
{
  return desc->iterations > 1 && desc->converge == VYRE_CONVERGE_EXACT;
}

static bool binds(const vyre_program_desc *desc, uint32_t buffer)
{
  const char *name = vyre__buffer_at(desc, buffer)->name;
  for (uint32_t s = 0; s < desc->segment_count; ++s)
    for (uint32_t b = 0; b < vyre__segment_at(desc, s)->binding_count; ++b)
      if (!strcmp(vyre__binding_at(vyre__segment_at(desc, s), b)->buffer, name))
        return true;
  return false;
}

/* ---- the convergence test ---- */

void vyre__write_settle(const vyre_program_desc *desc, vyre__text *tail)
{
  uint32_t count = 0;
  vyre__text_format(tail, "\n/* Ends the run with the first pass that changes no byte. */\n"
                          "VYRE_SEGMENT(vyre_settle)\n(vyre_ctx *vyre_c");
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    if (vyre__program_writes(desc, i))
      vyre__text_format(tail, ", VYRE_IN(vyre_u8) %s", vyre__buffer_at(desc, i)->name);
  vyre__text_format(tail, ", VYRE_INOUT(vyre_u8) vyre_shadow)\n{\n  vyre_u64 vyre_next = 0u;\n");
  for (uint32_t i = 0; i < desc->buffer_count; ++i) {
    const vyre_buffer_decl *buffer = vyre__buffer_at(desc, i);
    if (vyre__program_writes(desc, i))
      vyre__text_format(
          tail,
          "  vyre_next = vyre_settle_bytes(vyre_c, %s, vyre_count(vyre_c, %s) * %uu, vyre_shadow, "
          "vyre_next);\n",
          buffer->name, buffer->name, buffer->element_size);
  }
  vyre__text_format(tail, "  (void)vyre_next;\n}\nVYRE_ENTRY_SETTLE(vyre_settle, (");
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    if (vyre__program_writes(desc, i))
      vyre__text_format(tail, "VYRE_PARAM_IN(%u, %s), ", count++, vyre__buffer_at(desc, i)->name);
  vyre__text_format(tail,
                    "VYRE_PARAM_INOUT(%u, vyre_shadow), VYRE_PARAM_INOUT(%u, vyre_control)), (",
                    count, count + 1);
  count = 0;
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    if (vyre__program_writes(desc, i))
      vyre__text_format(tail, "VYRE_ARG(%u, %s), ", count++, vyre__buffer_at(desc, i)->name);
  vyre__text_format(tail, "VYRE_ARG(%u, vyre_shadow)), %u);\n", count, count + 1);
}

/* ---- the fused kernel ---- */

/* Number of each buffer's parameter; UINT32_MAX if it has none.  Returns how many have one. */
static uint32_t number_parameters(const vyre_program_desc *desc,
                                  uint32_t out_numbers[VYRE_MAX_BUFFERS])
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    out_numbers[i] = binds(desc, i) ? count++ : UINT32_MAX;
  return count;
}

/*
 * In one launch a buffer is constant only if no segment of the whole program writes it: what one
 * segment reads, another may have written on another part of the device.
 */
static void write_parameters(const vyre_program_desc *desc, const uint32_t *numbers,
                             uint32_t shadow, uint32_t control, vyre__text *tail)
{
  vyre__text_format(tail, "VYRE_FUSED(vyre_fused,\n           (");
  for (uint32_t i = 0; i < desc->buffer_count; ++i) {
    const vyre_buffer_decl *buffer = vyre__buffer_at(desc, i);
    const char *word = buffer->access == VYRE_WORKGROUP ? "LOCAL"
                       : vyre__program_writes(desc, i)  ? "INOUT"
                                                        : "CONST";
    if (numbers[i] != UINT32_MAX)
      vyre__text_format(tail, "VYRE_PARAM_%s(%u, %s),\n            ", word, numbers[i],
                        buffer->name);
  }
  if (shadow != UINT32_MAX)
    vyre__text_format(tail, "VYRE_PARAM_INOUT(%u, vyre_shadow),\n            ", shadow);
  vyre__text_format(tail, "VYRE_PARAM_INOUT(%u, vyre_control)))\n", control);
}

static void write_step(const vyre_program_desc *desc, uint32_t index, const uint32_t *numbers,
                       uint32_t control, vyre__text *tail)
{
  const vyre_segment_decl *segment = vyre__segment_at(desc, index);
  const bool declared = desc->converge == VYRE_CONVERGE_DECLARED;
  vyre__text_format(tail, "    /* segment %u of %u */\n    VYRE_RUN%s(%u, %s, (", index + 1,
                    desc->segment_count, declared ? "_CHANGED" : "", index, segment->kernel);
  for (uint32_t b = 0; b < segment->binding_count; ++b) {
    const char *name = vyre__binding_at(segment, b)->buffer;
    vyre__text_format(tail, "%sVYRE_ARG(%u, %s)", b ? ", " : "",
                      numbers[vyre__program_find(desc, name)], name);
  }
  if (declared)
    vyre__text_format(tail, "), %u)\n", control);
  else
    vyre__text_format(tail, "))\n");
}

static void write_test(const vyre_program_desc *desc, const uint32_t *numbers, uint32_t shadow,
                       uint32_t control, vyre__text *tail)
{
  vyre__text_format(tail,
                    "    /* did this pass change anything? */\n"
                    "    VYRE_RUN_CHANGED(%u, vyre_settle, (",
                    desc->segment_count);
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    if (vyre__program_writes(desc, i))
      vyre__text_format(tail, "VYRE_ARG(%u, %s), ", numbers[i], vyre__buffer_at(desc, i)->name);
  vyre__text_format(tail, "VYRE_ARG(%u, vyre_shadow)), %u)\n", shadow, control);
}

void vyre__write_fused(const vyre_program_desc *desc, vyre__text *tail)
{
  uint32_t numbers[VYRE_MAX_BUFFERS];
  uint32_t control = number_parameters(desc, numbers), shadow = UINT32_MAX;
  if (vyre__program_settles(desc))
    shadow = control++;
  vyre__text_format(tail, "\n/* The whole program in one launch: a barrier of the grid is behind "
                          "each step. */\n");
  write_parameters(desc, numbers, shadow, control, tail);
  vyre__text_format(tail, "  VYRE_PASSES(%u, %u)\n", control,
                    desc->segment_count + (shadow != UINT32_MAX));
  for (uint32_t s = 0; s < desc->segment_count; ++s)
    write_step(desc, s, numbers, control, tail);
  if (shadow != UINT32_MAX)
    write_test(desc, numbers, shadow, control, tail);
  vyre__text_format(tail, "  VYRE_PASSES_END\nVYRE_FUSED_END\n");
}
