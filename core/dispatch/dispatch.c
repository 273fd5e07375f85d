/*
 * dispatch.c - starting a program: what is asked for, the plan, the first route that takes it; the
 * synchronous calls on top.
 */
#include "core/dispatch/explain.h"
#include "core/dispatch/learn.h"
#include "core/dispatch/route.h"

#include <stdio.h>

const char *vyre_route_name(vyre_route route)
{
  static const char *const names[] = {"auto", "native", "resident", "host"};
  return route <= VYRE_ROUTE_HOST ? names[route] : "unknown";
}

/* ---- what is asked for ---- */

static vyre_status take_bytes(vyre_pending *pending, const vyre_bytes *inputs, uint32_t count,
                              vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre_status status = vyre__shape_from_inputs(program, inputs, count, &pending->shape, err);
  if (status == VYRE_OK)
    status = vyre__shape_output_limit(program, &pending->shape, &pending->options, err);
  for (uint32_t p = 0; p < count && status == VYRE_OK; ++p)
    pending->given[program->inputs[p]] = inputs[p];
  return status;
}

static vyre_status take_buffers(vyre_pending *pending, vyre_buffer *const *buffers, uint32_t count,
                                vyre_error *err)
{
  const vyre_program *program = pending->program;
  uint32_t next = 0;
  vyre_status status = vyre__shape_from_buffers(program, buffers, count, &pending->shape, err);
  pending->on_buffers = true;
  for (uint32_t i = 0; i < program->buffer_count && status == VYRE_OK; ++i)
    if (program->buffers[i].access != VYRE_WORKGROUP)
      pending->lent[i] = buffers[next++];
  return status;
}

/* What one call gives: bytes or buffers. */
typedef struct given_memory {
  const vyre_bytes *inputs;
  vyre_buffer *const *buffers;
  uint32_t count;
  bool on_buffers;
} given_memory;

/* A handle that knows everything and runs nothing, and the plan for it. */
static vyre_status prepare(vyre_program *program, const vyre_dispatch_options *options,
                           const given_memory *given, vyre_pending **out_pending, vyre_error *err)
{
  vyre_dispatch_options own;
  vyre_status status = vyre__device_check(program->device, program->generation, err);
  if (status == VYRE_OK)
    status = vyre__options_read(program, options, &own, err);
  if (status == VYRE_OK && own.route > VYRE_ROUTE_HOST)
    status = VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use a VYRE_ROUTE_… value",
                       "route %u does not exist", own.route);
  if (status == VYRE_OK)
    status = vyre__pending_create(program, &own, out_pending, err);
  if (status != VYRE_OK)
    return status;
  if (given->on_buffers)
    status = take_buffers(*out_pending, given->buffers, given->count, err);
  else
    status = take_bytes(*out_pending, given->inputs, given->count, err);
  if (status == VYRE_OK)
    status = vyre__plan_make(*out_pending, &(*out_pending)->plan, err);
  return status;
}

/* ---- finding a route that takes it ---- */

/* Gives it to one route after the other until one takes it. */
static vyre_status launch(vyre_pending *pending, vyre_error *err)
{
  vyre__plan *plan = &pending->plan;
  char refused[VYRE_ROUTE_REASON_SIZE];
  refused[0] = '\0';
  for (uint32_t at = 0;; ++at) {
    const vyre__route_ops *ops = plan->rows[plan->order[at]].ops;
    vyre_error said;
    vyre_status status = VYRE_OK;
    vyre__error_clear(&said);
    status = ops->start(pending, plan, &said);
    if (status == VYRE_OK) {
      pending->ops = ops;
      plan->taken = plan->order[at];
      if (refused[0]) /* else pending.c will say it */
        memcpy(pending->result.reason, refused, strlen(refused) + 1);
      return VYRE_OK;
    }
    /* Launches that were started have written: the caller's buffers are not state 0 any more. */
    const bool spoilt = pending->on_buffers && pending->result.launches;
    vyre__pending_forget(pending);
    if (spoilt || !vyre__plan_may_fall(plan, at, status))
      return vyre__error_copy(err, &said);
    snprintf(refused, sizeof refused, "%s was refused: %.200s", plan->rows[plan->order[at]].name,
             said.message);
    vyre__context_log(pending->program->device->context, VYRE_LOG_INFO,
                      "program '%.200s': route %s", pending->program->name, refused);
  }
}

