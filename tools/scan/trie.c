/*
 * trie.c - builds the trie; trie.h is the contract.
 *
 * The patterns are sorted first.  Every state is then a range of the sorted patterns that share
 * its prefix, so one pass over the ranges, breadth first, numbers the states without a single
 * allocation a state.
 */
#include "tools/scan/trie.h"

#include "tools/scan/support.h"

#include <stdlib.h>
#include <string.h>

/* The range of keys that pass through a state. */
typedef struct range {
  uint32_t first, end;
} range;

uint8_t vyre__fold(uint8_t byte)
{
  return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + ('a' - 'A')) : byte;
}

void vyre__trie_destroy(vyre__trie *trie)
{
  vyre__scan_free(trie->keys);
  vyre__scan_free(trie->key_bytes);
  vyre__scan_free(trie->children);
  vyre__scan_free(trie->labels);
  vyre__scan_free(trie->failures);
  vyre__scan_free(trie->report);
  vyre__scan_free(trie->entries);
  memset(trie, 0, sizeof *trie);
}

/*
 * One class for each byte that a pattern holds, in the order of the bytes, and class 0 for all
 * others if there are others.
 */
static void make_classes(const vyre__rules *rules, vyre__trie *trie)
{
  const uint32_t count = vyre__rules_count(rules);
  bool used[256] = {false};
  uint32_t i, at, next = 0;

  for (i = 0; i < count; i++) {
    trie->folded = trie->folded || vyre__rules_get(rules, i).ignore_case;
  }
  for (i = 0; i < count; i++) {
    const vyre__rule rule = vyre__rules_get(rules, i);
    for (at = 0; at < rule.pattern_length; at++) {
      used[trie->folded ? vyre__fold(rule.pattern[at]) : rule.pattern[at]] = true;
    }
  }
  for (i = 0; i < 256; i++) {
    const uint32_t source = trie->folded ? vyre__fold((uint8_t)i) : i;
    if (!used[source]) {
      next = 1; /* somebody needs class 0 */
    }
  }
  for (i = 0; i < 256; i++) {
    if (used[i]) {
      trie->class_map[i] = (uint8_t)next++;
    }
  }
  trie->classes = next;
  if (trie->folded) {
    for (i = 'A'; i <= 'Z'; i++) {
      trie->class_map[i] = trie->class_map[vyre__fold((uint8_t)i)];
    }
  }
}

static int compare_keys(const void *left, const void *right)
{
  const vyre__trie_key *a = left, *b = right;
  const int order =
      memcmp(a->classes, b->classes, (size_t)(a->length < b->length ? a->length : b->length));

  if (order != 0) {
    return order;
  }
  if (a->length != b->length) {
    return a->length < b->length ? -1 : 1;
  }
  return a->rule < b->rule ? -1 : a->rule > b->rule;
}

static vyre_status make_keys(const vyre__rules *rules, vyre__trie *trie, vyre_error *err)
{
  const uint32_t count = vyre__rules_count(rules);
  size_t bytes = 0;
  uint32_t i, at;
  uint8_t *place;

  for (i = 0; i < count; i++) {
    bytes += vyre__rules_get(rules, i).pattern_length; /* below VYRE__RULES_MAX_BYTES in all */
  }
  trie->keys = vyre__scan_alloc(count, sizeof *trie->keys);
  trie->key_bytes = vyre__scan_alloc(bytes, 1);
  if (trie->keys == NULL || trie->key_bytes == NULL) {
    return SCAN_NO_MEMORY(err, "the patterns");
  }
  place = trie->key_bytes;
  trie->key_count = count;
  trie->min_length = UINT32_MAX;
  for (i = 0; i < count; i++) {
    const vyre__rule rule = vyre__rules_get(rules, i);
    vyre__trie_key *key = &trie->keys[i];
    key->classes = place;
    key->length = rule.pattern_length;
    key->rule = i;
    for (at = 0; at < rule.pattern_length; at++) {
      *place++ = trie->class_map[rule.pattern[at]];
    }
    trie->min_length = key->length < trie->min_length ? key->length : trie->min_length;
    trie->max_length = key->length > trie->max_length ? key->length : trie->max_length;
  }
  qsort(trie->keys, count, sizeof *trie->keys, compare_keys);
  return VYRE_OK;
}

