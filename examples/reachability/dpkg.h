/*
 * dpkg.h - the installed packages of a Debian machine and what they need, from dpkg's status file.
 */
#ifndef REACHABILITY_DPKG_H
#define REACHABILITY_DPKG_H

#include "graph.h"

#include <stddef.h>

typedef struct dpkg_package {
  const char *name;
  const char *architecture; /* never "all": such a package counts as a native one */
  const char *version;
  const char *depends; /* "" without */
  const char *pre_depends;
  const char *provides;
  bool foreign; /* Multi-Arch: it serves packages of every architecture */
  bool allowed; /* Multi-Arch: it serves them if they ask for NAME:any */
} dpkg_package;

typedef struct dpkg {
  char *text; /* the file; the packages' texts lie in it */
  dpkg_package *packages;
  uint32_t count;
  const char *native; /* architecture of the package dpkg, or of the first one */
} dpkg;

/*
 * Reads what is installed from a status file's text, which it takes over (from malloc) and changes.
 * False without memory.  A package whose files are gone is not installed.
 */
bool dpkg_parse(dpkg *d, char *text);
void dpkg_free(dpkg *d);

/* Index of "name" or "name:architecture"; d->count if it is not installed. */
uint32_t dpkg_find(const dpkg *d, const char *name);

/* How apt writes a package's name: with its architecture if that is not the native one. */
void dpkg_full_name(const dpkg *d, uint32_t package, char *out_name, size_t size);

/*
 * An edge from each package to each one that its dependencies name, or that provides what they
 * name; depends.c says how they are read.  `virtual_too` follows names that nobody bears, but
 * somebody provides.  `*out_edges` is from malloc.  False without memory.
 */
bool dpkg_edges(const dpkg *d, bool virtual_too, graph_edge **out_edges, uint32_t *out_count);

/* Debian's order of versions: below, equal to or above 0. */
int dpkg_compare_versions(const char *a, const char *b);

#endif
