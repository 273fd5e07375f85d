/*
 * sanitizer.h - which sanitizer this file is compiled with, and what fibers must tell it.
 */
#ifndef VYRE_CPU_SANITIZER_H
#define VYRE_CPU_SANITIZER_H

#include "plugins/common/sanitizer.h"

#include <stddef.h>

/* The kind, and the flag that builds kernels with the same one. */
#define VYRE__CPU_SANITIZER VYRE__PLUGIN_SANITIZER
#if defined(VYRE__PLUGIN_ASAN)
#define VYRE__CPU_ASAN 1
#define VYRE__CPU_SANITIZER_FLAG "-fsanitize=address"
#elif defined(VYRE__PLUGIN_TSAN)
#define VYRE__CPU_TSAN 1
#define VYRE__CPU_SANITIZER_FLAG "-fsanitize=thread"
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