/* ---- the public calls ---- */

static vyre_status start(vyre_program *program, const vyre_dispatch_options *options,
                         const given_memory *given, vyre_pending **out_pending, vyre_error *err)
{
  vyre_pending *pending = NULL;
  vyre_status status = VYRE_OK;
  if (!program || !out_pending)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "%s is NULL",
                     program ? "out_pending" : "program");
  status = prepare(program, options, given, &pending, err);
  if (status == VYRE_OK)
    status = launch(pending, err);
  if (status == VYRE_OK) {
    *out_pending = pending;
    return VYRE_OK;
  }
  vyre__error_prefix(err, "program '%.200s': ", program->name);
  vyre_pending_release(pending);
  return status;
}

vyre_status vyre_dispatch_start(vyre_program *program, const vyre_dispatch_options *options,
                                const vyre_bytes *inputs, uint32_t input_count,
                                vyre_pending **out_pending, vyre_error *err)
{
  const given_memory given = {inputs, NULL, input_count, false};
  return start(program, options, &given, out_pending, err);
}

vyre_status vyre_dispatch_buffers_start(vyre_program *program, const vyre_dispatch_options *options,
                                        vyre_buffer *const *buffers, uint32_t buffer_count,
                                        vyre_pending **out_pending, vyre_error *err)
{
  const given_memory given = {NULL, buffers, buffer_count, true};
  return start(program, options, &given, out_pending, err);
}

vyre_status vyre_dispatch_explain(vyre_program *program, const vyre_dispatch_options *options,
                                  const vyre_bytes *inputs, uint32_t input_count,
                                  const vyre_allocator *allocator, char **out_text, vyre_error *err)
{
  const given_memory given = {inputs, NULL, input_count, false};
  vyre_pending *pending = NULL;
  vyre_status status = VYRE_OK;
  if (!program || !out_text)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "%s is NULL",
                     program ? "out_text" : "program");
  status = prepare(program, options, &given, &pending, err);
  if (status == VYRE_OK)
    status = vyre__explain(pending, &pending->plan, allocator, out_text, err);
  if (status != VYRE_OK)
    vyre__error_prefix(err, "program '%.200s': ", program->name);
  vyre_pending_release(pending);
  return status;
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
  if (status == VYRE_OK)
    vyre__learn(pending);
  vyre_pending_release(pending);
  return status;
}

vyre_status vyre_dispatch(vyre_program *program, const vyre_dispatch_options *options,
                          const vyre_bytes *inputs, uint32_t input_count, vyre_outputs *outputs,
                          vyre_dispatch_result *out_result, vyre_error *err)
{
  const given_memory given = {inputs, NULL, input_count, false};
  vyre_pending *pending = NULL;
  vyre_status status = vyre__outputs_check(outputs, err);
  if (status == VYRE_OK)
    status = vyre__result_check(out_result, err);
  if (status == VYRE_OK)
    status = start(program, options, &given, &pending, err);
  if (status == VYRE_OK)
    status = complete(pending, options, outputs, out_result, err);
  return status;
}

vyre_status vyre_dispatch_buffers(vyre_program *program, const vyre_dispatch_options *options,
                                  vyre_buffer *const *buffers, uint32_t buffer_count,
                                  vyre_dispatch_result *out_result, vyre_error *err)
{
  const given_memory given = {NULL, buffers, buffer_count, true};
  vyre_pending *pending = NULL;
  vyre_status status = vyre__result_check(out_result, err);
  if (status == VYRE_OK)
    status = start(program, options, &given, &pending, err);
  if (status == VYRE_OK)
    status = complete(pending, options, NULL, out_result, err);
  return status;
}
