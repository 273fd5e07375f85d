/*
 * fiber.h - stacks to run the items of a workgroup on, so that each can stop at a barrier.
 *
 * A fiber belongs to one thread: the one that starts and resumes it.  A finished fiber is started
 * again at no cost; one that was left in the middle (a fault) is rebuilt by the next start.
 */
#ifndef VYRE_CPU_FIBER_H
#define VYRE_CPU_FIBER_H

#include "vyre_backend.h"

#include <stdbool.h>

typedef struct vyre__cpu_fiber vyre__cpu_fiber;

/* Where a fiber goes back to: the thread that resumes it.  Zeroed is ready for use. */
typedef struct vyre__cpu_home {
  void *stack_pointer;
  const void *stack_bottom; /* of the thread, for AddressSanitizer */
  size_t stack_size;
  void *fake_stack;
  void *sanitizer_fiber; /* of the thread, for ThreadSanitizer */
  void *context;         /* ucontext_t, where there is no switch of our own */
} vyre__cpu_home;

/* NULL without memory. */
vyre__cpu_fiber *vyre__cpu_fiber_create(const vyre_host *host);
void vyre__cpu_fiber_destroy(const vyre_host *host, vyre__cpu_fiber *fiber);

/* Makes the fiber ready to call run(argument) at its next resume. */
void vyre__cpu_fiber_start(vyre__cpu_fiber *fiber, void (*run)(void *argument), void *argument);

/* Runs the fiber until it suspends or its function returns; false once it has returned. */
bool vyre__cpu_fiber_resume(vyre__cpu_home *home, vyre__cpu_fiber *fiber);

/* Called on the fiber: goes back to its home; returns at the next resume, if there is one. */
void vyre__cpu_fiber_suspend(vyre__cpu_fiber *fiber);

#endif
