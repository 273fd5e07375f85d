/* options.c - the command line of vyre-conform; see options.h. */
#include "conformance/options.h"

#include "conformance/suite.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vyre_build.h"

static const char doc[] =
    "Checks a vyre plugin against every rule of vyre_backend.h: nothing but the shared object is "
    "needed.\n\n"
    "       vyre-conform verify CERTIFICATE [PLUGIN.so]\n\n"
    "checks a certificate, and whether it is this plugin's.\v"
    "Each case runs in a process of its own.  A verdict is pass, fail, not-supported (the plugin "
    "declares that it cannot) or skipped (by --filter or --profile).\n\n"
    "Exit status: 0 all that ran passed; 1 a case failed, or an exception was wrong; 2 a wrong "
    "command line, or a file that cannot be written; 3 nothing ran; 4 the plugin has no such "
    "device; 5 it is not a vyre plugin, or of another ABI; 6 it takes no vyre-c and --kernels has "
    "no format of it.";

enum {
  KEY_CERTIFICATE = 256,
  KEY_CASE,
  KEY_COVERAGE,
  KEY_EXCEPTIONS,
  KEY_JSON,
  KEY_JUNIT,
  KEY_KERNELS,
  KEY_LIST,
  KEY_REPORT_FD,
  KEY_SEED,
  KEY_TIMEOUT,
  KEY_WRITE_KERNELS,
};

static const struct argp_option rows[] = {
    {"filter", 'f', "PATTERN", 0, "Only cases whose name matches the shell pattern; repeatable", 1},
    {"profile", 'p', "NAME", 0,
     "Only this profile: core, resident, gridsync-native, gridsync-emulated, persistent, timing, "
     "sequences",
     1},
    {"list", KEY_LIST, NULL, 0, "The cases with rules, profile and needs; runs nothing", 1},
    {"device", 'd', "N", 0, "The plugin's device number N (default 0)", 2},
    {"seed", KEY_SEED, "N", 0,
     "Seed of all random choices, below 2^53 (default: the clock; printed)", 2},
    {"jobs", 'j', "N", 0, "Cases at a time (default 1: some devices bear no more)", 2},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Longest time of a case (default 60)", 2},
    {"kernels", KEY_KERNELS, "DIR", 0,
     "Kernels that were compiled from --write-kernels, named NAME.FORMAT or NAME.FORMAT.ARCH", 3},
    {"write-kernels", KEY_WRITE_KERNELS, "DIR", 0,
     "Writes the sources of all kernels; runs nothing", 3},
    {"exceptions", KEY_EXCEPTIONS, "FILE", 0,
     "Cases that are known to fail, with reason, ABI version and expiry (JSON)", 3},
    {"json", KEY_JSON, "FILE", 0, "Writes all results as JSON", 4},
    {"junit", KEY_JUNIT, "FILE", 0, "Writes all results as JUnit XML", 4},
    {"certificate", KEY_CERTIFICATE, "FILE", 0, "Writes a certificate, if all passed", 4},
    {"coverage", KEY_COVERAGE, NULL, 0, "Prints how often each slot of the table was called", 4},
    {"quiet", 'q', NULL, 0, "Prints failures and the sum only", 4},
    {"case", KEY_CASE, "NAME", OPTION_HIDDEN, NULL, 5},
    {"report-fd", KEY_REPORT_FD, "N", OPTION_HIDDEN, NULL, 5},
    {0},
};

/* A number of JSON that every reader takes as it is. */
#define MOST_SEED ((UINT64_C(1) << 53) - 1)

static uint64_t number(struct argp_state *state, const char *text, uint64_t least, uint64_t most)
{
  char *end = NULL;
  unsigned long long value = 0;
  errno = 0;
  value = strtoull(text, &end, 0);
  if (errno || end == text || *end || *text == '-' || value < least || value > most)
    argp_error(state, "'%s' is not a number from %llu to %llu", text, (unsigned long long)least,
               (unsigned long long)most);
  return value;
}

/* To dlopen() a name without a slash is a library of the system. */
static const char *as_path(const char *name)
{
  static char path[4096];
  if (strchr(name, '/') || snprintf(path, sizeof path, "./%s", name) >= (int)sizeof path)
    return name;
  return path;
}

static bool is_profile(const char *name)
{
  for (conform_profile p = 0; p < CONFORM_PROFILES; ++p)
    if (!strcmp(name, conform_profile_name(p)))
      return true;
  return false;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
  conform_options *options = state->input;
  switch (key) {
  case 'f':
    if (options->filter_count == CONFORM_MAX_FILTERS)
      argp_error(state, "--filter is given more than %u times", CONFORM_MAX_FILTERS);
    options->filters[options->filter_count++] = argument;
    return 0;
  case 'p':
    if (!is_profile(argument))
      argp_error(state, "there is no profile '%s', see --help", argument);
    options->profile = argument;
    return 0;
  case 'd':
    options->device = (uint32_t)number(state, argument, 0, UINT32_MAX);
    return 0;
  case 'j':
    options->jobs = (uint32_t)number(state, argument, 1, 256);
    return 0;
  case 'q':
    options->quiet = true;
    return 0;
  case KEY_SEED:
    options->seed = number(state, argument, 0, MOST_SEED);
    options->seed_given = true;
    return 0;
  case KEY_TIMEOUT:
    options->timeout_s = (uint32_t)number(state, argument, 1, 86400);
    return 0;
  case KEY_LIST:
    options->list = true;
    return 0;
  case KEY_COVERAGE:
    options->coverage = true;
    return 0;
  case KEY_KERNELS:
    options->kernels = argument;
    return 0;
  case KEY_WRITE_KERNELS:
    options->write_kernels = argument;
    return 0;
  case KEY_EXCEPTIONS:
    options->exceptions = argument;
    return 0;
  case KEY_JSON:
    options->json = argument;
    return 0;
  case KEY_JUNIT:
    options->junit = argument;
    return 0;
  case KEY_CERTIFICATE:
    options->certificate = argument;
    return 0;
  case KEY_CASE:
    options->child = true;
    options->case_name = argument;
    return 0;
  case KEY_REPORT_FD:
    options->report_fd = (int)number(state, argument, 0, 1u << 20);
    return 0;
  case ARGP_KEY_ARG:
    if (options->plugin)
      argp_error(state, "one plugin at a time: '%s' and '%s'", options->plugin, argument);
    options->plugin = as_path(argument);
    return 0;
  case ARGP_KEY_END:
    if (!options->plugin && !options->list && !options->write_kernels)
      argp_error(state, "the plugin's shared object is missing");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static void print_version(FILE *stream, struct argp_state *state)
{
  (void)state;
  fprintf(stream, "vyre-conform %s\n", VYRE_BUILD_VERSION);
}

void conform_parse(int argc, char **argv, conform_options *out_options)
{
  static const struct argp argp = {rows, parse, "PLUGIN.so", doc, NULL, NULL, NULL};
  struct timespec now;
  memset(out_options, 0, sizeof *out_options);
  out_options->jobs = 1;
  out_options->timeout_s = 60;
  out_options->report_fd = -1;
  argp_program_version_hook = print_version;
  argp_err_exit_status = CONFORM_EXIT_USAGE;
  argp_parse(&argp, argc, argv, 0, NULL, out_options);
  clock_gettime(CLOCK_REALTIME, &now);
  if (!out_options->seed_given)
    out_options->seed = ((uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec) & MOST_SEED;
}
