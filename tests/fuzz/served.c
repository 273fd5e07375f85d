/* served.c - a plugin without a mind of its own; see served.h. */
#include "tests/fuzz/served.h"

static served now;

VYRE_BACKEND_EXPORT void served_set(const served *what);

void served_set(const served *what)
{
  now = *what;
}

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  (void)host;
  if (now.table)
    *out_backend = now.table;
  if (now.status && now.fill)
    now.fill(err);
  return now.status;
}
