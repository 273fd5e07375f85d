/*
 * sequence.c - recorded sequences of launches: what a replay computes, what was copied when it was
 * recorded, what is refused.  Their handles are in replay.c, their order
 * with other calls in beside.c.
 */
#include "conformance/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static recording r;
static circle g;

/* ---- order ---- */

/* Each step reads what all groups of the step before wrote; the grids differ from step to step. */
static void run_order(conform *c)
{
  static const uint32_t sizes[] = {1, 63, 64, 65, 257, 1025, 4099};
  static const uint32_t counts[] = {1, 2, 3, 5, 7};
  static const uint32_t items[] = {64, 1, 32, 100, 7};
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (uint32_t k = 0; k < COUNT_OF(counts); ++k) {
      vyre_backend_sequence *sequence = NULL;
      circle_begin(c, &g, sizes[s]);
      recording_init(&r);
      for (uint32_t i = 0; i < counts[k]; ++i)
        circle_add(c, &g, &r, items[(i + s) % COUNT_OF(items)]);
      sequence = recording_make(c, &r);
      circle_expect(c, &g, "a sequence that was recorded and not started (SEQ-002)");
      for (uint32_t times = 1; times <= 3; ++times) {
        sequence_run(c, sequence, times);
        circle_replay(&g, times);
        circle_expect(c, &g, "steps in order (SEQ-001)");
      }
      sequence_release(c, sequence);
      circle_end(c, &g);
    }
}

/* Few groups after many and many after few: the whole of a step comes before the next one. */
static void run_wide(conform *c)
{
  static const uint32_t sizes[] = {64 * 32, 65 * 32 + 1, 129 * 32, 9600, CIRCLE_MOST};
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (uint32_t narrow = 0; narrow < 2; ++narrow) {
      vyre_backend_sequence *sequence = NULL;
      circle_begin(c, &g, sizes[s]);
      recording_init(&r);
      for (uint32_t i = 0; i < 4; ++i)
        circle_add(c, &g, &r, narrow && i % 2 ? 128 : 16);
      sequence = recording_make(c, &r);
      for (uint32_t turn = 0; turn < 6; ++turn) {
        sequence_run(c, sequence, 1 + turn % 3);
        circle_replay(&g, 1 + turn % 3);
      }
      circle_expect(c, &g, "steps of many groups in order (SEQ-001)");
      sequence_release(c, sequence);
      circle_end(c, &g);
    }
}

/* So many replays, not one less or more. */
static void run_times(conform *c)
{
  static const uint32_t times[] = {1,  2,  17, 1000, 3,  15,  16,  31,
                                   32, 33, 63, 64,   65, 255, 256, 257};
  for (uint32_t steps = 1; steps <= 3; ++steps) {
    vyre_backend_sequence *sequence = NULL;
    circle_begin(c, &g, 70);
    recording_init(&r);
    for (uint32_t i = 0; i < steps; ++i)
      circle_add(c, &g, &r, 32);
    sequence = recording_make(c, &r);
    for (uint32_t k = 0; k < COUNT_OF(times); ++k) {
      char what[80];
      sequence_run(c, sequence, times[k]);
      circle_replay(&g, times[k]);
      snprintf(what, sizeof what, "%u replays of %u steps (SEQ-001, SEQ-003)", times[k], steps);
      circle_expect(c, &g, what);
    }
    sequence_release(c, sequence);
    circle_end(c, &g);
  }
}

static void run_many_steps(conform *c)
{
  vyre_backend_sequence *sequence = NULL;
  circle_begin(c, &g, 130);
  recording_init(&r);
  for (uint32_t i = 0; i < RECORDING_STEPS; ++i)
    circle_add(c, &g, &r, 1 + i % 64);
  sequence = recording_make(c, &r);
  for (uint32_t times = 1; times <= 3; ++times) {
    sequence_run(c, sequence, times);
    circle_replay(&g, times);
    circle_expect(c, &g, "300 steps (SEQ-001)");
  }
  sequence_release(c, sequence);
  circle_end(c, &g);
}

/* ---- what a step may have ---- */