/* States of the trie: the root, and for each key the bytes that its neighbour does not share. */
static uint32_t count_states(const vyre__trie *trie)
{
  uint32_t states = 1, i, shared;

  for (i = 0; i < trie->key_count; i++) {
    const vyre__trie_key *key = &trie->keys[i], *before = key - 1;
    for (shared = 0; i > 0 && shared < key->length && shared < before->length &&
                     key->classes[shared] == before->classes[shared];
         shared++) {
    }
    states += key->length - shared;
  }
  return states;
}

uint32_t vyre__trie_child(const vyre__trie *trie, uint32_t state, uint32_t class_)
{
  uint32_t low = trie->children[state], high = trie->children[state + 1];

  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (trie->labels[middle] < class_) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < trie->children[state + 1] && trie->labels[low] == class_ ? low : 0;
}

/* The longest proper suffix of `parent` plus `class_` that is a state.  All states above the
 * child's level are complete. */
static uint32_t find_failure(const vyre__trie *trie, uint32_t parent, uint32_t class_)
{
  while (parent != 0) {
    uint32_t found;
    parent = trie->failures[parent];
    found = vyre__trie_child(trie, parent, class_);
    if (found != 0) {
      return found;
    }
  }
  return 0;
}

/* Notes the keys that end at `state`, which are the first of its range, and links to the suffix
 * that reports next.  Returns the first key that goes on. */
static uint32_t make_entry(vyre__trie *trie, uint32_t state, range keys, uint32_t depth)
{
  const uint32_t suffix = trie->report[trie->failures[state]];
  uint32_t at = keys.first;

  while (at < keys.end && trie->keys[at].length == depth) {
    at++;
  }
  trie->report[state] = suffix;
  if (at > keys.first) {
    vyre__trie_entry *entry = &trie->entries[trie->entry_count];
    entry->first = keys.first;
    entry->count = at - keys.first;
    entry->next = suffix;
    entry->length = depth;
    trie->report[state] = trie->entry_count++;
  }
  return at;
}

static void make_states(vyre__trie *trie, range *ranges)
{
  uint32_t state, next = 1, depth = 0, level_end = 1;

  ranges[0].first = 0;
  ranges[0].end = trie->key_count;
  trie->entry_count = 1;
  for (state = 0; state < trie->states; state++) {
    uint32_t at;
    if (state == level_end) {
      depth++;
      level_end = next;
    }
    at = make_entry(trie, state, ranges[state], depth);
    trie->children[state] = next;
    while (at < ranges[state].end) {
      const uint8_t label = trie->keys[at].classes[depth];
      ranges[next].first = at;
      while (at < ranges[state].end && trie->keys[at].classes[depth] == label) {
        at++;
      }
      ranges[next].end = at;
      trie->labels[next] = label;
      trie->failures[next] = find_failure(trie, state, label);
      next++;
    }
  }
  trie->children[trie->states] = next;
}

vyre_status vyre__trie_build(const vyre__rules *rules, vyre__trie *out_trie, vyre_error *err)
{
  vyre__trie *trie = out_trie;
  range *ranges = NULL;
  vyre_status status;

  memset(trie, 0, sizeof *trie);
  make_classes(rules, trie);
  status = make_keys(rules, trie, err);
  if (status != VYRE_OK) {
    goto done;
  }
  trie->states = count_states(trie);
  trie->children = vyre__scan_alloc((size_t)trie->states + 1, sizeof *trie->children);
  trie->labels = vyre__scan_alloc(trie->states, sizeof *trie->labels);
  trie->failures = vyre__scan_alloc(trie->states, sizeof *trie->failures);
  trie->report = vyre__scan_alloc(trie->states, sizeof *trie->report);
  trie->entries = vyre__scan_alloc((size_t)trie->key_count + 1, sizeof *trie->entries);
  ranges = vyre__scan_alloc(trie->states, sizeof *ranges);
  if (trie->children == NULL || trie->labels == NULL || trie->failures == NULL ||
      trie->report == NULL || trie->entries == NULL || ranges == NULL) {
    status = SCAN_NO_MEMORY(err, "the automaton");
    goto done;
  }
  make_states(trie, ranges);

done:
  vyre__scan_free(ranges);
  if (status != VYRE_OK) {
    vyre__trie_destroy(trie);
  }
  return status;
}
