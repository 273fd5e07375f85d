/*
 * grid.c - kernels about the grid itself: ids, push constants, shares, clocks, subgroups.
 */
#define VYRE_BUFFER_ids 0
#define VYRE_BUFFER_visits 0
#define VYRE_BUFFER_bytes 0
#define VYRE_BUFFER_shares 0
#define VYRE_BUFFER_backs 0
#define VYRE_BUFFER_value 0
#define VYRE_BUFFER_result 1
#define VYRE_BUFFER_lanes 0

/* Where the item stands in the order of all items, dimension 0 fastest. */
VYRE_FUNCTION vyre_u64 linear(vyre_ctx *c)
{
  const vyre_u64 nx = vyre_global_size(c, 0), ny = vyre_global_size(c, 1);
  return vyre_global_id(c, 0) + nx * (vyre_global_id(c, 1) + ny * vyre_global_id(c, 2));
}

/* Eighteen numbers an item: global, group and local id, global, group and local size. */
VYRE_SEGMENT(ids)(vyre_ctx *c, VYRE_OUT(vyre_u32) ids)
{
  const vyre_u64 at = linear(c) * 18u;
  if (at + 18u > vyre_count(c, ids))
    return;
  ids[at + 0u] = (vyre_u32)vyre_global_id(c, 0);
  ids[at + 1u] = (vyre_u32)vyre_global_id(c, 1);
  ids[at + 2u] = (vyre_u32)vyre_global_id(c, 2);
  ids[at + 3u] = vyre_group_id(c, 0);
  ids[at + 4u] = vyre_group_id(c, 1);
  ids[at + 5u] = vyre_group_id(c, 2);
  ids[at + 6u] = vyre_local_id(c, 0);
  ids[at + 7u] = vyre_local_id(c, 1);
  ids[at + 8u] = vyre_local_id(c, 2);
  ids[at + 9u] = (vyre_u32)vyre_global_size(c, 0);
  ids[at + 10u] = (vyre_u32)vyre_global_size(c, 1);
  ids[at + 11u] = (vyre_u32)vyre_global_size(c, 2);
  ids[at + 12u] = vyre_group_count(c, 0);
  ids[at + 13u] = vyre_group_count(c, 1);
  ids[at + 14u] = vyre_group_count(c, 2);
  ids[at + 15u] = vyre_local_size(c, 0);
  ids[at + 16u] = vyre_local_size(c, 1);
  ids[at + 17u] = vyre_local_size(c, 2);
}
VYRE_ENTRY(ids, (VYRE_PARAM_OUT(0, ids)), (VYRE_ARG(0, ids)));

/* Each item adds one to a word of its own, and to the last word. */
VYRE_SEGMENT(visit)(vyre_ctx *c, VYRE_INOUT(vyre_u32) visits)
{
  const vyre_u64 at = linear(c), last = vyre_count(c, visits) - 1u;
  if (at < last)
    visits[at] += 1u;
  vyre_atomic_add_u32(&visits[last], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}
VYRE_ENTRY(visit, (VYRE_PARAM_INOUT(0, visits)), (VYRE_ARG(0, visits)));

/* The push constants, byte by byte, as many as the buffer takes. */
typedef struct push_byte {
  vyre_u8 value;
} push_byte;

VYRE_SEGMENT(push)(vyre_ctx *c, VYRE_OUT(vyre_u8) bytes)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, bytes))
    bytes[i] = vyre_push(c, push_byte)[i].value;
}
VYRE_ENTRY(push, (VYRE_PARAM_OUT(0, bytes)), (VYRE_ARG(0, bytes)));

/* How often VYRE_SPREAD comes to each index. */
VYRE_SEGMENT(spread)(vyre_ctx *c, VYRE_INOUT(vyre_u32) shares)
{
  VYRE_SPREAD(c, i, vyre_count(c, shares))
  {
    vyre_atomic_add_u32(&shares[i], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  }
}
VYRE_ENTRY(spread, (VYRE_PARAM_INOUT(0, shares)), (VYRE_ARG(0, shares)));

/* How often the clock goes back between two looks. */
VYRE_SEGMENT(clock)(vyre_ctx *c, VYRE_OUT(vyre_u32) backs)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  vyre_u64 last = vyre_clock_ns(c);
  vyre_u32 count = 0u;
  for (vyre_u32 turn = 0u; turn < 200u; ++turn) {
    const vyre_u64 now = vyre_clock_ns(c);
    count += (vyre_u32)(now < last);
    last = now;
  }
  if (i < vyre_count(c, backs))
    backs[i] = count;
}
VYRE_ENTRY(clock, (VYRE_PARAM_OUT(0, backs)), (VYRE_ARG(0, backs)));

/* Takes as many nanoseconds as the push constants say; result = value * 3 + 1. */
typedef struct delay_push {
  vyre_u64 ns;
} delay_push;

VYRE_SEGMENT(delay)(vyre_ctx *c, VYRE_IN(vyre_u32) value, VYRE_OUT(vyre_u32) result)
{
  const vyre_u64 i = vyre_global_id(c, 0), begin = vyre_clock_ns(c);
  vyre_u32 misses = 0u;
  /* One item alone: where items run one after the other the times would add up. */
  while (!i && vyre_clock_ns(c) - begin < vyre_push(c, delay_push)->ns)
    vyre_backoff(c, misses++);
  if (i < vyre_count(c, result))
    result[i] = value[i] * 3u + 1u;
}
VYRE_ENTRY(delay, (VYRE_PARAM_IN(0, value), VYRE_PARAM_OUT(1, result)),
           (VYRE_ARG(0, value), VYRE_ARG(1, result)));

/* Six numbers an item: size, lane, ones of a full ballot, sum of ones, own lane shuffled, own bit.
 */
VYRE_SEGMENT(lanes)(vyre_ctx *c, VYRE_OUT(vyre_u32) lanes)
{
  const vyre_u64 at = vyre_global_id(c, 0) * 6u;
  const vyre_u32 size = vyre_subgroup_size(c), lane = vyre_subgroup_lane(c);
  const vyre_u64 all = vyre_subgroup_ballot(c, 1);
  const vyre_u32 ones = vyre_subgroup_add_u32(c, 1u);
  const vyre_u32 own = vyre_subgroup_shuffle_u32(c, lane, lane);
  if (at + 6u > vyre_count(c, lanes))
    return;
  lanes[at] = size;
  lanes[at + 1u] = lane;
  lanes[at + 2u] = vyre_popcount_u64(all);
  lanes[at + 3u] = ones;
  lanes[at + 4u] = own;
  lanes[at + 5u] = (vyre_u32)(vyre_shr_u64(all, lane) & 1u);
}
VYRE_ENTRY(lanes, (VYRE_PARAM_OUT(0, lanes)), (VYRE_ARG(0, lanes)));
