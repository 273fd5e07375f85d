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

/*
 * What stays as it is over the launch is read once, in front of the passes: behind a barrier, which
 * empties the caches, each read is a trip to the device's memory.
 *
 * Every group reads CHANGED behind a barrier, and it only grows: a group that is already in the
 * next pass can only have been let in by the same answer.  Relaxed: pairs with vyre__change(); the
 * barrier orders them.
 */
#define VYRE_PASSES(i, steps)                                                                      \
  vyre_u32 *const vyre__control = (vyre_u32 *)vyre__arg_##i;                                       \
  const vyre_u32 *const vyre__groups = vyre__control + VYRE_CONTROL_GROUPS;                        \
  constexpr vyre_u32 vyre__count = (steps);                                                        \
  const vyre_u32 vyre__limit = vyre__control[VYRE_CONTROL_LIMIT];                                  \
  const bool vyre__tested = vyre__control[VYRE_CONTROL_TESTED] != 0u;                              \
  vyre__grids vyre__kept = vyre__grids_begin(vyre__groups, vyre__count);                           \
  vyre__meeting vyre__met =                                                                        \
      vyre__meeting_begin(&vyre__whole, vyre__control + VYRE_CONTROL_ARRIVED,                      \
                          vyre__control + VYRE_CONTROL_GENERATION);                                \
  vyre_u32 vyre__pass = 0u;                                                                        \
  while (vyre__pass < vyre__limit) {                                                               \
    ++vyre__pass;
#define VYRE_PASSES_END                                                                            \
  if (vyre__tested && vyre__gpu_load_u32(vyre__control + VYRE_CONTROL_CHANGED, VYRE_RELAXED,       \
                                         VYRE_SCOPE_DEVICE) < vyre__pass)                          \
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
        vyre__walk_begin(&vyre__whole, vyre__grid_of(&vyre__kept, (step)), (words), vyre__pass,    \
                         vyre__share_memory(VYRE_UNPACK args));                                    \
    while (vyre__walk_next(&vyre__step))                                                           \
      vyre_segment_##name(&vyre__step.item, VYRE_UNPACK args);                                     \
  }                                                                                                \
  vyre__grid_ahead(&vyre__kept, vyre__groups, (step) + 1u, vyre__count);                           \
  vyre__grid_barrier(&vyre__whole, &vyre__met);

/* ---- the logical groups of the steps ---- */

struct vyre__grid {
  vyre_u32 x, y, z;
};

/* Those of the first steps have a place each; no array, as words.h has it.  Those of the others
   are read in front of the barrier before the step, so that one trip goes beside the other. */
#define VYRE__GRIDS_KEPT 8u
struct vyre__grids {
  vyre__grid s0, s1, s2, s3, s4, s5, s6, s7, ahead;
};

static VYRE__DEVICE VYRE__INLINE vyre__grid vyre__grid_read(const vyre_u32 *groups, vyre_u32 step,
                                                            vyre_u32 count)
{
  vyre__grid grid = {0u, 0u, 0u};
  if (step < count) {
    grid.x = groups[3u * step];
    grid.y = groups[3u * step + 1u];
    grid.z = groups[3u * step + 2u];
  }
  return grid;
}

/* `count` and a step are constants wherever they are used. */
static VYRE__DEVICE VYRE__INLINE vyre__grids vyre__grids_begin(const vyre_u32 *groups,
                                                               vyre_u32 count)
{
  vyre__grids kept;
  kept.s0 = vyre__grid_read(groups, 0u, count);
  kept.s1 = vyre__grid_read(groups, 1u, count);
  kept.s2 = vyre__grid_read(groups, 2u, count);
  kept.s3 = vyre__grid_read(groups, 3u, count);
  kept.s4 = vyre__grid_read(groups, 4u, count);
  kept.s5 = vyre__grid_read(groups, 5u, count);
  kept.s6 = vyre__grid_read(groups, 6u, count);
  kept.s7 = vyre__grid_read(groups, 7u, count);
  kept.ahead = vyre__grid_read(groups, 0u, 0u);
  return kept;
}

static VYRE__DEVICE VYRE__INLINE void vyre__grid_ahead(vyre__grids *kept, const vyre_u32 *groups,
                                                       vyre_u32 step, vyre_u32 count)
{
  if (step >= VYRE__GRIDS_KEPT && step < count)
    kept->ahead = vyre__grid_read(groups, step, count);
}

static VYRE__DEVICE VYRE__INLINE vyre__grid vyre__grid_of(const vyre__grids *kept, vyre_u32 step)
{
  return step == 0u   ? kept->s0
         : step == 1u ? kept->s1
         : step == 2u ? kept->s2
         : step == 3u ? kept->s3
         : step == 4u ? kept->s4
         : step == 5u ? kept->s5
         : step == 6u ? kept->s6
         : step == 7u ? kept->s7
                      : kept->ahead;
}

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
  bool row;   /* all in one row: a group's number is its place */
  bool meets; /* before each group but the first one: the last one's memory is taken over */
};

