/*
 * with_fixture.h - for tests: contexts that hold fixture plugins, folders of plugins, and what is
 * mapped into the process.
 */
#ifndef VYRE_TESTS_PLUGINS_WITH_FIXTURE_H
#define VYRE_TESTS_PLUGINS_WITH_FIXTURE_H

#include "vyre.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#define FIXTURE_PATH_SIZE 4096

/* The file of a fault; "none" is the correct plugin. */
static inline void fixture_path(const char *fault, char *path)
{
  bool none = !strcmp(fault, "none");
  snprintf(path, FIXTURE_PATH_SIZE, "%s/libvyre_fixture%s%s.so", VYRE_TEST_PLUGIN_DIR,
           none ? "" : "_", none ? "" : fault);
}

/* Options for these files and nothing else. */
static inline vyre_context_options only_files(const char *const *files, uint32_t count)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  options.plugin_files = files;
  options.plugin_file_count = count;
  return options;
}

/* A context with one fixture plugin in it. */
static inline vyre_status fixture_context(const char *fault, vyre_context **out_context,
                                          vyre_error *err)
{
  char path[FIXTURE_PATH_SIZE];
  const char *files[1] = {path};
  vyre_context_options options = only_files(files, 1);
  fixture_path(fault, path);
  return vyre_context_create(&options, out_context, err);
}

/* Opens what a selector asks for, without fall back. */
static inline vyre_status open_selected(vyre_context *context, const char *selector,
                                        vyre_device **out_device, vyre_error *err)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  request.selector = selector;
  return vyre_device_open(context, &request, out_device, err);
}

/* True if a file whose path holds `part` is mapped. */
static inline bool is_mapped(const char *part)
{
  char line[8192];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && !found && fgets(line, sizeof line, maps))
    found = strstr(line, part) != NULL;
  if (maps)
    fclose(maps);
  return found;
}

/* ---- folders of plugins ---- */

/* A new empty folder; remove_folder() takes it away with what is in it. */
static inline void make_folder(char *path)
{
  const char *base = getenv("TMPDIR");
  snprintf(path, FIXTURE_PATH_SIZE, "%s/vyre-test-XXXXXX", base ? base : "/tmp");
  if (!mkdtemp(path))
    abort();
}

static inline void remove_folder(const char *path)
{
  char command[FIXTURE_PATH_SIZE + 16];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  if (system(command) != 0)
    abort();
}

/* Puts a link to a fault's file into a folder, as libvyre_NAME.so. */
static inline void put_plugin(const char *folder, const char *name, const char *fault)
{
  char target[FIXTURE_PATH_SIZE], link_path[2 * FIXTURE_PATH_SIZE];
  fixture_path(fault, target);
  snprintf(link_path, sizeof link_path, "%s/libvyre_%s.so", folder, name);
  if (symlink(target, link_path) != 0)
    abort();
}

/* A context whose search path is these folders and nothing else. */
static inline vyre_status context_of_path(const char *path, vyre_context **out_context,
                                          vyre_error *err)
{
  vyre_context_options options = only_files(NULL, 0);
  options.plugin_path = path;
  return vyre_context_create(&options, out_context, err);
}

#endif
