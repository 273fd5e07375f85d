/*
 * persistent.c - launches that stay: the engine's.
 *
 * Each has a stream of its own with nothing else on it, so that nothing waits for it.  Streams are
 * made several at once before the first such launch, and whatever a driver loads when it is first
 * used (its own kernels that fill and copy) is used once then: both may wait for the device, which
 * must not happen beside a launch that is there.
 */
#include "plugins/gpu/residency.h"

#include "plugins/common/error.h"
#include "plugins/gpu/arguments.h"

#define PROBE_BYTES 1024u

const char *vyre__gpu_persistent_reason(const vyre__gpu_facts *facts)
{
  if (facts->persistent_reason[0])
    return facts->persistent_reason;
  if (!facts->mapped_host)
    return "the device does not map host memory";
  if (!facts->stream_ordered) /* every launch with host bindings would wait for it */
    return "the driver has no memory allocation in stream order";
  return "";
}

vyre_status vyre__gpu_persistent_check(const vyre_backend_device *device, vyre_error *err)
{
  const char *reason = vyre__gpu_persistent_reason(&device->facts);
  if (!*reason)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED, "run the engine in batched mode",
                     "no persistent launch on %s: %s", device->facts.name, reason);
}

/* One filling and one copy, with sizes that need every kind of kernel a driver may have for them.
 */
static vyre__gpu_code probe(vyre_backend_device *device)
{
  const vyre__gpu_driver_table *driver = &vyre__gpu_driver;
  vyre__gpu_address memory = 0;
  vyre__gpu_code code = driver->memory_take_async(PROBE_BYTES, device->copy, &memory);
  if (code)
    return code;
  code = driver->fill(memory, 0, PROBE_BYTES, device->copy);
  if (!code)
    code = driver->fill(memory + 1, 1, 3, device->copy);
  if (!code)
    code = driver->copy_within(memory + PROBE_BYTES / 2, memory, PROBE_BYTES / 4, device->copy);
  if (!code)
    code = driver->copy_within(memory + PROBE_BYTES / 2 + 1, memory, 3, device->copy);
  const vyre__gpu_code given = driver->memory_give_async(memory, device->copy);
  return code ? code : given;
}

static vyre_status prepare(vyre_backend_device *device, vyre_error *err)
{
  vyre_status status = vyre__gpu_result(device, probe(device), "using the device once", err);
  pthread_mutex_lock(&device->lock);
  vyre__gpu_code code = 0;
  while (status == VYRE_OK && !code && device->stream_count < VYRE__GPU_STREAMS_KEPT) {
    code = vyre__gpu_driver.stream_make(true, &device->streams[device->stream_count]);
    device->stream_count += !code;
  }
  device->persists = status == VYRE_OK && !code;
  pthread_mutex_unlock(&device->lock);
  return status == VYRE_OK
             ? vyre__gpu_result(device, code, "making a stream for persistent launches", err)
             : status;
}

vyre_status vyre__gpu_persistent_stream(vyre_backend_device *device, vyre__gpu_stream **out_stream,
                                        vyre_error *err)
{
  vyre__gpu_stream *stream = NULL;
  pthread_mutex_lock(&device->lock);
  const bool is_prepared = device->persists;
  pthread_mutex_unlock(&device->lock);
  if (!is_prepared) {
    const vyre_status status = prepare(device, err);
    if (status != VYRE_OK)
      return status;
  }
  pthread_mutex_lock(&device->lock);
  if (device->stream_count)
    stream = device->streams[--device->stream_count];
  pthread_mutex_unlock(&device->lock);
  if (!stream) {
    const vyre_status status = vyre__gpu_result(device, vyre__gpu_driver.stream_make(true, &stream),
                                                "making a stream for a persistent launch", err);
    if (status != VYRE_OK)
      return status;
  }
  *out_stream = stream;
  return VYRE_OK;
}

void vyre__gpu_persistent_stream_give(vyre_backend_device *device, vyre__gpu_stream *stream)
{
  vyre__gpu_scope scope;
  pthread_mutex_lock(&device->lock);
  const bool is_kept = device->stream_count < VYRE__GPU_STREAMS_KEPT;
  if (is_kept)
    device->streams[device->stream_count++] = stream;
  pthread_mutex_unlock(&device->lock);
  if (is_kept)
    return;
  if (vyre__gpu_enter_to_free(device, &scope))
    (void)vyre__gpu_driver.stream_drop(stream);
  vyre__gpu_leave(&scope);
}

vyre_status vyre__gpu_persistent_fits(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                      uint64_t workgroup_memory, uint32_t *out_occupancy,
                                      vyre_error *err)
{
  const vyre_backend_kernel *kernel = desc->kernel;
  const uint32_t items = desc->workgroup[0] * desc->workgroup[1] * desc->workgroup[2];
  const uint64_t asked = vyre__gpu_group_count(desc);
  uint32_t occupancy = 0;
  const vyre_status status = vyre__gpu_result(
      device, vyre__gpu_driver.occupancy(kernel->function, items, workgroup_memory, &occupancy),
      "counting the groups that are resident at once", err);
  if (status != VYRE_OK)
    return status;
  /* One unit stays free, so that ordinary launches go on (DISP-012); with a single one, half. */
  const uint64_t units = device->facts.compute_units;
  const uint64_t room = units > 1 ? (units - 1) * occupancy : occupancy / 2;
  const uint64_t held = vyre__gpu_residency_units(device) * occupancy;
  const uint64_t most = room > held ? room - held : 0;
  if (asked > most)
    return PLUGIN_FAIL(err, VYRE_ERROR_RESIDENCY_EXCEEDED, "use fewer groups, about one a unit",
                       "%llu groups of a persistent launch of kernel %s, at most %llu of %u items "
                       "leave room for other launches on %s",
                       (unsigned long long)asked, kernel->name, (unsigned long long)most, items,
                       device->facts.name);
  *out_occupancy = occupancy;
  return VYRE_OK;
}