static VYRE__DEVICE VYRE__INLINE vyre__walk vyre__walk_begin(const vyre_ctx *whole, vyre__grid grid,
                                                             vyre_u32 *control, vyre_u32 pass,
                                                             bool shares)
{
  vyre__walk walk;
  walk.item = *whole;
  walk.item.control = control;
  walk.item.pass = pass;
  walk.item.groups_x = grid.x;
  walk.item.groups_y = grid.y;
  walk.item.groups_z = grid.z;
  walk.first = whole->group_x;
  walk.stride = whole->groups_x;
  walk.next = walk.first;
  walk.count = (vyre_u64)grid.x * grid.y * grid.z;
  walk.row = grid.y == 1u && grid.z == 1u;
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
  /* Divisions are many instructions here, those of 64 bits most of all. */
  if (walk->row) {
    walk->item.group_x = (vyre_u32)group;
    walk->item.group_y = walk->item.group_z = 0u;
  } else if (walk->count >> 32 == 0u) {
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
 * where their looks are not in the way of those who still arrive.
 */
#ifndef VYRE__FEW_GROUPS
#define VYRE__FEW_GROUPS 640u
#endif

/* Where the groups of a launch meet. */
struct vyre__meeting {
  vyre_u32 *arrived, *generation;
  vyre_u32 before; /* what tells that they have not all arrived: the top bit, or the generation */
};

#define VYRE__MEETING_TOP 0x80000000u

/* Relaxed: neither the bit nor the generation can move on before this group has arrived, so the
   words may begin anywhere.  Read once: the group counts along. */
static VYRE__DEVICE VYRE__INLINE vyre__meeting vyre__meeting_begin(const vyre_ctx *c,
                                                                   vyre_u32 *arrived,
                                                                   vyre_u32 *generation)
{
  vyre__meeting met;
  met.arrived = arrived;
  met.generation = generation;
  met.before = c->groups_x <= VYRE__FEW_GROUPS
                   ? vyre__meet_look(met.arrived, VYRE_RELAXED) & VYRE__MEETING_TOP
                   : vyre__meet_look(met.generation, VYRE_RELAXED);
  return met;
}

/* Waits between two looks: not at all at first.  False if somebody has ended and will never
   arrive, which is asked seldom. */
static VYRE__DEVICE VYRE__INLINE bool vyre__wait(const vyre_ctx *c, vyre_u32 looks)
{
  if (looks > 16u)
    vyre__rest(64u);
  return looks % 64u != 63u || !vyre__faulted(c);
}

/* Until the masked word is another one than before.  False after a fault. */
static VYRE__DEVICE VYRE__INLINE bool vyre__await(const vyre_ctx *c, const vyre_u32 *word,
                                                  vyre_u32 mask, vyre_u32 before)
{
  vyre_u32 looks = 0u;
  bool well = true;
  /* Acquire, or relaxed while it waits where each acquire would empty the caches once more: pairs
     with the release of every group's add, or of the store of the last one to arrive. */
  while ((vyre__meet_look(word, VYRE__MEET_ORDER) & mask) == before && well)
    well = vyre__wait(c, looks++);
  if (VYRE__MEET_ORDER == VYRE_RELAXED)
    (void)vyre__meet_look(word, VYRE_ACQUIRE);
  return well;
}

/* One word: its top bit turns over when all have arrived.  The first group adds the rest. */
static VYRE__DEVICE VYRE__INLINE bool vyre__meet_few(const vyre_ctx *c, const vyre__meeting *met)
{
  /* Release: pairs with the acquire of the others' looks, each through the adds behind it. */
  vyre__meet_arrive(met->arrived, c->group_x == 0u ? VYRE__MEETING_TOP - (c->groups_x - 1u) : 1u);
  return vyre__await(c, met->arrived, VYRE__MEETING_TOP, met->before);
}

/* A counter, and a word that the last one to arrive advances. */
static VYRE__DEVICE VYRE__INLINE bool vyre__meet_many(const vyre_ctx *c, const vyre__meeting *met)
{
  /* Acquire and release: pairs with itself in the other groups; the last one to arrive has all
     their stores behind it. */
  if (vyre__gpu_add_u32(met->arrived, 1u, VYRE_ACQ_REL, VYRE_SCOPE_DEVICE) + 1u != c->groups_x)
    return vyre__await(c, met->generation, ~0u, met->before);
  /* Relaxed: the release below is between it and the next add. */
  vyre__gpu_store_u32(met->arrived, 0u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  /* Release: pairs with the acquire of those who wait. */
  vyre__gpu_store_u32(met->generation, met->before + 1u, VYRE_RELEASE, VYRE_SCOPE_DEVICE);
  return true;
}

/* The group's barrier behind the meeting.  Somebody has ended and will never arrive: everybody
   ends.  `well` is item 0's; without one the group can meet nobody. */
static VYRE__DEVICE VYRE__INLINE void vyre__meet_end(const vyre_ctx *c, bool well)
{
#if defined(VYRE_DEBUG) && VYRE_DEBUG && defined(VYRE__BARRIER_ANY)
  (void)c;
  if (!VYRE__BARRIER_ANY(well))
    vyre__end_item();
#else
  (void)well;
  vyre__barrier();
  if (vyre__faulted(c))
    vyre__end_item();
#endif
}

/* What any item stored before it is seen by every item after it. */
static VYRE__DEVICE VYRE__INLINE void vyre__grid_barrier(const vyre_ctx *c, vyre__meeting *met)
{
  const bool few = c->groups_x <= VYRE__FEW_GROUPS;
  bool well = false;
  vyre__barrier();
#if !defined(VYRE_DEBUG) || !VYRE_DEBUG
  /* A group alone has met all there are.  One of debug code asks for faults all the same. */
  if (c->groups_x == 1u)
    return;
#endif
  if ((vyre__local_id(0) | vyre__local_id(1) | vyre__local_id(2)) == 0u) {
    /* The trip of this look goes beside that of the arrival. */
    well = !vyre__faulted(c);
    well &= few ? vyre__meet_few(c, met) : vyre__meet_many(c, met);
  }
  met->before = few ? met->before ^ VYRE__MEETING_TOP : met->before + 1u;
  vyre__meet_end(c, well);
}
