/*
 * main.c - what an installed package needs, directly or by way of others: reachability over the
 * machine's own dependency graph.
 */
#include "../example.h"
#include "apt.h"
#include "dpkg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char reachability_kernel[];
extern const size_t reachability_kernel_size;

static const char help[] =
    "Usage: reachability PACKAGE [--status FILE] [--depth] [--virtual] [OPTION...]\n"
    "\n"
    "Prints the installed packages that PACKAGE (a name, or name:architecture) needs by Depends\n"
    "and Pre-Depends, itself included: those that `apt-cache depends --recurse --installed` "
    "finds.\n"
    "\n"
    "      --status FILE     dpkg's record of packages; default /var/lib/dpkg/status\n"
    "      --depth           sorted by the number of steps from PACKAGE, which stands before each\n"
    "      --virtual         follow names that no installed package bears, but some "
    "provide\n" EXAMPLE_OPTIONS_HELP "\n"
    "--check compares with a search in plain C, and the names with those of apt-cache where there\n"
    "is one (not with --virtual: apt-cache passes such names over).\n"
    "\n" EXAMPLE_EXIT_HELP;

enum { OPTION_STATUS = EXAMPLE_OWN_OPTION, OPTION_DEPTH, OPTION_VIRTUAL };

typedef struct request {
  example x;
  const char *package;
  const char *status;
  bool depth;
  bool virtual_too;
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

/* In the order of manifest.json; of the three bitmaps nothing is read back. */
enum { OFFSETS, EDGES, CHUNKS, SEEN, FRONTIER, NEXT, LEVEL, BUFFER_COUNT };
enum { LEVEL_OUTPUT = LEVEL - SEEN };

static const vyre_buffer_decl buffers[BUFFER_COUNT] = {
    BUFFER("offsets", VYRE_READ_ONLY, 0),
    BUFFER("edges", VYRE_READ_ONLY, 0),
    BUFFER("chunks", VYRE_READ_ONLY, 0),
    BUFFER("seen", VYRE_READ_WRITE, VYRE_BUFFER_RANGE),
    BUFFER("frontier", VYRE_READ_WRITE, VYRE_BUFFER_RANGE),
    BUFFER("next", VYRE_READ_WRITE, VYRE_BUFFER_RANGE),
    BUFFER("level", VYRE_READ_WRITE, 0)};

static const vyre_segment_binding expand[] = {
    BINDING("offsets", VYRE_READ_ONLY),  BINDING("edges", VYRE_READ_ONLY),
    BINDING("chunks", VYRE_READ_ONLY),   BINDING("seen", VYRE_READ_ONLY),
    BINDING("frontier", VYRE_READ_ONLY), BINDING("next", VYRE_READ_WRITE),
    BINDING("level", VYRE_READ_WRITE)};

static const vyre_segment_binding advance[] = {BINDING("seen", VYRE_READ_WRITE),
                                               BINDING("frontier", VYRE_READ_WRITE),
                                               BINDING("next", VYRE_READ_WRITE)};

static const vyre_segment_decl segments[] = {
    {sizeof(vyre_segment_decl), sizeof expand / sizeof expand[0], "expand", expand, {0}, {0}, 0},
    {sizeof(vyre_segment_decl),
     sizeof advance / sizeof advance[0],
     "advance",
     advance,
     {0},
     {0},
     0}};

/* Runs it from vertex `start`; levels, one a vertex, belong to the example's outputs.  NULL: an
   error, which has been told. */
static const uint32_t *search(example *x, const graph *g, uint32_t start)
{
  const example_kernel kernel = {reachability_kernel, reachability_kernel_size, "reachability.c",
                                 NULL, 0};
  const uint64_t words = graph_words(g), map_size = words * 4, level_size = g->vertex_count * 4u;
  uint32_t *maps = calloc(3 * words, 4), *levels = malloc(level_size + 1);
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  const uint32_t *found = NULL;

  if (maps == NULL || levels == NULL) {
    example_complain(x, "no memory for the state of %" PRIu32 " vertices", g->vertex_count);
    goto done;
  }
  maps[start / 32] = maps[words + start / 32] = UINT32_C(1) << (start % 32);
  memset(levels, 0xff, level_size);
  levels[start] = 0;

  desc.name = "reachability";
  desc.buffers = buffers;
  desc.buffer_count = BUFFER_COUNT;
  desc.segments = segments;
  desc.segment_count = sizeof segments / sizeof segments[0];
  /* A path has at most as many steps; one pass finds nothing, one more finds nothing changed. */
  desc.iterations = g->vertex_count < UINT32_MAX - 2 ? g->vertex_count + 2 : UINT32_MAX;
  if (example_run(x, &desc, &kernel,
                  (const vyre_bytes[]){{g->offsets, ((uint64_t)g->vertex_count + 1) * 4},
                                       {g->targets, (uint64_t)g->edge_count * 4},
                                       {g->chunks, ((uint64_t)g->chunk_count + 1) * 8},
                                       {maps, map_size},
                                       {maps + words, map_size},
                                       {maps + 2 * words, map_size},
                                       {levels, level_size}},
                  BUFFER_COUNT)) {
    found = example_output(x, LEVEL_OUTPUT, level_size);
  }

done:
  free(maps);
  free(levels);
  return found;
}

/* ---- what was found ---- */

typedef struct need {
  char name[256];
  uint32_t level;
} need;

static int by_name(const void *a, const void *b)
{
  return strcmp(((const need *)a)->name, ((const need *)b)->name);
}

static int by_level(const void *a, const void *b)
{
  const need *x = a, *y = b;

  return x->level != y->level ? (x->level > y->level) - (x->level < y->level)
                              : strcmp(x->name, y->name);
}

/* The packages with a level, sorted by name; from malloc. */
static need *collect(const dpkg *d, const uint32_t *levels, uint32_t *out_count)
{
  need *needs = malloc(((size_t)d->count + 1) * sizeof *needs);
  uint32_t count = 0;

  if (needs == NULL) {
    return NULL;
  }
  for (uint32_t i = 0; i < d->count; i++) {
    if (levels[i] != GRAPH_UNSEEN) {
      dpkg_full_name(d, i, needs[count].name, sizeof needs[count].name);
      needs[count++].level = levels[i];
    }
  }
  qsort(needs, count, sizeof *needs, by_name);
  *out_count = count;
  return needs;
}

static void print(const request *r, const dpkg *d, const graph *g, const need *needs,
                  uint32_t count)
{
  if (!r->x.json) {
    for (uint32_t i = 0; i < count; i++) {
      if (r->depth) {
        printf("%" PRIu32 " ", needs[i].level);
      }
      puts(needs[i].name);
    }
    return;
  }
  printf("{\"package\": ");
  example_json_text(r->package);
  printf(", \"installed\": %" PRIu32 ", \"edges\": %" PRIu32 ", ", d->count, g->edge_count);
  example_report(&r->x);
  printf(", \"needs\": [");
  for (uint32_t i = 0; i < count; i++) {
    printf("%s{\"package\": ", i == 0 ? "" : ", ");
    example_json_text(needs[i].name);
    printf(", \"level\": %" PRIu32 "}", needs[i].level);
  }
  puts("]}");
}

/* ---- the checks ---- */

static int check_levels(const example *x, const dpkg *d, const graph *g, uint32_t start,
                        const uint32_t *levels)
{
  uint32_t *expected = malloc(((size_t)g->vertex_count + 1) * sizeof *expected);
  int code = EXAMPLE_OK;
  char name[256];

  if (expected == NULL || !graph_levels(g, start, expected)) {
    example_complain(x, "no memory for the check");
    free(expected);
    return EXAMPLE_ERROR;
  }
  for (uint32_t i = 0; i < g->vertex_count; i++) {
    if (levels[i] != expected[i]) {
      dpkg_full_name(d, i, name, sizeof name);
      example_complain(x, "check: %s has level %" PRId32 ", a search in plain C says %" PRId32,
                       name, (int32_t)levels[i], (int32_t)expected[i]);
      code = EXAMPLE_DIFFERS;
    }
  }
  free(expected);
  return code;
}

/* The native architecture and all others that there are, separated by ','. */
static void list_architectures(const dpkg *d, char *out_list, size_t size)
{
  size_t length = (size_t)snprintf(out_list, size, "%s", d->native);

  for (uint32_t i = 0; i < d->count; i++) {
    const char *architecture = d->packages[i].architecture;
    const size_t n = strlen(architecture);
    const char *at = out_list;
    while ((at = strstr(at, architecture)) != NULL &&
           !((at == out_list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))) {
      at++;
    }
    if (at == NULL && length + n + 2 < size) {
      length += (size_t)snprintf(out_list + length, size - length, ",%s", architecture);
    }
  }
}

/* Two sorted lists of names side by side. */
static int compare_with(const example *x, const apt_names *apt, const need *needs, uint32_t count)
{
  size_t i = 0, k = 0;
  int code = EXAMPLE_OK;

  while (i < count || k < apt->count) {
    const int order = i == count ? 1 : k == apt->count ? -1 : strcmp(needs[i].name, apt->names[k]);
    if (order != 0) {
      code = EXAMPLE_DIFFERS;
      example_complain(x, "check: %s is found by %s only",
                       order < 0 ? needs[i].name : apt->names[k],
                       order < 0 ? x->name : "apt-cache");
    }
    i += order <= 0;
    k += order >= 0;
  }
  return code;
}

static int check_names(const request *r, const dpkg *d, const need *needs, uint32_t count)
{
  char architectures[512];
  apt_names apt;
  int code = EXAMPLE_ERROR;

  list_architectures(d, architectures, sizeof architectures);
  switch (apt_ask(r->package, r->status, d->native, architectures, &apt)) {
  case APT_ANSWERED:
    code = compare_with(&r->x, &apt, needs, count);
    if (code == EXAMPLE_OK) {
      fprintf(stderr,
              "check: the same %" PRIu32 " packages as by a search in plain C and by apt-cache\n",
              count);
    }
    apt_free(&apt);
    return code;
  case APT_ABSENT:
    fprintf(stderr,
            "check: the same %" PRIu32 " packages as by a search in plain C; names are not "
            "checked, for there is no apt-cache here\n",
            count);
    return EXAMPLE_OK;
  case APT_FAILED:
  default:
    example_complain(&r->x, "check: apt-cache failed");
    return EXAMPLE_ERROR;
  }
}

static int check(const request *r, const dpkg *d, const graph *g, uint32_t start,
                 const uint32_t *levels, const need *needs, uint32_t count)
{
  const int code = check_levels(&r->x, d, g, start, levels);

  if (code != EXAMPLE_OK) {
    return code;
  }
  if (!r->virtual_too) {
    return check_names(r, d, needs, count);
  }
  fprintf(stderr, "check: the same %" PRIu32 " packages as by a search in plain C\n", count);
  return EXAMPLE_OK;
}

/* ---- from file to answer ---- */

static int answer(request *r, const dpkg *d, const graph *g, uint32_t start)
{
  const uint32_t *levels;
  uint32_t count = 0;
  need *needs;
  int code = EXAMPLE_OK;

  levels = example_open(&r->x) ? search(&r->x, g, start) : NULL;
  if (levels == NULL) {
    return EXAMPLE_ERROR;
  }
  needs = collect(d, levels, &count);
  if (needs == NULL) {
    example_complain(&r->x, "no memory for %" PRIu32 " names", d->count);
    return EXAMPLE_ERROR;
  }
  if (r->x.check) {
    code = check(r, d, g, start, levels, needs, count);
  }
  if (r->depth) {
    qsort(needs, count, sizeof *needs, by_level);
  }
  print(r, d, g, needs, count);
  if (!r->x.json) {
    example_report(&r->x);
  }
  free(needs);
  return code;
}

static int run(request *r)
{
  dpkg d;
  graph g = {0};
  graph_edge *edges = NULL;
  uint32_t edge_count = 0, start;
  size_t size = 0;
  char *text = example_read_file(&r->x, r->status, &size);
  int code = EXAMPLE_ERROR;

  if (text == NULL) {
    return EXAMPLE_ERROR;
  }
  if (!dpkg_parse(&d, text)) {
    example_complain(&r->x, "%s: no memory for its packages", r->status);
    return EXAMPLE_ERROR;
  }
  start = dpkg_find(&d, r->package);
  if (start == d.count) {
    example_complain(&r->x, "%s: package '%s' is not installed", r->status, r->package);
    fprintf(stderr,
            "  `dpkg -l` lists those that are; one of another architecture is name:arch.\n");
  } else if (!dpkg_edges(&d, r->virtual_too, &edges, &edge_count) ||
             !graph_build(&g, d.count, edges, edge_count)) {
    example_complain(&r->x, "%s: no memory for its dependencies", r->status);
  } else {
    code = answer(r, &d, &g, start);
  }
  graph_free(&g);
  free(edges);
  dpkg_free(&d);
  return code;
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {EXAMPLE_LONG_OPTIONS,
                                        {"status", required_argument, NULL, OPTION_STATUS},
                                        {"depth", no_argument, NULL, OPTION_DEPTH},
                                        {"virtual", no_argument, NULL, OPTION_VIRTUAL},
                                        {NULL, 0, NULL, 0}};
  request r = {.status = "/var/lib/dpkg/status"};
  int option, code;

  example_init(&r.x, "reachability");
  while ((option = getopt_long(argc, argv, EXAMPLE_SHORT_OPTIONS, longs, NULL)) != -1) {
    switch (option) {
    case 'h':
      fputs(help, stdout);
      return EXAMPLE_OK;
    case OPTION_STATUS:
      r.status = optarg;
      break;
    case OPTION_DEPTH:
      r.depth = true;
      break;
    case OPTION_VIRTUAL:
      r.virtual_too = true;
      break;
    default:
      if (!example_option(&r.x, option, optarg)) {
        return EXAMPLE_ERROR;
      }
    }
  }
  if (optind + 1 != argc) {
    example_complain(&r.x, "give one PACKAGE");
    fprintf(stderr, "  See reachability --help.\n");
    return EXAMPLE_ERROR;
  }
  r.package = argv[optind];
  code = run(&r);
  example_close(&r.x);
  return code;
}
