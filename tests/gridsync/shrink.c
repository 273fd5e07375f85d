/* shrink.c - greedily: each thing that can be left out is, if the failure stays; see shrink.h. */
#include "tests/gridsync/shrink.h"

#include <stdlib.h>
#include <string.h>

/* Step `n` of one kind: changes the program, or answers false when there is no such step. */
typedef bool (*step_fn)(drawn *d, uint32_t n);

static bool drop_segment(drawn *d, uint32_t n)
{
  plain_program *p = &d->program;
  if (n >= p->segment_count || p->segment_count == 1)
    return false;
  for (uint32_t s = n; s + 1 < p->segment_count; ++s) {
    p->segments[s] = p->segments[s + 1];
    d->words[s] = d->words[s + 1];
  }
  --p->segment_count;
  return true;
}

static bool is_bound(const plain_program *p, uint32_t buffer)
{
  for (uint32_t s = 0; s < p->segment_count; ++s)
    for (uint32_t b = 0; b < p->segments[s].binding_count; ++b)
      if (p->segments[s].bindings[b].buffer == buffer)
        return true;
  return false;
}

/* The last unbound buffer but n; names stay with their buffers. */
static bool drop_buffer(drawn *d, uint32_t n)
{
  plain_program *p = &d->program;
  uint32_t at = p->buffer_count;
  for (uint32_t i = p->buffer_count; i-- > 0;)
    if (!is_bound(p, i) && n-- == 0)
      at = i;
  if (at == p->buffer_count)
    return false;
  free(d->bytes[at]);
  for (uint32_t i = at; i + 1 < p->buffer_count; ++i) {
    p->buffers[i] = p->buffers[i + 1];
    d->bytes[i] = d->bytes[i + 1];
    memcpy(d->names[i], d->names[i + 1], sizeof d->names[i]);
    p->buffers[i].name = d->names[i];
  }
  d->bytes[--p->buffer_count] = NULL;
  for (uint32_t s = 0; s < p->segment_count; ++s)
    for (uint32_t b = 0; b < p->segments[s].binding_count; ++b)
      p->segments[s].bindings[b].buffer -= p->segments[s].bindings[b].buffer > at;
  return true;
}

static bool fewer_passes(drawn *d, uint32_t n)
{
  const uint32_t now = d->program.iterations;
  const uint32_t choices[] = {1, 2, 3, now / 2, now - 1};
  if (n >= 5)
    return false;
  if (choices[n] && choices[n] < now)
    d->program.iterations = choices[n];
  d->program.created_iterations = d->program.iterations;
  return true;
}

static bool smaller_buffer(drawn *d, uint32_t n)
{
  plain_buffer *buffer = &d->program.buffers[n / 5];
  const uint64_t choices[] = {0, 1, 2, buffer->count / 2, buffer->count - 1};
  if (n / 5 >= d->program.buffer_count)
    return false;
  if (buffer->access != VYRE_WORKGROUP && buffer->count && choices[n % 5] < buffer->count)
    buffer->count = choices[n % 5];
  return true;
}

static bool plainer_buffer(drawn *d, uint32_t n)
{
  plain_buffer *buffer = &d->program.buffers[n / 3];
  if (n / 3 >= d->program.buffer_count)
    return false;
  if (n % 3 == 0) {
    buffer->flags &= ~VYRE_BUFFER_RANGE;
    buffer->range_offset = buffer->range_size = 0;
  } else if (n % 3 == 1) {
    buffer->open = false;
  } else if (!buffer->open) {
    buffer->given = NULL;
  }
  return true;
}

static bool plainer_grid(drawn *d, uint32_t n)
{
  plain_program *p = &d->program;
  if (n == 0) {
    memset(p->elements, 0, sizeof p->elements);
  } else if (n == 1) {
    memset(p->groups, 0, sizeof p->groups);
  } else if (n == 2) {
    memset(p->asked_elements, 0, sizeof p->asked_elements);
  } else if (n == 3) {
    memset(p->workgroup, 0, sizeof p->workgroup);
  } else if (n - 4 < p->segment_count) {
    memset(p->segments[n - 4].elements, 0, sizeof p->elements);
    memset(p->segments[n - 4].groups, 0, sizeof p->groups);
  } else {
    return false;
  }
  return true;
}

