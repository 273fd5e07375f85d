/* steer.c - the cpu plugin under a test's control; see steer.h. */
#include "vyre_backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SLICE_NS 1000000u
#define MOST_RESIDENT 64

static const vyre_backend *below;
static vyre_backend table;

/* ---- controls and counters ---- */

enum {
  LOST,
  FAIL_AT,
  HOLD,
  CALLS,
  GUARDED,
  VIOLATIONS,
  VALUES_TO_RESET,
  RESIDENT = VALUES_TO_RESET,
  HOLDING,
  BUFFERS,
  VALUE_COUNT
};
static const char *const names[VALUE_COUNT] = {
    "lost", "fail_at", "hold", "calls", "guarded", "violations", "resident", "holding", "buffers"};

/* Guards all of the plugin's own words. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int64_t values[VALUE_COUNT];
static vyre_backend_pending *resident[MOST_RESIDENT];

__attribute__((visibility("default"))) void fixture_set(const char *name, int64_t to);
void fixture_set(const char *name, int64_t to)
{
  pthread_mutex_lock(&lock);
  for (int i = 0; i < VALUE_COUNT; i++) {
    if (!strcmp(name, "reset") && i < VALUES_TO_RESET)
      values[i] = 0;
    else if (!strcmp(name, names[i]))
      values[i] = to;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) int64_t fixture_get(const char *name);
int64_t fixture_get(const char *name)
{
  int64_t value = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < VALUE_COUNT; i++)
    if (!strcmp(name, names[i]))
      value = values[i];
  pthread_mutex_unlock(&lock);
  return value;
}

static void add(int index, int64_t change)
{
  pthread_mutex_lock(&lock);
  values[index] += change;
  pthread_mutex_unlock(&lock);
}

static bool is_lost(void)
{
  return fixture_get("lost") != 0;
}

static vyre_status fail(vyre_error *err, vyre_status code, const char *message)
{
  if (err && err->struct_size >= sizeof *err) {
    err->code = code;
    snprintf(err->message, sizeof err->message, "%s", message);
    snprintf(err->fix, sizeof err->fix, "this is a test");
  }
  return code;
}

/* What a counted call begins with. */
static vyre_status enter(vyre_error *err)
{
  bool fails;
  pthread_mutex_lock(&lock);
  values[CALLS] += 1;
  fails = values[FAIL_AT] > 0 && --values[FAIL_AT] == 0;
  pthread_mutex_unlock(&lock);
  if (is_lost())
    return fail(err, VYRE_ERROR_DEVICE_LOST, "the steered device is lost");
  return fails ? fail(err, VYRE_ERROR_INTERNAL, "the steered call fails") : VYRE_OK;
}

/* What a call begins with that would wait for a persistent launch. */
static void guard(void)
{
  pthread_mutex_lock(&lock);
  values[GUARDED] += 1;
  values[VIOLATIONS] += values[RESIDENT] != 0;
  pthread_mutex_unlock(&lock);
}

/* ---- slots ---- */

static vyre_status device_info(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err)
{
  const vyre_status status = below->device_info(index, out_info, err);
  if (status == VYRE_OK)
    out_info->capabilities &= ~VYRE_CAP_ALLOC_WHILE_RESIDENT;
  return status;
}

static vyre_status device_open(uint32_t index, const vyre_backend_device_options *options,
                               vyre_backend_device **out_device, vyre_error *err)
{
  const vyre_status status = enter(err);
  guard();
  return status ? status : below->device_open(index, options, out_device, err);
}

static void device_close(vyre_backend_device *device)
{
  guard();
  below->device_close(device);
}

static vyre_status module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                               vyre_backend_module **out_module, vyre_error *err)
{
  const vyre_status status = enter(err);
  guard();
  return status ? status : below->module_load(device, desc, out_module, err);
}

static void module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  guard();
  below->module_unload(device, module);
}

static vyre_status kernel_find(vyre_backend_module *module, const char *name,
                               vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                               vyre_error *err)
{
  const vyre_status status = enter(err);
  guard();
  return status ? status : below->kernel_find(module, name, out_kernel, out_info, err);
}

