/*
 * vyre_kernel.h - the kernel language `vyre-c`, every word of it.
 *
 * A kernel is ordinary C with the words below.  One source compiles for the CPU with the system's C
 * compiler, and for a GPU with that vendor's run-time compiler.  It is the common subset of C and
 * C++: no compound literals, no designated initialisers, no implicit conversion from `void *`.  It
 * uses no libc, no recursion, no function pointers, no variable-length or large private arrays.
 *
 * This file documents each word and gives its expansion for a plain C compiler (gcc or clang).
 * The cpu plugin uses exactly this text as its prelude, and a host program may include it to call
 * the same functions directly.  Another plugin puts its own text before this one: it defines
 * VYRE_PRELUDE and every word of part 1; part 2 is built on those words and is the same everywhere.
 *
 * Whoever compiles it as C asks for C11 or later (-std=c11), for -ffp-contract=off (LANG-002) and
 * for -fno-strict-aliasing (bytes of a buffer are read as words), and for nothing that -ffast-math
 * stands for; -fno-math-errno and -fno-trapping-math change no result.  For another language it is
 * what says the same there: nothing contracted, division and square root correctly rounded,
 * denormals kept.
 *
 * A segment is a function over one work item:
 *
 *     VYRE_SEGMENT(hop)(vyre_ctx *c, VYRE_IN(vyre_u32) edges, VYRE_INOUT(vyre_u32) seen)
 *     {
 *       vyre_u64 i = vyre_global_id(c, 0);
 *       if (i >= vyre_count(c, edges)) return;
 *       ...
 *     }
 *
 * Its parameters have the names of the program's buffers, in the order in which the segment
 * declares them.  Its logical indexes count work items of the whole grid, whatever the device runs
 * at once.
 *
 * Rules of the language
 *   LANG-001  Unsigned arithmetic wraps.  Signed overflow and over-wide shifts are the author's
 *             error; vyre_shl() and vyre_shr() mask the distance.
 *   LANG-002  + - * / of floats, vyre_sqrt and vyre_fma are correctly rounded, denormals are kept,
 *             nothing is contracted: results are bit-equal on every device.
 *   LANG-003  Every item of a workgroup reaches each vyre_barrier() equally often, or none does.
 *             Stores before it are seen by the group after it.
 *   LANG-004  Atomic words are whole, lose nothing and return the old value; fences order.
 *   LANG-005  Ids and sizes are those of the launch in all three dimensions.
 *   LANG-006  Tables: vyre_lookup16() and VYRE_CONSTANT.
 *   LANG-007  VYRE_SPREAD comes to every index exactly once in the grid.
 *   LANG-008  vyre_clock_ns() never goes back.
 *   LANG-009  Subgroup words agree with each other.
 */
#ifndef VYRE_KERNEL_H
#define VYRE_KERNEL_H

/* ================================================================================================
 * Part 1: words that a prelude defines; here for a plain C compiler
 * ================================================================================================
 */
#ifndef VYRE_PRELUDE
#define VYRE_PRELUDE_C 1

/* Types of fixed width.  `vyre_f32` and `vyre_f64` are IEEE 754 binary32 and binary64. */
typedef signed char vyre_i8;
typedef unsigned char vyre_u8;
typedef short vyre_i16;
typedef unsigned short vyre_u16;
typedef int vyre_i32;
typedef unsigned int vyre_u32;
typedef long long vyre_i64;
typedef unsigned long long vyre_u64;
typedef float vyre_f32;
typedef double vyre_f64;

/* A function of the kernel's own, called by segments. */
#define VYRE_FUNCTION static inline __attribute__((unused))

/* A constant table at file scope: `VYRE_CONSTANT(vyre_u32) primes[3] = {2, 3, 5};` */
#define VYRE_CONSTANT(type) static const type

/* Address spaces, for pointers inside a kernel. */
#define VYRE_GLOBAL
#define VYRE_SHARED

/*
 * Pointer words for parameters: a buffer that is read; written; read and written; workgroup memory.
 * Without barriers in the source no two parameters of a segment overlap and no other item's plain
 * store has to be seen, so they are `restrict`.
 */
#if defined(VYRE_HAS_BARRIER) && VYRE_HAS_BARRIER
#define VYRE_RESTRICT
#else
#define VYRE_RESTRICT __restrict
#endif
#define VYRE_IN(type) const type *VYRE_RESTRICT
#define VYRE_OUT(type) type *VYRE_RESTRICT
#define VYRE_INOUT(type) type *VYRE_RESTRICT
#define VYRE_LOCAL(type) type *

struct vyre_ctx;
struct vyre_native_entry;

