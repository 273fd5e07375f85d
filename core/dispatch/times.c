/* times.c - adding up the times of launches. */
#include "core/dispatch/times.h"

#include "core/base/checked.h"
#include "core/base/error.h"

/* VYRE_TIME_ABSENT is the largest number: a sum may not reach it. */
static bool add(uint64_t sum, uint64_t time, uint64_t *out)
{
  if (sum == VYRE_TIME_ABSENT || time == VYRE_TIME_ABSENT) {
    *out = VYRE_TIME_ABSENT;
    return true;
  }
  return vyre__checked_add(sum, time, out) && *out != VYRE_TIME_ABSENT;
}

vyre_status vyre__times_add(vyre_dispatch_result *result, const vyre_backend_times *times,
                            vyre_error *err)
{
  uint64_t device_ns = 0, enqueue_ns = 0, wait_ns = 0;
  if (!add(result->device_ns, times->device_ns, &device_ns) ||
      !add(result->enqueue_ns, times->enqueue_ns, &enqueue_ns) ||
      !add(result->wait_ns, times->wait_ns, &wait_ns))
    return VYRE_FAIL(err, VYRE_ERROR_DISPATCH_FAILED,
                     "report it to the plugin's author: its clock is wrong",
                     "the times of the launches do not fit 64 bits");
  result->device_ns = device_ns;
  result->enqueue_ns = enqueue_ns;
  result->wait_ns = wait_ns;
  return VYRE_OK;
}
