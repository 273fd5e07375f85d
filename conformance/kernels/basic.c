/*
 * basic.c - small kernels over u32 and bytes.  The ids of the bindings are their numbers.
 */
#define VYRE_BUFFER_a 0
#define VYRE_BUFFER_b 1
#define VYRE_BUFFER_out 2
#define VYRE_BUFFER_bytes 0
#define VYRE_BUFFER_copy 1

/* out = a + b, element by element. */
VYRE_SEGMENT(add)
(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_IN(vyre_u32) b, VYRE_OUT(vyre_u32) out)
{
  vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, out))
    out[i] = a[i] + b[i];
}
VYRE_ENTRY(add, (VYRE_PARAM_IN(0, a), VYRE_PARAM_IN(1, b), VYRE_PARAM_OUT(2, out)),
           (VYRE_ARG(0, a), VYRE_ARG(1, b), VYRE_ARG(2, out)));

/* copy = bytes + 1, byte by byte, where there is one. */
VYRE_SEGMENT(bump)(vyre_ctx *c, VYRE_IN(vyre_u8) bytes, VYRE_INOUT(vyre_u8) copy)
{
  vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, bytes) && i < vyre_count(c, copy))
    copy[i] = (vyre_u8)(bytes[i] + 1u);
}
VYRE_ENTRY(bump, (VYRE_PARAM_IN(0, bytes), VYRE_PARAM_INOUT(1, copy)),
           (VYRE_ARG(0, bytes), VYRE_ARG(1, copy)));
