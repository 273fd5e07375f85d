/*
 * cuda.h - what NVIDIA's machine says for the words of the prelude: NVRTC, and clang's CUDA mode
 * without headers.  sm_70 and newer: the memory model of PTX with scopes, and items of a subgroup
 * that make progress one by one.
 *
 * What is written in PTX tells the compiler that it may change memory ("memory"), whatever its
 * order: plain accesses stay on the side on which they were written.
 */
#if defined(__clang__)
#pragma clang fp contract(off)
#define VYRE__DEVICE __attribute__((device))
#define VYRE__INLINE inline __attribute__((always_inline, unused))
#define VYRE__KERNEL __attribute__((global))
#define VYRE__GRID_CONSTANT __attribute__((grid_constant))
#define VYRE__GROUP_MEMORY __attribute__((shared))
#define VYRE__NOINLINE __attribute__((noinline))
#else
#define VYRE__DEVICE __device__
#define VYRE__INLINE __forceinline__ __attribute__((unused))
#define VYRE__KERNEL __global__
#define VYRE__GRID_CONSTANT __grid_constant__
#define VYRE__GROUP_MEMORY __shared__
#define VYRE__NOINLINE __noinline__
#endif
/* Items look at different places of a table: the constant memory would serve them one by one. */
#define VYRE__TABLE_MEMORY VYRE__DEVICE

/* ---- ids: special registers, constant as long as an item lives ---- */

#if defined(__clang__)
#define VYRE__ID(name, sreg, vector)                                                               \
  static VYRE__DEVICE VYRE__INLINE vyre_u32 name(int d)                                            \
  {                                                                                                \
    return d == 0   ? (vyre_u32)__nvvm_read_ptx_sreg_##sreg##_x()                                  \
           : d == 1 ? (vyre_u32)__nvvm_read_ptx_sreg_##sreg##_y()                                  \
                    : (vyre_u32)__nvvm_read_ptx_sreg_##sreg##_z();                                 \
  }
#else
#define VYRE__ID(name, sreg, vector)                                                               \
  static VYRE__DEVICE VYRE__INLINE vyre_u32 name(int d)                                            \
  {                                                                                                \
    return d == 0 ? vector.x : d == 1 ? vector.y : vector.z;                                       \
  }
#endif
VYRE__ID(vyre__local_id, tid, threadIdx)
VYRE__ID(vyre__local_size, ntid, blockDim)
VYRE__ID(vyre__group_id, ctaid, blockIdx)
#undef VYRE__ID

/* ---- fences and atomics, by order and scope ---- */

/* The case of one scope: PTX calls them cta, gpu and sys. */
#define VYRE__BY_SCOPE(OP, sem)                                                                    \
  if (scope == VYRE_SCOPE_WORKGROUP)                                                               \
    OP(sem, ".cta");                                                                               \
  else if (scope == VYRE_SCOPE_DEVICE)                                                             \
    OP(sem, ".gpu");                                                                               \
  else                                                                                             \
    OP(sem, ".sys")

/* Acquire, release and both are one fence on this machine. */
static VYRE__DEVICE VYRE__INLINE void vyre__fence(int order, int scope)
{
#define VYRE__ASM(sem, where) asm volatile("fence" sem where ";" ::: "memory")
  if (order == VYRE_SEQ_CST) {
    VYRE__BY_SCOPE(VYRE__ASM, ".sc");
  } else if (order != VYRE_RELAXED) {
    VYRE__BY_SCOPE(VYRE__ASM, ".acq_rel");
  }
#undef VYRE__ASM
}

