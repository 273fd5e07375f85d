/*
 * prelude.cl - the words of part 1 of vyre_kernel.h in OpenCL C.  It goes in front of that file,
 * whose part 2 is built on these words.
 *
 * The plugin sets: VYRE_DEBUG, VYRE_HAS_BARRIER (the author's text uses vyre_barrier), VYRE__C11
 * (the device has C11 atomics with orders and scopes; otherwise those of OpenCL 1.2 are used, with
 * fences around them).
 *
 * A kernel's first argument are words of the plugin, laid out in launch.h; with VYRE_DEBUG the
 * second one is a record of the first bad index, and room for what is read and written there
 * instead.  The bindings follow, in order.
 */
#define VYRE_PRELUDE 1
#define VYRE_PRELUDE_OPENCL 1

/* LANG-002: nothing is contracted. */
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifdef cl_khr_int64_extended_atomics
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif

typedef char vyre_i8;
typedef uchar vyre_u8;
typedef short vyre_i16;
typedef ushort vyre_u16;
typedef int vyre_i32;
typedef uint vyre_u32;
typedef long vyre_i64;
typedef ulong vyre_u64;
typedef float vyre_f32;
typedef double vyre_f64;

/* Words of OpenCL C that an author may use as names: from here on they are names.  The plugin's own
   words are the ones with underscores. */
#define half vyre__name_half
#define kernel vyre__name_kernel
#define global vyre__name_global
#define local vyre__name_local
#define constant vyre__name_constant
#define private vyre__name_private
#define generic vyre__name_generic
#define pipe vyre__name_pipe
#define uniform vyre__name_uniform

/* Overloadable: an author's function may have the name of one of OpenCL's. */
#define VYRE_FUNCTION static inline __attribute__((unused, overloadable))
#define VYRE_CONSTANT(type) __constant const type
#define VYRE_GLOBAL __global
#define VYRE_SHARED __local

#if VYRE_HAS_BARRIER
#define VYRE_RESTRICT
#else
#define VYRE_RESTRICT restrict
#endif
#define VYRE_IN(type) __global const type *VYRE_RESTRICT
#define VYRE_OUT(type) __global type *VYRE_RESTRICT
#define VYRE_INOUT(type) __global type *VYRE_RESTRICT
#define VYRE_LOCAL(type) __local type *

/* A function for each address space that its pointer may have. */
#define VYRE__EACH VYRE_FUNCTION __attribute__((always_inline))

/* The words of a launch: place of the counts, place of the push constants, ticks to nanoseconds,
   then the offset of each binding. */
#define VYRE__WORD_COUNTS 0
#define VYRE__WORD_PUSH 1
#define VYRE__WORD_TICK 2
#define VYRE__WORD_OFFSETS 4

/* The record of the first bad index; offsets in words of 32 bits. */
#define VYRE__FAULT_TAKEN 0
#define VYRE__FAULT_LINE 1
#define VYRE__FAULT_INDEX 2
#define VYRE__FAULT_COUNT 4
#define VYRE__FAULT_NAME 8
#define VYRE__FAULT_NAME_BYTES 64
#define VYRE__FAULT_SPARE 64

typedef struct vyre_ctx {
  __global const vyre_u64 *counts; /* elements, by buffer id */
  __global const vyre_u64 *push;
  vyre_u64 tick;             /* nanoseconds of a tick of the clock, times 2^32 */
  __global vyre_u32 *fault;  /* debug builds */
  __global vyre_u32 *control; /* the program's control words, NULL without */
  vyre_u32 pass;
} vyre_ctx;

#define vyre_global_id(c, d) ((void)(c), (vyre_u64)get_global_id(d))
#define vyre_global_size(c, d) ((void)(c), (vyre_u64)get_global_size(d))
#define vyre_group_id(c, d) ((void)(c), (vyre_u32)get_group_id(d))
#define vyre_group_count(c, d) ((void)(c), (vyre_u32)get_num_groups(d))
#define vyre_local_id(c, d) ((void)(c), (vyre_u32)get_local_id(d))
#define vyre_local_size(c, d) ((void)(c), (vyre_u32)get_local_size(d))

#define vyre_count(c, name) ((c)->counts[VYRE_BUFFER_##name])
#define vyre_push(c, type) ((__global const type *)(c)->push)

/* ---- atomics ---- */

#define VYRE__SPACES(word) word(__global) word(__local)

#if VYRE__C11

#define VYRE_RELAXED memory_order_relaxed
#define VYRE_ACQUIRE memory_order_acquire
#define VYRE_RELEASE memory_order_release
#define VYRE_ACQ_REL memory_order_acq_rel
#define VYRE_SEQ_CST memory_order_seq_cst
#define VYRE_SCOPE_WORKGROUP memory_scope_work_group
#define VYRE_SCOPE_DEVICE memory_scope_device
/* Without memory that the host shares, the system is the device. */
#define VYRE_SCOPE_SYSTEM memory_scope_device

