/*
 * plugin.c - the smallest plugin: knows vyre_backend.h and nothing else, and refuses every host.
 */
#include <vyre_backend.h>

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  (void)host;
  (void)out_backend;
  (void)err;
  return VYRE_ERROR_REFUSED;
}
