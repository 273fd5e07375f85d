/*
 * outputs.h - moving finished values into the caller's output slots.
 */
#ifndef VYRE_CORE_DISPATCH_OUTPUTS_H
#define VYRE_CORE_DISPATCH_OUTPUTS_H

#include "vyre.h"

#include "core/base/alloc.h"
#include "core/base/error.h"

/* One output's value when a dispatch has ended. */
typedef struct vyre__value {
  const void *data; /* `size` bytes, or NULL for zeros */
  uint64_t size;
  /*
   * The allocation that may be taken over instead of copied: it begins at `data` and holds
   * `owned_capacity` bytes.  NULL if the bytes are borrowed or are only a part of theirs.  It
   * becomes NULL when the caller's slot has taken it.
   */
  void *owned;
  uint64_t owned_capacity;
  void *
      *keeper; /* where else the allocation is remembered: NULL is stored there once it is taken */
} vyre__value;

/* INVALID_ARGUMENT if the structure cannot be one; NULL is accepted. */
vyre_status vyre__outputs_check(const vyre_outputs *outputs, vyre_error *err);

/*
 * Stores the values by position.  `owner` is the allocator of `owned` allocations.  Touches
 * `outputs` only after every growth has succeeded: on an error it and the values are as they were.
 * At most VYRE_MAX_BUFFERS values.
 */
vyre_status vyre__outputs_store(vyre_outputs *outputs, vyre__value *values, uint32_t count,
                                const vyre_allocator *owner, vyre_error *err);

#endif
