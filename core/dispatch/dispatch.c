/*
 * dispatch.c - starting a program of one segment: on host bytes (tier 1) or on device buffers
 * (tier 2); the synchronous calls on top.
 */
#include "core/dispatch/outputs.h"
#include "core/dispatch/pending.h"

const char *vyre_route_name(vyre_route route)
{
  static const char *const names[] = {"auto", "native", "resident", "host"};
  return route <= VYRE_ROUTE_HOST ? names[route] : "unknown";
}

/* ---- what may run, and how ---- */

/* `route` is the one that the call itself means. */
static vyre_status check_route(const vyre_program *program, vyre_route wanted, vyre_route route,
                               vyre_error *err)
{
  if (wanted == VYRE_ROUTE_AUTO || wanted == route)
    return VYRE_OK;
  if (wanted > VYRE_ROUTE_HOST)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use a VYRE_ROUTE_… value",
                     "route %u does not exist", wanted);
  if (wanted == VYRE_ROUTE_NATIVE)
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, "use VYRE_ROUTE_AUTO",
                     "route native needs a device that synchronises its whole grid, and plugin %s "
                     "does not offer that",
                     program->device->backend->name);
  return VYRE_FAIL(
      err, VYRE_ERROR_UNSUPPORTED,
      route == VYRE_ROUTE_HOST ? "use VYRE_ROUTE_AUTO, or put the bytes in vyre_buffers and call "
                                 "vyre_dispatch_buffers()"
                               : "use VYRE_ROUTE_AUTO, or call vyre_dispatch() with host bytes",
      "route %s was asked for; a dispatch of one segment on %s takes route %s",
      vyre_route_name(wanted), route == VYRE_ROUTE_HOST ? "host bytes" : "device buffers",
      vyre_route_name(route));
}

static vyre_status check_single(const vyre_program *program, const vyre_dispatch_options *options,
                                vyre_error *err)
{
  if (program->segment_count == 1 && options->iterations == 1)
    return VYRE_OK;
  return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                   "dispatch programs of one segment one after the other, with iterations 1",
                   "programs of one segment and one pass can be dispatched; this one has %u "
                   "segments and %u passes",
                   program->segment_count, options->iterations);
}

/* Everything that both ways check first; `out_options` is the caller's in our own size. */
static vyre_status check_start(vyre_program *program, const vyre_dispatch_options *options,
                               vyre_route route, vyre_dispatch_options *out_options,
                               vyre_error *err)
{
  vyre_status status = vyre__device_check(program->device, program->generation, err);
  if (status == VYRE_OK)
    status = vyre__options_read(program, options, out_options, err);
  if (status == VYRE_OK)
    status = check_route(program, out_options->route, route, err);
  if (status == VYRE_OK)
    status = check_single(program, out_options, err);
  return status;
}

/* ---- bindings ---- */

/* What is the same for all kinds. */
static void describe(const vyre_pending *pending, const vyre__binding_plan *plan,
                     vyre_binding *out_binding)
{
  memset(out_binding, 0, sizeof *out_binding);
  out_binding->struct_size = sizeof *out_binding;
  out_binding->id = plan->buffer;
  out_binding->access = plan->access;
  out_binding->size = pending->shape.sizes[plan->buffer];
  out_binding->element_count = pending->shape.counts[plan->buffer];
  if (plan->access == VYRE_WORKGROUP)
    out_binding->kind = VYRE_BINDING_WORKGROUP;
}

/*
 * A write-only binding of a buffer that has a value travels as read-write: what the segment does
 * not write keeps its bytes.
 */
static void bind_host(const vyre_pending *pending, const vyre__binding_plan *plan,
                      vyre_binding *out_binding)
{
  describe(pending, plan, out_binding);
  if (out_binding->kind == VYRE_BINDING_WORKGROUP || (plan->flags & VYRE_BINDING_WRITES_ALL))
    return;
  out_binding->data = pending->given[plan->buffer].data;
  if (out_binding->data && plan->access == VYRE_WRITE_ONLY)
    out_binding->access = VYRE_READ_WRITE;
}

