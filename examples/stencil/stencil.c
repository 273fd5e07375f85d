/*
 * stencil.c - heat in a plate whose rim keeps its temperature: each inner cell becomes the mean of
 * its four neighbours (Jacobi's relaxation), again and again.
 *
 * Two grids take turns, so that a step reads only what the step before it wrote; a pass is two
 * steps.  There are two programs in here:
 *   - fixed point, u32: the mean is rounded down.  Temperatures that begin below their final values
 *     only rise and are bounded, so the run comes to rest exactly: it is iterated until a pass
 *     changes nothing.
 *   - f32: a given number of passes.  Additions are in a fixed order and are rounded alike on every
 *     device, so the result is bit-equal to that of the same loop in C.
 */
typedef struct stencil_size {
  vyre_u32 width;
  vyre_u32 height;
} stencil_size;

/* Cells of a row that an item computes one after the other. */
#define STENCIL_STRIP 32u

/* A step from one grid into the other; every cell is written, those of the rim with what they are.
 */
#define STENCIL_STEP(from, to, mean)                                                               \
  const vyre_u32 width = vyre_push(c, stencil_size)->width;                                        \
  const vyre_u32 height = vyre_push(c, stencil_size)->height;                                      \
  const vyre_u32 strips = width / STENCIL_STRIP + (width % STENCIL_STRIP != 0u);                   \
  const vyre_u64 count = (vyre_u64)strips * height;                                                \
  VYRE_SPREAD(c, i, count)                                                                         \
  {                                                                                                \
    const vyre_u32 y = (vyre_u32)(i / strips), left = (vyre_u32)(i % strips) * STENCIL_STRIP;      \
    const vyre_u32 right = left + STENCIL_STRIP < width ? left + STENCIL_STRIP : width;            \
    const vyre_u64 row = (vyre_u64)y * width;                                                      \
    if (y == 0u || y + 1u == height) {                                                             \
      for (vyre_u64 x = left; x < right; ++x)                                                      \
        vyre_at(c, to, row + x) = vyre_at(c, from, row + x);                                       \
    } else {                                                                                       \
      const vyre_u64 end = right == width ? right - 1u : right;                                    \
      for (vyre_u64 x = left == 0u ? 1u : left; x < end; ++x)                                      \
        vyre_at(c, to, row + x) =                                                                  \
            mean(vyre_at(c, from, row + x - width), vyre_at(c, from, row + x - 1u),                \
                 vyre_at(c, from, row + x + 1u), vyre_at(c, from, row + x + width));               \
      if (left == 0u)                                                                              \
        vyre_at(c, to, row) = vyre_at(c, from, row);                                               \
      if (right == width)                                                                          \
        vyre_at(c, to, row + width - 1u) = vyre_at(c, from, row + width - 1u);                     \
    }                                                                                              \
  }

/* Temperatures in fixed point are below 2^30, so that four of them add up. */
#define STENCIL_MEAN_U32(a, b, d, e) (((a) + (b) + (d) + (e)) / 4u)
#define STENCIL_MEAN_F32(a, b, d, e) (((a) + (b) + (d) + (e)) * 0.25f)

VYRE_SEGMENT(fixed_there)
(vyre_ctx *c, VYRE_IN(vyre_u32) grid,
 VYRE_OUT(vyre_u32) other){STENCIL_STEP(grid, other, STENCIL_MEAN_U32)}

VYRE_SEGMENT(fixed_back)(vyre_ctx *c, VYRE_IN(vyre_u32) other,
                         VYRE_OUT(vyre_u32) grid){STENCIL_STEP(other, grid, STENCIL_MEAN_U32)}

VYRE_SEGMENT(float_there)(vyre_ctx *c, VYRE_IN(vyre_f32) grid,
                          VYRE_OUT(vyre_f32) other){STENCIL_STEP(grid, other, STENCIL_MEAN_F32)}

VYRE_SEGMENT(float_back)(vyre_ctx *c, VYRE_IN(vyre_f32) other, VYRE_OUT(vyre_f32) grid)
{
  STENCIL_STEP(other, grid, STENCIL_MEAN_F32)
}
