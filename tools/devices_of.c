/* devices_of.c - see devices_of.h. */
#include "tools/devices_of.h"

#include "tools/cli.h"

#include <stdlib.h>
#include <string.h>

static bool open_one(cli_devices *out, const char *selector, uint32_t most)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;

  if (out->count == most) {
    cli_error("at most %u devices are used at a time; name fewer", most);
    return false;
  }
  request.selector = selector;
  if (vyre_device_open(out->context, &request, &out->devices[out->count], &err) != VYRE_OK) {
    cli_report(NULL, &err);
    return false;
  }
  out->count++;
  return true;
}

/* "cuda:*": all that plugin "cuda" has. */
static bool open_each(cli_devices *out, const char *plugin, size_t length, uint32_t most)
{
  const uint32_t all = vyre_context_device_count(out->context), before = out->count;
  uint32_t i;

  for (i = 0; i < all; i++) {
    vyre_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    if (vyre_context_device_info(out->context, i, &info, NULL) == VYRE_OK &&
        strlen(info.backend) == length && memcmp(info.backend, plugin, length) == 0 &&
        !open_one(out, info.selector, most)) {
      return false;
    }
  }
  if (out->count == before) {
    cli_error("plugin '%.*s' has no device here; `vyre devices` lists what there is", (int)length,
              plugin);
    return false;
  }
  return true;
}

bool cli_devices_open(const char *const *selectors, size_t count, uint32_t most, cli_devices *out)
{
  size_t i;

  out->devices = calloc(most, sizeof *out->devices);
  if (out->devices == NULL) {
    cli_error("no memory for the devices");
    return false;
  }
  if (!cli_context(&out->context)) {
    return false;
  }
  if (count == 0) {
    return open_one(out, NULL, most);
  }
  for (i = 0; i < count; i++) {
    const size_t length = strlen(selectors[i]);
    const bool each = length > 2 && strcmp(selectors[i] + length - 2, ":*") == 0;
    if (each ? !open_each(out, selectors[i], length - 2, most)
             : !open_one(out, selectors[i], most)) {
      return false;
    }
  }
  return true;
}

void cli_devices_close(cli_devices *devices)
{
  while (devices->count != 0) {
    vyre_device_close(devices->devices[--devices->count]);
  }
  free(devices->devices);
  vyre_context_destroy(devices->context);
  memset(devices, 0, sizeof *devices);
}
