/*
 * main.c - the sums of all numbers before each of many, checked with a serial loop.
 */
#include "../example.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

extern const char prefix_sum_kernel[];
extern const size_t prefix_sum_kernel_size;

static const char help[] =
    "Usage: prefix_sum [--count N] [--seed N] [OPTION...]\n"
    "\n"
    "Replaces each of N random 64-bit numbers by the sum of those before it.\n"
    "\n"
    "      --count N         default 1048576\n"
    "      --seed N          default 1\n" EXAMPLE_OPTIONS_HELP "\n" EXAMPLE_EXIT_HELP;

enum { OPTION_COUNT = EXAMPLE_OWN_OPTION, OPTION_SEED };

#define BLOCK 1024u   /* of prefix_sum.c */
#define WORKGROUP 64u /* items */

/* ---- the program ---- */

#define BINDING(name, access)                                                                      \
  {                                                                                                \
    sizeof(vyre_segment_binding), access, name, 0, 0                                               \
  }
#define SEGMENT(name, bindings, groups)                                                            \
  {                                                                                                \
    sizeof(vyre_segment_decl), sizeof(bindings) / sizeof((bindings)[0]), name, bindings, {0},      \
        {groups, groups, groups}, 0                                                                \
  }

static const vyre_segment_binding scan_numbers[] = {BINDING("numbers", VYRE_READ_WRITE),
                                                    BINDING("totals", VYRE_READ_WRITE),
                                                    BINDING("part", VYRE_WORKGROUP)};
static const vyre_segment_binding scan_totals[] = {BINDING("totals", VYRE_READ_WRITE),
                                                   BINDING("tops", VYRE_READ_WRITE),
                                                   BINDING("part", VYRE_WORKGROUP)};
static const vyre_segment_binding scan_tops[] = {BINDING("tops", VYRE_READ_WRITE),
                                                 BINDING("part", VYRE_WORKGROUP)};
static const vyre_segment_binding add[] = {BINDING("numbers", VYRE_READ_WRITE),
                                           BINDING("totals", VYRE_READ_ONLY),
                                           BINDING("tops", VYRE_READ_ONLY)};
static const vyre_segment_decl segments[] = {
    SEGMENT("scan_numbers", scan_numbers, 0), SEGMENT("scan_totals", scan_totals, 0),
    SEGMENT("scan_tops", scan_tops, 1), SEGMENT("add", add, 0)};

static uint64_t blocks_of(uint64_t count)
{
  return count == 0 ? 1 : (count - 1) / BLOCK + 1;
}

static const uint64_t *sum_up(example *x, const uint64_t *numbers, uint64_t count)
{
  const example_kernel kernel = {prefix_sum_kernel, prefix_sum_kernel_size, "prefix_sum.c", NULL,
                                 0};
  const uint32_t scratch = VYRE_BUFFER_OUTPUT | VYRE_BUFFER_RANGE;
  const uint64_t totals = blocks_of(count);
  const vyre_buffer_decl buffers[] = {
      {sizeof buffers[0], VYRE_READ_WRITE, "numbers", 8, 0, VYRE_COUNT_FROM_INPUT, 0, 0},
      {sizeof buffers[0], VYRE_READ_WRITE, "totals", 8, scratch, totals, 0, 0},
      {sizeof buffers[0], VYRE_READ_WRITE, "tops", 8, scratch, blocks_of(totals), 0, 0},
      {sizeof buffers[0], VYRE_WORKGROUP, "part", 8, 0, (uint64_t)2 * WORKGROUP, 0, 0}};
  const vyre_bytes input = {numbers, count * 8};
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;

  desc.name = "prefix_sum";
  desc.buffers = buffers;
  desc.buffer_count = sizeof buffers / sizeof buffers[0];
  desc.segments = segments;
  desc.segment_count = sizeof segments / sizeof segments[0];
  desc.workgroup[0] = WORKGROUP;
  desc.workgroup[1] = desc.workgroup[2] = 1;
  return example_run(x, &desc, &kernel, &input, 1) ? example_output(x, 0, count * 8) : NULL;
}

/* ---- the check ---- */

static int check(const example *x, const uint64_t *numbers, const uint64_t *sums, uint64_t count)
{
  const uint64_t began = example_now();
  uint64_t sum = 0;

  for (uint64_t i = 0; i < count; i++) {
    if (sums[i] != sum) {
      example_complain(x, "check: sum %" PRIu64 " is %" PRIu64 ", not %" PRIu64, i, sums[i], sum);
      return EXAMPLE_DIFFERS;
    }
    sum += numbers[i];
  }
  fprintf(stderr, "check: all sums as by a loop in C, which took %.3f ms\n",
          (double)(example_now() - began) / 1e6);
  return EXAMPLE_OK;
}

/* ---- from numbers to answer ---- */

static void print(const example *x, const uint64_t *sums, uint64_t count)
{
  const uint64_t last = count == 0 ? 0 : sums[count - 1];

  if (x->json) {
    printf("{\"count\": %" PRIu64 ", \"last\": %" PRIu64 ", ", count, last);
    example_report(x);
    puts("}");
  } else {
    printf("%" PRIu64 " numbers, %" PRIu64 " before the last one\n", count, last);
    example_report(x);
  }
}

static int run(example *x, uint64_t count, uint64_t seed)
{
  uint64_t *numbers = malloc((size_t)count * sizeof *numbers + 1);
  const uint64_t *sums = NULL;
  int code = EXAMPLE_ERROR;

  if (numbers == NULL) {
    example_complain(x, "no memory for %" PRIu64 " numbers", count);
    return EXAMPLE_ERROR;
  }
  for (uint64_t i = 0; i < count; i++) {
    numbers[i] = example_random(&seed) >> 32;
  }
  if (example_open(x)) {
    sums = sum_up(x, numbers, count);
  }
  if (sums != NULL) {
    code = x->check ? check(x, numbers, sums, count) : EXAMPLE_OK;
    if (code == EXAMPLE_OK) {
      print(x, sums, count);
    }
  }
  free(numbers);
  return code;
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {EXAMPLE_LONG_OPTIONS,
                                        {"count", required_argument, NULL, OPTION_COUNT},
                                        {"seed", required_argument, NULL, OPTION_SEED},
                                        {NULL, 0, NULL, 0}};
  uint64_t count = 1048576, seed = 1;
  bool good = true;
  example x;
  int option, code;

  example_init(&x, "prefix_sum");
  while (good && (option = getopt_long(argc, argv, EXAMPLE_SHORT_OPTIONS, longs, NULL)) != -1) {
    switch (option) {
    case 'h':
      fputs(help, stdout);
      return EXAMPLE_OK;
    case OPTION_COUNT:
      good = example_number(&x, "--count", optarg, 0, 1u << 30, &count);
      break;
    case OPTION_SEED:
      good = example_number(&x, "--seed", optarg, 0, UINT64_MAX, &seed);
      break;
    default:
      good = example_option(&x, option, optarg);
    }
  }
  if (good && optind != argc) {
    example_complain(&x, "unexpected argument '%s'", argv[optind]);
    fprintf(stderr, "  See prefix_sum --help.\n");
    good = false;
  }
  if (good && x.iterations > 1) {
    example_complain(&x, "--iterations: one pass makes the sums, a second would sum them up again");
    good = false;
  }
  if (!good) {
    return EXAMPLE_ERROR;
  }
  code = run(&x, count, seed);
  example_close(&x);
  return code;
}