/*
 * vyre_native_runtime - what the runner gives to a plain C kernel.  Filled by the cpu plugin; a
 * host program that calls kernels directly may pass zeros if the kernel uses none of these words.
 */
typedef struct vyre_native_runtime {
  void (*barrier)(struct vyre_ctx *c);
  void (*backoff)(vyre_u32 misses);
  vyre_u64 (*clock_ns)(void);
  void (*notify_host)(vyre_u32 *word);
  /* Does not return: ends the launch with an error that names buffer, index and line. */
  void (*fault)(struct vyre_ctx *c, const char *what, vyre_u64 index, vyre_u64 count,
                const char *file, vyre_u32 line);
  /* Whole groups of an entry with barriers, as its run_groups() does it for one without. */
  void (*run_groups)(const struct vyre_ctx *c, const struct vyre_native_entry *entry,
                     void *const *bindings, vyre_u64 first, vyre_u64 count);
  /* All groups of a fused launch meet here; does not return once one of them has failed. */
  void (*grid_barrier)(struct vyre_ctx *c, vyre_u32 *control);
} vyre_native_runtime;

/* The context of one work item.  Its fields are the prelude's own; use the words below. */
typedef struct vyre_ctx {
  vyre_u32 group_id[3];
  vyre_u32 local_id[3];
  vyre_u32 groups[3];
  vyre_u32 local_size[3];
  const vyre_u64 *counts; /* elements, by buffer id */
  const void *push;
  const vyre_native_runtime *runtime;
  void *runner;      /* the runner's own */
  vyre_u32 *control; /* the program's control words, NULL without */
  vyre_u32 pass;     /* from 1; 0 in a plain launch: it stands in the control words */
} vyre_ctx;

/* Indexes in dimension d (0, 1, 2): of the item in the grid, of its group, in its group; sizes. */
#define vyre_global_id(c, d) ((vyre_u64)(c)->group_id[d] * (c)->local_size[d] + (c)->local_id[d])
#define vyre_global_size(c, d) ((vyre_u64)(c)->groups[d] * (c)->local_size[d])
#define vyre_group_id(c, d) ((c)->group_id[d])
#define vyre_group_count(c, d) ((c)->groups[d])
#define vyre_local_id(c, d) ((c)->local_id[d])
#define vyre_local_size(c, d) ((c)->local_size[d])

/* Elements of the buffer whose name the parameter has, as u64. */
#define vyre_count(c, name) ((c)->counts[VYRE_BUFFER_##name])

/*
 * The push constants as a `const type *`; the type is a struct of the author's.  The pointer has
 * the device's own address space: use it at once, `vyre_push(c, size)->width`, or copy what it
 * points to, `const size s = *vyre_push(c, size);`.
 */
#define vyre_push(c, type) ((const type *)(c)->push)

/*
 * Element `i` of buffer `name`, to read or to assign.  In a debug build (VYRE_DEBUG) an index
 * outside the buffer ends the launch with an error that names buffer, index, count and line.
 */
