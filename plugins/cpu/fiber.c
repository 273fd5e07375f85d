/*
 * fiber.c - fibers and their stacks; see fiber.h.
 */
#include "fiber.h"

#include "fiber_switch.h"
#include "plugins/common/host.h"
#include "sanitizer.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if !VYRE__CPU_OWN_SWITCH
#include <ucontext.h>
#endif

/* Kernels have no large private arrays; the room is for signal handlers of the host, and for what
   sanitizers put around variables. */
#if VYRE__CPU_SANITIZER
#define STACK_SIZE (256u * 1024u)
#else
#define STACK_SIZE (64u * 1024u)
#endif

struct vyre__cpu_fiber {
  void *stack_pointer; /* while it is suspended */
  vyre__cpu_home *home;
  char *mapping; /* guard page, then the stack */
  size_t guard_size;
  void (*run)(void *argument);
  void *argument;
  bool built;    /* the stack holds a frame that can be resumed */
  bool finished; /* that frame waits for the next start */
#if defined(VYRE__CPU_ASAN)
  void *fake_stack;
#elif defined(VYRE__CPU_TSAN)
  void *sanitizer_fiber;
#endif
#if !VYRE__CPU_OWN_SWITCH
  ucontext_t context;
#endif
};

vyre__cpu_fiber *vyre__cpu_fiber_create(const vyre_host *host)
{
  vyre__cpu_fiber *fiber =
      vyre__plugin_allocate_zeroed(host, sizeof(*fiber), _Alignof(max_align_t));
  if (!fiber)
    return NULL;
  fiber->guard_size = (size_t)sysconf(_SC_PAGESIZE);
  void *mapping = mmap(NULL, fiber->guard_size + STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    goto failed;
  fiber->mapping = mapping;
  if (mprotect(mapping, fiber->guard_size, PROT_NONE) != 0)
    goto failed;
  return fiber;

failed:
  vyre__cpu_fiber_destroy(host, fiber);
  return NULL;
}

void vyre__cpu_fiber_destroy(const vyre_host *host, vyre__cpu_fiber *fiber)
{
  if (!fiber)
    return;
#if defined(VYRE__CPU_TSAN)
  if (fiber->sanitizer_fiber)
    __tsan_destroy_fiber(fiber->sanitizer_fiber);
#endif
#if defined(VYRE__CPU_ASAN)
  if (fiber->mapping)
    __asan_unpoison_memory_region(fiber->mapping + fiber->guard_size, STACK_SIZE);
#endif
  if (fiber->mapping)
    munmap(fiber->mapping, fiber->guard_size + STACK_SIZE);
  vyre__plugin_deallocate(host, fiber);
}

/* -------- the two directions of a switch, each with what a sanitizer must know -------- */

static void switch_to_fiber(vyre__cpu_home *home, vyre__cpu_fiber *fiber)
{
#if defined(VYRE__CPU_ASAN)
  __sanitizer_start_switch_fiber(&home->fake_stack, fiber->mapping + fiber->guard_size, STACK_SIZE);
#elif defined(VYRE__CPU_TSAN)
  home->sanitizer_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber->sanitizer_fiber, 0);
#endif
#if VYRE__CPU_OWN_SWITCH
  vyre__cpu_switch(&home->stack_pointer, fiber->stack_pointer);
#else
  ucontext_t here;
  home->context = &here;
  swapcontext(&here, &fiber->context);
#endif
#if defined(VYRE__CPU_ASAN)
  __sanitizer_finish_switch_fiber(home->fake_stack, NULL, NULL);
#endif
}

static void switch_to_home(vyre__cpu_fiber *fiber)
{
  vyre__cpu_home *home = fiber->home;
#if defined(VYRE__CPU_ASAN)
  __sanitizer_start_switch_fiber(&fiber->fake_stack, home->stack_bottom, home->stack_size);
#elif defined(VYRE__CPU_TSAN)
  __tsan_switch_to_fiber(home->sanitizer_fiber, 0);
#endif
#if VYRE__CPU_OWN_SWITCH
  vyre__cpu_switch(&fiber->stack_pointer, home->stack_pointer);
#else
  swapcontext(&fiber->context, home->context);
#endif
#if defined(VYRE__CPU_ASAN)
  /* The home may be another thread's than the last time. */
  __sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->home->stack_bottom,
                                  &fiber->home->stack_size);
#endif
}

/* The only function on a fiber's stack that never returns: one turn for each start. */
static void fiber_main(void *argument)
{
  vyre__cpu_fiber *fiber = argument;
#if defined(VYRE__CPU_ASAN)
  __sanitizer_finish_switch_fiber(NULL, &fiber->home->stack_bottom, &fiber->home->stack_size);
#endif
  for (;;) {
    fiber->run(fiber->argument);
    fiber->finished = true;
    switch_to_home(fiber);
  }
}

#if !VYRE__CPU_OWN_SWITCH
/* makecontext() passes ints. */
static void context_main(unsigned high, unsigned low)
{
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): makecontext() has nothing else to pass. */
  fiber_main((void *)(uintptr_t)((uint64_t)high << 32 | low));
}
#endif

static void build(vyre__cpu_fiber *fiber)
{
  char *stack = fiber->mapping + fiber->guard_size;
#if defined(VYRE__CPU_ASAN)
  __asan_unpoison_memory_region(stack, STACK_SIZE); /* frames that a fault left behind */
  fiber->fake_stack = NULL;
#elif defined(VYRE__CPU_TSAN)
  if (fiber->sanitizer_fiber)
    __tsan_destroy_fiber(fiber->sanitizer_fiber);
  fiber->sanitizer_fiber = __tsan_create_fiber(0);
#endif
#if VYRE__CPU_OWN_SWITCH
  fiber->stack_pointer = vyre__cpu_switch_prepare(stack + STACK_SIZE, fiber_main, fiber);
#else
  uint64_t address = (uint64_t)(uintptr_t)fiber;
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = stack;
  fiber->context.uc_stack.ss_size = STACK_SIZE;
  fiber->context.uc_link = NULL;
  makecontext(&fiber->context, (void (*)(void))context_main, 2, (unsigned)(address >> 32),
              (unsigned)address);
#endif
  fiber->built = true;
}

void vyre__cpu_fiber_start(vyre__cpu_fiber *fiber, void (*run)(void *argument), void *argument)
{
  if (!fiber->built || !fiber->finished)
    build(fiber);
  fiber->run = run;
  fiber->argument = argument;
  fiber->finished = false;
}

bool vyre__cpu_fiber_resume(vyre__cpu_home *home, vyre__cpu_fiber *fiber)
{
  fiber->home = home;
  switch_to_fiber(home, fiber);
  return !fiber->finished;
}

void vyre__cpu_fiber_suspend(vyre__cpu_fiber *fiber)
{
  switch_to_home(fiber);
}
