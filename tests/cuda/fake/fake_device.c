/*
 * fake_device.c - the library, devices and primary contexts of the test driver.
 */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#define DEPTH 32u

/* Contexts that this thread has pushed. */
static _Thread_local fake_context *stack[DEPTH];
static _Thread_local uint32_t depth;

fake_context *fake_top(void)
{
  return depth ? stack[depth - 1] : NULL;
}

uint32_t fake_depth(void)
{
  return depth;
}

CUresult cuInit(unsigned int flags)
{
  BEGIN(FAKE_cuInit, 0, "%u", flags);
  if (fake.init == 0)
    fake.initialised = true;
  return fake_end(fake.init);
}

CUresult cuDriverGetVersion(int *version)
{
  BEGIN(FAKE_cuDriverGetVersion, 0, "%s", "");
  *version = fake.version;
  return fake_end(0);
}

CUresult cuGetErrorName(CUresult code, const char **name)
{
  BEGIN(FAKE_cuGetErrorName, 0, "%d", code);
  static const char *const known[] = {
      [1] = "CUDA_ERROR_INVALID_VALUE", [2] = "CUDA_ERROR_OUT_OF_MEMORY"};
  if (code < 1 || code > 2)
    return fake_end(1);
  *name = known[code];
  return fake_end(0);
}

CUresult cuDeviceGetCount(int *count)
{
  BEGIN(FAKE_cuDeviceGetCount, NEEDS_INIT, "%s", "");
  *count = (int)fake.devices;
  return fake_end(0);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
  BEGIN(FAKE_cuDeviceGet, NEEDS_INIT, "%d", ordinal);
  if (ordinal < 0 || (uint32_t)ordinal >= fake.devices)
    return fake_end(101);
  *device = ordinal;
  return fake_end(0);
}

/* After BEGIN. */
static bool is_device(CUdevice device)
{
  if (device >= 0 && (uint32_t)device < fake.devices)
    return true;
  fake_fault("no device %d", device);
  return false;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
  BEGIN(FAKE_cuDeviceGetName, NEEDS_INIT, "%d", device);
  if (!is_device(device))
    return fake_end(101);
  snprintf(name, (size_t)size, "Test GPU %d", device);
  return fake_end(0);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
  BEGIN(FAKE_cuDeviceGetUuid, NEEDS_INIT, "%d", device);
  if (!is_device(device))
    return fake_end(101);
  for (unsigned i = 0; i < sizeof uuid->bytes; ++i)
    uuid->bytes[i] = (char)(0xa0u + i);
  uuid->bytes[15] = (char)device;
  return fake_end(0);
}

CUresult cuDeviceTotalMem_v2(size_t *size, CUdevice device)
{
  BEGIN(FAKE_cuDeviceTotalMem, NEEDS_INIT, "%d", device);
  if (!is_device(device))
    return fake_end(101);
  *size = (size_t)1 << 32;
  return fake_end(0);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
  BEGIN(FAKE_cuDeviceGetAttribute, NEEDS_INIT, "%u %d", attribute, device);
  if (!is_device(device))
    return fake_end(101);
  if (attribute >= FAKE_ATTRIBUTES)
    return fake_end(1);
  *value = fake.attributes[device][attribute];
  return fake_end(0);
}

CUresult cuDeviceGetPCIBusId(char *name, int size, CUdevice device)
{
  BEGIN(FAKE_cuDeviceGetPCIBusId, NEEDS_INIT, "%d", device);
  if (!is_device(device))
    return fake_end(101);
  snprintf(name, (size_t)size, "0000:C%d:00.0", device + 1);
  return fake_end(0);
}

/* -------- contexts -------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
  BEGIN(FAKE_cuDevicePrimaryCtxRetain, NEEDS_INIT, "%d", device);
  if (!is_device(device))
    return fake_end(101);
  fake_context *context = fake.contexts[device];
  if (!context) {
    context = fake.contexts[device] = fake_make(FAKE_CONTEXT, sizeof *context);
    context->device = (uint32_t)device;
  }
  if (context->broken)
    return fake_end(context->broken);
  context->retained++;
  *out = (CUcontext)(void *)context;
  return fake_end(0);
}

/* Everything that lives in the context ends. */
static void end_objects(fake_context *context)
{
  for (fake_object *object = fake.objects; object; object = object->next)
    if (object->context == context && object->kind == FAKE_STREAM && !object->dead)
      fake_stream_end((fake_stream *)(void *)object);
  fake_memory_drop_all(context);
  for (fake_object *object = fake.objects; object; object = object->next)
    if (object->context == context && object->kind != FAKE_CONTEXT)
      fake_kill(object);
}

static uint32_t count_objects(const fake_context *context)
{
  uint32_t count = 0;
  for (const fake_object *object = fake.objects; object; object = object->next)
    count += object->context == context && !object->dead && object->kind != FAKE_CONTEXT &&
             object->kind != FAKE_FUNCTION && object->kind != FAKE_NODE &&
             object->kind != FAKE_POOL;
  return count;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
  const CUresult begun = fake_begin(FAKE_cuDevicePrimaryCtxRelease, NEEDS_INIT, "%d", device);
  if (begun)
    pthread_mutex_lock(&fake.lock); /* counts as released all the same */
  fake_context *context = is_device(device) ? fake.contexts[device] : NULL;
  if (!context || !context->retained) {
    fake_fault("a context is released that nobody retains");
    return fake_end(201);
  }
  if (!--context->retained) {
    const uint32_t left = count_objects(context);
    if (left && !context->broken && !begun)
      fake_fault("a context is released with %u live objects in it", left);
    end_objects(context);
    context->broken = 0;
  }
  return fake_end(begun);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
  BEGIN(FAKE_cuDevicePrimaryCtxReset, NEEDS_INIT, "%d", device);
  fake_context *context = is_device(device) ? fake.contexts[device] : NULL;
  if (context) {
    end_objects(context);
    context->broken = 0;
  }
  return fake_end(0);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
  const CUresult begun = fake_begin(FAKE_cuCtxPushCurrent, NEEDS_INIT, "%s", "");
  if (begun) {
    pthread_mutex_lock(&fake.lock);
    if (fake_kills(begun)) /* it is this context that says so, not the one before it */
      fake_break(fake_take(handle, FAKE_CONTEXT), begun);
    return fake_end(begun);
  }
  fake_context *context = fake_take(handle, FAKE_CONTEXT);
  if (!context || !context->retained || depth == DEPTH) {
    fake_fault("a context is made current that nobody retains, or too many of them");
    return fake_end(201);
  }
  /* The driver takes a context that is broken too. */
  stack[depth++] = context;
  return fake_end(0);
}

CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
  const CUresult begun = fake_begin(FAKE_cuCtxPopCurrent, NEEDS_INIT, "%s", "");
  if (begun)
    pthread_mutex_lock(&fake.lock); /* taken off all the same: a test counts the depth */
  if (!depth) {
    fake_fault("cuCtxPopCurrent without a context");
    return fake_end(201);
  }
  --depth;
  if (out && !begun)
    *out = (CUcontext)(void *)stack[depth];
  return fake_end(begun);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
  BEGIN(FAKE_cuCtxGetDevice, NEEDS_CONTEXT, "%s", "");
  *device = (CUdevice)fake_top()->device;
  return fake_end(0);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
  BEGIN(FAKE_cuCtxGetStreamPriorityRange, NEEDS_CONTEXT, "%s", "");
  *least = 0;
  *greatest = -5;
  return fake_end(0);
}
