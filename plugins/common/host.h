/*
 * host.h - the host's services: its memory and its log.  All small memory of the plugin comes from
 * there, so that a host can count it and can make the N-th allocation fail.
 */
#ifndef VYRE_PLUGIN_HOST_H
#define VYRE_PLUGIN_HOST_H

#include "vyre_backend.h"

/* `size` bytes (0 gives a valid pointer) aligned to `align`, zeroed or not; NULL on failure. */
void *vyre__plugin_allocate(const vyre_host *host, uint64_t size, uint64_t align);
void *vyre__plugin_allocate_zeroed(const vyre_host *host, uint64_t size, uint64_t align);
void vyre__plugin_deallocate(const vyre_host *host, void *memory);

/* One line to the host's log; printf rules. */
__attribute__((format(printf, 3, 4))) void
vyre__plugin_log(const vyre_host *host, vyre_log_level level, const char *format, ...);

/* getenv(), but NULL for a process with elevated privileges and for an empty value. */
const char *vyre__plugin_environment(const char *name);

/* Nanoseconds of the monotonic clock. */
uint64_t vyre__plugin_clock_ns(void);

#endif