/* Workgroup memory and barriers: each group turns its 64 words around, or adds them up. */
static void run_workgroup(conform *c)
{
  enum { N = 70 * 64 };
  static uint32_t words[3][N];
  vyre_backend_buffer *buffers[3];
  vyre_backend_sequence *sequence = NULL;
  recording_init(&r);
  for (uint32_t k = 0; k < 3; ++k) {
    conform_random_fill(c, words[k], sizeof words[k]);
    buffers[k] = conform_buffer(c, sizeof words[k], words[k]);
  }
  for (uint32_t k = 0; k < 3; ++k) {
    const char *entry = k == 1 ? "scan" : "reverse";
    conform_launch *step = recording_add(&r, conform_kernel(c, "shared", entry), 70, 64);
    conform_launch_buffer(step, VYRE_READ_ONLY, buffers[k], N, 4);
    conform_launch_buffer(step, VYRE_WRITE_ONLY, buffers[(k + 1) % 3], N, 4);
    for (uint32_t tiles = 0; tiles < (k == 1 ? 2u : 1u); ++tiles)
      conform_launch_local(step, 64, 4);
  }
  sequence = recording_make(c, &r);
  for (uint32_t times = 1; times <= 4; ++times) {
    sequence_run(c, sequence, times);
    for (uint32_t t = 0; t < times; ++t)
      for (uint32_t k = 0; k < 3; ++k)
        for (uint32_t i = 0; i < N; ++i) {
          const uint32_t *from = words[k];
          uint32_t *to = words[(k + 1) % 3];
          to[i] = k != 1    ? from[i / 64 * 64 + 63 - i % 64]
                  : i % 64u ? to[i - 1] + from[i]
                            : from[i];
        }
    for (uint32_t k = 0; k < 3; ++k)
      conform_expect_bytes(c, buffers[k], words[k], sizeof words[k],
                           "steps with workgroup memory (SEQ-001)");
  }
  sequence_release(c, sequence);
  for (uint32_t k = 0; k < 3; ++k)
    conform_free(c, buffers[k]);
}

/* Parts of one buffer, none, and bytes of no multiple of 4. */
static void run_parts(conform *c)
{
  static unsigned char bytes[4096];
  static const uint32_t offsets[] = {0, 1008, 2048, 3072}, counts[] = {999, 0, 1, 1024};
  vyre_backend_buffer *buffer = NULL;
  vyre_backend_sequence *sequence = NULL;
  conform_random_fill(c, bytes, sizeof bytes);
  buffer = conform_buffer(c, sizeof bytes, bytes);
  recording_init(&r);
  for (uint32_t k = 0; k < COUNT_OF(offsets); ++k) {
    conform_launch *step = recording_add(&r, conform_kernel(c, "buffer", "stamp"), 16, 64);
    conform_launch_part(step, VYRE_READ_WRITE, buffer, offsets[k], counts[k], 1);
  }
  sequence = recording_make(c, &r);
  for (uint32_t times = 1; times <= 3; ++times) {
    sequence_run(c, sequence, times);
    for (uint32_t t = 0; t < times; ++t)
      for (uint32_t k = 0; k < COUNT_OF(offsets); ++k)
        for (uint32_t i = 0; i < counts[k]; ++i)
          bytes[offsets[k] + i] = (unsigned char)(bytes[offsets[k] + i] * 3u + i + 1u);
    conform_expect_bytes(c, buffer, bytes, sizeof bytes, "steps on parts of a buffer (SEQ-001)");
  }
  sequence_release(c, sequence);
  conform_free(c, buffer);
}

/* Steps, bindings and push constants are the caller's again when sequence_create() has returned. */
static void run_borrowed(conform *c)
{
  enum { STEPS = 5 };
  for (uint32_t turn = 0; turn < 3; ++turn) {
    vyre_dispatch_desc *steps = malloc(STEPS * sizeof *steps);
    vyre_binding *bindings = malloc(2 * STEPS * sizeof *bindings);
    uint32_t *push = malloc(2 * STEPS * sizeof *push);
    vyre_backend_sequence *sequence = NULL;
    CHECK(c, steps && bindings && push, "out of memory");
    circle_begin(c, &g, 1000 + turn);
    recording_init(&r);
    for (uint32_t s = 0; s < STEPS; ++s) {
      circle_add(c, &g, &r, 64);
      memcpy(bindings + 2 * s, r.steps[s].bindings, 2 * sizeof *bindings);
      memcpy(push + 2 * s, g.push[s], 2 * sizeof *push);
      steps[s] = r.steps[s].desc;
      steps[s].bindings = bindings + 2 * s;
      steps[s].push = push + 2 * s;
    }
    r.desc.steps = steps;
    r.desc.step_stride = sizeof *steps;
    CHECK_OK(c, c->counted.sequence_create(c->device, &r.desc, &sequence, err));
    /* Once as they are now, then overwritten, then gone. */
    for (uint32_t way = 0; way < 3; ++way) {
      if (way == 1)
        memset(push, 0x55, 2 * STEPS * sizeof *push);
      if (way == 2) {
        memset(bindings, 0xff, 2 * STEPS * sizeof *bindings);
        memset(steps, 0xff, STEPS * sizeof *steps);
        free(steps);
        free(bindings);
        free(push);
      }
      sequence_run(c, sequence, 2);
      circle_replay(&g, 2);
      circle_expect(c, &g,
                    way == 0   ? "a sequence (SEQ-001)"
                    : way == 1 ? "a sequence whose push constants were overwritten (DISP-022)"
                               : "a sequence whose steps are gone (DISP-022)");
    }
    sequence_release(c, sequence);
    circle_end(c, &g);
  }
}

