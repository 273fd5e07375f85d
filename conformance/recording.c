/* recording.c - sequences for cases; see recording.h. */
#include "conformance/recording.h"

#include <string.h>

/* ---- sequences ---- */

void recording_init(recording *r)
{
  memset(&r->desc, 0, sizeof r->desc);
  r->desc.struct_size = sizeof r->desc;
  r->desc.steps = &r->descs[0].desc;
  r->desc.step_stride = sizeof r->descs[0];
}

conform_launch *recording_add(recording *r, vyre_backend_kernel *kernel, uint32_t groups,
                              uint32_t items)
{
  conform_launch *step = &r->steps[r->desc.step_count++];
  conform_launch_init(step, kernel);
  conform_launch_grid(step, groups, items);
  return step;
}

void recording_lay(recording *r)
{
  for (uint32_t s = 0; s < r->desc.step_count; ++s) {
    memset(&r->descs[s], 0xee, sizeof r->descs[s]);
    r->descs[s].desc = r->steps[s].desc;
    r->descs[s].desc.bindings = r->steps[s].bindings;
  }
}

vyre_backend_sequence *recording_make(conform *c, recording *r)
{
  vyre_backend_device *device = conform_open(c);
  vyre_backend_sequence *sequence = NULL;
  recording_lay(r);
  CHECK_OK(c, c->counted.sequence_create(device, &r->desc, &sequence, err));
  CHECK(c, sequence, "sequence_create succeeded and gave no sequence");
  memset(r->descs, 0xee, r->desc.step_count * sizeof r->descs[0]);
  return sequence;
}

vyre_backend_pending *sequence_start(conform *c, vyre_backend_sequence *sequence, uint32_t times)
{
  vyre_backend_pending *pending = NULL;
  CHECK_OK(c, c->counted.sequence_start(c->device, sequence, times, &pending, err));
  CHECK(c, pending, "sequence_start succeeded and gave no handle (SEQ-003)");
  return pending;
}

void sequence_run(conform *c, vyre_backend_sequence *sequence, uint32_t times)
{
  conform_finish(c, sequence_start(c, sequence, times), NULL, 0);
}

void sequence_release(conform *c, vyre_backend_sequence *sequence)
{
  c->counted.sequence_release(c->device, sequence);
}

/* ---- the circle ---- */

void circle_begin(conform *c, circle *g, uint32_t n)
{
  CHECK(c, n <= CIRCLE_MOST, "the suite mixes too many words");
  g->n = n;
  g->steps = 0;
  for (uint32_t k = 0; k < 3; ++k) {
    conform_random_fill(c, g->words[k], n * 4u);
    g->buffers[k] = conform_buffer(c, n * 4u, g->words[k]);
  }
  conform_random_fill(c, g->push, sizeof g->push);
}

static void bind(circle *g, conform_launch *launch, uint32_t from, uint32_t push)
{
  conform_launch_buffer(launch, VYRE_READ_ONLY, g->buffers[from % 3], g->n, 4);
  conform_launch_buffer(launch, VYRE_READ_WRITE, g->buffers[(from + 1) % 3], g->n, 4);
  launch->desc.push = g->push[push];
  launch->desc.push_size = sizeof g->push[push];
}

void circle_add(conform *c, circle *g, recording *r, uint32_t items)
{
  bind(g, recording_add(r, conform_kernel(c, "buffer", "mix"), (g->n + items - 1) / items, items),
       g->steps, g->steps);
  g->steps += 1;
}

void circle_launch(conform *c, circle *g, conform_launch *launch, uint32_t from, uint32_t push)
{
  conform_launch_init(launch, conform_kernel(c, "buffer", "mix"));
  conform_launch_grid(launch, (g->n + 63) / 64, 64);
  bind(g, launch, from, push);
}

void circle_mix(circle *g, uint32_t from, uint32_t push)
{
  const uint32_t *a = g->words[from % 3];
  uint32_t *b = g->words[(from + 1) % 3];
  for (uint64_t i = 0; i < g->n; ++i)
    b[i] = b[i] * 3u + a[(i * 7u + 3u) % g->n] * g->push[push][0] + g->push[push][1];
}

void circle_replay(circle *g, uint32_t times)
{
  for (uint32_t t = 0; t < times; ++t)
    for (uint32_t s = 0; s < g->steps; ++s)
      circle_mix(g, s, s);
}

void circle_expect(conform *c, circle *g, const char *what)
{
  for (uint32_t k = 0; k < 3; ++k)
    conform_expect_bytes(c, g->buffers[k], g->words[k], g->n * 4u, what);
}

vyre_backend_sequence *circle_fast(conform *c, circle *g, recording *r, uint32_t steps)
{
  recording_init(r);
  g->steps = 0;
  for (uint32_t s = 0; s < steps; ++s)
    circle_add(c, g, r, 64);
  return recording_make(c, r);
}

static void wait_first(circle *g, conform_launch *launch, const uint64_t *ns)
{
  conform_launch_buffer(launch, VYRE_READ_WRITE, g->buffers[0], g->n, 4);
  launch->desc.push = ns;
  launch->desc.push_size = sizeof *ns;
}

vyre_backend_sequence *circle_slow(conform *c, circle *g, recording *r, uint64_t ns)
{
  recording_init(r);
  g->steps = 0;
  wait_first(g, recording_add(r, conform_kernel(c, "buffer", "slow"), 1, 1), &ns);
  for (uint32_t s = 0; s < 3; ++s)
    circle_add(c, g, r, 64);
  return recording_make(c, r);
}

static void step_slow(circle *g)
{
  for (uint32_t i = 0; i < g->n; ++i)
    g->words[0][i] = g->words[0][i] * 3u + 1u;
}

void circle_replay_slow(circle *g, uint32_t times)
{
  while (times--) {
    step_slow(g);
    circle_replay(g, 1);
  }
}

vyre_backend_pending *circle_launch_slow(conform *c, circle *g, uint64_t ns)
{
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "buffer", "slow"));
  wait_first(g, &launch, &ns);
  step_slow(g);
  return conform_start(c, conform_open(c), &launch);
}

void circle_end(conform *c, circle *g)
{
  for (uint32_t k = 0; k < 3; ++k)
    conform_free(c, g->buffers[k]);
}
