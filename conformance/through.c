/* through.c - the plugin behind libvyre; see through.h. */
#include "conformance/through.h"

#include <stdio.h>
#include <string.h>

void through_open(conform *c, through *t)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  const char *const file = conform_plugin_path(c);
  char selector[96];
  memset(t, 0, sizeof *t);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  options.plugin_files = &file;
  options.plugin_file_count = 1;
  CHECK_OK(c, vyre_context_create(&options, &t->context, err));
  t->info.struct_size = sizeof t->info;
  CHECK_OK(c, vyre_context_device_info(t->context, 0, &t->info, err));
  snprintf(selector, sizeof selector, "%s:%u", t->info.backend, conform_device_index(c));
  request.selector = selector;
  CHECK_OK(c, vyre_device_open(t->context, &request, &t->device, err));
  CHECK_OK(c, vyre_device_get_info(t->device, &t->info, err));
}

void through_close(through *t)
{
  vyre_device_close(t->device);
  vyre_context_destroy(t->context);
}

void through_program_init(through_program *p, const char *name, const char *source)
{
  memset(p, 0, sizeof *p);
  p->desc = (vyre_program_desc)VYRE_PROGRAM_DESC_INIT;
  p->code = (vyre_code)VYRE_CODE_INIT;
  p->code.format = "vyre-c";
  p->code.data = source;
  p->code.size = strlen(source);
  p->code.name = name;
  p->desc.name = name;
  p->desc.code_count = 1;
}

void through_program_buffer(through_program *p, const char *name, vyre_access access,
                            uint32_t element_size, uint64_t count)
{
  vyre_buffer_decl *buffer = &p->buffers[p->desc.buffer_count++];
  *buffer = (vyre_buffer_decl)VYRE_BUFFER_DECL_INIT;
  buffer->name = name;
  buffer->access = access;
  buffer->element_size = element_size;
  buffer->element_count = access == VYRE_WORKGROUP ? count : VYRE_COUNT_FROM_INPUT;
}

static const vyre_buffer_decl *find(const through_program *p, const char *name, size_t length)
{
  for (uint32_t i = 0; i < p->desc.buffer_count; ++i)
    if (strlen(p->buffers[i].name) == length && !memcmp(p->buffers[i].name, name, length))
      return &p->buffers[i];
  return NULL;
}

void through_program_segment(through_program *p, const char *kernel, const char *buffers)
{
  vyre_segment_binding *bindings = p->bindings[p->desc.segment_count];
  vyre_segment_decl *segment = &p->segments[p->desc.segment_count++];
  *segment = (vyre_segment_decl)VYRE_SEGMENT_DECL_INIT;
  segment->kernel = kernel;
  for (const char *at = buffers; *at;) {
    vyre_segment_binding *binding = &bindings[segment->binding_count];
    const vyre_access access = *at == '+'   ? VYRE_READ_WRITE
                               : *at == '=' ? VYRE_WRITE_ONLY
                               : *at == '~' ? VYRE_WORKGROUP
                                            : VYRE_READ_ONLY;
    const char *name = at + (access != VYRE_READ_ONLY);
    const size_t length = strcspn(name, " ");
    const vyre_buffer_decl *buffer = find(p, name, length);
    *binding = (vyre_segment_binding)VYRE_SEGMENT_BINDING_INIT;
    binding->access = access;
    binding->buffer = buffer ? buffer->name : "unknown";
    segment->binding_count += 1;
    at = name + length + (name[length] == ' ');
  }
}

vyre_program *through_program_create(conform *c, const through *t, const through_program *p)
{
  through_program own = *p;
  vyre_program *program = NULL;
  own.desc.buffers = own.buffers;
  own.desc.segments = own.segments;
  own.desc.code = &own.code;
  for (uint32_t s = 0; s < own.desc.segment_count; ++s)
    own.segments[s].bindings = own.bindings[s];
  CHECK_OK(c, vyre_program_create(t->device, &own.desc, &program, err));
  return program;
}

/* ---- routes ---- */

static void check_one(conform *c, vyre_program *program, vyre_dispatch_options options,
                      const vyre_bytes *inputs, uint32_t input_count, const through_want *want,
                      const char *what)
{
  const char *route = vyre_route_name(options.route);
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_error record = VYRE_ERROR_INIT;
  const vyre_status status =
      vyre_dispatch(program, &options, inputs, input_count, &outputs, &result, &record);
  CHECK(c, status == VYRE_OK, "%s on the %s route: %d: %.1000s", what, route, (int)status,
        record.message);
  CHECK(c, result.route == options.route, "%s ran on the %s route, asked was %s", what,
        vyre_route_name(result.route), route);
  CHECK(c, outputs.count == want->output_count,
        "%s on the %s route has %u outputs, expected are %u", what, route, outputs.count,
        want->output_count);
  for (uint32_t o = 0; o < outputs.count; ++o) {
    const unsigned char *got = outputs.slots[o].data, *bytes = want->outputs[o].data;
    CHECK(c, outputs.slots[o].size == want->outputs[o].size,
          "%s on the %s route: output %u has %llu bytes, expected are %llu", what, route, o,
          (unsigned long long)outputs.slots[o].size, (unsigned long long)want->outputs[o].size);
    for (uint64_t i = 0; i < outputs.slots[o].size; ++i)
      CHECK(c, got[i] == bytes[i],
            "%s on the %s route: byte %llu of %llu of output %u is 0x%02x, expected is 0x%02x",
            what, route, (unsigned long long)i, (unsigned long long)outputs.slots[o].size, o,
            got[i], bytes[i]);
  }
  CHECK(c, !want->passes || result.passes == want->passes,
        "%s on the %s route made %u passes, expected are %u (PASS-003)", what, route, result.passes,
        want->passes);
  CHECK(c, !want->passes || result.converged == want->converged,
        "%s on the %s route says %u of its convergence, expected is %u (PASS-003)", what, route,
        result.converged, want->converged);
  vyre_outputs_reset(&outputs);
}

void through_check(conform *c, const through *t, vyre_program *program,
                   const vyre_dispatch_options *options, const vyre_bytes *inputs,
                   uint32_t input_count, const through_want *want, bool native, const char *what)
{
  vyre_dispatch_options own = VYRE_DISPATCH_OPTIONS_INIT;
  if (options)
    own = *options;
  if (native) {
    own.route = VYRE_ROUTE_NATIVE;
    check_one(c, program, own, inputs, input_count, want, what);
  }
  if (t->info.capabilities & VYRE_CAP_BUFFERS) {
    own.route = VYRE_ROUTE_RESIDENT;
    check_one(c, program, own, inputs, input_count, want, what);
  }
  own.route = VYRE_ROUTE_HOST;
  check_one(c, program, own, inputs, input_count, want, what);
}
