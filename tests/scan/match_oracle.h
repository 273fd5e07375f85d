/*
 * match_oracle.h - the plain matcher that scan is held against: every rule compared at every
 * position, byte by byte.  It shares no code with the scanner.
 */
#ifndef VYRE_TESTS_MATCH_ORACLE_H
#define VYRE_TESTS_MATCH_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oracle_rule {
  const uint8_t *bytes;
  size_t length;
  bool ignore_case;
} oracle_rule;

typedef struct oracle_match {
  uint64_t offset; /* of the match's first byte */
  uint32_t rule;
} oracle_match;

/*
 * Finds every occurrence, in the order of offset, then rule.  Writes the first `capacity` matches
 * and returns how many there are.
 */
size_t match_oracle(const oracle_rule *rules, size_t rule_count, const uint8_t *data, size_t size,
                    oracle_match *out_matches, size_t capacity);

#endif
