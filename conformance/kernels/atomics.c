/*
 * atomics.c - every atomic operation, with all items of the grid at the same words.
 */
#define VYRE_BUFFER_narrow 0
#define VYRE_BUFFER_wide 1
#define VYRE_BUFFER_seen 2
#define VYRE_BUFFER_counter 0
#define VYRE_BUFFER_data 1
#define VYRE_BUFFER_sum 2

VYRE_FUNCTION vyre_u32 mix_32(vyre_u32 v)
{
  v ^= v >> 16;
  v *= 0x7feb352du;
  v ^= v >> 15;
  v *= 0x846ca68bu;
  return v ^ (v >> 16);
}

VYRE_FUNCTION vyre_u64 mix_64(vyre_u64 v)
{
  return ((vyre_u64)mix_32((vyre_u32)v) << 32) | mix_32((vyre_u32)v + 77u);
}

/* Results that do not depend on the order. */
VYRE_SEGMENT(gather)(vyre_ctx *c, VYRE_INOUT(vyre_u32) narrow, VYRE_INOUT(vyre_u64) wide)
{
  const vyre_u32 i = (vyre_u32)vyre_global_id(c, 0);
  const vyre_u32 v = mix_32(i);
  const vyre_u64 w = mix_64(i);
  vyre_atomic_add_u32(&narrow[0], v, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_and_u32(&narrow[1], v | 0x5a5a0000u, VYRE_ACQUIRE, VYRE_SCOPE_DEVICE);
  vyre_atomic_or_u32(&narrow[2], v & 0x00ff3ff0u, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
  vyre_atomic_xor_u32(&narrow[3], v, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);
  vyre_atomic_min_u32(&narrow[4], v, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_max_u32(&narrow[5], v, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_min_i32(&narrow[6], (vyre_i32)v, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_max_i32(&narrow[7], (vyre_i32)v, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_add_u64(&wide[0], w, VYRE_SEQ_CST, VYRE_SCOPE_DEVICE);
  vyre_atomic_and_u64(&wide[1], w | 0x5a5a000000000000u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_or_u64(&wide[2], w & 0x00ff3ff000ff0ff0u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_xor_u64(&wide[3], w, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_min_u64(&wide[4], w, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_max_u64(&wide[5], w, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_min_i64(&wide[6], (vyre_i64)w, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_max_i64(&wide[7], (vyre_i64)w, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}
VYRE_ENTRY(gather, (VYRE_PARAM_INOUT(0, narrow), VYRE_PARAM_INOUT(1, wide)),
           (VYRE_ARG(0, narrow), VYRE_ARG(1, wide)));

/* Old values: each operation hands out every one exactly once.  Six numbers an item. */
VYRE_SEGMENT(hand_out)
(vyre_ctx *c, VYRE_INOUT(vyre_u32) narrow, VYRE_INOUT(vyre_u64) wide, VYRE_OUT(vyre_u64) seen)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  const vyre_u32 mine = (vyre_u32)i + 1u;
  vyre_u32 old = 0u, want = 0u;
  vyre_u64 wide_old = 0u, wide_want = 0u;
  seen[i * 6u + 0u] = vyre_atomic_add_u32(&narrow[0], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  seen[i * 6u + 1u] = vyre_atomic_add_u64(&wide[0], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  seen[i * 6u + 2u] = vyre_atomic_exchange_u32(&narrow[1], mine, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);
  seen[i * 6u + 3u] =
      vyre_atomic_exchange_u64(&wide[1], (vyre_u64)mine, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);
  old = vyre_atomic_load_u32(&narrow[2], VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  do {
    want = old;
    old = vyre_atomic_cas_u32(&narrow[2], want, want + 1u, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);
  } while (old != want);
  seen[i * 6u + 4u] = old;
  wide_old = vyre_atomic_load_u64(&wide[2], VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  do {
    wide_want = wide_old;
    wide_old =
        vyre_atomic_cas_u64(&wide[2], wide_want, wide_want + 1u, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);
  } while (wide_old != wide_want);
  seen[i * 6u + 5u] = wide_old;
}
VYRE_ENTRY(hand_out,
           (VYRE_PARAM_INOUT(0, narrow), VYRE_PARAM_INOUT(1, wide), VYRE_PARAM_OUT(2, seen)),
           (VYRE_ARG(0, narrow), VYRE_ARG(1, wide), VYRE_ARG(2, seen)));

/* Long enough for all processors to be at the same two words: sixty-four times each, an item. */
VYRE_SEGMENT(hammer)(vyre_ctx *c, VYRE_INOUT(vyre_u32) narrow, VYRE_INOUT(vyre_u64) wide)
{
  (void)c;
  for (vyre_u32 turn = 0u; turn < 64u; ++turn) {
    const vyre_u32 old = vyre_atomic_add_u32(&narrow[0], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    vyre_atomic_add_u64(&wide[0], old, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  }
}
VYRE_ENTRY(hammer, (VYRE_PARAM_INOUT(0, narrow), VYRE_PARAM_INOUT(1, wide)),
           (VYRE_ARG(0, narrow), VYRE_ARG(1, wide)));

/* One item alone: each operation's old value and its effect. */
VYRE_SEGMENT(alone)
(vyre_ctx *c, VYRE_INOUT(vyre_u32) narrow, VYRE_INOUT(vyre_u64) wide, VYRE_OUT(vyre_u64) seen)
{
  if (vyre_global_id(c, 0))
    return;
  seen[0] = vyre_atomic_min_u32(&narrow[0], 5u, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  seen[1] = vyre_atomic_max_u32(&narrow[1], 0x80000001u, VYRE_RELAXED, VYRE_SCOPE_WORKGROUP);
  seen[2] = (vyre_u32)vyre_atomic_min_i32(&narrow[2], -3, VYRE_SEQ_CST, VYRE_SCOPE_DEVICE);
  seen[3] = (vyre_u32)vyre_atomic_max_i32(&narrow[3], -3, VYRE_SEQ_CST, VYRE_SCOPE_DEVICE);
  seen[4] = vyre_atomic_cas_u32(&narrow[4], 1u, 2u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  seen[5] = vyre_atomic_cas_u32(&narrow[5], 2u, 3u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_store_u32(&narrow[6], 0xfedcba98u, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
  seen[6] = vyre_atomic_load_u32(&narrow[6], VYRE_ACQUIRE, VYRE_SCOPE_DEVICE);
  seen[7] = vyre_atomic_min_u64(&wide[0], 5u, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  seen[8] = vyre_atomic_max_u64(&wide[1], 0x8000000000000001u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  seen[9] = (vyre_u64)vyre_atomic_min_i64(&wide[2], -3, VYRE_SEQ_CST, VYRE_SCOPE_DEVICE);
  seen[10] = (vyre_u64)vyre_atomic_max_i64(&wide[3], -3, VYRE_SEQ_CST, VYRE_SCOPE_DEVICE);
  seen[11] = vyre_atomic_cas_u64(&wide[4], 1u, 2u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  seen[12] = vyre_atomic_cas_u64(&wide[5], 2u, 3u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_atomic_store_u64(&wide[6], 0xfedcba9876543210u, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
  seen[13] = vyre_atomic_load_u64(&wide[6], VYRE_ACQUIRE, VYRE_SCOPE_DEVICE);
}
VYRE_ENTRY(alone, (VYRE_PARAM_INOUT(0, narrow), VYRE_PARAM_INOUT(1, wide), VYRE_PARAM_OUT(2, seen)),
           (VYRE_ARG(0, narrow), VYRE_ARG(1, wide), VYRE_ARG(2, seen)));

/* Whoever comes last sees what all others stored before they came. */
VYRE_SEGMENT(last)
(vyre_ctx *c, VYRE_INOUT(vyre_u32) counter, VYRE_INOUT(vyre_u32) data, VYRE_INOUT(vyre_u64) sum)
{
  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_global_size(c, 0);
  data[i] = mix_32((vyre_u32)i);
  vyre_fence(VYRE_RELEASE, VYRE_SCOPE_DEVICE);
  if (vyre_atomic_add_u32(&counter[0], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE) + 1u == n) {
    vyre_fence(VYRE_ACQUIRE, VYRE_SCOPE_DEVICE);
    for (vyre_u64 k = 0u; k < n; ++k)
      sum[0] += data[k];
    sum[1] += 1u;
  }
}
VYRE_ENTRY(last,
           (VYRE_PARAM_INOUT(0, counter), VYRE_PARAM_INOUT(1, data), VYRE_PARAM_INOUT(2, sum)),
           (VYRE_ARG(0, counter), VYRE_ARG(1, data), VYRE_ARG(2, sum)));
