/*
 * ask.h - asking the loaded plugins of a context for their devices: each once, and not before
 * somebody needs to know.
 *
 * A plugin's first answer may take long: its vendor's driver starts for it.  So a context loads
 * plugins without a question, and a program that opens "cpu" never waits for another's driver.
 *
 * What was answered is constant for the rest of the context's life, so that calls on a const
 * context may ask.  One thread asks at a time, the others wait for it; no lock is held meanwhile.
 */
#ifndef VYRE_CORE_DEVICE_ASK_H
#define VYRE_CORE_DEVICE_ASK_H

#include "core/device/context.h"

void vyre__ask_init(vyre_context *context);
/* Frees what was answered; `is_ours` is false in a child, where nobody knows who holds the lock. */
void vyre__ask_free(vyre_context *context, bool is_ours);

/*
 * Asks one plugin, or all of them; does nothing where that was done.  OUT_OF_HOST_MEMORY of our
 * own, and UNSUPPORTED within a question, from a log hook: then it is still to be asked.  What the
 * plugin fails with is its answer.
 */
vyre_status vyre__ask(const vyre_context *context, uint32_t member, vyre_error *err);
vyre_status vyre__ask_all(const vyre_context *context, vyre_error *err);

/* True once the rest of the member is there. */
bool vyre__is_asked(const vyre__member *member);

/*
 * The devices of the plugins that were asked, best first: the context's own list if those are all,
 * else `*view`, which is filled.  NULL without memory.  Free the view in any case.
 */
const vyre__devices *vyre__asked_devices(const vyre_context *context, vyre__devices *view,
                                         vyre_error *err);

/* A candidate as it is now, and the plugin that came of it, or NULL. */
const vyre__member *vyre__candidate_now(const vyre_context *context, uint32_t index,
                                        vyre_candidate *out_candidate);

#endif
