/*
 * entry.h - part 1 of vyre_kernel.h for GPU compilers: what the core writes around an author's
 * text.  An entry is a kernel as launch_layout.h says.
 *
 * A parameter is declared as a pointer where the layout says "address": it is passed alike, and a
 * compiler knows that a kernel's pointer parameters are of the device's memory and not of a
 * group's.
 */
#define VYRE_UNPACK(...) __VA_ARGS__

extern VYRE__GROUP_MEMORY vyre_u8 vyre__workgroup[] __attribute__((aligned(16)));

/* What a segment gets for a binding: it takes the type of the segment's parameter. */
struct vyre__buffer {
  void *address;
  template <typename T> VYRE__DEVICE VYRE__INLINE operator T *() const
  {
    return (T *)address;
  }
};

/* Of a buffer that no segment of the program writes: a pointer to constant elements only. */
struct vyre__fixed {
  const void *address;
  template <typename T> VYRE__DEVICE VYRE__INLINE operator const T *() const
  {
    return (const T *)address;
  }
};

/* Of workgroup memory: each group has its own. */
struct vyre__place {
  vyre_u64 offset;
  template <typename T> VYRE__DEVICE VYRE__INLINE operator T *() const
  {
    return (T *)(void *)(vyre__workgroup + offset);
  }
};

/* The kernel's parameters, and what is made of them. */
#define VYRE_PARAM_CONST(i, name) const void *__restrict__ vyre__arg_##i
#define VYRE_PARAM_IN(i, name) void *vyre__arg_##i
#define VYRE_PARAM_OUT(i, name) void *vyre__arg_##i
#define VYRE_PARAM_INOUT(i, name) void *vyre__arg_##i
#define VYRE_PARAM_LOCAL(i, name) vyre_u64 vyre__arg_##i
#define VYRE_ARG(i, name) vyre__make(vyre__arg_##i)

static VYRE__DEVICE VYRE__INLINE vyre__buffer vyre__make(void *address)
{
  vyre__buffer made = {address};
  return made;
}

static VYRE__DEVICE VYRE__INLINE vyre__fixed vyre__make(const void *address)
{
  vyre__fixed made = {address};
  return made;
}

static VYRE__DEVICE VYRE__INLINE vyre__place vyre__make(vyre_u64 offset)
{
  vyre__place made = {offset};
  return made;
}

static VYRE__DEVICE VYRE__INLINE vyre_ctx vyre__begin(const vyre__gpu_launch *launch)
{
  vyre_ctx c;
  c.launch = launch;
  c.control = nullptr;
  c.pass = 0u;
  c.group_x = vyre__group_id(0);
  c.group_y = vyre__group_id(1);
  c.group_z = vyre__group_id(2);
  c.groups_x = launch->groups[0];
  c.groups_y = launch->groups[1];
  c.groups_z = launch->groups[2];
  return c;
}

/* ---- a launch of one segment ---- */

/* The prefix keeps the kernel's name from meeting a name that the compiler has of its own. */
#define VYRE__ENTRY(name, params)                                                                  \
  extern "C" VYRE__KERNEL void vyre_entry_##name(                                                  \
      VYRE_UNPACK params, const VYRE__GRID_CONSTANT vyre__gpu_launch vyre__launch)

#define VYRE_ENTRY(name, params, args)                                                             \
  VYRE__ENTRY(name, params)                                                                        \
  {                                                                                                \
    vyre_ctx vyre__item = vyre__begin(&vyre__launch);                                              \
    vyre_segment_##name(&vyre__item, VYRE_UNPACK args);                                            \
  }
#define VYRE_ENTRY_CHANGED(name, params, args, i)                                                  \
  VYRE__ENTRY(name, params)                                                                        \
  {                                                                                                \
    vyre_ctx vyre__item = vyre__begin(&vyre__launch);                                              \
    vyre__item.control = (vyre_u32 *)vyre__arg_##i;                                                \
    vyre__item.pass = vyre__item.control[VYRE_CONTROL_PASS];                                       \
    vyre_segment_##name(&vyre__item, VYRE_UNPACK args);                                            \
  }
#define VYRE_ENTRY_SETTLE(name, params, args, i) VYRE_ENTRY_CHANGED(name, params, args, i)

/* ---- a launch of the whole program ---- */

