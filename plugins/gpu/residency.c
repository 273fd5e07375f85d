/*
 * residency.c - the process's list of persistent launches and of devices with cooperative ones; see
 * residency.h.
 */
#include "plugins/gpu/residency.h"

/*
 * A group of a persistent launch takes at most 1/occupancy of each resource of its unit.  A unit's
 * warps and registers lie in parts (four, with every vendor so far), and a group of one warp takes
 * all of its share from one of them, so that up to this many times its share is lost to others.
 */
#define PARTS 4u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vyre_backend_pending *launches;
static vyre_backend_device *cooperative;

void vyre__gpu_residency_lock(void)
{
  pthread_mutex_lock(&lock);
}

void vyre__gpu_residency_unlock(void)
{
  pthread_mutex_unlock(&lock);
}

void vyre__gpu_residency_add(vyre_backend_pending *pending)
{
  pending->resident_next = launches;
  launches = pending;
  pthread_mutex_lock(&pending->device->lock);
  pending->device->resident += 1;
  pthread_mutex_unlock(&pending->device->lock);
}

void vyre__gpu_residency_remove(vyre_backend_pending *pending)
{
  vyre_backend_pending **at = &launches;
  while (*at && *at != pending)
    at = &(*at)->resident_next;
  if (!*at)
    return;
  *at = pending->resident_next;
  pending->resident_next = NULL;
  pthread_mutex_lock(&pending->device->lock);
  pending->device->resident -= 1;
  pthread_mutex_unlock(&pending->device->lock);
}

/* The same device, and alive: what was on a lost one is gone with its context. */
static bool is_there(const vyre_backend_device *one, const vyre_backend_device *device)
{
  return one->index == device->index && !vyre__gpu_is_lost(one);
}

uint64_t vyre__gpu_residency_taken(const vyre_backend_device *device, uint32_t occupancy,
                                   bool whole)
{
  uint64_t taken = 0;
  for (const vyre_backend_pending *one = launches; one; one = one->resident_next) {
    uint64_t each = occupancy;
    if (!is_there(one->device, device))
      continue;
    if (!whole && one->occupancy > PARTS)
      each = ((uint64_t)occupancy * PARTS + one->occupancy - 1) / one->occupancy;
    /* At most 2^32 groups of 2^32: a launch that fills the device is refused, so they are few. */
    taken += one->groups * each;
  }
  return taken;
}

uint64_t vyre__gpu_residency_units(const vyre_backend_device *device)
{
  uint64_t units = 0;
  for (const vyre_backend_pending *one = launches; one; one = one->resident_next)
    if (is_there(one->device, device))
      units += ((uint64_t)one->groups + one->occupancy - 1) / one->occupancy;
  return units;
}

vyre__gpu_code vyre__gpu_residency_prepare(vyre_backend_device *device)
{
  if (device->cooperative)
    return 0;
  const vyre__gpu_code code = vyre__gpu_driver.event_make(false, false, &device->cooperative);
  if (code)
    return code;
  device->cooperative_next = cooperative;
  cooperative = device;
  return 0;
}

vyre__gpu_code vyre__gpu_residency_wait(const vyre_backend_device *device, vyre__gpu_stream *stream)
{
  for (const vyre_backend_device *one = cooperative; one; one = one->cooperative_next) {
    const vyre__gpu_code code =
        is_there(one, device) ? vyre__gpu_driver.stream_wait(stream, one->cooperative) : 0;
    if (code)
      return code;
  }
  return 0;
}

void vyre__gpu_residency_forget(vyre_backend_device *device)
{
  vyre_backend_device **at = &cooperative;
  vyre__gpu_scope scope;
  pthread_mutex_lock(&lock);
  while (*at && *at != device)
    at = &(*at)->cooperative_next;
  if (*at)
    *at = device->cooperative_next;
  pthread_mutex_unlock(&lock);
  if (!device->cooperative)
    return;
  if (vyre__gpu_enter_to_free(device, &scope))
    (void)vyre__gpu_driver.event_drop(device->cooperative);
  vyre__gpu_leave(&scope);
  device->cooperative = NULL;
}
