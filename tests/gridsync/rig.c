/* rig.c - see rig.h. */
#include "tests/gridsync/rig.h"

#include "tests/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool differs(char out_text[RIG_TEXT],
                                                          const char *format, ...)
{
  va_list list;
  va_start(list, format);
  vsnprintf(out_text, RIG_TEXT, format, list);
  va_end(list);
  return false;
}

/* ---- devices ---- */

bool rig_open(rig *r, uint32_t threads, char out_text[RIG_TEXT])
{
  static const vyre_outputs no_outputs = VYRE_OUTPUTS_INIT;
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  char number[16];
  memset(r, 0, sizeof *r);
  r->outputs = no_outputs;
  r->threads = threads;
  snprintf(number, sizeof number, "%u", threads);
  setenv("VYRE_CPU_THREADS", number, 1);
  setenv("VYRE_CACHE_DIR", VYRE_TEST_BINARY_DIR "/test-cache", 0);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  request.selector = test_device();
  if (vyre_context_create(&options, &r->context, &err) ||
      vyre_device_open(r->context, &request, &r->device, &err))
    return differs(out_text, "no device %s: %s (%s)", test_device(), err.message, err.fix);
  return true;
}

void rig_close(rig *r)
{
  vyre_outputs_reset(&r->outputs);
  vyre_device_close(r->device);
  vyre_context_destroy(r->context);
  memset(r, 0, sizeof *r);
}

void rig_record(const rig *r, vyre__recording recording)
{
  r->device->recording = recording;
}

/* ---- creating ---- */

typedef struct description {
  vyre_buffer_decl buffers[VYRE_MAX_BUFFERS];
  vyre_segment_decl segments[PLAIN_SEGMENTS];
  vyre_segment_binding bindings[PLAIN_SEGMENTS][VYRE_MAX_BUFFERS];
  vyre_code code;
  vyre_program_desc desc;
} description;

static void describe_buffer(const plain_buffer *buffer, vyre_buffer_decl *out)
{
  static const vyre_buffer_decl init = VYRE_BUFFER_DECL_INIT;
  *out = init;
  out->name = buffer->name;
  out->access = buffer->access;
  out->flags = buffer->flags;
  out->element_size = buffer->element_size;
  out->element_count = buffer->open ? VYRE_COUNT_FROM_INPUT : buffer->count;
  out->range_offset = buffer->range_offset;
  out->range_size = buffer->range_size;
}

static void describe_segment(const plain_program *program, const plain_segment *segment,
                             vyre_segment_decl *out, vyre_segment_binding *out_bindings)
{
  static const vyre_segment_decl init = VYRE_SEGMENT_DECL_INIT;
  static const vyre_segment_binding init_binding = VYRE_SEGMENT_BINDING_INIT;
  *out = init;
  out->kernel = segment->kernel;
  out->binding_count = segment->binding_count;
  out->bindings = out_bindings;
  memcpy(out->elements, segment->elements, sizeof out->elements);
  memcpy(out->groups, segment->groups, sizeof out->groups);
  for (uint32_t b = 0; b < segment->binding_count; ++b) {
    out_bindings[b] = init_binding;
    out_bindings[b].buffer = program->buffers[segment->bindings[b].buffer].name;
    out_bindings[b].access = segment->bindings[b].access;
    out_bindings[b].flags = segment->bindings[b].flags;
  }
}

static void describe(const plain_program *program, description *out)
{
  static const vyre_program_desc init = VYRE_PROGRAM_DESC_INIT;
  static const vyre_code init_code = VYRE_CODE_INIT;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    describe_buffer(&program->buffers[i], &out->buffers[i]);
  for (uint32_t s = 0; s < program->segment_count; ++s)
    describe_segment(program, &program->segments[s], &out->segments[s], out->bindings[s]);
  out->code = init_code;
  out->code.format = "vyre-c";
  out->code.data = program->source;
  out->code.size = strlen(program->source);
  out->desc = init;
  out->desc.name = "described";
  out->desc.buffers = out->buffers;
  out->desc.buffer_count = program->buffer_count;
  out->desc.segments = out->segments;
  out->desc.segment_count = program->segment_count;
  out->desc.code = &out->code;
  out->desc.code_count = 1;
  out->desc.push_size = program->push_size;
  out->desc.iterations =
      program->created_iterations ? program->created_iterations : program->iterations;
  out->desc.converge = program->converge;
  out->desc.flags = program->flags;
  memcpy(out->desc.workgroup, program->workgroup, sizeof out->desc.workgroup);
  memcpy(out->desc.elements, program->elements, sizeof out->desc.elements);
  memcpy(out->desc.groups, program->groups, sizeof out->desc.groups);
}

