/*
 * passes.c - all steps and passes in one call (EMULATED), on the plugin's own table.
 */
#include "conformance/buffers.h"
#include "conformance/oracle.h"

#include "vyre_kernel.h"

#include <string.h>

#define MOST_ELEMENTS 70000u
#define CONTROL_WORDS 256u
#define MOST_STEPS 6u

typedef struct passes {
  vyre_backend_buffer *a, *b, *count, *control;
  uint64_t control_offset;
  uint32_t words[3][MOST_ELEMENTS];
  oracle want;
  conform_launch steps[MOST_STEPS];
  struct {
    vyre_dispatch_desc desc;
    uint64_t more[2]; /* the stride is the caller's */
  } descs[MOST_STEPS];
  vyre_passes_desc desc;
} passes;

static void make(conform *c, passes *p, uint32_t n, uint32_t limit, uint64_t control_offset)
{
  memset(p->words[1], 0, n * 4u);
  memset(p->words[2], 0, n * 4u);
  conform_random_fill(c, p->words[0], n * 4u);
  p->want = (oracle){n, limit, p->words[0], p->words[1], p->words[2]};
  p->a = conform_buffer(c, n * 4u, p->words[0]);
  p->b = conform_buffer(c, n * 4u, p->words[1]);
  p->count = conform_buffer(c, n * 4u, p->words[2]);
  p->control = conform_buffer(c, CONTROL_WORDS * 4 + control_offset + 128, NULL);
  p->control_offset = control_offset;
  memset(&p->desc, 0, sizeof p->desc);
  p->desc.struct_size = sizeof p->desc;
  p->desc.steps = &p->descs[0].desc;
  p->desc.step_stride = sizeof p->descs[0];
  p->desc.control = p->control;
  p->desc.control_offset = control_offset;
  p->desc.max_passes = 1;
}

static void unmake(conform *c, passes *p)
{
  conform_free(c, p->a);
  conform_free(c, p->b);
  conform_free(c, p->count);
  conform_free(c, p->control);
}

static conform_launch *add_step(conform *c, passes *p, const char *entry, uint32_t items)
{
  conform_launch *step = &p->steps[p->desc.step_count++];
  conform_launch_init(step, conform_kernel(c, "steps", entry));
  conform_launch_grid(step, (p->want.n + items - 1) / items, items);
  return step;
}

static void add_control(passes *p, conform_launch *step, vyre_access access)
{
  conform_launch_part(step, access, p->control, p->control_offset, CONTROL_WORDS, 4);
  step->bindings[step->desc.binding_count - 1].id = 3;
  step->desc.id_limit = 4;
}

static void bind(conform_launch *step, vyre_access access, vyre_backend_buffer *buffer, uint32_t n,
                 uint32_t id)
{
  conform_launch_buffer(step, access, buffer, n, 4);
  step->bindings[step->desc.binding_count - 1].id = id;
  step->desc.id_limit = 4;
}

static void add_up(conform *c, passes *p, uint32_t items)
{
  conform_launch *step = add_step(c, p, "up", items);
  bind(step, VYRE_READ_WRITE, p->count, p->want.n, 2);
  add_control(p, step, VYRE_READ_WRITE);
  step->desc.push = &p->want.limit;
  step->desc.push_size = 4;
}

static void add_far_and_back(conform *c, passes *p, uint32_t items)
{
  conform_launch *step = add_step(c, p, "far", items);
  bind(step, VYRE_READ_ONLY, p->a, p->want.n, 0);
  bind(step, VYRE_WRITE_ONLY, p->b, p->want.n, 1);
  step = add_step(c, p, "back", items);
  bind(step, VYRE_READ_ONLY, p->b, p->want.n, 1);
  bind(step, VYRE_READ_WRITE, p->a, p->want.n, 0);
}

/* far, back, up: as oracle_run() does it. */
static void add_all(conform *c, passes *p, uint32_t items)
{
  add_far_and_back(c, p, items);
  add_up(c, p, items);
}