#define VYRE__ATOMIC_WORD(space, width, type, object)                                              \
  VYRE__EACH type vyre__atomic_load_##width(const volatile space void *p, memory_order order,      \
                                            memory_scope scope)                                    \
  {                                                                                                \
    return atomic_load_explicit((volatile space object *)p, order, scope);                         \
  }                                                                                                \
  VYRE__EACH void vyre__atomic_store_##width(volatile space void *p, type v, memory_order order,   \
                                             memory_scope scope)                                   \
  {                                                                                                \
    atomic_store_explicit((volatile space object *)p, v, order, scope);                            \
  }                                                                                                \
  VYRE__EACH type vyre__atomic_exchange_##width(volatile space void *p, type v,                    \
                                                memory_order order, memory_scope scope)            \
  {                                                                                                \
    return atomic_exchange_explicit((volatile space object *)p, v, order, scope);                  \
  }                                                                                                \
  VYRE__EACH type vyre__atomic_cas_##width(volatile space void *p, type expected, type desired,    \
                                           memory_order order, memory_scope scope)                 \
  {                                                                                                \
    const memory_order failed = order == memory_order_release   ? memory_order_relaxed             \
                                : order == memory_order_acq_rel ? memory_order_acquire             \
                                                                : order;                           \
    atomic_compare_exchange_strong_explicit((volatile space object *)p, &expected, desired, order, \
                                            failed, scope);                                        \
    return expected;                                                                               \
  }
#define VYRE__ATOMIC_FETCH(space, name, width, type, object)                                       \
  VYRE__EACH type vyre__atomic_##name##_##width(volatile space void *p, type v,                    \
                                                memory_order order, memory_scope scope)            \
  {                                                                                                \
    return atomic_fetch_##name##_explicit((volatile space object *)p, v, order, scope);            \
  }
#define VYRE__ATOMICS(space)                                                                       \
  VYRE__ATOMIC_WORD(space, u32, vyre_u32, atomic_uint)                                             \
  VYRE__ATOMIC_WORD(space, u64, vyre_u64, atomic_ulong)                                            \
  VYRE__ATOMIC_FETCH(space, add, u32, vyre_u32, atomic_uint)                                       \
  VYRE__ATOMIC_FETCH(space, and, u32, vyre_u32, atomic_uint)                                       \
  VYRE__ATOMIC_FETCH(space, or, u32, vyre_u32, atomic_uint)                                        \
  VYRE__ATOMIC_FETCH(space, xor, u32, vyre_u32, atomic_uint)                                       \
  VYRE__ATOMIC_FETCH(space, min, u32, vyre_u32, atomic_uint)                                       \
  VYRE__ATOMIC_FETCH(space, max, u32, vyre_u32, atomic_uint)                                       \
  VYRE__ATOMIC_FETCH(space, min, i32, vyre_i32, atomic_int)                                        \
  VYRE__ATOMIC_FETCH(space, max, i32, vyre_i32, atomic_int)                                        \
  VYRE__ATOMIC_FETCH(space, add, u64, vyre_u64, atomic_ulong)                                      \
  VYRE__ATOMIC_FETCH(space, and, u64, vyre_u64, atomic_ulong)                                      \
  VYRE__ATOMIC_FETCH(space, or, u64, vyre_u64, atomic_ulong)                                       \
  VYRE__ATOMIC_FETCH(space, xor, u64, vyre_u64, atomic_ulong)                                      \
  VYRE__ATOMIC_FETCH(space, min, u64, vyre_u64, atomic_ulong)                                      \
  VYRE__ATOMIC_FETCH(space, max, u64, vyre_u64, atomic_ulong)                                      \
  VYRE__ATOMIC_FETCH(space, min, i64, vyre_i64, atomic_long)                                       \
  VYRE__ATOMIC_FETCH(space, max, i64, vyre_i64, atomic_long)
VYRE__SPACES(VYRE__ATOMICS)

#define VYRE_FENCE(order, scope)                                                                   \
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, (order), (scope))

#else /* OpenCL 1.2: atomics are relaxed, and their memory is that of the device */

#define VYRE_RELAXED 0
#define VYRE_ACQUIRE 1
#define VYRE_RELEASE 2
#define VYRE_ACQ_REL 3
#define VYRE_SEQ_CST 7
#define VYRE_SCOPE_WORKGROUP 0
#define VYRE_SCOPE_DEVICE 1
#define VYRE_SCOPE_SYSTEM 1

