/* context.h - the context, for the files of core/device/. */
#ifndef VYRE_CORE_DEVICE_CONTEXT_H
#define VYRE_CORE_DEVICE_CONTEXT_H

#include "core/device/device.h"
#include "core/device/devices.h"
#include "core/device/process.h"
#include "core/loader/candidates.h"
#include "core/loader/plugin.h"

struct vyre_context {
  vyre_allocator allocator;
  vyre__process *process;
  vyre__listener listener; /* the log hook */
  uint32_t flags;
  uint32_t references; /* atomic: the caller's and one for each device */
  vyre__plugin *plugins;
  uint32_t plugin_count;
  vyre__candidates candidates;
  vyre__devices devices;
};

void vyre__context_retain(vyre_context *context);
void vyre__context_release(vyre_context *context);

/* FORKED in a child. */
vyre_status vyre__context_check(const vyre_context *context, vyre_error *err);

/* Fills the caller's structure from ours. */
vyre_status vyre__device_info_write(const vyre_device_info *info, vyre_device_info *out_info,
                                    vyre_error *err);

/*
 * Looks for plugins, loads them and lists their devices (catalog.c).  What was loaded before an
 * error belongs to the context all the same.
 */
vyre_status vyre__context_fill(vyre_context *context, const vyre_context_options *options,
                               vyre_error *err);

#endif
