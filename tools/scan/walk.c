/*
 * walk.c - collects the files of a scan; walk.h is the contract.
 *
 * Directories wait in a list of their own, so depth costs no stack, and at most one is open at a
 * time.  Each is opened by its whole path.  Below a path given, O_NOFOLLOW refuses a directory that
 * became a link after it was seen.
 */
#include "tools/scan/walk.h"

#include "tools/scan/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES 65536u

/* A directory that waits to be read. */
typedef struct directory {
  const char *path;
  bool given; /* on the command line: it may be a link */
} directory;

typedef struct walker {
  vyre__walk_list list;
  size_t capacity, block_capacity;
  char *block; /* free rest of the newest block */
  size_t block_left;
  directory *pending;
  size_t pending_count, pending_capacity;
  vyre__walk_report report;
  void *user;
  vyre_error *err;
} walker;

static void tell(walker *w, vyre__walk_level level, const char *path, const char *cause)
{
  w->list.errors += level == VYRE__WALK_ERROR;
  if (w->report != NULL) {
    w->report(w->user, level, path, cause);
  }
}

static void tell_errno(walker *w, const char *path, int cause)
{
  tell(w, VYRE__WALK_ERROR, path, strerror(cause));
}

static vyre_status no_memory(walker *w)
{
  return SCAN_NO_MEMORY(w->err, "the list of files");
}

/* Memory for `size` bytes of text that lives as long as the list. */
static char *take_text(walker *w, size_t size)
{
  char *text;

  if (size > w->block_left) {
    const size_t block = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    if (!vyre__scan_reserve((void **)&w->list.blocks, &w->block_capacity, w->list.block_count + 1,
                            sizeof *w->list.blocks)) {
      return NULL;
    }
    text = vyre__scan_alloc(block, 1);
    if (text == NULL) {
      return NULL;
    }
    w->list.blocks[w->list.block_count++] = text;
    w->block = text;
    w->block_left = block;
  }
  text = w->block;
  w->block += size;
  w->block_left -= size;
  return text;
}

/* `dir`/`name`, or a copy of `dir` if `name` is NULL. */
static char *join(walker *w, const char *dir, const char *name)
{
  const size_t dir_length = strlen(dir);
  const size_t name_length = name == NULL ? 0 : strlen(name);
  const bool slash = name != NULL && (dir_length == 0 || dir[dir_length - 1] != '/');
  char *path = take_text(w, dir_length + slash + name_length + 1);
  char *end = path;

  if (path == NULL) {
    return NULL;
  }
  memcpy(end, dir, dir_length);
  end += dir_length;
  if (slash) {
    *end++ = '/';
  }
  if (name != NULL) {
    memcpy(end, name, name_length);
    end += name_length;
  }
  *end = 0;
  return path;
}

/* Gives the newest text back: it was only needed for a moment. */
static void drop_text(walker *w, const char *text)
{
  const size_t size = strlen(text) + 1;
  w->block -= size;
  w->block_left += size;
}

static vyre_status add_file(walker *w, const char *path, const struct stat *info, bool given)
{
  vyre__walk_file *file;

  if (!vyre__scan_reserve((void **)&w->list.files, &w->capacity, w->list.count + 1,
                          sizeof *w->list.files)) {
    return no_memory(w);
  }
  file = &w->list.files[w->list.count++];
  file->path = path;
  file->given = given;
  file->regular = S_ISREG(info->st_mode);
  file->size = file->regular && info->st_size > 0 ? (uint64_t)info->st_size : 0;
  return VYRE_OK;
}

static vyre_status add_directory(walker *w, const char *path, bool given)
{
  directory *dir;

  if (!vyre__scan_reserve((void **)&w->pending, &w->pending_capacity, w->pending_count + 1,
                          sizeof *w->pending)) {
    return no_memory(w);
  }
  dir = &w->pending[w->pending_count++];
  dir->path = path;
  dir->given = given;
  return VYRE_OK;
}

/* A path of the command line: links are followed. */
static vyre_status visit_given(walker *w, const char *given)
{
  struct stat info;
  size_t length;
  char *path;

  if (stat(given, &info) != 0) {
    tell_errno(w, given, errno);
    return VYRE_OK;
  }
  if (S_ISSOCK(info.st_mode)) {
    tell(w, VYRE__WALK_ERROR, given, "a socket cannot be read");
    return VYRE_OK;
  }
  path = join(w, given, NULL);
  if (path == NULL) {
    return no_memory(w);
  }
  if (!S_ISDIR(info.st_mode)) {
    return add_file(w, path, &info, true);
  }
  for (length = strlen(path); length > 1 && path[length - 1] == '/'; length--) {
    path[length - 1] = 0;
  }
  return add_directory(w, path, true);
}

