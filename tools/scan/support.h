/*
 * support.h - what every part of `vyre scan` stands on: memory and errors.
 *
 * All memory of the scan goes through the calls below, so that a test can make the Nth
 * allocation fail and see that nothing leaks and nothing is half done.
 */
#ifndef VYRE_SCAN_SUPPORT_H
#define VYRE_SCAN_SUPPORT_H

#include "vyre_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for `count` elements of `size` bytes, zeroed; NULL when the product overflows or memory is
 * out.  A count of zero gives a valid pointer.  Aligned as calloc() aligns. */
void *vyre__scan_alloc(size_t count, size_t size);

/* Makes `*ptr` (an array of `*capacity` elements) hold at least `need` elements, growing by half
 * so that appending stays linear.  False leaves both as they were. */
bool vyre__scan_reserve(void **ptr, size_t *capacity, size_t need, size_t size);

void vyre__scan_free(void *ptr);

/* Tests only: the calling thread's `nth` allocation from now fails (1 is the next one), later ones
 * succeed again.  0 turns it off. */
void vyre__scan_fail_nth(uint64_t nth);

/* Whether the failure asked for has happened since then. */
bool vyre__scan_fail_happened(void);

/* Fills `err` (which may be NULL) and returns `code`.  `vendor` is an errno or 0. */
vyre_status vyre__scan_error(vyre_error *err, vyre_status code, int64_t vendor, const char *file,
                             uint32_t line, const char *fix, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

#define SCAN_ERROR(err, code, vendor, fix, ...)                                                    \
  vyre__scan_error((err), (code), (vendor), __FILE__, (uint32_t)__LINE__, (fix), __VA_ARGS__)

/* The one text for memory that ran out. */
#define SCAN_NO_MEMORY(err, what)                                                                  \
  SCAN_ERROR((err), VYRE_ERROR_OUT_OF_HOST_MEMORY, 0,                                              \
             "free memory, or give fewer paths or rules, then try again", "no memory for %s",      \
             (what))

#endif
