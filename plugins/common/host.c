/*
 * host.c - the host's services, the environment and the clock; see host.h.
 */
#include "plugins/common/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *vyre__plugin_allocate(const vyre_host *host, uint64_t size, uint64_t align)
{
  return host->allocate(host->self, size ? size : 1, align);
}

void *vyre__plugin_allocate_zeroed(const vyre_host *host, uint64_t size, uint64_t align)
{
  void *memory = vyre__plugin_allocate(host, size, align);
  if (memory)
    memset(memory, 0, size);
  return memory;
}

void vyre__plugin_deallocate(const vyre_host *host, void *memory)
{
  if (memory)
    host->deallocate(host->self, memory);
}

void vyre__plugin_log(const vyre_host *host, vyre_log_level level, const char *format, ...)
{
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (host->log)
    host->log(host->self, level, line);
}

const char *vyre__plugin_environment(const char *name)
{
  const char *value = secure_getenv(name);
  return value && *value ? value : NULL;
}

uint64_t vyre__plugin_clock_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
