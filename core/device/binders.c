/* binders.c - what binds buffers for longer than a dispatch; see binders.h. */
#include "core/device/binders.h"

#include <stddef.h>

void vyre__binders_init(vyre__binders *binders)
{
  pthread_mutex_init(&binders->drops, NULL);
  pthread_mutex_init(&binders->lock, NULL);
}

void vyre__binders_free(vyre__binders *binders)
{
  pthread_mutex_destroy(&binders->lock);
  pthread_mutex_destroy(&binders->drops);
}

uint64_t vyre__binders_new_id(vyre__binders *binders)
{
  /* Relaxed: only that no two are the same. */
  return __atomic_add_fetch(&binders->last_id, 1, __ATOMIC_RELAXED);
}

void vyre__binders_lock(vyre__binders *binders)
{
  pthread_mutex_lock(&binders->lock);
}

void vyre__binders_unlock(vyre__binders *binders)
{
  pthread_mutex_unlock(&binders->lock);
}

void vyre__binders_add(vyre__binders *binders, vyre__binder *binder)
{
  binder->next = binders->first;
  binder->listed = true;
  binders->first = binder;
}

void vyre__binders_remove(vyre__binders *binders, vyre__binder *binder)
{
  vyre__binder **link = &binders->first;
  if (!binder->listed)
    return;
  while (*link != binder)
    link = &(*link)->next;
  *link = binder->next;
  binder->next = NULL;
  binder->listed = false;
}

static bool binds(const vyre__binder *binder, uint64_t id)
{
  bool found = !id;
  for (uint32_t i = 0; i < binder->count && !found; ++i)
    found = binder->buffers[i] == id;
  return found;
}

/* Takes those that bind it out of the list, into one of their own. */
static vyre__binder *take_out(vyre__binders *binders, uint64_t id)
{
  vyre__binder **link = &binders->first, *taken = NULL;
  while (*link) {
    vyre__binder *binder = *link;
    if (!binds(binder, id)) {
      link = &binder->next;
      continue;
    }
    *link = binder->next;
    binder->listed = false;
    binder->leave(binder);
    binder->next = taken;
    taken = binder;
  }
  return taken;
}

void vyre__binders_begin_drop(vyre__binders *binders)
{
  pthread_mutex_lock(&binders->drops);
}

void vyre__binders_end_drop(vyre__binders *binders)
{
  pthread_mutex_unlock(&binders->drops);
}

void vyre__binders_drop(vyre__binders *binders, uint64_t id)
{
  vyre__binder *taken = NULL;
  vyre__binders_begin_drop(binders);
  vyre__binders_lock(binders);
  taken = take_out(binders, id);
  vyre__binders_unlock(binders);
  while (taken) {
    vyre__binder *next = taken->next;
    taken->let_go(taken);
    taken = next;
  }
  vyre__binders_end_drop(binders);
}
