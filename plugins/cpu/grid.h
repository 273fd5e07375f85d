/*
 * grid.h - launches whose groups wait for each other; see grid.c.
 */
#ifndef VYRE_CPU_GRID_H
#define VYRE_CPU_GRID_H

#include "module.h"
#include "runner.h"

/* Threads that may run groups of one launch of the entry at the same time. */
uint32_t vyre__cpu_runners_most(const vyre_backend_device *device, const vyre_native_entry *entry,
                                uint32_t items);

/* How long a group of such a launch spins at the barrier: looks at its words. */
uint32_t vyre__cpu_grid_spins(const vyre_backend_device *device, uint64_t groups);

/*
 * True if a fused launch of one group is so short that it may run in the thread that dispatches it:
 * that saves a thread's wake-up, which is many times as long as a small program.  `words` are its
 * last binding, the control words.  Only a guess: nothing else depends on it.
 */
bool vyre__cpu_grid_is_short(const void *words, uint64_t size, uint32_t items);

#endif
