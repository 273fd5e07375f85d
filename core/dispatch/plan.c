/* plan.c - which routes can serve a dispatch; see plan.h. */
#include "core/dispatch/plan.h"

#include "core/dispatch/bind.h"
#include "core/dispatch/cost.h"
#include "core/dispatch/route.h"

#include <stdio.h>

#define U64(value) ((unsigned long long)(value))

/* Passes that are reckoned with when nobody knows how many it will be. */
#define LIKELY_PASSES 4u

/* ---- grids ---- */

static uint64_t product(const uint32_t groups[3])
{
  uint64_t all = (uint64_t)groups[0] * groups[1];
  return all > UINT32_MAX ? all : all * groups[2];
}

/* Bytes of the largest buffer that are worth a group of the convergence test on a CPU. */
#define SETTLE_BYTES (64u * 1024u)

/*
 * Groups of the convergence test: on a CPU, where one thread runs all items of a group, as many as
 * keep its threads busy; elsewhere a turn for each item, but no more than a device has use for.
 */
static void settle_groups(const vyre_pending *pending, uint32_t out_groups[3])
{
  const vyre_program *program = pending->program;
  const uint32_t *workgroup = program->workgroup;
  const uint64_t items = (uint64_t)workgroup[0] * workgroup[1] * workgroup[2];
  const uint64_t most = 8ull * program->device->info.compute_units;
  uint64_t bytes = 0, groups = 0;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (program->buffers[i].written && pending->shape.sizes[i] > bytes)
      bytes = pending->shape.sizes[i];
  groups = program->device->info.device_class == VYRE_DEVICE_CPU ? bytes / SETTLE_BYTES + 1
                                                                 : bytes / (8 * items) + 1;
  out_groups[0] = (uint32_t)(groups < most ? groups : most);
  out_groups[1] = out_groups[2] = 1;
}

static vyre_status make_grids(vyre_pending *pending, vyre_error *err)
{
  const vyre_program *program = pending->program;
  vyre_status status = VYRE_OK;
  for (uint32_t s = 0; s < program->segment_count && status == VYRE_OK; ++s) {
    bool empty = false;
    status = vyre__shape_groups(program, &program->segments[s], &pending->options, &pending->shape,
                                pending->groups[s], &empty, err);
    if (status == VYRE_OK && empty)
      memset(pending->groups[s], 0, sizeof pending->groups[s]);
  }
  memset(pending->groups[program->segment_count], 0, sizeof *pending->groups);
  if (pending->tested && program->settle)
    settle_groups(pending, pending->groups[program->segment_count]);
  return status;
}

/* As many groups as are worth it: the largest step decides, the device's limit ends it. */
static uint32_t fused_groups(const vyre_pending *pending)
{
  const vyre_program *program = pending->program;
  const uint32_t *workgroup = program->workgroup;
  const uint64_t items = (uint64_t)workgroup[0] * workgroup[1] * workgroup[2];
  const uint32_t grain = program->device->info.cooperative_items;
  const uint64_t each = grain > items ? grain / items : 1;
  uint64_t most = 1;
  for (uint32_t s = 0; s <= program->segment_count; ++s) {
    const uint64_t groups = product(pending->groups[s]);
    most = groups > most ? groups : most;
  }
  most = most / each + (most % each != 0);
  return (uint32_t)(most < program->fused_groups ? most : program->fused_groups);
}

/* ---- what is possible ---- */

#define NO(row, ...) (void)snprintf((row)->why, sizeof(row)->why, __VA_ARGS__)

static void judge_native(const vyre_pending *pending, vyre__plan_row *row)
{
  const vyre_program *program = pending->program;
  const vyre_device_info *info = &program->device->info;
  if (!(info->capabilities & VYRE_CAP_BUFFERS))
    NO(row, "the device has no buffers");
  else if (!vyre__pending_is_long(pending))
    row->possible = true; /* one plain launch is the whole program */
  else if (program->native_reason[0])
    NO(row, "%s", program->native_reason);
  else if (!program->fused_groups)
    NO(row, "the program was created for one segment and one pass");
  else if (pending->tested && program->converge == VYRE_CONVERGE_EXACT && !program->settle)
    NO(row, "the program was created with iterations 1 and has no test for convergence");
  else if (info->max_bindings && program->fused_count + 2 > info->max_bindings)
    NO(row, "the fused kernel has %u bindings, the device takes %u", program->fused_count + 2,
       info->max_bindings);
  else if (program->workgroup_bytes > info->max_workgroup_memory)
    NO(row, "all segments together want %llu bytes of workgroup memory, the device has %llu",
       U64(program->workgroup_bytes), U64(info->max_workgroup_memory));
  else
    row->possible = true;
}

static void judge_emulated(const vyre_pending *pending, vyre__plan_row *row)
{
  const vyre_program *program = pending->program;
  const vyre_device *device = program->device;
  if (!vyre__pending_is_long(pending) || device->info.grid_sync != VYRE_GRID_SYNC_EMULATED ||
      !VYRE__HAS_SLOT(device->backend, dispatch_passes))
    NO(row, "the plugin has no form of its own");
  else if (pending->tested && program->converge == VYRE_CONVERGE_EXACT && !program->settle)
    NO(row, "the code brings no test for convergence");
  else
    row->possible = true;
}

static void judge_resident(const vyre_pending *pending, vyre__plan_row *row)
{
  row->possible = (pending->program->device->info.capabilities & VYRE_CAP_BUFFERS) != 0;
  if (!row->possible)
    NO(row, "the device has no buffers");
}

static void judge_host(const vyre_pending *pending, vyre__plan_row *row)
{
  row->possible = !pending->on_buffers;
  if (!row->possible)
    NO(row, "the caller's bytes are in buffers of the device");
}

