/*
 * gridsync_words.c - the steps of `vyre bench gridsync`, in the kernel language: over all words, an
 * even number of them, from one buffer into the other.  One way an item takes a word of each half,
 * the other way one word: much of what a group reads was written by another one.
 */
VYRE_SEGMENT(forward)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)
{
  const vyre_u64 i = vyre_global_id(c, 0), half = vyre_count(c, b) / 2u;
  if (i < half) {
    /* Both are read before anything is written: a compiler does not know that a is not b. */
    const vyre_u32 low = a[i], high = a[i + half];
    b[i] = low * 3u + high;
    b[i + half] = high * 5u + low;
  }
}

VYRE_SEGMENT(backward)(vyre_ctx *c, VYRE_IN(vyre_u32) b, VYRE_OUT(vyre_u32) a)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, a))
    a[i] = b[i] * 7u + 1u;
}
