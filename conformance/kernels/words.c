/*
 * words.c - the arithmetic of the language over pairs of numbers; the case knows the answers.
 */
#define VYRE_BUFFER_left 0
#define VYRE_BUFFER_right 1
#define VYRE_BUFFER_result 2
#define VYRE_BUFFER_table 3

/* Sixteen results a pair. */
VYRE_SEGMENT(narrow)
(vyre_ctx *c, VYRE_IN(vyre_u32) left, VYRE_IN(vyre_u32) right, VYRE_OUT(vyre_u32) result)
{
  const vyre_u64 i = vyre_global_id(c, 0), at = i * 16u;
  vyre_u32 a = 0u, b = 0u;
  if (i >= vyre_count(c, left))
    return;
  a = left[i];
  b = right[i];
  result[at + 0u] = a + b;
  result[at + 1u] = a - b;
  result[at + 2u] = a * b;
  result[at + 3u] = b ? a / b : 0u;
  result[at + 4u] = b ? a % b : 0u;
  result[at + 5u] = vyre_shl_u32(a, b);
  result[at + 6u] = vyre_shr_u32(a, b);
  result[at + 7u] = vyre_popcount_u32(a);
  result[at + 8u] = vyre_clz_u32(a);
  result[at + 9u] = vyre_ctz_u32(a);
  result[at + 10u] = (a & b) ^ (a | ~b);
  result[at + 11u] = (vyre_u32)((vyre_i32)a < (vyre_i32)b) | (vyre_u32)(a < b) << 1;
  result[at + 12u] = (vyre_u32)((vyre_i8)(vyre_u8)a);
  result[at + 13u] = (vyre_u32)((vyre_i16)(vyre_u16)a);
  result[at + 14u] = (vyre_u32)((vyre_u8)(a + 200u)) + ((vyre_u32)(vyre_u16)(a * 3u) << 8);
  result[at + 15u] = (vyre_u32)((vyre_i32)a >> 7);
}
VYRE_ENTRY(narrow, (VYRE_PARAM_IN(0, left), VYRE_PARAM_IN(1, right), VYRE_PARAM_OUT(2, result)),
           (VYRE_ARG(0, left), VYRE_ARG(1, right), VYRE_ARG(2, result)));

VYRE_SEGMENT(wide)
(vyre_ctx *c, VYRE_IN(vyre_u64) left, VYRE_IN(vyre_u64) right, VYRE_OUT(vyre_u64) result)
{
  const vyre_u64 i = vyre_global_id(c, 0), at = i * 16u;
  vyre_u64 a = 0u, b = 0u;
  if (i >= vyre_count(c, left))
    return;
  a = left[i];
  b = right[i];
  result[at + 0u] = a + b;
  result[at + 1u] = a - b;
  result[at + 2u] = a * b;
  result[at + 3u] = b ? a / b : 0u;
  result[at + 4u] = b ? a % b : 0u;
  result[at + 5u] = vyre_shl_u64(a, b);
  result[at + 6u] = vyre_shr_u64(a, b);
  result[at + 7u] = vyre_popcount_u64(a);
  result[at + 8u] = vyre_clz_u64(a);
  result[at + 9u] = vyre_ctz_u64(a);
  result[at + 10u] = (a & b) ^ (a | ~b);
  result[at + 11u] = (vyre_u64)((vyre_i64)a < (vyre_i64)b) | (vyre_u64)(a < b) << 1;
  result[at + 12u] = (vyre_u64)((vyre_i32)(vyre_u32)a);
  result[at + 13u] = (vyre_u64)(vyre_u32)(a * b);
  result[at + 14u] = (vyre_u64)((vyre_i64)a >> 9);
  result[at + 15u] = ((a ^ b) << 1) | (a == b);
}
VYRE_ENTRY(wide, (VYRE_PARAM_IN(0, left), VYRE_PARAM_IN(1, right), VYRE_PARAM_OUT(2, result)),
           (VYRE_ARG(0, left), VYRE_ARG(1, right), VYRE_ARG(2, result)));

/* Eight results a pair.  a * b + a must not become a fused operation; vyre_fma must be one. */
#define FLOATS(name, type, root, fused)                                                            \
  VYRE_SEGMENT(name)                                                                               \
  (vyre_ctx * c, VYRE_IN(type) left, VYRE_IN(type) right, VYRE_OUT(type) result)                   \
  {                                                                                                \
    const vyre_u64 i = vyre_global_id(c, 0), at = i * 8u;                                          \
    type a, b;                                                                                     \
    if (i >= vyre_count(c, left))                                                                  \
      return;                                                                                      \
    a = left[i];                                                                                   \
    b = right[i];                                                                                  \
    result[at + 0u] = a + b;                                                                       \
    result[at + 1u] = a - b;                                                                       \
    result[at + 2u] = a * b;                                                                       \
    result[at + 3u] = a / b;                                                                       \
    result[at + 4u] = root(a);                                                                     \
    result[at + 5u] = fused(a, b, a);                                                              \
    result[at + 6u] = a * b + a;                                                                   \
    result[at + 7u] = a * a - b * b;                                                               \
  }                                                                                                \
  VYRE_ENTRY(name, (VYRE_PARAM_IN(0, left), VYRE_PARAM_IN(1, right), VYRE_PARAM_OUT(2, result)),   \
             (VYRE_ARG(0, left), VYRE_ARG(1, right), VYRE_ARG(2, result)))
FLOATS(singles, vyre_f32, vyre_sqrt_f32, vyre_fma_f32);
FLOATS(doubles, vyre_f64, vyre_sqrt_f64, vyre_fma_f64);

/* From integers to floats and between them: four results. */
VYRE_SEGMENT(convert)
(vyre_ctx *c, VYRE_IN(vyre_u64) left, VYRE_IN(vyre_f64) right, VYRE_OUT(vyre_f64) result)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i >= vyre_count(c, left))
    return;
  result[i * 4u + 0u] = (vyre_f64)left[i];
  result[i * 4u + 1u] = (vyre_f64)(vyre_f32)left[i];
  result[i * 4u + 2u] = (vyre_f64)(vyre_f32)(vyre_i32)(vyre_u32)left[i];
  result[i * 4u + 3u] = (vyre_f64)(vyre_f32)right[i];
}
VYRE_ENTRY(convert, (VYRE_PARAM_IN(0, left), VYRE_PARAM_IN(1, right), VYRE_PARAM_OUT(2, result)),
           (VYRE_ARG(0, left), VYRE_ARG(1, right), VYRE_ARG(2, result)));

/* Tables: one at file scope, one in a buffer. */
VYRE_CONSTANT(vyre_u32) primes[5] = {2u, 3u, 5u, 7u, 11u};

VYRE_SEGMENT(lookup)
(vyre_ctx *c, VYRE_IN(vyre_u32) left, VYRE_IN(vyre_u32) right, VYRE_OUT(vyre_u32) result,
 VYRE_IN(vyre_u8) table)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i >= vyre_count(c, left))
    return;
  result[i * 2u] = vyre_lookup16(table, left[i]);
  result[i * 2u + 1u] = primes[right[i] % 5u];
}
VYRE_ENTRY(lookup,
           (VYRE_PARAM_IN(0, left), VYRE_PARAM_IN(1, right), VYRE_PARAM_OUT(2, result),
            VYRE_PARAM_IN(3, table)),
           (VYRE_ARG(0, left), VYRE_ARG(1, right), VYRE_ARG(2, result), VYRE_ARG(3, table)));
