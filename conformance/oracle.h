/*
 * oracle.h - what the steps of kernels/steps.c come to, in plain C.
 */
#ifndef VYRE_CONFORMANCE_ORACLE_H
#define VYRE_CONFORMANCE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct oracle {
  uint32_t n, limit;
  uint32_t *a, *b, *count; /* n words each */
} oracle;

/* The three steps, n words each; true: the last one has changed something. */
void oracle_far(oracle *o);
void oracle_back(oracle *o);
bool oracle_up(oracle *o);

/* Passes of all three, as many as a run makes (PASS-003); returns how many. */
uint32_t oracle_run(oracle *o, uint32_t max_passes, bool tested);

#endif
