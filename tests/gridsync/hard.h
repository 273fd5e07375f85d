/*
 * hard.h - programs written by hand, for tests: a description row by row, what it must give, and a
 * check of it on all routes.
 *
 *     hard h;
 *     hard_init(&h, source);
 *     hard_buffer(&h, "a", VYRE_READ_WRITE, 4, 3, bytes);
 *     hard_segment(&h, "step");
 *     hard_bind(&h, "a", VYRE_READ_WRITE);
 *     hard_want(&h, want, sizeof want);               the next output position
 *     hard_check(&h, 2, VYRE_CONVERGED_YES);
 */
#ifndef VYRE_TESTS_GRIDSYNC_HARD_H
#define VYRE_TESTS_GRIDSYNC_HARD_H

#include "tests/gridsync/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HARD_RIGS 2u

typedef struct hard {
  plain_program program;
  plain_result want; /* its bytes are the test's own */
} hard;

extern rig hard_rigs[HARD_RIGS];
extern vyre__recording hard_recording; /* what hard_open() forces on them */

/* For cmocka_run_group_tests(): devices of one thread and of three. */
int hard_open(void **state);
int hard_close(void **state);

void hard_init(hard *h, const char *source);
plain_buffer *hard_buffer(hard *h, const char *name, vyre_access access, uint32_t element_size,
                          uint64_t count, const void *given);
/* An output that segments may read too. */
plain_buffer *hard_output(hard *h, const char *name, uint32_t element_size, uint64_t count);
plain_segment *hard_segment(hard *h, const char *kernel);
/* One more binding of the last segment. */
plain_binding *hard_bind(hard *h, const char *buffer, vyre_access access);
void hard_want(hard *h, const void *bytes, uint64_t size);

/*
 * Creates it on each rig and dispatches it twice on each route, on the resident one also recorded
 * and launch by launch: bytes, passes and convergence are as wanted.  Without ranges also on device
 * buffers.
 */
void hard_check(hard *h, uint32_t passes, vyre_converged converged);

/* It is refused: the message holds `text`. */
void hard_refused(const hard *h, const char *text);

vyre_program *hard_create(const rig *on, const hard *h);

#endif
