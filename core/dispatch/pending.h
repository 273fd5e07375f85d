/*
 * pending.h - a dispatch under way.
 *
 * It owns the plugin's handle and the scratch that results are read into; it borrows the caller's
 * bytes or buffers until it is released.
 */
#ifndef VYRE_CORE_DISPATCH_PENDING_H
#define VYRE_CORE_DISPATCH_PENDING_H

#include "core/dispatch/shape.h"

struct vyre_pending {
  vyre_program *program;        /* retained */
  vyre_backend_pending *handle; /* NULL if the grid was empty and nothing was launched */
  vyre_route route;
  uint32_t launches;
  uint64_t started_ns;
  vyre_backend_times times;
  bool read;               /* pending_read() was called; it is called once */
  bool finished;           /* the outputs were handed out */
  vyre_status read_status; /* what pending_read() came to */
  vyre__shape shape;
  vyre_bytes given[VYRE_MAX_BUFFERS]; /* the caller's bytes, by buffer; NULL: none */
  void *scratch[VYRE_MAX_BUFFERS];    /* results in full size, by buffer; from the device's
                                         allocator */
};

/* An empty handle for the program; freed by vyre_pending_release(). */
vyre_status vyre__pending_create(vyre_program *program, vyre_pending **out_pending,
                                 vyre_error *err);

/* INVALID_ARGUMENT if the result's struct_size is too small; NULL is accepted. */
vyre_status vyre__result_check(const vyre_dispatch_result *result, vyre_error *err);

#endif
