/*
 * sanitizer.h - which sanitizer this file is compiled with, and what fibers must tell it.
 */
#ifndef VYRE_CPU_SANITIZER_H
#define VYRE_CPU_SANITIZER_H

#include "vyre_types.h"

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VYRE__CPU_ASAN 1
#elif __has_feature(thread_sanitizer)
#define VYRE__CPU_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define VYRE__CPU_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define VYRE__CPU_TSAN 1
#endif

/* The kind, and the flag that builds kernels with the same one. */
#if defined(VYRE__CPU_ASAN)
#define VYRE__CPU_SANITIZER VYRE_SANITIZER_ADDRESS
#define VYRE__CPU_SANITIZER_FLAG "-fsanitize=address"
#elif defined(VYRE__CPU_TSAN)
#define VYRE__CPU_SANITIZER VYRE_SANITIZER_THREAD
#define VYRE__CPU_SANITIZER_FLAG "-fsanitize=thread"
#else
#define VYRE__CPU_SANITIZER VYRE_SANITIZER_NONE
#endif

#if defined(VYRE__CPU_ASAN)
void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **old_bottom, size_t *old_size);
void __asan_unpoison_memory_region(const volatile void *memory, size_t size);
#endif

#if defined(VYRE__CPU_TSAN)
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

#endif
