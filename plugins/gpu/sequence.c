/*
 * sequence.c - launches that are recorded once and started together (tier 5).
 *
 * A sequence is one or two of the driver's graphs, in which every launch waits for the one before
 * it: one of a single replay, made when the sequence is created, and one of many replays, up to
 * MOST_NODES launches, made by the first start that has enough for it.  A start takes the large one
 * as often as it fits and the small one for the rest: 1000 replays of two steps are 39 calls of the
 * driver.
 *
 * Making a graph may wait for the device.  Creation may (DISP-012), a start must not: it makes one
 * only while no persistent launch is there, and under the lock that keeps such from coming.  A
 * graph is sent to the device on `copy`; the next start lets `compute` wait for that, so that
 * nothing is left for the driver to do at the first launch.
 *
 * Code of debug modules reports to a record of its launch, whose address is one of the parameters,
 * and starts may overlap: a sequence with such a step is started launch by launch, each start with
 * a record of its own.
 */
#include "plugins/gpu/arguments.h"
#include "plugins/gpu/check.h"
#include "plugins/gpu/residency.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <stdio.h>
#include <string.h>

/*
 * Between two graphs the device rests about as long as one or two of the launches in them take, so
 * some dozens of those hide it.  A larger graph gains nothing more, and making it takes about a
 * microsecond for each launch.
 */
#define MOST_NODES 64u
/* A graph that would be launched only once is not worth making. */
#define LEAST_LAUNCHES 2u

typedef struct sequence_step {
  vyre_backend_kernel *kernel;
  uint32_t groups[3], workgroup[3], workgroup_memory;
  vyre__gpu_arguments arguments; /* its `fault` is set by each start, under the device's lock */
} sequence_step;

struct vyre_backend_sequence {
  vyre_backend_device *device;
  const vyre_backend_kernel *first;
  uint32_t step_count;
  bool is_debug;
  sequence_step *steps; /* NULL once no graph will be made of them any more */
  vyre__gpu_exec *one;  /* of one replay; NULL for debug code */
  uint32_t replays;     /* of `many`, 1 if there will be none */

  /* Written under the device's lock. */
  vyre__gpu_exec *many; /* and under residency.h's; NULL until it is made */
  bool is_on_its_way;   /* a graph is being sent, and no start has waited for it on `compute` */
};

/* -------- checking -------- */

static const vyre_dispatch_desc *step_at(const vyre_sequence_desc *desc, uint32_t index)
{
  return (const vyre_dispatch_desc *)(const void *)((const char *)desc->steps +
                                                    desc->step_stride * index);
}

static vyre_status check_desc(const vyre_backend_device *device, const vyre_sequence_desc *desc,
                              vyre_error *err)
{
  const vyre_status status =
      PLUGIN_CHECK_SIZE(err, desc, vyre_sequence_desc, VYRE_SEQUENCE_DESC_SIZE_0_3);
  if (status != VYRE_OK)
    return status;
  if (device->facts.sequence_reason[0])
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "start the launches one by one",
                       "no recorded sequences on %s: %s", device->facts.name,
                       device->facts.sequence_reason);
  if (desc->flags)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "unknown sequence flags 0x%llx", (unsigned long long)desc->flags);
  if (!desc->step_count || !desc->steps || desc->step_stride < VYRE_DISPATCH_DESC_SIZE_0_1)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give an array of at least one vyre_dispatch_desc and its stride in bytes",
                       "a sequence of %u steps, which are %s, their stride is %llu bytes",
                       desc->step_count, desc->steps ? "given" : "NULL",
                       (unsigned long long)desc->step_stride);
  return VYRE_OK;
}

/* SEQ-002 */
static vyre_status check_step(const vyre_backend_device *device, const vyre_dispatch_desc *step,
                              uint32_t index, vyre_error *err)
{
  vyre_status status =
      PLUGIN_CHECK_SIZE(err, step, vyre_dispatch_desc, VYRE_DISPATCH_DESC_SIZE_0_1);
  if (status == VYRE_OK && step->flags)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "dispatch it by itself",
                         "step %u has flags 0x%llx", index, (unsigned long long)step->flags);
  if (status == VYRE_OK)
    status = vyre__gpu_check_dispatch(device, step, err);
  for (uint32_t i = 0; status == VYRE_OK && i < step->binding_count; ++i)
    if (vyre__gpu_binding_at(step, i)->kind == VYRE_BINDING_HOST)
      status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "bind a buffer",
                           "binding %u of step %u is of host memory", i, index);
  return status;
}

