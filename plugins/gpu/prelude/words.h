/*
 * words.h - part 1 of vyre_kernel.h for GPU compilers: what an author's text uses.  vyre_kernel.h
 * says what each word means.  entry.h follows: the words that the core writes.
 *
 * Nothing keeps an array of its own: an array of an item's lies in memory as soon as one index is
 * not a constant.  Sizes and ids are therefore picked by their dimension, a constant in most
 * places.
 */

/* The context of one work item.  In a fused launch group and groups are logical ones. */
typedef struct vyre_ctx {
  const vyre__gpu_launch *launch;
  vyre_u32 *control; /* the program's control words, NULL without */
  vyre_u32 pass;     /* from 1; 0 in a program without */
  vyre_u32 group_x, group_y, group_z;
  vyre_u32 groups_x, groups_y, groups_z;
} vyre_ctx;

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__pick(int d, vyre_u32 x, vyre_u32 y, vyre_u32 z)
{
  return d == 0 ? x : d == 1 ? y : z;
}

#define VYRE_FUNCTION static VYRE__DEVICE VYRE__INLINE
#define VYRE_CONSTANT(type) static VYRE__TABLE_MEMORY const type
#define VYRE_SEGMENT(name) static VYRE__DEVICE VYRE__INLINE void vyre_segment_##name
#define VYRE_HANDLER(name) static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre_handler_##name

/* Address spaces are found by the compiler. */
#define VYRE_GLOBAL
#define VYRE_SHARED

/*
 * No `restrict` here: with it a compiler may read through the cache for constant data what another
 * segment of the same launch has written.  VYRE_PARAM_CONST says it of what nobody writes.
 */
#define VYRE_RESTRICT
#define VYRE_IN(type) const type *
#define VYRE_OUT(type) type *
#define VYRE_INOUT(type) type *
#define VYRE_LOCAL(type) type *

#define vyre_group_id(c, d) (vyre__pick((d), (c)->group_x, (c)->group_y, (c)->group_z))
#define vyre_group_count(c, d) (vyre__pick((d), (c)->groups_x, (c)->groups_y, (c)->groups_z))
#define vyre_local_id(c, d) ((void)(c), vyre__local_id(d))
#define vyre_local_size(c, d) ((void)(c), vyre__local_size(d))
#define vyre_global_id(c, d)                                                                       \
  ((vyre_u64)vyre_group_id(c, d) * vyre__local_size(d) + vyre__local_id(d))
#define vyre_global_size(c, d) ((vyre_u64)vyre_group_count(c, d) * vyre__local_size(d))

#define vyre_count(c, name) ((c)->launch->counts[VYRE_BUFFER_##name])
#define vyre_push(c, type) ((const type *)(const void *)(c)->launch->push)

/* ---- debug builds: every index is checked ---- */

#if defined(VYRE_DEBUG) && VYRE_DEBUG
/* Leaves the text's last bytes if `end`, else its first ones, as many as fit with a NUL. */
static VYRE__DEVICE void vyre__note(char *to, const char *text, bool end)
{
  vyre_u32 size = 0u, from = 0u;
  while (text[size])
    ++size;
  if (end && size > 63u)
    from = size - 63u;
  for (vyre_u32 i = 0u; i < 63u && from + i < size; ++i)
    to[i] = text[from + i];
}

