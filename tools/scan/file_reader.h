/*
 * file_reader.h - reads one file of a scan from its beginning to its end, and notices when it
 * changes meanwhile.
 *
 * A regular file is read up to the size that it had when it was opened: what is appended later is
 * a note.  A file that became shorter, or whose bytes were written to, is an error: its matches may
 * be of two versions.  Files whose size says nothing (0 in /proc, a page in /sys) and what is no
 * regular file are read to their end.
 */
#ifndef VYRE_SCAN_FILE_READER_H
#define VYRE_SCAN_FILE_READER_H

#include "tools/scan/walk.h"

#include <stdint.h>
#include <sys/stat.h>

typedef struct vyre__file_reader {
  int fd;
  bool ended;
  uint64_t position;
  struct stat first;      /* when it was opened */
  vyre__walk_level level; /* of the cause */
  char cause[160];        /* what is to be told about the file, or "" */
} vyre__file_reader;

/* False: the file cannot be scanned; cause and level say why, and there is nothing to close. */
bool vyre__file_reader_open(vyre__file_reader *reader, const vyre__walk_file *file);

/* Fills `bytes` with `size` bytes, or with what is left.  False: there is nothing after them. */
bool vyre__file_reader_read(vyre__file_reader *reader, uint8_t *bytes, uint32_t size,
                            uint32_t *out_got);

/* Cause and level are set if there is something to tell. */
void vyre__file_reader_close(vyre__file_reader *reader);

#endif
