/*
 * everywhere.h - one dispatch of a drawn program on every route of some devices, against the
 * interpreter.  A difference is made smaller, printed so that it can be seen again, and fails the
 * test.
 */
#ifndef VYRE_TESTS_GRIDSYNC_EVERYWHERE_H
#define VYRE_TESTS_GRIDSYNC_EVERYWHERE_H

#include "tests/gridsync/draw.h"
#include "tests/gridsync/rig.h"

#define EVERYWHERE_RIGS 4u

/* Devices of 1, 2, 3 and 8 threads; false after a message. */
bool everywhere_open(rig rigs[EVERYWHERE_RIGS]);
void everywhere_close(rig rigs[EVERYWHERE_RIGS]);

/* Creates it on each of the `n` rigs; fails the test if one refuses. */
void everywhere_create(const rig *rigs, uint32_t n, const drawn *d, vyre_program **out_programs);

/*
 * Host bytes on the routes auto, native, resident (recorded, and launch by launch) and host; with
 * `buffers` also device buffers on native and resident.  `again` tells how to come to this program.
 */
void everywhere_dispatch(rig *rigs, uint32_t n, vyre_program *const *programs, const drawn *d,
                         bool buffers, const char *again);

/* A number from the environment. */
uint64_t everywhere_number(const char *name, uint64_t otherwise);

#endif
