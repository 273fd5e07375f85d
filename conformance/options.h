/* options.h - the command line of vyre-conform. */
#ifndef VYRE_CONFORMANCE_OPTIONS_H
#define VYRE_CONFORMANCE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses. */
#define CONFORM_EXIT_PASSED 0
#define CONFORM_EXIT_FAILED 1
#define CONFORM_EXIT_USAGE 2
#define CONFORM_EXIT_NOTHING_RAN 3
#define CONFORM_EXIT_NO_DEVICE 4
#define CONFORM_EXIT_NOT_A_PLUGIN 5
#define CONFORM_EXIT_NO_FORMAT 6

#define CONFORM_MAX_FILTERS 256u

typedef struct conform_options {
  const char *plugin;
  const char *filters[CONFORM_MAX_FILTERS]; /* shell patterns of names; none: all */
  uint32_t filter_count;
  const char *profile; /* NULL: all */
  const char *kernels;
  const char *write_kernels;
  const char *exceptions;
  const char *json, *junit, *certificate;
  uint64_t seed;
  bool seed_given;
  uint32_t device, jobs, timeout_s;
  bool list, coverage, quiet;
  bool child; /* run one case and report: internal */
  const char *case_name;
  int report_fd;
} conform_options;

/* Parses; ends the process with CONFORM_EXIT_USAGE, or 0 after --help and --version. */
void conform_parse(int argc, char **argv, conform_options *out_options);

#endif