#define VYRE_FUSED(name, params)                                                                   \
  VYRE__ENTRY(name, params)                                                                        \
  {                                                                                                \
    const vyre_ctx vyre__whole = vyre__begin(&vyre__launch);

#define VYRE_FUSED_END }

/* Every group reads CHANGED behind a barrier, and it only grows: a group that is already in the
   next pass can only have been let in by the same answer.  Relaxed: pairs with vyre__change(); the
   barrier orders them. */
#define VYRE_PASSES(i)                                                                             \
  vyre_u32 *const vyre__control = (vyre_u32 *)vyre__arg_##i;                                       \
  vyre_u32 vyre__pass = 0u;                                                                        \
  while (vyre__pass < vyre__control[VYRE_CONTROL_LIMIT]) {                                         \
    ++vyre__pass;
#define VYRE_PASSES_END                                                                            \
  if (vyre__control[VYRE_CONTROL_TESTED] != 0u &&                                                  \
      vyre__gpu_load_u32(vyre__control + VYRE_CONTROL_CHANGED, VYRE_RELAXED, VYRE_SCOPE_DEVICE) <  \
          vyre__pass)                                                                              \
    break;                                                                                         \
  }                                                                                                \
  if (vyre__rank(&vyre__whole) == 0u)                                                              \
    vyre__control[VYRE_CONTROL_PASSES] = vyre__pass;

/* Only a segment that says vyre_changed() sees the words: in others it does nothing. */
#define VYRE_RUN(step, name, args) VYRE__RUN(step, name, args, nullptr)
#define VYRE_RUN_CHANGED(step, name, args, i) VYRE__RUN(step, name, args, vyre__control)
#define VYRE__RUN(step, name, args, words)                                                         \
  {                                                                                                \
    vyre__walk vyre__step =                                                                        \
        vyre__walk_begin(&vyre__whole, vyre__control + VYRE_CONTROL_GROUPS + 3u * (step), (words), \
                         vyre__pass, vyre__share_memory(VYRE_UNPACK args));                        \
    while (vyre__walk_next(&vyre__step))                                                           \
      vyre_segment_##name(&vyre__step.item, VYRE_UNPACK args);                                     \
  }                                                                                                \
  vyre__grid_barrier(&vyre__whole, vyre__control + VYRE_CONTROL_ARRIVED,                           \
                     vyre__control + VYRE_CONTROL_GENERATION);

/* Whether one of the bindings is workgroup memory: told by the types alone. */
static VYRE__DEVICE VYRE__INLINE constexpr bool vyre__share_memory()
{
  return false;
}
template <typename... Rest>
static VYRE__DEVICE VYRE__INLINE constexpr bool vyre__share_memory(const vyre__place &,
                                                                   const Rest &...)
{
  return true;
}
template <typename First, typename... Rest>
static VYRE__DEVICE VYRE__INLINE constexpr bool vyre__share_memory(const First &,
                                                                   const Rest &...rest)
{
  return vyre__share_memory(rest...);
}

/*
 * This group's share of a step: every so-manieth logical group, counted from its own number.  The
 * groups that run at one time are then neighbours, whose accesses fall into the same lines and
 * pages, and a stretch of groups with much to do is spread over all processors.
 */
struct vyre__walk {
  vyre_ctx item;
  vyre_u64 next, count;
  vyre_u32 first, stride;
  bool meets; /* before each group but the first one: the last one's memory is taken over */
};

static VYRE__DEVICE VYRE__INLINE vyre__walk vyre__walk_begin(const vyre_ctx *whole,
                                                             const vyre_u32 *groups,
                                                             vyre_u32 *control, vyre_u32 pass,
                                                             bool shares)
{
  vyre__walk walk;
  walk.item = *whole;
  walk.item.control = control;
  walk.item.pass = pass;
  walk.item.groups_x = groups[0];
  walk.item.groups_y = groups[1];
  walk.item.groups_z = groups[2];
  walk.first = whole->group_x;
  walk.stride = whole->groups_x;
  walk.next = walk.first;
  walk.count = (vyre_u64)groups[0] * groups[1] * groups[2];
  walk.meets = shares;
  return walk;
}

static VYRE__DEVICE VYRE__INLINE bool vyre__walk_next(vyre__walk *walk)
{
  const vyre_u64 group = walk->next;
  if (group >= walk->count)
    return false;
  if (walk->meets && group != walk->first)
    vyre__barrier();
  walk->next = group + walk->stride;
  /* Divisions of 64 bits are many instructions here. */
  if (walk->count >> 32 == 0u) {
    const vyre_u32 g = (vyre_u32)group, rows = g / walk->item.groups_x;
    walk->item.group_x = g - rows * walk->item.groups_x;
    walk->item.group_z = rows / walk->item.groups_y;
    walk->item.group_y = rows - walk->item.group_z * walk->item.groups_y;
  } else {
    const vyre_u64 rows = group / walk->item.groups_x;
    walk->item.group_x = (vyre_u32)(group - rows * walk->item.groups_x);
    walk->item.group_z = (vyre_u32)(rows / walk->item.groups_y);
    walk->item.group_y = (vyre_u32)(rows - (vyre_u64)walk->item.group_z * walk->item.groups_y);
  }
  return true;
}

/*
 * ---- the grid's barrier: item 0 of each group meets those of the others ----
 *
 * All groups of the launch are resident (a cooperative launch), so the waiting ends.  Between the
 * two barriers of the group its release takes along what the other items stored, and what its
 * acquire saw is seen by the others.
 *
 * Few groups meet at one word, which costs one trip less; more of them look at a word of its own,
 * where their looks are not in the way of those who still arrive.  On 132 processors one word was
 * the quicker one up to 264 groups (1.1 to 1.4 us a barrier), two words from 528 on.
 */
#define VYRE__FEW_GROUPS 320u

/* Waits between two looks: not at all at first. */
static VYRE__DEVICE VYRE__INLINE void vyre__wait(vyre_u32 looks)
{
  if (looks > 16u)
    vyre__rest(64u);
}

/* One word: its top bit turns over when all have arrived.  The first group adds the rest. */
static VYRE__DEVICE VYRE__INLINE void vyre__meet_few(const vyre_ctx *c, vyre_u32 *arrived)
{
  const vyre_u32 top = 0x80000000u, own = c->group_x == 0u ? top - (c->groups_x - 1u) : 1u;
  vyre_u32 looks = 0u;
  /* Release: pairs with the acquire below in all groups, each through the adds behind it. */
  const vyre_u32 before = vyre__gpu_add_u32(arrived, own, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
  /* Relaxed while it waits. */
  while (((vyre__gpu_load_u32(arrived, VYRE_RELAXED, VYRE_SCOPE_DEVICE) ^ before) & top) == 0u &&
         !vyre__faulted(c))
    vyre__wait(looks++);
  /* Acquire: pairs with the release of every group's add. */
  (void)vyre__gpu_load_u32(arrived, VYRE_ACQUIRE, VYRE_SCOPE_DEVICE);
}

/* A counter, and a word that the last one to arrive advances.  It may begin anywhere. */
static VYRE__DEVICE VYRE__INLINE void vyre__meet_many(const vyre_ctx *c, vyre_u32 *arrived,
                                                      vyre_u32 *generation)
{
  /* Relaxed: it cannot move on before this group has arrived, and the add is behind it. */
  const vyre_u32 before = vyre__gpu_load_u32(generation, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  vyre_u32 looks = 0u;
  /* Acquire and release: pairs with itself in the other groups; the last one to arrive has all
     their stores behind it. */
  if (vyre__gpu_add_u32(arrived, 1u, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE) + 1u == c->groups_x) {
    /* Relaxed: the release below is between it and the next add. */
    vyre__gpu_store_u32(arrived, 0u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
    /* Release: pairs with the acquire of those who wait. */
    vyre__gpu_store_u32(generation, before + 1u, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
    return;
  }
  /* Relaxed while it waits. */
  while (vyre__gpu_load_u32(generation, VYRE_RELAXED, VYRE_SCOPE_DEVICE) == before &&
         !vyre__faulted(c))
    vyre__wait(looks++);
  /* Acquire: pairs with the release of the last one to arrive. */
  (void)vyre__gpu_load_u32(generation, VYRE_ACQUIRE, VYRE_SCOPE_DEVICE);
}

/* What any item stored before it is seen by every item after it. */
static VYRE__DEVICE VYRE__INLINE void vyre__grid_barrier(const vyre_ctx *c, vyre_u32 *arrived,
                                                         vyre_u32 *generation)
{
  vyre__barrier();
  if ((vyre__local_id(0) | vyre__local_id(1) | vyre__local_id(2)) == 0u) {
    if (c->groups_x <= VYRE__FEW_GROUPS)
      vyre__meet_few(c, arrived);
    else
      vyre__meet_many(c, arrived, generation);
  }
  vyre__barrier();
  /* Somebody has ended and will never arrive: everybody ends. */
  if (vyre__faulted(c))
    vyre__end_item();
}
