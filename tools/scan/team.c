/* team.c - see team.h. */
#include "tools/scan/team.h"

#include "tools/scan/support.h"

#include <string.h>

vyre_status vyre__team_open(vyre__team *team, vyre_device *const *devices, uint32_t count,
                            const vyre__automaton *automaton, const vyre_code *code,
                            uint32_t code_count, const vyre__matcher_options *options,
                            const vyre__matcher_events *events, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  uint32_t i;

  if (count == 0 || count > VYRE__TEAM_MOST) {
    return SCAN_ERROR(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "name fewer devices",
                      "%u devices are not 1 to %u", count, VYRE__TEAM_MOST);
  }
  for (i = 0; status == VYRE_OK && i < count; i++) {
    status = vyre__matcher_create(devices[i], automaton, code, code_count, options, events,
                                  &team->matchers[i], err);
    team->count += status == VYRE_OK;
  }
  return status;
}

void vyre__team_close(vyre__team *team)
{
  while (team->count != 0) {
    vyre__matcher_destroy(team->matchers[--team->count]);
  }
}

vyre_status vyre__team_take(vyre__team *team, uint8_t **out_bytes, vyre__team_slot *out_slot,
                            vyre_error *err)
{
  vyre_status status = VYRE_OK;
  uint32_t best = team->next, most = 0, i;

  for (i = 0; status == VYRE_OK && team->count > 1 && i < team->count; i++) {
    const uint32_t at = (team->next + i) % team->count;
    uint32_t room;
    status = vyre__matcher_look(team->matchers[at], &room, err);
    if (status == VYRE_OK && room > most) {
      most = room;
      best = at;
    }
  }
  if (status != VYRE_OK) {
    return status;
  }
  team->next = (best + 1) % team->count;
  out_slot->matcher = best;
  return vyre__matcher_take(team->matchers[best], out_bytes, &out_slot->slot, err);
}

void vyre__team_put_back(vyre__team *team, vyre__team_slot slot)
{
  vyre__matcher_put_back(team->matchers[slot.matcher], slot.slot);
}

vyre_status vyre__team_submit(vyre__team *team, vyre__team_slot slot, void *owner, uint64_t base,
                              uint32_t prefix, uint32_t size, vyre_error *err)
{
  return vyre__matcher_submit(team->matchers[slot.matcher], slot.slot, owner, base, prefix, size,
                              err);
}

vyre_status vyre__team_flush(vyre__team *team, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  uint32_t i;

  for (i = 0; status == VYRE_OK && i < team->count; i++) {
    status = vyre__matcher_flush(team->matchers[i], err);
  }
  return status;
}

void vyre__team_get_stats(const vyre__team *team, vyre__matcher_stats *out_stats,
                          uint64_t out_shares[VYRE__TEAM_MOST])
{
  vyre__matcher_stats one;
  uint32_t i;

  memset(out_stats, 0, sizeof *out_stats);
  out_stats->persistent = team->count != 0;
  for (i = 0; i < team->count; i++) {
    vyre__matcher_get_stats(team->matchers[i], &one);
    out_stats->launches += one.launches;
    out_stats->items += one.items;
    out_shares[i] = one.items;
    out_stats->retries += one.retries;
    out_stats->swaps += one.swaps;
    out_stats->persistent = out_stats->persistent && one.persistent;
    out_stats->workers += one.workers;
    if (one.bank_records > out_stats->bank_records) {
      out_stats->bank_records = one.bank_records;
    }
  }
}
