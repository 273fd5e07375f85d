/* open.h - opening a device of a plugin. */
#ifndef VYRE_CORE_DEVICE_OPEN_H
#define VYRE_CORE_DEVICE_OPEN_H

#include "vyre_backend.h"

/* The plugin's device_open() with our options; its error always has a text. */
vyre_status vyre__backend_open(const vyre_backend *backend, uint32_t index,
                               vyre_backend_device **out_handle, vyre_error *err);

#endif
