/*
 * error.h - filling the caller's vyre_error, in the one shape that the whole plugin uses:
 *
 *     return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at most 1024", "asked for %u", n);
 *
 * `fix` is a plain text, or NULL for the code's own fix.
 */
#ifndef VYRE_PLUGIN_ERROR_H
#define VYRE_PLUGIN_ERROR_H

#include "vyre_status.h"

/* `err` may be NULL or shorter than ours (ABI-001); texts are cut, never overrun. */
__attribute__((format(printf, 7, 8))) void
vyre__plugin_error_set(vyre_error *err, vyre_status code, int64_t vendor_code, const char *file,
                       int line, const char *fix, const char *format, ...);

/* Copies what `from` says to `to`; returns its code. */
vyre_status vyre__plugin_error_copy(vyre_error *to, const vyre_error *from);

/* The code is named twice so that every reader of the source sees what comes back. */
#define PLUGIN_FAIL_VENDOR(err, code, vendor, fix, ...)                                            \
  (vyre__plugin_error_set((err), (code), (vendor), __FILE__, __LINE__, (fix), __VA_ARGS__), (code))
#define PLUGIN_FAIL(err, code, fix, ...) PLUGIN_FAIL_VENDOR(err, code, 0, fix, __VA_ARGS__)
#define PLUGIN_FAIL_MEMORY(err, what)                                                              \
  PLUGIN_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, NULL, "no host memory for %s", (what))

/* A structure of the caller that is smaller than at its introduction (ABI-001). */
#define PLUGIN_CHECK_SIZE(err, pointer, type, least)                                               \
  ((pointer) == NULL                                                                               \
       ? PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a " #type, #type " is NULL")          \
   : (pointer)->struct_size < (least)                                                              \
       ? PLUGIN_FAIL(                                                                              \
             err, VYRE_ERROR_INVALID_ARGUMENT,                                                     \
             "set struct_size to sizeof(" #type ") of the header that you compile against",        \
             #type ".struct_size is %u, at least %u is needed", (pointer)->struct_size, (least))   \
       : VYRE_OK)

#endif
