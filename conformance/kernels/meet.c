/*
 * meet.c - groups that wait for each other without the words of a fused launch: they end only if
 * all of them are there at once.
 *
 * words: 0 counts arrivals, from 32 on a place for each group.
 */
#define VYRE_BUFFER_words 0
#define VYRE_BUFFER_sums 1

VYRE_FUNCTION vyre_u32 rank_of(vyre_ctx *c)
{
  return vyre_group_id(c, 0) +
         vyre_group_count(c, 0) *
             (vyre_group_id(c, 1) + vyre_group_count(c, 1) * vyre_group_id(c, 2));
}

/* Each group leaves a number, waits for all, and adds the numbers of all up. */
VYRE_SEGMENT(meet)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words, VYRE_OUT(vyre_u32) sums)
{
  const vyre_u32 groups = vyre_group_count(c, 0) * vyre_group_count(c, 1) * vyre_group_count(c, 2);
  const vyre_u32 rank = rank_of(c);
  vyre_u32 misses = 0u, sum = 0u;
  if (vyre_local_id(c, 0) | vyre_local_id(c, 1) | vyre_local_id(c, 2))
    return;
  words[32u + rank] = rank * 2654435761u + 1u;
  vyre_atomic_add_u32(&words[0], 1u, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE);
  while (vyre_atomic_load_u32(&words[0], VYRE_ACQUIRE, VYRE_SCOPE_DEVICE) < groups)
    vyre_backoff(c, misses++);
  for (vyre_u32 k = 0u; k < groups; ++k)
    sum += words[32u + k];
  sums[rank] = sum;
}
VYRE_ENTRY(meet, (VYRE_PARAM_INOUT(0, words), VYRE_PARAM_OUT(1, sums)),
           (VYRE_ARG(0, words), VYRE_ARG(1, sums)));
