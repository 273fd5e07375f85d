/*
 * fused.h - the two kernels that the core writes for a program of several segments or passes: all
 * of it in one launch, and its convergence test (vyre_kernel.h, "Entries").
 */
#ifndef VYRE_CORE_PROGRAM_FUSED_H
#define VYRE_CORE_PROGRAM_FUSED_H

#include "core/program/code.h"
#include "core/program/program.h"

/* Their entries, and the names of the two buffers that vyre adds to a program's own. */
#define VYRE__ENTRY_FUSED "vyre_fused"
#define VYRE__ENTRY_SETTLE "vyre_settle"
#define VYRE__NAME_SHADOW "vyre_shadow"
#define VYRE__NAME_CONTROL "vyre_control"

/* Most segments of one fused kernel: a compiler takes some 20 ms for each. */
#define VYRE__FUSED_SEGMENTS 256u

/* True if the program gets a fused kernel: it has several segments, not too many, or passes. */
bool vyre__program_fuses(const vyre_program_desc *desc);

/* True if it gets a convergence test: EXACT, and several passes. */
bool vyre__program_settles(const vyre_program_desc *desc);

/*
 * Parameters of `vyre_settle`: each buffer that a segment writes, in declaration order, the shadow,
 * the control words.
 */
void vyre__write_settle(const vyre_program_desc *desc, vyre__text *tail);

/*
 * Parameters of `vyre_fused`: each buffer that a segment binds, in declaration order, the shadow if
 * there is a test, the control words.  Steps: the segments, then the test.
 */
void vyre__write_fused(const vyre_program_desc *desc, vyre__text *tail);

#endif
