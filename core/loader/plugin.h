/* plugin.h - one plugin: opened as a whole, or not at all. */
#ifndef VYRE_CORE_LOADER_PLUGIN_H
#define VYRE_CORE_LOADER_PLUGIN_H

#include "vyre.h"
#include "vyre_backend.h"

#include "core/base/alloc.h"

typedef struct vyre__plugin {
  void *library; /* dlopen()'s */
  const vyre_backend *backend;
} vyre__plugin;

/*
 * Reads the file, opens it, shakes hands, checks the table.  On an error nothing stays open, and
 * `*out_stage` tells how far it came (VYRE_CANDIDATE_LOADED on success).
 */
vyre_status vyre__plugin_open(const char *path, const vyre_allocator *allocator,
                              const vyre_host *host, vyre__plugin *out_plugin,
                              vyre_candidate_stage *out_stage, vyre_error *err);

/* Leaves the object in the process unless it says that it may be unloaded. */
void vyre__plugin_close(vyre__plugin *plugin);

/* Unloads one of which only the handshake was used. */
void vyre__plugin_discard(vyre__plugin *plugin);

/*
 * The error of a plugin's function as it goes to the caller: one without a text gets one (ABI-009),
 * and so does a code that this host does not know.  Returns the code.
 */
vyre_status vyre__plugin_error(vyre_error *err, const vyre_backend *backend, const char *function,
                               vyre_status status, const vyre_error *from);

#endif