static void copy_steps(passes *p)
{
  for (uint32_t s = 0; s < p->desc.step_count; ++s) {
    memset(&p->descs[s], 0xee, sizeof p->descs[s]);
    p->descs[s].desc = p->steps[s].desc;
    p->descs[s].desc.bindings = p->steps[s].bindings;
  }
}

static vyre_backend_pending *start(conform *c, passes *p, uint32_t max_passes, bool tested)
{
  static const uint32_t zeros[CONTROL_WORDS];
  vyre_backend_pending *pending = NULL;
  p->desc.max_passes = max_passes;
  p->desc.tested = tested;
  copy_steps(p);
  conform_put(c, p->control, p->control_offset, zeros, sizeof zeros);
  CHECK_OK(c, c->counted.dispatch_passes(c->device, &p->desc, &pending, err));
  CHECK(c, pending, "dispatch_passes succeeded and gave no handle");
  return pending;
}

static void expect(conform *c, passes *p, uint32_t passes_wanted)
{
  const uint64_t size = p->want.n * 4u;
  uint32_t made = 0;
  conform_get(c, p->control, p->control_offset + VYRE_CONTROL_PASSES * 4, &made, 4);
  CHECK(c, made == passes_wanted, "the PASSES word is %u, expected is %u (PASS-004, PASS-003)",
        made, passes_wanted);
  conform_expect_bytes(c, p->a, p->want.a, size, "steps in order, first buffer (PASS-001)");
  conform_expect_bytes(c, p->b, p->want.b, size, "steps in order, second buffer (PASS-001)");
  conform_expect_bytes(c, p->count, p->want.count, size, "steps in order, third buffer (PASS-003)");
}

static void run(conform *c, passes *p, uint32_t max_passes, bool tested)
{
  conform_finish(c, start(c, p, max_passes, tested), NULL, 0);
  expect(c, p, oracle_run(&p->want, max_passes, tested));
}

static passes p;

/* ---- order ---- */

static void run_order(conform *c)
{
  static const uint32_t sizes[] = {1, 63, 64, 65, 257, 1025, 4099};
  static const uint32_t items[] = {1, 32, 64, 100};
  conform_open(c);
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (uint32_t k = 0; k < COUNT_OF(items); ++k) {
      make(c, &p, sizes[s], 2, 0);
      add_all(c, &p, items[k]);
      run(c, &p, 3, false);
      run(c, &p, 1, false);
      unmake(c, &p);
    }
}

/*
 * Steps of more than 64 groups, each of which reads what all others wrote; the last step of a pass
 * too, of the step before it, and the first step of the next pass of it.
 */
static void run_wide(conform *c)
{
  static const uint32_t sizes[] = {64 * 32,  65 * 32,  66 * 32 - 1,
                                   129 * 32, 300 * 32, MOST_ELEMENTS};
  conform_open(c);
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (uint32_t pairs = 1; pairs <= 2; ++pairs) {
      make(c, &p, sizes[s], 3, 0);
      for (uint32_t k = 0; k < pairs; ++k)
        add_far_and_back(c, &p, 32);
      for (int turn = 0; turn < 5; ++turn) {
        conform_finish(c, start(c, &p, 6, false), NULL, 0);
        for (uint32_t k = 0; k < 6 * pairs; ++k) {
          oracle_far(&p.want);
          oracle_back(&p.want);
        }
        expect(c, &p, 6);
      }
      unmake(c, &p);
    }
}

/* One step many times: what a pass wrote the next one sees. */
static void run_one_step(conform *c)
{
  conform_open(c);
  make(c, &p, 3000, 1000, 0);
  conform_launch *step = add_step(c, &p, "up", 16);
  bind(step, VYRE_READ_WRITE, p.count, p.want.n, 2);
  add_control(&p, step, VYRE_READ_WRITE);
  step->desc.push = &p.want.limit;
  step->desc.push_size = 4;
  conform_finish(c, start(c, &p, 100, false), NULL, 0);
  for (uint32_t i = 0; i < 100; ++i)
    oracle_up(&p.want);
  expect(c, &p, 100);
  unmake(c, &p);
}