#define VYRE__FENCE_IF(condition)                                                                  \
  do {                                                                                             \
    if (condition)                                                                                 \
      mem_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);                                       \
  } while (0)
/* Around an operation: what a release keeps before it, and an acquire behind it. */
#define VYRE__BEFORE(order) VYRE__FENCE_IF(((order)&2) != 0)
#define VYRE__BEHIND(order) VYRE__FENCE_IF(((order)&1) != 0)

#define VYRE__ATOMIC_WORD(space, prefix, width, type)                                              \
  VYRE__EACH type vyre__atomic_load_##width(const volatile space void *p, int order, int scope)    \
  {                                                                                                \
    type old;                                                                                      \
    VYRE__FENCE_IF(order == VYRE_SEQ_CST);                                                         \
    old = *(const volatile space type *)p;                                                         \
    VYRE__BEHIND(order);                                                                           \
    return old;                                                                                    \
  }                                                                                                \
  VYRE__EACH void vyre__atomic_store_##width(volatile space void *p, type v, int order, int scope) \
  {                                                                                                \
    VYRE__BEFORE(order);                                                                           \
    *(volatile space type *)p = v;                                                                 \
    VYRE__FENCE_IF(order == VYRE_SEQ_CST);                                                         \
  }                                                                                                \
  VYRE__EACH type vyre__atomic_exchange_##width(volatile space void *p, type v, int order,         \
                                                int scope)                                         \
  {                                                                                                \
    type old;                                                                                      \
    VYRE__BEFORE(order);                                                                           \
    old = prefix##_xchg((volatile space type *)p, v);                                              \
    VYRE__BEHIND(order);                                                                           \
    return old;                                                                                    \
  }                                                                                                \
  VYRE__EACH type vyre__atomic_cas_##width(volatile space void *p, type expected, type desired,    \
                                           int order, int scope)                                   \
  {                                                                                                \
    type old;                                                                                      \
    VYRE__BEFORE(order);                                                                           \
    old = prefix##_cmpxchg((volatile space type *)p, expected, desired);                           \
    VYRE__BEHIND(order);                                                                           \
    return old;                                                                                    \
  }
#define VYRE__ATOMIC_FETCH(space, prefix, name, width, type)                                       \
  VYRE__EACH type vyre__atomic_##name##_##width(volatile space void *p, type v, int order,         \
                                                int scope)                                         \
  {                                                                                                \
    type old;                                                                                      \
    VYRE__BEFORE(order);                                                                           \
    old = prefix##_##name((volatile space type *)p, v);                                            \
    VYRE__BEHIND(order);                                                                           \
    return old;                                                                                    \
  }
#define VYRE__ATOMICS(space)                                                                       \
  VYRE__ATOMIC_WORD(space, atomic, u32, vyre_u32)                                                  \
  VYRE__ATOMIC_WORD(space, atom, u64, vyre_u64)                                                    \
  VYRE__ATOMIC_FETCH(space, atomic, add, u32, vyre_u32)                                            \
  VYRE__ATOMIC_FETCH(space, atomic, and, u32, vyre_u32)                                            \
  VYRE__ATOMIC_FETCH(space, atomic, or, u32, vyre_u32)                                             \
  VYRE__ATOMIC_FETCH(space, atomic, xor, u32, vyre_u32)                                            \
  VYRE__ATOMIC_FETCH(space, atomic, min, u32, vyre_u32)                                            \
  VYRE__ATOMIC_FETCH(space, atomic, max, u32, vyre_u32)                                            \
  VYRE__ATOMIC_FETCH(space, atomic, min, i32, vyre_i32)                                            \
  VYRE__ATOMIC_FETCH(space, atomic, max, i32, vyre_i32)                                            \
  VYRE__ATOMIC_FETCH(space, atom, add, u64, vyre_u64)                                              \
  VYRE__ATOMIC_FETCH(space, atom, and, u64, vyre_u64)                                              \
  VYRE__ATOMIC_FETCH(space, atom, or, u64, vyre_u64)                                               \
  VYRE__ATOMIC_FETCH(space, atom, xor, u64, vyre_u64)                                              \
  VYRE__ATOMIC_FETCH(space, atom, min, u64, vyre_u64)                                              \
  VYRE__ATOMIC_FETCH(space, atom, max, u64, vyre_u64)                                              \
  VYRE__ATOMIC_FETCH(space, atom, min, i64, vyre_i64)                                              \
  VYRE__ATOMIC_FETCH(space, atom, max, i64, vyre_i64)
VYRE__SPACES(VYRE__ATOMICS)

#define VYRE_FENCE(order, scope) mem_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)

#endif

