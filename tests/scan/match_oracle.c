/*
 * match_oracle.c - the plain matcher of the scan tests.
 */
#include "tests/scan/match_oracle.h"

#include <string.h>

static uint8_t lower(uint8_t byte)
{
  static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const char *found = byte == 0 ? NULL : strchr(upper, byte);
  return found == NULL ? byte : (uint8_t) "abcdefghijklmnopqrstuvwxyz"[found - upper];
}

static bool matches_here(const oracle_rule *rule, const uint8_t *data)
{
  size_t i;

  if (!rule->ignore_case) {
    return memcmp(rule->bytes, data, rule->length) == 0;
  }
  for (i = 0; i < rule->length; i++) {
    if (lower(rule->bytes[i]) != lower(data[i])) {
      return false;
    }
  }
  return true;
}

size_t match_oracle(const oracle_rule *rules, size_t rule_count, const uint8_t *data, size_t size,
                    oracle_match *out_matches, size_t capacity)
{
  size_t found = 0, at, rule;

  for (at = 0; at < size; at++) {
    for (rule = 0; rule < rule_count; rule++) {
      if (rules[rule].length <= size - at && matches_here(&rules[rule], data + at)) {
        if (found < capacity) {
          out_matches[found].offset = at;
          out_matches[found].rule = (uint32_t)rule;
        }
        found++;
      }
    }
  }
  return found;
}