/* Records the launch's first offence and ends the item.  The record was zeroed. */
static VYRE__DEVICE VYRE__NOINLINE void vyre__fault(vyre_u64 address, const char *what,
                                                    vyre_u64 index, vyre_u64 count,
                                                    const char *file, vyre_u32 line)
{
  vyre__gpu_fault *fault = (vyre__gpu_fault *)address;
  /* Relaxed: it only decides who writes.  The host reads the record behind the launch's end; the
     release is for a host that looks at it earlier. */
  if (fault && vyre__gpu_cas_u32(&fault->taken, 0u, 1u, VYRE_RELAXED, VYRE_SCOPE_SYSTEM) == 0u) {
    fault->line = line;
    fault->index = index;
    fault->count = count;
    vyre__note(fault->what, what, false);
    vyre__note(fault->file, file, true);
    vyre__gpu_store_u32(&fault->kind, VYRE__GPU_FAULT_INDEX, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
  }
  vyre__end_item();
}

static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__checked(const vyre_ctx *c, const char *what,
                                                        vyre_u64 index, vyre_u64 count,
                                                        const char *file, vyre_u32 line)
{
  if (index >= count)
    vyre__fault(c->launch->fault, what, index, count, file, line);
  return index;
}
#define vyre_at(c, name, i)                                                                        \
  ((name)[vyre__checked((c), #name, (vyre_u64)(i), vyre_count(c, name), __FILE__, __LINE__)])
#else
#define vyre_at(c, name, i) ((name)[(i)])
#endif

/* True once an item of this launch has ended with a fault: nobody waits for it any more. */
static VYRE__DEVICE VYRE__INLINE bool vyre__faulted(const vyre_ctx *c)
{
#if defined(VYRE_DEBUG) && VYRE_DEBUG
  /* Relaxed: a mark, no data. */
  const vyre__gpu_fault *fault = (const vyre__gpu_fault *)c->launch->fault;
  return fault && vyre__gpu_load_u32(&fault->taken, VYRE_RELAXED, VYRE_SCOPE_SYSTEM) != 0u;
#else
  (void)c;
  return false;
#endif
}

/* ---- the grid ---- */

static VYRE__DEVICE VYRE__INLINE void vyre__change(const vyre_ctx *c, vyre_u32 at)
{
  /* Relaxed: a barrier of the grid or the end of the launch is between this and who reads it.  The
     look before the store keeps many items that say the same from writing the same line. */
  if (c->control && vyre__gpu_load_u32(c->control + at, VYRE_RELAXED, VYRE_SCOPE_DEVICE) != c->pass)
    vyre__gpu_store_u32(c->control + at, c->pass, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}
#define vyre_changed(c) vyre__change((c), VYRE_CONTROL_CHANGED)

/* Where the item stands when groups come one after the other: the lanes of a subgroup are
   neighbours whatever the shape of the group is. */
static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__rank(const vyre_ctx *c)
{
  const vyre_u64 group =
      c->group_x + (vyre_u64)c->groups_x * (c->group_y + (vyre_u64)c->groups_y * c->group_z);
  const vyre_u32 items = vyre__local_size(0) * vyre__local_size(1) * vyre__local_size(2);
  return group * items +
         (vyre__local_id(0) +
          vyre__local_size(0) * (vyre__local_id(1) + vyre__local_size(1) * vyre__local_id(2)));
}

static VYRE__DEVICE VYRE__INLINE vyre_u64 vyre__items(const vyre_ctx *c)
{
  return (vyre_u64)c->groups_x * c->groups_y * c->groups_z *
         (vyre__local_size(0) * vyre__local_size(1) * vyre__local_size(2));
}

/* Neighbouring items take neighbouring turns, which one access of a subgroup serves together. */
#define VYRE_SPREAD(c, i, n)                                                                       \
  for (vyre_u64 i = vyre__rank(c), vyre__step_##i = vyre__items(c), vyre__end_##i = (n);           \
       i < vyre__end_##i; i += vyre__step_##i)

#define vyre_barrier(c) ((void)(c), vyre__barrier())

/* ---- atomics ---- */

#define vyre_atomic_load_u32(p, order, scope)                                                      \
  vyre__gpu_load_u32((const vyre_u32 *)(p), (order), (scope))
#define vyre_atomic_load_u64(p, order, scope)                                                      \
  vyre__gpu_load_u64((const vyre_u64 *)(p), (order), (scope))
#define vyre_atomic_store_u32(p, v, order, scope)                                                  \
  vyre__gpu_store_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_store_u64(p, v, order, scope)                                                  \
  vyre__gpu_store_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_add_u32(p, v, order, scope)                                                    \
  vyre__gpu_add_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_add_u64(p, v, order, scope)                                                    \
  vyre__gpu_add_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_and_u32(p, v, order, scope)                                                    \
  vyre__gpu_and_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_and_u64(p, v, order, scope)                                                    \
  vyre__gpu_and_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_or_u32(p, v, order, scope)                                                     \
  vyre__gpu_or_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_or_u64(p, v, order, scope)                                                     \
  vyre__gpu_or_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_xor_u32(p, v, order, scope)                                                    \
  vyre__gpu_xor_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_xor_u64(p, v, order, scope)                                                    \
  vyre__gpu_xor_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_exchange_u32(p, v, order, scope)                                               \
  vyre__gpu_exchange_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_exchange_u64(p, v, order, scope)                                               \
  vyre__gpu_exchange_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_min_u32(p, v, order, scope)                                                    \
  vyre__gpu_min_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_min_u64(p, v, order, scope)                                                    \
  vyre__gpu_min_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_max_u32(p, v, order, scope)                                                    \
  vyre__gpu_max_u32((vyre_u32 *)(p), (v), (order), (scope))
#define vyre_atomic_max_u64(p, v, order, scope)                                                    \
  vyre__gpu_max_u64((vyre_u64 *)(p), (v), (order), (scope))
#define vyre_atomic_min_i32(p, v, order, scope)                                                    \
  vyre__gpu_min_i32((vyre_i32 *)(p), (v), (order), (scope))
#define vyre_atomic_min_i64(p, v, order, scope)                                                    \
  vyre__gpu_min_i64((vyre_i64 *)(p), (v), (order), (scope))
#define vyre_atomic_max_i32(p, v, order, scope)                                                    \
  vyre__gpu_max_i32((vyre_i32 *)(p), (v), (order), (scope))
#define vyre_atomic_max_i64(p, v, order, scope)                                                    \
  vyre__gpu_max_i64((vyre_i64 *)(p), (v), (order), (scope))
#define vyre_atomic_cas_u32(p, expected, desired, order, scope)                                    \
  vyre__gpu_cas_u32((vyre_u32 *)(p), (expected), (desired), (order), (scope))
#define vyre_atomic_cas_u64(p, expected, desired, order, scope)                                    \
  vyre__gpu_cas_u64((vyre_u64 *)(p), (expected), (desired), (order), (scope))

#define VYRE_FENCE(order, scope) vyre__fence((order), (scope))
#define vyre_fence(order, scope) VYRE_FENCE(order, scope)

/* ---- waiting, time ---- */

#define vyre_pause() vyre__pause()

/* From 32 ns, doubled with each miss up to 1 us: about as long as one look across the link takes.
 */
static VYRE__DEVICE VYRE__INLINE void vyre__backoff(vyre_u32 misses)
{
  vyre__rest(32u << (misses < 5u ? misses : 5u));
}
#define vyre_backoff(c, misses) ((void)(c), vyre__backoff(misses))

#define vyre_clock_ns(c) ((void)(c), vyre__clock())

/* Host threads look for themselves. */
#define VYRE_CAN_NOTIFY 0
#define vyre_notify_host(c, word) ((void)(c), (void)(word))

/* ---- arithmetic ---- */

#define vyre_shl_u32(v, n) ((vyre_u32)(v) << ((n)&31u))
#define vyre_shr_u32(v, n) ((vyre_u32)(v) >> ((n)&31u))
#define vyre_shl_u64(v, n) ((vyre_u64)(v) << ((n)&63u))
#define vyre_shr_u64(v, n) ((vyre_u64)(v) >> ((n)&63u))

#define vyre_popcount_u32(v) vyre__popcount((vyre_u32)(v))
#define vyre_popcount_u64(v) vyre__popcount((vyre_u64)(v))
#define vyre_clz_u32(v) vyre__clz((vyre_u32)(v))
#define vyre_clz_u64(v) vyre__clz((vyre_u64)(v))
#define vyre_ctz_u32(v) vyre__ctz((vyre_u32)(v))
#define vyre_ctz_u64(v) vyre__ctz((vyre_u64)(v))

#define vyre_sqrt_f32(x) vyre__sqrt((vyre_f32)(x))
#define vyre_sqrt_f64(x) vyre__sqrt((vyre_f64)(x))
#define vyre_fma_f32(a, b, d) vyre__fma((vyre_f32)(a), (vyre_f32)(b), (vyre_f32)(d))
#define vyre_fma_f64(a, b, d) vyre__fma((vyre_f64)(a), (vyre_f64)(b), (vyre_f64)(d))

static VYRE__DEVICE VYRE__INLINE vyre_u32 vyre__lookup16(const vyre_u8 *table, vyre_u32 bytes)
{
  return (vyre_u32)table[bytes & 15u] | (vyre_u32)table[(bytes >> 8) & 15u] << 8 |
         (vyre_u32)table[(bytes >> 16) & 15u] << 16 | (vyre_u32)table[(bytes >> 24) & 15u] << 24;
}
#define vyre_lookup16(table, bytes) vyre__lookup16((table), (bytes))

/* ---- subgroups: the lanes that are at the word together ---- */

#define vyre_subgroup_size(c) ((void)(c), vyre__subgroup_size())
#define vyre_subgroup_lane(c) ((void)(c), vyre__subgroup_lane())
#define vyre_subgroup_ballot(c, predicate) ((void)(c), vyre__subgroup_ballot((predicate) ? 1 : 0))
#define vyre_subgroup_shuffle_u32(c, value, lane)                                                  \
  ((void)(c), vyre__subgroup_shuffle((vyre_u32)(value), (vyre_u32)(lane)))
#define vyre_subgroup_add_u32(c, value) ((void)(c), vyre__subgroup_add((vyre_u32)(value)))

/* Words of 64 bits that one turn of the convergence test looks at: one, so that a subgroup's turns
   lie side by side. */
#define VYRE_SETTLE_WORDS 1u
