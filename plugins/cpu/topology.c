/*
 * topology.c - affinity and control-group limits; see topology.h.
 */
#include "topology.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the first line of "DIR/NAME"; false if it cannot. */
static bool read_line(const char *dir, const char *name, char *out_line, int size)
{
  char path[PATH_MAX];
  if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
    return false;
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  bool got = fgets(out_line, size, file) != NULL;
  fclose(file);
  return got;
}

/* Cores' worth of one group's own quota, rounded up; 0 without one. */
static uint32_t quota_of(const char *dir, bool version_2)
{
  char line[128], *rest = NULL;
  long long quota = 0, period = 0;
  if (!read_line(dir, version_2 ? "cpu.max" : "cpu.cfs_quota_us", line, sizeof(line)))
    return 0;
  quota = strtoll(line, &rest, 10); /* "max 100000" gives 0: no limit */
  if (!version_2 && !read_line(dir, "cpu.cfs_period_us", line, sizeof(line)))
    return 0;
  period = strtoll(version_2 ? rest : line, NULL, 10);
  if (quota <= 0 || period <= 0)
    return 0;
  long long cores = quota / period + (quota % period != 0);
  return cores > (long long)VYRE__CPU_MAX_THREADS ? VYRE__CPU_MAX_THREADS : (uint32_t)cores;
}

/* The least quota from the group at `path` up to the root of the hierarchy; 0 without one. */
static uint32_t least_quota(const char *mount, const char *path, bool version_2)
{
  char dir[PATH_MAX];
  size_t base = strlen(mount);
  uint32_t least = 0;
  if (snprintf(dir, sizeof(dir), "%s%s", mount, strcmp(path, "/") == 0 ? "" : path) >=
      (int)sizeof(dir))
    return 0;
  for (;;) {
    uint32_t cores = quota_of(dir, version_2);
    if (cores && (!least || cores < least))
      least = cores;
    char *slash = strrchr(dir, '/');
    if (!slash || (size_t)(slash - dir) < base)
      return least;
    *slash = '\0';
  }
}

/* True if the comma-separated list of controllers holds "cpu". */
static bool has_cpu(char *controllers)
{
  char *rest = NULL;
  for (char *word = strtok_r(controllers, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
    if (strcmp(word, "cpu") == 0)
      return true;
  return false;
}

uint32_t vyre__cpu_cgroup_limit(const char *list, const char *root)
{
  char line[PATH_MAX], mount[PATH_MAX];
  uint32_t least = 0;
  FILE *file = fopen(list, "re");
  while (file && fgets(line, sizeof(line), file)) {
    /* "HIERARCHY:CONTROLLERS:PATH"; version 2 has no controllers in it. */
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path || path[1] != '/')
      continue;
    *path++ = '\0';
    ++controllers;
    bool version_2 = *controllers == '\0';
    int length = snprintf(mount, sizeof(mount), version_2 ? "%s" : "%s/%s", root, controllers);
    if (length >= (int)sizeof(mount) || (!version_2 && !has_cpu(controllers)))
      continue;
    uint32_t cores = least_quota(mount, path, version_2);
    if (!version_2 && !cores) { /* also mounted under the controller's own name */
      snprintf(mount, sizeof(mount), "%s/cpu", root);
      cores = least_quota(mount, path, false);
    }
    if (cores && (!least || cores < least))
      least = cores;
  }
  if (file)
    fclose(file);
  return least;
}

/* Cores in this process's affinity mask; masks larger than cpu_set_t count as all that is online.
 */
static uint32_t affinity_count(void)
{
  cpu_set_t set;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    online = CPU_COUNT(&set);
  return online < 1 ? 1u : (uint32_t)online;
}

uint32_t vyre__cpu_core_count(void)
{
  uint32_t count = affinity_count();
  uint32_t quota = vyre__cpu_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota && quota < count ? quota : count;
}

vyre_status vyre__cpu_thread_count(uint32_t *out_count, vyre_error *err)
{
  uint32_t count = vyre__cpu_core_count();
  *out_count = count < VYRE__CPU_MAX_THREADS ? count : VYRE__CPU_MAX_THREADS;

  const char *wanted = vyre__plugin_environment("VYRE_CPU_THREADS");
  if (!wanted)
    return VYRE_OK;
  char *end = NULL;
  unsigned long number = strtoul(wanted, &end, 10);
  if (*wanted < '0' || *wanted > '9' || *end || number < 1 || number > VYRE__CPU_MAX_THREADS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "set VYRE_CPU_THREADS to a number from 1 to 1024, or unset it",
                       "VYRE_CPU_THREADS is \"%s\"", wanted);
  *out_count = (uint32_t)number;
  return VYRE_OK;
}
