/*
 * process.h - what the contexts of one process share: a page that knows about fork(), and the
 * services that plugins get.
 *
 * A plugin has one table and keeps one pointer to its host, however many contexts use it.  So there
 * is one vyre_host for the process, its memory comes from the C library, and a plugin's log line
 * goes to the hook of every context.
 */
#ifndef VYRE_CORE_DEVICE_PROCESS_H
#define VYRE_CORE_DEVICE_PROCESS_H

#include "vyre.h"
#include "vyre_backend.h"

typedef struct vyre__process vyre__process;

struct vyre__site;

/* A context's hook, part of the context. */
typedef struct vyre__listener {
  struct vyre__listener *next;
  vyre_log_fn log;
  void *self;
  vyre_log_level level;
  uint32_t calls; /* under way */
  bool leaving;   /* takes no new calls */
} vyre__listener;

/* What every plugin is given. */
extern const vyre_host vyre__host;

/* The record of this process, made by the first call in it.  It stays until the process ends. */
vyre_status vyre__process_get(vyre__process **out_process, vyre_error *err);

/* False in a child of the process that the record was made in.  No system call as a rule. */
bool vyre__process_is_ours(const vyre__process *process);

/* Only in the process itself.  unlisten() waits for the hook's calls to return. */
void vyre__process_listen(vyre__process *process, vyre__listener *listener);
void vyre__process_unlisten(vyre__process *process, vyre__listener *listener);

/* The list of the process's sites (site.h), with its lock held until the unlock. */
struct vyre__site **vyre__process_lock_sites(vyre__process *process);
void vyre__process_unlock_sites(vyre__process *process);

#ifdef VYRE_TESTING
/* Acts as a kernel without MADV_WIPEONFORK, from the next record on. */
void vyre__test_process_without_wipe(bool without);
#endif

#endif
