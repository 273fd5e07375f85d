/* interpreter.c - see interpreter.h. */
#include "tests/gridsync/interpreter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What workgroup memory holds before a group has written to it: nothing that helps. */
#define GARBAGE 0xa5

void *plain_memory(uint64_t size)
{
  void *memory = calloc(1, size ? size : 1);
  if (!memory) {
    fprintf(stderr, "no memory for %llu bytes\n", (unsigned long long)size);
    abort();
  }
  return memory;
}

static bool writes(vyre_access access)
{
  return access == VYRE_READ_WRITE || access == VYRE_WRITE_ONLY;
}

bool plain_is_output(const plain_buffer *buffer)
{
  return buffer->access == VYRE_WRITE_ONLY || (buffer->flags & VYRE_BUFFER_OUTPUT);
}

/* ---- grid ---- */

void plain_workgroup(const plain_program *program, uint32_t out_workgroup[3])
{
  const uint32_t *given = program->workgroup;
  out_workgroup[0] = given[0] ? given[0] : given[1] || given[2] ? 1 : 64;
  out_workgroup[1] = given[1] ? given[1] : 1;
  out_workgroup[2] = given[2] ? given[2] : 1;
}

static bool any(const uint64_t n[3])
{
  return n[0] || n[1] || n[2];
}

static bool round_up(const plain_program *program, const uint64_t elements[3],
                     uint32_t out_groups[3])
{
  uint32_t workgroup[3];
  plain_workgroup(program, workgroup);
  for (int d = 0; d < 3; ++d) {
    uint64_t items = elements[d] ? elements[d] : 1;
    out_groups[d] = (uint32_t)((items + workgroup[d] - 1) / workgroup[d]);
  }
  return true;
}

static bool as_given(const uint32_t groups[3], uint32_t out_groups[3])
{
  for (int d = 0; d < 3; ++d)
    out_groups[d] = groups[d] ? groups[d] : 1;
  return groups[0] || groups[1] || groups[2];
}

/* The most elements among what the segment writes, or reads if it writes nothing. */
static uint64_t covered(const plain_program *program, const plain_segment *segment)
{
  uint64_t most[2] = {0, 0};
  bool writer = false;
  for (uint32_t b = 0; b < segment->binding_count; ++b) {
    const plain_binding *binding = &segment->bindings[b];
    uint64_t count = program->buffers[binding->buffer].count;
    bool written = writes(binding->access);
    if (binding->access == VYRE_WORKGROUP)
      continue;
    writer = writer || written;
    if (count > most[written])
      most[written] = count;
  }
  return most[writer];
}

bool plain_groups(const plain_program *program, const plain_segment *segment,
                  uint32_t out_groups[3])
{
  uint64_t derived[3] = {0, 0, 0};
  if (any(segment->elements))
    return round_up(program, segment->elements, out_groups);
  if (as_given(segment->groups, out_groups))
    return true;
  if (any(program->asked_elements))
    return round_up(program, program->asked_elements, out_groups);
  if (any(program->elements))
    return round_up(program, program->elements, out_groups);
  if (as_given(program->groups, out_groups))
    return true;
  derived[0] = covered(program, segment);
  round_up(program, derived, out_groups);
  return derived[0] != 0;
}

/* ---- one segment ---- */

typedef struct arguments {
  uint8_t *data[VYRE_MAX_BUFFERS];
  uint64_t counts[VYRE_MAX_BUFFERS];
  uint32_t element_sizes[VYRE_MAX_BUFFERS];
  uint8_t *scratch[VYRE_MAX_BUFFERS]; /* workgroup memory, else NULL */
} arguments;

static void arguments_make(const plain_program *program, const plain_segment *segment,
                           const plain_result *now, arguments *out)
{
  for (uint32_t b = 0; b < segment->binding_count; ++b) {
    uint32_t index = segment->bindings[b].buffer;
    const plain_buffer *buffer = &program->buffers[index];
    out->counts[b] = buffer->count;
    out->element_sizes[b] = buffer->element_size;
    out->scratch[b] = NULL;
    if (buffer->access == VYRE_WORKGROUP)
      out->scratch[b] = plain_memory(buffer->count * buffer->element_size);
    out->data[b] = out->scratch[b] ? out->scratch[b] : now->state[index].data;
  }
}

