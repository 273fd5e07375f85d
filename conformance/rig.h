/*
 * rig.h - the core's engine on the plugin under test, with handlers whose results are known, and
 * counts of what came back.
 */
#ifndef VYRE_CONFORMANCE_RIG_H
#define VYRE_CONFORMANCE_RIG_H

#include "conformance/through.h"

#define RIG_SECOND 1000000000ull
#define RIG_PATIENCE (20 * RIG_SECOND)

/* Sum of the bytes; waits until the u32 at the item's start is not 0; a record for each byte that
   is the constant. */
enum { RULE_SUM, RULE_GATE, RULE_FIND, RULES };

#define RIG_INPUT 65536u
#define RIG_CONSTANT 0x5au

typedef struct rig {
  through t;
  vyre_engine *engine;
  unsigned char *input;
} rig;

/* A persistent engine with that ring, and an input region. */
vyre_engine_options rig_options(uint32_t capacity);

/* begin: the plugin, its device, an engine, random input.  start: one more engine. */
void rig_begin(conform *c, rig *r, const vyre_engine_options *options);
void rig_start(conform *c, rig *r, const vyre_engine_options *options);
void rig_end(conform *c, rig *r);

/* Item n of a test: its bytes are given by its number, which is its correlation. */
vyre_work_item rig_item(uint32_t n);

/* What came back, by number. */
typedef struct counts {
  unsigned char *times;
  uint64_t *tickets;
  uint32_t n, seen;
} counts;

void rig_count(conform *c, counts *all, uint32_t n);
/* Takes what there is, and checks it; fails after `timeout`, but not with a timeout of 0. */
void rig_reap(conform *c, const rig *r, counts *all, uint64_t timeout);
/* All came, each once. */
void rig_count_end(conform *c, counts *all);

/* Sends n items, one by one or in batches, and takes what comes. */
void rig_send(conform *c, rig *r, uint32_t n, uint32_t batch);

#endif
