/*
 * devices_of.h - several devices of one context, for a verb that spreads its work.
 */
#ifndef VYRE_TOOLS_DEVICES_OF_H
#define VYRE_TOOLS_DEVICES_OF_H

#include "vyre.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_devices {
  vyre_context *context;
  vyre_device **devices;
  uint32_t count;
} cli_devices;

/*
 * Opens a device for each selector, and every one that plugin NAME has for "NAME:*", at most `most`
 * in all; without a selector the one of VYRE_DEVICE, else the best.  Named twice it is opened
 * twice. CLI_ERROR was told already if it returns false.  `out` is zeroed; close it in any case.
 */
bool cli_devices_open(const char *const *selectors, size_t count, uint32_t most, cli_devices *out);
void cli_devices_close(cli_devices *devices);

#endif
