/*
 * Program descriptions: every rule that is known before a dispatch (vyre__program_validate), with
 * and without a device's limits, and the text of what is sound (vyre_program_source).
 *
 * The input edits a sound description of two segments.  All rows lie in memory that ends with the
 * last of them at the size that the first states, as a caller of another version would have it.
 */
#include "core/program/program.h"
#include "tests/fuzz/fuzz.h"

#define BUFFERS 4u
#define SEGMENTS 2u
#define BINDINGS 3u
#define CODES 2u
#define MOST_ROWS 100u

static const vyre_buffer_decl buffer_rows[BUFFERS] = {
    {sizeof(vyre_buffer_decl), VYRE_READ_ONLY, "in", 4, 0, 16, 0, 0},
    {sizeof(vyre_buffer_decl), VYRE_READ_WRITE, "state", 4, 0, VYRE_COUNT_FROM_INPUT, 0, 0},
    {sizeof(vyre_buffer_decl), VYRE_WRITE_ONLY, "out", 8, VYRE_BUFFER_RANGE, 16, 8, 64},
    {sizeof(vyre_buffer_decl), VYRE_WORKGROUP, "tile", 4, 0, 64, 0, 0},
};
static const vyre_segment_binding binding_rows[SEGMENTS][BINDINGS] = {
    {{sizeof(vyre_segment_binding), VYRE_READ_ONLY, "in", 0, 0},
     {sizeof(vyre_segment_binding), VYRE_READ_WRITE, "state", 0, 0},
     {sizeof(vyre_segment_binding), VYRE_WORKGROUP, "tile", 0, 0}},
    {{sizeof(vyre_segment_binding), VYRE_READ_ONLY, "state", 0, 0},
     {sizeof(vyre_segment_binding), VYRE_WRITE_ONLY, "out", VYRE_BINDING_WRITES_ALL, 0},
     {sizeof(vyre_segment_binding), VYRE_WORKGROUP, "tile", 0, 0}},
};
static const char source[] = "VYRE_SEGMENT(hop)\n";
static const vyre_code code_rows[CODES] = {
    {sizeof(vyre_code), 0, "native", "x86-64", "object", 6, NULL},
    {sizeof(vyre_code), 0, "vyre-c", NULL, source, sizeof source - 1, "dir/file.c"},
};

/* What the edits change before it is laid out. */
typedef struct plan {
  vyre_program_desc desc;
  uint32_t desc_size;
  vyre_buffer_decl buffers[BUFFERS];
  vyre_segment_decl segments[SEGMENTS];
  vyre_segment_binding bindings[SEGMENTS][BINDINGS];
  vyre_code codes[CODES];
  uint32_t buffer_count, segment_count, code_count; /* rows that are really there, repeated */
  uint32_t binding_counts[SEGMENTS];
  bool no_rows[4 + SEGMENTS]; /* NULL instead of buffers, segments, codes, bindings */
  vyre_device_info limits;
} plan;

static void start(plan *p)
{
  static const vyre_program_desc init = VYRE_PROGRAM_DESC_INIT;
  static const vyre_segment_decl segment = VYRE_SEGMENT_DECL_INIT;
  memset(p, 0, sizeof *p);
  p->desc = init;
  p->desc.name = "fuzz";
  p->desc.iterations = 3;
  p->desc_size = sizeof p->desc;
  memcpy(p->buffers, buffer_rows, sizeof buffer_rows);
  memcpy(p->bindings, binding_rows, sizeof binding_rows);
  memcpy(p->codes, code_rows, sizeof code_rows);
  p->buffer_count = BUFFERS;
  p->segment_count = SEGMENTS;
  p->code_count = CODES;
  for (uint32_t s = 0; s < SEGMENTS; ++s) {
    p->segments[s] = segment;
    p->segments[s].kernel = s ? "settle" : "hop";
    p->binding_counts[s] = BINDINGS;
  }
  p->limits.struct_size = sizeof p->limits;
  snprintf(p->limits.selector, sizeof p->limits.selector, "fuzz:0");
  p->limits.max_workgroup[0] = p->limits.max_workgroup[1] = p->limits.max_workgroup[2] = 1024;
  p->limits.max_workgroup_items = 1024;
  p->limits.max_workgroup_memory = 32768;
  p->limits.max_push_bytes = 128;
  p->limits.max_bindings = 16;
}

/* ---- edits ---- */

static void edit_buffer(fuzz_input *in, fuzz_pool *pool, plan *p)
{
  const uint8_t what = fuzz_byte(in);
  vyre_buffer_decl *row = &p->buffers[what % BUFFERS];
  switch (what / BUFFERS % 8) {
  case 0:
    row->struct_size = (uint32_t)fuzz_number(in);
    break;
  case 1:
    row->access = (uint32_t)fuzz_number(in);
    break;
  case 2:
    row->name = fuzz_text(in, pool);
    break;
  case 3:
    row->element_size = (uint32_t)fuzz_number(in);
    break;
  case 4:
    row->flags = (uint32_t)fuzz_number(in);
    break;
  case 5:
    row->element_count = fuzz_number(in);
    break;
  case 6:
    row->range_offset = fuzz_number(in);
    break;
  default:
    row->range_size = fuzz_number(in);
  }
}

