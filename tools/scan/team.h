/*
 * team.h - a matcher for each device; a piece goes to the one that has the most room.
 *
 * Events come from all of them, on the one thread that calls; a piece's owner tells which one it
 * was, so that what is made of them does not depend on the devices.  An error of one is final for
 * the team.
 */
#ifndef VYRE_SCAN_TEAM_H
#define VYRE_SCAN_TEAM_H

#include "tools/scan/matcher.h"

/* More devices than this are not used at a time. */
#define VYRE__TEAM_MOST 16u

typedef struct vyre__team {
  vyre__matcher *matchers[VYRE__TEAM_MOST];
  uint32_t count;
  uint32_t next; /* who is asked first, so that equals take turns */
} vyre__team;

/* A slot of one of them. */
typedef struct vyre__team_slot {
  uint32_t matcher, slot;
} vyre__team_slot;

/* `team` is zeroed.  Close it in any case.  Options are each matcher's. */
vyre_status vyre__team_open(vyre__team *team, vyre_device *const *devices, uint32_t count,
                            const vyre__automaton *automaton, const vyre_code *code,
                            uint32_t code_count, const vyre__matcher_options *options,
                            const vyre__matcher_events *events, vyre_error *err);
void vyre__team_close(vyre__team *team);

/* As the matcher's functions of these names. */
vyre_status vyre__team_take(vyre__team *team, uint8_t **out_bytes, vyre__team_slot *out_slot,
                            vyre_error *err);
void vyre__team_put_back(vyre__team *team, vyre__team_slot slot);
vyre_status vyre__team_submit(vyre__team *team, vyre__team_slot slot, void *owner, uint64_t base,
                              uint32_t prefix, uint32_t size, vyre_error *err);
vyre_status vyre__team_flush(vyre__team *team, vyre_error *err);

/* Sums; `persistent` if all are; the largest bank.  `out_shares`: the items of each. */
void vyre__team_get_stats(const vyre__team *team, vyre__matcher_stats *out_stats,
                          uint64_t out_shares[VYRE__TEAM_MOST]);

#endif
