/*
 * explain.c - what a dispatch would do, as text: buffers, segments, routes and their costs.
 */
#include "core/dispatch/explain.h"

#include "core/base/text.h"
#include "core/dispatch/bind.h"
#include "core/dispatch/replay.h"
#include "core/dispatch/route.h"

#define U64(value) ((unsigned long long)(value))

static const char *const accesses[] = {"read-only", "read-write", "write-only", "workgroup"};

/* ---- buffers ---- */

static void add_users(const vyre_program *program, uint32_t buffer, vyre__text *text)
{
  bool any = false;
  for (uint32_t s = 0; s < program->segment_count; ++s)
    for (uint32_t b = 0; b < program->segments[s].binding_count; ++b) {
      const vyre__binding_plan *binding = &program->segments[s].bindings[b];
      if (binding->buffer != buffer)
        continue;
      vyre__text_format(text, "%s%u%s", any ? " " : "", s + 1,
                        binding->access == VYRE_READ_ONLY    ? "r"
                        : binding->access == VYRE_READ_WRITE ? "rw"
                        : binding->access == VYRE_WRITE_ONLY ? "w"
                                                             : "");
      any = true;
    }
  if (!any)
    vyre__text_format(text, "no segment: it does not travel");
}

static const char *origin(const vyre_pending *pending, uint32_t buffer)
{
  const vyre__buffer_plan *plan = &pending->program->buffers[buffer];
  if (plan->access == VYRE_WORKGROUP)
    return "for each group";
  if (pending->given[buffer].data)
    return "given";
  return plan->flags & VYRE_BUFFER_OUTPUT ? "output, starts as zeros" : "starts as zeros";
}

static void add_buffers(const vyre_pending *pending, vyre__text *text)
{
  const vyre_program *program = pending->program;
  vyre__text_format(text, "buffers\n");
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    vyre__text_format(text, "  %-16s %-10s %12llu bytes  %s; segments ", program->buffers[i].name,
                      accesses[program->buffers[i].access], U64(pending->shape.sizes[i]),
                      origin(pending, i));
    add_users(program, i, text);
    vyre__text_format(text, "\n");
  }
}

/* ---- segments ---- */

static void add_grid(const uint32_t groups[3], vyre__text *text)
{
  if (!groups[0])
    vyre__text_format(text, "no groups: nothing to launch");
  else
    vyre__text_format(text, "%u x %u x %u groups", groups[0], groups[1], groups[2]);
}

static void add_segments(const vyre_pending *pending, vyre__text *text)
{
  const vyre_program *program = pending->program;
  vyre__text_format(text, "segments, %u x %u x %u items a group\n", program->workgroup[0],
                    program->workgroup[1], program->workgroup[2]);
  for (uint32_t s = 0; s < program->segment_count; ++s) {
    vyre__text_format(text, "  %u of %u  %-16s ", s + 1, program->segment_count,
                      program->segments[s].name);
    add_grid(pending->groups[s], text);
    vyre__text_format(text, "\n");
  }
}

/* ---- passes ---- */

static void add_passes(const vyre_pending *pending, vyre__text *text)
{
  const vyre_program *program = pending->program;
  uint64_t bytes = 0, copies = 0;
  vyre__text_format(text, "passes\n  at most %u", pending->options.iterations);
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (program->buffers[i].written) {
      bytes += pending->shape.sizes[i];
      copies += program->buffers[i].writers > 1 ? pending->shape.sizes[i] : 0;
    }
  if (!pending->tested)
    vyre__text_format(text, "; convergence is not tested\n");
  else if (program->converge == VYRE_CONVERGE_DECLARED)
    vyre__text_format(text, "; ends with the first in which no item says vyre_changed()\n");
  else
    vyre__text_format(text,
                      "; ends with the first that changes nothing in %llu bytes\n"
                      "  the test reads them once a pass%s; on the host route %llu bytes more stay "
                      "in memory\n",
                      U64(bytes),
                      program->settle ? " beside a shadow of the same size on the device"
                                      : ", downloaded: the code brings no test",
                      U64(copies));
}

/* ---- routes ---- */

