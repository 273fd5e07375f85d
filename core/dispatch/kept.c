/* kept.c - recorded launches that a program keeps for its next dispatches; see kept.h. */
#include "core/dispatch/kept.h"

#include "core/base/mix.h"
#include "core/dispatch/stage.h"

/* ---- what was recorded ---- */

/* Nobody uses it any more.  In a child it is only forgotten. */
static void free_now(vyre__deferred *node)
{
  vyre__recorded *recorded = VYRE__OWNER(vyre__recorded, freeing, node);
  vyre_device *device = recorded->device;
  const vyre_allocator allocator = device->allocator;
  if (recorded->handle && vyre__context_is_ours(device->context))
    device->backend->sequence_release(vyre__device_handle(device, recorded->generation),
                                      recorded->handle);
  vyre__steps_free(&recorded->steps, &allocator);
  vyre__deallocate(&allocator, recorded);
  vyre__device_release(device);
}

void vyre__recorded_release(vyre__recorded *recorded)
{
  /* Partner: the other releases.  Release publishes this holder's starts, acquire makes the last
     one see all of them before it frees. */
  if (__atomic_fetch_sub(&recorded->references, 1, __ATOMIC_ACQ_REL) != 1)
    return;
  recorded->freeing.run = free_now;
  if (vyre__context_is_ours(recorded->device->context))
    vyre__device_retire(recorded->device, &recorded->freeing);
  else
    free_now(&recorded->freeing);
}

static void retain(vyre__recorded *recorded)
{
  /* Relaxed: the program's reference is there, which only goes under the lock that is held. */
  __atomic_fetch_add(&recorded->references, 1, __ATOMIC_RELAXED);
}

/* ---- which steps ---- */

static bool is_bound(const vyre_program *program, uint32_t buffer)
{
  return program->buffers[buffer].bound && program->buffers[buffer].access != VYRE_WORKGROUP;
}

/* The buffers that the steps bind. */
static uint32_t bound_buffers(const vyre_pending *pending, bool with_test,
                              vyre_buffer *out_buffers[VYRE__MAX_BINDINGS])
{
  const vyre_program *program = pending->program;
  uint32_t count = 0;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    if (is_bound(program, i))
      out_buffers[count++] = vyre__staged(pending, i);
  if (with_test)
    out_buffers[count++] = pending->stage->shadow;
  if (with_test || program->converge == VYRE_CONVERGE_DECLARED)
    out_buffers[count++] = pending->stage->control;
  return count;
}

uint64_t vyre__kept_digest(const vyre_pending *pending, bool with_test)
{
  const vyre_program *program = pending->program;
  const unsigned char *push = pending->options.push;
  vyre_buffer *buffers[VYRE__MAX_BINDINGS];
  const uint32_t count = bound_buffers(pending, with_test, buffers);
  uint64_t digest = with_test;
  for (uint32_t i = 0; i < count; ++i)
    digest = vyre__mix(digest, buffers[i]->id);
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    digest = vyre__mix(digest, pending->shape.sizes[i]);
    digest = vyre__mix(digest, pending->shape.counts[i]);
  }
  for (uint32_t s = 0; s < program->segment_count + with_test; ++s) {
    digest = vyre__mix(digest, pending->groups[s][0] | (uint64_t)pending->groups[s][1] << 32);
    digest = vyre__mix(digest, pending->groups[s][2]);
  }
  for (uint32_t at = 0; at < pending->options.push_size; at += sizeof digest) {
    uint64_t word = 0;
    const uint32_t left = pending->options.push_size - at;
    memcpy(&word, push + at, left < sizeof word ? left : sizeof word);
    digest = vyre__mix(digest, word);
  }
  return digest ? digest : 1;
}

/* The lock is held: as long as it is listed its buffers are alive. */
static bool is_of(const vyre__recorded *recorded, const vyre_pending *pending, bool with_test)
{
  vyre_buffer *buffers[VYRE__MAX_BINDINGS];
  const uint32_t count = bound_buffers(pending, with_test, buffers);
  bool same =
      recorded->generation == pending->program->generation && count == recorded->binder.count;
  for (uint32_t i = 0; i < count && same; ++i)
    same = buffers[i]->id == recorded->buffers[i];
  return same && vyre__steps_match(&recorded->steps, pending, with_test);
}

/* ---- what a program keeps ---- */

static vyre__binders *binders_of(const vyre_program *program)
{
  return &program->device->binders;
}

/* These with the lock held. */

/* Moves what is at `at` to the front. */
static void to_front(vyre__keep *keep, uint32_t at)
{
  vyre__recorded *recorded = keep->recorded[at];
  for (; at; --at)
    keep->recorded[at] = keep->recorded[at - 1];
  keep->recorded[0] = recorded;
}

static void forget(vyre_program *program, const vyre__recorded *recorded)
{
  for (uint32_t i = 0; i < VYRE__KEPT; ++i)
    if (program->keep.recorded[i] == recorded)
      program->keep.recorded[i] = NULL;
}

/* Its keeper has it no longer, and the list neither.  True: the keeper's reference is to be given
   back, without the lock. */
static bool take_away(vyre_program *program, vyre__recorded *recorded)
{
  const bool was_kept = recorded->keeper != NULL;
  if (!was_kept)
    return false;
  forget(program, recorded);
  recorded->keeper = NULL;
  vyre__binders_remove(binders_of(program), &recorded->binder);
  return true;
}

