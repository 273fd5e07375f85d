/*
 * walk.h - which files a scan reads: the paths of the command line, trees opened, in order.
 *
 * What is taken
 *   - A path given is followed if it is a link.  A regular file is taken; a directory is walked;
 *     anything else that is given by name (a pipe, a device) is taken too, to be read to its end.
 *   - Inside a tree, regular files are taken, hidden ones included, and directories are walked.
 *     Links are passed over in silence; sockets, pipes and devices with a NOTE.
 *   - What cannot be looked at (missing, no permission) is an ERROR with its path and cause, and
 *     the walk goes on.
 *
 * Names and order
 *   - A file in a tree is named DIR/NAME, with DIR as it was given, less slashes at its end.
 *   - The list is in the order of the whole path's bytes over everything given: `a-b` comes
 *     before `a/b`, since '-' is less than '/'.  A path that is reached twice (given twice, or
 *     given and inside a tree given) is listed once; two names of one file are two paths.
 *
 * The tree is read as it is at that moment; whoever opens a file later has to expect that it went
 * away meanwhile.
 */
#ifndef VYRE_SCAN_WALK_H
#define VYRE_SCAN_WALK_H

#include "vyre_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t vyre__walk_level;
#define VYRE__WALK_NOTE 0u  /* passed over on purpose */
#define VYRE__WALK_ERROR 1u /* could not be looked at: the scan is not complete */

/* Told about each path that is not listed.  `cause` is text such as "Permission denied". */
typedef void (*vyre__walk_report)(void *user, vyre__walk_level level, const char *path,
                                  const char *cause);

typedef struct vyre__walk_file {
  const char *path;
  uint64_t size; /* of a regular file, when it was looked at */
  bool regular;  /* false: read it to its end, its size is not known */
  bool given;    /* named on the command line: a link is followed, so open without O_NOFOLLOW */
} vyre__walk_file;

/* The list, owned; zero is a valid empty one. */
typedef struct vyre__walk_list {
  vyre__walk_file *files;
  size_t count;
  size_t errors; /* reports of level ERROR */
  char **blocks; /* memory of the paths */
  size_t block_count;
} vyre__walk_list;

/*
 * Collects the files of `paths`.  `report` may be NULL.  Fails only without memory, and then
 * `out_list` is as it was; paths that cannot be read are counted in `errors`.
 */
vyre_status vyre__walk(const char *const *paths, size_t count, vyre__walk_report report, void *user,
                       vyre__walk_list *out_list, vyre_error *err);

/* Frees the list and zeroes it. */
void vyre__walk_destroy(vyre__walk_list *list);

#endif
