/*
 * replay.h - the launches of a pass recorded once and replayed (tier 5), on the resident route.
 *
 * A dispatch records its steps at the beginning of a pass, if the device can and it is worth it;
 * the passes from there on are replays, and the program keeps what was recorded for dispatches of
 * the same steps (kept.h): those start it at once.  Where convergence is tested each start is one
 * pass; else a start has many.  A device that refuses to record gets single launches as before.
 */
#ifndef VYRE_CORE_DISPATCH_REPLAY_H
#define VYRE_CORE_DISPATCH_REPLAY_H

#include "core/dispatch/pending.h"

/*
 * Recording is worth it for a run that saves at least so many launches by it: about what it costs
 * to describe, check and set up a few of them, and to take that down again.  How long a tested run
 * will be nobody knows, nor how often a short one comes again: they record when so many launches of
 * the same steps were made, in this dispatch or before it, so that these are paid for at most
 * twice. What is kept costs nothing any more: it is started wherever a start stands for two
 * launches.
 */
#define VYRE__REPLAY_WORTH 16u

/*
 * Launches of one start, and starts ahead: enough that a device goes from one to the next without a
 * pause, and few enough that who gives a run up, or waits for a short time only, is not held for
 * long.
 */
#define VYRE__REPLAY_LAUNCHES 128u
#define VYRE__REPLAY_AHEAD 2u

/* True if the device can record the program's passes, as far as is known. */
bool vyre__replay_can(const vyre_program *program);

/*
 * At the beginning of pass `pending->pass`: records its steps if they are to be.  An error only if
 * the device is lost; a refusal is kept for the result, and single launches go on.
 */
vyre_status vyre__replay_consider(vyre_pending *pending, bool with_test, vyre_error *err);

/* Starts the next replays, and goes on behind their passes. */
vyre_status vyre__replay_start(vyre_pending *pending, vyre_error *err);

/* Lets go of what was recorded; nothing of it is in the air. */
void vyre__replay_forget(vyre_pending *pending);

/* What a plan says of it behind the number of launches, or "". */
void vyre__replay_plan(const vyre_pending *pending, bool with_test, char *out_text, size_t size);

/* What a result says of it behind the route's reason, or "". */
void vyre__replay_reason(const vyre_pending *pending, char *out_text, size_t size);

#endif
