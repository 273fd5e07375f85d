/*
 * sanitizer.h - which sanitizer this file is compiled with: a host without its runtime must not
 * open the plugin.
 */
#ifndef VYRE_PLUGIN_SANITIZER_H
#define VYRE_PLUGIN_SANITIZER_H

#include "vyre_types.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VYRE__PLUGIN_ASAN 1
#elif __has_feature(thread_sanitizer)
#define VYRE__PLUGIN_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define VYRE__PLUGIN_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define VYRE__PLUGIN_TSAN 1
#endif

#if defined(VYRE__PLUGIN_ASAN)
#define VYRE__PLUGIN_SANITIZER VYRE_SANITIZER_ADDRESS
#elif defined(VYRE__PLUGIN_TSAN)
#define VYRE__PLUGIN_SANITIZER VYRE_SANITIZER_THREAD
#else
#define VYRE__PLUGIN_SANITIZER VYRE_SANITIZER_NONE
#endif

#endif
