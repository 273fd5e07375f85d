/*
 * wake.h - the waker's half of the eventcount in two parts, for who changes one condition that two
 * groups of sleepers wait for.
 */
#ifndef VYRE_CORE_RING_WAKE_H
#define VYRE_CORE_RING_WAKE_H

#include "core/ring/ring.h"

/* Between the change of the condition and vyre__wake_sleepers(); one serves several of those. */
void vyre__wake_fence(void);

/* Wakes everybody who sleeps; one load when nobody does. */
void vyre__wake_sleepers(vyre_ring_wake *wake);

#endif