static void run_group(const plain_segment *segment, plain_item *item)
{
  uint32_t phases = segment->phases ? segment->phases : 1;
  for (item->phase = 0; item->phase < phases; ++item->phase)
    for (item->local[2] = 0; item->local[2] < item->size[2]; ++item->local[2])
      for (item->local[1] = 0; item->local[1] < item->size[1]; ++item->local[1])
        for (item->local[0] = 0; item->local[0] < item->size[0]; ++item->local[0])
          segment->run(item);
}

static void run_segment(const plain_program *program, const plain_segment *segment,
                        const plain_result *now, bool *changed)
{
  arguments all;
  plain_item item = {.tag = segment->tag,
                     .self = segment->self,
                     .push = program->push,
                     .data = all.data,
                     .counts = all.counts,
                     .element_sizes = all.element_sizes,
                     .changed = changed};
  plain_workgroup(program, item.size);
  if (!plain_groups(program, segment, item.groups))
    return;
  arguments_make(program, segment, now, &all);
  for (item.group[2] = 0; item.group[2] < item.groups[2]; ++item.group[2])
    for (item.group[1] = 0; item.group[1] < item.groups[1]; ++item.group[1])
      for (item.group[0] = 0; item.group[0] < item.groups[0]; ++item.group[0]) {
        for (uint32_t b = 0; b < segment->binding_count; ++b)
          if (all.scratch[b])
            memset(all.scratch[b], GARBAGE, all.counts[b] * all.element_sizes[b]);
        run_group(segment, &item);
      }
  for (uint32_t b = 0; b < segment->binding_count; ++b)
    free(all.scratch[b]);
}

/* ---- passes ---- */

static void state_first(const plain_program *program, bool in_place, plain_result *out)
{
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    const plain_buffer *buffer = &program->buffers[i];
    if (buffer->access == VYRE_WORKGROUP)
      continue;
    out->state[i].size = buffer->count * buffer->element_size;
    out->state[i].data = plain_memory(out->state[i].size);
    if (buffer->given && out->state[i].size && (in_place || !plain_is_output(buffer)))
      memcpy(out->state[i].data, buffer->given, out->state[i].size);
  }
}

static void state_keep(const plain_program *program, const plain_result *now, uint8_t **kept)
{
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (kept[i])
      memcpy(kept[i], now->state[i].data, now->state[i].size);
}

static bool state_equal(const plain_program *program, const plain_result *now, uint8_t **kept)
{
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (kept[i] && memcmp(kept[i], now->state[i].data, now->state[i].size) != 0)
      return false;
  return true;
}

static void trim(const plain_program *program, plain_result *out)
{
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    const plain_buffer *buffer = &program->buffers[i];
    plain_bytes *output = &out->outputs[out->output_count];
    if (!writes(buffer->access))
      continue;
    *output = out->state[i];
    if (buffer->flags & VYRE_BUFFER_RANGE) {
      output->data += buffer->range_offset;
      output->size = buffer->range_size;
    }
    ++out->output_count;
  }
}

void plain_run(const plain_program *program, bool in_place, plain_result *out_result)
{
  uint8_t *kept[VYRE_MAX_BUFFERS] = {0};
  bool tested = program->converge != VYRE_CONVERGE_OFF && program->iterations > 1;
  bool confirmed = false;
  memset(out_result, 0, sizeof *out_result);
  state_first(program, in_place, out_result);
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (out_result->state[i].data)
      kept[i] = plain_memory(out_result->state[i].size);
  while (out_result->passes < program->iterations && !confirmed) {
    bool changed = false;
    state_keep(program, out_result, kept);
    for (uint32_t s = 0; s < program->segment_count; ++s)
      run_segment(program, &program->segments[s], out_result, &changed);
    ++out_result->passes;
    if (program->converge == VYRE_CONVERGE_EXACT)
      changed = !state_equal(program, out_result, kept);
    confirmed = tested && !changed;
  }
  out_result->converged = !tested     ? VYRE_CONVERGED_NOT_TESTED
                          : confirmed ? VYRE_CONVERGED_YES
                                      : VYRE_CONVERGED_NO;
  trim(program, out_result);
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    free(kept[i]);
}

void plain_free(plain_result *result)
{
  for (uint32_t i = 0; i < VYRE_MAX_BUFFERS; ++i)
    free(result->state[i].data);
  memset(result, 0, sizeof *result);
}
