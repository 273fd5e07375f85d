/*
 * interpreter.h - programs as docs/programs.md describes them, run in the plainest way: one item
 * after the other, one segment after the other, one pass after the other, in ordinary memory.
 *
 * It shares no code with the core.  A description holds what vyre_program_desc and a dispatch hold
 * together, and for each segment a host function that does for one item what the kernel's text
 * says.
 */
#ifndef VYRE_TESTS_GRIDSYNC_INTERPRETER_H
#define VYRE_TESTS_GRIDSYNC_INTERPRETER_H

#include "vyre.h"

#define PLAIN_SEGMENTS 64u

/* One item as a host function sees it. */
typedef struct plain_item {
  uint32_t group[3], local[3], groups[3], size[3];
  uint32_t phase;   /* how many barriers of the segment lie behind it */
  uint32_t tag;     /* the segment's own */
  const void *self; /* likewise */
  const void *push;
  uint8_t *const *data;          /* by parameter */
  const uint64_t *counts;        /* elements, by parameter */
  const uint32_t *element_sizes; /* by parameter */
  bool *changed;                 /* vyre_changed() */
} plain_item;

typedef void (*plain_run_fn)(const plain_item *item);

typedef struct plain_buffer {
  const char *name;
  vyre_access access;
  uint32_t flags; /* VYRE_BUFFER_… */
  uint32_t element_size;
  bool open;      /* declared with VYRE_COUNT_FROM_INPUT */
  uint64_t count; /* elements, in this dispatch */
  uint64_t range_offset, range_size;
  const void *given; /* the caller's bytes; NULL: none.  Outputs have them in place only */
} plain_buffer;

typedef struct plain_binding {
  uint32_t buffer;
  vyre_access access;
  uint32_t flags; /* VYRE_BINDING_… */
} plain_binding;

typedef struct plain_segment {
  const char *kernel;
  plain_run_fn run;
  uint32_t phases; /* parts between barriers; 0: 1 */
  uint32_t tag;
  const void *self;
  uint32_t binding_count;
  plain_binding bindings[VYRE_MAX_BUFFERS];
  uint64_t elements[3];
  uint32_t groups[3];
} plain_segment;

typedef struct plain_program {
  const char *source; /* `vyre-c` */
  uint32_t buffer_count, segment_count;
  plain_buffer buffers[VYRE_MAX_BUFFERS];
  plain_segment segments[PLAIN_SEGMENTS];
  uint32_t workgroup[3];
  uint64_t elements[3]; /* at creation */
  uint32_t groups[3];
  uint32_t created_iterations; /* 0: `iterations` */
  uint32_t iterations;         /* of the dispatch */
  uint64_t asked_elements[3];  /* of the dispatch */
  vyre_converge converge;
  uint32_t flags; /* VYRE_PROGRAM_… */
  const void *push;
  uint32_t push_size;
} plain_program;

typedef struct plain_bytes {
  uint8_t *data;
  uint64_t size;
} plain_bytes;

typedef struct plain_result {
  uint32_t passes;
  vyre_converged converged;
  uint32_t output_count;
  plain_bytes outputs[VYRE_MAX_BUFFERS]; /* by output position; point into `state` */
  plain_bytes state[VYRE_MAX_BUFFERS];   /* by buffer; WORKGROUP ones are empty */
} plain_result;

/*
 * Runs a correct description.  `in_place`: state 0 is the caller's bytes in every buffer, as
 * vyre_dispatch_buffers() has it; else outputs begin as zeros.
 */
void plain_run(const plain_program *program, bool in_place, plain_result *out_result);
void plain_free(plain_result *result);

/* True for an output: the caller gives it no bytes. */
bool plain_is_output(const plain_buffer *buffer);
/* Groups that a segment is launched with; false: none, there is nothing to cover. */
bool plain_groups(const plain_program *program, const plain_segment *segment,
                  uint32_t out_groups[3]);
/* The workgroup that is meant: {64, 1, 1} if none is given. */
void plain_workgroup(const plain_program *program, uint32_t out_workgroup[3]);

/* malloc() and calloc() that do not fail. */
void *plain_memory(uint64_t size);

#endif
