/*
 * types.h - the first part of the prelude of GPU compilers: C++, on either vendor's compiler.
 *
 * The prelude is the texts that prelude.cmake names, one after the other: these types, the vendor's
 * own words (cuda.h or hip.h), launch_layout.h, the words of part 1 of vyre_kernel.h (words.h,
 * entry.h), vyre_kernel.h, whose part 2 is taken as it stands, and author.h.  No header is
 * included.
 *
 * A vendor's text defines
 *   VYRE__DEVICE, VYRE__INLINE, VYRE__KERNEL, VYRE__GRID_CONSTANT   how functions are marked
 *   VYRE__TABLE_MEMORY, VYRE__GROUP_MEMORY                          where objects lie
 *   vyre__local_id(), vyre__local_size(), vyre__group_id()
 *   vyre__gpu_OP_TYPE(), vyre__fence()                              atomics by order and scope
 *   vyre__barrier(), vyre__pause(), vyre__rest(), vyre__clock(), vyre__end_item()
 *   vyre__meet_arrive(), vyre__meet_look(), VYRE__MEET_ORDER        the grid's barrier
 *   VYRE__BARRIER_ANY(), where there is such a one                  a barrier with a vote
 *   vyre__popcount(), vyre__clz(), vyre__ctz(), vyre__sqrt(), vyre__fma()
 *   vyre__subgroup_size(), _lane(), _ballot(), _shuffle(), _add()
 */
#ifndef VYRE_PRELUDE
#define VYRE_PRELUDE
#define VYRE_PRELUDE_GPU 1

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

/* Orders and scopes of atomic operations: constants wherever they are used, so that the compiler
   keeps one case of each switch below. */
#define VYRE_RELAXED 0
#define VYRE_ACQUIRE 2
#define VYRE_RELEASE 3
#define VYRE_ACQ_REL 4
#define VYRE_SEQ_CST 5
#define VYRE_SCOPE_WORKGROUP 0
#define VYRE_SCOPE_DEVICE 1
#define VYRE_SCOPE_SYSTEM 2

#endif
