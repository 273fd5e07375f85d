/*
 * scan_run.h - what the scan tests share: rule sets from bytes, the handler called as a plain C
 * function, memory between guard pages, and numbers from a printed seed.
 */
#ifndef VYRE_TESTS_SCAN_RUN_H
#define VYRE_TESTS_SCAN_RUN_H

#include "tests/scan/match_oracle.h"
#include "tools/scan/automaton.h"
#include "tools/scan/rules.h"

/* A set whose rule i has index i.  Asserts that it can be made. */
vyre__rules *scan_run_rules(const oracle_rule *rules, size_t count);

/* Matches that one run can take. */
#define SCAN_RUN_MAX 65536

/*
 * Runs the handler over `data` and returns the number of matches that it emitted, the first
 * `capacity` of them in `out_matches`, sorted by offset and rule.
 */
size_t scan_run(const vyre__automaton *automaton, const oracle_rule *rules, const uint8_t *data,
                size_t size, oracle_match *out_matches, size_t capacity);

/* Memory of at most `max` bytes with a page that faults right before and right behind. */
typedef struct scan_guard {
  uint8_t *map;
  size_t map_size, max;
  uint8_t *first; /* a byte before it faults */
  uint8_t *end;   /* it faults itself */
} scan_guard;

void scan_guard_open(scan_guard *guard, size_t max);
void scan_guard_close(scan_guard *guard);

/* The seed of this run: VYRE_TEST_SEED or the clock.  Printed. */
uint64_t scan_seed(void);
uint64_t scan_random(uint64_t *state);
uint32_t scan_below(uint64_t *state, uint32_t bound);

#endif
