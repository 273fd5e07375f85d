/* A kernel that somebody else's build compiles ahead of time. */
VYRE_SEGMENT(square)(vyre_ctx *c, VYRE_INOUT(vyre_u8) numbers)
{
  vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, numbers))
    numbers[i] = (vyre_u8)(numbers[i] * numbers[i]);
}
