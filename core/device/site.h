/*
 * site.h - one place of hardware, as all its handles share it: who is resident on it, and the calls
 * that must not meet a resident launch.
 *
 * On most devices an allocation, a free or a load of code waits until the device is idle, which it
 * never is while a persistent launch stays there.  So around such calls the core holds the site:
 *
 *     vyre__site_quiesce()   every resident is asked to leave; waits until all have
 *     the call
 *     vyre__site_resume()    with the last hold gone residents may come back
 *
 * Holds are counted, so they nest and overlap.  A resident enters only while nobody holds, and says
 * when it has left; both are decided under the site's lock, so a held site stays empty.  A site
 * belongs to a plugin's device index, whichever handle or context uses it: for the hardware they
 * are one.  Devices whose calls do not wait (VYRE_CAP_ALLOC_WHILE_RESIDENT), or that have no
 * persistent launches, have no site: NULL is accepted everywhere and costs nothing.
 *
 * Who holds must not wait for a resident in any other way; a resident's own thread never holds.
 */
#ifndef VYRE_CORE_DEVICE_SITE_H
#define VYRE_CORE_DEVICE_SITE_H

#include "vyre.h"
#include "vyre_backend.h"

#include "core/device/process.h"

#include <stdbool.h>

typedef struct vyre__site vyre__site;

/* Whoever keeps a persistent launch; part of its owner.  Guarded by the site's lock. */
typedef struct vyre__resident {
  struct vyre__resident *next;
  bool present;         /* a launch of it may be on the device */
  uint64_t patience_ns; /* how long it may take to leave */
  uint64_t parks;       /* times that it left for a hold; atomic, for statistics */
  /* Both are called under the lock: they must not wait and not call the site. */
  void (*leave)(struct vyre__resident *self); /* have the launch leave */
  void (*go_on)(struct vyre__resident *self); /* it may come back */
} vyre__resident;

/* Something to be freed while the site is empty; part of its owner. */
typedef struct vyre__deferred {
  struct vyre__deferred *next;
  void (*run)(struct vyre__deferred *self); /* frees the owner */
} vyre__deferred;

/* The owner of a member. */
#define VYRE__OWNER(type, member, pointer)                                                         \
  ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Gets the site of a device, NULL if it needs none; OUT_OF_HOST_MEMORY. */
vyre_status vyre__site_get(vyre__process *process, const vyre_backend *backend, uint32_t index,
                           const vyre_device_info *info, vyre__site **out_site, vyre_error *err);
void vyre__site_release(vyre__site *site);

/*
 * OK: the site is empty and held.  TIMEOUT: a launch did not leave within its patience; nothing is
 * held.  `lost` (may be NULL): a word that turns nonzero if the caller's device is lost, where a
 * launch may never be seen to leave; the site is then held without waiting.
 */
vyre_status vyre__site_quiesce(vyre__site *site, const uint32_t *lost, vyre_error *err);
/* True: it was empty, and is held.  False if somebody is resident: nobody is asked to leave. */
bool vyre__site_hold_empty(vyre__site *site);
void vyre__site_resume(vyre__site *site);
/* No engine has a launch that stays there, or would bring it back. */
bool vyre__site_is_empty(vyre__site *site);

/*
 * Runs `node` on the empty site: now, or, if a launch does not leave, when the site is empty the
 * next time, in the order of the calls.  False in the latter case.
 */
bool vyre__site_retire(vyre__site *site, const uint32_t *lost, vyre__deferred *node);

void vyre__site_join(vyre__site *site, vyre__resident *resident);
/* Its launch has left for good. */
void vyre__site_part(vyre__site *site, vyre__resident *resident);

/* False while the site is held; go_on() comes after. */
bool vyre__site_enter(vyre__site *site, vyre__resident *resident);
/* The same, but waits for the holds to end. */
void vyre__site_enter_wait(vyre__site *site, vyre__resident *resident);
/* The launch has left.  True if somebody holds the site: it was asked to. */
bool vyre__site_left(vyre__site *site, vyre__resident *resident);

#endif
