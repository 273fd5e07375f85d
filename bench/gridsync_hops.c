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
#define REACH_LEFT 2u /* edges that leave vertices not found yet */
#define REACH_VERTICES 3u
#define REACH_SHARE 4u /* vertices of one item */

/*
 * What a pass found, vertices in the low half and edges that leave them in the high one, is added
 * up in many places, each of which has a line to itself: one place for all would travel with each
 * item.
 */
#define REACH_PLACES 64u
#define REACH_STRIDE 16u

#define REACH_LEVEL(v) vyre_atomic_load_u32(&levels[v], VYRE_RELAXED, VYRE_SCOPE_DEVICE)

VYRE_SEGMENT(hop)
(vyre_ctx *c, VYRE_IN(vyre_u32) out_offsets, VYRE_IN(vyre_u32) out_targets,
 VYRE_IN(vyre_u32) in_offsets, VYRE_IN(vyre_u32) in_sources, VYRE_IN(vyre_u8) front,
 VYRE_IN(vyre_u32) state, VYRE_INOUT(vyre_u32) levels, VYRE_INOUT(vyre_u64) found)
{
  const vyre_u32 depth = state[REACH_DEPTH], pull = state[REACH_PULL];
  const vyre_u64 count = vyre_count(c, levels), share = state[REACH_SHARE];
  const vyre_u64 first = vyre_global_id(c, 0) * share;
  const vyre_u64 end = first + share < count ? first + share : count;
  vyre_u64 sum = 0u;
  vyre_u32 e;
  vyre_u64 v;
  /* Relaxed: within a pass a level only goes from NONE to depth + 1, and nobody looks for that. */
  for (v = first; v < end; ++v) {
    const vyre_u32 level = REACH_LEVEL(v);
    if (pull && level == REACH_NONE) {
      for (e = in_offsets[v]; e < in_offsets[v + 1u]; ++e)
        if (front[in_sources[e] >> 3] >> (in_sources[e] & 7u) & 1u) {
          vyre_atomic_store_u32(&levels[v], depth + 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
          sum += (vyre_u64)(out_offsets[v + 1u] - out_offsets[v]) << 32 | 1u;
          break;
        }
    } else if (!pull && level == depth) {
      for (e = out_offsets[v]; e < out_offsets[v + 1u]; ++e) {
        const vyre_u32 to = out_targets[e];
        if (REACH_LEVEL(to) == REACH_NONE &&
            vyre_atomic_cas_u32(&levels[to], REACH_NONE, depth + 1u, VYRE_RELAXED,
                                VYRE_SCOPE_DEVICE) == REACH_NONE) {
          sum += (vyre_u64)(out_offsets[to + 1u] - out_offsets[to]) << 32 | 1u;
        }
      }
    }
  }
  if (sum) {
    const vyre_u64 place = (vyre_u64)vyre_group_id(c, 0) * REACH_PLACES / vyre_group_count(c, 0);
    vyre_atomic_add_u64(&found[place * REACH_STRIDE], sum, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    vyre_changed(c);
  }
}

/* One item.  A pass that found nothing changes nothing here either. */
VYRE_SEGMENT(deeper)(vyre_ctx *c, VYRE_INOUT(vyre_u32) state, VYRE_INOUT(vyre_u64) found)
{
  vyre_u32 vertices = 0u, edges = 0u, k;
  if (vyre_global_id(c, 0))
    return;
  for (k = 0u; k < REACH_PLACES; ++k)
    if (found[k * REACH_STRIDE]) {
      vertices += (vyre_u32)found[k * REACH_STRIDE];
      edges += (vyre_u32)(found[k * REACH_STRIDE] >> 32);
      found[k * REACH_STRIDE] = 0u;
    }
  if (!vertices)
    return;
  state[REACH_DEPTH] += 1u;
  state[REACH_LEFT] -= edges;
  if (state[REACH_PULL])
    state[REACH_PULL] = vertices >= state[REACH_VERTICES] / 24u;
  else
    state[REACH_PULL] = edges > state[REACH_LEFT] / 14u;
}

/* An item makes one byte of `front`. */
VYRE_SEGMENT(mark)
(vyre_ctx *c, VYRE_IN(vyre_u32) levels, VYRE_IN(vyre_u32) state, VYRE_INOUT(vyre_u8) front)
{
  const vyre_u64 i = vyre_global_id(c, 0), count = vyre_count(c, levels);
  const vyre_u32 depth = state[REACH_DEPTH];
  vyre_u32 bits = 0u, k;
  if (i >= vyre_count(c, front) || !state[REACH_PULL])
    return;
  for (k = 0u; k < 8u && 8u * i + k < count; ++k)
    bits |= (vyre_u32)(levels[8u * i + k] == depth) << k;
  front[i] = (vyre_u8)bits;
}