/* Steps with workgroup memory and barriers: each group turns its 64 words around. */
static void run_workgroup(conform *c)
{
  conform_open(c);
  for (uint32_t passes_wanted = 1; passes_wanted <= 4; ++passes_wanted) {
    make(c, &p, 70 * 64, 2, 0);
    for (uint32_t k = 0; k < 3; ++k) {
      conform_launch *step = add_step(c, &p, "far", 64);
      step->desc.kernel = conform_kernel(c, "shared", "reverse");
      bind(step, VYRE_READ_ONLY, k == 0 ? p.a : k == 1 ? p.b : p.count, p.want.n, 0);
      bind(step, VYRE_WRITE_ONLY, k == 0 ? p.b : k == 1 ? p.count : p.a, p.want.n, 1);
      conform_launch_local(step, 64, 4);
      step->desc.id_limit = 4;
    }
    conform_finish(c, start(c, &p, passes_wanted, false), NULL, 0);
    for (uint32_t pass = 0; pass < passes_wanted; ++pass)
      for (uint32_t k = 0; k < 3; ++k) {
        const uint32_t *from = p.words[k];
        uint32_t *to = p.words[(k + 1) % 3];
        for (uint32_t i = 0; i < p.want.n; ++i)
          to[i] = from[i / 64 * 64 + 63 - i % 64];
      }
    expect(c, &p, passes_wanted);
    unmake(c, &p);
  }
}

/* ---- words ---- */

/* Each step notes the pass that it finds in the control words. */
static void run_pass_word(conform *c)
{
  static const uint32_t places[3] = {0, 1, 3};
  uint32_t trace[64];
  conform_open(c);
  for (uint32_t most = 1; most <= 12; ++most) {
    vyre_backend_buffer *buffer = conform_buffer(c, sizeof trace, NULL);
    make(c, &p, 200, 2, 0);
    for (uint32_t s = 0; s < 3; ++s) {
      conform_launch *step = add_step(c, &p, "note", 64);
      bind(step, VYRE_READ_WRITE, buffer, 64, 0);
      add_control(&p, step, VYRE_READ_ONLY);
      step->desc.push = &places[s];
      step->desc.push_size = 4;
    }
    conform_finish(c, start(c, &p, most, false), NULL, 0);
    conform_get(c, buffer, 0, trace, sizeof trace);
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t want = i / 4 >= 1 && i / 4 <= most && i % 4 != 2;
      CHECK(c, trace[i] == want,
            "a step of %u passes found %u times that it is in pass %u, expected is %u (PASS-002)",
            most, trace[i], i / 4, want);
    }
    unmake(c, &p);
    conform_free(c, buffer);
  }
}

/* The control words may begin anywhere on a line of 128 bytes; what is before and behind stays. */
static void run_control_offset(conform *c)
{
  static const uint64_t offsets[] = {0, 128, 256, 1024, 4096 - 128};
  unsigned char around[128];
  conform_open(c);
  for (uint32_t i = 0; i < COUNT_OF(offsets); ++i) {
    make(c, &p, 500, 2, offsets[i]);
    add_all(c, &p, 64);
    CHECK_OK(c, c->counted.buffer_fill(c->device, p.control, 0, offsets[i], 0x77, err));
    CHECK_OK(c, c->counted.buffer_fill(c->device, p.control, offsets[i] + CONTROL_WORDS * 4, 128,
                                       0x77, err));
    run(c, &p, 9, true);
    for (int end = 0; end < 2; ++end) {
      if (!end && !offsets[i])
        continue;
      conform_get(c, p.control, end ? offsets[i] + CONTROL_WORDS * 4 : offsets[i] - 128, around,
                  sizeof around);
      for (uint32_t k = 0; k < sizeof around; ++k)
        CHECK(c, around[k] == 0x77, "bytes outside the control words were written (PASS-004)");
    }
    unmake(c, &p);
  }
}

/* ---- the end ---- */