static void edit_binding(fuzz_input *in, fuzz_pool *pool, plan *p)
{
  const uint8_t what = fuzz_byte(in);
  vyre_segment_binding *row = &p->bindings[what % SEGMENTS][what / SEGMENTS % BINDINGS];
  switch (what / SEGMENTS / BINDINGS % 4) {
  case 0:
    row->struct_size = (uint32_t)fuzz_number(in);
    break;
  case 1:
    row->access = (uint32_t)fuzz_number(in);
    break;
  case 2:
    row->buffer = fuzz_text(in, pool);
    break;
  default:
    row->flags = (uint32_t)fuzz_number(in);
  }
}

static void edit_segment(fuzz_input *in, fuzz_pool *pool, plan *p)
{
  const uint8_t what = fuzz_byte(in);
  vyre_segment_decl *row = &p->segments[what % SEGMENTS];
  switch (what / SEGMENTS % 4) {
  case 0:
    row->struct_size = (uint32_t)fuzz_number(in);
    break;
  case 1:
    row->kernel = fuzz_text(in, pool);
    break;
  case 2:
    row->elements[what % 3] = fuzz_number(in);
    break;
  default:
    row->groups[what % 3] = (uint32_t)fuzz_number(in);
  }
}

static void edit_code(fuzz_input *in, fuzz_pool *pool, plan *p)
{
  const uint8_t what = fuzz_byte(in);
  vyre_code *row = &p->codes[what % CODES];
  switch (what / CODES % 5) {
  case 0:
    row->struct_size = (uint32_t)fuzz_number(in);
    break;
  case 1:
    row->format = fuzz_text(in, pool);
    break;
  case 2:
    row->arch = fuzz_text(in, pool);
    break;
  case 3:
    row->name = fuzz_text(in, pool);
    break;
  default:
    row->data = fuzz_text(in, pool);
    row->size = row->data ? strlen(row->data) : fuzz_number(in);
  }
}

static void edit_count(fuzz_input *in, plan *p)
{
  const uint8_t what = fuzz_byte(in);
  const uint32_t count = (uint32_t)fuzz_number(in) % (MOST_ROWS + 1);
  switch (what % 8) {
  case 0:
    p->buffer_count = count;
    break;
  case 1:
    p->segment_count = count;
    break;
  case 2:
    p->code_count = count;
    break;
  case 3:
  case 4:
    p->binding_counts[what % 8 - 3] = count;
    break;
  default:
    p->no_rows[what / 8 % (sizeof p->no_rows / sizeof p->no_rows[0])] = true;
  }
}

static void edit_whole(fuzz_input *in, fuzz_pool *pool, plan *p)
{
  const uint8_t what = fuzz_byte(in);
  switch (what % 10) {
  case 0:
    p->desc_size = (uint32_t)fuzz_number(in);
    break;
  case 1:
    p->desc.name = fuzz_text(in, pool);
    break;
  case 2:
    p->desc.workgroup[what / 10 % 3] = (uint32_t)fuzz_number(in);
    break;
  case 3:
    p->desc.push_size = (uint32_t)fuzz_number(in);
    break;
  case 4:
    p->desc.iterations = (uint32_t)fuzz_number(in);
    break;
  case 5:
    p->desc.converge = (uint32_t)fuzz_number(in);
    break;
  case 6:
    p->desc.flags = (uint32_t)fuzz_number(in);
    break;
  case 7:
    p->desc.elements[what / 10 % 3] = fuzz_number(in);
    break;
  case 8:
    p->desc.groups[what / 10 % 3] = (uint32_t)fuzz_number(in);
    break;
  default:
    p->limits.max_workgroup[what / 10 % 3] = (uint32_t)fuzz_number(in);
    p->limits.max_workgroup_items = (uint32_t)fuzz_number(in);
    p->limits.max_workgroup_memory = fuzz_number(in);
    p->limits.max_buffer_bytes = fuzz_number(in);
    p->limits.max_bindings = (uint32_t)fuzz_number(in);
  }
}

static void edit(fuzz_input *in, fuzz_pool *pool, plan *p)
{
  while (in->left && pool->count < FUZZ_POOL_MOST / 2) {
    switch (fuzz_byte(in) % 6) {
    case 0:
      edit_buffer(in, pool, p);
      break;
    case 1:
      edit_binding(in, pool, p);
      break;
    case 2:
      edit_segment(in, pool, p);
      break;
    case 3:
      edit_code(in, pool, p);
      break;
    case 4:
      edit_count(in, p);
      break;
    default:
      edit_whole(in, pool, p);
    }
  }
}

