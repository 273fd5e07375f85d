/*
 * support.c - memory with a failure switch for tests, and the error record's writer.
 */
#include "tools/scan/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations left until the one that fails; 0 is off.  Per thread, so that a test never disturbs
 * another thread and no lock or atomic is needed. */
static _Thread_local uint64_t fail_countdown;
static _Thread_local bool fail_done;

static bool must_fail(void)
{
  if (fail_countdown == 0 || --fail_countdown != 0) {
    return false;
  }
  fail_done = true;
  return true;
}

void vyre__scan_fail_nth(uint64_t nth)
{
  fail_countdown = nth;
  fail_done = false;
}

bool vyre__scan_fail_happened(void)
{
  return fail_done;
}

void *vyre__scan_alloc(size_t count, size_t size)
{
  if (must_fail()) {
    return NULL;
  }
  return calloc(count == 0 ? 1 : count, size == 0 ? 1 : size); /* calloc checks the product */
}

bool vyre__scan_reserve(void **ptr, size_t *capacity, size_t need, size_t size)
{
  size_t wanted, bytes;
  void *grown;

  if (need <= *capacity) {
    return true;
  }
  if (__builtin_add_overflow(*capacity, *capacity / 2 + 16, &wanted) || wanted < need) {
    wanted = need;
  }
  if (__builtin_mul_overflow(wanted, size, &bytes) || must_fail()) {
    return false;
  }
  grown = realloc(*ptr, bytes);
  if (grown == NULL) {
    return false;
  }
  *ptr = grown;
  *capacity = wanted;
  return true;
}

void vyre__scan_free(void *ptr)
{
  free(ptr);
}

vyre_status vyre__scan_error(vyre_error *err, vyre_status code, int64_t vendor, const char *file,
                             uint32_t line, const char *fix, const char *format, ...)
{
  va_list args;

  if (err == NULL || err->struct_size < sizeof *err) {
    return code;
  }
  err->code = code;
  err->vendor_code = vendor;
  (void)snprintf(err->where, sizeof err->where, "%s:%u", file, line);
  va_start(args, format);
  /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started right above */
  (void)vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  (void)snprintf(err->fix, sizeof err->fix, "%s", fix);
  return code;
}
