/*
 * Dispatches on the fixture plugin (tests/plugins): options, inputs, outputs, results and buffers
 * that are not what they should be, and a device that fails at a chosen step.
 *
 * An error leaves outputs and result as they were; an input is never written; a success fills the
 * outputs that the program declares; nothing stays in the plugin.
 */
#include "core/base/structs.h"
#include "tests/fuzz/fuzz.h"
#include "tests/plugins/fixture.h"
#include "vyre.h"

#define WORDS 8u
#define MOST_INPUTS 4u
#define MOST_PASSES 40u

/* ---- devices and programs ---- */

#define DEVICES 3u

static struct {
  fixture plugin;
  vyre_context *context;
  vyre_device *devices[DEVICES];
  vyre_device *device; /* of this run */
  bool failing;        /* this run has told the plugin to fail */
} on;

static vyre_status open_device(uint32_t which, vyre_error *err)
{
  static const char *const selectors[DEVICES] = {"fixture:0", "fixture:2", "fixture:4"};
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  request.selector = selectors[which];
  return vyre_device_open(on.context, &request, &on.devices[which], err);
}

/* Devices that stay open: what they cost to measure is paid once. */
static void open_devices(void)
{
  static const char path[] = VYRE_TEST_PLUGIN_DIR "/libvyre_fixture.so";
  static const char *const files[] = {path};
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status;
  on.plugin = fixture_attach(path);
  if (!on.plugin.set)
    exit(2);
  on.plugin.set("reset", 0);
  on.plugin.set("grid_sync", 2);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  options.plugin_files = files;
  options.plugin_file_count = 1;
  status = vyre_context_create(&options, &on.context, &err);
  for (uint32_t i = 0; i < DEVICES && status == VYRE_OK; ++i)
    status = open_device(i, &err);
  if (status) {
    fprintf(stderr, "%s\n", err.message);
    exit(2);
  }
}

static void start_run(uint8_t which)
{
  on.plugin.set("reset", 0);
  on.plugin.set("grid_sync", 2);
  on.device = on.devices[which % DEVICES];
  on.failing = false;
}

/*
 * Nothing of the run is left in the plugin.  A device that may have been lost, perhaps in a launch
 * that nobody waited for, is opened again.
 */
static void end_run(uint8_t which)
{
  static const char *const live[] = {"modules_live", "buffers_live", "pendings_live", "bytes_live"};
  vyre_device **device = &on.devices[which % DEVICES];
  on.plugin.set("reset", 0);
  on.plugin.set("grid_sync", 2);
  if (on.failing) {
    vyre_device_close(*device);
    *device = NULL;
    FUZZ_REQUIRE(open_device(which % DEVICES, NULL) == VYRE_OK);
  }
  for (size_t i = 0; i < sizeof live / sizeof live[0]; ++i)
    FUZZ_REQUIRE(on.plugin.get(live[i]) == 0);
  FUZZ_REQUIRE(on.plugin.get("devices_live") == DEVICES);
}

#define KINDS 5u

static const vyre_buffer_decl buffer_rows[KINDS][3] = {
    {{sizeof(vyre_buffer_decl), VYRE_READ_ONLY, "in", 4, 0, WORDS, 0, 0},
     {sizeof(vyre_buffer_decl), VYRE_WRITE_ONLY, "out", 4, 0, WORDS, 0, 0}},
    {{sizeof(vyre_buffer_decl), VYRE_READ_WRITE, "state", 4, VYRE_BUFFER_RANGE,
      VYRE_COUNT_FROM_INPUT, 4, 8}},
    {{sizeof(vyre_buffer_decl), VYRE_READ_ONLY, "in", 4, 0, VYRE_COUNT_FROM_INPUT, 0, 0},
     {sizeof(vyre_buffer_decl), VYRE_READ_WRITE, "state", 4, 0, WORDS, 0, 0},
     {sizeof(vyre_buffer_decl), VYRE_READ_WRITE, "out", 4, VYRE_BUFFER_OUTPUT, WORDS, 0, 0}},
    {{sizeof(vyre_buffer_decl), VYRE_READ_ONLY, "in", 3, 0, VYRE_COUNT_FROM_INPUT, 0, 0},
     {sizeof(vyre_buffer_decl), VYRE_WRITE_ONLY, "out", 1, 0, 0, 0, 0},
     {sizeof(vyre_buffer_decl), VYRE_WORKGROUP, "tile", 4, 0, 4, 0, 0}},
    {{sizeof(vyre_buffer_decl), VYRE_READ_WRITE, "state", 4, 0, WORDS, 0, 0},
     {sizeof(vyre_buffer_decl), VYRE_WRITE_ONLY, "out", 4, VYRE_BUFFER_RANGE, WORDS, 16, 0}},
};
static const char *const codes[KINDS] = {
    "one=copy\n", "one=increment\n", "one=saturate(3)\ntwo=add\n", "one=nothing\n",
    "one=flip\ntwo=push\nvyre_settle\nvyre_fused=fused one:0.1 two:0.1 vyre_settle:0.1.2.3\n"};