/* ---- laying out ---- */

/*
 * `count` rows at the stride that the first states, taken from `rows` in turn.  A stride that no
 * reader may step by leaves one row of 4 bytes: its size is all that may be read.
 */
static void *lay_rows(fuzz_pool *pool, const void *rows, uint32_t kinds, uint32_t count,
                      size_t size)
{
  const uint32_t stride = vyre__struct_size(rows);
  const bool steps = stride >= 4 && stride <= size + 64;
  unsigned char *laid = NULL;
  if (!count)
    return fuzz_keep(pool, 0);
  laid = fuzz_keep(pool, steps ? (size_t)count * stride : stride < 4 ? 4 : size);
  for (uint32_t i = 0; i < (steps ? count : 1); ++i) {
    const char *row = (const char *)rows + (size_t)(i % kinds) * size;
    const size_t room = steps ? stride : stride < 4 ? 4 : size;
    memcpy(laid + (size_t)i * stride, row, room < size ? room : size);
  }
  return laid;
}

/* A stride far beyond the structure is a caller's lie that no reader can know: one row then. */
static uint32_t believable(const void *rows, uint32_t count, size_t size)
{
  const uint32_t stride = vyre__struct_size(rows);
  return count > 1 && stride > size + 64 ? 1 : count;
}

static vyre_program_desc *lay_out(fuzz_pool *pool, plan *p)
{
  const size_t size = p->desc_size < 4                      ? 4
                      : p->desc_size > sizeof p->desc + 256 ? sizeof p->desc
                                                            : p->desc_size;
  vyre_program_desc *desc = fuzz_keep(pool, size);
  vyre_program_desc *d = &p->desc;
  for (uint32_t s = 0; s < SEGMENTS; ++s) {
    vyre_segment_decl *segment = &p->segments[s];
    segment->binding_count = believable(p->bindings[s], p->binding_counts[s], sizeof **p->bindings);
    segment->bindings = p->no_rows[4 + s] ? NULL
                                          : lay_rows(pool, p->bindings[s], BINDINGS,
                                                     segment->binding_count, sizeof **p->bindings);
  }
  d->buffer_count = believable(p->buffers, p->buffer_count, sizeof *p->buffers);
  d->segment_count = believable(p->segments, p->segment_count, sizeof *p->segments);
  d->code_count = believable(p->codes, p->code_count, sizeof *p->codes);
  d->buffers = p->no_rows[0]
                   ? NULL
                   : lay_rows(pool, p->buffers, BUFFERS, d->buffer_count, sizeof *p->buffers);
  d->segments = p->no_rows[1]
                    ? NULL
                    : lay_rows(pool, p->segments, SEGMENTS, d->segment_count, sizeof *p->segments);
  d->code = p->no_rows[2] ? NULL : lay_rows(pool, p->codes, CODES, d->code_count, sizeof *p->codes);
  d->struct_size = p->desc_size;
  memcpy(desc, d, size < sizeof *d ? size : sizeof *d);
  return desc;
}

/* ---- checking ---- */

static void check_source(const vyre_program_desc *desc)
{
  vyre_error err = VYRE_ERROR_INIT;
  char *text = NULL;
  uint64_t size = 0;
  vyre_status status = vyre_program_source(desc, NULL, &text, &size, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (text != NULL));
  if (text) {
    FUZZ_REQUIRE(text[size] == '\0' && strlen(text) == size);
    FUZZ_REQUIRE(strstr(text, "VYRE_ENTRY"));
  }
  free(text);
}

/* An error record of an older caller: only what lies within its size is written. */
static void check_short_error(const vyre_program_desc *desc, vyre_status status)
{
  static const uint32_t sizes[] = {4, 8, 16, 80, 2128};
  for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    vyre_error *err = calloc(1, sizes[i]);
    if (!err)
      exit(2);
    memcpy(err, &sizes[i], 4);
    FUZZ_REQUIRE(vyre__program_validate(desc, NULL, err) == status);
    free(err);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static plan p;
  fuzz_input in = {data, size};
  fuzz_pool pool = {.count = 0};
  vyre_error err = VYRE_ERROR_INIT, limited = VYRE_ERROR_INIT;
  vyre_program_desc *desc = NULL;
  vyre_status status;
  start(&p);
  edit(&in, &pool, &p);
  desc = lay_out(&pool, &p);
  status = vyre__program_validate(desc, NULL, &err);
  fuzz_check_error(status, &err);
  if (status != VYRE_OK)
    check_short_error(desc, status);
  /* What no device could run is not sound on one. */
  FUZZ_REQUIRE(vyre__program_validate(desc, &p.limits, &limited) != VYRE_OK || status == VYRE_OK);
  check_source(desc);
  fuzz_free(&pool);
  return 0;
}
