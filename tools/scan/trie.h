/*
 * trie.h - the patterns of a rule set as a tree of states with failure links.
 *
 * The common ground of both forms of the automaton: states are numbered breadth first and the
 * children of a state in the order of their classes, so each state's children are consecutive and
 * a failure link always leads to a smaller number.
 */
#ifndef VYRE_SCAN_TRIE_H
#define VYRE_SCAN_TRIE_H

#include "tools/scan/rules.h"

/* A pattern in classes. */
typedef struct vyre__trie_key {
  const uint8_t *classes; /* in the trie's own memory */
  uint32_t length;
  uint32_t rule; /* index in the rule set */
} vyre__trie_key;

/* Rules that end at one state: keys [first, first + count). */
typedef struct vyre__trie_entry {
  uint32_t first, count;
  uint32_t next;   /* entry of the longest suffix that has rules, 0 for none */
  uint32_t length; /* of each of its rules */
} vyre__trie_entry;

typedef struct vyre__trie {
  uint8_t class_map[256]; /* class of each byte; upper case shares the class of lower if folded */
  uint32_t classes;
  bool folded;

  vyre__trie_key *keys; /* sorted by classes, then rule: one a rule */
  uint8_t *key_bytes;
  uint32_t key_count;
  uint32_t min_length, max_length;

  uint32_t states;
  uint32_t *children; /* states + 1: children of s are [children[s], children[s + 1]) */
  uint8_t *labels;    /* class of the edge into each state */
  uint32_t *failures; /* longest proper suffix that is a state */
  uint32_t *report;   /* first entry of what ends at the state, 0 for nothing */

  vyre__trie_entry *entries; /* number 0 is unused */
  uint32_t entry_count;
} vyre__trie;

/* Builds the trie of a finished set.  On an error `out_trie` is zero and holds nothing. */
vyre_status vyre__trie_build(const vyre__rules *rules, vyre__trie *out_trie, vyre_error *err);

void vyre__trie_destroy(vyre__trie *trie);

/* The child of `state` by `class_`, 0 if there is none (the root is nobody's child). */
uint32_t vyre__trie_child(const vyre__trie *trie, uint32_t state, uint32_t class_);

/* Lower case of an ASCII letter, other bytes as they are. */
uint8_t vyre__fold(uint8_t byte);

#endif
