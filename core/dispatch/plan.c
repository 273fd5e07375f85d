/* plan.c - which routes can serve a dispatch; see plan.h. */
#include "core/dispatch/plan.h"

#include "core/base/checked.h"
#include "core/dispatch/bind.h"
#include "core/dispatch/cost.h"
#include "core/dispatch/learn.h"
#include "core/dispatch/replay.h"
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
  pending->idle = !pending->tested;
  for (uint32_t s = 0; s < program->segment_count && status == VYRE_OK; ++s) {
    bool empty = false;
    status = vyre__shape_groups(program, &program->segments[s], &pending->options, &pending->shape,
                                pending->groups[s], &empty, err);
    if (status == VYRE_OK && empty)
      memset(pending->groups[s], 0, sizeof pending->groups[s]);
    pending->idle = pending->idle && empty;
  }
  memset(pending->groups[program->segment_count], 0, sizeof *pending->groups);
  if (pending->tested && program->settle)
    settle_groups(pending, pending->groups[program->segment_count]);
  return status;
}

/*
 * On a GPU a barrier's trips are as long as some turns of a group, and a group alone makes none: so
 * a few turns of few items are one group's.  And groups beyond those that keep a unit busy make
 * every barrier longer: 264 groups of 256 on 132 units meet in 1 us, 1056 in 2.2 us.  Where each of
 * them has many turns the barrier is little beside them, and twice as many groups keep more of the
 * memory under way: 2^22 words take 7.4 us in place of 8.9 on an H200.  Not beside an engine, which
 * may leave no room for them.
 */
#define TURNS_OF_ONE 4u
#define ITEMS_OF_A_UNIT 1024u
#define TURNS_OF_MANY 16u

/* `turns`: logical groups of the largest step; `groups`: those that are worth it by their items. */
static uint64_t limit_groups(const vyre_device *device, uint64_t turns, uint64_t groups,
                             uint64_t items)
{
  const vyre_device_info *info = &device->info;
  const uint64_t each = items < ITEMS_OF_A_UNIT ? ITEMS_OF_A_UNIT / items : 1;
  const uint64_t most = info->compute_units * each;
  if (info->device_class == VYRE_DEVICE_CPU || !info->compute_units)
    return groups;
  if (turns <= TURNS_OF_ONE && turns * items <= ITEMS_OF_A_UNIT)
    return 1;
  if (turns / most >= TURNS_OF_MANY && vyre__site_is_empty(device->site))
    return groups < 2 * most ? groups : 2 * most;
  return groups < most ? groups : most;
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
  most = limit_groups(program->device, most, most / each + (most % each != 0), items);
  return (uint32_t)(most < program->fused_groups ? most : program->fused_groups);
}

/* ---- what is possible ---- */

static void judge_native(const vyre_pending *pending, vyre__plan_row *row)
{
  const vyre_program *program = pending->program;
  const vyre_device_info *info = &program->device->info;
  if (!(info->capabilities & VYRE_CAP_BUFFERS))
    row->why = "the device has no buffers";
  else if (!vyre__pending_is_long(pending))
    row->possible = true; /* one plain launch is the whole program */
  else if (program->native_reason[0])
    row->why = program->native_reason;
  else if (!program->fused_groups)
    row->why = "the program was created for one segment and one pass";
  else if (pending->tested && program->converge == VYRE_CONVERGE_EXACT && !program->settle)
    row->why = "the program was created with iterations 1 and has no test for convergence";
  else if (info->max_bindings && program->fused_count + 2 > info->max_bindings)
    row->why = "the fused kernel has more bindings than the device takes";
  else if (program->workgroup_bytes > info->max_workgroup_memory)
    row->why = "all segments together want more workgroup memory than the device has";
  else
    row->possible = true;
}

static void judge_emulated(const vyre_pending *pending, vyre__plan_row *row)
{
  const vyre_program *program = pending->program;
  const vyre_device *device = program->device;
  if (!vyre__pending_is_long(pending) || device->info.grid_sync != VYRE_GRID_SYNC_EMULATED ||
      !VYRE__HAS_SLOT(device->backend, dispatch_passes))
    row->why = "the plugin has no form of its own";
  else if (pending->tested && program->converge == VYRE_CONVERGE_EXACT && !program->settle)
    row->why = "the code brings no test for convergence";
  else
    row->possible = true;
}

static void judge_resident(const vyre_pending *pending, vyre__plan_row *row)
{
  row->possible = (pending->program->device->info.capabilities & VYRE_CAP_BUFFERS) != 0;
  if (!row->possible)
    row->why = "the device has no buffers";
}

