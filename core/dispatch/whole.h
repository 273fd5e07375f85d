/*
 * whole.h - a run that is one call of the plugin: the fused kernel, or the plugin's own form.  The
 * passes and their end are decided on the device; the control words say what came out.
 */
#ifndef VYRE_CORE_DISPATCH_WHOLE_H
#define VYRE_CORE_DISPATCH_WHOLE_H

#include "core/dispatch/route.h"

vyre_status vyre__whole_advance(vyre_pending *pending, uint64_t deadline, vyre_error *err);
vyre_status vyre__whole_collect(vyre_pending *pending, vyre__value *values, vyre_error *err);

/* The outputs from the stage; then the last launch's times, if it is unread. */
vyre_status vyre__staged_collect(vyre_pending *pending, vyre__value *values, vyre_error *err);

#endif