#define vyre_fence(order, scope) VYRE_FENCE(order, scope)
#define vyre_atomic_load_u32(p, order, scope) vyre__atomic_load_u32((p), (order), (scope))
#define vyre_atomic_load_u64(p, order, scope) vyre__atomic_load_u64((p), (order), (scope))
#define vyre_atomic_store_u32(p, v, order, scope) vyre__atomic_store_u32((p), (v), (order), (scope))
#define vyre_atomic_store_u64(p, v, order, scope) vyre__atomic_store_u64((p), (v), (order), (scope))
#define vyre_atomic_add_u32(p, v, order, scope) vyre__atomic_add_u32((p), (v), (order), (scope))
#define vyre_atomic_add_u64(p, v, order, scope) vyre__atomic_add_u64((p), (v), (order), (scope))
#define vyre_atomic_and_u32(p, v, order, scope) vyre__atomic_and_u32((p), (v), (order), (scope))
#define vyre_atomic_and_u64(p, v, order, scope) vyre__atomic_and_u64((p), (v), (order), (scope))
#define vyre_atomic_or_u32(p, v, order, scope) vyre__atomic_or_u32((p), (v), (order), (scope))
#define vyre_atomic_or_u64(p, v, order, scope) vyre__atomic_or_u64((p), (v), (order), (scope))
#define vyre_atomic_xor_u32(p, v, order, scope) vyre__atomic_xor_u32((p), (v), (order), (scope))
#define vyre_atomic_xor_u64(p, v, order, scope) vyre__atomic_xor_u64((p), (v), (order), (scope))
#define vyre_atomic_exchange_u32(p, v, order, scope)                                               \
  vyre__atomic_exchange_u32((p), (v), (order), (scope))
#define vyre_atomic_exchange_u64(p, v, order, scope)                                               \
  vyre__atomic_exchange_u64((p), (v), (order), (scope))
#define vyre_atomic_min_u32(p, v, order, scope) vyre__atomic_min_u32((p), (v), (order), (scope))
#define vyre_atomic_max_u32(p, v, order, scope) vyre__atomic_max_u32((p), (v), (order), (scope))
#define vyre_atomic_min_u64(p, v, order, scope) vyre__atomic_min_u64((p), (v), (order), (scope))
#define vyre_atomic_max_u64(p, v, order, scope) vyre__atomic_max_u64((p), (v), (order), (scope))
#define vyre_atomic_min_i32(p, v, order, scope) vyre__atomic_min_i32((p), (v), (order), (scope))
#define vyre_atomic_max_i32(p, v, order, scope) vyre__atomic_max_i32((p), (v), (order), (scope))
#define vyre_atomic_min_i64(p, v, order, scope) vyre__atomic_min_i64((p), (v), (order), (scope))
#define vyre_atomic_max_i64(p, v, order, scope) vyre__atomic_max_i64((p), (v), (order), (scope))
#define vyre_atomic_cas_u32(p, expected, desired, order, scope)                                    \
  vyre__atomic_cas_u32((p), (expected), (desired), (order), (scope))
#define vyre_atomic_cas_u64(p, expected, desired, order, scope)                                    \
  vyre__atomic_cas_u64((p), (expected), (desired), (order), (scope))

/* ---- elements ---- */

#if VYRE_DEBUG
/* Keeps the first bad index of the launch.  The item goes on with memory that nobody looks at. */
VYRE_FUNCTION void vyre__fault(vyre_ctx *c, __constant const char *name, vyre_u64 index,
                               vyre_u64 count, int line)
{
  __global vyre_u32 *fault = c->fault;
  if (atomic_cmpxchg((volatile __global vyre_u32 *)&fault[VYRE__FAULT_TAKEN], 0u, 1u) != 0u)
    return;
  fault[VYRE__FAULT_LINE] = (vyre_u32)line;
  fault[VYRE__FAULT_INDEX] = (vyre_u32)index;
  fault[VYRE__FAULT_INDEX + 1] = (vyre_u32)(index >> 32);
  fault[VYRE__FAULT_COUNT] = (vyre_u32)count;
  fault[VYRE__FAULT_COUNT + 1] = (vyre_u32)(count >> 32);
  for (int i = 0; i < VYRE__FAULT_NAME_BYTES - 1 && name[i]; ++i)
    ((__global char *)&fault[VYRE__FAULT_NAME])[i] = name[i];
}
#define VYRE__PLACE(space, spare)                                                                  \
  VYRE__EACH space void *vyre__place(vyre_ctx *c, const space void *base, vyre_u64 size,           \
                                     vyre_u64 index, vyre_u64 count,                               \
                                     __constant const char *name, int line)                        \
  {                                                                                                \
    if (index < count)                                                                             \
      return (space uchar *)base + index * size;                                                   \
    vyre__fault(c, name, index, count, line);                                                      \
    return (space void *)(spare);                                                                  \
  }