/* -------- recording -------- */

static vyre_status pack_steps(vyre_backend_sequence *sequence, const vyre_sequence_desc *desc,
                              vyre_error *err)
{
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const vyre_dispatch_desc *from = step_at(desc, i);
    sequence_step *step = &sequence->steps[i];
    vyre__gpu_needs needs;
    vyre_status status = check_step(sequence->device, from, i, err);
    if (status == VYRE_OK)
      status = vyre__gpu_arguments_plan(sequence->device, from, &needs, err);
    if (status != VYRE_OK)
      return status;
    step->kernel = from->kernel;
    memcpy(step->groups, from->groups, sizeof(step->groups));
    memcpy(step->workgroup, from->workgroup, sizeof(step->workgroup));
    step->workgroup_memory = needs.workgroup_memory;
    vyre__gpu_arguments_pack(from, &needs, NULL, &step->arguments);
    sequence->is_debug |= needs.debug;
  }
  sequence->first = sequence->steps[0].kernel;
  return VYRE_OK;
}

static vyre__gpu_code add_replays(const vyre_backend_sequence *sequence, vyre__gpu_graph *graph,
                                  uint32_t replays)
{
  vyre__gpu_node *last = NULL;
  vyre__gpu_code code = 0;
  for (uint32_t replay = 0; replay < replays && !code; ++replay)
    for (uint32_t i = 0; i < sequence->step_count && !code; ++i) {
      sequence_step *step = &sequence->steps[i];
      code =
          vyre__gpu_driver.graph_add(graph, step->kernel->function, step->groups, step->workgroup,
                                     step->workgroup_memory, step->arguments.parameters, &last);
    }
  return code;
}

/* The context is current. */
static vyre_status make_exec(const vyre_backend_sequence *sequence, uint32_t replays,
                             vyre__gpu_exec **out_exec, vyre_error *err)
{
  const vyre__gpu_driver_table *driver = &vyre__gpu_driver;
  vyre__gpu_graph *graph = NULL;
  vyre__gpu_code code = driver->graph_make(&graph);
  if (!code)
    code = add_replays(sequence, graph, replays);
  if (!code)
    code = driver->exec_make(graph, sequence->device->copy, out_exec);
  /* The exec has what it needs; a graph that does not go is of no use to anybody. */
  if (graph)
    (void)driver->graph_drop(graph);
  return vyre__gpu_result(sequence->device, code, "recording a sequence", err);
}

/* -------- creating and releasing -------- */

static vyre_status make(vyre_backend_device *device, const vyre_sequence_desc *desc,
                        vyre_backend_sequence **out_sequence, vyre_error *err)
{
  uint64_t size = 0;
  vyre_backend_sequence *sequence = vyre__plugin_allocate_zeroed(device->host, sizeof(*sequence),
                                                                 _Alignof(vyre_backend_sequence));
  if (!sequence)
    return PLUGIN_FAIL_MEMORY(err, "a sequence");
  *out_sequence = sequence;
  sequence->device = device;
  sequence->step_count = desc->step_count;
  sequence->replays = desc->step_count < MOST_NODES ? MOST_NODES / desc->step_count : 1;
  if (!__builtin_mul_overflow((uint64_t)desc->step_count, sizeof(*sequence->steps), &size))
    sequence->steps = vyre__plugin_allocate(device->host, size, _Alignof(sequence_step));
  if (!sequence->steps)
    return PLUGIN_FAIL_MEMORY(err, "the steps of a sequence");
  return pack_steps(sequence, desc, err);
}

