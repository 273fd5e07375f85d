/* draw_print.c - a drawn program as text. */
#include "tests/gridsync/draw.h"

#define U64(value) ((unsigned long long)(value))

static const char *const access_names[] = {"READ_ONLY", "READ_WRITE", "WRITE_ONLY", "WORKGROUP"};

static void print_three(FILE *to, const char *what, const uint64_t n[3])
{
  if (n[0] || n[1] || n[2])
    fprintf(to, ", %s {%llu, %llu, %llu}", what, U64(n[0]), U64(n[1]), U64(n[2]));
}

static void print_groups(FILE *to, const char *what, const uint32_t n[3])
{
  const uint64_t wide[3] = {n[0], n[1], n[2]};
  print_three(to, what, wide);
}

static void print_buffer(FILE *to, const plain_buffer *buffer)
{
  const uint8_t *bytes = buffer->given;
  const uint64_t size = buffer->count * buffer->element_size;
  fprintf(to, "  buffer %s %s%s: %llu elements of %u bytes%s", buffer->name,
          access_names[buffer->access], buffer->flags & VYRE_BUFFER_OUTPUT ? " OUTPUT" : "",
          U64(buffer->count), buffer->element_size, buffer->open ? ", from the input" : "");
  if (buffer->flags & VYRE_BUFFER_RANGE)
    fprintf(to, ", range %llu+%llu", U64(buffer->range_offset), U64(buffer->range_size));
  fprintf(to, bytes ? ", begins" : ", not given");
  for (uint64_t i = 0; bytes && i < size && i < 16; ++i)
    fprintf(to, " %02x", bytes[i]);
  fprintf(to, "\n");
}

static void print_segment(FILE *to, const plain_program *program, const plain_segment *segment)
{
  fprintf(to, "  segment %s:", segment->kernel);
  for (uint32_t b = 0; b < segment->binding_count; ++b)
    fprintf(to, " %s %s%s", program->buffers[segment->bindings[b].buffer].name,
            access_names[segment->bindings[b].access],
            segment->bindings[b].flags & VYRE_BINDING_WRITES_ALL ? " WRITES_ALL" : "");
  print_three(to, "elements", segment->elements);
  print_groups(to, "groups", segment->groups);
  fprintf(to, "\n");
}

void drawn_print(const drawn *d, FILE *to)
{
  static const char *const kinds[] = {"EXACT", "DECLARED", "OFF"};
  const plain_program *p = &d->program;
  fprintf(to, "shape seed 0x%llx, variation 0x%llx\n", U64(d->shape_seed), U64(d->seed));
  fprintf(to, "  converge %s, iterations %u (created with %u)%s", kinds[p->converge], p->iterations,
          p->created_iterations, p->flags & VYRE_PROGRAM_DEBUG ? ", debug" : "");
  print_groups(to, "workgroup", p->workgroup);
  print_three(to, "elements", p->elements);
  print_groups(to, "groups", p->groups);
  print_three(to, "elements of the dispatch", p->asked_elements);
  fprintf(to, "\n");
  for (uint32_t i = 0; i < p->buffer_count; ++i)
    print_buffer(to, &p->buffers[i]);
  for (uint32_t s = 0; s < p->segment_count; ++s)
    print_segment(to, p, &p->segments[s]);
  fprintf(to, "  push");
  for (uint32_t i = 0; i < WORD_PUSH_COUNT; ++i)
    fprintf(to, " 0x%x", d->push[i]);
  fprintf(to, "\n%s\n", d->source);
}