#if defined(VYRE_DEBUG) && VYRE_DEBUG
#define vyre_at(c, name, i)                                                                        \
  ((name)[vyre__checked((c), #name, (vyre_u64)(i), vyre_count(c, name), __FILE__, __LINE__)])
static inline __attribute__((unused)) vyre_u64 vyre__checked(vyre_ctx *c, const char *what,
                                                             vyre_u64 index, vyre_u64 count,
                                                             const char *file, int line)
{
  if (index >= count)
    c->runtime->fault(c, what, index, count, file, (vyre_u32)line);
  return index;
}
#else
#define vyre_at(c, name, i) ((name)[(i)])
#endif

/*
 * Says that this pass has changed something, in a program with convergence DECLARED: the run ends
 * after the first pass in which no item says so.  Elsewhere it does nothing.
 */
#define vyre_changed(c) vyre__changed(c)

/*
 * A loop over 0 … n-1 whose turns are shared out among all items of the grid, in the order that
 * suits the device's memory: `VYRE_SPREAD(c, i, n) { … }`, i and n are vyre_u64.
 */
#define VYRE_SPREAD(c, i, n)                                                                       \
  for (vyre_u64 i = vyre__share((c), (n), 0u), vyre__end_##i = vyre__share((c), (n), 1u);          \
       i < vyre__end_##i; ++i)

/* All items of the workgroup meet here; their stores before it are seen after it. */
#define vyre_barrier(c) ((c)->runtime->barrier(c))

/*
 * Atomic operations on aligned words.  order: RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST.
 * scope: who takes part: the WORKGROUP, the DEVICE, or the SYSTEM (host and devices).
 * A plain C compiler has one scope.  Each read-modify-write returns the old value.
 */
#define VYRE_RELAXED __ATOMIC_RELAXED
#define VYRE_ACQUIRE __ATOMIC_ACQUIRE
#define VYRE_RELEASE __ATOMIC_RELEASE
#define VYRE_ACQ_REL __ATOMIC_ACQ_REL
#define VYRE_SEQ_CST __ATOMIC_SEQ_CST
#define VYRE_SCOPE_WORKGROUP 0
#define VYRE_SCOPE_DEVICE 1
#define VYRE_SCOPE_SYSTEM 2

#define vyre_atomic_load_u32(p, order, scope) __atomic_load_n((const vyre_u32 *)(p), order)
#define vyre_atomic_load_u64(p, order, scope) __atomic_load_n((const vyre_u64 *)(p), order)
#define vyre_atomic_store_u32(p, v, order, scope) __atomic_store_n((vyre_u32 *)(p), (v), order)
#define vyre_atomic_store_u64(p, v, order, scope) __atomic_store_n((vyre_u64 *)(p), (v), order)
#define vyre_atomic_add_u32(p, v, order, scope) __atomic_fetch_add((vyre_u32 *)(p), (v), order)
#define vyre_atomic_add_u64(p, v, order, scope) __atomic_fetch_add((vyre_u64 *)(p), (v), order)
#define vyre_atomic_and_u32(p, v, order, scope) __atomic_fetch_and((vyre_u32 *)(p), (v), order)
#define vyre_atomic_and_u64(p, v, order, scope) __atomic_fetch_and((vyre_u64 *)(p), (v), order)
#define vyre_atomic_or_u32(p, v, order, scope) __atomic_fetch_or((vyre_u32 *)(p), (v), order)
#define vyre_atomic_or_u64(p, v, order, scope) __atomic_fetch_or((vyre_u64 *)(p), (v), order)
#define vyre_atomic_xor_u32(p, v, order, scope) __atomic_fetch_xor((vyre_u32 *)(p), (v), order)
#define vyre_atomic_xor_u64(p, v, order, scope) __atomic_fetch_xor((vyre_u64 *)(p), (v), order)
#define vyre_atomic_exchange_u32(p, v, order, scope)                                               \
  __atomic_exchange_n((vyre_u32 *)(p), (v), order)
#define vyre_atomic_exchange_u64(p, v, order, scope)                                               \
  __atomic_exchange_n((vyre_u64 *)(p), (v), order)
#define vyre_atomic_min_u32(p, v, order, scope) vyre__atomic_min_u32((vyre_u32 *)(p), (v))
#define vyre_atomic_max_u32(p, v, order, scope) vyre__atomic_max_u32((vyre_u32 *)(p), (v))
#define vyre_atomic_min_u64(p, v, order, scope) vyre__atomic_min_u64((vyre_u64 *)(p), (v))
#define vyre_atomic_max_u64(p, v, order, scope) vyre__atomic_max_u64((vyre_u64 *)(p), (v))
#define vyre_atomic_min_i32(p, v, order, scope) vyre__atomic_min_i32((vyre_i32 *)(p), (v))
#define vyre_atomic_max_i32(p, v, order, scope) vyre__atomic_max_i32((vyre_i32 *)(p), (v))
#define vyre_atomic_min_i64(p, v, order, scope) vyre__atomic_min_i64((vyre_i64 *)(p), (v))
#define vyre_atomic_max_i64(p, v, order, scope) vyre__atomic_max_i64((vyre_i64 *)(p), (v))

/*
 * Compare and exchange: if *p equals `expected` it becomes `desired`.  Returns the old value, so
 * success is `old == expected`.  On failure the order is relaxed or acquire, as `order` implies.
 */
#define vyre_atomic_cas_u32(p, expected, desired, order, scope)                                    \
  vyre__atomic_cas_u32((vyre_u32 *)(p), (expected), (desired))
#define vyre_atomic_cas_u64(p, expected, desired, order, scope)                                    \
  vyre__atomic_cas_u64((vyre_u64 *)(p), (expected), (desired))

#define VYRE_FENCE(order, scope) __atomic_thread_fence(order)
#define vyre_fence(order, scope) VYRE_FENCE(order, scope)

/* Operations that C has no builtin for, by compare-exchange, sequentially consistent. */
#define VYRE__ATOMIC_PICK(name, type, keep)                                                        \
  static inline __attribute__((unused)) type vyre__atomic_##name(type *p, type v)                  \
  {                                                                                                \
    type old = __atomic_load_n(p, __ATOMIC_RELAXED);                                               \
    while (!(old keep v) &&                                                                        \
           !__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {      \
    }                                                                                              \
    return old;                                                                                    \
  }
VYRE__ATOMIC_PICK(min_u32, vyre_u32, <=)
VYRE__ATOMIC_PICK(max_u32, vyre_u32, >=)
VYRE__ATOMIC_PICK(min_u64, vyre_u64, <=)
VYRE__ATOMIC_PICK(max_u64, vyre_u64, >=)
VYRE__ATOMIC_PICK(min_i32, vyre_i32, <=)
VYRE__ATOMIC_PICK(max_i32, vyre_i32, >=)
VYRE__ATOMIC_PICK(min_i64, vyre_i64, <=)
VYRE__ATOMIC_PICK(max_i64, vyre_i64, >=)
#undef VYRE__ATOMIC_PICK

static inline __attribute__((unused)) vyre_u32 vyre__atomic_cas_u32(vyre_u32 *p, vyre_u32 expected,
                                                                    vyre_u32 desired)
{
  __atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

static inline __attribute__((unused)) vyre_u64 vyre__atomic_cas_u64(vyre_u64 *p, vyre_u64 expected,
                                                                    vyre_u64 desired)
{
  __atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

/* One step of a spin loop; after the n-th miss in a row, a longer rest. */
#if defined(__x86_64__) || defined(__i386__)
#define vyre_pause() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define vyre_pause() __asm__ __volatile__("yield")
#else
#define vyre_pause() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif
#define vyre_backoff(c, misses) ((c)->runtime->backoff(misses))

/* Nanoseconds of a clock that never goes back; its start is arbitrary. */
#define vyre_clock_ns(c) ((c)->runtime->clock_ns())

/*
 * Wakes host threads that sleep on `word` (coherent memory), on a device with VYRE_CAP_NOTIFY_HOST;
 * elsewhere it does nothing and VYRE_CAN_NOTIFY is 0.
 */
#define VYRE_CAN_NOTIFY 1
#define vyre_notify_host(c, word) ((c)->runtime->notify_host((vyre_u32 *)(word)))

/* Shifts whose distance is masked to the width of the value. */
#define vyre_shl_u32(v, n) ((vyre_u32)(v) << ((n)&31u))
#define vyre_shr_u32(v, n) ((vyre_u32)(v) >> ((n)&31u))
#define vyre_shl_u64(v, n) ((vyre_u64)(v) << ((n)&63u))
#define vyre_shr_u64(v, n) ((vyre_u64)(v) >> ((n)&63u))

/* Bits: set ones, leading and trailing zeros (the width for 0). */
#define vyre_popcount_u32(v) ((vyre_u32)__builtin_popcount(v))
#define vyre_popcount_u64(v) ((vyre_u32)__builtin_popcountll(v))
#define vyre_clz_u32(v) ((v) ? (vyre_u32)__builtin_clz(v) : 32u)
#define vyre_ctz_u32(v) ((v) ? (vyre_u32)__builtin_ctz(v) : 32u)
#define vyre_clz_u64(v) ((v) ? (vyre_u32)__builtin_clzll(v) : 64u)
#define vyre_ctz_u64(v) ((v) ? (vyre_u32)__builtin_ctzll(v) : 64u)

/* Correctly rounded: bit-equal on every device. */
#define vyre_sqrt_f32(x) __builtin_sqrtf(x)
#define vyre_sqrt_f64(x) __builtin_sqrt(x)
#define vyre_fma_f32(a, b, d) __builtin_fmaf((a), (b), (d))
#define vyre_fma_f64(a, b, d) __builtin_fma((a), (b), (d))

/*
 * Byte shuffle for table filters: byte i of the result is table byte (bytes[i] & 15), for the four
 * bytes packed in a u32.  `table` points to 16 bytes.
 */
#define vyre_lookup16(table, bytes) vyre__lookup16((table), (bytes))
static inline __attribute__((unused)) vyre_u32 vyre__lookup16(const vyre_u8 *table, vyre_u32 bytes)
{
  return (vyre_u32)table[bytes & 15u] | (vyre_u32)table[(bytes >> 8) & 15u] << 8 |
         (vyre_u32)table[(bytes >> 16) & 15u] << 16 | (vyre_u32)table[(bytes >> 24) & 15u] << 24;
}

/*
 * Subgroups: items that step together.  The size is a property of the launch, never a constant.
 * ballot: one bit per lane as u64.  shuffle: the value of another lane.  A plain C compiler has
 * subgroups of one item.
 */
#define vyre_subgroup_size(c) ((void)(c), 1u)
#define vyre_subgroup_lane(c) ((void)(c), 0u)
#define vyre_subgroup_ballot(c, predicate) ((void)(c), (vyre_u64)((predicate) ? 1u : 0u))
#define vyre_subgroup_shuffle_u32(c, value, lane) ((void)(c), (void)(lane), (vyre_u32)(value))
#define vyre_subgroup_add_u32(c, value) ((void)(c), (vyre_u32)(value))

/* ---- Entries: written by the core behind the user's text, never by an author ----
 *
 * VYRE_SEGMENT and VYRE_HANDLER begin the author's functions.  The core then writes, for each
 * segment, with one VYRE_PARAM_… and one VYRE_ARG_… a binding, in order:
 *
 *     VYRE_ENTRY(hop, (VYRE_PARAM_CONST(0, edges), VYRE_PARAM_INOUT(1, seen)),
 *                (VYRE_ARG(0, edges), VYRE_ARG(1, seen)))
 *
 * The PARAM words declare the kernel's parameters (CONST: no segment of the program writes it; IN:
 * this segment only reads it), the ARG words pass them on.  A plain C compiler makes one exported
 * table a segment: `const vyre_native_entry vyre_entry_hop`.
 *
 * VYRE_ENTRY_CHANGED is an entry whose function may say vyre_changed(): its last parameter, number
 * `i`, are the control words.  VYRE_ENTRY_SETTLE is the same for a function that meets no barrier
 * whatever the author's text holds.
 *
 * The whole program in one launch, all passes, is written after them:
 *
 *     VYRE_FUSED(vyre_fused, (VYRE_PARAM_CONST(0, edges), VYRE_PARAM_INOUT(1, seen),
 *                             VYRE_PARAM_INOUT(2, vyre_shadow), VYRE_PARAM_INOUT(3, vyre_control)))
 *       VYRE_PASSES(3, 2)
 *         VYRE_RUN(0, hop, (VYRE_ARG(0, edges), VYRE_ARG(1, seen)))
 *         VYRE_RUN_CHANGED(1, vyre_settle, (VYRE_ARG(1, seen), VYRE_ARG(2, vyre_shadow)), 3)
 *       VYRE_PASSES_END
 *     VYRE_FUSED_END
 *
 * It is launched with as many groups as are worth it.  PASSES, with the number of the control
 * words' parameter and that of the steps: up to VYRE_CONTROL_LIMIT times, and with
 * VYRE_CONTROL_TESTED until a pass has changed nothing.  RUN: all logical groups of step 0, 1, …,
 * whose number stands in the control words, shared out among the groups of the launch; then a
 * barrier of the whole grid.
 */
#define VYRE_SEGMENT(name) static inline __attribute__((always_inline)) void vyre_segment_##name
#define VYRE_HANDLER(name) static inline vyre_u32 vyre_handler_##name

#define VYRE_NATIVE_ABI 2u
#define VYRE_NATIVE_HAS_BARRIER 1u /* flags: items must run as fibers */
#define VYRE_NATIVE_MAY_WAIT 2u    /* flags: may wait for others, must not run in the caller */
#define VYRE_NATIVE_FUSED 4u       /* flags: run_item() is a whole group of a fused launch */

/* Set by whoever compiles the text: what the author's part of it uses. */
#ifndef VYRE_HAS_BARRIER
#define VYRE_HAS_BARRIER 0
#endif
#ifndef VYRE_MAY_WAIT
#define VYRE_MAY_WAIT 0
#endif

typedef struct vyre_native_entry {
  vyre_u32 abi;   /* VYRE_NATIVE_ABI */
  vyre_u32 flags; /* VYRE_NATIVE_… */
  /*
   * Runs `count` whole groups from linear group number `first` (x fastest), items in order.  `c`
   * holds everything but the ids.  Only for entries without barriers; NULL in a fused one.
   */
  void (*run_groups)(const vyre_ctx *c, void *const *bindings, vyre_u64 first, vyre_u64 count);
  /* Runs the one item that `c` names; in a fused entry the one group. */
  void (*run_item)(vyre_ctx *c, void *const *bindings);
} vyre_native_entry;

static inline __attribute__((unused)) void vyre__changed(vyre_ctx *c)
{
  /* Relaxed: a barrier of the grid or the end of the launch is between this and who reads it.  The
     look before the store keeps the line shared when many items say the same. */
  if (c->control && __atomic_load_n(c->control, __ATOMIC_RELAXED) != c->pass)
    __atomic_store_n(c->control, c->pass, __ATOMIC_RELAXED);
}

/* Where the part of item `id + next` begins when n turns are shared out evenly. */
static inline __attribute__((unused)) vyre_u64 vyre__share(const vyre_ctx *c, vyre_u64 n,
                                                           vyre_u64 next)
{
  const vyre_u64 nx = vyre_global_size(c, 0), ny = vyre_global_size(c, 1);
  const vyre_u64 items = nx * ny * vyre_global_size(c, 2);
  const vyre_u64 id =
      vyre_global_id(c, 0) + nx * (vyre_global_id(c, 1) + ny * vyre_global_id(c, 2)) + next;
  /* Fewer turns than items is the common case, and a division is dear. */
  const vyre_u64 each = n < items ? 0u : n / items, more = n - each * items;
  return id * each + (id < more ? id : more);
}

#define VYRE_UNPACK(...) __VA_ARGS__
/* In plain C the PARAM words together are one declaration, `void *const a = …, *const b = …;`: the
   addresses are loop invariants, without which no compiler makes vector code of the loop below. */
#define VYRE__PARAM(i) *const vyre__arg_##i = vyre__bindings[i]
#define VYRE_PARAM_CONST(i, name) VYRE__PARAM(i)
#define VYRE_PARAM_IN(i, name) VYRE__PARAM(i)
#define VYRE_PARAM_OUT(i, name) VYRE__PARAM(i)
#define VYRE_PARAM_INOUT(i, name) VYRE__PARAM(i)
#define VYRE_PARAM_LOCAL(i, name) VYRE__PARAM(i)
#define VYRE_ARG(i, name) vyre__arg_##i

#define VYRE__ENTRY(name, params, args, flags, begin)                                              \
  static void vyre__item_##name(vyre_ctx *vyre__c, void *const *vyre__bindings)                    \
  {                                                                                                \
    void VYRE_UNPACK params;                                                                       \
    begin;                                                                                         \
    vyre_segment_##name(vyre__c, VYRE_UNPACK args);                                                \
  }                                                                                                \
  static void vyre__groups_##name(const vyre_ctx *vyre__launch, void *const *vyre__bindings,       \
                                  vyre_u64 vyre__first, vyre_u64 vyre__count)                      \
  {                                                                                                \
    void VYRE_UNPACK params;                                                                       \
    vyre_ctx vyre__item = *vyre__launch;                                                           \
    vyre_ctx *vyre__c = &vyre__item;                                                               \
    const vyre_u32 vyre__nx = vyre__item.local_size[0], vyre__ny = vyre__item.local_size[1];       \
    const vyre_u32 vyre__nz = vyre__item.local_size[2];                                            \
    begin;                                                                                         \
    for (vyre_u64 vyre__g = vyre__first; vyre__g < vyre__first + vyre__count; ++vyre__g) {         \
      vyre__c->group_id[0] = (vyre_u32)(vyre__g % vyre__c->groups[0]);                             \
      vyre__c->group_id[1] = (vyre_u32)(vyre__g / vyre__c->groups[0] % vyre__c->groups[1]);        \
      vyre__c->group_id[2] = (vyre_u32)(vyre__g / vyre__c->groups[0] / vyre__c->groups[1]);        \
      for (vyre_u32 vyre__z = 0; vyre__z < vyre__nz; ++vyre__z)                                    \
        for (vyre_u32 vyre__y = 0; vyre__y < vyre__ny; ++vyre__y)                                  \
          for (vyre_u32 vyre__x = 0; vyre__x < vyre__nx; ++vyre__x) {                              \
            vyre__c->local_id[0] = vyre__x;                                                        \
            vyre__c->local_id[1] = vyre__y;                                                        \
            vyre__c->local_id[2] = vyre__z;                                                        \
            vyre_segment_##name(vyre__c, VYRE_UNPACK args);                                        \
          }                                                                                        \
    }                                                                                              \
  }                                                                                                \
  VYRE__TABLE(name, flags, vyre__groups_##name, vyre__item_##name)

#define VYRE__TABLE(name, flags, groups, item)                                                     \
  extern const vyre_native_entry vyre_entry_##name;                                                \
  __attribute__((visibility("default")))                                                           \
  const vyre_native_entry vyre_entry_##name = {VYRE_NATIVE_ABI, (flags), groups, item}

#define VYRE__FLAGS                                                                                \
  ((VYRE_HAS_BARRIER ? VYRE_NATIVE_HAS_BARRIER : 0u) | (VYRE_MAY_WAIT ? VYRE_NATIVE_MAY_WAIT : 0u))

/* A plain launch finds the pass in the control words; in a fused one it is known. */
#define VYRE__CONTROL(i)                                                                           \
  if (!vyre__c->pass) {                                                                            \
    vyre__c->control = (vyre_u32 *)vyre__arg_##i;                                                  \
    vyre__c->pass = vyre__c->control[VYRE_CONTROL_PASS];                                           \
  }

#define VYRE_ENTRY(name, params, args) VYRE__ENTRY(name, params, args, VYRE__FLAGS, (void)0)
#define VYRE_ENTRY_CHANGED(name, params, args, i)                                                  \
  VYRE__ENTRY(name, params, args, VYRE__FLAGS, VYRE__CONTROL(i))
#define VYRE_ENTRY_SETTLE(name, params, args, i)                                                   \
  VYRE__ENTRY(name, params, args, 0u, VYRE__CONTROL(i))

#define VYRE_FUSED(name, params)                                                                   \
  static void vyre__group_##name(vyre_ctx *vyre__c, void *const *vyre__bindings);                  \
  VYRE__TABLE(name, VYRE__FLAGS | VYRE_NATIVE_FUSED, 0, vyre__group_##name);                       \
  static void vyre__group_##name(vyre_ctx *vyre__c, void *const *vyre__bindings)                   \
  {                                                                                                \
    void VYRE_UNPACK params;
#define VYRE_FUSED_END }

/* Every group reads CHANGED behind a barrier, and it only grows: a group that is already in the
   next pass can only have been let in by the same answer. */
#define VYRE_PASSES(i, steps)                                                                      \
  vyre_u32 *const vyre__control = (vyre_u32 *)vyre__arg_##i;                                       \
  vyre_u32 vyre__pass = 0;                                                                         \
  vyre__c->control = vyre__control;                                                                \
  while (vyre__pass < vyre__control[VYRE_CONTROL_LIMIT]) {                                         \
    vyre__c->pass = ++vyre__pass;
#define VYRE_PASSES_END                                                                            \
  if (vyre__control[VYRE_CONTROL_TESTED] &&                                                        \
      __atomic_load_n(&vyre__control[VYRE_CONTROL_CHANGED], __ATOMIC_RELAXED) < vyre__pass)        \
    break;                                                                                         \
  }                                                                                                \
  if (!vyre__c->group_id[0])                                                                       \
    vyre__control[VYRE_CONTROL_PASSES] = vyre__pass;

/* Only a segment that says vyre_changed() sees the words: in others it does nothing. */
#define VYRE_RUN(step, name, args) VYRE__RUN(step, name, (VYRE_UNPACK args), (vyre_u32 *)0)
#define VYRE_RUN_CHANGED(step, name, args, i)                                                      \
  VYRE__RUN(step, name, (VYRE_UNPACK args, vyre__arg_##i), vyre__control)
#define VYRE__RUN(step, name, all, words)                                                          \
  {                                                                                                \
    void *const vyre__run[] = {VYRE_UNPACK all};                                                   \
    vyre__run_step(vyre__c, (words), vyre__control + VYRE_CONTROL_GROUPS + 3u * (step),            \
                   &vyre_entry_##name, vyre__run);                                                 \
  }                                                                                                \
  vyre__c->runtime->grid_barrier(vyre__c, vyre__control);

/* This group's share of a step: a contiguous part, the same in every pass. */
static inline __attribute__((unused)) void vyre__run_step(const vyre_ctx *c, vyre_u32 *control,
                                                          const vyre_u32 *groups,
                                                          const vyre_native_entry *entry,
                                                          void *const *bindings)
{
  const vyre_u64 n = (vyre_u64)groups[0] * groups[1] * groups[2], ranks = c->groups[0];
  const vyre_u64 rank = c->group_id[0], each = n / ranks, more = n % ranks;
  const vyre_u64 first = rank * each + (rank < more ? rank : more), count = each + (rank < more);
  vyre_ctx launch = *c;
  launch.control = control;
  launch.groups[0] = groups[0];
  launch.groups[1] = groups[1];
  launch.groups[2] = groups[2];
  if (!count)
    return;
  if (entry->flags & VYRE_NATIVE_HAS_BARRIER)
    c->runtime->run_groups(&launch, entry, bindings, first, count);
  else
    entry->run_groups(&launch, bindings, first, count);
}

/* Words of 64 bits that one turn of the convergence test looks at before it copies any. */
#define VYRE_SETTLE_WORDS 64u

#endif /* VYRE_PRELUDE */

/* ================================================================================================
 * Part 2: words that are built on part 1 and are the same everywhere
 * ================================================================================================
 */

/*
 * Handlers of the engine.  A handler is a function over one work item of the ring:
 *
 *     VYRE_HANDLER(scan)(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size,
 *                        VYRE_IN(vyre_u8) constants, vyre_u64 constants_size, vyre_job *job)
 *
 * data: the item's bytes, inside the engine's input (the core has checked that).  constants: those
 * of the item's rule set, aligned to 16 bytes.  It returns the item's 32-bit result; a handler that
 * emits records returns vyre_emitted(job).
 */
typedef struct vyre_job_record {
  vyre_u64 ticket;   /* of the item that emitted it */
  vyre_u32 value[2]; /* the handler's */
} vyre_job_record;

typedef struct vyre_job {
  vyre_u64 ticket;
  vyre_u32 rule_set_id;
  vyre_u32 correlation;
  vyre_u32 wanted; /* records that the handler emitted */
  vyre_u32 stored; /* of those, records that found room */
  VYRE_GLOBAL vyre_job_record *records;
  VYRE_GLOBAL vyre_u32 *cursor; /* records taken in this half of the bank */
  vyre_u32 capacity;            /* records that fit in it */
  vyre_u32 reserved;
} vyre_job;

/* Number of records that this job has emitted so far, stored or not. */
#define vyre_emitted(job) ((job)->wanted)

/*
 * Appends a record to the job's output bank.  Without room it is counted and not stored, and the
 * item completes with VYRE_ERROR_OVERFLOW.
 */
VYRE_FUNCTION void vyre_emit(vyre_ctx *c, vyre_job *job, vyre_u32 value0, vyre_u32 value1)
{
  vyre_u32 place = job->capacity;
  (void)c;
  job->wanted += 1u;
  /* Relaxed: the cursor only hands out places; completion publishes the records.  The look before
     the add keeps the cursor from wrapping: it passes capacity by one a job at most. */
  if (vyre_atomic_load_u32(job->cursor, VYRE_RELAXED, VYRE_SCOPE_DEVICE) < job->capacity)
    place = vyre_atomic_add_u32(job->cursor, 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  if (place < job->capacity) {
    job->records[place].ticket = job->ticket;
    job->records[place].value[0] = value0;
    job->records[place].value[1] = value1;
    job->stored += 1u;
  }
}

/*
 * Control words of a program with several passes or a fused launch: u32 in one buffer, zeroed for
 * each dispatch.  What one side writes has a line of 128 bytes to itself.
 */
#define VYRE_CONTROL_CHANGED 0u     /* the last pass that changed something; never cleared */
#define VYRE_CONTROL_PASSES 1u      /* out: passes that a fused launch ran */
#define VYRE_CONTROL_PASS 32u       /* the pass that a plain launch is in, from 1 */
#define VYRE_CONTROL_LIMIT 33u      /* fused: most passes */
#define VYRE_CONTROL_TESTED 34u     /* fused: 1 ends after a pass that changed nothing */
#define VYRE_CONTROL_ARRIVED 64u    /* the grid barrier: groups that wait */
#define VYRE_CONTROL_GENERATION 96u /* the grid barrier: how often it has opened */
#define VYRE_CONTROL_GROUPS 128u    /* fused: three logical group counts for each step */

/*
 * One buffer's part of the convergence test (VYRE_CONVERGE_EXACT): compares `size` bytes with their
 * copy in the shadow from byte `at`, copies what differs, and says so.  Returns where the next
 * buffer's copy begins.  Both pointers are aligned to 16 bytes.
 */
VYRE_FUNCTION vyre_u64 vyre_settle_bytes(vyre_ctx *c, VYRE_GLOBAL const vyre_u8 *now, vyre_u64 size,
                                         VYRE_GLOBAL vyre_u8 *shadow, vyre_u64 at)
{
  VYRE_GLOBAL const vyre_u64 *value = (VYRE_GLOBAL const vyre_u64 *)now;
  VYRE_GLOBAL vyre_u64 *copy = (VYRE_GLOBAL vyre_u64 *)(shadow + at);
  const vyre_u64 words = size / 8u;
  const vyre_u64 turns = words / VYRE_SETTLE_WORDS + (words % VYRE_SETTLE_WORDS != 0u);
  vyre_u32 differs = 0u;
  VYRE_SPREAD(c, turn, turns)
  {
    const vyre_u64 first = turn * VYRE_SETTLE_WORDS;
    const vyre_u64 end = first + VYRE_SETTLE_WORDS < words ? first + VYRE_SETTLE_WORDS : words;
    vyre_u64 difference = 0u;
    for (vyre_u64 i = first; i < end; ++i)
      difference |= value[i] ^ copy[i];
    if (difference) {
      differs = 1u;
      for (vyre_u64 i = first; i < end; ++i)
        copy[i] = value[i];
    }
  }
  /* The last bytes, fewer than a word: one turn. */
  VYRE_SPREAD(c, turn, 1u)
  {
    for (vyre_u64 i = words * 8u + turn; i < size; ++i) {
      differs |= (vyre_u32)(now[i] != shadow[at + i]);
      shadow[at + i] = now[i];
    }
  }
  if (differs)
    vyre_changed(c);
  return at + (size + 15u) / 16u * 16u;
}

#endif /* VYRE_KERNEL_H */
