/*
 * cost.h - what a launch and a barrier of the grid cost on a device, measured once and kept.
 */
#ifndef VYRE_CORE_DISPATCH_COST_H
#define VYRE_CORE_DISPATCH_COST_H

#include "core/dispatch/pending.h"

/*
 * The costs with so many groups.  The first caller measures them with the program's own fused
 * kernel, given empty grids: a launch without a pass that finds the device at rest, several in a
 * row, one with many passes that do nothing but meet; and some bytes that are uploaded.  False if
 * that failed; nothing is kept then.
 */
bool vyre__cost_get(vyre_pending *pending, uint32_t groups, vyre__cost *out_cost);

#endif
