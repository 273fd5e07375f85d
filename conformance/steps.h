/*
 * steps.h - pieces that several cases are made of: launches by hand, a tour of a device, what the
 * process holds.
 */
#ifndef VYRE_CONFORMANCE_STEPS_H
#define VYRE_CONFORMANCE_STEPS_H

#include "conformance/run.h"

/* A case that takes its needs from nothing but the profile. */
#define CORE_CASE(name, rules, needs, run)                                                         \
  {                                                                                                \
    name, rules, CONFORM_CORE, 0, needs, 0, run                                                    \
  }

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

/* ---- launches by hand ---- */

/* Starts it on `device`; nothing is copied or guarded. */
vyre_backend_pending *conform_start(conform *c, vyre_backend_device *device,
                                    const conform_launch *launch);
/* Waits, reads into the one slot that there is (`data` NULL: no slot), releases. */
void conform_finish(conform *c, vyre_backend_pending *pending, void *data, uint64_t size);

/* A module of that text, behind the prelude, on `device`; the caller unloads it. */
vyre_backend_module *conform_load_text(conform *c, vyre_backend_device *device, const char *name,
                                       const char *text, uint64_t flags);
vyre_backend_kernel *conform_find(conform *c, vyre_backend_module *module, const char *entry);

/* The kernel "add" of basic.c over n elements, checked. */
void conform_run_add(conform *c, vyre_backend_kernel *add, uint32_t n, uint32_t items);

/* Everything that a first program does on the device that is open: adds, groups, pushes, barriers.
 */
void conform_tour(conform *c);

/* Most items of one group in dimension 0, for this kernel of the suite. */
uint32_t conform_most_items(conform *c, const char *module, const char *entry);

/* ---- what the process holds ---- */

uint32_t conform_threads(void);
uint32_t conform_descriptors(void);
uint32_t conform_mappings(void);
/* Threads that were joined take a moment to go: waits until there are at most so many. */
uint32_t conform_threads_settle(uint32_t most);

/* Runs `step` again and again: blocks, threads, descriptors, mappings must not grow with it. */
void conform_check_growth(conform *c, void (*step)(conform *), uint32_t times, const char *what);

/* The monotonic clock. */
uint64_t conform_now_ns(void);

/* ---- texts ---- */

/* `message` holds `number` as a number of its own. */
bool conform_says_number(const char *message, uint64_t number);

#endif
