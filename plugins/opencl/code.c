/*
 * code.c - OpenCL's error codes; see code.h.
 */
#include "code.h"

#include <stdarg.h>
#include <stdio.h>

const char *vyre__opencl_code_name(cl_int code)
{
  switch (code) {
#define CASE(name, value)                                                                          \
  case value:                                                                                      \
    return #name;
    VYRE__CL_CODES(CASE)
#undef CASE
  default:
    return "an unknown code";
  }
}

vyre_status vyre__opencl_code_status(cl_int code, vyre_status otherwise)
{
  switch (code) {
  case CL_SUCCESS:
    return VYRE_OK;
  case CL_DEVICE_NOT_AVAILABLE:
    return VYRE_ERROR_DEVICE_LOST;
  /* It has many meanings: most often memory; of a launch, that the kernel has gone astray. */
  case CL_OUT_OF_RESOURCES:
    return otherwise == VYRE_ERROR_DISPATCH_FAILED ? otherwise : VYRE_ERROR_OUT_OF_DEVICE_MEMORY;
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    return VYRE_ERROR_OUT_OF_DEVICE_MEMORY;
  case CL_OUT_OF_HOST_MEMORY:
    return VYRE_ERROR_OUT_OF_HOST_MEMORY;
  default:
    return otherwise;
  }
}

vyre_status vyre__opencl_fail(vyre_error *err, vyre_status otherwise, cl_int code, const char *call,
                              const char *file, int line, const char *format, ...)
{
  char what[512];
  const vyre_status status = vyre__opencl_code_status(code, otherwise);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  vyre__plugin_error_set(err, status, code, file, line, NULL, "%s: %s said %s (%d)", what, call,
                         vyre__opencl_code_name(code), (int)code);
  return status;
}
