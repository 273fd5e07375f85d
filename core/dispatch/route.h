/*
 * route.h - the ways in which a dispatch runs.
 *
 * dispatch.c fills in what was asked for and gives the handle to one route after the other until
 * one takes it (plan.h says in which order); then pending.c drives it.
 */
#ifndef VYRE_CORE_DISPATCH_ROUTE_H
#define VYRE_CORE_DISPATCH_ROUTE_H

#include "core/dispatch/pending.h"
#include "core/dispatch/plan.h"

struct vyre__route_ops {
  vyre_route route;
  /*
   * Makes ready what it needs and starts what can start; says the form.  On an error nothing has
   * run that would matter to another route; vyre__pending_forget() is called next.
   */
  vyre_status (*start)(vyre_pending *pending, const vyre__plan *plan, vyre_error *err);
  /*
   * Waits for what is in the air and takes the next steps, until the run is `done` or the deadline
   * has passed (TIMEOUT: call again).
   */
  vyre_status (*advance)(vyre_pending *pending, uint64_t deadline, vyre_error *err);
  /*
   * The run is done: reads what was left to read and gives the values of all outputs, by position,
   * or nothing where `values` is NULL.  Memory that they borrow stays until the release.
   */
  vyre_status (*collect)(vyre_pending *pending, vyre__value *values, vyre_error *err);
};

extern const vyre__route_ops vyre__route_host;     /* host.c */
extern const vyre__route_ops vyre__route_resident; /* resident.c */
extern const vyre__route_ops vyre__route_emulated; /* emulated.c */
extern const vyre__route_ops vyre__route_native;   /* native.c */

#endif
