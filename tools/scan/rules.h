/*
 * rules.h - the rules of a scan: byte strings with names, read from rules files.
 *
 * A rules file is lines of bytes:
 *
 *     # a comment: `#` is the first byte that is not a blank
 *     ID PATTERN
 *
 *   - Blanks are space and tab.  Blanks before ID and lines of blanks only are skipped.
 *   - ID is every byte up to the next blank; it is UTF-8 text without control characters, since
 *     it is printed.  Ids are unique over all files of a scan.
 *   - PATTERN is the rest of the line after the first run of blanks, blanks at its end included,
 *     the line end (`\n` or `\r\n`) not.  A leading `(?i)` ignores ASCII case.  After it come
 *     bytes, taken as they are, NUL too, and the escapes \xHH \n \r \t \0 \\.  A pattern that
 *     begins with a blank starts with \x20 or \t; one that begins with the text `(?i)` starts
 *     with \x28.
 *   - A byte order mark at the start of the file is skipped.
 *
 * Several files are one: the set is the same in whatever order its files came, because
 * vyre__rules_finish() sorts the rules by their id's bytes.  A rule's index is its place in that
 * order, so records sorted by (offset, index) are sorted by (offset, id).
 *
 * Life: create, add_file or add_text any number of times, finish once, read, destroy.  An object
 * belongs to one thread at a time; after finish it may be read by many.
 */
#ifndef VYRE_SCAN_RULES_H
#define VYRE_SCAN_RULES_H

#include "vyre_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vyre__rules vyre__rules;

/* One rule, as the set lends it: pointers live until the set is destroyed. */
typedef struct vyre__rule {
  const char *id; /* ends in NUL; holds none inside */
  uint32_t id_length;
  const uint8_t *pattern; /* the bytes as written, escapes replaced, case kept */
  uint32_t pattern_length;
  bool ignore_case; /* (?i) */
  const char *file; /* where it was read */
  uint32_t line;
} vyre__rule;

/* The bytes of all ids and patterns of a set together stay below this. */
#define VYRE__RULES_MAX_BYTES (UINT32_C(1) << 31)

/* An empty set. */
vyre_status vyre__rules_create(vyre__rules **out_rules, vyre_error *err);

/* Adds the rules of the file at `path`, which may be a pipe.  The message of a fault in the text
 * begins with `path:line: `.  On an error the set is as it was. */
vyre_status vyre__rules_add_file(vyre__rules *rules, const char *path, vyre_error *err);

/* The same from memory; `name` stands for the file in messages. */
vyre_status vyre__rules_add_text(vyre__rules *rules, const char *name, const void *text,
                                 size_t length, vyre_error *err);

/* Sorts by id and refuses an id given twice.  Needs at least one rule. */
vyre_status vyre__rules_finish(vyre__rules *rules, vyre_error *err);

/* Number of rules, and the rule at `index` (< count).  Before finish: in the order read. */
uint32_t vyre__rules_count(const vyre__rules *rules);
vyre__rule vyre__rules_get(const vyre__rules *rules, uint32_t index);

/* Frees the set; NULL is allowed. */
void vyre__rules_destroy(vyre__rules *rules);

#endif
