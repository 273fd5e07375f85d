/*
 * error.c - filling the caller's vyre_error; see error.h.
 */
#include "plugins/common/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIX_CASE(number, name, retry, text, fix)                                                   \
  case VYRE_##name:                                                                                \
    return fix;

static const char *default_fix(vyre_status code)
{
  switch (code) {
    VYRE_STATUS_MAP(FIX_CASE)
  default:
    return "";
  }
}

/* True if the record of the caller reaches to the end of a field. */
#define HOLDS(err, field) ((err)->struct_size >= offsetof(vyre_error, field) + sizeof((err)->field))

void vyre__plugin_error_set(vyre_error *err, vyre_status code, int64_t vendor_code,
                            const char *file, int line, const char *fix, const char *format, ...)
{
  if (!err)
    return;
  const char *slash = strrchr(file, '/');
  va_list arguments;
  va_start(arguments, format);
  if (HOLDS(err, code))
    err->code = code;
  if (HOLDS(err, vendor_code))
    err->vendor_code = vendor_code;
  if (HOLDS(err, where))
    snprintf(err->where, sizeof(err->where), "%s:%d", slash ? slash + 1 : file, line);
  if (HOLDS(err, message))
    vsnprintf(err->message, sizeof(err->message), format, arguments);
  if (HOLDS(err, fix))
    snprintf(err->fix, sizeof(err->fix), "%s", fix ? fix : default_fix(code));
  va_end(arguments);
}

vyre_status vyre__plugin_error_copy(vyre_error *to, const vyre_error *from)
{
  if (!to)
    return from->code;
  if (HOLDS(to, code))
    to->code = from->code;
  if (HOLDS(to, vendor_code))
    to->vendor_code = from->vendor_code;
  if (HOLDS(to, where))
    memcpy(to->where, from->where, sizeof(to->where));
  if (HOLDS(to, message))
    memcpy(to->message, from->message, sizeof(to->message));
  if (HOLDS(to, fix))
    memcpy(to->fix, from->fix, sizeof(to->fix));
  return from->code;
}