vyre_status vyre__gpu_sequence_create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                      vyre_backend_sequence **out_sequence, vyre_error *err)
{
  vyre_backend_sequence *sequence = NULL;
  vyre__gpu_scope scope;
  if (!device || !out_sequence)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a device and a place for the sequence",
                       "device or out_sequence is NULL");
  vyre_status status = check_desc(device, desc, err);
  if (status != VYRE_OK)
    return status;
  status = make(device, desc, &sequence, err);
  if (status == VYRE_OK && !sequence->is_debug) {
    status = vyre__gpu_enter(device, &scope, err);
    if (status == VYRE_OK)
      status = make_exec(sequence, 1, &sequence->one, err);
    vyre__gpu_leave(&scope);
    sequence->is_on_its_way = true;
    if (sequence->replays == 1) {
      vyre__plugin_deallocate(device->host, sequence->steps);
      sequence->steps = NULL;
    }
  }
  if (status == VYRE_OK)
    *out_sequence = sequence;
  else
    vyre__gpu_sequence_release(device, sequence);
  return status;
}

void vyre__gpu_sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence)
{
  vyre__gpu_scope scope;
  if (!device || !sequence)
    return;
  if (sequence->one && vyre__gpu_enter_to_free(device, &scope)) {
    (void)vyre__gpu_driver.exec_drop(sequence->one);
    if (sequence->many)
      (void)vyre__gpu_driver.exec_drop(sequence->many);
    vyre__gpu_leave(&scope);
  }
  vyre__plugin_deallocate(device->host, sequence->steps);
  vyre__plugin_deallocate(device->host, sequence);
}

/* -------- starting -------- */

/*
 * The graph of many replays, if the start has enough for it.  Without it, beside a persistent
 * launch, more calls do the same.
 */
static vyre_status make_many(vyre_backend_sequence *sequence, uint32_t times, vyre_error *err)
{
  vyre_backend_device *device = sequence->device;
  vyre__gpu_exec *many = NULL;
  vyre_status status = VYRE_OK;
  if (sequence->is_debug || sequence->replays == 1 || times / LEAST_LAUNCHES < sequence->replays)
    return VYRE_OK;
  vyre__gpu_residency_lock();
  if (!sequence->many && !vyre__gpu_residency_units(device)) {
    status = make_exec(sequence, sequence->replays, &many, err);
    pthread_mutex_lock(&device->lock);
    sequence->many = many;
    sequence->is_on_its_way |= many != NULL;
    pthread_mutex_unlock(&device->lock);
  }
  vyre__gpu_residency_unlock();
  return status;
}

/* A fault record for the start, zeroed on `copy`. */
static vyre_status take_fault(vyre_backend_pending *pending, vyre_error *err)
{
  vyre_backend_device *device = pending->device;
  const vyre_status status = vyre__gpu_pending_block(pending, sizeof(vyre__gpu_fault), err);
  if (status != VYRE_OK)
    return status;
  pending->fault = pending->block;
  return vyre__gpu_result(
      device, vyre__gpu_driver.fill(pending->fault, 0, sizeof(vyre__gpu_fault), device->copy),
      "zeroing the memory of a launch", err);
}

/* These under the device's lock. */

/* Lets the launches wait for what is on `copy`: a fault record, or a graph that is being sent. */
static vyre__gpu_code await_copies(vyre_backend_sequence *sequence,
                                   const vyre_backend_pending *pending)
{
  const vyre__gpu_driver_table *driver = &vyre__gpu_driver;
  if (!pending->block && !sequence->is_on_its_way)
    return 0;
  /* As in dispatch.c: what is awaited is recorded already, and the event free again after this. */
  vyre__gpu_code code = driver->event_record(pending->started, sequence->device->copy);
  if (!code)
    code = driver->stream_wait(pending->stream, pending->started);
  if (!code)
    sequence->is_on_its_way = false;
  return code;
}

/* `*out_any`: something is on the stream. */
static vyre__gpu_code launch_graphs(const vyre_backend_sequence *sequence, uint32_t times,
                                    vyre__gpu_stream *stream, bool *out_any)
{
  vyre__gpu_code code = 0;
  while (times && !code) {
    const bool is_many = sequence->many && times >= sequence->replays;
    code = vyre__gpu_driver.exec_launch(is_many ? sequence->many : sequence->one, stream);
    *out_any |= !code;
    times -= is_many ? sequence->replays : 1;
  }
  return code;
}