static void add_launches(const vyre_pending *pending, const vyre__plan *plan, uint32_t row,
                         vyre__text *text)
{
  const bool test = pending->tested && pending->program->settle && row != VYRE__PLAN_HOST;
  const uint64_t launches = vyre__plan_launches(pending, test);
  char replays[128];
  if (row == VYRE__PLAN_NATIVE && vyre__pending_is_long(pending))
    vyre__text_format(text, "1 launch in all, of %u groups", plan->fused_groups);
  else if (row == VYRE__PLAN_EMULATED)
    vyre__text_format(text, "1 call of the plugin in all, %llu steps a pass", U64(launches));
  else
    vyre__text_format(text, "%llu launch%s a pass%s", U64(launches), launches == 1 ? "" : "es",
                      test ? ", the test included" : "");
  if (row == VYRE__PLAN_RESIDENT) {
    vyre__replay_plan(pending, test, replays, sizeof replays);
    vyre__text_format(text, "%s", replays);
  }
}

/* Bytes that go to the device and come back, once a dispatch or once a pass. */
static void add_traffic(const vyre_pending *pending, uint32_t row, vyre__text *text)
{
  const vyre_program *program = pending->program;
  uint64_t up = 0, down = 0;
  if (row == VYRE__PLAN_HOST) {
    for (uint32_t s = 0; s < program->segment_count; ++s)
      for (uint32_t b = 0; b < program->segments[s].binding_count; ++b) {
        const vyre__binding_plan *binding = &program->segments[s].bindings[b];
        if (binding->access == VYRE_WORKGROUP || vyre__step_is_empty(pending, s))
          continue;
        up += pending->shape.sizes[binding->buffer];
        down += vyre__access_writes(binding->access) ? pending->shape.sizes[binding->buffer] : 0;
      }
    vyre__text_format(text, "; a pass takes %llu bytes to segments and %llu back", U64(up),
                      U64(down));
    return;
  }
  vyre__plan_traffic(pending, &up, &down);
  vyre__text_format(text, "; a dispatch takes %llu bytes up and %llu down", U64(up), U64(down));
}

static void add_routes(const vyre_pending *pending, const vyre__plan *plan, vyre__text *text)
{
  vyre__text_format(text, "routes\n");
  for (uint32_t r = 0; r < VYRE__PLAN_ROWS; ++r) {
    const vyre__plan_row *row = &plan->rows[r];
    char costs[160];
    if (r == VYRE__PLAN_EMULATED && !row->possible)
      continue;
    vyre__text_format(text, "  %-9s ", row->name);
    if (!row->possible) {
      vyre__text_format(text, "cannot be: %s\n", row->why);
      continue;
    }
    add_launches(pending, plan, r, text);
    add_traffic(pending, r, text);
    vyre__plan_costs(plan, r, costs, sizeof costs);
    if (costs[0])
      vyre__text_format(text, "\n            costs %s", costs);
    vyre__text_format(text, "\n");
  }
  vyre__text_format(text, "takes %s%s", plan->rows[plan->order[0]].name,
                    pending->options.route == VYRE_ROUTE_AUTO ? "" : ", which was asked for");
  for (uint32_t at = 1; at < plan->count; ++at)
    vyre__text_format(text, "%s %s", at > 1 ? ", then" : "; if it is refused",
                      plan->rows[plan->order[at]].name);
  vyre__text_format(text, "\n");
}

vyre_status vyre__explain(const vyre_pending *pending, const vyre__plan *plan,
                          const vyre_allocator *allocator, char **out_text, vyre_error *err)
{
  const vyre_allocator own = vyre__allocator_or_default(allocator);
  const vyre_program *program = pending->program;
  uint64_t size = 0;
  char *taken = NULL;
  vyre__text text;
  vyre__text_init(&text, &own);
  vyre__text_format(&text, "program '%s' on %s\n", program->name, program->device->info.selector);
  add_buffers(pending, &text);
  add_segments(pending, &text);
  add_passes(pending, &text);
  add_routes(pending, plan, &text);
  taken = vyre__text_take(&text, &size);
  if (!taken)
    return VYRE_FAIL_MEMORY(err, "the text of a plan");
  *out_text = taken;
  return VYRE_OK;
}
