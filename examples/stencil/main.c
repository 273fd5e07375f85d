/*
 * main.c - heat in a plate, until nothing changes any more (fixed point) or for a number of passes
 * (f32), checked with the same loops in plain C.
 */
#include "../example.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char stencil_kernel[];
extern const size_t stencil_kernel_size;

static const char help[] =
    "Usage: stencil [--width N] [--height N] [--float] [OPTION...]\n"
    "\n"
    "A plate of 0 degrees; its upper rim is held at 100 degrees, its left rim falls from 100 to\n"
    "0.  Each pass makes every inner cell the mean of its four neighbours, twice.\n"
    "\n"
    "      --width N         default 64\n"
    "      --height N        default 64\n"
    "      --float           f32 and 100 passes, instead of fixed point (1/256 degree) and as "
    "many\n"
    "                        passes as change something\n" EXAMPLE_OPTIONS_HELP
    "\n" EXAMPLE_EXIT_HELP;

#define HOT 100u
#define DEGREE 256u /* in fixed point */

enum { OPTION_WIDTH = EXAMPLE_OWN_OPTION, OPTION_HEIGHT, OPTION_FLOAT };

typedef struct request {
  example x;
  uint32_t size[2]; /* width, height: the push constants */
  bool floats;
  uint32_t limit; /* of passes */
  bool tested;
} request;

/* A cell is 32 bits of either kind. */
typedef union cell {
  uint32_t fixed;
  float real;
} cell;

/* ---- the program ---- */

#define BUFFER(name, flags)                                                                        \
  {                                                                                                \
    sizeof(vyre_buffer_decl), VYRE_READ_WRITE, name, 4, flags, VYRE_COUNT_FROM_INPUT, 0, 0         \
  }
#define STEP(from, to)                                                                             \
  {                                                                                                \
    {sizeof(vyre_segment_binding), VYRE_READ_ONLY, from, 0, 0},                                    \
    {                                                                                              \
      sizeof(vyre_segment_binding), VYRE_WRITE_ONLY, to, VYRE_BINDING_WRITES_ALL, 0                \
    }                                                                                              \
  }
#define SEGMENT(name, bindings)                                                                    \
  {                                                                                                \
    sizeof(vyre_segment_decl), 2, name, bindings, {0}, {0}, 0                                      \
  }

static const vyre_buffer_decl buffers[2] = {BUFFER("grid", 0), BUFFER("other", VYRE_BUFFER_RANGE)};
static const vyre_segment_binding there[2] = STEP("grid", "other"), back[2] = STEP("other", "grid");
static const vyre_segment_decl segments[2][2] = {
    {SEGMENT("fixed_there", there), SEGMENT("fixed_back", back)},
    {SEGMENT("float_there", there), SEGMENT("float_back", back)}};

static const cell *relax(request *r, const cell *grid, const cell *other, uint64_t bytes)
{
  const example_kernel kernel = {stencil_kernel, stencil_kernel_size, "stencil.c", r->size,
                                 sizeof r->size};
  const vyre_bytes inputs[2] = {{grid, bytes}, {other, bytes}};
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;

  desc.name = "stencil";
  desc.buffers = buffers;
  desc.buffer_count = 2;
  desc.segments = segments[r->floats];
  desc.segment_count = 2;
  desc.iterations = r->limit;
  desc.converge = r->tested ? VYRE_CONVERGE_EXACT : VYRE_CONVERGE_OFF;
  return example_run(&r->x, &desc, &kernel, inputs, 2) ? example_output(&r->x, 0, bytes) : NULL;
}

/* ---- the check ---- */

static void step(const request *r, const cell *from, cell *to)
{
  const size_t width = r->size[0], height = r->size[1];

  for (size_t y = 0; y < height; y++) {
    for (size_t x = 0; x < width; x++) {
      const cell *at = &from[y * width + x];
      if (x == 0 || y == 0 || x + 1 == width || y + 1 == height) {
        to[y * width + x] = *at;
      } else if (r->floats) {
        to[y * width + x].real =
            (at[-(ptrdiff_t)width].real + at[-1].real + at[1].real + at[width].real) * 0.25f;
      } else {
        to[y * width + x].fixed =
            (at[-(ptrdiff_t)width].fixed + at[-1].fixed + at[1].fixed + at[width].fixed) / 4;
      }
    }
  }
}

/* Relaxes `grid` and `other` in place; returns the passes. */
static uint32_t relax_here(const request *r, cell *grid, cell *other, cell *before, size_t bytes)
{
  uint32_t passes = 0;
  bool changed = true;

  while (passes < r->limit && (changed || !r->tested)) {
    memcpy(before, other, bytes);
    step(r, grid, other);
    changed = memcmp(before, other, bytes) != 0;
    memcpy(before, grid, bytes);
    step(r, other, grid);
    changed = memcmp(before, grid, bytes) != 0 || changed;
    passes++;
  }
  return passes;
}

