/*
 * bound.c - what a kernel sees of its bindings: addresses, counts, widths, many of them.  Ids are
 * far from positions on purpose.
 */
#define VYRE_BUFFER_first 40
#define VYRE_BUFFER_second 3
#define VYRE_BUFFER_third 17
#define VYRE_BUFFER_spare 11
#define VYRE_BUFFER_seen 0
#define VYRE_BUFFER_tile 7

/* Addresses of all bindings. */
VYRE_SEGMENT(where)
(vyre_ctx *c, VYRE_IN(vyre_u8) first, VYRE_INOUT(vyre_u8) second, VYRE_OUT(vyre_u8) third,
 VYRE_LOCAL(vyre_u8) tile, VYRE_LOCAL(vyre_u8) spare, VYRE_OUT(vyre_u64) seen)
{
  if (vyre_global_id(c, 0))
    return;
  seen[0] = (vyre_u64)first;
  seen[1] = (vyre_u64)second;
  seen[2] = (vyre_u64)third;
  seen[3] = (vyre_u64)tile;
  seen[4] = (vyre_u64)spare;
}
VYRE_ENTRY(where,
           (VYRE_PARAM_IN(0, first), VYRE_PARAM_INOUT(1, second), VYRE_PARAM_OUT(2, third),
            VYRE_PARAM_LOCAL(3, tile), VYRE_PARAM_LOCAL(4, spare), VYRE_PARAM_OUT(5, seen)),
           (VYRE_ARG(0, first), VYRE_ARG(1, second), VYRE_ARG(2, third), VYRE_ARG(3, tile),
            VYRE_ARG(4, spare), VYRE_ARG(5, seen)));

/* Counts by name, and the first byte by position; the id of `spare` is bound by no kernel. */
VYRE_SEGMENT(counts)
(vyre_ctx *c, VYRE_IN(vyre_u8) first, VYRE_IN(vyre_u8) second, VYRE_IN(vyre_u8) third,
 VYRE_OUT(vyre_u64) seen)
{
  if (vyre_global_id(c, 0))
    return;
  seen[0] = vyre_count(c, first);
  seen[1] = vyre_count(c, second);
  seen[2] = vyre_count(c, third);
  seen[3] = vyre_count(c, seen);
  seen[4] = vyre_count(c, first) ? first[0] : 0u;
  seen[5] = vyre_count(c, second) ? second[0] : 0u;
  seen[6] = vyre_count(c, third) ? third[0] : 0u;
}
VYRE_ENTRY(counts,
           (VYRE_PARAM_IN(0, first), VYRE_PARAM_IN(1, second), VYRE_PARAM_IN(2, third),
            VYRE_PARAM_OUT(3, seen)),
           (VYRE_ARG(0, first), VYRE_ARG(1, second), VYRE_ARG(2, third), VYRE_ARG(3, seen)));

/* second = first turned around, third = second's start, element by element, in four widths. */
#define TURN(name, type)                                                                           \
  VYRE_SEGMENT(name)                                                                               \
  (vyre_ctx * c, VYRE_IN(type) first, VYRE_INOUT(type) second, VYRE_OUT(type) third)               \
  {                                                                                                \
    const vyre_u64 i = vyre_global_id(c, 0), n = vyre_count(c, first);                             \
    if (i >= n)                                                                                    \
      return;                                                                                      \
    third[i] = second[i];                                                                          \
    second[i] = first[n - 1u - i];                                                                 \
  }                                                                                                \
  VYRE_ENTRY(name,                                                                                 \
             (VYRE_PARAM_IN(0, first), VYRE_PARAM_INOUT(1, second), VYRE_PARAM_OUT(2, third)),     \
             (VYRE_ARG(0, first), VYRE_ARG(1, second), VYRE_ARG(2, third)))
TURN(turn_1, vyre_u8);
TURN(turn_2, vyre_u16);
TURN(turn_4, vyre_u32);
TURN(turn_8, vyre_u64);

/* Writes nothing at all. */
VYRE_SEGMENT(idle)(vyre_ctx *c, VYRE_IN(vyre_u8) first, VYRE_INOUT(vyre_u8) second)
{
  (void)c;
  (void)first;
  (void)second;
}
VYRE_ENTRY(idle, (VYRE_PARAM_IN(0, first), VYRE_PARAM_INOUT(1, second)),
           (VYRE_ARG(0, first), VYRE_ARG(1, second)));
