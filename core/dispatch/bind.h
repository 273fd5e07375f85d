/*
 * bind.h - descriptors of launches: what the plugin is told of each step.
 */
#ifndef VYRE_CORE_DISPATCH_BIND_H
#define VYRE_CORE_DISPATCH_BIND_H

#include "core/dispatch/pending.h"

/* A program's buffers, the shadow, the control words. */
#define VYRE__MAX_BINDINGS (VYRE_MAX_BUFFERS + 2u)

/* One binding of a program's buffer, without where its bytes are. */
void vyre__bind(const vyre_pending *pending, uint32_t buffer, vyre_access access,
                vyre_binding *out_binding);

/* The same on the device: in the caller's buffer or the dispatch's own. */
void vyre__bind_staged(const vyre_pending *pending, uint32_t buffer, vyre_access access,
                       vyre_binding *out_binding);

/* The shadow and the control words of the dispatch's stage. */
void vyre__bind_shadow(const vyre_pending *pending, vyre_binding *out_binding);
void vyre__bind_control(const vyre_pending *pending, vyre_binding *out_binding);

/* Groups, workgroup and push constants of a step; bindings are the caller's. */
void vyre__bind_desc(const vyre_pending *pending, vyre_backend_kernel *kernel,
                     const uint32_t groups[3], const vyre_binding *bindings, uint32_t count,
                     vyre_dispatch_desc *out_desc);

/*
 * The launch of a step on the device: a segment, or the test (VYRE__STEP_SETTLE).  `bindings` has
 * room for VYRE__MAX_BINDINGS.
 */
void vyre__bind_step(const vyre_pending *pending, uint32_t step, vyre_binding *bindings,
                     vyre_dispatch_desc *out_desc);

/* True if the grid of a step is empty: nothing is launched. */
static inline bool vyre__step_is_empty(const vyre_pending *pending, uint32_t step)
{
  return !pending->groups[step][0];
}

#endif
