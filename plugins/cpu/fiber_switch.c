/*
 * fiber_switch.c - changing stacks on x86-64 and aarch64; see fiber_switch.h.
 *
 * A switch is an ordinary call for the compiler: only what the ABI makes a callee preserve is
 * stored.  The first frame of a fiber has a return address of 0, which ends backtraces.
 */
#include "fiber_switch.h"

#if VYRE__CPU_OWN_SWITCH

#include <stdint.h>
#include <string.h>

void vyre__cpu_switch_begin(void);

#if defined(__x86_64__)

__asm__(".text\n"
        ".p2align 4\n"
        ".globl vyre__cpu_switch\n"
        ".hidden vyre__cpu_switch\n"
        ".type vyre__cpu_switch, @function\n"
        "vyre__cpu_switch:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  subq $8, %rsp\n"
        "  stmxcsr (%rsp)\n"
        "  fnstcw 4(%rsp)\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  ldmxcsr (%rsp)\n"
        "  fldcw 4(%rsp)\n"
        "  addq $8, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".size vyre__cpu_switch, . - vyre__cpu_switch\n"
        ".globl vyre__cpu_switch_begin\n"
        ".hidden vyre__cpu_switch_begin\n"
        ".type vyre__cpu_switch_begin, @function\n"
        "vyre__cpu_switch_begin:\n"
        "  movq %r12, %rdi\n"
        "  jmp *%r13\n"
        ".size vyre__cpu_switch_begin, . - vyre__cpu_switch_begin\n"
        ".section .note.GNU-stack,\"\",@progbits\n"
        ".text\n");

/* Words from the stack pointer up, as the switch above leaves and takes them. */
enum { CONTROL, R15, R14, R13, R12, RBX, RBP, RETURN, CALLER, FRAME_WORDS };

void *vyre__cpu_switch_prepare(void *stack_top, void (*entry)(void *), void *argument)
{
  uint64_t *frame = (uint64_t *)stack_top - FRAME_WORDS;
  uint32_t mxcsr;
  uint16_t x87;
  __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  memset(frame, 0, FRAME_WORDS * sizeof(*frame));
  frame[CONTROL] = mxcsr | (uint64_t)x87 << 32;
  frame[R12] = (uint64_t)(uintptr_t)argument;
  frame[R13] = (uint64_t)(uintptr_t)entry;
  frame[RETURN] = (uint64_t)(uintptr_t)vyre__cpu_switch_begin;
  return frame;
}

#else /* aarch64 */

__asm__(".text\n"
        ".p2align 4\n"
        ".globl vyre__cpu_switch\n"
        ".hidden vyre__cpu_switch\n"
        ".type vyre__cpu_switch, %function\n"
        "vyre__cpu_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n"
        "  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n"
        "  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size vyre__cpu_switch, . - vyre__cpu_switch\n"
        ".globl vyre__cpu_switch_begin\n"
        ".hidden vyre__cpu_switch_begin\n"
        ".type vyre__cpu_switch_begin, %function\n"
        "vyre__cpu_switch_begin:\n"
        "  mov x0, x19\n"
        "  mov x30, xzr\n"
        "  br x20\n"
        ".size vyre__cpu_switch_begin, . - vyre__cpu_switch_begin\n"
        ".section .note.GNU-stack,\"\",%progbits\n"
        ".text\n");

/* Words from the stack pointer up, as the switch above leaves and takes them. */
enum { X19 = 0, X20 = 1, X30 = 11, FRAME_WORDS = 20 };

void *vyre__cpu_switch_prepare(void *stack_top, void (*entry)(void *), void *argument)
{
  uint64_t *frame = (uint64_t *)stack_top - FRAME_WORDS;
  memset(frame, 0, FRAME_WORDS * sizeof(*frame));
  frame[X19] = (uint64_t)(uintptr_t)argument;
  frame[X20] = (uint64_t)(uintptr_t)entry;
  frame[X30] = (uint64_t)(uintptr_t)vyre__cpu_switch_begin;
  return frame;
}

#endif
#else
typedef int vyre__cpu_no_switch; /* ISO C forbids an empty file */
#endif