/* ---- what it costs ---- */

static uint64_t launches_of_pass(const vyre_pending *pending, bool with_test)
{
  uint64_t launches = 0;
  for (uint32_t s = 0; s < pending->program->segment_count + with_test; ++s)
    launches += !vyre__step_is_empty(pending, s);
  return launches;
}

static void reckon(vyre_pending *pending, vyre__plan *plan)
{
  vyre__plan_row *native = &plan->rows[VYRE__PLAN_NATIVE];
  vyre__plan_row *resident = &plan->rows[VYRE__PLAN_RESIDENT];
  const uint32_t limit = pending->options.iterations;
  const uint64_t passes = pending->tested && limit > LIKELY_PASSES ? LIKELY_PASSES : limit;
  const uint64_t barriers = pending->program->segment_count + (pending->program->settle != NULL);
  const uint64_t launches = launches_of_pass(pending, true) + pending->tested;
  vyre__cost cost = {0, 0};
  if (!vyre__pending_is_long(pending) || !native->possible || !resident->possible ||
      !vyre__cost_get(pending, plan->fused_groups, &cost))
    return;
  native->cost_ns = cost.launch_ns + passes * barriers * (cost.barrier_ns - 1);
  resident->cost_ns = passes * launches * cost.launch_ns;
  NO(native, "one launch of %u groups, %llu barriers of %llu ns a pass", plan->fused_groups,
     U64(barriers), U64(cost.barrier_ns - 1));
  NO(resident, "%llu launches of %llu ns a pass%s", U64(launches - pending->tested),
     U64(cost.launch_ns), pending->tested ? ", and one word back" : "");
}

/* ---- the order ---- */

static bool is_wanted(const vyre_pending *pending, const vyre__plan_row *row)
{
  const vyre_route wanted = pending->options.route;
  return row->possible && (wanted == VYRE_ROUTE_AUTO || wanted == row->ops->route);
}

static void add(const vyre_pending *pending, vyre__plan *plan, uint32_t row)
{
  if (is_wanted(pending, &plan->rows[row]))
    plan->order[plan->count++] = row;
}

/* One launch is best made where the bytes are. */
static void order_short(const vyre_pending *pending, vyre__plan *plan)
{
  add(pending, plan, VYRE__PLAN_HOST);
  add(pending, plan, VYRE__PLAN_RESIDENT);
  if (pending->options.route == VYRE_ROUTE_NATIVE)
    add(pending, plan, VYRE__PLAN_NATIVE);
}

static void order_long(const vyre_pending *pending, vyre__plan *plan)
{
  const vyre__plan_row *native = &plan->rows[VYRE__PLAN_NATIVE];
  const vyre__plan_row *resident = &plan->rows[VYRE__PLAN_RESIDENT];
  const bool launches_win = native->cost_ns > resident->cost_ns;
  if (!launches_win)
    add(pending, plan, VYRE__PLAN_NATIVE);
  add(pending, plan, VYRE__PLAN_EMULATED);
  add(pending, plan, VYRE__PLAN_RESIDENT);
  if (launches_win)
    add(pending, plan, VYRE__PLAN_NATIVE);
  add(pending, plan, VYRE__PLAN_HOST);
}

static vyre_status check_forced(const vyre_pending *pending, const vyre__plan *plan,
                                vyre_error *err)
{
  const vyre_route wanted = pending->options.route;
  const char *why = "";
  for (uint32_t r = 0; r < VYRE__PLAN_ROWS; ++r)
    if (wanted == plan->rows[r].ops->route)
      why = plan->rows[r].why;
  if (plan->count)
    return VYRE_OK;
  if (wanted == VYRE_ROUTE_AUTO)
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, NULL, "no route can serve this dispatch");
  return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                   wanted == VYRE_ROUTE_HOST
                       ? "use VYRE_ROUTE_AUTO, or call vyre_dispatch() with host bytes"
                       : "use VYRE_ROUTE_AUTO: it takes a route that this device has",
                   "route %s cannot be: %s", vyre_route_name(wanted), why);
}

vyre_status vyre__plan_make(vyre_pending *pending, vyre__plan *out_plan, vyre_error *err)
{
  static const vyre__route_ops *const routes[VYRE__PLAN_ROWS] = {
      &vyre__route_native, &vyre__route_emulated, &vyre__route_resident, &vyre__route_host};
  vyre_status status = make_grids(pending, err);
  if (status != VYRE_OK)
    return status;
  memset(out_plan, 0, sizeof *out_plan);
  for (uint32_t r = 0; r < VYRE__PLAN_ROWS; ++r)
    out_plan->rows[r].ops = routes[r];
  judge_native(pending, &out_plan->rows[VYRE__PLAN_NATIVE]);
  judge_emulated(pending, &out_plan->rows[VYRE__PLAN_EMULATED]);
  judge_resident(pending, &out_plan->rows[VYRE__PLAN_RESIDENT]);
  judge_host(pending, &out_plan->rows[VYRE__PLAN_HOST]);
  if (vyre__pending_is_long(pending)) {
    out_plan->fused_groups = fused_groups(pending);
    if (pending->options.route == VYRE_ROUTE_AUTO)
      reckon(pending, out_plan);
    order_long(pending, out_plan);
  } else {
    order_short(pending, out_plan);
  }
  return check_forced(pending, out_plan, err);
}

bool vyre__plan_may_fall(const vyre__plan *plan, uint32_t at, vyre_status refused)
{
  if (at + 1 >= plan->count)
    return false;
  return refused == VYRE_ERROR_RESIDENCY_EXCEEDED || refused == VYRE_ERROR_UNSUPPORTED ||
         refused == VYRE_ERROR_OUT_OF_DEVICE_MEMORY || refused == VYRE_ERROR_DISPATCH_FAILED;
}
