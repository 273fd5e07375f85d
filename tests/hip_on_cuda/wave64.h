/*
 * wave64.h - the words of a subgroup where a wavefront has 64 lanes, on a machine whose warps have
 * 32: behind CUDA's prelude, whose words these hide (forward_rtc.c).
 *
 * Two warps are one wavefront; they meet at a barrier of their own and leave each other their
 * values in workgroup memory.  All lanes of a wavefront must come to a word together, as they do
 * wherever ours use one.  There are fifteen such barriers: a larger workgroup ends in a trap.
 */
#if VYRE_FORWARD_WAVE == 64
static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__wave_rank()
{
  return vyre__local_id(0) +
         vyre__local_size(0) * (vyre__local_id(1) + vyre__local_size(1) * vyre__local_id(2));
}

/* Lanes of the wavefront: the last one of a group may have fewer. */
static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__wave_lanes()
{
  const vyre_u32 items = vyre__local_size(0) * vyre__local_size(1) * vyre__local_size(2);
  const vyre_u32 left = items - (vyre__wave_rank() & ~63u);
  return left < 64u ? left : 64u;
}

static VYRE__DEVICE VYRE__INLINE void vyre__wave_meet()
{
  const vyre_u32 barrier = vyre__wave_rank() / 64u + 1u;
  const vyre_u32 threads = (vyre__wave_lanes() + 31u) & ~31u;
  if (barrier > 15u)
    asm volatile("trap;");
  asm volatile("barrier.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}

/* The values that the lanes of the wavefront gave. */
static VYRE__DEVICE VYRE__INLINE const vyre_u32 *vyre__wave_gather(vyre_u32 value)
{
  static VYRE__GROUP_MEMORY vyre_u32 values[15 * 64];
  const vyre_u32 rank = vyre__wave_rank();
  vyre__wave_meet(); /* the values before these have been read */
  values[rank < 960u ? rank : 0u] = value;
  vyre__wave_meet();
  return values + (rank & ~63u);
}

static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__wave_ballot(bool predicate)
{
  const vyre_u32 *values = vyre__wave_gather(predicate ? 1u : 0u);
  vyre_u64 ones = 0u;
  for (vyre_u32 i = 0u; i < vyre__wave_lanes(); ++i)
    ones |= (vyre_u64)values[i] << i;
  return ones;
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__wave_shuffle(vyre_u32 value, vyre_u32 lane)
{
  return vyre__wave_gather(value)[lane & 63u];
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__wave_add(vyre_u32 value)
{
  const vyre_u32 *values = vyre__wave_gather(value);
  vyre_u32 sum = 0u;
  for (vyre_u32 i = 0u; i < vyre__wave_lanes(); ++i)
    sum += values[i];
  return sum;
}

#define vyre__subgroup_size() 64u
#define vyre__subgroup_lane() (vyre__wave_rank() & 63u)
#define vyre__subgroup_ballot(predicate) vyre__wave_ballot(predicate)
#define vyre__subgroup_shuffle(value, lane) vyre__wave_shuffle((value), (lane))
#define vyre__subgroup_add(value) vyre__wave_add(value)
#endif