/* After the first pass that changes nothing, and not one early. */
static void run_end(conform *c)
{
  conform_open(c);
  for (uint32_t k = 1; k <= 7; ++k)
    for (uint32_t budget = 1; budget <= 9; ++budget)
      for (uint32_t tested = 0; tested < 2; ++tested) {
        make(c, &p, k % 2 ? 65 * 32 + 1 : 40, k - 1, 0);
        add_all(c, &p, 32);
        run(c, &p, budget, tested);
        unmake(c, &p);
      }
}

static void run_many_passes(conform *c)
{
  conform_open(c);
  make(c, &p, 100, 499, 0);
  add_all(c, &p, 32);
  run(c, &p, 100000, true); /* 500 of them */
  p.want.limit = 999;
  run(c, &p, 300, true);
  unmake(c, &p);
}

/* ---- handles ---- */

/* In a row, with launches between them (DISP-020); each has control words of its own. */
static void run_row(conform *c, vyre_backend_pending **pending, uint32_t count)
{
  vyre_backend_buffer *controls[16] = {NULL};
  CHECK(c, count <= COUNT_OF(controls), "the suite starts too many passes");
  for (uint32_t k = 0; k < count; ++k)
    controls[k] = conform_buffer(c, CONTROL_WORDS * 4, NULL);
  for (uint32_t k = 0; k < count; ++k) {
    conform_launch launch;
    if (k % 2) {
      conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
      conform_launch_grid(&launch, 400, 50);
      conform_launch_buffer(&launch, VYRE_READ_WRITE, p.a, p.want.n, 4);
      pending[k] = conform_start(c, c->device, &launch);
      for (uint32_t i = 0; i < p.want.n; ++i)
        p.want.a[i] = p.want.a[i] * 3 + 1;
    } else {
      p.desc.max_passes = 3;
      p.desc.tested = 0;
      p.desc.control = p.steps[2].bindings[1].buffer = controls[k];
      copy_steps(&p);
      CHECK_OK(c, c->counted.dispatch_passes(c->device, &p.desc, &pending[k], err));
      memset(p.descs, 0xee, sizeof p.descs); /* borrowed for the call (DISP-022) */
      oracle_run(&p.want, 3, false);
    }
  }
  conform_expect_bytes(c, p.a, p.want.a, p.want.n * 4u, "passes and launches in a row (DISP-020)");
  conform_expect_bytes(c, p.b, p.want.b, p.want.n * 4u, "passes and launches in a row (DISP-020)");
  for (uint32_t k = count; k-- > 0;)
    conform_finish(c, pending[k], NULL, 0);
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t made = 0;
    conform_get(c, controls[k], VYRE_CONTROL_PASSES * 4, &made, 4);
    CHECK(c, made == (k % 2 ? 0 : 3), "run %u says %u passes (PASS-004)", k, made);
    conform_free(c, controls[k]);
  }
}

static void run_handles(conform *c)
{
  vyre_backend_pending *pending[12];
  uint32_t turns = 0;
  conform_open(c);
  make(c, &p, 20000, 3, 0);
  add_all(c, &p, 64);
  /* Polled; read with times and no slots; let go without a wait. */
  for (uint32_t way = 0; way < 3; ++way) {
    vyre_backend_times times = {.struct_size = sizeof times};
    const uint64_t begin = conform_now_ns();
    pending[0] = start(c, &p, 30, false);
    oracle_run(&p.want, 30, false);
    for (vyre_status status = VYRE_ERROR_TIMEOUT; way == 0 && status != VYRE_OK; ++turns) {
      vyre_error record = VYRE_ERROR_INIT;
      status = c->counted.pending_wait(pending[0], 0, &record);
      CHECK(c, status == VYRE_OK || status == VYRE_ERROR_TIMEOUT,
            "pending_wait returned %d: %.300s", (int)status, record.message);
      conform_watch(c, begin, "the end of passes");
    }
    if (way < 2)
      CHECK_OK(c, c->counted.pending_read(pending[0], NULL, 0, 0, &times, err));
    c->counted.pending_release(pending[0]);
    expect(c, &p, 30);
  }
  run_row(c, pending, COUNT_OF(pending));
  unmake(c, &p);
}

