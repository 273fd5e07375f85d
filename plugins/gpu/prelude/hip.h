/*
 * hip.h - what AMD's machines say for the words of the prelude: hipRTC, and clang's HIP mode
 * without headers.  Subgroups of 32 and of 64.
 *
 * Whoever compiles it passes -ffp-contract=off, and VYRE_CLOCK_KHZ, the rate of the device's steady
 * clock, if that is not 100000.
 */
#pragma clang fp contract(off)
#define VYRE__DEVICE __attribute__((device))
#define VYRE__INLINE inline __attribute__((always_inline, unused))
#define VYRE__KERNEL __attribute__((global))
#define VYRE__GRID_CONSTANT
#define VYRE__GROUP_MEMORY __attribute__((shared))
#define VYRE__NOINLINE __attribute__((noinline))
/* Items look at different places of a table. */
#define VYRE__TABLE_MEMORY VYRE__DEVICE

#ifndef VYRE_CLOCK_KHZ
#define VYRE_CLOCK_KHZ 100000u
#endif

/* ---- ids ---- */

#define VYRE__ID(name, builtin)                                                                    \
  static VYRE__DEVICE VYRE__INLINE vyre_u32 name(int d)                                            \
  {                                                                                                \
    return d == 0   ? (vyre_u32)__builtin_amdgcn_##builtin##_x()                                   \
           : d == 1 ? (vyre_u32)__builtin_amdgcn_##builtin##_y()                                   \
                    : (vyre_u32)__builtin_amdgcn_##builtin##_z();                                  \
  }
VYRE__ID(vyre__local_id, workitem_id)
VYRE__ID(vyre__local_size, workgroup_size)
VYRE__ID(vyre__group_id, workgroup_id)
#undef VYRE__ID

/* ---- fences and atomics, by order and scope ---- */

/* Orders have the compiler's numbers; a scope must be a constant where it is named. */
#define VYRE__BY_SCOPE(OP, ...)                                                                    \
  (scope == VYRE_SCOPE_WORKGROUP ? OP(__VA_ARGS__, 3 /* workgroup */)                              \
   : scope == VYRE_SCOPE_DEVICE  ? OP(__VA_ARGS__, 4 /* agent */)                                  \
                                 : OP(__VA_ARGS__, 5 /* system */))

#define VYRE__FENCE(order)                                                                         \
  if (scope == VYRE_SCOPE_WORKGROUP)                                                               \
    __builtin_amdgcn_fence(order, "workgroup");                                                    \
  else if (scope == VYRE_SCOPE_DEVICE)                                                             \
    __builtin_amdgcn_fence(order, "agent");                                                        \
  else                                                                                             \
    __builtin_amdgcn_fence(order, "")

/*
 * What has to be over before a release: all accesses of the wave, and the write-back of caches
 * where the machine has one.  Compilers put the waits in, and some drop ones that are needed:
 * behind a write-back with no access of the wave's own to wait for, and at the beginning of a loop
 * for what its end does (clang 22 does both, clang 15 neither; llvm-project, pull requests 178316
 * and 220357). So a release is a fence, a wait that no compiler drops and moves nothing across, and
 * an operation without release.
 */
#if defined(__GFX12__)
#define VYRE__WAIT_ALL "s_wait_loadcnt 0x0\n\ts_wait_storecnt 0x0\n\ts_wait_dscnt 0x0"
#define VYRE__WAIT_GROUP VYRE__WAIT_ALL
#elif defined(__GFX10__) || defined(__GFX11__)
#define VYRE__WAIT_ALL "s_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_waitcnt_vscnt null, 0x0"
#define VYRE__WAIT_GROUP VYRE__WAIT_ALL
#else
#define VYRE__WAIT_ALL "s_waitcnt vmcnt(0) lgkmcnt(0)"
/* A group's items share a cache, which takes their accesses in order. */
#define VYRE__WAIT_GROUP "s_waitcnt lgkmcnt(0)"
#endif

/* Does the releasing part, and returns the order that is left for the operation: a sequentially
   consistent one acquires then, as on these machines it is nothing more. */
static VYRE__DEVICE VYRE__INLINE int vyre__released(int order, int scope)
{
  if (order != VYRE_RELEASE && order != VYRE_ACQ_REL && order != VYRE_SEQ_CST)
    return order;
  __asm__ volatile(
      ""); /* keeps fence and wait together: branches that begin alike share no fence */
  VYRE__FENCE(__ATOMIC_RELEASE);
  if (scope == VYRE_SCOPE_WORKGROUP)
    __asm__ volatile(VYRE__WAIT_GROUP ::: "memory");
  else
    __asm__ volatile(VYRE__WAIT_ALL ::: "memory");
  return order == VYRE_RELEASE ? VYRE_RELAXED : VYRE_ACQUIRE;
}

