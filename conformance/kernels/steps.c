/*
 * steps.c - a program of three steps: as launches of their own, and as one fused launch.
 *
 * far and back read what other groups have written in the step before; up counts each element up to
 * the limit in the push constants and says whether it has.
 */
#define VYRE_BUFFER_a 0
#define VYRE_BUFFER_b 1
#define VYRE_BUFFER_count 2
#define VYRE_BUFFER_vyre_control 3
#define VYRE_BUFFER_trace 0

typedef struct steps_push {
  vyre_u32 limit;
} steps_push;

VYRE_SEGMENT(far)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_OUT(vyre_u32) b)
{
  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, b);
  if (i < n)
    b[i] = a[(i * 7u + 3u) % n] * 5u + (vyre_u32)i;
}

VYRE_SEGMENT(back)(vyre_ctx *c, VYRE_IN(vyre_u32) b, VYRE_INOUT(vyre_u32) a)
{
  const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, a);
  if (i < n)
    a[i] = b[n - 1u - i] ^ vyre_shr_u32(b[i], 3);
}

VYRE_SEGMENT(up)(vyre_ctx *c, VYRE_INOUT(vyre_u32) count)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, count) && count[i] < vyre_push(c, steps_push)->limit) {
    count[i] += 1u;
    vyre_changed(c);
  }
}

VYRE_ENTRY(far, (VYRE_PARAM_IN(0, a), VYRE_PARAM_OUT(1, b)), (VYRE_ARG(0, a), VYRE_ARG(1, b)));
VYRE_ENTRY(back, (VYRE_PARAM_IN(0, b), VYRE_PARAM_INOUT(1, a)), (VYRE_ARG(0, b), VYRE_ARG(1, a)));
VYRE_ENTRY_CHANGED(up, (VYRE_PARAM_INOUT(0, count), VYRE_PARAM_INOUT(1, vyre_control)),
                   (VYRE_ARG(0, count)), 1);

/* In a step of its own: four words for each pass, the place is in the push constants. */
VYRE_SEGMENT(note)(vyre_ctx *c, VYRE_INOUT(vyre_u32) trace, VYRE_IN(vyre_u32) vyre_control)
{
  const vyre_u64 at =
      vyre_control[VYRE_CONTROL_PASS] * (vyre_u64)4u + vyre_push(c, steps_push)->limit;
  if (vyre_global_id(c, 0) == 0u && at < vyre_count(c, trace))
    trace[at] += 1u;
}
VYRE_ENTRY(note, (VYRE_PARAM_INOUT(0, trace), VYRE_PARAM_IN(1, vyre_control)),
           (VYRE_ARG(0, trace), VYRE_ARG(1, vyre_control)));

VYRE_FUSED(vyre_fused, (VYRE_PARAM_INOUT(0, a), VYRE_PARAM_INOUT(1, b), VYRE_PARAM_INOUT(2, count),
                        VYRE_PARAM_INOUT(3, vyre_control)))
VYRE_PASSES(3, 3)
VYRE_RUN(0, far, (VYRE_ARG(0, a), VYRE_ARG(1, b)))
VYRE_RUN(1, back, (VYRE_ARG(1, b), VYRE_ARG(0, a)))
VYRE_RUN_CHANGED(2, up, (VYRE_ARG(2, count)), 3)
VYRE_PASSES_END
VYRE_FUSED_END
