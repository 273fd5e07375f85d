/*
 * gridsync_hops.c - reachability for `vyre bench gridsync`, in the kernel language: levels of a
 * graph that is given in both directions.  A pass finds the vertices at distance depth + 1: by
 * their sources' edges (push) while those are few, else every vertex that is not found yet looks
 * for a source that is (pull); Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first
 * search". The words of `state` are gridsync_state of the host.
 */
#define REACH_NONE 0xffffffffu
#define REACH_DEPTH 0u
#define REACH_PULL 1u
#define REACH_FOUND 2u /* vertices that this pass found, */
#define REACH_EDGES 3u /* and edges that leave them: one word of 64 bits */
#define REACH_LEFT 4u  /* edges that leave vertices not found yet */
#define REACH_VERTICES 5u
#define REACH_SHARE 6u /* vertices of one item */

#define REACH_LEVEL(v) vyre_atomic_load_u32(&levels[v], VYRE_RELAXED, VYRE_SCOPE_DEVICE)

VYRE_SEGMENT(hop)
(vyre_ctx *c, VYRE_IN(vyre_u32) out_offsets, VYRE_IN(vyre_u32) out_targets,
 VYRE_IN(vyre_u32) in_offsets, VYRE_IN(vyre_u32) in_sources, VYRE_INOUT(vyre_u32) levels,
 VYRE_INOUT(vyre_u32) state)
{
  const vyre_u32 depth = state[REACH_DEPTH], pull = state[REACH_PULL];
  const vyre_u64 count = vyre_count(c, levels), share = state[REACH_SHARE];
  const vyre_u64 first = vyre_global_id(c, 0) * share;
  const vyre_u64 end = first + share < count ? first + share : count;
  vyre_u32 found = 0u, edges = 0u, e;
  vyre_u64 v;
  /* Relaxed: within a pass a level only goes from NONE to depth + 1, and nobody looks for that. */
  for (v = first; v < end; ++v) {
    const vyre_u32 level = REACH_LEVEL(v);
    if (pull && level == REACH_NONE) {
      for (e = in_offsets[v]; e < in_offsets[v + 1u]; ++e)
        if (REACH_LEVEL(in_sources[e]) == depth) {
          vyre_atomic_store_u32(&levels[v], depth + 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
          found += 1u;
          edges += out_offsets[v + 1u] - out_offsets[v];
          break;
        }
    } else if (!pull && level == depth) {
      for (e = out_offsets[v]; e < out_offsets[v + 1u]; ++e) {
        const vyre_u32 to = out_targets[e];
        if (REACH_LEVEL(to) == REACH_NONE &&
            vyre_atomic_cas_u32(&levels[to], REACH_NONE, depth + 1u, VYRE_RELAXED,
                                VYRE_SCOPE_DEVICE) == REACH_NONE) {
          found += 1u;
          edges += out_offsets[to + 1u] - out_offsets[to];
        }
      }
    }
  }
  if (found) {
    vyre_atomic_add_u64(&state[REACH_FOUND], (vyre_u64)edges << 32 | found, VYRE_RELAXED,
                        VYRE_SCOPE_DEVICE);
    vyre_changed(c);
  }
}

/* One item.  A pass that found nothing changes nothing here either. */
VYRE_SEGMENT(deeper)(vyre_ctx *c, VYRE_INOUT(vyre_u32) state)
{
  if (vyre_global_id(c, 0) || !state[REACH_FOUND])
    return;
  state[REACH_DEPTH] += 1u;
  state[REACH_LEFT] -= state[REACH_EDGES];
  if (state[REACH_PULL])
    state[REACH_PULL] = state[REACH_FOUND] >= state[REACH_VERTICES] / 24u;
  else
    state[REACH_PULL] = state[REACH_EDGES] > state[REACH_LEFT] / 14u;
  state[REACH_FOUND] = 0u;
  state[REACH_EDGES] = 0u;
}
