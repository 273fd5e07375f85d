/*
 * codes.h - a vendor's list of result codes, and what the body asks of it.  Each vendor's codes.c
 * makes the rows of its codes.def.
 */
#ifndef VYRE_GPU_CODES_H
#define VYRE_GPU_CODES_H

#include "vyre_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words of a codes.def. */
#define STICKY true  /* the context is dead behind it */
#define PASSES false /* the next call may succeed */

typedef struct vyre__gpu_code_row {
  int32_t number;
  const char *name;
  vyre_status status;
  bool sticky;
} vyre__gpu_code_row;

/* NULL for a code that the list does not have. */
static inline const vyre__gpu_code_row *vyre__gpu_code_find(const vyre__gpu_code_row *rows,
                                                            size_t count, int32_t code)
{
  for (size_t i = 0; i < count; ++i)
    if (rows[i].number == code)
      return &rows[i];
  return NULL;
}

/* The status that a caller sees; `row` as found for the code. */
static inline vyre_status vyre__gpu_code_status(const vyre__gpu_code_row *row, int32_t code)
{
  if (!code)
    return VYRE_OK;
  return row ? row->status : VYRE_ERROR_DISPATCH_FAILED;
}

#endif
