/*
 * handshake.h - what every plugin does in vyre_backend_query() before it has a table to give.
 */
#ifndef VYRE_PLUGIN_HANDSHAKE_H
#define VYRE_PLUGIN_HANDSHAKE_H

#include "vyre_backend.h"

/* The host of the latest handshake.  A device keeps the one that it was opened under. */
const vyre_host *vyre__plugin_host(void);

/*
 * Checks the arguments and stores the highest minor version within the host's range and
 * `oldest` … VYRE_ABI_MINOR (ABI-022).  Remembers the host.  `name` is the plugin's, for messages.
 */
vyre_status vyre__plugin_handshake(const vyre_host *host, const vyre_backend **out_backend,
                                   const char *name, uint32_t oldest, uint32_t *out_minor,
                                   vyre_error *err);

#endif