static void bind_buffer(const vyre_pending *pending, const vyre__binding_plan *plan,
                        vyre_buffer *const *by_buffer, vyre_binding *out_binding)
{
  describe(pending, plan, out_binding);
  if (out_binding->kind == VYRE_BINDING_WORKGROUP)
    return;
  out_binding->kind = VYRE_BINDING_BUFFER;
  out_binding->buffer = by_buffer[plan->buffer]->handle;
}

/* ---- launching ---- */

/* Starts the one launch; an empty grid is done without one. */
static vyre_status launch(vyre_pending *pending, const vyre_dispatch_options *options,
                          const vyre_binding *bindings, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const vyre__segment_plan *segment = &program->segments[0];
  vyre_device *device = program->device;
  vyre_dispatch_desc desc = {.struct_size = sizeof desc, .binding_stride = sizeof bindings[0]};
  vyre_error said = VYRE_ERROR_INIT;
  bool empty = false;
  vyre_status status =
      vyre__shape_groups(program, segment, options, &pending->shape, desc.groups, &empty, err);
  if (status != VYRE_OK || empty)
    return status;
  desc.kernel = segment->kernel;
  desc.bindings = bindings;
  desc.binding_count = segment->binding_count;
  desc.id_limit = program->buffer_count;
  desc.push = options->push_size ? options->push : NULL;
  desc.push_size = options->push_size;
  memcpy(desc.workgroup, program->workgroup, sizeof desc.workgroup);
  status = device->backend->dispatch(device->handle, &desc, &pending->handle, &said);
  status = vyre__device_result(device, "dispatch", status, &said, err);
  if (status != VYRE_OK) {
    pending->handle = NULL;
    return status;
  }
  if (!pending->handle)
    return VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                     "plugin %s returned no pending handle and reported no error",
                     device->backend->name);
  pending->launches = 1;
  return VYRE_OK;
}

static vyre_status start_host(vyre_pending *pending, const vyre_dispatch_options *options,
                              const vyre_bytes *inputs, uint32_t input_count, vyre_error *err)
{
  const vyre_program *program = pending->program;
  const vyre__segment_plan *segment = &program->segments[0];
  vyre_binding bindings[VYRE_MAX_BUFFERS];
  vyre_status status = vyre__shape_from_inputs(program, inputs, input_count, &pending->shape, err);
  if (status == VYRE_OK)
    status = vyre__shape_output_limit(program, &pending->shape, options, err);
  if (status != VYRE_OK)
    return status;
  pending->route = VYRE_ROUTE_HOST;
  for (uint32_t p = 0; p < input_count; ++p)
    pending->given[program->inputs[p]] = inputs[p];
  for (uint32_t b = 0; b < segment->binding_count; ++b)
    bind_host(pending, &segment->bindings[b], &bindings[b]);
  return launch(pending, options, bindings, err);
}

static vyre_status start_resident(vyre_pending *pending, const vyre_dispatch_options *options,
                                  vyre_buffer *const *buffers, uint32_t buffer_count,
                                  vyre_error *err)
{
  const vyre_program *program = pending->program;
  const vyre__segment_plan *segment = &program->segments[0];
  vyre_buffer *by_buffer[VYRE_MAX_BUFFERS] = {0};
  vyre_binding bindings[VYRE_MAX_BUFFERS];
  uint32_t next = 0;
  vyre_status status =
      vyre__shape_from_buffers(program, buffers, buffer_count, &pending->shape, err);
  if (status != VYRE_OK)
    return status;
  pending->route = VYRE_ROUTE_RESIDENT;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (program->buffers[i].access != VYRE_WORKGROUP)
      by_buffer[i] = buffers[next++];
  for (uint32_t b = 0; b < segment->binding_count; ++b)
    bind_buffer(pending, &segment->bindings[b], by_buffer, &bindings[b]);
  return launch(pending, options, bindings, err);
}

/* ---- the public calls ---- */