static void judge_host(const vyre_pending *pending, vyre__plan_row *row)
{
  row->possible = !pending->on_buffers;
  if (!row->possible)
    row->why = "the caller's bytes are in buffers of the device";
}

/* ---- what it costs ---- */

uint64_t vyre__plan_launches(const vyre_pending *pending, bool with_test)
{
  uint64_t launches = 0;
  for (uint32_t s = 0; s < pending->program->segment_count + with_test; ++s)
    launches += !vyre__step_is_empty(pending, s);
  return launches;
}

void vyre__plan_traffic(const vyre_pending *pending, uint64_t *out_up, uint64_t *out_down)
{
  const vyre_program *program = pending->program;
  uint64_t offset = 0, size = 0;
  *out_up = *out_down = 0;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (program->buffers[i].bound && pending->given[i].data)
      *out_up += pending->shape.sizes[i];
  for (uint32_t p = 0; p < program->output_count; ++p) {
    vyre__shape_range(program, &pending->shape, program->outputs[p], &offset, &size);
    *out_down += program->buffers[program->outputs[p]].bound ? size : 0;
  }
}

/* Bytes that a CPU moves in a pass on the host route: it reads the caller's where they are. */
static uint64_t host_bytes(const vyre_pending *pending)
{
  const vyre_program *program = pending->program;
  uint64_t bytes = 0;
  for (uint32_t s = 0; s < program->segment_count; ++s)
    for (uint32_t b = 0; b < program->segments[s].binding_count; ++b) {
      const vyre__binding_plan *binding = &program->segments[s].bindings[b];
      const uint64_t size = pending->shape.sizes[binding->buffer];
      if (binding->access == VYRE_WORKGROUP || vyre__step_is_empty(pending, s))
        continue;
      if (vyre__access_writes(binding->access))
        bytes += 2 * size;
    }
  return bytes;
}

/* Saturates: what is that dear loses anyway. */
static uint64_t times(uint64_t a, uint64_t b)
{
  uint64_t product = 0;
  return vyre__checked_multiply(a, b, &product) ? product : UINT64_MAX / 8;
}

uint64_t vyre__plan_cost(const vyre_pending *pending, const vyre__plan *plan, uint32_t row,
                         uint64_t passes)
{
  const vyre__cost *cost = &plan->cost;
  const uint64_t bytes = times(plan->copies, cost->copy_ps) / 1000;
  if (row == VYRE__PLAN_NATIVE)
    return cost->start_ns + times(passes * plan->barriers, cost->barrier_ns - 1) + bytes;
  return times(passes * (plan->launches + pending->tested), cost->launch_ns) + bytes;
}

static void reckon(vyre_pending *pending, vyre__plan *plan)
{
  vyre__plan_row *native = &plan->rows[VYRE__PLAN_NATIVE];
  vyre__plan_row *resident = &plan->rows[VYRE__PLAN_RESIDENT];
  vyre__plan_row *host = &plan->rows[VYRE__PLAN_HOST];
  const vyre__cost *cost = &plan->cost;
  const uint32_t limit = pending->options.iterations;
  const uint64_t passes = pending->tested && limit > LIKELY_PASSES ? LIKELY_PASSES : limit;
  uint64_t up = 0, down = 0;
  if (!pending->on_buffers)
    vyre__plan_traffic(pending, &up, &down);
  plan->copies = up + down;
  native->bytes_once = resident->bytes_once = plan->copies;
  host->bytes_pass = host_bytes(pending);
  plan->barriers = pending->program->segment_count + (pending->program->settle != NULL);
  plan->launches = (uint32_t)vyre__plan_launches(pending, true);
  if (!native->possible || !resident->possible || pending->options.route != VYRE_ROUTE_AUTO ||
      !vyre__cost_get(pending, plan->fused_groups, &plan->cost))
    return;
  plan->reckoned = true;
  native->cost_ns = vyre__plan_cost(pending, plan, VYRE__PLAN_NATIVE, passes);
  resident->cost_ns = vyre__plan_cost(pending, plan, VYRE__PLAN_RESIDENT, passes);
  host->cost_ns = times(passes * vyre__plan_launches(pending, false), cost->launch_ns) +
                  times(times(passes, host->bytes_pass), cost->copy_ps) / 1000;
}

