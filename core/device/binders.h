/*
 * binders.h - what binds buffers for longer than a dispatch and has to be gone before they are
 * freed: launches that a program keeps recorded (core/dispatch/kept.h).
 *
 * A device lists its binders.  Whoever releases the last reference of a buffer has all that bind it
 * let go first, so that a buffer is freed as soon as it was before there were any, and that what a
 * binder names by the address of a handle is alive as long as it is listed.
 */
#ifndef VYRE_CORE_DEVICE_BINDERS_H
#define VYRE_CORE_DEVICE_BINDERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Part of its owner. */
typedef struct vyre__binder {
  struct vyre__binder *next; /* guarded by the list's lock, as `listed` is */
  bool listed;
  const uint64_t *buffers; /* vyre_buffer.id of each that it binds; constant */
  uint32_t count;
  void (*leave)(struct vyre__binder *self);  /* lock held: nobody may find it any more */
  void (*let_go)(struct vyre__binder *self); /* after that, without the lock */
} vyre__binder;

typedef struct vyre__binders {
  pthread_mutex_t drops; /* see vyre__binders_begin_drop() */
  pthread_mutex_t lock;  /* owners guard with it what leads to their binders */
  vyre__binder *first;
  uint64_t last_id; /* atomic; the last that a buffer of the device got */
} vyre__binders;

void vyre__binders_init(vyre__binders *binders);
void vyre__binders_free(vyre__binders *binders);

/* An id that no other buffer of the device has or had. */
uint64_t vyre__binders_new_id(vyre__binders *binders);

void vyre__binders_lock(vyre__binders *binders);
void vyre__binders_unlock(vyre__binders *binders);

/* The lock is held.  Who is not listed any more can be removed all the same. */
void vyre__binders_add(vyre__binders *binders, vyre__binder *binder);
void vyre__binders_remove(vyre__binders *binders, vyre__binder *binder);

/*
 * Around taking a binder out of the list and letting it go, by one thread at a time and before the
 * lock: else somebody who frees another of its buffers, or its program, finds nothing in the list
 * and is faster.  Not needed by who keeps it alive longer by a reference of its own.
 */
void vyre__binders_begin_drop(vyre__binders *binders);
void vyre__binders_end_drop(vyre__binders *binders);

/* Has everything let go that binds the buffer; with id 0 everything there is. */
void vyre__binders_drop(vyre__binders *binders, uint64_t id);

#endif