static vyre_program *make_program(uint32_t kind)
{
  static vyre_segment_binding bindings[3];
  static vyre_segment_decl segments[2];
  static const vyre_segment_decl segment = VYRE_SEGMENT_DECL_INIT;
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  vyre_code code = VYRE_CODE_INIT;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  const bool is_long = kind == 2 || kind == 4;
  desc.buffers = buffer_rows[kind];
  while (desc.buffer_count < 3 && buffer_rows[kind][desc.buffer_count].struct_size)
    desc.buffer_count += 1;
  for (uint32_t i = 0; i < desc.buffer_count; ++i) {
    const vyre_buffer_decl *buffer = &buffer_rows[kind][i];
    bindings[i] = (vyre_segment_binding){sizeof *bindings, buffer->access, buffer->name, 0, 0};
  }
  for (uint32_t s = 0; s < 2; ++s) {
    segments[s] = segment;
    segments[s].kernel = s ? "two" : "one";
    segments[s].bindings = bindings;
    segments[s].binding_count = desc.buffer_count;
  }
  desc.segments = segments;
  desc.segment_count = is_long ? 2 : 1;
  desc.iterations = is_long ? 5 : 1;
  desc.push_size = kind == 4 ? 8 : 0;
  code.format = "fixture";
  code.data = codes[kind];
  code.size = strlen(codes[kind]);
  desc.code = &code;
  desc.code_count = 1;
  if (vyre_program_create(on.device, &desc, &program, &err)) {
    fprintf(stderr, "program %u: %s\n", kind, err.message);
    exit(2);
  }
  return program;
}

/* ---- what a call gets ---- */

/* Of the size that it states, if that is believable. */
static void *structure(fuzz_input *in, fuzz_pool *pool, const void *from, uint32_t size)
{
  uint32_t claimed = size, room;
  void *to;
  if (fuzz_byte(in) == 1)
    claimed = (uint32_t)fuzz_number(in);
  room = claimed < 4 ? 4 : claimed > size + 64 ? size + 64 : claimed;
  to = fuzz_keep(pool, room);
  memcpy(to, from, room < size ? room : size);
  memcpy(to, &claimed, 4);
  return to;
}

static vyre_dispatch_options *read_options(fuzz_input *in, fuzz_pool *pool, uint32_t push_size)
{
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  const uint8_t what = fuzz_byte(in);
  if (what == 0xff)
    return NULL;
  options.push_size = push_size;
  if (what & 1)
    options.push_size = (uint32_t)fuzz_number(in);
  if (options.push_size && options.push_size <= 4096 && !(what & 2))
    options.push = fuzz_keep(pool, options.push_size);
  if (what & 4)
    options.route = (uint32_t)fuzz_number(in);
  if (what & 8)
    options.iterations = (uint32_t)fuzz_number(in) % (MOST_PASSES + 1);
  if (what & 16)
    options.elements[what % 3] = fuzz_number(in);
  if (what & 32)
    options.max_output_bytes = fuzz_number(in);
  if (what & 64)
    options.timeout_ns = fuzz_number(in) << 32;
  return structure(in, pool, &options, sizeof options);
}

typedef struct inputs {
  vyre_bytes *rows;
  uint32_t count;
} inputs;

static inputs read_inputs(fuzz_input *in, fuzz_pool *pool, uint32_t wanted)
{
  inputs given = {NULL, wanted};
  const uint8_t what = fuzz_byte(in);
  if (what & 1)
    given.count = fuzz_byte(in) % (MOST_INPUTS + 1);
  if (what & 2)
    return given;
  given.rows = fuzz_keep(pool, given.count * sizeof *given.rows);
  for (uint32_t i = 0; i < given.count; ++i) {
    const uint8_t how = fuzz_byte(in);
    const uint64_t size = how & 1 ? fuzz_number(in) : WORDS * 4u;
    unsigned char *bytes = NULL;
    /* Bytes that nobody has are only said together with no address. */
    if (!(how & 2) && size <= 4096) {
      bytes = fuzz_keep(pool, size);
      memset(bytes, 0x31, size);
    }
    given.rows[i].data = bytes;
    given.rows[i].size = size;
  }
  return given;
}

