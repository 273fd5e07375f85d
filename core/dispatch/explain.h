/* explain.h - what a dispatch would do, as text. */
#ifndef VYRE_CORE_DISPATCH_EXPLAIN_H
#define VYRE_CORE_DISPATCH_EXPLAIN_H

#include "core/dispatch/plan.h"

/* The text of vyre_dispatch_explain(), from `allocator`. */
vyre_status vyre__explain(const vyre_pending *pending, const vyre__plan *plan,
                          const vyre_allocator *allocator, char **out_text, vyre_error *err);

#endif
