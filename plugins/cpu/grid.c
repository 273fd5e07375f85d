/*
 * grid.c - launches whose groups wait for each other: how many groups can be resident at once, and
 * the barrier where all of them meet.
 *
 * The barrier's two words lie in the program's control words, each on a line of its own, and start
 * as zeros.  Who arrives last opens the barrier: it takes the count back and raises the generation,
 * which the others watch.  They spin for some microseconds if each has a core to itself, then give
 * their core away a few times, which is cheaper than a sleep and a wake-up where threads share
 * cores, then sleep on the generation's word.  Nobody makes a system call to wake sleepers that do
 * not exist.
 */
#include "grid.h"

#include "device.h"
#include "plugins/common/error.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Looks with a pause after each, then looks with a yield after each, before a sleep.  Groups that
 * have a core each meet within 300 ns, so that 1.5 us of spinning is plenty; on a busy machine two
 * of them often share one, and then every spin is lost time.
 */
#define SPINS 64u
#define YIELDS 20u

/* Sleepers look by themselves so often whether the launch has failed: a group that has left its
   part comes to no barrier, and wakes nobody. */
#define LOOK_NS 1000000

/* Items of all steps and passes that take about a millisecond; and what a step costs without. */
#define SHORT_ITEMS 1048576.0
#define STEP_ITEMS 8.0

uint32_t vyre__cpu_grid_spins(const vyre_backend_device *device, uint64_t groups)
{
  /* With more groups than cores those that are awaited need the core of the one that waits. */
  return groups <= device->core_count ? SPINS : 0;
}

bool vyre__cpu_grid_is_short(const void *words, uint64_t size, uint32_t items)
{
  const vyre_u32 *control = words;
  const uint64_t count = size / sizeof(*control);
  double sum = 0; /* an estimate: no overflow */
  if (count <= VYRE_CONTROL_LIMIT)
    return false;
  /* Relaxed: if another launch writes here, any answer will do. */
  const double passes = __atomic_load_n(&control[VYRE_CONTROL_LIMIT], __ATOMIC_RELAXED);
  for (uint64_t at = VYRE_CONTROL_GROUPS; at + 3 <= count; at += 3) {
    double groups = 1;
    for (uint64_t d = 0; d < 3; ++d)
      groups *= __atomic_load_n(&control[at + d], __ATOMIC_RELAXED);
    sum += groups * items + STEP_ITEMS;
  }
  return sum * passes <= SHORT_ITEMS;
}

/* -------- how many -------- */

uint32_t vyre__cpu_runners_most(const vyre_backend_device *device, const vyre_native_entry *entry,
                                uint32_t items)
{
  uint32_t most = device->thread_count;
  if ((entry->flags & VYRE_NATIVE_HAS_BARRIER) && most > VYRE__CPU_FIBER_BUDGET / items)
    most = VYRE__CPU_FIBER_BUDGET / items;
  return most;
}

vyre_status vyre__cpu_cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                         const uint32_t workgroup[3], uint64_t workgroup_memory,
                                         uint32_t *out_groups, vyre_error *err)
{
  uint64_t items = 1;
  if (!device || !kernel || !workgroup || !out_groups)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a device, a kernel, a workgroup and a place for the number",
                       "device, kernel, workgroup or out_groups is NULL");
  for (int d = 0; d < 3; ++d) {
    if (!workgroup[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at least 1 in each dimension",
                         "dimension %d has 0 items per group", d);
    /* At most 1024 times 32 bits: no overflow. */
    items *= workgroup[d];
    if (items > VYRE__CPU_MAX_ITEMS)
      break;
  }
  *out_groups = 0;
  if (items <= VYRE__CPU_MAX_ITEMS && workgroup_memory <= VYRE__CPU_MAX_LOCAL_BYTES)
    *out_groups = vyre__cpu_runners_most(device, kernel->entry, (uint32_t)items);
  return VYRE_OK;
}

/* -------- the barrier -------- */

/* True once the generation is no longer `seen`, or the launch has failed. */
static bool is_over(const vyre_backend_pending *launch, const vyre_u32 *generation, vyre_u32 seen)
{
  /* Sequentially consistent: an acquire that pairs with the raising in vyre__cpu_grid_barrier(),
     behind which lie all stores of all groups before the barrier; a sleeper needs more (below).
     Relaxed: `failed` says no more than that. */
  return __atomic_load_n(generation, __ATOMIC_SEQ_CST) != seen ||
         __atomic_load_n(&launch->failed, __ATOMIC_RELAXED);
}

static void wait_for(vyre_backend_pending *launch, vyre_u32 *generation, vyre_u32 seen)
{
  const struct timespec look = {0, LOOK_NS};
  for (uint32_t i = 0; i < launch->step->spins + YIELDS; ++i) {
    if (is_over(launch, generation, seen))
      return;
    if (i < launch->step->spins)
      vyre_pause();
    else
      sched_yield();
  }
  /* Sequentially consistent, as the raising and the look at `sleepers` after it: either that look
     sees this addition, or the look at the generation below sees the new one.  The system looks at
     it again before it lets a thread sleep. */
  __atomic_fetch_add(&launch->sleepers, 1, __ATOMIC_SEQ_CST);
  while (!is_over(launch, generation, seen))
    syscall(SYS_futex, generation, FUTEX_WAIT_PRIVATE, seen, &look, NULL, 0);
  /* Relaxed: a number that is too high for a moment costs one system call. */
  __atomic_fetch_sub(&launch->sleepers, 1, __ATOMIC_RELAXED);
}

void vyre__cpu_grid_barrier(vyre_ctx *c, vyre_u32 *control)
{
  vyre__cpu_runner *runner = VYRE__CPU_RUNNER(c);
  vyre_backend_pending *launch = runner->launch;
  vyre_u32 *arrived = &control[VYRE_CONTROL_ARRIVED];
  vyre_u32 *generation = &control[VYRE_CONTROL_GENERATION];
  const vyre_u32 ranks = c->groups[0];
  if (ranks == 1)
    return;
  /* Relaxed: nobody raises it before this group has arrived, and the last raising was acquired at
     the barrier before this one. */
  const vyre_u32 seen = __atomic_load_n(generation, __ATOMIC_RELAXED);
  /* Acquire and release: the last group to arrive has seen the stores of all others, and passes
     them on with the generation. */
  if (__atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL) + 1 == ranks) {
    /* Relaxed: whoever arrives next has acquired the generation below. */
    __atomic_store_n(arrived, 0, __ATOMIC_RELAXED);
    /* Releases to the acquires in wait_for(); sequentially consistent for the sleepers there. */
    __atomic_fetch_add(generation, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&launch->sleepers, __ATOMIC_SEQ_CST))
      syscall(SYS_futex, generation, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
  } else {
    wait_for(launch, generation, seen);
  }
  /* Relaxed: the error itself is read when the launch has ended. */
  if (__atomic_load_n(&launch->failed, __ATOMIC_RELAXED))
    vyre__cpu_runner_leave(runner);
}