static VYRE__DEVICE VYRE__INLINE void vyre__fence(int order, int scope)
{
  order = vyre__released(order, scope);
  if (order == VYRE_ACQUIRE) {
    VYRE__FENCE(__ATOMIC_ACQUIRE);
  }
}

/* An order that the operation can have: a load cannot release, a store cannot acquire. */
#define VYRE__LOAD_ORDER                                                                           \
  (order == VYRE_RELEASE ? __ATOMIC_RELAXED : order == VYRE_ACQ_REL ? __ATOMIC_ACQUIRE : order)
#define VYRE__STORE_ORDER                                                                          \
  (order == VYRE_ACQUIRE ? __ATOMIC_RELAXED : order == VYRE_ACQ_REL ? __ATOMIC_RELEASE : order)

#define VYRE__ATOMICS(type)                                                                        \
  static VYRE__DEVICE VYRE__INLINE vyre_##type vyre__gpu_load_##type(const vyre_##type *p,         \
                                                                     int order, int scope)         \
  {                                                                                                \
    return VYRE__BY_SCOPE(__hip_atomic_load, p, VYRE__LOAD_ORDER);                                 \
  }                                                                                                \
  static VYRE__DEVICE VYRE__INLINE void vyre__gpu_store_##type(vyre_##type *p, vyre_##type v,      \
                                                               int order, int scope)               \
  {                                                                                                \
    order = vyre__released(order, scope);                                                          \
    VYRE__BY_SCOPE(__hip_atomic_store, p, v, VYRE__STORE_ORDER);                                   \
  }                                                                                                \
  static VYRE__DEVICE VYRE__INLINE vyre_##type vyre__gpu_cas_##type(                               \
      vyre_##type *p, vyre_##type expected, vyre_##type desired, int order, int scope)             \
  {                                                                                                \
    order = vyre__released(order, scope);                                                          \
    VYRE__BY_SCOPE(__hip_atomic_compare_exchange_strong, p, &expected, desired, order,             \
                   VYRE__LOAD_ORDER);                                                              \
    return expected;                                                                               \
  }
VYRE__ATOMICS(u32)
VYRE__ATOMICS(u64)

