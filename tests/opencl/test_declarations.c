/*
 * test_declarations.c - our declarations of OpenCL beside those of the Khronos headers, where these
 * are installed: the compiler compares.
 */
#if defined(VYRE_HAS_CL_HEADERS)
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#define VYRE__CL_COMPARE
#endif

#include "plugins/opencl/cl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#if defined(VYRE_HAS_CL_HEADERS)
/* Before the enumeration of ours could hide the headers' macros, they are compared with the list.
 */
#define SAME_VALUE(name, value) _Static_assert((name) == (value), #name);
VYRE__CL_CODES(SAME_VALUE)
VYRE__CL_CONSTANTS(SAME_VALUE)

#define SAME_TYPE(need, result, name, parameters)                                                  \
  _Static_assert(                                                                                  \
      __builtin_types_compatible_p(__typeof__(((vyre__cl_calls *)0)->name), __typeof__(&(name))),  \
      #name);
VYRE__CL_CALLS(SAME_TYPE)
#endif

static void declarations_are_those_of_the_headers(void **state)
{
  (void)state;
#if !defined(VYRE_HAS_CL_HEADERS)
  print_message("OpenCL's headers are not installed (Debian: opencl-headers)\n");
  skip();
#endif
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_are_those_of_the_headers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
