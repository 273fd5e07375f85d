/*
 * histogram.c - how often does each byte value occur?
 *
 * Each group counts one contiguous part of the data in workgroup memory, where atomics are cheap,
 * then adds its 256 sums to the result.
 */
VYRE_SEGMENT(histogram)
(vyre_ctx *c, VYRE_IN(vyre_u8) data, VYRE_INOUT(vyre_u64) counts, VYRE_LOCAL(vyre_u32) tally)
{
  vyre_u64 size = vyre_count(c, data);
  vyre_u64 groups = vyre_group_count(c, 0);
  vyre_u64 part = size / groups + (size % groups != 0);
  vyre_u64 first = part * vyre_group_id(c, 0);
  vyre_u64 end = first + part < size ? first + part : size;
  vyre_u32 item = vyre_local_id(c, 0), items = vyre_local_size(c, 0);

  for (vyre_u32 i = item; i < 256u; i += items)
    vyre_at(c, tally, i) = 0u;
  vyre_barrier(c);

  /* Relaxed: only the sums matter; the barriers order them before and behind. */
  for (vyre_u64 i = first + item; i < end; i += items)
    vyre_atomic_add_u32(&vyre_at(c, tally, vyre_at(c, data, i)), 1u, VYRE_RELAXED,
                        VYRE_SCOPE_WORKGROUP);
  vyre_barrier(c);

  for (vyre_u32 i = item; i < 256u; i += items)
    if (vyre_at(c, tally, i))
      vyre_atomic_add_u64(&vyre_at(c, counts, i), (vyre_u64)vyre_at(c, tally, i), VYRE_RELAXED,
                          VYRE_SCOPE_DEVICE);
}
