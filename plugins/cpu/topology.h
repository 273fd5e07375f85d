/*
 * topology.h - how many threads the device uses.
 */
#ifndef VYRE_CPU_TOPOLOGY_H
#define VYRE_CPU_TOPOLOGY_H

#include "vyre_status.h"

#define VYRE__CPU_MAX_THREADS 1024u

/* Cores that this process may use: by affinity, and by its control groups' quota. */
uint32_t vyre__cpu_core_count(void);

/*
 * Threads of a device: VYRE_CPU_THREADS if it is set, else as many as there are such cores.  At
 * least 1.
 * INVALID_ARGUMENT if VYRE_CPU_THREADS is no number from 1 to 1024; the count is then as without
 * it.
 */
vyre_status vyre__cpu_thread_count(uint32_t *out_count, vyre_error *err);

/*
 * Whole cores' worth of quota, rounded up, that the control groups in `list` (a file like
 * /proc/self/cgroup) leave under `root` (like /sys/fs/cgroup), for versions 1 and 2; 0 if they set
 * no limit.
 */
uint32_t vyre__cpu_cgroup_limit(const char *list, const char *root);

#endif
