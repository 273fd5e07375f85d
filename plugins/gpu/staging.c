/*
 * staging.c - pinned chunks, and copies of host bytes through them; see staging.h.
 *
 * A chunk is free, held by a thread, or under way: given up by its thread while the link still
 * reads it, until its event is reached.  Who wants one takes a free one, else the first under way
 * whose event is reached, else waits: for the event of the one that is longest under way, or, if
 * all are held, for a thread to give one up.  A thread waits only while it holds none, so none
 * waits for another in a ring.
 */
#include "plugins/gpu/staging.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <string.h>
#include <time.h>

/* Small ones take the bytes of little bindings, several launches ahead; large ones are long enough
   that a copy's start costs little beside it. */
#define SMALL_BYTES ((uint64_t)64 << 10)
#define SMALL_CHUNKS 16u
#define LARGE_BYTES ((uint64_t)1 << 20)
#define LARGE_CHUNKS 8u
#define ALL_BYTES (SMALL_BYTES * SMALL_CHUNKS + LARGE_BYTES * LARGE_CHUNKS)
#define ALL_CHUNKS (SMALL_CHUNKS + LARGE_CHUNKS)

typedef struct staging_chunk {
  struct staging_chunk *next;
  unsigned char *bytes;
  vyre__gpu_event *event;
} staging_chunk;

typedef struct staging_pool {
  uint64_t chunk_bytes;
  staging_chunk *unused;       /* free */
  staging_chunk *first, *last; /* under way, in the order in which they were given up */
  pthread_cond_t changed;      /* a chunk was given up, or came back */
} staging_pool;

struct vyre__gpu_staging {
  pthread_mutex_t lock; /* of both pools; never held while anything is waited for */
  staging_pool small, large;
  unsigned char *memory; /* pinned: all chunks */
  staging_chunk chunks[ALL_CHUNKS];
};

/* ---- the pools ---- */

static void put_unused(vyre__gpu_staging *staging, staging_pool *pool, staging_chunk *chunk)
{
  pthread_mutex_lock(&staging->lock);
  chunk->next = pool->unused;
  pool->unused = chunk;
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&staging->lock);
}

/* Its event is recorded. */
static void put_under_way(vyre__gpu_staging *staging, staging_pool *pool, staging_chunk *chunk)
{
  pthread_mutex_lock(&staging->lock);
  chunk->next = NULL;
  if (pool->first)
    pool->last->next = chunk;
  else
    pool->first = chunk;
  pool->last = chunk;
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&staging->lock);
}

static staging_chunk *take_first(staging_pool *pool)
{
  staging_chunk *const first = pool->first;
  pool->first = first->next;
  return first;
}

/* The lock is held.  NULL: none is free now. */
static vyre_status take_free(vyre_backend_device *device, staging_pool *pool,
                             staging_chunk **out_chunk, vyre_error *err)
{
  *out_chunk = pool->unused;
  if (*out_chunk) {
    pool->unused = (*out_chunk)->next;
    return VYRE_OK;
  }
  if (!pool->first)
    return VYRE_OK;
  const vyre__gpu_code code = vyre__gpu_driver.event_query(pool->first->event);
  if (!code)
    *out_chunk = take_first(pool);
  else if (!vyre__gpu_driver.code_is_not_ready(code))
    return vyre__gpu_result(device, code, "looking at a copy", err);
  return VYRE_OK;
}

/* A chunk, after a wait if need be: the caller holds none. */
static vyre_status take(vyre_backend_device *device, staging_pool *pool, staging_chunk **out_chunk,
                        vyre_error *err)
{
  vyre__gpu_staging *const staging = device->staging;
  staging_chunk *found = NULL;
  bool must_wait = false;
  pthread_mutex_lock(&staging->lock);
  vyre_status status = take_free(device, pool, &found, err);
  while (status == VYRE_OK && !found) {
    if (pool->first) {
      found = take_first(pool);
      must_wait = true;
    } else {
      pthread_cond_wait(&pool->changed, &staging->lock);
      status = take_free(device, pool, &found, err);
    }
  }
  pthread_mutex_unlock(&staging->lock);
  if (status == VYRE_OK && must_wait) {
    status = vyre__gpu_event_wait(device, found->event, "waiting for a copy", err);
    if (status != VYRE_OK)
      put_under_way(staging, pool, found);
  }
  if (status == VYRE_OK)
    *out_chunk = found;
  return status;
}

