/* site.c - holding a device while its resident launches are away; see site.h. */
#include "core/device/site.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/error.h"

#include <pthread.h>

/* How often a wait looks whether the device was lost. */
#define LOOK_NS 50000000u

struct vyre__site {
  vyre__site *next; /* these four: guarded by the process's lock */
  uint32_t references;
  const vyre_backend *backend;
  uint32_t index;
  vyre__process *process;

  pthread_mutex_t lock; /* for what follows, and for every member's vyre__resident */
  pthread_cond_t changed;
  uint32_t holds;
  vyre__resident *residents;
  vyre__deferred *deferred;
};

/* ---- sites of the process ---- */

static void init_sync(vyre__site *site)
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&site->lock, NULL);
  pthread_cond_init(&site->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

vyre_status vyre__site_get(vyre__process *process, const vyre_backend *backend, uint32_t index,
                           const vyre_device_info *info, vyre__site **out_site, vyre_error *err)
{
  vyre__site *site, **list;
  *out_site = NULL;
  if (!(info->capabilities & VYRE_CAP_PERSISTENT) ||
      (info->capabilities & VYRE_CAP_ALLOC_WHILE_RESIDENT))
    return VYRE_OK;
  list = vyre__process_lock_sites(process);
  for (site = *list; site && (site->backend != backend || site->index != index); site = site->next)
    continue;
  if (!site) {
    site = vyre__allocate_zeroed(&vyre__default_allocator, 1, sizeof *site);
    if (site) {
      site->backend = backend;
      site->index = index;
      site->process = process;
      init_sync(site);
      site->next = *list;
      *list = site;
    }
  }
  if (site)
    site->references += 1;
  vyre__process_unlock_sites(process);
  *out_site = site;
  return site ? VYRE_OK : VYRE_FAIL_MEMORY(err, "the record of a device's residents");
}

static void retain(vyre__site *site)
{
  vyre__process_lock_sites(site->process);
  site->references += 1;
  vyre__process_unlock_sites(site->process);
}

void vyre__site_release(vyre__site *site)
{
  vyre__site **link;
  bool last;
  if (!site)
    return;
  link = vyre__process_lock_sites(site->process);
  last = --site->references == 0;
  while (last && *link != site)
    link = &(*link)->next;
  if (last)
    *link = site->next;
  vyre__process_unlock_sites(site->process);
  if (!last)
    return;
  pthread_cond_destroy(&site->changed);
  pthread_mutex_destroy(&site->lock);
  vyre__deallocate(&vyre__default_allocator, site);
}

/* ---- holding ---- */

/* The lock is held in all of these. */

static bool is_empty(const vyre__site *site)
{
  for (const vyre__resident *one = site->residents; one; one = one->next)
    if (one->present)
      return false;
  return true;
}

/* The longest patience of those who are there. */
static uint64_t patience(const vyre__site *site)
{
  uint64_t longest = 0;
  for (const vyre__resident *one = site->residents; one; one = one->next)
    if (one->present && one->patience_ns > longest)
      longest = one->patience_ns;
  return longest;
}

static void hold(vyre__site *site)
{
  if (site->holds++)
    return;
  for (vyre__resident *one = site->residents; one; one = one->next)
    one->leave(one);
}

static void let_go(vyre__site *site)
{
  if (--site->holds)
    return;
  for (vyre__resident *one = site->residents; one; one = one->next)
    one->go_on(one);
  pthread_cond_broadcast(&site->changed);
}

static void wait_until(vyre__site *site, uint64_t deadline)
{
  const struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
  pthread_cond_timedwait(&site->changed, &site->lock, &until);
}

/* False at the deadline. */
static bool wait_for_empty(vyre__site *site, uint64_t deadline, const uint32_t *lost)
{
  while (!is_empty(site)) {
    const uint64_t now = vyre__now_ns();
    /* Acquire: pairs with the release of whoever notes the loss. */
    if (lost && __atomic_load_n(lost, __ATOMIC_ACQUIRE))
      return true;
    if (now >= deadline)
      return false;
    wait_until(site, deadline - now < LOOK_NS ? deadline : now + LOOK_NS);
  }
  return true;
}

/* What could not be freed before; the site is held and empty. */
static void run_deferred(vyre__site *site)
{
  vyre__deferred *node;
  pthread_mutex_lock(&site->lock);
  node = site->deferred;
  site->deferred = NULL;
  pthread_mutex_unlock(&site->lock);
  while (node) {
    vyre__deferred *next = node->next;
    node->run(node);
    node = next;
  }
}

/* An impatient caller does not wait again for what did not leave before. */
static vyre_status quiesce(vyre__site *site, const uint32_t *lost, bool patient, vyre_error *err)
{
  uint64_t limit;
  bool empty, owed;
  pthread_mutex_lock(&site->lock);
  owed = site->deferred != NULL;
  limit = owed && !patient ? 0 : patience(site);
  hold(site);
  empty = wait_for_empty(site, vyre__deadline(limit), lost);
  if (!empty)
    let_go(site);
  pthread_mutex_unlock(&site->lock);
  if (!empty)
    return VYRE_FAIL(err, VYRE_ERROR_TIMEOUT,
                     "let the engine's long item end, or stop the engine; then try again",
                     "a resident engine did not leave the device within %llu ms: an item of it "
                     "has not ended",
                     (unsigned long long)(limit / 1000000u));
  if (owed)
    run_deferred(site);
  return VYRE_OK;
}

vyre_status vyre__site_quiesce(vyre__site *site, const uint32_t *lost, vyre_error *err)
{
  return site ? quiesce(site, lost, true, err) : VYRE_OK;
}

bool vyre__site_hold_empty(vyre__site *site)
{
  bool empty;
  if (!site)
    return true;
  pthread_mutex_lock(&site->lock);
  empty = is_empty(site);
  if (empty)
    hold(site);
  pthread_mutex_unlock(&site->lock);
  return empty;
}

bool vyre__site_is_empty(vyre__site *site)
{
  bool empty;
  if (!site)
    return true;
  pthread_mutex_lock(&site->lock);
  empty = !site->residents;
  pthread_mutex_unlock(&site->lock);
  return empty;
}

void vyre__site_resume(vyre__site *site)
{
  if (!site)
    return;
  pthread_mutex_lock(&site->lock);
  let_go(site);
  pthread_mutex_unlock(&site->lock);
}

bool vyre__site_retire(vyre__site *site, const uint32_t *lost, vyre__deferred *node)
{
  vyre__deferred **end;
  bool done;
  if (!site) {
    node->run(node);
    return true;
  }
  retain(site); /* the owner's reference goes with it */
  done = quiesce(site, lost, false, NULL) == VYRE_OK;
  if (done) {
    node->run(node);
    vyre__site_resume(site);
  } else {
    pthread_mutex_lock(&site->lock);
    node->next = NULL;
    for (end = &site->deferred; *end; end = &(*end)->next)
      continue;
    *end = node;
    pthread_mutex_unlock(&site->lock);
  }
  vyre__site_release(site);
  return done;
}

/* ---- residents ---- */

void vyre__site_join(vyre__site *site, vyre__resident *resident)
{
  if (!site)
    return;
  pthread_mutex_lock(&site->lock);
  resident->next = site->residents;
  site->residents = resident;
  if (site->holds)
    resident->leave(resident);
  pthread_mutex_unlock(&site->lock);
}

void vyre__site_part(vyre__site *site, vyre__resident *resident)
{
  vyre__resident **link;
  if (!site)
    return;
  pthread_mutex_lock(&site->lock);
  for (link = &site->residents; *link && *link != resident; link = &(*link)->next)
    continue;
  if (*link)
    *link = resident->next;
  pthread_cond_broadcast(&site->changed);
  pthread_mutex_unlock(&site->lock);
}

bool vyre__site_enter(vyre__site *site, vyre__resident *resident)
{
  bool entered;
  if (!site)
    return true;
  pthread_mutex_lock(&site->lock);
  entered = !site->holds;
  if (entered)
    resident->present = true;
  pthread_mutex_unlock(&site->lock);
  return entered;
}

void vyre__site_enter_wait(vyre__site *site, vyre__resident *resident)
{
  if (!site)
    return;
  pthread_mutex_lock(&site->lock);
  while (site->holds)
    pthread_cond_wait(&site->changed, &site->lock);
  resident->present = true;
  pthread_mutex_unlock(&site->lock);
}

bool vyre__site_left(vyre__site *site, vyre__resident *resident)
{
  bool asked;
  if (!site)
    return false;
  pthread_mutex_lock(&site->lock);
  resident->present = false;
  asked = site->holds != 0;
  if (asked) /* relaxed: a number for readers */
    __atomic_fetch_add(&resident->parks, 1, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&site->changed);
  pthread_mutex_unlock(&site->lock);
  return asked;
}
