/*
 * scan_kernel.c - the handler of `vyre scan`, in the kernel language: finds every occurrence of
 * every rule in one work item.
 *
 * constants: an automaton, laid out as tools/scan/automaton.h says.  Each match emits the record
 * (offset of the byte after it from the item's start, rule index).  No byte outside
 * data[0 .. size) is read.
 */
#ifndef VYRE_KERNEL_H /* a device has the language in front of this text already */
#include "vyre_kernel.h"
#endif

/* Words of the automaton's header. */
#define SCAN_FORM 2
#define SCAN_CLASSES 5
#define SCAN_CLASS_MAP 10
#define SCAN_TRANSITIONS 11
#define SCAN_FIRST_REPORT 12
#define SCAN_REPORT 13
#define SCAN_ENTRIES 14
#define SCAN_ITEMS 15
#define SCAN_CHILDREN 17
#define SCAN_LABELS 18
#define SCAN_FAILURES 19
#define SCAN_PAIRS 20

#define SCAN_FORM_DENSE 1u

/* A table of the automaton.  Its offset is a multiple of 16. */
#define SCAN_WORDS(constants, word)                                                                \
  ((VYRE_IN(vyre_u32))((constants) + ((VYRE_IN(vyre_u32))(constants))[word]))
#define SCAN_BYTES(constants, word) ((constants) + ((VYRE_IN(vyre_u32))(constants))[word])

/* Emits every rule of `entry` and of the entries behind it; the match ends before data[end]. */
VYRE_FUNCTION void scan_report(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 end,
                               VYRE_IN(vyre_u8) constants, vyre_u32 entry, vyre_job *job)
{
  VYRE_IN(vyre_u32) entries = SCAN_WORDS(constants, SCAN_ENTRIES);
  VYRE_IN(vyre_u32) items = SCAN_WORDS(constants, SCAN_ITEMS);

  while (entry != 0u) {
    vyre_u32 first = entries[4u * entry];
    vyre_u32 last = first + entries[4u * entry + 1u];
    vyre_u32 length = entries[4u * entry + 3u];
    vyre_u32 i;
    for (i = first; i < last; ++i) {
      vyre_u32 pattern = items[2u * i + 1u];
      vyre_u32 same = 0u;
      if (pattern != 0u) {
        while (same < length && data[end - length + same] == constants[pattern + same])
          ++same;
      }
      if (pattern == 0u || same == length)
        vyre_emit(c, job, end, items[2u * i]);
    }
    entry = entries[4u * entry + 2u];
  }
}

/* The first position from `i` on, below `size`, whose pair of bytes may begin a rule; `size - 1` if
   there is none, for the last byte has no pair. */
VYRE_FUNCTION vyre_u32 scan_skip(VYRE_IN(vyre_u8) data, vyre_u32 i, vyre_u32 size,
                                 VYRE_IN(vyre_u8) pairs)
{
  vyre_u32 a = data[i];
  while (size - i > 4u) {
    vyre_u32 b = data[i + 1u], d = data[i + 2u], e = data[i + 3u], f = data[i + 4u];
    if ((pairs[a | b << 8] | pairs[b | d << 8] | pairs[d | e << 8] | pairs[e | f << 8]) != 0)
      break;
    a = f;
    i += 4u;
  }
  while (size - i > 1u && pairs[(vyre_u32)data[i] | (vyre_u32)data[i + 1u] << 8] == 0)
    ++i;
  return i;
}

/* Dense form: one load for the class of a byte and one for the next row. */
VYRE_FUNCTION void scan_dense(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size,
                              VYRE_IN(vyre_u8) constants, vyre_job *job)
{
  VYRE_IN(vyre_u32) header = (VYRE_IN(vyre_u32))constants;
  VYRE_IN(vyre_u8) class_map = SCAN_BYTES(constants, SCAN_CLASS_MAP);
  VYRE_IN(vyre_u32) transitions = SCAN_WORDS(constants, SCAN_TRANSITIONS);
  VYRE_IN(vyre_u32) report = SCAN_WORDS(constants, SCAN_REPORT);
  VYRE_IN(vyre_u8) pairs = SCAN_BYTES(constants, SCAN_PAIRS);
  const vyre_u32 skips = header[SCAN_PAIRS] != 0u ? 1u : 0u;
  const vyre_u32 first_report = header[SCAN_FIRST_REPORT];
  const vyre_u32 classes = header[SCAN_CLASSES];
  vyre_u32 row = 0u, i = 0u;

  while (i < size) {
    if (row == 0u && skips != 0u)
      i = scan_skip(data, i, size, pairs);
    /* One comparison ends the inner loop at a row that reports and, where bytes can be skipped,
       also at the root: row 0 minus 1 is above every other. */
    do {
      row = transitions[row + class_map[data[i]]];
      ++i;
    } while (row - skips < first_report - skips && i < size);
    if (row >= first_report)
      scan_report(c, data, i, constants, report[(row - first_report) / classes], job);
  }
}

/* Compact form: walks failure links until a state has an edge for the byte. */
VYRE_FUNCTION void scan_compact(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size,
                                VYRE_IN(vyre_u8) constants, vyre_job *job)
{
  VYRE_IN(vyre_u8) class_map = SCAN_BYTES(constants, SCAN_CLASS_MAP);
  VYRE_IN(vyre_u32) root = SCAN_WORDS(constants, SCAN_TRANSITIONS);
  VYRE_IN(vyre_u32) report = SCAN_WORDS(constants, SCAN_REPORT);
  VYRE_IN(vyre_u32) children = SCAN_WORDS(constants, SCAN_CHILDREN);
  VYRE_IN(vyre_u8) labels = SCAN_BYTES(constants, SCAN_LABELS);
  VYRE_IN(vyre_u32) failures = SCAN_WORDS(constants, SCAN_FAILURES);
  vyre_u32 state = 0u, i;

  for (i = 0u; i < size; ++i) {
    const vyre_u32 wanted = class_map[data[i]];
    vyre_u32 low = 0u, high = 0u;
    while (state != 0u) {
      const vyre_u32 end = children[state + 1u];
      low = children[state];
      high = end;
      while (low < high) { /* the first label that is not below the wanted one */
        const vyre_u32 middle = low + (high - low) / 2u;
        if (labels[middle] < wanted)
          low = middle + 1u;
        else
          high = middle;
      }
      if (low < end && labels[low] == wanted)
        break;
      state = failures[state];
    }
    state = state != 0u ? low : root[wanted];
    if (report[state] != 0u)
      scan_report(c, data, i + 1u, constants, report[state], job);
  }
}

VYRE_HANDLER(scan)
(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,
 vyre_u64 constants_size, vyre_job *job)
{
  (void)constants_size;
  if (((VYRE_IN(vyre_u32))constants)[SCAN_FORM] == SCAN_FORM_DENSE)
    scan_dense(c, data, size, constants, job);
  else
    scan_compact(c, data, size, constants, job);
  return vyre_emitted(job);
}