/* ---- what is refused ---- */

static void refuse(conform *c, const vyre_passes_desc *desc, const char *what)
{
  vyre_backend_pending *pending = NULL;
  vyre_error record = VYRE_ERROR_INIT;
  const vyre_status status = c->counted.dispatch_passes(c->device, desc, &pending, &record);
  CHECK(c, status == VYRE_ERROR_INVALID_ARGUMENT || status == VYRE_ERROR_UNSUPPORTED,
        "%s: dispatch_passes returned %d, it must be refused (PASS-006)", what, (int)status);
  CHECK(c, record.code == status && record.message[0], "%s: no code or no text (ABI-009)", what);
  CHECK(c, !pending, "%s: a failed dispatch_passes has stored a handle (ABI-008)", what);
}

static void run_refused(conform *c)
{
  static uint32_t word;
  conform_open(c);
  make(c, &p, 100, 2, 0);
  add_all(c, &p, 64);
  p.desc.max_passes = 2;
#define WRONG(what, change)                                                                        \
  do {                                                                                             \
    vyre_passes_desc desc = p.desc;                                                                \
    copy_steps(&p);                                                                                \
    change;                                                                                        \
    refuse(c, &desc, what);                                                                        \
  } while (0)
  WRONG("no step", desc.step_count = 0);
  WRONG("no pass", desc.max_passes = 0);
  WRONG("unknown flags", desc.flags = 1);
  WRONG("unknown flags", desc.flags = 1ull << 63);
  WRONG("a short structure", desc.struct_size = VYRE_PASSES_DESC_SIZE_0_2 - 1);
  WRONG("no control words", desc.control = NULL);
  WRONG("control words on no line", desc.control_offset = 4);
  WRONG("control words outside", desc.control_offset = 1u << 20);
  WRONG("a step with flags", p.descs[1].desc.flags = VYRE_DISPATCH_COOPERATIVE);
  WRONG("a step that stays", p.descs[0].desc.flags = VYRE_DISPATCH_PERSISTENT);
  WRONG("a step of no group", p.descs[2].desc.groups[1] = 0);
  WRONG("a short step", p.descs[2].desc.struct_size = VYRE_DISPATCH_DESC_SIZE_0_1 - 1);
  WRONG("a step without a kernel", p.descs[1].desc.kernel = NULL);
#undef WRONG
  copy_steps(&p);
  p.steps[0].bindings[0].kind = VYRE_BINDING_HOST;
  p.steps[0].bindings[0].data = &word;
  p.steps[0].bindings[0].size = 4;
  refuse(c, &p.desc, "a step on host bytes");
  conform_expect_bytes(c, p.a, p.want.a, 400, "passes that were refused (ABI-008)");
  unmake(c, &p);
}

#define PASSES_CASE(name, rules, run)                                                              \
  {                                                                                                \
    name, rules, CONFORM_GRIDSYNC_EMULATED, VYRE_CAP_BUFFERS,                                      \
        CONFORM_NEEDS_EMULATED | CONFORM_NEEDS_KERNELS, 0, run                                     \
  }

static const conform_case rows[] = {
    PASSES_CASE("passes.order", "PASS-001 PASS-004", run_order),
    PASSES_CASE("passes.wide", "PASS-001", run_wide),
    PASSES_CASE("passes.one_step", "PASS-001 PASS-004", run_one_step),
    PASSES_CASE("passes.workgroup", "PASS-001", run_workgroup),
    PASSES_CASE("passes.pass_word", "PASS-002", run_pass_word),
    PASSES_CASE("passes.control_offset", "PASS-004", run_control_offset),
    PASSES_CASE("passes.end", "PASS-003 PASS-004", run_end),
    PASSES_CASE("passes.many", "PASS-003 PASS-004", run_many_passes),
    PASSES_CASE("passes.handles", "PASS-005 DISP-020 DISP-022", run_handles),
    PASSES_CASE("passes.refused", "PASS-006 ABI-001 ABI-006 ABI-008 ABI-009", run_refused),
};
CONFORM_TABLE(conform_cases_passes, rows);