/* A sequentially consistent operation is the fence and the operation behind it. */
#define VYRE__LOAD(type, width)                                                                    \
  static VYRE__DEVICE VYRE__INLINE vyre_##type vyre__gpu_load_##type(const vyre_##type *p,         \
                                                                     int order, int scope)         \
  {                                                                                                \
    vyre_##type value;                                                                             \
    if (order == VYRE_SEQ_CST)                                                                     \
      vyre__fence(order, scope);                                                                   \
    if (order == VYRE_RELAXED) {                                                                   \
      VYRE__BY_SCOPE(VYRE__LOAD_##width, ".relaxed");                                              \
    } else {                                                                                       \
      VYRE__BY_SCOPE(VYRE__LOAD_##width, ".acquire");                                              \
    }                                                                                              \
    return value;                                                                                  \
  }
#define VYRE__LOAD_32(sem, where)                                                                  \
  asm volatile("ld" sem where ".u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define VYRE__LOAD_64(sem, where)                                                                  \
  asm volatile("ld" sem where ".u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory")
VYRE__LOAD(u32, 32)
VYRE__LOAD(u64, 64)

#define VYRE__STORE(type, width)                                                                   \
  static VYRE__DEVICE VYRE__INLINE void vyre__gpu_store_##type(vyre_##type *p, vyre_##type v,      \
                                                               int order, int scope)               \
  {                                                                                                \
    if (order == VYRE_SEQ_CST)                                                                     \
      vyre__fence(order, scope);                                                                   \
    if (order == VYRE_RELEASE || order == VYRE_ACQ_REL) {                                          \
      VYRE__BY_SCOPE(VYRE__STORE_##width, ".release");                                             \
    } else {                                                                                       \
      VYRE__BY_SCOPE(VYRE__STORE_##width, ".relaxed");                                             \
    }                                                                                              \
  }
#define VYRE__STORE_32(sem, where)                                                                 \
  asm volatile("st" sem where ".u32 [%0], %1;" : : "l"(p), "r"(v) : "memory")
#define VYRE__STORE_64(sem, where)                                                                 \
  asm volatile("st" sem where ".u64 [%0], %1;" : : "l"(p), "l"(v) : "memory")
VYRE__STORE(u32, 32)
VYRE__STORE(u64, 64)

/* The case of an order that PTX alone can say. */
#define VYRE__BY_ORDER(OP)                                                                         \
  if (order == VYRE_SEQ_CST)                                                                       \
    vyre__fence(order, scope);                                                                     \
  if (order == VYRE_RELAXED) {                                                                     \
    VYRE__BY_SCOPE(OP, ".relaxed");                                                                \
  } else if (order == VYRE_ACQUIRE) {                                                              \
    VYRE__BY_SCOPE(OP, ".acquire");                                                                \
  } else if (order == VYRE_RELEASE) {                                                              \
    VYRE__BY_SCOPE(OP, ".release");                                                                \
  } else {                                                                                         \
    VYRE__BY_SCOPE(OP, ".acq_rel");                                                                \
  }

/*
 * Relaxed read-modify-writes are the compiler's own words where it has them: it finds out which
 * memory the address is of, and whether anybody wants the old value, and both are dear not to know.
 * clang's have the device's scope whatever they are told, so it has none for the system.
 */
#if defined(__clang__)
#define VYRE__HAS_WORD (scope != VYRE_SCOPE_SYSTEM)
#define VYRE__WORD(name, clang_name)                                                               \
  __scoped_atomic_##clang_name(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define VYRE__WORD_CAS                                                                             \
  (__scoped_atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED,              \
                                      __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE),                    \
   expected)
#else
#define VYRE__HAS_WORD true
#define VYRE__WORD(name, clang_name)                                                               \
  scope == VYRE_SCOPE_WORKGROUP ? name##_block(p, v)                                               \
  : scope == VYRE_SCOPE_DEVICE  ? name(p, v)                                                       \
                                : name##_system(p, v)
#define VYRE__WORD_CAS                                                                             \
  scope == VYRE_SCOPE_WORKGROUP ? atomicCAS_block(p, expected, desired)                            \
  : scope == VYRE_SCOPE_DEVICE  ? atomicCAS(p, expected, desired)                                  \
                                : atomicCAS_system(p, expected, desired)
#endif

/* `and`, `or` and `xor` alone would be operators. */
#define VYRE__RMW(name, type, word, clang_name, op, reg)                                           \
  static VYRE__DEVICE VYRE__INLINE vyre_##type vyre__gpu_##name(vyre_##type *p, vyre_##type v,     \
                                                                int order, int scope)              \
  {                                                                                                \
    vyre_##type old;                                                                               \
    if (order == VYRE_RELAXED && VYRE__HAS_WORD)                                                   \
      return VYRE__WORD(word, clang_name);                                                         \
    VYRE__BY_ORDER(VYRE__RMW_##op##_##reg)                                                         \
    return old;                                                                                    \
  }
#define VYRE__RMW_ASM(op, sem, where, reg)                                                         \
  asm volatile("atom" sem where op " %0, [%1], %2;" : "=" reg(old) : "l"(p), reg(v) : "memory")
#define VYRE__RMW_add_r(sem, where) VYRE__RMW_ASM(".add.u32", sem, where, "r")
#define VYRE__RMW_add_l(sem, where) VYRE__RMW_ASM(".add.u64", sem, where, "l")
#define VYRE__RMW_band_r(sem, where) VYRE__RMW_ASM(".and.b32", sem, where, "r")
#define VYRE__RMW_band_l(sem, where) VYRE__RMW_ASM(".and.b64", sem, where, "l")
#define VYRE__RMW_bor_r(sem, where) VYRE__RMW_ASM(".or.b32", sem, where, "r")
#define VYRE__RMW_bor_l(sem, where) VYRE__RMW_ASM(".or.b64", sem, where, "l")
#define VYRE__RMW_bxor_r(sem, where) VYRE__RMW_ASM(".xor.b32", sem, where, "r")
#define VYRE__RMW_bxor_l(sem, where) VYRE__RMW_ASM(".xor.b64", sem, where, "l")
#define VYRE__RMW_exch_r(sem, where) VYRE__RMW_ASM(".exch.b32", sem, where, "r")
#define VYRE__RMW_exch_l(sem, where) VYRE__RMW_ASM(".exch.b64", sem, where, "l")
#define VYRE__RMW_umin_r(sem, where) VYRE__RMW_ASM(".min.u32", sem, where, "r")
#define VYRE__RMW_umin_l(sem, where) VYRE__RMW_ASM(".min.u64", sem, where, "l")
#define VYRE__RMW_umax_r(sem, where) VYRE__RMW_ASM(".max.u32", sem, where, "r")
#define VYRE__RMW_umax_l(sem, where) VYRE__RMW_ASM(".max.u64", sem, where, "l")
#define VYRE__RMW_smin_r(sem, where) VYRE__RMW_ASM(".min.s32", sem, where, "r")
#define VYRE__RMW_smin_l(sem, where) VYRE__RMW_ASM(".min.s64", sem, where, "l")
#define VYRE__RMW_smax_r(sem, where) VYRE__RMW_ASM(".max.s32", sem, where, "r")
#define VYRE__RMW_smax_l(sem, where) VYRE__RMW_ASM(".max.s64", sem, where, "l")
VYRE__RMW(add_u32, u32, atomicAdd, fetch_add, add, r)
VYRE__RMW(add_u64, u64, atomicAdd, fetch_add, add, l)
VYRE__RMW(and_u32, u32, atomicAnd, fetch_and, band, r)
VYRE__RMW(and_u64, u64, atomicAnd, fetch_and, band, l)
VYRE__RMW(or_u32, u32, atomicOr, fetch_or, bor, r)
VYRE__RMW(or_u64, u64, atomicOr, fetch_or, bor, l)
VYRE__RMW(xor_u32, u32, atomicXor, fetch_xor, bxor, r)
VYRE__RMW(xor_u64, u64, atomicXor, fetch_xor, bxor, l)
VYRE__RMW(exchange_u32, u32, atomicExch, exchange_n, exch, r)
VYRE__RMW(exchange_u64, u64, atomicExch, exchange_n, exch, l)
VYRE__RMW(min_u32, u32, atomicMin, fetch_min, umin, r)
VYRE__RMW(min_u64, u64, atomicMin, fetch_min, umin, l)
VYRE__RMW(max_u32, u32, atomicMax, fetch_max, umax, r)
VYRE__RMW(max_u64, u64, atomicMax, fetch_max, umax, l)
VYRE__RMW(min_i32, i32, atomicMin, fetch_min, smin, r)
VYRE__RMW(min_i64, i64, atomicMin, fetch_min, smin, l)
VYRE__RMW(max_i32, i32, atomicMax, fetch_max, smax, r)
VYRE__RMW(max_i64, i64, atomicMax, fetch_max, smax, l)

#define VYRE__CAS(type, width)                                                                     \
  static VYRE__DEVICE VYRE__INLINE vyre_##type vyre__gpu_cas_##type(                               \
      vyre_##type *p, vyre_##type expected, vyre_##type desired, int order, int scope)             \
  {                                                                                                \
    vyre_##type old;                                                                               \
    if (order == VYRE_RELAXED && VYRE__HAS_WORD)                                                   \
      return VYRE__WORD_CAS;                                                                       \
    VYRE__BY_ORDER(VYRE__CAS_##width)                                                              \
    return old;                                                                                    \
  }
#define VYRE__CAS_32(sem, where)                                                                   \
  asm volatile("atom" sem where ".cas.b32 %0, [%1], %2, %3;"                                       \
               : "=r"(old)                                                                         \
               : "l"(p), "r"(expected), "r"(desired)                                               \
               : "memory")
#define VYRE__CAS_64(sem, where)                                                                   \
  asm volatile("atom" sem where ".cas.b64 %0, [%1], %2, %3;"                                       \
               : "=l"(old)                                                                         \
               : "l"(p), "l"(expected), "l"(desired)                                               \
               : "memory")
VYRE__CAS(u32, 32)
VYRE__CAS(u64, 64)

/* ---- meeting, waiting, ending ---- */

/* All items of the group that have not ended meet; stores before it are seen in the group.  The
   compiler's own word for bar.sync: it must not move the barrier into a branch. */
static VYRE__DEVICE VYRE__INLINE void vyre__barrier()
{
  __syncthreads();
}

/* The same; whether one of them says so is known to all behind it. */
#if defined(__clang__)
#define VYRE__BARRIER_ANY(says) (__nvvm_bar0_or((says) ? 1 : 0) != 0)
#else
#define VYRE__BARRIER_ANY(says) (__syncthreads_or((says) ? 1 : 0) != 0)
#endif

/*
 * A group's arrival at the grid's barrier, and a look of one who waits there.  The words are known
 * to lie in the device's memory, so that no access has to find out which memory it is of, and
 * nobody waits for what the add has found.  Each look is an acquire: one behind the waiting would
 * be one trip more.
 */
#define VYRE__MEET_ORDER VYRE_ACQUIRE
static VYRE__DEVICE VYRE__INLINE void vyre__meet_arrive(vyre_u32 *word, vyre_u32 v)
{
  asm volatile("{\n\t.reg .u64 word;\n\tcvta.to.global.u64 word, %0;\n\t"
               "red.release.gpu.global.add.u32 [word], %1;\n\t}"
               :
               : "l"(word), "r"(v)
               : "memory");
}

#define VYRE__MEET_LOOK(sem)                                                                       \
  asm volatile("{\n\t.reg .u64 word;\n\tcvta.to.global.u64 word, %1;\n\t"                          \
               "ld." sem ".gpu.global.u32 %0, [word];\n\t}"                                        \
               : "=r"(value)                                                                       \
               : "l"(word)                                                                         \
               : "memory")
static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__meet_look(const vyre_u32 *word, int order)
{
  vyre_u32 value;
  if (order == VYRE_RELAXED)
    VYRE__MEET_LOOK("relaxed");
  else
    VYRE__MEET_LOOK("acquire");
  return value;
}
#undef VYRE__MEET_LOOK

static VYRE__DEVICE VYRE__INLINE void vyre__rest(vyre_u32 ns)
{
  asm volatile("nanosleep.u32 %0;" : : "r"(ns) : "memory");
}

static VYRE__DEVICE VYRE__INLINE void vyre__pause()
{
  vyre__rest(20u);
}

/* The machine's clock of nanoseconds: one for all its processors. */
static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__clock()
{
  vyre_u64 ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns) : : "memory");
  return ns;
}

/* Ends this item alone.  Barriers of its group no longer wait for it. */
static VYRE__DEVICE VYRE__INLINE void vyre__end_item()
{
  asm volatile("exit;" ::: "memory");
}

/* ---- bits and floats ---- */

#define VYRE__UNARY(name, type, result, text, out, in)                                             \
  static VYRE__DEVICE VYRE__INLINE result name(type v)                                             \
  {                                                                                                \
    result r;                                                                                      \
    asm(text : "=" out(r) : in(v));                                                                \
    return r;                                                                                      \
  }
VYRE__UNARY(vyre__popcount, vyre_u32, vyre_u32, "popc.b32 %0, %1;", "r", "r")
VYRE__UNARY(vyre__popcount, vyre_u64, vyre_u32, "popc.b64 %0, %1;", "r", "l")
VYRE__UNARY(vyre__clz, vyre_u32, vyre_u32, "clz.b32 %0, %1;", "r", "r")
VYRE__UNARY(vyre__clz, vyre_u64, vyre_u32, "clz.b64 %0, %1;", "r", "l")
VYRE__UNARY(vyre__reverse, vyre_u32, vyre_u32, "brev.b32 %0, %1;", "r", "r")
VYRE__UNARY(vyre__reverse, vyre_u64, vyre_u64, "brev.b64 %0, %1;", "l", "l")
VYRE__UNARY(vyre__sqrt, vyre_f32, vyre_f32, "sqrt.rn.f32 %0, %1;", "f", "f")
VYRE__UNARY(vyre__sqrt, vyre_f64, vyre_f64, "sqrt.rn.f64 %0, %1;", "d", "d")
#undef VYRE__UNARY

/* Zeros behind are zeros in front of the reversed word. */
static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__ctz(vyre_u32 v)
{
  return vyre__clz(vyre__reverse(v));
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__ctz(vyre_u64 v)
{
  return vyre__clz(vyre__reverse(v));
}

static VYRE__DEVICE VYRE__INLINE vyre_f32 vyre__fma(vyre_f32 a, vyre_f32 b, vyre_f32 d)
{
  vyre_f32 r;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(d));
  return r;
}

static VYRE__DEVICE VYRE__INLINE vyre_f64 vyre__fma(vyre_f64 a, vyre_f64 b, vyre_f64 d)
{
  vyre_f64 r;
  asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(r) : "d"(a), "d"(b), "d"(d));
  return r;
}

/* ---- subgroups: warps ---- */

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_size()
{
  vyre_u32 size;
  asm("mov.u32 %0, WARP_SZ;" : "=r"(size));
  return size;
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_lane()
{
  vyre_u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/* The lanes that are here together.  A lane that has ended, or is elsewhere, is none of them. */
static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__here()
{
  vyre_u32 mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask) : : "memory");
  return mask;
}

static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__subgroup_ballot(bool predicate)
{
  vyre_u32 lanes;
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t"
               "vote.sync.ballot.b32 %0, p, %2;\n\t}"
               : "=r"(lanes)
               : "r"((vyre_u32)predicate), "r"(vyre__here())
               : "memory");
  return lanes;
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__shuffle_among(vyre_u32 mask, vyre_u32 value,
                                                              vyre_u32 lane)
{
  vyre_u32 got;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
               : "=r"(got)
               : "r"(value), "r"(lane), "r"(mask)
               : "memory");
  return got;
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_shuffle(vyre_u32 value, vyre_u32 lane)
{
  return vyre__shuffle_among(vyre__here(), value, lane);
}

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__subgroup_add(vyre_u32 value)
{
  const vyre_u32 mask = vyre__here();
  vyre_u32 sum = 0u;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(sum) : "r"(value), "r"(mask) : "memory");
#else
  /* Some lanes may be missing, so no tree: whoever is here gives its value in turn. */
  for (vyre_u32 rest = mask; rest != 0u; rest &= rest - 1u)
    sum += vyre__shuffle_among(mask, value, vyre__ctz(rest));
#endif
  return sum;
}
