/*
 * open.h - a vendor's library: found by the loader, its entry points resolved, once a process.
 *
 * Nothing is ever closed: drivers have threads and exit handlers of their own.
 */
#ifndef VYRE_GPU_OPEN_H
#define VYRE_GPU_OPEN_H

#include "vyre_status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens the first of `names` that there is.  `variable` names an environment variable that, if set,
 * is tried alone; a library that is in the process already comes first.  Appends each failure, with
 * the loader's own text, to `tried`.  NULL if none opens.
 */
void *vyre__gpu_open(const char *variable, const char *const *names, char *tried,
                     uint64_t tried_size);
/* The file of a library from vyre__gpu_open(), "" if the loader does not say. */
void vyre__gpu_path_of(void *library, char *out_path, uint64_t size);

typedef struct vyre__gpu_entry {
  const char *symbol, *other; /* `other`: a second name of the same ABI, or NULL */
  bool required;
  int since;     /* the version that brought it, as the vendor counts */
  size_t offset; /* in the vendor's structure of entry points */
} vyre__gpu_entry;

/* Stores the address of each entry in `table`, NULL for those that are not there. */
void vyre__gpu_resolve(void *library, void *table, const vyre__gpu_entry *entries, uint32_t count);
/* How many of the required ones are NULL; their names go to `list`, and `*newest` is raised to the
   version that has them all. */
uint32_t vyre__gpu_missing(const void *table, const vyre__gpu_entry *entries, uint32_t count,
                           char *list, uint64_t size, int *newest);

/*
 * What the first call of load() said is what every later one says; but in a child of the process
 * that loaded it, where a driver's threads are not and its answers are of no use: FORKED.
 */
typedef struct vyre__gpu_once {
  pthread_mutex_t lock;
  bool done;
  pid_t owner;        /* of the process that loaded it */
  vyre_error failure; /* code is VYRE_OK if there was none */
} vyre__gpu_once;
#define VYRE__GPU_ONCE_INIT                                                                        \
  {                                                                                                \
    .lock = PTHREAD_MUTEX_INITIALIZER, .failure = VYRE_ERROR_INIT                                  \
  }

vyre_status vyre__gpu_load_once(vyre__gpu_once *once, vyre_status (*load)(vyre_error *err),
                                vyre_error *err);

#endif