/* Larger structures of a later caller, and strides of its own. */
static void run_strides(conform *c)
{
  enum { STEPS = 3 };
  struct {
    vyre_sequence_desc desc;
    unsigned char more[40];
  } large;
  struct {
    vyre_dispatch_desc desc;
    unsigned char more[24];
  } steps[STEPS];
  struct {
    vyre_binding binding;
    unsigned char more[16];
  } bindings[STEPS][2];
  vyre_backend_sequence *sequence = NULL;
  memset(&large, 0xee, sizeof large);
  memset(steps, 0xee, sizeof steps);
  memset(bindings, 0xee, sizeof bindings);
  circle_begin(c, &g, 500);
  recording_init(&r);
  for (uint32_t s = 0; s < STEPS; ++s) {
    circle_add(c, &g, &r, 32);
    for (uint32_t i = 0; i < 2; ++i) {
      bindings[s][i].binding = r.steps[s].bindings[i];
      bindings[s][i].binding.struct_size = sizeof bindings[s][i];
    }
    steps[s].desc = r.steps[s].desc;
    steps[s].desc.struct_size = sizeof steps[s];
    steps[s].desc.bindings = &bindings[s][0].binding;
    steps[s].desc.binding_stride = sizeof bindings[s][0];
  }
  large.desc = r.desc;
  large.desc.struct_size = sizeof large;
  large.desc.steps = &steps[0].desc;
  large.desc.step_stride = sizeof steps[0];
  CHECK_OK(c, c->counted.sequence_create(c->device, &large.desc, &sequence, err));
  sequence_run(c, sequence, 3);
  circle_replay(&g, 3);
  circle_expect(c, &g, "steps that are larger, with a stride (ABI-001, ABI-004)");
  sequence_release(c, sequence);
  circle_end(c, &g);
}

/* ---- what is refused ---- */

/* `what` tells which step is wrong; nothing has changed afterwards. */
static void refuse(conform *c, const vyre_sequence_desc *desc, vyre_status code, const char *what)
{
  vyre_backend_sequence *sequence = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  const uint64_t before = conform_live_blocks(c);
  vyre_status status = c->counted.sequence_create(c->device, desc, &sequence, &record);
  CHECK(c, status == code, "%s: sequence_create returned %d, expected is %d (SEQ-002): %.300s",
        what, (int)status, (int)code, record.message);
  CHECK(c, record.code == status && record.message[0], "%s: no code or no text (ABI-009)", what);
  CHECK(c, !sequence, "%s: a failed sequence_create has stored a sequence (ABI-008)", what);
  status = c->counted.sequence_create(c->device, desc, &sequence, NULL);
  CHECK(c, status == code && !sequence, "%s: without an error record it ends otherwise (ABI-009)",
        what);
  CHECK(c, conform_live_blocks(c) == before, "%s: it leaves blocks in use (ABI-008)", what);
}

static void begin_refused(conform *c)
{
  circle_begin(c, &g, 300);
  recording_init(&r);
  for (uint32_t s = 0; s < 3; ++s)
    circle_add(c, &g, &r, 64);
}

/* The good one still works, and nothing ran before. */
static void end_refused(conform *c)
{
  vyre_backend_sequence *sequence = NULL;
  circle_expect(c, &g, "sequences that were refused (SEQ-002)");
  sequence = recording_make(c, &r);
  sequence_run(c, sequence, 2);
  circle_replay(&g, 2);
  circle_expect(c, &g, "a sequence after others that were refused (ABI-008)");
  sequence_release(c, sequence);
  circle_end(c, &g);
}