static vyre__gpu_code launch_steps(const vyre_backend_sequence *sequence, uint32_t times,
                                   const vyre_backend_pending *pending, bool *out_any)
{
  vyre__gpu_code code = 0;
  for (uint32_t replay = 0; replay < times && !code; ++replay)
    for (uint32_t i = 0; i < sequence->step_count && !code; ++i) {
      sequence_step *step = &sequence->steps[i];
      step->arguments.launch.fault = step->kernel->module->debug ? pending->fault : 0;
      code = vyre__gpu_driver.launch(step->kernel->function, step->groups, step->workgroup,
                                     step->workgroup_memory, pending->stream,
                                     step->arguments.parameters, false);
      *out_any |= !code;
    }
  return code;
}

/*
 * The lock is held over all replays, so that none of another start comes between them.  A driver
 * whose queue is full lets the call wait until there is room: what is in front is on its way, and
 * needs no lock of ours to go on.
 */
static vyre_status start(vyre_backend_sequence *sequence, uint32_t times,
                         vyre_backend_pending *pending, vyre_error *err)
{
  const vyre__gpu_driver_table *driver = &vyre__gpu_driver;
  vyre_backend_device *device = sequence->device;
  vyre__gpu_code late = 0;
  bool any = false;
  char what[192];
  pthread_mutex_lock(&device->lock);
  vyre__gpu_code code = await_copies(sequence, pending);
  if (!code)
    code = driver->event_record(pending->started, pending->stream);
  if (!code)
    code = sequence->is_debug ? launch_steps(sequence, times, pending, &any)
                              : launch_graphs(sequence, times, pending->stream, &any);
  if (!code)
    late = driver->event_record(pending->ended, pending->stream);
  pthread_mutex_unlock(&device->lock);
  snprintf(what, sizeof(what), "launching %s %.120s", pending->subject, pending->kernel->name);
  if (code && !any)
    return vyre__gpu_result(device, code, what, err);
  /* What is there runs: the handle tells that it is not all. */
  if (code)
    vyre__gpu_pending_unmarked(pending, code, what);
  else if (late)
    vyre__gpu_pending_unmarked(pending, late, "marking the end of a sequence");
  return VYRE_OK;
}

/* The context is current. */
static vyre_status begin(vyre_backend_sequence *sequence, uint32_t times,
                         vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_backend_device *device = sequence->device;
  vyre_backend_pending *pending = NULL;
  vyre_status status = make_many(sequence, times, err);
  if (status == VYRE_OK)
    status = vyre__gpu_pending_take(device, true, &pending, err);
  if (status != VYRE_OK)
    return status;
  pending->kernel = sequence->first;
  pending->subject = "the sequence that begins with kernel";
  pending->stream = device->compute;
  if (sequence->is_debug)
    status = take_fault(pending, err);
  if (status == VYRE_OK)
    status = start(sequence, times, pending, err);
  if (status == VYRE_OK)
    *out_pending = pending;
  else
    vyre__gpu_pending_give(pending, device->copy);
  return status;
}

vyre_status vyre__gpu_sequence_start(vyre_backend_device *device, vyre_backend_sequence *sequence,
                                     uint32_t times, vyre_backend_pending **out_pending,
                                     vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre__gpu_scope scope;
  if (!device || !sequence || !out_pending || sequence->device != device)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a device, a sequence of it and a place for the handle",
                       "device, sequence or out_pending is NULL, or the sequence is of another "
                       "device");
  if (!times)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start at least one replay",
                       "0 replays of a sequence");
  const uint64_t before = vyre__plugin_clock_ns();
  vyre_status status = vyre__gpu_enter(device, &scope, err);
  if (status == VYRE_OK)
    status = begin(sequence, times, &pending, err);
  vyre__gpu_leave(&scope);
  if (status != VYRE_OK)
    return status;
  pending->enqueue_ns = vyre__plugin_clock_ns() - before;
  *out_pending = pending;
  return VYRE_OK;
}