/* Such steps that were made one by one, or NULL. */
static vyre__single *find_single(vyre__keep *keep, uint64_t digest)
{
  for (uint32_t i = 0; i < VYRE__KEPT; ++i)
    if (keep->single[i].digest == digest)
      return &keep->single[i];
  return NULL;
}

/* ---- as a binder ---- */

static void leave(vyre__binder *binder)
{
  vyre__recorded *recorded = VYRE__OWNER(vyre__recorded, binder, binder);
  forget(recorded->keeper, recorded);
  recorded->keeper = NULL;
}

static void let_go(vyre__binder *binder)
{
  vyre__recorded_release(VYRE__OWNER(vyre__recorded, binder, binder));
}

/* ---- the calls ---- */

vyre__recorded *vyre__kept_find(const vyre_pending *pending, bool with_test, uint64_t digest,
                                uint64_t *out_launches)
{
  vyre__keep *keep = &pending->program->keep;
  const vyre__single *single = NULL;
  vyre__recorded *found = NULL;
  vyre__binders_lock(binders_of(pending->program));
  for (uint32_t i = 0; i < VYRE__KEPT && !found; ++i) {
    vyre__recorded *recorded = keep->recorded[i];
    if (!recorded || recorded->digest != digest || !is_of(recorded, pending, with_test))
      continue;
    found = recorded;
    retain(found);
    to_front(keep, i);
  }
  single = find_single(keep, digest);
  *out_launches = single ? single->launches : 0;
  vyre__binders_unlock(binders_of(pending->program));
  return found;
}

void vyre__kept_count(vyre_program *program, uint64_t digest, uint64_t launches)
{
  vyre__keep *keep = &program->keep;
  vyre__single *single = NULL;
  vyre__binders_lock(binders_of(program));
  single = find_single(keep, digest);
  if (!single) { /* the one that came last is the last to go */
    memmove(keep->single + 1, keep->single, sizeof keep->single - sizeof *keep->single);
    single = &keep->single[0];
    single->digest = digest;
    single->launches = 0;
  }
  single->launches += launches;
  vyre__binders_unlock(binders_of(program));
}

/* Whose buffers it binds; from here on their release asks for it. */
static void make_binder(const vyre_pending *pending, bool with_test, vyre__recorded *recorded)
{
  vyre_buffer *buffers[VYRE__MAX_BINDINGS];
  recorded->binder.count = bound_buffers(pending, with_test, buffers);
  for (uint32_t i = 0; i < recorded->binder.count; ++i) {
    recorded->buffers[i] = buffers[i]->id;
    /* Relaxed: the buffer is lent, and its release comes after the dispatch. */
    __atomic_store_n(&buffers[i]->bound, 1, __ATOMIC_RELAXED);
  }
  recorded->binder.buffers = recorded->buffers;
  recorded->binder.leave = leave;
  recorded->binder.let_go = let_go;
}

void vyre__kept_add(const vyre_pending *pending, bool with_test, vyre__recorded *recorded)
{
  vyre_program *program = pending->program;
  vyre__keep *keep = &program->keep;
  vyre__recorded *last = NULL;
  uint32_t at = 0;
  make_binder(pending, with_test, recorded);
  vyre__binders_begin_drop(binders_of(program));
  vyre__binders_lock(binders_of(program));
  while (at < VYRE__KEPT - 1 && keep->recorded[at])
    ++at;
  last = keep->recorded[at];
  if (last)
    take_away(program, last);
  keep->recorded[at] = recorded;
  to_front(keep, at);
  recorded->keeper = program;
  retain(recorded);
  vyre__binders_add(binders_of(program), &recorded->binder);
  vyre__binders_unlock(binders_of(program));
  if (last)
    vyre__recorded_release(last);
  vyre__binders_end_drop(binders_of(program));
}

void vyre__kept_remove(vyre_program *program, vyre__recorded *recorded)
{
  vyre__single *single = NULL;
  bool was_kept = false;
  vyre__binders_lock(binders_of(program));
  was_kept = take_away(program, recorded);
  single = find_single(&program->keep, recorded->digest);
  if (single)
    single->launches = 0;
  vyre__binders_unlock(binders_of(program));
  if (was_kept)
    vyre__recorded_release(recorded);
}

static void clear_one(vyre_program *program, uint32_t at)
{
  vyre__recorded *recorded = NULL;
  vyre__binders_lock(binders_of(program));
  recorded = program->keep.recorded[at];
  if (recorded)
    take_away(program, recorded);
  vyre__binders_unlock(binders_of(program));
  if (recorded)
    vyre__recorded_release(recorded);
}

void vyre__kept_clear(vyre_program *program)
{
  vyre__keep *keep = &program->keep;
  if (!vyre__context_is_ours(program->device->context)) {
    /* In a child: who has the lock may be gone, and nobody else is there. */
    for (uint32_t i = 0; i < VYRE__KEPT; ++i)
      if (keep->recorded[i])
        vyre__recorded_release(keep->recorded[i]);
    return;
  }
  vyre__binders_begin_drop(binders_of(program));
  for (uint32_t i = 0; i < VYRE__KEPT; ++i)
    clear_one(program, i);
  vyre__binders_end_drop(binders_of(program));
}