VYRE__PLACE(__global, &c->fault[VYRE__FAULT_SPARE])
VYRE__PLACE(__local, base)
#define vyre_at(c, name, i)                                                                        \
  (*(__typeof__(&(name)[0]))vyre__place((c), (name), sizeof((name)[0]), (vyre_u64)(i),             \
                                        (c)->counts[VYRE_BUFFER_##name], #name, __LINE__))
#else
#define vyre_at(c, name, i) ((name)[(i)])
#endif

VYRE_FUNCTION void vyre__changed(vyre_ctx *c)
{
  /* Relaxed: the end of the launch is between this and who reads it.  The look before the store
     keeps the line shared when many items say the same. */
  if (c->control &&
      vyre_atomic_load_u32(c->control, VYRE_RELAXED, VYRE_SCOPE_DEVICE) != c->pass)
    vyre_atomic_store_u32(c->control, c->pass, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}
#define vyre_changed(c) vyre__changed(c)

/* A processor has few items at work and likes parts that hang together; a GPU steps many items side
   by side and likes neighbours. */
#if VYRE__NEIGHBOURS
VYRE_FUNCTION vyre_u64 vyre__item(void)
{
  return get_global_id(0) +
         get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
}
#define VYRE_SPREAD(c, i, n)                                                                       \
  for (vyre_u64 i = vyre__item(), vyre__end_##i = ((void)(c), (n)),                                \
                vyre__step_##i =                                                                   \
                    get_global_size(0) * get_global_size(1) * get_global_size(2);                  \
       i < vyre__end_##i; i += vyre__step_##i)
#else
/* Where the part of item `id + next` begins when n turns are shared out evenly. */
VYRE_FUNCTION vyre_u64 vyre__share(vyre_u64 n, vyre_u64 next)
{
  const vyre_u64 nx = get_global_size(0), ny = get_global_size(1);
  const vyre_u64 items = nx * ny * get_global_size(2);
  const vyre_u64 id =
      get_global_id(0) + nx * (get_global_id(1) + ny * get_global_id(2)) + next;
  const vyre_u64 each = n < items ? 0u : n / items, more = n - each * items;
  return id * each + (id < more ? id : more);
}
#define VYRE_SPREAD(c, i, n)                                                                       \
  for (vyre_u64 i = ((void)(c), vyre__share((n), 0u)), vyre__end_##i = vyre__share((n), 1u);       \
       i < vyre__end_##i; ++i)
#endif

#define vyre_barrier(c) ((void)(c), barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE))

/* ---- waiting and clocks: OpenCL has neither ---- */

#define vyre_pause() ((void)0)
#define vyre_backoff(c, misses) ((void)(c), (void)(misses))

/* The counter of the device where the compiler knows it; the plugin has measured its pace. */
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#if defined(cl_khr_kernel_clock)
#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable
#define VYRE__TICKS() ((vyre_u64)clock_read_device())
#elif defined(__NV_CL_C_VERSION)
VYRE_FUNCTION vyre_u64 vyre__globaltimer(void)
{
  vyre_u64 ticks;
  __asm__ __volatile__("mov.u64 %0, %%globaltimer;" : "=l"(ticks));
  return ticks;
}
#define VYRE__TICKS() vyre__globaltimer()
#elif __has_builtin(__builtin_readcyclecounter)
#define VYRE__TICKS() ((vyre_u64)__builtin_readcyclecounter())
#endif

#ifdef VYRE__TICKS
VYRE_FUNCTION vyre_u64 vyre__clock_ns(vyre_ctx *c)
{
  const vyre_u64 ticks = VYRE__TICKS();
  return (mul_hi(ticks, c->tick) << 32) | ((ticks * c->tick) >> 32);
}
#else
/* A device without a counter: each look takes a microsecond, so that a wait comes to its end. */
VYRE_FUNCTION vyre_u64 vyre__clock_ns(vyre_ctx *c)
{
  c->tick += 1000u;
  return c->tick;
}
#endif
#define vyre_clock_ns(c) vyre__clock_ns(c)

#define VYRE_CAN_NOTIFY 0
#define vyre_notify_host(c, word) ((void)(c), (void)(word))

/* ---- bits, floats, tables ---- */

#define vyre_shl_u32(v, n) ((vyre_u32)(v) << ((n)&31u))
#define vyre_shr_u32(v, n) ((vyre_u32)(v) >> ((n)&31u))
#define vyre_shl_u64(v, n) ((vyre_u64)(v) << ((n)&63u))
#define vyre_shr_u64(v, n) ((vyre_u64)(v) >> ((n)&63u))

#define vyre_popcount_u32(v) ((vyre_u32)popcount((vyre_u32)(v)))
#define vyre_popcount_u64(v) ((vyre_u32)popcount((vyre_u64)(v)))
#define vyre_clz_u32(v) vyre__clz_u32(v)
#define vyre_ctz_u32(v) vyre__ctz_u32(v)
#define vyre_clz_u64(v) vyre__clz_u64(v)
#define vyre_ctz_u64(v) vyre__ctz_u64(v)
VYRE_FUNCTION vyre_u32 vyre__clz_u32(vyre_u32 v) { return v ? (vyre_u32)clz(v) : 32u; }
VYRE_FUNCTION vyre_u32 vyre__clz_u64(vyre_u64 v) { return v ? (vyre_u32)clz(v) : 64u; }
/* ctz() came with OpenCL C 2.0.  The lowest one minus 1 are the zeros behind it. */
VYRE_FUNCTION vyre_u32 vyre__ctz_u32(vyre_u32 v) { return popcount((v & (0u - v)) - 1u); }
VYRE_FUNCTION vyre_u32 vyre__ctz_u64(vyre_u64 v)
{
  return (vyre_u32)popcount((v & ((vyre_u64)0u - v)) - (vyre_u64)1u);
}

#define vyre_sqrt_f32(x) sqrt((vyre_f32)(x))
#define vyre_sqrt_f64(x) sqrt((vyre_f64)(x))
#define vyre_fma_f32(a, b, d) fma((vyre_f32)(a), (vyre_f32)(b), (vyre_f32)(d))
#define vyre_fma_f64(a, b, d) fma((vyre_f64)(a), (vyre_f64)(b), (vyre_f64)(d))

#define vyre_lookup16(table, bytes) vyre__lookup16((table), (bytes))
#define VYRE__LOOKUP(space)                                                                        \
  VYRE__EACH vyre_u32 vyre__lookup16(space const vyre_u8 *table, vyre_u32 bytes)                   \
  {                                                                                                \
    return (vyre_u32)table[bytes & 15u] | (vyre_u32)table[(bytes >> 8) & 15u] << 8 |               \
           (vyre_u32)table[(bytes >> 16) & 15u] << 16 |                                            \
           (vyre_u32)table[(bytes >> 24) & 15u] << 24;                                             \
  }
VYRE__SPACES(VYRE__LOOKUP)
VYRE__LOOKUP(__constant)
VYRE__LOOKUP(__private)

/* ---- subgroups: of one item ---- */

#define vyre_subgroup_size(c) ((void)(c), 1u)
#define vyre_subgroup_lane(c) ((void)(c), 0u)
#define vyre_subgroup_ballot(c, predicate) ((void)(c), (vyre_u64)((predicate) ? 1u : 0u))
#define vyre_subgroup_shuffle_u32(c, value, lane) ((void)(c), (void)(lane), (vyre_u32)(value))
#define vyre_subgroup_add_u32(c, value) ((void)(c), (vyre_u32)(value))

/* ---- entries ---- */

#define VYRE_SEGMENT(name)                                                                         \
  static inline __attribute__((always_inline, unused)) void vyre_segment_##name
#define VYRE_HANDLER(name)                                                                         \
  static inline __attribute__((unused)) vyre_u32 vyre_handler_##name

/*
 * OpenCL C has no macros of any number of arguments, so a list in parentheses stays one: it is the
 * kernel's list of parameters, and the list of arguments of the call, as it is.  What is the
 * plugin's own comes with number 0, which every list begins with.
 */
#define VYRE__BEFORE_PARAM_0 VYRE__HIDDEN,
#define VYRE__BEFORE_ARG_0 vyre__c,
#define VYRE__BEFORE_PARAM_1
#define VYRE__BEFORE_ARG_1
#define VYRE__BEFORE_PARAM_2
#define VYRE__BEFORE_ARG_2
#define VYRE__BEFORE_PARAM_3
#define VYRE__BEFORE_ARG_3
#define VYRE__BEFORE_PARAM_4
#define VYRE__BEFORE_ARG_4
#define VYRE__BEFORE_PARAM_5
#define VYRE__BEFORE_ARG_5
#define VYRE__BEFORE_PARAM_6
#define VYRE__BEFORE_ARG_6
#define VYRE__BEFORE_PARAM_7
#define VYRE__BEFORE_ARG_7
#define VYRE__BEFORE_PARAM_8
#define VYRE__BEFORE_ARG_8
#define VYRE__BEFORE_PARAM_9
#define VYRE__BEFORE_ARG_9
#define VYRE__BEFORE_PARAM_10
#define VYRE__BEFORE_ARG_10
#define VYRE__BEFORE_PARAM_11
#define VYRE__BEFORE_ARG_11
#define VYRE__BEFORE_PARAM_12
#define VYRE__BEFORE_ARG_12
#define VYRE__BEFORE_PARAM_13
#define VYRE__BEFORE_ARG_13
#define VYRE__BEFORE_PARAM_14
#define VYRE__BEFORE_ARG_14
#define VYRE__BEFORE_PARAM_15
#define VYRE__BEFORE_ARG_15
#define VYRE__BEFORE_PARAM_16
#define VYRE__BEFORE_ARG_16
#define VYRE__BEFORE_PARAM_17
#define VYRE__BEFORE_ARG_17
#define VYRE__BEFORE_PARAM_18
#define VYRE__BEFORE_ARG_18
#define VYRE__BEFORE_PARAM_19
#define VYRE__BEFORE_ARG_19
#define VYRE__BEFORE_PARAM_20
#define VYRE__BEFORE_ARG_20
#define VYRE__BEFORE_PARAM_21
#define VYRE__BEFORE_ARG_21
#define VYRE__BEFORE_PARAM_22
#define VYRE__BEFORE_ARG_22
#define VYRE__BEFORE_PARAM_23
#define VYRE__BEFORE_ARG_23
#define VYRE__BEFORE_PARAM_24
#define VYRE__BEFORE_ARG_24
#define VYRE__BEFORE_PARAM_25
#define VYRE__BEFORE_ARG_25
#define VYRE__BEFORE_PARAM_26
#define VYRE__BEFORE_ARG_26
#define VYRE__BEFORE_PARAM_27
#define VYRE__BEFORE_ARG_27
#define VYRE__BEFORE_PARAM_28
#define VYRE__BEFORE_ARG_28
#define VYRE__BEFORE_PARAM_29
#define VYRE__BEFORE_ARG_29
#define VYRE__BEFORE_PARAM_30
#define VYRE__BEFORE_ARG_30
#define VYRE__BEFORE_PARAM_31
#define VYRE__BEFORE_ARG_31
#define VYRE__BEFORE_PARAM_32
#define VYRE__BEFORE_ARG_32
#define VYRE__BEFORE_PARAM_33
#define VYRE__BEFORE_ARG_33
#define VYRE__BEFORE_PARAM_34
#define VYRE__BEFORE_ARG_34
#define VYRE__BEFORE_PARAM_35
#define VYRE__BEFORE_ARG_35
#define VYRE__BEFORE_PARAM_36
#define VYRE__BEFORE_ARG_36
#define VYRE__BEFORE_PARAM_37
#define VYRE__BEFORE_ARG_37
#define VYRE__BEFORE_PARAM_38
#define VYRE__BEFORE_ARG_38
#define VYRE__BEFORE_PARAM_39
#define VYRE__BEFORE_ARG_39
#define VYRE__BEFORE_PARAM_40
#define VYRE__BEFORE_ARG_40
#define VYRE__BEFORE_PARAM_41
#define VYRE__BEFORE_ARG_41
#define VYRE__BEFORE_PARAM_42
#define VYRE__BEFORE_ARG_42
#define VYRE__BEFORE_PARAM_43
#define VYRE__BEFORE_ARG_43
#define VYRE__BEFORE_PARAM_44
#define VYRE__BEFORE_ARG_44
#define VYRE__BEFORE_PARAM_45
#define VYRE__BEFORE_ARG_45
#define VYRE__BEFORE_PARAM_46
#define VYRE__BEFORE_ARG_46
#define VYRE__BEFORE_PARAM_47
#define VYRE__BEFORE_ARG_47
#define VYRE__BEFORE_PARAM_48
#define VYRE__BEFORE_ARG_48
#define VYRE__BEFORE_PARAM_49
#define VYRE__BEFORE_ARG_49
#define VYRE__BEFORE_PARAM_50
#define VYRE__BEFORE_ARG_50
#define VYRE__BEFORE_PARAM_51
#define VYRE__BEFORE_ARG_51
#define VYRE__BEFORE_PARAM_52
#define VYRE__BEFORE_ARG_52
#define VYRE__BEFORE_PARAM_53
#define VYRE__BEFORE_ARG_53
#define VYRE__BEFORE_PARAM_54
#define VYRE__BEFORE_ARG_54
#define VYRE__BEFORE_PARAM_55
#define VYRE__BEFORE_ARG_55
#define VYRE__BEFORE_PARAM_56
#define VYRE__BEFORE_ARG_56
#define VYRE__BEFORE_PARAM_57
#define VYRE__BEFORE_ARG_57
#define VYRE__BEFORE_PARAM_58
#define VYRE__BEFORE_ARG_58
#define VYRE__BEFORE_PARAM_59
#define VYRE__BEFORE_ARG_59
#define VYRE__BEFORE_PARAM_60
#define VYRE__BEFORE_ARG_60
#define VYRE__BEFORE_PARAM_61
#define VYRE__BEFORE_ARG_61
#define VYRE__BEFORE_PARAM_62
#define VYRE__BEFORE_ARG_62
#define VYRE__BEFORE_PARAM_63
#define VYRE__BEFORE_ARG_63
#define VYRE__BEFORE_PARAM_64
#define VYRE__BEFORE_ARG_64
#define VYRE__BEFORE_PARAM_65
#define VYRE__BEFORE_ARG_65

/* Workgroup memory comes aligned to what its pointer points to. */
#define VYRE_PARAM_CONST(i, name) VYRE__BEFORE_PARAM_##i __global const uchar *vyre__arg_##i
#define VYRE_PARAM_IN(i, name) VYRE__BEFORE_PARAM_##i __global const uchar *vyre__arg_##i
#define VYRE_PARAM_OUT(i, name) VYRE__BEFORE_PARAM_##i __global uchar *vyre__arg_##i
#define VYRE_PARAM_INOUT(i, name) VYRE__BEFORE_PARAM_##i __global uchar *vyre__arg_##i
#define VYRE_PARAM_LOCAL(i, name) VYRE__BEFORE_PARAM_##i __local ulong2 *vyre__arg_##i
#define VYRE_ARG(i, name) VYRE__BEFORE_ARG_##i VYRE__BOUND(i)
#define VYRE__BOUND(i) vyre__bound(vyre__arg_##i, vyre__words[VYRE__WORD_OFFSETS + i])

/* An argument is a whole buffer; the binding begins somewhere in it. */
VYRE__EACH __global const void *vyre__bound(__global const uchar *p, vyre_u64 offset)
{
  return p + offset;
}
VYRE__EACH __global void *vyre__bound(__global uchar *p, vyre_u64 offset)
{
  return p + offset;
}
VYRE__EACH __local void *vyre__bound(__local ulong2 *p, vyre_u64 offset)
{
  return p;
}

#if VYRE_DEBUG
#define VYRE__HIDDEN __global const ulong *restrict vyre__words, __global uint *vyre__record
#else
#define VYRE__HIDDEN __global const ulong *restrict vyre__words
#define vyre__record ((__global uint *)0)
#endif

/* Names are pasted in the outermost macro: implementations have macros with the names of OpenCL's
   own functions, which an author's name may be. */
#define VYRE__KERNEL(entry, end, params, body)                                                     \
  __kernel void entry params                                                                       \
  {                                                                                                \
    vyre_ctx vyre__context;                                                                        \
    vyre_ctx *vyre__c = &vyre__context;                                                            \
    vyre__c->counts = vyre__words + vyre__words[VYRE__WORD_COUNTS];                                \
    vyre__c->push = vyre__words + vyre__words[VYRE__WORD_PUSH];                                    \
    vyre__c->tick = vyre__words[VYRE__WORD_TICK];                                                  \
    vyre__c->fault = vyre__record;                                                                 \
    vyre__c->control = (__global vyre_u32 *)0;                                                     \
    vyre__c->pass = 0u;                                                                            \
    body                                                                                           \
  }                                                                                                \
  typedef vyre_u8 end
#define VYRE__CALL(segment, args) segment args;
/* The pass stands in the control words. */
#define VYRE__CONTROL(i)                                                                           \
  vyre__c->control = (__global vyre_u32 *)VYRE__BOUND(i);                                          \
  vyre__c->pass = vyre__c->control[VYRE_CONTROL_PASS];

#define VYRE_ENTRY(name, params, args)                                                             \
  VYRE__KERNEL(vyre_entry_##name, vyre__end_of_##name, params,                                     \
               VYRE__CALL(vyre_segment_##name, args))
#define VYRE_ENTRY_CHANGED(name, params, args, i)                                                  \
  VYRE__KERNEL(vyre_entry_##name, vyre__end_of_##name, params,                                     \
               VYRE__CONTROL(i) VYRE__CALL(vyre_segment_##name, args))
#define VYRE_ENTRY_SETTLE(name, params, args, i)                                                   \
  VYRE__KERNEL(vyre_entry_##name, vyre__end_of_##name, params,                                     \
               VYRE__CONTROL(i) VYRE__CALL(vyre_segment_##name, args))

/* No grid meets at a barrier here: the whole program in one launch is never started, and the core
   runs a launch for each step. */
#define VYRE_FUSED(name, params)                                                                   \
  __kernel void vyre_entry_##name params                                                           \
  {
#define VYRE_FUSED_END }
#define VYRE_PASSES(i, steps)
#define VYRE_PASSES_END
#define VYRE_RUN(step, name, args)
#define VYRE_RUN_CHANGED(step, name, args, i)

/* Words of 64 bits that one turn of the convergence test looks at before it copies any. */
#define VYRE_SETTLE_WORDS 64u
