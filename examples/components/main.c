/*
 * main.c - connected components of a random graph, checked with a union-find.
 */
#include "../example.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char components_kernel[];
extern const size_t components_kernel_size;

static const char help[] =
    "Usage: components [--edges N] [--vertices N] [--seed N] [OPTION...]\n"
    "\n"
    "Makes a random undirected graph, the same for the same three numbers, and finds its\n"
    "connected components.\n"
    "\n"
    "      --edges N         default 1000000\n"
    "      --vertices N      default as many as edges: one large component and many small ones\n"
    "      --seed N          default 1\n" EXAMPLE_OPTIONS_HELP "\n" EXAMPLE_EXIT_HELP;

enum { OPTION_EDGES = EXAMPLE_OWN_OPTION, OPTION_VERTICES, OPTION_SEED };

typedef struct request {
  example x;
  uint64_t edge_count;
  uint64_t vertex_count; /* 0: as many as edges */
  uint64_t seed;
} request;

/* ---- the program ---- */

#define BUFFER(name, access, flags)                                                                \
  {                                                                                                \
    sizeof(vyre_buffer_decl), access, name, 4, flags, VYRE_COUNT_FROM_INPUT, 0, 0                  \
  }
#define BINDING(name, access)                                                                      \
  {                                                                                                \
    sizeof(vyre_segment_binding), access, name, 0, 0                                               \
  }
#define SEGMENT(name, bindings)                                                                    \
  {                                                                                                \
    sizeof(vyre_segment_decl), sizeof(bindings) / sizeof((bindings)[0]), name, bindings, {0}, {0}, \
        0                                                                                          \
  }

static const vyre_buffer_decl buffers[] = {BUFFER("edges", VYRE_READ_ONLY, 0),
                                           BUFFER("label", VYRE_READ_WRITE, 0),
                                           BUFFER("next", VYRE_READ_WRITE, VYRE_BUFFER_RANGE)};
static const vyre_segment_binding hook[] = {BINDING("edges", VYRE_READ_ONLY),
                                            BINDING("label", VYRE_READ_ONLY),
                                            BINDING("next", VYRE_READ_WRITE)};
static const vyre_segment_binding jump[] = {BINDING("next", VYRE_READ_ONLY),
                                            BINDING("label", VYRE_READ_WRITE)};
static const vyre_segment_binding jump_back[] = {BINDING("label", VYRE_READ_ONLY),
                                                 BINDING("next", VYRE_READ_WRITE)};
static const vyre_segment_decl segments[] = {SEGMENT("hook", hook), SEGMENT("jump", jump),
                                             SEGMENT("jump_back", jump_back)};

/* Labels, one a vertex, in the example's outputs; NULL: an error, which has been told. */
static const uint32_t *find_components(example *x, const uint32_t *edges, uint64_t edge_count,
                                       const uint32_t *own, uint64_t vertex_count)
{
  const example_kernel kernel = {components_kernel, components_kernel_size, "components.c", NULL,
                                 0};
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;

  desc.name = "components";
  desc.buffers = buffers;
  desc.buffer_count = sizeof buffers / sizeof buffers[0];
  desc.segments = segments;
  desc.segment_count = sizeof segments / sizeof segments[0];
  /* Each pass lowers a label or is the last: a bound that no run comes near. */
  desc.iterations = 1000000;
  if (!example_run(x, &desc, &kernel,
                   (const vyre_bytes[]){
                       {edges, edge_count * 8}, {own, vertex_count * 4}, {own, vertex_count * 4}},
                   desc.buffer_count)) {
    return NULL;
  }
  return example_output(x, 0, vertex_count * 4);
}

/* ---- the check ---- */

static uint32_t root_of(uint32_t *parents, uint32_t v)
{
  while (parents[v] != v) {
    parents[v] = parents[parents[v]];
    v = parents[v];
  }
  return v;
}

/* The smaller root becomes the other's: a component's root is its smallest vertex. */
static int check(const example *x, const uint32_t *edges, uint64_t edge_count,
                 const uint32_t *labels, const uint32_t *own, uint64_t vertex_count)
{
  uint32_t *parents = malloc((size_t)vertex_count * sizeof *parents);
  const uint64_t began = example_now();
  uint64_t wrong = 0;

  if (parents == NULL) {
    example_complain(x, "no memory for the check");
    return EXAMPLE_ERROR;
  }
  memcpy(parents, own, (size_t)vertex_count * sizeof *parents);
  for (uint64_t e = 0; e < edge_count; e++) {
    const uint32_t a = root_of(parents, edges[2 * e]), b = root_of(parents, edges[2 * e + 1]);
    parents[a < b ? b : a] = a < b ? a : b;
  }
  for (uint32_t v = 0; v < vertex_count; v++) {
    const uint32_t root = root_of(parents, v);
    if (labels[v] != root && wrong++ == 0) {
      example_complain(x, "check: vertex %" PRIu32 " has label %" PRIu32 ", not %" PRIu32, v,
                       labels[v], root);
    }
  }
  free(parents);
  if (wrong != 0) {
    example_complain(x, "check: %" PRIu64 " labels differ from those of a union-find", wrong);
    return EXAMPLE_DIFFERS;
  }
  fprintf(stderr, "check: all labels as by a union-find, which took %.3f ms\n",
          (double)(example_now() - began) / 1e6);
  return EXAMPLE_OK;
}

