/*
 * library.h - the vendor's library: libOpenCL.so.1, or the one that VYRE_OPENCL_LIBRARY names.
 */
#ifndef VYRE_OPENCL_LIBRARY_H
#define VYRE_OPENCL_LIBRARY_H

#include "cl.h"
#include "vyre_backend.h"

/*
 * Opens the library with the first call and keeps it for as long as the process lives.  A failure
 * is VYRE_ERROR_VENDOR_LIBRARY with every path that was tried, and the next call tries again.
 * Allocates nothing of the host.
 */
vyre_status vyre__opencl_library(const vyre__cl_calls **out_calls, vyre_error *err);

/* Where it was found; "" before. */
const char *vyre__opencl_library_path(void);

/* After a success of the above. */
const vyre__cl_calls *vyre__opencl_calls(void);

#endif
