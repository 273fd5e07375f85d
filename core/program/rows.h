/*
 * rows.h - reading arrays of the public description structures.
 *
 * The caller may have been compiled with a newer or older vyre.h: the distance between two rows is
 * the struct_size that the first row states, never our own sizeof.
 */
#ifndef VYRE_CORE_PROGRAM_ROWS_H
#define VYRE_CORE_PROGRAM_ROWS_H

#include "vyre.h"

#include "core/base/structs.h"

static inline const void *vyre__row(const void *rows, uint32_t index)
{
  return (const char *)rows + (size_t)index * vyre__struct_size(rows);
}

/* True if all rows state the same size, which is large enough and keeps them aligned. */
static inline bool vyre__rows_fit(const void *rows, uint32_t count, uint32_t least)
{
  if (!count)
    return true;
  if (!rows || vyre__struct_size(rows) < least || vyre__struct_size(rows) % _Alignof(uint64_t))
    return false;
  for (uint32_t i = 1; i < count; ++i)
    if (vyre__struct_size(vyre__row(rows, i)) != vyre__struct_size(rows))
      return false;
  return true;
}

static inline const vyre_buffer_decl *vyre__buffer_at(const vyre_program_desc *desc, uint32_t i)
{
  return vyre__row(desc->buffers, i);
}

static inline const vyre_segment_decl *vyre__segment_at(const vyre_program_desc *desc, uint32_t i)
{
  return vyre__row(desc->segments, i);
}

static inline const vyre_segment_binding *vyre__binding_at(const vyre_segment_decl *segment,
                                                           uint32_t i)
{
  return vyre__row(segment->bindings, i);
}

static inline const vyre_code *vyre__code_at(const vyre_code *code, uint32_t i)
{
  return vyre__row(code, i);
}

static inline bool vyre__access_writes(vyre_access access)
{
  return access == VYRE_READ_WRITE || access == VYRE_WRITE_ONLY;
}

static inline bool vyre__is_output(const vyre_buffer_decl *buffer)
{
  return buffer->access == VYRE_WRITE_ONLY || (buffer->flags & VYRE_BUFFER_OUTPUT);
}

#endif