/* What to say about an entry that is passed over; NULL for a link, which needs no word. */
static const char *passed_over(mode_t mode)
{
  return S_ISFIFO(mode)   ? "a pipe inside a tree is not read"
         : S_ISSOCK(mode) ? "a socket inside a tree is not read"
         : S_ISLNK(mode)  ? NULL
                          : "a device inside a tree is not read";
}

/* An entry of the directory that is open as `fd`: links are not followed. */
static vyre_status visit_entry(walker *w, int fd, const char *dir, const char *name)
{
  struct stat info;
  char *path = join(w, dir, name);

  if (path == NULL) {
    return no_memory(w);
  }
  if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    tell_errno(w, path, errno);
  } else if (S_ISREG(info.st_mode)) {
    return add_file(w, path, &info, false);
  } else if (S_ISDIR(info.st_mode)) {
    return add_directory(w, path, false);
  } else if (passed_over(info.st_mode) != NULL) {
    tell(w, VYRE__WALK_NOTE, path, passed_over(info.st_mode));
  }
  drop_text(w, path);
  return VYRE_OK;
}

static vyre_status read_entries(walker *w, DIR *stream, const char *path)
{
  vyre_status status = VYRE_OK;

  while (status == VYRE_OK) {
    const struct dirent *entry;
    errno = 0;
    entry = readdir(stream);
    if (entry == NULL) {
      if (errno != 0) {
        tell_errno(w, path, errno);
      }
      break;
    }
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      status = visit_entry(w, dirfd(stream), path, entry->d_name);
    }
  }
  return status;
}

static vyre_status read_directory(walker *w, directory dir)
{
  const int follow = dir.given ? 0 : O_NOFOLLOW;
  const int fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
  DIR *stream = fd < 0 ? NULL : fdopendir(fd);
  vyre_status status = VYRE_OK;

  if (stream == NULL) {
    tell_errno(w, dir.path, errno);
    if (fd >= 0) {
      (void)close(fd);
    }
    return VYRE_OK;
  }
  status = read_entries(w, stream, dir.path);
  (void)closedir(stream);
  return status;
}

/* strcmp() compares as unsigned bytes, and a path holds no NUL. */
static int compare_files(const void *left, const void *right)
{
  const vyre__walk_file *a = left, *b = right;
  return strcmp(a->path, b->path);
}

static void sort_and_unite(vyre__walk_list *list)
{
  size_t from, to = 0;

  if (list->count == 0) {
    return;
  }
  qsort(list->files, list->count, sizeof *list->files, compare_files);
  for (from = 1; from < list->count; from++) {
    if (strcmp(list->files[from].path, list->files[to].path) != 0) {
      list->files[++to] = list->files[from];
    } else if (list->files[from].given) {
      list->files[to] = list->files[from]; /* given by name as well: what its link leads to */
    }
  }
  list->count = to + 1;
}

vyre_status vyre__walk(const char *const *paths, size_t count, vyre__walk_report report, void *user,
                       vyre__walk_list *out_list, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  walker w;
  size_t i;

  memset(&w, 0, sizeof w);
  w.report = report;
  w.user = user;
  w.err = err;
  for (i = 0; i < count && status == VYRE_OK; i++) {
    status = visit_given(&w, paths[i]);
  }
  while (w.pending_count > 0 && status == VYRE_OK) {
    status = read_directory(&w, w.pending[--w.pending_count]);
  }
  vyre__scan_free(w.pending);
  if (status == VYRE_OK) {
    sort_and_unite(&w.list);
    *out_list = w.list;
  } else {
    vyre__walk_destroy(&w.list);
  }
  return status;
}

void vyre__walk_destroy(vyre__walk_list *list)
{
  size_t i;

  for (i = 0; i < list->block_count; i++) {
    vyre__scan_free(list->blocks[i]);
  }
  vyre__scan_free(list->blocks);
  vyre__scan_free(list->files);
  memset(list, 0, sizeof *list);
}