static void run_refused(conform *c)
{
  static const uint64_t flags[] = {VYRE_DISPATCH_COOPERATIVE, VYRE_DISPATCH_PERSISTENT, 1ull << 40};
  static uint32_t words[300];
  begin_refused(c);
#define WRONG(what, change)                                                                        \
  do {                                                                                             \
    vyre_sequence_desc desc = r.desc;                                                              \
    recording_lay(&r);                                                                             \
    change;                                                                                        \
    refuse(c, &desc, VYRE_ERROR_INVALID_ARGUMENT, what);                                           \
  } while (0)
  WRONG("no step", desc.step_count = 0);
  WRONG("no step", desc.step_count = 0; desc.steps = NULL);
  WRONG("unknown flags", desc.flags = 1);
  WRONG("unknown flags", desc.flags = 1ull << 63);
  WRONG("a short structure", desc.struct_size = VYRE_SEQUENCE_DESC_SIZE_0_3 - 1);
  WRONG("a structure of no bytes", desc.struct_size = 0);
  WRONG("a short stride", desc.step_stride = VYRE_DISPATCH_DESC_SIZE_0_1 - 1);
  for (uint32_t s = 0; s < 3; ++s) {
    for (uint32_t k = 0; k < COUNT_OF(flags); ++k)
      WRONG("a step with flags", r.descs[s].desc.flags = flags[k]);
    for (uint32_t k = 0; k < 2; ++k) {
      const vyre_binding kept = r.steps[s].bindings[k];
      vyre_binding *binding = &r.steps[s].bindings[k];
      WRONG("a step with host bytes", binding->kind = VYRE_BINDING_HOST; binding->data = words);
      WRONG("a step with host zeros", binding->data = NULL; binding->buffer = NULL);
      *binding = kept;
    }
  }
#undef WRONG
  end_refused(c);
}

/* What dispatch() says of this step alone sequence_create() says, wherever the step stands. */
static void refuse_step(conform *c, conform_launch *step, const char *what)
{
  vyre_backend_pending *pending = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  vyre_dispatch_desc alone;
  vyre_status code;
  uint32_t kept_count = r.desc.step_count;
  recording_lay(&r);
  alone = step->desc;
  alone.bindings = step->bindings;
  code = c->counted.dispatch(c->device, &alone, &pending, &record);
  CHECK(c, code != VYRE_OK && !pending, "%s: dispatch takes it (DISP-008, DISP-021)", what);
  refuse(c, &r.desc, code, what);
  r.desc.step_count = (uint32_t)(step - r.steps) + 1;
  refuse(c, &r.desc, code, what);
  r.desc.step_count = kept_count;
}

static void run_refused_step(conform *c)
{
  const vyre_backend_device_info *info = NULL;
  static unsigned char push[1u << 16];
  begin_refused(c);
  info = conform_info(c);
#define WRONG(what, change)                                                                        \
  do {                                                                                             \
    conform_launch *step = &r.steps[s];                                                            \
    const conform_launch kept = *step;                                                             \
    change;                                                                                        \
    refuse_step(c, step, what);                                                                    \
    *step = kept;                                                                                  \
  } while (0)
  for (uint32_t s = 0; s < 3; ++s) {
    WRONG("no group", step->desc.groups[1] = 0);
    WRONG("no item", step->desc.workgroup[2] = 0);
    WRONG("no kernel", step->desc.kernel = NULL);
    WRONG("a short step", step->desc.struct_size = VYRE_DISPATCH_DESC_SIZE_0_1 - 1);
    WRONG("a short binding", step->bindings[1].struct_size = VYRE_BINDING_SIZE_0_1 - 1);
    WRONG("a short stride of bindings", step->desc.binding_stride = VYRE_BINDING_SIZE_0_1 - 1);
    WRONG("an id that is too large", step->bindings[0].id = 2);
    WRONG("a kind that is none", step->bindings[1].kind = 3);
    WRONG("an access that is none", step->bindings[1].access = 4);
    WRONG("workgroup memory without its access", step->bindings[1].kind = VYRE_BINDING_WORKGROUP);
    WRONG("no buffer", step->bindings[0].buffer = NULL);
    WRONG("a range outside a buffer", step->bindings[1].offset = 4);
    WRONG("a range whose end overflows", step->bindings[1].offset = UINT64_MAX - 3);
    WRONG("too many items", step->desc.workgroup[0] = info->max_workgroup_items + 1);
    if (info->max_groups[1] != UINT32_MAX)
      WRONG("too many groups", step->desc.groups[1] = info->max_groups[1] + 1);
    if (info->max_push_bytes < sizeof push)
      WRONG("too many push constants", step->desc.push = push;
            step->desc.push_size = info->max_push_bytes + 1);
  }
#undef WRONG
  end_refused(c);
}

/* ---- what is left ---- */