/* ---- from numbers to answer ---- */

static bool print(const request *r, const uint32_t *labels)
{
  uint32_t *sizes = calloc((size_t)r->vertex_count, sizeof *sizes);
  uint64_t components = 0;
  uint32_t largest = 0;

  if (sizes == NULL) {
    example_complain(&r->x, "no memory to count components");
    return false;
  }
  for (uint64_t v = 0; v < r->vertex_count; v++) {
    const uint32_t size = ++sizes[labels[v]];
    components += labels[v] == v;
    largest = size > largest ? size : largest;
  }
  free(sizes);
  if (r->x.json) {
    printf("{\"vertices\": %" PRIu64 ", \"edges\": %" PRIu64 ", \"components\": %" PRIu64
           ", \"largest\": %" PRIu32 ", ",
           r->vertex_count, r->edge_count, components, largest);
    example_report(&r->x);
    puts("}");
  } else {
    printf("%" PRIu64 " vertices, %" PRIu64 " edges: %" PRIu64
           " components, the largest of %" PRIu32 " vertices\n",
           r->vertex_count, r->edge_count, components, largest);
    example_report(&r->x);
  }
  return true;
}

static int run(request *r)
{
  uint64_t state = r->seed;
  uint32_t *edges = malloc((size_t)r->edge_count * 8 + 1), *own = NULL;
  const uint32_t *labels;
  int code = EXAMPLE_ERROR;

  own = malloc((size_t)r->vertex_count * sizeof *own);
  if (edges == NULL || own == NULL) {
    example_complain(&r->x, "no memory for the graph");
    goto done;
  }
  for (uint64_t i = 0; i < 2 * r->edge_count; i++) {
    edges[i] = (uint32_t)(example_random(&state) % r->vertex_count);
  }
  for (uint32_t v = 0; v < r->vertex_count; v++) {
    own[v] = v;
  }
  if (!example_open(&r->x)) {
    goto done;
  }
  labels = find_components(&r->x, edges, r->edge_count, own, r->vertex_count);
  if (labels == NULL) {
    goto done;
  }
  code = r->x.check ? check(&r->x, edges, r->edge_count, labels, own, r->vertex_count) : EXAMPLE_OK;
  if (code == EXAMPLE_OK && !print(r, labels)) {
    code = EXAMPLE_ERROR;
  }

done:
  free(edges);
  free(own);
  return code;
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {EXAMPLE_LONG_OPTIONS,
                                        {"edges", required_argument, NULL, OPTION_EDGES},
                                        {"vertices", required_argument, NULL, OPTION_VERTICES},
                                        {"seed", required_argument, NULL, OPTION_SEED},
                                        {NULL, 0, NULL, 0}};
  request r = {.edge_count = 1000000, .seed = 1};
  bool good = true;
  int option, code;

  example_init(&r.x, "components");
  while (good && (option = getopt_long(argc, argv, EXAMPLE_SHORT_OPTIONS, longs, NULL)) != -1) {
    switch (option) {
    case 'h':
      fputs(help, stdout);
      return EXAMPLE_OK;
    case OPTION_EDGES:
      good = example_number(&r.x, "--edges", optarg, 0, 1u << 30, &r.edge_count);
      break;
    case OPTION_VERTICES:
      good = example_number(&r.x, "--vertices", optarg, 1, 1u << 30, &r.vertex_count);
      break;
    case OPTION_SEED:
      good = example_number(&r.x, "--seed", optarg, 0, UINT64_MAX, &r.seed);
      break;
    default:
      good = example_option(&r.x, option, optarg);
    }
  }
  if (good && optind != argc) {
    example_complain(&r.x, "unexpected argument '%s'", argv[optind]);
    fprintf(stderr, "  See components --help.\n");
    good = false;
  }
  if (!good) {
    return EXAMPLE_ERROR;
  }
  if (r.vertex_count == 0) {
    r.vertex_count = r.edge_count != 0 ? r.edge_count : 1;
  }
  code = run(&r);
  example_close(&r.x);
  return code;
}
