/* learn.c - which of native and resident was faster; see learn.h. */
#include "core/dispatch/learn.h"

#include "core/base/mix.h"
#include "core/dispatch/replay.h"

#include <stdio.h>

#define U64(value) ((unsigned long long)(value))
#define SAMPLES 2u
#define REFUSED UINT64_MAX /* in place of a time */

/* A launch that is replayed takes at least such a part of one that is made by itself. */
#define REPLAY_SHARE 8u

/* Equal for dispatches of the same sizes and grids; never 0. */
static uint64_t shape_of(const vyre_pending *pending)
{
  const vyre_program *program = pending->program;
  uint64_t shape = vyre__mix(pending->options.iterations, pending->on_buffers);
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    shape = vyre__mix(shape, pending->shape.sizes[i]);
  for (uint32_t s = 0; s <= program->segment_count; ++s) {
    shape = vyre__mix(shape, pending->groups[s][0] | (uint64_t)pending->groups[s][1] << 32);
    shape = vyre__mix(shape, pending->groups[s][2]);
  }
  return shape ? shape : 1;
}

/* Their place in vyre__learned. */
static uint32_t place_of(uint32_t row)
{
  return row == VYRE__PLAN_NATIVE ? 0 : 1;
}

static bool is_ours(uint32_t row)
{
  return row == VYRE__PLAN_NATIVE || row == VYRE__PLAN_RESIDENT;
}

/* The lock is held. */
static vyre__learned *find(vyre_program *program, uint64_t shape)
{
  for (uint32_t i = 0; i < VYRE__LEARNED; ++i)
    if (program->learned[i].shape == shape)
      return &program->learned[i];
  return NULL;
}

/* What a route takes for a pass at least: without the kernels, of as many passes as it was. */
static uint64_t least_of(const vyre_pending *pending, const vyre__plan *plan, uint32_t row,
                         uint32_t passes)
{
  const uint64_t least = vyre__plan_cost(pending, plan, row, passes) / passes;
  return row == VYRE__PLAN_RESIDENT && vyre__replay_can(pending->program) ? least / REPLAY_SHARE
                                                                          : least;
}

static uint32_t choose(const vyre_pending *pending, const vyre__plan *plan, uint32_t first,
                       uint32_t other)
{
  const vyre__learned *learned = &plan->learned;
  const uint32_t a = place_of(first), b = place_of(other);
  if (learned->samples[a] < SAMPLES)
    return first;
  if (learned->samples[b] < SAMPLES)
    return least_of(pending, plan, other, learned->passes) < learned->pass_ns[a] ? other : first;
  return learned->pass_ns[b] < learned->pass_ns[a] ? other : first;
}

void vyre__learn_order(const vyre_pending *pending, vyre__plan *plan)
{
  vyre_program *program = pending->program;
  const vyre__learned *learned = NULL;
  uint32_t at = 1, taken = 0;
  if (!plan->reckoned || program->device->info.device_class == VYRE_DEVICE_CPU ||
      pending->options.route != VYRE_ROUTE_AUTO || !plan->count || !is_ours(plan->order[0]))
    return;
  while (at < plan->count && !is_ours(plan->order[at]))
    ++at;
  if (at == plan->count)
    return;
  plan->shape = shape_of(pending);
  pthread_mutex_lock(&program->learning);
  learned = find(program, plan->shape);
  if (learned)
    plan->learned = *learned;
  pthread_mutex_unlock(&program->learning);
  if (!learned)
    return;
  taken = choose(pending, plan, plan->order[0], plan->order[at]);
  if (taken == plan->order[0])
    return;
  plan->is_trial = plan->learned.samples[place_of(taken)] < SAMPLES;
  if (plan->is_trial && !vyre__pending_is_timed(pending)) { /* nothing would be learnt by it */
    plan->shape = 0;
    plan->is_trial = false;
    return;
  }
  for (; at; --at)
    plan->order[at] = plan->order[at - 1];
  plan->order[0] = taken;
}

static void add(vyre__learned *learned, uint32_t place, uint64_t pass_ns)
{
  if (!learned->samples[place] || pass_ns < learned->pass_ns[place])
    learned->pass_ns[place] = pass_ns;
  learned->samples[place] += learned->samples[place] < SAMPLES;
}

void vyre__learn(const vyre_pending *pending)
{
  vyre_program *program = pending->program;
  const vyre__plan *plan = &pending->plan;
  const uint32_t passes = pending->result.passes;
  vyre__learned *learned = NULL;
  if (!plan->shape || !passes || !vyre__pending_is_timed(pending))
    return;
  pthread_mutex_lock(&program->learning);
  learned = find(program, plan->shape);
  if (!learned) { /* the one that came last is the last to go */
    memmove(program->learned + 1, program->learned,
            sizeof program->learned - sizeof *program->learned);
    learned = memset(program->learned, 0, sizeof *program->learned);
    learned->shape = plan->shape;
  }
  learned->passes = passes;
  if (is_ours(plan->taken))
    add(learned, place_of(plan->taken), pending->result.wall_ns / passes);
  if (plan->is_trial && plan->taken != plan->order[0]) { /* it was refused: not again */
    learned->samples[place_of(plan->order[0])] = SAMPLES;
    learned->pass_ns[place_of(plan->order[0])] = REFUSED;
  }
  pthread_mutex_unlock(&program->learning);
}

void vyre__learn_reason(const vyre__plan *plan, char *out_text, size_t size)
{
  const vyre__learned *learned = &plan->learned;
  const uint32_t other = !place_of(plan->taken);
  out_text[0] = '\0';
  if (learned->pass_ns[other] == REFUSED)
    snprintf(out_text, size, "%s was refused before", other ? "resident" : "native");
  else if (learned->samples[0] >= SAMPLES && learned->samples[1] >= SAMPLES)
    snprintf(out_text, size, "measured: native %llu ns a pass, resident %llu ns",
             U64(learned->pass_ns[0]), U64(learned->pass_ns[1]));
  else if (learned->samples[other] >= SAMPLES)
    snprintf(out_text, size, "to be measured: %s took %llu ns a pass",
             other ? "resident" : "native", U64(learned->pass_ns[other]));
}