/* One more chunk for a caller who holds one: NULL if none is free now. */
static staging_chunk *take_another(vyre_backend_device *device, staging_pool *pool)
{
  staging_chunk *found = NULL;
  pthread_mutex_lock(&device->staging->lock);
  if (take_free(device, pool, &found, NULL) != VYRE_OK)
    found = NULL;
  pthread_mutex_unlock(&device->staging->lock);
  return found;
}

/* Gives up a chunk of which it is not known whether the device still uses it. */
static void abandon(vyre_backend_device *device, staging_pool *pool, staging_chunk *chunk,
                    vyre__gpu_stream *stream)
{
  /* Only a dead device makes this fail, and that copies nothing any more. */
  (void)vyre__gpu_result(device, vyre__gpu_driver.stream_sync(stream), "ending a copy", NULL);
  put_unused(device->staging, pool, chunk);
}

static staging_pool *pool_for(vyre__gpu_staging *staging, uint64_t size)
{
  return size <= SMALL_BYTES ? &staging->small : &staging->large;
}

/* ---- copies ---- */

static vyre_status send(vyre_backend_device *device, staging_pool *pool, vyre__gpu_stream *stream,
                        vyre__gpu_address to, const void *data, uint64_t size, vyre_error *err)
{
  staging_chunk *piece = NULL;
  vyre_status status = take(device, pool, &piece, err);
  if (status != VYRE_OK)
    return status;
  memcpy(piece->bytes, data, size);
  status = vyre__gpu_result(device, vyre__gpu_driver.copy_in(to, piece->bytes, size, stream),
                            "copying to the device", err);
  if (status == VYRE_OK)
    status = vyre__gpu_result(device, vyre__gpu_driver.event_record(piece->event, stream),
                              "marking a copy to the device", err);
  if (status == VYRE_OK)
    put_under_way(device->staging, pool, piece);
  else
    abandon(device, pool, piece, stream);
  return status;
}

vyre_status vyre__gpu_stage_in(vyre_backend_device *device, vyre__gpu_stream *stream,
                               vyre__gpu_address to, const void *data, uint64_t size,
                               vyre_error *err)
{
  staging_pool *const pool = pool_for(device->staging, size);
  vyre_status status = VYRE_OK;
  for (uint64_t done = 0; done < size && status == VYRE_OK; done += pool->chunk_bytes) {
    const uint64_t left = size - done;
    status = send(device, pool, stream, to + done, (const unsigned char *)data + done,
                  left < pool->chunk_bytes ? left : pool->chunk_bytes, err);
  }
  return status;
}

/* A transfer out: what is started, and the two pieces on their way, the earlier one first. */
typedef struct arrival {
  staging_chunk *chunk; /* NULL: none */
  unsigned char *data;
  uint64_t size;
} arrival;

typedef struct transfer {
  vyre__gpu_stream *stream;
  staging_pool *pool;
  unsigned char *data;
  vyre__gpu_address from;
  uint64_t size, started;
  arrival early, late;
} transfer;

/* Starts the next piece, whose chunk the caller has taken. */
static vyre_status start(vyre_backend_device *device, transfer *all, arrival *piece,
                         vyre_error *err)
{
  const uint64_t left = all->size - all->started;
  piece->data = all->data + all->started;
  piece->size = left < all->pool->chunk_bytes ? left : all->pool->chunk_bytes;
  const vyre_status status =
      vyre__gpu_result(device,
                       vyre__gpu_driver.copy_out(piece->chunk->bytes, all->from + all->started,
                                                 piece->size, all->stream),
                       "copying from the device", err);
  if (status != VYRE_OK)
    return status;
  all->started += piece->size;
  return vyre__gpu_result(device, vyre__gpu_driver.event_record(piece->chunk->event, all->stream),
                          "marking a copy from the device", err);
}

/* Waits for the earlier piece and hands its bytes over. */
static vyre_status land(vyre_backend_device *device, transfer *all, vyre_error *err)
{
  arrival *const piece = &all->early;
  const vyre_status status =
      vyre__gpu_event_wait(device, piece->chunk->event, "waiting for a copy from the device", err);
  if (status != VYRE_OK)
    return status;
  memcpy(piece->data, piece->chunk->bytes, piece->size);
  put_unused(device->staging, all->pool, piece->chunk);
  all->early = all->late;
  all->late.chunk = NULL;
  return VYRE_OK;
}

