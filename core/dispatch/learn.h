/*
 * learn.h - which of native and resident was faster for dispatches of the same shape.
 *
 * A plan knows what launches, barriers and bytes cost, not what the kernels do: a fused kernel may
 * run them slower than launches of their own, or faster.  So a program remembers how long its
 * synchronous dispatches took.  The route of the plan is taken twice; then the other one twice, if
 * what it costs without any kernel is less than the first one took; then the faster one.  The first
 * dispatch on a route makes what later ones find there, so two are measured and the better counts.
 * Bytes, passes and convergence are the same on both.
 *
 * Only with AUTO, where both can be and costs were reckoned, and not on a CPU, where times of
 * threads vary more than the routes differ.  A dispatch without times goes by what is known; it is
 * no sample and no trial.
 */
#ifndef VYRE_CORE_DISPATCH_LEARN_H
#define VYRE_CORE_DISPATCH_LEARN_H

#include "core/dispatch/pending.h"

/* Puts the route first that experience says, or that is to be measured. */
void vyre__learn_order(const vyre_pending *pending, vyre__plan *plan);

/* A synchronous dispatch has ended well. */
void vyre__learn(const vyre_pending *pending);

/* Why experience took the route, in words; "" if it had no say. */
void vyre__learn_reason(const vyre__plan *plan, char *out_text, size_t size);

#endif
