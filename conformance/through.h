/*
 * through.h - the plugin behind libvyre: a context that knows no other plugin, the device under
 * test, and programs on it.
 *
 * A case that uses this calls nothing of the plugin itself: it is loaded by the core, with the
 * core's host.
 */
#ifndef VYRE_CONFORMANCE_THROUGH_H
#define VYRE_CONFORMANCE_THROUGH_H

#include "conformance/run.h"

#include "vyre.h"

typedef struct through {
  vyre_context *context;
  vyre_device *device;
  vyre_device_info info;
} through;

void through_open(conform *c, through *t);
void through_close(through *t);

#define THROUGH_MOST 8u

/* A description that is built up; plain data, used where it is. */
typedef struct through_program {
  vyre_program_desc desc;
  vyre_code code;
  vyre_buffer_decl buffers[THROUGH_MOST];
  vyre_segment_decl segments[THROUGH_MOST];
  vyre_segment_binding bindings[THROUGH_MOST][THROUGH_MOST];
} through_program;

void through_program_init(through_program *p, const char *name, const char *source);
/* As many elements as the caller gives; WORKGROUP: `count` for each group. */
void through_program_buffer(through_program *p, const char *name, vyre_access access,
                            uint32_t element_size, uint64_t count);
/* The next segment, and what it binds: "a" reads, "+a" reads and writes, "=a" writes, "~a" is
   workgroup memory; separated by blanks. */
void through_program_segment(through_program *p, const char *kernel, const char *buffers);

vyre_program *through_program_create(conform *c, const through *t, const through_program *p);

/* ---- one dispatch on several routes ---- */

typedef struct through_want {
  const vyre_bytes *outputs; /* in the order of the outputs */
  uint32_t output_count;
  uint32_t passes; /* 0: not looked at */
  vyre_converged converged;
} through_want;

/* NATIVE or not, and every other route that the device can serve: the bytes, passes and the verdict
   on convergence are those wanted.  `what` names the program for the verdict. */
void through_check(conform *c, const through *t, vyre_program *program,
                   const vyre_dispatch_options *options, const vyre_bytes *inputs,
                   uint32_t input_count, const through_want *want, bool native, const char *what);

#endif
