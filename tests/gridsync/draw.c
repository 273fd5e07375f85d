/* draw.c - see draw.h. */
#include "tests/gridsync/draw.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

uint64_t draw_number(uint64_t *state)
{
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

uint64_t draw_below(uint64_t *state, uint64_t limit)
{
  return limit ? draw_number(state) % limit : 0;
}

static bool one_in(uint64_t *state, uint64_t n)
{
  return draw_below(state, n) == 0;
}

/* ---- shape ---- */

static void draw_buffer(drawn *d, uint64_t *state)
{
  static const uint32_t sizes[] = {1, 2, 4, 4, 4, 8, 8};
  static const vyre_access accesses[] = {VYRE_READ_ONLY,  VYRE_READ_ONLY,  VYRE_READ_WRITE,
                                         VYRE_READ_WRITE, VYRE_READ_WRITE, VYRE_WRITE_ONLY,
                                         VYRE_WRITE_ONLY};
  uint32_t index = d->program.buffer_count++;
  plain_buffer *buffer = &d->program.buffers[index];
  buffer->access = accesses[draw_below(state, COUNT_OF(accesses))];
  buffer->element_size = sizes[draw_below(state, COUNT_OF(sizes))];
  if (buffer->access == VYRE_WRITE_ONLY || (buffer->access == VYRE_READ_WRITE && one_in(state, 2)))
    buffer->flags = VYRE_BUFFER_OUTPUT;
}

static void draw_scratch(drawn *d)
{
  plain_buffer *buffer = &d->program.buffers[d->program.buffer_count++];
  buffer->access = VYRE_WORKGROUP;
  buffer->element_size = 4;
  buffer->count = WORD_SCRATCH;
}

static bool takes(const word_param *param, const plain_buffer *buffer)
{
  if (!(param->sizes & buffer->element_size))
    return false;
  if (param->access == VYRE_WORKGROUP || buffer->access == VYRE_WORKGROUP)
    return param->access == buffer->access;
  return param->access == buffer->access || buffer->access == VYRE_READ_WRITE;
}

/* Binds the word to buffers of the program, each once; false if there are none that fit. */
static bool bind_word(const drawn *d, const word *w, plain_segment *segment, uint64_t *state)
{
  uint32_t used = 0;
  for (uint32_t p = 0; p < w->param_count; ++p) {
    plain_binding *binding = &segment->bindings[p];
    uint32_t fits[DRAWN_BUFFERS], count = 0;
    for (uint32_t i = 0; i < d->program.buffer_count; ++i)
      if (!(used & 1u << i) && takes(&w->params[p], &d->program.buffers[i]))
        fits[count++] = i;
    if (!count)
      return false;
    binding->buffer = fits[draw_below(state, count)];
    binding->access = w->params[p].access;
    binding->flags = one_in(state, 2) ? w->params[p].flags : 0;
    used |= 1u << binding->buffer;
    if (binding->access == VYRE_WRITE_ONLY &&
        d->program.buffers[binding->buffer].access == VYRE_READ_WRITE && one_in(state, 4)) {
      binding->access = VYRE_READ_WRITE;
      binding->flags = 0;
    }
  }
  segment->binding_count = w->param_count;
  return true;
}

static void draw_segment(drawn *d, const word_source *source, uint64_t *state)
{
  uint32_t index = d->program.segment_count;
  plain_segment *segment = &d->program.segments[index];
  const word *w = NULL;
  if (index && one_in(state, 8)) { /* the same once more */
    uint32_t earlier = (uint32_t)draw_below(state, index);
    *segment = d->program.segments[earlier];
    d->words[index] = d->words[earlier];
    ++d->program.segment_count;
    return;
  }
  do {
    w = source->next(source->self, index, state, &segment->self);
  } while (!bind_word(d, w, segment, state));
  snprintf(d->kernels[index], sizeof d->kernels[index], "s%u_%s", index, w->name);
  segment->kernel = d->kernels[index];
  segment->run = w->run;
  segment->phases = w->phases;
  segment->tag = index * WORD_PUSH;
  d->words[index] = w;
  ++d->program.segment_count;
}

static bool is_written(const drawn *d, uint32_t buffer)
{
  for (uint32_t s = 0; s < d->program.segment_count; ++s) {
    const plain_segment *segment = &d->program.segments[s];
    for (uint32_t b = 0; b < segment->binding_count; ++b)
      if (segment->bindings[b].buffer == buffer &&
          (segment->bindings[b].access == VYRE_READ_WRITE ||
           segment->bindings[b].access == VYRE_WRITE_ONLY))
        return true;
  }
  return false;
}

/* The same kernel is written once. */
static bool is_first(const drawn *d, uint32_t s)
{
  for (uint32_t i = 0; i < s; ++i)
    if (!strcmp(d->program.segments[i].kernel, d->program.segments[s].kernel))
      return false;
  return true;
}

void drawn_repair(drawn *d)
{
  size_t size = 0;
  FILE *to = NULL;
  for (uint32_t i = 0; i < d->program.buffer_count; ++i) {
    plain_buffer *buffer = &d->program.buffers[i];
    if (plain_is_output(buffer) && !is_written(d, i)) {
      buffer->access = VYRE_READ_WRITE; /* one that no segment touches */
      buffer->flags &= ~VYRE_BUFFER_OUTPUT;
    }
  }
  free(d->source);
  d->source = NULL;
  to = open_memstream(&d->source, &size);
  if (!to)
    abort();
  word_write_head(to);
  for (uint32_t s = 0; s < d->program.segment_count; ++s)
    if (is_first(d, s))
      word_write(to, d->words[s], &d->program, &d->program.segments[s]);
  fclose(to);
  d->program.source = d->source;
}

void draw_shape_of(drawn *d, uint64_t shape_seed, const word_source *source)
{
  static const vyre_converge kinds[] = {VYRE_CONVERGE_EXACT, VYRE_CONVERGE_EXACT,
                                        VYRE_CONVERGE_DECLARED, VYRE_CONVERGE_OFF};
  uint64_t state = shape_seed;
  uint32_t buffers = 0, segments = 0;
  memset(d, 0, sizeof *d);
  d->shape_seed = shape_seed;
  buffers = (uint32_t)(one_in(&state, 3) ? 1 + draw_below(&state, 8) : 2 + draw_below(&state, 4));
  segments = (uint32_t)(one_in(&state, 3) ? 1 + draw_below(&state, 8) : 1 + draw_below(&state, 4));
  for (uint32_t i = 0; i < buffers; ++i)
    draw_buffer(d, &state);
  d->program.buffers[draw_below(&state, buffers)].access = VYRE_READ_WRITE; /* some word fits it */
  if (source->scratch)
    draw_scratch(d);
  for (uint32_t i = 0; i < d->program.buffer_count; ++i) {
    snprintf(d->names[i], sizeof d->names[i], "b%u", i);
    d->program.buffers[i].name = d->names[i];
  }
  for (uint32_t s = 0; s < segments; ++s)
    draw_segment(d, source, &state);
  d->program.converge = kinds[draw_below(&state, COUNT_OF(kinds))];
  d->program.flags = one_in(&state, 12) ? VYRE_PROGRAM_DEBUG : 0;
  drawn_repair(d);
}

/* A word of the table; `self` tells whether it may have barriers. */
static const word *next_word(void *self, uint32_t segment, uint64_t *state, const void **out_self)
{
  const bool *barriers = self;
  const word *w = NULL;
  (void)segment;
  *out_self = NULL;
  do
    w = &word_table[draw_below(state, word_count)];
  while ((w->flags & WORD_BARRIER) && !*barriers);
  return w;
}

void draw_shape(drawn *d, uint64_t shape_seed)
{
  uint64_t state = ~shape_seed;
  bool barriers = one_in(&state, 6);
  const word_source source = {next_word, &barriers, barriers};
  draw_shape_of(d, shape_seed, &source);
}

/* ---- variation ---- */

static uint64_t draw_count(uint64_t *state)
{
  static const uint64_t favoured[] = {0,  0,  1,    2,    3,    7,    63,   64,
                                      65, 70, 4095, 4096, 4097, 4098, 4099, 255};
  if (!one_in(state, 3))
    return favoured[draw_below(state, COUNT_OF(favoured))];
  return draw_below(state, one_in(state, 4) ? 4100 : 300);
}

static void draw_range(plain_buffer *buffer, uint64_t *state)
{
  const uint64_t size = buffer->count * buffer->element_size;
  buffer->flags &= ~VYRE_BUFFER_RANGE;
  buffer->range_offset = buffer->range_size = 0;
  if (buffer->access == VYRE_READ_ONLY || buffer->access == VYRE_WORKGROUP || !one_in(state, 4))
    return;
  buffer->flags |= VYRE_BUFFER_RANGE;
  switch (draw_below(state, 4)) {
  case 0:
    break; /* 0..0 */
  case 1:
    buffer->range_size = size < 4 ? size : 4;
    break;
  case 2:
    buffer->range_offset = size;
    break;
  default:
    buffer->range_offset = draw_below(state, size + 1);
    buffer->range_size = draw_below(state, size - buffer->range_offset + 1);
  }
}

static void draw_workgroup(uint32_t workgroup[3], uint64_t *state)
{
  static const uint32_t lines[] = {0, 0, 1, 2, 7, 32, 63, 64, 65, 128, 256, 1000, 1024};
  static const uint32_t blocks[][3] = {{4, 4, 2}, {3, 5, 1},  {2, 1, 3},
                                       {8, 8, 8}, {1, 64, 1}, {0, 2, 2}};
  memset(workgroup, 0, 3 * sizeof workgroup[0]);
  if (one_in(state, 8))
    memcpy(workgroup, blocks[draw_below(state, COUNT_OF(blocks))], 3 * sizeof workgroup[0]);
  else
    workgroup[0] = lines[draw_below(state, COUNT_OF(lines))];
}

static void draw_elements(uint64_t elements[3], uint64_t *state)
{
  static const uint64_t blocks[][3] = {{10, 7, 3}, {1, 1, 300}, {0, 40, 5}, {64, 0, 2}};
  if (one_in(state, 3))
    memcpy(elements, blocks[draw_below(state, COUNT_OF(blocks))], 3 * sizeof elements[0]);
  else
    elements[0] = 1 + draw_below(state, 1500);
}

static void draw_groups(const plain_program *program, uint32_t groups[3], uint64_t *state)
{
  uint32_t workgroup[3];
  plain_workgroup(program, workgroup);
  const uint32_t items = workgroup[0] * workgroup[1] * workgroup[2];
  groups[0] = 1 + (uint32_t)draw_below(state, 3000 / items);
  if (one_in(state, 3))
    groups[draw_below(state, 3)] = 1 + (uint32_t)draw_below(state, 4);
}

static void draw_grid(plain_program *program, uint64_t *state)
{
  memset(program->elements, 0, sizeof program->elements);
  memset(program->groups, 0, sizeof program->groups);
  if (one_in(state, 16))
    draw_elements(program->elements, state);
  else if (one_in(state, 16))
    draw_groups(program, program->groups, state);
  for (uint32_t s = 0; s < program->segment_count; ++s) {
    memset(program->segments[s].elements, 0, sizeof program->segments[s].elements);
    memset(program->segments[s].groups, 0, sizeof program->segments[s].groups);
    if (one_in(state, 10))
      draw_elements(program->segments[s].elements, state);
    else if (one_in(state, 10))
      draw_groups(program, program->segments[s].groups, state);
  }
}

static void fill_bytes(uint8_t *bytes, uint64_t size, uint32_t element_size, uint64_t *state)
{
  const uint64_t style = draw_below(state, 6);
  for (uint64_t at = 0; at < size; at += element_size) {
    uint64_t value = draw_number(state);
    if (style < 2)
      value &= 15;
    else if (style == 2)
      value = at / element_size + 1;
    else if (style == 3)
      value = 0;
    memcpy(bytes + at, &value, element_size);
  }
}

void drawn_refill(drawn *d, uint64_t seed)
{
  uint64_t state = seed;
  for (uint32_t i = 0; i < d->program.buffer_count; ++i) {
    plain_buffer *buffer = &d->program.buffers[i];
    const uint64_t size = buffer->count * buffer->element_size;
    free(d->bytes[i]);
    d->bytes[i] = plain_memory(size);
    fill_bytes(d->bytes[i], size, buffer->element_size, &state);
    buffer->given = buffer->access == VYRE_WORKGROUP ? NULL : d->bytes[i];
    if (!buffer->open && one_in(&state, 4))
      buffer->given = NULL;
  }
}

static void draw_push(drawn *d, uint64_t *state)
{
  const bool calm = one_in(state, 2);
  for (uint32_t i = 0; i < WORD_PUSH_COUNT; ++i) {
    const uint64_t value = draw_number(state), kind = draw_below(state, 4);
    d->push[i] = (uint32_t)(calm || !kind ? 0 : kind < 3 ? value & 7 : value);
    if (calm && i % WORD_PUSH == 1)
      d->push[i] = 62; /* a shift that leaves mix() alone, a small step for saturate() */
  }
  d->program.push = d->push;
  d->program.push_size = sizeof d->push;
}

static uint32_t draw_iterations(uint64_t *state)
{
  return one_in(state, 5) ? 1 : 2 + (uint32_t)draw_below(state, one_in(state, 2) ? 11 : 3);
}

void draw_dispatch(drawn *d, uint64_t seed)
{
  uint64_t state = seed;
  d->seed = seed;
  for (uint32_t i = 0; i < d->program.buffer_count; ++i) {
    plain_buffer *buffer = &d->program.buffers[i];
    if (buffer->open) {
      const uint64_t least = buffer->range_offset + buffer->range_size;
      buffer->count = draw_count(&state);
      if (buffer->count * buffer->element_size < least)
        buffer->count = (least + buffer->element_size - 1) / buffer->element_size;
    }
  }
  drawn_refill(d, draw_number(&state));
  draw_push(d, &state);
  d->program.iterations = draw_iterations(&state);
  memset(d->program.asked_elements, 0, sizeof d->program.asked_elements);
  if (one_in(&state, 16))
    draw_elements(d->program.asked_elements, &state);
}

void draw_variation(drawn *d, uint64_t seed)
{
  uint64_t state = seed;
  const uint64_t usual = draw_count(&state);
  for (uint32_t i = 0; i < d->program.buffer_count; ++i) {
    plain_buffer *buffer = &d->program.buffers[i];
    buffer->open = false;
    if (buffer->access == VYRE_WORKGROUP)
      continue;
    buffer->open = !plain_is_output(buffer) && one_in(&state, 2);
    buffer->count = one_in(&state, 2) ? usual : draw_count(&state);
    draw_range(buffer, &state);
  }
  draw_workgroup(d->program.workgroup, &state);
  draw_grid(&d->program, &state);
  draw_dispatch(d, draw_number(&state));
  d->program.created_iterations = one_in(&state, 3) ? draw_iterations(&state) : 0;
  if (!d->program.created_iterations)
    d->program.created_iterations = d->program.iterations;
  d->seed = seed;
}

static bool has_word(const drawn *d, uint32_t flag)
{
  for (uint32_t s = 0; s < d->program.segment_count; ++s)
    if (d->words[s]->flags & flag)
      return true;
  return false;
}

bool drawn_reads_workgroup(const drawn *d)
{
  return has_word(d, WORD_READS_WORKGROUP);
}

bool drawn_has_barriers(const drawn *d)
{
  return has_word(d, WORD_BARRIER);
}

void drawn_free(drawn *d)
{
  for (uint32_t i = 0; i < DRAWN_BUFFERS; ++i)
    free(d->bytes[i]);
  free(d->source);
  memset(d, 0, sizeof *d);
}

void drawn_copy(const drawn *from, drawn *out)
{
  *out = *from;
  out->source = NULL;
  out->program.push = out->push;
  for (uint32_t i = 0; i < from->program.buffer_count; ++i) {
    plain_buffer *buffer = &out->program.buffers[i];
    const uint64_t size = buffer->count * buffer->element_size;
    buffer->name = out->names[i];
    out->bytes[i] = plain_memory(size);
    if (size && from->bytes[i])
      memcpy(out->bytes[i], from->bytes[i], size);
    if (buffer->given)
      buffer->given = out->bytes[i];
  }
  for (uint32_t s = 0; s < from->program.segment_count; ++s)
    for (uint32_t i = 0; i < DRAWN_SEGMENTS; ++i)
      if (from->program.segments[s].kernel == from->kernels[i])
        out->program.segments[s].kernel = out->kernels[i];
  drawn_repair(out);
}
