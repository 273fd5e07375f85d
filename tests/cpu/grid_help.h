/*
 * grid_help.h - launching fused programs that were written by hand: three buffers of a device (data
 * `a` and `b`, the control words) and the words that a core would write into the last one.
 */
#ifndef VYRE_TESTS_CPU_GRID_HELP_H
#define VYRE_TESTS_CPU_GRID_HELP_H

#include "support.h"

/* Buffer ids of every text here; the shadow has room for a and b. */
#define GRID_NAMES                                                                                 \
  "#define VYRE_BUFFER_a 0\n"                                                                      \
  "#define VYRE_BUFFER_b 1\n"                                                                      \
  "#define VYRE_BUFFER_s 2\n"                                                                      \
  "#define VYRE_BUFFER_vyre_shadow 3\n"                                                            \
  "#define VYRE_BUFFER_vyre_control 4\n"
#define GRID_PARAMS                                                                                \
  "(VYRE_PARAM_INOUT(0, a), VYRE_PARAM_INOUT(1, b), VYRE_PARAM_LOCAL(2, s),"                       \
  " VYRE_PARAM_INOUT(3, vyre_shadow), VYRE_PARAM_INOUT(4, vyre_control))"

enum { GRID_STEPS = 8, GRID_WORDS = 128 + 3 * GRID_STEPS, GRID_LOCAL = 4096 };

typedef struct grid {
  const cpu_plugin *plugin;
  vyre_backend_device *device;
  vyre_backend_buffer *a, *b, *shadow, *control;
  uint64_t count; /* elements of a and of b */
  vyre_binding bindings[5];
} grid;

/* Opens a device of so many threads. */
void grid_open(grid *g, const cpu_plugin *plugin, uint32_t threads, uint64_t count);
void grid_close(grid *g);
void grid_put(grid *g, vyre_backend_buffer *buffer, const uint32_t *data);
void grid_get(grid *g, vyre_backend_buffer *buffer, uint32_t *out_data);

/* Zeroes the control words, then sets limit and tested, and `steps` logical group counts. */
void grid_control(grid *g, uint32_t limit, uint32_t tested, const uint32_t *groups, uint32_t steps);
/* One of the control words. */
uint32_t grid_word(grid *g, uint32_t index);

/* A cooperative launch of an entry with GRID_PARAMS. */
vyre_dispatch_desc grid_launch(grid *g, vyre_backend_kernel *kernel, uint32_t groups,
                               uint32_t workgroup);

#endif
