/* error.c - filling a vyre_error within the size that its owner knows. */
#include "core/base/error.h"

#include "vyre.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A record from an older or newer neighbour: only fields within struct_size exist. */
static bool holds(const vyre_error *err, size_t end)
{
  return err && err->struct_size >= end;
}
#define HOLDS(err, field) holds((err), offsetof(vyre_error, field) + sizeof((err)->field))

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

vyre_status vyre__error_set(vyre_error *err, vyre_status code, int64_t vendor_code,
                            const char *file, int line, const char *fix, const char *format, ...)
{
  va_list arguments;
  if (HOLDS(err, code))
    err->code = code;
  if (HOLDS(err, vendor_code))
    err->vendor_code = vendor_code;
  if (HOLDS(err, where))
    snprintf(err->where, sizeof err->where, "%s:%d", base_name(file), line);
  if (HOLDS(err, message)) {
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
  }
  if (HOLDS(err, fix))
    snprintf(err->fix, sizeof err->fix, "%s", fix ? fix : vyre_status_fix(code));
  return code;
}

void vyre__error_prefix(vyre_error *err, const char *format, ...)
{
  char old[VYRE_ERROR_MESSAGE_SIZE];
  va_list arguments;
  int used;
  if (!HOLDS(err, message))
    return;
  memcpy(old, err->message, sizeof old);
  old[sizeof old - 1] = '\0';
  va_start(arguments, format);
  used = vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  if (used >= 0 && (size_t)used < sizeof err->message)
    snprintf(err->message + used, sizeof err->message - (size_t)used, "%s", old);
}

/* What is behind the end of a text nobody has written (vyre__error_clear()). */
static void copy_text(char *to, const char *from, size_t size)
{
  const size_t length = strnlen(from, size - 1);
  memcpy(to, from, length);
  to[length] = '\0';
}

vyre_status vyre__error_copy(vyre_error *to, const vyre_error *from)
{
  if (HOLDS(to, code))
    to->code = from->code;
  if (HOLDS(to, vendor_code))
    to->vendor_code = from->vendor_code;
  if (HOLDS(to, where))
    copy_text(to->where, from->where, sizeof to->where);
  if (HOLDS(to, message))
    copy_text(to->message, from->message, sizeof to->message);
  if (HOLDS(to, fix))
    copy_text(to->fix, from->fix, sizeof to->fix);
  return from->code;
}
