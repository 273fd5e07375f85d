/*
 * rig.h - described programs (interpreter.h) on the cpu plugin: created, dispatched on a route, and
 * compared with what the description means.
 */
#ifndef VYRE_TESTS_GRIDSYNC_RIG_H
#define VYRE_TESTS_GRIDSYNC_RIG_H

#include "core/device/device.h"
#include "tests/gridsync/interpreter.h"

#include <stddef.h>

#define RIG_TEXT 512u /* room for one difference */
#define RIG_ROUTES 4u /* auto, native, resident, host: their values are 0 … 3 */

typedef struct rig {
  uint32_t threads;
  vyre_context *context;
  vyre_device *device;
  vyre_outputs outputs; /* one for all dispatches: its slots shrink and grow */
} rig;

/* A cpu device of so many threads; false: `out_text` says why there is none. */
bool rig_open(rig *r, uint32_t threads, char out_text[RIG_TEXT]);
void rig_close(rig *r);

/*
 * Dispatches on the resident route make single launches, or record and replay from the first pass
 * on, whatever is worth it; compared are the form and the number of launches, too.  Not while a
 * dispatch starts.
 */
void rig_record(const rig *r, vyre__recording recording);

/* As vyre_program_create(). */
vyre_status rig_create(const rig *r, const plain_program *program, vyre_program **out_program,
                       vyre_error *err);

/* As vyre_program_source(). */
vyre_status rig_source(const plain_program *program, char **out_text, uint64_t *out_size,
                       vyre_error *err);

/*
 * Dispatches host bytes, and compares output bytes, passes, convergence, the route, and that no
 * input was written.  False: `out_text` tells the first difference.
 */
bool rig_dispatch(rig *r, vyre_program *program, const plain_program *described, vyre_route route,
                  const plain_result *want, char out_text[RIG_TEXT]);

/* The same on device buffers, which begin as the caller's bytes: `want` is an in_place result. */
bool rig_dispatch_buffers(const rig *r, vyre_program *program, const plain_program *described,
                          vyre_route route, const plain_result *want, char out_text[RIG_TEXT]);

/* The caller's bytes by input position. */
uint32_t rig_inputs(const plain_program *described, vyre_bytes out_inputs[VYRE_MAX_BUFFERS]);
/* The options of its dispatch. */
vyre_dispatch_options rig_options(const plain_program *described, vyre_route route);

#endif
