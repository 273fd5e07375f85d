/*
 * suite.h - all cases, which of them apply to a plugin, and what became of them.
 */
#ifndef VYRE_CONFORMANCE_SUITE_H
#define VYRE_CONFORMANCE_SUITE_H

#include "conformance/options.h"
#include "conformance/report.h"

typedef uint32_t conform_verdict;
#define CONFORM_PASS 0u
#define CONFORM_FAIL 1u
#define CONFORM_NOT_SUPPORTED 2u
#define CONFORM_SKIPPED 3u
#define CONFORM_EXPECTED 4u /* failed, and an exception says so */

typedef struct conform_result {
  const conform_case *row;
  conform_verdict verdict;
  uint64_t wall_ns, cpu_ns;
  char text[CONFORM_TEXT_SIZE]; /* why, unless it passed */
} conform_result;

typedef struct conform_results {
  conform_result *rows;
  uint32_t count;
  uint32_t of[5]; /* by verdict */
  uint32_t calls[CONFORM_SLOTS];
  conform_probe probe;
  uint64_t seed;
  char plugin_sha256[65]; /* of its file before the run; "": it could not be read */
  uint64_t wall_ns;
} conform_results;

/* All cases, in the order of the tables; NULL past the last. */
const conform_case *conform_case_at(uint32_t index);
const conform_case *conform_case_find(const char *name);

/* All numbered rules of the headers, NULL behind the last (rules.def). */
extern const char *const conform_rules[];

const char *conform_profile_name(conform_profile profile);
const char *conform_verdict_name(conform_verdict verdict);

/* False: the user's options leave it out. */
bool conform_is_wanted(const conform_options *options, const conform_case *row);

/* False, told on stderr: a filter that fits no case. */
bool conform_check_filters(const conform_options *options);

/* NULL: it applies; else the capability that the plugin does not declare. */
const char *conform_missing(const conform_options *options, const conform_probe *probe,
                            const conform_case *row);

/* Prints the table of --list. */
void conform_print_list(const conform_options *options);

#endif
