/*
 * vocabulary.h - segments that random programs are put together from: each as a body of `vyre-c`
 * text and as a host function of the same meaning, steered by four push constants.
 *
 * All of them are deterministic: an element is written by one item, or by integer atomics that
 * commute.  They cope with every size, 0 included, and with every grid.
 */
#ifndef VYRE_TESTS_GRIDSYNC_VOCABULARY_H
#define VYRE_TESTS_GRIDSYNC_VOCABULARY_H

#include "tests/gridsync/interpreter.h"

#include <stdio.h>

#define WORD_PARAMS 4u
#define WORD_PUSH 4u                     /* push constants of a word */
#define WORD_PUSH_COUNT (WORD_PUSH * 8u) /* of a program: u32 each */
#define WORD_SCRATCH 1024u               /* u32 elements that a WORKGROUP buffer has */
#define WORD_READS_WORKGROUP (1u << 0)   /* its result depends on the workgroup's size */
#define WORD_BARRIER (1u << 1)           /* waits at barriers of the workgroup */

typedef struct word_param {
  vyre_access access; /* WRITE_ONLY: may be bound as READ_WRITE too */
  uint32_t sizes;     /* element sizes that it takes, added up: 1, 2, 4, 8 */
  uint32_t flags;     /* VYRE_BINDING_WRITES_ALL: it does */
} word_param;

typedef struct word {
  const char *name;
  uint32_t flags; /* WORD_… */
  uint32_t phases;
  plain_run_fn run;
  uint32_t param_count;
  word_param params[WORD_PARAMS];
  /* $0 $1 $2 parameters, @0 @1 @2 their types, #0 their element sizes, $a … $d push constants;
     `i` is the item's number in the grid, `n` the number of items. */
  const char *body;
} word;

extern const word word_table[];
extern const uint32_t word_count;

/* What stands in front of all kernels of a source. */
void word_write_head(FILE *to);
/* The kernel: `segment` is bound to `program`'s buffers and has its name; tag: first constant. */
void word_write(FILE *to, const word *w, const plain_program *program,
                const plain_segment *segment);

#endif
