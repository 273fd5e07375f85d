/*
 * fiber_switch.h - the one machine-dependent step of fibers: changing stacks.
 *
 * VYRE__CPU_OWN_SWITCH is 1 where fiber_switch.c has code for the processor; elsewhere, or with
 * VYRE_CPU_UCONTEXT defined, fiber.c uses ucontext.
 */
#ifndef VYRE_CPU_FIBER_SWITCH_H
#define VYRE_CPU_FIBER_SWITCH_H

#if !defined(VYRE_CPU_UCONTEXT) && (defined(__x86_64__) || defined(__aarch64__))
#define VYRE__CPU_OWN_SWITCH 1

/* Stores the registers that a call preserves on this stack, and its pointer in *save; then goes on
 * where `load` was saved. */
void vyre__cpu_switch(void **save, void *load);

/* A stack pointer that makes the first switch to it call entry(argument), which never returns. */
void *vyre__cpu_switch_prepare(void *stack_top, void (*entry)(void *argument), void *argument);

#else
#define VYRE__CPU_OWN_SWITCH 0
#endif
#endif
