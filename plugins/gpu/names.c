/*
 * names.c - see names.h.
 */
#include "plugins/gpu/names.h"

#include <stdio.h>
#include <string.h>

void vyre__gpu_write_pci(char out[VYRE_DEVICE_ID_SIZE], const char *name)
{
  snprintf(out, VYRE_DEVICE_ID_SIZE, "%s", name);
  for (char *at = out; *at; ++at)
    if (*at >= 'A' && *at <= 'F')
      *at = (char)(*at - 'A' + 'a');
}

void vyre__gpu_write_uuid(char out[VYRE_DEVICE_ID_SIZE], const char bytes[16])
{
  static const char none[16];
  char *at = out;
  *at = '\0';
  if (!memcmp(bytes, none, sizeof none))
    return;
  for (uint32_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      *at++ = '-';
    at += snprintf(at, 3, "%02x", (unsigned)(unsigned char)bytes[i]);
  }
}
