/* search.c - the search order: explicit files, the search path, beside libvyre, compiled in. */
#include "core/loader/search.h"

#include "core/base/error.h"
#include "vyre_build.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef VYRE_TESTING
static bool test_elevated;

void vyre__test_elevated(bool elevated)
{
  test_elevated = elevated;
}
#else
#define test_elevated false
#endif

const char *vyre__environment(const char *name)
{
  if (test_elevated || getauxval(AT_SECURE))
    return NULL;
  return getenv(name);
}

/* ---- the list ---- */

static void free_rows(vyre__search *search, vyre__found *rows, uint32_t count)
{
  uint32_t i;
  for (i = 0; i < count; i++)
    vyre__deallocate(&search->allocator, rows[i].path);
  vyre__deallocate(&search->allocator, rows);
}

void vyre__search_free(vyre__search *search)
{
  free_rows(search, search->rows, search->count);
  free_rows(search, search->folders, search->folder_count);
  search->rows = search->folders = NULL;
  search->count = search->capacity = 0;
  search->folder_count = search->folder_capacity = 0;
}

/* Room for one more; `*rows` holds `count` of `*capacity`. */
static bool make_room(vyre__search *search, vyre__found **rows, uint32_t count, uint32_t *capacity)
{
  uint32_t larger = *capacity ? *capacity * 2 : 16;
  vyre__found *grown = NULL;
  if (count < *capacity)
    return true;
  if (*capacity > UINT32_MAX / 2)
    return false;
  grown = vyre__allocate_zeroed(&search->allocator, larger, sizeof *grown);
  if (!grown)
    return false;
  if (count)
    memcpy(grown, *rows, count * sizeof *grown);
  vyre__deallocate(&search->allocator, *rows);
  *rows = grown;
  *capacity = larger;
  return true;
}

/* Appends `folder`/`name`, or `folder` alone if there is no name. */
static vyre_status add(vyre__search *search, const char *folder, const char *name, bool is_explicit,
                       int folder_error, vyre_error *err)
{
  size_t folder_length = strlen(folder), name_length = name ? strlen(name) : 0;
  bool slash = name && (folder_length == 0 || folder[folder_length - 1] != '/');
  vyre__found *row = NULL;
  char *path = NULL;
  if (make_room(search, &search->rows, search->count, &search->capacity))
    path = vyre__allocate(&search->allocator, folder_length + slash + name_length + 1, 1);
  if (!path)
    return VYRE_FAIL_MEMORY(err, "the list of plugin files");
  memcpy(path, folder, folder_length);
  if (slash)
    path[folder_length] = '/';
  if (name)
    memcpy(path + folder_length + slash, name, name_length);
  path[folder_length + slash + name_length] = '\0';
  row = &search->rows[search->count++];
  memset(row, 0, sizeof *row);
  row->path = path;
  row->is_explicit = is_explicit;
  row->folder_error = folder_error;
  return VYRE_OK;
}

/* ---- folders ---- */

/* True if the folder was read before.  Remembers it if not. */
static vyre_status seen_before(vyre__search *search, const struct stat *info, bool *out_seen,
                               vyre_error *err)
{
  vyre__found *row = NULL;
  uint32_t i;
  *out_seen = false;
  for (i = 0; i < search->folder_count; i++) {
    row = &search->folders[i];
    if (row->device == (uint64_t)info->st_dev && row->inode == (uint64_t)info->st_ino) {
      *out_seen = true;
      return VYRE_OK;
    }
  }
  if (!make_room(search, &search->folders, search->folder_count, &search->folder_capacity))
    return VYRE_FAIL_MEMORY(err, "the list of plugin folders");
  row = &search->folders[search->folder_count++];
  memset(row, 0, sizeof *row);
  row->device = (uint64_t)info->st_dev;
  row->inode = (uint64_t)info->st_ino;
  return VYRE_OK;
}

static bool is_plugin_name(const char *name)
{
  static const char prefix[] = "libvyre_", suffix[] = ".so";
  size_t length = strlen(name);
  return length > sizeof prefix - 1 + sizeof suffix - 1 &&
         memcmp(name, prefix, sizeof prefix - 1) == 0 &&
         memcmp(name + length - (sizeof suffix - 1), suffix, sizeof suffix - 1) == 0;
}

static int by_path(const void *a, const void *b)
{
  return strcmp(((const vyre__found *)a)->path, ((const vyre__found *)b)->path);
}