#define VYRE__RMW(name, word, type)                                                                \
  static VYRE__DEVICE VYRE__INLINE vyre_##type vyre__gpu_##name(vyre_##type *p, vyre_##type v,     \
                                                                int order, int scope)              \
  {                                                                                                \
    order = vyre__released(order, scope);                                                          \
    return VYRE__BY_SCOPE(__hip_atomic_##word, p, v, order);                                       \
  }
VYRE__RMW(add_u32, fetch_add, u32)
VYRE__RMW(add_u64, fetch_add, u64)
VYRE__RMW(and_u32, fetch_and, u32)
VYRE__RMW(and_u64, fetch_and, u64)
VYRE__RMW(or_u32, fetch_or, u32)
VYRE__RMW(or_u64, fetch_or, u64)
VYRE__RMW(xor_u32, fetch_xor, u32)
VYRE__RMW(xor_u64, fetch_xor, u64)
VYRE__RMW(exchange_u32, exchange, u32)
VYRE__RMW(exchange_u64, exchange, u64)
VYRE__RMW(min_u32, fetch_min, u32)
VYRE__RMW(min_u64, fetch_min, u64)
VYRE__RMW(max_u32, fetch_max, u32)
VYRE__RMW(max_u64, fetch_max, u64)
VYRE__RMW(min_i32, fetch_min, i32)
VYRE__RMW(min_i64, fetch_min, i64)
VYRE__RMW(max_i32, fetch_max, i32)
VYRE__RMW(max_i64, fetch_max, i64)

/* ---- meeting, waiting, ending ---- */

static VYRE__DEVICE VYRE__INLINE void vyre__barrier()
{
  vyre__released(VYRE_RELEASE, VYRE_SCOPE_WORKGROUP);
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* A group's arrival at the grid's barrier, and a look of one who waits there.  An acquire empties
   the caches: one is enough, behind the waiting. */
#define VYRE__MEET_ORDER VYRE_RELAXED
static VYRE__DEVICE VYRE__INLINE void vyre__meet_arrive(vyre_u32 *word, vyre_u32 v)
{
  (void)vyre__gpu_add_u32(word, v, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__meet_look(const vyre_u32 *word, int order)
{
  return vyre__gpu_load_u32(word, order, VYRE_SCOPE_DEVICE);
}

/* A sleep is 64 cycles, some 32 ns. */
static VYRE__DEVICE VYRE__INLINE void vyre__pause()
{
  __builtin_amdgcn_s_sleep(1);
}

static VYRE__DEVICE VYRE__INLINE void vyre__rest(vyre_u32 ns)
{
  for (vyre_u32 left = ns / 32u; left != 0u; --left)
    __builtin_amdgcn_s_sleep(1);
}

static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__clock()
{
#if defined(__GFX11__) || defined(__GFX12__)
  const vyre_u64 ticks = __builtin_amdgcn_s_sendmsg_rtnl(0x83); /* the real time */
#else
  const vyre_u64 ticks = __builtin_amdgcn_s_memrealtime();
#endif
  /* In two parts, so that nothing wraps: the clock has run for days. */
  return ticks / VYRE_CLOCK_KHZ * 1000000u + ticks % VYRE_CLOCK_KHZ * 1000000u / VYRE_CLOCK_KHZ;
}

/* Ends the item's whole subgroup: the machine cannot end less. */
static VYRE__DEVICE VYRE__INLINE void vyre__end_item()
{
  __builtin_amdgcn_endpgm();
}

/* ---- bits and floats ---- */

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__popcount(vyre_u32 v)
{
  return (vyre_u32)__builtin_popcount(v);
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__popcount(vyre_u64 v)
{
  return (vyre_u32)__builtin_popcountll(v);
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__clz(vyre_u32 v)
{
  return v ? (vyre_u32)__builtin_clz(v) : 32u;
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__clz(vyre_u64 v)
{
  return v ? (vyre_u32)__builtin_clzll(v) : 64u;
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__ctz(vyre_u32 v)
{
  return v ? (vyre_u32)__builtin_ctz(v) : 32u;
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__ctz(vyre_u64 v)
{
  return v ? (vyre_u32)__builtin_ctzll(v) : 64u;
}

/* Older compilers round the square root right only in their library. */
#if __clang_major__ < 18
extern "C" VYRE__DEVICE __attribute__((const)) vyre_f32 __ocml_sqrt_f32(vyre_f32);
extern "C" VYRE__DEVICE __attribute__((const)) vyre_f64 __ocml_sqrt_f64(vyre_f64);
#define VYRE__SQRT_F32 __ocml_sqrt_f32
#define VYRE__SQRT_F64 __ocml_sqrt_f64
#else
#define VYRE__SQRT_F32 __builtin_sqrtf
#define VYRE__SQRT_F64 __builtin_sqrt
#endif

static VYRE__DEVICE VYRE__INLINE vyre_f32 vyre__sqrt(vyre_f32 v)
{
  return VYRE__SQRT_F32(v);
}

static VYRE__DEVICE VYRE__INLINE vyre_f64 vyre__sqrt(vyre_f64 v)
{
  return VYRE__SQRT_F64(v);
}

static VYRE__DEVICE VYRE__INLINE vyre_f32 vyre__fma(vyre_f32 a, vyre_f32 b, vyre_f32 d)
{
  return __builtin_fmaf(a, b, d);
}

static VYRE__DEVICE VYRE__INLINE vyre_f64 vyre__fma(vyre_f64 a, vyre_f64 b, vyre_f64 d)
{
  return __builtin_fma(a, b, d);
}

/* ---- subgroups: wavefronts ---- */

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_size()
{
#if __has_builtin(__builtin_amdgcn_wavefrontsize)
  return __builtin_amdgcn_wavefrontsize();
#else /* compilers before LLVM 16 have a macro */
  return __AMDGCN_WAVEFRONT_SIZE;
#endif
}

/* The set bits below the own lane, of all ones. */
static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_lane()
{
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__subgroup_ballot(bool predicate)
{
  return __builtin_amdgcn_uicmp((vyre_u32)predicate, 0u, 33 /* not equal */);
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_shuffle(vyre_u32 value, vyre_u32 lane)
{
  return (vyre_u32)__builtin_amdgcn_ds_bpermute((int)(lane << 2), (int)value);
}

/* Some lanes may be missing: whoever is here gives its value in turn. */
static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_add(vyre_u32 value)
{
  vyre_u32 sum = 0u;
  for (vyre_u64 rest = vyre__subgroup_ballot(true); rest != 0u; rest &= rest - 1u)
    sum += (vyre_u32)__builtin_amdgcn_readlane((int)value, (int)vyre__ctz(rest));
  return sum;
}