void vyre__plan_costs(const vyre__plan *plan, uint32_t row, char *out_text, size_t size)
{
  const vyre__cost *cost = &plan->cost;
  out_text[0] = '\0';
  if (!plan->reckoned)
    return;
  if (row == VYRE__PLAN_NATIVE)
    snprintf(out_text, size, "a launch of %u groups in %llu ns, %u barriers of %llu ns a pass",
             plan->fused_groups, U64(cost->start_ns), plan->barriers, U64(cost->barrier_ns - 1));
  else if (row == VYRE__PLAN_RESIDENT)
    snprintf(out_text, size, "%u launches of %llu ns a pass", plan->launches, U64(cost->launch_ns));
  else if (row == VYRE__PLAN_HOST)
    snprintf(out_text, size, "launches of %llu ns, and %llu bytes a pass at %llu ps",
             U64(cost->launch_ns), U64(plan->rows[row].bytes_pass), U64(cost->copy_ps));
}

void vyre__plan_reason(const vyre_pending *pending, char *out_text, size_t size)
{
  const vyre__plan *plan = &pending->plan;
  const vyre__plan_row *native = &plan->rows[VYRE__PLAN_NATIVE];
  size_t length = 0;
  char costs[2][112], measured[112];
  if (pending->options.route != VYRE_ROUTE_AUTO)
    snprintf(out_text, size, "asked for");
  else if (!vyre__pending_is_long(pending))
    snprintf(out_text, size, "one segment, one pass: one launch where the %s",
             pending->on_buffers ? "buffers are" : "bytes are");
  else if (!native->possible)
    snprintf(out_text, size, "not native: %.200s", native->why);
  else if (plan->reckoned) {
    vyre__plan_costs(plan, VYRE__PLAN_NATIVE, costs[0], sizeof costs[0]);
    vyre__plan_costs(plan, plan->taken == VYRE__PLAN_HOST ? VYRE__PLAN_HOST : VYRE__PLAN_RESIDENT,
                     costs[1], sizeof costs[1]);
    snprintf(out_text, size, "native: %s; %s: %s", costs[0],
             plan->taken == VYRE__PLAN_HOST ? "host" : "resident", costs[1]);
  } else {
    snprintf(out_text, size, "the costs could not be measured");
  }
  if (plan->shape) {
    vyre__learn_reason(plan, measured, sizeof measured);
    if (measured[0])
      snprintf(out_text, size, "%s", measured);
  }
  length = strlen(out_text);
  vyre__replay_reason(pending, out_text + length, size - length);
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

/*
 * By cost where costs are known; else by what is usual.  Of the host route they are known on a CPU
 * only: elsewhere each of its launches waits for copies there and back, which nobody has measured.
 */
static void order_long(const vyre_pending *pending, vyre__plan *plan)
{
  uint32_t rows[VYRE__PLAN_ROWS] = {VYRE__PLAN_NATIVE, VYRE__PLAN_EMULATED, VYRE__PLAN_RESIDENT,
                                    VYRE__PLAN_HOST};
  const bool is_cpu = pending->program->device->info.device_class == VYRE_DEVICE_CPU;
  const uint32_t known = is_cpu ? VYRE__PLAN_ROWS : VYRE__PLAN_HOST;
  for (uint32_t i = 1; i < known && plan->reckoned; ++i)
    for (uint32_t j = i; j && plan->rows[rows[j]].cost_ns < plan->rows[rows[j - 1]].cost_ns; --j) {
      const uint32_t dearer = rows[j - 1];
      rows[j - 1] = rows[j];
      rows[j] = dearer;
    }
  for (uint32_t i = 0; i < VYRE__PLAN_ROWS; ++i)
    add(pending, plan, rows[i]);
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
  static const char *const names[VYRE__PLAN_ROWS] = {"native", "emulated", "resident", "host"};
  vyre_status status = make_grids(pending, err);
  if (status != VYRE_OK)
    return status;
  memset(out_plan, 0, sizeof *out_plan);
  for (uint32_t r = 0; r < VYRE__PLAN_ROWS; ++r) {
    out_plan->rows[r].ops = routes[r];
    out_plan->rows[r].name = names[r];
    out_plan->rows[r].why = "";
  }
  judge_native(pending, &out_plan->rows[VYRE__PLAN_NATIVE]);
  judge_emulated(pending, &out_plan->rows[VYRE__PLAN_EMULATED]);
  judge_resident(pending, &out_plan->rows[VYRE__PLAN_RESIDENT]);
  judge_host(pending, &out_plan->rows[VYRE__PLAN_HOST]);
  if (vyre__pending_is_long(pending)) {
    out_plan->fused_groups = fused_groups(pending);
    reckon(pending, out_plan);
    order_long(pending, out_plan);
    vyre__learn_order(pending, out_plan);
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
