/* switches.c - the table of serialising switches; see switches.h. */
#include "core/device/switches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When a variable that is set counts as on. */
typedef enum meaning {
  ON_UNLESS_ZERO, /* not empty and not a number that is 0 */
  ON_IF_ONE,      /* the number 1 */
  ON_IF_SET,      /* whatever its value */
  ON_IF_SANITIZER /* a path of a sanitizer's library */
} meaning;

typedef struct serialising_switch {
  const char *backend; /* the plugin's name */
  const char *name;
  meaning meaning;
  const char *consequence;
} serialising_switch;

static const char waits[] = "each launch waits for its end";
static const char copies_wait[] = "each copy waits for the launches before it";
static const char one_queue[] = "all launches share one queue";
static const char checker[] = "a memory checker runs one launch at a time";
static const char profiler[] = "a profiler runs one launch at a time";

/* What compute-sanitizer and cuda-memcheck export to the process that they start. */
static const serialising_switch switches[] = {
    {"cuda", "CUDA_LAUNCH_BLOCKING", ON_UNLESS_ZERO, waits},
    {"cuda", "CUDA_DEVICE_MAX_CONNECTIONS", ON_IF_ONE, one_queue},
    {"cuda", "NV_SANITIZER_INJECTION_PORT_BASE", ON_IF_SET, checker},
    {"cuda", "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", ON_IF_SET, checker},
    {"cuda", "CUDA_INJECTION64_PATH", ON_IF_SANITIZER, checker},
    {"cuda", "CUDA_MEMCHECK", ON_UNLESS_ZERO, checker},
    {"cuda", "NV_COMPUTE_PROFILER_PERFWORKS_DIR", ON_IF_SET, profiler},
    {"hip", "HIP_LAUNCH_BLOCKING", ON_UNLESS_ZERO, waits},
    {"hip", "AMD_SERIALIZE_KERNEL", ON_UNLESS_ZERO, waits},
    {"hip", "AMD_SERIALIZE_COPY", ON_UNLESS_ZERO, copies_wait},
    {"hip", "GPU_MAX_HW_QUEUES", ON_IF_ONE, one_queue},
};

/* "0", "00", "0x0": a number that is 0, and nothing behind it. */
static bool is_number(const char *value, unsigned long number)
{
  char *end = NULL;
  const unsigned long given = strtoul(value, &end, 0);
  return end != value && !*end && given == number;
}

static bool is_on(const serialising_switch *one, const char *value)
{
  switch (one->meaning) {
  case ON_UNLESS_ZERO:
    return value[0] && !is_number(value, 0);
  case ON_IF_ONE:
    return is_number(value, 1);
  case ON_IF_SANITIZER:
    return strstr(value, "sanitizer") != NULL;
  default:
    return value[0] != '\0';
  }
}

const char *vyre__serialising_switch(const char *backend, char *text, size_t size)
{
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; ++i) {
    const serialising_switch *one = &switches[i];
    const char *value = strcmp(one->backend, backend) ? NULL : getenv(one->name);
    if (!value || !is_on(one, value))
      continue;
    snprintf(text, size, "%s=%.100s is set: %s", one->name, value, one->consequence);
    return one->name;
  }
  return NULL;
}
