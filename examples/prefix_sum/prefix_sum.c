/*
 * prefix_sum.c - replaces each number by the sum of all numbers before it.
 *
 * The numbers are cut into blocks of BLOCK.  Each block is summed up within one workgroup, and its
 * total is kept; the totals are summed up in the same way, and their totals again, by a single
 * group that goes on over as many as there are.  Then every number gets what stood before its
 * block.  Three levels are enough for BLOCK^2 numbers in one step of the last group, and for any
 * more in several.
 */
#define BLOCK 1024u

/*
 * Sums up numbers[0 .. n), n <= BLOCK, in place, beginning with `carry`; returns the sum of all.
 * Every item takes a contiguous part, tells its sum in `part`, and adds up those of the items
 * before it.  With one barrier a block the items may be a block apart, so successive blocks have to
 * use different parts of workgroup memory: `turn` counts them.
 */
VYRE_FUNCTION vyre_u64 scan_block(vyre_ctx *c, VYRE_GLOBAL vyre_u64 *numbers, vyre_u64 n,
                                  vyre_u64 carry, VYRE_SHARED vyre_u64 *part, vyre_u32 turn)
{
  const vyre_u32 item = vyre_local_id(c, 0), items = vyre_local_size(c, 0);
  const vyre_u64 each = n / items + (n % items != 0u);
  const vyre_u64 first = each * item < n ? each * item : n;
  const vyre_u64 end = first + each < n ? first + each : n;
  VYRE_SHARED vyre_u64 *sums = part + (turn % 2u) * items;
  vyre_u64 sum = 0u, all = 0u;

  for (vyre_u64 i = first; i < end; ++i)
    sum += numbers[i];
  sums[item] = sum;
  vyre_barrier(c);

  sum = carry;
  for (vyre_u32 i = 0u; i < items; ++i) {
    sum += i < item ? sums[i] : (vyre_u64)0u;
    all += sums[i];
  }
  for (vyre_u64 i = first; i < end; ++i) {
    const vyre_u64 value = numbers[i];
    numbers[i] = sum;
    sum += value;
  }
  return all;
}

VYRE_FUNCTION vyre_u64 block_count(vyre_u64 n)
{
  return n / BLOCK + (n % BLOCK != 0u);
}

VYRE_FUNCTION vyre_u64 block_size(vyre_u64 n, vyre_u64 block)
{
  return n - block * BLOCK < BLOCK ? n - block * BLOCK : BLOCK;
}

/* Each block of the numbers by itself. */
VYRE_SEGMENT(scan_numbers)
(vyre_ctx *c, VYRE_INOUT(vyre_u64) numbers, VYRE_INOUT(vyre_u64) totals, VYRE_LOCAL(vyre_u64) part)
{
  const vyre_u64 n = vyre_count(c, numbers);
  vyre_u32 turn = 0u;
  for (vyre_u64 b = vyre_group_id(c, 0); b < block_count(n); b += vyre_group_count(c, 0)) {
    const vyre_u64 sum = scan_block(c, numbers + b * BLOCK, block_size(n, b), 0u, part, turn++);
    if (vyre_local_id(c, 0) == 0u)
      vyre_at(c, totals, b) = sum;
  }
}

/* Each block of the blocks' totals by itself. */
VYRE_SEGMENT(scan_totals)
(vyre_ctx *c, VYRE_INOUT(vyre_u64) totals, VYRE_INOUT(vyre_u64) tops, VYRE_LOCAL(vyre_u64) part)
{
  const vyre_u64 n = vyre_count(c, totals);
  vyre_u32 turn = 0u;
  for (vyre_u64 b = vyre_group_id(c, 0); b < block_count(n); b += vyre_group_count(c, 0)) {
    const vyre_u64 sum = scan_block(c, totals + b * BLOCK, block_size(n, b), 0u, part, turn++);
    if (vyre_local_id(c, 0) == 0u)
      vyre_at(c, tops, b) = sum;
  }
}

/* The totals of those, all by one group. */
VYRE_SEGMENT(scan_tops)
(vyre_ctx *c, VYRE_INOUT(vyre_u64) tops, VYRE_LOCAL(vyre_u64) part)
{
  const vyre_u64 n = vyre_count(c, tops);
  vyre_u64 carry = 0u;
  if (vyre_group_id(c, 0) != 0u)
    return;
  for (vyre_u64 b = 0u; b < block_count(n); ++b)
    carry += scan_block(c, tops + b * BLOCK, block_size(n, b), carry, part, (vyre_u32)b);
}

/* What stood before a number's block, and before the block of its block. */
VYRE_SEGMENT(add)
(vyre_ctx *c, VYRE_INOUT(vyre_u64) numbers, VYRE_IN(vyre_u64) totals, VYRE_IN(vyre_u64) tops)
{
  const vyre_u64 n = vyre_count(c, numbers);
  for (vyre_u64 b = vyre_group_id(c, 0); b < block_count(n); b += vyre_group_count(c, 0)) {
    const vyre_u64 before = vyre_at(c, totals, b) + vyre_at(c, tops, b / BLOCK);
    const vyre_u64 size = block_size(n, b);
    for (vyre_u64 i = vyre_local_id(c, 0); i < size; i += vyre_local_size(c, 0))
      vyre_at(c, numbers, b * BLOCK + i) += before;
  }
}