vyre_status rig_create(const rig *r, const plain_program *program, vyre_program **out_program,
                       vyre_error *err)
{
  description *all = plain_memory(sizeof *all);
  vyre_status status = VYRE_OK;
  describe(program, all);
  status = vyre_program_create(r->device, &all->desc, out_program, err);
  free(all);
  return status;
}

vyre_status rig_source(const plain_program *program, char **out_text, uint64_t *out_size,
                       vyre_error *err)
{
  description *all = plain_memory(sizeof *all);
  vyre_status status = VYRE_OK;
  describe(program, all);
  status = vyre_program_source(&all->desc, NULL, out_text, out_size, err);
  free(all);
  return status;
}

/* ---- dispatching ---- */

uint32_t rig_inputs(const plain_program *described, vyre_bytes out_inputs[VYRE_MAX_BUFFERS])
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < described->buffer_count; ++i) {
    const plain_buffer *buffer = &described->buffers[i];
    if (buffer->access == VYRE_WORKGROUP || plain_is_output(buffer))
      continue;
    out_inputs[n].data = buffer->given;
    out_inputs[n].size = buffer->given ? buffer->count * buffer->element_size : 0;
    ++n;
  }
  return n;
}

vyre_dispatch_options rig_options(const plain_program *described, vyre_route route)
{
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  options.route = route;
  options.push = described->push;
  options.push_size = described->push_size;
  options.iterations = described->iterations;
  memcpy(options.elements, described->asked_elements, sizeof options.elements);
  return options;
}

/* Created for one pass, so that it has no fused launch, or one without a test, for more. */
static bool may_refuse_native(const plain_program *described)
{
  return described->created_iterations == 1 && described->iterations > 1 &&
         (described->segment_count == 1 || described->converge == VYRE_CONVERGE_EXACT);
}

/* Forms of the resident route are as they were forced. */
static bool compare_form(const rig *r, const vyre_dispatch_result *got, char out_text[RIG_TEXT])
{
  const bool records = (r->device->info.capabilities & VYRE_CAP_SEQUENCES) != 0;
  const bool always = r->device->recording == VYRE__RECORDING_ALWAYS;
  if (got->route != VYRE_ROUTE_RESIDENT || got->form == VYRE_FORM_EMULATED || !got->launches ||
      r->device->recording == VYRE__RECORDING_WORTH)
    return true;
  if (got->form != (records && always ? VYRE_FORM_REPLAYS : VYRE_FORM_LAUNCHES))
    return differs(out_text, "the form is %u (%s)", got->form, got->reason);
  if (got->launches % got->passes)
    return differs(out_text, "%llu launches in %u passes", (unsigned long long)got->launches,
                   got->passes);
  return true;
}

static bool compare_result(const rig *r, const vyre_dispatch_result *got, vyre_route route,
                           const plain_result *want, char out_text[RIG_TEXT])
{
  if (got->passes != want->passes)
    return differs(out_text, "%u passes, not %u (%s)", got->passes, want->passes, got->reason);
  if (got->converged != want->converged)
    return differs(out_text, "converged is %u, not %u (%s)", got->converged, want->converged,
                   got->reason);
  if (route != VYRE_ROUTE_AUTO && got->route != route)
    return differs(out_text, "route %s ran (%s)", vyre_route_name(got->route), got->reason);
  if (got->route == VYRE_ROUTE_NATIVE && got->launches > 1)
    return differs(out_text, "native took %llu launches (%s)", (unsigned long long)got->launches,
                   got->reason);
  return compare_form(r, got, out_text);
}

static bool compare_bytes(const char *what, const uint8_t *got, uint64_t got_size,
                          const uint8_t *want, uint64_t want_size, uint32_t element_size,
                          char out_text[RIG_TEXT])
{
  uint64_t at = 0;
  if (got_size != want_size)
    return differs(out_text, "'%s' has %llu bytes, not %llu", what, (unsigned long long)got_size,
                   (unsigned long long)want_size);
  if (!want_size || !memcmp(got, want, want_size))
    return true;
  while (got[at] == want[at])
    ++at;
  return differs(out_text,
                 "'%s' differs first at byte %llu of %llu (element %llu): 0x%02x, not 0x%02x", what,
                 (unsigned long long)at, (unsigned long long)want_size,
                 (unsigned long long)(at / element_size), got[at], want[at]);
}

