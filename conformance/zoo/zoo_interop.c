/*
 * zoo_interop.c - events and a queue of the zoo's own, for rows that lend them; see zoo.h.
 *
 * The cpu plugin has none, and needs none: an event is the last launch before it, and who waits for
 * one does so when the next launch or copy is called for.  A handle is therefore kept until neither
 * its owner nor a queue or an event has it.
 */
#include "conformance/zoo/zoo.h"

#include <string.h>

#define OUR_TYPE (VYRE_NATIVE_OTHER + 0x200u)

struct zoo_queue {
  vyre_backend_pending *last; /* NULL: nothing has been launched */
};

typedef struct event {
  vyre_backend_pending *pending; /* the last launch before it, or NULL */
  vyre_backend_device *waiter;   /* see int_released */
} event;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool zoo__lends(void)
{
  return ZOO_IS(interop) || ZOO_IS(int_reached) || ZOO_IS(int_blocks) || ZOO_IS(int_no_copies) ||
         ZOO_IS(int_released) || ZOO_IS(int_any_vendor) || ZOO_IS(int_other_handle) ||
         ZOO_IS(int_leak) || ZOO_IS(int_unordered) || ZOO_IS(int_other_queue) ||
         ZOO_IS(int_no_queue);
}

/* ---- handles that are kept ---- */

static vyre_backend_pending *retain(vyre_backend_pending *pending)
{
  if (pending)
    __atomic_fetch_add(&pending->kept, 1, __ATOMIC_RELAXED); /* whoever gives it keeps it */
  return pending;
}

static void drop(vyre_backend_pending *pending)
{
  const vyre_host *host = zoo__host();
  /* Acquire and release: the last one frees what the others have used. */
  if (!pending || __atomic_fetch_sub(&pending->kept, 1, __ATOMIC_ACQ_REL))
    return;
  zoo__real()->pending_release(pending->real);
  host->deallocate(host->self, pending);
}

void zoo__lend_launch(vyre_backend_device *device, vyre_backend_pending *pending)
{
  vyre_backend_pending *before = NULL;
  if (!zoo__lends())
    return;
  pthread_mutex_lock(&lock);
  before = device->queue->last;
  device->queue->last = retain(pending);
  pthread_mutex_unlock(&lock);
  drop(before);
}

bool zoo__lend_release(vyre_backend_pending *pending)
{
  if (!zoo__lends())
    return false;
  zoo__real()->pending_wait(pending->real, VYRE_NO_TIMEOUT, NULL);
  drop(pending);
  return true;
}

static void await(vyre_backend_pending *pending)
{
  if (pending)
    zoo__real()->pending_wait(pending->real, VYRE_NO_TIMEOUT, NULL);
  drop(pending);
}

void zoo__lend_settle(vyre_backend_device *device, zoo_caller caller)
{
  vyre_backend_pending *awaited[ZOO_MAX_AWAITED + 1] = {NULL};
  if (!zoo__lends() || !device || (ZOO_IS(int_no_copies) && caller == ZOO_FROM_TRANSFER))
    return;
  pthread_mutex_lock(&lock);
  memcpy(awaited, device->awaited, sizeof device->awaited);
  memset(device->awaited, 0, sizeof device->awaited);
  if (device->queue->last && device->queue->last->device != device && !ZOO_IS(int_unordered))
    awaited[ZOO_MAX_AWAITED] = retain(device->queue->last);
  pthread_mutex_unlock(&lock);
  for (uint32_t i = 0; i <= ZOO_MAX_AWAITED; ++i)
    await(awaited[i]);
}

/* ---- queues ---- */

static bool is_ours(const vyre_native_handle *handle)
{
  return handle->type == OUR_TYPE || ZOO_IS(int_any_vendor);
}

vyre_status zoo__lend_open(vyre_backend_device *device, const vyre_backend_device_options *options,
                           vyre_error *err)
{
  const vyre_host *host = zoo__host();
  const bool given = options && options->struct_size >= VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_3 &&
                     options->queue.handle;
  if (!zoo__lends())
    return VYRE_OK;
  if (given && !is_ours(&options->queue))
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a queue of type %u, wanted is %u",
                     options->queue.type, OUR_TYPE);
  if (given) {
    device->queue = (zoo_queue *)(uintptr_t)options->queue.handle;
    return VYRE_OK;
  }
  device->own = host->allocate(host->self, sizeof *device->own, 16);
  if (!device->own)
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a queue");
  device->own->last = NULL;
  device->queue = device->own;
  return VYRE_OK;
}

