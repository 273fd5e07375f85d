/*
 * code.h - OpenCL's error codes as statuses of vyre, in the one shape that the plugin uses:
 *
 *     return OPENCL_FAIL(err, code, "clCreateBuffer", "a buffer of %llu bytes", size);
 */
#ifndef VYRE_OPENCL_CODE_H
#define VYRE_OPENCL_CODE_H

#include "cl.h"
#include "plugins/common/error.h"

/* "CL_OUT_OF_RESOURCES", or "an unknown code". */
const char *vyre__opencl_code_name(cl_int code);

/* The status for a call that failed; `otherwise` for a code that says nothing more exact. */
vyre_status vyre__opencl_code_status(cl_int code, vyre_status otherwise);

/* "WHAT: CALL said NAME (NUMBER)"; returns the status. */
__attribute__((format(printf, 7, 8))) vyre_status
vyre__opencl_fail(vyre_error *err, vyre_status otherwise, cl_int code, const char *call,
                  const char *file, int line, const char *format, ...);

#define OPENCL_FAIL_AS(err, otherwise, code, call, ...)                                            \
  vyre__opencl_fail((err), (otherwise), (code), (call), __FILE__, __LINE__, __VA_ARGS__)
/* A call that the host's arguments cannot have made fail. */
#define OPENCL_FAIL(err, code, call, ...)                                                          \
  OPENCL_FAIL_AS(err, VYRE_ERROR_INTERNAL, code, call, __VA_ARGS__)

#endif
