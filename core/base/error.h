/*
 * error.h - filling a vyre_error.
 *
 *     return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
 *                      "give a power of two from 1 to 2^31", "capacity is %u", capacity);
 *
 * VYRE_FAIL returns the code.  `fix` is a plain text (NULL: the code's own fix); the message is a
 * format.  VYRE_FAIL_VENDOR also stores the vendor's or the system's number.
 */
#ifndef VYRE_CORE_BASE_ERROR_H
#define VYRE_CORE_BASE_ERROR_H

#include "vyre_status.h"

#include <stdint.h>

/*
 * An empty record for the call that comes next: as VYRE_ERROR_INIT, but only the first byte of each
 * text is stored.  For the way that every dispatch goes, where clearing all of it would be a good
 * part of the cost.
 */
static inline void vyre__error_clear(vyre_error *out_err)
{
  out_err->struct_size = (uint32_t)sizeof *out_err;
  out_err->code = VYRE_OK;
  out_err->vendor_code = 0;
  out_err->where[0] = out_err->message[0] = out_err->fix[0] = '\0';
}

/* `err` may be NULL.  Formats with printf rules; too long a text is cut. */
__attribute__((format(printf, 7, 8))) vyre_status
vyre__error_set(vyre_error *err, vyre_status code, int64_t vendor_code, const char *file, int line,
                const char *fix, const char *format, ...);

/* Puts text in front of the message: context that only the caller knows.  `err` may be NULL. */
__attribute__((format(printf, 2, 3))) void vyre__error_prefix(vyre_error *err, const char *format,
                                                              ...);

/*
 * Copies what `from` says to `to`, which may be smaller (ABI-001) or NULL; returns the code.
 */
vyre_status vyre__error_copy(vyre_error *to, const vyre_error *from);

#define VYRE_FAIL_VENDOR(err, code, vendor, fix, ...)                                              \
  vyre__error_set((err), (code), (vendor), __FILE__, __LINE__, (fix), __VA_ARGS__)
#define VYRE_FAIL(err, code, fix, ...) VYRE_FAIL_VENDOR(err, code, 0, fix, __VA_ARGS__)

/* The one message for host memory that could not be had. */
#define VYRE_FAIL_MEMORY(err, what)                                                                \
  VYRE_FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %s", what)

#endif
