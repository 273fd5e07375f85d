/*
 * switches.c - what in the environment makes the driver run one launch at a time.
 *
 * A persistent launch ends only when the host says so.  Where a launch call waits for its kernel,
 * where every stream shares one queue, or where a tool replays kernels one by one, the host never
 * comes to say it.  The environment is read, and never written.
 */
#include "plugins/cuda/calls.h"

#include "plugins/common/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When a variable that is set counts as on. */
typedef enum meaning {
  UNLESS_ZERO, /* anything but a number that is 0 */
  IF_ONE,      /* the number 1 */
  IF_SET,
  IF_TOOL /* the path of a checker's library */
} meaning;

static const struct {
  const char *name;
  meaning meaning;
  const char *consequence;
} switches[] = {
    {"CUDA_LAUNCH_BLOCKING", UNLESS_ZERO, "each launch waits for its end"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", IF_ONE, "all launches share one queue"},
    {"CUDA_MEMCHECK", UNLESS_ZERO, "a memory checker runs one launch at a time"},
    {"NV_SANITIZER_INJECTION_PORT_BASE", IF_SET, "a memory checker runs one launch at a time"},
    {"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", IF_SET,
     "a memory checker runs one launch at a time"},
    {"CUDA_INJECTION64_PATH", IF_TOOL, "a memory checker runs one launch at a time"},
    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", IF_SET, "a profiler runs one launch at a time"},
};

static bool is_number(const char *value, long number)
{
  char *end = NULL;
  const long given = strtol(value, &end, 0);
  return end != value && !*end && given == number;
}

static bool is_on(meaning when, const char *value)
{
  switch (when) {
  case UNLESS_ZERO:
    return !is_number(value, 0);
  case IF_ONE:
    return is_number(value, 1);
  case IF_TOOL:
    return strstr(value, "anitizer") || strstr(value, "memcheck");
  default:
    return true;
  }
}

bool vyre__cuda_is_serialised(char *out, uint64_t size)
{
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; ++i) {
    const char *value = vyre__plugin_environment(switches[i].name);
    if (!value || !is_on(switches[i].meaning, value))
      continue;
    snprintf(out, size, "%s=%.80s is set: %s", switches[i].name, value, switches[i].consequence);
    return true;
  }
  return false;
}