static void one_life(conform *c)
{
  vyre_backend_sequence *sequence = recording_make(c, &r);
  sequence_release(c, NULL);
  for (uint32_t k = 0; k < 3; ++k) {
    sequence_run(c, sequence, 2);
    circle_replay(&g, 2);
  }
  sequence_release(c, sequence);
  sequence_release(c, recording_make(c, &r)); /* never started */
}

static void run_growth(conform *c)
{
  begin_refused(c);
  conform_check_growth(c, one_life, 150, "recording, replaying and releasing a sequence");
  circle_expect(c, &g, "many sequences, one after the other (SEQ-001)");
  end_refused(c);
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after the device is closed (ABI-014)",
        (unsigned long long)conform_live_blocks(c));
}

/* Every allocation of the host fails once: in recording, then in starting. */
static void run_host_memory(conform *c)
{
  vyre_backend_sequence *kept = NULL;
  uint64_t left = 0;
  begin_refused(c);
  kept = recording_make(c, &r);
  for (uint32_t starting = 0; starting < 2; ++starting) {
    left = 0;
    for (uint64_t at = 1; at < 60 && !left; ++at) {
      vyre_backend_sequence *sequence = NULL;
      vyre_backend_pending *pending = NULL;
      vyre_error record = VYRE_ERROR_INIT;
      const uint64_t before = conform_live_blocks(c);
      vyre_status status = VYRE_OK;
      recording_lay(&r);
      __atomic_store_n(&c->host.fail_at, at, __ATOMIC_RELAXED); /* one thread */
      status = starting ? c->counted.sequence_start(c->device, kept, 2, &pending, &record)
                        : c->counted.sequence_create(c->device, &r.desc, &sequence, &record);
      if (status == VYRE_OK) {
        left = __atomic_exchange_n(&c->host.fail_at, 0, __ATOMIC_RELAXED);
        if (starting) {
          conform_finish(c, pending, NULL, 0);
          circle_replay(&g, 2);
        } else {
          sequence_release(c, sequence);
        }
        continue;
      }
      __atomic_store_n(&c->host.fail_at, 0, __ATOMIC_RELAXED);
      CHECK(c, status == VYRE_ERROR_OUT_OF_HOST_MEMORY || status == VYRE_ERROR_OUT_OF_DEVICE_MEMORY,
            "without host memory a sequence ends with %d (ABI-008)", (int)status);
      CHECK(c, record.message[0] && record.code == status, "it has no text or code (ABI-009)");
      CHECK(c, !sequence && !pending && conform_live_blocks(c) == before,
            "without host memory it leaves a handle or blocks (ABI-008)");
      circle_expect(c, &g, "a sequence that had no host memory (ABI-008)");
    }
  }
  sequence_release(c, kept);
  end_refused(c);
}

#define SEQUENCE_CASE(name, rules, run)                                                            \
  {                                                                                                \
    name, rules, CONFORM_SEQUENCES, VYRE_CAP_BUFFERS | VYRE_CAP_SEQUENCES, CONFORM_NEEDS_KERNELS,  \
        0, run                                                                                     \
  }

static const conform_case rows[] = {
    SEQUENCE_CASE("sequence.order", "SEQ-001 SEQ-002", run_order),
    SEQUENCE_CASE("sequence.wide", "SEQ-001", run_wide),
    SEQUENCE_CASE("sequence.times", "SEQ-001 SEQ-003", run_times),
    SEQUENCE_CASE("sequence.many_steps", "SEQ-001", run_many_steps),
    SEQUENCE_CASE("sequence.workgroup", "SEQ-001 DISP-006", run_workgroup),
    SEQUENCE_CASE("sequence.parts", "SEQ-001 DISP-004 DISP-005", run_parts),
    SEQUENCE_CASE("sequence.borrowed", "SEQ-001 DISP-022", run_borrowed),
    SEQUENCE_CASE("sequence.strides", "SEQ-001 ABI-001 ABI-004", run_strides),
    SEQUENCE_CASE("sequence.refused", "SEQ-002 ABI-001 ABI-006 ABI-008 ABI-009", run_refused),
    SEQUENCE_CASE("sequence.refused_step", "SEQ-002 DISP-008 DISP-021", run_refused_step),
    SEQUENCE_CASE("sequence.growth", "SEQ-002 ABI-008 ABI-014", run_growth),
    SEQUENCE_CASE("sequence.host_memory", "SEQ-002 SEQ-004 ABI-008 ABI-009", run_host_memory),
};
CONFORM_TABLE(conform_cases_sequence, rows);