static int check(const request *r, cell *grid, cell *other, const cell *result, size_t cells)
{
  cell *before = malloc(cells * sizeof *before);
  const uint64_t began = example_now();
  uint64_t took;
  uint32_t passes;

  if (before == NULL) {
    example_complain(&r->x, "no memory for the check");
    return EXAMPLE_ERROR;
  }
  passes = relax_here(r, grid, other, before, cells * sizeof *before);
  took = example_now() - began;
  free(before);
  if (passes != r->x.result.passes) {
    example_complain(&r->x, "check: %" PRIu32 " passes, the loop in C needs %" PRIu32,
                     r->x.result.passes, passes);
    return EXAMPLE_DIFFERS;
  }
  for (size_t i = 0; i < cells; i++) {
    if (result[i].fixed != grid[i].fixed) {
      example_complain(&r->x, "check: cell %zu has bits %08" PRIx32 ", not %08" PRIx32, i,
                       result[i].fixed, grid[i].fixed);
      return EXAMPLE_DIFFERS;
    }
  }
  fprintf(stderr, "check: the same bits as by a loop in C, which took %.3f ms\n",
          (double)took / 1e6);
  return EXAMPLE_OK;
}

/* ---- from numbers to answer ---- */

static void fill(const request *r, cell *grid)
{
  const uint32_t width = r->size[0], height = r->size[1];

  for (uint32_t y = 0; y < height; y++) {
    for (uint32_t x = 0; x < width; x++) {
      /* The left rim falls evenly; in fixed point rounded down, in f32 rounded as C rounds. */
      const uint32_t hot = y == 0   ? HOT * DEGREE
                           : x == 0 ? HOT * DEGREE / height * (height - y)
                                    : 0;
      cell *at = &grid[(size_t)y * width + x];
      if (r->floats) {
        at->real = (float)hot / (float)DEGREE;
      } else {
        at->fixed = hot;
      }
    }
  }
}

static void print(const request *r, const cell *result)
{
  const cell middle = result[(size_t)(r->size[1] / 2) * r->size[0] + r->size[0] / 2];
  const double degrees = r->floats ? (double)middle.real : middle.fixed / (double)DEGREE;

  if (r->x.json) {
    printf("{\"width\": %" PRIu32 ", \"height\": %" PRIu32 ", \"middle\": %.9g, ", r->size[0],
           r->size[1], degrees);
    example_report(&r->x);
    puts("}");
  } else {
    printf("%" PRIu32 " x %" PRIu32 " cells: %.3f degrees in the middle\n", r->size[0], r->size[1],
           degrees);
    example_report(&r->x);
  }
}

static int run(request *r)
{
  const size_t cells = (size_t)r->size[0] * r->size[1], bytes = cells * sizeof(cell);
  cell *grid = malloc(bytes), *other = calloc(cells, sizeof *other);
  const cell *result = NULL;
  int code = EXAMPLE_ERROR;

  if (grid == NULL || other == NULL) {
    example_complain(&r->x, "no memory for %zu cells", cells);
  } else {
    fill(r, grid);
    result = example_open(&r->x) ? relax(r, grid, other, bytes) : NULL;
  }
  if (result != NULL) {
    code = r->x.check ? check(r, grid, other, result, cells) : EXAMPLE_OK;
    if (code == EXAMPLE_OK) {
      print(r, result);
    }
  }
  free(grid);
  free(other);
  return code;
}

/* What the options mean together; false if they cannot be. */
static bool settle(request *r)
{
  if (r->x.converge_given && r->x.converge == VYRE_CONVERGE_DECLARED) {
    example_complain(&r->x, "--converge declared: these kernels do not say what they change");
    fprintf(stderr, "  Give exact or off.\n");
    return false;
  }
  r->tested = r->x.converge_given ? r->x.converge == VYRE_CONVERGE_EXACT : !r->floats;
  r->limit = r->x.iterations != 0 ? r->x.iterations : r->floats ? 100 : 1000000;
  /* A single pass is not tested. */
  r->tested = r->tested && r->limit > 1;
  return true;
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {EXAMPLE_LONG_OPTIONS,
                                        {"width", required_argument, NULL, OPTION_WIDTH},
                                        {"height", required_argument, NULL, OPTION_HEIGHT},
                                        {"float", no_argument, NULL, OPTION_FLOAT},
                                        {NULL, 0, NULL, 0}};
  request r = {.size = {64, 64}};
  uint64_t width = 64, height = 64;
  bool good = true;
  int option, code;

  example_init(&r.x, "stencil");
  while (good && (option = getopt_long(argc, argv, EXAMPLE_SHORT_OPTIONS, longs, NULL)) != -1) {
    switch (option) {
    case 'h':
      fputs(help, stdout);
      return EXAMPLE_OK;
    case OPTION_WIDTH:
      good = example_number(&r.x, "--width", optarg, 1, 1u << 15, &width);
      break;
    case OPTION_HEIGHT:
      good = example_number(&r.x, "--height", optarg, 1, 1u << 15, &height);
      break;
    case OPTION_FLOAT:
      r.floats = true;
      break;
    default:
      good = example_option(&r.x, option, optarg);
    }
  }
  if (good && optind != argc) {
    example_complain(&r.x, "unexpected argument '%s'", argv[optind]);
    fprintf(stderr, "  See stencil --help.\n");
    good = false;
  }
  if (!good || !settle(&r)) {
    return EXAMPLE_ERROR;
  }
  r.size[0] = (uint32_t)width;
  r.size[1] = (uint32_t)height;
  code = run(&r);
  example_close(&r.x);
  return code;
}