/* The files libvyre_*.so of a folder, in the order of their names' bytes. */
static vyre_status add_folder(vyre__search *search, const char *folder, vyre_error *err)
{
  uint32_t first = search->count;
  vyre_status status = VYRE_OK;
  struct dirent *entry = NULL;
  struct stat info;
  bool seen = false;
  DIR *opened = opendir(folder);
  if (!opened)
    return add(search, folder, NULL, false, errno, err);
  if (fstat(dirfd(opened), &info) == 0)
    status = seen_before(search, &info, &seen, err);
  while (!status && !seen) {
    errno = 0;
    entry = readdir(opened);
    if (!entry) {
      if (errno)
        status = add(search, folder, NULL, false, errno, err);
      break;
    }
    if (is_plugin_name(entry->d_name))
      status = add(search, folder, entry->d_name, false, 0, err);
  }
  closedir(opened);
  if (!status && search->count > first)
    qsort(search->rows + first, search->count - first, sizeof *search->rows, by_path);
  return status;
}

/* Folders separated by ':'; empty ones are skipped. */
static vyre_status add_path(vyre__search *search, const char *path, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  char *copy = vyre__copy_text(&search->allocator, path);
  char *folder = copy, *end = NULL;
  if (!copy)
    return VYRE_FAIL_MEMORY(err, "the plugin path");
  while (!status && folder) {
    end = strchr(folder, ':');
    if (end)
      *end++ = '\0';
    if (*folder)
      status = add_folder(search, folder, err);
    folder = end;
  }
  vyre__deallocate(&search->allocator, copy);
  return status;
}

/* ---- the folder that belongs to this libvyre ---- */

/* The address of something in this very library or program. */
static const char here;

/*
 * The real path of the object that libvyre's code lies in, and whether that is the program itself
 * (static libvyre).  The program has no name in the linker's list; the kernel knows it.
 */
static bool own_object(char *out_path, bool *out_is_program)
{
  struct link_map *map = NULL;
  void *extra = NULL;
  Dl_info info;
  ssize_t length = 0;
  if (dladdr1(&here, &info, &extra, RTLD_DL_LINKMAP) && extra) {
    map = extra;
    if (map->l_name && map->l_name[0]) {
      *out_is_program = false;
      return realpath(map->l_name, out_path) != NULL;
    }
  }
  *out_is_program = true;
  length = readlink("/proc/self/exe", out_path, PATH_MAX - 1);
  if (length <= 0)
    return false;
  out_path[length] = '\0';
  return true;
}

char *vyre__own_plugin_folder(const vyre_allocator *allocator)
{
  static const char beside_library[] = "/vyre", beside_program[] = "/../lib/vyre";
  char *path = vyre__allocate(allocator, PATH_MAX + sizeof beside_program, 1);
  bool is_program = false;
  char *slash = NULL;
  if (!path)
    return NULL;
  if (own_object(path, &is_program) && (slash = strrchr(path, '/'))) {
    memcpy(slash, is_program ? beside_program : beside_library,
           is_program ? sizeof beside_program : sizeof beside_library);
    return path;
  }
  path[0] = '\0';
  return path;
}

static vyre_status add_own_folder(vyre__search *search, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  char *folder = vyre__own_plugin_folder(&search->allocator);
  if (!folder)
    return VYRE_FAIL_MEMORY(err, "the plugin folder's name");
  if (folder[0])
    status = add_folder(search, folder, err);
  vyre__deallocate(&search->allocator, folder);
  return status;
}

/* ---- the order ---- */

static vyre_status add_all(vyre__search *search, const vyre_context_options *options,
                           vyre_error *err)
{
  const uint32_t no_environment = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  const char *path = options->plugin_path;
  vyre_status status = VYRE_OK;
  uint32_t i;
  for (i = 0; !status && i < options->plugin_file_count; i++) {
    if (!options->plugin_files || !options->plugin_files[i] || !options->plugin_files[i][0])
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a path for each plugin file",
                       "plugin file %u of %u has no path", i, options->plugin_file_count);
    status = add(search, options->plugin_files[i], NULL, true, 0, err);
  }
  if (!path && !(options->flags & no_environment))
    path = vyre__environment("VYRE_PLUGIN_PATH");
  if (!status && path)
    status = add_path(search, path, err);
  if (status || (options->flags & VYRE_CONTEXT_NO_DEFAULT_PATHS))
    return status;
  status = add_own_folder(search, err);
  if (!status)
    status = add_folder(search, VYRE_BUILD_PLUGIN_DIR, err);
  return status;
}

vyre_status vyre__search_run(vyre__search *search, const vyre_allocator *allocator,
                             const vyre_context_options *options, vyre_error *err)
{
  vyre_status status;
  memset(search, 0, sizeof *search);
  search->allocator = *allocator;
  status = add_all(search, options, err);
  if (status)
    vyre__search_free(search);
  return status;
}
