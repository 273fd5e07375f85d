/*
 * file_reader.c - one file from beginning to end; file_reader.h is the contract.
 */
#include "tools/scan/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void tell(vyre__file_reader *reader, vyre__walk_level level, const char *cause)
{
  reader->level = level;
  snprintf(reader->cause, sizeof reader->cause, "%s", cause);
}

/* Whether reading ends at the size that stat() told. */
static bool has_size(const vyre__file_reader *reader)
{
  return S_ISREG(reader->first.st_mode) && reader->first.st_size > 0;
}

bool vyre__file_reader_open(vyre__file_reader *reader, const vyre__walk_file *file)
{
  /* A path in a tree was a regular file when it was listed.  If it is a link or a pipe by now, it
     is not followed and not waited for. */
  const int special = file->given ? 0 : O_NOFOLLOW | O_NONBLOCK;

  memset(reader, 0, sizeof *reader);
  reader->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | special);
  if (reader->fd < 0 && errno == ELOOP && !file->given) {
    tell(reader, VYRE__WALK_NOTE, "became a link, passed over");
    return false;
  }
  if (reader->fd < 0 || fstat(reader->fd, &reader->first) != 0) {
    tell(reader, VYRE__WALK_ERROR, strerror(errno));
    goto failed;
  }
  if (!file->given && !S_ISREG(reader->first.st_mode)) {
    tell(reader, VYRE__WALK_NOTE, "is no regular file any more, passed over");
    goto failed;
  }
  return true;
failed:
  if (reader->fd >= 0) {
    close(reader->fd);
  }
  reader->fd = -1;
  return false;
}

/* At the end of a file before the size that it had. */
static void end_early(vyre__file_reader *reader)
{
  struct stat now;
  char cause[sizeof reader->cause];

  reader->ended = true;
  if (!has_size(reader) || (fstat(reader->fd, &now) == 0 && now.st_size >= reader->first.st_size)) {
    return; /* the size never said where it ends, as in /sys */
  }
  snprintf(cause, sizeof cause, "became shorter while it was scanned: %llu of %llu bytes were read",
           (unsigned long long)reader->position, (unsigned long long)reader->first.st_size);
  tell(reader, VYRE__WALK_ERROR, cause);
}

bool vyre__file_reader_read(vyre__file_reader *reader, uint8_t *bytes, uint32_t size,
                            uint32_t *out_got)
{
  uint32_t got = 0;
  ssize_t n;

  while (got < size && !reader->ended) {
    size_t wanted = size - got;
    if (has_size(reader) && (uint64_t)reader->first.st_size - reader->position < wanted) {
      wanted = (size_t)((uint64_t)reader->first.st_size - reader->position);
    }
    n = read(reader->fd, bytes + got, wanted);
    if (n > 0) {
      got += (uint32_t)n;
      reader->position += (uint64_t)n;
      reader->ended = has_size(reader) && reader->position == (uint64_t)reader->first.st_size;
    } else if (n == 0) {
      end_early(reader);
    } else if (errno != EINTR) {
      char cause[sizeof reader->cause];
      snprintf(cause, sizeof cause, "%s (after %llu bytes)", strerror(errno),
               (unsigned long long)reader->position);
      tell(reader, VYRE__WALK_ERROR, cause);
      reader->ended = true;
    }
  }
  *out_got = got;
  return !reader->ended;
}

void vyre__file_reader_close(vyre__file_reader *reader)
{
  const struct stat *first = &reader->first;
  struct stat now;

  if (has_size(reader) && reader->cause[0] == '\0' && fstat(reader->fd, &now) == 0 &&
      (now.st_mtim.tv_sec != first->st_mtim.tv_sec ||
       now.st_mtim.tv_nsec != first->st_mtim.tv_nsec || now.st_size != first->st_size)) {
    if (now.st_size > first->st_size) {
      char cause[sizeof reader->cause];
      snprintf(cause, sizeof cause, "grew while it was scanned: its first %llu bytes were read",
               (unsigned long long)first->st_size);
      tell(reader, VYRE__WALK_NOTE, cause);
    } else {
      tell(reader, VYRE__WALK_ERROR,
           "changed while it was scanned: its matches may be of two versions");
    }
  }
  close(reader->fd);
  reader->fd = -1;
}
