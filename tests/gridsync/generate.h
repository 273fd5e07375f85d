/*
 * generate.h - segments of random expressions: each as a body of `vyre-c` text and as a tree that a
 * host function evaluates.
 */
#ifndef VYRE_TESTS_GRIDSYNC_GENERATE_H
#define VYRE_TESTS_GRIDSYNC_GENERATE_H

#include "tests/gridsync/draw.h"

#define GENERATED_NODES 120u
#define GENERATED_LOCALS 3u
#define GENERATED_STORES 2u

typedef struct generated_node {
  uint32_t kind;
  uint32_t of[3];  /* operands */
  uint32_t number; /* a parameter, a push constant, a local */
  uint64_t value;
} generated_node;

/* A value computed once for each element: `first`, then `times` times `next`, which may read it. */
typedef struct generated_local {
  uint32_t first, next, times;
} generated_local;

typedef struct generated_store {
  uint32_t param, condition, value;
} generated_store;

typedef struct generated {
  word as_word;
  char *body;
  bool strided; /* items take elements in turns; else each its own */
  uint32_t node_count, local_count, store_count;
  generated_node nodes[GENERATED_NODES];
  generated_local locals[GENERATED_LOCALS];
  generated_store stores[GENERATED_STORES];
} generated;

/* The segments of one program.  word_source.self for generated_next(). */
typedef struct generated_set {
  generated segments[DRAWN_SEGMENTS];
} generated_set;

const word *generated_next(void *self, uint32_t segment, uint64_t *state, const void **out_self);
void generated_free(generated_set *set);

#endif
