/*
 * automaton.h - a rule set compiled into the constants of the scan handler (scan_kernel.c).
 *
 * The automaton is Aho and Corasick's: it reads each byte of the input once and knows at each
 * position every rule that ends there.  It comes in two forms with the same answers:
 *   - DENSE: a full transition table, one load a byte; for sets whose table fits the limit;
 *   - COMPACT: sorted edges and failure links, about 13 bytes a state; for the rest.
 *
 * If a rule ignores case, the whole automaton runs over bytes whose ASCII letters are folded to
 * lower case, and a rule that minds case and holds a letter is compared with the input where the
 * automaton reports it.  A set without such a rule folds nothing and compares nothing.
 *
 * The result is a function of the rules alone: the same set gives the same bytes.
 *
 * The blob: 32-bit little-endian words and bytes.  It starts at an address that is a multiple of
 * 16, so does every table in it; offsets are in bytes from its start.  It is smaller than 4 GiB.
 *
 *   word  name           meaning
 *      0  MAGIC          0x4e435356, the bytes "VSCN"
 *      1  VERSION        1
 *      2  FORM           1 dense, 2 compact
 *      3  FLAGS          bit 0: bytes are folded
 *      4  SIZE           bytes of the whole blob
 *      5  CLASSES        C: byte classes, 1..256
 *      6  STATES         S: states; the root is state 0
 *      7  RULES          R: rules
 *      8  MIN_LENGTH     bytes of the shortest and of the longest pattern: pieces of a file that
 *      9  MAX_LENGTH     overlap by MAX_LENGTH - 1 miss nothing
 *     10  CLASS_MAP      offset of u8[256]: class of each byte
 *     11  TRANSITIONS    dense: offset of u32[S * C].  A state is named by the index of its row,
 *                        that is its number times C; entry [row + class] is the next row.
 *                        compact: offset of u32[C], the root's next state for each class
 *     12  FIRST_REPORT   dense: rows at and above this one report rules; S * C if none.
 *                        compact: 0
 *     13  REPORT         dense: offset of u32 for each reporting state, in their order;
 *                        compact: offset of u32[S].  Number of the first entry, 0 for none
 *     14  ENTRIES        offset of entries, 16 bytes each; number 0 is unused.  Word 0: its first
 *                        item; 1: its items; 2: the next entry of shorter rules that end here
 *                        too, 0 for none; 3: length of its rules
 *     15  ITEMS          offset of items, 8 bytes each.  Word 0: rule index; 1: offset of the
 *                        pattern's bytes to compare with the input, 0 for none
 *     16  PATTERNS       offset of the bytes that items name
 *     17  CHILDREN       compact: offset of u32[S + 1]: children of state s are the states
 *                        [CHILDREN[s], CHILDREN[s + 1]), sorted by class; dense: 0
 *     18  LABELS         compact: offset of u8[S]: class of the edge into each state; dense: 0
 *     19  FAILURES       compact: offset of u32[S]: longest other state that is a suffix; dense: 0
 *     20  PAIRS          offset of u8[65536], or 0.  Byte [b0 | b1 << 8] is 1 if some rule may
 *                        begin with b0 b1, else 0: from the root, an input position whose pair
 *                        has 0 can be skipped
 *  21-31                 0
 *
 * The records that the handler emits for an item: value[0] is the offset from the item's start of
 * the byte after the match, value[1] the rule's index.  A match begins at value[0] minus the rule's
 * length, never before the item's start.  Every occurrence of every rule that lies wholly within
 * the item is emitted once; the order within an item is by end, then from long to short.
 */
#ifndef VYRE_SCAN_AUTOMATON_H
#define VYRE_SCAN_AUTOMATON_H

#include "tools/scan/rules.h"

#define VYRE__AUTOMATON_MAGIC UINT32_C(0x4e435356)
#define VYRE__AUTOMATON_VERSION 1u
#define VYRE__AUTOMATON_FOLDED 1u
#define VYRE__AUTOMATON_ALIGNMENT 16u

enum {
  VYRE__AUTOMATON_W_MAGIC,
  VYRE__AUTOMATON_W_VERSION,
  VYRE__AUTOMATON_W_FORM,
  VYRE__AUTOMATON_W_FLAGS,
  VYRE__AUTOMATON_W_SIZE,
  VYRE__AUTOMATON_W_CLASSES,
  VYRE__AUTOMATON_W_STATES,
  VYRE__AUTOMATON_W_RULES,
  VYRE__AUTOMATON_W_MIN_LENGTH,
  VYRE__AUTOMATON_W_MAX_LENGTH,
  VYRE__AUTOMATON_W_CLASS_MAP,
  VYRE__AUTOMATON_W_TRANSITIONS,
  VYRE__AUTOMATON_W_FIRST_REPORT,
  VYRE__AUTOMATON_W_REPORT,
  VYRE__AUTOMATON_W_ENTRIES,
  VYRE__AUTOMATON_W_ITEMS,
  VYRE__AUTOMATON_W_PATTERNS,
  VYRE__AUTOMATON_W_CHILDREN,
  VYRE__AUTOMATON_W_LABELS,
  VYRE__AUTOMATON_W_FAILURES,
  VYRE__AUTOMATON_W_PAIRS,
  VYRE__AUTOMATON_HEADER_WORDS = 32
};

typedef uint32_t vyre__automaton_form;
#define VYRE__AUTOMATON_AUTO 0u /* options only: dense if it fits the limit */
#define VYRE__AUTOMATON_DENSE 1u
#define VYRE__AUTOMATON_COMPACT 2u

/* The transition table's limit unless the options say another. */
#define VYRE__AUTOMATON_DENSE_LIMIT (UINT64_C(512) << 20)

typedef struct vyre__automaton_options {
  vyre__automaton_form form; /* AUTO, or the one form to build */
  uint64_t dense_limit;      /* bytes of the transition table at most; 0: the default */
  bool no_pairs;             /* leave the table of pairs out */
} vyre__automaton_options;

/* A compiled rule set.  Zero is a valid empty value; the blob is owned. */
typedef struct vyre__automaton {
  uint8_t *blob; /* aligned to VYRE__AUTOMATON_ALIGNMENT */
  uint32_t blob_size;
  vyre__automaton_form form;
  uint32_t states;
  uint32_t classes;
  uint32_t rules;
  uint32_t min_length, max_length;
} vyre__automaton;

/*
 * Compiles a finished set, which is needed no more afterwards.  `options` may be NULL.  On an
 * error `out_automaton` is as it was.  DENSE beyond its limit, and a blob of 4 GiB or more, are
 * VYRE_ERROR_UNSUPPORTED.
 */
vyre_status vyre__automaton_build(const vyre__rules *rules, const vyre__automaton_options *options,
                                  vyre__automaton *out_automaton, vyre_error *err);

/* Frees the blob and zeroes the record. */
void vyre__automaton_destroy(vyre__automaton *automaton);

#endif
