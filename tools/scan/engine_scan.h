/*
 * engine_scan.h - scans files through the engines of one device or several: cuts them into pieces,
 * gathers the matches of each file, and hands files over in the order of the list.
 *
 * Pieces of a file overlap by the longest pattern less one byte; a match belongs to the piece in
 * whose fresh bytes it ends, so each is found exactly once wherever the edges lie.  Later files are
 * read and scanned while an earlier one is not complete.  Memory is each engine's region and bank,
 * and the matches of pieces in flight or of files behind the first one that is not complete: it
 * grows neither with the bytes scanned nor with the matches found.
 */
#ifndef VYRE_SCAN_ENGINE_SCAN_H
#define VYRE_SCAN_ENGINE_SCAN_H

#include "tools/scan/automaton.h"
#include "tools/scan/team.h"
#include "tools/scan/walk.h"

#include "vyre.h"

/* Fresh bytes of a piece, unless the options say another number.  On a GPU a piece is one lane's,
   and there are thousands of those: an H200 does 2.1 GB/s with the one and 2.9 to 3.4 with the
   other. */
#define VYRE__SCAN_PIECE (UINT32_C(128) << 10)
#define VYRE__SCAN_PIECE_GPU (UINT32_C(8) << 10)

typedef struct vyre__scan_match {
  uint64_t offset; /* of its first byte in the file */
  uint32_t rule;
} vyre__scan_match;

/* Called on the thread of vyre__scan_run(). */
typedef struct vyre__scan_sink {
  void *self;
  /*
   * The next `count` matches of a file, sorted by offset and rule.  A file with many comes in
   * several calls, one after the other, and each file that is complete in one last call, which may
   * have none left.  If only the number is wanted, there is that one call and `matches` is NULL.
   * False ends the scan: the results cannot be written.
   */
  bool (*file)(void *self, const char *path, const vyre__scan_match *matches, uint64_t count);
  /* A file that could not be read to its end (ERROR), or something to know about it (NOTE). */
  void (*trouble)(void *self, vyre__walk_level level, const char *path, const char *cause);
  /* Now and then; may be NULL. */
  void (*progress)(void *self, uint64_t files, uint64_t bytes);
} vyre__scan_sink;

typedef struct vyre__scan_options {
  vyre_engine_mode mode;
  uint32_t piece;        /* fresh bytes of a piece; 0: by the devices */
  uint32_t bank_records; /* records in each half of the bank, at first; 0: 262144 */
  bool count_only;       /* matches are counted and not kept */
  uint32_t keep;         /* matches of a file before some are handed over early; 0: 65536 */
} vyre__scan_options;

typedef struct vyre__scan_stats {
  uint64_t files, bytes, matches, errors;
  uint64_t pieces, retries, launches, swaps;
  uint32_t workers;
  uint32_t bank_records;
  bool persistent;
  /* Of each device: */
  uint64_t share[VYRE__TEAM_MOST];   /* pieces that it took */
  char choice[VYRE__TEAM_MOST][256]; /* "persistent: …", mode and why */
} vyre__scan_stats;

/*
 * Scans `list` on all of the devices (1 to VYRE__TEAM_MOST), an engine each; what is found and how
 * it is told does not depend on them.  `code` has rows for the handler `scan`.  What concerns one
 * file is told to the sink and counted in `errors`, and the scan goes on; an error that is returned
 * ended it, and the files that were not handed over are missing.  `out_stats` is filled in any
 * case.
 */
vyre_status vyre__scan_run(vyre_device *const *devices, uint32_t device_count,
                           const vyre__rules *rules, const vyre__automaton *automaton,
                           const vyre_code *code, uint32_t code_count, const vyre__walk_list *list,
                           const vyre__scan_options *options, const vyre__scan_sink *sink,
                           vyre__scan_stats *out_stats, vyre_error *err);

#endif
