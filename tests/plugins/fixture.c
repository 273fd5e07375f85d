/*
 * fixture.c - what differs between the fixture plugins: which row of fixture_faults.def this one is
 * (FIXTURE_FAULT, FIXTURE_FAULT_NAME), and its entry symbol.
 *
 * fixture.h tells what a fixture can do and how a test steers it; fixture_inside.h lists its parts.
 */
#include "fixture_inside.h"

const int fixture__fault = FIXTURE_FAULT;
const char fixture__fault_name[] = FIXTURE_FAULT_NAME;

#if FIXTURE_NO_SYMBOL
/* The same code under a name that nobody looks for. */
#define vyre_backend_query fixture_backend_query
VYRE_BACKEND_EXPORT vyre_status fixture_backend_query(const vyre_host *from,
                                                      const vyre_backend **out_backend,
                                                      vyre_error *err);
#endif

#if FIXTURE_NEEDS_MISSING
/* Of the library that is not there when the plugin is opened. */
extern int vyre_gone(void);
#endif

vyre_status vyre_backend_query(const vyre_host *from, const vyre_backend **out_backend,
                               vyre_error *err)
{
#if FIXTURE_NEEDS_MISSING
  if (vyre_gone())
    return VYRE_ERROR_INTERNAL;
#endif
  return fixture__query(from, out_backend, err);
}