static bool fewer_constants(drawn *d, uint32_t n)
{
  if (n >= WORD_PUSH_COUNT)
    return false;
  d->push[n] = 0;
  return true;
}

/* True if nothing that a range needs was taken away. */
static bool is_sound(const drawn *d)
{
  for (uint32_t i = 0; i < d->program.buffer_count; ++i) {
    const plain_buffer *buffer = &d->program.buffers[i];
    if (buffer->range_offset + buffer->range_size > buffer->count * buffer->element_size)
      return false;
  }
  return true;
}

/* Names are not compared here and below: a copy has its own. */
static bool same_buffer(const plain_buffer *a, const plain_buffer *b)
{
  return a->access == b->access && a->flags == b->flags && a->element_size == b->element_size &&
         a->open == b->open && a->count == b->count && a->range_offset == b->range_offset &&
         a->range_size == b->range_size && !a->given == !b->given;
}

static bool same_segment(const plain_segment *a, const plain_segment *b)
{
  if (a->run != b->run || a->phases != b->phases || a->tag != b->tag || a->self != b->self ||
      a->binding_count != b->binding_count ||
      memcmp(a->elements, b->elements, sizeof a->elements) != 0 ||
      memcmp(a->groups, b->groups, sizeof a->groups) != 0)
    return false;
  for (uint32_t i = 0; i < a->binding_count; ++i)
    if (a->bindings[i].buffer != b->bindings[i].buffer ||
        a->bindings[i].access != b->bindings[i].access ||
        a->bindings[i].flags != b->bindings[i].flags)
      return false;
  return true;
}

/* Everything but buffers and segments. */
static bool same_frame(const plain_program *a, const plain_program *b)
{
  return a->buffer_count == b->buffer_count && a->segment_count == b->segment_count &&
         memcmp(a->workgroup, b->workgroup, sizeof a->workgroup) == 0 &&
         memcmp(a->elements, b->elements, sizeof a->elements) == 0 &&
         memcmp(a->groups, b->groups, sizeof a->groups) == 0 &&
         a->created_iterations == b->created_iterations && a->iterations == b->iterations &&
         memcmp(a->asked_elements, b->asked_elements, sizeof a->asked_elements) == 0 &&
         a->converge == b->converge && a->flags == b->flags && a->push_size == b->push_size;
}

static bool is_changed(const drawn *a, const drawn *b)
{
  const plain_program *x = &a->program, *y = &b->program;
  if (!same_frame(x, y) || memcmp(a->push, b->push, sizeof a->push) != 0)
    return true;
  for (uint32_t i = 0; i < x->buffer_count; ++i)
    if (!same_buffer(&x->buffers[i], &y->buffers[i]))
      return true;
  for (uint32_t s = 0; s < x->segment_count; ++s)
    if (!same_segment(&x->segments[s], &y->segments[s]))
      return true;
  return false;
}

static bool try_step(drawn *d, step_fn step, uint32_t n, shrink_fails_fn fails, void *self,
                     uint32_t *trials, bool *out_taken)
{
  drawn trial;
  bool more = false;
  drawn_copy(d, &trial);
  more = step(&trial, n);
  *out_taken = false;
  if (more && *trials && is_sound(&trial) && is_changed(d, &trial)) {
    drawn_repair(&trial);
    --*trials;
    *out_taken = fails(self, &trial);
  }
  if (*out_taken) {
    drawn_free(d);
    drawn_copy(&trial, d);
  }
  drawn_free(&trial);
  return more;
}

void shrink(drawn *d, shrink_fails_fn fails, void *self, uint32_t trials)
{
  static const step_fn steps[] = {drop_segment,   fewer_passes, smaller_buffer, drop_buffer,
                                  plainer_buffer, plainer_grid, fewer_constants};
  bool progress = true;
  while (progress && trials) {
    progress = false;
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; ++k) {
      bool taken = false;
      for (uint32_t n = 0; try_step(d, steps[k], n, fails, self, &trials, &taken); ++n)
        progress = progress || taken;
    }
  }
}
