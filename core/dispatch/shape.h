/*
 * shape.h - what a dispatch knows before anything runs: sizes of all buffers and the grid.
 */
#ifndef VYRE_CORE_DISPATCH_SHAPE_H
#define VYRE_CORE_DISPATCH_SHAPE_H

#include "core/program/program.h"

typedef struct vyre__shape {
  uint64_t *sizes;  /* bytes, by buffer */
  uint64_t *counts; /* elements, by buffer */
} vyre__shape;

/* `options` (may be NULL) in our own size, checked against the program. */
vyre_status vyre__options_read(const vyre_program *program, const vyre_dispatch_options *options,
                               vyre_dispatch_options *out_options, vyre_error *err);

/* Sizes when the caller gives bytes by input position. */
vyre_status vyre__shape_from_inputs(const vyre_program *program, const vyre_bytes *inputs,
                                    uint32_t input_count, vyre__shape *out_shape, vyre_error *err);

/* Sizes when the caller gives one buffer for each that is not WORKGROUP. */
vyre_status vyre__shape_from_buffers(const vyre_program *program, vyre_buffer *const *buffers,
                                     uint32_t buffer_count, vyre__shape *out_shape,
                                     vyre_error *err);

/*
 * Groups of a segment: its own elements or groups, else the dispatch's elements, else the
 * program's, else from the buffers.  `*out_empty`: there is nothing to cover and no launch.
 */
vyre_status vyre__shape_groups(const vyre_program *program, const vyre__segment_plan *segment,
                               const vyre_dispatch_options *options, const vyre__shape *shape,
                               uint32_t out_groups[3], bool *out_empty, vyre_error *err);

/* The part of an output buffer that the caller gets. */
void vyre__shape_range(const vyre_program *program, const vyre__shape *shape, uint32_t buffer,
                       uint64_t *out_offset, uint64_t *out_size);

/* INVALID_ARGUMENT if the outputs are more than options->max_output_bytes in all. */
vyre_status vyre__shape_output_limit(const vyre_program *program, const vyre__shape *shape,
                                     const vyre_dispatch_options *options, vyre_error *err);

#endif
