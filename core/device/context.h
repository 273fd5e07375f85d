/* context.h - the context, for the files of core/device/. */
#ifndef VYRE_CORE_DEVICE_CONTEXT_H
#define VYRE_CORE_DEVICE_CONTEXT_H

#include "core/device/device.h"
#include "core/device/devices.h"
#include "core/device/process.h"
#include "core/loader/candidates.h"
#include "core/loader/plugin.h"

#include <pthread.h>

/* A loaded plugin.  Its devices are asked for when somebody needs them (ask.h). */
typedef struct vyre__member {
  vyre__plugin plugin;
  uint32_t candidate;         /* its row */
  uint32_t asked;             /* atomic: 1 once the rest is filled, for good */
  vyre_candidate_stage stage; /* LOADED or DEVICES */
  vyre_error reason;          /* why it has no devices; else without a message */
  vyre__devices devices;      /* in its own order */
} vyre__member;

struct vyre_context {
  vyre_allocator allocator;
  vyre__process *process;
  vyre__listener listener; /* the log hook */
  uint32_t flags;
  uint32_t references; /* atomic: the caller's and one for each device */
  vyre__member *members;
  uint32_t member_count;
  vyre__candidates candidates; /* as they were loaded; vyre__candidate_now() knows the answers */

  pthread_mutex_t lock; /* for the next two */
  bool is_asking;       /* a thread asks a plugin, or completes the list */
  pthread_t asker;
  pthread_cond_t answered;
  uint32_t is_complete;  /* atomic: 1 once all are asked and `devices` is filled, for good */
  vyre__devices devices; /* of all, best first: what indexes count in */
};

void vyre__context_retain(vyre_context *context);
void vyre__context_release(vyre_context *context);

/* FORKED in a child. */
vyre_status vyre__context_check(const vyre_context *context, vyre_error *err);

/* Fills the caller's structure from ours. */
vyre_status vyre__device_info_write(const vyre_device_info *info, vyre_device_info *out_info,
                                    vyre_error *err);

/*
 * Looks for plugins and loads them (catalog.c).  What was loaded before an error belongs to the
 * context all the same.
 */
vyre_status vyre__context_fill(vyre_context *context, const vyre_context_options *options,
                               vyre_error *err);

#endif