void zoo__lend_close(vyre_backend_device *device)
{
  const vyre_host *host = zoo__host();
  vyre_backend_pending *last = NULL;
  if (!zoo__lends())
    return;
  zoo__lend_settle(device, ZOO_FROM_HANDLE);
  pthread_mutex_lock(&lock);
  if (device->queue->last && device->queue->last->device == device) {
    last = device->queue->last;
    device->queue->last = NULL;
  }
  pthread_mutex_unlock(&lock);
  drop(last);
  host->deallocate(host->self, device->own);
}

static vyre_status check_size(const vyre_native_handle *handle, vyre_error *err)
{
  return handle->struct_size >= VYRE_NATIVE_HANDLE_SIZE_0_3
             ? VYRE_OK
             : zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "vyre_native_handle has %u bytes",
                         handle->struct_size);
}

vyre_status zoo__queue_export(vyre_backend_device *device, vyre_native_handle *out_queue,
                              vyre_error *err)
{
  const vyre_status status = check_size(out_queue, err);
  const void *told = ZOO_IS(int_other_queue) && !device->own ? (const void *)device : device->queue;
  if (status != VYRE_OK)
    return status;
  out_queue->type = OUR_TYPE;
  out_queue->handle = ZOO_IS(int_no_queue) ? 0 : (uint64_t)(uintptr_t)told;
  return VYRE_OK;
}

/* ---- events ---- */

static vyre_status check(const vyre_native_handle *handle, vyre_error *err)
{
  const vyre_status status = check_size(handle, err);
  if (status != VYRE_OK)
    return status;
  if (!handle->handle)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "there is no event");
  return is_ours(handle) ? VYRE_OK
                         : zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                                     "an event of type %u, wanted is %u", handle->type, OUR_TYPE);
}

static event *event_of(const vyre_native_handle *handle)
{
  return (event *)(uintptr_t)handle->handle;
}

/* A new one where there is none yet, or instead of the caller's. */
static vyre_status make(vyre_native_handle *handle, vyre_error *err)
{
  const vyre_host *host = zoo__host();
  event *made = host->allocate(host->self, sizeof *made, 16);
  if (!made)
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for an event");
  memset(made, 0, sizeof *made);
  handle->type = OUR_TYPE;
  handle->handle = (uint64_t)(uintptr_t)made;
  return VYRE_OK;
}

vyre_status zoo__event_record(vyre_backend_device *device, vyre_native_handle *handle,
                              vyre_error *err)
{
  vyre_backend_pending *before = NULL;
  vyre_status status = handle->handle ? check(handle, err) : check_size(handle, err);
  if (status == VYRE_OK && (!handle->handle || ZOO_IS(int_other_handle)))
    status = make(handle, err);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&lock);
  before = event_of(handle)->pending;
  event_of(handle)->pending = ZOO_IS(int_reached) ? NULL : retain(device->queue->last);
  pthread_mutex_unlock(&lock);
  drop(before);
  if (ZOO_IS(int_blocks))
    await(retain(event_of(handle)->pending));
  return VYRE_OK;
}

vyre_status zoo__event_wait(vyre_backend_device *device, const vyre_native_handle *handle,
                            vyre_error *err)
{
  const vyre_status status = check(handle, err);
  vyre_backend_pending *oldest = NULL;
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&lock);
  oldest = device->awaited[0];
  memmove(device->awaited, device->awaited + 1, sizeof device->awaited - sizeof oldest);
  device->awaited[ZOO_MAX_AWAITED - 1] = retain(event_of(handle)->pending);
  event_of(handle)->waiter = device;
  pthread_mutex_unlock(&lock);
  await(oldest); /* more at once than anybody asks for */
  return VYRE_OK;
}

vyre_status zoo__event_release(vyre_backend_device *device, const vyre_native_handle *handle,
                               vyre_error *err)
{
  const vyre_host *host = zoo__host();
  const vyre_status status = check(handle, err);
  if (status != VYRE_OK)
    return status;
  (void)device;
  if (ZOO_IS(int_released) && event_of(handle)->waiter)
    memset(event_of(handle)->waiter->awaited, 0, sizeof device->awaited);
  drop(event_of(handle)->pending);
  if (!ZOO_IS(int_leak))
    host->deallocate(host->self, event_of(handle));
  return VYRE_OK;
}
