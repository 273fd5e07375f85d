/*
 * gridsync_words.c - the steps of `vyre bench gridsync`, in the kernel language: over all words,
 * from one buffer into the other.  Each word needs one that another group wrote.
 */
VYRE_SEGMENT(forward)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)
{
  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, b);
  if (i < n)
    b[i] = a[i] * 3u + a[n - 1u - i];
}

VYRE_SEGMENT(backward)(vyre_ctx *c, VYRE_IN(vyre_u32) b, VYRE_OUT(vyre_u32) a)
{
  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, a);
  if (i < n)
    a[i] = b[i] * 5u + b[n - 1u - i];
}
