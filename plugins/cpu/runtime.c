/*
 * runtime.c - vyre_native_runtime: what kernels call.
 */
#include "plugins/common/host.h"
#include "runner.h"
#include "trap.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Misses in a row up to which a waiter stays on its core, and up to which it stays runnable. */
#define SPIN_MISSES 64u
#define YIELD_MISSES 2000u
#define REST_NS 50000

static void backoff(vyre_u32 misses)
{
  if (misses < SPIN_MISSES) {
    vyre_pause();
  } else if (misses < YIELD_MISSES) {
    sched_yield();
  } else {
    const struct timespec rest = {0, REST_NS};
    nanosleep(&rest, NULL);
  }
}

static vyre_u64 clock_ns(void)
{
  return vyre__plugin_clock_ns();
}

/* Not the private kind: the word may lie in memory that several processes map. */
static void notify_host(vyre_u32 *word)
{
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void fault(vyre_ctx *c, const char *what, vyre_u64 index, vyre_u64 count, const char *file,
                  vyre_u32 line)
{
  vyre__cpu_runner *runner = VYRE__CPU_RUNNER(c);
  char place[VYRE__CPU_PLACE_SIZE];
  vyre__cpu_runner_place(runner, c, place);
  vyre__cpu_launch_fail(runner->launch, VYRE_ERROR_DISPATCH_FAILED, __LINE__,
                        "keep the index below vyre_count(c, name)",
                        "%s:%u: %s: index %llu is outside buffer %s of %llu elements "
                        "(group (%u, %u, %u), item (%u, %u, %u))",
                        file, line, place, index, what, count, c->group_id[0], c->group_id[1],
                        c->group_id[2], c->local_id[0], c->local_id[1], c->local_id[2]);
  vyre__cpu_runner_leave(runner);
}

_Noreturn void vyre__cpu_trap(const char *what, const char *file, unsigned line)
{
  vyre__cpu_runner *runner = vyre__cpu_running;
  char place[VYRE__CPU_PLACE_SIZE];
  vyre__cpu_runner_place(runner, NULL, place);
  vyre__cpu_launch_fail(runner->launch, VYRE_ERROR_DISPATCH_FAILED, __LINE__,
                        "correct the kernel: vyre_shl() and vyre_shr() mask the distance, unsigned "
                        "arithmetic wraps",
                        "%s:%u: %s: %s", file, line, place, what);
  vyre__cpu_runner_leave(runner);
}

const vyre_native_runtime vyre__cpu_runtime = {
    vyre__cpu_runner_barrier, backoff, clock_ns, notify_host, fault, vyre__cpu_runner_groups,
    vyre__cpu_grid_barrier};
