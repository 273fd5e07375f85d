/*
 * control.h - the control words of a run (VYRE_CONTROL_… in vyre_kernel.h), as the host sees them.
 */
#ifndef VYRE_CORE_DISPATCH_CONTROL_H
#define VYRE_CORE_DISPATCH_CONTROL_H

#include "core/program/program.h"

#include "vyre_kernel.h"

/* Bytes: the fixed words and three group counts for each segment and the test. */
static inline uint64_t vyre__control_size(const vyre_program *program)
{
  return (VYRE_CONTROL_GROUPS + 3ull * (program->segment_count + 1)) * sizeof(uint32_t);
}

#endif
