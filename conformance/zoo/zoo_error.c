/* zoo_error.c - errors: filled by us, and passed on; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* As much of `from` as the caller's record takes (ABI-002). */
static void store(vyre_error *err, const vyre_error *from)
{
  const uint32_t size = err->struct_size < sizeof *from ? err->struct_size : (uint32_t)sizeof *from;
  const uint32_t first = sizeof err->struct_size;
  if (size > first)
    memcpy((char *)err + first, (const char *)from + first, size - first);
}

vyre_status zoo__fail(vyre_error *err, vyre_status code, const char *format, ...)
{
  vyre_error record = VYRE_ERROR_INIT;
  va_list arguments;
  record.code = code;
  va_start(arguments, format);
  vsnprintf(record.message, sizeof record.message, format, arguments);
  va_end(arguments);
  if (err)
    store(err, &record);
  return code;
}

vyre_status zoo__pass_on(vyre_error *err, vyre_status status)
{
  if (status == VYRE_OK || !err)
    return status;
  if (ZOO_IS(empty_text) && err->struct_size >= sizeof *err)
    err->message[0] = '\0';
  if (ZOO_IS(no_code) && err->struct_size >= sizeof *err)
    err->code = VYRE_OK;
  if (ZOO_IS(other_code) && err->struct_size >= sizeof *err)
    return VYRE_ERROR_INTERNAL;
  if (ZOO_IS(no_limit_text) && err->struct_size >= sizeof *err)
    strcpy(err->message, "that is too much for this device");
  if (ZOO_IS(no_name_text) && status == VYRE_ERROR_NOT_FOUND && err->struct_size >= sizeof *err)
    strcpy(err->message, "there is no such entry");
  if (ZOO_IS(compile_no_line) && status == VYRE_ERROR_COMPILE_FAILED &&
      err->struct_size >= sizeof *err)
    for (char *at = err->message; *at; ++at)
      if (*at >= '0' && *at <= '9')
        *at = '#';
  return status;
}
