/*
 * front.h - a table in front of the cpu plugin's own, on the second rig of hard.h: the calls that
 * record, start and free are counted, and can be made to fail.
 */
#ifndef VYRE_TESTS_GRIDSYNC_FRONT_H
#define VYRE_TESTS_GRIDSYNC_FRONT_H

#include "tests/gridsync/hard.h"

typedef struct front {
  vyre_backend table;
  const vyre_backend *behind;
  uint32_t creates, starts, releases, dispatches; /* calls */
  uint64_t replays;
  uint32_t live;  /* sequences that there are; atomic; not reset */
  uint32_t steps; /* of the last sequence */
  vyre_status refusal;
  bool gives_nothing;
  uint32_t fails_at;    /* the start that fails, from 1; 0: none */
  vyre_status failure;  /* with this; 0: DISPATCH_FAILED */
  uint32_t early_frees; /* buffers that were freed before a sequence that binds them; not reset */
} front;

extern front front_on;

/* For cmocka_run_group_tests(). */
int front_open(void **state);
int front_close(void **state);

void front_reset(void);

#endif