/* Either `inputs` or `buffers` is meant, by `route`. */
static vyre_status start(vyre_program *program, const vyre_dispatch_options *options,
                         vyre_route route, const vyre_bytes *inputs, vyre_buffer *const *buffers,
                         uint32_t count, vyre_pending **out_pending, vyre_error *err)
{
  vyre_dispatch_options own;
  vyre_pending *pending = NULL;
  vyre_status status = VYRE_OK;
  if (!program || !out_pending)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "%s is NULL",
                     program ? "out_pending" : "program");
  status = check_start(program, options, route, &own, err);
  if (status == VYRE_OK)
    status = vyre__pending_create(program, &pending, err);
  if (status != VYRE_OK)
    goto done;
  if (route == VYRE_ROUTE_HOST)
    status = start_host(pending, &own, inputs, count, err);
  else
    status = start_resident(pending, &own, buffers, count, err);
  if (status == VYRE_OK)
    *out_pending = pending;

done:
  if (status != VYRE_OK) {
    vyre__error_prefix(err, "program '%.200s': ", program->name);
    vyre_pending_release(pending);
  }
  return status;
}

vyre_status vyre_dispatch_start(vyre_program *program, const vyre_dispatch_options *options,
                                const vyre_bytes *inputs, uint32_t input_count,
                                vyre_pending **out_pending, vyre_error *err)
{
  return start(program, options, VYRE_ROUTE_HOST, inputs, NULL, input_count, out_pending, err);
}

vyre_status vyre_dispatch_buffers_start(vyre_program *program, const vyre_dispatch_options *options,
                                        vyre_buffer *const *buffers, uint32_t buffer_count,
                                        vyre_pending **out_pending, vyre_error *err)
{
  return start(program, options, VYRE_ROUTE_RESIDENT, NULL, buffers, buffer_count, out_pending,
               err);
}

/* Waits as long as the options allow, hands the outputs out, and frees the handle. */
static vyre_status complete(vyre_pending *pending, const vyre_dispatch_options *options,
                            vyre_outputs *outputs, vyre_dispatch_result *out_result,
                            vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (options && options->timeout_ns)
    status = vyre_pending_wait(pending, options->timeout_ns, err);
  if (status ==
      VYRE_ERROR_TIMEOUT) /* the handle goes with this call: nothing is left to wait for */
    status = VYRE_FAIL(err, VYRE_ERROR_TIMEOUT,
                       "give it more time, or start it with vyre_dispatch_start() and wait again",
                       "the dispatch has not ended after %llu ns; its results are dropped",
                       (unsigned long long)options->timeout_ns);
  if (status == VYRE_OK)
    status = vyre_pending_finish(pending, outputs, out_result, err);
  vyre_pending_release(pending);
  return status;
}

vyre_status vyre_dispatch(vyre_program *program, const vyre_dispatch_options *options,
                          const vyre_bytes *inputs, uint32_t input_count, vyre_outputs *outputs,
                          vyre_dispatch_result *out_result, vyre_error *err)
{
  vyre_pending *pending = NULL;
  vyre_status status = vyre__outputs_check(outputs, err);
  if (status == VYRE_OK)
    status = vyre__result_check(out_result, err);
  if (status == VYRE_OK)
    status = vyre_dispatch_start(program, options, inputs, input_count, &pending, err);
  if (status == VYRE_OK)
    status = complete(pending, options, outputs, out_result, err);
  return status;
}

vyre_status vyre_dispatch_buffers(vyre_program *program, const vyre_dispatch_options *options,
                                  vyre_buffer *const *buffers, uint32_t buffer_count,
                                  vyre_dispatch_result *out_result, vyre_error *err)
{
  vyre_pending *pending = NULL;
  vyre_status status = vyre__result_check(out_result, err);
  if (status == VYRE_OK)
    status = vyre_dispatch_buffers_start(program, options, buffers, buffer_count, &pending, err);
  if (status == VYRE_OK)
    status = complete(pending, options, NULL, out_result, err);
  return status;
}