vyre_status vyre__gpu_stage_out(vyre_backend_device *device, vyre__gpu_stream *stream, void *data,
                                vyre__gpu_address from, uint64_t size, vyre_error *err)
{
  transfer all = {.stream = stream,
                  .pool = pool_for(device->staging, size),
                  .data = data,
                  .from = from,
                  .size = size};
  vyre_status status = VYRE_OK;
  while (status == VYRE_OK && (all.started < size || all.early.chunk)) {
    if (!all.early.chunk) {
      status = take(device, all.pool, &all.early.chunk, err);
      if (status == VYRE_OK)
        status = start(device, &all, &all.early, err);
    }
    if (status == VYRE_OK && all.started < size) {
      all.late.chunk = take_another(device, all.pool);
      if (all.late.chunk)
        status = start(device, &all, &all.late, err);
    }
    if (status == VYRE_OK)
      status = land(device, &all, err);
  }
  if (all.early.chunk)
    abandon(device, all.pool, all.early.chunk, stream);
  if (all.late.chunk)
    abandon(device, all.pool, all.late.chunk, stream);
  return status;
}

/* ---- making and dropping ---- */

static void init_pool(staging_pool *pool, uint64_t chunk_bytes)
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&pool->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pool->chunk_bytes = chunk_bytes;
}

static vyre_status fill(vyre_backend_device *device, vyre__gpu_staging *staging, vyre_error *err)
{
  void *memory = NULL;
  vyre__gpu_address address = 0;
  vyre_status status =
      vyre__gpu_result(device, vyre__gpu_driver.host_take(ALL_BYTES, &memory, &address),
                       "allocating pinned memory for copies", err);
  if (status != VYRE_OK)
    return status;
  staging->memory = memory;
  for (uint32_t i = 0; i < ALL_CHUNKS && status == VYRE_OK; ++i) {
    staging_chunk *const one = &staging->chunks[i];
    staging_pool *const pool = i < SMALL_CHUNKS ? &staging->small : &staging->large;
    one->bytes = memory;
    memory = one->bytes + pool->chunk_bytes;
    status = vyre__gpu_result(device, vyre__gpu_driver.event_make(false, false, &one->event),
                              "making an event", err);
    one->next = pool->unused;
    pool->unused = one;
  }
  return status;
}

vyre_status vyre__gpu_staging_make(vyre_backend_device *device, vyre__gpu_staging **out_staging,
                                   vyre_error *err)
{
  vyre__gpu_staging *const staging =
      vyre__plugin_allocate_zeroed(device->host, sizeof(*staging), _Alignof(vyre__gpu_staging));
  if (!staging)
    return PLUGIN_FAIL_MEMORY(err, "the chunks of a device");
  pthread_mutex_init(&staging->lock, NULL);
  init_pool(&staging->small, SMALL_BYTES);
  init_pool(&staging->large, LARGE_BYTES);
  const vyre_status status = fill(device, staging, err);
  if (status == VYRE_OK)
    *out_staging = staging;
  else
    vyre__gpu_staging_drop(device, staging);
  return status;
}

void vyre__gpu_staging_drop(vyre_backend_device *device, vyre__gpu_staging *staging)
{
  vyre__gpu_scope scope;
  if (!staging)
    return;
  if (vyre__gpu_enter_to_free(device, &scope)) {
    /* Pieces on their way in are of no use to anybody; the memory must outlast them. */
    if (device->copy)
      (void)vyre__gpu_driver.stream_sync(device->copy);
    for (uint32_t i = ALL_CHUNKS; i-- > 0;)
      if (staging->chunks[i].event)
        (void)vyre__gpu_driver.event_drop(staging->chunks[i].event);
    if (staging->memory)
      (void)vyre__gpu_driver.host_give(staging->memory);
  }
  vyre__gpu_leave(&scope);
  pthread_cond_destroy(&staging->small.changed);
  pthread_cond_destroy(&staging->large.changed);
  pthread_mutex_destroy(&staging->lock);
  vyre__plugin_deallocate(device->host, staging);
}
