/*
 * engine_help.h - a device, a set of handlers, and what the engine's tests do again and again.
 */
#ifndef VYRE_TESTS_ENGINE_HELP_H
#define VYRE_TESTS_ENGINE_HELP_H

#include "vyre.h"

#include "tests/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define PATIENCE (20 * SECOND) /* for what ends at once if all is well */

/* Rule sets of the handler set below. */
enum {
  RULE_SUM,     /* result: sum of the bytes, plus the constants' first byte (1) */
  RULE_FIND,    /* a record (offset, ticket's low word) for each byte equal to the constant 'x' */
  RULE_GATE,    /* waits until the u32 at the item's start is not 0; returns it */
  RULE_BIG,     /* sum, with 70 000 bytes of constants: adds the last one (9) */
  RULE_NOTHING, /* no constants, returns the correlation */
  RULE_COUNT
};

typedef struct test_rig {
  vyre_context *context;
  vyre_device *device;
} test_rig;

/* Workers have VYRE_TEST_ENGINE_WIDTH work items, or as many as suit the device.
   Opens `selector` ("cpu", or the name of `plugin`); ends the test program as skipped (77) if the
   device cannot compile. */
void rig_open(test_rig *rig, const char *plugin, const char *selector);
void rig_close(test_rig *rig);

/* Starts an engine with the handlers above; fails the test if that does not work. */
vyre_engine *rig_start(const test_rig *rig, const vyre_engine_options *options);

/* The same as a plain call. */
vyre_status rig_try_start(const test_rig *rig, const vyre_engine_options *options,
                          vyre_engine **out_engine, vyre_error *err);

/* Submits all, reaping nothing: they have to fit. */
void submit_all(vyre_engine *engine, const vyre_work_item *items, uint32_t n,
                uint64_t *out_tickets);

/* Reaps exactly n, in the order in which they come. */
void reap_all(vyre_engine *engine, vyre_completion *out, uint32_t n);

/* What RULE_SUM gives. */
uint32_t sum_of(const uint8_t *data, uint32_t size);

/* Pseudo-random, the same on every run. */
uint64_t next_random(uint64_t *state);

/* Opens or closes the gate of RULE_GATE at an input offset. */
void set_gate(vyre_engine *engine, uint32_t offset, uint32_t value);

/*
 * rig_start() and vyre_engine_destroy() for an engine with gates, in a test that gate_test() lists:
 * one that fails leaves no launch behind that holds up the tests after it.
 */
vyre_engine *gates_start(const test_rig *rig, const vyre_engine_options *options);
void gates_end(vyre_engine *engine);
int gates_open_all(void **state);
#define gate_test(f) cmocka_unit_test_teardown(f, gates_open_all)

/*
 * A wide worker runs what it claims at once as one: an item that waits at a gate keeps the others
 * of its claim.  True if the engine's workers are wide.
 */
bool engine_is_wide(const vyre_engine *engine);

/* Ends the engine and skips the test, which is about one narrow worker, if its workers are wide. */
void skip_if_wide(vyre_engine *engine, const char *why);

/*
 * submit_all() for items with one that waits at a gate: wide workers claim each of them alone.
 * Returns when the last one is claimed; so one worker has to be free for each gate.
 */
void submit_apart(vyre_engine *engine, const vyre_work_item *items, uint32_t n,
                  uint64_t *out_tickets);

/* True if a call that allocates on the device has to wait until no launch stays there. */
bool rig_parks(const test_rig *rig);

vyre_engine_stats stats_of(const vyre_engine *engine);

#define assert_ok(call) assert_int_equal((call), VYRE_OK)

#endif