static vyre_status dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                            vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_status status = enter(err);
  if (status != VYRE_OK)
    return status;
  if (!(desc->flags & VYRE_DISPATCH_PERSISTENT))
    return below->dispatch(device, desc, out_pending, err);
  add(RESIDENT, 1);
  status = below->dispatch(device, desc, out_pending, err);
  pthread_mutex_lock(&lock);
  if (status != VYRE_OK)
    values[RESIDENT] -= 1;
  for (int i = 0; status == VYRE_OK && i < MOST_RESIDENT; i++) {
    if (!resident[i]) {
      resident[i] = *out_pending;
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}

/* The end of a launch was seen. */
static void has_ended(vyre_backend_pending *pending)
{
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_RESIDENT; i++) {
    if (resident[i] == pending) {
      resident[i] = NULL;
      values[RESIDENT] -= 1;
    }
  }
  pthread_mutex_unlock(&lock);
}

static vyre_status pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns, vyre_error *err)
{
  vyre_status status;
  for (;;) {
    const uint64_t slice = timeout_ns < SLICE_NS ? timeout_ns : SLICE_NS;
    if (is_lost())
      return fail(err, VYRE_ERROR_DEVICE_LOST, "the steered device is lost");
    status = below->pending_wait(pending, slice, err);
    if (status != VYRE_ERROR_TIMEOUT)
      break;
    if (timeout_ns != VYRE_NO_TIMEOUT)
      timeout_ns -= slice;
    if (!timeout_ns)
      return status;
  }
  has_ended(pending);
  return status;
}

static vyre_status pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                uint32_t slot_count, uint64_t slot_stride,
                                vyre_backend_times *out_times, vyre_error *err)
{
  const vyre_status status = enter(err);
  return status ? status
                : below->pending_read(pending, slots, slot_count, slot_stride, out_times, err);
}

static void pending_release(vyre_backend_pending *pending)
{
  if (pending)
    below->pending_wait(pending, VYRE_NO_TIMEOUT, NULL);
  has_ended(pending); /* before the handle can be another launch's */
  below->pending_release(pending);
}

static void hold(void)
{
  pthread_mutex_lock(&lock);
  values[HOLDING] += 1;
  while (values[HOLD])
    pthread_cond_wait(&changed, &lock);
  values[HOLDING] -= 1;
  pthread_mutex_unlock(&lock);
}

static vyre_status buffer_alloc(vyre_backend_device *device, uint64_t size,
                                vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_status status = enter(err);
  guard();
  hold();
  if (status == VYRE_OK)
    status = below->buffer_alloc(device, size, out_buffer, err);
  if (status == VYRE_OK)
    add(BUFFERS, 1);
  return status;
}

static void buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  guard();
  if (buffer)
    add(BUFFERS, -1);
  below->buffer_free(device, buffer);
}

static vyre_status buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, const void *data, uint64_t size, vyre_error *err)
{
  const vyre_status status = enter(err);
  return status ? status : below->buffer_upload(device, buffer, offset, data, size, err);
}

static vyre_status coherent_alloc(vyre_backend_device *device, uint64_t size,
                                  vyre_coherent_memory *out_memory, vyre_error *err)
{
  vyre_status status = enter(err);
  guard();
  if (status == VYRE_OK)
    status = below->coherent_alloc(device, size, out_memory, err);
  if (status == VYRE_OK)
    add(BUFFERS, 1);
  return status;
}

static vyre_status sequence_create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                                   vyre_backend_sequence **out_sequence, vyre_error *err)
{
  const vyre_status status = enter(err);
  guard();
  return status ? status : below->sequence_create(device, desc, out_sequence, err);
}

static void sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence)
{
  guard();
  below->sequence_release(device, sequence);
}

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  vyre_backend_query_fn query = NULL;
  vyre_status status;
  void *library = dlopen(THIN_BELOW, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, VYRE_BACKEND_QUERY_SYMBOL) : NULL;
  if (!symbol)
    return VYRE_ERROR_REFUSED;
  memcpy(&query, &symbol, sizeof query);
  status = query(host, &below, err);
  if (status != VYRE_OK)
    return status;
  table = *below;
  table.name = "steer";
  table.device_info = device_info;
  table.device_open = device_open;
  table.device_close = device_close;
  table.module_load = module_load;
  table.module_unload = module_unload;
  table.kernel_find = kernel_find;
  table.dispatch = dispatch;
  table.pending_wait = pending_wait;
  table.pending_read = pending_read;
  table.pending_release = pending_release;
  table.buffer_alloc = buffer_alloc;
  table.buffer_free = buffer_free;
  table.buffer_upload = buffer_upload;
  table.coherent_alloc = coherent_alloc;
  table.sequence_create = sequence_create;
  table.sequence_release = sequence_release;
  *out_backend = &table;
  return VYRE_OK;
}
