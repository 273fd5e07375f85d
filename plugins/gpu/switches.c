/*
 * switches.c - see switches.h.
 */
#include "plugins/gpu/switches.h"

#include "plugins/common/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(const char *value, long *out)
{
  char *end = NULL;
  *out = strtol(value, &end, 0);
  return end != value && !*end;
}

static bool is_on(const vyre__gpu_switch *one, const char *value)
{
  long number = 0;
  const bool is_number = read_number(value, &number);
  switch (one->when) {
  case VYRE__GPU_UNLESS_ZERO:
    return !is_number || number != 0;
  case VYRE__GPU_IF_BELOW:
    return !is_number || number < one->number;
  case VYRE__GPU_IF_ONE:
    return is_number && number == 1;
  case VYRE__GPU_IF_TOOL:
    return strstr(value, "anitizer") || strstr(value, "memcheck");
  default:
    return true;
  }
}

bool vyre__gpu_switched(const vyre__gpu_switch *switches, uint32_t count, char *out, uint64_t size)
{
  for (uint32_t i = 0; i < count; ++i) {
    const char *value = vyre__plugin_environment(switches[i].name);
    if (!value || !is_on(&switches[i], value))
      continue;
    snprintf(out, size, "%s=%.80s is set: %s", switches[i].name, value, switches[i].consequence);
    return true;
  }
  return false;
}
