/* open.h - opening a device of a plugin. */
#ifndef VYRE_CORE_DEVICE_OPEN_H
#define VYRE_CORE_DEVICE_OPEN_H

#include "vyre_backend.h"

/*
 * The plugin's device_open() with our options; its error always has a text.  `queue` is the
 * application's, NULL or with handle 0 for none; the device is known to take one.
 */
vyre_status vyre__backend_open(const vyre_backend *backend, uint32_t index,
                               const vyre_native_handle *queue, vyre_backend_device **out_handle,
                               vyre_error *err);

#endif
