/*
 * sample.h - program descriptions for tests: a small one that is correct, to be spoilt a rule at a
 * time.
 *
 *     sample s;
 *     sample_init(&s);                              in (READ_ONLY) -> out (output), segment "copy"
 *     s.buffers[0].element_size = 0;                ...
 *     sample_bind(&s, 0, "extra", VYRE_READ_ONLY);  one more binding of segment 0
 */
#ifndef VYRE_TESTS_PROGRAM_SAMPLE_H
#define VYRE_TESTS_PROGRAM_SAMPLE_H

#include "vyre.h"

#include <string.h>

#define SAMPLE_SEGMENTS 4

typedef struct sample {
  vyre_buffer_decl buffers[VYRE_MAX_BUFFERS + 1];
  vyre_segment_binding bindings[SAMPLE_SEGMENTS][VYRE_MAX_BUFFERS + 1];
  vyre_segment_decl segments[SAMPLE_SEGMENTS];
  vyre_code code[2];
  vyre_program_desc desc;
} sample;

static inline vyre_buffer_decl *sample_buffer(sample *s, const char *name, vyre_access access,
                                              uint32_t element_size, uint64_t count)
{
  static const vyre_buffer_decl init = VYRE_BUFFER_DECL_INIT;
  vyre_buffer_decl *buffer = &s->buffers[s->desc.buffer_count++];
  *buffer = init;
  buffer->name = name;
  buffer->access = access;
  buffer->element_size = element_size;
  buffer->element_count = count;
  return buffer;
}

static inline vyre_segment_decl *sample_segment(sample *s, const char *kernel)
{
  static const vyre_segment_decl init = VYRE_SEGMENT_DECL_INIT;
  vyre_segment_decl *segment = &s->segments[s->desc.segment_count];
  *segment = init;
  segment->kernel = kernel;
  segment->bindings = s->bindings[s->desc.segment_count++];
  return segment;
}

static inline vyre_segment_binding *sample_bind(sample *s, uint32_t segment, const char *buffer,
                                                vyre_access access)
{
  static const vyre_segment_binding init = VYRE_SEGMENT_BINDING_INIT;
  vyre_segment_binding *binding = &s->bindings[segment][s->segments[segment].binding_count++];
  *binding = init;
  binding->buffer = buffer;
  binding->access = access;
  return binding;
}

static inline void sample_code(sample *s, const char *format, const char *text)
{
  static const vyre_code init = VYRE_CODE_INIT;
  vyre_code *code = &s->code[s->desc.code_count++];
  *code = init;
  code->format = format;
  code->data = text;
  code->size = strlen(text);
}

/* No buffers, segments or code yet. */
static inline void sample_empty(sample *s)
{
  static const vyre_program_desc init = VYRE_PROGRAM_DESC_INIT;
  memset(s, 0, sizeof *s);
  s->desc = init;
  s->desc.name = "sample";
  s->desc.buffers = s->buffers;
  s->desc.segments = s->segments;
  s->desc.code = s->code;
}

static inline void sample_init(sample *s)
{
  sample_empty(s);
  sample_buffer(s, "in", VYRE_READ_ONLY, 4, 16);
  sample_buffer(s, "out", VYRE_WRITE_ONLY, 4, 16);
  sample_segment(s, "copy");
  sample_bind(s, 0, "in", VYRE_READ_ONLY);
  sample_bind(s, 0, "out", VYRE_WRITE_ONLY);
  sample_code(s, "fixture", "copy\n");
}

#endif
