/*
 * buffer.c - kernels over buffers of the device, whose order and places can be told from the bytes.
 */
#define VYRE_BUFFER_a 0
#define VYRE_BUFFER_b 1
#define VYRE_BUFFER_bytes 0

/* One step of a chain: a = a * 3 + 1. */
VYRE_SEGMENT(chain)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, a))
    a[i] = a[i] * 3u + 1u;
}
VYRE_ENTRY(chain, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));

/* Every element of b comes from a far one of a. */
VYRE_SEGMENT(move)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)
{
  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, b);
  if (i < n)
    b[i] = a[(i * 7u + 3u) % n] * 5u + (vyre_u32)i;
}
VYRE_ENTRY(move, (VYRE_PARAM_IN(0, a), VYRE_PARAM_OUT(1, b)), (VYRE_ARG(0, a), VYRE_ARG(1, b)));

/* b mixed with far elements of a; in another order it comes to something else. */
typedef struct mix_push {
  vyre_u32 times, more;
} mix_push;

VYRE_SEGMENT(mix)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)
{
  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, b);
  if (i < n)
    b[i] = b[i] * 3u + a[(i * 7u + 3u) % n] * vyre_push(c, mix_push)->times +
           vyre_push(c, mix_push)->more;
}
VYRE_ENTRY(mix, (VYRE_PARAM_IN(0, a), VYRE_PARAM_INOUT(1, b)), (VYRE_ARG(0, a), VYRE_ARG(1, b)));

/* One item alone: waits as many nanoseconds as the push constants say, then chain() over all. */
typedef struct slow_push {
  vyre_u64 ns;
} slow_push;

VYRE_SEGMENT(slow)(vyre_ctx *c, VYRE_INOUT(vyre_u32) a)
{
  const vyre_u64 begin = vyre_clock_ns(c);
  vyre_u32 misses = 0u;
  if (vyre_global_id(c, 0))
    return;
  while (vyre_clock_ns(c) - begin < vyre_push(c, slow_push)->ns)
    vyre_backoff(c, misses++);
  for (vyre_u64 i = 0u; i < vyre_count(c, a); ++i)
    a[i] = a[i] * 3u + 1u;
}
VYRE_ENTRY(slow, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));

/* Bytes: the value and its number. */
VYRE_SEGMENT(stamp)(vyre_ctx *c, VYRE_INOUT(vyre_u8) bytes)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, bytes))
    bytes[i] = (vyre_u8)(bytes[i] * 3u + i + 1u);
}
VYRE_ENTRY(stamp, (VYRE_PARAM_INOUT(0, bytes)), (VYRE_ARG(0, bytes)));

/* Where the kernel finds it. */
VYRE_SEGMENT(place)(vyre_ctx *c, VYRE_INOUT(vyre_u64) a)
{
  if (vyre_global_id(c, 0) == 0u)
    a[0] = (vyre_u64)a;
}
VYRE_ENTRY(place, (VYRE_PARAM_INOUT(0, a)), (VYRE_ARG(0, a)));
