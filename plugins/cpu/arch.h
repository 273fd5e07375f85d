/*
 * arch.h - architecture levels: their names, whether this processor has them, and the compiler's
 * flag for them.
 */
#ifndef VYRE_CPU_ARCH_H
#define VYRE_CPU_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VYRE__CPU_MAX_LEVELS 3

typedef struct vyre__cpu_level {
  const char *name; /* "x86-64-v3" */
  const char *flag; /* "-march=x86-64-v3" */
} vyre__cpu_level;

/* Every level of this kind of processor, best first; the last one is the baseline. */
const vyre__cpu_level *vyre__cpu_levels(uint32_t *out_count);

/* The level of that name ("" is the baseline), or NULL. */
const vyre__cpu_level *vyre__cpu_level_find(const char *name);

/* True if code for the level runs on this processor. */
bool vyre__cpu_level_runs(const vyre__cpu_level *level);

/* The best level that runs here. */
const vyre__cpu_level *vyre__cpu_level_best(void);

/* The processor's own name, from the system. */
void vyre__cpu_model_name(char *out_name, size_t size);

#endif
