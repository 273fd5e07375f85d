/*
 * shared.c - kernels with barriers and workgroup memory.
 */
#define VYRE_BUFFER_value 0
#define VYRE_BUFFER_result 1
#define VYRE_BUFFER_tile 2
#define VYRE_BUFFER_more 3

VYRE_FUNCTION vyre_u64 group_of(vyre_ctx *c)
{
  return vyre_group_id(c, 0) +
         (vyre_u64)vyre_group_count(c, 0) *
             (vyre_group_id(c, 1) + (vyre_u64)vyre_group_count(c, 1) * vyre_group_id(c, 2));
}

VYRE_FUNCTION vyre_u32 items_of(vyre_ctx *c)
{
  return vyre_local_size(c, 0) * vyre_local_size(c, 1) * vyre_local_size(c, 2);
}

VYRE_FUNCTION vyre_u32 item_of(vyre_ctx *c)
{
  return vyre_local_id(c, 0) +
         vyre_local_size(c, 0) *
             (vyre_local_id(c, 1) + vyre_local_size(c, 1) * vyre_local_id(c, 2));
}

/* Each group turns its part around, through workgroup memory. */
VYRE_SEGMENT(reverse)
(vyre_ctx *c, VYRE_IN(vyre_u32) value, VYRE_OUT(vyre_u32) result, VYRE_LOCAL(vyre_u32) tile)
{
  const vyre_u32 n = items_of(c), me = item_of(c);
  const vyre_u64 base = group_of(c) * n;
  tile[me] = value[base + me];
  vyre_barrier(c);
  result[base + me] = tile[n - 1u - me];
}
VYRE_ENTRY(reverse, (VYRE_PARAM_IN(0, value), VYRE_PARAM_OUT(1, result), VYRE_PARAM_LOCAL(2, tile)),
           (VYRE_ARG(0, value), VYRE_ARG(1, result), VYRE_ARG(2, tile)));

/* Sums of all values up to the item's own within its group; two arrays in turn. */
VYRE_SEGMENT(scan)
(vyre_ctx *c, VYRE_IN(vyre_u32) value, VYRE_OUT(vyre_u32) result, VYRE_LOCAL(vyre_u32) tile,
 VYRE_LOCAL(vyre_u32) more)
{
  const vyre_u32 n = items_of(c), me = item_of(c);
  const vyre_u64 base = group_of(c) * n;
  tile[me] = value[base + me];
  vyre_barrier(c);
  for (vyre_u32 step = 1u; step < n; step *= 2u) {
    more[me] = tile[me] + (me >= step ? tile[me - step] : 0u);
    vyre_barrier(c);
    tile[me] = more[me];
    vyre_barrier(c);
  }
  result[base + me] = tile[me];
}
VYRE_ENTRY(scan,
           (VYRE_PARAM_IN(0, value), VYRE_PARAM_OUT(1, result), VYRE_PARAM_LOCAL(2, tile),
            VYRE_PARAM_LOCAL(3, more)),
           (VYRE_ARG(0, value), VYRE_ARG(1, result), VYRE_ARG(2, tile), VYRE_ARG(3, more)));

/* Stores to the grid's own memory before a barrier are seen after it, within the group. */
VYRE_SEGMENT(rotate)(vyre_ctx *c, VYRE_IN(vyre_u32) value, VYRE_INOUT(vyre_u32) result)
{
  const vyre_u32 n = items_of(c), me = item_of(c);
  const vyre_u64 base = group_of(c) * n;
  vyre_u32 next = 0u;
  result[base + me] = value[base + me];
  for (vyre_u32 turn = 0u; turn < 5u; ++turn) {
    vyre_barrier(c);
    next = result[base + (me + 1u) % n];
    vyre_barrier(c);
    result[base + me] = next + turn;
  }
}
VYRE_ENTRY(rotate, (VYRE_PARAM_IN(0, value), VYRE_PARAM_INOUT(1, result)),
           (VYRE_ARG(0, value), VYRE_ARG(1, result)));

/* Fills all of its workgroup memory and sums it up again: value[0] words of it. */
VYRE_SEGMENT(fill)
(vyre_ctx *c, VYRE_IN(vyre_u32) value, VYRE_OUT(vyre_u32) result, VYRE_LOCAL(vyre_u32) tile)
{
  const vyre_u32 n = items_of(c), me = item_of(c), words = value[0];
  vyre_u32 sum = 0u;
  for (vyre_u32 i = me; i < words; i += n)
    tile[i] = i * 2654435761u + vyre_group_id(c, 0);
  vyre_barrier(c);
  for (vyre_u32 i = 0u; i < words; ++i)
    sum += tile[(i + me) % words] ^ i;
  result[group_of(c) * n + me] = sum;
}
VYRE_ENTRY(fill, (VYRE_PARAM_IN(0, value), VYRE_PARAM_OUT(1, result), VYRE_PARAM_LOCAL(2, tile)),
           (VYRE_ARG(0, value), VYRE_ARG(1, result), VYRE_ARG(2, tile)));