static bool compare_outputs(const plain_program *described, const vyre_outputs *outputs,
                            const plain_result *want, char out_text[RIG_TEXT])
{
  uint32_t position = 0;
  if (outputs->count != want->output_count)
    return differs(out_text, "%u outputs, not %u", outputs->count, want->output_count);
  for (uint32_t i = 0; i < described->buffer_count; ++i) {
    const plain_buffer *buffer = &described->buffers[i];
    const vyre_output_slot *slot = &outputs->slots[position];
    const plain_bytes *bytes = &want->outputs[position];
    if (buffer->access != VYRE_READ_WRITE && buffer->access != VYRE_WRITE_ONLY)
      continue;
    if (!compare_bytes(buffer->name, slot->data, slot->size, bytes->data, bytes->size,
                       buffer->element_size, out_text))
      return false;
    ++position;
  }
  return true;
}

static void *copy_of(const void *data, uint64_t size)
{
  void *copy = plain_memory(size);
  if (size)
    memcpy(copy, data, size);
  return copy;
}

bool rig_dispatch(rig *r, vyre_program *program, const plain_program *described, vyre_route route,
                  const plain_result *want, char out_text[RIG_TEXT])
{
  vyre_bytes inputs[VYRE_MAX_BUFFERS] = {{0, 0}};
  void *before[VYRE_MAX_BUFFERS] = {0};
  uint32_t count = rig_inputs(described, inputs);
  vyre_dispatch_options options = rig_options(described, route);
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  bool equal = true;
  for (uint32_t i = 0; i < count; ++i)
    before[i] = copy_of(inputs[i].data, inputs[i].size);
  status = vyre_dispatch(program, &options, inputs, count, &r->outputs, &result, &err);
  if (status == VYRE_ERROR_UNSUPPORTED && route == VYRE_ROUTE_NATIVE &&
      may_refuse_native(described))
    goto done;
  if (status)
    equal = differs(out_text, "%s: %s (%s)", vyre_status_name(status), err.message, err.fix);
  equal = equal && compare_result(r, &result, route, want, out_text) &&
          compare_outputs(described, &r->outputs, want, out_text);
  for (uint32_t i = 0; i < count && equal; ++i)
    if (inputs[i].size && memcmp(before[i], inputs[i].data, inputs[i].size) != 0)
      equal = differs(out_text, "the caller's input %u was written", i);

done:
  for (uint32_t i = 0; i < count; ++i)
    free(before[i]);
  return equal;
}

/* ---- device buffers ---- */

static bool lend(const rig *r, const plain_buffer *buffer, vyre_buffer **out_buffer,
                 char out_text[RIG_TEXT])
{
  vyre_error err = VYRE_ERROR_INIT;
  uint64_t size = buffer->count * buffer->element_size;
  if (vyre_buffer_create(r->device, size, out_buffer, &err) ||
      (buffer->given && vyre_buffer_upload(*out_buffer, 0, buffer->given, size, &err)))
    return differs(out_text, "device buffer '%s': %s", buffer->name, err.message);
  return true;
}

static bool compare_buffer(const plain_buffer *buffer, const vyre_buffer *lent,
                           const plain_bytes *want, char out_text[RIG_TEXT])
{
  uint8_t *got = plain_memory(want->size);
  vyre_error err = VYRE_ERROR_INIT;
  bool equal = true;
  if (vyre_buffer_download(lent, 0, got, want->size, &err))
    equal = differs(out_text, "device buffer '%s': %s", buffer->name, err.message);
  equal = equal && compare_bytes(buffer->name, got, want->size, want->data, want->size,
                                 buffer->element_size, out_text);
  free(got);
  return equal;
}

bool rig_dispatch_buffers(const rig *r, vyre_program *program, const plain_program *described,
                          vyre_route route, const plain_result *want, char out_text[RIG_TEXT])
{
  vyre_buffer *buffers[VYRE_MAX_BUFFERS] = {0};
  uint32_t count = 0, next = 0;
  vyre_dispatch_options options = rig_options(described, route);
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  bool equal = true;
  for (uint32_t i = 0; i < described->buffer_count && equal; ++i)
    if (described->buffers[i].access != VYRE_WORKGROUP)
      equal = lend(r, &described->buffers[i], &buffers[count++], out_text);
  if (!equal)
    goto done;
  status = vyre_dispatch_buffers(program, &options, buffers, count, &result, &err);
  if (status == VYRE_ERROR_UNSUPPORTED && route == VYRE_ROUTE_NATIVE &&
      may_refuse_native(described))
    goto done;
  if (status)
    equal = differs(out_text, "%s: %s (%s)", vyre_status_name(status), err.message, err.fix);
  equal = equal && compare_result(r, &result, route, want, out_text);
  for (uint32_t i = 0; i < described->buffer_count && equal; ++i)
    if (described->buffers[i].access != VYRE_WORKGROUP)
      equal = compare_buffer(&described->buffers[i], buffers[next++], &want->state[i], out_text);

done:
  for (uint32_t i = 0; i < count; ++i)
    vyre_buffer_destroy(buffers[i]);
  return equal;
}
