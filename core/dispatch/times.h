/*
 * times.h - times of several launches: they add up, one that is absent makes the sum absent, and a
 * sum that does not fit is an error.
 */
#ifndef VYRE_CORE_DISPATCH_TIMES_H
#define VYRE_CORE_DISPATCH_TIMES_H

#include "vyre.h"
#include "vyre_backend.h"

/* Adds one launch's device, enqueue and wait time to the result; on an error it is as it was. */
vyre_status vyre__times_add(vyre_dispatch_result *result, const vyre_backend_times *times,
                            vyre_error *err);

#endif
