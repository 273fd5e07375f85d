/* hard.c - see hard.h. */
#include "tests/gridsync/hard.h"

#include <stdlib.h>

rig hard_rigs[HARD_RIGS];
vyre__recording hard_recording;

int hard_open(void **state)
{
  static const uint32_t threads[HARD_RIGS] = {1, 3};
  char text[RIG_TEXT];
  (void)state;
  for (uint32_t i = 0; i < HARD_RIGS; ++i)
    if (!rig_open(&hard_rigs[i], threads[i], text)) {
      fprintf(stderr, "%s\n", text);
      return 1;
    } else {
      rig_record(&hard_rigs[i], hard_recording);
    }
  return 0;
}

int hard_close(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < HARD_RIGS; ++i)
    rig_close(&hard_rigs[i]);
  return 0;
}

void hard_init(hard *h, const char *source)
{
  memset(h, 0, sizeof *h);
  h->program.source = source;
  h->program.iterations = 1;
}

plain_buffer *hard_buffer(hard *h, const char *name, vyre_access access, uint32_t element_size,
                          uint64_t count, const void *given)
{
  plain_buffer *buffer = &h->program.buffers[h->program.buffer_count++];
  buffer->name = name;
  buffer->access = access;
  buffer->element_size = element_size;
  buffer->count = count;
  buffer->given = given;
  return buffer;
}

plain_buffer *hard_output(hard *h, const char *name, uint32_t element_size, uint64_t count)
{
  plain_buffer *buffer = hard_buffer(h, name, VYRE_READ_WRITE, element_size, count, NULL);
  buffer->flags = VYRE_BUFFER_OUTPUT;
  return buffer;
}

plain_segment *hard_segment(hard *h, const char *kernel)
{
  plain_segment *segment = &h->program.segments[h->program.segment_count++];
  segment->kernel = kernel;
  return segment;
}

plain_binding *hard_bind(hard *h, const char *buffer, vyre_access access)
{
  plain_segment *segment = &h->program.segments[h->program.segment_count - 1];
  plain_binding *binding = &segment->bindings[segment->binding_count++];
  binding->access = access;
  while (strcmp(h->program.buffers[binding->buffer].name, buffer) != 0)
    ++binding->buffer;
  return binding;
}

void hard_want(hard *h, const void *bytes, uint64_t size)
{
  plain_bytes *output = &h->want.outputs[h->want.output_count++];
  output->data = (uint8_t *)bytes;
  output->size = size;
}

vyre_program *hard_create(const rig *on, const hard *h)
{
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (rig_create(on, &h->program, &program, &err))
    fail_msg("%s (%s)", err.message, err.fix);
  return program;
}

/* What the device buffers hold at the end; false if a range hides it. */
static bool fill_state(hard *h)
{
  static const uint8_t zeros[1 << 15];
  uint32_t position = 0;
  for (uint32_t i = 0; i < h->program.buffer_count; ++i) {
    const plain_buffer *buffer = &h->program.buffers[i];
    plain_bytes *state = &h->want.state[i];
    state->size = buffer->count * buffer->element_size;
    state->data = (uint8_t *)(buffer->given ? buffer->given : zeros);
    if (buffer->flags & VYRE_BUFFER_RANGE)
      return false;
    if (buffer->access == VYRE_READ_WRITE || buffer->access == VYRE_WRITE_ONLY)
      *state = h->want.outputs[position++];
    assert_true(state->size <= sizeof zeros);
  }
  return true;
}

static void check_route(rig *on, vyre_program *program, hard *h, vyre_route route, const char *how)
{
  char text[RIG_TEXT];
  if (!rig_dispatch(on, program, &h->program, route, &h->want, text))
    fail_msg("%u threads, route %s%s: %s", on->threads, vyre_route_name(route), how, text);
  if (route != VYRE_ROUTE_HOST && fill_state(h) &&
      !rig_dispatch_buffers(on, program, &h->program, route, &h->want, text))
    fail_msg("%u threads, route %s%s, device buffers: %s", on->threads, vyre_route_name(route), how,
             text);
}

void hard_check(hard *h, uint32_t passes, vyre_converged converged)
{
  h->want.passes = passes;
  h->want.converged = converged;
  for (uint32_t i = 0; i < HARD_RIGS; ++i) {
    rig *on = &hard_rigs[i];
    vyre_program *program = hard_create(on, h);
    for (uint32_t round = 0; round < 2; ++round)
      for (vyre_route route = 0; route < RIG_ROUTES; ++route) {
        check_route(on, program, h, route, "");
        if (route != VYRE_ROUTE_RESIDENT)
          continue;
        rig_record(on, VYRE__RECORDING_ALWAYS);
        check_route(on, program, h, route, ", recorded");
        rig_record(on, VYRE__RECORDING_NEVER);
        check_route(on, program, h, route, ", launch by launch");
        rig_record(on, VYRE__RECORDING_WORTH);
      }
    vyre_program_destroy(program);
  }
}

void hard_refused(const hard *h, const char *text)
{
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  assert_int_equal(rig_create(&hard_rigs[0], &h->program, &program, &err),
                   VYRE_ERROR_INVALID_PROGRAM);
  assert_null(program);
  if (!strstr(err.message, text) || !err.fix[0])
    fail_msg("'%s' (%s), not '%s'", err.message, err.fix, text);
}
