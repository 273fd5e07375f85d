/*
 * names.c - names that an author may give to functions and kernels, though compilers of GPUs have
 * functions of their own that are called so.
 */
#define VYRE_BUFFER_value 0
#define VYRE_BUFFER_abs 1

VYRE_FUNCTION vyre_u32 min(vyre_u32 a, vyre_u32 b)
{
  return a < b ? a : b;
}

VYRE_FUNCTION vyre_u32 max(vyre_u32 a, vyre_u32 b)
{
  return a < b ? b : a;
}

VYRE_FUNCTION vyre_f32 exp(vyre_f32 x)
{
  return x + 1.0f;
}

VYRE_SEGMENT(clock)(vyre_ctx *c, VYRE_IN(vyre_u32) value, VYRE_OUT(vyre_u32) abs)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, abs))
    vyre_at(c, abs, i) = min(value[i], 7u) + max(value[i], 5u) + (vyre_u32)exp(2.0f);
}
VYRE_ENTRY(clock, (VYRE_PARAM_IN(0, value), VYRE_PARAM_OUT(1, abs)),
           (VYRE_ARG(0, value), VYRE_ARG(1, abs)));
