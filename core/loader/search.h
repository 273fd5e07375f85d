/*
 * search.h - where plugins are looked for.  Opens folders, never a plugin.
 */
#ifndef VYRE_CORE_LOADER_SEARCH_H
#define VYRE_CORE_LOADER_SEARCH_H

#include "vyre.h"

#include "core/base/alloc.h"

/* One file to try, or one folder that could not be read. */
typedef struct vyre__found {
  char *path;
  bool is_explicit; /* named in plugin_files */
  int folder_error; /* errno of a folder that could not be read, else 0 */
  uint64_t device;  /* of a folder: which one it is */
  uint64_t inode;
} vyre__found;

typedef struct vyre__search {
  vyre_allocator allocator;
  vyre__found *rows;
  uint32_t count;
  uint32_t capacity;
  /* Folders that were read: one that is reached twice is read once. */
  vyre__found *folders;
  uint32_t folder_count;
  uint32_t folder_capacity;
} vyre__search;

/*
 * Finds all candidates in the order of vyre_context_options.  OUT_OF_HOST_MEMORY or
 * INVALID_ARGUMENT; the list is then empty.
 */
vyre_status vyre__search_run(vyre__search *search, const vyre_allocator *allocator,
                             const vyre_context_options *options, vyre_error *err);
void vyre__search_free(vyre__search *search);

/* getenv() for a process that may trust its environment; NULL if it may not (AT_SECURE). */
const char *vyre__environment(const char *name);

/* The folder of the plugins that belong to this libvyre; from `allocator`, NULL if unknown. */
char *vyre__own_plugin_folder(const vyre_allocator *allocator);

#ifdef VYRE_TESTING
/* Acts as a process with elevated privileges. */
void vyre__test_elevated(bool elevated);
#endif

#endif
