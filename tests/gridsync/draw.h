/*
 * draw.h - random programs of the vocabulary.  A *shape* is what the kernels' text depends on:
 * buffers, accesses, segments, their bindings, the kind of convergence.  A *variation* is all the
 * rest, so that thousands of programs need a few compiled texts.  The same seeds draw the same.
 */
#ifndef VYRE_TESTS_GRIDSYNC_DRAW_H
#define VYRE_TESTS_GRIDSYNC_DRAW_H

#include "tests/gridsync/vocabulary.h"

#define DRAWN_BUFFERS 9u
#define DRAWN_SEGMENTS 8u

typedef struct drawn {
  uint64_t shape_seed, seed;
  plain_program program; /* points into the rest of this structure: never copied plainly */
  const word *words[DRAWN_SEGMENTS];
  uint32_t push[WORD_PUSH_COUNT];
  char names[DRAWN_BUFFERS][16];
  char kernels[DRAWN_SEGMENTS][24];
  char *source;
  uint8_t *bytes[DRAWN_BUFFERS]; /* of every buffer, whether the caller gives them or not */
} drawn;

/* Pseudo-random numbers (splitmix64). */
uint64_t draw_number(uint64_t *state);
uint64_t draw_below(uint64_t *state, uint64_t limit); /* 0 if limit is 0 */

/*
 * Where the segments of a shape come from: the word that segment number `segment` may be, and the
 * `self` of its host function.  It is asked again if the word's parameters fit no buffers.
 */
typedef struct word_source {
  const word *(*next)(void *self, uint32_t segment, uint64_t *state, const void **out_self);
  void *self;
  bool scratch; /* give the program a WORKGROUP buffer */
} word_source;

/* From the vocabulary, or from `source`. */
void draw_shape(drawn *d, uint64_t shape_seed);
void draw_shape_of(drawn *d, uint64_t shape_seed, const word_source *source);
/* Everything that is fixed when the program is created, and its first dispatch. */
void draw_variation(drawn *d, uint64_t seed);
/* Another dispatch of the same program: sizes from input, bytes, push constants, passes. */
void draw_dispatch(drawn *d, uint64_t seed);
void drawn_free(drawn *d);

/* After a change of shape: no output is left unwritten, the source is written anew. */
void drawn_repair(drawn *d);
/* After a change of counts: the bytes of each buffer anew, as long as it is. */
void drawn_refill(drawn *d, uint64_t seed);
/* A copy that can be changed by itself. */
void drawn_copy(const drawn *from, drawn *out);

bool drawn_reads_workgroup(const drawn *d);
bool drawn_has_barriers(const drawn *d);
/* Everything that makes it up, for a reader who wants to see it fail again. */
void drawn_print(const drawn *d, FILE *to);

#endif