static void check_inputs(const inputs *given)
{
  for (uint32_t i = 0; given->rows && i < given->count; ++i) {
    const unsigned char *bytes = given->rows[i].data;
    for (uint64_t k = 0; bytes && k < given->rows[i].size; ++k)
      FUZZ_REQUIRE(bytes[k] == 0x31);
  }
}

/* ---- outputs, and what they were ---- */

typedef struct kept {
  vyre_outputs outputs;
  unsigned char bytes[4][256];
  vyre_output_slot slots[4];
} kept;

static void keep(const vyre_outputs *outputs, kept *to)
{
  to->outputs = *outputs;
  for (uint32_t i = 0; i < outputs->count && i < 4; ++i) {
    to->slots[i] = outputs->slots[i];
    if (outputs->slots[i].size && outputs->slots[i].size <= 256)
      memcpy(to->bytes[i], outputs->slots[i].data, outputs->slots[i].size);
  }
}

static void check_kept(const vyre_outputs *outputs, const kept *was)
{
  FUZZ_REQUIRE(!memcmp(outputs, &was->outputs, sizeof *outputs));
  for (uint32_t i = 0; i < outputs->count && i < 4; ++i) {
    const vyre_output_slot *slot = &outputs->slots[i];
    FUZZ_REQUIRE(!memcmp(slot, &was->slots[i], sizeof *slot));
    if (slot->size && slot->size <= 256)
      FUZZ_REQUIRE(!memcmp(slot->data, was->bytes[i], slot->size));
  }
}

static void check_filled(const vyre_program *program, const vyre_outputs *outputs)
{
  volatile unsigned sum = 0;
  FUZZ_REQUIRE(outputs->count == vyre_program_output_count(program));
  FUZZ_REQUIRE(outputs->count <= outputs->capacity);
  for (uint32_t i = 0; i < outputs->count; ++i) {
    const vyre_output_slot *slot = &outputs->slots[i];
    FUZZ_REQUIRE(slot->size <= slot->capacity);
    for (uint64_t k = 0; k < slot->size; ++k)
      sum += ((const unsigned char *)slot->data)[k];
  }
  (void)sum;
}

/* ---- steps ---- */

typedef struct run {
  fuzz_input in;
  fuzz_pool pool;
  vyre_program *program;
  uint32_t push_size;
  vyre_outputs outputs;
} run;

static void step_fault(run *r)
{
  static const char *const names[] = {
      "open_error",       "alloc_error",  "alloc_fail_at", "copy_error",         "copy_fail_at",
      "dispatch_error",   "wait_error",   "read_error",    "dispatch_fail_at",   "fail_at",
      "lose_at",          "drop_output",  "swap_outputs",  "extra_output",       "long_output",
      "silent",           "groups_error", "residency",     "cooperative_groups", "say_passes",
      "cooperative_items"};
  const uint8_t which = fuzz_byte(&r->in);
  on.failing = true;
  on.plugin.set(names[which % (sizeof names / sizeof names[0])], fuzz_byte(&r->in) % 32);
}

static void step_dispatch(run *r)
{
  const vyre_dispatch_options *options = read_options(&r->in, &r->pool, r->push_size);
  const inputs given = read_inputs(&r->in, &r->pool, vyre_program_input_count(r->program));
  static const vyre_dispatch_result init = VYRE_DISPATCH_RESULT_INIT;
  vyre_dispatch_result *result = structure(&r->in, &r->pool, &init, sizeof init);
  const uint8_t what = fuzz_byte(&r->in);
  vyre_outputs *outputs = what & 1 ? NULL : &r->outputs;
  vyre_error err = VYRE_ERROR_INIT;
  static kept was;
  vyre_status status;
  keep(&r->outputs, &was);
  if (what & 2) { /* a structure that nobody initialised */
    const uint8_t spoil = fuzz_byte(&r->in);
    outputs = fuzz_keep(&r->pool, sizeof *outputs);
    outputs->struct_size = spoil & 1 ? (uint32_t)fuzz_number(&r->in) : sizeof *outputs;
    outputs->count = spoil & 2 ? 1 : 0;
    outputs->capacity = spoil & 4 ? 2 : 0;
    if (!(spoil & 7) || (spoil & 7) == 1)
      outputs = NULL;
  }
  status = vyre_dispatch(r->program, options, given.rows, given.count, outputs,
                         what & 4 ? NULL : result, &err);
  fuzz_check_error(status, &err);
  check_inputs(&given);
  if (status != VYRE_OK || outputs != &r->outputs)
    check_kept(&r->outputs, &was);
  if (status == VYRE_OK && outputs)
    check_filled(r->program, outputs);
  if (status == VYRE_OK && !(what & 4))
    FUZZ_REQUIRE(result->passes <= MOST_PASSES);
}

static void step_pending(run *r)
{
  const vyre_dispatch_options *options = read_options(&r->in, &r->pool, r->push_size);
  const inputs given = read_inputs(&r->in, &r->pool, vyre_program_input_count(r->program));
  vyre_pending *pending = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  static kept was;
  vyre_status status =
      vyre_dispatch_start(r->program, options, given.rows, given.count, &pending, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (pending != NULL));
  for (uint8_t calls = fuzz_byte(&r->in) % 4; pending && calls; --calls) {
    const uint8_t what = fuzz_byte(&r->in);
    err.message[0] = err.fix[0] = '\0';
    keep(&r->outputs, &was);
    if (what & 1)
      status = vyre_pending_wait(pending, what & 2 ? VYRE_NO_TIMEOUT : 0, &err);
    else
      status = vyre_pending_finish(pending, what & 2 ? NULL : &r->outputs, NULL, &err);
    fuzz_check_error(status, &err);
    if (status != VYRE_OK || (what & 1))
      check_kept(&r->outputs, &was);
    else if (!(what & 2))
      check_filled(r->program, &r->outputs);
  }
  vyre_pending_release(pending);
  check_inputs(&given);
}

static void step_explain(run *r)
{
  const vyre_dispatch_options *options = read_options(&r->in, &r->pool, r->push_size);
  const inputs given = read_inputs(&r->in, &r->pool, vyre_program_input_count(r->program));
  vyre_error err = VYRE_ERROR_INIT;
  char *text = NULL;
  vyre_status status =
      vyre_dispatch_explain(r->program, options, given.rows, given.count, NULL, &text, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (text != NULL));
  free(text);
}

static void step_buffers(run *r)
{
  const vyre_dispatch_options *options = read_options(&r->in, &r->pool, r->push_size);
  vyre_buffer *made[3] = {NULL, NULL, NULL}, *given[3];
  const uint8_t what = fuzz_byte(&r->in);
  const uint32_t count = what % 4;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; i < 3; ++i) {
    uint64_t size = fuzz_byte(&r->in);
    size = size ? size : WORDS * 4u;
    err.message[0] = err.fix[0] = '\0';
    status = vyre_buffer_create(on.device, size, &made[i], &err);
    fuzz_check_error(status, &err);
    given[i] = what & 64 ? made[0] : made[i];
  }
  err.message[0] = err.fix[0] = '\0';
  status = vyre_dispatch_buffers(r->program, options, what & 32 ? NULL : given, count, NULL, &err);
  fuzz_check_error(status, &err);
  for (uint32_t i = 0; i < 3; ++i)
    vyre_buffer_destroy(made[i]);
}

static void take_steps(run *r)
{
  while (r->in.left && r->pool.count < FUZZ_POOL_MOST / 2) {
    switch (fuzz_byte(&r->in) % 6) {
    case 0:
      step_dispatch(r);
      break;
    case 1:
      step_fault(r);
      break;
    case 2:
      step_pending(r);
      break;
    case 3:
      step_explain(r);
      break;
    case 4:
      step_buffers(r);
      break;
    default:
      (void)vyre_device_recover(on.device, NULL);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const vyre_outputs empty = VYRE_OUTPUTS_INIT;
  static run r;
  uint8_t first, kind;
  if (!on.context)
    open_devices();
  r.in = (fuzz_input){data, size};
  first = fuzz_byte(&r.in);
  kind = first % KINDS;
  start_run(first / KINDS);
  r.program = make_program(kind);
  r.push_size = kind == 4 ? 8 : 0;
  r.outputs = empty;
  take_steps(&r);
  vyre_program_destroy(r.program);
  vyre_outputs_reset(&r.outputs);
  fuzz_free(&r.pool);
  end_run(first / KINDS);
  return 0;
}
